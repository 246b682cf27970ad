"""Scans that emit the candidate splits of a feature in blocks; sources of rows.

A source gives the rows of a node, one feature at a time. A walk over a feature reads its values in
ascending order and emits the candidate splits: it writes their class counts on the left, or sums
over the classes of phi(count), a function of the criterion, into arrays, which are passed to a
reader in blocks. An entry of the sorted rows is (row << 1) | new, where new = 1 if the value
differs from that of the previous entry. A level is a distinct value, a cut a candidate threshold;
its position is the number of rows, or the largest level, on the left. The field `pool_left` is the
weight on the left with unlabeled rows; the local variable of this name has the unlabeled rows
only. K is the number of classes. A scan is additive if it emits sums of phi; repeats are the
copies that the integer weight (`count`) of a row stands for. See _scan.pxd.
"""

from libc.math cimport NAN
from libc.string cimport memcpy

from skconftree.criteria._score cimport sum_of
from skconftree.utils._inline cimport midpoint     # the threshold between two values

cdef class CandidateReader:
    """Base class of objects that receive the candidate splits of a node in blocks."""

    cdef void read(self, Scan scan) noexcept nogil:
        pass

    # A walk may leave out candidates that cannot be the best: measure() gives it the scores of
    # some, and leave_out() gets the number of those that are counted but not emitted.
    cdef void measure(self, Scan scan, float64_t* scores) noexcept nogil:
        pass

    cdef void leave_out(self, intp_t n) noexcept nogil:
        pass

    # The only candidate of a feature with one child per category.
    cdef void read_children(self, const Children* children) noexcept nogil:
        pass


