"""Error rate of a learner, by rows of the pool that were drawn at random."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceTreeClassifier
from skconftree.active import ActiveLearner, ArrayOracle, RiskBelow
from skconftree.active.pool import ErrorEstimate
from skconftree.active.pool._estimate import (
    cross_validated_errors,
    labeled_in_order,
    weights_of,
)
from skconftree.active.pool._stopping import audit_limit
from skconftree.bounds import binomial_upper, confidence_sequence

X, Y = load_wine(return_X_y=True)


def learner(estimator=None, **parameters):
    estimator = GaussianNB() if estimator is None else estimator
    given = {"strategy": "margin", "random_state": 0, **parameters}
    return ActiveLearner(estimator, **given).fit(X)


def estimates(losses, kinds, labeled=()):
    """Estimate and probability of each order in which random rows can be drawn.

    A query that is not at random takes the unlabeled row with the largest loss.
    """
    left = [row for row in range(len(losses)) if row not in labeled]
    if len(labeled) == len(kinds):
        weights = weights_of(np.array(kinds), len(losses))
        yield weights @ losses[list(labeled)], 1.0
    elif kinds[len(labeled)]:
        for row in left:
            for estimate, share in estimates(losses, kinds, (*labeled, row)):
                yield estimate, share / len(left)
    else:
        row = max(left, key=lambda row: (losses[row], -row))
        yield from estimates(losses, kinds, (*labeled, row))


@pytest.mark.parametrize("losses", [[0, 0, 1, 0, 1, 1], [1, 0, 0, 0, 0, 0]])
@pytest.mark.parametrize(
    "kinds", [k for k in itertools.product([False, True], repeat=4) if any(k)]
)
def test_the_estimate_is_unbiased(losses, kinds):
    losses = np.array(losses, dtype=np.float64)
    mean = sum(share * one for one, share in estimates(losses, kinds))
    assert mean == pytest.approx(losses.mean())


def test_worked_weights():
    """A sample without replacement is weighted equally, known rows by one row each."""
    np.testing.assert_allclose(weights_of(np.ones(5, dtype=bool), 9), 0.2)
    np.testing.assert_allclose(weights_of(np.ones(5, dtype=bool), 5), 0.2)
    kinds = np.array([False, False, True, True])
    np.testing.assert_allclose(weights_of(kinds, 10), [0.1, 0.1, 0.4, 0.4])
    later = weights_of(np.array([True, False]), 10)
    np.testing.assert_allclose(later, [1.0, 0.0])
    mixed = weights_of(np.array([True, False, True]), 4)
    # weights 1/12 and 1/2 of the totals 4 e0 and e0 + e1 + 2 e2
    expected = np.array([4 / 12 + 1 / 2, 1 / 2, 2 / 2]) / (4 * (1 / 12 + 1 / 2))
    np.testing.assert_allclose(mixed, expected)


@pytest.mark.parametrize("estimator", [GaussianNB(), ConfidenceTreeClassifier()])
def test_rows_are_judged_by_the_model_without_their_fold(estimator):
    one = learner(estimator, strategy="random")
    rows = np.array([0, 60, 1, 61, 2, 62, 140, 141])
    one.teach(rows, Y[rows])
    in_order, is_random = labeled_in_order(one)
    assert (in_order == rows).all()
    assert is_random.all()  # all rows of this strategy
    expected = cross_val_predict(estimator, X[rows], Y[rows], cv=LeaveOneOut())
    is_wrong = cross_validated_errors(one, rows)
    assert (is_wrong == (expected != Y[rows])).all()
    estimate = one.estimate_error()
    assert estimate.error == pytest.approx(is_wrong.mean())
    upper = binomial_upper(is_wrong.sum(), 8, 0.025)
    assert estimate.high == pytest.approx(upper)
    lower = 1.0 - binomial_upper(8 - is_wrong.sum(), 8, 0.025)
    assert estimate.low == pytest.approx(lower)
    narrow = one.estimate_error(confidence=0.5)
    assert estimate.low <= narrow.low <= narrow.error <= narrow.high < estimate.high


@pytest.mark.parametrize("refit", [True, False])
def test_a_learner_without_rows_never_had_them(refit):
    y = [*Y[:3], *[None] * 175]
    one = learner(refit=refit, batch_size=3).fit(X, y)
    one.teach([70, 80, 90], [1, None, 1], sample_weight=[2.0, 1.0, 3.0])
    one.teach([150, 80], Y[[150, 80]])
    other = learner(refit=refit, batch_size=3).fit(X, [None, *Y[1:3], *[None] * 175])
    other.teach([80, 90], [None, 1], sample_weight=[1.0, 3.0])
    other.teach([80], Y[[80]])
    without = one._without_rows(np.array([0, 70, 150]))
    np.testing.assert_array_equal(without.predict_proba(X), other.predict_proba(X))
    assert (without.y_ == other.y_).all()
    assert one.n_labeled_ == 7  # unchanged


def test_only_rows_of_audits_are_random():
    one = learner().run(ArrayOracle(Y), budget=60, random_share=0.5)
    rows, is_random = labeled_in_order(one)
    audited = [row for b in one._answers if b.n_wrong is not None for row in b.rows]
    assert rows[is_random].tolist() == audited
    assert 15 < len(audited) < 45
    before = pickle.dumps(one)
    estimate = one.estimate_error()
    assert pickle.dumps(one) == before
    assert estimate.n_random == len(audited)
    assert estimate.low <= estimate.error <= estimate.high
    assert one.estimate_error() == estimate
    stopped = learner().run(
        ArrayOracle(Y), 30, stop=RiskBelow(0.01, method="audit"), random_share=0.1
    )
    assert stopped.estimate_error().n_random == stopped.audit_[1]


def test_skipped_rows_are_not_estimated():
    def oracle(_, rows):
        return [None if row % 3 == 0 else Y[row] for row in rows]

    one = learner(strategy="random").run(oracle, budget=30)
    is_wrong = cross_validated_errors(one, np.array(one._order))
    estimate = one.estimate_error()
    assert estimate.error == pytest.approx(is_wrong.mean())  # a simple random sample
    assert estimate.n_random == 30
    # when nothing else is left, skipped rows are queried in an order of their own
    one.run(ArrayOracle(Y))
    _, is_random = labeled_in_order(one)
    assert 0 < is_random.sum() < len(is_random) == len(X)
    everything = one.estimate_error()
    assert everything.low <= everything.error <= everything.high


def test_without_random_rows_the_error_rate_is_unknown():
    one = learner()
    for n in (0, 1, 20):
        one.fit(X).run(ArrayOracle(Y), budget=n) if n else one.fit(X)
        estimate = one.estimate_error()
        assert np.isnan(estimate.error)
        assert estimate[1:4] == (0.0, 1.0, 0)
        assert "No row was drawn at random, so the error rate is" in str(estimate)
        assert "--random-share 0.2" in str(estimate)
    first = learner(strategy="random").run(ArrayOracle(Y), budget=1)
    assert first.estimate_error().n_random == 0  # no other row to judge it by


def test_a_sentence():
    text = str(ErrorEstimate(0.231, 0.158, 0.314, 123, 0.95))
    assert text == (
        "About 23% of the predictions are wrong (16% to 31%, with 95% confidence), "
        "judged on 123 rows drawn at random, as predicted by the present model in "
        "cross-validation."
    )
    assert "on 1 row drawn" in str(ErrorEstimate(0.0, 0.0, 0.99, 1, 0.999))


@pytest.mark.parametrize("value", [0.0, 1.0, 1.5, np.nan, "0.9", None])
def test_bad_values(value):
    with pytest.raises(ValueError, match=r"confidence must be in \(0, 1\)"):
        learner().estimate_error(confidence=value)
    if value not in (0.0, 1.0):
        with pytest.raises(ValueError, match=r"random_share must be in \[0, 1\]"):
            learner().run(ArrayOracle(Y), 3, random_share=value)


@pytest.mark.slow
def test_limits_contain_the_error_rate_and_hard_rows_do_not_count():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    inside, of_all, truths = [], [], []
    for seed in range(40):
        flipped = np.where(rng.random(150) < 0.2, (y + 1) % 3, y)
        one = ActiveLearner(
            LogisticRegression(max_iter=300), strategy="margin", random_state=seed
        )
        one.fit(X[:, :2]).run(ArrayOracle(flipped), 50, random_share=0.4)
        estimate = one.estimate_error()
        rows, _ = labeled_in_order(one)
        truth = np.full(150, False)
        truth[rows] = cross_validated_errors(one, rows)
        left = np.setdiff1d(np.arange(150), rows)
        truth[left] = one.predict(X[left, :2]) != flipped[left]
        inside.append(estimate.low <= truth.mean() <= estimate.high)
        of_all.append(truth[rows].mean())
        truths.append(truth.mean())
    assert np.mean(inside) >= 0.9
    assert np.mean(of_all) > np.mean(truths)


# -- limits of the present error rate -------------------------------------------------


def test_a_limit_is_the_smallest_of_its_windows():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 4, 80)
    audits = [(int(rng.integers(0, n + 1)), int(n)) for n in sizes]
    for n_audits in (0, 1, 9, 30, 80):
        part = audits[:n_audits]
        total = sum(n for _, n in part)
        limits = []
        for j, start in enumerate([0, 16, 32, 64, 128], 1):
            if start and start >= total:
                break
            window, seen = [], 0
            for audit in part:
                if seen >= start:
                    window.append(audit)
                seen += audit[1]
            wrong, n = np.sum(window, axis=0) if window else (0, 0)
            delta = 0.1 / (j * (j + 1))
            limits.append(confidence_sequence([wrong, n - wrong], delta)[0, 1])
        assert audit_limit(part, 0.1) == pytest.approx(min(limits))


def test_early_errors_are_forgotten():
    audits = [(1, 1)] * 40 + [(0, 1)] * 100
    assert audit_limit(audits, 0.05) < 0.11
    assert confidence_sequence([40, 100])[0, 1] > 0.3
    # the limit that 50 further rows without an error would give
    assert audit_limit(audits, 0.05, 50) < audit_limit(audits, 0.05)
    rate = [(1, 4)] * 5
    expected = confidence_sequence([15, 45], 0.025)[0, 1]
    assert audit_limit(rate, 0.05, 40) == pytest.approx(expected)


def test_an_error_rate_that_falls_is_rarely_below_its_limit():
    """The limit is below the present error rate at any look: at most 5% of sessions."""
    n, n_sessions = 120, 400
    risk = 0.1 + 0.5 * np.exp(-np.arange(n) / 30)
    wrong = np.random.default_rng(0).random((n_sessions, n)) < risk
    audits = np.stack([wrong, np.ones(wrong.shape)], axis=-1)
    limits = [audit_limit(audits[:, : t + 1], 0.05) for t in range(3, n, 8)]
    is_wrong = np.transpose(limits) < risk[3::8]
    assert is_wrong.any(axis=1).mean() <= 0.05
    alone = [audit_limit(one[:100], 0.05) for one in audits[:3]]
    np.testing.assert_array_equal(audit_limit(audits[:3, :100], 0.05), alone)
