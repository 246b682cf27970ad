"""Evaluation of a classifier by few labels: draws, evidence, limits, reports."""

import pickle
import subprocess
import sys
import time
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import examples
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from skconftree import ConfidenceTreeClassifier
from skconftree.active import (
    ActiveLearner,
    ArrayOracle,
    HalfWidthBelow,
    LabelingSession,
    ModelEvaluator,
    WebOracle,
    evaluate,
)
from skconftree.active.pool import EvaluationReport
from skconftree.active.pool._evaluate import METRICS, OF_ERRORS, RATIOS
from skconftree.active.pool._metric_limits import (
    FRACTIONS,
    SHARES,
    MetricCells,
    MetricLimits,
    make_cells,
)
from skconftree.active.session import JournalError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.where(X[:, 0] + 0.8 * RNG.normal(size=400) > 0.5, "yes", "no")
MODEL = GaussianNB().fit(X[:60], Y[:60])


def ratio_cells(metric, stated, side, losses=None, n_cells=3):
    steps, positive, base = RATIOS.get(metric, OF_ERRORS)
    parts = (
        {}
        if losses is None
        else dict(zip(("low", "span", "top"), losses, strict=False))
    )
    arrays = (np.array(steps), np.array(positive)), np.array(base)
    return MetricCells(stated, side, *arrays, **parts, n_cells=n_cells)


@st.composite
def pools(draw):
    """Cells of a metric, the outcome and numerator of each row, and a seed."""
    n = draw(st.integers(3, 6))
    metric = draw(st.sampled_from(["error", "recall", "f1", "log_loss"]))
    numbers = st.floats(0.0, 1.0)
    stated = np.array(draw(st.lists(numbers, min_size=n, max_size=n)))
    outcomes = draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n))
    skipped = draw(st.integers(0, n))  # of n: none
    side, losses = np.zeros(n, dtype=bool), None
    numerators = [None] * n
    if metric in RATIOS:
        side = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
        outcomes[skipped - 1] = 1.0
    if metric == "log_loss":
        low = 0.4 * stated
        span = np.linspace(0.1, 0.5, n)
        losses = low, span, 1.0 - low
        numerators = [
            float(low[i] if outcome == 0.0 else draw(st.floats(low[i], 1.0)))
            for i, outcome in enumerate(outcomes)
        ]
    pairs = list(zip(outcomes, numerators, strict=True))
    if skipped < n - 1:
        pairs[skipped] = None, None
    cells = ratio_cells(metric, stated, side, losses)
    return cells, pairs, draw(st.integers(0, 99))


def ratio_of(cells, outcomes):
    limits = MetricLimits(cells, 0.05, 0)
    values = [limits._value(row, *pair) for row, pair in enumerate(outcomes)]
    numerator, denominator = np.sum(values, axis=0)
    return numerator / denominator if denominator > 0.0 else None


def over_all_draws(limits, outcomes, n_draws):
    """Expectation of the evidence, and of the estimated totals, by enumeration."""
    if n_draws == 0 or limits.n_left == 0:
        return limits.evidence[..., 0], limits._totals / max(limits._weight, 1e-300)
    limits.plan()
    weight = limits.left @ limits.weight
    evidence, totals = 0.0, 0.0
    for row in range(limits.cells.n_rows):
        k = limits.cells.cell[row]
        first = limits._start[k]
        if row in limits._order[first : first + limits.left[k]]:
            after = deepcopy(limits)
            after.observe(row, *outcomes[row])
            part = over_all_draws(after, outcomes, n_draws - 1)
            chance = limits.weight[k] / weight
            evidence, totals = evidence + chance * part[0], totals + chance * part[1]
    return evidence, totals


