"""Sessions that are ended, killed, relabeled and gone on with."""

import csv
import errno
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reference.effort import cases, crossed
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import (
    ActiveLearner,
    ArrayOracle,
    LabelingSession,
    RecallAbove,
    RiskBelow,
    StableModel,
    SuggestedErrorBelow,
)
from skconftree.active._journal import JournalError, Ledger
from skconftree.active.pool._estimate import labeled_in_order, weights_of
from skconftree.active.pool._oracles import QueriesEnded
from skconftree.active.session._explanations import DisplayedTable, _changed

X, y = load_iris(return_X_y=True)
WORDS = np.array(["ham", "spam", "eggs"])[y]
WORDS_AT_START = np.where(np.arange(150) % 10 == 0, WORDS, None)
FIRST_FORMAT = [(56, 1), (52, 1), (129, 2), (41, 0), (18, 0), (23, 2), (91, 1)]
FIRST_FORMAT += [(44, None), (43, 0), (19, 0), (95, 1)]
KILLS = os.environ.get("SKCONFTREE_KILLS", "10")


def session(path, y=None, *, estimator=None, learner=None, **settings):
    given = {"random_state": 0, **(learner or {})}
    one = ActiveLearner(GaussianNB() if estimator is None else estimator, **given)
    return LabelingSession(one, path, X, y, **settings)


def give(one, n, labels=WORDS):
    for _ in range(n):
        row = one.question().row
        one.answer(labels[row].item(), row)
    return one


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


