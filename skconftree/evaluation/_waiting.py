"""Rows that have been predicted, and whose labels are on their way.

A row comes at a time, its label some time later. A label that is due at a time is
learnt after all rows that come at this time or before, and before any that comes later;
labels of one time in the order of their rows. So a label that takes no time is learnt
right after its row, and one that takes k rows after the k-th row behind it.
"""

from bisect import bisect_right
from operator import itemgetter

import numpy as np

from ..utils import canonical
from ._pieces import part, taken

NEVER = np.inf
KINDS = {
    "row": np.intp,  # number of the row in the stream
    "due": np.float64,  # time of its label
    "true": np.intp,  # class of its label
    "predicted": np.intp,  # -1: not predicted
    "no_change": np.intp,
    "majority": np.intp,
    "weight": np.float64,  # NaN: none given
}


class Waiting:
    """Arrays with an entry for each row, in the order of the rows.

    `pieces` holds the rows themselves: number of the first one, and rows. `proba` has
    the probabilities that were predicted, or is None.
    """

    def __init__(self, n_classes=None):
        for name, kind in KINDS.items():
            setattr(self, name, np.empty(0, kind))
        self.proba = None if n_classes is None else np.empty((0, n_classes))
        self.pieces = []

    def __getstate__(self):
        return canonical(vars(self))

    def at(self, places):
        """Entries at some places, in that order."""
        made = object.__new__(type(self))
        for name in KINDS:
            setattr(made, name, getattr(self, name)[places])
        made.proba = None if self.proba is None else self.proba[places]
        made.pieces = self.pieces
        return made

    def without(self, places):
        """All entries but some, and no rows that nobody needs."""
        made = self.at(np.delete(np.arange(len(self)), places))
        starts = np.array([first for first, _ in self.pieces], dtype=np.intp)
        used = np.unique(np.searchsorted(starts, made.row, side="right") - 1)
        made.pieces = [self.pieces[one] for one in used]
        return made

    def joined(self, X, first, row, due, true, weight):
        """These entries, and some of rows of X that have not been predicted yet.

        The first row of X has the number `first`.
        """
        n, made = len(row), object.__new__(type(self))
        unknown = np.full(n, -1, dtype=np.intp)
        added = {
            "row": row,
            "due": due,
            "true": true,
            "predicted": unknown,
            "no_change": unknown,
            "majority": unknown,
            "weight": np.full(n, np.nan) if weight is None else weight,
        }
        for name in KINDS:
            setattr(made, name, np.concatenate([getattr(self, name), added[name]]))
        made.proba = self.proba
        if made.proba is not None:
            made.proba = np.vstack([self.proba, np.zeros((n, self.proba.shape[1]))])
        made.pieces = [*self.pieces, (first, X)] if n else self.pieces
        return made

    def rows(self, places):
        """Give the rows at some places, in that order: containers, and their places."""
        if len(places) == 1:  # as a rule
            number = int(self.row[places[0]])
            piece = bisect_right(self.pieces, number, key=itemgetter(0)) - 1
            first, X = self.pieces[piece]
            yield part(X, number - first, number - first + 1), places
            return
        starts = np.array([first for first, _ in self.pieces], dtype=np.intp)
        numbers = self.row[places]
        piece = np.searchsorted(starts, numbers, side="right") - 1
        ends = [*(np.flatnonzero(np.diff(piece)) + 1), len(places)]
        begin = 0
        for end in ends:
            first, X = self.pieces[piece[begin]]
            yield taken(X, numbers[begin:end] - first), places[begin:end]
            begin = end

    def __len__(self):
        return len(vars(self).get("row", ()))


def timed(time, delay, n, first, before):
    """When rows come and their labels do, both as float64.

    `time` is that of the rows, None for their numbers, the first of which is `first`;
    `before` is the last time so far. `delay` is one for all rows or one a row.
    """
    if time is None:
        time = np.arange(first, first + n, dtype=np.float64)
    else:
        time = _numbers(time, "time", n)
        if not np.isfinite(time).all():
            raise ValueError("time must be finite.")
        steps = np.diff(time, prepend=before)
        if (steps < 0.0).any():
            row = int((steps < 0.0).argmax())
            raise ValueError(
                f"time must not run backwards, as it does at row {first + row} of the "
                "stream (the first is row 0)."
            )
    delay = _numbers(delay, "delay", n)
    if (delay < 0.0).any():
        row = int((delay < 0.0).argmax())
        raise ValueError(
            f"delay must not be negative. Got {delay[row]:g} at row {first + row} of "
            "the stream (the first is row 0)."
        )
    return time, time + np.where(np.isnan(delay), NEVER, delay)


def _numbers(given, name, n):
    # Dates and spans of time become microseconds.
    values = np.asarray(given)
    if values.dtype.kind in "mM":
        unit = "datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]"
        missing = np.isnat(values)
        values = values.astype(unit).astype(np.int64).astype(np.float64)
        values[missing] = np.nan
    if values.dtype.kind not in "biuf" or values.ndim > 1:
        raise ValueError(
            f"{name} must hold numbers, dates or spans of time. Got {given!r} instead."
        )
    if values.ndim == 1 and len(values) != n:
        raise ValueError(
            f"{name} must have one entry a row, {n}. Got {len(values)} instead."
        )
    return np.broadcast_to(values.astype(np.float64), (n,))


def steps(waiting, time, last_is_over):
    """Which labels are learnt when: how many rows have come by then, and places.

    `time` is when the rows of a call come. The labels that are due at the last time
    wait, as another row may come at that time, unless it `last_is_over`.
    """
    order = np.lexsort((waiting.row, waiting.due))
    after = np.searchsorted(time, waiting.due[order], side="right")
    comes = after < len(time)
    if last_is_over and len(time):
        comes |= waiting.due[order] <= time[-1]
    order, after = order[comes], after[comes]
    ends = [*(np.flatnonzero(np.diff(after)) + 1), len(after)]
    begin = 0
    for end in ends:
        if end > begin:
            yield int(after[begin]), order[begin:end]
        begin = end
