from skconftree.bounds._contingency cimport Contingency
from skconftree.bounds._contract cimport Bound
from skconftree.criteria._criterion cimport Criterion
from skconftree.tree.split._candidates cimport CandidateSplits
from skconftree.tree.split._node cimport ExaminedNode, NodeRecord
from skconftree.tree.split._scan cimport Source
from skconftree.tree.split._selection cimport Selection
from skconftree.tree.split._split cimport Children, Split
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, uint64_t

# A bound is the rule that accepts or rejects the best candidate split of a node. A source reads
# the rows of a node. An ExaminedNode (_node.pxd) has the class counts of the node, a NodeRecord
# its range of rows. An Arena owns arrays. The gain of a split is the decrease of the impurity.
#
# Precheck: whether the bound would reject every candidate split of a node, before they are
# compared. Most split attempts at the leaves of a tree trained row by row end here: approximate
# scores with known error limits show that the best candidate cannot be far enough ahead of the
# others. They decide nothing else; a leaf that may split is examined with exact scores.

cdef class Precheck:
    cdef readonly bint is_available  # it can reject some nodes
    cdef Source source
    cdef Criterion criterion
    cdef Bound bound
    cdef ExaminedNode node
    cdef bint is_entropy
    cdef Arena arena
    cdef float32_t* left            # [n_classes, LANES], see Source.sketch() in _scan.pxd
    cdef float64_t* min_gain        # [n_features] limits of the gain of its best split
    cdef float64_t* max_gain

    # Whether the bound would reject every candidate of the current node, whose impurity per
    # row is given. False if there are more than `max_features` features.
    cdef bint rules_out_split(self, float64_t impurity, intp_t max_features) noexcept nogil


# Splitter: selects the best candidate split of a node; the bound accepts or rejects it.
#
# It has five components. The source reads the rows of the node (_scan.pxd).
# CandidateSplits generates the candidate splits for every kind of source
# (_candidates.pxd). The criterion scores them, the selection stores the best ones and
# statistics for the bound (_selection.pxd), and the bound decides.

cdef class Splitter:
    cdef readonly Source source
    cdef readonly Criterion criterion
    cdef readonly Bound bound
    cdef Selection selection
    cdef CandidateSplits candidates
    cdef Precheck precheck
    cdef bint uses_precheck
    cdef Contingency contingency    # of the children of a split and their classes
    cdef ExaminedNode node
    cdef Arena arena
    cdef intp_t max_features
    cdef float64_t total_weight     # weight of the root, with class weights
    cdef bint stores_rejected       # find() describes the best candidate if it is rejected
    cdef bint samples_features      # not all features are examined
    cdef int32_t* sampled_features  # [n_features] features examined, if so
    cdef int32_t* visited           # those not constant in the node, ascending
    cdef intp_t n_visited
    cdef uint64_t draw_key          # random number of the last feature drawn

    # Allocate memory for features with this many categories.
    cdef int reserve_categories(self, intp_t capacity) except -1
    # The split of a node. Removes features that are constant from record.features.
    cdef Split find(self, NodeRecord* record, const float64_t* counts) noexcept nogil
    # After find(): other splits of the same node that the bound (split rule) accepts too, at
    # most one per feature: the `n_max` with the largest gains, in descending order. Their
    # children are not counted. Requires that the splitter was made with stores_all_features.
    cdef intp_t find_competitors(
        self, const Split* chosen, intp_t n_max, Split* others
    ) noexcept nogil
    # Count the children of a split again, after other nodes have been examined.
    cdef void recount_children(
        self, NodeRecord* record, const float64_t* counts, Split* split
    ) noexcept nogil
    # Return the exception that the criterion or the bound holds (Kernel, criteria/_score.pxd)
    # and clear it; None without an exception.
    cdef object release(self)
    # Raise this exception, if any.
    cdef inline int check(self) except -1 nogil:
        if self.holds():
            with gil:
                raise self.release()
        return 0

    cdef inline bint holds(self) noexcept nogil:    # whether there is one
        return self.criterion.held is not None or (
            self.bound is not None and self.bound.held is not None
        )

    # Whether all calls of a method in Python have failed, so that the split is not valid.
    cdef inline bint has_failed(self) noexcept nogil:
        return self.criterion.has_failed or (self.bound is not None and self.bound.has_failed)

    # Impurity of unscaled counts (without class weights), in scikit-learn's units.
    cdef float64_t impurity(self, const float64_t* counts) noexcept nogil
    # Begin a node with these class counts.
    cdef void _enter(self, NodeRecord* record, const float64_t* counts) noexcept nogil
    # Compare the candidates of all features that are examined; set `visited`.
    cdef void _visit_features(self) noexcept nogil
    # Select the best split of a feature, element j of record.features; return the number of its
    # candidates, 0 if the feature is constant in the node.
    cdef intp_t _examine(self, intp_t j, int32_t feature) noexcept nogil
    # Whether the bound accepts a split.
    cdef bint _decide(self, Split* split) noexcept nogil
    # Weighted impurity decrease, as in scikit-learn.
    cdef float64_t _improvement(self, const Children* children) noexcept nogil
