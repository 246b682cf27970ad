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

# Above it the law is normal but for its skewness, and SciPy's quantile grows worse: off
# by tens of standard deviations at 1e13, NaN at 1e16.
MANY = 1e8


def beta_lower(a, b, delta):
    """Points below which Beta(a, b) variables are with probability `delta`."""
    return _beta_point(a, b, delta, betaincinv, betainc, 1.0)


def beta_upper(a, b, delta):
    """Points that Beta(a, b) exceeds with probability `delta`, accurate near 1."""
    return _beta_point(a, b, delta, betainccinv, betaincc, -1.0)


def _beta_point(a, b, delta, inverse, tail, sign):
    # The point whose lower (sign 1) or upper (-1) tail has the probability `delta`.
    a, b, delta = np.broadcast_arrays(a, b, delta)
    x = np.asarray(inverse(a, b, delta))
    many = (a > MANY) & (b > MANY)
    if many.any():
        x[many] = _normal_point(sign * ndtri(delta[many]), a[many], b[many])
    lost = np.isnan(x)  # now and then, for delta below 1e-100
    if lost.any():
        a, b, delta = a[lost], b[lost], delta[lost]
        x[lost] = _bisected(lambda x: sign * (tail(a, b, x) - delta) < 0.0, len(a))
    return x


def _normal_point(z, a, b):
    """Point of a Beta variable of many rows that corresponds to a normal deviate."""
    n = a + b
    skew = (b - a) / n / n * (z * z - 1.0) / 3.0
    return a / n + z * np.sqrt(a / n * (b / n) / n) + skew


def _bisected(is_below, n):
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


BISECTION_STEPS = 52  # of the bisection: all bits of a limit in [0, 1]


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
        for _ in range(BISECTION_STEPS):
            middle = (inside + outside) / 2.0
            likely = xlogy(hits, middle) + xlog1py(misses, -middle) > least
            inside = np.where(likely, middle, inside)
            outside = np.where(likely, outside, middle)
        return outside

    low = np.where(hits > 0, limit(np.zeros(shape)), 0.0)
    high = np.where(misses > 0, limit(np.ones(shape)), 1.0)
    return np.stack([low, high], axis=-1)


NODES, SHARES = np.polynomial.legendre.leggauss(64)  # of the quadrature
NODES, SHARES = (NODES + 1.0) / 2.0, SHARES / 2.0  # on [0, 1]
NEWTON_STEPS = 60  # at most; few are needed
SMALL = 1e-7  # a step of the search that is its last: the next would be its square


def risk_upper(
    counts: ArrayLike,
    delta: float | ArrayLike = 0.1,
    *,
    weight: float | ArrayLike = 1.0,
    predicted: int | ArrayLike | None = None,
    prior: Literal["uniform", "perks"] = "uniform",
) -> Floats:
    """Upper credible limit of the risk of a leaf.

    The risk of a leaf is the probability that a row of it has another class than the
    leaf predicts, times the weight of the leaf. The class probabilities have a
    Dirichlet posterior, the prior plus the counts; the risk is above the limit with
    posterior probability `delta`. Labels requested where this limit is largest shrink
    the risk of the whole tree (BOCT-AL).

    Parameters
    ----------
    counts : array-like of shape (..., n_classes)
        Class counts of labelled rows, drawn at random within the leaf.
    delta : float or array-like of shape (...), default=0.1
        Posterior probability of a larger risk, in (0, 1).
    weight : float or array-like of shape (...), default=1.0
        Weight of the leaf, such as the number of its rows with and without a label.
        With 1, the limit is one of the error rate.
    predicted : int or array-like of int of shape (...), default=None
        Class that the leaf predicts. None: the most frequent one.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts: one a class, or one altogether.

    Returns
    -------
    ndarray of shape (...)

    See Also
    --------
    excess_risk_upper : The part of the risk that another prediction would avoid.

    Notes
    -----
    With ``a = counts[predicted] + prior`` and A the sum of all counts and priors the
    limit is ``weight * (1 - q)``, q the `delta` quantile of Beta(a, A - a); two
    classes are equation (7) of [1]_.

    References
    ----------
    .. [1] T. Collet, O. Pietquin, "Bayesian credible intervals for online and active
       learning of classification trees", ADPRL 2015.

    Examples
    --------
    A leaf without a label, two in doubt, and one that is nearly settled:

    >>> from skconftree.bounds import risk_upper
    >>> risk_upper([[0, 0], [1, 1], [5, 5], [0, 20]], delta=0.1).round(3)
    array([0.9  , 0.804, 0.682, 0.104])
    """
    counts, delta, weight, predicted, shape = _leaves(
        counts, delta, weight, predicted, prior
    )
    a, others = _split(counts, prior, predicted)
    # the upper quantile of the complement: one minus a small number would lose digits
    risk = weight * beta_upper(others.sum(axis=1), a, delta)
    return risk.reshape(shape)[()]


