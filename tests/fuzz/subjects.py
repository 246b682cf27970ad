"""Objects that learn, and the calls that themes spoil, interrupt or make at once."""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas

from skconftree import ConfidenceForestClassifier, OASISClassifier
from skconftree.active import LearningToSampleClassifier
from skconftree.evaluation import PrequentialEvaluator
from skconftree.evaluation._prequential import SCORES

from . import invariants
from .detectors import PARAMETERS, facts
from .failures import require
from .learners import draw_small_tree

CONTAINERS = (np.array, np.asfortranarray, np.ndarray.tolist, pandas.DataFrame)
LABELS = (np.array(["b", "d", "a"]), np.array([3, 7, -1]), np.array([6.0, 0.0, 3.0]))
SHARES = ("accuracy", "window_accuracy", "no_change_accuracy", "f1")


@dataclass
class Call:
    """A call that may be made of an object and of its copies.

    Parameters
    ----------
    name : str
    act : callable
        Makes it of an object; what it gives is the same for equal objects.
    spoil : callable or None
        Of a `Draw`: what is wrong, and the same call with that.
    part : callable or None
        Of an object and a number: what an interrupted call may have done instead,
        by what `progress` of the object says.
    """

    name: str
    act: Any
    spoil: Any = None
    part: Any = None


class Subject:
    """An object of one kind with drawn parameters.

    Parameters
    ----------
    draw : Draw
    """

    owned = ()  # classes whose states make up its own
    interrupted_twice = True  # may a call be, by a second exception behind the first
    has_pool = False  # of threads, Python's own, which a timer may leave locked

    @property
    def name(self):
        """Of its kind, in what is told of it."""
        return type(self).__name__.removesuffix("Subject")

    def make(self):
        """The object, which has learned nothing."""
        raise NotImplementedError

    def next_call(self, draw, one):
        """Draw a call that suits the object as it is."""
        raise NotImplementedError

    def values(self, one):
        """All it knows."""
        return invariants.values_of(one)

    def learned(self, one):
        """What it has learned, if an interrupted call may have lost its answer."""
        return self.values(one)

    def check(self, one):
        """What is true of it whatever happened, and of what its calls give."""

    def check_copy(self, one):
        """What is true of a copy of it, at whatever moment it was made."""
        self.check(one)

    def looks(self):
        """Functions that read it, by name."""
        return {}

    def progress(self, one):
        """Rows, or answers, that it has learned."""
        return getattr(one, "n_rows_seen_", 0)

    def stops_at(self, one):
        """Whether an interrupted call may end with it as it is."""
        return True

    def work(self, draw, one):
        """Calls of two threads, and what makes a copy the same in one thread."""
        call = self.next_call(draw, one)
        acts = [call.act] * draw.whole(2, 6)
        return [acts, acts], lambda plain, _: [act(plain) for act in acts * 2]


def copied(one):
    return pickle.loads(pickle.dumps(one))


class Stream:
    """Rows of a few classes that come in batches."""

    def __init__(self, draw, n_classes=None):
        self.n_features = draw.whole(1, 3)
        self.labels = draw.one(LABELS)[: n_classes or draw.one([2, 3])]

    def batch(self, draw, n):
        codes = draw.rng.integers(0, len(self.labels), n)
        X = draw.rng.normal(size=(n, self.n_features))
        return np.round(X + codes[:, np.newaxis], 2), self.labels[codes]


def spoiled_batch(draw, X, y, weight, kinds=("row", "label", "weight", "length")):
    """What is wrong, and the batch with that at one place."""
    what = draw.one(kinds)
    place = draw.whole(0, len(y) - 1)
    X, y = X.copy(), y.copy()
    weight = np.ones(len(y)) if weight is None else weight.copy()
    if what == "row":
        X[place, draw.whole(0, X.shape[1] - 1)] = draw.one([np.inf, -np.inf])
    elif what == "label":
        y = np.where(np.arange(len(y)) == place, stranger(draw, y), y)
    elif what == "weight":
        weight[place] = draw.one([-1.0, np.nan, np.inf])
    elif draw.chance(0.5) and "weight" in kinds:
        weight = weight[:-1]
    else:
        y = y[:-1]
    return f"bad {what}", X, y, weight


def stranger(draw, y):
    """A label of the kind of others that is not one of them."""
    return draw.one(["", "stranger"] if y.dtype.kind == "U" else [17, -300])


