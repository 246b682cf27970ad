"""Bound (split rule) by the chi-squared test, with Yates' correction and Fisher's exact test.

A kernel is the compiled object of a bound. `Contingency` (_contingency.pxd) tests one table of
outcomes (children) and classes at a time. A rank is a number by which features compete.
"""

from numbers import Real

import numpy as np

from libc.math cimport INFINITY, exp

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import BaseBound, check_choice, check_tables

from skconftree.bounds._contingency cimport (
    CHI2, EXACT, FREEMAN_HALTON, POINT, Contingency, Fisher, chi2_rule_log_pvalue,
    table_pvalues,
)
# NodeStats describes the node, SplitEvidence what the tree stores about its split.
from skconftree.bounds._contract cimport Bound, NodeStats, SplitEvidence
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef enum Correction:   # factor of the p-value
    NO_CORRECTION
    ATTRIBUTES          # number of features with candidate splits
    TESTS               # this, times the number of candidate splits of the feature


cdef class Chi2Kernel(Bound):
    """Compiled rule: splits iff the (corrected) p-value is at most delta."""

    cdef float64_t delta
    cdef Correction correction
    cdef Fisher fisher
    cdef Contingency work

    def __cinit__(self, float64_t delta, correction, fisher):
        self.delta = delta
        self.correction = (
            ATTRIBUTES if correction == "attributes"
            else TESTS if correction == "tests"
            else NO_CORRECTION
        )
        self.fisher = POINT if fisher == "point" else FREEMAN_HALTON
        self.work = Contingency(exact=True)
        # if True, features compete by rank(), the corrected p-value of their best split
        self.ranks_features = self.correction != NO_CORRECTION

    def reserve(self, intp_t n_classes, intp_t n_outcomes):
        """See `Bound.reserve`."""
        self.work.reserve(n_outcomes, n_classes)

    cdef float64_t rank(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r, float64_t max_rank,
    ) noexcept nogil:
        # Without the number of features. A rank above max_rank need not be exact.
        cdef float64_t factor = 0.0, log_p
        if self.correction == TESTS:
            factor = stats.log_feature_candidates
        log_p = chi2_rule_log_pvalue(
            self.work, child_counts, r, stats.n_classes, self.fisher, max_rank - factor
        )
        return factor + log_p if log_p == log_p else INFINITY

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        cdef float64_t p = exp(self.rank(stats, child_counts, r, INFINITY))
        if self.correction != NO_CORRECTION:
            p *= stats.n_candidate_features    # features that have candidate splits
        evidence.statistic = 1.0 if p > 1.0 else p
        return evidence.statistic <= self.delta


class Chi2Bound(BaseBound):
    """Split rule that uses a chi-squared test of independence.

    This is the classical pre-pruning test: a node is split by the best candidate split
    of the criterion if its table of outcomes and classes would be unlikely under
    independence. Small tables are tested exactly. With ``criterion="entropy"`` it is
    the tree "information gain and chi-squared" of [1]_, used as pre-pruning.

    The p-value is valid for one split fixed in advance, but the best of many candidate
    splits is tested. On pure noise, far more than the share `delta` of the nodes is
    therefore split. With `correction`, the p-value is multiplied, and features compete
    by the corrected p-values of their best splits. `GTestBound` and `EValueBound`
    always correct for multiple comparisons.

    Parameters
    ----------
    delta : float, default=0.05
        Largest p-value of a split, in (0, 1]. Larger values give larger trees; 1 always
        splits.
    correction : {"attributes", "tests"} or None, default=None
        Bonferroni correction: the p-value is multiplied by the number of features that
        have candidate splits at the node (``"attributes"``), by that number times the
        number of candidate splits of the feature (``"tests"``), or not at all, as
        published.
    fisher : {"freeman_halton", "point"}, default="freeman_halton"
        P-value of small tables: the probability of all tables with the same margins
        that are at most as likely as the observed table, or the probability of the
        observed table only, as in [1]_. ``pruning="chi2"`` of the tree uses the same
        choice, with its own limit of the p-value.

    Attributes
    ----------
    criteria : tuple of str
        Criteria that may select the best split.

    See Also
    --------
    chi2_pvalue : P-values of single splits.
    GTestBound : A likelihood-ratio test with a correction for multiple comparisons.

    Notes
    -----
    The smallest expected count selects the test, see `chi2_pvalue`. The ``statistic``
    in the `evidence` of a tree is the corrected p-value, which was at most `delta`.

    References
    ----------
    .. [1] B. Rupprechter (2012), "Noisy active learning from a Bayesian
       perspective", Master thesis, ETH Zurich, section 5.4.2. Corrected here: the
       degrees of freedom for more than two classes, and tail sums for point
       probabilities.
    .. [2] G. H. Freeman, J. H. Halton (1951), "Note on an exact treatment of
       contingency, goodness of fit and other problems of significance",
       Biometrika 38, 141-149.

    Examples
    --------
    >>> from skconftree.bounds import Chi2Bound
    >>> Chi2Bound().evaluate([[9, 2], [3, 8]]).split
    True
    >>> Chi2Bound(correction="tests").evaluate([[9, 2], [3, 8]], n_tests=4).split
    False
    """

    criteria = ("entropy", "gini", "kearns_mansour")
    statistic_name = "p-value"
    decides_per_split = True  # other candidate splits matter by their number only
    counts_stored_rows = True  # stored rows that a leaf got from its parent are evidence
    levels = (0.001, 0.01, 0.05, 0.2, 0.5)  # of delta, for param_grid
    _parameter_constraints: dict = {
        "delta": [Interval(Real, 0, 1, closed="right")],
        "correction": [StrOptions({"attributes", "tests"}), None],
        "fisher": [StrOptions({"freeman_halton", "point"})],
    }

    def __init__(self, delta=0.05, *, correction=None, fisher="freeman_halton"):
        self.delta = delta
        self.correction = correction
        self.fisher = fisher

    def _make_kernel(self, criterion, n_classes):
        return Chi2Kernel(self.delta, self.correction, self.fisher)


