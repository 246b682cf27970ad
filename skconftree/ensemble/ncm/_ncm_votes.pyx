"""Class proportions of a forest of nearest class mean trees: sums over its trees.

A split has the means of some classes, each with a side: 0 for the first child, 1 for the second.
A row goes to the child of its nearest mean. To route a row is to find its leaf. An `Arena`
allocates memory (`take`, `resize`) and frees it with itself.
"""

from libc.math cimport fmax, sqrt
from libc.string cimport memcpy

from skconftree.ensemble.ncm._centroid_tree cimport CentroidSplit, NCMTree, nearest
from skconftree.utils._inline cimport highest_bit, prefetch
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int16_t, int32_t, int64_t, intp_t, label_t, uint64_t, uint8_t,
)

# Class means and rows as integers, for the routing of many rows.
#
# Coordinates are rounded to multiples of a step, which is chosen so that sums of d
# products (d: the number of features) fit into 32 bits, see two_nearest(). Rounding moves a
# vector by at most sqrt(d) / 2 steps. By the triangle inequality, the error of a distance is
# at most the sum of these movements of the row and of the mean. Therefore, a mean that
# is nearer than all others by more than twice this error is the nearest one. If there
# is no such mean, distances are computed without rounding, by nearest().
#
# Rows are routed through a tree level by level: the means of a node are read once for
# all rows that reach it, and prefetched while earlier nodes are processed.

cdef enum:
    DISTANCE_BITS = 34  # number of bits of a squared distance, in squared steps
    MAX_STEPS = 32767   # largest int16
    AHEAD = 4           # the means of the node so many places later are prefetched
    LINE_VALUES = 32    # int16 values per cache line
    LANES = 16          # numbers per vector operation; vectors are padded to a multiple of it
    PADDING = 1         # vectors that must follow the last mean, see two_nearest()


cdef struct NodeRows:       # rows that have reached a node
    intp_t node
    intp_t start            # first index of these rows in the array `IntegerRows.order`
    intp_t end              # last index + 1


def add_ncm_votes(
    list trees, const float32_t[:, ::1] X not None, float64_t[:, ::1] out not None
):
    """Add the class proportions of the leaf of each row in each tree to `out`.

    They are equal, bit for bit, to those in the array `NCMTree.proba`. That array is not
    used because it is as large as the counts and mostly zeros: few classes reach a leaf.
    """
    cdef intp_t K = out.shape[1]
    cdef NCMTree tree
    cdef const float64_t* counts
    cdef float64_t total
    cdef intp_t i, c
    for tree in trees:
        _check(tree, X, out)
    for tree in trees:
        with nogil:
            for i in range(X.shape[0]):
                counts = _counts_of(tree, tree.leaf_of(&X[i, 0]), &total)
                if total == 0.0:        # no row has reached the tree
                    out[i, 0] += 1.0
                    continue
                for c in range(K):
                    if counts[c] > 0.0:
                        out[i, c] += counts[c] / total


def add_ncm_votes_of_many(
    list means, list shares, const float32_t[:, ::1] X not None,
    float64_t[:, ::1] out not None, float64_t largest,
):
    """Do the same as `add_ncm_votes` faster, for many rows.

    `means` and `shares` have the `IntegerMeans` and `LeafShares` of the trees. `largest`
    is the largest absolute value of rows and means. `X` should be a block of rows that
    stays in the cache while it is routed through all trees.
    """
    cdef IntegerRows rows
    cdef IntegerMeans mean
    cdef LeafShares share
    cdef intp_t i, k, leaf
    if X.shape[0] == 0:
        return
    rows = IntegerRows(X, largest)
    for mean, share in zip(means, shares, strict=True):
        _check(mean.tree, X, out)
        if share.tree is not mean.tree or mean.step != rows.step:
            raise ValueError("Means and shares must be of the same trees and scale.")
    for mean, share in zip(means, shares):
        with nogil:
            mean.route(rows)
            for i in range(rows.n_rows):
                leaf = rows.leaves[i]
                for k in range(share.starts[leaf], share.starts[leaf + 1]):
                    out[i, share.classes[k]] += share.shares[k]


