"""Journals on disk, the answers they amount to, fingerprints of their tables."""

import contextlib
import json
import math
import os
from collections import Counter
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from .._compat import _safe_indexing
from ..tables._row_hashes import hash_dense, hash_sparse
from ..utils import is_count
from ..utils._files import sync_folder
from ._labels import n_rows_of

try:
    import fcntl
except ImportError:  # Windows, where a journal is not locked
    fcntl = None

KIND = "skconftree labels"
FORMAT = 1
BARE_HEAD = {"journal": KIND, "format": FORMAT}
START = json.dumps({"journal": KIND})[:-1].encode()  # of every journal's first line


class JournalError(ValueError):
    """A file is not the journal of a session: of other rows or settings, or damaged.

    Another file, or the rows and settings of the first time, are the ways out.

    Examples
    --------
    >>> import os, tempfile
    >>> from skconftree.active import LabelingSession
    >>> from skconftree.active.session import JournalError
    >>> with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
    ...     _ = file.write(b"a,b")
    ...     file.flush()
    ...     try:
    ...         LabelingSession.resume(file.name, [[1.0], [2.0]])
    ...     except JournalError as error:
    ...         print(str(error).replace(file.name, "PATH"))
    PATH is not a journal of answers, or has none.
    """


class Journal:
    """A file of JSON lines that is only ever added to, by one process at a time.

    A line is on the disk when `append` returns, and not in the file when it raises. The
    lock is the kernel's, on the file itself: it ends with the process, however that
    ends. A process that is killed while it writes leaves a last line without an end,
    which is dropped when the file is opened again. A forked process shares the lock,
    so only the process that opened the journal may write.

    `head` is the first line. Without it the file must exist, and `head` is None if no
    whole line was found there, until `begin` writes one. `lines` are the others, of
    which the first is line 2 of the file; `note` says what was dropped.
    """

    def __init__(self, path, head=None):
        self.path = os.fspath(path)
        self.head, self.lines, self.note = None, [], None
        self._process = os.getpid()
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
        flags |= getattr(os, "O_CLOEXEC", 0) | (0 if head is None else os.O_CREAT)
        self._file = os.open(self.path, flags, 0o666)
        try:
            self._lock()
            found, self._size = self._read()
            if found:
                self.head, *self.lines = found
            elif head is not None:
                self.begin(head)
        except BaseException:
            self.close()
            raise

    def _lock(self):
        if fcntl is None:  # pragma: no cover, Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(
                f"{self.path} is being written by another process, or by another "
                "session of this one. One at a time may write answers there."
            ) from None
        except OSError:
            pass  # a file system without locks

    def begin(self, head):
        """Write the first line of a journal that has none."""
        self.append(BARE_HEAD | head)
        # else a crash may take the file's name away
        sync_folder(os.path.dirname(os.path.abspath(self.path)))
        (self.head,), self.lines = self.lines, []

    def _read(self):
        # The lines of the file, and how many bytes they are; what is torn is cut off.
        with open(self._file, "rb", closefd=False) as file:
            content = file.read()
        if content and not content.startswith(START[: len(content)]):
            raise JournalError(f"{self.path} is not a journal of answers.")
        *whole, torn = content.split(b"\n")
        found, last = [], len(whole) - 1
        for place, line in enumerate(whole):
            try:
                found.append(_record(line))
            except ValueError as error:
                if place < last or torn or place == 0:
                    raise JournalError(
                        f"{self.path} is damaged in line {place + 1}: {error}"
                    ) from None
                torn = line
        if found and found[0].get("format") != FORMAT:
            raise JournalError(
                f"{self.path} has format {found[0].get('format')!r}, this version of "
                f"skconftree reads {FORMAT}."
            )
        if found == [BARE_HEAD]:  # an earlier version put it in place of a torn line
            torn, found = whole[0], []
        good = sum(len(line) + 1 for line in whole[: len(found)])
        if good < len(content):
            os.ftruncate(self._file, good)
            shown = torn[:80].decode("utf-8", "replace")
            which, then = ("last", "is dropped") if found else ("first", "is replaced")
            self.note = (
                f"The {which} line of {self.path} was torn, as when a process is "
                f"killed while it writes, and {then}: {shown!r}"
            )
        return found, good

    def append(self, record):
        """Write a line; it is on the disk afterwards, or not in the file."""
        if self._file is None:
            raise ValueError(f"The journal {self.path} is closed.")
        if os.getpid() != self._process:
            raise BlockingIOError(
                f"{self.path} belongs to the process that opened it, of which this "
                "process is a fork. Give answers there, or open another file here."
            )
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        left = memoryview(line.encode("utf-8"))
        size, n_lines = self._size, len(self.lines)
        try:
            self._size += len(left)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
            self.lines.append(record)
        except BaseException as error:
            # half a line would be taken for the start of the next one
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            self._size = size
            del self.lines[n_lines:]
            if isinstance(error, OSError):
                raise OSError(
                    f"cannot write {self.path}: {error.strerror or error}. The "
                    f"{n_lines} lines before are safe; this one is not written."
                ) from error
            raise

    def close(self):
        """Give the file up, for another process to write."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def read_head(path):
    """What the first line of a journal says; the file may be in use."""
    with open(path, "rb") as file:
        line = file.readline()
    if not line.endswith(b"\n") or not line.startswith(START):
        raise JournalError(
            f"{os.fspath(path)} is not a journal of answers, or has none."
        )
    return _record(line)


def _record(line):
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object.")
    return record


RESOLUTIONS = ("last", "first", "majority")
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
    batch: int | None  # of the question; None if it was asked again, or relabeled
    left: int  # rows of the batch that still follow
    guess: object  # of the classifier, if the row was drawn for an audit
    again: bool

    @property
    def is_answer(self):
        """Whether somebody was asked, which costs; not so if a slip was relabeled."""
        return self.batch is not None or self.again


class Ledger:
    """Labels in their order, without withdrawn ones; of several, a rule picks one."""

    def __init__(self, lines=(), resolve_by="last", n_rows=None, start=()):
        self.resolve_by = resolve_by
        self._n_rows = n_rows  # of the pool; None: not known
        self._start = frozenset(start)  # rows that had a label before
        self.entries = []
        self.n_lines = 1  # of the file, the head included
        for line in lines:
            self.add(line)

    def add(self, line):
        """Take a line of the journal in; gives its entry, or the one taken back."""
        self.n_lines += 1
        for name, (is_valid, wanted) in FIELDS.items():
            if name in line and not is_valid(line[name]):
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
        """Latest label of each row by annotator, as ``[who, label, line]``."""
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
        if self.resolve_by == "first":
            return told[0]
        last = max(told, key=lambda one: one[2])
        if self.resolve_by == "last":
            return last
        votes = Counter((type(label), label) for _, label, _ in told)
        most = max(votes.values())
        best = [one for one in told if votes[type(one[1]), one[1]] == most]
        return max(best, key=lambda one: one[2])

    def batches(self):
        """What was learned: a list of (entry, label that holds) per question."""
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
    """Agreement of each pair of annotators, with Cohen's `kappa` or None."""
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


