"""Learning to sample: which labels it queries, from which groups, and when."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.effort import cases
from reference.rare_class import make_rare
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.naive_bayes import GaussianNB

from skconftree.active import ActiveLearner, LearningToSampleClassifier, LTSSampling
from skconftree.active.lts._boosting import assign_folds, fit_sampler


@pytest.fixture(scope="module")
def pairs():
    return make_rare(3_000, 60, seed=0)


class Watched:
    """Labels that remember which of them were looked at."""

    def __init__(self, y):
        self.y, self.seen = y, []

    def __len__(self):
        return len(self.y)

    def __getitem__(self, place):
        self.seen.append(int(place))
        return self.y[place]


class WatchedArray(np.ndarray):
    """An array whose elements remember that they were taken."""

    def __array_finalize__(self, other):
        self.seen = getattr(other, "seen", [])

    def __getitem__(self, place):
        rows = place[0] if isinstance(place, tuple) else place
        self.seen.extend(np.atleast_1d(rows).tolist())
        return np.asarray(super().__getitem__(place))


# -- the sampling model --------------------------------------------------------


class Recorder:
    """A regressor that keeps what it is given."""

    def get_params(self, deep=False):
        return {}

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y, sample_weight):
        self.given = X, y, sample_weight
        return self

    def predict(self, X):
        return np.linspace(-1, 2, len(X))


def test_targets_and_weights_of_the_sampling_model():
    proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]])
    codes = np.array([0, 0, 0, 1])
    sampler = fit_sampler(Recorder(), np.zeros((4, 1)), codes, proba, 0)
    _, target, weight = sampler.given
    assert_allclose(target, [0.1, 0.4, 0.8, 0.7])
    assert_allclose(weight, [4 / 6, 4 / 6, 4 / 6, 4 / 2])
    assert fit_sampler(Recorder(), None, codes, np.full((4, 2), 0.5), 0) is None


def test_folds_spread_each_class():
    rng = np.random.RandomState(0)
    codes = np.repeat([0, 1, 2], [23, 7, 3])
    folds = seen = np.empty(0, dtype=int)
    for part in np.array_split(rng.permutation(codes), 4):
        folds = np.append(folds, assign_folds(part, seen, rng))
        seen = np.append(seen, part)
    for k in range(3):
        counts = np.bincount(folds[seen == k], minlength=5)
        assert counts.max() - counts.min() <= 1


def test_errors_are_those_of_trees_that_have_not_seen_the_labels(pairs):
    X, y = pairs
    flipped = y.copy()
    seen = {}

    class Spy(Recorder):
        def fit(self, X, y, sample_weight):
            seen[len(y)] = y
            return self

        def predict(self, X):
            return np.zeros(len(X))

    flipped[np.random.default_rng(0).random(len(y)) < 0.5] ^= 1  # nothing to learn
    LearningToSampleClassifier(
        400, n_rounds=2, sampler=Spy(), max_depth=8, random_state=0
    ).fit(X, flipped)
    assert seen[200].mean() > 0.45  # in sample the error would be near 0
    small = {}

    class SmallSpy(Spy):
        def fit(self, X, y, sample_weight):
            small[len(y)] = y
            return self

    LearningToSampleClassifier(
        24,
        n_rounds=3,
        sampler=SmallSpy(),
        trees_per_round=50,
        l2_regularization=0.1,
        random_state=0,
    ).fit(X, flipped)
    assert small[16].mean() < 0.3  # fewer than 20: in sample


# -- buying --------------------------------------------------------------------


def test_only_queried_are_used(pairs):
    X, y = pairs
    watched = Watched(y.tolist())
    settings = {"budget": 60, "n_rounds": 3, "random_state": 0}
    model = LearningToSampleClassifier(**settings).fit(X, watched)
    assert watched.seen == model.queried_.tolist()
    array = y.view(WatchedArray)
    array.seen = []
    same = LearningToSampleClassifier(**settings).fit(X, array)
    assert array.seen == same.queried_.tolist() == model.queried_.tolist()


@pytest.mark.parametrize(
    ("budget", "n_rounds", "sizes"),
    [
        (25, 10, [3, 3, 3, 3, 3, 2, 2, 2, 2, 2]),
        (0.01, 4, [8, 8, 7, 7]),
        (7, None, [1] * 7),
        (None, None, [10] * 10),
    ],
)
def test_labels_are_queried_in_rounds(pairs, budget, n_rounds, sizes):
    X, y = pairs
    calls = []

    def ask(rows, places):
        assert_array_equal(rows, X[places])
        calls.append(len(places))
        return y[places]

    model = LearningToSampleClassifier(budget, n_rounds=n_rounds, random_state=0)
    model.fit(X, ask)
    assert calls == sizes
    assert model.n_labeled_ == len(np.unique(model.queried_)) == sum(sizes)
    assert model.n_rounds_ == len(sizes)
    assert_array_equal(model.labels_, y[model.queried_])


@pytest.mark.slow
def test_rare_matches_are_queried(pairs):
    X, y = pairs
    model = LearningToSampleClassifier(150, random_state=0).fit(X, y)
    assert y[model.queried_].mean() > 3 * y.mean()


@pytest.mark.slow
def test_all_labels_can_be_queried():
    X, y = load_iris(return_X_y=True)
    model = LearningToSampleClassifier(150, n_rounds=3, random_state=0).fit(X, y)
    assert sorted(model.queried_) == list(range(150))
    assert model.score(X, y) == 1.0
    assert LearningToSampleClassifier(1.0, n_rounds=2).fit(X, y).n_labeled_ == 150


def test_first_labels_come_from_many_groups():
    X = np.arange(100, dtype=float)[:, None]
    groups = np.repeat(["a", "b", "c", "d"], [97, 1, 1, 1])
    model = LearningToSampleClassifier(4, n_rounds=1, groups=groups, random_state=0)
    model.fit(X, np.arange(100) % 2)
    assert sorted(groups[model.queried_]) == ["a", "b", "c", "d"]


def test_a_group_may_run_dry():
    X = np.arange(100, dtype=float)[:, None]
    groups = np.repeat([5, -1], [98, 2])
    model = LearningToSampleClassifier(20, n_rounds=5, groups=groups, alpha=np.inf)
    model.fit(X, np.arange(100) % 2)
    assert (groups[model.queried_] == -1).sum() == 2


def test_groups_of_a_clusterer(pairs):
    X, y = pairs
    clusterer = KMeans(5, n_init=1)
    model = LearningToSampleClassifier(5, n_rounds=1, groups=clusterer, random_state=7)
    model.fit(X, y)
    assert not hasattr(clusterer, "labels_")
    again = clone(model).fit(X, y)
    assert_array_equal(model.queried_, again.queried_)


def test_labels_may_be_texts_in_a_frame(pairs):
    X, y = pairs
    names = np.array(["other", "match"])[y]
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    plain = LearningToSampleClassifier(30, n_rounds=3, random_state=0).fit(X, y)
    for labels in (list(names), pd.Series(names, index=np.arange(len(y)) + 5)):
        model = LearningToSampleClassifier(30, n_rounds=3, random_state=0).fit(
            frame, labels
        )
        assert model.classes_.tolist() == ["match", "other"]
        assert_array_equal(model.predict(frame) == "match", plain.predict(X) == 1)
        assert_allclose(model.decision_function(frame), -plain.decision_function(X))

    def ask(rows, places):
        assert list(rows.columns) == list(frame.columns)
        return names[places]

    assert_array_equal(
        LearningToSampleClassifier(30, n_rounds=3, random_state=0)
        .fit(frame, ask)
        .queried_,
        model.queried_,
    )


def test_many_classes():
    X, y = make_blobs(300, centers=5, random_state=0)
    model = LearningToSampleClassifier(60, n_rounds=4, random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (300, 5)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) > 0.8


def test_one_class_only():
    X = np.arange(30.0)[:, None]
    model = LearningToSampleClassifier(10).fit(X, ["a"] * 30)
    assert model.predict(X).tolist() == ["a"] * 30
    assert_array_equal(model.predict_proba(X), np.ones((30, 1)))
    assert model.sampler_ is None


def test_any_regressor_may_be_the_sampling_model(pairs):
    X, y = pairs
    forest = RandomForestRegressor(3)
    model = LearningToSampleClassifier(
        60, n_rounds=3, sampler=forest, random_state=0
    ).fit(X, y)
    assert isinstance(model.sampler_, RandomForestRegressor)
    assert not hasattr(forest, "estimators_")
    again = clone(model).fit(X, y)
    assert_array_equal(model.queried_, again.queried_)


def test_pickle(pairs):
    X, y = pairs
    model = LearningToSampleClassifier(50, n_rounds=3, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.decision_function(X), model.decision_function(X))


# -- oracles that fail ---------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_labels_queried_before_an_oracle_raises_are_retained(pairs, error):
    X, y = pairs
    calls = []

    def ask(rows, places):
        if len(calls) == 4:
            raise error("the line is dead")
        calls.append(places)
        return y[places]

    model = LearningToSampleClassifier(100, random_state=0)
    with pytest.raises(error, match="the line is dead"):
        model.fit(X, ask)
    assert_array_equal(model.queried_, np.concatenate(calls))
    assert model.n_labeled_ == 40
    assert model.n_rounds_ == 4
    assert_array_equal(model.labels_, y[model.queried_])
    assert model.predict(X).shape == y.shape
    # the model of four rounds
    whole = LearningToSampleClassifier(40, n_rounds=4, random_state=0).fit(X, y)
    assert_array_equal(whole.queried_, model.queried_)
    assert_array_equal(whole.decision_function(X), model.decision_function(X))


def test_an_oracle_that_raises_at_once_changes_nothing(pairs):
    X, y = pairs

    def ask(rows, places):
        raise OSError("no line")

    model = LearningToSampleClassifier(20, n_rounds=2, random_state=0)
    with pytest.raises(OSError, match="no line"):
        model.fit(X, ask)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(OSError, match="no line"):
        model.fit(X[:, :3], ask)
    assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda places: [0], "label for each of 10 rows. Got 1"),
        (lambda places: places / 7, "Unknown label type"),
        (lambda places: ["a"] * 10, "mixes strings with other labels"),
    ],
)
def test_an_invalid_label_is_an_error_and_labels_are_retained(pairs, answer, message):
    X, y = pairs
    calls = []

    def ask(rows, places):
        calls.append(places)
        return y[places] if len(calls) < 4 else answer(places)

    model = LearningToSampleClassifier(100, random_state=0)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, ask)
    assert model.n_labeled_ == 30
    assert_array_equal(model.classes_, np.unique(y[model.queried_]))
    assert_array_equal(np.unique(model.predict(X)), model.classes_)


def test_rows_without_an_answer_are_skipped(pairs):
    X, y = pairs

    def ask(rows, places):
        return [None if place % 3 == 0 else y[place] for place in places]

    model = LearningToSampleClassifier(90, n_rounds=3, random_state=0).fit(X, ask)
    assert (model.skipped_ % 3 == 0).all()
    assert (model.queried_ % 3 != 0).all()
    asked = np.append(model.queried_, model.skipped_)
    assert len(np.unique(asked)) == 90
    assert model.n_labeled_ == 90 - len(model.skipped_)
    with pytest.raises(ValueError, match="returned no label"):
        LearningToSampleClassifier(9).fit(X, lambda rows, places: [None] * len(places))


# -- bad input -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"budget": 51}, "budget must be at most the 50 rows .* Got 51"),
        ({"budget": 0}, "'budget' parameter"),
        ({"budget": 1.5}, "'budget' parameter"),
        ({"budget": np.nan}, "'budget' parameter"),
        ({"budget": 5, "n_rounds": 6}, "budget must be at least n_rounds=6"),
        ({"budget": 0.1, "n_rounds": 6}, "Got 0.1, which is 5 of 50 rows"),
        ({"n_rounds": 0}, "'n_rounds' parameter"),
        ({"alpha": -0.1}, "'alpha' parameter"),
        ({"alpha": np.nan}, "'alpha' parameter"),
        ({"groups": [0, 1]}, r"one group for each of the 50 rows. Got shape \(2,\)"),
        ({"groups": [np.nan] * 50}, "returned None or NaN for some rows"),
        ({"groups": []}, r"Got shape \(0,\)"),
        ({"groups": "cells"}, "'groups' parameter"),
        ({"trees_per_round": 0}, "'trees_per_round' parameter"),
        ({"learning_rate": 0.0}, "'learning_rate' parameter"),
        ({"max_depth": 0}, "'max_depth' parameter"),
        ({"l2_regularization": -1.0}, "'l2_regularization' parameter"),
        ({"max_dimensions": 17}, "'max_dimensions' parameter"),
        ({"sampler": "trees"}, "'sampler' parameter"),
    ],
)
def test_bad_parameters(parameters, message):
    X = np.arange(50.0)[:, None]

    def ask(rows, places):
        raise AssertionError("nothing may be queried")

    model = LearningToSampleClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, ask)
    assert not hasattr(model, "n_features_in_")


def test_a_class_is_no_sampling_model():
    model = LearningToSampleClassifier(10, sampler=RandomForestRegressor)

    def ask(rows, places):
        raise AssertionError("nothing may be queried")

    with pytest.raises(TypeError, match="instance"):
        model.fit(np.arange(50.0)[:, None], ask)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (7, "y must be the labels of the pool, or a function"),
        (np.zeros(49), "Got 50 and 49"),
        (np.zeros((50, 2)), "1d array"),
        (np.linspace(0.1, 0.9, 50), "Unknown label type"),
    ],
)
def test_bad_labels(y, message):
    model = LearningToSampleClassifier(10)
    with pytest.raises(ValueError, match=message):
        model.fit(np.arange(50.0)[:, None], y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_must_be_finite(bad):
    X = np.arange(50.0)[:, None]
    X[3] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        LearningToSampleClassifier(10).fit(X, np.arange(50) % 2)


def test_a_column_of_labels_draws_a_warning():
    X, y = load_iris(return_X_y=True)
    model = LearningToSampleClassifier(30, n_rounds=2, random_state=0)
    with pytest.warns(DataConversionWarning):
        model.fit(X, y[:, None])
    same = clone(model).fit(X, y)
    assert_array_equal(model.queried_, same.queried_)


# -- the strategy --------------------------------------------------------------


def learn(strategy, X, y, batch, rounds, estimator=None, **parameters):
    estimator = GaussianNB() if estimator is None else estimator
    learner = ActiveLearner(estimator, strategy=strategy, random_state=0, **parameters)
    learner.fit(X)
    for _ in range(rounds):
        rows = learner.query(batch)
        assert len(np.unique(rows)) == batch
        learner.teach(rows, y[rows])
    return learner


def test_strategy_starts_with_many_groups():
    X, _ = load_iris(return_X_y=True)
    groups = np.where(X[:, 0] > 7.2, 1, 0) + np.where(X[:, 1] > 4, 2, 0)
    n_groups = len(np.unique(groups))
    learner = ActiveLearner(GaussianNB(), strategy=LTSSampling(groups=groups))
    rows = learner.fit(X).query(n_groups)
    assert len(np.unique(groups[rows])) == n_groups
    same = ActiveLearner(GaussianNB(), strategy="lts", random_state=0).fit(X)
    assert_array_equal(same.query(8), same.query(8))


def test_strategy_learns_pairs(pairs):
    X, y = pairs
    learner = learn("lts", X, y, 20, 5)
    assert y[learner.y_ != None].mean() > 3 * y.mean()  # noqa: E711
    assert learner.n_labeled_ == 100


def test_strategy_scores_are_errors_between_0_and_1(pairs):
    X, y = pairs
    learner = learn(LTSSampling(alpha=0.0), X, y, 15, 3)
    _, scores = learner.query(50, return_scores=True)
    assert scores.min() >= 0
    assert scores.max() <= 1
    assert (np.diff(scores) <= 0).all()


def test_strategy_spreads_over_all_groups_at_infinity(pairs):
    X, y = pairs
    groups = np.arange(len(X)) % 40
    strategy = LTSSampling(alpha=np.inf, groups=groups)
    rows = learn(strategy, X, y, 30, 2).query(40)
    assert sorted(groups[rows]) == list(range(40))


def test_strategy_takes_any_table():
    """Words have coordinates too."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"word": rng.choice(list("abc"), 200), "x": rng.random(200)})
    y = (frame["word"] == "a").to_numpy().astype(int)

    class Words(GaussianNB):
        def fit(self, X, y):
            return super().fit(pd.get_dummies(X).to_numpy(float), y)

        def predict_proba(self, X):
            everything = pd.concat([X, frame])
            return super().predict_proba(
                pd.get_dummies(everything).to_numpy(float)[: len(X)]
            )

    with warnings.catch_warnings():
        learner = learn(LTSSampling(), frame, y, 10, 4, Words())
    assert learner.n_labeled_ == 40


