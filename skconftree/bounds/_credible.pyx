# cython: overflowcheck=False
# Hashing wraps around on purpose; nothing else here comes near an overflow.
"""Credible limits of a node's heterogeneity, and the bound of BOCT."""

import numpy as np

from libc.string cimport memcpy

from skconftree.bounds._contract cimport IntervalBound, NodeFacts, SplitEvidence
from skconftree.bounds._credible_floor cimport CredibleFloor
from skconftree.bounds._heterogeneity cimport (
    Heterogeneity, binary_lower, binary_upper, matched_limit,
)
from skconftree.utils._memory cimport Blocks, give_all_back, give_back, new_array
from skconftree.utils._typedefs cimport float64_t, intp_t, uint64_t

from skconftree._compat import Interval, RealNotInt, StrOptions
from skconftree.bounds._base import BaseBound
from skconftree.bounds._checks import check_choice, check_counts, check_range

CRITERIA = ("entropy", "gini", "kearns_mansour")
PRIORS = ("uniform", "perks")

cdef intp_t MEMO_START = 1 << 10
cdef intp_t MEMO_LIMIT = 1 << 18


cdef struct Memo:
    float64_t larger
    float64_t smaller   # -1 = free
    float64_t value


cdef class CredibleKernel(IntervalBound):
    """Decides by credible limits; made by `CredibleBound.kernel`.

    `n_solves` counts the quantiles computed so far, those found in the memo left out.
    """

    cdef public intp_t n_solves
    cdef public float64_t delta
    cdef intp_t n_classes
    cdef Heterogeneity kind
    cdef float64_t alpha
    cdef CredibleFloor floor
    cdef Blocks blocks
    cdef Memo* memo                 # upper limits for two classes
    cdef intp_t memo_size           # a power of two
    cdef intp_t memo_used

    def __cinit__(self, *args):
        self.memo = NULL
        self.memo_size = 0

    def __init__(self, criterion, n_classes, delta, prior):
        kind = CRITERIA.index(criterion)
        self.n_classes = n_classes
        self.kind = <Heterogeneity> <int> kind
        self.alpha = 1.0 if prior == "uniform" else 1.0 / n_classes
        self.delta = delta
        self.floor = CredibleFloor(kind, n_classes, self.alpha, delta)
        self.score = self.floor

    def __dealloc__(self):
        give_all_back(&self.blocks)

    cdef void forget(self) noexcept nogil:
        cdef intp_t i
        for i in range(self.memo_size):
            self.memo[i].smaller = -1.0
        self.memo_used = 0

    cdef Memo* lookup(self, float64_t larger, float64_t smaller) noexcept nogil:
        # The entry of these counts or the free one where it belongs.
        cdef uint64_t[2] key
        cdef uint64_t h
        cdef intp_t i
        memcpy(&key[0], &larger, 8)
        memcpy(&key[1], &smaller, 8)
        h = (key[0] ^ (key[1] << 32 | key[1] >> 32)) * <uint64_t> 0x9E3779B97F4A7C15
        h = (h ^ h >> 29) * <uint64_t> 0xBF58476D1CE4E5B9
        i = <intp_t> (h >> 32) & (self.memo_size - 1)
        while self.memo[i].smaller >= 0.0:
            if self.memo[i].larger == larger and self.memo[i].smaller == smaller:
                break
            i = (i + 1) & (self.memo_size - 1)
        return &self.memo[i]

    cdef bint make_room(self) noexcept nogil:
        # Keep the memo at most half full: double it, or start afresh at its limit.
        cdef Memo* old = self.memo
        cdef intp_t old_size = self.memo_size
        cdef intp_t size = 2 * old_size if old_size > 0 else MEMO_START
        cdef Memo* block
        cdef intp_t i
        if 2 * self.memo_used < old_size:
            return True
        if size > MEMO_LIMIT:
            self.forget()
            return True
        block = <Memo*> new_array(&self.blocks, size, sizeof(Memo), False)
        if block == NULL:
            if old_size > 0:
                self.forget()
            return old_size > 0
        self.memo = block
        self.memo_size = size
        self.forget()
        for i in range(old_size):
            if old[i].smaller >= 0.0:
                self.lookup(old[i].larger, old[i].smaller)[0] = old[i]
                self.memo_used += 1
        give_back(&self.blocks, old)
        return True

    cdef float64_t upper(self, const float64_t* counts) noexcept nogil:
        cdef float64_t larger
        cdef float64_t smaller
        cdef Memo* entry
        if self.n_classes > 2:
            self.n_solves += 1
            return matched_limit(
                self.kind, counts, self.n_classes, self.alpha, self.delta, True
            )
        larger = max(counts[0], counts[1])
        smaller = min(counts[0], counts[1])
        if not self.make_room():
            return self.solve(larger, smaller)
        entry = self.lookup(larger, smaller)
        if entry.smaller < 0.0:
            entry.value = self.solve(larger, smaller)
            entry.larger = larger
            entry.smaller = smaller
            self.memo_used += 1
        return entry.value

    cdef float64_t solve(self, float64_t larger, float64_t smaller) noexcept nogil:
        self.n_solves += 1
        return binary_upper(
            self.kind, larger + self.alpha, smaller + self.alpha, self.delta
        )

    cdef void node_begin(self, const NodeFacts* facts) noexcept nogil:
        self.limit = facts.pool * self.floor.lower(facts.counts)

    cdef float64_t cost(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        return pool * self.upper(counts)

    cdef float64_t sharp_floor(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        return pool * self.floor.sharp(counts)

    cdef bint decide(
        self, const NodeFacts* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        # One statement about the node and one about each child.
        evidence.confidence = 1.0 - (r + 1.0) * self.delta
        return IntervalBound.decide(self, facts, child_counts, r, evidence)

    def interval(self, counts, delta):
        """Limits for matching rows of class counts and tail probabilities."""
        cdef const float64_t[:, ::1] rows = counts
        cdef const float64_t[::1] tails = delta
        cdef intp_t i
        cdef float64_t[:, ::1] out = np.empty((2, rows.shape[0]))
        cdef float64_t a
        cdef float64_t b
        with nogil:
            for i in range(rows.shape[0]):
                if self.n_classes > 2:
                    out[0, i] = matched_limit(
                        self.kind, &rows[i, 0], self.n_classes, self.alpha, tails[i],
                        False,
                    )
                    out[1, i] = matched_limit(
                        self.kind, &rows[i, 0], self.n_classes, self.alpha, tails[i],
                        True,
                    )
                else:
                    a = max(rows[i, 0], rows[i, 1]) + self.alpha
                    b = min(rows[i, 0], rows[i, 1]) + self.alpha
                    out[0, i] = binary_lower(self.kind, a, b, tails[i])
                    out[1, i] = binary_upper(self.kind, a, b, tails[i])
        return np.asarray(out[0]), np.asarray(out[1])


def credible_interval(
    counts, delta=0.05, *, criterion="entropy", prior="uniform"
):
    """Credible limits of the heterogeneity of a node.

    The class probabilities of the node have a Dirichlet posterior: the prior plus
    the counts. Each of the two limits is missed with posterior probability
    `delta`, so that the interval has mass ``1 - 2 * delta``.

    Parameters
    ----------
    counts : array-like of shape (..., n_classes)
        Class counts, not negative, not necessarily whole.
    delta : float or array-like of shape (...), default=0.05
        Probability of each tail, in (0, 1/2); broadcast against the leading
        dimensions of `counts`.
    criterion : {"entropy", "gini", "kearns_mansour"}, default="entropy"
        The heterogeneity: entropy in nats; ``(1 - sum p^2) / 2``, half the Gini
        index; or the square root of the latter, the standard deviation of a label
        if there are two classes.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts: one a class, or one altogether. The former makes a pure node
        with many possible classes look impure.

    Returns
    -------
    lower, upper : ndarray of shape (...)
        Limits, in the units of the heterogeneity.

    Notes
    -----
    Two classes: exact, equation (4) of [1]_. With more, the limits are quantiles of
    the Beta distribution that has the posterior mean and variance of the
    heterogeneity divided by its largest value.

    References
    ----------
    .. [1] T. Collet, O. Pietquin, "Bayesian credible intervals for online and active
       learning of classification trees", ADPRL 2015.

    Examples
    --------
    >>> from skconftree.bounds import credible_interval
    >>> lower, upper = credible_interval([[0, 0], [5, 5], [10, 0]], 0.05)
    >>> lower.round(3)
    array([0.117, 0.544, 0.03 ])
    >>> upper.round(3)
    array([0.692, 0.693, 0.549])
    """
    check_choice("criterion", criterion, CRITERIA)
    check_choice("prior", prior, PRIORS)
    counts = check_counts(counts)
    delta = check_range("delta", delta, 0, 0.5)
    *leading, k = counts.shape
    shape = np.broadcast_shapes(tuple(leading), delta.shape)
    rows = np.ascontiguousarray(np.broadcast_to(counts, (*shape, k))).reshape(-1, k)
    tails = np.ascontiguousarray(np.broadcast_to(delta, shape)).reshape(-1)
    lower, upper = CredibleKernel(criterion, k, 0.05, prior).interval(rows, tails)
    return lower.reshape(shape)[()], upper.reshape(shape)[()]


class CredibleBound(BaseBound):
    """Split when the children are certainly purer than their parent (BOCT).

    The heterogeneity of a node is a function of its unknown class probabilities,
    which have a Dirichlet posterior. A test becomes a split iff

        W_1 upper_1 + W_2 upper_2 < W_parent lower_parent

    where each limit is missed with posterior probability `delta` and W is the
    weight of a node; among the tests the one with the smallest left side is taken.
    Then the split lowers the true weighted heterogeneity with probability at least
    ``1 - 3 * delta`` for each test examined. Nothing is corrected for the number of
    tests: on pure noise, small deltas split rarely, ``delta=0.3`` often.

    Use it for small samples, where it needs fewer rows than bounds that hold for
    every distribution, and whenever unlabelled rows are at hand (`pool_weight`).

    Parameters
    ----------
    delta : float, default=0.05
        Probability of each tail, in the open interval (0, 1/2). Smaller waits
        longer: two pure children need 14 rows each at .01 and 6 at .1.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts: one a class as in the paper, or one altogether, which with
        many classes lets a small pure child look pure.
    pool_weight : {"pool", "labelled", "volume"}, default="pool"
        What a tree takes for W: labelled and unlabelled rows, labelled rows only,
        or the volume of the node's box. Without unlabelled rows the first is the
        second.

    Attributes
    ----------
    criteria : tuple of str
        ``"entropy"``, ``"gini"`` (half the Gini index) and ``"kearns_mansour"``
        (for two classes the standard deviation of the label; for more the square
        root of half the Gini index, not Kearns and Mansour's sum).

    See Also
    --------
    credible_interval : The limits themselves.

    Notes
    -----
    Equations (3) to (5) of [1]_ with the parent's lower limit, as in its figure 3.

    References
    ----------
    .. [1] T. Collet, O. Pietquin, "Bayesian credible intervals for online and active
       learning of classification trees", ADPRL 2015.

    Examples
    --------
    >>> from skconftree.bounds import CredibleBound
    >>> bound = CredibleBound(delta=0.1)
    >>> bound.evaluate([[5, 0], [0, 5]]).split
    False
    >>> bound.evaluate([[6, 0], [0, 6]]).split
    True
    """

    criteria = CRITERIA
    uses_pool = True
    counts_every_row = True
    examines_children = True
    levels = (0.001, 0.01, 0.05, 0.2, 0.4)
    _parameter_constraints: dict = {
        "delta": [Interval(RealNotInt, 0, 0.5, closed="neither")],
        "prior": [StrOptions(set(PRIORS))],
        "pool_weight": [StrOptions({"pool", "labelled", "volume"})],
    }

    def __init__(self, delta=0.05, *, prior="uniform", pool_weight="pool"):
        self.delta = delta
        self.prior = prior
        self.pool_weight = pool_weight

    def _make_kernel(self, criterion, n_classes):
        return CredibleKernel(criterion, n_classes, self.delta, self.prior)
