cimport cython
from skconftree.bounds._contract cimport NodeStats, Score, SplitBlock
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t

# Possibilistic cumulative entropy of class counts, used by the bound (split rule of possibilistic
# trees) and by its floor. It is a mean of binary cross entropies, one for each class c. With the
# frequency T of c and all rarer classes, and the upper confidence limit pi of T, it is that of
# T / 2 with pi / 2 in the logarithms.

cdef inline void sort_order(intp_t* order, const float64_t* counts, intp_t size) noexcept nogil:
    # Insertion sort of class indices by ascending count. It is linear if the order is almost
    # correct, as for consecutive candidate splits of a feature.
    cdef intp_t i
    cdef intp_t j
    cdef intp_t c
    for i in range(1, size):
        c = order[i]
        j = i
        while j > 0 and counts[order[j - 1]] > counts[c]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = c


# Agresti-Coull upper limit of the frequency p in n rows; z is the normal quantile of its level.
cdef float64_t upper_limit(float64_t p, float64_t n, float64_t z) noexcept nogil

# Number of classes that are left out of the entropies of a node and its children: the classes
# without rows, if `present`; otherwise 0.
cdef intp_t n_absent(const float64_t* counts, intp_t n_classes, bint present) noexcept nogil

# The entropy of n rows without the `first` rarest classes. `order` has all class indices; it is
# sorted by count.
cdef float64_t cumulative_entropy(
    const float64_t* counts, intp_t n_classes, intp_t first, float64_t n, float64_t z,
    intp_t* order,
) noexcept nogil

# Normal quantile of the level 1 - delta, corrected for the number of comparisons (Dunn-Sidak).
cdef float64_t corrected_quantile(float64_t delta, float64_t comparisons) noexcept nogil


# Floors: lower limits of the possibilistic entropy of children, which a scan, the split search of
# a node, computes for every candidate split. Cross entropy is entropy plus divergence: a floor is
# the exact entropy plus a lower limit of the divergence. An outcome is a child. A Score is a
# function of class counts that the scan minimizes; a SplitBlock has the counts of some splits.
# NodeStats describes the node.

cdef struct Sides:
    # Floors of the two children of a split.
    float64_t left
    float64_t right


@cython.final
cdef class PossibilisticFloor(Score):
    cdef float64_t delta
    cdef bint all_tests         # the levels are corrected for the number of candidate splits
    cdef bint present           # see n_absent()
    cdef intp_t first           # number of classes left out, see n_absent()
    cdef float64_t z_node       # normal quantile of a node's limits
    cdef float64_t base_z2      # z^2 of splits with two outcomes, before any correction
    cdef float64_t z2           # at most that of the node's candidate splits
    cdef float64_t n_candidates     # candidates seen in this node; negative once z2 is final
    cdef float64_t corrected    # the n_candidates that z2 was computed for
    cdef Arena arena            # owns the arrays
    cdef float32_t* cells       # [CELLS, CELLS] divergences, tabulated by the number of rows and
                                # a cumulative class count; 0 = not yet computed
    cdef float64_t scale        # from nats to units of a bound's limit
    cdef float64_t ceiling      # splits above it cannot be the best: no tighter floor is needed
    cdef float64_t smallest     # smallest score so far in this node
    cdef float64_t margin       # keeps ties with the best split below the ceiling
    cdef float64_t z_largest    # at least that of the node's candidate splits
    cdef float64_t[::1] table   # [k] f(k) / 2, where f(k) = k ln(k)
    cdef const float64_t* half_f    # its elements
    cdef float64_t table_size
    cdef bint tabulated         # all counts of the node are in the table
    cdef const float64_t* counts
    cdef float64_t n
    cdef intp_t* orders         # [2, n_classes] order of the classes, left and right
    cdef float64_t* right       # [n_classes] counts of the right child

    # Set z2 once the node's candidate splits have been counted.
    cdef void correct(self, float64_t n_candidates) noexcept nogil
    # f(x) / 2; the element of a row and column of `cells`, computed; and divergence of n rows
    # from this table, where scale = 1 / z^2.
    cdef float64_t f(self, float64_t x) noexcept nogil
    cdef float32_t fill(self, intp_t row, intp_t column) noexcept nogil
    cdef float64_t divergence(self, float64_t count, float64_t n, float64_t scale) noexcept nogil
    # Total over n rows of the entropy of a child, which sorts `order`, and of its divergence.
    cdef float64_t entropy(
        self, const float64_t* counts, float64_t n, intp_t* order
    ) noexcept nogil
    cdef float64_t divergences(
        self, const float64_t* counts, float64_t n, const intp_t* order
    ) noexcept nogil
    # block() for two classes; for more: the score of split i, and the scores of the splits between
    # `low` and `high`, where `left` and `right` are floors of their left and right children.
    cdef void block_of_two(self, const SplitBlock* splits, float64_t* out) noexcept nogil
    cdef Sides score_split(self, const SplitBlock* splits, intp_t i, float64_t* out) noexcept nogil
    cdef void score_between(
        self, const SplitBlock* splits, intp_t low, intp_t high, float64_t left,
        float64_t right, float64_t* out,
    ) noexcept nogil
