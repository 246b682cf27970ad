"""Bins from rows, bins of a child, and the child's counts.

A bin has the values between two adjacent candidate thresholds (cuts) of a leaf, or a category;
a histogram has the class counts by bin. A side is a child of a split, a share its fraction of the
rows of a class. Codes are the integers of categories. See _bins.pxd.
"""

from libc.math cimport INFINITY
from libc.string cimport memset

from skconftree.utils._inline cimport midpoint
from skconftree.utils._memory cimport release_all, take_array
from skconftree.utils._sorting cimport presort
from skconftree.utils._typedefs cimport uint32_t, uint64_t


cdef int allocate_bins(
    Blocks* blocks, Bins* bins, intp_t n_features, intp_t n_bins
) except -1 nogil:
    # One allocation for all arrays, the widest elements first.
    cdef intp_t size = (
        (n_features + 1) * sizeof(int32_t)
        + (n_bins + 2 * n_features) * sizeof(float32_t)
        + n_features
    )
    bins.first = <int32_t*> take_array(blocks, size, 1)
    bins.edges = <float32_t*> (bins.first + n_features + 1)
    bins.low = bins.edges + n_bins
    bins.high = bins.low + n_features
    bins.kind = <uint8_t*> (bins.high + n_features)
    bins.first[n_features] = <int32_t> n_bins
    bins.missing = False
    return 0


cdef intp_t capacity_for(intp_t n_codes) noexcept nogil:
    # Number of bins for the categories of a feature: a power of two, at least 4.
    cdef intp_t capacity = 4
    while capacity < n_codes:
        capacity *= 2
    return capacity


cdef void _init_category_bins(Bins* bins, intp_t f, intp_t capacity) noexcept nogil:
    # Initialize the bins of a nominal feature whose `first` is set.
    cdef intp_t b
    bins.kind[f] = NOMINAL
    bins.low[f] = 0.0
    bins.high[f] = 0.0
    for b in range(capacity):
        bins.edges[bins.first[f] + b] = <float32_t> b


cdef int bins_of_codes(
    Blocks* blocks, Bins* bins, intp_t n_features, const int32_t* n_codes
) except -1 nogil:
    # Bins of nominal features; each numeric feature has a single bin.
    cdef intp_t n_bins = 0
    cdef intp_t f
    for f in range(n_features):
        n_bins += capacity_for(n_codes[f]) if n_codes[f] >= 0 else 1
    allocate_bins(blocks, bins, n_features, n_bins)
    n_bins = 0
    for f in range(n_features):
        bins.first[f] = <int32_t> n_bins
        if n_codes[f] >= 0:
            _init_category_bins(bins, f, capacity_for(n_codes[f]))
            n_bins += capacity_for(n_codes[f])
        else:
            bins.kind[f] = DISCRETE
            bins.edges[n_bins] = INFINITY
            bins.low[f] = 0.0
            bins.high[f] = 0.0
            n_bins += 1
    return 0


cdef int bins_of_rows(
    Blocks* blocks, Bins* bins, const float32_t* x, intp_t n_rows, intp_t n_features,
    intp_t max_bins, const int32_t* n_codes, bint missing,
) except -1 nogil:
    # Cuts are midpoints of adjacent distinct values if these are few, else at quantiles
    # of the rows. n_codes[f] is the number of categories, -1 if numeric.
    cdef Blocks scratch     # arrays that are freed together
    cdef intp_t n_bins = 0
    cdef intp_t f, n
    cdef uint64_t* keys
    cdef float32_t* column
    cdef float32_t* edges
    cdef float32_t* ranges
    cdef uint32_t* order
    cdef int32_t* counts
    cdef uint8_t* repeats       # whether the feature is discrete: its values are repeated
    scratch.last = NULL         # of the linked list of arrays, which is empty
    try:
        keys = <uint64_t*> take_array(&scratch, 2 * n_rows, sizeof(uint64_t))
        column = <float32_t*> take_array(&scratch, n_rows, sizeof(float32_t))
        order = <uint32_t*> take_array(&scratch, n_rows, sizeof(uint32_t))
        edges = <float32_t*> take_array(&scratch, n_features * max_bins, sizeof(float32_t))
        counts = <int32_t*> take_array(&scratch, n_features, sizeof(int32_t))
        repeats = <uint8_t*> take_array(&scratch, n_features, 1)
        ranges = <float32_t*> take_array(&scratch, 2 * n_features, sizeof(float32_t))
        for f in range(n_features):
            if n_codes != NULL and n_codes[f] >= 0:
                counts[f] = <int32_t> capacity_for(n_codes[f])
                n_bins += counts[f]
                continue
            n = _values(x + f, n_rows, n_features, column)
            counts[f] = <int32_t> _cut_of_two(
                column, n, edges + f * max_bins, &repeats[f], ranges + 2 * f
            )
            if counts[f] == 0:
                _find_range(column, n, ranges + 2 * f)
                presort(column, n, keys, keys + n_rows, order)
                counts[f] = <int32_t> _cuts_of_sorted(
                    column, order, n, max_bins, edges + f * max_bins, &repeats[f]
                )
            n_bins += counts[f] + missing
        allocate_bins(blocks, bins, n_features, n_bins)
        bins.missing = missing
        n_bins = 0
        for f in range(n_features):
            bins.first[f] = <int32_t> n_bins
            if n_codes != NULL and n_codes[f] >= 0:
                _init_category_bins(bins, f, counts[f])
                n_bins += counts[f]
                continue
            bins.kind[f] = DISCRETE if repeats[f] else CONTINUOUS
            n_bins += _init_numeric_bins(bins, f, edges + f * max_bins, counts[f])
            bins.low[f] = ranges[2 * f]
            bins.high[f] = ranges[2 * f + 1]
    finally:
        release_all(&scratch)
    return 0


