"""What is said, and errors of users; imports nothing that takes time."""

import sys


class UserError(Exception):
    """Something the user can mend; its message is the whole output."""


def printable(text):
    """Write out control characters, which a terminal would obey."""
    return "".join(
        one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text
    )


def say(text):
    """Print what may hold texts of a file."""
    print(printable(text), flush=True)


def make_progress(*, all_lines=False):
    """Return a function that tells on standard error what is going on.

    On a terminal a line is written over the one before. Elsewhere, as in a file, the
    first is written, and then only those that are to stay, unless all are asked for.
    """
    shown = sys.stderr.isatty()
    told = []

    def tell(message, last=False):
        message = printable(message)
        if shown:
            end = "\n" if last and message else ""
            print(f"\r\x1b[K{message}", end=end, file=sys.stderr, flush=True)
        elif message and (last or all_lines or not told):
            told.append(message)
            print(message, file=sys.stderr, flush=True)

    return tell
