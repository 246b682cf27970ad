from libc.string cimport memset

from skconftree.bounds._contract cimport TestBlock
from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._split cimport Children
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, label_t, uint32_t,
)

# Scan: walks one attribute of one node in ascending order and emits its
# candidate tests, BLOCK at a time, into plain arrays.
#
# Two walks, both exact: over SORTED ROWS, and over a HISTOGRAM of class counts per
# value. After each block the walk calls take(), which completes the tests and shows
# them to a TestReader, one virtual call a block. So sources, scores and selections
# combine freely, and the inner loops stay small.
#
# Rows may have whole weights, `count`, or any weights, `weight`; both are NULL if all
# weigh 1. A walk over counts emits to the last bit what one over as many repeats of each
# row would, unless rows are repeated more than REPEATS times on average.
#
# A test lies between two neighbouring distinct values that labelled rows have.
# Its place is the number of sorted rows, or the largest index of a histogram, that
# go left.

cdef enum:
    BLOCK = 256     # tests; their arrays stay in the first-level cache
    REPEATS = 4     # up to here sums of phi are worth a step for each


cdef inline float64_t weight_of(
    const int32_t* count, const float64_t* weight, intp_t row
) noexcept nogil:
    if count != NULL:
        return count[row]
    if weight != NULL:
        return weight[row]
    return 1.0


cdef class Scan


cdef class TestReader:
    # Scan.tests and Scan.place hold the next tests of the attribute being walked.
    cdef void read(self, Scan scan) noexcept nogil
    # It keeps the best test by a concave score of the class counts on the left alone, and
    # says these scores; of tests that are left out it wants the number.
    cdef bint prunes
    cdef void measure(self, Scan scan, float64_t* scores) noexcept nogil
    cdef void leave_out(self, intp_t n) noexcept nogil
    # The one test of a multiway attribute has these children.
    cdef void read_children(self, const Children* children) noexcept nogil


cdef class Scan:
    cdef intp_t n_classes
    cdef Arena arrays
    cdef bint additive              # emit sums of phi instead of class counts
    cdef const float64_t* phi       # of every whole number up to the node's weight
    cdef bint squares               # which is its square: sums are exact in any order

    cdef TestBlock tests            # the arrays below, as a score sees them
    cdef bint missing_left          # in all tests of the block
    cdef float64_t* left            # [BLOCK + 1, n_classes]: one spare, as walks
    cdef float64_t* n_left          # [BLOCK + 1]             write before they know
    cdef float64_t* pool_left       # [BLOCK + 1]             whether it is a test
    cdef float64_t* phi_left        # [BLOCK + 1]
    cdef float64_t* phi_right       # [BLOCK + 1]
    cdef intp_t* place              # [BLOCK + 1]
    cdef intp_t size                # tests emitted since the last block
    cdef intp_t n_emitted           # tests of the walk that have been handed over
    cdef float64_t* running         # [n_classes] counts of the rows walked so far
    cdef int64_t* counted           # [2, n_classes] the same as integers, and in all
    cdef const int32_t* places     # [n] of cuts behind the sorted rows of a walk, if they
                                    # are not to be the numbers of these rows; else NULL

    cdef void take(self, intp_t size) noexcept nogil
    # What a reader asks for that prunes, of a walk that may leave tests out.
    cdef bint prunes
    cdef void measure(self, intp_t size, float64_t* scores) noexcept nogil
    cdef void leave_out(self, intp_t n) noexcept nogil

    cdef inline void emit(self, float64_t n_left, intp_t place) noexcept nogil:
        # Complete the test whose counts, or sums of phi, stand at self.size.
        self.n_left[self.size] = n_left
        self.place[self.size] = place
        self.size += 1
        if self.size == BLOCK:
            self.n_emitted += BLOCK
            self.size = 0
            self.take(BLOCK)

    cdef inline intp_t finish(self) noexcept nogil:
        # Hand over the last block; the number of tests of the walk.
        cdef intp_t size = self.size
        cdef intp_t n_tests = self.n_emitted + size
        self.size = 0
        self.n_emitted = 0
        if size > 0:
            self.take(size)
        return n_tests

    cdef intp_t walk_sorted(
        self, const uint32_t* entries, intp_t n, const label_t* y,
        const int32_t* count, const float64_t* weight, const float64_t* total,
    ) noexcept nogil
    cdef intp_t walk_sorted_with_gap(
        self, const uint32_t* entries, intp_t n, intp_t n_below, intp_t n_gap,
        const float64_t* gap, const label_t* y, const int32_t* count,
        const float64_t* weight,
    ) noexcept nogil
    cdef intp_t walk_sorted_with_pool(
        self, const uint32_t* entries, intp_t n, const label_t* y,
        const int32_t* count, const float64_t* weight, const float32_t* x,
        intp_t stride,
    ) noexcept nogil
    cdef intp_t walk_histogram(
        self, const float64_t* histogram, intp_t n_levels, const float64_t* total
    ) noexcept nogil
    cdef intp_t walk_histogram_with_pool(
        self, const float64_t* histogram, intp_t n_levels, const float32_t* levels
    ) noexcept nogil