cdef intp_t _values(
    const float32_t* x, intp_t n_rows, intp_t stride, float32_t* column
) noexcept nogil:
    # Copy the values of a feature that are not missing; returns their number.
    cdef intp_t n = 0
    cdef intp_t i
    for i in range(n_rows):
        column[n] = x[i * stride]
        n += x[i * stride] == x[i * stride]
    return n


cdef void _find_range(const float32_t* column, intp_t n, float32_t* low_and_high) noexcept nogil:
    # Zeros without values.
    cdef float32_t low = column[0] if n > 0 else 0.0
    cdef float32_t high = low
    cdef intp_t i
    for i in range(1, n):
        low = min(low, column[i])
        high = max(high, column[i])
    low_and_high[0] = low
    low_and_high[1] = high


cdef intp_t _cut_of_two(
    const float32_t* column, intp_t n, float32_t* edges, uint8_t* discrete,
    float32_t* low_and_high,
) noexcept nogil:
    # Edges, as _cuts_of_sorted, and range of at most two distinct values, unsorted;
    # returns 0 if there are more.
    cdef intp_t n_first = n_equal(column, n, column[0]) if n > 0 else 0
    cdef intp_t i = 0
    cdef float32_t low, high
    if n == 0:
        return 0
    while i < n and column[i] == column[0]:
        i += 1
    if i < n and n_first + n_equal(column, n, column[i]) < n:
        return 0
    low = min(column[0], column[i if i < n else 0])
    high = max(column[0], column[i if i < n else 0])
    edges[0] = <float32_t> midpoint(low, high)
    if i < n and edges[0] >= high:
        return 0
    discrete[0] = 2 * (1 + (i < n)) <= n    # at least twice as many rows as distinct values
    low_and_high[0] = low
    low_and_high[1] = high
    edges[i < n] = INFINITY
    return 1 + (i < n)


cdef intp_t _init_numeric_bins(
    Bins* bins, intp_t f, const float32_t* edges, intp_t n_edges
) noexcept nogil:
    # Initialize the bins of a numeric feature whose `first` is set, including that of
    # missing values; returns the number of bins.
    cdef intp_t b
    for b in range(n_edges):
        bins.edges[bins.first[f] + b] = edges[b]
    if bins.missing:
        bins.edges[bins.first[f] + n_edges] = INFINITY
    return n_edges + bins.missing


cdef intp_t _cuts_of_sorted(
    const float32_t* column, const uint32_t* order, intp_t n, intp_t max_bins,
    float32_t* edges, uint8_t* discrete,
) noexcept nogil:
    # Edges of sorted values, including the infinite one; returns their number. An entry of
    # `order` is 2 * row, plus 1 if the value differs from that of the entry before. If
    # there are few distinct values and they are repeated, the feature is assumed to be discrete.
    cdef intp_t n_values = 1
    cdef intp_t n_edges = 0
    cdef intp_t i, quantile
    cdef float32_t below
    for i in range(1, n):
        n_values += order[i] & 1
    discrete[0] = n_values <= max_bins and 2 * n_values <= n
    quantile = 0
    for i in range(1, n):
        if not order[i] & 1:
            continue
        # with few values there is a cut between any two of them, else after each quantile
        if n_values <= max_bins or i * max_bins >= (quantile + 1) * n:
            below = column[order[i - 1] >> 1]
            edges[n_edges] = <float32_t> midpoint(below, column[order[i] >> 1])
            if edges[n_edges] >= column[order[i] >> 1]:
                edges[n_edges] = below
            n_edges += 1
            if n_values > max_bins:
                quantile = i * max_bins // n
            if n_edges == max_bins - 1:
                break
    edges[n_edges] = INFINITY
    return n_edges + 1


