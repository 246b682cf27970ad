from skconftree.tree.leaves._contract cimport (
    Leaf, LeafHeader, LeafMemory, Parting, Policy,
)
from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t, label_t

# ROWS: a leaf keeps its rows.
#
# If leaves may predict by naive Bayes, moments are kept beside them, and counts of
# categories. If cuts are fixed, the leaf's first rows set bins, but nothing is counted
# in them: the rows are. What leaves that keep rows have in common is here too.

cdef LeafMemory ROWS

cdef int append_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight
) except -1 nogil
# As LeafMemory.part; many rows are counted at once.
cdef int part_rows(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil
cdef int keep_latest(Leaf* leaf, const Policy* policy, intp_t n) except -1 nogil
cdef write_rows(StateWriter writer, const Leaf* leaf, const Policy* policy)
cdef read_rows(
    StateReader reader, const LeafHeader* header, const Policy* policy, Leaf* leaf
)


# The features that a leaf has drawn for its life.
#
# A leaf that draws remembers these alone: what it is given to learn or to predict is a
# row of them, in ascending order, and its memory knows no other features. They follow
# from the leaf's key: at first the seed of the tree and the number of the node.

cdef inline const Policy* policy_of(
    const Leaf* leaf, const Policy* policy
) noexcept nogil:
    # That of the features that the leaf remembers.
    return policy if leaf.drawn == NULL else &leaf.drawn.policy


cdef inline intp_t index_of(const Leaf* leaf, intp_t feature) noexcept nogil:
    # Of a feature among those that the leaf remembers, one of them.
    cdef intp_t place = 0
    if leaf.drawn == NULL:
        return feature
    while leaf.drawn.features[place] != feature:
        place += 1
    return place


cdef inline const float32_t* seen_by(
    const Leaf* leaf, const float32_t* x, float32_t* row
) noexcept nogil:
    # A row as the leaf sees it, which may be written to `row`.
    cdef intp_t i
    if leaf.drawn == NULL:
        return x
    for i in range(leaf.drawn.policy.n_features):
        row[i] = x[leaf.drawn.features[i]]
    return row


# Draw the features of a new leaf, if leaves do.
cdef int draw_features(Leaf* leaf, const Policy* policy) except -1 nogil
# Tell a leaf that learns what the tree knows of categories and missing values.
cdef void tell(Leaf* leaf, const Policy* policy) noexcept nogil
cdef intp_t bytes_of_drawn(const Leaf* leaf, const Policy* policy) noexcept nogil
