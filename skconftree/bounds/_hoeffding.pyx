"""Hoeffding bound: the split rule of Hoeffding trees (VFDT) and its variants.

`CorrH-Tree` and the baseline of BOCT (Bayesian online classification trees) are two of them; see
the references of `HoeffdingBound`. A kernel is the compiled object of a bound. A `RaceBound`
requires that the best split beats its competitors by a confidence radius. An `IntervalBound`
compares the sum of the costs of the children, upper limits of their impurities times W, with a
lower limit of the node. W, the pool, is the weight of the labeled and unlabeled rows of a node, or
its volume. A `Score` is a function of class counts that the split search minimizes.
"""

from numbers import Real

import numpy as np

from libc.math cimport INFINITY, log, log2, sqrt

# NodeStats describes the node, SplitEvidence what the tree stores about its split.
from skconftree.bounds._contract cimport (
    IntervalBound, NodeStats, RaceBound, Score, SplitEvidence, SplitBlock,
)
from skconftree.criteria._impurity cimport (
    ENTROPY, ERROR, GINI, KEARNS_MANSOUR, Impurity, impurity_code, largest_impurity,
)
from skconftree.criteria._score cimport sum_of
from skconftree.utils._memory cimport Arena     # owns arrays
from skconftree.utils._typedefs cimport float64_t, intp_t

from skconftree._compat import Interval, InvalidParameterError, RealNotInt, StrOptions
from skconftree.bounds._base import BaseBound, check_range
from skconftree.utils._inline cimport ROUNDING      # relative rounding error of sums


