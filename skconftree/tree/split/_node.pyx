"""The node whose tests are compared."""

from skconftree.utils._draws cimport mix
from skconftree.utils._inline cimport ROUNDING


cdef class RootStats:
    """What is known of the rows of one tree, beside the settings of its growth.

    The defaults are those of a tree that grows row by row. Weights in `distinct` are
    whole multiples of 2**-20, so that sums do not depend on their order, and 0 of a row
    without label.
    """

    def __init__(
        self, intp_t n_features, intp_t n_classes, *, class_weight=None,
        n_categories=None, distinct=None, uint64_t seed=0, intp_t root_id=0,
        intp_t moved=0, bint has_pool=False, bint integral=True, bint weighted=True,
        intp_t largest_count=0, float64_t weight=0.0, float64_t total_weight=1.0,
        float64_t min_weight=1.0, float64_t min_seen_weight=0.0,
    ):
        self.n_features = n_features
        self.n_classes = n_classes
        self.class_weight = class_weight
        self.n_categories = n_categories
        self.distinct = distinct
        self.seed = seed
        self.root_id = root_id
        self.moved = moved
        self.has_pool = has_pool
        self.integral = integral
        self.weighted = weighted
        self.largest_count = largest_count
        self.weight = weight
        self.total_weight = total_weight
        self.min_weight = min_weight
        self.min_seen_weight = min_seen_weight


cdef class ExaminedNode:
    """A node and its scales of class counts."""

    def __init__(self, GrowthSettings settings not None, RootStats root not None):
        self.settings = settings
        self.root = root
        self.n_features = root.n_features
        self.n_classes = root.n_classes
        self.has_pool = root.has_pool
        self.by_volume = settings.by_volume
        self.integral = root.integral
        self.min_weight = root.min_weight
        self.min_seen_weight = root.min_seen_weight
        self.seed = root.seed
        self.root_id = root.root_id
        self.moved = root.moved
        self.time = root.weight
        self.cuts_only = root.n_categories is None
        if root.class_weight is not None:
            self.class_weight = &root.class_weight[0]
        self.without_repeats = root.distinct is not None
        self.rescales = self.class_weight != NULL or self.without_repeats
        self.share = 1.0
        self.filters = (
            root.weighted and not self.integral    # whole weights are 1 at least
            or self.min_weight > 1.0 or self.min_seen_weight > 0.0
        )
        self.arena = Arena()
        self.scales = <float64_t*> self.arena.take_zeros(
            2 * self.n_classes, sizeof(float64_t)
        )

    cdef void begin(self, NodeRecord* record, const float64_t* counts) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t id = record.id + self.moved if record.id > 0 else self.root_id
        cdef intp_t c
        self.record = record
        self.counts = counts
        self.key = self.draw_key = self.visit_key = mix(self.seed ^ mix(id))
        self.n_repeated = record.end - record.start
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
        self.facts.pool = record.pool
        self.facts.time = self.time
        self.facts.n_attributes = self.n_features
        self.facts.n_varying = 0
        self.facts.n_attribute_tests = 0.0
        self.facts.log_attribute_tests = 0.0
        self.facts.attempt = 1
        self.facts.depth = record.depth
        self.facts.cuts_only = self.cuts_only
        self.facts.integral = self.integral
        if self.class_weight != NULL:
            self.seen.counts = self.scales
            self.seen.n = self.to_seen(counts, self.scales)
            self.seen.integral = False
            self.to_bound(counts, self.scales + K)
            self.facts.counts = self.scales + K
            self.facts.integral = False

    cdef void leave_out_repeats(self, float64_t weight) noexcept nogil:
        # Tell the bound this weight of the node, with the proportions that it has.
        cdef float64_t* counts = self.scales + self.n_classes
        self.share = weight / self.n
        self.to_bound(self.counts, counts)
        self.facts.counts = counts
        self.facts.integral = False
        self.facts.n = self.n * self.share
        self.facts.n_fresh = self.facts.n
        self.facts.pool = self.record.pool * self.share

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

    cdef void to_bound(self, const float64_t* counts, float64_t* scaled) noexcept nogil:
        # What the bound sees: the same proportions, the weight as it is or its share.
        cdef float64_t n = 0.0
        cdef float64_t seen, factor
        cdef intp_t c
        for c in range(self.n_classes):
            n += counts[c]
        seen = self.to_seen(counts, scaled)
        if self.rescales and seen > 0.0:
            factor = self.share * (n / seen)
            for c in range(self.n_classes):
                scaled[c] *= factor

    cdef void pair_to_bound(
        self, const float64_t* left, float64_t* pair
    ) noexcept nogil:
        # Both children of a test, [2, n_classes], given the left one as it is.
        cdef intp_t K = self.n_classes
        cdef intp_t c
        for c in range(K):
            # fractional weights leave a rounding where nothing is left
            pair[K + c] = self.counts[c] - left[c]
            if pair[K + c] <= ROUNDING * self.counts[c]:
                pair[K + c] = 0.0
        self.to_bound(left, pair)
        self.to_bound(pair + K, pair + K)

    cdef void children_to_seen(self, const Children* children) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t z
        for z in range(children.n_outcomes):
            self.to_seen(children.counts + z * K, children.scaled + z * K)

    cdef void children_to_bound(self, const Children* children) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t z
        for z in range(children.n_outcomes):
            self.to_bound(children.counts + z * K, children.scaled + z * K)

    cdef float64_t seen_weight(
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

    cdef bint is_small(self, const float64_t* counts) noexcept nogil:
        # Whether a child is below a smallest weight.
        cdef float64_t n = 0.0
        cdef intp_t c
        for c in range(self.n_classes):
            n += counts[c]
        return n < self.min_weight or (
            self.min_seen_weight > 0.0
            and self.seen_weight(counts, n) < self.min_seen_weight
        )
