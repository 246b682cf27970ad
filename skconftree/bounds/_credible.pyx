# cython: overflowcheck=False
# Hashing wraps around on purpose; nothing else here comes near an overflow.
"""Credible limits of a node's heterogeneity, and the bound of BOCT."""

import numpy as np

from libc.math cimport INFINITY, exp, fabs, log, log1p, sqrt
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy
from scipy.special.cython_special cimport (
    betainc, betainccinv, betaincinv, betaln, ndtri, psi,
)

from skconftree.bounds._contract cimport (
    IntervalBound, NodeFacts, Score, SplitEvidence, TestBlock,
)
from skconftree.utils._typedefs cimport float64_t, intp_t, uint64_t

from .._compat import Interval, RealNotInt, StrOptions
from ._base import BaseBound
from ._checks import check_choice, check_counts, check_open

CRITERIA = ("entropy", "gini", "kearns_mansour")
PRIORS = ("uniform", "perks")


cdef enum Heterogeneity:
    ENTROPY     # -sum mu ln mu
    VARIANCE    # (1 - sum mu^2) / 2, which is mu (1 - mu) for two classes
    DEVIATION   # its square root

cdef float64_t LN_HALF = -0.6931471805599453
# Largest node whose psi values are tabulated; above it psi itself is called.
cdef intp_t TABLE_LIMIT = 1 << 20
# The posterior mean lies below the upper limit for every delta up to this: over
# all counts, both priors and K = 2, ..., 100 the least P(H >= E[H]) is .317.
cdef float64_t MEAN_IS_FLOOR = 0.3
cdef intp_t MEMO_START = 1 << 10
cdef intp_t MEMO_LIMIT = 1 << 18


cdef struct Memo:
    float64_t larger
    float64_t smaller   # -1 = free
    float64_t value


cdef inline float64_t binary_heterogeneity(
    Heterogeneity kind, float64_t x
) noexcept nogil:
    # x <= 1/2 is the probability of the rarer class.
    if x <= 0.0:
        return 0.0
    if kind == ENTROPY:
        return -x * log(x) - (1.0 - x) * log1p(-x)
    if kind == VARIANCE:
        return x * (1.0 - x)
    return sqrt(x * (1.0 - x))


cdef inline float64_t trigamma_excess(float64_t x) noexcept nogil:
    # x (x+1) psi1(x+2) + x / (x+1) - x, where psi1 is the trigamma function.
    cdef float64_t total = 0.0
    cdef float64_t y
    cdef float64_t s
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
    # Posterior mean and variance of the entropy or of the variance (A6), written
    # as sums that do not cancel, so that they hold from empty to huge nodes.
    # With a_c = n_c + alpha, A = sum a_c and elementary symmetric sums e_2, e_3:
    #   variance  E = e_2 / (A (A+1))
    #             Var = (A (A+1) ((A+1) e_2 + 3 e_3) - e_2^2 (4A + 6))
    #                   / (A^2 (A+1)^2 (A+2) (A+3))
    # Entropy: with g_c = psi(a_c + 1) - psi(A + 1), H = -sum mu_c g_c - Z for a Z of
    # mean zero that is uncorrelated with sum mu_c g_c. So with w = trigamma_excess
    #   entropy   E = -sum a_c g_c / A
    #             Var = sum a_c (g_c + E)^2 / (A (A+1)) + (sum w(a_c) - w(A)) / (A (A+1))
    cdef intp_t c
    cdef float64_t a
    cdef float64_t total = 0.0
    cdef float64_t e2 = 0.0
    cdef float64_t e3 = 0.0
    cdef float64_t spread = 0.0
    cdef float64_t excess = 0.0
    cdef float64_t top
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
    # Each factor is of order one, so that counts of 1e100 would not overflow.
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
    # Logit of the point that a Beta(p, q) variable exceeds with probability
    # 1 - Phi(z), z > 0, from one Newton step in the signed likelihood root of the
    # logit (error of order m^{-3/2}, m = min(p, q)). The true logit is at least the
    # result minus the margin, which the tests verify on a dense grid.
    cdef float64_t n = p + q
    cdef float64_t sd = sqrt(n / (p * q))
    cdef float64_t u = 1.0 / p
    cdef float64_t v = 1.0 / q
    cdef float64_t variance = u + v + 0.5 * (u * u + v * v)
    cdef float64_t theta
    cdef float64_t odds
    cdef float64_t x
    cdef float64_t gap
    cdef float64_t r
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
    # Without a step that is clearly to the right of the mode there is no answer.
    if not (r > 0.0 and gap > 0.0):
        return theta
    r = sqrt(r)
    theta -= (r + log(gap * sd / r) / r - z) * r / gap
    margin[0] = sd * (0.03 * (1.0 + z2 * z2 / 81.0) / (m * sqrt(m)) + 2e-5)
    return theta


