"""Memory that is kept back for the end of a block of rows."""

from threading import Lock

from libc.stdlib cimport free, malloc

cdef void* spare = NULL
cdef intp_t size = 0
cdef object lock = Lock()


cdef int set_aside(intp_t n_bytes) except -1:
    global spare, size
    cdef void* larger
    if size >= n_bytes:
        return 0
    with lock:
        if size < n_bytes:
            larger = malloc(n_bytes)
            if larger == NULL:
                raise MemoryError(
                    "No memory to learn further rows; n_rows_seen_ says how many have "
                    "been learnt."
                )
            free(spare)
            spare = larger
            size = n_bytes
    return 0


cdef int give_way() except -1:
    global spare, size
    with lock:
        if spare == NULL:
            raise MemoryError("No memory to finish a block of rows.")
        free(spare)
        spare = NULL
        size = 0
    return 0


cdef void let_go_of_much() noexcept:
    global spare, size
    if size > KEPT_BYTES:
        with lock:
            free(spare)
            spare = NULL
            size = 0
