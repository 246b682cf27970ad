cimport cython
from libc.math cimport log, log1p, sqrt

from skconftree.bounds._contract cimport NodeStats, Score, SplitBlock
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport float64_t, intp_t

# Moments and quantiles of the posterior of a node's heterogeneity (its impurity as a function
# of the class probabilities mu), as functions of the counts. mu has a Dirichlet distribution;
# its prior has the parameter alpha for each class.

cdef enum Heterogeneity:
    ENTROPY     # -sum mu ln mu
    VARIANCE    # (1 - sum mu^2) / 2, which is mu (1 - mu) for two classes
    DEVIATION   # its square root


cdef inline float64_t binary_heterogeneity(Heterogeneity kind, float64_t x) noexcept nogil:
    # x <= 1/2 is the probability of the rarer class.
    if x <= 0.0:
        return 0.0
    if kind == ENTROPY:
        return -x * log(x) - (1.0 - x) * log1p(-x)
    if kind == VARIANCE:
        return x * (1.0 - x)
    return sqrt(x * (1.0 - x))


# Upper and lower credible limits for two classes, each with the tail probability delta. a >= b
# > 0 are the shape parameters of the posterior Beta distribution of the class probability.
cdef float64_t binary_upper(
    Heterogeneity kind, float64_t a, float64_t b, float64_t delta
) noexcept nogil
cdef float64_t binary_lower(
    Heterogeneity kind, float64_t a, float64_t b, float64_t delta
) noexcept nogil

# Approximate logit of the upper quantile of Beta(p, q) with tail probability 1 - Phi(z), for the
# normal distribution function Phi; the true value is at least the result minus the margin.
cdef float64_t tail_quantile(
    float64_t p, float64_t q, float64_t z, float64_t* margin
) noexcept nogil

# More classes: a Beta distribution that has the mean and variance of the heterogeneity
# divided by its largest value (of its square for DEVIATION).
cdef float64_t largest_heterogeneity(Heterogeneity kind, intp_t n_classes) noexcept nogil
# Set the shape parameters p and q of the Beta distribution with this mean and variance.
cdef void match_beta(float64_t mean, float64_t variance, float64_t* p, float64_t* q) noexcept nogil
# The upper or the lower limit, by this distribution.
cdef float64_t matched_limit(
    Heterogeneity kind, const float64_t* counts, intp_t n_classes, float64_t alpha,
    float64_t delta, bint upper,
) noexcept nogil
# Posterior mean and variance of the heterogeneity.
cdef void moments(
    Heterogeneity kind, const float64_t* counts, intp_t n_classes, float64_t alpha,
    float64_t* mean, float64_t* variance,
) noexcept nogil
# x (x+1) psi'(x+2) + x / (x+1) - x, a term of the variance of the entropy; psi is the digamma
# function.
cdef float64_t trigamma_excess(float64_t x) noexcept nogil


# Floors: lower limits of the children's upper credible limits, which a scan, the split search of
# a node, computes for every candidate split. A Score is a function of class counts that the scan
# minimizes; a SplitBlock has the counts of some candidate splits of a feature. Each child is
# weighted by its pool: the weight of its rows, labeled or not, or its volume.
#
# The first floor of a child is the posterior mean of its heterogeneity plus a correction (`gain`
# or `loss`, divided by its number of rows). Splits that it does not exclude get a closer floor.

