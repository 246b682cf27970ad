"""Class counts per bin: cuts from rows, from a parent's halves, and their counts."""

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skconftree.tree._columns cimport presort
from skconftree.tree._scan cimport midpoint


cdef bint allocate_bins(Bins* bins, intp_t n_features, intp_t n_bins) noexcept nogil:
    # One block for all arrays, the widest elements first.
    cdef intp_t size = (
        (n_features + 1) * sizeof(int32_t)
        + (n_bins + 2 * n_features) * sizeof(float32_t)
        + n_features
    )
    bins.first = <int32_t*> malloc(size)
    if bins.first == NULL:
        return False
    bins.edges = <float32_t*> (bins.first + n_features + 1)
    bins.low = bins.edges + n_bins
    bins.high = bins.low + n_features
    bins.discrete = <uint8_t*> (bins.high + n_features)
    bins.first[n_features] = <int32_t> n_bins
    return True


cdef bint bins_of_rows(
    Bins* bins, const float32_t* x, intp_t n_rows, intp_t n_features, intp_t max_bins
) noexcept nogil:
    # Cuts halfway between distinct values if there are few of them, else at
    # quantiles of the rows.
    cdef uint64_t* keys = <uint64_t*> malloc(2 * n_rows * sizeof(uint64_t))
    cdef float32_t* column = <float32_t*> malloc(n_rows * sizeof(float32_t))
    cdef uint32_t* order = <uint32_t*> malloc(n_rows * sizeof(uint32_t))
    cdef float32_t* edges = <float32_t*> malloc(
        n_features * max_bins * sizeof(float32_t)
    )
    cdef int32_t* counts = <int32_t*> malloc(n_features * sizeof(int32_t))
    cdef uint8_t* repeats = <uint8_t*> malloc(n_features)
    cdef bint done = (
        keys != NULL and column != NULL and order != NULL and edges != NULL
        and counts != NULL and repeats != NULL
    )
    cdef intp_t n_bins = 0
    cdef intp_t f, i
    if done:
        for f in range(n_features):
            for i in range(n_rows):
                column[i] = x[i * n_features + f]
            presort(column, n_rows, keys, keys + n_rows, order)
            counts[f] = <int32_t> _cuts_of_run(
                column, order, n_rows, max_bins, edges + f * max_bins, &repeats[f]
            )
            n_bins += counts[f]
        done = allocate_bins(bins, n_features, n_bins)
    if done:
        n_bins = 0
        for f in range(n_features):
            bins.first[f] = <int32_t> n_bins
            for i in range(counts[f]):
                bins.edges[n_bins + i] = edges[f * max_bins + i]
            n_bins += counts[f]
            bins.low[f] = x[f]
            bins.high[f] = x[f]
            for i in range(1, n_rows):
                bins.low[f] = min(bins.low[f], x[i * n_features + f])
                bins.high[f] = max(bins.high[f], x[i * n_features + f])
            bins.discrete[f] = repeats[f]
    free(keys)
    free(column)
    free(order)
    free(edges)
    free(counts)
    free(repeats)
    return done


cdef intp_t _cuts_of_run(
    const float32_t* column, const uint32_t* order, intp_t n, intp_t max_bins,
    float32_t* edges, uint8_t* discrete,
) noexcept nogil:
    # Edges of a sorted run, the infinite one included; returns their number. Few
    # values that repeat are taken for all values there are.
    cdef intp_t n_values = 1
    cdef intp_t n_edges = 0
    cdef intp_t i, due
    cdef float32_t below
    for i in range(1, n):
        n_values += order[i] & 1
    discrete[0] = n_values <= max_bins and 2 * n_values <= n
    due = 0
    for i in range(1, n):
        if not order[i] & 1:
            continue
        # with few values every gap is a cut, else the first one past each quantile
        if n_values <= max_bins or i * max_bins >= (due + 1) * n:
            below = column[order[i - 1] >> 1]
            edges[n_edges] = <float32_t> midpoint(below, column[order[i] >> 1])
            if edges[n_edges] >= column[order[i] >> 1]:
                edges[n_edges] = below
            n_edges += 1
            if n_values > max_bins:
                due = i * max_bins // n
            if n_edges == max_bins - 1:
                break
    edges[n_edges] = INFINITY
    return n_edges + 1


cdef void find_bins(
    const Bins* bins, const float32_t* x, intp_t n_features, int32_t* places
) noexcept nogil:
    # The place of each feature's value.
    cdef intp_t f, first
    for f in range(n_features):
        first = bins.first[f]
        places[f] = <int32_t> (
            first + bin_of(bins.edges + first, bins.first[f + 1] - first, x[f])
        )


# -- halves of a parent ------------------------------------------------------------
#
# Within a class the features are taken to be independent: of the rows of class c
# the share that goes to a side is the same in every bin of the other features.
# Within a bin values are taken to be uniform.


cdef inline float64_t _side_low(
    const Bins* bins, intp_t f, intp_t b
) noexcept nogil:
    # Lower end of bin b of feature f.
    return bins.low[f] if b == 0 else bins.edges[bins.first[f] + b - 1]


cdef inline float64_t _side_high(
    const Bins* bins, intp_t f, intp_t b
) noexcept nogil:
    cdef intp_t last = bins.first[f + 1] - 1
    return bins.high[f] if bins.first[f] + b == last else bins.edges[bins.first[f] + b]


