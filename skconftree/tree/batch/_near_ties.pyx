"""Comparison of a split with the best splits of other features.

Competitors are the best splits of other features; the best one is the runner-up. It is a near
tie if the difference of the gains is small compared with its standard error. That is computed
from the influence of each row on the gain: the change of the gain, per row, if the row
occurred once more. The outcome of a split for a row is the index of the child; a cell is a
combination of outcomes, one of each compared split. A tally has the class weights of each cell.
The code of a value is its rank or bin in the feature. K is the number of classes, P that of the
classes present in the node, a that of the outcomes of the split, and b that of the outcomes of a
competitor. The position of a split is the largest code of its first child or, if the feature is
sorted, the number of rows of that child. Rows in node order are arranged so that a node is a
range. `order` has the rows as entries (row << 1) | bit, in the order of a feature. See
_near_ties.pxd.
"""

from libc.math cimport isnan, log, sqrt
from libc.string cimport memset

from skconftree.tree.split._scan cimport sum_of
from skconftree.tree.nodes._node_table cimport no_competitor
from skconftree.tree.split._split cimport Cut
from skconftree.utils._typedefs cimport float32_t, label_t, uint64_t, uint8_t

cdef enum:
    CHUNK = 256             # rows per pass: their values stay in the cache for all splits
    MAX_CELLS_AT_ONCE = 4096  # cells times classes; with more, one competitor is counted at a time
    MAX_PAIR_CELLS = 1048576  # of a pair; splits with more branches are not compared


