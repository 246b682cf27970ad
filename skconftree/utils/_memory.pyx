"""Arrays with one owner, an emergency reserve of memory, and read-only views.

`_memory.pxd` describes them. The checked build is compiled for tests, with bounds checks; it
can make an allocation fail (refuse it). The emergency reserve is memory that is freed if an
allocation fails, so that a model can finish the current block of rows, a part of the batch that
is passed to `partial_fit`. A `Block` is the header of an array.
"""

import numpy as np
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.stddef cimport size_t
from libc.stdint cimport PTRDIFF_MAX
from libc.stdlib cimport calloc, free, malloc, realloc

# a guard is a mutex that is only needed without GIL
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

# State of the checked build, shared by all owners. Its tests use one thread.
cdef intp_t period = 0              # one in `period` allocations fails; 0 = none
cdef intp_t first_failing = 0       # this allocation and all later ones fail; 0 = none
cdef intp_t n_taken = 0             # number of allocations so far
cdef intp_t n_retained = 0          # arrays that have not been freed
cdef bint failures_suspended = False


# -- allocations that fail ---------------------------------------------------------

def fail_every(intp_t n):
    """Make every n-th allocation fail (0: none), to test error handling.

    Resets the count of allocations of all owners and returns its previous value. Only
    available in the checked build.
    """
    return _reset_count(n, 0)


def fail_from(intp_t n):
    """Make the n-th allocation and all later ones fail; see `fail_every`.

    Allocations still succeed after the emergency reserve was released.
    """
    return _reset_count(0, n)


def count_arrays():
    """Count the allocated arrays of all owners. Only available in the checked build."""
    _require_checked()
    return n_retained


cdef _require_checked():
    if not MAY_FAIL:
        raise RuntimeError("Only the checked build makes allocations fail.")


cdef intp_t _reset_count(intp_t every, intp_t first) except -1:
    global period, first_failing, n_taken, failures_suspended
    _require_checked()
    cdef intp_t counted = n_taken
    period = every
    first_failing = first
    n_taken = 0
    failures_suspended = False
    return counted


cdef bint is_refused() noexcept nogil:
    global n_taken
    if not MAY_FAIL:
        return False
    n_taken += 1
    return not failures_suspended and (
        period > 0 and n_taken % period == 0
        or first_failing > 0 and n_taken >= first_failing
    )


cdef void suspend_failures(bint suspended) noexcept nogil:
    global failures_suspended
    if MAY_FAIL:
        failures_suspended = suspended


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


cdef void* resized_array(
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


cdef void move_array(Blocks* blocks, Blocks* other, void* array) noexcept nogil:
    if array != NULL:
        _unlink(blocks, <Block*> array - 1)
        _link(other, <Block*> array - 1, (<Block*> array - 1).size)


cdef intp_t bytes_taken(const Blocks* blocks) noexcept nogil:
    cdef const Block* block = blocks.last
    cdef intp_t total = 0
    while block != NULL:
        total += block.size - sizeof(Block)
        block = block.previous
    return total


cdef inline void _link(Blocks* blocks, Block* block, size_t size) noexcept nogil:
    global n_retained
    block.size = size
    block.previous = blocks.last
    block.next = NULL
    if blocks.last != NULL:
        blocks.last.next = block
    blocks.last = block
    if MAY_FAIL:
        n_retained += 1


cdef inline void _unlink(Blocks* blocks, Block* block) noexcept nogil:
    global n_retained
    if block.previous != NULL:
        block.previous.next = block.next
    if block.next != NULL:
        block.next.previous = block.previous
    else:
        blocks.last = block.previous
    if MAY_FAIL:
        n_retained -= 1


cdef void* _required(void* array) except NULL nogil:
    # Raise MemoryError if an allocation has failed.
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
        # On failure, the array is unchanged.
        return _required(resized_array(&self.blocks, array, n, size))

    cdef void release(self, void* array) noexcept nogil:
        release(&self.blocks, array)


# -- Emergency reserve for the end of a block of rows -------------------------------
# The reserve has no owner, and count_arrays() does not count it.
cdef void* reserve = NULL
cdef intp_t reserve_size = 0
# Number of failed allocations that may still be repeated although there is no reserve:
# other threads may have failed before one of them released it.
cdef intp_t n_repeats = 0
cdef Guard guard            # protects these three variables

cdef enum:
    MAX_REPEATS = 256       # more than the threads that usually allocate at the same time


cdef void _replace(void* larger, intp_t n_bytes) noexcept:
    global reserve, reserve_size, n_repeats
    free(reserve)
    reserve = larger
    reserve_size = n_bytes
    n_repeats = 0


cdef int reserve_bytes(intp_t n_bytes) except -1:
    cdef void* larger
    cdef bint enough
    take_guard(&guard)
    enough = reserve_size >= n_bytes
    if not enough:
        suspend_failures(False)
        larger = NULL if is_refused() else malloc(n_bytes)
        enough = larger != NULL
        if enough:
            _replace(larger, n_bytes)
    leave_guard(&guard)
    if not enough:
        raise MemoryError(
            "There is not enough memory to learn further rows. The attribute "
            "n_rows_seen_ is the number of rows learned so far."
        )
    return 0


cdef int release_reserve() except -1:
    global n_repeats
    cdef bint may_repeat = True
    take_guard(&guard)
    if reserve != NULL:
        _replace(NULL, 0)
        n_repeats = MAX_REPEATS
        suspend_failures(True)
    elif n_repeats > 0:
        n_repeats -= 1
    else:
        may_repeat = False
    leave_guard(&guard)
    if not may_repeat:
        raise MemoryError("There is not enough memory to finish this block of rows.")
    return 0


cdef void trim_reserve() noexcept:
    # Free a reserve of more than RETAINED_BYTES (32 MiB), at the end of a call.
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
            release_reserve()
        array = new_array(blocks, n, size, True)
    return array


cdef void* resize_array(Blocks* blocks, void* array, intp_t n, size_t size) except NULL nogil:
    cdef void* longer = resized_array(blocks, array, n, size)
    while longer == NULL:
        with gil:
            release_reserve()
        longer = resized_array(blocks, array, n, size)
    return longer


# -- Read-only views of arrays ------------------------------------------------------
cdef class _ReadOnlyBuffer:
    # Exports the bytes of an array without exposing the writable array itself.

    cdef object array

    def __cinit__(self, array):
        self.array = array

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        # `array.ctypes` is written in Python and slower
        cdef Py_buffer source
        PyObject_GetBuffer(self.array, &source, PyBUF_C_CONTIGUOUS)
        try:
            # raises if a writable buffer is requested, which NumPy tries first
            PyBuffer_FillInfo(buffer, self, source.buf, source.len, 1, flags)
        finally:
            PyBuffer_Release(&source)


def read_only(array):
    """Return a view of a C-contiguous array that cannot be made writable.

    Setting the `writeable` flag to False is not enough, because the owner of the array
    can set it again.
    """
    if not array.flags.c_contiguous:
        raise ValueError("A read-only view requires an array in C order.")
    if array.size == 0:
        array = array.copy()
        array.flags.writeable = False
        return array
    buffer = _ReadOnlyBuffer(array)
    return np.frombuffer(buffer, dtype=array.dtype).reshape(array.shape)
