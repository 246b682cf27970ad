"""Bound (split rule) by posterior odds (Bayes factors); the kernel is its compiled object.

An `EvidenceBound` averages the evidence, here a likelihood ratio, over all candidate splits of a
node. `DirichletScore` computes the Dirichlet-multinomial likelihood of the labels. The outcomes
of a split are its children.
"""

from libc.math cimport INFINITY, exp, log, log1p

from numbers import Real

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import BaseBound, check_range, check_tables

# NodeStats describes the node, SplitEvidence what the tree stores about its split.
from skconftree.bounds._contract cimport EvidenceBound, NodeStats, SplitEvidence
from skconftree.bounds._likelihood cimport DirichletScore, log_likelihood_ratio
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef class BayesFactorKernel(EvidenceBound):
    """Splits iff the posterior odds of a split exceed (1 - delta) / delta."""

    cdef float64_t log_prior_odds
    cdef float64_t min_log_odds

    def __cinit__(
        self, intp_t n_classes, float64_t delta, float64_t a, float64_t prior_odds, bint chooses,
    ):
        self.score = DirichletScore(n_classes, a)
        self.log_prior_odds = log(prior_odds)
        self.min_log_odds = log1p(-delta) - log(delta)
        self.chooses = chooses
        self.log_evidence = -INFINITY

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        cdef float64_t log_odds = (
            self.log_prior_odds
            + self.log_evidence
            - (<DirichletScore> self.score).log_likelihood(stats.counts)
        )
        # Posterior probability of no split, computed without overflow.
        if log_odds > 0.0:
            evidence.statistic = exp(-log_odds) / (1.0 + exp(-log_odds))
        else:
            evidence.statistic = 1.0 / (1.0 + exp(log_odds))
        return log_odds > self.min_log_odds


class BayesFactorBound(BaseBound):
    """Split rule that uses the posterior odds of a split (Bayes factor).

    Two hypotheses about a node are compared: all its rows have the same class
    distribution, or one of the candidate splits separates different distributions. All
    distributions have the prior Dirichlet(a, ..., a). The bound splits if the posterior
    odds of the second hypothesis exceed ``(1 - delta) / delta``. The odds are averaged
    over the candidate splits, so no correction for multiple comparisons is needed: a
    node with 10,000 candidate thresholds is treated like a node with 10.

    Use it to grow a tree of about the right size without tuning, with or without a
    pruning. It has no guarantee on pure noise, and none under repeated split attempts.
    `EValueBound` has both and is stricter.

    Parameters
    ----------
    delta : float, default=0.5
        Largest tolerated posterior probability of "no split", in (0, 1). Larger values
        give more splits.
    a : float or None, default=None
        Pseudo-count of each class in each outcome, above 0. None is 1 divided by the
        number of classes (Perks' prior), so that the prior does not dominate small
        nodes if there are many classes.
    prior_odds : float, default=1.0
        Prior odds of a split against no split, above 0. Larger values give more splits.
    choose : {"evidence", "criterion"}, default="evidence"
        Whether the best split is selected by its own evidence or by the tree's
        criterion. The odds decide in both cases whether the node is split.

    Attributes
    ----------
    criteria : tuple of str
        Criteria that the tree may use with this bound.

    See Also
    --------
    log_bayes_factor : The Bayes factor of single splits.
    EValueBound : Evidence with a guarantee, from the same likelihood.

    Notes
    -----
    The odds are ``prior_odds * sum_f w_f prod_z DM(n_z) / DM(n)``. DM is the
    Dirichlet-multinomial likelihood, ``n_z`` are the class counts of outcome z of split
    f, and n those of the node. The weights are uniform over features, then over the
    candidate splits of each feature.

    The evidence that a tree stores has ``statistic = 1 / (1 + odds)``, the posterior
    probability of "no split". It is below `delta` for every split made.

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
    >>> result = BayesFactorBound().evaluate([[9, 2], [3, 8]])
    >>> result.split, round(result.statistic, 3)
    (True, 0.085)
    """

    criteria = ("gini", "entropy", "kearns_mansour", "error")
    statistic_name = "probability of no split"
    smaller_is_stronger = True
    levels = (0.01, 0.1, 0.5, 0.8, 0.95)    # of delta, for param_grid
    counts_stored_rows = True   # stored rows that a leaf got from its parent are evidence
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
            n_classes, self.delta, 1.0 / n_classes if self.a is None else self.a, self.prior_odds,
            self.choose == "evidence",
        )


def log_bayes_factor(tables, *, a=None):
    """Logarithm of the Bayes factor of a split against no split.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts of each class for each outcome of the split.
    a : float or None, default=None
        Pseudo-count of each class. None is 1 divided by the number of classes.

    Returns
    -------
    log_odds : float or ndarray of shape (...)
        Natural logarithm of the likelihood ratio. Values above 0 favor the split.

    See Also
    --------
    BayesFactorBound : Averages it over all candidate splits of a node.

    Notes
    -----
    ``prod_z DM(n_z) / DM(n)`` with ``log DM(n) = lgamma(K a) - lgamma(n + K a)
    + sum_c [lgamma(n_c + a) - lgamma(a)]`` for K classes, ``n_z`` the counts of outcome
    z and ``n`` their sums.

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
    n_classes = tables.shape[tables.ndim - 1]
    a = 1.0 / n_classes if a is None else check_range("a", a, 1e-100, 1e6, closed="both")
    # False: against a distribution from the prior, not the most likely one
    return log_likelihood_ratio(tables, DirichletScore(n_classes, float(a)), False)
