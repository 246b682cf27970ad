# LookaheadBuilder: looks ahead in some levels near the root of a tree.
#
# A test is judged by what grows below it: the tree that a plain builder, which does not
# look ahead, makes of each child, in the least costly of its prunings. That tree is grown
# in the very rows of the node and forgotten; only what its nodes cost is kept, and the rows
# are put back. Which tests are tried is the bound's decision: those that it accepts on
# their own.
#
# The tree that was tried below the test installed is, at each of its nodes, the one that
# the first test tried there would grow again: greedy growth depends on the rows of a node
# alone. So a child inherits its part of it, and the first test of a node is not tried
# anew.

from skconftree.tree.batch._builder cimport Builder, Candidate, TriedNode
from skconftree.tree.nodes._node_table cimport TrialCosts
from skconftree.tree.nodes._tree cimport LeafCost
from skconftree.tree.split._split cimport Split
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef class LookaheadBuilder(Builder):
    cdef Builder trial
    cdef LeafCost leaf_cost
    cdef TrialCosts found       # of the candidate that was examined last
    cdef intp_t first           # depth from which on it looks ahead
    cdef intp_t end             # and that from which on it does not any more
    cdef intp_t width           # tests tried at a node
    cdef Split* tests           # [width]
    cdef float64_t* seen        # [n_classes] counts of a leaf as the bound sees them
    # Of each node of the trial tree.
    cdef intp_t trial_room
    cdef float64_t* least       # [trial_room] what its cheapest pruning costs
    cdef TriedNode* tried       # [trial_room]
    cdef TriedNode* best_tried  # [trial_room] of the best trial of the node so far
    cdef intp_t* queue          # [trial_room] scratch

    cdef TriedNode* installed   # of the test chosen last; NULL if none was tried

    # Who is told how far it is, or None; and in how many parts of each level.
    cdef object told
    cdef intp_t n_parts
    cdef intp_t* parts_done     # [n_levels]

    cdef int _look(self, Candidate* candidate) except -1 nogil
    cdef int _make_room(self, intp_t n) except -1 nogil
