"""Labelling at a desk: what a session asks and tells."""

from ._records import Progress, Question

__all__ = ["Progress", "Question"]
