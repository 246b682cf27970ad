"""Readers of tables: CSV and Parquet, and the dialect of a CSV file.

A reader goes through a table once, from the first row to the last, and never holds all
of it. It has `header` (names of all columns), `features` (those besides the target),
`n_rows` (rows read so far), `fingerprint` (a checksum of them), and the methods of
`CsvStream`. What the columns are has to be settled, in `readings` (None for a nominal
one), before rows are read; `lookahead` tells what the table itself says about that.
"""

import atexit
import bz2
import codecs
import contextlib
import csv
import gzip
import io
import lzma
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ._columns import (
    COMMA,
    DATE,
    HEAD,
    MAX_UNPARSEABLE,
    N_UNPARSEABLE_ALLOWED,
    POINT,
    Guess,
    changed_by_sign,
    guess,
    guess_columns,
    other_decimal,
    read_numbers,
    sign_note,
    unparseable_note,
)
from ._common import MISSING_CATEGORY, as_decimal
from ._options import meant
from ._text import UserError

MAX_COLUMN_CATEGORIES = 4096  # as many as a nominal column of a tree may have
MAX_NAMES = 30  # listed in an error


class Piece(NamedTuple):
    """Consecutive rows; if `problem` is not None, the row after them is at fault."""

    first: int  # number of the first row; the first of the table is row 1
    X: np.ndarray  # (n_rows, n_features): float32, or objects if a column is nominal
    labels: list[str]
    fingerprints: list[int]  # of the table up to and with each row
    strays: list[tuple[int, int, str]]  # row of the piece, place, text; by rows
    problem: UserError | None