cdef void _range_of_half(
    const Bins* bins, intp_t f, intp_t feature, intp_t cut, intp_t side,
    intp_t* begin, intp_t* end,
) noexcept nogil:
    # Bins of feature f that the side holds.
    begin[0] = 0
    end[0] = bins.first[f + 1] - bins.first[f]
    if f == feature:
        if side == 0:
            end[0] = cut + 1
        else:
            begin[0] = cut + 1


cdef bint bins_of_half(
    const Bins* parent, const float64_t* profile, const float64_t* share,
    intp_t n_features, intp_t n_classes, intp_t max_bins, intp_t feature, intp_t cut,
    intp_t side, Bins* bins,
) noexcept nogil:
    # Cuts of a child: its share of the parent's bins for a feature of few values,
    # else new ones of equal mass, at finer resolution where the child lives.
    cdef float32_t* edges = <float32_t*> malloc(
        n_features * max_bins * sizeof(float32_t)
    )
    cdef int32_t* counts = <int32_t*> malloc(n_features * sizeof(int32_t))
    cdef float64_t* mass = <float64_t*> malloc(max_bins * sizeof(float64_t))
    cdef bint done = edges != NULL and counts != NULL and mass != NULL
    cdef intp_t n_bins = 0
    cdef intp_t f, b, c, begin, end, place
    cdef float64_t total
    if done:
        for f in range(n_features):
            _range_of_half(parent, f, feature, cut, side, &begin, &end)
            total = 0.0
            for b in range(begin, end):
                mass[b] = 0.0
                place = (parent.first[f] + b) * n_classes
                for c in range(n_classes):
                    mass[b] += profile[place + c] * share[c]
                total += mass[b]
            if parent.discrete[f] or total == 0.0:
                counts[f] = <int32_t> (end - begin)
                for b in range(begin, end):
                    edges[f * max_bins + b - begin] = parent.edges[parent.first[f] + b]
                edges[f * max_bins + end - begin - 1] = INFINITY
            else:
                counts[f] = <int32_t> _equal_cuts(
                    parent, f, mass, total, begin, end, max_bins, edges + f * max_bins
                )
            n_bins += counts[f]
        done = allocate_bins(bins, n_features, n_bins)
    if done:
        n_bins = 0
        for f in range(n_features):
            bins.first[f] = <int32_t> n_bins
            for b in range(counts[f]):
                bins.edges[n_bins + b] = edges[f * max_bins + b]
            n_bins += counts[f]
            bins.low[f] = parent.low[f]
            bins.high[f] = parent.high[f]
            bins.discrete[f] = parent.discrete[f]
            if f == feature:
                if side == 0:
                    bins.high[f] = parent.edges[parent.first[f] + cut]
                else:
                    bins.low[f] = parent.edges[parent.first[f] + cut]
    free(edges)
    free(counts)
    free(mass)
    return done


cdef intp_t _equal_cuts(
    const Bins* parent, intp_t f, const float64_t* mass, float64_t total,
    intp_t begin, intp_t end, intp_t max_bins, float32_t* edges,
) noexcept nogil:
    cdef float64_t below = 0.0
    cdef float64_t wanted, low, high
    cdef float32_t edge
    cdef intp_t n_edges = 0
    cdef intp_t k = 1
    cdef intp_t b
    for b in range(begin, end):
        low = _side_low(parent, f, b)
        high = _side_high(parent, f, b)
        while k < max_bins:
            wanted = total * k / max_bins
            if not (mass[b] > 0.0 and wanted <= below + mass[b]):
                break
            edge = <float32_t> (low + (high - low) * ((wanted - below) / mass[b]))
            k += 1
            if edge >= high and b == end - 1:
                continue        # nothing above
            if n_edges == 0 or edge > edges[n_edges - 1]:
                edges[n_edges] = edge
                n_edges += 1
        below += mass[b]
    edges[n_edges] = INFINITY
    return n_edges + 1


cdef void fill_half(
    const Bins* parent, const float64_t* profile, const float64_t* scale,
    intp_t n_features, intp_t n_classes, intp_t feature, intp_t cut, intp_t side,
    const Bins* bins, float64_t* half,
) noexcept nogil:
    # Class counts of the child: every bin of the parent is spread over the child's
    # bins by overlap. scale[c] is the share of class c that the child takes over.
    cdef intp_t K = n_classes
    cdef intp_t f, b, c, j, begin, end, n_bins, place
    cdef float64_t low, high, left, right, part
    cdef float64_t* target
    memset(half, 0, bins.first[n_features] * K * sizeof(float64_t))
    for f in range(n_features):
        _range_of_half(parent, f, feature, cut, side, &begin, &end)
        n_bins = bins.first[f + 1] - bins.first[f]
        j = 0
        for b in range(begin, end):
            low = _side_low(parent, f, b)
            high = _side_high(parent, f, b)
            place = (parent.first[f] + b) * K
            while True:
                # the part of (low, high] inside the child's bin j
                left = low
                if j > 0:
                    left = max(left, bins.edges[bins.first[f] + j - 1])
                right = min(high, <float64_t> bins.edges[bins.first[f] + j])
                part = 1.0
                if high > low:
                    part = max(right - left, 0.0) / (high - low)
                elif j < n_bins - 1 and bins.edges[bins.first[f] + j] < high:
                    part = 0.0
                target = half + (bins.first[f] + j) * K
                for c in range(K):
                    target[c] += profile[place + c] * scale[c] * part
                if j < n_bins - 1 and bins.edges[bins.first[f] + j] < high:
                    j += 1
                else:
                    break
