"""Tagged rows of a node, one integer with class and count each; counts of their codes.

A code is the rank or bin of a value in its feature (also: level). A tally has the class counts
of each code in a node; they are packed if those of all classes are in one 64-bit integer of
`bits` per class. A walk passes the candidate splits between the codes, in ascending order, to
a `Scan`, which scores them: it emits them. If the criterion is additive, it passes sums over
classes of phi(count), the criterion's function of a count. A tagged row is (count << 48) | (class
<< 32) | row. K is the number of classes. RowCodes has the codes row by row, in `row_bytes` bytes;
that of a feature is at the `offset` of its column. An Arena owns arrays. See _packed_rows.pxd.
"""

cimport cython
from libc.string cimport memcpy, memset

from skconftree.tables._encoded_table cimport MAX_LEVELS   # codes that fit into a byte
from skconftree.utils._inline cimport lowest_bit           # index of the lowest set bit
from skconftree.utils._typedefs cimport int64_t

cdef enum:
    MAX_PACKED = 16        # classes
    PRESENT_UINT64 = 4     # integers of `present`, which has a bit for each of MAX_LEVELS codes


cdef intp_t packed_bits(intp_t n_classes, double max_count) noexcept nogil:
    # The number of bits per class, if no count is above `max_count`.
    cdef intp_t bits
    if n_classes > MAX_PACKED:
        return 0
    bits = 64 // max(n_classes, 2)
    return bits if max_count < <double> (<uint64_t> 1 << bits) else 0


cdef inline uint64_t _packed(uint64_t row, intp_t bits) noexcept nogil:
    # The packed counts of a tagged row.
    return (row >> 48) << (class_of(row) * bits)


cdef void mark_present(const uint64_t* tally, uint64_t* present) noexcept nogil:
    # Set the bits of `present` of the codes that have counts.
    cdef uint64_t marks
    cdef intp_t i, k
    for k in range(PRESENT_UINT64):
        marks = 0
        for i in range(64):
            marks |= <uint64_t> (tally[64 * k + i] != 0) << i
        present[k] = marks


cdef void tally_packed(
    const uint8_t* column, intp_t stride, const int32_t* codes, const uint64_t* rows,
    intp_t n, intp_t bits, uint64_t* tally, uint64_t* present,
) noexcept nogil:
    # The codes are in `codes`, in the order of `rows`, or in `column`, by row of the table.
    cdef intp_t i, code
    cdef uint64_t row
    if codes != NULL:
        for i in range(n):
            tally[codes[i]] += _packed(rows[i], bits)
            present[codes[i] >> 6] |= <uint64_t> 1 << (codes[i] & 63)
    elif n > MARKED_ROWS:   # it is then faster to set the bits at the end
        for i in range(n):
            row = rows[i]
            tally[column[<intp_t> row_of(row) * stride]] += _packed(row, bits)
        mark_present(tally, present)
    else:
        for i in range(n):
            row = rows[i]
            code = column[<intp_t> row_of(row) * stride]
            tally[code] += _packed(row, bits)
            present[code >> 6] |= <uint64_t> 1 << (code & 63)


cdef void _tally_two(
    const uint8_t* codes, intp_t stride, const intp_t* offsets, const uint64_t* rows,
    intp_t n, intp_t bits, uint64_t* tally
) noexcept nogil:
    cdef const uint8_t* c0 = codes + offsets[0]
    cdef const uint8_t* c1 = codes + offsets[1]
    cdef uint64_t counts
    cdef intp_t i, row
    for i in range(n):
        row = <intp_t> row_of(rows[i]) * stride
        counts = _packed(rows[i], bits)
        tally[c0[row]] += counts
        (tally + MAX_LEVELS)[c1[row]] += counts


cdef void _tally_four(
    const uint8_t* codes, intp_t stride, const intp_t* offsets, const uint64_t* rows,
    intp_t n, intp_t bits, uint64_t* tally
) noexcept nogil:
    cdef const uint8_t* c0 = codes + offsets[0]
    cdef const uint8_t* c1 = codes + offsets[1]
    cdef const uint8_t* c2 = codes + offsets[2]
    cdef const uint8_t* c3 = codes + offsets[3]
    cdef uint64_t counts
    cdef intp_t i, row
    for i in range(n):
        row = <intp_t> row_of(rows[i]) * stride
        counts = _packed(rows[i], bits)
        tally[c0[row]] += counts
        (tally + MAX_LEVELS)[c1[row]] += counts
        (tally + 2 * MAX_LEVELS)[c2[row]] += counts
        (tally + 3 * MAX_LEVELS)[c3[row]] += counts


