from skconftree.utils._typedefs cimport intp_t

# Memory ownership. `Blocks` is a linked list of arrays that are freed together. `Arena`
# is a Python object that owns one such list.
#
# Each array belongs to its owner and is freed with it, also after an exception, so that
# no array has to be tested for NULL or freed individually. Only one thread may use an
# owner at a time.
#
# An Arena raises MemoryError, with or without the GIL. Models that are trained row by row
# call take_array(), take_zeros() and resize_array() below, which can use the emergency
# reserve. In the checked build, compiled for tests with bounds and overflow checks,
# fail_every() and fail_from() make allocations fail; such an allocation is refused.

cdef struct Block:      # header in front of every array
    Block* previous
    Block* next
    size_t size         # bytes, including this header
    size_t unused       # padding: arrays are aligned as malloc aligns


cdef struct Blocks:     # empty if `last` is NULL
    Block* last


# Allocate an array of n items of `size` bytes each, optionally filled with zeros. The
# result is NULL if there is not enough memory.
cdef void* new_array(
    Blocks* blocks, intp_t n, size_t size, bint zeros
) noexcept nogil
# Resize an array of these blocks; it may move. If `array` is NULL, allocate a new one.
# If there is not enough memory, the result is NULL and the array is unchanged.
cdef void* resized_array(
    Blocks* blocks, void* array, intp_t n, size_t size
) noexcept nogil
# Free one array (nothing is done for NULL), or all of them.
cdef void release(Blocks* blocks, void* array) noexcept nogil
cdef void release_all(Blocks* blocks) noexcept nogil
# Transfer an array to another owner (nothing is done for NULL).
cdef void move_array(Blocks* blocks, Blocks* other, void* array) noexcept nogil
# Size in bytes of all arrays, and of one array.
cdef intp_t bytes_taken(const Blocks* blocks) noexcept nogil
cdef inline intp_t bytes_of_array(const void* array) noexcept nogil:
    if array == NULL:
        return 0
    return (<const Block*> array - 1).size - sizeof(Block)

# Whether the checked build makes the next allocation fail.
cdef bint is_refused() noexcept nogil
# Let the checked build's allocations succeed while the released reserve is in use.
cdef void suspend_failures(bint suspended) noexcept nogil


cdef class Arena:
    cdef Blocks blocks

    cdef void* take(self, intp_t n, size_t size) except NULL nogil
    cdef void* take_zeros(self, intp_t n, size_t size) except NULL nogil
    cdef void* resize(self, void* array, intp_t n, size_t size) except NULL nogil
    cdef void release(self, void* array) noexcept nogil


# Emergency reserve: memory that is allocated but not used, so that a model can finish
# the current block of rows (a part of the batch that is passed to partial_fit) after the
# system has run out of memory.
#
# If an allocation fails, release_reserve() frees the reserve and the allocation is
# repeated. Each step of learning a row either succeeds or leaves the model unchanged.
# Before the first row of a call, and after each block of rows, reserve_bytes()
# allocates the reserve again. If that fails, the model does not learn any further rows.
# All models of a process share one reserve.
#
# Code that is executed for each row allocates its arrays with the functions below, and
# therefore never sees the first failure. A second failure, which means that the reserve
# was too small, raises MemoryError.

cdef enum:
    RESERVE_BYTES = 4194304     # in addition to what the sizes of a model require
    RETAINED_BYTES = 33554432   # a larger reserve is freed at the end of a call

cdef int reserve_bytes(intp_t n_bytes) except -1
cdef int release_reserve() except -1
# At the end of a call: free a reserve of more than RETAINED_BYTES.
cdef void trim_reserve() noexcept

# Allocate an array, an array of zeros, or resize an array (unchanged on failure).
cdef void* take_array(Blocks* blocks, intp_t n, size_t size) except NULL nogil
cdef void* take_zeros(Blocks* blocks, intp_t n, size_t size) except NULL nogil
cdef void* resize_array(Blocks* blocks, void* array, intp_t n, size_t size) except NULL nogil
