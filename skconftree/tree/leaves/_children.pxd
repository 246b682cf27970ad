# What the outcomes of a test that parts a leaf take over from it.

from skconftree.tree.leaves._contract cimport Leaf, Policy
from skconftree.tree.leaves._parting cimport Parting
from skconftree.utils._typedefs cimport float64_t, intp_t

cdef int start_child(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil
cdef int start_drawn(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil
cdef int part_box(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    Leaf* child,
) except -1 nogil
