# The memories there are. One row each; `_leaf` calls them, and nothing else names them.

from skconftree.tree.leaves._contract cimport LeafMemory
from skconftree.utils._typedefs cimport int64_t

cdef const LeafMemory* memory_named(str name) except NULL
cdef const LeafMemory* memory_of_code(int64_t code) except NULL
