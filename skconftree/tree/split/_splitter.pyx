"""The best test of a node, and whether its bound allows it."""

import numpy as np

from libc.math cimport INFINITY, NAN, exp, fmin, log, log1p
from libc.stdlib cimport free, malloc

from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.split._criterion cimport outcome_entropy
from skconftree.tree.split._node cimport RootFacts
from skconftree.tree.split._scan cimport BLOCK
from skconftree.utils._draws cimport mix

cdef enum:
    PHI_LIMIT = 1048576       # entries of a table of phi

cdef float64_t TIE = 1e-10
cdef float64_t ROUNDING = 1e-12
cdef float64_t NEGLIGIBLE = 40.0    # exp(-40) is a fiftieth of the rounding of 1
cdef float64_t EPSILON = np.finfo(np.float64).eps     # scikit-learn's, for impurities


def _tabulate_phi(Score score, intp_t size):
    cdef float64_t[::1] table = np.empty(size)
    cdef intp_t i
    for i in range(size):
        table[i] = score.phi(i)
    return table


cdef class Splitter(NominalScan):
    """Finds the best test of a node and asks the bound about it.

    Parameters
    ----------
    settings : GrowthSettings
    root : RootFacts
    criterion : Criterion
    bound : Bound or None
    """

    def __init__(
        self, GrowthSettings settings, RootFacts root, Criterion criterion, Bound bound
    ):
        super().__init__(settings, root)
        cdef intp_t d = root.n_features
        self.criterion = criterion
        self.bound = bound
        self.kind = PLAIN if bound is None else RACE
        if isinstance(bound, IntervalBound):
            self.kind = INTERVAL
            self.interval = bound
        elif isinstance(bound, EvidenceBound):
            self.kind = EVIDENCE
            self.evidence = bound
        elif bound is not None:
            self.ranks = self.skips_scattered = bound.ranks_attributes
            # with class weights the bound sees other counts than the criterion
            self.ranks_by_gain = bound.ranks_by_gain and root.class_weight is None
        self.concave = criterion.concave and (self.kind == PLAIN or self.kind == RACE)
        self.max_features = settings.max_features
        self.min_impurity_decrease = settings.min_impurity_decrease
        self.total_weight = root.total_weight

        # what is compared between features only in the end needs room for all
        cdef bint sampling = self.max_features < d
        self.at_once = not (sampling or self.kind == INTERVAL or criterion.by_ratio)
        cdef intp_t room = 1 if self.at_once else d
        self.step = 0 if self.at_once else 1
        self.out = <float64_t*> malloc(BLOCK * sizeof(float64_t))
        self.best_cut = <intp_t*> malloc(room * sizeof(intp_t))
        self.best_score = <float64_t*> malloc(5 * room * sizeof(float64_t))
        self.sample = <int32_t*> malloc((d if sampling else 1) * sizeof(int32_t))
        if (
            self.out == NULL or self.best_cut == NULL or self.best_score == NULL
            or self.sample == NULL
        ):
            raise MemoryError()
        self.n_tests = self.best_score + room
        self.log_tests = self.n_tests + room
        self.log_evidence = self.log_tests + room
        self.best_n_left = self.log_evidence + room

        if self.interval is not None or self.evidence is not None:
            self.bound_score = bound.score
        self._tables = []
        self.phi_size = min(root.largest_count + 1, PHI_LIMIT)
        if not root.weighted and root.class_weight is None and not self.has_pool:
            self.criterion_phi = self._additive_phi(criterion)
            self.bound_phi = self._additive_phi(self.bound_score)

    cdef const float64_t* _additive_phi(self, Score score):
        cdef float64_t[::1] table
        if score is None or not score.additive or self.n_classes == 2:
            return NULL
        table = _tabulate_phi(score, self.phi_size)
        self._tables.append(table)
        return &table[0]

    def __dealloc__(self):
        free(self.out)
        free(self.best_score)
        free(self.best_cut)
        free(self.sample)

    cdef void find(
        self, NodeRecord* node, const float64_t* counts, Split* split
    ) noexcept nogil:
        # The split of the node, or feature = -1. Drops features found to be
        # constant from node.features.
        cdef intp_t K = self.n_classes
        cdef intp_t z
        self.begin(node, counts)
        self.criterion.begin(&self.seen)
        if self.bound_score is not None:
            self.bound_score.begin(&self.facts)
        self.tie = TIE * (self.n if self.kind == EVIDENCE else self.seen.n)
        self.whole = self.criterion.node(self.seen.counts, self.seen.n)
        split.feature = -1
        self._visit_features()
        if self.facts.n_tests == 0.0:
            return
        split.evidence.n_tests = self.facts.n_tests
        split.evidence.rival_score = INFINITY
        split.evidence.rival_feature = -1
        split.evidence.child_limit = NAN
        split.evidence.radius = NAN
        split.evidence.confidence = NAN
        split.evidence.parent_limit = self.whole / self.seen.n
        if self.kind == PLAIN:
            self._choose(split)
        elif self.kind == INTERVAL:
            self.interval.node_begin(&self.facts)
            self._challenge(split)
        else:
            if self.kind == EVIDENCE:
                self._sum_evidence()
            self._choose(split)
            self.bound.node_begin(&self.facts)
        if split.feature < 0:
            return
        if self.ranks:
            self._tell_tests(&self.best)
            split.evidence.n_tests = self.facts.n_varying * self.facts.n_attribute_tests
        self.count_children(split.feature, split.cut)
        if self.kind == EVIDENCE or self.kind == INTERVAL:
            # these compare the best test with no split, on a scale of their own
            split.evidence.rival_score = split.evidence.parent_limit
            split.evidence.rival_feature = -1
            for z in range(self.n_outcomes):
                self.to_seen(self.children + z * K, self.scaled + z * K)
            split.evidence.score = (
                self.criterion.outcomes(self.scaled, self.n_outcomes) / self.seen.n
            )
        if self.kind != PLAIN:
            self._scale_outcomes()
            if not self.bound.decide(
                &self.facts, self.scaled, self.n_outcomes, &split.evidence
            ):
                split.feature = -1
                return
        self._set_improvement(split)
        if split.improvement + EPSILON < self.min_impurity_decrease:
            split.feature = -1
            return
        split.threshold = NAN
        if self.n_categories == NULL or self.n_categories[split.feature] == 0:
            split.threshold = self.threshold(split.feature, split.cut)

    cdef void _visit_features(self) noexcept nogil:
        # Scan the features, or a random sample of max_features that are not
        # constant and, together, have at least one test.
        cdef NodeRecord* node = self.node
        cdef uint64_t key = mix(
            self.seed ^ mix(node.id) ^ <uint64_t> (self.facts.attempt - 1)
        )
        cdef int32_t* features = node.features
        cdef bint sampling = self.max_features < self.n_features
        cdef intp_t remaining = node.n_features
        cdef intp_t kept = 0
        cdef intp_t n_varying = 0
        cdef float64_t n_tests = 0.0
        cdef intp_t j, k
        cdef int32_t feature
        self.n_visited = 0
        self.visited = self.sample if sampling else features
        self._forget_choice()
        self.total_evidence = -INFINITY
        self.n_tested = 0
        self.by_bound = self.kind == INTERVAL or self.kind == EVIDENCE
        self.reducer = SUM_EVIDENCE if self.kind == EVIDENCE else KEEP_BEST
        self.peak = INFINITY
        self.reach = NEGLIGIBLE + log(self.n_repeated)
        for j in range(node.n_features):
            if sampling:
                if n_varying >= self.max_features and n_tests > 0.0:
                    features[kept] = features[j]
                    kept += 1
                    continue
                key = mix(key)
                k = j + <intp_t> (key % <uint64_t> remaining)
                feature = features[k]
                features[k] = features[j]
            else:
                feature = features[j]
            remaining -= 1
            if self._examine(feature) == 0:
                continue
            n_varying += 1
            n_tests += self.n_tests[self.slot]
            self.n_tested += self.n_tests[self.slot] > 0.0
            features[kept] = feature
            kept += 1
            self.visited[self.n_visited] = feature
            self.n_visited += 1
            if self.at_once:
                self._add_feature_evidence()
                self._weigh(feature)
        node.n_features = kept
        if sampling:
            _sort_ascending(self.visited, self.n_visited)
            n_tests = 0.0
            for j in range(self.n_visited):
                n_tests += self.n_tests[self.visited[j]]
        self.facts.n_tests = n_tests
        self.facts.n_varying = self.n_tested

    cdef intp_t _examine(self, int32_t feature) noexcept nogil:
        # Walk one feature afresh; returns 0 if it is constant in the node.
        cdef intp_t walked
        self.slot = feature * self.step
        self.best_score[self.slot] = INFINITY
        self.best_cut[self.slot] = -1
        self.n_tests[self.slot] = 0.0
        self.log_tests[self.slot] = -1.0
        self.log_evidence[self.slot] = -INFINITY
        self.phi = self.bound_phi if self.by_bound else self.criterion_phi
        self.additive = (
            self.phi != NULL and self.n < self.phi_size and self.reducer != CHALLENGE
        )
        self.nominal = self.n_categories != NULL and self.n_categories[feature] > 0
        self.n_implied = 0.0
        walked = self.walk(feature)
        if self.n_implied > 0.0 and self.n_tests[self.slot] > 0.0:
            self.n_tests[self.slot] = self.n_implied
            self.log_tests[self.slot] = self.log_implied
        return walked

    # -- blocks of tests ----------------------------------------------------------

    cdef void reduce(self, intp_t size) noexcept nogil:
        cdef intp_t i
        if self.by_bound:
            if self.class_weight == NULL:
                self.bound_score.block(&self.tests, self.out)
            else:
                self._score_reweighted(size)
        else:
            if self.class_weight != NULL:
                for i in range(size):
                    self.n_left[i] = self.to_seen(
                        self.left + i * self.n_classes, self.left + i * self.n_classes
                    )
            self.criterion.block(&self.tests, self.out)
        if self.reducer == CHALLENGE:
            self._challenge_with(size)
            return
        self._keep_best(size)
        self.n_tests[self.slot] += size
        if self.reducer == SUM_EVIDENCE:
            self._add_evidence(size)

    cdef void reduce_multiway(self) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t slot = self.slot
        cdef intp_t z
        if self.reducer == CHALLENGE:
            self._offer_multiway()
            return
        self.n_tests[slot] = 1.0
        self.best_cut[slot] = 0
        if self.by_bound:
            # no floor is known for its costs
            self.best_score[slot] = -INFINITY
            if self.kind == EVIDENCE:
                self._scale_outcomes()
                self.best_score[slot] = self.bound_score.outcomes(
                    self.scaled, self.n_outcomes
                )
                self.log_evidence[slot] = -self.best_score[slot]
                self.peak = fmin(self.peak, self.best_score[slot])
        else:
            for z in range(self.n_outcomes):
                self.to_seen(self.children + z * K, self.scaled + z * K)
            self.best_score[slot] = self.criterion.outcomes(
                self.scaled, self.n_outcomes
            )

    cdef void _scale_outcomes(self) noexcept nogil:
        # All children of a test on the bound's scale.
        cdef intp_t K = self.n_classes
        cdef intp_t z
        for z in range(self.n_outcomes):
            self.to_bound(self.children + z * K, self.scaled + z * K)

    cdef void _score_reweighted(self, intp_t size) noexcept nogil:
        # Each child is scaled to its own weight, so the right one is not the rest
        # and no block formula holds.
        cdef intp_t i
        for i in range(size):
            self._scale_children(i)
            self.out[i] = self.bound_score.outcomes(self.scaled, 2)

    cdef void _scale_children(self, intp_t i) noexcept nogil:
        # Both children of test i of the block on the bound's scale.
        cdef intp_t K = self.n_classes
        cdef float64_t* left = self.left + i * K
        cdef intp_t c
        for c in range(K):
            # fractional weights leave a rounding where nothing is left
            self.scaled[K + c] = self.counts[c] - left[c]
            if self.scaled[K + c] <= ROUNDING * self.counts[c]:
                self.scaled[K + c] = 0.0
        self.to_bound(left, self.scaled)
        self.to_bound(self.scaled + K, self.scaled + K)

    cdef void _keep_best(self, intp_t size) noexcept nogil:
        # Most blocks hold nothing better: the minimum of four interleaved rows finds
        # that out without a chain of dependent comparisons.
        cdef const float64_t* out = self.out
        cdef float64_t best = self.best_score[self.slot]
        cdef float64_t a = INFINITY
        cdef float64_t b = INFINITY
        cdef float64_t c = INFINITY
        cdef float64_t d = INFINITY
        cdef intp_t found = -1
        cdef intp_t i = 0
        while i + 4 <= size:
            a = out[i] if out[i] < a else a
            b = out[i + 1] if out[i + 1] < b else b
            c = out[i + 2] if out[i + 2] < c else c
            d = out[i + 3] if out[i + 3] < d else d
            i += 4
        while i < size:
            a = out[i] if out[i] < a else a
            i += 1
        if not min(a, b, c, d) < best - self.tie:
            return
        for i in range(size):
            if self.out[i] < best - self.tie:
                best = self.out[i]
                found = i
        if found >= 0:
            self.best_score[self.slot] = best
            self.best_cut[self.slot] = self.position[found]
            self.best_n_left[self.slot] = self.n_left[found]

    cdef void _add_evidence(self, intp_t size) noexcept nogil:
        # log-sum-exp of the block, then of what came before and the block. A test
        # has at most n times the weight of another, so that tests this far behind
        # the best one met so far change the sum by less than its rounding.
        cdef float64_t peak
        cdef float64_t total = 0.0
        cdef intp_t i
        self.peak = fmin(self.peak, self.best_score[self.slot])
        peak = self.peak
        for i in range(size):
            if self.out[i] - peak < self.reach:
                total += exp(peak - self.out[i])
        if total > 0.0:
            self.log_evidence[self.slot] = _log_add(
                self.log_evidence[self.slot], log(total) - peak
            )

    # -- decisions ----------------------------------------------------------------

    cdef void _forget_choice(self) noexcept nogil:
        self.best.feature = self.rival.feature = -1
        self.best.score = self.rival.score = INFINITY

    cdef void _weigh(self, intp_t feature) noexcept nogil:
        # Compare the best test of a feature with those of the features before it.
        cdef intp_t slot = feature * self.step
        cdef Contender new
        new.feature = feature
        new.cut = self.best_cut[slot]
        new.score = self.best_score[slot]
        new.n_tests = self.n_tests[slot]
        new.log_tests = self.log_tests[slot]
        new.rank = NAN
        if self._wins(&new, &self.best):
            self.rival = self.best
            self.best = new
        elif self._wins(&new, &self.rival):
            self.rival = new

    cdef bint _wins(self, Contender* later, Contender* earlier) noexcept nogil:
        cdef float64_t most = INFINITY
        if not self.ranks:
            return later.score < earlier.score - self.tie
        if earlier.feature < 0 or later.score == INFINITY:
            return later.score < INFINITY
        if self._knows_by_gain(later) and self._knows_by_gain(earlier):
            # no need to ask where gain and number of tests say the same; numbers
            # too large for a float look equal
            if later.score >= earlier.score - self.tie:
                if later.n_tests > earlier.n_tests or (
                    later.n_tests == earlier.n_tests
                    and later.log_tests >= earlier.log_tests
                ):
                    return False
            elif later.n_tests < earlier.n_tests or (
                later.n_tests == earlier.n_tests
                and later.log_tests <= earlier.log_tests
            ):
                return True
        # a score that is better by `tie` makes a rank better by no more than twice that;
        # what is above the rival's rank need not be known
        if self.rival.feature >= 0:
            self._ask_rank(&self.rival, INFINITY)
            most = self.rival.rank + 2.0 * self.tie
        self._ask_rank(earlier, INFINITY)
        self._ask_rank(later, most)
        if later.rank < earlier.rank - 2.0 * self.tie:
            return True
        return later.rank <= earlier.rank + 2.0 * self.tie and (
            later.score < earlier.score - self.tie
        )

    cdef inline bint _knows_by_gain(self, const Contender* one) noexcept nogil:
        return self.ranks_by_gain and not (
            self.multiway and self.n_categories != NULL
            and self.n_categories[one.feature] > 0
        )

    cdef void _tell_tests(self, Contender* one) noexcept nogil:
        # Let the bound know how many tests the attribute has.
        if one.log_tests < 0.0:
            one.log_tests = log(one.n_tests)
        self.facts.n_attribute_tests = one.n_tests
        self.facts.log_attribute_tests = one.log_tests

    cdef void _ask_rank(self, Contender* one, float64_t most) noexcept nogil:
        if one.rank == one.rank:
            return
        self._tell_tests(one)
        if self._knows_by_gain(one):
            one.rank = self.bound.rank_of_gain(&self.facts, self.whole - one.score)
            return
        self.count_children(one.feature, one.cut)
        self._scale_outcomes()
        one.rank = self.bound.rank(&self.facts, self.scaled, self.n_outcomes, most)

    cdef void _choose(self, Split* split) noexcept nogil:
        # The best test of all features, and the best of any other feature.
        cdef intp_t j
        if not self.at_once:
            if self.criterion.by_ratio and not self.by_bound and not self.ranks:
                self._take_ratios()
            for j in range(self.n_visited):
                self._weigh(self.visited[j])
        split.feature = self.best.feature
        split.cut = self.best.cut
        if not self.by_bound:
            split.evidence.score = self.best.score / self.seen.n
            split.evidence.rival_score = self.rival.score / self.seen.n
            split.evidence.rival_feature = self.rival.feature

    cdef void _take_ratios(self) noexcept nogil:
        # As in C4.5: of the features whose best gain is at least the average, the
        # one with the largest ratio of gain to the entropy of the outcome wins.
        cdef float64_t average = 0.0
        cdef intp_t n_features = 0
        cdef float64_t gain, entropy
        cdef intp_t j, feature
        for j in range(self.n_visited):
            feature = self.visited[j]
            if self.best_cut[feature] >= 0:
                average += self.whole - self.best_score[feature]
                n_features += 1
        if n_features > 0:
            average /= n_features
        for j in range(self.n_visited):
            feature = self.visited[j]
            if self.best_cut[feature] < 0:
                continue
            gain = self.whole - self.best_score[feature]
            self.best_score[feature] = INFINITY
            if gain >= average - self.tie:
                entropy = self._outcome_entropy(feature)
                if entropy > 0.0:   # 0: one outcome has all the weight but a rounding
                    self.best_score[feature] = -gain / entropy

    cdef float64_t _outcome_entropy(self, intp_t feature) noexcept nogil:
        # Of the best test of a feature.
        cdef intp_t K = self.n_classes
        cdef float64_t sides[2]
        cdef intp_t z
        if not (self.multiway and self.n_categories != NULL
                and self.n_categories[feature] > 0):
            sides[0] = self.best_n_left[feature]
            sides[1] = self.seen.n - sides[0]
            return outcome_entropy(sides, 2)
        self.count_children(feature, self.best_cut[feature])
        for z in range(self.n_outcomes):
            self.scaled[z] = self.to_seen(self.children + z * K, self.children + z * K)
        return outcome_entropy(self.scaled, self.n_outcomes)

    cdef void _add_feature_evidence(self) noexcept nogil:
        # Average over the tests of the feature at hand, if it has any.
        cdef float64_t n_tests = self.n_tests[self.slot]
        if self.reducer == SUM_EVIDENCE and n_tests > 0.0:
            self.total_evidence = _log_add(
                self.total_evidence, self.log_evidence[self.slot] - (
                    log(n_tests) if self.log_tests[self.slot] < 0.0
                    else self.log_tests[self.slot]
                )
            )

    cdef void _sum_evidence(self) noexcept nogil:
        # Average over features.
        cdef intp_t j
        if not self.at_once:
            for j in range(self.n_visited):
                self.slot = self.visited[j]
                self._add_feature_evidence()
        self.evidence.log_evidence = self.total_evidence - log(
            <float64_t> self.n_tested
        )
        if not self.evidence.chooses:
            self.by_bound = False
            self.reducer = KEEP_BEST
            self._forget_choice()
            for j in range(self.n_visited):
                self._examine(self.visited[j])
                if self.at_once:
                    self._weigh(self.visited[j])

    cdef void _challenge(self, Split* split) noexcept nogil:
        # The test with the smallest cost below the parent's limit. A feature whose
        # smallest floor is above the incumbent cannot hold it, so features come in
        # the order of their floors, each with its most promising test first.
        cdef float64_t floor
        cdef intp_t j, feature
        self.tie = TIE * self.facts.pool
        self.incumbent = self.interval.limit
        self.incumbent_feature = -1
        self.incumbent_cut = -1
        self.reducer = CHALLENGE
        while True:
            feature = -1
            floor = INFINITY
            for j in range(self.n_visited):
                if self.best_score[self.visited[j]] < floor:
                    feature = self.visited[j]
                    floor = self.best_score[feature]
            if feature < 0 or floor > self.incumbent + self.tie:
                break
            if floor > -INFINITY:
                self.count_children(feature, self.best_cut[feature])
                self._scale_outcomes()
                self._offer(
                    feature, self.best_cut[feature], self.child_pool[0],
                    self.child_pool[1],
                )
            self._examine(feature)     # forgets its floor
        split.feature = self.incumbent_feature
        split.cut = self.incumbent_cut
        split.evidence.child_limit = self.incumbent / self.facts.pool

    cdef void _challenge_with(self, intp_t size) noexcept nogil:
        cdef float64_t pool_left
        cdef intp_t i
        for i in range(size):
            if self.out[i] <= self.incumbent + self.tie:
                self._scale_children(i)
                pool_left = self.tests.pool_left[i]
                self._offer(
                    self.feature, self.position[i], pool_left,
                    self.node.pool - pool_left,
                )

    cdef void _offer(
        self, intp_t feature, intp_t cut, float64_t pool_left, float64_t pool_right
    ) noexcept nogil:
        # Replace the incumbent if the test whose children are in `scaled` is better.
        cdef intp_t K = self.n_classes
        cdef float64_t* left = self.scaled
        cdef float64_t* right = self.scaled + K
        cdef float64_t ceiling = self.incumbent + self.tie
        cdef float64_t n_left = 0.0
        cdef float64_t n_right = 0.0
        cdef float64_t floor_right, cost
        cdef intp_t c
        for c in range(K):
            n_left += left[c]
            n_right += right[c]
        floor_right = self.interval.sharp_floor(right, n_right, pool_right, 2)
        if floor_right + self.interval.sharp_floor(left, n_left, pool_left, 2) > ceiling:
            return
        cost = self.interval.cost(left, n_left, pool_left, 2)
        if cost + floor_right > ceiling:
            return
        cost += self.interval.cost(right, n_right, pool_right, 2)
        self._install_if_better(feature, cut, cost)

    cdef void _install_if_better(
        self, intp_t feature, intp_t cut, float64_t cost
    ) noexcept nogil:
        cdef bint better
        if self.incumbent_feature < 0:
            better = cost < self.incumbent
        else:
            better = cost < self.incumbent - self.tie or (
                cost <= self.incumbent + self.tie
                and (
                    feature < self.incumbent_feature
                    or (feature == self.incumbent_feature and cut < self.incumbent_cut)
                )
            )
        if better:
            self.incumbent = cost
            self.incumbent_feature = feature
            self.incumbent_cut = cut

    cdef void _offer_multiway(self) noexcept nogil:
        # Replace the incumbent if the children of the test are better.
        cdef intp_t K = self.n_classes
        cdef float64_t cost = 0.0
        cdef float64_t n
        cdef intp_t z, c
        self._scale_outcomes()
        for z in range(self.n_outcomes):
            n = 0.0
            for c in range(K):
                n += self.scaled[z * K + c]
            cost += self.interval.cost(
                self.scaled + z * K, n, self.child_pool[z], self.n_outcomes
            )
            if cost > self.incumbent + self.tie:
                return
        self._install_if_better(self.feature, 0, cost)

    cdef void _set_improvement(self, Split* split) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef float64_t below = 0.0
        cdef float64_t n
        cdef intp_t z
        for z in range(self.n_outcomes):
            n = self.to_seen(self.children + z * K, self.scaled + z * K)
            below += self.criterion.node(self.scaled + z * K, n)
        below *= self.criterion.unit
        cdef float64_t above = self.criterion.unit * self.criterion.node(
            self.seen.counts, self.seen.n
        )
        split.improvement = (above - below) / self.total_weight


cdef float64_t _log_add(float64_t a, float64_t b) noexcept nogil:
    if a < b:
        a, b = b, a
    if b == -INFINITY:
        return a
    return a + log1p(exp(b - a))


cdef void _sort_ascending(int32_t* values, intp_t n) noexcept nogil:
    cdef intp_t i, j
    cdef int32_t value
    for i in range(1, n):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
