"""Subtrees that are replaced once a tree is grown."""
