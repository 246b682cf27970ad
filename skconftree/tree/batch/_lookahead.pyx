"""Growth of a tree with look-ahead: upper splits are chosen by the subtrees below them.

Look-ahead grows trial trees below several candidate splits of a node, and makes the split whose
trial trees have the smallest cost.
"""

from libc.math cimport NAN
from libc.string cimport memset

from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.batch._builder cimport Builder, FrontierNode, Helpers, TrialNode
from skconftree.tree.batch._near_ties cimport RunnerUp
from skconftree.tree.nodes._node_table cimport TrialCosts
from skconftree.tree.nodes._tree cimport LeafCost, Tree, as_cheap
from skconftree.tree.split._split cimport Split
from skconftree.tree.split._splitter cimport Splitter
from skconftree.utils._inline cimport ROUNDING
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t


# LookaheadBuilder: chooses splits by look-ahead in some levels (depths) near the root of a tree.
#
# A bound is the rule that accepts or rejects a split (bounds/_contract.pxd).
# A FrontierNode is a leaf that may still split. Its record has the id, the depth and the range of
# rows of the node, its segments the ranges of its rows in sparse columns. The source stores rows,
# which a split partitions by child (outcome). Helpers are other threads that grow the same
# tree. A RunnerUp compares a split with the best splits of other features. The arena owns the
# arrays of a builder. ROUNDING is the relative tolerance of comparisons.
#
# The cost of a leaf is a LeafCost, such as an upper limit of its errors; that of a tree is the
# sum over its leaves. The cost of a candidate split is that of the trial trees below it: a
# builder without look-ahead grows a tree for each child, and the cost of its cheapest pruning
# is used. Trial trees are grown from the rows of the node and discarded. Only the costs of
# their nodes are stored, and the order of the rows is restored. Only splits that the bound
# accepts are tried. The runner-up is the cheapest split tried that is not made. TrialCosts are the
# costs of both, which the tree stores.
#
# Greedy growth depends on the rows of a node only. The trial tree of the split that is made
# therefore contains, for each child, the trial tree of the split that the child would make
# without look-ahead. It is passed to the child, which does not grow it again.
cdef class LookaheadBuilder(Builder):
    """Grows a tree depth-first, with look-ahead in some levels near its root.

    At nodes of these levels, it tries the split that would be made without look-ahead and
    the other splits of largest gain that the bound accepts. The split whose trial trees
    have the smallest cost is made; among equals the first one, then the one of larger
    gain. If none of them costs less than a leaf, the split without look-ahead is made,
    because a pruning will remove it unless its evidence is strong.

    It looks ahead at `n_levels` depths from `first` on, and tries `width` splits per
    node, at least 2, on `trial`, a tree without nodes. The splitter must have
    stores_all_features, so that it stores the best split of each feature. The settings
    must not limit the number of leaves. `on_progress`, or None, is called with a level
    and the number of its `n_parts` that are done, whenever it increases; a part is a
    share of the rows. If it returns True, the rest is grown without look-ahead.
    `runner_up` and `helpers` are those of a Builder; trial trees have other helpers, and
    their splits are not compared.
    """

    cdef Builder trial
    cdef LeafCost leaf_cost
    cdef TrialCosts trial_costs  # of the leaf that was examined last
    cdef intp_t first           # depths of look-ahead: first <= depth < end
    cdef intp_t end
    cdef intp_t width           # splits tried per node
    cdef Split* splits          # [width]
    cdef float64_t* scaled      # [n_classes] counts of a leaf on the scale of the bound: class
                                # weights change the proportions, but not the sum
    # Values of each node of the trial tree.
    cdef intp_t trial_capacity
    cdef float64_t* min_cost    # [trial_capacity] cost of its cheapest pruning
    cdef TrialNode* trial_nodes  # [trial_capacity]
    cdef TrialNode* best_trial_nodes  # [trial_capacity] of the best trial of the node so far
    cdef intp_t* queue          # [trial_capacity] scratch

    cdef TrialNode* chosen_trial   # of the split chosen last; NULL if none was tried

    # Callback for progress, or None, and the number of its calls per level.
    cdef object on_progress
    cdef intp_t n_parts
    cdef intp_t* parts_done     # [n_levels]

    def __init__(
        self, Splitter splitter, GrowthSettings settings, float64_t min_split_weight,
        Tree trial, LeafCost leaf_cost, intp_t first, intp_t n_levels, intp_t width,
        on_progress=None, intp_t n_parts=1, RunnerUp runner_up=None, Helpers helpers=None,
        Helpers trial_helpers=None,
    ):
        super().__init__(splitter, settings, min_split_weight, runner_up, helpers)
        leaf_cost.check()
        self.trial = Builder(splitter, settings, min_split_weight, helpers=trial_helpers)
        self.trial.tree = trial
        self.leaf_cost = leaf_cost
        self.first = first
        self.end = first + n_levels
        self.width = width
        self.on_progress = on_progress
        self.n_parts = n_parts
        self.parts_done = <intp_t*> self.arena.take(n_levels, sizeof(intp_t))
        memset(self.parts_done, 0, n_levels * sizeof(intp_t))
        self.splits = <Split*> self.arena.take(width, sizeof(Split))
        self.scaled = <float64_t*> self.arena.take(trial.n_classes, sizeof(float64_t))

    @property
    def trials(self):
        """The builder of trial trees."""
        return self.trial

    cdef void copy_lookahead(self, Builder other) noexcept:
        self.end = (<LookaheadBuilder> other).end

    cdef int _copy_arrays(self, FrontierNode* leaf) except -1 nogil:
        cdef const TrialNode* trial_nodes = leaf.trial_nodes
        Builder._copy_arrays(self, leaf)
        if trial_nodes != NULL:
            # the number of nodes is not stored
            self._ensure_capacity(_n_trial_nodes(trial_nodes))
            _copy_trial(self, leaf, trial_nodes, 0)
        return 0

    cdef bint _defers(self, const FrontierNode* leaf) except -1 nogil:
        # Whether helpers take the leaf. Progress is reported in the order of the nodes.
        if self.on_progress is not None and _looks_ahead_at(self, leaf.record.depth):
            return False
        return Builder._defers(self, leaf)

    cdef int _examine(self, FrontierNode* leaf) except -1 nogil:
        Builder._examine(self, leaf)
        self.chosen_trial = NULL
        _clear_trial_costs(self)
        if leaf.split.feature >= 0 and _looks_ahead_at(self, leaf.record.depth):
            self._choose_by_lookahead(leaf)
            if self.on_progress is not None:
                _report_progress(self, leaf)
        return 0

    cdef int _choose_by_lookahead(self, FrontierNode* leaf) except -1 nogil:
        cdef const float64_t* counts = (
            self.tree.counts + leaf.record.id * self.tree.n_classes
        )
        cdef intp_t best = 0
        cdef float64_t least = 0.0, cost
        cdef bint is_leaf_cheaper
        cdef intp_t n, i
        self.splits[0] = leaf.split
        self.chosen_trial = leaf.trial_nodes
        n = 1 + self.splitter.find_competitors(&leaf.split, self.width - 1, self.splits + 1)
        self.splitter.check()
        if n > 1:
            self.source.store_order(&leaf.record)
            for i in range(n):
                if i == 0 and leaf.trial_nodes != NULL:
                    cost = leaf.trial_nodes[0].cost_below
                else:
                    cost = _grow_trial(self, leaf, &self.splits[i])
                    self.source.restore_order()
                if i == 0 or cost < least * (1.0 - ROUNDING):
                    if i > 0:
                        _record_competitor(self, least, best)
                    least = cost
                    best = i
                    self.trial_nodes, self.best_trial_nodes = (
                        self.best_trial_nodes, self.trial_nodes
                    )
                elif not cost >= self.trial_costs.runner_up_cost:  # NaN before any other split
                    _record_competitor(self, cost, i)
            self.splitter.node.scale(counts, self.scaled)
            # as_cheap: at most as expensive, within the tolerance
            is_leaf_cheaper = as_cheap(self.leaf_cost.of(self.scaled, self.tree.n_classes), least)
            if best == 0 and leaf.trial_nodes == NULL or best > 0 and not is_leaf_cheaper:
                self.chosen_trial = self.best_trial_nodes
            if is_leaf_cheaper:
                _clear_trial_costs(self)
            else:
                self.trial_costs.cost = least
                leaf.split = self.splits[best]
        self.splitter.recount_children(&leaf.record, counts, &leaf.split)
        return 0

    cdef int _write_split(self, intp_t node, const Split* split) except -1 nogil:
        Builder._write_split(self, node, split)
        if self.tree.costs != NULL:
            # its children are not added yet, so that it is not counted by n_splits()
            self.tree.costs[self.tree.n_splits()] = self.trial_costs
        return 0

    cdef int _make_child(self, FrontierNode* parent, intp_t node, intp_t outcome) except -1 nogil:
        cdef FrontierNode* child
        Builder._make_child(self, parent, node, outcome)
        child = &self.new_children[self.n_new_children - 1]
        if self.chosen_trial != NULL and _looks_ahead_at(self, child.record.depth):
            _copy_trial(self, child, self.chosen_trial, self.chosen_trial[0].first_child + outcome)
        return 0

    cdef int _ensure_capacity(self, intp_t n) except -1 nogil:
        if n <= self.trial_capacity:
            return 0
        self.trial_capacity = 0
        self.min_cost = <float64_t*> self.arena.resize(self.min_cost, n, sizeof(float64_t))
        self.trial_nodes = <TrialNode*> self.arena.resize(self.trial_nodes, n, sizeof(TrialNode))
        self.best_trial_nodes = <TrialNode*> self.arena.resize(
            self.best_trial_nodes, n, sizeof(TrialNode)
        )
        self.queue = <intp_t*> self.arena.resize(self.queue, n, sizeof(intp_t))
        self.trial_capacity = n
        return 0


