"""Active learner whose labels are written to a journal before they are learned.

A *second opinion* is a further label of a row, by preference from another annotator. An
*audit* is a query of random rows, whose predictions (`prediction`) are compared with
their labels. A *batch* is the rows of one query. A `Ledger` has the labels of a journal
as `entries`; `by` is the name of the annotator.

A *journal* is a file of JSON lines, one per label. Its first line, the *head*, has the
settings and the *fingerprint* of the pool, a hash of its rows; `present_head` returns
the head after the changes of later lines. The *pool* is the table of unlabeled and
labeled rows. To *certify* a recall is to label random rows until its confidence limit
is large enough; the `key` of such a stopping rule is its class and recall. `resolve_by`
says which of several labels of a row counts. In the JSON of an object, "with" has its
parameters. NO_LABEL marks a missing label or prediction.
"""

from bisect import bisect
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ...utils._codec import own_version, to_json, with_default_parameters, written_by
from .._journal import (
    NO_LABEL,
    Journal,
    JournalError,
    Ledger,
    difference,
    fingerprint,
    is_label,
    plain_classes,
    same_label,
)
from .._labels import take
from .._strategy import FOR_AUDIT
from ._estimate import estimate_label_error
from ._recall import RecallAbove, check_positive


class LearnerView:
    """Read-only view of an active learner."""

    def __init__(self, learner):
        self._learner = learner

    @property
    def _consistent(self):
        """The learner, after an interrupted update was completed or reverted."""
        if not self._learner._is_consistent():
            self._learner._recover_locked()
        return self._learner

    @property
    def X(self):
        """The pool."""
        return self._learner._pool.X

    @property
    def n_rows(self):
        """Number of rows of the pool."""
        return self._learner._pool.n_rows

    @property
    def seed(self):
        """Seed of all random choices."""
        return self._learner._seed

    @property
    def start(self):
        """Initial labels of the pool, a `Batch`."""
        return self._learner._start

    def squared_distances(self, row, rows):
        """Squared distances of rows to another row, as strategies use them."""
        return self._learner._pool.embedding.squared_distances(row, rows)

    @property
    def answers(self):
        """Labels taught since `fit`, a list of one `Batch` per call."""
        return list(self._consistent._answers)

    @property
    def labeled(self):
        """Labeled rows, in the order in which they were learned."""
        return np.array(self._consistent._order, dtype=np.intp)

    @property
    def codes(self):
        """Index in `classes_` of each row's label; -1 for unlabeled rows."""
        return self._consistent._codes.copy()

    @property
    def model(self):
        """The classifier; None before there are labels of two classes."""
        return self._consistent._model()

    def predict(self, X):
        """Labels that the classifier predicts."""
        return self._consistent._predict(X)

    def predict_proba(self, X):
        """Probabilities that the classifier predicts; None if it has none."""
        learner = self._consistent
        if not hasattr(getattr(learner, "estimator_", None), "predict_proba"):
            return None
        return learner._predict_proba(X)

    @property
    def labels(self):
        """Labels to choose from if the learner has no `classes`."""
        return self._consistent._labels_to_choose()

    @property
    def shows_predictions(self):
        """Whether people may see predictions of the rows that they label."""
        return self._learner._shows_predictions

    @property
    def description(self):
        """The learner and its parameters, as a journal stores them."""
        return to_json(self._learner, names=True)

    @property
    def fixed_predictions(self):
        """Hash of the predictions of a classifier that does not learn; or None."""
        return self._learner._fixed_predictions()

    @property
    def audits(self):
        """Number of wrong predictions and of rows of each audit, in order."""
        return self._consistent._audits()

    def next_rows(self, rules, share, excluded=()):
        """Rows of the next query, and their predictions if they are an audit."""
        rows, is_audit = self._learner._next_rows(
            rules, self._learner.batch_size, share, excluded
        )
        if not is_audit:
            return rows, None
        return rows, self._consistent._audit_predictions(rows)

    def with_context(self, rules, function):
        """Call a function with the state of the learner that stopping rules receive."""
        return self._learner._call_with_context(rules, function)

    def plain_label(self, label):
        """Label as a journal stores it, None if missing; an error if it is invalid."""
        return self._learner._plain_label(label)

    def set_classes(self, classes):
        """Set the labels to choose from, if they differ from the present ones."""
        known = self._learner.classes
        if classes is not None and _as_set(classes) != _as_set(
            np.array(known).tolist()
        ):
            self._learner._set_classes(classes)

    @property
    def decisions(self):
        """What a person or a function has decided for stopping rules, by their keys."""
        return self._learner._decisions or {}

    def set_journal(self, decisions, growth):
        """Set the decisions of a journal, and when rows were appended to its pool."""
        self._learner._decisions, self._learner._growth = decisions, growth

    def set_suggestions(self, answers, source):
        """Set the labels of a cheap annotator by row; the prices do not change."""
        known = self._learner._suggestions
        prices = None if known is None else known.prices
        self._learner._set_suggestions(answers, source, prices)

    def learn(self, rows, labels, n_wrong, first=None):
        """Learn labels (None: skipped); `n_wrong` of them were mispredicted.

        `first` are the labels before corrections, None without corrections.
        """
        self._learner._learn_answers(rows, labels, n_wrong, first)

    def replace_answers(self, batches, seed):
        """Replace all labels by those of `batches`, tuples of arguments of `learn`."""
        self._learner._replace_answers(batches, seed)

    def with_answers(self, rows, labels, n_wrong, first=None):
        """Copy of the learner that has learned further labels, as by `learn`."""
        learner = self._consistent
        batch = learner._make_batch(rows, labels, n_wrong, first)
        return learner._with_answers([*learner._answers, batch])

    def before(self, n_labels):
        """Copy of the learner without the last labels."""
        retained = self.answers
        # `known` is the mask of the rows of a batch that have a label
        while retained and n_labels > 0:
            n_labels -= int(retained.pop().known.sum())
        return self._consistent._with_answers(retained)


