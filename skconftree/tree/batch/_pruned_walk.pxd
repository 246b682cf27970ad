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

from skconftree.tree.batch._rank_sort cimport RankSort
from skconftree.tree.split._scan cimport Scan
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float64_t, int32_t, intp_t, uint8_t, uint64_t,
)

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
