# Criteria: scores (functions that the split search minimizes, _score.pxd) that depend on a node's
# class counts alone. The outcomes of a split are its children.
#
# block() and outcomes() return the total sum_z n_z * phi_z over the outcomes z, to be
# minimized, with the impurity phi scaled so that two balanced classes have 1/2. node() is
# n * phi of one outcome, from its class counts and their sum n. impurity() is scikit-learn's
# impurity, unit * phi. NodeStats has the class counts of the node, and SplitBlock those of some of
# its candidate splits. K and n_classes are the number of classes, r that of outcomes.

from skconftree.criteria._score cimport NodeStats, Score, SplitBlock
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t

# Error limits of Criterion.rough_scores(), and of its argument.
cdef extern from *:
    """
    #define SHARE_ERROR 1e-5
    #define GAIN_ERROR 1e-3
    """
    const double SHARE_ERROR
    const double GAIN_ERROR


cdef class Criterion(Score):
    cdef readonly bint by_ratio         # features compete by gain ratio, as in C4.5
    cdef readonly bint concave          # splitting an outcome never raises the total
    cdef readonly float64_t unit        # scikit-learn's impurity = unit * phi
    cdef const float64_t* total         # [n_classes] counts of the node being scanned
    cdef float64_t n                    # their sum
    cdef float64_t[::1] _table          # [table_size] xlogx() of 0, 1, ..., Entropy only; owns
    cdef float64_t* table               # the memory of `table`
    cdef intp_t table_size

    cdef float64_t node(self, const float64_t* counts, float64_t n) noexcept nogil
    cdef float64_t impurity(self, const float64_t* counts, float64_t n) noexcept nogil

    # Approximate scores per row of n candidate splits, at most LANES (the largest number of
    # thresholds that are scored together, utils/_lanes.pxd), and the shares `n_left` of the rows
    # that go left. `left` is the share of the node's rows that are of a class and go left,
    # [n_classes, LANES], with an error below SHARE_ERROR times the share of the class; the error
    # of the scores is below GAIN_ERROR. Entropy and Gini index only.
    cdef void rough_scores(
        self, const float32_t* left, intp_t n, float32_t* scores, float32_t* n_left
    ) noexcept nogil


cdef class Gini(Criterion):
    pass


cdef class Entropy(Criterion):
    cdef intp_t tabulated       # integers below this; 0 unless all counts are integers
    cdef float64_t[::1] _phi_of_classes
    cdef float64_t* phi_of_classes      # [n_classes] xlogx() of both sides of a split, summed

    # Half of count * log2(count).
    cdef float64_t xlogx(self, float64_t count) noexcept nogil


cdef class Balance(Gini):
    cdef float64_t parent_score     # score of no split

    # What a split gains if its smallest outcome has this weight.
    cdef float64_t score_of_smallest(self, float64_t smallest) noexcept nogil


# Half the entropy, in bits, of the distribution of the rows over r outcomes with these weights.
cdef float64_t outcome_entropy(const float64_t* weights, intp_t r) noexcept nogil
