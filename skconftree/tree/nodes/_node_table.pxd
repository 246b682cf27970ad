from libc.math cimport NAN

from skconftree.bounds._contract cimport ByChance, SplitEvidence
from skconftree.tree.nodes._routing cimport DEAD
from skconftree.utils._guard cimport Guard
from skconftree.utils._lock cimport ModelLock
from skconftree.utils._typedefs cimport (
    float64_t, int16_t, int32_t, intp_t, uint64_t, uint8_t,
)

# Snapshot: what the arrays of a tree were at one moment, and what was built from them.
#
# Any number of threads may look at one: what a look builds it puts in its place when it
# is whole, in a dictionary. Two that build the same thing at once build equal ones.

cdef class Snapshot:
    cdef intp_t version         # of the counts
    cdef intp_t node_count
    cdef intp_t n_edits         # of tests
    cdef object class_weight
    cdef double shrinkage
    cdef object criterion       # gives impurities; None if `arrays` has them
    cdef dict arrays
    cdef dict structural        # built from them, good until the next split
    cdef dict counted           # good until the next row

    cdef object array(self, str name)
    cdef dict all_arrays(self)
    cdef object of_structure(self, object make)
    cdef object of_counts(self, object make)
    cdef object values(self)


# NodeArrays: the nodes of a tree as plain arrays, one element a node.
#
# The arrays belong to NumPy and are replaced when they are full. Those of a tree that
# is finished are handed out as they are; of a tree that grows copies are, so that
# nobody sees them change. Nobody can write to what is handed out, as routing believes
# what it finds; only who holds the lock to learn writes to the arrays.
# A look at the tree changes nothing that another one reads: what it has to build is kept
# in a `Snapshot`, which takes the place of an older one when it is whole.

cdef struct TrialCosts:
    # What a split was chosen by, if growth looked ahead: what the trees cost that were
    # grown below it, and those below the cheapest other test that was tried. NaN and -2
    # if none was.
    float64_t cost
    float64_t runner_up_cost
    intp_t runner_up_feature


cdef struct Competitor:
    # A test of another attribute that a split was chosen over.
    int32_t feature         # -2 = none
    int16_t n_children
    uint8_t missing_left    # where a numeric test sends rows without a value; whether
    uint8_t missing_seen    # labelled rows of the node miss it
    float64_t threshold     # NaN if the feature is nominal; infinity = whether there is
                            # a value
    uint64_t left           # bits: the categories of the first branch, of the first 64
    float64_t gain          # decrease of the node's impurity
    float64_t z             # how much more the split gains, in standard errors; NaN = not
                            # known


cdef inline Competitor no_competitor() noexcept nogil:
    return Competitor(-2, 0, 0, 0, NAN, 0, NAN, NAN)


cdef struct Stop:
    # Why a node is a leaf.
    float64_t log10_expected    # of the best split that was rejected, or of the one that
                                # was removed; NaN if there is none
    float64_t threshold         # its threshold; NaN if its feature is nominal
    int32_t feature             # -2 = there is none
    int32_t reason              # a LeafReason


cdef inline Stop no_stop() noexcept nogil:
    return Stop(NAN, NAN, -2, 0)


cdef void* address_of(array) except? NULL


