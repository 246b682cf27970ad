# Parting: the test that parts a leaf.

from skconftree.tree.leaves._bins cimport NOMINAL, Bins, n_value_bins
from skconftree.utils._typedefs cimport float32_t, float64_t, int16_t, intp_t


cdef struct Parting:
    intp_t feature
    intp_t n_outcomes
    intp_t cut                  # the last bin of values on the left
    float64_t threshold
    bint missing_left
    const int16_t* ordinals     # outcome of each category, -1 = not seen; NULL if numeric
    intp_t n_codes
    intp_t unknown              # outcome of a category not seen before
    const float64_t* pool       # weight W of each outcome


cdef inline intp_t outcome_of(const Parting* parting, float32_t value) noexcept nogil:
    cdef intp_t outcome = -1
    if parting.ordinals != NULL:
        if value >= 0.0 and value < parting.n_codes:
            outcome = parting.ordinals[<intp_t> value]
        return parting.unknown if outcome < 0 else outcome
    if value != value:
        return 0 if parting.missing_left else 1
    return value > parting.threshold


cdef inline intp_t outcome_of_bin(
    const Parting* parting, const Bins* bins, intp_t b
) noexcept nogil:
    # Outcome of bin b of the tested feature.
    if bins.kind[parting.feature] == NOMINAL:
        return outcome_of(parting, <float32_t> b)
    if b >= n_value_bins(bins, parting.feature):
        return 0 if parting.missing_left else 1
    return b > parting.cut
