# NodeTests: the tests of a node's attributes, whatever the source of its rows: which
# there are, and what one of them makes of the node.
#
# Missing values. Where labelled rows of the node miss a value, the attribute is walked
# twice, without those rows: once they go right, once left. Between the two comes the
# test whether there is a value. Where only rows without label miss it, they go to the
# larger child. A source that cannot tell has them on the right of every test.
#
# Random cuts. An attribute has one test: a cut drawn between its extreme values, or
# among the cuts that the source has kept, and a side drawn for rows without a value.

from skconftree.tree.split._category_sets cimport CategorySets
from skconftree.tree.split._cut cimport Cut
from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._scan cimport Scan, TestReader
from skconftree.tree.split._source cimport Source, ValueCounts
from skconftree.tree.split._split cimport Children
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t, uint64_t

cdef enum MissingRows:
    NONE            # or they are on the right, where nothing is to be done
    LEFT
    UNLABELLED


cdef class NodeTests(Scan):
    cdef ExaminedNode node
    cdef Source source
    cdef readonly CategorySets sets
    cdef TestReader reader          # of the tests that are walked
    cdef const int32_t* n_categories    # [n_features] of the root, 0 = numeric; NULL = all
    cdef bint random_cuts

    cdef intp_t feature             # being walked
    cdef bint nominal
    cdef MissingRows missing
    cdef ValueCounts values

    cdef Children children          # of count_children()
    cdef intp_t child_room

    cdef inline bint is_nominal(self, intp_t feature) noexcept nogil:
        return self.n_categories != NULL and self.n_categories[feature] > 0

    cdef int reserve_categories(self, intp_t room) except -1
    cdef int _reserve_children(self, intp_t room) except -1
    # Walk one attribute; 0 if it is constant in the node. `additive` says whether sums
    # of phi will do, if the walk can have them.
    cdef intp_t walk(self, intp_t feature, bint additive) noexcept nogil
    # Say everything in `children` about the children of one test.
    cdef void count_children(self, intp_t feature, Cut cut) noexcept nogil
    # infinity = whether there is a value
    cdef float64_t threshold(self, intp_t feature, Cut cut) noexcept nogil
    cdef intp_t _walk_values(self, intp_t feature) noexcept nogil
    cdef intp_t _walk_drawn(self, intp_t feature) noexcept nogil
    cdef intp_t _walk_sets(self, intp_t feature) noexcept nogil
    cdef void _take_presence(self, intp_t feature) noexcept nogil
    cdef void _take_children(self, Cut cut) noexcept nogil
    cdef void _show(self, intp_t size) noexcept nogil
    cdef void _add_missing(self, intp_t size) noexcept nogil
    cdef intp_t _drop_small_children(self, intp_t size) noexcept nogil
    cdef bint _has_small_child(self) noexcept nogil
    cdef uint64_t _draw_key(self, intp_t feature) noexcept nogil
    cdef void _count_sides(self, intp_t feature, Cut cut) noexcept nogil
    cdef void _send_missing(self, bint any_missing, Cut cut) noexcept nogil
    cdef float64_t _left_volume(self, intp_t feature, Cut cut) noexcept nogil
