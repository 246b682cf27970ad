"""Compiled functions with bugs, for the test that the checked build detects them.

Built with ``-Dchecked=true`` only, because they would read invalid memory otherwise.
"""

from skconftree.utils._typedefs cimport float64_t, intp_t


cdef float64_t entry(float64_t[::1] values, intp_t i) noexcept nogil:
    return values[i]


cdef intp_t quotient(intp_t a, intp_t b) noexcept nogil:
    return a // b


cdef intp_t total(intp_t a, intp_t b) noexcept nogil:
    return a + b


def read_at(float64_t[::1] values, intp_t i):
    """Read an entry in code that cannot raise, as most compiled code here."""
    return entry(values, i)


def divide(intp_t a, intp_t b):
    """Divide in code that cannot raise, as most compiled code here."""
    return quotient(a, b)


def add(intp_t a, intp_t b):
    """Add in code that cannot raise, as most compiled code here."""
    return total(a, b)
