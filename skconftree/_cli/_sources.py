"""Opening the tables of commands: files, folders, patterns, partitions, addresses.

A *reader* (`_readers`) reads a table once, in chunks of rows; its method `lookahead`
infers the types of columns from the first rows. `parsers` are the parsers of the
columns, and `fingerprint` is the checksum of the rows that have been read. The
*dialect* of a file is its delimiter, decimal sign and encoding.
"""

import re
import sys
import warnings
import zlib

import numpy as np

from ..large import iter_batches
from ..utils import find_files, partition_values
from ._columns import POINT, ColumnType, infer_column, read_numbers
from ._readers import (
    READERS,
    CsvStream,
    JsonLinesStream,
    SelectedStream,
    as_matrix,
    check_header,
    is_parquet,
    listed,
    spool,
)
from ._text import UserError

CSV = tuple(
    f".{kind}{end}" for kind in ("csv", "tsv") for end in ("", ".gz", ".bz2", ".xz")
)

JSON_LINES = re.compile(r"\.(jsonl|ndjson)(\.gz|\.bz2|\.xz)?$")
STANDARD = "-"  # input or output


def files_of(path):
    """Return the files of a table; of a folder, those of Parquet or else of CSV."""
    try:
        try:
            return find_files(path)
        except ValueError as error:
            if "contains no" not in str(error):
                raise
            return find_files(path, CSV)
    except FileNotFoundError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, OSError, ImportError) as error:
        raise UserError(str(error)) from error


class FilesStream:
    """Reader of files with the same columns, which are read as one table.

    It has the methods of `CsvStream`. `open_file(file, target)` opens one of the files.
    Columns whose values are in the names of folders (Hive partitions) follow those of
    the files; they are constant in each file.
    """

    def __init__(self, path, target, files, open_file):
        self.path, self._files, self._open_file = path, files, open_file
        self.n_rows = self.fingerprint = 0
        # of the current file: its index, its first row, the checksum of the rows before
        self._index = self._first = self._fingerprint = 0
        self._notes, self._dialect, self._features_used = [], None, None
        with open_file(files[0], None) as stream:
            self.header = list(stream.header)
        try:
            self._constants = {
                name: values
                for name, values in partition_values(files).items()
                if name not in self.header
            }
        except ValueError as error:
            raise UserError(str(error)) from error
        self.header += self._constants
        self.features = check_header(path, self.header, target)
        self.parsers = [POINT] * len(self.features)
        self._target = None if target in self._constants else target
        # labels by file, if the target is in the names of folders
        self._labels = self._constants.get(target)
        self._stream = open_file(files[0], self._target)
        # method that yields Arrow tables, or None
        self.tables = self._tables if is_parquet(files[0]) else None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stream.__exit__(*error)

    @property
    def dialect(self):
        """Delimiter, decimal sign and encoding of the first file."""
        return self._dialect or self._stream.dialect

    @property
    def remarks(self):
        """Lines above the header."""
        return getattr(self._stream, "remarks", ())

    @property
    def late_notes(self):
        """Notes on columns that the first rows did not show."""
        return [*self._notes, *self._stream.late_notes]

    def restrict(self, names):
        """Read only these features."""
        self._features_used = names
        self.features = [name for name in self.features if name in names]
        self.parsers = [POINT] * len(self.features)
        self._restrict()

    def _restrict(self):
        if self._features_used is not None and hasattr(self._stream, "restrict"):
            self._stream.restrict(self._features_used)

    def holds_texts(self, name):
        """Whether a column contains strings that are not dictionary-encoded."""
        if name in self._constants:
            return any(isinstance(value, str) for value in self._constants[name])
        return self._stream.holds_texts(name)

    def lookahead(self):
        """Infer the types of `features` from the first file and names of folders."""
        types = dict(zip(self._stream.features, self._stream.lookahead(), strict=True))
        for name, values in self._constants.items():
            types[name] = ColumnType(POINT, [], numbers=POINT)
            if self.holds_texts(name):
                types[name] = infer_column([value or "" for value in values])
        return [types[name] for name in self.features]

    def labels(self):
        """Read to the end; return each distinct label with its first row."""
        first_rows = {}
        while True:
            if self._labels is None:
                labels = self._stream.labels()
            else:
                self._stream.skip(sys.maxsize)  # counts the rows
                labels = {self._text(self._labels): 1} if self._stream.n_rows else {}
            for label, row in labels.items():
                first_rows.setdefault(label, self._first + row)
            self.n_rows = self._first + self._stream.n_rows
            if not self._open_next():
                return first_rows

    def skip(self, n_rows):
        """Read on to the row after the first `n_rows`; False if there are fewer."""
        while not self._stream.skip(n_rows - self._first):
            self.n_rows = self._first + self._stream.n_rows
            self.fingerprint = self._combined(self._stream.fingerprint)
            if not self._open_next():
                return False
        self.fingerprint = self._combined(self._stream.fingerprint)
        self.n_rows = n_rows
        return True

    def chunks(self, size):
        """Read the remaining rows in chunks of at most `size`; an error comes last."""
        while True:
            stream = self._stream
            missing = set(self.features) - {*stream.features, *self._constants}
            if missing:
                raise UserError(
                    f"{self._files[self._index]} has no column "
                    f"{listed(sorted(map(repr, missing)))}, unlike {self._files[0]}; "
                    "all files must have the same columns"
                )
            parser_of = dict(zip(self.features, self.parsers, strict=True))
            stream.parsers = [parser_of.get(name) for name in stream.features]
            for chunk in stream.chunks(size):
                yield self._with_constants(chunk)
                if chunk.problem is not None:
                    return
            if not self._open_next():
                return

    def _with_constants(self, chunk):
        # Return a chunk with the columns of the table; its rows are numbered through
        # all files.
        names, n = self._stream.features, len(chunk.labels)
        columns = dict(zip(names, chunk.X.T, strict=True))
        for name, parser in zip(self.features, self.parsers, strict=True):
            if name in self._constants:
                text = self._text(self._constants[name])
                value = text or None
                if parser is not None:
                    value = read_numbers([text], parser)[0][0]
                columns[name] = np.full(n, value)
        index_of = {name: index for index, name in enumerate(self.features)}
        fingerprints = list(map(self._combined, chunk.fingerprints))
        self.fingerprint = fingerprints[-1] if fingerprints else self.fingerprint
        first, self.n_rows = self.n_rows + 1, self.n_rows + n
        return chunk._replace(
            first=first,
            X=as_matrix([columns[name] for name in self.features], n, self.parsers),
            labels=chunk.labels
            if self._labels is None
            else [self._text(self._labels)] * n,
            fingerprints=fingerprints,
            unparseable=[
                (row, index_of[names[index]], text)
                for row, index, text in chunk.unparseable
                if names[index] in index_of
            ],
        )

    def _text(self, values):
        # Return the text of a column that is constant in the current file.
        value = values[self._index]
        return "" if value is None else str(value)

    def _combined(self, fingerprint):
        return zlib.crc32(fingerprint.to_bytes(4), self._fingerprint)

    def _open_next(self):
        # Open the next file; False if there is none.
        if self._index + 1 == len(self._files):
            return False
        self._dialect = self.dialect
        self._notes += self._stream.late_notes
        self._first += self._stream.n_rows
        self._fingerprint = self.fingerprint
        self._stream.__exit__()
        self._index += 1
        self._stream = self._open_file(self._files[self._index], self._target)
        self._restrict()
        return True

    def _tables(self, names):
        with warnings.catch_warnings(action="ignore"):  # types of numbers that differ
            yield from iter_batches(self.path, names)


