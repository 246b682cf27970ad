"""Confidence limits of rates, class probabilities and risks."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import (
    betainc,
    betaincc,
    betainccinv,
    betaincinv,
    betaln,
    ndtri,
    xlog1py,
    xlogy,
)

from ..utils._types import Floats
from ._base import check_choice, check_counts, check_range
from ._credible import PRIORS

# Above this count, a normal approximation with a correction for skewness is exact,
# while SciPy's quantile loses accuracy: it is off by tens of standard deviations at
# 1e13, NaN at 1e16.
LARGE_COUNT = 1e8


def beta_lower(a, b, delta):
    """Return the lower `delta` quantiles of Beta(a, b)."""
    return _beta_quantile(a, b, delta, betaincinv, betainc, 1.0)


def beta_upper(a, b, delta):
    """Return the upper `delta` quantiles of Beta(a, b), accurate near 1."""
    return _beta_quantile(a, b, delta, betainccinv, betaincc, -1.0)


def _beta_quantile(a, b, delta, inverse, tail, sign):
    # The quantile whose lower (sign 1) or upper (-1) tail has the probability `delta`.
    a, b, delta = np.broadcast_arrays(a, b, delta)
    x = np.asarray(inverse(a, b, delta))
    is_large = (a > LARGE_COUNT) & (b > LARGE_COUNT)
    if is_large.any():
        x[is_large] = _normal_quantile(
            sign * ndtri(delta[is_large]), a[is_large], b[is_large]
        )
    is_nan = np.isnan(x)  # happens for some delta below 1e-100
    if is_nan.any():
        a, b, delta = a[is_nan], b[is_nan], delta[is_nan]
        x[is_nan] = _bisect(lambda x: sign * (tail(a, b, x) - delta) < 0.0, len(a))
    return x


def _normal_quantile(z, a, b):
    """Return the quantile of Beta(a, b) for a normal quantile z; a and b are large."""
    n = a + b
    skew = (b - a) / n / n * (z * z - 1.0) / 3.0
    return a / n + z * np.sqrt(a / n * (b / n) / n) + skew


def _bisect(is_below, n):
    low, high = np.zeros(n), np.ones(n)
    for _ in range(60):
        middle = (low + high) / 2.0
        below = is_below(middle)
        low[below] = middle[below]
        high[~below] = middle[~below]
    return high


def binomial_upper(
    errors: float | ArrayLike, n: float | ArrayLike, delta: float | ArrayLike = 0.25
) -> float | NDArray[Any]:
    """Exact one-sided upper confidence limit of a binomial probability.

    Of the `n` rows of a leaf, `errors` rows have another class than the leaf predicts.
    The limit is the largest error rate that is compatible with these counts: at this
    rate, at most `errors` errors occur with probability `delta`. Pessimistic pruning
    (``pruning="pessimistic"``) estimates the errors of a leaf as `n` times this limit.

    Parameters
    ----------
    errors : float or array-like
        Number of errors, from 0 to `n`. Fractions are allowed.
    n : float or array-like
        Number of rows, above 0.
    delta : float or array-like, default=0.25
        One minus the confidence of the limit, in (0, 1): C4.5's confidence factor.
        Smaller values give larger limits.

    Returns
    -------
    float or ndarray
        Upper limits, at most 1. The limit is 1 if all rows are errors. The arguments
        are broadcast.

    See Also
    --------
    skconftree.ConfidenceTreeClassifier : Uses the limit with ``pruning="pessimistic"``.

    Notes
    -----
    This is the limit of Clopper and Pearson [1]_, the (1 - delta) quantile of
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
    no_error = errors == 0
    limit[no_error] = -np.expm1(np.log(delta[no_error]) / n[no_error])
    mixed = ~no_error & (errors < n)
    limit[mixed] -= beta_lower(
        n[mixed] - errors[mixed], errors[mixed] + 1, delta[mixed]
    )
    return limit[()]


BISECTION_STEPS = 52  # determine all bits of a limit in [0, 1]


