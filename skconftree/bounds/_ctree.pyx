"""Bound (split rule) of conditional inference trees: permutation tests of the features.

A kernel is the compiled object of a bound; a `NodeTest` is one that tests each feature of a node
before its splits are compared. A `Score` is a function of class counts that the split search
minimizes, for a block of candidate splits at a time. The outcomes of a split are its children.
`Contingency` (_contingency.pxd) has one table of counts; an `Arena` owns arrays.
"""

from numbers import Real

from libc.math cimport NAN, exp, expm1, fmax, log, log1p

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import BaseBound

from skconftree.bounds._contingency cimport Contingency, log_chi2_tail
# NodeStats describes the node, SplitEvidence what the tree stores about its split.
from skconftree.bounds._contract cimport (
    NodeStats, NodeTest, Score, SplitEvidence, SplitBlock,
)
from skconftree.criteria._score cimport sum_of
from skconftree.utils._inline cimport ROUNDING      # relative rounding error of sums
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef class OutcomeScore(Score):
    """Minus the quadratic permutation statistic of outcomes (children) and classes."""

    cdef Arena arena
    cdef Contingency work
    cdef float64_t n
    cdef float64_t* share           # [n_classes] class proportions of the node
    cdef float64_t* factor          # [n_classes] (n - 1) / share; 0 = no rows

    def __cinit__(self, intp_t n_classes, Contingency work):
        self.n_classes = n_classes
        self.work = work
        self.arena = Arena()
        self.share = <float64_t*> self.arena.take_zeros(2 * n_classes, sizeof(float64_t))
        self.factor = self.share + n_classes

    def __reduce__(self):
        return (type(self), (self.n_classes, self.work))

    cdef void begin(self, const NodeStats* stats) noexcept nogil:
        cdef intp_t c
        self.n = stats.n
        for c in range(self.n_classes):
            self.share[c] = stats.counts[c] / stats.n
            self.factor[c] = 0.0
            if stats.counts[c] > 0.0:
                self.factor[c] = fmax(stats.n - 1.0, 0.0) / self.share[c]

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef const float64_t* left = splits.left
        cdef float64_t factor = self.factor[0] + self.factor[1]
        cdef float64_t n_left, deviation, total
        cdef intp_t i, c
        for i in range(splits.size):
            n_left = splits.n_left[i]
            total = 0.0
            if self.n_classes == 2:     # the deviations have the same size
                deviation = left[1] - n_left * self.share[1]
                total = deviation * deviation * factor
            else:
                for c in range(self.n_classes):
                    deviation = left[c] - n_left * self.share[c]
                    total += deviation * deviation * self.factor[c]
            out[i] = 0.0
            if 0.0 < n_left < self.n:
                out[i] = -total / (n_left * (self.n - n_left))
            left += self.n_classes

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        self.work.load(counts, r, self.n_classes)
        if not self.work.n > 1.0:
            return 0.0
        # Pearson's chi-squared; False: without Yates' correction
        return -(1.0 - 1.0 / self.work.n) * self.work.pearson(False)


cdef class CTreeKernel(NodeTest):
    """Splits iff the adjusted p-value of a feature is at most delta.

    `by_maximum`: the test statistic is the largest standardized entry, not the quadratic form.
    """

    cdef float64_t delta
    cdef bint by_maximum
    cdef Contingency work

    def __cinit__(self, intp_t n_classes, float64_t delta, bint by_maximum):
        self.delta = delta
        self.by_maximum = by_maximum
        self.work = Contingency(exact=False)
        self.score = OutcomeScore(n_classes, self.work)
        self.log_pvalue = NAN

    def reserve(self, intp_t n_classes, intp_t n_outcomes):
        """See `Bound.reserve`."""
        self.work.reserve(n_outcomes, n_classes)

    cdef float64_t test_values(self, const float64_t* sums, intp_t n_classes) noexcept nogil:
        # `sums` are, by class, the weights of the rows, the sums of their values and of the
        # squares. The linear statistic of a class is the sum of its values, d its distance from
        # the expectation.
        cdef const float64_t* values = sums + n_classes
        cdef float64_t n = sum_of(sums, n_classes)
        cdef float64_t mean = sum_of(values, n_classes) / n
        cdef float64_t squares = sum_of(values + n_classes, n_classes)
        cdef float64_t spread = squares - n * mean * mean
        cdef float64_t d, total = 0.0, largest = 0.0
        cdef intp_t k = 0, c
        for c in range(n_classes):
            if sums[c] > 0.0:
                k += 1
                d = values[c] - sums[c] * mean
                total += d * d / sums[c]
                if sums[c] < n:
                    largest = fmax(largest, d * d / sums[c] / (1.0 - sums[c] / n))
        if k < 2 or not n > 1.0 or not spread > ROUNDING * squares:
            return NAN
        if self.by_maximum:
            return _log_largest(largest * (n - 1.0) / spread, 1, k)
        return log_chi2_tail(k - 1, total * (n - 1.0) / spread)

    cdef float64_t test_categories(
        self, const float64_t* counts, intp_t m, intp_t n_classes
    ) noexcept nogil:
        # `work`: the r categories and k classes with rows, and their sums `outcome` and `label`.
        cdef float64_t outcome, label, expected, d, largest = 0.0
        cdef intp_t z, c
        self.work.load(counts, m, n_classes)
        if self.work.r < 2 or self.work.k < 2 or not self.work.n > 1.0:
            return NAN
        if not self.by_maximum:
            return log_chi2_tail(
                self.work.degrees_of_freedom(),
                (1.0 - 1.0 / self.work.n) * self.work.pearson(False),
            )
        for z in range(self.work.r):
            outcome = self.work.outcome[z] / self.work.n
            for c in range(self.work.k):
                label = self.work.label[c] / self.work.n
                expected = outcome * self.work.label[c]
                d = self.work.cells[z * self.work.k + c] - expected
                d = d * d / expected / ((1.0 - outcome) * (1.0 - label))
                largest = fmax(largest, d)
        return _log_largest(largest * (1.0 - 1.0 / self.work.n), self.work.r, self.work.k)

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        # adjusted for the number of features tested; log_pvalue is that of the selected feature
        evidence.statistic = 1.0
        if self.log_pvalue < 0.0:
            evidence.statistic = -expm1(self.n_tested * log1p(-exp(self.log_pvalue)))
        return evidence.statistic <= self.delta


