"""Growth of a tree whose rows lie in parts."""

import numpy as np

from libc.string cimport memset

from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.batch._builder cimport Candidate
from skconftree.tree.batch._parted_subtrees cimport PartedSubtrees
from skconftree.tree.batch._runner_up cimport Sides
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._splitter cimport Splitter
from skconftree.utils._typedefs cimport (
    float64_t, int32_t, int64_t, intp_t,
)

cdef enum:
    HELD = 1048576          # counts of the nodes that are divided at once
    MOST_AT_ONCE = 1024
    ROUNDS_A_LEVEL = 4      # at least, of large nodes


cdef class PartedRunnerUp(RunnerUp):
    """Compares tests of a node whose rows lie in parts, which count them."""

    def __init__(
        self, Splitter splitter not None, PartedSource parted not None,
        float64_t least=0.0,
    ):
        super().__init__(splitter, parted.heads, least)
        self.parted = parted

    cdef void _count_cells(
        self, const NodeRecord* record, intp_t first, intp_t n, intp_t n_cells
    ) noexcept nogil:
        cdef intp_t K = self.splitter.node.n_classes
        cdef intp_t cell, c, k
        cdef const int64_t[:, ::1] found
        memset(self.whole, 0, n_cells * (K + 1) * sizeof(int32_t))
        with gil:
            try:
                tests = [_of_test(&self.tests[0])]
                for k in range(first, first + n):
                    tests.append(_of_test(&self.tests[k + 1]))
                found = self.parted.nodes.count_cells(record.id, tests)
                for cell in range(n_cells):
                    for c in range(K):
                        self.whole[cell * (K + 1) + c] = <int32_t> found[cell, c]
            except BaseException as error:
                self.parted.error = error


cdef _of_test(const Sides* sides):
    # Feature, outcomes by code, and how many there are.
    cdef intp_t n_levels = sides.column.n_levels
    cdef intp_t code
    outcomes = np.empty(n_levels, dtype=np.uint16)
    for code in range(n_levels):
        if sides.nominal:
            outcomes[code] = sides.ordinals[code]
        else:
            outcomes[code] = code > sides.place
    if sides.missing_code >= 0:
        outcomes[sides.missing_code] = not sides.missing_left
    return sides.feature, outcomes, sides.n_outcomes


cdef class PartedBuilder(Builder):
    """Grows a tree from a splitter whose source is a PartedSource.

    Depth-first growth leaves nodes of few rows to `helpers`. Of others the parts divide
    several at a time, unless what is drawn goes by their numbers.
    """

    def __init__(
        self, Splitter splitter, GrowthSettings settings, float64_t min_split_weight,
        PartedRunnerUp runner_up, PartedSubtrees helpers not None,
    ):
        super().__init__(splitter, settings, min_split_weight, runner_up, helpers)
        self.parted = splitter.source
        # best-first growth comes back to every node, however small
        self.most_uncounted = 0 if self.best_first else helpers.most_gathered
        self.at_once = 1 if helpers.draws else self._room_for_counts()

    cdef intp_t _room_for_counts(self):
        cdef intp_t n_cells = self.parted.held.shape[0] * self.parted.held.shape[1]
        return min(max(1, HELD // n_cells), MOST_AT_ONCE)

    cdef int _grow_depth_first(self) except -1 nogil:
        # A round takes its nodes from the top of the stack, so that few are open whose
        # counts are held, however many a level of the tree has.
        cdef Candidate* taken = <Candidate*> self.arena.take(
            self.at_once, sizeof(Candidate)
        )
        cdef intp_t i, n, n_rows
        while self.n_open > 0:
            n = n_rows = 0
            while self.n_open > 0 and n < self.at_once:
                taken[n] = self.open[self.n_open - 1]
                n_rows += taken[n].record.end - taken[n].record.start
                # until they have been divided their rows are had twice
                if n > 0 and n_rows > self.n_root // ROUNDS_A_LEVEL:
                    break
                self.n_open -= 1
                n += 1
            for i in range(n):
                self._grow_node(&taken[i])
            with gil:
                self.parted.divide_parts(self.most_uncounted)
        self.arena.give_back(taken)
        return self.helpers.finish(self)

    cdef int _examine(self, Candidate* candidate) except -1 nogil:
        Builder._examine(self, candidate)
        if candidate.split.feature < 0:
            with gil:
                self.parted.nodes.drop(candidate.record.id)
        return 0

    cdef int _install(self, Candidate* candidate) except -1 nogil:
        cdef intp_t n_waiting
        with gil:
            n_waiting = len(self.parted.waiting)
        Builder._install(self, candidate)
        with gil:
            self.parted.check_parts()
            if len(self.parted.waiting) == n_waiting:
                self.parted.nodes.drop(candidate.record.id)
        return 0

    cdef int _make(
        self, Candidate* parent, intp_t node, intp_t outcome
    ) except -1 nogil:
        Builder._make(self, parent, node, outcome)
        with gil:
            self.parted.want(
                outcome, node, self.starts[outcome + 1] - self.starts[outcome]
            )
        return 0

    cdef int _add(self, Candidate* candidate) except -1 nogil:
        if self.best_first:     # looks at its counts at once
            with gil:
                self.parted.check_parts()
                self.parted.divide_parts(self.most_uncounted)
        return Builder._add(self, candidate)