cdef class Scan:
    """Walks over one feature, and the candidate splits that they emit."""

    def __init__(self, intp_t n_classes):
        cdef intp_t K = n_classes
        cdef intp_t capacity = BLOCK + 1
        self.n_classes = K
        self.arrays = Arena()
        self.left = <float64_t*> self.arrays.take_zeros(capacity * K, sizeof(float64_t))
        self.n_left = <float64_t*> self.arrays.take_zeros(capacity, sizeof(float64_t))
        self.pool_left = <float64_t*> self.arrays.take_zeros(capacity, sizeof(float64_t))
        self.phi_left = <float64_t*> self.arrays.take_zeros(capacity, sizeof(float64_t))
        self.phi_right = <float64_t*> self.arrays.take_zeros(capacity, sizeof(float64_t))
        self.position = <intp_t*> self.arrays.take_zeros(capacity, sizeof(intp_t))
        # mask of candidates that cannot be selected, but are counted
        self.excluded = <uint8_t*> self.arrays.take_zeros(capacity, sizeof(uint8_t))
        self.running = <float64_t*> self.arrays.take_zeros(K, sizeof(float64_t))
        self.int_counts = <int64_t*> self.arrays.take_zeros(2 * K, sizeof(int64_t))

    cdef void process_block(self, intp_t size) noexcept nogil:
        # The first `size` candidates of the arrays are complete.
        pass

    cdef void measure(self, intp_t size, float64_t* scores) noexcept nogil:
        pass

    cdef void leave_out(self, intp_t n) noexcept nogil:
        pass

    cdef intp_t walk_sorted(
        self, const uint32_t* entries, intp_t n, const label_t* y,
        const int32_t* count, const float64_t* weight, const float64_t* total,
    ) noexcept nogil:
        # Walk over rows in ascending order; `total` has the class counts of all of them. Returns
        # the number of candidates.
        cdef float64_t n_repeated = 0.0
        cdef intp_t c
        if weight != NULL:
            return _walk_weighted(self, entries, n, y, NULL, weight)
        if count != NULL:
            if self.n_classes == 2:
                return _walk_two_classes_counted(self, entries, n, y, count)
            for c in range(self.n_classes):
                n_repeated += total[c]
            # sums of phi are updated for each repeat, unless there are many
            self.additive = self.additive and n_repeated <= REPEATS * n
        elif self.n_classes == 2:
            return _walk_two_classes(self, entries, n, y)
        if self.additive and self.squares:  # phi(count) is count^2
            return _walk_squares(self, entries, n, y, count, total)
        if self.additive:
            return _walk_additive(self, entries, n, y, count, total)
        return _walk_weighted(self, entries, n, y, count, NULL)

    cdef intp_t walk_sorted_with_gap(
        self, const uint32_t* entries, intp_t n, intp_t n_below, intp_t n_gap,
        const float64_t* gap, const label_t* y, const int32_t* count, const float64_t* weight,
    ) noexcept nogil:
        # As walk_sorted, without sums of phi. Between the first n_below of the n entries and the
        # others there are n_gap rows of one value, which have no entries and the class counts
        # `gap`. Blocks of candidates end where those of a walk over all rows end, because the
        # rounding of sums depends on it.
        cdef intp_t K = self.n_classes
        cdef float64_t* running = self.running
        # blocks of _walk_two_classes() have BLOCK rows, those of other walks BLOCK candidates
        cdef bint by_rows = weight == NULL and K == 2
        cdef float64_t n_left = 0.0, w
        cdef intp_t p = 0
        cdef float64_t block_end = BLOCK
        cdef intp_t q, c, row
        cdef bint new
        memset(running, 0, K * sizeof(float64_t))
        for q in range(n + 1):
            new = q < n and (entries[q] & 1)
            if q == n_below and n_gap > 0:
                if p > 0:
                    _emit_in_block(self, n_left, p, by_rows, &block_end)
                for c in range(K):
                    running[c] += gap[c]
                    n_left += gap[c]
                p += n_gap
                new = True
            if q == n:
                break
            if new and p > 0:
                _emit_in_block(self, n_left, p, by_rows, &block_end)
            row = entries[q] >> 1
            w = weight_of(count, weight, row)
            running[y[row]] += w
            n_left += w
            p += 1
        return self.finish()

    cdef intp_t walk_sorted_with_pool(
        self, const uint32_t* entries, intp_t n, const label_t* y, const int32_t* count,
        const float64_t* weight, const float32_t* x, intp_t stride,
    ) noexcept nogil:
        # Some rows have no label (class n_classes). They go left if their value,
        # x[row * stride], is at most the midpoint between the neighboring labeled values.
        cdef intp_t K = self.n_classes
        cdef float64_t* running = self.running
        cdef float64_t w, n_left = 0.0, pool_left = 0.0, unlabeled_left
        cdef intp_t next_unlabeled = 0  # first unlabeled row after the last labeled one
        cdef intp_t last = -1       # last labeled row
        cdef intp_t p, q, row
        cdef float64_t cut
        memset(running, 0, K * sizeof(float64_t))
        for p in range(n):
            row = entries[p] >> 1
            if y[row] == K:
                continue
            if last >= 0 and x[row * stride] != x[last * stride]:
                cut = midpoint(x[last * stride], x[row * stride])
                unlabeled_left = 0.0
                q = next_unlabeled
                while q < p and x[<intp_t> (entries[q] >> 1) * stride] <= cut:
                    unlabeled_left += weight_of(count, weight, entries[q] >> 1)
                    q += 1
                memcpy(self.left + self.size * K, running, K * sizeof(float64_t))
                self.pool_left[self.size] = n_left + pool_left + unlabeled_left
                self.emit(n_left, q)
            # all earlier rows are left of any later cut
            for q in range(next_unlabeled, p):
                pool_left += weight_of(count, weight, entries[q] >> 1)
            next_unlabeled = p + 1
            w = weight_of(count, weight, row)
            running[y[row]] += w
            n_left += w
            last = row
        return self.finish()

    cdef intp_t walk_histogram(
        self, const float64_t* histogram, intp_t n_levels, const float64_t* total
    ) noexcept nogil:
        # histogram is [n_levels, n_classes]. Returns the number of candidates.
        cdef intp_t K = self.n_classes
        cdef float64_t* running = self.running
        cdef const float64_t* level
        cdef float64_t n_level, n_left = 0.0, phi_left = 0.0, phi_right = 0.0
        cdef intp_t last = -1       # last level that has rows
        cdef intp_t b, c, count, rest, added
        for c in range(K):
            running[c] = 0.0
            if self.additive:
                phi_left += self.phi[0]
                phi_right += self.phi[<intp_t> total[c]]
        for b in range(n_levels):
            level = histogram + b * K
            n_level = sum_of(level, K)
            if n_level == 0.0:
                continue
            if last >= 0:
                if self.additive:
                    self.phi_left[self.size] = phi_left
                    self.phi_right[self.size] = phi_right
                else:
                    for c in range(K):
                        self.left[self.size * K + c] = running[c]
                self.emit(n_left, last)
            last = b
            n_left += n_level
            for c in range(K):
                if self.additive and level[c] > 0:
                    added = <intp_t> level[c]
                    count = <intp_t> running[c]
                    rest = <intp_t> total[c] - count
                    phi_left += self.phi[count + added] - self.phi[count]
                    phi_right += self.phi[rest - added] - self.phi[rest]
                running[c] += level[c]
        return self.finish()

    cdef intp_t walk_histogram_with_pool(
        self, const float64_t* histogram, intp_t n_levels, const float32_t* levels
    ) noexcept nogil:
        # histogram is [n_levels, n_classes + 1]; the last column is that of unlabeled rows.
        cdef intp_t K = self.n_classes
        cdef float64_t* running = self.running
        cdef const float64_t* level
        cdef float64_t n_level, unlabeled_left, cut, n_left = 0.0, pool_left = 0.0
        cdef intp_t last = -1       # last level that has labeled rows
        cdef intp_t b, c, q
        memset(running, 0, K * sizeof(float64_t))
        for b in range(n_levels):
            level = histogram + b * (K + 1)
            n_level = sum_of(level, K)
            if n_level == 0.0:
                continue
            if last >= 0:
                cut = midpoint(levels[last], levels[b])
                unlabeled_left = 0.0
                q = last + 1
                while q < b and levels[q] <= cut:
                    unlabeled_left += histogram[q * (K + 1) + K]
                    q += 1
                memcpy(self.left + self.size * K, running, K * sizeof(float64_t))
                self.pool_left[self.size] = n_left + pool_left + unlabeled_left
                self.emit(n_left, q - 1)
            for q in range(last + 1, b + 1):
                pool_left += histogram[q * (K + 1) + K]
            for c in range(K):
                running[c] += level[c]
            n_left += n_level
            last = b
        return self.finish()


