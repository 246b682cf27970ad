"""How sure a growing tree is: its naive Bayes learns it from the log loss of late rows.

A slow account of one leaf, from the probabilities of the plain naive Bayes that
``leaf_prediction="nb"`` gives.
"""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import examples

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

POWERS = 0.5 ** np.arange(5)
MAJORITY, BAYES, RECENT = range(3)
ROOT_ONLY = {"min_samples_split": 10**6, "leaf_memory": "gaussian"}


def doubled(n, n_classes, seed):
    """Rows whose features say the same three times."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    x = (y + rng.normal(size=n)).astype(np.float32)
    return np.column_stack([x, x, x]), y


def calibrated(plain, y, n_classes):
    """Probabilities of the root before each row; a row of `plain` is naive Bayes."""
    counts, recent = np.zeros(n_classes), np.zeros(n_classes)
    hits, losses, told = np.zeros(3), np.zeros(len(POWERS)), []
    for i, (label, bayes) in enumerate(zip(y, plain, strict=True)):
        flat = bayes ** POWERS[:, np.newaxis]
        flat /= flat.sum(axis=1, keepdims=True)
        models = [counts, bayes if i else np.zeros(n_classes), recent]
        trusted = BAYES if hits[BAYES] > hits[MAJORITY] else MAJORITY
        if hits[RECENT] > hits[trusted]:
            trusted = RECENT
        if hits.max() == 0.0:
            trusted = MAJORITY
        if trusted == BAYES:
            rows = flat[losses.argmin()] * i
        else:
            rows = models[trusted]
        told.append((rows + 1.0 / n_classes) / (rows.sum() + 1.0))
        if trusted == BAYES and i % 4 == 0:
            proba = (flat[:, label] * i + 1.0 / n_classes) / (i + 1.0)
            losses = 0.999 * losses - np.log(proba)
        right = [model.any() and model.argmax() == label for model in models]
        right[MAJORITY] = counts.argmax() == label
        hits = 0.98 * hits + right
        counts[label] += 1
        recent = 0.9 * recent
        recent[label] += 1
    return np.array(told)


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(2, 4), st.integers(0, 10**6))
def test_probabilities_are_those_of_the_slow_account(n_classes, seed):
    X, y = doubled(120, n_classes, seed)
    classes = np.arange(n_classes)
    plain, proba = (
        ConfidenceTreeClassifier(
            leaf_prediction=prediction, **ROOT_ONLY
        ).partial_fit_predict(X, y, classes, return_proba=True)
        for prediction in ("nb", "nba")
    )
    expected = calibrated(plain, y, n_classes)
    np.testing.assert_allclose(proba, expected, rtol=1e-6, atol=1e-12)


def test_one_worked_row():
    """One row of class 0: of two rows, one real and one of both classes in halves."""
    tree = ConfidenceTreeClassifier().partial_fit([[1.0]], [0], [0, 1])
    assert tree.predict_proba([[1.0]]).tolist() == [[0.75, 0.25]]
    tree = ConfidenceTreeClassifier(leaf_prediction="majority")
    tree.partial_fit([[1.0]], [0], [0, 1])
    assert tree.predict_proba([[1.0]]).tolist() == [[1.0, 0.0]]


def log_loss(model, X, y):
    proba = model.partial_fit_predict(X, y, np.unique(y), return_proba=True)
    return -np.log(np.maximum(proba[np.arange(len(y)), y], 1e-6)).mean()


def test_duplicate_features_do_not_raise_probabilities():
    X, y = doubled(2000, 3, 0)
    plain = log_loss(ConfidenceTreeClassifier(leaf_prediction="nb", **ROOT_ONLY), X, y)
    once = log_loss(
        ConfidenceTreeClassifier(leaf_prediction="nb", **ROOT_ONLY), X[:, :1], y
    )
    ours = log_loss(ConfidenceTreeClassifier(**ROOT_ONLY), X, y)
    assert plain > once + 0.2
    assert ours < once + 0.05


def test_trees_of_a_forest_vote_as_they_are():
    forest = ConfidenceForestClassifier(2, random_state=0, bootstrap=False)
    forest.partial_fit([[1.0]], [0], [0, 1])
    assert forest.predict_proba([[1.0]]).tolist() == [[1.0, 0.0]]


def test_corrupt_losses_are_rejected():
    X, y = doubled(200, 2, 0)
    tree = ConfidenceTreeClassifier(**ROOT_ONLY).partial_fit(X, y, [0, 1])
    make, (structure, recipe, state) = tree._model.grower.__reduce__()
    losses = state[-1]
    assert min(losses) > 0.0
    for wrong in ((), losses[1:], (*losses, 1.0)):
        with pytest.raises(ValueError, match="growing tree is corrupt"):
            make(structure, recipe, (*state[:-1], wrong))


def test_a_tree_from_a_pickle_knows_how_sure_it_may_be():
    X, y = doubled(400, 3, 1)
    tree = ConfidenceTreeClassifier().partial_fit(X[:200], y[:200], [0, 1, 2])
    loaded = pickle.loads(pickle.dumps(tree))
    for model in (tree, loaded):
        model.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(loaded.predict_proba(X), tree.predict_proba(X))
    assert pickle.dumps(loaded) == pickle.dumps(tree)
