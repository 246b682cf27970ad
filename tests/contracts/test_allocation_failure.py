"""Any failing allocation raises a MemoryError and leaves a valid model.

Memory runs out at a place where nobody has looked at a pointer, or where an object is
half made. The checked build makes every allocation fail in its turn, and counts the
arrays that nobody owns any more.
"""

import gc
import pickle
import re
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from skconftree.utils._memory import count_arrays, fail_from

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound

pytest.importorskip("skconftree.utils._checks", reason="needs -Dchecked=true")

FIRST, ROWS, BOUNDARY = 700, 2400, 1024
STOPS = (FIRST, BOUNDARY, 2 * BOUNDARY, ROWS)
MOST = 60  # allocations of a case that are made to fail, if there are more
SETTINGS = {
    "rows": {"leaf_memory": "rows"},
    "rows-nb": {"leaf_memory": "rows", "leaf_prediction": "nb"},
    "histogram": {"leaf_memory": "histogram"},
    "histogram-evalue": {"leaf_memory": "histogram", "bound": "evalue"},
    "gaussian": {"leaf_memory": "gaussian"},
    "gaussian-evalue": {"leaf_memory": "gaussian", "bound": "evalue"},
    "auto-nba": {"leaf_prediction": "nba"},
    "drift": {"drift": "ddm", "leaf_memory": "histogram"},
    "local": {"drift": "local", "leaf_memory": "rows"},
    "limit": {"max_bytes": 2**16},
    "categories": {"categorical_features": [3], "leaf_memory": "gaussian"},
    "multiway": {
        "categorical_features": [3],
        "nominal_splits": "multiway",
        "leaf_prediction": "nba",
    },
    "multiway-gtest": {
        "bound": "gtest",
        "categorical_features": [3],
        "nominal_splits": "multiway",
    },
    "missing": {"leaf_memory": "gaussian", "leaf_prediction": "nba"},
    "pool": {"bound": CredibleBound(delta=0.3), "leaf_memory": "rows"},
    "volume": {
        "bound": CredibleBound(delta=0.3, pool_weight="volume"),
        "leaf_memory": "histogram",
    },
}


def make_model(name):
    options = {"bound": None, "grace_period": 40, "pruning": None, **SETTINGS[name]}
    return ConfidenceTreeClassifier(**options)