@given(pools())
@settings(max_examples=examples(25))
def test_true_ratio_is_a_fair_game(pool):
    """The mean evidence against the true ratio stays 1, whatever is bet."""
    cells, outcomes, seed = pool
    ratio = ratio_of(cells, outcomes)
    if ratio is None:
        return
    limits = MetricLimits(cells, 0.05, seed, np.array([ratio]), n_uniform=0)
    limits._next_plan = 0
    evidence, totals = over_all_draws(limits, outcomes, 2)
    np.testing.assert_allclose(evidence, 1.0, rtol=1e-5)
    values = [limits._value(row, *pair) for row, pair in enumerate(outcomes)]
    np.testing.assert_allclose(totals, np.sum(values, axis=0), atol=1e-6)


def test_evidence_by_definition():
    """Uniform draws of four rows, one of them wrong, with plain loops."""
    cells = ratio_cells("error", np.full(4, 0.5), np.zeros(4, dtype=bool), n_cells=1)
    ratios = np.array([0.3, 0.5, 0.6])
    limits = MetricLimits(cells, 0.05, 0, ratios)
    outcomes = [0.0, 1.0, 0.0, 0.0]
    expected = np.ones((2, len(FRACTIONS), 3))
    n_wrong = 0.0
    for n_before in range(2):
        row = limits.draw()
        x = outcomes[row]
        for j, ratio in enumerate(ratios):
            share = (4 * ratio - n_wrong) / (4 - n_before)  # of wrong ones that is left
            for i, fraction in enumerate(FRACTIONS):
                for side, factor in enumerate((x / share, (1.0 - x) / (1.0 - share))):
                    expected[side, i, j] *= 1.0 + fraction * (factor - 1.0)
        limits.observe(row, x)
        n_wrong += x
    np.testing.assert_allclose(limits.evidence, expected, rtol=1e-6, atol=1e-6)
    total = (SHARES[:, None] * limits.evidence.mean(axis=0)).sum(axis=0)
    np.testing.assert_allclose(limits.total_evidence(), total)


def test_impossible_ratios():
    cells = ratio_cells("error", np.full(4, 0.5), np.zeros(4, dtype=bool), n_cells=1)
    limits = MetricLimits(cells, 0.05, 0)
    limits.observe(1, 1.0)
    limits.observe(0, 0.0)
    low, high = limits.limits()
    assert 0.23 < low <= 0.25
    assert 0.75 <= high < 0.77


def after_20_labels(seed):
    # Two cells; 5 of the labels of the second one are 1.
    stated = np.repeat([0.02, 0.5], [30, 20])
    cells = ratio_cells("error", stated, np.zeros(50, dtype=bool), n_cells=2)
    limits = MetricLimits(cells, 0.05, seed, np.array([0.2]))
    for row in range(10):
        limits.know(row, 0.0)
        limits.know(30 + row, float(row < 5))
    limits.plan()
    return limits


def test_draws_follow_the_weights():
    drawn = []
    for seed in range(250):
        limits = after_20_labels(seed)
        drawn.append(limits.draw())
    share = 10 * limits.weight[1] / (limits.left @ limits.weight)
    assert limits.weight[1] > 1.5 * limits.weight[0]
    observed = (np.array(drawn) >= 30).mean()
    assert abs(observed - share) < 4.0 * np.sqrt(share * (1.0 - share) / 250)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_draws_are_uniform_until_both_outcomes_occur(outcome):
    stated = RNG.random(300)
    cells = ratio_cells("error", stated, np.zeros(300, dtype=bool))
    limits = MetricLimits(cells, 0.05, 0, np.array([0.2]))
    for _ in range(60):
        limits.plan()
        limits.observe(limits.draw(), outcome)
        assert np.ptp(limits.weight) == 0.0
    for other in (0.0, 1.0) * 20:
        limits.plan()
        limits.observe(limits.draw(), other)
    assert np.ptp(limits.weight) > 0.0


def test_cells_are_intervals_of_each_side():
    stated = RNG.normal(size=200).round(1)
    side = RNG.random(200) < 0.3
    cells, n = make_cells(stated, side, 5)
    assert sorted(set(cells)) == list(range(n))
    assert n <= 10
    for k in range(n):
        inside = cells == k
        assert len(set(side[inside])) == 1
        between = (stated >= stated[inside].min()) & (stated <= stated[inside].max())
        np.testing.assert_array_equal(between & (side == side[inside][0]), inside)


