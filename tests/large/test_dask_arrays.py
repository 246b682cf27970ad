"""Fits of Dask arrays are those of the whole arrays in memory."""

import pickle

import numpy as np
import pytest
from reference.effort import crossed
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier, large
from skconftree.large import _data

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask has no arrays here")

MODELS = [
    ConfidenceTreeClassifier(max_bins=255),
    ConfidenceTreeClassifier(None, max_bins=9, class_weight={2: 0.0}),
    ConfidenceTreeClassifier("chi2", max_bins=30, categorical_features=[3]),
    ConfidenceForestClassifier(3, max_bins=40, random_state=0),
]


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def make_arrays(n=900, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(dtype)
    X[:, 3] = rng.integers(0, 5, n)
    X[rng.random(n) < 0.1, 1] = np.nan
    y = np.digitize(X[:, 0] + (X[:, 3] == 2) + rng.normal(size=n) * 0.3, [0, 1])
    order = np.argsort(y, kind="stable")  # no part has all classes
    return X[order], y[order]


@pytest.mark.parametrize(
    ("model", "dtype", "n_rows"),
    crossed(MODELS, [np.float32, np.float64], [900, 211, (1, 0, 899)]),
)
def test_any_chunks_give_the_same_bytes(model, dtype, n_rows):
    X, y = make_arrays(dtype=dtype)
    found = large.fit(
        clone(model),
        da.from_array(X, chunks=(n_rows, -1)),
        target=da.from_array(y, chunks=50),
    )
    assert pickle.dumps(found) == pickle.dumps(clone(model).fit(X, y))


@pytest.mark.parametrize("model", MODELS[:1] + MODELS[3:])
def test_nodes_that_are_counted_where_they_lie(model, monkeypatch):
    monkeypatch.setattr(_data, "MAX_GATHERED", 16_384)
    X, y = make_arrays(60_000)
    X_parts, y_parts = (
        da.from_array(one, chunks=(17_000, -1)[: one.ndim]) for one in (X, y)
    )
    found = large.fit(clone(model), X_parts, target=y_parts)
    assert pickle.dumps(found) == pickle.dumps(clone(model).fit(X, y))


def test_labels_of_any_type_and_categories_of_text():
    numbers, y = make_arrays()
    X = numbers.astype(object)
    X[:, 3] = np.array(["a", "b", "c", "d", "e"])[numbers[:, 3].astype(int)]
    labels = np.array(["low", "middle", "high"])[y]
    model = ConfidenceTreeClassifier(max_bins=255, categorical_features=[3])
    found = large.fit(
        clone(model), da.from_array(X, (100, 4)), target=da.from_array(labels, 100)
    )
    assert pickle.dumps(found) == pickle.dumps(model.fit(X, labels))


def test_blocks_of_unknown_sizes():
    X, y = make_arrays()
    X_parts, y_parts = da.from_array(X, (100, 4)), da.from_array(y, 100)
    some = y_parts != 1
    found = large.fit(clone(MODELS[0]), X_parts[some], target=y_parts[some])
    expected = clone(MODELS[0]).fit(X[y != 1], y[y != 1])
    assert pickle.dumps(found) == pickle.dumps(expected)
    others = da.from_array(y, 300)
    with pytest.raises(ValueError, match="chunks of the same numbers of rows"):
        large.fit(clone(MODELS[0]), X_parts[some], target=others[others != 1])


def test_blocks_are_predicted_where_they_lie():
    X, y = make_arrays()
    X_parts = da.from_array(X, (100, 4))
    model = large.fit(clone(MODELS[0]), X_parts, target=da.from_array(y, 100))
    labels = X_parts.map_blocks(model.predict, drop_axis=1, meta=y[:0])
    assert (labels.compute() == model.predict(X)).all()
    proba = X_parts.map_blocks(
        model.predict_proba, chunks=(X_parts.chunks[0], (3,)), meta=np.empty((0, 0))
    )
    assert (proba.compute() == model.predict_proba(X)).all()


def test_invalid_arrays():
    X, y = make_arrays()
    model = clone(MODELS[0]).fit(X, y)
    before = pickle.dumps(model)
    X_parts, y_parts = da.from_array(X, (100, 4)), da.from_array(y, 100)
    for source, target, more, error, match in [
        (X_parts.rechunk((100, 3)), y_parts, {}, ValueError, r"rechunk\(\{1: -1\}\)"),
        (X_parts, "y", {}, TypeError, "target must be a Dask array"),
        (X_parts, y, {}, TypeError, "target must be a Dask array"),
        (X_parts[:, 0], y_parts, {}, ValueError, "source must be a 2d Dask array"),
        (X_parts, X_parts, {}, ValueError, "source must be a 2d Dask array"),
        (X_parts, y_parts[:-1], {}, ValueError, "same number of rows. Got 900 and 899"),
        (X_parts, y_parts, {"columns": [0]}, ValueError, "which has no column names"),
        (X_parts / 0.0, y_parts, {}, ValueError, "infinity|Infinite|infinite"),
    ]:
        with pytest.raises(error, match=match), np.errstate(all="ignore"):
            large.fit(model, source, target=target, **more)
        assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (
            lambda block: block.astype(object),
            ValueError,
            "All blocks of source must have types",
        ),
        (lambda block: block.tolist(), TypeError, "blocks that are NumPy arrays"),
    ],
)
def test_blocks_that_are_not_those_of_the_array(change, error, match):
    X, y = make_arrays()
    meta = np.empty((0, 0))
    parts = da.from_array(X, (100, 4)).map_blocks(change, meta=meta)
    with pytest.raises(error, match=match):
        large.fit(clone(MODELS[0]), parts, target=da.from_array(y, 100))
