"""The memories of growing leaves equal what NumPy computes from their rows.

Histograms, moments and naive Bayes decide splits and predictions; errors in them would
show as slightly worse accuracy and nothing else.
"""

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.effort import NIGHT, examples
from reference.leaf_state import GAUSSIAN, HISTOGRAM, ROWS, read_leaves
from reference.registries import MEMORIES
from reference.streams import KINDS, grown, learn, make_stream, streams
from scipy import special, stats
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound

NB_GROUP = settings(
    max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow]
)


def single_leaf(stream, memory, **parameters):
    """Learn a stream without ever splitting; return the model and its leaf."""
    model = ConfidenceTreeClassifier(
        bound="hoeffding", leaf_memory=memory, grace_period=1e12, **parameters
    )
    learn(model, stream)
    return model, read_leaves(model)[0]


def bin_of(edges, values):
    """Bin b holds what is in (edges[b - 1], edges[b]]."""
    return np.searchsorted(edges, values, side="left")


def table_of(stream, rows, feature, edges):
    """Class counts of a feature's bins, from the rows themselves."""
    table = np.zeros((len(edges), stream.n_classes))
    places = bin_of(edges, stream.X[rows, feature])
    np.add.at(table, (places, stream.y[rows]), stream.weights[rows])
    return table


# --- histograms -------------------------------------------------------------


@settings(max_examples=examples(60))
@given(stream=streams(max_rows=300, pool=False))
def test_histogram_of_rows(stream):
    """Edges come from the first 64 rows; every row is in its bin, exactly."""
    _, leaf = single_leaf(stream, "histogram")
    rows = np.flatnonzero(stream.weights)
    if len(rows) < 64:
        assert leaf.memory == ROWS
        np.testing.assert_array_equal(leaf.X, stream.X[rows])
        np.testing.assert_array_equal(leaf.y, stream.y[rows])
        return
    assert leaf.memory == HISTOGRAM
    for feature in range(stream.X.shape[1]):
        edges = leaf.bins_of(feature)
        values = stream.X[rows, feature]
        first = np.unique(values[:64])
        assert len(edges) <= 32
        assert edges[-1] == np.inf
        assert (np.diff(edges) > 0).all()
        if len(first) <= 32:
            assert len(edges) == len(first)  # every value has a bin of its own
            assert (bin_of(edges, first) == np.arange(len(first))).all()
        else:
            # quantiles: no bin holds many more of the first rows than its share
            inside = np.bincount(bin_of(edges, values[:64]), minlength=len(edges))
            most = np.unique(values[:64], return_counts=True)[1].max()
            assert inside.max() <= 64 / 32 + most
            assert (inside > 0).all()
        expected = table_of(stream, rows, feature, edges)
        np.testing.assert_allclose(leaf.counts_of(feature), expected, rtol=1e-12)
        assert leaf.low[feature] == values.min()
        assert leaf.high[feature] == values.max()
        if stream.weight is None or (stream.weight % 1 == 0).all():
            np.testing.assert_array_equal(leaf.counts_of(feature), expected)
    np.testing.assert_allclose(
        leaf.held, np.bincount(stream.y, stream.weights, stream.n_classes)
    )


def cumulative(leaf, feature, begin, end, low, high):
    """Ends of the bins and class counts up to them: uniform inside a bin."""
    edges = leaf.bins_of(feature)[begin:end].astype(float)
    edges[-1] = high
    counts = leaf.counts_of(feature)[begin:end]
    ends = np.concatenate([[low], edges])
    return ends, np.vstack([np.zeros(counts.shape[1]), np.cumsum(counts, axis=0)])


