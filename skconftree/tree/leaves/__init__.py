"""Statistics and predictions of growing leaves."""
