"""Rows of X_pool in a growing tree: what they weigh, and how they get their labels."""

import io
import pickle

import numpy as np
import pytest
from reference.effort import crossed
from scipy import sparse

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound, credible_interval


def table(seed, n, missing=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 25, size=(n, 4)).astype(np.float32)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) > 9).astype(int) ^ (np.nan_to_num(X[:, 1]) > 14)
    return X, y


def grower(**options):
    return ConfidenceTreeClassifier(
        CredibleBound(delta=0.4),
        **{"grace_period": 10, "random_state": 0, **options},
    )


def same_tree(one, other):
    a, b = one.tree_, other.tree_
    for name in ("parent", "feature", "threshold", "counts", "evidence"):
        found, expected = getattr(a, name), getattr(b, name)
        assert found.tobytes() == expected.tobytes(), name


def test_a_row_with_a_label_counts_once():
    """As if it had never been in the pool."""
    P, y = table(0, 80)
    rows = np.arange(5, 44)  # the last one makes the leaf due
    rest = np.setdiff1d(np.arange(80), rows)
    options = {"grace_period": 40, "max_leaf_nodes": 2}
    ours = grower(**options).partial_fit(P[:1], y[:1], [0, 1], X_pool=P)
    ours.partial_fit(None, y[rows], from_pool=rows)
    plain = grower(**options).partial_fit(P[:1], y[:1], [0, 1], X_pool=P[rest])
    plain.partial_fit(P[rows], y[rows])
    twice = grower(**options).partial_fit(P[:1], y[:1], [0, 1], X_pool=P)
    twice.partial_fit(P[rows], y[rows])
    assert ours.tree_.node_count == 3
    same_tree(ours, plain)
    assert ours.tree_.evidence.tobytes() != twice.tree_.evidence.tobytes()
    assert ours.n_rows_seen_ == 40


@pytest.mark.parametrize(
    ("options", "missing"),
    crossed(
        [
            {},
            {"grace_period": 1, "leaf_memory": "rows"},
            {"leaf_memory": "histogram"},
            {"splitter": "random"},
            {"categorical_features": [0]},
            {"drift": "ddm"},
        ],
        [False, True],
    ),
)
def test_chunks_and_pickles_do_not_matter(options, missing):
    """Nor does whether the rows of a leaf have been put in order before."""
    P, y = table(1, 600, missing and "categorical_features" not in options)
    X, labels = table(2, 200)
    rows = np.random.default_rng(0).permutation(600)[:500]
    y[rows[250:]] = 1 - y[rows[250:]]  # a drift
    start = {"classes": [0, 1], "X_pool": P}
    at_once = grower(**options).partial_fit(X[:9], labels[:9], **start)
    at_once.partial_fit(None, y[rows], from_pool=rows)
    at_once.partial_fit(X[9:], labels[9:])
    by_one = grower(**options).partial_fit(X[:9], labels[:9], **start)
    for i, row in enumerate(rows):
        by_one.partial_fit(None, [y[row]], from_pool=[row])
        if i % 40 == 3:
            by_one = pickle.loads(pickle.dumps(by_one))
    by_one.partial_fit(X[9:], labels[9:])
    assert at_once.tree_.node_count > 3
    same_tree(at_once, by_one)
    assert pickle.dumps(at_once) == pickle.dumps(by_one)
    if "drift" in options:
        assert at_once.n_drifts_ > 0
    with pytest.raises(ValueError, match="has already been learned"):
        by_one.partial_fit(None, [0], from_pool=[rows[7]])


class Named(pickle.Pickler):
    """Writes a name in the place of a table."""

    def __init__(self, file, table):
        super().__init__(file)
        self.table = table

    def persistent_id(self, part):
        return "pool" if part is self.table else None


def loaded(data, table):
    reader = pickle.Unpickler(io.BytesIO(data))
    reader.persistent_load = lambda name: table
    return reader.load()


