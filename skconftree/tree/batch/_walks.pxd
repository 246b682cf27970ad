from skconftree.tree.split._scan cimport Scan
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float64_t, int32_t, intp_t, uint32_t, uint64_t, uint8_t,
)


# What the tag of a row says (_packed_rows.pxd).

cdef inline intp_t class_of(uint64_t word) noexcept nogil:
    return <intp_t> ((word >> 32) & 0xFFFF)


cdef inline int32_t count_of(uint64_t word) noexcept nogil:
    return <int32_t> (word >> 48)


# Walks over sorted keys (RankSort) that are tagged with classes and counts.
#
# They emit what Scan.walk_sorted does, in the same blocks; the place of a test is the
# rank of the last key that goes left.

cdef intp_t walk_two_class_keys(
    Scan scan, const uint64_t* keys, intp_t n, int32_t least
) noexcept nogil
# Sums of squares, for any number of classes, whose counts are `total`.
cdef intp_t walk_square_keys(
    Scan scan, const uint64_t* keys, intp_t n, int32_t least, const float64_t* total
) noexcept nogil


# Walks over tallies of codes (_packed_rows.pxd), whose whole counts are exact in any
# order. They emit what Scan.walk_histogram does: there are at most BLOCK codes, so tests
# come in one block. Bits of `present` say which codes have rows. Both are all zeros
# afterwards.

cdef intp_t walk_two_class_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels
) noexcept nogil
# Of any number of classes, whose counts are `total`: packed, or each by itself.
cdef intp_t walk_packed_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels, intp_t bits,
    const float64_t* total,
) noexcept nogil
# Of more than two classes, if phi is no square: sums in the order of the classes.
cdef intp_t walk_phi_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels, intp_t bits,
    const float64_t* total,
) noexcept nogil
cdef intp_t walk_plain_tally(
    Scan scan, int32_t* tally, uint64_t* present, intp_t n_levels,
    const float64_t* total,
) noexcept nogil


# Rows of a node in the order of their ranks.
#
# A sorted key is (rank - least) << 32 | tag. A tag is the number of the row in the node,
# or all that a walk asks of it (_packed_rows.pxd).

cdef class RankSort:
    cdef readonly intp_t n_most
    cdef Arena arena
    cdef uint64_t* keys         # [n_most] sorted
    cdef uint64_t* other        # [n_most] scratch
    cdef int32_t least          # of all keys
    cdef uint32_t* entries      # [n_most] (row << 1) | new, new = another rank than before
    cdef int32_t* ranks         # [n_most] in this order

    # Sort rows 0, 1, ... of these ranks; equal ones stay in their order.
    cdef void sort(self, const int32_t* ranks, intp_t n) noexcept nogil
    # The same, for keys alone that have the tags of these rows.
    cdef void sort_tagged(
        self, const int32_t* ranks, const uint64_t* rows, intp_t n
    ) noexcept nogil
    cdef void _sort_by_comparing(
        self, const int32_t* ranks, const uint64_t* rows, intp_t n
    ) noexcept nogil
    cdef void _sort_by_digits(
        self, intp_t n, intp_t shift, intp_t n_bits
    ) noexcept nogil
    cdef void _write(self, intp_t n) noexcept nogil


# PrunedWalk: a walk over many rows of a node of two classes that are not sorted, all of
# whose tests are counted, but of which those alone are emitted that can be the best.
#
# The score of a criterion is a concave function of the class counts on the left. Between
# two cuts these lie in a box, so that no test there is better than the best corner of
# the box. Rows are counted by runs of ranks; those alone are sorted whose run has a
# corner as good as the best cut between two runs.
#
# What a Selection keeps is the same to the last bit: a test that is left out is worse
# than the best one by more than comparing tests by a tie can tell. Where others are
# within a few ties of it, so that this depends on their order, the walk gives up.

cdef enum:
    LEAST_PRUNED = 256      # rows
    MOST_RUNS = 2048


cdef class PrunedWalk:
    cdef Arena arena
    cdef uint64_t* tally        # [MOST_RUNS] packed counts of the runs, zeros between walks
    cdef uint64_t* before       # [MOST_RUNS] of all ranks below
    cdef float64_t* lows        # [MOST_RUNS] no test of the run is better
    cdef uint8_t* marked        # [MOST_RUNS] whether it may have the best test
    cdef uint64_t* seen         # [n_codes] bits: ranks of the node, zeros between walks
    cdef int32_t* codes         # [n_rows] of rows of runs that are marked
    cdef uint64_t* rows
    cdef uint64_t* left         # [n_rows + 1] tests: packed counts on the left,
    cdef int32_t* places        # [n_rows + 1]
    cdef float64_t* scores      # [n_rows + 1]

    # The number of tests of rows of these ranks, whose weights add up to `weight`; -1 if
    # it gave up, having emitted nothing.
    cdef intp_t walk(
        self, Scan scan, RankSort order, const int32_t* codes, const uint64_t* rows,
        intp_t n, intp_t n_codes, float64_t weight,
    ) noexcept nogil
    cdef intp_t _count_runs(
        self, const int32_t* codes, const uint64_t* rows, intp_t n, intp_t n_codes,
        intp_t shift,
    ) noexcept nogil
    cdef float64_t _bound_runs(self, Scan scan, intp_t n_runs) noexcept nogil
    cdef float64_t _mark_runs(self, intp_t n_runs, float64_t most) noexcept nogil
    cdef intp_t _score_tests(
        self, Scan scan, RankSort order, intp_t n, intp_t shift
    ) noexcept nogil
    cdef intp_t _emit_best(self, Scan scan, intp_t n, float64_t tie) noexcept nogil