cdef class CredibleFloor(Score):
    """Posterior mean of the children's heterogeneity, each times its weight."""

    cdef Heterogeneity kind
    cdef float64_t alpha
    cdef float64_t prior_rows       # of all classes together
    cdef float64_t deviations       # the floor is mean - deviations * sd
    cdef float64_t* class_term      # [k] (k + alpha) psi(k + alpha + 1)
    cdef float64_t* node_term       # [k] psi(k + prior_rows + 1)
    cdef intp_t capacity
    cdef intp_t filled
    cdef bint tabulated             # the tables cover the node
    cdef const float64_t* counts
    cdef float64_t n
    cdef float64_t pool

    def __cinit__(self):
        self.class_term = NULL
        self.node_term = NULL

    def __dealloc__(self):
        free(self.class_term)
        free(self.node_term)

    cdef bint grow(self, intp_t size) noexcept nogil:
        # Make the tables reach `size`; False if there is no memory for that.
        cdef intp_t capacity = self.capacity
        cdef void* block
        cdef float64_t a
        cdef intp_t k
        if size >= capacity:
            capacity = max(size + 1, 2 * capacity)
            block = realloc(self.class_term, capacity * sizeof(float64_t))
            if block == NULL:
                return False
            self.class_term = <float64_t*> block
            block = realloc(self.node_term, capacity * sizeof(float64_t))
            if block == NULL:
                return False
            self.node_term = <float64_t*> block
            self.capacity = capacity
        for k in range(self.filled, size + 1):
            a = k + self.alpha
            self.class_term[k] = a * psi(a + 1.0)
            self.node_term[k] = psi(k + self.prior_rows + 1.0)
        self.filled = max(self.filled, size + 1)
        return True

    cdef void begin(self, const NodeFacts* facts) noexcept nogil:
        self.counts = facts.counts
        self.n = facts.n
        self.pool = facts.pool
        self.tabulated = (
            self.kind == ENTROPY and facts.integral and facts.n < TABLE_LIMIT
            and self.grow(<intp_t> facts.n)
        )

    cdef inline float64_t phi_of(self, float64_t count) noexcept nogil:
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

    cdef inline float64_t mean_from_sum(
        self, float64_t total, float64_t n
    ) noexcept nogil:
        # Posterior mean from the sum of phi over the classes; for the standard
        # deviation the square root of the mean variance, which lies above it and
        # below the limit as well, since both limits are roots too.
        cdef float64_t a = n + self.prior_rows
        cdef float64_t mean
        if self.kind != ENTROPY:
            mean = 0.5 * (1.0 - total / (a * (a + 1.0)))
            if mean <= 0.0:
                return 0.0
            return mean if self.kind == VARIANCE else sqrt(mean)
        if self.tabulated:
            mean = self.node_term[<intp_t> n] - total / a
        else:
            mean = psi(a + 1.0) - total / a
        return mean if mean > 0.0 else 0.0

    cdef inline float64_t binary_mean(
        self, float64_t n1, float64_t n0
    ) noexcept nogil:
        cdef float64_t a
        cdef float64_t b
        if self.kind == ENTROPY:
            return self.mean_from_sum(self.phi_of(n1) + self.phi_of(n0), n1 + n0)
        a = n1 + self.alpha
        b = n0 + self.alpha
        a = a * b / ((a + b) * (a + b + 1.0))
        return a if self.kind == VARIANCE else sqrt(a)

    cdef float64_t floor(self, const float64_t* counts) noexcept nogil:
        # Of one child with these class counts, for weight one.
        cdef intp_t c
        cdef float64_t total = 0.0
        cdef float64_t n = 0.0
        cdef float64_t mean
        cdef float64_t variance
        if self.deviations > 0.0:
            moments(self.kind, counts, self.n_classes, self.alpha, &mean, &variance)
            mean -= self.deviations * sqrt(max(variance, 0.0))
            if not mean > 0.0:
                return 0.0
            return sqrt(mean) if self.kind == DEVIATION else mean
        if self.n_classes == 2:
            return self.binary_mean(counts[0], counts[1])
        for c in range(self.n_classes):
            n += counts[c]
            total += self.phi_of(counts[c])
        return self.mean_from_sum(total, n)

    cdef void block(self, const TestBlock* tests, float64_t* out) noexcept nogil:
        cdef intp_t i
        cdef intp_t c
        cdef intp_t k = self.n_classes
        cdef const float64_t* left
        cdef float64_t right_floor
        cdef float64_t left_sum
        cdef float64_t right_sum
        if tests.phi_left != NULL:
            for i in range(tests.size):
                out[i] = tests.pool_left[i] * self.mean_from_sum(
                    tests.phi_left[i], tests.n_left[i]
                ) + (self.pool - tests.pool_left[i]) * self.mean_from_sum(
                    tests.phi_right[i], self.n - tests.n_left[i]
                )
        elif k == 2 and self.deviations == 0.0:
            for i in range(tests.size):
                left = tests.left + 2 * i
                right_floor = self.binary_mean(
                    self.counts[0] - left[0], self.counts[1] - left[1]
                )
                out[i] = tests.pool_left[i] * self.binary_mean(left[0], left[1])
                out[i] += (self.pool - tests.pool_left[i]) * right_floor
        elif self.deviations == 0.0:
            for i in range(tests.size):
                left = tests.left + k * i
                left_sum = 0.0
                right_sum = 0.0
                for c in range(k):
                    left_sum += self.phi_of(left[c])
                    right_sum += self.phi_of(self.counts[c] - left[c])
                out[i] = tests.pool_left[i] * self.mean_from_sum(
                    left_sum, tests.n_left[i]
                ) + (self.pool - tests.pool_left[i]) * self.mean_from_sum(
                    right_sum, self.n - tests.n_left[i]
                )
        else:
            self.cautious_block(tests, out)

    cdef void cautious_block(
        self, const TestBlock* tests, float64_t* out
    ) noexcept nogil:
        # Large delta: mean and deviation of each child by themselves.
        cdef intp_t i
        cdef intp_t c
        cdef intp_t k = self.n_classes
        cdef float64_t* right = <float64_t*> calloc(k, sizeof(float64_t))
        for i in range(tests.size):
            out[i] = 0.0
            if right == NULL:
                continue
            for c in range(k):
                right[c] = self.counts[c] - tests.left[k * i + c]
            out[i] = tests.pool_left[i] * self.floor(tests.left + k * i)
            out[i] += (self.pool - tests.pool_left[i]) * self.floor(right)
        free(right)

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        # Weighs the outcomes by their rows: a test with more than two outcomes has
        # a pool weight for each, which a scan passes to `cost`. Zero is a floor.
        cdef intp_t z
        cdef intp_t c
        cdef float64_t n
        cdef float64_t total = 0.0
        if self.pool != self.n:
            return 0.0
        for z in range(r):
            n = 0.0
            for c in range(self.n_classes):
                n += counts[z * self.n_classes + c]
            total += n * self.floor(counts + z * self.n_classes)
        return total