@pytest.mark.parametrize("metric", METRICS)
def test_all_labels_give_the_metric(metric):
    """Then limits and estimate are those of scikit-learn; before, they contain it."""
    rows = slice(60, 200)
    predicted = MODEL.predict(X[rows])
    proba = MODEL.predict_proba(X[rows])[np.arange(140), (Y[rows] == "yes").astype(int)]
    true = {
        "accuracy": (predicted == Y[rows]).mean(),
        "error": (predicted != Y[rows]).mean(),
        "precision": precision_score(Y[rows], predicted, pos_label="yes"),
        "recall": recall_score(Y[rows], predicted, pos_label="yes"),
        "f1": f1_score(Y[rows], predicted, pos_label="yes"),
        "log_loss": -np.log(np.maximum(proba, 0.01)).mean(),
    }[metric]
    evaluator = ModelEvaluator(MODEL, metric=metric, random_state=1).fit(X[rows])
    unknown = evaluator.report()
    assert np.isnan(unknown.estimate)
    assert "unknown" in str(unknown)
    report = evaluator.run(ArrayOracle(Y[rows]), budget=40).report()
    assert report.low < true < report.high
    assert report.low <= report.estimate <= report.high
    report = evaluator.run(ArrayOracle(Y[rows])).report()
    assert report.interval == pytest.approx((true, true))
    assert report.estimate == pytest.approx(true)
    expected = (predicted == "yes").sum() if metric == "precision" else 140
    assert report.n_labels == evaluator.n_labeled_ == expected


def test_models_without_probabilities_and_with_leaves():
    for model in (
        LinearSVC().fit(X[:60], Y[:60]),
        ConfidenceTreeClassifier(random_state=0).fit(X[:60], Y[:60]),
    ):
        for metric in ("error", "recall"):
            report = evaluate(
                model, X, ArrayOracle(Y), metric=metric, budget=60, random_state=0
            )
            assert report.n_labels == 60
            assert report.half_width < 0.4


def test_rows_that_were_not_drawn_count_for_themselves():
    y = np.full(400, None)
    y[:5] = Y[:5]
    evaluator = ModelEvaluator(MODEL, random_state=0).fit(X, y)
    state = evaluator._call_with_context([], evaluator._strategy._state)
    assert (state.limits.n_known, state.limits.n_draws, state.n_labels) == (5, 0, 5)
    row = evaluator.query()[0]
    others = [r for r in range(5, 20) if r != row][:3]
    with pytest.warns(UserWarning, match="was not queried"):
        evaluator.teach(others, Y[others])
    state = evaluator._call_with_context([], evaluator._strategy._state)
    assert (state.limits.n_known, state.limits.n_draws) == (8, 0)
    rows = evaluator.query(4)
    evaluator.teach(rows, Y[rows])
    state = evaluator._call_with_context([], evaluator._strategy._state)
    assert (state.limits.n_known, state.limits.n_draws) == (12, 4)
    again = pickle.loads(pickle.dumps(evaluator))
    assert again.report() == evaluator.report()
    assert again.query()[0] == evaluator.query()[0]
    assert evaluator.undo(2).report().n_labels == 5


@pytest.mark.parametrize("metric", ["error", "precision", "f1"])
def test_skipped_rows_that_are_labeled_later_belong_to_the_pool(metric):
    evaluator = ModelEvaluator(MODEL, metric=metric, random_state=0).fit(X[:30])
    n = 0
    while len(rows := evaluator.query()):  # skipped rows are queried again at the end
        skips = n < 20 and n % 3 == 0
        evaluator.teach(rows, [None] if skips else Y[rows])
        n += 1
        again = pickle.loads(pickle.dumps(evaluator))
        assert str(again.report()) == str(evaluator.report())
    assert n > evaluator.n_labeled_
    predicted = MODEL.predict(X[:30])
    expected = {
        "error": (predicted != Y[:30]).mean(),
        "precision": precision_score(Y[:30], predicted, pos_label="yes"),
        "f1": f1_score(Y[:30], predicted, pos_label="yes"),
    }[metric]
    report = evaluator.report()
    assert report.low == report.high == pytest.approx(expected)


