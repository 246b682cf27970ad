"""NCM forests: the worked numbers of E5, and update for update the slow reference."""

import pickle
import re
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import ncm
from reference.effort import crossed, examples
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from skconftree import NCMForestClassifier
from skconftree.ensemble.ncm import _forest
from skconftree.ensemble.ncm._model import (
    Samples,
    capacity_of_class,
    seed_of_update,
    select_regrown,
)
from skconftree.tables._content_order import ContentOrder, hash_rows

UPDATES = ["hi-rf", "igt", "igt+rrn", "leaves", "retrain", "rlp", "rrn"]
STORING = [update for update in UPDATES if update != "leaves"]


def make_table(seed, n_rows=60, n_features=4, n_classes=6):
    rng = np.random.default_rng(seed)
    centers = 2.0 * rng.normal(size=(n_classes, n_features))
    y = rng.integers(0, n_classes, n_rows)
    X = (centers[y] + rng.normal(size=(n_rows, n_features))).astype(np.float32)
    return X, y


def forest_of(n_estimators=8, **parameters):
    return NCMForestClassifier(n_estimators, **{"random_state": 3, **parameters})


def grown(forest, X, y, n_old=3):
    """Fit on the first classes and learn the others."""
    old = y < n_old
    return forest.fit(X[old], y[old]).partial_fit(X[~old], y[~old])


# -- worked numbers --------------------------------------------------------------------

ERRORS = np.array([0.2, 0.3, 0.5])  # mean 1/3


@pytest.mark.parametrize(
    ("boost", "alpha", "regrown"),
    [
        ("decision", 0.0, [False, False, True]),
        ("decision", 0.2, [False, True, True]),  # 0.2395, 0.3583, 0.5924
        ("decision", 1.0, [True, True, True]),  # 0.3974, 0.5913, 0.9621
        ("decision", -0.5, [False, False, False]),  # 0.1013, 0.1543, 0.2689
        ("persistent", 1.0, [False, False, True]),
        (None, 1.0, [False, False, True]),
    ],
)
def test_which_trees_are_regrown(boost, alpha, regrown):
    selected, threshold, _ = select_regrown(ERRORS, np.zeros(3), boost, alpha)
    assert selected.tolist() == regrown
    assert threshold == pytest.approx(1 / 3)
    slow = ncm.judge(ERRORS.tolist(), [0.0] * 3, boost, alpha)
    assert slow[0] == regrown


def test_a_penalty_is_carried_until_a_tree_is_regrown():
    _, _, penalty = select_regrown(ERRORS, np.zeros(3), "persistent", 0.5)
    # e + tanh(e) / 2
    assert penalty == pytest.approx([0.298688, 0.445656, 0.0], abs=1e-6)
    regrown, threshold, penalty = select_regrown(ERRORS, penalty, "persistent", 0.5)
    # 0.498688, 0.745656 and 0.5 have the mean 0.581448
    assert threshold == pytest.approx(0.581448, abs=1e-6)
    assert regrown.tolist() == [False, True, False]
    assert penalty[1] == 0.0
    for boost, alpha in (("persistent", 0.0), ("decision", 0.5), (None, 0.5)):
        assert not select_regrown(ERRORS, np.zeros(3), boost, alpha)[2].any()


def test_equal_trees_are_all_retained():
    assert not select_regrown(np.full(4, 0.25), np.zeros(4), None, 0.0)[0].any()


def test_a_tree_that_has_seen_all_rows_is_retained():
    errors = np.array([0.2, np.nan, 0.4])
    regrown, threshold, penalty = select_regrown(errors, np.zeros(3), "persistent", 1.0)
    assert threshold == pytest.approx(0.3)
    assert regrown.tolist() == [False, False, True]
    assert penalty[1] == 0.0


def test_capacity_of_a_class():
    seen = np.array([2, 10, 5])
    for most, room in ((3, 1), (6, 2), (7, 2), (8, 3), (12, 5), (16, 9), (17, 10)):
        assert capacity_of_class(seen, most) == room


# -- the reference ---------------------------------------------------------------------


