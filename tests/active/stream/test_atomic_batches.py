"""A learner of a stream learns a batch whole or not at all, whoever is at fault."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from reference.effort import crossed
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMTreeClassifier,
    OASISClassifier,
)
from skconftree.active import StreamActiveLearner

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = (X[:, 0] > 0).astype(int)
TREE = ConfidenceTreeClassifier(bound=None, grace_period=5)


class RowByRow(GaussianNB):
    """Learns one row after the other, and raises in the middle."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        for i in range(len(y)):
            weight = None if sample_weight is None else sample_weight[i : i + 1]
            super().partial_fit(X[i : i + 1], y[i : i + 1], classes, weight)
        return self


LEARNERS = {
    "tree": (TREE, "conf_tree", None),
    "tree, drift": (TREE, "split", "ddm"),
    "tree, drift in leaves": (TREE, "split_conf_tree", "adwin"),
    "class weights": (TREE, "split", "ddm"),
    "forest": (ConfidenceForestClassifier(2, bound=None), "split", None),
    "forest, drift": (ConfidenceForestClassifier(2, bound=None), "split", "ddm"),
    "ncm": (NCMTreeClassifier(), "random", None),
    "oasis": (OASISClassifier(n_particles=10, buffer_size=5), "random", None),
    "bayes": (GaussianNB(), "variable_uncertainty", None),
    "bayes, drift": (GaussianNB(), "split", "ddm"),
    "row by row": (RowByRow(), "random", None),
    "sgd": (SGDClassifier(loss="log_loss"), "split", None),
    "sgd, drift": (SGDClassifier(loss="log_loss"), "split", "ddm"),
}
WEIGHTED = [name for name in LEARNERS if name != "ncm"]


def begun(name, n_rows=120, **parameters):
    estimator, strategy, drift = LEARNERS[name]
    if name == "class weights":
        estimator = ConfidenceTreeClassifier(class_weight={0: 0.0, 1: 1.0})
    learner = StreamActiveLearner(
        estimator,
        strategy=strategy,
        drift=drift,
        budget=0.5,
        random_state=0,
        **{"classes": [0, 1], **parameters},
    )
    for begin in range(0, n_rows, 40):
        rows = slice(begin, begin + 40)
        asked = learner.query(X[rows])
        learner.teach(X[rows][asked], Y[rows][asked])
    return learner


def state_of(learner):
    """Equal for equal learners; pickles of scikit-learn's classifiers are not."""
    learner = pickle.loads(pickle.dumps(learner))
    model = vars(learner).get("estimator_")
    if model is None or type(model).__module__.startswith("skconftree."):
        return pickle.dumps(learner)
    proba = model.predict_proba(X).tobytes()
    for name in ("estimator_", "_background", "estimator"):
        vars(learner)[name] = None
    return pickle.dumps(vars(learner)), proba


def asked_rows(learner):
    asked = learner.query(X[200:260])
    return X[200:260][asked].copy(), Y[200:260][asked].copy()


def spoiled(kind, at, rows, labels):
    """The batch with one bad place, and its weights."""
    weight = np.ones(len(labels))
    if kind == "infinity":
        rows[at, 1] = np.inf
    elif kind == "too large":
        rows[at, 1] = np.finfo(np.float64).max
    elif kind == "string":
        rows = rows.astype(object)
        rows[at, 1] = "much"
    elif kind == "string in a frame":
        rows = pd.DataFrame(rows).astype(object)
        rows.iloc[at, 1] = "much"
    elif kind == "label":
        labels[at] = 7
    elif kind == "missing label":
        labels = labels.astype(object)
        labels[at] = None
    elif kind == "label of another kind":
        labels = labels.astype(object)
        labels[at] = "one"
    elif kind == "fewer weights":
        weight = weight[:-1]
    elif kind == "fewer labels":
        labels = labels[:-1]
    else:
        weight[at] = float(kind)
    return rows, labels, weight


ROW_FAULTS = ["infinity", "string", "string in a frame"]
LABEL_FAULTS = ["label", "missing label", "label of another kind", "fewer labels"]
WEIGHT_FAULTS = ["nan", "inf", "-1", "fewer weights"]


@pytest.mark.parametrize(
    ("name", "kind", "place"),
    crossed(LEARNERS, ROW_FAULTS + LABEL_FAULTS + WEIGHT_FAULTS, [5, 0, -1]),
)
def test_an_invalid_row_among_valid_rows_changes_nothing(name, kind, place):
    if kind in WEIGHT_FAULTS and name not in WEIGHTED:
        pytest.skip("it takes no weights")
    learner = begun(name)
    rows, labels = asked_rows(learner)
    before, n = state_of(learner), learner.n_taught_
    expected = pickle.loads(pickle.dumps(learner)).teach(rows, labels)
    batch = spoiled(kind, place, rows.copy(), labels.copy())
    if kind not in WEIGHT_FAULTS:
        batch = batch[:2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of another number of labels
        with pytest.raises((ValueError, TypeError)):
            learner.teach(*batch)
    assert state_of(learner) == before
    # the corrected call is as if there had been none before
    assert state_of(learner.teach(rows, labels)) == state_of(expected)
    assert learner.n_taught_ == n + len(labels)


@pytest.mark.parametrize(
    ("kind", "name"), crossed([*ROW_FAULTS, "label", "fewer labels"], LEARNERS)
)
def test_a_run_that_fails_charges_and_learns_nothing(name, kind):
    learner = begun(name)
    before = pickle.dumps(learner)
    batch = spoiled(kind, 40, X[200:260].copy(), Y[200:260].copy())[:2]
    with pytest.raises((ValueError, TypeError)):
        learner.run(*batch)
    assert pickle.dumps(learner) == before
    run = learner.run(X[200:260], Y[200:260])
    expected = pickle.loads(before).run(X[200:260], Y[200:260])
    assert run.queried.tolist() == expected.queried.tolist()
    assert run.predictions.tolist() == expected.predictions.tolist()


@pytest.mark.parametrize("name", LEARNERS)
def test_delayed_labels_are_atomic_too(name):
    """Before there are two classes."""
    if name in ("oasis", "ncm"):
        weight = None
    else:
        weight = np.r_[np.ones(8), -1.0]
    learner = begun(name, 0, classes=None)
    same = np.flatnonzero(Y == 1)[:9]
    asked = learner.query(X[:20])
    before = pickle.dumps(learner)
    bad = X[same].copy()
    bad[4, 0] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(ValueError, match="infinity"):
            learner.teach(bad, Y[same])
        if weight is not None:
            with pytest.raises(ValueError, match="egative"):
                learner.teach(X[same], Y[same], weight)
    assert pickle.dumps(learner) == before
    learner.teach(X[:20][asked], Y[:20][asked])
    assert learner.n_taught_ == asked.sum()


def test_rows_of_weight_zero_are_not_learned():
    learner, plain = begun("tree, drift"), begun("tree, drift")
    rows, labels = asked_rows(learner)
    asked_rows(plain)
    n = learner.estimator_.n_rows_seen_
    weight = np.arange(len(labels)) % 3.0
    learner.teach(rows, labels, weight)
    assert learner.estimator_.n_rows_seen_ - n == np.count_nonzero(weight)
    assert learner.n_taught_ == plain.n_taught_ + len(labels)
