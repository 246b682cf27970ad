# cython: overflowcheck=False
# Hashing relies on wrap-around; no other integer here can overflow.
"""Credible limits of a node's heterogeneity, and the bound of BOCT.

BOCT are the Bayesian online classification trees of Collet and Pietquin. Heterogeneity is
their term for an impurity as a function of the class probabilities mu. A bound is a split rule;
its kernel is the compiled object. A score is minimized by the split search (scan), and a floor is
a lower limit of the upper credible limit of a child (its cost), which is cheap to compute. The
pool of a node is its weight with unlabeled rows, or its volume. The memo is a cache of limits.
alpha is the pseudo-count of each class, psi the digamma function, z a normal quantile, and K the
number of classes. The outcomes of a split are its r children. `_credible.pxd` describes the fields
and methods.
"""

from functools import lru_cache

import numpy as np
from libc.math cimport INFINITY, exp, fabs, log, log1p, sqrt
from libc.string cimport memcpy
from scipy import special
from scipy.special.cython_special cimport betainc, betainccinv, betaincinv, betaln, ndtri, psi

from skconftree._compat import Interval, RealNotInt, StrOptions
from skconftree.bounds._base import BaseBound, check_choice, check_counts, check_range
# NodeStats describes the node, SplitEvidence what the tree stores about its split. IntervalBound
# compares the sum of the children's costs with `limit`; SplitBlock: left sides of candidates.
from skconftree.bounds._contract cimport IntervalBound, NodeStats, Score, SplitEvidence, SplitBlock
from skconftree.criteria._score cimport TABLE_LIMIT, sum_of     # largest size of a table
from skconftree.utils._memory cimport Blocks, release_all, release, resized_array, new_array
from skconftree.utils._typedefs cimport float64_t, intp_t, uint64_t

# -- Posterior moments and quantiles of the heterogeneity of a node ----------------
cdef float64_t LN_HALF = -0.6931471805599453


cdef float64_t trigamma_excess(float64_t x) noexcept nogil:
    # x (x+1) psi1(x+2) + x / (x+1) - x, where psi1 is the trigamma function.
    cdef float64_t total = 0.0, y, s
    if x < 8.0:
        y = x + 2.0
        while y < 10.0:
            total += 1.0 / (y * y)
            y += 1.0
        s = 1.0 / (y * y)
        total += (1.0 + 0.5 / y + s * (
            1.0 / 6.0 - s * (1.0 / 30.0 - s * (1.0 / 42.0 - s / 30.0))
        )) / y
        return x * (x + 1.0) * total + x / (x + 1.0) - x
    s = 1.0 / (x * x)
    s = 0.5 / x + s * (
        1.0 / 6.0 - s * (1.0 / 30.0 - s * (1.0 / 42.0 - s * (1.0 / 30.0 - s * 5 / 66)))
    )
    return (x + 1.0) * s - 1.0 / x


cdef void moments(
    Heterogeneity kind, const float64_t* counts, intp_t n_classes, float64_t alpha,
    float64_t* mean, float64_t* variance,
) noexcept nogil:
    # Posterior mean and variance of the heterogeneities ENTROPY or VARIANCE, written as sums
    # without cancellation, so that they are accurate from empty to very large nodes.
    # With a_c = n_c + alpha, A = sum a_c and elementary symmetric sums e_2, e_3:
    #   variance  E = e_2 / (A (A+1))
    #             Var = (A (A+1) ((A+1) e_2 + 3 e_3) - e_2^2 (4A + 6))
    #                   / (A^2 (A+1)^2 (A+2) (A+3))
    # Entropy: with g_c = psi(a_c + 1) - psi(A + 1), H = -sum mu_c g_c - Z for a Z of
    # mean zero that is uncorrelated with sum mu_c g_c. So with w = trigamma_excess
    #   entropy   E = -sum a_c g_c / A
    #             Var = sum a_c (g_c + E)^2 / (A (A+1)) + (sum w(a_c) - w(A)) / (A (A+1))
    cdef intp_t c
    cdef float64_t a, total = 0.0, e2 = 0.0, e3 = 0.0, spread = 0.0, excess = 0.0, top
    cdef float64_t g
    if kind == ENTROPY:
        for c in range(n_classes):
            total += counts[c] + alpha
        top = psi(total + 1.0)
        mean[0] = 0.0
        for c in range(n_classes):
            a = counts[c] + alpha
            mean[0] -= a * (psi(a + 1.0) - top)
        mean[0] /= total
        for c in range(n_classes):
            a = counts[c] + alpha
            g = psi(a + 1.0) - top + mean[0]
            spread += a * g * g
            excess += trigamma_excess(a)
        excess -= trigamma_excess(total)
        variance[0] = (spread + excess) / (total * (total + 1.0))
        return
    for c in range(n_classes):
        a = counts[c] + alpha
        e3 += a * e2
        e2 += a * total
        total += a
    g = total * (total + 1.0)
    mean[0] = e2 / g
    # Each factor is of order one, so that even counts of 1e100 do not overflow.
    e2 /= total * total
    e3 /= total * total * total
    variance[0] = (
        (1.0 + 1.0 / total) * ((1.0 + 1.0 / total) * e2 + 3.0 * e3)
        - e2 * e2 * (4.0 + 6.0 / total)
    ) * total / ((total + 2.0) * (total + 3.0)) * (total / (total + 1.0)) * (
        total / (total + 1.0)
    )


