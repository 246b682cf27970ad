"""Trees whose tests are nearest class means, and their growth."""

cimport cython
import numpy as np
from libc.float cimport DBL_EPSILON
from libc.math cimport INFINITY, log
from libc.string cimport memcpy, memset

from skconftree.bounds._contingency cimport Contingency, expect_by_chance
from skconftree.bounds._contract cimport (
    Bound, NodeStats, SplitEvidence, TestBlock, clear_evidence,
)
from skconftree.criteria._criterion cimport Criterion
from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.nodes._node_table cimport NodeTable, address_of
from skconftree.tree.nodes._node_table import sum_up
from skconftree.tree.split._kernels import make_kernels
from skconftree.utils._codec import corrupt_state
from skconftree.utils._draws cimport mix
from skconftree.utils._inline cimport ROUNDING
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint16_t, uint32_t, uint64_t,
    uint8_t,
)

TEST_DTYPE = np.dtype([("first", np.int32), ("n", np.int32)], align=True)
# Behind the arrays of the nodes: one element a node, then one a class mean.
CENTROID_ARRAYS = ("centroids", "owners", "sides")


cdef class NCMTree(NodeTable):
    """A tree of nearest class means as read-only arrays, one element a node.

    Internal nodes and leaves share one numbering. Ids are append-only: children have
    larger ids than their parent and follow each other. All splits have two children.

    Attributes
    ----------
    node_count, max_depth, n_features, n_classes : int
    n_centroids : int
        Class means of all splits together.
    children_left, children_right : ndarray of shape (node_count,), intp
        Children of each node; -1 at a leaf.
    parent : ndarray of shape (node_count,), int32
        Parent of each node; -1 at the root.
    depth : ndarray of shape (node_count,), int32
    counts : ndarray of shape (node_count, n_classes), float64
        Weight of the training rows of each class.
    value : ndarray of shape (node_count, n_classes), float64
        Class proportions; where no row has come, those of the nearest node above that
        has some.
    impurity : ndarray of shape (node_count,), float64
    n_node_samples : ndarray of shape (node_count,), intp
    evidence : ndarray of shape (node_count,), structured
        Why each split was made, as of a confidence tree.
    """

    def __cinit__(
        self, n_features, n_classes, class_weight=None, keep_evidence=True,
        shrinkage=0.0, keep_costs=False, keep_competitors=False,
    ):
        # what the nodes hold is there by now
        self._hold(self._enlarged(self.capacity) | self._centroids_of(0))

    def _centroids_of(self, room):
        return {
            "centroids": np.zeros((room, self.n_features), dtype=np.float32),
            "owners": np.zeros(room, dtype=np.int32),
            "sides": np.zeros(room, dtype=np.uint8),
        }

    cdef dict _shapes(self, intp_t capacity):
        cdef dict shapes = NodeTable._shapes(self, capacity)
        shapes["tests"] = ((capacity,), TEST_DTYPE)
        return shapes

    cdef tuple _names(self):
        return NodeTable._names(self) + ("tests", *CENTROID_ARRAYS)

    cdef intp_t _size(self, str name) except -1:
        if name in CENTROID_ARRAYS:
            return self.n_centroids
        return NodeTable._size(self, name)

    cdef object _hold(self, dict arrays):
        cdef void* tests = address_of(arrays["tests"])
        cdef void* means = address_of(arrays["centroids"])
        cdef void* owners = address_of(arrays["owners"])
        cdef void* sides = address_of(arrays["sides"])
        NodeTable._hold(self, arrays)
        self.tests = <CentroidTest*> tests
        self.means = <float32_t*> means
        self.owners = <int32_t*> owners
        self.sides = <uint8_t*> sides
        self.centroid_capacity = len(arrays["owners"])

    cdef void reserve_centroids(self, intp_t room) except *:
        # Room for so many class means, at least doubling what there is.
        if room <= self.centroid_capacity:
            return
        room = max(room, 2 * self.centroid_capacity)
        if room > 2147483647:
            raise ValueError("The tree has more centroids than its index type holds.")
        larger = self._centroids_of(room)
        for name, array in larger.items():
            array[: self.n_centroids] = self._arrays[name][: self.n_centroids]
        self._hold(self._arrays | larger)

    cdef intp_t node_bytes(self) noexcept nogil:
        return NodeTable.node_bytes(self) + sizeof(CentroidTest)

    cdef intp_t bytes_of_nodes(self) noexcept nogil:
        return NodeTable.bytes_of_nodes(self) + self.n_centroids * (
            self.n_features * sizeof(float32_t) + sizeof(int32_t) + sizeof(uint8_t)
        )

    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil:
        cdef intp_t node = NodeTable.add_leaf(self, parent, counts, n_rows, impurity)
        self.tests[node].first = 0
        self.tests[node].n = 0
        return node

    cdef void split(
        self, intp_t node, const float32_t* means, const int32_t* owners,
        const uint8_t* sides, intp_t n,
    ) noexcept nogil:
        # The next two leaves added are the children of this node. There is room.
        cdef intp_t d = self.n_features
        cdef intp_t j
        self.tests[node].first = <int32_t> self.n_centroids
        self.tests[node].n = <int32_t> n
        memcpy(
            self.means + self.n_centroids * d, means, n * d * sizeof(float32_t)
        )
        for j in range(n):
            self.owners[self.n_centroids + j] = owners[j]
            self.sides[self.n_centroids + j] = sides[j]
        self.n_centroids += n

    def recounted(
        self, n_classes, places, const int32_t[::1] leaves not None,
        const label_t[::1] y not None, weight, criterion, keep,
    ):
        """Copy the tree with other counts, and perhaps further classes.

        `places` (ascending) says what each class is now, `leaves` where each row has
        come, `weight` how often it counts (None: once). With `keep` the rows come on
        top of those that are counted.
        """
        self._check_rows(leaves, y, n_classes)
        cdef intp_t n = leaves.shape[0]
        cdef intp_t i
        cdef const uint32_t[::1] times
        cdef bint weighted = weight is not None
        old = self._snapshot().all_arrays()
        n_children = old["n_children"]
        counts = np.zeros((self.node_count, n_classes))
        n_rows = np.zeros(self.node_count, dtype=np.intp)
        if keep:
            leaf = n_children == 0
            counts[np.ix_(leaf, places)] = old["counts"][leaf]
            n_rows[leaf] = old["n_node_samples"][leaf]
        cdef float64_t[:, ::1] of_class = counts
        cdef intp_t[::1] of_rows = n_rows
        if weighted:
            times = weight
            if times.shape[0] != n:
                raise ValueError("leaves and weight must have one element a row.")
        with nogil:
            for i in range(n):
                if not weighted:
                    of_class[leaves[i], y[i]] += 1.0
                    of_rows[leaves[i]] += 1
                elif times[i] > 0:
                    of_class[leaves[i], y[i]] += times[i]
                    of_rows[leaves[i]] += 1
        sum_up(old["parent"], n_children, counts, n_rows)
        owners = np.asarray(places)[old["owners"]].astype(np.int32)
        cdef NCMTree tree = type(self)(
            self.n_features, n_classes, None, self.keeps_evidence, False, 0.0
        )
        # the structure and the means do not change: both trees have the same arrays
        tree._take({
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
        const intp_t[::1] places not None, const uint8_t[::1] counted not None,
    ):
        """Share of wrong predictions among the rows `counted`, NaN if there are none.

        `leaves` says where each row has come, `places` what each class of the tree is
        now, as in `y`.
        """
        self._check_rows(leaves, y, 1 << 16)
        if places.shape[0] != self.n_classes or counted.shape[0] != y.shape[0]:
            raise ValueError("places or counted do not fit the tree.")
        cdef int32_t[::1] best = np.full(self.node_count, -1, dtype=np.int32)
        cdef intp_t n_wrong = 0
        cdef intp_t n = 0
        cdef intp_t i, node
        with nogil:
            for i in range(y.shape[0]):
                if counted[i]:
                    node = leaves[i]
                    if best[node] < 0:
                        best[node] = <int32_t> places[self._best_of(node)]
                    n += 1
                    n_wrong += best[node] != y[i]
        return <float64_t> n_wrong / n if n > 0 else np.nan

    cdef intp_t _best_of(self, intp_t node) noexcept nogil:
        # Most frequent class of the nearest node from here up that has any row.
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
        self, const int32_t[::1] leaves, const label_t[::1] y, intp_t n_classes
    ):
        cdef intp_t i
        cdef bint sound = y.shape[0] == leaves.shape[0]
        self._check_root()
        for i in range(leaves.shape[0] if sound else 0):
            sound &= 0 <= leaves[i] < self.node_count and y[i] < n_classes
        if not sound:
            raise ValueError("leaves or y do not fit the tree.")

    cdef object _take(self, dict arrays):
        NodeTable._take(self, arrays)
        self.n_centroids = len(arrays["owners"])

    def centroids(self, node):
        """Class means of the test of one node, the class of each, and where it leads.

        Rows go to the child of the mean that is nearest.
        """
        cdef intp_t place = self._checked_node(node)
        shown = self._snapshot().all_arrays()
        test = shown["tests"][place]
        some = slice(test["first"], test["first"] + test["n"])
        return (
            self._snapshot().array("centroids")[some],
            shown["owners"][some].astype(np.intp),
            shown["first_child"][place] + shown["sides"][some].astype(np.intp),
        )

    cdef intp_t leaf_of(self, const float32_t* row) noexcept nogil:
        cdef intp_t d = self.n_features
        cdef intp_t node = 0
        cdef intp_t place
        cdef CentroidTest* test
        while True:
            test = &self.tests[node]
            if test.n == 0:
                return node
            place = test.first + nearest(
                row, self.means + test.first * d, test.n, d
            )
            node = self.first_child[node] + self.sides[place]

    def apply(self, const float32_t[:, ::1] X not None, finite=None):
        """Leaf reached by each row of a table without NaN; `finite` is not used."""
        return self.leaves_of(X).astype(np.intp)

    def leaves_of(self, const float32_t[:, ::1] X not None, known=None):
        """Leaf reached by each row where `known`, of the first rows, has none."""
        cdef intp_t n = X.shape[0]
        leaves = np.full(n, -1, dtype=np.int32)
        if known is not None:
            leaves[: len(known)] = known
        cdef int32_t[::1] out = leaves
        cdef intp_t i
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, the tree has {self.n_features}."
            )
        self._check_root()
        with nogil:
            for i in range(n):
                if out[i] < 0:
                    out[i] = <int32_t> self.leaf_of(&X[i, 0])
        return leaves

    cdef object _check(self, dict arrays):
        # Routing comes to an end, at the two children of each split.
        NodeTable._check(self, arrays)
        n = arrays["tests"]["n"].astype(np.int64)
        first = np.where(n > 0, np.cumsum(n) - n, 0)
        n_children = arrays["n_children"]
        if not (
            len(n) == len(n_children)
            and np.array_equal(n_children, 2 * (n > 0))
            and np.all(n >= 0)
            and np.array_equal(arrays["tests"]["first"], first)
            and all([len(arrays[name]) == n.sum() for name in CENTROID_ARRAYS])
            and np.all(arrays["sides"] <= 1)
            and np.isfinite(arrays["centroids"]).all()      # they become whole numbers
        ):
            raise corrupt_state("tree", "its tests")


