"""Growing trees with categories and missing values satisfy the contracts of growth.

Histograms of categories grow while a leaf lives, missing values need bins of their own
and categories may turn up where no branch waits for them: none of that may depend on
how a stream is cut, lose a row or survive a pickle differently.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
from reference.effort import crossed
from reference.registries import BOUNDS, MEMORIES, STREAM_BOUNDS, lax
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier


def make_table(n, seed=0, n_categories=9):
    """Three classes; two nominal columns, one of them decisive; holes everywhere."""
    rng = np.random.default_rng(seed)
    # later rows bring categories that the first ones do not have
    most = 2 + np.arange(n) * (n_categories - 2) // n
    code = rng.integers(0, most + 1)
    x = rng.normal(size=n)
    y = (code % 3 + (x > 1.0)) % 3
    y = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), y)
    table = pd.DataFrame(
        {
            "kind": pd.Categorical([f"k{c}" for c in code]),
            "x": np.where(rng.random(n) < 0.15, np.nan, x),
            "noise": rng.normal(size=n),
            "letter": pd.Categorical(rng.choice(list("abc"), n)),
        }
    )
    table.loc[rng.random(n) < 0.1, "letter"] = np.nan
    return table, y


def grown(model, X, y, ends, **options):
    tree = clone(model)
    begin = 0
    for end in ends:
        tree.partial_fit(X[begin:end], y[begin:end], classes=[0, 1, 2], **options)
        begin = end
    return tree


@pytest.mark.parametrize(("memory", "bound"), crossed(MEMORIES, [None, *STREAM_BOUNDS]))
def test_chunks_and_pickles_do_not_matter(bound, memory):
    X, y = make_table(1500 if memory == "rows" else 3000)
    if bound is not None and BOUNDS[bound].cautious:
        bound = lax(BOUNDS[bound]())
    model = ConfidenceTreeClassifier(bound, leaf_memory=memory, grace_period=50)
    whole = grown(model, X, y, [len(y)])
    parts = grown(model, X, y, [1, 7, 400, 1100])
    parts = pickle.loads(pickle.dumps(parts))
    parts.partial_fit(X[1100:], y[1100:])
    assert pickle.dumps(whole) == pickle.dumps(parts)
    # no row is lost, wherever unknown categories went
    assert whole.tree_.counts[0].sum() == pytest.approx(len(y))
    assert whole.tree_.n_node_samples[0] == len(y)
    assert whole.get_n_leaves() > 1


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("splits", ["binary", "multiway"])
def test_learns_from_categories(splits, memory):
    X, y = make_table(4000)
    test, truth = make_table(1000, seed=1)
    tree = ConfidenceTreeClassifier(
        nominal_splits=splits, leaf_memory=memory, grace_period=50
    )
    tree.partial_fit(X, y, classes=[0, 1, 2])
    assert tree.tree_.is_nominal.any()
    batch = ConfidenceTreeClassifier(nominal_splits=splits).fit(X, y)
    assert tree.score(test, truth) > batch.score(test, truth) - 0.08
    assert tree.score(test, truth) > 0.7


def test_each_prediction_precedes_its_row():
    X, y = make_table(1200)
    model = ConfidenceTreeClassifier(grace_period=25, leaf_memory="histogram")
    at_once = clone(model).partial_fit_predict(X, y, classes=[0, 1, 2])
    stepwise = clone(model).partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    by_row = [
        stepwise.partial_fit_predict(X[i : i + 1], y[i : i + 1])[0]
        for i in range(1, 1200)
    ]
    np.testing.assert_array_equal(at_once[1:], by_row)


def test_unknown_category_stays_at_its_node():
    X, y = make_table(3000)
    tree = ConfidenceTreeClassifier(leaf_prediction="majority", grace_period=50)
    tree.partial_fit(X, y, classes=[0, 1, 2])
    assert tree.tree_.is_nominal[0]
    row = X[:1].assign(kind=pd.Categorical(["never"]))
    assert tree.apply(row)[0] == 0
    np.testing.assert_allclose(tree.predict_proba(row)[0], tree.tree_.proba[0])
    # naive Bayes leaves below do not change what an internal node says
    other = ConfidenceTreeClassifier(grace_period=50).partial_fit(
        X, y, classes=[0, 1, 2]
    )
    np.testing.assert_allclose(other.predict_proba(row)[0], other.tree_.proba[0])


def test_goes_on_after_fit():
    X, y = make_table(3000)
    early = X["kind"].isin(["k0", "k1", "k2"])
    tree = ConfidenceTreeClassifier(grace_period=50).fit(X[early], y[early])
    leaves = tree.get_n_leaves()
    before = tree.tree_.counts[0].sum()
    tree.partial_fit(X[~early], y[~early])
    assert tree.tree_.counts[0].sum() == pytest.approx(before + (~early).sum())
    assert tree.get_n_leaves() >= leaves
    assert set(tree.categories_[0]) == set(X["kind"].unique())


def test_missing_values_of_arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = (X[:, 0] > 0).astype(int)
    X[(rng.random(4000) < 0.5) & (y == 1), 0] = np.nan  # missing says a lot
    for memory in MEMORIES:
        tree = ConfidenceTreeClassifier(leaf_memory=memory, grace_period=50)
        tree.partial_fit(X, y, classes=[0, 1])
        assert tree.score(X, y) > 0.97
    with pytest.raises(ValueError, match="infinity"):
        tree.partial_fit(np.full((1, 3), np.inf), [0])


def test_kinds_of_columns_are_settled_by_the_first_call():
    X, y = make_table(200)
    tree = ConfidenceTreeClassifier().partial_fit(X, y, classes=[0, 1, 2])
    state = pickle.dumps(tree)
    for wrong, message in [
        (X.rename(columns={"x": "z"}), "feature names"),
        (X[["x", "kind", "noise", "letter"]], "feature names"),
        (X.assign(kind=np.arange(200.0)), "kind"),
        (X.assign(x=list("ab") * 100), "x"),
    ]:
        with pytest.raises(ValueError, match=message):
            tree.partial_fit(wrong, y)
        assert pickle.dumps(tree) == state