cdef float64_t tail_quantile(
    float64_t p, float64_t q, float64_t z, float64_t* margin
) noexcept nogil:
    # Logit of the upper quantile of Beta(p, q) with tail probability 1 - Phi(z), z > 0. The
    # signed square root of the likelihood ratio statistic of the logit is nearly normal: one
    # Newton step sets it to z (error of order m^{-3/2}, m = min(p, q)). The true logit is at
    # least the result minus the margin; the tests verify this on a dense grid.
    cdef float64_t n = p + q
    cdef float64_t sd = sqrt(n / (p * q))
    cdef float64_t u = 1.0 / p
    cdef float64_t v = 1.0 / q
    cdef float64_t variance = u + v + 0.5 * (u * u + v * v)
    cdef float64_t theta, odds, x, gap, r
    cdef float64_t z2 = z * z
    cdef float64_t m = min(p, q)
    theta = (
        log(p * v) + 0.5 * (v - u) + sqrt(variance) * z
        + (v * v - u * u) / variance * (z2 - 1.0) / 6.0
    )
    odds = exp(theta)
    x = odds / (1.0 + odds)
    gap = n * x - p
    r = 2.0 * (p * log1p(-gap / (n * x)) + q * log1p(gap * (1.0 + odds) / n))
    margin[0] = INFINITY
    # The margin is infinite unless the step is clearly to the right of the mode.
    if not (r > 0.0 and gap > 0.0):
        return theta
    r = sqrt(r)
    theta -= (r + log(gap * sd / r) / r - z) * r / gap
    margin[0] = sd * (0.03 * (1.0 + z2 * z2 / 81.0) / (m * sqrt(m)) + 2e-5)
    return theta


cdef inline float64_t beta_density(
    float64_t x, float64_t a, float64_t b, float64_t log_beta
) noexcept nogil:
    # Density of Beta(a, b) at x plus that at 1 - x.
    cdef float64_t p = log(x)
    cdef float64_t q = log1p(-x)
    return exp((a - 1.0) * p + (b - 1.0) * q - log_beta) + exp(
        (b - 1.0) * p + (a - 1.0) * q - log_beta
    )


cdef float64_t normal_quantile(
    float64_t mean, float64_t p, float64_t q, float64_t delta, bint upper
) noexcept nogil:
    # Quantile of Beta(p, q): normal approximation with a correction for skewness.
    cdef float64_t x = -ndtri(delta) if upper else ndtri(delta)
    x += (q - p) / sqrt(p * q * (p + q)) * (x * x - 1.0) / 3.0
    return mean + x * sqrt(mean * (1.0 - mean) / (p + q))


cdef float64_t beta_quantile(
    float64_t p, float64_t q, float64_t delta, bint upper
) noexcept nogil:
    cdef float64_t x = betainccinv(p, q, delta) if upper else betaincinv(p, q, delta)
    # SciPy returns NaN for some p and q above 2**53.
    return x if x == x else normal_quantile(p / (p + q), p, q, delta, upper)


cdef float64_t binary_upper(
    Heterogeneity kind, float64_t a, float64_t b, float64_t delta
) noexcept nogil:
    # The x with P(x < mu < 1 - x) = delta. Let X ~ Beta(b, a) be the probability of the
    # rarer class. Then P(X > x) - P(X > 1 - x) = delta, so the quantile of X is an upper
    # bound of x, and equals x if the second term is negligible.
    cdef float64_t x = beta_quantile(b, a, delta, True)
    cdef float64_t low, high = 0.5, u, step, mass, slope, log_beta
    cdef intp_t _
    # P(X > 1 - x) is at most (x / (1 - x))^(a - b).
    if x < 0.5 and (a - b) * log(x / (1.0 - x)) < log(delta) - 40.0:
        return binary_heterogeneity(kind, x)
    # Solve for u = 1/2 - x. For small u the probability is proportional to u, so Newton's
    # method uses logarithms. The heterogeneity is flat at u = 0, so cancellation there is
    # harmless.
    log_beta = betaln(a, b)
    # A slightly wider bracket, because the solution may be this end of it.
    low = max(0.5 - x, 0.0) * (1.0 - 1e-6)
    # Start from the quantile of X if the second term is small there, otherwise from the
    # density at 1/2.
    if x < 0.5 and (a - b) * log(x / (1.0 - x)) < log(delta):
        u = low
    else:
        u = max(0.5 * delta * exp(log_beta - (a + b - 2.0) * LN_HALF), low)
    if not u < 0.45:
        u = 0.5 * (low + 0.5)
    for _ in range(200):
        x = 0.5 - u
        mass = betainc(a, b, 0.5 + u) - betainc(a, b, x)
        if mass < delta:
            low = u
        else:
            high = u
        step = INFINITY
        slope = beta_density(x, a, b, log_beta)
        if mass > 0.0 and slope > 0.0:
            step = u * exp(log(delta / mass) * mass / (u * slope)) - u
        if not low <= u + step <= high:
            step = 0.5 * (low + high) - u
        u += step
        # The remaining error is of the order of the squared step.
        if fabs(step) <= 1e-8 * min(u, 0.5 - u) or high - low <= 1e-16:
            break
    return binary_heterogeneity(kind, 0.5 - u)


cdef float64_t binary_lower(
    Heterogeneity kind, float64_t a, float64_t b, float64_t delta
) noexcept nogil:
    # The x with P(X < x) + P(X > 1 - x) = delta.
    cdef float64_t x = beta_quantile(b, a, delta, False)
    cdef float64_t low
    cdef float64_t high = x
    cdef float64_t step, mass, slope, log_beta
    cdef intp_t _
    if (a - b) * log(x / (1.0 - x)) < log(delta) - 40.0:
        return binary_heterogeneity(kind, x)
    # The second term is smaller than the first, so the first is at least delta / 2.
    low = beta_quantile(b, a, 0.5 * delta, False) * (1.0 - 1e-6)
    log_beta = betaln(a, b)
    for _ in range(200):
        mass = betainc(b, a, x) + betainc(a, b, x)
        if mass < delta:
            low = x
        else:
            high = x
        step = INFINITY
        slope = beta_density(x, a, b, log_beta)
        if mass > 0.0 and slope > 0.0:
            step = x * exp(log(delta / mass) * mass / (x * slope)) - x
        if not low <= x + step <= high:
            step = 0.5 * (low + high) - x
        x += step
        if fabs(step) <= 1e-8 * x:
            break
    return binary_heterogeneity(kind, x)


