"""The reader of CSV files."""

import csv
import gzip
import zlib

import numpy as np

from ._common import MISSING, UserError
from ._reading import NUMBERS_ONLY, Piece, check_header


class CsvStream:
    """Rows of a .csv or .csv.gz file in UTF-8 with a header.

    Parameters
    ----------
    path : str
    target : str
        Column of the labels.
    missing_allowed : bool
        Whether a missing value becomes NaN; otherwise it is an error.
    """

    def __init__(self, path, target, missing_allowed=False):
        self.path = path
        self.missing_allowed = missing_allowed
        self.n_rows = 0
        self.fingerprint = 0
        opened = gzip.open if str(path).endswith(".gz") else open
        with self._named_errors():
            self._file = opened(path, "rt", encoding="utf-8-sig", newline="")
        try:
            self._read_header(target)
        except BaseException:
            self._file.close()
            raise
        self.target = target

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def _named_errors(self):
        return _NamedErrors(self.path)

    def _read_header(self, target):
        with self._named_errors():
            first = self._file.readline()
        delimiter = max(",;\t", key=first.count)
        self._csv = csv.reader(self._lines(first), delimiter=delimiter)
        with self._named_errors():
            self.header = [name.strip() for name in next(self._csv, [])]
        self.features = check_header(self.path, self.header, target)
        self._label = self.header.index(target)

    def _lines(self, first):
        yield first
        for line in self._file:
            # The line's end may change, for one when a row is appended to the last.
            text = line.rstrip("\r\n").encode()
            self.fingerprint = zlib.crc32(text, self.fingerprint)
            yield line

    def _rows(self):
        width = len(self.header)
        with self._named_errors():
            for row in self._csv:
                if not row:
                    continue
                if len(row) != width:
                    raise UserError(
                        f"{self.path}, line {self._csv.line_num}: {len(row)} fields "
                        f"where the header has {width}"
                    )
                yield row

    def skip(self, n_rows):
        """Read on to the row after the first `n_rows`; tell whether there are so many.

        Returns
        -------
        bool
        """
        rows = self._rows()
        while self.n_rows < n_rows:
            if next(rows, None) is None:
                return False
            self.n_rows += 1
        return True

    def labels(self):
        """Read on to the end, and give each distinct label with its first row.

        Returns
        -------
        dict of str to int
        """
        found = {}
        for row in self._rows():
            self.n_rows += 1
            found.setdefault(row[self._label], self.n_rows)
        return found

    def pieces(self, size):
        """Read the rows that remain.

        When a row is at fault, the rows before it are given first.

        Parameters
        ----------
        size : int
            Most rows of a piece.

        Yields
        ------
        Piece
        """
        rows = self._rows()
        problem = None
        while problem is None:
            read, fingerprints = [], []
            try:
                for row in rows:
                    read.append(row)
                    fingerprints.append(self.fingerprint)
                    if len(read) == size:
                        break
            except UserError as error:
                problem = error
            if not read and problem is None:
                return
            labels = [row.pop(self._label) for row in read]
            X, wrong = self._numbers(read)
            n, first = len(X), self.n_rows + 1
            self.n_rows += n
            problem = wrong or problem
            yield Piece(first, X, labels[:n], fingerprints[:n], problem)

    def _numbers(self, rows):
        """Turn fields into numbers, up to a row where that does not work."""
        if not rows:
            return np.empty((0, len(self.features)), dtype=np.float32), None
        try:
            X = np.array(rows, dtype=np.float64)
        except ValueError:
            X = None
        if X is not None:
            with np.errstate(over="ignore"):
                X = X.astype(np.float32)
            if np.isfinite(X).all():
                return X, None
        X = np.empty((len(rows), len(self.features)), dtype=np.float32)
        for i, row in enumerate(rows):
            for j, text in enumerate(row):
                try:
                    X[i, j] = self._number(text)
                except ValueError as error:
                    where = f"row {self.n_rows + i + 1}, column {self.features[j]!r}"
                    return X[:i], UserError(f"{self.path}, {where}: {error}")
        return X, None

    def _number(self, text):
        try:
            value = float(text)
        except ValueError:
            value = None
        if text.strip().lower() in MISSING or value != value:
            if self.missing_allowed:
                return np.nan
            raise ValueError(f"{text!r} is a missing value, which is not supported yet")
        if value is None:
            raise ValueError(f"{text!r} is not a number; {NUMBERS_ONLY}")
        with np.errstate(over="ignore"):
            if not np.isfinite(np.float32(value)):
                raise ValueError(f"{text!r} is infinite or too large for float32")
        return value


class _NamedErrors:
    """Turn the errors of reading a file into a sentence that names the file."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        # BadGzipFile is an OSError too, without the number of a system error.
        if isinstance(error, OSError) and error.errno is not None:
            raise UserError(f"cannot read {self.path}: {error.strerror}") from error
        if isinstance(error, OSError | UnicodeDecodeError | csv.Error | EOFError):
            raise UserError(
                f"{self.path} is not a CSV file in UTF-8: {error}"
            ) from error
        if isinstance(error, zlib.error):
            raise UserError(f"cannot unpack {self.path}: {error}") from error
