cimport cython
from skconftree.bounds._contract cimport NodeStats, Score, SplitBlock
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t

# Possibilistic cumulative entropy of class counts, used by the bound (split rule of possibilistic
# trees) and by its floor.

cdef inline void sort_order(intp_t* order, const float64_t* counts, intp_t size) noexcept nogil:
    # Insertion sort by ascending count. It is linear if the order is almost correct, as
    # for consecutive candidate splits of a feature.
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


cdef float64_t upper_limit(float64_t p, float64_t n, float64_t z) noexcept nogil

cdef intp_t n_absent(const float64_t* counts, intp_t n_classes, bint present) noexcept nogil

cdef float64_t cumulative_entropy(
    const float64_t* counts, intp_t n_classes, intp_t first, float64_t n, float64_t z,
    intp_t* order,
) noexcept nogil

cdef float64_t corrected_quantile(float64_t delta, float64_t comparisons) noexcept nogil


# Floors (certified lower limits) of the possibilistic entropy of children, which a scan, the
# split search of a node, computes for every candidate split.

cdef struct Sides:
    # Floors of the two children of a split.
    float64_t left
    float64_t right


@cython.final
cdef class PossibilisticFloor(Score):
    cdef float64_t delta
    cdef bint all_tests
    cdef bint present
    cdef intp_t first           # number of classes left out, see n_absent()
    cdef float64_t z_node       # normal quantile of a node's limits
    cdef float64_t base_z2      # z^2 of splits with two outcomes, before any correction
    cdef float64_t z2           # at most that of the node's candidate splits
    cdef float64_t n_candidates     # candidates seen in this node; negative once z2 is final
    cdef float64_t corrected    # the n_candidates that z2 was computed for
    cdef Arena arena
    cdef float32_t* cells       # [n, C] tabulated divergences; 0 = not yet computed
    cdef float64_t scale        # from nats to units of a bound's limit
    cdef float64_t ceiling      # splits above it do not need the exact floor
    cdef float64_t smallest     # score of this node
    cdef float64_t margin       # keeps ties with the best split below the ceiling
    cdef float64_t z_largest    # at least that of the node's candidate splits
    cdef float64_t[::1] table   # [k] f(k) / 2
    cdef const float64_t* half_f
    cdef float64_t table_size
    cdef bint tabulated
    cdef const float64_t* counts
    cdef float64_t n
    cdef intp_t* orders         # [2, n_classes] order of the classes, left and right
    cdef float64_t* right       # [n_classes]

    cdef void correct(self, float64_t n_candidates) noexcept nogil
    cdef float64_t f(self, float64_t x) noexcept nogil
    cdef float32_t fill(self, intp_t row, intp_t column) noexcept nogil
    cdef float64_t divergence(self, float64_t count, float64_t n, float64_t scale) noexcept nogil
    cdef float64_t entropy(
        self, const float64_t* counts, float64_t n, intp_t* order
    ) noexcept nogil
    cdef float64_t divergences(
        self, const float64_t* counts, float64_t n, const intp_t* order
    ) noexcept nogil
    cdef void block_of_two(self, const SplitBlock* splits, float64_t* out) noexcept nogil
    cdef Sides score_split(self, const SplitBlock* splits, intp_t i, float64_t* out) noexcept nogil
    cdef void score_between(
        self, const SplitBlock* splits, intp_t low, intp_t high, float64_t left,
        float64_t right, float64_t* out,
    ) noexcept nogil
