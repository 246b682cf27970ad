"""Checks of custom bounds, criteria, drift detectors, pruning methods and strategies.

Each function takes one object, uses it in trees, streams or active learners of this
package, and raises an AssertionError that describes what is wrong. A bound is a split
rule of a tree. No test framework is needed.
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
