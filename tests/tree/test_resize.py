"""Classes and columns that are added to a growing tree were empty before."""

import pickle

import numpy as np
import pandas as pd
import pytest

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.tree.stream._state import GrowerState

N, LATE = 2400, 1200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)).astype(np.float32)
Y = ((X[:, 0] > 0) ^ (X[:, 1] > 0.5)).astype(int) * 2
Y[LATE:][RNG.random(N - LATE) < 0.2] = 1
Y[LATE:][RNG.random(N - LATE) < 0.1] = 3
OLD, ALL = [0, 2], [0, 1, 2, 3]
KINDS = {
    "default": {},
    "majority": {"leaf_prediction": "majority"},
    "rows": {"leaf_memory": "rows"},
    "histogram": {"leaf_memory": "histogram"},
    "gaussian": {"leaf_memory": "gaussian"},
    "local": {"drift": "local"},
    "adwin": {"drift": "adwin"},
    "no bound": {"bound": None},
}
FIXED_CUTS = {"bound": "evalue", "leaf_memory": "gaussian"}
EXACT = ["majority", "adwin"]
BACKGROUND = 1 + GrowerState._fields.index("background")  # after the version
FOREST = ["default", "gaussian", "local", "adwin"]


def resized(model, labels=(), columns=()):
    """Resize a model that a pickle has restored, too."""
    model = pickle.loads(pickle.dumps(model))
    model._extend(labels, columns)
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((ConfidenceTreeClassifier, name) for name in KINDS),
        *((lambda **k: ConfidenceForestClassifier(3, **k), name) for name in FOREST),
    ],
)
def test_late_classes_are_as_if_declared(make, name):
    given = KINDS[name] | {"random_state": 0, "grace_period": 50}
    late = make(**given).partial_fit(X[:LATE], Y[:LATE], classes=OLD)
    late = resized(late, [3, 1]).partial_fit(X[LATE:], Y[LATE:])
    want = make(**given).partial_fit(X[:LATE], Y[:LATE], classes=ALL)
    want.partial_fit(X[LATE:], Y[LATE:])
    assert late.classes_.tolist() == ALL
    np.testing.assert_array_equal(late.predict(X), want.predict(X))
    is_forest = isinstance(late, ConfidenceForestClassifier)
    if is_forest or name in EXACT:  # others remember the losses of probabilities
        assert pickle.dumps(late) == pickle.dumps(want)


def test_classes_are_added_to_the_tree_of_a_warning():
    """A detector in its warning zone trains a second tree, which has them, too."""
    rng = np.random.default_rng(1)
    is_wrong = (rng.random(N) < 0.25) & (np.arange(N) > 800) & np.isin(Y, OLD)
    y = np.where(is_wrong, 2 - Y, Y)
    settings = {"leaf_prediction": "majority", "drift": "ddm", "refit_rows": 0}
    late = ConfidenceTreeClassifier(**settings)
    late.partial_fit(X[:800], y[:800], classes=OLD)
    n = 800
    while late.__getstate__()["_model"]["grower"][1][BACKGROUND] is None:
        late.partial_fit(X[n : n + 10], y[n : n + 10])
        n += 10
    assert n < LATE
    late = resized(late, [1, 3]).partial_fit(X[n:], y[n:])
    want = ConfidenceTreeClassifier(**settings)
    want.partial_fit(X[:n], y[:n], classes=ALL).partial_fit(X[n:], y[n:])
    assert want.n_drifts_ > 0
    assert pickle.dumps(late) == pickle.dumps(want)


def test_classes_are_added_to_a_fitted_model():
    for make in (ConfidenceTreeClassifier, lambda: ConfidenceForestClassifier(2)):
        model = make().set_params(random_state=0).fit(X[:LATE], Y[:LATE])
        before = model.predict_proba(X[:50])
        late = resized(model, [1, 3])
        np.testing.assert_allclose(
            late.predict_proba(X[:50])[:, [0, 2]].argmax(axis=1), before.argmax(axis=1)
        )
        late.partial_fit(X[LATE:], Y[LATE:])
        assert (late.predict_proba(X).max(axis=0) > 0).all()
        assert late.n_rows_seen_ == N


def test_weights_of_classes():
    weight = {0: 2.0, 2: 1.0}
    tree = ConfidenceTreeClassifier(class_weight=weight)
    tree.partial_fit(X[:LATE], Y[:LATE], classes=OLD)
    late = resized(tree.set_params(class_weight=weight | {1: 1.0, 3: 3.0}), [1, 3])
    late.partial_fit(X[LATE:], Y[LATE:])
    want = ConfidenceTreeClassifier(class_weight=late.class_weight)
    want.partial_fit(X[:LATE], Y[:LATE], classes=ALL)
    want.partial_fit(X[LATE:], Y[LATE:])
    np.testing.assert_array_equal(late.predict(X), want.predict(X))


