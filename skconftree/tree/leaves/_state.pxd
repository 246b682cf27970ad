# Conversion of the statistics of leaves to bytes, for pickles, and back. Values are validated
# when they are read. The arrays that are read belong to `blocks`, which frees them together.

from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef class StateWriter:
    cdef readonly bytearray data
    cdef put(self, const void* values, intp_t n_bytes)      # append bytes to `data`


cdef class StateReader:
    cdef const unsigned char[::1] data
    cdef intp_t position                # of the next byte
    cdef intp_t left(self) noexcept     # number of bytes after the position
    cdef take(self, void* values, intp_t n_bytes)       # copy the next bytes to `values`
    # Read n elements of this size into a new array.
    cdef void* take_new(self, Blocks* blocks, intp_t n, size_t size) except NULL


# Raise ValueError for a corrupt state if the condition is False, or if a value is not finite.
cdef require(bint condition)
cdef require_finite(const float64_t* values, intp_t n)
