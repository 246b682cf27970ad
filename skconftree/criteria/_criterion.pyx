"""Impurity criteria, evaluated on blocks of candidate splits.

phi is the impurity of an outcome (child), and a score is the sum of n * phi over the outcomes. A
scan is the split search of a node. block() computes the scores of some binary splits from the
class counts of their left outcomes or, if the criterion is additive, from sums over the classes of
the method phi(), a function of one count. outcomes() computes the score of one split. A method in
Python may raise an exception: it is called up to ATTEMPTS times, and the exception is held until
the scan can raise it. See `_criterion.pxd`.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY, log2, sqrt
from libc.string cimport memcpy, memset

from skconftree.criteria._score cimport ATTEMPTS, TABLE_LIMIT, sum_of   # largest size of a table
from skconftree.criteria._score import raise_undefined
from skconftree.utils._inline cimport ROUNDING      # relative rounding error of sums
from skconftree.utils._lanes cimport LANES, rough_xlog2x    # splits that are scored together
from skconftree.utils._typedefs cimport float32_t

cdef float32_t TINY = 1e-30     # avoids a division by zero for empty children


cdef inline float64_t _rest(float64_t total, float64_t part) noexcept nogil:
    # total - part. With fractional weights, 0 becomes a rounding error, whose square
    # root is large.
    cdef float64_t rest = total - part
    return rest if rest > ROUNDING * total else 0.0


cdef class Criterion(Score):
    """Base class of the criteria."""

    def __init__(self, intp_t n_classes):
        self.n_classes = n_classes
        self.concave = True  # splitting never raises the score
        self.unit = 1.0  # scikit-learn's impurity = unit * phi
        self.table_size = 0

    def __reduce__(self):
        return type(self), (self.n_classes,)

    def check(self):
        """Raise ``NotImplementedError`` if a method is missing that a scan needs."""
        super().check()
        if <void*> self.node == <void*> Criterion.node:
            raise_undefined(self, "node")

    cdef void begin(self, const NodeStats* stats) noexcept nogil:
        self.total = stats.counts
        self.n = stats.n

    cdef float64_t node(self, const float64_t* counts, float64_t n) noexcept nogil:
        # n * phi of one set of counts
        return 0.0

    cdef float64_t impurity(self, const float64_t* counts, float64_t n) noexcept nogil:
        return self.unit * self.node(counts, n) / n

    cdef void rough_scores(
        self, const float32_t* left, intp_t n, float32_t* scores, float32_t* n_left
    ) noexcept nogil:
        # Approximate scores per row, from `left`: shares of the node's rows, [n_classes, LANES].
        pass

    def impurities(self, const float64_t[:, ::1] counts not None):
        """Return the impurity of nodes, in scikit-learn's units; 0 of empty nodes."""
        out = np.zeros(counts.shape[0])
        cdef float64_t[::1] values = out
        cdef float64_t n
        cdef intp_t i
        for i in range(counts.shape[0]):
            n = sum_of(&counts[i, 0], self.n_classes)
            if n > 0.0:
                values[i] = self.impurity(&counts[i, 0], n)
        return out

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        cdef float64_t n, score = 0.0
        cdef intp_t z
        for z in range(r):
            n = sum_of(counts + z * self.n_classes, self.n_classes)
            if n > 0.0:
                score += self.node(counts + z * self.n_classes, n)
        return score