cdef float64_t largest_heterogeneity(Heterogeneity kind, intp_t n_classes) noexcept nogil:
    cdef float64_t k = n_classes
    return log(k) if kind == ENTROPY else 0.5 * (1.0 - 1.0 / k)


cdef void match_beta(
    float64_t mean, float64_t variance, float64_t* p, float64_t* q
) noexcept nogil:
    cdef float64_t s
    if variance <= 0.0:     # by rounding
        p[0] = q[0] = INFINITY
        return
    s = mean * (1.0 - mean) / variance - 1.0
    p[0] = mean * s
    q[0] = (1.0 - mean) * s


cdef float64_t matched_limit(
    Heterogeneity kind, const float64_t* counts, intp_t n_classes, float64_t alpha,
    float64_t delta, bint upper,
) noexcept nogil:
    # Limit for K > 2: quantile of the Beta distribution with the posterior mean and
    # variance of the heterogeneity divided by its largest value.
    cdef float64_t largest = largest_heterogeneity(kind, n_classes)
    cdef float64_t mean, variance, p, q, x
    moments(kind, counts, n_classes, alpha, &mean, &variance)
    mean /= largest
    variance /= largest * largest
    match_beta(mean, variance, &p, &q)
    if not (p > 0.0 and q > 0.0 and p + q < INFINITY):
        x = mean    # the variance is negligible
    elif p > 1e8 and q > 1e8:   # there betaincinv is inaccurate
        x = normal_quantile(mean, p, q, delta, upper)
    else:
        x = beta_quantile(p, q, delta, upper)
    x *= largest
    return sqrt(x) if kind == DEVIATION else x


# -- Floors of credible limits, cheap enough for every candidate split ---
cdef intp_t FILL_SIZE = 65536           # entries of a table that are filled at a time
# The posterior mean is below the upper limit for every delta up to MEAN_IS_FLOOR: over all
# counts, both priors and K = 2, ..., 100 the smallest probability that the heterogeneity H is
# at least its posterior mean E[H] is 0.317. For larger
# delta, the mean minus LOSS (delta - MEAN_IS_FLOOR) / (rows + 1) is below the limit, for
# the entropy times the logarithm of the rows. Pure nodes are the worst case: at delta = 1/2
# they need 0.331 / (rows + 1), and LOSS gives 0.34 / (rows + 1).
cdef float64_t MEAN_IS_FLOOR = 0.3
cdef float64_t LOSS = 1.7
cdef intp_t ROOT_CELLS = 512        # intervals of the table of roots, see folded_root()
cdef float64_t ROOT_END = 8.0       # plus z, the largest t: the other tail is below 1e-50 there
cdef intp_t ENTROPY_CELLS = 4096    # intervals of the table of entropies
cdef float64_t ENTROPY_END = 0.96   # nearer to a pure node logarithms are more accurate
# From this shape parameter on, `tail_quantile` improves by less than 0.003 standard deviations.
cdef float64_t MAX_EXPANSION_SHAPE = 80.0


@lru_cache(maxsize=64)
def folded_root(delta):
    """Return upper bounds of the roots q of P(|X| <= q) = delta at equidistant t.

    X has a normal distribution with mean t and variance 1.
    The root is convex in t, so that chords between these points lie above it.
    """
    t = np.linspace(0.0, ROOT_END - special.ndtri(delta), ROOT_CELLS + 1)
    low = np.zeros_like(t)
    high = t + 1.0
    for _ in range(50):
        q = 0.5 * (low + high)
        below = special.ndtr(q - t) - special.ndtr(-q - t) < delta
        low = np.where(below, q, low)
        high = np.where(below, high, q)
    high.setflags(write=False)
    return high


def tabulated_entropy():
    """Return the entropy at equidistant (1 - 2 mu)^2, a concave function of it."""
    mu = 0.5 - 0.5 * np.sqrt(np.linspace(0.0, 1.0, ENTROPY_CELLS + 1))
    table = special.entr(mu) + special.entr(1.0 - mu)
    table.setflags(write=False)
    return table


ENTROPY_TABLE = tabulated_entropy()


def psi_of(x):
    """Return the digamma function of an ascending array, by a series from 30 on."""
    first = np.searchsorted(x, 30.0)
    y = x[first:]
    s = 1.0 / (y * y)
    s *= 1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s / 240.0))
    return np.concatenate([special.psi(x[:first]), np.log(y) - 0.5 / y - s])


