"""Source of rows (_table_source.pxd) for nodes that examine few randomly sampled features.

Instead of dividing all columns between children, it looks up the codes of these features. A
code is the rank or bin of a value in its feature; a level is a distinct value of a feature with
few of them, which is called coded. A feature with more values is sorted. A tagged row is the
row with its class and its count in the sample as one integer. Packed counts are the counts of
all classes in one integer; a tally is an array of counts by code. A walk reads the rows of a
node in the order of a feature and emits the candidate splits: it passes them to a Scan, in blocks
of at most BLOCK. If the criterion is additive, sums over the classes of phi, a function of one
count, are emitted instead of class counts. A cut is the largest code that goes left. RowCodes has
the codes row by row, `row_bytes` bytes each; that of a feature is at the `offset` of its column.
"""

from libc.math cimport INFINITY, fmin, isnan
from libc.string cimport memset

# MAX_LEVELS, 256: number of levels up to which a feature that is not nominal is coded. An entry
# of Column.order, in ascending order of values, is (row << 1) | (another value than before).
from skconftree.tables._encoded_table cimport (
    MAX_LEVELS, CodeColumn, Column, EncodedTable, RowCodes, lower_edge_of,
)
from skconftree.tree._settings cimport GrowthSettings
# MAX_TAGGED: largest count of a tagged row. MAX_COLUMNS: largest number of features whose codes
# are counted together. Division: result of dividing rows by a cut.
from skconftree.tree.batch._packed_rows cimport (
    MAX_COLUMNS, MAX_TAGGED, CodeTally, Division, class_of, count_of, counts_codes, divide_rows,
    row_of, tagged, restore_divided, tally_packed, walk_unpacked_tally,
)
from skconftree.tree.batch._partition cimport partition_values, scatter_values
from skconftree.tree.batch._table_source cimport RowSource, index_of_level
# ExaminedNode: class counts, and their sum n. NodeRecord: the range [start, end) of the rows.
# RootStats: of the sample.
from skconftree.tree.split._node cimport ExaminedNode, NodeRecord, RootStats
# a walk over more than REPEATS copies of a row, on average, counts them together;
# ValueCounts: counts of the node's rows with (present) and without a value of a feature
from skconftree.tree.split._scan cimport (
    BLOCK, REPEATS, Scan, ValueCounts, sum_values, clear_values,
)
from skconftree.tree.split._selection cimport tolerance_of   # scores that differ by less are equal
# Children: of a split; child_of_code is the child of each category, NULL if it is numeric
from skconftree.tree.split._split cimport Children, Split
from skconftree.utils._inline cimport highest_bit, midpoint, prefetch   # midpoint: a threshold
from skconftree.utils._memory cimport Arena     # owns arrays
from skconftree.utils._sorting cimport counts_to_offsets, insert_keys   # insertion sort
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, label_t, uint16_t, uint32_t, uint64_t,
    uint8_t,
)

cdef enum:
    NO_CODE = 0x7FFFFFFF    # larger than any code

cdef struct SampledColumn:
    # A column of a table of the rows of the sample only.
    bint coded              # few values; otherwise codes are ranks among all rows
    bint has_missing
    intp_t n_levels         # number of values, if it is coded
    int32_t missing         # the code of rows without a value; NO_CODE if there are none

# The value of a row with this code, and the smallest value with this code.
cdef inline float32_t value_of(
    EncodedTable table, intp_t feature, intp_t row, int32_t code
) noexcept nogil:
    cdef const Column* column = &table.columns[feature]
    if column.levels != NULL:
        return column.levels[code]
    return column.values[row * table.stride]


cdef inline float32_t smallest_of(
    EncodedTable table, intp_t feature, intp_t row, int32_t code
) noexcept nogil:
    cdef const Column* column = &table.columns[feature]
    if column.levels != NULL:
        return lower_edge_of(column, code)
    return column.values[row * table.stride]


cdef bint describe_column(
    EncodedTable table, intp_t feature, intp_t n_codes, const uint64_t* rows, intp_t n,
    const int32_t* count, uint8_t* has_level, SampledColumn* column,
) noexcept nogil:
    # Set all fields of `column`. `rows` are the tagged rows of the sample, `count` is by row of
    # the table, `n_codes` is the number of codes of the feature and `has_level` is scratch of size
    # MAX_LEVELS. False if the feature is sorted, but would be coded in the sample.
    cdef const Column* original = &table.columns[feature]
    column.coded = original.order == NULL
    column.n_levels = original.n_levels
    column.has_missing = original.has_missing
    column.missing = NO_CODE
    if original.has_missing:
        column.missing = <int32_t> (n_codes - 1)
    if original.nominal or n == table.n_rows:
        return True
    if column.coded:
        column.n_levels = _count_levels(original, rows, n, has_level)
        if original.has_missing:
            column.has_missing = has_level[original.n_levels - 1]
        return True
    if original.has_missing:
        column.has_missing = _misses_some(table, original, count)
    return _has_many_values(original, table.n_rows, count)


cdef intp_t _count_levels(
    const Column* column, const uint64_t* rows, intp_t n, uint8_t* has_level
) noexcept nogil:
    cdef intp_t n_levels = 0, i
    memset(has_level, 0, MAX_LEVELS)
    for i in range(n):
        n_levels += not has_level[column.codes[row_of(rows[i])]]
        has_level[column.codes[row_of(rows[i])]] = 1
        if n_levels == column.n_levels:
            break
    return n_levels


cdef bint _has_many_values(
    const Column* column, intp_t n_table, const int32_t* count
) noexcept nogil:
    # Whether the sample has more than MAX_LEVELS values.
    cdef intp_t n_levels = 0
    cdef bint new = True
    cdef intp_t i
    for i in range(n_table):
        new = new or column.order[i] & 1
        if new and count[column.order[i] >> 1] > 0:
            n_levels += 1
            new = False
            if n_levels > MAX_LEVELS:
                return True
    return False


cdef bint _misses_some(
    EncodedTable table, const Column* column, const int32_t* count
) noexcept nogil:
    # Whether a row of the sample has no value of a sorted feature. Such rows come last.
    cdef intp_t i = table.n_rows - 1
    cdef intp_t row
    while i >= 0:
        row = column.order[i] >> 1
        if not isnan(column.values[row * table.stride]):
            return False
        if count[row] > 0:
            return True
        i -= 1
    return False


