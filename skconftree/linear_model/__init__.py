"""Linear classifiers: OASIS for streams, and a decision tree plus a linear score.

OASIS (online, active, semi-supervised) is a Bayesian classifier with a particle filter.
"""

from ._oasis import OASISClassifier
from ._partially_linear import PartiallyLinearTreeClassifier

__all__ = ["OASISClassifier", "PartiallyLinearTreeClassifier"]
