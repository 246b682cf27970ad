"""Kernels without a guard, for the test that the checked build finds bugs.

Compiled with ``-Dchecked=true`` only, so that they read no foreign memory.
"""

from skconftree.utils._typedefs cimport float64_t, intp_t


cdef float64_t entry(float64_t[::1] values, intp_t i) noexcept nogil:
    return values[i]


cdef intp_t quotient(intp_t a, intp_t b) noexcept nogil:
    return a // b


cdef intp_t total(intp_t a, intp_t b) noexcept nogil:
    return a + b


def read_at(float64_t[::1] values, intp_t i):
    """Read an entry the way the kernels do: nothing can be raised."""
    return entry(values, i)


def divide(intp_t a, intp_t b):
    """Divide the way the kernels do: nothing can be raised."""
    return quotient(a, b)


def add(intp_t a, intp_t b):
    """Add the way the kernels do: nothing can be raised."""
    return total(a, b)
