"""Certified floors of credible limits, cheap enough for every candidate test."""

from functools import lru_cache

import numpy as np
from scipy import special

from libc.math cimport INFINITY, exp, log, log1p, sqrt
from scipy.special.cython_special cimport ndtri, psi

from skconftree.bounds._contract cimport NodeFacts, Score, TestBlock
from skconftree.bounds._heterogeneity cimport (
    DEVIATION, ENTROPY, VARIANCE, Heterogeneity, binary_heterogeneity, binary_lower,
    largest_heterogeneity, match_beta, matched_limit, moments, tail_quantile,
    trigamma_excess,
)
from skconftree.criteria._score cimport TABLE_LIMIT
from skconftree.utils._memory cimport give_all_back, longer_array
from skconftree.utils._typedefs cimport float64_t, intp_t

cdef intp_t CHUNK = 65536           # entries filled at a time
# The posterior mean lies below the upper limit for every delta up to this: over
# all counts, both priors and K = 2, ..., 100 the least P(H >= E[H]) is .317. For
# larger ones the mean less LOSS (delta - MEAN_IS_FLOOR) / (rows + 1) does, for the
# entropy times the logarithm of the rows; the worst are pure nodes, with .331 at 1/2.
cdef float64_t MEAN_IS_FLOOR = 0.3
cdef float64_t LOSS = 1.7
cdef intp_t ROOT_CELLS = 512
cdef float64_t ROOT_END = 8.0       # plus z: there the other tail is below 1e-50
cdef intp_t ENTROPY_CELLS = 4096
cdef float64_t ENTROPY_END = 0.96   # nearer to a pure node logarithms are better
# From this shape on, `tail_quantile` gains less than .003 deviations.
cdef float64_t CLOSE_ENOUGH = 80.0