cdef class CredibleKernel(IntervalBound):
    """Decides by credible limits; made by `CredibleBound.kernel`.

    Attributes
    ----------
    n_solves : int
        Quantiles computed so far, those found in the memo not counted.
    """

    cdef public intp_t n_solves
    cdef public float64_t delta
    cdef intp_t n_classes
    cdef Heterogeneity kind
    cdef float64_t alpha
    cdef float64_t largest          # heterogeneity of the uniform distribution
    cdef float64_t z                # normal quantile of 1 - delta
    cdef Memo* memo                 # upper limits for two classes
    cdef intp_t memo_size           # a power of two
    cdef intp_t memo_used

    def __cinit__(self, *args):
        self.memo = NULL
        self.memo_size = 0

    def __init__(self, criterion, n_classes, delta, prior):
        cdef CredibleFloor floor = CredibleFloor()
        cdef float64_t k = n_classes
        self.n_classes = n_classes
        self.kind = <Heterogeneity> <int> CRITERIA.index(criterion)
        self.alpha = 1.0 if prior == "uniform" else 1.0 / k
        self.largest = log(k) if self.kind == ENTROPY else 0.5 * (1.0 - 1.0 / k)
        floor.n_classes = n_classes
        floor.kind = self.kind
        floor.alpha = self.alpha
        floor.prior_rows = self.alpha * k
        self.score = floor
        self.delta = delta
        self.z = -ndtri(self.delta)
        # Above the limit Cantelli's inequality, which holds for every law.
        floor.deviations = (
            0.0 if delta <= MEAN_IS_FLOOR else sqrt(self.delta / (1.0 - self.delta))
        )
        floor.additive = n_classes > 2 and floor.deviations == 0.0

    def __dealloc__(self):
        free(self.memo)

    cdef void forget(self) noexcept nogil:
        cdef intp_t i
        for i in range(self.memo_size):
            self.memo[i].smaller = -1.0
        self.memo_used = 0

    cdef Memo* lookup(self, float64_t larger, float64_t smaller) noexcept nogil:
        # The entry of these counts or the free one where it belongs.
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

    cdef bint make_room(self) noexcept nogil:
        # Keep the memo at most half full: double it, or start afresh at its limit.
        cdef Memo* old = self.memo
        cdef intp_t old_size = self.memo_size
        cdef intp_t size = 2 * old_size if old_size > 0 else MEMO_START
        cdef Memo* block
        cdef intp_t i
        if 2 * self.memo_used < old_size:
            return True
        if size > MEMO_LIMIT:
            self.forget()
            return True
        block = <Memo*> realloc(NULL, size * sizeof(Memo))
        if block == NULL:
            if old_size > 0:
                self.forget()
            return old_size > 0
        self.memo = block
        self.memo_size = size
        self.forget()
        for i in range(old_size):
            if old[i].smaller >= 0.0:
                self.lookup(old[i].larger, old[i].smaller)[0] = old[i]
                self.memo_used += 1
        free(old)
        return True

    cdef float64_t binary_upper(
        self, float64_t larger, float64_t smaller, float64_t delta
    ) noexcept nogil:
        # eps(delta): P(x < mu < 1 - x) = delta. Let X ~ Beta(b, a) be the rarer
        # class's probability. P(X > x) - P(X > 1 - x) = delta, so the quantile of
        # X alone is an upper bound of x, and is x when the second term vanishes.
        cdef float64_t a = larger + self.alpha
        cdef float64_t b = smaller + self.alpha
        cdef float64_t x = betainccinv(b, a, delta)
        cdef float64_t low
        cdef float64_t high = 0.5
        cdef float64_t u
        cdef float64_t step
        cdef float64_t mass
        cdef float64_t slope
        cdef float64_t log_beta
        cdef intp_t _
        self.n_solves += 1
        # P(X > 1 - x) is at most (x / (1 - x))^(a - b).
        if x < 0.5 and (a - b) * log(x / (1.0 - x)) < log(delta) - 40.0:
            return binary_heterogeneity(self.kind, x)
        # Solve for u = 1/2 - x; for small u the mass is proportional to it, hence
        # logarithms. H is flat at u = 0, so cancellation there is harmless.
        log_beta = betaln(a, b)
        # A little room: the solution may be this end of the bracket.
        low = max(0.5 - x, 0.0) * (1.0 - 1e-6)
        # Start from the quantile of X if the second term is small there, else from
        # the density at 1/2.
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
            # The error left is of the order of the square of the step.
            if fabs(step) <= 1e-8 * min(u, 0.5 - u) or high - low <= 1e-16:
                break
        return binary_heterogeneity(self.kind, 0.5 - u)

    cdef float64_t binary_lower(
        self, float64_t larger, float64_t smaller, float64_t delta
    ) noexcept nogil:
        # eps(1 - delta): P(X < x) + P(X > 1 - x) = delta.
        cdef float64_t a = larger + self.alpha
        cdef float64_t b = smaller + self.alpha
        cdef float64_t x = betaincinv(b, a, delta)
        cdef float64_t low
        cdef float64_t high = x
        cdef float64_t step
        cdef float64_t mass
        cdef float64_t slope
        cdef float64_t log_beta
        cdef intp_t _
        self.n_solves += 1
        if (a - b) * log(x / (1.0 - x)) < log(delta) - 40.0:
            return binary_heterogeneity(self.kind, x)
        # The second term is the smaller one, so the first is at least delta / 2.
        low = betaincinv(b, a, 0.5 * delta) * (1.0 - 1e-6)
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
        return binary_heterogeneity(self.kind, x)

    cdef float64_t matched(
        self, const float64_t* counts, float64_t delta, bint upper
    ) noexcept nogil:
        # Limit for K > 2: quantile of the Beta law with the posterior mean and
        # variance of the heterogeneity divided by its largest value.
        cdef float64_t p
        cdef float64_t q
        cdef float64_t x
        cdef float64_t scale
        self.n_solves += 1
        scale = self.shapes(counts, &p, &q)
        if not (p > 0.0 and q > 0.0):
            x = scale
        elif p > 1e8 and q > 1e8:
            # A normal law but for its skewness, and beyond what betaincinv is fit for.
            x = -ndtri(delta) if upper else ndtri(delta)
            x += (q - p) / sqrt(p * q * (p + q)) * (x * x - 1.0) / 3.0
            x = scale + x * sqrt(scale * (1.0 - scale) / (p + q))
        elif upper:
            x = betainccinv(p, q, delta)
        else:
            x = betaincinv(p, q, delta)
        x *= self.largest
        return sqrt(x) if self.kind == DEVIATION else x

    cdef float64_t shapes(
        self, const float64_t* counts, float64_t* p, float64_t* q
    ) noexcept nogil:
        # Shapes of the matched Beta law and its mean.
        cdef float64_t mean
        cdef float64_t variance
        cdef float64_t s
        moments(self.kind, counts, self.n_classes, self.alpha, &mean, &variance)
        mean /= self.largest
        variance /= self.largest * self.largest
        s = mean * (1.0 - mean) / variance - 1.0
        p[0] = mean * s
        q[0] = (1.0 - mean) * s
        return mean

    cdef float64_t upper(self, const float64_t* counts) noexcept nogil:
        cdef float64_t larger
        cdef float64_t smaller
        cdef Memo* entry
        if self.n_classes > 2:
            return self.matched(counts, self.delta, True)
        larger = max(counts[0], counts[1])
        smaller = min(counts[0], counts[1])
        if not self.make_room():
            return self.binary_upper(larger, smaller, self.delta)
        entry = self.lookup(larger, smaller)
        if entry.smaller < 0.0:
            entry.value = self.binary_upper(larger, smaller, self.delta)
            entry.larger = larger
            entry.smaller = smaller
            self.memo_used += 1
        return entry.value

    cdef float64_t lower(self, const float64_t* counts) noexcept nogil:
        if self.n_classes > 2:
            return self.matched(counts, self.delta, False)
        return self.binary_lower(
            max(counts[0], counts[1]), min(counts[0], counts[1]), self.delta
        )

    cdef void node_begin(self, const NodeFacts* facts) noexcept nogil:
        self.limit = facts.pool * self.lower(facts.counts)

    cdef float64_t cost(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        return pool * self.upper(counts)

    cdef float64_t sharp_floor(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        cdef float64_t p
        cdef float64_t q
        cdef float64_t theta
        cdef float64_t margin
        cdef float64_t odds
        cdef float64_t x
        if self.n_classes == 2:
            p = min(counts[0], counts[1]) + self.alpha
            q = max(counts[0], counts[1]) + self.alpha
        else:
            self.shapes(counts, &p, &q)
        # Where the expansion is good enough for its margin to hold.
        if self.z < 0.25 or not min(p, q) >= 3.0 + self.z * self.z:
            return 0.0
        theta = tail_quantile(p, q, self.z, &margin)
        theta -= margin
        # The other tail of mu, at most exp((q - p) theta), must not matter.
        if self.n_classes == 2 and not (
            (q - p) * theta < log(self.delta) - 13.0 and theta < 0.0
        ):
            return 0.0
        odds = exp(theta)
        x = odds / (1.0 + odds)
        if self.n_classes > 2:
            x *= self.largest
            return pool * (sqrt(x) if self.kind == DEVIATION else x)
        if self.kind == ENTROPY:
            return pool * (log1p(odds) - x * theta)
        return pool * binary_heterogeneity(self.kind, x)

    cdef bint decide(
        self, const NodeFacts* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        # One statement about the node and one about each child.
        evidence.confidence = 1.0 - (r + 1.0) * self.delta
        return IntervalBound.decide(self, facts, child_counts, r, evidence)

    def interval(self, counts, delta):
        """Limits for matching rows of class counts and tail probabilities."""
        cdef const float64_t[:, ::1] rows = counts
        cdef const float64_t[::1] tails = delta
        cdef intp_t i
        cdef float64_t[:, ::1] out = np.empty((2, rows.shape[0]))
        cdef float64_t larger
        cdef float64_t smaller
        with nogil:
            for i in range(rows.shape[0]):
                if self.n_classes > 2:
                    out[0, i] = self.matched(&rows[i, 0], tails[i], False)
                    out[1, i] = self.matched(&rows[i, 0], tails[i], True)
                else:
                    larger = max(rows[i, 0], rows[i, 1])
                    smaller = min(rows[i, 0], rows[i, 1])
                    out[0, i] = self.binary_lower(larger, smaller, tails[i])
                    out[1, i] = self.binary_upper(larger, smaller, tails[i])
        return np.asarray(out[0]), np.asarray(out[1])


cdef inline float64_t beta_density(
    float64_t x, float64_t a, float64_t b, float64_t log_beta
) noexcept nogil:
    # Density of Beta(a, b) at x plus that at 1 - x.
    cdef float64_t p = log(x)
    cdef float64_t q = log1p(-x)
    return exp((a - 1.0) * p + (b - 1.0) * q - log_beta) + exp(
        (b - 1.0) * p + (a - 1.0) * q - log_beta
    )


def credible_interval(
    counts, delta=0.05, *, criterion="entropy", prior="uniform"
):
    """Credible limits of the heterogeneity of a node.

    The class probabilities of the node have a Dirichlet posterior: the prior plus
    the counts. Each of the two limits is missed with posterior probability
    `delta`, so that the interval has mass ``1 - 2 * delta``.

    Parameters
    ----------
    counts : array-like of shape (..., n_classes)
        Class counts, not negative, not necessarily whole.
    delta : float or array-like of shape (...), default=0.05
        Probability of each tail, in (0, 1/2); broadcast against the leading
        dimensions of `counts`.
    criterion : {"entropy", "gini", "kearns_mansour"}, default="entropy"
        The heterogeneity: entropy in nats; ``(1 - sum p^2) / 2``, half the Gini
        index; or the square root of the latter, the standard deviation of a label
        if there are two classes.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts: one a class, or one altogether. The former makes a pure node
        with many possible classes look impure.

    Returns
    -------
    lower, upper : ndarray of shape (...)
        Limits, in the units of the heterogeneity.

    Notes
    -----
    Two classes: exact, equation (4) of [1]_. With more, the limits are quantiles of
    the Beta distribution that has the posterior mean and variance of the
    heterogeneity divided by its largest value.

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
    delta = check_open("delta", delta, 0, 0.5)
    *leading, k = counts.shape
    shape = np.broadcast_shapes(tuple(leading), delta.shape)
    rows = np.ascontiguousarray(np.broadcast_to(counts, (*shape, k))).reshape(-1, k)
    tails = np.ascontiguousarray(np.broadcast_to(delta, shape)).reshape(-1)
    lower, upper = CredibleKernel(criterion, k, 0.05, prior).interval(rows, tails)
    return lower.reshape(shape)[()], upper.reshape(shape)[()]


class CredibleBound(BaseBound):
    """Split when the children are certainly purer than their parent (BOCT).

    The heterogeneity of a node is a function of its unknown class probabilities,
    which have a Dirichlet posterior. A test becomes a split iff

        W_1 upper_1 + W_2 upper_2 < W_parent lower_parent

    where each limit is missed with posterior probability `delta` and W is the
    weight of a node; among the tests the one with the smallest left side is taken.
    Then the split lowers the true weighted heterogeneity with probability at least
    ``1 - 3 * delta`` for each test examined. Nothing is corrected for the number of
    tests: on pure noise, small deltas split rarely, ``delta=0.3`` often.

    Use it for small samples, where it needs fewer rows than bounds that hold for
    every distribution, and whenever unlabelled rows are at hand (`pool_weight`).

    Parameters
    ----------
    delta : float, default=0.05
        Probability of each tail, in the open interval (0, 1/2). Smaller waits
        longer: two pure children need 14 rows each at .01 and 6 at .1.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts: one a class as in the paper, or one altogether, which with
        many classes lets a small pure child look pure.
    pool_weight : {"pool", "labelled", "volume"}, default="pool"
        What a tree takes for W: labelled and unlabelled rows, labelled rows only,
        or the volume of the node's box. Without unlabelled rows the first is the
        second.

    Attributes
    ----------
    criteria : tuple of str
        ``"entropy"``, ``"gini"`` (half the Gini index) and ``"kearns_mansour"``
        (for two classes the standard deviation of the label; for more the square
        root of half the Gini index, not Kearns and Mansour's sum).

    See Also
    --------
    credible_interval : The limits themselves.

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
    uses_pool = True
    _parameter_constraints: dict = {
        "delta": [Interval(RealNotInt, 0, 0.5, closed="neither")],
        "prior": [StrOptions(set(PRIORS))],
        "pool_weight": [StrOptions({"pool", "labelled", "volume"})],
    }

    def __init__(self, delta=0.05, *, prior="uniform", pool_weight="pool"):
        self.delta = delta
        self.prior = prior
        self.pool_weight = pool_weight

    def kernel(self, criterion, n_classes):
        """Make the compiled decision for one fit, scratch memory included.

        Parameters
        ----------
        criterion : str or None
            One of `criteria`; None is the first of them.
        n_classes : int
            Number of classes, at least 2.

        Returns
        -------
        kernel : CredibleKernel
        """
        self.check_parameters()
        criterion = self.check_criterion(criterion)
        return CredibleKernel(criterion, n_classes, self.delta, self.prior)
