"""Streams whose classifier scores rows itself, and learns those without a label."""

import pickle

import numpy as np
import pytest
from reference.effort import cases
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceTreeClassifier, OASISClassifier
from skconftree.active import QueryScoreSampling, StreamActiveLearner
from skconftree.datasets import make_diced

X, Y = make_diced(250, random_state=2)


def oasis(**parameters):
    return OASISClassifier(
        **{"n_particles": 30, "buffer_size": 20, "standardize": False, **parameters}
    )


def learner(strategy="oasis", estimator=None, **parameters):
    given = {"classes": [0, 1], "random_state": 3, "budget": 0.2, **parameters}
    estimator = oasis() if estimator is None else estimator
    return StreamActiveLearner(estimator, strategy=strategy, **given)


def by_hand(score, threshold, budget, seed, x=X, y=Y):
    """The published algorithm, row by row: ask, else learn the row without a label."""
    model, held, asked, predictions = None, [], [], []
    for i in range(len(x)):
        row = x[i : i + 1]
        ask = sum(asked) + 1 <= budget * (i + 1)
        if model is not None:
            value = model.query_score(row, score)[0]
            beyond = value > threshold if score == "gbs" else value < threshold
            ask = ask and bool(beyond)
        asked.append(ask)
        predictions.append(None if model is None else model.predict(row)[0])
        label = [y[i] if ask else None]
        if model is not None:
            model.partial_fit(row, label)
            continue
        held.append((row, label))
        if ask:
            model = oasis(random_state=seed)
            for rows, labels in held:
                model.partial_fit(rows, labels, classes=[0, 1])
    return model, asked, predictions


@pytest.mark.parametrize(
    ("score", "threshold"),
    cases(
        [("oasis", 0.3), ("gbs", 0.3), ("uc", 0.1), ("oasis", 0.0), ("gbs", 0.0)],
        [("oasis", 0.3), ("uc", 0.1)],
    ),
)
@pytest.mark.parametrize("budget", cases([0.05, 0.5], [0.05]))
def test_a_run_is_the_published_algorithm(score, threshold, budget):
    one = learner(QueryScoreSampling(score, threshold), budget=budget)
    run = one.run(X, Y)
    model, asked, predictions = by_hand(score, threshold, budget, one._seed)
    assert run.queried.tolist() == asked
    assert run.predictions.tolist() == predictions
    # a last row that was not asked for is handed over before the next decision
    one.query(X[:1])
    assert pickle.dumps(one.estimator_) == pickle.dumps(model)
    assert one.estimator_.n_rows_seen_ == len(X)


@pytest.mark.parametrize("score", cases(["oasis", "gbs", "uc"], ["uc"]))
def test_names_have_thresholds_of_the_thesis(score):
    threshold = {"oasis": 0.1, "gbs": 0.45, "uc": 0.05}[score]
    named, meant = learner(score), learner(QueryScoreSampling(score, threshold))
    asked = named.run(X, Y).queried
    assert asked.tolist() == meant.run(X, Y).queried.tolist()
    assert 0 < asked.sum() < 50


@pytest.mark.slow
def test_two_scores_query_the_same_rows():
    oasis_asked = learner(QueryScoreSampling("oasis", 0.25)).run(X, Y).queried
    gbs_asked = learner(QueryScoreSampling("gbs", 0.375)).run(X, Y).queried
    assert oasis_asked.tolist() == gbs_asked.tolist()


@pytest.mark.parametrize("classes", [None, [0, 1]])
def test_rows_that_are_not_queried_are_learned_in_order(classes):
    """Also those before the first model, and with labels that come late."""
    one = learner("random", budget=0.3, classes=classes)
    hand, held, waiting = None, [], None
    for begin in range(0, 200, 8):
        rows, labels = X[begin : begin + 8], Y[begin : begin + 8]
        ask = one.query(rows)
        if begin % 3 == 0:
            one = pickle.loads(pickle.dumps(one))
        # the learner is one row behind: that row waits for the next decision
        known = [] if waiting is None else [waiting]
        known += [(rows[i : i + 1], [None]) for i in np.flatnonzero(~ask)]
        waiting = None if ask[-1] else known.pop()
        known.append((rows[ask], labels[ask]))
        one.teach(rows[ask], labels[ask])
        if hand is None:
            held += known
            if not hasattr(one, "estimator_"):
                continue
            hand, known = oasis(random_state=one._seed), held
        for part, given in known:
            if len(part):
                hand.partial_fit(part, given, classes=[0, 1])
    assert pickle.dumps(one.estimator_) == pickle.dumps(hand)
    assert one.estimator_.n_rows_seen_ == 200 - (waiting is not None)


def test_the_missing_label_is_the_estimators_own():
    one = learner(estimator=oasis(missing_label=-1))
    other = learner()
    one.run(X, Y)
    other.run(X, Y)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_only_semi_supervised_classifiers_learn_unlabeled_rows():
    class Watching(GaussianNB):
        def partial_fit(self, X, y, classes=None, sample_weight=None):
            assert all(label in (0, 1) for label in y)
            return super().partial_fit(X, y, classes, sample_weight)

    run = learner("random", Watching()).fit(X[:50], Y[:50]).run(X, Y)
    assert run.queried.any()


@pytest.mark.slow
def test_few_labels_are_enough_for_separated_classes():
    x, y = make_diced(1000, random_state=0)
    one = learner(estimator=OASISClassifier(n_particles=300), budget=0.05)
    one.run(x, y)
    assert one.n_queried_ <= 50
    assert one.score(x, y) > 0.9


# -- what cannot be done ------------------------------------------------------------


@pytest.mark.parametrize("score", ["oasis", "gbs", "uc"])
def test_a_classifier_without_scores(score):
    one = learner(score, ConfidenceTreeClassifier())
    message = (
        r"needs its own query scores \(query_score\), which ConfidenceTreeClassifier"
    )
    with pytest.raises(ValueError, match=message):
        one.query(X[:3])


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (QueryScoreSampling("margin"), "'score' parameter of Query"),
        (QueryScoreSampling(["uc"]), "'score' parameter of Query"),
        (QueryScoreSampling("uc", -0.1), "'threshold' parameter of"),
        (QueryScoreSampling("uc", np.nan), "'threshold' parameter of"),
        (QueryScoreSampling("uc", "low"), "'threshold' parameter of"),
    ],
)
def test_strategies_that_do_not_exist(strategy, message):
    one = learner(strategy)
    with pytest.raises(ValueError, match=message):
        one.query(X[:3])
    assert one.n_rows_seen_ == 0


@pytest.mark.parametrize("strategy", ["oasis", "random"])
@pytest.mark.parametrize("fitted", [False, True])
def test_bad_rows_change_nothing(strategy, fitted):
    one = learner(strategy)
    if fitted:
        one.fit(X[:50], Y[:50])
    one.query(X[50:60])
    one._pending = one._pending[:0]
    state = pickle.dumps(one)
    broken = X[:5].copy()
    broken[3, 0] = np.nan
    for call in (one.query, lambda rows: one.run(rows, Y[:5])):
        with pytest.raises(ValueError, match="NaN"):
            call(broken)
    assert pickle.dumps(one) == state
