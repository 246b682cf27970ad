"""Predictions of the leaves of an incrementally trained tree.

A leaf has several models: its class frequencies, those of recent rows, and naive Bayes over all
its rows or over those since its creation. The hits of a model are the decayed weight of the rows
that it predicted correctly, and the model with the most hits is used. The power of the tree
calibrates naive Bayes: its probabilities are raised to it. A policy has the settings that the
leaves share, a state is the data in a pickle. With shrinkage, class frequencies are shrunk toward
those of the ancestors. See _predictor.pxd.
"""

from skconftree.utils._codec import corrupt_state

from libc.math cimport INFINITY, exp, fabs, log
from libc.string cimport memset

from skconftree.tree.leaves._bins cimport Bins, find_bins
from skconftree.tree.leaves._moments cimport (
    HIGH, LOW, MEAN, SQUARES,   # rows of a block: largest, smallest, mean, squared deviations
    Moments, takes_two_values, weight_known,
)
from skconftree.tree.leaves._rows cimport policy_of, project_row
from skconftree.tree.nodes._shrinkage cimport fill_shrunk
from skconftree.utils._inline cimport ROUNDING, prefetch
from skconftree.utils._typedefs cimport int32_t

# One logarithm is taken of the product of so many factors, which fits in a double for 1e9 rows.
cdef enum:
    BINS_PER_LOG = 20           # factors of bins
    VARIANCES_PER_LOG = 14      # factors of normal distributions

# Lower limits that no leaf reaches in practice: they prevent a division by zero if a
# state is corrupt.
cdef float64_t MIN_SHARE = 1e-16      # of rows; below the rounding error of 1
cdef float64_t MIN_SQUARE = 1e-300    # of a weight

cdef float64_t HITS_DECAY = 0.98    # decay of past hits per row, because streams change
cdef float64_t RECENT_DECAY = 0.9     # decay of the class counts of recent rows
cdef float64_t TINY = 1e-9      # set to 0, to avoid slow denormal numbers
cdef float64_t MAX_INHERITED_HITS = 1.0      # largest weight of hits that a child starts with
cdef float64_t LOSS_DECAY = 0.999    # decay of past losses per row
cdef float64_t SMALLEST_POWER = 0.5 ** (N_POWERS - 1)

PREDICTIONS = {"majority": BY_MAJORITY, "nb": BY_BAYES, "nba": BY_BETTER}


cdef inline float64_t _at_least(float64_t least, float64_t value) noexcept nogil:
    # fmax of libm is a function call, before which a loop must save its registers.
    return value if value > least else least


cdef int make_scratch(
    Arena arena, Scratch* scratch, intp_t n_features, intp_t n_classes
) except -1:
    # One allocation for all arrays, so that they are close in memory.
    cdef intp_t n = n_features + 3 * n_classes
    scratch.precision = <float64_t*> arena.take(
        n * sizeof(float64_t) + n_features * (3 * sizeof(int32_t) + 2 * sizeof(float32_t)), 1
    )
    scratch.scores = scratch.precision + n_features
    scratch.products = scratch.scores + n_classes
    scratch.inverse = scratch.products + n_classes
    scratch.bin_indices = <int32_t*> (scratch.precision + n)
    scratch.inherited_bin_indices = scratch.bin_indices + n_features
    scratch.informative = scratch.inherited_bin_indices + n_features
    scratch.row = <float32_t*> (scratch.informative + n_features)
    scratch.inherited_row = scratch.row + n_features
    return 0


cdef inline void add_pseudo_row(float64_t* proba, float64_t n, intp_t n_classes) noexcept nogil:
    # Smooth class proportions of rows of weight n by one row, spread evenly.
    cdef intp_t c
    for c in range(n_classes):
        proba[c] = (proba[c] * n + 1.0 / n_classes) / (n + 1.0)


