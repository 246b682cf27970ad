"""Growth row by row."""
