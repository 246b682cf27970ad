"""Forests of confidence trees."""