cdef void tally_packed_columns(
    const uint8_t* codes, intp_t stride, const intp_t* offsets, intp_t n_columns,
    const uint64_t* rows, intp_t n, intp_t bits, uint64_t* tally, uint64_t* present,
) noexcept nogil:
    # The same as tally_packed() for several columns together. Their codes have these offsets
    # within the codes of a row, and their tallies of MAX_LEVELS codes are adjacent.
    cdef const uint8_t* row
    cdef intp_t done = 0, i, k, code
    while done + 4 <= n_columns:
        _tally_four(codes, stride, offsets + done, rows, n, bits, tally + MAX_LEVELS * done)
        done += 4
    if done + 2 <= n_columns:
        _tally_two(codes, stride, offsets + done, rows, n, bits, tally + MAX_LEVELS * done)
        done += 2
    if n > MARKED_ROWS:
        for k in range(done):
            mark_present(tally + MAX_LEVELS * k, present + PRESENT_UINT64 * k)
    else:
        for i in range(n):
            row = codes + <intp_t> row_of(rows[i]) * stride
            for k in range(done):
                code = row[offsets[k]]
                present[PRESENT_UINT64 * k + (code >> 6)] |= <uint64_t> 1 << (code & 63)
    for k in range(done, n_columns):
        tally_packed(
            codes + offsets[k], stride, NULL, rows, n, bits, tally + MAX_LEVELS * k,
            present + PRESENT_UINT64 * k,
        )


@cython.overflowcheck(False)     # distances to codes on the other side wrap around, and
cdef void divide_rows(           # -side is a mask
    const code_t* column, intp_t stride, const uint64_t* rows, intp_t n, int32_t cut,
    intp_t bits, uint64_t* divided, Division* result,
) noexcept nogil:
    # Rows whose code is at most `cut` are written from the front, the others from the end.
    # Without branches, which the processor cannot predict: a row is written to both ends, and
    # the wrong copy is overwritten later, or is in the same place.
    cdef uint64_t* end = divided + n - 1
    cdef uint64_t above = ~(<uint64_t> 0)
    cdef uint64_t below = ~(<uint64_t> 0)
    cdef uint64_t right = 0, row, key, side
    cdef intp_t left = 0, i
    cdef int32_t code
    for i in range(n):
        row = rows[i]
        code = column[<intp_t> row_of(row) * stride]
        side = code > cut
        divided[left] = row
        (end - i)[left] = row
        left += 1 - <intp_t> side
        right += _packed(row, bits) & (0 - side)
        # the nearest code, and the first row that has it
        key = (<uint64_t> <uint32_t> (code - cut - 1) << 32) | row_of(row)
        above = key if key < above else above
        if code_t is not uint8_t:
            key = (<uint64_t> <uint32_t> (cut - code) << 32) | row_of(row)
            below = key if key < below else below
    result.n_left = left
    result.right = right            # packed class counts of the rows that go right
    result.below = row_of(below)    # not a row if codes are bytes
    result.above = row_of(above)
    result.code_above = <uint32_t> ((above >> 32) + cut + 1)


cdef void restore_divided(
    const uint64_t* divided, intp_t n, intp_t n_left, uint64_t* rows
) noexcept nogil:
    cdef intp_t i
    memcpy(rows, divided, n_left * sizeof(uint64_t))
    for i in range(n_left, n):
        rows[i] = divided[n - 1 - i + n_left]


cdef enum:
    SHORT_SORT = 24              # number of rows up to which insertion sort is used


cdef void count_codes(
    const counted_code_t* codes, intp_t n, const label_t* y, const int32_t* count,
    const float64_t* weight, intp_t n_codes, intp_t width, int32_t* tally, float64_t* out,
) noexcept nogil:
    # Weights by code and class: out [n_codes, width]. width: number of classes, or one more if
    # there are unlabeled rows. tally: scratch of the same size.
    cdef intp_t i
    if weight != NULL:
        memset(out, 0, n_codes * width * sizeof(float64_t))
        for i in range(n):
            out[codes[i] * width + y[i]] += weight[i]
        return
    memset(tally, 0, n_codes * width * sizeof(int32_t))
    if count != NULL:
        for i in range(n):
            tally[codes[i] * width + y[i]] += count[i]
    else:
        for i in range(n):
            tally[codes[i] * width + y[i]] += 1
    for i in range(n_codes * width):
        out[i] = tally[i]


