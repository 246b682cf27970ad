"""Indexes of rows, asked by threads while their model learns, or interrupted."""

import pickle
import threading
from dataclasses import replace
from functools import partial

import numpy as np

from skconftree import ConfidenceForestClassifier

from .concurrency import busy_rows, run_at_once, switching_often
from .failures import require
from .handler_exceptions import ERRORS, PACKAGE, Interrupter, act_at_line, count_lines

SIZES = (3, 60, 1000, 30_000)  # the last one so that other threads have their turn
QUICK = ("array", "sparse")  # to read
ASKERS = 3  # of each index
MOST_BATCHES = 6
MOST_LOOKS = 100
MOST_INTERRUPTS = 25


class _Index:
    """An index of rows and the questions that it is asked."""

    def __init__(self, draw, table, model):
        # with categories that the model has yet to meet
        size = draw.one(SIZES if table.family in QUICK else SIZES[:-1])
        rows = replace(table, met=1.0).rows(draw, size)
        self.n = len(rows)
        self.X = table.give(draw, rows.X)
        self.model = model
        self.index = model.index_rows(self.X)
        self.index.update()
        self.before = self.apply()
        self.told = []
        self.questions = {"apply": self.apply, "update": self.update}
        self.calls = {"update": self.index.update}

    def apply(self):
        found = self.index.apply()
        require(len(found) == self.n and (found >= 0).all(), "nodes of an index")
        return found

    def update(self):
        told = self.index.update()
        require((np.diff(told) > 0).all(), "changes are not in order")
        self.told.append(told)

    def check(self):
        """It says what the model says, and what an index made now does."""
        fresh, expected = self.model.index_rows(self.X), self.model.apply(self.X)
        require(np.array_equal(fresh.apply(), expected), "a new index is not apply")
        require(np.array_equal(self.apply(), expected), "an old index is not apply")
        self.check_more(fresh, expected)

    def check_reported(self):
        """What has changed was told, whoever has asked."""
        self.update()
        missed = np.setdiff1d(self.changes(self.apply()), np.concatenate(self.told))
        require(not len(missed), "changes that nobody was told", lambda: str(missed))


class _TreeIndex(_Index):
    def __init__(self, draw, table, model):
        super().__init__(draw, table, model)
        self.row, self.key = draw.whole(0, self.n - 1), draw.whole(0, 2**62)
        self.questions |= {
            **{"counts": self.counts, "draw": self.draw, "members": self.members},
            **{"take": self.take},
        }
        self.calls |= {
            "counts": self.index.counts,
            "take": partial(self.index.take, self.row),
            "put_back": partial(self.index.put_back, self.row),
        }

    def counts(self):
        found = self.index.counts()
        require(self.n - found.sum() in (0, 1), "counts are not of all rows")
        return found

    def draw(self):
        node = int(self.counts().argmax())
        try:
            self.index.draw(node, self.key)
        except ValueError:
            require(not len(self._members(node)), "no row is drawn from a node")

    def members(self):
        found = self._members(int(self.counts().argmax()))
        require((np.diff(found) > 0).all(), "rows of a node are not in order")

    def take(self):
        self.index.take(self.row)
        found = self._members(int(self.apply()[self.row]))
        require(self.row not in found, "a row that is taken out")
        self.index.put_back(self.row)

    def _members(self, node):
        try:
            return self.index.members(node)
        except ValueError:
            require(node >= len(self.counts()), "a node that is there")
            return []  # another tree has taken the place of its own

    def check_more(self, fresh, leaves):
        self.index.put_back(self.row)  # which an interrupt may have kept
        counts = np.bincount(leaves, minlength=self.model.tree_.node_count)
        require(np.array_equal(self.counts(), counts), "counts of an old index")
        node = int(leaves[self.row])
        require(
            np.array_equal(self.index.members(node), np.flatnonzero(leaves == node))
            and self.index.draw(node, self.key) == fresh.draw(node, self.key),
            "rows of a node of an old index",
        )

    def changes(self, now):
        moved = now != self.before
        nodes = np.concatenate([now[moved], self.before[moved]])
        return nodes[nodes < self.model.tree_.node_count]  # of another tree, maybe


class _ForestIndex(_Index):
    def __init__(self, draw, table, model):
        super().__init__(draw, table, model)
        self.questions |= {"proba": self.proba, "leaves": self.leaves}
        self.calls["predict_proba"] = self.index.predict_proba

    def proba(self):
        found = self.index.predict_proba()
        require(
            len(found) == self.n and (abs(found.sum(axis=1) - 1.0) < 1e-9).all(),
            "probabilities by an index",
        )
        return found

    def leaves(self):
        require((self.index.leaves(1) >= 0).all(), "leaves by an index")

    def check_more(self, fresh, leaves):
        require(
            self.proba().tobytes() == fresh.predict_proba().tobytes(),
            "an old index predicts otherwise than one made now",
        )

    def changes(self, now):
        return np.flatnonzero((now != self.before).any(axis=1))


