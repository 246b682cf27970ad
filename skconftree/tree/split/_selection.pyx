"""Selection of the best candidate splits of a node, for each kind of bound.

A bound is the rule that accepts or rejects a split: race bounds compare it with the best split
of another feature, interval bounds upper limits of the impurity (costs), evidence bounds the
evidence of all candidates, node tests whole features. A rank is a number by which the bound
compares features. A walk over a feature passes its candidates to a selection in blocks; a cut is
how a candidate divides the values, an outcome a child. A source (Source, _scan.pxd) reads the rows
of the node or their counts. Sums of phi, the criterion's function of a class count, can replace
class counts if the score is additive. `share` is the part of the weight of the node that counts as
evidence, 1 unless repeated rows do not. A floor is a lower limit of the cost of a candidate, and
the incumbent is the best candidate so far. The pool of a node is its weight with unlabeled rows,
or its volume. Counts are unscaled, or on the scale of the criterion or of the bound
(_node.pxd). See _selection.pxd.
"""

import numpy as np
from libc.math cimport INFINITY, NAN, exp, fmin, log, log1p
from libc.string cimport memcpy, memmove, memset

from skconftree.criteria._criterion cimport outcome_entropy
from skconftree.criteria._score cimport NodeStats, sum_of
from skconftree.tree._settings cimport MONOTONIC_CST
from skconftree.tree.split._scan cimport BLOCK      # largest number of candidates of a block
from skconftree.tree.split._split cimport Children, precedes

cdef enum:
    MAX_PHI_SIZE = 1048576    # entries of a table of phi


cdef bint _is_square(const float64_t* phi, intp_t size) noexcept nogil:
    # Whether phi(i) = i**2: then its sums are integers, exact in any order.
    cdef intp_t i
    if phi == NULL:
        return False
    for i in range(size):
        if phi[i] != <float64_t> i * <float64_t> i:
            return False
    return True


