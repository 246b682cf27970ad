"""Nearest class mean (NCM) trees: storage, routing and growth.

A split has the means (centroids) of some classes, each with a side: 0 for the first child, 1 for
the second. A row goes to the child of its nearest mean. A bound is the rule that accepts or
rejects a split. Criterion and bound get the counts of a node as NodeStats, and the candidate
splits as SplitBlock (criteria/_score.pxd); the bound writes its reasons to SplitEvidence
(bounds/_contract.pxd). A bound that raises an exception stores it in `held`, because compiled
code cannot raise it; `raise_held` raises it. An `Arena` allocates memory (`take`) and frees it
with itself. `times` is how often each row is in the bootstrap sample of the tree, K the number
of classes, and d the number of features.
"""

cimport cython
import numpy as np
from libc.float cimport DBL_EPSILON
from libc.math cimport INFINITY, log
from libc.string cimport memcpy, memset

from skconftree.bounds._contingency cimport Contingency, expect_by_chance
from skconftree.bounds._contract cimport (
    Bound, NodeStats, SplitEvidence, SplitBlock, clear_evidence,
)
from skconftree.criteria._criterion cimport Criterion
from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.nodes._node_table cimport NodeTable, address_of
from skconftree.tree.nodes._node_table import sum_leaves
from skconftree.tree.split._kernels import make_kernels
from skconftree.utils._codec import corrupt_state
from skconftree.utils._draws cimport mix
from skconftree.utils._inline cimport ROUNDING
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint16_t, uint32_t, uint64_t,
    uint8_t,
)

# Of each split: index of its first class mean, and number of its means.
SPLIT_DTYPE = np.dtype([("first", np.int32), ("n", np.int32)], align=True)
# Arrays with one element per class mean: its values, its class (owner) and its side. All
# other arrays have one element per node. The array of the splits has the name "tests", which
# pickled trees contain too.
CENTROID_ARRAYS = ("centroids", "owners", "sides")


