"""Selection of the best candidate splits of a node."""

import numpy as np
from libc.math cimport INFINITY, NAN, exp, fmin, log, log1p
from libc.string cimport memmove

from skconftree.criteria._criterion cimport outcome_entropy
from skconftree.criteria._score cimport sum_of
from skconftree.tree.split._scan cimport BLOCK
from skconftree.tree.split._split cimport Children, precedes

cdef enum:
    PHI_LIMIT = 1048576       # entries of a table of phi


cdef bint _is_square(const float64_t* phi, intp_t size) noexcept nogil:
    cdef intp_t i
    if phi == NULL:
        return False
    for i in range(size):
        if phi[i] != <float64_t> i * <float64_t> i:
            return False
    return True


cdef class Selection(TestReader):
    """Base class: stores the best candidate split of each feature.

    Integer counts are at most `largest_count`. `at_once` allows comparing features
    immediately, without storing the best candidates of all of them.
    """

    def __init__(
        self, ExaminedNode node not None, Criterion criterion not None, Bound bound,
        intp_t largest_count, bint at_once=True,
    ):
        cdef intp_t K = node.n_classes
        self.node = node
        self.criterion = criterion
        self.bound = bound
        if isinstance(bound, (EvidenceBound, IntervalBound)):
            self.bound_score = bound.score
            self.own_scale = True
        # features that are compared at the end need a stored candidate each
        self.at_once = at_once and not (
            node.settings.max_features < node.n_features or criterion.by_ratio
        )
        self.step = 0 if self.at_once else 1
        self.arena = Arena()
        self.best_of = <Best*> self.arena.take(
            1 if self.at_once else node.n_features, sizeof(Best)
        )
        self.best = self.best_of
        self.out = <float64_t*> self.arena.take(BLOCK, sizeof(float64_t))
        self.pair = <float64_t*> self.arena.take(2 * K, sizeof(float64_t))
        if self.own_scale and node.without_repeats:
            self.shrunk = <float64_t*> self.arena.take(
                BLOCK * (K + 2), sizeof(float64_t)
            )
        self._tables = []
        self.phi_size = min(largest_count + 1, PHI_LIMIT)
        if not node.root.weighted and node.class_weight == NULL and not node.has_pool:
            self.criterion_phi = _additive_phi(self, criterion)
            if not node.rescales:
                self.bound_phi = _additive_phi(self, self.bound_score)
            self.criterion_squares = _is_square(self.criterion_phi, self.phi_size)
            self.bound_squares = _is_square(self.bound_phi, self.phi_size)

    cdef void begin(self) noexcept nogil:
        self.criterion.begin(&self.node.seen)
        if self.own_scale:
            self.bound_score.begin(&self.node.stats)
        self.tie = tie_of(self.node.seen.n)
        self.whole = self.criterion.node(self.node.seen.counts, self.node.seen.n)
        self.adds = True

    cdef intp_t examine(self, intp_t feature, NodeTests tests) noexcept nogil:
        cdef intp_t n_tests
        cdef Best* best = self.best_of + feature * self.step
        self.feature = feature
        self.best = best
        best.score = INFINITY
        best.cut.position = -1
        best.cut.missing_left = False
        best.n_tests = 0.0
        best.log_tests = -1.0
        best.log_evidence = -INFINITY
        tests.phi = self.bound_phi if self.by_bound else self.criterion_phi
        tests.squares = (
            self.bound_squares if self.by_bound else self.criterion_squares
        )
        n_tests = tests.walk(
            feature, tests.phi != NULL and self.node.n < self.phi_size and self.adds
        )
        if tests.is_nominal(feature):
            if tests.sets.n_implied > 0.0 and best.n_tests > 0.0:
                best.n_tests = tests.sets.n_implied
                best.log_tests = tests.sets.log_implied
        elif tests.source.every_cut and not tests.random_cuts:
            best.n_tests = n_tests
        return n_tests

    cdef void keep(self, intp_t feature, NodeTests tests) noexcept nogil:
        pass

    cdef void choose(
        self, NodeTests tests, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil:
        pass

    cdef bint propose(
        self, NodeTests tests, intp_t feature, const Split* chosen, Split* split
    ) noexcept nogil:
        return False

    cdef void _score(self, Scan scan) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef intp_t i
        if not self.by_bound:
            if self.node.class_weight != NULL:
                for i in range(scan.tests.size):
                    scan.n_left[i] = self.node.to_seen(
                        scan.left + i * K, scan.left + i * K
                    )
            self.criterion.block(&scan.tests, self.out)
        elif not self.node.rescales:
            self.bound_score.block(&scan.tests, self.out)
        elif self.node.class_weight == NULL:
            _score_without_repeats(self, &scan.tests)
        else:
            # each child is scaled to its own weight, so the right child is not the node
            # minus the left one, and block formulas do not apply
            for i in range(scan.tests.size):
                self.node.pair_to_bound(scan.left + i * K, self.pair)
                self.out[i] = self.bound_score.outcomes(self.pair, 2)


cdef const float64_t* _additive_phi(Selection selection, Score score):
    cdef float64_t[::1] table
    cdef intp_t i
    if score is None or not score.additive or selection.node.n_classes == 2:
        return NULL
    table = np.empty(selection.phi_size)
    for i in range(selection.phi_size):
        table[i] = score.phi(i)
    selection._tables.append(table)
    return &table[0]


cdef void _score_without_repeats(Selection selection, const TestBlock* tests) noexcept nogil:
    # All counts of the node have the same factor, so block formulas apply.
    cdef intp_t K = selection.node.n_classes
    cdef float64_t share = selection.node.share
    cdef float64_t* n_left = selection.shrunk + BLOCK * K
    cdef float64_t* pool_left = n_left + BLOCK
    cdef TestBlock shrunk = tests[0]
    cdef intp_t i
    for i in range(tests.size * K):
        selection.shrunk[i] = tests.left[i] * share
    for i in range(tests.size):
        n_left[i] = tests.n_left[i] * share
        pool_left[i] = tests.pool_left[i] * share
    shrunk.left = selection.shrunk
    shrunk.n_left = n_left
    shrunk.pool_left = pool_left
    selection.bound_score.block(&shrunk, selection.out)


cdef void _keep_best(Selection selection, Scan scan) noexcept nogil:
    # Most blocks have no better candidate. Four interleaved minima detect this without a
    # chain of dependent comparisons.
    cdef const float64_t* out = selection.out
    cdef intp_t size = scan.tests.size
    cdef float64_t best = selection.best.score
    cdef float64_t a = INFINITY, b = INFINITY, c = INFINITY, d = INFINITY, least
    cdef intp_t index = 0, i = 0
    selection.best.n_tests += size
    while i + 4 <= size:
        a = out[i] if out[i] < a else a
        b = out[i + 1] if out[i + 1] < b else b
        c = out[i + 2] if out[i + 2] < c else c
        d = out[i + 3] if out[i + 3] < d else d
        i += 4
    while i < size:
        a = out[i] if out[i] < a else a
        i += 1
    least = min(a, b, c, d)
    if not least < best - selection.tie:
        return
    while not out[index] <= least + 2.0 * selection.tie:     # NaN is not
        index += 1
    # No candidate before it is within a tie, and none after it is better by a tie. Comparing
    # one by one gives the same result, unless others are within half a tie.
    if best > least + 2.0 * selection.tie and out[index] <= least + 0.5 * selection.tie:
        best = out[index]
    else:
        for i in range(size):
            if out[i] < best - selection.tie:
                best = out[i]
                index = i
    selection.best.score = best
    selection.best.cut.position = scan.position[index]
    selection.best.cut.missing_left = scan.missing_left
    selection.best.n_left = scan.n_left[index]


cdef class BestTests(Selection):
    """The best candidate split of a node, and the best ones of other features."""

    def __init__(
        self, ExaminedNode node not None, Criterion criterion not None, Bound bound,
        intp_t largest_count, bint at_once=True,
    ):
        super().__init__(node, criterion, bound, largest_count, at_once)
        self.prunes = (
            criterion.concave and node.class_weight == NULL and not self.own_scale
            and not node.has_pool
        )
        if bound is not None and not self.own_scale:
            self.ranks = bound.ranks_attributes
            # with class weights the counts of the bound are not those of the criterion
            self.ranks_by_gain = bound.ranks_by_gain and node.class_weight == NULL

    cdef void begin(self) noexcept nogil:
        Selection.begin(self)
        _forget_choice(self)

    cdef void read(self, Scan scan) noexcept nogil:
        self._score(scan)
        _keep_best(self, scan)

    cdef void measure(self, Scan scan, float64_t* scores) noexcept nogil:
        self.criterion.block(&scan.tests, scores)

    cdef void leave_out(self, intp_t n) noexcept nogil:
        self.best.n_tests += n

    cdef void read_children(self, const Children* children) noexcept nogil:
        self.best.n_tests = 1.0
        self.best.cut.position = 0
        self.node.children_to_seen(children)
        self.best.score = self.criterion.outcomes(children.scaled, children.n_outcomes)

    cdef void keep(self, intp_t feature, NodeTests tests) noexcept nogil:
        if self.at_once:
            self._weigh(feature, tests)

    cdef void choose(
        self, NodeTests tests, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil:
        _contest(self, tests, visited, n_visited, split)
        if self.bound is not None:
            self.bound.node_begin(&self.node.stats)
        if split.feature >= 0:
            _set_tests(self, &self.first)

    cdef bint propose(
        self, NodeTests tests, intp_t feature, const Split* chosen, Split* split
    ) noexcept nogil:
        cdef const Best* best = self.best_of + feature * self.step
        cdef intp_t n = 1, i
        if self.at_once or best.score == INFINITY:
            return False
        split.feature = feature
        split.cut = best.cut
        split.evidence = chosen.evidence
        split.evidence.score = best.score / self.node.seen.n
        split.evidence.runner_up_score = chosen.evidence.score
        split.evidence.runner_up_feature = chosen.feature
        split.competitors[0].feature = chosen.feature
        split.competitors[0].cut = chosen.cut
        for i in range(MAX_STORED_COMPETITORS):
            # one entry less if `feature` is not among the stored competitors
            if n == MAX_STORED_COMPETITORS or chosen.competitors[i].feature < 0:
                break
            if chosen.competitors[i].feature != feature:
                split.competitors[n] = chosen.competitors[i]
                n += 1
        if n < MAX_STORED_COMPETITORS:
            split.competitors[n].feature = -1
        split.evidence.by_chance.log10_expected = NAN
        _set_n_tests(self, best.n_tests, best.log_tests)
        return True

    cdef void _weigh(self, intp_t feature, NodeTests tests) noexcept nogil:
        # Compare the best candidate of a feature with those of earlier features.
        cdef const Best* best = self.best_of + feature * self.step
        cdef Contender new
        cdef intp_t i
        cdef const Contender* last = &self.competitors[MAX_STORED_COMPETITORS - 1]
        if not self.ranks and not (     # as most are
            best.score < max(self.first.score, last.score) - self.tie
        ):
            return
        new.feature = feature
        new.cut = best.cut
        new.score = best.score
        new.n_tests = best.n_tests
        new.log_tests = best.log_tests
        new.rank = NAN
        if _wins(self, &new, &self.first, tests):
            self._ensure_capacity(0)
            self.competitors[0] = self.first
            self.first = new
            return
        for i in range(MAX_STORED_COMPETITORS):
            if _wins(self, &new, &self.competitors[i], tests):
                self._ensure_capacity(i)
                self.competitors[i] = new
                return

    cdef void _ensure_capacity(self, intp_t position) noexcept nogil:
        # Drop the last competitor.
        cdef intp_t i
        for i in range(MAX_STORED_COMPETITORS - 1, position, -1):
            self.competitors[i] = self.competitors[i - 1]

cdef void _forget_choice(BestTests selection) noexcept nogil:
    cdef intp_t i
    selection.first.feature = -1
    selection.first.score = INFINITY
    for i in range(MAX_STORED_COMPETITORS):
        selection.competitors[i].feature = -1
        selection.competitors[i].score = INFINITY


cdef void _contest(
    BestTests selection, NodeTests tests, const int32_t* visited, intp_t n_visited,
    Split* split,
) noexcept nogil:
    # The best candidate of all features, and the best ones of other features.
    cdef intp_t j
    if not selection.at_once:
        if selection.criterion.by_ratio and not selection.by_bound and not selection.ranks:
            _take_ratios(selection, tests, visited, n_visited)
        for j in range(n_visited):
            selection._weigh(visited[j], tests)
    split.feature = selection.first.feature
    split.cut = selection.first.cut
    split.evidence.score = selection.first.score / selection.node.seen.n
    split.evidence.runner_up_score = selection.competitors[0].score / selection.node.seen.n
    split.evidence.runner_up_feature = selection.competitors[0].feature
    for j in range(MAX_STORED_COMPETITORS):
        split.competitors[j].feature = selection.competitors[j].feature
        split.competitors[j].cut = selection.competitors[j].cut


cdef bint _wins(
    BestTests selection, Contender* later, Contender* earlier, NodeTests tests
) noexcept nogil:
    cdef float64_t max_rank = INFINITY
    cdef Contender* last = &selection.competitors[MAX_STORED_COMPETITORS - 1]
    if not selection.ranks:
        return later.score < earlier.score - selection.tie
    if earlier.feature < 0 or later.score == INFINITY:
        return later.score < INFINITY
    if _knows_by_gain(selection, later, tests) and _knows_by_gain(selection, earlier, tests):
        # no ranks needed if gain and number of candidates favor the same feature; numbers
        # too large for a float look equal
        if later.score >= earlier.score - selection.tie:
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
    # a score that is better by `tie` changes a rank by at most twice that; ranks above that
    # of the last competitor need not be exact
    if last.feature >= 0:
        _compute_rank(selection, last, INFINITY, tests)
        max_rank = last.rank + 2.0 * selection.tie
    _compute_rank(selection, earlier, INFINITY, tests)
    _compute_rank(selection, later, max_rank, tests)
    if later.rank < earlier.rank - 2.0 * selection.tie:
        return True
    return later.rank <= earlier.rank + 2.0 * selection.tie and (
        later.score < earlier.score - selection.tie
    )


cdef bint _knows_by_gain(
    BestTests selection, const Contender* contender, NodeTests tests
) noexcept nogil:
    return selection.ranks_by_gain and not (
        tests.sets.multiway and tests.is_nominal(contender.feature)
    )


cdef void _set_n_tests(
    Selection selection, float64_t n_tests, float64_t log_tests
) noexcept nogil:
    # Set the number of candidates of a feature, for the bound and the evidence.
    selection.node.stats.n_attribute_tests = n_tests
    selection.node.stats.log_attribute_tests = (
        log(n_tests) if log_tests < 0.0 else log_tests
    )


cdef void _set_tests(BestTests selection, Contender* contender) noexcept nogil:
    _set_n_tests(selection, contender.n_tests, contender.log_tests)
    contender.log_tests = selection.node.stats.log_attribute_tests


cdef void _compute_rank(
    BestTests selection, Contender* contender, float64_t max_rank, NodeTests tests
) noexcept nogil:
    if contender.rank == contender.rank:
        return
    _set_tests(selection, contender)
    if _knows_by_gain(selection, contender, tests):
        contender.rank = selection.bound.rank_of_gain(
            &selection.node.stats, selection.node.share * (selection.whole - contender.score)
        )
        return
    tests.count_children(contender.feature, contender.cut)
    selection.node.children_to_bound(&tests.children)
    contender.rank = selection.bound.rank(
        &selection.node.stats, tests.children.scaled, tests.children.n_outcomes, max_rank
    )


cdef void _take_ratios(
    BestTests selection, NodeTests tests, const int32_t* visited, intp_t n_visited
) noexcept nogil:
    # As in C4.5: among the features whose best gain is at least the average, the feature
    # with the largest ratio of gain to outcome entropy wins.
    cdef float64_t average = 0.0
    cdef intp_t n_features = 0
    cdef float64_t gain, entropy
    cdef Best* best
    cdef intp_t j
    for j in range(n_visited):
        best = selection.best_of + visited[j]
        if best.cut.position >= 0:
            average += selection.whole - best.score
            n_features += 1
    if n_features > 0:
        average /= n_features
    for j in range(n_visited):
        best = selection.best_of + visited[j]
        if best.cut.position < 0:
            continue
        gain = selection.whole - best.score
        best.score = INFINITY
        if gain >= average - selection.tie:
            entropy = _outcome_entropy(selection, visited[j], tests)
            if entropy > 0.0:   # 0: one outcome has all the weight up to rounding
                best.score = -gain / entropy


cdef float64_t _outcome_entropy(
    BestTests selection, intp_t feature, NodeTests tests
) noexcept nogil:
    # Of the best candidate of a feature.
    cdef const Best* best = selection.best_of + feature
    cdef const Children* children = &tests.children
    cdef float64_t sides[2]
    cdef intp_t K = selection.node.n_classes
    cdef intp_t z
    if not (tests.sets.multiway and tests.is_nominal(feature)):
        sides[0] = best.n_left
        sides[1] = selection.node.seen.n - sides[0]
        return outcome_entropy(sides, 2)
    tests.count_children(feature, best.cut)
    for z in range(children.n_outcomes):
        children.scaled[z] = selection.node.to_seen(
            children.counts + z * K, children.counts + z * K
        )
    return outcome_entropy(children.scaled, children.n_outcomes)


cdef class Challengers(Selection):
    """The candidate split whose children have the smallest cost."""

    def __init__(
        self, ExaminedNode node not None, Criterion criterion not None, Bound bound,
        intp_t largest_count,
    ):
        super().__init__(node, criterion, bound, largest_count, at_once=False)
        self.interval = bound
        self.by_bound = True

    cdef void begin(self) noexcept nogil:
        Selection.begin(self)
        # in the unit of costs: a volume may be much smaller than the weight of the rows
        self.tie = tie_of(self.node.stats.pool)
        self.challenging = False

    cdef void read(self, Scan scan) noexcept nogil:
        self._score(scan)
        if self.challenging:
            _challenge_with(self, scan)
        else:
            _keep_best(self, scan)

    cdef void read_children(self, const Children* children) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef float64_t cost = 0.0
        cdef intp_t z
        cdef Cut cut
        cut.position = 0
        cut.missing_left = False
        if not self.challenging:
            self.best.n_tests = 1.0
            self.best.cut = cut
            self.best.score = -INFINITY     # its cost has no floor
            return
        self.node.children_to_bound(children)
        for z in range(children.n_outcomes):
            cost += self.interval.cost(
                children.scaled + z * K, sum_of(children.scaled + z * K, K),
                children.pool[z] * self.node.share, children.n_outcomes,
            )
            if cost > self.incumbent + self.tie:
                return
        _install_if_better(self, self.feature, cut, cost)

    cdef void choose(
        self, NodeTests tests, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil:
        # The candidate with the smallest cost below the parent's limit. A feature whose
        # smallest floor is above the incumbent's cost cannot have it.
        cdef const Children* children = &tests.children
        cdef float64_t floor
        cdef Best* best
        cdef Best known
        cdef intp_t j, feature, n = 0
        self.interval.node_begin(&self.node.stats)
        _note_floors(self, visited, n_visited)
        self.incumbent = self.interval.limit
        self.incumbent_feature = -1
        self.incumbent_cut.position = -1
        self.incumbent_cut.missing_left = False
        self.challenging = True
        self.adds = False       # costs need counts
        while True:
            feature = -1
            floor = INFINITY
            for j in range(n_visited):
                if self.best_of[visited[j]].score < floor:
                    feature = visited[j]
                    floor = self.best_of[feature].score
            if feature < 0 or floor > self.incumbent + self.tie:
                break
            if floor > -INFINITY:
                tests.count_children(feature, self.best_of[feature].cut)
                self.node.children_to_bound(children)
                _offer(
                    self, feature, self.best_of[feature].cut, children.scaled,
                    children.pool[0] * self.node.share,
                    children.pool[1] * self.node.share,
                )
            best = self.best_of + feature
            known = best[0]
            self.examine(feature, tests)    # does not change the number of candidates
            best[0] = known
            best.score = INFINITY           # this feature has been challenged
        split.feature = self.incumbent_feature
        split.cut = self.incumbent_cut
        if split.feature >= 0:
            best = self.best_of + split.feature
            _set_n_tests(self, best.n_tests, best.log_tests)
        for j in range(MAX_STORED_COMPETITORS + 1):
            if n == MAX_STORED_COMPETITORS or self.floors[j].feature < 0:
                break
            if self.floors[j].feature != split.feature:
                split.competitors[n] = self.floors[j]
                n += 1
        if n < MAX_STORED_COMPETITORS:
            split.competitors[n].feature = -1
        split.evidence.child_limit = self.incumbent / self.node.stats.pool


cdef void _note_floors(
    Challengers selection, const int32_t* visited, intp_t n_visited
) noexcept nogil:
    # The features with the smallest floors, and the candidates that have them.
    cdef const Best* best
    cdef intp_t n = 0, i, j
    for j in range(n_visited):
        best = selection.best_of + visited[j]
        if best.cut.position < 0:
            continue
        i = n
        while i > 0 and best.score < selection.best_of[selection.floors[i - 1].feature].score:
            i -= 1
        if i == MAX_STORED_COMPETITORS + 1:
            continue
        n = min(n + 1, <intp_t> MAX_STORED_COMPETITORS + 1)
        memmove(
            selection.floors + i + 1, selection.floors + i, (n - 1 - i) * sizeof(CompetitorTest)
        )
        selection.floors[i].feature = visited[j]
        selection.floors[i].cut = best.cut
    if n <= MAX_STORED_COMPETITORS:
        selection.floors[n].feature = -1


cdef void _challenge_with(Challengers selection, Scan scan) noexcept nogil:
    cdef float64_t pool_left
    cdef Cut cut
    cdef intp_t i
    cut.missing_left = scan.missing_left
    for i in range(scan.tests.size):
        if selection.out[i] <= selection.incumbent + selection.tie:
            cut.position = scan.position[i]
            pool_left = scan.tests.pool_left[i] * selection.node.share
            selection.node.pair_to_bound(scan.left + i * selection.node.n_classes, selection.pair)
            _offer(
                selection, selection.feature, cut, selection.pair, pool_left,
                selection.node.stats.pool - pool_left,
            )


cdef void _offer(
    Challengers selection, intp_t feature, Cut cut, const float64_t* pair,
    float64_t pool_left, float64_t pool_right,
) noexcept nogil:
    # Replace the incumbent if the candidate with this pair of children is better.
    cdef intp_t K = selection.node.n_classes
    cdef const float64_t* right = pair + K
    cdef float64_t ceiling = selection.incumbent + selection.tie
    cdef float64_t n_left = sum_of(pair, K), n_right = sum_of(right, K)
    cdef float64_t floor_left, floor_right, cost
    floor_right = selection.interval.sharp_floor(right, n_right, pool_right, 2)
    floor_left = selection.interval.sharp_floor(pair, n_left, pool_left, 2)
    if floor_right + floor_left > ceiling:
        return
    cost = selection.interval.cost(pair, n_left, pool_left, 2)
    if cost + floor_right > ceiling:
        return
    cost += selection.interval.cost(right, n_right, pool_right, 2)
    _install_if_better(selection, feature, cut, cost)


cdef void _install_if_better(
    Challengers selection, intp_t feature, Cut cut, float64_t cost
) noexcept nogil:
    cdef bint better
    if selection.incumbent_feature < 0:
        better = cost < selection.incumbent
    else:
        better = cost < selection.incumbent - selection.tie or (
            cost <= selection.incumbent + selection.tie
            and (
                feature < selection.incumbent_feature
                or (
                    feature == selection.incumbent_feature
                    and precedes(cut, selection.incumbent_cut)
                )
            )
        )
    if better:
        selection.incumbent = cost
        selection.incumbent_feature = feature
        selection.incumbent_cut = cut


cdef float64_t NEGLIGIBLE = 40.0    # exp(-40) is a fiftieth of the rounding of 1


cdef class SummedEvidence(BestTests):
    """The evidence of all candidate splits of a node, and the best one."""

    def __init__(
        self, ExaminedNode node not None, Criterion criterion not None, Bound bound,
        intp_t largest_count,
    ):
        super().__init__(node, criterion, bound, largest_count)
        self.evidence = bound

    cdef void begin(self) noexcept nogil:
        BestTests.begin(self)
        self.tie = tie_of(self.node.n)
        self.by_bound = True
        self.sums = True
        self.total = -INFINITY
        self.peak = INFINITY
        self.reach = NEGLIGIBLE + log(self.node.n_repeated)

    cdef void read(self, Scan scan) noexcept nogil:
        BestTests.read(self, scan)
        if self.sums:
            _add_block(self, scan)

    cdef void read_children(self, const Children* children) noexcept nogil:
        if not self.by_bound:
            BestTests.read_children(self, children)
            return
        self.best.n_tests = 1.0
        self.best.cut.position = 0
        self.node.children_to_bound(children)
        self.best.score = self.bound_score.outcomes(
            children.scaled, children.n_outcomes
        )
        self.best.log_evidence = -self.best.score
        self.peak = fmin(self.peak, self.best.score)

    cdef void keep(self, intp_t feature, NodeTests tests) noexcept nogil:
        if self.at_once:
            _add_feature(self)
            self._weigh(feature, tests)

    cdef void choose(
        self, NodeTests tests, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil:
        cdef intp_t j
        if not self.at_once:
            for j in range(n_visited):
                self.best = self.best_of + visited[j]
                _add_feature(self)
        self.evidence.log_evidence = self.total - log(
            <float64_t> self.node.stats.n_varying
        )
        if not self.evidence.chooses:
            self.by_bound = False
            self.sums = False
            _forget_choice(self)
            for j in range(n_visited):
                self.examine(visited[j], tests)
                if self.at_once:
                    self._weigh(visited[j], tests)
        _contest(self, tests, visited, n_visited, split)
        self.bound.node_begin(&self.node.stats)
        if split.feature >= 0:
            _set_tests(self, &self.first)


cdef void _add_block(SummedEvidence selection, Scan scan) noexcept nogil:
    # log-sum-exp of the block, then of the earlier blocks and this one. A candidate has at
    # most n times the weight of another, so that candidates this much worse than the best
    # one so far change the sum by less than its rounding.
    cdef float64_t peak, total = 0.0
    cdef intp_t i
    selection.peak = fmin(selection.peak, selection.best.score)
    peak = selection.peak
    for i in range(scan.tests.size):
        if selection.out[i] - peak < selection.reach:
            total += exp(peak - selection.out[i])
    if total > 0.0:
        selection.best.log_evidence = _log_add(selection.best.log_evidence, log(total) - peak)


cdef void _add_feature(SummedEvidence selection) noexcept nogil:
    # Average over the candidates of the feature examined last, if it has any.
    if selection.best.n_tests > 0.0:
        selection.total = _log_add(
            selection.total, selection.best.log_evidence - (
                log(selection.best.n_tests) if selection.best.log_tests < 0.0
                else selection.best.log_tests
            )
        )


cdef float64_t _log_add(float64_t a, float64_t b) noexcept nogil:
    if a < b:
        a, b = b, a
    if b == -INFINITY:
        return a
    return a + log1p(exp(b - a))