def in_order(X, y):
    hashes = hash_rows(np.ascontiguousarray(X), y.astype(np.uint16))
    order = ContentOrder(*hashes).row_indices
    return X[order], y[order]


@pytest.mark.parametrize(
    "update", ["hi-rf", "igt", "igt+rrn", "leaves", "rlp", "rrn", "persistent"]
)
@settings(max_examples=examples(10, by_day=2))
@given(seed=st.integers(0, 10**6))
def test_updates_are_those_of_the_reference(update, seed):
    """Three updates, the first of which brings classes between those that are known."""
    boost, alpha = None, 0.0
    if update == "persistent":
        update, boost, alpha = "hi-rf", "persistent", 0.7
    X, y = make_table(seed, 80)
    names = np.array([3, 0, 4, 1, 5, 2])[y]
    parts = [y < 2, y == 2, (y > 2) & (np.arange(80) % 2 == 0)]
    parts.append(~np.any(parts, axis=0))
    if min(map(np.count_nonzero, parts)) == 0:
        return
    forest = forest_of(5, update=update, boost=boost, alpha=alpha)
    slow, known = None, None
    for n_updates, part in enumerate(parts):
        forest.partial_fit(X[part], names[part])
        codes = np.searchsorted(forest.classes_, names[part])
        rows = in_order(X[part], codes)
        if slow is None:
            slow = ncm.Forest(5, forest._model.seed, update, boost, alpha)
            slow.start(*rows, len(forest.classes_))
        else:
            places = np.searchsorted(forest.classes_, known).tolist()
            now = seed_of_update(forest._model.seed, n_updates)
            slow.go_on(*rows, len(forest.classes_), places, now)
            assert np.flatnonzero(forest.regrown_).tolist() == slow.regrown
            if update == "hi-rf":
                assert forest.tree_errors_ == pytest.approx(slow.errors, abs=1e-15)
                assert forest.threshold_ == pytest.approx(slow.threshold)
        known = forest.classes_
        for one, tree in zip(forest.estimators_, slow.trees, strict=True):
            counts = [node.counts for node in tree.nodes]
            assert np.array_equal(one.tree_.counts, counts)
        assert forest.predict_proba(X[:20]) == pytest.approx(
            slow.proba(X[:20]), abs=1e-12
        )


# -- properties ------------------------------------------------------------------------


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.slow
def test_the_number_of_jobs_does_not_matter(update):
    X, y = make_table(0, 300)
    forest = grown(forest_of(update=update), X, y)
    rows = np.repeat(X, 40, axis=0)
    for n_jobs in (3, -1):
        other = grown(forest_of(update=update, n_jobs=n_jobs), X, y)
        assert np.array_equal(other.predict_proba(rows), forest.predict_proba(rows))
        assert np.array_equal(other.apply(X), forest.apply(X))
        assert pickle.dumps(other.set_params(n_jobs=None)) == pickle.dumps(forest)


@pytest.mark.parametrize("most", [None, 60])
@pytest.mark.parametrize("update", UPDATES)
def test_the_order_of_the_rows_of_a_call_does_not_matter(update, most):
    X, y = make_table(1, 120)
    shuffled = np.random.default_rng(0).permutation(len(y))
    forest = forest_of(update=update, max_stored_samples=most)
    other = grown(clone(forest), X[shuffled], y[shuffled])
    assert pickle.dumps(grown(forest, X, y)) == pickle.dumps(other)


def test_retrain_is_fit_on_all_rows():
    X, y = make_table(2, 120)
    forest = grown(forest_of(update="retrain"), X, y)
    other = forest_of().fit(X, y)
    for one, two in zip(forest.estimators_, other.estimators_, strict=True):
        assert pickle.dumps(one.tree_) == pickle.dumps(two.tree_)
    assert forest.regrown_.all()


def test_a_forest_begins_with_a_smaller_one():
    X, y = make_table(2, 120)
    few, many = forest_of(3).fit(X, y), forest_of(9).fit(X, y)
    for one, two in zip(few.estimators_, many.estimators_, strict=False):
        assert pickle.dumps(one.tree_) == pickle.dumps(two.tree_)


