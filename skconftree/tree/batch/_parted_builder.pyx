"""Growth of a tree whose rows lie in parts."""

import numpy as np

from libc.string cimport memset

from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.batch._runner_up cimport Sides
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._splitter cimport Splitter
from skconftree.utils._typedefs cimport (
    float64_t, int32_t, int64_t, intp_t,
)


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

    Nodes of at most `most_gathered` rows are gathered, and handed to the builder that
    `make_builder` makes for them.
    """

    def __init__(
        self, Splitter splitter, GrowthSettings settings, float64_t min_split_weight,
        PartedRunnerUp runner_up, make_builder, intp_t most_gathered,
    ):
        super().__init__(splitter, settings, min_split_weight, runner_up)
        self.parted = splitter.source
        self.make_builder = make_builder
        self.most_gathered = most_gathered

    cdef bint _is_small(self, const Candidate* candidate) noexcept nogil:
        return candidate.record.end - candidate.record.start <= self.most_gathered

    cdef int _examine(self, Candidate* candidate) except -1 nogil:
        if self._is_small(candidate):
            with gil:
                self._examine_gathered(candidate)
        else:
            Builder._examine(self, candidate)
            with gil:
                self.parted.check_parts()
        if candidate.split.feature < 0:
            with gil:
                self.parted.nodes.drop(candidate.record.id)
        return 0

    cdef int _examine_gathered(self, Candidate* candidate) except -1:
        cdef Builder builder = self.make_builder(
            self.parted.nodes.gather(candidate.record.id)
        )
        cdef Candidate root = candidate[0]
        builder.tree = self.tree
        root.record.start = 0
        root.record.end = builder.source.n_rows
        if self.best_first:
            with nogil:
                candidate.split = builder.splitter.find(
                    &root.record,
                    self.tree.counts + root.record.id * self.tree.n_classes,
                )
            # the splitter has dropped features from the list they share
            candidate.record.n_features = root.record.n_features
            return 0
        candidate.split.feature = -1
        with nogil:
            builder._take_over(&root)   # it gives back what belongs to the candidate
            builder._add(&root)
            builder._grow_depth_first()
        return 0

    cdef int _install(self, Candidate* candidate) except -1 nogil:
        Builder._install(self, candidate)
        with gil:
            self.parted.check_parts()
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
        with gil:
            self.parted.check_parts()
            if self.parted.waiting is not None:
                # best-first growth comes back to every node, however small
                self.parted.divide_parts(0 if self.best_first else self.most_gathered)
        return Builder._add(self, candidate)