def test_strategy_takes_no_costs(pairs):
    X, y = pairs
    learner = learn("lts", X, y, 10, 2)
    with pytest.raises(ValueError, match="LTSSampling does not support costs"):
        learner.query(5, costs=np.ones(len(X)))


def test_strategy_checks_its_parameters(pairs):
    X, _ = pairs
    with pytest.raises(ValueError, match="'alpha' parameter of LTSSampling"):
        ActiveLearner(GaussianNB(), strategy=LTSSampling(-1.0)).fit(X).query()
    with pytest.raises(ValueError, match="one group for each of the 3000 rows"):
        ActiveLearner(GaussianNB(), strategy=LTSSampling(groups=[1])).fit(X).query()


# -- against random labels -----------------------------------------------------


@pytest.mark.parametrize("seed", cases(range(3), [0]))
@pytest.mark.slow
def test_chosen_labels_are_better_than_random_ones(seed):
    from sklearn.metrics import f1_score

    X, y = make_rare(60_000, 100, seed, class_sep=1.5)
    chosen = LearningToSampleClassifier(150, random_state=seed).fit(X, y)
    rows = np.random.default_rng(seed).choice(len(y), 150, replace=False)
    random = LearningToSampleClassifier(1.0, random_state=seed).fit(X[rows], y[rows])
    f1 = f1_score(y, chosen.predict(X))
    assert f1 > 0.5
    assert f1 > f1_score(y, random.predict(X), zero_division=0.0)


