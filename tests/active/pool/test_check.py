"""Labels of two prices: the limit of wrong ones, the rows to check, and the answers."""

import json
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import hypergeom
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skconftree.active import (
    ActiveLearner,
    ArrayOracle,
    RecallAbove,
    SuggestedErrorBelow,
)
from skconftree.active.pool import DeliveredLabels
from skconftree.active.pool._check import (
    Check,
    Suggestions,
    doubtful_rows,
    largest_number,
    n_certifying,
)
from skconftree.active.pool._recall import PositivesLimit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 2))
Y = np.where(X[:, 0] > 0, "yes", "no")
CHEAP = np.where(X[:, 1] > 1.0, "no", Y)  # errs in a region
assert 40 < (CHEAP != Y).sum() < 60


def learner(**parameters):
    parameters = {"batch_size": 5, "random_state": 0, **parameters}
    return ActiveLearner(GaussianNB(), **parameters).fit(X)


def run(cheap=CHEAP, **arguments):
    oracles = [(ArrayOracle(cheap), 0.01), (ArrayOracle(Y), 1.0)]
    return learner().run(oracles=oracles, **{"max_error": 0.03, **arguments})


def test_the_limit_is_that_of_the_recall():
    """Wrong suggestions are its positives; the prior is that of few errors."""
    rng = np.random.default_rng(1)
    check = Check(np.ones(100, dtype=bool), 0.05)
    limit = PositivesLimit(100, 0.05)
    limit.prior = 1 / np.arange(1, 102) / (1 / np.arange(1, 102)).sum()
    for row in range(90):
        is_wrong, is_random = bool(rng.random() < 0.1), bool(rng.random() < 0.7)
        check.add(row, is_wrong, is_random)
        if is_random:
            limit.draw(100 - row, int(not is_wrong), is_wrong)
        elif is_wrong:
            limit.add_found()
        limit.restrict(99 - row)
        assert check.max_remaining == limit.limit - limit.n_found
    assert check.max_remaining <= 10
    assert check.n_wrong == limit.n_found


def failures(n_runs, n_rows, wrong_share, is_predictable, rng):
    """Number of runs in which ever more errors remain than the limit."""
    n_failed = 0
    for _ in range(n_runs):
        features = rng.normal(size=(n_rows, 2)).astype(np.float32)
        is_wrong = rng.random(n_rows) < wrong_share
        if is_predictable:
            is_wrong = features[:, 0] > np.quantile(features[:, 0], 1 - wrong_share)
        check = Check(np.ones(n_rows, dtype=bool), 0.05)
        remaining = int(is_wrong.sum())
        while check.n_left and check.max_remaining >= remaining:
            (row,), is_random = check.next_rows(1, rng)
            check.add(row, bool(is_wrong[row]), is_random)
            remaining -= is_wrong[row]
            if check.needs_plan:
                check.plan(features, 3, (0,))
        n_failed += check.n_left > 0
    return n_failed


@pytest.mark.slow
def test_the_limit_fails_in_few_of_some_runs():
    assert failures(25, 80, 0.2, True, np.random.default_rng(0)) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("is_predictable", [True, False])
@pytest.mark.parametrize("wrong_share", [0.05, 0.3])
def test_the_limit_fails_in_few_runs(wrong_share, is_predictable):
    rng = np.random.default_rng(2)
    assert failures(200, 60, wrong_share, is_predictable, rng) <= 16


def test_rows_of_a_bad_region_are_doubtful():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(1000, 3)).astype(np.float32)
    is_wrong = features[:, 1] > 1.0
    checked = np.arange(80)
    left = np.arange(80, 1000)
    doubtful = doubtful_rows(features, checked, is_wrong[:80], left, 0.16, 30, 4.5)
    assert is_wrong[doubtful].mean() > 0.8
    assert is_wrong[left].sum() - is_wrong[doubtful].sum() < 30


@pytest.mark.parametrize("is_wrong", [np.zeros(40, bool), np.ones(40, bool)])
def test_no_row_is_doubtful_without_both_outcomes(is_wrong):
    features = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    left = np.arange(40, 100)
    assert not len(doubtful_rows(features, left[:40], is_wrong, left, 0.1, 3, 4.5))


