"""What the readers of tables share.

A reader goes through a table once, from the first row to the last, and never holds all
of it. It has `header` (names of all columns), `features` (those besides the target),
`n_rows` (rows read so far), `fingerprint` (a checksum of them), and the methods of
`CsvStream`. What the columns are has to be settled, in `readings` (None for a nominal
one), before rows are read; `look_ahead` tells what the table itself says about that.
"""

from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ._columns import (
    MOST_STRAYS,
    STRAYS_ALLOWED,
    Guess,
    other_decimal,
    stray_note,
)
from ._common import as_decimal
from ._options import meant
from ._text import UserError

MOST_CATEGORIES = 4096  # as many as a nominal column of a tree may have
MOST_NAMES = 30  # listed in an error


class Piece(NamedTuple):
    """Consecutive rows; if `problem` is not None, the row after them is at fault."""

    first: int  # number of the first row; the first of the table is row 1
    X: np.ndarray  # (n_rows, n_features): float32, or objects if a column is nominal
    labels: list[str]
    fingerprints: list[int]  # of the table up to and with each row
    strays: list[tuple[int, int, str]]  # row of the piece, place, text; by rows
    problem: UserError | None


def check_header(path, header, target):
    """Check the names of the columns, and give those of the features."""
    twice = sorted(name for name, times in Counter(header).items() if times > 1)
    if twice:
        at = [str(n) for n, name in enumerate(header, 1) if name == twice[0]]
        raise UserError(
            f"{path} has more than one column named {twice[0]!r}: columns "
            f"{', '.join(at[:-1])} and {at[-1]}; if its first line is a row, write a "
            "line with the names of the columns above it"
        )
    if target is None:
        return list(header)
    if target not in header:
        if len(header) > 1 and all(as_decimal(name) is not None for name in header):
            raise UserError(
                f"there is no column {target!r} in {path}, whose first line has "
                "numbers only; it should have the names of the columns"
            )
        hint = meant(target, header)
        if not hint and any(as_decimal(name) is not None for name in header):
            hint = (
                " If that is a row of the table, write a line with the names of the "
                "columns above it"
            )
        raise UserError(
            f"there is no column {target!r} in {path}; its columns are: "
            f"{listed(header)}.{hint}"
        )
    if len(header) == 1:
        raise UserError(f"{path} has no column besides the target {target!r}")
    return [name for name in header if name != target]


def listed(names):
    """Some names of columns."""
    shown = ", ".join(names[:MOST_NAMES])
    left = len(names) - MOST_NAMES
    return f"{shown} and {left} more" if left > 0 else shown


def places_of(names, stream, option="--nominal"):
    """Find the columns that an option names among the features."""
    places = {name: place for place, name in enumerate(stream.features)}
    unknown = [name for name in names if name not in places]
    if unknown:
        raise UserError(
            f"{option} {unknown[0]!r} is not one of the columns besides the target: "
            f"{listed(stream.features)}.{meant(unknown[0], stream.features)}"
        )
    return [places[name] for name in names]


def header_notes(stream):
    """Say what stands above the header."""
    remarks = getattr(stream, "remarks", ())
    if not remarks:
        return []
    more = f" and {len(remarks) - 1} more" if len(remarks) > 1 else ""
    are = "are" if more else "is"
    return [f"{remarks[0][:60]!r}{more} above the header {are} left out"]


def headless(stream, guesses):
    """Say that the first line may be a row; empty if it hardly is.

    It may if at least half of the names are numbers, or if each might stand below
    itself.
    """
    header = stream.header
    numbers = [name for name in header if as_decimal(name) is not None]
    if 2 * len(numbers) >= max(len(header), 1):
        why = f"columns have names such as {numbers[0]!r}"
    elif guesses and all(one.holds_name for one in guesses):
        why = f"columns have names that are values below them, such as {header[0]!r}"
    else:
        return ""
    return (
        f"{stream.path} may have no header, as {why}; if its first line is a row, "
        "write a line with the names of the columns above it"
    )


def settle_columns(stream, named, numeric=(), *, whole=False):
    """Settle columns by the first rows and what the user says; give notes on them.

    `named` are columns that are nominal, `numeric` those that are not. `whole`: the
    whole table will tell which columns name rows.
    """
    found = dict(enumerate(stream.look_ahead()))
    notes = list(filter(None, [headless(stream, list(found.values()))]))
    for place in places_of(named, stream):
        found[place] = Guess(None, [])
    for place in places_of(numeric, stream, "--numeric"):
        found[place] = as_numeric(found[place], stream.features[place], named)
    stream.readings = [one.reading for one in found.values()]
    for name, one in zip(stream.features, found.values(), strict=True):
        notes += [f"column {name!r}: {note}" for note in one.notes]
        if one.names_rows and not whole:
            notes.append(
                f"column {name!r}: more than half of the first rows have a category of "
                "their own, so that it names rows rather than describes them; leave it "
                "out if it does"
            )
    return notes


