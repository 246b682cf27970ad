"""Growth of a tree that monitors its errors and replaces subtrees after a concept drift.

A challenger is a tree that is trained on the rows of a node and may replace the subtree below it.
Tests are sequential, by betting against the null hypothesis: the statistic of each test, or bet,
is called its wealth, and a large wealth is evidence against the hypothesis. At a checkpoint, after
a fixed number of rows, exceptions of earlier rows are raised.
"""

cimport cython
import numpy as np
from libc.math cimport log, sqrt
from libc.string cimport memcpy, memset

from skconftree.drift._detector cimport DRIFT, STABLE, WARNING, Detector
from skconftree.drift._detector import read_detector, write_detector
from skconftree.tree._settings cimport NO_LIMIT
from skconftree.tree.nodes._derived import read_nodes, write_nodes
from skconftree.tree.nodes._routing cimport REMOVED     # parent of a removed node
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.stream._grower cimport Grower
from skconftree.tree.stream._grower import with_state    # sets the state of a grower
from skconftree.utils._codec import corrupt_state
from skconftree.utils._draws cimport mix
from skconftree.utils._memory cimport Blocks, release_all, release_reserve, resize_array
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, label_t, uint64_t,
)

# MonitoredGrower: a tree that is trained row by row, monitors its errors and grows further trees.
# A grower trains one tree; a recipe (_state.py) has the arguments from which a grower is made. The
# pool is the unlabeled rows (`X_pool`).
#
# It predicts every row before learning it, and passes the row and whether the prediction was wrong
# to `monitor_row`. Subclasses define when another tree starts and what it replaces.

cdef enum Change:
    START       # start another tree
    RESOLVE     # replace or abandon challengers

# NodeMonitor: statistics of the rows at one node of a tree.
#
# It has the class counts of the rows since the node was made, which show whether the
# parent's split is still valid, and a test for a rise of the errors below the node. The
# test is a CUSUM, written as testing by betting. Each row raises its statistic, the
# wealth, to at least 1, and then multiplies it by the likelihood ratio of the row's
# outcome (wrong or right): the likelihood at an error rate somewhat above the past rate
# of the node, divided by that at the past rate. A wealth of WARNING_WEALTH is a warning.
# Without a change there is on average at most one warning in that many rows. A false
# warning only costs time: a replacement requires stronger evidence, see `Challenger`.
#
# Each challenger of a tree has a slot, a number from 0 on, which is free again when the challenger
# ends. A set of challengers is a bit mask of their slots.

cdef struct NodeMonitor:
    float64_t n             # recent rows
    float64_t n_wrong       # recent errors
    float64_t factor_if_wrong  # factor of the wealth for an error
    float64_t factor_if_right
    float64_t wealth
    int64_t n_rows          # since the node was made, or the subtree below it replaced
    int64_t n_started       # number of challengers started here
    int64_t next_start      # n_rows from which the next one may start
    int64_t slot            # 1 + the slot of the node's challenger; 0: none

# Challenger: a tree that may replace a subtree, trained on the rows that reach its root.
#
# Both predict each row before they learn it. Two wealths (test martingales) start at 1 and
# measure the evidence for the challenger:
#
#   gain   bets that the challenger is more accurate. It changes only with rows on which
#          exactly one of the two is right: each multiplies it by 1 + s or 1 - s, where
#          s >= 0 is the lead of the challenger on recent rows of this kind.
#   rise   bets that the errors at the node have risen: each row multiplies it by the
#          likelihood ratio of the recent error rate to the past error rate, that of the
#          rows before the challenger was started.
#
# If the challenger is not more accurate, given the past, the gain is a supermartingale.
# The probability that it ever reaches 1 / a is then at most a (Ville's inequality), for
# any start of the challenger and with a check after every row. The same holds for the
# rise if the error rate is not above the past error rate, to whose estimate 2.5 standard
# errors are added. The k-th challenger at a node has a = delta / (2 k (k + 1)) for each of the
# two bets, so that the sum over all challengers is delta. To win, a challenger must also lead
# on recent rows.
#
# A challenger is abandoned if the wealth of a bet that it is less accurate is large, or after
# a limited number of rows.

cdef enum Verdict:
    UNDECIDED = 0
    WON = 1
    LOST = 2


cdef enum:
    MAX_FAILURES = 100      # failures between two checkpoints, after which there are no retries


