"""The memory of a growing leaf."""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from skconftree.tree.leaves._histogram cimport (
    bins_of_codes, bins_of_rows, bins_with_code, find_bins,
)
from skconftree.tree.leaves._moments cimport (
    Moments, add_to_moments, allocate_moments, moments_bytes, open_for_row,
    range_of_moments, release_moments,
)

cdef float64_t OUTGROWN = 10.0      # times what it took over, a leaf forgets that

cdef enum:
    FIRST_ROOM = 8
    FIRST_CUTS = 32     # rows of a leaf without a past that set its cuts


cdef Leaf* new_leaf(const Policy* policy, intp_t node) noexcept nogil:
    # An empty leaf.
    cdef Leaf* leaf = <Leaf*> calloc(1, sizeof(Leaf))
    if leaf == NULL:
        return NULL
    leaf.node = node
    leaf.memory = policy.first
    leaf.fresh = <float64_t*> calloc(3 * policy.n_classes, sizeof(float64_t))
    leaf.held = leaf.fresh + policy.n_classes
    leaf.recent = leaf.held + policy.n_classes
    if leaf.fresh == NULL or not _open_moments(leaf, policy) or not (
        open_codes(leaf, policy)
    ):
        release_leaf(leaf, policy)
        return NULL
    return leaf


cdef bint open_codes(Leaf* leaf, const Policy* policy) noexcept nogil:
    # Moments say nothing of categories: where they are kept, categories are counted.
    if policy.n_nominal == 0 or not (
        leaf.memory == GAUSSIAN
        or leaf.memory == ROWS and policy.bayes and not policy.fixed_cuts
    ):
        return True
    if not bins_of_codes(&leaf.bins, policy.n_features, policy.n_codes):
        return False
    leaf.histogram = <float64_t*> calloc(
        leaf.bins.first[policy.n_features] * policy.n_classes, sizeof(float64_t)
    )
    return leaf.histogram != NULL


cdef bint _open_moments(Leaf* leaf, const Policy* policy) noexcept nogil:
    if leaf.memory == GAUSSIAN or (leaf.memory == ROWS and policy.bayes):
        return allocate_moments(&leaf.moments, policy.n_classes)
    return True


cdef void forget(Leaf* leaf, const Policy* policy) noexcept nogil:
    # Turn into NOTHING.
    _forget_rows(leaf)
    release_moments(&leaf.moments, policy.n_classes)
    release_moments(&leaf.fresh_moments, policy.n_classes)
    _forget_bins(leaf)
    free(leaf.span)
    leaf.span = NULL
    leaf.memory = NOTHING


cdef void _forget_bins(Leaf* leaf) noexcept nogil:
    free(leaf.bins.first)
    free(leaf.histogram)
    free(leaf.fresh_histogram)
    leaf.bins.first = NULL
    leaf.histogram = NULL
    leaf.fresh_histogram = NULL


cdef void _forget_rows(Leaf* leaf) noexcept nogil:
    free(leaf.x)
    free(leaf.y)
    free(leaf.weight)
    leaf.x = NULL
    leaf.y = NULL
    leaf.weight = NULL
    leaf.n_rows = 0
    leaf.n_inherited = 0
    leaf.room = 0


cdef void release_leaf(Leaf* leaf, const Policy* policy) noexcept nogil:
    if leaf != NULL:
        forget(leaf, policy)
        free(leaf.fresh)
        free(leaf.pool)
        free(leaf.box)
        free(leaf)


