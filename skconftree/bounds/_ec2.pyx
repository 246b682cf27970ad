"""Equivalence class edge cutting (EC2): its score, and the stopping rule of EC2 trees.

An edge joins two rows of different classes. A split cuts those between its outcomes (children).
alpha is the probability that a label or an outcome is wrong (noise), r the number of outcomes,
and k the number of classes. `table` has the class counts of each outcome, [r, k], and `node` those
of the node, [k]. A bound is a split rule; its kernel is the compiled object.
"""

from libc.math cimport expm1, fmax, log1p

from numbers import Real

import numpy as np

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import BaseBound, check_choice, check_range, check_tables

# NodeStats describes the node, SplitEvidence what the tree stores about its split.
from skconftree.bounds._contract cimport Bound, NodeStats, SplitEvidence
from skconftree.criteria._score cimport sum_of
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef struct Rule:           # the parameters of EC2Bound
    float64_t noise
    float64_t margin        # edges that a split must cut in addition
    bint uniform            # all wrong outcomes are equally likely
    bint against_chance     # the split has to beat chance, not earlier mistakes


cdef float64_t edges(const float64_t* counts, intp_t k) noexcept nogil:
    # Pairs of rows with different classes: (n^2 - sum n_c^2) / 2, computed without
    # cancellation in nearly pure nodes.
    cdef intp_t c
    cdef float64_t before = 0.0, out = 0.0
    for c in range(k):
        out += counts[c] * before
        before += counts[c]
    return out


cdef float64_t edges_cut(
    const float64_t* table, const float64_t* node, intp_t r, intp_t k
) noexcept nogil:
    # Expected number of edges that the outcome of the split cuts.
    cdef intp_t z
    cdef float64_t n = sum_of(node, k)
    cdef float64_t rows, uncut = 0.0
    if n <= 0.0:
        return 0.0
    for z in range(r):
        rows = sum_of(table + z * k, k)
        uncut += rows / n * edges(table + z * k, k)
    return edges(node, k) - uncut


cdef float64_t uniform_beta(float64_t alpha, float64_t outcomes) noexcept nogil:
    # Probability that two rows with different outcomes are observed with equal outcomes, due
    # to noise.
    return (
        alpha
        * (2.0 * outcomes - outcomes * alpha - 2.0)
        / ((outcomes - 1.0) * (outcomes - 1.0))
    )


cdef float64_t prior_beta(
    float64_t alpha, const float64_t* table, intp_t r, intp_t k
) noexcept nogil:
    # The same if a wrong outcome is drawn with the frequencies p of the other outcomes (the
    # sums over k of `table`), averaged over pairs of different outcomes y, z with weights
    # p_y p_z. With w = p / (1 - p) the double sums factorize. The most frequent outcome is
    # treated separately: if nearly all rows have it, 1 - p and sums without it cannot be
    # computed by subtraction.
    cdef intp_t z, mode = 0
    cdef float64_t n = 0.0, rows, largest = -1.0
    cdef float64_t rest = 0.0       # rows of the other outcomes
    cdef float64_t p, w
    cdef float64_t p2 = 0.0         # sums over the other outcomes
    # parts of the result with one wrong outcome of the two, and with two
    cdef float64_t w1 = 0.0, w2 = 0.0, wp2 = 0.0, w2p2 = 0.0, single_error, double_error
    for z in range(r):
        rows = sum_of(table + z * k, k)
        n += rows
        if rows > largest:
            rest += largest if largest > 0.0 else 0.0
            largest = rows
            mode = z
        else:
            rest += rows
    if rest <= 0.0:
        return 0.0
    for z in range(r):
        if z == mode:
            continue
        p = sum_of(table + z * k, k) / n
        w = p / (1.0 - p)
        p2 += p * p
        w1 += w
        w2 += w * w
        wp2 += w * p * p
        w2p2 += w * w * p * p
    p = largest / n
    w = largest / rest
    single_error = w * p2 + p * p * w1 + (p2 * w1 - wp2)
    double_error = (
        2.0 * w * (p2 * w1 - wp2)
        + (p * p + p2) * (w1 * w1 - w2) - 2.0 * (w1 * wp2 - w2p2)
    )
    return (alpha * alpha * double_error + 2.0 * alpha * (1.0 - alpha) * single_error) / (
        rest / n * (1.0 + p) - p2
    )


