"""While the rows of a stream are kept, the tree that predicts better is used."""

import copy
import pickle

import numpy as np
import pytest
from reference.registries import DETECTORS
from scipy.sparse import csr_array

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import ActiveLearner, StreamActiveLearner
from skconftree.bounds import GTestBound
from skconftree.drift import LocalRepair
from skconftree.evaluation import OneByOne
from skconftree.tree import _early


def boxes(n=400, seed=0):
    """Boxes of two classes, which `fit` finds in fewer rows."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4)).astype(np.float32)
    y = ((X[:, 0] > 0.3) & ((X[:, 1] > 0.3) ^ (X[:, 2] > 0.8))).astype(int)
    return X, np.where(rng.random(n) < 0.05, 1 - y, y)


def grown(X, y, ends=None, weight=None, **parameters):
    """A tree and what it predicted."""
    tree = ConfidenceTreeClassifier(**{"random_state": 0} | parameters)
    predicted, begin = [], 0
    for end in ends or [len(y)]:
        rows = slice(begin, end)
        weights = None if weight is None else weight[rows]
        predicted.append(tree.partial_fit_predict(X[rows], y[rows], [0, 1], weights))
        begin = end
    return tree, np.concatenate(predicted)


def test_the_fitted_tree_is_used_where_it_is_better():
    X, y = boxes()
    tree, predicted = grown(X, y)
    alone, predicted_alone = grown(X, y, refit_rows=0)
    assert np.mean(predicted == y) > np.mean(predicted_alone == y) + 0.05
    fitted = ConfidenceTreeClassifier(random_state=0).fit(X[:386], y[:386])
    np.testing.assert_array_equal(tree.tree_.threshold, fitted.tree_.threshold)
    np.testing.assert_array_equal(tree.predict_proba(X), fitted.predict_proba(X))
    assert tree.n_rows_seen_ == 400 > tree.tree_.counts[0].sum() == 386
    assert tree.n_bytes_ > alone.n_bytes_ + X.nbytes
    assert "the tree refitted to 386 rows" in tree.summary()
    assert "the tree refitted to 386 rows" in tree.explain_text(X[:1])
    assert "refit" not in alone.summary()


def test_each_prediction_is_of_the_tree_that_was_ahead():
    X, y = boxes(130)
    _, predicted = grown(X, y)
    _, of_incremental = grown(X, y, refit_rows=0)
    points, ahead = [50, 63, 79, 99, 124], [0.0, 0.0]
    assert points[1:] == [int(_early.FACTOR * n) + 1 for n in points[:-1]]
    fitted, expected = None, []
    for i in range(130):
        both = [of_incremental[i]] * 2
        if fitted is not None:
            both[1] = fitted.predict(X[i : i + 1])[0]
        expected.append(both[int(ahead[1] > ahead[0])])
        ahead = [
            _early.DECAY * one + (told == y[i])
            for one, told in zip(ahead, both, strict=True)
        ]
        if i + 1 in points:
            fitted = ConfidenceTreeClassifier(random_state=0)
            fitted.fit(X[: i + 1], y[: i + 1])
    np.testing.assert_array_equal(predicted, expected)


@pytest.mark.parametrize("n", [52, 110, 120, 170])
@pytest.mark.parametrize("leaf_prediction", ["auto", "nb"])
def test_calls_copies_and_predictions_do_not_matter(n, leaf_prediction):
    X, y = boxes(200)
    weight = np.arange(200) % 5 / 2.0
    settings = {"refit_rows": 90, "leaf_prediction": leaf_prediction}
    tree, predicted = grown(X[:n], y[:n], weight=weight, **settings)
    one_by_one, others = grown(X[:n], y[:n], range(1, n + 1), weight, **settings)
    np.testing.assert_array_equal(predicted, others)
    learned = ConfidenceTreeClassifier(random_state=0, **settings)
    learned.partial_fit(X[:n], y[:n], [0, 1], weight[:n])
    copies = [copy.copy(tree), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))]
    for other in (one_by_one, learned, *copies):
        assert pickle.dumps(other) == pickle.dumps(tree)
        other.partial_fit(X[n:], y[n:])
    tree.partial_fit(X[n:], y[n:])
    for other in (one_by_one, learned, *copies):
        assert pickle.dumps(other) == pickle.dumps(tree)


def test_the_tree_that_wins_goes_on_growing():
    X, y = boxes(300)
    tree, _ = grown(X[:120], y[:120], refit_rows=120)
    fitted = ConfidenceTreeClassifier(random_state=0).fit(X[:120], y[:120])
    np.testing.assert_array_equal(tree.tree_.threshold, fitted.tree_.threshold)
    assert tree.shrinkage_ == 10.0
    tree.partial_fit(X[120:], y[120:])
    fitted.partial_fit(X[120:], y[120:])
    np.testing.assert_array_equal(tree.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(tree.tree_.counts, fitted.tree_.counts)
    assert tree.n_rows_seen_ == fitted.n_rows_seen_ == 300


def test_it_is_off_where_something_else_is_asked_for():
    X, y = boxes(60)
    off = [
        *({"bound": name} for name in ("evalue", "credible", None, GTestBound(0.1))),
        *({"drift": name} for name in DETECTORS),
        {"delta": 0.5},
        {"grace_period": 1},
        {"leaf_memory": "rows"},
        {"max_bytes": 10**6},
        {"refit_rows": 0},
    ]
    on = [{}, {"drift": "local"}, {"drift": LocalRepair(0.1)}, {"max_depth": 3}]
    for settings in off + on:
        text = grown(X, y, **settings)[0].summary()
        assert ("2,500 rows stored" in text) == (settings in on)
    forest = ConfidenceForestClassifier(2).partial_fit(X, y, [0, 1])
    assert "stored" not in forest.estimators_[0].summary()
    wide = np.repeat(X, 2_000, axis=1)
    assert "of at most 131 rows stored" in grown(wide, y)[0].summary()
    wide = np.repeat(X, 8_000, axis=1)
    assert "stored" not in grown(wide, y)[0].summary()


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [({"max_bytes": 10**6}, {}), ({"bound": "credible"}, {"X_pool": boxes()[0]})],
)
def test_what_it_does_not_go_with(settings, arguments):
    tree = ConfidenceTreeClassifier(refit_rows=100, **settings)
    with pytest.raises(ValueError, match="'refit_rows'.*'auto' or 0 with .*Got 100"):
        tree.partial_fit(*boxes(60), [0, 1], **arguments)
    assert not hasattr(tree, "tree_")


def test_parameters_of_the_first_call_are_used():
    X, y = boxes(200)
    expected, _ = grown(X, y)
    tree, _ = grown(X[:100], y[:100])
    tree.set_params(max_depth=1, random_state=5, refit_rows=0)
    tree.partial_fit(X[100:], y[100:])
    tree.set_params(**expected.get_params())
    assert pickle.dumps(tree) == pickle.dumps(expected)


def test_an_error_changes_nothing():
    X, y = boxes(100)
    tree, _ = grown(X, y)
    before = pickle.dumps(tree)
    for rows, labels in (([[1, 2, 3]], [0]), (X[:1], [7]), ([[np.inf] * 4], [0])):
        with pytest.raises(ValueError, match=r"features|label|infinity"):
            tree.partial_fit(rows, labels)
    assert pickle.dumps(tree) == before


def test_sparse_rows_are_those_of_an_array():
    X, y = boxes(150)
    X[X < 0.3] = 0.0
    dense, _ = grown(X, y)
    sparse, _ = grown(csr_array(X), y, [70, 150])
    assert pickle.dumps(sparse) == pickle.dumps(dense)


def dictionaries(*, copies):
    """A tree that learned dictionaries, with keys and labels that came late."""
    X, y = boxes(110)
    model = OneByOne(ConfidenceTreeClassifier(random_state=0))
    for i, (a, b, *_) in enumerate(X.tolist()):
        row = {"a": a, "b": "uvw"[int(3 * b * (i > 30))]}
        if i >= 70:
            row["c"] = "late"
        model.learn_one(row, int(y[i] + 2 * (i > 90)))
        if copies and i % 7 == 0:
            model = pickle.loads(pickle.dumps(model))
    return model.model


def test_categories_classes_and_columns_may_come_late():
    with pytest.warns(UserWarning, match="'c'"):
        tree, other = (dictionaries(copies=copies) for copies in (False, True))
    assert pickle.dumps(tree) == pickle.dumps(other)
    assert len(tree.classes_) == 4
    assert tree.n_features_in_ == 3
    assert "refitted to 99 rows" in tree.summary()


def test_active_learners_switch_it_off():
    X, y = boxes(100)
    stream = StreamActiveLearner(ConfidenceTreeClassifier(), classes=[0, 1])
    with pytest.warns(UserWarning, match="0 were queried"):
        stream.teach(X, y)
    pool = ActiveLearner(ConfidenceTreeClassifier(), refit=False).fit(X)
    pool.teach(np.arange(100), y)
    for learner in (stream, pool):
        assert learner.estimator_.refit_rows == 0
        assert learner.estimator_.n_rows_seen_ == 100


def test_held_out_counts_are_discarded():
    X, y = boxes(200)
    tree, _ = grown(X[:150], y[:150])
    tree.recount_leaves(X[:50], y[:50])
    assert tree.honest_counts_[0].sum() == 50
    with pytest.warns(UserWarning, match="recount_leaves are discarded"):
        tree.partial_fit(X[150:], y[150:])
    other, _ = grown(X, y)
    assert pickle.dumps(tree) == pickle.dumps(other)


@pytest.mark.parametrize("where", ["_refit", "_compare", "_end"])
def test_an_interrupted_call_is_continued(monkeypatch, where):
    """The rows up to the interrupt are learned, and what was not done is done later."""
    X, y = boxes(200)
    expected, _ = grown(X, y, refit_rows=150)
    tree, _ = grown(X[:60], y[:60], refit_rows=150)
    whole, pressed = getattr(_early.EarlyModel, where), []

    def press(self, **options):
        if self.n_rows_seen > 63 and not pressed:
            pressed.append(1)
            raise KeyboardInterrupt
        return whole(self, **options)

    monkeypatch.setattr(_early.EarlyModel, where, press)
    with pytest.raises(KeyboardInterrupt):
        tree.partial_fit(X[60:], y[60:])
    n = tree.n_rows_seen_
    assert 60 < n < 200
    assert tree.predict(X).shape == (200,)
    for continued in (pickle.loads(pickle.dumps(tree)), tree):
        continued.partial_fit(X[n:], y[n:])
        assert pickle.dumps(continued) == pickle.dumps(expected)


def test_other_threads_may_read_before_rows_are_compared(monkeypatch):
    X, y = boxes(200)
    expected, predicted = grown(X, y)
    whole = _early.EarlyModel._compare

    def read_first(self):
        assert self.tree.node_count > 0
        return whole(self)

    monkeypatch.setattr(_early.EarlyModel, "_compare", read_first)
    tree, others = grown(X, y)
    np.testing.assert_array_equal(others, predicted)
    assert pickle.dumps(tree) == pickle.dumps(expected)


@pytest.mark.parametrize(
    "damage",
    [
        {"refit_rows": 3},
        {"refitted_at": 0},
        {"refitted_at": 1000},
        {"X": np.zeros((3, 4), np.float32)},
        {"y": np.full(100, 7, np.uint16)},
        {"weight": np.zeros(100)},
        {"comparison": (100, np.nan, 0.0, True, 60)},
        {"comparison": (99, 1.0, 0.0, False, 60)},
        {"comparison": (100, 1, 0.0, False, 60)},
        {"fitted": None},
        {"parameters": {}},
        {"other": 1},
    ],
)
def test_a_damaged_state_raises(damage):
    tree, _ = grown(*boxes(100))
    state = tree.__getstate__()
    state["_model"] = state["_model"] | {"early": state["_model"]["early"] | damage}
    with pytest.raises(ValueError, match="corrupt|setting"):
        ConfidenceTreeClassifier().__setstate__(state)