cdef class Selection(CandidateReader):
    """Base class: stores the best candidate split of each feature.

    Integer counts are at most `largest_count`. `compares_at_once` allows comparing features
    immediately, without storing the best candidates of all of them.
    """

    def __init__(
        self, ExaminedNode node not None, Criterion criterion not None, Bound bound,
        intp_t largest_count, bint compares_at_once=True,
    ):
        cdef intp_t K = node.n_classes
        self.node = node
        self.criterion = criterion
        self.bound = bound
        if isinstance(bound, (EvidenceBound, IntervalBound, NodeTest)):
            self.bound_score = bound.score
            self.own_scale = True       # the bound scores the candidates
        # features that are compared after the last one need the best candidate of each
        self.compares_at_once = compares_at_once and not (
            # `by_ratio`: features are compared by their gain ratios
            node.settings.max_features < node.n_features or criterion.by_ratio
        )
        self.step = 0 if self.compares_at_once else 1    # feature * step: index in best_of
        self.arena = Arena()
        self.best_of = <Best*> self.arena.take(
            1 if self.compares_at_once else node.n_features, sizeof(Best)
        )
        self.best = self.best_of
        self.out = <float64_t*> self.arena.take(BLOCK, sizeof(float64_t))
        self.pair = <float64_t*> self.arena.take(2 * K, sizeof(float64_t))
        if self.own_scale and node.excludes_repeats:
            self.scaled_block = <float64_t*> self.arena.take(BLOCK * (K + 2), sizeof(float64_t))
        self._phi_tables = []
        self.phi_size = min(largest_count + 1, MAX_PHI_SIZE)
        # sums of phi need integer counts; walks over unlabeled rows too do not emit sums
        if not node.root.weighted and node.class_weight == NULL and not node.has_pool:
            self.criterion_phi = _additive_phi(self, criterion)
            if not node.rescales:       # the bound uses the same counts as the criterion
                self.bound_phi = _additive_phi(self, self.bound_score)
            self.criterion_squares = _is_square(self.criterion_phi, self.phi_size)
            self.bound_squares = _is_square(self.bound_phi, self.phi_size)

    cdef void begin(self) noexcept nogil:
        # `reweighted`: on the scale of the criterion; `node.stats`: on that of the bound
        cdef const NodeStats* stats = &self.node.reweighted
        self.criterion.begin(stats)
        if self.own_scale:
            self.bound_score.begin(&self.node.stats)
        self.tolerance = tolerance_of(stats.n)     # of scores on the scale of the criterion
        self.parent_score = self.criterion.node(stats.counts, stats.n)
        self.uses_phi_sums = True

    cdef intp_t examine(self, intp_t feature, CandidateSplits candidates) noexcept nogil:
        cdef intp_t n_candidates
        cdef Best* best
        self.begin_feature(feature)
        best = self.best
        candidates.phi = self.bound_phi if self.by_bound else self.criterion_phi
        candidates.squares = (self.bound_squares if self.by_bound else self.criterion_squares)
        n_candidates = candidates.walk(
            feature, candidates.phi != NULL and self.node.n < self.phi_size and self.uses_phi_sums
        )
        if candidates.is_nominal(feature):
            # the emitted candidates are the best of this many sets of categories
            if candidates.sets.n_implied > 0.0 and best.n_candidates > 0.0:
                best.n_candidates = candidates.sets.n_implied
                best.log_candidates = candidates.sets.log_implied
        elif candidates.source.every_cut and not candidates.random_cuts:
            # all cuts of the source count as candidates, even those without rows on one side
            best.n_candidates = n_candidates
        return n_candidates

    cdef void begin_feature(self, intp_t feature) noexcept nogil:
        cdef Best* best = self.best_of + feature * self.step
        self.feature = feature
        self.best = best
        best.score = INFINITY
        best.cut.position = -1
        best.cut.missing_left = False
        best.n_candidates = 0.0
        best.log_candidates = -1.0  # not computed
        best.log_evidence = -INFINITY

    cdef void after_examine(self, intp_t feature, CandidateSplits candidates) noexcept nogil:
        pass

    cdef void choose(
        self, CandidateSplits candidates, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil:
        pass

    cdef bint describe_other(
        self, CandidateSplits candidates, intp_t feature, const Split* chosen, Split* split
    ) noexcept nogil:
        return False

    cdef void _score(self, Scan scan) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef intp_t i
        if not self.by_bound:
            if self.node.class_weight != NULL:
                for i in range(scan.block.size):
                    scan.n_left[i] = self.node.reweight(scan.left + i * K, scan.left + i * K)
            self.criterion.block(&scan.block, self.out)
        elif not self.node.rescales:
            self.bound_score.block(&scan.block, self.out)
        elif self.node.class_weight == NULL:
            _score_without_repeats(self, &scan.block)
        else:
            # each child is scaled to its own weight, so the right child is not the node
            # minus the left one, and block formulas do not apply
            for i in range(scan.block.size):
                self.node.scale_pair(scan.left + i * K, self.pair)
                self.out[i] = self.bound_score.outcomes(self.pair, 2)
        if scan.excludes:   # some candidates are counted, but cannot be selected
            for i in range(scan.block.size):
                if scan.excluded[i]:
                    self.out[i] = INFINITY


cdef const float64_t* _additive_phi(Selection selection, Score score):
    # Table of phi, or NULL. Walks of two classes do not use sums of phi.
    cdef float64_t[::1] table
    cdef intp_t i
    if score is None or not score.additive or selection.node.n_classes == 2:
        return NULL
    table = np.empty(selection.phi_size)
    for i in range(selection.phi_size):
        table[i] = score.phi(i)
    selection._phi_tables.append(table)
    return &table[0]


cdef void _score_without_repeats(Selection selection, const SplitBlock* block) noexcept nogil:
    # All counts of the node have the same factor, so block formulas apply.
    cdef intp_t K = selection.node.n_classes
    cdef float64_t share = selection.node.share
    cdef float64_t* n_left = selection.scaled_block + BLOCK * K
    cdef float64_t* pool_left = n_left + BLOCK
    cdef SplitBlock scaled_block = block[0]
    cdef intp_t i
    for i in range(block.size * K):
        selection.scaled_block[i] = block.left[i] * share
    for i in range(block.size):
        n_left[i] = block.n_left[i] * share
        pool_left[i] = block.pool_left[i] * share
    scaled_block.left = selection.scaled_block
    scaled_block.n_left = n_left
    scaled_block.pool_left = pool_left
    selection.bound_score.block(&scaled_block, selection.out)


cdef void _update_best(Selection selection, Scan scan) noexcept nogil:
    # Most blocks have no better candidate. Four interleaved minima detect this without a
    # chain of dependent comparisons.
    cdef const float64_t* out = selection.out
    cdef float64_t tolerance = selection.tolerance
    cdef intp_t size = scan.block.size
    cdef float64_t best = selection.best.score
    cdef float64_t a = INFINITY, b = INFINITY, c = INFINITY, d = INFINITY, least
    cdef intp_t index = 0, i = 0
    selection.best.n_candidates += size
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
    if not least < best - tolerance:
        return
    while not out[index] <= least + 2.0 * tolerance:     # skips NaN
        index += 1
    # No candidate before it is within a tolerance, and none after it is better by a
    # tolerance. Comparing one by one gives the same result, unless others are within
    # half a tolerance.
    if best > least + 2.0 * tolerance and out[index] <= least + 0.5 * tolerance:
        best = out[index]
    else:
        for i in range(size):
            if out[i] < best - tolerance:
                best = out[i]
                index = i
    selection.best.score = best
    selection.best.cut.position = scan.position[index]
    selection.best.cut.missing_left = scan.missing_left
    selection.best.n_left = scan.n_left[index]


cdef class BestSplits(Selection):
    """The best candidate split of a node, and the best candidates of other features."""

    def __init__(
        self, ExaminedNode node not None, Criterion criterion not None, Bound bound,
        intp_t largest_count, bint compares_at_once=True,
    ):
        super().__init__(node, criterion, bound, largest_count, compares_at_once)
        # walks may then leave out candidates that cannot be the best, see CandidateReader
        self.prunes = (
            criterion.concave and node.class_weight == NULL and not self.own_scale
            and not node.has_pool
        )
        if bound is not None and not self.own_scale:
            self.ranks = bound.ranks_features
            # with class weights the counts of the bound are not those of the criterion
            self.ranks_by_gain = bound.ranks_by_gain and node.class_weight == NULL

    cdef void begin(self) noexcept nogil:
        Selection.begin(self)
        _clear_best(self)

    cdef void read(self, Scan scan) noexcept nogil:
        self._score(scan)
        _update_best(self, scan)

    cdef void measure(self, Scan scan, float64_t* scores) noexcept nogil:
        self.criterion.block(&scan.block, scores)

    cdef void leave_out(self, intp_t n) noexcept nogil:
        # the walk leaves out n candidates that cannot be the best
        self.best.n_candidates += n

    cdef void read_children(self, const Children* children) noexcept nogil:
        # the only candidate of a nominal feature with one child per category
        self.best.n_candidates = 1.0
        self.best.cut.position = 0
        self.node.reweight_children(children)
        self.best.score = self.criterion.outcomes(children.scaled, children.n_outcomes)

    cdef void after_examine(self, intp_t feature, CandidateSplits candidates) noexcept nogil:
        if self.compares_at_once:
            self._compare(feature, candidates)

    cdef void choose(
        self, CandidateSplits candidates, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil:
        _rank_features(self, candidates, visited, n_visited, split)
        if self.bound is not None:
            self.bound.node_begin(&self.node.stats)
        if split.feature >= 0:
            _set_candidates_of(self, &self.first)

    cdef bint describe_other(
        self, CandidateSplits candidates, intp_t feature, const Split* chosen, Split* split
    ) noexcept nogil:
        cdef const Best* best = self.best_of + feature * self.step
        cdef intp_t n = 1, i
        # The split on `feature`, whose best candidate was not chosen; False if there is none.
        if self.compares_at_once or best.score == INFINITY:
            return False
        split.feature = feature
        split.cut = best.cut
        split.evidence = chosen.evidence
        split.evidence.score = best.score / self.node.reweighted.n
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
        split.evidence.by_chance.log10_expected = NAN  # to be computed for this split
        _set_n_candidates(self, best.n_candidates, best.log_candidates)
        return True

    cdef void _compare(self, intp_t feature, CandidateSplits candidates) noexcept nogil:
        # Compare the best candidate of a feature with those of earlier features.
        cdef const Best* best = self.best_of + feature * self.step
        cdef Contender new
        cdef intp_t i
        cdef const Contender* last = &self.competitors[MAX_STORED_COMPETITORS - 1]
        if not self.ranks and not (
            best.score < max(self.first.score, last.score) - self.tolerance
        ):
            return      # the usual case
        new.feature = feature
        new.cut = best.cut
        new.score = best.score
        new.n_candidates = best.n_candidates
        new.log_candidates = best.log_candidates
        # NaN: computed when it is needed. Node tests store the log p-value in `log_evidence`.
        new.rank = best.log_evidence if self.by_node_test else NAN
        if _wins(self, &new, &self.first, candidates):
            self._drop_last_from(0)
            self.competitors[0] = self.first
            self.first = new
            return
        for i in range(MAX_STORED_COMPETITORS):
            if _wins(self, &new, &self.competitors[i], candidates):
                self._drop_last_from(i)
                self.competitors[i] = new
                return

    cdef void _drop_last_from(self, intp_t position) noexcept nogil:
        # Shift the competitors from `position` on by one, which drops the last one.
        cdef intp_t i
        for i in range(MAX_STORED_COMPETITORS - 1, position, -1):
            self.competitors[i] = self.competitors[i - 1]

cdef void _clear_best(BestSplits selection) noexcept nogil:
    cdef intp_t i
    selection.first.feature = -1
    selection.first.score = INFINITY
    for i in range(MAX_STORED_COMPETITORS):
        selection.competitors[i].feature = -1
        selection.competitors[i].score = INFINITY


cdef void _rank_features(
    BestSplits selection, CandidateSplits candidates, const int32_t* visited, intp_t n_visited,
    Split* split,
) noexcept nogil:
    # Set the best candidate of all features, and the best candidates of other features.
    cdef intp_t j
    if not selection.compares_at_once:
        if selection.criterion.by_ratio and not selection.by_bound and not selection.ranks:
            _set_gain_ratios(selection, candidates, visited, n_visited)
        for j in range(n_visited):
            selection._compare(visited[j], candidates)
    split.feature = selection.first.feature
    if split.feature < 0 and selection.node.signs != NULL:  # signs: monotonicity constraints
        split.reason = MONOTONIC_CST
    split.cut = selection.first.cut
    split.evidence.score = selection.first.score / selection.node.reweighted.n
    split.evidence.runner_up_score = selection.competitors[0].score / selection.node.reweighted.n
    split.evidence.runner_up_feature = selection.competitors[0].feature
    for j in range(MAX_STORED_COMPETITORS):
        split.competitors[j].feature = selection.competitors[j].feature
        split.competitors[j].cut = selection.competitors[j].cut


# Whether the best candidate of a later feature is better than that of an earlier one.
cdef bint _wins(
    BestSplits selection, Contender* later, Contender* earlier, CandidateSplits candidates
) noexcept nogil:
    cdef float64_t max_rank = INFINITY
    cdef Contender* last = &selection.competitors[MAX_STORED_COMPETITORS - 1]
    if not selection.ranks:
        return later.score < earlier.score - selection.tolerance
    if earlier.feature < 0 or later.score == INFINITY:
        return later.score < INFINITY
    if _is_ranked_by_gain(selection, later, candidates) and _is_ranked_by_gain(
        selection, earlier, candidates
    ):
        # no ranks needed if gain and number of candidates favor the same feature; infinite
        # numbers are equal
        if later.score >= earlier.score - selection.tolerance:
            if later.n_candidates > earlier.n_candidates or (
                later.n_candidates == earlier.n_candidates
                and later.log_candidates >= earlier.log_candidates
            ):
                return False
        elif later.n_candidates < earlier.n_candidates or (
            later.n_candidates == earlier.n_candidates
            and later.log_candidates <= earlier.log_candidates
        ):
            return True
    # a score that is better by `tolerance` changes a rank by at most twice that; ranks above that
    # of the last competitor need not be exact
    if last.feature >= 0:
        _compute_rank(selection, last, INFINITY, candidates)
        max_rank = last.rank + 2.0 * selection.tolerance
    _compute_rank(selection, earlier, INFINITY, candidates)
    _compute_rank(selection, later, max_rank, candidates)
    if later.rank < earlier.rank - 2.0 * selection.tolerance:
        return True
    return later.rank <= earlier.rank + 2.0 * selection.tolerance and (
        later.score < earlier.score - selection.tolerance
    )


cdef bint _is_ranked_by_gain(
    BestSplits selection, const Contender* contender, CandidateSplits candidates
) noexcept nogil:
    # Whether the bound can compute the rank from the gain, without the children. `multiway`: a
    # nominal feature is split into one child per category.
    return selection.ranks_by_gain and not (
        candidates.sets.multiway and candidates.is_nominal(contender.feature)
    )


cdef void _set_n_candidates(
    Selection selection, float64_t n_candidates, float64_t log_candidates
) noexcept nogil:
    # Set the number of candidates of a feature, for the bound and the evidence.
    selection.node.stats.n_feature_candidates = n_candidates
    selection.node.stats.log_feature_candidates = (
        log(n_candidates) if log_candidates < 0.0 else log_candidates
    )


cdef void _set_candidates_of(BestSplits selection, Contender* contender) noexcept nogil:
    _set_n_candidates(selection, contender.n_candidates, contender.log_candidates)
    contender.log_candidates = selection.node.stats.log_feature_candidates


cdef void _compute_rank(
    BestSplits selection, Contender* contender, float64_t max_rank, CandidateSplits candidates
) noexcept nogil:
    if contender.rank == contender.rank:  # not NaN: already computed
        return
    _set_candidates_of(selection, contender)
    if _is_ranked_by_gain(selection, contender, candidates):
        contender.rank = selection.bound.rank_of_gain(
            &selection.node.stats,
            selection.node.share * (selection.parent_score - contender.score),
        )
        return
    candidates.count_children(contender.feature, contender.cut)
    selection.node.scale_children(&candidates.children)
    contender.rank = selection.bound.rank(
        &selection.node.stats, candidates.children.scaled, candidates.children.n_outcomes, max_rank
    )


cdef void _set_gain_ratios(
    BestSplits selection, CandidateSplits candidates, const int32_t* visited, intp_t n_visited
) noexcept nogil:
    # Replace scores by gain ratios. As in C4.5, among the features whose gain is at least
    # the average, the largest ratio of gain to outcome entropy (split information) wins.
    cdef float64_t average = 0.0
    cdef intp_t n_features = 0
    cdef float64_t gain, entropy
    cdef Best* best
    cdef intp_t j
    for j in range(n_visited):
        best = selection.best_of + visited[j]
        if best.cut.position >= 0:
            average += selection.parent_score - best.score
            n_features += 1
    if n_features > 0:
        average /= n_features
    for j in range(n_visited):
        best = selection.best_of + visited[j]
        if best.cut.position < 0:
            continue
        gain = selection.parent_score - best.score
        best.score = INFINITY
        if gain >= average - selection.tolerance:
            entropy = _outcome_entropy(selection, visited[j], candidates)
            if entropy > 0.0:   # 0: one outcome has all the weight up to rounding
                best.score = -gain / entropy


cdef float64_t _outcome_entropy(
    BestSplits selection, intp_t feature, CandidateSplits candidates
) noexcept nogil:
    # Outcome entropy of the best candidate of a feature.
    cdef const Best* best = selection.best_of + feature
    cdef const Children* children = &candidates.children
    cdef float64_t sides[2]
    cdef intp_t K = selection.node.n_classes
    cdef intp_t z
    if not (candidates.sets.multiway and candidates.is_nominal(feature)):
        sides[0] = best.n_left
        sides[1] = selection.node.reweighted.n - sides[0]
        return outcome_entropy(sides, 2)
    candidates.count_children(feature, best.cut)
    for z in range(children.n_outcomes):
        children.scaled[z] = selection.node.reweight(
            children.counts + z * K, children.counts + z * K
        )
    return outcome_entropy(children.scaled, children.n_outcomes)


cdef class SmallestCost(Selection):
    """The candidate split whose children have the smallest cost."""

    def __init__(
        self, ExaminedNode node not None, Criterion criterion not None, Bound bound,
        intp_t largest_count,
    ):
        super().__init__(node, criterion, bound, largest_count, compares_at_once=False)
        self.interval = bound
        self.by_bound = True

    cdef void begin(self) noexcept nogil:
        Selection.begin(self)
        # costs are totals over the pool; a volume may be much smaller than the rows' weight
        self.tolerance = tolerance_of(self.node.stats.pool)
        self.in_second_scan = False

    cdef void read(self, Scan scan) noexcept nogil:
        self._score(scan)
        if self.in_second_scan:
            _offer_block(self, scan)
        else:
            _update_best(self, scan)

    cdef void read_children(self, const Children* children) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef float64_t cost = 0.0
        cdef intp_t z
        cdef Cut cut
        cut.position = 0
        cut.missing_left = False
        if not self.in_second_scan:
            self.best.n_candidates = 1.0
            self.best.cut = cut
            self.best.score = -INFINITY     # a multiway split has no floor
            return
        self.node.scale_children(children)
        for z in range(children.n_outcomes):
            cost += self.interval.cost(
                children.scaled + z * K, sum_of(children.scaled + z * K, K),
                children.pool[z] * self.node.share, children.n_outcomes,
            )
            if cost > self.incumbent + self.tolerance:
                return
        _replace_incumbent(self, self.feature, cut, cost)

    cdef void choose(
        self, CandidateSplits candidates, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil:
        # The candidate with the smallest cost below the parent's limit. A feature whose
        # smallest floor is above the incumbent's cost cannot have it.
        cdef const Children* children = &candidates.children
        cdef float64_t floor
        cdef Best* best
        cdef Best stored
        cdef intp_t j, feature, n = 0
        self.interval.node_begin(&self.node.stats)
        _find_smallest_floors(self, visited, n_visited)
        if self.floors[0].feature < 0 and self.node.signs != NULL:
            split.reason = MONOTONIC_CST
        self.incumbent = self.interval.limit
        self.incumbent_feature = -1
        self.incumbent_cut.position = -1
        self.incumbent_cut.missing_left = False
        self.in_second_scan = True
        self.uses_phi_sums = False       # costs need counts
        while True:
            feature = -1
            floor = INFINITY
            for j in range(n_visited):
                if self.best_of[visited[j]].score < floor:
                    feature = visited[j]
                    floor = self.best_of[feature].score
            if feature < 0 or floor > self.incumbent + self.tolerance:
                break
            if floor > -INFINITY:
                candidates.count_children(feature, self.best_of[feature].cut)
                self.node.scale_children(children)
                _offer(
                    self, feature, self.best_of[feature].cut, children.scaled,
                    children.pool[0] * self.node.share, children.pool[1] * self.node.share,
                )
            best = self.best_of + feature
            stored = best[0]
            self.examine(feature, candidates)    # does not change the number of candidates
            best[0] = stored
            best.score = INFINITY           # do not examine this feature again
        split.feature = self.incumbent_feature
        split.cut = self.incumbent_cut
        if split.feature >= 0:
            best = self.best_of + split.feature
            _set_n_candidates(self, best.n_candidates, best.log_candidates)
        for j in range(MAX_STORED_COMPETITORS + 1):
            if n == MAX_STORED_COMPETITORS or self.floors[j].feature < 0:
                break
            if self.floors[j].feature != split.feature:
                split.competitors[n] = self.floors[j]
                n += 1
        if n < MAX_STORED_COMPETITORS:
            split.competitors[n].feature = -1
        split.evidence.child_limit = self.incumbent / self.node.stats.pool


cdef void _find_smallest_floors(
    SmallestCost selection, const int32_t* visited, intp_t n_visited
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
            selection.floors + i + 1, selection.floors + i, (n - 1 - i) * sizeof(CompetingSplit)
        )
        selection.floors[i].feature = visited[j]
        selection.floors[i].cut = best.cut
    if n <= MAX_STORED_COMPETITORS:
        selection.floors[n].feature = -1


cdef void _offer_block(SmallestCost selection, Scan scan) noexcept nogil:
    # Replace the incumbent by a better candidate of the block, if any.
    cdef float64_t pool_left
    cdef Cut cut
    cdef intp_t i
    cut.missing_left = scan.missing_left
    for i in range(scan.block.size):
        if selection.out[i] <= selection.incumbent + selection.tolerance:
            cut.position = scan.position[i]
            pool_left = scan.block.pool_left[i] * selection.node.share
            selection.node.scale_pair(scan.left + i * selection.node.n_classes, selection.pair)
            _offer(
                selection, selection.feature, cut, selection.pair, pool_left,
                selection.node.stats.pool - pool_left,
            )


cdef void _offer(
    SmallestCost selection, intp_t feature, Cut cut, const float64_t* pair,
    float64_t pool_left, float64_t pool_right,
) noexcept nogil:
    # Replace the incumbent if the candidate with this pair of children is better.
    cdef intp_t K = selection.node.n_classes
    cdef const float64_t* right = pair + K
    cdef float64_t ceiling = selection.incumbent + selection.tolerance
    cdef float64_t n_left = sum_of(pair, K), n_right = sum_of(right, K)
    cdef float64_t floor_left, floor_right, cost
    # a second lower limit of the cost, tighter than the score and cheaper than the cost
    floor_right = selection.interval.sharp_floor(right, n_right, pool_right, 2)
    floor_left = selection.interval.sharp_floor(pair, n_left, pool_left, 2)
    if floor_right + floor_left > ceiling:
        return
    cost = selection.interval.cost(pair, n_left, pool_left, 2)
    if cost + floor_right > ceiling:
        return
    cost += selection.interval.cost(right, n_right, pool_right, 2)
    _replace_incumbent(selection, feature, cut, cost)


cdef void _replace_incumbent(
    SmallestCost selection, intp_t feature, Cut cut, float64_t cost
) noexcept nogil:
    # If the candidate has a smaller cost, or the same cost and a lower feature or cut.
    cdef bint better
    if selection.incumbent_feature < 0:
        better = cost < selection.incumbent
    else:
        better = cost < selection.incumbent - selection.tolerance or (
            cost <= selection.incumbent + selection.tolerance
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


cdef float64_t NEGLIGIBLE = 40.0    # exp(-40) is far below the rounding error of 1


cdef class SummedEvidence(BestSplits):
    """The best candidate split of a node, and the evidence of all candidates."""

    def __init__(
        self, ExaminedNode node not None, Criterion criterion not None, Bound bound,
        intp_t largest_count,
    ):
        super().__init__(node, criterion, bound, largest_count)
        self.evidence = bound

    cdef void begin(self) noexcept nogil:
        BestSplits.begin(self)
        self.tolerance = tolerance_of(self.node.n)
        self.by_bound = True
        self.sums = True
        self.total = -INFINITY
        self.peak = INFINITY
        self.max_gap = NEGLIGIBLE + log(self.node.n_repeated)     # rows, counting repeats

    cdef void read(self, Scan scan) noexcept nogil:
        BestSplits.read(self, scan)
        if self.sums:
            _add_evidence(self, scan)

    cdef void read_children(self, const Children* children) noexcept nogil:
        if not self.by_bound:
            BestSplits.read_children(self, children)
            return
        self.best.n_candidates = 1.0
        self.best.cut.position = 0
        self.node.scale_children(children)
        self.best.score = self.bound_score.outcomes(children.scaled, children.n_outcomes)
        self.best.log_evidence = -self.best.score
        self.peak = fmin(self.peak, self.best.score)

    cdef void after_examine(self, intp_t feature, CandidateSplits candidates) noexcept nogil:
        if self.compares_at_once:
            _add_feature(self)
            self._compare(feature, candidates)

    cdef void choose(
        self, CandidateSplits candidates, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil:
        cdef intp_t j
        if not self.compares_at_once:
            for j in range(n_visited):
                self.best = self.best_of + visited[j]
                _add_feature(self)
        # the average over the features that have candidates
        self.evidence.log_evidence = self.total - log(
            <float64_t> self.node.stats.n_candidate_features
        )
        if not self.evidence.chooses:       # the criterion selects the best candidate
            self.by_bound = False
            self.sums = False
            _clear_best(self)
            for j in range(n_visited):
                self.examine(visited[j], candidates)
                if self.compares_at_once:
                    self._compare(visited[j], candidates)
        _rank_features(self, candidates, visited, n_visited, split)
        self.bound.node_begin(&self.node.stats)
        if split.feature >= 0:
            _set_candidates_of(self, &self.first)


cdef enum:      # states of a feature
    COUNTED         # its splits have been counted, but not compared
    WALKED          # its splits have been compared
    RANKED          # it was visited in the order of the p-values


cdef enum:
    # Rough sums: those of all features, computed together and exact up to rounding, which suffice
    # to exclude most features.
    MIN_ROUGH = 8           # features; fewer are tested one by one
    MAX_ROUGH = 65536       # sums; they fit into the second-level cache

cdef float64_t MARGIN = 1e-6    # of logarithms of p-values, much more than their errors


cdef class TestedFeatures(BestSplits):
    """The best candidate split of the feature with the smallest p-value."""

    def __init__(
        self, ExaminedNode node not None, Criterion criterion not None, Bound bound,
        intp_t largest_count,
    ):
        super().__init__(node, criterion, bound, largest_count, compares_at_once=False)
        cdef const int32_t[::1] n_categories = node.root.n_categories
        cdef intp_t K = node.n_classes
        # of a numeric feature, by class: weights, values and squares (Source.sum_by_class);
        # of a nominal one: the weights of its categories
        cdef intp_t n_sums = 3
        if n_categories is not None:
            n_sums = max(n_sums, 1 + np.max(n_categories))
        bound.reserve(K, n_sums)
        self.test = bound
        self.by_bound = self.by_node_test = self.ranks = True
        self.sums = <float64_t*> self.arena.take(n_sums * K, sizeof(float64_t))
        self.states = <uint8_t*> self.arena.take(node.n_features, sizeof(uint8_t))
        self.counted = <int32_t*> self.arena.take(node.n_features, sizeof(int32_t))
        if node.n_features >= MIN_ROUGH and (2 * K + 1) * node.n_features <= MAX_ROUGH:
            self.rough = <float64_t*> self.arena.take(
                (2 * K + 1) * node.n_features, sizeof(float64_t)
            )

    cdef void begin(self) noexcept nogil:
        BestSplits.begin(self)
        self.tolerance = tolerance_of(self.node.n)
        self.test.n_tested = 0

    cdef intp_t examine(self, intp_t feature, CandidateSplits candidates) noexcept nogil:
        # If the candidates can be counted, they are not compared unless the p-value is small.
        # n_admissible: those without a child below a smallest weight.
        cdef intp_t n_candidates = -1, n_admissible = 0
        if not (
            candidates.is_nominal(feature) or candidates.random_cuts or self.node.by_volume
        ):
            n_candidates = candidates.source.count_cuts(feature, &n_admissible)
        if n_candidates >= 0:
            self.states[feature] = COUNTED
            self.begin_feature(feature)
            self.best.n_candidates = n_admissible
            self.test.n_tested += n_candidates > 0
            return n_candidates
        self.states[feature] = WALKED
        n_candidates = BestSplits.examine(self, feature, candidates)
        if n_candidates == 0:
            return 0
        self.best.log_evidence = _test_feature(self, feature, candidates)
        if self.best.log_evidence == self.best.log_evidence:  # NaN: no test is possible
            self.test.n_tested += 1
        else:
            self.best.score = INFINITY
            self.best.n_candidates = 0.0
        return n_candidates

    cdef void read_children(self, const Children* children) noexcept nogil:
        self.best.n_candidates = 1.0
        self.best.cut.position = 0
        self.node.scale_children(children)
        self.best.score = self.bound_score.outcomes(children.scaled, children.n_outcomes)

    cdef void choose(
        self, CandidateSplits candidates, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil:
        _test_counted(self, candidates, visited, n_visited)
        self._walk_best_features(candidates, visited, n_visited)
        BestSplits.choose(self, candidates, visited, n_visited, split)
        self.test.log_pvalue = self.first.rank

    cdef void _walk_best_features(
        self, CandidateSplits candidates, const int32_t* visited, intp_t n_visited
    ) noexcept nogil:
        # A feature whose rank is above `max_rank` cannot be one of the stored competitors.
        cdef float64_t max_rank = INFINITY, log_pvalue
        cdef intp_t n_walked = 0, feature, j
        while True:
            feature = -1
            log_pvalue = INFINITY
            for j in range(n_visited):
                if self.states[visited[j]] != RANKED and (
                    self.best_of[visited[j]].log_evidence < log_pvalue
                ):
                    feature = visited[j]
                    log_pvalue = self.best_of[feature].log_evidence
            if feature < 0 or log_pvalue > max_rank:
                return
            if self.states[feature] == COUNTED and self.best_of[feature].n_candidates > 0.0:
                BestSplits.examine(self, feature, candidates)
                self.best.log_evidence = log_pvalue
            self.states[feature] = RANKED
            n_walked += self.best_of[feature].score < INFINITY
            if n_walked == MAX_STORED_COMPETITORS + 1 and max_rank == INFINITY:
                max_rank = log_pvalue + 2.0 * self.tolerance


cdef void _test_counted(
    TestedFeatures selection, CandidateSplits candidates, const int32_t* visited, intp_t n_visited
) noexcept nogil:
    # Test the features that have been counted only. P-values above those of the features
    # whose splits will be compared need not be exact.
    cdef float64_t limit = INFINITY
    cdef intp_t n = 0, feature, j
    for j in range(n_visited):
        if selection.states[visited[j]] == COUNTED:
            selection.counted[n] = visited[j]
            n += 1
    if (
        n >= MIN_ROUGH and selection.rough != NULL and selection.node.signs == NULL
        and candidates.source.sum_roughly(selection.counted, n, selection.rough)
    ):
        for j in range(n):
            feature = selection.counted[j]
            selection.best_of[feature].log_evidence = _test_roughly(selection, feature)
        limit = _largest_to_compare(selection, visited, n_visited)
    for j in range(n):
        feature = selection.counted[j]
        if limit == INFINITY or not selection.best_of[feature].log_evidence > limit:
            selection.best_of[feature].log_evidence = _test_feature(selection, feature, candidates)


cdef float64_t _largest_to_compare(
    TestedFeatures selection, const int32_t* visited, intp_t n_visited
) noexcept nogil:
    # An upper limit of the p-values of the features whose splits will be compared.
    cdef float64_t smallest[MAX_STORED_COMPETITORS + 1]
    cdef float64_t log_pvalue
    cdef const Best* best
    cdef intp_t i, j
    for i in range(MAX_STORED_COMPETITORS + 1):
        smallest[i] = INFINITY
    for j in range(n_visited):
        best = selection.best_of + visited[j]
        if not best.n_candidates > 0.0 or (
            selection.states[visited[j]] == WALKED and best.score == INFINITY
        ):
            continue
        log_pvalue = best.log_evidence
        for i in range(MAX_STORED_COMPETITORS + 1):
            if log_pvalue < smallest[i]:
                log_pvalue, smallest[i] = smallest[i], log_pvalue
    log_pvalue = smallest[MAX_STORED_COMPETITORS]
    return log_pvalue + 2.0 * selection.tolerance + MARGIN * (1.0 - log_pvalue)


cdef float64_t _test_roughly(TestedFeatures selection, intp_t feature) noexcept nogil:
    # Logarithm of the p-value, from the sums of Source.sum_roughly().
    cdef intp_t K = selection.node.n_classes
    cdef intp_t d = selection.node.n_features
    cdef intp_t c
    for c in range(K):
        selection.sums[c] = selection.node.counts[c]
        selection.sums[K + c] = selection.rough[c * d + feature]
        selection.sums[2 * K + c] = selection.rough[(K + c) * d + feature]
    _scale_sums(selection, 3)
    return selection.test.test_values(selection.sums, K)


cdef float64_t _test_feature(
    TestedFeatures selection, intp_t feature, CandidateSplits candidates
) noexcept nogil:
    # Logarithm of the p-value of a feature, whose categories have just been counted.
    cdef intp_t K = selection.node.n_classes
    cdef intp_t m, i
    if not candidates.is_nominal(feature):
        memset(selection.sums, 0, 3 * K * sizeof(float64_t))
        candidates.source.sum_by_class(feature, selection.sums)
        _scale_sums(selection, 3)
        return selection.test.test_values(selection.sums, K)
    m = candidates.sets.n_present
    for i in range(m):
        memcpy(
            selection.sums + i * K,
            candidates.sets.counts + candidates.sets.present[i] * (K + 1), K * sizeof(float64_t),
        )
    _scale_sums(selection, m)
    return selection.test.test_categories(selection.sums, m, K)


cdef void _scale_sums(TestedFeatures selection, intp_t m) noexcept nogil:
    # Convert [m, n_classes] sums to the scale of the bound.
    cdef intp_t K = selection.node.n_classes
    cdef float64_t factor
    cdef intp_t i, c
    if not selection.node.rescales:
        return
    for c in range(K):
        factor = selection.node.stats.n / selection.node.reweighted.n
        if selection.node.class_weight != NULL:
            factor *= selection.node.class_weight[c]
        for i in range(m):
            selection.sums[i * K + c] *= factor


cdef void _add_evidence(SummedEvidence selection, Scan scan) noexcept nogil:
    # log-sum-exp of the block is added to that of the earlier blocks; the score of a candidate
    # (`out`) is minus the logarithm of its evidence. The weight of a
    # candidate in the average is at most n times that of another, so that candidates whose
    # score exceeds the best one so far by `max_gap` change the average by less than its
    # rounding error.
    cdef float64_t peak, total = 0.0
    cdef intp_t i
    selection.peak = fmin(selection.peak, selection.best.score)
    peak = selection.peak
    for i in range(scan.block.size):
        if selection.out[i] - peak < selection.max_gap:
            total += exp(peak - selection.out[i])
    if total > 0.0:
        selection.best.log_evidence = _log_add(selection.best.log_evidence, log(total) - peak)


cdef void _add_feature(SummedEvidence selection) noexcept nogil:
    # Average over the candidates of the feature examined last, if it has any.
    if selection.best.n_candidates > 0.0:
        selection.total = _log_add(
            selection.total, selection.best.log_evidence - (
                log(selection.best.n_candidates) if selection.best.log_candidates < 0.0
                else selection.best.log_candidates
            )
        )


cdef float64_t _log_add(float64_t a, float64_t b) noexcept nogil:
    if a < b:
        a, b = b, a
    if b == -INFINITY:
        return a
    return a + log1p(exp(b - a))
