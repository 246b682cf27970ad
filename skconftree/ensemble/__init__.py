"""Random forests of confidence trees; nearest class mean (NCM) trees and forests.

A confidence tree only splits a node if the split has enough evidence. A row index has
the leaves of the rows of a table.
"""

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
