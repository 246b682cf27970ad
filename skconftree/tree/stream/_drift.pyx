"""Growth of a tree that monitors its errors, and replaces what has drifted."""

cimport cython
import numpy as np
from libc.math cimport log, sqrt
from libc.string cimport memcpy, memset

from skconftree.drift._detector cimport DRIFT, STABLE, WARNING, Detector
from skconftree.drift._detector import read_detector, write_detector
from skconftree.tree._settings cimport NO_LIMIT
from skconftree.tree.nodes._derived import read_nodes, write_nodes
from skconftree.tree.nodes._routing cimport DEAD
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.stream._grower cimport Grower
from skconftree.tree.stream._grower import with_state
from skconftree.utils._codec import damaged
from skconftree.utils._draws cimport mix
from skconftree.utils._memory cimport Blocks, release_all, give_way, resize_array
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, label_t, uint64_t,
)

# WatchingGrower: a growing tree that watches its errors, and grows others beside itself.
#
# It predicts every row before it learns it, and hands the row on with what came of that.
# What then begins, and what takes the place of what, is for whoever derives from it.

cdef enum Change:
    BEGIN       # a tree beside
    DECIDE      # what becomes of those that grow

# Watches: what a growing tree notes of the rows at each of its nodes.
#
# Of every node there is: the class counts of the rows since it was made, which say
# whether its parent's test has held since then; and a bet that the
# errors below it rise. The bet is a CUSUM: a wealth, at least 1, that each row multiplies
# by the ratio of two probabilities of its outcome, that of a share of errors somewhat
# above the past one of the node, and that of this share. A wealth of WARNING is a
# warning, which without a change comes once in as many rows or far fewer. Nothing rests
# on it but time: what is replaced has to show more, see `Challenger`.

cdef struct Watch:
    float64_t n             # late rows
    float64_t n_wrong       # of them, not predicted
    float64_t if_wrong      # what a row multiplies the wealth by
    float64_t if_right
    float64_t wealth
    int64_t n_rows          # since the node was made or repaired
    int64_t n_begun         # trees begun beside it
    int64_t rest            # rows up to which no other is begun
    int64_t slot            # 1 + that of the tree that grows beside it; 0: none

# Challenger: a tree that grows beside a part of another, on the rows that come there.
#
# Both predict each row before they learn it. Two wealths, which start at 1, grow with
# what speaks for the young tree:
#
#   gain   bets that it is the better of the two. Only rows that one of them predicts and
#          the other does not move it: each multiplies it by 1 + s or 1 - s, where s, from
#          0 on, is by how much the young tree has led on late rows of that kind.
#   rise   bets that the errors at the node have risen: each row multiplies it by the
#          ratio of two probabilities of its outcome, that of the late share of errors
#          and that of the share that was usual before the young tree was begun.
#
# Where the young tree is no better, given all that was before, the gain is a
# supermartingale, so that it ever reaches 1 / a with probability a at most (Ville's
# inequality), whenever the tree was begun and however often one looks. The same is true
# of the rise where errors are not above the usual share, which is an estimate, with two
# and a half standard errors added. The k-th tree begun at a node has a = delta / (2 k
# (k + 1)) for each of the two, and all of them together have delta. In addition the
# young tree has to lead on late rows.
#
# A wealth that bets the other way round ends the attempt; so does time.

cdef enum Verdict:
    OPEN = 0
    WON = 1
    LOST = 2


cdef enum:
    ATTEMPTS = 100      # between boundaries: what fails each time has come to stay