# Source: the rows of a node, asked about one attribute at a time. A table's columns and
# a growing leaf's memory are sources; all else about a split is the same for both
# (_candidates.pxd). Another way to keep rows is another subclass.
#
# A place is a number that says which values go left of a cut. It is the source's own;
# what others know is that places ascend with values.
#
# walk() follows count_values() of the same attribute, unless the source is complete.
# Every other question stands alone.

cdef enum:
    ANY_LENGTH = 2147483647


cdef struct ValueCounts:
    # The node's rows with a value of an attribute, and those without.
    float64_t* seen         # [n_classes + 1] with one; the last count has no label
    float64_t* missing      # [n_classes + 1] without
    float64_t n_seen        # labelled ones of either
    float64_t n_missing
    float64_t pool_seen     # with and without label
    intp_t rows_missing     # how many, and how many with a label; set by count_sides()
    intp_t labelled_missing     # of tables only


cdef inline void clear_values(ValueCounts* values, intp_t n_classes) noexcept nogil:
    memset(values.seen, 0, (n_classes + 1) * sizeof(float64_t))
    memset(values.missing, 0, (n_classes + 1) * sizeof(float64_t))


cdef inline void add_up(ValueCounts* values, intp_t n_classes) noexcept nogil:
    # The sums of the counts of classes.
    cdef intp_t c
    values.n_seen = 0.0
    values.n_missing = 0.0
    for c in range(n_classes):
        values.n_seen += values.seen[c]
        values.n_missing += values.missing[c]
    values.pool_seen = values.n_seen + values.seen[n_classes]


# Says which method a class lacks; such a class is refused when it is put to use.
cdef int lacks(object made, str method) except -1


cdef class Source:
    cdef ExaminedNode node      # whose rows it knows
    cdef intp_t longest_walk    # rows, with repeats, that it walks one by one
    cdef bint complete          # no row misses a numeric value
    cdef bint right_is_rest     # count_sides() counts the left side only
    cdef bint every_cut         # all its cuts count as tests compared, whatever they part
    cdef bint sketches          # sketch() may know something

    # A node has been entered: self.node is about it, and may be told more.
    cdef void begin(self) noexcept nogil
    # These attributes will be asked about, one by one.
    cdef void announce(self, const int32_t* features, intp_t n) noexcept nogil
    # Weight of the node's labelled rows by RootStats.distinct. Of tables only.
    cdef float64_t weight_without_repeats(self) noexcept nogil

    # Whether rows miss a value. If not, `values` may stay as it is.
    cdef bint count_values(self, intp_t feature, ValueCounts* values) noexcept nogil
    # Emit the tests of the rows that have a value; 0 = they all have the same.
    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil
    # Of every class the share of the node's rows that are of it and go left, of each cut
    # of the attribute: [n_classes, LANES], within SHARE_ERROR of the share of the class.
    # Returns the number of cuts, not counting those that part the rows as others do; -1
    # if all that is not known at little cost.
    cdef intp_t sketch(self, intp_t feature, float32_t* left) noexcept nogil
    # The place behind all values.
    cdef intp_t everything(self, intp_t feature) noexcept nogil
    # The place and threshold of a random cut, u being uniform in [0, 1); -1 if no cut
    # parts the rows that have a value.
    cdef intp_t draw(
        self, intp_t feature, float64_t u, float64_t* threshold
    ) noexcept nogil
    cdef float64_t threshold(self, intp_t feature, intp_t place) noexcept nogil
    # Count, in `children`, the rows with a value on either side. Whether rows miss
    # one; if not, `values` may stay as it is.
    cdef bint count_sides(
        self, intp_t feature, intp_t place, Children* children, ValueCounts* values
    ) noexcept nogil

    # Class weights of each category, [n_codes, n_classes + 1], the last column without
    # label. Returns n_codes; the last code stands for other categories.
    cdef intp_t count_categories(self, intp_t feature, float64_t* counts) noexcept nogil
    # Count the rows of the children, whose ordinals are known. Of tables only.
    cdef void count_branches(self, intp_t feature, Children* children) noexcept nogil


cdef inline float64_t drawn_between(
    float64_t low, float64_t high, float64_t u
) noexcept nogil:
    # A threshold in [low, high).
    cdef float64_t threshold = low + u * (high - low)
    return low if threshold >= high else threshold


cdef inline void labelled_neighbours(
    const uint32_t* entries, const label_t* y, intp_t n_classes, intp_t place,
    intp_t* below, intp_t* above,
) noexcept nogil:
    # The rows whose values a cut of sorted rows lies between: those with a label.
    cdef intp_t low = place - 1
    cdef intp_t high = place
    while y[entries[low] >> 1] == n_classes:
        low -= 1
    while y[entries[high] >> 1] == n_classes:
        high += 1
    below[0] = entries[low] >> 1
    above[0] = entries[high] >> 1
