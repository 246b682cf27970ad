# Leaves as bytes: for pickles. What is read is checked before it is believed.

from skconftree.tree.leaves._contract cimport Leaf, Policy
from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.utils._typedefs cimport intp_t


cdef write_leaf(StateWriter writer, const Leaf* leaf, const Policy* policy)
cdef Leaf* read_leaf(
    StateReader reader, const Policy* policy, intp_t node
) except NULL
