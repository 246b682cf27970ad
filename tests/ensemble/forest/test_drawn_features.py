"""The features of a leaf that a forest grows on a stream: drawn once, for its life."""

import pickle

import numpy as np
import pandas as pd
import pytest
from reference.cases import settings_of
from reference.draws import LastingTree, mix
from reference.effort import cases
from reference.forest import stream_counts
from reference.tree import assert_same_evidence
from skconftree.tree.leaves._rows import drawn_features

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

GOLDEN = 0x9E3779B97F4A7C15
MEMORIES = ("rows", "histogram", "gaussian")


def make_stream(seed, n_rows=400, n_features=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).round(1).astype(np.float32)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5) * (X[:, 2] > 0)
    return X, y


@pytest.mark.parametrize(
    "case", cases(["none", "gtest", "hoeffding", "chi2", "credible"], ["gtest", "chi2"])
)
def test_each_tree_equals_the_reference(case):
    X, y = make_stream(len(case))
    bound, expected = settings_of(case, "gini" if case != "gtest" else None, 3)
    forest = ConfidenceForestClassifier(
        3,
        bound=bound,
        criterion="gini" if case != "gtest" else None,
        max_features=2,
        grace_period=7,
        leaf_memory="rows",
        online_rate=1.0,
        random_state=0,
    )
    forest.partial_fit(X, y, [0, 1, 2])
    n_splits = 0
    for i, tree in enumerate(forest.estimators_):
        weight = stream_counts(forest._model.seed, i, 1.0, np.arange(len(y)))
        learned = weight > 0.0
        other = LastingTree(
            X[learned],
            y[learned],
            n_classes=3,
            criterion=tree.criterion_,
            bound=expected,
            counts_every_row=False,
            examines_children=case == "credible",
            sample_weight=weight[learned],
            grace_period=7,
            seed=tree._model.grower.recipe.seed,
            max_features=2,
        )
        other.run()
        found = tree.tree_
        assert found.node_count == len(other.nodes)
        for node in other.nodes:
            i = node.number
            assert found.parent[i] == node.parent
            if node.split is None:
                assert found.feature[i] == -2
                continue
            n_splits += 1
            assert found.feature[i] == node.split.feature
            assert found.threshold[i] == node.split.threshold
            assert_same_evidence(found, i, node.split.evidence, f"node {i}")
    assert n_splits > 3


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("prediction", ["nb", "nba", "majority"])
def test_chunks_and_pickles_never_matter(memory, prediction):
    X, y = make_stream(1, 3000, 9)
    X[::17, 3] = np.nan
    kind = {"leaf_memory": memory, "leaf_prediction": prediction, "drift": "ddm"}
    kind |= {"bound": None, "random_state": 2, "max_features": 3}
    whole = ConfidenceForestClassifier(3, **kind)
    predicted = whole.partial_fit_predict(X, y, [0, 1, 2])
    parts, told = ConfidenceForestClassifier(3, **kind), []
    for start in range(0, len(y), 700):
        part = slice(start, start + 700)
        told.append(parts.partial_fit_predict(X[part], y[part], [0, 1, 2]))
        proba = parts.predict_proba(X[:50])
        parts = pickle.loads(pickle.dumps(parts))
        assert (parts.predict_proba(X[:50]) == proba).all()
    assert (np.concatenate(told) == predicted).all()
    assert pickle.dumps(parts) == pickle.dumps(whole)


def test_categories_of_drawn_features():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"x{j}": rng.normal(size=2000) for j in range(4)})
    for j in range(4):
        words = rng.choice(["a", "b"], 2000)
        words[1000:] = rng.choice(["a", "b", "c"], 1000)
        X[f"word{j}"] = pd.Categorical(words)
    y = ((X["word0"] == "a") ^ (X["word1"].isin(["b", "c"]))).to_numpy().astype(int)
    for memory in MEMORIES:
        kind = {"leaf_memory": memory, "leaf_prediction": "nba", "random_state": 0}
        whole = ConfidenceForestClassifier(3, **kind).partial_fit(X, y, [0, 1])
        parts = ConfidenceForestClassifier(3, **kind)
        for start in range(0, 2000, 400):
            part = X.iloc[start : start + 400]
            part = part.apply(
                lambda column: (
                    column.cat.remove_unused_categories()
                    if isinstance(column.dtype, pd.CategoricalDtype)
                    else column
                )
            )
            parts.partial_fit(part, y[start : start + 400], [0, 1])
            parts = pickle.loads(pickle.dumps(parts))
        for one, other in zip(whole.estimators_, parts.estimators_, strict=True):
            assert pickle.dumps(one._model.grower) == pickle.dumps(other._model.grower)
        assert (whole.predict_proba(X) == parts.predict_proba(X)).all()


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_leaf_remembers_what_it_has_drawn_alone(memory):
    X, _ = make_stream(0, 900, 64)
    y = np.random.default_rng(0).integers(0, 3, 900)
    sizes = []
    for n_drawn in (4, None):
        forest = ConfidenceForestClassifier(
            2,
            bound="hoeffding",
            delta=1e-9,
            leaf_memory=memory,
            bootstrap=False,
            max_features=n_drawn,
            random_state=0,
        )
        forest.partial_fit(X, y, [0, 1, 2])
        assert forest.estimators_[0].get_n_leaves() == 1
        sizes.append(forest.n_bytes_)
    assert sizes[0] < 0.2 * sizes[1]