cdef class Gini(Criterion):
    """Gini index, 1 - sum p^2."""

    def __init__(self, intp_t n_classes):
        super().__init__(n_classes)
        self.additive = True

    cdef float64_t phi(self, float64_t count) noexcept nogil:
        return count * count

    cdef float64_t node(self, const float64_t* counts, float64_t n) noexcept nogil:
        cdef float64_t squares = 0.0
        cdef intp_t c
        for c in range(self.n_classes):
            squares += counts[c] * counts[c]
        return n - squares / n

    cdef void rough_scores(
        self, const float32_t* left, intp_t n, float32_t* scores, float32_t* n_left
    ) noexcept nogil:
        cdef float32_t squares_left[LANES]
        cdef float32_t squares_right[LANES]
        cdef float32_t share, l, r, n_right
        cdef intp_t c, b
        for b in range(n):
            squares_left[b] = 0.0
            squares_right[b] = 0.0
            n_left[b] = 0.0
        for c in range(self.n_classes):
            share = <float32_t> (self.total[c] / self.n)
            for b in range(n):
                l = left[c * LANES + b]
                r = share - l
                squares_left[b] += l * l
                squares_right[b] += r * r
                n_left[b] += l
        for b in range(n):
            n_right = max(<float32_t> 1.0 - n_left[b], TINY)
            scores[b] = 1.0 - squares_left[b] / max(n_left[b], TINY)
            scores[b] -= squares_right[b] / n_right

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        # Class weights may be so unequal that the weight of the right child is lost in the
        # rounding of n. Such a split separates no weight and is never the best one.
        cdef intp_t i, c
        cdef intp_t K = self.n_classes
        cdef float64_t n = self.n
        cdef float64_t l0, l1, r0, r1, nl, nr, squares_left, squares_right
        cdef const float64_t* left
        if splits.phi_left != NULL:
            for i in range(splits.size):
                nl = splits.n_left[i]
                out[i] = n - splits.phi_left[i] / nl - splits.phi_right[i] / (n - nl)
        elif K == 2:
            # a common denominator, because division is the most expensive operation here;
            # 0 / 0 is NaN, which is not less than any score
            with cython.cdivision(True):
                for i in range(splits.size):
                    l0 = splits.left[2 * i]
                    l1 = splits.left[2 * i + 1]
                    r0 = self.total[0] - l0
                    r1 = self.total[1] - l1
                    nl = splits.n_left[i]
                    nr = n - nl
                    out[i] = 2.0 * (l0 * l1 * nr + r0 * r1 * nl) / (nl * nr)
        else:
            for i in range(splits.size):
                left = splits.left + i * K
                nl = splits.n_left[i]
                squares_left = 0.0
                squares_right = 0.0
                for c in range(K):
                    l0 = left[c]
                    r0 = self.total[c] - l0
                    squares_left += l0 * l0
                    squares_right += r0 * r0
                nr = n - nl
                out[i] = INFINITY
                if nr > 0.0 and nl > 0.0:
                    out[i] = n - squares_left / nl - squares_right / nr


cdef class Entropy(Criterion):
    """Shannon entropy; phi is half of it, in bits."""

    def __init__(self, intp_t n_classes):
        super().__init__(n_classes)
        self.unit = 2.0
        self.additive = True
        self._phi_of_classes = np.empty(n_classes)
        self.phi_of_classes = &self._phi_of_classes[0]

    def reserve(self, intp_t n_max):
        """Tabulate phi of 0, 1, ..., n_max."""
        cdef intp_t size = TABLE_LIMIT if n_max >= TABLE_LIMIT else n_max + 1
        cdef intp_t i
        self._table = np.empty(size)
        self.table = &self._table[0]
        for i in range(size):
            self.table[i] = self.phi(i)
        self.table_size = size

    cdef void begin(self, const NodeStats* stats) noexcept nogil:
        Criterion.begin(self, stats)
        self.tabulated = self.table_size if stats.integral else 0  # all counts are integers

    def impurities(self, const float64_t[:, ::1] counts not None):
        # Counts may be reweighted. A new object without tables is used because threads that
        # read a model share this one with the thread that trains it.
        return Criterion.impurities(type(self)(self.n_classes), counts)

    cdef float64_t phi(self, float64_t count) noexcept nogil:
        return 0.5 * count * log2(count) if count > 0.0 else 0.0

    cdef inline float64_t xlogx(self, float64_t count) noexcept nogil:
        # a difference of fractional sums may be slightly negative by rounding
        if count <= 0.0:
            return 0.0
        if count < self.tabulated:
            return self.table[<intp_t> count]
        return 0.5 * count * log2(count)

    cdef float64_t node(self, const float64_t* counts, float64_t n) noexcept nogil:
        cdef float64_t total = self.xlogx(n)
        cdef intp_t c
        for c in range(self.n_classes):
            total -= self.xlogx(counts[c])
        return total

    cdef void rough_scores(
        self, const float32_t* left, intp_t n, float32_t* scores, float32_t* n_left
    ) noexcept nogil:
        # The logarithm of the node's weight is the same in all outcomes and cancels.
        cdef float32_t share, l, r
        cdef intp_t c, b
        for b in range(n):
            scores[b] = 0.0
            n_left[b] = 0.0
        for c in range(self.n_classes):
            if not self.total[c] > 0.0:
                continue
            share = <float32_t> (self.total[c] / self.n)
            for b in range(n):
                l = left[c * LANES + b]
                r = share - l       # may be slightly negative by rounding
                scores[b] -= rough_xlog2x(l) + rough_xlog2x(r)
                n_left[b] += l
        for b in range(n):
            r = <float32_t> 1.0 - n_left[b]
            scores[b] += rough_xlog2x(n_left[b]) + rough_xlog2x(r)
            scores[b] *= <float32_t> 0.5

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef intp_t i, c
        cdef intp_t K = self.n_classes
        cdef float64_t nl, score
        cdef const float64_t* left
        for i in range(splits.size):
            nl = splits.n_left[i]
            score = self.xlogx(nl) + self.xlogx(self.n - nl)
            if splits.phi_left != NULL:
                score -= splits.phi_left[i] + splits.phi_right[i]
            elif self.tabulated == 0:
                # consecutive splits often have the same count of a class
                left = splits.left + i * K
                for c in range(K):
                    if i == 0 or left[c] != left[c - K]:
                        self.phi_of_classes[c] = (
                            self.xlogx(left[c]) + self.xlogx(self.total[c] - left[c])
                        )
                    score -= self.phi_of_classes[c]
            else:
                left = splits.left + i * K
                for c in range(K):
                    score -= self.xlogx(left[c]) + self.xlogx(self.total[c] - left[c])
            out[i] = score