cdef float64_t _log_largest(float64_t square, intp_t r, intp_t k) noexcept nogil:
    # Logarithm of an upper limit of the p-value of the largest of r * k standardized entries,
    # by Sidak's inequality. If there are two rows or columns, one repeats the other. Small tails
    # are added: the other terms of the inequality are below the rounding error.
    cdef intp_t n_entries = (r if r > 2 else 1) * (k if k > 2 else 1)
    cdef float64_t log_tail = log_chi2_tail(1.0, square)
    if log_tail < -30.0:
        return log(<float64_t> n_entries) + log_tail
    if not log_tail < 0.0:
        return 0.0
    return log(-expm1(n_entries * log1p(-exp(log_tail))))


class CTreeBound(BaseBound):
    """Split rule of conditional inference trees: permutation tests of the features.

    At each node, every feature is tested for independence of the class, given the
    values and the classes that occur. The feature with the smallest p-value is
    selected, and the node is split if this p-value, adjusted for the number of features
    tested, is at most `delta`. Only then is a split of this feature selected: the one
    whose two-sample statistic is the largest. Selecting the feature by a test of all
    its values, and not by its best split, treats features with many and with few
    candidate splits alike: unrelated features are all selected equally often [1]_.

    Use it if the question is which features are related to the class. `GTestBound`, the
    default, is usually more accurate, because a test of a mean does not detect a
    relation that is not monotone.

    Such trees are grown by ``fit``; ``partial_fit`` is not available.

    Parameters
    ----------
    delta : float, default=0.05
        Largest adjusted p-value of a feature, in (0, 1]. Larger values give larger
        trees; 1 always splits.
    form : {"quadratic", "maximum"}, default="quadratic"
        How the differences of a feature's linear statistic from its expectations are
        combined: by their quadratic form, or by the largest of them in standard
        deviations. They differ for more than two classes or categories only.

    Attributes
    ----------
    criteria : tuple of str
        Criteria of the impurities of the tree. They do not affect its splits.

    See Also
    --------
    GTestBound : Tests the best split of each feature, adjusted for their number.
    Chi2Bound : Tests the best split by the criterion.

    Notes
    -----
    The linear statistic of a numeric feature is the sum of its values in each class,
    that of a nominal feature its table of categories and classes. Expectation and
    covariance are those over all permutations of the classes [2]_. The quadratic form
    has the chi-squared distribution with ``K' - 1`` degrees of freedom for a numeric
    feature, ``(K' - 1)(m' - 1)`` for a nominal one, where K' classes and m' categories
    have rows. A numeric feature is tested in the rows that have a value; a missing
    category is a category. With ``form="maximum"`` and more than two entries, the
    p-value is an upper limit, by Sidak's inequality [3]_. R's partykit integrates the
    multivariate normal distribution numerically instead; for three equally frequent
    classes and a numeric feature, the limit is 12% larger at a p-value of 0.05.

    The adjusted p-value is ``1 - (1 - p)**m`` for m features tested, which Bonferroni's
    ``m * p`` exceeds slightly. It is the ``statistic`` in the `evidence` of a tree.
    The number of splits expected by chance is stored too, as for every bound; it refers
    to the split, not to the feature.

    References
    ----------
    .. [1] T. Hothorn, K. Hornik, A. Zeileis (2006), "Unbiased recursive partitioning: a
       conditional inference framework", J. Comput. Graph. Statist. 15, 651-674.
    .. [2] H. Strasser, C. Weber (1999), "On the asymptotic theory of permutation
       statistics", Math. Methods Statist. 8, 220-250.
    .. [3] Z. Sidak (1967), "Rectangular confidence regions for the means of
       multivariate normal distributions", J. Amer. Statist. Assoc. 62, 626-633.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.bounds import CTreeBound
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(CTreeBound(), min_samples_leaf=7).fit(X, y)
    >>> tree.tree_.feature[:5].tolist()
    [2, -2, 3, 2, -2]
    """

    criteria = ("gini", "entropy", "kearns_mansour")
    statistic_name = "adjusted p-value"
    smaller_is_stronger = True
    tests_features = True       # the kernel is a NodeTest
    levels = (0.001, 0.01, 0.05, 0.2, 0.5)  # of delta, for param_grid
    _parameter_constraints: dict = {
        "delta": [Interval(Real, 0, 1, closed="right")],
        "form": [StrOptions({"quadratic", "maximum"})],
    }

    def __init__(self, delta=0.05, *, form="quadratic"):
        self.delta = delta
        self.form = form

    def _make_kernel(self, criterion, n_classes):
        return CTreeKernel(n_classes, self.delta, self.form == "maximum")
