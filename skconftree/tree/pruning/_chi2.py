"""Tests whose outcome and class are not dependent."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._compat import Interval
from ...bounds import Chi2Bound, chi2_pvalue
from ._unsupported import UnsupportedTests

if TYPE_CHECKING:
    from ._base import TrainingRows


class Chi2Pruning(UnsupportedTests):
    """A test above leaves stays if class and outcome depend on each other.

    Small tables have the p-value of the tree's bound, if it is a `Chi2Bound`.

    Parameters
    ----------
    confidence : float, default=0.05
        Largest p-value of a test that stays, in (0, 1); smaller prunes more.

    See Also
    --------
    skconftree.bounds.chi2_pvalue : The p-value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import Chi2Pruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound=None, pruning=Chi2Pruning(0.01))
    >>> tree.fit(X, y).get_n_leaves()
    4
    """

    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither")]
    }

    def __init__(self, confidence: float = 0.05) -> None:
        self.confidence = confidence

    def stops(self, tables: Any, depth: Any, rows: TrainingRows) -> NDArray[np.bool_]:
        bound = rows.bound if isinstance(rows.bound, Chi2Bound) else Chi2Bound()
        # Exact p-values are ratios of small numbers: they meet .05 and rounding.
        p = chi2_pvalue(tables, fisher=bound.fisher)
        return p > self.confidence * (1.0 + 1e-9)
