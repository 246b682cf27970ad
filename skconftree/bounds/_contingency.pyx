"""Tests of independence in r x k tables of counts."""

from libc.math cimport INFINITY, NAN, erfc, exp, fabs, floor, fmax, fmin, log, log1p, sqrt
from scipy.special.cython_special cimport chdtrc, gammaln

import numpy as np

from skconftree.criteria._score cimport sum_of
from skconftree.utils._typedefs cimport float64_t, intp_t

# The r rows of a table are the outcomes (children) of a split, its k columns the classes. The
# margins are the row and column sums. NodeStats describe the node that is split, ByChance the
# number of splits expected by chance (_contract.pxd). `delta` is the significance level of a bound
# (split rule). Contingency.reserve() allocates arrays, which its Arena owns.

cdef enum:
    FACTORIALS = 1024       # logarithms of n! are tabulated for smaller n
    # The enumeration of this many tables takes a fraction of a millisecond.
    MAX_TABLES = 100000
    # A prefix is a table whose first columns are filled. Limit of the prefixes that are
    # examined, far more than MAX_TABLES tables need; takes milliseconds.
    MAX_PREFIXES = 400000
    # The cost of a prefix is proportional to the number of outcomes. The limit of prefixes
    # is lower for tables with more outcomes than this.
    SMALL_N_OUTCOMES = 8
    # The depth of the recursion is the number of cells of a table.
    MAX_CELLS = 4096
    # Limit of the additions that count the tables, to detect that there are too many.
    MAX_COUNTING = 400000
    # Terms of a continued fraction; a few dozen are enough.
    MAX_TERMS = 100000

# Log probabilities of equally likely tables differ by rounding, which grows with log n!.
cdef float64_t EQUALLY_LIKELY = 1e-7
cdef float64_t ROUNDING = 1e-15     # relative error of logarithms of factorials
# Below it, the tail computed by SciPy loses accuracy and then underflows.
cdef float64_t SMALL_TAIL = 1e-280
cdef float64_t LOG_10 = log(10.0)
cdef float64_t LARGEST_LOG = 690.0      # numbers above its exponential may not be exact


cdef void sort_into(float64_t* out, const float64_t* values, intp_t n) noexcept nogil:
    # In descending order, so that the limits of the enumeration do not depend on the order
    # of outcomes and classes. Large counts first determine more tables at once.
    cdef intp_t i, j
    for i in range(n):
        j = i
        while j > 0 and out[j - 1] < values[i]:
            out[j] = out[j - 1]
            j -= 1
        out[j] = values[i]


