"""What is said, and errors of users; imports nothing that takes time."""

import contextlib
import os
import sys


class UserError(Exception):
    """Something the user can mend; its message is the whole output."""


def printable(text):
    """Write out control characters, which a terminal would obey."""
    return "".join(
        one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text
    )


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


def make_progress(*, all_lines=False):
    """Return a function that tells on standard error what is going on.

    On a terminal a line is written over the one before. Elsewhere, as in a file, the
    first is written, and then only those that are to stay, unless all are asked for.
    """
    shown = is_terminal()
    told = []

    def tell(message, last=False):
        message = printable(message)
        if shown:
            end = "\n" if last and message else ""
            warn(f"\r\x1b[K{message}", end=end)
        elif message and (last or all_lines or not told):
            told.append(message)
            warn(message)

    return tell
