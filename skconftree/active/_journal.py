"""Journals of labels on disk, the labels they contain, and fingerprints of pools.

A journal is a file of JSON lines. The first line, the head, identifies the pool and the
settings. Each further line is a label, a skipped row, the withdrawal of a label, or a
change: more classes (`classes`), more rows (`pool`), other shares (`settings`), labels
of a cheap annotator that an expert checks (`suggestions`), or the decision to certify a
recall (`certify`), that is to draw rows at random until the lower confidence limit of
the recall is large enough. The label that one annotator gave to a row is called an
opinion; a second opinion is the label of a row that has one already. An audit draws
rows at random to estimate the error rate of the classifier. The *pool* is the table of
unlabeled and labeled rows; its *fingerprint* is a hash of its rows. The shares are
those of queries for second opinions (`repeat`) and of audits (`random_share`).
"""

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
from ..utils._codec import from_json, is_count, is_newer, versions_and_remedy
from ..utils._files import sync_folder
from ._labels import n_rows_of

try:
    import fcntl
except ImportError:  # Windows, where a journal is not locked
    fcntl = None

KIND = "skconftree labels"
FORMAT = 1
MIN_HEAD = {"journal": KIND, "format": FORMAT}
START = json.dumps({"journal": KIND})[:-1].encode()  # prefix of the first line


class JournalError(ValueError):
    """A file is not a valid journal, or belongs to another pool or other settings.

    Pass another file, or the pool and the settings with which the journal was created.

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
    PATH is not a journal of labels, or it is empty. Pass a file that ...
    """


class Journal:
    """Append-only file of JSON lines that one process at a time can write.

    When `append` returns, the line is on the disk; when it raises, the line is not in
    the file. The file is locked by the operating system, until the process ends for any
    reason. If a process is killed while it writes, the incomplete last line is dropped
    when the file is opened again. A forked process shares the lock, so only the process
    that opened the journal may write.

    `head` is the first line. If it is not passed, the file must exist. The attribute
    `head` is then None if the file has no complete line, until `begin` writes one.
    `lines` are the following lines, from line 2 of the file on. `note` describes what
    was dropped.
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
            records, self._size = self._read()
            if records:
                self.head, *self.lines = records
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
                f"{self.path} is open in another process, or in another session of "
                "this one. Close it there first: one session at a time can write to it."
            ) from None
        except OSError:
            pass  # the file system does not support locks

    def begin(self, head):
        """Write the first line of a journal that has none."""
        self.append(MIN_HEAD | head)
        # otherwise a crash could lose the directory entry of the file
        sync_folder(os.path.dirname(os.path.abspath(self.path)))
        (self.head,), self.lines = self.lines, []

    def present_head(self):
        """Return the head after the changes of later lines; see `present_head`."""
        try:
            return present_head(self.head, self.lines)
        except (KeyError, TypeError) as error:
            raise JournalError(f"{self.path} is corrupt in line 1: {error!r}") from None

    def _read(self):
        # Returns the objects in the lines of the file, and the size of these lines in
        # bytes. An incomplete last line is removed from the file.
        with open(self._file, "rb", closefd=False) as file:
            content = file.read()
        complete, partial, records = _parse(content, self.path)
        # an earlier version replaced an incomplete head by this one
        if records == [MIN_HEAD]:
            partial, records = complete[0], []
        size = sum(len(line) + 1 for line in complete[: len(records)])
        if size < len(content):
            os.ftruncate(self._file, size)
            shown = partial[:80].decode("utf-8", "replace")
            which, action = ("last", "dropped") if records else ("first", "replaced")
            self.note = (
                f"The {which} line of {self.path} was incomplete, probably because a "
                f"process was killed while it wrote, and is {action}: {shown!r}"
            )
        return records, size

    def append(self, record):
        """Write a line to the disk; if that fails, the file is unchanged."""
        if self._file is None:
            raise ValueError(f"The journal {self.path} is closed. Open it again.")
        if os.getpid() != self._process:
            raise BlockingIOError(
                f"{self.path} was opened by the parent process. Write labels there, or "
                "open another file in this process."
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
            # an incomplete line would corrupt the next one
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            self._size = size
            del self.lines[n_lines:]
            if isinstance(error, OSError):
                raise OSError(
                    f"Cannot write {self.path}: {error.strerror or error}. The "
                    f"{n_lines} earlier lines are saved, this one is not."
                ) from error
            raise

    def close(self):
        """Close the file and release its lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def read_head(path):
    """Read the first line of a journal, which may be in use."""
    with open(path, "rb") as file:
        line = file.readline()
    if not line.endswith(b"\n") or not line.startswith(START):
        raise JournalError(
            f"{os.fspath(path)} is not a journal of labels, or it is empty. Pass a "
            "file that LabelingSession or `skconftree label` wrote."
        )
    return _record(line)