def assert_half(parent, child, tree, side, inherited):
    """Compare a newborn child with its side of the parent's histogram."""
    feature = int(tree.feature[parent.node])
    threshold = tree.threshold[parent.node]
    edges = parent.bins_of(feature)
    cut = int(np.flatnonzero(edges == np.float32(threshold))[0])
    table = parent.counts_of(feature)
    part = table[: cut + 1] if side == 0 else table[cut + 1 :]
    total = table.sum(axis=0)
    share = np.divide(
        part.sum(axis=0), total, out=np.full(len(total), 0.5), where=total > 0
    )
    held = parent.held * share
    scale = min(1.0, inherited / held.sum())
    np.testing.assert_allclose(child.held, held * scale, rtol=1e-9, atol=1e-12)
    assert child.n_held == pytest.approx(child.held.sum())
    assert child.n_fresh == 0.0
    for f in range(tree.n_features):
        n = len(parent.bins_of(f))
        begin, end = 0, n
        low, high = float(parent.low[f]), float(parent.high[f])
        if f == feature:
            begin, end = (0, cut + 1) if side == 0 else (cut + 1, n)
            low, high = (low, threshold) if side == 0 else (threshold, high)
        # every feature knows every row: marginals add up to what the leaf holds
        np.testing.assert_allclose(
            child.counts_of(f).sum(axis=0), child.held, rtol=1e-9, atol=1e-9
        )
        ends, mass = cumulative(parent, f, begin, end, low, high)
        whole = np.where(mass[-1] > 0, mass[-1], 1.0)
        inner = child.bins_of(f)[:-1].astype(float)
        expected = [
            np.interp(inner, ends, mass[:, c] / whole[c]) * child.held[c]
            for c in range(tree.max_n_classes)
        ]
        found = np.cumsum(child.counts_of(f), axis=0)[:-1]
        np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "kinds", [["continuous", "skewed"], ["ties", "one_hot"], KINDS]
)
@pytest.mark.parametrize(
    ("bound", "inherited"), [(CredibleBound(delta=0.1), np.inf), ("evalue", 100.0)]
)
def test_children_start_from_halves(kinds, bound, inherited):
    """Mass is conserved, and every marginal is the parent's, on finer bins."""
    n_checked = 0
    for seed in range(examples(6, by_day=3)):
        stream = make_stream(seed, 900, n_classes=3, kinds=kinds, signal=1.5)
        model = ConfidenceTreeClassifier(
            bound=bound, leaf_memory="histogram", grace_period=20
        )
        for row in range(len(stream)):
            n_nodes = model.tree_.node_count if row else 1
            learn(model, stream, [row + 1], row)
            if model.tree_.node_count != n_nodes + 2:
                continue
            children = read_leaves(model)
            node = int(model.tree_.parent[n_nodes])
            parent = read_leaves(grown(clone(model), stream, [row]))[node]
            if parent.memory == HISTOGRAM:
                parent = with_row(parent, stream.X[row], stream.y[row])
                for side in range(2):
                    child = children[n_nodes + side]
                    assert_half(parent, child, model.tree_, side, inherited)
                    n_checked += 1
    assert n_checked >= (10 if NIGHT else 4)


def with_row(leaf, x, y):
    """Add a row of weight 1 to a leaf's histogram."""
    for f, value in enumerate(x):
        leaf.counts_of(f)[bin_of(leaf.bins_of(f), value), y] += 1.0
        leaf.low[f] = min(leaf.low[f], value)
        leaf.high[f] = max(leaf.high[f], value)
    leaf.held[y] += 1.0
    return leaf


# --- moments ----------------------------------------------------------------


