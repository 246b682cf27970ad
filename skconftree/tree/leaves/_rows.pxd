# ROWS: a leaf keeps its rows.
#
# If leaves may predict by naive Bayes, moments are kept beside them, and counts of
# categories. If cuts are fixed, the leaf's first rows set bins, but nothing is counted
# in them: the rows are. What leaves that keep rows have in common is here too.

from skconftree.tree.leaves._contract cimport Leaf, LeafHeader, LeafMemory, Policy
from skconftree.tree.leaves._parting cimport Parting
from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t, label_t

cdef LeafMemory ROWS

cdef int append_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight
) except -1 nogil
# As LeafMemory.part; many rows are counted at once.
cdef int part_rows(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil
cdef int keep_latest(Leaf* leaf, const Policy* policy, intp_t n) except -1 nogil
cdef write_rows(StateWriter writer, const Leaf* leaf, const Policy* policy)
cdef read_rows(
    StateReader reader, const LeafHeader* header, const Policy* policy, Leaf* leaf
)