def test_errors_at_random_are_not_doubtful():
    rng = np.random.default_rng(3)
    n_doubtful = []
    for _ in range(20):
        features = rng.normal(size=(300, 3)).astype(np.float32)
        is_wrong = rng.random(100) < 0.1
        checked, left = np.arange(100), np.arange(100, 300)
        rows = doubtful_rows(features, checked, is_wrong, left, 0.1, 6, 4.5)
        n_doubtful.append(len(rows))
    assert np.median(n_doubtful) == 0


@pytest.mark.parametrize(
    ("n_rows", "n_wrong", "max_wrong"), [(400, 0, 12), (400, 5, 12), (100, 40, 3)]
)
def test_the_expected_number_of_random_rows(n_rows, n_wrong, max_wrong):
    """The likelihood ratio of hypergeometric distributions, at whole numbers."""
    n = int(n_certifying(n_rows, n_wrong, max_wrong, 4.5))
    assert n == n_rows - max_wrong or n_wrong <= max_wrong + n_wrong * n / n_rows
    if n_wrong == 0:
        other = hypergeom(n_rows, max_wrong + 1, np.arange(n_rows + 1)).pmf(0)
        exact = int(np.argmax(-np.log(np.maximum(other, 1e-300)) >= 4.5))
        assert exact <= n <= exact + 2


def test_delivered_labels_hold():
    result = run()
    delivered = result.delivered_labels()
    labels, is_checked = delivered.labels, delivered.is_checked
    np.testing.assert_array_equal(labels[is_checked], Y[is_checked])
    np.testing.assert_array_equal(labels[~is_checked], CHEAP[~is_checked])
    assert (labels != Y).mean() <= delivered.error_limit <= 0.03
    assert delivered.n_checked == result.n_labeled_ < 300
    assert delivered.n_corrected == (CHEAP != Y)[is_checked].sum()
    assert delivered.cost == pytest.approx(0.01 * 600 + delivered.n_checked)
    assert 0 < delivered.n_random < delivered.n_checked
    assert delivered.source == "ArrayOracle"
    # a smaller error costs more, and continues with the same labels
    oracles = [(None, 0.0)]
    with pytest.raises(ValueError, match="two tuples"):
        result.run(oracles=oracles)
    cheap = Refuses(range(600))
    again = result.run(oracles=[(cheap, 0.01), (ArrayOracle(Y), 1)], max_error=0.01)
    assert not cheap.asked
    assert again.delivered_labels().error_limit <= 0.01
    assert again.n_labeled_ > delivered.n_checked


class Refuses:
    """Annotator that fails for some rows, one way after the other."""

    ANSWERS = (None, float("nan"), "I cannot say", ["no"], TimeoutError("late"))

    def __init__(self, rows):
        self.rows, self.asked = set(rows), []

    def __call__(self, X, rows):
        labels = []
        for row in rows:
            self.asked.append(int(row))
            answer = CHEAP[row]
            if row in self.rows:
                answer = self.ANSWERS[row % 5]
            if isinstance(answer, Exception):
                raise answer
            labels.append(answer)
        return labels


def test_refusals_are_counted_and_labeled_by_the_expert():
    cheap = Refuses(range(100, 150))
    oracles = [(cheap, 0.01), (ArrayOracle(Y), 1.0)]
    with pytest.warns(UserWarning, match="Refuses failed for 50 rows.*late"):
        result = learner(classes=["no", "yes"]).run(oracles=oracles)
    assert sorted(cheap.asked) == list(range(600))
    delivered = result.delivered_labels()
    assert delivered.n_invalid == 50
    assert delivered.is_checked[100:150].all()
    assert set(delivered.labels) == {"no", "yes"}
    assert (delivered.labels != Y).mean() <= delivered.error_limit <= 0.03
    last = [answer.row for answer in result.history_[-50:]]
    assert sorted(last) == list(range(100, 150))
    assert "50 answers of 'Refuses' were not labels." in str(delivered)


