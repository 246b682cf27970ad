"""Checks for custom bounds, criteria, detectors, prunings and strategies.

Each takes one object, tries it in trees, streams or learners of this package, and
raises an AssertionError that says in a sentence what is wrong. They need no test
framework.
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
