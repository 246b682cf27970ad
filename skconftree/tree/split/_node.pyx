"""A node whose features are walked one by one, wherever its rows come from."""

from libc.stdlib cimport calloc, free

from skconftree.tree._settings cimport GrowthSettings


cdef class RootFacts:
    """What is known of the rows of one tree, beside the settings of its growth.

    The defaults are those of a tree that grows row by row.

    Parameters
    ----------
    n_features, n_classes : int
    class_weight : ndarray of shape (n_classes,), float64, or None
    n_categories : ndarray of shape (n_features,), int32, or None
        0 for a numeric feature. None: all are numeric.
    seed : int
    has_pool : bool
        Whether there are rows without label that count.
    integral : bool
        Whether all weights are whole numbers.
    weighted : bool
        Whether weights are no counts.
    largest_count : int
        No count is larger, if they are.
    weight, total_weight : float
        Of the labelled rows, and the same reweighted by class.
    min_weight, min_seen_weight : float
        Of a child, and the same reweighted by class.
    """

    def __init__(
        self, intp_t n_features, intp_t n_classes, *, class_weight=None,
        n_categories=None, uint64_t seed=0, bint has_pool=False, bint integral=True,
        bint weighted=True, intp_t largest_count=0, float64_t weight=0.0,
        float64_t total_weight=1.0, float64_t min_weight=1.0,
        float64_t min_seen_weight=0.0,
    ):
        self.n_features = n_features
        self.n_classes = n_classes
        self.class_weight = class_weight
        self.n_categories = n_categories
        self.seed = seed
        self.has_pool = has_pool
        self.integral = integral
        self.weighted = weighted
        self.largest_count = largest_count
        self.weight = weight
        self.total_weight = total_weight
        self.min_weight = min_weight
        self.min_seen_weight = min_seen_weight


