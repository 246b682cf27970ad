"""Prequential evaluation with delayed labels, or row by row."""

from bisect import bisect_right
from operator import itemgetter

import numpy as np


def part(X, start, stop):
    """Rows from `start` to `stop`; X itself if these are all rows."""
    if start == 0 and stop == (X.shape[0] if hasattr(X, "shape") else len(X)):
        return X
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def taken(X, positions):
    """Rows at `positions`, of which there is at least one."""
    positions = np.asarray(positions)
    first, last = int(positions[0]), int(positions[-1])
    if last - first == len(positions) - 1 and (np.diff(positions) == 1).all():
        return part(X, first, last + 1)
    if hasattr(X, "iloc"):
        return X.iloc[positions]
    if hasattr(X, "take") and not hasattr(X, "dtype"):
        return X.take(positions)  # a pyarrow table
    return X[positions] if hasattr(X, "shape") else [X[i] for i in positions]


# Each row arrives at a time, and its label some time later. A label is learned after
# all rows that arrive no later than the label, and before rows that arrive later;
# labels of the same time are learned in the order of their rows. So a label without
# delay is learned right after its row, and a label with a delay of k rows after the
# k-th following row.

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
    """Rows that wait for their labels, in order: `entries`, and rows in `pieces`."""

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

    def without(self, positions):
        """The entries without some of them, and the rows that they need."""
        entries = np.delete(self.entries, positions)
        starts = np.array([first for first, _ in self.pieces], dtype=np.intp)
        used = np.unique(np.searchsorted(starts, entries["row"], side="right") - 1)
        return self._with(entries, [self.pieces[i] for i in used])

    def joined(self, X, first, row, due, true, weight):
        """These entries, and those of rows of X that are not predicted yet."""
        added = np.zeros(len(row), dtype=self.entries.dtype)
        added["row"], added["due"], added["true"] = row, due, true
        for name in ("predicted", "no_change", "majority"):
            added[name] = -1
        added["weight"] = np.nan if weight is None else weight
        pieces = [*self.pieces, (first, X)] if len(row) else self.pieces
        return self._with(np.concatenate([self.entries, added]), pieces)

    def rows(self, positions):
        """Yield the rows at some positions, in that order, with their positions."""
        if len(positions) == 1:  # the most frequent case
            number = int(self.entries["row"][positions[0]])
            piece = bisect_right(self.pieces, number, key=itemgetter(0)) - 1
            first, X = self.pieces[piece]
            yield part(X, number - first, number - first + 1), positions
            return
        starts = np.array([first for first, _ in self.pieces], dtype=np.intp)
        numbers = self.entries["row"][positions]
        piece = np.searchsorted(starts, numbers, side="right") - 1
        ends = [*(np.flatnonzero(np.diff(piece)) + 1), len(positions)]
        begin = 0
        for end in ends:
            first, X = self.pieces[piece[begin]]
            yield taken(X, numbers[begin:end] - first), positions[begin:end]
            begin = end


