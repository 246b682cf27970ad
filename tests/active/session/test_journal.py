"""Lines that are on the disk, or not in the file."""

import json
import os
import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from reference.effort import cases
from scipy import sparse

from skconftree.active._journal import (
    Journal,
    Ledger,
    agreement,
    difference,
    fingerprint,
    read_head,
    row_hashes,
)

FULL = """
import resource, sys
from skconftree.active._journal import Journal
journal = Journal(sys.argv[1])
size = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
try:
    journal.append({"row": 2, "label": "a label that is too long for the disk"})
except OSError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
journal.append({"row": 3, "label": "short"})
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "answers.jsonl"
    journal = Journal(path, {"about": "rows"})
    journal.append({"row": 0, "label": "ö"})
    journal.append({"row": 1, "label": 1})
    journal.close()
    return path


def lines(path):
    journal = Journal(path)
    try:
        return journal.lines, journal.note
    finally:
        journal.close()


def test_lines_come_back_with_their_types(path):
    assert lines(path) == ([{"row": 0, "label": "ö"}, {"row": 1, "label": 1}], None)
    assert read_head(path)["about"] == "rows"


def test_a_file_that_is_cut_anywhere_loses_its_last_line_only(path):
    """Each place that a killed process may have come to."""
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    second = content.index(b"\n", first) + 1
    for size in range(len(content)):
        path.write_bytes(content[:size])
        if size < first:
            journal = Journal(path, {"about": "others"})
            assert (journal.head["about"], journal.lines) == ("others", [])
            journal.close()
            continue
        found, note = lines(path)
        assert len(found) == (size >= second)
        whole = size in (first, second)
        assert (note is None) == whole
        if not whole:
            assert "was incomplete" in note
        assert lines(path)[1] is None  # it was said once
        assert path.read_bytes() == content[: second if size >= second else first]


def test_what_is_no_journal_is_left_alone(path):
    for content in (b"a,b\n1,2\n", b"{}\n", b'{"journal": "another"}\n'):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not a journal of labels"):
            Journal(path, {})
        assert path.read_bytes() == content


def test_damage_in_the_midst_is_an_error_with_the_line(path):
    content = path.read_bytes()
    path.write_bytes(content.replace(b'{"row": 0', b'{"row" 0'))
    with pytest.raises(ValueError, match="is corrupt in line 2"):
        Journal(path)
    path.write_bytes(content.replace(b'"format": 1', b'"format": 9'))
    with pytest.raises(ValueError, match=r"has format 9, but this .* reads format 1"):
        Journal(path)


@pytest.mark.parametrize("line", [b'{"row": 9', b"[9]", b"\0\0\0"])
def test_a_last_line_that_is_no_record_is_dropped(path, line):
    content = path.read_bytes()
    path.write_bytes(content + line + b"\n")
    found, note = lines(path)
    assert [one["row"] for one in found] == [0, 1]
    assert note.startswith(f"The last line of {path} was incomplete")
    assert path.read_bytes() == content
    path.write_bytes(content + line + b"\n" + b'{"row": 3}\n')
    with pytest.raises(ValueError, match="is corrupt in line 4"):
        Journal(path)


def test_the_first_line_of_another_file(path):
    assert read_head(path)["about"] == "rows"
    for content in (b"a,b\n", path.read_bytes().splitlines()[0]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not a journal of labels, or it is empty"):
            read_head(path)


def test_two_writers(path):
    journal = Journal(path)
    with pytest.raises(BlockingIOError, match="is open in another process"):
        Journal(path)
    journal.close()
    with pytest.raises(ValueError, match="is closed"):
        journal.append({})
    Journal(path).close()


@pytest.mark.parametrize("room", cases([0, 1, 20], []))
def test_a_full_disk_costs_the_line_that_does_not_fit(path, room):
    size = path.stat().st_size + room
    run = subprocess.run(
        [sys.executable, "-P", "-c", FULL, path, str(size)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "The 2 earlier lines are saved, this one is not" in run.stdout
    assert [one["row"] for one in lines(path)[0]] == [0, 1, 3]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_an_interrupt_leaves_the_line_out(path, monkeypatch):
    journal = Journal(path)
    fsync = os.fsync

    def interrupted(file):
        fsync(file)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        journal.append({"row": 2})
    monkeypatch.undo()
    journal.append({"row": 3})
    journal.close()
    assert [one["row"] for one in lines(path)[0]] == [0, 1, 3]


# -- the pool ----------------------------------------------------------------------


def test_rows_are_known_by_what_they_hold():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[X > 1] = 0.0
    X[3, 1] = np.nan
    one = fingerprint(X)
    assert fingerprint(pd.DataFrame(X)) == one
    assert fingerprint(X.astype(object)) == one
    assert fingerprint(X.astype(np.float32)) != one
    other = X.copy()
    other[7, 2] += 1e-9
    assert difference(fingerprint(other), one) == "some rows have other values"
    assert "another order" in difference(fingerprint(X[::-1]), one)
    assert "49 rows" in difference(fingerprint(X[:-1]), one)
    assert "2 columns" in difference(fingerprint(X[:, :2]), one)
    dense = np.nan_to_num(X)
    assert fingerprint(sparse.csc_array(dense)) == fingerprint(dense)
    assert (row_hashes(sparse.csr_array(dense)) == row_hashes(dense)).all()


def test_texts_are_known_by_what_they_say():
    texts = ["a b", "c", "a b", None]
    one = fingerprint(pd.Series(texts, dtype=object))
    assert fingerprint(np.array(texts, dtype=object)) == one
    assert fingerprint(np.array(["a b", "c", "a", None], dtype=object)) != one
    hashes = row_hashes(np.array(texts, dtype=object))
    assert hashes[0] == hashes[2]
    assert len(set(hashes.tolist())) == 3
    frame = pd.DataFrame({"text": texts, "n": [1, 2, 3, 4]})
    assert fingerprint(frame) != fingerprint(frame.assign(n=[1, 2, 3, 5]))


@pytest.mark.slow
def test_a_large_pool_takes_less_than_a_second():
    X = np.random.default_rng(0).normal(size=(200_000, 20))
    start = time.process_time()
    fingerprint(X)
    assert time.process_time() - start < 1.0


# -- opinions ----------------------------------------------------------------------


def asked(row, label, batch=None, **more):
    record = {"row": row, "label": label, "batch": batch, **more}
    if label is None:
        del record["label"]
    return json.loads(json.dumps(record))


def holds(lines, resolve_by="last"):
    batches = Ledger(lines, resolve_by).batches()
    return [(one.row, label) for batch in batches for one, label in batch]


def test_which_opinion_resolves():
    lines = [
        asked(5, "ham", 1, by="a"),
        asked(6, "spam", 2, by="a"),
        asked(5, "spam", again=True, by="b"),
    ]
    assert holds(lines) == [(5, "spam"), (6, "spam")]
    assert holds(lines, "first") == [(5, "ham"), (6, "spam")]
    lines.append(asked(5, "ham", by="b"))  # who relabels his own
    assert holds(lines) == holds(lines, "first") == [(5, "ham"), (6, "spam")]
    lines.append(asked(5, "spam", by="c"))
    assert holds(lines, "majority") == [(5, "ham"), (6, "spam")]
    assert Ledger(lines).n_answers == 3
    lines.append({"undo": 6})
    assert holds(lines) == [(5, "ham"), (6, "spam")]


def test_withdrawn_labels_are_not_answers():
    lines = [
        asked(5, "ham", 1, by="a"),
        asked(6, None, 2, by="a"),  # skipped
        asked(5, "spam", again=True, by="b"),
    ]
    expected = 2
    for line, more in (
        (asked(5, "spam", by="a"), 0),  # a changed label
        (asked(6, "ham", by="b"), 1),  # a label of a skipped row
        (asked(6, "spam", by="a"), 0),  # nobody was asked for it
        (asked(5, None, by="b"), -2),  # both labels of the row are withdrawn
        (asked(5, "ham", by="b"), 1),
    ):
        lines.append(line)
        expected += more
        assert Ledger(lines).n_answers == expected


def test_labels_of_two_types_are_two_opinions():
    lines = [asked(5, 1, 1), asked(5, "1", again=True), asked(5, "1", by="c")]
    assert holds(lines, "majority") == [(5, "1")]
    (own, _) = agreement(Ledger(lines))
    assert own["agreed"] == 0


def test_the_order_of_two_annotators_does_not_matter():
    lines = [
        asked(5, "ham", 1, by="a"),
        asked(5, "ham", again=True, by="b"),
        asked(6, "ham", 2, by="b"),
        asked(6, "spam", again=True, by="a"),
    ]
    (pair,) = agreement(Ledger(lines))
    assert pair["annotators"] == ["a", "b"]
    assert (pair["n_rows"], pair["agreed"]) == (2, 1)


def test_a_label_that_is_withdrawn_leaves_the_row_open():
    lines = [asked(5, "ham", 1), asked(5, None)]
    (label,) = [label for _, label in holds(lines)]
    assert not isinstance(label, str)
    lines.append(asked(5, "spam", 2))
    assert holds(lines)[-1] == (5, "spam")


def test_undo_takes_back_the_last_line_only():
    with pytest.raises(ValueError, match="withdraws line 2, which is not the last"):
        Ledger([asked(5, "ham", 1), asked(6, "ham", 2), {"undo": 2}])
    with pytest.raises(
        ValueError, match="Line 2 of the journal is not valid: row must be"
    ):
        Ledger([{"label": "ham"}])


def test_kappa_is_that_of_scikit_learn():
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(0)
    ours, theirs = rng.integers(0, 3, (2, 40)).tolist()
    lines = [asked(row, label, row + 1, by="a") for row, label in enumerate(ours)]
    lines += [asked(row, label, again=True, by="b") for row, label in enumerate(theirs)]
    (found,) = agreement(Ledger(lines))
    assert found["annotators"] == ["a", "b"]
    assert found["kappa"] == pytest.approx(cohen_kappa_score(ours, theirs))
    (same,) = agreement(Ledger([asked(0, "x", 1, by="a"), asked(0, "x", by="b")]))
    assert same["kappa"] is None
