"""EC2 on pools: the family of eight, what it asks for, and when it has nothing to ask.

Choices are compared with the definition on a graph of hypotheses, lazy ones with those
of all scores, and what is remembered between queries with what is found out again.
"""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.ec2 import score
from reference.effort import crossed
from reference.hyperplanes import X, Y, cloud, learner_of
from reference.oasis import likelihood
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skconftree import ConfidenceForestClassifier, OASISClassifier
from skconftree.active import (
    ActiveLearner,
    ArrayOracle,
    EC2Sampling,
    GBSSampling,
    MarginSampling,
    WeightedSampling,
)
from skconftree.active.ec2 import _strategies

FAMILY = [
    {"lazy": lazy, "clustered": clustered, "pure": pure}
    for lazy in (False, True)
    for clustered in (False, True)
    for pure in (False, True)
]
RNG = np.random.default_rng(0)
IRIS, KIND = load_iris(return_X_y=True)


def forest_learner(strategy, n=9, **parameters):
    known = [label if i % 10 == 0 else None for i, label in enumerate(KIND)]
    forest = ConfidenceForestClassifier(n, random_state=0, bound=None)
    return ActiveLearner(forest, strategy=strategy, random_state=0, **parameters).fit(
        IRIS, known
    )


def asked(one, y, n_rounds=12, k=1, **more):
    """Rows and scores of rounds in a row."""
    rows, scores = [], []
    for _ in range(n_rounds):
        found = one.query(k, return_scores=True, **more)
        rows.append(found[0])
        scores.append(found[1])
        one.teach(found[0], y[found[0]])
    return np.array(rows), np.array(scores)


# -- choices ----------------------------------------------------------------------


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_each_query_cuts_the_most_edges(lazy, clustered):
    """Hypotheses drawn once, against the graph; the score is a share of all weight."""
    model = cloud(14)
    strategy = EC2Sampling(lazy=lazy, pure=True, clustered=clustered)
    one = learner_of(strategy, model, X[:30])
    outcomes, weights, groups = model.hypotheses(X[:30])
    if clustered:
        groups = strategy._hypotheses(one._context(strategy.needs)).groups
        assert len(set(groups)) == 2  # at most sqrt(14 / 2)
    alive = np.ones(14, dtype=bool)
    for _ in range(6):
        open_rows = np.flatnonzero([row not in one._order for row in range(30)])
        slow = {x: score(outcomes[:, x], weights, groups, alive) for x in open_rows}
        rows, scores = one.query(3, return_scores=True)
        assert_allclose(scores, [slow[x] for x in rows], atol=1e-12)
        best = sorted(slow.values(), reverse=True)
        assert_allclose(scores, best[:3], atol=1e-12)
        x = rows[0]
        one.teach(x, Y[x], sample_weight=[1.0])
        alive &= outcomes[:, x] == Y[x]
    assert alive.sum() < 4


def cases():
    yield lambda s: learner_of(s), Y, {}
    yield lambda s: learner_of(s), Y, {"k": 4}
    yield lambda s: learner_of(s), Y, {"costs": RNG.choice([1.0, 3.0], 120)}
    yield lambda s: forest_learner(s), KIND, {}
    yield lambda s: forest_learner(s, tie_break="density"), KIND, {"k": 3}


@pytest.mark.parametrize(
    ("case", "clustered", "on_exhausted"),
    crossed(cases(), [False, True], ["random", "resample"]),
)
def test_lazy_and_pure_is_exact(case, clustered, on_exhausted):
    make, y, more = case
    given = {"pure": True, "clustered": clustered, "on_exhausted": on_exhausted}
    rows, scores = asked(make(EC2Sampling(**given)), y, **more)
    lazy = EC2Sampling(lazy=True, **given)
    found, found_scores = asked(make(lazy), y, **more)
    assert_array_equal(found, rows)
    assert_array_equal(found_scores, scores)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_weights_of_any_size(grouped, seed):
    """Sums are rounded: rows that are alike have the same score all the same."""
    rng = np.random.default_rng(seed)
    planes = rng.normal(size=(80, 4))
    planes[40:60] = planes[:20]
    weights = rng.gamma(0.3, size=80)
    groups = rng.integers(0, 9, 80) if grouped else None
    rows = np.repeat(X, 3, axis=0)  # of which three each are alike

    def told(X):
        return (planes @ X.T > 0).astype(int), weights, groups

    found = []
    for lazy in (False, True):
        one = ActiveLearner(
            Committee(told),
            strategy=EC2Sampling(pure=True, lazy=lazy),
            random_state=0,
        ).fit(rows, [0, 1] + [None] * 358)
        found.append(asked(one, np.repeat(Y, 3), 8, k=2))
    assert_array_equal(found[0][0], found[1][0])
    assert_array_equal(found[0][1], found[1][1])


