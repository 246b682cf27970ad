"""Arrays with one owner, memory kept in reserve, read-only views."""

import numpy as np
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.stddef cimport size_t
from libc.stdint cimport PTRDIFF_MAX
from libc.stdlib cimport calloc, free, malloc, realloc

from skconftree.utils._guard cimport Guard, leave_guard, take_guard

cdef extern from *:
    """
    #ifdef SKCONFTREE_CHECKED
    #define SKCONFTREE_MAY_FAIL 1
    #else
    #define SKCONFTREE_MAY_FAIL 0
    #endif
    """
    const bint MAY_FAIL "SKCONFTREE_MAY_FAIL"

# Of the checked build, over all owners. Tests of it use one thread.
cdef intp_t period = 0
cdef intp_t first_failing = 0
cdef intp_t n_taken = 0
cdef intp_t n_retained = 0
cdef bint is_relieved = False


# -- allocations that fail ---------------------------------------------------------

def fail_every(intp_t n):
    """Make every n-th allocation fail (0: none), to test what happens then.

    Counts afresh, over all owners, and returns the count so far. The checked build
    only.
    """
    return _count_afresh(n, 0)


def fail_from(intp_t n):
    """Make the n-th allocation and all later ones fail, as `fail_every`.

    Those succeed for which memory has been kept back.
    """
    return _count_afresh(0, n)


def count_arrays():
    """Count the arrays not freed yet, over all owners. The checked build only."""
    _require_checked()
    return n_retained


cdef _require_checked():
    if not MAY_FAIL:
        raise RuntimeError("Only the checked build makes allocations fail.")


cdef intp_t _count_afresh(intp_t every, intp_t first) except -1:
    global period, first_failing, n_taken, is_relieved
    _require_checked()
    cdef intp_t counted = n_taken
    period = every
    first_failing = first
    n_taken = 0
    is_relieved = False
    return counted


cdef bint is_refused() noexcept nogil:
    global n_taken
    if not MAY_FAIL:
        return False
    n_taken += 1
    return not is_relieved and (
        period > 0 and n_taken % period == 0
        or first_failing > 0 and n_taken >= first_failing
    )


cdef void relieve(bint relieved) noexcept nogil:
    global is_relieved
    if MAY_FAIL:
        is_relieved = relieved


# -- arrays ------------------------------------------------------------------------

cdef inline bint _is_too_large(intp_t n, size_t size) noexcept nogil:
    return n < 0 or <size_t> n > (PTRDIFF_MAX - sizeof(Block)) // size


cdef void* new_array(
    Blocks* blocks, intp_t n, size_t size, bint zeros
) noexcept nogil:
    cdef Block* block
    cdef size_t n_bytes
    if _is_too_large(n, size) or is_refused():
        return NULL
    n_bytes = <size_t> n * size + sizeof(Block)
    block = <Block*> (calloc(1, n_bytes) if zeros else malloc(n_bytes))
    if block == NULL:
        return NULL
    _link(blocks, block, n_bytes)
    return block + 1


cdef void* longer_array(
    Blocks* blocks, void* array, intp_t n, size_t size
) noexcept nogil:
    cdef Block* old
    cdef Block* block
    cdef size_t n_bytes
    if array == NULL:
        return new_array(blocks, n, size, False)
    if _is_too_large(n, size) or is_refused():
        return NULL
    n_bytes = <size_t> n * size + sizeof(Block)
    old = <Block*> array - 1
    _unlink(blocks, old)
    block = <Block*> realloc(old, n_bytes)
    if block == NULL:
        _link(blocks, old, old.size)
        return NULL
    _link(blocks, block, n_bytes)
    return block + 1


cdef void release(Blocks* blocks, void* array) noexcept nogil:
    if array != NULL:
        _unlink(blocks, <Block*> array - 1)
        free(<Block*> array - 1)


cdef void release_all(Blocks* blocks) noexcept nogil:
    while blocks.last != NULL:
        release(blocks, blocks.last + 1)