cdef class LeafPredictor:
    """Predict with the best model of a leaf.

    `prediction` selects the models: "majority", "nb" (naive Bayes) or "nba" (adaptive: the
    most accurate one).
    """

    def __init__(
        self, intp_t n_features, intp_t n_classes, str prediction,
        const float64_t[::1] class_weight, bint in_forest=False,
    ):
        cdef intp_t c
        self.prediction = PREDICTIONS[prediction]
        self.power = 1.0
        # not in a forest, which averages its trees
        self.calibrates = self.prediction == BY_BETTER and not in_forest
        self.counts_hits = self.prediction != BY_MAJORITY
        self.arena = Arena()
        self.log_weight = <float64_t*> self.arena.take_zeros(n_classes, sizeof(float64_t))
        self.score_gaps = <float64_t*> self.arena.take_zeros(n_classes, sizeof(float64_t))
        make_scratch(self.arena, &self.scratch, n_features, n_classes)
        self._class_weight = class_weight
        if class_weight is not None:
            self.class_weight = &class_weight[0]
            for c in range(n_classes):
                self.log_weight[c] = (log(class_weight[c]) if class_weight[c] > 0.0 else -INFINITY)

    cdef const float32_t* locate(
        self, const Leaf* leaf, const float32_t* x, Scratch* scratch
    ) noexcept nogil:
        # The features of a row that the leaf uses; its bins are stored in `scratch`.
        cdef const Policy* policy = policy_of(leaf, self.policy)
        cdef const float32_t* row = project_row(leaf, x, scratch.row)
        cdef intp_t i, f, feature
        if leaf.histogram == NULL:
            return row
        find_bins(&leaf.bins, row, policy.n_features, scratch.bin_indices)
        for i in range(policy.n_nominal):
            f = policy.nominal[i]
            feature = f if leaf.subset == NULL else leaf.subset.features[f]
            if row[f] >= self.policy.n_codes[feature]:
                scratch.bin_indices[f] = -1     # it has a bin, but was never seen
        return row

    cdef intp_t predict_before(
        self, Tree tree, const Leaf* leaf, const float32_t* x, const float32_t* row,
        bint returns_class, float64_t* proba,
    ) noexcept nogil:
        # Predict a row that will be learned, after locate(). Returns the class if
        # `returns_class`, and fills `proba` unless it is NULL.
        cdef Model best_model
        cdef bint is_pending = proba != NULL
        cdef int model
        if returns_class or self.counts_hits:
            self.predicted[<intp_t> MAJORITY] = _majority(self, tree, leaf.node)
        best_model = _best_model(self, leaf)
        self.score_weight = 0.0     # 0: this row does not update the losses
        if self.counts_hits:
            for model in range(<int> ALL_ROWS, <int> OWN_ROWS + 1):
                self.predicted[model] = self._score(leaf, <Model> model, x, row, &self.scratch)
                if model == best_model and self.predicted[model] >= 0:
                    # one of LOSS_INTERVAL rows of a leaf updates the losses, which is slow
                    if self.calibrates and tree.n_node_samples[leaf.node] % LOSS_INTERVAL == 0:
                        _store_score_gaps(self, leaf, best_model)
                    if is_pending:
                        _fill_by_scores(
                            self, leaf, best_model, &self.scratch, self.predicted[model], proba
                        )
                        is_pending = False
            self.predicted[<intp_t> RECENT] = _most_frequent(self, leaf.recent)
        if is_pending:
            _fill_by_counts(self, tree, leaf, best_model, &self.scratch, proba)
        if self.predicted[<intp_t> best_model] >= 0:
            return self.predicted[<intp_t> best_model]
        return self.predicted[<intp_t> MAJORITY]

    cdef void update_hits(self, Leaf* leaf, label_t y, float64_t weight) noexcept nogil:
        # Update the hits of the models with the true class of the last row.
        cdef intp_t i
        if self.counts_hits:
            for i in range(self.policy.n_classes):
                leaf.recent[i] *= RECENT_DECAY
                if leaf.recent[i] < TINY:
                    leaf.recent[i] = 0.0
            leaf.recent[y] += weight
            for i in range(N_MODELS):
                leaf.hits[i] *= HITS_DECAY
                if self.predicted[i] == y:
                    leaf.hits[i] += weight
            if self.score_weight > 0.0:
                _update_losses(self, y, weight)

    cdef void choose_power(self) noexcept nogil:
        cdef intp_t best = 0
        cdef intp_t i
        for i in range(1, N_POWERS):
            if self.losses[i] < self.losses[best]:
                best = i
        self.power = 0.5 ** best

    def write_losses(self):
        """Return the past losses of each power of naive Bayes, for a state."""
        return tuple([self.losses[i] for i in range(N_POWERS)])

    def read_losses(self, losses):
        """Set the losses from a state; ValueError if their number is wrong."""
        losses = tuple(losses)
        if len(losses) != N_POWERS:
            raise corrupt_state("growing tree")
        for i in range(N_POWERS):
            self.losses[i] = losses[i]
        self.choose_power()

    cdef void swap(self, LeafPredictor other) noexcept nogil:
        # Swap losses with the predictor of a tree that replaces this one.
        cdef float64_t loss
        cdef intp_t i
        for i in range(N_POWERS):
            loss = self.losses[i]
            self.losses[i] = other.losses[i]
            other.losses[i] = loss
        self.choose_power()
        other.choose_power()

    cdef void inherit_hits(self, const Leaf* parent, Leaf* child) noexcept nogil:
        # A child starts with the hits of its parent's models, scaled to a small weight.
        cdef const float64_t* hits = parent.hits
        cdef float64_t bayes_hits = max(hits[<intp_t> ALL_ROWS], hits[<intp_t> OWN_ROWS])
        cdef float64_t largest = max(bayes_hits, hits[<intp_t> MAJORITY])
        cdef float64_t scale = 1.0
        if largest > MAX_INHERITED_HITS:
            scale = MAX_INHERITED_HITS / largest
        child.hits[<intp_t> MAJORITY] = parent.hits[<intp_t> MAJORITY] * scale
        child.hits[<intp_t> ALL_ROWS] = bayes_hits * scale
        child.hits[<intp_t> OWN_ROWS] = 0.0

    cdef const float64_t* _counts(self, Tree tree, intp_t node, Scratch* scratch) noexcept nogil:
        # Counts of an internal node, which the tree has not updated since its split.
        memset(scratch.products, 0, self.policy.n_classes * sizeof(float64_t))
        tree.add_counts(node, scratch.products)
        return scratch.products

    cdef intp_t _score(
        self, const Leaf* leaf, Model model, const float32_t* x, const float32_t* row,
        Scratch* scratch,
    ) noexcept nogil:
        # The best class of a naive Bayes model; -1 if the model does not exist. `row` is
        # project_row(x). The scores are stored in `scratch`.
        cdef float64_t* scores = scratch.scores
        cdef const Policy* policy = policy_of(leaf, self.policy)
        cdef Scratch past
        cdef float64_t peak = -INFINITY
        cdef intp_t best = -1
        cdef intp_t c
        cdef bint has_model
        # `inherited_model`: the parent's statistics, from which a leaf with a feature subset
        # predicts at first. Such a leaf has inherited no rows: all its rows are its own.
        if leaf.inherited_model == NULL:
            has_model = score_by_bayes(policy, leaf, model == OWN_ROWS, row, scratch)
        elif model == OWN_ROWS:
            has_model = score_by_bayes(policy, leaf, False, row, scratch)
        else:
            # the inherited model, which may use other features
            past = scratch[0]
            past.row = scratch.inherited_row
            past.bin_indices = scratch.inherited_bin_indices
            has_model = score_by_bayes(
                policy_of(leaf.inherited_model, self.policy), leaf.inherited_model, False,
                self.locate(leaf.inherited_model, x, &past), &past,
            )
        if not has_model:
            return -1
        for c in range(self.policy.n_classes):
            if self.class_weight != NULL:
                scores[c] += self.log_weight[c]
            if scores[c] > peak:
                peak = scores[c]
        # rounding must not decide, here or in the exponentials taken later
        for c in range(self.policy.n_classes):
            if scores[c] >= peak - ROUNDING:
                scores[c] = peak
                if best < 0:
                    best = c
        return best

    cdef void fill_proba(
        self, Tree tree, const Leaf* leaf, const float32_t* x, Scratch* scratch, float64_t* out,
    ) noexcept nogil:
        # Class probabilities of a row.
        cdef Model best_model = _best_model(self, leaf)
        cdef const float32_t* row = self.locate(leaf, x, scratch)
        cdef intp_t best = -1
        if best_model == ALL_ROWS or best_model == OWN_ROWS:
            best = self._score(leaf, best_model, x, row, scratch)
        if best >= 0:
            _fill_by_scores(self, leaf, best_model, scratch, best, out)
        else:
            _fill_by_counts(self, tree, leaf, best_model, scratch, out)