cdef float64_t cut_beyond_chance(
    const float64_t* table, const float64_t* node, intp_t r, intp_t k
) noexcept nogil:
    # Edges cut, minus those that outcomes of these sizes cut if they divide the rows at
    # random: the share of pairs within an outcome is then n_z (n_z - 1) / (n (n - 1)).
    cdef intp_t z
    cdef float64_t n = sum_of(node, k)
    cdef float64_t rows, within
    cdef float64_t all_edges = edges(node, k)
    cdef float64_t surplus = 0.0
    if n <= 1.0:
        return 0.0
    for z in range(r):
        rows = sum_of(table + z * k, k)
        within = rows / n * (fmax(rows - 1.0, 0.0) / (n - 1.0))
        surplus += rows / n * (all_edges * within - edges(table + z * k, k))
    return surplus


cdef float64_t edges_of_noise(const float64_t* node, intp_t k, float64_t alpha) noexcept nogil:
    # Expected number of edges if all rows have the same class and a label is wrong with
    # probability alpha, then any other class. Two labels are equal if both are correct, or
    # both have the same wrong class.
    cdef float64_t n = sum_of(node, k)
    return 0.5 * n * (n - 1.0) * alpha * (2.0 - alpha * k / (k - 1.0))


cdef float64_t stopping_confidence(
    const float64_t* table, const float64_t* node, intp_t r, intp_t k, float64_t depth, Rule rule,
) noexcept nogil:
    # delta of the stopping rule: the confidence that the split cuts more edges than noise
    # has cut by mistake on the path, or than chance cuts.
    cdef float64_t all_edges = edges(node, k)
    cdef float64_t surplus, beta
    if all_edges <= 0.0:
        return 0.0
    if rule.against_chance:
        if all_edges <= edges_of_noise(node, k, rule.noise):
            return 0.0
        surplus = cut_beyond_chance(table, node, r, k)
    else:
        beta = (
            uniform_beta(rule.noise, r) if rule.uniform
            else prior_beta(rule.noise, table, r, k)
        )
        surplus = edges_cut(table, node, r, k)
        surplus += all_edges * expm1(depth * log1p(-beta))
    surplus -= rule.margin
    if surplus < 0.0:
        return 0.0
    return -expm1(-2.0 * surplus * (surplus / all_edges))


cdef class EC2Kernel(Bound):
    """Compiled rule: splits unless noise explains the edges cut."""

    cdef float64_t min_confidence
    cdef Rule rule

    def __cinit__(
        self, float64_t min_confidence, float64_t noise, bint uniform, float64_t margin,
        bint against_chance,
    ):
        self.min_confidence = min_confidence
        self.rule.noise = noise
        self.rule.margin = margin
        self.rule.uniform = uniform
        self.rule.against_chance = against_chance

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        evidence.statistic = stopping_confidence(
            child_counts, stats.counts, r, stats.n_classes, stats.depth, self.rule
        )
        return evidence.statistic >= self.min_confidence


