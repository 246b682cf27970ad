"""What the lines of a journal come to: answers, opinions and what holds of them."""

import math
from collections import Counter
from typing import NamedTuple

from ..utils import is_count

RULINGS = ("last", "first", "majority")
NOTHING = object()  # in the place of a label: there is none


def is_label(value):
    """Whether a journal can hold a label: a string, a boolean or a finite number."""
    return type(value) in (str, bool, int) or (
        type(value) is float and math.isfinite(value)
    )


def _is_name(value):
    return value is None or type(value) is str


# What a line may hold under each name, if it has it, and how that is put in words.
FIELDS = {
    "row": (is_count, "a row of the pool, an integer of 0 or more"),
    "label": (is_label, "a string, a boolean or a finite number"),
    "guess": (is_label, "a string, a boolean or a finite number"),
    "by": (_is_name, "a name"),
    "at": (_is_name, "a time"),
    "batch": (
        lambda value: value is None or (is_count(value) and value > 0),
        "the number of a question, an integer of 1 or more",
    ),
    "left": (is_count, "an integer of 0 or more"),
    "again": (lambda value: type(value) is bool, "true or false"),
    "skip": (lambda value: value is True, "true"),
    "undo": (is_count, "the number of a line"),
}


class Entry(NamedTuple):
    """A line about a row, and its number in the file."""

    line: int
    row: int
    label: object  # NOTHING if the row was skipped, or its label withdrawn
    by: str | None
    at: str | None
    batch: int | None  # of the question; None if it was asked again, or mended
    left: int  # rows of the batch that still follow
    guess: object  # of the classifier, if the row was drawn for an audit
    again: bool

    @property
    def is_answer(self):
        """Whether somebody was asked, which costs; not so if a slip was mended."""
        return self.batch is not None or self.again


class Ledger:
    """Answers in their order, without those that were taken back.

    Of two opinions of one row the last rules, or the first, or the most frequent.
    """

    def __init__(self, lines=(), ruling="last", n_rows=None, start=()):
        self.ruling = ruling
        self._n_rows = n_rows  # of the pool; None: not known
        self._start = frozenset(start)  # rows that had a label before
        self.entries = []
        self.n_lines = 1  # of the file, the head included
        for line in lines:
            self.add(line)

    def add(self, line):
        """Take a line of the journal in; gives its entry, or the one taken back."""
        self.n_lines += 1
        for name, (is_sound, wanted) in FIELDS.items():
            if name in line and not is_sound(line[name]):
                raise self._error(f"{name} must be {wanted}. Got {line[name]!r}.")
        if "undo" in line:
            if not self.entries or self.entries[-1].line != line["undo"]:
                raise self._error(
                    f"it takes back line {line['undo']}, which is not the last answer "
                    "before it."
                )
            return self.entries.pop()
        row = line.get("row")
        if row is None or (self._n_rows is not None and row >= self._n_rows):
            last = "" if self._n_rows is None else f" to {self._n_rows - 1}"
            raise self._error(f"row must be a row of the pool, 0{last}. Got {row!r}.")
        if row in self._start:
            raise self._error(f"row {row} had a label at the start.")
        entry = Entry(
            self.n_lines,
            row,
            line.get("label", NOTHING),
            line.get("by"),
            line.get("at"),
            line.get("batch"),
            line.get("left", 0),
            line.get("guess", NOTHING),
            line.get("again", False),
        )
        self.entries.append(entry)
        return entry

    def _error(self, what):
        return ValueError(f"Line {self.n_lines} of the journal is not valid: {what}")

    @property
    def n_answers(self):
        """Labels that somebody was asked for and gave, second opinions included."""
        return sum(one.is_answer and one.label is not NOTHING for one in self.entries)

    def opinions(self):
        """Labels of each row by who gave them, ``[who, label, line]`` as first given.

        Who mends a label has one opinion, the new one; to withdraw a label leaves the
        row without any.
        """
        found = {}
        for entry in self.entries:
            told = found.setdefault(entry.row, [])
            if entry.is_answer:
                if entry.label is not NOTHING:
                    told.append([entry.by, entry.label, entry.line])
            elif entry.label is NOTHING:
                told.clear()
            else:
                own = [one for one in told if one[0] == entry.by]
                if own:
                    own[-1][1:] = entry.label, entry.line
                else:
                    told.append([entry.by, entry.label, entry.line])
        return {row: told for row, told in found.items() if told}

    def rule(self, told):
        """The opinion that holds, of those of one row."""
        if self.ruling == "first":
            return told[0]
        last = max(told, key=lambda one: one[2])
        if self.ruling == "last":
            return last
        votes = Counter((type(label), label) for _, label, _ in told)
        most = max(votes.values())
        best = [one for one in told if votes[type(one[1]), one[1]] == most]
        return max(best, key=lambda one: one[2])

    def batches(self):
        """What was learnt: lists of (entry, label that holds), a list a question.

        The last list may be of a question that has not been answered to its end.
        """
        opinions = self.opinions()
        asked = [one for one in self.entries if one.batch is not None]
        last = {one.row: one for one in asked}
        out, number = [], None
        for entry in asked:
            label = NOTHING
            if last[entry.row] is entry and entry.row in opinions:
                label = self.rule(opinions[entry.row])[1]
            if entry.batch != number:
                out.append([])
                number = entry.batch
            out[-1].append((entry, label))
        return out


def agreement(ledger):
    """How often annotators agree: a dict for each two of them, or one with himself.

    `kappa` is Cohen's, None where chance alone would have them agree always.
    """
    pairs = {}
    for told in ledger.opinions().values():
        for i, (who, label, _) in enumerate(told):
            for other, another, _ in told[i + 1 :]:
                key = (who, other)
                if who != other and (other, who) in pairs:
                    key, label, another = (other, who), another, label
                pairs.setdefault(key, []).append((label, another))
    return [
        {
            "annotators": list(key),
            "n_rows": len(found),
            "agreed": sum(same_label(*pair) for pair in found),
            "kappa": _kappa(found),
        }
        for key, found in pairs.items()
    ]


def same_label(one, other):
    """Whether two labels are equal and of one type: 1 and "1" differ."""
    return type(one) is type(other) and one == other


def _kappa(pairs):
    n = len(pairs)
    ours, theirs = (
        Counter((type(pair[side]), pair[side]) for pair in pairs) for side in (0, 1)
    )
    chance = sum(count * theirs[label] for label, count in ours.items()) / n**2
    if chance == 1.0:
        return None
    return (sum(same_label(*pair) for pair in pairs) / n - chance) / (1.0 - chance)
