"""Checks of custom components, such as bounds, criteria and query strategies.

There is one function for each of: bounds (split rules of a tree), split criteria, drift
detectors, pruning methods, query strategies, and stopping rules of active learning. It
takes one object and uses it in trees, streams or active learners of this package. It
raises an AssertionError that describes what is wrong. No test framework is needed.
"""

from ._plug_ins import check_bound, check_criterion, check_detector, check_pruning
from ._strategies import check_stopping_rule, check_strategy

__all__ = [
    "check_bound",
    "check_criterion",
    "check_detector",
    "check_pruning",
    "check_stopping_rule",
    "check_strategy",
]