def timed(time, delay, n, first, before):
    """Arrival times of rows and of their labels, as float64."""
    if time is None:
        time = np.arange(first, first + n, dtype=np.float64)
    else:
        time = _numbers(time, "time", n)
        if not np.isfinite(time).all():
            raise ValueError("time must be finite. Got NaN or infinite values.")
        steps = np.diff(time, prepend=before)
        if (steps < 0.0).any():
            row = int((steps < 0.0).argmax())
            raise ValueError(
                f"time must not decrease, but it does at row {first + row} of the "
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
    # Convert to float64; dates and time spans become microseconds.
    values = np.asarray(given)
    if values.dtype.kind in "mM":
        unit = "datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]"
        missing = np.isnat(values)
        values = values.astype(unit).astype(np.int64).astype(np.float64)
        values[missing] = np.nan
    if values.dtype.kind not in "biuf" or values.ndim > 1:
        raise ValueError(
            f"{name} must contain numbers, dates or time spans. Got {given!r} instead."
        )
    if values.ndim == 1 and len(values) != n:
        raise ValueError(
            f"{name} must have one entry for each of {n} rows. Got {len(values)}."
        )
    return np.broadcast_to(values.astype(np.float64), (n,))


def steps(waiting, time, last_is_over):
    """Schedule of labels: pairs of a number of rows and the positions to learn then.

    `time` are the arrival times of the rows of a call. Labels that are due at the last
    of these times wait, because further rows may arrive at that time, unless
    `last_is_over`.
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
    """Predicts rows and learns those whose labels arrive; can be interrupted."""

    def __init__(self, run, X=None, n=0, first=0, comes=None):
        self.run, self.X, self.first = run, X, first
        self.comes = np.zeros(0, dtype=bool) if comes is None else comes
        self.n_before = len(run._waiting)
        known = self.n_before + np.cumsum(self.comes)
        self.entries = [self.n_before, *known.tolist()]  # before each row
        self.n_predicted = 0
        self.learned = []  # positions, in the order in which they were learned
        self.baselines = run._baselines.copy()
        self.rows = run._waiting
        self.predictions = np.full(n, -1, dtype=np.intp)
        self.unweighted = False  # no row has a weight
        self._in_progress = None  # positions being learned, and number of rows before

    def expect(self, due, true, weight):
        """Add the rows of the call whose labels arrive to those that wait."""
        there = self.comes
        weight = None if weight is None else weight[there]
        numbers = self.first + np.flatnonzero(there)
        self.rows = self.rows.joined(
            self.X, self.first, numbers, due[there], true, weight
        )

    def go(self, time, last_is_over):
        """Execute the schedule."""
        self.unweighted = bool(np.isnan(self.rows.entries["weight"]).all())
        plan = steps(self.rows, time, last_is_over)
        if not self.run._per_row:
            positions = [due for _, due in plan]
            if positions:
                plan = [(len(self.predictions), np.concatenate(positions))]
        for stop, positions in plan:
            if not self._meet(stop, positions):
                self._ask(stop)
                self._learn(positions)
        self._ask(len(self.predictions))

    def _meet(self, stop, positions):
        # Predict and learn the first row in one call, if its label has no delay. Such
        # estimators can predict before there is a model.
        run, start = self.run, stop - 1
        if self.n_predicted == stop or not run._can_meet():
            return False
        entries = self._entries(start, stop)
        if positions.tolist() != [entries.start]:
            return False
        self._ask(start)
        self._remember(start, stop)
        given = self._given(positions)
        self._in_progress = positions, run._n_rows_seen()
        X, true = part(self.X, start, stop), self.rows.entries["true"][positions]
        predictions, proba = run._meet(X, run.classes_.take(true), given)
        self.predictions[start] = self.rows.entries["predicted"][entries.start] = (
            predictions[0]
        )
        if proba is not None:
            self.rows.entries["proba"][entries] = proba
        self._record_learned(positions)
        return True

    def _entries(self, start, stop):
        return slice(self.entries[start], self.entries[stop])

    def _ask(self, stop):
        start, run = self.n_predicted, self.run
        if start == stop:
            return
        entries, some = self._entries(start, stop), slice(start, stop)
        if hasattr(run.estimator, "classes_"):
            predictions, proba = run._ask(part(self.X, start, stop))
            self.predictions[some] = predictions
            self.rows.entries["predicted"][entries] = predictions[self.comes[some]]
            if proba is not None:
                self.rows.entries["proba"][entries] = proba[self.comes[some]]
        self._remember(start, stop)

    def _remember(self, start, stop):
        some = self.rows.entries[self._entries(start, stop)]
        some["no_change"], some["majority"] = self.baselines.guess()
        self.n_predicted = stop

    def _learn(self, positions):
        run = self.run
        for X, found in self.rows.rows(positions):
            labels = run.classes_.take(self.rows.entries["true"][found])
            given = self._given(found)
            self._in_progress = found, run._n_rows_seen()
            run.estimator.partial_fit(X, labels, **given)
            self._record_learned(found)

    def _given(self, positions):
        weight = self._weight(positions)
        given = {} if weight is None else {"sample_weight": weight}
        if not hasattr(self.run.estimator, "classes_"):
            given["classes"] = self.run.classes_
        return given

    def _record_learned(self, positions):
        self.learned.append(positions)
        self._in_progress = None
        self.baselines.take(
            self.rows.entries["true"][positions], self._weight(positions)
        )

    def _weight(self, positions):
        if self.unweighted:
            return None
        weight = self.rows.entries["weight"][positions]
        given = ~np.isnan(weight)
        return np.where(given, weight, 1.0) if given.any() else None

    def count(self, start):
        """Commit the completed part at once; `start` is a CPU time in seconds."""
        run, learned = self.run, self.learned
        if self._in_progress is not None and (
            not learned or learned[-1] is not self._in_progress[0]
        ):
            positions, seen = self._in_progress
            n = run._n_learned(seen, self._weight(positions), len(positions))
            learned = [*learned, positions[:n]]
        learned = np.concatenate([np.zeros(0, np.intp), *learned])
        done, weight = self.rows.entries[learned], self._weight(learned)
        baselines = run._baselines.copy()
        baselines.take(done["true"], weight)
        tested = done["predicted"] >= 0
        names = ("true", "predicted", "no_change", "majority")
        parts = [done[name][tested] for name in names]
        weight = None if weight is None else weight[tested]
        proba = done["proba"][tested] if run._needs_proba else None
        unpredicted = np.arange(self.entries[self.n_predicted], len(self.rows))
        come = self.comes[: self.n_predicted]
        run._count(
            start,
            len(learned),
            baselines,
            (parts, weight, proba),
            n_unlabeled_=run.n_unlabeled_ + int(np.count_nonzero(~come)),
            _waiting=self.rows.without(np.union1d(learned, unpredicted)),
        )
