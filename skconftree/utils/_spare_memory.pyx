"""Memory that is kept back for the end of a block of rows."""

from threading import Lock

from libc.stdlib cimport free, malloc

from skconftree.utils._memory cimport is_refused, longer_array, new_array, relieve

# No owner has it: what count_arrays() counts are the arrays of models.
cdef void* spare = NULL
cdef intp_t spare_size = 0
cdef object lock = Lock()


cdef int set_aside(intp_t n_bytes) except -1:
    global spare, spare_size
    cdef void* larger
    if spare_size >= n_bytes:
        return 0
    with lock:
        if spare_size < n_bytes:
            relieve(False)
            larger = NULL if is_refused() else malloc(n_bytes)
            if larger == NULL:
                raise MemoryError(
                    "No memory to learn further rows; n_rows_seen_ says how many have "
                    "been learnt."
                )
            free(spare)
            spare = larger
            spare_size = n_bytes
    return 0


cdef int give_way() except -1:
    global spare, spare_size
    with lock:
        if spare == NULL:
            raise MemoryError("No memory to finish these rows.")
        free(spare)
        spare = NULL
        spare_size = 0
        relieve(True)
    return 0


cdef void let_go_of_much() noexcept:
    global spare, spare_size
    if spare_size > KEPT_BYTES:
        with lock:
            free(spare)
            spare = NULL
            spare_size = 0


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