@settings(max_examples=examples(60))
@given(stream=streams(pool=False))
def test_moments_of_rows(stream):
    """Welford's updates give NumPy's weighted mean and variance."""
    _, leaf = single_leaf(stream, "gaussian")
    rows = np.flatnonzero(stream.weights)
    assert leaf.memory == GAUSSIAN
    X = stream.X[rows].astype(float)
    y, w = stream.y[rows], stream.weights[rows]
    scale = np.abs(X).max(axis=0, initial=1e-30)
    assert set(leaf.moments) - {stream.n_classes} == set(y)
    for c, (n, (mean, squares, low, high)) in leaf.moments.items():
        own = np.full(len(y), True) if c == stream.n_classes else y == c
        expected = np.average(X[own], weights=w[own], axis=0)
        assert n == pytest.approx(w[own].sum())
        np.testing.assert_allclose(mean / scale, expected / scale, atol=1e-12)
        around = (w[own, None] * (X[own] - expected) ** 2).sum(axis=0)
        np.testing.assert_allclose(
            squares / scale**2 / n, around / scale**2 / n, atol=1e-12
        )
        np.testing.assert_array_equal(low, X[own].min(axis=0))
        np.testing.assert_array_equal(high, X[own].max(axis=0))


@settings(max_examples=examples(60))
@given(stream=streams(pool=False, kinds_of_features=("holes", "ties")))
def test_moments_of_rows_with_missing_values(stream):
    """A missing value has no part in them; its row counts in the class all the same.

    It once counted as the mean of its class, which made the variance too small.
    """
    holes = np.random.default_rng(len(stream)).random(stream.X.shape) < 0.4
    stream.X[holes] = np.nan
    _, leaf = single_leaf(stream, "gaussian")
    rows = np.flatnonzero(stream.weights)
    X, y, w = stream.X[rows].astype(float), stream.y[rows], stream.weights[rows]
    assert set(leaf.moments) - {stream.n_classes} == set(y)
    for c, (n, block) in leaf.moments.items():
        own = np.full(len(y), True) if c == stream.n_classes else y == c
        assert n == pytest.approx(w[own].sum())
        for f, (mean, squares, low, high) in enumerate(block.T):
            seen = own & ~np.isnan(X[:, f])
            assert leaf.known[c][f] == pytest.approx(w[seen].sum(), abs=1e-12)
            if not seen.any():
                assert (squares, low, high) == (0.0, np.inf, -np.inf)
                continue
            expected = np.average(X[seen, f], weights=w[seen])
            assert mean == pytest.approx(expected, abs=1e-9)
            around = (w[seen] * (X[seen, f] - expected) ** 2).sum()
            assert squares == pytest.approx(around, rel=1e-7, abs=1e-9)
            assert (low, high) == (X[seen, f].min(), X[seen, f].max())


def test_moments_far_from_zero():
    """No cancellation: the variance of values around 1e6 is right."""
    rng = np.random.default_rng(0)
    stream = make_stream(0, 500, kinds=["continuous"])
    stream.X[:] = rng.normal(1e6, 1.0, size=(500, 1)).astype(np.float32)
    _, leaf = single_leaf(stream, "gaussian")
    n, block = leaf.moments[2]
    assert block[1, 0] / n == pytest.approx(stream.X.astype(float).var(), rel=1e-9)


def test_gaussian_children_start_from_halves():
    """The tested feature is a truncated normal, the others are as in the parent."""
    stream = make_stream(3, 4000, kinds=["continuous", "continuous"], signal=1.2)
    model = ConfidenceTreeClassifier(
        bound=CredibleBound(delta=0.1),
        leaf_memory="gaussian",
        grace_period=500,
        max_leaf_nodes=2,
    )
    row = 500  # the first and only attempt
    before = read_leaves(grown(model, stream, [row - 1]))[0]
    learn(model, stream, [row])
    tree, leaves = model.tree_, read_leaves(model)
    assert tree.node_count == 3
    feature, threshold = tree.feature[0], tree.threshold[0]
    other = 1 - feature
    for c in range(2):
        n, (mean, squares, _, _) = before.moments[c]
        if stream.y[row - 1] == c:
            n, squares, mean = add_row(n, mean, squares, stream.X[row - 1])
        sd = np.sqrt(squares / n)
        share = stats.norm.cdf(threshold, mean[feature], sd[feature])
        for side, part in ((0, share), (1, 1.0 - share)):
            a, b = (-np.inf, threshold) if side == 0 else (threshold, np.inf)
            expected = stats.truncnorm(
                *((np.array([a, b]) - mean[feature]) / sd[feature]),
                mean[feature],
                sd[feature],
            )
            m, block = leaves[1 + side].moments[c]
            assert m == pytest.approx(n * part)
            assert block[0, feature] == pytest.approx(expected.mean(), abs=1e-9)
            assert block[1, feature] / m == pytest.approx(expected.var(), abs=1e-9)
            assert block[0, other] == pytest.approx(mean[other])
            assert block[1, other] / m == pytest.approx(squares[other] / n)
    # both children together hold what the parent held
    held = leaves[1].held + leaves[2].held
    np.testing.assert_allclose(held, np.bincount(stream.y[:row], minlength=2))