cdef void hand_over(Blocks* blocks, Blocks* other, void* array) noexcept nogil:
    if array != NULL:
        _unlink(blocks, <Block*> array - 1)
        _link(other, <Block*> array - 1, (<Block*> array - 1).size)


cdef intp_t bytes_taken(const Blocks* blocks) noexcept nogil:
    cdef const Block* block = blocks.last
    cdef intp_t total = 0
    while block != NULL:
        total += block.size - sizeof(Block)
        block = block.before
    return total


cdef inline void _link(Blocks* blocks, Block* block, size_t size) noexcept nogil:
    global n_retained
    block.size = size
    block.before = blocks.last
    block.behind = NULL
    if blocks.last != NULL:
        blocks.last.behind = block
    blocks.last = block
    if MAY_FAIL:
        n_retained += 1


cdef inline void _unlink(Blocks* blocks, Block* block) noexcept nogil:
    global n_retained
    if block.before != NULL:
        block.before.behind = block.behind
    if block.behind != NULL:
        block.behind.before = block.before
    else:
        blocks.last = block.before
    if MAY_FAIL:
        n_retained -= 1


cdef void* _required(void* array) except NULL nogil:
    if array == NULL:
        with gil:
            raise MemoryError()
    return array


cdef class Arena:
    """Owner of arrays that are freed with it."""

    def __dealloc__(self):
        release_all(&self.blocks)

    cdef void* take(self, intp_t n, size_t size) except NULL nogil:
        return _required(new_array(&self.blocks, n, size, False))

    cdef void* take_zeros(self, intp_t n, size_t size) except NULL nogil:
        return _required(new_array(&self.blocks, n, size, True))

    cdef void* resize(self, void* array, intp_t n, size_t size) except NULL nogil:
        # On failure the array stays as it was.
        return _required(longer_array(&self.blocks, array, n, size))

    cdef void release(self, void* array) noexcept nogil:
        release(&self.blocks, array)


# -- Memory that is kept back for the end of a block of rows -----------------------
# No owner has it: what count_arrays() counts are the arrays of models.
cdef void* spare = NULL
cdef intp_t reserve_size = 0
cdef Guard guard            # of both


cdef void _replace(void* larger, intp_t n_bytes) noexcept:
    global spare, reserve_size
    free(spare)
    spare = larger
    reserve_size = n_bytes


cdef int reserve_bytes(intp_t n_bytes) except -1:
    cdef void* larger
    cdef bint enough
    take_guard(&guard)
    enough = reserve_size >= n_bytes
    if not enough:
        relieve(False)
        larger = NULL if is_refused() else malloc(n_bytes)
        enough = larger != NULL
        if enough:
            _replace(larger, n_bytes)
    leave_guard(&guard)
    if not enough:
        raise MemoryError(
            "No memory to learn further rows; n_rows_seen_ says how many have been "
            "learnt."
        )
    return 0


cdef int give_way() except -1:
    cdef bint given
    take_guard(&guard)
    given = spare != NULL
    if given:
        _replace(NULL, 0)
        relieve(True)
    leave_guard(&guard)
    if not given:
        raise MemoryError("No memory to finish these rows.")
    return 0


cdef void let_go_of_much() noexcept:
    take_guard(&guard)
    if reserve_size > RETAINED_BYTES:
        _replace(NULL, 0)
    leave_guard(&guard)


cdef void* take_array(Blocks* blocks, intp_t n, size_t size) except NULL nogil:
    return resize_array(blocks, NULL, n, size)


cdef void* take_zeros(Blocks* blocks, intp_t n, size_t size) except NULL nogil:
    cdef void* array = new_array(blocks, n, size, True)
    while array == NULL:
        with gil:
            give_way()
        array = new_array(blocks, n, size, True)
    return array


cdef void* resize_array(Blocks* blocks, void* array, intp_t n, size_t size) except NULL nogil:
    cdef void* longer = longer_array(blocks, array, n, size)
    while longer == NULL:
        with gil:
            give_way()
        longer = longer_array(blocks, array, n, size)
    return longer


# -- Views of arrays that nobody can write to --------------------------------------
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