@cython.overflowcheck(False)     # distances to codes on the other side wrap around: they
cdef void code_neighbors(        # are larger than any on this side
    const uint8_t* codes, intp_t n, uint8_t position, intp_t* below, intp_t* above
) noexcept nogil:
    # The largest code up to `position`, and the smallest above. No branches: many codes at a time.
    cdef uint8_t down = MAX_LEVELS - 1
    cdef uint8_t up = MAX_LEVELS - 1
    cdef uint8_t below_by, above_by
    cdef intp_t i
    for i in range(n):
        below_by = <uint8_t> (position - codes[i])
        above_by = <uint8_t> (codes[i] - position - 1)
        if below_by < down:
            down = below_by
        if above_by < up:
            up = above_by
    below[0] = position - down
    above[0] = position + 1 + up


cdef void sort_codes(
    const uint8_t* codes, intp_t n, intp_t n_levels, int32_t* sorted_codes, uint32_t* entries,
) noexcept nogil:
    # entries: (row << 1) | 1 if the code differs from the previous one, else row << 1.
    if n <= SHORT_SORT:
        _insertion_sort_codes(codes, n, sorted_codes, entries)
    else:
        _counting_sort_codes(codes, n, n_levels, sorted_codes, entries)


cdef void _insertion_sort_codes(
    const uint8_t* codes, intp_t n, int32_t* sorted_codes, uint32_t* entries
) noexcept nogil:
    cdef uint32_t* keys = <uint32_t*> sorted_codes
    cdef uint32_t key, previous
    cdef intp_t i, j
    for i in range(n):
        key = (<uint32_t> codes[i] << 16) | <uint32_t> i
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
    previous = keys[0] >> 16
    for i in range(n):
        key = keys[i]
        keys[i] = key >> 16
        entries[i] = ((key & 0xFFFF) << 1) | <uint32_t> (key >> 16 != previous)
        previous = key >> 16


cdef void _counting_sort_codes(
    const uint8_t* codes, intp_t n, intp_t n_levels, int32_t* sorted_codes, uint32_t* entries,
) noexcept nogil:
    # Counting sort, from the last row to the first.
    cdef uint32_t ends[MAX_LEVELS]
    cdef uint32_t first[MAX_LEVELS]     # first position of each code that has rows
    cdef intp_t n_present = 0
    cdef uint32_t total = 0, position
    cdef intp_t i, code
    memset(ends, 0, n_levels * sizeof(uint32_t))
    for i in range(n):
        ends[codes[i]] += 1
    for code in range(n_levels):
        first[n_present] = total
        n_present += ends[code] > 0
        total += ends[code]
        ends[code] = total
    for i in range(n - 1, -1, -1):
        code = codes[i]
        position = ends[code] - 1
        ends[code] = position
        sorted_codes[position] = <int32_t> code
        entries[position] = <uint32_t> i << 1
    for i in range(n_present):
        entries[first[i]] |= 1


