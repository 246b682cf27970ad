from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.leaves._contract cimport Leaf, Policy
from skconftree.tree.leaves._leaf_store cimport LeafStore
from skconftree.tree.leaves._predictor cimport LeafPredictor, Scratch
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.split._split cimport Split
from skconftree.tree.split._splitter cimport Splitter
from skconftree.tree.stream._leaf_source cimport LeafSource
from skconftree.utils._lock cimport ModelLock
from skconftree.utils._memory cimport Arena, Blocks
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, label_t, uint8_t,
)

cdef int check_sizes(bint fits) except -1      # ValueError if False


# MemoryLimit: the memory limit of a growing tree.
#
# Leaves can release their statistics (and are then bare), but splits are permanent. A tree is
# full, and must not split, if two more leaves would exceed the limit even without any
# statistics; a split with more children may exceed it earlier. Both are checked at splits; the
# size of the statistics is checked at regular intervals. A monitored tree detects concept drift
# and has further statistics at each node. An outcome of a split is a child.

cdef class MemoryLimit:
    cdef readonly intp_t max_bytes      # of this tree, or NO_LIMIT
    cdef intp_t requested               # of all trees that share the limit
    cdef bint full
    cdef intp_t node_bytes              # of a node, without a leaf's statistics
    cdef intp_t monitor_bytes           # of a node that is monitored, or 0
    cdef intp_t split_bytes             # additional bytes of a node that has split
    cdef intp_t bare_bytes              # of a leaf without statistics
    cdef intp_t pool_bytes              # of the lists of unlabeled rows

    cdef void update_full(self, Tree tree, LeafStore leaves) noexcept nogil
    cdef bint has_capacity(
        self, Tree tree, LeafStore leaves, intp_t n_outcomes, intp_t n_codes
    ) noexcept nogil
    # Release the statistics of leaves until the limit holds.
    cdef enforce(self, Tree tree, LeafStore leaves)
    # Bytes to allocate in advance, so that learning does not fail before the next check.
    cdef intp_t n_reserve_bytes(self, Tree tree, LeafStore leaves, intp_t max_rows) noexcept nogil


# Grower: a tree that is trained row by row.
#
# Every row takes the same steps, independent of its batch: it is routed to its leaf,
# predicted, and counted there; the leaf tries to split if it received enough
# weight since its last attempt. Nothing is deferred to the end of a call, so the result does not
# depend on how a stream is split into batches. At checkpoints, when the number of rows is a
# multiple of CHECK_INTERVAL, the memory limit is enforced and signals are handled. Predictions
# are the same from `learn` and from `predict_proba`, which uses scratch memory of its own.
#
# The memory of a leaf is the form in which it stores the statistics of its rows; a policy has the
# settings that the leaves share (leaves/_contract.pxd). The pool is the unlabeled rows, X_pool.
# A recipe (_state.py) has the arguments from which a grower is made. `finite` means that no value
# of the rows is missing. The LeafSource gives the Splitter, which finds the best split, the rows
# of a leaf.

cdef class Grower:
    cdef readonly Tree tree
    cdef ModelLock lock                 # of the tree and all that grows it
    cdef LeafStore leaves
    cdef Policy* policy                 # the store's
    cdef LeafPredictor predictor
    cdef LeafSource source              # of the splitter
    cdef Splitter splitter
    cdef const float64_t* class_weight  # [n_classes] or NULL
    cdef Arena arena
    cdef float64_t* node_proba          # [n_classes]

    cdef readonly object recipe         # a Recipe
    cdef GrowthSettings settings
    cdef readonly intp_t n_rows_seen
    cdef readonly float64_t weight_seen
    cdef float64_t total_weight         # of all rows, reweighted by class
    cdef Blocks blocks                  # owns the next two:
    cdef float64_t* child_shares        # [child_capacity, n_classes] fraction of the rows of each
                                        # class that a new child gets
    cdef Leaf** children                # [child_capacity] new children
    cdef intp_t child_capacity
    cdef MemoryLimit limit

    cdef intp_t depth_above             # if it may replace a subtree: the depth of its root there
    cdef intp_t row_leaf                # leaf of the last row
    cdef intp_t max_rows                # largest number of rows that a leaf has stored
    cdef bint finite                    # no value of the rows is missing
    cdef intp_t pool_row                # index in X_pool of the row being learned, or -1
    cdef int64_t n_before               # rows of a forest's stream before this one, or -1
    cdef object pending_error           # exception to raise after the row

    cdef inline int64_t time_of_row(self) noexcept nogil:
        # Number of rows of the stream, including the one being learned.
        return self.n_rows_seen if self.n_before < 0 else self.n_before + 1

    # The leaf of a row. `stopped_at` is set to the first node on the path at which the category of
    # the row is unknown, or to -1.
    cdef intp_t _route_row(
        self, const float32_t* x, bint finite, intp_t* stopped_at
    ) noexcept nogil
    # Write the class probabilities of a row to `out`.
    cdef void _fill_proba(
        self, const Leaf* leaf, intp_t stopped_at, const float32_t* x,
        Scratch* scratch, float64_t* out,
    ) noexcept nogil
    cdef int _check_rows(
        self, const float32_t[:, ::1] X, const label_t[::1] y, const float64_t[::1] weight,
    ) except -1
    # Assign the unlabeled rows to leaves, except those with `learned`.
    cdef assign_pool(self, const uint8_t[::1] learned=*)
    # Bit mask, for a pickle, of the rows of the pool that were learned, and back.
    cdef labeled_bits(self)
    cdef load_pool(self, bits)
    # Learn a row. The class and the probabilities that were predicted before are written to
    # `predicted` and `proba`, unless these are NULL.
    cdef int learn_row(
        self, const float32_t* x, label_t y, float64_t weight, intp_t* predicted, float64_t* proba,
    ) except -1 nogil
    cdef object take_pending(self)      # return `pending_error`, and clear it
    cdef int limit_memory(self) except -1
    cdef intp_t _reserve_bytes(self) noexcept nogil
    cdef int _add_categories(self, const float32_t* x) except -1
    cdef bint _may_split(self, const Leaf* leaf) noexcept nogil
    # Try to split a leaf.
    cdef int _grow(self, Leaf* leaf) except -1 nogil
    # Find the split of a leaf; split.feature is -1 if there is none.
    cdef int _examine(self, Leaf* leaf, Split* split) except -1 nogil
