"""Compiled pruning, and pessimistic error estimates of leaves.

The cost of a leaf is an estimate of its errors, for example; `as_cheap` (nodes/_tree.pxd)
compares costs with a tolerance. A branch is the subtree below a child. Subtree raising replaces a
node by one of its branches, which also gets the other rows of the node.
"""

import numpy as np
from libc.math cimport expm1, fmax, isnan, log, sqrt
from scipy.sparse import issparse
from scipy.special.cython_special cimport betainc, betaincinv, ndtri

from skconftree.criteria._criterion cimport Criterion
from skconftree.tree.nodes._state import STRONG as STRONG_LIMIT, LeafReason
from skconftree.tree.nodes._tree cimport LeafCost, Tree, as_cheap
from skconftree.utils._draws cimport mix
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, uint64_t, uint8_t,
)

# Tolerances of C4.5: of expected errors, in favor of a smaller tree, and of training
# errors, against a split.
cdef float64_t ERROR_TOLERANCE = 0.1
cdef float64_t COLLAPSE_TOLERANCE = 1e-3
# Evidence is strong if log10 of the number of candidate splits that are expected to look as
# good by chance (ByChance.log10_expected) is below this.
cdef float64_t STRONG = STRONG_LIMIT


def cheaper_as_leaf(Tree tree, const float64_t[::1] cost not None):
    """Mask of nodes whose cost as a leaf is at most that of the best tree below them.

    The cost of a tree is the sum over its leaves, none of them negative. Pruning by the
    mask gives the smallest of the cheapest trees.
    """
    if cost.shape[0] != tree.node_count:
        raise ValueError(
            f"cost must have {tree.node_count} elements, one per node. Got "
            f"{cost.shape[0]}."
        )
    keep_as_leaf = np.zeros(tree.node_count, dtype=np.bool_)
    lowest = np.array(cost)
    cdef uint8_t[::1] leaf = keep_as_leaf.view(np.uint8)
    cdef float64_t[::1] best = lowest
    cdef float64_t below
    cdef intp_t node, left, child
    with nogil:
        # children have larger ids than their parent
        for node in range(tree.node_count - 1, -1, -1):
            if tree.n_children[node] == 0:
                continue
            left = tree.first_child[node]
            below = best[left]
            for child in range(left + 1, left + tree.n_children[node]):
                below += best[child]
            if as_cheap(cost[node], below):
                leaf[node] = True
            else:
                best[node] = below
    return keep_as_leaf


def merge_leaves(Tree tree):
    """Merge leaves of a split without strong evidence that predict the same class.

    Works bottom-up until there are no such leaves. Predicted classes do not change.
    """
    cdef intp_t split = tree.n_splits()
    cdef float64_t[::1] value = np.empty(tree.n_classes)
    cdef uint8_t[::1] leaf
    cdef int32_t[::1] label
    cdef intp_t child, node, sibling
    if tree.node_count == 1:
        return tree
    merged = np.zeros(tree.node_count, dtype=np.bool_)
    leaf = merged.view(np.uint8)
    labels = np.full(tree.node_count, -1, dtype=np.int32)   # -1: unknown
    # `keeps_values`: class probabilities are stored, not computed from counts
    if tree.shrinkage == 0.0 or tree.keeps_values:
        labels[:] = (<object> tree).proba.argmax(axis=1)
    label = labels
    # children have larger ids than their parent, and splits are in their order
    for child in range(tree.node_count - 1, 0, -1):
        node = tree.parent[child]
        if tree.first_child[node] != child:
            continue
        split -= 1
        if not _log10_expected(tree, split) >= STRONG:
            continue
        for sibling in range(child, child + tree.n_children[node]):
            if tree.n_children[sibling] > 0 and not leaf[sibling]:
                break
            if label[sibling] < 0:
                tree.fill_value(sibling, &value[0])
                label[sibling] = _largest(value)
            if label[sibling] != label[child]:
                break
        else:       # with `monotonic_cst`, only if the node itself predicts this class
            leaf[node] = not tree.keeps_values or label[node] == label[child]
    return tree._pruned(merged, LeafReason.MERGED) if merged.any() else tree


