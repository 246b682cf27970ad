# Grower: a tree that learns row by row.
#
# Every row goes through the same steps, whatever call it came with: it is routed to
# its leaf, predicted, counted there, and the leaf is examined if enough weight has
# come since the last time. Nothing waits for the end of a call, so cutting a stream
# into chunks cannot matter. What concerns the whole tree (signals, the memory limit)
# happens when the number of rows is a multiple of BOUNDARY.

from skconftree.tree.leaves._contract cimport Leaf
from skconftree.tree.split._split cimport Split
from skconftree.tree.stream._growing_tree cimport GrowingTree
from skconftree.tree.stream._installer cimport Installer
from skconftree.tree.stream._memory_limit cimport MemoryLimit
from skconftree.utils._typedefs cimport float32_t, float64_t, int64_t, intp_t, label_t


cdef class Grower(GrowingTree):
    cdef readonly object recipe         # what it was made from
    cdef readonly intp_t n_rows_seen
    cdef readonly float64_t weight_seen
    cdef float64_t total_weight         # of all rows, reweighted by class
    cdef Installer installer
    cdef MemoryLimit limit

    cdef float64_t grace                # weight between two looks at a leaf, which
    cdef float64_t grace_limit          # grows up to this, in rows
    cdef float64_t row_weight           # of such a weight, and is longer where a leaf
    cdef float64_t root_grace           # has a large share of all: of this
    cdef bint recurses                  # children of a split are examined at once
    cdef intp_t max_depth
    cdef intp_t max_leaves
    cdef float64_t min_split            # weights, or fractions of all if negative
    cdef float64_t min_leaf
    cdef float64_t min_seen_fraction

    cdef intp_t depth_above             # of its root in the tree that it is a part of
    cdef intp_t reached                 # leaf that the last row came to
    cdef intp_t most_rows               # that a leaf has kept
    cdef bint finite                    # no value of the rows learnt is missing
    cdef intp_t leaving                 # row of X_pool that is being learnt, or -1
    cdef int64_t n_before               # rows of a forest's stream before this one, or -1
    cdef object held                    # error that waits for the end of its row

    cdef inline int64_t time_of_row(self) noexcept nogil:
        # How many rows the stream has had up to the one that is being learnt.
        return self.n_rows_seen if self.n_before < 0 else self.n_before + 1

    cdef int _let_go(self) except -1
    cdef int learn_row(
        self, const float32_t* x, label_t y, float64_t weight, intp_t* predicted,
        float64_t* proba,
    ) except -1 nogil
    cdef int limit_memory(self) except -1
    cdef intp_t _spare_bytes(self) noexcept nogil
    cdef int _admit(self, const float32_t* x) except -1
    cdef bint _has_room_for_code(self, intp_t node, intp_t code) noexcept nogil
    cdef bint _due(self, const Leaf* leaf) noexcept nogil
    cdef bint _may_split(self, const Leaf* leaf) noexcept nogil
    cdef int _grow(self, Leaf* leaf) except -1 nogil
    cdef bint _has_room(self, const Split* split) noexcept nogil
    cdef int _examine(self, Leaf* leaf, Split* split) except -1 nogil
