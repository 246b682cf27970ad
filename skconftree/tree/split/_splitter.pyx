"""Selection of the best split of a node, and its acceptance by the bound.

A source reads the rows of a node; the candidate splits are scored by the criterion, and
a selection stores the best ones. A bound is the rule that accepts or rejects the best
split: a race bound by its lead over the best split of another feature, a test by a
p-value. Evidence is the numbers that it stores. The gain of a split is the decrease of
the impurity per row. The precheck rules out nodes whose splits the bound would all
reject. A cut is how a split divides the values of its feature. Counts are unscaled,
reweighted by class (for the criterion), or scaled back to the weight of the node (for
the bound), see _node.pxd. See _splitter.pxd.
"""

from libc.float cimport DBL_EPSILON
from libc.math cimport INFINITY, NAN, ldexp

from skconftree.bounds._contingency cimport expect_by_chance
from skconftree.bounds._contract cimport (
    ByChance, EvidenceBound, IntervalBound, NodeTest, clear_evidence,
)
from skconftree.criteria._criterion cimport GAIN_ERROR
from skconftree.criteria._criterion import Entropy, Gini
# reasons why a node remains a leaf, see LeafReason
from skconftree.tree._settings cimport (
    MIN_IMPURITY_DECREASE, MIN_SAMPLES_LEAF, MIN_WEIGHT_FRACTION_LEAF, NO_CANDIDATE, REJECTED,
)
# Selections, by kind of bound: an interval bound compares costs (upper limits of the children's
# impurities), an evidence bound averages a score, also called evidence, over all candidates.
from skconftree.tree.split._selection cimport (
    BestSplits, SmallestCost, SummedEvidence, TestedFeatures,
)
from skconftree.utils._draws cimport mix            # a hash function, for random draws
from skconftree.utils._lanes cimport LANES          # candidates that are scored together
from skconftree.utils._sorting cimport insert_keys  # insertion sort

# Numbers of candidates from here on are reported as infinite, see CategorySets.n_implied.
cdef float64_t MAX_CANDIDATES = ldexp(1.0, 1000)

cdef enum:
    MAX_CLASSES = 256      # up to here, approximate scores are within GAIN_ERROR

# largest decrease of the entropy criterion (half the entropy in bits) by a split with two children
cdef float64_t MAX_GAIN = 0.5
cdef float64_t SHARE_TOLERANCE = 0.001  # error limit of approximate shares of rows


cdef class Precheck:
    """Rules out, for some nodes, that the bound accepts any candidate split.

    It is available if the source can approximate counts (Source.sketch), the bound can
    decide from gains (Bound.rejects_by_gain) and all counts are unscaled. It does not
    support random cuts and splits with more than two children.
    """

    def __init__(self, Source source not None, Criterion criterion not None, Bound bound):
        cdef intp_t K = source.node.n_classes
        cdef intp_t d = source.node.n_features
        self.source = source
        self.criterion = criterion
        self.bound = bound
        self.node = source.node
        self.is_entropy = type(criterion) is Entropy
        self.is_available = (
            source.sketches and bound is not None and bound.rejects_by_gain
            and type(criterion) in (Entropy, Gini) and K <= MAX_CLASSES
            and self.node.class_weight == NULL and not self.node.has_pool
            # `signs`: monotonicity constraints
            and not self.node.settings.multiway and self.node.signs == NULL
        )
        self.arena = Arena()
        self.left = <float32_t*> self.arena.take_zeros(LANES * K, sizeof(float32_t))
        self.min_gain = <float64_t*> self.arena.take_zeros(d, sizeof(float64_t))
        self.max_gain = <float64_t*> self.arena.take_zeros(d, sizeof(float64_t))

    cdef bint rules_out_split(self, float64_t impurity, intp_t max_features) noexcept nogil:
        cdef float64_t gain = impurity
        cdef float64_t lead
        cdef intp_t j
        if self.is_entropy:
            gain = min(gain, MAX_GAIN)
        gain += GAIN_ERROR
        # may_accept(): whether a split with this gain and this lead may be accepted
        if not self.bound.may_accept(&self.node.stats, gain, gain):
            return True
        if self.bound.may_accept(&self.node.stats, 0.0, 0.0):
            return False    # it may accept a split that is no better than another
        if self.node.record.n_features > max_features or not _limit_gains(self, impurity):
            return False
        gain = -INFINITY
        for j in range(self.node.record.n_features):
            gain = max(gain, self.max_gain[j])
        lead = _largest_lead(self)
        return lead == lead and not self.bound.may_accept(&self.node.stats, gain, lead)