def make_rows(name):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, 4)).astype(np.float32)
    # categories come one after the other
    X[:, 3] = np.minimum(rng.integers(0, 40, ROWS), np.arange(ROWS) // 50)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    y[1500:] = 2 - y[1500:]  # the concept changes
    if name == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(1, 3, ROWS) if name.startswith("rows") else np.ones(ROWS)
    return X, y, weight.astype(float)


def learn(model, rows, begin, end):
    X, y, weight = (array[begin:end] for array in rows)
    with_pool = begin == 0 and isinstance(model.bound, CredibleBound)
    X_pool = rows[0][:300] if with_pool else None
    return model.partial_fit(X, y, [0, 1, 2], weight, X_pool=X_pool)


def states_at(name, rows, *stops):
    """Pickled states of an undisturbed model at these rows."""
    model = make_model(name)
    begin = 0
    for end in stops:
        learn(model, rows, begin, end)
        begin = end
        yield pickle.dumps(model)


def failures(prepare, work, most=MOST):
    """Let each allocation of the work fail in turn; yield what it left behind.

    Pairs of what was prepared and the MemoryError, or None.
    """
    prepared = prepare()
    fail_from(0)
    work(prepared)
    n_allocations = fail_from(0)
    assert n_allocations > 0
    step = max(1, n_allocations // most)
    begin = range(1, min(n_allocations, 8) + 1)
    for n in sorted({*begin, *range(1, n_allocations, step), n_allocations}):
        prepared = prepare()
        raised = None
        fail_from(n)
        try:
            work(prepared)
        except MemoryError as error:
            raised = error
        finally:
            fail_from(0)
        yield prepared, raised


@pytest.mark.parametrize("name", SETTINGS)
def test_partial_fit(name):
    """The model is where the call began or at a boundary, as if told to stop there."""
    rows = make_rows(name)
    expected = dict(zip(STOPS, states_at(name, rows, *STOPS), strict=True))
    begun = expected[FIRST]
    gc.collect()
    n_arrays = count_arrays()
    stopped = []
    for model, raised in failures(
        lambda: pickle.loads(begun), lambda model: learn(model, rows, FIRST, ROWS)
    ):
        n = model.n_rows_seen_
        stopped.append(n)
        assert raised or n == ROWS
        undisturbed = pickle.loads(expected[n])
        assert model.tree_.__getstate__() == undisturbed.tree_.__getstate__()
        if model.categories_ is None or n in (FIRST, ROWS):
            assert pickle.dumps(model) == expected[n]
        # else it knows all categories of the call, which are read before its rows
        if n < ROWS:
            learn(model, rows, n, ROWS)  # it goes on
        assert (
            model.tree_.__getstate__()
            == pickle.loads(expected[ROWS]).tree_.__getstate__()
        )
    assert {BOUNDARY, 2 * BOUNDARY} & set(stopped)
    del model, undisturbed, raised  # and the frames that an error holds
    gc.collect()
    assert count_arrays() == n_arrays


@pytest.mark.parametrize("name", SETTINGS)
def test_first_call_of_partial_fit(name):
    """Without memory for the first block of rows nothing has happened."""
    rows = make_rows(name)
    (expected,) = states_at(name, rows, FIRST)
    gc.collect()
    n_arrays = count_arrays()
    for model, raised in failures(
        lambda: make_model(name), lambda model: learn(model, rows, 0, FIRST)
    ):
        if raised:
            assert not hasattr(model, "tree_")
            learn(model, rows, 0, FIRST)
        assert pickle.dumps(model) == expected
    del model, raised
    gc.collect()
    assert count_arrays() == n_arrays


FITTED = {
    "gtest": {},
    "rows": {"leaf_memory": "rows"},
    "chi2": {"bound": "chi2", "nominal_splits": "multiway"},
    "credible": {"bound": "credible"},
    "possibilistic": {"bound": "possibilistic"},
}


@pytest.mark.parametrize("name", FITTED)
def test_fit_keeps_the_last_model(name):
    """And what a bound cannot keep, such as limits found before, changes no tree."""
    X, y, weight = make_rows("rows")
    if name == "credible":
        y = np.minimum(y, 1)  # limits of two classes are kept
    options = {"bound": "gtest", "categorical_features": [3], **FITTED[name]}
    model = ConfidenceTreeClassifier(max_depth=3, **options)
    begun = pickle.dumps(model.fit(X[:500], y[:500]))
    expected = pickle.dumps(model.fit(X, y, weight))
    assert model.get_n_leaves() > 2
    del model
    gc.collect()
    n_arrays = count_arrays()
    n_raised = 0
    for model, raised in failures(
        lambda: pickle.loads(begun), lambda model: model.fit(X, y, weight)
    ):
        assert pickle.dumps(model) == (begun if raised else expected)
        n_raised += raised is not None
    assert n_raised > 5
    del model, raised
    gc.collect()
    assert count_arrays() == n_arrays


def check_query(model, method, *args):
    """A question that finds no memory is a MemoryError, and can be asked again."""
    ask = getattr(model, method)
    expected = ask(*args)
    state = pickle.dumps(model)
    gc.collect()
    n_arrays = count_arrays()
    fail_from(0)
    ask(*args)
    n_allocations = fail_from(0)
    for n in range(1, n_allocations + 1):
        fail_from(n)
        try:
            with pytest.raises(MemoryError):
                ask(*args)
        finally:
            fail_from(0)
        assert_array_equal(ask(*args), expected)
    assert pickle.dumps(model) == state
    assert count_arrays() == n_arrays
    return n_allocations


@pytest.mark.parametrize("name", ["auto-nba", "missing", "multiway", "rows"])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply"])
def test_predict(name, method):
    rows = make_rows(name)
    (state,) = states_at(name, rows, FIRST)
    n_allocations = check_query(pickle.loads(state), method, rows[0])
    assert n_allocations > 0 or method == "apply" or name == "rows"


@pytest.mark.parametrize("method", ["predict_proba", "apply"])
def test_predict_sparse_rows(method):
    X, y, _ = make_rows("rows")
    X = csr_array(np.where(X > 0, X, 0))
    model = ConfidenceTreeClassifier(None, max_depth=3).fit(X, y)
    assert check_query(model, method, X) > 0


@pytest.mark.parametrize("bootstrap", [False, True])
def test_predict_of_a_forest(bootstrap):
    X, y, _ = make_rows("rows")
    forest = ConfidenceForestClassifier(3, bootstrap=bootstrap, random_state=0)
    assert check_query(forest.fit(X, y), "predict_proba", X) >= 2


@pytest.mark.parametrize("is_sparse", [False, True])
def test_row_index(is_sparse):
    """What was half done when memory ran out is begun again."""
    X, y, _ = make_rows("categories")
    options = {"bound": None, "grace_period": 40, "leaf_memory": "histogram"}
    if is_sparse:
        X = csr_array(np.where(X > 0, X, 0))
    else:
        options["categorical_features"] = [3]

    def prepare():
        model = ConfidenceTreeClassifier(**options)
        model.partial_fit(X[:FIRST], y[:FIRST], [0, 1, 2])
        index = model.index_rows(X)
        index.take([3, 4])
        model.partial_fit(X[FIRST:1500], y[FIRST:1500])
        return model, index

    n_raised = 0
    for (model, index), raised in failures(prepare, lambda pair: pair[1].update()):
        n_raised += raised is not None
        model.partial_fit(X[1500:], y[1500:])  # further nodes, before it asks again
        index.update()
        assert_array_equal(index.apply(), model.apply(X))
        fresh = model.index_rows(X)
        fresh.take([3, 4])
        assert_array_equal(index.counts(), fresh.counts())
    assert n_raised > 2


FORESTS = {
    "bootstrap": {"class_weight": "balanced_subsample"},
    "all rows": {"bootstrap": False, "max_features": None, "bound": None},
    "repeats": {"count_repeats": False, "max_depth": 4},
}
GROWING = {
    "mean": {"leaf_memory": "histogram"},
    "accuracy": {"vote": "accuracy", "drift": "adwin", "leaf_prediction": "nba"},
    "limit": {"max_bytes": 3 * 2**16, "leaf_memory": "gaussian"},
}


@pytest.mark.parametrize("name", FORESTS)
def test_fit_keeps_the_last_forest(name):
    X, y, weight = make_rows("rows")
    X, y, weight = X[:400], y[:400], weight[:400]
    options = {"bound": "gtest", **FORESTS[name]}
    forest = ConfidenceForestClassifier(3, random_state=0, **options)
    begun = pickle.dumps(forest.fit(X[:150], y[:150]))
    expected = pickle.dumps(forest.fit(X, y, weight))
    del forest
    gc.collect()
    n_arrays = count_arrays()
    n_raised = 0
    for forest, raised in failures(
        lambda: pickle.loads(begun), lambda forest: forest.fit(X, y, weight), MOST // 3
    ):
        assert pickle.dumps(forest) == (begun if raised else expected)
        n_raised += raised is not None
    assert n_raised > 10
    del forest, raised  # and the frames that an error holds
    gc.collect()
    assert count_arrays() == n_arrays


@pytest.mark.parametrize("name", GROWING)
def test_partial_fit_of_a_forest(name):
    """Every tree is at a whole row, and those that lack some are named."""
    X, y, _ = make_rows("mean")
    first, last = 400, 1300  # a step ends between

    @cache
    def states(n):
        # without samples, a tree has learned as many rows as the forest
        forest = ConfidenceForestClassifier(
            3, bound=None, bootstrap=False, random_state=0, **GROWING[name]
        )
        forest.set_params(grace_period=40).partial_fit(X[:n], y[:n], [0, 1, 2])
        return pickle.dumps(forest), [
            t.tree_.__getstate__() for t in forest.estimators_
        ]

    begun, _ = states(first)
    finished, _ = states(last)
    gc.collect()
    n_arrays = count_arrays()
    stopped, n_raised = set(), 0
    for forest, raised in failures(
        lambda: pickle.loads(begun),
        lambda forest: forest.partial_fit(X[first:last], y[first:last]),
        MOST // 3,
    ):
        n = forest.n_rows_seen_
        stopped.add(n)
        assert n in (first, BOUNDARY, last)
        notes = "".join(getattr(raised, "__notes__", []))
        named = re.findall(r"\d+", notes.rpartition("Trees [")[2].split("]")[0])
        for t, tree in enumerate(forest.estimators_):
            rows = tree.n_rows_seen_
            assert rows == n or (str(t) in named and first <= rows < n)
            assert tree.tree_.__getstate__() == states(rows)[1][t]
        n_raised += raised is not None
        if raised is None:
            assert pickle.dumps(forest) == finished
        elif not named and n < last:
            forest.partial_fit(X[n:last], y[n:last])
            assert pickle.dumps(forest) == finished
        else:  # it goes on
            forest.partial_fit(X[:50], y[:50])
    assert {BOUNDARY, last} <= stopped
    assert n_raised > 10
    del forest, tree, raised  # and the frames that an error holds
    gc.collect()
    assert count_arrays() == n_arrays
