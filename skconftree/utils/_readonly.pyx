"""Views of arrays that nobody can write to."""

import numpy as np

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer,
)


cdef class _Pane:
    # Shows the bytes of an array, which it keeps alive and to itself.

    cdef object array

    def __cinit__(self, array):
        self.array = array

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        # not by `array.ctypes`, which is written in Python
        cdef Py_buffer shown
        PyObject_GetBuffer(self.array, &shown, PyBUF_C_CONTIGUOUS)
        try:
            # fails if it is asked for a way to write, as NumPy does first
            PyBuffer_FillInfo(buffer, self, shown.buf, shown.len, 1, flags)
        finally:
            PyBuffer_Release(&shown)


def read_only(array):
    """View a contiguous array without a way back to one that can be written to.

    The flag of an array says no more than that writing was not meant: its owner can set
    it again.
    """
    if not array.flags.c_contiguous:
        raise ValueError("Only arrays in C order can be shown.")
    if array.size == 0:
        array = array.copy()
        array.flags.writeable = False
        return array
    return np.frombuffer(_Pane(array), dtype=array.dtype).reshape(array.shape)