cdef class LeafShares:
    """Nonzero class proportions of the leaves of a tree."""

    cdef Arena arena            # owns the arrays
    cdef readonly NCMTree tree
    # compressed sparse rows: the entries of node i are starts[i] to starts[i + 1] - 1
    cdef intp_t* starts         # [node_count + 1]
    cdef label_t* classes       # class code of each entry
    cdef float64_t* shares      # proportion of each entry

    def __init__(self, NCMTree tree not None):
        self.tree = tree
        self.arena = Arena()
        self.starts = <intp_t*> self.arena.take(tree.node_count + 1, sizeof(intp_t))
        with nogil:
            self._fill(tree)

    cdef int _fill(self, NCMTree tree) except -1 nogil:
        cdef intp_t K = tree.n_classes
        cdef intp_t capacity = 0
        cdef intp_t n = 0
        cdef intp_t node
        for node in range(tree.node_count):
            self.starts[node] = n
            if tree.n_children[node] > 0:
                continue
            if n + K > capacity:
                capacity = 2 * capacity + K
                self.classes = <label_t*> self.arena.resize(
                    self.classes, capacity, sizeof(label_t)
                )
                self.shares = <float64_t*> self.arena.resize(
                    self.shares, capacity, sizeof(float64_t)
                )
            n += self._fill_leaf(tree, node, self.classes + n, self.shares + n)
        self.starts[tree.node_count] = n
        return 0

    cdef intp_t _fill_leaf(
        self, NCMTree tree, intp_t leaf, label_t* classes, float64_t* shares
    ) noexcept nogil:
        # Fill the entries of a leaf; return their number. The loop over classes has no
        # branch, because a processor could not predict which counts are 0.
        cdef float64_t total
        cdef const float64_t* counts = _counts_of(tree, leaf, &total)
        cdef intp_t n = 0
        cdef intp_t c
        if total == 0.0:        # no row has reached the tree
            classes[0] = 0
            shares[0] = 1.0
            return 1
        for c in range(tree.n_classes):
            classes[n] = <label_t> c
            shares[n] = counts[c]
            n += counts[c] > 0.0
        for c in range(n):
            shares[c] /= total
        return n


cdef _check(NCMTree tree, const float32_t[:, ::1] X, float64_t[:, ::1] out):
    if (
        tree.n_features != X.shape[1] or tree.n_classes != out.shape[1]
        or out.shape[0] != X.shape[0] or tree.node_count == 0
    ):
        raise ValueError("Rows do not match the trees of this forest.")


cdef inline const float64_t* _counts_of(
    NCMTree tree, intp_t leaf, float64_t* total
) noexcept nogil:
    # Counts of a leaf, or of its nearest ancestor with rows. `total` is their sum, which
    # is 0 if no node of the path has rows.
    cdef const float64_t* counts
    while True:
        counts = tree.counts + leaf * tree.n_classes
        total[0] = _sum_of(counts, tree.n_classes)
        if total[0] > 0.0 or leaf == 0:
            return counts
        leaf = tree.parent[leaf]


cdef float64_t _sum_of(const float64_t* counts, intp_t K) noexcept nogil:
    # Four partial sums are faster. Counts are integers, whose sum is exact in any order.
    cdef float64_t a = 0.0
    cdef float64_t b = 0.0
    cdef float64_t c = 0.0
    cdef float64_t d = 0.0
    cdef intp_t i = 0
    while i + 4 <= K:
        a += counts[i]
        b += counts[i + 1]
        c += counts[i + 2]
        d += counts[i + 3]
        i += 4
    while i < K:
        a += counts[i]
        i += 1
    return (a + b) + (c + d)


