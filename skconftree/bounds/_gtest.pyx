"""Likelihood-ratio test with the number of splits expected by chance."""

from numbers import Real

import numpy as np

from libc.math cimport INFINITY, exp, log

from skconftree._compat import Interval
from skconftree.bounds._base import BaseBound, TreeDefaults, check_tables

from skconftree.bounds._contingency cimport (
    Contingency,
    expect_by_chance,
    g_log_pvalue,
    g_pvalue,
    log_chi2_tail,
)
from skconftree.bounds._contract cimport Bound, NodeStats, SplitEvidence
from skconftree.utils._typedefs cimport float64_t, intp_t


# G of the gain of a criterion that gives two balanced classes 1/2: 2 ln 2 a bit, and
# the criterion counts half bits.
cdef float64_t G_OF_GAIN = 4.0 * log(2.0)


cdef class GTestKernel(Bound):
    """Features compete by the number expected by chance; fewer than delta split."""

    cdef float64_t delta
    cdef Contingency work

    def __cinit__(self, float64_t delta, bint by_entropy):
        self.delta = delta
        self.work = Contingency(exact=False)
        self.ranks_attributes = True
        self.ranks_by_gain = by_entropy

    def reserve(self, intp_t n_classes, intp_t n_outcomes):
        """See `Bound.reserve`."""
        self.work.reserve(n_outcomes, n_classes)

    cdef float64_t rank(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        float64_t most,
    ) noexcept nogil:
        # Logarithm of the number expected by chance of the attribute, but for the number
        # of attributes.
        cdef float64_t log_p = g_log_pvalue(
            self.work, child_counts, r, facts.n_classes
        )
        return facts.log_attribute_tests + log_p if log_p == log_p else INFINITY

    cdef float64_t rank_of_gain(
        self, const NodeStats* facts, float64_t gain
    ) noexcept nogil:
        cdef float64_t df = -1.0
        cdef intp_t c
        for c in range(facts.n_classes):
            df += facts.counts[c] > 0.0
        return facts.log_attribute_tests + log_chi2_tail(df, G_OF_GAIN * gain)

    cdef bint decide(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        evidence.statistic = exp(
            expect_by_chance(self.work, facts, child_counts, r, &evidence.by_chance)
        )
        return evidence.statistic < self.delta


class GTestBound(BaseBound):
    """Split while few splits as good as this one are expected by chance.

    The likelihood-ratio statistic of a split gives the p-value p: the probability that
    one given split looks as good if it is independent of the class. With A features at
    the node that have candidate splits, of which the split's own feature has N,
    ``A * N * p`` splits as good as this one are expected by chance. This number is the
    evidence that every tree stores for its splits; here it also decides. The feature
    whose best split has the smallest one wins the node, and the bound splits iff that
    is below `delta`. So a feature of many candidate splits, such as a column of many
    categories, pays for them alone.

    A leaf that grows row by row is examined again and again, and so are rows that its
    parent hands over. Its j-th attempt must stay below ``2 delta / ((j + 1) (j + 2))``,
    so that over its whole life fewer than `delta` false splits are expected. In a forest
    the limit is ``2 delta / (j (j + 1))``.

    A `delta` of 0.05 is a strict test. Prediction suffers more from a missed
    split than from a false one, so values around 1 or 2 are sensible as a lax
    first stage before a pruning.

    Parameters
    ----------
    delta : float, default=1.0
        Largest number of splits as good that may be expected by chance, above 0. It is
        not a probability and may exceed 1.

    Attributes
    ----------
    criteria : tuple of str
        Criteria that may choose the test.

    See Also
    --------
    gtest_pvalue : P-values of single tests.
    Chi2Bound : The test of the published trees.

    Notes
    -----
    ``G = 2 n MI`` with the mutual information of test and label in nats; its
    p-value is that of chi-squared with ``(K' - 1)(r' - 1)`` degrees of freedom,
    classes and outcomes without rows left out. Pearson's statistic is not used
    because a single row of a rare class makes it explode.

    The stored ``statistic`` is the number expected by chance, which was below `delta`.
    It is a Bonferroni-adjusted p-value that is not capped at 1. In pure noise each of
    the N candidate splits of a feature passes with probability ``delta / (A * N)``, so
    that `delta` splits of the node are expected to pass, whatever the mixture of columns:
    a limit of the per-family error rate. p may be too small for a float; features are
    compared by its logarithm.

    Where more than half of the rows of a node have a category of a column to themselves,
    the column has no tests: its sets of categories could tell any labels apart.

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
    judges_alone = True
    counts_handed_rows = True
    defaults = TreeDefaults(
        pruning="pessimistic", pruning_confidence=0.1, shrinkage=10.0, lookahead=8,
        lookahead_confidence=0.02,
    )
    statistic_name = "expected by chance"
    smaller_is_stronger = True
    levels = (0.05, 0.3, 1.0, 3.0, 10.0)
    _parameter_constraints: dict = {
        "delta": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, delta=1.0):
        self.delta = delta

    def _make_kernel(self, criterion, n_classes):
        return GTestKernel(self.delta, criterion == "entropy")


def gtest_pvalue(tables):
    """P-value of the likelihood-ratio test of independence.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts of each class for each outcome of the test.

    Returns
    -------
    p : float or ndarray of shape (...)
        Chance of a statistic as large under independence; 1 where fewer than
        two outcomes or two classes have rows.

    See Also
    --------
    GTestBound : Multiplies it by the number of candidate splits.

    Notes
    -----
    ``G = 2 sum o ln(o / e)`` is compared with chi-squared with ``(K - 1)(r - 1)``
    degrees of freedom, classes and outcomes without rows left out.

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
    tables = check_tables(tables)
    cdef Contingency work = Contingency(exact=False)
    cdef intp_t r = tables.shape[tables.ndim - 2]
    cdef intp_t k = tables.shape[tables.ndim - 1]
    cdef const float64_t[:, ::1] counts = tables.reshape(-1, r * k)
    work.reserve(r, k)
    out = np.empty(counts.shape[0])
    cdef float64_t[::1] p = out
    cdef intp_t i
    with nogil:
        for i in range(counts.shape[0]):
            p[i] = g_pvalue(work, &counts[i, 0], r, k)
    return out.reshape(tables.shape[: tables.ndim - 2])[()]