@pytest.mark.parametrize("values", ["some", "one", "none"])
def test_gaussian_children_know_who_misses_the_tested_value(values):
    """Rows without it go to one side together, and the other has none of them."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 3000)
    X = rng.normal(size=(3000, 2)) + 2.0 * y[:, None] * [1, 0]
    X[rng.random(3000) < 0.3, 1] = np.nan
    # class 1 misses the tested value often; what is left are normal, equal or no values
    misses = (y == 1) & (rng.random(3000) < (1.0 if values == "none" else 0.6))
    if values != "some":
        X[:, 0] = 0.5
    X[misses, 0] = np.nan
    model = ConfidenceTreeClassifier(
        leaf_memory="gaussian", grace_period=len(y), max_leaf_nodes=2
    ).partial_fit(X, y, classes=[0, 1])
    tree, leaves = model.tree_, read_leaves(model)
    assert tree.feature[0] == 0
    assert tree.missing_seen[0]
    assert (
        tree.threshold[0] < np.inf if values == "some" else tree.threshold[0] == np.inf
    )
    away = int(tree.missing_go_to_left[0])  # the side without them
    assert away == (values == "some" and tree.threshold[0] < 0)
    with_holes, without = leaves[2 - away], leaves[1 + away]
    n_missing = np.bincount(y[np.isnan(X[:, 0])], minlength=2)
    for c in (0, 1):
        n = tree.counts[2 - away, c]
        if n > 0:
            share = with_holes.known[c][0] / with_holes.moments[c][0]
            assert share == pytest.approx(1 - n_missing[c] / n, abs=1e-9)
            assert with_holes.known[c][1] / with_holes.moments[c][0] == pytest.approx(
                np.mean(~np.isnan(X[y == c, 1]))
            )
        if c in without.known:
            assert without.known[c][0] == pytest.approx(without.moments[c][0])
    again = pickle.loads(pickle.dumps(model))
    again.partial_fit(X, y)
    assert pickle.dumps(again) == pickle.dumps(model.partial_fit(X, y))


def moments_of_side(values, threshold, side):
    """Share, mean, variance and range of a class on one side: a truncated normal."""
    if len(values) == 0:
        return float(side), 0.0, 0.0, np.inf, -np.inf
    mean, variance, low, high = values.mean(), values.var(), values.min(), values.max()
    if len(np.unique(values)) == 2:
        below = np.mean(values == low) if low <= threshold < high else threshold >= high
    elif variance == 0.0 or not low <= threshold < high:
        below = threshold >= high
    else:
        below = stats.norm.cdf(threshold, mean, np.sqrt(variance))
    share = 1.0 - below if side else float(below)
    if threshold == np.inf:
        return share, mean, variance, low, high
    if side == 0:
        high = min(high, threshold)
        low = min(low, high)
    else:
        low = max(low, threshold)
        high = max(low, high)
    if variance > 0.0:
        z = (threshold - mean) / np.sqrt(variance)
        mass = stats.norm.sf(z) if side else stats.norm.cdf(z)
        if mass > 1e-6:
            ratio = stats.norm.pdf(z) / mass * (1 if side else -1)
            mean += np.sqrt(variance) * ratio
            variance = max(variance * (1.0 + z * ratio - ratio**2), 0.0)
    return share, np.clip(mean, low, high), variance, low, high


@pytest.mark.parametrize("scale", [1.0, 2.0**-12])
@pytest.mark.parametrize("case", ["cut", "missing"])
def test_moments_of_children_with_missing_values(case, scale):
    """All moments of both children, of each class and of all classes together."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 6, 2000)
    X = rng.normal(size=(2000, 3)) + [5.0, 0.0, 0.0]
    X[:, 1] += 3.0 * (y % 2)
    X[rng.random(2000) < 0.2] *= [np.nan, 1.0, 1.0]
    X[rng.random(2000) < 0.3] *= [1.0, np.nan, 1.0]
    X[y == 2, 1] = np.nan  # no values
    X[y == 3, 1] = 2.75  # one
    X[y == 4, 1] = np.where(rng.random((y == 4).sum()) < 0.3, -1.5, 1.25)  # two
    X[:, 2] = 7.0
    if case == "missing":
        rate = np.where(y % 2 == 0, 0.9, 0.1)
        X[:, 1] = np.where(rng.random(2000) < rate, np.nan, 1.0)
    X *= scale
    X = X.astype(np.float32)
    model = ConfidenceTreeClassifier(
        CredibleBound(0.1), leaf_memory="gaussian", grace_period=2000, max_leaf_nodes=2
    ).partial_fit(X, y, classes=np.arange(6))
    tree, leaves = model.tree_, read_leaves(model)
    assert tree.node_count == 3
    assert tree.feature[0] == 1
    threshold = tree.threshold[0]
    assert (threshold == np.inf) == (case == "missing")
    for side in (0, 1):
        leaf = leaves[1 + side]
        takes_missing = bool(tree.missing_go_to_left[0]) == (side == 0)
        merged = np.zeros((3, 3))  # weights, sums and sums of squares
        for c in range(6):
            rows = X[y == c].astype(float)
            values = rows[~np.isnan(rows[:, 1]), 1]
            share, *tested = moments_of_side(values, threshold, side)
            n = share * len(values) + takes_missing * (len(rows) - len(values))
            if n == 0.0:
                assert c not in leaf.moments or leaf.moments[c][0] < 1e-6
                continue
            assert leaf.moments[c][0] == pytest.approx(n)
            block, known = leaf.moments[c][1], leaf.known[c]
            assert known[1] == pytest.approx(share * len(values), abs=1e-9)
            if known[1] == 0.0:
                tested = 0.0, 0.0, np.inf, -np.inf
            np.testing.assert_allclose(block[[0, 2, 3], 1], np.take(tested, [0, 2, 3]))
            assert block[1, 1] == pytest.approx(tested[1] * known[1], abs=1e-9 * scale)
            for f in (0, 2):
                values = rows[~np.isnan(rows[:, f]), f]
                weight = len(values) * n / len(rows)
                assert known[f] == pytest.approx(weight)
                np.testing.assert_allclose(
                    block[:, f],
                    [values.mean(), weight * values.var(), values.min(), values.max()],
                    atol=1e-9 * scale**2,
                )
            merged += [known, known * block[0], block[1] + known * block[0] ** 2]
        n, block = leaf.moments[6]
        assert n == pytest.approx(
            sum(leaf.moments[c][0] for c in leaf.moments if c < 6)
        )
        np.testing.assert_allclose(leaf.known[6], merged[0])
        mean = merged[1] / np.where(merged[0] > 0.0, merged[0], 1.0)
        np.testing.assert_allclose(block[0], mean)
        np.testing.assert_allclose(
            block[1], merged[2] - merged[0] * mean**2, atol=1e-6 * scale**2
        )
        blocks = np.stack([block for c, (_, block) in leaf.moments.items() if c < 6])
        np.testing.assert_array_equal(block[2], blocks[:, 2].min(axis=0))
        np.testing.assert_array_equal(block[3], blocks[:, 3].max(axis=0))


