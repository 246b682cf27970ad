"""Linear classifiers that estimate their uncertainty."""

from ._oasis import OASISClassifier

__all__ = ["OASISClassifier"]
