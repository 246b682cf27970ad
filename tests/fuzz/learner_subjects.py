"""Active learners whose calls themes spoil, interrupt or make at once."""

import numpy as np
from sklearn.naive_bayes import GaussianNB

from skconftree import OASISClassifier
from skconftree.active import ActiveLearner, ArrayOracle, StreamActiveLearner

from .failures import require
from .learners import draw_small_tree
from .subjects import CONTAINERS, Call, Stream, Subject, copied, spoiled_batch, stranger

POOL_STRATEGIES = ("auto", "random", "margin", "density", "entropy")
STREAM_KINDS = (
    ("conf_tree", None),
    ("variable_uncertainty", None),
    ("split", "ddm"),
    ("split_conf_tree", "adwin"),
    ("oasis", None),
)


class PoolSubject(Subject):
    owned = ("ActiveLearner", "ActiveLearner", "LabelCodes", "Pool")

    def __init__(self, draw):
        stream = Stream(draw)
        self.X, self.y = stream.batch(draw, draw.one([12, 40]))
        self.n = len(self.y)
        self.fixed = draw.chance(0.3)
        self.start = np.full(self.n, None)
        known = draw.rng.random(self.n) < draw.one([0.0, 0.0, 0.1, 0.5])
        self.start[known] = self.y[known]
        # which warns of a class without a row, as only `partial_fit` makes them
        gaussian = draw.chance(0.3)
        self.learner = ActiveLearner(
            GaussianNB(var_smoothing=1e-3) if gaussian else draw_small_tree(draw),
            strategy=draw.one(POOL_STRATEGIES),
            batch_size=1,
            refit=gaussian or draw.chance(0.6),
            classes=stream.labels.tolist() if self.fixed else None,
            random_state=draw.whole(0, 1000),
        )

    def make(self):
        return copied(self.learner).fit(self.X, self.start)

    def next_call(self, draw, one):
        left = np.flatnonzero(one._codes < 0)
        kinds = {"query": 2, "fit": 0.5}
        if len(left):
            kinds |= {"teach": 4, "run": 1}
        if one.history_:
            kinds["undo"] = 2
        return getattr(self, f"_{draw.weighted(kinds)}")(draw, one, left)

    def _fit(self, draw, one, left):
        def spoil(draw):
            X, y = self.X.copy(), self.start
            known = np.flatnonzero([one is not None for one in y])
            if draw.chance(0.5) and len(np.unique(self.y[known])) > 1:
                X[draw.one(known), 0] = np.inf
            else:
                y = y[:-1]
            return "bad row", lambda one: one.fit(X, y)

        return Call("fit", lambda one: one.fit(self.X, self.start).n_labeled_, spoil)

    def _query(self, draw, one, left):
        k = draw.one([None, 1, 5])

        def spoil(draw):
            costs = np.ones(self.n)
            costs[draw.whole(0, self.n - 1)] = draw.one([0.0, -1.0, np.nan])
            return "bad cost", lambda one: one.query(k, costs=costs)

        return Call("query", lambda one: one.query(k), spoil)

    def _teach(self, draw, one, left):
        rows = draw.rng.permutation(left)[: draw.one([1, 3, 8])]
        labels = self.y[rows].astype(object)
        if draw.chance(0.3):
            labels[draw.whole(0, len(rows) - 1)] = None
        weight = draw.one([None, draw.rng.uniform(0.5, 2.0, len(rows))])

        def spoil(draw):
            what = draw.one(["place", "label", "weight", "length"])
            place = draw.whole(0, len(rows) - 1)
            other, told, given = rows.copy(), labels.copy(), weight
            if what == "place":
                wrong = [-1, self.n, *np.flatnonzero(one._codes >= 0)[:1]]
                other[place] = draw.one(wrong)
            elif what == "label" and self.fixed:
                told[place] = stranger(draw, self.y)
            elif what == "weight":
                given = np.ones(len(rows))
                given[place] = draw.one([0.0, -1.0, np.nan, np.inf])
            else:
                told = told[:-1]
            return f"bad {what}", lambda one: one.teach(other, told, given)

        return Call("teach", lambda one: _taught(one, rows, labels, weight), spoil)

    def _undo(self, draw, one, left):
        most = len(one._answers)
        n = draw.one([draw.whole(1, most), most])  # all: classes go with them

        def spoil(draw):
            wrong = draw.one([0, -1, len(one._answers) + 1, 1.5])
            return "bad n", lambda one: one.undo(wrong)

        return Call("undo", lambda one: one.undo(n).n_labeled_, spoil)

    def _run(self, draw, one, left):
        budget = draw.whole(1, min(6, len(left)))

        def part(one, n):
            answered = sum(answer.label is not None for answer in one.history_)
            one.run(ArrayOracle(self.y), budget=answered + n)

        def spoil(draw):
            return "bad budget", lambda one: one.run(ArrayOracle(self.y), budget=0)

        return Call("run", lambda one: part(one, budget), spoil, part)

    def progress(self, one):
        return len(one.history_)

    def check(self, one):
        labels, known = one.y_, one._codes >= 0
        require(len(labels) == self.n, "pool: length of y_")
        require(known.sum() == one.n_labeled_, "pool: number of labels")
        require(
            set(labels[known].tolist()) <= set(one.classes_.tolist()), "pool: classes"
        )
        for row, label, _ in one.history_:
            require(
                label is None or labels[row] == label, "pool: y_ is not what was taught"
            )
        require(known.any() == hasattr(one, "estimator_"), "pool: a model or none")
        if known.any():
            found = one.predict(self.X)
            require(set(found) <= set(one.classes_.tolist()), "pool: predicted classes")
        asked = copied(one).query(3)
        require(
            not known[asked].any() and len(asked) == min(3, self.n - known.sum()),
            "pool: rows asked for",
        )

    def looks(self):
        return {
            "query": lambda one: one.query(2),
            "properties": lambda one: (one.y_, one.classes_, one.history_),
        }

    def work(self, draw, one):
        rows = draw.rng.permutation(np.flatnonzero(one._codes < 0))

        def teach(row):
            return lambda one: one.teach(row, self.y[row])

        acts = [[teach(row) for row in part] for part in (rows[::2], rows[1::2])]

        def settle(plain, one):
            for answer in one.history_[len(plain.history_) :]:
                plain.teach(answer.row, answer.label)

        return acts, settle


