"""Tests that label noise may explain."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._compat import Interval
from ...bounds import EC2Bound, ec2_confidence
from ._unsupported import UnsupportedTests

if TYPE_CHECKING:
    from ._base import TrainingRows


class EC2Pruning(UnsupportedTests):
    """A test above leaves stays if label noise hardly explains it.

    The noise, and what is to be beaten, are those of the tree's bound, if it is EC2's.

    Parameters
    ----------
    confidence : float, default=0.5
        Least confidence of a test that stays, in [0, 1]; larger prunes more.

    See Also
    --------
    skconftree.bounds.ec2_confidence : The confidence.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import EC2Pruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound=None, pruning=EC2Pruning(0.9))
    >>> tree.fit(X, y).get_n_leaves()
    7
    """

    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 1.0, closed="both")]
    }

    def __init__(self, confidence: float = 0.5) -> None:
        self.confidence = confidence

    def stops(self, tables: Any, depth: Any, rows: TrainingRows) -> NDArray[np.bool_]:
        noise = rows.bound if isinstance(rows.bound, EC2Bound) else EC2Bound()
        sure = ec2_confidence(
            tables,
            depth,
            noise.noise,
            error_outcomes=noise.error_outcomes,
            margin=noise.margin,
            against=noise.against,
        )
        return sure < self.confidence
