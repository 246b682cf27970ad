"""Learners that decide on one row of a stream after the other."""
