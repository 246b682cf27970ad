# Columns: the training rows, arranged so that a node is the same range
# [start, end) of every array.
#
# A feature with at most MAX_LEVELS distinct values is CODED: one byte a row,
# the rank of the value, in node order. A node profiles it in one pass.
#
# Any other feature is SORTED: the rows of each node in ascending order of the
# value, presorted once and kept sorted by stable partition, so no node sorts
# again. An entry is (row << 1) | new, where new says that the value differs
# from the entry's predecessor in the same node; at the first entry of a node
# it means nothing.
#
# Invariant: after partition() of [start, end) at mid the ranges [start, mid) and
# [mid, end) hold the two children in every array, each in the order it had.

from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint8_t, uint32_t, uint64_t,
)

cdef enum:
    MAX_LEVELS = 256


cdef struct Column:
    uint8_t* codes          # [n_rows] in node order; NULL if the feature is SORTED
    float32_t* levels       # [n_levels] ascending
    intp_t n_levels
    uint32_t* order         # [n_rows] entries, sorted within each node; NULL if CODED


cdef class Columns:
    cdef readonly intp_t n_rows
    cdef readonly intp_t n_features
    cdef readonly intp_t n_coded

    cdef const float32_t* x         # [n_rows, n_features], row-major
    cdef const label_t* y           # [n_rows] class; n_classes = a row without label
    cdef const float64_t* weight    # [n_rows], or NULL if all are 1
    cdef Column* columns            # [n_features]

    # In node order, kept only if a feature is coded.
    cdef uint32_t* rows             # [n_rows]
    cdef label_t* node_y            # [n_rows]
    cdef float64_t* node_weight     # [n_rows], or NULL

    cdef uint8_t* goes_left         # [n_rows] by row: the side of the split in progress
    cdef uint8_t* sides             # [n_rows] the same in node order, scratch
    cdef float64_t* scratch         # [n_rows + 1] right halves on their way
    cdef object _owners             # keeps x, y and weight alive

    cdef inline float32_t value(self, intp_t row, intp_t feature) noexcept nogil:
        return self.x[row * self.n_features + feature]

    cdef bint _arrange(self) noexcept nogil
    cdef bint _add(
        self, intp_t feature, const float32_t* values, void* keys
    ) noexcept nogil
    cdef void mark(
        self, intp_t feature, intp_t cut, intp_t start, intp_t end
    ) noexcept nogil
    cdef void partition(
        self, intp_t feature, const int32_t* features, intp_t n_features,
        intp_t start, intp_t end,
    ) noexcept nogil


# Entries of a run, (row << 1) | new, in ascending order of column[row], rows of
# equal value in their order. keys and other are scratch, [n] each.
cdef void presort(
    const float32_t* column, intp_t n, uint64_t* keys, uint64_t* other,
    uint32_t* order,
) noexcept nogil