cdef intp_t leaf_bytes(const Leaf* leaf, const Policy* policy) noexcept nogil:
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef intp_t n_bins
    cdef intp_t row = d * sizeof(float32_t) + sizeof(label_t)
    cdef intp_t size = sizeof(Leaf) + 3 * K * sizeof(float64_t)
    if leaf.weight != NULL:
        row += sizeof(float64_t)
    size += leaf.room * row + leaf.n_pool * sizeof(int32_t)
    if leaf.bins.first != NULL:
        n_bins = leaf.bins.first[d]
        size += (d + 1) * sizeof(int32_t) + (n_bins + 2 * d) * sizeof(float32_t) + d
        if leaf.histogram != NULL:
            size += n_bins * K * sizeof(float64_t)
        if leaf.fresh_histogram != NULL:
            size += n_bins * K * sizeof(float64_t)
    size += moments_bytes(&leaf.moments, d, K)
    size += moments_bytes(&leaf.fresh_moments, d, K)
    if leaf.span != NULL:
        size += 2 * d * sizeof(float64_t)
    if leaf.box != NULL:
        size += 2 * d * sizeof(float64_t)
    return size


# -- rows --------------------------------------------------------------------------

cdef bint reserve_rows(Leaf* leaf, const Policy* policy, intp_t n) noexcept nogil:
    # Room for n rows. It depends on n alone, and so do the bytes a leaf counts.
    cdef intp_t room = FIRST_ROOM
    cdef void* larger
    if n <= leaf.room:
        return True
    while room < n:
        room *= 2
    larger = realloc(leaf.x, room * policy.n_features * sizeof(float32_t))
    if larger == NULL:
        return False
    leaf.x = <float32_t*> larger
    larger = realloc(leaf.y, room * sizeof(label_t))
    if larger == NULL:
        return False
    leaf.y = <label_t*> larger
    if leaf.weight != NULL:
        larger = realloc(leaf.weight, room * sizeof(float64_t))
        if larger == NULL:
            return False
        leaf.weight = <float64_t*> larger
    leaf.room = room
    return True


cdef bint append_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight
) noexcept nogil:
    cdef intp_t i
    if not reserve_rows(leaf, policy, leaf.n_rows + 1):
        return False
    if weight != 1.0 and leaf.weight == NULL:
        leaf.weight = <float64_t*> malloc(leaf.room * sizeof(float64_t))
        if leaf.weight == NULL:
            return False
        for i in range(leaf.n_rows):
            leaf.weight[i] = 1.0
    memcpy(
        leaf.x + leaf.n_rows * policy.n_features, x,
        policy.n_features * sizeof(float32_t),
    )
    leaf.y[leaf.n_rows] = y
    if leaf.weight != NULL:
        leaf.weight[leaf.n_rows] = weight
    leaf.n_rows += 1
    return True


cdef bint add_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) noexcept nogil:
    # Learn a row for which there is room; bins are the places of its values. Comes
    # before change_memory().
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef bint missing = policy.missing
    cdef intp_t f
    if not _open_class(leaf, policy, x, y):
        return False
    if leaf.memory == ROWS:
        if not append_row(leaf, policy, x, y, weight):
            return False
        if leaf.moments.blocks != NULL:
            add_to_moments(&leaf.moments, x, d, K, y, weight, missing)
        if leaf.fresh_moments.blocks != NULL:
            add_to_moments(&leaf.fresh_moments, x, d, K, y, weight, missing)
    elif leaf.memory == GAUSSIAN:
        add_to_moments(&leaf.moments, x, d, K, y, weight, missing)
        if leaf.fresh_moments.blocks != NULL:
            add_to_moments(&leaf.fresh_moments, x, d, K, y, weight, missing)
    if leaf.histogram != NULL:
        for f in range(d):
            if bins[f] >= 0:
                leaf.histogram[bins[f] * K + y] += weight
                if x[f] < leaf.bins.low[f]:
                    leaf.bins.low[f] = x[f]
                if x[f] > leaf.bins.high[f]:
                    leaf.bins.high[f] = x[f]
    if leaf.fresh_histogram != NULL:
        for f in range(d):
            if bins[f] >= 0:
                leaf.fresh_histogram[bins[f] * K + y] += weight
    leaf.fresh[y] += weight
    leaf.held[y] += weight
    leaf.n_fresh += weight
    leaf.n_held += weight
    if leaf.n_fresh >= OUTGROWN * policy.inherited:
        _drop_inheritance(leaf, policy)
    return True


