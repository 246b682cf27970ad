# NominalScan: the tests of a nominal feature, from the counts of its categories.
#
# A test of two outcomes is a set of categories that go left. Which sets are
# emitted depends on the number m of categories that labelled rows of the node
# have:
#   PREFIXES  two classes and a concave criterion: the best of all sets is a
#             prefix of the categories in the order of their share of a class, so
#             m - 1 tests stand for 2^(m-1) - 1. Cut: the length of the prefix.
#   SUBSETS   m <= ENUMERABLE: every set without the last category. Cut: bits of
#             the categories, the first one lowest.
#   ORDERINGS else: the prefixes in the order of the share of each class in turn
#             and, if there are more than two, of the first principal component of
#             the shares. Cut: ordering * m + length of the prefix.
#   DRAWN     random cuts: one set, drawn. Cut: 0.
# A multiway feature has one test, whose children are the categories. Cut: 0.
#
# With PREFIXES and ORDERINGS the best of all sets has been looked for, so all of
# them count as tests compared.
#
# A feature is scattered in a node if most rows have a category of their own. Sets of
# its categories can tell any labels apart, which no p-value of a single test knows.

from skconftree.tree.split._node cimport NodeScan
from skconftree.utils._typedefs cimport (
    float64_t, int16_t, int32_t, intp_t, uint64_t,
)

cdef enum:
    ENUMERABLE = 10

cdef enum Search:
    PREFIXES
    SUBSETS
    ORDERINGS
    DRAWN


cdef struct Ranked:
    float64_t share
    int32_t place


cdef class NominalScan(NodeScan):
    cdef const int32_t* n_categories    # [n_features], 0 = numeric; NULL = all are
    cdef const int32_t[::1] _n_categories
    cdef bint multiway
    cdef bint random_cuts
    cdef bint concave               # sets of least impurity are prefixes

    # The walk of one feature, or the feature of count_children().
    cdef intp_t category_room
    cdef float64_t* categories      # [category_room, n_classes + 1] weight of each
                                    # category; its last column has no label
    cdef int32_t* present           # [category_room] categories of labelled rows
    cdef intp_t n_present
    cdef float64_t unknown          # weight of unlabelled rows of other categories
    cdef float64_t alone            # weight of categories of one row (or less)
    cdef bint skips_scattered       # such features have no tests
    cdef float64_t n_implied        # tests compared, 0 = those emitted; 2^1000
    cdef float64_t log_implied      # at most, unlike its logarithm
    cdef Ranked* ranked             # [category_room] places in `present`, ordered
    cdef float64_t set_weight       # of the set that is being made, in `running`
    cdef float64_t set_pool         # and its rows without label
    cdef float64_t* axis            # [2, n_classes]

    # The test of count_children(): by category the child its rows go to, -1 = no
    # labelled row has it. Their unlabelled rows go to the largest child.
    cdef int16_t* ordinals          # [category_room]
    cdef intp_t unknown_child

    cdef inline bint has_room(self, float64_t code) noexcept nogil:
        # The last place is that of unknown categories.
        return 0.0 <= code < self.category_room - 1

    cdef void reserve_categories(self, intp_t room) except *
    cdef void _free_categories(self) noexcept
    cdef intp_t walk_categories(
        self, intp_t feature, intp_t n_codes
    ) noexcept nogil
    cdef void reduce_multiway(self) noexcept nogil
    cdef void divide_categories(
        self, intp_t feature, intp_t cut, intp_t n_codes
    ) noexcept nogil
    cdef void _find_present(self, intp_t n_codes) noexcept nogil
    cdef Search _search(self) noexcept nogil
    cdef intp_t _walk_subsets(self) noexcept nogil
    cdef intp_t _walk_orderings(self) noexcept nogil
    cdef void _emit_set(self, intp_t n_in_set, intp_t cut) noexcept nogil
    cdef void _add_category(self, intp_t place) noexcept nogil
    cdef void _emit_drawn(self) noexcept nogil
    cdef void _clear_set(self) noexcept nogil
    cdef intp_t _n_orderings(self) noexcept nogil
    cdef bint _rank(self, intp_t ordering) noexcept nogil
    cdef float64_t _weight(self, const float64_t* row) noexcept nogil
    cdef float64_t _share(self, const float64_t* row, intp_t c) noexcept nogil
    cdef void _principal_shares(self) noexcept nogil
    cdef float64_t _projection(self, const float64_t* row) noexcept nogil
    cdef void _send_left(self, intp_t feature, intp_t cut) noexcept nogil
    cdef bint _has_small_child(self) noexcept nogil
