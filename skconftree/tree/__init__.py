"""Confidence trees and the compiled machinery that grows them."""

from ._classes import ConfidenceTreeClassifier
from ._export import export_text
from ._node_table import node_table

__all__ = ["ConfidenceTreeClassifier", "export_text", "node_table"]
