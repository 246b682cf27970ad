"""What the children of a leaf take over from it."""

from libc.math cimport isfinite
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from skconftree.tree.leaves._histogram cimport Side, bins_of_half, bins_of_rows, fill_half
from skconftree.tree.leaves._leaf cimport (
    GAUSSIAN, HISTOGRAM, ROWS, append_row, fix_span, forget, open_codes, reserve_rows,
)
from skconftree.tree.leaves._moments cimport (
    add_to_moments, allocate_moments, half_of_moments, part_of_moments,
)
from skconftree.utils._typedefs cimport int32_t, uint8_t


cdef bint start_child(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) noexcept nogil:
    # Hand over what goes to one outcome to an empty leaf. share[c] becomes the part
    # of class c: exact unless it rests on moments.
    cdef intp_t K = policy.n_classes
    cdef float64_t total = 0.0
    cdef float64_t scale
    cdef bint done = True
    cdef intp_t c
    forget(child, policy)
    child.memory = parent.memory
    if parent.memory == ROWS:
        return _take_rows(parent, policy, parting, outcome, share, child)
    _shares(parent, policy, parting, outcome, share)
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
    if parent.histogram != NULL:
        done = _take_bins(parent, policy, parting, outcome, share, child)
    if done and parent.memory == GAUSSIAN:
        done = _take_moments(parent, policy, parting, outcome, share, child)
    for c in range(K):
        share[c] /= scale
    return done


cdef void _shares(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share,
) noexcept nogil:
    # Part of each class that goes to the outcome; an equal one of a class not seen.
    cdef intp_t K = policy.n_classes
    cdef intp_t feature = parting.feature
    cdef bint counted = parent.memory == HISTOGRAM or parting.ordinals != NULL
    cdef intp_t b, c, place
    cdef float64_t inside, total
    for c in range(K):
        share[c] = 1.0 / parting.n_outcomes
        if counted:
            inside = 0.0
            total = 0.0
            for b in range(parent.bins.first[feature + 1] - parent.bins.first[feature]):
                place = (parent.bins.first[feature] + b) * K + c
                total += parent.histogram[place]
                if outcome_of_bin(parting, &parent.bins, b) == outcome:
                    inside += parent.histogram[place]
            if total > 0.0:
                share[c] = inside / total
        elif parent.moments.blocks[c] != NULL:
            share[c] = part_of_moments(
                &parent.moments, policy.n_features, c, feature, parting.threshold,
                outcome, parting.missing_left == (outcome == 0),
            )


cdef bint _take_rows(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) noexcept nogil:
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef intp_t n = 0
    cdef intp_t i, c
    cdef const float32_t* x
    cdef float64_t w
    if policy.bayes and not (
        allocate_moments(&child.moments, K)
        and allocate_moments(&child.fresh_moments, K)
    ):
        return False
    for i in range(parent.n_rows):
        n += outcome_of(parting, parent.x[i * d + parting.feature]) == outcome
    if not reserve_rows(child, policy, n):
        return False
    for i in range(parent.n_rows):
        x = parent.x + i * d
        if outcome_of(parting, x[parting.feature]) != outcome:
            continue
        w = 1.0 if parent.weight == NULL else parent.weight[i]
        if not append_row(child, policy, x, parent.y[i], w):
            return False
        if child.moments.blocks != NULL and not add_to_moments(
            &child.moments, x, d, K, parent.y[i], w, policy.missing
        ):
            return False
        child.held[parent.y[i]] += w
        child.n_held += w
    child.n_inherited = n
    if not open_codes(child, policy) or not _count_codes(child, policy):
        return False
    for c in range(K):
        share[c] = 1.0 / parting.n_outcomes
        if parent.held[c] > 0.0:
            share[c] = child.held[c] / parent.held[c]
    if policy.fixed_cuts and n > 0:
        return bins_of_rows(
            &child.bins, child.x, n, d, policy.max_bins, policy.n_codes, policy.missing
        )
    return True


cdef bint _count_codes(Leaf* leaf, const Policy* policy) noexcept nogil:
    # Count the categories of the rows a leaf has taken over.
    cdef intp_t K = policy.n_classes
    cdef intp_t i, j, f, place
    cdef float64_t w
    if leaf.histogram == NULL:
        return True
    leaf.fresh_histogram = <float64_t*> calloc(
        leaf.bins.first[policy.n_features] * K, sizeof(float64_t)
    )
    if leaf.fresh_histogram == NULL:
        return False
    for i in range(leaf.n_rows):
        w = 1.0 if leaf.weight == NULL else leaf.weight[i]
        for j in range(policy.n_nominal):
            f = policy.nominal[j]
            place = leaf.bins.first[f] + <intp_t> leaf.x[i * policy.n_features + f]
            leaf.histogram[place * K + leaf.y[i]] += w
    return True