cdef enum:
    SHORT = 40              # up to this number of rows, each is compared with all others
    EXTRA_BUCKET_BITS = 3   # 8 to 16 buckets per row, so that few rows share a bucket
    DIGIT_BITS = 11         # of a pass of the radix sort
    SHIFTS_PER_ROW = 4      # largest mean number of moves per row of an insertion sort


# Rows of a node in the order of their ranks.
#
# A sorted key is (rank - least) << 32 | tag. A tag is the index of the row in the node, or
# its class and count (_packed_rows.pxd).
cdef class RankSort:
    """Sorts at most `n_max` rows by their ranks."""

    cdef readonly intp_t n_max
    cdef Arena arena
    cdef uint64_t* keys         # [n_max] sorted
    cdef uint64_t* other        # [n_max] scratch
    cdef int32_t least          # of all keys
    cdef uint32_t* entries      # [n_max] (row << 1) | new, new = another rank than before
    cdef int32_t* ranks         # [n_max] in this order

    def __init__(self, intp_t n_max):
        self.n_max = n_max
        self.arena = Arena()
        self.entries = <uint32_t*> self.arena.take(n_max, sizeof(uint32_t))
        self.ranks = <int32_t*> self.arena.take(n_max, sizeof(int32_t))
        self.keys = <uint64_t*> self.arena.take(n_max, sizeof(uint64_t))
        self.other = <uint64_t*> self.arena.take(n_max, sizeof(uint64_t))

    cdef void sort(self, const int32_t* ranks, intp_t n) noexcept nogil:
        # Rows 0, 1, ... with these ranks; the sort is stable.
        cdef uint64_t before, rank
        cdef intp_t i
        self.sort_tagged(ranks, NULL, n)
        before = self.keys[0] >> 32
        for i in range(n):
            rank = self.keys[i] >> 32
            self.entries[i] = ((<uint32_t> self.keys[i] << 1) | <uint32_t> (rank != before))
            self.ranks[i] = <int32_t> rank + self.least
            before = rank

    cdef void sort_tagged(
        self, const int32_t* ranks, const uint64_t* rows, intp_t n
    ) noexcept nogil:
        # The same, for keys only. They have the tags of these rows, or indices if there are
        # no rows.
        cdef int32_t least = ranks[0]
        cdef int32_t largest = ranks[0]
        cdef uint64_t* keys = self.keys
        cdef intp_t n_bits = 0, leading, i
        self.least = 0
        if n <= SHORT:
            _sort_by_comparing(self, ranks, rows, n)
            return
        for i in range(n):
            least = ranks[i] if ranks[i] < least else least
            largest = ranks[i] if ranks[i] > largest else largest
        self.least = least
        if largest > least:
            n_bits = highest_bit(largest - least) + 1
        for i in range(n):
            keys[i] = (<uint64_t> (ranks[i] - least) << 32) | _tag(rows, i)
        # the ranks in a node are often spread evenly, so that they are almost sorted after
        # sorting by the leading bits
        leading = min(n_bits, highest_bit(n) + EXTRA_BUCKET_BITS)
        _sort_by_digits(self, n, 32 + n_bits - leading, leading)
        if leading < n_bits and not insert_keys(self.keys, n, SHIFTS_PER_ROW * n):
            _sort_by_digits(self, n, 32, n_bits)


cdef void _sort_by_comparing(
    RankSort sorter, const int32_t* ranks, const uint64_t* rows, intp_t n
) noexcept nogil:
    # Without branches: the position of a row is the number of rows with a smaller rank, or
    # the same rank and a smaller index.
    cdef int32_t position, rank
    cdef intp_t i, j
    for i in range(n):
        rank = ranks[i]
        position = 0
        for j in range(i):
            position += ranks[j] <= rank
        for j in range(i + 1, n):
            position += ranks[j] < rank
        sorter.keys[position] = (<uint64_t> rank << 32) | _tag(rows, i)


