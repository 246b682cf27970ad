# Grower: a tree that learns row by row.
#
# Every row goes through the same steps, whatever call it came with: it is routed to
# its leaf, foretold, counted there, and the leaf is examined if enough weight has
# come since the last time. Nothing waits for the end of a call, so cutting a stream
# into chunks cannot matter. What concerns the whole tree (signals, the memory limit)
# happens when the number of rows is a multiple of BOUNDARY.

from skconftree.drift._ddm cimport DDMKernel
from skconftree.tree._forecast cimport Forecaster
from skconftree.tree._leaf cimport Leaf, Parting, Policy
from skconftree.tree._leaf_splitter cimport LeafSplitter
from skconftree.tree._splitter cimport Split
from skconftree.tree._tree cimport Tree
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t,
)

cdef class Grower:
    cdef readonly Tree tree
    cdef readonly dict recipe           # what it was made from
    cdef object make
    cdef readonly intp_t n_rows_seen
    cdef readonly float64_t weight_seen
    cdef LeafSplitter splitter
    cdef Forecaster forecaster
    cdef Policy policy
    cdef Leaf** leaves                  # [room] by node; NULL at internal nodes
    cdef intp_t room
    cdef intp_t n_leaves
    cdef float64_t total_weight         # of all rows, reweighted by class

    cdef float64_t grace
    cdef bint recurses                  # children of a split are examined at once
    cdef intp_t max_depth
    cdef intp_t max_leaves
    cdef float64_t min_split            # weights, or fractions of all if negative
    cdef float64_t min_leaf
    cdef float64_t min_seen_fraction
    cdef intp_t max_bytes               # -1 = no limit
    cdef readonly bint full             # no further split fits into max_bytes
    cdef intp_t node_bytes              # of a node, without its memory
    cdef intp_t bare_bytes              # of a leaf that remembers nothing
    cdef intp_t pool_bytes

    cdef readonly DDMKernel detector    # of drifts, or None
    cdef readonly Grower background     # learns since a warning, or None

    cdef float64_t* share               # [outcome_room, n_classes]
    cdef Leaf** children                # [outcome_room]
    cdef intp_t outcome_room
    cdef float64_t* below               # [n_classes]
    cdef int32_t[::1] _nominal          # nominal features
    cdef int32_t[::1] _n_codes          # [n_features] categories met, -1 if numeric
    cdef bint finite                    # no value of the rows at hand is missing
    cdef intp_t stopped_at              # where the last row's category is not known
    cdef const float64_t* class_weight  # [n_classes] or NULL

    cdef int learn_row(
        self, const float32_t* x, label_t y, float64_t weight, intp_t* foretold
    ) except -1 nogil
    cdef intp_t _route_row(self, const float32_t* x) noexcept nogil
    cdef int _admit(self, const float32_t* x) except -1
    cdef void _meet(self, const float32_t* x) noexcept nogil
    cdef void _fill_below(self, intp_t node, float64_t* out) noexcept nogil
    cdef void _add_below(self, intp_t node, float64_t* counts) noexcept nogil
    cdef intp_t _majority_below(self, intp_t node) noexcept nogil
    cdef bint _due(self, const Leaf* leaf) noexcept nogil
    cdef bint _may_split(self, const Leaf* leaf) noexcept nogil
    cdef int _grow(self, Leaf* leaf) except -1 nogil
    cdef int _examine(self, Leaf* leaf, Split* split) except -1 nogil
    cdef int _install(self, Leaf* leaf, Split* split) except -1 nogil
    cdef void _add_children(
        self, const Leaf* leaf, const Parting* parting
    ) noexcept nogil
    cdef void _describe(self, const Split* split, Parting* parting) noexcept nogil
    cdef bint _part_pool(
        self, const Leaf* leaf, const Parting* parting, intp_t outcome, Leaf* child
    ) noexcept nogil
    cdef int _reserve_outcomes(self, intp_t r) except -1
    cdef int _reserve(self, intp_t n_nodes) except -1
    cdef int _at_boundary(self) except -1
    cdef bint _is_full(self) noexcept nogil
    cdef int _watch(
        self, bint error, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil
    cdef int _become(self, Grower other) except -1