cdef class RunnerUp:
    """Compares the split of a node with the best splits of other features.

    Only nodes with at least the weight `min_weight` are compared.
    """

    def __init__(
        self, Splitter splitter not None, NodeRows rows not None, float64_t min_weight=0.0
    ):
        self.splitter = splitter
        self.candidates = splitter.candidates
        self.rows = rows
        self.min_weight = min_weight
        # influences on the gain of entropy, otherwise on that of Gini
        self.by_logarithms = splitter.node.settings.criterion == "entropy"
        self.arena = Arena()
        self.cells = <int32_t*> self.arena.take(CHUNK, sizeof(int32_t))
        self.pair = <float64_t*> self.arena.take(4 * splitter.node.n_classes, sizeof(float64_t))
        self.present = <int32_t*> self.arena.take(splitter.node.n_classes, sizeof(int32_t))

    cdef int compare(self, const NodeRecord* record, Split* split) except -1 nogil:
        cdef Children* children = &self.candidates.children
        cdef intp_t K = self.splitter.node.n_classes
        cdef bint counted = False
        cdef intp_t n_cells = split.children.n_outcomes
        cdef intp_t n = 0, i
        for i in range(MAX_STORED_COMPETITORS):
            self.competitors[i] = no_competitor()
        # the splitter has found n competitors; -1 is none
        while (
            n < MAX_STORED_COMPETITORS and split.competitors[n].feature >= 0
            and split.competitors[n].cut.position >= 0
        ):
            n += 1
        if n == 0 or self.splitter.node.n < self.min_weight:
            return 0
        self.n_present = 0
        for i in range(K):
            if self.splitter.node.counts[i] > 0.0:
                self.present[self.n_present] = <int32_t> i
                self.n_present += 1
        _set_sides(
            self, &self.splits[0], split.feature, split.cut.position, split.threshold,
            &split.children,
        )
        for i in range(n):
            self._set_competitor(i, split.competitors[i].feature, split, &counted)
            n_cells = min(n_cells, <intp_t> MAX_PAIR_CELLS) * self.splits[i + 1].n_outcomes
        self.order = self.rows.columns[self.splits[0].feature].order
        for i in range(n + 1):
            if self.splits[i].column != NULL or self.rows.is_sparse(self.splits[i].feature):
                self.order = NULL
        if counted:
            self.candidates.count_children(split.feature, split.cut)
            split.children = children[0]
        if n_cells * (K + 1) <= MAX_CELLS_AT_ONCE:
            _compare_with(self, record, 0, n)
        else:
            for i in range(n):
                _compare_with(self, record, i, 1)
        split.evidence.runner_up_z = self.competitors[0].z
        return 0

    cdef int _set_competitor(
        self, intp_t index, intp_t feature, const Split* split, bint* counted
    ) except -1 nogil:
        # Set the Sides of a competitor. Its children are counted if necessary.
        cdef Sides* sides = &self.splits[index + 1]
        cdef Competitor* competitor = &self.competitors[index]
        cdef Cut cut = split.competitors[index].cut
        cdef Children binary
        cdef intp_t code
        competitor.feature = <int32_t> feature
        if not self.candidates.is_nominal(feature):
            competitor.threshold = self.candidates.threshold(feature, cut)
            # exact without fractional weights: sums of fractions depend on their order
            if self.rows.weight == NULL and not (
                self.rows.is_sparse(feature) or self.rows.columns[feature].has_missing
            ):
                binary.n_outcomes = 2
                binary.child_of_code = NULL
                binary.missing_left = False
                competitor.n_children = 2
                return _set_sides(
                    self, sides, feature, cut.position, competitor.threshold, &binary,
                )
        counted[0] = True
        self.candidates.count_children(feature, cut)
        competitor.n_children = <int16_t> self.candidates.children.n_outcomes
        competitor.missing_left = self.candidates.children.missing_left
        # some rows of the node miss the value
        competitor.missing_seen = self.candidates.children.missing_seen
        competitor.gain = _gain(self, &self.candidates.children)
        # bits of `left`: which of the first 64 categories go left
        for code in range(min(self.candidates.children.n_codes, <intp_t> 64)):
            if self.candidates.children.child_of_code[code] == 0:
                competitor.left |= (<uint64_t> 1) << code
        return _set_sides(
            self, sides, feature, cut.position, competitor.threshold, &self.candidates.children,
        )

    cdef int _reserve(self, intp_t n_cells, intp_t n_pairs) except -1 nogil:
        cdef intp_t K = self.splitter.node.n_classes
        if n_cells > self.tally_capacity:
            self.tally_capacity = 0
            if self.rows.weight == NULL:
                self.int_tally = <int32_t*> self.arena.resize(
                    self.int_tally, n_cells * (K + 1), sizeof(int32_t)
                )
            else:
                self.tally = <float64_t*> self.arena.resize(
                    self.tally, n_cells * (K + 1), sizeof(float64_t)
                )
            self.tally_capacity = n_cells
        if n_pairs > self.pair_capacity:
            self.pair_capacity = 0
            self.joint = <float64_t*> self.arena.resize(self.joint, n_pairs * K, sizeof(float64_t))
            # a + b <= a * b + 1 for the numbers of outcomes a and b of a pair
            self.influences = <float64_t*> self.arena.resize(
                self.influences, (n_pairs + 1) * K, sizeof(float64_t)
            )
            self.pair_capacity = n_pairs
        return 0

    cdef void _count_cells(
        self, const NodeRecord* record, intp_t first, intp_t n, intp_t n_cells
    ) noexcept nogil:
        cdef intp_t width = self.splitter.node.n_classes + 1
        cdef const int32_t* count = NULL
        cdef const float64_t* weight = NULL
        cdef const label_t* y
        cdef const uint32_t* order = self.order
        cdef int32_t* cells = self.cells
        cdef intp_t begin, size, i, k, row
        if self.rows.weight == NULL:
            memset(self.int_tally, 0, n_cells * width * sizeof(int32_t))
        else:
            memset(self.tally, 0, n_cells * width * sizeof(float64_t))
        begin = record.start
        while begin < record.end:
            size = min(record.end - begin, <intp_t> CHUNK)
            memset(cells, 0, size * sizeof(int32_t))
            _add_sides(self, &self.splits[0], record, begin, size)
            for k in range(first, first + n):
                _add_sides(self, &self.splits[k + 1], record, begin, size)
            if order == NULL:
                y = self.rows.node_y + begin
                if self.rows.node_count != NULL:
                    count = self.rows.node_count + begin
                if self.rows.node_weight != NULL:
                    weight = self.rows.node_weight + begin
                if self.rows.weight != NULL:
                    for i in range(size):
                        self.tally[cells[i] * width + y[i]] += weight[i]
                elif self.rows.count != NULL:
                    for i in range(size):
                        self.int_tally[cells[i] * width + y[i]] += count[i]
                else:
                    for i in range(size):
                        self.int_tally[cells[i] * width + y[i]] += 1
            else:
                for i in range(size):
                    row = order[begin + i] >> 1
                    if self.rows.weight != NULL:
                        self.tally[cells[i] * width + self.rows.y[row]] += (self.rows.weight[row])
                    else:
                        self.int_tally[cells[i] * width + self.rows.y[row]] += (
                            self.rows.count[row] if self.rows.count != NULL else 1
                        )
            begin += size

