"""The memory of a growing leaf."""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from skconftree.tree._histogram cimport (
    bin_of, bins_of_half, bins_of_rows, fill_half,
)
from skconftree.tree._moments cimport (
    Moments, add_to_moments, allocate_moments, half_of_moments, moments_bytes,
    normal_share, open_block, range_of_moments, release_moments,
)

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
    leaf.fresh = <float64_t*> calloc(2 * policy.n_classes, sizeof(float64_t))
    leaf.held = leaf.fresh + policy.n_classes
    if leaf.fresh == NULL or not _open_moments(leaf, policy):
        release_leaf(leaf, policy)
        return NULL
    return leaf


cdef bint _open_moments(Leaf* leaf, const Policy* policy) noexcept nogil:
    if leaf.memory == GAUSSIAN or (leaf.memory == ROWS and policy.bayes):
        return allocate_moments(&leaf.moments, policy.n_classes)
    return True


cdef void forget(Leaf* leaf, const Policy* policy) noexcept nogil:
    # Turn into NOTHING.
    _forget_rows(leaf)
    release_moments(&leaf.moments, policy.n_classes)
    release_moments(&leaf.fresh_moments, policy.n_classes)
    free(leaf.bins.first)
    free(leaf.profile)
    free(leaf.fresh_profile)
    free(leaf.span)
    leaf.bins.first = NULL
    leaf.profile = NULL
    leaf.fresh_profile = NULL
    leaf.span = NULL
    leaf.memory = NOTHING


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
    cdef intp_t size = sizeof(Leaf) + 2 * K * sizeof(float64_t)
    if leaf.weight != NULL:
        row += sizeof(float64_t)
    size += leaf.room * row + leaf.n_pool * sizeof(int32_t)
    if leaf.bins.first != NULL:
        n_bins = leaf.bins.first[d]
        size += (d + 1) * sizeof(int32_t) + (n_bins + 2 * d) * sizeof(float32_t) + d
        if leaf.profile != NULL:
            size += n_bins * K * sizeof(float64_t)
        if leaf.fresh_profile != NULL:
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


