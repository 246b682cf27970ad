"""Input that is read while it arrives: lines of a pipe, and rows of JSON lines."""

import codecs
import json
import os
import select
import zlib
from collections import deque
from itertools import chain, islice

from ._readers import CsvStream, raising
from ._text import UserError

BLOCK = 2**16  # bytes read at a time
PAUSE = 0.1  # seconds between two looks at a signal that ends the run
POLLS = os.name == "posix"  # elsewhere, `select` does not support pipes


class LiveInput:
    """Lines of a pipe, each as soon as it has arrived.

    If `stopped` returns True, the input ends after the lines that have arrived.
    """

    def __init__(self, file, stopped):
        self._fd, self._stopped = file.fileno(), stopped
        self._bytes, self._rest = b"", ""
        self._lines = deque()
        self._decoder = None
        self._ended = False

    @property
    def is_ready(self):
        """Whether a line can be read without waiting."""
        return bool(self._lines)

    def peek(self, n):
        """Return at least `n` bytes of the beginning, or all of a shorter input."""
        while len(self._bytes) < n and self._receive():
            pass
        return self._bytes

    def begins_with_object(self):
        """Whether the first character, except blanks, is that of a JSON object."""
        while not (start := self._bytes.removeprefix(codecs.BOM_UTF8).lstrip()):
            if not self._receive():
                break
        return start.startswith(b"{")

    def decode(self, encoding):
        """Set the encoding, before the first line is read."""
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._split()

    def readline(self, size=-1):
        """Wait for the next line and return it; empty at the end."""
        while not self._lines:
            if 0 <= size <= len(self._rest):
                break
            if not self._receive():
                self._rest += self._decoder.decode(b"", final=not self._stopped())
                if self._stopped():
                    self._rest = ""  # the beginning of a line
                break
            self._split()
        else:
            return self._lines.popleft()
        line, self._rest = self._rest, ""
        return line

    read = readline

    def close(self):
        """Do nothing: the caller opened the file."""

    def _receive(self):
        # Wait for bytes; False at the end.
        while not self._ended and not self._stopped():
            if POLLS and not select.select([self._fd], [], [], PAUSE)[0]:
                continue
            block = os.read(self._fd, BLOCK)
            self._bytes += block
            if block:
                return True
            self._ended = True
        return False

    def _split(self):
        block, self._bytes = self._bytes, b""
        *lines, self._rest = (self._rest + self._decoder.decode(block)).split("\n")
        self._lines.extend(f"{line}\n" for line in lines)


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
                rest, problem = raising(error), error
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
                texts = {key: self._text(key, one) for key, one in row.items()}
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
