"""Sessions that evaluate a model, find a rare class, or check suggested labels.

Answers, skipped rows, changes, decisions and restarts in any order. The test keeps the
labels that people gave, and compares what the session says with them.
"""

import csv
import os
import tempfile

import numpy as np
from sklearn.base import clone
from sklearn.metrics import precision_recall_fscore_support

from skconftree.active import (
    ActiveLearner,
    ArrayOracle,
    HalfWidthBelow,
    LabelingSession,
    ModelEvaluator,
    RecallAbove,
    SuggestedErrorBelow,
    evaluate,
)
from skconftree.active.pool._evaluate import METRICS, OF_A_CLASS

from .failures import require
from .learners import draw_learner

N_ROWS = (12, 40)
N_STEPS = 14
EXACT = 1e-9
CLIP = 0.01  # of probabilities in the log loss, by default


class People:
    """A session in a folder, and the labels that were given in it.

    `history` has the labels of all queried rows (None: skipped or withdrawn) after each
    change, so that the last one can be withdrawn.
    """

    checks_confidence = True  # whether `estimate_error` validates its confidence

    def __init__(self, sequence, folder):
        self.sequence, self.draw = sequence, sequence.draw
        table = sequence.table
        rows = table.rows(self.draw, self.draw.one(N_ROWS), weights=False)
        self.X = table.give(self.draw, rows.X)
        self.y = table.labels[rows.y].tolist()
        self.n, self.classes = len(self.y), table.labels.tolist()
        self.path = os.path.join(folder, "answers.jsonl")
        self.folder, self.history = folder, [{}]
        self.settings = {}
        self.start()

    @property
    def known(self):
        return {row: y for row, y in self.history[-1].items() if y is not None}

    def start(self):
        """Draw the learner and the rules of a new session."""

    def open(self):
        return LabelingSession(self.learner(), self.path, self.X, **self.settings)

    def wrong_label(self, row):
        return self.draw.one([y for y in self.classes if y != self.y[row]])

    def work(self):
        session = self.sequence.call("labels: session", self.open)
        try:
            for _ in range(N_STEPS):
                session = self.step(session)
                self.check(session)
            self.finish(session)
            self.check(session)
            self.check_export(session)
        finally:
            session._record.journal.close()

    def step(self, session):
        question = session.question()
        require(session.question() == question, "labels: another question")
        kinds = {"reopen": 1, "wrong": 1}
        if question is not None:
            kinds |= {"answer": 8, "skip": 1}
        elif session.progress().asks:
            kinds["certify"] = 4
        if len(self.history) > 1:
            kinds |= {"undo": 1, "relabel": 2}
        kind = self.draw.weighted(kinds)
        if kind == "answer":
            row = question.row
            right = self.draw.chance(0.8)
            self.answer(session, row, self.y[row] if right else self.wrong_label(row))
        elif kind == "skip":
            self.change(question.row, None)
            self.sequence.call("labels: skip", session.skip, question.row)
        elif kind == "certify":
            self.sequence.call(
                "labels: certify", session.certify, self.draw.chance(0.7)
            )
        elif kind == "undo":
            self.history.pop()
            self.sequence.call("labels: undo", session.undo)
        elif kind == "relabel":
            row = self.draw.one(sorted(self.history[-1]))
            label = self.draw.one([None, self.y[row], self.wrong_label(row)])
            self.change(row, label)
            self.sequence.call("labels: relabel", session.relabel, row, label)
        elif kind == "wrong":
            self.ask_wrongly(session, question)
        else:
            return self.reopen(session)
        return session

    def finish(self, session):
        """Answer correctly, and certify if asked; mostly to the end."""
        while self.draw.chance(0.95):
            question = session.question()
            if question is not None:
                self.answer(session, question.row, self.y[question.row])
            elif session.progress().asks:
                self.sequence.call("labels: certify", session.certify)
            else:
                break

    def answer(self, session, row, label):
        require(0 <= row < self.n, "labels: a row that is not in the pool")
        require(row not in self.known, "labels: a labeled row is queried")
        self.change(row, label)
        self.sequence.call("labels: answer", session.answer, label, row)

    def change(self, row, label):
        self.history.append(self.history[-1] | {row: label})

    def ask_wrongly(self, session, question):
        before = session.answers()
        wrong = [
            ("label", session.relabel, (self.n, self.y[0])),
            ("confidence", session.estimate_error, ()),
        ]
        if not session.progress().asks and session.progress().ended != "discovery":
            wrong.append(("certify", session.certify, ()))
        if question is not None:
            wrong.append(("row", session.answer, (self.y[0], question.row + 1)))
            wrong.append(("label", session.answer, (None, question.row)))
        name, function, arguments = self.draw.one(wrong)
        if name == "confidence" and self.checks_confidence:
            self.sequence.refused(
                "labels: confidence", function, of=session.learner, confidence=1.5
            )
        elif name != "confidence":
            self.sequence.refused(
                f"labels: {name}", function, *arguments, of=session.learner
            )
        require(session.answers() == before, "labels: a refused answer is stored")

    def reopen(self, session):
        """End the process, or close the session; another one continues."""
        before = self.seen(session)
        if self.draw.chance(0.5):
            session.close()
        else:
            session._record.journal.close()
        session = self.sequence.call("labels: reopen", self.open)
        # rows that were skipped are queried again
        if None not in self.history[-1].values():
            require(self.seen(session) == before, "labels: not as before")
        return session

    def seen(self, session):
        return session.question(), session.progress(), session.answers()

    def check(self, session):
        progress, known = session.progress(), self.known
        require(
            progress.n_answers == len(known),
            "labels: number of answers",
            lambda: f"{progress.n_answers}, not {len(known)}",
        )
        told = {one["row"]: one["label"] for one in session.answers()}
        require(told == self.history[-1], "labels: answers")
        question = session.question()
        require((question is None) == (progress.ended is not None), "labels: the end")
        if progress.limit is not None:
            require(0.0 <= progress.limit <= 1.0, "labels: limit")

    def check_export(self, session):
        path = os.path.join(self.folder, "labels.csv")
        self.sequence.call("labels: export", session.export, path)
        with open(path, newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        expected = self.expected_labels(session)
        require(
            [line["label"] for line in lines]
            == ["" if label is None else str(label) for label in expected],
            "labels: export",
        )

    def expected_labels(self, session):
        return [self.known.get(row) for row in range(self.n)]


class Evaluation(People):
    """The metric of a fitted model."""

    checks_confidence = False  # it is a parameter of the evaluator

    def start(self):
        table, draw = self.sequence.table, self.draw
        rows = table.rows(draw, 30, weights=False)
        rows.y[: len(self.classes)] = np.arange(len(self.classes))
        self.model = draw_learner(self.sequence)
        self.model.fit(table.give(draw, rows.X), table.labels[rows.y])
        self.predicted = self.model.predict(self.X).tolist()
        self.metric = draw.one(METRICS)
        self.label = None
        if self.metric in OF_A_CLASS:
            present = sorted(set(self.predicted), key=str)
            self.label = draw.one(present)  # whose precision is defined
        self.seed = draw.whole(0, 1000)
        self.settings = {"stop": HalfWidthBelow(draw.one([0.02, 0.3]))}

    def learner(self):
        return ModelEvaluator(
            self.model,
            metric=self.metric,
            pos_label=self.label,
            random_state=self.seed,
        )

    def check(self, session):
        super().check(session)
        report = self.sequence.call("labels: report", session.learner.report)
        require(
            0.0 <= report.low <= report.high,
            "labels: limits of a metric",
            lambda: str(report),
        )
        if self.metric != "log_loss":
            require(report.high <= 1.0, "labels: limits of a metric")
        if not np.isnan(report.estimate):
            require(
                report.low <= report.estimate <= report.high,
                "labels: estimate outside of its limits",
                lambda: str(report),
            )
        known = self.known
        require(report.n_labels == len(known), "labels: labels of a metric")
        matter = [
            row
            for row in range(self.n)
            if self.metric != "precision" or self.predicted[row] == self.label
        ]
        if all(row in known for row in matter):
            self.check_exact(report, matter)

    def check_exact(self, report, rows):
        """All labels are known, and thus the metric."""
        y = [self.known[row] for row in rows]
        predicted = [self.predicted[row] for row in rows]
        right = np.mean([a == b for a, b in zip(y, predicted, strict=True)])
        if self.metric == "log_loss":
            proba = np.clip(self.model.predict_proba(self.X)[rows], CLIP, None)
            place = [self.model.classes_.tolist().index(label) for label in y]
            expected = -np.log(proba[np.arange(len(rows)), place]).mean()
        elif self.metric in ("accuracy", "error"):
            expected = right if self.metric == "accuracy" else 1.0 - right
        else:
            values = precision_recall_fscore_support(
                [label == self.label for label in y],
                [label == self.label for label in predicted],
                average="binary",
                zero_division=np.nan,
            )
            expected = values[OF_A_CLASS.index(self.metric)]
        if np.isnan(expected):
            require(np.isnan(report.estimate), "labels: an undefined metric")
            return
        values = (report.estimate, report.low, report.high)
        require(
            all(abs(value - expected) < EXACT for value in values),
            "labels: a metric of known labels",
            lambda: f"{report}, not {expected}",
        )


class Recall(People):
    """Rows of a class, and a certified recall."""

    def start(self):
        draw = self.draw
        self.positive = draw.one(self.classes)
        self.model = draw_learner(self.sequence)
        self.seed = draw.whole(0, 1000)
        rule = RecallAbove(
            self.positive,
            recall=draw.one([0.3, 0.9]),
            certify=draw.chance(0.2),
            patience=draw.one([1, 2, 20]),
        )
        self.settings = {"stop": rule}

    def learner(self):
        return ActiveLearner(
            clone(self.model), classes=self.classes, random_state=self.seed
        )

    def check(self, session):
        super().check(session)
        report = session.progress().recall
        n_found = sum(label == self.positive for label in self.known.values())
        require(report.n_found == n_found, "labels: positive rows")
        require(0.0 <= report.lower_limit <= 1.0, "labels: limit of the recall")
        if len(self.known) == self.n and n_found:
            require(report.lower_limit == 1.0, "labels: recall of known labels")


class Suggested(People):
    """Suggested labels, some of which the person checks."""

    def start(self):
        draw = self.draw
        self.suggested = list(self.y)
        for row in range(self.n):
            if draw.chance(0.15):
                self.suggested[row] = draw.one([None, self.wrong_label(row)])
        self.model = draw_learner(self.sequence)
        self.seed = draw.whole(0, 1000)
        self.max_error = draw.one([0.05, 0.3])
        self.settings = {
            "stop": SuggestedErrorBelow(self.max_error),
            "suggested": {"cheap": self.suggested},
        }

    def learner(self):
        return ActiveLearner(
            clone(self.model), classes=self.classes, random_state=self.seed
        )

    def expected_labels(self, session):
        queried = self.history[-1]
        return [queried.get(row, self.suggested[row]) for row in range(self.n)]

    def check(self, session):
        super().check(session)
        delivered = self.sequence.call("labels: delivered", session.delivered_labels)
        require(
            delivered.labels.tolist() == self.expected_labels(session),
            "labels: delivered labels",
        )
        require(
            np.flatnonzero(delivered.is_checked).tolist() == sorted(self.known),
            "labels: checked rows",
        )
        wrong = [
            row for row, label in self.known.items() if label != self.suggested[row]
        ]
        n_missing = sum(self.suggested[row] is None for row in self.known)
        require(
            delivered.n_corrected == len(wrong) - n_missing, "labels: corrected rows"
        )
        require(0.0 <= delivered.error_limit <= 1.0, "labels: limit of suggestions")
        if session.progress().ended == "rule":
            require(delivered.error_limit <= self.max_error, "labels: the rule")
        question = session.question()
        if question is not None:
            require(question.suggested is None, "labels: a suggestion is shown")


def label_with_people(sequence):
    """A session of one of the kinds, and then the same by a function."""
    if sequence.table.n_classes < 2:
        return
    kind = sequence.draw.one([Evaluation, Recall, Suggested])
    with tempfile.TemporaryDirectory() as folder:
        people = kind(sequence, folder)
        people.work()
        if kind is Evaluation:
            _evaluate(people)
        elif kind is Suggested:
            _query_two(people)


def _evaluate(people):
    """With and without a journal, `evaluate` gives the same report."""
    draw = people.draw
    arguments = {
        "metric": people.metric,
        "pos_label": people.label,
        "budget": draw.whole(1, people.n),
        "random_state": people.seed,
    }
    oracle = ArrayOracle(people.y)
    reports = [
        people.sequence.call(
            "evaluate", evaluate, people.model, people.X, oracle, **arguments, save=save
        )
        for save in (None, os.path.join(people.folder, "evaluate.jsonl"))
    ]
    require(str(reports[0]) == str(reports[1]), "evaluate: a journal changes it")
    wrong = draw.one(
        [{"metric": "risk"}, {"budget": 0}, {"confidence": 1.0}, {"clip": 0.0}]
    )
    people.sequence.refused(
        "evaluate", evaluate, people.model, people.X, oracle, **arguments | wrong
    )


def _query_two(people):
    """With and without a journal, a run delivers the same labels."""

    def cheap(X, rows):
        if people.n % 2:
            raise TimeoutError
        return [people.suggested[row] for row in rows]

    oracles = [(cheap, 0.01), (ArrayOracle(people.y), 1.0)]
    delivered = []
    for save in (None, os.path.join(people.folder, "two.jsonl")):
        learner = people.learner().fit(people.X)
        people.sequence.call(
            "run: two oracles",
            learner.run,
            oracles=oracles,
            max_error=people.max_error,
            save=save,
        )
        delivered.append(learner.delivered_labels())
    require(str(delivered[0]) == str(delivered[1]), "run: a journal changes the labels")
    require(
        delivered[0].error_limit <= people.max_error
        or delivered[0].n_checked == people.n,
        "run: limit of the delivered labels",
    )