cdef bint _append(
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
    # Learn a row; bins are the places of its values if the leaf is a histogram.
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef intp_t f
    if not _open_class(leaf, policy, y):
        return False
    if leaf.memory == ROWS:
        if not _append(leaf, policy, x, y, weight):
            return False
        if leaf.moments.blocks != NULL:
            add_to_moments(&leaf.moments, x, d, K, y, weight)
        if leaf.fresh_moments.blocks != NULL:
            add_to_moments(&leaf.fresh_moments, x, d, K, y, weight)
    elif leaf.memory == HISTOGRAM:
        for f in range(d):
            leaf.profile[bins[f] * K + y] += weight
            leaf.bins.low[f] = min(leaf.bins.low[f], x[f])
            leaf.bins.high[f] = max(leaf.bins.high[f], x[f])
        if leaf.fresh_profile != NULL:
            for f in range(d):
                leaf.fresh_profile[bins[f] * K + y] += weight
    elif leaf.memory == GAUSSIAN:
        add_to_moments(&leaf.moments, x, d, K, y, weight)
        if leaf.fresh_moments.blocks != NULL:
            add_to_moments(&leaf.fresh_moments, x, d, K, y, weight)
    leaf.fresh[y] += weight
    leaf.held[y] += weight
    leaf.n_fresh += weight
    leaf.n_held += weight
    if leaf.memory == ROWS:
        if policy.row_limit >= 0 and leaf.n_rows >= policy.row_limit:
            return _count_rows(leaf, policy)
        if policy.fixed_cuts and leaf.bins.first == NULL and leaf.n_rows == FIRST_CUTS:
            return bins_of_rows(
                &leaf.bins, leaf.x, leaf.n_rows, d, policy.max_bins
            )
    elif leaf.memory == GAUSSIAN and policy.fixed_cuts and leaf.span == NULL and (
        leaf.n_fresh >= FIRST_CUTS
    ):
        return _fix_span(leaf, policy)
    return True


cdef bint _open_class(Leaf* leaf, const Policy* policy, intp_t c) noexcept nogil:
    # Blocks of the moments that a row of class c needs, before anything changes.
    return _open_blocks(&leaf.moments, policy, c) and _open_blocks(
        &leaf.fresh_moments, policy, c
    )


cdef bint _open_blocks(Moments* moments, const Policy* policy, intp_t c) noexcept nogil:
    return moments.blocks == NULL or (
        open_block(moments, policy.n_features, c) != NULL
        and open_block(moments, policy.n_features, policy.n_classes) != NULL
    )


cdef bint _fix_span(Leaf* leaf, const Policy* policy) noexcept nogil:
    cdef intp_t f
    leaf.span = <float64_t*> malloc(2 * policy.n_features * sizeof(float64_t))
    if leaf.span == NULL:
        return False
    for f in range(policy.n_features):
        range_of_moments(
            &leaf.moments, policy.n_features, policy.n_classes, f,
            &leaf.span[2 * f], &leaf.span[2 * f + 1],
        )
    return True


cdef bint _count_rows(Leaf* leaf, const Policy* policy) noexcept nogil:
    # Turn ROWS into HISTOGRAM.
    cdef intp_t K = policy.n_classes
    cdef intp_t d = policy.n_features
    cdef intp_t size, i, f, place
    cdef const float32_t* x
    cdef float64_t w
    cdef bint apart = leaf.n_inherited > 0 and (policy.separate or policy.bayes)
    if leaf.bins.first == NULL and not bins_of_rows(
        &leaf.bins, leaf.x, leaf.n_rows, d, policy.max_bins
    ):
        return False
    size = leaf.bins.first[d] * K
    leaf.profile = <float64_t*> calloc(size, sizeof(float64_t))
    if apart:
        leaf.fresh_profile = <float64_t*> calloc(size, sizeof(float64_t))
    if leaf.profile == NULL or (leaf.fresh_profile == NULL and apart):
        free(leaf.profile)
        free(leaf.fresh_profile)
        leaf.profile = NULL
        leaf.fresh_profile = NULL
        return False
    for i in range(leaf.n_rows):
        x = leaf.x + i * d
        w = 1.0 if leaf.weight == NULL else leaf.weight[i]
        for f in range(d):
            place = leaf.bins.first[f]
            place += bin_of(
                leaf.bins.edges + place, leaf.bins.first[f + 1] - place, x[f]
            )
            leaf.profile[place * K + leaf.y[i]] += w
            if leaf.fresh_profile != NULL and i >= leaf.n_inherited:
                leaf.fresh_profile[place * K + leaf.y[i]] += w
    _forget_rows(leaf)
    release_moments(&leaf.moments, K)
    release_moments(&leaf.fresh_moments, K)
    leaf.memory = HISTOGRAM
    return True


# -- children ----------------------------------------------------------------------

cdef bint start_child(
    const Leaf* parent, const Policy* policy, intp_t feature, intp_t cut,
    float64_t threshold, intp_t side, float64_t* share, Leaf* child,
) noexcept nogil:
    # Hand over a side of the parent to an empty leaf. share[c] becomes the part of
    # class c that goes to that side: exact but for GAUSSIAN.
    cdef intp_t K = policy.n_classes
    cdef float64_t total = 0.0
    cdef float64_t scale
    cdef intp_t c
    child.memory = parent.memory
    if parent.memory != ROWS:
        release_moments(&child.moments, K)
    if parent.memory == ROWS:
        return _take_rows(parent, policy, feature, threshold, side, share, child)
    _shares(parent, policy, feature, cut, threshold, side, share)
    for c in range(K):
        child.held[c] = parent.held[c] * share[c]
        total += child.held[c]
    scale = 1.0
    if total > policy.inherited:
        scale = policy.inherited / total
    for c in range(K):
        child.held[c] *= scale
        share[c] *= scale       # for the copies below, undone at the end
        child.n_held += child.held[c]
    if parent.memory == HISTOGRAM:
        if not _take_bins(parent, policy, feature, cut, side, share, child):
            return False
    elif parent.memory == GAUSSIAN:
        if not _take_moments(parent, policy, feature, threshold, side, share, child):
            return False
    for c in range(K):
        share[c] /= scale
    return True


cdef void _shares(
    const Leaf* parent, const Policy* policy, intp_t feature, intp_t cut,
    float64_t threshold, intp_t side, float64_t* share,
) noexcept nogil:
    # Part of each class that goes to the side; half of a class not yet seen.
    cdef intp_t K = policy.n_classes
    cdef intp_t b, c
    cdef float64_t left, right
    for c in range(K):
        share[c] = 0.5
        if parent.memory == HISTOGRAM:
            left = 0.0
            right = 0.0
            for b in range(parent.bins.first[feature], parent.bins.first[feature + 1]):
                if b - parent.bins.first[feature] <= cut:
                    left += parent.profile[b * K + c]
                else:
                    right += parent.profile[b * K + c]
            if left + right > 0.0:
                share[c] = left / (left + right)
        elif parent.moments.blocks[c] != NULL:
            share[c] = normal_share(
                &parent.moments, policy.n_features, c, feature, threshold
            )
        if side == 1:
            share[c] = 1.0 - share[c]


cdef bint _take_rows(
    const Leaf* parent, const Policy* policy, intp_t feature, float64_t threshold,
    intp_t side, float64_t* share, Leaf* child,
) noexcept nogil:
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef intp_t n = 0
    cdef intp_t i, c
    cdef const float32_t* x
    cdef float64_t w
    for i in range(parent.n_rows):
        n += (parent.x[i * d + feature] > threshold) == side
    if not reserve_rows(child, policy, n):
        return False
    for i in range(parent.n_rows):
        x = parent.x + i * d
        if (x[feature] > threshold) != side:
            continue
        w = 1.0 if parent.weight == NULL else parent.weight[i]
        if not _append(child, policy, x, parent.y[i], w):
            return False
        if child.moments.blocks != NULL and not add_to_moments(
            &child.moments, x, d, K, parent.y[i], w
        ):
            return False
        child.held[parent.y[i]] += w
        child.n_held += w
    child.n_inherited = n
    if policy.bayes and not allocate_moments(&child.fresh_moments, K):
        return False
    for c in range(K):
        share[c] = 0.5
        if parent.held[c] > 0.0:
            share[c] = child.held[c] / parent.held[c]
    if policy.fixed_cuts and n > 0:
        return bins_of_rows(&child.bins, child.x, n, d, policy.max_bins)
    return True


cdef bint _take_bins(
    const Leaf* parent, const Policy* policy, intp_t feature, intp_t cut, intp_t side,
    const float64_t* scale, Leaf* child,
) noexcept nogil:
    # The tested feature's bins lie on one side as they are: their counts are those
    # of the side already, and only the reduction to policy.inherited applies.
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef intp_t size, c, b
    cdef float64_t n, inside
    if not bins_of_half(
        &parent.bins, parent.profile, scale, d, K, policy.max_bins, feature, cut, side,
        &child.bins,
    ):
        return False
    size = child.bins.first[d] * K
    child.profile = <float64_t*> calloc(size, sizeof(float64_t))
    if child.profile == NULL:
        return False
    if policy.separate or policy.bayes:
        child.fresh_profile = <float64_t*> calloc(size, sizeof(float64_t))
        if child.fresh_profile == NULL:
            return False
    fill_half(
        &parent.bins, parent.profile, scale, d, K, feature, cut, side, &child.bins,
        child.profile,
    )
    for c in range(K):
        inside = 0.0
        for b in range(child.bins.first[feature], child.bins.first[feature + 1]):
            inside += child.profile[b * K + c]
        if inside > 0.0:
            n = child.held[c] / inside
            for b in range(child.bins.first[feature], child.bins.first[feature + 1]):
                child.profile[b * K + c] *= n
    return True


cdef bint _take_moments(
    const Leaf* parent, const Policy* policy, intp_t feature, float64_t threshold,
    intp_t side, const float64_t* scale, Leaf* child,
) noexcept nogil:
    if not half_of_moments(
        &parent.moments, policy.n_features, policy.n_classes, feature, threshold, side,
        scale, &child.moments,
    ):
        return False
    if (policy.separate or policy.bayes) and not allocate_moments(
        &child.fresh_moments, policy.n_classes
    ):
        return False
    if policy.fixed_cuts:
        return _fix_span(child, policy)
    return True


cdef bint start_fresh(Leaf* leaf, const Policy* policy) noexcept nogil:
    # From now on rows count as evidence apart from what the leaf holds already.
    if leaf.memory == HISTOGRAM and leaf.fresh_profile == NULL:
        leaf.fresh_profile = <float64_t*> calloc(
            leaf.bins.first[policy.n_features] * policy.n_classes, sizeof(float64_t)
        )
        return leaf.fresh_profile != NULL
    if leaf.moments.blocks != NULL and leaf.fresh_moments.blocks == NULL:
        return allocate_moments(&leaf.fresh_moments, policy.n_classes)
    return True
