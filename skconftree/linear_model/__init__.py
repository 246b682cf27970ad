"""Linear classifiers that estimate their uncertainty.

OASIS (online, active, semi-supervised) is a Bayesian classifier with a particle filter.
"""

from ._oasis import OASISClassifier

__all__ = ["OASISClassifier"]
