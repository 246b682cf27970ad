"""Predictions of growing leaves."""

from libc.math cimport INFINITY, exp, log
from libc.string cimport memset

from skconftree.tree.leaves._bayes cimport make_scratch
from skconftree.tree.leaves._bins cimport find_bins
from skconftree.tree.leaves._drawn cimport policy_of, seen_by
from skconftree.utils._rounding cimport ROUNDING

cdef float64_t FADING = 0.98    # of past hits with every row: streams change
cdef float64_t FORGETTING = 0.9     # of the class frequencies of the latest rows
cdef float64_t TINY = 1e-9      # nothing; spares slow denormal numbers
cdef float64_t TRUST = 1.0      # hits that a child starts with at most

PREDICTIONS = {"majority": BY_MAJORITY, "nb": BY_BAYES, "nba": BY_BETTER}


cdef class LeafPredictor:
    """Predicts with the model a leaf trusts; `prediction` is "majority", "nb" or "nba".
    """

    def __init__(
        self, intp_t n_features, intp_t n_classes, str prediction,
        const float64_t[::1] class_weight,
    ):
        cdef intp_t c
        self.prediction = PREDICTIONS[prediction]
        self.judging = self.prediction != BY_MAJORITY
        self.bayes = NaiveBayes(n_features, n_classes)
        self.arena = Arena()
        self.log_weight = <float64_t*> self.arena.take_zeros(
            n_classes, sizeof(float64_t)
        )
        make_scratch(self.arena, &self.scratch, n_features, n_classes)
        self._class_weight = class_weight
        if class_weight is not None:
            self.class_weight = &class_weight[0]
            for c in range(n_classes):
                self.log_weight[c] = (
                    log(class_weight[c]) if class_weight[c] > 0.0 else -INFINITY
                )

    cdef const float32_t* locate(
        self, const Leaf* leaf, const float32_t* x, Scratch* scratch
    ) noexcept nogil:
        # The row as the leaf sees it, and its bins; the first thing to do with it.
        cdef const Policy* policy = policy_of(leaf, self.policy)
        cdef const float32_t* row = seen_by(leaf, x, scratch.row)
        cdef intp_t i, f, feature
        if leaf.histogram == NULL:
            return row
        find_bins(&leaf.bins, row, policy.n_features, scratch.places)
        for i in range(policy.n_nominal):
            f = policy.nominal[i]
            feature = f if leaf.drawn == NULL else leaf.drawn.features[f]
            if row[f] >= self.policy.n_codes[feature]:
                scratch.places[f] = -1  # there may be room, but it was never seen
        return row

    cdef intp_t predict_before(
        self, Tree tree, const Leaf* leaf, const float32_t* x, const float32_t* row,
        bint tells, float64_t* proba,
    ) noexcept nogil:
        # The class predicted for a row to be learnt, which has been located, if `tells`,
        # and class probabilities if there is a place for them.
        cdef Model trusted
        cdef bint waiting = proba != NULL
        cdef int model
        if tells or self.judging:
            self.guess[<intp_t> MAJORITY] = self._majority(tree, leaf.node)
        trusted = self._trusted(leaf)
        if self.judging:
            for model in range(<int> HELD, <int> OWN + 1):
                self.guess[model] = self._score(
                    leaf, <Model> model, x, row, &self.scratch
                )
                if waiting and model == trusted and self.guess[model] >= 0:
                    self._fill_by_scores(&self.scratch, self.guess[model], proba)
                    waiting = False
            self.guess[<intp_t> RECENT] = self._most_recent(leaf)
        if waiting:
            self._fill_by_counts(tree, leaf, trusted, &self.scratch, proba)
        if self.guess[<intp_t> trusted] >= 0:
            return self.guess[<intp_t> trusted]
        return self.guess[<intp_t> MAJORITY]

    cdef void judge(self, Leaf* leaf, label_t y, float64_t weight) noexcept nogil:
        # Learn how each model did on the row last predicted.
        cdef intp_t i
        if self.judging:
            for i in range(self.policy.n_classes):
                leaf.recent[i] *= FORGETTING
                if leaf.recent[i] < TINY:
                    leaf.recent[i] = 0.0
            leaf.recent[y] += weight
            for i in range(N_MODELS):
                leaf.hits[i] *= FADING
                if self.guess[i] == y:
                    leaf.hits[i] += weight

    cdef void pass_on(self, const Leaf* parent, Leaf* child) noexcept nogil:
        # A child trusts what its parent trusted until its own rows say otherwise.
        cdef float64_t held = max(parent.hits[<intp_t> HELD], parent.hits[<intp_t> OWN])
        cdef float64_t most = max(held, parent.hits[<intp_t> MAJORITY])
        cdef float64_t scale = 1.0 if most <= TRUST else TRUST / most
        child.hits[<intp_t> MAJORITY] = parent.hits[<intp_t> MAJORITY] * scale
        child.hits[<intp_t> HELD] = held * scale
        child.hits[<intp_t> OWN] = 0.0

    cdef Model _trusted(self, const Leaf* leaf) noexcept nogil:
        cdef const float64_t* hits = leaf.hits
        cdef Model best = HELD
        if self.prediction == BY_MAJORITY:
            return MAJORITY
        if hits[<intp_t> OWN] > hits[<intp_t> HELD]:
            best = OWN
        if self.prediction == BY_BETTER:
            if hits[<intp_t> best] <= hits[<intp_t> MAJORITY]:
                best = MAJORITY
            if hits[<intp_t> best] < hits[<intp_t> RECENT]:
                best = RECENT
        return best

    cdef intp_t _most_recent(self, const Leaf* leaf) noexcept nogil:
        # Most frequent class of the latest rows; -1 if there is none.
        cdef float64_t most = 0.0
        cdef float64_t seen
        cdef intp_t best = -1
        cdef intp_t c
        for c in range(self.policy.n_classes):
            seen = leaf.recent[c]
            if self.class_weight != NULL:
                seen *= self.class_weight[c]
            if seen > most:
                most = seen
                best = c
        return best

    cdef intp_t _majority(self, Tree tree, intp_t node) noexcept nogil:
        # Most frequent class of a leaf, or of the nearest ancestor that has rows.
        cdef intp_t K = self.policy.n_classes
        cdef const float64_t* counts = tree.counts + node * K
        cdef float64_t most = 0.0
        cdef float64_t seen
        cdef intp_t best = 0
        cdef intp_t c
        while True:
            for c in range(K):
                seen = counts[c]
                if self.class_weight != NULL:
                    seen *= self.class_weight[c]
                if seen > most:
                    most = seen
                    best = c
            if most > 0.0 or node == 0:
                return best
            node = tree.parent[node]
            counts = self._counts(tree, node, &self.scratch)

    cdef const float64_t* _counts(
        self, Tree tree, intp_t node, Scratch* scratch
    ) noexcept nogil:
        # Of an internal node: those that the tree keeps date from its split.
        memset(scratch.products, 0, self.policy.n_classes * sizeof(float64_t))
        tree.add_counts(node, scratch.products)
        return scratch.products

    cdef intp_t _score(
        self, const Leaf* leaf, Model model, const float32_t* x, const float32_t* row,
        Scratch* scratch,
    ) noexcept nogil:
        # The best class by one of the models of naive Bayes, -1 if there is no such
        # model; `row` is what the leaf sees of x. Its scores stay in `scratch`.
        cdef float64_t* scores = scratch.scores
        cdef float64_t peak = -INFINITY
        cdef intp_t best = -1
        cdef intp_t c
        cdef bint found
        if leaf.past == NULL:
            found = self.bayes.score(leaf, model == OWN, row, scratch)
        elif model == OWN:
            found = self.bayes.score(leaf, False, row, scratch)
        else:
            found = self._score_past(leaf.past, x, scratch)
        if not found:
            return -1
        for c in range(self.policy.n_classes):
            if self.class_weight != NULL:
                scores[c] += self.log_weight[c]
            if scores[c] > peak:
                peak = scores[c]
        # a rounding decides nothing, here or in the exponentials taken later
        for c in range(self.policy.n_classes):
            if scores[c] >= peak - ROUNDING:
                scores[c] = peak
                if best < 0:
                    best = c
        return best

    cdef bint _score_past(
        self, const Leaf* past, const float32_t* x, Scratch* scratch
    ) noexcept nogil:
        # By what the leaf took over, which may see other features.
        cdef Scratch places = scratch[0]
        places.row = scratch.past_row
        places.places = scratch.past_places
        return self.bayes.score(past, False, self.locate(past, x, &places), &places)

    cdef void fill_proba(
        self, Tree tree, const Leaf* leaf, const float32_t* x, Scratch* scratch,
        float64_t* out,
    ) noexcept nogil:
        # Class probabilities of a row.
        cdef Model trusted = self._trusted(leaf)
        cdef const float32_t* row = self.locate(leaf, x, scratch)
        cdef intp_t best = -1
        if trusted == HELD or trusted == OWN:
            best = self._score(leaf, trusted, x, row, scratch)
        if best >= 0:
            self._fill_by_scores(scratch, best, out)
        else:
            self._fill_by_counts(tree, leaf, trusted, scratch, out)

    cdef void _fill_by_scores(
        self, const Scratch* scratch, intp_t best, float64_t* out
    ) noexcept nogil:
        # Probabilities whose logarithms, up to a constant, are there.
        cdef float64_t peak = scratch.scores[best]
        cdef float64_t total = 0.0
        cdef intp_t c
        for c in range(self.policy.n_classes):
            out[c] = exp(scratch.scores[c] - peak)
            total += out[c]
        for c in range(self.policy.n_classes):
            out[c] /= total

    cdef void _fill_by_counts(
        self, Tree tree, const Leaf* leaf, Model trusted, Scratch* scratch,
        float64_t* out,
    ) noexcept nogil:
        # Proportions of a leaf's rows, or of those of the nearest ancestor that has any.
        cdef intp_t K = self.policy.n_classes
        cdef intp_t node = leaf.node
        cdef const float64_t* counts = tree.counts + node * K
        cdef float64_t total = 0.0
        cdef intp_t c
        if trusted == RECENT:
            counts = leaf.recent
        while True:
            for c in range(K):
                out[c] = counts[c]
                if self.class_weight != NULL:
                    out[c] *= self.class_weight[c]
                total += out[c]
            if total > 0.0 or node == 0:
                break
            node = tree.parent[node]
            counts = self._counts(tree, node, scratch)
        for c in range(K):
            out[c] = out[c] / total if total > 0.0 else 1.0 / K
