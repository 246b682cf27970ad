# A box is a hyperrectangle of the feature space: the lower and the upper limit of each
# feature, [n_features, 2]. The children of a split are weighted by the volumes of their
# boxes. Rows and thresholds may lie outside of the box.

from libc.math cimport isfinite

from skconftree.utils._typedefs cimport float64_t, intp_t


cdef inline float64_t share_below(
    const float64_t* box, intp_t feature, float64_t threshold
) noexcept nogil:
    # The fraction of the volume below a threshold. A split that separates missing from
    # other values has an infinite threshold; it counts as one half.
    cdef const float64_t* limits = box + 2 * feature
    if not limits[0] < limits[1] or not isfinite(threshold):
        return 0.5
    return min(max((threshold - limits[0]) / (limits[1] - limits[0]), 0.0), 1.0)


cdef inline void cut_box(
    float64_t* box, intp_t feature, float64_t threshold, intp_t side
) noexcept nogil:
    # Reduce the box to one side of a threshold: 0 is the side below it, 1 the side above.
    # If the threshold is not finite, the box does not change.
    cdef float64_t* limits = box + 2 * feature
    if isfinite(threshold):
        limits[1 - side] = min(max(threshold, limits[0]), limits[1])
