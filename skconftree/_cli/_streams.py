"""Which reader a table needs. Another format is another reader and a row here."""

import atexit
import contextlib
import os
import shutil
import sys
import tempfile

from ._csv_stream import CsvStream
from ._parquet_stream import ParquetStream
from ._text import UserError

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
