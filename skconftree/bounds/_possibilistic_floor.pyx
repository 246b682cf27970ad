"""Floors of the children's possibilistic entropy, tabulated for speed."""

import numpy as np

from libc.math cimport INFINITY, log, log1p, sqrt
from libc.string cimport memcpy
from scipy.special.cython_special cimport ndtri

from skconftree.bounds._contract cimport NodeFacts, Score, TestBlock
from skconftree.bounds._cumulative_entropy cimport (
    corrected_quantile, cumulative_entropy, left_out, sort_order, upper_limit,
)
from skconftree.criteria._score cimport TABLE_LIMIT
from skconftree.utils._rounding cimport ROUNDING
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t, uint64_t

cdef float64_t LN2 = 0.6931471805599453
# Cells of PossibilisticFloor along either axis: 32 octaves from FIRST_EDGE on.
cdef enum:
    CELL_BITS = 5           # of an octave
    CELLS = 1024
    FIRST_CELL = 32544      # of FIRST_EDGE: (1023 - 6) << CELL_BITS
cdef float64_t FIRST_EDGE = 1.0 / 64.0
# Floor and cost may agree on paper; rounding must not put the floor on top.
cdef float64_t SHRINK = 1.0 - ROUNDING


cdef inline intp_t cell_of(float64_t x) noexcept nogil:
    # The leading bits of a positive double are a piecewise linear logarithm.
    cdef uint64_t bits
    x = max(x, 0.0) + FIRST_EDGE    # a difference of sums may fall a rounding below 0
    memcpy(&bits, &x, 8)
    return min(<intp_t> (bits >> (52 - CELL_BITS)) - FIRST_CELL, CELLS - 1)


cdef float64_t cell_edge(intp_t cell) noexcept nogil:
    # The smallest x of a cell.
    cdef uint64_t bits = <uint64_t> (cell + FIRST_CELL) << (52 - CELL_BITS)
    cdef float64_t x
    memcpy(&x, &bits, 8)
    return x - FIRST_EDGE


cdef float64_t excess(float64_t count, float64_t n) noexcept nogil:
    # g of PossibilisticFloor: n times the divergence of T / 2 from half its upper
    # limit for z = 1.
    cdef float64_t p, q, gap, total
    if not n > count:
        return 0.0
    p = 0.5 * count / n
    q = 0.5 * upper_limit(2.0 * p, n, 1.0)
    gap = q - p
    total = -(1.0 - p) * log1p(-gap / (1.0 - p))
    if p > 0.0:
        total += p * log1p(-gap / q)
    return n * total


