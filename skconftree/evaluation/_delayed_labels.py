"""Prequential evaluation with labels that come late, or row by row."""

from bisect import bisect_right
from operator import itemgetter

import numpy as np


def part(X, start, stop):
    """Rows from `start` to `stop`; all of them are X itself."""
    if start == 0 and stop == (X.shape[0] if hasattr(X, "shape") else len(X)):
        return X
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def taken(X, places):
    """Rows at ascending or other places, of which there is one at least."""
    places = np.asarray(places)
    first, last = int(places[0]), int(places[-1])
    if last - first == len(places) - 1 and (np.diff(places) == 1).all():
        return part(X, first, last + 1)
    if hasattr(X, "iloc"):
        return X.iloc[places]
    if hasattr(X, "take") and not hasattr(X, "dtype"):
        return X.take(places)  # a table of pyarrow
    return X[places] if hasattr(X, "shape") else [X[place] for place in places]


# A row comes at a time, its label some time later. A label that is due at a time is
# learnt after all rows that come at this time or before, and before any that comes
# later; labels of one time in the order of their rows. So a label that takes no time is
# learnt right after its row, and one that takes k rows after the k-th row behind it.

NEVER = np.inf
ENTRY = (
    ("row", np.intp),  # number of the row in the stream
    ("due", np.float64),  # time of its label
    ("true", np.intp),  # class of its label
    ("predicted", np.intp),  # -1: not predicted
    ("no_change", np.intp),
    ("majority", np.intp),
    ("weight", np.float64),  # NaN: none given
)


class Waiting:
    """Rows that wait for their labels, in order: `entries`, and X in `pieces`."""

    def __init__(self, n_classes):
        proba = ("proba", np.float64, (n_classes,))
        self.entries = np.empty(0, dtype=[*ENTRY, proba])
        self.pieces = []

    def __len__(self):
        return len(self.entries)

    def _with(self, entries, pieces):
        made = object.__new__(type(self))
        made.entries, made.pieces = entries, pieces
        return made

    def without(self, places):
        """All entries but some, and no rows that nobody needs."""
        entries = np.delete(self.entries, places)
        starts = np.array([first for first, _ in self.pieces], dtype=np.intp)
        used = np.unique(np.searchsorted(starts, entries["row"], side="right") - 1)
        return self._with(entries, [self.pieces[one] for one in used])

    def joined(self, X, first, row, due, true, weight):
        """These entries, and those of rows of X that have not been predicted yet."""
        added = np.zeros(len(row), dtype=self.entries.dtype)
        added["row"], added["due"], added["true"] = row, due, true
        for name in ("predicted", "no_change", "majority"):
            added[name] = -1
        added["weight"] = np.nan if weight is None else weight
        pieces = [*self.pieces, (first, X)] if len(row) else self.pieces
        return self._with(np.concatenate([self.entries, added]), pieces)

    def rows(self, places):
        """Give the rows at some places, in that order: containers, and their places."""
        if len(places) == 1:  # as a rule
            number = int(self.entries["row"][places[0]])
            piece = bisect_right(self.pieces, number, key=itemgetter(0)) - 1
            first, X = self.pieces[piece]
            yield part(X, number - first, number - first + 1), places
            return
        starts = np.array([first for first, _ in self.pieces], dtype=np.intp)
        numbers = self.entries["row"][places]
        piece = np.searchsorted(starts, numbers, side="right") - 1
        ends = [*(np.flatnonzero(np.diff(piece)) + 1), len(places)]
        begin = 0
        for end in ends:
            first, X = self.pieces[piece[begin]]
            yield taken(X, numbers[begin:end] - first), places[begin:end]
            begin = end


def timed(time, delay, n, first, before):
    """Arrival times of rows and of their labels, as float64."""
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
    due = waiting.entries["due"]
    order = np.lexsort((waiting.entries["row"], due))
    after = np.searchsorted(time, due[order], side="right")
    comes = after < len(time)
    if last_is_over and len(time):
        comes |= due[order] <= time[-1]
    order, after = order[comes], after[comes]
    ends = [*(np.flatnonzero(np.diff(after)) + 1), len(after)]
    begin = 0
    for end in ends:
        if end > begin:
            yield int(after[begin]), order[begin:end]
        begin = end


