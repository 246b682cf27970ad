# ColumnSplitter: the splitter of batch growth, over the columns of a table.
#
# What a cut means is written in _node_rows.pxd and, for sets of categories, in
# _nominal.pxd.
#
# Missing values. Where labelled rows of the node miss a value, the feature is
# walked twice, without those rows: once they go right, once left. Between the two
# comes the test whether there is a value. Where only rows without label miss it,
# they go to the larger child.

from skconftree.bounds._contract cimport Bound
from skconftree.tree.split._criterion cimport Criterion
from skconftree.tables._encoded_table cimport Column
from skconftree.tree.split._missing cimport MissingRows
from skconftree.tree.split._node cimport NodeRecord, NodeScan
from skconftree.tree.batch._node_rows cimport NodeRows
from skconftree.tree.split._splitter cimport Splitter
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint8_t, uint32_t, uint64_t,
)


cdef class ColumnSplitter(Splitter):
    cdef readonly NodeRows rows
    cdef Arena arena

    # The walk of one feature.
    cdef float64_t* histogram         # [MAX_LEVELS, n_classes + 1]
    cdef int32_t* tally             # the same before conversion, of whole weights
    cdef const uint8_t* sorted_codes    # codes of the sorted rows, or NULL
    cdef uint32_t* sorted_rows      # [SORT_LIMIT] entries of a small node
    cdef uint32_t* keys             # [SORT_LIMIT]
    cdef MissingRows missing        # of the tests being walked
    cdef float64_t* missing_counts  # [n_classes + 1] of the rows without a value; the
                                    # last one has no label
    cdef float64_t* seen_counts     # [n_classes + 1] of the others
    cdef intp_t n_seen              # rows with a value, if the feature is sorted

    cdef float64_t n_walked         # n_repeated, or REPEATS of each row if that is less
    cdef float64_t unlabelled       # weight of the node's rows without label; of
                                    # sparse tables only

    cdef Column* _column(self, intp_t feature) noexcept nogil
    cdef bint _is_counted_sparse(self, intp_t feature) noexcept nogil
    cdef bint _counts_codes(self, intp_t n_levels) noexcept nogil
    cdef intp_t _walk_sparse(self, intp_t feature) noexcept nogil
    cdef void _fill_sparse_histogram(self, intp_t feature) noexcept nogil
    cdef intp_t _walk_values(self, intp_t feature) noexcept nogil
    cdef intp_t _walk_order(self, const Column* column, intp_t n) noexcept nogil
    cdef intp_t _walk_with_missing(self, intp_t feature) noexcept nogil
    cdef void _count_missing(self, intp_t feature) noexcept nogil
    cdef void _add_missing(self, intp_t size) noexcept nogil
    cdef void _count_codes(
        self, const Column* column, intp_t width, float64_t* out
    ) noexcept nogil
    cdef void _count_categories(self, intp_t feature, intp_t cut) noexcept nogil
    cdef intp_t _missing_code(self, intp_t feature) noexcept nogil
    cdef bint _asks_presence(self, intp_t feature, intp_t cut) noexcept nogil
    cdef intp_t _walk_seen(self, intp_t feature) noexcept nogil
    cdef uint64_t _random_key(self, intp_t feature) noexcept nogil
    cdef intp_t _walk_random_cut(self, intp_t feature) noexcept nogil
    cdef float64_t _random_threshold(
        self, intp_t feature, float32_t low, float32_t high
    ) noexcept nogil
    cdef void _labelled_range(
        self, intp_t feature, float32_t* low, float32_t* high
    ) noexcept nogil
    cdef intp_t _cut_at(self, intp_t feature, float64_t threshold) noexcept nogil
