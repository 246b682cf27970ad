"""The node whose candidate splits are compared."""

from skconftree.criteria._score cimport sum_of
from skconftree.utils._draws cimport mix
from skconftree.utils._inline cimport ROUNDING


cdef class RootStats:
    """Statistics of the rows of one tree, in addition to the settings of its growth.

    The defaults are those of an incrementally trained tree. Weights in `distinct` are
    integer multiples of 2**-20, so that sums do not depend on their order, and 0 for
    unlabeled rows.
    """

    def __init__(
        self, intp_t n_features, intp_t n_classes, *, class_weight=None,
        n_categories=None, distinct=None, uint64_t seed=0, intp_t root_id=0,
        intp_t id_offset=0, bint has_pool=False, bint integral=True, bint weighted=True,
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
        self.id_offset = id_offset
        self.has_pool = has_pool
        self.integral = integral
        self.weighted = weighted
        self.largest_count = largest_count
        self.weight = weight
        self.total_weight = total_weight
        self.min_weight = min_weight
        self.min_seen_weight = min_seen_weight


cdef class ExaminedNode:
    """A node and its class counts on the scales of criterion and bound."""

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
        self.time = root.weight
        self.cuts_only = root.n_categories is None
        if root.class_weight is not None:
            self.class_weight = &root.class_weight[0]
        self.without_repeats = root.distinct is not None
        self.rescales = self.class_weight != NULL or self.without_repeats
        self.share = 1.0
        self.filters = (
            root.weighted and not self.integral    # integer weights are at least 1
            or self.min_weight > 1.0 or self.min_seen_weight > 0.0
        )
        self.arena = Arena()
        self.scales = <float64_t*> self.arena.take_zeros(
            2 * self.n_classes, sizeof(float64_t)
        )

    cdef void begin(self, NodeRecord* record, const float64_t* counts) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t id = self.root.root_id
        cdef intp_t c
        if record.id > 0:
            id = record.id + self.root.id_offset
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
        self.stats.n_classes = K
        self.stats.counts = counts
        self.stats.n = self.n
        self.stats.n_fresh = self.n
        self.stats.pool = record.pool
        self.stats.time = self.time
        self.stats.n_attributes = self.n_features
        self.stats.n_varying = 0
        self.stats.n_attribute_tests = 0.0
        self.stats.log_attribute_tests = 0.0
        self.stats.attempt = 1
        self.stats.depth = record.depth
        self.stats.cuts_only = self.cuts_only
        self.stats.integral = self.integral
        if self.class_weight != NULL:
            self.seen.counts = self.scales
            self.seen.n = self.to_seen(counts, self.scales)
            self.seen.integral = False
            self.to_bound(counts, self.scales + K)
            self.stats.counts = self.scales + K
            self.stats.integral = False

    cdef void leave_out_repeats(self, float64_t weight) noexcept nogil:
        # Use this weight of the node on the scale of the bound; its proportions are kept.
        cdef float64_t* counts = self.scales + self.n_classes
        self.share = weight / self.n
        self.to_bound(self.counts, counts)
        self.stats.counts = counts
        self.stats.integral = False
        self.stats.n = self.n * self.share
        self.stats.n_fresh = self.stats.n
        self.stats.pool = self.record.pool * self.share

    cdef float64_t to_seen(
        self, const float64_t* counts, float64_t* seen
    ) noexcept nogil:
        # Convert counts to the scale of the criterion; return their sum. May be in place.
        cdef float64_t n = 0.0
        cdef intp_t c
        for c in range(self.n_classes):
            seen[c] = counts[c]
            if self.class_weight != NULL:
                seen[c] *= self.class_weight[c]
            n += seen[c]
        return n

    cdef void to_bound(self, const float64_t* counts, float64_t* scaled) noexcept nogil:
        # Convert counts to the scale of the bound: the proportions of the criterion's scale,
        # with the original weight, or the share of it that counts as evidence.
        cdef float64_t n = sum_of(counts, self.n_classes)
        cdef float64_t seen = self.to_seen(counts, scaled)
        cdef float64_t factor
        cdef intp_t c
        if self.rescales and seen > 0.0:
            factor = self.share * (n / seen)
            for c in range(self.n_classes):
                scaled[c] *= factor

    cdef void pair_to_bound(
        self, const float64_t* left, float64_t* pair
    ) noexcept nogil:
        # Both children of a split, [2, n_classes], from the unscaled left child.
        cdef intp_t K = self.n_classes
        cdef intp_t c
        for c in range(K):
            # with fractional weights an empty child has a rounding error
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
        # Sum of reweighted counts. Additive walks have no counts, but no class weights either.
        cdef float64_t seen = 0.0
        cdef intp_t c
        if self.class_weight == NULL:
            return n
        for c in range(self.n_classes):
            seen += counts[c] * self.class_weight[c]
        return seen

    cdef bint is_small(self, const float64_t* counts) noexcept nogil:
        # Whether a child is below a smallest weight.
        cdef float64_t n = sum_of(counts, self.n_classes)
        return n < self.min_weight or (
            self.min_seen_weight > 0.0
            and self.seen_weight(counts, n) < self.min_seen_weight
        )
