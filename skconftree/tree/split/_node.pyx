"""The node whose candidate splits are compared.

Its class counts have three scales: unscaled, reweighted by class for the criterion, and scaled
back to its weight, without repeated rows if these do not count as evidence, for the bound (the
rule that accepts or rejects a split). See _node.pxd.
"""

from skconftree.criteria._score cimport sum_of
from skconftree.utils._draws cimport mix            # a hash function
from skconftree.utils._inline cimport ROUNDING      # relative rounding error of sums


cdef class RootStats:
    """Statistics of the rows of one tree, in addition to the settings of its growth.

    The defaults are those of an incrementally trained tree. `distinct` is the weight of
    each row if repeated rows do not count as evidence. These weights are integer multiples
    of 2**-20, so that sums do not depend on their order, and 0 for unlabeled rows.
    `has_pool`: the weight of a node includes unlabeled rows, or is its volume. `_node.pxd`
    describes the other arguments.
    """

    def __init__(
        self, intp_t n_features, intp_t n_classes, *, class_weight=None, n_categories=None,
        distinct=None, uint64_t seed=0, intp_t root_id=0, intp_t id_offset=0, bint has_pool=False,
        bint integral=True, bint weighted=True, intp_t largest_count=0, float64_t weight=0.0,
        float64_t total_weight=1.0, float64_t min_weight=1.0, float64_t min_reweighted=0.0,
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
        self.min_reweighted = min_reweighted


cdef class ExaminedNode:
    """A node and its class counts on the scales of criterion and bound."""

    def __init__(self, GrowthSettings settings not None, RootStats root not None):
        cdef intp_t f
        self.settings = settings
        self.root = root
        self.n_features = root.n_features
        self.n_classes = root.n_classes
        self.has_pool = root.has_pool
        self.by_volume = settings.by_volume  # record.pool is then the volume of the node
        self.integral = root.integral
        self.min_weight = root.min_weight
        self.min_reweighted = root.min_reweighted
        self.seed = root.seed
        self.time = root.weight
        self.only_thresholds = root.n_categories is None
        if root.class_weight is not None:
            self.class_weight = &root.class_weight[0]
        self.excludes_repeats = root.distinct is not None
        self.rescales = self.class_weight != NULL or self.excludes_repeats
        self.share = 1.0
        self.has_min_weight = (
            root.weighted and not self.integral    # integer weights are at least 1
            or self.min_weight > 1.0 or self.min_reweighted > 0.0
        )
        self.arena = Arena()
        self.scales = <float64_t*> self.arena.take_zeros(2 * self.n_classes, sizeof(float64_t))
        if settings.monotonic_cst is not None:
            if len(settings.monotonic_cst) != self.n_features or self.n_classes != 2:
                raise ValueError(
                    f"monotonic_cst must have one value for each of the {self.n_features} "
                    "features, and y two classes. Got "
                    f"{len(settings.monotonic_cst)} values and {self.n_classes} classes."
                )
            # of the monotonicity constraints: 1 = increasing, -1 = decreasing, 0 = none
            self.signs = <int8_t*> self.arena.take(self.n_features, sizeof(int8_t))
            for f in range(self.n_features):
                self.signs[f] = settings.monotonic_cst[f]

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
        self.reweighted.n_classes = K
        self.reweighted.counts = counts
        self.reweighted.n = self.n
        self.reweighted.integral = self.integral
        self.stats.n_classes = K
        self.stats.counts = counts
        self.stats.n = self.n
        self.stats.n_fresh = self.n     # in a stream: only rows after the creation of the leaf
        self.stats.pool = record.pool
        self.stats.time = self.time
        self.stats.n_features = self.n_features
        self.stats.n_candidate_features = 0     # the splitter sets this and the next two
        self.stats.n_feature_candidates = 0.0
        self.stats.log_feature_candidates = 0.0
        self.stats.attempt = 1          # number of split attempts at the leaf
        self.stats.depth = record.depth
        self.stats.cuts_only = self.only_thresholds     # all candidates are thresholds
        self.stats.integral = self.integral
        if self.class_weight != NULL:
            self.reweighted.counts = self.scales
            self.reweighted.n = self.reweight(counts, self.scales)
            self.reweighted.integral = False
            self.scale(counts, self.scales + K)
            self.stats.counts = self.scales + K
            self.stats.integral = False

    cdef void exclude_repeats(self, float64_t weight) noexcept nogil:
        # Set the node's weight on the scale of the bound; the class proportions stay.
        cdef float64_t* counts = self.scales + self.n_classes
        self.share = weight / self.n
        self.scale(self.counts, counts)
        self.stats.counts = counts
        self.stats.integral = False
        self.stats.n = self.n * self.share
        self.stats.n_fresh = self.stats.n
        self.stats.pool = self.record.pool * self.share

    cdef float64_t reweight(self, const float64_t* counts, float64_t* reweighted) noexcept nogil:
        # Convert counts to the scale of the criterion, possibly in place; return their sum.
        cdef float64_t n = 0.0
        cdef intp_t c
        for c in range(self.n_classes):
            reweighted[c] = counts[c]
            if self.class_weight != NULL:
                reweighted[c] *= self.class_weight[c]
            n += reweighted[c]
        return n

    cdef void scale(self, const float64_t* counts, float64_t* scaled) noexcept nogil:
        # Convert counts to the scale of the bound: the proportions of the criterion's scale,
        # with the original weight, or the share of it that counts as evidence.
        cdef float64_t n = sum_of(counts, self.n_classes)
        cdef float64_t total = self.reweight(counts, scaled)
        cdef float64_t factor
        cdef intp_t c
        if self.rescales and total > 0.0:
            factor = self.share * (n / total)
            for c in range(self.n_classes):
                scaled[c] *= factor

    cdef void scale_pair(self, const float64_t* left, float64_t* pair) noexcept nogil:
        # Both children of a split, [2, n_classes], from the unscaled left child.
        cdef intp_t K = self.n_classes
        cdef intp_t c
        for c in range(K):
            # with fractional weights an empty child has a rounding error
            pair[K + c] = self.counts[c] - left[c]
            if pair[K + c] <= ROUNDING * self.counts[c]:
                pair[K + c] = 0.0
        self.scale(left, pair)
        self.scale(pair + K, pair + K)

    cdef void reweight_children(self, const Children* children) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t z
        for z in range(children.n_outcomes):
            self.reweight(children.counts + z * K, children.scaled + z * K)

    cdef void scale_children(self, const Children* children) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t z
        for z in range(children.n_outcomes):
            self.scale(children.counts + z * K, children.scaled + z * K)

    cdef float64_t sum_reweighted(self, const float64_t* counts, float64_t n) noexcept nogil:
        # Sum of reweighted counts, whose unweighted sum is n. Without class weights, `counts`
        # may be unset: if only sums of Score.phi over the classes are updated, they are missing.
        cdef float64_t total = 0.0
        cdef intp_t c
        if self.class_weight == NULL:
            return n
        for c in range(self.n_classes):
            total += counts[c] * self.class_weight[c]
        return total

    cdef bint is_small(self, const float64_t* counts) noexcept nogil:
        # Whether a child is below a smallest weight.
        cdef float64_t n = sum_of(counts, self.n_classes)
        return n < self.min_weight or (
            self.min_reweighted > 0.0
            and self.sum_reweighted(counts, n) < self.min_reweighted
        )
