"""Callbacks of scikit-learn receive the progress of a fit and do not change it."""

import pickle
import threading

import numpy as np
import pytest
from reference.threads import PATIENCE
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.tree import _progress

callback = pytest.importorskip(
    "sklearn.callback", reason="callbacks come with scikit-learn 1.9"
)
X, y = load_breast_cancer(return_X_y=True)
X, y = X[::4], y[::4]
ESTIMATORS = [
    ConfidenceTreeClassifier(),
    ConfidenceForestClassifier(24, random_state=0),
    ConfidenceForestClassifier(24, n_jobs=2, random_state=0),
]


class Watch:
    """Remembers what it is told; `at_end` is called with what is fitted so far."""

    def __init__(self, at_end=lambda estimator, fitted: None):
        self.log, self.at_end = [], at_end

    def setup(self, estimator, context):
        self.log.append("setup")

    def teardown(self, estimator, context):
        self.log.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.log.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.log.append(("end", context.task_name, context.task_id))
        return self.at_end(estimator, fitted_estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_callbacks_do_not_change_the_model(estimator):
    watch = Watch()
    watched = clone(estimator).set_callbacks(watch).fit(X, y)
    alone = clone(estimator).fit(X, y)
    assert np.array_equal(watched.predict_proba(X), alone.predict_proba(X))
    assert watch.log[:2] == ["setup", ("begin", "fit", 0)]
    assert watch.log[-2:] == [("end", "fit", 0), "teardown"]
    steps = [("batch of trees", i) for i in range(20)] * hasattr(alone, "estimators_")
    told = [(kind, *step) for step in steps for kind in ("begin", "end")]
    assert watch.log[2:-2] == told


def test_a_callback_receives_the_trees_and_can_stop():
    sizes = []

    def enough(forest, fitted):
        sizes.append(len(fitted.estimators_))
        assert fitted.predict(X).shape == y.shape
        fitted.partial_fit(X, y)  # a copy: what the forest becomes does not change
        return sizes[-1] >= 6

    forest = ConfidenceForestClassifier(24, random_state=0)
    forest.set_callbacks(Watch(enough)).fit(X, y)
    assert sizes == [2, 4, 6, 6]
    whole = ConfidenceForestClassifier(24, random_state=0).fit(X, y)
    proba = np.mean([tree.predict_proba(X) for tree in whole.estimators_[:6]], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), proba)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_while_a_callback_runs_the_estimator_is_what_it_was(estimator):
    estimator = clone(estimator).fit(X[:, :3], y)
    before, seen = estimator.predict_proba(X[:, :3]), []

    def look(learning, fitted):
        def read():
            seen.append(learning.predict_proba(X[:, :3]))

        other = threading.Thread(target=read, daemon=True)
        other.start()
        other.join(PATIENCE)
        read()

    estimator.set_callbacks(Watch(look)).fit(X, y)
    assert len(seen) >= 2
    assert all(np.array_equal(one, before) for one in seen)
    assert estimator.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_of_a_callback_leaves_the_estimator_as_it_was(estimator, error):
    def fail(learning, fitted):
        raise error("from a callback")

    estimator = clone(estimator).fit(X[:, :3], y)
    before = estimator.predict_proba(X[:, :3])
    watch = Watch(fail)
    estimator.set_callbacks(watch)
    with pytest.raises(error, match="from a callback"):
        estimator.fit(X, y)
    assert watch.log[-1] == "teardown"
    assert np.array_equal(estimator.predict_proba(X[:, :3]), before)
    estimator.set_callbacks().fit(X, y)
    assert estimator.n_features_in_ == X.shape[1]


def test_invalid_input_is_rejected_before_callbacks():
    watch = Watch()
    with pytest.raises(ValueError, match="NaN"):
        ConfidenceTreeClassifier().set_callbacks(watch).fit(X, np.full(len(y), np.nan))
    assert watch.log == []


def test_a_search_shows_its_fits_and_scores_are_monitored():
    watch = callback.ScoringMonitor(scoring="accuracy")
    forest = ConfidenceForestClassifier(8, random_state=0).set_callbacks(watch)
    model = make_pipeline(StandardScaler(), forest)
    grid = {"confidenceforestclassifier__delta": [0.1, 1.0]}
    GridSearchCV(model, grid, cv=2).fit(X, y)
    forest.fit(X, y)
    scores = [row["accuracy"] for row in watch.get_logs(select="most_recent").data]
    assert len(scores) == 9
    assert scores[-1] == forest.score(X, y)


@pytest.fixture
def long_fits(monkeypatch):
    monkeypatch.setattr(_progress, "MIN_LOOKAHEAD_VALUES", 0)


X_LONG, Y_LONG = make_classification(
    3000, 10, n_informative=6, flip_y=0.3, random_state=1
)
LOOKS = ConfidenceTreeClassifier(lookahead=5)
LEVEL, PART = "level of look-ahead", "part of a level"


def test_long_fits_report_each_level_of_look_ahead(long_fits):
    watch = Watch()
    watched = clone(LOOKS).set_callbacks(watch).fit(X_LONG, Y_LONG)
    assert pickle.dumps(watched.tree_) == pickle.dumps(
        clone(LOOKS).fit(X_LONG, Y_LONG).tree_
    )
    events = watch.log[2:-2]
    levels = [event for event in events if event[1] == LEVEL]
    assert levels[:5] == events[:10:2] == [("begin", LEVEL, i) for i in range(5)]
    # the upper ones end first
    assert levels[5:] == [("end", LEVEL, i) for i in range(5)]
    parts = [event for event in events if event[1] == PART]
    assert len(parts) + len(levels) == len(events)
    begun = [place for kind, _, place in parts if kind == "begin"]
    ended = [place for kind, _, place in parts if kind == "end"]
    assert sorted(begun) == sorted(ended)
    assert max(begun) < _progress.N_PROGRESS_STEPS
    # progress is reported throughout, and not at the end only
    assert len(begun) > 3 * _progress.N_PROGRESS_STEPS
    halfway = events[: len(events) // 2]
    assert ("end", PART, 5) in halfway


def test_short_fits_do_not_report_levels():
    watch = Watch()
    clone(LOOKS).set_callbacks(watch).fit(X_LONG, Y_LONG)
    assert watch.log[1:-1] == [("begin", "fit", 0), ("end", "fit", 0)]


def test_a_callback_that_has_enough_ends_looking_ahead(long_fits):
    calls = []

    class Enough(Watch):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            if context.task_name == PART:
                assert fitted_estimator is None  # there is no tree yet
                calls.append(estimator.__sklearn_is_fitted__())
                return len(calls) == 1

    tree = clone(LOOKS).set_callbacks(Enough()).fit(X_LONG, Y_LONG)
    looked = np.isfinite(tree.tree_.trial_costs["cost"])
    whole = clone(LOOKS).fit(X_LONG, Y_LONG).tree_.trial_costs["cost"]
    assert looked.sum() <= 1 < np.isfinite(whole).sum()
    assert not any(calls)
    assert tree.score(X_LONG, Y_LONG) > 0.6


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_amid_a_level_leaves_the_tree_as_it_was(long_fits, error):
    class Fails(Watch):
        def on_fit_task_end(self, estimator, context):
            if context.task_name == PART and context.task_id == 7:
                raise error("from a level")

    tree = clone(LOOKS).fit(X, y)
    before = tree.predict_proba(X)
    watch = Fails()
    tree.set_callbacks(watch)
    with pytest.raises(error, match="from a level"):
        tree.fit(X_LONG, Y_LONG)
    assert watch.log[-1] == "teardown"
    assert np.array_equal(tree.predict_proba(X), before)
