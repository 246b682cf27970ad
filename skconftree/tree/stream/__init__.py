"""Incremental growth of trees, row by row."""