def risk_of_leaves(counts, delta, weight, prior):
    """`risk_upper` of leaves of fewer than 1e8 rows, unchecked, for frequent calls."""
    a, others = _split(counts, prior, counts.argmax(axis=1))
    return weight * betainccinv(others.sum(axis=1), a, delta)


def excess_risk_of_leaves(counts, delta, weight, prior):
    """`excess_risk_upper` of leaves, as `risk_of_leaves` has their risk."""
    b, others = _split(counts, prior, counts.argmax(axis=1))
    rest = others.sum(axis=1)
    if counts.shape[1] == 2:
        gap = 1.0 - 2.0 * betaincinv(b, rest, delta)
    else:
        a = others.max(axis=1)
        gap = _gap_of_small(a, b, rest - a, np.full(len(a), delta))
    return weight * np.maximum(gap, 0.0)


def _split(counts, prior, predicted):
    # Posterior of the class predicted, and of the others, in whose place it is 0. Their
    # sum is no difference: counts may be far larger than what is left.
    posterior = counts + (1.0 if prior == "uniform" else 1.0 / counts.shape[1])
    lines = np.arange(len(counts))
    most = posterior[lines, predicted]
    posterior[lines, predicted] = 0.0
    return most, posterior


def excess_risk_upper(
    counts: ArrayLike,
    delta: float | ArrayLike = 0.1,
    *,
    weight: float | ArrayLike = 1.0,
    predicted: int | ArrayLike | None = None,
    prior: Literal["uniform", "perks"] = "uniform",
) -> Floats:
    """Upper credible limit of the risk that another prediction would avoid.

    A leaf whose classes are equally frequent has a large risk, but none that a better
    prediction would lower. The excess risk is the gap between the probabilities of
    the best class and the one predicted, times the weight of the leaf: what active
    learning on a fixed partition wants to be small (mbinomial).

    Parameters
    ----------
    counts : array-like of shape (..., n_classes)
        Class counts of labelled rows, drawn at random within the leaf.
    delta : float or array-like of shape (...), default=0.1
        Posterior probability of a larger gap, in (0, 1).
    weight : float or array-like of shape (...), default=1.0
        Weight of the leaf.
    predicted : int or array-like of int of shape (...), default=None
        Class that the leaf predicts. None: the most frequent one.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts: one a class, or one altogether.

    Returns
    -------
    ndarray of shape (...)
        Not negative: 0 where no other class is better with probability `delta`.

    See Also
    --------
    risk_upper : Of the whole risk; says more where all gaps are 0.

    Notes
    -----
    Two classes: ``weight * max(0, 1 - 2 q)``, q the `delta` quantile of the posterior
    of the class predicted [1]_. With more, the limit is that of the gap to the most
    frequent other class, above which the limits of rarer ones never lie: the sum of
    both probabilities and the share of one in it are independent, which leaves one
    integral, here by Gauss-Legendre quadrature.

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
    counts, delta, weight, predicted, shape = _leaves(
        counts, delta, weight, predicted, prior
    )
    b, others = _split(counts, prior, predicted)
    rest = others.sum(axis=1)
    if counts.shape[1] == 2:
        gap = 1.0 - 2.0 * beta_lower(b, rest, delta)
    else:
        a = others.max(axis=1)
        gap = _gap_quantile(a, b, rest - a, delta)
    return (weight * np.clip(gap, 0.0, 1.0)).reshape(shape)[()]


def _leaves(counts, delta, weight, predicted, prior):
    # Counts, tail, weight and predicted class of each leaf, and the shape of leaves.
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
            f"predicted must hold classes, integers in [0, {n_classes - 1}]. "
            f"Got {predicted!r}."
        )
    shape = np.broadcast_shapes(
        counts.shape[:-1], delta.shape, weight.shape, predicted.shape
    )
    counts = np.broadcast_to(counts, (*shape, n_classes)).reshape(-1, n_classes)
    of_leaves = (
        np.broadcast_to(one, shape).ravel() for one in (delta, weight, predicted)
    )
    return counts, *of_leaves, shape


def _gap_quantile(a, b, r, delta):
    # The e with P(p - q > e) = delta for Dirichlet(a, b, r) probabilities (p, q, .),
    # or 0 if p is larger with less than that probability.
    many = a + b > MANY
    gap = np.zeros(delta.shape)
    gap[~many] = _gap_of_small(a[~many], b[~many], r[~many], delta[~many])
    gap[many] = _gap_of_many(a[many], b[many], r[many], delta[many])
    return gap


def _gap_of_small(a, b, r, delta):
    gap = np.zeros(delta.shape)
    some = betainc(b, a, 0.5) > delta
    if some.any():
        gap[some] = _positive_gap(a[some], b[some], r[some], delta[some])
    return gap


def _positive_gap(a, b, r, delta):
    # Newton's steps within a bracket, from where it would be if p + q were known.
    e = (a + b) / (a + b + r) * (2.0 * betainccinv(a, b, delta) - 1.0)
    low, high = np.zeros(delta.shape), np.ones(delta.shape)
    both = betaincinv((a + b)[:, None], r[:, None], NODES)
    a, b = a[:, None], b[:, None]
    scale = betaln(a, b)
    for _ in range(NEWTON_STEPS):  # pragma: no branch, it converges before
        place = np.minimum((1.0 + e[:, None] / both) / 2.0, 1.0)
        excess = betaincc(a, b, place) @ SHARES - delta
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            slope = np.exp(xlogy(a - 1.0, place) + xlog1py(b - 1.0, -place) - scale)
            step = e + excess / (np.where(place < 1.0, slope / both, 0.0) @ SHARES / 2)
        low, high = np.where(excess > 0.0, e, low), np.where(excess > 0.0, high, e)
        inside = (step > low) & (step < high)
        before, e = e, np.where(inside, step, (low + high) / 2.0)
        if (np.abs(e - before) < SMALL).all():
            break
    return e


def _gap_of_many(a, b, r, delta):
    # Normal, unless p has nearly all rows: then the gap is 1 to the last digits.
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
    """How far from a tie the labels of a leaf have to be to settle its majority.

    A leaf whose labels were queried at random is consistent if half the gap between
    the shares of its two most frequent classes (with two classes: the distance of
    the share from one half) exceeds this radius. Then its majority is the most
    probable class, with probability at least ``1 - delta`` whatever the number of
    labels asked, and further labels are not worth their price.

    Parameters
    ----------
    n_queried : float or array-like
        Labels of the leaf, not negative.
    n_seen : float or array-like
        Rows that the leaf has seen, labelled or not, at least 1.
    delta : float or array-like, default=None
        Probability of a wrong statement, in (0, 1]. None: ``1 / n_seen``, as in the
        experiments of [1]_.
    n_classes : int, default=2
        Number of classes, at least 2.
    form : {"theory", "practical"}, default="theory"
        The radius of the theorem, or ``c * sqrt(log(n_seen) / n_queried)``, which
        does not depend on `delta` and promises nothing.
    c : float or array-like, default=1.0
        Factor of the practical form, positive.

    Returns
    -------
    ndarray
        Infinite where there is no label. The arguments are broadcast.

    Notes
    -----
    ``sqrt(log(n_classes (n_classes - 1) n_seen / delta) / (2 n_queried))``: a union
    over the numbers of labels and pairs of classes. Equations (8) and (9) of [1]_
    for two classes.

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
    # roots of quotients as quotients of roots, which do not overflow
    with np.errstate(divide="ignore", invalid="ignore"):
        if form == "practical":
            radius = c * (np.sqrt(np.log(n_seen)) / np.sqrt(n_queried))
        else:
            log_tests = np.log(n_classes * (n_classes - 1.0)) + np.log(n_seen)
            log_tests = log_tests - np.log(delta)
            radius = np.sqrt(0.5 * log_tests) / np.sqrt(n_queried)
    return np.where(n_queried > 0, radius, np.inf)[()]