MIN_LABELS_BETWEEN = 5  # before an annotator is queried again for the same row


class QueriedRow(NamedTuple):
    """A queried row; the fields are those of an `Entry` of a journal.

    `batch` is the number of the query, None for a second opinion (`again`), and
    `n_remaining` the number of rows of the query that follow. `prediction` is NO_LABEL
    unless the query is an audit.
    """

    row: int
    batch: int | None
    n_remaining: int
    prediction: object
    again: bool


def start_labels(head, n_rows):
    """Initial labels of a pool, None for unlabeled rows; None if there are none."""
    start = head["start"]
    if not start["rows"]:
        return None
    y = np.full(n_rows, None)
    for row, label in zip(start["rows"], start["labels"], strict=True):
        y[row] = label
    return y


def with_later_classes(learner, journal):
    """Set `classes` of a learner to those of the journal if it had the first ones."""
    first = plain_classes(journal.head["learner"]["with"]["classes"])
    passed = plain_classes(learner.classes)
    if first is not None and passed is not None and _as_set(first) == _as_set(passed):
        learner.classes = journal.present_head()["classes"]


def check_pool(head, pool, n_rows, path):
    """Raise JournalError unless the pool is that of the journal, or begins with it.

    `pool` is a function that returns the fingerprint of the first rows.
    """
    n_known = head["X"]["n_rows"]
    other = difference(pool(min(n_rows, n_known)), head["X"])
    if other is not None:
        which = f"of its first {n_known} rows, " if n_rows > n_known else ""
        raise JournalError(
            f"X is not the pool of {path}: {which}{other}. Labels are stored by row "
            "number. Pass the original rows in their original order, if need be with "
            "more rows after them, or another file."
        )


