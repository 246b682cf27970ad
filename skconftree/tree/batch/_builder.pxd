from skconftree.tree.batch._near_ties cimport RunnerUp
from skconftree.tree.batch._sparse_rows cimport Segment
from skconftree.tree.batch._table_source cimport RowSource
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._split cimport Split
from skconftree.tree.split._splitter cimport Splitter
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t

# Builder: grows a tree from the rows of a splitter, node by node.
#
# The frontier has the leaves that may still split. It is a stack, or a heap if growth is
# best-first. A FrontierNode owns the arrays of its record, its segments and its trial nodes
# until it is released. The record has the id, the depth and the range of rows of the node; a
# segment is the range of the stored rows of a sparse column in the node. The source divides the
# rows among the children of a split; an outcome is the index of a child. Look-ahead chooses a
# split by the costs of trial trees, which are grown below it and discarded. W is the weight of
# a node with its unlabeled rows, or its volume in feature space. An Arena owns arrays.

cdef struct TrialNode:
    # A node of a trial tree, which look-ahead grows to estimate its cost (_lookahead.pyx).
    float64_t cost_below    # cost of its children; 0 for a leaf
    int32_t first_child     # in the same array
    int32_t n_children


cdef struct FrontierNode:
    # A leaf that may still split; `split` is set only in best-first growth.
    NodeRecord record
    Segment* segments       # of the sparse columns with nonzero values in the node; owned
    intp_t n_segments
    TrialNode* trial_nodes  # the trial tree below it (_lookahead.pyx), or NULL; owned
    Split split


cdef class Builder


cdef class Helpers:
    # Other threads that participate in the growth of a tree.

    # Whether the helpers will grow the tree below a leaf (the leaf is deferred). They then own
    # the FrontierNode.
    cdef bint defer(self, Builder builder, const FrontierNode* leaf) except -1 nogil
    # The frontier is empty: complete the tree.
    cdef int finish(self, Builder builder) except -1 nogil
    # Raise the error if examining or dividing a node has failed.
    cdef int check(self) except -1 nogil


cdef class Builder:
    cdef Splitter splitter
    cdef RowSource source           # the splitter's
    cdef Tree tree
    cdef RunnerUp runner_up         # compares splits with the best splits of other features;
                                    # None if they are not compared
    cdef Helpers helpers            # None for a single thread
    cdef intp_t n_root              # rows of the root
    cdef intp_t max_depth
    cdef float64_t min_samples_split
    cdef float64_t min_split_weight  # of a node, by min_samples_split and min_samples_leaf
    cdef intp_t max_leaves
    cdef bint best_first
    cdef Arena arena                # also of the frontier
    cdef intp_t* starts             # first rows of the children of the last split
    cdef float64_t* child_pools     # weights W of these children, see NodeRecord.pool
    cdef intp_t sign                # of the monotonicity constraint of the last split, 0 = none
    cdef float64_t middle           # limit between the probabilities of its children, see
                                    # NodeRecord.low
    cdef int32_t* child_features    # scratch for the features of one child, and
    cdef Segment* segments          # for its segments; NULL if the source has no segments
    cdef FrontierNode* new_children     # children of the last split, not yet in the frontier
    cdef intp_t n_new_children
    cdef FrontierNode* frontier         # stack, or heap by improvement
    cdef intp_t n_frontier
    cdef intp_t frontier_capacity

    # Grow the tree, which has no node yet, from a leaf of another builder's tree. The other
    # builder keeps the FrontierNode.
    cdef int grow_below(self, const FrontierNode* leaf, Tree other) except -1 nogil
    # Use look-ahead at the same depths as another builder, which may have ended it early.
    cdef void copy_lookahead(self, Builder other) noexcept
    # Copy the arrays of a leaf of another builder. For dense tables only.
    cdef int _copy_arrays(self, FrontierNode* leaf) except -1 nogil
    # Whether the helpers will grow the tree below a leaf.
    cdef bint _defers(self, const FrontierNode* leaf) except -1 nogil
    # Split a leaf, decide that it remains a leaf, or defer it to the helpers.
    cdef int _grow_node(self, FrontierNode* leaf) except -1 nogil
    cdef int _grow_depth_first(self) except -1 nogil
    # Let the source begin a node.
    cdef void _enter(self, const FrontierNode* leaf) noexcept nogil
    # Set `split` of a leaf.
    cdef int _examine(self, FrontierNode* leaf) except -1 nogil
    # Whether a node is impure, and permitted to split by its size and depth.
    cdef bint _may_split(self, intp_t node) noexcept nogil
    # Split a leaf, and add its children that may split to the frontier.
    cdef int _split_leaf(self, FrontierNode* leaf) except -1 nogil
    # Write a split into the tree.
    cdef int _write_split(self, intp_t node, const Split* split) except -1 nogil
    # Append a child, the node with this id, to `new_children`.
    cdef int _make_child(self, FrontierNode* parent, intp_t node, intp_t outcome) except -1 nogil
    # Free the arrays of a leaf.
    cdef void _release(self, FrontierNode* leaf) noexcept nogil
    # Add a leaf to the frontier.
    cdef int _add(self, FrontierNode* leaf) except -1 nogil
