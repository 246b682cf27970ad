"""Labelling at a desk: what a session asks and tells."""

from .._journal import JournalError
from ._explanations import Progress, Question

__all__ = ["JournalError", "Progress", "Question"]
