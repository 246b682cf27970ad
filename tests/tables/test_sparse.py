"""A sparse table is the same table: the same tree and predictions, bit for bit.

Sparse columns have a way of their own into batch growth, and are made dense a block
of rows at a time everywhere else; blocks are made small here so that there are many.
"""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from reference.effort import crossed, examples
from reference.registries import BOUNDS, MEMORIES, STREAM_BOUNDS
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound, HoeffdingBound, McDiarmidBound
from skconftree.tables import _sparse

FORMATS = (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array)


def make_table(n=700, seed=0, n_classes=2):
    """Words (0 and 1), counts, a column of many values, an empty and a full one."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, 12)) < rng.uniform(0.02, 0.4, 12)) * 1.0
    X[:, 3:6] *= rng.poisson(3, (n, 3))
    X[:, 6] *= rng.normal(size=n)
    X[:, 7] = rng.normal(size=n) * (rng.random(n) < 0.8)
    X[:, 8] = 0.0
    X[:, 9] = rng.normal(size=n) + 5.0
    X[:, 10] = -rng.integers(1, 4, n)
    score = X[:, 0] - X[:, 1] + 0.3 * X[:, 4] + 0.5 * X[:, 7] + rng.normal(size=n) / 3
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return X + 0.0, y  # no negative zeros, which sparse tables do not store


X, Y = make_table()
POOL, _ = make_table(400, seed=1)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(_sparse, "BLOCK_ROWS", 97)


def state(tree):
    return pickle.dumps(tree.tree_)


def assert_same(ours, theirs, rows):
    """Two models whose trees are equal, one of which predicts sparse rows."""
    assert state(ours) == state(theirs)
    for method in ("predict", "predict_proba", "apply", "predict_proba_interval"):
        expected = getattr(theirs, method)(rows)
        for format in (sp.csr_array, sp.csc_matrix):
            assert_array_equal(getattr(ours, method)(format(rows)), expected)
    said = ours.explain(sp.csc_array(rows[:120]))
    assert repr(said) == repr(theirs.explain(rows[:120]))  # NaN is not equal to NaN
    path = ours.decision_path(sp.csr_array(rows)) - theirs.decision_path(rows)
    assert path.count_nonzero() == 0


# Too few rows for these, or a single class.
STUMPS = (
    *({"bound": name} for name in BOUNDS if BOUNDS[name].cautious),
    {"bound": None, "class_weight": {0: 0.0}},
)


def parameters():
    yield {"bound": None}
    yield {"bound": None, "splitter": "random", "random_state": 0}
    yield {"bound": None, "max_features": 0.5, "random_state": 0}
    yield {"bound": None, "max_leaf_nodes": 9, "criterion": "entropy"}
    yield {"bound": None, "criterion": "gain_ratio", "pruning": "c45"}
    yield {"bound": None, "class_weight": "balanced"}
    yield {"bound": None, "class_weight": {0: 0.0}}
    yield from ({"bound": name} for name in BOUNDS)
    yield {"bound": HoeffdingBound(0.9, tie_threshold=0.3)}
    yield {"bound": McDiarmidBound(0.9, tie_threshold=2.0)}


@pytest.mark.parametrize(
    ("options", "unit"), crossed(parameters(), [None, 1.0, 0.25]), ids=str
)
def test_fit(options, unit):
    rng = np.random.default_rng(3)
    weight = None if unit is None else rng.integers(0, 4, len(Y)) * unit
    dense = ConfidenceTreeClassifier(**options).fit(X, Y, weight)
    assert dense.get_n_leaves() > 1 or options in STUMPS
    for format in (sp.csr_matrix, sp.csc_array):
        tree = ConfidenceTreeClassifier(**options).fit(format(X), Y, weight)
        assert_same(tree, dense, X)


@given(
    seed=st.integers(0, 2**16),
    n=st.integers(1, 400),
    n_classes=st.integers(2, 4),
    density=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    n_values=st.sampled_from([1, 3, 255, 256, 257, 10**6]),
    format=st.sampled_from(FORMATS),
)
@settings(max_examples=examples(60), deadline=None)
def test_any_table(seed, n, n_classes, density, n_values, format):
    """Around 256 values, where columns change their form, and negative zeros."""
    rng = np.random.default_rng(seed)
    table = rng.permuted(np.resize(np.arange(n_values) - 2, (n, 4)), axis=0)
    table = np.where(rng.random((n, 4)) < density, table, rng.choice([0.0, -0.0]))
    y = rng.integers(0, n_classes, n)
    dense = ConfidenceTreeClassifier(bound=None, random_state=0).fit(table, y)
    tree = ConfidenceTreeClassifier(bound=None, random_state=0).fit(format(table), y)
    assert state(tree) == state(dense)
    assert_array_equal(tree.apply(format(table)), dense.apply(table))


@pytest.mark.parametrize(
    ("pool_weight", "rows", "pool"),
    crossed(
        ["pool", "labeled", "volume"],
        [np.asarray, sp.csr_matrix, sp.csc_array],
        [np.asarray, sp.csc_matrix, sp.csr_array],
    ),
)
def test_pool(pool_weight, rows, pool):
    bound = CredibleBound(delta=0.1, pool_weight=pool_weight)
    dense = ConfidenceTreeClassifier(bound).fit(X, Y, X_pool=POOL)
    tree = ConfidenceTreeClassifier(bound).fit(rows(X), Y, X_pool=pool(POOL))
    assert state(tree) == state(dense)
    dense, tree = (ConfidenceTreeClassifier(bound, grace_period=20) for _ in "ab")
    dense.partial_fit(X[:300], Y[:300], classes=[0, 1], X_pool=POOL)
    tree.partial_fit(rows(X[:300]), Y[:300], classes=[0, 1], X_pool=pool(POOL))
    assert pickle.dumps(tree) == pickle.dumps(dense)
    assert dense.get_n_leaves() > 1


@pytest.mark.parametrize("memory", [{"leaf_memory": "rows"}, {"leaf_prediction": "nb"}])
@pytest.mark.parametrize("pool_weight", ["pool", "labeled", "volume"])
def test_pool_of_a_fit_whose_leaves_remember(pool_weight, memory):
    bound = CredibleBound(delta=0.1, pool_weight=pool_weight)
    dense = ConfidenceTreeClassifier(bound, **memory).fit(X, Y, X_pool=POOL)
    tree = ConfidenceTreeClassifier(bound, **memory)
    tree.fit(sp.csr_array(X), Y, X_pool=sp.csr_array(POOL))
    assert pickle.dumps(tree) == pickle.dumps(dense)
    for model in (dense, tree):
        model.partial_fit(X[:300], Y[:300])
    assert pickle.dumps(tree) == pickle.dumps(dense)


def test_sums_of_values_may_be_too_large():
    """scikit-learn adds values up to see that none is infinite, and warns."""
    large = np.tile(np.float32([[3e38, -3e38]]), (40, 1))
    y = np.arange(40) % 2
    large[:, 1] *= 1.0 - 0.1 * y
    tree = ConfidenceTreeClassifier(bound=None).fit(sp.csr_array(large), y)
    assert_array_equal(tree.predict(sp.csc_array(large)), y)
    stream = ConfidenceTreeClassifier().partial_fit(sp.csr_array(large), y, [0, 1])
    assert np.isfinite(stream.predict_proba(sp.csr_array(large))).all()


def test_a_pool_can_be_sparse_and_rows_incomplete():
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    bound = CredibleBound(delta=0.1)
    dense = ConfidenceTreeClassifier(bound).fit(holes, Y, X_pool=POOL)
    tree = ConfidenceTreeClassifier(bound).fit(holes, Y, X_pool=sp.csr_array(POOL))
    assert state(tree) == state(dense)
    dense = ConfidenceTreeClassifier(bound).fit(X, Y, X_pool=holes)
    tree = ConfidenceTreeClassifier(bound).fit(sp.csr_array(X), Y, X_pool=holes)
    assert state(tree) == state(dense)


@pytest.mark.parametrize(
    ("name", "leaf_memory"), crossed([None, *STREAM_BOUNDS], MEMORIES)
)
def test_partial_fit(name, leaf_memory):
    options = {"grace_period": 20, "leaf_memory": leaf_memory}
    weight = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    dense = ConfidenceTreeClassifier(name, **options)
    tree = ConfidenceTreeClassifier(name, **options)
    expected = dense.partial_fit_predict(X, Y, [0, 1], weight)
    got = tree.partial_fit_predict(
        sp.csr_matrix(X[:500]), Y[:500], [0, 1], weight[:500]
    )
    assert_array_equal(got, expected[:500])
    tree.partial_fit(sp.csc_array(X[500:]), Y[500:], sample_weight=weight[500:])
    assert pickle.dumps(tree) == pickle.dumps(dense)
    assert_same(tree, dense, X)


@pytest.mark.parametrize("leaf_prediction", ["majority", "nb"])
@pytest.mark.parametrize("name", ["credible", "evalue"])
def test_partial_fit_after_fit(leaf_prediction, name):
    """The rows kept are those of the table, and evidence as before."""
    options = {"leaf_prediction": leaf_prediction, "leaf_memory": "rows"}
    dense = ConfidenceTreeClassifier(name, **options).fit(X[:400], Y[:400])
    tree = ConfidenceTreeClassifier(name, **options).fit(
        sp.csc_matrix(X[:400]), Y[:400]
    )
    for model, rows in ((dense, X[400:]), (tree, sp.csr_array(X[400:]))):
        model.partial_fit(rows, Y[400:])
    assert pickle.dumps(tree) == pickle.dumps(dense)
    assert_array_equal(tree.predict_proba(sp.csr_array(X)), dense.predict_proba(X))


def test_values_and_indices_of_any_type():
    dense = ConfidenceTreeClassifier(bound=None).fit(X[:, :6], Y)
    for dtype in (bool, np.int8, np.int64, np.float64):
        expected = ConfidenceTreeClassifier(bound=None).fit(X[:, :6].astype(dtype), Y)
        given = sp.csr_array(X[:, :6]).astype(dtype)
        tree = ConfidenceTreeClassifier(bound=None).fit(given, Y)
        assert state(tree) == state(expected)
    for dtype in (np.int32, np.int64):
        for format in FORMATS:
            given = format(X[:, :6])
            given.indices = given.indices.astype(dtype)
            given.indptr = given.indptr.astype(dtype)
            tree = ConfidenceTreeClassifier(bound=None).fit(given, Y)
            assert state(tree) == state(dense)


def test_untidy_storage():
    """Stored zeros, places stored twice, unsorted and spare ones; X stays as it is."""
    whole = sp.csr_array(X)
    halves = sp.coo_array(
        (
            np.r_[whole.data - 1.0, np.ones(whole.nnz), 0.0],
            (np.r_[whole.nonzero()[0], whole.nonzero()[0], 5],
             np.r_[whole.nonzero()[1], whole.nonzero()[1], 8]),
        )
    )  # fmt: skip
    order = np.random.default_rng(0).permutation(halves.nnz)
    rows, columns = halves.coords
    order = order[np.argsort(rows[order], kind="stable")]
    starts = np.r_[0, np.cumsum(np.bincount(rows, minlength=len(X)))]
    values = np.r_[halves.data[order], np.nan]  # a spare one behind the last row
    places = np.r_[columns[order], 0]
    given = sp.csr_array((values, places, starts), shape=X.shape, copy=True)
    given.data, given.indices = values.copy(), places.copy()
    dense = ConfidenceTreeClassifier(bound=None).fit(X, Y)
    tree = ConfidenceTreeClassifier(bound=None).fit(given, Y)
    assert_array_equal(given.data, values)
    assert_array_equal(given.indices, places)
    np.testing.assert_allclose(
        tree.tree_.threshold, dense.tree_.threshold, rtol=1e-6, equal_nan=True
    )
    assert_array_equal(tree.tree_.counts, dense.tree_.counts)


@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix")
@pytest.mark.parametrize("format", ["coo", "lil", "dok", "bsr", "dia"])
def test_other_formats(format):
    """They are converted, in `fit`, `partial_fit`, predictions and pools."""
    given = sp.csr_array(X).asformat(format)
    dense = ConfidenceTreeClassifier("credible").fit(X, Y, X_pool=X)
    tree = ConfidenceTreeClassifier("credible").fit(given, Y, X_pool=given)
    assert_same(tree, dense, X)
    assert_array_equal(tree.predict_proba(given), dense.predict_proba(X))
    classes, rows = [0, 1], np.arange(len(Y))
    stream = ConfidenceTreeClassifier("credible").partial_fit(X, Y, classes=classes)
    other = ConfidenceTreeClassifier("credible").partial_fit(given, Y, classes=classes)
    assert state(other) == state(stream)
    options = {"classes": classes, "from_pool": rows}
    of_pool, of_dense = (
        clone(tree).partial_fit(None, Y, X_pool=pool, **options) for pool in (given, X)
    )
    assert state(of_pool) == state(of_dense)


# -- mistakes ---------------------------------------------------------------------


def damaged(field, place, value):
    X_bad = sp.csr_array(X)
    getattr(X_bad, field)[place] = value
    return X_bad


NAN, INFINITE = X.copy(), X.copy()
NAN[0, 0], INFINITE[0, 0] = np.nan, 1e300
MISTAKES = {
    "nan": (sp.csr_array(NAN), ValueError, "Sparse X contains NaN"),
    "infinity": (sp.csc_array(INFINITE), ValueError, "infinity or a value too large"),
    "complex": (sp.csr_array(X * 1j), ValueError, "(?i)complex"),
    "place": (damaged("indices", 3, 99), ValueError, "is corrupt"),
    "negative place": (damaged("indices", 3, -1), ValueError, "is corrupt"),
    "start": (damaged("indptr", 3, 10**6), ValueError, "is corrupt"),
    "end": (damaged("indptr", -1, 10**6), ValueError, "is corrupt"),
    "no rows": (sp.csr_array((0, 12)), ValueError, "0 sample"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    given, error, message = MISTAKES[name]
    y = Y[: given.shape[0]]
    fresh = ConfidenceTreeClassifier()
    for call in (fresh.fit, fresh.partial_fit):
        options = {} if call == fresh.fit else {"classes": [0, 1]}
        with pytest.raises(error, match=message):
            call(given, y, **options)
        assert not hasattr(fresh, "n_features_in_")
    tree = ConfidenceTreeClassifier().partial_fit(X, Y, classes=[0, 1])
    before = pickle.dumps(tree)
    for call in (tree.predict, tree.predict_proba, tree.apply, tree.explain):
        with pytest.raises(error, match=message):
            call(given)
    with pytest.raises(error, match=message):
        tree.partial_fit(given, y)
    with pytest.raises(error, match=message):
        ConfidenceTreeClassifier("credible").fit(X, Y, X_pool=given)
    assert pickle.dumps(tree) == before


def test_duplicate_entries_unknown_to_scipy():
    """Scipy remembers that there were none."""
    given = sp.csc_array(np.ones((3, 2), dtype=np.float32))
    assert given.has_canonical_format
    given.indptr[1], given.indices[:] = 5, [0, 0, 1, 1, 2, 2]
    with pytest.raises(ValueError, match="duplicate or unsorted entries"):
        ConfidenceTreeClassifier(bound=None).fit(given, [0, 1, 0])


def test_one_dimension():
    with pytest.raises(ValueError, match="2D input|2D array"):
        ConfidenceTreeClassifier().fit(sp.csr_array(Y), Y)


def test_number_of_features():
    tree = ConfidenceTreeClassifier().fit(sp.csr_array(X), Y)
    with pytest.raises(ValueError, match="12 features"):
        tree.predict(sp.csr_array(X[:, :5]))
    with pytest.raises(ValueError, match="12 features"):
        tree.partial_fit(sp.csr_array(X[:, :5]), Y)


def test_nominal_columns_are_dense():
    with pytest.raises(ValueError, match="categorical_features must be None"):
        ConfidenceTreeClassifier(categorical_features=[0]).fit(sp.csr_array(X), Y)
    tree = ConfidenceTreeClassifier(categorical_features=[0]).fit(X[:, :2], Y)
    with pytest.raises(TypeError, match="(?i)dense data is required"):
        tree.predict(sp.csr_array(X[:, :2]))


def test_tag():
    assert ConfidenceTreeClassifier().__sklearn_tags__().input_tags.sparse
