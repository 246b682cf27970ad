"""Growth of a tree from a table, depth-first or best-first."""

from libc.float cimport DBL_EPSILON
from libc.string cimport memcpy

from skconftree.tree._settings cimport MOST_RIVALS, NO_LIMIT, GrowthSettings
from skconftree.tree.batch._lookahead cimport LookaheadBuilder
from skconftree.tree.batch._node_rows cimport NodeRows
from skconftree.tree.batch._table_source cimport GONE, SEGMENT, Passing, TableSource
from skconftree.tree.nodes._node_table cimport Rival
from skconftree.tree.split._node cimport RootFacts
from skconftree.tree.split._selection cimport Best, BestTests
from skconftree.tree.split._split cimport Children
from skconftree.utils._box cimport cut_box
from skconftree.utils._typedefs cimport int16_t

# Workers: the threads of one growth. Each has a splitter, with kernels and scratch of its
# own, whose source looks at the arrays of the rows that all share.
#
# In a large node they share out the columns: SharedSplitter lets them scan the features,
# SharedSource divide them. What a scan finds of a feature depends on nothing that was
# scanned before it, and features are compared in their order, so that the tree is the
# one that a thread alone would grow. Where it does depend on that, scans are not shared:
# features that are drawn are as many as vary; evidence is summed up in an order; the
# floors of interval bounds leave out tests that are worse than one met before.
#
# Subtrees lets them grow what lies below smaller nodes.

cdef struct FoundTest:
    intp_t n_tests          # emitted; 0 = the feature is constant in the node
    Best best


cdef enum:
    FIRST_ROOM = 512        # nodes: a small tree is not copied as it grows


cdef class Helpers:
    """Other threads that have a part in a growth."""

    cdef bint take(self, Builder builder, const Candidate* candidate) except -1 nogil:
        return False

    cdef int finish(self, Builder builder) except -1 nogil:
        return 0

    cdef int check(self) except -1 nogil:
        return 0


