# NodeScan: the features of one node. Where its rows come from is the business of
# a subclass: the columns of a table, or what a growing leaf remembers.
#
# Three scales of class counts (equal unless class_weight is given): as they are
# (`counts`), reweighted (`seen`: the criterion's) and reweighted but scaled back
# to the node's own total (`facts`: the bound's).
#
# A test of a node is a feature and a cut, a number only its source can interpret.

from skconftree.bounds._contract cimport NodeFacts
from skconftree.tree.split._scan cimport Scan
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


cdef class RootFacts:
    # What is known of the rows of one tree, beside the settings of its growth. In a
    # growing tree some of it changes with every row.
    cdef readonly intp_t n_features
    cdef readonly intp_t n_classes
    cdef const float64_t[::1] class_weight      # [n_classes], or None
    cdef const int32_t[::1] n_categories        # [n_features], 0 = numeric; or None
    cdef uint64_t seed
    cdef bint has_pool          # there are rows without label that count towards W
    cdef bint integral          # every weight is a whole number
    cdef bint weighted          # weights are no counts
    cdef intp_t largest_count   # no count is larger, if weights are counts
    cdef float64_t weight       # of the labelled rows
    cdef float64_t total_weight     # the same, reweighted by class
    cdef float64_t min_weight       # of a child
    cdef float64_t min_seen_weight  # of a child, reweighted by class


cdef class NodeScan(Scan):
    cdef intp_t n_features
    cdef bint has_pool          # rows without label count towards W
    cdef bint by_volume         # W is the volume of the node's box
    cdef bint cuts_only         # no missing value, no nominal feature
    cdef bint integral          # every count is a whole number
    cdef bint filters           # tests may leave a child below a smallest weight
    cdef float64_t min_weight   # of a child
    cdef float64_t min_seen_weight      # of a child, reweighted by class
    cdef float64_t time         # weight of the rows given to fit
    cdef uint64_t seed
    cdef const float64_t* class_weight      # [n_classes], or NULL
    cdef const float64_t[::1] _class_weight

    # The node.
    cdef NodeRecord* node
    cdef const float64_t* counts    # [n_classes] as they are
    cdef float64_t n
    cdef float64_t n_repeated   # rows, with repeats where they have whole weights
    cdef NodeFacts seen
    cdef NodeFacts facts
    cdef float64_t* node_scaled     # [2, n_classes] its counts on other scales

    # The children of one test, set by count_children().
    cdef intp_t n_outcomes          # 2 unless every category has a branch
    cdef intp_t outcome_room        # of the arrays
    cdef float64_t* children        # [outcome_room, n_classes] counts as they are
    cdef float64_t* scaled          # [outcome_room, n_classes] on another scale
    cdef float64_t* child_pool      # [outcome_room]
    cdef intp_t* child_rows             # [outcome_room] with and without label
    cdef intp_t* n_labelled         # [outcome_room] rows with a label
    cdef bint missing_seen          # rows of the node miss the value tested,
    cdef bint missing_left          # and they go left

    cdef intp_t feature             # being walked
    cdef bint nominal               # its tests are sets of categories

    cdef void reserve_outcomes(self, intp_t room) except *
    cdef void _free_outcomes(self) noexcept
    cdef void begin(self, NodeRecord* node, const float64_t* counts) noexcept nogil
    cdef intp_t walk(self, intp_t feature) noexcept nogil
    cdef void reduce(self, intp_t size) noexcept nogil
    cdef void count_children(self, intp_t feature, intp_t cut) noexcept nogil
    cdef float64_t threshold(self, intp_t feature, intp_t cut) noexcept nogil
    cdef float64_t left_volume(self, intp_t feature, intp_t cut) noexcept nogil
    cdef float64_t to_seen(
        self, const float64_t* counts, float64_t* seen
    ) noexcept nogil
    cdef void to_bound(
        self, const float64_t* counts, float64_t* scaled
    ) noexcept nogil
    cdef intp_t _drop_small_children(self, intp_t size) noexcept nogil
    cdef float64_t _seen_weight(
        self, const float64_t* counts, float64_t n
    ) noexcept nogil
