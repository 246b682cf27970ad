"""Invalid labels, queries and oracles, and failing ones, change nothing."""

import pickle

import numpy as np
import pytest
from reference.iris_learners import X, Y, add_labels, learner, some
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier
from skconftree.active import ActiveLearner, ArrayOracle, LabelBudget, NoisyOracle
from skconftree.active._strategy import MarginSampling
from skconftree.active.pool import SamplingStrategy


def taught(rows, labels, sample_weight=None, **more):
    one = learner(**more).fit(X, some(Y))
    state = pickle.dumps(one)
    try:
        one.teach(rows, labels, sample_weight=sample_weight)
    finally:
        assert pickle.dumps(one) == state


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ([200], [1], "indices into the pool of 150 rows"),
        ([-1], [1], "indices into the pool of 150 rows"),
        ([2.5], [1], "rows must be integer indices into the pool"),
        ([True] * 150, Y, "rows must be integer indices into the pool"),
        ([0], [1], "Row 0 is already labeled"),
        ([3, 3], [1, 1], "rows must not contain duplicates"),
        ([3, 4], [1], "Pass one label per row"),
        ([3], [np.inf], "contains infinity"),
        ([3, 4], [1, "a"], "labels mixes strings with other labels"),
    ],
)
def test_invalid_labels_change_nothing(rows, labels, message):
    with pytest.raises(ValueError, match=message):
        taught(rows, labels)


@pytest.mark.parametrize("weight", [[0.0], [np.nan], [1.0, 1.0]])
def test_invalid_weights_change_nothing(weight):
    with pytest.raises(
        ValueError, match="sample_weight must be a positive finite number"
    ):
        taught([3], [1], sample_weight=weight)


@pytest.mark.parametrize("call", ["query", "teach"])
def test_a_learner_without_a_pool(call):
    with pytest.raises(NotFittedError):
        getattr(learner(), call)(*{"query": (), "teach": ([3], [1])}[call])


def test_a_label_outside_the_classes():
    with pytest.raises(ValueError, match=r"label 7, .* not one of the classes"):
        taught([3], [7], classes=[0, 1, 2])