cdef bint _limit_gains(Precheck precheck, float64_t impurity) noexcept nogil:
    # Limits of the gain of the best split of each feature. `min_weight`, `min_reweighted`: the
    # smallest weight of a child, without and with class weights.
    cdef float64_t min_share = (
        max(precheck.node.min_weight, precheck.node.min_reweighted) / precheck.node.n
        + SHARE_TOLERANCE
    )
    cdef float32_t scores[LANES]
    cdef float32_t n_left[LANES]
    # smallest score of all splits, and of splits without a child below the smallest weight
    cdef float64_t min_score, min_score_large
    cdef intp_t j, b, n
    for j in range(precheck.node.record.n_features):
        n = precheck.source.sketch(precheck.node.record.features[j], precheck.left)
        if n < 0:
            return False
        precheck.criterion.rough_scores(precheck.left, n, scores, n_left)
        min_score = min_score_large = INFINITY
        for b in range(n):
            min_score = min(min_score, scores[b])
            if n_left[b] >= min_share and 1.0 - n_left[b] >= min_share:
                min_score_large = min(min_score_large, scores[b])
        precheck.max_gain[j] = impurity - min_score + GAIN_ERROR
        precheck.min_gain[j] = impurity - min_score_large - GAIN_ERROR
    return True


cdef float64_t _largest_lead(Precheck precheck) noexcept nogil:
    # Upper limit of the lead of any feature over all others, and over no split.
    cdef intp_t n = precheck.node.record.n_features
    cdef float64_t first = 0.0      # the two largest of `min_gain`
    cdef float64_t second = 0.0
    cdef float64_t lead = -INFINITY
    cdef intp_t first_feature = -1, j
    for j in range(n):
        if precheck.min_gain[j] > first:
            second = first
            first = precheck.min_gain[j]
            first_feature = j
        elif precheck.min_gain[j] > second:
            second = precheck.min_gain[j]
    for j in range(n):
        lead = max(lead, precheck.max_gain[j] - (second if j == first_feature else first))
    return lead


