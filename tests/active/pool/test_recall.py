"""Recall of a rare class: limits, costs, estimates, and the stopping rule."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import examples
from scipy.stats import hypergeom
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceTreeClassifier
from skconftree.active import (
    ActiveLearner,
    ArrayOracle,
    MostLikelySampling,
    RecallAbove,
    RiskBelow,
    StableModel,
)
from skconftree.active.pool import RecallReport
from skconftree.active.pool._recall import (
    PATIENCES_WITHOUT_ESTIMATE,
    PRIOR_OF_NONE,
    PositivesLimit,
    largest_total,
)

X = np.random.default_rng(0).normal(size=(400, 2))
Y = np.where(X[:, 0] > 1.2, "rare", "other")
N_RARE = 47


def learner(**parameters):
    return ActiveLearner(ConfidenceTreeClassifier(), random_state=0, **parameters)


def predictions_by_definition(n_rows):
    total = sum(u**-2.0 for u in range(1, n_rows + 1))
    prior = {
        u: (1 - PRIOR_OF_NONE) * u**-2.0 / max(total, 1) for u in range(1, n_rows + 1)
    }
    weight = {u: 1 / (u + 1) for u in range(n_rows + 1)}
    total = sum(weight.values())
    return {u: w / total for u, w in weight.items()}, {0: PRIOR_OF_NONE, **prior}


def limit_by_definition(n_rows, alpha, steps):
    """Limit of the number of positives, with a loop over all numbers.

    `steps` are pairs: whether a row is random, and whether it is positive; or a number
    of rows that are appended.
    """
    weight, prior = predictions_by_definition(n_rows)
    ratio, largest = dict.fromkeys(range(n_rows + 1), 1.0), n_rows
    found = labeled = 0
    for step in steps:
        if isinstance(step, int):  # each pair of a number before and a number after
            before = {K: ratio[K] for K in range(found, largest + 1)}
            largest, n_rows = largest + step, n_rows + step
            ratio = {
                K: min(r for K0, r in before.items() if 0 <= K - K0 <= step)
                for K in range(found, largest + 1)
            }
            uninformed, prior = predictions_by_definition(max(weight) + step)
            weight = {u: (w + weight.get(u, 0)) / 2 for u, w in uninformed.items()}
            continue
        is_random, is_positive = step
        unlabeled = n_rows - labeled
        if is_random:
            largest = max(found, min(largest, found + unlabeled))
            weight = {u: w for u, w in weight.items() if u <= unlabeled}
            total = sum(weight.values())
            expected = sum(w * u / unlabeled for u, w in weight.items()) / total
            for K in range(found, largest + 1):
                share = (K - found) / unlabeled
                likelihood = share if is_positive else 1.0 - share
                mixture = expected if is_positive else 1.0 - expected
                ratio[K] = ratio[K] * mixture / likelihood if likelihood else np.inf
            if is_positive:
                weight = {u - 1: w * u for u, w in weight.items() if u > 0}
            else:
                weight = {u: w * (1.0 - u / unlabeled) for u, w in weight.items()}
            total = sum(weight.values())
            weight = {u: w / total for u, w in weight.items()}
        elif is_positive:
            shifted = {u - 1: w for u, w in weight.items() if u > 0}
            shifted[0] = shifted.get(0, 0.0) + weight[0]
            weight = {u: 0.9 * w + 0.1 * prior[u] for u, w in shifted.items()}
        found, labeled = found + is_positive, labeled + 1
        largest = max(found, largest)
        if is_random:
            kept = [K for K in range(found, largest + 1) if ratio[K] < 1.0 / alpha]
            largest = max(kept, default=found)
    return max(found, min(largest, found + n_rows - labeled))


@settings(max_examples=examples(200))
@given(st.integers(1, 25), st.data())
def test_the_limit_is_that_of_its_definition(n_rows, data):
    positive = data.draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))
    n = data.draw(st.integers(0, n_rows))
    is_random = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    alpha = data.draw(st.sampled_from([0.05, 0.3, 0.7]))
    steps = list(zip(is_random, positive, strict=False))
    n_found = sum(is_positive for _, is_positive in steps)
    grown = data.draw(st.integers(0, n_rows - 1))  # rows that are appended later
    first = n_rows - grown
    if grown:
        steps.insert(data.draw(st.integers(0, min(n, first))), grown)
    limit, n_left = PositivesLimit(first, alpha), first
    for step in steps:
        if isinstance(step, int):
            limit.restrict(n_left)
            limit.grow(step)
            n_left += step
            continue
        drawn, is_positive = step
        if drawn:
            limit.draw(n_left, int(not is_positive), is_positive)
        elif is_positive:
            limit.add_found()
        n_left -= 1
    limit.restrict(n_left)
    assert limit.n_found == n_found
    assert limit.limit == limit_by_definition(first, alpha, steps)


def test_a_positive_beyond_the_limit_raises_it():
    limit = PositivesLimit(25, 0.7)
    limit.draw(25, 20)
    assert limit.limit == 0  # by chance, as the probability of an error is 0.7
    limit.add_found()
    limit.restrict(4)
    steps = [(True, False)] * 20 + [(False, True)]
    assert limit.limit == limit_by_definition(25, 0.7, steps) == 1


def limit_after(n_rows, n_found):
    limit = PositivesLimit(n_rows, 0.05)
    for _ in range(n_found):
        limit.add_found()
    return limit


@pytest.mark.parametrize("found", [False, True])
def test_negatives_have_one_update(found):
    one, other = limit_after(300, 20), limit_after(300, 20)
    for i in range(60):
        one.draw(250 - i, 1)
    one.draw(190, 0, found)
    other.draw(250, 60, found)
    assert (one.limit, one.n_found) == (other.limit, other.n_found)
    assert one.log_ratio == pytest.approx(other.log_ratio, abs=1e-9)
    n = min(len(one.weight), len(other.weight))
    assert one.weight[:n] == pytest.approx(other.weight[:n], abs=1e-12)


@pytest.mark.parametrize(("found", "recall"), [(100, 0.95), (100, 0.8), (7, 0.5)])
def test_the_cost_is_the_number_of_random_rows_without_a_positive(found, recall):
    limit, n_unlabeled = limit_after(900, found), 750
    n = limit.n_draws(recall, n_unlabeled)
    for i in range(n):
        assert found / limit.limit < recall
        limit.draw(n_unlabeled - i, 1)
    assert found / limit.limit >= recall
    assert limit.n_draws(recall, n_unlabeled - n) == 0


@pytest.mark.parametrize(
    ("found", "recall", "share"),
    [(100, 0.95, 0.39), (500, 0.95, 0.11), (50, 0.95, 0.63)],
)
@pytest.mark.slow
def test_the_cost_is_close_to_that_of_an_exact_test(found, recall, share):
    n_unlabeled = 10_000
    limit = limit_after(n_unlabeled + 1000, found)
    missing = largest_total(recall, found) + 1 - found
    n = np.arange(n_unlabeled)
    exact = int(np.argmax(hypergeom(n_unlabeled, missing, n).pmf(0) <= 0.05))
    assert exact / n_unlabeled == pytest.approx(share, abs=0.01)
    assert exact <= limit.n_draws(recall, n_unlabeled) <= 1.3 * exact


def failures(n_sessions, n_rows, n_positive, random_share, rng, n_later=0):
    """Number of simulated sessions in which the limit is ever too low.

    The last `n_later` rows, most of which are positive, are appended in the midst.
    """
    n_failed = 0
    for _ in range(n_sessions):
        is_positive = np.zeros(n_rows, dtype=bool)
        is_positive[n_rows - n_positive :] = True
        # a query strategy that ranks rows by a noisy score, and random rows
        order = np.argsort(rng.normal(size=n_rows) - is_positive, kind="stable")
        later = order >= n_rows - n_later
        remaining, appended = order[~later].tolist(), order[later].tolist()
        limit = PositivesLimit(len(remaining), 0.05)
        while remaining and limit.limit >= n_positive - is_positive[appended].sum():
            if appended and len(remaining) < n_rows // 3:
                limit.grow(n_later)
                remaining, appended = [*remaining, *appended], []
            is_random = rng.random() < random_share
            i = rng.integers(len(remaining)) if is_random else 0
            if is_random:
                found = bool(is_positive[remaining[i]])
                limit.draw(len(remaining), int(not found), found)
            elif is_positive[remaining[i]]:
                limit.add_found()
            remaining.pop(i)
        n_failed += bool(remaining)
    return n_failed


@pytest.mark.slow
@pytest.mark.parametrize("random_share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("n_positive", [3, 20])
def test_the_limit_is_too_low_in_few_sessions(n_positive, random_share):
    rng = np.random.default_rng(n_positive)
    assert failures(1000, 200, n_positive, random_share, rng) <= 64


@pytest.mark.slow
@pytest.mark.parametrize("n_later", [10, 60])
def test_the_limit_is_too_low_in_few_sessions_whose_pool_grows(n_later):
    rng = np.random.default_rng(n_later)
    assert failures(1000, 200, 20, 0.7, rng, n_later) <= 64


def test_the_limit_is_too_low_in_few_of_some_sessions():
    assert failures(60, 100, 10, 0.5, np.random.default_rng(0)) <= 8


@pytest.fixture(scope="module")
def certified():
    """Session that has ended; to be read only."""
    rule = RecallAbove("rare", recall=0.8, certify=True)
    return learner().fit(X).run(ArrayOracle(Y), stop=rule)


def test_a_session_that_certifies_stops_at_the_limit(certified):
    report = certified.recall_report("rare", recalls=(0.8, 0.95))
    assert report.n_found == N_RARE
    assert 0.8 <= report.lower_limit < 0.85
    assert report.n_random == certified.audit_[1] > 100
    assert report.costs[0.8] == 0 < report.costs[0.95]
    assert report.n_labeled + report.n_unlabeled == 400


def test_certify_decides_after_discovery():
    reports = []
    for certify in (False, lambda report: True, reports.append):
        one = learner().fit(X)
        rule = RecallAbove("rare", recall=0.8, certify=certify)
        one.run(ArrayOracle(Y), 120, rule)
        assert (one.audit_[1] > 0) is (certify not in (False, reports.append))
    (report,) = reports  # it is asked once, also after undo
    n_labeled = one.n_labeled_
    assert one.undo(3).run(ArrayOracle(Y), stop=rule).n_labeled_ == n_labeled
    assert len(reports) == 1
    assert report.n_random == 0
    assert report.estimate > 0.95
    lines = str(report).splitlines()
    assert lines[0] == "45 rows with label 'rare' found, among 110 labeled rows."
    assert lines[1].startswith("Estimated recall: ")
    assert lines[2].startswith("Recall is at least 13.4% with 95% confidence.")
    assert f"label {report.costs[0.8]:,} of the 290 remaining rows" in lines[3]


@pytest.mark.slow
def test_the_estimate_is_close_to_the_recall():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=2000) * 0.3 > 2.0).astype(int)
    one = ActiveLearner(GaussianNB(), random_state=0).fit(X)
    assert one.recall_report(1).estimate is None  # no model
    errors = []
    for budget in (80, 160, 240):
        one.run(ArrayOracle(y), budget)
        report = one.recall_report(1)
        errors.append(report.estimate - report.n_found / y.sum())
    assert np.abs(errors).max() < 0.3
    assert abs(errors[-1]) < 0.1


def test_one_positive_row_gives_no_estimate_and_ends_the_discovery():
    rows = np.r_[np.flatnonzero(Y == "rare")[:1], np.flatnonzero(Y == "other")]
    one = learner().fit(X[rows], np.where(np.arange(len(rows)) < 30, Y[rows], None))
    assert one.recall_report("rare").estimate is None
    rule = RecallAbove("rare", recall=0.9, certify=False, patience=5)
    one.run(ArrayOracle(Y[rows]), stop=rule)
    assert one.n_labeled_ == 30 + PATIENCES_WITHOUT_ESTIMATE * 5


def test_parameters_of_the_classifier_can_refer_to_labels():
    weights = {"rare": 5.0, "other": 1.0}
    model = LogisticRegression(class_weight=weights)
    rows = np.r_[np.flatnonzero(Y == "rare")[:20], np.flatnonzero(Y == "other")[:60]]
    y = np.full(len(Y), None)
    y[rows] = Y[rows]
    report = ActiveLearner(model, random_state=0).fit(X, y).recall_report("rare")
    assert 0.25 < report.estimate < 0.75  # 20 of 46


@pytest.mark.parametrize("certify", [False, True])
@pytest.mark.slow
def test_random_rows_from_the_start_do_not_end_the_discovery(certify):
    strategy = MostLikelySampling("rare")
    learner = ActiveLearner(GaussianNB(), random_state=0, strategy=strategy).fit(X)
    rule = RecallAbove("rare", recall=0.8, certify=certify, patience=50)
    learner = learner.run(ArrayOracle(Y), budget=40, stop=rule, random_share=1.0)
    n_random = learner.recall_report("rare").n_random
    assert n_random >= 10
    assert learner.n_labeled_ == 40
    # rows are certified at random, those of the discovery by the strategy
    before = learner.n_labeled_ - n_random
    learner = learner.run(ArrayOracle(Y), budget=50, stop=rule)
    assert learner.n_labeled_ - learner.recall_report("rare").n_random == before + 10


def test_skipped_rows_do_not_fill_the_memory():
    one = learner().fit(X, np.where(np.arange(len(X)) < 300, Y, None))
    for row in range(300, 310):
        one.teach([row], [None])
        report = one.recall_report("rare")
    assert report.n_unlabeled == 90
    assert sum("recall" in key for key in one._memory) == 1


@pytest.mark.slow
def test_a_pickled_session_continues_to_certify(certified):
    rule = RecallAbove("rare", recall=0.8, certify=True)
    one = learner().fit(X)
    for budget in (130, None):
        one.run(ArrayOracle(Y), budget, rule)
        one = pickle.loads(pickle.dumps(one))
    rows = [answer.row for answer in certified.history_]
    assert [answer.row for answer in one.history_] == rows


@pytest.mark.slow
def test_a_file_of_labels_continues_to_certify(tmp_path):
    rule = RecallAbove("rare", recall=0.5, certify=True)
    whole = learner().fit(X).run(ArrayOracle(Y), stop=rule)
    for budget in (130, None):
        one = learner().fit(X)
        one.run(ArrayOracle(Y), budget, rule, save=tmp_path / "labels.jsonl")
    rows = [answer.row for answer in whole.history_]
    assert [answer.row for answer in one.history_] == rows
    assert one.audit_ == whole.audit_


def test_random_rows_of_another_rule_count():
    one = learner().fit(X)
    one.run(ArrayOracle(Y), 200, RiskBelow(0.001, method="audit", audit_share=0.8))
    report = one.recall_report("rare")
    assert report.n_random == one.audit_[1] > 130
    assert report.lower_limit > 0.4


def test_initial_labels_are_found_and_skipped_rows_are_not_in_the_pool():
    y = np.where(np.arange(400) < 300, Y, None)
    one = learner().fit(X, y)
    n = int((Y[:300] == "rare").sum())
    assert one.recall_report("rare").n_found == n
    one.teach(np.arange(300, 310), [None] * 10)
    report = one.recall_report("rare")
    assert (report.n_labeled, report.n_unlabeled) == (300, 90)
    assert report.lower_limit == pytest.approx(n / (n + 90))


def test_without_a_positive_the_recall_is_unknown():
    report = learner().fit(X).recall_report("rare")
    assert report == RecallReport("rare", 0, 0, 400, 0, None, 0.0, 0.95, {})
    assert str(report) == (
        "No row with label 'rare' found among 0 labeled rows: its recall is unknown."
    )
    one = learner().fit(X[Y == "other"][:50])
    one.run(ArrayOracle(Y[Y == "other"][:50]), stop=RecallAbove("rare", certify=True))
    assert one.n_labeled_ == 50


def test_a_pool_that_is_labeled_has_a_recall_of_one():
    report = learner().fit(X, Y).recall_report("rare")
    assert (report.lower_limit, report.estimate, report.n_unlabeled) == (1.0, 1.0, 0)


def test_limits_are_not_rounded_up():
    report = RecallReport("a", 99, 200, 500, 100, None, 0.9496, 0.95, {0.95: 0})
    assert "at least 94.9% with 95% confidence" in str(report)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"recall": 1.0}, "'recall' parameter of RecallAbove"),
        ({"confidence": 0}, "'confidence' parameter of RecallAbove"),
        ({"certify": "yes"}, "'certify' parameter of RecallAbove"),
        ({"patience": 0}, "'patience' parameter of RecallAbove"),
    ],
)
def test_invalid_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        learner().fit(X).run(ArrayOracle(Y), stop=RecallAbove("rare", **parameters))


def test_invalid_arguments_of_a_report_are_refused():
    one = learner().fit(X)
    with pytest.raises(ValueError, match="recalls == 1.5"):
        one.recall_report("rare", recalls=(0.5, 1.5))
    with pytest.raises(ValueError, match="'confidence' parameter"):
        one.recall_report("rare", confidence=2.0)
    declared = learner(classes=["rare", "other"]).fit(X)
    with pytest.raises(
        ValueError, match="positive contains the label 'rear', which is not one"
    ):
        declared.recall_report("rear")


def test_a_class_that_does_not_exist_is_noticed():
    rule = RecallAbove("raer")
    declared = learner(classes=["rare", "other"]).fit(X)
    with pytest.raises(ValueError, match=r"'raer'\. Did you mean 'rare'\?"):
        declared.run(ArrayOracle(Y), stop=rule)
    one = learner().fit(X, np.where(np.arange(len(X)) < 40, Y, None))
    with pytest.warns(UserWarning, match=r"Did you mean 'rare'\? Until a label is"):
        one.run(ArrayOracle(Y), 5, rule)
    with pytest.warns(UserWarning, match=r"\['other', 'rare'\]\. Got 1\."):
        one.reached(RecallAbove(1))
    assert not one.reached(RecallAbove("another class"))  # it may be found later
    for positive in (None, ("rare",), float("nan")):
        with pytest.raises(ValueError, match="positive must be a label: .* Got"):
            learner().fit(X).reached(RecallAbove(positive))


def test_other_rules_draw_their_share():
    assert StableModel().random_share_of(None) == 0.0
    assert RiskBelow(0.1, method="audit").random_share_of(None) == 0.2