cdef bint _take_bins(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    const float64_t* scale, Leaf* child,
) noexcept nogil:
    # The tested feature's bins go to one side as they are: their counts are those of
    # the side already, and only the reduction to policy.inherited applies.
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef intp_t feature = parting.feature
    cdef bint missing = policy.missing and parent.memory == HISTOGRAM
    cdef bint counted = parent.memory == HISTOGRAM or parting.ordinals != NULL
    cdef intp_t n_places = parent.bins.first[feature + 1] - parent.bins.first[feature]
    cdef uint8_t* taken = <uint8_t*> calloc(n_places, 1)
    cdef Side side
    cdef bint done
    cdef intp_t b
    if taken == NULL:
        return False
    # moments have no bins of numeric values to part
    side.feature = feature if counted else -1
    side.taken = taken
    side.begin = 0 if outcome == 0 else parting.cut + 1
    side.end = parting.cut + 1 if outcome == 0 else n_value_bins(&parent.bins, feature)
    side.takes_missing = parting.missing_left == (outcome == 0)
    for b in range(n_places):
        taken[b] = outcome_of_bin(parting, &parent.bins, b) == outcome
    done = bins_of_half(
        &parent.bins, parent.histogram, scale, d, K, policy.max_bins, &side, missing,
        &child.bins,
    ) and _allocate_histograms(child, policy)
    if done:
        fill_half(
            &parent.bins, parent.histogram, scale, d, K, &side, &child.bins, child.histogram
        )
        if counted:
            _match_held(child, K, feature)
    free(taken)
    return done


cdef bint _allocate_histograms(Leaf* leaf, const Policy* policy) noexcept nogil:
    cdef intp_t size = leaf.bins.first[policy.n_features] * policy.n_classes
    leaf.histogram = <float64_t*> calloc(size, sizeof(float64_t))
    if policy.separate or policy.bayes:
        leaf.fresh_histogram = <float64_t*> calloc(size, sizeof(float64_t))
        return leaf.histogram != NULL and leaf.fresh_histogram != NULL
    return leaf.histogram != NULL


cdef void _match_held(Leaf* leaf, intp_t K, intp_t feature) noexcept nogil:
    # Scale the counts of a feature to the weight held of each class.
    cdef float64_t inside, ratio
    cdef intp_t b, c
    for c in range(K):
        inside = 0.0
        for b in range(leaf.bins.first[feature], leaf.bins.first[feature + 1]):
            inside += leaf.histogram[b * K + c]
        if inside > 0.0:
            ratio = leaf.held[c] / inside
            for b in range(leaf.bins.first[feature], leaf.bins.first[feature + 1]):
                leaf.histogram[b * K + c] *= ratio


cdef bint _take_moments(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    const float64_t* scale, Leaf* child,
) noexcept nogil:
    cdef intp_t feature = -1 if parting.ordinals != NULL else parting.feature
    if not half_of_moments(
        &parent.moments, policy.n_features, policy.n_classes, feature,
        parting.threshold, outcome, parting.missing_left == (outcome == 0), scale,
        &child.moments,
    ):
        return False
    if (policy.separate or policy.bayes) and not allocate_moments(
        &child.fresh_moments, policy.n_classes
    ):
        return False
    if policy.fixed_cuts:
        return fix_span(child, policy)
    return True


cdef bint part_pool(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    const float32_t[:, ::1] pool, Leaf* child,
) noexcept nogil:
    # The child's rows without label, and its box.
    cdef intp_t d = policy.n_features
    cdef intp_t n = 0
    cdef intp_t i, row
    if parent.n_pool > 0:
        child.pool = <int32_t*> malloc(parent.n_pool * sizeof(int32_t))
        if child.pool == NULL:
            return False
        for i in range(parent.n_pool):
            row = parent.pool[i]
            if outcome_of(parting, pool[row, parting.feature]) == outcome:
                child.pool[n] = <int32_t> row
                n += 1
        child.n_pool = n
    if parent.box != NULL:
        child.box = <float64_t*> malloc(2 * d * sizeof(float64_t))
        if child.box == NULL:
            return False
        memcpy(child.box, parent.box, 2 * d * sizeof(float64_t))
        if parting.ordinals == NULL and isfinite(parting.threshold):
            cut_box(child.box, parting.feature, parting.threshold, outcome)
    return True


cdef void cut_box(
    float64_t* box, intp_t feature, float64_t threshold, intp_t side
) noexcept nogil:
    # Rows may lie outside the root's box, and so may a cut between them.
    cdef float64_t* limits = box + 2 * feature
    limits[1 - side] = min(max(threshold, limits[0]), limits[1])
