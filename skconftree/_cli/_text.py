"""Messages and errors for users; imports nothing that takes time."""

import contextlib
import os
import sys
import threading
import time

WAITS = 1.0  # seconds after which the time that a step has taken is shown
PAUSES = 0.5, 10.0  # between two lines of it: on a terminal, and elsewhere


class UserError(Exception):
    """Something the user can mend; its message is the whole output."""


def printable(text):
    """Write out control characters, which a terminal would obey."""
    return "".join(
        one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text
    )


def at_words(text, most):
    """Leave out the last words of a text that is longer than so many letters."""
    if len(text) <= most:
        return text
    shorter = text[: most - 2].rpartition(" ")[0].rstrip(" ,;:")
    return f"{shorter or text[: most - 3]}..."


def counted(n, noun, nouns=None):
    """Say how many of something there are."""
    return f"1 {noun}" if n == 1 else f"{n:,} {nouns or f'{noun}s'}"


@contextlib.contextmanager
def standard_output():
    """Standard output, of which all is written at the end of the `with` block."""
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
    """Keep the interpreter from writing, at its end, what cannot be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def say(text):
    """Print what may hold texts of a file."""
    with standard_output() as file:
        print(printable(text), file=file)


def warn(text, end="\n"):
    """Print on standard error; work does not end because nobody can be told of it."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(text, end=end, file=sys.stderr, flush=True)


def is_terminal():
    """Whether standard error is one."""
    return sys.stderr is not None and sys.stderr.isatty()


class Progress:
    """Tells on standard error what is going on, and how long it has taken so far.

    On a terminal a line is written over the one before. Elsewhere, as in a file or a
    pipe, nothing is written but what is to stay, unless `verbose` asks for a line now
    and then. To be used in a `with` statement, which ends with an empty line.
    """

    def __init__(self, *, verbose=False):
        self._terminal = is_terminal()
        self._shows = self._terminal or verbose
        self._pause = PAUSES[not self._terminal]
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

    def tell(self, message):
        """Say what is going on from now on."""
        self._put(message, time.monotonic())
        if self._shows and self._clock is None:
            # an interpreter that ends without us need not wait for it
            self._clock = threading.Thread(target=self._tick, daemon=True)
            self._clock.start()

    def note(self, *notes):
        """Say what stays."""
        for note in notes:
            with self._lock:
                self._message = ""
                self._write(f"note: {note}", end="\n")

    def clear(self):
        """Nothing is going on: a terminal has an empty line."""
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
                taken = time.monotonic() - self._since
                if self._message and taken >= WAITS:
                    self._write(f"{self._message} ({taken:.0f} s)")