cdef class CodeTally:
    """Class counts of the rows of a node by their code."""

    def __init__(self, intp_t n_classes):
        self.n_classes = n_classes
        # first those of one column alone, then of up to MAX_COLUMNS that are counted together
        self.arena = Arena()
        self.counts = <uint64_t*> self.arena.take_zeros(
            (1 + MAX_COLUMNS) * MAX_LEVELS, sizeof(uint64_t)
        )
        self.present = <uint64_t*> self.arena.take_zeros(
            (1 + MAX_COLUMNS) * PRESENT_UINT64, sizeof(uint64_t)
        )
        self.packed_row = <uint64_t*> self.arena.take_zeros(n_classes, sizeof(uint64_t))

    cdef void begin(self, float64_t n) noexcept nogil:
        cdef intp_t bits = packed_bits(self.n_classes, n)
        cdef intp_t c
        if bits > 0 and bits != self.bits:
            for c in range(self.n_classes):
                self.packed_row[c] = <uint64_t> 1 << (c * bits)
        self.bits = bits
        self._clear()

    cdef void add(
        self, const uint8_t* codes, const label_t* y, const int32_t* count, intp_t n
    ) noexcept nogil:
        cdef uint64_t* counts = self.counts
        cdef uint64_t* present = self.present
        cdef const uint64_t* packed_row = self.packed_row
        cdef intp_t i
        if count != NULL:
            for i in range(n):
                counts[codes[i]] += <uint64_t> count[i] * packed_row[y[i]]
        else:
            for i in range(n):
                counts[codes[i]] += packed_row[y[i]]
        if n > MARKED_ROWS:
            mark_present(counts, present)
            return
        for i in range(n):
            present[codes[i] >> 6] |= <uint64_t> 1 << (codes[i] & 63)

    cdef void add_columns(
        self, RowCodes row_codes, const int32_t* features, intp_t n_features,
        const uint64_t* rows, intp_t n
    ) noexcept nogil:
        cdef intp_t offsets[MAX_COLUMNS]
        cdef intp_t k
        self._clear()
        for k in range(n_features):
            self.counted_features[k] = features[k]
            offsets[k] = row_codes.columns[features[k]].offset
        self.n_counted = n_features
        tally_packed_columns(
            row_codes.bytes, row_codes.row_bytes, offsets, n_features, rows, n,
            self.bits, self.counts + MAX_LEVELS, self.present + PRESENT_UINT64,
        )

    cdef void _clear(self) noexcept nogil:
        cdef intp_t k
        for k in range(self.n_counted):
            if self.counted_features[k] >= 0:
                memset(self.counts + (k + 1) * MAX_LEVELS, 0, MAX_LEVELS * sizeof(uint64_t))
                memset(
                    self.present + (k + 1) * PRESENT_UINT64, 0, PRESENT_UINT64 * sizeof(uint64_t),
                )
        self.n_counted = 0

    cdef intp_t walk(self, Scan scan, intp_t n_levels, const float64_t* total) noexcept nogil:
        return _walk(self, 0, scan, n_levels, total)

    cdef intp_t walk_counted(
        self, intp_t feature, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil:
        cdef intp_t k
        for k in range(self.n_counted):
            if self.counted_features[k] == feature:
                self.counted_features[k] = -1       # walked
                return _walk(self, k + 1, scan, n_levels, total)
        return -1


cdef intp_t _walk(
    CodeTally code_tally, intp_t position, Scan scan, intp_t n_levels, const float64_t* total
) noexcept nogil:
    # Returns the number of candidates; `position` is that of a column in the tally.
    cdef uint64_t* counts = code_tally.counts + position * MAX_LEVELS
    cdef uint64_t* present = code_tally.present + position * PRESENT_UINT64
    if scan.additive and not scan.squares:  # squares: phi(count) is count^2
        return walk_phi_tally(scan, counts, present, n_levels, code_tally.bits, total)
    if code_tally.n_classes == 2:
        return walk_two_class_tally(scan, counts, present, n_levels)
    return walk_packed_tally(scan, counts, present, n_levels, code_tally.bits, total)


# Walks over tallies of codes, whose integer counts are exact in any order. They emit the same
# as Scan.walk_histogram, in one block, because there are at most BLOCK codes. The bits of
# `present` mark the codes that have rows. Tally and bits are zero afterwards. `left`, `n_left`,
# `phi_left` and `position` of a Scan have one candidate each; process_block() scores them.

cdef intp_t walk_two_class_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels
) noexcept nogil:
    # Every step writes a candidate; the one after the last level is not emitted.
    cdef float64_t* left = scan.left
    cdef float64_t* n_left = scan.n_left
    cdef intp_t* position = scan.position
    cdef uint64_t sums = 0
    cdef intp_t size = 0, k, b
    cdef int32_t class_0, class_1
    cdef uint64_t bits
    for k in range((n_levels + 63) // 64):
        bits = present[k]
        present[k] = 0
        while bits != 0:
            b = 64 * k + lowest_bit(bits)
            bits &= bits - 1
            sums += tally[b]
            tally[b] = 0
            class_0 = <int32_t> <uint32_t> sums
            class_1 = <int32_t> (sums >> 32)
            left[2 * size] = class_0
            left[2 * size + 1] = class_1
            n_left[size] = class_0 + class_1
            position[size] = b
            size += 1
    size -= 1
    if size > 0:
        scan.process_block(size)
    return size


cdef inline intp_t _cumulate(
    uint64_t* tally, uint64_t* present, intp_t n_levels, uint64_t* sums, intp_t* position
) noexcept nogil:
    # Set `sums` to the cumulative packed counts of the codes that have rows, and `position`
    # to these codes; return their number.
    cdef uint64_t total = 0
    cdef intp_t size = 0, k, b
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
            position[size] = b
            size += 1
    return size


cdef intp_t walk_packed_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels, intp_t bits,
    const float64_t* total,
) noexcept nogil:
    # Class by class, so that the loops over levels are vectorized.
    cdef intp_t K = scan.n_classes
    cdef float64_t* left = scan.left
    cdef float64_t* phi_left = scan.phi_left
    cdef float64_t* phi_right = scan.phi_right
    cdef float64_t* n_left = scan.n_left
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef float64_t constant = 0.0
    cdef uint64_t sums[MAX_LEVELS]
    cdef intp_t size = _cumulate(tally, present, n_levels, sums, scan.position) - 1
    cdef float64_t l, doubled
    cdef intp_t i, c
    if size <= 0:       # there is no candidate after the last level
        return 0
    for c in range(K):
        constant += total[c] * total[c]
    for i in range(size):
        n_left[i] = 0.0
        phi_left[i] = 0.0
        phi_right[i] = constant
    for c in range(K):
        doubled = 2.0 * total[c]
        if scan.additive:
            for i in range(size):
                l = <float64_t> <int32_t> (sums[i] & mask)
                sums[i] >>= bits
                n_left[i] += l
                phi_left[i] += l * l
                phi_right[i] += l * (l - doubled)
        else:
            for i in range(size):
                l = <float64_t> <int32_t> (sums[i] & mask)
                sums[i] >>= bits
                n_left[i] += l
                left[i * K + c] = l
    scan.process_block(size)
    return size