cdef void find_bins(
    const Bins* bins, const float32_t* x, intp_t n_features, int32_t* bin_indices
) noexcept nogil:
    # The index of each feature's bin; -1 if the value has none.
    cdef intp_t f, first, n
    for f in range(n_features):
        first = bins.first[f]
        n = n_value_bins(bins, f)   # without the bin of missing values
        if x[f] != x[f]:
            bin_indices[f] = <int32_t> (first + n) if bins.missing else -1
        elif bins.kind[f] == NOMINAL:
            bin_indices[f] = -1
            if x[f] >= 0.0 and x[f] < n:
                bin_indices[f] = <int32_t> (first + <intp_t> x[f])
        else:
            bin_indices[f] = <int32_t> (first + bin_of(bins.edges + first, n, x[f]))


# Assumptions about a child. Features are independent within a class, so the same share of the
# rows of class c goes to the child from every bin of another feature than the split feature.
# Values are uniformly distributed within a bin.


cdef inline float64_t _low_end(const Bins* bins, intp_t f, intp_t b) noexcept nogil:
    return bins.low[f] if b == 0 else bins.edges[bins.first[f] + b - 1]


cdef inline float64_t _high_end(const Bins* bins, intp_t f, intp_t b) noexcept nogil:
    if b == n_value_bins(bins, f) - 1:
        return bins.high[f]
    return bins.edges[bins.first[f] + b]


cdef void _range_of_side(
    const Bins* bins, intp_t f, const Side* side, intp_t* begin, intp_t* end
) noexcept nogil:
    # Bins of values of numeric feature f that go to the side.
    begin[0] = 0
    end[0] = n_value_bins(bins, f)
    if f == side.feature:
        begin[0] = side.begin
        end[0] = min(side.end, end[0])


cdef int child_bins(
    Blocks* blocks, const Bins* parent, const float64_t* histogram,
    const float64_t* share, intp_t n_features, intp_t n_classes, intp_t max_bins,
    const Side* side, bint missing, Bins* bins,
) except -1 nogil:
    # Cuts of a child: those of its part of the parent's bins if the feature is discrete, else new
    # cuts of equal mass, which are finer within the child's range.
    cdef Blocks scratch
    cdef intp_t n_bins = 0
    cdef intp_t f, b, c, begin, end, position
    cdef float64_t total
    cdef float32_t* edges
    cdef int32_t* counts
    cdef float64_t* mass        # [max_bins] expected weight of the child's rows in each bin
    scratch.last = NULL
    try:
        edges = <float32_t*> take_array(&scratch, n_features * max_bins, sizeof(float32_t))
        counts = <int32_t*> take_array(&scratch, n_features, sizeof(int32_t))
        mass = <float64_t*> take_array(&scratch, max_bins, sizeof(float64_t))
        for f in range(n_features):
            if parent.kind[f] == NOMINAL:
                counts[f] = parent.first[f + 1] - parent.first[f]
                n_bins += counts[f]
                continue
            _range_of_side(parent, f, side, &begin, &end)
            total = 0.0
            for b in range(begin, end):
                mass[b] = 0.0
                position = (parent.first[f] + b) * n_classes
                for c in range(n_classes):
                    mass[b] += histogram[position + c] * share[c]
                total += mass[b]
            if parent.kind[f] == DISCRETE or total == 0.0:
                for b in range(begin, end):
                    edges[f * max_bins + b - begin] = parent.edges[parent.first[f] + b]
                counts[f] = <int32_t> max(end - begin, 1)
                edges[f * max_bins + counts[f] - 1] = INFINITY
            else:
                counts[f] = <int32_t> _equal_cuts(
                    parent, f, mass, total, begin, end, max_bins, edges + f * max_bins
                )
            n_bins += counts[f] + missing
        allocate_bins(blocks, bins, n_features, n_bins)
        bins.missing = missing
        n_bins = 0
        for f in range(n_features):
            bins.first[f] = <int32_t> n_bins
            if parent.kind[f] == NOMINAL:
                _init_category_bins(bins, f, counts[f])
                n_bins += counts[f]
                continue
            n_bins += _init_numeric_bins(bins, f, edges + f * max_bins, counts[f])
            bins.kind[f] = parent.kind[f]
            bins.low[f] = parent.low[f]
            bins.high[f] = parent.high[f]
            if f == side.feature:
                _range_of_side(parent, f, side, &begin, &end)
                if begin >= end:
                    continue    # no value goes to this side
                if end < n_value_bins(parent, f):
                    bins.high[f] = parent.edges[parent.first[f] + end - 1]
                if begin > 0:
                    bins.low[f] = parent.edges[parent.first[f] + begin - 1]
    finally:
        release_all(&scratch)
    return 0


