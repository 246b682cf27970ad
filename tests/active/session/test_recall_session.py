"""Sessions that look for a rare class, at the end of discovery and after."""

import json

import numpy as np
import pytest
from scipy.stats import hypergeom
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from skconftree.active import (
    ActiveLearner,
    LabelingSession,
    MostLikelySampling,
    RecallAbove,
    WebOracle,
)
from skconftree.active.pool import RecallReport
from skconftree.active.session import Progress
from skconftree.active.session._terminal import progress_text

from .test_web import Browser

X = np.random.default_rng(0).normal(size=(160, 2))
Y = np.where(X[:, 0] + 0.4 * X[:, 1] > 1.2, "rare", "other")
N_RARE = int((Y == "rare").sum())


def session(path, rule=None, *, n_rows=160, classes=("other", "rare"), **settings):
    learner = ActiveLearner(
        GaussianNB(),
        strategy=MostLikelySampling("rare"),
        classes=classes,
        random_state=0,
    )
    return LabelingSession(learner, path, X[:n_rows], stop=rule, **settings)


def rule(**parameters):
    return RecallAbove("rare", **{"recall": 0.7, "patience": 8, **parameters})


def answer(one, n=1000):
    while n and (question := one.question()) is not None:
        one.answer(Y[question.row].item(), question.row)
        n -= 1
    return one


def lines_of(path):
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return [{k: v for k, v in line.items() if k != "at"} for line in lines]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


def test_a_person_is_asked_once_whether_to_certify(path):
    with answer(session(path, rule())) as one:
        progress = one.progress()
        assert (progress.ended, progress.asks) == ("discovery", True)
        report = progress.recall
        assert report == one.learner.recall_report("rare", recalls=(0.7,))
        assert report.n_random == 0 < report.costs[0.7] < report.n_unlabeled
        with pytest.raises(ValueError, match="Discovery has ended"):
            one.answer("rare")
    with session(path, rule(), annotator="anna") as one:
        assert one.progress().asks  # not decided yet
        one.certify(False)
        assert not one.progress().asks
        assert one.question() is None
    decision = {"certify": False, "positive": "rare", "recall": 0.7, "by": "anna"}
    assert lines_of(path)[-1] == decision
    with LabelingSession.resume(path, X) as one:
        assert (one.progress().ended, one.progress().asks) == ("discovery", False)
        one.certify()  # a person may change the decision
        answer(one)
        progress = one.progress()
        assert (progress.ended, progress.asks) == ("rule", False)
        assert progress.recall.lower_limit >= 0.7
        assert progress.recall.n_random > 10
        with pytest.raises(ValueError, match="can only be certified when"):
            one.certify()


@pytest.mark.parametrize(
    "agreed", ["before", pytest.param("when asked", marks=pytest.mark.slow)]
)
def test_a_killed_session_continues_with_the_same_row(path, tmp_path, agreed):
    certify, questions = agreed == "before", {}
    with session(path, rule(certify=certify)) as one:
        while True:
            question = one.question()
            questions[len(one._record.journal.lines)] = question
            if question is not None:
                one.answer(Y[question.row].item(), question.row)
            elif one.progress().asks:
                one.certify()
            else:
                break
        assert one.progress().recall.lower_limit >= 0.7
    lines = path.read_text("utf-8").splitlines(keepends=True)
    decided = [i for i, line in enumerate(lines) if '"certify": true' in line]
    assert len(decided) == 2 if certify else 1  # the first line has the rule
    is_random = ["prediction" in line for line in lines]
    n = decided[-1]
    assert not any(is_random[:n])
    assert all(is_random[n + 1 :])
    # a positive among the rows drawn at random does not resume the discovery
    assert any('"label": "rare"' in line for line in lines[n:])
    for length in (5, n - 1, n, n + 1, n + 2, n + 7, len(lines)):
        other = tmp_path / f"{length}.jsonl"
        other.write_text("".join(lines[:length]))
        with session(other, rule(certify=certify)) as one:
            expected = questions[length if length == n and certify else length - 1]
            assert one.question() == expected


