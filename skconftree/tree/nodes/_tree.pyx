"""The fitted tree, and the interface of leaf costs.

A snapshot has the arrays of a tree at one moment, and a cache of values computed from them:
`of_structure` returns those of a function of all arrays except counts. Codes are the integers of
categories: `branching` has where the codes of a nominal split start in `child_of_code`, and
`n_mapped_codes` is the size of that array, 0 without nominal splits. A state is the data in a
pickle, and `n_edits` counts the changes of existing splits. `_read` and `_leave` lock and unlock a
tree for reading. See _node_table.pxd and _routing.pxd.
"""

import numpy as np
from libc.math cimport INFINITY, NAN, floor
from libc.string cimport memcpy
from scipy.sparse import issparse

from skconftree.tree.nodes._derived import (
    features,
    replace_subtree,
    importances,
    is_nominal,
    missing_go_to_left,
    missing_seen,
    thresholds,
)
from skconftree.tree.nodes._node_table cimport address_of
from skconftree.tree.nodes._routing cimport (
    MISSING_SEEN, MAX_CODES, NUMERIC, child_of, route, route_any,
)
from skconftree.tree.nodes._state import (
    BRANCHING_DTYPE,
    NODE_DTYPE,
    STATE_VERSION,
    SPLIT_ARRAYS,
    check_splits,
)
from skconftree.utils._arrays cimport FINITE, finiteness
from skconftree.utils._typedefs cimport int32_t

cdef enum:
    UNDEFINED = -2      # feature of a leaf, as in scikit-learn
    ROWS = 4096         # of a sparse table that are dense at a time