class EC2Bound(BaseBound):
    """Split rule of EC2 trees: stop if label noise could explain the edges cut.

    This is the stopping rule of trees for feature selection by equivalence class edge
    cutting (EC2) [1]_. An edge joins two rows of different classes, and a split cuts
    the edges between its outcomes. Noisy splits further up the path have cut some edges
    by mistake. The node is split only if the new split cuts more edges than those, with
    enough confidence.

    The confidence is a score, not a probability: edges share rows, so the inequality
    behind it does not hold for them. A split that merely halves a node also cuts many
    edges. The rule therefore limits the depth, to about 6 for a noise of 0.1, 3 for 0.2
    and 2 for 0.3. ``against="chance"`` subtracts the edges that any split with outcomes
    of the same sizes cuts, and has no such limit.

    Parameters
    ----------
    confidence : float, default=0.5
        Smallest confidence of a split, in [0, 1]. Larger values give smaller trees; 0
        always splits.
    noise : float, default=0.1
        Probability alpha, in [0, 1), that the outcome of a split is wrong, or, with
        ``against="chance"``, that a label is wrong.
        :func:`skconftree.evaluation.estimate_label_noise` estimates the latter. Larger
        values give smaller trees.
    error_outcomes : {"uniform", "non_uniform"}, default="uniform"
        Whether all wrong outcomes are equally likely, or in proportion to their rows at
        the node. It makes no difference for splits with two outcomes, or with
        ``against="chance"``.
    margin : float, default=0.0
        Number of edges that the split must cut in addition, at least 0.
    against : {"mistakes", "chance"}, default="mistakes"
        The edges that the split has to beat: those cut by mistake on the path, as
        published, or those cut by chance.

    Attributes
    ----------
    criteria : tuple of str
        The EC2 score only.

    See Also
    --------
    ec2_score, ec2_confidence, noise_beta : Its parts as functions.

    Notes
    -----
    Let ``|E|`` be the number of edges at the node, ``S`` the expected number of edges
    cut, A the depth of the node (root 0) and ``beta`` the probability of cutting an
    edge by mistake. The expected number of mistakes is ``E[X] = |E| (1 - (1 -
    beta)^A)``, and the confidence is ``1 - exp(-2 (S - E[X] - margin)^2 / |E|)``, or 0
    if the bracket is negative. It is the ``statistic`` in the `evidence` of a tree.

    With ``against="chance"`` the mistakes are ignored, because edges that are due to
    noise are cut by chance like all others. Chance cuts ``S_0 = |E| (1 - sum_z n_z^2
    (n_z - 1) / (n^2 (n - 1)))`` edges, the mean of S over all assignments of rows to
    outcomes of these sizes, and the bracket is ``S - S_0 - margin``. The confidence is
    0 if label noise alone explains the edges: if ``|E|`` is at most ``n (n - 1) / 2``
    times ``alpha (2 - alpha K / (K - 1))``, the probability that two rows of the same
    class have different labels out of K. For a split that halves a node of two equal
    classes, ``2 (S - S_0)^2 / |E|`` is nearly ``(chi2 - 1)^2 / 32``, with Pearson's
    chi-squared. Confidences of 0.1, 0.5 and 0.99 therefore require chi-squared values
    of 2.8, 5.7 and 13.1.

    References
    ----------
    .. [1] B. Rupprechter (2012), "Noisy active learning from a Bayesian
       perspective", Master thesis, ETH Zurich, sections 5.1.4 and 5.4.1.
    .. [2] D. Golovin, A. Krause, D. Ray (2010), "Near-optimal Bayesian active
       learning with noisy observations", NIPS 23, 766-774.

    Examples
    --------
    >>> from skconftree.bounds import EC2Bound
    >>> even = [[25, 25], [25, 25]]
    >>> EC2Bound(noise=0.2).evaluate(even, depth=2).split
    True
    >>> EC2Bound(noise=0.2).evaluate(even, depth=4).split
    False
    >>> EC2Bound(noise=0.2, against="chance").evaluate(even, depth=2).split
    False
    >>> better = [[40, 10], [10, 40]]
    >>> EC2Bound(noise=0.2).evaluate(better, depth=5).split
    False
    >>> EC2Bound(noise=0.2, against="chance").evaluate(better, depth=5).split
    True
    """

    criteria = ("ec2",)
    delta_parameter = "confidence"  # the parameter that has the role of delta
    levels = (0.999, 0.95, 0.5, 0.3, 0.1)  # of confidence, for param_grid
    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0, 1, closed="both")],
        "noise": [Interval(Real, 0, 1, closed="left")],
        "error_outcomes": [StrOptions({"uniform", "non_uniform"})],
        "margin": [Interval(Real, 0, None, closed="left")],
        "against": [StrOptions({"mistakes", "chance"})],
    }

    def __init__(
        self, confidence=0.5, *, noise=0.1, error_outcomes="uniform", margin=0.0,
        against="mistakes",
    ):
        self.confidence = confidence
        self.noise = noise
        self.error_outcomes = error_outcomes
        self.margin = margin
        self.against = against

    def _make_kernel(self, criterion, n_classes):
        return EC2Kernel(
            self.confidence, self.noise, self.error_outcomes == "uniform", self.margin,
            self.against == "chance",
        )


