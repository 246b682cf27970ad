# Arena: one owner for the arrays of an object.
#
# What is taken from an arena belongs to it and is freed with it, whichever way the
# owner ends: no array has to be tested for NULL or freed one by one. An arena belongs
# to one object and is used by one thread at a time.
#
# take() and resize() raise MemoryError, with and without the GIL. In the checked build
# they also do when fail_every() says so.

from skconftree.utils._typedefs cimport intp_t


cdef struct Block:      # in front of every array
    Block* before
    Block* behind
    size_t size         # bytes, this header included
    size_t unused       # arrays are aligned as malloc aligns


cdef class Arena:
    cdef Block* last
    cdef readonly intp_t n_bytes

    # An array of n items of so many bytes each, or such an array of zeros.
    cdef void* take(self, intp_t n, size_t size) except NULL nogil
    cdef void* take_zeros(self, intp_t n, size_t size) except NULL nogil
    # Make an array of this arena longer or shorter; it may move.
    cdef void* resize(self, void* array, intp_t n, size_t size) except NULL nogil
    # Free an array, or NULL, before the arena ends.
    cdef void give_back(self, void* array) noexcept nogil
    cdef void _link(self, Block* block, size_t size) noexcept nogil
    cdef void _unlink(self, Block* block) noexcept nogil