cdef class Splitter:
    """Selects the best candidate split of a node and applies the bound to it.

    `stores_all_features` enables `find_competitors` and look-ahead (batch/_lookahead.pyx),
    which tries several splits per node; for race bounds and tests only.
    """

    def __init__(
        self, Source source not None, Criterion criterion not None, Bound bound,
        bint stores_all_features=False,
    ):
        criterion.check()
        cdef intp_t d = source.node.n_features
        self.source = source
        self.criterion = criterion
        self.bound = bound
        self.node = source.node
        self.max_features = self.node.settings.max_features
        self.total_weight = self.node.root.total_weight
        kind = BestSplits
        if isinstance(bound, IntervalBound):
            kind = SmallestCost
        elif isinstance(bound, EvidenceBound):
            kind = SummedEvidence
        elif isinstance(bound, NodeTest):
            kind = TestedFeatures
        # limit of integer class counts: the rows, with repeats, that one scan (walk) of a feature
        # visits
        longest = min(self.node.root.largest_count, source.longest_walk)
        if stores_all_features:
            # False: stores the best split of every feature, see `compares_at_once`
            self.selection = BestSplits(self.node, criterion, bound, longest, False)
        else:
            self.selection = kind(self.node, criterion, bound, longest)
        self.candidates = CandidateSplits(source, self.selection)
        self.candidates.sets.concave = criterion.concave and not self.selection.own_scale
        # features most of whose categories have one row: their p-values would be too small
        self.candidates.sets.skips_high_cardinality = (
            kind is BestSplits and bound is not None and bound.ranks_features
        )
        self.precheck = Precheck(source, criterion, bound)
        self.contingency = Contingency(exact=False)     # without exact tests
        self.uses_precheck = self.precheck.is_available and not self.candidates.random_cuts
        self.samples_features = self.max_features < d
        self.arena = Arena()
        self.sampled_features = <int32_t*> self.arena.take(
            d if self.samples_features else 1, sizeof(int32_t)
        )
        _reserve_outcomes(self)

    cdef int reserve_categories(self, intp_t capacity) except -1:
        self.candidates.reserve_categories(capacity)
        _reserve_outcomes(self)
        return 0

    cdef Split find(self, NodeRecord* record, const float64_t* counts) noexcept nogil:
        cdef Split split
        self._enter(record, counts)
        self.selection.begin()
        split.feature = -1
        split.rejected = -1
        split.reason = REJECTED
        split.competitors[0].feature = -1
        clear_evidence(&split.evidence)
        if self.uses_precheck and self.precheck.rules_out_split(
            self.selection.parent_score / self.node.reweighted.n, self.max_features
        ):
            return split
        self._visit_features()
        if self.node.stats.n_candidates == 0.0:
            split.reason = _reason_without_candidates(self)
            return split
        split.evidence.by_chance.n_candidates = (
            self.node.stats.n_candidates if self.node.stats.n_candidates < MAX_CANDIDATES
            else INFINITY
        )
        split.evidence.runner_up_score = INFINITY
        split.evidence.runner_up_feature = -1
        # the score without a split; an interval bound replaces it by its limit
        split.evidence.parent_limit = self.selection.parent_score / self.node.reweighted.n
        self.selection.choose(self.candidates, self.visited, self.n_visited, &split)
        if split.feature >= 0 and not _accepts(self, &split):
            if self.stores_rejected:    # describe the best candidate, though it is rejected
                _expect_by_chance(self, &split)
                _set_threshold(self, &split)
                split.rejected = split.feature
            split.feature = -1
        return split

    cdef intp_t find_competitors(
        self, const Split* chosen, intp_t n_max, Split* others
    ) noexcept nogil:
        cdef float64_t tolerance = self.selection.tolerance / self.node.reweighted.n
        cdef intp_t n = 0, i, j, k
        cdef Split split
        for j in range(self.n_visited):
            if self.visited[j] == chosen.feature or not self.selection.describe_other(
                self.candidates, self.visited[j], chosen, &split
            ):
                continue
            k = n
            while k > 0 and split.evidence.score < others[k - 1].evidence.score - tolerance:
                k -= 1
            if k == n_max or not _accepts(self, &split):
                continue
            n = min(n + 1, n_max)
            for i in range(n - 1, k, -1):
                others[i] = others[i - 1]
            others[k] = split
        return n

    cdef void recount_children(
        self, NodeRecord* record, const float64_t* counts, Split* split
    ) noexcept nogil:
        self._enter(record, counts)
        self.candidates.count_children(split.feature, split.cut)
        split.children = self.candidates.children

    cdef object release(self):
        # Return the exception that a criterion or bound in Python has raised, or None.
        error = self.criterion.release()
        if self.bound is None:
            return error
        other = self.bound.release()
        return other if error is None else error

    cdef float64_t impurity(self, const float64_t* counts) noexcept nogil:
        cdef float64_t* reweighted = self.candidates.children.scaled
        cdef float64_t n = self.node.reweight(counts, reweighted)
        return self.criterion.impurity(reweighted, n)

    cdef void _enter(self, NodeRecord* record, const float64_t* counts) noexcept nogil:
        self.node.begin(record, counts)
        self.source.begin()
        if self.node.excludes_repeats and record.n_features > 0:
            self.node.exclude_repeats(self.source.weight_without_repeats())

    cdef void _visit_features(self) noexcept nogil:
        # Scan the features, or a random sample: at least max_features that
        # are not constant, and more until there is a candidate split.
        cdef NodeRecord* record = self.node.record
        cdef int32_t* features = record.features
        cdef bint samples_features = self.samples_features
        cdef intp_t n_drawn = 0, n_retained = 0, n_varying = 0, n_candidate_features = 0
        cdef float64_t n_candidates = 0.0
        cdef intp_t j
        cdef int32_t feature
        self.n_visited = 0
        self.visited = self.sampled_features if samples_features else features
        self.draw_key = self.node.visit_key
        if samples_features:        # the features that will be visited in any case
            n_drawn = min(self.max_features, record.n_features)
            for j in range(n_drawn):
                _draw_feature(self, j)
            self.source.prepare_features(features, n_drawn)
        for j in range(record.n_features):
            if samples_features:
                if n_varying >= self.max_features and n_candidates > 0.0:
                    features[n_retained] = features[j]
                    n_retained += 1
                    continue
                if j >= n_drawn:
                    _draw_feature(self, j)
            feature = features[j]
            if self._examine(j, feature) == 0:
                continue
            n_varying += 1
            n_candidates += self.selection.best.n_candidates
            n_candidate_features += self.selection.best.n_candidates > 0.0
            features[n_retained] = feature
            n_retained += 1
            self.visited[self.n_visited] = feature
            self.n_visited += 1
            self.selection.after_examine(feature, self.candidates)
        record.n_features = n_retained
        if samples_features:
            # the last argument limits the number of moves; there are never so many
            insert_keys(self.visited, self.n_visited, self.n_visited * self.n_visited)
            n_candidates = 0.0
            for j in range(self.n_visited):
                n_candidates += self.selection.best_of[self.visited[j]].n_candidates
        self.node.stats.n_candidates = n_candidates
        self.node.stats.n_candidate_features = n_candidate_features

    cdef intp_t _examine(self, intp_t j, int32_t feature) noexcept nogil:
        return self.selection.examine(feature, self.candidates)

    cdef bint _decide(self, Split* split) noexcept nogil:
        cdef const Children* children = &split.children
        if self.selection.own_scale:    # the bound has scored the splits, not the criterion
            split.evidence.runner_up_score = split.evidence.parent_limit
            split.evidence.runner_up_feature = -1
            self.node.reweight_children(children)
            split.evidence.score = self.criterion.outcomes(
                children.scaled, children.n_outcomes
            ) / self.node.reweighted.n
        if self.bound is None:
            return True
        self.node.scale_children(children)
        return self.bound.decide(
            &self.node.stats, children.scaled, children.n_outcomes, &split.evidence
        )

    cdef float64_t _improvement(self, const Children* children) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef float64_t below = 0.0, above, n
        cdef intp_t z
        for z in range(children.n_outcomes):
            n = self.node.reweight(children.counts + z * K, children.scaled + z * K)
            below += self.criterion.node(children.scaled + z * K, n)
        below *= self.criterion.unit        # in scikit-learn's units of the impurity
        above = self.criterion.unit * self.criterion.node(
            self.node.reweighted.counts, self.node.reweighted.n
        )
        return (above - below) / self.total_weight


