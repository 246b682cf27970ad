"""Rows of a node, each in one word with its class and its count."""

cimport cython
from libc.string cimport memcpy

cdef enum:
    MOST_PACKED = 16        # classes
    N_CODES = 256
    N_WORDS = 4             # of `present`


cdef intp_t packed_bits(intp_t n_classes, double most) noexcept nogil:
    cdef intp_t bits
    if n_classes > MOST_PACKED:
        return 0
    bits = 64 // max(n_classes, 2)
    return bits if most < <double> (<uint64_t> 1 << bits) else 0


cdef inline uint64_t _packed(uint64_t word, intp_t bits) noexcept nogil:
    return (word >> 48) << (class_of(word) * bits)


cdef void mark_present(const uint64_t* tally, uint64_t* present) noexcept nogil:
    cdef uint64_t word
    cdef intp_t i, k
    for k in range(N_WORDS):
        word = 0
        for i in range(64):
            word |= <uint64_t> (tally[64 * k + i] != 0) << i
        present[k] = word


cdef void tally_packed(
    const uint8_t* column, intp_t stride, const int32_t* codes, const uint64_t* rows,
    intp_t n, intp_t bits, uint64_t* tally, uint64_t* present,
) noexcept nogil:
    cdef intp_t i, code
    cdef uint64_t word
    if codes != NULL:
        for i in range(n):
            tally[codes[i]] += _packed(rows[i], bits)
            present[codes[i] >> 6] |= <uint64_t> 1 << (codes[i] & 63)
    elif n > MARKED_ROWS:
        for i in range(n):
            word = rows[i]
            tally[column[<intp_t> row_of(word) * stride]] += _packed(word, bits)
        mark_present(tally, present)
    else:
        for i in range(n):
            word = rows[i]
            code = column[<intp_t> row_of(word) * stride]
            tally[code] += _packed(word, bits)
            present[code >> 6] |= <uint64_t> 1 << (code & 63)


cdef void _tally_two(
    const uint8_t* codes, intp_t stride, const intp_t* offsets, const uint64_t* rows,
    intp_t n, intp_t bits, uint64_t* tally
) noexcept nogil:
    cdef const uint8_t* c0 = codes + offsets[0]
    cdef const uint8_t* c1 = codes + offsets[1]
    cdef uint64_t one
    cdef intp_t i, row
    for i in range(n):
        row = <intp_t> row_of(rows[i]) * stride
        one = _packed(rows[i], bits)
        tally[c0[row]] += one
        (tally + N_CODES)[c1[row]] += one


cdef void _tally_four(
    const uint8_t* codes, intp_t stride, const intp_t* offsets, const uint64_t* rows,
    intp_t n, intp_t bits, uint64_t* tally
) noexcept nogil:
    cdef const uint8_t* c0 = codes + offsets[0]
    cdef const uint8_t* c1 = codes + offsets[1]
    cdef const uint8_t* c2 = codes + offsets[2]
    cdef const uint8_t* c3 = codes + offsets[3]
    cdef uint64_t one
    cdef intp_t i, row
    for i in range(n):
        row = <intp_t> row_of(rows[i]) * stride
        one = _packed(rows[i], bits)
        tally[c0[row]] += one
        (tally + N_CODES)[c1[row]] += one
        (tally + 2 * N_CODES)[c2[row]] += one
        (tally + 3 * N_CODES)[c3[row]] += one


cdef void tally_packed_columns(
    const uint8_t* codes, intp_t stride, const intp_t* offsets, intp_t n_columns,
    const uint64_t* rows, intp_t n, intp_t bits, uint64_t* tally, uint64_t* present,
) noexcept nogil:
    cdef const uint8_t* row
    cdef intp_t done = 0
    cdef intp_t i, k, code
    while done + 4 <= n_columns:
        _tally_four(
            codes, stride, offsets + done, rows, n, bits, tally + N_CODES * done
        )
        done += 4
    if done + 2 <= n_columns:
        _tally_two(
            codes, stride, offsets + done, rows, n, bits, tally + N_CODES * done
        )
        done += 2
    if n > MARKED_ROWS:
        for k in range(done):
            mark_present(tally + N_CODES * k, present + N_WORDS * k)
    else:
        for i in range(n):
            row = codes + <intp_t> row_of(rows[i]) * stride
            for k in range(done):
                code = row[offsets[k]]
                present[N_WORDS * k + (code >> 6)] |= <uint64_t> 1 << (code & 63)
    for k in range(done, n_columns):
        tally_packed(
            codes + offsets[k], stride, NULL, rows, n, bits, tally + N_CODES * k,
            present + N_WORDS * k,
        )


cdef void tally_plain(
    const uint8_t* column, intp_t stride, const int32_t* codes, const uint64_t* rows,
    intp_t n, intp_t n_classes, int32_t* tally, uint64_t* present,
) noexcept nogil:
    cdef intp_t i, code
    for i in range(n):
        if codes != NULL:
            code = codes[i]
        else:
            code = column[<intp_t> row_of(rows[i]) * stride]
        tally[code * n_classes + class_of(rows[i])] += count_of(rows[i])
        present[code >> 6] |= <uint64_t> 1 << (code & 63)


@cython.overflowcheck(False)     # distances to codes on the other side wrap, and -side
cdef void part_rows(             # is a mask
    const code_t* column, intp_t stride, const uint64_t* rows, intp_t n, int32_t cut,
    intp_t bits, uint64_t* parted, Parted* found,
) noexcept nogil:
    # Without branches: nobody knows which side is next. A row is written to both ends;
    # what is too much is written over, or is the row that belongs there.
    cdef uint64_t* end = parted + n - 1
    cdef uint64_t above = ~(<uint64_t> 0)
    cdef uint64_t below = ~(<uint64_t> 0)
    cdef uint64_t right = 0
    cdef uint64_t word, key, side
    cdef intp_t left = 0
    cdef intp_t i
    cdef int32_t code
    for i in range(n):
        word = rows[i]
        code = column[<intp_t> row_of(word) * stride]
        side = code > cut
        parted[left] = word
        (end - i)[left] = word
        left += 1 - <intp_t> side
        right += _packed(word, bits) & (0 - side)
        # the nearest code, and of these the first row
        key = (<uint64_t> <uint32_t> (code - cut - 1) << 32) | row_of(word)
        above = key if key < above else above
        if code_t is not uint8_t:
            key = (<uint64_t> <uint32_t> (cut - code) << 32) | row_of(word)
            below = key if key < below else below
    found.n_left = left
    found.right = right
    found.below = row_of(below)
    found.above = row_of(above)
    found.code_above = <uint32_t> ((above >> 32) + cut + 1)


cdef void take_parted(
    const uint64_t* parted, intp_t n, intp_t n_left, uint64_t* rows
) noexcept nogil:
    cdef intp_t i
    memcpy(rows, parted, n_left * sizeof(uint64_t))
    for i in range(n_left, n):
        rows[i] = parted[n - 1 - i + n_left]
