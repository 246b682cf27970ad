"""Growth of a tree that drifts replace."""

import numpy as np

from skconftree.drift._detector import read_detector, write_detector
from skconftree.tree.nodes._plain import read_nodes, write_nodes
from skconftree.tree.stream._grower import with_state
from skconftree.utils._codec import damaged

from skconftree.drift._detector cimport DRIFT, STABLE, WARNING
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.stream._watching_grower cimport BEGIN, Change
from skconftree.utils._draws cimport mix
from skconftree.utils._typedefs cimport float32_t, float64_t, label_t, uint64_t

cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15


cdef class ReplacingGrower(WatchingGrower):
    """Grows a tree row by row, and another one from each warning of a drift on.

    The settings' ``drift`` makes the detector.
    """

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
                self._hold_error()
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

    cdef int _hold_error(self) except -1:
        # What the detector has raised is raised at the next boundary.
        error = self.detector.release()
        if self.held is None:
            self.held = error
        return 0

    cdef list others(self):
        return [] if self.background is None else [self.background]

    cdef int change(self, Change what) except -1:
        self.background = self._new_background()
        return 0

    def _new_background(self):
        # An empty tree of the same kind.
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
        return grower

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
        self.most_rows = max(self.most_rows, other.most_rows)
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