@pytest.mark.parametrize("bound", ["evalue", "gtest"])
def test_a_feature_without_values_is_no_trouble(bound):
    X = np.full((200, 2), np.nan)
    y = np.arange(200) % 2
    X[:, 1] = y + np.arange(200) / 1e3
    for memory in ("gaussian", "auto"):
        model = ConfidenceTreeClassifier(bound, leaf_memory=memory, grace_period=20)
        model.partial_fit(X[:100], y[:100], classes=[0, 1])
        model = pickle.loads(pickle.dumps(model)).partial_fit(X[100:], y[100:])
        assert model.score(X, y) == 1.0
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("memory", ["histogram", "gaussian"])
def test_rows_of_fit_are_no_evidence_of_its_leaves(memory):
    """A bound that counts rows since the creation of a leaf has used those of `fit`."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)).astype(np.float32), np.arange(300) % 2
    model = ConfidenceTreeClassifier(
        "evalue", leaf_memory=memory, leaf_prediction="nba", grace_period=1e9
    )
    model.fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    leaf = read_leaves(model)[0]
    assert model.tree_.node_count == 1
    assert (leaf.n_fresh, leaf.n_held) == (100.0, 300.0)
    if memory == "histogram":
        assert leaf.counts_of(0, fresh=True).sum() == 100.0
    else:
        n, (mean, _, low, high) = leaf.fresh_moments[2]
        assert n == 100.0
        np.testing.assert_allclose(mean, X[200:].mean(axis=0, dtype=float))
        np.testing.assert_array_equal(low, X[200:].min(axis=0))
        np.testing.assert_array_equal(high, X[200:].max(axis=0))


def add_row(n, mean, squares, x):
    new = mean + (x - mean) / (n + 1)
    return n + 1, squares + (x - mean) * (x - new), new


# --- naive Bayes ------------------------------------------------------------


def bayes_scores(leaf, x, K):
    """Log scores of the classes, by the documented formulas, -inf if not met."""
    scores = np.full(K, -np.inf)
    for c in np.flatnonzero(leaf.held):
        scores[c] = np.log(leaf.held[c])
        for f, value in enumerate(x):
            if leaf.memory == HISTOGRAM:
                edges, table = leaf.bins_of(f), leaf.counts_of(f)
                count = table[bin_of(edges, value), c]
                scores[c] += np.log((count + 1 / len(edges)) / (leaf.held[c] + 1))
            else:
                scores[c] += log_density(leaf, c, K, f, value)
    return scores


def log_density(leaf, c, K, f, value):
    """Log density of a value in class c, or its probability if there are but two."""
    _, (mean, squares, low, high) = leaf.moments[K]
    total = leaf.known[K][f]
    if not squares[f] > 0 or np.isnan(value):
        return 0.0  # a constant says nothing
    block, n = leaf.moments[c][1].copy(), leaf.known[c][f]
    if n == 0:  # a class whose rows all miss it is like all classes
        block[0, f] = mean[f]
    largest = total * (mean[f] - low[f]) * (high[f] - mean[f])
    if squares[f] > 0.999999 * largest and value in (low[f], high[f]):
        other = low[f] if value == high[f] else high[f]
        share = abs(value - block[0, f]) / abs(value - other)
        return np.log(1 - (n * share + 0.5) / (n + 1))
    variance = (block[1, f] + squares[f] / total) / (n + 1)
    return stats.norm.logpdf(value, block[0, f], np.sqrt(variance))


@pytest.mark.parametrize("memory", MEMORIES)
@NB_GROUP
@given(stream=streams(min_rows=2, max_rows=140, pool=False), weighted=st.booleans())
def test_naive_bayes(memory, stream, weighted):
    assert_scored_by_bayes(memory, stream, weighted)


@pytest.mark.parametrize("memory", ["rows", "gaussian"])
@NB_GROUP
@given(
    stream=streams(min_rows=2, pool=False, kinds_of_features=("holes", "ties")),
    late=st.booleans(),
)
def test_naive_bayes_of_rows_with_missing_values(memory, stream, late):
    if late:  # class 1 misses the first feature for a while
        stream.X[: len(stream) // 2][stream.y[: len(stream) // 2] == 1, 0] = np.nan
    assert_scored_by_bayes(memory, stream, False)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("memory", ["histogram", "gaussian"])
@pytest.mark.parametrize("n_features", [14, 15, 20, 21, 41])
def test_naive_bayes_of_many_features(n_features, memory, n_classes):
    """One logarithm is taken of the product of at most 14 or 20 factors."""
    kinds = ["continuous", "continuous", "one_hot", "continuous", "ties"]
    kinds = (9 * kinds)[: n_features - 1] + ["constant"]
    stream = make_stream(n_features, 130, n_classes, kinds, signal=0.05)
    assert_scored_by_bayes(memory, stream, False, 10)
    stream.X[::7, :9] = np.nan
    if memory == "gaussian":
        assert_scored_by_bayes(memory, stream, True, 10)


def assert_scored_by_bayes(memory, stream, weighted, n_rows=None):
    class_weight = None
    if weighted:
        class_weight = {c: 0.5 + 0.75 * c for c in range(stream.n_classes)}
    model, leaf = single_leaf(
        stream, memory, leaf_prediction="nb", class_weight=class_weight
    )
    rows = stream.X[:n_rows]
    found = model.predict_proba(rows)
    assert np.isfinite(found).all()
    if not stream.weights.any():
        np.testing.assert_allclose(found, 1 / stream.n_classes)
        return
    scores = np.array([bayes_scores(leaf, x, stream.n_classes) for x in rows])
    if weighted:
        scores += np.log(list(class_weight.values()))
    np.testing.assert_allclose(
        found, special.softmax(scores, axis=1), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("prediction", ["nb", "nba"])
def test_uninformative_features_are_harmless(memory, prediction):
    """Constant columns change no prediction, one-hot columns are no trouble."""
    plain = make_stream(5, 1500, 3, ["continuous", "ties", "one_hot"], signal=2.0)
    padded = make_stream(5, 1500, 3, ["continuous", "ties", "one_hot"], signal=2.0)
    padded.X = np.column_stack([plain.X, np.zeros(1500), np.full(1500, 7.25)]).astype(
        np.float32
    )
    predicted = []
    for stream in (plain, padded):
        model = ConfidenceTreeClassifier(
            bound="gtest",
            grace_period=50,
            leaf_memory=memory,
            leaf_prediction=prediction,
        )
        predicted.append(learn(model, stream, foresee=True))
        assert np.isfinite(model.predict_proba(stream.X)).all()
    assert (predicted[0] == predicted[1]).mean() > 0.99
    assert (predicted[0] == plain.y)[500:].mean() > 0.75


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("bayes_is_better", [False, True])
def test_adaptive_leaves_take_the_better_of_both(memory, bayes_is_better):
    """The classes differ in frequency and in nothing else, or in nothing else."""
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < (0.5 if bayes_is_better else 0.2)).astype(int)
    X = rng.normal(size=(2000, 3))
    if bayes_is_better:
        X[:, 1] += 1.5 * y
    else:
        X[:, 1:] = np.where(y == 1, 1.0, 1.3)[:, None] * X[:, :1]  # misleads the naive
    accuracy = {}
    for prediction in ("majority", "nb", "nba"):
        model = ConfidenceTreeClassifier(
            bound="hoeffding",
            grace_period=1e12,
            leaf_memory=memory,
            leaf_prediction=prediction,
        )
        predicted = model.partial_fit_predict(X, y, [0, 1])
        accuracy[prediction] = (predicted == y).mean()
    assert (accuracy["nb"] > accuracy["majority"] + 0.05) == bayes_is_better
    assert accuracy["nba"] >= max(accuracy.values()) - 0.03


@pytest.mark.parametrize("n_features", [19, 20, 21, 45])
def test_naive_bayes_of_many_features_of_two_classes(n_features):
    """Two classes have a path of their own; a third without rows changes nothing."""
    rng = np.random.default_rng(n_features)
    y = rng.integers(0, 2, 300)
    X = (rng.normal(size=(300, n_features)) + 0.3 * y[:, None]).astype(np.float32)
    one, other = (
        ConfidenceTreeClassifier(
            bound=CredibleBound(1e-9), leaf_memory="histogram", leaf_prediction="nb"
        ).partial_fit(X, y, classes)
        for classes in ([0, 1], [0, 1, 2])
    )
    assert one.get_n_leaves() == other.get_n_leaves() == 1
    proba = one.predict_proba(X)
    assert proba.max() > 0.9
    np.testing.assert_allclose(proba, other.predict_proba(X)[:, :2], rtol=1e-9)


def test_classes_before_learning_are_those_of_shrunk_probabilities():
    """A fitted tree keeps its shrinkage as it grows on, also without naive Bayes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.2)
    y = np.where(rng.random(900) < 0.35, rng.integers(0, 3, 900), y)
    tree = ConfidenceTreeClassifier(leaf_prediction="majority", random_state=0)
    tree.fit(X[:600], y[:600])
    assert tree.tree_.shrinkage > 0
    for i in range(600, 900):
        expected = tree.predict(X[i : i + 1])
        assert tree.partial_fit_predict(X[i : i + 1], y[i : i + 1]) == expected


