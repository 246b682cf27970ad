"""Input that is read while it arrives."""

import codecs
import os
import select
from collections import deque

BLOCK = 2**16  # bytes read at a time
PAUSE = 0.1  # seconds between checks whether a signal has ended the run
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