cdef class NCMTree(NodeTable):
    """A tree of nearest class means as read-only arrays with one element per node.

    Internal nodes and leaves are numbered together. Children have larger, consecutive
    ids than their parent. All splits have two children.

    Attributes
    ----------
    node_count, max_depth, n_features, max_n_classes : int
    n_centroids : int
        Number of class means of all splits.
    children_left, children_right : ndarray of shape (node_count,), intp
        Children of each node; -1 at a leaf.
    parent : ndarray of shape (node_count,), int32
        Parent of each node; -1 at the root.
    depth : ndarray of shape (node_count,), int32
    counts : ndarray of shape (node_count, n_classes), float64
        Weight of the training rows of each class.
    proba : ndarray of shape (node_count, n_classes), float64
        Class proportions. A node that no row has reached has those of its nearest
        ancestor with rows.
    impurity : ndarray of shape (node_count,), float64
    n_node_samples : ndarray of shape (node_count,), intp
    evidence : ndarray of shape (node_count,), structured
        Numbers by which the bound accepted each split, as in the `tree_` of a
        :class:`~skconftree.ConfidenceTreeClassifier`.
    """

    def __cinit__(
        self, n_features, n_classes, class_weight=None, keep_evidence=True,
        shrinkage=0.0, keep_costs=False, keep_competitors=False,
    ):
        # The parameters are those of the base class: which data of splits are stored (costs
        # of look-ahead, competitors: best splits of other features), and the strength of the
        # shrinkage of probabilities. The base class has allocated its arrays of nodes,
        # but could not call `_shapes` of this class. Allocate all arrays again, with those
        # of the splits.
        self._set_arrays(self._enlarged(self.capacity) | self._centroids_of(0))

    def _centroids_of(self, capacity):
        # The arrays of so many class means.
        return {
            "centroids": np.zeros((capacity, self.n_features), dtype=np.float32),
            "owners": np.zeros(capacity, dtype=np.int32),
            "sides": np.zeros(capacity, dtype=np.uint8),
        }

    cdef dict _shapes(self, intp_t capacity):
        cdef dict shapes = NodeTable._shapes(self, capacity)
        shapes["tests"] = ((capacity,), SPLIT_DTYPE)
        return shapes

    cdef tuple _names(self):
        return NodeTable._names(self) + ("tests", *CENTROID_ARRAYS)

    cdef intp_t _size(self, str name) except -1:
        if name in CENTROID_ARRAYS:
            return self.n_centroids
        return NodeTable._size(self, name)

    cdef object _set_arrays(self, dict arrays):
        cdef void* splits = address_of(arrays["tests"])
        cdef void* means = address_of(arrays["centroids"])
        cdef void* owners = address_of(arrays["owners"])
        cdef void* sides = address_of(arrays["sides"])
        NodeTable._set_arrays(self, arrays)
        self.splits = <CentroidSplit*> splits
        self.means = <float32_t*> means
        self.owners = <int32_t*> owners
        self.sides = <uint8_t*> sides
        self.centroid_capacity = len(arrays["owners"])

    cdef void reserve_centroids(self, intp_t capacity) except *:
        # Reserve memory for so many class means, at least doubling the capacity.
        if capacity <= self.centroid_capacity:
            return
        capacity = max(capacity, 2 * self.centroid_capacity)
        if capacity > 2147483647:
            raise ValueError("The tree has more class means than its index type holds.")
        larger = self._centroids_of(capacity)
        for name, array in larger.items():
            array[: self.n_centroids] = self._arrays[name][: self.n_centroids]
        self._set_arrays(self._arrays | larger)

    cdef intp_t node_bytes(self) noexcept nogil:
        return NodeTable.node_bytes(self) + sizeof(CentroidSplit)

    cdef intp_t bytes_of_nodes(self) noexcept nogil:
        return NodeTable.bytes_of_nodes(self) + self.n_centroids * (
            self.n_features * sizeof(float32_t) + sizeof(int32_t) + sizeof(uint8_t)
        )

    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil:
        cdef intp_t node = NodeTable.add_leaf(self, parent, counts, n_rows, impurity)
        self.splits[node].first = 0
        self.splits[node].n = 0
        return node

    cdef void split(
        self, intp_t node, const float32_t* means, const int32_t* owners,
        const uint8_t* sides, intp_t n,
    ) noexcept nogil:
        # The next two leaves that are added are the children of this node. Memory must have
        # been reserved.
        cdef intp_t d = self.n_features
        cdef intp_t j
        self.splits[node].first = <int32_t> self.n_centroids
        self.splits[node].n = <int32_t> n
        memcpy(
            self.means + self.n_centroids * d, means, n * d * sizeof(float32_t)
        )
        for j in range(n):
            self.owners[self.n_centroids + j] = owners[j]
            self.sides[self.n_centroids + j] = sides[j]
        self.n_centroids += n

    def recounted(
        self, n_classes, new_codes, const int32_t[::1] leaves not None,
        const label_t[::1] y not None, const uint32_t[::1] times not None, criterion, keep,
    ):
        """Copy the tree with other class counts, and possibly further classes.

        `new_codes` (ascending) are the new codes of the classes, `leaves` the leaf that
        each row reaches, and `times` how often each row counts. With `keep`, these
        counts are added to those of the tree. `criterion` computes the impurities.
        """
        self._check_rows(leaves, y, n_classes, times)
        old = self._snapshot().all_arrays()     # read-only arrays of all nodes, by name
        n_children = old["n_children"]
        counts = np.zeros((self.node_count, n_classes))
        n_rows = np.zeros(self.node_count, dtype=np.intp)
        cdef float64_t[:, ::1] weight = counts
        cdef intp_t[::1] number = n_rows
        cdef intp_t i
        with nogil:
            for i in range(y.shape[0]):
                if times[i] > 0:
                    weight[leaves[i], y[i]] += times[i]
                    number[leaves[i]] += 1
        if keep:
            leaf = n_children == 0
            counts[np.ix_(leaf, new_codes)] += old["counts"][leaf]
            n_rows[leaf] += old["n_node_samples"][leaf]
        # counts of inner nodes are sums over their leaves
        sum_leaves(old["parent"], n_children, counts, n_rows)
        owners = np.asarray(new_codes)[old["owners"]].astype(np.int32)
        cdef NCMTree tree = type(self)(
            self.n_features, n_classes, keep_evidence=self.keeps_evidence
        )
        # both trees share the arrays of the structure and of the means, which are never
        # modified
        tree._use_arrays({
            name: array[: self._size(name)] for name, array in self._arrays.items()
        } | {
            "counts": counts,
            "n_node_samples": n_rows,
            "impurity": criterion.impurities(counts),
            "owners": owners,
        })
        return tree

    def error_of(
        self, const int32_t[::1] leaves not None, const label_t[::1] y not None,
        const intp_t[::1] new_codes not None, const uint8_t[::1] counted not None,
    ):
        """Return the error rate on the rows of the mask `counted`, NaN if there are none.

        `leaves` are the leaves that the rows reach. `new_codes` are the codes that the
        classes of the tree have in `y`.
        """
        self._check_rows(leaves, y, 1 << 16)    # any 16-bit class code
        if new_codes.shape[0] != self.n_classes or counted.shape[0] != y.shape[0]:
            raise ValueError(
                f"Expected {self.n_classes} codes of classes and {y.shape[0]} flags of "
                f"rows, got {new_codes.shape[0]} and {counted.shape[0]}."
            )
        cdef int32_t[::1] best = np.full(self.node_count, -1, dtype=np.int32)
        cdef intp_t n_wrong = 0
        cdef intp_t n = 0
        cdef intp_t i, node
        with nogil:
            for i in range(y.shape[0]):
                if counted[i]:
                    node = leaves[i]
                    if best[node] < 0:
                        best[node] = <int32_t> new_codes[self._best_of(node)]
                    n += 1
                    n_wrong += best[node] != y[i]
        return <float64_t> n_wrong / n if n > 0 else np.nan

    cdef intp_t _best_of(self, intp_t node) noexcept nogil:
        # Most frequent class of the node, or of its nearest ancestor with rows.
        cdef const float64_t* counts
        cdef float64_t most = 0.0
        cdef intp_t best = 0
        cdef intp_t c
        while node >= 0:
            counts = self.counts + node * self.n_classes
            for c in range(self.n_classes):
                if counts[c] > most:
                    most = counts[c]
                    best = c
            if most > 0.0:
                break
            node = self.parent[node]
        return best

    cdef object _check_rows(
        self, const int32_t[::1] leaves, const label_t[::1] y, intp_t n_classes,
        const uint32_t[::1] times=None,
    ):
        # Raise an error unless leaves and classes exist. Rows that are 0 times in the sample
        # may have any leaf.
        cdef intp_t i
        cdef bint all_rows = times is None
        cdef bint valid = y.shape[0] == leaves.shape[0] and (
            all_rows or times.shape[0] == y.shape[0]
        )
        self._check_root()
        for i in range(leaves.shape[0] if valid else 0):
            valid &= y[i] < n_classes and (
                0 <= leaves[i] < self.node_count or not (all_rows or times[i] > 0)
            )
        if not valid:
            raise ValueError(
                "leaves, y and counts of rows must have the same length and contain nodes "
                "and classes of the tree."
            )

    cdef object _use_arrays(self, dict arrays):
        NodeTable._use_arrays(self, arrays)
        self.n_centroids = len(arrays["owners"])

    def centroids(self, node):
        """Return the class means of the split of a node, and each mean's class and child.

        Rows go to the child of the nearest mean.
        """
        cdef intp_t index = self._checked_node(node)
        arrays = self._snapshot().all_arrays()
        split = arrays["tests"][index]
        means = slice(split["first"], split["first"] + split["n"])
        return (
            self._snapshot().array("centroids")[means],
            arrays["owners"][means].astype(np.intp),
            arrays["first_child"][index] + arrays["sides"][means].astype(np.intp),
        )

    cdef intp_t leaf_of(self, const float32_t* row) noexcept nogil:
        cdef intp_t d = self.n_features
        cdef intp_t node = 0
        cdef intp_t mean
        cdef CentroidSplit* split
        while True:
            split = &self.splits[node]
            if split.n == 0:
                return node
            mean = split.first + nearest(row, self.means + split.first * d, split.n, d)
            node = self.first_child[node] + self.sides[mean]

    def apply(self, const float32_t[:, ::1] X not None, finite=None):
        """Return the leaf that each row reaches.

        The rows must not have missing values. `finite` is not used; the trees with splits on
        single features have this parameter.
        """
        return self.leaves_of(X).astype(np.intp)

    def leaves_of(
        self, const float32_t[:, ::1] X not None, known=None,
        const uint32_t[::1] times=None,
    ):
        """Return the leaf that each row reaches.

        `known` has the leaves of the first rows, -1 if they are to be computed. Rows
        whose count in `times` is 0 have leaf -1, unless it is known.
        """
        cdef intp_t n = X.shape[0]
        leaves = np.full(n, -1, dtype=np.int32)
        if known is not None:
            leaves[: len(known)] = known
        cdef int32_t[::1] out = leaves
        cdef bint all_rows = times is None
        cdef intp_t i
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, the tree has {self.n_features}."
            )
        if times is not None and times.shape[0] != n:
            raise ValueError(f"Expected {n} counts of rows, got {times.shape[0]}.")
        self._check_root()
        with nogil:
            for i in range(n):
                if out[i] < 0 and (all_rows or times[i] > 0):
                    out[i] = <int32_t> self.leaf_of(&X[i, 0])
        return leaves

    cdef object _check(self, dict arrays):
        # Validate the arrays of an unpickled tree, so that routing terminates and stays
        # within the arrays.
        NodeTable._check(self, arrays)
        n = arrays["tests"]["n"].astype(np.int64)
        n_children = arrays["n_children"]
        # leaves, then splits by the id of their first child: the order of the class means
        order = np.argsort(arrays["first_child"], kind="stable")
        if not (
            len(n) == len(n_children)
            and np.array_equal(n_children, 2 * (n > 0))
            and np.all(n >= 0)
            and np.array_equal(
                arrays["tests"]["first"][order],
                np.where(n[order] > 0, np.cumsum(n[order]) - n[order], 0),
            )
            and all([len(arrays[name]) == n.sum() for name in CENTROID_ARRAYS])
            and np.all(arrays["sides"] <= 1)
            and np.isfinite(arrays["centroids"]).all()      # forests round them
        ):
            raise corrupt_state("tree", "its splits")


