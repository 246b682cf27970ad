from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._scan cimport Scan, Source, CandidateReader, ValueCounts
from skconftree.tree.split._split cimport Children, Cut
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int16_t, int32_t, intp_t, uint64_t

# Terms of this file. The outcomes of a split are its branches; a binary split has a left and a
# right outcome. A source (_scan.pxd) reads the rows of a node. It walks over the rows of a
# feature in ascending order and emits candidates: it writes the counts of the left outcome into
# the arrays of a Scan, which are passed to a reader in blocks. If the score is additive (a sum
# over the classes of phi, a function of one count), a walk may emit these sums instead of class
# counts. The pool of a node or an outcome is its weight with unlabeled rows or, if `by_volume`,
# the volume of its box: its limits in feature space. A cut (_split.pxd) divides the values of a
# feature; its position is an integer. Categories are stored as integer codes. An ExaminedNode
# (_node.pxd) has the class counts of the node; an Arena owns arrays.

# CategorySets: the candidate splits of a nominal feature, from the counts of its categories.
#
# A split with two outcomes is a set of categories that go left. The sets that are emitted
# depend on the number m of categories that labeled rows of the node have:
#   PREFIXES  two classes and a concave criterion: the best of all sets is a prefix (the first
#             categories) in the order of their share of a class, so m - 1 candidates
#             represent all 2^(m-1) - 1. Position: the length of the prefix.
#   SUBSETS   m <= ENUMERABLE: every set without the last category. Position: bits of the
#             categories, the first one lowest.
#   ORDERINGS otherwise: the prefixes in the order of the share of each class in turn and,
#             for more than two classes, of the first principal component of the shares.
#             Position: ordering * m + length of the prefix.
#   DRAWN     random cuts: one random set. Position: 0.
# A multiway feature has one candidate split, whose children are the categories. Position: 0.
#
# PREFIXES and ORDERINGS search for the best of all sets, so that all sets count as candidates
# compared (n_implied), not only those that are emitted.
#
# A feature has high cardinality in a node if most rows are the only ones of their category.
# Sets of its categories can separate any labels, which the p-value of a single split ignores.

cdef enum:
    ENUMERABLE = 10     # largest number of categories with which all sets are tried

cdef enum Search:
    PREFIXES
    SUBSETS
    ORDERINGS
    DRAWN


cdef struct Ranked:         # a category, to be sorted
    float64_t share         # of a class, or the first principal component of the shares
    int32_t position        # index in CategorySets.present


cdef class CategorySets:
    cdef ExaminedNode node
    cdef readonly bint multiway
    cdef bint random_cuts
    cdef bint concave               # the criterion is concave, see PREFIXES
    cdef bint skips_high_cardinality  # such features have no candidate splits

    # One feature.
    cdef Arena arena
    cdef readonly intp_t capacity   # categories, including one more for unknown categories
    cdef float64_t* counts          # [capacity, n_classes + 1] weight of each category; the
                                    # last column is that of unlabeled rows
    cdef intp_t n_codes             # categories of this feature
    cdef int32_t* present           # [capacity] categories of labeled rows
    cdef intp_t n_present
    cdef float64_t unknown          # weight of unlabeled rows of other categories
    cdef float64_t singleton_weight  # of categories of at most one row
    cdef float64_t n_implied        # number of candidates compared, at most 2^1000;
                                    # 0 = the number of candidates emitted
    cdef float64_t log_implied      # its logarithm, which is not limited
    cdef Ranked* ranked             # [capacity] indices in `present`, sorted by share
    cdef float64_t set_weight       # of the current set; its counts are in Scan.running
    cdef float64_t set_unlabeled    # weight of its unlabeled rows
    cdef float64_t* axis            # [2, n_classes] first principal component, and scratch
    cdef int16_t* child_of_code     # [capacity] set by divide()

    cdef inline bint fits_code(self, float64_t code) noexcept nogil:
        # The last code is that of unknown categories.
        return 0.0 <= code < self.capacity - 1

    cdef inline bint has_high_cardinality(self) noexcept nogil:
        return 2.0 * self.singleton_weight > self.node.n

    cdef inline bint has_single_candidate(self) noexcept nogil:
        return self.multiway or self.random_cuts

    cdef int reserve(self, intp_t capacity) except -1
    # `counts` have been set for this many codes.
    cdef void begin(self, intp_t n_codes) noexcept nogil
    # Emit the candidate splits; return their number.
    cdef intp_t walk(self, Scan scan) noexcept nogil
    # Set all fields of the children except their numbers of rows. Unlabeled rows of
    # categories that no labeled row has go to the largest child.
    cdef void divide(self, intp_t feature, intp_t position, Children* children) noexcept nogil
    # Sort `ranked` by the share of a class, or by the principal component if `ordering` is
    # n_classes. False if the class has no rows.
    cdef bint _rank(self, intp_t ordering) noexcept nogil


# CandidateSplits: the candidate splits of the features of a node, and the children of one of
# them, for every kind of source.
#
# Missing values. If labeled rows of the node miss a value, the feature is walked twice
# without those rows: first they go right, then left. The candidate "is the value missing?"
# is emitted between the two walks. If only unlabeled rows miss a value, they go to the larger
# child. A source that does not count the rows without a value has them on the right of every
# candidate.
#
# Monotonicity constraints. A candidate of a constrained feature is excluded if the probabilities
# of the second class in its children are in the wrong order or outside the limits of the node.
# It cannot be selected, but it is counted, so that the number of candidates does not depend on
# the labels. The candidate "is the value missing?" does not compare values and is not constrained.
#
# Random cuts. A feature has one candidate: a random cut between its extreme values, or one
# of the cuts that the source has stored, and a random side for rows without a value.

cdef enum MissingRows:
    NONE            # no row misses a value, or such rows go right: nothing is added
    LEFT            # they go left
    UNLABELED       # only unlabeled rows miss a value; they go to the larger child


cdef class CandidateSplits(Scan):
    cdef ExaminedNode node
    cdef Source source
    cdef readonly CategorySets sets
    cdef CandidateReader reader     # receives the candidates, see _scan.pxd
    cdef const int32_t* n_categories  # [n_features], 0 = numeric; NULL: all are numeric
    cdef bint random_cuts

    cdef intp_t feature             # being walked
    cdef bint nominal
    cdef intp_t sign                # of its monotonicity constraint, 0 = none
    cdef MissingRows missing        # what the rows without a value add to the left outcomes
    cdef ValueCounts values         # class counts of the rows with and without a value

    cdef Children children          # set by count_children()
    cdef intp_t child_capacity      # number of children that its arrays have space for

    cdef inline bint is_nominal(self, intp_t feature) noexcept nogil:
        return self.n_categories != NULL and self.n_categories[feature] > 0

    # Allocate memory for features with this many categories.
    cdef int reserve_categories(self, intp_t capacity) except -1
    # Walk one feature; 0 if it is constant in the node. `additive` allows sums of phi
    # instead of class counts, if the walk supports them.
    cdef intp_t walk(self, intp_t feature, bint additive) noexcept nogil
    # Set `children` to the children of one candidate split.
    cdef void count_children(self, intp_t feature, Cut cut) noexcept nogil
    # Threshold of a cut; infinity for the candidate "is the value missing?".
    cdef float64_t threshold(self, intp_t feature, Cut cut) noexcept nogil
    # Set Scan.block to the first `size` elements of the arrays.
    cdef void _fill_block(self, intp_t size) noexcept nogil
