"""Limits of class probabilities that hold at every look."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, xlog1py, xlogy

from ..utils._types import Floats
from ._checks import check_counts, check_range

STEPS = 52  # of the bisection: all bits of a limit in [0, 1]


def confidence_sequence(
    counts: ArrayLike, alpha: float | ArrayLike = 0.05, *, a: float = 0.5
) -> Floats:
    """Confidence limits of class probabilities that hold at all times at once.

    An ordinary confidence interval holds for a number of rows chosen beforehand. Who
    looks at it after every row, and stops when it suits, will be misled. These limits
    hold however often one looks: the probability that the truth is ever outside is
    at most `alpha`, for each class.

    Parameters
    ----------
    counts : array-like of shape (..., n_classes)
        Class counts of independent rows so far, not necessarily whole.
    alpha : float or array-like of shape (...), default=0.05
        Probability, in (0, 1), that the limits of a class are wrong at any time;
        broadcast against the leading dimensions of `counts`.
    a : float, default=0.5
        Pseudo-counts of the mixture, positive. Larger ones make the limits narrower
        where a class has about half of many rows, and wider elsewhere.

    Returns
    -------
    ndarray of shape (..., n_classes, 2)
        Lower and upper limits.

    See Also
    --------
    binomial_upper : Narrower, for one look at a number of rows chosen beforehand.
    log_evalue : The same evidence, for a split.

    Notes
    -----
    A probability p belongs to the limits while the likelihood of the labels under p
    is more than `alpha` times their likelihood under a Beta(a, a) mixture: that ratio
    is a martingale for the true p, and rarely large by Ville's inequality [1]_.

    References
    ----------
    .. [1] H. Robbins (1970), "Statistical methods related to the law of the iterated
       logarithm", Annals of Mathematical Statistics 41, 1397-1409.

    Examples
    --------
    >>> from skconftree.bounds import confidence_sequence
    >>> confidence_sequence([[0, 0], [30, 10]]).round(3)
    array([[[0.   , 1.   ],
            [0.   , 1.   ]],
    <BLANKLINE>
           [[0.504, 0.918],
            [0.082, 0.496]]])
    """
    counts = check_counts(counts)
    alpha = check_range("alpha", alpha, 0, 1)[..., None]
    a = check_range("a", a, 0, np.inf)
    if a.ndim:
        raise ValueError(f"a must be one number. Got an array of shape {a.shape}.")
    total = counts.sum(-1, keepdims=True)
    shape = np.broadcast_shapes(counts.shape, alpha.shape)
    hits = np.broadcast_to(counts, shape)
    misses = np.broadcast_to(total - counts, shape)
    least = betaln(hits + a, misses + a) - betaln(a, a) + np.log(alpha)
    centre = hits / np.maximum(hits + misses, np.finfo(float).tiny)

    def limit(outside):
        # Between a point that is outside, or the end of the range, and the share.
        inside = centre
        for _ in range(STEPS):
            middle = (inside + outside) / 2.0
            likely = xlogy(hits, middle) + xlog1py(misses, -middle) > least
            inside = np.where(likely, middle, inside)
            outside = np.where(likely, outside, middle)
        return outside

    low = np.where(hits > 0, limit(np.zeros(shape)), 0.0)
    high = np.where(misses > 0, limit(np.ones(shape)), 1.0)
    return np.stack([low, high], axis=-1)
