"""Displays: pictures of trees and of their evidence; they need matplotlib."""

from ._tree import ConfidenceTreeDisplay

__all__ = ["ConfidenceTreeDisplay"]
