"""A split is decided or a near tie: its gain compared with the best other features."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.effort import examples
from scipy.sparse import csr_array

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.tree import export_text, node_table
from skconftree.tree.batch import _grow


def parts(sides, y, weight, criterion):
    """What each row has in the gain of the test that sends it to a side."""
    found = np.zeros(len(y))
    for side in np.unique(sides):
        there = sides == side
        share = np.bincount(y[there], weight[there], minlength=y.max() + 1)
        share = share / share.sum()
        if criterion == "entropy":
            found[there] = np.log(share[y[there]])
        else:
            found[there] = 2 * share[y[there]] - (share**2).sum()
    return found


def z_of(a, b, y, weight, criterion):
    """Difference of the gains of two tests in standard errors."""
    seen = weight > 0
    a, b, y, weight = a[seen], b[seen], y[seen], weight[seen]
    difference = parts(a, y, weight, criterion) - parts(b, y, weight, criterion)
    mean = np.average(difference, weights=weight)
    variance = np.average((difference - mean) ** 2, weights=weight)
    return 0.0 if variance < 1e-12 else mean / np.sqrt(variance / weight.sum())


def all_sides(x):
    """Sides of the rows under every test of a numeric feature."""
    missing = np.isnan(x)
    values = np.unique(x[~missing])
    for cut in (values[1:] + values[:-1]) / 2:
        for left in (False, True) if missing.any() else (False,):
            yield np.where(missing, not left, x > cut)
    if missing.any():
        yield missing


def score_of(sides, y, weight, criterion):
    """Score of a test per row, the smaller the better."""
    total = 0.0
    for side in np.unique(sides):
        n = np.bincount(y[sides == side], weight[sides == side], minlength=9)
        share = n[n > 0] / n.sum()
        if criterion == "entropy":
            total -= n.sum() * (share * np.log2(share)).sum() / 2
        else:
            total += n.sum() * (1 - (share**2).sum())
    return total / weight.sum()


def assert_as_reference(model, X, y, weight, criterion):
    """Compare every split; returns how many were."""
    tree, path = model.tree_, model.decision_path(X).toarray() > 0
    compared = 0
    for node in np.flatnonzero(tree.feature >= 0):
        rows, one = path[:, node], tree.evidence[node]
        if one["runner_up_feature"] < 0:
            assert np.isnan(one["runner_up_z"])
            continue
        own = path[rows][:, tree.children_right[node]].astype(int)
        there = y[rows], weight[rows], criterion
        found = [
            z_of(own, sides.astype(int), *there)
            for sides in all_sides(X[rows, one["runner_up_feature"]])
            if abs(score_of(sides, *there) - one["runner_up_score"]) < 1e-9
        ]
        assert found  # more than one where cuts are level
        assert np.abs(np.array(found) - one["runner_up_z"]).min() < 1e-6
        compared += 1
    return compared


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@settings(max_examples=examples(40))
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(12, 120),
    n_classes=st.integers(2, 4),
    missing=st.booleans(),
    weighted=st.booleans(),
)
def test_same_as_the_reference(criterion, seed, n, n_classes, missing, weighted):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 5, (n, 2))])
    X = X.astype(np.float32).astype(float)
    y = rng.integers(0, n_classes, n)
    y[: n // 2] = (X[: n // 2, 0] > 0) + (X[: n // 2, 2] > 2) * (n_classes > 2)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(0, 3, n).astype(float) if weighted else np.ones(n)
    weight[:2], y[:2] = 1, (0, n_classes - 1)
    model = ConfidenceTreeClassifier(
        delta=50.0, criterion=criterion, pruning=None, max_depth=3
    ).fit(X, np.append(y, 0)[:n], sample_weight=weight)
    codes = np.searchsorted(model.classes_, y)
    assert_as_reference(model, X, codes, weight, criterion)


def close(n=40):
    """Make two features that part the classes nearly alike, 2 rows apart."""
    y = np.arange(n) % 2
    X = np.column_stack([y, y, np.zeros(n)]).astype(float)
    X[:4, 0] = 1 - X[:4, 0]
    X[:6, 1] = 1 - X[:6, 1]
    return X, y


def test_a_number_worked_by_hand():
    # Shares of the classes are .9 and .1 in both children of x0, .85 and .15 of x1. On
    # 34 rows both are right, on 4 both are wrong, on 2 only x0 is right. By Gini a row
    # that is right has 2 (.9) - .82 = .98 or 2 (.85) - .745 = .955, one that is wrong
    # 2 (.1) - .82 = -.62 or 2 (.15) - .745 = -.445. The differences are .025, -.175 and
    # .98 + .445 = 1.425.
    X, y = close()
    model = ConfidenceTreeClassifier(
        "chi2", criterion="gini", pruning=None, max_depth=1
    ).fit(X, y)
    differences = np.array([0.025] * 34 + [-0.175] * 4 + [1.425] * 2)
    expected = differences.mean() / (differences.std() / np.sqrt(40))
    assert expected == pytest.approx(1.504, abs=1e-3)
    assert model.tree_.evidence["runner_up_z"][0] == pytest.approx(expected)
    assert model.tree_.evidence["runner_up_feature"][0] == 1
    assert np.isnan(model.tree_.evidence["runner_up_z"][1:]).all()


def mixed(n=600, seed=0):
    """Make numbers, categories and holes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(0, 5, n).astype(float),
            "c": pd.Categorical(rng.choice(list("uvwxyz"), n)),
            "d": pd.Categorical(rng.choice(list("pqrs"), n)),
        }
    )
    y = (frame["a"] > 0).to_numpy() ^ frame["c"].isin(["u", "v"]).to_numpy()
    y = np.where(rng.random(n) < 0.2, rng.integers(0, 2, n), y)
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    frame.loc[rng.random(n) < 0.1, "d"] = None
    return frame, y


