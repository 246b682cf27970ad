"""Bound (split rule) of the confidence tree (C-Tree, De Rosa and Cesa-Bianchi), in four forms.

A `RaceBound` requires that the best split beats its competitors by more than a confidence radius;
a kernel is the compiled object of a bound. m is the number of rows since the leaf was created.
"""

from libc.math cimport fmax, log, log2, sqrt

from numbers import Real

import numpy as np

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import BaseBound, broadcast_table, check_choice, check_range

# NodeStats describes the node, SplitEvidence what the tree stores about its split.
from skconftree.bounds._contract cimport NodeStats, RaceBound, SplitEvidence
from skconftree.criteria._impurity cimport ENTROPY, GINI, Impurity, impurity_code
from skconftree.utils._typedefs cimport float64_t, intp_t

cdef float64_t LN2 = 0.6931471805599453


cdef float64_t log_over(float64_t x, float64_t delta) noexcept nogil:
    # log(x / delta); the quotient overflows for the smallest delta
    return log(x / delta) if delta > 1e-200 else log(x) - log(delta)


cdef float64_t deviation(
    Impurity criterion, float64_t m, float64_t delta, float64_t k, float64_t r, bint tight,
) noexcept nogil:
    # Confidence radius of the conditional impurity of one split with r outcomes (children), k
    # classes, estimated from m rows: with probability 1 - delta, the true impurity is within
    # this radius. McDiarmid's or Okamoto's deviation plus the bias. Two balanced classes
    # have impurity 1/2.
    cdef float64_t bias
    if criterion == ENTROPY:
        # The biases of H(Y, F) and H(F), for class Y and outcome F, have the same sign and
        # enter with opposite signs, so that the larger one bounds both.
        bias = k * r - 1.0 if tight else k * r - 1.0 + r - 1.0
        return log2(m) * sqrt(2.0 / m * log_over(4.0, delta)) + bias / (2.0 * m * LN2)
    if criterion == GINI:
        # Moving one row changes the total by at most 2, not 4, and the bias is of
        # order 1/m.
        if tight:
            return sqrt(2.0 / m * log_over(2.0, delta)) + r * (1.0 - 1.0 / k) / m
        return sqrt(8.0 / m * log_over(2.0, delta)) + r * k / sqrt(m)
    # Kearns-Mansour: two classes share one square root per child.
    if k == 2.0:
        return 2.0 * r * sqrt(log_over(4.0 * r, delta) / m)
    return r * k * sqrt(log_over(4.0 * r * k, delta) / m)


cdef float64_t share(
    bint anytime, float64_t delta, float64_t m, float64_t depth, float64_t time,
    float64_t n_attributes, float64_t attempt, float64_t n_tests,
) noexcept nogil:
    # The share of delta of one candidate split at one node, after `time` rows of the stream.
    delta /= (depth + 1.0) * (depth + 2.0)
    if anytime:
        return delta / (attempt * (attempt + 1.0) * fmax(n_tests, 1.0))
    return delta / (fmax(time, 1.0) * fmax(n_attributes, 1.0) * fmax(m, 1.0))


cdef float64_t practical(
    Impurity criterion, float64_t m, float64_t depth, float64_t time,
    float64_t n_attributes, float64_t c,
) noexcept nogil:
    # The heuristic radius of the paper's experiments. It counts the root as depth 1. A sum of
    # logarithms, because the product could lose digits.
    cdef float64_t inside = (2.0 * log(m) + 2.0 * log(depth + 1.0) + log(time) + log(n_attributes))
    cdef float64_t out = c * sqrt(fmax(inside, 0.0) / m)
    return out * log(m) if criterion == ENTROPY else out


