from skconftree.bounds._contract cimport SplitEvidence
from skconftree.tree._settings cimport MAX_STORED_COMPETITORS
from skconftree.utils._typedefs cimport float64_t, int16_t, intp_t

# Cut: how a candidate split divides the values of its feature.
#
# A candidate split is a feature and a cut. The position is an integer: for example, the number of
# sorted rows that go left. Its meaning is defined by the source, which reads the rows (_scan.pxd),
# or for sets of categories by CategorySets (_candidates.pxd). The split search emits candidates:
# it passes them to the criterion. An outcome is a child; a code is the integer of a category.

cdef struct Cut:
    intp_t position         # -1 = no split
    bint missing_left       # rows without a value go left as well


cdef inline bint precedes(Cut a, Cut b) noexcept nogil:
    # The order in which candidates are emitted, which breaks ties: missing values go right
    # first.
    if a.missing_left != b.missing_left:
        return b.missing_left
    return a.position < b.position


# Split: the split selected at a node, the evidence for it, and its children.
#
# The arrays of the children belong to the splitter (_splitter.pxd) that returned the split.
# They are valid until it counts the children of another split.

cdef struct Children:
    # The children of one split.
    intp_t n_outcomes           # 2 unless every category has a branch
    float64_t* counts           # [n_outcomes, n_classes] unscaled: without class weights
    float64_t* scaled           # [n_outcomes, n_classes] scratch, for counts on another
                                # scale (ExaminedNode, _node.pxd)
    float64_t* pool             # [n_outcomes] weight with unlabeled rows or, if by_volume, volume
                                # of the child's box
    intp_t* rows                # [n_outcomes] number of rows, and
    intp_t* n_labeled           # [n_outcomes] of labeled rows; set in `fit` only
    bint missing_seen           # some labeled rows of the node miss the value of the feature
    bint missing_left           # rows without a value go left
    int16_t* child_of_code      # [n_codes] the child of each category, -1 = no labeled
                                # row has it; NULL if the feature is numeric
    intp_t n_codes              # 0 if the feature is numeric
    intp_t unknown              # the child that categories not seen in the node go to


cdef struct CompetingSplit:
    # The best candidate split of another feature than the one selected.
    intp_t feature              # -1 = none, and the following entries are unused too
    Cut cut


cdef struct Split:
    intp_t feature              # -1 = no split
    intp_t rejected             # without a split, the feature of the best candidate, whose
                                # threshold and evidence are set too, if the splitter stores
                                # rejected candidates; else -1
    intp_t reason               # why there is no split, a LeafReason (tree/_settings.pxd)
    Cut cut
    float64_t threshold         # NaN if the feature is nominal
    float64_t improvement       # weighted impurity decrease, as in scikit-learn
    SplitEvidence evidence      # statistics of the split (bounds/_contract.pxd)
    CompetingSplit competitors[MAX_STORED_COMPETITORS]  # the best first
    Children children
