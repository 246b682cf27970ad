"""Growth of a tree that watches its errors, and grows others beside itself."""

from skconftree.utils._codec import damaged


from skconftree.tree._settings cimport NO_LIMIT
from skconftree.utils._spare_memory cimport give_way

cdef enum:
    ATTEMPTS = 100      # between boundaries: what fails each time has come to stay


cdef class WatchingGrower(Grower):
    """Grows a tree row by row, and others beside it; the settings have a ``drift``."""

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

    # -- learning -----------------------------------------------------------------

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

    # -- trees beside ---------------------------------------------------------------

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

    # -- state --------------------------------------------------------------------

    def _state(self):
        return Grower._state(self)._replace(drifts=self.drifts)

    def _take(self, state):
        Grower._take(self, state._replace(drifts=()))
        self.found = list(state.drifts)