cdef intp_t _walk_two_classes(
    Scan scan, const uint32_t* entries, intp_t n, const label_t* y
) noexcept nogil:
    # Invariant: `class_1` is the number of rows of class 1 among the first p rows. Every step
    # writes a candidate, which is retained if the next row has a new value.
    cdef float64_t* left = scan.left
    cdef float64_t* n_left = scan.n_left
    cdef intp_t* position = scan.position
    cdef intp_t n_candidates = 0, size, stop, p = 1
    cdef int32_t class_1 = y[entries[0] >> 1]
    cdef uint32_t entry
    while p < n:
        stop = min(p + BLOCK, n)
        size = 0
        while p < stop:
            entry = entries[p]
            left[2 * size] = <int32_t> p - class_1
            left[2 * size + 1] = class_1
            n_left[size] = <int32_t> p
            position[size] = p
            size += entry & 1
            class_1 += y[entry >> 1]
            p += 1
        if size > 0:
            scan.process_block(size)
            n_candidates += size
    return n_candidates


cdef intp_t _walk_additive(
    Scan scan, const uint32_t* entries, intp_t n, const label_t* y,
    const int32_t* count, const float64_t* total,
) noexcept nogil:
    # Invariant: phi_left and phi_right are the sums of phi over the classes, for the rows walked
    # so far and for the other rows. Each repeat of a row changes one term of each sum.
    cdef intp_t K = scan.n_classes
    cdef const float64_t* phi = scan.phi
    cdef int64_t* left = scan.int_counts
    cdef int64_t* rest = scan.int_counts + K
    cdef float64_t phi_left = 0.0, phi_right = 0.0, n_left = 0.0
    cdef intp_t p, c, row
    cdef int32_t w = 1
    for c in range(K):
        left[c] = 0
        rest[c] = <int64_t> total[c]
        phi_left += phi[0]
        phi_right += phi[rest[c]]
    for p in range(n):
        if p > 0 and entries[p] & 1:
            scan.phi_left[scan.size] = phi_left
            scan.phi_right[scan.size] = phi_right
            scan.emit(n_left, p)
        row = entries[p] >> 1
        c = y[row]
        if count != NULL:
            w = count[row]
        for _ in range(w):
            phi_left += phi[left[c] + 1] - phi[left[c]]
            phi_right += phi[rest[c] - 1] - phi[rest[c]]
            left[c] += 1
            rest[c] -= 1
        n_left += w
    return scan.finish()


