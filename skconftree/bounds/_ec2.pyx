"""EC2 score and the stopping rule of EC2 feature-selection trees."""

from libc.math cimport expm1, fmax, log1p

from numbers import Real

import numpy as np

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import BaseBound, check_range, check_tables

from skconftree.bounds._contract cimport Bound, NodeStats, SplitEvidence
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef struct Rule:
    float64_t noise
    float64_t margin
    bint uniform            # a wrong outcome is any of the others alike
    bint against_chance     # what a test has to beat: chance, or earlier mistakes


cdef inline float64_t sum_of(const float64_t* counts, intp_t k) noexcept nogil:
    cdef intp_t c
    cdef float64_t n = 0.0
    for c in range(k):
        n += counts[c]
    return n


cdef float64_t edges(const float64_t* counts, intp_t k) noexcept nogil:
    # Pairs of rows with different classes: (n^2 - sum n_c^2) / 2 without its
    # cancellation in nearly pure nodes.
    cdef intp_t c
    cdef float64_t before = 0.0
    cdef float64_t out = 0.0
    for c in range(k):
        out += counts[c] * before
        before += counts[c]
    return out


cdef float64_t edges_cut(
    const float64_t* table, const float64_t* node, intp_t r, intp_t k
) noexcept nogil:
    # Expected number of edges that the outcome of the test removes.
    cdef intp_t z
    cdef float64_t n = sum_of(node, k)
    cdef float64_t rows
    cdef float64_t kept = 0.0
    if n <= 0.0:
        return 0.0
    for z in range(r):
        rows = sum_of(table + z * k, k)
        kept += rows / n * edges(table + z * k, k)
    return edges(node, k) - kept


cdef float64_t uniform_beta(float64_t alpha, float64_t outcomes) noexcept nogil:
    # Probability that noise makes two hypotheses agree that differ in a test.
    return (
        alpha
        * (2.0 * outcomes - outcomes * alpha - 2.0)
        / ((outcomes - 1.0) * (outcomes - 1.0))
    )


cdef float64_t prior_beta(
    float64_t alpha, const float64_t* table, intp_t r, intp_t k
) noexcept nogil:
    # The same when a wrong outcome is drawn by the frequencies p of the others (the
    # sums over k of `table`), averaged over pairs of different outcomes y, z with
    # weights p_y p_z. With w = p / (1 - p) the double sums fall apart. The most
    # frequent outcome stands apart: where nearly all rows have it, 1 - p is not to be
    # had by subtraction, nor is what remains of a sum without it.
    cdef intp_t z
    cdef intp_t most = 0
    cdef float64_t n = 0.0
    cdef float64_t rows
    cdef float64_t largest = -1.0
    cdef float64_t rest = 0.0       # rows of the other outcomes
    cdef float64_t p
    cdef float64_t w
    cdef float64_t p2 = 0.0         # sums over the other outcomes
    cdef float64_t w1 = 0.0
    cdef float64_t w2 = 0.0
    cdef float64_t wp2 = 0.0
    cdef float64_t w2p2 = 0.0
    cdef float64_t one_wrong
    cdef float64_t both_wrong
    for z in range(r):
        rows = sum_of(table + z * k, k)
        n += rows
        if rows > largest:
            rest += largest if largest > 0.0 else 0.0
            largest = rows
            most = z
        else:
            rest += rows
    if rest <= 0.0:
        return 0.0
    for z in range(r):
        if z == most:
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
    one_wrong = w * p2 + p * p * w1 + (p2 * w1 - wp2)
    both_wrong = (
        2.0 * w * (p2 * w1 - wp2)
        + (p * p + p2) * (w1 * w1 - w2) - 2.0 * (w1 * wp2 - w2p2)
    )
    return (alpha * alpha * both_wrong + 2.0 * alpha * (1.0 - alpha) * one_wrong) / (
        rest / n * (1.0 + p) - p2
    )


cdef float64_t cut_beyond_chance(
    const float64_t* table, const float64_t* node, intp_t r, intp_t k
) noexcept nogil:
    # S less the edges that outcomes of these sizes cut if they part the rows at random:
    # of all pairs, those within an outcome are then n_z (n_z - 1) / (n (n - 1)).
    cdef intp_t z
    cdef float64_t n = sum_of(node, k)
    cdef float64_t rows
    cdef float64_t within
    cdef float64_t all_edges = edges(node, k)
    cdef float64_t surplus = 0.0
    if n <= 1.0:
        return 0.0
    for z in range(r):
        rows = sum_of(table + z * k, k)
        within = rows / n * (fmax(rows - 1.0, 0.0) / (n - 1.0))
        surplus += rows / n * (all_edges * within - edges(table + z * k, k))
    return surplus


cdef float64_t edges_of_noise(
    const float64_t* node, intp_t k, float64_t alpha
) noexcept nogil:
    # Expected where all rows are of one class and a label is wrong with probability
    # alpha, any other class then: two labels differ unless both are right, or wrong
    # alike.
    cdef float64_t n = sum_of(node, k)
    return 0.5 * n * (n - 1.0) * alpha * (2.0 - alpha * k / (k - 1.0))