cdef bint _looks_ahead_at(LookaheadBuilder builder, intp_t depth) noexcept nogil:
    return builder.first <= depth < builder.end


cdef int _report_progress(LookaheadBuilder builder, const FrontierNode* leaf) except -1 nogil:
    # Depth-first growth visits the nodes of a level in the order of their rows. All rows
    # before a node have been visited in all levels.
    cdef intp_t level
    for level in range(builder.end - builder.first):
        if builder.first + level <= leaf.record.depth:
            _report_level(builder, level, leaf.record.end)
        else:
            _report_level(builder, level, leaf.record.start)
    return 0


cdef int _report_level(LookaheadBuilder builder, intp_t level, intp_t rows) except -1 nogil:
    # Report that this number of rows has been visited in a level, if a further part is done.
    cdef intp_t done = rows * builder.n_parts // builder.source.n_rows
    cdef bint stops
    if done > builder.parts_done[level] and builder.first < builder.end:
        builder.parts_done[level] = done
        with gil:
            stops = builder.on_progress(level, done)
        if stops:
            builder.end = builder.first
    return 0


cdef int _copy_trial(
    LookaheadBuilder builder, FrontierNode* child, const TrialNode* trial_nodes, intp_t node
) except -1 nogil:
    # Copy the part of a tree below one of its nodes, parents first.
    cdef intp_t n = 1, i = 0, z
    builder.queue[0] = node
    while i < n:
        for z in range(trial_nodes[builder.queue[i]].n_children):
            builder.queue[n] = trial_nodes[builder.queue[i]].first_child + z
            n += 1
        i += 1
    child.trial_nodes = <TrialNode*> builder.arena.take(n, sizeof(TrialNode))
    n = 1
    for z in range(i):
        child.trial_nodes[z] = trial_nodes[builder.queue[z]]
        child.trial_nodes[z].first_child = <int32_t> n
        n += child.trial_nodes[z].n_children
    return 0


