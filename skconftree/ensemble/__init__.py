"""Forests of confidence trees, and trees and forests of nearest class means."""

from .forest._classes import ConfidenceForestClassifier
from .forest._row_index import ForestRowIndex
from .ncm._classes import NCMTreeClassifier
from .ncm._forest import NCMForestClassifier

__all__ = [
    "ConfidenceForestClassifier",
    "ForestRowIndex",
    "NCMForestClassifier",
    "NCMTreeClassifier",
]
