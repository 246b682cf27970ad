"""Leaf strategies give the same result with a row index, in less time."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from reference.effort import crossed
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import ActiveLearner, LeafRiskSampling, WeightedSampling
from skconftree.active.pool import LeafSampling, SamplingStrategy

LEAF_STRATEGIES = [
    LeafRiskSampling(gap=False),
    LeafRiskSampling(gap=True),
    "leaf_risk",
    "leaf_entropy",
    "expected_error",
]


def table(n=400):
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    return X, (X[:, 0] > 0.5).astype(int) ^ (X[:, 1] > 0.6)


X, Y = table()


def grower(strategy, refit=False, **options):
    tree = ConfidenceTreeClassifier(
        None, min_samples_leaf=5, grace_period=10, leaf_memory="rows", random_state=0
    )
    options = {"refit": refit, "random_state": 0, "classes": [0, 1], **options}
    return ActiveLearner(tree, strategy=strategy, **options)


def without_index(learner, monkeypatch):
    monkeypatch.setattr(learner, "_row_index", lambda estimator: None, raising=False)
    return learner


def taught(learner, n, k=1, y=Y):
    known = np.full(len(y), None)
    known[:4] = y[:4]
    learner.fit(X, known)
    for i in range(n):
        rows = learner.query(k)
        learner.teach(rows, [None] * len(rows) if i % 5 == 4 else y[rows])
    return learner


@pytest.mark.parametrize(("refit", "strategy"), crossed([False, True], LEAF_STRATEGIES))
@pytest.mark.slow
def test_the_leaves_are_those_of_a_search(strategy, refit, monkeypatch):
    learner = grower(strategy, refit)
    taught(learner, 0)
    n_leaves = set()
    for _ in range(25):
        rows, scores = learner.query(3, return_scores=True)
        other = without_index(pickle.loads(pickle.dumps(learner)), monkeypatch)
        expected, expected_scores = other.query(3, return_scores=True)
        np.testing.assert_array_equal(scores, expected_scores)
        leaves = learner.estimator_.apply(X)
        np.testing.assert_array_equal(leaves[rows], leaves[expected])
        if strategy == "leaf_entropy":
            np.testing.assert_array_equal(rows, expected)
        assert len(set(rows.tolist())) == 3
        assert (learner._codes[rows] < 0).all()
        n_leaves.add(learner.estimator_.get_n_leaves())
        learner.teach(rows, Y[rows])
    assert len(n_leaves) > 3
    assert learner._index[1] is not None


@pytest.mark.parametrize("strategy", LEAF_STRATEGIES)
def test_queries_do_not_depend_on_the_index(strategy):
    """Asked twice, after undo, after a pickle, and from the answers alone."""
    learner = taught(grower(strategy), 30, k=2)
    rows = learner.query(4)
    np.testing.assert_array_equal(rows[:2], learner.query(2))
    np.testing.assert_array_equal(rows, learner.query(4))
    for other in (pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)):
        np.testing.assert_array_equal(rows, other.query(4))
    state = pickle.dumps(learner)
    learner.teach(rows, Y[rows]).undo()
    assert pickle.dumps(learner) == state
    np.testing.assert_array_equal(rows, learner.query(4))
    again = clone(learner).fit(X, [*Y[:4], *[None] * (len(X) - 4)])
    for batch in learner._answers:
        labels = np.full(len(batch.rows), None)
        labels[batch.known] = batch.labels
        again.teach(batch.rows, labels)
    np.testing.assert_array_equal(rows, again.query(4))


@pytest.mark.parametrize("refit", [False, True])
def test_the_excess_risk_decides_where_splits_stay(refit):
    """Until the tree is fitted again at each label: then the whole risk does."""
    auto, told, other = (
        taught(grower(LeafRiskSampling(gap=gap), refit), 0)
        for gap in ("auto", not refit, refit)
    )
    differs = False
    for _ in range(35):
        rows, scores = auto.query(2, return_scores=True)
        again, same = told.query(2, return_scores=True)
        np.testing.assert_array_equal(rows, again)
        np.testing.assert_array_equal(scores, same)
        differs |= rows.tolist() != copy.deepcopy(other).query(2).tolist()
        for one in (auto, told, other):
            one.teach(rows, Y[rows])
    assert differs


@pytest.mark.parametrize("refit", [False, True])
def test_weighted_strategies_use_the_tree(refit):
    named = [
        WeightedSampling([("leaves", LeafRiskSampling(gap=gap), 1.0)])
        for gap in ("auto", not refit, refit)
    ]
    wrong = np.random.default_rng(0).random(400) < 0.2
    known = np.where(np.arange(400) < 150, Y ^ wrong, None)
    learners = [grower(one, refit).fit(X, known) for one in named]
    auto, told, other = (
        one._strategy.score(one._context(one._strategy.needs)) for one in learners
    )
    np.testing.assert_array_equal(auto, told)
    assert (auto != other).any()


def test_skipped_rows_come_last():
    learner = taught(grower("leaf_risk"), 20)
    parked = np.flatnonzero(learner._skipped)
    assert learner._n_skipped == len(parked) == 4
    learner.teach(parked[:1], Y[parked[:1]])
    assert learner._n_skipped == 3
    n_open = int((learner._codes < 0).sum())
    rows = learner.query(n_open)
    np.testing.assert_array_equal(np.sort(rows[-3:]), np.sort(parked[1:]))
    assert len(set(rows.tolist())) == n_open
    learner.teach(rows, Y[rows])
    assert len(learner.query()) == 0


def test_a_custom_selection_is_used():
    class Last(LeafRiskSampling):
        def select(self, context, k):
            return np.arange(context.n_candidates - k, context.n_candidates), np.ones(k)

    class First(LeafSampling):
        def worth(self, counts, sizes, total):
            return sizes / total

        def _ordered(self, inside, context):
            return np.sort(inside)

    assert taught(grower(Last()), 3).query().tolist() == [len(X) - 4]
    learner = taught(grower(First()), 3)
    row = int(learner.query()[0])
    leaves = learner.estimator_.apply(X)
    open_rows = np.flatnonzero(learner._codes < 0)
    assert row == open_rows[leaves[open_rows] == leaves[row]][0]


def test_a_strategy_may_choose_rows_by_itself():
    """It is asked as the built-in ones are: without a list of the candidates."""

    class Drawn(SamplingStrategy):
        needs = ("leaves",)

        def select_rows(self, context, k):
            assert "candidates" not in vars(context)
            leaf = int(context.index.counts().argmax())
            return context.index.draw(leaf, context.draw_key(0), size=k), np.ones(k)

    learner = taught(grower(Drawn()), 10)
    rows = learner.query(3)
    sizes = np.bincount(learner.estimator_.apply(X[learner._codes < 0]))
    assert set(learner.estimator_.apply(X[rows])) == {sizes.argmax()}


@pytest.mark.parametrize("rows", [[3, 3], [3], [3, 400], [3, -1], [3, 0], [3.0, 4.0]])
def test_rows_that_are_no_choice(rows):
    class Wrong(SamplingStrategy):
        def select_rows(self, context, k):
            return np.array(rows), np.ones(len(rows))

    known = np.full(len(Y), None)
    known[:3] = 0, 1, 0
    learner = ActiveLearner(ConfidenceTreeClassifier(), strategy=Wrong()).fit(X, known)
    with pytest.raises(ValueError, match="Wrong must select 2 different candidates"):
        learner.query(2)


def test_categories_that_come_late():
    """Rows whose category a node does not know lie there, and are asked for."""
    rng = np.random.default_rng(0)
    table = np.column_stack(
        [rng.normal(size=(300, 3)), rng.integers(0, 5, 300), rng.integers(1, 21, 300)]
    )
    y = (table[:, 0] > 0) ^ (table[:, 3] == 2)
    frame = pd.DataFrame(table).astype({3: "category", 4: "category"})
    frame[5] = pd.Series(list("abcdef" * 50)).astype("category")
    tree = ConfidenceTreeClassifier(
        "gtest", delta=0.9, grace_period=1, leaf_memory="rows", random_state=0
    )
    learner = ActiveLearner(tree, strategy="leaf_risk", refit=False, random_state=0)
    known = np.full(300, None)
    known[:6] = np.asarray(y)[:6]
    learner.fit(frame, known)
    for _ in range(60):
        rows = learner.query()
        learner.teach(rows, np.asarray(y)[rows])
    assert learner.n_labeled_ == 66
    index = learner._index[1]
    np.testing.assert_array_equal(index.apply(), learner.estimator_.apply(frame))
    assert index.counts().sum() == 234


def test_an_error_loses_no_labels():
    learner = taught(grower("leaf_risk"), 10)
    rows = learner.query()
    with pytest.raises(ValueError, match="7"):
        learner.teach(rows, [7])
    np.testing.assert_array_equal(rows, learner.query())
    learner.teach(rows, Y[rows])
    assert learner._index[1].counts().sum() == 400 - 4 - 11


def test_a_growing_forest_is_queried_through_its_index():
    """The rows are those that a learner made from the same answers asks for."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 3)).astype(np.float32)
    y = ((X[:, 0] > 0.4) ^ (X[:, 1] > 0.7)).astype(int)
    known = np.full(400, None)
    known[:60] = y[:60]
    forest = ConfidenceForestClassifier(
        7, grace_period=10, leaf_prediction="majority", random_state=0
    )
    for strategy in ("auto", "entropy", "margin"):
        learner = ActiveLearner(forest, strategy=strategy, refit=False, random_state=0)
        learner.fit(X, known)
        for _ in range(6):
            rows, scores = learner.query(3, return_scores=True)
            again = pickle.loads(pickle.dumps(learner))
            fresh, fresh_scores = again.query(3, return_scores=True)
            assert fresh.tolist() == rows.tolist()
            assert fresh_scores.tobytes() == scores.tobytes()
            learner.teach(rows, y[rows])
    free = np.array([label is None for label in learner.y_])
    gaps = np.abs(learner.predict_proba(X) @ [1, -1])
    rows = learner.query(5)
    assert gaps[free].min() <= gaps[rows].max() <= np.sort(gaps[free])[4] + 1e-9
