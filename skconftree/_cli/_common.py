"""What the commands share."""

import sys

MISSING = {"", "?", "na", "nan", "n/a", "null", "none"}


class UserError(Exception):
    """Something the user can mend; its message is the whole output."""


def duration(seconds):
    """Write a time with three digits or so and its unit."""
    if seconds < 0.9995:
        return f"{1e3 * seconds:.{1 if seconds < 0.1 else 0}f} ms"
    return f"{seconds:.2f} s"


def make_progress():
    """Return a function that tells on standard error what is going on."""
    shown = sys.stderr.isatty()

    def tell(message, last=False):
        if shown:
            end = "\n" if last and message else ""
            print(f"\r\x1b[K{message}", end=end, file=sys.stderr, flush=True)
        elif message:
            print(message, file=sys.stderr, flush=True)

    return tell