def test_an_annotator_of_rows_only():
    texts = ["good film", "bad film", "fine", "awful, bad"] * 30
    y = np.array(["pos", "neg", "pos", "neg"] * 30)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())

    def ask(rows):
        return ["neg" if "bad" in text else "pos" for text in rows]

    def expert(rows):
        return [y[texts.index(text)] for text in rows]

    result = ActiveLearner(model, random_state=0).fit(texts)
    result.run(oracles=[(ask, 0.001), (expert, 1)], max_error=0.1)
    delivered = result.delivered_labels()
    assert delivered.source == "ask"
    assert (delivered.labels == y).all()
    assert delivered.n_checked < 60


def test_rows_that_the_expert_skips_have_no_label():
    answers = Y.astype(object)
    answers[::7] = None
    oracles = [(ArrayOracle(CHEAP), 0), (ArrayOracle(answers), 1)]
    delivered = learner().run(oracles=oracles).delivered_labels()
    missing = delivered.labels == None  # noqa: E711
    assert 0 < missing.sum() == (missing & (answers == None)).sum()  # noqa: E711
    assert not delivered.is_checked[missing].any()


def test_initial_labels_are_kept():
    y = np.full(600, None)
    y[:50] = Y[:50]
    cheap = Refuses([])
    result = ActiveLearner(GaussianNB(), random_state=0).fit(X, y)
    result.run(oracles=[(cheap, 0.1), (ArrayOracle(Y), 1)])
    assert sorted(cheap.asked) == list(range(50, 600))
    delivered = result.delivered_labels()
    assert (delivered.labels[:50] == Y[:50]).all()
    assert delivered.cost == pytest.approx(55 + result.n_labeled_ - 50)


def test_budget_and_batches():
    oracles = [(ArrayOracle(CHEAP), 0.01), (ArrayOracle(Y), 1.0)]
    result = learner(batch_size=10).run(oracles=oracles, budget=40)
    assert result.n_labeled_ == 40
    delivered = result.delivered_labels()
    assert delivered.error_limit > 0.03
    assert (delivered.labels != Y).mean() <= delivered.error_limit
    copy = pickle.loads(pickle.dumps(result))
    assert str(copy.delivered_labels()) == str(delivered)
    result.undo(2)
    assert result.delivered_labels().n_checked == 20
    with pytest.raises(ValueError, match="no suggested labels"):
        result.fit(X).delivered_labels()


SCRIPT = """
import sys
import numpy as np
from sklearn.naive_bayes import GaussianNB
from skconftree.active import ActiveLearner, ArrayOracle

def cheap(rows):
    n.append(len(rows))
    if sum(n) > int(sys.argv[2]):
        print("killed", flush=True)
        sys.stdin.read()
    return np.where(rows[:, 1] > 1.0, "no", np.where(rows[:, 0] > 0, "yes", "no"))

def expert(rows):
    n.append(len(rows))
    if sum(n) > int(sys.argv[2]):
        print("killed", flush=True)
        sys.stdin.read()
    return np.where(rows[:, 0] > 0, "yes", "no")

n = []
X = np.random.default_rng(0).normal(size=(600, 2))
learner = ActiveLearner(GaussianNB(), batch_size=25, random_state=0).fit(X)
learner.run(oracles=[(cheap, 0.01), (expert, 1)], save=sys.argv[1])
print(learner.delivered_labels())
"""


def lines_of(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{k: v for k, v in line.items() if k != "at"} for line in lines]


@pytest.mark.slow
def test_a_killed_run_continues_with_the_same_journal(tmp_path):
    def start(name, n):
        arguments = [sys.executable, "-P", "-c", SCRIPT, str(tmp_path / name), str(n)]
        return subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    whole = start("whole", 10**6)
    expected = whole.communicate()[0]
    for n in (200, 500):
        process = start("killed", n)
        assert process.stdout.readline() == "killed\n"
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert (
            1 < len(lines_of(tmp_path / "killed")) < len(lines_of(tmp_path / "whole"))
        )
    assert start("killed", 10**6).communicate()[0] == expected
    assert lines_of(tmp_path / "killed") == lines_of(tmp_path / "whole")