cdef float64_t _log10_expected(Tree tree, intp_t split) noexcept:
    # A tree that does not keep the evidence of its splits stores only `by_chance`, a part of it.
    if tree.evidence != NULL:
        return tree.evidence[split].by_chance.log10_expected
    return tree.by_chance[split].log10_expected


cdef int32_t _largest(const float64_t[::1] value) noexcept:
    # Index of the largest value, the first in case of ties, as in `predict`.
    cdef intp_t best = 0
    cdef intp_t c
    for c in range(1, value.shape[0]):
        if value[c] > value[best]:
            best = c
    return <int32_t> best


cdef float64_t upper_errors(
    float64_t n, float64_t errors, float64_t log_cf, float64_t z
) noexcept nogil:
    # C4.5's error estimate of a leaf: Wilson's upper confidence limit with continuity correction;
    # exact without errors, and interpolated linearly up to one error. `log_cf` is the logarithm of
    # the confidence factor cf, the error probability of the limit, and `z` the quantile 1 - cf of
    # the normal distribution.
    cdef float64_t rate, none
    if errors < 1.0:
        none = -n * expm1(log_cf / n)
        if errors <= 0.0:
            return none
        return none + errors * (upper_errors(n, 1.0, log_cf, z) - none)
    if errors + 0.5 >= n:
        return fmax(n, errors)
    rate = (errors + 0.5) / n
    return n * (
        rate + z * z / (2.0 * n)
        + z * sqrt(rate / n - rate * rate / n + z * z / (4.0 * n * n))
    ) / (1.0 + z * z / n)


def c45_errors(n, errors, float64_t cf):
    """Errors that C4.5 expects of leaves with `n` rows and `errors` training errors."""
    cdef const float64_t[::1] rows = n
    cdef const float64_t[::1] wrong = errors
    out = np.empty(len(n))
    cdef float64_t[::1] limit = out
    cdef intp_t i
    for i in range(rows.shape[0]):
        limit[i] = upper_errors(rows[i], wrong[i], log(cf), -ndtri(cf))
    return out


