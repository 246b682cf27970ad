"""EC2 scores: weight of the edges between hypotheses that tests are expected to cut.

EC2 is equivalence class edge cutting, a method of active learning. A hypothesis, such
as a tree of a forest, predicts a label for each row. A test is a query of the label of
one row, and its outcome is the label. Hypotheses are divided into groups, the
equivalence classes. An edge joins two hypotheses of different groups; its weight is the
product of their weights. The outcome of a test removes the hypotheses that predicted
another outcome, and cuts their edges; the remaining hypotheses are alive.
"""

import numpy as np

from libc.string cimport memset

from skconftree.utils._typedefs cimport float64_t, int16_t, int32_t, intp_t

cdef enum:
    BLOCK = 256         # tests that are processed together: `Counts` fits into the L1 cache
    RUN = 32            # minimum number of adjacent tests for which a vectorized loop pays

cdef struct Counts:
    # Sums over the hypotheses that predict outcome 1, for each test of a block.
    int32_t singles[BLOCK]          # number of groups with one hypothesis, of weight 1
    int32_t group_weight[BLOCK]     # weight of the hypotheses of the current group
    float64_t other_groups[BLOCK]   # weight of the hypotheses of groups not in `singles`
    float64_t squares_1[BLOCK]      # sum over these groups of their squared weights
    float64_t squares_0[BLOCK]      # the same for the hypotheses that predict outcome 0


cdef inline intp_t length_of_run(const intp_t* tests, intp_t n) noexcept nogil:
    # Number of tests at the start of the array whose indices are consecutive.
    cdef intp_t j = 1
    while j < n and tests[j] == tests[0] + j:
        j += 1
    return j