def ec2_score(tables, *, normalize=True):
    """EC2 score of splits: expected share of edges that the outcome cuts.

    An edge joins two rows (or hypotheses) of different classes. The score is the
    expected number of edges that lose a row when the outcome of the split becomes
    known. The highest score is the best one.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts, or weights of hypotheses, of each class for each outcome.
    normalize : bool, default=True
        Whether to divide the score by the square of the node's total.

    Returns
    -------
    score : float or ndarray of shape (...)
        ``S / n^2``, or ``S``; 0 for an empty table.

    See Also
    --------
    ec2_confidence : The stopping rule.

    Notes
    -----
    With ``|E| = (n^2 - sum_c n_c^2) / 2`` and ``E_z`` likewise for the rows with
    outcome z, ``S = sum_z (n_z / n) (|E| - E_z)``.

    References
    ----------
    .. [1] B. Rupprechter (2012), "Noisy active learning from a Bayesian
       perspective", Master thesis, ETH Zurich, sections 4.2.1 and 5.1.4; the sign in
       its Algorithm 4.5 is corrected.

    Examples
    --------
    >>> from skconftree.bounds import ec2_score
    >>> ec2_score([[[10, 0], [0, 10]], [[5, 5], [5, 5]], [[10, 10], [0, 0]]])
    array([0.25  , 0.1875, 0.    ])
    """
    tables = check_tables(tables)
    if normalize:  # dividing by a power of two is exact
        _, power = np.frexp(tables.max(axis=(-2, -1), keepdims=True, initial=0.0))
        tables = np.ldexp(tables, -power)
    cdef intp_t r = tables.shape[tables.ndim - 2]
    cdef intp_t k = tables.shape[tables.ndim - 1]
    cdef const float64_t[:, ::1] counts = tables.reshape(-1, r * k)
    cdef const float64_t[:, ::1] node = np.ascontiguousarray(tables.sum(axis=-2)).reshape(-1, k)
    out = np.empty(counts.shape[0])
    cdef float64_t[::1] score = out
    cdef intp_t i
    with nogil:
        for i in range(counts.shape[0]):
            score[i] = edges_cut(&counts[i, 0], &node[i, 0], r, k)
    out = out.reshape(tables.shape[: tables.ndim - 2])
    if normalize:
        total = tables.sum(axis=(-2, -1))
        out = np.divide(out, total * total, out=np.zeros(out.shape), where=total > 0)
    return out[()]


def ec2_confidence(
    tables, depth, noise, *, error_outcomes="uniform", margin=0.0, against="mistakes"
):
    """Confidence of the EC2 stopping rule that a split is not due to noise.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts of each class for each outcome of the split.
    depth : array-like of int
        Number of splits on the path to the node; 0 at the root.
    noise : array-like of float
        Probability, in [0, 1), that the outcome of a split is wrong, or, with
        ``against="chance"``, that a label is wrong.
    error_outcomes : {"uniform", "non_uniform"}, default="uniform"
        Whether all wrong outcomes are equally likely, or in proportion to their rows.
    margin : float, default=0.0
        Number of edges that the split must cut in addition, at least 0.
    against : {"mistakes", "chance"}, default="mistakes"
        The edges that the split has to beat: those cut by mistake on the path, or those
        cut by chance. The latter do not depend on the depth.

    Returns
    -------
    confidence : float or ndarray
        Confidences in [0, 1]. The leading shape of `tables`, `depth` and `noise` are
        broadcast.

    See Also
    --------
    EC2Bound : The split rule that uses it.

    Notes
    -----
    The confidence is ``1 - exp(-2 (S - E[X] - margin)^2 / |E|)``, or 0 if the bracket
    is negative. S is the number of edges cut (`ec2_score`, not normalized), ``|E|`` the
    number of edges at the node and ``E[X] = |E| (1 - (1 - beta)^depth)``. The notes of
    `EC2Bound` define the term that replaces ``E[X]`` with ``against="chance"``.

    References
    ----------
    .. [1] B. Rupprechter (2012), "Noisy active learning from a Bayesian
       perspective", Master thesis, ETH Zurich, section 5.4.1.

    Examples
    --------
    >>> from skconftree.bounds import ec2_confidence
    >>> ec2_confidence([[25, 25], [25, 25]], [0, 2, 3, 4], 0.2).round(3)
    array([1., 1., 1., 0.])
    >>> tables = [[[25, 25], [25, 25]], [[33, 17], [17, 33]]]
    >>> ec2_confidence(tables, 0, 0.2, against="chance").round(3)
    array([0.  , 0.93])
    """
    check_choice("error_outcomes", error_outcomes, ("uniform", "non_uniform"))
    check_choice("against", against, ("mistakes", "chance"))
    cdef Rule rule
    rule.uniform = error_outcomes == "uniform"
    rule.against_chance = against == "chance"
    rule.margin = float(check_range("margin", margin, 0, np.inf, closed="left"))
    tables = check_tables(tables)
    cdef intp_t r = tables.shape[tables.ndim - 2]
    cdef intp_t k = tables.shape[tables.ndim - 1]
    if r < 2:
        raise ValueError(
            f"tables must have at least two outcomes in the second to last axis. Got {r}."
        )
    depth = check_range("depth", depth, 0, np.inf, closed="left")
    noise = check_range("noise", noise, 0, 1, closed="left")
    shape = np.broadcast_shapes(tables.shape[: tables.ndim - 2], depth.shape, noise.shape)
    tables = np.ascontiguousarray(np.broadcast_to(tables, (*shape, r, k)))
    cdef const float64_t[:, ::1] counts = tables.reshape(-1, r * k)
    cdef const float64_t[:, ::1] node = np.ascontiguousarray(tables.sum(axis=-2)).reshape(-1, k)
    cdef const float64_t[::1] depths = np.ascontiguousarray(np.broadcast_to(depth, shape)).ravel()
    cdef const float64_t[::1] alpha = np.ascontiguousarray(np.broadcast_to(noise, shape)).ravel()
    out = np.empty(counts.shape[0])
    cdef float64_t[::1] confidence = out
    cdef intp_t i
    with nogil:
        for i in range(counts.shape[0]):
            rule.noise = alpha[i]
            confidence[i] = stopping_confidence(&counts[i, 0], &node[i, 0], r, k, depths[i], rule)
    return out.reshape(shape)[()]