def table(nominal):
    """A frame whose last column has values, and decides, only in its second half."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=list("abc")).astype(float)
    if nominal:
        values = np.array(["x", "y", "z"])[rng.integers(0, 3, N)]
        frame["late"] = pd.Series(values, dtype="str")
        y = (X[:, 0] > 0) ^ (values == "x")
    else:
        frame["late"] = values = rng.normal(size=N)
        y = (X[:, 0] > 0) ^ (values > 0)
    y[:LATE] = X[:LATE, 0] > 0
    gaps = frame.copy()
    gaps.loc[: LATE - 1, "late"] = None if nominal else np.nan
    return gaps, y.astype(int)


@pytest.mark.parametrize("nominal", [False, True])
@pytest.mark.parametrize("name", [*KINDS, "fixed cuts"])
def test_late_columns_were_missing_before(name, nominal):
    frame, y = table(nominal)
    settings = KINDS.get(name, FIXED_CUTS)
    tree = ConfidenceTreeClassifier(**settings)
    old = frame[["a", "b", "c"]]
    tree.partial_fit(old[:LATE], y[:LATE], classes=[0, 1])
    proba = tree.predict_proba(old)
    late = resized(tree, columns=[("late", nominal)])
    # naive Bayes has one more factor, which is near 1 unless a leaf has few rows
    np.testing.assert_allclose(
        late.predict_proba(frame[:LATE]), proba[:LATE], atol=0.05
    )
    found = late.partial_fit_predict(frame[LATE:], y[LATE:])
    want = ConfidenceTreeClassifier(**settings)
    want.partial_fit(frame[:LATE], y[:LATE], classes=[0, 1])
    expected = want.partial_fit_predict(frame[LATE:], y[LATE:])
    # leaves store fewer rows of a table with more columns
    assert np.mean(found == expected) > 0.98
    assert late.feature_names_in_.tolist() == ["a", "b", "c", "late"]
    assert late.is_categorical_ is None or late.is_categorical_[-1] == nominal
    if name != "adwin":
        assert np.mean(found == y[LATE:]) > 0.9


def test_a_label_of_another_type_adds_nothing():
    for model in (ConfidenceTreeClassifier(), ConfidenceForestClassifier(2)):
        model.partial_fit(X, Y, classes=ALL)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match="'x' has another type than the classes"):
            model._extend(labels=["x"])
        assert pickle.dumps(model) == before


def test_a_column_is_added_to_a_monotonic_tree():
    frame, y = table(False)
    old = frame[["a", "b", "c"]]
    tree = ConfidenceTreeClassifier(
        None, max_depth=3, monotonic_cst=[1, 0, -1], max_features=2, random_state=0
    )
    tree.fit(old[:LATE], y[:LATE])
    late = resized(tree, columns=[("late", False)])
    np.testing.assert_array_equal(late.predict_proba(frame), tree.predict_proba(old))


@pytest.mark.parametrize(
    "settings", [{"max_features": 2}, {"bound": "credible", "max_features": 1}]
)
def test_columns_are_added_to_a_forest_twice(settings):
    """The values of new columns are missing; trees may share unlabeled rows."""
    frame, y = table(False)
    old = frame[["a", "b", "c"]]
    pool = {"X_pool": old[:100]} if "bound" in settings else {}
    forest = ConfidenceForestClassifier(3, random_state=0, **settings)
    forest.partial_fit(old[:LATE], y[:LATE], classes=[0, 1], **pool)
    late = resized(forest, columns=[("late", False)])
    np.testing.assert_allclose(
        late.predict_proba(frame[:LATE]), forest.predict_proba(old[:LATE]), atol=0.1
    )
    late.partial_fit(frame[LATE:], y[LATE:])
    later = resized(late, columns=[("color", True)])
    more = frame.assign(color=pd.Series([None] * N, dtype="str"))
    assert later.feature_names_in_.tolist() == ["a", "b", "c", "late", "color"]
    np.testing.assert_allclose(
        later.predict_proba(more), late.predict_proba(frame), atol=0.1
    )
    used = [set(tree.tree_.feature[tree.tree_.feature >= 0]) for tree in late]
    assert any(3 in features for features in used)  # trees draw the new column
