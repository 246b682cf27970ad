"""The best test of a node."""