cdef class Contingency:
    """A contingency table without its empty rows and columns, and its tests.

    The tests that enumerate tables require `exact`.
    """

    def __init__(self, *, bint exact):
        cdef float64_t[::1] table
        cdef intp_t i
        self.arena = Arena()
        if exact:
            table = np.empty(FACTORIALS)
            for i in range(FACTORIALS):
                table[i] = gammaln(i + 1.0)
            self.log_factorial = table
            self.n_ways = <float64_t*> self.arena.take(
                2 * (MAX_COUNTING // 2 + 1), sizeof(float64_t)
            )

    cdef int reserve(self, intp_t r, intp_t k) except -1:
        # Allocate memory for tables with this many outcomes and classes.
        cdef intp_t size = r * k + 2 * r + 4 * k
        if size > self.capacity:
            self.memory = <float64_t*> self.arena.resize(self.memory, size, sizeof(float64_t))
            self.capacity = size
        return 0

    cdef void load(self, const float64_t* table, intp_t r, intp_t k) noexcept nogil:
        # The table is not copied, and has to exist while it is tested.
        cdef intp_t c, z, column
        cdef float64_t total
        self.outcome = self.memory + r * k
        self.remaining = self.outcome + r
        self.label = self.remaining + r
        self.class_sums = self.label + k
        self.sum_from = self.class_sums + k
        self.log_fac_from = self.sum_from + k
        self.n = 0.0
        self.k = 0
        for c in range(k):
            total = 0.0
            for z in range(r):
                total += table[z * k + c]
            self.label[c] = total
            self.n += total
            if total > 0.0:
                self.k += 1
        self.r = 0
        for z in range(r):
            total = sum_of(table + z * k, k)
            if total > 0.0:
                self.outcome[self.r] = total
                self.r += 1
        self.cells = table
        if self.r == r and self.k == k:     # no empty rows or columns, as usual
            return
        self.cells = self.memory
        column = 0
        for z in range(r):
            total = 0.0
            for c in range(k):
                total += table[z * k + c]
                if self.label[c] > 0.0:
                    self.memory[column] = table[z * k + c]
                    column += 1
            if not total > 0.0:
                column -= self.k
        column = 0
        for c in range(k):
            if self.label[c] > 0.0:
                self.label[column] = self.label[c]
                column += 1

    cdef float64_t degrees_of_freedom(self) noexcept nogil:
        return (self.r - 1.0) * (self.k - 1.0) if self.n > 0.0 else 0.0

    cdef float64_t g_statistic(self) noexcept nogil:
        # 2 sum o ln(o/e), as a sum of terms o ln(o/e) - (o - e) >= 0. Without the second
        # part, rounding would exceed the statistic of large tables near independence.
        cdef intp_t c, z
        cdef float64_t expected, excess, term, out = 0.0
        for z in range(self.r):
            for c in range(self.k):
                expected = self.outcome[z] * (self.label[c] / self.n)
                excess = self.cells[z * self.k + c] - expected
                if not (self.cells[z * self.k + c] > 0.0 and expected > 0.0):
                    out += expected
                    continue
                term = self.cells[z * self.k + c] * log1p(excess / expected) - excess
                if term > 0.0:
                    out += term
        return 2.0 * out

    cdef float64_t pearson(self, bint yates) noexcept nogil:
        cdef intp_t c, z
        cdef float64_t expected, excess, out = 0.0
        for z in range(self.r):
            for c in range(self.k):
                expected = self.outcome[z] * (self.label[c] / self.n)
                excess = fabs(self.cells[z * self.k + c] - expected)
                if yates:
                    excess = fmax(0.0, excess - 0.5)
                if expected > 0.0:
                    out += excess * (excess / expected)
                else:  # `expected` underflows
                    out += excess / self.outcome[z] * (excess / self.label[c]) * self.n
        return out

    cdef float64_t smallest_expected(self) noexcept nogil:
        cdef intp_t c, z
        cdef float64_t outcome = INFINITY, label = INFINITY
        for z in range(self.r):
            outcome = fmin(outcome, self.outcome[z])
        for c in range(self.k):
            label = fmin(label, self.label[c])
        return outcome * (label / self.n)

    cdef bint is_integral(self) noexcept nogil:
        cdef intp_t i
        for i in range(self.r * self.k):
            if floor(self.cells[i]) != self.cells[i]:
                return False
        return True

    cdef float64_t log_fac(self, float64_t count) noexcept nogil:
        # count is an integer >= 0.
        if count < FACTORIALS:
            return self.log_factorial[<intp_t> count]
        return gammaln(count + 1.0)

    cdef float64_t fisher(self, Fisher kind, float64_t max_log_p) noexcept nogil:
        # P-value of a table of integers given its margins; NaN if there are too many
        # tables with these margins to enumerate. If its logarithm is above max_log_p, any
        # value above that may be returned.
        cdef intp_t i
        cdef float64_t log_scale = -self.log_fac(self.n)
        cdef float64_t log_observed = 0.0
        for i in range(self.r):
            log_scale += self.log_fac(self.outcome[i])
        for i in range(self.k):
            log_scale += self.log_fac(self.label[i])
        for i in range(self.r * self.k):
            log_observed -= self.log_fac(self.cells[i])
        # POINT: the probability of the observed table only
        if kind == POINT or log_scale + log_observed > max_log_p:
            return fmin(1.0, exp(log_scale + log_observed))
        sort_into(self.remaining, self.outcome, self.r)
        sort_into(self.class_sums, self.label, self.k)
        # With many outcomes, the limit of too_many_tables() is weak if the outcomes are merged.
        # It is then computed for merged classes, too.
        if (
            self.r * self.k > MAX_CELLS
            or self.too_many_tables(self.remaining, self.r, self.class_sums, self.k)
            or self.r > SMALL_N_OUTCOMES
            and self.too_many_tables(self.class_sums, self.k, self.remaining, self.r)
        ):
            return NAN
        self.log_limit = (
            log_scale + log_observed + EQUALLY_LIKELY + ROUNDING * self.log_fac(self.n)
        )
        self.tail = 0.0
        self.max_tail = exp(max_log_p) if max_log_p < 0.0 else INFINITY
        self.budget = MAX_PREFIXES * min(self.r, SMALL_N_OUTCOMES)
        for i in range(self.k - 1, -1, -1):
            self.sum_from[i] = self.class_sums[i]
            self.log_fac_from[i] = self.log_fac(self.class_sums[i])
            if i < self.k - 1:
                self.sum_from[i] += self.sum_from[i + 1]
                self.log_fac_from[i] += self.log_fac_from[i + 1]
        self.enumerate_column(0, 0, self.class_sums[0], self.n - self.remaining[0], log_scale)
        if self.budget < 0 and not self.tail > self.max_tail:
            return NAN
        return fmin(1.0, self.tail)

    cdef bint too_many_tables(
        self, const float64_t* merged, intp_t n_merged, const float64_t* sums, intp_t n_sums,
    ) noexcept nogil:
        # Whether more than MAX_TABLES tables have the same row and column sums. `merged` are the
        # sums along one axis, `sums` those along the other. The entries of the first axis are
        # combined into two parts of about equal size, and the tables with these two parts are
        # counted. Their number is at most that of the original tables, and equal to it if the
        # merged axis has two entries. n_ways[s] is the number of ways in which the first `sums`
        # put s observations into the first part. Further sums never decrease the last element, so
        # the count can end early, long before it overflows. True also if it would take too long.
        cdef intp_t c, s, rows, size
        cdef float64_t first = 0.0, largest = 0.0, n_tables = 1.0, window
        cdef float64_t* before
        cdef float64_t* after
        for c in range(n_merged):
            if first + merged[c] <= 0.5 * self.n or first == 0.0:
                first += merged[c]
        first = fmin(first, self.n - first)
        for c in range(n_sums):
            n_tables *= fmin(sums[c], first) + 1.0
            largest = fmax(largest, sums[c])
        if n_tables / (fmin(largest, first) + 1.0) <= MAX_TABLES:
            return False
        if first * n_sums > MAX_COUNTING:
            return True
        size = <intp_t> first + 1
        before = self.n_ways
        after = self.n_ways + size
        for s in range(size):
            before[s] = 1.0 if s == 0 else 0.0
        for c in range(n_sums):
            rows = <intp_t> fmin(sums[c], <float64_t> size)
            window = 0.0
            for s in range(size):
                window += before[s]
                if s > rows:
                    window -= before[s - rows - 1]
                after[s] = window
            before, after = after, before
            if not before[size - 1] <= MAX_TABLES:
                return True
        return False

    cdef void enumerate_column(
        self, intp_t c, intp_t z, float64_t rows, float64_t n_remaining, float64_t log_p
    ) noexcept nogil:
        # Distribute the `rows` observations of class c that are not in a cell yet over the
        # outcomes from z on, then continue with the next class. The outcomes after z have
        # n_remaining observations that are not in a cell yet. log_p is the log probability of a
        # table, without the factors 1 / cell! of the cells that are not filled yet.
        #
        # At the start of a class, let N be the number of observations that are not in a cell yet.
        # The product of the missing factors has the sum N! / (prod remaining! prod class_sums!)
        # over all completions of the table, and is at least 1 / prod class_sums! in each of
        # them. If the table with the former is at most as likely as the observed one, all
        # completions count. If the table with the latter is more likely, none counts.
        cdef float64_t count, last
        cdef float64_t capacity = self.remaining[z]
        cdef float64_t together
        cdef intp_t i
        if z == 0:
            self.budget -= self.r   # proportional to the work
            if log_p - self.log_fac_from[c] > self.log_limit:
                return
            together = log_p - self.log_fac_from[c] + self.log_fac(self.sum_from[c])
            for i in range(self.r):
                together -= self.log_fac(self.remaining[i])
            if together <= self.log_limit:
                self.tail += exp(together)
                if self.tail > self.max_tail:
                    self.budget = -1  # ends the enumeration
                return
            if c == self.k - 1:
                # The cells of the last class are determined: this was the only table left.
                return
        if z == self.r - 1:
            self.remaining[z] = capacity - rows
            log_p -= self.log_fac(rows)
            self.enumerate_column(
                c + 1, 0, self.class_sums[c + 1], self.capacity_beyond_first(), log_p
            )
            self.remaining[z] = capacity
            return
        count = fmax(0.0, rows - n_remaining)
        last = fmin(rows, capacity)
        while count <= last and self.budget >= 0:
            self.remaining[z] = capacity - count
            self.enumerate_column(
                c, z + 1, rows - count, n_remaining - self.remaining[z + 1],
                log_p - self.log_fac(count),
            )
            count += 1.0
        self.remaining[z] = capacity

    cdef float64_t capacity_beyond_first(self) noexcept nogil:
        return sum_of(self.remaining + 1, self.r - 1)


cdef float64_t log_chi2_tail(float64_t df, float64_t x) noexcept nogil:
    cdef float64_t p
    if not x > 0.0:
        return 0.0
    if df == 2.0:
        return -0.5 * x
    # two classes and two outcomes: many times faster if x is small
    p = erfc(sqrt(0.5 * x)) if df == 1.0 else chdtrc(df, x)
    return log(p) if p > SMALL_TAIL else log_upper_tail(0.5 * df, 0.5 * x)


cdef float64_t log_upper_tail(float64_t a, float64_t x) noexcept nogil:
    # Logarithm of the regularized upper incomplete gamma function for x well above a, by
    # Legendre's continued fraction and Lentz' method.
    cdef float64_t b = x + 1.0 - a
    cdef float64_t c = INFINITY
    cdef float64_t d = 1.0 / b
    cdef float64_t fraction = d
    cdef float64_t step = 0.0, term
    cdef intp_t i = 0
    while fabs(step - 1.0) > ROUNDING and i < MAX_TERMS:
        i += 1
        term = -i * (i - a)
        b += 2.0
        d = 1.0 / (term * d + b)
        c = b + term / c
        step = c * d
        fraction *= step
    return a * log(x) - x - gammaln(a) + log(fraction)


cdef float64_t g_log_pvalue(
    Contingency work, const float64_t* table, intp_t r, intp_t k
) noexcept nogil:
    cdef float64_t df
    work.load(table, r, k)
    df = work.degrees_of_freedom()
    return log_chi2_tail(df, work.g_statistic()) if df > 0.0 else 0.0


cdef float64_t expect_by_chance(
    Contingency work, const NodeStats* stats, const float64_t* table, intp_t r, ByChance* result,
) noexcept nogil:
    # Alpha spending over repeated split attempts at a leaf: attempt j uses the fraction
    # 2 / (j (j + 1)) of delta. `fit` makes a single attempt, j = 1. A leaf of a single tree
    # that learns a stream starts at j = 2, so that the fractions of all its attempts sum to 1.
    cdef float64_t attempts = 0.5 * stats.attempt * (stats.attempt + 1.0)
    cdef float64_t log_p = g_log_pvalue(work, table, r, stats.n_classes)
    cdef float64_t log_expected = INFINITY
    if log_p == log_p:
        log_expected = log(attempts * stats.n_candidate_features) + (
            stats.log_feature_candidates + log_p
        )
    result.multiplicity = INFINITY
    if stats.log_feature_candidates < LARGEST_LOG:
        result.multiplicity = attempts * (stats.n_candidate_features * stats.n_feature_candidates)
    result.log10_expected = log_expected / LOG_10
    return log_expected


cdef float64_t chi2_rule_log_pvalue(
    Contingency work, const float64_t* table, intp_t r, intp_t k, Fisher kind, float64_t max_log_p,
) noexcept nogil:
    # Expected counts below 5: exact test if possible; up to 10, for 2 x 2: Yates' correction.
    cdef float64_t df, p, smallest
    work.load(table, r, k)
    df = work.degrees_of_freedom()
    if df <= 0.0:
        return 0.0
    smallest = work.smallest_expected()
    if smallest < 5.0 and work.is_integral():
        p = work.fisher(kind, max_log_p)
        if p == p:
            return log(p)
    return log_chi2_tail(df, work.pearson(5.0 <= smallest <= 10.0 and df == 1.0))


cdef table_pvalues(tables, Independence test, Fisher kind=FREEMAN_HALTON):
    cdef Contingency work = Contingency(exact=test != G_TEST)
    cdef intp_t r = tables.shape[tables.ndim - 2]
    cdef intp_t k = tables.shape[tables.ndim - 1]
    cdef const float64_t[:, ::1] counts = tables.reshape(-1, r * k)
    work.reserve(r, k)
    out = np.ones(counts.shape[0])
    cdef float64_t[::1] p = out
    cdef intp_t i
    with nogil:
        for i in range(counts.shape[0]):
            if test == G_TEST:
                p[i] = exp(g_log_pvalue(work, &counts[i, 0], r, k))
            elif test == CHI2:
                p[i] = exp(chi2_rule_log_pvalue(work, &counts[i, 0], r, k, kind, INFINITY))
            else:
                work.load(&counts[i, 0], r, k)
                if work.degrees_of_freedom() > 0.0:
                    p[i] = work.fisher(kind, INFINITY)
    return out.reshape(tables.shape[: tables.ndim - 2])[()]
