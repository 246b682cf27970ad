# MemoryLimit: the memory that a growing tree may take, and which leaves forget for it.
#
# Leaves can forget, but splits stay. So a tree is full, and must not split, if two
# more leaves would be too many even if all of them forgot; a test with more outcomes
# may be too large before. That is looked at after each split, and before that of a
# nominal test; what leaves remember is looked at now and then.

from skconftree.tree.leaves._leaf_store cimport LeafStore
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._typedefs cimport intp_t


cdef class MemoryLimit:
    cdef readonly intp_t max_bytes      # of this tree, or NO_LIMIT
    cdef intp_t given                   # of all trees that share it
    cdef bint full
    cdef intp_t node_bytes              # of a node, without its memory
    cdef intp_t watch_bytes             # of a node that is watched, or 0
    cdef intp_t split_bytes             # more, if it has split
    cdef intp_t bare_bytes              # of a leaf that remembers nothing
    cdef intp_t pool_bytes

    cdef void look(self, Tree tree, LeafStore leaves) noexcept nogil
    cdef bint has_room(
        self, Tree tree, LeafStore leaves, intp_t n_outcomes, intp_t n_codes
    ) noexcept nogil
    cdef enforce(self, Tree tree, LeafStore leaves)
    cdef intp_t spare_bytes(
        self, Tree tree, LeafStore leaves, intp_t most_rows
    ) noexcept nogil
    cdef intp_t _least_bytes(
        self, Tree tree, LeafStore leaves, intp_t n_outcomes, intp_t n_codes
    ) noexcept nogil


cdef intp_t bytes_of(Tree tree, LeafStore leaves)
