"""max_bytes holds at every multiple of 1,024 rows, and causes no failure.

The limit is for streams that never end; the promise is within 10 %, by n_bytes_.
"""

import pickle

import numpy as np
import pytest
from reference.effort import crossed
from reference.registries import MEMORIES
from reference.streams import Stream, learn, make_stream
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound

LIMIT = 65536
BOUNDS = {
    "gtest": "gtest",
    "evalue": "evalue",
    "credible": CredibleBound(delta=0.3),
    "none": None,
}


def largest_at_boundaries(model, stream):
    """Learn in chunks of 1,024 rows; return the largest n_bytes_ seen then."""
    most = 0
    for begin in range(0, len(stream) - 1023, 1024):
        learn(model, stream, [begin + 1024], begin)
        most = max(most, model.n_bytes_)
    return most


@pytest.mark.parametrize(
    ("grace_period", "memory", "bound"), crossed([1, 40], MEMORIES, BOUNDS)
)
def test_limit_holds(bound, memory, grace_period):
    stream = make_stream(
        1, 6 * 1024, n_classes=6, kinds=["continuous"] * 6 + ["ties"], signal=0.5
    )
    model = ConfidenceTreeClassifier(
        bound=BOUNDS[bound],
        leaf_memory=memory,
        grace_period=grace_period,
        max_bytes=LIMIT,
    )
    assert largest_at_boundaries(model, stream) <= 1.1 * LIMIT
    assert np.isfinite(model.predict_proba(stream.X[:100])).all()
    unlimited = ConfidenceTreeClassifier(
        **{**model.get_params(deep=False), "max_bytes": None}
    )
    if memory == "rows":
        assert largest_at_boundaries(unlimited, stream) > 1.1 * LIMIT


@pytest.mark.parametrize("memory", MEMORIES)
def test_limit_holds_with_a_branch_for_each_category(memory):
    """A test with hundreds of outcomes may not fit where one of two does."""
    X = np.random.default_rng(0).integers(0, 2000, (4 * 1024, 1))
    stream = Stream(X, X[:, 0] % 2, 2)
    model = ConfidenceTreeClassifier(
        bound=None,
        categorical_features=[0],
        nominal_splits="multiway",
        grace_period=2000,
        leaf_memory=memory,
        max_bytes=2 * LIMIT,
    )
    assert largest_at_boundaries(model, stream) <= 1.1 * 2 * LIMIT
    model = clone(model).set_params(max_bytes=None)
    assert largest_at_boundaries(model, stream) > 3 * LIMIT
    assert model.get_n_leaves() > 1000


@pytest.mark.parametrize("nominal_splits", ["binary", "multiway"])
def test_limit_holds_when_categories_come_late(nominal_splits):
    """Tests that are there learn no more categories than there is room for."""
    rng = np.random.default_rng(0)
    n = 6 * 1024
    X = rng.integers(0, 8, (n, 4))
    y = rng.integers(0, 2, n)
    X[2048:] += rng.integers(0, 3000, (n - 2048, 4))
    model = ConfidenceTreeClassifier(
        bound=None,
        categorical_features=[0, 1, 2, 3],
        nominal_splits=nominal_splits,
        grace_period=20,
        max_bytes=LIMIT,
    )
    assert largest_at_boundaries(model, Stream(X, y, 2)) <= 1.1 * LIMIT
    assert model.tree_.is_nominal.any()
    paths = model.decision_path(X[:2048])  # what was known is not forgotten
    assert np.isfinite(model.predict_proba(X)).all()
    assert (paths.sum(axis=1) > 1).all()


@pytest.mark.parametrize("drift", [None, "ddm", "local"])
def test_limit_holds_with_drift(drift):
    stream = make_stream(2, 8 * 1024, kinds=["continuous"] * 6, signal=2.0)
    stream.y[3000:] = 1 - stream.y[3000:]
    model = ConfidenceTreeClassifier(
        bound="gtest", leaf_memory="rows", drift=drift, max_bytes=LIMIT
    )
    assert largest_at_boundaries(model, stream) <= 1.1 * LIMIT
    if drift:
        assert model.n_drifts_ > 0


def test_larger_limits_keep_more():
    """Accuracy grows with memory: the leaves that forget are the least promising."""
    stream = make_stream(3, 8 * 1024, n_classes=3, kinds=["continuous"] * 8, signal=0.6)
    leaves = []
    for limit in (LIMIT, 4 * LIMIT, None):
        model = ConfidenceTreeClassifier(
            bound="gtest", leaf_memory="histogram", grace_period=50, max_bytes=limit
        )
        learn(model, stream)
        leaves.append(model.get_n_leaves())
    assert leaves[0] < leaves[1] <= leaves[2]


