# Tests of independence in a contingency table, shared by the bounds (split rules) `gtest` and
# `chi2`, and the number of splits expected by chance, the evidence that all bounds report.
#
# A table has r rows, the outcomes (children) of a split, and k columns, the classes. ByChance is
# the number of splits expected by chance, NodeStats describes the node that is split
# (_contract.pxd). An Arena owns arrays.

from skconftree.bounds._contract cimport ByChance, NodeStats
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef enum Fisher:
    FREEMAN_HALTON  # all tables that are at most as likely as the observed one
    POINT           # the observed table only


cdef enum Independence:
    G_TEST          # likelihood-ratio test
    CHI2            # Pearson's chi-squared or Fisher's exact test, see chi2_pvalue()
    EXACT           # Fisher's exact test, NaN if it takes too long


cdef class Contingency:
    # One table at a time, without its empty rows and columns. Used by one thread.
    # reserve() must be called before a table is tested, and load() sets the table. The
    # observations that it counts are rows of the training data.
    cdef Arena arena
    cdef intp_t r                       # number of outcomes that have observations
    cdef intp_t k                       # number of classes that have observations
    cdef float64_t n                    # number of observations
    cdef const float64_t* cells         # [r, k] numbers of observations
    cdef float64_t* outcome             # [r] row sums
    cdef float64_t* label               # [k] column sums
    # The enumeration of all tables with the same sums fills them class by class, with the
    # outcomes and classes in descending order of their sums.
    cdef float64_t* remaining           # [r] observations of each outcome not in a cell yet
    cdef float64_t* class_sums          # [k] column sums in the order of the enumeration
    cdef float64_t* sum_from            # [k] sum of `class_sums` from this class on
    cdef float64_t* log_fac_from        # [k] sum of log_fac(class_sums) from this class on
    cdef float64_t* memory              # of the six arrays above, and of the cells if the
                                        # table has empty rows or columns
    cdef intp_t capacity                # size of `memory`
    cdef float64_t* n_ways              # [2, MAX_COUNTING / 2 + 1] scratch of
                                        # too_many_tables(), NULL if no test is exact
    cdef float64_t[::1] log_factorial   # of small integers, immutable; for exact tests only

    # State of an enumeration.
    cdef float64_t log_limit            # log probability above which a table is more likely
                                        # than the observed one
    cdef float64_t tail                 # probability of the tables counted so far
    cdef float64_t max_tail             # a tail above it need not be exact
    cdef intp_t budget                  # remaining steps; the enumeration ends below 0

    cdef int reserve(self, intp_t r, intp_t k) except -1
    cdef void load(self, const float64_t* table, intp_t r, intp_t k) noexcept nogil
    cdef float64_t degrees_of_freedom(self) noexcept nogil
    cdef float64_t g_statistic(self) noexcept nogil
    # Pearson's chi-squared statistic; `yates`: with Yates' continuity correction.
    cdef float64_t pearson(self, bint yates) noexcept nogil
    cdef float64_t smallest_expected(self) noexcept nogil
    cdef bint is_integral(self) noexcept nogil
    # Exact p-value; need not be exact if its logarithm is above max_log_p.
    cdef float64_t fisher(self, Fisher kind, float64_t max_log_p) noexcept nogil

    cdef float64_t log_fac(self, float64_t count) noexcept nogil    # log(count!)
    cdef float64_t capacity_beyond_first(self) noexcept nogil   # sum of remaining[1:]
    # Whether there are too many tables to enumerate. The entries of one axis, with the sums
    # `merged`, are combined into two for the estimate; `sums` are those of the other axis.
    cdef bint too_many_tables(
        self, const float64_t* merged, intp_t n_merged, const float64_t* sums, intp_t n_sums,
    ) noexcept nogil
    # Add the probabilities of the tables that agree in the cells filled so far to `tail`: fill
    # the cells of class c from outcome z on with `rows` observations. The outcomes after z have
    # space for `n_remaining`; log_p is the log probability, without the cells to be filled.
    cdef void enumerate_column(
        self, intp_t c, intp_t z, float64_t rows, float64_t n_remaining, float64_t log_p
    ) noexcept nogil


# Logarithm of the probability that chi-squared exceeds x; accurate even if the probability
# itself is below the smallest float.
cdef float64_t log_chi2_tail(float64_t df, float64_t x) noexcept nogil

# Logarithm of the p-value of the likelihood-ratio test of a table [r, k].
cdef float64_t g_log_pvalue(
    Contingency work, const float64_t* table, intp_t r, intp_t k
) noexcept nogil

# For a split with these children, [r, n_classes], compute how many candidate splits of the
# node are expected to look as good by chance; return the natural logarithm of that number.
# It is the evidence for a split for every bound, and without one.
cdef float64_t expect_by_chance(
    Contingency work, const NodeStats* stats, const float64_t* table, intp_t r, ByChance* result,
) noexcept nogil

# Logarithm of the p-value of the test that the smallest expected count selects, see
# chi2_pvalue(). If it is above max_log_p, it need not be exact, only above that.
cdef float64_t chi2_rule_log_pvalue(
    Contingency work, const float64_t* table, intp_t r, intp_t k, Fisher kind, float64_t max_log_p,
) noexcept nogil

# P-values of an array of tables whose last two axes are outcomes and classes.
cdef table_pvalues(tables, Independence test, Fisher kind=*)
