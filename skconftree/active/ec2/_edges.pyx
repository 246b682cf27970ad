"""Edges between hypotheses, and how many of them tests cut: sums, no tables.

An edge joins two hypotheses of different groups; its weight is the product of theirs.
The outcome of a test removes the hypotheses that did not foresee it, with their edges.
"""

import numpy as np

from libc.string cimport memset

from skconftree.utils._typedefs cimport float64_t, int16_t, int32_t, intp_t

cdef enum:
    BLOCK = 256         # tests that are looked at side by side
    RUN = 32            # so many without a gap are worth a block of their own

cdef struct Counts:
    # Hypotheses that foresee outcome 1, test by test.
    int32_t alone[BLOCK]            # of weight 1, each a group of its own
    int32_t own[BLOCK]              # weight of those of one group
    float64_t reached[BLOCK]        # weight of other groups
    float64_t squares_1[BLOCK]      # of that of each such group
    float64_t squares_0[BLOCK]      # of what is left of it


cdef inline intp_t length_of_run(const intp_t* tests, intp_t n) noexcept nogil:
    # How many of the first tests lie side by side.
    cdef intp_t j = 1
    while j < n and tests[j] == tests[0] + j:
        j += 1
    return j


cdef class Edges:
    """Edges between the hypotheses that are alive.

    `outcomes` says what each hypothesis foresees of each test, below `n_outcomes`;
    scores are divided by `unit`. `total` is the weight of the hypotheses, `all` that of
    the edges. If weights are whole numbers and their sum is below 2**17, all sums are
    exact, in whatever way they are found.
    """

    cdef readonly float64_t total
    cdef readonly float64_t all
    cdef const int16_t[:, ::1] outcomes
    cdef intp_t n_outcomes
    cdef float64_t unit
    # Hypotheses alive, group by group, and where groups begin.
    cdef const intp_t[::1] order
    cdef const intp_t[::1] starts
    cdef const float64_t[::1] weight
    cdef bint counts        # whole numbers, and two outcomes: one of them is counted

    def __init__(
        self, const int16_t[:, ::1] outcomes, weights, groups, alive, intp_t n_outcomes,
        float64_t unit,
    ):
        cdef float64_t before = 0.0
        cdef intp_t g
        h = outcomes.shape[0]
        if not len(weights) == len(groups) == len(alive) == h:
            raise ValueError("Weights or groups do not fit the hypotheses.")
        order = np.flatnonzero(alive)
        order = order[np.argsort(groups[order], kind="stable")]
        kept = np.ascontiguousarray(weights[order], dtype=np.float64)
        grouped = groups[order]
        first = np.flatnonzero(np.diff(grouped, prepend=-1))
        sums = np.add.reduceat(kept, first) if len(order) else np.empty(0)
        self.outcomes = outcomes
        self.n_outcomes = n_outcomes
        self.unit = unit
        self.order = order
        self.starts = np.r_[first, len(order)].astype(np.intp)
        self.weight = kept
        self.all = 0.0
        for g in range(len(sums)):
            self.all += sums[g] * before
            before += sums[g]
        self.total = before
        exact = before < 2**17 and bool((kept == np.rint(kept)).all())
        self.counts = exact and n_outcomes == 2

    def scores(self, const intp_t[::1] tests not None):
        """Weight of the edges that tests are expected to cut; 0 if none is alive.

        It is the same for a test whatever others are asked about.
        """
        cdef intp_t n = tests.shape[0]
        cdef intp_t i, size
        cdef intp_t start = 0
        cdef Counts counts
        for i in range(n):
            if not 0 <= tests[i] < self.outcomes.shape[1]:
                raise ValueError("No such test.")
        found = np.zeros(n)
        cdef float64_t[::1] out = found
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
        return found

    cdef void _score(
        self, const intp_t* tests, intp_t n, float64_t* scratch, float64_t* out
    ) noexcept nogil:
        # An outcome's hypotheses come group by group: those of a group make edges with
        # all that came before it. Nothing is subtracted that would cancel out.
        cdef intp_t K = self.n_outcomes
        cdef float64_t* reached = scratch           # weight of groups before
        cdef float64_t* left = scratch + n * K      # edges left by an outcome
        cdef const int16_t* foreseen
        cdef float64_t w
        cdef intp_t g, i, j, p, z
        for p in range(2 * n * K):
            scratch[p] = 0.0
        for g in range(self.starts.shape[0] - 1):
            for i in range(self.starts[g], self.starts[g + 1]):
                foreseen = &self.outcomes[self.order[i], 0]
                w = self.weight[i]
                for j in range(n):
                    p = j * K + foreseen[tests[j]]
                    left[p] += w * reached[p]
            for i in range(self.starts[g], self.starts[g + 1]):
                foreseen = &self.outcomes[self.order[i], 0]
                w = self.weight[i]
                for j in range(n):
                    reached[j * K + foreseen[tests[j]]] += w
        for j in range(n):
            out[j] = 0.0
            for z in range(K):
                out[j] += reached[j * K + z] * (self.all - left[j * K + z])
            out[j] = out[j] / self.total / self.unit

    cdef intp_t _count(
        self, const intp_t* tests, intp_t n, Counts* of, float64_t* out
    ) noexcept nogil:
        # As `_score`, for two outcomes and sums that are exact: only hypotheses with
        # outcome 1 are counted. Of those with an outcome, A^2 - sum_g a_g^2 is twice the
        # weight of the edges left, where a_g is that of group g. Returns the number of
        # tests that are scored, at most n.
        cdef intp_t run = length_of_run(tests, n)
        cdef bint together = run >= RUN
        cdef const int16_t* foreseen
        cdef int32_t* into
        cdef int32_t w
        cdef float64_t a, b, left_0, left_1
        cdef float64_t whole        # weight of a group
        cdef float64_t n_alone = 0.0
        cdef intp_t g, i, j
        if together:
            n = run
        memset(of, 0, sizeof(Counts))
        for g in range(self.starts.shape[0] - 1):
            i = self.starts[g]
            # a hypothesis of weight 1 that is a group by itself: its square is 1 as well
            if self.starts[g + 1] - i == 1 and self.weight[i] == 1.0:
                into = of.alone
                n_alone += 1.0
            else:
                into = of.own
            whole = 0.0
            for i in range(self.starts[g], self.starts[g + 1]):
                w = <int32_t> self.weight[i]
                whole += w
                foreseen = &self.outcomes[self.order[i], 0]
                if together:
                    foreseen += tests[0]
                    for j in range(n):
                        into[j] += w * foreseen[j]
                else:
                    for j in range(n):
                        into[j] += w * foreseen[tests[j]]
            if into == of.own:
                for j in range(n):
                    a = of.own[j]
                    b = whole - a
                    of.reached[j] += a
                    of.squares_1[j] += a * a
                    of.squares_0[j] += b * b
                    of.own[j] = 0
        for j in range(n):
            a = of.reached[j] + of.alone[j]
            b = self.total - a
            left_1 = 0.5 * (a * a - of.squares_1[j] - of.alone[j])
            left_0 = 0.5 * (b * b - of.squares_0[j] - (n_alone - of.alone[j]))
            out[j] = b * (self.all - left_0) + a * (self.all - left_1)
            out[j] = out[j] / self.total / self.unit
        return n