@pytest.mark.parametrize("max_bytes", [0, -1, 1000, LIMIT - 1, 1e6, "much"])
def test_too_small_a_limit_is_an_error(max_bytes):
    stream = make_stream(0, 10)
    model = ConfidenceTreeClassifier(max_bytes=max_bytes)
    with pytest.raises(ValueError, match="'max_bytes' parameter"):
        model.partial_fit(stream.X, stream.y, stream.classes)
    assert not hasattr(model, "tree_")


@pytest.mark.parametrize(
    ("n_classes", "n_pool", "drift", "words"),
    [
        (6000, 0, None, "before its first row. Pass"),
        (2, 30_000, None, "before its first row. Pass"),
        (1700, 0, "ddm", "and as much is kept for its replacement after a drift. Pass"),
        (
            800,
            0,
            "local",
            "half of it is for 2 alternate subtrees after drifts, each",
        ),
    ],
)
def test_a_limit_below_an_empty_tree_is_an_error(n_classes, n_pool, drift, words):
    """Thousands of classes, or of rows without label, need more than the minimum."""
    stream = make_stream(0, 100, n_pool=n_pool)
    arguments = {
        "X": stream.X,
        "y": stream.y,
        "classes": np.arange(n_classes),
        "X_pool": stream.X_pool,
    }
    for limit, enough in ((LIMIT, False), (20 * LIMIT, True)):
        model = ConfidenceTreeClassifier("credible", max_bytes=limit, drift=drift)
        if enough:
            assert model.partial_fit(**arguments).n_bytes_ <= limit
            continue
        before = dict(vars(model))
        message = f"max_bytes={limit} is too small: .*{words}"
        with pytest.raises(ValueError, match=message):
            model.partial_fit(**arguments)
        assert vars(model) == before


def test_deactivated_leaves_are_counted_and_reported():
    stream = make_stream(1, 8 * 1024, n_classes=6, kinds=["continuous"] * 7, signal=0.5)
    model = ConfidenceTreeClassifier(
        bound=None, leaf_memory="rows", grace_period=20, max_bytes=LIMIT
    )
    learn(model, stream, [len(stream)], 0)
    off = model.n_inactive_leaves_
    assert 0 < off <= model.get_n_leaves()
    share = f"{off} of the leaves ({off / model.get_n_leaves():.1%})"
    assert f"{share} switched off by max_bytes=65536" in model.summary()
    assert pickle.loads(pickle.dumps(model)).n_inactive_leaves_ == off
    plenty = clone(model).set_params(max_bytes=None)
    learn(plenty, stream, [len(stream)], 0)
    assert plenty.n_inactive_leaves_ == 0
    assert "switched off" not in plenty.summary()
    assert ConfidenceTreeClassifier().fit(stream.X, stream.y).n_inactive_leaves_ == 0


def test_a_forest_counts_those_of_its_trees():
    stream = make_stream(1, 8 * 1024, n_classes=6, kinds=["continuous"] * 7, signal=0.5)
    forest = ConfidenceForestClassifier(
        2,
        bound=None,
        leaf_memory="rows",
        grace_period=20,
        max_bytes=2 * LIMIT,
        random_state=0,
    )
    learn(forest, stream, [len(stream)], 0)
    each = [tree.n_inactive_leaves_ for tree in forest.estimators_]
    assert forest.n_inactive_leaves_ == sum(each) > 0


def test_bytes_of_a_leaf():
    """Three counts per class, besides that of the tree; and what its memory has."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2

    def n_bytes(bound="gtest", n_classes=2, d=1, pool=None, **parameters):
        model = ConfidenceTreeClassifier(bound, grace_period=1e9, **parameters)
        X = rng.normal(size=(200, d))
        return model.partial_fit(X, y, np.arange(n_classes), X_pool=pool).n_bytes_

    for d in (1, 3):
        pool = rng.normal(size=(20, d))
        rows, volume = (
            n_bytes(CredibleBound(0.1, pool_weight=kind), d=d, pool=pool)
            for kind in ("pool", "volume")
        )
        assert volume - rows == 8 * (2 * d + 1)
        for n_classes in (2, 4):
            sizes = [
                [n_bytes(n_classes=k, d=d, leaf_memory=memory) for k in (n_classes, 5)]
                for memory in ("rows", "histogram", "gaussian")
            ]
            per_class = np.diff(sizes).ravel() / (5 - n_classes)
            moments = 8 + 8  # a pointer, and the weight of the class
            assert per_class.tolist() == [
                8 * 4 + moments,
                8 * 4 + 32 * 8 * d,
                8 * 4 + moments,
            ]