cdef void _store_score_gaps(LeafPredictor predictor, const Leaf* leaf, Model model) noexcept nogil:
    # Store the scores of the best naive Bayes model minus their largest.
    cdef const float64_t* scores = predictor.scratch.scores
    cdef float64_t peak = scores[predictor.predicted[<intp_t> model]]
    cdef intp_t c
    predictor.score_weight = _training_weight(predictor, leaf, model)
    for c in range(predictor.policy.n_classes):
        predictor.score_gaps[c] = scores[c] - peak


cdef void _update_losses(LeafPredictor predictor, label_t y, float64_t weight) noexcept nogil:
    # Update the log loss of each power. The powers are 1, 1/2, 1/4, ..., so each exponential is
    # the square of the one for the next power.
    cdef intp_t K = predictor.policy.n_classes
    cdef float64_t n = predictor.score_weight
    cdef float64_t[N_POWERS] total
    cdef float64_t[N_POWERS] right
    cdef float64_t value
    cdef intp_t i, c
    memset(&total[0], 0, N_POWERS * sizeof(float64_t))
    for c in range(K):
        value = exp(SMALLEST_POWER * predictor.score_gaps[c])
        for i in range(N_POWERS - 1, -1, -1):
            total[i] += value
            if c == y:
                right[i] = value
            value *= value
    for i in range(N_POWERS):
        value = (right[i] / total[i] * n + 1.0 / K) / (n + 1.0)
        predictor.losses[i] = LOSS_DECAY * predictor.losses[i] - weight * log(value)
    predictor.choose_power()


