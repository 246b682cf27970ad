# LeafSource: the rows of a leaf of a tree that is trained row by row. The memory of a leaf is the
# form in which it stores the statistics of its rows: rows, class counts of bins, or moments. A
# source gives the split search the rows of a node, one feature at a time. A cut is a candidate
# threshold.
#
# The position of a cut is the number of rows on its left, labeled or not, if the leaf
# stores its rows; otherwise it is the last bin on the left.
#
# If a leaf has no bin for missing values, or stores moments, rows without a value go to
# the right of every split.
#
# Only evidence, which the split rule uses, is scanned: the rows since the leaf's creation, or all
# its rows (Policy.separate; a policy has the settings that all leaves share). The pool is the
# unlabeled rows. W is the weight of a leaf, with unlabeled rows, or its volume: that of its box,
# its limits in feature space. See leaves/_contract.pxd.

from skconftree.tree.leaves._contract cimport Leaf, Policy
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._scan cimport Scan, Source
from skconftree.utils._memory cimport Arena, Blocks
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint32_t, uint64_t,
)


cdef class LeafSource(Source):
    cdef bint all_integer               # every weight so far is an integer
    cdef Policy* policy
    cdef const Policy* leaf_policy      # for the features that the leaf uses
    cdef Leaf* leaf
    cdef NodeRecord record              # the leaf as a node, for the split search
    cdef const float64_t* counts        # [n_classes] class counts of the leaf
    cdef Arena arena
    cdef int32_t* features              # [n_features]
    cdef const float32_t[:, ::1] pool   # unlabeled rows, or None
    cdef const float64_t[:, ::1] root_box  # [n_features, 2] box of the root, if W is a volume

    # Rows that are evidence, if the leaf stores them.
    cdef Blocks blocks                  # owns the arrays of size `capacity`
    cdef intp_t n_rows
    cdef intp_t capacity
    cdef const float32_t* x             # the first row
    cdef const label_t* y               # [n_rows]
    cdef const float64_t* row_weight    # [n_rows] or NULL
    cdef float32_t* column              # [capacity] values of the feature
    cdef uint32_t* order                # [capacity] its sorted rows: 2 * row, plus 1 if the value
                                        # differs from that of the row before
    cdef uint64_t* keys                 # [2, capacity] scratch memory of the sort
    cdef intp_t n_labeled_present       # rows with a value of the feature

    # The leaf's unlabeled rows, sorted by the feature.
    cdef const int32_t* row_list            # [Leaf.n_pool]
    cdef intp_t n_pool_present          # rows with a value, which are first
    cdef bint stores_positions          # of cuts; False with a memory limit
    cdef int32_t* cut_positions         # Leaf.cut_positions, or NULL

    # Counts per bin, if the leaf does not store its rows or if its cuts are fixed.
    cdef bint uses_table
    cdef float64_t* table               # [max_bins, n_classes + 1] class counts, unlabeled rows
    cdef float32_t* edges               # [max_bins] upper ends of the bins
    cdef intp_t n_bins
    cdef intp_t prepared_feature        # feature in `order` or `table`; -1: none

    # Rows without a value of the feature.
    cdef float64_t* missing_counts      # [n_classes + 1]; the last one is of unlabeled rows
    cdef float64_t n_missing            # labeled rows
    cdef intp_t n_present               # rows with a value, labeled or not

    # Set the leaf to scan; its depth is that in the tree.
    cdef int enter(self, Leaf* leaf, intp_t depth) except -1 nogil
    cdef int _reserve(self, intp_t n) except -1 nogil   # capacity for n rows
    cdef void _sort(self, intp_t feature) noexcept nogil
