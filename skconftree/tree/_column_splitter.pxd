# ColumnSplitter: the splitter of batch growth, over the columns of a table.
#
# A cut is the number of rows that go left, in ascending order of the value, if
# the feature is SORTED; the largest code that goes left, if it is CODED.

from skconftree.bounds._contract cimport Bound
from skconftree.tree._columns cimport Column, Columns
from skconftree.tree._criterion cimport Criterion
from skconftree.tree._node cimport NodeScan
from skconftree.tree._splitter cimport Splitter
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint8_t, uint32_t, uint64_t,
)


cdef class ColumnSplitter(Splitter):
    cdef readonly Columns columns
    cdef bint random_cuts

    # The walk of one feature.
    cdef float64_t* profile         # [MAX_LEVELS, n_classes + 1]
    cdef int32_t* tally             # the same before conversion, unweighted
    cdef const uint8_t* run_codes   # codes of the run's rows, or NULL
    cdef uint32_t* run              # [RUN_LIMIT] sorted entries of a small node
    cdef uint32_t* keys             # [RUN_LIMIT]

    cdef void _fill_profile(
        self, const uint8_t* codes, intp_t n, intp_t n_levels
    ) noexcept nogil
    cdef void _sort_codes(
        self, const uint8_t* codes, intp_t n, intp_t n_levels
    ) noexcept nogil
    cdef intp_t _walk_random_cut(self, intp_t feature) noexcept nogil
    cdef float64_t _random_threshold(
        self, intp_t feature, float32_t low, float32_t high
    ) noexcept nogil
    cdef void _labelled_range(
        self, intp_t feature, float32_t* low, float32_t* high
    ) noexcept nogil
    cdef intp_t _cut_at(self, intp_t feature, float64_t threshold) noexcept nogil