def noise_beta(noise, n_outcomes=2, *, prior=None):
    """Probability that a noisy split cuts an edge by mistake.

    Parameters
    ----------
    noise : array-like of float
        Probability alpha, in [0, 1), that the outcome of a split is wrong.
    n_outcomes : array-like of int, default=2
        Number of outcomes of the split, if all wrong outcomes are equally likely.
    prior : array-like of shape (..., outcomes) or None, default=None
        Frequencies of the outcomes, if wrong outcomes are drawn with them. `n_outcomes`
        is then not used.

    Returns
    -------
    beta : float or ndarray
        The arguments are broadcast.

    See Also
    --------
    ec2_confidence : Uses it to estimate the mistakes on a path.

    Notes
    -----
    Two rows with different outcomes seem to agree if noise makes their observed
    outcomes equal. For l outcomes the probability is ``alpha (2 l - l alpha - 2) / (l -
    1)^2``, which is ``2 alpha (1 - alpha)`` for two.

    References
    ----------
    .. [1] B. Rupprechter (2012), "Noisy active learning from a Bayesian
       perspective", Master thesis, ETH Zurich, Lemmas 5.1 and 5.4; the sums of the
       latter are corrected to run over different outcomes.

    Examples
    --------
    >>> from skconftree.bounds import noise_beta
    >>> noise_beta([0.1, 0.2, 0.3]).round(2)
    array([0.18, 0.32, 0.42])
    >>> round(float(noise_beta(0.3, prior=[0.6, 0.3, 0.1])), 3)
    0.292
    """
    noise = check_range("noise", noise, 0, 1, closed="left")
    cdef const float64_t[::1] alpha
    cdef const float64_t[::1] outcomes
    cdef const float64_t[:, ::1] p
    cdef float64_t[::1] beta
    cdef intp_t i
    if prior is None:
        n_outcomes = check_range("n_outcomes", n_outcomes, 2, np.inf, closed="left")
        noise, n_outcomes = np.broadcast_arrays(noise, n_outcomes)
        outcomes = np.ascontiguousarray(n_outcomes).ravel()
    else:
        prior = check_range("prior", prior, 0, np.inf, closed="left")
        if prior.ndim < 1 or prior.shape[prior.ndim - 1] < 2:
            raise ValueError(
                "prior must have at least two outcomes in its last axis. Got shape "
                f"{prior.shape}."
            )
        largest = prior.max(axis=-1, keepdims=True)
        if not np.all(largest > 0):
            raise ValueError(
                "prior must have a positive weight for at least one of the outcomes in its "
                "last axis. Got only zeros."
            )
        # Scaled by a power of two, which is exact, so that squares do not over- or
        # underflow.
        prior = np.ldexp(prior, -np.frexp(largest)[1])
        prior = np.where(prior > 0, np.maximum(prior, 1e-100), 0.0)
        shape = np.broadcast_shapes(noise.shape, prior.shape[: prior.ndim - 1])
        noise = np.broadcast_to(noise, shape)
        n_outcomes = prior.shape[prior.ndim - 1]
        p = np.ascontiguousarray(
            np.broadcast_to(prior, (*shape, n_outcomes))
        ).reshape(-1, n_outcomes)
    alpha = np.ascontiguousarray(noise).ravel()
    beta = np.empty(alpha.shape[0])
    for i in range(alpha.shape[0]):
        if prior is None:
            beta[i] = uniform_beta(alpha[i], outcomes[i])
        else:
            beta[i] = prior_beta(alpha[i], &p[i, 0], p.shape[1], 1)
    return np.asarray(beta).reshape(noise.shape)[()]