def _draw_indexes(sequence, n):
    """A growing tree or forest, and indexes of it."""
    draw, table = sequence.draw, sequence.table
    if draw.chance(0.6):
        model, kind = sequence.copy_by_pickle(), _TreeIndex
    else:
        model, kind = _draw_forest(sequence), _ForestIndex
    sequence.traits.add(f"indexes: {type(model).__name__}")
    indexes = [sequence.call("index_rows", kind, draw, table, model) for _ in range(n)]
    return model, indexes


def _draw_forest(sequence):
    draw, table = sequence.draw, sequence.table
    forest = ConfidenceForestClassifier(
        2,
        bound=draw.one([None, "gtest"]),
        grace_period=draw.one([1, 10]),
        leaf_prediction=draw.one([*["majority"] * 3, "nb"]),
        vote=draw.one([*["mean"] * 3, "accuracy"]),
        drift=draw.one([None, "adwin"]),
        categorical_features=table.categorical_features,
        n_jobs=draw.one([None, 2]),
        random_state=draw.whole(0, 1000),
    )
    rows = sequence.rows(draw.one([1, 50]), weights=False)
    classes = table.classes[sequence.known]
    return forest.partial_fit(table.give(draw, rows.X), table.labels[rows.y], classes)


def _draw_rows(sequence, n):
    """Rows to learn, among them late categories."""
    if sequence.draw.chance(0.5):
        sequence.table.met = min(1.0, sequence.table.met + 0.3)
    return busy_rows(sequence, n)


def share_index(sequence):
    """Threads that share indexes of a model that learns are given sound answers."""
    if not sequence.parts:
        return
    draw = sequence.draw
    model, indexes = _draw_indexes(sequence, draw.one([1, 1, 2]))
    batches = [
        _draw_rows(sequence, draw.one([20, 300]))
        for _ in range(draw.whole(1, MOST_BATCHES))
    ]
    refit = draw.chance(0.2)
    asked = {
        one: draw.rng.permutation(sorted(one.questions))[:ASKERS] for one in indexes
    }
    done = threading.Event()
    begun = threading.Barrier(1 + ASKERS * len(indexes))

    def learn():
        begun.wait()
        try:
            for X, y, rows in batches:
                model.partial_fit(X, y, sample_weight=rows.weight)
            if refit:
                _fit(model, X, y)
        finally:
            done.set()

    def ask(question):
        begun.wait()
        for _ in range(MOST_LOOKS):
            question()
            if done.is_set():
                break

    works = [
        partial(ask, one.questions[name])
        for one, names in asked.items()
        for name in names
    ]
    what = ", ".join(sorted({str(name) for names in asked.values() for name in names}))
    with switching_often():
        sequence.call(f"threads: indexes, {what}", run_at_once, [learn, *works])
    for one in indexes:
        one.check()
        one.check_reported()


def _fit(model, X, y):
    """Have another tree; what `fit` refuses is looked at elsewhere."""
    try:
        model.fit(X, y)
    except ValueError:
        pass


def interrupt_index(sequence):
    """An index that was interrupted, or asked by a handler, goes on as before."""
    if not sequence.parts:
        return
    draw = sequence.draw
    model, (one, other) = _draw_indexes(sequence, 2)
    for _ in range(draw.whole(1, MOST_INTERRUPTS)):
        X, y, rows = _draw_rows(sequence, draw.one([1, 5, 100]))
        what = draw.one(sorted([*one.calls, "partial_fit"]))
        if what == "partial_fit":
            same = pickle.loads(pickle.dumps(model))
            work, twin = (
                partial(each.partial_fit, X, y, None, rows.weight)
                for each in (model, same)
            )
        else:
            model.partial_fit(X, y, None, rows.weight)
            work, twin = one.calls[what], other.calls[what]
        within = draw.one(["", PACKAGE])
        _, n_places = count_lines(twin, within)
        place = draw.whole(1, max(n_places, 1))
        if draw.chance(0.3):
            name = draw.one(sorted(one.calls))
            handle = partial(_may_be_refused, one.calls[name])
            sequence.call(
                f"index: {what}, {name} by a handler",
                *(act_at_line, place, handle, work, within),
            )
        else:
            interrupter = Interrupter(draw.one(ERRORS), None, within)
            sequence.call(
                f"index: {what}, interrupted", interrupter.at_place, place, work
            )
        one.check()


def _may_be_refused(call):
    try:
        call()
    except RuntimeError:
        pass  # this thread is at work on what is asked