cdef float64_t _training_weight(
    LeafPredictor predictor, const Leaf* leaf, Model model
) noexcept nogil:
    # Weight of the rows that a naive Bayes model was trained on, see `_score`.
    if leaf.inherited_model != NULL:
        return leaf.n_total if model == OWN_ROWS else leaf.inherited_model.n_total
    return leaf.n_fresh if model == OWN_ROWS else leaf.n_total


cdef void _fill_by_scores(
    LeafPredictor predictor, const Leaf* leaf, Model model, const Scratch* scratch,
    intp_t best, float64_t* out,
) noexcept nogil:
    # Probabilities from log scores, raised to the calibrated power.
    cdef float64_t peak = scratch.scores[best]
    cdef float64_t total = 0.0
    cdef intp_t c
    for c in range(predictor.policy.n_classes):
        out[c] = exp(predictor.power * (scratch.scores[c] - peak))
        total += out[c]
    for c in range(predictor.policy.n_classes):
        out[c] /= total
    if predictor.calibrates:
        add_pseudo_row(out, _training_weight(predictor, leaf, model), predictor.policy.n_classes)


cdef void _fill_by_counts(
    LeafPredictor predictor, Tree tree, const Leaf* leaf, Model best_model, Scratch* scratch,
    float64_t* out,
) noexcept nogil:
    # Class frequencies of a leaf, or of the nearest ancestor that has rows; shrunk
    # toward those of the ancestors if the tree has shrinkage.
    cdef intp_t K = predictor.policy.n_classes
    cdef intp_t node = leaf.node
    cdef const float64_t* counts = tree.counts + node * K
    cdef float64_t total = 0.0
    cdef intp_t c
    if tree.shrinkage > 0.0 and best_model != RECENT:
        fill_shrunk(
            tree.counts, K, tree.parent, tree.depth, tree.shrinkage,
            predictor.class_weight, node, out,
        )
        return
    if best_model == RECENT:
        counts = leaf.recent
    while True:
        for c in range(K):
            out[c] = counts[c]
            if predictor.class_weight != NULL:
                out[c] *= predictor.class_weight[c]
            total += out[c]
        if total > 0.0 or node == 0:
            break
        node = tree.parent[node]
        counts = predictor._counts(tree, node, scratch)
    for c in range(K):
        out[c] = out[c] / total if total > 0.0 else 1.0 / K
    if predictor.calibrates:
        add_pseudo_row(out, total, K)


