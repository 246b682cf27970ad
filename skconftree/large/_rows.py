"""Rows in parts, and what passes over them find."""

from typing import NamedTuple

import numpy as np

from ..tables._coded_column import CodedColumn
from ..tables._content_order import hash_rows
from ..tables._schema import Schema
from ._coded_part import CodedPart
from ._edges import ColumnValues, Values
from ._engine import LocalEngine
from ._spill import make_arrays

# Rows whose columns are counted one after the other: the cells of a column leave the
# cache more often if they are fewer, and their values if they are more.
IN_CACHE = 131_072


class PartedRows:
    """Rows of a known schema in parts; those that are learnt, in an order.

    `positions` says where each row of the parts comes, -1 for one that is left out;
    None: all come as they are. `categories` are how many rows have each; the file of
    codes goes into the `folder`, unless it is None.
    """

    def __init__(
        self, parts, schema, caller, folder=None, positions=None, categories=None
    ):
        self.folder, self.categories = folder, categories
        self.parts, self.schema, self.caller = parts, schema, caller
        self._reader = _Reader(schema, caller)
        self.positions = positions
        n_rows = parts.n_rows
        if positions is not None:
            n_rows = int(np.count_nonzero(positions >= 0))
        self.shape = n_rows, schema.n_features
        self._columns = list(schema.columns)

    @property
    def _by_row(self):
        # Which rows are learnt, if some are not.
        if self.positions is None or self.shape[0] == len(self.positions):
            return ()
        return (self.positions >= 0,)

    def _places(self, start, stop):
        # Where those of some rows come that are learnt.
        if self.positions is None:
            return slice(start, stop)
        places = self.positions[start:stop]
        return places[places >= 0]

    def at(self, places):
        """Some of the rows, in another order."""
        found = np.full(self.shape[0], -1, dtype=np.int32)
        found[places] = np.arange(len(places), dtype=np.int32)
        if self.positions is not None:
            found = np.where(self.positions >= 0, found[self.positions], np.int32(-1))
        return PartedRows(
            self.parts, self.schema, self.caller, self.folder, found, self.categories
        )

    def hashes(self, y):
        """Two hashes of each row, by its values and label."""
        first, second = np.empty((2, self.shape[0]), dtype=np.uint64)
        labels = y
        if self.positions is not None:
            labels = y[np.maximum(self.positions, 0)]
        start = 0
        for n, found in self.parts.map(
            _Hashing(self._reader), self._columns, labels, *self._by_row
        ):
            where = self._places(start, start + n)
            first[where], second[where] = found
            start += n
        return first, second

    def encode(self, max_bins, y, n_classes, team=None):
        """Code the columns, those of numbers in bins unless there are 0.

        Gives what has the coded parts, and each column as a `CodedColumn` of one row. A
        team reads a file in several places.
        """
        features = self.schema.features
        nominal = np.zeros(self.shape[1], bool)
        if features is not None:
            nominal = features.is_categorical
        numeric = {j: ColumnValues(max_bins) for j in np.flatnonzero(~nominal)}
        while asked := {j: one.question for j, one in numeric.items() if one.question}:
            found = self.parts.total(
                _Counting(self._reader, asked),
                self._columns,
                *self._by_row,
                team=team,
            )
            for j, one in found.items():
                numeric[j].learn(one)
        self._check_few(numeric, max_bins)
        n_levels = np.zeros(self.shape[1], np.intp)
        if nominal.any():
            n_levels[nominal] = features.n_categories[nominal] + 1
        dtypes = [np.uint8 if one <= 256 else np.uint16 for one in n_levels]
        heads = [
            numeric[j].column(np.zeros(1, dtype))
            if j in numeric
            else CodedColumn(np.zeros(1, dtype), int(n_levels[j]))
            for j, dtype in enumerate(dtypes)
        ]
        coding = _Coding({j: one.coder() for j, one in numeric.items()}, dtypes)
        y = y.astype(np.uint8 if n_classes <= 256 else np.uint16)
        n_levels = [head.n_levels for head in heads]
        engine = self._engine_elsewhere(coding, y, n_levels, n_classes)
        if engine is None:
            codes = self._codes(coding.made(), team)
            part = CodedPart(codes, y, n_levels, n_classes)
            engine = LocalEngine([part], [slice(0, len(y))])
        return engine, heads

    def _engine_elsewhere(self, coding, y, n_levels, n_classes):
        task = _CodingPart(self._reader, coding, n_levels, n_classes)
        labels = y if self.positions is None else y[np.maximum(self.positions, 0)]
        return self.parts.engine(
            task, self._columns, self.positions, labels, *self._by_row
        )

    def _check_few(self, numeric, max_bins):
        many = [j for j, one in numeric.items() if not (one.is_few or max_bins)]
        if many:
            names = ", ".join(repr(self._columns[j]) for j in many[:3])
            more = ", ..." if len(many) > 3 else ""
            raise ValueError(
                f"More than 256 values are in {names}{more}, and parts cannot be put "
                "in the order of each of them. Set max_bins, as in max_bins=255."
            )

    def _codes(self, coding, team):
        n, d = self.shape
        codes = make_arrays([n] * d, coding.dtypes, self.folder)

        def write(frame, start, kept=None):
            places = self._places(start, start + frame.shape[0])
            for j, part in enumerate(coding(self._reader.read(frame, kept))):
                codes[j][places] = part

        self.parts.each(write, self._columns, *self._by_row, team=team)
        return codes


