"""`honest_share`: rows that fit keeps back, for limits that rest on them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.tables._keeping_back import keep_back
from skconftree.tree._training import TableRequest, divide, read_training


def noisy(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[:, 3] = rng.integers(0, 4, n)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.4)
    return X, np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), y)


def honest(**settings):
    return ConfidenceTreeClassifier(**{"honest_share": 0.3, **settings})


def assert_same(model, other):
    assert pickle.dumps(model.tree_) == pickle.dumps(other.tree_)
    np.testing.assert_array_equal(
        model._model.honest_counts, other._model.honest_counts
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"bound": None},
        {"bound": None, "pruning": "c45", "min_samples_leaf": 0.02},
        {"bound": "credible", "criterion": "entropy"},
        {"bound": None, "max_leaf_nodes": 7, "max_features": 2, "random_state": 0},
        {"lookahead": 3},
        {"class_weight": {0: 1.0, 1: 3.0, 2: 0.5}},
        {"leaf_memory": "rows"},
    ],
)
def test_the_tree_is_that_of_the_other_rows(settings):
    X, y = noisy()
    model = honest(**settings).fit(X, y)
    kept = keep_back(X, y, None, 0.3) > 0
    assert 120 < kept.sum() < 240
    alone = ConfidenceTreeClassifier(**settings).fit(X[~kept], y[~kept])
    assert model.n_rows_seen_ == alone.n_rows_seen_ == (~kept).sum()
    alone.recount_leaves(X[kept], y[kept])
    assert_same(model, alone)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(
        model.predict_proba_interval(X, method="honest"),
        alone.predict_proba_interval(X, method="honest"),
    )
    np.testing.assert_array_equal(
        model.to_sklearn().predict_proba(X), alone.to_sklearn().predict_proba(X)
    )


def test_no_share_is_no_rows():
    X, y = noisy()
    model = ConfidenceTreeClassifier().fit(X, y)
    assert model.n_rows_seen_ == 600
    with pytest.raises(ValueError, match="or set honest_share before fit"):
        model.predict_proba_interval(X, method="honest")
    model = honest().fit(X, y)
    assert model.set_params(honest_share=0.0).fit(X, y)._model.honest_counts is None


def test_order_does_not_matter():
    X, y = noisy()
    order = np.random.default_rng(1).permutation(600)
    assert_same(honest().fit(X, y), honest().fit(X[order], y[order]))


def test_weight_k_equals_k_rows_and_0_is_absence():
    X, y = noisy()
    X = X.round()  # many are equal
    weight = np.random.default_rng(2).integers(0, 4, 600)
    model = honest().fit(X, y, sample_weight=weight)
    repeated = honest().fit(X.repeat(weight, 0), y.repeat(weight))
    np.testing.assert_array_equal(model.tree_.feature, repeated.tree_.feature)
    np.testing.assert_array_equal(model.tree_.counts, repeated.tree_.counts)
    np.testing.assert_array_equal(
        model._model.honest_counts, repeated._model.honest_counts
    )
    total = model.tree_.counts[0].sum() + model._model.honest_counts[0].sum()
    assert total == weight.sum()
    kept = weight > 0
    absent = honest().fit(X[kept], y[kept], sample_weight=weight[kept])
    assert_same(model, absent)


def test_weights_that_are_no_whole_numbers():
    X, y = noisy()
    weight = np.random.default_rng(2).uniform(0.3, 2.0, 600)
    order = np.random.default_rng(3).permutation(600)
    for kind in ("frequency", "relative"):
        model = honest(sample_weight_kind=kind).fit(X, y, weight)
        other = honest(sample_weight_kind=kind).fit(X[order], y[order], weight[order])
        np.testing.assert_array_equal(model.tree_.feature, other.tree_.feature)
        np.testing.assert_allclose(
            model._model.honest_counts, other._model.honest_counts
        )
        share = model._model.honest_counts[0].sum() / (
            model._model.honest_counts[0].sum() + model.tree_.counts[0].sum()
        )
        assert 0.2 < share < 0.4


def test_categories_of_rows_kept_back_are_unknown():
    X, y = noisy()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["e"] = np.random.default_rng(1).choice(list("uvwx"), 600)
    frame["f"] = np.arange(600) // 3  # of which many are kept back as a whole
    frame["f"] = frame["f"].astype(str)
    y = np.where(frame["e"] == "u", 2, y)
    columns = {"categorical_features": ["e", "f"]}
    model = honest(**columns).fit(frame, y)
    codes = np.column_stack(
        [X, frame["e"].rank(method="dense") - 1, frame["f"].rank(method="dense") - 1]
    )
    kept = keep_back(codes.astype(np.float32), y, None, 0.3) > 0
    alone = ConfidenceTreeClassifier(**columns).fit(frame[~kept], y[~kept])
    assert len(alone.categories_[5]) < 200
    assert model.categories_ == alone.categories_
    assert_same(model, alone.recount_leaves(frame[kept], y[kept]))


def test_sparse_tables():
    X, y = noisy()
    X = np.where(X > 0.5, X, 0.0)
    assert_same(honest().fit(X, y), honest().fit(sparse.csr_array(X), y))
    assert_same(honest().fit(X, y), honest().fit(sparse.csc_array(X), y))


def test_classes_are_those_of_all_rows():
    X, y = noisy()
    alone = next(
        i for i in range(600) if keep_back(X[[i]], np.array([3]), None, 0.3)[0]
    )
    y[alone] = 3  # the only row of its class, and kept back
    model = honest().fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.tree_.counts[0, 3] == 0.0
    assert model._model.honest_counts[0, 3] == 1.0
    assert model.predict_proba(X).shape == (600, 4)
    assert model.set_params(class_weight="balanced").fit(X, y).tree_.node_count > 1


def test_holes():
    X, y = noisy()
    X[::7, 0] = np.nan
    kept = keep_back(X, y, None, 0.3) > 0
    alone = ConfidenceTreeClassifier().fit(X[~kept], y[~kept])
    assert_same(honest().fit(X, y), alone.recount_leaves(X[kept], y[kept]))


def test_partial_fit_discards_them_with_a_warning():
    X, y = noisy()
    model = honest().fit(X, y)
    with pytest.warns(UserWarning, match="honest_share, are discarded"):
        model.partial_fit(X[:9], y[:9])
    assert model._model.honest_counts is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[:9], y[:9])
        a = honest().partial_fit(X, y, [0, 1, 2])
    b = ConfidenceTreeClassifier().partial_fit(X, y, [0, 1, 2])
    assert a.n_rows_seen_ == 600
    assert pickle.dumps(a.tree_) == pickle.dumps(b.tree_)


def test_recounting_takes_their_place():
    X, y = noisy()
    model = honest().fit(X, y)
    model.recount_leaves(*noisy(50, seed=1))
    assert model._model.honest_counts[0].sum() == 50


def test_pickle_clone_and_search():
    X, y = noisy()
    model = honest().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_same(model, again)
    assert pickle.dumps(again) == pickle.dumps(model)
    assert clone(model).honest_share == 0.3
    assert_same(clone(model).fit(X, y), model)
    search = GridSearchCV(ConfidenceTreeClassifier(), {"honest_share": [0.2, 0.5]})
    best = search.fit(X, y).best_estimator_
    assert best._model.honest_counts[0].sum() > 0


@pytest.mark.parametrize("share", [-0.1, 1.0, np.nan, "half", None])
def test_share_is_checked(share):
    with pytest.raises(ValueError, match="'honest_share' parameter"):
        ConfidenceTreeClassifier(honest_share=share).fit(*noisy(50))


def test_one_row_at_least_grows_the_tree():
    X, y = noisy(3)
    model = honest(honest_share=0.999)
    with pytest.raises(ValueError, match=r"keeps all rows back \(n_samples=3\)"):
        model.fit(X, y)
    assert not hasattr(model, "tree_")
    model = honest(honest_share=0.001).fit(X, y)  # and none kept back knows nothing
    assert (model.predict_proba_interval(X, method="honest") == [0.0, 1.0]).all()


def test_division_of_a_table():
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    request = TableRequest("Tree", None, None, "frequency")
    table = read_training(X, y, None, None, request, stacklevel=1)
    rest, kept = divide(table, 0.5)
    assert len(rest.y) + len(kept.y) == 150
    rows = [*zip(*rest.X.T.tolist(), rest.y, strict=True)]
    rows += zip(*kept.X.T.tolist(), kept.y, strict=True)
    assert sorted(rows) == sorted(zip(*X.T.tolist(), y, strict=True))


def test_forests_keep_no_row_back():
    assert "honest_share" not in ConfidenceForestClassifier().get_params()
    X, y = noisy(100)
    forest = ConfidenceForestClassifier(n_estimators=2).fit(X, y)
    assert forest.estimators_[0].honest_share == 0.0


def test_limits_hold_without_further_rows():
    """Share of new rows whose leaf has its true proportions within the limits."""
    covered = {"conditional": [], "honest": []}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(10_600, 8))
        p = 0.2 + 0.6 * X[:, 0] * X[:, 1]
        y = rng.random(600) < p[:600]
        model = honest(bound=None, min_samples_leaf=10, honest_share=0.5)
        model.fit(X[:600], y)
        leaves = model.apply(X[600:])
        true = np.bincount(leaves, p[600:])[leaves] / np.bincount(leaves)[leaves]
        for method, shares in covered.items():
            limits = model.predict_proba_interval(X[600:], method=method)[:, 1]
            shares.append(((limits[:, 0] <= true) & (true <= limits[:, 1])).mean())
    assert np.mean(covered["honest"]) > 0.93
    assert np.mean(covered["conditional"]) < 0.75


def test_limits_hold_where_many_rows_are_equal():
    # a fixed share of equal rows would repeat the luck of those that grew the tree
    covered = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 2, (400, 3)).astype(float)
        y = (rng.random(400) < 0.3).astype(int)
        model = honest(bound=None, honest_share=0.5).fit(X, y)
        limits = model.predict_proba_interval(X, method="honest")[:, 1]
        covered.append(((limits[:, 0] <= 0.3) & (0.3 <= limits[:, 1])).mean())
    assert np.mean(covered) > 0.92


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([honest(), honest(bound=None, honest_share=0.2)])
def test_estimator_checks(estimator, check):
    check(estimator)