cdef bint change_memory(Leaf* leaf, const Policy* policy) noexcept nogil:
    # What becomes of a leaf that has got enough rows for it.
    if leaf.memory == ROWS:
        if leaf.n_rows >= policy.row_limit:
            return _count_rows(leaf, policy)
        if policy.fixed_cuts and leaf.bins.first == NULL and leaf.n_rows >= FIRST_CUTS:
            return bins_of_rows(
                &leaf.bins, leaf.x, leaf.n_rows, policy.n_features, policy.max_bins,
                policy.n_codes, policy.missing,
            )
    elif leaf.memory == GAUSSIAN and policy.fixed_cuts and leaf.span == NULL and (
        leaf.n_fresh >= FIRST_CUTS
    ):
        return fix_span(leaf, policy)
    return True


cdef void _drop_inheritance(Leaf* leaf, const Policy* policy) noexcept nogil:
    # Its own rows outweigh by far what the leaf took over.
    cdef intp_t c
    if leaf.memory == ROWS or (
        leaf.fresh_histogram == NULL and leaf.fresh_moments.blocks == NULL
    ):
        return
    if leaf.fresh_histogram != NULL:
        free(leaf.histogram)
        leaf.histogram = leaf.fresh_histogram
        leaf.fresh_histogram = NULL
    if leaf.fresh_moments.blocks != NULL:
        release_moments(&leaf.moments, policy.n_classes)
        leaf.moments = leaf.fresh_moments
        leaf.fresh_moments.blocks = NULL
        leaf.fresh_moments.known = NULL
    for c in range(policy.n_classes):
        leaf.held[c] = leaf.fresh[c]
    leaf.n_held = leaf.n_fresh
    leaf.hits[1] = max(leaf.hits[1], leaf.hits[2])      # of the model that remains
    leaf.hits[2] = 0.0


cdef bint _open_class(
    Leaf* leaf, const Policy* policy, const float32_t* x, intp_t c
) noexcept nogil:
    # Blocks of the moments that a row of class c needs, before anything changes.
    return _open_blocks(&leaf.moments, policy, x, c) and _open_blocks(
        &leaf.fresh_moments, policy, x, c
    )


cdef bint _open_blocks(
    Moments* moments, const Policy* policy, const float32_t* x, intp_t c
) noexcept nogil:
    return moments.blocks == NULL or open_for_row(
        moments, x, policy.n_features, policy.n_classes, c, policy.missing
    )


cdef bint fix_span(Leaf* leaf, const Policy* policy) noexcept nogil:
    cdef intp_t f
    leaf.span = <float64_t*> malloc(2 * policy.n_features * sizeof(float64_t))
    if leaf.span == NULL:
        return False
    for f in range(policy.n_features):
        if not range_of_moments(
            &leaf.moments, policy.n_features, policy.n_classes, f,
            &leaf.span[2 * f], &leaf.span[2 * f + 1],
        ):
            leaf.span[2 * f] = leaf.span[2 * f + 1] = 0.0     # no cuts
    return True