@lru_cache(maxsize=64)
def folded_root(delta):
    """Roots q of P(|N(t, 1)| <= q) = delta at equidistant t, from above.

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
    """Entropy at equidistant (1 - 2 mu)^2, of which it is a concave function."""
    mu = 0.5 - 0.5 * np.sqrt(np.linspace(0.0, 1.0, ENTROPY_CELLS + 1))
    table = special.entr(mu) + special.entr(1.0 - mu)
    table.setflags(write=False)
    return table


ENTROPY_TABLE = tabulated_entropy()


def psi_of(x):
    """Digamma function of an ascending array, by its asymptotic series from 30 on."""
    first = np.searchsorted(x, 30.0)
    y = x[first:]
    s = 1.0 / (y * y)
    s *= 1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s / 240.0))
    return np.concatenate([special.psi(x[:first]), np.log(y) - 0.5 / y - s])


cdef class CredibleFloor(Score):
    """Lower limits of the children's credible limits, each times its weight.

    Every test gets the posterior mean of its children's heterogeneity, shifted by
    what the limit exceeds it by at the least. If that leaves a test of two classes a
    chance of being a split, it gets a `close` floor.
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
        self.additive = n_classes > 2
        self.skewness_factor = self.z * self.z - 1.0
        self.slack = 0.23 + max(0.0, self.z * (self.z * self.z - 3.0) / 8.0)
        self.gain = 0.0
        self.loss = LOSS * max(0.0, self.delta - MEAN_IS_FLOOR)
        self.ceiling = INFINITY
        self.solved_for[0] = -1.0
        self.solved_for[1] = -1.0
        if n_classes == 2:
            self.root_table = folded_root(float(delta))
            self.entropy_table = ENTROPY_TABLE
            self.root_step = (ROOT_END + self.z) / ROOT_CELLS
            if self.loss == 0.0:
                # A balanced node of n rows has the limit mean + (1 - q(0)^2) / 2n
                # for the entropy, mean / (1 - (1 - q(0)^2) / n) for the variance.
                # The margins are for small and for pure nodes.
                self.gain = 1.0 - self.root_table[0] * self.root_table[0]
                self.gain *= 0.46 if self.kind == ENTROPY else 0.85

    def __dealloc__(self):
        give_all_back(&self.blocks)

    def reserve(self, n_max):
        """Fill the tables; see `Score.reserve`."""
        cdef intp_t size = min(n_max, TABLE_LIMIT - 1) + 1
        cdef intp_t i, first
        cdef float64_t[::1] excess
        if self.kind != ENTROPY or size <= self.filled:
            return
        if not self.allocate(size):
            raise MemoryError()
        class_term = np.asarray(<float64_t[:size]> self.class_term)
        node_term = np.asarray(<float64_t[:size]> self.node_term)
        # In pieces, as whole temporaries would be the peak of a large fit's memory.
        for first in range(0, size, CHUNK):
            k = np.arange(first, min(first + CHUNK, size), dtype=np.float64)
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

    cdef bint allocate(self, intp_t capacity) noexcept nogil:
        if not (
            self.lengthen(&self.class_term, capacity)
            and self.lengthen(&self.node_term, capacity)
            and (self.n_classes <= 2 or self.lengthen(&self.excess, capacity))
        ):
            return False
        self.capacity = capacity
        return True

    cdef bint lengthen(self, float64_t** table, intp_t capacity) noexcept nogil:
        cdef void* longer = longer_array(
            &self.blocks, table[0], capacity, sizeof(float64_t)
        )
        if longer == NULL:
            return False
        table[0] = <float64_t*> longer
        return True

    cdef bint grow(self, intp_t size) noexcept nogil:
        # Make the tables reach `size`; False if there is no memory for that.
        cdef float64_t a
        cdef intp_t k
        if size >= self.capacity and not self.allocate(
            max(size + 1, 2 * self.capacity)
        ):
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

    cdef void begin(self, const NodeFacts* facts) noexcept nogil:
        self.counts = facts.counts
        self.n = facts.n
        self.pool = facts.pool
        self.tabulated = (
            self.kind == ENTROPY and facts.integral and facts.n < TABLE_LIMIT
            and self.grow(<intp_t> facts.n)
        )
        if self.n_classes == 2:
            self.ceiling = self.pool * self.lower(self.counts)

    cdef float64_t lower(self, const float64_t* counts) noexcept nogil:
        # Lower limit of a node. A tree asks twice for each of its nodes.
        if self.n_classes > 2:
            return matched_limit(
                self.kind, counts, self.n_classes, self.alpha, self.delta, False
            )
        if counts[0] != self.solved_for[0] or counts[1] != self.solved_for[1]:
            self.solved_for[0] = counts[0]
            self.solved_for[1] = counts[1]
            self.node_lower = binary_lower(
                self.kind, max(counts[0], counts[1]) + self.alpha,
                min(counts[0], counts[1]) + self.alpha, self.delta,
            )
        return self.node_lower

    # -- the first floor ----------------------------------------------------------

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
        # Shifted posterior mean from the sum of phi over the classes; for the standard
        # deviation the square root of the mean variance, which lies above its mean and
        # below the limit as well, since both limits are roots too.
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

    cdef inline float64_t binary_floor(
        self, float64_t n1, float64_t n0
    ) noexcept nogil:
        cdef float64_t a
        cdef float64_t b
        if self.kind == ENTROPY:
            return self.mean_from_sum(self.phi_of(n1) + self.phi_of(n0), n1 + n0)
        a = n1 + self.alpha
        b = n0 + self.alpha
        a = max(a * b - self.loss * (a + b), 0.0) / (
            (a + b) * (a + b + 1.0 - self.gain)
        )
        return a if self.kind == VARIANCE else sqrt(a)

    cdef float64_t floor(self, const float64_t* counts) noexcept nogil:
        # Of one child with these counts of more than two classes, for weight one.
        cdef intp_t c
        cdef float64_t total = 0.0
        cdef float64_t n = 0.0
        for c in range(self.n_classes):
            n += counts[c]
            total += self.phi_of(counts[c])
        return self.mean_from_sum(total, n)

    cdef void block(self, const TestBlock* tests, float64_t* out) noexcept nogil:
        cdef intp_t i
        if tests.phi_left != NULL:
            for i in range(tests.size):
                out[i] = tests.pool_left[i] * self.mean_from_sum(
                    tests.phi_left[i], tests.n_left[i]
                ) + (self.pool - tests.pool_left[i]) * self.mean_from_sum(
                    tests.phi_right[i], self.n - tests.n_left[i]
                )
        elif self.n_classes == 2:
            self.binary_block(tests, out)
        else:
            self.many_class_block(tests, out)

    cdef void binary_block(
        self, const TestBlock* tests, float64_t* out
    ) noexcept nogil:
        # A closer look at the tests that could be a split and do not already lose
        # against another one's floor: enough for the smallest floor of an attribute
        # to be close, which tells whether the attribute can hold the split.
        cdef intp_t i
        cdef bint close_first = self.no_table()
        if self.kind != ENTROPY:
            self.variance_block(tests, out)
        else:
            for i in range(tests.size):
                out[i] = self.of_test(
                    tests.left + 2 * i, tests.pool_left[i], close_first
                )
        for i in range(tests.size):
            if out[i] <= self.ceiling:
                out[i] = max(out[i], self.of_test(
                    tests.left + 2 * i, tests.pool_left[i], not close_first
                ))
                self.ceiling = min(self.ceiling, out[i])

    cdef void variance_block(
        self, const TestBlock* tests, float64_t* out
    ) noexcept nogil:
        # `binary_floor` of both children. Nearly all tests of a tree end here; local
        # variables save 15 % of its fit.
        cdef float64_t ones = self.counts[1] + 2.0 * self.alpha
        cdef float64_t rows = self.counts[0] + ones + 2.0 * self.alpha
        cdef float64_t pool = self.pool
        cdef float64_t alpha = self.alpha
        cdef float64_t gain = 1.0 - self.gain
        cdef float64_t loss = self.loss
        cdef bint root = self.kind == DEVIATION
        cdef float64_t b
        cdef float64_t n
        cdef float64_t left
        cdef float64_t right
        cdef intp_t i
        for i in range(tests.size):
            b = tests.left[2 * i + 1] + alpha
            n = tests.left[2 * i] + alpha + b
            left = max((n - b) * b - loss * n, 0.0) / (n * (n + gain))
            b = ones - b
            n = rows - n
            right = max((n - b) * b - loss * n, 0.0) / (n * (n + gain))
            if root:
                left = sqrt(left)
                right = sqrt(right)
            out[i] = tests.pool_left[i] * left + (pool - tests.pool_left[i]) * right

    cdef inline bint no_table(self) noexcept nogil:
        # Then `close` is the cheaper floor of the two.
        return self.kind == ENTROPY and not self.tabulated

    cdef inline float64_t of_test(
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

    cdef void many_class_block(
        self, const TestBlock* tests, float64_t* out
    ) noexcept nogil:
        cdef intp_t i
        cdef intp_t c
        cdef intp_t k = self.n_classes
        cdef const float64_t* left
        cdef float64_t left_sum
        cdef float64_t right_sum
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

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        # Weighs the outcomes by their rows: a test with more than two outcomes has
        # a pool weight for each, which a scan passes to `cost`. Zero is a floor.
        cdef intp_t z
        cdef intp_t c
        cdef float64_t n
        cdef float64_t total = 0.0
        if self.pool != self.n:
            return 0.0
        if self.n_classes == 2:
            total = self.binary_outcomes(counts, r, self.no_table())
            if total <= self.ceiling:
                total = max(
                    total, self.binary_outcomes(counts, r, not self.no_table())
                )
                self.ceiling = min(self.ceiling, total)
            return total
        for z in range(r):
            n = 0.0
            for c in range(self.n_classes):
                n += counts[z * self.n_classes + c]
            total += n * self.floor(counts + z * self.n_classes)
        return total

    cdef float64_t binary_outcomes(
        self, const float64_t* counts, intp_t r, bint closely
    ) noexcept nogil:
        cdef float64_t total = 0.0
        cdef float64_t n1
        cdef float64_t n0
        cdef intp_t z
        for z in range(r):
            n1 = counts[2 * z]
            n0 = counts[2 * z + 1]
            if closely:
                total += (n1 + n0) * self.close(n1, n0)
            else:
                total += (n1 + n0) * self.binary_floor(n1, n0)
        return total

    # -- closer floors ------------------------------------------------------------

    cdef float64_t close(self, float64_t n1, float64_t n0) noexcept nogil:
        # Two classes, weight one; 0 = unknown. Let mu ~ Beta(b, a), a >= b, be the
        # probability of the rarer class, sd its deviation and t = (1/2 - E[mu]) / sd.
        # The limit is H(1/2 - q sd) with P(|mu - 1/2| <= q sd) = delta. The root q is
        # that of a normal law, less (z^2 - 1) / 6 times the skewness where the other
        # tail is far, up to an error of slack / b, which the tests verify on a dense
        # grid. The constant is for errors of the exact quantile itself.
        cdef float64_t a = max(n1, n0) + self.alpha
        cdef float64_t b = min(n1, n0) + self.alpha
        cdef float64_t n = a + b
        cdef float64_t r = sqrt((n + 1.0) / (a * b))    # 1 / (n sd)
        cdef float64_t t = 0.5 * (a - b) * r
        cdef float64_t at = t / self.root_step
        cdef float64_t q
        cdef float64_t x
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
        # For weight one; 0 = unknown.
        cdef float64_t p
        cdef float64_t q
        cdef float64_t x
        cdef float64_t theta
        cdef float64_t margin
        cdef float64_t odds
        if self.n_classes > 2:
            return self.matched(counts)
        x = self.close(counts[0], counts[1])
        p = min(counts[0], counts[1]) + self.alpha
        q = max(counts[0], counts[1]) + self.alpha
        if not self.expands(p):
            return x
        theta = tail_quantile(p, q, self.z, &margin)
        theta -= margin
        # The other tail of mu, at most exp((q - p) theta), must not matter.
        if not ((q - p) * theta < log(self.delta) - 13.0 and theta < 0.0):
            return x
        odds = exp(theta)
        p = odds / (1.0 + odds)
        if self.kind == ENTROPY:
            return max(x, log1p(odds) - p * theta)
        return max(x, binary_heterogeneity(self.kind, p))

    cdef inline bint expands(self, float64_t m) noexcept nogil:
        # Where `tail_quantile` is good enough for its margin to hold.
        return self.z >= 0.25 and m >= 3.0 + self.z * self.z

    cdef float64_t matched(self, const float64_t* counts) noexcept nogil:
        # More classes, weight one; 0 = unknown. The quantile of the matched Beta(p, q)
        # law to the order of its skewness has an error, in deviations, of at most
        # slack / min(p, q), as `close` has.
        cdef float64_t p
        cdef float64_t q
        cdef float64_t n
        cdef float64_t m
        cdef float64_t r
        cdef float64_t x
        cdef float64_t mean
        cdef float64_t variance
        cdef float64_t margin
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
        if m < CLOSE_ENOUGH and self.expands(m):
            mean = tail_quantile(p, q, self.z, &margin)
            x = max(x, 1.0 / (1.0 + exp(margin - mean)))
        if not x > 0.0:
            return 0.0
        x *= self.largest
        return sqrt(x) if self.kind == DEVIATION else x

    cdef void moments_of(
        self, const float64_t* counts, float64_t* mean, float64_t* variance
    ) noexcept nogil:
        # `moments`, the same sums with psi from the tables.
        cdef intp_t c
        cdef float64_t a
        cdef float64_t g
        cdef float64_t n = 0.0
        cdef float64_t total = 0.0
        cdef float64_t squares = 0.0
        cdef float64_t excess = 0.0
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