@pytest.mark.slow
def test_killed_at_any_moment_nothing_is_lost(tmp_path):
    """The next question is that of a session that nobody killed, bit for bit."""
    script = Path(__file__).with_name("killing.py")
    run = subprocess.run(
        [sys.executable, "-P", script, tmp_path, KILLS, "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout.split()[0]) >= int(KILLS)


@pytest.mark.parametrize(
    ("estimator", "batch_size"),
    crossed(
        [GaussianNB(), ConfidenceTreeClassifier(), ConfidenceForestClassifier(5)],
        [1, 4],
    ),
)
@pytest.mark.slow
def test_a_session_is_a_function_of_its_journal(path, estimator, batch_size):
    rule = RiskBelow(0.01, method="audit")
    given = {"stop": rule, "repeat": 0.2, "annotator": "anna"}
    learner = {"batch_size": batch_size}
    one = session(path, estimator=estimator, learner=learner, **given)
    for i in range(30):
        question = one.question()
        if i == 9:
            one.skip()
        else:
            one.answer(WORDS[question.row].item())
        if i % 7 == 6:
            assert one.undo() == question.row
            assert one.question() == question
    one.relabel(one.answers()[5]["row"], "eggs")
    one.relabel(one.answers()[7]["row"], None)
    question, labels = one.question(), one.predictions()[0]
    one._record.journal.close()
    other = LabelingSession.resume(path, X, annotator="anna")
    assert other.question() == question
    assert (other.predictions()[0] == labels).all()
    assert other.answers() == one.answers()
    other.close()
    assert (other.learner.predict(X) == labels).all()


def test_the_budget_counts_all_answers(path):
    with session(path, budget=12) as one:
        give(one, 8)
        assert one.progress()[:2] == (8, 12)
    with session(path, budget=12) as one:
        give(one, 4)
        assert one.question() is None
        assert one.progress().ended == "budget"
        with pytest.raises(ValueError, match="The session has ended. The budget"):
            one.answer("ham")
        one.undo()
        give(one, 1)
    with LabelingSession.resume(path, X) as one:
        assert one.question() is None
    with LabelingSession.resume(path, X, budget=13) as one:
        give(one, 1)
        assert one.learner.n_labeled_ == 13
        one.relabel(one.answers()[5]["row"], None)
        assert one.progress().n_answers == one.learner.n_labeled_ == 12
        give(one, 1)
        assert one.progress().ended == "budget"


def test_labels_have_types(path):
    labels = [1, 2]
    with session(path, learner={"classes": labels}) as one:
        one.answer(1)
        with pytest.raises(ValueError, match="'1', which is not one of the classes"):
            one.answer("1")
    assert len(path.read_text().splitlines()) == 2
    with session(path.with_name("free.jsonl")) as one:
        one.answer(1)
        with pytest.raises(ValueError, match="labels mixes strings with other"):
            one.answer("1")
        one.answer(np.int64(2))
        assert [answer["label"] for answer in one.answers()] == [2, 1]
    with session(path.with_name("days.jsonl")) as one:
        with pytest.raises(ValueError, match="A journal stores labels that are"):
            one.answer(np.datetime64("2026-01-01"))


def test_an_earlier_answer_is_relabeled_and_later_ones_stay(path):
    with session(path) as one:
        give(one, 20)
        rows = [answer["row"] for answer in one.answers()]
        wrong = next(row for row in rows[3:] if WORDS[row] != "eggs")
        one.relabel(wrong, "eggs")
        assert [answer["row"] for answer in one.answers()][1:] == [
            row for row in rows if row != wrong
        ]
        assert one.learner.n_labeled_ == 20
        expected = GaussianNB()
        labels = WORDS.copy()
        labels[wrong] = "eggs"
        rows = np.sort(rows)
        expected.fit(X[rows], labels[rows])
        assert (one.learner.predict_proba(X) == expected.predict_proba(X)).all()
        with pytest.raises(ValueError, match="was not queried in this journal"):
            one.relabel(one.question().row, "ham")
        assert one.undo() == wrong
        assert one.progress().n_answers == 20


def test_two_annotators(path):
    given = {"repeat": 0.5, "resolve_by": "first"}
    with session(path, annotator="anna", **given) as one:
        while one.progress().n_answers < 20:
            give(one, 1)
        own = one.agreement()
        assert all(pair["annotators"] == ["anna", "anna"] for pair in own)
    with session(path, annotator="bert", **given) as one:
        with pytest.raises(ValueError, match="The last label is by 'anna', not by"):
            one.undo()
        wrong = None
        for _ in range(20):
            question = one.question()
            if question.again:
                wrong = question.row
                break
            give(one, 1)
        other = "eggs" if WORDS[wrong] != "eggs" else "ham"
        one.answer(other)
        told = next(answer for answer in one.answers() if answer["row"] == wrong)
        assert told["label"] == WORDS[wrong]  # the first rules
        assert told["opinions"][-1] == ("bert", other)
        assert one.learner.y_[wrong] == WORDS[wrong]
        pair = one.agreement()[-1]
        assert (pair["annotators"], pair["agreed"]) == (["anna", "bert"], 0)
        one.export(path.with_suffix(".csv"))
    with open(path.with_suffix(".csv"), newline="") as file:
        line = list(csv.DictReader(file))[wrong]
    assert line["opinions"] == f"anna: {WORDS[wrong]}; bert: {other}"
    assert float(line["kappa"]) == pytest.approx(pair["kappa"], abs=1e-6)


def test_a_rule_ends_the_session(path):
    with session(path, stop=StableModel(0.9, 3)) as one:
        while one.question() is not None:
            give(one, 1)
        assert one.progress().ended == "rule"
        assert one.progress().limit is None
    path.unlink()
    with session(path, stop=RiskBelow(0.5, method="audit", audit_share=0.5)) as one:
        while one.question() is not None:
            give(one, 1)
        assert one.progress().limit <= 0.5
        assert one.learner.audit_[1] > 3
        assert "Upper confidence limit" in one.forecast()
        judged = one.learner.audit_
    with LabelingSession.resume(path, X) as one:
        assert one.learner.audit_ == judged


def test_skipped_rows_come_again_in_another_session(path):
    few = ActiveLearner(GaussianNB(), random_state=0)
    with LabelingSession(few, path, X[:5]) as one:
        one.skip()
        row = one.answers()[0]["row"]
        give(one, 4)
        assert one.progress().ended == "rows"
    with LabelingSession.resume(path, X[:5]) as one:
        assert one.question().row == row


def test_initial_labels_are_retained(path):
    known = np.full(150, None)
    known[::10] = WORDS[::10]
    with session(path, known) as one:
        give(one, 5)
        question = one.question()
    with LabelingSession.resume(path, X) as one:
        assert one.question() == question
        assert one.learner.n_labeled_ == 20
    known[3] = "ham"
    with pytest.raises(ValueError, match="was started with 15 initial labels"):
        session(path, known)


def test_a_full_disk_leaves_the_query_open(path, monkeypatch):
    with session(path) as one:
        give(one, 5)
        question, content = one.question(), path.read_bytes()

        def full(file):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(
            OSError, match="No space left on device. The 5 earlier lines"
        ):
            give(one, 1)
        monkeypatch.undo()
        assert path.read_bytes() == content
        assert one.question() == question
        give(one, 1)
        assert one.learner.n_labeled_ == 6


class Interrupted(GaussianNB):
    """Whose next fit is interrupted if it is told so."""

    now = False

    def fit(self, X, y):
        if Interrupted.now:
            Interrupted.now = False
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_an_interrupt_between_the_file_and_the_learner(path):
    """What is in the file is learned, and not asked for again."""
    with session(path.with_name("whole"), estimator=Interrupted()) as whole:
        give(whole, 12)
        expected = whole.question()
    with session(path, estimator=Interrupted()) as one:
        give(one, 11)
        row = one.question().row
        Interrupted.now = True
        with pytest.raises(KeyboardInterrupt):
            one.answer(WORDS[row].item(), row)
        assert one.question() == expected
        assert one.progress().n_answers == one.learner.n_labeled_ == 12


def test_answers_after_an_interrupt_are_those_of_the_file(path, monkeypatch):
    with session(path) as one:
        give(one, 3)
        row = one.question().row

        def interrupted(ledger, line):
            monkeypatch.undo()
            raise KeyboardInterrupt

        monkeypatch.setattr(Ledger, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            one.answer("ham", row)
        assert [told["row"] for told in one.answers()][:1] == [row]
        assert len(path.read_text().splitlines()) == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_cannot_write_into_the_journal(path):
    with session(path) as one:
        give(one, 2)
        question, content = one.question(), path.read_bytes()
        child = os.fork()
        if child == 0:
            try:
                one.answer("ham")
            except BlockingIOError as error:
                os._exit(0 if "was opened by the parent process" in str(error) else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert path.read_bytes() == content
        assert one.question() == question
        give(one, 1)


def test_a_closed_session_has_learned_all(path):
    with session(path, learner={"batch_size": 4}) as one:
        give(one, 10)
        assert one.learner.n_labeled_ == 8
    assert one.learner.n_labeled_ == 10
    assert (one.predictions()[0] == one.learner.predict(X)).all()
    one.close()
    assert one.progress().n_answers == one.learner.n_labeled_ == 10
    with pytest.raises(ValueError, match="is closed"):
        one.answer("ham")


def test_a_first_line_that_was_torn_is_written_again(path):
    """By a kill or a full disk; an earlier version left the bare head in its place."""
    with session(path, WORDS_AT_START):
        whole = path.read_bytes()
    bare = b'{"journal": "skconftree labels", "format": 1}\n'
    for content in (whole[:5], whole[:200], whole[:-1], bare):
        path.write_bytes(content)
        with session(path, WORDS_AT_START) as one:
            assert "first line" in one.notes[0]
            give(one, 2)
        with LabelingSession.resume(path, X) as one:
            assert one.notes == []
            assert one.progress().n_answers == 2
            assert one.learner.n_labeled_ == 17


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"row": -1}, "row must be a row of the pool, an integer of 0 or more. Got -1"),
        ({"row": 1.7}, "row must be .* Got 1.7"),
        ({"row": True}, "row must be .* Got True"),
        ({"row": 150}, "row must be a row of the pool, 0 to 149. Got 150"),
        ({"row": None}, "row must be .* Got None"),
        ({"row": 140}, "row 140 has an initial label"),
        ({"label": ["ham"]}, "label must be a string, .* Got \\['ham'\\]"),
        ({"label": None}, "label must be a string, .* Got None"),
        ({"batch": "9"}, "batch must be the number of a query, .* Got '9'"),
        (
            {"n_remaining": None},
            "n_remaining must be an integer of 0 or more. Got None",
        ),
        ({"n_remaining": -1}, "n_remaining must be an integer of 0 or more. Got -1"),
        ({"again": 1}, "again must be true or false. Got 1"),
        ({"by": 3}, "by must be a name. Got 3"),
        ({"undo": "5"}, "undo must be the number of a line. Got '5'"),
    ],
    ids=str,
)
def test_a_line_that_is_not_valid_is_named(path, changes, message):
    with session(path, WORDS_AT_START) as one:
        give(one, 3)
    line = {"row": 7, "label": "ham", "batch": 9, "n_remaining": 0} | changes
    content = path.read_bytes() + json.dumps(line).encode() + b"\n"
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=f"Line 5 of the journal is not valid: {message}"
    ):
        LabelingSession.resume(path, X)
    assert path.read_bytes() == content


