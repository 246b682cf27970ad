"""Growth of a tree that drifts replace."""

from copy import copy

from skconftree.tree._grower_state import damaged

from skconftree.drift._ddm cimport DRIFT, STABLE
from skconftree.tree._tree cimport Tree


cdef class WatchedGrower(Grower):
    """Grows a tree row by row, and another one from each warning of a drift on.

    Parameters
    ----------
    *arguments
        Those of `Grower`. The recipe's ``drift`` makes the detector.
    """

    def __init__(self, *arguments):
        Grower.__init__(self, *arguments)
        self.detector = self.recipe["drift"].kernel()

    @property
    def n_drifts(self):
        """Drifts found, each of which replaced the tree."""
        return self.detector.n_drifts

    @property
    def n_bytes(self):
        """Bytes of the trees and of what their leaves remember."""
        cdef intp_t total = Grower.n_bytes.__get__(self)
        if self.background is not None:
            total += self.background.n_bytes
        return total

    cdef int limit_memory(self) except -1:
        if self.background is not None:
            self.background.limit_memory()
        return Grower.limit_memory(self)

    cdef int learn_row(
        self, const float32_t* x, label_t y, float64_t weight, intp_t* foretold
    ) except -1 nogil:
        cdef intp_t guess = 0
        Grower.learn_row(self, x, y, weight, &guess)
        if foretold != NULL:
            foretold[0] = guess
        if weight > 0.0:
            self._watch(guess != y, x, y, weight)
        return 0

    cdef int _watch(
        self, bint error, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil:
        cdef int state = self.detector.update(error)
        if state == STABLE:
            if self.background is not None:
                with gil:
                    self.background = None
            return 0
        if self.background is None:
            with gil:
                self.background = self._sapling()
        self.background.finite = self.finite
        self.background.learn_row(x, y, weight, NULL)
        if state == DRIFT:
            with gil:
                self._become(self.background)
                self.background = None
        return 0

    def _sapling(self):
        # An empty tree of the same kind, which watches nothing.
        tree = Tree(self.tree.n_features, self.tree.n_classes, self.tree.class_weight)
        tree.plant()
        options = {**self.recipe["options"], "max_bytes": self.limit.max_bytes}
        grower = self.make(
            tree, {**self.recipe, "options": options, "drift": None}
        )
        grower.open_leaves()
        return grower

    cdef int _become(self, Grower other) except -1:
        # Trade trees; the other one, which is given up, gets ours.
        self.tree, other.tree = other.tree, self.tree
        self.tree.lock = self.lock
        self.leaves.trade(other.leaves)
        self.weight_seen = other.weight_seen
        self.total_weight = other.total_weight
        self.splitter.whole = other.splitter.whole
        self.limit.full = other.limit.full
        self.tree.stale = True
        return 0

    def _state(self):
        return Grower._state(self)._replace(
            detector=copy(self.detector), background=copy(self.background)
        )

    def _take(self, state):
        if state.detector is None or not (
            state.background is None or isinstance(state.background, Grower)
        ):
            raise damaged()
        Grower._take(self, state._replace(detector=None, background=None))
        self.detector = state.detector
        self.background = state.background
