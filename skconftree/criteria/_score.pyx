"""Base class of scores: functions of class counts that the split search minimizes.

`_score.pxd` documents its methods and units. The split search of a node is called a scan. The
outcomes of a split are its children. W (pool) is the weight of a node with its unlabeled rows,
or its volume. A score is additive if it can be computed from sums over the classes of phi(), a
function of one class count. A bound is a split rule.
"""

import numpy as np

from libc.math cimport log
from libc.string cimport memset


cdef class Kernel:
    """Base class of scores and bounds: stores (holds) the exceptions of methods in Python."""

    cdef void hold(self, error) noexcept:
        if self.held is None:
            self.held = error

    cdef object release(self):
        held, self.held = self.held, None
        self.has_failed = False
        return held

    cdef int raise_held(self) except -1:
        held = self.release()
        if held is not None:
            raise held
        return 0


cdef class Score(Kernel):
    """Function of class counts that a scan over candidate splits minimizes."""

    def reserve(self, intp_t n_max):
        """Tabulate the score for integer counts up to `n_max`; called once per fit.

        Only fits in which every count is an integer call this. Tabulated values must
        agree with computed values to the last few bits.
        """

    def check(self):
        """Raise ``NotImplementedError`` if a method is missing that a scan needs."""
        if <void*> self.block == <void*> Score.block:
            raise_undefined(self, "block")
        if <void*> self.outcomes == <void*> Score.outcomes:
            raise_undefined(self, "outcomes")
        if self.additive and <void*> self.phi == <void*> Score.phi:
            raise_undefined(self, "phi, which an additive score needs")

    cdef void begin(self, const NodeStats* stats) noexcept nogil:
        # Called once per node, before any block.
        pass

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        # Score of every split of the block; the right outcome is the node minus the left.
        pass

    cdef float64_t phi(self, float64_t count) noexcept nogil:
        # Term of one class and outcome, for additive scores.
        return 0.0

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        # Score of one split with r outcomes; counts is [r, n_classes].
        return 0.0

    def evaluate(self, left, total, *, pool_left=None, pool=None, from_sums=False):
        """Return the scores of candidate binary splits of one node, as in a scan.

        `left` are the class counts of the left outcome of each split, `total` those of
        the node; `pool_left` and `pool` are their weights W: numbers of labeled and
        unlabeled rows, or volumes (None: numbers of labeled rows). With `from_sums`,
        additive scores are computed from sums of `phi` over the classes. Scores are
        totals over the rows of the node; those of bounds that use W are totals over W.
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
        cdef intp_t i, c
        cdef intp_t size = left_counts.shape[0]
        cdef float64_t[:, ::1] sums = np.zeros((2, max(size, 1)))
        cdef float64_t[::1] out = np.zeros(max(size, 1))
        cdef NodeStats stats
        cdef SplitBlock splits
        if left_counts.shape[1] != self.n_classes or counts.shape[0] != self.n_classes:
            raise ValueError(
                f"left and total must have {self.n_classes} columns, one per class. Got "
                f"{left_counts.shape[1]} and {counts.shape[0]}."
            )
        if from_sums and not self.additive:
            raise ValueError(
                f"from_sums=True needs an additive score. {type(self).__name__} is not."
            )
        if size == 0:
            return np.zeros(0)
        # each left outcome contains the one before, as those of thresholds do
        splits.nested = bool(np.all(np.diff(left, axis=0) >= 0.0))
        stats = stats_from_counts(
            counts, total.sum(), total.sum() if pool is None else pool,
            is_integral(left) and is_integral(total),
        )
        stats.n_candidates = stats.n_feature_candidates = size
        stats.log_feature_candidates = log(size)
        stats.cuts_only = splits.nested  # all candidates are thresholds
        self.begin(&stats)
        splits.size = size
        splits.left = &left_counts[0, 0]
        splits.n_left = &n_left[0]
        splits.pool_left = &weight[0]
        splits.phi_left = NULL
        splits.phi_right = NULL
        if from_sums:
            for i in range(size):
                for c in range(self.n_classes):
                    sums[0, i] += self.phi(left_counts[i, c])
                    sums[1, i] += self.phi(counts[c] - left_counts[i, c])
            splits.left = NULL
            splits.phi_left = &sums[0, 0]
            splits.phi_right = &sums[1, 0]
        with nogil:
            self.block(&splits, &out[0])
        self.raise_held()
        return np.asarray(out)

    def evaluate_outcomes(self, counts):
        """Return the score of one split, or of no split if there is only one outcome.

        `counts` are the class counts of its outcomes. The score is a total over the
        rows of the node, which is the sum of the outcomes.
        """
        children = np.ascontiguousarray(counts, dtype=np.float64)
        if children.ndim != 2 or children.shape[1] != self.n_classes:
            raise ValueError(
                f"counts must have {self.n_classes} columns, one per class. Got shape "
                f"{np.shape(counts)}."
            )
        cdef const float64_t[:, ::1] outcomes = children
        cdef const float64_t[::1] node = children.sum(axis=0)
        cdef NodeStats stats = stats_from_counts(
            node, children.sum(), children.sum(), is_integral(children)
        )
        self.begin(&stats)
        score = self.outcomes(&outcomes[0, 0], children.shape[0])
        self.raise_held()
        return score


cdef NodeStats stats_from_counts(
    const float64_t[::1] counts, float64_t n, float64_t pool, bint integral
) noexcept:
    # Statistics of a node outside of a tree, without its number of candidate splits.
    cdef NodeStats stats
    memset(&stats, 0, sizeof(NodeStats))
    stats.n_classes = counts.shape[0]
    stats.counts = &counts[0]
    stats.n = stats.n_fresh = stats.time = n
    stats.pool = pool
    stats.n_candidate_features = stats.n_features = stats.attempt = 1
    stats.integral = integral
    return stats


def is_integral(counts):
    """Whether every count is an integer, so that it can index tables."""
    return bool(np.all(counts == np.rint(counts)))


def raise_undefined(plugin, method):
    """Raise ``NotImplementedError`` for a method that a score or a bound has to define."""
    raise NotImplementedError(f"{type(plugin).__name__} does not define {method}.")
