"""The nodes of a tree whose tests are nearest class means."""

import numpy as np

from skconftree.ensemble.ncm._state import (
    TEST_ARRAYS, TEST_DTYPE, check_centroids,
)
from skconftree.tree.nodes._structure import sum_up

from libc.string cimport memcpy

from skconftree.tree.nodes._node_arrays cimport address_of
from skconftree.tree.nodes._node_table cimport NodeTable
from skconftree.utils._typedefs cimport label_t, uint32_t

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
        shrinkage=0.0, keep_costs=False, keep_rivals=False,
    ):
        # what the nodes hold is there by now
        self._hold(self._enlarged(self.capacity) | self._centroids_of(0))

    # -- room ---------------------------------------------------------------------

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
        return NodeTable._names(self) + TEST_ARRAYS

    cdef intp_t _size(self, str name) except -1:
        if name in ("centroids", "owners", "sides"):
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
        self.centroid_room = len(arrays["owners"])

    cdef void reserve_centroids(self, intp_t room) except *:
        # Room for so many class means, at least doubling what there is.
        if room <= self.centroid_room:
            return
        room = max(room, 2 * self.centroid_room)
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

    # -- growth -------------------------------------------------------------------

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

    # -- other counts -------------------------------------------------------------

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
        old = self._still().all_arrays()
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

    # -- pruning ------------------------------------------------------------------

    cdef void _copy_tests(self, NodeTable pruned, const intp_t[::1] kept) except *:
        cdef NCMTree tree = pruned
        cdef CentroidTest test
        cdef intp_t node
        tree.reserve_centroids(self.n_centroids)
        for node in range(kept.shape[0]):
            if tree.n_children[node] > 0:
                test = self.tests[kept[node]]
                tree.split(
                    node, self.means + test.first * self.n_features,
                    self.owners + test.first, self.sides + test.first, test.n,
                )

    # -- tests --------------------------------------------------------------------

    def centroids(self, node):
        """Class means of the test of one node, the class of each, and where it leads.

        Rows go to the child of the mean that is nearest.
        """
        cdef intp_t place = self._checked_node(node)
        shown = self._still().all_arrays()
        test = shown["tests"][place]
        some = slice(test["first"], test["first"] + test["n"])
        return (
            self._still().array("centroids")[some],
            shown["owners"][some].astype(np.intp),
            shown["first_child"][place] + shown["sides"][some].astype(np.intp),
        )

    # -- routing ------------------------------------------------------------------

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

    # -- state --------------------------------------------------------------------

    cdef object _check(self, dict arrays):
        NodeTable._check(self, arrays)
        check_centroids(arrays, self.n_classes)