cdef Model _best_model(LeafPredictor predictor, const Leaf* leaf) noexcept nogil:
    cdef const float64_t* hits = leaf.hits
    cdef Model best = ALL_ROWS
    if predictor.prediction == BY_MAJORITY:
        return MAJORITY
    if hits[<intp_t> OWN_ROWS] > hits[<intp_t> ALL_ROWS]:
        best = OWN_ROWS
    if predictor.prediction == BY_BETTER:
        if hits[<intp_t> best] <= hits[<intp_t> MAJORITY]:
            best = MAJORITY
        if hits[<intp_t> best] < hits[<intp_t> RECENT]:
            best = RECENT
    return best


cdef intp_t _most_frequent(LeafPredictor predictor, const float64_t* counts) noexcept nogil:
    # Class of the largest weighted count; -1 if all counts are 0.
    cdef float64_t largest = 0.0
    cdef float64_t count
    cdef intp_t best = -1
    cdef intp_t c
    for c in range(predictor.policy.n_classes):
        count = counts[c]
        if predictor.class_weight != NULL:
            count *= predictor.class_weight[c]
        if count > largest:
            largest = count
            best = c
    return best


cdef intp_t _majority(LeafPredictor predictor, Tree tree, intp_t node) noexcept nogil:
    # Most frequent class of a leaf, or of the nearest ancestor that has rows; most
    # probable class if the tree has shrinkage.
    cdef intp_t K = predictor.policy.n_classes
    cdef const float64_t* counts = tree.counts + node * K
    cdef float64_t* proba = predictor.scratch.products
    cdef intp_t best = 0
    cdef intp_t c
    if tree.shrinkage > 0.0:
        fill_shrunk(
            tree.counts, K, tree.parent, tree.depth, tree.shrinkage,
            predictor.class_weight, node, proba,
        )
        for c in range(1, K):
            if proba[c] > proba[best]:
                best = c
        return best
    while True:
        best = _most_frequent(predictor, counts)
        if best >= 0 or node == 0:
            return max(best, 0)
        node = tree.parent[node]
        counts = predictor._counts(tree, node, &predictor.scratch)


