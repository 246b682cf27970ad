"""Readers of CSV, JSON lines and Parquet tables, and the dialect of a CSV file.

A reader reads a table once, from the first row to the last, and never holds all of it.
It has the attributes `header` (names of all columns), `features` (all columns except
the target), `n_rows` (number of rows read so far), `fingerprint` (their checksum), and
the methods of `CsvStream`. Before rows are read, `parsers` must be set: a
`_columns.ColumnParser` for each feature, None for a nominal column. `lookahead` infers
them from the first rows. The parsers POINT and COMMA read numbers with this decimal
sign, and DATE reads dates.
"""

import atexit
import bz2
import codecs
import contextlib
import csv
import gzip
import io
import json
import lzma
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from ._columns import (
    COMMA,
    DATE,
    MAX_UNPARSEABLE,
    N_INFERENCE_ROWS,
    POINT,
    ColumnType,
    changed_by_sign,
    excluded_columns,
    infer_column,
    infer_columns,
    read_numbers,
    sign_note,
)
from ._common import MISSING_CATEGORY, is_missing, parse_decimal
from ._options import did_you_mean
from ._text import UserError

MAX_COLUMN_CATEGORIES = 4096  # maximum of categories per column of a tree
MAX_NAMES = 30  # listed in an error


class Chunk(NamedTuple):
    """Consecutive rows; if `problem` is not None, the next row is invalid."""

    first: int  # number of the first row; the first of the table is row 1
    X: np.ndarray  # (n_rows, n_features): float32, or objects if a column is nominal
    labels: list[str]
    fingerprints: list[int]  # checksum of the table up to each row, inclusive
    unparseable: list[tuple[int, int, str]]  # (row of the chunk, column, text), by row
    problem: UserError | None


def check_header(path, header, target):
    """Check the column names and return those of the features."""
    duplicates = sorted(name for name, count in Counter(header).items() if count > 1)
    if duplicates:
        at = [str(n) for n, name in enumerate(header, 1) if name == duplicates[0]]
        raise UserError(
            f"{path} has more than one column named {duplicates[0]!r}: columns "
            f"{', '.join(at[:-1])} and {at[-1]}; if its first line is a row, add a "
            "line with the names of the columns above it"
        )
    if target is None:
        return list(header)
    if target not in header:
        if len(header) > 1 and all(parse_decimal(name) is not None for name in header):
            raise UserError(
                f"there is no column {target!r} in {path}, whose first line has "
                "only numbers; the first line must contain the column names"
            )
        hint = did_you_mean(target, header)
        if not hint and any(parse_decimal(name) is not None for name in header):
            hint = (
                " If that is a row of the table, add a line with the names of the "
                "columns above it"
            )
        raise UserError(
            f"there is no column {target!r} in {path}; its columns are: "
            f"{listed(header)}.{hint}"
        )
    if len(header) == 1:
        raise UserError(f"{path} has no column besides the target {target!r}")
    return [name for name in header if name != target]


def listed(names):
    """Return a list of names as text, shortened if it is long."""
    shown = ", ".join(names[:MAX_NAMES])
    left = len(names) - MAX_NAMES
    return f"{shown} and {left} more" if left > 0 else shown


def indices_of(names, features, option):
    """Return the indices of the features that an option names."""
    indices = {name: index for index, name in enumerate(features)}
    unknown = [name for name in names if name not in indices]
    if unknown:
        raise UserError(
            f"{option} {unknown[0]!r} is not one of the columns besides the target: "
            f"{listed(features)}.{did_you_mean(unknown[0], features)}"
        )
    return [indices[name] for name in names]


def header_notes(stream):
    """Return a note on lines above the header."""
    remarks = getattr(stream, "remarks", ())
    if not remarks:
        return []
    more = f" and {len(remarks) - 1} more" if len(remarks) > 1 else ""
    are = "are" if more else "is"
    return [f"{remarks[0][:60]!r}{more} above the header {are} ignored"]


def missing_header_note(stream, types):
    """Return a warning that the first line may be a row; empty if that is unlikely."""
    header = stream.header
    numbers = [name for name in header if parse_decimal(name) is not None]
    if 2 * len(numbers) >= max(len(header), 1):
        why = f"columns have names such as {numbers[0]!r}"
    # `name_is_value`: the name of the column could be one of its values
    elif types and all(column.name_is_value for column in types):
        why = f"columns have names that are values below them, such as {header[0]!r}"
    else:
        return ""
    return (
        f"{stream.path} may have no header, as {why}; if its first line is a row, "
        "add a line with the names of the columns above it"
    )