def read_lines(path):
    """Read the head and the other lines of a journal, which does not change.

    An incomplete last line, which a process may be writing, is left out.
    """
    with open(path, "rb") as file:
        content = file.read()
    records = _parse(content, os.fspath(path))[2]
    if not records or records == [MIN_HEAD]:
        raise JournalError(f"{os.fspath(path)} has no complete line.")
    return records[0], records[1:]


def _parse(content, path):
    # Returns complete lines, what follows them, and the records of valid lines.
    if content and not content.startswith(START[: len(content)]):
        first = content[:60].partition(b"\n")[0]
        raise JournalError(
            f"{path} is not a journal of labels: it starts with {first!r}. "
            "Pass a file that LabelingSession or `skconftree label` wrote."
        )
    *complete, partial = content.split(b"\n")
    records, last = [], len(complete) - 1
    for index, line in enumerate(complete):
        try:
            records.append(_record(line))
        except ValueError as error:
            if index < last or partial or index == 0:
                raise JournalError(
                    f"{path} is corrupt in line {index + 1}: {error}"
                ) from None
            partial = line
    writer = records[0].get("version") if records else None
    if is_newer(writer):
        # "written by skconftree ..." and which version to install
        raise JournalError(f"{path} was {versions_and_remedy(writer)}")
    if records and records[0].get("format") != FORMAT:
        raise JournalError(
            f"{path} has format {records[0].get('format')!r}, but this "
            f"version of skconftree reads format {FORMAT}. Use the version that "
            "wrote it."
        )
    return complete, partial, records


def _record(line):
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object.")
    return record


# which label counts if a row has several
RESOLUTIONS = ("last", "first", "majority")
NO_LABEL = object()  # marks a missing label


def is_label(value):
    """Whether a journal can hold a label: a string, a boolean or a finite number."""
    return type(value) in (str, bool, int) or (
        type(value) is float and math.isfinite(value)
    )


def _is_name(value):
    return value is None or type(value) is str


# Check of each optional field of a line, and a description of the valid values.
FIELDS = {
    "row": (is_count, "a row of the pool, an integer of 0 or more"),
    "label": (is_label, "a string, a boolean or a finite number"),
    "prediction": (is_label, "a string, a boolean or a finite number"),
    "by": (_is_name, "a name"),
    "at": (_is_name, "a time"),
    "batch": (
        lambda value: value is None or (is_count(value) and value > 0),
        "the number of a query, an integer of 1 or more",
    ),
    "n_remaining": (is_count, "an integer of 0 or more"),
    "again": (lambda value: type(value) is bool, "true or false"),
    "skip": (lambda value: value is True, "true"),
    "undo": (is_count, "the number of a line"),
    "suggested": (
        lambda value: isinstance(value, dict) and all(map(is_label, value.values())),
        "labels by the names of their sources",
    ),
    "price": (  # of the label, or of each suggestion
        lambda value: type(value) in (int, float) and value >= 0,
        "a number of 0 or more",
    ),
    "suggestions": (
        lambda value: (
            isinstance(value, dict)
            and value.keys() == {"rows", "labels"}
            and all(isinstance(part, list) for part in value.values())
            and len(value["rows"]) == len(value["labels"])
            and all(map(is_count, value["rows"]))
            and all(label is None or is_label(label) for label in value["labels"])
        ),
        "lists of equal length, rows and labels",
    ),
    "classes": (
        lambda value: isinstance(value, list) and all(map(is_label, value)),
        "a list of labels",
    ),
    "pool": (
        lambda value: isinstance(value, dict) and {"X", "start"} <= value.keys(),
        "a fingerprint X and initial labels, start",
    ),
    "certify": (lambda value: type(value) is bool, "true or false"),
    "positive": (is_label, "a string, a boolean or a finite number"),
    "recall": (lambda value: type(value) is float, "a number"),
    "settings": (
        lambda value: (
            isinstance(value, dict)
            and value.keys() <= {"repeat", "random_share"}
            and all(type(v) in (int, float) and 0 <= v <= 1 for v in value.values())
        ),
        "shares of the queries by name, from 0 to 1",
    ),
}


CHANGES = {
    "classes",
    "pool",
    "settings",
    "certify",
    "suggestions",
}  # fields of lines that concern no row


def field_problem(line):
    """Describe the first invalid field of a line; None if all are valid."""
    for name, (is_valid, requirement) in FIELDS.items():
        if name in line and not is_valid(line[name]):
            return f"{name} must be {requirement}. Got {line[name]!r}."
    return None


