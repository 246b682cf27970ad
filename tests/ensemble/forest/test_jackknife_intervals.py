"""Limits of a forest's probabilities by the infinitesimal jackknife."""

import pickle

import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

from skconftree import ConfidenceForestClassifier
from skconftree.ensemble.forest import _prediction
from skconftree.ensemble.forest._prediction import jackknife

few = pytest.mark.filterwarnings("ignore:.*trees are too few")


def make_table(seed, n_rows=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)).astype(np.float32)
    return X, (X[:, 0] + rng.normal(size=n_rows) > 0.0).astype(int)


def forest_of(n_estimators=40, **parameters):
    return ConfidenceForestClassifier(
        n_estimators, bound=None, random_state=0, **parameters
    )


def reference(forest, X, weight, n_draws, level):
    """By the definition: a covariance with the count of every single row."""
    votes = np.array([tree.predict_proba(X) for tree in forest.estimators_])
    n_trees = len(votes)
    counts = np.array(
        [forest._model.sampler.counts(i) for i in range(n_trees)], dtype=float
    )
    weight = forest._model.sampler.weights
    variance = np.zeros(votes.shape[1:])
    bias = np.zeros(votes.shape[1:])
    for group, w in enumerate(weight):
        p = w / weight.sum()
        drawn = counts[:, group] - n_draws * p
        covariance = np.tensordot(drawn, votes - votes.mean(axis=0), 1) / n_trees
        # w equal rows share the group's covariance evenly
        variance += w * (covariance / w) ** 2
        bias += n_draws * p * (1.0 - p) / w * votes.var(axis=0) / n_trees
    mean = votes.mean(axis=0)
    radius = ndtri(0.5 + level / 2) * np.sqrt(np.maximum(variance - bias, 0.0))
    return np.stack([mean - radius, mean + radius], axis=-1).clip(0.0, 1.0)


@few
@pytest.mark.parametrize("kind", ["plain", "share", "repeats", "weights"])
def test_reference(kind, monkeypatch):
    # Several blocks of rows and of trees, the last of them short.
    monkeypatch.setattr(_prediction, "ROWS", 7)
    monkeypatch.setattr(_prediction, "TREES", 9)
    X, y = make_table(1)
    weight, n_draws = None, len(y)
    forest = forest_of()
    if kind == "share":
        forest.set_params(max_samples=0.5)
        n_draws = 30
    elif kind == "repeats":
        X, y = np.repeat(X[:20], 3, axis=0), np.repeat(y[:20], 3)
    elif kind == "weights":
        weight = np.random.default_rng(0).integers(1, 5, len(y)) / 2.0
        n_draws = round(weight.sum())
        forest.set_params(sample_weight_kind="frequency")
    forest.fit(X, y, sample_weight=weight)
    found = forest.predict_proba_interval(X[:20], confidence_level=0.9)
    expected = reference(forest, X[:20], weight, n_draws, 0.9)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert (found[..., 0] <= forest.predict_proba(X[:20]) + 1e-12).all()
    assert (found[..., 1] >= forest.predict_proba(X[:20]) - 1e-12).all()


@few
def test_weights_are_repeats_and_the_order_does_not_matter():
    X, y = make_table(2)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    shuffled = np.random.default_rng(1).permutation(weight.sum())
    repeated = forest_of().fit(
        np.repeat(X, weight, axis=0)[shuffled], np.repeat(y, weight)[shuffled]
    )
    weighted = forest_of().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(
        weighted.predict_proba_interval(X), repeated.predict_proba_interval(X)
    )


@pytest.mark.slow
def test_it_is_the_variance_over_training_sets():
    X_new = np.random.default_rng(9).normal(size=(40, 3)).astype(np.float32)
    answers, variances = [], []
    for seed in range(40):
        X, y = make_table(100 + seed, 100)
        forest = forest_of(300, min_samples_leaf=5, max_features=None).fit(X, y)
        votes = np.stack(
            [tree.predict_proba(X_new)[:, 1] for tree in forest.estimators_], axis=-1
        )
        mean, variance, _ = jackknife(
            votes,
            _prediction.products_of_samples(forest._model.sampler, 300),
            _prediction.spread_of_counts(forest._model.sampler),
        )
        answers.append(mean)
        variances.append(variance)
    true = np.var(answers, axis=0, ddof=1).mean()
    assert 0.75 < np.mean(variances) / true < 1.33


def test_few_trees_warn():
    X, y = make_classification(200, flip_y=0.3, random_state=0)
    with pytest.warns(
        UserWarning, match="6 trees are too few .* Increase n_estimators"
    ):
        forest_of(6).fit(X, y).predict_proba_interval(X)


@few
def test_state():
    X, y = make_table(3)
    forest = forest_of().fit(X, y)
    again = pickle.loads(pickle.dumps(forest))
    expected = forest.predict_proba_interval(X)
    np.testing.assert_array_equal(again.predict_proba_interval(X), expected)
    larger = forest_of(20, warm_start=True).fit(X, y).set_params(n_estimators=40)
    np.testing.assert_array_equal(larger.fit(X, y).predict_proba_interval(X), expected)


@pytest.mark.parametrize(("name", "value"), [("ends", np.zeros(0)), ("n_draws", 2**40)])
def test_a_damaged_sampler_raises(name, value):
    forest = forest_of(2).fit(*make_table(4))
    forest._model.sampler = forest._model.sampler._replace(**{name: value})
    with pytest.raises(ValueError, match="'sampler' is not valid"):
        pickle.loads(pickle.dumps(forest))


def test_errors():
    X, y = make_table(5)
    with pytest.raises(NotFittedError):
        forest_of().predict_proba_interval(X)
    forest = forest_of().fit(X, y)
    with pytest.raises(ValueError, match=r"confidence_level must be in \(0, 1\)"):
        forest.predict_proba_interval(X, confidence_level=1.0)
    with pytest.raises(ValueError, match="method must be one of"):
        forest.predict_proba_interval(X, method="honest")
    with pytest.raises(ValueError, match="at least 2 trees"):
        forest_of(1).fit(X, y).predict_proba_interval(X)
    with pytest.raises(ValueError, match="Fit it with bootstrap=True"):
        forest_of(bootstrap=False).fit(X, y).predict_proba_interval(X)
    with pytest.raises(ValueError, match="was updated by partial_fit"):
        forest.partial_fit(X, y).predict_proba_interval(X)