cdef float64_t stopping_confidence(
    const float64_t* table, const float64_t* node, intp_t r, intp_t k,
    float64_t depth, Rule rule,
) noexcept nogil:
    # delta of the stopping rule: how sure it is that the test cuts more edges than
    # noise has cut by mistake on the way down, or than chance cuts.
    cdef float64_t all_edges = edges(node, k)
    cdef float64_t surplus
    cdef float64_t beta
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
    """Splits unless the stopping rule says that noise explains the edges cut."""

    cdef float64_t least
    cdef Rule rule

    def __cinit__(
        self, float64_t least, float64_t noise, bint uniform, float64_t margin,
        bint against_chance,
    ):
        self.least = least
        self.rule.noise = noise
        self.rule.margin = margin
        self.rule.uniform = uniform
        self.rule.against_chance = against_chance

    cdef bint decide(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        evidence.statistic = stopping_confidence(
            child_counts, facts.counts, r, facts.n_classes, facts.depth, self.rule
        )
        return evidence.statistic >= self.least


class EC2Bound(BaseBound):
    """Stop when label noise could have cut the edges that the test cuts.

    The stopping rule of EC2 feature-selection trees [1]_. An edge joins two rows of
    different classes; a test cuts the edges between its outcomes. Tests further up
    the path, if noisy, have cut some edges by mistake; the node splits only if
    the new test surely cuts more than those.

    Treat the confidence as a score. Edges share rows, so the inequality behind it
    does not hold for them, and a test that merely halves a node cuts many edges
    too: the rule acts as a limit on depth, about 6 for a noise of 0.1, 3 for 0.2
    and 2 for 0.3. ``against="chance"`` subtracts what any test that divides the node
    like this one cuts, and has no such limit.

    Parameters
    ----------
    confidence : float, default=0.5
        Least confidence that splits, in [0, 1]; 0 splits always.
    noise : float, default=0.1
        Probability alpha, in [0, 1), that the outcome of a test is wrong, or that a
        label is (``against="chance"``);
        :func:`skconftree.evaluation.estimate_label_noise` estimates the latter.
    error_outcomes : {"uniform", "non_uniform"}, default="uniform"
        Whether a wrong outcome is any of the others alike, or one by the share of
        rows that have it at the node. The same for tests with two outcomes, and of no
        effect with ``against="chance"``.
    margin : float, default=0.0
        Edges that the test must cut beyond those that it has to beat, at least 0.
    against : {"mistakes", "chance"}, default="mistakes"
        What the test has to beat: the edges cut by mistake on the way down, as
        published, or those that chance cuts.

    Attributes
    ----------
    criteria : tuple of str
        The EC2 score alone.

    See Also
    --------
    ec2_score, ec2_confidence, noise_beta : What it is made of.

    Notes
    -----
    With ``|E|`` edges at the node, ``S`` of them cut in expectation, depth A of the
    node (root 0) and the probability ``beta`` of cutting an edge by mistake, the
    mistakes are expected to be ``E[X] = |E| (1 - (1 - beta)^A)``, and the confidence
    is ``1 - exp(-2 (S - E[X] - margin)^2 / |E|)``, or 0 if the bracket is negative.
    It is the ``statistic`` of the stored evidence.

    With ``against="chance"`` the mistakes are left out of it: edges that should not be
    there are cut by chance like all others. What chance cuts is
    ``S_0 = |E| (1 - sum_z n_z^2 (n_z - 1) / (n^2 (n - 1)))``, the mean of S over all ways
    to give the rows to outcomes of these sizes, and the bracket is ``S - S_0 - margin``.
    The confidence is 0 where label noise alone explains the edges: where ``|E|`` is at
    most ``n (n - 1) / 2`` times ``alpha (2 - alpha K / (K - 1))``, the probability that two
    rows of one class have different labels of K. For a test that halves a node of two
    equal classes ``2 (S - S_0)^2 / |E|`` is nearly ``(chi2 - 1)^2 / 32``, with Pearson's
    chi-squared: confidences of 0.1, 0.5 and 0.99 ask for 2.8, 5.7 and 13.1.

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
    delta_parameter = "confidence"
    levels = (0.999, 0.95, 0.5, 0.3, 0.1)
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
    """EC2 score of tests: expected share of edges that the outcome cuts.

    An edge joins two rows (or hypotheses) of different classes. The score is the
    expected number of edges that lose a row when the outcome of the test becomes
    known, so that the highest score is best.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts, or weights of hypotheses, of each class for each outcome.
    normalize : bool, default=True
        Whether to divide by the square of the node's total.

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
    if normalize:  # without units: a power of two leaves the rest of every digit
        _, power = np.frexp(tables.max(axis=(-2, -1), keepdims=True, initial=0.0))
        tables = np.ldexp(tables, -power)
    cdef intp_t r = tables.shape[tables.ndim - 2]
    cdef intp_t k = tables.shape[tables.ndim - 1]
    cdef const float64_t[:, ::1] counts = tables.reshape(-1, r * k)
    cdef const float64_t[:, ::1] node = np.ascontiguousarray(
        tables.sum(axis=-2)
    ).reshape(-1, k)
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
    """Confidence of the EC2 stopping rule that a test is worth making.

    Parameters
    ----------
    tables : array-like of shape (..., n_outcomes, n_classes)
        Counts of each class for each outcome of the test.
    depth : array-like of int
        Tests made on the way to the node; 0 at the root.
    noise : array-like of float
        Probability, in [0, 1), that the outcome of a test is wrong; with
        ``against="chance"`` that a label is.
    error_outcomes : {"uniform", "non_uniform"}, default="uniform"
        Whether wrong outcomes are alike, or by the share of rows that have them.
    margin : float, default=0.0
        Edges to cut beyond those that the test has to beat, at least 0.
    against : {"mistakes", "chance"}, default="mistakes"
        What the test has to beat: edges cut by mistake on the way, or those that
        chance cuts; then the depth does not matter.

    Returns
    -------
    confidence : float or ndarray
        In [0, 1]; the leading shape of `tables`, `depth` and `noise` broadcast
        together.

    See Also
    --------
    EC2Bound : Splits if it is high enough.

    Notes
    -----
    ``1 - exp(-2 (S - E[X] - margin)^2 / |E|)``, 0 if the bracket is negative, with
    S the edges cut (`ec2_score`, not normalized), ``|E|`` those at the node and
    ``E[X] = |E| (1 - (1 - beta)^depth)``. `EC2Bound` has what ``against="chance"`` puts
    in the place of ``E[X]``.

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
    if error_outcomes not in ("uniform", "non_uniform"):
        raise ValueError(
            "error_outcomes must be 'uniform' or 'non_uniform'. Got "
            f"{error_outcomes!r} instead."
        )
    if against not in ("mistakes", "chance"):
        raise ValueError(
            f"against must be 'mistakes' or 'chance'. Got {against!r} instead."
        )
    cdef Rule rule
    rule.uniform = error_outcomes == "uniform"
    rule.against_chance = against == "chance"
    rule.margin = float(check_range("margin", margin, 0, np.inf, closed="left"))
    tables = check_tables(tables)
    cdef intp_t r = tables.shape[tables.ndim - 2]
    cdef intp_t k = tables.shape[tables.ndim - 1]
    if r < 2:
        raise ValueError("tables must have at least two outcomes. Got 1.")
    depth = check_range("depth", depth, 0, np.inf, closed="left")
    noise = check_range("noise", noise, 0, 1, closed="left")
    shape = np.broadcast_shapes(
        tables.shape[: tables.ndim - 2], depth.shape, noise.shape
    )
    tables = np.ascontiguousarray(np.broadcast_to(tables, (*shape, r, k)))
    cdef const float64_t[:, ::1] counts = tables.reshape(-1, r * k)
    cdef const float64_t[:, ::1] node = np.ascontiguousarray(
        tables.sum(axis=-2)
    ).reshape(-1, k)
    cdef const float64_t[::1] made = np.ascontiguousarray(
        np.broadcast_to(depth, shape)
    ).ravel()
    cdef const float64_t[::1] alpha = np.ascontiguousarray(
        np.broadcast_to(noise, shape)
    ).ravel()
    out = np.empty(counts.shape[0])
    cdef float64_t[::1] confidence = out
    cdef intp_t i
    with nogil:
        for i in range(counts.shape[0]):
            rule.noise = alpha[i]
            confidence[i] = stopping_confidence(
                &counts[i, 0], &node[i, 0], r, k, made[i], rule
            )
    return out.reshape(shape)[()]


def noise_beta(noise, n_outcomes=2, *, prior=None):
    """Probability that a noisy test cuts an edge by mistake.

    Parameters
    ----------
    noise : array-like of float
        Probability alpha, in [0, 1), that the outcome of a test is wrong.
    n_outcomes : array-like of int, default=2
        Outcomes of the test, when wrong outcomes are alike.
    prior : array-like of shape (..., outcomes) or None, default=None
        Frequencies of the outcomes, when a wrong outcome is drawn by them;
        `n_outcomes` is not used then.

    Returns
    -------
    beta : float or ndarray
        Of the shape the arguments broadcast to.

    See Also
    --------
    ec2_confidence : Counts the mistakes of a path with it.

    Notes
    -----
    Two rows that differ in a test seem to agree if exactly the wrong outcomes are
    seen: for l outcomes ``alpha (2 l - l alpha - 2) / (l - 1)^2``, which is
    ``2 alpha (1 - alpha)`` for two.

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
            raise ValueError("prior must have a positive sum over the outcomes.")
        # Squares neither overflow nor vanish, and no digit changes besides.
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
