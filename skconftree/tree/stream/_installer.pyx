"""Installation of splits in a growing tree."""

from libc.math cimport rint

from skconftree.tree.leaves._children cimport part_box, start_child, start_drawn
from skconftree.tree.leaves._leaf cimport new_leaf, release_leaf
from skconftree.tree.leaves._pool_rows cimport part_pool
from skconftree.tree.split._split cimport Children
from skconftree.utils._memory cimport give_all_back
from skconftree.utils._spare_memory cimport give_way, resize_array


cdef class Installer:
    """Installs splits."""

    def __init__(
        self, LeafStore leaves, LeafSource source, LeafPredictor predictor
    ):
        self.leaves = leaves
        self.source = source
        self.predictor = predictor

    def __dealloc__(self):
        give_all_back(&self.blocks)

    cdef int install(self, Tree tree, Leaf* leaf, const Split* split) except -1 nogil:
        cdef intp_t node = leaf.node
        cdef intp_t first = tree.node_count
        cdef const Children* children = &split.children
        cdef intp_t r = children.n_outcomes
        cdef Parting parting
        cdef intp_t z
        self._describe(split, &parting)
        self._reserve(tree, &parting)
        self._part(tree, leaf, &parting)
        # nothing fails from here on
        tree.split(
            node, split.feature, split.threshold, children.missing_left,
            children.missing_seen, children.ordinals, children.n_codes,
            children.unknown, &split.evidence,
        )
        self._add_children(tree, leaf, &parting)
        for z in range(r):
            self.predictor.pass_on(leaf, self.children[z])
        self.leaves.replace(leaf, self.children, first, r)
        return 0

    cdef void _describe(self, const Split* split, Parting* parting) noexcept nogil:
        parting.feature = split.feature
        parting.n_outcomes = split.children.n_outcomes
        parting.threshold = split.threshold
        parting.pool = split.children.pool
        parting.cut = split.cut.place
        parting.missing_left = split.children.missing_left
        parting.ordinals = split.children.ordinals
        parting.n_codes = split.children.n_codes
        parting.unknown = split.children.unknown

    cdef int _reserve(self, Tree tree, const Parting* parting) except -1 nogil:
        cdef intp_t r = parting.n_outcomes
        cdef intp_t K = tree.n_classes
        with gil:
            while True:
                try:
                    tree.reserve(tree.node_count + r)
                    tree.reserve_ordinals(tree.n_ordinals + parting.n_codes)
                    break
                except MemoryError:
                    give_way()
        self.leaves.reserve(tree.node_count + r)
        if r > self.room:
            self.share = <float64_t*> resize_array(
                &self.blocks, self.share, r * K, sizeof(float64_t)
            )
            self.children = <Leaf**> resize_array(
                &self.blocks, self.children, r, sizeof(Leaf*)
            )
            self.room = r
        return 0

    cdef int _part(
        self, Tree tree, const Leaf* leaf, const Parting* parting
    ) except -1 nogil:
        # Make the children; all of them go if one cannot be made.
        cdef const Policy* policy = &self.leaves.policy
        cdef intp_t r = parting.n_outcomes
        cdef bint done = False
        cdef float64_t* share
        cdef intp_t z
        for z in range(r):
            self.children[z] = NULL
        try:
            for z in range(r):
                self.children[z] = new_leaf(policy, tree.node_count + z)
                share = self.share + z * tree.n_classes
                if leaf.drawn == NULL:
                    start_child(leaf, policy, parting, z, share, self.children[z])
                else:
                    start_drawn(leaf, policy, parting, z, share, self.children[z])
                part_box(leaf, policy, parting, z, self.children[z])
            part_pool(leaf, policy, parting, self.source.pool, self.children)
            done = True
        finally:
            if not done:
                for z in range(r):
                    release_leaf(self.children[z], policy)
        return 0

    cdef void _add_children(
        self, Tree tree, const Leaf* leaf, const Parting* parting
    ) noexcept nogil:
        # Leaves whose counts add up to those of the node: the last takes the rest.
        cdef intp_t K = tree.n_classes
        cdef intp_t r = parting.n_outcomes
        cdef const float64_t* counts = tree.counts + leaf.node * K
        cdef float64_t* rest = self.share + (r - 1) * K
        cdef float64_t* child
        cdef float64_t total = 0.0
        cdef float64_t n
        cdef intp_t n_rows = tree.n_node_samples[leaf.node]
        cdef intp_t rows_left = n_rows
        cdef intp_t rows, z, c
        # the children keep what was handed over
        cdef bint exact = (
            leaf.memory.keeps_rows and not leaf.dropped and leaf.drawn == NULL
        )
        for c in range(K):
            total += counts[c]
            rest[c] = counts[c]
        for z in range(r):
            child = self.share + z * K
            if z < r - 1:
                for c in range(K):
                    if exact and counts[c] == leaf.held[c]:
                        child[c] = self.children[z].held[c]
                    else:
                        child[c] = min(child[c] * counts[c], rest[c])
                    rest[c] = max(rest[c] - child[c], 0.0)
            n = 0.0
            for c in range(K):
                n += child[c]
            rows = rows_left
            if z < r - 1:
                rows = <intp_t> rint(n_rows * (n / total)) if total > 0.0 else 0
                if exact and leaf.n_rows == n_rows:
                    rows = self.children[z].n_rows
                rows = min(rows, rows_left)
            rows_left -= rows
            tree.add_leaf(leaf.node, child, rows, 0.0)
