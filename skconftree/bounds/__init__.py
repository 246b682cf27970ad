"""Confidence statements about class counts.

A bound decides whether the evidence for a test suffices to split a node. It sees
class counts and knows neither trees nor features.
"""

from ._credible import CredibleBound, credible_interval
from ._hoeffding import HoeffdingBound, hoeffding_radius
from ._possibilistic import (
    PossibilisticBound,
    agresti_coull_upper,
    possibilistic_entropy,
    possibilistic_quality,
)

__all__ = [
    "CredibleBound",
    "HoeffdingBound",
    "PossibilisticBound",
    "agresti_coull_upper",
    "credible_interval",
    "hoeffding_radius",
    "possibilistic_entropy",
    "possibilistic_quality",
]