@settings(max_examples=examples(30, by_day=3))
@given(seed=st.integers(0, 10**6), update=st.sampled_from(UPDATES))
def test_any_division_into_calls_is_taken(seed, update):
    """Batches of one row, of one class, of new classes only."""
    X, y = make_table(seed, 50)
    rng = np.random.default_rng(seed)
    ends = np.unique(np.append(rng.integers(1, 50, 6), 50))
    forest = forest_of(3, update=update)
    start = 0
    for calls, end in enumerate(ends):
        forest.partial_fit(X[start:end], y[start:end])
        start = end
        assert forest.classes_.tolist() == np.unique(y[:end]).tolist()
        assert forest.n_updates_ == calls
        assert forest.n_rows_seen_ == end
        assert forest.n_rows_stored_ == (0 if update == "leaves" else end)
        proba = forest.predict_proba(X)
        assert proba.shape == (50, len(forest.classes_))
        assert proba.sum(axis=1) == pytest.approx(np.ones(50))


def test_unreached_leaves_say_what_the_node_above_does():
    """Rows that all go one way leave the leaves of the other way empty."""
    X = np.repeat([[0.0], [1.0], [10.0]], 5, axis=0)
    y = np.repeat([0, 1, 2], 5)
    forest = forest_of(5, update="rlp", max_stored_samples=6).fit(X, y)
    far = np.full((400, 1), 10.0)
    forest.partial_fit(far, np.full(400, 2))
    for one in forest.estimators_:
        tree = one.tree_
        empty = np.flatnonzero(tree.counts.sum(axis=1) == 0)
        for node in empty:
            assert np.array_equal(tree.proba[node], tree.proba[tree.parent[node]])
        assert tree.proba.sum(axis=1) == pytest.approx(np.ones(tree.node_count))


@pytest.mark.parametrize(
    ("kind", "d", "n_classes"),
    crossed(["normal", "grid", "far", "zeros"], [1, 3, 16, 70], [2, 6, 23]),
)
def test_rounded_distances_change_nothing(monkeypatch, kind, d, n_classes):
    # Many rows are routed by rounded distances, unless these leave a doubt: on a grid
    # rows have two nearest means, one value far out leaves no digits to the others.
    # Nodes have from 2 to all means.
    X, y = make_table(d, 300, d, n_classes)
    if kind == "grid":
        X = np.rint(X)
    elif kind == "far":
        X[7, 0] = 1e30
    elif kind == "zeros":
        X[:] = 0.0
    forest = forest_of(max_classes=n_classes).fit(X[:200], y[:200])
    found = []
    for least, block, n_jobs in (
        (1, 1000, 1),
        (1, 7, 1),
        (1, 1000, 2),
        (1000, 1000, 1),
    ):
        monkeypatch.setattr(_forest, "MIN_ROUNDED_ROWS", least)
        monkeypatch.setattr(_forest, "BLOCK", block)
        found.append(forest.set_params(n_jobs=n_jobs).predict_proba(X))
    leaves = forest.apply(X)
    trees = [one.tree_ for one in forest.estimators_]
    expected = sum(one.proba[leaf] for one, leaf in zip(trees, leaves.T, strict=True))
    assert len({one.tobytes() for one in found}) == 1
    assert (found[0] == expected / len(trees)).all()


def test_new_classes_are_learned():
    X, y = load_digits(return_X_y=True)
    train = np.arange(len(y)) % 3 > 0
    scores = {}
    for update in UPDATES:
        forest = forest_of(30, update=update)
        grown(forest, X[train], y[train], 5)
        scores[update] = forest.score(X[~train], y[~train])
    assert scores["hi-rf"] > 0.96
    assert abs(scores["retrain"] - scores["rrn"]) < 0.02
    assert 0.5 < scores["rlp"] < scores["hi-rf"]
    assert 0.5 < scores["leaves"] < scores["hi-rf"]
    assert min(scores["igt"], scores["igt+rrn"]) > scores["retrain"] - 0.01