def test_a_line_whose_label_is_not_a_class_is_named(path):
    with session(path, learner={"classes": ["ham", "spam", "eggs"]}) as one:
        give(one, 3)
    line = {"row": 7, "label": "jam", "batch": 9, "n_remaining": 0}
    path.write_text(path.read_text() + json.dumps(line) + "\n")
    with pytest.raises(ValueError, match=r"Line 5 of .* 'jam', which is not one of"):
        LabelingSession.resume(path, X)


def test_a_journal_of_the_first_format_opens(path):
    """It was written by commit 600abdf9."""
    path.write_bytes(Path(__file__).with_name("journal_format_1.jsonl").read_bytes())
    with LabelingSession.resume(path, X, annotator="a") as one:
        told = [(told["row"], told["label"]) for told in one.answers()]
        assert told == FIRST_FORMAT
        assert one.question().row == 50
        assert one.progress()[:2] == (12, 40)
        assert np.isnan(one.learner.missing_label)
        assert isinstance(one.learner.estimator, GaussianNB)
        one.answer(1)


# -- what must not be mixed up -----------------------------------------------------


@pytest.mark.parametrize("name", ["learner", "seed", "resolve_by"])
def test_a_first_line_that_lacks_a_part_is_damaged(path, name):
    with session(path) as one:
        give(one, 1)
    head, *lines = path.read_text().splitlines(keepends=True)
    head = json.loads(head)
    del head[name]
    path.write_text("".join([json.dumps(head) + "\n", *lines]))
    content = path.read_bytes()
    with pytest.raises(ValueError, match="is corrupt in line 1"):
        LabelingSession.resume(path, X)
    with pytest.raises(
        ValueError, match="corrupt in line 1|was started with resolve_by"
    ):
        session(path)
    assert path.read_bytes() == content


def test_a_journal_of_another_version_is_gone_on_with(path):
    with session(path) as one:
        give(one, 1)
    head, *lines = path.read_text().splitlines(keepends=True)
    head = json.dumps(json.loads(head) | {"version": "0.0.9"}) + "\n"
    path.write_text("".join([head, *lines]))
    with session(path) as one:
        (note,) = one.notes
        assert note.startswith(f"{path} was started with version 0.0.9. This")


def test_another_pool_or_other_parameters_are_refused(path):
    with session(path, repeat=0.1) as one:
        give(one, 3)
    content = path.read_bytes()
    one = ActiveLearner(GaussianNB(), random_state=0)
    with pytest.raises(ValueError, match=r"X is not the pool .* in another order"):
        LabelingSession(one, path, X[::-1])
    with pytest.raises(ValueError, match="it has 140 rows, expected 150"):
        LabelingSession.resume(path, X[:140])
    with pytest.raises(ValueError, match="started with strategy='auto'. Got 'margin'"):
        session(path, repeat=0.1, learner={"strategy": "margin"})
    with pytest.raises(ValueError, match=r"with estimator=GaussianNB\(.* Got Logis"):
        session(path, repeat=0.1, estimator=LogisticRegression())
    assert path.read_bytes() == content
    with session(path, repeat=0.1) as one:
        with pytest.raises(BlockingIOError, match="another session of this one"):
            session(path, repeat=0.1)
        assert one.progress().n_answers == 3


def test_shares_can_be_changed_later(path):
    with session(path) as one:
        give(one, 15)
        assert one._record.share == one._record.repeat == 0.0
        assert one.estimate_error().n_random == 0
    with LabelingSession.resume(path, X, random_share=1.0) as one:
        row = one.question().row
        give(one, 12)
        one.undo()
        assert one.question() is not None
        n_random = one.estimate_error().n_random
        assert n_random == one.learner.audit_[1] == 11
    with session(path) as one:  # shares of the journal
        assert (one._record.share, one._record.repeat) == (1.0, 0.0)
        assert row in [answer["row"] for answer in one.answers()]
    with session(path, random_share=0.0, repeat=0.9) as one:
        questions = []
        for _ in range(10):
            questions.append(one.question())
            one.answer(WORDS[questions[-1].row].item())
        assert any(question.again for question in questions)
        assert one.estimate_error().n_random == 11
        content, question = path.read_bytes(), one.question()
    changes = [json.loads(line).get("settings") for line in content.splitlines()]
    assert [change for change in changes if change] == [
        {"random_share": 1.0},
        {"random_share": 0.0, "repeat": 0.9},
    ]
    with session(path, random_share=0.0, repeat=0.9) as one:
        assert one.question() == question
    assert path.read_bytes() == content  # nothing was changed
    for bad in ({"repeat": 2}, {"budget": 3}, 7):
        path.write_bytes(content + json.dumps({"settings": bad}).encode() + b"\n")
        with pytest.raises(ValueError, match="settings must be shares of the queries"):
            session(path)