cdef int _reserve_outcomes(Splitter splitter) except -1:
    # Memory for the outcomes (children) of a split.
    splitter.contingency.reserve(splitter.candidates.child_capacity, splitter.node.n_classes)
    if splitter.bound is not None:
        splitter.bound.reserve(splitter.node.n_classes, splitter.candidates.child_capacity)
    return 0


cdef inline void _draw_feature(Splitter splitter, intp_t j) noexcept nogil:
    # Draw the next of the remaining features.
    cdef int32_t* features = splitter.node.record.features
    cdef uint64_t left = <uint64_t> (splitter.node.record.n_features - j)
    cdef intp_t k
    splitter.draw_key = mix(splitter.draw_key)
    k = j + <intp_t> (splitter.draw_key % left)
    features[j], features[k] = features[k], features[j]


cdef void _expect_by_chance(Splitter splitter, Split* split) noexcept nogil:
    # How many candidate splits are expected to look as good by chance.
    cdef const Children* children = &split.children
    cdef const float64_t* table = children.scaled
    cdef ByChance* by_chance = &split.evidence.by_chance
    if by_chance.log10_expected == by_chance.log10_expected:    # set by the bound
        return
    if splitter.bound is None and splitter.node.rescales:
        splitter.node.scale_children(children)
    elif splitter.bound is None:    # all scales are the same
        table = children.counts
    expect_by_chance(
        splitter.contingency, &splitter.node.stats, table, children.n_outcomes, by_chance
    )


cdef intp_t _reason_without_candidates(Splitter splitter) noexcept nogil:
    cdef float64_t min_weight = splitter.node.min_weight
    cdef float64_t min_reweighted = splitter.node.min_reweighted
    # features vary in the node, but every candidate has a child that is too small
    if splitter.n_visited > 0 and max(min_weight, min_reweighted) > 1.0:
        if min_weight >= min_reweighted:
            return MIN_SAMPLES_LEAF
        return MIN_WEIGHT_FRACTION_LEAF
    return NO_CANDIDATE


cdef inline void _set_threshold(Splitter splitter, Split* split) noexcept nogil:
    split.threshold = NAN
    if not splitter.candidates.is_nominal(split.feature):
        split.threshold = splitter.candidates.threshold(split.feature, split.cut)


cdef bint _accepts(Splitter splitter, Split* split) noexcept nogil:
    # Whether a candidate may split the node. Sets all fields of the split except its
    # feature, cut and scores.
    splitter.candidates.count_children(split.feature, split.cut)
    split.children = splitter.candidates.children
    split.reason = REJECTED
    if not splitter._decide(split):
        return False
    split.reason = MIN_IMPURITY_DECREASE
    _expect_by_chance(splitter, split)
    split.improvement = splitter._improvement(&split.children)
    if split.improvement + DBL_EPSILON < splitter.node.settings.min_impurity_decrease:
        return False
    _set_threshold(splitter, split)
    return True