def present_head(head, lines):
    """Return the head of a journal after the changes that its lines have.

    `classes` are the labels to choose from, or None if any label is allowed;
    `decisions` whether to certify a recall, by class and recall; `growth` the lines
    that append rows to the pool, with the number of rows before.
    """
    # "with": parameters of an object
    classes = plain_classes(head["learner"]["with"]["classes"])
    head = {"random_share": 0.0, **head, "classes": classes}
    head |= {"decisions": {}, "growth": []}
    for number, line in enumerate(lines, 2):
        if CHANGES.isdisjoint(line):
            continue
        problem = field_problem(line)
        if problem is not None:
            raise ValueError(f"Line {number} of the journal is not valid: {problem}")
        if "pool" in line:
            head["growth"].append((number, head["X"]["n_rows"]))
        if "certify" in line:
            key = line["positive"], line["recall"]
            head["decisions"][key] = line["certify"]
        head |= line.get("settings", {}) | line.get("pool", {})
        head["classes"] = line.get("classes", head["classes"])
    return head


def plain_classes(classes):
    """Return classes, or those of a journal, as a list; None if there are none."""
    if isinstance(classes, dict):  # an array or a tuple in a journal
        classes = from_json(classes)
    if classes is None:
        return None
    labels = classes.tolist() if isinstance(classes, np.ndarray) else classes
    return [
        label.item() if isinstance(label, np.generic) else label for label in labels
    ]


class Entry(NamedTuple):
    """A line of a journal that concerns a row, and its number in the file."""

    line: int
    row: int
    label: object = NO_LABEL  # if the row was skipped, or its label withdrawn
    by: str | None = None
    at: str | None = None
    batch: int | None = None  # number of the query; None: second opinion, relabeling
    n_remaining: int = 0  # number of rows of the batch that follow
    prediction: object = NO_LABEL  # if the row was drawn for an audit
    again: bool = False  # whether a second opinion on a labeled row was queried

    @property
    def is_answer(self):
        """Whether the row was queried, so that its label counts for the budget."""
        return self.batch is not None or self.again


class Ledger:
    """Labels of a journal in order, without labels that were withdrawn.

    If a row has several labels, the rule `resolve_by` selects one of them.
    """

    def __init__(self, lines=(), resolve_by="last", n_rows=None, start=()):
        self.resolve_by = resolve_by
        self._n_rows = n_rows  # of the pool; None: unknown
        self._start = frozenset(start)  # rows with an initial label
        self.entries = []
        self.n_lines = 1  # of the file, including the head
        for line in lines:
            self.add(line)

    def add(self, line):
        """Process a line of the journal; return its entry, or the one it withdraws.

        The entry is None if the line does not concern a row.
        """
        self.n_lines += 1
        problem = field_problem(line)
        if problem is not None:
            raise self._error(problem)
        if "undo" in line:
            if not self.entries or self.entries[-1].line != line["undo"]:
                raise self._error(
                    f"it withdraws line {line['undo']}, which is not the last label "
                    "before it."
                )
            return self.entries.pop()
        if not CHANGES.isdisjoint(line):
            return None
        row = line.get("row")
        if row is None or (self._n_rows is not None and row >= self._n_rows):
            last = "" if self._n_rows is None else f" to {self._n_rows - 1}"
            raise self._error(f"row must be a row of the pool, 0{last}. Got {row!r}.")
        if row in self._start:
            raise self._error(f"row {row} has an initial label.")
        fields = {name: line[name] for name in Entry._field_defaults if name in line}
        entry = Entry(self.n_lines, row, **fields)
        self.entries.append(entry)
        return entry

    def _error(self, what):
        return ValueError(f"Line {self.n_lines} of the journal is not valid: {what}")

    @property
    def n_answers(self):
        """Number of queried labels that were not withdrawn, with second opinions.

        Skipped rows do not count, and a changed label counts once.
        """
        n_queries = Counter(entry.row for entry in self.entries if entry.is_answer)
        return sum(
            min(n_queries[row], len(of_row)) for row, of_row in self.opinions().items()
        )

    def opinions(self):
        """Latest label of each row by annotator, as ``[annotator, label, line]``."""
        opinions = {}
        for entry in self.entries:
            opinions_of_row = opinions.setdefault(entry.row, [])
            if entry.is_answer:
                if entry.label is not NO_LABEL:
                    opinions_of_row.append([entry.by, entry.label, entry.line])
            elif entry.label is NO_LABEL:
                opinions_of_row.clear()
            else:
                earlier = [
                    opinion for opinion in opinions_of_row if opinion[0] == entry.by
                ]
                if earlier:
                    earlier[-1][1:] = entry.label, entry.line
                else:
                    opinions_of_row.append([entry.by, entry.label, entry.line])
        return {row: of_row for row, of_row in opinions.items() if of_row}

    def resolve(self, opinions_of_row):
        """Select one of the opinions on a row by the rule `resolve_by`."""
        if self.resolve_by == "first":
            return opinions_of_row[0]
        candidates = opinions_of_row
        if self.resolve_by == "majority":
            votes = Counter((type(label), label) for _, label, _ in candidates)
            most = max(votes.values())
            candidates = [
                opinion
                for opinion in candidates
                if votes[type(opinion[1]), opinion[1]] == most
            ]
        return max(candidates, key=lambda opinion: opinion[2])

    def batches(self):
        """Learned labels: a list of (entry, resolved label) per query."""
        opinions = self.opinions()
        queried = [entry for entry in self.entries if entry.batch is not None]
        last = {entry.row: entry for entry in queried}
        batches, number = [], None
        for entry in queried:
            label = NO_LABEL
            if last[entry.row] is entry and entry.row in opinions:
                label = self.resolve(opinions[entry.row])[1]
            if entry.batch != number:
                batches.append([])
                number = entry.batch
            batches[-1].append((entry, label))
        return batches


