from skconftree.utils._typedefs cimport intp_t

# Who owns memory: Blocks, a chain of arrays that are freed together, and Arena, the
# Blocks of an object.
#
# What is taken belongs to its owner and is freed with it, whichever way the owner
# ends: no array has to be tested for NULL or freed one by one. An owner is used by one
# thread at a time.
#
# An Arena raises MemoryError, with and without the GIL. Blocks of what grows row by row
# are filled by `_spare_memory`, which has memory kept back for them. In the checked
# build allocations fail if fail_every() or fail_from() says so.

cdef struct Block:      # in front of every array
    Block* before
    Block* behind
    size_t size         # bytes, this header included
    size_t unused       # arrays are aligned as malloc aligns


cdef struct Blocks:     # nothing is taken yet if `last` is NULL
    Block* last


# An array of n items of so many bytes each, or such an array of zeros; NULL if there is
# no memory.
cdef void* new_array(
    Blocks* blocks, intp_t n, size_t size, bint zeros
) noexcept nogil
# An array of these blocks made longer or shorter; it may move. If it is NULL, a new one.
# The answer is NULL, and the array as it was, if there is no memory.
cdef void* longer_array(
    Blocks* blocks, void* array, intp_t n, size_t size
) noexcept nogil
# Free an array, or NULL, before the others.
cdef void release(Blocks* blocks, void* array) noexcept nogil
cdef void release_all(Blocks* blocks) noexcept nogil
# Let an array, or NULL, belong to another owner from now on.
cdef void hand_over(Blocks* blocks, Blocks* other, void* array) noexcept nogil
# Bytes of the arrays, and of one.
cdef intp_t bytes_taken(const Blocks* blocks) noexcept nogil
cdef inline intp_t bytes_of_array(const void* array) noexcept nogil:
    if array == NULL:
        return 0
    return (<const Block*> array - 1).size - sizeof(Block)

# Whether the next allocation, wherever it is made, is to fail.
cdef bint is_refused() noexcept nogil
# Whether allocations succeed all the same, for memory was kept back for them.
cdef void relieve(bint relieved) noexcept nogil


cdef class Arena:
    cdef Blocks blocks

    cdef void* take(self, intp_t n, size_t size) except NULL nogil
    cdef void* take_zeros(self, intp_t n, size_t size) except NULL nogil
    cdef void* resize(self, void* array, intp_t n, size_t size) except NULL nogil
    cdef void release(self, void* array) noexcept nogil


# Spare memory: kept back, and never touched, so that rows can be learnt up to the next
# boundary when there is no other left.
#
# Where memory cannot be had, give_way() lets go of it, and what failed is tried again:
# every step of learning a row either happens or leaves all as it was. At the next
# boundary, and before the first row of a call, reserve_bytes() asks for it anew; whoever
# cannot have it learns nothing further. All models of a process share it.
#
# What grows row by row takes its arrays here, and so never sees the first failure. A
# second one, which more spare memory would have prevented, is a MemoryError.

cdef enum:
    RESERVE_BYTES = 4194304       # besides what the sizes of a model ask for
    RETAINED_BYTES = 33554432       # more than that is only kept during a call

cdef int reserve_bytes(intp_t n_bytes) except -1
cdef int give_way() except -1
cdef void let_go_of_much() noexcept

# An array of n items of so many bytes each, such an array of zeros, and one that is made
# longer (on failure it stays as it was).
cdef void* take_array(Blocks* blocks, intp_t n, size_t size) except NULL nogil
cdef void* take_zeros(Blocks* blocks, intp_t n, size_t size) except NULL nogil
cdef void* resize_array(Blocks* blocks, void* array, intp_t n, size_t size) except NULL nogil
