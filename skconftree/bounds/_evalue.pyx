"""Anytime-valid evidence that the label depends on a test."""

from libc.math cimport INFINITY, exp, log

from numbers import Real

import numpy as np

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import BaseBound, check_range, check_tables

from skconftree.bounds._contract cimport EvidenceBound, NodeStats, SplitEvidence
from skconftree.bounds._likelihood cimport DirichletScore, largest_log_likelihood
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef class EValueKernel(EvidenceBound):
    """Splits once the average e-value of the candidate tests reaches 1/delta."""

    cdef float64_t delta
    cdef bint per_path

    def __cinit__(
        self, intp_t n_classes, float64_t delta, float64_t a, bint per_path,
        bint chooses,
    ):
        self.score = DirichletScore(n_classes, a)
        self.delta = delta
        self.per_path = per_path
        self.chooses = chooses
        self.log_evidence = -INFINITY

    cdef bint decide(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        cdef float64_t log_e = self.log_evidence - largest_log_likelihood(
            facts.counts, facts.n_classes
        )
        cdef float64_t needed = -log(self.delta)
        if self.per_path:
            needed += log((facts.depth + 1.0) * (facts.depth + 2.0))
        evidence.statistic = exp(-log_e) if log_e > 0.0 else 1.0
        return log_e >= needed


class EValueBound(BaseBound):
    """Split on evidence that stays valid however often one looks.

    Every candidate test is a bet that the label depends on its outcome. The bet
    predicts each label from the labels seen before it with the same outcome and
    is paid by the ratio of its likelihood to the best one without a split. If the
    label is independent of every test, no betting scheme multiplies its stake by
    ``1 / delta``, at any time, with probability above ``delta``. The bound splits
    once the average payoff over all candidates, an e-value, gets there.

    There is nothing to correct: not for the number of tests, nor for the number
    of classes, nor for looking after every row. Use it when rows arrive one by
    one and a decision should come as early as the data allow, or to be sure that
    pure noise is left alone. With many classes and few rows it waits longer than
    `BayesFactorBound`.

    Parameters
    ----------
    delta : float, default=0.05
        Probability, in (0, 1), of ever splitting a leaf whose labels are
        independent of every candidate test; with `per_path`, the probability
        that a random row meets any such split on its way down.
    a : float, default=0.5
        Pseudo-count of each class in each outcome, above 0.
    per_path : bool, default=True
        Whether a node at depth h (root 0) has ``delta / ((h + 1) (h + 2))``,
        which sums to `delta` along a path, or `delta` itself.
    choose : {"evidence", "criterion"}, default="evidence"
        What chooses the test: its own evidence, or the tree's criterion. The
        decision to split rests on the evidence either way.

    Attributes
    ----------
    criteria : tuple of str
        Criteria that the tree may use beside it.

    See Also
    --------
    log_evalue : The evidence of single tests.
    BayesFactorBound : Posterior odds from the same likelihood.

    Notes
    -----
    The evidence of a test f with counts ``n_zc`` (outcome z, class c) is
    ``E_f = prod_z DM(n_z) / L0``, DM the Dirichlet-multinomial likelihood and L0
    the largest likelihood without a split. The node's ``E`` averages ``E_f``
    uniformly over attributes, then over the tests of each. By Ville's inequality
    ``P(E >= 1/delta at any time) <= delta`` for tests fixed without looking at
    labels. In a batch tree this is proved at the root; below it the rows that
    are tested also chose the node, and the rate is what is measured. The bound
    does not say that the test of the split is the best one.

    The stored evidence has ``statistic = min(1, 1/E)``, an anytime-valid
    p-value: the split happened because it was at most the node's delta.

    References
    ----------
    .. [1] L. Wasserman, A. Ramdas, S. Balakrishnan (2020), "Universal
       inference", PNAS 117(29), 16880-16890, Theorem 3.
    .. [2] J. Ville (1939), "Etude critique de la notion de collectif".

    Examples
    --------
    >>> from skconftree.bounds import EValueBound
    >>> bound = EValueBound(delta=0.05)
    >>> bound.evaluate([[12, 1], [2, 11]]).split
    True
    >>> bound.evaluate([[8, 5], [6, 7]]).split
    False
    """

    criteria = ("gini", "entropy", "kearns_mansour", "error")
    statistic_name = "e-value's p"
    smaller_is_stronger = True
    fixed_cuts = True
    levels = (0.001, 0.01, 0.05, 0.2, 0.5)
    _parameter_constraints: dict = {
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "a": [Interval(Real, 1e-100, 1e6, closed="both")],
        "per_path": ["boolean"],
        "choose": [StrOptions({"evidence", "criterion"})],
    }

    def __init__(self, delta=0.05, *, a=0.5, per_path=True, choose="evidence"):
        self.delta = delta
        self.a = a
        self.per_path = per_path
        self.choose = choose

    def _make_kernel(self, criterion, n_classes):
        return EValueKernel(
            n_classes, self.delta, self.a, self.per_path, self.choose == "evidence"
        )


def log_evalue(tables, *, a=0.5):
    """Logarithm of the evidence that the label depends on a test.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts of each class for each outcome of the test.
    a : float, default=0.5
        Pseudo-count of each class in each outcome.

    Returns
    -------
    log_e : float or ndarray of shape (...)
        Natural logarithm of ``E_f``. Evidence of 20 is reached at ``log(20)``;
        negative values speak for independence.

    See Also
    --------
    EValueBound : Averages it over all candidate tests of a node.

    Notes
    -----
    ``E_f = prod_z DM(n_z) / L0`` with ``log DM(n) = lgamma(K a) - lgamma(n + K a)
    + sum_c [lgamma(n_c + a) - lgamma(a)]`` for each outcome z and
    ``log L0 = sum_c n_c ln(n_c / n)`` for the sums over the outcomes.

    References
    ----------
    .. [1] L. Wasserman, A. Ramdas, S. Balakrishnan (2020), "Universal
       inference", PNAS 117(29), 16880-16890.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.bounds import log_evalue
    >>> log_evalue([[[12, 1], [2, 11]], [[8, 5], [6, 7]]]).round(2)
    array([ 5.74, -2.74])
    """
    tables = check_tables(tables)
    cdef DirichletScore score = DirichletScore(
        tables.shape[tables.ndim - 1],
        float(check_range("a", a, 1e-100, 1e6, closed="both")),
    )
    cdef intp_t r = tables.shape[tables.ndim - 2]
    cdef intp_t n_classes = score.n_classes
    shape = tables.shape[: tables.ndim - 2]
    cdef const float64_t[:, ::1] counts = tables.reshape(-1, r * n_classes)
    cdef const float64_t[:, ::1] node = np.ascontiguousarray(
        tables.sum(axis=-2)
    ).reshape(-1, n_classes)
    out = np.empty(counts.shape[0])
    cdef float64_t[::1] log_e = out
    cdef intp_t i
    with nogil:
        for i in range(counts.shape[0]):
            log_e[i] = -score.outcomes(&counts[i, 0], r) - largest_log_likelihood(
                &node[i, 0], n_classes
            )
    return out.reshape(shape)[()]
