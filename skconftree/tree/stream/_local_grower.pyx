"""Growth of a tree of which drifts replace the part that broke."""

from math import log

from skconftree.tree.nodes._plain import read_nodes, write_nodes
from skconftree.tree.stream._grower import with_state
from skconftree.utils._codec import damaged

from skconftree.tree._settings cimport NO_LIMIT
from skconftree.tree.nodes._routing cimport DEAD
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.stream._challenger cimport OPEN, WON
from skconftree.tree.stream._grower cimport Grower
from skconftree.tree.stream._watches cimport usual_share
from skconftree.tree.stream._watching_grower cimport BEGIN, DECIDE, Change
from skconftree.utils._draws cimport mix

cdef enum:
    MOST_SLOTS = 8      # trees that grow beside at a time,
    LIMITED_SLOTS = 2   # where they share a memory limit
    LEAST_ROWS = 1000   # that each may learn, or as many as
    MOST_ROWS = 4000    # the node has had, up to here
    AFFORDED = 2000     # rows that those may learn in vain that replace nothing, and
    SHARE = 2           # one of so many of the stream
    REST = 200          # rows of a node after one that was given up
    AGAIN = 1000        # and before one is given up for another, with a new warning

cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15


cdef class LocalGrower(WatchingGrower):
    """Grows a tree row by row, and others beside parts of it that may be broken.

    The settings' ``drift`` says how sure a repair has to be.
    """

    def __init__(self, Tree tree, recipe):
        if not hasattr(recipe.settings.drift, "delta") or recipe.X_pool is not None:
            raise damaged("growing tree")
        WatchingGrower.__init__(self, tree, recipe)
        self.delta = recipe.settings.drift.delta
        self.watches = Watches(tree.n_classes)
        self.limit.watch_bytes = self.watches.node_bytes()
        self.most_slots = MOST_SLOTS
        if self.limit.max_bytes != NO_LIMIT:
            self.most_slots = LIMITED_SLOTS
            self.limit.check_beside(LIMITED_SLOTS)

    @property
    def n_bytes(self):
        """Bytes of the trees, of what their leaves remember, and of the watches."""
        watched = self.tree.node_count * self.watches.node_bytes()
        return WatchingGrower.n_bytes.__get__(self) + watched

    def counts_since(self):
        """Class counts of the rows at each node since it was made."""
        return self.watches.counts(self.tree.node_count)

    # -- learning -----------------------------------------------------------------

    cdef int watch(
        self, bint wrong, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil:
        # Watch the nodes of a row, and let the trees beside learn it.
        cdef uint64_t path = 0
        cdef uint64_t left
        self.watches.reserve(self.tree.node_count)
        self.warned = self.watches.follow(
            self.tree.parent, self.reached, wrong, y, weight, &path
        )
        left = path
        while left != 0:
            self.n_beside += 1
            left &= left - 1
        if path != 0 and self.first.learn(path, x, y, weight, wrong, self.finite):
            with gil:
                self.insist(DECIDE)
        elif self.warned >= 0 and self._may_begin():
            with gil:
                self.insist(BEGIN)
        return 0

    cdef bint _may_begin(self) noexcept nogil:
        return (
            self.slots != (<uint64_t> 1 << self.most_slots) - 1
            and (self.n_beside - AFFORDED) * SHARE <= self.n_rows_seen
        )

    # -- trees beside ---------------------------------------------------------------

    cdef list others(self):
        cdef Challenger one = self.first
        growers = []
        while one is not None:
            growers.append(one.grower)
            one = one.behind
        return growers

    cdef int change(self, Change what) except -1:
        if what == BEGIN:
            self._begin(self.warned)
        else:
            self._decide()
        return 0

    def _begin(self, intp_t node):
        # A tree beside a node, from no row.
        cdef Watch* watch = &self.watches.at[node]
        cdef int64_t slot = 0
        cdef int64_t k = watch.n_begun + 1
        if watch.slot > 0:
            self._give_up(self._at(node))
        while self.slots >> slot & 1:
            slot += 1
        tree = Tree(
            self.tree.n_features, self.tree.n_classes, self.tree.class_weight,
            self.tree.keeps_evidence, 0.0, self.tree.keeps_costs,
            self.tree.keeps_rivals,
        )
        tree._add_root()
        cdef Grower grower = self._grower_at(tree, node, self.n_begun)
        self.open_second(grower)
        cdef Challenger beside = Challenger(
            grower, node, slot, self.n_begun, log(2 * k * (k + 1) / self.delta),
            min(max(watch.n_rows, <int64_t> LEAST_ROWS), <int64_t> MOST_ROWS),
            usual_share(watch),
        )
        # nothing fails from here on
        watch.n_begun = k
        watch.wealth = 1.0
        watch.rest = watch.n_rows + AGAIN
        self._take_slot(beside)

    cdef void _take_slot(self, Challenger beside) noexcept:
        cdef Challenger last = self.first
        self.n_begun = max(self.n_begun, beside.serial + 1)
        self.slots |= <uint64_t> 1 << beside.slot
        self.watches.at[beside.node].slot = beside.slot + 1
        if last is None:
            self.first = beside
            return
        while last.behind is not None:
            last = last.behind
        last.behind = beside

    cdef Grower _grower_at(self, Tree tree, intp_t node, int64_t serial):
        # What grows a tree beside a node; without leaves yet.
        seed = mix(<uint64_t> self.recipe.seed ^ mix(GOLDEN ^ <uint64_t> serial)) >> 2
        cdef Grower grower = self.second(tree, seed, LIMITED_SLOTS)
        grower.depth_above = self.tree.depth[node]
        return grower

    def _decide(self):
        # What becomes of the trees that have shown what they are.
        cdef Challenger beside = self.first
        while beside is not None:
            if beside.verdict == WON and self._has_room_for(beside):
                self._repair(beside)
            elif beside.verdict != OPEN:
                self._give_up(beside)
            beside = beside.behind

    def _has_room_for(self, Challenger beside):
        # Of memory as if no leaf were replaced.
        cdef Tree branch = beside.grower.tree
        cdef intp_t n_leaves = self.leaves.n_leaves + branch.n_leaves
        cdef intp_t node = beside.node
        while node >= 0:
            n_leaves -= self.tree.n_children[node] == 0
            node = self.tree.next_below(beside.node, node)
        return n_leaves <= self.max_leaves and self.limit.has_room(
            self.tree, self.leaves, branch.node_count, branch.n_ordinals
        )

    def _at(self, intp_t node):
        cdef Challenger one = self.first
        while one.node != node:
            one = one.behind
        return one

    def _give_up(self, Challenger beside):
        cdef Watch* watch = &self.watches.at[beside.node]
        watch.wealth = 1.0
        watch.rest = watch.n_rows + REST
        self._leave_slot(beside)

    cdef void _leave_slot(self, Challenger gone) noexcept:
        cdef Challenger before = self.first
        self.slots &= ~(<uint64_t> 1 << gone.slot)
        self.watches.at[gone.node].slot = 0
        if before is gone:
            self.first = gone.behind
            return
        while before.behind is not gone:
            before = before.behind
        before.behind = gone.behind

    def _repair(self, Challenger beside):
        cdef intp_t node = beside.node
        cdef intp_t n_before = self.tree.node_count
        cdef Grower other = beside.grower
        cdef Tree tree = self.tree._grafted(node, other.tree)
        cdef Challenger one = self.first
        tree.grows(self.tree.criterion, self.lock)
        self.leaves.reserve(tree.node_count)
        self.watches.reserve(tree.node_count)
        self.found.append((self.time_of_row(), node))
        # nothing fails from here on
        self.leaves.graft(node, tree, other.leaves, n_before)
        self.n_beside -= beside.n_rows  # not in vain
        self.tree = tree
        self.watches.start(node)
        self.source.whole = self.source.whole and other.source.whole
        self.most_rows = max(self.most_rows, other.most_rows)
        self.limit.look(tree, self.leaves)
        while one is not None:
            if one is beside or tree.parent[one.node] == DEAD:
                self._leave_slot(one)
            one = one.behind

    # -- state --------------------------------------------------------------------

    def _state(self):
        cdef Challenger one = self.first
        beside = []
        while one is not None:
            beside.append((
                one.node, one.slot, one.serial, one.numbers(),
                write_nodes(one.grower.tree), one.grower.__getstate__(),
            ))
            one = one.behind
        return WatchingGrower._state(self)._replace(
            watches=self.watches.write(self.tree.node_count), beside=tuple(beside),
            n_beside=self.n_beside, n_begun=self.n_begun,
        )

    def _take(self, state):
        if state.watches is None:
            raise damaged("growing tree")
        WatchingGrower._take(self, state._replace(watches=None, beside=()))
        self.watches.read(state.watches, self.tree.node_count)
        self.n_beside, self.n_begun = state.n_beside, state.n_begun
        self.first, self.slots = None, 0
        for one in state.beside:
            self._take_beside(one)
        if self.watches.n_slots() != len(state.beside):
            raise damaged("growing tree")

    def _take_beside(self, state):
        # Made from the same recipe, not believed: leaves will be moved.
        if not (isinstance(state, tuple) and len(state) == 6):
            raise damaged("growing tree")
        node, slot, serial, numbers, nodes, growth = state
        if not (
            all([type(value) is int for value in (node, slot, serial)])
            and 0 <= node < self.tree.node_count and self.tree.parent[node] != DEAD
            and 0 <= slot < self.most_slots and not self.slots >> slot & 1
            and 0 <= serial < self.n_begun
            and self.watches.at[node].slot == slot + 1
        ):
            raise damaged("growing tree")
        tree = read_nodes(Tree, nodes)
        if tree._arguments() != self.tree._arguments():
            raise damaged("growing tree")
        grower = with_state(self._grower_at(tree, node, serial), growth)
        beside = Challenger(grower, node, slot, serial, 0.0, 0, 0.5)
        beside.take_numbers(numbers)
        self._take_slot(beside)
