"""Scores of query strategies against slow, simple versions."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.special import entr
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import (
    ActiveLearner,
    DensitySampling,
    EC2Sampling,
    LeafRiskSampling,
    LTSSampling,
    MarginSampling,
    MostLikelySampling,
    WeightedSampling,
)
from skconftree.active.pool import (
    DiversitySampling,
    ExpectedErrorSampling,
    LeafEntropySampling,
    SamplingStrategy,
    _context,
    _strategies,
)
from skconftree.active.pool._context import Embedding
from skconftree.bounds import excess_risk_upper, risk_upper

X, Y = load_iris(return_X_y=True)
KNOWN = np.array([i % 10 == 0 for i in range(150)])


def context_of(estimator, strategy="random", X=X, y=Y, known=KNOWN):
    labels = np.full(len(y), None)
    labels[known] = y[known]
    one = ActiveLearner(estimator, strategy=strategy, random_state=0).fit(X, labels)
    return one, one._context(one._strategy.needs)


def scores_of(estimator, strategy, **more):
    one, context = context_of(estimator, strategy, **more)
    return one._strategy.score(context), one.estimator_.predict_proba(X[~KNOWN])


@pytest.mark.parametrize("estimator", [GaussianNB(), RandomForestClassifier(9)])
def test_the_most_likely_rows_of_a_class(estimator):
    score, proba = scores_of(estimator, "most_likely")
    if isinstance(estimator, GaussianNB):
        np.testing.assert_array_equal(score, proba[:, 2])  # the last class
        score, proba = scores_of(estimator, MostLikelySampling(0))
        np.testing.assert_array_equal(score, proba[:, 0])
    names = np.array(["rare", "other", "x"])[Y]
    one, _ = context_of(estimator, MostLikelySampling("rare"), y=names)
    selected, scores = one.query(5, return_scores=True)
    assert (names[selected] == "rare").all()
    largest = np.sort(one.predict_proba(X[~KNOWN])[:, 1])[::-1][:5]
    np.testing.assert_allclose(scores, largest)


def test_a_class_without_labels_is_looked_for_among_uncertain_rows():
    known = KNOWN & (Y < 2)
    one = ActiveLearner(
        GaussianNB(), strategy=MostLikelySampling(2), classes=[0, 1, 2], random_state=0
    )
    one.fit(X, np.where(known, Y, None))
    score = one._strategy.score(one._context(one._strategy.needs))
    proba = GaussianNB().fit(X[known], Y[known]).predict_proba(X[~known])
    np.testing.assert_allclose(score, 1.0 - proba.max(axis=1))


def test_a_rare_class_is_found():
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(600, 3))
    rare = (pool[:, 0] > 1.5).astype(int)
    found = {}
    for strategy in ("random", "margin", "most_likely"):
        one = ActiveLearner(GaussianNB(), strategy=strategy, random_state=0)
        one.fit(pool, [*rare[:40], *[None] * 560])
        found[strategy] = rare[:40].sum()
        one.run(lambda _, rows: rare[rows], budget=40)
        found[strategy] = int((one.y_ == 1).sum()) - found[strategy]
    assert rare[:40].sum() > 0
    assert found["most_likely"] > max(found["margin"], 3 * found["random"])


def test_uncertainties():
    margin, proba = scores_of(GaussianNB(), "margin")
    ordered = np.sort(proba, axis=1)
    np.testing.assert_allclose(margin, 1.0 - (ordered[:, 2] - ordered[:, 1]))
    confidence, _ = scores_of(GaussianNB(), "least_confident")
    np.testing.assert_allclose(confidence, 1.0 - proba.max(axis=1))
    entropy, _ = scores_of(GaussianNB(), "entropy")
    np.testing.assert_allclose(entropy, entr(proba).sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("strategy", ["margin", "auto", "leaf_entropy"])
def test_a_pipeline_transforms_the_pool_once_a_query(strategy):
    """Its tree is asked for probabilities and leaves; the answers are the tree's."""
    seen = []

    def note(rows):
        seen.append(len(rows))
        return rows

    tree = ConfidenceTreeClassifier(random_state=0)
    alone, _ = context_of(tree, strategy)
    one, _ = context_of(make_pipeline(FunctionTransformer(note), tree), strategy)
    for _ in range(3):
        seen.clear()
        rows = one.query(7)
        assert sum(seen) == np.count_nonzero(one._codes < 0)
        np.testing.assert_array_equal(alone.query(7), rows)
        for learner in (alone, one):
            learner.teach(rows, Y[rows])


