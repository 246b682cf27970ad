"""The memories of the leaves of a growing tree."""

from skconftree.utils._codec import damaged

import numpy as np

from libc.string cimport memcpy, memset

from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.leaves._drawn cimport draw_features, policy_of
from skconftree.tree.leaves._leaf cimport (
    drop_past, forget, leaf_bytes, move_leaf, new_leaf, release_leaf, start_fresh,
)
from skconftree.tree.leaves._leaf_state cimport read_leaf, write_leaf
from skconftree.tree.leaves._nothing cimport NOTHING
from skconftree.tree.leaves._pool_rows cimport open_lists
from skconftree.tree.leaves._registry cimport memory_named
from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.tree.nodes._routing cimport DEAD, Node
from skconftree.utils._box cimport cut_box, share_below
from skconftree.utils._memory cimport give_all_back
from skconftree.utils._spare_memory cimport resize_array, take_array
from skconftree.utils._typedefs cimport uint64_t

cdef enum:
    MOST_CODES = 32768      # of a feature, in a state


cdef class LeafStore:
    """Leaves by node; none yet.

    `nominal` features ascend; `bayes`: leaves may predict by naive Bayes; `n_pool` rows
    have no label; a leaf draws `n_drawn` features for its life, by `seed`, or 0: it has
    all; `one_bayes`: a leaf that was handed rows has one naive Bayes of all its rows.
    """

    def __init__(
        self, intp_t n_features, intp_t n_classes, GrowthSettings settings,
        tuple nominal, bint bayes, intp_t n_pool, intp_t n_drawn=0, uint64_t seed=0,
        bint one_bayes=False,
    ):
        self.policy.n_features = n_features
        self.policy.n_classes = n_classes
        self.policy.blocks = &self.blocks
        self.policy.first = memory_named("gaussian" if settings.gaussian else "rows")
        self.policy.later = memory_named("histogram")
        self.policy.counted = memory_named("counted rows")
        self.policy.row_limit = settings.row_limit
        self.kept_rows = settings.kept_rows
        self.policy.max_bins = settings.max_bins
        self.policy.separate = settings.separate
        self.policy.hands_over = settings.hands_over
        self.policy.one_bayes = one_bayes
        self.policy.fixed_cuts = settings.fixed_cuts
        self.policy.bayes = bayes
        self.policy.inherited = settings.inherited
        self.policy.n_drawn = n_drawn
        self.policy.seed = seed
        if nominal:
            self._nominal = np.array(nominal, dtype=np.int32)
            self._n_codes = np.full(n_features, -1, dtype=np.int32)
            np.asarray(self._n_codes)[list(nominal)] = 0
            self.policy.n_nominal = len(nominal)
            self.policy.nominal = &self._nominal[0]
            self.policy.n_codes = &self._n_codes[0]
        if n_pool > 0:
            line = np.ones(n_features, dtype=np.int32)
            line[list(nominal)] = 0
            self._pool_line = np.cumsum(line, dtype=np.int32) * line
            self.policy.pool_line = &self._pool_line[0]
            open_lists(&self.policy, n_pool)

    def __dealloc__(self):
        cdef intp_t node
        for node in range(self.room):
            release_leaf(self.at[node], &self.policy)
        give_all_back(&self.blocks)

    cdef int reserve(self, intp_t n_nodes) except -1 nogil:
        cdef intp_t room
        if n_nodes > self.room:
            room = max(n_nodes, 2 * self.room)
            self.at = <Leaf**> resize_array(&self.blocks, self.at, room, sizeof(Leaf*))
            memset(self.at + self.room, 0, (room - self.room) * sizeof(Leaf*))
            self.room = room
        return 0

    # -- taking up a tree ---------------------------------------------------------

    def open(self, Tree tree):
        """Give every leaf of the tree an empty memory."""
        cdef intp_t node
        cdef Leaf* leaf
        self.reserve(tree.node_count)
        for node in range(tree.node_count):
            if tree.is_leaf(node):
                leaf = new_leaf(&self.policy, node)
                self.at[node] = leaf
                self.n_leaves += 1
                draw_features(leaf, &self.policy)
                leaf.memory = self.policy.first
                leaf.memory.open(leaf, policy_of(leaf, &self.policy))
        self._share_rows()

    def open_pool(self, const intp_t[::1] home):
        """Hand unlabelled rows to the leaves they reach; -1: it has its label."""
        cdef Leaf* leaf
        cdef intp_t i, node
        cdef intp_t start = 0
        reached = np.asarray(home)
        for node, size in enumerate(np.bincount(reached[reached >= 0])):
            if size > 0:
                leaf = self.at[node]
                leaf.pool = self.policy.pool.rows + start
                start += size
        for i in range(home.shape[0]):
            if home[i] < 0:
                continue
            leaf = self.at[home[i]]
            leaf.pool[leaf.n_pool] = <int32_t> i
            leaf.n_pool += 1

    def open_boxes(self, Tree tree, const float64_t[:, ::1] root_box):
        """Cut every leaf's box, and its volume, out of the root's."""
        cdef intp_t d = self.policy.n_features
        cdef intp_t node, above
        cdef float64_t[:, ::1] boxes = np.empty((tree.node_count, 2 * d + 1))
        cdef Leaf* leaf
        memcpy(&boxes[0, 0], &root_box[0, 0], 2 * d * sizeof(float64_t))
        boxes[0, 2 * d] = 1.0
        for node in range(tree.node_count):
            if tree.parent[node] >= 0:
                above = tree.parent[node]
                boxes[node] = boxes[above]
                boxes[node, 2 * d] *= _share_of_box(tree, above, node, &boxes[above, 0])
                cut_box(
                    &boxes[node, 0], tree.nodes[above].feature,
                    tree.nodes[above].threshold, node - tree.nodes[above].left,
                )
            if self.at[node] == NULL:
                continue
            leaf = self.at[node]
            leaf.box = <float64_t*> take_array(
                &self.blocks, 2 * d + 1, sizeof(float64_t)
            )
            memcpy(leaf.box, &boxes[node, 0], (2 * d + 1) * sizeof(float64_t))

    def settle(self):
        """Hold what is remembered, but not as evidence.

        Bounds that count only rows since the creation of a leaf have looked at these
        rows when the tree was fitted.
        """
        cdef intp_t c, node
        cdef Leaf* leaf
        for node in range(self.room):
            leaf = self.at[node]
            if leaf == NULL:
                continue
            leaf.n_fresh = 0.0
            leaf.n_inherited = leaf.n_rows
            for c in range(self.policy.n_classes):
                leaf.fresh[c] = 0.0
            if self.policy.separate:
                start_fresh(leaf, &self.policy)

    # -- growth -------------------------------------------------------------------

    cdef void replace(
        self, Leaf* leaf, Leaf** children, intp_t first, intp_t n_children
    ) noexcept nogil:
        # Children take the places from `first` on, for which there is room; the leaf
        # is released.
        cdef intp_t node = leaf.node
        cdef intp_t z
        for z in range(n_children):
            self.at[first + z] = children[z]
        release_leaf(leaf, &self.policy)
        self.at[node] = NULL
        self.n_leaves += n_children - 1
        self._share_rows()

    cdef void _share_rows(self) noexcept nogil:
        # All leaves together keep no more rows beside counts than they may, unless
        # there are so many leaves that each would keep fewer than one that counts none.
        if self.kept_rows > 0:
            self.policy.kept_rows = max(
                self.kept_rows // max(self.n_leaves, 1), self.policy.row_limit
            )

    cdef intp_t make_forget(self, intp_t node) noexcept nogil:
        # Let a leaf forget; returns how many bytes that makes free.
        cdef intp_t before = leaf_bytes(self.at[node], &self.policy)
        forget(self.at[node])
        drop_past(self.at[node], &self.policy)
        return before - leaf_bytes(self.at[node], &self.policy)

    cdef void observe(self, const float32_t* x, bint finite) noexcept nogil:
        # Take note of missing values and of categories.
        cdef intp_t i, f
        cdef int32_t* n_codes = self.policy.n_codes
        for i in range(self.policy.n_nominal):
            f = self.policy.nominal[i]
            if x[f] >= n_codes[f]:
                n_codes[f] = <int32_t> x[f] + 1
        if not finite and not self.policy.missing:
            for f in range(self.policy.n_features):
                if x[f] != x[f]:
                    self.policy.missing = True

    cdef intp_t bytes_of_leaves(self) noexcept nogil:
        cdef intp_t total = 0
        cdef intp_t node
        for node in range(self.room):
            if self.at[node] != NULL:
                total += leaf_bytes(self.at[node], &self.policy)
        return total

    cdef intp_t n_forgetful(self) noexcept nogil:
        # Leaves that remember nothing.
        cdef intp_t n = 0
        cdef intp_t node
        for node in range(self.room):
            if self.at[node] != NULL:
                n += self.at[node].memory == &NOTHING
        return n

    cdef intp_t most_rows(self) noexcept nogil:
        # That a leaf keeps.
        cdef intp_t most = 0
        cdef intp_t node
        for node in range(self.room):
            if self.at[node] != NULL:
                most = max(most, self.at[node].n_rows)
        return most

    cdef void graft(
        self, intp_t node, Tree tree, LeafStore other, intp_t n_before
    ) noexcept nogil:
        # Take over the leaves of another store, of the same policy, in the place of all
        # below a node of a tree that has been grafted, and had `n_before` nodes. There
        # is room.
        cdef intp_t i
        cdef Leaf* leaf
        for i in range(n_before):
            if i == node or tree.parent[i] == DEAD:
                release_leaf(self.at[i], &self.policy)
                self.at[i] = NULL
        for i in range(other.room):
            leaf = other.at[i]
            if leaf != NULL:
                other.at[i] = NULL
                move_leaf(leaf, &other.blocks, &self.blocks)
                leaf.node = node if i == 0 else n_before + i - 1
                self.at[leaf.node] = leaf
        self.n_leaves = tree.n_leaves
        other.n_leaves = 0
        self._share_rows()

    cdef void trade(self, LeafStore other) noexcept nogil:
        # Trade leaves with a store of the same policy.
        self.blocks, other.blocks = other.blocks, self.blocks
        self.at, other.at = other.at, self.at
        self.room, other.room = other.room, self.room
        self.n_leaves, other.n_leaves = other.n_leaves, self.n_leaves
        self.policy.pool, other.policy.pool = other.policy.pool, self.policy.pool
        self.policy.seed, other.policy.seed = other.policy.seed, self.policy.seed
        self._share_rows()
        other._share_rows()

    # -- state --------------------------------------------------------------------

    cdef bytes write(self):
        cdef StateWriter writer = StateWriter()
        cdef intp_t node
        for node in range(self.room):
            if self.at[node] != NULL:
                write_leaf(writer, self.at[node], &self.policy)
        return bytes(writer.data)

    cdef read(self, bytes data, Tree tree, bint with_boxes):
        # The leaves of a tree; what was here goes.
        cdef StateReader reader = StateReader(data)
        cdef Leaf* leaf
        cdef intp_t node
        self.reserve(tree.node_count)
        for node in range(tree.node_count):
            if tree.is_leaf(node):
                leaf = read_leaf(reader, &self.policy, node)
                release_leaf(self.at[node], &self.policy)
                self.at[node] = leaf
                if with_boxes and leaf.box == NULL:
                    raise ValueError("The state of this growing tree has no boxes.")
        reader.finish()
        self.n_leaves = tree.n_leaves
        self._share_rows()

    @property
    def n_codes(self):
        """Categories seen of each feature, -1 if it is numeric; None if all are."""
        if self.policy.n_codes == NULL:
            return None
        return tuple(np.asarray(self._n_codes).tolist())

    @n_codes.setter
    def n_codes(self, n_codes):
        if not self._are_codes(n_codes):
            raise damaged("growing tree")
        if n_codes is not None:
            np.asarray(self._n_codes)[:] = n_codes

    def _are_codes(self, n_codes):
        if self.policy.n_codes == NULL:
            return n_codes is None
        return (
            isinstance(n_codes, tuple) and len(n_codes) == self.policy.n_features
            and all([
                isinstance(n, int) and n < MOST_CODES
                and (n >= 0 if self.policy.n_codes[f] >= 0 else n == -1)
                for f, n in enumerate(n_codes)
            ])
        )


cdef float64_t _share_of_box(
    Tree tree, intp_t node, intp_t child, const float64_t* box
) noexcept nogil:
    # The part of a node's volume that a child has, by the rule of the splitters.
    cdef const Node* split = &tree.nodes[node]
    cdef intp_t first = tree.branching[node].first
    cdef intp_t n_known = 0
    cdef intp_t n_own = 0
    cdef intp_t code
    cdef float64_t share
    if first >= 0:
        for code in range(tree.branching[node].n_codes):
            n_known += tree.ordinals[first + code] >= 0
            n_own += tree.ordinals[first + code] == child - split.left
        return <float64_t> n_own / max(n_known, 1)
    share = share_below(box, split.feature, split.threshold)
    return share if child == split.left else 1.0 - share