def now():
    """The current time in ISO format."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class RecordedLearner:
    """A fitted learner with a journal of its labels.

    The labels of the journal replace those of the learner. The file determines the
    state, which is computed from it again after an interrupt.

    Stopping `rules` and `random_share` set the share of audits; a share `repeat` of the
    queries requests a second opinion. Both shares can be changed when the journal is
    opened again, None: those of the journal. `pool` is a function that returns the
    fingerprint of the first rows of the pool; `budget` is stored in the journal.
    """

    def __init__(
        self,
        learner,
        path,
        rules=(),
        resolve_by="last",
        repeat=None,
        random_share=None,
        pool=None,
        budget=None,
    ):
        self.learner = learner
        self.view = LearnerView(learner)
        self.resolve_by = resolve_by
        self._rules = list(rules)
        self.suggestions = {}  # labels of a cheap annotator by row
        self._n_suggested_lines = 0  # of the journal, that the learner has
        self._skipped = set()  # rows that were skipped since the journal was opened
        # Of the current query: the rows without a label, and the labels so far, which
        # are learned when the query is complete.
        self._queue, self._part = [], []
        # number of lines of the journal from which the other attributes were computed
        self._n_learned_lines = None
        # settings that determine the queries, in addition to the learner; functions and
        # foreign classes are stored by their names
        settings = {
            "stop": to_json(list(rules), names=True),
            "resolve_by": resolve_by,
        }
        if (predictions := self.view.fixed_predictions) is not None:
            settings["predictions"] = predictions
        shares = {"repeat": repeat, "random_share": random_share}
        pool = pool or (lambda n: fingerprint(take(self.view.X, np.arange(n))))
        start = self.view.start
        head = {
            "version": own_version(),
            "at": now(),
            "X": pool(self.view.n_rows),
            "learner": self.view.description,
            "seed": self.view.seed,
            "start": {"rows": start.rows.tolist(), "labels": start.labels.tolist()},
            **settings,
            **{name: share or 0.0 for name, share in shares.items()},
            "budget": budget,
        }
        self.journal = path if isinstance(path, Journal) else Journal(path, head)
        # `note` describes an incomplete line that was dropped from the file
        self.notes = [] if self.journal.note is None else [self.journal.note]
        try:
            if self.journal.head is None:
                self.journal.begin(head)
            known = self._check(head, settings, pool)
            self._write_changes(known, head, shares)
            known = self.journal.present_head()
            self.repeat = known["repeat"]
            self.share = known["random_share"]
            if self.view.answers:
                self._write_previous(self.view.answers)
            self._update()
        except BaseException:
            self.journal.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.journal.close()

    def _check(self, head, settings, pool):
        # Raise an error unless the journal can be continued; returns its present head.
        path = self.journal.path
        try:
            known = self.journal.present_head()
            check_pool(known, pool, self.view.n_rows, path)
            with written_by(known["version"]):  # names the version in errors
                # parameters that are newer than the journal have their defaults
                learner = with_default_parameters(known["learner"])
                stop = _without_certify(with_default_parameters(known["stop"]))
            names = {**learner["with"], **{k: known.get(k) for k in settings}}
            names["stop"] = stop
            start, self._seed = known["start"], known["seed"]
            if known["version"] != head["version"]:
                self.notes.append(
                    f"{path} was started with version {known['version']}. This version "
                    "may select other rows."
                )
        except (KeyError, TypeError) as error:
            raise JournalError(f"{path} is corrupt in line 1: {error!r}") from None
        passed = {**head["learner"]["with"], **settings}
        passed["stop"] = _without_certify(settings["stop"])
        if self._new_classes(known, head) is not None:
            del passed["classes"]
        seeded = passed["random_state"] is not None
        for name, value in passed.items():
            if value != names.get(name) and (name != "random_state" or seeded):
                raise JournalError(
                    f"{path} was started with {name}={_brief(names.get(name))}. Got "
                    f"{_brief(value)}. Pass the same value, or another file."
                )
        n_known = known["X"]["n_rows"]
        if start != _start_of_rows(head["start"], 0, n_known):
            raise JournalError(
                f"{path} was started with {len(start['rows'])} initial labels. Got "
                f"{len(head['start']['rows'])}, or other labels. Pass the same labels, "
                "or another file."
            )
        return known

    def _new_classes(self, known, head):
        # Classes of the journal, or more that were passed; None if others were passed.
        first = plain_classes(self.journal.head["learner"]["with"]["classes"])
        passed = plain_classes(head["learner"]["with"]["classes"])
        if passed is None or first is None:
            return None
        if _as_set(passed) == _as_set(first):
            return known["classes"]
        return passed if _as_set(passed) >= _as_set(known["classes"]) else None

    def _write_changes(self, known, head, shares):
        # Write more rows, more classes and other shares than those of the journal.
        n_known, n_rows = known["X"]["n_rows"], self.view.n_rows
        if n_rows > n_known:
            start = _start_of_rows(head["start"], n_known, n_rows)
            rows = known["start"]["rows"] + start["rows"]
            labels = known["start"]["labels"] + start["labels"]
            start = {"rows": rows, "labels": labels}
            self._write({"pool": {"X": head["X"], "start": start}}, None)
        classes = self._new_classes(known, head)
        if classes is not None and _as_set(classes) != _as_set(known["classes"]):
            self._write({"classes": classes}, None)
        passed = {name: share for name, share in shares.items() if share is not None}
        changed = {name: passed[name] for name in passed if passed[name] != known[name]}
        if changed:
            self._write({"settings": changed}, None)

    def add_class(self, label, by=None):
        """Add a label to those to choose from, and write it to the journal."""
        self._update()
        classes = self._classes()
        if classes is None:
            raise ValueError(
                "Any label can be given, because the learner has no classes."
            )
        label = label.item() if isinstance(label, np.generic) else label
        if not is_label(label):
            raise ValueError(
                f"label must be a string, a boolean or a finite number. Got {label!r}."
            )
        if type(label) not in {type(other) for other in classes}:
            raise ValueError(
                f"label must be of the type of the other labels, {classes}. Got "
                f"{label!r}."
            )
        if label in classes:
            raise ValueError(f"{label!r} is already one of the labels, {classes}.")
        self._write({"classes": [*classes, label]}, by)
        self._update()

    def _classes(self):
        return self.journal.present_head()["classes"]

    def _write_previous(self, answers):
        # Write labels that the learner was taught before it had this journal.
        if any("row" in line for line in self.journal.lines):
            stored = {
                (entry.row, None if entry.label is NO_LABEL else entry.label)
                for entry in Ledger(self.journal.lines).entries
            }
            if not {pair for batch in answers for pair in batch.pairs()} <= stored:
                raise ValueError(
                    f"The learner has labels that {self.journal.path} does not have. "
                    "Fit it again to continue with the file."
                )
            return
        if any(batch.weight is not None for batch in answers):
            raise ValueError(
                "The learner was taught weights, which a journal cannot store. Fit it "
                "again without weights."
            )
        for number, batch in enumerate(answers, 1):
            left = len(batch.rows)
            for row, label in batch.pairs():
                left -= 1
                self._append(
                    QueriedRow(row, number, left, NO_LABEL, False), label, None
                )

    def _update(self):
        if self._n_learned_lines == len(self.journal.lines):
            return
        self._ledger = self._read_ledger()
        head, batches = self.journal.present_head(), self._ledger.batches()
        self.view.set_classes(head["classes"])
        # the queries before rows were appended to the pool, and its rows before; a
        # batch is a list of (entry, label)
        numbers = [batch[0][0].line for batch in batches]
        growth = [(bisect(numbers, line), n_rows) for line, n_rows in head["growth"]]
        self.view.set_journal(head["decisions"], growth)
        self._read_suggestions()
        part = batches.pop() if batches and batches[-1][-1][0].n_remaining > 0 else []
        try:
            self.view.replace_answers(list(map(_batch_arguments, batches)), self._seed)
        except ValueError:
            self._raise_for_invalid_label()
            raise
        self._queue = []
        if part:
            answered = [entry.row for entry, _ in part]
            queue = self._queue_rows(part[0][0].batch, answered)
            if set(answered) <= {queried.row for queried in queue}:
                self._queue = [row for row in queue if row.row not in answered]
            else:  # by another version, or if other rows were skipped
                self.view.learn(*_batch_arguments(part))
        self._part = part if self._queue else []
        self._n_learned_lines = len(self.journal.lines)

    def _read_suggestions(self):
        # Suggestions of the journal, by row, replace those of the learner.
        lines = [line for line in self.journal.lines if "suggestions" in line]
        if lines and len(lines) != self._n_suggested_lines:
            for line in lines:
                rows, labels = (
                    line["suggestions"][name] for name in ("rows", "labels")
                )
                self.suggestions |= zip(rows, labels, strict=True)
            self.view.set_suggestions(self.suggestions, lines[0].get("by"))
            self._n_suggested_lines = len(lines)

    def add_suggestions(self, labels, source, price=None):
        """Write labels of a cheap annotator by row, None if an answer was none."""
        record = {"suggestions": {"rows": [*labels], "labels": [*labels.values()]}}
        if price is not None:
            record["price"] = price
        self._write(record, source)
        self.suggestions |= labels

    def _read_ledger(self):
        start = self.view.start.rows.tolist()
        return Ledger(self.journal.lines, self.resolve_by, self.view.n_rows, start)

    def _raise_for_invalid_label(self):
        # Raise an error that names the line whose label is invalid.
        for entry in self._ledger.entries:
            if entry.label is not NO_LABEL:
                try:
                    self.view.plain_label(entry.label)
                except ValueError as error:
                    raise ValueError(
                        f"Line {entry.line} of {self.journal.path} cannot be learned: "
                        f"{error}"
                    ) from None

    @property
    def rules(self):
        """Stopping rules, after the decision of a person to certify a recall."""
        decisions = self.view.decisions
        return [
            clone(rule).set_params(certify=True)
            if isinstance(rule, RecallAbove) and decisions.get(rule.key)
            else rule
            for rule in self._rules
        ]

    def reached(self):
        """Whether a stopping rule is reached; writes what a rule has decided."""
        self._update()
        before = dict(self.view.decisions)
        is_reached = bool(self._rules) and self.learner.reached(self.rules)
        for key, agreed in self.view.decisions.items():
            if before.get(key) is not agreed:
                self._write_decision(key, agreed, None)
        return is_reached

    def decide(self, rule, agreed, by=None):
        """Write the decision of a person to certify a recall, or not to."""
        self._update()
        self._write_decision(rule.key, agreed, by)
        self._update()

    def recall_report(self, rule):
        """Report of the recall of a class, after all complete queries."""
        self._update()

        def report(context):
            check_positive(context, rule.positive)
            return rule.report(context)

        return self.view.with_context([rule], report)

    def uncertified(self):
        """Rule that is reached without having certified its recall, or None."""
        self._update()
        for rule in self.rules:
            if isinstance(rule, RecallAbove) and self.learner.reached(rule):
                if self.recall_report(rule).lower_limit < rule.recall:
                    return rule
        return None

    def is_decided(self, rule):
        """Whether the journal has a decision to certify the recall of a rule."""
        return rule.key in self.view.decisions

    def _write_decision(self, key, agreed, by):
        positive = self.view.plain_label(key[0])
        self._write({"certify": agreed, "positive": positive, "recall": key[1]}, by)

    @property
    def ledger(self):
        """Labels of the journal, up to its last line."""
        self._update()
        return self._ledger

    def _queue_rows(self, batch, answered=()):
        rows = [
            (row, prediction)
            for row, prediction in self._select()
            if row in answered or row not in self._skipped
        ]
        return [
            QueriedRow(row, batch, len(rows) - i, prediction, False)
            for i, (row, prediction) in enumerate(rows, 1)
        ]

    def _select(self, excluded=()):
        # Rows of the next query, and their predictions if it is an audit.
        rows, predictions = self.view.next_rows(self.rules, self.share, excluded)
        predictions = predictions or [NO_LABEL] * len(rows)
        return list(zip(rows.tolist(), predictions, strict=True))

    @property
    def has_model(self):
        """Whether there are labels of two classes, and so a classifier."""
        return self.view.model is not None

    def limits(self, rules):
        """Upper limits of the error rate, by the rules that have one."""
        rules = [rule for rule in rules if hasattr(rule, "limit")]
        if not rules:
            return []
        return self.view.with_context(
            rules, lambda context: [rule.limit(context) for rule in rules]
        )

    @property
    def is_query_complete(self):
        """Whether all rows of the last query are labeled or skipped."""
        self._update()
        return not self._queue

    def next_row(self, by=None, reserved=()):
        """Next row to label, the same until it is labeled; None if no row is left.

        Rows that are `reserved` for other annotators are not returned.
        """
        self._update()
        row = self._second_opinion(by, reserved)
        if row is not None:
            return QueriedRow(row, None, 0, NO_LABEL, True)
        if not self._queue:
            self._queue = self._queue_rows(self._next_batch())
        for queried in self._queue:
            if queried.row not in reserved:
                return queried
        if not reserved:
            return None
        for row, prediction in self._select(reserved):
            if row not in self._skipped:
                return QueriedRow(row, self._next_batch(), 0, prediction, False)
        return None

    def _next_batch(self):
        numbers = [entry.batch for entry in self._ledger.entries if entry.batch]
        return max(numbers, default=0) + 1

    def is_open(self, queried):
        """Whether the label of a row that was queried is still needed."""
        n_opinions = len(self.ledger.opinions().get(queried.row, ()))
        return n_opinions == int(queried.again)

    def add_label(self, queried, label, by=None, suggested=None, price=None):
        """Write a label to the journal, then learn it; None skips the row.

        `suggested` are the labels that were shown, by their sources. A row that does
        not belong to the present query, because several annotators label at once, is a
        query of its own.
        """
        label = self.view.plain_label(label)
        self._update()
        rows = [other.row for other in self._queue]
        if queried.row in rows:
            batch, n_left = self._queue[0].batch, len(self._queue) - 1
            queried = queried._replace(batch=batch, n_remaining=n_left)
            del self._queue[rows.index(queried.row)]
        elif not queried.again:
            self.finish()
            queried = queried._replace(batch=self._next_batch(), n_remaining=0)
        try:
            self._ledger.add(self._append(queried, label, by, suggested, price))
        except BaseException:
            self._n_learned_lines = None  # the queue is computed again
            raise
        if label is None:
            self._skipped.add(queried.row)
        if queried.again:
            self._update()
            return
        part = self._ledger.batches()[-1]
        self._part = part if self._queue else []
        if not self._queue:
            self.view.learn(*_batch_arguments(part))
        self._n_learned_lines = len(self.journal.lines)

    def relabel(self, row, label, by=None):
        """Change the label of a row that was queried; None withdraws it."""
        self._update()
        label = self.view.plain_label(label)
        if all(entry.row != row for entry in self._ledger.entries):
            raise ValueError(
                f"Row {row!r} was not queried in this journal, so its label cannot be "
                "changed."
            )
        self._append(QueriedRow(int(row), None, 0, NO_LABEL, False), label, by)
        self._update()

    def undo(self, by=None):
        """Withdraw the last line, by the same annotator; return its entry."""
        self._update()
        if not self._ledger.entries:
            raise ValueError("There is no label to withdraw.")
        last = self._ledger.entries[-1]
        if last.by != by:
            raise ValueError(
                f"The last label is by {last.by!r}, not by {by!r}. Use relabel() to "
                "change it."
            )
        self._skipped.discard(last.row)
        self._write({"undo": last.line}, by)
        self._update()
        return last

    def suggestion_errors(self, suggestions, confidence):
        """Estimate the share of wrong labels of each source."""
        learner = self.complete_learner()
        return {
            source: estimate_label_error(learner, labels, confidence)
            for source, labels in suggestions.items()
        }

    def complete_learner(self):
        """The learner with all labels, including those of an incomplete query."""
        self._update()
        if not self._part:
            return self.learner
        return self.view.with_answers(*_batch_arguments(self._part))

    def finish(self):
        """Learn the labels of an incomplete query, because no more will follow."""
        self._update()
        if self._part:
            self.view.learn(*_batch_arguments(self._part))
        self._part, self._queue = [], []

    def _append(self, queried, label, by, suggested=None, price=None):
        record = {"row": queried.row}
        record |= {"skip": True} if label is None else {"label": label}
        if queried.again:
            record["again"] = True
        if queried.batch is not None:
            record |= {"batch": queried.batch, "n_remaining": queried.n_remaining}
        if queried.prediction is not NO_LABEL:
            record["prediction"] = queried.prediction
        if suggested:
            record["suggested"] = suggested
        if price is not None:
            record["price"] = price
        return self._write(record, by)

    def _write(self, record, by):
        if by is not None:
            record["by"] = by
        record["at"] = now()
        self.journal.append(record)
        return record

    def _second_opinion(self, by, reserved=()):
        # A row with one label, preferably of another annotator, or None: the one whose
        # label the model finds least probable. A function of the labels: FOR_AUDIT and
        # 1 separate these random numbers from those for other purposes.
        if self.repeat <= 0.0:
            return None
        # entries of queries; the others change an earlier label
        answers = [entry for entry in self._ledger.entries if entry.is_answer]
        rng = np.random.default_rng([self._seed, len(answers), FOR_AUDIT, 1])
        if rng.random() >= self.repeat:
            return None
        has_second = {entry.row for entry in answers if entry.again}
        annotators = {
            row: opinions[0][0]
            for row, opinions in self._ledger.opinions().items()
            if len(opinions) == 1 and row not in has_second
        }
        recent = {entry.row for entry in answers[-MIN_LABELS_BETWEEN:]}
        rows = [row for row, annotator in annotators.items() if annotator != by]
        rows = sorted(rows or [row for row in annotators if row not in recent])
        rows = [row for row in rows if row not in reserved]
        if not rows:
            return None
        proba = None
        if self.view.model is not None:
            proba = self.view.predict_proba(take(self.view.X, np.array(rows)))
        if proba is None:
            return int(rng.choice(rows))
        codes = self.view.codes[rows]
        # rows of an incomplete query have no code: they are not learned yet
        doubt = np.where(codes < 0, -1.0, 1.0 - proba[np.arange(len(rows)), codes])
        return rows[int(doubt.argmax())]


def _as_set(labels):
    # With their types, because 1 and True are different labels.
    return {(type(label), label) for label in labels}


def _start_of_rows(start, first, end):
    # Initial labels of the rows from `first` to `end`.
    pairs = [
        (row, label)
        for row, label in zip(start["rows"], start["labels"], strict=True)
        if first <= row < end
    ]
    return {
        "rows": [row for row, _ in pairs],
        "labels": [label for _, label in pairs],
    }


def _batch_arguments(batch):
    # Rows, labels and number of wrong predictions (None: no audit) of a query, and the
    # first labels if some were corrected.
    is_wrong = [
        not same_label(entry.prediction, label)
        for entry, label in batch
        if entry.prediction is not NO_LABEL and label is not NO_LABEL
    ]
    is_audit = any(entry.prediction is not NO_LABEL for entry, _ in batch)
    labels = [None if label is NO_LABEL else label for _, label in batch]
    first = [None if entry.label is NO_LABEL else entry.label for entry, _ in batch]
    return (
        [entry.row for entry, _ in batch],
        labels,
        sum(is_wrong) if is_audit else None,
        None if all(map(_is_same, first, labels)) else first,
    )


def _without_certify(rules):
    # Descriptions of stopping rules without what may change: who agrees to certify.
    return [
        rule | {"with": {k: v for k, v in rule["with"].items() if k != "certify"}}
        if isinstance(rule, dict) and isinstance(rule.get("with"), dict)
        else rule
        for rule in rules
    ]


def _is_same(label, other):
    return same_label(label, other) or label is other is None


def _brief(value):
    if isinstance(value, list):
        text = f"[{', '.join(map(_brief, value))}]"
    elif isinstance(value, dict):
        name = str(value.get("class", value.get("name", value))).rpartition(".")[2]
        arguments = (f"{k}={_brief(v)}" for k, v in (value.get("with") or {}).items())
        text = f"{name}({', '.join(arguments)})" if "class" in value else name
    else:
        text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."
