from libc.string cimport memset

from skconftree.bounds._contract cimport SplitBlock
from skconftree.criteria._score cimport sum_of
from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._split cimport Children
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, label_t, uint32_t, uint8_t,
)

# Scan: walks over one feature of one node in ascending order and emits its candidate splits
# into arrays, BLOCK at a time. An outcome of a split is a child. If the score of the criterion is
# additive, it depends on an outcome only through its weight and the sum over the classes of
# phi(count), which can be emitted instead of class counts. The pool of a node is its weight
# with unlabeled rows, or its volume in feature space. An ExaminedNode (_node.pxd) has the class
# counts of the node; an Arena owns arrays.
#
# There are two walks, both exact: over SORTED ROWS, and over a HISTOGRAM of class counts per
# level. The levels are the distinct values in ascending order. An entry of the sorted rows is
# (row << 1) | (the value of the row differs from that of the entry before). After each block
# the walk calls process_block(), which completes the candidates and passes them to a
# CandidateReader, with one virtual call per block. Sources of rows, scores and selections of the
# best candidate can therefore be combined freely, and the inner loops are small.
#
# y is the class of each row; n_classes = a row without a label. `total` has the class counts of
# the rows walked over. Rows may have integer weights, `count`, or other weights, `weight`; both
# are NULL if all weights are 1. A walk over counts emits, to the last bit, the same as a walk over
# repeated rows, unless rows are repeated more than REPEATS times on average.
#
# The threshold of a candidate is between two neighboring distinct values of labeled rows.
# Its position is the number of sorted rows, or the largest index of a histogram, that go
# left.

cdef enum:
    BLOCK = 256     # candidates; their arrays fit into the first-level cache
    REPEATS = 4     # mean count of the rows up to which sums of phi are updated for each repeat


cdef inline float64_t weight_of(
    const int32_t* count, const float64_t* weight, intp_t row
) noexcept nogil:
    if count != NULL:
        return count[row]
    if weight != NULL:
        return weight[row]
    return 1.0


cdef class Scan


cdef class CandidateReader:
    # Scan.block and Scan.position hold the next candidates of the feature being walked.
    cdef void read(self, Scan scan) noexcept nogil
    # Whether the reader only selects the best candidate, by a concave score of the class counts
    # on the left. Walks may then leave out candidates: they get the scores of some candidates
    # from measure(), and pass the number of candidates that are not emitted to leave_out().
    cdef bint prunes
    cdef void measure(self, Scan scan, float64_t* scores) noexcept nogil
    cdef void leave_out(self, intp_t n) noexcept nogil
    # The only candidate of a multiway feature has these children.
    cdef void read_children(self, const Children* children) noexcept nogil


