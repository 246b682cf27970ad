"""Displays: pictures of trees and of learning curves; they need matplotlib."""

from ._active_curves import ActiveCurveDisplay
from ._tree import ConfidenceTreeDisplay

__all__ = ["ActiveCurveDisplay", "ConfidenceTreeDisplay"]