cdef int _set_sides(
    RunnerUp runner_up, Sides* sides, intp_t feature, intp_t position, float64_t threshold,
    const Children* children,
) except -1 nogil:
    # Set all fields of `sides`, the outcomes of the rows for one split.
    cdef Column* column
    cdef intp_t code
    sides.feature = feature
    sides.n_outcomes = children.n_outcomes
    sides.position = position
    sides.threshold = threshold
    sides.missing_left = children.missing_left
    sides.column = NULL         # without codes: values are compared with the threshold
    sides.missing_code = -1     # no code stands for a missing value
    sides.nominal = children.child_of_code != NULL
    if runner_up.rows.is_sparse(feature):
        return 0
    column = &runner_up.rows.columns[feature]
    if sides.nominal:
        # copied, because count_children() of the next split overwrites them
        sides.child_of_code = <int16_t*> runner_up.arena.resize(
            sides.child_of_code, column.n_levels, sizeof(int16_t)
        )
        for code in range(column.n_levels):
            sides.child_of_code[code] = <int16_t> children.unknown
            if code < children.n_codes and children.child_of_code[code] >= 0:
                sides.child_of_code[code] = children.child_of_code[code]
        sides.column = column
    elif column.order == NULL:
        sides.column = column
        if column.has_missing:
            sides.missing_code = column.n_levels - 1
    return 0


cdef int _compare_with(
    RunnerUp runner_up, const NodeRecord* record, intp_t first, intp_t n
) except -1 nogil:
    # Compare the split with n of the competitors, which are counted together.
    cdef intp_t P = runner_up.n_present
    cdef intp_t a = runner_up.splits[0].n_outcomes
    cdef intp_t n_cells = a
    cdef intp_t n_pairs = a
    cdef intp_t step = 1, i, b
    for i in range(first, first + n):
        b = runner_up.splits[i + 1].n_outcomes
        n_pairs = max(n_pairs, a * b)
        n_cells *= b
    if n_cells * (runner_up.splitter.node.n_classes + 1) > MAX_PAIR_CELLS:
        return 0
    runner_up._reserve(n_cells, n_pairs)
    runner_up._count_cells(record, first, n, n_cells)
    for i in range(first + n - 1, first - 1, -1):
        b = runner_up.splits[i + 1].n_outcomes
        _count_pairs(runner_up, n_cells, step, b, runner_up.rows.weight == NULL)
        if isnan(runner_up.competitors[i].gain):  # not set yet
            _set_gain(runner_up, &runner_up.competitors[i], a)
        if step == 1:
            _set_influences(runner_up, runner_up.influences, a, b * P, b, P)
        runner_up.competitors[i].z = _z(runner_up, a, b)
        step *= b
    return 0


cdef void _add_sides(
    RunnerUp runner_up, const Sides* sides, const NodeRecord* record, intp_t begin, intp_t n
) noexcept nogil:
    # Update the index of the cell of n rows by their outcomes.
    cdef int32_t* cells = runner_up.cells
    cdef int32_t b = <int32_t> sides.n_outcomes
    cdef const int16_t* child_of_code = sides.child_of_code
    cdef const uint8_t* codes
    cdef const label_t* codes16
    cdef uint8_t position, missing
    cdef bint right
    cdef intp_t i
    if sides.column == NULL:
        _add_values(runner_up, sides, record, begin, n)
        return
    if sides.column.codes == NULL:      # a nominal feature with codes of two bytes
        codes16 = sides.column.codes16 + begin
        for i in range(n):
            cells[i] = cells[i] * b + child_of_code[codes16[i]]
        return
    codes = sides.column.codes + begin
    if sides.nominal:
        for i in range(n):
            cells[i] = cells[i] * b + child_of_code[codes[i]]
        return
    position = <uint8_t> sides.position
    if sides.missing_code < 0:
        for i in range(n):
            cells[i] = 2 * cells[i] + (codes[i] > position)
        return
    missing = <uint8_t> sides.missing_code
    right = not sides.missing_left
    for i in range(n):
        cells[i] = 2 * cells[i] + (right if codes[i] == missing else codes[i] > position)


cdef void _add_values(
    RunnerUp runner_up, const Sides* sides, const NodeRecord* record, intp_t begin, intp_t n
) noexcept nogil:
    # As _add_sides, for a feature without codes.
    cdef const uint32_t* ids = runner_up.rows.ids
    cdef const uint32_t* order = runner_up.order
    cdef const float32_t* values
    cdef int32_t* cells = runner_up.cells
    cdef bint right = not sides.missing_left
    cdef intp_t stride = runner_up.rows.stride
    cdef float64_t value
    cdef intp_t i, row
    if runner_up.rows.sparse_columns == NULL and (
        not runner_up.rows.columns[sides.feature].has_missing
    ):
        values = runner_up.rows.columns[sides.feature].values
        if order == NULL:
            for i in range(begin, begin + n):
                cells[i - begin] = 2 * cells[i - begin] + (
                    values[ids[i] * stride] > sides.threshold
                )
        elif sides.feature == runner_up.splits[0].feature:    # `order` is that of this feature
            for i in range(n):
                cells[i] = begin + i >= record.start + sides.position
        else:
            for i in range(begin, begin + n):
                cells[i - begin] = 2 * cells[i - begin] + (
                    values[(order[i] >> 1) * stride] > sides.threshold
                )
        return
    for i in range(n):
        row = ids[begin + i] if order == NULL else order[begin + i] >> 1
        value = runner_up.rows.value(row, sides.feature)
        cells[i] = 2 * cells[i] + (right if isnan(value) else value > sides.threshold)


