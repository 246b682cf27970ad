"""Forests of confidence trees, and trees and forests of nearest class means."""

from ._forest import ConfidenceForestClassifier
from ._ncm import NCMTreeClassifier
from ._ncm_forest import NCMForestClassifier
from ._row_index import ForestRowIndex

__all__ = [
    "ConfidenceForestClassifier",
    "ForestRowIndex",
    "NCMForestClassifier",
    "NCMTreeClassifier",
]