def check_header(path, header, target):
    """Check the names of the columns, and give those of the features."""
    twice = sorted(name for name, times in Counter(header).items() if times > 1)
    if twice:
        at = [str(n) for n, name in enumerate(header, 1) if name == twice[0]]
        raise UserError(
            f"{path} has more than one column named {twice[0]!r}: columns "
            f"{', '.join(at[:-1])} and {at[-1]}; if its first line is a row, write a "
            "line with the names of the columns above it"
        )
    if target is None:
        return list(header)
    if target not in header:
        if len(header) > 1 and all(as_decimal(name) is not None for name in header):
            raise UserError(
                f"there is no column {target!r} in {path}, whose first line has "
                "numbers only; it should have the names of the columns"
            )
        hint = meant(target, header)
        if not hint and any(as_decimal(name) is not None for name in header):
            hint = (
                " If that is a row of the table, write a line with the names of the "
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
    """Some names of columns."""
    shown = ", ".join(names[:MAX_NAMES])
    left = len(names) - MAX_NAMES
    return f"{shown} and {left} more" if left > 0 else shown


def indices_of(names, features, option):
    """Find the columns that an option names among the features."""
    places = {name: place for place, name in enumerate(features)}
    unknown = [name for name in names if name not in places]
    if unknown:
        raise UserError(
            f"{option} {unknown[0]!r} is not one of the columns besides the target: "
            f"{listed(features)}.{meant(unknown[0], features)}"
        )
    return [places[name] for name in names]


def header_notes(stream):
    """Say what stands above the header."""
    remarks = getattr(stream, "remarks", ())
    if not remarks:
        return []
    more = f" and {len(remarks) - 1} more" if len(remarks) > 1 else ""
    are = "are" if more else "is"
    return [f"{remarks[0][:60]!r}{more} above the header {are} left out"]


def headless(stream, guesses):
    """Warn that the first line may be a row; empty if that is unlikely."""
    header = stream.header
    numbers = [name for name in header if as_decimal(name) is not None]
    if 2 * len(numbers) >= max(len(header), 1):
        why = f"columns have names such as {numbers[0]!r}"
    elif guesses and all(one.holds_name for one in guesses):
        why = f"columns have names that are values below them, such as {header[0]!r}"
    else:
        return ""
    return (
        f"{stream.path} may have no header, as {why}; if its first line is a row, "
        "write a line with the names of the columns above it"
    )


def settle_columns(stream, named, numeric=(), *, whole=False):
    """Settle columns by their guesses and what the user says; return notes on them."""
    found = dict(enumerate(stream.lookahead()))
    notes = list(filter(None, [headless(stream, list(found.values()))]))
    for place in indices_of(named, stream.features, "--nominal"):
        found[place] = Guess(None, [])
    for place in indices_of(numeric, stream.features, "--numeric"):
        found[place] = as_numeric(found[place], stream.features[place], named)
    stream.readings = [one.reading for one in found.values()]
    for name, one in zip(stream.features, found.values(), strict=True):
        notes += [f"column {name!r}: {note}" for note in one.notes]
        if one.names_rows and not whole:
            notes.append(
                f"column {name!r}: more than half of the first rows have a category of "
                "their own, so that it names rows rather than describes them; leave it "
                "out if it does"
            )
    return notes


def as_numeric(found, name, nominal):
    """Guess of a column that --numeric names."""
    if name in nominal:
        raise UserError(f"column {name!r} cannot be both --nominal and --numeric")
    if found.numbers is None:
        raise UserError(
            f"--numeric {name}: the values of this column are not numbers, but for a "
            "tenth at most"
        )
    return found._replace(reading=found.numbers, notes=[], names_rows=False)


def nominal_indices(readings):
    """Places of the columns that are not read as numbers."""
    return [place for place, reading in enumerate(readings) if reading is None]


def as_matrix(columns, n_rows, readings):
    """Put columns of numbers, or of texts and None, side by side."""
    kind = object if None in readings else np.float32
    X = np.empty((n_rows, len(columns)), dtype=kind)
    for place, column in enumerate(columns):
        X[:, place] = column[:n_rows]
    return X


def check_categories(known, X, first_row, stream):
    """Return how many rows come before a nominal column has too many, and the error."""
    n_rows, problem = len(X), None
    for place in nominal_indices(stream.readings):
        old = known[place] if known else []
        column = X[:n_rows, place]
        if len(set(old).union(column)) <= MAX_COLUMN_CATEGORIES:
            continue
        seen = set(old)
        for row, value in enumerate(column):
            seen.add(value)
            if len(seen) > MAX_COLUMN_CATEGORIES:
                n_rows = row
                break
        problem = UserError(
            f"row {first_row + n_rows}: column {stream.features[place]!r} has more "
            f"than {MAX_COLUMN_CATEGORIES} categories, the maximum of a tree; "
            f"leave it out by --drop {stream.features[place]}, or group rare ones "
            "under one name in the table; if they are numbers that begin with 0, "
            f"--numeric {stream.features[place]} reads them as such"
        )
    return n_rows, problem


class Strays:
    """Values of numeric columns that are not numbers: how many, and some examples."""

    SHOWN = 4

    def __init__(self, found=()):
        self._found = {place: [n, list(texts)] for place, n, texts in found}

    def as_list(self):
        """What makes an equal object."""
        return [[place, n, texts] for place, (n, texts) in self._found.items()]

    def __iter__(self):
        """Places of the columns that have any."""
        return iter(self._found)

    def count(self, place):
        """How many there are in a column."""
        return self._found[place][0] if place in self._found else 0

    def add(self, place, text):
        """Count one more."""
        entry = self._found.setdefault(place, [0, []])
        entry[0] += 1
        if len(entry[1]) < self.SHOWN and text not in entry[1]:
            entry[1].append(text)

    def check(self, strays, first_row, n_rows, stream):
        """Count strays, up to a row that shows a column not to be of numbers.

        Returns the number of rows of the piece before that one, and the problem, a
        UserError or None.
        """
        for row, of_row in groupby(strays, key=itemgetter(0)):
            if row >= n_rows:
                break
            of_row = list(of_row)
            limit = max(N_UNPARSEABLE_ALLOWED, MAX_UNPARSEABLE * (first_row + row))
            for _, place, text in of_row:
                if self.count(place) + 1 > limit:
                    return row, self._too_many(stream, first_row + row, place, text)
            for _, place, text in of_row:
                self.add(place, text)
        return n_rows, None

    def _too_many(self, stream, row, place, text):
        name = stream.features[place]
        sign = other_decimal([text], stream.readings[place])
        remedy = f"--nominal {name}" if sign is None else f"--decimal {sign}"
        return UserError(
            f"{stream.path}, row {row}, column {name!r}: {text!r} is not a number, nor "
            f"are {self._found[place][0]} values before, though by the first rows it "
            f"was taken for a column of numbers; start afresh with {remedy}"
        )

    def notes(self, stream, *, settled=False):
        """Say what was taken as missing, and how to keep it unless that is settled."""
        return [
            unparseable_note(
                stream.features[place],
                texts,
                n,
                stream.readings[place],
                settled=settled,
            )
            for place, (n, texts) in sorted(self._found.items())
        ]


# Byte order marks; that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
MAX_BOM_BYTES = 4  # bytes


class Dialect(NamedTuple):
    """Delimiter, decimal sign and encoding of a file."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def number(self, value):
        """Write a number with six digits."""
        return f"{value:.6g}".replace(".", self.decimal)

    def can_encode(self, texts):
        """Whether the encoding has all letters of some texts."""
        try:
            "".join(texts).encode(self.encoding)
        except UnicodeError:
            return False
        return True


def encoding_of(name, start):
    """Encoding by the byte order mark, unless the `name` that a user gave differs."""
    marked = next((one for mark, one in _MARKS if start.startswith(mark)), None)
    if name is None:
        return marked or "utf-8"
    try:
        known = codecs.lookup(name).name
        "".encode(known)  # there are codecs that are not of texts
    except (LookupError, UnicodeError):
        raise UserError(
            f"--encoding {name!r} is not known; try utf-8, latin-1, cp1252 or utf-16"
        ) from None
    if known == "utf-8" and marked == "utf-8-sig":
        return marked
    return known


MAX_ROW_CHARACTERS = 2**24  # characters of a row, and of the line with the names
MAX_CHARACTERS = 2**26  # characters of the rows in hand, but for the last of them
OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
REMEDIES = {
    ".zip": "unpack it first: unzip {path}",
    ".zst": "unpack it first: zstd -d {path}",
    ".7z": "unpack it first: 7z x {path}",
    ".xlsx": "save the sheet as CSV first",
    ".xls": "save the sheet as CSV first",
    ".ods": "save the sheet as CSV first",
    ".json": "convert it to CSV first",
    ".jsonl": "convert it to CSV first",
    ".feather": "convert it to Parquet first",
    ".arrow": "convert it to Parquet first",
}


class CsvStream:
    """Rows of a CSV file with a header; one that ends with .gz, .bz2 or .xz is packed.

    By default the encoding is that of the byte order mark, or UTF-8, and the delimiter
    what is most frequent in the header; that of the dialect `like` if there is none, as
    in a file of one column. Messages call the file `name` or by its path.
    Lines of remarks above the header are `remarks`. `dialect` is how the file is
    written; its decimal sign is known after `lookahead`.
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
    ):
        self.path = name or path
        for ending, remedy in REMEDIES.items():
            if str(path).lower().endswith(ending):
                remedy = remedy.format(path=path)
                raise UserError(f"{path} is no CSV file; {remedy}")
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
        self._ahead = ""  # a line that has been looked at
        self._length = 0  # of the row that is being read
        opened = next(
            (one for ending, one in OPENERS.items() if str(path).endswith(ending)), open
        )
        with self._named_errors():
            self._file = opened(path, "rb")
        try:
            with self._named_errors():
                start = self._file.peek(MAX_BOM_BYTES)[:MAX_BOM_BYTES]
            self._encoding = encoding_of(encoding, start)
            self._file = io.TextIOWrapper(self._file, self._encoding, newline="")
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
        """Turn the errors of reading the file into a sentence that names it."""
        try:
            yield
        except (OSError, UnicodeError, csv.Error, EOFError) as error:
            # BadGzipFile is an OSError too, without the number of a system error.
            if getattr(error, "errno", None) is not None:
                raise UserError(f"cannot read {self.path}: {error.strerror}") from error
            remedy = ""
            if isinstance(error, UnicodeError):
                remedy = "; --encoding says in which it is, such as latin-1 or cp1252"
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
                f"{self.path} {what}; its first line has to have the names of the "
                "columns, and rows have to be below it"
            )
        delimiter = self._delimiter or self._most_frequent(first)
        self._csv = csv.reader(self._lines(first), delimiter=delimiter)
        with self._named_errors():
            self.header = [name.strip() for name in next(self._csv, [])]
        self._length = 0
        self.features = check_header(self.path, self.header, target)
        self.readings = [POINT] * len(self.features)
        self.dialect = Dialect(delimiter, self._decimal or ".", self._encoding)
        self.late_notes = []  # on columns, of what the first rows did not show
        self._unsure = (
            set()
        )  # columns in which commas are expected, and no dots were seen
        self._label = None if target is None else self.header.index(target)

    def _first_line(self):
        """The line with the names of the columns, which remarks may stand above."""
        line = self._line().removeprefix("\ufeff")
        asked = re.fullmatch(r"sep=(.)\s*", line)  # of spreadsheets
        if asked and self._delimiter in (None, asked[1]):
            self._delimiter = asked[1]
            line = self._line()
        # `#id,name` is a header: the line below has as many fields.
        while line.startswith("#"):
            below = self._line()
            delimiter = self._delimiter or self._most_frequent(below)
            if not below or line.count(delimiter) == below.count(delimiter) > 0:
                self._ahead = below
                break
            self.remarks.append(line.strip())
            line = below
        self._n_above = self._n_lines - 1 - bool(self._ahead)
        self._length = len(line) + len(self._ahead)
        return line

    def _most_frequent(self, line):
        """The sign that most probably separates the fields of a line."""
        sign = max(",;\t|", key=line.count)
        return sign if sign in line else self._like.delimiter

    def _line(self):
        """The next line, empty at the end, of which no more is read than may be."""
        if self._ahead:
            line, self._ahead = self._ahead, ""
            return line
        line = self._file.readline(MAX_ROW_CHARACTERS + 1)
        self._n_lines += 1
        self._length += len(line)
        if self._length > MAX_ROW_CHARACTERS:
            raise UserError(
                f"{self.path}, line {self._n_lines}: a row of more than "
                f"{MAX_ROW_CHARACTERS} characters; the end of a line or of a "
                "quotation is missing"
            )
        return line

    def _lines(self, first):
        yield first
        for line in iter(self._line, ""):
            # The line's end may change, for one when a row is appended to the last.
            text = line.rstrip("\r\n").encode()
            self._lines_fingerprint = zlib.crc32(text, self._lines_fingerprint)
            yield line

    def _read(self):
        # Rows, each with the fingerprint of the table up to it and its length.
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

    def _some(self, size):
        """Up to `size` rows; fewer, but for the last, if they are long."""
        left = MAX_CHARACTERS
        for row, fingerprint, length in islice(self._source, size):
            yield row, fingerprint, length
            left -= length
            if left <= 0:
                return

    def lookahead(self):
        """Guess each of `features` by the first 1,000 rows, or fewer that are long."""
        ahead, rest = [], self._source
        try:
            ahead.extend(self._some(HEAD))
        except UserError as error:
            rest = _raising(error)
        self._source = chain(ahead, rest)
        columns = list(zip(*(row for row, _, _ in ahead), strict=True))
        if not columns:
            columns = [()] * len(self.header)
        if self._label is not None:
            del columns[self._label]
        guesses, decimal = guess_columns(
            columns,
            self.features,
            semicolons=self.dialect.delimiter == ";",
            decimal=self._decimal,
            dates=self._dates,
        )
        self.dialect = self.dialect._replace(decimal=decimal)
        if self._decimal is None:
            self._unsure = {
                place
                for place, one in enumerate(guesses)
                if one.reading is COMMA and one.ambiguous is None
            }
        return guesses

    def skip(self, n_rows):
        """Read on to the row after the first `n_rows`; False if there are fewer."""
        while self.n_rows < n_rows:
            _, self.fingerprint, _ = next(self._source, (None, None, 0))
            if self.fingerprint is None:
                return False
            self.n_rows += 1
        return True

    def labels(self):
        """Read on to the end, and give each distinct label with its first row."""
        found = {}
        for row, _, _ in self._source:
            self.n_rows += 1
            found.setdefault(row[self._label], self.n_rows)
        return found

    def pieces(self, size):
        """Read the remaining rows, `size` a piece; valid ones before an error."""
        problem = None
        while problem is None:
            rows, fingerprints = [], []
            try:
                for row, fingerprint, _ in self._some(size):
                    rows.append(row)
                    fingerprints.append(fingerprint)
            except UserError as error:
                problem = error
            if not rows and problem is None:
                return
            labels = [""] * len(rows)
            if self._label is not None:
                labels = [row.pop(self._label) for row in rows]
            X, strays, wrong = self._matrix(rows)
            n, first = len(X), self.n_rows + 1
            self.n_rows += n
            problem = wrong or problem
            yield Piece(first, X, labels[:n], fingerprints[:n], strays, problem)

    def _matrix(self, rows):
        """Turn fields into numbers and categories, up to a row with a wrong one."""
        n_rows, problem = len(rows), None
        columns, strays = [], []
        texts_of = zip(*rows, strict=True) if rows else [()] * len(self.features)
        for place, (texts, reading) in enumerate(
            zip(texts_of, self.readings, strict=True)
        ):
            if reading is None:
                columns.append(_categories(texts))
                continue
            if place in self._unsure and reading is COMMA:
                text = changed_by_sign(texts, COMMA)
                if text is not None:
                    self._unsure.remove(place)
                    note = f"column {self.features[place]!r}: {sign_note(text, COMMA)}"
                    self.late_notes.append(note)
            column, missed = read_numbers(texts, reading)
            strays += [(row, place, texts[row].strip()) for row in missed]
            infinite = np.flatnonzero(np.isinf(column[:n_rows]))
            if len(infinite):
                n_rows = infinite[0]
                problem = UserError(
                    f"{self.path}, row {self.n_rows + n_rows + 1}, column "
                    f"{self.features[place]!r}: {texts[n_rows]!r} is infinite or too "
                    "large for float32"
                )
            columns.append(column)
        strays = sorted(one for one in strays if one[0] < n_rows)
        return as_matrix(columns, n_rows, self.readings), strays, problem


