from libc.math cimport NAN

from skconftree.bounds._contract cimport ByChance, SplitEvidence
from skconftree.tree.nodes._routing cimport REMOVED
from skconftree.utils._guard cimport Guard
from skconftree.utils._lock cimport ModelLock
from skconftree.utils._typedefs cimport float64_t, int16_t, int32_t, intp_t, uint64_t, uint8_t

# Snapshot: the arrays of a tree at one moment, and a cache of values computed from them. A tree
# is growing while it is trained row by row; it is finished if `fit` has grown it. Evidence is the
# statistics by which a split rule accepted a split. ByChance is the part of it that all rules
# share: how many candidate splits are expected to look as good by chance.
#
# Any number of threads may read one. A computed value is stored in a dictionary once it is
# complete; two threads that compute it at the same time get equal values.

cdef class Snapshot:
    cdef intp_t version         # of the counts
    cdef intp_t node_count
    cdef intp_t n_edits         # changes of existing splits, such as new categories
    cdef object class_weight
    cdef double shrinkage
    cdef object criterion       # computes impurities; None if `arrays` has them
    cdef dict arrays
    cdef dict structural        # computed values that are valid until the next split
    cdef dict counted           # computed values that are valid until the next row

    cdef object array(self, str name)   # read-only
    cdef dict all_arrays(self)          # for internal use
    # The cached result of a function of all arrays except counts, or of the counts.
    cdef object of_structure(self, object make)
    cdef object of_counts(self, object make)
    cdef object values(self)            # class probabilities of the nodes


# NodeArrays: the nodes of a tree as arrays with one element per node.
#
# The arrays belong to NumPy and are replaced when they are full. Those of a finished tree
# are returned as they are; a growing tree returns copies, so that they do not change. All
# returned arrays are read-only, because routing does not validate them; only the owner of
# the write lock writes to the tree's own arrays. Reading a tree does not change anything
# that another reader uses: it computes a new `Snapshot`, and replaces the old one.

cdef struct TrialCosts:
    # Estimated costs by which growth with look-ahead (batch/_lookahead.pyx) chose a split.
    float64_t cost              # of the trees grown below the split: the upper limits of their
                                # errors, for example; NaN without look-ahead
    float64_t runner_up_cost    # of those below the cheapest other split that was tried, NaN
    intp_t runner_up_feature    # if there was none, and the feature of that split, or -2


cdef struct Competitor:
    # A split on another feature that was not chosen.
    int32_t feature         # -2 = none
    int16_t n_children
    uint8_t missing_left    # whether missing values go to the left, and whether labeled
    uint8_t missing_seen    # rows of the node have some
    float64_t threshold     # NaN if nominal; infinity if the split is on missing values
    uint64_t left           # bit mask of the first 64 categories: those of the first child
    float64_t gain          # decrease of the node's impurity
    float64_t z             # difference from the gain of the split, in standard errors; NaN
                            # if unknown


cdef inline Competitor no_competitor() noexcept nogil:
    return Competitor(-2, 0, 0, 0, NAN, 0, NAN, NAN)


cdef struct Stop:
    # Why a node is a leaf.
    float64_t log10_expected    # ByChance.log10_expected of the best split, which was rejected,
                                # or of the split that was removed; NaN if there is none
    float64_t threshold         # of this split; NaN if its feature is nominal
    int32_t feature             # of this split; -2 if there is none
    int32_t reason              # a LeafReason (_settings.pxd)


cdef inline Stop no_stop() noexcept nogil:
    return Stop(NAN, NAN, -2, 0)


cdef void* address_of(array) except? NULL


