"""The reader of Parquet files, which needs pyarrow."""

import zlib

import numpy as np

from ._common import UserError
from ._reading import NUMBERS_ONLY, Piece, check_header

BATCH = 8192  # rows decoded at a time


class ParquetStream:
    """Rows of a .parquet file, a batch of a row group at a time.

    Parameters
    ----------
    path : str
    target : str
        Column of the labels.
    missing_allowed : bool
        Whether a missing value becomes NaN; otherwise it is an error.
    """

    def __init__(self, path, target, missing_allowed=False):
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise UserError(
                f"reading {path} needs pyarrow: pip install pyarrow"
            ) from None
        self.path = path
        self.target = target
        self.missing_allowed = missing_allowed
        self.n_rows = 0
        self.fingerprint = 0
        try:
            self._file = pq.ParquetFile(path)
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from error
        except pa.ArrowInvalid as error:
            raise UserError(f"{path} is not a Parquet file: {error}") from error
        try:
            schema = self._file.schema_arrow
            self.header = list(schema.names)
            self.features = check_header(path, self.header, target)
            for name in self.features:
                kind = schema.field(name).type
                numeric = (
                    pa.types.is_integer(kind)
                    or pa.types.is_floating(kind)
                    or pa.types.is_decimal(kind)
                    or pa.types.is_boolean(kind)
                )
                if not numeric:
                    raise UserError(
                        f"{path}, column {name!r} holds {kind}, not numbers; "
                        f"{NUMBERS_ONLY}"
                    )
        except BaseException:
            self._file.close()
            raise
        self._batches = self._read()
        self._X = np.empty((0, len(self.features)), dtype=np.float32)
        self._labels = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def _read(self):
        import pyarrow as pa

        try:
            for batch in self._file.iter_batches(batch_size=BATCH):
                X = np.empty((len(batch), len(self.features)), dtype=np.float32)
                for j, name in enumerate(self.features):
                    column = batch.column(name)
                    if not pa.types.is_floating(column.type):
                        column = column.cast(pa.float64())
                    with np.errstate(over="ignore"):
                        X[:, j] = column.to_numpy(zero_copy_only=False)
                labels = batch.column(self.target)
                if pa.types.is_dictionary(labels.type):
                    labels = labels.dictionary_decode()
                yield (
                    X,
                    [
                        "" if text is None else text
                        for text in labels.cast(pa.string()).to_pylist()
                    ],
                )
        except (OSError, pa.ArrowException) as error:
            raise UserError(f"cannot read {self.path}: {error}") from error

    def _take(self, size):
        """Up to `size` rows, none at the end."""
        while not self._labels:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._X, self._labels = batch
        X, self._X = self._X[:size], self._X[size:]
        labels, self._labels = self._labels[:size], self._labels[size:]
        fingerprints = []
        for row, label in zip(X, labels, strict=True):
            self.fingerprint = zlib.crc32(label.encode(), self.fingerprint)
            self.fingerprint = zlib.crc32(row.tobytes(), self.fingerprint)
            fingerprints.append(self.fingerprint)
        return X, labels, fingerprints

    def skip(self, n_rows):
        """Read on to the row after the first `n_rows`; tell whether there are so many.

        Returns
        -------
        bool
        """
        while self.n_rows < n_rows:
            taken = len(self._take(n_rows - self.n_rows)[0])
            if not taken:
                return False
            self.n_rows += taken
        return True

    def labels(self):
        """Read on to the end, and give each distinct label with its first row.

        Returns
        -------
        dict of str to int
        """
        found = {}
        for _, labels in self._batches:
            for label in labels:
                self.n_rows += 1
                found.setdefault(label, self.n_rows)
        return found

    def pieces(self, size):
        """Read the rows that remain.

        Parameters
        ----------
        size : int
            Most rows of a piece.

        Yields
        ------
        Piece
        """
        while True:
            X, labels, fingerprints = self._take(size)
            if not labels:
                return
            X, problem = self._checked(X)
            n, first = len(X), self.n_rows + 1
            self.n_rows += n
            yield Piece(first, X, labels[:n], fingerprints[:n], problem)
            if problem is not None:
                return

    def _checked(self, X):
        bad = np.isinf(X) if self.missing_allowed else ~np.isfinite(X)
        if not bad.any():
            return X, None
        i, j = np.argwhere(bad)[0]
        what = (
            "a missing value, which is not supported yet"
            if np.isnan(X[i, j])
            else "infinite or too large for float32"
        )
        return X[:i], UserError(
            f"{self.path}, row {self.n_rows + i + 1}, column {self.features[j]!r}: "
            f"{what}"
        )
