"""Values of nodes under monotonicity constraints: bounds, pairs of leaves, isotonic regression.

The value of a node is its probability of class 1, of two classes. `signs` has the constraint of
each feature (`monotonic_cst`): 1 if the value must not decrease with the feature, -1 if it must
not increase, 0 without a constraint. A bound is a limit of the values.
"""

import numpy as np
from libc.math cimport INFINITY, isinf, log

from skconftree.tree.nodes._routing cimport Branching
from skconftree.tree.nodes._shrinkage cimport sum_of
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int8_t, intp_t, uint64_t

cdef float64_t UNKNOWN_WEIGHT = 1e-6    # of a node at which rows of unknown categories stay,
                                        # and of a leaf without weight


cdef inline intp_t _sign(Tree tree, const int8_t* signs, intp_t node) noexcept nogil:
    # Sign of the feature of a split; "is the value missing?" is not constrained.
    if tree.n_children[node] == 0 or isinf(tree.nodes[node].threshold):
        return 0
    return signs[tree.nodes[node].feature]


def clipped_values(
    Tree tree not None, const int8_t[::1] signs not None, const float64_t[:, ::1] raw not None,
    const float64_t[:, ::1] values not None,
):
    """Clip class probabilities of all nodes into the bounds of the splits above them.

    A split on a feature with a sign sets a bound halfway between the `raw` probabilities of
    its two children (those before shrinkage toward ancestors), within the bounds of its
    node. Growth computes the same bounds, which differ only if pruning has moved rows.
    """
    cdef intp_t n = tree.node_count
    result = np.empty((n, 2))
    bounds = np.empty((2, n))
    cdef float64_t[:, ::1] bound = bounds
    cdef float64_t[:, ::1] out = result
    cdef intp_t node, above, left, sign
    cdef float64_t middle
    bound[0, 0] = -INFINITY
    bound[1, 0] = INFINITY
    with nogil:
        # children have larger ids than their parent, and siblings are adjacent
        for node in range(n):
            if node > 0:
                above = tree.parent[node]
                bound[0, node] = bound[0, above]
                bound[1, node] = bound[1, above]
                sign = _sign(tree, &signs[0], above)
                if sign != 0:
                    left = tree.first_child[above]
                    middle = 0.5 * (raw[left, 1] + raw[left + 1, 1])
                    middle = min(max(middle, bound[0, above]), bound[1, above])
                    # the upper child gets a lower bound
                    bound[0 if (node > left) == (sign > 0) else 1, node] = middle
            out[node, 1] = min(max(values[node, 1], bound[0, node]), bound[1, node])
            out[node, 0] = 1.0 - out[node, 1]
    return result


def isotonic_values(
    Tree tree not None, const int8_t[::1] signs not None, const float64_t[:, ::1] target not None,
    const float64_t[:, ::1] clipped not None, const float64_t[::1] weight not None,
):
    """Class probabilities of all nodes, with isotonic ones at the leaves.

    Those of the leaves are in the right order for any pair of rows, and have the smallest
    weighted sum of squares to `target`. None if the `clipped` ones have a smaller
    cross-entropy, because nodes without weight count a little.
    """
    cdef intp_t n = tree.node_count, n_leaves = 0, i, node
    cdef ComparableNodes order = ComparableNodes(tree, signs)
    cdef IsotonicRegression regression
    cdef Arena arena = order.arena
    # of the terminal nodes, defined below
    cdef float64_t* targets = <float64_t*> arena.take(n, sizeof(float64_t))
    cdef float64_t* weights = <float64_t*> arena.take(n, sizeof(float64_t))
    # of the leaves: weighted log-likelihoods; a loss is minus their sum
    cdef float64_t* loss = <float64_t*> arena.take(n, sizeof(float64_t))
    cdef float64_t* clipped_loss = <float64_t*> arena.take(n, sizeof(float64_t))
    cdef bint fits_better
    cdef float64_t[:, ::1] out
    with nogil:
        order.collect()
        n = order.n_nodes
        for i in range(n):
            node = order.nodes[i]
            targets[i] = target[node, 1]
            weights[i] = weight[node]
            if tree.n_children[node] > 0 or not weights[i] > 0.0:
                weights[i] = UNKNOWN_WEIGHT
    regression = IsotonicRegression(n, order.n_pairs)
    with nogil:
        regression.solve(targets, weights, order.first, order.second)
        for i in range(n):
            node = order.nodes[i]
            if tree.n_children[node] == 0:
                loss[n_leaves] = weight[node] * _log_likelihood(targets[i], regression.value[i])
                clipped_loss[n_leaves] = (
                    weight[node] * _log_likelihood(targets[i], clipped[node, 1])
                )
                n_leaves += 1
        fits_better = -sum_of(loss, n_leaves) <= -sum_of(clipped_loss, n_leaves)
    if not fits_better:
        return None
    result = np.array(clipped)
    out = result
    for i in range(n):
        node = order.nodes[i]
        out[node, 1] = regression.value[i]
        out[node, 0] = 1.0 - regression.value[i]
    return result