@pytest.mark.parametrize("nominal_splits", ["binary", "multiway"])
def test_weight_k_is_k_rows_with_categories_and_missing_values(nominal_splits):
    X, y = mixed()
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    a, b = (
        ConfidenceTreeClassifier(delta=3.0, nominal_splits=nominal_splits)
        for _ in range(2)
    )
    a.fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight)
    b.fit(X.iloc[rows], y[rows])
    found = a.tree_.evidence["runner_up_z"]
    assert np.isfinite(found).sum() >= 5
    assert_allclose(found, b.tree_.evidence["runner_up_z"], rtol=1e-9)


def test_sparse_tables_say_the_same():
    rng = np.random.default_rng(3)
    X = np.where(rng.random((400, 6)) < 0.7, 0, rng.integers(-2, 4, (400, 6)))
    X = X + np.where(rng.random((400, 6)) < 0.1, rng.normal(size=(400, 6)), 0)
    y = (X[:, 0] > 0) + (X[:, 2] + X[:, 3] > 1)
    dense, sparse = (
        ConfidenceTreeClassifier(delta=5.0).fit(rows, y)
        for rows in (X.astype(np.float32), csr_array(X.astype(np.float32)))
    )
    assert np.isfinite(dense.tree_.evidence["runner_up_z"]).sum() >= 5
    assert_array_equal(
        dense.tree_.evidence["runner_up_z"], sparse.tree_.evidence["runner_up_z"]
    )


def test_what_is_not_known_is_nan():
    X, y = mixed()
    X = X[["a", "b"]].fillna(0.0)
    for model in (
        ConfidenceTreeClassifier("gtest", max_features=1, random_state=0).fit(X, y),
        ConfidenceTreeClassifier(refit_rows=0).partial_fit(X, y, [0, 1]),
        ConfidenceForestClassifier(2, bound="gtest", random_state=0)
        .fit(X, y)
        .estimators_[0],
    ):
        assert model.tree_.node_count > 1
        assert np.isnan(model.tree_.evidence["runner_up_z"]).all()
        assert model.tree_.competitors is None
        assert not any(row.tie for row in node_table(model))
        with pytest.warns(UserWarning, match="does not store competitors"):
            assert not any(row.competitors for row in node_table(model, competitors=1))
        with pytest.warns(UserWarning, match="does not store competitors"):
            assert model.explain(X[:1], competitors=3)[0][0]["competitors"] == []
    plain = ConfidenceTreeClassifier(bound=None).fit(X, y)
    assert np.isnan(plain.tree_.evidence["runner_up_z"]).all()  # no bound compared


def test_splits_made_later_have_none():
    X, y = mixed()
    X = X[["a", "b"]].fillna(0.0).to_numpy()
    model = ConfidenceTreeClassifier(max_depth=1, grace_period=10).fit(X, y)
    before = model.tree_.competitors[0].copy()
    model.set_params(max_depth=None)
    model.partial_fit(*(np.concatenate([part] * 20) for part in (X, y)))
    tree = model.tree_
    assert tree.node_count > 3
    assert tree.competitors[0].tobytes() == before.tobytes()
    assert (tree.competitors["feature"][1:] == -2).all()
    assert np.isnan(tree.competitors["z"][1:]).all()


def test_large_tables_compare_large_nodes(monkeypatch):
    # by their weight, so that it does not matter how rows are repeated
    X, y = mixed()
    monkeypatch.setattr(_grow, "MAX_COMPARED_WEIGHT", 600.0)
    for weight, least in ((1.0, 0.0), (1.01, 0.25)):
        model = ConfidenceTreeClassifier(
            delta=5.0, pruning=None, sample_weight_kind="frequency"
        )
        model.fit(X, y, sample_weight=np.full(600, weight))
        tree = model.tree_
        is_large = tree.counts.sum(axis=1) >= least * 600 * weight
        compared = tree.evidence["runner_up_feature"] >= 0
        found = np.isfinite(tree.evidence["runner_up_z"][compared])
        assert_array_equal(found, is_large[compared])
        assert found.any()
        assert found.all() == (least == 0.0)