@pytest.mark.parametrize("options", [{}, {"drift": "ddm"}])
def test_a_pickle_names_no_rows_of_leaves_and_may_leave_the_table_out(options):
    P, y = table(1, 8000)
    rows = np.random.default_rng(0).permutation(8000)[:600]
    y[rows[300:]] = 1 - y[rows[300:]]
    ours = grower(**options).partial_fit(P[:1], y[:1], [0, 1], X_pool=P)
    few = grower(**options).partial_fit(P[:1], y[:1], [0, 1], X_pool=P[:8])
    bits = len(pickle.dumps(ours)) - len(pickle.dumps(few)) - P[8:].nbytes
    assert bits / 8 == pytest.approx(len(P) / 64, abs=10)
    for part in np.split(rows, 20):
        file = io.BytesIO()
        Named(file, P).dump(ours)
        again = loaded(file.getvalue(), P)
        for tree in (ours, again):
            tree.partial_fit(None, y[part], from_pool=part)
        assert (
            again._model.grower.recipe.X_pool is ours._model.grower.recipe.X_pool is P
        )
        assert pickle.dumps(ours) == pickle.dumps(again)
    assert ours.tree_.node_count > 3


def test_corrupt_row_flags_are_rejected():
    P, y = table(1, 30)
    tree = grower().partial_fit(P[:2], y[:2], [0, 1], X_pool=P)
    tree.partial_fit(None, y[:9], from_pool=np.arange(9))
    make, (structure, recipe, state) = tree._model.grower.__reduce__()
    state, losses = state[:-1], state[-1]
    marks = state[-1]
    assert np.unpackbits(np.frombuffer(marks, dtype=np.uint8)).tolist() == (
        [1] * 9 + [0] * 23
    )
    for wrong in (None, b"", marks + b"\0", marks[:-1], marks[:-1] + b"\1"):
        with pytest.raises(ValueError, match="growing tree is corrupt"):
            make(structure, recipe, (*state[:-1], wrong, losses))
    with pytest.raises(ValueError, match="growing tree is corrupt"):
        make(structure, recipe | {"X_pool": None}, (*state, losses))


def test_weights_and_rows_of_weight_zero():
    P, y = table(3, 60)
    tree = grower().partial_fit(P[:1], y[:1], [0, 1], X_pool=P)
    tree.partial_fit(None, y[:20], sample_weight=np.arange(20), from_pool=np.arange(20))
    assert tree.n_rows_seen_ == 20
    with pytest.raises(ValueError, match="Row 3 of X_pool"):
        tree.partial_fit(None, y[3:4], from_pool=[3])
    tree.partial_fit(None, y[:1], from_pool=[0])  # it was not learned


@pytest.mark.parametrize("missing", [False, True])
def test_what_is_in_order_stays_so_when_rows_leave(missing):
    """A tree that was loaded puts its pool in order again, with the same evidence."""
    P, y = table(7, 60, missing)
    P[:, 3] = np.where(P[:, 3] > 12, 0.0, -0.0)  # equal, whatever their sign
    rows = np.random.default_rng(1).permutation(60)[:45]
    options = {"grace_period": 1, "leaf_memory": "rows"}
    ours = grower(**options)
    ours.partial_fit(None, y[rows[:2]], [0, 1], X_pool=P, from_pool=rows[:2])
    loaded = ours
    for row in rows[2:]:
        loaded = pickle.loads(pickle.dumps(loaded))
        for tree in (ours, loaded):
            tree.partial_fit(None, y[[row]], from_pool=[row])
        same_tree(ours, loaded)
    assert ours.tree_.node_count > 1


