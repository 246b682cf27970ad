"""What a scan minimises; the contract is written in the .pxd."""

import numpy as np

from libc.math cimport log
from libc.string cimport memset


cdef class Score:
    """What a scan over candidate tests minimises."""

    def reserve(self, intp_t n_max):
        """Prepare tables for whole counts up to `n_max`; called once a fit.

        Only fits in which every count is a whole number call this. A table must
        hold what the score computes without it, to the last few bits.
        """

    def check(self):
        """Raise ``NotImplementedError`` if a method is missing that a scan needs."""
        if <void*> self.block == <void*> Score.block:
            lacks(self, "block")
        if <void*> self.outcomes == <void*> Score.outcomes:
            lacks(self, "outcomes")
        if self.additive and <void*> self.phi == <void*> Score.phi:
            lacks(self, "phi, which an additive score needs")

    cdef void begin(self, const NodeStats* facts) noexcept nogil:
        # Called once a node, before any block.
        pass

    cdef void block(self, const TestBlock* tests, float64_t* out) noexcept nogil:
        # Score of every test of the block; the right outcome is the node minus the left.
        pass

    cdef float64_t phi(self, float64_t count) noexcept nogil:
        # Term of one class and outcome, for additive scores.
        return 0.0

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        # Score of one test with r outcomes; counts is [r, n_classes].
        return 0.0

    def evaluate(self, left, total, *, pool_left=None, pool=None, from_sums=False):
        """Score candidate binary tests of one node as a scan would.

        `left` has the class counts of the left outcome of every test, `total` those of
        the node; `pool_left` and `pool` are their weights W, the numbers of rows if
        None. `from_sums` works from sums of `phi` over the classes, for additive
        scores. Scores are totals over the rows of the node (over the pool for interval
        bounds).
        """
        left = np.ascontiguousarray(left, dtype=np.float64)
        total = np.ascontiguousarray(total, dtype=np.float64)
        cdef const float64_t[:, ::1] left_counts = left
        cdef const float64_t[::1] counts = total
        cdef const float64_t[::1] n_left = left.sum(axis=1)
        cdef const float64_t[::1] weight = (
            n_left if pool_left is None
            else np.ascontiguousarray(pool_left, dtype=np.float64)
        )
        cdef intp_t i
        cdef intp_t c
        cdef intp_t size = left_counts.shape[0]
        cdef float64_t[:, ::1] sums = np.zeros((2, max(size, 1)))
        cdef float64_t[::1] out = np.zeros(max(size, 1))
        cdef NodeStats facts
        cdef TestBlock tests
        if left_counts.shape[1] != self.n_classes or counts.shape[0] != self.n_classes:
            raise ValueError(
                f"left and total must have {self.n_classes} columns, one a class."
            )
        if from_sums and not self.additive:
            raise ValueError("from_sums=True needs an additive score.")
        if size == 0:
            return np.zeros(0)
        memset(&facts, 0, sizeof(NodeStats))
        tests.nested = bool(np.all(np.diff(left, axis=0) >= 0.0))
        facts.n_classes = self.n_classes
        facts.counts = &counts[0]
        facts.n = total.sum()
        facts.pool = facts.n if pool is None else pool
        facts.n_fresh = facts.n
        facts.n_tests = size
        facts.n_varying = 1
        facts.n_attribute_tests = size
        facts.log_attribute_tests = log(size)
        facts.time = facts.n
        facts.n_attributes = 1
        facts.attempt = 1
        facts.integral = is_integral(left) and is_integral(total)
        facts.cuts_only = tests.nested
        self.begin(&facts)
        tests.size = size
        tests.left = &left_counts[0, 0]
        tests.n_left = &n_left[0]
        tests.pool_left = &weight[0]
        tests.phi_left = NULL
        tests.phi_right = NULL
        if from_sums:
            for i in range(size):
                for c in range(self.n_classes):
                    sums[0, i] += self.phi(left_counts[i, c])
                    sums[1, i] += self.phi(counts[c] - left_counts[i, c])
            tests.left = NULL
            tests.phi_left = &sums[0, 0]
            tests.phi_right = &sums[1, 0]
        with nogil:
            self.block(&tests, &out[0])
        return np.asarray(out)

    def evaluate_outcomes(self, counts):
        """Score one test by the class counts of its outcomes; of one, it is no split.

        It is a total over the rows of the node, which is the sum of the outcomes.
        """
        children = np.ascontiguousarray(counts, dtype=np.float64)
        if children.ndim != 2 or children.shape[1] != self.n_classes:
            raise ValueError(f"counts must have {self.n_classes} columns, one a class.")
        cdef const float64_t[:, ::1] outcomes = children
        cdef const float64_t[::1] node = children.sum(axis=0)
        cdef NodeStats facts
        memset(&facts, 0, sizeof(NodeStats))
        facts.n_classes = self.n_classes
        facts.counts = &node[0]
        facts.n = facts.pool = facts.n_fresh = facts.time = children.sum()
        facts.integral = is_integral(children)
        self.begin(&facts)
        return self.outcomes(&outcomes[0, 0], children.shape[0])


def is_integral(counts):
    """Whether every count is a whole number that tables may be indexed by."""
    return bool(np.all(counts == np.rint(counts)))


def lacks(thing, method):
    """Say which method a plug-in has yet to define."""
    raise NotImplementedError(f"{type(thing).__name__} does not define {method}.")
