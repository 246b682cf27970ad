"""A limit to the memory of a growing tree."""

import numpy as np

from skconftree.tree._settings cimport NO_LIMIT, GrowthSettings
from skconftree.tree.leaves._contract cimport Leaf
from skconftree.tree.leaves._leaf cimport LEAF_COUNTS
from skconftree.tree.leaves._pool_rows cimport pool_bytes
from skconftree.utils._spare_memory cimport SPARE_BYTES
from skconftree.utils._typedefs cimport float32_t, float64_t, int16_t, label_t

cdef enum:
    MOST_FOR_LEAVES = 268435456     # bytes kept back


cdef class MemoryLimit:
    """A limit to the memory of a growing tree.

    If the tree is watched, another one shares its `max_bytes` equally. The rows of
    `leaves` without label take as much as they will ever do.
    """

    def __init__(
        self, GrowthSettings settings, Tree tree, LeafStore leaves, bint with_boxes
    ):
        self.given = settings.max_bytes
        self.max_bytes = settings.max_bytes
        if settings.max_bytes != NO_LIMIT and settings.drift is not None:
            self.max_bytes //= 2
        self.node_bytes = tree.node_bytes() + sizeof(Leaf*)
        self.split_bytes = tree.split_bytes()
        self.bare_bytes = (
            sizeof(Leaf) + LEAF_COUNTS * tree.n_classes * sizeof(float64_t)
        )
        if with_boxes:
            self.bare_bytes += (2 * tree.n_features + 1) * sizeof(float64_t)
        self.pool_bytes = pool_bytes(&leaves.policy)

    cdef void look(self, Tree tree, LeafStore leaves) noexcept nogil:
        # Whether the tree is full.
        self.full = not self.has_room(tree, leaves, 2, 0)

    cdef bint has_room(
        self, Tree tree, LeafStore leaves, intp_t n_outcomes, intp_t n_codes
    ) noexcept nogil:
        # For a split of a leaf.
        return self.max_bytes == NO_LIMIT or (
            self._least_bytes(tree, leaves, n_outcomes, n_codes) <= self.max_bytes
        )

    cdef intp_t _least_bytes(
        self, Tree tree, LeafStore leaves, intp_t n_outcomes, intp_t n_codes
    ) noexcept nogil:
        # What is left if every leaf forgets, after a split if n_outcomes > 0.
        cdef intp_t n_nodes = tree.node_count + n_outcomes
        cdef intp_t n_leaves = leaves.n_leaves + n_outcomes - (n_outcomes > 0)
        return (
            n_nodes * (self.node_bytes + self.watch_bytes)
            + (n_nodes - tree.n_dead - n_leaves) * self.split_bytes
            + (tree.n_ordinals + n_codes) * sizeof(int16_t)
            + n_leaves * self.bare_bytes + self.pool_bytes
        )

    def check(self, Tree tree, LeafStore leaves):
        """Raise if the tree as it is has no room."""
        least = self._least_bytes(tree, leaves, 0, 0)
        if self.max_bytes < least:
            raise ValueError(
                f"max_bytes={self.given} is too small: the tree takes {least} bytes "
                f"before its first row"
                f"{', and a second one is needed' if self.max_bytes < self.given else ''}."
            )

    def check_beside(self, intp_t n_trees):
        """Raise if there is no room for so many empty trees that share the rest."""
        least = self.node_bytes + self.bare_bytes + self.pool_bytes
        if self.max_bytes // n_trees < least:
            raise ValueError(
                f"max_bytes={self.given} is too small: half of it is for {n_trees} trees "
                f"that grow beside, each of which takes {least} bytes before its first "
                f"row."
            )

    cdef enforce(self, Tree tree, LeafStore leaves):
        # Leaves with the fewest errors to save forget first.
        cdef intp_t total, node
        if self.max_bytes == NO_LIMIT:
            return
        total = bytes_of(tree, leaves) + tree.node_count * self.watch_bytes
        if total <= self.max_bytes:
            return
        counts = tree.counts_of_leaves()
        errors = counts.sum(axis=1) - counts.max(axis=1)
        for node in np.argsort(errors, kind="stable"):
            if leaves.at[node] == NULL:
                continue
            total -= leaves.make_forget(node)
            if total <= self.max_bytes:
                break

    cdef intp_t spare_bytes(
        self, Tree tree, LeafStore leaves, intp_t most_rows
    ) noexcept nogil:
        # To learn rows up to the next boundary: the arrays of the tree may be copied,
        # and so may the rows of the largest leaf; some leaves may part.
        cdef intp_t d = tree.n_features
        cdef intp_t leaf = (
            2 * d * leaves.policy.max_bins * tree.n_classes * sizeof(float64_t)
        )
        cdef intp_t rows = most_rows * (
            d * sizeof(float32_t) + sizeof(label_t) + sizeof(float64_t)
        )
        return (
            SPARE_BYTES + 4 * rows
            + 3 * tree.capacity
            * (self.node_bytes + self.split_bytes + self.watch_bytes)
            + min(4 * leaf, <intp_t> MOST_FOR_LEAVES)
        )


cdef intp_t bytes_of(Tree tree, LeafStore leaves):
    # Of the nodes and of what the leaves remember.
    return (
        tree.bytes_of_nodes() + tree.node_count * sizeof(Leaf*)
        + leaves.bytes_of_leaves() + pool_bytes(&leaves.policy)
    )
