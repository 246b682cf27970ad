"""Walks over the rows of a node as sorted keys."""

from skconftree.tree.split._scan cimport BLOCK
from skconftree.utils._typedefs cimport int64_t


cdef inline int32_t _weight(uint64_t key) noexcept nogil:
    return <int32_t> ((key >> 16) & 0xFFFF)


cdef intp_t walk_two_class_keys(
    Scan scan, const uint64_t* keys, intp_t n, int32_t least
) noexcept nogil:
    # Every step writes a test; it stays if the next key has another rank.
    cdef float64_t* left = scan.left
    cdef float64_t* n_left = scan.n_left
    cdef intp_t* place = scan.place
    cdef intp_t n_tests = 0
    cdef intp_t p = 1
    cdef intp_t size
    cdef uint64_t key = keys[0]
    cdef int32_t rank = <int32_t> (key >> 32)
    cdef int32_t weight = _weight(key)
    cdef int32_t ones = weight * <int32_t> (key & 0xFFFF)
    cdef int32_t block_end, after, w
    while p < n:
        # weights ascend by 1 at least: a block has no more than BLOCK tests
        block_end = (weight - 1) // BLOCK * BLOCK
        size = 0
        while p < n and weight - block_end <= BLOCK:
            key = keys[p]
            left[2 * size] = weight - ones
            left[2 * size + 1] = ones
            n_left[size] = weight
            place[size] = rank + least
            after = <int32_t> (key >> 32)
            size += after != rank
            rank = after
            w = _weight(key)
            weight += w
            ones += w * <int32_t> (key & 0xFFFF)
            p += 1
        if size > 0:
            scan.take(size)
            n_tests += size
    return n_tests


cdef intp_t walk_square_keys(
    Scan scan, const uint64_t* keys, intp_t n, int32_t least, const float64_t* total
) noexcept nogil:
    # With l and t a class's counts on the left and in all, (t - l)^2 = t^2 - 2 t l + l^2:
    # a row changes one l.
    cdef intp_t K = scan.n_classes
    cdef int64_t* left = scan.counted
    cdef int64_t* whole = scan.counted + K
    cdef float64_t* phi_left = scan.phi_left
    cdef float64_t* phi_right = scan.phi_right
    cdef float64_t* n_left = scan.n_left
    cdef intp_t* place = scan.place
    cdef int64_t squares = 0        # of l,
    cdef int64_t right = 0          # and of t - l, summed over the classes
    cdef int64_t weight = 0
    cdef int64_t l, w
    cdef intp_t n_tests = 0
    cdef intp_t size = 0
    cdef intp_t p, c
    cdef uint64_t key = keys[0]
    cdef int32_t rank, after
    for c in range(K):
        left[c] = 0
        whole[c] = 2 * <int64_t> total[c]
        right += <int64_t> total[c] * <int64_t> total[c]
    rank = <int32_t> (key >> 32)
    for p in range(1, n):
        c = key & 0xFFFF
        w = _weight(key)
        l = left[c]
        left[c] = l + w
        weight += w
        l = w * (2 * l + w)
        squares += l
        right += l - w * whole[c]
        key = keys[p]
        phi_left[size] = squares
        phi_right[size] = right
        n_left[size] = weight
        place[size] = rank + least
        after = <int32_t> (key >> 32)
        size += after != rank
        rank = after
        if size == BLOCK:
            scan.take(BLOCK)
            n_tests += BLOCK
            size = 0
    if size > 0:
        scan.take(size)
    return n_tests + size