cdef class HoeffdingRace(RaceBound):
    """Compiled rule: the best split must win by Hoeffding's radius; see `RaceBound`."""

    cdef public float64_t value_range
    cdef float64_t scale        # value_range * sqrt(ln(1 / delta) / 2)

    def __init__(self, criterion, n_classes, delta, factor, against_no_split, tie_threshold):
        super().__init__(criterion, n_classes, delta, factor, against_no_split, tie_threshold)
        self.value_range = largest_impurity(self.impurity, n_classes)
        if not against_no_split and self.impurity in (GINI, ERROR):
            self.value_range = 1.0
        self.scale = self.value_range * sqrt(-0.5 * log(self.delta))
        self.rejects_by_gain = True     # may_accept() can return False

    cdef bint may_accept(
        self, const NodeStats* stats, float64_t gain, float64_t lead
    ) noexcept nogil:
        # Whether a split with this gain over "no split" may be accepted, which is better than
        # that of the next best feature by `lead`. The radius is the same for all splits.
        cdef float64_t radius = self.radius(stats, NULL, 0, NULL)
        if self.tie_threshold > 0.0 and radius <= self.tie_threshold:
            return True
        return (gain if self.against_no_split else lead) > self.factor * radius

    cdef float64_t radius(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        # Against "no split", the baseline of BOCT counts every labeled row of the node;
        # otherwise only those since its creation (n_fresh) count.
        cdef float64_t m = stats.n if self.against_no_split else stats.n_fresh
        return self.scale / sqrt(m) if m > 0.0 else INFINITY


cdef inline float64_t observed_impurity(
    Impurity criterion, const float64_t* counts, intp_t n_classes, float64_t n
) noexcept nogil:
    # Entropy, Gini index or error of the class shares of one child, n > 0; a radius is
    # added to it. The criteria compute n times this from running sums, which differs by
    # rounding. Limits of equal counts must be exactly equal.
    cdef intp_t c
    cdef float64_t p, total = 0.0
    for c in range(n_classes):
        if counts[c] <= 0.0:
            continue
        p = counts[c] / n
        if criterion == ENTROPY:
            total -= 0.5 * p * log2(p)
        elif criterion == GINI:
            total += p * (1.0 - p)
        elif p > total:
            total = p
    return 1.0 - total if criterion == ERROR else total


cdef class HoeffdingLimits(Score):
    """Upper Hoeffding limits of the children (the exact costs, because they are cheap)."""

    cdef Impurity impurity
    cdef float64_t largest      # largest possible impurity
    cdef float64_t scale        # radius at n = 1
    cdef const float64_t* counts    # of the node, like n and pool
    cdef float64_t n
    cdef float64_t pool
    cdef Arena arena
    cdef float64_t* right       # [n_classes] counts of the right child

    def __cinit__(self, n_classes, *args):
        self.n_classes = n_classes
        self.arena = Arena()
        self.right = <float64_t*> self.arena.take_zeros(self.n_classes, sizeof(float64_t))

    def __init__(self, n_classes, criterion, delta, factor):
        self.impurity = <Impurity> impurity_code(criterion)
        self.largest = largest_impurity(self.impurity, n_classes)
        if self.impurity == KEARNS_MANSOUR:
            self.largest = sqrt(0.5 * largest_impurity(GINI, n_classes))
        self.scale = factor * self.largest * sqrt(-0.5 * log(delta))

    cdef void begin(self, const NodeStats* stats) noexcept nogil:
        self.counts = stats.counts
        self.n = stats.n
        self.pool = stats.pool

    cdef float64_t limit(
        self, const float64_t* counts, float64_t n, float64_t side
    ) noexcept nogil:
        # Impurity plus (side = 1) or minus (side = -1) the radius, clipped to its range. For
        # "kearns_mansour", the impurity is the square root of half the Gini index.
        cdef float64_t h
        if not n > 0.0:
            return self.largest if side > 0.0 else 0.0
        if self.impurity == KEARNS_MANSOUR:
            # with fractional weights, a pure child has a rounding error whose root is large
            h = 0.5 * observed_impurity(GINI, counts, self.n_classes, n)
            h = sqrt(h) if h > ROUNDING else 0.0
        else:
            h = observed_impurity(self.impurity, counts, self.n_classes, n)
        return min(max(h + side * self.scale / sqrt(n), 0.0), self.largest)

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        # Scores of binary splits, from the counts of the left children.
        cdef intp_t i, c
        cdef intp_t k = self.n_classes
        for i in range(splits.size):
            for c in range(k):
                self.right[c] = self.counts[c] - splits.left[k * i + c]
            out[i] = splits.pool_left[i] * self.limit(splits.left + k * i, splits.n_left[i], 1.0)
            out[i] += (self.pool - splits.pool_left[i]) * self.limit(
                self.right, self.n - splits.n_left[i], 1.0
            )

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        # Score of a split with r outcomes (children), whose pool weights are not known here if
        # r > 2. 0 is a lower limit of the cost, which suffices for a score of an IntervalBound.
        cdef intp_t z
        cdef float64_t n, total = 0.0
        if self.pool != self.n:
            return 0.0
        for z in range(r):
            n = sum_of(counts + z * self.n_classes, self.n_classes)
            total += n * self.limit(counts + z * self.n_classes, n, 1.0)
        return total


cdef class HoeffdingInterval(IntervalBound):
    """The rule of `CredibleBound` with Hoeffding limits."""

    cdef public float64_t delta
    cdef HoeffdingLimits limits

    def __init__(self, criterion, n_classes, delta, factor):
        self.delta = delta
        self.limits = HoeffdingLimits(n_classes, criterion, delta, factor)
        self.score = self.limits

    cdef void node_begin(self, const NodeStats* stats) noexcept nogil:
        self.limit = stats.pool * self.limits.limit(stats.counts, stats.n, -1.0)

    cdef float64_t cost(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        return pool * self.limits.limit(counts, n, 1.0)

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        # The statistic is the confidence of the decision, by the union bound: one confidence
        # statement about the node and one about each of the r children.
        evidence.radius = self.limits.scale / sqrt(stats.n)
        evidence.statistic = 1.0 - (r + 1.0) * self.delta
        return IntervalBound.decide(self, stats, child_counts, r, evidence)


def hoeffding_radius(n, delta, *, value_range=1.0):
    """Hoeffding's confidence radius of a mean.

    The mean of `n` independent values from an interval of length `value_range`
    exceeds its expectation by more than
    ``value_range * sqrt(ln(1 / delta) / (2 n))`` with probability at most `delta`.

    Parameters
    ----------
    n : float or array-like
        Number of values, positive.
    delta : float or array-like
        Probability of failure, in (0, 1).
    value_range : float or array-like, default=1.0
        Length of the interval, positive.

    Returns
    -------
    radius : float or ndarray
        The arguments are broadcast against each other.

    Notes
    -----
    Equation (1) of [1]_. Impurities of a sample are not means of independent values. In
    trees, the radius is therefore a convention of VFDT, not a theorem.

    References
    ----------
    .. [1] R. De Rosa, N. Cesa-Bianchi, "Splitting with confidence in decision trees
       with application to stream mining", IJCNN 2015.

    Examples
    --------
    >>> from skconftree.bounds import hoeffding_radius
    >>> hoeffding_radius([200, 800], 1e-7).round(3)
    array([0.201, 0.1  ])
    """
    n = check_range("n", n, 0, np.inf)
    delta = check_range("delta", delta, 0, 1)
    value_range = check_range("value_range", value_range, 0, np.inf)
    # a quotient of roots does not overflow, unlike the root of a quotient
    return value_range * (np.sqrt(-0.5 * np.log(delta)) / np.sqrt(n))


class HoeffdingBound(BaseBound):
    """Split rule that uses the Hoeffding bound (VFDT).

    This is the most common rule of stream trees. The radius is ``R * sqrt(ln(1 / delta)
    / (2 m))``, where R is the range of the criterion and m is the number of rows that
    the leaf has received since it was created. The best split must beat its competitors
    by more than `factor` radii. By default the competitors are the best split of every
    other feature and "no split" (VFDT). With ``against="no_split"``, "no split" is the
    only competitor (the baseline of BOCT [2]_).

    Use it to compare with published stream trees. Impurities are not means of
    independent values, so `delta` controls the strictness but is not an error
    probability.

    Parameters
    ----------
    delta : float, default=1e-7
        Strictness of a single comparison, in the open interval (0, 1). Larger values
        split earlier. With 1e-7 and ``"gini"``, even a perfect first split needs about
        32 rows.
    against : {"runner_up", "no_split"}, default="runner_up"
        The competitors that the best split must beat.
    variant : {"gain", "interval"}, default="gain"
        ``"gain"`` compares a difference of scores with the radius. ``"interval"`` is
        the rule of `CredibleBound` with different limits: the impurity of the sample
        plus or minus the radius, clipped to its range. It requires
        ``against="no_split"``.
    factor : float, default=1.0
        Number of radii. VFDT uses 1, CorrH-Tree 2. Larger values split later.
    tie_threshold : float, default=0.0
        If the radius is at most this threshold, the best split is made although it does
        not beat the other features, provided that it beats "no split". With 0, ties are
        never broken. VFDT uses 0.05 on the scale of the information gain in bits, which
        is 0.025 here. Not used by ``variant="interval"``.

    Attributes
    ----------
    criteria : tuple of str
        ``"entropy"``, ``"gini"``, ``"kearns_mansour"`` and ``"error"``.

    See Also
    --------
    hoeffding_radius : The radius as a function.

    Notes
    -----
    All scores are on the scale on which two balanced classes have 1/2. Against the best
    split of another feature, R is 1 (gini, error), ``log2(K) / 2`` (entropy) or
    ``sqrt(K - 1) / 2`` (kearns_mansour). Against "no split", R is the impurity of the
    uniform distribution and m is the number of labeled rows of the node. The interval
    variant uses the impurities of `CredibleBound`, but half the entropy in bits and the
    whole Gini index; these factors do not change the rule.

    References
    ----------
    .. [1] P. Domingos, G. Hulten, "Mining high-speed data streams", KDD 2000.
    .. [2] T. Collet, O. Pietquin, "Bayesian credible intervals for online and active
       learning of classification trees", ADPRL 2015.
    .. [3] P. Matuszyk, G. Krempl, M. Spiliopoulou, "Correcting the usage of the
       Hoeffding inequality in stream mining", IDA 2013.

    Examples
    --------
    >>> from skconftree.bounds import HoeffdingBound
    >>> bound = HoeffdingBound()
    >>> result = bound.evaluate([[90, 10], [10, 90]], criterion="gini", runner_up=0.35)
    >>> result.split, round(result.radius, 3)
    (False, 0.201)
    >>> bound.evaluate([[90, 10], [10, 90]], criterion="gini", runner_up=0.4).split
    True
    """

    criteria = ("entropy", "gini", "kearns_mansour", "error")
    cautious = True  # needs many rows for a first split
    levels = (1e-7, 1e-5, 0.001, 0.01, 0.1)  # of delta, for grid searches (`param_grid`)
    _parameter_constraints: dict = {
        "delta": [Interval(RealNotInt, 0, 1, closed="neither")],
        "against": [StrOptions({"runner_up", "no_split"})],
        "variant": [StrOptions({"gain", "interval"})],
        "factor": [Interval(Real, 0, None, closed="neither")],
        "tie_threshold": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, delta=1e-7, *, against="runner_up", variant="gain", factor=1.0, tie_threshold=0.0,
    ):
        self.delta = delta
        self.against = against
        self.variant = variant
        self.factor = factor
        self.tie_threshold = tie_threshold

    @property
    def uses_pool(self):
        """Whether unlabeled rows contribute to the weights of the children."""
        return self.variant == "interval"

    @property
    def counts_every_row(self):
        """Whether the rows that a leaf got from its parent count as evidence."""
        return self.against == "no_split"

    examines_children = counts_every_row    # children of a new split try to split immediately

    def check_parameters(self):
        """Raise ``InvalidParameterError`` unless every parameter is valid."""
        super().check_parameters()
        if self.variant == "interval" and self.against != "no_split":
            raise InvalidParameterError(
                "The 'variant' parameter of HoeffdingBound can be 'interval' only if "
                f"against='no_split'. Got against={self.against!r} instead."
            )

    def _make_kernel(self, criterion, n_classes):
        if self.variant == "gain":
            return HoeffdingRace(
                criterion, n_classes, self.delta, self.factor,
                self.against == "no_split", self.tie_threshold,
            )
        return HoeffdingInterval(criterion, n_classes, self.delta, self.factor)