cdef class PossibilisticFloor(Score):
    """Sum of the children's cumulative entropies, the confidence term from below.

    Cross entropy is entropy plus divergence. With f(x) = x ln x the entropy of
    each term is (f(2n) - f(C) - f(2n - C)) / 2, where C is a sum of counts. The
    divergence depends on z through the scale of the counts alone: it is
    z^2 g(C / z^2, n / z^2). As g falls with C and rises with n, its value at the
    corner of a cell of the (C, n) plane bounds it on the whole cell. Cells are a
    thirty-second of an octave wide, and filled when a test falls into them.

    With more than two classes a test costs a sort and a sum over the classes, so
    that tests known to be worse than another, or than no split, get the floor of
    the stretch they lie in.
    """

    def __cinit__(self, n_classes, delta, all_tests, present):
        cdef intp_t c
        self.n_classes = n_classes
        self.delta = delta
        self.all_tests = all_tests
        self.present = present
        self.first = 0
        self.base_z2 = corrected_quantile(self.delta, 2.0) ** 2
        self.z2 = self.base_z2
        self.z_node = -ndtri(0.5 * self.delta)
        self.scale = SHRINK / (self.n_classes * LN2)
        self.arena = Arena()
        self.cells = <float32_t*> self.arena.take_zeros(
            CELLS * CELLS, sizeof(float32_t)
        )
        self.orders = <intp_t*> self.arena.take(2 * self.n_classes, sizeof(intp_t))
        self.right = <float64_t*> self.arena.take_zeros(
            self.n_classes, sizeof(float64_t)
        )
        for c in range(self.n_classes):
            self.orders[c] = c
            self.orders[self.n_classes + c] = c

    def reserve(self, intp_t n_max):
        """Tabulate f of whole numbers; see `Score.reserve`."""
        cdef intp_t size = min(n_max, TABLE_LIMIT)
        k = np.arange(2.0 * size + 1.0)
        k[1:] *= 0.5 * np.log(k[1:])
        self.table = k
        self.half_f = &self.table[0]
        self.table_size = size + 1

    cdef void begin(self, const NodeFacts* facts) noexcept nogil:
        self.counts = facts.counts
        self.n = facts.n
        self.tabulated = facts.integral and facts.n < self.table_size
        self.n_tests = 0.0
        self.corrected = 1.0
        self.z2 = self.base_z2
        if self.n_classes > 2:
            self.first = left_out(self.counts, self.n_classes, self.present)
            self.scale = SHRINK / ((self.n_classes - self.first) * LN2)
            self.margin = 1e-9 * max(facts.n, facts.pool)
            self.smallest = INFINITY
            self.ceiling = self.margin + self.n * cumulative_entropy(
                self.counts, self.n_classes, self.first, self.n, self.z_node,
                self.orders,
            )
            self.z_largest = sqrt(self.base_z2)
            if self.all_tests:
                # without whole counts rows, and so tests, may exceed any multiple of n;
                # so do sets of categories
                self.z_largest = INFINITY
                if facts.integral and facts.cuts_only:
                    self.z_largest = corrected_quantile(
                        self.delta, 2.0 * facts.n * facts.n_attributes
                    )

    cdef void correct(self, float64_t n_tests) noexcept nogil:
        # z of the node's tests, all of which have been counted.
        self.n_tests = -1.0
        self.z2 = corrected_quantile(self.delta, 2.0 * n_tests) ** 2

    cdef inline float64_t f(self, float64_t x) noexcept nogil:
        if self.tabulated:
            return self.half_f[<intp_t> x]
        return 0.5 * x * log(x) if x > 0.0 else 0.0

    cdef float32_t fill(self, intp_t row, intp_t column) noexcept nogil:
        # The corner of the cell with the smallest n and the largest count.
        cdef float64_t value = 0.0
        if column < CELLS - 1:
            value = excess(cell_edge(column + 1), cell_edge(row))
        self.cells[row * CELLS + column] = <float32_t> max(
            value * (1.0 - 1e-6), 1e-30
        )
        return self.cells[row * CELLS + column]

    cdef inline float64_t divergence(
        self, float64_t count, float64_t n, float64_t scale
    ) noexcept nogil:
        # A floor of n times the divergence, in units of z^2; scale is 1 / z^2.
        cdef intp_t row = cell_of(n * scale)
        cdef intp_t column = cell_of(count * scale)
        cdef float32_t value = self.cells[row * CELLS + column]
        if value == 0.0:
            return self.fill(row, column)
        return value

    cdef float64_t entropy(
        self, const float64_t* counts, float64_t n, intp_t* order
    ) noexcept nogil:
        # Of one child; sorts the order, which divergences() relies on.
        cdef const float64_t* half_f = self.half_f
        cdef intp_t first = self.first
        cdef float64_t total = n * LN2 + (self.n_classes - first - 1) * self.f(2.0 * n)
        cdef float64_t below = 0.0
        cdef intp_t whole = 0
        cdef intp_t j
        sort_order(order, counts, self.n_classes)
        if self.tabulated:
            for j in range(first, self.n_classes - 1):
                whole += <intp_t> counts[order[j]]
                total -= half_f[whole] + half_f[2 * <intp_t> n - whole]
            return total
        for j in range(first, self.n_classes - 1):
            below += counts[order[j]]
            total -= self.f(below) + self.f(2.0 * n - below)
        return total

    cdef float64_t divergences(
        self, const float64_t* counts, float64_t n, const intp_t* order
    ) noexcept nogil:
        cdef float64_t unit = 1.0 / self.z2
        cdef float64_t below = 0.0
        cdef float64_t total = 0.0
        cdef intp_t j
        for j in range(self.first, self.n_classes - 1):
            below += counts[order[j]]
            total += self.divergence(below, n, unit)
        return self.z2 * total

    cdef void block(self, const TestBlock* tests, float64_t* out) noexcept nogil:
        cdef Sides first, last
        cdef intp_t i
        if self.all_tests and self.n_tests >= 0.0:
            # The node will have at least the tests seen so far.
            self.n_tests += tests.size
            if self.n_tests >= 2.0 * self.corrected:
                self.corrected = self.n_tests
                self.z2 = corrected_quantile(self.delta, 2.0 * self.n_tests) ** 2
        if self.n_classes == 2:
            self.block_of_two(tests, out)
            return
        if not tests.nested:
            for i in range(tests.size):
                self.evaluate_test(tests, i, out)
            return
        first = self.evaluate_test(tests, 0, out)
        if tests.size > 1:
            last = self.evaluate_test(tests, tests.size - 1, out)
            self.evaluate_between(
                tests, 0, tests.size - 1, first.left, last.right, out
            )

    cdef void block_of_two(
        self, const TestBlock* tests, float64_t* out
    ) noexcept nogil:
        cdef const float64_t* half_f = self.half_f
        cdef float64_t unit = 1.0 / self.z2
        cdef float64_t divergence, n_left, n_right, left, right
        cdef intp_t i, nl, nr, l, r
        for i in range(tests.size):
            n_left = tests.n_left[i]
            n_right = self.n - n_left
            left = min(tests.left[2 * i], tests.left[2 * i + 1])
            right = min(
                self.counts[0] - tests.left[2 * i],
                self.counts[1] - tests.left[2 * i + 1],
            )
            divergence = self.z2 * (
                self.divergence(left, n_left, unit)
                + self.divergence(right, n_right, unit)
            )
            if self.tabulated:
                nl = 2 * <intp_t> n_left
                nr = 2 * <intp_t> n_right
                l = <intp_t> left
                r = <intp_t> right
                out[i] = self.scale * (
                    half_f[nl] - half_f[l] - half_f[nl - l]
                    + half_f[nr] - half_f[r] - half_f[nr - r]
                    + self.n * LN2 + divergence
                )
            else:
                out[i] = self.scale * (
                    self.f(2.0 * n_left) - self.f(left) - self.f(2.0 * n_left - left)
                    + self.f(2.0 * n_right) - self.f(right)
                    - self.f(2.0 * n_right - right) + self.n * LN2 + divergence
                )

    cdef Sides evaluate_test(
        self, const TestBlock* tests, intp_t i, float64_t* out
    ) noexcept nogil:
        # Returns the floors of both children.
        cdef intp_t k = self.n_classes
        cdef const float64_t* left = tests.left + k * i
        cdef float64_t n_left = tests.n_left[i]
        cdef float64_t n_right = self.n - n_left
        cdef intp_t* orders = self.orders
        cdef Sides sides
        cdef intp_t c
        for c in range(k):
            self.right[c] = self.counts[c] - left[c]
        sides.left = self.scale * self.entropy(left, n_left, orders)
        sides.right = self.scale * self.entropy(self.right, n_right, orders + k)
        out[i] = sides.left + sides.right
        if out[i] > self.ceiling:
            return sides
        sides.left += self.scale * self.divergences(left, n_left, orders)
        sides.right += self.scale * self.divergences(self.right, n_right, orders + k)
        out[i] = sides.left + sides.right
        if out[i] < self.smallest and self.z_largest < INFINITY:
            self.smallest = out[i]
            self.ceiling = min(
                self.ceiling,
                self.margin
                + n_left * cumulative_entropy(
                    left, k, self.first, n_left, self.z_largest, orders
                )
                + n_right * cumulative_entropy(
                    self.right, k, self.first, n_right, self.z_largest, orders + k
                ),
            )
        return sides

    cdef void evaluate_between(
        self, const TestBlock* tests, intp_t low, intp_t high, float64_t left,
        float64_t right, float64_t* out,
    ) noexcept nogil:
        # A child's cost, as a total over rows, never falls when a row is added. So
        # any test between two costs at least the floor of the left child of the
        # lower (`left`) and that of the right child of the higher one (`right`).
        cdef intp_t middle = (low + high) // 2
        cdef intp_t i
        cdef Sides sides
        if middle == low:
            return
        if left + right > self.ceiling:
            for i in range(low + 1, high):
                out[i] = left + right
            return
        sides = self.evaluate_test(tests, middle, out)
        self.evaluate_between(tests, low, middle, left, sides.right, out)
        self.evaluate_between(tests, middle, high, sides.left, right, out)

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        # More outcomes than two have a larger z, and so a larger divergence.
        cdef intp_t z
        cdef intp_t c
        cdef float64_t n
        cdef float64_t total = 0.0
        for z in range(r):
            n = 0.0
            for c in range(self.n_classes):
                n += counts[z * self.n_classes + c]
            total += self.entropy(counts + z * self.n_classes, n, self.orders)
            total += self.divergences(counts + z * self.n_classes, n, self.orders)
        return self.scale * total