@pytest.mark.parametrize("batch_size", cases([1, 4], [4]))
def test_labels_can_be_added(path, batch_size):
    first, all_labels = ["ham", "spam"], ["ham", "spam", "eggs"]
    labels = np.where(WORDS == "eggs", "ham", WORDS)
    learner = {"classes": first, "batch_size": batch_size}
    with session(path, learner=learner) as one:
        give(one, 14, labels)
        row = one.question().row
        with pytest.raises(ValueError, match="'eggs', which is not one of the classes"):
            one.answer("eggs")
        for label, message in (
            ("ham", "is already one of the labels"),
            (3, "must be of the type of the other labels"),
            (None, "must be a string, a boolean or a finite number"),
        ):
            with pytest.raises(ValueError, match=message):
                one.add_label(label)
        assert len(path.read_text().splitlines()) == 15
        one.add_label("eggs")
        assert one.labels == all_labels
        assert one.question().row == row
        one.answer("eggs")
        assert one.undo() == row
        one.answer("eggs")
        give(one, 6)
        one.add_label(np.str_("bacon"))
        question, learned = one.question(), one.learner.classes_.tolist()
        assert learned == ["bacon", "eggs", "ham", "spam"]
        proba = one.predictions()[1]
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    added = [line["classes"] for line in lines if "classes" in line]
    assert added == [all_labels, [*all_labels, "bacon"]]
    content = path.read_bytes()
    passed = ActiveLearner(GaussianNB(), random_state=0, batch_size=batch_size)
    openings = [
        lambda: LabelingSession.resume(path, X),
        lambda: session(path, learner=learner),
        lambda: session(path, learner={**learner, "classes": np.array(added[-1])}),
    ]
    for opening in openings:
        with opening() as one:
            assert one.question() == question
            assert sorted(one.labels) == learned
            np.testing.assert_array_equal(one.predictions()[1], proba)
    assert path.read_bytes() == content
    for other in (["ham"], all_labels, ["ham", "eggs"], None):
        passed.set_params(classes=other)
        with pytest.raises(ValueError, match="was started with classes="):
            LabelingSession(passed, path, X)
    with session(path, learner={**learner, "classes": [*added[-1], "x"]}) as one:
        assert "x" in one.labels
    assert json.loads(path.read_text().splitlines()[-1])["classes"][-1] == "x"


def test_without_classes_no_label_needs_to_be_added(path):
    with session(path) as one, pytest.raises(ValueError, match="Any label can be"):
        one.add_label("ham")


@pytest.mark.parametrize(
    "as_table", cases([np.array, pd.DataFrame, csr_array], [pd.DataFrame])
)
def test_a_pool_may_have_more_rows(path, as_table):
    def opened(n, y=None, **given):
        table = as_table(X[:n]) if "shown" not in given else X[:n]
        learner = ActiveLearner(GaussianNB(), random_state=0)
        if as_table is csr_array:
            learner.set_params(estimator=LogisticRegression(max_iter=500))
        return LabelingSession(learner, path, table, y, random_share=0.3, **given)

    y = np.array([*WORDS[:2], *[None] * 88])
    with opened(90, y) as one:
        give(one, 20)
        assert one.progress().n_rows == 90
        before = [answer["row"] for answer in one.answers()]
    labels = np.where(np.arange(150) % 30 == 20, WORDS, None)
    labels[:90] = y
    with opened(150, labels) as one:
        assert one.progress()[:3:2] == (20, 150)
        assert one.learner.n_labeled_ == 2 + 20 + 2
        assert [answer["row"] for answer in one.answers()] == before
        give(one, 25)
        assert max(answer["row"] for answer in one.answers()) >= 90
        one.undo()
        question = one.question()
        predicted = one.predictions()[0]
        assert len(predicted) == 150
        assert one.estimate_error().n_random > 0
        one.export(path.with_name("out.csv"))
    table = pd.read_csv(path.with_name("out.csv"))
    assert (table["annotator"] == "the table").sum() == 4
    (line,) = (
        json.loads(line) for line in path.read_text().splitlines() if "pool" in line
    )
    assert line["pool"]["start"]["rows"] == [0, 1, 110, 140]
    for given in ({}, {"y": labels}):
        with opened(150, **given) as one:
            assert one.question() == question
            assert (one.predictions()[0] == predicted).all()
    content = path.read_bytes()
    with pytest.raises(ValueError, match="it has 90 rows, expected 150"):
        opened(90)
    with pytest.raises(ValueError, match="was started with 4 initial labels. Got 2"):
        opened(150, [*y, *[None] * 60])
    with pytest.raises(ValueError, match="of its first 150 rows, some rows have other"):
        LabelingSession.resume(path, as_table(np.vstack([X[:149], X[:5]])))
    assert path.read_bytes() == content