cdef bint _count_rows(Leaf* leaf, const Policy* policy) noexcept nogil:
    # Turn ROWS into HISTOGRAM.
    cdef intp_t K = policy.n_classes
    cdef intp_t d = policy.n_features
    cdef intp_t size, i, f
    cdef int32_t* places
    cdef float64_t w
    cdef bint apart = leaf.n_inherited > 0 and (policy.separate or policy.bayes)
    if leaf.histogram != NULL:
        _forget_bins(leaf)      # of categories alone
    if leaf.bins.first == NULL and not bins_of_rows(
        &leaf.bins, leaf.x, leaf.n_rows, d, policy.max_bins, policy.n_codes,
        policy.missing,
    ):
        return False
    size = leaf.bins.first[d] * K
    leaf.histogram = <float64_t*> calloc(size, sizeof(float64_t))
    if apart:
        leaf.fresh_histogram = <float64_t*> calloc(size, sizeof(float64_t))
    places = <int32_t*> malloc(d * sizeof(int32_t))
    if leaf.histogram == NULL or places == NULL or (
        leaf.fresh_histogram == NULL and apart
    ):
        free(places)
        free(leaf.histogram)
        free(leaf.fresh_histogram)
        leaf.histogram = NULL
        leaf.fresh_histogram = NULL
        return False
    for i in range(leaf.n_rows):
        w = 1.0 if leaf.weight == NULL else leaf.weight[i]
        find_bins(&leaf.bins, leaf.x + i * d, d, places)
        for f in range(d):
            if places[f] < 0:
                continue
            leaf.histogram[places[f] * K + leaf.y[i]] += w
            if leaf.fresh_histogram != NULL and i >= leaf.n_inherited:
                leaf.fresh_histogram[places[f] * K + leaf.y[i]] += w
    free(places)
    _forget_rows(leaf)
    release_moments(&leaf.moments, K)
    release_moments(&leaf.fresh_moments, K)
    leaf.memory = HISTOGRAM
    return True


# -- categories --------------------------------------------------------------------

cdef bint make_room(
    Leaf* leaf, const Policy* policy, const float32_t* x
) noexcept nogil:
    # Bins for the categories of a row that the leaf has not seen.
    cdef intp_t i, f, code
    if leaf.bins.first == NULL:
        return True
    for i in range(policy.n_nominal):
        f = policy.nominal[i]
        code = <intp_t> x[f]
        if code >= leaf.bins.first[f + 1] - leaf.bins.first[f] and not _add_bins(
            leaf, policy, f, code
        ):
            return False
    return True


cdef bint _add_bins(
    Leaf* leaf, const Policy* policy, intp_t feature, intp_t code
) noexcept nogil:
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef Bins wider
    cdef float64_t* histogram = NULL
    cdef float64_t* fresh_histogram = NULL
    cdef bint done = bins_with_code(&leaf.bins, d, feature, code, &wider)
    if not done:
        return False
    if leaf.histogram != NULL:
        histogram = _spread_out(leaf.histogram, &leaf.bins, &wider, d, K, feature)
        done = histogram != NULL
    if done and leaf.fresh_histogram != NULL:
        fresh_histogram = _spread_out(leaf.fresh_histogram, &leaf.bins, &wider, d, K, feature)
        done = fresh_histogram != NULL
    if not done:
        free(histogram)
        free(wider.first)
        return False
    free(leaf.bins.first)
    free(leaf.histogram)
    free(leaf.fresh_histogram)
    leaf.bins = wider
    leaf.histogram = histogram
    leaf.fresh_histogram = fresh_histogram
    return True


cdef float64_t* _spread_out(
    const float64_t* histogram, const Bins* bins, const Bins* wider, intp_t d, intp_t K,
    intp_t feature,
) noexcept nogil:
    # A copy of the counts with empty bins behind those of a feature.
    cdef intp_t before = bins.first[feature + 1] * K
    cdef intp_t gap = (wider.first[d] - bins.first[d]) * K
    cdef intp_t size = bins.first[d] * K
    cdef float64_t* copy = <float64_t*> calloc(size + gap, sizeof(float64_t))
    if copy != NULL:
        memcpy(copy, histogram, before * sizeof(float64_t))
        memcpy(
            copy + before + gap, histogram + before, (size - before) * sizeof(float64_t)
        )
    return copy


cdef bint start_fresh(Leaf* leaf, const Policy* policy) noexcept nogil:
    # From now on rows count as evidence apart from what the leaf holds already.
    if leaf.histogram != NULL and leaf.fresh_histogram == NULL:
        leaf.fresh_histogram = <float64_t*> calloc(
            leaf.bins.first[policy.n_features] * policy.n_classes, sizeof(float64_t)
        )
        if leaf.fresh_histogram == NULL:
            return False
    if leaf.moments.blocks != NULL and leaf.fresh_moments.blocks == NULL:
        return allocate_moments(&leaf.fresh_moments, policy.n_classes)
    return True