def _taught(one, rows, labels, weight):
    return one.teach(rows, labels, weight).n_labeled_


class StreamSubject(Subject):
    owned = ("StreamActiveLearner", "StreamActiveLearner", "Account", "LeafLabels")

    def __init__(self, draw):
        self.stream = Stream(draw)
        strategy, drift = draw.one(STREAM_KINDS)
        self.model = draw_small_tree(draw, forests=strategy == "split")
        if strategy == "oasis":
            self.model = OASISClassifier(n_particles=10, random_state=3)
        self.learner = StreamActiveLearner(
            self.model,
            strategy=strategy,
            drift=drift,
            budget=draw.one([0.1, 0.5, 1.0]),
            budget_estimate=draw.one(["exact", "windowed"]),
            classes=self.stream.labels if draw.chance(0.8) else None,
            random_state=draw.whole(0, 1000),
        )
        self.asked = None  # rows and labels, of the last query

    def make(self):
        one = copied(self.learner)
        if self.learner.classes is None:
            X = np.zeros((len(self.stream.labels), self.stream.n_features))
            one.fit(X, self.stream.labels)
        return one

    def next_call(self, draw, one):
        kinds = {"query": 3, "run": 2}
        if self.asked is not None and len(self.asked[1]):
            kinds["teach"] = 6
        return getattr(self, f"_{draw.weighted(kinds)}")(draw, one)

    def _batch(self, draw):
        small = isinstance(self.model, OASISClassifier)
        return self.stream.batch(draw, draw.one([3, 30, 60 if small else 150]))

    def _query(self, draw, one):
        X, y = self._batch(draw)
        hold = draw.one(CONTAINERS)

        def act(one):
            asked = one.query(hold(X))
            self.asked = X[asked], y[asked]
            return asked

        def spoil(draw):
            if not isinstance(self.model, OASISClassifier):
                return None  # not every strategy looks at values
            _, wrong, *_ = spoiled_batch(draw, X, y, None, ["row"])
            return "bad row", lambda one: one.query(hold(wrong))

        return Call("query", act, spoil)

    def _teach(self, draw, one):
        (X, y), hold = self.asked, draw.one(CONTAINERS)
        weight = draw.one([None, draw.rng.integers(1, 3, len(y)).astype(float)])
        self.asked = None

        def act(one, X=X, y=y, weight=weight):
            one.teach(hold(X), y, weight)

        def spoil(draw):
            what, *batch = spoiled_batch(draw, X, y, weight)
            return what, lambda one: act(one, *batch)

        return Call("teach", act, spoil)

    def _run(self, draw, one):
        X, y = self._batch(draw)
        self.asked = None  # a run is charged for no other labels
        hold = draw.one(CONTAINERS)
        # before there is a model nobody looks at rows that are not asked for
        kinds = ["row", "label"] if hasattr(one, "estimator_") else ["label"]

        def act(one, X=X, y=y):
            return tuple(one.run(hold(X), y))

        def part(one, n):
            act(one, X[:n], y[:n])

        def spoil(draw):
            what, X_bad, y_bad, _ = spoiled_batch(draw, X, y, None, kinds)
            return what, lambda one: act(one, X_bad, y_bad)

        return Call("run", act, spoil, part)

    def check(self, one):
        require(0 <= one.n_queried_ <= one.n_rows_seen_, "stream: labels asked for")
        require(one.n_drifts_ >= 0, "stream: drifts")
        if hasattr(one, "estimator_"):
            require(
                np.array_equal(one.classes_, one.estimator_.classes_),
                "stream: classes of the model",
            )
            proba = one.predict_proba(np.zeros((2, self.stream.n_features)))
            require(
                proba.shape == (2, len(one.classes_)) and np.isfinite(proba).all(),
                "stream: probabilities",
            )

    def looks(self):
        return {
            "properties": lambda one: (one.queried_share_, one.n_drifts_),
            "check": self.check,
        }

    def work(self, draw, one):
        acts = [self._run(draw, one).act] * draw.whole(2, 5)
        return [acts, acts], lambda plain, _: [act(plain) for act in acts * 2]