def test_a_journal_with_changes_that_is_cut_anywhere_can_be_continued(path):
    def opened(n, classes, **given):
        learner = ActiveLearner(GaussianNB(), random_state=0, classes=classes)
        return LabelingSession(learner, path, X[:n], **given)

    labels = np.where(WORDS == "eggs", "ham", WORDS)
    with opened(140, ["ham", "spam"]) as one:
        give(one, 6, labels)
    changed = 150, ["ham", "spam", "eggs"]
    with opened(*changed, repeat=0.2, random_share=0.3) as one:
        give(one, 6)
        question, labeled = one.question(), one.learner.n_labeled_
    content = path.read_bytes()
    ends = np.cumsum([len(line) for line in content.splitlines(keepends=True)])
    rng = np.random.default_rng(0)
    for end in sorted({*ends[1:].tolist(), *rng.integers(ends[0], ends[-1], 12)}):
        path.write_bytes(content[:end])
        with opened(*changed, repeat=0.2, random_share=0.3) as one:
            assert (len(one.notes) > 0) == (end not in ends)
            assert one.labels == changed[1]
            assert len(one.learner.y_) == 150
            complete = content[: ends[ends <= end][-1]].count(b'"row"')
            assert one.progress().n_answers == complete
            if end == ends[-1]:
                assert one.question() == question
                assert one.learner.n_labeled_ == labeled


def test_what_is_shown_may_have_more_rows(path):
    texts = [f"text {row}" for row in range(150)]
    tables = [texts, {"text": texts}, pd.DataFrame({"text": texts})]
    for place, shown in enumerate(tables):
        path = path.with_name(f"{place}.jsonl")
        part = shown[:100] if place != 1 else {"text": texts[:100]}
        learner = ActiveLearner(GaussianNB(), random_state=0)
        with LabelingSession(learner, path, X[:100], shown=part) as one:
            give(one, 12)
        # X may change, as that of TF-IDF does; what is shown may not
        more = np.column_stack([X, X[:, 0]])
        learner = ActiveLearner(GaussianNB(), random_state=0)
        with LabelingSession(learner, path, more, shown=shown) as one:
            assert one.progress()[:3:2] == (12, 150)


def test_a_file_of_run_may_have_more_rows_and_classes(path):
    one = ActiveLearner(GaussianNB(), random_state=0, classes=["ham", "spam"])
    known = np.flatnonzero(WORDS != "eggs")
    one.fit(X[known]).run(ArrayOracle(WORDS[known]), 12, save=path)
    more = np.concatenate([known, np.flatnonzero(WORDS == "eggs")])
    learner = ActiveLearner(
        GaussianNB(), random_state=0, classes=[*one.classes, "eggs"]
    )
    learner.fit(X[more]).run(ArrayOracle(WORDS[more]), 40, save=path)
    assert learner.n_labeled_ == 40
    assert set(learner.history_[:12]) == set(one.history_)
    assert "eggs" in learner.y_


def test_second_opinions_are_of_rows_that_the_model_doubts(path):
    wrong = WORDS.copy()
    wrong[[3, 60, 140]] = ["eggs", "ham", "ham"]
    y = np.where(np.arange(150) % 10 == 1, WORDS, None)
    with session(path, y, estimator=GaussianNB()) as one:
        for row in (3, 60, 140):
            one._record.learner.query()
            one._record.add_label(
                one._record.next_row()._replace(row=row), wrong[row].item(), "anna"
            )
    with session(path, y, repeat=0.99, annotator="bert") as one:
        asked = []
        while len(asked) < 3:
            question = one.question()
            if question.again:
                asked.append(question.row)
            one.answer(WORDS[question.row].item())
        proba = GaussianNB().fit(X[y != None], y[y != None].astype(str))  # noqa: E711
        assert {3, 60, 140} == set(asked)
        assert proba.predict(X[[3, 60, 140]]).tolist() == WORDS[[3, 60, 140]].tolist()