@pytest.mark.parametrize("weight", [None, 1.0, 0.3])
def test_estimated_cut_positions_change_nothing(weight):
    """Within a limit of bytes nothing is kept to guess by."""
    P, y = table(7, 900, missing=True)
    X, labels = table(8, 900)
    P[:, 2], X[:, 2] = np.random.default_rng(0).normal(size=(2, 900))
    y ^= np.random.default_rng(1).random(900) < 0.3
    rows = np.random.default_rng(2).permutation(900)[:150]
    options = {"grace_period": 1, "leaf_memory": "rows", "max_leaf_nodes": 4}
    trees = [grower(**options), grower(**options, max_bytes=10**9)]
    for tree in trees:
        tree.partial_fit(P[:2], y[:2], [0, 1], X_pool=P)
        for i, row in enumerate(rows):
            weights = None if weight is None else [weight]
            tree.partial_fit(None, y[[row]], None, weights, from_pool=[row])
            tree.partial_fit(X[[i]], labels[[i]])
        same_tree(tree, trees[0])
    assert trees[0].tree_.node_count > 1


def test_the_first_call_learns_rows_of_its_pool():
    """None of them counts twice, as it would if they were given as rows beside it."""
    P, y = table(5, 90)
    rows = np.arange(40)
    options = {"grace_period": 40, "max_leaf_nodes": 2}
    ours = grower(**options)
    ours.partial_fit(None, y[rows], [0, 1], X_pool=P, from_pool=rows)
    plain = grower(**options).partial_fit(P[rows], y[rows], [0, 1], X_pool=P[40:])
    assert ours.tree_.node_count == 3
    same_tree(ours, plain)
    with pytest.raises(ValueError, match="Row 7 of X_pool has already been learned"):
        ours.partial_fit(None, y[7:8], from_pool=[7])
    for pool in (P.tolist(), sparse.csr_array(P)):
        again = grower(**options)
        again.partial_fit(None, y[rows].tolist(), [0, 1], X_pool=pool, from_pool=rows)
        same_tree(again, plain)


def test_an_invalid_first_call_is_an_error():
    P, y = table(6, 20)
    for bound in ("gtest", None):
        tree = ConfidenceTreeClassifier(bound)
        with pytest.raises(ValueError, match="from_pool requires an X_pool"):
            tree.partial_fit(None, y[:2], [0, 1], X_pool=P, from_pool=[0, 1])
        assert not hasattr(tree, "tree_")
    for arguments, rows, message in [
        ((P[:1], y[:1]), [0], "X must be None"),
        ((None, y[:1]), [20], "from 0 to 19. Got 20"),
        ((None, y[:2]), [3, 3], "repeat"),
    ]:
        tree = grower()
        with pytest.raises(ValueError, match=message):
            tree.partial_fit(*arguments, [0, 1], X_pool=P, from_pool=rows)
        assert not hasattr(tree, "tree_")


def test_bad_input_leaves_the_tree_as_it_was():
    P, y = table(4, 60)
    with pytest.raises(ValueError, match="from_pool requires an X_pool"):
        grower().partial_fit(None, [0], [0, 1], from_pool=[0])
    for bound in ("gtest", "hoeffding"):
        tree = ConfidenceTreeClassifier(bound).partial_fit(P, y, [0, 1], X_pool=P)
        with pytest.raises(ValueError, match="from_pool requires an X_pool"):
            tree.partial_fit(None, [0], from_pool=[0])
    tree = grower().partial_fit(P[:30], y[:30], [0, 1], X_pool=P)
    before = pickle.dumps(tree)
    for arguments, message in [
        ((P[:1], y[:1], [0]), "X must be None"),
        ((None, y[:1], [60]), "from 0 to 59. Got 60"),
        ((None, y[:1], [-1]), "from 0 to 59. Got -1"),
        ((None, y[:1], [0.5]), "integer"),
        ((None, y[:2], [5, 5]), "repeat"),
        ((None, y[:2], [5]), "one label per row"),
        ((None, [7], [5]), "7"),
    ]:
        X, labels, rows = arguments
        with pytest.raises(ValueError, match=message):
            tree.partial_fit(X, labels, from_pool=rows)
    with pytest.raises(ValueError, match="classes"):
        tree.partial_fit(None, y[:1], [0, 1, 2], from_pool=[5])
    assert pickle.dumps(tree) == before