def test_votes_of_a_forest():
    forest = RandomForestClassifier(7, max_depth=2)
    one, context = context_of(forest, "vote_entropy")
    members = one.estimator_.estimators_
    votes = np.array([tree.predict(X[~KNOWN]) for tree in members]).astype(int)
    shares = np.array([(votes == c).mean(axis=0) for c in range(3)]).T
    np.testing.assert_allclose(context.votes, shares)
    np.testing.assert_allclose(
        one._strategy.score(context), entr(shares).sum(axis=1), atol=1e-12
    )


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize(
    "tree", [ConfidenceTreeClassifier(), DecisionTreeClassifier(max_depth=2)]
)
def test_leaf_risk_is_the_limit_of_the_leaf(tree, gap):
    strategy = LeafRiskSampling(0.05, gap=gap)
    one, context = context_of(tree, strategy)
    leaves = one.estimator_.apply(X)
    scores = strategy.score(context)
    risks, gaps = [], []
    for leaf in leaves[~KNOWN]:
        inside = leaves == leaf
        counts = np.bincount(Y[inside & KNOWN], minlength=3)
        risks.append(risk_upper(counts, 0.05, weight=inside.sum()))
        gaps.append(excess_risk_upper(counts, 0.05, weight=inside.sum()))
    expected = np.array(risks)
    if gap:
        expected = np.where(np.array(gaps) > 0.0, gaps, -1.0 / (1.0 + expected))
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


def test_leaves_without_excess_risk_come_last_by_their_risk():
    counts = np.array([[50, 1], [9, 0], [40, 40], [3, 3], [0, 0]])
    sizes = np.array([900, 5, 1, 2, 1])
    worth = LeafRiskSampling(gap=True).worth(counts, sizes, sizes.sum())
    rows = sizes + counts.sum(axis=1)
    gap = excess_risk_upper(counts, weight=rows)
    assert (gap > 0).tolist() == (worth > 0).tolist() == [False, False, *[True] * 3]
    np.testing.assert_allclose(worth[2:], gap[2:])
    assert worth[1] < worth[0] < 0.0


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_batch_evaluates_a_leaf_again_after_each_row(gap, n_classes):
    """As if the class that it predicts had been the answer."""
    y = np.minimum(Y, n_classes - 1)
    strategy = LeafRiskSampling(gap=gap)
    one, context = context_of(DecisionTreeClassifier(max_depth=2), strategy, y=y)
    leaves = one.estimator_.apply(X)
    places = np.unique(leaves)
    counts = np.array(
        [np.bincount(y[KNOWN & (leaves == k)], minlength=n_classes) for k in places]
    )
    sizes = np.array([(~KNOWN & (leaves == k)).sum() for k in places])
    chosen, scores = strategy.select(context, 40)
    asked = leaves[context.candidates[chosen]]
    for leaf, score in zip(asked, scores, strict=True):
        worth = np.where(sizes > 0, strategy.worth(counts, sizes, sizes.sum()), -np.inf)
        assert worth[places == leaf] == worth.max() == pytest.approx(score)
        counts[places == leaf, counts[places == leaf].argmax()] += 1
        sizes[places == leaf] -= 1
    assert len(set(asked)) == len(places)
    assert max(np.unique(asked, return_counts=True)[1]) > 2


def test_the_row_of_a_leaf_is_drawn_uniformly():
    x = np.r_[np.zeros(10), np.ones(300)].reshape(-1, 1)
    y = np.full(310, None)
    y[[0, 1, 2, 3, 10, 11]] = [0, 0, 0, 0, 1, 1]
    tree = DecisionTreeClassifier()
    rows = [
        ActiveLearner(tree, strategy="leaf_risk", random_state=seed)
        .fit(x, y)
        .query()[0]
        for seed in range(60)
    ]
    assert min(rows) >= 12
    assert len(set(rows)) > 45
    assert 120 < np.mean(rows) < 200


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=4).filter(lambda c: sum(c) > 0),
    st.integers(1, 50),
)
def test_expected_error_by_enumeration(counts, size):
    n = np.array(counts) + 1.0
    share = n / n.sum()
    before = size * (1.0 - share[n.argmax()])
    after = 0.0
    for c in range(len(n)):
        told = n.copy()
        told[c] += 1.0
        after += share[c] * size * (1.0 - told.max() / told.sum())
    worth = ExpectedErrorSampling().worth(np.array([counts]), np.array([size]), 100)[0]
    assert worth == pytest.approx(before - after, abs=1e-5)


