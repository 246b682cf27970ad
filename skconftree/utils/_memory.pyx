"""One owner for the arrays of an object."""

from libc.stddef cimport size_t
from libc.stdint cimport PTRDIFF_MAX
from libc.stdlib cimport calloc, free, malloc, realloc

cdef extern from *:
    """
    #ifdef SKCONFTREE_CHECKED
    #define SKCONFTREE_MAY_FAIL 1
    #else
    #define SKCONFTREE_MAY_FAIL 0
    #endif
    """
    const bint MAY_FAIL "SKCONFTREE_MAY_FAIL"

cdef intp_t period = 0
cdef intp_t n_taken = 0


def fail_every(intp_t n):
    """Make every n-th allocation fail, to test what happens then.

    Counts afresh, over all arenas. The checked build only.

    Parameters
    ----------
    n : int
        0: none fails.

    Returns
    -------
    int
        Allocations counted so far.
    """
    global period, n_taken
    if not MAY_FAIL:
        raise RuntimeError("Only the checked build makes allocations fail.")
    cdef intp_t counted = n_taken
    period = n
    n_taken = 0
    return counted


cdef size_t _checked_size(intp_t n, size_t size) except 0 nogil:
    # Bytes of an array and its header.
    global n_taken
    cdef bint fails = n < 0 or <size_t> n > (PTRDIFF_MAX - sizeof(Block)) // size
    if MAY_FAIL:
        n_taken += 1
        fails = fails or (period > 0 and n_taken % period == 0)
    if fails:
        with gil:
            raise MemoryError()
    return <size_t> n * size + sizeof(Block)


cdef class Arena:
    """Owner of arrays that are freed with it."""

    def __dealloc__(self):
        cdef Block* block = self.last
        while block != NULL:
            self.last = block.before
            free(block)
            block = self.last

    cdef void* take(self, intp_t n, size_t size) except NULL nogil:
        cdef size_t n_bytes = _checked_size(n, size)
        cdef Block* block = <Block*> malloc(n_bytes)
        if block == NULL:
            with gil:
                raise MemoryError()
        self._link(block, n_bytes)
        return block + 1

    cdef void* take_zeros(self, intp_t n, size_t size) except NULL nogil:
        cdef size_t n_bytes = _checked_size(n, size)
        cdef Block* block = <Block*> calloc(1, n_bytes)
        if block == NULL:
            with gil:
                raise MemoryError()
        self._link(block, n_bytes)
        return block + 1

    cdef void* resize(self, void* array, intp_t n, size_t size) except NULL nogil:
        # On failure the array stays as it was.
        cdef size_t n_bytes = _checked_size(n, size)
        cdef Block* block
        cdef Block* old
        if array == NULL:
            return self.take(n, size)
        old = <Block*> array - 1
        self._unlink(old)
        block = <Block*> realloc(old, n_bytes)
        if block == NULL:
            self._link(old, old.size)
            with gil:
                raise MemoryError()
        self._link(block, n_bytes)
        return block + 1

    cdef void give_back(self, void* array) noexcept nogil:
        if array != NULL:
            self._unlink(<Block*> array - 1)
            free(<Block*> array - 1)

    cdef inline void _link(self, Block* block, size_t size) noexcept nogil:
        block.size = size
        block.before = self.last
        block.behind = NULL
        if self.last != NULL:
            self.last.behind = block
        self.last = block
        self.n_bytes += <intp_t> size

    cdef inline void _unlink(self, Block* block) noexcept nogil:
        self.n_bytes -= <intp_t> block.size
        if block.before != NULL:
            block.before.behind = block.behind
        if block.behind != NULL:
            block.behind.before = block.before
        else:
            self.last = block.before
