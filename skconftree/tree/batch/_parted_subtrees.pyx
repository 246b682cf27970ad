"""What lies below the small nodes of a tree whose rows lie in parts."""

from typing import NamedTuple

import numpy as np

from skconftree.tree.batch._subtrees cimport append, joined
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t


class OpenNode(NamedTuple):
    """All that is known of a node below which a tree is grown elsewhere, but its rows.

    `moved` is how much larger the numbers of the nodes below it are than in a tree of
    their own; it matters where something is drawn.
    """

    id: int
    moved: int
    depth: int
    counts: np.ndarray
    n_labelled: int
    pool: float
    box: np.ndarray | None
    features: np.ndarray


cdef class PartedSubtrees(Helpers):
    """Has the trees below the small nodes of a PartedSource grown elsewhere.

    `draws` says that they depend on the numbers of their nodes.
    """

    def __init__(self, PartedSource parted not None, bint draws):
        self.parted = parted
        self.draws = draws
        self.most_gathered = parted.nodes.most_gathered
        self.growing = {}

    cdef int check(self) except -1 nogil:
        with gil:
            return self.parted.check_parts()

    cdef bint take(self, Builder builder, const Candidate* candidate) except -1 nogil:
        if candidate.record.end - candidate.record.start > self.most_gathered:
            return False
        with gil:
            self._leave(builder, candidate)
        return True

    cdef int _leave(self, Builder builder, const Candidate* candidate) except -1:
        cdef Candidate taken = candidate[0]
        cdef intp_t node = candidate.record.id
        cdef Tree tree
        growing = self.parted.nodes.grow(node, open_node(builder, candidate))
        self.parted.nodes.drop(node)
        builder._release(&taken)
        if not self.draws:
            self.growing[node] = growing
            return 0
        [tree] = self.parted.nodes.grown([growing])
        if builder.tree.node_count + tree.node_count > builder.tree.capacity:
            builder.tree.reserve(builder.tree.node_count + tree.node_count)
        append(builder.tree, node, tree)
        return 0

    cdef int finish(self, Builder builder) except -1 nogil:
        with gil:
            return self._join(builder)

    cdef int _join(self, Builder builder) except -1:
        if self.growing:
            trees = self.parted.nodes.grown(list(self.growing.values()))
            builder.tree = joined(
                builder.tree, dict(zip(self.growing, trees, strict=True))
            )
            self.growing = {}
        return 0


cdef open_node(Builder builder, const Candidate* candidate):
    cdef Tree tree = builder.tree
    cdef intp_t id = candidate.record.id
    cdef intp_t K = tree.n_classes
    cdef intp_t d = builder.splitter.node.n_features
    box = None
    if candidate.record.box != NULL:
        box = np.array(<float64_t[:d, :2]> candidate.record.box)
    features = np.empty(0, dtype=np.int32)
    if candidate.record.n_features > 0:
        features = np.array(
            <int32_t[:candidate.record.n_features]> candidate.record.features
        )
    return OpenNode(
        id,
        tree.node_count - 1,
        candidate.record.depth,
        np.array(<float64_t[:K]> (tree.counts + id * K)),
        tree.n_node_samples[id],
        candidate.record.pool,
        box,
        features,
    )
