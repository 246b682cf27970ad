"""Walks over the rows of a node as tallies of their codes."""

from skconftree.tables._encoding cimport MAX_LEVELS
from skconftree.utils._bits cimport lowest_bit
from skconftree.utils._typedefs cimport int64_t, uint32_t


cdef intp_t walk_two_class_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels
) noexcept nogil:
    # Every step writes a test, also that behind the last level, for which there is room.
    cdef float64_t* left = scan.left
    cdef float64_t* n_left = scan.n_left
    cdef intp_t* place = scan.place
    cdef uint64_t sums = 0
    cdef intp_t size = 0
    cdef intp_t k, b
    cdef int32_t zeros, ones
    cdef uint64_t bits
    for k in range((n_levels + 63) // 64):
        bits = present[k]
        present[k] = 0
        while bits != 0:
            b = 64 * k + lowest_bit(bits)
            bits &= bits - 1
            sums += tally[b]
            tally[b] = 0
            zeros = <int32_t> <uint32_t> sums
            ones = <int32_t> (sums >> 32)
            left[2 * size] = zeros
            left[2 * size + 1] = ones
            n_left[size] = zeros + ones
            place[size] = b
            size += 1
    size -= 1
    if size > 0:
        scan.take(size)
    return size


cdef struct Sums:
    # With l and t a class's counts on the left and in all, (t - l)^2 = t^2 - 2 t l + l^2:
    # what is added to a class changes one l.
    int64_t left            # of l^2,
    int64_t right           # and of (t - l)^2, over the classes
    int64_t weight


cdef inline void _begin(Scan scan, const float64_t* total, Sums* sums) noexcept nogil:
    cdef int64_t* whole = scan.counted + scan.n_classes
    cdef intp_t c
    sums.left = 0
    sums.right = 0
    sums.weight = 0
    for c in range(scan.n_classes):
        scan.counted[c] = 0
        whole[c] = 2 * <int64_t> total[c]
        sums.right += <int64_t> total[c] * <int64_t> total[c]


cdef inline void _add(Scan scan, intp_t c, int64_t w, Sums* sums) noexcept nogil:
    cdef int64_t l = scan.counted[c]
    scan.counted[c] = l + w
    sums.weight += w
    l = w * (2 * l + w)
    sums.left += l
    sums.right += l - w * scan.counted[scan.n_classes + c]


cdef inline void _write(
    Scan scan, intp_t size, intp_t last, const Sums* sums
) noexcept nogil:
    # The test behind a level, of those before it.
    cdef intp_t K = scan.n_classes
    cdef intp_t c
    if scan.additive:
        scan.phi_left[size] = sums.left
        scan.phi_right[size] = sums.right
    else:
        for c in range(K):
            scan.left[size * K + c] = scan.counted[c]
    scan.n_left[size] = sums.weight
    scan.place[size] = last


cdef inline intp_t _add_up(
    uint64_t* tally, uint64_t* present, intp_t n_levels, uint64_t* sums, intp_t* place
) noexcept nogil:
    # Packed counts of the levels that have rows, up to and with each, and these levels;
    # how many there are.
    cdef uint64_t total = 0
    cdef intp_t size = 0
    cdef intp_t k, b
    cdef uint64_t marks
    for k in range((n_levels + 63) // 64):
        marks = present[k]
        present[k] = 0
        while marks != 0:
            b = 64 * k + lowest_bit(marks)
            marks &= marks - 1
            total += tally[b]
            tally[b] = 0
            sums[size] = total
            place[size] = b
            size += 1
    return size


cdef intp_t walk_packed_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels, intp_t bits,
    const float64_t* total,
) noexcept nogil:
    # Many levels at a time, class by class.
    cdef intp_t K = scan.n_classes
    cdef float64_t* left = scan.left
    cdef float64_t* phi_left = scan.phi_left
    cdef float64_t* phi_right = scan.phi_right
    cdef float64_t* n_left = scan.n_left
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef float64_t constant = 0.0
    cdef uint64_t sums[MAX_LEVELS]
    cdef intp_t size = _add_up(tally, present, n_levels, sums, scan.place) - 1
    cdef float64_t l, whole
    cdef intp_t i, c
    if size <= 0:       # behind the last level there is no test
        return 0
    for c in range(K):
        constant += total[c] * total[c]
    for i in range(size):
        n_left[i] = 0.0
        phi_left[i] = 0.0
        phi_right[i] = constant
    for c in range(K):
        whole = 2.0 * total[c]
        if scan.additive:
            for i in range(size):
                l = <float64_t> <int32_t> (sums[i] & mask)
                sums[i] >>= bits
                n_left[i] += l
                phi_left[i] += l * l
                phi_right[i] += l * (l - whole)
        else:
            for i in range(size):
                l = <float64_t> <int32_t> (sums[i] & mask)
                sums[i] >>= bits
                n_left[i] += l
                left[i * K + c] = l
    scan.take(size)
    return size


cdef intp_t walk_phi_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels, intp_t bits,
    const float64_t* total,
) noexcept nogil:
    # A class that a level has not got adds 0. Every step writes a test, as above.
    cdef intp_t K = scan.n_classes
    cdef const float64_t* phi = scan.phi
    cdef int64_t* left = scan.counted
    cdef int64_t* rest = scan.counted + K
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef float64_t phi_left = 0.0
    cdef float64_t phi_right = 0.0
    cdef int64_t weight = 0
    cdef intp_t size = 0
    cdef intp_t k, b, c
    cdef uint64_t marks, packed
    cdef int64_t l, r, w
    for c in range(K):
        left[c] = 0
        rest[c] = <int64_t> total[c]
        phi_left += phi[0]
        phi_right += phi[rest[c]]
    for k in range((n_levels + 63) // 64):
        marks = present[k]
        present[k] = 0
        while marks != 0:
            b = 64 * k + lowest_bit(marks)
            marks &= marks - 1
            packed = tally[b]
            tally[b] = 0
            for c in range(K):
                w = <int64_t> (packed & mask)
                packed >>= bits
                l = left[c]
                r = rest[c]
                phi_left += phi[l + w] - phi[l]
                phi_right += phi[r - w] - phi[r]
                left[c] = l + w
                rest[c] = r - w
                weight += w
            scan.phi_left[size] = phi_left
            scan.phi_right[size] = phi_right
            scan.n_left[size] = weight
            scan.place[size] = b
            size += 1
    size -= 1
    if size > 0:
        scan.take(size)
    return size


cdef intp_t walk_plain_tally(
    Scan scan, int32_t* tally, uint64_t* present, intp_t n_levels,
    const float64_t* total,
) noexcept nogil:
    cdef intp_t K = scan.n_classes
    cdef Sums sums
    cdef intp_t size = 0
    cdef intp_t last = -1
    cdef intp_t k, b, c
    cdef uint64_t left_over
    _begin(scan, total, &sums)
    for k in range((n_levels + 63) // 64):
        left_over = present[k]
        present[k] = 0
        while left_over != 0:
            b = 64 * k + lowest_bit(left_over)
            left_over &= left_over - 1
            if last >= 0:
                _write(scan, size, last, &sums)
                size += 1
            last = b
            for c in range(K):
                _add(scan, c, tally[b * K + c], &sums)
                tally[b * K + c] = 0
    if size > 0:
        scan.take(size)
    return size
