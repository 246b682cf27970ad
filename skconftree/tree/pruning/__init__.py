"""Pruning of fitted trees."""
