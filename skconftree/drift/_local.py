"""How sure a repair of a part of a tree has to be."""

from sklearn.base import BaseEstimator

from ..utils import canonical
from ._base import check_number

__all__ = ["LocalRepair"]


class LocalRepair(BaseEstimator):
    """What ``drift="local"`` stands for: no detector of errors, but a promise.

    Where the tree that grew beside a node is no better, it takes its place with
    probability `delta` at most.
    """

    def __init__(self, delta=0.05):
        self.delta = delta

    def __getstate__(self):
        return canonical(super().__getstate__())

    def check_parameters(self):
        """Raise ``TypeError`` or ``ValueError`` unless every parameter is valid."""
        check_number(self, "delta", 1, "neither")