def test_old_scores_as_a_guess():
    """D6: multiplied by 0 the first block wins; by a large number all are scored."""
    exact = asked(learner_of(EC2Sampling()), Y)
    large = EC2Sampling(lazy=True, stale_factor=1e12)
    found = asked(learner_of(large), Y)
    assert_array_equal(found, exact)
    none = EC2Sampling(lazy=True, stale_factor=0)
    one = learner_of(none)
    asked(one, Y, 1)
    assert none.n_scored_ == 120
    asked(one, Y, 1)
    assert none.n_scored_ == 16


@pytest.mark.parametrize("factor", [0.0, 1e-320, 1.0, 1e308, "consistent"])
def test_rows_without_an_old_score(factor):
    """Rows that were skipped or had a label have none; no factor makes one of that."""
    strategy = EC2Sampling(lazy=True, stale_factor=factor)
    one = forest_learner(strategy)
    for _ in range(4):
        rows = one.query(3)
        one.teach(rows, [KIND[rows[0]], KIND[rows[1]], None])
    assert len(one.query(140)) == 127
    one.undo(2)
    assert len(one.query(3)) == 3


def test_the_published_factor():
    """The share of the last round's hypotheses that foresaw the answer."""
    strategy = EC2Sampling(lazy=True)
    one = learner_of(strategy)
    outcomes = one.estimator_.hypotheses(X)[0]
    row = one.query()
    share = (outcomes[:, row[0]] == Y[row[0]]).mean()
    n_scored = strategy.n_scored_
    assert_array_equal(one.query(), row)
    assert strategy.n_scored_ == n_scored
    one.teach(row, Y[row])
    context = one._context(strategy.needs)
    scores = learner_of(EC2Sampling())._strategy.score(
        learner_of(EC2Sampling())._context(strategy.needs)
    )
    assert_allclose(strategy._stale(context), scores * share)


@pytest.mark.parametrize(
    ("settings", "make"), crossed(FAMILY, [learner_of, forest_learner])
)
def test_the_family_learns(settings, make):
    y = Y if make is learner_of else KIND
    one = make(EC2Sampling(**settings))
    rows, _ = asked(one, y, 15)
    assert len(set(rows[:, 0])) == 15
    table = X if make is learner_of else IRIS
    assert one.score(table, y) > 0.8


# -- groups -----------------------------------------------------------------------


def test_groups_are_clusters():
    model = cloud(200)
    for clusterer in (None, KMeans(5, n_init=1, random_state=0), DBSCAN(0.5)):
        strategy = EC2Sampling(clustered=True, clusterer=clusterer)
        one = learner_of(strategy, model)
        groups = strategy._hypotheses(one._context(strategy.needs)).groups
        assert_array_equal(np.unique(groups), np.arange(groups.max() + 1))
        if clusterer is None:
            assert len(set(groups)) <= 10
        elif isinstance(clusterer, KMeans):
            expected = clusterer.fit_predict(model.hypothesis_points())
            assert len(set(zip(groups, expected, strict=True))) == 5
        else:  # what belongs nowhere stands alone
            noise = clusterer.fit_predict(model.hypothesis_points()) < 0
            assert (np.bincount(groups)[groups[noise]] == 1).all()


def test_copies_of_a_plane_stay_together():
    model = cloud(100).partial_fit(X[:6], Y[:6])
    _, _, copies = model.hypotheses(X)
    assert len(set(copies)) < 70
    strategy = EC2Sampling(clustered=True)
    one = learner_of(strategy, model)
    groups = strategy._hypotheses(one._context(strategy.needs)).groups
    assert len(set(zip(copies, groups, strict=True))) == len(set(copies))


def test_trees_are_compared_by_what_they_say():
    strategy = EC2Sampling(clustered=True)
    one = forest_learner(strategy, 40)
    hypotheses = strategy._hypotheses(one._context(strategy.needs))
    assert len(set(hypotheses.groups)) <= 4
    foreseen = hypotheses.outcomes(IRIS, np.arange(150))
    for tree in range(40):
        alike = (foreseen == foreseen[tree]).all(axis=1)
        assert len(set(hypotheses.groups[alike])) == 1