def test_texts_are_sparse_rows():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.1).astype(int)
    kinds = [["meeting", "report", "team"], ["cheap", "money", "win"]]
    texts = [
        " ".join([*rng.choice(kinds[label], 2), *rng.choice(list("abcdefgh"), 6)])
        for label in y
    ]
    X = TfidfVectorizer(token_pattern=r"\w+").fit_transform(texts)
    settings = {"budget": 60, "n_rounds": 4, "random_state": 0}
    model = LearningToSampleClassifier(**settings).fit(X, y)
    assert model.score(X, y) > 0.97
    assert model.labels_.mean() > 0.15  # the rare class is queried more often
    again = LearningToSampleClassifier(**settings).fit(csr_array(X), y)
    assert (again.queried_ == model.queried_).all()
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(again.predict_proba(X.tocsc()), proba)
    np.testing.assert_array_equal(model.predict_proba(X.toarray()), proba)
    narrow = LearningToSampleClassifier(20, n_rounds=2, random_state=0).fit(X[:, :1], y)
    assert narrow.n_labeled_ == 20
    learner = ActiveLearner(LearningToSampleClassifier(n_rounds=2), strategy="lts")
    learner.fit(X).run(lambda _, rows: y[rows], budget=12)
    assert learner.n_labeled_ == 12
