from skconftree.tree.batch._near_ties cimport RunnerUp
from skconftree.tree.batch._sparse_rows cimport Segment
from skconftree.tree.batch._table_source cimport RowSource, TableSource
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._selection cimport Best
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
    # Other threads that have a part in a growth (_subtrees.pxd).

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
    cdef float64_t min_split_weight
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
    cdef intp_t room

    # Grow the tree, which has no node yet, from a leaf of another builder's, which keeps
    # what it owns.
    cdef int grow_below(self, const Candidate* leaf, Tree other) except -1 nogil
    # Copy what belongs to a candidate of another builder's; of a dense table.
    cdef int _take_over(self, Candidate* candidate) except -1 nogil
    cdef int32_t* _copied(
        self, const int32_t* features, intp_t n_features
    ) except NULL nogil
    cdef float64_t* _copied_box(self, const float64_t* box) except NULL nogil
    cdef bint _leaves_to_helpers(self, const Candidate* candidate) except -1 nogil
    # Let a candidate split or be a leaf, or leave it to the helpers.
    cdef int _grow_node(self, Candidate* candidate) except -1 nogil
    cdef int _grow_depth_first(self) except -1 nogil
    cdef int _grow_best_first(self) except -1 nogil
    cdef void _enter(self, const Candidate* candidate) noexcept nogil
    # Find the split of a candidate.
    cdef int _examine(self, Candidate* candidate) except -1 nogil
    cdef bint _may_split(self, intp_t node) noexcept nogil
    # Split the node of a candidate, and open those of its children that may split.
    cdef int _install(self, Candidate* candidate) except -1 nogil
    cdef int _split(self, intp_t node, const Split* split) except -1 nogil
    cdef int _make(
        self, Candidate* parent, intp_t node, intp_t outcome
    ) except -1 nogil
    cdef int _pass_features(
        self, const NodeRecord* parent, Candidate* candidate, intp_t outcome
    ) except -1 nogil
    cdef void _release(self, Candidate* candidate) noexcept nogil
    cdef int _add(self, Candidate* candidate) except -1 nogil
    cdef void _sift_up(self) noexcept nogil
    cdef void _sift_down(self) noexcept nogil


# Workers: the threads of one growth. Each has a splitter, with kernels and scratch of its
# own, whose source looks at the arrays of the rows that all share.
#
# In a large node they share out the columns: SharedSplitter lets them scan the features,
# SharedSource divide them. What a scan finds of a feature depends on nothing that was
# scanned before it, and features are compared in their order, so that the tree is the
# one that a thread alone would grow. Where it does depend on that, scans are not shared:
# features that are drawn are as many as vary; evidence is summed up in an order; the
# floors of interval bounds leave out tests that are worse than one met before.
#
# Subtrees (_subtrees.pxd) lets them grow what lies below smaller nodes.

cdef struct FoundTest:
    intp_t n_tests          # emitted; 0 = the feature is constant in the node
    Best best


cdef class Workers:
    cdef readonly object team
    cdef readonly intp_t n_workers
    cdef intp_t worth_sharing       # values of a node
    cdef list splitters             # [n_workers]
    cdef Arena arena
    cdef bint failed                # what they last did is not done
    cdef object failure             # why

    # The node whose columns are shared out.
    cdef NodeRecord* record
    cdef const float64_t* counts
    cdef FoundTest* found           # [n_features] by place in record.features
    cdef intp_t split_feature
    cdef intp_t n_others            # parts that are no columns
    cdef intp_t n_parts             # of the columns
    cdef intp_t n_nodes             # that have been scanned,
    cdef intp_t* entered            # [n_workers] and the number of the last one entered

    cdef bint are_worth_it(self, const NodeRecord* record) noexcept nogil
    # Fill `found`, or divide the columns, whose sides are known, and perhaps the rows;
    # False if something has failed.
    cdef bint scan(
        self, NodeRecord* record, const float64_t* counts
    ) noexcept nogil
    cdef bint divide(
        self, const NodeRecord* record, intp_t feature, bint by_rows
    ) noexcept nogil
    cdef bint _run(self, str part, intp_t n_others) noexcept with gil
    cdef intp_t _first(self, intp_t part) noexcept nogil
    cdef int check(self) except -1 nogil


cdef class SharedSplitter(Splitter):
    cdef Workers workers
    cdef bint shares


cdef class SharedSource(TableSource):
    cdef Workers workers


# Subtrees: what lies below the smaller nodes of a tree, grown by many threads.
#
# Depth-first growth below a node depends on its rows alone, unless something is drawn: a
# draw depends on the number of the node. The rows of two nodes lie in ranges of their own.
# So a builder sets aside the nodes that are small beside its root, and goes on with the
# large ones. When none is left, workers grow what lies below those set aside, each into a
# tree of its own, and the nodes get the numbers that one builder would have given them.

cdef class Subtrees(Helpers):
    cdef Workers workers
    cdef list builders          # of each worker, if
    cdef bint sets_aside        # nodes are set aside,
    cdef intp_t worth_setting_aside     # values of one that is
    cdef Arena arena
    cdef Candidate* leaves      # [n_leaves] set aside; what they own is the builder's
    cdef intp_t n_leaves
    cdef intp_t room
    cdef Tree top               # grown so far
    cdef list order             # of the leaves, in which they are grown
    cdef list trees             # [n_leaves] grown below them

    cdef int _grow_all(self, Builder builder) except -1


# The tree that one builder would have grown, depth-first, if trees are below these leaves.
cdef Tree joined(Tree top, dict below)

# Let a leaf be the root of another tree, whose nodes keep their order.
cdef int append(Tree whole, intp_t place, Tree tree) except -1