def test_trees_are_estimators():
    X, y = make_table(3, 100)
    forest = grown(forest_of(), X, y)
    total = sum(one.predict_proba(X) for one in forest.estimators_)
    assert np.array_equal(forest.predict_proba(X), total / 8)
    indicator, ends = forest.decision_path(X)
    assert ends[-1] == indicator.shape[1]
    leaves = forest.apply(X)
    for i, one in enumerate(forest.estimators_):
        assert np.array_equal(one.apply(X), leaves[:, i])
        path = indicator[:, ends[i] : ends[i + 1]]
        assert (path != one.decision_path(X)).nnz == 0


def test_parameters_of_trees_go_through_the_forest():
    X, y = make_table(3, 100)
    grid = {"max_depth": [1, None], "max_classes": [2, "sqrt"], "bound": [None, "chi2"]}
    search = GridSearchCV(forest_of(3), grid, cv=2).fit(X, y)
    assert search.best_params_["max_depth"] is None
    assert max(one.get_depth() for one in forest_of(max_depth=2).fit(X, y).estimators_)


# -- rows that are kept ----------------------------------------------------------------


def test_rows_are_stored_once_as_float32():
    X, y = make_table(4, 100)
    forest = forest_of(2).fit(X.astype(np.float64), y)
    assert forest._model.samples.X.dtype == np.float32
    trees = sum(one.tree_.n_bytes for one in forest.estimators_)
    rows = 100 * (4 * 4 + 2 + 4) + 6 * 8
    assert forest.n_bytes_ == trees + rows + 2 * (100 + 100 * 4)


@pytest.mark.parametrize("update", STORING)
def test_classes_keep_equal_parts(update):
    X, y = make_table(5, 300)
    forest = forest_of(3, update=update, max_stored_samples=30)
    forest.fit(X[:200], y[:200])
    assert np.bincount(forest._model.samples.y).tolist() == [5] * 6
    forest.partial_fit(X[200:], y[200:] + 6)
    assert forest.n_rows_seen_ == 300
    kept = np.bincount(forest._model.samples.y)
    assert (len(kept), kept.sum(), kept.max()) == (12, 24, 2)
    samples = forest._model.times.sum(axis=1)
    if "igt" in update:  # their sizes vary after rows of the first sample were dropped
        assert (samples >= 12).all()
        assert samples.mean() == pytest.approx(24, abs=8)
    else:
        assert (samples == 24).all()
    for one, n in zip(forest.estimators_, samples, strict=True):
        assert one.tree_.counts[0].sum() == n


def test_calls_that_only_update_leaves_may_be_divided():
    X, y = make_table(5, 300)
    forest = forest_of(update="leaves").fit(X[:100], y[:100])
    other = clone(forest).fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    for part in (slice(100, 101), slice(101, 180), slice(180, 300)):
        forest.partial_fit(X[part], y[part])
    for one, two in zip(forest.estimators_, other.estimators_, strict=True):
        assert pickle.dumps(one.tree_) == pickle.dumps(two.tree_)
    assert forest.n_rows_seen_ == other.n_rows_seen_ == 300
    assert forest.n_bytes_ == sum(one.tree_.n_bytes for one in forest.estimators_)
    before = pickle.dumps(forest)
    for update in STORING:
        with pytest.raises(ValueError, match=re.escape(f"update='{update}' needs")):
            forest.set_params(update=update).partial_fit(X, y)
        assert pickle.dumps(forest.set_params(update="leaves")) == before


def test_trees_grow_on_at_leaves_that_new_rows_reach():
    X, y = make_table(5, 300)
    forest = forest_of(update="igt").fit(X[:200], y[:200])
    before = [one.tree_ for one in forest.estimators_]
    new = X[200:203]
    forest.partial_fit(new, [6, 6, 6])
    for old, one in zip(before, forest.estimators_, strict=True):
        size, tree = old.node_count, one.tree_
        assert np.array_equal(tree.parent[:size], old.parent)
        grown_on = tree.children_left[:size] != old.children_left
        assert set(np.flatnonzero(grown_on)) <= set(old.apply(new))
        assert tree.node_count > size
        for node in np.flatnonzero(old.children_left >= 0):
            means, classes, children = old.centroids(node)
            found = tree.centroids(node)
            assert np.array_equal(found[0], means)
            assert np.array_equal(found[1], classes)
            assert np.array_equal(found[2], children)