cdef void _sort_by_digits(RankSort sorter, intp_t n, intp_t shift, intp_t n_bits) noexcept nogil:
    # Radix sort by the bits from `shift` on. Zero bits are treated as one bit.
    cdef intp_t n_passes = max((n_bits + DIGIT_BITS - 1) // DIGIT_BITS, 1)
    cdef intp_t digit_bits, radix
    cdef uint64_t mask
    cdef uint32_t buckets[3 << DIGIT_BITS]
    cdef uint64_t* keys = sorter.keys
    cdef uint64_t* other = sorter.other
    cdef uint32_t* bucket
    cdef uint64_t key
    cdef intp_t i, k
    if n_bits > 6 and n_passes == 1:     # two passes with fewer buckets each
        n_passes = 2
    digit_bits = (n_bits + n_passes - 1) // n_passes
    radix = <intp_t> 1 << digit_bits
    mask = radix - 1
    memset(buckets, 0, n_passes * radix * sizeof(uint32_t))
    bucket = buckets + radix
    if n_passes == 2:       # nearly always
        for i in range(n):
            key = keys[i] >> shift
            buckets[key & mask] += 1
            bucket[(key >> digit_bits) & mask] += 1
    else:
        for i in range(n):
            key = keys[i] >> shift
            for k in range(n_passes):
                buckets[k * radix + <intp_t> (key & mask)] += 1
                key >>= digit_bits
    for k in range(n_passes):
        bucket = buckets + k * radix
        counts_to_offsets(bucket, radix)
        for i in range(n):
            key = keys[i]
            other[bucket[(key >> shift) & mask]] = key
            bucket[(key >> shift) & mask] += 1
        shift += digit_bits
        keys, other = other, keys
    sorter.keys = keys
    sorter.other = other


cdef inline uint64_t _tag(const uint64_t* rows, intp_t i) noexcept nogil:
    return <uint64_t> i if rows == NULL else rows[i] >> 32


# Walks over sorted keys (RankSort) that are tagged with classes and counts.
#
# They emit the same as Scan.walk_sorted, in the same blocks. The position of a candidate is
# the rank of the last key that goes left.

cdef inline int32_t _weight(uint64_t key) noexcept nogil:   # the count of the row
    return <int32_t> ((key >> 16) & 0xFFFF)


cdef intp_t walk_two_class_keys(
    Scan scan, const uint64_t* keys, intp_t n, int32_t least
) noexcept nogil:
    # Every step writes a candidate, which is retained if the next key has another rank.
    cdef float64_t* left = scan.left
    cdef float64_t* n_left = scan.n_left
    cdef intp_t* position = scan.position
    cdef intp_t n_candidates = 0, p = 1, size
    cdef uint64_t key = keys[0]
    cdef int32_t rank = <int32_t> (key >> 32)
    cdef int32_t weight = _weight(key)
    cdef int32_t class_1 = weight * <int32_t> (key & 0xFFFF)
    cdef int32_t block_end, after, w
    while p < n:
        # weights ascend by at least 1: a block has at most BLOCK candidates
        block_end = (weight - 1) // BLOCK * BLOCK
        size = 0
        while p < n and weight - block_end <= BLOCK:
            key = keys[p]
            left[2 * size] = weight - class_1
            left[2 * size + 1] = class_1
            n_left[size] = weight
            position[size] = rank + least
            after = <int32_t> (key >> 32)
            size += after != rank
            rank = after
            w = _weight(key)
            weight += w
            class_1 += w * <int32_t> (key & 0xFFFF)
            p += 1
        if size > 0:
            scan.process_block(size)
            n_candidates += size
    return n_candidates


cdef intp_t walk_square_keys(
    Scan scan, const uint64_t* keys, intp_t n, int32_t least, const float64_t* total
) noexcept nogil:
    # With the counts l of a class on the left and t in the node, (t - l)^2 = t^2 - 2 t l +
    # l^2. A row changes one l.
    cdef intp_t K = scan.n_classes
    cdef int64_t* left = scan.int_counts
    cdef int64_t* doubled = scan.int_counts + K
    cdef float64_t* phi_left = scan.phi_left
    cdef float64_t* phi_right = scan.phi_right
    cdef float64_t* n_left = scan.n_left
    cdef intp_t* position = scan.position
    cdef int64_t squares = 0        # of l,
    cdef int64_t right = 0          # and of t - l, summed over the classes
    cdef int64_t weight = 0, l, w
    cdef intp_t n_candidates = 0, size = 0, p, c
    cdef uint64_t key = keys[0]
    cdef int32_t rank, after
    for c in range(K):
        left[c] = 0
        doubled[c] = 2 * <int64_t> total[c]
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
        right += l - w * doubled[c]
        key = keys[p]
        phi_left[size] = squares
        phi_right[size] = right
        n_left[size] = weight
        position[size] = rank + least
        after = <int32_t> (key >> 32)
        size += after != rank
        rank = after
        if size == BLOCK:
            scan.process_block(BLOCK)
            n_candidates += BLOCK
            size = 0
    if size > 0:
        scan.process_block(size)
    return n_candidates + size


cdef enum:
    MIN_PRUNED_ROWS = 256   # the rows of smaller nodes are all sorted
    MAX_RUNS = 2048         # ranges of ranks (see below), whose rows are counted
    RUN_BITS = 3            # 8 to 16 rows per run, if ranks are spread evenly
    CORNERS = 3             # of the box of a run (see below); the previous run has the fourth
    # In units of tolerance_of(weight of the node), see _selection.pxd.
    MARGIN = 64             # much more than the errors of scores
    AMBIGUOUS = 4           # if other candidates are this close, the walk gives up: another
                            # walk, which emits all candidates, replaces it


# PrunedWalk: a walk over many unsorted rows of a node of two classes. It counts all candidate
# splits, but emits only those that can be the best one.
#
# The score of a criterion is a concave function of the two class counts on the left; the
# smallest score is the best. Between two cuts, each count lies between its values at the cuts:
# the counts are in a box. A concave function is smallest at a corner of the box, so that no
# candidate there is better than the best corner. Rows are counted by runs, which are ranges of
# neighboring ranks. Only the rows of runs with a corner as good as the best cut between two
# runs are sorted.
#
# The result of a Selection, which reads the candidates and keeps the best, is the same to the
# last bit: a candidate that is left out is worse than the best one by many times the tolerance
# of comparisons (_selection.pxd). If other candidates are within a few tolerances of the best
# one, so that the result depends on their order, the walk gives up.
cdef class PrunedWalk:
    """The candidates that can be the best, for at most n_rows rows and n_codes ranks."""

    cdef Arena arena
    cdef uint64_t* tally        # [MAX_RUNS] packed counts of the runs; zero between walks
    cdef uint64_t* before       # [MAX_RUNS] packed counts of all lower ranks
    cdef float64_t* min_scores  # [MAX_RUNS] lower limit of the scores of the run
    cdef uint8_t* marked        # [MAX_RUNS] whether it may have the best candidate
    cdef uint64_t* has_rank     # [n_codes] bits: ranks of the node; zero between walks
    cdef int32_t* codes         # [n_rows] of rows of marked runs
    cdef uint64_t* rows
    cdef uint64_t* left         # [n_rows + 1] candidates: packed counts on the left,
    cdef int32_t* positions     # [n_rows + 1]
    cdef float64_t* scores      # [n_rows + 1]

    def __init__(self, intp_t n_rows, intp_t n_codes):
        cdef intp_t capacity = n_rows + 1
        self.arena = Arena()
        self.tally = <uint64_t*> self.arena.take_zeros(MAX_RUNS, sizeof(uint64_t))
        self.before = <uint64_t*> self.arena.take(MAX_RUNS, sizeof(uint64_t))
        self.min_scores = <float64_t*> self.arena.take(MAX_RUNS, sizeof(float64_t))
        self.marked = <uint8_t*> self.arena.take_zeros(MAX_RUNS, sizeof(uint8_t))
        self.has_rank = <uint64_t*> self.arena.take_zeros((n_codes + 63) // 64, sizeof(uint64_t))
        self.codes = <int32_t*> self.arena.take(capacity, sizeof(int32_t))
        self.rows = <uint64_t*> self.arena.take(capacity, sizeof(uint64_t))
        self.left = <uint64_t*> self.arena.take(capacity, sizeof(uint64_t))
        self.positions = <int32_t*> self.arena.take(capacity, sizeof(int32_t))
        self.scores = <float64_t*> self.arena.take(capacity, sizeof(float64_t))

    cdef intp_t walk(
        self, Scan scan, RankSort order, const int32_t* codes, const uint64_t* rows,
        intp_t n, intp_t n_codes, float64_t weight,
    ) noexcept nogil:
        # Walk over rows with these codes and the total weight `weight`. Returns the number of
        # candidates; -1 if it gave up without emitting anything.
        cdef float64_t tolerance = tolerance_of(weight)
        cdef intp_t shift = max(highest_bit(n_codes) - highest_bit(n) + RUN_BITS, 0)
        cdef intp_t n_marked = 0, n_candidates, n_scored, n_runs, i
        cdef float64_t best
        while n_codes > <intp_t> MAX_RUNS << shift:
            shift += 1
        n_runs = ((n_codes - 1) >> shift) + 1
        n_candidates = _count_runs(self, codes, rows, n, n_codes, shift) - 1
        best = _limit_scores(self, scan, n_runs)
        if n_candidates == 0:
            return 0
        if _mark_runs(self, n_runs, best + MARGIN * tolerance) > 0.5 * weight:  # too many rows
            return -1
        for i in range(n):
            self.codes[n_marked] = codes[i]
            self.rows[n_marked] = rows[i]
            n_marked += self.marked[codes[i] >> shift]
        order.sort_tagged(self.codes, self.rows, n_marked)
        n_scored = _score_candidates(self, scan, order, n_marked, shift)
        if _left_weight(self.left[n_scored - 1]) == weight:
            n_scored -= 1       # all rows on the left
        i = _emit_best(self, scan, n_scored, tolerance)
        if i < 0:
            return -1
        scan.leave_out(n_candidates - i)    # they are counted, but not emitted
        return n_candidates


cdef intp_t _count_runs(
    PrunedWalk pruned, const int32_t* codes, const uint64_t* rows, intp_t n,
    intp_t n_codes, intp_t shift,
) noexcept nogil:
    # Count rows by run (a range of ranks); return the number of distinct ranks.
    cdef uint64_t* tally = pruned.tally
    cdef uint64_t* has_rank = pruned.has_rank
    cdef intp_t n_distinct = 0
    cdef uint64_t bits
    cdef int32_t code
    cdef intp_t i
    for i in range(n):
        code = codes[i]
        tally[code >> shift] += (<uint64_t> count_of(rows[i]) << (class_of(rows[i]) << 5))
        bits = has_rank[code >> 6]
        n_distinct += not (bits >> (code & 63)) & 1
        has_rank[code >> 6] = bits | <uint64_t> 1 << (code & 63)
    memset(has_rank, 0, (n_codes + 63) // 64 * sizeof(uint64_t))
    return n_distinct


cdef float64_t _limit_scores(PrunedWalk pruned, Scan scan, intp_t n_runs) noexcept nogil:
    # Set the lower limits of the runs; return the best score of a cut between two runs. An
    # outcome (child) without rows has no score, or that of no split, which is the worst.
    cdef float64_t scores[BLOCK]
    cdef intp_t runs[BLOCK]
    cdef uint64_t sums = 0, run
    cdef float64_t best = INFINITY, cut_score = INFINITY, low
    cdef intp_t size = 0, r, i
    for r in range(n_runs + 1):
        if size > 0 and (r == n_runs or size + CORNERS > BLOCK):
            scan.measure(size, scores)      # their scores, without emitting them
            i = 0
            while i < size:
                low = _smaller(cut_score, _smaller(scores[i], INFINITY))
                cut_score = scores[i]
                best = _smaller(cut_score, best)
                low = _smaller(scores[i + 1], low)
                pruned.min_scores[runs[i]] = _smaller(scores[i + 2], low)
                i += CORNERS
            size = 0
        if r == n_runs or pruned.tally[r] == 0:
            continue
        run = pruned.tally[r]
        runs[size] = r
        pruned.before[r] = sums
        _write_left(scan, size, sums + run)
        _write_left(scan, size + 1, sums + <uint32_t> run)
        _write_left(scan, size + 2, sums + (run >> 32 << 32))
        sums += run
        size += CORNERS
    return best


cdef float64_t _mark_runs(PrunedWalk pruned, intp_t n_runs, float64_t max_score) noexcept nogil:
    # Mark the runs that may have a candidate with this score; return their weight.
    cdef float64_t weight = 0.0
    cdef intp_t r
    for r in range(n_runs):
        pruned.marked[r] = pruned.tally[r] != 0 and pruned.min_scores[r] <= max_score
        if pruned.marked[r]:
            weight += _left_weight(pruned.tally[r])
        pruned.tally[r] = 0
    return weight


cdef intp_t _score_candidates(
    PrunedWalk pruned, Scan scan, RankSort order, intp_t n, intp_t shift
) noexcept nogil:
    # Score the candidates after each rank of the sorted rows; return their number.
    cdef const uint64_t* keys = order.keys
    cdef uint64_t sums = 0, key
    cdef intp_t run = -1, done = 0, size = 0, p
    cdef int32_t rank
    for p in range(n):
        key = keys[p]
        rank = <int32_t> (key >> 32) + order.least
        if rank >> shift != run:
            run = rank >> shift
            sums = pruned.before[run]
        sums += ((key >> 16) & 0xFFFF) << ((key & 1) << 5)
        _write_left(scan, size, sums)
        pruned.left[done + size] = sums
        pruned.positions[done + size] = rank
        size += p + 1 == n or keys[p + 1] >> 32 != key >> 32
        if size == BLOCK or p + 1 == n:
            scan.measure(size, pruned.scores + done)
            done += size
            size = 0
    return done


cdef intp_t _emit_best(PrunedWalk pruned, Scan scan, intp_t n, float64_t tolerance) noexcept nogil:
    # Emit the best candidates; return their number, -1 to give up.
    cdef const float64_t* scores = pruned.scores
    cdef float64_t least = INFINITY
    cdef intp_t n_emitted = 0, size = 0, i
    for i in range(n):
        least = scores[i] if scores[i] < least else least
    for i in range(n):
        if least + 2.0 * tolerance < scores[i] <= least + AMBIGUOUS * tolerance:
            return -1
    for i in range(n):
        if scores[i] <= least + 2.0 * tolerance:
            _write_left(scan, size, pruned.left[i])
            scan.position[size] = pruned.positions[i]
            size += 1
            if size == BLOCK:
                scan.process_block(size)
                n_emitted += size
                size = 0
    if size > 0:
        scan.process_block(size)
    return n_emitted + size


cdef inline void _write_left(Scan scan, intp_t i, uint64_t left) noexcept nogil:
    # Set the counts on the left of a candidate.
    scan.left[2 * i] = <int32_t> <uint32_t> left
    scan.left[2 * i + 1] = <int32_t> (left >> 32)
    scan.n_left[i] = _left_weight(left)


cdef inline float64_t _left_weight(uint64_t counts) noexcept nogil:
    # Sum of the packed counts of two classes.
    return <int32_t> (<uint32_t> counts + <uint32_t> (counts >> 32))


cdef inline float64_t _smaller(float64_t a, float64_t b) noexcept nogil:
    return a if a < b else b    # b if a is NaN


cdef enum:
    SMALL_N_ROWS = 40       # with many classes, up to this number of rows are sorted


# SampledSource: the rows of a node of a table whose nodes examine few sampled features.
#
# A TableSource divides every column of a node between its children, so that their rows are
# adjacent in memory. If a node examines few features, most of this work is wasted. This source
# divides the tagged rows only. The codes of a feature are looked up in RowCodes, and counted
# or sorted when the feature is examined. The tree is the same to the last bit.
#
# It supports dense tables with labeled rows and integer counts. It does not support counts
# that are too large for a tag, and samples in which a sorted feature has so few values that
# it would be coded.
#
# Histograms of parents cannot be reused for children: the parent would need those of all
# features, because any of them may be sampled by a child.
#
# The position of a cut is the largest code that goes left.
cdef class SampledSource(RowSource):
    """The rows of a node of a table whose nodes examine few sampled features.

    The weights `count` are integers, whose sum is below 2^31; rows of weight 0 are absent.
    `is_supported`: the source supports this sample.
    """

    cdef EncodedTable table
    cdef RowCodes row_codes
    cdef RankSort order
    cdef PrunedWalk pruned      # of two classes
    cdef Arena arena
    cdef readonly bint is_supported
    cdef SampledColumn* columns     # [n_features]

    # In node order.
    cdef uint64_t* rows             # [n_rows] tagged, ascending in a node
    cdef bint repeated              # some count more than once
    cdef uint64_t* partitioned_rows  # [n_rows] rows while they are partitioned

    # The node, from its start.
    cdef int32_t to_count[MAX_COLUMNS]  # features that will be walked and may be counted
    cdef intp_t n_to_count          # together
    cdef intp_t lookup_feature      # the feature of `codes`; -1 = none
    cdef int32_t* codes             # [n_rows] of `lookup_feature`
    cdef intp_t divided_feature     # the feature and position of the cut by which rows are
    cdef intp_t divided_position    # divided in `partitioned_rows`, or in `sides` if some
    cdef Division division          # have no value; -1 = none
    cdef uint8_t* sides             # [n_rows] 0 left, 1 right, 2 no value
    cdef intp_t side_rows[3]
    cdef int32_t* side_counts       # [3, n_classes]
    cdef label_t* branches          # [n_rows] the child, for more than two
    cdef intp_t* at                 # [branches of a multiway split] scratch
    cdef float64_t n_walked         # rows, each counted as often as its integer weight; at most
                                    # REPEATS times their number

    # The rows of a walk: those that have a value.
    cdef intp_t n_present
    cdef const uint64_t* present_rows
    cdef int32_t* present_codes     # [n_rows], and
    cdef uint64_t* present_only_rows  # [n_rows] if some rows have no value
    cdef label_t* unpacked_y        # [n_rows] of walks that do not use tags
    cdef int32_t* unpacked_count
    cdef CodeTally packed           # their counts, if these can be packed;
    cdef int32_t* unpacked_tally    # [MAX_LEVELS, n_classes] if not; zero between walks
    cdef uint64_t* present          # [MAX_LEVELS] bits: codes in the tally
    cdef float64_t* histogram       # [MAX_LEVELS, n_classes]

    def __init__(
        self, RowCodes row_codes not None, const label_t[::1] y not None,
        const int32_t[::1] count, GrowthSettings settings, RootStats root,
    ):
        super().__init__(ExaminedNode(settings, root))
        self.row_codes = row_codes
        self.table = row_codes.table
        self.arena = Arena()
        self.packed = CodeTally(root.n_classes)
        cdef const int32_t* counts = NULL
        if count is not None:
            counts = &count[0]
        with nogil:
            self._begin(&y[0], counts, settings.multiway)
        # largest number of rows of a walk, with repeats; values of phi are tabulated up to it
        self.longest_walk = REPEATS * self.n_rows
        if self.is_supported:
            self.order = RankSort(self.n_rows)
            if root.n_classes == 2 and self.n_rows >= MIN_PRUNED_ROWS:
                self.pruned = PrunedWalk(self.n_rows, self.table.n_rows)

    cdef int _begin(self, const label_t* y, const int32_t* count, bint multiway) except -1 nogil:
        cdef intp_t n_table = self.table.n_rows
        cdef intp_t d = self.table.n_features
        cdef intp_t K = self.node.n_classes
        cdef intp_t n_codes = 2
        cdef int32_t max_count = 1
        cdef intp_t n = 0, i, f
        cdef uint8_t* has_level
        if count == NULL:
            n = n_table
        else:
            for i in range(n_table):
                n += count[i] > 0
                max_count = max(max_count, count[i])
        self.n_rows = n
        self.repeated = max_count > 1
        self.is_supported = max_count <= MAX_TAGGED
        if not self.is_supported:
            return 0
        self.rows = <uint64_t*> self.arena.take(n, sizeof(uint64_t))
        n = 0
        for i in range(n_table):
            if count == NULL:
                self.rows[i] = tagged(i, y[i], 1)
            elif count[i] > 0:
                self.rows[n] = tagged(i, y[i], count[i])
                n += 1
        n = self.n_rows
        self.columns = <SampledColumn*> self.arena.take(d, sizeof(SampledColumn))
        has_level = <uint8_t*> self.arena.take(MAX_LEVELS, sizeof(uint8_t))
        for f in range(d):
            self.is_supported = self.is_supported and describe_column(
                self.table, f, self.row_codes.columns[f].n_codes, self.rows, n, count,
                has_level, &self.columns[f],
            )
            n_codes = max(n_codes, self.table.columns[f].n_levels)
        if not self.is_supported:
            return 0
        self.partitioned_rows = <uint64_t*> self.arena.take(n, sizeof(uint64_t))
        self.codes = <int32_t*> self.arena.take(n, sizeof(int32_t))
        for f in range(d):
            if self.columns[f].has_missing and self.present_only_rows == NULL:
                self.present_only_rows = <uint64_t*> self.arena.take(n, sizeof(uint64_t))
                self.present_codes = <int32_t*> self.arena.take(n, sizeof(int32_t))
        self.sides = <uint8_t*> self.arena.take(n, sizeof(uint8_t))
        self.unpacked_y = <label_t*> self.arena.take(n, sizeof(label_t))
        self.unpacked_count = <int32_t*> self.arena.take(n, sizeof(int32_t))
        self.unpacked_tally = <int32_t*> self.arena.take_zeros(MAX_LEVELS * K, sizeof(int32_t))
        self.present = <uint64_t*> self.arena.take_zeros(MAX_LEVELS // 64, sizeof(uint64_t))
        self.histogram = <float64_t*> self.arena.take(MAX_LEVELS * K, sizeof(float64_t))
        self.side_counts = <int32_t*> self.arena.take(3 * K, sizeof(int32_t))
        if multiway:
            self.branches = <label_t*> self.arena.take(n, sizeof(label_t))
            self.at = <intp_t*> self.arena.take(n_codes, sizeof(intp_t))
        return 0

    cdef void begin(self) noexcept nogil:
        self.lookup_feature = -1
        self.divided_feature = -1
        self.packed.begin(self.node.n)
        self.n_to_count = 0
        if self.repeated:
            self.node.n_repeated = self.node.n      # rows, with repeats
        self.n_walked = fmin(
            self.node.n_repeated,
            <float64_t> REPEATS * (self.node.record.end - self.node.record.start),
        )

    cdef void prepare_features(self, const int32_t* features, intp_t n) noexcept nogil:
        # Coded columns that will be walked over all rows are counted together.
        cdef const SampledColumn* column
        cdef intp_t i
        for i in range(n):
            column = &self.columns[features[i]]
            if self.n_to_count < MAX_COLUMNS and column.coded and not (
                column.has_missing or self.table.columns[features[i]].nominal
            ):
                self.to_count[self.n_to_count] = features[i]
                self.n_to_count += 1

    cdef float64_t weight_without_repeats(self) noexcept nogil:
        # `distinct`: the weight of each row as evidence if repeated rows do not count
        cdef const float64_t* distinct = &self.node.root.distinct[0]
        cdef float64_t weight = 0.0
        cdef intp_t i
        for i in range(self.node.record.start, self.node.record.end):
            weight += distinct[row_of(self.rows[i])]
        return weight

    cdef inline void _lookup(self, intp_t feature) noexcept nogil:
        cdef intp_t start = self.node.record.start
        if self.lookup_feature == feature:
            return
        self.lookup_feature = feature
        self.row_codes.lookup(feature, self.rows + start, self.node.record.end - start, self.codes)

    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil:
        # Counting and sorting codes emit the same candidates. If sums depend on the order of
        # the rows or the ends of blocks, the choice is that of TableSource (_table_source.pyx).
        cdef const SampledColumn* column = &self.columns[feature]
        cdef intp_t K = self.node.n_classes
        cdef bint counts, exact
        if not column.has_missing:
            self.present_rows = self.rows + self.node.record.start
            self.n_present = self.node.record.end - self.node.record.start
        if not column.coded:
            return self._walk_order(feature, scan)
        # `counts`: rows are counted by code, not sorted; packed.bits = 0: counts are not packed
        counts = column.has_missing or counts_codes(self.node, self.n_walked, column.n_levels)
        # sums of squares of counts (phi is the square if scan.squares), and counts, are exact
        exact = scan.squares or not scan.additive
        if exact and (counts or K > 2 or self.node.n_repeated <= BLOCK):
            if (
                self.packed.bits == 0 and scan.additive and self.n_present <= SMALL_N_ROWS
                and self.node.n_repeated <= REPEATS * self.n_present
            ):
                return self._walk_order(feature, scan)
            return self._walk_tally(feature, scan)
        if counts and self.packed.bits > 0:
            return self._walk_tally(feature, scan)
        if counts:
            return self._walk_histogram(feature, scan)
        return self._walk_order(feature, scan)

    cdef intp_t _walk_tally(self, intp_t feature, Scan scan) noexcept nogil:
        cdef const CodeColumn* column = &self.row_codes.columns[feature]
        cdef intp_t n_levels = self.table.columns[feature].n_levels
        cdef const int32_t* codes = NULL
        cdef intp_t n_candidates
        if self.packed.bits == 0:
            self._tally_unpacked(feature)
            return walk_unpacked_tally(
                scan, self.unpacked_tally, self.present, n_levels, self.node.counts
            )
        if self.columns[feature].has_missing:
            codes = self.present_codes
        else:
            # if walk() counts for any number of levels; is_exact(): whether candidates and blocks
            # do not depend on the order of the rows
            if self.n_to_count > 0 and (
                counts_codes(self.node, self.n_walked, MAX_LEVELS) or self.is_exact(scan)
            ):
                self.packed.add_columns(
                    self.row_codes, self.to_count, self.n_to_count, self.present_rows,
                    self.n_present,
                )
                self.n_to_count = 0
            # -1 if the feature has not been counted together with others
            n_candidates = self.packed.walk_counted(feature, scan, n_levels, self.node.counts)
            if n_candidates >= 0:
                return n_candidates
        tally_packed(
            self.row_codes.bytes + column.offset, self.row_codes.row_bytes, codes,
            self.present_rows, self.n_present, self.packed.bits, self.packed.counts,
            self.packed.present,
        )
        return self.packed.walk(scan, n_levels, self.node.counts)

    cdef void _tally_unpacked(self, intp_t feature) noexcept nogil:
        # Counts that are not packed: the tally is [MAX_LEVELS, n_classes].
        cdef const CodeColumn* column = &self.row_codes.columns[feature]
        cdef const uint8_t* codes = self.row_codes.bytes + column.offset
        cdef bint has_missing = self.columns[feature].has_missing
        cdef intp_t stride = self.row_codes.row_bytes
        cdef intp_t K = self.node.n_classes
        cdef const uint64_t* rows = self.present_rows
        cdef int32_t* tally = self.unpacked_tally
        cdef uint64_t* present = self.present
        cdef intp_t i, code
        for i in range(self.n_present):
            if has_missing:
                code = self.present_codes[i]
            else:
                code = codes[<intp_t> row_of(rows[i]) * stride]
            tally[code * K + class_of(rows[i])] += count_of(rows[i])
            present[code >> 6] |= <uint64_t> 1 << (code & 63)

    cdef intp_t _walk_histogram(self, intp_t feature, Scan scan) noexcept nogil:
        cdef intp_t n_levels = self.table.columns[feature].n_levels
        cdef intp_t size = n_levels * self.node.n_classes
        cdef intp_t i
        self._tally_unpacked(feature)
        for i in range(size):
            self.histogram[i] = self.unpacked_tally[i]
        memset(self.unpacked_tally, 0, size * sizeof(int32_t))
        memset(self.present, 0, MAX_LEVELS // 64 * sizeof(uint64_t))
        return scan.walk_histogram(self.histogram, n_levels, self.node.counts)

    cdef intp_t _walk_order(self, intp_t feature, Scan scan) noexcept nogil:
        cdef const int32_t* codes = self.present_codes
        cdef bint two_classes = self.node.n_classes == 2
        cdef intp_t n_candidates, i
        if not self.columns[feature].has_missing:
            self._lookup(feature)
            codes = self.codes
        # `prunes`: only the best candidate is needed
        if two_classes and scan.prunes and self.n_present >= MIN_PRUNED_ROWS and not (
            self.columns[feature].has_missing
        ):
            n_candidates = self.pruned.walk(
                scan, self.order, codes, self.present_rows, self.n_present,
                self.row_codes.columns[feature].n_codes, self.node.n,
            )
            if n_candidates >= 0:
                return n_candidates
        if two_classes or scan.additive and scan.squares and (
            not self.repeated or self.node.n_repeated <= REPEATS * self.n_present
        ):
            self.order.sort_tagged(codes, self.present_rows, self.n_present)
            if two_classes:
                return walk_two_class_keys(scan, self.order.keys, self.n_present, self.order.least)
            return walk_square_keys(
                scan, self.order.keys, self.n_present, self.order.least, self.node.counts,
            )
        self.order.sort(codes, self.n_present)
        scan.positions = self.order.ranks       # position of the cut after each row
        for i in range(self.n_present):
            self.unpacked_y[i] = <label_t> class_of(self.present_rows[i])
            self.unpacked_count[i] = count_of(self.present_rows[i])
        return scan.walk_sorted(
            self.order.entries, self.n_present, self.unpacked_y,
            self.unpacked_count if self.repeated else NULL, NULL, self.node.counts,
        )

    cdef bint count_values(self, intp_t feature, ValueCounts* values) noexcept nogil:
        # Copies the rows that have a value, which will be walked.
        cdef intp_t K = self.node.n_classes
        cdef intp_t start = self.node.record.start
        cdef int32_t missing = self.columns[feature].missing
        cdef intp_t n_present = 0, i
        cdef uint64_t row
        if not self.columns[feature].has_missing:
            return False
        self._lookup(feature)
        clear_values(values, K)
        for i in range(self.node.record.end - start):
            row = self.rows[start + i]
            if self.codes[i] == missing:
                values.missing[class_of(row)] += count_of(row)
                continue
            values.present[class_of(row)] += count_of(row)
            self.present_codes[n_present] = self.codes[i]
            self.present_only_rows[n_present] = row
            n_present += 1
        self.n_present = n_present
        self.present_rows = self.present_only_rows
        sum_values(values, K)
        return True

    cdef intp_t end_position(self, intp_t feature) noexcept nogil:
        # The position of the cut with all values on the left.
        return self.row_codes.columns[feature].n_codes - 1 - (
            self.table.columns[feature].has_missing
        )

    cdef void labeled_range(self, intp_t feature, float32_t* low, float32_t* high) noexcept nogil:
        # The smallest and the largest value in the node, for a random threshold between them.
        cdef const uint64_t* rows = self.rows + self.node.record.start
        cdef int32_t missing = self.columns[feature].missing
        cdef intp_t least = -1, highest = -1, i
        self._lookup(feature)
        for i in range(self.node.record.end - self.node.record.start):
            if self.codes[i] == missing:
                continue
            if least < 0 or self.codes[i] < self.codes[least]:
                least = i
            if highest < 0 or self.codes[i] > self.codes[highest]:
                highest = i
        low[0] = high[0] = 0.0
        if least < 0:
            return
        low[0] = value_of(self.table, feature, row_of(rows[least]), self.codes[least])
        high[0] = value_of(self.table, feature, row_of(rows[highest]), self.codes[highest])

    cdef intp_t index_of(self, intp_t feature, float64_t threshold) noexcept nogil:
        # The position of the cut at a threshold; the lowest value of the node is at most that.
        cdef const Column* column = &self.table.columns[feature]
        cdef intp_t low = 0
        cdef intp_t high = self.table.n_rows
        cdef intp_t middle, row
        if column.order == NULL:
            return index_of_level(column, threshold)
        while low < high:
            middle = (low + high) // 2
            row = column.order[middle] >> 1
            # NaN is never <= threshold
            if column.values[row * self.table.stride] <= threshold:
                low = middle + 1
            else:
                high = middle
        return self.row_codes.code(column.order[low - 1] >> 1, feature)

    cdef float64_t threshold(self, intp_t feature, intp_t position) noexcept nogil:
        if self.divided_feature != feature or self.divided_position != position:
            self._set_sides(feature, position)
        return midpoint(
            value_of(self.table, feature, self.division.below, <int32_t> position),
            smallest_of(
                self.table, feature, self.division.above, <int32_t> self.division.code_above
            ),
        )

    cdef void _set_sides(self, intp_t feature, intp_t position) noexcept nogil:
        # Count the rows on both sides of a cut, and those without a value.
        memset(self.side_counts, 0, 3 * self.node.n_classes * sizeof(int32_t))
        self.divided_feature = feature
        self.divided_position = position
        if self.columns[feature].has_missing:
            self._mark_sides(feature, <int32_t> position)
        else:
            self._partition(feature, <int32_t> position)

    cdef void _partition(self, intp_t feature, int32_t cut) noexcept nogil:
        # Divide a copy of the rows by the cut, and count both sides.
        cdef const CodeColumn* column = &self.row_codes.columns[feature]
        cdef const uint8_t* codes = self.row_codes.bytes + column.offset
        cdef intp_t row_bytes = self.row_codes.row_bytes
        cdef intp_t K = self.node.n_classes
        cdef const uint64_t* rows = self.rows + self.node.record.start
        cdef intp_t n = self.node.record.end - self.node.record.start
        cdef Division* division = &self.division
        cdef intp_t i, c
        if column.width == 1:  # bytes of a code
            divide_rows(
                codes, row_bytes, rows, n, cut, self.packed.bits, self.partitioned_rows, division,
            )
        elif column.width == 2:
            divide_rows(
                <const uint16_t*> codes, row_bytes // 2, rows, n, cut, self.packed.bits,
                self.partitioned_rows, division,
            )
        else:
            divide_rows(
                <const int32_t*> codes, row_bytes // 4, rows, n, cut, self.packed.bits,
                self.partitioned_rows, division,
            )
        self.side_rows[0] = division.n_left
        self.side_rows[1] = n - division.n_left
        self.side_rows[2] = 0
        if self.packed.bits > 0:
            for c in range(K):
                self.side_counts[K + c] = <int32_t> (
                    (division.right >> (c * self.packed.bits))
                    & ((<uint64_t> 1 << self.packed.bits) - 1)
                )
        else:
            for i in range(division.n_left, n):
                self.side_counts[K + class_of(self.partitioned_rows[i])] += (
                    count_of(self.partitioned_rows[i])
                )
        for c in range(K):
            self.side_counts[c] = (<int32_t> self.node.counts[c] - self.side_counts[K + c])
        self._prefetch_value(feature, division.below)
        self._prefetch_value(feature, division.above)

    cdef void _mark_sides(self, intp_t feature, int32_t cut) noexcept nogil:
        # Set the side of each row if some have no value, whose code is the largest.
        cdef intp_t K = self.node.n_classes
        cdef const uint64_t* rows = self.rows + self.node.record.start
        cdef intp_t n = self.node.record.end - self.node.record.start
        cdef int32_t missing = self.columns[feature].missing
        cdef Division* division = &self.division
        cdef int32_t below = -1
        cdef int32_t above = NO_CODE
        cdef int32_t code
        cdef uint8_t side
        cdef intp_t i
        memset(self.side_rows, 0, 3 * sizeof(intp_t))
        self._lookup(feature)
        for i in range(n):
            code = self.codes[i]
            side = (code > cut) + (code == missing)
            self.sides[i] = side
            self.side_rows[side] += 1
            self.side_counts[side * K + class_of(rows[i])] += count_of(rows[i])
            if code == cut and below < 0:
                below = code
                division.below = row_of(rows[i])
            if side == 1 and code < above:
                above = code
                division.above = row_of(rows[i])
        division.code_above = above
        if below >= 0:
            self._prefetch_value(feature, division.below)
        if above != NO_CODE:
            self._prefetch_value(feature, division.above)

    cdef void _prefetch_value(self, intp_t feature, intp_t row) noexcept nogil:
        # The value will be used for the threshold.
        cdef const Column* column = &self.table.columns[feature]
        if column.levels == NULL:
            prefetch(column.values + row * self.table.stride)

    cdef bint count_sides(
        self, intp_t feature, intp_t position, Children* children, ValueCounts* values
    ) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef intp_t side, c
        self._set_sides(feature, position)
        for side in range(2):
            children.rows[side] += self.side_rows[side]
            children.n_labeled[side] += self.side_rows[side]
            for c in range(K):
                children.counts[side * K + c] += self.side_counts[side * K + c]
                children.pool[side] += self.side_counts[side * K + c]  # weight; all are labeled
        if not self.columns[feature].has_missing:
            return False
        values.n_missing = 0.0
        for c in range(K):
            values.missing[c] = self.side_counts[2 * K + c]
            values.n_missing += values.missing[c]
        values.missing[K] = 0.0  # weight of unlabeled rows
        values.rows_missing = self.side_rows[2]
        values.labeled_missing = self.side_rows[2]
        return True

    cdef intp_t count_categories(self, intp_t feature, float64_t* counts) noexcept nogil:
        cdef intp_t width = self.node.n_classes + 1
        cdef intp_t start = self.node.record.start
        cdef intp_t n_levels = self.table.columns[feature].n_levels
        cdef intp_t i
        self._lookup(feature)
        memset(counts, 0, n_levels * width * sizeof(float64_t))
        for i in range(start, self.node.record.end):
            counts[self.codes[i - start] * width + class_of(self.rows[i])] += (
                count_of(self.rows[i])
            )
        return n_levels

    cdef void count_branches(self, intp_t feature, Children* children) noexcept nogil:
        cdef intp_t n = self.node.record.end - self.node.record.start
        cdef intp_t i, z
        self._lookup(feature)
        for i in range(n):
            z = children.child_of_code[self.codes[i]]
            if z < 0:
                z = children.unknown    # for categories without labeled rows in the node
            children.rows[z] += 1
            children.n_labeled[z] += 1

    cdef void divide(
        self, const NodeRecord* record, const Split* split, const intp_t* starts
    ) noexcept nogil:
        cdef const Children* children = &split.children
        cdef intp_t n = record.end - record.start
        cdef uint64_t* rows = self.rows + record.start
        cdef bint multiway = self.branches != NULL and children.child_of_code != NULL
        cdef bint is_binary = children.child_of_code == NULL and (
            not self.columns[split.feature].has_missing
        )
        cdef uint8_t missing_left = <uint8_t> children.missing_left
        cdef intp_t i, z
        if children.child_of_code != NULL:
            self._lookup(split.feature)
            for i in range(n):
                z = children.unknown
                if self.codes[i] < children.n_codes and (
                    children.child_of_code[self.codes[i]] >= 0
                ):
                    z = children.child_of_code[self.codes[i]]
                if multiway:
                    self.branches[i] = <label_t> z
                else:
                    self.sides[i] = z == 0
        elif self.divided_feature != split.feature or self.divided_position != split.cut.position:
            self._set_sides(split.feature, split.cut.position)
        if is_binary:
            restore_divided(self.partitioned_rows, n, self.division.n_left, rows)
        elif multiway:
            scatter_values(
                rows, n, self.branches, starts, children.n_outcomes, self.at,
                self.partitioned_rows,
            )
        else:
            # for partition_values(), 1 is left and 0 right
            if children.child_of_code == NULL:
                for i in range(n):
                    self.sides[i] = ((self.sides[i] == 0) | (self.sides[i] >> 1 & missing_left))
            partition_values(rows, n, self.sides, self.partitioned_rows)
        self.lookup_feature = -1
        self.divided_feature = -1