def test_the_journal_has_annotators_and_prices(tmp_path):
    path = tmp_path / "answers.jsonl"
    result = run(save=path)
    head, *lines = lines_of(path)
    assert head["stop"][0]["with"] == {"max_error": 0.03, "confidence": 0.95}
    cheap, expert = lines[:120], lines[120:]
    assert cheap[0] == {
        "suggestions": {"rows": [*range(5)], "labels": CHEAP[:5].tolist()},
        **{"by": "ArrayOracle", "price": 0.01},
    }
    assert len(expert) == result.n_labeled_
    assert {len(line) for line in expert} == {6, 7}  # with a prediction if random
    assert {(line["by"], line["price"]) for line in expert} == {("ArrayOracle", 1.0)}
    # the same as without a file
    assert str(run().delivered_labels()) == str(result.delivered_labels())
    # all answers are in the file
    nobody = [(Refuses(range(600)), 0.01), (Refuses(range(600)), 1.0)]
    again = learner().run(oracles=nobody, save=path)
    assert str(again.delivered_labels()) == str(result.delivered_labels()).replace(
        "ArrayOracle", "Refuses"
    )


def test_a_second_rule_may_stop_earlier():
    rule = RecallAbove("yes", recall=0.1)
    result = run(stop=rule, max_error=0.01)
    assert result.n_labeled_ < run(max_error=0.01).n_labeled_


def test_bad_arguments():
    pair = [(ArrayOracle(CHEAP), 0.01), (ArrayOracle(Y), 1.0)]
    with pytest.raises(ValueError, match="either oracle or oracles"):
        learner().run(ArrayOracle(Y), oracles=pair)
    with pytest.raises(ValueError, match="cheap annotator must come first"):
        learner().run(oracles=pair[::-1])
    for oracles in ([], pair[:1], [*pair, pair[0]], [("a", 1), ("b", 2)], 3):
        with pytest.raises(ValueError, match="oracles must be two tuples"):
            learner().run(oracles=oracles)
    with pytest.raises(ValueError, match="max_error"):
        learner().run(oracles=pair, max_error=0.0)
    with pytest.raises(ValueError, match="confidence"):
        run().delivered_labels(confidence=1.0)
    with pytest.raises(TypeError, match="oracle must be callable"):
        learner().run()
    with pytest.raises(ValueError, match="SuggestedErrorBelow needs suggested labels"):
        learner().run(ArrayOracle(Y), stop=SuggestedErrorBelow(0.1))
    assert largest_number(0.03, 100) == 3


def test_features_have_the_probability_of_the_suggestion():
    result = run(budget=1)
    suggestions = Suggestions(dict(enumerate(CHEAP.tolist())), 600, "cheap")
    features = result._call_with_context([], suggestions.features)
    assert features.shape == (600, 5)
    np.testing.assert_array_equal(features[:, 2], CHEAP == "no")
    wrong = CHEAP != Y
    assert features[~wrong, 4].mean() > 0.8 > features[wrong, 4].mean()


def test_texts_of_delivered_labels():
    labels = np.array(["ham", None, "spam"], dtype=object)
    is_checked = np.array([True, False, False])
    text = str(DeliveredLabels(labels, is_checked, "llm", 1, 1, 0, 0.0301, 0.9, None))
    assert text == (
        "2 rows have labels: 1 of the expert, 1 of 'llm'.\n"
        "At most 3.1% of them are wrong, with 90% confidence.\n"
        "The expert corrected 1 label of 'llm'."
    )


def test_appended_rows_may_all_be_wrong():
    check = Check(np.arange(150) < 100, 0.05)
    for row in range(60):
        check.add(row, False, True)
    before = check.max_remaining
    check.grow(np.arange(100, 150))
    assert check.max_remaining == before + 50
    assert check.n_left == 90
    assert check.limit.prior.sum() == pytest.approx(1.0)
    for row in range(60, 150):
        check.add(row, row >= 100, False)
        assert check.max_remaining >= 150 - max(row + 1, 100)
    assert check.max_remaining == 0


def test_too_few_labels_of_a_cheap_annotator_are_a_failure():
    def cheap(X, rows):
        return CHEAP[rows][: 3 if 550 in rows else None]

    oracles = [(cheap, 0.01), (ArrayOracle(Y), 1.0)]
    with pytest.warns(UserWarning, match="cheap failed for 5 rows.*3 labels for 5"):
        result = learner(classes=["no", "yes"]).run(oracles=oracles, max_error=0.5)
    assert result.delivered_labels().n_invalid == 5