def chi2_pvalue(tables, *, fisher="freeman_halton"):
    """P-value of the chi-squared test of independence in contingency tables.

    The smallest expected count e selects the test. Above 10 it is Pearson's chi-squared
    test. From 5 to 10 it is the same test, with Yates' correction if the table is 2 x
    2. Below 5 it is Fisher's exact test, in the version of Freeman and Halton for
    tables larger than 2 x 2. Pearson's test replaces the exact test if more than about
    100,000 tables have the same margins (fewer for more than eight outcomes), if a
    table has more than 4,096 cells, or if counts are fractions.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts of each class for each outcome of the split.
    fisher : {"freeman_halton", "point"}, default="freeman_halton"
        Exact p-value: the probability of all tables that are at most as likely as the
        observed table, or the probability of the observed table only.

    Returns
    -------
    p : float or ndarray of shape (...)
        P-values. They are 1 if fewer than two outcomes or two classes have rows.

    See Also
    --------
    Chi2Bound : The split rule that uses it.
    gtest_pvalue : The likelihood-ratio test.

    Notes
    -----
    Classes and outcomes without rows are not counted. ``e`` is row sum times column sum
    divided by n, chi-squared is ``sum (o - e)^2 / e`` with ``(K - 1)(r - 1)`` degrees
    of freedom. Yates' correction reduces every ``|o - e|`` by 0.5, but not below 0. The
    probability of a table given its margins is ``prod(row!) prod(column!) / (n!
    prod(o!))``.

    References
    ----------
    .. [1] G. H. Freeman, J. H. Halton (1951), "Note on an exact treatment of
       contingency, goodness of fit and other problems of significance",
       Biometrika 38, 141-149.
    .. [2] F. Yates (1934), "Contingency tables involving small numbers and the
       chi-squared test", Suppl. J. R. Stat. Soc. 1, 217-235.

    Examples
    --------
    >>> from skconftree.bounds import chi2_pvalue
    >>> chi2_pvalue([[[4, 4], [4, 4]], [[9, 2], [3, 8]]]).round(4)
    array([1.    , 0.0323])
    """
    check_choice("fisher", fisher, ("freeman_halton", "point"))
    return table_pvalues(
        check_tables(tables), CHI2, POINT if fisher == "point" else FREEMAN_HALTON
    )


def fisher_pvalue(tables):
    """P-value of Fisher's exact test of independence in contingency tables.

    It is the probability of all tables with the same margins that are at most as likely
    as the observed table. For tables larger than 2 x 2 this is the extension of Freeman
    and Halton.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Integer counts of each class for each outcome of the split.

    Returns
    -------
    p : float or ndarray of shape (...)
        P-values. They are 1 if fewer than two outcomes or two classes have rows, and
        NaN if there are too many tables with these margins to enumerate; the limits are
        those of :func:`chi2_pvalue`.

    See Also
    --------
    chi2_pvalue : The chi-squared test, if the expected counts are large enough.

    References
    ----------
    .. [1] G. H. Freeman, J. H. Halton (1951), "Note on an exact treatment of
       contingency, goodness of fit and other problems of significance",
       Biometrika 38, 141-149.

    Examples
    --------
    >>> from skconftree.bounds import fisher_pvalue
    >>> fisher_pvalue([[[3, 1], [1, 3]], [[4, 0], [0, 4]]]).round(4)
    array([0.4857, 0.0286])
    """
    tables = check_tables(tables)
    if (tables != np.floor(tables)).any():
        bad = tables[tables != np.floor(tables)][0]
        raise ValueError(
            f"tables must hold integer counts. Got {bad} instead. chi2_pvalue accepts "
            "fractions."
        )
    return table_pvalues(tables, EXACT)
