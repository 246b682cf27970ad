# Boxes: a lower and an upper limit of each feature, [n_features, 2], whose volumes weigh
# the children of a test. Rows may lie outside the box, and so may a cut between them.

from libc.math cimport isfinite

from skconftree.utils._typedefs cimport float64_t, intp_t


cdef inline float64_t share_below(
    const float64_t* box, intp_t feature, float64_t threshold
) noexcept nogil:
    # The part of the volume that is on the left of a cut. Missing values have no place
    # in the box: a test that only asks for them halves it.
    cdef const float64_t* limits = box + 2 * feature
    cdef float64_t part
    if not limits[0] < limits[1] or not isfinite(threshold):
        return 0.5
    part = (threshold - limits[0]) / (limits[1] - limits[0])
    return min(max(part, 0.0), 1.0)


cdef inline void cut_box(
    float64_t* box, intp_t feature, float64_t threshold, intp_t side
) noexcept nogil:
    # Leave one side of a cut; the whole box where the test is none.
    cdef float64_t* limits = box + 2 * feature
    if isfinite(threshold):
        limits[1 - side] = min(max(threshold, limits[0]), limits[1])