cdef void _clear_trial_costs(LookaheadBuilder builder) noexcept nogil:
    builder.trial_costs.cost = NAN
    builder.trial_costs.runner_up_cost = NAN
    builder.trial_costs.runner_up_feature = -2      # none


cdef void _record_competitor(
    LookaheadBuilder builder, float64_t cost, intp_t split
) noexcept nogil:
    # Record the cheapest split that is not made so far.
    builder.trial_costs.runner_up_cost = cost
    builder.trial_costs.runner_up_feature = builder.splits[split].feature


cdef float64_t _grow_trial(
    LookaheadBuilder builder, const FrontierNode* leaf, Split* split
) except? -1.0 nogil:
    # Cost of the trial trees below a split. Changes the order of the rows of the node.
    cdef const float64_t* counts = (
        builder.tree.counts + leaf.record.id * builder.tree.n_classes
    )
    cdef FrontierNode root = leaf[0]
    builder.splitter.recount_children(&root.record, counts, split)
    builder.trial.tree.clear()
    # the root (-1 = no parent); its number of rows and impurity are not used
    builder.trial.tree.add_leaf(-1, counts, 0, 0.0)
    builder.trial.tree.depth[0] = <int32_t> root.record.depth
    root.record.id = 0
    root.segments = NULL
    root.n_segments = 0
    root.split = split[0]
    builder.trial.n_root = root.record.end - root.record.start
    builder.trial._split_leaf(&root)
    builder.trial._grow_depth_first()
    return _cost_below_root(builder)


cdef float64_t _cost_below_root(LookaheadBuilder builder) except? -1.0 nogil:
    # Cost of the cheapest pruning of the trial tree below its root.
    cdef intp_t K = builder.tree.n_classes
    cdef intp_t node = builder.trial.tree.node_count
    cdef TrialNode* trial
    cdef float64_t cost
    cdef intp_t child
    if node > builder.trial_capacity:
        builder._ensure_capacity(builder.trial.tree.capacity)
    # children have larger ids than their parent
    while True:
        node -= 1
        trial = &builder.trial_nodes[node]
        trial.first_child = builder.trial.tree.first_child[node]
        trial.n_children = builder.trial.tree.n_children[node]
        trial.cost_below = 0.0
        for child in range(trial.first_child, trial.first_child + trial.n_children):
            trial.cost_below += builder.min_cost[child]
        if node == 0:
            return trial.cost_below
        builder.splitter.node.scale(builder.trial.tree.counts + node * K, builder.scaled)
        cost = builder.leaf_cost.of(builder.scaled, K)
        if trial.n_children > 0 and not as_cheap(cost, trial.cost_below):
            cost = trial.cost_below
        builder.min_cost[node] = cost


cdef intp_t _n_trial_nodes(const TrialNode* trial_nodes) noexcept nogil:
    # Number of nodes of a trial tree: its last node is a last child.
    cdef intp_t n = 1, i = 0
    while i < n:
        if trial_nodes[i].n_children > 0:
            n = trial_nodes[i].first_child + trial_nodes[i].n_children
        i += 1
    return n
