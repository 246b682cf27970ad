"""``skconftree check``: what a file contains, and an exit code for scripts.

Whoever gets a file asks what it is before anything else reads it.
"""

import hashlib
import json
import os
import pickle

import joblib
import numpy as np
import pytest
from reference.stored_models import FOLDER, MODELS
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

import skconftree
from skconftree import (
    BinaryTests,
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    OASISClassifier,
    save_model,
)
from skconftree._cli import main
from skconftree.active import ActiveLearner, LabelingSession
from skconftree.active.session import JournalError

X, Y = load_iris(return_X_y=True, as_frame=True)
VERSION = skconftree.__version__


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


def checked(capsys, path):
    """Exit code, facts by their names, and the error."""
    capsys.readouterr()
    code = main(["check", str(path)])
    out, err = capsys.readouterr()
    facts = [line.split("  ", 1) for line in out.splitlines()]
    return code, {name: fact.strip() for name, fact in facts}, err


def test_a_model(path, capsys):
    save_model(ConfidenceTreeClassifier().fit(X, Y), path)
    code, facts, err = checked(capsys, path)
    assert (code, err) == (0, "")
    data = path.read_bytes()
    assert facts == {
        "file": f"{path}, {len(data):,} bytes",
        "contains": "ConfidenceTreeClassifier",
        "written by": f"skconftree {VERSION}, which this version, {VERSION}, can read",
        "rows": "150",
        "columns": f"4: {', '.join(X.columns[:3])}, petal width...",
        "classes": "3: 0, 1, 2",
        "sha256": hashlib.sha256(data).hexdigest(),
    }


@pytest.mark.parametrize(
    "model",
    [ConfidenceTreeClassifier(), ConfidenceForestClassifier(2, random_state=0)],
    ids=["tree", "forest"],
)
def test_a_compact_model(model, path, capsys):
    save_model(model.fit(X.to_numpy(), Y), path, compact=True)
    _, facts, _ = checked(capsys, path)
    kind = type(model).__name__
    assert facts["contains"] == f"{kind}, for predictions alone (compact=True)"
    assert facts["columns"] == "4"


