"""The reader of Parquet files, which needs pyarrow."""

import zlib

import numpy as np

from ._common import UserError
from ._reading import Piece, as_matrix, check_header

BATCH = 8192  # rows decoded at a time
STRINGS = {"string", "large_string", "string_view"}


class ParquetStream:
    """Rows of a .parquet file, a batch of a row group at a time.

    Parameters
    ----------
    path : str
    target : str
        Column of the labels.
    """

    def __init__(self, path, target):
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise UserError(
                f"reading {path} needs pyarrow: pip install pyarrow"
            ) from None
        self.path = path
        self.target = target
        self.nominal = []
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
            self._texts = [
                place
                for place, name in enumerate(self.features)
                if self._holds_texts(name, schema.field(name).type)
            ]
        except BaseException:
            self._file.close()
            raise
        self._batches = self._read()
        self._ahead = None, [], []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def _holds_texts(self, name, kind):
        import pyarrow as pa

        if pa.types.is_dictionary(kind) or str(kind) in STRINGS:
            return True
        if not (
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_decimal(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_null(kind)
        ):
            raise UserError(
                f"{self.path}, column {name!r} holds {kind}, neither numbers nor "
                "texts; drop or convert it"
            )
        return False

    def look_ahead(self):
        """Find the columns of texts, of which the file itself tells.

        Returns
        -------
        list of int
            Their places among `features`.
        """
        return self._texts

    def _batches_of(self, columns):
        import pyarrow as pa

        try:
            yield from self._file.iter_batches(batch_size=BATCH, columns=columns)
        except (OSError, pa.ArrowException) as error:
            raise UserError(f"cannot read {self.path}: {error}") from error

    def _read(self):
        # Rows, labels, and what tells each row from others.
        for batch in self._batches_of(None):
            columns = []
            labels = [text or "" for text in _texts(batch.column(self.target))]
            marks = [zlib.crc32(label.encode()) for label in labels]
            for place, name in enumerate(self.features):
                if place in self.nominal:
                    column = np.empty(len(batch), dtype=object)
                    column[:] = _texts(batch.column(name))
                    told = ["-" if one is None else f"+{one}" for one in column]
                    parts = [one.encode() for one in told]
                else:
                    column = _numbers(batch.column(name))
                    parts = [one.tobytes() for one in column]
                marks = list(map(zlib.crc32, parts, marks))
                columns.append(column)
            yield as_matrix(columns, len(batch), self.nominal), labels, marks

    def _take(self, size):
        """Up to `size` rows, none at the end."""
        while not self._ahead[1]:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._ahead = batch
        taken, self._ahead = (
            tuple(part if part is None else part[cut] for part in self._ahead)
            for cut in (slice(size), slice(size, None))
        )
        X, labels, marks = taken
        fingerprints = []
        for mark in marks:
            self.fingerprint = zlib.crc32(mark.to_bytes(4), self.fingerprint)
            fingerprints.append(self.fingerprint)
        return X, labels, fingerprints

    def skip(self, n_rows):
        """Read on to the row after the first `n_rows`; tell whether there are so many.

        Returns
        -------
        bool
        """
        while self.n_rows < n_rows:
            taken = len(self._take(n_rows - self.n_rows)[1])
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
        for batch in self._batches_of([self.target]):
            for label in _texts(batch.column(self.target)):
                self.n_rows += 1
                found.setdefault(label or "", self.n_rows)
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
        numeric = [j for j in range(X.shape[1]) if j not in self.nominal]
        infinite = np.isinf(X[:, numeric].astype(np.float32, copy=False))
        if not infinite.any():
            return X, None
        i, j = np.argwhere(infinite)[0]
        return X[:i], UserError(
            f"{self.path}, row {self.n_rows + i + 1}, column "
            f"{self.features[numeric[j]]!r}: infinite or too large for float32"
        )


def _numbers(column):
    import pyarrow as pa

    if not pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
    with np.errstate(over="ignore"):
        return column.to_numpy(zero_copy_only=False).astype(np.float32)


def _texts(column):
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string()).to_pylist()