cdef class DeRosaKernel(RaceBound):
    """Compiled rule: the best split must win by a C-Tree radius; see `RaceBound`."""

    cdef bint is_practical
    cdef bint is_tight
    cdef bint is_anytime
    cdef float64_t c

    def __init__(self, criterion, n_classes, delta, form, c, against_no_split, tie_threshold):
        # the difference of scores must exceed 1 or 2 radii
        super().__init__(
            criterion, n_classes, delta, 1.0 if form == "practical" else 2.0,
            against_no_split, tie_threshold,
        )
        self.is_practical = form == "practical"
        self.is_anytime = form == "anytime"
        self.is_tight = form in ("tight", "anytime")
        self.c = c

    cdef float64_t radius(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        cdef float64_t m = fmax(stats.n_fresh, 1.0)
        cdef float64_t delta
        if self.is_practical:
            return practical(
                self.impurity, m, stats.depth, fmax(stats.time, 1.0),
                fmax(stats.n_features, 1.0), self.c,
            )
        delta = share(
            self.is_anytime, self.delta, m, stats.depth, stats.time, stats.n_features,
            stats.attempt, stats.n_candidates,
        )
        return deviation(self.impurity, m, delta, self.n_classes, r, self.is_tight)

    cdef float64_t statistic(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        # The confidence, stored with the split. The practical form has delta = 1/t.
        if self.is_practical:
            return 1.0 - 1.0 / fmax(stats.time, 1.0)
        return 1.0 - self.delta


class DeRosaBound(BaseBound):
    """Split rule that uses confidence radii of the criterion itself (C-Tree).

    The radii are derived for the impurity and include its bias. (Hoeffding's inequality,
    which Hoeffding trees (VFDT) use, holds for means, and impurities are not means.) The
    best split must beat the best split of every other feature, and "no split", by twice
    the radius. The share of `delta` of a node decreases with its depth, so that the
    probability of a wrong split on the path of a random row is at most `delta`.

    There are four forms, from heuristic to rigorous:

    - ``"practical"``: a radius of the same shape with a tunable constant `c`,
      ``delta = 1/t`` and no factor 2. The published experiments used it. It has no
      guarantee.
    - ``"paper"``: the printed radii, with a share of delta for every row seen so far.
    - ``"tight"``: the same with tighter constants; for Gini it needs seven times fewer
      rows.
    - ``"anytime"``: the tight radii, with a share of delta for every split attempt at the
      leaf and every candidate split. For candidate splits fixed in advance, it is valid
      at any time, and it does not depend on the length of the stream.

    All forms except ``"practical"`` need at least 1,000 rows for a clear difference.
    Use them for long streams in which a wrong split is worse than a late split. In
    small tables, in which features are often tied, even ``"practical"`` rarely splits
    unless ``against="no_split"``.

    Parameters
    ----------
    delta : float, default=0.05
        Probability, in (0, 1), of a wrong split on the path of a random row. Larger
        values split earlier. Not used by ``form="practical"``, whose delta is 1 divided
        by the number of rows seen.
    form : {"practical", "paper", "tight", "anytime"}, default="practical"
        Radius and share of `delta`; see above.
    c : float, default=0.1
        Factor of the practical radius, above 0. Smaller values split earlier.
    against : {"runner_up", "no_split"}, default="runner_up"
        The competitors of the best split: the best split of every other feature and "no
        split", as published, or "no split" only. Among two equally good features there
        is never a winner, so that ``"runner_up"`` does not split however good both are.
    tie_threshold : float, default=0.0
        If the radius is at most this threshold, the best split is made although it does
        not beat the other features, provided that it beats "no split". With 0, ties are
        never broken.

    Attributes
    ----------
    criteria : tuple of str
        Criteria for which the radii are derived.

    See Also
    --------
    derosa_radius, derosa_share, derosa_practical_radius : Its parts as functions.
    HoeffdingBound : The radius of the VFDT.

    Notes
    -----
    With m rows since the creation of the leaf, K classes, r outcomes and a share s of
    delta, the radii are, on the scale on which two balanced classes have impurity 1/2:

    - entropy: ``log2(m) sqrt(2/m ln(4/s)) + (K r - 1 + r - 1) / (2 m ln 2)``;
      tight without the ``r - 1``;
    - Gini: ``sqrt(8/m ln(2/s)) + r K / sqrt(m)``; tight
      ``sqrt(2/m ln(2/s)) + r (1 - 1/K) / m``;
    - Kearns-Mansour: ``2 r sqrt(ln(4 r/s) / m)`` for two classes, otherwise
      ``r K sqrt(ln(4 r K/s) / m)``.

    At depth h (root 0), with t rows seen, d features, split attempt j and N candidate
    splits, s is ``delta / ((h+1)(h+2) t d m)``, or anytime
    ``delta / ((h+1)(h+2) j(j+1) N)``. The practical radius is
    ``c sqrt(ln(m^2 (h+1)^2 t d) / m)``, times ``ln m`` for entropy.

    References
    ----------
    .. [1] R. De Rosa, N. Cesa-Bianchi (2017), "Confidence decision trees via online
       and active learning for streaming data", JAIR 60, 1031-1055; arXiv
       1604.03278, equations (4) to (7) and (10), Algorithm 1.
    .. [2] A. Antos, I. Kontoyiannis (2001), "Convergence properties of functional
       estimates for discrete distributions", Random Structures & Algorithms 19,
       163-193.
    .. [3] L. Paninski (2003), "Estimation of entropy and mutual information",
       Neural Computation 15, 1191-1253.

    Examples
    --------
    >>> from skconftree.bounds import DeRosaBound
    >>> table = [[4000, 1000], [1000, 4000]]
    >>> DeRosaBound().evaluate(table, runner_up=0.4, attributes=10).split
    True
    >>> result = DeRosaBound(form="tight").evaluate(table, runner_up=0.4, attributes=10)
    >>> result.split, round(result.radius, 3)
    (False, 0.071)
    """

    criteria = ("gini", "entropy", "kearns_mansour")
    cautious = True  # needs many rows for a first split
    _parameter_constraints: dict = {
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "form": [StrOptions({"practical", "paper", "tight", "anytime"})],
        "c": [Interval(Real, 0, None, closed="neither")],
        "against": [StrOptions({"runner_up", "no_split"})],
        "tie_threshold": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, delta=0.05, *, form="practical", c=0.1, against="runner_up", tie_threshold=0.0,
    ):
        self.delta = delta
        self.form = form
        self.c = c
        self.against = against
        self.tie_threshold = tie_threshold

    @property
    def uses_delta(self):
        """Whether the radius depends on `delta`."""
        return self.form != "practical"

    @property
    def level_parameter(self):
        """Name of the parameter whose values are `levels`."""
        return "delta" if self.uses_delta else "c"

    @property
    def levels(self):
        """Values of `level_parameter`, from strict to permissive."""
        if self.uses_delta:
            return (0.001, 0.01, 0.05, 0.2, 0.5)
        return (1.0, 0.3, 0.1, 0.03, 0.01)

    def _make_kernel(self, criterion, n_classes):
        return DeRosaKernel(
            criterion, n_classes, self.delta, self.form, self.c,
            self.against == "no_split", self.tie_threshold,
        )


def derosa_radius(n, delta, *, criterion="gini", n_classes=2, n_outcomes=2, form="tight"):
    """Confidence radius of the estimated impurity of one split.

    With probability at least ``1 - delta``, the conditional impurity of a fixed split,
    estimated from `n` rows, is within this radius of its true value.

    Parameters
    ----------
    n : array-like of float
        Number of rows, at least 1.
    delta : array-like of float
        Probability of failure of this single statement, in (0, 1). Smaller values give
        larger radii.
    criterion : {"gini", "entropy", "kearns_mansour"}, default="gini"
        Impurity, scaled so that two balanced classes have 1/2.
    n_classes : array-like of int, default=2
        Number of classes.
    n_outcomes : array-like of int, default=2
        Number of outcomes of the split.
    form : {"tight", "paper"}, default="tight"
        Tight constants, or those printed in [1]_. The same for Kearns-Mansour.

    Returns
    -------
    radius : float or ndarray
        The arguments are broadcast.

    See Also
    --------
    derosa_share : The delta of one statement within a tree.
    DeRosaBound : The split rule that uses it, with the formulas.

    Notes
    -----
    The radius is a deviation by McDiarmid's inequality (Okamoto's for Kearns-Mansour)
    plus the largest bias of the estimate. Moving one of n rows changes the Gini
    estimate by at most ``2/n`` and an entropy by at most ``2 log2(n) / n`` bits. From
    about 8 rows on, all radii decrease with n.

    References
    ----------
    .. [1] R. De Rosa, N. Cesa-Bianchi (2017), "Confidence decision trees via online
       and active learning for streaming data", JAIR 60, 1031-1055, equations (4)
       to (6).

    Examples
    --------
    >>> from skconftree.bounds import derosa_radius
    >>> derosa_radius([1_000, 100_000], 0.05).round(4)
    array([0.0869, 0.0086])
    >>> derosa_radius([1_000, 100_000], 0.05, form="paper").round(4)
    array([0.2983, 0.0298])
    """
    check_choice("criterion", criterion, DeRosaBound.criteria)
    cdef Impurity code = <Impurity> impurity_code(criterion)
    check_choice("form", form, ("tight", "paper"))
    cdef bint tight = form == "tight"
    table, shape = broadcast_table(
        check_range("n", n, 1, np.inf, closed="left"), check_range("delta", delta, 0, 1),
        check_range("n_classes", n_classes, 2, np.inf, closed="left"),
        check_range("n_outcomes", n_outcomes, 2, np.inf, closed="left"),
    )
    cdef const float64_t[:, ::1] flat = table
    cdef float64_t[::1] out = np.empty(flat.shape[1])
    cdef intp_t i
    for i in range(flat.shape[1]):
        out[i] = deviation(code, flat[0, i], flat[1, i], flat[2, i], flat[3, i], tight)
    return np.asarray(out).reshape(shape)[()]


def derosa_share(
    delta, *, n=1, depth=0, time=1, n_attributes=1, attempt=1, n_tests=1, form="tight"
):
    """Share of delta of one candidate split at one node and time.

    Parameters
    ----------
    delta : array-like of float
        Probability of error of the whole tree, in (0, 1).
    n : array-like of float, default=1
        Number of rows at the leaf since its creation.
    depth : array-like of int, default=0
        Depth of the leaf; the root has 0.
    time : array-like of float, default=1
        Number of rows that the tree has seen.
    n_attributes : array-like of int, default=1
        Number of features.
    attempt : array-like of int, default=1
        Number of split attempts at the leaf, this one included.
    n_tests : array-like of int, default=1
        Number of candidate splits compared at this attempt.
    form : {"tight", "paper", "anytime"}, default="tight"
        The share of the published trees (which depends on `n`, `time` and
        `n_attributes`), or the anytime-valid share (which depends on `attempt` and
        `n_tests`). ``"tight"`` and ``"paper"`` are the same.

    Returns
    -------
    share : float or ndarray
        The arguments are broadcast.

    See Also
    --------
    derosa_radius : The radius for this share.

    Notes
    -----
    At depth h with t rows seen and d features, the share is
    ``delta / ((h+1)(h+2) t d n)``. The anytime-valid share at split attempt j with N
    candidate splits is ``delta / ((h+1)(h+2) j(j+1) N)``. The path of a random row has
    one node per depth, and ``sum_h 1/((h+1)(h+2)) = 1``. A leaf with n rows has at most
    ``d n`` binary candidate splits.

    References
    ----------
    .. [1] R. De Rosa, N. Cesa-Bianchi (2017), "Confidence decision trees via online
       and active learning for streaming data", JAIR 60, 1031-1055, equation (7).

    Examples
    --------
    >>> from skconftree.bounds import derosa_share
    >>> f"{derosa_share(0.05, n=100, time=1_000, n_attributes=10):.2g}"
    '2.5e-08'
    >>> derosa_share(0.05, attempt=[1, 2, 3], n_tests=100, form="anytime")
    array([1.25000000e-04, 4.16666667e-05, 2.08333333e-05])
    """
    check_choice("form", form, ("tight", "paper", "anytime"))
    cdef bint anytime = form == "anytime"
    table, shape = broadcast_table(
        check_range("delta", delta, 0, 1), check_range("n", n, 1, np.inf, closed="left"),
        check_range("depth", depth, 0, np.inf, closed="left"),
        check_range("time", time, 1, np.inf, closed="left"),
        check_range("n_attributes", n_attributes, 1, np.inf, closed="left"),
        check_range("attempt", attempt, 1, np.inf, closed="left"),
        check_range("n_tests", n_tests, 1, np.inf, closed="left"),
    )
    cdef const float64_t[:, ::1] flat = table
    cdef float64_t[::1] out = np.empty(flat.shape[1])
    cdef intp_t i
    for i in range(flat.shape[1]):
        out[i] = share(
            anytime, flat[0, i], flat[1, i], flat[2, i], flat[3, i], flat[4, i],
            flat[5, i], flat[6, i],
        )
    return np.asarray(out).reshape(shape)[()]


def derosa_practical_radius(n, *, time, n_attributes, depth=0, c=0.1, criterion="gini"):
    """Heuristic radius of the published C-Tree experiments.

    Parameters
    ----------
    n : array-like of float
        Number of rows at the leaf since its creation, at least 1.
    time : array-like of float
        Number of rows that the tree has seen, at least 1.
    n_attributes : array-like of int
        Number of features.
    depth : array-like of int, default=0
        Depth of the leaf; the root has 0.
    c : array-like of float, default=0.1
        Factor, above 0. Larger values give larger radii.
    criterion : {"gini", "entropy", "kearns_mansour"}, default="gini"
        Impurity.

    Returns
    -------
    radius : float or ndarray
        The arguments are broadcast.

    See Also
    --------
    derosa_radius : A radius with a guarantee.

    Notes
    -----
    At depth h with t rows seen and d features, the radius is
    ``c sqrt(ln(n^2 (h+1)^2 t d) / n)``, times ``ln n`` for entropy.

    References
    ----------
    .. [1] R. De Rosa, N. Cesa-Bianchi (2017), "Confidence decision trees via online
       and active learning for streaming data", JAIR 60, 1031-1055, equation (10).

    Examples
    --------
    >>> from skconftree.bounds import derosa_practical_radius
    >>> derosa_practical_radius([100, 10_000], time=10_000, n_attributes=10).round(4)
    array([0.0455, 0.0055])
    """
    check_choice("criterion", criterion, DeRosaBound.criteria)
    cdef Impurity code = <Impurity> impurity_code(criterion)
    table, shape = broadcast_table(
        check_range("n", n, 1, np.inf, closed="left"),
        check_range("depth", depth, 0, np.inf, closed="left"),
        check_range("time", time, 1, np.inf, closed="left"),
        check_range("n_attributes", n_attributes, 1, np.inf, closed="left"),
        check_range("c", c, 0, np.inf),
    )
    cdef const float64_t[:, ::1] flat = table
    cdef float64_t[::1] out = np.empty(flat.shape[1])
    cdef intp_t i
    for i in range(flat.shape[1]):
        out[i] = practical(code, flat[0, i], flat[1, i], flat[2, i], flat[3, i], flat[4, i])
    return np.asarray(out).reshape(shape)[()]
