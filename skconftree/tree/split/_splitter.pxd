from skconftree.bounds._contingency cimport Contingency
from skconftree.bounds._contract cimport Bound
from skconftree.criteria._criterion cimport Criterion
from skconftree.tree.split._candidates cimport NodeTests
from skconftree.tree.split._node cimport ExaminedNode, NodeRecord
from skconftree.tree.split._scan cimport Source
from skconftree.tree.split._selection cimport Selection
from skconftree.tree.split._split cimport Children, Split
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, uint64_t

# Foresight: whether a bound would refuse any test of a node, before the tests are
# compared. Most looks at a growing leaf end that way: rough values, within limits that
# are known, show that the best test cannot be ahead of the others by enough. Nothing is
# decided by them but that; a leaf that may split is examined as if they were not there.

cdef class Foresight:
    cdef readonly bint sees         # it may know for some nodes
    cdef Source source
    cdef Criterion criterion
    cdef Bound bound
    cdef ExaminedNode node
    cdef bint is_entropy
    cdef Arena arena
    cdef float32_t* left            # [n_classes, LANES]
    cdef float64_t* least           # [n_features] what the best test gains, at least
    cdef float64_t* most            # and at most

    # Of the node that has been entered, whose impurity per row is given. All its
    # features will be examined if they are no more than so many.
    cdef bint must_wait(self, float64_t impurity, intp_t max_features) noexcept nogil


# Splitter: finds the best test of a node and asks the bound about it.
#
# It has four parts. The source knows the rows of the node (_scan.pxd); what is asked
# about tests, whatever the source, is in _candidates.pxd. The criterion scores them, the bound
# decides, and the selection keeps what the bound wants to know (_selection.pxd).

cdef class Splitter:
    cdef readonly Source source
    cdef readonly Criterion criterion
    cdef readonly Bound bound
    cdef Selection selection
    cdef NodeTests tests
    cdef Foresight foresight
    cdef bint foresees
    cdef Contingency contingency    # of the children of a split, by their classes
    cdef ExaminedNode node
    cdef Arena arena
    cdef intp_t max_features
    cdef float64_t total_weight     # of the root, reweighted by class
    cdef bint explains              # which test was the best where none splits the node
    cdef bint sampling              # not all features are examined
    cdef int32_t* sample            # [n_features] features examined, if so
    cdef int32_t* visited           # those that vary, ascending
    cdef intp_t n_visited
    cdef uint64_t draw_key           # of the last feature drawn

    # Make room for features with this many categories.
    cdef int reserve_categories(self, intp_t room) except -1
    # The split of a node. Drops features found to be constant from record.features.
    cdef Split find(self, NodeRecord* record, const float64_t* counts) noexcept nogil
    # Other tests of the node that find() has just answered for, each the best one of
    # its attribute, which the bound accepts on their own: of these the `most` that gain
    # most, the largest gain first. Their children are not counted. Of a splitter that
    # keeps_all.
    cdef intp_t find_others(
        self, const Split* chosen, intp_t most, Split* others
    ) noexcept nogil
    # Count its children again, when other nodes have been examined since.
    cdef void count_again(
        self, NodeRecord* record, const float64_t* counts, Split* split
    ) noexcept nogil
    # Of counts as they are, in scikit-learn's units.
    cdef float64_t impurity(self, const float64_t* counts) noexcept nogil
    cdef void _enter(self, NodeRecord* record, const float64_t* counts) noexcept nogil
    cdef void _visit_features(self) noexcept nogil
    cdef bint _decide(self, Split* split) noexcept nogil
    cdef float64_t _improvement(self, const Children* children) noexcept nogil
