# ExaminedNode: the node whose tests are compared, and its class counts on three scales
# (equal unless class_weight is given, or repeated rows are no evidence): as they are
# (`counts`), reweighted (`seen`: the criterion's) and reweighted but scaled back to the
# node's own total, or to what its rows weigh if repeats do not count (`facts`: the
# bound's).
#
# The source of its rows, the sets of its categories and the selection share one.

from skconftree.bounds._contract cimport NodeStats
from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.split._split cimport Children
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t, uint64_t


cdef struct NodeRecord:
    # A node that waits to be examined or split.
    intp_t id
    intp_t start
    intp_t end
    intp_t depth
    float64_t pool          # weight W: labelled and unlabelled rows, or volume
    int32_t* features       # not yet known to be constant; owned
    intp_t n_features
    float64_t* box          # [n_features of X, 2] limits, only if W is a volume; owned


cdef class RootStats:
    # What is known of the rows of one tree, beside the settings of its growth. In a
    # growing tree some of it changes with every row.
    cdef readonly intp_t n_features
    cdef readonly intp_t n_classes
    cdef const float64_t[::1] class_weight      # [n_classes], or None
    cdef const int32_t[::1] n_categories        # [n_features], 0 = numeric; or None
    cdef const float64_t[::1] distinct  # by row of a table: its weight for a bound, which
                                        # is told no repeats; or None
    cdef uint64_t seed
    cdef intp_t root_id         # draws go by the numbers of nodes. Of a tree that will
    cdef intp_t moved           # be below a node: its root has this one, others are so
                                # much larger
    cdef bint has_pool          # there are rows without label that count towards W
    cdef bint integral          # every weight is a whole number
    cdef bint weighted          # weights are no counts
    cdef intp_t largest_count   # no count is larger, if weights are counts
    cdef float64_t weight       # of the labelled rows, as a bound is told
    cdef float64_t total_weight     # the same, reweighted by class
    cdef float64_t min_weight       # of a child
    cdef float64_t min_seen_weight  # of a child, reweighted by class


cdef class ExaminedNode:
    cdef GrowthSettings settings
    cdef RootStats root
    cdef readonly intp_t n_features
    cdef readonly intp_t n_classes
    cdef bint has_pool          # rows without label count towards W
    cdef bint by_volume         # W is the volume of the node's box
    cdef bint cuts_only         # no missing value, no nominal feature
    cdef bint integral          # every count is a whole number
    cdef bint filters           # tests may leave a child below a smallest weight
    cdef float64_t min_weight   # of a child
    cdef float64_t min_seen_weight      # of a child, reweighted by class
    cdef float64_t time         # weight of the rows given to fit
    cdef uint64_t seed
    cdef intp_t root_id
    cdef intp_t moved
    cdef const float64_t* class_weight      # [n_classes], or NULL
    cdef bint rescales          # the bound sees other counts than the criterion
    cdef bint without_repeats   # a bound is told weights without repeats
    cdef Arena arena

    cdef NodeRecord* record
    cdef const float64_t* counts    # [n_classes] as they are
    cdef float64_t n
    cdef float64_t n_repeated   # rows, with repeats where they have whole weights
    cdef NodeStats seen
    cdef NodeStats facts
    cdef float64_t share        # of its weight, the bound is told: 1 unless
                                # without_repeats
    cdef float64_t* scales      # [2, n_classes] its counts on the other scales
    cdef uint64_t key           # of random sets of categories
    cdef uint64_t draw_key      # of random cuts; a source may make it differ,
    cdef uint64_t visit_key     # and that of the features

    cdef void begin(self, NodeRecord* record, const float64_t* counts) noexcept nogil
    cdef void leave_out_repeats(self, float64_t weight) noexcept nogil
    cdef float64_t to_seen(
        self, const float64_t* counts, float64_t* seen
    ) noexcept nogil
    cdef void to_bound(self, const float64_t* counts, float64_t* scaled) noexcept nogil
    cdef void pair_to_bound(self, const float64_t* left, float64_t* pair) noexcept nogil
    cdef void children_to_seen(self, const Children* children) noexcept nogil
    cdef void children_to_bound(self, const Children* children) noexcept nogil
    cdef float64_t seen_weight(
        self, const float64_t* counts, float64_t n
    ) noexcept nogil
    cdef bint is_small(self, const float64_t* counts) noexcept nogil
