"""The nodes of a tree: structure, counts and evidence."""

from copy import copy

import numpy as np

from skconftree.tree.nodes._node_state import (
    STATE_VERSION, check_nodes, checked_shrinkage, read_arrays,
)
from skconftree.tree.nodes._structure import structure_of, survivors
from skconftree.utils._codec import damaged

from libc.math cimport NAN
from libc.string cimport memcpy

from skconftree.bounds._contract cimport clear_evidence
from skconftree.tree._settings cimport MOST_RIVALS
from skconftree.tree.nodes._node_arrays cimport Rival, TrialCosts, no_rival
from skconftree.tree.nodes._routing cimport DEAD
from skconftree.utils._typedefs cimport int32_t

cdef TrialCosts NOTHING_TRIED = TrialCosts(NAN, NAN, -2)


cdef class NodeTable(NodeArrays):
    """The nodes of a tree without the tests that send rows from one to another.

    `Tree` adds tests of single features. Another kind of tree adds others, and has
    structure, counts, evidence, ids and state from here.

    Beside them a node may keep: the evidence of its split, 72 bytes (else the number
    of questions compared, 8 bytes: all there is without a bound); what trees cost in
    which growth looked ahead, 24 bytes (`keep_costs`); and the tests that it was chosen
    over, 40 bytes each (`keep_rivals`).
    """

    # -- growth -------------------------------------------------------------------

    def _add_root(self):
        """Start with a root that no row has reached."""
        if self.node_count > 0:
            raise ValueError("The tree has a root.")
        cdef float64_t[::1] counts = np.zeros(self.n_classes)
        self.add_leaf(-1, &counts[0], 0, 0.0)

    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil:
        # The caller has reserved room, and adds all children of a node at once.
        cdef intp_t node = self.node_count
        cdef intp_t c
        self.parent[node] = <int32_t> parent
        self.depth[node] = 0
        self.first_child[node] = -1
        self.n_children[node] = 0
        self.n_leaves += 1
        if parent >= 0:
            self.depth[node] = self.depth[parent] + 1
            if self.n_children[parent] == 0:
                self.first_child[parent] = <int32_t> node
                self.n_leaves -= 1
            self.n_children[parent] += 1
        self.n_node_samples[node] = n_rows
        self.impurity[node] = impurity
        for c in range(self.n_classes):
            self.counts[node * self.n_classes + c] = counts[c]
        if self.depth[node] > self.max_depth:
            self.max_depth = self.depth[node]
        self.node_count += 1
        return node

    cdef void accept(self, const SplitEvidence* evidence) noexcept nogil:
        # Why the split is made whose children are added next.
        cdef intp_t place = self.n_splits()
        cdef intp_t i
        if self.evidence != NULL:
            self.evidence[place] = evidence[0]
        else:
            self.n_tests[place] = evidence.n_tests
        if self.costs != NULL:
            self.costs[place] = NOTHING_TRIED
        if self.rivals != NULL:
            for i in range(MOST_RIVALS):
                self.rivals[place * MOST_RIVALS + i] = no_rival()

    cdef void forget(self) noexcept nogil:
        # Be without nodes again, with the room there is.
        self.node_count = 0
        self.n_leaves = 0
        self.n_dead = 0
        self.max_depth = 0

    cdef void grows(self, object criterion, ModelLock lock) except *:
        # From now on whoever holds the lock to learn may let it grow row by row. Looks
        # at the impurity take nothing from the criterion of the growth.
        self.criterion = type(criterion)(self.n_classes)
        self.lock = lock
        self._show(None)

    # -- pruning ------------------------------------------------------------------

    def _pruned(self, keep_as_leaf):
        """Copy the tree with the internal nodes of a mask turned into leaves.

        What lies below them goes; the nodes left keep their order, and the splits their
        evidence. True at a leaf changes nothing.
        """
        self._check_root()
        if self.lock is not None:   # inner nodes of a tree that grows have no counts
            return copy(self)._pruned(keep_as_leaf)
        cdef intp_t n = self.node_count
        leaf = np.array(keep_as_leaf, dtype=np.bool_)
        if leaf.shape != (n,):
            raise ValueError(f"keep_as_leaf must have shape ({n},), got {leaf.shape}.")
        left, above = survivors(
            self._arrays["first_child"][:n], self._arrays["n_children"][:n],
            leaf.view(np.uint8),
        )
        cdef const intp_t[::1] kept = left
        cdef const int32_t[::1] parent = above
        cdef NodeTable tree = type(self)(
            self.n_features, self.n_classes, self.class_weight, self.keeps_evidence,
            self.shrinkage, self.keeps_costs, self.keeps_rivals,
        )
        cdef intp_t split = -1      # that the children come of which were seen last
        cdef intp_t seen = 0
        cdef intp_t place, node
        tree.reserve(kept.shape[0])
        with nogil:
            for place in range(kept.shape[0]):
                node = kept[place]
                # A branch may have taken the place of its parent, but siblings have
                # the parent that they were made with.
                while seen < node:
                    seen += 1
                    split += (
                        self.parent[seen] != DEAD
                        and self.parent[seen] != self.parent[seen - 1]
                    )
                if place > 0 and tree.n_children[parent[place]] == 0:
                    self._copy_split(tree, split)
                tree.add_leaf(
                    parent[place], self.counts + node * self.n_classes,
                    self.n_node_samples[node], self.impurity[node],
                )
        self._copy_tests(tree, kept)
        tree.cut_to_size()
        return tree

    cdef void _copy_split(self, NodeTable tree, intp_t split) noexcept nogil:
        # Why it was made, for that of another tree whose children are added next.
        cdef SplitEvidence evidence
        cdef intp_t place = tree.n_splits()
        clear_evidence(&evidence)
        if self.evidence != NULL:
            evidence = self.evidence[split]
        else:
            evidence.n_tests = self.n_tests[split]
        tree.accept(&evidence)
        if self.costs != NULL:
            tree.costs[place] = self.costs[split]
        if self.rivals != NULL:
            memcpy(
                tree.rivals + place * MOST_RIVALS, self.rivals + split * MOST_RIVALS,
                MOST_RIVALS * sizeof(Rival),
            )

    cdef void _copy_tests(self, NodeTable pruned, const intp_t[::1] kept) except *:
        # Give a tree that has its nodes the tests of those that have split there.
        return

    # -- shrinkage ----------------------------------------------------------------

    def _shrunk_by(self, shrinkage):
        """Draw `value` towards that of the parents, see `shrunk`; counts stay.

        For whoever grows the tree, or holds the lock to learn. At 0 `value` is the raw
        proportions.
        """
        self.shrinkage = checked_shrinkage(shrinkage)
        self._show(None)

    # -- state --------------------------------------------------------------------
    #
    # Bytes and numbers only: equal states give equal pickles, as nothing in them
    # can be one object here and two equal ones there.

    def __reduce__(self):
        return type(self), self._arguments(), self.__getstate__()

    def _arguments(self):
        # That a table with the same arrays is made with.
        arguments = (
            self.n_features, self.n_classes, tuple(self.class_weight.tolist()),
            bool(self.keeps_evidence), self.shrinkage,
        )
        if self.keeps_costs or self.keeps_rivals:
            arguments += (bool(self.keeps_costs), bool(self.keeps_rivals))
        return arguments

    def __getstate__(self):
        cdef dict shown = self._still().all_arrays()
        return (STATE_VERSION, *[shown[name].tobytes() for name in self._names()])

    def __setstate__(self, state):
        if self.node_count > 0:
            raise ValueError("A tree that has grown takes no state.")
        cdef dict arrays = read_arrays(state, self._names(), self._arrays)
        structure = structure_of(arrays["parent"])
        if structure is None:
            raise damaged("tree", "its nodes")
        arrays.update(structure)
        self._check(arrays)
        self._take(arrays)

    cdef object _check(self, dict arrays):
        # Raise unless these can be believed.
        check_nodes(arrays, self.n_features)

    cdef object _take(self, dict arrays):
        # Become the tree of these arrays, whose structure is known.
        self._hold(arrays)
        self.node_count = len(arrays["parent"])
        self.n_dead = np.count_nonzero(arrays["parent"] == DEAD)
        self.n_leaves = (
            self.node_count - self.n_dead - np.count_nonzero(arrays["n_children"])
        )
        self.max_depth = arrays["depth"].max()
        self._show(None)
