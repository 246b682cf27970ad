"""A learner whose answers are in a journal before it learns them."""

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
from ._view import LearnerView

AGO = 5  # answers that lie between two of one person to one row, at least


class QueriedRow(NamedTuple):
    """A row that is asked for; `guess` is NOTHING but in an audit."""

    row: int
    batch: int | None
    left: int
    guess: object
    again: bool


def start_labels(head):
    """Labels that a pool had at the start, None for the others; None without any."""
    start = head["start"]
    if not start["rows"]:
        return None
    y = np.full(head["X"]["n_rows"], None)
    for row, label in zip(start["rows"], start["labels"], strict=True):
        y[row] = label
    return y


def check_pool(head, pool, path):
    """Raise JournalError unless a fingerprint is of the rows of a journal."""
    other = difference(pool, head["X"])
    if other is not None:
        raise JournalError(
            f"X is not the pool of {path}: {other}. Answers belong to rows by their "
            "places; give the rows of the first time, or another file."
        )


def now():
    """The time, for people and programs."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Recorded:
    """A learner that has a pool, with a journal of its answers.

    The answers of the journal are learnt in the place of those of the learner. What is
    true is in the file: after an interrupt the rest is made of it again.

    `rules` are asked for their audits; a share `repeat` of the questions asks for a row
    again; `pool` is the fingerprint of the pool, None: that of its rows; `budget` is
    remembered.
    """

    def __init__(
        self,
        learner,
        path,
        rules=(),
        resolve_by="last",
        repeat=0.0,
        pool=None,
        budget=None,
    ):
        self.learner = learner
        self.view = LearnerView(learner)
        self.resolve_by = resolve_by
        self.repeat = repeat
        self.share = largest_share(rules)
        self._skipped = set()  # rows, since the journal was opened
        self._n_learned_lines = (
            None  # lines of the journal that all the rest is made of
        )
        # what decides on the questions besides the learner
        settings = {
            "stop": to_json(list(rules), names=True),
            "resolve_by": resolve_by,
            "repeat": repeat,
        }
        start = self.view.start
        head = {
            "version": own_version(),
            "at": now(),
            "X": fingerprint(self.view.X) if pool is None else pool,
            "learner": self.view.description,
            "seed": self.view.seed,
            "start": {"rows": start.rows.tolist(), "labels": start.labels.tolist()},
            **settings,
            "budget": budget,
        }
        self.journal = path if isinstance(path, Journal) else Journal(path, head)
        self.notes = [] if self.journal.note is None else [self.journal.note]
        try:
            if self.journal.head is None:
                self.journal.begin(head)
            self._check(head, settings)
            if self.view.answers:
                self._take_in(self.view.answers)
            self._catch_up()
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
            with written_by(known["version"]):
                learner = with_default_parameters(known["learner"])
                stop = with_default_parameters(known["stop"])
            names = {**learner["with"], **{k: known[k] for k in settings}}
            names["stop"] = stop
            start, self._seed = known["start"], known["seed"]
            if known["version"] != head["version"]:
                self.notes.append(
                    f"{path} was begun with version {known['version']}; the next "
                    "question may be another one than it would have been there."
                )
        except (KeyError, TypeError) as error:
            raise JournalError(f"{path} is corrupt in line 1: {error!r}") from None
        given = {**head["learner"]["with"], **settings}
        seeded = given["random_state"] is not None
        for name, value in given.items():
            if value != names.get(name) and (name != "random_state" or seeded):
                raise JournalError(
                    f"{path} was begun with {name}={_brief(names.get(name))}. Got "
                    f"{_brief(value)}. Give the same, or another file."
                )
        if start != head["start"]:
            raise JournalError(
                f"{path} was begun with {len(start['rows'])} labels of the pool. Got "
                f"{len(head['start']['rows'])}, or others. Give the same, or another "
                "file."
            )

    def _take_in(self, answers):
        # What a learner was taught before it had a journal, or by an earlier one.
        if self.journal.lines:
            told = {
                (one.row, None if one.label is NO_LABEL else one.label)
                for one in Ledger(self.journal.lines).entries
            }
            own = {(row, label) for one in answers for row, label in one.pairs()}
            if not own <= told:
                raise ValueError(
                    f"The learner has been taught answers that {self.journal.path} "
                    "does not have. Fit it again to go on with the file."
                )
            return
        if any(one.weight is not None for one in answers):
            raise ValueError("A journal holds no weights, which the learner was given.")
        for number, one in enumerate(answers, 1):
            left = len(one.rows)
            for row, label in one.pairs():
                left -= 1
                self._append(
                    QueriedRow(row, number, left, NO_LABEL, False), label, None
                )

    def _catch_up(self):
        if self._n_learned_lines == len(self.journal.lines):
            return
        self._ledger = Ledger(
            self.journal.lines,
            self.resolve_by,
            self.view.n_rows,
            self.view.start.rows.tolist(),
        )
        batches = self._ledger.batches()
        part = batches.pop() if batches and batches[-1][-1][0].left > 0 else []
        try:
            self.view.replace_answers(list(map(_told, batches)), self._seed)
        except ValueError:
            self._find_wrong_label()
            raise
        self._queue = []
        if part:
            answered = {one.row for one, _ in part}
            queue = self._hand_out(part[0][0].batch, answered)
            if [one.row for one in queue[: len(part)]] == [one.row for one, _ in part]:
                self._queue = queue[len(part) :]
            else:  # of another version, or of other rows skipped
                self.view.learn(*_told(part))
        self._part = part if self._queue else []
        self._n_learned_lines = len(self.journal.lines)

    def _find_wrong_label(self):
        # Raise an error that names the line whose label cannot be learned.
        for one in self._ledger.entries:
            if one.label is not NO_LABEL:
                try:
                    self.view.plain_label(one.label)
                except ValueError as error:
                    raise ValueError(
                        f"Line {one.line} of {self.journal.path} cannot be learned: "
                        f"{error}"
                    ) from None

    @property
    def ledger(self):
        """What the lines of the journal come to, the last one included."""
        self._catch_up()
        return self._ledger

    def _hand_out(self, batch, answered=()):
        learner = self.learner
        rows, guesses = None, None
        if self.share > 0.0:
            rows = self.view.audit_rows(self.share)
        if rows is None:
            rows = learner.query()
        else:
            guesses = learner.predict(take(self.view.X, rows)).tolist()
        guesses = guesses or [NO_LABEL] * len(rows)
        rows = [
            (row, guess)
            for row, guess in zip(rows.tolist(), guesses, strict=True)
            if row in answered or row not in self._skipped
        ]
        return [
            QueriedRow(row, batch, len(rows) - place, guess, False)
            for place, (row, guess) in enumerate(rows, 1)
        ]

    @property
    def has_model(self):
        """Whether there are labels of two classes to predict by."""
        return self.view.model is not None

    def limits(self, rules):
        """Upper limits of the share of wrong predictions, of the rules with one."""
        rules = [rule for rule in rules if hasattr(rule, "limit")]
        if not rules:
            return []
        return self.view.look(
            rules, lambda context: [rule.limit(context) for rule in rules]
        )

    @property
    def between(self):
        """Whether all of the last question has been answered."""
        self._catch_up()
        return not self._queue

    def ask(self, by=None):
        """What to ask next, the same until it is answered; None if no row is left."""
        self._catch_up()
        again = self._second_opinion(by)
        if again is not None:
            return QueriedRow(again, None, 0, NO_LABEL, True)
        if not self._queue:
            numbers = [one.batch for one in self._ledger.entries if one.batch]
            self._queue = self._hand_out(max(numbers, default=0) + 1)
        return self._queue[0] if self._queue else None

    def answer(self, asked, label, by=None):
        """Write an answer down, then learn it; None skips the row."""
        label = self.view.plain_label(label)
        self._catch_up()
        self._ledger.add(self._append(asked, label, by))
        if label is None:
            self._skipped.add(asked.row)
        if asked.again:
            self._catch_up()
            return
        self._queue.pop(0)
        part = self._ledger.batches()[-1]
        self._part = part if self._queue else []
        if not self._queue:
            self.view.learn(*_told(part))
        self._n_learned_lines = len(self.journal.lines)

    def relabel(self, row, label, by=None):
        """Give a row that has been asked for another label; None withdraws it."""
        self._catch_up()
        label = self.view.plain_label(label)
        if all(one.row != row for one in self._ledger.entries):
            raise ValueError(f"Row {row!r} has no answer that could be relabeled.")
        self._append(QueriedRow(int(row), None, 0, NO_LABEL, False), label, by)
        self._catch_up()

    def undo(self, by=None):
        """Take back the last line, which is by the same person; gives its entry."""
        self._catch_up()
        if not self._ledger.entries:
            raise ValueError("There is no answer that could be taken back.")
        last = self._ledger.entries[-1]
        if last.by != by:
            raise ValueError(
                f"The last answer is by {last.by!r}, not by {by!r}. Mend it instead."
            )
        self._skipped.discard(last.row)
        self._write({"undo": last.line}, by)
        self._catch_up()
        return last

    def whole_learner(self):
        """The learner with all answers, those of a question half answered too."""
        self._catch_up()
        if not self._part:
            return self.learner
        return self.view.with_answers(*_told(self._part))

    def finish(self):
        """Let the learner have all answers, as no more will come."""
        self._catch_up()
        if self._part:
            self.view.learn(*_told(self._part))
        self._part, self._queue = [], []

    def _append(self, asked, label, by):
        record = {"row": asked.row}
        record |= {"skip": True} if label is None else {"label": label}
        if asked.again:
            record["again"] = True
        if asked.batch is not None:
            record |= {"batch": asked.batch, "left": asked.left}
        if asked.guess is not NO_LABEL:
            record["guess"] = asked.guess
        return self._write(record, by)

    def _write(self, record, by):
        if by is not None:
            record["by"] = by
        record["at"] = now()
        self.journal.append(record)
        return record

    def _second_opinion(self, by):
        # A row with one label, rather of somebody else; a function of the answers.
        if self.repeat <= 0.0:
            return None
        answers = [one for one in self._ledger.entries if one.is_answer]
        chance = np.random.default_rng([self._seed, len(answers), FOR_AUDIT, 1])
        if chance.random() >= self.repeat:
            return None
        again = {one.row for one in answers if one.again}
        single = {
            row: told[0]
            for row, told in self._ledger.opinions().items()
            if len(told) == 1 and row not in again
        }
        fresh = {one.row for one in answers[-AGO:]}
        rows = [row for row, told in single.items() if told[0] != by]
        rows = rows or [row for row in single if row not in fresh]
        return int(chance.choice(sorted(rows))) if rows else None


def _told(batch):
    # Rows, labels and wrong predictions of a question's answers.
    judged = [
        not same_label(one.guess, label)
        for one, label in batch
        if one.guess is not NO_LABEL and label is not NO_LABEL
    ]
    audit = any(one.guess is not NO_LABEL for one, _ in batch)
    return (
        [one.row for one, _ in batch],
        [None if label is NO_LABEL else label for _, label in batch],
        sum(judged) if audit else None,
    )


def _brief(value):
    if isinstance(value, list):
        text = f"[{', '.join(map(_brief, value))}]"
    elif isinstance(value, dict):
        name = str(value.get("class", value.get("name", value))).rpartition(".")[2]
        given = (f"{k}={_brief(v)}" for k, v in (value.get("with") or {}).items())
        text = f"{name}({', '.join(given)})" if "class" in value else name
    else:
        text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."