cdef class NodeScan(Scan):
    """A node and its scales of class counts; base class of the splitters.

    Parameters
    ----------
    settings : GrowthSettings
    root : RootFacts
    """

    def __init__(self, GrowthSettings settings, RootFacts root):
        super().__init__(root.n_classes)
        cdef intp_t K = root.n_classes
        self.n_features = root.n_features
        self.has_pool = root.has_pool
        self.by_volume = settings.by_volume
        self.integral = root.integral
        self.min_weight = root.min_weight
        self.min_seen_weight = root.min_seen_weight
        self.seed = root.seed
        self.time = root.weight
        self._class_weight = root.class_weight
        if root.class_weight is not None:
            self.class_weight = &root.class_weight[0]
        self.filters = (
            root.weighted and not self.integral    # whole weights are 1 at least
            or self.min_weight > 1.0 or self.min_seen_weight > 0.0
        )
        self.node_scaled = <float64_t*> calloc(2 * K, sizeof(float64_t))
        if self.node_scaled == NULL:
            raise MemoryError()
        self.cuts_only = True
        self.n_outcomes = 2
        self.reserve_outcomes(2)

    def __dealloc__(self):
        free(self.node_scaled)
        self._free_outcomes()

    cdef void _free_outcomes(self) noexcept:
        free(self.children)
        free(self.scaled)
        free(self.child_pool)
        free(self.child_rows)
        free(self.n_labelled)

    cdef void reserve_outcomes(self, intp_t room) except *:
        # Arrays for the children of a test with this many; forgets what they hold.
        cdef intp_t K = self.n_classes
        if room <= self.outcome_room:
            return
        self._free_outcomes()
        self.outcome_room = 0
        self.children = <float64_t*> calloc(room * K, sizeof(float64_t))
        self.scaled = <float64_t*> calloc(room * K, sizeof(float64_t))
        self.child_pool = <float64_t*> calloc(room, sizeof(float64_t))
        self.child_rows = <intp_t*> calloc(room, sizeof(intp_t))
        self.n_labelled = <intp_t*> calloc(room, sizeof(intp_t))
        if (
            self.children == NULL or self.scaled == NULL or self.child_pool == NULL
            or self.child_rows == NULL or self.n_labelled == NULL
        ):
            raise MemoryError()
        self.outcome_room = room

    cdef void begin(self, NodeRecord* node, const float64_t* counts) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t c
        self.node = node
        self.counts = counts
        self.n_repeated = node.end - node.start
        self.n = 0.0
        for c in range(K):
            self.n += counts[c]
        self.seen.n_classes = K
        self.seen.counts = counts
        self.seen.n = self.n
        self.seen.integral = self.integral
        self.facts.n_classes = K
        self.facts.counts = counts
        self.facts.n = self.n
        self.facts.n_fresh = self.n
        self.facts.pool = node.pool
        self.facts.time = self.time
        self.facts.n_attributes = self.n_features
        self.facts.n_varying = 0
        self.facts.n_attribute_tests = 0.0
        self.facts.log_attribute_tests = 0.0
        self.facts.attempt = 1
        self.facts.depth = node.depth
        self.facts.cuts_only = self.cuts_only
        self.facts.integral = self.integral
        if self.class_weight != NULL:
            self.to_seen(counts, self.node_scaled)
            self.seen.counts = self.node_scaled
            self.seen.n = 0.0
            for c in range(K):
                self.seen.n += self.seen.counts[c]
            self.seen.integral = False
            self.to_bound(counts, self.node_scaled + K)
            self.facts.counts = self.node_scaled + K
            self.facts.integral = False

    # -- what a source of rows fills in -------------------------------------------

    cdef intp_t walk(self, intp_t feature) noexcept nogil:
        # Emit the tests of one feature; returns 0 if it is constant in the node.
        return 0

    cdef void count_children(self, intp_t feature, intp_t cut) noexcept nogil:
        # Set everything that is said about the children of one test.
        pass

    cdef float64_t threshold(self, intp_t feature, intp_t cut) noexcept nogil:
        return 0.0

    cdef float64_t left_volume(self, intp_t feature, intp_t cut) noexcept nogil:
        return 0.0

    # -- blocks of tests ----------------------------------------------------------

    cdef void take(self, intp_t size) noexcept nogil:
        cdef intp_t i
        if self.filters:
            size = self._drop_small_children(size)
        if size == 0:
            return
        if self.by_volume and not self.nominal:
            for i in range(size):
                self.pool_left[i] = self.left_volume(self.feature, self.position[i])
        self.tests.size = size
        self.tests.nested = not self.nominal
        self.tests.left = self.left
        self.tests.n_left = self.n_left
        self.tests.pool_left = self.pool_left if self.has_pool else self.n_left
        self.tests.phi_left = self.phi_left if self.additive else NULL
        self.tests.phi_right = self.phi_right if self.additive else NULL
        self.reduce(size)

    cdef void reduce(self, intp_t size) noexcept nogil:
        # `tests` holds the next `size` tests of the feature; position holds their cuts.
        pass

    cdef intp_t _drop_small_children(self, intp_t size) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t kept = 0
        cdef intp_t i, c
        cdef float64_t seen
        for i in range(size):
            if (
                self.n_left[i] < self.min_weight
                or self.n - self.n_left[i] < self.min_weight
            ):
                continue
            if self.min_seen_weight > 0.0:
                seen = self._seen_weight(self.left + i * K, self.n_left[i])
                if (
                    seen < self.min_seen_weight
                    or self.seen.n - seen < self.min_seen_weight
                ):
                    continue
            for c in range(K):
                self.left[kept * K + c] = self.left[i * K + c]
            self.n_left[kept] = self.n_left[i]
            self.pool_left[kept] = self.pool_left[i]
            self.phi_left[kept] = self.phi_left[i]
            self.phi_right[kept] = self.phi_right[i]
            self.position[kept] = self.position[i]
            kept += 1
        return kept

    cdef inline float64_t _seen_weight(
        self, const float64_t* counts, float64_t n
    ) noexcept nogil:
        # Sum of reweighted counts. Additive walks have no counts, nor class weights.
        cdef float64_t seen = 0.0
        cdef intp_t c
        if self.class_weight == NULL:
            return n
        for c in range(self.n_classes):
            seen += counts[c] * self.class_weight[c]
        return seen

    # -- scales of class counts ---------------------------------------------------

    cdef float64_t to_seen(
        self, const float64_t* counts, float64_t* seen
    ) noexcept nogil:
        # What the criterion sees; returns its sum. May work in place.
        cdef float64_t n = 0.0
        cdef intp_t c
        for c in range(self.n_classes):
            seen[c] = counts[c]
            if self.class_weight != NULL:
                seen[c] *= self.class_weight[c]
            n += seen[c]
        return n

    cdef void to_bound(
        self, const float64_t* counts, float64_t* scaled
    ) noexcept nogil:
        # What the bound sees: the same proportions, the weight as it is.
        cdef float64_t n = 0.0
        cdef float64_t seen
        cdef intp_t c
        for c in range(self.n_classes):
            n += counts[c]
        seen = self.to_seen(counts, scaled)
        if self.class_weight != NULL and seen > 0.0:
            for c in range(self.n_classes):
                scaled[c] *= n / seen