cdef intp_t _walk_squares(
    Scan scan, const uint32_t* entries, intp_t n, const label_t* y,
    const int32_t* count, const float64_t* total,
) noexcept nogil:
    # As _walk_additive, for squares. With the counts l of a class on the left and t in the
    # node, (t - l)^2 = t^2 - 2 t l + l^2. A row changes one l.
    cdef intp_t K = scan.n_classes
    cdef int64_t* left = scan.int_counts
    cdef int64_t* total_of = scan.int_counts + K
    cdef int64_t squares = 0        # of l,
    cdef int64_t products = 0       # t l
    cdef int64_t constant = 0       # and t^2, summed over the classes
    cdef int64_t n_left = 0, w = 1
    cdef intp_t p, c, row
    for c in range(K):
        left[c] = 0
        total_of[c] = <int64_t> total[c]
        constant += total_of[c] * total_of[c]
    for p in range(n):
        if p > 0 and entries[p] & 1:
            scan.phi_left[scan.size] = squares
            scan.phi_right[scan.size] = constant - 2 * products + squares
            scan.emit(n_left, p)
        row = entries[p] >> 1
        c = y[row]
        if count != NULL:
            w = count[row]
        squares += w * (2 * left[c] + w)
        products += w * total_of[c]
        left[c] += w
        n_left += w
    return scan.finish()


cdef intp_t _walk_two_classes_counted(
    Scan scan, const uint32_t* entries, intp_t n, const label_t* y, const int32_t* count
) noexcept nogil:
    # As _walk_two_classes, for rows with counts. Blocks of candidates end where those of a walk
    # over repeated rows end.
    cdef float64_t* left = scan.left
    cdef float64_t* n_left = scan.n_left
    cdef intp_t* position = scan.position
    cdef intp_t n_candidates = 0, size, p = 1
    cdef intp_t row = entries[0] >> 1
    cdef int32_t weight = count[row]
    cdef int32_t class_1 = weight * y[row]
    cdef int32_t block_end
    cdef uint32_t entry
    while p < n:
        # weights ascend by at least 1: a block has at most BLOCK candidates
        block_end = (weight - 1) // BLOCK * BLOCK
        size = 0
        while p < n and weight - block_end <= BLOCK:
            entry = entries[p]
            left[2 * size] = weight - class_1
            left[2 * size + 1] = class_1
            n_left[size] = weight
            position[size] = p
            size += entry & 1
            row = entry >> 1
            weight += count[row]
            class_1 += count[row] * y[row]
            p += 1
        if size > 0:
            scan.process_block(size)
            n_candidates += size
    return n_candidates


