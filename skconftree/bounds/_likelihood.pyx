"""Logarithm of the Dirichlet-multinomial likelihood of splits.

For class counts ``n_1 .. n_K`` of one outcome and a prior Dirichlet(a, ..., a),
a label sequence has probability::

    log DM = lgamma(K a) - lgamma(n + K a) + sum_c [ lgamma(n_c + a) - lgamma(a) ]

and a split has the product over its outcomes (children). A `Score` is a function of class
counts that the split search minimizes, for a block of candidate splits at a time. It is additive
if it can use sums over the classes of a function phi of one count.
"""

import numpy as np
from libc.math cimport M_PI, log
from scipy.special.cython_special cimport gammaln

from skconftree.bounds._contract cimport NodeStats, Score, SplitBlock
from skconftree.criteria._score cimport TABLE_LIMIT, sum_of     # largest size of a table
from skconftree.utils._typedefs cimport float64_t, intp_t

cdef enum:
    MIN_STIRLING = 32       # for larger integers: Stirling's series, with an error below 2e-14


cdef float64_t[::1] log_gamma_table(float64_t a, intp_t size):
    # lgamma(i + a) - lgamma(a) for i = 0, 1, ..., size - 1.
    table = np.empty(size)
    cdef float64_t[::1] out = table
    cdef float64_t first = gammaln(a)
    cdef float64_t shift = 0.5 * log(2.0 * M_PI) - first
    cdef float64_t x, inverse, square
    cdef intp_t i
    with nogil:
        for i in range(min(size, MIN_STIRLING)):
            out[i] = gammaln(i + a) - first
        for i in range(MIN_STIRLING, size):
            x = i + a
            inverse = 1.0 / x
            square = inverse * inverse
            out[i] = (x - 0.5) * log(x) - x + shift + inverse * (
                1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0)
            )
    return out


cdef class DirichletScore(Score):
    """Minus the log Dirichlet-multinomial likelihood of each split.

    `a` is the pseudo-count of each of the `n_classes` (K) classes. phi() is the term of
    one class in one outcome, total() the term of an outcome.
    """

    def __cinit__(self, intp_t n_classes, float64_t a):
        self.n_classes = n_classes
        self.additive = True
        self.a = a
        self.log_gamma_a = gammaln(a)
        self.log_gamma_total = gammaln(n_classes * a)
        self.node_counts = np.zeros(n_classes)
        self.table_size = 0

    def reserve(self, intp_t n_max):
        """Tabulate the terms of integer counts; see `Score.reserve`."""
        cdef intp_t size = min(n_max, TABLE_LIMIT) + 1
        if size > self.table_size:
            self.class_terms = log_gamma_table(self.a, size)
            self.total_terms = log_gamma_table(self.n_classes * self.a, size)
            self.table_size = size

    def __reduce__(self):
        return (type(self), (self.n_classes, self.a))

    cdef void begin(self, const NodeStats* stats) noexcept nogil:
        cdef intp_t c
        self.node_total = stats.n
        self.tabulated = stats.integral and stats.n < self.table_size
        for c in range(self.n_classes):
            self.node_counts[c] = stats.counts[c]

    cdef float64_t phi(self, float64_t count) noexcept nogil:
        cdef intp_t i
        if count < self.table_size:
            i = <intp_t> count
            if <float64_t> i == count:
                return self.class_terms[i]
        return gammaln(count + self.a) - self.log_gamma_a

    cdef float64_t total(self, float64_t n) noexcept nogil:
        # Term of an outcome with n rows: lgamma(n + K a) - lgamma(K a).
        cdef intp_t i
        if n < self.table_size:
            i = <intp_t> n
            if <float64_t> i == n:
                return self.total_terms[i]
        return gammaln(n + self.n_classes * self.a) - self.log_gamma_total

    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef intp_t i, c
        cdef float64_t phis
        cdef const float64_t* left
        if self.tabulated:
            self.block_of_integers(splits, out)
            return
        for i in range(splits.size):
            if splits.phi_left != NULL:
                phis = splits.phi_left[i] + splits.phi_right[i]
            else:
                left = splits.left + i * self.n_classes
                phis = 0.0
                for c in range(self.n_classes):
                    phis += self.phi(left[c]) + self.phi(self.node_counts[c] - left[c])
            out[i] = (
                self.total(splits.n_left[i])
                + self.total(self.node_total - splits.n_left[i])
                - phis
            )

    cdef void block_of_integers(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef const float64_t* class_term = &self.class_terms[0]
        cdef const float64_t* total_term = &self.total_terms[0]
        cdef const float64_t* node = &self.node_counts[0]
        cdef intp_t n = <intp_t> self.node_total
        cdef intp_t i, c, count, count_0, count_1
        cdef intp_t node_0 = <intp_t> node[0]
        cdef intp_t node_1 = n - node_0
        cdef float64_t phis
        cdef const float64_t* left
        if splits.phi_left != NULL:
            for i in range(splits.size):
                count = <intp_t> splits.n_left[i]
                out[i] = total_term[count] + total_term[n - count] - (
                    splits.phi_left[i] + splits.phi_right[i]
                )
        elif self.n_classes == 2:
            for i in range(splits.size):
                count_0 = <intp_t> splits.left[2 * i]
                count_1 = <intp_t> splits.left[2 * i + 1]
                count = count_0 + count_1
                out[i] = total_term[count] + total_term[n - count] - (
                    class_term[count_0] + class_term[node_0 - count_0]
                    + (class_term[count_1] + class_term[node_1 - count_1])
                )
        else:
            for i in range(splits.size):
                left = splits.left + i * self.n_classes
                phis = 0.0
                for c in range(self.n_classes):
                    count = <intp_t> left[c]
                    phis += class_term[count] + class_term[<intp_t> node[c] - count]
                count = <intp_t> splits.n_left[i]
                out[i] = total_term[count] + total_term[n - count] - phis

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        cdef intp_t z
        cdef float64_t out = 0.0
        for z in range(r):
            out -= self.log_likelihood(counts + z * self.n_classes)
        return out

    cdef float64_t log_likelihood(self, const float64_t* counts) noexcept nogil:
        cdef intp_t c
        cdef float64_t n = 0.0, out = 0.0
        for c in range(self.n_classes):
            n += counts[c]
            out += self.phi(counts[c])
        return out - self.total(n)


cdef float64_t largest_log_likelihood(const float64_t* counts, intp_t n_classes) noexcept nogil:
    # log L0: likelihood of the labels under the class distribution that maximizes it.
    cdef intp_t c
    cdef float64_t n = sum_of(counts, n_classes)
    cdef float64_t out = 0.0
    for c in range(n_classes):
        if counts[c] > 0.0:
            out += counts[c] * log(counts[c] / n)
    return out


cdef log_likelihood_ratio(tables, DirichletScore score, bint against_best):
    cdef intp_t r = tables.shape[tables.ndim - 2]
    cdef intp_t K = score.n_classes
    cdef const float64_t[:, ::1] counts = tables.reshape(-1, r * K)
    cdef const float64_t[:, ::1] node = np.ascontiguousarray(tables.sum(axis=-2)).reshape(-1, K)
    out = np.empty(counts.shape[0])
    cdef float64_t[::1] log_ratio = out
    cdef intp_t i
    with nogil:
        for i in range(counts.shape[0]):
            log_ratio[i] = -score.outcomes(&counts[i, 0], r) - (
                largest_log_likelihood(&node[i, 0], K) if against_best
                else score.log_likelihood(&node[i, 0])
            )
    return out.reshape(tables.shape[: tables.ndim - 2])[()]
