"""Class means and rows as whole numbers."""

from libc.math cimport fmax, sqrt

from skconftree.ensemble.ncm._centroid_tree cimport CentroidTest, nearest
from skconftree.utils._typedefs cimport int64_t

cdef enum:
    MOST_STEPS = 32767


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
    """Room for n vectors, of d values that are at most `largest`."""

    def __init__(self, intp_t n, intp_t d, float64_t largest):
        # sums of products, and of squares, stay below 2^30
        cdef intp_t width = (d + LANES - 1) // LANES * LANES
        cdef intp_t most = min(
            <intp_t> sqrt((1 << 30) / <float64_t> width), <intp_t> MOST_STEPS
        )
        self.width = width
        self.step = largest / most if largest > 0.0 else 1.0
        self.arena = Arena()
        self.vectors = <int16_t*> self.arena.take_zeros(n * width, sizeof(int16_t))
        self.squares = <int32_t*> self.arena.take(n, sizeof(int32_t))
        self.moved = <float64_t*> self.arena.take(n, sizeof(float64_t))

    cdef void _round(
        self, const float32_t* values, intp_t n, intp_t d
    ) noexcept nogil:
        cdef float64_t scale = 1.0 / self.step
        cdef float64_t moved, value
        cdef int16_t* vector
        cdef int32_t whole, square
        cdef intp_t i, f
        for i in range(n):
            vector = self.vectors + i * self.width
            moved = 0.0
            square = 0
            for f in range(d):
                value = values[i * d + f] * scale
                whole = <int32_t> (value + (MOST_STEPS + 1.5)) - (MOST_STEPS + 1)
                vector[f] = <int16_t> whole
                square += whole * whole
                moved += (value - whole) * (value - whole)
            self.squares[i] = square
            self.moved[i] = sqrt(moved)


cdef class WholeMeans(WholeVectors):
    """The means of a tree."""

    def __init__(self, NCMTree tree not None, float64_t largest):
        cdef intp_t j
        super().__init__(tree.n_centroids, tree.n_features, largest)
        self.tree = tree
        with nogil:
            self._round(tree.means, tree.n_centroids, tree.n_features)
            for j in range(tree.n_centroids):
                self.error = fmax(self.error, self.moved[j])

    cdef intp_t leaf_of(
        self, WholeVectors rows, intp_t i, const float32_t* row
    ) noexcept nogil:
        cdef intp_t d = self.tree.n_features
        cdef intp_t width = self.width
        cdef const int16_t* vector = rows.vectors + i * width
        cdef int64_t square = rows.squares[i]
        # twice what a distance is wrong by, and more
        cdef float64_t wrong = 2.0 * (rows.moved[i] + self.error) * (1.0 + 1e-6)
        cdef intp_t node = 0
        cdef const CentroidTest* test
        cdef const int16_t* mean
        cdef int64_t least, second, distance
        cdef int32_t product
        cdef float64_t sure
        cdef intp_t place, best, f
        while True:
            test = &self.tree.tests[node]
            if test.n == 0:
                return node
            mean = self.vectors + test.first * width
            least = second = <int64_t> 1 << 40
            best = -1
            for place in range(test.first, test.first + test.n):
                product = 0
                for f in range(width):
                    product += <int32_t> vector[f] * <int32_t> mean[f]
                mean += width
                distance = self.squares[place] - 2 * <int64_t> product
                second = min(second, max(least, distance))
                best = place if distance < least else best
                least = min(least, distance)
            sure = sqrt(<float64_t> (least + square)) + wrong
            if not <float64_t> (second + square) > sure * sure:
                best = test.first + nearest(
                    row, self.tree.means + test.first * d, test.n, d
                )
            node = self.tree.first_child[node] + self.tree.sides[best]


cdef class WholeRows(WholeVectors):
    """Some rows."""

    def __init__(self, const float32_t[:, ::1] X not None, float64_t largest):
        super().__init__(X.shape[0], X.shape[1], largest)
        with nogil:
            self._round(&X[0, 0], X.shape[0], X.shape[1])
