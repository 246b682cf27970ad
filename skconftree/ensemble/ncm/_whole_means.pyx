"""Class means and rows as whole numbers."""

from libc.math cimport fmax, sqrt
from libc.string cimport memcpy

from skconftree.ensemble.ncm._centroid_tree cimport nearest
from skconftree.ensemble.ncm._two_nearest cimport BEHIND, LANES, two_nearest
from skconftree.utils._bits cimport highest_bit
from skconftree.utils._prefetch cimport prefetch
from skconftree.utils._typedefs cimport uint8_t, uint64_t

cdef enum:
    MOST_STEPS = 32767
    AHEAD = 4           # nodes whose means are fetched before they are asked for
    A_LINE = 32         # numbers that are fetched at a time


def largest_value(list trees not None, const float32_t[:, ::1] X not None):
    """Return the largest absolute value of rows and means."""
    cdef float64_t largest = 0.0
    cdef NCMTree tree
    cdef intp_t i
    for i in range(X.shape[0]):
        largest = fmax(largest, _largest(&X[i, 0], X.shape[1]))
    for tree in trees:
        largest = fmax(largest, _largest(tree.means, tree.n_centroids * X.shape[1]))
    return largest


cdef float64_t _largest(const float32_t* values, intp_t n) noexcept nogil:
    # Numbers without their signs are in the order of their bits, of which many are
    # compared at a time.
    cdef const int32_t* bits = <const int32_t*> values
    cdef int32_t most = 0
    cdef int32_t one
    cdef intp_t i
    for i in range(n):
        one = bits[i] & 0x7FFFFFFF
        most = one if one > most else most
    return (<const float32_t*> &most)[0]


cdef class WholeVectors:
    """Vectors of d values that are at most `largest`."""

    cdef int _round(
        self, const float32_t* values, intp_t n, intp_t d, float64_t largest
    ) except -1:
        # sums of products, and of squares, stay below 2^30
        cdef intp_t width = (d + LANES - 1) // LANES * LANES
        cdef intp_t most = min(
            <intp_t> sqrt((1 << 30) / <float64_t> width), <intp_t> MOST_STEPS
        )
        cdef intp_t room = n + BEHIND
        cdef float64_t scale
        cdef int32_t whole, square
        cdef intp_t i, f
        self.width = width
        self.step = largest / most if largest > 0.0 else 1.0
        self.arena = Arena()
        self.vectors = <int16_t*> self.arena.take_zeros(room * width, sizeof(int16_t))
        self.squares = <int32_t*> self.arena.take_zeros(room, sizeof(int32_t))
        scale = 1.0 / self.step
        with nogil:
            for i in range(n):
                square = 0
                for f in range(d):
                    whole = <int32_t> (
                        values[i * d + f] * scale + (MOST_STEPS + 1.5)
                    ) - (MOST_STEPS + 1)
                    self.vectors[i * width + f] = <int16_t> whole
                    square += whole * whole
                self.squares[i] = square
        return 0


cdef class WholeRows(WholeVectors):
    """Some rows, and where they are in a tree."""

    def __init__(self, const float32_t[:, ::1] X not None, float64_t largest):
        cdef intp_t n = X.shape[0]
        self._round(&X[0, 0], n, X.shape[1], largest)
        self.n_rows = n
        self.X = X
        self.leaves = <int32_t*> self.arena.take(n, sizeof(int32_t))
        self.order = <int32_t*> self.arena.take(n, sizeof(int32_t))
        self.spare = <int32_t*> self.arena.take(n, sizeof(int32_t))
        self.level = <Arrived*> self.arena.take(n, sizeof(Arrived))
        self.below = <Arrived*> self.arena.take(n, sizeof(Arrived))


cdef class WholeMeans(WholeVectors):
    """The means of a tree."""

    def __init__(self, NCMTree tree not None, float64_t largest):
        cdef intp_t d = tree.n_features
        self._round(tree.means, tree.n_centroids, d, largest)
        self.tree = tree
        cdef float64_t wrong = 2.0 * sqrt(<float64_t> d) * (1.0 + 1e-6)
        cdef intp_t bit
        for bit in range(DISTANCE_BITS):
            # (r + wrong)^2 - r^2, where r^2 has this highest bit
            self.gaps[bit] = <uint64_t> (
                (2.0 * sqrt(2.0 ** (bit + 1)) + wrong) * wrong + 1.0
            )

    cdef void route(self, WholeRows rows) noexcept nogil:
        # Level by level. Nodes of a level have rows, each its own: there are no more
        # of them than of rows.
        cdef Arrived* level = rows.level
        cdef Arrived* below = rows.below
        cdef Arrived arrived
        cdef const CentroidTest* test
        cdef intp_t n_level = 1
        cdef intp_t n_below, middle, child, i, j
        for i in range(rows.n_rows):
            rows.order[i] = <int32_t> i
        level[0] = Arrived(0, 0, rows.n_rows)
        while n_level > 0:
            n_below = 0
            for j in range(n_level):
                if j + AHEAD < n_level:
                    self._prefetch(level[j + AHEAD].node)
                arrived = level[j]
                test = &self.tree.tests[arrived.node]
                if test.n == 0:
                    for i in range(arrived.start, arrived.end):
                        rows.leaves[rows.order[i]] = <int32_t> arrived.node
                    continue
                middle = self._divide(rows, &arrived, test)
                child = self.tree.first_child[arrived.node]
                if middle > arrived.start:
                    below[n_below] = Arrived(child, arrived.start, middle)
                    n_below += 1
                if middle < arrived.end:
                    below[n_below] = Arrived(child + 1, middle, arrived.end)
                    n_below += 1
            level, below = below, level
            n_level = n_below

    cdef void _prefetch(self, intp_t node) noexcept nogil:
        cdef const CentroidTest* test = &self.tree.tests[node]
        cdef const int16_t* mean = self.vectors + test.first * self.width
        cdef intp_t i
        for i in range(test.n * self.width // A_LINE + 1):
            prefetch(mean + i * A_LINE)

    cdef intp_t _divide(
        self, WholeRows rows, const Arrived* arrived, const CentroidTest* test
    ) noexcept nogil:
        # Put the rows of a node into the order of its children: where the second begins.
        cdef const uint8_t* sides = self.tree.sides
        cdef intp_t n_first = arrived.start
        cdef intp_t n_second = 0
        cdef intp_t i, side
        cdef int32_t row
        for i in range(arrived.start, arrived.end):
            row = rows.order[i]
            side = sides[self._nearest(rows, row, test)]
            rows.order[n_first] = row
            rows.spare[n_second] = row
            n_first += 1 - side
            n_second += side
        memcpy(rows.order + n_first, rows.spare, n_second * sizeof(int32_t))
        return n_first

    cdef intp_t _nearest(
        self, WholeRows rows, intp_t i, const CentroidTest* test
    ) noexcept nogil:
        # Place of the mean that is nearest to a row.
        cdef intp_t d = self.tree.n_features
        cdef uint64_t[2] found
        cdef uint64_t least
        two_nearest(
            rows.vectors + i * self.width, rows.squares[i],
            self.vectors + test.first * self.width, self.squares + test.first,
            test.n, self.width, found,
        )
        least = found[0] >> 16
        if (found[1] >> 16) - least > self.gaps[highest_bit(least | 1)]:
            return test.first + (found[0] & 0xFFFF)
        return test.first + nearest(
            &rows.X[i, 0], self.tree.means + test.first * d, test.n, d
        )