def fingerprint(X):
    """What tells a pool from another one; a dict of plain values.

    `rows` is of the rows in their order, `any_order` of the rows as a set. Numbers
    count by their values, as float64, other things by what ``str`` makes of them, so
    that a frame and an array of the same numbers are the same pool.
    """
    hashes = row_hashes(X)
    shape = np.shape(X)
    return {
        "n_rows": n_rows_of(X),
        "n_columns": int(shape[1]) if len(shape) > 1 else None,
        "rows": blake2b(hashes.tobytes(), digest_size=16).hexdigest(),
        "any_order": f"{int(hashes.sum(dtype=np.uint64)):016x}",
    }


def difference(found, expected):
    """Say in which way a pool is not the one that is expected; None if it is."""
    for name, what in (("n_rows", "rows"), ("n_columns", "columns")):
        if found[name] != expected[name]:
            return f"it has {found[name]} {what}, the other had {expected[name]}"
    if found["rows"] == expected["rows"]:
        return None
    if found["any_order"] == expected["any_order"]:
        return "it has the same rows in another order"
    return "rows of it hold other values"


def row_hashes(X):
    """One hash, uint64, of what each row holds."""
    n = n_rows_of(X)
    none = np.zeros(n, dtype=np.uint16)
    if issparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        high, low = _halves(X.data)
        # what float32 leaves of a value is a value of a column of its own
        indptr = 2 * X.indptr.astype(np.intp)
        indices = np.empty(2 * len(high), dtype=np.intp)
        data = np.empty(len(indices), dtype=np.float32)
        indices[0::2], indices[1::2] = X.indices, X.indices + X.shape[1]
        data[0::2], data[1::2] = high, low
        return hash_sparse(indptr, indices, data, none)[0]
    if getattr(getattr(X, "dtype", None), "kind", "O") in "biuf":
        parts = _halves(np.asarray(X).reshape(n, -1))
        return hash_dense(np.ascontiguousarray(np.hstack(parts)), none)[0]
    if len(np.shape(X)) == 1:
        columns = [np.asarray(X, dtype=object)]
    else:
        columns = [np.asarray(_safe_indexing(X, j, axis=1)) for j in range(X.shape[1])]
    numbers = [_as_numbers(column) for column in columns]
    if all(one is not None for one in numbers):
        return row_hashes(np.column_stack(numbers))
    parts = []
    for column, values in zip(columns, numbers, strict=True):
        parts.extend(_pieces(column) if values is None else _halves(values))
    return hash_dense(np.ascontiguousarray(np.column_stack(parts)), none)[0]


def _as_numbers(column):
    if column.dtype.kind in "biuf":
        return column
    if column.dtype.kind != "O" or any(isinstance(one, str) for one in column):
        return None
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _halves(values):
    # A float64 as two float32, which have 48 of its 53 bits.
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        high = values.astype(np.float32)
        low = np.where(np.isfinite(high), values - high, 0.0).astype(np.float32)
    return high, low


def _pieces(column):
    # The hash of a text in three whole numbers that float32 has exactly.
    known = {}
    out = np.empty(len(column), dtype=np.uint64)
    for place, one in enumerate(column.tolist()):
        text = one if type(one) is str else str(one)
        value = known.get(text)
        if value is None:
            coded = text.encode("utf-8", "surrogatepass")
            value = int.from_bytes(blake2b(coded, digest_size=8).digest(), "little")
            known[text] = value
        out[place] = value
    mask = np.uint64(0xFFFFFF)
    return [
        ((out >> np.uint64(shift)) & mask).astype(np.float32) for shift in (0, 24, 48)
    ]