def test_a_row_that_was_not_queried_is_used_with_a_warning():
    one = learner(strategy="random").fit(X, some(Y))
    other = np.setdiff1d(np.arange(2, 60), one.query(5))[0]
    with pytest.warns(UserWarning, match=f"Row {other} was not queried"):
        one.teach(other, Y[other])
    assert one.n_labeled_ == 7


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "best"}, "strategy"),
        ({"strategy": "vote_entropy"}, "needs members that vote .* Use one of"),
        ({"strategy": "leaf_risk"}, "needs the leaves of a single tree .* 'margin'"),
        ({"batch_size": 0}, "batch_size"),
        ({"tie_break": "first"}, "tie_break"),
        ({"classes": [1, None]}, "classes must not contain missing_label"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        learner(**parameters).fit(X)


@pytest.mark.parametrize("refit", ["auto", False])
def test_rows_of_another_shape_change_nothing(refit):
    one = add_labels(
        learner(ConfidenceTreeClassifier(), refit=refit).fit(X, some(Y)), 2
    )
    before = pickle.dumps(one)
    for method in (one.predict, one.predict_proba):
        with pytest.raises(ValueError, match="2 features, .* expecting 4"):
            method(X[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        one.fit(X[0], Y[:4])
    with pytest.raises(ValueError, match="the same length. Got 150 and 3"):
        one.fit(X, Y[:3])
    assert pickle.dumps(one) == before
    single = learner().fit(X).teach([1], [0])
    with pytest.raises(ValueError, match="2 features, .* expecting 4"):
        single.predict(X[:, :2])


def test_an_exhausted_pool_ends_cleanly():
    one = learner().fit(X, Y)
    before = pickle.dumps(one)
    rows, scores = one.query(3, return_scores=True)
    assert len(rows) == len(scores) == 0
    assert one.run(ArrayOracle(Y)) is one
    assert pickle.dumps(one.teach([], [])) != before  # an answer like any other
    assert one.n_labeled_ == 150


def test_growing_needs_partial_fit():
    with pytest.raises(ValueError, match="has no partial_fit"):
        learner(DecisionTreeClassifier(), refit=False).fit(X)


def test_invalid_queries():
    one = learner().fit(X, some(Y))
    with pytest.raises(ValueError, match="k must be an integer of 1 or more"):
        one.query(0)
    with pytest.raises(ValueError, match="costs must have one number for each"):
        one.query(costs=[1.0])
    with pytest.raises(ValueError, match="costs must be finite and positive"):
        one.query(costs=np.zeros(150))
    with pytest.raises(ValueError, match="n must be an integer from 1 to the 0 calls"):
        one.undo()
    with pytest.raises(ValueError, match=r"embedding must return .* shape \(150,\)"):
        learner(embedding=lambda X: X[:, 0]).fit(X).query()
    with pytest.raises(ValueError, match="has no labels yet"):
        learner().fit(X).predict(X)
    with pytest.raises(ValueError, match="contains NaN only"):
        learner().fit(X, np.full(150, np.nan))


def test_a_budget_above_the_pool_is_said_and_ends():
    one = learner(strategy="random", batch_size=20).fit(X[::5])
    with pytest.warns(UserWarning, match="without an initial label, 30"):
        one.run(ArrayOracle(Y[::5]), budget=100)
    assert one.n_labeled_ == 30


@pytest.mark.parametrize("refit", [True, False])
def test_an_oracle_that_raises_loses_nothing(refit):
    class Tired:
        n = 0

        def __call__(self, rows, places):
            self.n += 1
            if self.n == 8:
                raise KeyboardInterrupt
            return Y[places]

    tree = ConfidenceTreeClassifier(grace_period=1)
    one = learner(tree, refit=refit).fit(X, some(Y))
    with pytest.raises(KeyboardInterrupt):
        one.run(Tired(), budget=20)
    assert one.n_labeled_ == 6 + 7
    same = learner(tree, refit=refit).fit(X, some(Y)).run(ArrayOracle(Y), budget=7)
    assert pickle.dumps(one) == pickle.dumps(same)


def test_a_classifier_that_fails_leaves_the_learner_as_it_was():
    class Fragile(GaussianNB):
        def fit(self, X, y):
            if len(y) > 7:
                raise MemoryError("no")
            return super().fit(X, y)

    one = learner(Fragile(), strategy="random").fit(X, some(Y))
    add_labels(one, 1)
    history, proba = one.history_, one.predict_proba(X)
    with pytest.raises(MemoryError):
        add_labels(one, 1)
    assert one.history_ == history
    np.testing.assert_array_equal(one.predict_proba(X), proba)


@pytest.mark.parametrize("table", ["X", b"X", 3, None, np.float64(3), {"a": [1]}])
def test_what_is_no_table_is_named(table):
    with pytest.raises(ValueError, match="X must be a 2d table. Got"):
        ActiveLearner(GaussianNB()).fit(table)


def test_drift_detection_among_queried_labels_warns():
    tree = ConfidenceTreeClassifier(drift="ddm")
    with pytest.warns(UserWarning, match=r"drift='ddm'.*Set its drift to None"):
        learner(tree, refit=False).fit(X, some(Y))
    learner(tree, refit=True).fit(X, some(Y))  # has no stream to look at


class Bad(SamplingStrategy):
    """A strategy whose scores, or places among candidates, are what it is given."""

    def __init__(self, scores=None, places=None):
        self.scores = scores
        self.places = places

    def score(self, context):
        return self.scores(len(context.candidates))

    def select(self, context, k):
        if self.places is None:
            return super().select(context, k)
        return self.places, np.zeros(k)


class WithoutCosts(Bad):
    takes_costs = False


@pytest.mark.parametrize(
    ("strategy", "costs", "message"),
    [
        (Bad(lambda n: np.zeros(n - 1)), None, "one score for each of the"),
        (Bad(lambda n: np.full(n, np.nan)), None, "returned NaN scores"),
        (Bad(lambda n: np.full(n, -1.0)), np.ones(150), "returned negative scores"),
        (Bad(places=[-1]), None, "must return indices from 0 to"),
        (WithoutCosts(np.zeros), np.ones(150), "WithoutCosts does not support costs"),
    ],
)
def test_a_strategy_with_invalid_scores_or_indices(strategy, costs, message):
    one = learner(strategy=strategy).fit(X, some(Y))
    with pytest.raises(ValueError, match=message):
        one.query(costs=costs)


@pytest.mark.parametrize(
    ("parameters", "kind", "message"),
    [
        ({"budget": 0}, ValueError, "budget must be 1 or more, or None. Got 0"),
        ({"oracle": Y}, TypeError, "oracle must be callable with"),
        ({"oracle": NoisyOracle(Y, 2.0)}, ValueError, r"noise must be in \[0, 1\]"),
    ],
)
def test_a_run_that_cannot_begin(parameters, kind, message):
    one = learner().fit(X, some(Y))
    with pytest.raises(kind, match=message):
        one.run(**{"oracle": ArrayOracle(Y), "budget": 3, **parameters})
    assert one.n_labeled_ == 6


@pytest.mark.parametrize("call", ["query", "reached", "teach"])
def test_an_interrupted_query_leaves_no_cache(monkeypatch, call):
    """Each call leaves the learner as if the query had not been."""

    def interrupted(self, context):
        context.memory["half"] = "made"
        raise KeyboardInterrupt

    one, other = (learner(strategy="margin").fit(X, some(Y)) for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(MarginSampling, "score", interrupted)
        with pytest.raises(KeyboardInterrupt):
            one.query()
    given = {"reached": (LabelBudget(100),), "teach": ([3, 70], Y[[3, 70]])}.get(
        call, ()
    )
    getattr(one, call)(*given)
    getattr(other, call)(*given)
    assert "half" not in one._memory
    assert (one.query(9) == other.query(9)).all()


def test_a_run_ends_where_all_rows_are_skipped():
    one, asked = learner(batch_size=100).fit(X, some(Y)), []

    def skip(X, rows):
        asked.extend(rows.tolist())
        return [None] * len(rows)

    one.run(skip, budget=None)
    assert len(set(asked)) == len(asked) == 144


def test_a_table_without_columns():
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)"):
        learner().fit(np.empty((150, 0)), some(Y))