cdef bint score_by_bayes(
    const Policy* policy, const Leaf* leaf, bint own_rows, const float32_t* x, Scratch* scratch,
) noexcept nogil:
    # Naive Bayes over all rows of a leaf, or over the rows since its creation: log scores of the
    # classes, up to a common constant; -infinity for classes without rows. Returns False
    # if the model does not exist. The row and the policy are those of the leaf's features.
    #
    # Each class starts with one pseudo-row: spread evenly over the bins of a feature, or
    # with the variance of the feature over all classes. A value that no row of a class has
    # had yet therefore does not exclude the class, and variances are positive. A
    # feature with only two values is scored by their counts, not by a normal
    # distribution. A missing value has its own bin in a histogram and is ignored
    # otherwise.
    #
    # Scores are computed for every row, without a cache. One logarithm is taken of a
    # product of many factors, which is cheaper than a cache would be.
    cdef const float64_t* n = leaf.total
    cdef const float64_t* histogram = leaf.histogram
    cdef const Moments* moments = &leaf.moments
    cdef float64_t total = leaf.n_total
    cdef intp_t n_present = 0
    cdef intp_t c
    if own_rows:
        n = leaf.fresh
        histogram = leaf.fresh_histogram
        moments = &leaf.fresh_moments
        total = leaf.n_fresh
    if not total > 0.0 or histogram == NULL and moments.blocks == NULL:
        return False
    for c in range(policy.n_classes):
        scratch.scores[c] = 0.0 if n[c] > 0.0 else -INFINITY
        n_present += n[c] > 0.0
    if n_present <= 1:
        return True     # the scores do not depend on the row
    if histogram != NULL:
        _score_bins(policy, &leaf.bins, histogram, n, scratch)
    if moments.blocks != NULL:
        _score_moments(policy, moments, n, histogram == NULL, x, scratch)
    return True


cdef void _score_bins(
    const Policy* policy, const Bins* bins, const float64_t* histogram,
    const float64_t* n, Scratch* scratch,
) noexcept nogil:
    cdef intp_t K = policy.n_classes
    cdef const int32_t* bin_indices = scratch.bin_indices
    cdef float64_t* scores = scratch.scores
    cdef float64_t* products = scratch.products
    cdef float64_t* inverse = scratch.inverse
    cdef const float64_t* counts
    cdef float64_t spread
    cdef intp_t f, c, n_bins
    cdef intp_t in_group = 0
    for c in range(K):
        products[c] = n[c]      # prior probability of the class, not normalized
        inverse[c] = 1.0 / (n[c] + 1.0)
    for f in range(policy.n_features):
        if bin_indices[f] >= 0:
            prefetch(histogram + bin_indices[f] * K)
    if K == 2:
        _score_bins_of_two(policy, bins, histogram, scratch)
        return
    for f in range(policy.n_features):
        n_bins = bins.first[f + 1] - bins.first[f]
        if n_bins == 1 or bin_indices[f] < 0:
            continue
        counts = histogram + bin_indices[f] * K
        spread = 1.0 / n_bins
        for c in range(K):
            products[c] *= (counts[c] + spread) * inverse[c]
        in_group += 1
        if in_group == BINS_PER_LOG:
            in_group = 0
            for c in range(K):
                scores[c] += log(products[c])
                products[c] = 1.0
    for c in range(K):
        scores[c] += log(products[c])


