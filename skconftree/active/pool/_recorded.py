"""Active learner whose labels are written to a journal before they are learned.

A *second opinion* is a further label of a row, by preference from another annotator. An
*audit* is a query of random rows, whose predictions (`prediction`) are compared with
their labels. A `Ledger` has the labels of a journal.
"""

from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from ...utils._codec import own_version, to_json, with_default_parameters, written_by
from .._journal import (
    NO_LABEL,
    Journal,
    JournalError,
    Ledger,
    difference,
    fingerprint,
    same_label,
)
from .._labels import take
from .._strategy import FOR_AUDIT
from ._stopping import largest_share


class LearnerView:
    """Read-only view of an active learner."""

    def __init__(self, learner):
        self._learner = learner

    @property
    def _consistent(self):
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

    @property
    def description(self):
        """The learner and its parameters, as a journal stores them."""
        return to_json(self._learner, names=True)

    @property
    def audits(self):
        """Number of wrong predictions and of rows of each audit, in order."""
        return self._consistent._audits()

    def audit_rows(self, share):
        """Rows of a random audit, or None if the strategy selects the next rows."""
        return self._learner._audit_rows(self._learner.batch_size, share)

    def with_context(self, rules, function):
        """Call a function with the `QueryContext` of stopping rules."""
        return self._learner._call_with_context(rules, function)

    def plain_label(self, label):
        """Label as a journal stores it, None if missing; an error if it is invalid."""
        return self._learner._plain_label(label)

    def learn(self, rows, labels, n_wrong):
        """Learn labels (None: skipped); `n_wrong` of them were mispredicted."""
        self._learner._learn_answers(rows, labels, n_wrong)

    def replace_answers(self, batches, seed):
        """Replace all labels by those of `batches`, tuples of arguments of `learn`."""
        self._learner._replace_answers(batches, seed)

    def with_answers(self, rows, labels, n_wrong):
        """Copy of the learner that has learned further labels, as by `learn`."""
        learner = self._consistent
        batch = learner._make_batch(rows, labels, n_wrong)
        return learner._with_answers([*learner._answers, batch])

    def before(self, n_labels):
        """Copy of the learner without the last labels."""
        retained = self.answers
        while retained and n_labels > 0:
            n_labels -= int(retained.pop().known.sum())
        return self._consistent._with_answers(retained)


MIN_LABELS_BETWEEN = 5  # before an annotator is queried again for the same row


class QueriedRow(NamedTuple):
    """A queried row; the fields are those of an `Entry` of a journal."""

    row: int
    batch: int | None
    n_remaining: int
    prediction: object
    again: bool


def start_labels(head):
    """Initial labels of a pool, None for unlabeled rows; None if there are none."""
    start = head["start"]
    if not start["rows"]:
        return None
    y = np.full(head["X"]["n_rows"], None)
    for row, label in zip(start["rows"], start["labels"], strict=True):
        y[row] = label
    return y


def check_pool(head, pool, path):
    """Raise JournalError if a fingerprint differs from that of the journal's pool."""
    other = difference(pool, head["X"])
    if other is not None:
        raise JournalError(
            f"X is not the pool of {path}: {other}. Labels are stored by row number. "
            "Pass the original rows in their original order, or another file."
        )


