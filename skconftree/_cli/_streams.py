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


def open_stream(path, target, *, encoding="utf-8", delimiter=None, dates=None):
    """Open a table by the ending of its name; ``"-"`` is standard input.

    Encoding and delimiter are those of CSV; without a target the table has no labels.
    `dates` is the order of dates that are written as texts, see `guess`.
    """
    if path == STANDARD_INPUT:
        return CsvStream(
            _spool(),
            target,
            encoding=encoding,
            delimiter=delimiter,
            dates=dates,
            name="standard input",
        )
    for ending, reader in READERS.items():
        if str(path).endswith(ending):
            return reader(path, target, dates=dates)
    return CsvStream(path, target, encoding=encoding, delimiter=delimiter, dates=dates)


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