cdef class KearnsMansour(Criterion):
    """Kearns-Mansour index, half the sum of sqrt(p (1 - p)) over the classes."""

    cdef float64_t node(self, const float64_t* counts, float64_t n) noexcept nogil:
        cdef float64_t total = 0.0
        cdef intp_t c
        for c in range(self.n_classes):
            total += sqrt(counts[c] * _rest(n, counts[c]))
        return 0.5 * total

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef intp_t i, c
        cdef intp_t K = self.n_classes
        cdef float64_t nl, nr, l, r, score
        cdef const float64_t* left
        if K == 2:
            for i in range(splits.size):
                left = splits.left + 2 * i
                out[i] = sqrt(left[0] * left[1]) + sqrt(
                    _rest(self.total[0], left[0]) * _rest(self.total[1], left[1])
                )
            return
        for i in range(splits.size):
            left = splits.left + i * K
            nl = splits.n_left[i]
            nr = self.n - nl
            score = 0.0
            for c in range(K):
                l = left[c]
                r = _rest(self.total[c], l)
                score += sqrt(l * _rest(nl, l)) + sqrt(r * _rest(nr, r))
            out[i] = 0.5 * score


cdef class Error(Criterion):
    """Misclassification rate, 1 - max p."""

    cdef float64_t node(self, const float64_t* counts, float64_t n) noexcept nogil:
        cdef float64_t largest = 0.0
        cdef intp_t c
        for c in range(self.n_classes):
            largest = max(largest, counts[c])
        return n - largest

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef intp_t i, c
        cdef intp_t K = self.n_classes
        cdef float64_t largest_left, largest_right
        cdef const float64_t* left
        for i in range(splits.size):
            left = splits.left + i * K
            largest_left = left[0]
            largest_right = self.total[0] - left[0]
            for c in range(1, K):
                largest_left = max(largest_left, left[c])
                largest_right = max(largest_right, self.total[c] - left[c])
            out[i] = self.n - largest_left - largest_right


cdef class GainRatio(Entropy):
    """Entropy within a feature; features compete by their gain ratios."""

    def __init__(self, intp_t n_classes):
        super().__init__(n_classes)
        self.by_ratio = True


cdef class EC2(Gini):
    """Equivalence class edge cutting.

    An edge joins two rows of different classes. The best split cuts the largest
    expected number of edges. The score is the share of all pairs that are uncut edges,
    so that the score of no split is the Gini index.
    """

    def __init__(self, intp_t n_classes):
        super().__init__(n_classes)
        self.concave = False

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef intp_t i, c
        cdef intp_t K = self.n_classes
        cdef float64_t n = self.n
        cdef float64_t nl, nr, rest, squares_left, squares_right
        cdef const float64_t* left
        for i in range(splits.size):
            nl = splits.n_left[i]
            nr = n - nl
            if splits.phi_left != NULL:
                squares_left = splits.phi_left[i]
                squares_right = splits.phi_right[i]
            else:
                left = splits.left + i * K
                squares_left = 0.0
                squares_right = 0.0
                for c in range(K):
                    rest = self.total[c] - left[c]
                    squares_left += left[c] * left[c]
                    squares_right += rest * rest
            out[i] = (nl * (nl * nl - squares_left) + nr * (nr * nr - squares_right)) / (n * n)

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        cdef float64_t score = 0.0, n, squares
        cdef intp_t z, c
        for z in range(r):
            n = 0.0
            squares = 0.0
            for c in range(self.n_classes):
                n += counts[z * self.n_classes + c]
                squares += counts[z * self.n_classes + c] ** 2
            score += n * (n * n - squares)
        return score / (self.n * self.n)