def largest_value(list trees not None, const float32_t[:, ::1] X not None):
    """Return the largest absolute value of the rows and of all means of the trees."""
    cdef float64_t largest = 0.0
    cdef NCMTree tree
    cdef intp_t i
    for i in range(X.shape[0]):
        largest = fmax(largest, _largest(&X[i, 0], X.shape[1]))
    for tree in trees:
        largest = fmax(largest, _largest(tree.means, tree.n_centroids * X.shape[1]))
    return largest


cdef float64_t _largest(const float32_t* values, intp_t n) noexcept nogil:
    # Positive floats have the order of their bits as integers, whose comparison is
    # vectorized. The mask clears the sign.
    cdef const int32_t* bits = <const int32_t*> values
    cdef int32_t largest = 0
    cdef int32_t magnitude
    cdef intp_t i
    for i in range(n):
        magnitude = bits[i] & 0x7FFFFFFF
        largest = magnitude if magnitude > largest else largest
    return (<const float32_t*> &largest)[0]


cdef class IntegerVectors:
    """Vectors of values up to `largest`, rounded to integer multiples of a step."""

    cdef Arena arena
    cdef intp_t width           # number of features, rounded up to a multiple of LANES
    cdef readonly float64_t step
    cdef int16_t* vectors       # [n, width] in steps
    cdef int32_t* squares       # [n] their squared lengths, in squared steps

    cdef int _round(
        self, const float32_t* values, intp_t n, intp_t d, float64_t largest
    ) except -1:
        # sums of products, and of squares, stay below 2^30
        cdef intp_t width = (d + LANES - 1) // LANES * LANES
        cdef intp_t n_steps = min(
            <intp_t> sqrt((1 << 30) / <float64_t> width), <intp_t> MAX_STEPS
        )
        cdef intp_t capacity = n + PADDING
        cdef float64_t scale
        cdef int32_t rounded, square
        cdef intp_t i, f
        self.width = width
        self.step = largest / n_steps if largest > 0.0 else 1.0
        self.arena = Arena()
        self.vectors = <int16_t*> self.arena.take_zeros(capacity * width, sizeof(int16_t))
        self.squares = <int32_t*> self.arena.take_zeros(capacity, sizeof(int32_t))
        scale = 1.0 / self.step
        with nogil:
            for i in range(n):
                square = 0
                for f in range(d):
                    # conversion truncates toward 0: add 1/2, and make the number positive
                    rounded = <int32_t> (
                        values[i * d + f] * scale + (MAX_STEPS + 1.5)
                    ) - (MAX_STEPS + 1)
                    self.vectors[i * width + f] = <int16_t> rounded
                    square += rounded * rounded
                self.squares[i] = square
        return 0


cdef class IntegerRows(IntegerVectors):
    """Rows as integers, and buffers for routing them through a tree."""

    cdef intp_t n_rows
    cdef const float32_t[:, ::1] X
    cdef int32_t* leaves        # [n_rows] leaf that each row has reached in the last tree
    cdef int32_t* order         # [n_rows] rows, grouped by the node that they have reached
    cdef int32_t* second_rows   # [n_rows] buffer for partitioning
    cdef NodeRows* level        # [n_rows] nodes of one depth that have rows
    cdef NodeRows* below        # [n_rows] nodes of the next depth that have rows

    def __init__(self, const float32_t[:, ::1] X not None, float64_t largest):
        cdef intp_t n = X.shape[0]
        self._round(&X[0, 0], n, X.shape[1], largest)
        self.n_rows = n
        self.X = X
        self.leaves = <int32_t*> self.arena.take(n, sizeof(int32_t))
        self.order = <int32_t*> self.arena.take(n, sizeof(int32_t))
        self.second_rows = <int32_t*> self.arena.take(n, sizeof(int32_t))
        self.level = <NodeRows*> self.arena.take(n, sizeof(NodeRows))
        self.below = <NodeRows*> self.arena.take(n, sizeof(NodeRows))


