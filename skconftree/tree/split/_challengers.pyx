"""The test of a node with the smallest upper limit of its children."""

from libc.math cimport INFINITY
from libc.string cimport memmove

from skconftree.bounds._contract cimport Bound
from skconftree.criteria._criterion cimport Criterion
from skconftree.tree.split._cut cimport precedes
from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._selection cimport Best, tie_of
from skconftree.tree.split._split cimport Children, RivalTest, Split
from skconftree.tree.split._tests cimport NodeTests
from skconftree.utils._typedefs cimport int32_t


cdef class Challengers(Selection):
    """The test whose children have the smallest cost."""

    def __init__(
        self, ExaminedNode node not None, Criterion criterion not None, Bound bound,
        intp_t largest_count,
    ):
        super().__init__(node, criterion, bound, largest_count, at_once=False)
        self.interval = bound
        self.by_bound = True

    cdef void begin(self) noexcept nogil:
        Selection.begin(self)
        # in the unit of costs: a volume may be far smaller than the weight of the rows
        self.tie = tie_of(self.node.facts.pool)
        self.challenging = False

    cdef void read(self, Scan scan) noexcept nogil:
        self._score(scan)
        if self.challenging:
            self._challenge_with(scan)
        else:
            self._keep_best(scan)

    cdef void read_children(self, const Children* children) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef float64_t cost = 0.0
        cdef float64_t n
        cdef intp_t z, c
        cdef Cut cut
        cut.place = 0
        cut.missing_left = False
        if not self.challenging:
            self.best.n_tests = 1.0
            self.best.cut = cut
            self.best.score = -INFINITY     # no floor is known for its costs
            return
        self.node.children_to_bound(children)
        for z in range(children.n_outcomes):
            n = 0.0
            for c in range(K):
                n += children.scaled[z * K + c]
            cost += self.interval.cost(
                children.scaled + z * K, n, children.pool[z] * self.node.share,
                children.n_outcomes,
            )
            if cost > self.incumbent + self.tie:
                return
        self._install_if_better(self.feature, cut, cost)

    cdef void choose(
        self, NodeTests tests, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil:
        # The test with the smallest cost below the parent's limit. A feature whose
        # smallest floor is above the incumbent cannot hold it.
        cdef const Children* children = &tests.children
        cdef float64_t floor
        cdef intp_t j, feature
        cdef intp_t n = 0
        self.interval.node_begin(&self.node.facts)
        self._note_floors(visited, n_visited)
        self.incumbent = self.interval.limit
        self.incumbent_feature = -1
        self.incumbent_cut.place = -1
        self.incumbent_cut.missing_left = False
        self.challenging = True
        self.adds = False       # costs need counts
        while True:
            feature = -1
            floor = INFINITY
            for j in range(n_visited):
                if self.best_of[visited[j]].score < floor:
                    feature = visited[j]
                    floor = self.best_of[feature].score
            if feature < 0 or floor > self.incumbent + self.tie:
                break
            if floor > -INFINITY:
                tests.count_children(feature, self.best_of[feature].cut)
                self.node.children_to_bound(children)
                self._offer(
                    feature, self.best_of[feature].cut, children.scaled,
                    children.pool[0] * self.node.share,
                    children.pool[1] * self.node.share,
                )
            self.examine(feature, tests)    # forgets its floor
        split.feature = self.incumbent_feature
        split.cut = self.incumbent_cut
        for j in range(MOST_RIVALS + 1):
            if n == MOST_RIVALS or self.floors[j].feature < 0:
                break
            if self.floors[j].feature != split.feature:
                split.rivals[n] = self.floors[j]
                n += 1
        if n < MOST_RIVALS:
            split.rivals[n].feature = -1
        split.evidence.child_limit = self.incumbent / self.node.facts.pool

    cdef void _note_floors(
        self, const int32_t* visited, intp_t n_visited
    ) noexcept nogil:
        # The attributes with the smallest floors, and the test that each is of.
        cdef const Best* best
        cdef intp_t n = 0
        cdef intp_t i, j
        for j in range(n_visited):
            best = self.best_of + visited[j]
            if best.cut.place < 0:
                continue
            i = n
            while i > 0 and best.score < self.best_of[self.floors[i - 1].feature].score:
                i -= 1
            if i == MOST_RIVALS + 1:
                continue
            n = min(n + 1, <intp_t> MOST_RIVALS + 1)
            memmove(
                self.floors + i + 1, self.floors + i, (n - 1 - i) * sizeof(RivalTest)
            )
            self.floors[i].feature = visited[j]
            self.floors[i].cut = best.cut
        if n <= MOST_RIVALS:
            self.floors[n].feature = -1

    cdef void _challenge_with(self, Scan scan) noexcept nogil:
        cdef float64_t pool_left
        cdef Cut cut
        cdef intp_t i
        cut.missing_left = scan.missing_left
        for i in range(scan.tests.size):
            if self.out[i] <= self.incumbent + self.tie:
                cut.place = scan.place[i]
                pool_left = scan.tests.pool_left[i] * self.node.share
                self.node.pair_to_bound(
                    scan.left + i * self.node.n_classes, self.pair
                )
                self._offer(
                    self.feature, cut, self.pair, pool_left,
                    self.node.facts.pool - pool_left,
                )

    cdef void _offer(
        self, intp_t feature, Cut cut, const float64_t* pair, float64_t pool_left,
        float64_t pool_right,
    ) noexcept nogil:
        # Replace the incumbent if the test with this pair of children is better.
        cdef intp_t K = self.node.n_classes
        cdef const float64_t* right = pair + K
        cdef float64_t ceiling = self.incumbent + self.tie
        cdef float64_t n_left = 0.0
        cdef float64_t n_right = 0.0
        cdef float64_t floor_left, floor_right, cost
        cdef intp_t c
        for c in range(K):
            n_left += pair[c]
            n_right += right[c]
        floor_right = self.interval.sharp_floor(right, n_right, pool_right, 2)
        floor_left = self.interval.sharp_floor(pair, n_left, pool_left, 2)
        if floor_right + floor_left > ceiling:
            return
        cost = self.interval.cost(pair, n_left, pool_left, 2)
        if cost + floor_right > ceiling:
            return
        cost += self.interval.cost(right, n_right, pool_right, 2)
        self._install_if_better(feature, cut, cost)

    cdef void _install_if_better(
        self, intp_t feature, Cut cut, float64_t cost
    ) noexcept nogil:
        cdef bint better
        if self.incumbent_feature < 0:
            better = cost < self.incumbent
        else:
            better = cost < self.incumbent - self.tie or (
                cost <= self.incumbent + self.tie
                and (
                    feature < self.incumbent_feature
                    or (
                        feature == self.incumbent_feature
                        and precedes(cut, self.incumbent_cut)
                    )
                )
            )
        if better:
            self.incumbent = cost
            self.incumbent_feature = feature
            self.incumbent_cut = cut