def test_skipped_rows_do_not_belong_to_the_pool():
    def oracle(X, rows):
        return [None if row % 4 == 0 else Y[row] for row in rows]

    report = evaluate(MODEL, X[:80], oracle, metric="error", budget=80, random_state=0)
    kept = np.arange(80) % 4 > 0
    error = (MODEL.predict(X[:80]) != Y[:80])[kept].mean()
    assert report.n_labels == 60
    assert report.estimate == pytest.approx(error)


def test_session_and_journal(tmp_path):
    path = tmp_path / "answers.jsonl"

    def session(model=MODEL, metric="f1"):
        learner = ModelEvaluator(model, metric=metric, random_state=0)
        return LabelingSession(learner, path, X, budget=60)

    with session() as first:
        assert first.labels == ["no", "yes"]
        for _ in range(45):
            question = first.question()
            assert question.prediction is None
            assert question.probability is None
            first.answer(str(Y[question.row]))
        report, row = first.learner.report(), first.question().row
        assert str(first.estimate_error()) == str(report)
    with session() as second:
        assert second.learner.report() == report
        assert second.question().row == row
        # a corrected label does not change how later rows were drawn
        early = second.answers()[-3]["row"]
        second.relabel(early, "no" if Y[early] == "yes" else "yes")
        changed = second.learner.report()
        assert changed.n_labels == 45
        assert changed != report
        state = second.learner._memory["evaluation"]
        assert state.limits.n_draws == 45
        assert second.question().row == row
        second.undo()
        assert second.learner.report() == report
    same = evaluate(
        MODEL, X, ArrayOracle(Y), metric="f1", budget=45, random_state=0, save=path
    )
    assert same == report
    with pytest.raises(JournalError, match="predictions="):
        session(GaussianNB().fit(X[60:90], Y[60:90]))
    with pytest.raises(JournalError, match="metric="):
        session(metric="recall")
    with session() as again:  # predictions are those of the classifier
        predicted, proba = again.predictions()
        np.testing.assert_array_equal(predicted, MODEL.predict(X))
        np.testing.assert_array_equal(proba, MODEL.predict_proba(X))
    with pytest.raises(ValueError, match="Pass learner=ModelEvaluator"):
        LabelingSession.resume(path, X)


def test_page_shows_the_report_but_no_prediction(tmp_path):
    learner = ModelEvaluator(MODEL, metric="recall", random_state=0)
    with (
        LabelingSession(learner, tmp_path / "a.jsonl", X, budget=3) as session,
        WebOracle(session) as page,
    ):
        for _ in range(3):
            state = page._api.state()
            assert "predicted" not in state["progress"]
            assert state["labels"] == ["no", "yes"]
            row = state["question"]["row"]
            label = ["no", "yes"].index(Y[row])
            act = {"do": "answer", "row": row, "label": label, "seen": state["seen"]}
            state = page._api.act(act)
        assert str(learner.report()) in state["ended"]


def test_an_evaluator_is_not_a_classifier():
    # tools that list trainable classifiers look for `predict`
    assert not hasattr(ModelEvaluator, "predict")
    assert not is_classifier(ModelEvaluator(MODEL))
    evaluator = ModelEvaluator(MODEL, random_state=0).fit(X)
    assert not hasattr(evaluator, "predict")
    assert not hasattr(evaluator, "score")


def test_half_width_stops():
    report = evaluate(MODEL, X, ArrayOracle(Y), half_width=0.1, random_state=0)
    assert report.half_width <= 0.1
    assert 40 < report.n_labels < 300
    few = evaluate(MODEL, X, ArrayOracle(Y), budget=report.n_labels - 1, random_state=0)
    assert few.half_width > 0.1
    learner = ActiveLearner(GaussianNB(), random_state=0).fit(X)
    with pytest.raises(TypeError, match="needs a ModelEvaluator"):
        learner.reached(HalfWidthBelow(0.1))


