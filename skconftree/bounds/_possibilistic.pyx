"""Possibilistic cumulative entropy, and the bound of possibilistic trees (PiTree)."""

import numpy as np
from libc.math cimport INFINITY, expm1, log, log1p, sqrt
from libc.string cimport memcpy
from scipy.special import ndtri as normal_quantile
from scipy.special.cython_special cimport ndtri

from skconftree._compat import Interval, RealNotInt, StrOptions
from skconftree.bounds._base import (
    BaseBound,
    TreeDefaults,
    check_choice,
    check_counts,
    check_range,
)
from skconftree.bounds._contract cimport IntervalBound, NodeStats, Score, SplitEvidence, SplitBlock
from skconftree.criteria._score cimport TABLE_LIMIT, sum_of
from skconftree.utils._inline cimport ROUNDING
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t, uint64_t

# A bound is a split rule, its kernel the compiled object. A floor is a certified lower limit of
# the entropy of a child. Imported names: a Score is a function of class counts that the split
# search (scan) minimizes, for a SplitBlock: candidate splits of one feature. In a nested block,
# each left child contains the rows of the one before. NodeStats are the counts of the node:
# integral if they are integers, cuts_only if all candidates are thresholds, and pool is the
# weight of labeled and unlabeled rows. An IntervalBound splits if the sum of the children's
# costs, here their entropies, is below the node's `limit`. SplitEvidence contains the numbers
# stored with a split. Outcomes are children. An Arena owns scratch memory. ROUNDING is a
# relative tolerance, TABLE_LIMIT the largest size of a lookup table.

cdef float64_t LN2 = 0.6931471805599453


cdef float64_t upper_limit(float64_t p, float64_t n, float64_t z) noexcept nogil:
    # Agresti-Coull upper limit of a frequency.
    cdef float64_t z2 = z * z
    cdef float64_t m = n + z2
    cdef float64_t center
    if not m > 0.0:
        return 1.0
    center = (p * n + 0.5 * z2) / m
    return min(1.0, center + z * sqrt(center * (1.0 - center) / m))


cdef intp_t n_absent(const float64_t* counts, intp_t n_classes, bint present) noexcept nogil:
    # Number of classes that are left out of a node's entropies. If `present`, these are the
    # classes without rows, but at least two classes remain. The children have no rows of these
    # classes either, so they come first in every ascending order.
    cdef intp_t absent = 0, c
    if not present:
        return 0
    for c in range(n_classes):
        absent += counts[c] <= 0.0
    return min(absent, n_classes - 2)


cdef float64_t cumulative_entropy(
    const float64_t* counts, intp_t n_classes, intp_t first, float64_t n, float64_t z,
    intp_t* order,
) noexcept nogil:
    # Without the `first` rarest classes. T is a cumulated class frequency, pi its upper limit
    # (`t`, twice `limit`). The last class has T = pi = 1 and the term ln 2.
    cdef intp_t j
    cdef float64_t below = 0.0, t, limit
    cdef float64_t total = LN2
    if not n > 0.0:
        return 1.0
    sort_order(order, counts, n_classes)
    for j in range(first, n_classes - 1):
        below += counts[order[j]]
        t = below / n
        limit = 0.5 * upper_limit(t, n, z)
        total -= (1.0 - 0.5 * t) * log1p(-limit)
        if t > 0.0:
            total -= 0.5 * t * log(limit)
    return total / ((n_classes - first) * LN2)


cdef float64_t corrected_quantile(float64_t delta, float64_t comparisons) noexcept nogil:
    # Dunn-Sidak correction: each limit has the level 1 - (1 - delta)^(1 / comparisons).
    return -ndtri(-0.5 * expm1(log1p(-delta) / comparisons))


# Cells of PossibilisticFloor along either axis: 32 octaves (doublings) from FIRST_EDGE on.
cdef enum:
    CELL_BITS = 5           # 32 cells per octave
    CELLS = 1024
    FIRST_CELL = 32544      # leading bits of FIRST_EDGE = 2^-6: (1023 - 6) << CELL_BITS
cdef float64_t FIRST_EDGE = 1.0 / 64.0
# Floor and cost may be equal; rounding must not make the floor larger.
cdef float64_t SHRINK = 1.0 - ROUNDING


