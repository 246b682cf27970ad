"""Confidence trees and the compiled machinery that grows them."""

from ._classes import ConfidenceTreeClassifier
from ._export import export_text

__all__ = ["ConfidenceTreeClassifier", "export_text"]