cdef class SubtreeRaising:
    """C4.5's pruning: a subtree is replaced by a leaf, or by its larger branch.

    Works on a copy of `tree`, with its training rows. `criterion` computes the impurity
    of nodes whose rows change; `cf` is C4.5's confidence factor.
    """

    cdef Tree tree                  # a copy, whose `first_child` changes with a raise
    cdef Criterion criterion
    cdef const float32_t[:, ::1] X  # or, if sparse:
    cdef const int64_t[::1] row_starts
    cdef const int32_t[::1] row_columns
    cdef const float32_t[::1] row_values
    cdef float32_t[::1] row         # a row in dense form
    cdef intp_t row_index           # its index, or -1
    cdef bint sparse
    cdef const intp_t[::1] y
    cdef const float64_t[::1] weight
    cdef const float64_t[::1] class_weight
    cdef float64_t log_cf           # see `upper_errors`
    cdef float64_t z
    cdef uint8_t[::1] leaf          # mask of the nodes that are leaves
    cdef intp_t[::1] rows           # permutation; the rows of a node are contiguous
    cdef intp_t[::1] start          # of the rows of each node
    cdef intp_t[::1] end
    cdef float64_t[::1] errors      # expected errors of the subtree
    cdef uint8_t[::1] changed       # rows have changed since the node was last examined
    cdef float64_t[:, ::1] counts   # of the tree
    # Class counts of the rows that each leaf would gain if a branch were raised.
    cdef float64_t[:, ::1] added_counts
    cdef intp_t[::1] buffer         # rows during a partition
    cdef intp_t[::1] position       # [n_outcomes + 1] of the next row of a child
    cdef uint8_t[::1] has_added     # mask of the leaves that would gain rows
    cdef intp_t[::1] leaves_with_added
    cdef float64_t[::1] scaled      # scratch, [n_classes]
    cdef intp_t[::1] stack          # of the traversal in `_prune`; has each node at most once
    cdef intp_t[::1] inner_stack    # of that in `_distribute`

    def __init__(self, Tree tree, Criterion criterion, X, y, weight, float64_t cf):
        n_nodes, n_rows = tree.node_count, len(y)
        self.tree = tree._pruned(np.zeros(n_nodes, dtype=np.bool_))
        self.criterion = criterion
        self.sparse = issparse(X)
        if self.sparse:
            self.row_starts = X.indptr.astype(np.int64, copy=False)
            self.row_columns = X.indices.astype(np.int32, copy=False)
            self.row_values = X.data
            self.row = np.zeros(X.shape[1], dtype=np.float32)
            self.row_index = -1
        else:
            self.X = X
        self.y = y
        self.weight = weight
        self.class_weight = tree.class_weight
        self.log_cf = log(cf)
        self.z = -ndtri(cf)
        self.leaf = (tree.feature < 0).astype(np.uint8)
        self.rows = np.arange(n_rows)
        self.start = np.zeros(n_nodes, dtype=np.intp)
        self.end = np.zeros(n_nodes, dtype=np.intp)
        self.errors = np.zeros(n_nodes)
        self.changed = np.ones(n_nodes, dtype=np.uint8)
        self.counts = <float64_t[:n_nodes, :tree.n_classes]> self.tree.counts
        self.added_counts = np.zeros((n_nodes, tree.n_classes))
        self.has_added = np.zeros(n_nodes, dtype=np.uint8)
        self.leaves_with_added = np.zeros(n_nodes, dtype=np.intp)
        self.scaled = np.zeros(tree.n_classes)
        self.buffer = np.zeros(n_rows, dtype=np.intp)
        self.position = np.zeros((<object> tree).n_children.max() + 1, dtype=np.intp)
        self.stack = np.zeros(n_nodes + 1, dtype=np.intp)
        self.inner_stack = np.zeros(n_nodes + 1, dtype=np.intp)

    def prune(self):
        """Prune the copy and return it."""
        with nogil:
            self.end[0] = self.rows.shape[0]
            self._distribute(0, recount=False)
            self._collapse()
            self._prune()
        self.criterion.raise_held()     # an exception of a criterion that is written in Python
        return self.tree._pruned(np.asarray(self.leaf, dtype=np.bool_))

    cdef float64_t _errors_as_leaf(self, intp_t node, bint with_added) noexcept nogil:
        # Expected errors of a node as a leaf, optionally with its added_counts. Class
        # proportions include class_weight, and are scaled to the number of rows.
        cdef float64_t n = 0.0
        cdef float64_t total = 0.0
        cdef float64_t largest = 0.0
        cdef float64_t count
        cdef intp_t c
        for c in range(self.tree.n_classes):
            count = self.counts[node, c]
            if with_added:
                count += self.added_counts[node, c]
            n += count
            count *= self.class_weight[c]
            total += count
            largest = fmax(largest, count)
        return upper_errors(n, n * (1.0 - largest / total), self.log_cf, self.z)

    cdef void _collapse(self) noexcept nogil:
        # First step: remove splits that do not reduce training errors.
        cdef intp_t node, c
        cdef float64_t as_leaf, count, largest
        for node in range(self.tree.node_count - 1, -1, -1):
            as_leaf = 0.0
            largest = 0.0
            for c in range(self.tree.n_classes):
                count = self.counts[node, c] * self.class_weight[c]
                as_leaf += count
                largest = fmax(largest, count)
            as_leaf -= largest
            self.errors[node] = as_leaf
            if not self.leaf[node]:
                self.errors[node] = self._errors_below(node)
                if self.errors[node] >= as_leaf - COLLAPSE_TOLERANCE:
                    self.leaf[node] = True

    cdef float64_t _errors_below(self, intp_t node) noexcept nogil:
        # Expected errors of the branches of a node.
        cdef intp_t left = self.tree.first_child[node]
        cdef float64_t errors = self.errors[left]
        cdef intp_t child
        for child in range(left + 1, left + self.tree.n_children[node]):
            errors += self.errors[child]
        return errors

    cdef void _prune(self) noexcept nogil:
        # Depth-first traversal: on the stack, ~node is a node whose children have not been
        # visited yet, node is one whose children have been.
        cdef intp_t size = 1
        cdef intp_t node, left, child
        self.stack[0] = ~0
        while size > 0:
            size -= 1
            node = self.stack[size]
            if node < 0:
                node = ~node
                if not self.changed[node]:
                    continue
                self.changed[node] = False
                if self.leaf[node]:
                    self.errors[node] = self._errors_as_leaf(node, False)
                    continue
                left = self.tree.first_child[node]
                self.stack[size] = node
                size += 1
                for child in range(left, left + self.tree.n_children[node]):
                    self.stack[size] = ~child
                    size += 1
            elif self._prune_node(node):
                self.stack[size] = ~node
                size += 1

    cdef bint _prune_node(self, intp_t node) noexcept nogil:
        # Prune a node whose children are done. Returns True if a branch has replaced it
        # and the node has to be examined again.
        cdef intp_t left = self.tree.first_child[node]
        cdef intp_t larger = left
        cdef float64_t as_leaf = self._errors_as_leaf(node, False)
        cdef float64_t as_tree = self._errors_below(node)
        cdef float64_t as_branch
        cdef float64_t largest = -1.0
        cdef float64_t n
        cdef intp_t child, c
        for child in range(left, left + self.tree.n_children[node]):
            n = 0.0
            for c in range(self.tree.n_classes):
                n += self.counts[child, c]
            if n > largest:
                largest = n
                larger = child
        if self.leaf[larger]:
            as_branch = as_leaf
        else:
            as_branch = self._errors_as_branch(node, larger)
        if as_leaf <= as_tree + ERROR_TOLERANCE and as_leaf <= as_branch + ERROR_TOLERANCE:
            self.leaf[node] = True
            self.errors[node] = as_leaf
            return False
        if as_branch > as_tree + ERROR_TOLERANCE:
            self.errors[node] = as_tree
            return False
        # The branch is not a leaf: otherwise the node would have become one above.
        self.tree.nodes[node] = self.tree.nodes[larger]
        self.tree.branching[node] = self.tree.branching[larger]
        self.tree.first_child[node] = self.tree.first_child[larger]
        self.tree.n_children[node] = self.tree.n_children[larger]
        self._distribute(node, recount=True)
        self.changed[node] = True
        return True

    cdef float64_t _errors_as_branch(self, intp_t parent, intp_t branch) noexcept nogil:
        # Expected errors of a branch that also gets the other rows of its parent.
        cdef float64_t total = self.errors[branch]
        cdef intp_t n_reached = 0
        cdef intp_t i, row, node, c
        i = self.start[parent]
        while i < self.end[parent]:
            if i == self.start[branch]:
                i = self.end[branch]
                continue
            row = self.rows[i]
            i += 1
            node = branch
            while not self.leaf[node]:
                node = self._child(node, row)
            if not self.has_added[node]:
                self.has_added[node] = True
                self.leaves_with_added[n_reached] = node
                n_reached += 1
            self.added_counts[node, self.y[row]] += self.weight[row]
        for i in range(n_reached):
            node = self.leaves_with_added[i]
            total += self._errors_as_leaf(node, True) - self.errors[node]
            self.has_added[node] = False
            for c in range(self.tree.n_classes):
                self.added_counts[node, c] = 0.0
        return total

    cdef intp_t _child(self, intp_t node, intp_t row) noexcept nogil:
        # The child that a row goes to. Rows raised into a branch may have an unknown
        # category: they go to the child that was the largest, `missing_left` of a nominal split.
        cdef intp_t child = self.tree.child(node, self._row(row))
        if child == node:
            child = self.tree.first_child[node] + self.tree.branching[node].missing_left
        return child

    cdef const float32_t* _row(self, intp_t row) noexcept nogil:
        cdef intp_t i
        if not self.sparse:
            return &self.X[row, 0]
        if row != self.row_index:
            if self.row_index >= 0:
                for i in range(
                    self.row_starts[self.row_index], self.row_starts[self.row_index + 1]
                ):
                    self.row[self.row_columns[i]] = 0.0
            for i in range(self.row_starts[row], self.row_starts[row + 1]):
                self.row[self.row_columns[i]] = self.row_values[i]
            self.row_index = row
        return &self.row[0]

    cdef void _distribute(self, intp_t root, bint recount) noexcept nogil:
        # Assign the rows of the root to all nodes below it.
        cdef intp_t size = 1
        cdef intp_t node, left, child
        self.inner_stack[0] = root
        while size > 0:
            size -= 1
            node = self.inner_stack[size]
            if recount and node != root:
                self._recount(node)
            if self.leaf[node]:
                continue
            left = self.tree.first_child[node]
            if self.tree.branching[node].first >= 0:    # the split is nominal
                self._divide_by_category(node)
            else:
                self._divide_by_number(node)
            for child in range(left, left + self.tree.n_children[node]):
                self.inner_stack[size] = child
                size += 1

    cdef void _divide_by_number(self, intp_t node) noexcept nogil:
        # Assign the rows of a node with a numeric split to its children.
        cdef intp_t left = self.tree.first_child[node]
        cdef intp_t low = self.start[node]
        cdef intp_t high = self.end[node]
        cdef intp_t row
        while low < high:
            row = self.rows[low]
            if self.tree.child(node, self._row(row)) > left:
                high -= 1
                self.rows[low] = self.rows[high]
                self.rows[high] = row
            else:
                low += 1
        self.start[left] = self.start[node]
        self.end[left] = low
        self.start[left + 1] = low
        self.end[left + 1] = self.end[node]

    cdef void _divide_by_category(self, intp_t node) noexcept nogil:
        # The same for a nominal split; also assigns unknown categories of the rows to a child.
        cdef intp_t left = self.tree.first_child[node]
        cdef intp_t feature = self.tree.nodes[node].feature
        cdef intp_t r = self.tree.n_children[node]
        cdef intp_t start = self.start[node]
        cdef intp_t end = self.end[node]
        cdef intp_t i, z, row
        for z in range(r + 1):
            self.position[z] = 0
        for i in range(start, end):
            row = self.rows[i]
            if self.tree.child(node, self._row(row)) == node:
                # from now on, the category goes to child `missing_left` in the tree
                self.tree.map_code(node, <intp_t> self._row(row)[feature])
            self.position[self._child(node, row) - left + 1] += 1
        for z in range(r):
            self.position[z + 1] += self.position[z]
            self.start[left + z] = start + self.position[z]
            self.end[left + z] = start + self.position[z + 1]
        for i in range(start, end):
            row = self.rows[i]
            z = self._child(node, row) - left
            self.buffer[start + self.position[z]] = row
            self.position[z] += 1
        for i in range(start, end):
            self.rows[i] = self.buffer[i]

    cdef void _recount(self, intp_t node) noexcept nogil:
        # Count the rows of a node again if their number has changed.
        cdef intp_t i, c
        cdef float64_t n = 0.0
        if self.tree.n_node_samples[node] == self.end[node] - self.start[node]:
            return      # a raised branch can only gain rows
        self.changed[node] = True
        self.tree.n_node_samples[node] = self.end[node] - self.start[node]
        for c in range(self.tree.n_classes):
            self.counts[node, c] = 0.0
        for i in range(self.start[node], self.end[node]):
            self.counts[node, self.y[self.rows[i]]] += self.weight[self.rows[i]]
        for c in range(self.tree.n_classes):
            self.scaled[c] = self.counts[node, c] * self.class_weight[c]
            n += self.scaled[c]
        self.tree.impurity[node] = self.criterion.impurity(&self.scaled[0], n)