cdef class Edges:
    """Edges between the hypotheses that are alive.

    `outcomes` are the predictions of each hypothesis for each test, integers from 0 to
    `n_outcomes` - 1. Scores are divided by `unit`, for example by the squared weight of
    all hypotheses. `total` is the weight of the hypotheses that are alive, `all` that
    of the edges. If weights are integers and their sum is below 2**17, all sums are
    exact integers below 2**53, and `_score` and `_count` return the same scores.
    """

    cdef readonly float64_t total
    cdef readonly float64_t all
    cdef const int16_t[:, ::1] outcomes
    cdef intp_t n_outcomes
    cdef float64_t unit
    # Hypotheses alive, ordered by group, and the start of each group.
    cdef const intp_t[::1] order
    cdef const intp_t[::1] starts
    cdef const float64_t[::1] weight
    # Whether `_count` computes the scores, not `_score`: if there are two outcomes and
    # the weights are integers with a small sum.
    cdef bint counts

    def __init__(
        self, const int16_t[:, ::1] outcomes, weights, groups, alive, intp_t n_outcomes,
        float64_t unit,
    ):
        cdef float64_t before = 0.0
        cdef intp_t g
        h = outcomes.shape[0]
        if not len(weights) == len(groups) == len(alive) == h:
            raise ValueError(
                f"weights, groups and alive must have one element for each of {h} "
                "hypotheses."
            )
        order = np.flatnonzero(alive)
        order = order[np.argsort(groups[order], kind="stable")]
        alive_weights = np.ascontiguousarray(weights[order], dtype=np.float64)
        grouped = groups[order]
        first = np.flatnonzero(np.diff(grouped, prepend=-1))
        sums = np.add.reduceat(alive_weights, first) if len(order) else np.empty(0)
        self.outcomes = outcomes
        self.n_outcomes = n_outcomes
        self.unit = unit
        self.order = order
        self.starts = np.r_[first, len(order)].astype(np.intp)
        self.weight = alive_weights
        self.all = 0.0
        for g in range(len(sums)):
            self.all += sums[g] * before
            before += sums[g]
        self.total = before
        exact = before < 2**17 and bool((alive_weights == np.rint(alive_weights)).all())
        self.counts = exact and n_outcomes == 2

    def scores(self, const intp_t[::1] tests not None):
        """Weight of the edges that tests are expected to cut; 0 if none is alive.

        The score of a test does not depend on the other tests of the call.
        """
        cdef intp_t n = tests.shape[0]
        cdef intp_t i, size
        cdef intp_t start = 0
        cdef Counts counts
        for i in range(n):
            if not 0 <= tests[i] < self.outcomes.shape[1]:
                raise ValueError(
                    f"tests must be from 0 to {self.outcomes.shape[1] - 1}. Got "
                    f"{tests[i]}."
                )
        scores = np.zeros(n)
        cdef float64_t[::1] out = scores
        cdef float64_t[::1] scratch = np.empty(2 * BLOCK * self.n_outcomes)
        if self.all > 0.0:
            with nogil:
                while start < n:
                    size = min(<intp_t> BLOCK, n - start)
                    if self.counts:
                        size = self._count(&tests[start], size, &counts, &out[start])
                    else:
                        self._score(&tests[start], size, &scratch[0], &out[start])
                    start += size
        return scores

    cdef void _score(
        self, const intp_t* tests, intp_t n, float64_t* scratch, float64_t* out
    ) noexcept nogil:
        # For each test and outcome, sum the weight of the edges between the hypotheses
        # with this outcome. Hypotheses are added group by group; those of a group have
        # edges to all hypotheses of earlier groups. No subtraction could cancel digits.
        cdef intp_t K = self.n_outcomes
        # weight of the earlier groups; after the loop, of all groups
        cdef float64_t* other_groups = scratch
        cdef float64_t* left = scratch + n * K      # weight of the edges that remain
        cdef const int16_t* predicted
        cdef float64_t w
        cdef intp_t g, i, j, p, z
        for p in range(2 * n * K):
            scratch[p] = 0.0
        for g in range(self.starts.shape[0] - 1):
            for i in range(self.starts[g], self.starts[g + 1]):
                predicted = &self.outcomes[self.order[i], 0]
                w = self.weight[i]
                for j in range(n):
                    p = j * K + predicted[tests[j]]
                    left[p] += w * other_groups[p]
            for i in range(self.starts[g], self.starts[g + 1]):
                predicted = &self.outcomes[self.order[i], 0]
                w = self.weight[i]
                for j in range(n):
                    other_groups[j * K + predicted[tests[j]]] += w
        for j in range(n):
            out[j] = 0.0
            for z in range(K):
                out[j] += other_groups[j * K + z] * (self.all - left[j * K + z])
            out[j] = out[j] / self.total / self.unit

    cdef intp_t _count(
        self, const intp_t* tests, intp_t n, Counts* of, float64_t* out
    ) noexcept nogil:
        # Like `_score`, for two outcomes and exact sums: only hypotheses with outcome 1
        # are counted. The weight of the edges between the hypotheses with an outcome is
        # (A^2 - sum_g a_g^2) / 2, with the weight A of these hypotheses and a_g of
        # those in group g. Returns the number of tests that are scored, at most n.
        cdef intp_t run_length = length_of_run(tests, n)
        cdef bint contiguous = run_length >= RUN
        cdef const int16_t* predicted
        cdef int32_t* target
        cdef int32_t w
        cdef float64_t a, b, left_0, left_1
        cdef float64_t total        # weight of a group
        cdef float64_t n_alone = 0.0        # number of groups with one hypothesis, of weight 1
        cdef intp_t g, i, j
        if contiguous:
            n = run_length
        memset(of, 0, sizeof(Counts))
        for g in range(self.starts.shape[0] - 1):
            i = self.starts[g]
            # a group of one hypothesis of weight 1, whose square is 1 as well
            if self.starts[g + 1] - i == 1 and self.weight[i] == 1.0:
                target = of.singles
                n_alone += 1.0
            else:
                target = of.group_weight
            total = 0.0
            for i in range(self.starts[g], self.starts[g + 1]):
                w = <int32_t> self.weight[i]
                total += w
                predicted = &self.outcomes[self.order[i], 0]
                if contiguous:
                    predicted += tests[0]
                    for j in range(n):
                        target[j] += w * predicted[j]
                else:
                    for j in range(n):
                        target[j] += w * predicted[tests[j]]
            if target == of.group_weight:
                for j in range(n):
                    a = of.group_weight[j]
                    b = total - a
                    of.other_groups[j] += a
                    of.squares_1[j] += a * a
                    of.squares_0[j] += b * b
                    of.group_weight[j] = 0
        for j in range(n):
            a = of.other_groups[j] + of.singles[j]
            b = self.total - a
            left_1 = 0.5 * (a * a - of.squares_1[j] - of.singles[j])
            left_0 = 0.5 * (b * b - of.squares_0[j] - (n_alone - of.singles[j]))
            out[j] = b * (self.all - left_0) + a * (self.all - left_1)
            out[j] = out[j] / self.total / self.unit
        return n