cdef void _count_pairs(
    RunnerUp runner_up, intp_t n_cells, intp_t step, intp_t b, bint are_integers
) noexcept nogil:
    # Set `joint`: weights of the present classes by the outcomes of the split and of the
    # competitor with b outcomes; each of its outcomes has `step` adjacent cells.
    cdef const int32_t* present = runner_up.present
    cdef intp_t P = runner_up.n_present
    cdef intp_t width = runner_up.splitter.node.n_classes + 1
    cdef intp_t a = runner_up.splits[0].n_outcomes
    cdef intp_t cells_per_outcome = n_cells // a
    cdef float64_t* joint
    cdef intp_t cell, c
    memset(runner_up.joint, 0, a * b * P * sizeof(float64_t))
    for cell in range(n_cells):
        joint = runner_up.joint + ((cell // cells_per_outcome) * b + (cell // step) % b) * P
        if are_integers:
            for c in range(P):
                joint[c] += runner_up.int_tally[cell * width + present[c]]
        else:
            for c in range(P):
                joint[c] += runner_up.tally[cell * width + present[c]]


cdef float64_t _gain(RunnerUp runner_up, const Children* children) noexcept nogil:
    # Impurity decrease; _improvement() multiplies it by the share of the node in the tree.
    return runner_up.splitter._improvement(children) * (
        runner_up.splitter.total_weight / runner_up.splitter.node.reweighted.n
    )


cdef void _set_gain(RunnerUp runner_up, Competitor* competitor, intp_t a) noexcept nogil:
    # Set the gain of a competitor with two outcomes, from the joint outcomes.
    cdef intp_t K = runner_up.splitter.node.n_classes
    cdef intp_t P = runner_up.n_present
    cdef Children children
    cdef intp_t i, c, side
    children.n_outcomes = 2
    children.counts = runner_up.pair
    children.scaled = runner_up.pair + 2 * K    # scratch for counts with class weights
    memset(runner_up.pair, 0, 2 * K * sizeof(float64_t))
    for i in range(a):
        for side in range(2):
            for c in range(P):
                runner_up.pair[side * K + runner_up.present[c]] += (
                    runner_up.joint[(2 * i + side) * P + c]
                )
    # no row misses the value: later ones go to the larger child
    competitor.missing_left = sum_of(runner_up.pair, K) > sum_of(runner_up.pair + K, K)
    competitor.gain = _gain(runner_up, &children)


cdef float64_t _z(RunnerUp runner_up, intp_t a, intp_t b) noexcept nogil:
    # Difference of the two gains divided by its standard error.
    cdef intp_t P = runner_up.n_present
    cdef const float64_t* others = runner_up.influences + a * P
    cdef float64_t n = 0.0, total = 0.0, squares = 0.0, w, difference
    cdef intp_t i, j, c
    _set_influences(runner_up, runner_up.influences + a * P, b, P, a, b * P)
    for i in range(a):
        for j in range(b):
            for c in range(P):
                w = runner_up.joint[(i * b + j) * P + c]
                if w > 0.0:
                    difference = runner_up.influences[i * P + c] - others[j * P + c]
                    n += w
                    total += w * difference
                    squares += w * difference * difference
    squares = squares / n - (total / n) * (total / n)
    if squares <= 1e-14:    # 0 up to rounding: both splits have the same children
        return 0.0
    return total / sqrt(squares * n)


cdef void _set_influences(
    RunnerUp runner_up, float64_t* influences, intp_t n_outcomes, intp_t step, intp_t n_others,
    intp_t step_others,
) noexcept nogil:
    # Set the influences of the rows on the gain of one split, by outcome and class, from the
    # joint outcomes. The steps are distances in `joint` between two outcomes of this split, and of
    # the other one.
    cdef intp_t P = runner_up.n_present
    cdef float64_t n, squares
    cdef float64_t* shares
    cdef intp_t i, j, c
    for i in range(n_outcomes):
        shares = influences + i * P
        n = 0.0
        squares = 0.0
        for c in range(P):
            shares[c] = 0.0
            for j in range(n_others):
                shares[c] += runner_up.joint[i * step + j * step_others + c]
            n += shares[c]
        if n == 0.0:
            continue
        for c in range(P):
            shares[c] /= n
            squares += shares[c] * shares[c]
        for c in range(P):
            if runner_up.by_logarithms:
                shares[c] = log(shares[c]) if shares[c] > 0.0 else 0.0
            else:
                shares[c] = 2.0 * shares[c] - squares
