# LeafSplitter: the splitter of growth row by row, over what a leaf remembers.
#
# A cut is the number of rows that go left, in ascending order of the value, for
# ROWS; a bin, the last one that goes left, otherwise.
#
# Missing values are treated as by the ColumnSplitter; where a leaf has no bin for
# them, or keeps moments, rows without a value are on the right of every test.
#
# Only what counts as evidence is scanned: the rows since the leaf's creation, or
# all it holds (Policy.separate).

from skconftree.tree.leaves._leaf cimport Leaf, Policy
from skconftree.tree.split._missing cimport MissingRows
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._splitter cimport Split, Splitter
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint32_t, uint64_t,
)


cdef class LeafSplitter(Splitter):
    cdef bint whole                     # every weight so far is a whole number
    cdef Policy* policy
    cdef Leaf* leaf
    cdef NodeRecord record
    cdef int32_t* features              # [n_features]
    cdef const float32_t[:, ::1] pool   # rows without label, or None
    cdef const float64_t[:, ::1] root_box       # if W is a volume

    # ROWS that count: the labelled ones, then those without label.
    cdef intp_t n_labelled_rows
    cdef intp_t n_rows
    cdef intp_t room
    cdef const float32_t* x             # of the first labelled row
    cdef const label_t* y               # [n_rows]
    cdef const float64_t* row_weight    # [n_rows] or NULL
    cdef label_t* labels                # [room] behind y, with rows without label
    cdef float64_t* weights             # [room] behind row_weight, with them
    cdef float32_t* column              # [room] values of the feature
    cdef uint32_t* order                # [room] its sorted rows
    cdef uint64_t* keys                 # [2, room]

    # Counts per bin of anything else, and of ROWS with fixed cuts.
    cdef bint tabulated
    cdef float64_t* table               # [MAX_BINS, n_classes + 1]
    cdef float32_t* edges               # [MAX_BINS] upper ends of the bins
    cdef intp_t n_bins
    cdef intp_t ready                   # the feature in `order` or `table`; -1 = none

    # Rows without a value of the feature.
    cdef MissingRows missing            # of the tests being walked
    cdef float64_t* missing_counts      # [n_classes + 1]; the last one has no label
    cdef float64_t n_missing            # labelled ones
    cdef intp_t n_seen                  # ROWS with a value

    cdef bint examine(
        self, Leaf* leaf, intp_t depth, float64_t time, float64_t total_weight,
        Split* split,
    ) noexcept nogil
    cdef bint _gather_rows(self) noexcept nogil
    cdef float64_t _volume(self) noexcept nogil
    cdef float32_t _value(self, intp_t row, intp_t feature) noexcept nogil
    cdef void _prepare(self, intp_t feature) noexcept nogil
    cdef void _sort(self, intp_t feature) noexcept nogil
    cdef void _count_bins(self, intp_t feature) noexcept nogil
    cdef void _count_moments(self, intp_t feature) noexcept nogil
    cdef void _count_pool(self, intp_t feature) noexcept nogil
    cdef void _fill_categories(self, intp_t feature) noexcept nogil
    cdef intp_t _n_codes(self, intp_t feature) noexcept nogil
    cdef intp_t _walk_values(self, intp_t feature) noexcept nogil
    cdef intp_t _walk_with_missing(self, intp_t feature) noexcept nogil
    cdef void _add_missing(self, intp_t size) noexcept nogil
    cdef intp_t _everything(self) noexcept nogil
    cdef intp_t _walk_every_cut(self) noexcept nogil
    cdef intp_t _walk_random_cut(self, intp_t feature) noexcept nogil
    cdef uint64_t _random_key(self, intp_t feature) noexcept nogil
    cdef float64_t _draw(self, intp_t feature) noexcept nogil
    cdef float64_t _drawn_threshold(self) noexcept nogil
