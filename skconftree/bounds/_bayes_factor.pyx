"""Posterior odds that the label depends on a test."""

from libc.math cimport INFINITY, exp, log, log1p

from numbers import Real

import numpy as np

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import BaseBound, check_range, check_tables

from skconftree.bounds._contract cimport EvidenceBound, NodeStats, SplitEvidence
from skconftree.bounds._likelihood cimport DirichletScore
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef class BayesFactorKernel(EvidenceBound):
    """Splits iff the posterior odds of a split exceed (1 - delta) / delta."""

    cdef float64_t log_prior_odds
    cdef float64_t needed

    def __cinit__(
        self, intp_t n_classes, float64_t delta, float64_t a, float64_t prior_odds,
        bint chooses,
    ):
        self.score = DirichletScore(n_classes, a)
        self.log_prior_odds = log(prior_odds)
        self.needed = log1p(-delta) - log(delta)
        self.chooses = chooses
        self.log_evidence = -INFINITY

    cdef bint decide(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        cdef float64_t log_odds = (
            self.log_prior_odds
            + self.log_evidence
            - (<DirichletScore> self.score).log_likelihood(facts.counts)
        )
        # Posterior probability of no split, without overflow on either side.
        if log_odds > 0.0:
            evidence.statistic = exp(-log_odds) / (1.0 + exp(-log_odds))
        else:
            evidence.statistic = 1.0 / (1.0 + exp(log_odds))
        return log_odds > self.needed


class BayesFactorBound(BaseBound):
    """Split when a split is more probable than none, given the data.

    Two hypotheses about a node: all its rows share one class distribution, or
    one of the candidate tests separates two (or more) distributions. Either way
    the distributions come from Dirichlet(a, ..., a). The bound splits when the
    posterior odds of the second exceed ``(1 - delta) / delta``. Averaging over
    the candidates replaces any correction for their number, so a node with ten
    thousand possible cuts is treated as fairly as one with ten.

    Use it to grow a tree that is near the right size without tuning, alone or
    before a pruning. It gives no guarantee about pure noise and none under
    repeated looking; `EValueBound` does, and is stricter.

    Parameters
    ----------
    delta : float, default=0.5
        Tolerated posterior probability of "no split", in (0, 1).
    a : float or None, default=None
        Pseudo-count of each class in each outcome, above 0; None is one over the
        number of classes (Perks' prior), so that many classes do not swamp small
        nodes.
    prior_odds : float, default=1.0
        Odds of a split against none before any data, above 0.
    choose : {"evidence", "criterion"}, default="evidence"
        What chooses the test: its own evidence, or the tree's criterion. The
        decision to split rests on the odds either way.

    Attributes
    ----------
    criteria : tuple of str
        Criteria that the tree may use beside it.

    See Also
    --------
    log_bayes_factor : The Bayes factor of single tests.
    EValueBound : Evidence with a guarantee, from the same likelihood.

    Notes
    -----
    ``odds = prior_odds * sum_f w_f prod_z DM(n_z) / DM(n)``, DM the
    Dirichlet-multinomial likelihood, ``n_z`` the class counts of outcome z of
    test f, n those of the node, and weights uniform over attributes, then over
    the tests of each.

    The stored evidence has ``statistic = 1 / (1 + odds)``, the posterior
    probability that no split is needed; the split happened because it was below
    `delta`.

    References
    ----------
    .. [1] I. J. Good (1965), "The Estimation of Probabilities", MIT Press.
    .. [2] W. Perks (1947), "Some observations on inverse probability including a
       new indifference rule", J. Inst. Actuaries 73, 285-334.
    .. [3] W. Buntine (1992), "Learning classification trees", Statistics and
       Computing 2, 63-73.

    Examples
    --------
    >>> from skconftree.bounds import BayesFactorBound
    >>> answer = BayesFactorBound().evaluate([[9, 2], [3, 8]])
    >>> answer.split, round(answer.statistic, 3)
    (True, 0.085)
    """

    criteria = ("gini", "entropy", "kearns_mansour", "error")
    statistic_name = "probability of no split"
    smaller_is_stronger = True
    levels = (0.01, 0.1, 0.5, 0.8, 0.95)
    counts_handed_rows = True
    _parameter_constraints: dict = {
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "a": [Interval(Real, 1e-100, 1e6, closed="both"), None],
        "prior_odds": [Interval(Real, 0, None, closed="neither")],
        "choose": [StrOptions({"evidence", "criterion"})],
    }

    def __init__(self, delta=0.5, *, a=None, prior_odds=1.0, choose="evidence"):
        self.delta = delta
        self.a = a
        self.prior_odds = prior_odds
        self.choose = choose

    def _make_kernel(self, criterion, n_classes):
        return BayesFactorKernel(
            n_classes,
            self.delta,
            1.0 / n_classes if self.a is None else self.a,
            self.prior_odds,
            self.choose == "evidence",
        )


def log_bayes_factor(tables, *, a=None):
    """Logarithm of the Bayes factor of a test against no split.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts of each class for each outcome of the test.
    a : float or None, default=None
        Pseudo-count of each class; None is one over the number of classes.

    Returns
    -------
    log_odds : float or ndarray of shape (...)
        Natural logarithm of the likelihood ratio; above 0 the data favour the
        split.

    See Also
    --------
    BayesFactorBound : Averages it over all candidate tests of a node.

    Notes
    -----
    ``prod_z DM(n_z) / DM(n)`` with ``log DM(n) = lgamma(K a) - lgamma(n + K a)
    + sum_c [lgamma(n_c + a) - lgamma(a)]``, ``n_z`` the counts of outcome z and
    ``n`` their sums.

    References
    ----------
    .. [1] W. Buntine (1992), "Learning classification trees", Statistics and
       Computing 2, 63-73.

    Examples
    --------
    >>> from skconftree.bounds import log_bayes_factor
    >>> log_bayes_factor([[[9, 2], [3, 8]], [[7, 5], [6, 7]]]).round(2)
    array([ 2.37, -0.99])
    """
    tables = check_tables(tables)
    cdef intp_t n_classes = tables.shape[tables.ndim - 1]
    cdef DirichletScore score = DirichletScore(
        n_classes,
        1.0 / n_classes if a is None else float(check_range("a", a, 1e-100, 1e6, closed="both")),
    )
    cdef intp_t r = tables.shape[tables.ndim - 2]
    shape = tables.shape[: tables.ndim - 2]
    cdef const float64_t[:, ::1] counts = tables.reshape(-1, r * n_classes)
    cdef const float64_t[:, ::1] node = np.ascontiguousarray(
        tables.sum(axis=-2)
    ).reshape(-1, n_classes)
    out = np.empty(counts.shape[0])
    cdef float64_t[::1] log_odds = out
    cdef intp_t i
    with nogil:
        for i in range(counts.shape[0]):
            log_odds[i] = -score.outcomes(
                &counts[i, 0], r
            ) - score.log_likelihood(&node[i, 0])
    return out.reshape(shape)[()]
