"""Confidence limits of class probabilities from held-out rows."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaincinv
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import confidence_sequence


def noisy(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.4)
    return X, np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), y)


def fitted(**settings):
    X, y = noisy()
    model = ConfidenceTreeClassifier(**settings).fit(X[:300], y[:300])
    return model, X[300:], y[300:]


def counted_slowly(model, X, y, weight):
    counts = np.zeros(model.tree_.counts.shape)
    parent = model.tree_.parent
    for leaf, label, w in zip(model.apply(X), y, weight, strict=True):
        node = leaf
        while node >= 0:
            counts[node, label] += w
            node = parent[node]
    return counts


def test_rows_are_counted_at_every_node_above_them():
    model, X, y = fitted(bound=None)
    assert model.get_depth() > 3
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    assert model.recount_leaves(X, y, weight) is model
    expected = counted_slowly(model, X, y, weight)
    np.testing.assert_array_equal(model._model.honest_counts, expected)
    model.recount_leaves(X.repeat(weight.astype(int), 0), y.repeat(weight.astype(int)))
    np.testing.assert_array_equal(model._model.honest_counts, expected)
    order = np.random.default_rng(2).permutation(len(y))
    model.recount_leaves(X[order], y[order], weight[order])
    np.testing.assert_array_equal(model._model.honest_counts, expected)


def test_a_row_may_stay_at_a_node_that_has_split():
    X, y = noisy()
    frame = pd.DataFrame(X).rename(columns=str)
    frame["e"] = np.random.default_rng(1).choice(list("uvwx"), len(y))
    y = np.where(frame["e"] == "u", 2, y)
    frame["e"] = frame["e"].astype("category")
    model = ConfidenceTreeClassifier().fit(frame[:300], y[:300])
    other = frame[300:].astype({"e": object})
    other.iloc[:30, -1] = "never seen"
    stays = model.tree_.n_children[model.apply(other)] > 0
    assert stays.any()
    model.recount_leaves(other, y[300:])
    np.testing.assert_array_equal(
        model._model.honest_counts, counted_slowly(model, other, y[300:], np.ones(300))
    )


def test_limits_are_those_of_the_counted_rows():
    model, X, y = fitted()
    conditional = model.predict_proba_interval(X)
    np.testing.assert_array_equal(
        conditional, model.predict_proba_interval(X, method="conditional")
    )
    model.recount_leaves(X, y)
    honest = model.predict_proba_interval(X, confidence_level=0.9, method="honest")
    counts = model._model.honest_counts[model.apply(X)]
    n = counts.sum(axis=1, keepdims=True)
    a, b = counts + 1 / 3, n - counts + 2 / 3
    low = np.where(counts > 0, betaincinv(a, b, 0.05), 0.0)
    high = np.where(counts < n, betaincinv(a, b, 0.95), 1.0)
    np.testing.assert_allclose(honest, np.stack([low, high], 2), rtol=1e-12)
    np.testing.assert_array_equal(conditional, model.predict_proba_interval(X))


def test_nothing_else_changes():
    model, X, y = fitted()
    before = copy.deepcopy(model)
    model.recount_leaves(X, y)
    for name in ("counts", "proba", "raw_proba", "parent", "threshold"):
        a, b = getattr(model.tree_, name), getattr(before.tree_, name)
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(model.predict_proba(X), before.predict_proba(X))
    assert model.n_bytes_ == before.n_bytes_ + model._model.honest_counts.nbytes


def test_class_weights_enter():
    weights = {0: 1.0, 1: 4.0, 2: 0.5}
    model, X, y = fitted(class_weight=weights)
    model.recount_leaves(X, y)
    limits = model.predict_proba_interval(X, method="honest")
    counts = model._model.honest_counts[model.apply(X)] * list(weights.values())
    share = counts / counts.sum(axis=1, keepdims=True)
    assert (limits[..., 0] <= share).all()
    assert (limits[..., 1] >= share).all()


def test_leaves_without_a_row_have_no_limits():
    model, X, y = fitted()
    model.recount_leaves(X[:1], y[:1])
    limits = model.predict_proba_interval(X, method="honest")
    others = model.apply(X) != model.apply(X[:1])[0]
    assert others.any()
    assert (limits[others] == [0.0, 1.0]).all()


@pytest.mark.parametrize("k", [2, 3, 7])
def test_limits_of_heavy_rows_are_as_many_standard_deviations_away(k):
    """Where quantiles of SciPy are wrong as well."""
    X, y = np.zeros((k, 1)), np.arange(k)
    away = []
    for n in (1e9, 1e12, 1e14, 9e15):
        model = ConfidenceTreeClassifier(sample_weight_kind="frequency")
        model.fit(X, y, np.full(k, n / k))
        limits = model.predict_proba_interval(X[:1])
        away.append((limits - 1.0 / k) * np.sqrt(n))
    np.testing.assert_allclose(away, away[:1] * 4, rtol=1e-2, atol=1e-2)


def test_honest_limits_without_rows_are_an_error():
    model, X, y = fitted()
    with pytest.raises(ValueError, match="Call recount_leaves"):
        model.predict_proba_interval(X, method="honest")
    model.recount_leaves(X, y)
    assert clone(model).fit(X, y)._model.honest_counts is None
    model.fit(X, y)
    with pytest.raises(ValueError, match="Call recount_leaves"):
        model.predict_proba_interval(X, method="honest")


@pytest.mark.parametrize("method", ["sequences", None, 1, ["honest"]])
def test_method_is_checked(method):
    model, X, _ = fitted()
    with pytest.raises(ValueError, match="method must be one of"):
        model.predict_proba_interval(X, method=method)


def test_partial_fit_discards_them_with_a_warning():
    model, X, y = fitted()
    model.recount_leaves(X, y)
    with pytest.raises(ValueError, match="labels"):
        model.partial_fit(X[:1], [9])
    assert model._model.honest_counts is not None
    with pytest.warns(UserWarning, match="are discarded") as said:
        model.partial_fit(X[:9], y[:9])
    assert said[0].filename == __file__
    assert model._model.honest_counts is None
    model.partial_fit(X[9:], y[9:])  # warns no more
    model.recount_leaves(*noisy(200, seed=5))  # of a tree that has grown
    expected = counted_slowly(model, *noisy(200, seed=5), np.ones(200))
    np.testing.assert_array_equal(model._model.honest_counts, expected)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"y": [9] * 300}, "labels"),
        ({"y": [0] * 299}, "inconsistent"),
        ({"X": np.zeros((300, 3))}, "features"),
        ({"sample_weight": [-1.0] * 300}, "[Nn]egative"),
        ({"sample_weight": [1.0] * 299}, "sample_weight"),
        ({"y": np.zeros((300, 2))}, "1d"),
    ],
)
def test_wrong_input_leaves_what_was_counted(wrong, told):
    model, X, y = fitted()
    model.recount_leaves(X, y)
    before = model._model.honest_counts
    with pytest.raises(ValueError, match=told):
        model.recount_leaves(**({"X": X, "y": y} | wrong))
    assert model._model.honest_counts is before


def test_pickles_have_them():
    model, X, y = fitted()
    model.recount_leaves(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.predict_proba_interval(X, method="honest"),
        model.predict_proba_interval(X, method="honest"),
    )
    assert again.n_bytes_ == model.n_bytes_
    assert pickle.dumps(again) == pickle.dumps(model)


def test_honest_limits_hold_where_those_of_the_training_rows_do_not():
    """Share of the test rows whose leaf has its true proportions within the limits."""
    covered = {"conditional": [], "honest": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(20_600, 8))
        y = rng.random(len(X)) < 0.2 + 0.6 * X[:, 0] * X[:, 1]
        model = ConfidenceTreeClassifier(None, min_samples_leaf=10)
        model.fit(X[:300], y[:300]).recount_leaves(X[300:600], y[300:600])
        leaves = model.apply(X[600:])
        n = np.bincount(leaves, minlength=model.tree_.node_count)
        true = np.bincount(leaves, weights=y[600:], minlength=len(n))
        true = true[leaves] / n[leaves]
        for method, shares in covered.items():
            limits = model.predict_proba_interval(X[600:], method=method)[:, 1]
            shares.append(((limits[:, 0] <= true) & (true <= limits[:, 1])).mean())
    assert np.mean(covered["honest"]) > 0.93
    assert np.mean(covered["conditional"]) < 0.75


def grown(X, y, **settings):
    settings = {"bound": None, "grace_period": 40, **settings}
    return ConfidenceTreeClassifier(**settings).partial_fit(X, y, range(3))


def test_a_sequence_has_the_rows_since_its_leaf_was_made():
    X, y = noisy()
    model = grown(X, y)
    assert model.get_n_leaves() > 4
    found = model.predict_proba_interval(X, confidence_level=0.9, method="sequence")
    fresh = model.leaf_counts(fresh=True)[model.apply(X)]
    assert 0.0 < fresh.sum() < model.tree_.counts[model.apply(X)].sum()
    np.testing.assert_allclose(found, confidence_sequence(fresh, 0.1), rtol=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.predict_proba_interval(X, confidence_level=0.9, method="sequence"), found
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_sequence_with_class_weights(n_classes):
    X, y = noisy()
    y = np.minimum(y, n_classes - 1)
    weight = np.array([1.0, 4.0, 0.5])[:n_classes]
    model = ConfidenceTreeClassifier(
        None, grace_period=40, class_weight=dict(enumerate(weight))
    ).partial_fit(X, y, range(n_classes))
    found = model.predict_proba_interval(X[:50], method="sequence")
    limits = confidence_sequence(model.leaf_counts(fresh=True)[model.apply(X[:50])])
    for row, (low, high) in enumerate(limits.transpose(0, 2, 1)):
        # every distribution within the limits is within those of the weighted classes
        rng = np.random.default_rng(row)
        p = rng.dirichlet(np.ones(n_classes), 2000)
        p = p[((low <= p) & (p <= high)).all(axis=1)] * weight
        p /= p.sum(axis=1, keepdims=True)
        assert (p >= found[row, :, 0] - 1e-12).all()
        assert (p <= found[row, :, 1] + 1e-12).all()
    if n_classes == 2:  # and they are no wider
        np.testing.assert_allclose(
            found[:, 0, 0], limits[:, 0, 0] / (limits[:, 0, 0] + 4 * limits[:, 1, 1])
        )


@pytest.mark.slow
def test_a_sequence_holds_at_every_time():
    share = 0.3  # of the second class everywhere
    missed = looked = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(600, 3)).astype(np.float32)
        y = (rng.random(600) < share).astype(int)
        model = ConfidenceTreeClassifier(None, grace_period=60)
        wrong = {}
        for start in range(0, 600, 20):
            part = slice(start, start + 20)
            model.partial_fit(X[part], y[part], [0, 1])
            limits = model.predict_proba_interval(X, method="sequence")[:, 1]
            outside = (limits[:, 0] > share) | (limits[:, 1] < share)
            for leaf, bad in zip(model.apply(X), outside, strict=True):
                wrong[leaf] = wrong.get(leaf, False) or bad
        missed += sum(wrong.values())
        looked += len(wrong)
    assert looked > 300
    assert missed <= 0.05 * looked


def test_a_sequence_needs_rows_of_a_stream():
    X, y = noisy()
    for memory in ("auto", "rows"):
        model = ConfidenceTreeClassifier(leaf_memory=memory).fit(X, y)
        with pytest.raises(
            ValueError, match="method='sequence' requires rows that arrived"
        ):
            model.predict_proba_interval(X, method="sequence")
        model.partial_fit(X[:1], y[:1])
        limits = model.predict_proba_interval(X, method="sequence")
        np.testing.assert_array_equal(
            limits[model.apply(X) != model.apply(X[:1])][0], [[0.0, 1.0]] * 3
        )
    one = ConfidenceTreeClassifier(None).partial_fit(X, np.zeros(len(y)), [0])
    assert (one.predict_proba_interval(X[:1], method="sequence") == 1.0).all()