class _Reader(NamedTuple):
    """Rows of a part: all that those who look at one have to know of the table."""

    schema: Schema
    caller: str

    def read(self, frame, kept=None):
        """Rows of a part; those that are kept."""
        if frame.shape[0]:
            X = self.schema.predict(frame, self.caller).X
        else:
            X = np.empty((0, self.schema.n_features), np.float32)
        return X if kept is None else X[kept]


class _Hashing(NamedTuple):
    """Hashes of the rows of a part."""

    reader: _Reader

    def __call__(self, frame, labels, kept=None):
        labels = labels if kept is None else labels[kept]
        return frame.shape[0], hash_rows(self.reader.read(frame, kept), labels)


class _Counting(NamedTuple):
    """Values of columns of which something is asked."""

    reader: _Reader
    asked: dict

    def start(self):
        """Nothing yet."""
        return {j: Values(question) for j, question in self.asked.items()}

    def count(self, values, frame, kept=None):
        """Add the rows of a part."""
        X = self.reader.read(frame, kept)
        for start in range(0, len(X), IN_CACHE):
            rows = X[start : start + IN_CACHE]
            for j, one in values.items():
                one.count(rows, j)

    def join(self, values, found):
        """Add what has been found in other parts."""
        for j, one in found.items():
            values[j].add(one)

    @staticmethod
    def found(values):
        """What has been found, which is much smaller."""
        return {j: one.found() for j, one in values.items()}


class _Coding(NamedTuple):
    """Codes of the rows of a part, column by column.

    A worker keeps what it was given for as long as what it has made of it. So `coders`
    are not there, but what makes them, until it is `made`.
    """

    coders: dict
    dtypes: list

    def made(self):
        """The same with coders."""
        return self._replace(coders={j: make() for j, make in self.coders.items()})

    def __call__(self, X):
        return [self._code(X, j) for j in range(X.shape[1])]

    def _code(self, X, j):
        if j in self.coders:
            codes = np.empty(len(X), np.uint8)
            if not self.coders[j].code(X, j, codes):
                raise RuntimeError("Rows have changed while they were read.")
            return codes
        codes = X[:, j]
        if (codes < 0.0).any():
            raise RuntimeError("Rows have changed while they were read.")
        return codes.astype(self.dtypes[j])


class _CodingPart(NamedTuple):
    """A part of coded rows, which stays where it is made."""

    reader: _Reader
    coding: _Coding
    n_levels: list
    n_classes: int

    def __call__(self, frame, labels, kept=None):
        coding, y = self.coding.made(), labels if kept is None else labels[kept]
        # many small pieces of memory would lie between what is had for a while only
        codes = make_arrays([len(y)] * len(coding.dtypes), coding.dtypes, None)
        stop = 0
        for begin in range(0, frame.shape[0], IN_CACHE):
            rows = slice(begin, begin + IN_CACHE)
            # never all as floats beside the part as it is
            X = self.reader.read(frame[rows], None if kept is None else kept[rows])
            start, stop = stop, stop + len(X)
            for column, some in zip(codes, coding(X), strict=True):
                column[start:stop] = some
        return CodedPart(codes, y, self.n_levels, self.n_classes)