def test_labels_are_added_at_the_terminal(path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n+\n2\n+\nx\n+\n2\n3\nq\n"))
    with session(path, learner={"classes": [0, 1]}) as one:
        one.label()
        assert one.labels == [0, 1, 2]
        assert [answer["label"] for answer in one.answers()] == [1]
    told = capsys.readouterr().out
    assert "New label: 2." in told
    assert "The labels are numbers. Got 'x'." in told
    assert "2 is already one of the labels, [0, 1, 2]." in told
    assert "[2]  [u] undo" in told


def test_suggested_labels_are_shown_and_judged(path):
    rng = np.random.default_rng(0)
    model = np.where(rng.random(150) < 0.3, "ham", WORDS).astype(object)
    model[::7] = None
    crowd = [None] * 149 + ["eggs"]
    learner = {"classes": ["ham", "spam", "eggs"]}
    given = {"suggested": {"llm": model, "crowd": crowd}, "random_share": 0.6}
    with session(path, learner=learner, **given) as one:
        assert one.notes == []
        for _ in range(50):
            question = one.question()
            assert (question.suggested or {}).get("llm") == model[question.row]
            one.answer(WORDS[question.row].item())
        estimates = one.estimate_suggested_error()
        rows, is_random = labeled_in_order(one.learner)
    used = np.array([model[row] is not None for row in rows])
    rows, is_random = rows[used], is_random[used]
    assert 10 < is_random.sum() < len(rows) < 50
    weights = weights_of(is_random, sum(label is not None for label in model))
    wrong = model[rows] != WORDS[rows]
    assert estimates["llm"].error == pytest.approx(weights @ wrong)
    assert estimates["llm"].n_random == is_random.sum()
    truth = np.mean([m != w for m, w in zip(model, WORDS, strict=True) if m])
    assert estimates["llm"].low < truth < estimates["llm"].high
    assert estimates["crowd"].n_random == 0
    assert estimates["crowd"].sentence("labels").startswith("It is unknown how many")
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    for line in lines:
        suggested = {"llm": model[line["row"]], "crowd": crowd[line["row"]]}
        shown = {name: label for name, label in suggested.items() if label}
        assert line.get("suggested", {}) == shown
    # another source later, or none; a series, and values that are not labels
    with LabelingSession.resume(path, X) as one:
        assert one.question().suggested is None
        assert one.estimate_suggested_error() == {}
    series = pd.Series([*WORDS[:-2], "I cannot say", np.nan])
    with LabelingSession.resume(path, X, suggested=series) as one:
        (note,) = one.notes
        assert note.startswith("1 suggestions of 'suggested' are not one of the labels")
        assert one.question().suggested == {"suggested": WORDS[one.question().row]}
        assert one.estimate_suggested_error()["suggested"].error == 0.0
    with pytest.raises(ValueError, match="for each of the 150 rows, or None. Got 3"):
        LabelingSession.resume(path, X, suggested=["ham"] * 3)


def test_a_suggestion_is_taken_by_one_key(path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("=\n=\nq\n"))
    learner = {"classes": ["ham", "eggs"]}
    with session(path, learner=learner) as one:
        row = one.question().row
    suggested = [None] * 150
    suggested[row] = "eggs"
    with session(path, learner=learner, suggested=suggested) as one:
        one.label()
        (answer,) = one.answers()
    assert (answer["row"], answer["label"]) == (row, "eggs")
    told = capsys.readouterr().out
    assert "Suggested: eggs (suggested)" in told
    assert "\n[=] eggs  [1] ham  [2] eggs  [u] undo" in told
    assert "\n[1] ham  [2] eggs  [u] undo" in told  # the next row has no suggestion
    assert "A number from 1 to 2, the label itself, or" in told


def test_a_journal_without_a_random_share_is_that_of_an_earlier_version(path):
    with session(path, repeat=0.5) as one:
        give(one, 12)
        question = one.question()
    head, *lines = path.read_text().splitlines()
    head = json.loads(head)
    assert head.pop("random_share") == 0.0
    path.write_text("\n".join([json.dumps(head), *lines, ""]))
    with session(path) as one:
        assert one.question() == question
        assert one._record.repeat == 0.5


def scores_of_rows(estimator, X):
    return estimator.predict_proba(X).max(axis=1)


def test_a_learner_with_functions_must_be_passed(path):
    given = {"strategy": scores_of_rows}
    with session(path, learner=given) as one:
        give(one, 12)
        question = one.question()
    with pytest.raises(ValueError, match="scores_of_rows cannot be restored from its"):
        LabelingSession.resume(path, X)
    learner = ActiveLearner(GaussianNB(), random_state=0, **given)
    with LabelingSession.resume(path, X, learner=learner) as one:
        assert one.question() == question


def test_a_rule_with_a_function_must_be_passed(path):
    rule = RecallAbove("a", certify=lambda report: False)
    with session(path, stop=rule):
        pass
    message = r"The stopping rule of .* Use LabelingSession\(learner, path, X, stop="
    with pytest.raises(ValueError, match=message):
        LabelingSession.resume(path, X)
    with session(path, stop=rule) as one:
        assert one.question() is not None


def test_a_journal_runs_no_code(path):
    with session(path):
        pass
    content = path.read_text().replace("sklearn.naive_bayes.GaussianNB", "os.system")
    path.write_text(content)
    with pytest.raises(ValueError, match="os.system cannot be restored from its name"):
        LabelingSession.resume(path, X)


def test_a_journal_names_no_module_that_is_run(path):
    with session(path) as one:
        give(one, 1)
    written = '"skconftree._cli.__main__.X", "with": {}'
    content = path.read_text().replace(
        '"sklearn.naive_bayes.GaussianNB", "with": {"priors": null, '
        '"var_smoothing": 1e-09}',
        written,
    )
    assert written in content
    path.write_text(content)
    with pytest.raises(ValueError, match="__main__.X cannot be restored from its name"):
        LabelingSession.resume(path, X)


def test_a_parameter_that_came_later_has_its_default(path):
    with session(path, stop=RiskBelow(0.1, method="audit")) as one:
        give(one, 12)
        question = one.question()
    whole = path.read_text()
    for absent in (', "var_smoothing": 1e-09', ', "tie_break": "auto"'):
        path.write_text(whole.replace(absent, "", 1))
        assert path.read_text() != whole
        with LabelingSession.resume(path, X) as one:
            assert one.question() == question
        with session(path, stop=RiskBelow(0.1, method="audit")) as one:
            assert one.question() == question
    path.write_text(whole.replace('"priors"', '"from_the_future": 1, "priors"'))
    learner = ActiveLearner(GaussianNB(), random_state=0)
    for given in (None, learner):
        with pytest.raises(
            ValueError,
            match=r"GaussianNB has no setting 'from_the_.* It was written by skconf",
        ):
            LabelingSession.resume(path, X, learner=given)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": 0}, "budget must be 1 or more"),
        ({"resolve_by": "loudest"}, "resolve_by must be one of"),
        ({"repeat": 1.0}, r"repeat must be in \[0, 1\)"),
        ({"annotator": 3}, "annotator must be a name"),
        ({"shown": {"text": ["a"]}}, "shown must have as many rows as X, 150. Got 1"),
    ],
)
def test_settings_that_make_no_sense(path, settings, message):
    with pytest.raises(ValueError, match=message):
        session(path, **settings)
    assert not path.exists()


def test_the_answer_belongs_to_the_row_that_was_shown(path):
    with session(path) as one:
        row = one.question().row
        one.answer("ham", row)
        with pytest.raises(ValueError, match=f"Got row {row}. Use relabel"):
            one.answer("ham", row)
        with pytest.raises(ValueError, match="label must not be None"):
            one.answer(None)
        assert one.progress().n_answers == 1