cdef class Tree(NodeTable):
    """Decision tree as read-only arrays, with one element per node.

    Internal nodes and leaves share one numbering. New nodes get the next ids: children
    have larger ids than their parent and are adjacent. A removed node keeps its row
    in all arrays: its parent is -2, and it has neither children nor counts.

    The arrays of a tree that is trained row by row are copies of its state at one moment;
    later accesses return new arrays, and reading waits while another thread trains the tree.
    ``copy.copy`` copies the tree with all its arrays at one moment.

    Attributes
    ----------
    node_count, n_removed, n_leaves, max_depth, n_features, max_n_classes : int
        Number of nodes in the arrays, number of removed nodes, and sizes of the tree.
    n_classes : ndarray of shape (1,), intp
        Number of classes, as `max_n_classes`.
    n_outputs : int
        1. A tree with nominal splits does not have it, because functions of
        scikit-learn would read these splits as numeric.
    capacity : int
        Number of nodes for which memory is allocated.
    children_left, children_right : ndarray of shape (node_count,), intp
        Children of each node; -1 at a leaf, -2 at a node with a branch for every
        category, see `children`.
    n_children : ndarray of shape (node_count,), int32
        0 at a leaf, 2 at a binary split.
    parent : ndarray of shape (node_count,), int32
        Parent of each node; -1 at the root, -2 at a removed node.
    depth : ndarray of shape (node_count,), int32
    feature : ndarray of shape (node_count,), intp
        Feature of the split; -2 at a leaf.
    threshold : ndarray of shape (node_count,), float64
        Rows with a value of at most this go left; -2 at a leaf, NaN at a nominal split,
        see `branches`; infinity at a split that only separates missing values.
    missing_go_to_left : ndarray of shape (node_count,), uint8
        Whether a numeric split sends missing values to the left.
    missing_seen : ndarray of shape (node_count,), bool
        Whether training rows of the node had missing values, so that this was learned.
    counts : ndarray of shape (node_count, n_classes), float64
        Weight of the training rows of each class, without `class_weight`.
    proba : ndarray of shape (node_count, n_classes), float64
        Predicted class probabilities: `raw_proba`, shrunk toward those of the parents,
        and monotone with `monotonic_cst`.
    value : ndarray of shape (node_count, 1, n_classes), float64
        The same in the shape of scikit-learn.
    raw_proba : ndarray of shape (node_count, n_classes), float64
        Class proportions with `class_weight`. Equal to `proba` if `shrinkage` is 0 and
        there are no monotonicity constraints.
    shrinkage : float
        Weight of the parent's prediction in `proba`, in rows.
    impurity : ndarray of shape (node_count,), float64
    n_node_samples : ndarray of shape (node_count,), intp
    weighted_n_node_samples : ndarray of shape (node_count,), float64
        With `class_weight`.
    evidence : ndarray of shape (node_count,), structured
        Evidence of each split: its ``score``; ``runner_up_score``,
        ``runner_up_feature`` (-1 = no split) and ``runner_up_z`` of the best split on
        another feature; ``parent_limit``, ``child_limit``, ``radius`` and ``statistic``
        of the bound (split rule), ``n_candidates`` (candidate splits of the node),
        ``multiplicity`` and ``log10_expected_by_chance``, see
        :func:`skconftree.tree.node_table`. A field that does not apply is NaN; at a
        leaf all are, and ``runner_up_feature`` is -2. Without a bound a split only has
        ``n_candidates``, ``multiplicity`` and ``log10_expected_by_chance``.
    leaf_reason : ndarray of shape (node_count,), int32, or None
        Why each leaf is a leaf, a code of :class:`skconftree.tree.LeafReason`; 0 at other
        nodes. None for a tree of a forest that `fit` has grown.
    stops : ndarray of shape (node_count,), structured, or None
        Details of `leaf_reason` after `fit`: ``reason``, and ``feature`` (-2 = none),
        ``threshold`` (NaN if the feature is nominal) and ``log10_expected_by_chance`` of
        the best split that was rejected by the bound or by `min_impurity_decrease`, or
        of the split that was pruned or merged. Interval bounds (split rules that compare
        upper limits of the impurity) reject all splits together, without a best one.
    trial_costs : ndarray of shape (node_count,), structured, or None
        Pessimistic error estimates by which `fit` chose a split with look-ahead, which
        grows and prunes a tree below each of the best candidates: that of
        the tree below the split (``cost``) and of the tree below the cheapest other split
        that was tried (``runner_up_cost``, ``runner_up_feature``). NaN and -2 if there
        was no other; None for a tree without look-ahead.
    competitors : ndarray of shape (node_count, 3), structured, or None
        The best splits on other features that were not chosen, in descending order:
        ``feature`` (-2 = none), ``threshold``, ``missing_left``, ``missing_seen`` and
        ``n_children`` as for a node, ``gain``, the decrease of the node's impurity, and
        ``z``, the difference to the gain of the split in standard errors of the paired
        difference. Bit i of ``left`` is set if category i, one of the first 64, goes to
        the first child. None if `fit` did not store competitors.
    """

    def __cinit__(
        self, n_features, n_classes, class_weight=None, keep_evidence=True,
        shrinkage=0.0, keep_costs=False, keep_competitors=False, keep_stops=False,
        keep_values=False,
    ):
        # The base class has allocated its arrays, of which the other `keep_` options select
        # `evidence`, `trial_costs`, `competitors` and `stops`. With `keep_values`, class
        # probabilities are stored, not computed from the counts.
        self._set_arrays(self._arrays | {
            "nodes": np.zeros(self.capacity, dtype=NODE_DTYPE),
            "branching": np.zeros(self.capacity, dtype=BRANCHING_DTYPE),
            "child_of_code": np.zeros(0, dtype=np.int16),
        })

    # Shapes and types, names, and sizes of the arrays, for the base class.
    cdef dict _shapes(self, intp_t capacity):
        cdef dict shapes = NodeTable._shapes(self, capacity)
        shapes["nodes"] = ((capacity,), NODE_DTYPE)
        shapes["branching"] = ((capacity,), BRANCHING_DTYPE)
        return shapes

    cdef tuple _names(self):
        return NodeTable._names(self) + SPLIT_ARRAYS

    cdef intp_t _size(self, str name) except -1:
        if name == "child_of_code":
            return self.n_mapped_codes
        return NodeTable._size(self, name)

    cdef object _set_arrays(self, dict arrays):
        cdef void* nodes = address_of(arrays["nodes"])
        cdef void* branching = address_of(arrays["branching"])
        cdef void* child_of_code = address_of(arrays["child_of_code"])
        NodeTable._set_arrays(self, arrays)
        self.nodes = <Node*> nodes
        self.branching = <Branching*> branching
        self.child_of_code = <int16_t*> child_of_code
        self.mapped_code_capacity = len(arrays["child_of_code"])

    cdef void clear(self) noexcept nogil:
        NodeTable.clear(self)
        self.n_mapped_codes = 0

    cdef void reserve_mapped_codes(self, intp_t capacity) except *:
        if capacity <= self.mapped_code_capacity:
            return
        capacity = max(capacity, 2 * self.mapped_code_capacity)
        if capacity > 2147483647:
            raise ValueError("The tree has too many branches: at most 2147483647.")
        child_of_code = np.zeros(capacity, dtype=np.int16)
        child_of_code[: self.n_mapped_codes] = self._arrays["child_of_code"][: self.n_mapped_codes]
        self._set_arrays(self._arrays | {"child_of_code": child_of_code})

    cdef intp_t node_bytes(self) noexcept nogil:
        return NodeTable.node_bytes(self) + sizeof(Node) + sizeof(Branching)

    cdef intp_t bytes_of_nodes(self) noexcept nogil:
        return NodeTable.bytes_of_nodes(self) + self.n_mapped_codes * sizeof(int16_t)

    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil:
        cdef intp_t node = NodeTable.add_leaf(self, parent, counts, n_rows, impurity)
        self.nodes[node].threshold = INFINITY
        self.nodes[node].feature = UNDEFINED
        self.nodes[node].left = <int32_t> node
        self.branching[node].first = NUMERIC        # not a nominal split, see _routing.pxd
        self.branching[node].n_codes = 0
        self.branching[node].missing_left = True    # so that rows stay in a leaf
        return node

    cdef void split(
        self, intp_t node, intp_t feature, float64_t threshold, bint missing_left,
        bint any_missing, const int16_t* child_of_code, intp_t n_codes, intp_t unknown,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        # Set the split of a leaf; the next leaves added are its children. The split is
        # numeric if `child_of_code` is NULL, else the caller has reserved capacity for its codes.
        cdef Branching* branching = &self.branching[node]
        cdef intp_t code
        self.store_evidence(evidence)
        self.nodes[node].feature = <int32_t> feature
        self.nodes[node].threshold = threshold if child_of_code == NULL else NAN
        self.nodes[node].left = <int32_t> self.node_count
        if child_of_code == NULL:
            branching.missing_left = missing_left
            # `any_missing`: training rows of the node have missing values
            branching.first = MISSING_SEEN if any_missing else NUMERIC
            return
        branching.missing_left = <int16_t> unknown      # the child of unknown categories
        branching.n_codes = <int16_t> n_codes
        branching.first = <int32_t> self.n_mapped_codes
        for code in range(n_codes):
            self.child_of_code[self.n_mapped_codes + code] = child_of_code[code]
        self.n_mapped_codes += n_codes

    cdef void add_category(self, intp_t node, intp_t code) except *:
        # Assign a category to the child of unknown categories, as `map_code`. If its code is out
        # of range, the codes of the split are copied to a larger range.
        cdef intp_t first = self.branching[node].first
        cdef intp_t n_codes = self.branching[node].n_codes
        cdef intp_t capacity = n_codes
        cdef intp_t i
        if code >= n_codes:
            capacity = capacity_for_code(code)
            if capacity > MAX_CODES:
                raise ValueError(
                    f"A feature has more than {MAX_CODES} categories, the maximum for a "
                    f"nominal split."
                )
            self.reserve_mapped_codes(self.n_mapped_codes + capacity)
            for i in range(capacity):
                self.child_of_code[self.n_mapped_codes + i] = (
                    self.child_of_code[first + i] if i < n_codes else -1
                )
            first = self.n_mapped_codes
            self.n_mapped_codes += capacity
            self.branching[node].first = <int32_t> first
            self.branching[node].n_codes = <int16_t> capacity
        self.map_code(node, code)
        self.n_edits += 1

    def _with_subtree(self, intp_t node, Tree branch not None):
        """Copy the tree, with the descendants of a node replaced by another tree.

        The caller holds the write lock; see `replace_subtree`. Both trees have the same arrays.
        """
        # a new snapshot reuses the parts of the last one that have not changed
        cdef dict old = self._take_snapshot(self._last_snapshot()).all_arrays()
        cdef dict new = branch._take_snapshot(branch._last_snapshot()).all_arrays()
        cdef dict arrays = replace_subtree(old, new, node)
        tree = type(self)(*self._arguments())   # those of __cinit__
        tree.__setstate__((STATE_VERSION, *[arrays[name].tobytes() for name in self._names()]))
        return tree

    cdef void _copy_splits(self, NodeTable pruned, const intp_t[::1] retained) except *:
        # `retained` has the node of this tree for each node of the pruned one.
        cdef Tree tree = pruned
        cdef Branching* branching
        cdef intp_t node
        tree.reserve_mapped_codes(self.n_mapped_codes)
        for node in range(retained.shape[0]):
            if tree.n_children[node] == 0:
                continue
            branching = &tree.branching[node]
            branching[0] = self.branching[retained[node]]
            tree.nodes[node] = self.nodes[retained[node]]
            tree.nodes[node].left = tree.first_child[node]
            if branching.first >= 0:
                memcpy(
                    tree.child_of_code + tree.n_mapped_codes, self.child_of_code + branching.first,
                    branching.n_codes * sizeof(int16_t),
                )
                branching.first = <int32_t> tree.n_mapped_codes
                tree.n_mapped_codes += branching.n_codes

    @property
    def feature(self):
        return self._snapshot().of_structure(features)

    @property
    def threshold(self):
        return self._snapshot().of_structure(thresholds)

    @property
    def is_nominal(self):
        return self._snapshot().of_structure(is_nominal)

    @property
    def missing_go_to_left(self):
        return self._snapshot().of_structure(missing_go_to_left)

    @property
    def missing_seen(self):
        return self._snapshot().of_structure(missing_seen)

    def __getattr__(self, name):
        # Called for missing attributes. scikit-learn's tree functions access `n_outputs`.
        if name != "n_outputs":
            return NodeTable.__getattr__(self, name)
        if self.n_mapped_codes == 0:
            return 1
        raise AttributeError(
            "A tree with nominal splits is not a tree of scikit-learn. Pass the result "
            "of the estimator's to_sklearn() to functions of scikit-learn, or use "
            "export_text, export_html and node_table of skconftree.tree."
        )

    def _features_at_halves(self):
        """Features whose thresholds are all multiples of 1/2, in a tree grown by `fit`."""
        # thresholds between integers are such multiples
        cdef bytearray kinds = bytearray(self.n_features)
        cdef char* kind = kinds
        cdef Node* node
        cdef intp_t i
        for i in range(self.node_count):
            node = &self.nodes[i]
            if node.feature >= 0:
                kind[node.feature] |= (
                    1 if floor(2.0 * node.threshold) == 2.0 * node.threshold else 2
                )
        return {i for i in range(self.n_features) if kind[i] == 1}

    def branches(self, node):
        """Child for each code of a nominal split; None for other splits.

        The value is the node itself if no training row of the node had the category. A
        row with such a category, or with a code beyond the array, stays at the node.
        """
        cdef intp_t node_idx, first, left
        self._read()
        try:
            node_idx = self._checked_node(node)
            first = self.branching[node_idx].first
            if first < 0:
                return None
            left = self.first_child[node_idx]
            ordinal = self._arrays["child_of_code"][
                first : first + self.branching[node_idx].n_codes
            ].astype(np.intp)
        finally:
            self._leave()
        return np.where(ordinal < 0, node_idx, left + ordinal)

    def compute_feature_importances(self, normalize=True):
        """Decrease of impurity by each feature; its share if `normalize`."""
        cdef dict snapshot = self._snapshot().all_arrays()
        weight = snapshot["counts"] @ self.class_weight
        return importances(
            snapshot["nodes"]["feature"],
            snapshot["parent"],
            weight * snapshot["impurity"],
            self.n_features,
            None if normalize else weight[0],
        )

    def compute_node_depths(self):
        """Depth of each node, where that of the root is 1, as in scikit-learn."""
        return self._snapshot().array("depth").astype(np.int64) + 1

    def predict(self, X):
        """Class probabilities of each row of `X`, see `apply`."""
        return self.proba_of(self.apply(X))

    def decision_path(self, X):
        """CSR indicator of the nodes on the path of each row of `X`, see `apply`."""
        return self.path(self.apply(X))

    def apply(self, X, finite=None):
        """Leaf of each row, or the node at which its category is unknown.

        `X` is an array or a sparse table of float32. It has category codes in nominal
        columns, and NaN for missing numbers. `finite` is True if a C-contiguous array
        has no NaN; None if that is not known.
        """
        if getattr(X, "dtype", None) != np.float32 or X.ndim != 2:
            raise ValueError("X must be a two-dimensional array or sparse table of float32.")
        if not issparse(X):
            return self._leaves(np.ascontiguousarray(X), finite)
        X = X.tocsr()
        parts = [X[i : i + ROWS].toarray() for i in range(0, X.shape[0] or 1, ROWS)]
        return np.concatenate([self._leaves(part) for part in parts])

    def _leaves(self, const float32_t[:, ::1] X not None, finite=None):
        cdef intp_t n = X.shape[0]
        leaves = np.empty(n, dtype=np.intp)
        cdef intp_t[::1] out = leaves
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, the tree has {self.n_features}.")
        self._check_root()
        if n == 0:
            return leaves
        cdef bint plain     # neither nominal splits nor missing values
        self._read()
        try:
            plain = self.n_mapped_codes == 0
            if plain:
                plain = finiteness(X) == FINITE if finite is None else finite
            with nogil:
                if plain:
                    route(self.nodes, &X[0, 0], n, self.n_features, &out[0])
                else:
                    route_any(
                        self.nodes, self.branching, self.child_of_code, &X[0, 0], n,
                        self.n_features, &out[0],
                    )
        finally:
            self._leave()
        return leaves

    cdef intp_t child(self, intp_t node, const float32_t* row) noexcept nogil:
        return child_of(self.nodes, self.branching, self.child_of_code, node, row)

    # Validate arrays that are restored from a pickle, and use them.
    cdef object _check(self, dict arrays):
        NodeTable._check(self, arrays)
        check_splits(arrays, self.n_features)

    cdef object _use_arrays(self, dict arrays):
        NodeTable._use_arrays(self, arrays)
        self.n_mapped_codes = len(arrays["child_of_code"])


cdef class LeafCost:
    """Cost of a node as a leaf, such as an upper limit of its errors."""

    def check(self):
        """Raise ``NotImplementedError`` if the required method is missing."""
        if <void*> self.of == <void*> LeafCost.of:
            raise NotImplementedError(f"{type(self).__name__} does not define `of`.")

    cdef float64_t of(self, const float64_t* counts, intp_t n_classes) noexcept nogil:
        return 0.0