def test_names_of_a_file_are_one_line(path, capsys):
    """A label must not look like another fact."""
    y = np.where(Y == 0, "a\nsha256  0\x1b[2J", "b")
    save_model(ConfidenceTreeClassifier().fit(X, y), path)
    _, facts, _ = checked(capsys, path)
    assert facts["classes"] == r"2: a\nsha256  0\x1b[2J, b"
    assert facts["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_model_that_is_no_tree(path, capsys):
    model = OASISClassifier(random_state=0).fit(X.to_numpy()[:, :2], Y == 0)
    save_model(model, path)
    code, facts, _ = checked(capsys, path)
    assert (code, facts["contains"]) == (0, "OASISClassifier")
    assert facts["classes"] == "2: False, True"


def test_what_is_no_classifier(path, capsys):
    save_model(BinaryTests().fit(X), path)
    code, facts, _ = checked(capsys, path)
    assert (code, facts["contains"]) == (0, "BinaryTests")
    assert "classes" not in facts


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/*.model")), ids=lambda p: p.stem)
def test_stored_models_of_each_version(path, capsys):
    code, facts, _ = checked(capsys, path)
    assert code == 0
    assert facts["written by"].startswith(f"skconftree {path.parent.name}, ")
    assert facts["rows"] == "40" or path.stem not in MODELS


def journal(path, n_answers=5, **settings):
    learner = ActiveLearner(GaussianNB(), random_state=0)
    known = [0, 1, *[None] * 148]
    with LabelingSession(learner, path, X.to_numpy(), known, **settings) as session:
        for _ in range(n_answers):
            session.answer(int(Y[session.question().row]))


def test_a_journal(path, capsys):
    journal(path, annotator="Ann")
    before = path.read_bytes()
    code, facts, err = checked(capsys, path)
    assert (code, err) == (0, "")
    assert facts["contains"] == "journal of labels"
    assert facts["rows"] == "150, 7 with a label"
    assert facts["columns"] == "4"
    assert facts["classes"].startswith(("2: 0, 1", "3: 0, 1, 2"))
    assert facts["written by"].startswith(f"skconftree {VERSION}, ")
    assert path.read_bytes() == before


def test_a_journal_in_use_and_an_incomplete_line(path, capsys):
    journal(path)
    with path.open("a") as file:
        file.write('{"row": 3, "la')
    before = path.read_bytes()
    assert checked(capsys, path)[1]["rows"] == "150, 7 with a label"
    assert path.read_bytes() == before
    learner = ActiveLearner(GaussianNB(), random_state=0)
    with LabelingSession(learner, path, X.to_numpy()):
        assert checked(capsys, path)[1]["rows"] == "150, 7 with a label"


def test_withdrawn_labels_and_texts(path, capsys):
    learner = ActiveLearner(GaussianNB(), random_state=0)
    with LabelingSession(learner, path, X.to_numpy()) as session:
        for _ in range(4):
            session.answer(int(Y[session.question().row]))
        session.undo()
        session.skip()
    found = LabelingSession.describe(path)
    assert (found["n_rows"], found["n_columns"], found["n_labeled"]) == (150, 4, 3)
    head, *lines = path.read_text().splitlines()
    head = json.loads(head)
    head["X"]["n_columns"] = None
    path.write_text("\n".join([json.dumps(head), *lines]) + "\n")
    assert checked(capsys, path)[1]["columns"] == "texts"


def test_a_journal_of_the_first_format(capsys):
    path = os.path.join(
        os.path.dirname(__file__), "../active/session/journal_format_1.jsonl"
    )
    assert checked(capsys, path)[0] == 0


def damaged_journals(text):
    head, *lines = text.splitlines(keepends=True)
    yield head.replace("}\n", "\n") + "".join(lines), "corrupt in line 1"
    yield head + "{}\n" + "".join(lines), "row must be a row of the pool"
    yield head + "no JSON\n" + "".join(lines), "corrupt in line 2"
    yield '{"journal": "skconftree labels", "format": 1}\n', "no complete line"
    yield '{"journal": "skconftree labels", "format": 1, "x": 1}\n', "is corrupt"
    yield head.replace('"format": 1', '"format": 9'), "has format 9"
    yield (
        head.replace(f'"version": "{VERSION}"', '"version": "99.1"'),
        f"written by skconftree 99.1; this is skconftree {VERSION}; pip install "
        "skconftree==99.1",
    )


def test_damaged_journals(path, capsys):
    journal(path)
    text = path.read_text()
    for other, words in damaged_journals(text):
        assert other != text
        path.write_text(other)
        code, facts, err = checked(capsys, path)
        assert (code, facts) == (1, {})
        assert words in err
        assert err.startswith("skconftree: error: ")
        assert err.count("\n") == 1
        with pytest.raises(JournalError):
            LabelingSession.describe(path)


def test_files_that_cannot_be_read(path, capsys, tmp_path):
    tree = ConfidenceTreeClassifier().fit(X, Y)
    save_model(tree, path)
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    for data, words in [
        (b"", "is not a model that"),
        (b"a,b\n1,2\n", "is not a model that"),
        (whole[:-50], "is not a model that"),
        (bytes(changed), "corrupt"),
        (pickle.dumps(tree), "seems to be a pickle, which can contain any program"),
        (b'{"journal": "of a ship"}\n', "is not a journal of labels"),
        (whole.replace(b"PK\1\2", b"PK\0\0"), "or it is corrupt"),
    ]:
        path.write_bytes(data)
        code, facts, err = checked(capsys, path)
        assert (code, facts) == (1, {})
        assert words in err
        assert err.count("\n") == 1
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    joblib.dump(tree, tmp_path / "tree.joblib")
    os.mkfifo(tmp_path / "fifo")
    for name, words in [
        ("arrays.npz", "is not a model that"),
        ("tree.joblib", "seems to be a pickle"),
        ("fifo", "it is not a file"),
        ("", "it is not a file"),
        ("nowhere", "cannot read"),
    ]:
        code, _, err = checked(capsys, tmp_path / name)
        assert code == 1
        assert words in err


def test_a_file_of_skops(path, capsys):
    io = pytest.importorskip("skops.io")
    io.dump(ConfidenceTreeClassifier().fit(X, Y), path)
    code, _, err = checked(capsys, path)
    assert code == 1
    assert "seems to be a file of skops" in err
