"""Threads that share out the columns of large nodes."""

from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.batch._node_rows cimport NodeRows
from skconftree.tree.split._node cimport RootFacts
from skconftree.tree.split._selection cimport BestTests
from skconftree.utils._typedefs cimport int32_t

cdef enum:
    PARTS_A_WORKER = 16


cdef class Workers:
    """The threads of one growth, a `team`; see the .pxd.

    They share the columns of nodes of `worth_sharing` values and more.
    """

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

    cdef bint scan(
        self, NodeRecord* record, const float64_t* counts
    ) noexcept nogil:
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
        self.n_parts = min(self.record.n_features, PARTS_A_WORKER * self.n_workers)
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