class DetectorSubject(Subject):
    owned = ("Detector", "BaseDetector")

    def __init__(self, draw):
        self.kind = draw.one(list(PARAMETERS))
        self.parameters = {}
        for name, values in PARAMETERS[self.kind].items():
            if draw.chance(0.3):
                given = self.parameters | {name: draw.one(values)}
                try:
                    self.kind(**given).check_parameters()
                except ValueError:
                    continue
                self.parameters = given

    def make(self):
        return self.kind(**self.parameters)

    def next_call(self, draw, one):
        if draw.chance(0.1):
            return Call("reset", lambda one: one.reset().n_rows_seen_)
        n = draw.one([1, 40, 600, 3000])
        errors = (draw.rng.random(n) < draw.one([0.05, 0.3, 0.8])).astype(float)

        def spoil(draw):
            wrong = errors.copy()
            never = [np.nan, np.inf]
            if not self.kind._takes_numbers:
                never += [2.0, -1.0, 0.5]
            wrong[draw.whole(0, n - 1)] = draw.one(never)
            return "bad outcome", lambda one: one.update_many(wrong)

        if n == 1:
            return Call("update", lambda one: one.update(errors[0]), spoil)
        return Call(
            "update_many",
            lambda one: one.update_many(errors),
            spoil,
            lambda one, n: one.update_many(errors[:n]),
        )

    def stops_at(self, one):
        return one.n_rows_seen_ % invariants.BOUNDARY == 0

    def check(self, one):
        facts(one)

    def looks(self):
        # two facts that are asked for one after the other may be of two moments
        return {
            "facts": lambda one: (one.state_, one.n_rows_, one.n_drifts_),
        }

    def work(self, draw, one):
        errors = draw.rng.random(draw.one([500, 20_000])) < 0.3
        acts = [lambda one: one.update_many(errors)] * 8
        return [acts, acts], lambda plain, _: [act(plain) for act in acts * 2]


class ModelSubject(Subject):
    """A model that learns by `partial_fit`."""

    has_pool = True

    def __init__(self, draw):
        self.stream = Stream(draw)
        seed = draw.whole(0, 1000)
        self.model = draw.one(
            [
                OASISClassifier(n_particles=10, random_state=seed),
                ConfidenceForestClassifier(
                    3, n_jobs=2, bound=None, grace_period=5, random_state=seed
                ),
                ConfidenceForestClassifier(
                    3, n_jobs=2, bound=None, grace_period=5, random_state=seed
                ),
            ]
        )

    def make(self):
        return copied(self.model)

    def next_call(self, draw, one):
        X, y = self.stream.batch(draw, draw.one([20, 200, 2500]))
        weight = draw.one([None, draw.rng.integers(1, 3, len(y)).astype(float)])
        hold, classes = draw.one(CONTAINERS), np.sort(self.stream.labels)

        def act(one, X=X, y=y, weight=weight):
            one.partial_fit(hold(X), y, classes=classes, sample_weight=weight)

        def part(one, n):
            act(one, X[:n], y[:n], None if weight is None else weight[:n])

        def spoil(draw):
            what, *batch = spoiled_batch(draw, X, y, weight)
            return what, lambda one: act(one, *batch)

        return Call("partial_fit", act, spoil, part)

    def learned(self, one):
        # what is left to do, with rows that are there, is done by the next call
        other = copied(one)
        other.partial_fit(np.zeros((1, self.stream.n_features)), self.stream.labels[:1])
        return self.values(other)

    def check(self, one):
        if hasattr(one, "classes_"):
            ask = np.zeros((3, self.stream.n_features))
            invariants.probabilities(one, one.predict_proba(ask), 3)

    def stops_at(self, one):
        # planes at each of their own blocks
        at_boundary = one.n_rows_seen_ % invariants.BOUNDARY == 0
        return at_boundary or isinstance(one, OASISClassifier)


