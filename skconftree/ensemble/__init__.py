"""Forests of confidence trees."""

from ._forest import ConfidenceForestClassifier

__all__ = ["ConfidenceForestClassifier"]