cdef class Scan:
    cdef intp_t n_classes
    cdef Arena arrays               # owns the arrays below
    cdef bint additive              # emit sums of phi instead of class counts
    cdef const float64_t* phi       # phi of every integer up to the node's weight
    cdef bint squares               # phi is the square: sums are exact in any order

    cdef SplitBlock block           # the arrays below, as arguments of a score
    cdef bint missing_left          # in all candidates of the block
    # Some walks write a candidate before they know that it is one, so the arrays have one more
    # element.
    cdef float64_t* left            # [BLOCK + 1, n_classes]
    cdef float64_t* n_left          # [BLOCK + 1]
    cdef float64_t* pool_left       # [BLOCK + 1]
    cdef float64_t* phi_left        # [BLOCK + 1]
    cdef float64_t* phi_right       # [BLOCK + 1]
    cdef intp_t* position           # [BLOCK + 1]
    cdef bint excludes              # some candidates cannot be selected, but are counted
    cdef uint8_t* excluded          # [BLOCK + 1] mask of these candidates
    cdef intp_t size                # candidates emitted since the last block
    cdef intp_t n_emitted           # candidates of earlier blocks of the walk
    cdef float64_t* running         # [n_classes] counts of the rows walked so far
    cdef int64_t* int_counts        # [2, n_classes] the same as integers, and of all rows
    cdef const int32_t* positions   # [n] position of the cut after each sorted row; NULL =
                                    # the number of rows up to it

    cdef void process_block(self, intp_t size) noexcept nogil
    # See CandidateReader.
    cdef bint prunes
    cdef void measure(self, intp_t size, float64_t* scores) noexcept nogil
    cdef void leave_out(self, intp_t n) noexcept nogil

    cdef inline void emit(self, float64_t n_left, intp_t position) noexcept nogil:
        # Complete the candidate whose counts, or sums of phi, are at index self.size.
        self.n_left[self.size] = n_left
        self.position[self.size] = position
        self.size += 1
        if self.size == BLOCK:
            self.n_emitted += BLOCK
            self.size = 0
            self.process_block(BLOCK)

    cdef inline intp_t finish(self) noexcept nogil:
        # Pass on the last block; return the number of candidates of the walk.
        cdef intp_t size = self.size
        cdef intp_t n_candidates = self.n_emitted + size
        self.size = 0
        self.n_emitted = 0
        if size > 0:
            self.process_block(size)
        return n_candidates

    cdef intp_t walk_sorted(
        self, const uint32_t* entries, intp_t n, const label_t* y,
        const int32_t* count, const float64_t* weight, const float64_t* total,
    ) noexcept nogil
    # `gap` has the class counts of n_gap rows without entries, the zeros of a sparse column; the
    # first n_below of the n entries have values below zero.
    cdef intp_t walk_sorted_with_gap(
        self, const uint32_t* entries, intp_t n, intp_t n_below, intp_t n_gap,
        const float64_t* gap, const label_t* y, const int32_t* count, const float64_t* weight,
    ) noexcept nogil
    # Some rows have no label. The value of a row is x[row * stride].
    cdef intp_t walk_sorted_with_pool(
        self, const uint32_t* entries, intp_t n, const label_t* y, const int32_t* count,
        const float64_t* weight, const float32_t* x, intp_t stride,
    ) noexcept nogil
    # histogram is [n_levels, n_classes], with one more column for unlabeled rows if there is a
    # pool; `levels` are the values.
    cdef intp_t walk_histogram(
        self, const float64_t* histogram, intp_t n_levels, const float64_t* total
    ) noexcept nogil
    cdef intp_t walk_histogram_with_pool(
        self, const float64_t* histogram, intp_t n_levels, const float32_t* levels
    ) noexcept nogil


# Source: the rows of a node, one feature at a time. The columns of a table and the statistics
# of a leaf of an incrementally trained tree are sources; the code for splits is the same for
# both (_candidates.pxd). Each storage format of rows is a subclass.
#
# The position of a cut (a candidate threshold) determines which values go left. Its meaning
# depends on the source; larger positions have larger values on the left.
#
# walk() is called after count_values() of the same feature, unless the source is complete.
# All other methods can be called in any order.

cdef enum:
    ANY_LENGTH = 2147483647     # Source.longest_walk without limit


cdef struct ValueCounts:
    # The node's rows with a value of a feature (present) and without (missing).
    float64_t* present         # [n_classes + 1] weights; the last one of unlabeled rows
    float64_t* missing         # [n_classes + 1]
    float64_t n_present        # labeled rows only
    float64_t n_missing
    float64_t pool_present     # labeled and unlabeled rows
    intp_t rows_missing        # number of rows, and of labeled rows; set by count_sides()
    intp_t labeled_missing     # for tables only


cdef inline void clear_values(ValueCounts* values, intp_t n_classes) noexcept nogil:
    memset(values.present, 0, (n_classes + 1) * sizeof(float64_t))
    memset(values.missing, 0, (n_classes + 1) * sizeof(float64_t))


cdef inline void sum_values(ValueCounts* values, intp_t n_classes) noexcept nogil:
    values.n_present = sum_of(values.present, n_classes)
    values.n_missing = sum_of(values.missing, n_classes)
    values.pool_present = values.n_present + values.present[n_classes]