# -- what a leaf has seen ---------------------------------------------------------


def test_counts_of_leaves():
    """Those of `counts`, and of them the rows after the leaf was made."""
    X, y = table(5, 400)
    tree = ConfidenceTreeClassifier("gtest", grace_period=20)
    with pytest.raises(ValueError, match="not fitted"):
        tree.leaf_counts()
    expected = np.zeros((1, 2))
    for x, label in zip(X, y, strict=True):
        tree.partial_fit([x], [label], classes=[0, 1])
        n_nodes, n_known = tree.tree_.node_count, len(expected)
        if n_known < n_nodes:  # the row that makes a leaf is no evidence in it
            expected = np.pad(expected, ((0, n_nodes - n_known), (0, 0)))
            expected[tree.tree_.children_left >= 0] = 0.0
        else:
            expected[tree.apply([x])[0], label] += 1.0
        np.testing.assert_array_equal(tree.leaf_counts(fresh=True), expected)
    inner = tree.tree_.children_left >= 0
    counts = tree.tree_.counts.copy()
    counts[inner] = 0.0
    np.testing.assert_array_equal(tree.leaf_counts(), counts)
    np.testing.assert_array_equal(tree.tree_.leaf_counts(), counts)
    assert n_nodes > 5
    fitted = ConfidenceTreeClassifier().fit(X, y)
    assert fitted.leaf_counts(fresh=True).sum() == 0.0
    assert fitted.leaf_counts().sum() == 400.0


def columns_of(case, y, rng):
    """Return a labeled and an unlabeled column with one kind of candidate splits."""
    n = len(y)
    if case in ("binary", "multiway"):
        x = np.where(rng.random(n) < 0.8, 2 * y, rng.integers(0, 6, n))
        return x.astype(float), rng.integers(0, 6, 200).astype(float)
    if case == "missing":  # or one value
        rare = rng.random(n) < np.where(y == 0, 0.9, 0.1)
        return np.where(rare, np.nan, 1.0), np.where(rng.random(200) < 0.3, np.nan, 1.0)
    x, pool = rng.normal(size=n) + 2 * y, 3.0 * rng.normal(size=200)
    if case == "cuts and missing":
        x[rng.random(n) < 0.3] = np.nan
        pool[rng.random(200) < 0.5] = np.nan
    return x, pool


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(
    "case", ["cuts", "missing", "cuts and missing", "binary", "multiway"]
)
def test_the_best_split_has_the_smallest_limit_of_all_rows(case, K):
    """The limits of the children, weighted by their labeled and unlabeled rows."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, K, 300)
        x, pool = (column[:, np.newaxis] for column in columns_of(case, y, rng))
        nominal = {"nominal_splits": case, "categorical_features": [0]}
        tree = ConfidenceTreeClassifier(
            CredibleBound(0.3),
            criterion="entropy",
            max_depth=1,
            **(nominal if case in ("binary", "multiway") else {}),
        ).fit(x, y, X_pool=pool)
        reached = np.concatenate([tree.apply(x), tree.apply(pool)])
        children = tree.tree_.children(0)
        weight = np.bincount(reached)[children]
        _, high = credible_interval(
            tree.tree_.counts[children], 0.3, criterion="entropy"
        )
        limit = tree.tree_.evidence["child_limit"][0]
        assert limit == pytest.approx(np.average(high, weights=weight), rel=1e-9)
        if case != "binary":
            continue
        labeled = np.eye(K)[y].T @ np.eye(6)[x[:, 0].astype(int)]  # by category
        total = np.bincount(np.r_[x[:, 0], pool[:, 0]].astype(int))
        for subset in range(1, 32):  # sets without the last category
            left = (subset >> np.arange(6)) & 1
            pair = np.stack([labeled @ left, labeled @ (1 - left)])
            _, high = credible_interval(pair, 0.3, criterion="entropy")
            weight = total @ left, total @ (1 - left)
            assert limit <= np.average(high, weights=weight) * (1 + 1e-9)
