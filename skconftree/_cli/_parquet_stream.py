"""The reader of Parquet files, which needs pyarrow."""

import contextlib
import zlib

import numpy as np

from ._columns import DATE, HEAD, POINT, Guess, guess, read_numbers
from ._dialect import Dialect
from ._reading import Piece, as_matrix, check_header
from ._text import UserError

BATCH = 8192  # rows decoded at a time
MOST_OF_TEXT = 131_072  # characters, as many as a field of CSV may have
MOST_AT_ONCE = 2**26  # bytes of the rows decoded at a time, as the file counts them
STRINGS = {"string", "large_string", "string_view"}
CODED = {*STRINGS, "binary", "large_binary", "binary_view"}


class ParquetStream:
    """Rows of a .parquet file, a batch of a row group at a time."""

    late_notes = ()  # see `CsvStream`

    def __init__(self, path, target, *, decimal=None, dates=None):
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise UserError(
                f"reading {path} needs pyarrow: pip install pyarrow"
            ) from None
        self.path = path
        self.target = target
        self._decimal = decimal
        self._dates = dates
        self.dialect = Dialect(decimal=decimal or ".")
        self.n_rows = 0
        self.fingerprint = 0
        try:
            with pq.ParquetFile(path) as file:
                schema = file.schema_arrow
            # Texts come as codes: a few bytes of a file may be a text of every row.
            texts = [field.name for field in schema if str(field.type) in CODED]
            self._file = pq.ParquetFile(path, read_dictionary=texts)
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from error
        except pa.ArrowException as error:
            raise UserError(f"{path} is not a Parquet file: {error}") from error
        try:
            self.header = list(schema.names)
            self.features = check_header(path, self.header, target)
            kinds = [schema.field(place).type for place in range(len(self.header))]
            self._label = None
            if target is not None:
                self._label = self.header.index(target)
                del kinds[self._label]
            self._holds = [
                self._held(name, kind)
                for name, kind in zip(self.features, kinds, strict=True)
            ]
            self.readings = [POINT] * len(self.features)
        except BaseException:
            self._file.close()
            raise
        self._batches = self._read()
        self._ahead = None, [], [], []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def _held(self, name, kind):
        """What a column holds: "categories", "texts", "dates" or "numbers"."""
        import pyarrow as pa

        if pa.types.is_dictionary(kind):
            return "categories"
        if str(kind) in STRINGS:
            return "texts"
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            return "dates"
        if (
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_decimal(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_null(kind)
        ):
            return "numbers"
        raise UserError(
            f"{self.path}, column {name!r} holds {kind}, neither numbers nor strings "
            "nor dates; drop or convert it"
        )

    def holds_texts(self, name):
        """Whether a column holds strings, of which no dictionary makes categories."""
        return self._holds[self.features.index(name)] == "texts"

    def look_ahead(self):
        """Guess each of `features` by its type and the first 1,000 rows or fewer."""
        heads = [[] for _ in self.features]
        n_rows = 0
        n_bytes = 0
        for batch in self._batches_of(None):
            n_bytes += batch.nbytes
            batch = batch.slice(0, HEAD - n_rows)
            n_rows += len(batch)
            for head, place in zip(heads, self._places(), strict=True):
                texts = self._texts(batch, place)
                head += ["" if one is None else one for one in texts]
            if n_rows == HEAD or n_bytes > MOST_AT_ONCE:
                break
        return list(map(self._guess, self._holds, heads, self.features))

    def _guess(self, held, texts, name):
        if held == "dates":
            note = "dates are read as days since 1970-01-01"
            return Guess(DATE, [note], numbers=DATE)
        if held == "numbers":
            found = guess(texts)
            notes = found.notes if found.reading is POINT else []
            return Guess(POINT, notes, numbers=POINT)
        found = guess(texts, dates=self._dates, name=name, decimal=self._decimal)
        found = found._replace(holds_name=False)
        if held == "categories":
            notes = [] if found.reading else found.notes
            return found._replace(reading=None, notes=notes, names_rows=False)
        if found.reading is None or not any(texts):
            return found._replace(reading=None, names_rows=False)
        note = f"strings are read as numbers; --nominal {name} makes categories"
        return found._replace(notes=[note, *found.notes])

    def _places(self):
        """Places of the features among all columns."""
        return (place for place in range(len(self.header)) if place != self._label)

    @contextlib.contextmanager
    def _named_errors(self):
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise UserError(f"cannot read {self.path}: {error}") from error

    def _batches_of(self, columns):
        size = BATCH
        facts = self._file.metadata
        for group in map(facts.row_group, range(facts.num_row_groups)):
            if group.num_rows:
                most = MOST_AT_ONCE * group.num_rows // max(group.total_byte_size, 1)
                size = max(1, min(size, most))
        with self._named_errors():
            yield from self._file.iter_batches(batch_size=size, columns=columns)

    def _texts(self, batch, place):
        """Texts of a column, and None."""
        with self._named_errors():
            texts, codes = _coded(batch.column(place))
        longest = max((len(one) for one in texts if one is not None), default=0)
        if longest > MOST_OF_TEXT:
            raise UserError(
                f"{self.path}, column {self.header[place]!r}: a text of {longest} "
                f"characters; at most {MOST_OF_TEXT} are read"
            )
        return [texts[code] for code in codes]

    def _read(self):
        # Rows, labels, what tells each row from others, and texts where numbers should
        # be. The first row of what is left is in front of all of these.
        for batch in self._batches_of(None):
            columns, strays = [], [[] for _ in range(len(batch))]
            labels = [""] * len(batch)
            if self._label is not None:
                labels = [text or "" for text in self._texts(batch, self._label)]
            marks = [zlib.crc32(label.encode()) for label in labels]
            kinds = zip(self._places(), self._holds, self.readings, strict=True)
            for feature, (place, held, reading) in enumerate(kinds):
                column = batch.column(place)
                if held in ("texts", "categories") or reading is None:
                    texts = self._texts(batch, place)
                    # one after the other, as rows may share a long text
                    told = ("-" if one is None else f"+{one}" for one in texts)
                    parts = (one.encode() for one in told)
                if reading is None:
                    column = np.empty(len(batch), dtype=object)
                    column[:] = texts
                elif held in ("texts", "categories"):
                    texts = ["" if one is None else one for one in texts]
                    column, missed = read_numbers(texts, reading)
                    for row in missed:
                        strays[row].append((feature, texts[row].strip()))
                else:
                    with self._named_errors():
                        column = (_days if held == "dates" else _numbers)(column)
                    parts = [one.tobytes() for one in column]
                marks = list(map(zlib.crc32, parts, marks))
                columns.append(column)
            X = as_matrix(columns, len(batch), self.readings)
            yield X, labels, marks, strays

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
        X, labels, marks, strays = taken
        fingerprints = []
        for mark in marks:
            self.fingerprint = zlib.crc32(mark.to_bytes(4), self.fingerprint)
            fingerprints.append(self.fingerprint)
        strays = [(row, *one) for row, found in enumerate(strays) for one in found]
        return X, labels, fingerprints, strays

    def skip(self, n_rows):
        """Read on to the row after the first `n_rows`; False if there are fewer."""
        while self.n_rows < n_rows:
            taken = len(self._take(n_rows - self.n_rows)[1])
            if not taken:
                return False
            self.n_rows += taken
        return True

    def labels(self):
        """Read on to the end, and give each distinct label with its first row."""
        found = {}
        for batch in self._batches_of([self.target]):
            place = batch.schema.get_field_index(self.target)
            for row, label in enumerate(self._texts(batch, place), self.n_rows + 1):
                found.setdefault(label or "", row)
            self.n_rows += len(batch)
        return found

    def pieces(self, size):
        """Read the rows that remain, at most `size` a piece."""
        while True:
            X, labels, fingerprints, strays = self._take(size)
            if not labels:
                return
            X, problem = self._checked(X)
            n, first = len(X), self.n_rows + 1
            self.n_rows += n
            strays = [one for one in strays if one[0] < n]
            yield Piece(first, X, labels[:n], fingerprints[:n], strays, problem)
            if problem is not None:
                return

    def _checked(self, X):
        numeric = [j for j, one in enumerate(self.readings) if one is not None]
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


def _days(column):
    import pyarrow as pa

    # whole microseconds, which float64 holds for as many years as there are dates
    column = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    days = column.to_numpy(zero_copy_only=False).astype(np.float64) / 86_400e6
    return days.astype(np.float32)


def _coded(column):
    """The texts that a column holds, each once if it is coded, and which rows have.

    Nothing is decoded by rows: a text of all of them would be there as often.
    """
    import pyarrow as pa

    codes = range(len(column))
    if pa.types.is_dictionary(column.type):
        codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        used, codes = np.unique(codes, return_inverse=True)
        used = pa.array(used, mask=used == -1)
        column, codes = column.dictionary.take(used), codes.tolist()
    return column.cast(pa.string()).to_pylist(), codes
