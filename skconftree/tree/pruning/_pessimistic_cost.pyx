"""Pessimistic errors of leaves."""

import numpy as np

from libc.math cimport expm1, fmax, isnan, log, sqrt
from scipy.special.cython_special cimport betainc, betaincinv, ndtri

from skconftree.tree.nodes._leaf_cost cimport LeafCost
from skconftree.utils._draws cimport mix
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, intp_t, uint64_t

cdef enum:
    FEWEST = 64         # limits remembered; powers of two
    MOST = 16384
    HALVINGS = 60

# Above it SciPy's quantile grows worse, and the law is normal but for its skewness.
cdef float64_t MANY = 1e8


cdef struct Known:
    float64_t errors
    float64_t n         # 0 = nothing known
    float64_t limit     # of the errors, not of their rate


cdef union Bits:
    float64_t value
    uint64_t bits


cdef class PessimisticCost(LeafCost):
    """Upper limit of the errors of a leaf, as ``pruning="pessimistic"`` counts them.

    It is that of `skconftree.bounds.binomial_upper`, times the rows. Trees have few
    different leaves, and the limit is costly: about `n_leaves` of the latest ones are
    remembered. So an object belongs to one worker.
    """

    cdef float64_t confidence
    cdef float64_t log_confidence
    cdef Arena arena
    cdef intp_t n_slots     # a power of two
    cdef Known* known       # [n_slots] by a hash of errors and rows

    def __init__(self, float64_t confidence, intp_t n_leaves):
        self.confidence = confidence
        self.log_confidence = log(confidence)
        self.arena = Arena()
        self.n_slots = FEWEST
        while self.n_slots < min(4 * n_leaves, MOST):   # so that few share a slot
            self.n_slots *= 2
        self.known = <Known*> self.arena.take_zeros(self.n_slots, sizeof(Known))

    cdef float64_t of(self, const float64_t* counts, intp_t n_classes) noexcept nogil:
        cdef float64_t n = 0.0
        cdef float64_t largest = 0.0
        cdef intp_t c
        for c in range(n_classes):
            n += counts[c]
            largest = fmax(largest, counts[c])
        return self._limit(fmax(n - largest, 0.0), n)

    cdef float64_t _limit(self, float64_t errors, float64_t n) noexcept nogil:
        cdef Bits a, b
        cdef Known* slot
        if errors == 0.0:
            return -n * expm1(self.log_confidence / n) if n > 0.0 else 0.0
        if errors >= n:
            return n
        a.value = errors
        b.value = n
        slot = self.known + (mix(a.bits ^ mix(b.bits)) & (self.n_slots - 1))
        if slot.errors != errors or slot.n != n:
            slot.errors = errors
            slot.n = n
            slot.limit = n * (1.0 - self._quantile(n - errors, errors + 1.0))
        return slot.limit

    cdef float64_t _quantile(self, float64_t a, float64_t b) noexcept nogil:
        cdef float64_t n = a + b
        cdef float64_t low = 0.0
        cdef float64_t high = 1.0
        cdef float64_t middle
        cdef float64_t x
        cdef intp_t _step
        if a > MANY and b > MANY:
            x = ndtri(self.confidence)
            return (
                a / n + x * sqrt(a / n * (b / n) / n)
                + (b - a) / n / n * (x * x - 1.0) / 3.0
            )
        x = betaincinv(a, b, self.confidence)
        if not isnan(x):
            return x
        for _step in range(HALVINGS):       # SciPy has lost a very small confidence
            middle = (low + high) / 2.0
            if betainc(a, b, middle) < self.confidence:
                low = middle
            else:
                high = middle
        return high

    def of_nodes(self, const float64_t[:, ::1] counts not None):
        """Cost of each node as a leaf, by its class counts."""
        cdef intp_t i
        found = np.empty(counts.shape[0])
        cdef float64_t[::1] cost = found
        with nogil:
            for i in range(counts.shape[0]):
                cost[i] = self.of(&counts[i, 0], counts.shape[1])
        return found