cdef intp_t _equal_cuts(
    const Bins* parent, intp_t f, const float64_t* mass, float64_t total,
    intp_t begin, intp_t end, intp_t max_bins, float32_t* edges,
) noexcept nogil:
    # Edges between which the bins have equal mass; returns their number.
    cdef float64_t below = 0.0
    cdef float64_t target_mass, low, high
    cdef float32_t edge
    cdef intp_t n_edges = 0
    cdef intp_t quantile = 1
    cdef intp_t b
    for b in range(begin, end):
        low = _low_end(parent, f, b)
        high = _high_end(parent, f, b)
        while quantile < max_bins:
            target_mass = total * quantile / max_bins
            if not (mass[b] > 0.0 and target_mass <= below + mass[b]):
                break
            edge = <float32_t> (low + (high - low) * ((target_mass - below) / mass[b]))
            quantile += 1
            if edge >= high and b == end - 1:
                continue        # no values above
            if n_edges == 0 or edge > edges[n_edges - 1]:
                edges[n_edges] = edge
                n_edges += 1
        below += mass[b]
    edges[n_edges] = INFINITY
    return n_edges + 1


cdef int bins_with_code(
    Blocks* blocks, const Bins* old, intp_t n_features, intp_t feature, intp_t code, Bins* bins,
) except -1 nogil:
    # A copy of the bins with capacity for one more category of a feature.
    cdef intp_t capacity = capacity_for(code + 1)
    cdef intp_t before = old.first[feature + 1] - old.first[feature]
    cdef intp_t n_bins = 0
    cdef intp_t f, b
    allocate_bins(blocks, bins, n_features, old.first[n_features] + capacity - before)
    bins.missing = old.missing
    for f in range(n_features):
        bins.first[f] = <int32_t> n_bins
        if f == feature:
            _init_category_bins(bins, f, capacity)
            n_bins += capacity
            continue
        bins.kind[f] = old.kind[f]
        bins.low[f] = old.low[f]
        bins.high[f] = old.high[f]
        for b in range(old.first[f], old.first[f + 1]):
            bins.edges[n_bins] = old.edges[b]
            n_bins += 1
    return 0


cdef void fill_child_counts(
    const Bins* parent, const float64_t* histogram, const float64_t* scale, intp_t n_features,
    intp_t n_classes, const Side* side, const Bins* bins, float64_t* child_counts,
) noexcept nogil:
    # Class counts of the child: the counts of each bin of the parent are distributed over
    # the child's bins by overlap. The child inherits the share scale[c] of class c.
    cdef intp_t K = n_classes
    cdef intp_t f, b, begin, end, last
    memset(child_counts, 0, bins.first[n_features] * K * sizeof(float64_t))
    for f in range(n_features):
        if parent.kind[f] == NOMINAL:
            for b in range(parent.first[f + 1] - parent.first[f]):
                if f != side.feature or side.taken[b]:
                    _add_scaled(
                        histogram + (parent.first[f] + b) * K, scale, 1.0, K,
                        child_counts + (bins.first[f] + b) * K,
                    )
            continue
        _range_of_side(parent, f, side, &begin, &end)
        _spread_values(parent, histogram, scale, K, f, begin, end, bins, child_counts)
        last = parent.first[f + 1] - 1
        if parent.missing and bins.missing and (f != side.feature or side.takes_missing):
            _add_scaled(
                histogram + last * K, scale, 1.0, K, child_counts + (bins.first[f + 1] - 1) * K
            )


cdef void _spread_values(
    const Bins* parent, const float64_t* histogram, const float64_t* scale, intp_t K,
    intp_t f, intp_t begin, intp_t end, const Bins* bins, float64_t* child_counts,
) noexcept nogil:
    cdef intp_t n_bins = n_value_bins(bins, f)
    cdef intp_t first = bins.first[f]
    cdef intp_t j = 0
    cdef intp_t b
    cdef float64_t low, high, left, right, part
    for b in range(begin, end):
        low = _low_end(parent, f, b)
        high = _high_end(parent, f, b)
        while True:
            # the part of (low, high] inside the child's bin j
            left = low
            if j > 0:
                left = max(left, bins.edges[first + j - 1])
            right = min(high, <float64_t> bins.edges[first + j])
            part = 1.0
            if high > low:
                part = max(right - left, 0.0) / (high - low)
            elif j < n_bins - 1 and bins.edges[first + j] < high:
                part = 0.0
            _add_scaled(
                histogram + (parent.first[f] + b) * K, scale, part, K,
                child_counts + (first + j) * K,
            )
            if j < n_bins - 1 and bins.edges[first + j] < high:
                j += 1
            else:
                break


cdef inline void _add_scaled(
    const float64_t* counts, const float64_t* scale, float64_t part, intp_t K, float64_t* target,
) noexcept nogil:
    cdef intp_t c
    for c in range(K):
        target[c] += counts[c] * scale[c] * part