def as_numeric(found, name, nominal):
    """Guess of a column that --numeric names."""
    if name in nominal:
        raise UserError(f"column {name!r} cannot be both --nominal and --numeric")
    if found.numbers is None:
        raise UserError(
            f"--numeric {name}: the values of this column are not numbers, but for a "
            "tenth at most"
        )
    return found._replace(reading=found.numbers, notes=[], names_rows=False)


def nominal_places(readings):
    """Places of the columns that are not read as numbers."""
    return [place for place, reading in enumerate(readings) if reading is None]


def as_matrix(columns, n_rows, readings):
    """Put columns of numbers, or of texts and None, side by side."""
    kind = object if None in readings else np.float32
    X = np.empty((n_rows, len(columns)), dtype=kind)
    for place, column in enumerate(columns):
        X[:, place] = column[:n_rows]
    return X


def check_categories(known, X, first_row, stream):
    """Find the row with which a nominal column has too many categories.

    `known` has those of each column so far, none of others. Returns the number of rows
    before that one, and the problem, a UserError or None.
    """
    n_rows, problem = len(X), None
    for place in nominal_places(stream.readings):
        old = known[place] if known else []
        column = X[:n_rows, place]
        if len(set(old).union(column)) <= MOST_CATEGORIES:
            continue
        seen = set(old)
        for row, value in enumerate(column):
            seen.add(value)
            if len(seen) > MOST_CATEGORIES:
                n_rows = row
                break
        problem = UserError(
            f"row {first_row + n_rows}: column {stream.features[place]!r} has more "
            f"than {MOST_CATEGORIES} categories, as many as a tree can tell apart; "
            f"leave it out by --drop {stream.features[place]}, or group rare ones "
            "under one name in the table; if they are numbers that begin with 0, "
            f"--numeric {stream.features[place]} reads them as such"
        )
    return n_rows, problem


class Strays:
    """Values of number columns that are no numbers, in the rows so far.

    Those `found` are places of columns, numbers of their strays, and some of them.
    """

    SHOWN = 4

    def __init__(self, found=()):
        self._found = {place: [n, list(texts)] for place, n, texts in found}

    def as_list(self):
        """What makes an equal object."""
        return [[place, n, texts] for place, (n, texts) in self._found.items()]

    def __iter__(self):
        """Places of the columns that have any."""
        return iter(self._found)

    def count(self, place):
        """How many there are in a column."""
        return self._found[place][0] if place in self._found else 0

    def add(self, place, text):
        """Count one more."""
        entry = self._found.setdefault(place, [0, []])
        entry[0] += 1
        if len(entry[1]) < self.SHOWN and text not in entry[1]:
            entry[1].append(text)

    def check(self, strays, first_row, n_rows, stream):
        """Count strays, up to a row that shows a column not to be of numbers.

        Returns the number of rows of the piece before that one, and the problem, a
        UserError or None.
        """
        for row, of_row in groupby(strays, key=itemgetter(0)):
            if row >= n_rows:
                break
            of_row = list(of_row)
            limit = max(STRAYS_ALLOWED, MOST_STRAYS * (first_row + row))
            for _, place, text in of_row:
                if self.count(place) + 1 > limit:
                    return row, self._too_many(stream, first_row + row, place, text)
            for _, place, text in of_row:
                self.add(place, text)
        return n_rows, None

    def _too_many(self, stream, row, place, text):
        name = stream.features[place]
        sign = other_decimal([text], stream.readings[place])
        remedy = f"--nominal {name}" if sign is None else f"--decimal {sign}"
        return UserError(
            f"{stream.path}, row {row}, column {name!r}: {text!r} is not a number, nor "
            f"are {self._found[place][0]} values before, though by the first rows it "
            f"was taken for a column of numbers; start afresh with {remedy}"
        )

    def notes(self, stream, *, settled=False):
        """Say what was taken as missing, and how to keep it unless that is settled."""
        return [
            stray_note(
                stream.features[place],
                texts,
                n,
                stream.readings[place],
                settled=settled,
            )
            for place, (n, texts) in sorted(self._found.items())
        ]