def confidence_sequence(
    counts: ArrayLike, alpha: float | ArrayLike = 0.05, *, a: float = 0.5
) -> Floats:
    """Confidence sequence: anytime-valid confidence limits of class probabilities.

    An ordinary confidence interval is valid for a number of rows that was fixed in
    advance. It is misleading if it is checked after every row and used for optional
    stopping. These limits hold for any number of checks: for each class, the
    probability that the true class probability is ever outside of its limits is at most
    `alpha`.

    Parameters
    ----------
    counts : array-like of shape (..., n_classes)
        Class counts of the independent rows so far, not necessarily integers.
    alpha : float or array-like of shape (...), default=0.05
        Probability, in (0, 1), that the limits of a class are ever wrong. It is
        broadcast against the leading dimensions of `counts`.
    a : float, default=0.5
        Pseudo-counts of the mixture, positive. Larger values make the limits narrower
        for a class that has about half of many rows, and wider elsewhere.

    Returns
    -------
    ndarray of shape (..., n_classes, 2)
        Lower and upper limits.

    See Also
    --------
    binomial_upper : Narrower limit for a number of rows that was fixed in advance.
    log_evalue : The same kind of evidence for a split.

    Notes
    -----
    A probability p is within the limits if the likelihood of the labels under p is more
    than `alpha` times their likelihood under a Beta(a, a) mixture. For the true p, the
    ratio of the latter to the former is a martingale. By Ville's inequality [1]_ it
    reaches ``1 / alpha`` with probability at most `alpha`.

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
    counts_of_class = np.broadcast_to(counts, shape)
    other_counts = np.broadcast_to(total - counts, shape)
    min_log_likelihood = (
        betaln(counts_of_class + a, other_counts + a) - betaln(a, a) + np.log(alpha)
    )
    center = counts_of_class / np.maximum(
        counts_of_class + other_counts, np.finfo(float).tiny
    )

    def limit(outside):
        # Bisection between a point outside of the limits and the observed share.
        inside = center
        for _ in range(BISECTION_STEPS):
            middle = (inside + outside) / 2.0
            likely = (
                xlogy(counts_of_class, middle) + xlog1py(other_counts, -middle)
                > min_log_likelihood
            )
            inside = np.where(likely, middle, inside)
            outside = np.where(likely, outside, middle)
        return outside

    low = np.where(counts_of_class > 0, limit(np.zeros(shape)), 0.0)
    high = np.where(other_counts > 0, limit(np.ones(shape)), 1.0)
    return np.stack([low, high], axis=-1)


# Gauss-Legendre quadrature on [0, 1]
QUADRATURE_NODES, QUADRATURE_WEIGHTS = np.polynomial.legendre.leggauss(64)
QUADRATURE_NODES = (QUADRATURE_NODES + 1.0) / 2.0
QUADRATURE_WEIGHTS = QUADRATURE_WEIGHTS / 2.0
NEWTON_STEPS = 60  # upper limit
NEWTON_TOLERANCE = 1e-7  # of the last step; the error is about its square


def risk_upper(
    counts: ArrayLike,
    delta: float | ArrayLike = 0.1,
    *,
    weight: float | ArrayLike = 1.0,
    predicted: int | ArrayLike | None = None,
    prior: Literal["uniform", "perks"] = "uniform",
) -> Floats:
    """Upper credible limit of the risk of a leaf.

    The risk of a leaf is the probability that one of its rows has another class than
    the leaf predicts, times the weight of the leaf. The class probabilities have a
    Dirichlet posterior, the prior plus the counts. The risk exceeds the limit with
    posterior probability `delta`. Querying labels in the leaf with the largest limit
    reduces the risk of the whole tree. This query strategy is called BOCT-AL in [1]_.

    Parameters
    ----------
    counts : array-like of shape (..., n_classes)
        Class counts of labeled rows, drawn at random within the leaf.
    delta : float or array-like of shape (...), default=0.1
        Posterior probability of a larger risk, in (0, 1). Smaller values give larger
        limits.
    weight : float or array-like of shape (...), default=1.0
        Weight of the leaf, such as the number of its labeled and unlabeled rows. With
        weight 1 the limit is a limit of the error rate.
    predicted : int or array-like of int of shape (...), default=None
        Class that the leaf predicts. None is the most frequent class.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts: 1 per class (uniform), or a total of 1 (Perks).

    Returns
    -------
    ndarray of shape (...)
        Upper limits.

    See Also
    --------
    excess_risk_upper : The part of the risk that another prediction would avoid.

    Notes
    -----
    With ``a = counts[predicted] + prior`` and A the sum of all counts and priors, the
    limit is ``weight * (1 - q)``, where q is the `delta` quantile of Beta(a, A - a).
    For two classes this is equation (7) of [1]_.

    References
    ----------
    .. [1] T. Collet, O. Pietquin, "Bayesian credible intervals for online and active
       learning of classification trees", ADPRL 2015.

    Examples
    --------
    A leaf without labels, two leaves with equal counts, and one with a clear majority:

    >>> from skconftree.bounds import risk_upper
    >>> risk_upper([[0, 0], [1, 1], [5, 5], [0, 20]], delta=0.1).round(3)
    array([0.9  , 0.804, 0.682, 0.104])
    """
    counts, delta, weight, predicted, shape = _validate_leaves(
        counts, delta, weight, predicted, prior
    )
    a, others = _posterior(counts, prior, predicted)
    # the upper quantile of the complement, because 1 - q would lose digits
    risk = weight * beta_upper(others.sum(axis=1), a, delta)
    return risk.reshape(shape)[()]


def risk_of_leaves(counts, delta, weight, prior):
    """Return `risk_upper` of leaves of fewer than 1e8 rows, without validation."""
    a, others = _posterior(counts, prior, counts.argmax(axis=1))
    return weight * betainccinv(others.sum(axis=1), a, delta)


def excess_risk_of_leaves(counts, delta, weight, prior):
    """Return `excess_risk_upper` of leaves of below 1e8 rows, without validation."""
    b, others = _posterior(counts, prior, counts.argmax(axis=1))
    rest = others.sum(axis=1)
    # gap: limit of the difference to the most probable other class
    if counts.shape[1] == 2:
        gap = 1.0 - 2.0 * betaincinv(b, rest, delta)
    else:
        a = others.max(axis=1)
        gap = _gap_by_quadrature(a, b, rest - a, np.full(len(a), delta))
    return weight * np.maximum(gap, 0.0)


def _posterior(counts, prior, predicted):
    # Posterior of the predicted class, and of the others (0 at the predicted class).
    # The others are summed, not subtracted from the total, which could cancel.
    posterior = counts + (1.0 if prior == "uniform" else 1.0 / counts.shape[1])
    leaves = np.arange(len(counts))
    chosen = posterior[leaves, predicted]
    posterior[leaves, predicted] = 0.0
    return chosen, posterior


def excess_risk_upper(
    counts: ArrayLike,
    delta: float | ArrayLike = 0.1,
    *,
    weight: float | ArrayLike = 1.0,
    predicted: int | ArrayLike | None = None,
    prior: Literal["uniform", "perks"] = "uniform",
) -> Floats:
    """Upper credible limit of the risk that a better prediction would avoid.

    A leaf with equally frequent classes has a large risk that no prediction can lower.
    The excess risk is the difference between the probabilities of the best class and
    the predicted class, times the weight of the leaf. Active learning with fixed leaves
    minimizes it, as the strategy "mbinomial" of [1]_ does.

    Parameters
    ----------
    counts : array-like of shape (..., n_classes)
        Class counts of labeled rows, drawn at random within the leaf.
    delta : float or array-like of shape (...), default=0.1
        Posterior probability of a larger difference, in (0, 1). Smaller values give
        larger limits.
    weight : float or array-like of shape (...), default=1.0
        Weight of the leaf.
    predicted : int or array-like of int of shape (...), default=None
        Class that the leaf predicts. None is the most frequent class.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts: 1 per class (uniform), or a total of 1 (Perks).

    Returns
    -------
    ndarray of shape (...)
        Upper limits, not negative. The limit is 0 if no other class is better with
        probability `delta`.

    See Also
    --------
    risk_upper : Limit of the whole risk; it also ranks leaves whose excess risk is 0.

    Notes
    -----
    For two classes, the limit is ``weight * max(0, 1 - 2 q)``, where q is the `delta`
    quantile of the posterior of the predicted class [1]_. For more classes, it is the
    limit of the difference to the most frequent other class; the limits of rarer
    classes are never larger. The sum of the two probabilities is independent of the
    share of one of them in the sum. One integral remains; it is computed by
    Gauss-Legendre quadrature.

    References
    ----------
    .. [1] T. Collet, O. Pietquin, "Active learning for classification: an optimistic
       approach", ADPRL 2014.

    Examples
    --------
    >>> from skconftree.bounds import excess_risk_upper
    >>> excess_risk_upper([[0, 0], [5, 5], [0, 20]], delta=0.1).round(3)
    array([0.8  , 0.365, 0.   ])
    >>> excess_risk_upper([6, 5, 1], delta=0.1).round(3)
    np.float64(0.238)
    """
    counts, delta, weight, predicted, shape = _validate_leaves(
        counts, delta, weight, predicted, prior
    )
    b, others = _posterior(counts, prior, predicted)
    rest = others.sum(axis=1)
    if counts.shape[1] == 2:
        gap = 1.0 - 2.0 * beta_lower(b, rest, delta)
    else:
        a = others.max(axis=1)
        gap = _gap_quantile(a, b, rest - a, delta)
    return (weight * np.clip(gap, 0.0, 1.0)).reshape(shape)[()]


def _validate_leaves(counts, delta, weight, predicted, prior):
    # Validated counts, delta, weight and predicted class of each leaf; shape of the
    # result.
    check_choice("prior", prior, PRIORS)
    counts = check_counts(counts)
    n_classes = counts.shape[-1]
    delta = check_range("delta", delta, 0, 1)
    weight = check_range("weight", weight, 0, np.inf, closed="left")
    if predicted is None:
        predicted = counts.argmax(-1)
    predicted = np.asarray(predicted)
    if (
        predicted.dtype.kind not in "iu"
        or not ((predicted >= 0) & (predicted < n_classes)).all()
    ):
        raise ValueError(
            f"predicted must hold class indices, integers in [0, {n_classes - 1}]. "
            f"Got {predicted!r}."
        )
    shape = np.broadcast_shapes(
        counts.shape[:-1], delta.shape, weight.shape, predicted.shape
    )
    counts = np.broadcast_to(counts, (*shape, n_classes)).reshape(-1, n_classes)
    flat = (np.broadcast_to(v, shape).ravel() for v in (delta, weight, predicted))
    return counts, *flat, shape


def _gap_quantile(a, b, r, delta):
    # The e with P(p - q > e) = delta for Dirichlet(a, b, r) probabilities (p, q, .), or
    # 0 if P(p > q) is below delta.
    is_large = a + b > LARGE_COUNT
    gap = np.zeros(delta.shape)
    gap[~is_large] = _gap_by_quadrature(
        a[~is_large], b[~is_large], r[~is_large], delta[~is_large]
    )
    gap[is_large] = _gap_by_normal(
        a[is_large], b[is_large], r[is_large], delta[is_large]
    )
    return gap


def _gap_by_quadrature(a, b, r, delta):
    # The same if a + b is not large: an integral over the distribution of p + q.
    gap = np.zeros(delta.shape)
    is_positive = betainc(b, a, 0.5) > delta
    if is_positive.any():
        gap[is_positive] = _positive_gap(
            a[is_positive], b[is_positive], r[is_positive], delta[is_positive]
        )
    return gap


def _positive_gap(a, b, r, delta):
    # Newton's method within a bracket for the gap e > 0 of _gap_quantile(). The start
    # is the solution for a known p + q; `both` are values of p + q, at the nodes of the
    # quadrature.
    e = (a + b) / (a + b + r) * (2.0 * betainccinv(a, b, delta) - 1.0)
    low, high = np.zeros(delta.shape), np.ones(delta.shape)
    both = betaincinv((a + b)[:, None], r[:, None], QUADRATURE_NODES)
    a, b = a[:, None], b[:, None]
    scale = betaln(a, b)
    for _ in range(NEWTON_STEPS):  # pragma: no branch, it converges before
        x = np.minimum((1.0 + e[:, None] / both) / 2.0, 1.0)
        excess = betaincc(a, b, x) @ QUADRATURE_WEIGHTS - delta
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            slope = np.exp(xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - scale)
            step = e + excess / (
                np.where(x < 1.0, slope / both, 0.0) @ QUADRATURE_WEIGHTS / 2
            )
        low, high = np.where(excess > 0.0, e, low), np.where(excess > 0.0, high, e)
        inside = (step > low) & (step < high)
        before, e = e, np.where(inside, step, (low + high) / 2.0)
        if (np.abs(e - before) < NEWTON_TOLERANCE).all():
            break
    return e


def _gap_by_normal(a, b, r, delta):
    # Normal approximation, unless p has nearly all rows: then the gap rounds to 1.
    n = a + b + r
    gap = (a - b) / n
    spread = (a + b) / n - gap * gap
    return np.maximum(gap - ndtri(delta) * np.sqrt(np.maximum(spread, 0.0) / n), 0.0)


def consistency_radius(
    n_queried: float | ArrayLike,
    n_seen: float | ArrayLike,
    delta: float | ArrayLike | None = None,
    *,
    n_classes: int = 2,
    form: Literal["theory", "practical"] = "theory",
    c: float | ArrayLike = 1.0,
) -> NDArray[Any]:
    """Confidence radius of the majority class of a leaf with queried labels.

    A leaf whose labels were queried at random is consistent if half the difference
    between the shares of its two most frequent classes exceeds this radius. (With two
    classes, this is the distance of a share from 1/2.) The majority class of a
    consistent leaf is the most probable class with probability at least ``1 - delta``,
    for any number of queried labels, so that further queries are not worth their cost.

    Parameters
    ----------
    n_queried : float or array-like
        Number of labels of the leaf, not negative.
    n_seen : float or array-like
        Number of rows, labeled or not, that the leaf has seen, at least 1.
    delta : float or array-like, default=None
        Probability of error, in (0, 1]. None is ``1 / n_seen``, as in the experiments
        of [1]_. Smaller values give larger radii.
    n_classes : int, default=2
        Number of classes, at least 2.
    form : {"theory", "practical"}, default="theory"
        The radius of the theorem, or ``c * sqrt(log(n_seen) / n_queried)``, which
        does not depend on `delta` and has no guarantee.
    c : float or array-like, default=1.0
        Factor of the practical form, positive.

    Returns
    -------
    ndarray
        Radii, infinite without labels. The arguments are broadcast.

    Notes
    -----
    The radius is ``sqrt(log(n_classes (n_classes - 1) n_seen / delta) / (2
    n_queried))``, a union bound over the numbers of labels and the pairs of classes.
    For two classes, these are equations (8) and (9) of [1]_.

    References
    ----------
    .. [1] R. De Rosa, N. Cesa-Bianchi, "Confidence decision trees via online and
       active learning for streaming data", Journal of Artificial Intelligence
       Research 60 (2017).

    Examples
    --------
    >>> from skconftree.bounds import consistency_radius
    >>> consistency_radius([0, 50, 200], 1000, 0.05).round(3)
    array([  inf, 0.326, 0.163])
    """
    check_choice("form", form, ("theory", "practical"))
    n_queried = check_range("n_queried", n_queried, 0, np.inf, closed="left")
    n_seen = check_range("n_seen", n_seen, 1, np.inf, closed="left")
    c = check_range("c", c, 0, np.inf)
    if not isinstance(n_classes, (int, np.integer)) or n_classes < 2:
        raise ValueError(f"n_classes must be an integer of 2 or more. Got {n_classes}.")
    if delta is None:
        delta = 1.0 / n_seen
    delta = check_range("delta", delta, 0, 1, closed="right")
    # quotients of roots do not overflow, unlike roots of quotients
    with np.errstate(divide="ignore", invalid="ignore"):
        if form == "practical":
            radius = c * (np.sqrt(np.log(n_seen)) / np.sqrt(n_queried))
        else:
            log_n_pairs = np.log(n_classes * (n_classes - 1.0)) + np.log(n_seen)
            log_n_pairs = log_n_pairs - np.log(delta)
            radius = np.sqrt(0.5 * log_n_pairs) / np.sqrt(n_queried)
    return np.where(n_queried > 0, radius, np.inf)[()]
