"""What the children of a leaf take over from it."""

from libc.string cimport memcpy

from skconftree.utils._box cimport cut_box
from skconftree.utils._spare_memory cimport take_array


cdef int start_child(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    # Hand over what goes to one outcome to an empty leaf. share[c] becomes the part
    # of class c: exact unless it rests on moments.
    child.memory = parent.memory
    parent.memory.part(parent, policy, parting, outcome, share, child)
    return 0


cdef int part_box(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    Leaf* child,
) except -1 nogil:
    # The child's box, if leaves have any.
    cdef intp_t d = policy.n_features
    if parent.box != NULL:
        child.box = <float64_t*> take_array(
            policy.blocks, 2 * d + 1, sizeof(float64_t)
        )
        memcpy(child.box, parent.box, 2 * d * sizeof(float64_t))
        cut_box(child.box, parting.feature, parting.threshold, outcome)
        child.box[2 * d] = parting.pool[outcome]
    return 0
