"""Forests of confidence trees."""

from ._forest import ConfidenceForestClassifier
from ._row_index import ForestRowIndex

__all__ = ["ConfidenceForestClassifier", "ForestRowIndex"]
