# Bins: the candidate cuts of a leaf, and class counts between them.
#
# A leaf's edges are set once, when it is created from its parent's histogram or
# when its rows are turned into one, and do not move while it lives: tests on fixed
# cuts are what anytime-valid evidence needs, and counts stay exact.
#
# Bin b of feature f holds the values in (edges[b - 1], edges[b]]; its place is
# first[f] + b. The last edge of a feature is infinity, so that every value has a
# bin.

from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint32_t, uint64_t, uint8_t,
)


cdef struct Bins:
    int32_t* first          # [n_features + 1]; owns the whole block, NULL = no bins
    float32_t* edges        # [n_bins] upper edge of each bin
    float32_t* low          # [n_features] smallest value seen
    float32_t* high         # [n_features] largest
    uint8_t* discrete       # [n_features] every value seen had a bin of its own


cdef bint allocate_bins(Bins* bins, intp_t n_features, intp_t n_bins) noexcept nogil
cdef bint bins_of_rows(
    Bins* bins, const float32_t* x, intp_t n_rows, intp_t n_features, intp_t max_bins
) noexcept nogil
cdef bint bins_of_half(
    const Bins* parent, const float64_t* profile, const float64_t* share,
    intp_t n_features, intp_t n_classes, intp_t max_bins, intp_t feature, intp_t cut,
    intp_t side, Bins* bins,
) noexcept nogil
cdef void fill_half(
    const Bins* parent, const float64_t* profile, const float64_t* scale,
    intp_t n_features, intp_t n_classes, intp_t feature, intp_t cut, intp_t side,
    const Bins* bins, float64_t* half,
) noexcept nogil

cdef inline intp_t bin_of(
    const float32_t* edges, intp_t n_bins, float32_t value
) noexcept nogil:
    # Smallest b with value <= edges[b], by a search without branches.
    cdef intp_t base = 0
    cdef intp_t half
    while n_bins > 1:
        half = n_bins >> 1
        base += half if edges[base + half - 1] < value else 0
        n_bins -= half
    return base

cdef void find_bins(
    const Bins* bins, const float32_t* x, intp_t n_features, int32_t* places
) noexcept nogil