def agreement(ledger):
    """Agreement of each pair of annotators, with Cohen's `kappa` or None."""
    pairs = {}
    for opinions_of_row in ledger.opinions().values():
        for i, (first, label, _) in enumerate(opinions_of_row):
            for second, other, _ in opinions_of_row[i + 1 :]:
                key, labels = (first, second), (label, other)
                if first != second and (second, first) in pairs:
                    key, labels = (second, first), (other, label)
                pairs.setdefault(key, []).append(labels)
    return [
        {
            "annotators": list(key),
            "n_rows": len(labels),
            "agreed": sum(same_label(*pair) for pair in labels),
            "kappa": _kappa(labels),
        }
        for key, labels in pairs.items()
    ]


def same_label(first, second):
    """Whether two labels are equal and of the same type: 1 and "1" differ."""
    return type(first) is type(second) and first == second


def _kappa(pairs):
    n = len(pairs)
    firsts, seconds = (
        Counter((type(pair[side]), pair[side]) for pair in pairs) for side in (0, 1)
    )
    chance = sum(count * seconds[label] for label, count in firsts.items()) / n**2
    if chance == 1.0:
        return None
    return (sum(same_label(*pair) for pair in pairs) / n - chance) / (1.0 - chance)


def fingerprint(X):
    """Fingerprint that identifies a pool, a dict of plain values.

    `rows` is a hash of the rows in their order, `any_order` a hash of the rows as a
    set. Numbers are hashed by their values as float64, other values by their strings,
    so that a frame and an array of the same numbers are the same pool.
    """
    hashes = row_hashes(X)
    shape = np.shape(X)
    return {
        "n_rows": n_rows_of(X),
        "n_columns": int(shape[1]) if len(shape) > 1 else None,
        "rows": blake2b(hashes.tobytes(), digest_size=16).hexdigest(),
        "any_order": f"{int(hashes.sum(dtype=np.uint64)):016x}",
    }


def difference(actual, expected):
    """Describe how a pool differs from the expected one; None if it does not."""
    for name, noun in (("n_rows", "rows"), ("n_columns", "columns")):
        if actual[name] != expected[name]:
            return f"it has {actual[name]} {noun}, expected {expected[name]}"
    if actual["rows"] == expected["rows"]:
        return None
    if actual["any_order"] == expected["any_order"]:
        return "it has the same rows in another order"
    return "some rows have other values"


def row_hashes(X):
    """Hash of the content of each row, uint64."""
    n = n_rows_of(X)
    none = np.zeros(n, dtype=np.uint16)  # labels, which would be hashed too
    # the functions return two hashes of each row, of which the first is used
    if issparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        high, low = _halves(X.data)
        # the remainder of a value beyond float32 goes into a column of its own
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
    if all(values is not None for values in numbers):
        return row_hashes(np.column_stack(numbers))
    parts = []
    for column, values in zip(columns, numbers, strict=True):
        parts.extend(_hash_strings(column) if values is None else _halves(values))
    return hash_dense(np.ascontiguousarray(np.column_stack(parts)), none)[0]


def _as_numbers(column):
    if column.dtype.kind in "biuf":
        return column
    if column.dtype.kind != "O" or any(isinstance(value, str) for value in column):
        return None
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _halves(values):
    # Split float64 into two float32, which together keep 48 of its 53 bits.
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        high = values.astype(np.float32)
        low = np.where(np.isfinite(high), values - high, 0.0).astype(np.float32)
    return high, low


def _hash_strings(column):
    # Hash of each string, as three integers that float32 represents exactly.
    hashes = {}
    out = np.empty(len(column), dtype=np.uint64)
    for index, text in enumerate(map(str, column.tolist())):
        if text not in hashes:
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
            hashes[text] = int.from_bytes(digest.digest(), "little")
        out[index] = hashes[text]
    mask = np.uint64(0xFFFFFF)
    return [
        ((out >> np.uint64(shift)) & mask).astype(np.float32) for shift in (0, 24, 48)
    ]