def test_what_is_shown(path):
    frame = pd.DataFrame({"n": [1.5, np.nan], "text": ["a\x1b[2Jb", "c"]})
    shown = {"said": ["one", "two"]}
    few = ActiveLearner(GaussianNB(), random_state=0)
    with LabelingSession(few, path, X[:2], shown=frame) as one:
        row = one.question().row
        expected = [{"n": "1.5", "text": "a\x1b[2Jb"}, {"n": "", "text": "c"}]
        assert one.question().values == expected[row]
    with LabelingSession.resume(path, X[:2], shown=frame) as one:
        assert one.question().row == row
    with pytest.raises(ValueError, match="is not the pool"):
        LabelingSession.resume(path, X[:2], shown=shown)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (csr_array([[0.0, 2.5, 0.0, -1.0]]), {"column 1": "2.5", "column 3": "-1"}),
        (["a\x1b"], {"text": "a\x1b"}),
        ([None], {"text": ""}),
        ([[1.25, "b"]], {"column 0": "1.25", "column 1": "b"}),
    ],
    ids=["sparse", "texts", "missing", "lists"],
)
def test_what_is_shown_of_other_tables(table, expected):
    assert DisplayedTable(table).values(0) == expected


def test_why_a_row_is_queried(path):
    tree = ConfidenceTreeClassifier(bound=None)
    with session(path, estimator=tree) as one:
        assert "labels of fewer than two classes" in one.why()[0]
        give(one, 30)
        leaf, tests = one.why(0)
        assert "Labels in this leaf:" in leaf
        assert "column " in tests
    named = [(f"measure {j}", lambda value: f"{value:.2f} cm") for j in range(4)]
    with LabelingSession.resume(path, X, columns=named) as one:
        assert "measure " in one.why(0)[1]
        assert " cm" in one.why(0)[1]
    path.unlink()
    with session(path) as one:
        give(one, 30)
        (near,) = one.why()
        assert near.count("row ") == 5


def at_terminal(one, keys, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{key}\n" for key in keys)))
    assert one.label() is one
    return capsys.readouterr().out


def test_a_person_at_the_terminal_takes_answers_back(path, monkeypatch, capsys):
    given = {"classes": ["eggs", "ham", "spam"]}
    with session(path, learner=given) as one:
        shown = at_terminal(one, "u1u2", monkeypatch, capsys)  # then closes it
        assert "There is no label to withdraw." in shown
        assert shown.count("label withdrawn.") == 1
        assert [answer["label"] for answer in one.answers()] == ["ham"]
    path.write_bytes(path.read_bytes() + b'{"row"')
    given["strategy"] = "random"
    with pytest.raises(ValueError, match="started with strategy="):
        session(path, learner=given)
    path.write_bytes(path.read_bytes() + b'{"row"')
    with LabelingSession.resume(path, X) as one:
        assert "was incomplete" in at_terminal(one, "q", monkeypatch, capsys)


def test_the_terminal_says_what_is_known_of_a_row(path, monkeypatch, capsys):
    rule = RiskBelow(0.1, method="audit", audit_share=0.5)
    with session(path, estimator=LinearSVC(), stop=rule, repeat=0.5) as one:
        while not one.progress().limit or not one.question().again:
            give(one, 1)
        shown = at_terminal(one, "q", monkeypatch, capsys)
        assert re.search(r"predicted: (eggs|ham|spam), error rate at most \d+%", shown)
        assert ", already labeled: second opinion\n" in shown
        assert one.predictions()[1] is None
        one.export(path.with_suffix(".json"), "label_studio")
    tasks = json.loads(path.with_suffix(".json").read_text())
    assert "score" not in tasks[0]["predictions"][0]


def test_a_session_requires_the_possible_labels(path):
    with session(path) as one:
        with pytest.raises(ValueError, match="no labels to choose from. Pass"):
            one.label()
        with pytest.raises(ValueError, match="no label to withdraw"):
            one.undo()
        assert one.forecast().startswith("A forecast needs at least 20 labels")


def test_labels_of_one_class_predict_nothing(path, tmp_path):
    with session(path) as one:
        for _ in range(3):
            one.answer("ham", one.question().row)
        assert one.predictions() == (None, None)
        one.export(tmp_path / "out.csv")
        one.answer("spam", one.question().row)
        assert len(one.predictions()[0]) == len(X)
    assert "probability" not in (tmp_path / "out.csv").read_text()


def test_forecasts(path):
    with session(path) as one:
        give(one, 10)
        assert "at least 20 labels" in one.forecast()
        give(one, 10)
        before = one.predictions()[0]
        give(one, 20)
        changed = 100 * (one.predictions()[0] != before).mean()
        assert _changed(one.learner, 41) == 1.0  # nothing was predicted before
        told = one.forecast(20)
        assert f"The last 20 labels changed {changed:.1f}% of the predictions" in told
        assert "with 40 labels, " in told


def test_tasks_of_label_studio(path):
    with session(path, annotator="anna") as one:
        give(one, 20)
        one.export(path.with_suffix(".json"), "label_studio")
        with pytest.raises(ValueError, match="format must be one of"):
            one.export(path, "xml")
        answer = one.answers()[0]
    tasks = json.loads(path.with_suffix(".json").read_text())
    assert len(tasks) == 150
    task = tasks[answer["row"]]
    (result,) = task["annotations"][0]["result"]
    assert result["value"] == {"choices": [answer["label"]]}
    assert result["meta"] == {"annotator": "anna"}
    assert 0 < task["predictions"][0]["score"] <= 1
    assert sum(bool(task["annotations"]) for task in tasks) == 20
    assert not any("meta" in task for task in tasks)


def test_tasks_name_the_table_as_the_annotator_of_its_labels(path):
    # a perceptron has no probabilities
    with session(path, WORDS_AT_START, estimator=Perceptron()) as one:
        one.export(path.with_suffix(".json"), "label_studio")
    tasks = json.loads(path.with_suffix(".json").read_text())
    (annotation,) = tasks[30]["annotations"]
    assert annotation["result"][0]["meta"] == {"annotator": "the table"}
    assert annotation["result"][0]["value"] == {"choices": [WORDS[30]]}
    assert not tasks[31]["annotations"]
    assert "score" not in tasks[31]["predictions"][0]


# -- the short form ----------------------------------------------------------------


@pytest.mark.parametrize("batch_size", cases([1, 4], [4]))
def test_run_saves_and_goes_on(path, batch_size):
    def learner():
        return ActiveLearner(GaussianNB(), batch_size=batch_size).fit(X)

    asked = []

    def oracle(rows, places):
        asked.extend(places.tolist())
        if len(asked) == 11:
            raise KeyboardInterrupt
        return WORDS[places]

    with pytest.raises(KeyboardInterrupt):
        learner().run(oracle, budget=25, save=path)
    one = learner().run(oracle, budget=25, save=path)
    assert one.n_labeled_ == 25
    assert len(asked) == 26  # the one that was interrupted is asked for again
    assert asked[10] == asked[11]
    again = learner().run(oracle, budget=25, save=path)
    assert (again.y_ == one.y_).all()
    assert (again.predict_proba(X) == one.predict_proba(X)).all()
    with LabelingSession.resume(path, X) as session:
        assert session.progress().n_answers == 25


def test_a_saved_run_ends_with_the_pool_or_the_queries(path):
    def declines_more_rows(rows, places):
        raise QueriesEnded([])

    one = ActiveLearner(GaussianNB(), random_state=0).fit(X[::25])
    one.run(declines_more_rows, save=path)
    assert one.n_labeled_ == 0
    one.run(ArrayOracle(WORDS[::25]), save=path)
    assert one.n_labeled_ == 6


def test_what_was_taught_before_is_saved_too(path):
    one = ActiveLearner(GaussianNB(), random_state=0).fit(X)
    one.run(ArrayOracle(WORDS), budget=10)
    one.run(ArrayOracle(WORDS), budget=15, save=path)
    assert one.n_labeled_ == 15
    one.run(ArrayOracle(WORDS), budget=16, save=path)
    assert one.n_labeled_ == 16
    one.teach(one.query(), WORDS[one.query()])
    with pytest.raises(ValueError, match="The learner has labels that"):
        one.run(ArrayOracle(WORDS), budget=20, save=path)
    other = ActiveLearner(GaussianNB(), random_state=0).fit(X)
    other.teach([3], ["ham"], sample_weight=[2.0])
    with pytest.raises(ValueError, match="which a journal cannot store"):
        other.run(ArrayOracle(WORDS), budget=20, save=path.with_name("new"))


@pytest.mark.skipif(os.name != "posix", reason="needs links and permissions")
def test_an_export_is_the_old_file_or_the_new_one(path, tmp_path, monkeypatch):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    umask = os.umask  # of the whole process, threads included
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask is set"))
    with session(path, WORDS_AT_START) as one:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                one.export(link)
        assert real.read_text() == "old"
        assert sorted(os.listdir(tmp_path)) == [path.name, "link.csv", "real.csv"]
        one.export(link)
        monkeypatch.setattr(os, "umask", umask)
        before = os.umask(0o027)
        try:
            one.export(tmp_path / "new.csv")
        finally:
            os.umask(before)
    assert link.is_symlink()
    assert real.read_text().startswith("row,")
    assert real.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "new.csv").stat().st_mode & 0o777 == 0o640


