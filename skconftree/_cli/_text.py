"""Messages and errors for users. Imports no slow modules."""

import contextlib
import os
import sys
import threading
import time

MIN_SHOWN_SECONDS = 1.0  # a longer step is shown with its duration
UPDATE_SECONDS = 0.5, 10.0  # interval between updates: on a terminal, elsewhere


class UserError(Exception):
    """Error that the user can correct; only its message is printed."""


def printable(text):
    """Escape control characters, which a terminal would interpret."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def shorten(text, max_length):
    """Shorten a text to a maximal length, at the end of a word if possible."""
    if len(text) <= max_length:
        return text
    start = text[: max_length - 2].rpartition(" ")[0].rstrip(" ,;:")
    return f"{start or text[: max_length - 3]}..."


def counted(n, noun, plural=None):
    """Return a number with a noun in singular or plural."""
    return f"1 {noun}" if n == 1 else f"{n:,} {plural or f'{noun}s'}"


@contextlib.contextmanager
def standard_output():
    """Yield standard output, and flush it at the end of the `with` block."""
    if sys.stdout is None:
        raise UserError("standard output is closed")
    try:
        try:
            yield sys.stdout
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon_output()
        raise UserError(f"cannot write standard output: {error.strerror}") from error


def abandon_output():
    """Discard pending output, which the interpreter would try to write at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def say(text):
    """Print a text that may contain strings from a file."""
    with standard_output() as file:
        print(printable(text), file=file)


def warn(text, end="\n"):
    """Print on standard error; errors of writing are ignored."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(text, end=end, file=sys.stderr, flush=True)


def is_terminal():
    """Whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


class Progress:
    """Progress line on standard error: the current step and its duration.

    On a terminal, each line overwrites the previous one. Elsewhere, as in a file or a
    pipe, only notes are written, and with `verbose` also a line at intervals. Use it in
    a `with` statement, which clears the line at its end.
    """

    def __init__(self, *, verbose=False):
        self._terminal = is_terminal()
        self._shows = self._terminal or verbose
        self._pause = UPDATE_SECONDS[not self._terminal]
        self._message, self._since = "", 0.0
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._clock = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self._ended.set()
        if self._clock is not None:
            self._clock.join()
        self.clear()

    def update(self, message):
        """Set the current step."""
        self._put(message, time.monotonic())
        if self._shows and self._clock is None:
            # the interpreter does not wait for a daemon thread when it ends
            self._clock = threading.Thread(target=self._tick, daemon=True)
            self._clock.start()

    def note(self, *notes):
        """Print notes that are not overwritten."""
        for note in notes:
            with self._lock:
                self._message = ""
                self._write(f"note: {note}", end="\n")

    def clear(self):
        """Clear the line of a terminal."""
        if self._message:
            self._put("")

    def _put(self, message, now=0.0):
        with self._lock:
            self._message, self._since = message, now
            if self._terminal or (self._shows and message):
                self._write(message)

    def _write(self, message, end=""):
        if self._terminal:
            warn(f"\r\x1b[K{printable(message)}", end=end)
        else:
            warn(printable(message))

    def _tick(self):
        while not self._ended.wait(self._pause):
            with self._lock:
                elapsed = time.monotonic() - self._since
                if self._message and elapsed >= MIN_SHOWN_SECONDS:
                    self._write(f"{self._message} ({elapsed:.0f} s)")