cdef class NodeArrays:
    cdef readonly intp_t n_features
    cdef intp_t n_classes               # Python gets it as an array, as in scikit-learn
    cdef readonly intp_t node_count
    cdef readonly intp_t n_leaves
    cdef readonly intp_t n_removed      # removed nodes
    cdef readonly intp_t max_depth
    cdef readonly object class_weight   # ndarray (n_classes,)
    cdef readonly bint keeps_evidence   # of splits; otherwise only ByChance
    cdef readonly bint keeps_costs      # look-ahead costs of splits
    cdef readonly bint keeps_competitors  # of splits
    cdef readonly bint keeps_stops      # of nodes: why leaves have not split
    cdef readonly bint keeps_values     # class probabilities that are not computed from counts
    cdef readonly double shrinkage      # of class probabilities toward those of the parents, in
                                        # rows, see `shrunk` (_derived.py)
    cdef readonly intp_t capacity
    cdef dict _arrays
    cdef Guard guard                    # mutex of `_stored`
    cdef Snapshot _stored               # the latest snapshot

    # Fields of a growing tree.
    cdef ModelLock lock                 # None if it is finished
    cdef object criterion               # computes impurities; None if it is finished
    cdef intp_t depth_limit             # a leaf at this depth does not split
    cdef intp_t version                 # of the counts: increases with every row
    cdef intp_t n_edits                 # changes of existing splits, see Snapshot

    cdef int32_t* parent                # [capacity]; -1 at the root
    cdef int32_t* depth
    cdef int32_t* first_child           # -1 at a leaf
    cdef int32_t* n_children            # 0 at a leaf
    cdef intp_t* n_node_samples         # number of rows, independent of their weight
    cdef float64_t* counts              # [capacity, n_classes]
    cdef float64_t* impurity
    cdef Stop* stops                    # [capacity]; NULL if not stored
    cdef SplitEvidence* evidence        # [capacity // 2] per split; NULL if not stored
    cdef ByChance* by_chance            # [capacity // 2] per split; NULL if evidence is
    cdef TrialCosts* costs              # [capacity // 2] per split; NULL if not stored
    cdef Competitor* competitors        # [capacity // 2, MAX_STORED_COMPETITORS] per split; NULL
                                        # if not stored

    cdef dict _shapes(self, intp_t capacity)    # shape and dtype of each array
    cdef tuple _names(self)             # of the arrays in a pickle
    cdef intp_t _size(self, str name) except -1     # number of used elements of an array
    cdef dict _enlarged(self, intp_t capacity)
    cdef object _set_arrays(self, dict arrays)
    cdef void reserve(self, intp_t capacity) except *
    cdef void shrink_to_fit(self) except *
    cdef intp_t node_bytes(self) noexcept nogil     # of one node, without its split
    cdef intp_t split_bytes(self) noexcept nogil    # of one split
    cdef intp_t bytes_of_nodes(self) noexcept nogil     # of all nodes and splits

    # Acquire and release the read lock of a growing tree.
    cdef int _read(self) except -1
    cdef void _leave(self) noexcept
    cdef Snapshot _snapshot(self)
    cdef Snapshot _take_snapshot(self, Snapshot old)
    cdef Snapshot _last_snapshot(self)
    cdef void _store_snapshot(self, Snapshot snapshot) noexcept
    cdef object counts_of_leaves(self)
    # Write the class probabilities of a node to `out`.
    cdef int fill_value(self, intp_t node, float64_t* out) except -1
    # Add the class counts of the leaves below `top` to `counts`.
    cdef void add_counts(self, intp_t top, float64_t* counts) noexcept nogil
    cdef inline intp_t n_splits(self) noexcept nogil:
        return self.node_count - self.n_removed - self.n_leaves

    cdef inline bint is_leaf(self, intp_t node) noexcept nogil:
        return self.n_children[node] == 0 and self.parent[node] != REMOVED

    cdef inline intp_t next_below(self, intp_t top, intp_t node) noexcept nogil:
        # The node after this one below `top`, in preorder; -1 after the last one. Trees
        # may be too deep for recursion.
        cdef intp_t above
        if self.n_children[node] > 0:
            return self.first_child[node]
        while node != top:
            above = self.parent[node]
            if node + 1 < self.first_child[above] + self.n_children[above]:
                return node + 1
            node = above
        return -1


# NodeTable: the nodes of a tree with any kind of split.
#
# Node ids are append-only: a leaf that splits keeps its id, and its children get the next
# ids in their order. Siblings are therefore adjacent, and splits are ordered by their
# first child. The evidence for splits is stored in this order, so a leaf needs no memory for it.
# A removed node keeps its id, but has no parent (REMOVED).
#
# A subclass defines the splits: it has further arrays, adds their shapes, and implements
# the methods that copy and validate them.

cdef class NodeTable(NodeArrays):
    # Add a leaf with these class counts; returns its id.
    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil
    # Store the evidence of the split whose children are added next.
    cdef void store_evidence(self, const SplitEvidence* evidence) noexcept nogil
    cdef void clear(self) noexcept nogil
    # Make this a growing tree, under the lock of its owner.
    cdef void start_growth(self, object criterion, ModelLock lock, intp_t depth_limit) except *
    cdef void _copy_evidence(self, NodeTable tree, intp_t split) noexcept nogil
    # Copy the splits of the retained nodes (ids in this tree, by id in `pruned`).
    cdef void _copy_splits(self, NodeTable pruned, const intp_t[::1] retained) except *
    cdef object _check(self, dict arrays)       # ValueError if they are invalid
    cdef object _use_arrays(self, dict arrays)