cdef enum:
    MAX_ENUMERATED = 10     # maximum number of means whose assignments are all compared
    BLOCK = 512             # assignments compared at a time, 2^(MAX_ENUMERATED - 1)


cdef class NCMGrower:
    """Grows one tree; not shared between threads.

    The split of a node has the means of `max_classes` of its classes: a number, a
    fraction, or None for the square root of their number. The candidate splits of a node
    are assignments: each divides these means between the two children (sides). If there
    are too many assignments to compare all of them, `n_assignments` are drawn at random.
    """

    cdef GrowthSettings settings
    cdef Criterion criterion
    cdef Bound bound
    cdef Contingency contingency    # memory of tests of independence
    cdef intp_t K, d
    cdef intp_t max_means       # maximum number of means of a split
    cdef float64_t share        # fraction of the classes of a node; 0 = `max_means` of them
    cdef bint uses_sqrt         # use the square root of the number of classes
    cdef intp_t n_assignments
    cdef uint64_t seed
    cdef intp_t max_depth
    cdef float64_t min_split, min_leaf
    cdef float64_t total_weight     # of the sample

    cdef Arena arena
    cdef const float32_t* X
    cdef const label_t* y
    cdef const uint32_t* times
    cdef int32_t* rows          # [n] row indices, those of a node are contiguous
    cdef int32_t* right_rows    # [n] buffer for partitioning
    cdef uint16_t* nearest      # [n] nearest mean of the row at the same index of `rows`
    cdef int32_t* present       # [K] classes that occur in the node, the first k elements
    cdef int32_t* drawn_classes     # [K] classes whose means the split has, the first m
    cdef int32_t* class_index       # [K] index of a class among these, -1 = none
    cdef float64_t* total       # [K] counts of the present classes
    cdef float64_t* sums        # [max_means, d] sums of the rows of the drawn classes
    cdef float32_t* means       # [max_means, d]
    cdef float64_t* table       # [max_means, K] weight of the rows by nearest mean and class
    cdef float64_t* left        # [BLOCK, K] counts of the left child of each assignment
    cdef float64_t* n_left      # [BLOCK] their sums
    cdef float64_t* scores      # [BLOCK] of the criterion, to be minimized
    cdef float64_t* children    # [2, K] class counts of the children of the best assignment
    cdef uint8_t* sides         # [max_means] side of each mean in an assignment
    cdef uint64_t key           # seed of a node's random numbers, which are hashes: mix()

    def __init__(
        self, GrowthSettings settings not None, intp_t n_features, intp_t n_classes,
        max_classes, intp_t n_assignments, uint64_t seed,
    ):
        self.settings = settings
        self.K = n_classes
        self.d = n_features
        self.n_assignments = n_assignments
        self.seed = seed
        self.uses_sqrt = max_classes is None
        self.share = max_classes if isinstance(max_classes, float) else 0.0
        self.max_means = n_classes
        if self.uses_sqrt or self.share > 0.0:
            self.max_means = self._n_chosen(n_classes)
        else:
            self.max_means = max(min(<intp_t> max_classes, n_classes), 2)
        self.max_depth = 2147483647
        if settings.max_depth is not None:
            self.max_depth = settings.max_depth
        self.min_split = settings.min_samples_split
        self.min_leaf = settings.min_samples_leaf

    cdef intp_t _n_chosen(self, intp_t n) noexcept nogil:
        # Number of means in the split of a node with n classes.
        cdef intp_t m = self.max_means
        if self.uses_sqrt:
            m = 1
            while m * m < n:
                m += 1
        elif self.share > 0.0:
            m = <intp_t> (self.share * n)
        return max(<intp_t> 2, min(m, n))

    def grow(
        self, const float32_t[:, ::1] X not None, const label_t[::1] y not None,
        const uint32_t[::1] times not None, NCMTree tree=None,
        int32_t[::1] leaves=None, intp_t n_known=0,
    ):
        """Grow a tree from rows that are `times` in the sample; return tree and leaves.

        The leaves are those of the rows, -1 for rows that are not in the sample. If `tree`
        is passed, its leaves that rows from index `n_known` on reach are split further.
        Its counts must then be those of the sample, and `leaves` those of the sample's
        rows; the tree and `leaves` are modified.
        """
        cdef intp_t n = X.shape[0]
        cdef intp_t K = self.K
        cdef intp_t n_sample = 0
        cdef float64_t[::1] counts
        cdef intp_t* starts
        cdef intp_t* ends
        cdef intp_t i
        if X.shape[1] != self.d or y.shape[0] != n or times.shape[0] != n:
            raise ValueError(
                f"X, y and times must have the same length and X {self.d} columns, got "
                f"{n}, {y.shape[0]}, {times.shape[0]} and {X.shape[1]}."
            )
        if n > 2147483647:
            raise ValueError(f"At most 2**31 - 1 rows are supported, got {n}.")
        self.total_weight = 0.0
        for i in range(n):
            n_sample += times[i] > 0
            self.total_weight += times[i]
        if n_sample == 0:
            raise ValueError("The sample is empty: all rows have count 0.")
        self.arena = Arena()
        self.contingency = Contingency(exact=False)     # without tests that enumerate tables
        self.contingency.reserve(2, max(self.K, 2))     # children, classes
        # the compiled objects; the last argument is the largest class count
        self.criterion, self.bound = make_kernels(
            self.settings, max(self.K, 2), <intp_t> min(self.total_weight, 2.0**62)
        )
        self.criterion.n_classes = self.K
        if tree is None:
            if np.any(np.greater_equal(y, K)):
                raise ValueError(f"y must be below {K}, the number of classes.")
            tree = NCMTree(self.d, K)
            counts = np.bincount(y, times, K)
            tree.add_leaf(-1, &counts[0], n_sample, self.criterion.impurity(
                &counts[0], self.total_weight
            ))
            leaves = -np.equal(times, 0).astype(np.int32)
        tree._check_rows(leaves, y, K, times)
        self.X = &X[0, 0]
        self.y = &y[0]
        self.times = &times[0]
        self._ensure_capacity(n_sample)
        starts = <intp_t*> self.arena.take(tree.node_count, sizeof(intp_t))
        ends = <intp_t*> self.arena.take(tree.node_count, sizeof(intp_t))
        if not self._place_rows(tree, leaves, n_known, n_sample, starts, ends):
            raise ValueError("The sample differs from the rows that the leaves count.")
        with nogil:
            self._grow(tree, starts, &leaves[0])
        tree.shrink_to_fit()
        self.arena = None
        return tree, np.asarray(leaves)

    cdef bint _place_rows(
        self, NCMTree tree, const int32_t[::1] leaves, intp_t n_known, intp_t n_sample,
        intp_t* starts, intp_t* ends,
    ) noexcept nogil:
        # Group the rows by leaf, for the leaves that rows from index `n_known` on reach.
        # `starts` receives the index in self.rows of the first row of each of these leaves,
        # -1 for other nodes; `ends` is a buffer. Returns whether these leaves have as many
        # rows as n_node_samples of the tree says.
        cdef intp_t n = leaves.shape[0]
        cdef intp_t n_left = 0      # rows of these leaves that have not been stored yet
        cdef intp_t node, i
        for node in range(tree.node_count):
            starts[node] = -1
        for i in range(n_known, n):
            node = leaves[i]
            if self.times[i] > 0 and starts[node] < 0:
                starts[node] = ends[node] = n_left
                n_left += tree.n_node_samples[node]
                if tree.n_children[node] > 0 or n_left > n_sample:
                    return False
        for i in range(n):
            node = leaves[i]
            if self.times[i] > 0 and starts[node] >= 0:
                if ends[node] - starts[node] == tree.n_node_samples[node]:
                    return False
                self.rows[ends[node]] = <int32_t> i
                ends[node] += 1
                n_left -= 1
        return n_left == 0

    cdef void _ensure_capacity(self, intp_t n) except *:
        cdef intp_t K = self.K
        cdef intp_t m = self.max_means
        cdef Arena arena = self.arena
        self.rows = <int32_t*> arena.take(n, sizeof(int32_t))
        self.right_rows = <int32_t*> arena.take(n, sizeof(int32_t))
        self.nearest = <uint16_t*> arena.take(n, sizeof(uint16_t))
        self.present = <int32_t*> arena.take(K, sizeof(int32_t))
        self.drawn_classes = <int32_t*> arena.take(K, sizeof(int32_t))
        self.class_index = <int32_t*> arena.take(K, sizeof(int32_t))
        self.total = <float64_t*> arena.take(K, sizeof(float64_t))
        self.sums = <float64_t*> arena.take(m * self.d, sizeof(float64_t))
        self.means = <float32_t*> arena.take(m * self.d, sizeof(float32_t))
        self.table = <float64_t*> arena.take(m * K, sizeof(float64_t))
        self.left = <float64_t*> arena.take(BLOCK * K, sizeof(float64_t))
        self.n_left = <float64_t*> arena.take(BLOCK, sizeof(float64_t))
        self.scores = <float64_t*> arena.take(BLOCK, sizeof(float64_t))
        self.children = <float64_t*> arena.take(2 * K, sizeof(float64_t))
        self.sides = <uint8_t*> arena.take(m, sizeof(uint8_t))

    cdef int _grow(
        self, NCMTree tree, intp_t* starts, int32_t* leaves
    ) except -1 nogil:
        # Process the nodes that have a start, in the order of their ids. The rows of a node
        # are contiguous in self.rows; a split partitions them in place.
        cdef intp_t node = 0
        cdef intp_t capacity = tree.node_count
        cdef intp_t n_left, i
        while node < tree.node_count:
            if starts[node] < 0:
                node += 1
                continue
            if tree.node_count + 2 > capacity:
                capacity = 2 * capacity + 64
                starts = <intp_t*> self.arena.resize(starts, capacity, sizeof(intp_t))
            n_left = self._examine(tree, node, starts[node])
            if n_left > 0:
                starts[tree.node_count - 2] = starts[node]
                starts[tree.node_count - 1] = starts[node] + n_left
            else:
                for i in range(starts[node], starts[node] + tree.n_node_samples[node]):
                    leaves[self.rows[i]] = <int32_t> node
            node += 1
        return 0

    cdef intp_t _examine(
        self, NCMTree tree, intp_t node, intp_t start
    ) except -1 nogil:
        # Split a node if limits and bound permit; returns the number of rows of the
        # left child, 0 if the node is not split.
        cdef const float64_t* counts = tree.counts + node * self.K
        cdef intp_t n_rows = tree.n_node_samples[node]
        cdef intp_t k = 0           # number of classes that occur in the node
        cdef intp_t m, c            # m: number of class means of the split
        cdef bint is_accepted
        cdef float64_t n = 0.0
        cdef NodeStats stats
        cdef SplitEvidence evidence
        for c in range(self.K):
            if counts[c] > 0.0:
                self.present[k] = <int32_t> c
                self.total[k] = counts[c]
                n += counts[c]
                k += 1
        if (
            k < 2
            or tree.depth[node] >= self.max_depth
            or n < self.min_split
            or not tree.impurity[node] > DBL_EPSILON
        ):
            return 0
        memset(&stats, 0, sizeof(NodeStats))
        stats.n_classes = k
        stats.counts = self.total
        stats.n = n
        stats.pool = n              # weight of labeled and unlabeled rows
        stats.n_fresh = n           # weight of the rows since the node was created
        stats.integral = True       # counts are integers
        stats.time = self.total_weight  # of all rows of the tree
        # all assignments count as candidate splits of one feature
        stats.n_features = 1
        stats.n_candidate_features = 1
        stats.attempt = 1           # each node is examined once
        stats.depth = tree.depth[node]
        self.criterion.n_classes = k
        self.criterion.begin(&stats)
        clear_evidence(&evidence)
        self.key = mix(self.seed ^ mix(node))
        m = self._n_chosen(k)
        self._draw_classes(k, m)
        self._find_means(counts, start, n_rows, m)
        self._find_nearest(start, n_rows, m, k)
        if not self._choose(&stats, m, k, &evidence):
            return 0
        # the bound gets the counts of all classes, also of those that do not occur
        stats.n_classes = self.K
        stats.counts = counts
        self._count_children(counts, m, k)
        if self.bound is not None:
            self.bound.node_begin(&stats)
            is_accepted = self.bound.decide(&stats, self.children, 2, &evidence)
            if self.bound.held is not None:
                with gil:
                    self.bound.raise_held()
            if not is_accepted:
                return 0
        # number of candidate splits that are expected to look as good by chance
        expect_by_chance(
            self.contingency, &stats, self.children, 2, &evidence.by_chance
        )
        return self._split_node(tree, node, start, n_rows, m, &evidence)

    cdef void _draw_classes(self, intp_t k, intp_t m) noexcept nogil:
        # Draw m of the k classes of the node (Fisher-Yates shuffle); keep their order.
        cdef uint64_t key = self.key
        cdef intp_t i, j
        cdef int32_t c
        memset(self.class_index, 0xFF, self.K * sizeof(int32_t))     # -1
        for i in range(k):
            self.drawn_classes[i] = self.present[i]
        if m < k:
            for i in range(m):
                key = mix(key)
                j = i + <intp_t> (key % <uint64_t> (k - i))
                c = self.drawn_classes[j]
                self.drawn_classes[j] = self.drawn_classes[i]
                self.drawn_classes[i] = c
        for i in range(m):
            self.class_index[self.drawn_classes[i]] = 0
        j = 0
        for i in range(k):
            c = self.present[i]
            if self.class_index[c] >= 0:
                self.drawn_classes[j] = c
                self.class_index[c] = <int32_t> j
                j += 1

    cdef void _find_means(
        self, const float64_t* counts, intp_t start, intp_t n_rows, intp_t m
    ) noexcept nogil:
        # Compute the means of the m drawn classes over the rows of the node.
        cdef intp_t d = self.d
        cdef const float32_t* row
        cdef float64_t* total
        cdef float64_t w
        cdef intp_t i, j, f
        memset(self.sums, 0, m * d * sizeof(float64_t))
        for i in range(start, start + n_rows):
            j = self.class_index[self.y[self.rows[i]]]
            if j < 0:
                continue
            row = self.X + self.rows[i] * d
            total = self.sums + j * d
            w = self.times[self.rows[i]]
            for f in range(d):
                total[f] += w * <float64_t> row[f]
        for j in range(m):
            w = counts[self.drawn_classes[j]]
            for f in range(d):
                self.means[j * d + f] = <float32_t> (self.sums[j * d + f] / w)

    cdef void _find_nearest(
        self, intp_t start, intp_t n_rows, intp_t m, intp_t k
    ) noexcept nogil:
        # Find the nearest mean of each row, and count the rows by nearest mean and class.
        cdef intp_t d = self.d
        cdef intp_t i, j
        cdef int32_t row
        # from here on, `class_index` is the index of a class among `present`
        for j in range(k):
            self.class_index[self.present[j]] = <int32_t> j
        memset(self.table, 0, m * k * sizeof(float64_t))
        for i in range(start, start + n_rows):
            row = self.rows[i]
            j = nearest(self.X + row * d, self.means, m, d)
            self.nearest[i] = <uint16_t> j
            self.table[j * k + self.class_index[self.y[row]]] += self.times[row]

    cdef bint _choose(
        self, NodeStats* stats, intp_t m, intp_t k, SplitEvidence* evidence
    ) noexcept nogil:
        # Find the best assignment of the m means to two sides; returns whether it
        # decreases the impurity. The first mean is always on the left, because
        # exchanging the sides gives the same split.
        cdef bint enumerates = m <= MAX_ENUMERATED
        cdef intp_t n = (1 << (m - 1)) - 1 if enumerates else self.n_assignments
        cdef float64_t node_score = self.criterion.node(self.total, stats.n)
        cdef float64_t tie = ROUNDING * node_score      # larger than rounding errors
        cdef float64_t smallest = INFINITY
        cdef intp_t best = -1
        cdef intp_t start = 0
        cdef intp_t n_candidates = 0
        cdef intp_t i
        cdef SplitBlock splits
        memset(&splits, 0, sizeof(SplitBlock))
        splits.left = self.left
        splits.n_left = self.n_left
        splits.pool_left = self.n_left      # without unlabeled rows, the same as n_left
        while start < n:
            splits.size = min(<intp_t> BLOCK, n - start)
            if enumerates:
                self._fill_all(splits.size, m, k)
            else:
                self._fill_drawn(start, splits.size, m, k)
            for i in range(splits.size):
                self.n_left[i] = self._sum(self.left + i * k, k)
            self.criterion.block(&splits, self.scores)
            for i in range(splits.size):
                if not (
                    self.n_left[i] >= self.min_leaf
                    and stats.n - self.n_left[i] >= self.min_leaf
                ):
                    continue
                n_candidates += 1
                if self.scores[i] < smallest - tie or best < 0:
                    smallest = self.scores[i]
                    best = start + i
            start += splits.size
        if best < 0 or not smallest < node_score - tie:
            return False
        self._set_sides(best, m)
        stats.n_candidates = n_candidates
        stats.n_feature_candidates = n_candidates
        stats.log_feature_candidates = log(<float64_t> n_candidates)
        evidence.by_chance.n_candidates = n_candidates
        evidence.score = smallest / stats.n
        evidence.runner_up_score = INFINITY     # there is no other feature
        evidence.runner_up_feature = -1         # the only alternative is no split
        # a limit in bounds that compare confidence limits, here the impurity of the node
        evidence.parent_limit = node_score / stats.n
        return True

    cdef inline float64_t _sum(self, const float64_t* counts, intp_t k) noexcept nogil:
        cdef float64_t n = 0.0
        cdef intp_t c
        for c in range(k):
            n += counts[c]
        return n

    @cython.overflowcheck(False)     # hashes are computed modulo 2^64
    cdef void _set_sides(self, intp_t assignment, intp_t m) noexcept nogil:
        # The first mean goes left; mean j >= 1 goes to the side given by bit j - 1 of
        # `assignment` + 1 or, if assignments are drawn at random, by a bit of its hash.
        cdef uint64_t bits = assignment + 1
        cdef intp_t j
        self.sides[0] = 0
        if m > MAX_ENUMERATED:
            bits = mix(self.key ^ mix(~<uint64_t> assignment))
        for j in range(1, m):
            self.sides[j] = bits & 1
            bits >>= 1
            if j % 32 == 0:     # the next hash, because there may be more means than bits
                bits = mix(bits ^ mix(self.key + <uint64_t> (assignment + j)))

    cdef void _fill_all(self, intp_t n, intp_t m, intp_t k) noexcept nogil:
        # Counts of the left child for assignments 1 to n. In the binary representation of
        # an assignment, bits that are set are means on the right. Its counts are those of the
        # assignment without the lowest such bit, minus the counts of the rows nearest to
        # that bit's mean.
        cdef const float64_t* before
        cdef const float64_t* subtracted
        cdef float64_t* here
        cdef intp_t i, j, c
        for i in range(1, n + 1):
            j = 0
            while not (i >> j) & 1:
                j += 1
            before = self.total
            if i != 1 << j:
                before = self.left + (i - (1 << j) - 1) * k
            subtracted = self.table + (j + 1) * k
            here = self.left + (i - 1) * k
            for c in range(k):
                here[c] = before[c] - subtracted[c]

    cdef void _fill_drawn(
        self, intp_t start, intp_t n, intp_t m, intp_t k
    ) noexcept nogil:
        # Counts of the left child for n assignments that are drawn at random.
        cdef float64_t* here
        cdef intp_t i, j, c
        for i in range(n):
            self._set_sides(start + i, m)
            here = self.left + i * k
            for c in range(k):
                here[c] = 0.0
            for j in range(m):
                if self.sides[j] == 0:
                    for c in range(k):
                        here[c] += self.table[j * k + c]

    cdef void _count_children(
        self, const float64_t* counts, intp_t m, intp_t k
    ) noexcept nogil:
        # Class counts of both children of the assignment in `sides`.
        cdef float64_t* right = self.children + self.K
        cdef intp_t j, c
        memset(self.children, 0, 2 * self.K * sizeof(float64_t))
        for j in range(m):
            if self.sides[j] == 1:
                for c in range(k):
                    right[self.present[c]] += self.table[j * k + c]
        for c in range(self.K):
            self.children[c] = counts[c] - right[c]

    cdef intp_t _split_node(
        self, NCMTree tree, intp_t node, intp_t start, intp_t n_rows, intp_t m,
        const SplitEvidence* evidence,
    ) except -1 nogil:
        # Add the split and the two children to the tree, and partition the rows of the node;
        # returns the number of rows of the left child.
        cdef intp_t n_left = 0
        cdef intp_t n_right = 0
        cdef intp_t i, z            # z: child
        cdef intp_t sizes[2]
        cdef const float64_t* child
        if (
            tree.node_count + 2 > tree.capacity
            or tree.n_centroids + m > tree.centroid_capacity
        ):
            with gil:
                tree.reserve(tree.node_count + 2)
                tree.reserve_centroids(tree.n_centroids + m)
        for i in range(start, start + n_rows):
            if self.sides[self.nearest[i]] == 0:
                self.rows[start + n_left] = self.rows[i]
                n_left += 1
            else:
                self.right_rows[n_right] = self.rows[i]
                n_right += 1
        for i in range(n_right):
            self.rows[start + n_left + i] = self.right_rows[i]
        sizes[0] = n_left
        sizes[1] = n_right
        tree.store_evidence(evidence)   # of the split of the next call
        tree.split(node, self.means, self.drawn_classes, self.sides, m)
        self.criterion.n_classes = self.K
        for z in range(2):
            child = self.children + z * self.K
            tree.add_leaf(
                node, child, sizes[z],
                self.criterion.impurity(child, self._sum(child, self.K)),
            )
        return n_left