@cython.final
cdef class CredibleFloor(Score):
    cdef Heterogeneity kind
    cdef float64_t alpha            # pseudo-count of each class
    cdef float64_t prior_rows       # alpha, summed over the classes
    cdef float64_t delta            # tail probability of each limit
    cdef float64_t largest          # heterogeneity of the uniform distribution
    cdef float64_t z                # normal quantile of 1 - delta
    cdef float64_t gain             # correction of the mean that is added; 0 for more
                                    # than two classes
    cdef float64_t loss             # correction that is subtracted

    # Tabulated terms of posterior means, for integer counts.
    cdef Blocks blocks              # owns these tables
    cdef float64_t* class_term      # [k] (k + alpha) psi(k + alpha + 1)
    cdef float64_t* node_term       # [k] psi(k + prior_rows + 1), plus the correction
    cdef float64_t* excess          # [k] trigamma_excess(k + alpha); more than two classes
    cdef intp_t capacity            # allocated entries of the tables
    cdef intp_t filled              # computed entries
    cdef bint tabulated             # all counts of the node are in the tables

    # Closer floors. A root is the q with P(|X| <= q) = delta for a normal variable X with
    # mean t and variance 1.
    cdef const float64_t[::1] root_table    # roots at equidistant t
    cdef const float64_t[::1] entropy_table  # entropy of two classes, see tabulated_entropy()
    cdef float64_t root_step        # distance between two t
    cdef float64_t skewness_factor  # z^2 - 1, the shift of a quantile for a skewness of 6
    cdef float64_t slack            # error of a root, times the smaller shape parameter

    # The node.
    cdef const float64_t* counts
    cdef float64_t n
    cdef float64_t pool
    cdef float64_t node_lower       # its lower credible limit, for two classes
    cdef float64_t solved_for[2]    # the counts for which node_lower was computed
    cdef float64_t ceiling          # splits whose first floor is above it are excluded

    # Resize the tables; False if there is not enough memory. `size`: largest count.
    cdef bint allocate_tables(self, intp_t capacity) noexcept nogil
    cdef bint resize_table(self, float64_t** table, intp_t capacity) noexcept nogil
    cdef bint extend_tables(self, intp_t size) noexcept nogil
    # Lower credible limit of a node.
    cdef float64_t lower(self, const float64_t* counts) noexcept nogil
    # Closer floors for a child of weight 1; 0 = unknown. `close` is for two classes (counts n1
    # and n0), from roots; `matched` for more, from match_beta(); `sharp`, the tightest, also
    # uses tail_quantile() if that is accurate for m, the smaller shape parameter.
    cdef float64_t close(self, float64_t n1, float64_t n0) noexcept nogil
    cdef float64_t sharp(self, const float64_t* counts) noexcept nogil
    cdef float64_t matched(self, const float64_t* counts) noexcept nogil
    cdef bint is_accurate(self, float64_t m) noexcept nogil
    # The first floor of a child of weight 1, and its parts.
    cdef float64_t floor(self, const float64_t* counts) noexcept nogil
    cdef float64_t binary_floor(self, float64_t n1, float64_t n0) noexcept nogil
    cdef float64_t mean_from_sum(self, float64_t total, float64_t n) noexcept nogil
    cdef float64_t entropy_term(self, float64_t n) noexcept nogil
    # Term of a class; mean_from_sum() takes the sum of these terms over the classes.
    cdef float64_t phi_of(self, float64_t count) noexcept nogil
    # The same as moments(), from the tables.
    cdef void moments_of(
        self, const float64_t* counts, float64_t* mean, float64_t* variance
    ) noexcept nogil
    # block() for two classes, for more classes, and the first floor for two classes unless the
    # heterogeneity is the entropy.
    cdef void binary_block(self, const SplitBlock* splits, float64_t* out) noexcept nogil
    cdef void many_class_block(self, const SplitBlock* splits, float64_t* out) noexcept nogil
    cdef void variance_block(self, const SplitBlock* splits, float64_t* out) noexcept nogil
    # Floor of a split for two classes, with r children or two. `closely`: the closer floor.
    cdef float64_t binary_outcomes(
        self, const float64_t* counts, intp_t r, bint closely
    ) noexcept nogil
    cdef bint has_no_table(self) noexcept nogil     # the entropy is used and not tabulated
    cdef float64_t of_split(
        self, const float64_t* left, float64_t pool_left, bint closely
    ) noexcept nogil