# -- the end ----------------------------------------------------------------------


def test_queries_are_random_without_edges():
    strategy = EC2Sampling(pure=True)
    one = learner_of(strategy, cloud(8))
    asked(one, Y, 8)
    rows, scores = one.query(5, return_scores=True)
    assert (scores == 0.0).all()
    others = learner_of(strategy, cloud(8), random_state=1)
    for row in one._order:
        others.teach(row, Y[row])
    assert set(others.query(5)) != set(rows)


def test_no_edge_left_draws_again():
    one = learner_of(EC2Sampling(pure=True, on_exhausted="resample"), cloud(50))
    _, scores = asked(one, Y, 25)
    assert (scores[8:] > 0.0).any()
    dead = learner_of(EC2Sampling(pure=True), cloud(50))
    assert (asked(dead, Y, 25)[1][8:] == 0.0).all()


class Committee(ClassifierMixin, BaseEstimator):
    """Hypotheses as told."""

    def __init__(self, told=None):
        self.told = told

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[np.zeros(len(X), dtype=int)]

    def hypotheses(self, X):
        return self.told(X)


def committee_learner(told, strategy, X=X):
    known = [Y[i] if i < 20 else None for i in range(len(X))]
    return ActiveLearner(Committee(told), strategy=strategy, random_state=0).fit(
        X, known
    )


@pytest.mark.parametrize("settings", FAMILY)
def test_hypotheses_that_all_agree(settings):
    def told(X):
        return np.ones((5, len(X)), dtype=int), np.ones(5), None

    one = committee_learner(told, EC2Sampling(**settings))
    rows, scores = asked(one, Y, 5, k=2)
    assert (scores == 0.0).all()
    assert len(set(rows.ravel())) == 10
    others = committee_learner(told, EC2Sampling(**settings)).set_params(random_state=3)
    assert set(others.fit(X, one.y_).query(10)) != set(range(20, 30))


@pytest.mark.parametrize("settings", [s for s in FAMILY if s["pure"]])
@pytest.mark.parametrize("on_exhausted", ["random", "resample"])
def test_hypotheses_that_are_all_dead(settings, on_exhausted):
    """The truth is not among them; labels that no hypothesis knows at all."""

    def told(X):
        outcomes = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
        return outcomes[:, np.arange(len(X)) % 3], np.array([2.0, 1.0, 1.0]), None

    one = committee_learner(told, EC2Sampling(on_exhausted=on_exhausted, **settings))
    for label in (1, 1, 7, 7):
        row = one.query()
        one.teach(row, [label])
    assert len(one.query(3)) == 3


# -- what it depends on -----------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "make"), crossed(FAMILY, [learner_of, forest_learner])
)
def test_queries_are_a_function_of_the_answers(settings, make):
    """Asked twice, after undo, out of a pickle, and however often before."""
    y = Y if make is learner_of else KIND
    strategy = EC2Sampling(on_exhausted="resample", **settings)
    one = make(strategy)
    rows, _ = asked(one, y, 10)
    following = one.query()
    assert_array_equal(one.query(), following)
    if settings["lazy"] and not settings["pure"]:
        return  # old scores are a guess: the choice depends on earlier queries
    state = pickle.dumps(one)
    assert_array_equal(pickle.loads(state).query(), following)
    one.query(5)
    assert pickle.dumps(one) == state
    one.undo(3)
    for row in rows[7:]:
        one.teach(row, y[row])
    assert_array_equal(one.query(), following)
    other = make(EC2Sampling(on_exhausted="resample", **settings))
    for row in rows:
        other.teach(row, y[row])
    assert_array_equal(other.query(), following)


def test_classes_that_come_late_change_nothing():
    names = np.array(["no", "yes"])[Y]
    model = OASISClassifier(
        n_particles=200,
        standardize=False,
        fit_intercept=False,
        resample=False,
        random_state=0,
    ).partial_fit(np.zeros((1, 4)), [None], ["no", "yes"], sample_weight=[0.0])
    given = {"pure": True, "lazy": True}
    late = learner_of(EC2Sampling(**given), model)
    early = learner_of(EC2Sampling(**given), model, classes=["no", "yes"])
    assert_array_equal(asked(late, names)[0], asked(early, names)[0])


