# ExaminedNode: the node whose candidate splits are compared, with its class counts on three
# scales: unscaled (`counts`); reweighted by class (`reweighted`: the scale of the criterion); and
# reweighted but scaled back to the total of the node, or to the weight of its distinct rows
# if repeats, that is, repeated rows, do not count as evidence (`stats`: the scale of the
# bound). The bound is the rule that accepts or rejects a split (bounds/_contract.pxd). The
# scales differ only with class_weight or if repeats do not count. W is the weight of a node with
# its unlabeled rows, or the volume of its box, its limits in feature space.
#
# NodeStats (criteria/_score.pxd) are the statistics of a node on one scale, Children those of the
# children of a split. One object is shared by the source, which reads the rows of the node, by
# CategorySets, which has the candidate splits of nominal features, and by the selection of the
# best candidate.

from skconftree.bounds._contract cimport NodeStats
from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.split._split cimport Children
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int8_t, int32_t, intp_t, uint64_t


cdef struct NodeRecord:
    # A node that has yet to be examined or split.
    intp_t id
    intp_t start            # its rows are start, ..., end - 1 in the order of the source
    intp_t end
    intp_t depth
    float64_t pool          # W: the weight of labeled and unlabeled rows, or a volume
    int32_t* features       # features not known to be constant; the array belongs to this node
    intp_t n_features
    float64_t* box          # [n_features of X, 2] limits of the node in feature space, only
                            # if W is a volume; the array belongs to this node
    float64_t low           # limits of the probability of the second class, set by splits
    float64_t high          # on features with monotonicity constraints above the node;
                            # unset without constraints


cdef class RootStats:
    # Statistics of the rows of one tree, in addition to the settings of its growth. In an
    # incrementally trained tree some of them change with every row.
    cdef readonly intp_t n_features
    cdef readonly intp_t n_classes
    cdef const float64_t[::1] class_weight  # [n_classes], or None
    cdef const int32_t[::1] n_categories  # [n_features], 0 = numeric; or None
    cdef const float64_t[::1] distinct  # by row of a table: its weight for a bound if
                                        # repeats do not count; or None
    cdef uint64_t seed
    cdef intp_t root_id         # random draws depend on node ids. In a tree that will be
    cdef intp_t id_offset       # joined below a node, the root has this id, and others are
                                # larger by the offset
    cdef bint has_pool          # there are unlabeled rows that contribute to W
    cdef bint integral          # every weight is an integer
    cdef bint weighted          # some weights are not numbers of repetitions of rows
    cdef intp_t largest_count   # upper limit of class counts, if not `weighted`
    cdef float64_t weight       # of the labeled rows, on the scale of the bound
    cdef float64_t total_weight  # the same, reweighted by class
    cdef float64_t min_weight   # of a child
    cdef float64_t min_reweighted  # of a child, reweighted by class


cdef class ExaminedNode:
    cdef GrowthSettings settings    # parameters of the growth of the tree
    cdef RootStats root
    cdef readonly intp_t n_features
    cdef readonly intp_t n_classes
    cdef bint has_pool          # unlabeled rows contribute to W
    cdef bint by_volume         # W is the volume of the node's box
    cdef bint only_thresholds   # no missing value, no nominal feature
    cdef bint integral          # every count is an integer
    cdef bint has_min_weight    # candidates may have a child below a smallest weight
    cdef float64_t min_weight   # of a child
    cdef float64_t min_reweighted  # of a child, reweighted by class
    cdef float64_t time         # weight of the rows seen so far; in `fit`, of all rows
    cdef uint64_t seed
    cdef const float64_t* class_weight  # [n_classes], or NULL
    cdef bint rescales          # bound and criterion have different scales
    cdef bint excludes_repeats  # repeats do not count as evidence
    cdef int8_t* signs          # [n_features] of GrowthSettings.monotonic_cst; NULL if None
    cdef Arena arena            # owns the arrays

    cdef NodeRecord* record
    cdef const float64_t* counts  # [n_classes] unscaled
    cdef float64_t n            # their sum
    cdef float64_t n_repeated   # rows, counting repeats if weights are integers
    cdef NodeStats reweighted
    cdef NodeStats stats        # counts and numbers of candidates, for the bound
    cdef float64_t share        # share of the weight that counts as evidence: 1 unless
                                # excludes_repeats
    cdef float64_t* scales      # [2, n_classes] counts on the other two scales
    cdef uint64_t key           # seed of random sets of categories,
    cdef uint64_t draw_key      # of random cuts, and
    cdef uint64_t visit_key     # of the order of features; a source may change the last two

    # Set all fields of a node with these unscaled counts.
    cdef void begin(self, NodeRecord* record, const float64_t* counts) noexcept nogil
    # Set the weight of the node on the scale of the bound to `weight`.
    cdef void exclude_repeats(self, float64_t weight) noexcept nogil
    # Convert unscaled counts [n_classes] to the scale of the criterion (the result is their sum),
    # or of the bound; the same for both children of a split, [2, n_classes], from the left one,
    # and for all children.
    cdef float64_t reweight(self, const float64_t* counts, float64_t* reweighted) noexcept nogil
    cdef void scale(self, const float64_t* counts, float64_t* scaled) noexcept nogil
    cdef void scale_pair(self, const float64_t* left, float64_t* pair) noexcept nogil
    cdef void reweight_children(self, const Children* children) noexcept nogil
    cdef void scale_children(self, const Children* children) noexcept nogil
    # Sum of counts, whose unscaled sum is n, on the scale of the criterion.
    cdef float64_t sum_reweighted(self, const float64_t* counts, float64_t n) noexcept nogil
    # Whether a child with these counts is below a smallest weight.
    cdef bint is_small(self, const float64_t* counts) noexcept nogil
    # Probability of the second of two classes, from the unscaled counts of both.
    cdef inline float64_t probability(self, float64_t first, float64_t second) noexcept nogil:
        if self.class_weight != NULL:
            first *= self.class_weight[0]
            second *= self.class_weight[1]
        return second / (first + second)