class EvaluatorSubject(Subject):
    owned = ("PrequentialEvaluator", "Tally", "Baselines")
    # A second exception may come before the rows of the first one are counted.
    interrupted_twice = False

    def __init__(self, draw):
        self.stream = Stream(draw)
        self.model = draw_small_tree(draw)

    def make(self):
        return PrequentialEvaluator(copied(self.model), classes=self.stream.labels)

    def next_call(self, draw, one):
        if draw.chance(0.2):
            return Call("report", lambda one: _without_seconds(one.report()))
        return self._update(draw, draw.one([5, 60, 400]))

    def _update(self, draw, n):
        X, y = self.stream.batch(draw, n)
        weight = draw.one([None, draw.rng.integers(1, 3, n).astype(float)])
        hold = draw.one(CONTAINERS)

        def act(one, X=X, y=y, weight=weight):
            return one.update(hold(X), y, weight)

        def spoil(draw):
            what, *batch = spoiled_batch(draw, X, y, weight)
            return what, lambda one: act(one, *batch)

        def part(one, n):
            act(one, X[:n], y[:n], None if weight is None else weight[:n])

        return Call("update", act, spoil, part)

    def values(self, one):
        state = one.__getstate__()
        return invariants.values_of(state | {"cpu_seconds_": 0.0})

    def learned(self, one):
        # rows whose predictions were lost with the call count as learned, not as tested
        state = one.__getstate__()
        for name in ("cpu_seconds_", "n_tested_", "_window", "_total"):
            del state[name]
        return invariants.values_of(state)

    def progress(self, one):
        return one.n_rows_

    def check(self, one):
        require(0 <= one.n_tested_ <= one.n_rows_, "evaluator: rows")
        record = copied(one).report()
        for name in SHARES:
            found = getattr(record, name)
            require(not found < -1e-9 and not found > 1 + 1e-9, f"evaluator: {name}")
        require(record.n_rows == one.n_rows_, "evaluator: rows of a report")
        require(
            one.pos_label_ is None or one.pos_label_ in one.classes_.tolist(),
            "evaluator: pos_label_",
        )

    def check_copy(self, one):
        self.check(one)
        seen = getattr(one.estimator, "n_rows_seen_", 0)
        require(seen == one.n_rows_, "evaluator: rows of the estimator", str(seen))

    def looks(self):
        return {
            "properties": lambda one: (one.n_rows_, one.n_tested_, one.cpu_seconds_),
        }

    def work(self, draw, one):
        # of few rows: figures are changed as long as rows are learned
        n = draw.one([2, 20, 300])
        acts = [self._update(draw, n).act] * (5 + 100 // n)
        return [acts, acts], lambda plain, _: [act(plain) for act in acts * 2]


def _without_seconds(record):
    return {name: getattr(record, name) for name in (*SCORES, "n_rows", "n_tested")}


class SamplerSubject(Subject):
    """Learning to sample, which is fitted only."""

    def __init__(self, draw):
        self.stream = Stream(draw)
        self.seed = draw.whole(0, 1000)
        self._ask = np.linspace(-1.0, 3.0, 3 * self.stream.n_features).reshape(3, -1)

    def make(self):
        return LearningToSampleClassifier(8, n_rounds=2, random_state=self.seed)

    def next_call(self, draw, one):
        X, y = self.stream.batch(draw, 20)

        def spoil(draw):
            what, X_bad, y_bad, _ = spoiled_batch(draw, X, y, None, ["row", "length"])
            return what, lambda one: one.fit(X_bad, y_bad)

        return Call("fit", lambda one: one.fit(X, y).queried_, spoil)

    def values(self, one):
        # a deep copy of scikit-learn's trees is written in other bytes
        state = one.__getstate__() | {"sampler_": None}
        sampler = getattr(one, "sampler_", None)
        errors = None if sampler is None else sampler.predict(self._ask)
        return invariants.values_of((state, errors))

    def check(self, one):
        if not hasattr(one, "classes_"):
            return
        require(one.n_labeled_ == len(one.labels_), "lts: labels")
        found = one.predict(self._ask)
        require(set(found) <= set(one.classes_.tolist()), "lts: predicted classes")

    def looks(self):
        return {
            "probabilities": lambda one: one.predict_proba(self._ask),
        }

    def work(self, draw, one):
        # to two kinds of labels, so that two moments can be told apart
        X, y = self.stream.batch(draw, 20)
        others = np.array(["p", "q"])[np.arange(20) % 2]
        acts = [[lambda one, y=y: one.fit(X, y)] * 4 for y in (y, others)]

        def settle(plain, one):
            plain.fit(X, others if "p" in one.classes_.tolist() else y)

        return acts, settle