def test_costs():
    """By query, by parameter, the former before the latter."""
    costs = RNG.choice([1.0, 4.0], 120)
    by_query = asked(learner_of(EC2Sampling()), Y, costs=costs)[0]
    assert_array_equal(asked(learner_of(EC2Sampling(costs=costs)), Y)[0], by_query)
    other = EC2Sampling(costs=costs[::-1].copy())
    assert_array_equal(asked(learner_of(other), Y, costs=costs)[0], by_query)
    free = asked(learner_of(EC2Sampling()), Y)[0]
    assert costs[by_query].mean() < costs[free].mean()
    for lazy in ({"pure": True}, {"stale_factor": 1e12}):
        found = asked(learner_of(EC2Sampling(costs=costs, lazy=True, **lazy)), Y)[0]
        full = {"pure": True} if "pure" in lazy else {}
        expected = asked(learner_of(EC2Sampling(costs=costs, **full)), Y)[0]
        assert_array_equal(found, expected)


def test_pipelines_and_parts():
    pipeline = make_pipeline(
        StandardScaler(), ConfidenceForestClassifier(7, random_state=0)
    )
    known = [label if i % 5 == 0 else None for i, label in enumerate(KIND)]
    for name in ("ec2", "gbs"):
        one = ActiveLearner(pipeline, strategy=name, random_state=0).fit(IRIS, known)
        assert len(set(one.query(4))) == 4
    mixed = WeightedSampling(
        [("edges", EC2Sampling(), 1.0), ("margin", MarginSampling(), 1.0)]
    )
    assert len(ActiveLearner(pipeline, strategy=mixed).fit(IRIS, known).query(4)) == 4


# -- algorithm 4.4 ----------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["ec2", "gbs", "margin", "random"])
def test_offline_learning_changes_weights_alone(strategy):
    """The posterior of a cloud that stays: prior times likelihoods, no move."""
    model = cloud(100)
    planes = model.particles_[0]
    one = learner_of(strategy, model)
    rows = asked(one, Y, 20)[0][:, 0]
    final = one.estimator_
    assert_array_equal(final.particles_[0], planes)
    assert final.n_moves_[0] == 0
    weights = np.ones(100)
    for row in rows:
        weights *= likelihood(2 * Y[row] - 1, planes @ X[row], 0.5, 0.2)
    assert_allclose(final.weights_[0], weights / weights.sum(), rtol=1e-9)
    assert model.n_rows_seen_ == 0  # the learner has a copy


def test_a_cloud_of_an_unlabeled_run():
    run = OASISClassifier(n_particles=100, standardize=False, random_state=0)
    run.partial_fit(X, [None] * 120, classes=[0, 1])
    moved = run.n_moves_[0]
    assert moved > 0
    one = learner_of("ec2", run.set_params(resample=False))
    asked(one, Y, 15)
    assert one.estimator_.n_moves_[0] == moved
    assert one.estimator_.ess_[0] < 50


# -- halving ----------------------------------------------------------------------


def test_halving():
    model = cloud().partial_fit(X[:5], Y[:5])
    one = learner_of(GBSSampling(), model)
    context = one._context(one._strategy.needs)
    assert_array_equal(one._strategy.score(context), model.query_score(X, "gbs"))
    one = forest_learner("gbs")
    rows, scores = one.query(10, return_scores=True)
    outcomes = one.estimator_.hypotheses(IRIS[rows])[0]
    share = [np.bincount(column, minlength=3).max() / 9 for column in outcomes.T]
    assert_allclose(scores, 1 - np.array(share))


def test_halving_with_many_classes():
    planes = OASISClassifier(n_particles=50, random_state=0)
    known = [label if i % 5 == 0 else None for i, label in enumerate(KIND)]
    one = ActiveLearner(planes, strategy="gbs", random_state=0).fit(IRIS, known)
    assert len(one.query(5)) == 5
    one = ActiveLearner(planes, strategy="ec2", random_state=0).fit(IRIS, known)
    with pytest.raises(ValueError, match="one-vs-rest"):
        one.query()


