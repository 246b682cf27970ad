"""Labeling sessions: queries, progress and errors."""

from .._journal import JournalError
from ._explanations import Progress, Question

__all__ = ["JournalError", "Progress", "Question"]