cdef inline intp_t cell_of(float64_t x) noexcept nogil:
    # The leading bits of a positive double are a piecewise linear logarithm.
    cdef uint64_t bits
    x = max(x, 0.0) + FIRST_EDGE    # a difference of sums may be slightly negative
    memcpy(&bits, &x, 8)
    return min(<intp_t> (bits >> (52 - CELL_BITS)) - FIRST_CELL, CELLS - 1)


cdef float64_t cell_edge(intp_t cell) noexcept nogil:
    # The smallest x of a cell.
    cdef uint64_t bits = <uint64_t> (cell + FIRST_CELL) << (52 - CELL_BITS)
    cdef float64_t x
    memcpy(&x, &bits, 8)
    return x - FIRST_EDGE


cdef float64_t excess(float64_t count, float64_t n) noexcept nogil:
    # The function g of PossibilisticFloor: n times the divergence of T / 2 from half its upper
    # limit for z = 1. T = count / n is a cumulated class frequency.
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
    """Sum of the children's cumulative entropies, with a lower bound of the divergence.

    Cross entropy is entropy plus divergence. With f(x) = x ln x the entropy of each
    term is (f(2n) - f(C) - f(2n - C)) / 2, where C is a sum of counts. The divergence
    depends on z only through the scale of the counts: it is z^2 g(C / z^2, n / z^2).
    Because g decreases with C and increases with n, its value at a corner of a cell of
    the (C, n) plane is a lower bound in the whole cell. Cells are 1/32 of an octave
    wide and are computed when they are first used.

    With more than two classes, a candidate split costs a sort and a sum over the
    classes. If the children's floors at two thresholds show that all candidates between
    them are worse than another candidate, or than no split, one floor is used for all
    candidates between them.
    """

    def __cinit__(self, n_classes, delta, all_tests, present):
        # `all_tests`: z is corrected for the number of candidate splits; `present`: see n_absent()
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
        self.cells = <float32_t*> self.arena.take_zeros(CELLS * CELLS, sizeof(float32_t))
        self.orders = <intp_t*> self.arena.take(2 * self.n_classes, sizeof(intp_t))
        self.right = <float64_t*> self.arena.take_zeros(self.n_classes, sizeof(float64_t))
        for c in range(self.n_classes):
            self.orders[c] = c
            self.orders[self.n_classes + c] = c

    def reserve(self, intp_t n_max):
        """Tabulate f(k) / 2 = k ln(k) / 2 of integers, if all counts are integers."""
        cdef intp_t size = min(n_max, TABLE_LIMIT)
        k = np.arange(2.0 * size + 1.0)
        k[1:] *= 0.5 * np.log(k[1:])
        self.table = k
        self.half_f = &self.table[0]
        self.table_size = size + 1

    cdef void begin(self, const NodeStats* stats) noexcept nogil:
        self.counts = stats.counts
        self.n = stats.n
        self.tabulated = stats.integral and stats.n < self.table_size
        self.n_candidates = 0.0
        self.corrected = 1.0  # number of candidates when z2 was last updated
        self.z2 = self.base_z2
        if self.n_classes > 2:
            self.first = n_absent(self.counts, self.n_classes, self.present)
            self.scale = SHRINK / ((self.n_classes - self.first) * LN2)
            self.margin = 1e-9 * max(stats.n, stats.pool)   # for rounding
            self.smallest = INFINITY    # score so far; splits above `ceiling` cannot be the best
            self.ceiling = self.margin + self.n * cumulative_entropy(
                self.counts, self.n_classes, self.first, self.n, self.z_node, self.orders,
            )
            self.z_largest = sqrt(self.base_z2)
            if self.all_tests:
                # without integer counts, the number of rows, and so of candidates, may
                # exceed any multiple of n; so may the number of sets of categories
                self.z_largest = INFINITY
                if stats.integral and stats.cuts_only:
                    self.z_largest = corrected_quantile(
                        self.delta, 2.0 * stats.n * stats.n_features
                    )

    cdef void correct(self, float64_t n_candidates) noexcept nogil:
        # Set z of the node's candidate splits; all of them have been counted.
        self.n_candidates = -1.0  # block() no longer counts them
        self.z2 = corrected_quantile(self.delta, 2.0 * n_candidates) ** 2

    cdef inline float64_t f(self, float64_t x) noexcept nogil:
        if self.tabulated:
            return self.half_f[<intp_t> x]
        return 0.5 * x * log(x) if x > 0.0 else 0.0

    cdef float32_t fill(self, intp_t row, intp_t column) noexcept nogil:
        # The corner of the cell with the smallest n and the largest count.
        cdef float64_t value = 0.0
        if column < CELLS - 1:
            value = excess(cell_edge(column + 1), cell_edge(row))
        self.cells[row * CELLS + column] = <float32_t> max(value * (1.0 - 1e-6), 1e-30)
        return self.cells[row * CELLS + column]

    cdef inline float64_t divergence(
        self, float64_t count, float64_t n, float64_t scale
    ) noexcept nogil:
        # Floor of n times the divergence, in units of z^2; scale is 1 / z^2.
        cdef intp_t row = cell_of(n * scale)
        cdef intp_t column = cell_of(count * scale)
        cdef float32_t value = self.cells[row * CELLS + column]
        if value == 0.0:
            return self.fill(row, column)
        return value

    cdef float64_t entropy(
        self, const float64_t* counts, float64_t n, intp_t* order
    ) noexcept nogil:
        # Of one child. Sorts the order, which divergences() uses.
        cdef const float64_t* half_f = self.half_f
        cdef intp_t first = self.first
        cdef float64_t total = n * LN2 + (self.n_classes - first - 1) * self.f(2.0 * n)
        cdef float64_t below = 0.0
        cdef intp_t below_int = 0, j
        sort_order(order, counts, self.n_classes)
        if self.tabulated:
            for j in range(first, self.n_classes - 1):
                below_int += <intp_t> counts[order[j]]
                total -= half_f[below_int] + half_f[2 * <intp_t> n - below_int]
            return total
        for j in range(first, self.n_classes - 1):
            below += counts[order[j]]
            total -= self.f(below) + self.f(2.0 * n - below)
        return total

    cdef float64_t divergences(
        self, const float64_t* counts, float64_t n, const intp_t* order
    ) noexcept nogil:
        cdef float64_t unit = 1.0 / self.z2
        cdef float64_t below = 0.0, total = 0.0
        cdef intp_t j
        for j in range(self.first, self.n_classes - 1):
            below += counts[order[j]]
            total += self.divergence(below, n, unit)
        return self.z2 * total

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef Sides first, last
        cdef intp_t i
        if self.all_tests and self.n_candidates >= 0.0:
            # The node has at least the candidates seen so far.
            self.n_candidates += splits.size
            if self.n_candidates >= 2.0 * self.corrected:
                self.corrected = self.n_candidates
                self.z2 = corrected_quantile(self.delta, 2.0 * self.n_candidates) ** 2
        if self.n_classes == 2:
            self.block_of_two(splits, out)
            return
        if not splits.nested:
            for i in range(splits.size):
                self.score_split(splits, i, out)
            return
        first = self.score_split(splits, 0, out)
        if splits.size > 1:
            last = self.score_split(splits, splits.size - 1, out)
            self.score_between(splits, 0, splits.size - 1, first.left, last.right, out)

    cdef void block_of_two(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef const float64_t* half_f = self.half_f
        cdef float64_t unit = 1.0 / self.z2
        cdef float64_t divergence, n_left, n_right, left, right
        cdef intp_t i, nl, nr, l, r
        for i in range(splits.size):
            n_left = splits.n_left[i]
            n_right = self.n - n_left
            left = min(splits.left[2 * i], splits.left[2 * i + 1])
            right = min(
                self.counts[0] - splits.left[2 * i], self.counts[1] - splits.left[2 * i + 1]
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

    cdef Sides score_split(
        self, const SplitBlock* splits, intp_t i, float64_t* out
    ) noexcept nogil:
        # Returns the floors of both children.
        cdef intp_t k = self.n_classes
        cdef const float64_t* left = splits.left + k * i
        cdef float64_t n_left = splits.n_left[i]
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
                + n_left * cumulative_entropy(left, k, self.first, n_left, self.z_largest, orders)
                + n_right * cumulative_entropy(
                    self.right, k, self.first, n_right, self.z_largest, orders + k
                ),
            )
        return sides

    cdef void score_between(
        self, const SplitBlock* splits, intp_t low, intp_t high, float64_t left,
        float64_t right, float64_t* out,
    ) noexcept nogil:
        # A child's cost, as a total over rows, never decreases if a row is added. The cost
        # of any candidate between two others is therefore at least the floor of the left
        # child of the lower one (`left`) plus that of the right child of the higher one
        # (`right`).
        cdef intp_t middle = (low + high) // 2
        cdef intp_t i
        cdef Sides sides
        if middle == low:
            return
        if left + right > self.ceiling:
            for i in range(low + 1, high):
                out[i] = left + right
            return
        sides = self.score_split(splits, middle, out)
        self.score_between(splits, low, middle, left, sides.right, out)
        self.score_between(splits, middle, high, sides.left, right, out)

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        # More than two outcomes have a larger z, and so a larger divergence: with the z of two,
        # the sum remains a lower limit.
        cdef const float64_t* child
        cdef float64_t n, total = 0.0
        cdef intp_t z
        for z in range(r):
            child = counts + z * self.n_classes
            n = sum_of(child, self.n_classes)
            total += self.entropy(child, n, self.orders)
            total += self.divergences(child, n, self.orders)
        return self.scale * total


cdef class PossibilisticKernel(IntervalBound):
    """Splits iff the possibilistic entropy of the children is below that of the node."""

    cdef public float64_t delta
    cdef intp_t n_classes
    cdef bint all_tests
    cdef bint present
    cdef intp_t first               # number of classes left out, see n_absent()
    cdef PossibilisticFloor floor   # the score
    cdef float64_t comparisons      # factor of the correction in addition to outcomes
    cdef float64_t z_node
    cdef float64_t z_child          # for splits with z_outcomes outcomes
    cdef intp_t z_outcomes
    cdef Arena arena
    cdef intp_t* order

    def __cinit__(self, n_classes, *args):
        cdef intp_t c
        self.n_classes = n_classes
        self.arena = Arena()
        self.order = <intp_t*> self.arena.take(self.n_classes, sizeof(intp_t))
        for c in range(self.n_classes):
            self.order[c] = c

    def __init__(self, n_classes, delta, all_tests, present):
        self.delta = delta
        self.all_tests = all_tests
        self.present = present
        self.first = 0
        self.comparisons = 1.0
        self.z_node = -ndtri(0.5 * self.delta)
        self.z_outcomes = -1
        self.floor = PossibilisticFloor(n_classes, delta, all_tests, present)
        self.score = self.floor

    cdef void node_begin(self, const NodeStats* stats) noexcept nogil:
        if self.all_tests:
            self.comparisons = max(stats.n_candidates, 1.0)
            self.z_outcomes = -1
            self.floor.correct(self.comparisons)
        self.first = n_absent(stats.counts, self.n_classes, self.present)
        self.limit = stats.n * cumulative_entropy(
            stats.counts, self.n_classes, self.first, stats.n, self.z_node, self.order
        )

    cdef float64_t cost(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        if r != self.z_outcomes:
            self.z_outcomes = r
            self.z_child = corrected_quantile(self.delta, r * self.comparisons)
        return n * cumulative_entropy(
            counts, self.n_classes, self.first, n, self.z_child, self.order
        )

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        # Limits are totals over the n labeled rows here, and child_limit was divided by pool.
        evidence.parent_limit = self.limit / stats.n
        evidence.child_limit *= stats.pool / stats.n
        evidence.statistic = 1.0 - self.delta  # the confidence
        return evidence.child_limit < evidence.parent_limit


def agresti_coull_upper(p, n, gamma=0.05):
    """Agresti-Coull upper confidence limit of a frequency.

    Parameters
    ----------
    p : float or array-like
        Observed frequency, in [0, 1].
    n : float or array-like
        Number of rows, not negative. Without rows the limit is 1.
    gamma : float or array-like, default=0.05
        One minus the confidence of the two-sided interval, in (0, 1). Smaller values
        give larger limits.

    Returns
    -------
    limit : float or ndarray
        Upper limits, at least `p` and at most 1. The arguments are broadcast.

    Notes
    -----
    Equation (13) of [1]_, with the square root over all of ``p (1 - p) / n``.

    References
    ----------
    .. [1] M. Serrurier, H. Prade, "Entropy evaluation based on confidence intervals
       of frequency estimates: application to the learning of decision trees",
       ICML 2015.

    Examples
    --------
    >>> from skconftree.bounds import agresti_coull_upper
    >>> agresti_coull_upper([0.2, 0.5], 10).round(4)
    array([0.5206, 0.7634])
    """
    p = check_range("p", p, 0, 1, closed="both")
    n = check_range("n", n, 0, np.inf, closed="left")
    # half of the smallest float would be 0
    half = np.maximum(0.5 * check_range("gamma", gamma, 0, 1), 5e-324)
    z = -normal_quantile(half)
    m = n + z * z
    center = (p * n + 0.5 * z * z) / m
    return np.minimum(1.0, center + z * np.sqrt(center * (1.0 - center) / m))


def possibilistic_entropy(counts, gamma=0.05, *, normalization="qlog2"):
    """Possibilistic cumulative entropy of class counts.

    It is an entropy of cumulated class frequencies, in ascending order. In its
    logarithms, the frequencies are replaced by their upper confidence limits. The value
    increases as the number of rows decreases: it is 1 without rows, and tends to the
    cumulative entropy for many rows.

    Parameters
    ----------
    counts : array-like of shape (..., n_classes)
        Class counts, not negative, with zeros for absent classes.
    gamma : float or array-like of shape (...), default=0.05
        One minus the confidence, in (0, 1). Smaller values give larger entropies. It is
        broadcast against the leading dimensions of `counts`.
    normalization : {"qlog2", "shifted", "qlogq"}, default="qlog2"
        ``"qlog2"`` divides by q log 2, with q classes: the entropy is 1 for total
        ignorance and ``1 / n_classes`` for complete knowledge. ``"shifted"`` maps the
        latter to 0. ``"qlogq"`` divides by q log q, like equation (12) as printed: the
        entropy is ``log(2) / log(n_classes)`` for total ignorance. Trees do not depend
        on it.

    Returns
    -------
    entropy : float or ndarray of shape (...)

    Notes
    -----
    Equations (12) and (14) of [1]_, normalized so that total ignorance is 1.

    References
    ----------
    .. [1] M. Serrurier, H. Prade, "Entropy evaluation based on confidence intervals
       of frequency estimates: application to the learning of decision trees",
       ICML 2015.

    Examples
    --------
    >>> from skconftree.bounds import possibilistic_entropy
    >>> possibilistic_entropy([[5, 2, 3], [50, 20, 30], [0, 0, 0]]).round(4)
    array([0.8178, 0.7671, 1.    ])
    """
    check_choice("normalization", normalization, ("qlog2", "shifted", "qlogq"))
    counts = check_counts(counts)
    z = -normal_quantile(0.5 * check_range("gamma", gamma, 0, 1))
    *leading, k = counts.shape
    shape = np.broadcast_shapes(tuple(leading), z.shape)
    table = np.ascontiguousarray(np.broadcast_to(counts, (*shape, k))).reshape(-1, k)
    cdef const float64_t[:, ::1] rows = table
    cdef const float64_t[::1] n = table.sum(axis=1)
    cdef const float64_t[::1] quantiles = np.ascontiguousarray(
        np.broadcast_to(z, shape)
    ).reshape(-1)
    cdef float64_t[::1] out = np.empty(rows.shape[0])
    cdef intp_t[::1] order = np.arange(k, dtype=np.intp)
    cdef intp_t n_classes = k
    cdef intp_t i
    with nogil:
        for i in range(rows.shape[0]):
            out[i] = cumulative_entropy(&rows[i, 0], n_classes, 0, n[i], quantiles[i], &order[0])
    entropy = np.asarray(out).reshape(shape)[()]
    if normalization == "shifted":
        entropy = np.maximum(k * entropy - 1.0, 0.0) / (k - 1.0)
    elif normalization == "qlogq":
        entropy = entropy * (LN2 / np.log(k))
    return entropy


def possibilistic_quality(leaf_counts, gamma=0.05, *, weighted=True):
    """Possibilistic entropy of a tree, from the class counts of its leaves.

    Parameters
    ----------
    leaf_counts : array-like of shape (n_leaves, n_classes)
        Class counts of every leaf.
    gamma : float, default=0.05
        One minus the confidence, in (0, 1). Smaller values give larger entropies.
    weighted : bool, default=True
        Whether to weight each leaf by its share of the rows. If False, the result is
        the sum printed in the paper, which doubles if every leaf is split without
        benefit.

    Returns
    -------
    quality : float
        Smaller is better.

    Notes
    -----
    Equation (18) of [1]_, with weights.

    References
    ----------
    .. [1] M. Serrurier, H. Prade, "Entropy evaluation based on confidence intervals
       of frequency estimates: application to the learning of decision trees",
       ICML 2015.

    Examples
    --------
    >>> from skconftree.bounds import possibilistic_quality
    >>> round(possibilistic_quality([[40, 5], [3, 30]]), 4)
    0.6662
    """
    leaf_counts = check_counts(leaf_counts, "leaf_counts")
    if leaf_counts.ndim != 2 or not leaf_counts.sum() > 0:
        raise ValueError(
            "leaf_counts must have shape (n_leaves, n_classes) and a positive sum. "
            f"Got shape {leaf_counts.shape}."
        )
    entropy = possibilistic_entropy(leaf_counts, gamma)
    if not weighted:
        return float(entropy.sum())
    return float(np.average(entropy, weights=leaf_counts.sum(axis=1)))


class PossibilisticBound(BaseBound):
    """Split rule that uses the possibilistic entropy (PiTree).

    The entropy of a node is computed from upper confidence limits of its cumulated
    class frequencies, so that it increases as the number of rows decreases. The node is
    split iff the weighted entropy of the children, at a confidence corrected for their
    number, is below that of the node. Unlabeled rows are not used.

    Use it for small trees on small tables. The correction of the paper is weak: on pure
    noise, nearly every node has a candidate split that passes. Set
    ``correction="all_tests"`` to avoid this.

    Parameters
    ----------
    delta : float, default=0.05
        The paper's gamma: one minus the confidence of a node's limits, in the open
        interval (0, 1). Larger values give larger trees. Even small values can split a
        node of two rows.
    correction : {"branches", "all_tests"}, default="branches"
        Number of comparisons in the Dunn-Sidak correction: the outcomes of a split (as
        in the paper), or the outcomes times the candidate splits of the node.
    classes : {"present", "all"}, default="present"
        The classes in the entropy of a node and its children: the classes that the node
        has rows of, which reproduces the accuracies of the paper, or all classes of the
        training set. With ``"all"``, a class without rows adds a confidence limit to the
        entropy of every child, so that trees stop early if there are many classes. With
        two classes both are the same. With `partial_fit`, a young leaf has seen few
        classes, and ``"present"`` splits it early. The published online tree starts from
        a tree that was fitted to the first fifth of the rows.

    Attributes
    ----------
    criteria : tuple of str
        ``"entropy"`` only.

    See Also
    --------
    possibilistic_entropy : The entropy as a function.
    possibilistic_quality : Its mean over the leaves of a tree.

    Notes
    -----
    Equations (12) to (17) of [1]_.

    References
    ----------
    .. [1] M. Serrurier, H. Prade, "Entropy evaluation based on confidence intervals
       of frequency estimates: application to the learning of decision trees",
       ICML 2015.

    Examples
    --------
    >>> from skconftree.bounds import PossibilisticBound
    >>> bound = PossibilisticBound(correction="all_tests")
    >>> bound.evaluate([[12, 8], [8, 12]]).split
    True
    >>> bound.evaluate([[12, 8], [8, 12]], n_tests=1000).split
    False
    """

    # parameters of a tree that are "auto"
    defaults = TreeDefaults(nominal_splits="multiway")
    criteria = ("entropy",)
    counts_every_row = True  # rows that a leaf got from its parent are evidence, too
    # values of delta for param_grid
    levels = (0.001, 0.01, 0.05, 0.2, 0.5)
    _parameter_constraints: dict = {
        "delta": [Interval(RealNotInt, 0, 1, closed="neither")],
        "correction": [StrOptions({"branches", "all_tests"})],
        "classes": [StrOptions({"all", "present"})],
    }

    def __init__(self, delta=0.05, *, correction="branches", classes="present"):
        self.delta = delta
        self.correction = correction
        self.classes = classes

    def _make_kernel(self, criterion, n_classes):
        return PossibilisticKernel(
            n_classes, self.delta, self.correction == "all_tests", self.classes == "present",
        )
