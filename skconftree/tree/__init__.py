"""Confidence trees and the compiled machinery that grows them."""

from ._classes import ConfidenceTreeClassifier
from ._row_index import RowIndex
from .reading._export import export_text
from .reading._node_table import node_table

__all__ = ["ConfidenceTreeClassifier", "RowIndex", "export_text", "node_table"]