cdef class Builder:
    """Grows a tree from a splitter whose source is a RowSource.

    With a limit to the leaves growth is best-first, else depth-first. Nodes of less
    weight than `min_split_weight` do not split. A `runner_up` compares each split with
    the best tests of other attributes, if the tree keeps rivals. `helpers` have a part
    in it.
    """

    def __init__(
        self, Splitter splitter, GrowthSettings settings, float64_t min_split_weight,
        RunnerUp runner_up=None, Helpers helpers=None,
    ):
        self.splitter = splitter
        self.helpers = helpers
        self.runner_up = runner_up
        self.source = splitter.source
        self.max_depth = settings.max_depth
        self.min_split_weight = max(min_split_weight, 2.0 * splitter.node.min_weight)
        self.max_leaves = settings.max_leaves
        self.best_first = settings.max_leaves != NO_LIMIT
        cdef intp_t room = splitter.tests.child_room
        self.arena = Arena()
        self.starts = <intp_t*> self.arena.take(room + 1, sizeof(intp_t))
        self.pools = <float64_t*> self.arena.take(room, sizeof(float64_t))
        self.made = <Candidate*> self.arena.take(room, sizeof(Candidate))
        self.passed = NULL
        self.segments = NULL
        if self.source.has_segments:
            self.passed = <int32_t*> self.arena.take(
                splitter.node.n_features, sizeof(int32_t)
            )
            self.segments = <Segment*> self.arena.take(
                splitter.node.n_features, sizeof(Segment)
            )

    def build(
        self, Tree tree, const float64_t[::1] counts, intp_t n_labelled,
        float64_t pool, const float64_t[:, ::1] box, const int32_t[::1] features,
        intp_t depth=0,
    ):
        """Grow `tree`, which has no node yet, from the class weights of its root.

        Return it, or one that has taken its place. `pool` is the root's W; `box` its
        limits, if W is a volume, else None; `features`, ascending, are searched. The
        `depth` of the root is that of a node below which the tree will be.
        """
        cdef intp_t d = self.splitter.node.n_features
        cdef Candidate candidate
        cdef NodeRecord* root = &candidate.record
        cdef intp_t f
        self.tree = tree
        self.n_root = self.source.n_rows
        candidate.segments = NULL
        candidate.n_segments = 0
        candidate.tried = NULL
        root.id = 0
        root.start = 0
        root.end = self.source.n_rows
        root.depth = depth
        root.pool = pool
        root.n_features = features.shape[0]
        root.features = <int32_t*> self.arena.take(d, sizeof(int32_t))
        root.box = NULL
        for f in range(root.n_features):
            root.features[f] = features[f]
        if box is not None:
            root.box = self._copied_box(&box[0, 0])
        tree.reserve(min(self.source.n_rows // 4, <intp_t> FIRST_ROOM))
        tree.add_leaf(-1, &counts[0], n_labelled, self.splitter.impurity(&counts[0]))
        tree.depth[0] = depth
        with nogil:
            if self._may_split(0):
                self._add(&candidate)
            else:
                self._release(&candidate)
            if self.best_first:
                self._grow_best_first()
            else:
                self._grow_depth_first()
        self.tree.cut_to_size()
        return self.tree

    cdef int grow_below(self, const Candidate* leaf, Tree other) except -1 nogil:
        cdef Candidate root = leaf[0]
        cdef intp_t K = self.tree.n_classes
        cdef intp_t node = leaf.record.id
        root.record.id = 0
        self._take_over(&root)
        self.tree.add_leaf(
            -1, other.counts + node * K, other.n_node_samples[node],
            other.impurity[node],
        )
        self.tree.depth[0] = other.depth[node]
        self._add(&root)
        return self._grow_depth_first()

    cdef int _take_over(self, Candidate* candidate) except -1 nogil:
        cdef NodeRecord* record = &candidate.record
        record.features = self._copied(record.features, record.n_features)
        if record.box != NULL:
            record.box = self._copied_box(record.box)
        candidate.tried = NULL
        return 0

    cdef int32_t* _copied(
        self, const int32_t* features, intp_t n_features
    ) except NULL nogil:
        cdef int32_t* copy = <int32_t*> self.arena.take(n_features, sizeof(int32_t))
        memcpy(copy, features, n_features * sizeof(int32_t))
        return copy

    cdef float64_t* _copied_box(self, const float64_t* box) except NULL nogil:
        cdef intp_t d = self.splitter.node.n_features
        cdef float64_t* copy = <float64_t*> self.arena.take(2 * d, sizeof(float64_t))
        memcpy(copy, box, 2 * d * sizeof(float64_t))
        return copy

    cdef bint _leaves_to_helpers(self, const Candidate* candidate) except -1 nogil:
        return self.helpers.take(self, candidate)

    cdef int _grow_node(self, Candidate* candidate) except -1 nogil:
        if self.helpers is not None and self._leaves_to_helpers(candidate):
            return 0
        self._examine(candidate)
        if candidate.split.feature >= 0:
            self._install(candidate)
        self._release(candidate)
        return 0

    cdef int _grow_depth_first(self) except -1 nogil:
        cdef Candidate candidate
        while self.n_open > 0:
            self.n_open -= 1
            candidate = self.open[self.n_open]
            self._grow_node(&candidate)
        if self.helpers is not None:
            self.helpers.finish(self)
        return 0

    cdef int _grow_best_first(self) except -1 nogil:
        # Every open candidate has its split; the one with the largest weighted
        # decrease of impurity goes first, the older node among equals.
        cdef Candidate candidate
        cdef intp_t n_leaves = 1
        while self.n_open > 0 and n_leaves < self.max_leaves:
            candidate = self.open[0]
            self.n_open -= 1
            self.open[0] = self.open[self.n_open]
            self._sift_down()
            self._enter(&candidate)
            self.splitter.count_again(
                &candidate.record,
                self.tree.counts + candidate.record.id * self.tree.n_classes,
                &candidate.split,
            )
            # a test may have more branches than leaves are left
            if n_leaves + candidate.split.children.n_outcomes - 1 <= self.max_leaves:
                n_leaves += candidate.split.children.n_outcomes - 1
                self._install(&candidate)
            self._release(&candidate)
        return 0

    cdef void _enter(self, const Candidate* candidate) noexcept nogil:
        self.source.enter(candidate.record.id, candidate.segments, candidate.n_segments)

    cdef int _examine(self, Candidate* candidate) except -1 nogil:
        self._enter(candidate)
        candidate.split = self.splitter.find(
            &candidate.record,
            self.tree.counts + candidate.record.id * self.tree.n_classes,
        )
        if self.helpers is not None:
            self.helpers.check()
        return 0

    cdef bint _may_split(self, intp_t node) noexcept nogil:
        cdef const float64_t* counts = self.tree.counts + node * self.tree.n_classes
        cdef float64_t n = 0.0
        cdef intp_t c
        for c in range(self.tree.n_classes):
            n += counts[c]
        return (
            self.tree.depth[node] < self.max_depth
            and n >= self.min_split_weight
            and self.tree.impurity[node] > DBL_EPSILON
        )

    cdef int _install(self, Candidate* candidate) except -1 nogil:
        # Split the node and open those of its children that may split in turn.
        cdef NodeRecord* record = &candidate.record
        cdef Split* split = &candidate.split
        cdef const Children* children = &split.children
        cdef intp_t K = self.tree.n_classes
        cdef intp_t r = children.n_outcomes
        cdef intp_t first = self.tree.node_count
        cdef intp_t n_open = 0
        cdef intp_t z
        if self.runner_up is not None:
            # it looks at the counts of the node, which move when the tree gets room
            self.runner_up.compare(record, split)
        if first + r > self.tree.capacity:
            with gil:
                self.tree.reserve(first + r)
        self._split(record.id, split)
        self.starts[0] = 0
        for z in range(r):
            self.starts[z + 1] = self.starts[z] + children.rows[z]
            self.pools[z] = children.pool[z]
            self.tree.add_leaf(
                record.id, children.counts + z * K, children.n_labelled[z],
                self.splitter.impurity(children.counts + z * K),
            )
            n_open += self._may_split(first + z)
        if n_open == 0:
            return 0
        self.source.divide(record, split, self.starts)
        if self.helpers is not None:
            self.helpers.check()
        # the columns know them until they move on
        self.arena.give_back(candidate.segments)
        candidate.segments = NULL
        # all are made before one is examined, which moves the columns on; the stack
        # gives back the first child first
        for z in range(r):
            if self._may_split(first + z):
                self._make(candidate, first + z, z)
        while self.n_made > 0:
            self.n_made -= 1
            self._add(&self.made[self.n_made])
        return 0

    cdef int _split(self, intp_t node, const Split* split) except -1 nogil:
        # Write the test into the tree.
        cdef const Children* children = &split.children
        cdef intp_t place = self.tree.n_splits()
        if self.tree.n_ordinals + children.n_codes > self.tree.ordinal_room:
            with gil:
                self.tree.reserve_ordinals(self.tree.n_ordinals + children.n_codes)
        self.tree.split(
            node, split.feature, split.threshold, children.missing_left,
            children.missing_seen, children.ordinals, children.n_codes,
            children.unknown, &split.evidence,
        )
        if self.runner_up is not None:
            memcpy(
                self.tree.rivals + place * MOST_RIVALS, self.runner_up.found,
                MOST_RIVALS * sizeof(Rival),
            )
        return 0

    cdef int _make(
        self, Candidate* parent, intp_t node, intp_t outcome
    ) except -1 nogil:
        cdef Candidate child
        cdef NodeRecord* record = &child.record
        record.id = node
        record.start = parent.record.start + self.starts[outcome]
        record.end = parent.record.start + self.starts[outcome + 1]
        record.depth = parent.record.depth + 1
        record.pool = self.pools[outcome]
        record.box = NULL
        child.tried = NULL
        self._pass_features(&parent.record, &child, outcome)
        if parent.record.box != NULL:
            record.box = self._copied_box(parent.record.box)
            cut_box(record.box, parent.split.feature, parent.split.threshold, outcome)
        self.made[self.n_made] = child
        self.n_made += 1
        return 0

    cdef int _pass_features(
        self, const NodeRecord* parent, Candidate* candidate, intp_t outcome
    ) except -1 nogil:
        # The features of a child, and the segments of its sparse columns. Where all
        # features are visited, a column that is zero in the child is dropped at once:
        # the lists of all open nodes together are no longer than what the table
        # stores. A sample of features is drawn from a list which must not depend on
        # how they are stored.
        cdef bint keeps_all = self.splitter.sampling
        cdef NodeRecord* child = &candidate.record
        cdef intp_t n_features = 0
        cdef intp_t n_segments = 0
        cdef intp_t j
        cdef Passing passing
        candidate.segments = NULL
        candidate.n_segments = 0
        if not self.source.has_segments:
            child.n_features = parent.n_features
            child.features = self._copied(parent.features, parent.n_features)
            return 0
        for j in range(parent.n_features):
            self.passed[n_features] = parent.features[j]
            passing = self.source.passes(
                parent.features[j], outcome, &self.segments[n_segments]
            )
            n_segments += passing == SEGMENT
            n_features += passing != GONE or keeps_all
        child.n_features = n_features
        child.features = self._copied(self.passed, n_features)
        candidate.segments = <Segment*> self.arena.take(n_segments, sizeof(Segment))
        memcpy(candidate.segments, self.segments, n_segments * sizeof(Segment))
        candidate.n_segments = n_segments
        return 0

    cdef void _release(self, Candidate* candidate) noexcept nogil:
        self.arena.give_back(candidate.record.features)
        self.arena.give_back(candidate.record.box)
        self.arena.give_back(candidate.segments)
        self.arena.give_back(candidate.tried)

    cdef int _add(self, Candidate* candidate) except -1 nogil:
        # Put an open node on the stack or, with its split, on the heap.
        if self.best_first:
            self._examine(candidate)
            if candidate.split.feature < 0:
                self._release(candidate)
                return 0
        if self.n_open == self.room:
            self.room = 2 * self.room + 16
            self.open = <Candidate*> self.arena.resize(
                self.open, self.room, sizeof(Candidate)
            )
        self.open[self.n_open] = candidate[0]
        self.n_open += 1
        if self.best_first:
            self._sift_up()
        return 0

    cdef void _sift_up(self) noexcept nogil:
        cdef intp_t i = self.n_open - 1
        while i > 0 and _before(&self.open[i], &self.open[(i - 1) // 2]):
            _swap(&self.open[i], &self.open[(i - 1) // 2])
            i = (i - 1) // 2

    cdef void _sift_down(self) noexcept nogil:
        cdef intp_t i = 0
        cdef intp_t child
        while 2 * i + 1 < self.n_open:
            child = 2 * i + 1
            if child + 1 < self.n_open and _before(
                &self.open[child + 1], &self.open[child]
            ):
                child += 1
            if not _before(&self.open[child], &self.open[i]):
                return
            _swap(&self.open[child], &self.open[i])
            i = child


cdef bint _before(const Candidate* a, const Candidate* b) noexcept nogil:
    if a.split.improvement != b.split.improvement:
        return a.split.improvement > b.split.improvement
    return a.record.id < b.record.id


cdef void _swap(Candidate* a, Candidate* b) noexcept nogil:
    cdef Candidate held = a[0]
    a[0] = b[0]
    b[0] = held


# -- Threads that share out the columns of large nodes -----------------------------
cdef enum:
    FEATURE_PARTS_PER_WORKER = 16


cdef class Workers:
    """The threads of one growth, a `team`; see the .pxd.

    They share the columns of nodes of `worth_sharing` values and more.
    """

    cdef readonly object team
    cdef readonly intp_t n_workers
    cdef intp_t worth_sharing       # values of a node
    cdef list splitters             # [n_workers]
    cdef Arena arena
    cdef bint failed                # what they last did is not done
    cdef object failure             # why

    # The node whose columns are shared out.
    cdef NodeRecord* record
    cdef const float64_t* counts
    cdef FoundTest* found           # [n_features] by place in record.features
    cdef intp_t split_feature
    cdef intp_t n_others            # parts that are no columns
    cdef intp_t n_parts             # of the columns
    cdef intp_t n_nodes             # that have been scanned,
    cdef intp_t* entered            # [n_workers] and the number of the last one entered

    def __init__(self, team, intp_t n_features, intp_t worth_sharing):
        self.team = team
        self.worth_sharing = worth_sharing
        self.n_workers = team.n_threads
        self.splitters = []
        self.arena = Arena()
        self.found = <FoundTest*> self.arena.take(n_features, sizeof(FoundTest))
        self.entered = <intp_t*> self.arena.take_zeros(self.n_workers, sizeof(intp_t))

    def add(self, Splitter splitter not None):
        """Let the next worker have a splitter, whose source is a TableSource."""
        self.splitters.append(splitter)

    cdef int check(self) except -1 nogil:
        if self.failed:
            with gil:
                raise self.failure
        return 0

    cdef bint are_worth_it(self, const NodeRecord* record) noexcept nogil:
        return (record.end - record.start) * record.n_features >= self.worth_sharing

    cdef bint scan(self, NodeRecord* record, const float64_t* counts) noexcept nogil:
        # Fill `found`, or divide the columns, whose sides are known, and perhaps the rows;
        # False if something has failed.
        self.record = record
        self.counts = counts
        self.n_nodes += 1
        return self._run("_scan_part", 0)

    cdef bint divide(
        self, const NodeRecord* record, intp_t feature, bint by_rows
    ) noexcept nogil:
        self.record = <NodeRecord*> record      # which is read only
        self.split_feature = feature
        return self._run("_divide_part", by_rows)

    cdef bint _run(self, str part, intp_t n_others) noexcept with gil:
        self.n_others = n_others
        self.n_parts = min(self.record.n_features, FEATURE_PARTS_PER_WORKER * self.n_workers)
        if not self.failed:
            try:
                self.team.run(getattr(self, part), n_others + self.n_parts)
            except BaseException as error:
                self.failure = error
                self.failed = True
        return not self.failed

    def _scan_part(self, intp_t worker, intp_t part):
        cdef Splitter splitter = self.splitters[worker]
        cdef FoundTest* found
        cdef intp_t j
        with nogil:
            if self.entered[worker] != self.n_nodes:
                self.entered[worker] = self.n_nodes
                splitter._enter(self.record, self.counts)
                splitter.selection.begin()
            for j in range(self._first(part), self._first(part + 1)):
                found = &self.found[j]
                found.n_tests = splitter.selection.examine(
                    self.record.features[j], splitter.tests
                )
                found.best = splitter.selection.best[0]

    def _divide_part(self, intp_t worker, intp_t part):
        cdef Splitter splitter = self.splitters[worker]
        cdef NodeRows rows = (<TableSource> splitter.source).rows
        cdef intp_t j
        with nogil:
            if part < self.n_others:
                rows.partition_rows(self.record.start, self.record.end)
            else:
                part -= self.n_others
                for j in range(self._first(part), self._first(part + 1)):
                    rows.partition_column(
                        self.record.features[j], self.split_feature,
                        self.record.start, self.record.end,
                    )

    cdef intp_t _first(self, intp_t part) noexcept nogil:
        return part * self.record.n_features // self.n_parts


cdef class SharedSplitter(Splitter):
    """A splitter that lets `workers` scan the features of large nodes."""

    cdef Workers workers
    cdef bint shares

    def __init__(
        self, source, criterion, bound, bint keeps_all, Workers workers not None
    ):
        super().__init__(source, criterion, bound, keeps_all)
        self.workers = workers
        self.shares = not self.sampling and type(self.selection) is BestTests

    cdef void _visit_features(self) noexcept nogil:
        # As Splitter's, of features that are all visited.
        cdef NodeRecord* record = self.node.record
        cdef int32_t* features = record.features
        cdef FoundTest* found = self.workers.found
        cdef intp_t n_tested = 0
        cdef float64_t n_tests = 0.0
        cdef intp_t kept = 0
        cdef intp_t j
        cdef int32_t feature
        if not self.shares or not self.workers.are_worth_it(record):
            Splitter._visit_features(self)
            return
        self.visited = features
        if self.workers.scan(record, self.node.counts):
            for j in range(record.n_features):
                if found[j].n_tests == 0:
                    continue
                feature = features[j]
                n_tests += found[j].best.n_tests
                n_tested += found[j].best.n_tests > 0.0
                features[kept] = feature
                kept += 1
                self.selection.feature = feature
                self.selection.best = (
                    self.selection.best_of + feature * self.selection.step
                )
                self.selection.best[0] = found[j].best
                self.selection.keep(feature, self.tests)
            record.n_features = kept
        self.n_visited = kept
        self.node.facts.n_tests = n_tests
        self.node.facts.n_varying = n_tested


cdef class SharedSource(TableSource):
    """The rows of a table, which lets `workers` divide those of large nodes."""

    cdef Workers workers

    def __init__(
        self, NodeRows rows not None, GrowthSettings settings, RootFacts root,
        Workers workers not None,
    ):
        super().__init__(rows, settings, root)
        self.workers = workers

    cdef void partition(self, const NodeRecord* record, intp_t feature) noexcept nogil:
        cdef bint by_rows
        if not self.workers.are_worth_it(record):
            TableSource.partition(self, record, feature)
            return
        by_rows = self.rows.find_sides(
            record.features, record.n_features, record.start, record.end
        )
        self.workers.divide(record, feature, by_rows)

    def beside(self, GrowthSettings settings, RootFacts root):
        """Make a source of the same rows for another worker."""
        return TableSource(self.rows.beside(), settings, root)


# -- What lies below the smaller nodes of a tree, grown by many threads ------------
cdef enum:
    # Of the rows of a root; a node of more than one is large. They are larger where
    # columns are not worth sharing.
    PARTS_PER_WORKER = 8
    LARGER_PARTS_A_WORKER = 2


# Subtrees: what lies below the smaller nodes of a tree, grown by many threads.
#
# Depth-first growth below a node depends on its rows alone, unless something is drawn: a
# draw depends on the number of the node. The rows of two nodes lie in ranges of their own.
# So a builder sets aside the nodes that are small beside its root, and goes on with the
# large ones. When none is left, workers grow what lies below those set aside, each into a
# tree of its own, and the nodes get the numbers that one builder would have given them.
cdef class Subtrees(Helpers):
    """Lets workers grow what lies below the smaller nodes, each with its builder.

    Nodes of fewer values than are `worth_setting_aside` are grown at once. Without
    builders workers only scan and divide the columns of large nodes. Look-ahead needs two
    of these: another one for the trials.
    """

    cdef Workers workers
    cdef list builders          # of each worker, if
    cdef bint sets_aside        # nodes are set aside,
    cdef intp_t worth_setting_aside     # values of one that is
    cdef Arena arena
    cdef Candidate* leaves      # [n_leaves] set aside; what they own is the builder's
    cdef intp_t n_leaves
    cdef intp_t room
    cdef Tree top               # grown so far
    cdef list order             # of the leaves, in which they are grown
    cdef list trees             # [n_leaves] grown below them

    def __init__(
        self, Workers workers not None, list builders not None,
        intp_t worth_setting_aside,
    ):
        self.workers = workers
        self.worth_setting_aside = worth_setting_aside
        self.builders = builders
        self.sets_aside = len(builders) > 0
        self.arena = Arena()

    cdef int check(self) except -1 nogil:
        return self.workers.check()

    cdef bint take(self, Builder builder, const Candidate* candidate) except -1 nogil:
        cdef intp_t n = candidate.record.end - candidate.record.start
        cdef intp_t n_parts = LARGER_PARTS_A_WORKER
        if self.workers.are_worth_it(&candidate.record):
            n_parts = PARTS_PER_WORKER
        if (
            not self.sets_aside
            or n * n_parts * self.workers.n_workers > builder.n_root
            or n * candidate.record.n_features < self.worth_setting_aside
        ):
            return False
        if self.n_leaves == self.room:
            self.room = 2 * self.room + 16
            self.leaves = <Candidate*> self.arena.resize(
                self.leaves, self.room, sizeof(Candidate)
            )
        self.leaves[self.n_leaves] = candidate[0]
        self.n_leaves += 1
        return True

    cdef int finish(self, Builder builder) except -1 nogil:
        if self.n_leaves > 0:
            with gil:
                self._grow_all(builder)
        return 0

    cdef int _grow_all(self, Builder builder) except -1:
        cdef LookaheadBuilder one, other
        cdef intp_t i
        if isinstance(builder, LookaheadBuilder):
            one = builder
            for other in self.builders:     # it may have been told that it is enough
                other.first = one.first
                other.end = one.end
        self.top = builder.tree
        self.trees = [None] * self.n_leaves
        # the largest first, so that all end at about the same time
        self.order = sorted(range(self.n_leaves), key=self._rows_of, reverse=True)
        self.workers.team.run(self._grow, self.n_leaves)
        builder.tree = joined(
            self.top,
            {self.leaves[i].record.id: self.trees[i] for i in range(self.n_leaves)},
        )
        for i in range(self.n_leaves):
            builder._release(&self.leaves[i])
        self.n_leaves = 0
        self.top = None
        self.trees = None
        return 0

    def _rows_of(self, intp_t leaf):
        return self.leaves[leaf].record.end - self.leaves[leaf].record.start

    def _grow(self, intp_t worker, intp_t part):
        cdef intp_t leaf = self.order[part]
        cdef Builder builder = self.builders[worker]
        cdef Tree before = builder.tree     # that trials are grown in
        cdef Tree tree = like(self.top, min(self._rows_of(leaf) // 4, FIRST_ROOM))
        cdef const Candidate* root = &self.leaves[leaf]
        builder.tree = tree
        with nogil:
            builder.grow_below(root, self.top)
        builder.tree = before
        self.trees[leaf] = tree


cdef Tree like(Tree tree, intp_t capacity):
    # One without nodes that keeps the same of each.
    cdef Tree made = type(tree)(*tree._arguments())
    made.reserve(capacity)
    return made


cdef Tree joined(Tree top, dict below):
    # Nodes get their numbers as their parents split, parents before their children and
    # the first child first.
    cdef Arena arena = Arena()
    cdef int32_t* places = <int32_t*> arena.take(top.node_count, sizeof(int32_t))
    cdef int32_t* splits = <int32_t*> arena.take(top.node_count, sizeof(int32_t))
    cdef intp_t n_nodes = top.node_count
    cdef intp_t node, i, child
    cdef Tree tree, whole
    for tree in below.values():
        n_nodes += tree.node_count
    whole = like(top, n_nodes)
    _number_splits(top, splits)
    add_node(whole, -1, top, 0)
    places[0] = 0
    node = 0
    while node >= 0:
        if top.n_children[node] > 0:
            copy_test(whole, places[node], top, node, splits[node])
            for i in range(top.n_children[node]):
                child = top.first_child[node] + i
                places[child] = <int32_t> add_node(whole, places[node], top, child)
        elif node in below:
            append(whole, places[node], below[node])
        node = top.next_below(0, node)
    return whole


cdef void _number_splits(Tree tree, int32_t* splits) noexcept nogil:
    # In the order of their first children.
    cdef int32_t n = 0
    cdef intp_t node, parent
    for node in range(1, tree.node_count):
        parent = tree.parent[node]
        if tree.first_child[parent] == node:
            splits[parent] = n
            n += 1


cdef int append(Tree whole, intp_t place, Tree tree) except -1:
    cdef intp_t moved = whole.node_count - 1
    cdef intp_t split = 0
    cdef intp_t node, parent, above
    for node in range(1, tree.node_count):
        parent = tree.parent[node]
        above = place if parent == 0 else parent + moved
        if tree.first_child[parent] == node:
            copy_test(whole, above, tree, parent, split)
            split += 1
        add_node(whole, above, tree, node)
    return 0


cdef intp_t add_node(Tree whole, intp_t parent, Tree tree, intp_t node) noexcept:
    cdef intp_t added = whole.add_leaf(
        parent, tree.counts + node * tree.n_classes, tree.n_node_samples[node],
        tree.impurity[node],
    )
    if parent < 0:
        whole.depth[added] = tree.depth[node]
    return added


cdef int copy_test(
    Tree whole, intp_t place, Tree tree, intp_t node, intp_t split
) except -1:
    # The children are added next.
    cdef intp_t first = tree.branching[node].first
    cdef intp_t n_codes = tree.branching[node].n_codes
    tree._copy_split(whole, split)
    whole.nodes[place] = tree.nodes[node]
    whole.nodes[place].left = <int32_t> whole.node_count
    whole.branching[place] = tree.branching[node]
    if first >= 0:
        whole.reserve_ordinals(whole.n_ordinals + n_codes)
        whole.branching[place].first = <int32_t> whole.n_ordinals
        memcpy(
            whole.ordinals + whole.n_ordinals, tree.ordinals + first,
            n_codes * sizeof(int16_t),
        )
        whole.n_ordinals += n_codes
    return 0