def _checked_delimiter(sign):
    sign = {"tab": "\t", "\\t": "\t", "space": " "}.get(sign, sign)
    if sign is not None and (len(sign) != 1 or sign in '\r\n"'):
        raise UserError(f"--delimiter must be one sign, or tab, or space; got {sign!r}")
    return sign


def _raising(error):
    raise error
    yield


def _categories(texts):
    """Texts, None where one is missing."""
    found = np.empty(len(texts), dtype=object)
    found[:] = [
        None if text.lower() in MISSING_CATEGORY else text
        for text in map(str.strip, texts)
    ]
    return found


BATCH = 8192  # rows decoded at a time
MAX_FIELD_CHARACTERS = 131_072  # characters, as many as a field of CSV may have
MAX_BYTES = 2**26  # bytes of the rows decoded at a time, as the file counts them
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

    def lookahead(self):
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
            if n_rows == HEAD or n_bytes > MAX_BYTES:
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
                most = MAX_BYTES * group.num_rows // max(group.total_byte_size, 1)
                size = max(1, min(size, most))
        with self._named_errors():
            yield from self._file.iter_batches(batch_size=size, columns=columns)

    def _texts(self, batch, place):
        """Texts of a column, and None."""
        with self._named_errors():
            texts, codes = _coded(batch.column(place))
        longest = max((len(one) for one in texts if one is not None), default=0)
        if longest > MAX_FIELD_CHARACTERS:
            raise UserError(
                f"{self.path}, column {self.header[place]!r}: a text of {longest} "
                f"characters; at most {MAX_FIELD_CHARACTERS} are read"
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


READERS = {".parquet": ParquetStream, ".pq": ParquetStream}
STANDARD_INPUT = "-"

_spooled = []  # the file that standard input was copied to


def open_stream(path, target, options, like=None):
    """Open a table by the ending of its name; ``"-"`` is standard input.

    Without a target the table has no labels. `options` are those of the command line:
    encoding and delimiter of CSV, the decimal sign, and, if the command has that
    option, the order of dates; see `guess`. `like` is what a model has recorded of its
    own table: the dialect of CSV, whose decimal sign is None unless a user chose it.
    """
    of_texts = {
        "decimal": options.decimal or (like and like.decimal),
        "dates": getattr(options, "dates", None),
    }
    of_csv = {
        "encoding": options.encoding,
        "delimiter": options.delimiter,
        "like": like,
        **of_texts,
    }
    if path == STANDARD_INPUT:
        return CsvStream(_spool(), target, **of_csv, name="standard input")
    for ending, reader in READERS.items():
        if str(path).endswith(ending):
            return reader(path, target, **of_texts)
    return CsvStream(path, target, **of_csv)


def _spool():
    # A table may be read twice, standard input but once.
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
