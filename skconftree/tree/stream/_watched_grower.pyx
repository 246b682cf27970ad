"""Growth of a tree that drifts replace."""

import numpy as np

from skconftree.drift._detector import read_detector, write_detector
from skconftree.tree.nodes._plain import read_nodes, write_nodes
from skconftree.tree.stream._grower import with_state
from skconftree.tree.stream._grower_state import damaged
from skconftree.tree.stream._recipe import read_recipe

from skconftree.drift._detector cimport DRIFT, STABLE, WARNING
from skconftree.tree._settings cimport NO_LIMIT
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._draws cimport mix
from skconftree.utils._spare_memory cimport give_way
from skconftree.utils._typedefs cimport intp_t, uint64_t

cdef enum:
    ATTEMPTS = 100      # a handler that interrupts each of them has come to stay


cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15


cdef uint64_t _next_seed(uint64_t seed) noexcept:
    # Of the tree that takes the place of the one with this seed.
    return mix(seed ^ GOLDEN) >> 2


def read_watched_grower(tree, values, state):
    """Make a watched grower from what was in a pickle, as `read_grower` does."""
    return with_state(WatchedGrower(tree, read_recipe(values)), state)


cdef class WatchedGrower(Grower):
    """Grows a tree row by row, and another one from each warning of a drift on.

    The settings' ``drift`` makes the detector.
    """

    def __init__(self, Tree tree, recipe):
        if recipe.settings.drift is None:
            raise damaged()
        Grower.__init__(self, tree, recipe)
        self.detector = recipe.settings.drift.kernel()
        self.found = []

    @property
    def drifts(self):
        """Row by which each drift was found, and the root, whose tree it replaced."""
        return tuple([(row, 0) for row in self.found])

    @property
    def n_bytes(self):
        """Bytes of the trees and of what their leaves remember."""
        cdef intp_t total = Grower.n_bytes.__get__(self)
        if self.background is not None:
            total += self.background.n_bytes
        return total

    def reserve_codes(self, intp_t n_codes):
        """Make room for tests of features with so many categories, in both trees."""
        Grower.reserve_codes(self, n_codes)
        if self.background is not None:
            self.background.reserve_codes(n_codes)

    cdef int limit_memory(self) except -1:
        if self.background is not None:
            self.background.limit_memory()
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
            self._watch(guess != y, x, y, weight)
        return 0

    cdef int _watch(
        self, bint error, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil:
        cdef int state = self.detector.update(error, weight)
        cdef bint lasting = self.detector.lasting
        if state == STABLE and not lasting:
            if self.background is not None:
                with gil:
                    self.background = None
            return 0
        if state != STABLE and (
            self.background is None or (lasting and state == WARNING)
        ):
            with gil:
                self.background = self._background_or_none()
        if self.background is None:
            return 0
        self.background.finite = self.finite
        self.background.leaving = self.leaving
        self.background.tree.version += 1
        self.background.learn_row(x, y, weight, NULL, NULL)
        if state == DRIFT:
            with gil:
                self.found.append(self.time_of_row())
                self._become(self.background)
                self.background = None
        return 0

    cdef Grower _background_or_none(self):
        # Python runs signal handlers here, in the middle of a row. What one of them
        # raises is held until the next boundary, and the tree is made after all. What
        # fails again and again will do so with the next row, too.
        cdef intp_t attempt = 0
        while attempt < ATTEMPTS:
            try:
                return self._new_background()
            except MemoryError:
                give_way()
            except BaseException as error:
                attempt += 1
                if self.held is None:
                    self.held = error
        return None

    def _new_background(self):
        # An empty tree of the same kind.
        tree = Tree(
            self.tree.n_features, self.tree.n_classes, self.tree.class_weight,
            self.tree.keeps_evidence,
        )
        tree._add_root()
        grower = self._second(tree)
        grower.reserve_codes(self.splitter.tests.sets.room - 1)
        grower.open_leaves()
        waiting = self.unlabelled()
        if waiting is not None and not waiting.all():
            grower.leave_out(np.flatnonzero(~waiting).astype(np.int32))
        return grower

    def _second(self, Tree tree):
        # What grows a tree in the background, and watches nothing; without leaves yet.
        settings = self.recipe.settings.replace(drift=None)
        seed = self.recipe.seed
        if self.recipe.in_forest:
            seed = _next_seed(seed)
        self.successor = self.recipe._replace(seed=seed)
        if self.limit.max_bytes != NO_LIMIT:
            settings = settings.replace(max_bytes=self.limit.max_bytes)
        return Grower(tree, self.successor._replace(settings=settings))

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
        self.most_rows = max(self.most_rows, other.most_rows)
        self.tree.version += 1
        return 0

    def _state(self):
        background = None
        if self.background is not None:
            background = (write_nodes(self.background.tree), self.background.__getstate__())
        return Grower._state(self)._replace(
            detector=write_detector(self.detector), background=background,
            drifts=self.drifts,
        )

    cdef object _reader(self):
        return read_watched_grower

    def _take(self, state):
        if state.detector is None:
            raise damaged()
        Grower._take(self, state._replace(detector=None, background=None, drifts=()))
        self.found = [row for row, _ in state.drifts]
        self.detector = read_detector(type(self.detector), state.detector)
        self.background = None
        if state.background is not None:
            self.background = self._take_second(state.background)

    def _take_second(self, background):
        # Made from the same recipe, not believed: leaves will be traded.
        if not (isinstance(background, tuple) and len(background) == 2):
            raise damaged()
        tree, state = background
        tree = read_nodes(Tree, tree)
        if (
            (tree.n_features, tree.n_classes)
            != (self.tree.n_features, self.tree.n_classes)
        ):
            raise damaged()
        return with_state(self._second(tree), state)
