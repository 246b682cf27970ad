from skconftree.bounds._contract cimport SplitEvidence
from skconftree.tree._settings cimport MAX_STORED_COMPETITORS
from skconftree.utils._typedefs cimport float64_t, int16_t, intp_t

# Cut: where a test of one attribute lies.
#
# A test is an attribute and a cut. What the place means is the business of the source
# (_scan.pxd) or, for sets of categories, of CategorySets.

cdef struct Cut:
    intp_t place            # -1 = no test
    bint missing_left       # rows without a value go left as well


cdef inline bint precedes(Cut a, Cut b) noexcept nogil:
    # The order of the walks, by which ties are broken: missing values go right first.
    if a.missing_left != b.missing_left:
        return b.missing_left
    return a.place < b.place


# Split: what has been found at a node: a test, why it is worth making, and what it
# makes of the node's rows.
#
# The arrays of the children are lent by whoever found the split, until it is asked
# about another test.

cdef struct Children:
    # The children of one test.
    intp_t n_outcomes           # 2 unless every category has a branch
    float64_t* counts           # [n_outcomes, n_classes] as they are
    float64_t* scaled           # [n_outcomes, n_classes] on another scale: scratch
    float64_t* pool             # [n_outcomes] weight W
    intp_t* rows                # [n_outcomes] with and without label, and
    intp_t* n_labelled          # [n_outcomes] with one; of tables only
    bint missing_seen           # labelled rows of the node miss the value tested
    bint missing_left           # where such rows go
    int16_t* ordinals           # [n_codes] the child of each category, -1 = no
                                # labelled row has it; NULL if the test is numeric
    intp_t n_codes              # 0 if it is
    intp_t unknown              # the child of other categories


cdef struct CompetitorTest:
    # The best test of another attribute than the one chosen.
    intp_t feature              # -1 = none, nor are there any behind it
    Cut cut


cdef struct Split:
    intp_t feature              # -1 = no split
    intp_t rejected             # then the feature of the best test, which was rejected, if
                                # the splitter explains that: also threshold and evidence
                                # are set. Else -1
    intp_t reason               # then why there is none, a LeafReason
    Cut cut
    float64_t threshold         # NaN if the feature is nominal
    float64_t improvement       # weighted impurity decrease, as in scikit-learn
    SplitEvidence evidence
    CompetitorTest competitors[MAX_STORED_COMPETITORS]   # the best first
    Children children
