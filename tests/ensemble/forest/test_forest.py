"""Forests in batch: what a sample depends on, and what the trees are."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from reference.effort import examples
from scipy import sparse
from skconftree.ensemble._bootstrap import draw_counts, tree_seed
from skconftree.tables._encoded_table import RowCodes
from skconftree.tables._row_hashes import hash_dense
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from skconftree import ConfidenceForestClassifier
from skconftree.ensemble.forest._model import Sampler
from skconftree.tables import _growth_data
from skconftree.tables._content_order import ContentOrder, hash_rows

pytestmark = pytest.mark.filterwarnings("ignore:.*no out-of-bag prediction")


def make_table(seed, n_rows=120, n_levels=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).astype(np.float32)
    X[:, 1] = rng.integers(0, n_levels, n_rows)
    X[rng.random(n_rows) < 0.1, 2] = np.nan
    y = (X[:, 0] + X[:, 1] > 1.5).astype(int) + (rng.random(n_rows) < 0.2)
    return X, y


def same(forest, other):
    """Whether two forests have the same trees and answers, bit for bit."""
    return pickle.dumps([tree.tree_ for tree in forest.estimators_]) == pickle.dumps(
        [tree.tree_ for tree in other.estimators_]
    )


def forest_of(n_estimators=8, **parameters):
    if parameters.get("oob_score"):
        n_estimators = max(n_estimators, 40)  # that each row is out of some sample
    return ConfidenceForestClassifier(
        n_estimators, **{"random_state": 3, "bound": None, **parameters}
    )


KINDS = {
    "plain": {},
    "default": {"bound": "gtest"},
    "share": {"max_samples": 0.5},
    "all rows": {"bootstrap": False},
    "extra": {"bootstrap": False, "splitter": "random"},
    "balanced": {"class_weight": "balanced_subsample"},
    "mixed": {"bound": ["chi2", "credible", None]},
    "raising": {"pruning": "c45"},
    "best first": {"max_leaf_nodes": 6},
    "repeats": {"bound": ["gtest", "credible", "evalue"], "count_repeats": False},
}


DRAWN = [kind for kind in KINDS if "bootstrap" not in KINDS[kind]]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(20, by_day=2), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_the_rows_does_not_matter(kind, seed):
    X, y = make_table(seed)
    shuffled = np.random.default_rng(seed).permutation(len(y))
    forest = forest_of(**KINDS[kind]).fit(X, y)
    assert same(forest, forest_of(**KINDS[kind]).fit(X[shuffled], y[shuffled]))


@pytest.mark.parametrize("kind", DRAWN)
@settings(max_examples=examples(20, by_day=2), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_weight_is_a_number_of_repeats(kind, seed):
    X, y = make_table(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    repeats = np.repeat(np.arange(len(y)), weight)
    forest = forest_of(oob_score=True, **KINDS[kind]).fit(X, y, weight)
    other = forest_of(oob_score=True, **KINDS[kind]).fit(X[repeats], y[repeats])
    assert same(forest, other)
    assert forest.oob_score_ == pytest.approx(other.oob_score_, rel=1e-12)
    assert np.array_equal(
        forest.oob_decision_function_[repeats],
        other.oob_decision_function_,
        equal_nan=True,
    )
    absent = weight == 0
    assert np.isnan(forest.oob_decision_function_[absent]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_jobs_does_not_matter(kind):
    X, y = make_table(0, 300)
    forest = forest_of(oob_score="bootstrap" not in KINDS[kind], **KINDS[kind])
    forest.fit(X, y)
    other = clone(forest).set_params(n_jobs=3).fit(X, y)
    assert pickle.dumps(forest) == pickle.dumps(other.set_params(n_jobs=None))
    rows = np.repeat(X, 80, axis=0)
    other.n_jobs = 3  # many rows times trees: shared among threads
    assert (forest.predict_proba(rows) == other.predict_proba(rows)).all()


@pytest.mark.slow
def test_processes_grow_the_same_trees():
    import joblib

    X, y = make_table(1, 200)
    forest = forest_of(bound=["gtest", None]).fit(X, y)
    with joblib.parallel_config("loky", n_jobs=2):
        assert same(forest, forest_of(bound=["gtest", None]).fit(X, y))


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_begins_with_a_smaller_one(kind):
    X, y = make_table(2)
    forest = forest_of(9, **KINDS[kind]).fit(X, y)
    few = forest_of(4, **KINDS[kind], warm_start=True).fit(X, y)
    assert same(few, _first(forest, 4))
    few.set_params(n_estimators=9).fit(X, y)
    assert same(few, forest)


def _first(forest, n):
    part = clone(forest)
    part._model = copy.copy(forest._model)
    del part._model.trees[n:]
    return part


@pytest.mark.parametrize("kind", ["plain", "default", "mixed", "raising", "best first"])
def test_each_tree_is_that_of_its_sample(kind):
    """A slow forest: every tree is fitted by itself, on rows with their counts."""
    X, y = make_table(5, 200)
    forest = forest_of(**KINDS[kind]).fit(X, y)
    order = ContentOrder(*hash_rows(X, y.astype(np.uint16)))
    rows = order.row_indices[order.starts]
    sampler = Sampler(order.ends, len(y), forest._model.seed)
    proba = np.zeros((len(X), 3))
    for i, tree in enumerate(forest.estimators_):
        counts = sampler.counts(i)
        assert counts.sum() == len(y)
        alone = clone(tree).fit(X[rows], y[rows], counts)
        # trees of a forest do not store why nodes are leaves
        assert tree.tree_.stops is None
        stops, state = alone.tree_.stops.tobytes(), alone.tree_.__getstate__()
        shared = tuple(part for part in state if part != stops)
        assert shared == tree.tree_.__getstate__()
        assert tree.random_state == tree_seed(forest._model.seed, i)
        proba += alone.predict_proba(X)
    proba /= len(forest.estimators_)
    assert (forest.predict_proba(X) == proba).all()
    assert (forest.predict(X) == forest.classes_[proba.argmax(axis=1)]).all()


def test_out_of_bag_rows_are_predicted_by_other_trees():
    X, y = make_table(6, 150)
    forest = forest_of(20, oob_score=True).fit(X, y)
    order = ContentOrder(*hash_rows(X, y.astype(np.uint16)))
    sampler = Sampler(order.ends, len(y), forest._model.seed)
    groups = order.group_of_rows()
    votes, n_votes = np.zeros((150, 3)), np.zeros(150)
    for i, tree in enumerate(forest.estimators_):
        absent = sampler.counts(i)[groups] == 0
        votes[absent] += tree.predict_proba(X[absent])
        n_votes += absent
    expected = votes / n_votes[:, np.newaxis]
    assert np.allclose(forest.oob_decision_function_, expected)
    right = forest.classes_[expected.argmax(axis=1)] == y
    assert forest.oob_score_ == pytest.approx(right.mean())


def test_a_custom_score_and_rows_that_all_trees_have_seen():
    X, y = make_table(7)
    with pytest.warns(UserWarning, match="no out-of-bag prediction"):
        forest = ConfidenceForestClassifier(
            1, bound=None, oob_score=lambda true, found: 42.0
        ).fit(X, y)
    assert forest.oob_score_ == 42.0
    assert np.isnan(forest.oob_decision_function_).any()
    forest.set_params(oob_score=False).fit(X, y)
    assert not hasattr(forest, "oob_score_")
    with pytest.warns(UserWarning, match="no out-of-bag prediction"):
        forest.set_params(oob_score=True).fit(X[:1], y[:1])
    assert np.isnan(forest.oob_score_)


def test_progress_names_the_trees(capsys):
    X, y = make_table(7)
    ConfidenceForestClassifier(2, verbose=2).fit(X, y)
    told = capsys.readouterr().out
    assert "growing tree 1\n" in told
    assert "growing tree 2\n" in told


def test_sparse_rows_give_the_forest_of_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (200, 12)).astype(np.float32)
    y = (X[:, 0] > X[:, 1]).astype(int)
    forest = forest_of(oob_score=True).fit(X, y)
    for convert in (sparse.csr_array, sparse.csc_matrix):
        other = forest_of(oob_score=True).fit(convert(X), y)
        assert same(forest, other)
        assert (other.predict_proba(convert(X)) == forest.predict_proba(X)).all()
        assert other.oob_score_ == pytest.approx(forest.oob_score_)


def test_frames_and_categories():
    rng = np.random.default_rng(1)
    color = rng.choice(["red", "green", "blue"], 300)
    X = pd.DataFrame({"color": pd.Categorical(color), "size": rng.normal(size=300)})
    y = np.where((color == "red") ^ (X["size"] > 0), "yes", "no")
    forest = forest_of(30, bound="gtest", max_features=None).fit(X, y)
    assert forest.score(X, y) > 0.95
    assert forest.categories_ == [["blue", "green", "red"], None]
    assert forest.is_categorical_.tolist() == [True, False]
    assert list(forest.estimators_[0].feature_names_in_) == ["color", "size"]
    assert forest.estimators_[0].predict(X).dtype.kind in "UO"
    shuffled = rng.permutation(300)
    other = forest_of(30, bound="gtest", max_features=None)
    assert same(forest, other.fit(X.iloc[shuffled], y[shuffled]))
    new = X[:2].assign(color="black")
    assert forest.predict_proba(new).shape == (2, 2)


def test_rows_without_label_are_in_every_sample():
    X, y = make_table(8, 200)
    forest = forest_of(bound="credible").fit(X, y)
    with_pool = forest_of(bound="credible").fit(X, y, X_pool=np.tile(X, (5, 1)))
    assert not same(forest, with_pool)
    mixed = forest_of(bound=["gtest", "credible"]).fit(X, y, X_pool=np.tile(X, (5, 1)))
    assert pickle.dumps(mixed.estimators_[1].tree_) == pickle.dumps(
        with_pool.estimators_[1].tree_
    )
    assert str(with_pool.bound_) == str(mixed.bound_[1]) == "CredibleBound()"
    assert with_pool.criterion_ == mixed.criterion_[1]
    assert mixed.estimators_[0].criterion_ == mixed.criterion_[0]


def test_leaves_may_keep_their_rows():
    X, y = make_table(9)
    forest = forest_of(leaf_prediction="nb", max_depth=2).fit(X, y)
    expected = sum(tree.predict_proba(X) for tree in forest.estimators_)
    expected /= len(forest.estimators_)
    assert (forest.predict_proba(X) == expected).all()
    plain = forest_of(max_depth=2).fit(X, y)
    assert not np.allclose(forest.predict_proba(X), plain.predict_proba(X))


def test_leaves_paths_and_importances():
    X, y = make_table(10)
    forest = forest_of().fit(X, y)
    leaves = forest.apply(X)
    assert leaves.shape == (len(X), 8)
    paths, ends = forest.decision_path(X)
    assert paths.shape == (len(X), ends[-1])
    for i, tree in enumerate(forest.estimators_):
        assert (leaves[:, i] == tree.apply(X)).all()
        part = paths[:, ends[i] : ends[i + 1]]
        assert (part != tree.decision_path(X)).nnz == 0
    assert forest.feature_importances_.sum() == pytest.approx(1.0)
    assert forest.n_bytes_ == sum(tree.n_bytes_ for tree in forest.estimators_)
    assert forest.n_drifts_ == 0
    stump = forest_of(bound="credible", delta=1e-9).fit(X[:5], y[:5])
    assert not stump.feature_importances_.any()


def test_float_weights_have_integer_counts():
    X, y = make_table(11)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    n_effective = weight.sum() ** 2 / (weight**2).sum()
    for kind, total in (("frequency", weight.sum()), ("auto", n_effective)):
        forest = forest_of(sample_weight_kind=kind).fit(X, y, weight)
        for tree in forest.estimators_:
            assert (tree.tree_.counts == np.rint(tree.tree_.counts)).all()
            assert tree.tree_.counts[0].sum() == round(total)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_weights_that_are_not_integers_are_relative(bootstrap):
    X, y = make_table(11)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    given = {"bootstrap": bootstrap, "oob_score": bootstrap}

    def proba(weight, kind):
        forest = forest_of(sample_weight_kind=kind, **given).fit(X, y, weight)
        if bootstrap:
            assert forest.oob_score_ > 0.7
        return forest.predict_proba(X)

    expected = proba(weight * 2.0**-30, "relative")
    np.testing.assert_array_equal(proba(weight, "auto"), expected)
    assert (expected.argmax(axis=1) == y).mean() > 0.8
    equal = proba(np.full(len(y), 0.2), "auto")
    np.testing.assert_array_equal(equal, proba(np.ones(len(y)), "auto"))


def test_a_failed_fit_changes_nothing():
    X, y = make_table(12)
    forest = forest_of().fit(X, y)
    before = pickle.dumps(forest)
    for wrong in ({"max_samples": 2**31}, {"bound": []}, {"bound": "nothing"}):
        old = {name: getattr(forest, name) for name in wrong}
        with pytest.raises(ValueError, match="max_samples|bound"):
            forest.set_params(**wrong).fit(X, y)
        forest.set_params(**old)
        assert pickle.dumps(forest) == before
    with pytest.raises(ValueError, match="NaN"):
        forest.fit(X[:, :2], np.full(len(y), np.nan))
    assert pickle.dumps(forest) == before


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"count_repeats": None}, "count_repeats"),
        ({"bound": []}, "at least one bound"),
        ({"bound": ["gtest", 3]}, "Got 3 in the list"),
        ({"bootstrap": False, "max_samples": 0.5}, "max_samples"),
        ({"bootstrap": False, "oob_score": True}, "oob_score"),
        ({"max_samples": 2**31}, "smaller max_samples"),
        ({"max_samples": 1e8}, "smaller max_samples"),
        ({"max_samples": 0.0}, "max_samples"),
        ({"class_weight": "balanced_sample"}, "class_weight"),
        ({"bound": ["gtest", "credible"], "criterion": "ec2"}, "criterion"),
    ],
)
def test_wrong_parameters_are_named(parameters, words):
    X, y = make_table(0)
    with pytest.raises(ValueError, match=words):
        ConfidenceForestClassifier(**parameters).fit(X, y)


def test_what_warm_start_cannot_do():
    X, y = make_table(13)
    forest = forest_of(4, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match="grew no tree"):
        forest.fit(X, y)
    with pytest.raises(ValueError, match="at least 4"):
        forest.set_params(n_estimators=3).fit(X, y)
    forest.set_params(n_estimators=5)
    with pytest.raises(ValueError, match="classes"):
        forest.fit(X, y + 1)
    with pytest.raises(ValueError, match="features"):
        forest.fit(X[:, :3], y)
    frame = pd.DataFrame({"color": pd.Categorical(["a", "b"] * 20)})
    label = np.tile([0, 1], 20)
    forest = forest_of(2, warm_start=True).fit(frame, label)
    frame = pd.DataFrame({"color": pd.Categorical(["a", "c"] * 20)})
    with pytest.raises(ValueError, match="categories"):
        forest.set_params(n_estimators=3).fit(frame, label)


def test_columns_with_other_names_are_refused():
    X, y = make_table(13)
    frame = pd.DataFrame(X, columns=list("abcd"))
    renamed = frame.rename(columns={"b": "e"})
    forest = forest_of(2, warm_start=True).fit(frame, y)
    before = pickle.dumps(forest.set_params(n_estimators=3))
    for call in (
        lambda rows: forest.fit(rows, y),
        lambda rows: forest.partial_fit(rows, y),
        forest.predict,
    ):
        for rows in (renamed, frame[list("badc")]):
            with pytest.raises(ValueError, match="feature names"):
                call(rows)
            assert pickle.dumps(forest) == before


def test_too_many_rows_to_draw():
    X, y = make_table(14)
    with pytest.raises(ValueError, match="max_samples"):
        forest_of().fit(X, y, np.full(len(y), 1e9))
    forest_of(max_samples=50).fit(X, y, np.full(len(y), 1e9))


def test_a_forest_is_a_sequence_of_its_trees():
    X, y = make_table(17)
    forest = forest_of(3, bound=["chi2", None], max_depth=2)
    assert forest.estimator.get_params()["bound"] == "chi2"
    with pytest.raises(NotFittedError):
        len(forest)
    forest.fit(X, y)
    assert len(forest) == 3
    assert list(forest) == forest.estimators_
    assert (forest[0], forest[-2:]) == (forest.estimators_[0], forest.estimators_[1:])
    assert not hasattr(forest.estimator_, "tree_")
    assert forest.estimator_.get_params()["max_depth"] == 2
    assert forest.n_outputs_ == forest[0].n_outputs_ == 1


@pytest.mark.parametrize("max_samples", [None, 0.3, 2.5, 500])
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_of_the_trees(max_samples, weighted):
    """Each tree is that of `fit` on the rows of its sample."""
    X, y = make_table(18)
    X, y = np.r_[X, X[:30]], np.r_[y, y[:30]]  # equal rows
    weight = np.random.default_rng(0).integers(0, 3, len(y)) if weighted else None
    forest = forest_of(4, max_samples=max_samples).fit(X, y, weight)
    total = weight.sum() if weighted else len(y)
    n_draws = {None: total, 500: 500}.get(max_samples)
    n_draws = round(max_samples * total) if n_draws is None else n_draws
    forest = pickle.loads(pickle.dumps(forest))
    for tree, rows in zip(forest, forest.estimators_samples_, strict=True):
        assert (rows.dtype, len(rows)) == (np.int32, n_draws)
        assert (np.diff(rows) >= 0).all()
        assert not weighted or (weight[rows] > 0).all()
        alone = clone(tree).fit(X[rows], y[rows])
        assert_array_equal(alone.tree_.counts, tree.tree_.counts)
    times = np.bincount(np.concatenate(forest.estimators_samples_), minlength=len(y))
    if not weighted and n_draws > 300:
        assert times.min() > 0
    with pytest.raises(AttributeError, match="Only a forest grown by fit"):
        _ = forest.partial_fit(X, y).estimators_samples_


def test_samples_without_bootstrap_are_all_rows():
    X, y = make_table(19)
    forest = forest_of(2, bootstrap=False).fit(X, y)
    assert_array_equal(forest.estimators_samples_, [np.arange(len(y))] * 2)
    weight = np.arange(len(y)) % 2
    forest.fit(X, y, weight)
    assert_array_equal(forest.estimators_samples_, [np.flatnonzero(weight)] * 2)


def test_pickles_copies_and_grids():
    X, y = make_table(15)
    forest = forest_of(oob_score=True).fit(X, y)
    loaded = pickle.loads(pickle.dumps(forest))
    assert (loaded.predict_proba(X) == forest.predict_proba(X)).all()
    assert pickle.dumps(loaded) == pickle.dumps(forest)
    grid = GridSearchCV(forest_of(), {"bound": ["gtest", None], "max_samples": [0.5]})
    assert grid.fit(np.nan_to_num(X), y).best_score_ > 0.5
    with pytest.raises(NotFittedError):
        forest_of().predict(X)


@pytest.mark.parametrize("name", ["trees", "classes", "seed", "n_rows_seen"])
def test_a_part_that_is_missing_is_named(name):
    X, y = make_table(16)
    state = forest_of().fit(X, y).__getstate__()
    parts = state["_model"]
    parts = {one: parts[one] for one in parts if one != name}
    with pytest.raises(ValueError, match=f"is corrupt: it has no '{name}'"):
        forest_of().__setstate__({**state, "_model": parts})


def test_parts_of_another_forest():
    """Each is sound by itself."""
    X, y = make_table(16)
    state = forest_of().fit(X, y).__getstate__()
    narrow = forest_of().fit(X[:, :2], y)
    fewer = forest_of().fit(X, np.minimum(y, 1))
    growing = forest_of(2).partial_fit(X, y, classes=np.unique(y))
    for other, name in (
        (narrow, "trees"),
        (narrow, "schema"),
        (fewer, "trees"),
        (fewer, "classes"),
        (growing, "records"),
    ):
        parts = state["_model"] | {name: other.__getstate__()["_model"][name]}
        with pytest.raises(ValueError, match="is not valid"):
            forest_of().__setstate__({**state, "_model": parts})
    forest_of().__setstate__(state)


def test_draws_are_those_of_the_weights():
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 5, 50).astype(float) + 0.5
    counts = sum(draw_counts(np.cumsum(weight), 10_000, 1, t) for t in range(20))
    expected = 200_000 * weight / weight.sum()
    assert (abs(counts - expected) < 6 * np.sqrt(expected)).all()
    assert (draw_counts(np.array([3.0]), 7, 0, 0) == [7]).all()
    assert (draw_counts(np.cumsum(weight), 99, 1, 0).sum()) == 99


def test_equal_numbers_have_one_hash():
    y = np.zeros(4, dtype=np.uint16)
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [np.nan, 1.0], [1.0, 0.0]], dtype=np.float32)
    first, second = hash_dense(X, y)
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert len(set(first.tolist())) == len(set(second.tolist())) == 3
    other = np.array(X)
    other[2, 0] = -np.nan
    assert (hash_dense(other, y)[0] == first).all()
    assert (hash_dense(X, y + np.uint16(1))[0] != first).all()


def test_it_is_about_as_good_as_a_random_forest():
    from sklearn.ensemble import RandomForestClassifier

    X, y = make_classification(1500, 20, n_informative=8, random_state=0)
    ours = forest_of(50).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    theirs = RandomForestClassifier(50, random_state=0).fit(X[:1000], y[:1000])
    assert ours > theirs.score(X[1000:], y[1000:]) - 0.03


def test_trees_as_hypotheses():
    """What each tree predicts by itself, in classes of the forest; sparse rows too."""
    X, y = make_table(0)
    labels = np.array(["c", "a", "b"])[y]
    forest = ConfidenceForestClassifier(5, random_state=0).fit(X, labels)
    outcomes, weights, groups = forest.hypotheses(X)
    assert groups is None
    assert (weights == 0.2).all()
    for tree, one in zip(forest.estimators_, outcomes, strict=True):
        assert (
            tree.classes_[tree.predict_proba(X).argmax(axis=1)] == tree.predict(X)
        ).all()
        assert (forest.classes_[one] == tree.predict(X)).all()
    full = np.nan_to_num(X)
    assert (
        forest.hypotheses(sparse.csr_array(full))[0] == forest.hypotheses(full)[0]
    ).all()


@pytest.mark.parametrize("n_classes", [2, 5])
def test_nodes_without_a_bound_are_about_as_large_as_those_of_scikit_learn(n_classes):
    # 12 bytes of a node are the evidence of its split, which scikit-learn does not have
    X, y = make_classification(
        600, 8, n_informative=6, n_classes=n_classes, random_state=0
    )
    forest = ConfidenceForestClassifier(4, bound=None, random_state=0).fit(X, y)
    other = RandomForestClassifier(4, random_state=0).fit(X, y)
    states = [tree.tree_.__getstate__() for tree in other.estimators_]
    theirs = sum(state["nodes"].nbytes + state["values"].nbytes for state in states)
    n_ours, n_theirs = (
        sum(tree.tree_.node_count for tree in one.estimators_)
        for one in (forest, other)
    )
    assert forest.n_bytes_ / n_ours < 1.06 * theirs / n_theirs


@pytest.mark.parametrize("class_weight", [None, "balanced", "balanced_subsample"])
def test_all_trees_share_the_codes_by_row(monkeypatch, class_weight):
    made = []

    def make(table):
        made.append(table)
        return RowCodes(table)

    monkeypatch.setattr(_growth_data, "RowCodes", make)
    X, y = make_table(0)
    forest_of(4, max_features=1, max_bins=9, class_weight=class_weight).fit(X, y)
    assert len(made) == 1