def test_messages():
    with pytest.raises(ValueError, match="Pass budget or half_width"):
        evaluate(MODEL, X, ArrayOracle(Y))
    with pytest.raises(NotFittedError):
        evaluate(GaussianNB(), X, ArrayOracle(Y), budget=10)
    with pytest.raises(ValueError, match="pos_label must be one of"):
        ModelEvaluator(MODEL, metric="f1", pos_label="maybe").fit(X)
    model = LinearSVC().fit(X[:60], Y[:60])
    with pytest.raises(ValueError, match="needs a classifier with predict_proba"):
        ModelEvaluator(model, metric="log_loss").fit(X)
    low = X[MODEL.predict(X) == "no"]
    with pytest.raises(ValueError, match="for no row of the pool"):
        ModelEvaluator(MODEL, metric="precision").fit(low)


def test_sentences():
    report = EvaluationReport("f1", 0.5, 0.4, 0.6, 1, 0.9, "spam")
    assert str(report) == (
        "The F1 score of 'spam' is about 0.500 (0.400 to 0.600, with 90% confidence at "
        "all times), from 1 label."
    )
    report = EvaluationReport("recall", np.nan, 0.0, 1.0, 1200, 0.95, "spam")
    assert str(report) == (
        "It is unknown how many of the rows with label 'spam' are predicted correctly "
        "(0.0% to 100.0%, with 95% confidence at all times), from 1,200 labels."
    )


@pytest.mark.slow
def test_fewer_labels_than_uniform_draws():
    rng = np.random.default_rng(0)
    stated = np.repeat([0.01, 0.4], [1500, 500])
    wrong = (rng.random(2000) < stated).astype(float)
    side = np.zeros(2000, dtype=bool)
    n = {}
    for n_cells in (1, 4):
        cells = ratio_cells("error", stated, side, n_cells=n_cells)
        n[n_cells] = []
        for seed in range(15):
            limits = MetricLimits(cells, 0.05, seed)
            while np.subtract(*limits.limits()[::-1]) > 0.09:
                limits.plan()
                row = limits.draw()
                limits.observe(row, wrong[row])
            n[n_cells].append(limits.n_draws)
    assert np.median(n[4]) < 0.75 * np.median(n[1])


KILLED = """
import sys, time
import numpy as np
from sklearn.naive_bayes import GaussianNB
from skconftree.active import evaluate

X = np.random.default_rng(0).normal(size=(300, 2))
y = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)

def oracle(X_rows, rows):
    time.sleep(float(sys.argv[2]))
    return y[rows]

model = GaussianNB().fit(X[:50], y[:50])
print(evaluate(model, X, oracle, budget=60, save=sys.argv[1], random_state=0))
"""


@pytest.mark.slow
def test_killed_evaluation_continues(tmp_path):
    """After SIGKILL, the same call gives the journal of a call that was not killed."""
    script = tmp_path / "script.py"
    script.write_text(KILLED, encoding="utf-8")

    def start(name, seconds):
        command = [sys.executable, "-P", str(script), str(tmp_path / name), seconds]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    whole = start("whole.jsonl", "0").communicate()[0]
    killed = start("killed.jsonl", "0.05")
    path = tmp_path / "killed.jsonl"
    while not path.exists() or len(path.read_bytes().splitlines()) < 20:
        assert killed.poll() is None
        time.sleep(0.02)
    killed.kill()
    killed.communicate()
    assert start("killed.jsonl", "0").communicate()[0] == whole

    def lines(name):
        text = (tmp_path / name).read_text(encoding="utf-8")
        return [line.partition('"at"')[0] for line in text.splitlines()[1:]]

    assert lines("killed.jsonl") == lines("whole.jsonl")
    assert len(lines(path.name)) == 60
