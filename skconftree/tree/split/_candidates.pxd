from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._scan cimport Scan, Source, TestReader, ValueCounts
from skconftree.tree.split._split cimport Children, Cut
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int16_t, int32_t, intp_t, uint64_t

# CategorySets: the tests of a nominal feature, from the counts of its categories.
#
# A test of two outcomes is a set of categories that go left. Which sets are
# emitted depends on the number m of categories that labelled rows of the node
# have:
#   PREFIXES  two classes and a concave criterion: the best of all sets is a
#             prefix of the categories in the order of their share of a class, so
#             m - 1 tests stand for 2^(m-1) - 1. Place: the length of the prefix.
#   SUBSETS   m <= ENUMERABLE: every set without the last category. Place: bits of
#             the categories, the first one lowest.
#   ORDERINGS else: the prefixes in the order of the share of each class in turn
#             and, if there are more than two, of the first principal component of
#             the shares. Place: ordering * m + length of the prefix.
#   DRAWN     random cuts: one set, drawn. Place: 0.
# A multiway feature has one test, whose children are the categories. Place: 0.
#
# With PREFIXES and ORDERINGS the best of all sets has been looked for, so all of
# them count as tests compared.
#
# A feature is scattered in a node if most rows have a category of their own. Sets of
# its categories can tell any labels apart, which no p-value of a single test knows.

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


cdef class CategorySets:
    cdef ExaminedNode node
    cdef readonly bint multiway
    cdef bint random_cuts
    cdef bint concave               # sets of least impurity are prefixes
    cdef bint skips_scattered       # such features have no tests

    # One feature.
    cdef Arena arena
    cdef readonly intp_t room       # categories, with the unknown
    cdef float64_t* counts          # [room, n_classes + 1] weight of each category; the
                                    # last column has no label
    cdef intp_t n_codes             # of them, for this feature
    cdef int32_t* present           # [room] categories of labelled rows
    cdef intp_t n_present
    cdef float64_t unknown          # weight of unlabelled rows of other categories
    cdef float64_t alone            # weight of categories of one row (or less)
    cdef float64_t n_implied        # tests compared, 0 = those emitted; 2^1000 at
    cdef float64_t log_implied      # most, unlike its logarithm
    cdef Ranked* ranked             # [room] places in `present`, ordered
    cdef float64_t set_weight       # of the set that is being made, in Scan.running
    cdef float64_t set_pool         # and its rows without label
    cdef float64_t* axis            # [2, n_classes]
    cdef int16_t* ordinals          # [room] of divide()

    cdef inline bint has_capacity(self, float64_t code) noexcept nogil:
        # The last place is that of unknown categories.
        return 0.0 <= code < self.room - 1

    cdef inline bint is_scattered(self) noexcept nogil:
        return 2.0 * self.alone > self.node.n

    cdef inline bint has_one_test(self) noexcept nogil:
        return self.multiway or self.random_cuts

    cdef int reserve(self, intp_t room) except -1
    # `counts` hold those of so many codes.
    cdef void begin(self, intp_t n_codes) noexcept nogil
    # Emit the tests; their number.
    cdef intp_t walk(self, Scan scan) noexcept nogil
    # Set the ordinals and all that is said of the children but their rows. Unlabelled
    # rows of categories that no labelled row has go to the largest child.
    cdef void divide(
        self, intp_t feature, intp_t place, Children* children
    ) noexcept nogil
    cdef bint _rank(self, intp_t ordering) noexcept nogil


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
    cdef intp_t child_capacity

    cdef inline bint is_nominal(self, intp_t feature) noexcept nogil:
        return self.n_categories != NULL and self.n_categories[feature] > 0

    cdef int reserve_categories(self, intp_t room) except -1
    # Walk one attribute; 0 if it is constant in the node. `additive` says whether sums
    # of phi will do, if the walk can have them.
    cdef intp_t walk(self, intp_t feature, bint additive) noexcept nogil
    # Say everything in `children` about the children of one test.
    cdef void count_children(self, intp_t feature, Cut cut) noexcept nogil
    # infinity = whether there is a value
    cdef float64_t threshold(self, intp_t feature, Cut cut) noexcept nogil
    cdef void _show(self, intp_t size) noexcept nogil