cdef class Balance(Gini):
    """Maximize the number of rows of the smallest outcome, ignoring classes.

    The score is the Gini index of the node minus the share of rows of the smallest
    outcome, so that the score of no split is the Gini index.
    """

    def __init__(self, intp_t n_classes):
        super().__init__(n_classes)
        self.concave = False

    cdef void begin(self, const NodeStats* stats) noexcept nogil:
        Criterion.begin(self, stats)
        self.parent_score = self.node(stats.counts, stats.n)

    cdef float64_t score_of_smallest(self, float64_t smallest) noexcept nogil:
        # With class weights an outcome may have weight 0; this is not a split.
        return smallest if smallest > 0.0 else 0.0

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef intp_t i
        for i in range(splits.size):
            out[i] = self.parent_score - self.score_of_smallest(
                min(splits.n_left[i], self.n - splits.n_left[i])
            )

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        cdef float64_t smallest = INFINITY
        cdef intp_t z
        if r == 1:
            return self.parent_score
        for z in range(r):
            smallest = min(smallest, sum_of(counts + z * self.n_classes, self.n_classes))
        return self.parent_score - self.score_of_smallest(smallest)


cdef class Imbalance(Balance):
    """Minimize the number of rows of the smallest outcome, ignoring classes.

    The score is the Gini index of the node minus the share of the other rows.
    """

    cdef float64_t score_of_smallest(self, float64_t smallest) noexcept nogil:
        return self.n - smallest if smallest > 0.0 else 0.0


cdef float64_t outcome_entropy(const float64_t* weights, intp_t r) noexcept nogil:
    # Half the entropy, in bits, of the distribution of rows over outcomes.
    cdef float64_t n = sum_of(weights, r)
    cdef float64_t entropy = 0.0
    cdef intp_t z
    for z in range(r):
        if weights[z] > 0.0:
            entropy -= weights[z] / n * log2(weights[z] / n)
    return 0.5 * entropy


cdef class PythonCriterion(Criterion):
    """Calls the `impurity` of a criterion object, which is written in Python."""

    cdef object criterion

    def __init__(self, criterion, intp_t n_classes):
        super().__init__(n_classes)
        self.criterion = criterion
        self.concave = False    # the split search must not leave out candidates

    def __reduce__(self):
        return type(self), (self.criterion, self.n_classes)

    def impurities(self, const float64_t[:, ::1] counts not None):
        # See Criterion.impurities.
        table = np.array(counts)
        out = np.zeros(len(table))
        present = table.sum(axis=1) > 0.0
        if present.any():
            result = np.asarray(self.criterion.impurity(table[present]))
            if result.shape != (present.sum(),) or not np.isfinite(result).all():
                raise ValueError(
                    f"{type(self.criterion).__name__}.impurity must return one finite number "
                    f"per row of counts. Got {result!r} for counts of shape "
                    f"{table[present].shape}."
                )
            out[present] = result
        return out

    cdef void fill(
        self, const float64_t* counts, intp_t m, bint are_splits, float64_t* out
    ) noexcept nogil:
        # Set `out` to the totals n * phi of m sets of counts. If `are_splits`, the counts are
        # those of left outcomes, and the totals those of both outcomes. 0 after an exception.
        cdef const float64_t[::1] totals
        memset(out, 0, m * sizeof(float64_t))
        if self.has_failed:  # all attempts of an earlier call
            return
        with gil:
            for _ in range(ATTEMPTS):
                try:
                    totals = self._totals(counts, m, are_splits)
                    memcpy(out, &totals[0], m * sizeof(float64_t))
                    return
                except BaseException as error:
                    self.hold(error)
            self.has_failed = True

    cdef object _totals(self, const float64_t* counts, intp_t m, bint are_splits):
        cdef float64_t[:, ::1] table = np.empty((m, self.n_classes))
        memcpy(&table[0, 0], counts, m * self.n_classes * sizeof(float64_t))
        left = np.asarray(table)
        n = left.sum(axis=1)
        totals = n * self.impurities(left)
        if are_splits:
            right = np.empty_like(left)
            for c in range(self.n_classes):
                right[:, c] = np.maximum(self.total[c] - left[:, c], 0.0)
            totals += right.sum(axis=1) * self.impurities(right)
            totals[(n <= 0.0) | (n >= self.n)] = INFINITY    # not a split
        return totals

    cdef float64_t node(self, const float64_t* counts, float64_t n) noexcept nogil:
        cdef float64_t total
        self.fill(counts, 1, False, &total)
        return total

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        self.fill(splits.left, splits.size, True, out)


CRITERIA = {
    "entropy": Entropy,
    "log_loss": Entropy,
    "gini": Gini,
    "kearns_mansour": KearnsMansour,
    "error": Error,
    "gain_ratio": GainRatio,
    "ec2": EC2,
    "balance": Balance,
    "imbalance": Imbalance,
}


def criterion_maker(criterion):
    """Return a function of the number of classes that makes a criterion, or None.

    `criterion` is a name, a compiled class or a `BaseCriterion`.
    """
    if isinstance(criterion, str):
        return CRITERIA.get(criterion)
    if isinstance(criterion, type):
        return criterion if issubclass(criterion, Criterion) else None
    return getattr(criterion, "kernel", None)