cdef class MonitoredGrower(Grower):
    """Grow a tree row by row, and further trees after warnings of a drift."""

    cdef list _drifts               # row and node of each drift
    cdef intp_t n_failed            # changes that failed since the last checkpoint

    def __init__(self, Tree tree, recipe):
        if recipe.settings.drift is None:
            raise corrupt_state("growing tree")
        Grower.__init__(self, tree, recipe)
        self._drifts = []

    @property
    def drifts(self):
        """Row and node of each detected drift; the drift is below the node."""
        return tuple(self._drifts)

    @property
    def n_bytes(self):
        """Bytes of all trees and of the statistics of their leaves."""
        return Grower.n_bytes.__get__(self) + sum(
            [grower.n_bytes for grower in self.background_growers()]
        )

    def reserve_codes(self, intp_t n_codes):
        """Allocate memory for splits with `n_codes` categories, in all trees."""
        Grower.reserve_codes(self, n_codes)
        for grower in self.background_growers():
            grower.reserve_codes(n_codes)

    cdef int limit_memory(self) except -1:
        cdef Grower grower
        for grower in self.background_growers():
            grower.limit_memory()
        return Grower.limit_memory(self)

    cdef int learn_row(
        self, const float32_t* x, label_t y, float64_t weight, intp_t* predicted, float64_t* proba,
    ) except -1 nogil:
        cdef intp_t predicted_class = 0
        Grower.learn_row(self, x, y, weight, &predicted_class, proba)
        if predicted != NULL:
            predicted[0] = predicted_class
        if weight > 0.0:
            self.monitor_row(predicted_class != y, x, y, weight)
        return 0

    cdef int monitor_row(
        self, bint wrong, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil:
        # Called for a learned row; `wrong`: its prediction was wrong.
        return 0

    cdef list background_growers(self):
        # The growers of the other trees.
        return []

    cdef object take_pending(self):
        # Return the stored exception of this or another tree, and clear those of all.
        cdef Grower other
        error = Grower.take_pending(self)
        for other in self.background_growers():
            pending = other.take_pending()
            error = pending if error is None else error
        return error

    cdef int change(self, Change what) except -1:
        # Make a change. If it fails, nothing has changed.
        return 0

    cdef int retry_change(self, Change what) except -1:
        # Retry a change until it succeeds. Python runs signal handlers here, in the middle of a
        # row. Their exceptions are stored until the next checkpoint. After many failures a change
        # is tried only once per row.
        if self.pending_error is None:
            self.n_failed = 0
        while True:
            try:
                self.change(what)
                return 0
            except MemoryError:
                release_reserve()   # frees memory for the next attempt, or raises MemoryError
            except BaseException as error:
                self.n_failed += 1
                if self.pending_error is None:
                    self.pending_error = error
                if self.n_failed >= MAX_FAILURES:
                    return 0

    cdef Grower make_second_grower(self, Tree tree, object seed, intp_t n_sharing):
        # A grower without leaves that does not monitor drift; `n_sharing` growers share
        # the memory limit of further trees.
        settings = self.recipe.settings.replace(drift=None)
        if self.limit.max_bytes != NO_LIMIT:
            settings = settings.replace(max_bytes=self.limit.max_bytes // n_sharing)
        return Grower(tree, self.recipe._replace(settings=settings, seed=seed))

    cdef int init_new_grower(self, Grower new_grower) except -1:
        # the number of categories for which this grower has memory
        new_grower.reserve_codes(self.splitter.candidates.sets.capacity - 1)
        new_grower.init_leaves()
        return 0

    def _state(self):
        return Grower._state(self)._replace(drifts=self.drifts)

    def _load(self, state):
        Grower._load(self, state._replace(drifts=()))
        self._drifts = list(state.drifts)


cdef enum:
    MAX_PAST_ROWS = 5000        # largest number of rows in the past of a node
    MIN_WARNING_ROWS = 100      # smallest number of rows for a warning
    UPDATE_INTERVAL = 32        # rows between updates of the past rate, a power of 2

cdef float64_t WARNING_WEALTH = 1000.0
cdef float64_t N_STANDARD_ERRORS = 2.5     # standard errors that are added to an error rate


@cython.final
cdef class NodeMonitors:
    """Monitors of the nodes of a tree with `n_classes` classes."""

    cdef Blocks blocks
    cdef NodeMonitor* at          # [capacity]
    cdef float64_t* class_counts  # [capacity, n_classes]
    cdef intp_t capacity
    cdef intp_t n_classes

    def __init__(self, intp_t n_classes):
        self.n_classes = n_classes

    def __dealloc__(self):
        release_all(&self.blocks)

    cdef int reserve(self, intp_t n_nodes) except -1 nogil:
        cdef intp_t capacity = max(n_nodes, 2 * self.capacity)
        cdef intp_t K = self.n_classes
        if n_nodes <= self.capacity:
            return 0
        self.class_counts = <float64_t*> resize_array(
            &self.blocks, self.class_counts, capacity * K, sizeof(float64_t)
        )
        self.at = <NodeMonitor*> resize_array(&self.blocks, self.at, capacity, sizeof(NodeMonitor))
        memset(
            self.class_counts + self.capacity * K, 0,
            (capacity - self.capacity) * K * sizeof(float64_t),
        )
        memset(self.at + self.capacity, 0, (capacity - self.capacity) * sizeof(NodeMonitor))
        self.capacity = capacity
        return 0

    cdef intp_t update(
        self, const int32_t* parent, intp_t leaf, bint wrong, label_t y,
        float64_t weight, uint64_t* path,
    ) noexcept nogil:
        # Update the monitors of a row's leaf and its ancestors. Returns the uppermost of these
        # nodes that has a warning and no challenger at a node above, or -1. `path` is set to a
        # mask of the slots of the challengers that learn the row.
        cdef intp_t node = leaf
        cdef intp_t warned = -1
        cdef NodeMonitor* monitor
        path[0] = 0
        while node >= 0:
            monitor = &self.at[node]
            self.class_counts[node * self.n_classes + y] += weight
            if monitor.n_rows & (UPDATE_INTERVAL - 1) == 0:
                _refresh(monitor)
            monitor.n_rows += 1
            monitor.n += 1.0
            monitor.n_wrong += wrong
            monitor.wealth = max(monitor.wealth, 1.0) * (
                monitor.factor_if_wrong if wrong else monitor.factor_if_right
            )
            if monitor.slot > 0:
                path[0] |= <uint64_t> 1 << (monitor.slot - 1)
                warned = -1
            if monitor.wealth >= WARNING_WEALTH and (
                monitor.n_rows >= max(monitor.next_start, <int64_t> MIN_WARNING_ROWS)
            ):
                warned = node
            node = parent[node]
        return warned

    cdef void start(self, intp_t node) noexcept nogil:
        # Reset the statistics of a subtree that was replaced.
        cdef NodeMonitor* monitor = &self.at[node]
        monitor.n = 0.0
        monitor.n_wrong = 0.0
        monitor.n_rows = 0
        monitor.next_start = 0
        monitor.wealth = 1.0

    cdef intp_t node_bytes(self) noexcept nogil:
        return sizeof(NodeMonitor) + self.n_classes * sizeof(float64_t)

    def write(self, intp_t n_nodes):
        """Monitors of the first `n_nodes` nodes, as bytes."""
        cdef intp_t of_node = self.n_classes * sizeof(float64_t)
        cdef intp_t n = min(self.capacity, n_nodes)
        at, class_counts = b"", b""
        if n > 0:
            at = bytes(<const unsigned char[:n * sizeof(NodeMonitor)]> <unsigned char*> self.at)
            class_counts = bytes(
                <const unsigned char[:n * of_node]> <unsigned char*> self.class_counts
            )
        # nodes without rows, as `reserve` initializes them
        n = n_nodes - n
        return at + bytes(n * sizeof(NodeMonitor)), class_counts + bytes(n * of_node)

    def read(self, state, intp_t n_nodes):
        """Read the result of `write`; ValueError if its size is wrong."""
        cdef intp_t K = self.n_classes
        if not (
            isinstance(state, tuple) and len(state) == 2
            and isinstance(state[0], bytes) and isinstance(state[1], bytes)
            and len(state[0]) % sizeof(NodeMonitor) == 0
        ):
            raise corrupt_state("growing tree")
        cdef bytes monitors = state[0]
        cdef bytes class_counts = state[1]
        cdef intp_t n = len(monitors) // sizeof(NodeMonitor)
        if n > n_nodes or len(class_counts) != n * K * sizeof(float64_t):
            raise corrupt_state("growing tree")
        # fields of 8 bytes per node, integers from the sixth on; a fitted tree has no monitors yet
        counts = np.frombuffer(monitors, np.int64).reshape(n, sizeof(NodeMonitor) // 8)
        if not bool(((counts[:, 5:] >= 0) & (counts[:, 5:] < 2**62)).all()):
            raise corrupt_state("growing tree")
        self.reserve(n_nodes)
        if n > 0:
            memcpy(self.at, <const char*> monitors, n * sizeof(NodeMonitor))
            memcpy(self.class_counts, <const char*> class_counts, n * K * sizeof(float64_t))

    def n_challengers(self):
        """Number of nodes with a challenger."""
        cdef intp_t node
        cdef intp_t n = 0
        for node in range(self.capacity):
            n += self.at[node].slot > 0
        return n

    def counts(self, intp_t n_nodes):
        """Class counts of the rows at each node since it was made."""
        cdef intp_t n = min(self.capacity, n_nodes)
        counts = np.zeros((n_nodes, self.n_classes))
        cdef float64_t[:, ::1] out = counts
        if n > 0:
            memcpy(&out[0, 0], self.class_counts, n * self.n_classes * sizeof(float64_t))
        return counts


cdef void _refresh(NodeMonitor* monitor) noexcept nogil:
    # Update the factors of a node's wealth. The rise that is tested for is 0.1 standard deviations
    # of an error plus 0.01, at most half of the distance to 1. Counts of more than MAX_PAST_ROWS
    # rows are scaled down to this number.
    cdef float64_t scale, past_rate, raised_rate
    if monitor.n > MAX_PAST_ROWS:
        scale = MAX_PAST_ROWS / monitor.n
        monitor.n *= scale
        monitor.n_wrong *= scale
    past_rate = (monitor.n_wrong + 0.5) / (monitor.n + 1.0)
    raised_rate = past_rate + 0.1 * sqrt(past_rate * (1.0 - past_rate)) + 0.01
    raised_rate = min(raised_rate, 0.5 * (1.0 + past_rate))
    monitor.factor_if_wrong = raised_rate / past_rate
    monitor.factor_if_right = (1.0 - raised_rate) / (1.0 - past_rate)


cdef float64_t past_error_limit(const NodeMonitor* monitor) noexcept nogil:
    # Upper confidence limit of a node's past error rate.
    cdef float64_t rate = (monitor.n_wrong + 0.5) / (monitor.n + 1.0)
    return min(rate + N_STANDARD_ERRORS * sqrt(rate * (1.0 - rate) / (monitor.n + 1.0)), 0.9)


cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15   # 2**64 / golden ratio, for seeds


# ReplacingGrower: a growing tree that is replaced as a whole after a drift.
#
# A detector monitors the errors. After its warning, a second tree learns the same rows as the
# first one, and replaces it if the detector reports a drift. The two share the memory limit.
cdef class ReplacingGrower(MonitoredGrower):
    """Grow a tree row by row, and another one after each warning of a drift.

    The settings' ``drift`` makes the detector.
    """

    cdef Detector detector
    cdef Grower background              # tree since the last warning, or None
    cdef object successor               # recipe of the background tree, with the drift setting

    def __init__(self, Tree tree, recipe):
        MonitoredGrower.__init__(self, tree, recipe)
        self.detector = recipe.settings.drift.kernel()      # the compiled detector

    cdef int monitor_row(
        self, bint wrong, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil:
        cdef int state = self.detector.update(wrong, weight)
        # `lasting` detectors: each warning restarts the background tree, and only a drift ends it
        cdef bint lasting = self.detector.lasting
        if self.detector.held is not None:      # an exception
            with gil:
                # it is raised at the next checkpoint
                error = self.detector.release()
                if self.pending_error is None:
                    self.pending_error = error
        if state == STABLE and not lasting:
            if self.background is not None:
                with gil:
                    self.background = None
            return 0
        if state != STABLE and (self.background is None or (lasting and state == WARNING)):
            with gil:
                self.background = None
                self.retry_change(START)
        if self.background is None:
            return 0
        # of this row: no missing value; its index among the unlabeled rows, or -1
        self.background.finite = self.finite
        self.background.pool_row = self.pool_row
        self.background.tree.version += 1   # of its counts
        self.background.learn_row(x, y, weight, NULL, NULL)
        if state == DRIFT:
            with gil:
                self._drifts.append((self.time_of_row(), 0))
                self._swap_tree(self.background)
                self.background = None
        return 0

    cdef list background_growers(self):
        return [] if self.background is None else [self.background]

    cdef int change(self, Change what) except -1:
        # Start an empty background tree.
        cdef Grower grower
        tree = Tree(
            self.tree.n_features, self.tree.n_classes, self.tree.class_weight,
            self.tree.keeps_evidence,
        )
        tree._add_root()
        grower = self._successor(tree)
        self.init_new_grower(grower)
        is_unlabeled = self.unlabeled()     # mask of the rows of the pool that are not learned
        if is_unlabeled is not None and not is_unlabeled.all():
            grower.remove_pool_rows(np.flatnonzero(~is_unlabeled).astype(np.int32))
        self.background = grower
        return 0

    cdef Grower _successor(self, Tree tree):
        # A grower for the background tree, without leaves.
        seed = self.recipe.seed
        if self.recipe.in_forest:
            seed = mix(<uint64_t> seed ^ GOLDEN) >> 2   # a hash; seeds have 62 bits
        self.successor = self.recipe._replace(seed=seed)
        return self.make_second_grower(tree, seed, 1)

    cdef int _swap_tree(self, Grower other) except -1:
        # Swap trees with another grower, which is then discarded.
        self.recipe = self.successor
        self.source.node.seed = other.source.node.seed
        self.tree, other.tree = other.tree, self.tree
        self.tree.lock = self.lock
        self.leaves.swap(other.leaves)
        self.predictor.swap(other.predictor)
        self.weight_seen = other.weight_seen
        self.total_weight = other.total_weight
        self.source.all_integer = other.source.all_integer
        # whether memory is too full for splits; largest number of rows that a leaf has stored
        self.limit.full = other.limit.full
        self.max_rows = max(self.max_rows, other.max_rows)
        self.tree.version += 1
        return 0

    def _state(self):
        background = None
        if self.background is not None:
            background = (write_nodes(self.background.tree), self.background.__getstate__())
        return MonitoredGrower._state(self)._replace(
            detector=write_detector(self.detector), background=background
        )

    def _load(self, state):
        if state.detector is None:
            raise corrupt_state("growing tree")
        MonitoredGrower._load(self, state._replace(detector=None, background=None))
        self.detector = read_detector(type(self.detector), state.detector)
        self.background = None
        if state.background is not None:
            self.background = self._load_background(state.background)

    def _load_background(self, background):
        # Load a tree of the same recipe, because leaves will be swapped.
        if not (isinstance(background, tuple) and len(background) == 2):
            raise corrupt_state("growing tree")
        tree, state = background
        tree = read_nodes(Tree, tree)
        if ((tree.n_features, tree.n_classes) != (self.tree.n_features, self.tree.n_classes)):
            raise corrupt_state("growing tree")
        return with_state(self._successor(tree), state)


# Constants of the bets of a Challenger, see there.
cdef float64_t WINS_DECAY = 0.98    # decay of n_won and n_lost per row that changes them
cdef float64_t MAX_STAKE = 0.9      # largest s in the bet on the gain
cdef float64_t ERROR_RATE_STEP = 0.05      # weight of a row in the recent error rate
cdef float64_t MAX_ERROR_RATE = 0.95   # largest rate in a likelihood ratio
# A challenger is abandoned at this log wealth of the bet that it is less accurate.
cdef float64_t ABANDON_LOG_WEALTH = 4.0
cdef enum:
    ROWS_BEFORE_LOSS = 200      # rows before this bet starts


@cython.final
cdef class Challenger:
    """Comparison of a tree, grown by `grower`, with the subtree that it may replace.

    The challenger wins if its log wealth reaches `required_log_wealth`; after `max_rows`
    rows it is abandoned. `past_error_rate` is the upper limit of the past error rate at
    the node.
    """

    cdef readonly Grower grower
    cdef readonly intp_t node       # root of the subtree
    cdef readonly int64_t slot      # its number among the present challengers
    cdef readonly int64_t serial    # number of earlier challengers in the tree
    cdef float64_t required_log_wealth
    cdef float64_t gain             # log wealth of the bet that it is more accurate,
    cdef float64_t rise             # that the errors at the node have risen,
    cdef float64_t loss             # and that it is less accurate
    cdef float64_t past_error_rate      # upper limit of the rate before the challenger was started
    cdef float64_t recent_error_rate    # of the subtree, a moving average
    cdef float64_t n_won            # recent rows that only the challenger, and only the
    cdef float64_t n_lost           # subtree, predicted correctly
    cdef int64_t n_rows
    cdef int64_t max_rows
    cdef Verdict verdict
    cdef Challenger next            # in the linked list of the tree, or None

    def __init__(
        self, Grower grower, intp_t node, int64_t slot, int64_t serial,
        float64_t required_log_wealth, int64_t max_rows, float64_t past_error_rate,
    ):
        self.grower = grower
        self.node = node
        self.slot = slot
        self.serial = serial
        self.required_log_wealth = required_log_wealth
        self.max_rows = max_rows
        self.past_error_rate = past_error_rate
        self.recent_error_rate = past_error_rate

    cdef int learn(
        self, uint64_t path, const float32_t* x, label_t y, float64_t weight,
        bint wrong, bint finite,
    ) except -1 nogil:
        # Learn a row if the slot of this challenger is in `path`, the mask of the challengers
        # that the row reaches, and pass the row to the next challengers. `wrong`: the subtree
        # predicted the row wrongly. Returns whether any challenger has a verdict.
        cdef intp_t predicted_class = 0
        cdef int decided = 0
        if path >> self.slot & 1:
            self.grower.finite = finite
            self.grower.tree.version += 1
            self.grower.learn_row(x, y, weight, &predicted_class, NULL)
            self.update_hits(predicted_class != y, wrong)
        if self.verdict != UNDECIDED:
            decided = 1
        if self.next is not None:
            decided |= self.next.learn(path, x, y, weight, wrong, finite)
        return decided

    cdef void update_hits(self, bint wrong, bint other_wrong) noexcept nogil:
        # Update the bets with a row. `wrong`: the challenger predicted it wrongly; `other_wrong`:
        # the subtree did.
        self.n_rows += 1
        if wrong != other_wrong:
            self._compare(other_wrong)
        self.rise += log(
            self.recent_error_rate / self.past_error_rate if other_wrong
            else (1.0 - self.recent_error_rate) / (1.0 - self.past_error_rate)
        )
        self.recent_error_rate += ERROR_RATE_STEP * (other_wrong - self.recent_error_rate)
        self.recent_error_rate = min(
            max(self.recent_error_rate, self.past_error_rate), MAX_ERROR_RATE
        )
        if max(self.gain, self.rise) >= self.required_log_wealth and self.n_won > self.n_lost:
            self.verdict = WON
        elif self.loss >= ABANDON_LOG_WEALTH or self.n_rows >= self.max_rows:
            self.verdict = LOST

    cdef void _compare(self, bint won) noexcept nogil:
        # Update the gain with a row that exactly one of the two predicted correctly.
        cdef float64_t lead = self.n_won - self.n_lost
        lead /= self.n_won + self.n_lost + 2.0
        lead = min(max(lead, -MAX_STAKE), MAX_STAKE)
        if lead > 0.0:
            self.gain += log(1.0 + (lead if won else -lead))
        elif self.n_rows > ROWS_BEFORE_LOSS:
            self.loss = max(self.loss + log(1.0 + (lead if won else -lead)), 0.0)
        self.n_won *= WINS_DECAY
        self.n_lost *= WINS_DECAY
        if won:
            self.n_won += 1.0
        else:
            self.n_lost += 1.0

    def numbers(self):
        """Return the numbers of a state: wealths and rates, then counts and verdict."""
        return (
            (
                self.required_log_wealth, self.gain, self.loss, self.n_won, self.n_lost, self.rise,
                self.past_error_rate, self.recent_error_rate,
            ),
            (self.n_rows, self.max_rows, <int> self.verdict),
        )

    def set_numbers(self, numbers):
        """Set the numbers of a state."""
        wealths, counts = numbers
        (
            self.required_log_wealth, self.gain, self.loss, self.n_won, self.n_lost, self.rise,
            self.past_error_rate, self.recent_error_rate,
        ) = wealths
        self.n_rows, self.max_rows, verdict = counts
        self.verdict = <Verdict> <int> verdict


cdef enum:
    MAX_SLOTS = 8           # largest number of challengers at a time,
    MAX_SLOTS_WITH_LIMIT = 2  # and with a memory limit
    # A challenger may learn as many rows as its node has had, within these limits.
    MIN_CHALLENGER_ROWS = 1000
    MAX_CHALLENGER_ROWS = 4000
    # A challenger may be started only if unsuccessful challengers have learned at most
    # INITIAL_CHALLENGER_ROWS rows in total, and in addition one per CHALLENGER_ROW_INTERVAL
    # rows of the stream. This limits the time that they take.
    INITIAL_CHALLENGER_ROWS = 2000
    CHALLENGER_ROW_INTERVAL = 2
    ROWS_AFTER_FAILURE = 200        # rows between a failed challenger and the next one
    ROWS_BEFORE_RESTART = 1000      # rows before a new warning restarts a challenger


# LocalGrower: a growing tree in which a drift replaces only the affected subtree.
#
# A `NodeMonitor` at every node bets that its error rate rises. After its warning a
# second tree learns the rows of this node and bets that it is more accurate
# (`Challenger`). If it succeeds, it replaces the subtree, and the node keeps its id; if it
# does not succeed in time, it is discarded. A false warning therefore costs only time.
# While the errors at a node do not rise, the probability that its subtree is ever replaced
# by a tree that is not more accurate is at most delta, for any number of challengers.
#
# A node below a challenger's node gets no challenger, and the number of challengers is
# limited. The node may be a leaf, whose statistics are then replaced. Removed nodes stay
# in the arrays of the tree, so that the others keep their ids; see `nodes/_derived.py`.
cdef class LocalGrower(MonitoredGrower):
    """Grow a tree row by row, and challengers of subtrees that may have drifted.

    The settings' ``drift`` has the confidence that a replacement of a subtree requires.
    """

    cdef NodeMonitors monitors
    cdef Challenger first           # of the linked list, or None
    cdef uint64_t slots             # bit mask of the slots in use
    cdef int64_t n_started
    cdef int64_t n_challenger_rows  # rows learned by challengers that were not successful
    cdef intp_t max_slots
    cdef float64_t delta
    cdef intp_t warned              # node with a warning after the last row, or -1

    def __init__(self, Tree tree, recipe):
        # delta: see Challenger; unlabeled rows are not supported
        if not hasattr(recipe.settings.drift, "delta") or recipe.X_pool is not None:
            raise corrupt_state("growing tree")
        MonitoredGrower.__init__(self, tree, recipe)
        self.delta = recipe.settings.drift.delta
        self.monitors = NodeMonitors(tree.n_classes)
        self.limit.monitor_bytes = self.monitors.node_bytes()
        self.max_slots = MAX_SLOTS
        if self.limit.max_bytes != NO_LIMIT:
            self.max_slots = MAX_SLOTS_WITH_LIMIT
            # ValueError if the limit is too small for them
            self.limit.check_challengers(MAX_SLOTS_WITH_LIMIT)

    @property
    def n_bytes(self):
        """Bytes of the trees, of their leaves' statistics, and of the monitors."""
        n_monitor_bytes = self.tree.node_count * self.monitors.node_bytes()
        return MonitoredGrower.n_bytes.__get__(self) + n_monitor_bytes

    def counts_since(self):
        """Class counts of the rows at each node since it was made."""
        return self.monitors.counts(self.tree.node_count)

    cdef int monitor_row(
        self, bint wrong, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil:
        # Update the monitors with a row, and let challengers learn it.
        cdef uint64_t path = 0
        cdef uint64_t left
        self.monitors.reserve(self.tree.node_count)
        self.warned = self.monitors.update(
            self.tree.parent, self.row_leaf, wrong, y, weight, &path
        )
        left = path
        while left != 0:        # count the challengers in the mask
            self.n_challenger_rows += 1
            left &= left - 1
        if path != 0 and self.first.learn(path, x, y, weight, wrong, self.finite):
            with gil:
                self.retry_change(RESOLVE)
        elif (
            self.warned >= 0 and self.slots != (<uint64_t> 1 << self.max_slots) - 1
            and (self.n_challenger_rows - INITIAL_CHALLENGER_ROWS) * CHALLENGER_ROW_INTERVAL
            <= self.n_rows_seen
        ):
            with gil:
                self.retry_change(START)
        return 0

    cdef list background_growers(self):
        cdef Challenger entry = self.first
        growers = []
        while entry is not None:
            growers.append(entry.grower)
            entry = entry.next
        return growers

    cdef int change(self, Change what) except -1:
        if what == START:
            self._start_challenger(self.warned)
        else:
            self._decide()
        return 0

    def _start_challenger(self, intp_t node):
        # Start a challenger at a node, without rows.
        cdef NodeMonitor* monitor = &self.monitors.at[node]
        cdef int64_t slot = 0
        cdef int64_t k = monitor.n_started + 1
        if monitor.slot > 0:
            self._abandon(self._challenger_at(node))
        while self.slots >> slot & 1:
            slot += 1
        # 0.0: without shrinkage of the class probabilities; `keeps_`: what a node stores
        tree = Tree(
            self.tree.n_features, self.tree.n_classes, self.tree.class_weight,
            self.tree.keeps_evidence, 0.0, self.tree.keeps_costs,
            self.tree.keeps_competitors, self.tree.keeps_stops,
        )
        tree._add_root()
        cdef Grower grower = self._grower_at(tree, node, self.n_started)
        self.init_new_grower(grower)
        cdef Challenger challenger = Challenger(
            grower, node, slot, self.n_started, log(2 * k * (k + 1) / self.delta),
            min(max(monitor.n_rows, <int64_t> MIN_CHALLENGER_ROWS), <int64_t> MAX_CHALLENGER_ROWS),
            past_error_limit(monitor),
        )
        # nothing fails from here on
        monitor.n_started = k
        monitor.wealth = 1.0
        monitor.next_start = monitor.n_rows + ROWS_BEFORE_RESTART
        self._take_slot(challenger)

    cdef void _take_slot(self, Challenger challenger) noexcept:
        # Add a challenger to the linked list, and mark its slot as used.
        cdef Challenger last = self.first
        self.n_started = max(self.n_started, challenger.serial + 1)
        self.slots |= <uint64_t> 1 << challenger.slot
        self.monitors.at[challenger.node].slot = challenger.slot + 1
        if last is None:
            self.first = challenger
            return
        while last.next is not None:
            last = last.next
        last.next = challenger

    cdef Grower _grower_at(self, Tree tree, intp_t node, int64_t serial):
        # A grower for a challenger, without leaves. Its seed is a hash of 62 bits.
        seed = mix(<uint64_t> self.recipe.seed ^ mix(GOLDEN ^ <uint64_t> serial)) >> 2
        cdef Grower grower = self.make_second_grower(tree, seed, MAX_SLOTS_WITH_LIMIT)
        grower.depth_above = self.tree.depth[node]  # for limits of the depth
        return grower

    def _decide(self):
        # Replace subtrees, or abandon challengers, that have a verdict.
        cdef Challenger challenger = self.first
        while challenger is not None:
            if challenger.verdict == WON and self._has_capacity_for(challenger):
                self._replace_subtree(challenger)
            elif challenger.verdict != UNDECIDED:
                self._abandon(challenger)
            challenger = challenger.next

    def _has_capacity_for(self, Challenger challenger):
        # Whether the limits of leaves and memory permit the replacement; that of memory as if no
        # node were removed. `n_mapped_codes`: codes of the branch's nominal splits.
        cdef Tree branch = challenger.grower.tree
        cdef intp_t n_leaves = self.leaves.n_leaves + branch.n_leaves
        cdef intp_t node = challenger.node
        while node >= 0:
            n_leaves -= self.tree.n_children[node] == 0
            # the next node of the subtree, or -1
            node = self.tree.next_below(challenger.node, node)
        return n_leaves <= self.settings.max_leaves and self.limit.has_capacity(
            self.tree, self.leaves, branch.node_count, branch.n_mapped_codes
        )

    def _challenger_at(self, intp_t node):
        cdef Challenger entry = self.first
        while entry.node != node:
            entry = entry.next
        return entry

    def _abandon(self, Challenger challenger):
        cdef NodeMonitor* monitor = &self.monitors.at[challenger.node]
        monitor.wealth = 1.0
        monitor.next_start = monitor.n_rows + ROWS_AFTER_FAILURE
        self._release_slot(challenger)

    cdef void _release_slot(self, Challenger removed) noexcept:
        cdef Challenger before = self.first
        self.slots &= ~(<uint64_t> 1 << removed.slot)
        self.monitors.at[removed.node].slot = 0
        if before is removed:
            self.first = removed.next
            return
        while before.next is not removed:
            before = before.next
        before.next = removed.next

    def _replace_subtree(self, Challenger challenger):
        cdef intp_t node = challenger.node
        cdef intp_t n_before = self.tree.node_count     # nodes before the replacement
        cdef Grower other = challenger.grower
        cdef Tree tree = self.tree._with_subtree(node, other.tree)
        cdef Challenger entry = self.first
        tree.start_growth(self.tree.criterion, self.lock, self.settings.max_depth)
        self.leaves.reserve(tree.node_count)
        self.monitors.reserve(tree.node_count)
        self._drifts.append((self.time_of_row(), node))
        # nothing fails from here on
        self.leaves.replace_subtree(node, tree, other.leaves, n_before)
        self.n_challenger_rows -= challenger.n_rows      # it was successful
        self.tree = tree
        self.monitors.start(node)
        self.source.all_integer = self.source.all_integer and other.source.all_integer
        self.max_rows = max(self.max_rows, other.max_rows)
        self.limit.update_full(tree, self.leaves)   # whether memory is too full for splits
        while entry is not None:
            if entry is challenger or tree.parent[entry.node] == REMOVED:
                self._release_slot(entry)
            entry = entry.next

    def _state(self):
        cdef Challenger entry = self.first
        challengers = []
        while entry is not None:
            challengers.append((
                entry.node, entry.slot, entry.serial, entry.numbers(),
                write_nodes(entry.grower.tree), entry.grower.__getstate__(),
            ))
            entry = entry.next
        return MonitoredGrower._state(self)._replace(
            monitors=self.monitors.write(self.tree.node_count), challengers=tuple(challengers),
            n_challenger_rows=self.n_challenger_rows, n_started=self.n_started,
        )

    def _load(self, state):
        if state.monitors is None:
            raise corrupt_state("growing tree")
        MonitoredGrower._load(self, state._replace(monitors=None, challengers=()))
        self.monitors.read(state.monitors, self.tree.node_count)
        self.n_challenger_rows, self.n_started = state.n_challenger_rows, state.n_started
        self.first, self.slots = None, 0
        for entry in state.challengers:
            self._load_challenger(entry)
        if self.monitors.n_challengers() != len(state.challengers):
            raise corrupt_state("growing tree")

    def _load_challenger(self, state):
        # Load a tree of the same recipe, because its leaves may be moved to this tree.
        if not (isinstance(state, tuple) and len(state) == 6):
            raise corrupt_state("growing tree")
        node, slot, serial, numbers, nodes, growth = state
        if not (
            all([type(value) is int for value in (node, slot, serial)])
            and 0 <= node < self.tree.node_count and self.tree.parent[node] != REMOVED
            and 0 <= slot < self.max_slots and not self.slots >> slot & 1
            and 0 <= serial < self.n_started
            and self.monitors.at[node].slot == slot + 1
        ):
            raise corrupt_state("growing tree")
        tree = read_nodes(Tree, nodes)
        if tree._arguments() != self.tree._arguments():
            raise corrupt_state("growing tree")
        grower = with_state(self._grower_at(tree, node, serial), growth)
        # the last three numbers are replaced by those of the state
        challenger = Challenger(grower, node, slot, serial, 0.0, 0, 0.5)
        challenger.set_numbers(numbers)
        self._take_slot(challenger)
