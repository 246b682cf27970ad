"""Confidence radii of the C-Tree, in its four forms."""

from libc.math cimport fmax, log, log2, sqrt

from numbers import Real

import numpy as np

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import (
    BaseBound,
    broadcast_table,
    check_choice,
    check_range,
)

from skconftree.bounds._contract cimport NodeStats, RaceBound, SplitEvidence
from skconftree.criteria._impurity cimport (
    ENTROPY,
    GINI,
    Impurity,
    impurity_code,
)
from skconftree.utils._typedefs cimport float64_t, intp_t

cdef float64_t LN2 = 0.6931471805599453


cdef float64_t log_over(float64_t x, float64_t delta) noexcept nogil:
    # log(x / delta) for every delta: the quotient overflows for the smallest
    return log(x / delta) if delta > 1e-200 else log(x) - log(delta)


cdef float64_t deviation(
    Impurity criterion, float64_t m, float64_t delta, float64_t k, float64_t r,
    bint tight,
) noexcept nogil:
    # With probability 1 - delta the conditional impurity of one test, estimated
    # from m rows, is no farther than this from the true one: McDiarmid's or
    # Okamoto's deviation plus the bias. Scale: 1/2 at two balanced classes.
    cdef float64_t bias
    if criterion == ENTROPY:
        # The biases of H(Y, F) and H(F) have one sign and enter with opposite
        # ones, so that the larger covers both.
        bias = k * r - 1.0 if tight else k * r - 1.0 + r - 1.0
        return log2(m) * sqrt(2.0 / m * log_over(4.0, delta)) + bias / (2.0 * m * LN2)
    if criterion == GINI:
        # Moving one row changes the total by at most 2, not 4, and the bias is of
        # order 1/m.
        if tight:
            return sqrt(2.0 / m * log_over(2.0, delta)) + r * (1.0 - 1.0 / k) / m
        return sqrt(8.0 / m * log_over(2.0, delta)) + r * k / sqrt(m)
    # Kearns-Mansour: two classes share one square root a child.
    if k == 2.0:
        return 2.0 * r * sqrt(log_over(4.0 * r, delta) / m)
    return r * k * sqrt(log_over(4.0 * r * k, delta) / m)


cdef float64_t share(
    bint anytime, float64_t delta, float64_t m, float64_t depth, float64_t time,
    float64_t n_attributes, float64_t attempt, float64_t n_tests,
) noexcept nogil:
    # What one candidate at one node at one time has of delta.
    delta /= (depth + 1.0) * (depth + 2.0)
    if anytime:
        return delta / (attempt * (attempt + 1.0) * fmax(n_tests, 1.0))
    return delta / (fmax(time, 1.0) * fmax(n_attributes, 1.0) * fmax(m, 1.0))


cdef float64_t practical(
    Impurity criterion, float64_t m, float64_t depth, float64_t time,
    float64_t n_attributes, float64_t c,
) noexcept nogil:
    # The root has h = 1 here. Three logarithms: the product overflows nothing, but
    # a square of 1e9 rows times as many attributes would lose digits.
    cdef float64_t inside = (
        2.0 * log(m) + 2.0 * log(depth + 1.0) + log(time) + log(n_attributes)
    )
    cdef float64_t out = c * sqrt(fmax(inside, 0.0) / m)
    return out * log(m) if criterion == ENTROPY else out


