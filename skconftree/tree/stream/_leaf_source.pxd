# LeafSource: the rows of a growing leaf, as its memory keeps them.
#
# A place is the number of rows that go left, with and without label, in ascending order
# of the value, where a leaf keeps its rows; a bin, the last one that goes left, otherwise.
#
# Where a leaf has no bin for missing values, or keeps moments, rows without a value are
# on the right of every test.
#
# Only what counts as evidence is scanned: the rows since the leaf's creation, or
# all it holds (Policy.separate).

from skconftree.tree.leaves._contract cimport Leaf, Policy
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._scan cimport Scan, Source
from skconftree.utils._memory cimport Arena, Blocks
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint32_t, uint64_t,
)


cdef class LeafSource(Source):
    cdef bint whole                     # every weight so far is a whole number
    cdef Policy* policy
    cdef const Policy* own              # of the features that the leaf remembers
    cdef Leaf* leaf
    cdef NodeRecord record              # what a splitter wants to know of the leaf,
    cdef const float64_t* counts        # [n_classes] and its counts
    cdef Arena arena
    cdef int32_t* features              # [n_features]
    cdef const float32_t[:, ::1] pool   # rows without label, or None
    cdef const float64_t[:, ::1] root_box       # if W is a volume

    # Rows that count, if the leaf keeps them.
    cdef Blocks blocks                  # owns the arrays of `room`
    cdef intp_t n_rows
    cdef intp_t room
    cdef const float32_t* x             # of the first row
    cdef const label_t* y               # [n_rows]
    cdef const float64_t* row_weight    # [n_rows] or NULL
    cdef float32_t* column              # [room] values of the feature
    cdef uint32_t* order                # [room] its sorted rows
    cdef uint64_t* keys                 # [2, room]
    cdef intp_t n_labelled_seen         # rows with a value of the feature

    # The leaf's rows without label, in the order of the feature.
    cdef const int32_t* line            # [Leaf.n_pool]
    cdef intp_t n_pool_seen             # the first ones, which have a value
    cdef bint stores_positions              # of cuts; not within a limit of bytes
    cdef int32_t* places                # Leaf.places, or NULL

    # Counts per bin of anything else, and of rows with fixed cuts.
    cdef bint tabulated
    cdef float64_t* table               # [MAX_BINS, n_classes + 1]
    cdef float32_t* edges               # [MAX_BINS] upper ends of the bins
    cdef intp_t n_bins
    cdef intp_t ready                   # the feature in `order` or `table`; -1 = none

    # Rows without a value of the feature.
    cdef float64_t* missing_counts      # [n_classes + 1]; the last one has no label
    cdef float64_t n_missing            # labelled ones
    cdef intp_t n_seen                  # rows with a value, with and without label

    # Turn to a leaf of the tree.
    cdef int enter(self, Leaf* leaf, intp_t depth) except -1 nogil
    cdef int _reserve(self, intp_t n) except -1 nogil
    cdef void _sort(self, intp_t feature) noexcept nogil
