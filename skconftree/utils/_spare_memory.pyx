"""Memory that is kept back for the end of a block of rows."""

from libc.stdlib cimport free, malloc

from skconftree.utils._guard cimport Guard, leave_guard, take_guard
from skconftree.utils._memory cimport is_refused, longer_array, new_array, relieve

# No owner has it: what count_arrays() counts are the arrays of models.
cdef void* spare = NULL
cdef intp_t spare_size = 0
cdef Guard guard            # of both


cdef void _replace(void* larger, intp_t n_bytes) noexcept:
    global spare, spare_size
    free(spare)
    spare = larger
    spare_size = n_bytes


cdef int set_aside(intp_t n_bytes) except -1:
    cdef void* larger
    cdef bint enough
    take_guard(&guard)
    enough = spare_size >= n_bytes
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
    if spare_size > KEPT_BYTES:
        _replace(NULL, 0)
    leave_guard(&guard)


cdef void* take_array(Blocks* blocks, intp_t n, size_t size) except NULL nogil:
    cdef void* array = new_array(blocks, n, size, False)
    while array == NULL:
        with gil:
            give_way()
        array = new_array(blocks, n, size, False)
    return array


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
