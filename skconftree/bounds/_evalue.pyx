"""Bound (split rule) by e-values: evidence that stays valid under repeated split attempts.

A kernel is the compiled object of a bound; an `EvidenceBound` averages the evidence, here a
likelihood ratio, over all candidate splits of a node. `DirichletScore` computes the
Dirichlet-multinomial likelihood of the labels. The outcomes of a split are its children.
"""

from libc.math cimport INFINITY, exp, log

from numbers import Real

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import BaseBound, check_range, check_tables

# NodeStats describes the node, SplitEvidence what the tree stores about its split.
from skconftree.bounds._contract cimport EvidenceBound, NodeStats, SplitEvidence
from skconftree.bounds._likelihood cimport (
    DirichletScore, largest_log_likelihood, log_likelihood_ratio,
)
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef class EValueKernel(EvidenceBound):
    """Splits once the average e-value of the candidate splits reaches 1/delta."""

    cdef float64_t delta
    cdef bint per_path

    def __cinit__(
        self, intp_t n_classes, float64_t delta, float64_t a, bint per_path, bint chooses,
    ):
        self.score = DirichletScore(n_classes, a)
        self.delta = delta
        self.per_path = per_path
        self.chooses = chooses
        self.log_evidence = -INFINITY

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        cdef float64_t log_e = self.log_evidence - largest_log_likelihood(
            stats.counts, stats.n_classes
        )
        cdef float64_t min_log_e = -log(self.delta)
        if self.per_path:
            min_log_e += log((stats.depth + 1.0) * (stats.depth + 2.0))
        evidence.statistic = exp(-log_e) if log_e > 0.0 else 1.0
        return log_e >= min_log_e


class EValueBound(BaseBound):
    """Split rule that uses e-values: anytime-valid under repeated split attempts.

    Every candidate split is a bet that the label depends on its outcome. The bet
    predicts each label from the earlier labels with the same outcome. Its payoff is the
    ratio of its likelihood to the largest likelihood without a split. If the label is
    independent of every candidate split, the probability that a bet ever multiplies its
    stake by ``1 / delta`` is at most ``delta``. The bound splits once the average
    payoff over all candidate splits, an e-value, reaches ``1 / delta``.

    No correction is needed for the number of candidate splits, the number of classes,
    or the number of split attempts. Use it if rows arrive one by one and a decision
    should be made as early as possible, or if splits on pure noise must be avoided.
    With many classes and few rows it needs more rows than `BayesFactorBound`.

    Parameters
    ----------
    delta : float, default=0.05
        Probability, in (0, 1), of ever splitting a leaf whose labels are independent of
        every candidate split. With `per_path`, it is the probability that there is such
        a split on the path of a random row. Larger values give more splits.
    a : float, default=0.5
        Pseudo-count of each class in each outcome, above 0.
    per_path : bool, default=True
        Whether a node at depth h (root 0) uses ``delta / ((h + 1) (h + 2))``, which
        sums to `delta` along a path, or `delta` itself.
    choose : {"evidence", "criterion"}, default="evidence"
        Whether the best split is selected by its own evidence or by the tree's
        criterion. The evidence decides in both cases whether the node is split.

    Attributes
    ----------
    criteria : tuple of str
        Criteria that the tree may use with this bound.

    See Also
    --------
    log_evalue : The evidence of single splits.
    BayesFactorBound : Posterior odds from the same likelihood.

    Notes
    -----
    The evidence of a split f with counts ``n_zc`` (outcome z, class c) is ``E_f =
    prod_z DM(n_z) / L0``. DM is the Dirichlet-multinomial likelihood and L0 the largest
    likelihood without a split. The node's ``E`` averages ``E_f`` uniformly over
    features, then over the candidate splits of each feature. By Ville's inequality,
    ``P(E >= 1/delta at any time) <= delta`` for candidate splits that were fixed
    without using the labels. In a batch tree this is proved at the root. Below it, the
    same rows also chose the node, and the error rate has been measured only. The bound
    does not guarantee that the split made is the best one.

    The evidence that a tree stores has ``statistic = min(1, 1/E)``, an
    anytime-valid p-value. It is at most the node's delta for every split made.

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
    statistic_name = "anytime-valid p-value"
    smaller_is_stronger = True
    fixed_cuts = True   # the candidate thresholds of a leaf do not change
    levels = (0.001, 0.01, 0.05, 0.2, 0.5)  # of delta, for param_grid
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
    """Logarithm of the e-value of a split.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts of each class for each outcome of the split.
    a : float, default=0.5
        Pseudo-count of each class in each outcome.

    Returns
    -------
    log_e : float or ndarray of shape (...)
        Natural logarithm of ``E_f``. A `delta` of 0.05 requires at least ``log(20)``.
        Negative values favor independence.

    See Also
    --------
    EValueBound : Averages it over all candidate splits of a node.

    Notes
    -----
    ``E_f = prod_z DM(n_z) / L0`` with ``log DM(n) = lgamma(K a) - lgamma(n + K a)
    + sum_c [lgamma(n_c + a) - lgamma(a)]`` for each outcome z, K classes and
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
    a = float(check_range("a", a, 1e-100, 1e6, closed="both"))
    score = DirichletScore(tables.shape[tables.ndim - 1], a)
    return log_likelihood_ratio(tables, score, True)    # against the most likely distribution