@pytest.mark.parametrize("memory", ["gaussian", "histogram"])
def test_inherited_statistics_are_dropped_after_ten_times_as_many_rows(memory):
    """A leaf inherits at most 100 rows; after 1,000 of its own it has these alone."""
    stream = make_stream(3, 4000, kinds=["continuous", "ties"], signal=1.2)
    model = ConfidenceTreeClassifier(
        "evalue",
        leaf_memory=memory,
        leaf_prediction="nba",
        grace_period=400,
        max_leaf_nodes=2,
    )
    learn(model, stream, [400])
    assert model.tree_.node_count == 3
    rows = 400 + np.flatnonzero(model.apply(stream.X[400:]) == 1)[:1000]
    learn(model, stream, [rows[-1]], 400)
    before, n_bytes = read_leaves(model)[1], model.n_bytes_
    assert before.n_fresh == 999.0
    assert before.n_held == pytest.approx(1099.0)
    learn(model, stream, [rows[-1] + 1], rows[-1])
    leaf = read_leaves(model)[1]
    counts = np.bincount(stream.y[rows], minlength=2)
    np.testing.assert_array_equal(leaf.fresh, counts)
    np.testing.assert_array_equal(leaf.held, counts)
    assert leaf.n_fresh == leaf.n_held == 1000.0
    assert leaf.hits[2] <= 1.0 < before.hits[2]  # the last row's own
    assert abs(leaf.hits[1] - before.hits[1:3].max()) < 1.5
    assert model.n_bytes_ < n_bytes
    if memory == "histogram":
        assert leaf.fresh_histogram is None
        for feature in (0, 1):
            np.testing.assert_array_equal(
                leaf.counts_of(feature),
                table_of(stream, rows, feature, leaf.bins_of(feature)),
            )
        return
    assert leaf.fresh_moments == {}
    for c in (0, 1, 2):
        X = stream.X[rows[stream.y[rows] == c] if c < 2 else rows].astype(float)
        n, block = leaf.moments[c]
        assert n == len(X)
        np.testing.assert_allclose(
            block, [X.mean(axis=0), n * X.var(axis=0), X.min(axis=0), X.max(axis=0)]
        )
