"""Compiled functions with bugs, for the test that the checked build detects them.

The checked build, with bounds and overflow checks, is compiled with ``-Dchecked=true``.
Only that build has these functions, because they would read invalid memory otherwise.
"""

from skconftree.utils._typedefs cimport float64_t, intp_t


cdef float64_t entry(float64_t[::1] values, intp_t i) noexcept nogil:
    return values[i]


cdef intp_t quotient(intp_t a, intp_t b) noexcept nogil:
    return a // b


cdef intp_t total(intp_t a, intp_t b) noexcept nogil:
    return a + b


def read_at(float64_t[::1] values, intp_t i):
    """Read an entry by a `noexcept` function, as most of this package's compiled code."""
    return entry(values, i)


def divide(intp_t a, intp_t b):
    """Divide by a `noexcept` function."""
    return quotient(a, b)


def add(intp_t a, intp_t b):
    """Add by a `noexcept` function."""
    return total(a, b)