cdef class Source:
    cdef ExaminedNode node      # the node of its rows
    cdef intp_t longest_walk    # largest number of rows, with repeats, of a walk over rows
    cdef bint complete          # no row misses a numeric value
    cdef bint right_is_rest     # count_sides() counts the left side only
    cdef bint every_cut         # all its cuts count as candidates, even without rows
    cdef bint sketches          # sketch() is supported

    # A node has been entered: self.node describes it, and the source may change it.
    cdef void begin(self) noexcept nogil
    # These features will be walked, one after the other.
    cdef void prepare_features(self, const int32_t* features, intp_t n) noexcept nogil
    # Sum over the node's labeled rows of RootStats.distinct, the weight of a row as evidence if
    # repeated rows do not count. For tables only.
    cdef float64_t weight_without_repeats(self) noexcept nogil

    # Whether rows miss a value. If not, `values` need not be set.
    cdef bint count_values(self, intp_t feature, ValueCounts* values) noexcept nogil
    # Add the rows that have a value of a numeric feature to `sums`, [3, n_classes]: their
    # weights, their values minus the smallest one, and the squares. Equal values are added
    # together, in ascending order. Only bounds that test features (NodeTest) need them.
    cdef void sum_by_class(self, intp_t feature, float64_t* sums) noexcept nogil
    # The same sums, up to rounding, of some features whose cuts count_cuts() counts:
    # [2, n_classes, all features] values and squares, then the smallest values. False if
    # this is not faster.
    cdef bint sum_roughly(
        self, const int32_t* features, intp_t n, float64_t* sums
    ) noexcept nogil
    # Emit the candidates of the rows that have a value; return their number, 0 = all values are
    # equal.
    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil
    # The number of candidates that walk() would emit, and of those without a small child
    # (ExaminedNode.is_small). -1 if counting them costs as much as walk().
    cdef intp_t count_cuts(self, intp_t feature, intp_t* n_admissible) noexcept nogil
    # For each class and each cut of the feature, the approximate share of the node's rows
    # that are of the class and go left: [n_classes, LANES], for at most LANES cuts
    # (utils/_lanes.pxd). The error is below SHARE_ERROR (criteria/_criterion.pxd) times the
    # share of the class. Returns the number of cuts with different left outcomes; -1 if
    # approximation is not cheap.
    cdef intp_t sketch(self, intp_t feature, float32_t* left) noexcept nogil
    # The position of a cut with all values on the left.
    cdef intp_t end_position(self, intp_t feature) noexcept nogil
    # The position and threshold of a random cut; u is uniform in [0, 1). -1 if no cut
    # separates the rows that have a value.
    cdef intp_t draw(self, intp_t feature, float64_t u, float64_t* threshold) noexcept nogil
    # The threshold of a cut.
    cdef float64_t threshold(self, intp_t feature, intp_t position) noexcept nogil
    # Count the rows with a value on either side of a cut in `children`. Return whether rows miss a
    # value; if not, `values` need not be set.
    cdef bint count_sides(
        self, intp_t feature, intp_t position, Children* children, ValueCounts* values
    ) noexcept nogil

    # Class weights of each category, [n_codes, n_classes + 1]; the last column is that of
    # unlabeled rows. Returns n_codes, the number of integer codes of categories; the last one is
    # that of other categories.
    cdef intp_t count_categories(self, intp_t feature, float64_t* counts) noexcept nogil
    # Count the rows of the children, by `child_of_code`, the child of each category, which is
    # set. For tables only.
    cdef void count_branches(self, intp_t feature, Children* children) noexcept nogil


cdef inline float64_t random_threshold(float64_t low, float64_t high, float64_t u) noexcept nogil:
    # A threshold in [low, high); u is uniform in [0, 1).
    cdef float64_t threshold = low + u * (high - low)
    return low if threshold >= high else threshold


cdef inline void labeled_neighbors(
    const uint32_t* entries, const label_t* y, intp_t n_classes, intp_t position,
    intp_t* below, intp_t* above,
) noexcept nogil:
    # The labeled rows directly below and above a cut with `position` sorted rows on the left.
    cdef intp_t low = position - 1
    cdef intp_t high = position
    while y[entries[low] >> 1] == n_classes:
        low -= 1
    while y[entries[high] >> 1] == n_classes:
        high += 1
    below[0] = entries[low] >> 1
    above[0] = entries[high] >> 1
