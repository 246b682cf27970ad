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
# What is open lies on a stack, or in a heap if growth is best-first. A candidate owns the
# arrays of its record and its segments, until it is released.

cdef struct TriedNode:
    # A node of a tree that was grown for its cost.
    float64_t below         # what its children cost; 0 of a leaf
    int32_t first_child     # in the same array
    int32_t n_children


cdef struct Candidate:
    # A leaf that may still split; `split` is known only in best-first growth.
    NodeRecord record
    Segment* segments       # of the sparse columns that have some in the node; owned
    intp_t n_segments
    TriedNode* tried        # its greedy tree, if look-ahead has grown it; owned
    Split split


cdef class Builder


cdef class Helpers:
    # Other threads that have a part in a growth.

    # Whether the tree below an open node is left to them. The candidate is theirs then.
    cdef bint take(self, Builder builder, const Candidate* candidate) except -1 nogil
    # The builder has nothing left to do: make its tree whole.
    cdef int finish(self, Builder builder) except -1 nogil
    # Raise if a node that has been examined or divided is not, as something failed.
    cdef int check(self) except -1 nogil


cdef class Builder:
    cdef Splitter splitter
    cdef RowSource source           # the splitter's
    cdef Tree tree
    cdef RunnerUp runner_up         # None if splits are not compared with one
    cdef Helpers helpers            # None if there is one thread
    cdef intp_t n_root              # rows of the root
    cdef intp_t max_depth
    cdef float64_t least_split      # by min_samples_split,
    cdef float64_t min_split_weight     # and by min_samples_leaf too
    cdef intp_t max_leaves
    cdef bint best_first
    cdef Arena arena                # of the candidates too
    cdef intp_t* starts             # where the children of the last split begin
    cdef float64_t* pools           # and their weights W
    cdef int32_t* passed            # features of one child and its segments, as they
    cdef Segment* segments          # are found; NULL if there are no segments
    cdef Candidate* made            # children of the last split, not yet open
    cdef intp_t n_made
    cdef Candidate* open            # stack, or heap by improvement
    cdef intp_t n_open
    cdef intp_t open_capacity

    # Grow the tree, which has no node yet, from a leaf of another builder's, which keeps
    # what it owns.
    cdef int grow_below(self, const Candidate* leaf, Tree other) except -1 nogil
    # Look ahead as far as another builder does, which may have been told that it is enough.
    cdef void copy_lookahead(self, Builder other) noexcept
    # Copy what belongs to a candidate of another builder's; of a dense table.
    cdef int _take_over(self, Candidate* candidate) except -1 nogil
    cdef bint _leaves_to_helpers(self, const Candidate* candidate) except -1 nogil
    # Let a candidate split or be a leaf, or leave it to the helpers.
    cdef int _grow_node(self, Candidate* candidate) except -1 nogil
    cdef int _grow_depth_first(self) except -1 nogil
    cdef void _enter(self, const Candidate* candidate) noexcept nogil
    # Find the split of a candidate.
    cdef int _examine(self, Candidate* candidate) except -1 nogil
    cdef bint _may_split(self, intp_t node) noexcept nogil
    # Split the node of a candidate, and open those of its children that may split.
    cdef int _install(self, Candidate* candidate) except -1 nogil
    cdef int _split(self, intp_t node, const Split* split) except -1 nogil
    cdef int _make(self, Candidate* parent, intp_t node, intp_t outcome) except -1 nogil
    cdef void _release(self, Candidate* candidate) noexcept nogil
    cdef int _add(self, Candidate* candidate) except -1 nogil
