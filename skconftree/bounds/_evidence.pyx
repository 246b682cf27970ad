"""Dirichlet-multinomial likelihood of tests, in logarithms.

For class counts ``n_1 .. n_K`` of one outcome and a prior Dirichlet(a, ..., a),
a label sequence has probability::

    log DM = lgamma(K a) - lgamma(n + K a) + sum_c [ lgamma(n_c + a) - lgamma(a) ]

and a test has the product over its outcomes.
"""

from libc.math cimport log
from scipy.special.cython_special cimport gammaln

import numpy as np

from skconftree.bounds._contract cimport NodeFacts, Score, TestBlock
from skconftree.utils._typedefs cimport float64_t, intp_t

# Two tables of this many doubles stay in the second-level cache and take about
# a tenth of a millisecond to fill; larger counts cost one logarithm each.
cdef enum:
    TABLE_SIZE = 4096


cdef class DirichletScore(Score):
    """Minus the log Dirichlet-multinomial likelihood of each test.

    Parameters
    ----------
    n_classes : int
        Number of classes, fixed in advance.
    a : float
        Pseudo-count of each class.
    """

    def __cinit__(self, intp_t n_classes, float64_t a):
        self.n_classes = n_classes
        self.additive = True
        self.a = a
        self.log_gamma_a = gammaln(a)
        self.log_gamma_total = gammaln(n_classes * a)
        self.node_counts = np.zeros(n_classes)
        # Not through phi() and total(): they read the tables being filled.
        cdef float64_t[::1] class_terms = np.empty(TABLE_SIZE)
        cdef float64_t[::1] total_terms = np.empty(TABLE_SIZE)
        cdef intp_t i
        for i in range(TABLE_SIZE):
            class_terms[i] = gammaln(i + a) - self.log_gamma_a
            total_terms[i] = gammaln(i + n_classes * a) - self.log_gamma_total
        self.class_terms = class_terms
        self.total_terms = total_terms

    def __reduce__(self):
        return (type(self), (self.n_classes, self.a))

    cdef void begin(self, const NodeFacts* facts) noexcept nogil:
        cdef intp_t c
        self.node_total = facts.n
        for c in range(self.n_classes):
            self.node_counts[c] = facts.counts[c]

    cdef float64_t phi(self, float64_t count) noexcept nogil:
        cdef intp_t i
        if count < TABLE_SIZE:
            i = <intp_t> count
            if <float64_t> i == count:
                return self.class_terms[i]
        return gammaln(count + self.a) - self.log_gamma_a

    cdef float64_t total(self, float64_t n) noexcept nogil:
        # What an outcome of n rows costs: lgamma(n + K a) - lgamma(K a).
        cdef intp_t i
        if n < TABLE_SIZE:
            i = <intp_t> n
            if <float64_t> i == n:
                return self.total_terms[i]
        return gammaln(n + self.n_classes * self.a) - self.log_gamma_total

    cdef void block(self, const TestBlock* tests, float64_t* out) noexcept nogil:
        cdef intp_t i
        cdef intp_t c
        cdef float64_t phis
        cdef const float64_t* left
        for i in range(tests.size):
            if tests.phi_left != NULL:
                phis = tests.phi_left[i] + tests.phi_right[i]
            else:
                left = tests.left + i * self.n_classes
                phis = 0.0
                for c in range(self.n_classes):
                    phis += self.phi(left[c]) + self.phi(self.node_counts[c] - left[c])
            out[i] = (
                self.total(tests.n_left[i])
                + self.total(self.node_total - tests.n_left[i])
                - phis
            )

    cdef float64_t outcomes(
        self, const float64_t* counts, intp_t r
    ) noexcept nogil:
        cdef intp_t z
        cdef float64_t out = 0.0
        for z in range(r):
            out -= self.log_likelihood(counts + z * self.n_classes)
        return out

    cdef float64_t log_likelihood(self, const float64_t* counts) noexcept nogil:
        cdef intp_t c
        cdef float64_t n = 0.0
        cdef float64_t out = 0.0
        for c in range(self.n_classes):
            n += counts[c]
            out += self.phi(counts[c])
        return out - self.total(n)


cdef float64_t largest_log_likelihood(
    const float64_t* counts, intp_t n_classes
) noexcept nogil:
    # log L0: of the labels under the one class distribution that fits them best.
    cdef intp_t c
    cdef float64_t n = 0.0
    cdef float64_t out = 0.0
    for c in range(n_classes):
        n += counts[c]
    for c in range(n_classes):
        if counts[c] > 0.0:
            out += counts[c] * log(counts[c] / n)
    return out