# -- bad input --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lazy": 3}, "'lazy'"),
        ({"clusterer": "average"}, "'clusterer'"),
        ({"stale_factor": -0.1}, "'stale_factor'"),
        ({"stale_factor": "none"}, "'stale_factor'"),
        ({"on_exhausted": "stop"}, "'on_exhausted'"),
        ({"costs": [1.0, 2.0]}, "each of the 120 rows"),
        ({"costs": np.zeros(120)}, "positive"),
        ({"costs": np.full(120, -1.0)}, "positive"),
        ({"costs": np.full(120, np.inf)}, "positive"),
    ],
)
def test_parameters_out_of_range(parameters, message):
    with pytest.raises(ValueError, match=message):
        learner_of(EC2Sampling(**parameters)).query()
    for costs in (np.zeros(120), -np.ones(120), np.ones(3)):
        with pytest.raises(ValueError, match="costs"):
            learner_of("ec2").query(costs=costs)


def rows_of(X, value=0, h=3):
    return np.full((h, len(X)), value)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (lambda X: rows_of(X), "outcomes, weights, groups"),
        (lambda X: (rows_of(X)[0], np.ones(3), None), "shape"),
        (lambda X: (rows_of(X)[:0], np.ones(0), None), "at least one"),
        (lambda X: (rows_of(X)[:, :-1], np.ones(3), None), "shape"),
        (lambda X: (rows_of(X) + 0.5, np.ones(3), None), "indices into classes_"),
        (lambda X: (rows_of(X, 2), np.ones(3), None), "from 0 to 1"),
        (lambda X: (rows_of(X, -1), np.ones(3), None), "from 0 to 1"),
        (lambda X: (rows_of(X), np.ones(2), None), "Weights"),
        (lambda X: (rows_of(X), np.zeros(3), None), "Weights"),
        (lambda X: (rows_of(X), np.array([1, -1, 1]), None), "Weights"),
        (lambda X: (rows_of(X), np.array([1, np.nan, 1]), None), "Weights"),
        (lambda X: (rows_of(X), np.ones(3), [0, 1]), "Groups"),
        (lambda X: (rows_of(X), np.full(3, len(X)) + [1, 0, 0], None), "same weights"),
    ],
)
@pytest.mark.parametrize("pure", [False, True])
def test_hypotheses_that_are_none(told, message, pure):
    one = committee_learner(told, EC2Sampling(pure=pure))
    before = pickle.dumps(one.y_)
    with pytest.raises(ValueError, match=message):
        one.query()
    assert pickle.dumps(one.y_) == before


def test_too_many_classes():
    def told(X):
        return rows_of(X), np.ones(3), None

    one = committee_learner(told, EC2Sampling())
    one.estimator_.classes_ = np.arange(2**15 + 1)
    with pytest.raises(ValueError, match="at most 32768"):
        one.query()


def test_classifiers_without_hypotheses():
    for name in ("ec2", "gbs"):
        with pytest.raises(ValueError, match=r"hypotheses that predict.*'margin'"):
            ActiveLearner(GaussianNB(), strategy=name).fit(IRIS, KIND)


def test_a_clusterer_with_an_invalid_result():
    class Odd(BaseEstimator):
        def fit_predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(ValueError, match="must return an integer"):
        learner_of(EC2Sampling(clustered=True, clusterer=Odd())).query()


def test_an_oracle_that_raises_half_way():
    """What was answered is kept, and asking goes on as if nothing had happened."""

    def oracle(rows, places):
        if len(calls) == 7:
            raise RuntimeError("no more")
        calls.append(places[0])
        return Y[places]

    for settings in FAMILY:
        calls = []
        one = learner_of(EC2Sampling(**settings))
        with pytest.raises(RuntimeError):
            one.run(oracle, budget=20)
        assert one.n_labeled_ == 7
        assert len(one.predict(X)) == 120
        whole = learner_of(EC2Sampling(**settings)).run(ArrayOracle(Y), budget=20)
        one.run(ArrayOracle(Y), budget=20)  # all answers
        assert [a.row for a in one.history_] == [a.row for a in whole.history_]


@pytest.mark.parametrize("lazy", [False, True])
def test_a_pool_is_evaluated_in_parts(monkeypatch, lazy):
    """What all hypotheses foresee of all rows might not fit into memory."""
    whole = asked(learner_of(EC2Sampling(lazy=lazy)), Y, 3)[0]
    monkeypatch.setattr(_strategies, "CELLS", 2000)  # ten rows for 200 hypotheses
    parts = asked(learner_of(EC2Sampling(lazy=lazy)), Y, 3)[0]
    assert_array_equal(whole, parts)
