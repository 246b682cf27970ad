"""What the readers of tables share.

A reader goes through a table once, from the first row to the last, and never holds all
of it. It has `header` (names of all columns), `features` (those besides the target),
`n_rows` (rows read so far), `fingerprint` (a checksum of them), and the methods of
`CsvStream`. Which columns are nominal has to be settled, in `nominal`, before rows are
read; `look_ahead` tells what the table itself says about that.
"""

from typing import NamedTuple

import numpy as np

from ._common import UserError

MOST_CATEGORIES = 4096  # as many as a nominal column of a tree may have


class NotNumericError(UserError):
    """A numeric column holds a text.

    Parameters
    ----------
    message : str
    place : int
        Of the column among the features.
    """

    def __init__(self, message, place):
        super().__init__(message)
        self.place = place


class Piece(NamedTuple):
    """Consecutive rows; if `problem` is not None, the row after them is at fault."""

    first: int  # number of the first row; the first of the table is row 1
    X: np.ndarray  # (n_rows, n_features): float32, or objects if a column is nominal
    labels: list[str]
    fingerprints: list[int]  # of the table up to and with each row
    problem: UserError | None


def check_header(path, header, target):
    """Check the names of the columns, and give those of the features."""
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise UserError(f"{path} has more than one column named {twice[0]!r}")
    if target not in header:
        raise UserError(
            f"there is no column {target!r} in {path}; its columns are: "
            + ", ".join(header)
        )
    if len(header) == 1:
        raise UserError(f"{path} has no column besides the target {target!r}")
    return [name for name in header if name != target]


def places_of(names, stream):
    """Find the columns that the user calls nominal among the features."""
    unknown = [name for name in names if name not in stream.features]
    if unknown:
        raise UserError(
            f"--nominal {unknown[0]!r} is not one of the columns besides the target: "
            + ", ".join(stream.features)
        )
    return [stream.features.index(name) for name in names]


def as_matrix(columns, n_rows, nominal):
    """Put columns of numbers, or of texts and None, side by side."""
    kind = object if nominal else np.float32
    X = np.empty((n_rows, len(columns)), dtype=kind)
    for place, column in enumerate(columns):
        X[:, place] = column[:n_rows]
    return X


def check_categories(known, X, first_row, stream):
    """Find the row with which a nominal column has too many categories.

    Parameters
    ----------
    known : list of list or None
        Categories so far of each column; empty for those that are not nominal.
    X : ndarray of shape (n_rows, n_features)
        Rows to come.
    first_row : int
    stream : reader

    Returns
    -------
    n_rows : int
        Rows before that one.
    problem : UserError or None
    """
    n_rows, problem = len(X), None
    for place in stream.nominal:
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
            f"than {MOST_CATEGORIES} categories; drop it, or group them"
        )
    return n_rows, problem