cdef enum:
    MAX_ENUMERATED = 10    # classes whose assignments to sides are all compared
    BLOCK = 512             # assignments compared at a time: all of that many classes


cdef class NCMGrower:
    """Grows one tree; made for one worker.

    A node compares the means of `max_classes` classes: a number, a share of those that
    it has, or None, the square root of their number. `n_assignments` of classes to
    sides are drawn where there are too many to compare them all.
    """

    cdef GrowthSettings settings
    cdef Criterion criterion
    cdef Bound bound
    cdef Contingency contingency
    cdef intp_t K, d
    cdef intp_t most            # classes of a test
    cdef float64_t share        # of the classes of a node; 0 = `most` of them
    cdef bint by_root           # the square root of their number
    cdef intp_t n_assignments
    cdef uint64_t seed
    cdef intp_t max_depth
    cdef float64_t min_split, min_leaf
    cdef float64_t n_given      # weight of the sample

    cdef Arena arena
    cdef const float32_t* X
    cdef const label_t* y
    cdef const uint32_t* times      # how often each row counts
    cdef int32_t* rows          # [n] of the nodes, one after the other
    cdef int32_t* spare         # [n]
    cdef uint16_t* near         # [n] by position: the nearest mean
    cdef int32_t* present       # [K] classes of the node
    cdef int32_t* chosen        # [K] classes whose means are compared
    cdef int32_t* place         # [K] of a class among these, -1 = none
    cdef float64_t* total       # [K] counts of the present classes
    cdef float64_t* sums        # [most, d]
    cdef float32_t* means       # [most, d]
    cdef float64_t* table       # [most, K] nearest mean x present class
    cdef float64_t* left        # [BLOCK, K] left child of each assignment
    cdef float64_t* n_left      # [BLOCK]
    cdef float64_t* scores      # [BLOCK]
    cdef float64_t* children    # [2, K]
    cdef uint8_t* sides         # [most]
    cdef uint64_t key           # of the draws of a node

    def __init__(
        self, GrowthSettings settings not None, intp_t n_features, intp_t n_classes,
        max_classes, intp_t n_assignments, uint64_t seed,
    ):
        self.settings = settings
        self.K = n_classes
        self.d = n_features
        self.n_assignments = n_assignments
        self.seed = seed
        self.by_root = max_classes is None
        self.share = max_classes if isinstance(max_classes, float) else 0.0
        self.most = n_classes
        if self.by_root or self.share > 0.0:
            self.most = self._n_chosen(n_classes)
        else:
            self.most = max(min(<intp_t> max_classes, n_classes), 2)
        self.max_depth = 2147483647
        if settings.max_depth is not None:
            self.max_depth = settings.max_depth
        self.min_split = settings.min_samples_split
        self.min_leaf = settings.min_samples_leaf

    cdef intp_t _n_chosen(self, intp_t n) noexcept nogil:
        # How many of the classes of a node have a mean in its test.
        cdef intp_t m = self.most
        if self.by_root:
            m = 1
            while m * m < n:
                m += 1
        elif self.share > 0.0:
            m = <intp_t> (self.share * n)
        return max(<intp_t> 2, min(m, n))

    def grow(
        self, const float32_t[:, ::1] X not None, const label_t[::1] y not None,
        const uint32_t[::1] times not None,
    ):
        """Grow a tree from rows, each so many times; tell the leaf of each row.

        That is -1 for rows that are not in the sample.
        """
        cdef intp_t n = X.shape[0]
        cdef intp_t K = self.K
        cdef NCMTree tree = NCMTree(self.d, K)
        cdef intp_t n_rows = 0
        cdef intp_t i
        if X.shape[1] != self.d or y.shape[0] != n or times.shape[0] != n:
            raise ValueError("X, y and times do not fit each other.")
        if n > 2147483647:
            raise ValueError(f"A tree learns at most 2**31 - 1 rows, got {n}.")
        self.n_given = 0.0
        self.arena = Arena()
        self.rows = <int32_t*> self.arena.take(n, sizeof(int32_t))
        root = np.zeros(K)
        cdef float64_t[::1] counts = root
        for i in range(n):
            if y[i] >= K:
                raise ValueError("y does not fit the classes.")
            if times[i] > 0:
                self.rows[n_rows] = <int32_t> i
                n_rows += 1
                counts[y[i]] += times[i]
                self.n_given += times[i]
        if n_rows == 0:
            raise ValueError("The sample has no row.")
        self.contingency = Contingency(exact=False)
        self.contingency.reserve(2, max(self.K, 2))
        self.criterion, self.bound = make_kernels(
            self.settings, max(self.K, 2), <intp_t> min(self.n_given, 2.0**62)
        )
        self.criterion.n_classes = self.K
        self.X = &X[0, 0]
        self.y = &y[0]
        self.times = &times[0]
        self._ensure_capacity(n_rows)
        tree.add_leaf(-1, &counts[0], n_rows, self.criterion.impurity(
            &counts[0], self.n_given
        ))
        reached = np.full(n, -1, dtype=np.int32)
        cdef int32_t[::1] leaves = reached
        with nogil:
            self._grow(tree, n_rows, &leaves[0])
        tree.cut_to_size()
        self.arena = None
        return tree, reached

    cdef void _ensure_capacity(self, intp_t n) except *:
        cdef intp_t K = self.K
        cdef intp_t m = self.most
        cdef Arena arena = self.arena
        self.spare = <int32_t*> arena.take(n, sizeof(int32_t))
        self.near = <uint16_t*> arena.take(n, sizeof(uint16_t))
        self.present = <int32_t*> arena.take(K, sizeof(int32_t))
        self.chosen = <int32_t*> arena.take(K, sizeof(int32_t))
        self.place = <int32_t*> arena.take(K, sizeof(int32_t))
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
        self, NCMTree tree, intp_t n_rows, int32_t* leaves
    ) except -1 nogil:
        # Nodes are examined in the order of their ids. Their rows follow each other,
        # those of the children in the place of the parent's.
        cdef intp_t node = 0
        cdef intp_t room = 64
        cdef intp_t* starts = <intp_t*> self.arena.take(room, sizeof(intp_t))
        cdef intp_t n_left, i
        starts[0] = 0
        while node < tree.node_count:
            if tree.node_count + 2 > room:
                room = 2 * room
                starts = <intp_t*> self.arena.resize(starts, room, sizeof(intp_t))
            n_left = self._examine(tree, node, starts[node])
            if n_left > 0:
                starts[tree.node_count - 2] = starts[node]
                starts[tree.node_count - 1] = starts[node] + n_left
            else:
                for i in range(starts[node], starts[node] + tree.n_node_samples[node]):
                    leaves[self.rows[i]] = <int32_t> node
            node += 1
        return 0

    cdef bint _may_split(self, NCMTree tree, intp_t node, float64_t n) noexcept nogil:
        return (
            tree.depth[node] < self.max_depth
            and n >= self.min_split
            and tree.impurity[node] > DBL_EPSILON
        )

    cdef intp_t _examine(
        self, NCMTree tree, intp_t node, intp_t start
    ) except -1 nogil:
        # Split a node if it may and should; returns how many rows go left, 0 if not.
        cdef const float64_t* counts = tree.counts + node * self.K
        cdef intp_t n_rows = tree.n_node_samples[node]
        cdef intp_t k = 0
        cdef intp_t m, c
        cdef float64_t n = 0.0
        cdef NodeStats facts
        cdef SplitEvidence evidence
        for c in range(self.K):
            if counts[c] > 0.0:
                self.present[k] = <int32_t> c
                self.total[k] = counts[c]
                n += counts[c]
                k += 1
        if k < 2 or not self._may_split(tree, node, n):
            return 0
        memset(&facts, 0, sizeof(NodeStats))
        facts.n_classes = k
        facts.counts = self.total
        facts.n = n
        facts.pool = n
        facts.n_fresh = n
        facts.integral = True
        facts.time = self.n_given
        facts.n_attributes = 1
        facts.n_varying = 1
        facts.attempt = 1
        facts.depth = tree.depth[node]
        self.criterion.n_classes = k
        self.criterion.begin(&facts)
        clear_evidence(&evidence)
        self.key = mix(self.seed ^ mix(node))
        m = self._n_chosen(k)
        self._draw_classes(k, m)
        self._find_means(counts, start, n_rows, m)
        self._find_nearest(start, n_rows, m, k)
        if not self._choose(&facts, m, k, &evidence):
            return 0
        # the bound knows all classes
        facts.n_classes = self.K
        facts.counts = counts
        self._count_children(counts, m, k)
        if self.bound is not None:
            self.bound.node_begin(&facts)
            if not self.bound.decide(&facts, self.children, 2, &evidence):
                return 0
        expect_by_chance(
            self.contingency, &facts, self.children, 2, &evidence.by_chance
        )
        return self._install(tree, node, start, n_rows, m, &evidence)

    cdef void _draw_classes(self, intp_t k, intp_t m) noexcept nogil:
        # m of the k classes of the node, in their order.
        cdef uint64_t key = self.key
        cdef intp_t i, j
        cdef int32_t c
        memset(self.place, 0xFF, self.K * sizeof(int32_t))     # -1
        for i in range(k):
            self.chosen[i] = self.present[i]
        if m < k:
            for i in range(m):
                key = mix(key)
                j = i + <intp_t> (key % <uint64_t> (k - i))
                c = self.chosen[j]
                self.chosen[j] = self.chosen[i]
                self.chosen[i] = c
        for i in range(m):
            self.place[self.chosen[i]] = 0
        j = 0
        for i in range(k):
            c = self.present[i]
            if self.place[c] >= 0:
                self.chosen[j] = c
                self.place[c] = <int32_t> j
                j += 1

    cdef void _find_means(
        self, const float64_t* counts, intp_t start, intp_t n_rows, intp_t m
    ) noexcept nogil:
        cdef intp_t d = self.d
        cdef const float32_t* row
        cdef float64_t* total
        cdef float64_t w
        cdef intp_t i, j, f
        memset(self.sums, 0, m * d * sizeof(float64_t))
        for i in range(start, start + n_rows):
            j = self.place[self.y[self.rows[i]]]
            if j < 0:
                continue
            row = self.X + self.rows[i] * d
            total = self.sums + j * d
            w = self.times[self.rows[i]]
            for f in range(d):
                total[f] += w * <float64_t> row[f]
        for j in range(m):
            w = counts[self.chosen[j]]
            for f in range(d):
                self.means[j * d + f] = <float32_t> (self.sums[j * d + f] / w)

    cdef void _find_nearest(
        self, intp_t start, intp_t n_rows, intp_t m, intp_t k
    ) noexcept nogil:
        # Nearest mean of each row, and the table of means and classes.
        cdef intp_t d = self.d
        cdef intp_t i, j
        cdef int32_t row
        # from here on, the place of a class among those of the node
        for j in range(k):
            self.place[self.present[j]] = <int32_t> j
        memset(self.table, 0, m * k * sizeof(float64_t))
        for i in range(start, start + n_rows):
            row = self.rows[i]
            j = nearest(self.X + row * d, self.means, m, d)
            self.near[i] = <uint16_t> j
            self.table[j * k + self.place[self.y[row]]] += self.times[row]

    cdef bint _choose(
        self, NodeStats* facts, intp_t m, intp_t k, SplitEvidence* evidence
    ) noexcept nogil:
        # The best assignment of the means to two sides; whether it gains anything. The
        # first mean is on the left: the other half of the assignments mirrors these.
        cdef bint all_of_them = m <= MAX_ENUMERATED
        cdef intp_t n = (1 << (m - 1)) - 1 if all_of_them else self.n_assignments
        cdef float64_t whole = self.criterion.node(self.total, facts.n)
        cdef float64_t tie = ROUNDING * whole
        cdef float64_t least = INFINITY
        cdef intp_t best = -1
        cdef intp_t start = 0
        cdef intp_t n_tests = 0
        cdef intp_t i
        cdef TestBlock tests
        memset(&tests, 0, sizeof(TestBlock))
        tests.left = self.left
        tests.n_left = self.n_left
        tests.pool_left = self.n_left
        while start < n:
            tests.size = min(<intp_t> BLOCK, n - start)
            if all_of_them:
                self._fill_all(tests.size, m, k)
            else:
                self._fill_drawn(start, tests.size, m, k)
            for i in range(tests.size):
                self.n_left[i] = self._sum(self.left + i * k, k)
            self.criterion.block(&tests, self.scores)
            for i in range(tests.size):
                if not (
                    self.n_left[i] >= self.min_leaf
                    and facts.n - self.n_left[i] >= self.min_leaf
                ):
                    continue
                n_tests += 1
                if self.scores[i] < least - tie or best < 0:
                    least = self.scores[i]
                    best = start + i
            start += tests.size
        if best < 0 or not least < whole - tie:
            return False
        self._set_sides(best, m)
        facts.n_tests = n_tests
        facts.n_attribute_tests = n_tests
        facts.log_attribute_tests = log(<float64_t> n_tests)
        evidence.by_chance.n_candidates = n_tests
        evidence.score = least / facts.n
        evidence.runner_up_score = INFINITY
        evidence.runner_up_feature = -1
        evidence.parent_limit = whole / facts.n
        return True

    cdef inline float64_t _sum(self, const float64_t* counts, intp_t k) noexcept nogil:
        cdef float64_t n = 0.0
        cdef intp_t c
        for c in range(k):
            n += counts[c]
        return n

    @cython.overflowcheck(False)     # keys wrap
    cdef void _set_sides(self, intp_t assignment, intp_t m) noexcept nogil:
        # Bit j - 1 of a number, or a drawn bit, says where the mean j goes.
        cdef uint64_t bits = assignment + 1
        cdef intp_t j
        self.sides[0] = 0
        if m > MAX_ENUMERATED:
            bits = mix(self.key ^ mix(~<uint64_t> assignment))
        for j in range(1, m):
            self.sides[j] = bits & 1
            bits >>= 1
            if j % 32 == 0:     # more means than a number has bits
                bits = mix(bits ^ mix(self.key + <uint64_t> (assignment + j)))

    cdef void _fill_all(self, intp_t n, intp_t m, intp_t k) noexcept nogil:
        # Left child of assignments 1, 2, ..., by what it loses to an earlier one.
        cdef const float64_t* before
        cdef const float64_t* lost
        cdef float64_t* here
        cdef intp_t i, j, c
        for i in range(1, n + 1):
            j = 0
            while not (i >> j) & 1:
                j += 1
            before = self.total
            if i != 1 << j:
                before = self.left + (i - (1 << j) - 1) * k
            lost = self.table + (j + 1) * k
            here = self.left + (i - 1) * k
            for c in range(k):
                here[c] = before[c] - lost[c]

    cdef void _fill_drawn(
        self, intp_t start, intp_t n, intp_t m, intp_t k
    ) noexcept nogil:
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
        cdef float64_t* right = self.children + self.K
        cdef intp_t j, c
        memset(self.children, 0, 2 * self.K * sizeof(float64_t))
        for j in range(m):
            if self.sides[j] == 1:
                for c in range(k):
                    right[self.present[c]] += self.table[j * k + c]
        for c in range(self.K):
            self.children[c] = counts[c] - right[c]

    cdef intp_t _install(
        self, NCMTree tree, intp_t node, intp_t start, intp_t n_rows, intp_t m,
        const SplitEvidence* evidence,
    ) except -1 nogil:
        cdef intp_t n_left = 0
        cdef intp_t n_right = 0
        cdef intp_t i, z
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
            if self.sides[self.near[i]] == 0:
                self.rows[start + n_left] = self.rows[i]
                n_left += 1
            else:
                self.spare[n_right] = self.rows[i]
                n_right += 1
        for i in range(n_right):
            self.rows[start + n_left + i] = self.spare[i]
        sizes[0] = n_left
        sizes[1] = n_right
        tree.accept(evidence)
        tree.split(node, self.means, self.chosen, self.sides, m)
        self.criterion.n_classes = self.K
        for z in range(2):
            child = self.children + z * self.K
            tree.add_leaf(
                node, child, sizes[z],
                self.criterion.impurity(child, self._sum(child, self.K)),
            )
        return n_left