def set_column_types(stream, named, numeric=(), *, is_complete=False):
    """Set column types by inference and options; return notes on the columns.

    `is_complete`: the caller reports columns of IDs, from all rows of the table.
    """
    types = dict(enumerate(stream.lookahead()))
    notes = list(filter(None, [missing_header_note(stream, list(types.values()))]))
    for index in indices_of(named, stream.features, "--nominal"):
        types[index] = ColumnType(None, [])
    for index in indices_of(numeric, stream.features, "--numeric"):
        types[index] = as_numeric(types[index], stream.features[index], named)
    stream.parsers = [column.parser for column in types.values()]
    for name, column in zip(stream.features, types.values(), strict=True):
        notes += [f"column {name!r}: {note}" for note in column.notes]
        if column.identifies_rows and not is_complete:
            notes.append(
                f"column {name!r}: more than half of the first rows have a unique "
                "category, as if the column contained IDs; --drop it if it does"
            )
    return notes


def as_numeric(column, name, nominal):
    """Return the type of a column that --numeric names."""
    if name in nominal:
        raise UserError(f"column {name!r} cannot be both --nominal and --numeric")
    if column.numbers is None:  # no parser of numbers fits
        raise UserError(
            f"--numeric {name}: more than {MAX_UNPARSEABLE:.0%} of the values of this "
            "column are not numbers"
        )
    return column._replace(parser=column.numbers, notes=[], identifies_rows=False)


def nominal_indices(parsers):
    """Return the indices of the nominal columns."""
    return [index for index, parser in enumerate(parsers) if parser is None]


def as_matrix(columns, n_rows, parsers):
    """Combine columns of numbers, or of texts and None, into a matrix."""
    kind = object if None in parsers else np.float32
    X = np.empty((n_rows, len(columns)), dtype=kind)
    for index, column in enumerate(columns):
        X[:, index] = column[:n_rows]
    return X


def check_categories(known, X, first_row, stream):
    """Return the number of rows before too many categories occur, and the error."""
    n_rows, problem = len(X), None
    for index in nominal_indices(stream.parsers):
        old = known[index] if known else []
        column = X[:n_rows, index]
        if len(set(old).union(column)) <= MAX_COLUMN_CATEGORIES:
            continue
        seen, n_rows = set(old), -1
        while len(seen) <= MAX_COLUMN_CATEGORIES:
            n_rows += 1
            seen.add(column[n_rows])
        problem = UserError(
            f"row {first_row + n_rows}: column {stream.features[index]!r} has more "
            f"than {MAX_COLUMN_CATEGORIES} categories, the maximum of a tree; "
            f"exclude it by --drop {stream.features[index]}, or group rare "
            "categories in the table; if they are numbers that begin with 0, "
            f"use --numeric {stream.features[index]}"
        )
    return n_rows, problem


# Byte order marks. That of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
MAX_BOM_BYTES = 4


