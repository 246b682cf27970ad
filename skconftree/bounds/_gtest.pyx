"""Bound (split rule) by the likelihood-ratio test, adjusted for multiple comparisons.

A kernel is the compiled object of a bound. `Contingency` (_contingency.pxd) tests one table of
outcomes (children) and classes at a time. The gain of a split is the decrease of the criterion,
a total over the rows. A rank is a number by which features compete.
"""

from numbers import Real

from libc.math cimport INFINITY, exp, log

from skconftree._compat import Interval
from skconftree.bounds._base import BaseBound, TreeDefaults, check_tables

from skconftree.bounds._contingency cimport (
    G_TEST, Contingency, expect_by_chance, g_log_pvalue, log_chi2_tail, table_pvalues,
)
# NodeStats describes the node, SplitEvidence what the tree stores about its split.
from skconftree.bounds._contract cimport Bound, NodeStats, SplitEvidence
from skconftree.utils._typedefs cimport float64_t, intp_t


# The statistic G is 2 ln 2 per bit of total gain (gain times rows). The criterion is scaled
# so that two balanced classes have 1/2, not 1 bit: its unit is two bits.
cdef float64_t G_OF_GAIN = 4.0 * log(2.0)


cdef class GTestKernel(Bound):
    """Compiled rule: splits iff fewer than delta splits as good are expected by chance.

    The feature with the smallest rank() of its best split is selected.
    """

    cdef float64_t delta
    cdef Contingency work

    def __cinit__(self, float64_t delta, bint by_entropy):
        self.delta = delta
        self.work = Contingency(exact=False)
        self.ranks_features = True
        self.ranks_by_gain = by_entropy     # rank_of_gain() gives the same rank

    def reserve(self, intp_t n_classes, intp_t n_outcomes):
        """See `Bound.reserve`."""
        self.work.reserve(n_outcomes, n_classes)

    cdef float64_t rank(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r, float64_t max_rank,
    ) noexcept nogil:
        # Logarithm of the number of splits expected by chance, without the number of features.
        cdef float64_t log_p = g_log_pvalue(self.work, child_counts, r, stats.n_classes)
        return stats.log_feature_candidates + log_p if log_p == log_p else INFINITY

    cdef float64_t rank_of_gain(self, const NodeStats* stats, float64_t gain) noexcept nogil:
        cdef float64_t df = -1.0    # classes that have rows, minus 1
        cdef intp_t c
        for c in range(stats.n_classes):
            df += stats.counts[c] > 0.0
        return stats.log_feature_candidates + log_chi2_tail(df, G_OF_GAIN * gain)

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        evidence.statistic = exp(
            expect_by_chance(self.work, stats, child_counts, r, &evidence.by_chance)
        )
        return evidence.statistic < self.delta


class GTestBound(BaseBound):
    """Split rule that uses a likelihood-ratio (G) test, adjusted for multiple comparisons.

    Each candidate split has a p-value p: the probability that a split at least this
    good arises if its feature and the class are independent. The p-value is multiplied
    by the number A of features that have candidate splits at the node, and by the
    number N of candidate splits of the split's own feature. The product ``A * N * p``
    is the number of candidate splits that are expected to look this good by chance. The
    split with the smallest product is selected, and the node is split if the product is
    below `delta`. Every tree stores this number as the evidence for its splits; with
    this bound it also decides. Because the correction uses each feature's own number of
    candidate splits, a feature with many of them, such as a nominal feature with many
    categories, does not make it harder to split on the others.

    A leaf of an incrementally trained tree is examined repeatedly, and so are the rows
    that it inherits from its parent. At its j-th attempt, the product must be below ``2
    delta / ((j + 1) (j + 2))``, so that fewer than `delta` false splits are expected
    over the life of the leaf. In a forest the limit is ``2 delta / (j (j + 1))``.

    A `delta` of 0.05 is a strict test. A missed split usually costs more accuracy than
    a false one. If a pruning follows, permissive values around 1 or 2 are therefore suitable.

    Parameters
    ----------
    delta : float, default=1.0
        Largest number of splits this good that may be expected by chance, above 0. It
        is not a probability and may exceed 1. Larger values give larger trees.

    Attributes
    ----------
    criteria : tuple of str
        Criteria that may select the best split of a feature.

    See Also
    --------
    gtest_pvalue : P-values of single splits.
    Chi2Bound : The chi-squared test of published trees.

    Notes
    -----
    ``G = 2 n MI``, where MI is the mutual information of outcome and class in nats. The
    p-value is that of chi-squared with ``(K' - 1)(r' - 1)`` degrees of freedom, where
    K' classes and r' outcomes have rows. Pearson's statistic is not used because a
    single row of a rare class can make it very large.

    The stored ``statistic`` is the number expected by chance, which was below `delta`.
    It is a Bonferroni-adjusted p-value that is not capped at 1. In pure noise each of
    the N candidate splits of a feature passes with probability ``delta / (A * N)``. For
    any mixture of features, `delta` splits of the node are then expected to pass, so
    that `delta` controls the per-family error rate. p may be too small for a float;
    features are compared by its logarithm.

    A nominal feature has no candidate splits at a node if more than half of the rows
    are the only ones of their category, because sets of such categories could separate
    any labels.

    References
    ----------
    .. [1] S. S. Wilks (1938), "The large-sample distribution of the likelihood
       ratio for testing composite hypotheses", Ann. Math. Statist. 9, 60-62.

    Examples
    --------
    >>> from skconftree.bounds import GTestBound
    >>> GTestBound().evaluate([[9, 2], [3, 8]], n_tests=20).split
    True
    >>> GTestBound().evaluate([[9, 2], [3, 8]], n_tests=200).split
    False
    """

    criteria = ("entropy", "gini", "kearns_mansour")
    decides_per_split = True    # needs only the number of the other candidate splits
    counts_stored_rows = True   # inherited rows that are stored one by one are evidence
    # parameters of a tree that are "auto"
    defaults = TreeDefaults(
        pruning="pessimistic", pruning_confidence=0.1, shrinkage=10.0, lookahead=8,
        lookahead_confidence=0.02,
    )
    statistic_name = "expected by chance"
    smaller_is_stronger = True
    levels = (0.05, 0.3, 1.0, 3.0, 10.0)    # of delta, for parameter grids
    _parameter_constraints: dict = {"delta": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, delta=1.0):
        self.delta = delta

    def _make_kernel(self, criterion, n_classes):
        return GTestKernel(self.delta, criterion == "entropy")


def gtest_pvalue(tables):
    """P-value of the likelihood-ratio test of independence.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts of each class for each outcome of the split.

    Returns
    -------
    p : float or ndarray of shape (...)
        Probability of a statistic at least this large under independence. It is 1 if
        fewer than two outcomes or two classes have rows.

    See Also
    --------
    GTestBound : Multiplies it by the number of candidate splits.

    Notes
    -----
    ``G = 2 sum o ln(o / e)`` is compared with chi-squared with ``(K - 1)(r - 1)``
    degrees of freedom. Classes and outcomes without rows are not counted.

    References
    ----------
    .. [1] S. S. Wilks (1938), "The large-sample distribution of the likelihood
       ratio for testing composite hypotheses", Ann. Math. Statist. 9, 60-62.

    Examples
    --------
    >>> from skconftree.bounds import gtest_pvalue
    >>> gtest_pvalue([[[9, 2], [3, 8]], [[4, 4], [4, 4]]]).round(4)
    array([0.0082, 1.    ])
    """
    return table_pvalues(check_tables(tables), G_TEST)