cdef intp_t walk_phi_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels, intp_t bits,
    const float64_t* total,
) noexcept nogil:
    # For more than two classes, if phi is not the square: sums in the order of the classes.
    cdef intp_t K = scan.n_classes
    cdef const float64_t* phi = scan.phi
    cdef int64_t* left = scan.int_counts    # scratch
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef uint64_t sums[MAX_LEVELS]
    cdef intp_t size = _cumulate(tally, present, n_levels, sums, scan.position) - 1
    cdef float64_t phi_left = 0.0, phi_right = 0.0
    cdef intp_t i, c
    cdef int64_t l, n, weight
    for c in range(K):
        left[c] = 0
        phi_left += phi[0]
        phi_right += phi[<int64_t> total[c]]
    for i in range(size):       # there is no candidate after the last level
        weight = 0
        for c in range(K):
            n = <int64_t> total[c]
            l = <int64_t> (sums[i] & mask)
            sums[i] >>= bits
            phi_left += phi[l] - phi[left[c]]
            phi_right += phi[n - l] - phi[n - left[c]]
            left[c] = l
            weight += l
        scan.phi_left[i] = phi_left
        scan.phi_right[i] = phi_right
        scan.n_left[i] = weight
    if size > 0:
        scan.process_block(size)
    return size


cdef intp_t walk_unpacked_tally(
    Scan scan, int32_t* tally, uint64_t* present, intp_t n_levels, const float64_t* total,
) noexcept nogil:
    # `squares` and `right` are the sums of squares on both sides; on the right, of
    # (total - left)^2 = total^2 + left^2 - left (2 total).
    cdef intp_t K = scan.n_classes
    cdef int64_t* left = scan.int_counts    # scratch
    cdef int64_t* doubled = scan.int_counts + K
    cdef int64_t squares = 0, right = 0, weight = 0, l, w
    cdef intp_t size = 0, k, b, c
    cdef uint64_t marks
    for c in range(K):
        left[c] = 0
        doubled[c] = 2 * <int64_t> total[c]
        right += <int64_t> total[c] * <int64_t> total[c]
    for k in range((n_levels + 63) // 64):
        marks = present[k]
        present[k] = 0
        while marks != 0:
            b = 64 * k + lowest_bit(marks)
            marks &= marks - 1
            for c in range(K):
                w = tally[b * K + c]
                tally[b * K + c] = 0
                l = left[c]
                left[c] = l + w
                weight += w
                l = w * (2 * l + w)
                squares += l
                right += l - w * doubled[c]
            # every step writes a candidate; the one after the last level is not emitted
            if scan.additive:
                scan.phi_left[size] = squares
                scan.phi_right[size] = right
            else:
                for c in range(K):
                    scan.left[size * K + c] = left[c]
            scan.n_left[size] = weight
            scan.position[size] = b
            size += 1
    size -= 1
    if size > 0:
        scan.process_block(size)
    return size
