# The threshold between two neighbouring values.

from libc.math cimport isfinite

from skconftree.utils._typedefs cimport float32_t, float64_t


cdef inline float64_t midpoint(float32_t low, float32_t high) noexcept nogil:
    # As scikit-learn's, overflow included: low < high in float32, so that only a
    # rounded half can reach high.
    cdef float64_t cut = <float64_t> low / 2.0 + <float64_t> high / 2.0
    if cut == high or not isfinite(cut):
        cut = low
    return cut