def test_distances():
    _, context = context_of(GaussianNB())
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    apart = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        context.dist_to_labeled, apart[~KNOWN][:, KNOWN].min(axis=1), rtol=1e-4
    )
    nearest = np.sort(apart, axis=1)[:, 1:11].mean(axis=1)
    np.testing.assert_allclose(context.density, nearest[~KNOWN], rtol=1e-3)
    three = np.sort(apart, axis=1)[:, 1:4].mean(axis=1)[~KNOWN]
    np.testing.assert_allclose(
        DensitySampling(3, of="all").score(context), three.max() - three, atol=1e-4
    )
    free = np.sort(apart[~KNOWN][:, ~KNOWN], axis=1)[:, 1:4].mean(axis=1)
    np.testing.assert_allclose(
        DensitySampling(3).score(context), free.max() - free, atol=1e-4
    )
    np.testing.assert_allclose(
        DiversitySampling().score(context), context.dist_to_labeled
    )
    order = np.argsort(DensitySampling(of="all").score(context))
    assert (np.diff(context.density[order]) <= 0).all()


def test_a_large_pool_is_covered_by_some_of_its_rows(monkeypatch):
    monkeypatch.setattr(_strategies, "MAX_CLUSTERED_ROWS", 20)
    _, context = context_of(GaussianNB())
    chosen, scores = _strategies.cover(context, 30)
    assert len(set(chosen.tolist())) == len(scores) == 30
    assert (scores[:20] > 0.0).all()
    assert (scores[20:] == 0.0).all()  # drawn from those that were not looked at


def test_density_by_neighbors_and_by_a_sample_is_about_that_of_all_rows(monkeypatch):
    points = np.random.default_rng(0).normal(size=(2000, 3)).astype(np.float32)
    exact = Embedding(points).density()
    searched = Embedding(points, neighbors=NearestNeighbors()).density()
    np.testing.assert_allclose(searched, exact, rtol=1e-3)
    monkeypatch.setattr(_context, "MAX_EXACT_ROWS", 1000)
    monkeypatch.setattr(_context, "N_SAMPLED_ROWS", 500)
    by_sample = Embedding(points, seed=0).density()
    ranks = [np.argsort(np.argsort(one)) for one in (by_sample, exact)]
    assert 0.85 < np.corrcoef(*ranks)[0, 1] < 0.999


def density_by_brute_force(points, k, labeled, reference):
    """Mean squared distance of each unlabeled row to its nearest unlabeled rows."""
    free = np.setdiff1d(np.arange(len(points)), labeled)
    others = np.intersect1d(free, reference)
    apart = ((points[free][:, None] - points[others]) ** 2).sum(axis=2)
    return free, np.sort(apart, axis=1)[:, 1 : k + 1].mean(axis=1)