cdef class WatchingGrower(Grower):
    """Grows a tree row by row, and others beside it; the settings have a ``drift``."""

    cdef list found                 # row and node of each drift
    cdef intp_t n_failed            # changes that failed since the last boundary

    def __init__(self, Tree tree, recipe):
        if recipe.settings.drift is None:
            raise damaged("growing tree")
        Grower.__init__(self, tree, recipe)
        self.found = []

    @property
    def drifts(self):
        """Row by which each drift was found, and the node below which it was."""
        return tuple(self.found)

    @property
    def n_bytes(self):
        """Bytes of the trees and of what their leaves remember."""
        return Grower.n_bytes.__get__(self) + sum(
            [grower.n_bytes for grower in self.others()]
        )

    def reserve_codes(self, intp_t n_codes):
        """Make room for tests of features with so many categories, in all trees."""
        Grower.reserve_codes(self, n_codes)
        for grower in self.others():
            grower.reserve_codes(n_codes)

    cdef int limit_memory(self) except -1:
        cdef Grower grower
        for grower in self.others():
            grower.limit_memory()
        return Grower.limit_memory(self)

    cdef int learn_row(
        self, const float32_t* x, label_t y, float64_t weight, intp_t* predicted,
        float64_t* proba,
    ) except -1 nogil:
        cdef intp_t guess = 0
        Grower.learn_row(self, x, y, weight, &guess, proba)
        if predicted != NULL:
            predicted[0] = guess
        if weight > 0.0:
            self.watch(guess != y, x, y, weight)
        return 0

    cdef int watch(
        self, bint wrong, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil:
        # A row that has been learnt, and whether its class was not predicted.
        return 0

    cdef list others(self):
        # Those that grow.
        return []

    cdef int change(self, Change what) except -1:
        # May fail, and has then changed nothing.
        return 0

    cdef int insist(self, Change what) except -1:
        # Python runs signal handlers here, in the middle of a row. What one of them
        # raises is held until the next boundary. What fails again and again will be
        # tried with later rows, too, but once with each.
        if self.held is None:
            self.n_failed = 0
        while True:
            try:
                self.change(what)
                return 0
            except MemoryError:
                give_way()
            except BaseException as error:
                self.n_failed += 1
                if self.held is None:
                    self.held = error
                if self.n_failed >= ATTEMPTS:
                    return 0

    cdef Grower second(self, Tree tree, object seed, intp_t n_sharing):
        # What grows another tree, and watches nothing; without leaves yet. So many
        # share the memory limit.
        settings = self.recipe.settings.replace(drift=None)
        if self.limit.max_bytes != NO_LIMIT:
            settings = settings.replace(max_bytes=self.limit.max_bytes // n_sharing)
        return Grower(tree, self.recipe._replace(settings=settings, seed=seed))

    cdef int open_second(self, Grower second) except -1:
        second.reserve_codes(self.splitter.tests.sets.room - 1)
        second.open_leaves()
        return 0

    def _state(self):
        return Grower._state(self)._replace(drifts=self.drifts)

    def _take(self, state):
        Grower._take(self, state._replace(drifts=()))
        self.found = list(state.drifts)


cdef enum:
    LATE = 5000         # rows whose errors are the past of a node, at most
    LEAST = 100         # rows before it is compared
    REFRESH = 32        # rows between two looks at the past, a power of 2

cdef float64_t WARNING_WEALTH = 1000.0
cdef float64_t ERRORS = 2.5     # standard errors that are added to a share


@cython.final
cdef class Watches:
    """Watches of the nodes of a tree with so many classes."""

    cdef Blocks blocks
    cdef Watch* at          # [room]
    cdef float64_t* seen    # [room, n_classes]
    cdef intp_t room
    cdef intp_t n_classes

    def __init__(self, intp_t n_classes):
        self.n_classes = n_classes

    def __dealloc__(self):
        release_all(&self.blocks)

    cdef int reserve(self, intp_t n_nodes) except -1 nogil:
        cdef intp_t room = max(n_nodes, 2 * self.room)
        cdef intp_t K = self.n_classes
        if n_nodes <= self.room:
            return 0
        self.seen = <float64_t*> resize_array(
            &self.blocks, self.seen, room * K, sizeof(float64_t)
        )
        self.at = <Watch*> resize_array(&self.blocks, self.at, room, sizeof(Watch))
        memset(self.seen + self.room * K, 0, (room - self.room) * K * sizeof(float64_t))
        memset(self.at + self.room, 0, (room - self.room) * sizeof(Watch))
        self.room = room
        return 0

    cdef intp_t follow(
        self, const int32_t* parent, intp_t leaf, bint wrong, label_t y,
        float64_t weight, uint64_t* path,
    ) noexcept nogil:
        # Note a row at the nodes above a leaf, and there; returns the uppermost node
        # whose errors seem to rise, unless a tree grows beside one above it, or -1.
        # `path` becomes a mask of the slots of those trees that are to learn the row.
        cdef intp_t node = leaf
        cdef intp_t warned = -1
        cdef Watch* watch
        path[0] = 0
        while node >= 0:
            watch = &self.at[node]
            self.seen[node * self.n_classes + y] += weight
            if watch.n_rows & (REFRESH - 1) == 0:
                _refresh(watch)
            watch.n_rows += 1
            watch.n += 1.0
            watch.n_wrong += wrong
            watch.wealth = max(watch.wealth, 1.0) * (
                watch.if_wrong if wrong else watch.if_right
            )
            if watch.slot > 0:
                path[0] |= <uint64_t> 1 << (watch.slot - 1)
                warned = -1
            if watch.wealth >= WARNING_WEALTH and watch.n_rows >= max(watch.rest, <int64_t> LEAST):
                warned = node
            node = parent[node]
        return warned

    cdef void start(self, intp_t node) noexcept nogil:
        # Another subtree is there: the past of the one before is forgotten.
        cdef Watch* watch = &self.at[node]
        watch.n = 0.0
        watch.n_wrong = 0.0
        watch.n_rows = 0
        watch.rest = 0
        watch.wealth = 1.0

    cdef intp_t node_bytes(self) noexcept nogil:
        return sizeof(Watch) + self.n_classes * sizeof(float64_t)

    def write(self, intp_t n_nodes):
        """Watches of the nodes that there are, as bytes."""
        cdef intp_t of_node = self.n_classes * sizeof(float64_t)
        cdef intp_t n = min(self.room, n_nodes)
        at, seen = b"", b""
        if n > 0:
            at = bytes(
                <const unsigned char[:n * sizeof(Watch)]> <unsigned char*> self.at
            )
            seen = bytes(<const unsigned char[:n * of_node]> <unsigned char*> self.seen)
        # the nodes that have met no row yet, as `reserve` makes them
        return at + bytes((n_nodes - n) * sizeof(Watch)), seen + bytes((n_nodes - n) * of_node)

    def read(self, state, intp_t n_nodes):
        """Take the result of `write`, with the sizes that are needed."""
        cdef intp_t K = self.n_classes
        if not (
            isinstance(state, tuple) and len(state) == 2
            and isinstance(state[0], bytes) and isinstance(state[1], bytes)
            and len(state[0]) % sizeof(Watch) == 0
        ):
            raise damaged("growing tree")
        cdef bytes watches = state[0]
        cdef bytes seen = state[1]
        cdef intp_t n = len(watches) // sizeof(Watch)
        if n > n_nodes or len(seen) != n * K * sizeof(float64_t):
            raise damaged("growing tree")
        # of each node, fields of 8 bytes; a tree that was fitted has watched none yet
        counts = np.frombuffer(watches, np.int64).reshape(n, sizeof(Watch) // 8)
        if not bool(((counts[:, 5:] >= 0) & (counts[:, 5:] < 2**62)).all()):
            raise damaged("growing tree")
        self.reserve(n_nodes)
        if n > 0:
            memcpy(self.at, <const char*> watches, n * sizeof(Watch))
            memcpy(self.seen, <const char*> seen, n * K * sizeof(float64_t))

    def n_slots(self):
        """Nodes beside which a tree grows."""
        cdef intp_t node
        cdef intp_t n = 0
        for node in range(self.room):
            n += self.at[node].slot > 0
        return n

    def counts(self, intp_t n_nodes):
        """Class counts of the rows at each node since it was made."""
        cdef intp_t n = min(self.room, n_nodes)
        found = np.zeros((n_nodes, self.n_classes))
        cdef float64_t[:, ::1] out = found
        if n > 0:
            memcpy(&out[0, 0], self.seen, n * self.n_classes * sizeof(float64_t))
        return found


cdef void _refresh(Watch* watch) noexcept nogil:
    # What the past of a node says of its next rows; of a long one the latest count.
    cdef float64_t scale, share, more
    if watch.n > LATE:
        scale = LATE / watch.n
        watch.n *= scale
        watch.n_wrong *= scale
    share = (watch.n_wrong + 0.5) / (watch.n + 1.0)
    more = share + 0.1 * sqrt(share * (1.0 - share)) + 0.01
    more = min(more, 0.5 * (1.0 + share))
    watch.if_wrong = more / share
    watch.if_right = (1.0 - more) / (1.0 - share)


cdef float64_t usual_share(const Watch* watch) noexcept nogil:
    # What a node's share of errors has been at most, as far as its past can tell.
    cdef float64_t share = (watch.n_wrong + 0.5) / (watch.n + 1.0)
    return min(share + ERRORS * sqrt(share * (1.0 - share) / (watch.n + 1.0)), 0.9)


cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15


# ReplacingGrower: a growing tree that is replaced when the concept drifts.
#
# A detector watches the errors. Between its warning and what follows it a second
# tree learns the same rows; if a drift follows it takes the place of the first. The
# two share the memory limit.
cdef class ReplacingGrower(WatchingGrower):
    """Grows a tree row by row, and another one from each warning of a drift on.

    The settings' ``drift`` makes the detector.
    """

    cdef Detector detector
    cdef Grower background              # learns since a warning, or None
    cdef object successor               # what it was made from, but for what it watches

    def __init__(self, Tree tree, recipe):
        WatchingGrower.__init__(self, tree, recipe)
        self.detector = recipe.settings.drift.kernel()

    cdef int watch(
        self, bint wrong, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil:
        cdef int state = self.detector.update(wrong, weight)
        cdef bint lasting = self.detector.lasting
        if self.detector.held is not None:
            with gil:
                # it is raised at the next boundary
                error = self.detector.release()
                if self.held is None:
                    self.held = error
        if state == STABLE and not lasting:
            if self.background is not None:
                with gil:
                    self.background = None
            return 0
        if state != STABLE and (
            self.background is None or (lasting and state == WARNING)
        ):
            with gil:
                self.background = None
                self.insist(BEGIN)
        if self.background is None:
            return 0
        self.background.finite = self.finite
        self.background.leaving = self.leaving
        self.background.tree.version += 1
        self.background.learn_row(x, y, weight, NULL, NULL)
        if state == DRIFT:
            with gil:
                self.found.append((self.time_of_row(), 0))
                self._become(self.background)
                self.background = None
        return 0

    cdef list others(self):
        return [] if self.background is None else [self.background]

    cdef int change(self, Change what) except -1:
        # An empty tree of the same kind.
        cdef Grower grower
        tree = Tree(
            self.tree.n_features, self.tree.n_classes, self.tree.class_weight,
            self.tree.keeps_evidence,
        )
        tree._add_root()
        grower = self._successor(tree)
        self.open_second(grower)
        waiting = self.unlabelled()
        if waiting is not None and not waiting.all():
            grower.leave_out(np.flatnonzero(~waiting).astype(np.int32))
        self.background = grower
        return 0

    cdef Grower _successor(self, Tree tree):
        # What grows a tree in the background; without leaves yet.
        seed = self.recipe.seed
        if self.recipe.in_forest:
            seed = mix(<uint64_t> seed ^ GOLDEN) >> 2
        self.successor = self.recipe._replace(seed=seed)
        return self.second(tree, seed, 1)

    cdef int _become(self, Grower other) except -1:
        # Trade trees; the other one, which is given up, gets ours.
        self.recipe = self.successor
        self.source.node.seed = other.source.node.seed
        self.tree, other.tree = other.tree, self.tree
        self.tree.lock = self.lock
        self.leaves.trade(other.leaves)
        self.predictor.trade(other.predictor)
        self.weight_seen = other.weight_seen
        self.total_weight = other.total_weight
        self.source.whole = other.source.whole
        self.limit.full = other.limit.full
        self.max_rows = max(self.max_rows, other.max_rows)
        self.tree.version += 1
        return 0

    def _state(self):
        background = None
        if self.background is not None:
            background = (write_nodes(self.background.tree), self.background.__getstate__())
        return WatchingGrower._state(self)._replace(
            detector=write_detector(self.detector), background=background
        )

    def _take(self, state):
        if state.detector is None:
            raise damaged("growing tree")
        WatchingGrower._take(self, state._replace(detector=None, background=None))
        self.detector = read_detector(type(self.detector), state.detector)
        self.background = None
        if state.background is not None:
            self.background = self._take_second(state.background)

    def _take_second(self, background):
        # Made from the same recipe, not believed: leaves will be traded.
        if not (isinstance(background, tuple) and len(background) == 2):
            raise damaged("growing tree")
        tree, state = background
        tree = read_nodes(Tree, tree)
        if (
            (tree.n_features, tree.n_classes)
            != (self.tree.n_features, self.tree.n_classes)
        ):
            raise damaged("growing tree")
        return with_state(self._successor(tree), state)


cdef float64_t FADING = 0.98    # of rows that one of the two predicts, with each
cdef float64_t BOLDEST = 0.9    # largest stake
cdef float64_t STEP = 0.05      # of the late share of errors, with a row
cdef float64_t MAX_ERROR_RATE = 0.95   # as a share that is expected
cdef float64_t ABANDON_LOG_WEALTH = 4.0   # logarithm of the wealth that ends an attempt
cdef enum:
    PATIENCE = 200      # rows before it is found to be worse


@cython.final
cdef class Challenger:
    """What `grower` grows may take the place of all below a node.

    `level` is the logarithm of the wealth that it needs; after `max_rows` rows it is
    given up. The share of errors at the node has been `usual` at most.
    """

    cdef readonly Grower grower
    cdef readonly intp_t node       # in whose place it would be
    cdef readonly int64_t slot
    cdef readonly int64_t serial    # how many were begun in the tree before
    cdef float64_t level            # logarithm of the wealth that is enough
    cdef float64_t gain             # logarithms of the wealths
    cdef float64_t loss
    cdef float64_t rise
    cdef float64_t usual            # share of the other tree's errors
    cdef float64_t share            # late one
    cdef float64_t n_won            # late rows that it alone, and the other alone,
    cdef float64_t n_lost           # predicted
    cdef int64_t n_rows
    cdef int64_t max_rows          # when its time is up
    cdef Verdict verdict
    cdef Challenger behind          # the next one, or None

    def __init__(
        self, Grower grower, intp_t node, int64_t slot, int64_t serial, float64_t level,
        int64_t max_rows, float64_t usual,
    ):
        self.grower = grower
        self.node = node
        self.slot = slot
        self.serial = serial
        self.level = level
        self.max_rows = max_rows
        self.usual = usual
        self.share = usual

    cdef int learn(
        self, uint64_t path, const float32_t* x, label_t y, float64_t weight,
        bint wrong, bint finite,
    ) except -1 nogil:
        # Learn a row, as those behind do, if its node is on the path, a mask of slots;
        # `wrong` says whether the tree predicted it. Returns whether one is decided.
        cdef intp_t guess = 0
        cdef int decided = 0
        if path >> self.slot & 1:
            self.grower.finite = finite
            self.grower.tree.version += 1
            self.grower.learn_row(x, y, weight, &guess, NULL)
            self.judge(guess != y, wrong)
        if self.verdict != OPEN:
            decided = 1
        if self.behind is not None:
            decided |= self.behind.learn(path, x, y, weight, wrong, finite)
        return decided

    cdef void judge(self, bint wrong, bint other_wrong) noexcept nogil:
        self.n_rows += 1
        if wrong != other_wrong:
            self._compare(other_wrong)
        self.rise += log(
            self.share / self.usual if other_wrong
            else (1.0 - self.share) / (1.0 - self.usual)
        )
        self.share += STEP * (other_wrong - self.share)
        self.share = min(max(self.share, self.usual), MAX_ERROR_RATE)
        if max(self.gain, self.rise) >= self.level and self.n_won > self.n_lost:
            self.verdict = WON
        elif self.loss >= ABANDON_LOG_WEALTH or self.n_rows >= self.max_rows:
            self.verdict = LOST

    cdef void _compare(self, bint won) noexcept nogil:
        # The two disagree about a row, which one of them predicted.
        cdef float64_t lead = self.n_won - self.n_lost
        lead /= self.n_won + self.n_lost + 2.0
        lead = min(max(lead, -BOLDEST), BOLDEST)
        if lead > 0.0:
            self.gain += log(1.0 + (lead if won else -lead))
        elif self.n_rows > PATIENCE:
            self.loss = max(self.loss + log(1.0 + (lead if won else -lead)), 0.0)
        self.n_won *= FADING
        self.n_lost *= FADING
        if won:
            self.n_won += 1.0
        else:
            self.n_lost += 1.0

    def numbers(self):
        """What it has found so far, for a state."""
        return (
            (
                self.level, self.gain, self.loss, self.n_won, self.n_lost, self.rise,
                self.usual, self.share,
            ),
            (self.n_rows, self.max_rows, <int> self.verdict),
        )

    def take_numbers(self, numbers):
        """Go on from `numbers`."""
        wealths, counts = numbers
        (
            self.level, self.gain, self.loss, self.n_won, self.n_lost, self.rise,
            self.usual, self.share,
        ) = wealths
        self.n_rows, self.max_rows, verdict = counts
        self.verdict = <Verdict> <int> verdict


cdef enum:
    MAX_SLOTS = 8      # trees that grow beside at a time,
    LIMITED_SLOTS = 2   # where they share a memory limit
    LEAST_ROWS = 1000   # that each may learn, or as many as
    MAX_ROWS = 4000    # the node has had, up to here
    AFFORDED = 2000     # rows that those may learn in vain that replace nothing, and
    SHARE = 2           # one of so many of the stream
    REST = 200          # rows of a node after one that was given up
    AGAIN = 1000        # and before one is given up for another, with a new warning


# LocalGrower: a growing tree of which drifts replace no more than the part that broke.
#
# At every node a watch (`Watch`) bets that the errors of the rows there rise. With
# its warning a second tree begins, which learns the rows of this node alone, and bets
# that it is better (`Challenger`). Once it has shown that, all that is below the
# node is replaced, the node keeping its id; if it has not in time, it goes. So a warning
# costs time, and nothing else; what is replaced where the young tree is no better, is so
# at a node with probability delta at most, however many trees are begun there.
#
# No tree is begun below a node that has one, and only a few at a time. A watched node may
# be a leaf: what it remembers is then replaced. The nodes that are gone keep their
# rows in the arrays of the tree, see `nodes/_derived.py`: the others keep their ids.
cdef class LocalGrower(WatchingGrower):
    """Grows a tree row by row, and others beside parts of it that may be broken.

    The settings' ``drift`` says how sure a repair has to be.
    """

    cdef Watches watches
    cdef Challenger first           # of those that grow, or None
    cdef uint64_t slots             # those taken, a bit each
    cdef int64_t n_begun
    cdef int64_t n_shadow           # rows that they have learnt
    cdef intp_t max_slots
    cdef float64_t delta
    cdef intp_t warned              # node of the last row whose errors seem to rise, or -1

    def __init__(self, Tree tree, recipe):
        if not hasattr(recipe.settings.drift, "delta") or recipe.X_pool is not None:
            raise damaged("growing tree")
        WatchingGrower.__init__(self, tree, recipe)
        self.delta = recipe.settings.drift.delta
        self.watches = Watches(tree.n_classes)
        self.limit.watch_bytes = self.watches.node_bytes()
        self.max_slots = MAX_SLOTS
        if self.limit.max_bytes != NO_LIMIT:
            self.max_slots = LIMITED_SLOTS
            self.limit.check_beside(LIMITED_SLOTS)

    @property
    def n_bytes(self):
        """Bytes of the trees, of what their leaves remember, and of the watches."""
        watched = self.tree.node_count * self.watches.node_bytes()
        return WatchingGrower.n_bytes.__get__(self) + watched

    def counts_since(self):
        """Class counts of the rows at each node since it was made."""
        return self.watches.counts(self.tree.node_count)

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
            self.n_shadow += 1
            left &= left - 1
        if path != 0 and self.first.learn(path, x, y, weight, wrong, self.finite):
            with gil:
                self.insist(DECIDE)
        elif (
            self.warned >= 0 and self.slots != (<uint64_t> 1 << self.max_slots) - 1
            and (self.n_shadow - AFFORDED) * SHARE <= self.n_rows_seen
        ):
            with gil:
                self.insist(BEGIN)
        return 0

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
            self.tree.keeps_competitors, self.tree.keeps_stops,
        )
        tree._add_root()
        cdef Grower grower = self._grower_at(tree, node, self.n_begun)
        self.open_second(grower)
        cdef Challenger beside = Challenger(
            grower, node, slot, self.n_begun, log(2 * k * (k + 1) / self.delta),
            min(max(watch.n_rows, <int64_t> LEAST_ROWS), <int64_t> MAX_ROWS),
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
            if beside.verdict == WON and self._has_capacity_for(beside):
                self._repair(beside)
            elif beside.verdict != OPEN:
                self._give_up(beside)
            beside = beside.behind

    def _has_capacity_for(self, Challenger beside):
        # Of memory as if no leaf were replaced.
        cdef Tree branch = beside.grower.tree
        cdef intp_t n_leaves = self.leaves.n_leaves + branch.n_leaves
        cdef intp_t node = beside.node
        while node >= 0:
            n_leaves -= self.tree.n_children[node] == 0
            node = self.tree.next_below(beside.node, node)
        return n_leaves <= self.settings.max_leaves and self.limit.has_capacity(
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
        tree.grows(self.tree.criterion, self.lock, self.settings.max_depth)
        self.leaves.reserve(tree.node_count)
        self.watches.reserve(tree.node_count)
        self.found.append((self.time_of_row(), node))
        # nothing fails from here on
        self.leaves.graft(node, tree, other.leaves, n_before)
        self.n_shadow -= beside.n_rows  # not in vain
        self.tree = tree
        self.watches.start(node)
        self.source.whole = self.source.whole and other.source.whole
        self.max_rows = max(self.max_rows, other.max_rows)
        self.limit.look(tree, self.leaves)
        while one is not None:
            if one is beside or tree.parent[one.node] == DEAD:
                self._leave_slot(one)
            one = one.behind

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
            n_shadow=self.n_shadow, n_begun=self.n_begun,
        )

    def _take(self, state):
        if state.watches is None:
            raise damaged("growing tree")
        WatchingGrower._take(self, state._replace(watches=None, beside=()))
        self.watches.read(state.watches, self.tree.node_count)
        self.n_shadow, self.n_begun = state.n_shadow, state.n_begun
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
            and 0 <= slot < self.max_slots and not self.slots >> slot & 1
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