def full(_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_session_checks_suggested_labels(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    cheap = np.where(X[:, 1] > 1.0, "no", y).tolist()
    path = tmp_path / "answers.jsonl"

    def session(**arguments):
        learner = ActiveLearner(GaussianNB(), classes=["no", "yes"], random_state=0)
        rule = SuggestedErrorBelow(0.05)
        return LabelingSession(learner, path, X, stop=rule, **arguments)

    with pytest.raises(ValueError, match="labels of one source. Got 0"):
        session()
    with session(suggested={"llm": cheap}) as one:
        for _ in range(20):
            question = one.question()
            assert question.suggested is None
            one.answer(y[question.row])
    # the suggestions are in the journal
    with LabelingSession.resume(path, X) as one:
        assert one.delivered_labels().n_checked == 20
        while (question := one.question()) is not None:
            one.answer(y[question.row])
        assert one.progress().ended == "rule"
        assert one.progress().limit <= 0.05
        delivered = one.delivered_labels()
        checked = [answer["row"] for answer in one.answers()]
        one.export(tmp_path / "out.csv")
        one.export(tmp_path / "out.json", "label_studio")
    with open(tmp_path / "out.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["label"] for line in lines] == delivered.labels.tolist()
    by = ["" if row in checked else "llm" for row in range(300)]
    assert [line["annotator"] for line in lines] == by
    assert [bool(line["at"]) for line in lines] == [name == "" for name in by]
    tasks = json.loads((tmp_path / "out.json").read_text())
    for task, label, name in zip(tasks, delivered.labels, by, strict=True):
        (result,) = task["annotations"][0]["result"]
        assert result["value"]["choices"] == [label]
        assert result.get("meta") == ({"annotator": name} if name else None)
    assert delivered.source == "llm"
    assert (delivered.labels != y).mean() <= delivered.error_limit <= 0.05
    assert 20 < delivered.n_checked < 200
    with pytest.raises(JournalError, match="started with other suggestions"):
        session(suggested={"llm": ["no"] * 300})
    # the same rows as without an interruption
    whole = ActiveLearner(GaussianNB(), classes=["no", "yes"], random_state=0).fit(X)
    oracles = [(ArrayOracle(cheap), 0), (ArrayOracle(y), 1)]
    whole.run(oracles=oracles, max_error=0.05)
    with LabelingSession.resume(path, X) as one:
        assert one.learner.history_ == whole.history_