@pytest.mark.parametrize("kind", ["exact", "copies", "sample", "search"])
def test_densities_follow_the_labels(kind, monkeypatch):
    """Whatever the order of the labels, also if some are withdrawn."""
    rng = np.random.default_rng(0)
    n = 60
    points = rng.normal(size=(n, 3)).astype(np.float32)
    if kind == "copies":
        points = np.rint(points)
    elif kind == "sample":
        monkeypatch.setattr(_context, "MAX_EXACT_ROWS", 30)
        monkeypatch.setattr(_context, "N_SAMPLED_ROWS", 25)

    def embedding():
        neighbors = NearestNeighbors() if kind == "search" else None
        return Embedding(points, lambda X: X, neighbors)

    for k in (4,) if kind == "search" else (1, 4, 10):
        one = embedding()
        for _ in range(3):
            order, end = rng.permutation(n), 0
            while end < n - 3:
                labeled, chosen = np.split(order[:end], [end // 2 if end % 2 else end])
                if len(np.setdiff1d(one._reference, order[:end])) < 2:
                    break
                free, expected = density_by_brute_force(
                    points, k, order[:end], one._reference
                )
                found = one.density(k, labeled, chosen)[free]
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
                # the cache does not matter
                fresh = embedding().density(k, order[:end])
                assert np.array_equal(found, fresh[free])
                end += int(rng.integers(1, 6))
    assert (one.density(3, np.arange(1, n)) == 0.0).all()  # a single row
    assert np.array_equal(one.density(3), one.density(3, []))


def test_density_is_that_of_the_unlabeled_rows():
    points = np.array([[0.0]] * 5 + [[0.01], [3.0], [3.3], [3.6], [3.9]])
    labels = [0, 1, 0, 1, 0] + [None] * 5
    for of, wanted in (("unlabeled", {7, 8}), ("all", {5})):
        for k in (2, 3):
            strategy = DensitySampling(k, of=of)
            learner = ActiveLearner(GaussianNB(), strategy=strategy, random_state=0)
            learner.fit(points, labels)
            assert int(learner.query()[0]) in wanted


@pytest.mark.parametrize("value", [0.0, 1.0, 1e30])
def test_equal_rows_of_a_sparse_pool_lie_together(value):
    points = Embedding(csr_matrix(np.full((5, 3), value))).points
    assert np.isfinite(points).all()
    assert (points == points[0]).all()


def test_k_center_covers():
    from scipy.spatial.distance import cdist

    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 2))
    one = ActiveLearner(GaussianNB(), strategy="k_center", random_state=0).fit(points)
    rows = one.query(6)
    scaled = (points - points.mean(axis=0)) / points.std(axis=0)
    chosen = [rows[0]]
    assert rows[0] == (scaled**2).sum(axis=1).argmin()
    for row in rows[1:]:
        assert row == cdist(scaled, scaled[chosen]).min(axis=1).argmax()
        chosen.append(row)


def test_weighted_scores_are_scaled_sums():
    mixed = WeightedSampling(
        [("unsure", MarginSampling(), 2.0), ("crowded", DensitySampling(), 1.0)]
    )
    one, context = context_of(GaussianNB(), mixed)
    parts = [MarginSampling().score(context), DensitySampling().score(context)]
    scaled = [(s - s.min()) / (s.max() - s.min()) for s in parts]
    np.testing.assert_allclose(one._strategy.score(context), 2 * scaled[0] + scaled[1])


class Away(SamplingStrategy):
    """Somebody's own strategy that looks at distances to labeled rows."""

    def score(self, context):
        return np.sqrt(context.dist_to_labeled)


