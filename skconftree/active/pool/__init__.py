"""Learners that choose among the rows of a pool."""