cdef intp_t _walk_weighted(
    Scan scan, const uint32_t* entries, intp_t n, const label_t* y,
    const int32_t* count, const float64_t* weight,
) noexcept nogil:
    cdef intp_t K = scan.n_classes
    cdef float64_t* running = scan.running
    cdef float64_t n_left = 0.0, w
    cdef intp_t p, row
    memset(running, 0, K * sizeof(float64_t))
    for p in range(n):
        if p > 0 and entries[p] & 1:
            memcpy(scan.left + scan.size * K, running, K * sizeof(float64_t))
            scan.emit(n_left, p)
        row = entries[p] >> 1
        w = weight_of(count, weight, row)
        running[y[row]] += w
        n_left += w
    return scan.finish()


cdef inline void _emit_in_block(
    Scan scan, float64_t n_left, intp_t p, bint by_rows, float64_t* block_end
) noexcept nogil:
    # Emit a candidate with the running counts. Before it, end the block if the candidate's
    # n_left rows reach past `block_end`.
    cdef intp_t size = scan.size
    if by_rows and n_left > block_end[0]:
        block_end[0] = (<intp_t> n_left + BLOCK - 1) // BLOCK * BLOCK
        if size > 0:
            scan.n_emitted += size
            scan.size = 0
            scan.process_block(size)
    memcpy(
        scan.left + scan.size * scan.n_classes, scan.running, scan.n_classes * sizeof(float64_t),
    )
    scan.emit(n_left, p)


cdef class Source:
    """Base class of sources, the rows of a node."""

    def __init__(self, ExaminedNode node not None):
        self.node = node
        self.longest_walk = ANY_LENGTH      # no limit of the number of rows of a walk

    # Called when a node has been entered; the second method before its features are walked.
    cdef void begin(self) noexcept nogil:
        pass

    cdef void prepare_features(self, const int32_t* features, intp_t n) noexcept nogil:
        pass

    cdef float64_t weight_without_repeats(self) noexcept nogil:
        return self.node.n

    # Count the rows with and without a value. False: no value is missing.
    cdef bint count_values(self, intp_t feature, ValueCounts* values) noexcept nogil:
        return False

    # Sums of weights, values and squares by class, for bounds that test features; the second
    # method computes them up to rounding. False: this is not faster.
    cdef void sum_by_class(self, intp_t feature, float64_t* sums) noexcept nogil:
        pass

    cdef bint sum_roughly(
        self, const int32_t* features, intp_t n, float64_t* sums
    ) noexcept nogil:
        return False

    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil:
        return 0

    # Number of cuts, and of those (admissible) whose children are large enough.
    cdef intp_t count_cuts(self, intp_t feature, intp_t* n_admissible) noexcept nogil:
        return -1

    # Approximate counts of all cuts; -1 = not supported, here and in count_cuts().
    cdef intp_t sketch(self, intp_t feature, float32_t* left) noexcept nogil:
        return -1

    # The position of a cut with all values on the left.
    cdef intp_t end_position(self, intp_t feature) noexcept nogil:
        return 0

    # A random cut, from u in [0, 1): its position and threshold.
    cdef intp_t draw(self, intp_t feature, float64_t u, float64_t* threshold) noexcept nogil:
        return 0

    cdef float64_t threshold(self, intp_t feature, intp_t position) noexcept nogil:
        return NAN

    # Count the rows on both sides of a cut. False: no value is missing.
    cdef bint count_sides(
        self, intp_t feature, intp_t position, Children* children, ValueCounts* values
    ) noexcept nogil:
        return False

    cdef intp_t count_categories(self, intp_t feature, float64_t* counts) noexcept nogil:
        return 0

    cdef void count_branches(self, intp_t feature, Children* children) noexcept nogil:
        pass
