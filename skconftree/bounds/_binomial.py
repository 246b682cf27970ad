"""Upper confidence limit of an error rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._beta import beta_lower
from ._checks import check_range


def binomial_upper(
    errors: float | ArrayLike, n: float | ArrayLike, delta: float | ArrayLike = 0.25
) -> float | NDArray[Any]:
    """Exact one-sided upper confidence limit of a binomial probability.

    Of `n` rows in a leaf, `errors` are of another class than the leaf predicts.
    The limit is the largest error rate that these counts do not refute: with it,
    so few errors or fewer have the probability `delta`. Pessimistic pruning
    (``pruning="pessimistic"``) counts a leaf as `n` times this limit.

    Parameters
    ----------
    errors : float or array-like
        Errors among the rows, from 0 to `n`; fractions are allowed.
    n : float or array-like
        Number of rows, above 0.
    delta : float or array-like, default=0.25
        One minus the confidence of the limit, in (0, 1): C4.5's confidence factor.

    Returns
    -------
    float or ndarray
        At most 1, and 1 where every row is an error. The arguments are broadcast.

    See Also
    --------
    skconftree.ConfidenceTreeClassifier : Prunes by it, ``pruning="pessimistic"``.

    Notes
    -----
    The limit of Clopper and Pearson [1]_: the (1 - delta) quantile of
    Beta(errors + 1, n - errors).

    References
    ----------
    .. [1] C. J. Clopper, E. S. Pearson (1934), "The use of confidence or fiducial
       limits illustrated in the case of the binomial", Biometrika 26, 404-413.

    Examples
    --------
    >>> from skconftree.bounds import binomial_upper
    >>> binomial_upper([0, 1, 6], [6, 10, 6]).round(4)
    array([0.2063, 0.2474, 1.    ])
    """
    errors = np.asarray(errors, dtype=np.float64)
    n = np.asarray(n, dtype=np.float64)
    delta = check_range("delta", delta, 0, 1)
    if not errors.shape == n.shape == delta.shape:
        errors, n, delta = np.broadcast_arrays(errors, n, delta)
    if not np.all((n > 0) & np.isfinite(n)):
        raise ValueError(f"n must be positive and finite. Got {n}.")
    if not np.all((errors >= 0) & (errors <= n)):
        raise ValueError(f"errors must lie in [0, n]. Got {errors} with n = {n}.")
    limit = np.ones(errors.shape)
    none = errors == 0
    limit[none] = -np.expm1(np.log(delta[none]) / n[none])
    some = ~none & (errors < n)
    limit[some] -= beta_lower(n[some] - errors[some], errors[some] + 1, delta[some])
    return limit[()]
