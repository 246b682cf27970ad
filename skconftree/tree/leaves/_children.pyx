"""What the children of a leaf take over from it."""

from libc.string cimport memcpy

from skconftree.tree.leaves._drawn cimport draw_features, place_of, policy_of
from skconftree.tree.leaves._leaf cimport drop_past, new_leaf
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


cdef int start_drawn(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    # The same for a child that draws its own features, of which its parent may know
    # nothing: what it is handed over is no more than a model of its past.
    cdef Parting test = parting[0]
    test.feature = place_of(parent, parting.feature)
    draw_features(child, policy)
    child.memory = policy.first
    child.memory.open(child, policy_of(child, policy))
    child.past = new_leaf(policy, child.node)
    child.past.key = parent.key
    draw_features(child.past, policy)       # its parent's
    start_child(parent, policy_of(parent, policy), &test, outcome, share, child.past)
    if not policy.bayes:
        drop_past(child, policy)
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