def test_an_update_may_store_none_of_its_rows():
    X, y = make_table(5, 300)
    forest = forest_of(update="igt", max_stored_samples=6).fit(X, y)
    counts = [one.tree_.counts[0] for one in forest.estimators_]
    for _ in range(3):
        forest.partial_fit(X[:1], y[:1])
    assert forest.n_rows_stored_ == 6
    assert np.array_equal(counts, [one.tree_.counts[0] for one in forest.estimators_])


def test_stored_rows_are_a_fair_sample():
    """Early and late rows of a class are as likely to stay."""
    n, kept = 60, np.zeros(60)
    X = np.arange(n, dtype=np.float32)[:, np.newaxis]
    y = np.zeros(n, dtype=np.uint16)
    for seed in range(300):
        samples = None
        for start in range(0, n, 20):
            part = slice(start, start + 20)
            more = Samples.of(X[part], y[part], 1, seed, start)
            samples = more if samples is None else samples.concatenated(more)
            samples = samples.restricted_to(samples.select_retained(10))
        kept[samples.X.ravel().astype(int)] += 1
    assert kept.sum() == 3000
    parts = kept.reshape(3, 20).sum(axis=1)  # 1000 each; a standard deviation is 24
    assert np.abs(parts - 1000).max() < 100


# -- what is refused -------------------------------------------------------------------


def test_a_failed_call_changes_nothing():
    X, y = make_table(6, 100)
    forest = forest_of(4, max_stored_samples=40).fit(X, y)
    before = pickle.dumps(forest)
    text = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(["x", "y"] * 50)})
    gap, huge = X.copy(), X.astype(np.float64)
    gap[1, 1], huge[2, 2] = np.nan, 1e300
    for rows, labels, error in (
        (gap, y, "contains NaN"),
        (huge, y, "infinity"),
        (np.where(np.isnan(gap), np.inf, gap), y, "infinity"),
        (text, y, r"columns of categories: \['b'\]"),
        (X[:, :3], y, "features"),
        (X, y[:-1], "inconsistent"),
        (X, y.astype(str), "labels of the kind"),
        (X, y + 0.5, "Unknown label type|continuous"),
        (X[:0], y[:0], "0 sample"),
        (X, np.arange(100) // 2 + 9, "max_stored_samples must be at least the number"),
    ):
        for call in (forest.fit, forest.partial_fit):
            if call == forest.fit and error in ("features", "labels of the kind"):
                continue
            with pytest.raises(ValueError, match=error):
                call(rows, labels)
            assert pickle.dumps(forest) == before
    for rows in (sparse.csr_matrix(X), sparse.csc_array(X)):
        for call in (forest.partial_fit, forest.fit):
            with pytest.raises(TypeError, match="Sparse data was passed"):
                call(rows, y)
        with pytest.raises(TypeError, match="Sparse data was passed"):
            forest.predict(rows)
    assert pickle.dumps(forest) == before


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_estimators": 0},
        {"update": "hirf"},
        {"boost": "none"},
        {"alpha": np.nan},
        {"alpha": np.inf},
        {"alpha": "auto"},
        {"max_classes": 1},
        {"max_classes": 1.5},
        {"n_assignments": 0},
        {"max_stored_samples": 0},
        {"max_stored_samples": 5},
        {"bound": "credible"},
        {"bound": "evalue"},
        {"criterion": "gain"},
        {"min_samples_leaf": 0.5},
    ],
)
def test_bad_parameters(parameters):
    X, y = make_table(6)
    for call in ("fit", "partial_fit"):
        forest = forest_of(**parameters)
        with pytest.raises(ValueError, match=next(iter(parameters))):
            getattr(forest, call)(X, y)
        with pytest.raises(NotFittedError):
            forest.predict(X)