cdef void _score_moments(
    const Policy* policy, const Moments* moments, const float64_t* weights, bint adds_prior,
    const float32_t* x, Scratch* scratch,
) noexcept nogil:
    # Scores by normal distributions. Variances are divided by those over all classes (block K),
    # which does not change differences of scores. `known`: weight of the rows with a value.
    cdef float64_t* precision = scratch.precision
    cdef const int32_t* informative = scratch.informative
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef const float64_t* center = moments.blocks[K] + MEAN * d
    cdef intp_t n_informative = _find_informative(policy, moments, x, scratch)
    cdef const float64_t* mean
    cdef const float64_t* squares
    cdef const float64_t* known
    cdef float64_t n, inverse, gap, ratio, product, distance, total
    cdef intp_t f, c, i, start
    for c in range(K):
        if moments.blocks[c] == NULL or not weights[c] > 0.0:
            continue
        mean = moments.blocks[c] + MEAN * d
        squares = moments.blocks[c] + SQUARES * d
        n = moments.n[c]
        inverse = 1.0 / (n + 1.0)
        product = 1.0
        known = NULL if moments.known == NULL else moments.known[c]
        if adds_prior:  # the share of the class, unless _score_bins has added it
            product = 1.0 / _at_least(MIN_SQUARE, weights[c] * weights[c])
        distance = 0.0
        total = 0.0
        start = 0
        while True:
            for i in range(start, min(start + VARIANCES_PER_LOG, n_informative)):
                f = informative[i]
                gap = x[f] - mean[f]
                if known != NULL:
                    n = known[f]
                    inverse = 1.0 / (n + 1.0)
                    if not n > 0.0:
                        gap = x[f] - center[f]      # the pseudo-row alone
                if precision[i] > 0.0:
                    ratio = (squares[f] * precision[i] + 1.0) * inverse
                    distance += gap * gap * precision[i] / ratio
                else:   # share of the other value, then of this one
                    if precision[i] != -1.0:    # it is -1 for values 0 and 1
                        gap /= precision[i]
                    ratio = (n * fabs(gap) + 0.5) * inverse
                    ratio = _at_least(MIN_SHARE, 1.0 - ratio)
                    ratio = 1.0 / (ratio * ratio)
                product *= ratio
            start += VARIANCES_PER_LOG
            if start > n_informative:
                break
            total += log(product)
            product = 1.0
        scratch.scores[c] -= 0.5 * (distance + total + log(product))


cdef void _score_bins_of_two(
    const Policy* policy, const Bins* bins, const float64_t* histogram, Scratch* scratch
) noexcept nogil:
    # _score_bins for two classes, whose products can stay in registers.
    cdef const int32_t* bin_indices = scratch.bin_indices
    cdef const float64_t* counts
    cdef float64_t product = scratch.products[0]
    cdef float64_t other = scratch.products[1]
    cdef float64_t inverse = scratch.inverse[0]
    cdef float64_t inverse_of_other = scratch.inverse[1]
    cdef float64_t spread
    cdef intp_t f, n_bins
    cdef intp_t in_group = 0
    for f in range(policy.n_features):
        n_bins = bins.first[f + 1] - bins.first[f]
        if n_bins == 1 or bin_indices[f] < 0:
            continue
        counts = histogram + bin_indices[f] * 2
        spread = 1.0 / n_bins
        product *= (counts[0] + spread) * inverse
        other *= (counts[1] + spread) * inverse_of_other
        in_group += 1
        if in_group == BINS_PER_LOG:
            in_group = 0
            scratch.scores[0] += log(product)
            scratch.scores[1] += log(other)
            product = 1.0
            other = 1.0
    scratch.scores[0] += log(product)
    scratch.scores[1] += log(other)


cdef intp_t _find_informative(
    const Policy* policy, const Moments* moments, const float32_t* x, Scratch* scratch
) noexcept nogil:
    # The numeric features that vary and are not missing in the row, and their precisions.
    # For a feature of two values, the precision is minus its range.
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef const float64_t* merged = moments.blocks[K]
    cdef const float64_t* squares = merged + SQUARES * d
    cdef const float64_t* low = merged + LOW * d
    cdef const float64_t* high = merged + HIGH * d
    cdef float64_t n = moments.n[K]
    cdef float64_t precision
    cdef intp_t n_informative = 0
    cdef intp_t f
    for f in range(d):
        if not squares[f] > 0.0 or policy.n_codes != NULL and policy.n_codes[f] >= 0:
            continue
        if moments.known != NULL:
            n = weight_known(moments, K, f)
        if (x[f] == low[f] or x[f] == high[f]) and takes_two_values(merged, n, d, f):
            precision = low[f] - high[f]
        else:
            precision = n / squares[f] if x[f] == x[f] else 0.0
        scratch.precision[n_informative] = precision
        scratch.informative[n_informative] = <int32_t> f
        n_informative += precision != 0.0
    return n_informative
