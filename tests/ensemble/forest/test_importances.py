"""Unbiased feature importances of a forest.

They are compared with the formula, computed row by row from the paths of out-of-bag
rows. A useless column has importance 0 on average, whatever its number of values, where
the impurity-based importances are above 0 and increase with it.
"""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import crossed, examples

from skconftree import ConfidenceForestClassifier
from skconftree.ensemble.forest._model import ForestModel, Sampler
from skconftree.tables._content_order import ContentOrder, hash_rows

pytestmark = pytest.mark.filterwarnings("ignore:.*have no out-of-bag prediction")


def make_table(seed, n_rows=90):
    """Rows with missing values, categories, and some equal rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n_rows, 4)).astype(np.float32)
    X[:, 1] = rng.integers(0, 7, n_rows)
    X[: n_rows // 2, 3] = rng.normal(size=n_rows // 2)
    X[rng.random(n_rows) < 0.1, 2] = np.nan
    y = (X[:, 0] + X[:, 1] % 3 > 2).astype(int) + (rng.random(n_rows) < 0.2)
    return X, y


def out_of_bag_weights(forest, X, y, weight, relative):
    """Weight of each row in each tree: that of its copies that are not drawn."""
    weight = np.ones(len(y)) if weight is None else weight
    if relative:
        weight = weight * weight.sum() / np.square(weight).sum()
    kept = np.flatnonzero(weight > 0)
    codes = np.searchsorted(forest.classes_, y[kept]).astype(np.uint16)
    order = ContentOrder(*hash_rows(X[kept], codes), weight[kept])
    groups = order.group_of_rows()
    sampler = Sampler(order.ends, round(order.ends[-1]), forest._model.seed)
    out = np.zeros((len(forest), len(y)))
    for t in range(len(forest)):
        counts = sampler.counts(t)[groups]
        for i, row in enumerate(kept):
            equal = groups == groups[i]
            k = equal.sum() if relative else max(weight[kept][equal].sum(), 1.0)
            out[t, row] = weight[row] * (1.0 - 1.0 / k) ** counts[i]
    return out


def importances_by_hand(forest, X, y, weights):
    """Formula of the importances: a sum over trees, splits, children and classes."""
    totals = []
    for estimator, weight in zip(forest.estimators_, weights, strict=True):
        tree = estimator.tree_
        weighted = tree.counts * tree.class_weight
        p = weighted / weighted.sum(axis=1, keepdims=True)
        passes = estimator.decision_path(X).toarray().astype(bool)
        labels = np.searchsorted(forest.classes_, y)
        weight = weight * tree.class_weight[labels]
        if not weight.sum():
            continue
        total = np.zeros(X.shape[1])
        for node in np.flatnonzero(tree.feature >= 0):
            children = np.flatnonzero(tree.parent == node)
            goes_on = passes[:, children].any(axis=1)
            if not weight[goes_on].sum():
                continue
            for k in range(len(forest.classes_)):
                of_class = weight * (labels == k)
                q_node = of_class[goes_on].sum() / weight[goes_on].sum()
                for child in children:
                    rows = passes[:, child]
                    if not weight[rows].sum():
                        continue
                    q_child = of_class[rows].sum() / weight[rows].sum()
                    share = weight[rows].sum() / weight.sum()
                    total[tree.feature[node]] += (
                        share * p[child, k] * (q_child - q_node)
                    )
        totals.append(total)
    return np.mean(totals, axis=0)


KINDS = {
    "default": {},
    "gini": {"bound": None, "criterion": "gini"},
    "multiway": {"bound": None, "nominal_splits": "multiway"},
    "balanced": {"bound": None, "class_weight": "balanced_subsample"},
    "pruned": {"bound": None, "pruning": "c45"},
    "shrunk": {"bound": None, "shrinkage": 10.0},
}


@pytest.mark.parametrize(
    ("kind", "weights"), crossed(KINDS, [None, "frequency", "relative"])
)
@settings(max_examples=examples(20, by_day=2), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_importances_equal_the_formula(kind, weights, seed):
    X, y = make_table(seed)
    weight = None
    if weights == "frequency":
        weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    elif weights == "relative":
        weight = np.random.default_rng(seed).uniform(0.2, 3.0, len(y))
    forest = ConfidenceForestClassifier(
        6,
        oob_score=True,
        random_state=seed,
        categorical_features=[1],
        sample_weight_kind=weights or "auto",
        **KINDS[kind],
    ).fit(X, y, weight)
    oob = out_of_bag_weights(forest, X, y, weight, weights == "relative")
    expected = importances_by_hand(forest, X, y, oob)
    assert np.allclose(forest.unbiased_feature_importances_, expected, atol=1e-12)


def test_a_split_on_a_perfect_feature_decreases_the_impurity_by_that_of_the_root():
    X = np.column_stack([np.repeat([0.0, 1.0], 50), np.arange(100) % 7])
    y = np.repeat(["a", "b"], 50)
    forest = ConfidenceForestClassifier(30, max_features=None, oob_score=True)
    forest.set_params(random_state=0).fit(X, y)
    first, second = forest.unbiased_feature_importances_
    assert second == 0.0
    # the mean over trees of the Gini index of their out-of-bag rows, nearly 1 / 2
    assert 0.47 < first < 0.5


def test_a_weight_is_a_number_of_repeats():
    X, y = make_table(1)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    repeats = np.repeat(np.arange(len(y)), weight)
    forest = ConfidenceForestClassifier(20, oob_score=True, random_state=0, bound=None)
    expected = forest.fit(X[repeats], y[repeats]).unbiased_feature_importances_
    found = forest.fit(X, y, weight).unbiased_feature_importances_
    assert np.allclose(found, expected, rtol=1e-12)
    shuffled = np.random.default_rng(2).permutation(len(y))
    forest.set_params(n_jobs=2).fit(X[shuffled], y[shuffled], weight[shuffled])
    assert np.allclose(forest.unbiased_feature_importances_, expected, rtol=1e-12)


def test_threads_do_not_change_importances():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 3))  # enough rows times trees for two threads
    y = (X[:, 0] + rng.normal(size=3000) > 0.0).astype(int)
    weight = rng.uniform(0.5, 2.0, 3000)
    forest = ConfidenceForestClassifier(50, max_depth=3, oob_score=True, random_state=0)
    expected = forest.fit(X, y, weight).unbiased_feature_importances_
    forest.set_params(n_jobs=2).fit(X, y, weight)
    assert np.array_equal(forest.unbiased_feature_importances_, expected)


def test_a_sparse_table_has_the_importances_of_a_dense_one():
    from scipy.sparse import csr_array

    X, y = make_table(2)
    X = np.nan_to_num(X)
    forest = ConfidenceForestClassifier(20, oob_score=True, random_state=0, bound=None)
    expected = forest.fit(X, y).unbiased_feature_importances_
    found = forest.fit(csr_array(X), y).unbiased_feature_importances_
    assert np.array_equal(found, expected)


def test_importances_need_out_of_bag_rows():
    X, y = make_table(3)
    forest = ConfidenceForestClassifier(1, random_state=0).fit(X, y)
    with pytest.raises(AttributeError, match="oob_score=True"):
        forest.unbiased_feature_importances_  # noqa: B018
    forest.set_params(oob_score=True).fit(X[:1], y[:1])
    assert np.isnan(forest.unbiased_feature_importances_).all()


def test_importances_are_stored():
    X, y = make_table(4)
    forest = ConfidenceForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(forest))
    expected = forest.unbiased_feature_importances_
    assert np.array_equal(copy.unbiased_feature_importances_, expected)
    state = forest._model.state()
    del state["out_of_bag"]["importances"]  # as an earlier version wrote it
    forest._model = ForestModel.of_state(state, forest)
    assert forest.oob_score_ == copy.oob_score_
    with pytest.raises(AttributeError, match="did not compute"):
        forest.unbiased_feature_importances_  # noqa: B018


N_VALUES = (2, 10, 100, 1000)


def biased_table(rng, n_rows, n_values=N_VALUES):
    """A useful column, and useless nominal and numeric ones by number of values."""
    useless = [rng.integers(0, k, n_rows) for k in n_values]
    useless += [rng.integers(0, k, n_rows) for k in n_values]
    X = np.column_stack([rng.normal(size=n_rows), *useless])
    y = rng.random(n_rows) < np.where(X[:, 0] > 0, 0.5, 0.2)
    return X, y, np.arange(1, 1 + len(n_values))


def repeated_importances(n_forests, n_rows, n_trees, n_values=N_VALUES, **parameters):
    unbiased, biased = [], []
    for seed in range(n_forests):
        X, y, nominal = biased_table(np.random.default_rng(seed), n_rows, n_values)
        forest = ConfidenceForestClassifier(
            n_trees,
            oob_score=True,
            random_state=seed,
            categorical_features=nominal,
            **parameters,
        ).fit(X, y)
        unbiased.append(forest.unbiased_feature_importances_)
        biased.append(forest.feature_importances_)
    return np.array(unbiased), np.array(biased)


def assert_without_bias(unbiased, biased):
    mean = unbiased.mean(axis=0)
    error = unbiased.std(axis=0, ddof=1) / np.sqrt(len(unbiased))
    assert (np.abs(mean[1:]) <= 3.0 * error[1:]).all()
    assert mean[0] > 5.0 * error[0]  # the useful column
    # impurity-based importances increase with the number of values of either kind
    useless = biased.mean(axis=0)[1:].reshape(2, -1)
    assert (useless > 0.001).all()
    assert (np.diff(useless, axis=1) > 0.0).all()


def test_useless_columns_have_mean_0():
    found = repeated_importances(25, 150, 5, (2, 30), bound=None)
    assert_without_bias(*found)


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["gtest", None])
def test_useless_columns_have_mean_0_over_200_forests(bound):
    found = repeated_importances(200, 1000, 10, bound=bound)
    assert_without_bias(*found)