def test_an_error_in_a_tree_leaves_the_forest_as_it_was(monkeypatch):
    from skconftree.ensemble.ncm import _model as ncm_model

    X, y = make_table(7, 100)
    forest = forest_of(6).fit(X, y)
    before, calls = pickle.dumps(forest), []

    def fail(*args):
        calls.append(args)
        if len(calls) > 3:
            raise MemoryError("no room")
        return 0

    monkeypatch.setattr(ncm_model, "tree_seed", fail)
    for call in (forest.fit, forest.partial_fit):
        calls.clear()
        forest.update = "rrn"
        with pytest.raises(MemoryError, match="no room"):
            call(X, y + 1)
        forest.update = "hi-rf"
        assert pickle.dumps(forest) == before


# -- labels ----------------------------------------------------------------------------


def test_labels_of_several_types():
    X, y = make_table(8, 60)
    forest = forest_of(2).fit(X, y)
    assert forest.partial_fit(X, y.astype(float)).classes_.dtype == np.float64
    assert forest_of(2).fit(X, y).partial_fit(X, y.astype(np.uint8)).n_classes_ == 6
    names = np.array(list("abcdef"))[y]
    forest = forest_of(2).fit(X, names).partial_fit(X, np.full(60, "longer"))
    assert forest.classes_.tolist() == [*"abcdef", "longer"]
    forest = forest_of(2).fit(X, names.astype(object)).partial_fit(X, names)
    assert forest.n_classes_ == 6
    large = np.where(y < 3, 2**63, 2**63 + 5).astype(np.uint64)
    with pytest.raises(ValueError, match="do not fit into an integer"):
        forest_of(2).fit(X, large).partial_fit(X, y - 9)


def test_frames():
    X, y = make_table(8, 60)
    frame = pd.DataFrame(X, columns=list("abcd"))
    forest = forest_of(2).fit(frame, y)
    assert forest.feature_names_in_.tolist() == list("abcd")
    forest.partial_fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        forest.partial_fit(frame[list("dcba")], y)


# -- state and threads -----------------------------------------------------------------


@pytest.mark.parametrize("most", [None, 40])
@pytest.mark.parametrize("update", UPDATES)
def test_a_pickle_goes_on_alike(update, most):
    X, y = make_table(9, 150)
    forest = forest_of(
        update=update, max_stored_samples=most, boost="persistent", alpha=0.5
    )
    grown(forest, X[:100], y[:100])
    data = pickle.dumps(forest)
    other = pickle.loads(data)
    assert pickle.dumps(other) == data
    assert np.array_equal(other.predict_proba(X), forest.predict_proba(X))
    forest.partial_fit(X[100:], y[100:])
    other.partial_fit(X[100:], y[100:])
    assert pickle.dumps(other) == pickle.dumps(forest) != data


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trees", [None]),
        ("classes", np.arange(3)),
        ("schema", {"n_features": 3, "names": None, "features": None}),
        ("samples", "labels"),
        ("samples", "rows"),
        ("samples", "nan"),
    ],
)
def test_damaged_states_raise(name, value):
    X, y = make_table(8)
    forest = forest_of().fit(X, y)
    state = forest.__getstate__()
    samples = forest._model.samples
    broken = {
        "labels": samples._replace(y=samples.y + np.uint16(9)),
        "rows": samples._replace(X=samples.X[:-1]),
        "nan": samples._replace(X=np.where(samples.X > 0, np.float32(np.nan), 0)),
    }
    if isinstance(value, str):
        value = broken[value]._asdict()
    parts = {**state["_model"], name: value}
    with pytest.raises(ValueError, match="is corrupt"):
        NCMForestClassifier().__setstate__({**state, "_model": parts})


def test_threads_read_while_one_learns():
    X, y = make_table(10, 300)
    forest = forest_of(20).fit(X[y < 3], y[y < 3])
    errors = []

    def read():
        try:
            for _ in range(20):
                proba = forest.predict_proba(X)
                assert proba.shape[1] in (3, 4, 5, 6)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for label in (3, 4, 5):
        forest.partial_fit(X[y == label], y[y == label])
    for thread in threads:
        thread.join()
    assert errors == []
    assert forest.n_classes_ == 6
