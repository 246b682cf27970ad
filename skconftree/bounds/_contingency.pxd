# Tests of independence in a table of counts, shared by the bounds `gtest` and
# `chi2`, and the number of splits expected by chance, which is the evidence of them all.

from skconftree.bounds._contract cimport ByChance, NodeStats
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef enum Fisher:
    FREEMAN_HALTON  # all tables as unlikely as the observed one, or more so
    POINT           # the observed table alone


cdef class Contingency:
    # One table at a time, without its empty rows and columns. Used by one thread. There
    # has to be room for a table before it is tested.
    cdef Arena arena
    cdef intp_t r                       # outcomes that have rows
    cdef intp_t k                       # classes that have rows
    cdef float64_t n
    cdef const float64_t* cells         # [r, k]
    cdef float64_t* outcome             # [r] sums
    cdef float64_t* label               # [k] sums
    cdef float64_t* room                # [r] what an enumeration has left of `outcome`
    cdef float64_t* rows_of             # [k] `label` in the order of an enumeration
    cdef float64_t* rows_from           # [k] rows of this label and those after it
    cdef float64_t* log_fac_from        # [k] their log_fac(label), summed
    cdef float64_t* memory              # holds the six above, and cells in fewer rows
                                        # or columns than those of the table
    cdef intp_t capacity
    cdef float64_t* ways                # [2, MAX_COUNTING / 2 + 1] scratch of
                                        # too_many_tables(), NULL if no test is exact
    cdef float64_t[::1] log_factorial   # of small whole numbers, immutable; as `ways`

    # State of an enumeration.
    cdef float64_t log_limit            # tables above it are more likely than observed
    cdef float64_t tail
    cdef float64_t enough               # a tail above it need not be known
    cdef intp_t budget                  # negative ends it

    cdef int reserve(self, intp_t r, intp_t k) except -1
    cdef void load(self, const float64_t* table, intp_t r, intp_t k) noexcept nogil
    cdef float64_t degrees_of_freedom(self) noexcept nogil
    cdef float64_t g_statistic(self) noexcept nogil
    cdef float64_t pearson(self, bint yates) noexcept nogil
    cdef float64_t least_expected(self) noexcept nogil
    cdef bint is_integral(self) noexcept nogil
    cdef float64_t fisher(self, Fisher kind, float64_t log_most) noexcept nogil

    cdef float64_t log_fac(self, float64_t count) noexcept nogil
    cdef float64_t capacity_beyond_first(self) noexcept nogil
    cdef bint too_many_tables(
        self, const float64_t* merged, intp_t n_merged, const float64_t* sums,
        intp_t n_sums,
    ) noexcept nogil
    cdef void enumerate_column(
        self, intp_t c, intp_t z, float64_t rows, float64_t n_remaining, float64_t log_p
    ) noexcept nogil


# Logarithm of the chance that chi-squared exceeds x, right where the chance itself is
# below the smallest float.
cdef float64_t log_chi2_tail(float64_t df, float64_t x) noexcept nogil

cdef float64_t g_pvalue(
    Contingency work, const float64_t* table, intp_t r, intp_t k
) noexcept nogil
cdef float64_t g_log_pvalue(
    Contingency work, const float64_t* table, intp_t r, intp_t k
) noexcept nogil

# Say of a test with these children, [r, n_classes], how many candidate splits of the node
# are expected to look as good by chance; the natural logarithm of that number. For every
# bound, and without one, this is the evidence for a split.
cdef float64_t expect_by_chance(
    Contingency work, const NodeStats* facts, const float64_t* table, intp_t r,
    ByChance* found,
) noexcept nogil

# Which test is made depends on the smallest expected count, see chi2_pvalue().
cdef float64_t chi2_rule_pvalue(
    Contingency work, const float64_t* table, intp_t r, intp_t k, Fisher kind
) noexcept nogil
# If it is above log_most it need not be right, only above it.
cdef float64_t chi2_rule_log_pvalue(
    Contingency work, const float64_t* table, intp_t r, intp_t k, Fisher kind,
    float64_t log_most,
) noexcept nogil