def now():
    """The current time in ISO format."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class RecordedLearner:
    """A fitted learner with a journal of its labels.

    The labels of the journal replace those of the learner. The file determines the
    state, which is computed from it again after an interrupt.

    `rules` and `random_share` determine the share of audits; a share `repeat` of the
    queries requests a second opinion. Both shares can be changed when the journal is
    opened again, None: those of the journal. `pool` is the fingerprint of the pool,
    None: that of its rows; `budget` is stored in the journal.
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
        self._skipped = set()  # rows that were skipped since the journal was opened
        # number of lines of the journal from which the other attributes were computed
        self._n_learned_lines = None
        # settings that determine the queries, in addition to the learner
        settings = {
            "stop": to_json(list(rules), names=True),
            "resolve_by": resolve_by,
        }
        shares = {"repeat": repeat, "random_share": random_share}
        start = self.view.start
        head = {
            "version": own_version(),
            "at": now(),
            "X": fingerprint(self.view.X) if pool is None else pool,
            "learner": self.view.description,
            "seed": self.view.seed,
            "start": {"rows": start.rows.tolist(), "labels": start.labels.tolist()},
            **settings,
            **{name: share or 0.0 for name, share in shares.items()},
            "budget": budget,
        }
        self.journal = path if isinstance(path, Journal) else Journal(path, head)
        self.notes = [] if self.journal.note is None else [self.journal.note]
        try:
            if self.journal.head is None:
                self.journal.begin(head)
            self._check(head, settings)
            self._set_shares(shares, largest_share(rules))
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

    def _check(self, head, settings):
        path, known = self.journal.path, self.journal.head
        try:
            check_pool(known, head["X"], path)
            with written_by(known["version"]):  # names the version in errors
                learner = with_default_parameters(known["learner"])
                stop = with_default_parameters(known["stop"])
            names = {**learner["with"], **{k: known[k] for k in settings}}
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
        seeded = passed["random_state"] is not None
        for name, value in passed.items():
            if value != names.get(name) and (name != "random_state" or seeded):
                raise JournalError(
                    f"{path} was started with {name}={_brief(names.get(name))}. Got "
                    f"{_brief(value)}. Pass the same value, or another file."
                )
        if start != head["start"]:
            raise JournalError(
                f"{path} was started with {len(start['rows'])} initial labels. Got "
                f"{len(head['start']['rows'])}, or other labels. Pass the same labels, "
                "or another file."
            )

    def _set_shares(self, shares, share_of_rules):
        # Shares of the journal, or those that were passed, which are then written.
        known = {name: self.journal.head.get(name, 0.0) for name in shares}
        known |= self._read_ledger().settings
        passed = {name: share for name, share in shares.items() if share is not None}
        changed = {name: passed[name] for name in passed if passed[name] != known[name]}
        if changed:
            self._write({"settings": changed}, None)
        known |= changed
        self.repeat = known["repeat"]
        self.share = max(known["random_share"], share_of_rules)

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
        batches = self._ledger.batches()
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
            if [queried.row for queried in queue[: len(part)]] == answered:
                self._queue = queue[len(part) :]
            else:  # by another version, or if other rows were skipped
                self.view.learn(*_batch_arguments(part))
        self._part = part if self._queue else []
        self._n_learned_lines = len(self.journal.lines)

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
    def ledger(self):
        """Labels of the journal, up to its last line."""
        self._update()
        return self._ledger

    def _queue_rows(self, batch, answered=()):
        learner = self.learner
        rows, predictions = None, None
        if self.share > 0.0:
            rows = self.view.audit_rows(self.share)
        if rows is None:
            rows = learner.query()
        else:
            predictions = learner.predict(take(self.view.X, rows)).tolist()
        predictions = predictions or [NO_LABEL] * len(rows)
        rows = [
            (row, prediction)
            for row, prediction in zip(rows.tolist(), predictions, strict=True)
            if row in answered or row not in self._skipped
        ]
        return [
            QueriedRow(row, batch, len(rows) - i, prediction, False)
            for i, (row, prediction) in enumerate(rows, 1)
        ]

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

    def next_row(self, by=None):
        """Next row to label, the same until it is labeled; None if no row is left."""
        self._update()
        row = self._second_opinion(by)
        if row is not None:
            return QueriedRow(row, None, 0, NO_LABEL, True)
        if not self._queue:
            numbers = [entry.batch for entry in self._ledger.entries if entry.batch]
            self._queue = self._queue_rows(max(numbers, default=0) + 1)
        return self._queue[0] if self._queue else None

    def add_label(self, queried, label, by=None):
        """Write a label to the journal, then learn it; None skips the row."""
        label = self.view.plain_label(label)
        self._update()
        self._ledger.add(self._append(queried, label, by))
        if label is None:
            self._skipped.add(queried.row)
        if queried.again:
            self._update()
            return
        self._queue.pop(0)
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

    def _append(self, queried, label, by):
        record = {"row": queried.row}
        record |= {"skip": True} if label is None else {"label": label}
        if queried.again:
            record["again"] = True
        if queried.batch is not None:
            record |= {"batch": queried.batch, "n_remaining": queried.n_remaining}
        if queried.prediction is not NO_LABEL:
            record["prediction"] = queried.prediction
        return self._write(record, by)

    def _write(self, record, by):
        if by is not None:
            record["by"] = by
        record["at"] = now()
        self.journal.append(record)
        return record

    def _second_opinion(self, by):
        # A row with one label, preferably of another annotator, or None; a function of
        # the labels.
        if self.repeat <= 0.0:
            return None
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
        rows = rows or [row for row in annotators if row not in recent]
        return int(rng.choice(sorted(rows))) if rows else None


def _batch_arguments(batch):
    # Rows, labels and number of wrong predictions (None: no audit) of a query.
    is_wrong = [
        not same_label(entry.prediction, label)
        for entry, label in batch
        if entry.prediction is not NO_LABEL and label is not NO_LABEL
    ]
    is_audit = any(entry.prediction is not NO_LABEL for entry, _ in batch)
    return (
        [entry.row for entry, _ in batch],
        [None if label is NO_LABEL else label for _, label in batch],
        sum(is_wrong) if is_audit else None,
    )


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
