"""Base class of criteria that are written in Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..utils._codec import VersionedState
from ._criterion import Criterion, PythonCriterion


class BaseCriterion(VersionedState, BaseEstimator):
    """Base class of split criteria that are written in Python.

    A subclass defines `impurity`. Its objects are values of the parameter `criterion`
    of trees and forests with ``bound=None`` (without a split rule). The split with the
    smallest average impurity of its children, weighted by their rows, is selected.
    Growth calls `impurity` once per 256 candidate splits, which takes 10 to 100 times
    as long as a compiled criterion; ``CONTRIBUTING.md`` shows how to compile one.

    As in scikit-learn, a constructor stores its parameters, and `check_parameters`
    validates them. An exception of `impurity` ends ``fit``, which leaves the estimator
    as it was; ``partial_fit`` raises it when the model is at a multiple of 1,024 rows,
    or at the end of the call. Pickles contain parameters and version.

    See Also
    --------
    skconftree.testing.check_criterion : Test suite for custom criteria.
    skconftree.bounds.BaseBound : Base class of split rules, also in Python.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.criteria import BaseCriterion
    >>> class Cubes(BaseCriterion):
    ...     def impurity(self, counts):
    ...         share = counts / counts.sum(axis=1, keepdims=True)
    ...         return (1 - (share**3).sum(axis=1)) * 2 / 3
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(None, criterion=Cubes(), max_leaf_nodes=3)
    >>> tree.fit(X, y).tree_.impurity.round(2).tolist()
    [0.59, 0.0, 0.5, 0.17, 0.04]
    """

    def check_parameters(self) -> None:
        """Raise ``ValueError`` unless every parameter is valid."""

    def kernel(self, n_classes: int) -> Criterion:
        """Create the compiled object that calls `impurity`, for one fit.

        Parameters
        ----------
        n_classes : int
            Number of classes, at least 2.

        Returns
        -------
        Criterion
            Object for one fit and one thread.
        """
        return PythonCriterion(self, n_classes)

    def impurity(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the impurities of nodes.

        Parameters
        ----------
        counts : ndarray of shape (n_nodes, n_classes)
            Weight of the rows of each class in each node. Every node has rows.

        Returns
        -------
        ndarray of shape (n_nodes,)
            At least 0; 0 for a node of one class, and 1/2 for two classes with equal
            counts. Should be concave: no split has a larger average than its node.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define impurity.")