cdef class IntegerMeans(IntegerVectors):
    """The class means of a tree as integers."""

    cdef readonly NCMTree tree
    # If the difference of the two smallest squared distances is above this limit, rounding
    # cannot change which mean is nearest. The limit depends on the smallest squared
    # distance; the index is the number of its highest bit that is set.
    cdef uint64_t[DISTANCE_BITS] min_differences

    def __init__(self, NCMTree tree not None, float64_t largest):
        cdef intp_t d = tree.n_features
        self._round(tree.means, tree.n_centroids, d, largest)
        self.tree = tree
        cdef float64_t max_error = 2.0 * sqrt(<float64_t> d) * (1.0 + 1e-6)
        cdef intp_t bit
        for bit in range(DISTANCE_BITS):
            # (r + max_error)^2 - r^2 for the largest distance r whose square has this
            # highest bit
            self.min_differences[bit] = <uint64_t> (
                (2.0 * sqrt(2.0 ** (bit + 1)) + max_error) * max_error + 1.0
            )

    cdef void route(self, IntegerRows rows) noexcept nogil:
        # Find the leaf of each row, one depth (level) after the other. Only nodes with rows
        # are stored, so that a level has at most as many nodes as there are rows.
        cdef NodeRows* level = rows.level
        cdef NodeRows* below = rows.below
        cdef NodeRows arrived
        cdef const CentroidSplit* split
        cdef intp_t n_level = 1
        cdef intp_t n_below, middle, child, i, j
        for i in range(rows.n_rows):
            rows.order[i] = <int32_t> i
        level[0] = NodeRows(0, 0, rows.n_rows)
        while n_level > 0:
            n_below = 0
            for j in range(n_level):
                if j + AHEAD < n_level:
                    self._prefetch(level[j + AHEAD].node)
                arrived = level[j]
                split = &self.tree.splits[arrived.node]
                if split.n == 0:
                    for i in range(arrived.start, arrived.end):
                        rows.leaves[rows.order[i]] = <int32_t> arrived.node
                    continue
                middle = self._divide(rows, &arrived, split)
                child = self.tree.first_child[arrived.node]
                if middle > arrived.start:
                    below[n_below] = NodeRows(child, arrived.start, middle)
                    n_below += 1
                if middle < arrived.end:
                    below[n_below] = NodeRows(child + 1, middle, arrived.end)
                    n_below += 1
            level, below = below, level
            n_level = n_below

    cdef void _prefetch(self, intp_t node) noexcept nogil:
        cdef const CentroidSplit* split = &self.tree.splits[node]
        cdef const int16_t* mean = self.vectors + split.first * self.width
        cdef intp_t i
        for i in range(split.n * self.width // LINE_VALUES + 1):
            prefetch(mean + i * LINE_VALUES)

    cdef intp_t _divide(
        self, IntegerRows rows, const NodeRows* arrived, const CentroidSplit* split
    ) noexcept nogil:
        # Partition the rows of a node by child; return the index in `order` of the first
        # row of the second child.
        cdef const uint8_t* sides = self.tree.sides     # child of each mean, 0 or 1
        cdef intp_t n_first = arrived.start
        cdef intp_t n_second = 0
        cdef intp_t i, side
        cdef int32_t row
        for i in range(arrived.start, arrived.end):
            row = rows.order[i]
            side = sides[self._nearest(rows, row, split)]
            rows.order[n_first] = row
            rows.second_rows[n_second] = row
            n_first += 1 - side
            n_second += side
        memcpy(rows.order + n_first, rows.second_rows, n_second * sizeof(int32_t))
        return n_first

    cdef intp_t _nearest(
        self, IntegerRows rows, intp_t i, const CentroidSplit* split
    ) noexcept nogil:
        # Index of the mean that is nearest to row i, among the means of all splits.
        cdef intp_t d = self.tree.n_features
        cdef uint64_t[2] nearest_keys       # see two_nearest()
        cdef uint64_t smallest              # squared distance
        two_nearest(
            rows.vectors + i * self.width, rows.squares[i],
            self.vectors + split.first * self.width, self.squares + split.first,
            split.n, self.width, nearest_keys,
        )
        smallest = nearest_keys[0] >> 16
        if (nearest_keys[1] >> 16) - smallest > self.min_differences[highest_bit(smallest | 1)]:
            return split.first + (nearest_keys[0] & 0xFFFF)
        return split.first + nearest(
            &rows.X[i, 0], self.tree.means + split.first * d, split.n, d
        )


# two_nearest: the two means that are nearest to a row, in integers.
#
# Integer sums are exact in any order, so that compilers vectorize the products and the
# result is the same on all processors.
#
# Means are processed four at a time and the last two together, with a padding vector if
# there is only one. Many nodes have two or three means and few rows, so the number of
# iterations of a loop over single means would be hard to predict for the processor.

cdef inline void two_nearest(
    const int16_t* row, int64_t square, const int16_t* means, const int32_t* squares,
    intp_t n, intp_t width, uint64_t* nearest_keys,
) noexcept nogil:
    # Fill `nearest_keys` with a key for the nearest mean and one for the second nearest.
    # A key is the squared distance times 2^16 plus the index among the n means, so that
    # ties are broken in favor of the first mean. If there is no second mean, its key is
    # 2^64 - 1. `square` and `squares` are squared lengths; sums of products fit into 32
    # bits.
    cdef uint64_t a, b
    cdef int32_t p, q, r, s
    cdef intp_t j = 0
    cdef intp_t f
    width = width & -LANES      # lets compilers omit the loop over a remainder
    nearest_keys[0] = nearest_keys[1] = ~<uint64_t> 0
    while j + 2 < n:
        p = q = r = s = 0
        for f in range(width):
            p += <int32_t> row[f] * <int32_t> means[f]
            q += <int32_t> row[f] * <int32_t> means[width + f]
            r += <int32_t> row[f] * <int32_t> means[2 * width + f]
            s += <int32_t> row[f] * <int32_t> means[3 * width + f]
        a = distance_of(square + squares[j], p, j, n)
        b = distance_of(square + squares[j + 1], q, j + 1, n)
        sort_in(nearest_keys, a, b)
        a = distance_of(square + squares[j + 2], r, j + 2, n)
        b = distance_of(square + squares[j + 3], s, j + 3, n)
        sort_in(nearest_keys, a, b)
        means += 4 * width
        j += 4
    if j < n:
        p = q = 0
        for f in range(width):
            p += <int32_t> row[f] * <int32_t> means[f]
            q += <int32_t> row[f] * <int32_t> means[width + f]
        a = distance_of(square + squares[j], p, j, n)
        b = distance_of(square + squares[j + 1], q, j + 1, n)
        sort_in(nearest_keys, a, b)


cdef inline uint64_t distance_of(
    int64_t squares, int32_t product, intp_t index, intp_t n
) noexcept nogil:
    # The key of a mean: `squares` is the sum of the squared lengths of mean and row, and
    # `product` their dot product. The key of padding is 2^64 - 1.
    cdef uint64_t distance = <uint64_t> (squares - 2 * <int64_t> product) << 16
    return distance | <uint64_t> index if index < n else ~<uint64_t> 0


cdef inline void sort_in(uint64_t* nearest_keys, uint64_t a, uint64_t b) noexcept nogil:
    # Keep the two smallest keys.
    cdef uint64_t less = min(a, b)
    nearest_keys[1] = min(min(nearest_keys[1], max(a, b)), max(nearest_keys[0], less))
    nearest_keys[0] = min(nearest_keys[0], less)
