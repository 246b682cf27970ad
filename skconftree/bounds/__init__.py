"""Confidence statements about class counts: when is a split warranted?"""

from ._bayes_factor import BayesFactorBound, log_bayes_factor
from ._evalue import EValueBound, log_evalue

__all__ = [
    "BayesFactorBound",
    "EValueBound",
    "log_bayes_factor",
    "log_evalue",
]
