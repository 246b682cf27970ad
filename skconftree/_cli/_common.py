"""What the commands share."""

import argparse
import json
import math
import sys
from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np

MISSING = {"", "?", "na", "nan", "n/a", "null", "none"}
MISSING_CATEGORY = MISSING - {"none"}  # that is a category among others


class UserError(Exception):
    """Something the user can mend; its message is the whole output."""


def as_decimal(text):
    """Finite number that a text is, to the last digit; None if it is none."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def whole_number(text):
    """Whole number of 64 bits that a text is, however it is written, or None.

    Floats would make one of numbers above 2**53 that differ.
    """
    value = as_decimal(text)
    if value is None or value.adjusted() > 18 or value % 1:
        return None
    value = int(value)
    return value if -(2**63) <= value < 2**63 else None


def typed_labels(texts, target):
    """Make whole numbers of labels that all are, and refuse measurements.

    What is too long for whole numbers of 64 bits remains text.
    """
    if any("\0" in text for text in texts):  # NumPy would cut it off at an end
        raise UserError(f"target column {target!r} has a label with a zero byte")
    whole = {text: whole_number(text) for text in set(texts)}
    if None not in whole.values():
        return np.array([whole[text] for text in texts], dtype=np.int64)
    values = list(map(as_decimal, whole))
    if None not in values and any(
        value.adjusted() <= 18 and value % 1 for value in values
    ):
        raise UserError(f"target column {target!r} holds measurements, not classes")
    return np.array(texts)


def add_tree_options(command):
    """Describe the settings of the tree."""
    command.add_argument(
        "--bound", metavar="NAME", help="what allows a split; none for plain CART"
    )
    command.add_argument("--delta", type=float, help="the bound's error probability")
    command.add_argument("--criterion", metavar="NAME", help="what a split lowers")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")


def add_nominal_option(command):
    """Describe which columns are nominal though they look numeric."""
    command.add_argument(
        "--nominal",
        metavar="A,B,...",
        type=names,
        default=[],
        help="columns whose values are categories even if all are numbers",
    )


def names(text):
    """Split a list of names."""
    return [one.strip() for one in text.split(",") if one.strip()]


def tree_settings(options):
    """Parameters that were given, the seed aside."""
    given = {"delta": options.delta, "criterion": options.criterion}
    given = {name: value for name, value in given.items() if value is not None}
    if options.bound is not None:
        given["bound"] = None if options.bound == "none" else options.bound
    return given


def printable(text):
    """Write out control characters, which a terminal would obey."""
    return "".join(
        one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text
    )


def say(text):
    """Print what may hold texts of a file."""
    print(printable(text))


def aligned(rows):
    """Lay out rows of cells: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def duration(seconds):
    """Write a time with three digits or so and its unit."""
    if seconds < 0.9995:
        return f"{1e3 * seconds:.{1 if seconds < 0.1 else 0}f} ms"
    return f"{seconds:.2f} s"


def as_json(value):
    """Turn a NumPy value into what JSON has; what is not finite becomes null."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def make_progress():
    """Return a function that tells on standard error what is going on."""
    shown = sys.stderr.isatty()

    def tell(message, last=False):
        message = printable(message)
        if shown:
            end = "\n" if last and message else ""
            print(f"\r\x1b[K{message}", end=end, file=sys.stderr, flush=True)
        elif message:
            print(message, file=sys.stderr, flush=True)

    return tell


def at_least(least):
    """Make the type of an option that is a whole number of at least so much."""

    def number(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return min(value, sys.maxsize)  # which is more than there is of anything

    return number


def write_json(path, report):
    """Write figures as JSON."""
    try:
        written = json.dumps(report, indent=1, allow_nan=False) + "\n"
        Path(path).write_text(written, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
