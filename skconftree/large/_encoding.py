"""Bins and categories of columns from counts that are summed over parts.

A part is a block of rows of the table. Encoding replaces the values of a column by
codes: indices of its bins, categories or distinct values. The levels of a column are
the largest values of its codes, and the lower edges are the smallest ones; both are the
same if each code has a single value. A `Coder` maps values to codes.

The bins are the same as those of a table in memory, which are computed from all sorted
values. Here, they are computed from counts of values in cells, in up to three passes:
first in 65,536 cells, one for each combination of the upper 16 ordered bits of a value;
then twice in 256 subcells of each cell that contains a boundary between bins. Ordered
bits are 32-bit integers in the order of the values.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from ..tables._content_order import hash_rows
from ..tables._features import (
    MISSING,
    SMALL_N_CATEGORIES,
    CategoryMap,
    Features,
    sort_categories,
)
from ..tables._frames import Table, mixed_kinds_message
from ..tables._growth_data import CodedColumn
from ..tables._schema import Schema
from ._coded_part import (
    NAN_BITS,
    CodedPart,
    Coder,
    bins_of,
    count_cells,
    distinct_values,
    values_of,
)
from ._steps import make_arrays

# Of each pass: number of leading bits that select a cell to divide (its prefix), and
# number of following bits that select a subcell.
STAGES = ((0, 16), (16, 8), (24, 8))
ROWS_CHANGED = (
    "The rows changed between two passes. The data must not change during fit."
)
MAX_BITS = np.iinfo(np.uint32).max  # initial `lowest` of a cell without values
MAX_VALUES = 256  # number of values of a column without bins


class Cells(NamedTuple):
    """Counts of values in cells, and the smallest and largest value of each.

    Values are ordered bits.
    """

    counts: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @classmethod
    def empty(cls, n_prefixes, next_bits):
        """Return empty cells."""
        shape = (n_prefixes, 1 << next_bits)
        return cls(
            np.zeros(shape, np.int64),
            np.full(shape, MAX_BITS, np.uint32),
            np.zeros(shape, np.uint32),
        )

    def add(self, cells, others):
        """Add the counts and limits of `others`, cells with these indices."""
        counts, lowest, highest = (array.reshape(-1) for array in self)
        counts[cells] += others.counts
        lowest[cells] = np.minimum(lowest[cells], others.lowest)
        highest[cells] = np.maximum(highest[cells], others.highest)

    def joined(self, other):
        """Return the cells of both objects in the order of their values."""
        both = [np.concatenate(pair) for pair in zip(self, other, strict=True)]
        order = np.argsort(both[1], kind="stable")
        return Cells(*(array[order] for array in both))


class DistinctValues(NamedTuple):
    """Distinct values of a column, as ordered bits, and the number of rows of each."""

    bits: np.ndarray
    counts: np.ndarray

    def joined(self, other):
        """Return the values of both objects with the sums of their counts."""
        bits, index = np.unique(
            np.concatenate([self.bits, other.bits]), return_inverse=True
        )
        counts = np.zeros(len(bits), np.int64)
        np.add.at(counts, index, np.concatenate([self.counts, other.counts]))
        return DistinctValues(bits, counts)

    @property
    def n_missing(self):
        """Number of missing values."""
        return int(self.counts[self.bits == NAN_BITS].sum())

    def as_cells(self):
        """Return one cell per value, without NaN."""
        present = self.bits != NAN_BITS
        return Cells(self.counts[present], self.bits[present], self.bits[present])


class ColumnCounts(NamedTuple):
    """Counts of the values of a column in some parts.

    `distinct` has the distinct values of the column and their counts. It is None if
    there are more than 256 values or if an earlier pass has counted them. Then
    `occupied` has one bit per cell, which is set if the cell contains values, and
    `cells` has the counts of the occupied cells in order. If `occupied` and `cells` are
    None, too, another pass counts the values. `is_whole` is whether all values are
    integers.
    """

    distinct: DistinctValues | None
    occupied: np.ndarray | None
    cells: Cells | None
    n_missing: int
    is_whole: bool


class ValueCounter:
    """Counter of the values of a column, part by part; in cells if there are many.

    `query` has what the present pass over the table is to count.
    """

    def __init__(self, query):
        self.query = query
        self.distinct, self.cells, self.n_missing = None, None, 0
        self.is_whole = True
        if query.n_prefix_bits == 0:
            nothing = np.zeros(0, np.uint32), np.zeros(0, np.int64)
            self.distinct = DistinctValues(*nothing)
        else:
            self._make_cells()

    def count(self, X, feature):
        """Add the values of rows."""
        column = X[:, feature]
        self.is_whole = self.is_whole and np.array_equal(
            column, np.floor(column), equal_nan=True
        )
        if self.distinct is not None:
            values = distinct_values(X, feature)  # None if there are more than 256
            if values is not None:
                self._join_distinct(DistinctValues(*values))
                return
            self._count_in_cells()
        if self.cells is None:
            return
        query = self.query
        self.n_missing += count_cells(
            X,
            feature,
            query.first,
            query.prefixes,
            query.n_prefix_bits,
            query.next_bits,
            *self.cells,
        )

    def add(self, counted):
        """Add the values of other parts."""
        self.is_whole = self.is_whole and counted.is_whole
        if counted.distinct is not None and self.distinct is not None:
            self._join_distinct(counted.distinct)
            return
        if self.distinct is not None:
            self._count_in_cells()
        if self.cells is None:
            return
        if counted.distinct is not None:
            self._move_to_cells(counted.distinct)
        else:
            # `occupied` has one bit per cell
            is_used = np.unpackbits(counted.occupied, count=self.cells.counts.size)
            self.cells.add(np.flatnonzero(is_used), counted.cells)
            self.n_missing += counted.n_missing

    def result(self):
        """Return the counts without empty cells."""
        if self.cells is None:
            return ColumnCounts(
                self.distinct, None, None, self.n_missing, self.is_whole
            )
        is_used = self.cells.counts.ravel() > 0
        cells = Cells(*(array.ravel()[is_used] for array in self.cells))
        return ColumnCounts(
            None, np.packbits(is_used), cells, self.n_missing, self.is_whole
        )

    def _make_cells(self):
        query = self.query
        n_prefixes = max(len(query.prefixes), 1)
        self.cells = Cells.empty(n_prefixes, query.next_bits)

    def _join_distinct(self, others):
        joined = self.distinct.joined(others)
        if len(joined.bits) <= MAX_VALUES:
            self.distinct = joined
        else:
            self._count_in_cells()
            if self.cells is not None:
                self._move_to_cells(others)

    def _count_in_cells(self):
        distinct, self.distinct = self.distinct, None
        if self.query.has_cells:
            self._make_cells()
            self._move_to_cells(distinct)

    def _move_to_cells(self, distinct):
        # Add distinct values to the cells of the first pass.
        self.n_missing += distinct.n_missing
        shift = np.uint32(32 - self.query.next_bits)
        for count, bits, _ in zip(*distinct.as_cells(), strict=True):
            cell = Cells(*(np.array([value]) for value in (count, bits, bits)))
            self.cells.add(np.array([bits >> shift]), cell)


class CellQuery(NamedTuple):
    """The cells of a column that a pass divides and counts.

    `prefixes` are the leading `n_prefix_bits` ordered bits of the values in each of
    these cells, and `next_bits` further bits select a subcell. Values whose upper 16
    bits are h have the prefixes from index first[h] to first[h + 1]. In the first pass,
    there are no prefixes, and cells are counted only if `has_cells`.
    """

    n_prefix_bits: int
    next_bits: int
    prefixes: np.ndarray
    first: np.ndarray
    has_cells: bool = True

    @classmethod
    def of_all(cls, has_cells):
        """Return the query of the first pass."""
        n_prefix_bits, next_bits = STAGES[0]
        nothing = np.zeros(0, np.uint32), np.zeros(0, np.int32)
        return cls(n_prefix_bits, next_bits, *nothing, has_cells)

    @classmethod
    def at(cls, stage, prefixes):
        """Return the query of a later pass."""
        n_prefix_bits, next_bits = STAGES[stage]
        upper_16_bits = prefixes >> np.uint32(max(n_prefix_bits - 16, 0))
        first = np.searchsorted(upper_16_bits, np.arange((1 << 16) + 1))
        return cls(n_prefix_bits, next_bits, prefixes, first.astype(np.int32))


class ColumnValues:
    """Statistics of a numeric column, collected pass by pass until it can be encoded.

    The column is divided into at most `max_bins` bins, or is not divided if `max_bins`
    is 0. If the column has many values, cells are counted from the first pass on with
    `has_cells`, and from a later pass on without it.
    """

    def __init__(self, max_bins, has_cells=True):
        self.max_bins = max_bins
        self.n_missing, self.is_whole = 0, True
        self.query = CellQuery.of_all(has_cells and max_bins > 0)
        self.has_code_per_value = False  # whether each value has its own code
        self._stage = 0  # index of the pass in `STAGES`
        self._cells = self._bins = None  # sorted cells; the result of `bins`

    def learn(self, counted):
        """Add the counts of a pass, and set `query` for the next pass (None: done)."""
        self.query = None
        self.is_whole = self.is_whole and counted.is_whole
        if counted.distinct is not None:
            distinct, self.n_missing = counted.distinct, counted.distinct.n_missing
            n_values = len(distinct.bits) - (self.n_missing > 0)
            self.has_code_per_value = not self.max_bins or n_values <= self.max_bins
            self._cells = distinct.as_cells()
        elif counted.cells is None:
            if self.max_bins:
                self.query = CellQuery.of_all(has_cells=True)
            return
        elif self._cells is None:
            self.n_missing, self._cells = counted.n_missing, counted.cells
        else:
            self._cells = self._cells.joined(counted.cells)
        if not self.has_code_per_value:
            self._divide_cells()
        if self.query is None:
            # the cells take much more memory than the bins
            self._bins, self._cells = self._compute_bins(), None

    def _divide_cells(self):
        # Set the query of the cells that contain a boundary of bins.
        n, lowest, highest = self._cells
        below = np.cumsum(n) - n
        # the bins of the smallest and of the largest value of each cell, from the
        # numbers of smaller values, of equal values and of all values
        low = bins_of(below, np.ones_like(n), n.sum(), self.max_bins)
        high = bins_of(below + n - 1, np.ones_like(n), n.sum(), self.max_bins)
        has_boundary = (lowest < highest) & (low < high)
        if has_boundary.any():
            self._stage += 1
            # in the last pass, a cell is a single value unless the rows have changed
            if self._stage == len(STAGES):
                raise RuntimeError(ROWS_CHANGED)
            n_prefix_bits = STAGES[self._stage][0]
            prefixes = lowest[has_boundary] >> np.uint32(32 - n_prefix_bits)
            self.query = CellQuery.at(self._stage, prefixes)
            self._cells = Cells(*(array[~has_boundary] for array in self._cells))

    def bins(self):
        """Return lower edges and levels of the codes, as ordered bits, without NaN."""
        return self._bins

    def _compute_bins(self):
        n, lowest, highest = self._cells
        if self.has_code_per_value:
            return lowest, lowest
        below = np.cumsum(n) - n
        bins = bins_of(below, n, n.sum(), self.max_bins)
        # all values of a cell with several of them are in one bin
        several = lowest < highest
        weight = np.ones(several.sum(), np.int64)
        bins[several] = bins_of(below[several], weight, n.sum(), self.max_bins)
        first = np.flatnonzero(np.diff(bins, prepend=-1))
        return lowest[first], highest[np.append(first[1:], len(bins)) - 1]

    def coder(self):
        """Return a function that creates the `Coder`.

        The function takes less memory than the coder and is sent to workers.
        """
        lower_edges, _ = self.bins()
        # the last argument: the code of missing values, -1 if there are none
        return partial(Coder, lower_edges, len(lower_edges) if self.n_missing else -1)

    def column(self, codes):
        """Return the column as codes."""
        lower_edges, levels = self.bins()
        if self.n_missing:
            lower_edges, levels = (
                np.append(bits, np.uint32(NAN_BITS)) for bits in (lower_edges, levels)
            )
        return CodedColumn(
            codes,
            len(levels),
            values_of(levels),
            None if self.has_code_per_value else values_of(lower_edges),
            self.n_missing > 0,
        )


def count_values(column, max_bins):
    """Return the counts of all values of a column in memory."""
    known = column[~np.isnan(column)]
    n_missing = len(column) - len(known)
    is_whole = bool((known == np.floor(known)).all())
    known = np.sort(known + np.float32(0.0))  # 0 instead of -0
    first = np.flatnonzero(np.append(len(known) > 0, known[1:] != known[:-1]))
    counts = np.diff(first, append=len(known))
    bits = known[first].view(np.uint32)
    bits = np.where(bits >> np.uint32(31) == 1, ~bits, bits | np.uint32(1 << 31))
    if n_missing:
        bits = np.append(bits, np.uint32(NAN_BITS))
        counts = np.append(counts, n_missing)
    values = DistinctValues(bits, counts)
    if not max_bins and len(bits) > MAX_VALUES:
        values = None
    return ColumnCounts(values, None, None, 0, is_whole)


# Number of rows that are processed at a time, column by column. With fewer rows, the
# cells of a column are evicted from the cache more often; with more rows, the values
# are.
CACHED_ROWS = 131_072


class Reader(NamedTuple):
    """Reads the rows of a part with the schema of the whole table.

    `caller` is the name of the estimator, for errors.
    """

    schema: Schema
    caller: str

    def of_columns(self, columns):
        """Return a reader of some columns, given by their indices."""
        return Reader(self.schema.of_columns(columns), self.caller)

    def read(self, frame, mask=None):
        """Return the rows of a part as float32, or only those of a mask."""
        if frame.shape[0]:
            # validates rows and converts them, as before a prediction
            X = self.schema.predict(frame, self.caller).X
        else:
            X = np.empty((0, self.schema.n_features), np.float32)
        return X if mask is None else X[mask]


def hash_part(reader, frame, labels, mask=None):
    """Return the number of rows of a part, and the hashes of the rows of a mask.

    Rows are identified by the hashes of their values and label.
    """
    labels = labels if mask is None else labels[mask]
    return frame.shape[0], hash_rows(reader.read(frame, mask), labels)


class Counting(NamedTuple):
    """Task that counts values of columns.

    `queries` has the `CellQuery` of each column, by its index among the columns read.
    """

    reader: Reader
    queries: dict

    def start(self):
        """Return empty counts."""
        return {j: ValueCounter(query) for j, query in self.queries.items()}

    def count(self, values, frame, mask=None):
        """Add the rows of a part."""
        X = self.reader.read(frame, mask)
        for start in range(0, len(X), CACHED_ROWS):
            rows = X[start : start + CACHED_ROWS]
            for j, column_values in values.items():
                column_values.count(rows, j)

    def join(self, values, counted):
        """Add the counts of other parts."""
        for j, column_values in counted.items():
            values[j].add(column_values)

    @staticmethod
    def result(values):
        """Return the counts of each column without empty cells."""
        return {j: column_values.result() for j, column_values in values.items()}


class Coding(NamedTuple):
    """Function that encodes the rows of a part.

    `coders` has a function per numeric column that creates its `Coder`. It is sent to
    the workers, where `with_coders` calls these functions.
    """

    coders: dict
    dtypes: list

    def of_columns(self, columns):
        """Return the coding of some columns, given by their indices."""
        coders = {k: self.coders[j] for k, j in enumerate(columns) if j in self.coders}
        return Coding(coders, [self.dtypes[j] for j in columns])

    def with_coders(self):
        """Return a copy in which the coders have been created."""
        return self._replace(coders={j: make() for j, make in self.coders.items()})

    def __call__(self, X):
        return [self._code(X, j) for j in range(X.shape[1])]

    def _code(self, X, j):
        if j in self.coders:
            codes = np.empty(len(X), np.uint8)
            if not self.coders[j].code(X, j, codes):
                raise RuntimeError(ROWS_CHANGED)
            return codes
        codes = X[:, j]
        if (codes < 0.0).any():
            raise RuntimeError(ROWS_CHANGED)
        return codes.astype(self.dtypes[j])


COLUMNS_AT_ONCE = 64  # number of columns that are read or encoded at a time


def code_part(reader, coding, n_levels, n_classes, frame, labels, mask=None):
    """Encode the rows of a part; the result remains on the worker."""
    y = labels if mask is None else labels[mask]
    n_columns = len(coding.dtypes)
    # one block, because many small ones would fragment the memory; no folder: in memory
    codes = make_arrays([len(y)] * n_columns, coding.dtypes, folder=None)
    for first in range(0, n_columns, COLUMNS_AT_ONCE):
        columns = range(first, min(first + COLUMNS_AT_ONCE, n_columns))
        of_group = coding.of_columns(columns).with_coders()
        read, selected = reader, frame
        if len(columns) < n_columns:
            read = reader.of_columns(columns)
            selected = getattr(frame, "iloc", frame)[:, columns]
        stop = 0
        for begin in range(0, frame.shape[0], CACHED_ROWS):
            rows = slice(begin, begin + CACHED_ROWS)
            # in slices, because floats take more memory than codes
            X = read.read(selected[rows], None if mask is None else mask[rows])
            start, stop = stop, stop + len(X)
            for j, part in zip(columns, of_group(X), strict=True):
                codes[j][start:stop] = part
    return CodedPart(codes, y, n_levels, n_classes)


MAX_COUNTED = 1_000_000  # maximal number of categories of a column


class CategoryCounts:
    """Number of rows per category of nominal columns.

    The result does not depend on how the table is divided into parts. Columns that
    identify rows are ignored: more than half of the rows have a unique category.
    """

    def __init__(self, is_nominal, names):
        self._counts = [{} if nominal else None for nominal in is_nominal]
        self._kinds = [None] * len(is_nominal)  # types of the categories
        self._names = names

    def add(self, counts_of_part):
        """Add the result of `count_categories` for a part."""
        for j, (kind, counts) in counts_of_part.items():
            known = self._kinds[j]
            if kind is not None and known not in (None, kind):
                raise ValueError(mixed_kinds_message(self._names[j], {known, kind}))
            self._kinds[j] = known if kind is None else kind
            totals = self._counts[j]
            for value, count in counts.items():
                totals[value] = totals.get(value, 0) + count
            if len(totals) > MAX_COUNTED:
                raise ValueError(
                    f"Column {self._names[j]} has more than {MAX_COUNTED} categories. "
                    "Pass the other columns as columns=[...]."
                )

    def features(self):
        """Return the `Features` with all categories, before `within_limits`."""
        category_maps = []
        for kind, counts, name in zip(
            self._kinds, self._counts, self._names, strict=True
        ):
            if counts is None:
                category_maps.append(None)
                continue
            order = sort_categories(set(counts), name)
            codes = {value: code for code, value in enumerate(order)}
            category_maps.append(CategoryMap(kind, codes, name=name))
        return Features(category_maps)

    def within_limits(self, features):
        """Ignore the columns that identify rows, and check the limits of the others."""
        category_maps = [
            category_map
            and category_map.within_limits(partial(self._identifies_rows, j))
            for j, category_map in enumerate(features.category_maps)
        ]
        return Features(category_maps)

    def identifying(self, features):
        """Return a mask of the columns that identify rows."""
        mask = np.zeros(len(features.category_maps), dtype=bool)
        for j, category_map in enumerate(features.category_maps):
            if category_map is not None:
                # `ignored`: there were too many categories, and they identify rows
                many = len(category_map.codes) > SMALL_N_CATEGORIES
                mask[j] = category_map.ignored or (many and self._identifies_rows(j))
        return mask

    def of(self, features, j):
        """Return the number of rows of each category of a column, by code."""
        counts = self._counts[j]
        return np.array([counts[category] for category in features.categories[j]])

    def _identifies_rows(self, j):
        # Whether more than half of the rows have a unique category.
        counts = np.fromiter(self._counts[j].values(), np.int64)
        return 2 * np.count_nonzero(counts == 1) > counts.sum()


def count_categories(caller, frame, mask=None):
    """Count the categories of each column of a frame, in the rows of a mask."""
    if not frame.shape[0]:
        return []
    table, result = Table.of(frame, caller), []
    for j in range(table.shape[1]):
        codes, category_map = CategoryMap().encode(
            *table.categories(j),  # indices into a list of values, and the list
            table.name(j),
            learn=True,  # all categories are new
        )
        codes = codes.astype(np.intp)
        codes = codes if mask is None else codes[mask]
        rows = np.bincount(codes, minlength=len(category_map.codes)).tolist()
        counts = dict(zip(category_map.codes, rows, strict=True))
        counts = {value: count for value, count in counts.items() if count}
        only_missing = set(counts) <= {MISSING}  # the category of missing values
        result.append((None if only_missing else category_map.kind, counts))
    return result