@pytest.mark.parametrize(
    ("distant", "known"),
    [(DiversitySampling(), []), (DiversitySampling(), [3, 77]), (Away(), [3, 77])],
)
def test_a_weighed_batch_is_that_of_single_queries(distant, known):
    """Rows of a batch count as labeled, for distances and for the scales of scores."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(90, 2))
    labels = np.full(90, None)
    labels[known] = [0, 1][: len(known)]
    mixed = WeightedSampling([("a", DensitySampling(5), 1.0), ("b", distant, 1.5)])
    costs = rng.uniform(1.0, 2.0, size=90)
    for prices in (None, costs):
        make = partial(ActiveLearner, GaussianNB(), strategy=mixed, random_state=0)
        one, batch = make().fit(points, labels), make().fit(points, labels)
        rows = batch.query(8, costs=prices)
        singles = []
        for i in range(8):
            singles.append(one.query(1, costs=prices)[0])
            one.teach(singles[-1:], [i % 2])
        assert rows.tolist() == singles


def test_weighed_rows_keep_away_from_each_other():
    points = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 15, axis=0)
    mixed = WeightedSampling([("a", "density", 0.1), ("b", "diversity", 1.0)])
    one = ActiveLearner(GaussianNB(), strategy=mixed, random_state=0).fit(points)
    assert len(set(one.query(20) // 15)) == 20


def test_parameters_of_weighed_strategies_are_checked():
    mixed = WeightedSampling([("a", DensitySampling(0), 1.0)])
    with pytest.raises(ValueError, match="'n_neighbors' parameter of DensitySampling"):
        ActiveLearner(GaussianNB(), strategy=mixed).fit(X)


def test_weighted_strategies_may_be_named_or_functions():
    def first(estimator, X):
        return X[:, 0]

    mixed = WeightedSampling([("a", "margin", 1.0), ("b", first, 2.0)])
    one, context = context_of(GaussianNB(), mixed)
    parts = [MarginSampling().score(context), X[context.candidates, 0]]
    scaled = [(s - s.min()) / (s.max() - s.min()) for s in parts]
    np.testing.assert_allclose(one._strategy.score(context), scaled[0] + 2 * scaled[1])
    with pytest.raises(ValueError, match="needs members that vote"):
        ActiveLearner(
            GaussianNB(), strategy=WeightedSampling([("a", "vote_entropy", 1.0)])
        ).fit(X)


@pytest.mark.parametrize(
    ("strategies", "message"),
    [
        ([], "must not be empty"),
        ([("a", MarginSampling())], r"list of \(name, strategy, weight\)"),
        ([("a", "margins", 1.0)], "Strategy 'a' is invalid: strategy must be one of"),
        (
            [("a", MarginSampling, 1.0)],
            "Strategy 'a' is invalid: strategy must be one of",
        ),
        ([("a", "auto", 1.0)], "Strategy 'a' must return scores. Got 'auto'"),
        ([("a", MarginSampling(), 0.0)], "weight of strategy 'a' must be above 0"),
    ],
)
def test_bad_weights(strategies, message):
    with pytest.raises(ValueError, match=message):
        ActiveLearner(GaussianNB(), strategy=WeightedSampling(strategies)).fit(X)


def test_auto_makes_some_random_queries():
    y = np.full(150, None)
    y[KNOWN] = Y[KNOWN]
    margins, others = [], []
    for seed in range(40):
        one = ActiveLearner(GaussianNB(), strategy="auto", random_state=seed).fit(X, y)
        rows = one.query(20)
        proba = np.sort(one.predict_proba(X[~KNOWN]), axis=1)
        narrow = np.flatnonzero(~KNOWN)[np.argsort(proba[:, 2] - proba[:, 1])[:20]]
        margins.append(np.isin(rows, narrow).sum())
        others.append(20 - margins[-1])
    assert 1.0 < np.mean(others) < 3.0


@pytest.mark.parametrize(
    ("strategy", "name"),
    [
        (LeafRiskSampling(delta=1.0), "delta"),
        (LeafRiskSampling(gap="yes"), "gap"),
        (LeafRiskSampling(prior="flat"), "prior"),
        (LTSSampling(alpha=-1.0), "alpha"),
        (EC2Sampling(stale_factor=-1.0), "stale_factor"),
    ],
)
def test_parameters_of_strategies_are_checked_by_fit(strategy, name):
    one = ActiveLearner(ConfidenceForestClassifier(2), strategy=strategy)
    with pytest.raises(
        ValueError, match=f"'{name}' parameter of {type(strategy).__name__}"
    ):
        one.fit(X)
    assert not hasattr(one, "n_features_in_")


def test_a_function_receives_fitted_classifiers_only():
    asked = []

    def least_sure(estimator, X):
        asked.append(len(X))
        return 1.0 - estimator.predict_proba(X).max(axis=1)

    learner = ActiveLearner(GaussianNB(), strategy=least_sure, random_state=0).fit(X)
    while len(getattr(learner, "classes_", ())) < 2:
        rows = learner.query()  # the pool is covered
        learner.teach(rows, Y[rows])
    assert not asked
    learner.query()
    assert asked == [150 - learner.n_labeled_]


@pytest.mark.parametrize(
    "strategy",
    [
        LeafEntropySampling(),
        LeafRiskSampling(gap=False),
        LeafRiskSampling(gap=True),
        ExpectedErrorSampling(),
    ],
    ids=repr,
)
def test_a_leaf_of_the_only_class_is_one_of_two_classes(strategy):
    one, sizes = np.array([[4.0], [0.0], [9.0]]), np.array([5.0, 3.0, 40.0])
    two = np.column_stack([one, np.zeros(3)])
    np.testing.assert_array_equal(
        strategy.worth(one, sizes, 48.0), strategy.worth(two, sizes, 48.0)
    )
