"""Chi-squared test with Yates' and Fisher's corrections."""

from numbers import Real

import numpy as np

from libc.math cimport INFINITY, exp

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import BaseBound, check_choice, check_tables

from skconftree.bounds._contingency cimport (
    FREEMAN_HALTON,
    POINT,
    Contingency,
    Fisher,
    chi2_rule_log_pvalue,
    chi2_rule_pvalue,
)
from skconftree.bounds._contract cimport Bound, NodeStats, SplitEvidence
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef enum Correction:
    NO_CORRECTION
    ATTRIBUTES
    TESTS


cdef class Chi2Kernel(Bound):
    """Splits iff the (corrected) p-value is at most delta."""

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
        self.ranks_attributes = self.correction != NO_CORRECTION

    def reserve(self, intp_t n_classes, intp_t n_outcomes):
        """See `Bound.reserve`."""
        self.work.reserve(n_outcomes, n_classes)

    cdef float64_t rank(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        float64_t most,
    ) noexcept nogil:
        cdef float64_t factor = 0.0
        cdef float64_t log_p
        if self.correction == TESTS:
            factor = facts.log_attribute_tests
        log_p = chi2_rule_log_pvalue(
            self.work, child_counts, r, facts.n_classes, self.fisher, most - factor
        )
        return factor + log_p if log_p == log_p else INFINITY

    cdef bint decide(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        cdef float64_t p = exp(self.rank(facts, child_counts, r, INFINITY))
        if self.correction != NO_CORRECTION:
            p *= facts.n_varying
        evidence.statistic = 1.0 if p > 1.0 else p
        return evidence.statistic <= self.delta


class Chi2Bound(BaseBound):
    """Split iff label and test are dependent by a chi-squared test.

    The classical stop: the best test by the criterion becomes a split if its
    table of outcomes against classes would be unlikely under independence. Small
    tables are tested exactly. With ``criterion="entropy"`` it is the tree
    "information gain and chi-squared" of [1]_, as a stop while growing.

    The p-value is that of one test fixed in advance, but the best of many is
    tested: on pure noise far more than `delta` of the nodes split. `correction`
    multiplies it, and then attributes compete by the corrected p-values of their best
    tests; `GTestBound` and `EValueBound` correct for that.

    Parameters
    ----------
    delta : float, default=0.05
        Largest p-value that splits, in (0, 1]; 1 splits always.
    correction : {"attributes", "tests"} or None, default=None
        What the p-value is multiplied by (Bonferroni): the number of attributes
        that have tests at the node, that number times the tests of the attribute,
        or nothing, as published.
    fisher : {"freeman_halton", "point"}, default="freeman_halton"
        P-value of small tables: all tables with the same margins that are as
        unlikely as the observed one or more so, or the probability of the
        observed table alone, as [1]_ prints it. ``pruning="chi2"`` of the tree takes
        it over, with its own limit of the p-value.

    Attributes
    ----------
    criteria : tuple of str
        Criteria that may choose the test.

    See Also
    --------
    chi2_pvalue : P-values of single tests.
    GTestBound : A likelihood-ratio test by the number expected by chance.

    Notes
    -----
    The test depends on the smallest expected count, see `chi2_pvalue`. The
    stored evidence has the p-value, corrected, as its ``statistic``; the split
    happened because it was at most `delta`.

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
    judges_alone = True
    counts_handed_rows = True
    levels = (0.001, 0.01, 0.05, 0.2, 0.5)
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
    """P-value of independence in tables of counts.

    The smallest expected count e decides how: above 10 Pearson's chi-squared; from
    5 to 10 the same, with Yates' correction if the table is 2 x 2; below 5 Fisher's
    exact test, for tables larger than 2 x 2 as Freeman and Halton extended it. Where
    more than about 100,000 tables have the same margins (fewer of them if there are more
    than eight outcomes), where a table has more than 4,096 cells, or counts are
    fractions, Pearson's chi-squared takes the place of the exact test.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts of each class for each outcome of the test.
    fisher : {"freeman_halton", "point"}, default="freeman_halton"
        Exact p-value: all tables that are as unlikely as the observed one or
        more so, or the probability of the observed table alone.

    Returns
    -------
    p : float or ndarray of shape (...)
        P-values; 1 where fewer than two outcomes or two classes have rows.

    See Also
    --------
    Chi2Bound : Splits on it.
    gtest_pvalue : The likelihood-ratio test.

    Notes
    -----
    Classes and outcomes without rows are left out; ``e`` is row sum times column sum
    over n, chi-squared ``sum (o - e)^2 / e`` with ``(K - 1)(r - 1)`` degrees of
    freedom. Yates' correction reduces every ``|o - e|`` by one half, not below 0. The
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
    tables = check_tables(tables)
    cdef Contingency work = Contingency(exact=True)
    cdef Fisher kind = POINT if fisher == "point" else FREEMAN_HALTON
    cdef intp_t r = tables.shape[tables.ndim - 2]
    cdef intp_t k = tables.shape[tables.ndim - 1]
    cdef const float64_t[:, ::1] counts = tables.reshape(-1, r * k)
    work.reserve(r, k)
    out = np.empty(counts.shape[0])
    cdef float64_t[::1] p = out
    cdef intp_t i
    with nogil:
        for i in range(counts.shape[0]):
            p[i] = chi2_rule_pvalue(work, &counts[i, 0], r, k, kind)
    return out.reshape(tables.shape[: tables.ndim - 2])[()]


def fisher_pvalue(tables):
    """P-value of the exact test of independence, given the margins of a table.

    Fisher's test, for tables larger than 2 x 2 as Freeman and Halton extended it: the
    chance of all tables of the same margins that are as unlikely as the observed one
    or more so.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Whole counts of each class for each outcome of the test.

    Returns
    -------
    p : float or ndarray of shape (...)
        P-values; 1 where fewer than two outcomes or two classes have rows. NaN where
        the tables of these margins are too many to enumerate, with the limits of
        :func:`chi2_pvalue`.

    See Also
    --------
    chi2_pvalue : Chi-squared where the expected counts are large enough for it.

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
        raise ValueError(f"tables must hold whole counts. Got {bad} instead.")
    cdef Contingency work = Contingency(exact=True)
    cdef intp_t r = tables.shape[tables.ndim - 2]
    cdef intp_t k = tables.shape[tables.ndim - 1]
    cdef const float64_t[:, ::1] counts = tables.reshape(-1, r * k)
    work.reserve(r, k)
    out = np.ones(counts.shape[0])
    cdef float64_t[::1] p = out
    cdef intp_t i
    with nogil:
        for i in range(counts.shape[0]):
            work.load(&counts[i, 0], r, k)
            if work.degrees_of_freedom() > 0.0:
                p[i] = work.fisher(FREEMAN_HALTON, INFINITY)
    return out.reshape(tables.shape[: tables.ndim - 2])[()]
