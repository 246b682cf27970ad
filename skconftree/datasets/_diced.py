"""The DICED problem of active learning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..utils._types import Indices, Seed
from ._concepts import check_count


def make_diced(
    n_samples: int = 500, n_features: int = 2, *, random_state: Seed = None
) -> tuple[NDArray[np.float32], Indices]:
    r"""Make a cube cut into dice, with the class told by one of the gaps.

    Each coordinate is uniform in [-1/2, -e] and [e, 1/2] with
    :math:`e = \frac{1}{2} (n / 10)^{-1/d}` for n rows and d features; the label is 1
    where the first one is positive. All gaps look alike without labels, so that an
    active learner has to find out which of them matters.

    Parameters
    ----------
    n_samples : int, default=500
        Rows, more than 10.
    n_features : int, default=2
        Columns.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same rows on every call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float32
        Features.
    y : ndarray of shape (n_samples,), intp
        Labels 0 and 1.

    References
    ----------
    A. Goldberg, X. Zhu, A. Furger and J.-M. Xu, "OASIS: online active semi-supervised
    learning", AAAI 2011; T. Rupprechter, "Online active learning", 2012, appendix A.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.datasets import make_diced
    >>> X, y = make_diced(500, random_state=0)
    >>> bool(np.abs(X).min() > 0.0707)
    True
    >>> bool((y == (X[:, 0] > 0)).all())
    True
    """
    check_count("n_samples", n_samples, 11)
    check_count("n_features", n_features)
    rng = check_random_state(random_state)
    gap = 0.5 * (n_samples / 10) ** (-1 / n_features)
    X = rng.uniform(gap, 0.5, size=(n_samples, n_features)).astype(np.float32)
    X *= 2 * rng.randint(0, 2, size=X.shape) - 1
    return X, (X[:, 0] > 0).astype(np.intp)
