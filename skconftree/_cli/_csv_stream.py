"""The reader of CSV files."""

import bz2
import csv
import gzip
import io
import lzma
import re
import zlib
from functools import partial
from itertools import chain, islice

import numpy as np

from ._columns import (
    COMMA,
    HEAD,
    POINT,
    changed_by_sign,
    guess_columns,
    read_numbers,
    sign_note,
)
from ._common import MISSING_CATEGORY
from ._dialect import MOST_OF_MARK, Dialect, encoding_of
from ._reading import Piece, as_matrix, check_header
from ._text import UserError

MOST_OF_ROW = 2**24  # characters of a row, and of the line with the names
MOST_AT_ONCE = 2**26  # characters of the rows in hand, but for the last of them
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
    written; its decimal sign is known after `look_ahead`.
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
                start = self._file.peek(MOST_OF_MARK)[:MOST_OF_MARK]
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

    def _named_errors(self):
        return _NamedErrors(self.path, self._encoding)

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
        line = self._file.readline(MOST_OF_ROW + 1)
        self._n_lines += 1
        self._length += len(line)
        if self._length > MOST_OF_ROW:
            raise UserError(
                f"{self.path}, line {self._n_lines}: a row of more than {MOST_OF_ROW} "
                "characters; the end of a line or of a quotation is missing"
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
        left = MOST_AT_ONCE
        for row, fingerprint, length in islice(self._source, size):
            yield row, fingerprint, length
            left -= length
            if left <= 0:
                return

    def look_ahead(self):
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
        """Read the rows that remain, at most `size` a piece.

        When a row is at fault, the rows before it are given first.
        """
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
                self._note_sign(place, texts)
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

    def _note_sign(self, place, texts):
        """Note the first value of a column that the other decimal sign would change."""
        text = changed_by_sign(texts, COMMA)
        if text is not None:
            self._unsure.remove(place)
            note = f"column {self.features[place]!r}: {sign_note(text, COMMA)}"
            self.late_notes.append(note)


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


class _NamedErrors:
    """Turn the errors of reading a file into a sentence that names the file."""

    def __init__(self, path, encoding):
        self.path = path
        self.encoding = encoding

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        # BadGzipFile is an OSError too, without the number of a system error.
        if isinstance(error, OSError) and error.errno is not None:
            raise UserError(f"cannot read {self.path}: {error.strerror}") from error
        if isinstance(error, OSError | UnicodeError | csv.Error | EOFError):
            remedy = ""
            if isinstance(error, UnicodeError):
                remedy = "; --encoding says in which it is, such as latin-1 or cp1252"
            called = "UTF-8" if self.encoding.startswith("utf-8") else self.encoding
            raise UserError(
                f"{self.path} is not a CSV file in {called}: {error}{remedy}"
            ) from error
        if isinstance(error, zlib.error | lzma.LZMAError):
            raise UserError(f"cannot unpack {self.path}: {error}") from error