class Dialect(NamedTuple):
    """Delimiter, decimal sign and encoding of a file."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def number(self, value):
        """Format a number with six significant digits."""
        return f"{value:.6g}".replace(".", self.decimal)

    def can_encode(self, texts):
        """Whether texts can be written in the encoding."""
        try:
            "".join(texts).encode(self.encoding)
        except UnicodeError:
            return False
        return True


def encoding_of(name, start):
    """Return the encoding `name`, or by default that of the byte order mark."""
    bom_encoding = next(
        (encoding for mark, encoding in _MARKS if start.startswith(mark)), None
    )
    if name is None:
        return bom_encoding or "utf-8"
    try:
        known = codecs.lookup(name).name
        "".encode(known)  # some codecs do not encode text
    except (LookupError, UnicodeError):
        raise UserError(
            f"--encoding {name!r} is not known; try utf-8, latin-1, cp1252 or utf-16"
        ) from None
    if known == "utf-8" and bom_encoding == "utf-8-sig":
        return bom_encoding
    return known


MAX_ROW_CHARACTERS = 2**24  # length of a row, and of the header
MAX_CHARACTERS = 2**26  # length of all rows in memory, except the last
OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
REMEDIES = {
    ".zip": "unpack it first: unzip {path}",
    ".zst": "unpack it first: zstd -d {path}",
    ".7z": "unpack it first: 7z x {path}",
    ".xlsx": "save the sheet as CSV first",
    ".xls": "save the sheet as CSV first",
    ".ods": "save the sheet as CSV first",
    ".json": "convert it to CSV or JSON lines (.jsonl) first",
    ".feather": "convert it to Parquet first",
    ".arrow": "convert it to Parquet first",
}


class CsvStream:
    """Reader of a CSV file with a header; .gz, .bz2 and .xz files are decompressed.

    By default, the encoding is that of the byte order mark or UTF-8, and the delimiter
    is the most frequent one in the header. If the header has none, as in a file with
    one column, the delimiter of the dialect `like` is used. Messages use `name` instead
    of the path. `remarks` are the comment lines above the header. The decimal sign of
    `dialect` is known after `lookahead`. Lines of a `source`, a `LiveInput`, are read
    as they arrive.
    """

    def __init__(
        self,
        path,
        target,
        *,
        encoding=None,
        delimiter=None,
        decimal=None,
        dates=None,
        name=None,
        like=None,
        source=None,
        n_lookahead=N_INFERENCE_ROWS,
    ):
        self.path = name or path
        self._n_lookahead = n_lookahead
        self._n_ahead = 0  # rows that `lookahead` has read
        self._live = source
        for ending, remedy in REMEDIES.items():
            if str(path).lower().endswith(ending):
                remedy = remedy.format(path=path)
                raise UserError(f"{path} is not a CSV file; {remedy}")
        self._encoding = encoding_of(encoding, b"")
        self._delimiter = _checked_delimiter(delimiter)
        self._decimal = decimal
        self._like = like or Dialect()
        self._dates = dates
        self.remarks = []
        self._n_above = 0  # lines above the header
        self.n_rows = 0
        self.fingerprint = 0
        self._lines_fingerprint = 0
        self._n_lines = 0
        self._buffered = ""  # a line that has been read in advance
        self._length = 0  # of the current row
        opened = next(
            (
                opener
                for ending, opener in OPENERS.items()
                if str(path).endswith(ending)
            ),
            _open,
        )
        with self._named_errors():
            self._file = source
            if source is None:
                # a `DataFile` opens remote files
                where = path.open() if hasattr(path, "filesystem") else path
                self._file = opened(where, "rb")
        try:
            with self._named_errors():
                start = self._file.peek(MAX_BOM_BYTES)[:MAX_BOM_BYTES]
                self._encoding = encoding_of(encoding, start)
                if source is None:
                    self._file = io.TextIOWrapper(
                        self._file, self._encoding, newline=""
                    )
                else:
                    source.decode(self._encoding)
            self._read_header(target)
        except BaseException:
            self._file.close()
            raise
        self._source = self._read()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    @contextlib.contextmanager
    def _named_errors(self):
        """Convert errors of reading the file to a UserError that names it."""
        try:
            yield
        except (OSError, UnicodeError, csv.Error, EOFError) as error:
            # BadGzipFile is an OSError too, without the number of a system error.
            if getattr(error, "errno", None) is not None:
                raise UserError(f"cannot read {self.path}: {error.strerror}") from error
            remedy = ""
            if isinstance(error, UnicodeError):
                remedy = "; set --encoding, such as latin-1 or cp1252"
            encoding = self._encoding
            called = "UTF-8" if encoding.startswith("utf-8") else encoding
            raise UserError(
                f"{self.path} is not a CSV file in {called}: {error}{remedy}"
            ) from error
        except (zlib.error, lzma.LZMAError) as error:
            raise UserError(f"cannot unpack {self.path}: {error}") from error

    def _read_header(self, target):
        with self._named_errors():
            first = self._first_line()
        if not first.strip():
            with self._named_errors():
                blocks = iter(partial(self._file.read, 2**16), "")
                empty = not any(map(str.strip, blocks))
            what = "is empty" if empty else "begins with an empty line"
            raise UserError(
                f"{self.path} {what}; its first line must contain the column names, "
                "followed by the rows"
            )
        delimiter = self._delimiter or self._most_frequent(first)
        self._csv = csv.reader(self._lines(first), delimiter=delimiter)
        with self._named_errors():
            header = [name.strip() for name in next(self._csv, [])]
        self._length = 0
        self._set_header(header, target, delimiter)

    def _set_header(self, header, target, delimiter):
        self.header = header
        self.features = check_header(self.path, self.header, target)
        self.parsers = [POINT] * len(self.features)
        self.dialect = Dialect(delimiter, self._decimal or ".", self._encoding)
        self.late_notes = []  # notes on columns that the first rows did not show
        # indices of columns read with decimal commas in which no text so far has
        # another value with decimal points
        self._ambiguous = set()
        self._label = None if target is None else self.header.index(target)

    def _first_line(self):
        """Return the header line, after optional comment lines."""
        line = self._line().removeprefix("\ufeff")
        separator = re.fullmatch(r"sep=(.)\s*", line)  # written by spreadsheets
        if separator and self._delimiter in (None, separator[1]):
            self._delimiter = separator[1]
            line = self._line()
        # `#id,name` is a header if the next line has the same number of fields.
        while line.startswith("#"):
            next_line = self._line()
            delimiter = self._delimiter or self._most_frequent(next_line)
            if not next_line or line.count(delimiter) == next_line.count(delimiter) > 0:
                self._buffered = next_line
                break
            self.remarks.append(line.strip())
            line = next_line
        self._n_above = self._n_lines - 1 - bool(self._buffered)
        self._length = len(line) + len(self._buffered)
        return line

    def _most_frequent(self, line):
        """Return the most frequent delimiter of a line."""
        sign = max(",;\t|", key=line.count)
        return sign if sign in line else self._like.delimiter

    def _line(self):
        """Return the next line, empty at the end; UserError if it is too long."""
        if self._buffered:
            line, self._buffered = self._buffered, ""
            return line
        line = self._file.readline(MAX_ROW_CHARACTERS + 1)
        self._n_lines += 1
        self._length += len(line)
        if self._length > MAX_ROW_CHARACTERS:
            raise UserError(
                f"{self.path}, line {self._n_lines}: a row of more than "
                f"{MAX_ROW_CHARACTERS} characters; a line break or a closing quote is "
                "missing"
            )
        return line

    def _lines(self, first):
        yield first
        for line in iter(self._line, ""):
            # Line ends are ignored: they may change when a row is appended.
            text = line.rstrip("\r\n").encode()
            self._lines_fingerprint = zlib.crc32(text, self._lines_fingerprint)
            yield line

    def _read(self):
        # Yields each row with the fingerprint of the table up to it and its length.
        width = len(self.header)
        with self._named_errors():
            for row in self._csv:
                length, self._length = self._length, 0
                if not row:
                    continue
                if len(row) != width:
                    fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
                    raise UserError(
                        f"{self.path}, line {self._csv.line_num + self._n_above}: "
                        f"{fields} where the header has {width}"
                    )
                yield row, self._lines_fingerprint, length

    def _limited_rows(self, size, *, waits=True):
        """Yield up to `size` rows, fewer if they are long.

        Unless it `waits`, also fewer if no further row of live input has arrived.
        """
        left = MAX_CHARACTERS
        for row, fingerprint, length in islice(self._source, size):
            self._n_ahead -= 1
            yield row, fingerprint, length
            left -= length
            # `is_ready`: a further line has arrived
            is_late = self._live and self._n_ahead <= 0 and not self._live.is_ready
            if left <= 0 or (is_late and not waits):
                return

    def lookahead(self):
        """Infer the types of `features` from the first rows (fewer if they are long).

        By default, these are 1,000 rows.
        """
        ahead, rest = [], self._source
        try:
            ahead.extend(self._limited_rows(self._n_lookahead))
        except UserError as error:
            rest = _raising(error)
        self._source, self._n_ahead = chain(ahead, rest), len(ahead)
        columns = list(zip(*(row for row, _, _ in ahead), strict=True))
        if not columns:
            columns = [()] * len(self.header)
        if self._label is not None:
            del columns[self._label]
        types, decimal = infer_columns(
            columns,
            self.features,
            semicolons=self.dialect.delimiter == ";",
            decimal=self._decimal,
            dates=self._dates,
        )
        self.dialect = self.dialect._replace(decimal=decimal)
        if self._decimal is None:
            # `ambiguous`: a text of the first rows that depends on the decimal sign
            self._ambiguous = {
                index
                for index, column in enumerate(types)
                if column.parser is COMMA and column.ambiguous is None
            }
        return types

    def skip(self, n_rows):
        """Read on to the row after the first `n_rows`; False if there are fewer."""
        while self.n_rows < n_rows:
            row = next(self._source, None)
            if row is None:
                return False
            _, self.fingerprint, _ = row
            self.n_rows += 1
        return True

    def labels(self):
        """Read to the end; return each distinct label with its first row."""
        first_rows = {}
        for row, _, _ in self._source:
            self.n_rows += 1
            first_rows.setdefault(row[self._label], self.n_rows)
        return first_rows

    def chunks(self, size):
        """Read the remaining rows in chunks of `size`; an error comes last."""
        problem = None
        while problem is None:
            rows, fingerprints = [], []
            try:
                for row, fingerprint, _ in self._limited_rows(size, waits=False):
                    rows.append(row)
                    fingerprints.append(fingerprint)
            except UserError as error:
                problem = error
            if not rows and problem is None:
                return
            labels = [""] * len(rows)
            if self._label is not None:
                labels = [row.pop(self._label) for row in rows]
            X, unparseable, row_problem = self._matrix(rows)
            n, first = len(X), self.n_rows + 1
            self.n_rows += n
            problem = row_problem or problem
            yield Chunk(first, X, labels[:n], fingerprints[:n], unparseable, problem)

    def _matrix(self, rows):
        """Convert fields to numbers and categories, up to an invalid row."""
        n_rows, problem = len(rows), None
        columns, unparseable = [], []
        texts_of = zip(*rows, strict=True) if rows else [()] * len(self.features)
        for index, (texts, parser) in enumerate(
            zip(texts_of, self.parsers, strict=True)
        ):
            if parser is None:
                columns.append(_categories(texts))
                continue
            if index in self._ambiguous and parser is COMMA:
                text = changed_by_sign(texts, COMMA)  # the first such text, or None
                if text is not None:
                    self._ambiguous.remove(index)
                    note = f"column {self.features[index]!r}: {sign_note(text, COMMA)}"
                    self.late_notes.append(note)
            column, unparseable_rows = read_numbers(texts, parser)
            unparseable += [
                (row, index, texts[row].strip()) for row in unparseable_rows
            ]
            infinite = np.flatnonzero(np.isinf(column[:n_rows]))
            if len(infinite):
                n_rows = infinite[0]
                problem = UserError(
                    f"{self.path}, row {self.n_rows + n_rows + 1}, column "
                    f"{self.features[index]!r}: {texts[n_rows]!r} is infinite or too "
                    "large for float32"
                )
            columns.append(column)
        unparseable = sorted(value for value in unparseable if value[0] < n_rows)
        return as_matrix(columns, n_rows, self.parsers), unparseable, problem


def _open(source, mode):
    """Open a path, or buffer a file that fsspec has opened."""
    is_path = isinstance(source, (str, os.PathLike))
    return open(source, mode) if is_path else io.BufferedReader(source)


def _checked_delimiter(sign):
    sign = {"tab": "\t", "\\t": "\t", "space": " "}.get(sign, sign)
    if sign is not None and (len(sign) != 1 or sign in '\r\n"'):
        raise UserError(
            f"--delimiter must be one character, tab or space; got {sign!r}"
        )
    return sign


def _raising(error):
    """Return an iterator whose first step raises an error."""
    raise error
    yield


def _categories(texts):
    """Return texts as categories, None for missing values."""
    categories = np.empty(len(texts), dtype=object)
    categories[:] = [
        None if text.lower() in MISSING_CATEGORY else text
        for text in map(str.strip, texts)
    ]
    return categories


class JsonLinesStream(CsvStream):
    """Reader of JSON lines: an object per row, whose keys are the columns.

    The first rows determine the columns, unless they are `known`. Values become texts,
    which are read as those of CSV; a missing key or null is a missing value.
    """

    def __init__(self, path, target, *, known=None, **options):
        self._known = known
        super().__init__(path, target, **options)

    def _read_header(self, target):
        ahead, rest = [], self._read_objects()
        names, problem = self._known, None
        if names is None:
            try:
                ahead.extend(islice(rest, self._n_lookahead))
            except UserError as error:
                rest, problem = _raising(error), error
            names = list(dict.fromkeys(chain.from_iterable(row for row, *_ in ahead)))
            self._n_ahead = len(ahead)
        if not names:
            raise problem or UserError(
                f"{self.path} is empty; it must contain one JSON object per line"
            )
        self._objects = chain(ahead, rest)
        self._set_header(names, target, ",")

    def _read_objects(self):
        # Yields each object with the fingerprint of the lines up to it and its length.
        with self._named_errors():
            for line in iter(self._line, ""):
                text = line.removeprefix("\ufeff").strip()
                length, self._length = self._length, 0
                if not text:
                    continue
                try:
                    row = json.loads(text)
                except (ValueError, RecursionError) as error:
                    row, problem = None, error
                if not isinstance(row, dict):
                    problem = problem if row is None else type(row).__name__
                    raise UserError(
                        f"{self.path}, line {self._n_lines}: not a JSON object: "
                        f"{problem}"
                    )
                self._lines_fingerprint = zlib.crc32(
                    text.encode(), self._lines_fingerprint
                )
                texts = {key: self._text(key, value) for key, value in row.items()}
                yield texts, self._lines_fingerprint, length

    def _text(self, key, value):
        if isinstance(value, dict | list):
            raise UserError(
                f"{self.path}, line {self._n_lines}, key {key!r}: the value is a "
                f"{type(value).__name__}; only numbers, strings, booleans and null are "
                "supported"
            )
        if isinstance(value, str):
            return value
        return "" if value is None else json.dumps(value)

    def _read(self):
        names, unknown = self.header, set()
        for row, fingerprint, length in self._objects:
            new = row.keys() - set(names) - unknown if len(row) else ()
            if new and not unknown:
                listed = ", ".join(map(repr, sorted(new)))
                self.late_notes.append(
                    f"keys that do not occur in the first rows are ignored: {listed}"
                )
            unknown.update(new)
            yield [row.get(name, "") for name in names], fingerprint, length


BATCH = 8192  # rows decoded at a time
BUFFER = 65_536  # bytes of a column that are read at a time
MAX_FIELD_CHARACTERS = 131_072  # the limit of the csv module
MAX_BYTES = 2**26  # size of the rows decoded at a time, by the metadata of the file
STRING_TYPES = {"string", "large_string", "string_view"}
DICTIONARY_TYPES = {*STRING_TYPES, "binary", "large_binary", "binary_view"}


class ParquetStream:
    """Reader of a Parquet file, in batches of a row group (a block of rows)."""

    late_notes = ()  # notes on columns that the first rows did not show
    has_fingerprints = True

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
            # a `DataFile` opens remote files
            source = path.open() if hasattr(path, "filesystem") else path
            with pq.ParquetFile(source) as file:
                self._schema = schema = file.schema_arrow
            # Texts are read as codes: a few bytes of a file can be a text in every row.
            texts = [
                field.name for field in schema if str(field.type) in DICTIONARY_TYPES
            ]
            # a row group may be large: no column of it is read at once
            self._file = pq.ParquetFile(
                source, read_dictionary=texts, buffer_size=BUFFER
            )
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from error
        except pa.ArrowException as error:
            raise UserError(f"{path} is not a Parquet file: {error}") from error
        try:
            self.header = list(schema.names)
            self.features = check_header(path, self.header, target)
            kinds = [schema.field(index).type for index in range(len(self.header))]
            self._label = None
            if target is not None:
                self._label = self.header.index(target)
                del kinds[self._label]
            self._contents = [
                self._content(name, kind)
                for name, kind in zip(self.features, kinds, strict=True)
            ]
            self.parsers = [POINT] * len(self.features)
        except BaseException:
            self._file.close()
            raise
        self._columns = None  # names of the columns that are read; None: all
        self._batches = self._read()
        self._buffered = None, [], [], []  # the rest of a batch, as from `_read`

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close(force=True)  # also a file that fsspec has opened

    def _content(self, name, kind):
        """Return "categories", "texts", "dates" or "numbers" for an Arrow type."""
        import pyarrow as pa

        if pa.types.is_dictionary(kind):
            return "categories"
        if str(kind) in STRING_TYPES:
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
            f"{self.path}, column {name!r} has the type {kind}; only numbers, strings "
            "and dates are supported. Drop or convert it"
        )

    def restrict(self, names):
        """Read only these features, without fingerprints, which is faster."""
        contents = dict(zip(self.features, self._contents, strict=True))
        self.features = [name for name in self.features if name in names]
        self.header = [
            name for name in self.header if name in (*self.features, self.target)
        ]
        if self.target is not None:
            self._label = self.header.index(self.target)
        self._contents = [contents[name] for name in self.features]
        self.parsers = [POINT] * len(self.features)
        self._columns, self.has_fingerprints = self.header, False

    def holds_texts(self, name):
        """Whether a column contains strings that are not dictionary-encoded."""
        return self._contents[self.features.index(name)] == "texts"

    def lookahead(self):
        """Infer the types of `features` from Arrow types and up to 1,000 rows."""
        heads = [[] for _ in self.features]
        n_rows = 0
        n_bytes = 0
        for batch in self._batches_of(self._columns):
            n_bytes += batch.nbytes
            batch = batch.slice(0, N_INFERENCE_ROWS - n_rows)
            n_rows += len(batch)
            for head, index in zip(heads, self._feature_indices(), strict=True):
                texts = self._texts(batch, index)
                head += ["" if column is None else column for column in texts]
            if n_rows == N_INFERENCE_ROWS or n_bytes > MAX_BYTES:
                break
        return list(map(self._infer_type, self._contents, heads, self.features))

    def _infer_type(self, content, texts, name):
        if content == "dates":
            note = "dates are read as days since 1970-01-01"
            return ColumnType(DATE, [note], numbers=DATE)
        if content == "numbers":
            column = infer_column(texts)
            notes = column.notes if column.parser is POINT else []
            return ColumnType(POINT, notes, numbers=POINT)
        column = infer_column(
            texts, dates=self._dates, name=name, decimal=self._decimal
        )
        column = column._replace(name_is_value=False)
        if content == "categories":
            notes = [] if column.parser else column.notes
            return column._replace(parser=None, notes=notes, identifies_rows=False)
        if column.parser is None or not any(texts):
            return column._replace(parser=None, identifies_rows=False)
        note = f"strings are read as numbers; --nominal {name} makes categories"
        return column._replace(notes=[note, *column.notes])

    def _feature_indices(self):
        """Return the indices of the features among all columns."""
        return (index for index in range(len(self.header)) if index != self._label)

    @contextlib.contextmanager
    def _named_errors(self):
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise UserError(f"cannot read {self.path}: {error}") from error

    def _batches_of(self, columns):
        size = BATCH
        metadata = self._file.metadata
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            if group.num_rows:
                max_rows = MAX_BYTES * group.num_rows // max(group.total_byte_size, 1)
                size = max(1, min(size, max_rows))
        with self._named_errors():
            for batch in self._file.iter_batches(batch_size=size, columns=columns):
                # the name of another column may begin with "NAME."
                yield batch if columns is None else batch.select(columns)

    def _texts(self, batch, index):
        """Return the texts of a column, None for missing values."""
        with self._named_errors():
            texts, codes = _dictionary_codes(batch.column(index))
        longest = max((len(text) for text in texts if text is not None), default=0)
        if longest > MAX_FIELD_CHARACTERS:
            raise UserError(
                f"{self.path}, column {self.header[index]!r}: a text of {longest} "
                f"characters; at most {MAX_FIELD_CHARACTERS} are read"
            )
        return [texts[code] for code in codes]

    def _read(self):
        # Yields, per batch, the rows, their labels, a checksum of each row, and the
        # texts that are not numbers.
        for batch in self._batches_of(self._columns):
            columns, unparseable = [], [[] for _ in range(len(batch))]
            labels = [""] * len(batch)
            if self._label is not None:
                labels = [text or "" for text in self._texts(batch, self._label)]
            checksums = labels
            if self.has_fingerprints:
                checksums = [zlib.crc32(label.encode()) for label in labels]
            kinds = zip(
                self._feature_indices(), self._contents, self.parsers, strict=True
            )
            for feature, (index, content, parser) in enumerate(kinds):
                column = batch.column(index)
                if content in ("texts", "categories") or parser is None:
                    texts = self._texts(batch, index)
                    # A mark makes missing and empty texts differ in the checksum. These
                    # are generators, because many rows may share a long text.
                    marked = ("-" if text is None else f"+{text}" for text in texts)
                    parts = (text.encode() for text in marked)
                if parser is None:
                    column = np.empty(len(batch), dtype=object)
                    column[:] = texts
                elif content in ("texts", "categories"):
                    texts = ["" if text is None else text for text in texts]
                    column, missed = read_numbers(texts, parser)
                    for row in missed:
                        unparseable[row].append((feature, texts[row].strip()))
                else:
                    with self._named_errors():
                        column = (_days if content == "dates" else _numbers)(column)
                    parts = (value.tobytes() for value in column)
                if self.has_fingerprints:
                    checksums = list(map(zlib.crc32, parts, checksums))
                columns.append(column)
            X = as_matrix(columns, len(batch), self.parsers)
            yield X, labels, checksums, unparseable

    def _next_rows(self, size):
        """Return up to `size` rows, and none at the end of the file."""
        while not self._buffered[1]:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._buffered = batch
        taken, self._buffered = (
            tuple(part if part is None else part[cut] for part in self._buffered)
            for cut in (slice(size), slice(size, None))
        )
        X, labels, checksums, unparseable = taken
        fingerprints = []
        for checksum in checksums if self.has_fingerprints else ():
            self.fingerprint = zlib.crc32(checksum.to_bytes(4), self.fingerprint)
            fingerprints.append(self.fingerprint)
        unparseable = [
            (row, *value) for row, values in enumerate(unparseable) for value in values
        ]
        return X, labels, fingerprints, unparseable

    def tables(self, names):
        """Yield some columns of all rows as Arrow tables."""
        import pyarrow as pa

        schema = pa.schema([self._schema.field(name) for name in names])
        for batch in self._batches_of(names):
            yield pa.Table.from_batches([batch]).cast(schema)

    def skip(self, n_rows):
        """Read on to the row after the first `n_rows`; False if there are fewer."""
        while self.n_rows < n_rows:
            taken = len(self._next_rows(n_rows - self.n_rows)[1])
            if not taken:
                return False
            self.n_rows += taken
        return True

    def labels(self):
        """Read to the end; return each distinct label with its first row."""
        first_rows = {}
        for batch in self._batches_of([self.target]):
            index = batch.schema.get_field_index(self.target)
            for row, label in enumerate(self._texts(batch, index), self.n_rows + 1):
                first_rows.setdefault(label or "", row)
            self.n_rows += len(batch)
        return first_rows

    def chunks(self, size):
        """Read the remaining rows in chunks of at most `size`."""
        while True:
            X, labels, fingerprints, unparseable = self._next_rows(size)
            if not labels:
                return
            X, problem = self._checked(X)
            n, first = len(X), self.n_rows + 1
            self.n_rows += n
            unparseable = [value for value in unparseable if value[0] < n]
            yield Chunk(first, X, labels[:n], fingerprints[:n], unparseable, problem)
            if problem is not None:
                return

    def _checked(self, X):
        numeric = [j for j, parser in enumerate(self.parsers) if parser is not None]
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

    # float64 represents microseconds exactly over the range of dates
    column = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    days = column.to_numpy(zero_copy_only=False).astype(np.float64) / 86_400e6
    return days.astype(np.float32)


def _dictionary_codes(column):
    """Return the distinct texts of a column, and the index of each row's text.

    Rows are not decoded separately, because many of them may share a long text.
    """
    import pyarrow as pa

    codes = range(len(column))
    if pa.types.is_dictionary(column.type):
        codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        used, codes = np.unique(codes, return_inverse=True)
        used = pa.array(used, mask=used == -1)
        column, codes = column.dictionary.take(used), codes.tolist()
    return column.cast(pa.string()).to_pylist(), codes


class SelectedStream:
    """Wrapper of a reader that leaves out some columns and rows."""

    def __init__(self, stream, drop, skip_missing=False):
        self._stream = stream
        self._skip = skip_missing
        self.excluded = excluded_columns(stream, drop)  # written by skconftree
        drop = [*drop, *self.excluded]
        dropped = set(indices_of(drop, stream.features, "--drop"))
        self._selected = range(len(stream.features))
        self.select([j for j in self._selected if j not in dropped])
        if not self.features:
            raise UserError("--drop leaves no features")
        self.header = [name for name in stream.header if name not in drop]
        self.n_ignored = 0  # number of rows

    def select(self, indices):
        """Retain some of the columns."""
        self._selected = [self._selected[index] for index in indices]
        self.features = [self._stream.features[index] for index in self._selected]

    def __enter__(self):
        self._stream.__enter__()
        return self

    def __exit__(self, *error):
        self._stream.__exit__(*error)

    def __getattr__(self, name):
        # path, n_rows, fingerprint, skip
        return getattr(self._stream, name)

    @property
    def parsers(self):
        """Parsers of the columns, None for a nominal column."""
        return [self._stream.parsers[index] for index in self._selected]

    @parsers.setter
    def parsers(self, parsers):
        all_parsers = [None] * len(self._stream.features)
        for index, parser in zip(self._selected, parsers, strict=True):
            all_parsers[index] = parser
        self._stream.parsers = all_parsers

    def lookahead(self):
        """Infer the types of `features`."""
        types = self._stream.lookahead()
        return [types[index] for index in self._selected]

    def labels(self):
        """Return each distinct label with its first row."""
        first_rows = self._stream.labels()
        if not self._skip:
            return first_rows
        return {text: row for text, row in first_rows.items() if not is_missing(text)}

    def chunks(self, size):
        """Read the remaining rows in chunks of at most `size`."""
        for chunk in self._stream.chunks(size):
            yield from self._rows(self._columns(chunk))

    def _columns(self, chunk):
        if len(self._selected) == len(self._stream.features):
            return chunk
        new_index = {index: new for new, index in enumerate(self._selected)}
        X = chunk.X[:, self._selected]
        if None not in self.parsers:
            X = X.astype(np.float32)
        unparseable = [
            (row, new_index[index], text)
            for row, index, text in chunk.unparseable
            if index in new_index
        ]
        return chunk._replace(X=X, unparseable=unparseable)

    def _rows(self, chunk):
        # splits a chunk at the rows that are skipped
        skipped = [-1, len(chunk.labels)]
        if self._skip:
            skipped[1:1] = [
                row for row, label in enumerate(chunk.labels) if is_missing(label)
            ]
        self.n_ignored += len(skipped) - 2
        starts = [row + 1 for row in skipped]
        for start, stop in zip(starts, skipped[1:], strict=False):
            last = stop == len(chunk.labels)
            if start == stop and not (last and chunk.problem is not None):
                continue
            part = slice(start, stop)
            yield chunk._replace(
                first=chunk.first + start,
                X=chunk.X[part],
                labels=chunk.labels[part],
                fingerprints=chunk.fingerprints[part],
                unparseable=[
                    (row - start, index, text)
                    for row, index, text in chunk.unparseable
                    if start <= row < stop
                ],
                problem=chunk.problem if last else None,
            )


READERS = {".parquet": ParquetStream, ".pq": ParquetStream}


def is_parquet(path):
    """Whether the name of a file, or None, is that of a Parquet file."""
    return str(path).endswith(tuple(READERS))


_spooled = []  # path of the file that standard input was copied to


def spool():
    # Copy standard input to a temporary file, and return its path: tables may be read
    # twice, but standard input can only be read once.
    if _spooled:
        return _spooled[0]
    if sys.stdin is None:
        raise UserError("cannot read standard input: it is closed")
    try:
        with tempfile.NamedTemporaryFile(suffix=".csv", delete=False) as file:
            _spooled.append(file.name)
            atexit.register(_forget)
            shutil.copyfileobj(sys.stdin.buffer, file)
    except OSError as error:
        _forget()
        raise UserError(
            f"cannot copy standard input to {tempfile.gettempdir()}: {error.strerror}"
        ) from error
    return file.name


def _forget():
    while _spooled:
        with contextlib.suppress(OSError):
            os.unlink(_spooled.pop())
