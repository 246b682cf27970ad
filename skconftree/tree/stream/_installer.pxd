# Installer: turns a leaf into a test and its memory into those of new leaves.
#
# Either all of that happens or, if memory cannot be had, nothing but allocation.

from skconftree.tree.leaves._predictor cimport LeafPredictor
from skconftree.tree.leaves._contract cimport Leaf, Policy
from skconftree.tree.stream._leaf_source cimport LeafSource
from skconftree.tree.leaves._leaf_store cimport LeafStore
from skconftree.tree.leaves._parting cimport Parting
from skconftree.tree.split._split cimport Split
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef class Installer:
    cdef LeafStore leaves
    cdef LeafSource source
    cdef LeafPredictor predictor
    cdef Blocks blocks                  # owns these arrays:
    cdef float64_t* share               # [room, n_classes] of the children
    cdef Leaf** children                # [room]
    cdef intp_t room

    # `split` has just been found for the leaf.
    cdef int install(self, Tree tree, Leaf* leaf, const Split* split) except -1 nogil
    cdef void _describe(self, const Split* split, Parting* parting) noexcept nogil
    cdef int _reserve(self, Tree tree, const Parting* parting) except -1 nogil
    cdef int _part(
        self, Tree tree, const Leaf* leaf, const Parting* parting
    ) except -1 nogil
    cdef void _add_children(
        self, Tree tree, const Leaf* leaf, const Parting* parting
    ) noexcept nogil