cdef class CredibleFloor(Score):
    """Lower bounds of the children's credible limits, each times its weight.

    The first floor is the posterior mean of the children's heterogeneity, shifted by
    the smallest possible difference between limit and mean (`gain`, or minus `loss`). For
    two classes, candidates that this floor does not exclude get a second floor, `close`.
    """

    def __cinit__(self, *args):
        self.class_term = NULL
        self.node_term = NULL
        self.excess = NULL

    def __init__(self, heterogeneity, n_classes, alpha, delta):
        self.n_classes = n_classes
        self.kind = <Heterogeneity> <int> heterogeneity
        self.alpha = alpha
        self.prior_rows = alpha * n_classes
        self.delta = delta
        self.largest = largest_heterogeneity(self.kind, self.n_classes)
        self.z = -ndtri(self.delta)
        # block() gets sums over the classes of phi() instead of class counts, if possible
        self.additive = n_classes > 2
        self.skewness_factor = self.z * self.z - 1.0
        self.slack = 0.23 + max(0.0, self.z * (self.z * self.z - 3.0) / 8.0)
        self.gain = 0.0
        self.loss = LOSS * max(0.0, self.delta - MEAN_IS_FLOOR)
        self.ceiling = INFINITY     # no close floor for splits whose first floor is above it
        self.solved_for[0] = -1.0
        self.solved_for[1] = -1.0
        if n_classes == 2:
            self.root_table = folded_root(float(delta))
            self.entropy_table = ENTROPY_TABLE
            self.root_step = (ROOT_END + self.z) / ROOT_CELLS
            if self.loss == 0.0:
                # A balanced node of n rows has the limit mean + (1 - q(0)^2) / 2n for the
                # entropy and mean / (1 - (1 - q(0)^2) / n) for the variance. The factors
                # are safety margins for small and for pure nodes.
                self.gain = 1.0 - self.root_table[0] * self.root_table[0]
                self.gain *= 0.46 if self.kind == ENTROPY else 0.85

    def __dealloc__(self):
        release_all(&self.blocks)

    def reserve(self, n_max):
        """Tabulate terms of integer counts; see `Score.reserve`."""
        cdef intp_t size = min(n_max, TABLE_LIMIT - 1) + 1
        cdef intp_t i, first
        cdef float64_t[::1] excess
        if self.kind != ENTROPY or size <= self.filled:
            return
        if not self.allocate_tables(size):
            raise MemoryError()
        class_term = np.asarray(<float64_t[:size]> self.class_term)
        node_term = np.asarray(<float64_t[:size]> self.node_term)
        # In pieces, because full-size temporaries would be the peak memory of a large fit.
        for first in range(0, size, FILL_SIZE):
            k = np.arange(first, min(first + FILL_SIZE, size), dtype=np.float64)
            piece = slice(first, first + len(k))
            a = k + self.alpha
            n = k + self.prior_rows
            shift = self.gain
            if self.loss > 0.0:
                shift = shift - self.loss * np.log(n + 3.0)
            class_term[piece] = a * psi_of(a + 1.0)
            node_term[piece] = psi_of(n + 1.0) + shift / (n + 1.0)
        if self.n_classes > 2:
            excess = <float64_t[:size]> self.excess
            for i in range(size):
                excess[i] = trigamma_excess(i + self.alpha)
        self.filled = size
        self.tabulated = True

    cdef bint allocate_tables(self, intp_t capacity) noexcept nogil:
        if not (
            self.resize_table(&self.class_term, capacity)
            and self.resize_table(&self.node_term, capacity)
            and (self.n_classes <= 2 or self.resize_table(&self.excess, capacity))
        ):
            return False
        self.capacity = capacity
        return True

    cdef bint resize_table(self, float64_t** table, intp_t capacity) noexcept nogil:
        cdef void* longer = resized_array(&self.blocks, table[0], capacity, sizeof(float64_t))
        if longer == NULL:
            return False
        table[0] = <float64_t*> longer
        return True

    cdef bint extend_tables(self, intp_t size) noexcept nogil:
        # Extend the tables to `size`; False if there is not enough memory.
        cdef float64_t a
        cdef intp_t k
        if size >= self.capacity and not self.allocate_tables(max(size + 1, 2 * self.capacity)):
            return False
        for k in range(self.filled, size + 1):
            a = k + self.alpha
            self.class_term[k] = a * psi(a + 1.0)
            if self.n_classes > 2:
                self.excess[k] = trigamma_excess(a)
            self.node_term[k] = self.entropy_term(k)
        self.filled = max(self.filled, size + 1)
        return True

    cdef float64_t entropy_term(self, float64_t n) noexcept nogil:
        cdef float64_t a = n + self.prior_rows
        cdef float64_t shift = self.gain
        if self.loss > 0.0:
            shift -= self.loss * log(a + 3.0)
        return psi(a + 1.0) + shift / (a + 1.0)

    cdef void begin(self, const NodeStats* stats) noexcept nogil:
        self.counts = stats.counts
        self.n = stats.n
        self.pool = stats.pool
        self.tabulated = (
            # `integral`: all counts are integers
            self.kind == ENTROPY and stats.integral and stats.n < TABLE_LIMIT
            and self.extend_tables(<intp_t> stats.n)
        )
        if self.n_classes == 2:
            self.ceiling = self.pool * self.lower(self.counts)

    cdef float64_t lower(self, const float64_t* counts) noexcept nogil:
        # Lower limit of a node, cached because a tree computes it twice for each node.
        if self.n_classes > 2:
            return matched_limit(self.kind, counts, self.n_classes, self.alpha, self.delta, False)
        if counts[0] != self.solved_for[0] or counts[1] != self.solved_for[1]:
            self.solved_for[0] = counts[0]
            self.solved_for[1] = counts[1]
            self.node_lower = binary_lower(
                self.kind, max(counts[0], counts[1]) + self.alpha,
                min(counts[0], counts[1]) + self.alpha, self.delta,
            )
        return self.node_lower

    cdef inline float64_t phi_of(self, float64_t count) noexcept nogil:
        # The term of a class in the sum of mean_from_sum().
        cdef float64_t a
        if self.kind != ENTROPY:
            a = count + self.alpha
            return a * (a + 1.0)
        if self.tabulated:
            return self.class_term[<intp_t> count]
        a = count + self.alpha
        return a * psi(a + 1.0)

    cdef float64_t phi(self, float64_t count) noexcept nogil:
        return self.phi_of(count)

    cdef inline float64_t mean_from_sum(self, float64_t total, float64_t n) noexcept nogil:
        # Shifted posterior mean from the sum of phi over the classes. For DEVIATION it is the
        # square root of the mean of VARIANCE. This is above the mean of DEVIATION, but below
        # its limit, which is the square root of the limit of VARIANCE.
        cdef float64_t a = n + self.prior_rows
        cdef float64_t mean
        if self.kind != ENTROPY:
            mean = 0.5 - (0.5 * total + self.loss * a) / (a * (a + 1.0))
            if mean <= 0.0:
                return 0.0
            return mean if self.kind == VARIANCE else sqrt(mean)
        if self.tabulated:
            mean = self.node_term[<intp_t> n] - total / a
        else:
            mean = self.entropy_term(n) - total / a
        return mean if mean > 0.0 else 0.0

    cdef inline float64_t binary_floor(self, float64_t n1, float64_t n0) noexcept nogil:
        cdef float64_t a, b
        if self.kind == ENTROPY:
            return self.mean_from_sum(self.phi_of(n1) + self.phi_of(n0), n1 + n0)
        a = n1 + self.alpha
        b = n0 + self.alpha
        a = max(a * b - self.loss * (a + b), 0.0) / ((a + b) * (a + b + 1.0 - self.gain))
        return a if self.kind == VARIANCE else sqrt(a)

    cdef float64_t floor(self, const float64_t* counts) noexcept nogil:
        # Of one child with these counts of more than two classes, for weight 1.
        cdef intp_t c
        cdef float64_t total = 0.0, n = 0.0
        for c in range(self.n_classes):
            n += counts[c]
            total += self.phi_of(counts[c])
        return self.mean_from_sum(total, n)

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef intp_t i
        if splits.phi_left != NULL:
            for i in range(splits.size):
                out[i] = splits.pool_left[i] * self.mean_from_sum(
                    splits.phi_left[i], splits.n_left[i]
                ) + (self.pool - splits.pool_left[i]) * self.mean_from_sum(
                    splits.phi_right[i], self.n - splits.n_left[i]
                )
        elif self.n_classes == 2:
            self.binary_block(splits, out)
        else:
            self.many_class_block(splits, out)

    cdef void binary_block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        # The second floor is computed for candidates whose first floor is at most the lower
        # limit of the node, and at most the larger floor of each earlier candidate (`ceiling`).
        # The smallest floor of a feature is then tight, which suffices to decide whether the
        # feature can have the best split.
        cdef intp_t i
        cdef bint close_first = self.has_no_table()
        if self.kind != ENTROPY:
            self.variance_block(splits, out)
        else:
            for i in range(splits.size):
                out[i] = self.of_split(splits.left + 2 * i, splits.pool_left[i], close_first)
        for i in range(splits.size):
            if out[i] <= self.ceiling:
                out[i] = max(out[i], self.of_split(
                    splits.left + 2 * i, splits.pool_left[i], not close_first
                ))
                self.ceiling = min(self.ceiling, out[i])

    cdef void variance_block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        # `binary_floor` of both children. Nearly all candidate splits of a tree are
        # discarded here; local variables save 15% of the time of its fit.
        cdef float64_t class_1 = self.counts[1] + 2.0 * self.alpha
        cdef float64_t rows = self.counts[0] + class_1 + 2.0 * self.alpha
        cdef float64_t pool = self.pool
        cdef float64_t alpha = self.alpha
        cdef float64_t gain = 1.0 - self.gain
        cdef float64_t loss = self.loss
        cdef bint root = self.kind == DEVIATION
        cdef float64_t b, n, left, right
        cdef intp_t i
        for i in range(splits.size):
            b = splits.left[2 * i + 1] + alpha
            n = splits.left[2 * i] + alpha + b
            left = max((n - b) * b - loss * n, 0.0) / (n * (n + gain))
            b = class_1 - b
            n = rows - n
            right = max((n - b) * b - loss * n, 0.0) / (n * (n + gain))
            if root:
                left = sqrt(left)
                right = sqrt(right)
            out[i] = splits.pool_left[i] * left + (pool - splits.pool_left[i]) * right

    cdef inline bint has_no_table(self) noexcept nogil:
        # Without tables, `close` is the cheaper one of the two floors.
        return self.kind == ENTROPY and not self.tabulated

    cdef inline float64_t of_split(
        self, const float64_t* left, float64_t pool_left, bint closely
    ) noexcept nogil:
        cdef float64_t n1 = self.counts[0] - left[0]
        cdef float64_t n0 = self.counts[1] - left[1]
        if closely:
            return pool_left * self.close(left[0], left[1]) + (
                self.pool - pool_left
            ) * self.close(n1, n0)
        return pool_left * self.binary_floor(left[0], left[1]) + (
            self.pool - pool_left
        ) * self.binary_floor(n1, n0)

    cdef void many_class_block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef intp_t i, c
        cdef intp_t k = self.n_classes
        cdef const float64_t* left
        cdef float64_t left_sum, right_sum
        for i in range(splits.size):
            left = splits.left + k * i
            left_sum = 0.0
            right_sum = 0.0
            for c in range(k):
                left_sum += self.phi_of(left[c])
                right_sum += self.phi_of(self.counts[c] - left[c])
            out[i] = splits.pool_left[i] * self.mean_from_sum(
                left_sum, splits.n_left[i]
            ) + (self.pool - splits.pool_left[i]) * self.mean_from_sum(
                right_sum, self.n - splits.n_left[i]
            )

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        # Weights the outcomes by their rows. With unlabeled rows, each outcome has a pool
        # weight, which only `cost` knows; 0 is then returned, which is always a floor.
        cdef float64_t total = 0.0
        cdef intp_t z
        if self.pool != self.n:
            return 0.0
        if self.n_classes == 2:
            total = self.binary_outcomes(counts, r, self.has_no_table())
            if total <= self.ceiling:
                total = max(total, self.binary_outcomes(counts, r, not self.has_no_table()))
                self.ceiling = min(self.ceiling, total)
            return total
        for z in range(r):
            total += sum_of(counts + z * self.n_classes, self.n_classes) * self.floor(
                counts + z * self.n_classes
            )
        return total

    cdef float64_t binary_outcomes(
        self, const float64_t* counts, intp_t r, bint closely
    ) noexcept nogil:
        cdef float64_t total = 0.0, n1, n0
        cdef intp_t z
        for z in range(r):
            n1 = counts[2 * z]
            n0 = counts[2 * z + 1]
            if closely:
                total += (n1 + n0) * self.close(n1, n0)
            else:
                total += (n1 + n0) * self.binary_floor(n1, n0)
        return total

    cdef float64_t close(self, float64_t n1, float64_t n0) noexcept nogil:
        # A closer floor for two classes and weight 1; 0 = unknown. Let mu ~ Beta(b, a),
        # a >= b, be the probability of the rarer class, sd its standard deviation and
        # t = (1/2 - E[mu]) / sd. The limit is H(1/2 - q sd) with P(|mu - 1/2| <= q sd) =
        # delta. The root q is that of a normal distribution, minus (z^2 - 1) / 6 times the
        # skewness if the other tail is far, up to an error of slack / b; the tests verify
        # this on a dense grid. The constant is for errors of the exact quantile itself.
        cdef float64_t a = max(n1, n0) + self.alpha
        cdef float64_t b = min(n1, n0) + self.alpha
        cdef float64_t n = a + b
        cdef float64_t r = sqrt((n + 1.0) / (a * b))    # 1 / (n sd)
        cdef float64_t t = 0.5 * (a - b) * r
        cdef float64_t at = t / self.root_step
        cdef float64_t q, x
        cdef intp_t j
        if at < ROOT_CELLS:
            j = <intp_t> at
            q = self.root_table[j]
            q += (at - j) * (self.root_table[j + 1] - q)
        else:
            q = t - self.z
        if t > self.z + 4.0 or self.skewness_factor < 0.0:
            q -= 2.0 * t / (3.0 * (n + 2.0)) * self.skewness_factor
        q = (q + self.slack / b + 1e-6) / (n * r)
        if not 0.0 < q < 0.5:
            return 0.0
        x = 4.0 * q * q
        if self.kind == ENTROPY:
            if x < ENTROPY_END:
                at = x * ENTROPY_CELLS
                j = <intp_t> at
                x = self.entropy_table[j]
                x += (at - j) * (self.entropy_table[j + 1] - x)
            else:
                x = binary_heterogeneity(ENTROPY, 0.5 - q)
        else:
            x = 0.25 * (1.0 - x)
            if self.kind == DEVIATION:
                x = sqrt(x)
        return x * (1.0 - 1e-13)

    cdef float64_t sharp(self, const float64_t* counts) noexcept nogil:
        # A closer floor for weight 1; 0 = unknown.
        cdef float64_t p, q, x, theta, margin, odds
        if self.n_classes > 2:
            return self.matched(counts)
        x = self.close(counts[0], counts[1])
        p = min(counts[0], counts[1]) + self.alpha
        q = max(counts[0], counts[1]) + self.alpha
        if not self.is_accurate(p):
            return x
        theta = tail_quantile(p, q, self.z, &margin)
        theta -= margin
        # The other tail of mu, at most exp((q - p) theta), must be negligible.
        if not ((q - p) * theta < log(self.delta) - 13.0 and theta < 0.0):
            return x
        odds = exp(theta)
        p = odds / (1.0 + odds)
        if self.kind == ENTROPY:
            return max(x, log1p(odds) - p * theta)
        return max(x, binary_heterogeneity(self.kind, p))

    cdef inline bint is_accurate(self, float64_t m) noexcept nogil:
        # Whether `tail_quantile` is accurate enough for its margin to hold.
        return self.z >= 0.25 and m >= 3.0 + self.z * self.z

    cdef float64_t matched(self, const float64_t* counts) noexcept nogil:
        # As `close`, for more classes. The quantile of the matched Beta(p, q) distribution,
        # corrected for its skewness, has an error of at most slack / min(p, q) standard
        # deviations.
        cdef float64_t p, q, n, m, r, x, mean, variance, margin
        self.moments_of(counts, &mean, &variance)
        mean /= self.largest
        match_beta(mean, variance / (self.largest * self.largest), &p, &q)
        m = min(p, q)
        if not 0.0 < m < INFINITY:
            return 0.0
        n = p + q
        r = sqrt((n + 1.0) / (p * q))
        x = self.z + (q - p) * r / (3.0 * (n + 2.0)) * self.skewness_factor
        x = mean + (x - self.slack / m - 1e-6) / (n * r)
        if m < MAX_EXPANSION_SHAPE and self.is_accurate(m):
            mean = tail_quantile(p, q, self.z, &margin)
            x = max(x, 1.0 / (1.0 + exp(margin - mean)))
        if not x > 0.0:
            return 0.0
        x *= self.largest
        return sqrt(x) if self.kind == DEVIATION else x

    cdef void moments_of(
        self, const float64_t* counts, float64_t* mean, float64_t* variance
    ) noexcept nogil:
        # The same as `moments`, with psi from the tables.
        cdef intp_t c
        cdef float64_t a, g, n = 0.0, total = 0.0, squares = 0.0, excess = 0.0
        if not self.tabulated:
            moments(self.kind, counts, self.n_classes, self.alpha, mean, variance)
            return
        for c in range(self.n_classes):
            n += counts[c]
            total += self.class_term[<intp_t> counts[c]]
        a = n + self.prior_rows
        mean[0] = psi(a + 1.0) - total / a
        total /= a
        for c in range(self.n_classes):
            a = counts[c] + self.alpha
            g = self.class_term[<intp_t> counts[c]] / a - total
            squares += a * g * g
            excess += self.excess[<intp_t> counts[c]]
        a = n + self.prior_rows
        excess -= trigamma_excess(a)
        variance[0] = (squares + excess) / (a * (a + 1.0))


