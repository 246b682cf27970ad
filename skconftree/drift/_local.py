"""How sure a repair of a part of a tree has to be."""

from sklearn.base import BaseEstimator

from ..utils import VersionedState
from ._base import check_number

__all__ = ["LocalRepair"]


class LocalRepair(VersionedState, BaseEstimator):
    """Repair of the part of a tree that broke: what ``drift="local"`` stands for.

    It is no detector of errors. Each node of a growing tree is watched; once the errors
    of the rows that come to it seem to rise, a tree grows beside it, which takes the
    place of all below when it has shown to be better, or the errors to have risen.

    Parameters
    ----------
    delta : float, default=0.05
        Where neither is so, a node is replaced with this probability at most, however
        many trees are begun beside it.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.datasets import make_random_tree_stream
    >>> from skconftree.drift import LocalRepair
    >>> X, y = make_random_tree_stream(
    ...     20_000, n_leaves=10, concept=[0, 1], drift_at=[0.5], random_state=0)
    >>> tree = ConfidenceTreeClassifier(drift=LocalRepair(delta=0.001))
    >>> tree.partial_fit(X, y, classes=[0, 1]).n_drifts_ > 0
    True
    """

    def __init__(self, delta=0.05):
        self.delta = delta

    def check_parameters(self) -> None:
        """Raise ``TypeError`` or ``ValueError`` unless every parameter is valid."""
        check_number(self, "delta", 1, "neither")
