"""The evidence of all tests of a node, and the best of them."""

from libc.math cimport INFINITY, exp, fmin, log, log1p

from skconftree.bounds._contract cimport Bound
from skconftree.criteria._criterion cimport Criterion
from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._selection cimport tie_of
from skconftree.tree.split._split cimport Children, Split
from skconftree.tree.split._tests cimport NodeTests
from skconftree.utils._typedefs cimport int32_t, intp_t

cdef float64_t NEGLIGIBLE = 40.0    # exp(-40) is a fiftieth of the rounding of 1


cdef class SummedEvidence(BestTests):
    """What an evidence bound wants to know of the tests of a node."""

    def __init__(
        self, ExaminedNode node not None, Criterion criterion not None, Bound bound,
        intp_t largest_count,
    ):
        super().__init__(node, criterion, bound, largest_count)
        self.evidence = bound

    cdef void begin(self) noexcept nogil:
        BestTests.begin(self)
        self.tie = tie_of(self.node.n)
        self.by_bound = True
        self.sums = True
        self.total = -INFINITY
        self.peak = INFINITY
        self.reach = NEGLIGIBLE + log(self.node.n_repeated)

    cdef void read(self, Scan scan) noexcept nogil:
        BestTests.read(self, scan)
        if self.sums:
            self._add_block(scan)

    cdef void read_children(self, const Children* children) noexcept nogil:
        if not self.by_bound:
            BestTests.read_children(self, children)
            return
        self.best.n_tests = 1.0
        self.best.cut.place = 0
        self.node.children_to_bound(children)
        self.best.score = self.bound_score.outcomes(
            children.scaled, children.n_outcomes
        )
        self.best.log_evidence = -self.best.score
        self.peak = fmin(self.peak, self.best.score)

    cdef void keep(self, intp_t feature, NodeTests tests) noexcept nogil:
        if self.at_once:
            self._add_feature()
            self._weigh(feature, tests)

    cdef void choose(
        self, NodeTests tests, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil:
        cdef intp_t j
        if not self.at_once:
            for j in range(n_visited):
                self.best = self.best_of + visited[j]
                self._add_feature()
        self.evidence.log_evidence = self.total - log(
            <float64_t> self.node.facts.n_varying
        )
        if not self.evidence.chooses:
            self.by_bound = False
            self.sums = False
            self._forget_choice()
            for j in range(n_visited):
                self.examine(visited[j], tests)
                if self.at_once:
                    self._weigh(visited[j], tests)
        self._contest(tests, visited, n_visited, split)
        self.bound.node_begin(&self.node.facts)

    cdef void _add_block(self, Scan scan) noexcept nogil:
        # log-sum-exp of the block, then of what came before and the block. A test
        # has at most n times the weight of another, so that tests this far behind
        # the best one met so far change the sum by less than its rounding.
        cdef float64_t peak
        cdef float64_t total = 0.0
        cdef intp_t i
        self.peak = fmin(self.peak, self.best.score)
        peak = self.peak
        for i in range(scan.tests.size):
            if self.out[i] - peak < self.reach:
                total += exp(peak - self.out[i])
        if total > 0.0:
            self.best.log_evidence = _log_add(
                self.best.log_evidence, log(total) - peak
            )

    cdef void _add_feature(self) noexcept nogil:
        # Average over the tests of the feature examined last, if it has any.
        if self.best.n_tests > 0.0:
            self.total = _log_add(
                self.total, self.best.log_evidence - (
                    log(self.best.n_tests) if self.best.log_tests < 0.0
                    else self.best.log_tests
                )
            )


cdef float64_t _log_add(float64_t a, float64_t b) noexcept nogil:
    if a < b:
        a, b = b, a
    if b == -INFINITY:
        return a
    return a + log1p(exp(b - a))
