"""Split criteria: impurities and other scores of class counts.

Users select a criterion by its name, or derive their own from `BaseCriterion`.
"""

from ._base import BaseCriterion

__all__ = ["BaseCriterion"]
