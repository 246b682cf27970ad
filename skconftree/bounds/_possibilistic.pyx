"""Possibilistic cumulative entropy, and the bound of PiTree."""

import numpy as np

from scipy.special import ndtri as normal_quantile
from scipy.special.cython_special cimport ndtri

from skconftree.bounds._contract cimport IntervalBound, NodeFacts, SplitEvidence
from skconftree.bounds._cumulative_entropy cimport (
    corrected_quantile, cumulative_entropy, left_out,
)
from skconftree.bounds._possibilistic_floor cimport PossibilisticFloor
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, intp_t

from skconftree._compat import Interval, RealNotInt, StrOptions
from skconftree.bounds._base import BaseBound
from skconftree.bounds._checks import check_choice, check_counts, check_range
from skconftree.bounds._tree_defaults import TreeDefaults


cdef class PossibilisticKernel(IntervalBound):
    """Decides by possibilistic entropy; made by `PossibilisticBound.kernel`."""

    cdef public float64_t delta
    cdef intp_t n_classes
    cdef bint all_tests
    cdef bint present
    cdef intp_t first               # classes left out, see left_out()
    cdef PossibilisticFloor floor   # the score
    cdef float64_t comparisons      # what the correction counts beside outcomes
    cdef float64_t z_node
    cdef float64_t z_child          # for tests with z_outcomes outcomes
    cdef intp_t z_outcomes
    cdef Arena arena
    cdef intp_t* order

    def __cinit__(self, n_classes, *args):
        cdef intp_t c
        self.n_classes = n_classes
        self.arena = Arena()
        self.order = <intp_t*> self.arena.take(self.n_classes, sizeof(intp_t))
        for c in range(self.n_classes):
            self.order[c] = c

    def __init__(self, n_classes, delta, all_tests, present):
        self.delta = delta
        self.all_tests = all_tests
        self.present = present
        self.first = 0
        self.comparisons = 1.0
        self.z_node = -ndtri(0.5 * self.delta)
        self.z_outcomes = -1
        self.floor = PossibilisticFloor(n_classes, delta, all_tests, present)
        self.score = self.floor

    cdef void node_begin(self, const NodeFacts* facts) noexcept nogil:
        if self.all_tests:
            self.comparisons = max(facts.n_tests, 1.0)
            self.z_outcomes = -1
            self.floor.correct(self.comparisons)
        self.first = left_out(facts.counts, self.n_classes, self.present)
        self.limit = facts.n * cumulative_entropy(
            facts.counts, self.n_classes, self.first, facts.n, self.z_node, self.order
        )

    cdef float64_t cost(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        if r != self.z_outcomes:
            self.z_outcomes = r
            self.z_child = corrected_quantile(self.delta, r * self.comparisons)
        return n * cumulative_entropy(
            counts, self.n_classes, self.first, n, self.z_child, self.order
        )

    cdef bint decide(
        self, const NodeFacts* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        # Limits are totals over labelled rows here; the pool has no part in them.
        evidence.parent_limit = self.limit / facts.n
        evidence.child_limit *= facts.pool / facts.n
        evidence.confidence = 1.0 - self.delta
        return evidence.child_limit < evidence.parent_limit


def agresti_coull_upper(p, n, gamma=0.05):
    """Agresti-Coull upper confidence limit of a frequency.

    Parameters
    ----------
    p : float or array-like
        Observed frequency, in [0, 1].
    n : float or array-like
        Number of rows, not negative; without rows the limit is 1.
    gamma : float or array-like, default=0.05
        One minus the confidence of the two-sided interval, in (0, 1).

    Returns
    -------
    limit : float or ndarray
        At least `p` and at most 1. The arguments are broadcast.

    Notes
    -----
    Equation (13) of [1]_ with the root over the whole of ``p (1 - p) / n``.

    References
    ----------
    .. [1] M. Serrurier, H. Prade, "Entropy evaluation based on confidence intervals
       of frequency estimates: application to the learning of decision trees",
       ICML 2015.

    Examples
    --------
    >>> from skconftree.bounds import agresti_coull_upper
    >>> agresti_coull_upper([0.2, 0.5], 10).round(4)
    array([0.5206, 0.7634])
    """
    p = check_range("p", p, 0, 1, closed="both")
    n = check_range("n", n, 0, np.inf, closed="left")
    # half of the smallest number would be 0
    half = np.maximum(0.5 * check_range("gamma", gamma, 0, 1), 5e-324)
    z = -normal_quantile(half)
    m = n + z * z
    centre = (p * n + 0.5 * z * z) / m
    return np.minimum(1.0, centre + z * np.sqrt(centre * (1.0 - centre) / m))


def possibilistic_entropy(counts, gamma=0.05, *, normalization="qlog2"):
    """Possibilistic cumulative entropy of class counts.

    Cumulated class frequencies, in ascending order, are replaced by their upper
    confidence limits in the logarithms of an entropy. The fewer the rows, the
    larger the value: 1 without any, and the plain cumulative entropy in the limit.

    Parameters
    ----------
    counts : array-like of shape (..., n_classes)
        Class counts, not negative, absent classes included as zeros.
    gamma : float or array-like of shape (...), default=0.05
        One minus the confidence, in (0, 1); broadcast against the leading
        dimensions of `counts`.
    normalization : {"qlog2", "shifted"}, default="qlog2"
        ``"qlog2"`` is 1 for total ignorance and ``1 / n_classes`` for complete
        knowledge; ``"shifted"`` maps the latter to 0. Trees are the same.

    Returns
    -------
    entropy : float or ndarray of shape (...)

    Notes
    -----
    Equation (12) of [1]_ with the normaliser that makes total ignorance 1, and
    (14).

    References
    ----------
    .. [1] M. Serrurier, H. Prade, "Entropy evaluation based on confidence intervals
       of frequency estimates: application to the learning of decision trees",
       ICML 2015.

    Examples
    --------
    >>> from skconftree.bounds import possibilistic_entropy
    >>> possibilistic_entropy([[5, 2, 3], [50, 20, 30], [0, 0, 0]]).round(4)
    array([0.8178, 0.7671, 1.    ])
    """
    check_choice("normalization", normalization, ("qlog2", "shifted"))
    counts = check_counts(counts)
    z = -normal_quantile(0.5 * check_range("gamma", gamma, 0, 1))
    *leading, k = counts.shape
    shape = np.broadcast_shapes(tuple(leading), z.shape)
    table = np.ascontiguousarray(np.broadcast_to(counts, (*shape, k))).reshape(-1, k)
    cdef const float64_t[:, ::1] rows = table
    cdef const float64_t[::1] n = table.sum(axis=1)
    cdef const float64_t[::1] quantiles = np.ascontiguousarray(
        np.broadcast_to(z, shape)
    ).reshape(-1)
    cdef float64_t[::1] out = np.empty(rows.shape[0])
    cdef intp_t[::1] order = np.arange(k, dtype=np.intp)
    cdef intp_t n_classes = k
    cdef intp_t i
    with nogil:
        for i in range(rows.shape[0]):
            out[i] = cumulative_entropy(
                &rows[i, 0], n_classes, 0, n[i], quantiles[i], &order[0]
            )
    entropy = np.asarray(out).reshape(shape)[()]
    if normalization == "shifted":
        entropy = np.maximum(k * entropy - 1.0, 0.0) / (k - 1.0)  # but for rounding
    return entropy


def possibilistic_quality(leaf_counts, gamma=0.05, *, weighted=True):
    """Possibilistic entropy of a tree, from the class counts of its leaves.

    Parameters
    ----------
    leaf_counts : array-like of shape (n_leaves, n_classes)
        Class counts of every leaf.
    gamma : float, default=0.05
        One minus the confidence, in (0, 1).
    weighted : bool, default=True
        Weigh each leaf by its share of the rows. False gives the sum as printed
        in the paper, which doubles when a leaf is split to no use.

    Returns
    -------
    quality : float
        Smaller is better.

    Notes
    -----
    Equation (18) of [1]_, with weights.

    References
    ----------
    .. [1] M. Serrurier, H. Prade, "Entropy evaluation based on confidence intervals
       of frequency estimates: application to the learning of decision trees",
       ICML 2015.

    Examples
    --------
    >>> from skconftree.bounds import possibilistic_quality
    >>> round(possibilistic_quality([[40, 5], [3, 30]]), 4)
    0.6662
    """
    leaf_counts = check_counts(leaf_counts, "leaf_counts")
    if leaf_counts.ndim != 2 or not leaf_counts.sum() > 0:
        raise ValueError(
            "leaf_counts must have shape (n_leaves, n_classes) and a positive sum. "
            f"Got shape {leaf_counts.shape}."
        )
    entropy = possibilistic_entropy(leaf_counts, gamma)
    if not weighted:
        return float(entropy.sum())
    return float(np.average(entropy, weights=leaf_counts.sum(axis=1)))


class PossibilisticBound(BaseBound):
    """Split when the possibilistic entropy falls (PiTree).

    The entropy of a node is taken at upper confidence limits of its cumulated class
    frequencies, so that it grows as rows get fewer. A test becomes a split iff the
    weighted entropy of its children, at a confidence corrected for their number, is
    below that of the node. Unlabelled rows have no part in it.

    Use it for small trees on little data. With the paper's correction the rule is
    weak: on pure noise nearly every node finds a test that passes. Set
    ``correction="all_tests"`` if that matters.

    Parameters
    ----------
    delta : float, default=0.05
        The paper's gamma: one minus the confidence of a node's limits, in the open
        interval (0, 1). A split may come with two rows whatever the value.
    correction : {"branches", "all_tests"}, default="branches"
        What the Dunn-Sidak correction counts: the outcomes of a test (the paper),
        or outcomes times the questions compared at the node.
    classes : {"all", "present"}, default="all"
        Over which classes a node's entropy and that of its children run: those of
        the training set, or those of the node's own rows. A class without a row
        costs every child a confidence limit, so that with many classes ``"all"``
        stops early. With two classes both are the same. In `partial_fit` a young
        leaf has seen few classes, and ``"present"`` splits it at once.

    Attributes
    ----------
    criteria : tuple of str
        ``"entropy"`` only.

    See Also
    --------
    possibilistic_entropy : The entropy itself.
    possibilistic_quality : Its sum over the leaves of a tree.

    Notes
    -----
    Equations (12) to (17) of [1]_.

    References
    ----------
    .. [1] M. Serrurier, H. Prade, "Entropy evaluation based on confidence intervals
       of frequency estimates: application to the learning of decision trees",
       ICML 2015.

    Examples
    --------
    >>> from skconftree.bounds import PossibilisticBound
    >>> bound = PossibilisticBound(correction="all_tests")
    >>> bound.evaluate([[12, 8], [8, 12]]).split
    True
    >>> bound.evaluate([[12, 8], [8, 12]], n_tests=1000).split
    False
    """

    defaults = TreeDefaults(nominal_splits="multiway")
    criteria = ("entropy",)
    counts_every_row = True
    levels = (0.001, 0.01, 0.05, 0.2, 0.5)
    _parameter_constraints: dict = {
        "delta": [Interval(RealNotInt, 0, 1, closed="neither")],
        "correction": [StrOptions({"branches", "all_tests"})],
        "classes": [StrOptions({"all", "present"})],
    }

    def __init__(self, delta=0.05, *, correction="branches", classes="all"):
        self.delta = delta
        self.correction = correction
        self.classes = classes

    def _make_kernel(self, criterion, n_classes):
        return PossibilisticKernel(
            n_classes,
            self.delta,
            self.correction == "all_tests",
            self.classes == "present",
        )
