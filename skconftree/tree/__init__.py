"""Confidence trees and the compiled machinery that grows them."""

from ._classes import ConfidenceTreeClassifier
from ._row_index import RowIndex
from .reading._colors import class_colors
from .reading._export import export_text
from .reading._graphviz import export_graphviz
from .reading._html import export_html
from .reading._node_table import node_table
from .reading._rules import export_rules

__all__ = [
    "ConfidenceTreeClassifier",
    "RowIndex",
    "class_colors",
    "export_graphviz",
    "export_html",
    "export_rules",
    "export_text",
    "node_table",
]