def test_it_is_pickled():
    X, y = mixed()
    model = ConfidenceTreeClassifier().fit(X, y)
    found = model.tree_.evidence["runner_up_z"].copy()
    assert np.isfinite(found).any()
    for other in (pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert_array_equal(other.tree_.evidence["runner_up_z"], found)


def test_copies_of_a_column_are_ties():
    X, y = mixed()
    x = X["a"].fillna(0.0).to_numpy()
    y = (x > 0) ^ (np.arange(len(y)) % 7 == 0)
    tree = ConfidenceTreeClassifier().fit(np.column_stack([x, x]), y).tree_
    assert_array_equal(tree.evidence["runner_up_z"][tree.feature >= 0], 0.0)


def test_near_ties_are_called_near_ties():
    X, y = mixed()
    model = ConfidenceTreeClassifier(delta=3.0).fit(X, y)
    rows = [row for row in node_table(model) if row.branches]
    ties = [row for row in rows if abs(row.evidence.runner_up_z) < 1.96]
    assert 0 < len(ties) < len(rows)
    text = export_text(model, fold_weak=False)
    footer = text.partition("near ties, which")[2].splitlines()[1:]
    n_tied = sum(bool(row.near_ties) for row in rows)
    assert len(footer) == (n_tied if n_tied <= 6 else 5)
    assert (f"near ties of {n_tied - 4} further splits" in footer[-1]) == (n_tied > 6)
    for row in rows:
        assert row not in ties or row.evidence.runner_up_name == row.near_ties[0]
        assert bool(row.tie) == bool(row.near_ties)
        assert f"{row.evidence.level}  " in text
    assert "\nnear ties, which " in model.explain_text(X)


def test_pairs_of_tests_fit_the_joint_outcomes():
    """4 x 4 branches at the root, then 2 x 8: as many cells, but more branches."""
    rng = np.random.default_rng(0)
    n = 4000
    four, two = rng.integers(0, 4, n), rng.integers(0, 2, n)
    noisy = np.where(rng.random(n) < 0.7, four, rng.integers(0, 4, n))
    eight = np.where(rng.random(n) < 0.7, two, rng.integers(0, 2, n)) * 4
    eight += rng.integers(0, 4, n)
    y = np.where(four == 0, two, four + 1)
    X = np.column_stack([four, noisy, two, eight])
    model = ConfidenceTreeClassifier(
        categorical_features=[0, 1, 2, 3], nominal_splits="multiway", pruning=None
    ).fit(X, y)
    tree = model.tree_
    assert tree.feature[0] == 0
    assert tree.evidence["runner_up_feature"][0] == 1
    below = tree.children(0)[0]
    assert tree.feature[below] == 2
    assert tree.evidence["runner_up_feature"][below] == 3
    there = four == 0
    for node, rows, a, b in (
        (0, slice(None), four, noisy),
        (below, there, two, eight),
    ):
        weight = np.ones(len(y[rows]))
        expected = z_of(a[rows], b[rows], y[rows], weight, "entropy")
        assert_allclose(tree.evidence["runner_up_z"][node], expected, rtol=1e-9)


def test_a_split_is_compared_before_the_tree_is_resized():
    """The counts of the node move then: what they were is looked at no more."""
    rng = np.random.default_rng(0)
    codes = np.arange(600) % 300
    X = np.column_stack([codes, rng.normal(size=600)])
    y = (rng.random(300) < 0.5).astype(int)[codes] ^ (X[:, 1] > 1.5)
    model = ConfidenceTreeClassifier(
        None, categorical_features=[0], nominal_splits="multiway", pruning=None
    )
    model = model.set_params(bound="chi2", delta=0.5).fit(X, y)
    tree = model.tree_
    assert tree.feature[0] == 0
    assert tree.node_count > 300  # more than there was room for
    (competitor,) = tree.competitors[0][:1]
    expected = z_of(
        codes, X[:, 1] > competitor["threshold"], y, np.ones(600), "entropy"
    )
    assert_allclose(competitor["z"], expected, rtol=1e-9)
    left = X[:, 1] <= competitor["threshold"]
    below = sum(
        side.mean() * entropy(np.bincount(y[side], minlength=2))
        for side in (left, ~left)
    )
    assert_allclose(competitor["gain"], entropy(np.bincount(y)) - below, rtol=1e-9)


def entropy(counts):
    shares = counts[counts > 0] / counts.sum()
    return -(shares * np.log2(shares)).sum()
