"""Whether a split is decided, or a tie of two attributes."""

from libc.math cimport NAN, isnan, log, sqrt
from libc.string cimport memcpy, memset

from skconftree.tree.split._scan cimport weight_of
from skconftree.utils._typedefs cimport uint32_t

cdef enum:
    MOST_CELLS = 1048576    # of the joint counts; tests of more branches are not compared


cdef class RunnerUp:
    """Compares the test of a split with the best test of another attribute."""

    def __init__(self, Splitter splitter not None, NodeRows rows not None):
        self.splitter = splitter
        self.rows = rows
        self.by_logarithms = splitter.node.settings.criterion == "entropy"
        self.arena = Arena()

    cdef int compare(self, const NodeRecord* record, Split* split) except -1 nogil:
        cdef intp_t rival = split.evidence.rival_feature
        cdef Children* children = &self.splitter.tests.children
        cdef float64_t threshold = NAN
        if rival < 0 or split.rival_cut.place < 0:
            return 0
        self._take_sides(
            &self.first, split.feature, split.cut.place, split.threshold,
            &split.children,
        )
        if not self.splitter.tests.is_nominal(rival):
            threshold = self.splitter.tests.threshold(rival, split.rival_cut)
        self.splitter.tests.count_children(rival, split.rival_cut)
        self._take_sides(
            &self.second, rival, split.rival_cut.place, threshold, children
        )
        self.splitter.tests.count_children(split.feature, split.cut)
        split.children = children[0]
        split.evidence.z = self._z(record)
        return 0

    cdef int _take_sides(
        self, Sides* sides, intp_t feature, intp_t place, float64_t threshold,
        const Children* children,
    ) except -1 nogil:
        cdef Column* column
        sides.feature = feature
        sides.n_outcomes = children.n_outcomes
        sides.place = place
        sides.threshold = threshold
        sides.missing_left = children.missing_left
        sides.column = NULL
        sides.missing_code = -1
        sides.n_codes = 0
        if self.rows.is_sparse(feature):
            return 0
        column = &self.rows.columns[feature]
        if children.ordinals != NULL:
            # the next test that is counted overwrites them
            sides.ordinals = <int16_t*> self.arena.resize(
                sides.ordinals, children.n_codes, sizeof(int16_t)
            )
            memcpy(
                sides.ordinals, children.ordinals, children.n_codes * sizeof(int16_t)
            )
            sides.n_codes = children.n_codes
            sides.unknown = children.unknown
            sides.column = column
        elif column.order == NULL:
            sides.column = column
            if column.has_missing:
                sides.missing_code = column.n_levels - 1
        return 0

    cdef inline intp_t _side(
        self, const Sides* sides, intp_t i, intp_t row
    ) noexcept nogil:
        # The child of the row that lies at i in the order of the node.
        cdef intp_t code
        cdef float64_t value
        if sides.column == NULL:
            value = self.rows.value(row, sides.feature)
            if isnan(value):
                return not sides.missing_left
            return value > sides.threshold
        if sides.column.codes != NULL:
            code = sides.column.codes[i]
        else:
            code = sides.column.wide[i]
        if sides.n_codes > 0:
            code = sides.ordinals[code] if code < sides.n_codes else -1
            return code if code >= 0 else sides.unknown
        if code == sides.missing_code:
            return not sides.missing_left
        return code > sides.place

    cdef float64_t _z(self, const NodeRecord* record) except? -1.0 nogil:
        cdef intp_t K = self.splitter.node.n_classes
        cdef intp_t a = self.first.n_outcomes
        cdef intp_t b = self.second.n_outcomes
        cdef const uint32_t* order = NULL
        cdef const float64_t* others
        cdef float64_t n = 0.0
        cdef float64_t total = 0.0
        cdef float64_t squares = 0.0
        cdef float64_t w, difference
        cdef intp_t i, j, c, row, cell
        if a * b * K > MOST_CELLS:
            return NAN
        if a * b * K > self.room:
            self.room = 0
            self.joint = <float64_t*> self.arena.resize(
                self.joint, a * b * K, sizeof(float64_t)
            )
            # a + b is at most a * b + 1, whatever pairs the room has to hold later
            self.parts = <float64_t*> self.arena.resize(
                self.parts, (a * b + 1) * K, sizeof(float64_t)
            )
            self.room = a * b * K
        memset(self.joint, 0, a * b * K * sizeof(float64_t))
        # codes lie as the ids do, which stay as they were where all features are sorted
        if (
            self.first.column == NULL and self.second.column == NULL
            and not self.rows.is_sparse(self.first.feature)
        ):
            order = self.rows.columns[self.first.feature].order
        for i in range(record.start, record.end):
            row = order[i] >> 1 if order != NULL else self.rows.ids[i]
            if self.rows.y[row] == K:
                continue
            cell = self._side(&self.first, i, row) * b
            cell += self._side(&self.second, i, row)
            self.joint[cell * K + self.rows.y[row]] += weight_of(
                self.rows.count, self.rows.weight, row
            )
        self._take_parts(self.parts, a, b * K, b, K)
        self._take_parts(self.parts + a * K, b, K, a, b * K)
        others = self.parts + a * K
        for i in range(a):
            for j in range(b):
                for c in range(K):
                    w = self.joint[(i * b + j) * K + c]
                    if w > 0.0:
                        difference = self.parts[i * K + c] - others[j * K + c]
                        n += w
                        total += w * difference
                        squares += w * difference * difference
        squares = squares / n - (total / n) * (total / n)
        if squares <= 1e-14:    # both part the rows in the same way
            return 0.0
        return total / sqrt(squares * n)

    cdef void _take_parts(
        self, float64_t* parts, intp_t n_outcomes, intp_t step, intp_t n_others,
        intp_t step_others,
    ) noexcept nogil:
        cdef intp_t K = self.splitter.node.n_classes
        cdef float64_t n, squares
        cdef float64_t* own
        cdef intp_t i, j, c
        for i in range(n_outcomes):
            own = parts + i * K
            n = 0.0
            squares = 0.0
            for c in range(K):
                own[c] = 0.0
                for j in range(n_others):
                    own[c] += self.joint[i * step + j * step_others + c]
                n += own[c]
            if n == 0.0:
                continue
            for c in range(K):
                own[c] /= n
                squares += own[c] * own[c]
            for c in range(K):
                if self.by_logarithms:
                    own[c] = log(own[c]) if own[c] > 0.0 else 0.0
                else:
                    own[c] = 2.0 * own[c] - squares
