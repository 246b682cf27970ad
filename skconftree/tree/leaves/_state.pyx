"""Serialization of the statistics of leaves: a state is their bytes in a pickle."""

from skconftree.utils._codec import corrupt_state

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from libc.math cimport isfinite
from libc.string cimport memcpy

from skconftree.utils._memory cimport take_array


cdef class StateWriter:
    """Append values to bytes."""

    def __cinit__(self):
        self.data = bytearray()

    cdef put(self, const void* values, intp_t n_bytes):
        cdef intp_t size = len(self.data)
        if n_bytes > 0:
            PyByteArray_Resize(self.data, size + n_bytes)
            memcpy(PyByteArray_AS_STRING(self.data) + size, values, n_bytes)


cdef class StateReader:
    """Read values from bytes, never past their end."""

    def __cinit__(self, bytes data not None):
        self.data = data

    cdef intp_t left(self) noexcept:
        return self.data.shape[0] - self.position

    cdef take(self, void* values, intp_t n_bytes):
        require(0 <= n_bytes <= self.left())
        if n_bytes > 0:
            memcpy(values, &self.data[self.position], n_bytes)
            self.position += n_bytes

    cdef void* take_new(self, Blocks* blocks, intp_t n, size_t size) except NULL:
        # A new array, allocated only if the bytes are there.
        cdef void* values
        require(0 <= n <= self.left() // <intp_t> size)
        values = take_array(blocks, n, size)
        self.take(values, n * <intp_t> size)
        return values

    def finish(self):
        """Raise an error unless all bytes were read."""
        require(self.left() == 0)


cdef require(bint condition):
    # Raise ValueError for a corrupt state unless the condition holds.
    if not condition:
        raise corrupt_state("growing tree")


cdef require_finite(const float64_t* values, intp_t n):
    cdef intp_t i
    for i in range(n):
        require(isfinite(values[i]))