CRITERIA = ("entropy", "gini", "kearns_mansour")
PRIORS = ("uniform", "perks")

cdef intp_t MIN_MEMO_SIZE = 1 << 10
cdef intp_t MAX_MEMO_SIZE = 1 << 18


cdef struct Memo:       # an entry of the cache
    float64_t larger    # the two class counts
    float64_t smaller   # -1 = the entry is free
    float64_t value     # their upper limit


cdef class CredibleKernel(IntervalBound):
    """Splits iff the credible limit of the children is below that of the node.

    `n_solves` is the number of quantiles computed so far; `memo` caches them in a hash
    table, by the two counts.
    """

    cdef public intp_t n_solves
    cdef public float64_t delta
    cdef intp_t n_classes
    cdef Heterogeneity kind
    cdef float64_t alpha
    cdef CredibleFloor floor
    cdef Blocks blocks
    cdef Memo* memo                 # upper limits for two classes
    cdef intp_t memo_size           # a power of two
    cdef intp_t memo_used

    def __cinit__(self, *args):
        self.memo = NULL
        self.memo_size = 0

    def __init__(self, criterion, n_classes, delta, prior):
        # the order of the enum: ENTROPY, VARIANCE (half the Gini index), DEVIATION (its root)
        kind = CRITERIA.index(criterion)
        self.n_classes = n_classes
        self.kind = <Heterogeneity> <int> kind
        self.alpha = 1.0 if prior == "uniform" else 1.0 / n_classes
        self.delta = delta
        self.floor = CredibleFloor(kind, n_classes, self.alpha, delta)
        self.score = self.floor

    def __dealloc__(self):
        release_all(&self.blocks)

    cdef void clear_memo(self) noexcept nogil:
        cdef intp_t i
        for i in range(self.memo_size):
            self.memo[i].smaller = -1.0
        self.memo_used = 0

    cdef Memo* lookup(self, float64_t larger, float64_t smaller) noexcept nogil:
        # The entry of these counts, or the free entry for them. The multipliers are those of
        # the hash function SplitMix64.
        cdef uint64_t[2] key
        cdef uint64_t h
        cdef intp_t i
        memcpy(&key[0], &larger, 8)
        memcpy(&key[1], &smaller, 8)
        h = (key[0] ^ (key[1] << 32 | key[1] >> 32)) * <uint64_t> 0x9E3779B97F4A7C15
        h = (h ^ h >> 29) * <uint64_t> 0xBF58476D1CE4E5B9
        i = <intp_t> (h >> 32) & (self.memo_size - 1)
        while self.memo[i].smaller >= 0.0:
            if self.memo[i].larger == larger and self.memo[i].smaller == smaller:
                break
            i = (i + 1) & (self.memo_size - 1)
        return &self.memo[i]

    cdef bint ensure_capacity(self) noexcept nogil:
        # Keep the memo at most half full: double it, or clear it at its limit.
        cdef Memo* old = self.memo
        cdef intp_t old_size = self.memo_size
        cdef intp_t size = 2 * old_size if old_size > 0 else MIN_MEMO_SIZE
        cdef Memo* block
        cdef intp_t i
        if 2 * self.memo_used < old_size:
            return True
        if size > MAX_MEMO_SIZE:
            self.clear_memo()
            return True
        # `blocks` owns the memory; False: not filled with zeros
        block = <Memo*> new_array(&self.blocks, size, sizeof(Memo), False)
        if block == NULL:
            if old_size > 0:
                self.clear_memo()
            return old_size > 0
        self.memo = block
        self.memo_size = size
        self.clear_memo()
        for i in range(old_size):
            if old[i].smaller >= 0.0:
                self.lookup(old[i].larger, old[i].smaller)[0] = old[i]
                self.memo_used += 1
        release(&self.blocks, old)
        return True

    cdef float64_t upper(self, const float64_t* counts) noexcept nogil:
        cdef float64_t larger, smaller
        cdef Memo* entry
        if self.n_classes > 2:
            self.n_solves += 1
            return matched_limit(self.kind, counts, self.n_classes, self.alpha, self.delta, True)
        larger = max(counts[0], counts[1])
        smaller = min(counts[0], counts[1])
        if not self.ensure_capacity():
            return self.solve(larger, smaller)
        entry = self.lookup(larger, smaller)
        if entry.smaller < 0.0:
            entry.value = self.solve(larger, smaller)
            entry.larger = larger
            entry.smaller = smaller
            self.memo_used += 1
        return entry.value

    cdef float64_t solve(self, float64_t larger, float64_t smaller) noexcept nogil:
        self.n_solves += 1
        return binary_upper(self.kind, larger + self.alpha, smaller + self.alpha, self.delta)

    cdef void node_begin(self, const NodeStats* stats) noexcept nogil:
        # the node is split if the sum of the children's costs is below
        self.limit = stats.pool * self.floor.lower(stats.counts)

    cdef float64_t cost(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        return pool * self.upper(counts)

    cdef float64_t sharp_floor(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        return pool * self.floor.sharp(counts)

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        # The number stored with the split is the confidence: one statement about the node and
        # one about each child may be wrong.
        evidence.statistic = 1.0 - (r + 1.0) * self.delta
        return IntervalBound.decide(self, stats, child_counts, r, evidence)

    def interval(self, counts, delta):
        """Return lower and upper limits for rows of class counts and tail probabilities."""
        cdef const float64_t[:, ::1] rows = counts
        cdef const float64_t[::1] tails = delta
        cdef intp_t i, upper
        cdef float64_t[:, ::1] out = np.empty((2, rows.shape[0]))
        cdef float64_t a, b
        with nogil:
            for i in range(rows.shape[0]):
                if self.n_classes > 2:
                    for upper in range(2):
                        out[upper, i] = matched_limit(
                            self.kind, &rows[i, 0], self.n_classes, self.alpha, tails[i], upper,
                        )
                else:
                    a = max(rows[i, 0], rows[i, 1]) + self.alpha
                    b = min(rows[i, 0], rows[i, 1]) + self.alpha
                    out[0, i] = binary_lower(self.kind, a, b, tails[i])
                    out[1, i] = binary_upper(self.kind, a, b, tails[i])
        return np.asarray(out[0]), np.asarray(out[1])


def credible_interval(counts, delta=0.05, *, criterion="entropy", prior="uniform"):
    """Credible limits of the heterogeneity (impurity) of a node.

    The class probabilities of the node have a Dirichlet posterior: the prior plus the
    counts. The heterogeneity is below the lower limit with posterior probability
    `delta`, and above the upper limit with probability `delta`. The interval therefore
    has the posterior probability ``1 - 2 * delta``.

    Parameters
    ----------
    counts : array-like of shape (..., n_classes)
        Class counts, not negative, not necessarily integers.
    delta : float or array-like of shape (...), default=0.05
        Probability of each tail, in (0, 1/2). Smaller values give wider intervals. It
        is broadcast against the leading dimensions of `counts`.
    criterion : {"entropy", "gini", "kearns_mansour"}, default="entropy"
        The heterogeneity: entropy in nats; ``(1 - sum p^2) / 2``, half the Gini index;
        or the square root of the latter, which for two classes is the standard
        deviation of a label.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts: 1 per class (uniform), or a total of 1 (Perks). With the uniform
        prior, a pure node looks impure if there are many classes.

    Returns
    -------
    lower, upper : ndarray of shape (...)
        Limits, in the units of the heterogeneity.

    Notes
    -----
    For two classes the limits are exact, equation (4) of [1]_. For more classes they
    are quantiles of the Beta distribution that has the posterior mean and variance of
    the heterogeneity divided by its largest value.

    References
    ----------
    .. [1] T. Collet, O. Pietquin, "Bayesian credible intervals for online and active
       learning of classification trees", ADPRL 2015.

    Examples
    --------
    >>> from skconftree.bounds import credible_interval
    >>> lower, upper = credible_interval([[0, 0], [5, 5], [10, 0]], 0.05)
    >>> lower.round(3)
    array([0.117, 0.544, 0.03 ])
    >>> upper.round(3)
    array([0.692, 0.693, 0.549])
    """
    check_choice("criterion", criterion, CRITERIA)
    check_choice("prior", prior, PRIORS)
    counts = check_counts(counts)
    delta = check_range("delta", delta, 0, 0.5)
    *leading, k = counts.shape
    shape = np.broadcast_shapes(tuple(leading), delta.shape)
    rows = np.ascontiguousarray(np.broadcast_to(counts, (*shape, k))).reshape(-1, k)
    tails = np.ascontiguousarray(np.broadcast_to(delta, shape)).reshape(-1)
    lower, upper = CredibleKernel(criterion, k, 0.05, prior).interval(rows, tails)
    return lower.reshape(shape)[()], upper.reshape(shape)[()]


class CredibleBound(BaseBound):
    """Split rule that uses Bayesian credible limits of the heterogeneity (BOCT).

    The heterogeneity of a node is a function of its unknown class probabilities,
    which have a Dirichlet posterior. The node is split iff the candidate split with the
    smallest left side satisfies

        W_1 upper_1 + W_2 upper_2 < W_parent lower_parent

    Each limit fails with posterior probability `delta`, and W is the weight of a node.
    A candidate split that satisfies this reduces the true weighted heterogeneity with
    probability at least ``1 - 3 * delta``. There is no correction for the number of
    candidate splits: on pure noise, small values of delta rarely split and
    ``delta=0.3`` often does.

    Use it for small samples, for which it needs fewer rows than bounds that hold for
    every distribution, and if unlabeled rows are available (`pool_weight`).

    Parameters
    ----------
    delta : float, default=0.05
        Probability of each tail, in the open interval (0, 1/2). Smaller values split
        later: two pure children need 14 rows each with 0.01, and 6 with 0.1.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts: 1 per class as in the paper (uniform), or a total of 1 (Perks).
        If there are many classes, small pure children look pure with ``"perks"`` only.
    pool_weight : {"pool", "labeled", "volume"}, default="pool"
        The weight W of a node in a tree: its labeled and unlabeled rows, its labeled
        rows only, or its volume in feature space. Without unlabeled rows the first two are
        the same.

    Attributes
    ----------
    criteria : tuple of str
        ``"entropy"``, ``"gini"`` (half the Gini index) and ``"kearns_mansour"``
        (for two classes the standard deviation of the label; for more the square
        root of half the Gini index, not Kearns and Mansour's sum).

    See Also
    --------
    credible_interval : The limits as a function.

    Notes
    -----
    Equations (3) to (5) of [1]_ with the parent's lower limit, as in its figure 3.

    References
    ----------
    .. [1] T. Collet, O. Pietquin, "Bayesian credible intervals for online and active
       learning of classification trees", ADPRL 2015.

    Examples
    --------
    >>> from skconftree.bounds import CredibleBound
    >>> bound = CredibleBound(delta=0.1)
    >>> bound.evaluate([[5, 0], [0, 5]]).split
    False
    >>> bound.evaluate([[6, 0], [0, 6]]).split
    True
    """

    criteria = CRITERIA
    uses_pool = True            # unlabeled rows contribute to the weights W
    counts_every_row = True     # rows that a leaf got from its parent are evidence, too
    examines_children = True    # the children of a new split try to split immediately
    levels = (0.001, 0.01, 0.05, 0.2, 0.4)  # of delta, for param_grid
    _parameter_constraints: dict = {
        "delta": [Interval(RealNotInt, 0, 0.5, closed="neither")],
        "prior": [StrOptions(set(PRIORS))],
        "pool_weight": [StrOptions({"pool", "labeled", "volume"})],
    }

    def __init__(self, delta=0.05, *, prior="uniform", pool_weight="pool"):
        self.delta = delta
        self.prior = prior
        self.pool_weight = pool_weight

    def _make_kernel(self, criterion, n_classes):
        return CredibleKernel(criterion, n_classes, self.delta, self.prior)
