"""Linear classifiers that know how sure they are."""

from ._oasis import OASISClassifier

__all__ = ["OASISClassifier"]
