"""Statistics and predictions of the leaves of trees that are trained row by row."""