class DelayedStep:
    """Predict rows and learn those whose labels arrive; what is done counts."""

    def __init__(self, run, X=None, n=0, first=0, comes=None):
        self.run, self.X, self.first = run, X, first
        self.comes = np.zeros(0, dtype=bool) if comes is None else comes
        self.n_before = len(run._waiting)
        known = self.n_before + np.cumsum(self.comes)
        self.entries = [self.n_before, *known.tolist()]  # before each row
        self.n_asked = 0
        self.learned = []  # places, in the order in which they were learnt
        self.baselines = run._baselines.copy()
        self.rows = run._waiting
        self.told = np.full(n, -1, dtype=np.intp)
        self.unweighted = False  # no row has a weight
        self._now = None  # places that are being learnt, and rows seen before

    def expect(self, due, true, weight):
        """Join the rows of the call whose labels come to those that wait."""
        there = self.comes
        weight = None if weight is None else weight[there]
        numbers = self.first + np.flatnonzero(there)
        self.rows = self.rows.joined(
            self.X, self.first, numbers, due[there], true, weight
        )

    def go(self, time, last_is_over):
        """Do all of it."""
        self.unweighted = bool(np.isnan(self.rows.entries["weight"]).all())
        plan = steps(self.rows, time, last_is_over)
        if not self.run._per_row:
            places = [found for _, found in plan]
            plan = [(len(self.told), np.concatenate(places))] if places else []
        for stop, places in plan:
            if not self._meet(stop, places):
                self._ask(stop)
                self._learn(places)
        self._ask(len(self.told))

    def _meet(self, stop, places):
        # A row that is learnt at once, and the first: what predicts and learns in one
        # call knows how to predict before there is a model.
        run, start = self.run, stop - 1
        if self.n_asked == stop or not run._can_meet():
            return False
        entries = self._entries(start, stop)
        if places.tolist() != [entries.start]:
            return False
        self._ask(start)
        self._remember(start, stop)
        given = self._given(places)
        self._now = places, run._n_rows_seen()
        X, true = part(self.X, start, stop), self.rows.entries["true"][places]
        told, proba = run._meet(X, run.classes_.take(true), given)
        self.told[start] = self.rows.entries["predicted"][entries.start] = told[0]
        if proba is not None:
            self.rows.entries["proba"][entries] = proba
        self._take_over(places)
        return True

    def _entries(self, start, stop):
        return slice(self.entries[start], self.entries[stop])

    def _ask(self, stop):
        start, run = self.n_asked, self.run
        if start == stop:
            return
        entries, some = self._entries(start, stop), slice(start, stop)
        if hasattr(run.estimator, "classes_"):
            told, proba = run._ask(part(self.X, start, stop))
            self.told[some] = told
            self.rows.entries["predicted"][entries] = told[self.comes[some]]
            if proba is not None:
                self.rows.entries["proba"][entries] = proba[self.comes[some]]
        self._remember(start, stop)

    def _remember(self, start, stop):
        some = self.rows.entries[self._entries(start, stop)]
        some["no_change"], some["majority"] = self.baselines.guess()
        self.n_asked = stop

    def _learn(self, places):
        run = self.run
        for X, found in self.rows.rows(places):
            labels = run.classes_.take(self.rows.entries["true"][found])
            given = self._given(found)
            self._now = found, run._n_rows_seen()
            run.estimator.partial_fit(X, labels, **given)
            self._take_over(found)

    def _given(self, places):
        weight = self._weight(places)
        given = {} if weight is None else {"sample_weight": weight}
        if not hasattr(self.run.estimator, "classes_"):
            given["classes"] = self.run.classes_
        return given

    def _take_over(self, places):
        self.learned.append(places)
        self._now = None
        self.baselines.take(self.rows.entries["true"][places], self._weight(places))

    def _weight(self, places):
        if self.unweighted:
            return None
        weight = self.rows.entries["weight"][places]
        given = ~np.isnan(weight)
        return np.where(given, weight, 1.0) if given.any() else None

    def count(self, start):
        """Take over what has been done, all at once; `start`: in CPU seconds."""
        run, learned = self.run, self.learned
        if self._now is not None and (not learned or learned[-1] is not self._now[0]):
            places, seen = self._now
            n = run._n_learned(seen, self._weight(places), len(places))
            learned = [*learned, places[:n]]
        learned = np.concatenate([np.zeros(0, np.intp), *learned])
        done, weight = self.rows.entries[learned], self._weight(learned)
        baselines = run._baselines.copy()
        baselines.take(done["true"], weight)
        tested = done["predicted"] >= 0
        names = ("true", "predicted", "no_change", "majority")
        parts = [done[name][tested] for name in names]
        weight = None if weight is None else weight[tested]
        proba = done["proba"][tested] if run._asks_proba else None
        unasked = np.arange(self.entries[self.n_asked], len(self.rows))
        come = self.comes[: self.n_asked]
        run._count(
            start,
            len(learned),
            baselines,
            (parts, weight, proba),
            n_unlabelled_=run.n_unlabelled_ + int(np.count_nonzero(~come)),
            _waiting=self.rows.without(np.union1d(learned, unasked)),
        )