@pytest.mark.parametrize("memory", MEMORIES)
def test_models_that_children_inherit_count_as_memory(memory):
    """They have another subset of features, and are for naive Bayes alone."""
    X, y = make_stream(2, 400)
    sizes = {}
    for prediction in ("majority", "nb"):
        forest = ConfidenceForestClassifier(
            1,
            bound=None,
            max_features=2,
            leaf_memory=memory,
            leaf_prediction=prediction,
            grace_period=200,
            max_leaf_nodes=2,
            random_state=0,
        ).partial_fit(X, y, [0, 1, 2])
        assert forest.estimators_[0].get_n_leaves() == 2
        sizes[prediction] = forest.n_bytes_
    assert sizes["nb"] > 1.5 * sizes["majority"]


def test_a_tree_that_replaces_another_draws_again():
    X, _ = make_stream(3, 6000)
    y = 2 * (X[:, 0] > 0)
    y[3000:] = 2 - y[3000:]
    forest = ConfidenceForestClassifier(
        3, bound=None, drift="ddm", max_features=4, random_state=0
    )
    forest.partial_fit(X[:1000], y[:1000], [0, 1, 2])
    seeds = [tree._model.grower.recipe.seed for tree in forest.estimators_]
    assert forest.n_drifts_ == 0
    forest.partial_fit(X[1000:], y[1000:])
    assert forest.n_drifts_ > 0
    for tree, seed in zip(forest.estimators_, seeds, strict=True):
        for _ in range(tree.n_drifts_):
            seed = mix(seed ^ GOLDEN) >> 2
        assert tree._model.grower.recipe.seed == seed
    loaded = pickle.loads(pickle.dumps(forest))
    for one in (forest, loaded):
        one.partial_fit(X[::-1], y[::-1])
    assert pickle.dumps(loaded) == pickle.dumps(forest)


def test_a_single_tree_draws_at_each_attempt():
    X, y = make_stream(4)
    tree = ConfidenceTreeClassifier(max_features=2, refit_rows=0, random_state=0)
    tree.partial_fit(X, y, [0, 1, 2])
    assert not tree._model.grower.recipe.in_forest


def test_after_fit_leaves_draw_their_features():
    X, y = make_stream(5, 2000)
    forest = ConfidenceForestClassifier(3, leaf_memory="rows", random_state=0)
    forest.fit(X[:1000], y[:1000])
    forest.partial_fit(X[1000:], y[1000:])
    loaded = pickle.loads(pickle.dumps(forest))
    assert (loaded.predict_proba(X) == forest.predict_proba(X)).all()
    assert forest.score(X, y) > 0.7


def test_a_damaged_past_raises():
    X, y = make_stream(6, 1500)
    forest = ConfidenceForestClassifier(
        1, bound=None, max_features=2, leaf_prediction="nba", random_state=0
    )
    forest.partial_fit(X, y, [0, 1, 2])
    state = forest.estimators_[0]._model.grower.__reduce__()
    make, (tree, values, grown) = state
    with pytest.raises(ValueError, match="corrupt"):
        make(tree, values | {"in_forest": False}, grown)
    with pytest.raises(ValueError, match="do not match its nodes"):
        make(tree, values | {"in_forest": 1}, grown)
    for n_first in (1, 6, 3.0):
        with pytest.raises(ValueError, match="do not match its nodes"):
            make(tree, values | {"n_first": n_first}, grown)


def test_late_features_replace_others_with_equal_probability():
    keys = np.random.default_rng(0).integers(2**63, size=6000).tolist()
    before = np.array([drawn_features(key, 3, 5, 5) for key in keys])
    after = np.array([drawn_features(key, 3, 5, 8) for key in keys])
    drawn, n_drawn = np.unique(after, axis=0, return_counts=True)
    assert (np.diff(drawn, axis=1) > 0).all()
    n_sets = 8 * 7 * 6 // 6
    assert len(drawn) == n_sets
    # each set of features is as probable as any other
    expected = len(keys) / n_sets
    assert ((n_drawn - expected) ** 2 / expected).sum() < 100.0  # p < 0.0002
    kept = [
        set(old) >= set(new[new < 5]) for old, new in zip(before, after, strict=True)
    ]
    assert all(kept)
