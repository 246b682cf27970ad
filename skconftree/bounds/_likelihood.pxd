from skconftree.bounds._contract cimport NodeStats, Score, SplitBlock
from skconftree.utils._typedefs cimport float64_t, intp_t

# The Dirichlet-multinomial likelihood of a split, shared by the two bounds (split rules) that
# average it over all candidate splits. The outcomes of a split are its children. A Score is a
# function of class counts that the split search minimizes, for a block of candidate splits at a
# time (SplitBlock, criteria/_score.pxd). This one is the sum of total() over the outcomes, minus
# the sum of phi() over the outcomes and their classes.

cdef class DirichletScore(Score):
    # Minus the log likelihood of the labels if each outcome of the split has
    # its own class distribution, drawn from Dirichlet(a, ..., a).
    cdef readonly float64_t a           # pseudo-count of each class
    cdef float64_t log_gamma_a
    cdef float64_t log_gamma_total      # lgamma(n_classes * a)
    cdef float64_t node_total           # number of rows of the node
    cdef float64_t[::1] node_counts     # [n_classes] copied by begin()
    cdef float64_t[::1] class_terms     # [table_size] phi(i) of integers i
    cdef float64_t[::1] total_terms     # [table_size] total(i) of integers i
    cdef intp_t table_size              # 0 until reserve()
    cdef bint tabulated                 # every count of the node is in the tables

    # Scores of a block of splits whose counts are in the tables.
    cdef void block_of_integers(self, const SplitBlock* splits, float64_t* out) noexcept nogil
    # Term of an outcome of n rows.
    cdef float64_t total(self, float64_t n) noexcept nogil
    # Of one outcome, from its class counts.
    cdef float64_t log_likelihood(self, const float64_t* counts) noexcept nogil


# Log likelihood under the class distribution that maximizes it.
cdef float64_t largest_log_likelihood(const float64_t* counts, intp_t n_classes) noexcept nogil

# Log likelihood of the split of each table of counts, minus that of its node without a split:
# for one class distribution from the prior or, with `against_best`, for the most likely one.
cdef log_likelihood_ratio(tables, DirichletScore score, bint against_best)
