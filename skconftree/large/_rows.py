"""What passes over the parts of a table read, count and encode."""

from typing import NamedTuple

import numpy as np

from ..tables._content_order import hash_rows
from ..tables._schema import Schema
from ._coded_part import CodedPart
from ._edges import Values
from ._spill import make_arrays

# Rows whose columns are counted one after the other: the cells of a column leave the
# cache more often if they are fewer, and their values if they are more.
IN_CACHE = 131_072


class Reader(NamedTuple):
    """Rows of a part: all that those who look at one have to know of the table."""

    schema: Schema
    caller: str

    def of_columns(self, columns):
        """Reader of some columns, given by their indices."""
        return Reader(self.schema.of_columns(columns), self.caller)

    def read(self, frame, kept=None):
        """Rows of a part; those that are kept."""
        if frame.shape[0]:
            X = self.schema.predict(frame, self.caller).X
        else:
            X = np.empty((0, self.schema.n_features), np.float32)
        return X if kept is None else X[kept]


class Hashing(NamedTuple):
    """Hashes of the rows of a part."""

    reader: Reader

    def __call__(self, frame, labels, kept=None):
        labels = labels if kept is None else labels[kept]
        return frame.shape[0], hash_rows(self.reader.read(frame, kept), labels)


class Counting(NamedTuple):
    """Values of columns that have a question, by the index among the columns read."""

    reader: Reader
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


class Coding(NamedTuple):
    """Codes of the rows of a part, column by column.

    A worker keeps what it was given for as long as what it has made of it. So `coders`
    are not there, but what makes them, until it is `made`.
    """

    coders: dict
    dtypes: list

    def of_columns(self, columns):
        """The coding of some columns, given by their indices."""
        coders = {k: self.coders[j] for k, j in enumerate(columns) if j in self.coders}
        return Coding(coders, [self.dtypes[j] for j in columns])

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


class CodingPart(NamedTuple):
    """A part of coded rows, which stays where it is made."""

    reader: Reader
    coding: Coding
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