def open_stream(path, target, options, like=None):
    """Open a table by the extension of its name; ``"-"`` is standard input.

    If `target` is None, the table has no labels. `options` are those of the command
    line: encoding and delimiter of CSV, the decimal sign, and, if the command has that
    option, the order of dates; see `infer_column`. `like` is the dialect of the table
    of a model; its decimal sign is None unless the user set it.
    """
    text_options = {
        "decimal": options.decimal or (like and like.decimal),
        "dates": getattr(options, "dates", None),
    }
    csv_options = {
        "encoding": options.encoding,
        "delimiter": options.delimiter,
        "like": like,
        **text_options,
    }
    if getattr(options, "settle_after", None):  # rows that determine the types
        csv_options["n_lookahead"] = options.settle_after
    # columns of a resumed run, which its first rows of JSON may lack; None: infer them
    json_options = {**csv_options, "known": getattr(options, "known_columns", None)}
    if path == STANDARD:
        source = getattr(options, "source", None)
        piped = {"name": "standard input", "source": source}
        if source is None:
            path = spool()  # a file with a copy of standard input
            with open(path, "rb") as file:
                is_json = file.read(1000).lstrip().startswith(b"{")
        else:
            is_json = source.begins_with_object()
        if is_json:
            return JsonLinesStream(path, target, **json_options, **piped)
        return CsvStream(path, target, **csv_options, **piped)

    def open_file(path, target):
        if JSON_LINES.search(str(path)):
            return JsonLinesStream(path, target, **json_options)
        for ending, reader in READERS.items():
            if str(path).endswith(ending):
                return reader(path, target, **text_options)
        return CsvStream(path, target, **csv_options)

    files = files_of(path)
    # `partition`: values of columns in the names of the folders
    if len(files) == 1 and not files[0].partition:
        return open_file(path if files[0].path == path else files[0], target)
    return FilesStream(path, target, files, open_file)


def open_selected(options, skip_missing=False):
    """Open the training table of a command without the columns to leave out."""
    stream = open_stream(options.data, options.target, options)
    try:
        return SelectedStream(stream, options.drop, skip_missing)
    except UserError:
        with stream:
            raise