@pytest.mark.slow
def test_a_function_is_asked_once(path):
    reports = []

    def agrees(report):
        reports.append(report)
        return True

    with session(path, rule(certify=agrees)) as one:
        answer(one, 60)
        one.undo()
        answer(one, 1)
    with session(path, rule(certify=agrees)) as one:
        answer(one)
        assert one.progress().recall.lower_limit >= 0.7
    assert len(reports) == 1


def test_an_agreement_that_is_given_later_is_taken(path):
    answer(session(path, rule())).close()
    with session(path, rule(certify=True)) as one:
        assert one.question() is not None
    assert lines_of(path)[-1] == {"certify": True, "positive": "rare", "recall": 0.7}
    with session(path, rule()) as one:  # without it, the journal has the agreement
        assert one.question() is not None


def test_the_recall_is_shown_without_a_rule(path):
    with session(path, positive="rare") as one:
        assert one.progress().recall.n_found == 0
        answer(one, 25)
        report = one.progress().recall
        assert report == one.learner.recall_report("rare")
    assert progress_text(one_progress(report), None) == (
        f"25 labels, {report.n_found} rare found (recall about "
        f"{report.estimate:.0%}, at least {100 * report.lower_limit - 0.05:.1f}%)"
    )
    none = RecallReport("rare", 0, 3, 9, 0, None, 0.0, 0.95, {})
    assert progress_text(one_progress(none), None) == "25 labels, 0 rare found"
    with pytest.raises(ValueError, match=r"\['other', 'rare'\].*mean 'rare'\?"):
        session(path, positive="raer")
    with session(path) as one:  # the journal was closed
        assert one.progress().recall is None
    with pytest.raises(ValueError, match="predict_proba"):
        LabelingSession(ActiveLearner(LinearSVC()), path, X, positive="rare")


def one_progress(report):
    return Progress(25, None, 160, None, None, report)


@pytest.mark.slow
def test_rows_that_are_appended_can_all_be_positive(path):
    start = np.where(np.arange(160) >= 150, Y, None)
    with session(path, rule(certify=True), n_rows=100) as one:
        answer(one)
        report = one.progress().recall
        found, limit = report.n_found, report.n_found / report.lower_limit
        assert limit < 100
    with session(path, rule(certify=True), y=start) as one:
        report = one.progress().recall
        n_start = int((Y[150:] == "rare").sum())
        assert report.n_found == found + n_start
        # the 50 unlabeled new rows, and those missing before
        assert report.n_found / report.lower_limit == pytest.approx(
            min(limit + 60, report.n_found + report.n_unlabeled)
        )
        assert one.question() is not None
        answer(one)
        report = one.progress().recall
        assert 0.7 <= report.lower_limit <= report.n_found / N_RARE
        context_growth = one.learner._growth
    assert [n_rows for _, n_rows in context_growth] == [100]
    # at least as many rows as an exact test of the new rows
    missing = int(report.n_found / 0.7) + 1 - report.n_found
    n_new = sum(line.get("row", 0) >= 100 for line in lines_of(path))
    assert hypergeom(50, missing, n_new).pmf(0) <= 0.05


def test_the_page_asks_whether_to_certify(path):
    with answer(session(path, rule())) as one, WebOracle(one) as page:
        browser = Browser(page)
        state = browser.state()
        assert state["asks"]
        assert state["ended"].startswith("Discovery has ended: ")
        assert "To certify a recall of 70%, label " in state["ended"]
        assert browser.act("certify", agree="yes")[0] == 400
        status, state = browser.act("certify", agree=True)
        assert (status, state["asks"], state["ended"]) == (200, False, None)
        assert state["question"] is not None
        assert "rare found (recall about" in state["progress"]
        assert "rows with label 'rare' found" in browser.act("error rate")[1]["note"]
        assert browser.act("certify", agree=True)[0] == 409