cdef class NodeArrays:
    cdef readonly intp_t n_features
    cdef readonly intp_t n_classes
    cdef readonly intp_t node_count
    cdef readonly intp_t n_leaves
    cdef readonly intp_t n_dead         # rows that are no node any more
    cdef readonly intp_t max_depth
    cdef readonly object class_weight   # ndarray (n_classes,): counts -> values
    cdef readonly bint keeps_evidence   # of splits; else what is expected by chance alone
    cdef readonly bint keeps_costs      # of trials, of splits
    cdef readonly bint keeps_competitors     # of splits
    cdef readonly bint keeps_stops      # of nodes: why leaves have not split
    cdef readonly double shrinkage      # of the values towards those of the parents
    cdef intp_t capacity
    cdef dict _arrays
    cdef Guard guard                    # of what follows
    cdef Snapshot _shown                # what was last looked at

    # Of a tree that grows row by row.
    cdef ModelLock lock                 # None if it is finished
    cdef object criterion               # gives impurities; None if it is finished
    cdef intp_t depth_limit             # of leaves that split
    cdef intp_t version                 # of the counts: moves on with every row
    cdef intp_t n_edits                 # of tests that were there already

    cdef int32_t* parent                # [capacity]; -1 at the root
    cdef int32_t* depth
    cdef int32_t* first_child           # -1 at a leaf
    cdef int32_t* n_children            # 0 at a leaf
    cdef intp_t* n_node_samples         # rows, whatever their weight
    cdef float64_t* counts              # [capacity, n_classes]
    cdef float64_t* impurity
    cdef Stop* stops                    # [capacity]; NULL if not kept
    cdef SplitEvidence* evidence        # [capacity // 2] one a split; NULL if not kept
    cdef ByChance* by_chance            # [capacity // 2] likewise; NULL if evidence is kept
    cdef TrialCosts* costs              # [capacity // 2] one a split; NULL if not kept
    cdef Competitor* competitors          # [capacity // 2, MAX_STORED_COMPETITORS] likewise

    cdef dict _shapes(self, intp_t capacity)
    cdef tuple _names(self)
    cdef intp_t _size(self, str name) except -1
    cdef dict _enlarged(self, intp_t capacity)
    cdef object _hold(self, dict arrays)
    cdef void reserve(self, intp_t capacity) except *
    cdef void cut_to_size(self) except *
    cdef intp_t node_bytes(self) noexcept nogil
    cdef intp_t split_bytes(self) noexcept nogil
    cdef intp_t bytes_of_nodes(self) noexcept nogil

    cdef int _read(self) except -1
    cdef void _leave(self) noexcept
    cdef Snapshot _still(self)
    cdef Snapshot _look(self, Snapshot old)
    cdef Snapshot _last_shown(self)
    cdef void _show(self, Snapshot shown) noexcept
    cdef object counts_of_leaves(self)
    cdef int fill_value(self, intp_t node, float64_t* out) except -1
    cdef void add_counts(self, intp_t top, float64_t* counts) noexcept nogil
    cdef inline intp_t n_splits(self) noexcept nogil:
        return self.node_count - self.n_dead - self.n_leaves

    cdef inline bint is_leaf(self, intp_t node) noexcept nogil:
        return self.n_children[node] == 0 and self.parent[node] != DEAD

    cdef inline intp_t next_below(self, intp_t top, intp_t node) noexcept nogil:
        # The node after this one below `top`, parents before their children and the
        # first child first; -1 after the last one. Trees may be too deep to recurse.
        cdef intp_t above
        if self.n_children[node] > 0:
            return self.first_child[node]
        while node != top:
            above = self.parent[node]
            if node + 1 < self.first_child[above] + self.n_children[above]:
                return node + 1
            node = above
        return -1


# NodeTable: the nodes of a tree whatever their tests.
#
# Node ids are append-only: a leaf that splits keeps its id as an internal node,
# and its children get the next ids, the first one first. So the children of a node
# follow each other, and the splits have an order, in which their first children come.
# In this order they have their evidence: a leaf takes no room for it.
#
# The tests that send rows from a node to a child are those of a subclass, which holds
# arrays of its own beside these, adds their shapes, and is asked what becomes of them.

cdef class NodeTable(NodeArrays):
    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil
    cdef void accept(self, const SplitEvidence* evidence) noexcept nogil
    cdef void forget(self) noexcept nogil
    cdef void grows(self, object criterion, ModelLock lock, intp_t depth_limit) except *
    cdef void _copy_split(self, NodeTable tree, intp_t split) noexcept nogil
    cdef void _copy_tests(self, NodeTable pruned, const intp_t[::1] kept) except *
    cdef object _check(self, dict arrays)
    cdef object _take(self, dict arrays)