cdef enum:
    MIN_SLOTS = 64         # limits of the number of entries of the cache; powers of two
    MAX_SLOTS = 16384
    HALVINGS = 60          # steps of a bisection, up to the precision of a double

# Above this size SciPy's quantile is inaccurate; the normal approximation with a
# correction for skewness is used instead.
cdef float64_t LARGE_COUNT = 1e8


cdef struct CachedLimit:
    float64_t errors
    float64_t n         # 0: unused entry
    float64_t limit     # of the number of errors


cdef union Bits:            # the bits of a float, to hash it
    float64_t value
    uint64_t bits


cdef class PessimisticCost(LeafCost):
    """Upper limit of the errors of a leaf, used by ``pruning="pessimistic"``.

    It is `skconftree.bounds.binomial_upper` times the number of rows. The limit is slow
    to compute, and trees have many equal leaves, so about `n_leaves` recent limits are
    cached. An object must not be shared between threads.
    """

    cdef float64_t confidence
    cdef float64_t log_confidence
    cdef Arena arena
    cdef intp_t n_slots     # a power of two
    cdef CachedLimit* cache  # [n_slots] hash table by errors and rows

    def __init__(self, float64_t confidence, intp_t n_leaves):
        self.confidence = confidence
        self.log_confidence = log(confidence)
        self.arena = Arena()
        self.n_slots = MIN_SLOTS
        while self.n_slots < min(4 * n_leaves, MAX_SLOTS):   # to avoid collisions
            self.n_slots *= 2
        self.cache = <CachedLimit*> self.arena.take_zeros(self.n_slots, sizeof(CachedLimit))

    cdef float64_t of(self, const float64_t* counts, intp_t n_classes) noexcept nogil:
        cdef float64_t n = 0.0
        cdef float64_t largest = 0.0
        cdef intp_t c
        for c in range(n_classes):
            n += counts[c]
            largest = fmax(largest, counts[c])
        return self._limit(fmax(n - largest, 0.0), n)

    cdef float64_t _limit(self, float64_t errors, float64_t n) noexcept nogil:
        cdef Bits a, b
        cdef CachedLimit* slot
        if errors == 0.0:
            return -n * expm1(self.log_confidence / n) if n > 0.0 else 0.0
        if errors >= n:
            return n
        a.value = errors
        b.value = n
        slot = self.cache + (mix(a.bits ^ mix(b.bits)) & (self.n_slots - 1))
        if slot.errors != errors or slot.n != n:
            slot.errors = errors
            slot.n = n
            slot.limit = n * (1.0 - self._quantile(n - errors, errors + 1.0))
        return slot.limit

    cdef float64_t _quantile(self, float64_t a, float64_t b) noexcept nogil:
        # Quantile of the beta distribution with parameters a and b.
        cdef float64_t n = a + b
        cdef float64_t low = 0.0
        cdef float64_t high = 1.0
        cdef float64_t middle
        cdef float64_t x
        cdef intp_t _step
        if a > LARGE_COUNT and b > LARGE_COUNT:
            x = ndtri(self.confidence)
            return (a / n + x * sqrt(a / n * (b / n) / n) + (b - a) / n / n * (x * x - 1.0) / 3.0)
        x = betaincinv(a, b, self.confidence)
        if not isnan(x):
            return x
        for _step in range(HALVINGS):       # SciPy underflows for tiny confidences
            middle = (low + high) / 2.0
            if betainc(a, b, middle) < self.confidence:
                low = middle
            else:
                high = middle
        return high

    def of_nodes(self, const float64_t[:, ::1] counts not None):
        """Cost of each node as a leaf, from its class counts."""
        cdef intp_t i
        costs = np.empty(counts.shape[0])
        cdef float64_t[::1] cost = costs
        with nogil:
            for i in range(counts.shape[0]):
                cost[i] = self.of(&counts[i, 0], counts.shape[1])
        return costs