cdef class DeRosaKernel(RaceBound):
    """Race with the radii of the C-Tree."""

    cdef bint is_practical
    cdef bint is_tight
    cdef bint is_anytime
    cdef float64_t c

    def __init__(
        self, criterion, n_classes, delta, form, c, against_no_split, tie_threshold
    ):
        super().__init__(
            criterion,
            n_classes,
            delta,
            factor=1.0 if form == "practical" else 2.0,
            against_no_split=against_no_split,
            tie_threshold=tie_threshold,
        )
        self.is_practical = form == "practical"
        self.is_anytime = form == "anytime"
        self.is_tight = form in ("tight", "anytime")
        self.c = c

    cdef float64_t radius(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        cdef float64_t m = fmax(facts.n_fresh, 1.0)
        if self.is_practical:
            return practical(
                self.impurity, m, facts.depth, fmax(facts.time, 1.0),
                fmax(facts.n_attributes, 1.0), self.c,
            )
        return deviation(
            self.impurity,
            m,
            share(
                self.is_anytime, self.delta, m, facts.depth, facts.time,
                facts.n_attributes, facts.attempt, facts.n_tests,
            ),
            self.n_classes,
            r,
            self.is_tight,
        )

    cdef float64_t statistic(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        # The practical form stands for delta = 1/t.
        if self.is_practical:
            return 1.0 - 1.0 / fmax(facts.time, 1.0)
        return 1.0 - self.delta


class DeRosaBound(BaseBound):
    """Split once the best test has beaten all competitors beyond doubt (C-Tree).

    Radii made for the criterion itself, its bias included: Hoeffding's inequality,
    which the VFDT uses, holds for averages and impurities are none. The best test
    must beat the best test of every other attribute, and "no split", by twice
    the radius. A node's share of `delta` shrinks with its depth so that a random
    row meets a wrong split on its way down with probability at most `delta`.

    Four forms, from heuristic to rigorous:

    - ``"practical"``: a radius of the same shape with a constant `c` to tune,
      ``delta = 1/t`` and no factor 2. What the published experiments used. It
      promises nothing.
    - ``"paper"``: the printed radii, with a share for every row seen so far.
    - ``"tight"``: the same with sharper constants; seven times fewer rows for Gini.
    - ``"anytime"``: the sharp radii, and a share for every examination of the leaf
      and every candidate split. Holds at all times together for tests fixed
      in advance, and does not depend on the length of the stream.

    Except ``"practical"`` all need a thousand rows and more for a clear gap: use them for
    long streams where a wrong split is worse than a late one. On small tables, where
    attributes are often tied, even ``"practical"`` waits unless ``against="no_split"``.

    Parameters
    ----------
    delta : float, default=0.05
        Probability, in (0, 1), that a random row meets a wrong split. Not used by
        ``form="practical"``, whose delta is one over the rows seen.
    form : {"practical", "paper", "tight", "anytime"}, default="practical"
        Which radius and which share of `delta`.
    c : float, default=0.1
        Factor of the practical radius, above 0.
    against : {"runner_up", "no_split"}, default="runner_up"
        Whom the best test must beat: the best test of every other attribute and
        "no split", as published, or "no split" alone. Two attributes that tell the
        same story never separate, and the tree waits, however good both are.
    tie_threshold : float, default=0.0
        Largest radius at which the best test is taken although it does not win, if it
        beats "no split". 0 never settles a tie.

    Attributes
    ----------
    criteria : tuple of str
        Criteria the radii are made for.

    See Also
    --------
    derosa_radius, derosa_share, derosa_practical_radius : What it is made of.
    HoeffdingBound : The radius of the VFDT.

    Notes
    -----
    With m rows since the leaf's creation, K classes, r outcomes and a share s of
    delta, on the scale where two balanced classes have impurity 1/2:

    - entropy: ``log2(m) sqrt(2/m ln(4/s)) + (K r - 1 + r - 1) / (2 m ln 2)``;
      tight without the ``r - 1``;
    - Gini: ``sqrt(8/m ln(2/s)) + r K / sqrt(m)``; tight
      ``sqrt(2/m ln(2/s)) + r (1 - 1/K) / m``;
    - Kearns-Mansour: ``2 r sqrt(ln(4 r/s) / m)`` for two classes, otherwise
      ``r K sqrt(ln(4 r K/s) / m)``.

    At depth h (root 0), with t rows seen, d attributes, examination j and N candidate splits
    compared, s is ``delta / ((h+1)(h+2) t d m)``, or anytime
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
    >>> answer = DeRosaBound(form="tight").evaluate(table, runner_up=0.4, attributes=10)
    >>> answer.split, round(answer.radius, 3)
    (False, 0.071)
    """

    criteria = ("gini", "entropy", "kearns_mansour")
    cautious = True
    _parameter_constraints: dict = {
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "form": [StrOptions({"practical", "paper", "tight", "anytime"})],
        "c": [Interval(Real, 0, None, closed="neither")],
        "against": [StrOptions({"runner_up", "no_split"})],
        "tie_threshold": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        delta=0.05,
        *,
        form="practical",
        c=0.1,
        against="runner_up",
        tie_threshold=0.0,
    ):
        self.delta = delta
        self.form = form
        self.c = c
        self.against = against
        self.tie_threshold = tie_threshold

    @property
    def uses_delta(self):
        """Whether `delta` has a part in the radius."""
        return self.form != "practical"

    @property
    def level_parameter(self):
        """Name of the parameter that `levels` are of."""
        return "delta" if self.uses_delta else "c"

    @property
    def levels(self):
        """Values of `level_parameter`, from strict to lax."""
        if self.uses_delta:
            return (0.001, 0.01, 0.05, 0.2, 0.5)
        return (1.0, 0.3, 0.1, 0.03, 0.01)

    def _make_kernel(self, criterion, n_classes):
        return DeRosaKernel(
            criterion,
            n_classes,
            self.delta,
            self.form,
            self.c,
            self.against == "no_split",
            self.tie_threshold,
        )


def derosa_radius(
    n, delta, *, criterion="gini", n_classes=2, n_outcomes=2, form="tight"
):
    """Radius of the estimated impurity of one test.

    With probability at least ``1 - delta`` the impurity that a fixed test leaves,
    estimated from `n` rows, is within this radius of its true value.

    Parameters
    ----------
    n : array-like of float
        Rows, at least 1.
    delta : array-like of float
        Probability of failure of this one statement, in (0, 1).
    criterion : {"gini", "entropy", "kearns_mansour"}, default="gini"
        Impurity, scaled so that two balanced classes have 1/2.
    n_classes : array-like of int, default=2
        Number of classes.
    n_outcomes : array-like of int, default=2
        Outcomes of the test.
    form : {"tight", "paper"}, default="tight"
        Sharp constants, or those printed in [1]_. The same for Kearns-Mansour.

    Returns
    -------
    radius : float or ndarray
        Of the shape the arguments broadcast to.

    See Also
    --------
    derosa_share : The delta of one statement within a tree.
    DeRosaBound : Splits on it, and lists the formulas.

    Notes
    -----
    A deviation by McDiarmid's inequality (for Kearns-Mansour Okamoto's) plus the
    largest bias of the estimate. Moving one of n rows changes the Gini estimate by
    at most ``2/n`` and an entropy by at most ``2 log2(n) / n`` bits. From about eight
    rows on all radii fall with n.

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
        check_range("n", n, 1, np.inf, closed="left"),
        check_range("delta", delta, 0, 1),
        check_range("n_classes", n_classes, 2, np.inf, closed="left"),
        check_range("n_outcomes", n_outcomes, 2, np.inf, closed="left"),
    )
    cdef const float64_t[:, ::1] flat = table
    cdef float64_t[::1] out = np.empty(flat.shape[1])
    cdef intp_t i
    for i in range(flat.shape[1]):
        out[i] = deviation(
            code, flat[0, i], flat[1, i], flat[2, i], flat[3, i], tight
        )
    return np.asarray(out).reshape(shape)[()]


def derosa_share(
    delta, *, n=1, depth=0, time=1, n_attributes=1, attempt=1, n_tests=1, form="tight"
):
    """Share of delta that one candidate test has at one node and time.

    Parameters
    ----------
    delta : array-like of float
        Probability for the whole tree, in (0, 1).
    n : array-like of float, default=1
        Rows at the leaf since its creation.
    depth : array-like of int, default=0
        Depth of the leaf; the root has 0.
    time : array-like of float, default=1
        Rows the tree has seen.
    n_attributes : array-like of int, default=1
        Attributes.
    attempt : array-like of int, default=1
        How often the leaf has been examined, now included.
    n_tests : array-like of int, default=1
        Questions compared now.
    form : {"tight", "paper", "anytime"}, default="tight"
        The share of the published trees (`n`, `time` and `n_attributes`; the same
        for the first two), or the one that holds at all times together (`attempt`
        and `n_tests`).

    Returns
    -------
    share : float or ndarray
        Of the shape the arguments broadcast to.

    See Also
    --------
    derosa_radius : What the share is for.

    Notes
    -----
    ``delta / ((h+1)(h+2) t d n)`` at depth h with t rows seen and d attributes, or
    anytime ``delta / ((h+1)(h+2) j(j+1) N)`` at examination j with N tests. A random
    row meets one node a depth and ``sum_h 1/((h+1)(h+2)) = 1``; a leaf with n rows
    has at most ``d n`` binary tests.

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
        check_range("delta", delta, 0, 1),
        check_range("n", n, 1, np.inf, closed="left"),
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


def derosa_practical_radius(
    n, *, time, n_attributes, depth=0, c=0.1, criterion="gini"
):
    """Heuristic radius of the published C-Tree experiments.

    Parameters
    ----------
    n : array-like of float
        Rows at the leaf since its creation, at least 1.
    time : array-like of float
        Rows the tree has seen, at least 1.
    n_attributes : array-like of int
        Attributes.
    depth : array-like of int, default=0
        Depth of the leaf; the root has 0.
    c : array-like of float, default=0.1
        Factor, above 0.
    criterion : {"gini", "entropy", "kearns_mansour"}, default="gini"
        Impurity.

    Returns
    -------
    radius : float or ndarray
        Of the shape the arguments broadcast to.

    See Also
    --------
    derosa_radius : A radius with a guarantee.

    Notes
    -----
    ``c sqrt(ln(n^2 (h+1)^2 t d) / n)`` at depth h with t rows seen and d attributes;
    times ``ln n`` for entropy.

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
        out[i] = practical(
            code, flat[0, i], flat[1, i], flat[2, i], flat[3, i], flat[4, i]
        )
    return np.asarray(out).reshape(shape)[()]