cdef inline float64_t _log_likelihood(float64_t target, float64_t value) noexcept nogil:
    return _xlogy(target, value) + _xlogy(1.0 - target, 1.0 - value)


cdef inline float64_t _xlogy(float64_t x, float64_t y) noexcept nogil:
    return 0.0 if x == 0.0 else x * log(y)


# -- pairs of nodes whose values must be in order -----------------------------------
# Terminal nodes are those where the path of a row may end: leaves, and nominal splits, where
# rows of unknown categories stay. Two terminal nodes are comparable if rows that differ in
# constrained features only may reach both. They lie on different sides of a constrained
# split, which is their lowest common ancestor. For each such split and each terminal node on
# its lower side, the upper side is traversed. A subtree is skipped if the values of the
# feature that lead to it do not match those of the terminal node.

cdef enum:
    LOWER = 0
    UPPER = 1
    WORD = 64                   # bits
    INITIAL_PAIRS = 256


cdef struct Reach:
    # The values of a feature that reach a node.
    float64_t low               # a numeric feature: values in (low, high]
    float64_t high
    uint64_t* categories        # a nominal feature: a set of bits; NULL: all of them
    bint missing                # whether missing values of a numeric feature do


cdef class ComparableNodes:
    """Pairs of terminal nodes of a tree, the first of which must not have a larger value."""

    cdef Tree tree
    cdef const int8_t* signs    # [n_features], of the caller
    cdef Arena arena
    cdef intp_t n_nodes
    cdef intp_t* nodes          # [n_nodes] ids of the terminal nodes, ascending
    cdef intp_t* index          # [node_count] index of a node in `nodes`, -1 if not terminal
    cdef intp_t n_words         # of a set of categories; the last bit that is used is any
                                # category without a code
    cdef Reach* reach           # [2 * node_count] of each node, in the feature of its parent;
                                # in the second half, of the rows that stay at a nominal split
    cdef intp_t* outer          # [node_count] nearest ancestor whose parent has the same
                                # feature, 0 = none
    cdef intp_t* at[2]          # [2, n_features] index in `reach` of the values of each feature
                                # that reach the current node of the LOWER and the UPPER side
    cdef intp_t n_pairs
    cdef intp_t capacity
    cdef intp_t* first          # [capacity] indices in `nodes`
    cdef intp_t* second

    def __init__(self, Tree tree not None, const int8_t[::1] signs not None):
        cdef intp_t n = tree.node_count, d = tree.n_features
        if signs.shape[0] != d:
            raise ValueError(f"The tree has {d} features, but there are {signs.shape[0]} signs.")
        self.tree = tree
        self.signs = &signs[0]
        self.arena = Arena()
        self.nodes = <intp_t*> self.arena.take(n, sizeof(intp_t))
        self.index = <intp_t*> self.arena.take(n, sizeof(intp_t))
        self.reach = <Reach*> self.arena.take_zeros(2 * n, sizeof(Reach))
        self.outer = <intp_t*> self.arena.take_zeros(n, sizeof(intp_t))
        self.at[LOWER] = <intp_t*> self.arena.take_zeros(d, sizeof(intp_t))
        self.at[UPPER] = <intp_t*> self.arena.take_zeros(d, sizeof(intp_t))
        self.capacity = INITIAL_PAIRS
        self.first = <intp_t*> self.arena.take(self.capacity, sizeof(intp_t))
        self.second = <intp_t*> self.arena.take(self.capacity, sizeof(intp_t))

    cdef int collect(self) except -1 nogil:
        # Set the terminal nodes and the pairs. The `first` of a node's branching is negative
        # unless its split is nominal.
        cdef intp_t n_codes = 0, node, sign, left
        for node in range(self.tree.node_count):
            n_codes = max(n_codes, self.tree.branching[node].n_codes)
            self.index[node] = -1
            if self.tree.n_children[node] == 0 or self.tree.branching[node].first >= 0:
                self.index[node] = self.n_nodes
                self.nodes[self.n_nodes] = node
                self.n_nodes += 1
        self.n_words = n_codes // WORD + 1
        self.reach[0] = Reach(-INFINITY, INFINITY, NULL, True)
        # children have larger ids than their parent
        for node in range(self.tree.node_count):
            if self.tree.n_children[node] == 0:
                continue
            if self.tree.branching[node].first >= 0:
                self._set_categories(node)
            else:
                self._set_intervals(node)
        for node in range(self.tree.node_count):
            sign = _sign(self.tree, self.signs, node)
            if sign != 0:
                left = self.tree.first_child[node]
                self._compare_sides(node, left + (sign < 0), left + (sign > 0))
        return 0

    cdef intp_t _nearest(self, intp_t node, intp_t feature) noexcept nogil:
        # The node, or its nearest ancestor, whose parent has the feature; 0 = none.
        while node > 0 and self.tree.nodes[self.tree.parent[node]].feature != feature:
            node = self.tree.parent[node]
        return node

    cdef void _set_intervals(self, intp_t node) noexcept nogil:
        cdef intp_t left = self.tree.first_child[node]
        cdef float64_t threshold = self.tree.nodes[node].threshold
        cdef intp_t outer = self._nearest(node, self.tree.nodes[node].feature)
        cdef Reach* reach = self.reach + left
        self.outer[left] = self.outer[left + 1] = outer
        reach[0] = reach[1] = self.reach[outer]
        reach[0].high = min(reach[0].high, threshold)
        reach[1].low = max(reach[1].low, threshold)
        reach[1 if self.tree.branching[node].missing_left else 0].missing = False
        if threshold == INFINITY:   # only rows without a value
            reach[1].high = -INFINITY

    cdef int _set_categories(self, intp_t node) except -1 nogil:
        cdef const Branching* branching = &self.tree.branching[node]
        cdef intp_t left = self.tree.first_child[node], n_children = self.tree.n_children[node]
        cdef intp_t outer = self._nearest(node, self.tree.nodes[node].feature), child, code, word
        cdef const Reach* outside = self.reach + outer
        cdef uint64_t* sets = <uint64_t*> self.arena.take_zeros(
            (n_children + 1) * self.n_words, sizeof(uint64_t)
        )
        cdef uint64_t* stay = sets + n_children * self.n_words
        cdef uint64_t bit
        for child in range(left, left + n_children):
            self.outer[child] = outer
            self.reach[child] = outside[0]
            self.reach[child].categories = sets + (child - left) * self.n_words
        self.reach[self.tree.node_count + node] = outside[0]
        self.reach[self.tree.node_count + node].categories = stay
        for word in range(self.n_words):
            stay[word] = <uint64_t> -1 if outside.categories == NULL else outside.categories[word]
        for code in range(branching.n_codes):
            # index among the children, -1 if the category did not occur at the node
            child = self.tree.child_of_code[branching.first + code]
            bit = <uint64_t> 1 << (code % WORD)
            if child >= 0:
                sets[child * self.n_words + code // WORD] |= stay[code // WORD] & bit
                stay[code // WORD] &= ~bit
        return 0

    cdef bint _meets(self, intp_t feature) noexcept nogil:
        # Whether equal values of the feature, or ordered ones of a constrained feature, reach
        # the current nodes of both sides.
        cdef const Reach* lower = self.reach + self.at[LOWER][feature]
        cdef const Reach* upper = self.reach + self.at[UPPER][feature]
        cdef const uint64_t* a = lower.categories
        cdef const uint64_t* b = upper.categories
        cdef intp_t word
        if a != NULL or b != NULL:
            for word in range(self.n_words):
                if (a[word] if b == NULL else b[word] if a == NULL else a[word] & b[word]) != 0:
                    return True
            return False
        if lower.missing and upper.missing:
            return True
        if self.signs[feature] > 0:
            return lower.low < upper.high
        if self.signs[feature] < 0:
            return upper.low < lower.high
        return max(lower.low, upper.low) < min(lower.high, upper.high)

    cdef int _compare_sides(self, intp_t split, intp_t lower, intp_t upper) except -1 nogil:
        # Add the pairs whose lowest common ancestor is a constrained split, with the children
        # `lower` and `upper`.
        cdef intp_t node = split, feature
        cdef bint meets = True
        while node > 0:
            feature = self.tree.nodes[self.tree.parent[node]].feature
            if self.at[LOWER][feature] == 0:
                self.at[LOWER][feature] = self.at[UPPER][feature] = node
                meets = meets and self._meets(feature)
            node = self.tree.parent[node]
        if meets:
            self.at[UPPER][self.tree.nodes[split].feature] = upper
            self._visit(lower, upper, LOWER, -1)      # -1: no `first` value yet
        node = split
        while node > 0:
            feature = self.tree.nodes[self.tree.parent[node]].feature
            self.at[LOWER][feature] = self.at[UPPER][feature] = 0
            node = self.tree.parent[node]
        feature = self.tree.nodes[split].feature
        self.at[LOWER][feature] = self.at[UPPER][feature] = 0
        return 0

    cdef int _visit(self, intp_t top, intp_t other, intp_t side, intp_t first) except -1 nogil:
        # Visit a subtree in preorder, but skip subtrees that do not meet the other side. From
        # each terminal node of the LOWER side, visit the `other` subtree; at those of the UPPER
        # side, add a pair with the `first` value.
        cdef intp_t* at = self.at[side]
        cdef intp_t node = top, feature = self.tree.nodes[self.tree.parent[top]].feature, above
        cdef bint meets
        while True:
            at[feature] = node
            meets = self._meets(feature)
            if meets and self.index[node] >= 0:
                self._end(node, other, side, first)
            if meets and self.tree.n_children[node] > 0:
                feature = self.tree.nodes[node].feature
                node = self.tree.first_child[node]
                continue
            while True:
                above = self.tree.parent[node]
                feature = self.tree.nodes[above].feature
                if node == top:
                    at[feature] = self.outer[node]
                    return 0
                if node + 1 < self.tree.first_child[above] + self.tree.n_children[above]:
                    node += 1
                    break
                at[feature] = self.outer[node]
                node = above

    cdef int _end(self, intp_t node, intp_t other, intp_t side, intp_t first) except -1 nogil:
        # Handle a terminal node, see `_visit`.
        cdef intp_t feature = self.tree.nodes[node].feature, arrived = 0
        cdef bint is_nominal = self.tree.n_children[node] > 0
        if is_nominal:
            arrived = self.at[side][feature]
            self.at[side][feature] = self.tree.node_count + node
        if not is_nominal or self._meets(feature):
            if side == LOWER:
                self._visit(other, -1, UPPER, self.index[node])     # -1: no further side
            else:
                self._add_pair(first, self.index[node])
        if is_nominal:
            self.at[side][feature] = arrived
        return 0

    cdef int _add_pair(self, intp_t first, intp_t second) except -1 nogil:
        if self.n_pairs == self.capacity:
            self.capacity *= 2
            self.first = <intp_t*> self.arena.resize(self.first, self.capacity, sizeof(intp_t))
            self.second = <intp_t*> self.arena.resize(self.second, self.capacity, sizeof(intp_t))
        self.first[self.n_pairs] = first
        self.second[self.n_pairs] = second
        self.n_pairs += 1
        return 0


def comparable_nodes(Tree tree not None, const int8_t[::1] signs not None):
    """Ids of the terminal nodes, and [2, n_pairs] indices of those in a required order."""
    cdef ComparableNodes order = ComparableNodes(tree, signs)
    with nogil:
        order.collect()
    nodes = [order.nodes[i] for i in range(order.n_nodes)]
    first = [order.first[i] for i in range(order.n_pairs)]
    second = [order.second[i] for i in range(order.n_pairs)]
    return np.array(nodes, dtype=np.intp), np.array([first, second], dtype=np.intp)


# -- isotonic regression ------------------------------------------------------------
# The isotonic recursive partitioning of Luss, Rosset and Shahar (2012). A group of values is
# divided into a lower and an upper group, until all values of a group should be its mean.
# An upper group may be any set that contains, with each value, all values of the group that
# must not be smaller. Among these sets, the one with the largest sum of the excesses
# weight * (target - mean) is selected. It is found as a minimum cut: values of positive excess
# are sources of a flow, values of negative excess are sinks, and each pair is an edge of
# infinite capacity from its lower to its upper value. After a maximum flow, the upper group
# consists of the values that can be reached from sources with remaining excess. The maximum
# flow is computed by Dinic's algorithm: blocking flows along shortest paths.

cdef float64_t TOLERANCE = 1e-12    # of the remaining excess, relative to the positive sum


def isotonic_regression(target, weight, first, second):
    """Minimize the weighted sum of squares so that no first value is above the second.

    The pairs must define a partial order, and the weights be above 0.
    """
    cdef const float64_t[::1] targets = target
    cdef const float64_t[::1] weights = weight
    cdef const intp_t[:, ::1] pairs = np.ascontiguousarray([first, second], dtype=np.intp)
    cdef intp_t n = targets.shape[0], m = pairs.shape[1]
    cdef IsotonicRegression regression = IsotonicRegression(n, m)
    result = np.empty(n)
    cdef float64_t[::1] value = result
    cdef intp_t i
    if n > 0:
        with nogil:
            regression.solve(
                &targets[0], &weights[0], &pairs[0, 0] if m else NULL, &pairs[1, 0] if m else NULL
            )
            for i in range(n):
                value[i] = regression.value[i]
    return result


cdef class IsotonicRegression:
    """Isotonic values of `n` targets with `m` pairs.

    The residual graph has an edge from the lower to the upper value of each pair, and the
    reverse edge if the pair has a flow.
    """

    cdef intp_t n
    cdef intp_t m
    cdef const float64_t* target    # [n]
    cdef const float64_t* weight    # [n]
    cdef const intp_t* ends[2]      # [2, m] the lower and the upper value of each pair
    cdef intp_t* start[2]           # [2, n + 1] in `pairs`, of the pairs within a group in which
    cdef intp_t* end[2]             # each value is the lower one, and in which it is the upper one
    cdef intp_t* pairs[2]           # [2, m] indices of pairs, sorted by that value
    cdef intp_t* members            # [n] indices of the values, group by group
    cdef intp_t* level              # [n] length of the shortest path to it, -1 = none
    cdef intp_t* arc                # [n] the next edge to try
    cdef intp_t* queue              # [n + 1] values of a search or of a path
    cdef intp_t* via                # [n + 1] pair of each edge of a path; ~pair: reverse edge
    cdef intp_t* stack              # [2 (n + 1)] ranges of `members` that are groups
    cdef float64_t* excess          # [n] remaining; negative at a sink
    cdef float64_t* flow            # [m]
    cdef float64_t* value           # [n]
    cdef float64_t min_excess       # a smaller excess of a source is ignored
    cdef Arena arena

    def __init__(self, intp_t n, intp_t m):
        cdef Arena arena = Arena()
        cdef intp_t side
        self.n = n
        self.m = m
        for side in range(2):
            self.start[side] = <intp_t*> arena.take_zeros(n + 1, sizeof(intp_t))
            self.end[side] = <intp_t*> arena.take(n, sizeof(intp_t))
            self.pairs[side] = <intp_t*> arena.take(m, sizeof(intp_t))
        self.members = <intp_t*> arena.take(n, sizeof(intp_t))
        self.level = <intp_t*> arena.take(n, sizeof(intp_t))
        self.arc = <intp_t*> arena.take_zeros(n, sizeof(intp_t))
        self.queue = <intp_t*> arena.take(n + 1, sizeof(intp_t))
        self.via = <intp_t*> arena.take(n + 1, sizeof(intp_t))
        self.stack = <intp_t*> arena.take(2 * (n + 1), sizeof(intp_t))
        self.excess = <float64_t*> arena.take(n, sizeof(float64_t))
        self.flow = <float64_t*> arena.take(m, sizeof(float64_t))
        self.value = <float64_t*> arena.take(n, sizeof(float64_t))
        self.arena = arena

    cdef void solve(
        self, const float64_t* target, const float64_t* weight, const intp_t* first,
        const intp_t* second,
    ) noexcept nogil:
        # Set the values.
        cdef intp_t n_ranges = 1, begin, end, middle, i
        cdef bint changed = True
        self.target = target
        self.weight = weight
        self.ends[0] = first
        self.ends[1] = second
        self._sort_pairs(0)
        self._sort_pairs(1)
        for i in range(self.n):
            self.members[i] = i
            self.value[i] = target[i]
        self.stack[0] = 0
        self.stack[1] = self.n
        while n_ranges > 0:
            n_ranges -= 1
            begin = self.stack[2 * n_ranges]
            end = self.stack[2 * n_ranges + 1]
            if self._is_in_order(begin, end):
                continue
            middle = self._divide(begin, end)
            if middle < end:
                self.stack[2 * n_ranges + 1] = middle
                self.stack[2 * n_ranges + 2] = middle
                self.stack[2 * n_ranges + 3] = end
                n_ranges += 2
        while changed:      # rounding errors may have changed the order
            changed = False
            for i in range(self.m):
                if self.value[first[i]] > self.value[second[i]]:
                    self.value[second[i]] = self.value[first[i]]
                    changed = True

    cdef void _sort_pairs(self, intp_t side) noexcept nogil:
        # Sort the pairs by the value on one side, and those of a value by their index.
        cdef intp_t* start = self.start[side]
        cdef intp_t i, node
        for i in range(self.m):
            start[self.ends[side][i] + 1] += 1
        for node in range(self.n):
            start[node + 1] += start[node]
        for i in range(self.m - 1, -1, -1):
            node = self.ends[side][i]
            start[node + 1] -= 1
            self.pairs[side][start[node + 1]] = i
        for node in range(self.n):      # the ends have become the starts
            start[node] = start[node + 1]
            self.end[side][node] = start[node + 2] if node + 2 <= self.n else self.m
        start[self.n] = self.m

    cdef bint _is_in_order(self, intp_t begin, intp_t end) noexcept nogil:
        cdef intp_t i, k, node
        for i in range(begin, end):
            node = self.members[i]
            for k in range(self.start[0][node], self.end[0][node]):
                if self.target[node] > self.target[self.ends[1][self.pairs[0][k]]]:
                    return False
        return True

    cdef intp_t _divide(self, intp_t begin, intp_t end) noexcept nogil:
        # Move the upper group to the end of the range; return where it begins. If the
        # group is not divided, set its values to the mean and return `end`.
        cdef float64_t total = 0.0, mean = 0.0
        cdef intp_t i, k, node, middle = end
        for i in range(begin, end):
            node = self.members[i]
            total += self.weight[node]
            mean += self.weight[node] * self.target[node]
        mean /= total
        total = 0.0
        for i in range(begin, end):
            node = self.members[i]
            self.excess[node] = self.weight[node] * (self.target[node] - mean)
            total += max(self.excess[node], 0.0)
            for k in range(self.start[0][node], self.end[0][node]):
                self.flow[self.pairs[0][k]] = 0.0
        self.min_excess = TOLERANCE * total
        while self._find_levels(begin, end):
            self._push(begin, end)
        i = begin
        while i < middle:
            node = self.members[i]
            if self.level[node] >= 0:
                middle -= 1
                self.members[i] = self.members[middle]
                self.members[middle] = node
            else:
                i += 1
        if middle == begin:     # a rounding error
            middle = end
        for i in range(begin, end):
            node = self.members[i]
            if middle == end:
                self.value[node] = mean
            else:
                self._drop_pairs(node, 0)
                self._drop_pairs(node, 1)
        return middle

    cdef void _drop_pairs(self, intp_t node, intp_t side) noexcept nogil:
        # Drop the pairs of a value with values of the other group.
        cdef intp_t* pairs = self.pairs[side]
        cdef intp_t end = self.start[side][node]
        cdef intp_t k, other
        for k in range(end, self.end[side][node]):
            other = self.ends[1 - side][pairs[k]]
            if (self.level[other] >= 0) == (self.level[node] >= 0):
                pairs[end] = pairs[k]
                end += 1
        self.end[side][node] = end

    cdef intp_t _edge(self, intp_t node, intp_t arc, intp_t* pair) noexcept nogil:
        # The value at the other end of an edge of the residual graph; -1 if the edge has
        # no capacity, -2 after the last edge.
        cdef intp_t n_out = self.end[0][node] - self.start[0][node]
        if arc < n_out:
            pair[0] = self.pairs[0][self.start[0][node] + arc]
            return self.ends[1][pair[0]]
        arc += self.start[1][node] - n_out
        if arc >= self.end[1][node]:
            return -2
        pair[0] = ~self.pairs[1][arc]
        return self.ends[0][~pair[0]] if self.flow[~pair[0]] > 0.0 else -1

    cdef bint _find_levels(self, intp_t begin, intp_t end) noexcept nogil:
        # Breadth-first search from the sources. Returns whether it reaches a sink.
        cdef intp_t size = 0, head = 0, arc, i, node, other, pair
        cdef bint found = False
        for i in range(begin, end):
            node = self.members[i]
            self.level[node] = -1
            self.arc[node] = 0
            if self.excess[node] > self.min_excess:
                self.level[node] = 0
                self.queue[size] = node
                size += 1
        while head < size:
            node = self.queue[head]
            head += 1
            found = found or self.excess[node] < 0.0
            arc = 0
            while True:
                other = self._edge(node, arc, &pair)
                arc += 1
                if other == -2:
                    break
                if other >= 0 and self.level[other] < 0:
                    self.level[other] = self.level[node] + 1
                    self.queue[size] = other
                    size += 1
        return found

    cdef void _push(self, intp_t begin, intp_t end) noexcept nogil:
        # Add a blocking flow: push the excess of each source along shortest paths.
        cdef intp_t i, k, node, other, pair, source, length
        cdef float64_t amount
        for i in range(begin, end):
            source = self.members[i]
            if not self.excess[source] > self.min_excess:
                continue
            length = 0
            self.queue[0] = source
            while length >= 0:
                node = self.queue[length]
                if self.excess[node] < 0.0:
                    amount = min(self.excess[source], -self.excess[node])
                    for k in range(length):
                        if self.via[k] < 0:
                            amount = min(amount, self.flow[~self.via[k]])
                    for k in range(length):
                        if self.via[k] < 0:
                            self.flow[~self.via[k]] -= amount
                        else:
                            self.flow[self.via[k]] += amount
                    self.excess[source] -= amount
                    self.excess[node] += amount
                    if not self.excess[source] > self.min_excess:
                        break
                    length = 0
                    continue
                while True:
                    other = self._edge(node, self.arc[node], &pair)
                    if other == -2 or (
                        other >= 0 and self.level[other] == self.level[node] + 1
                    ):
                        break
                    self.arc[node] += 1
                if other >= 0:
                    self.via[length] = pair
                    length += 1
                    self.queue[length] = other
                else:
                    length -= 1
                    if length >= 0:
                        self.arc[self.queue[length]] += 1
