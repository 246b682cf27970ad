"""`skconftree audit`: verdicts of new rows about the splits of a saved tree."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from skconftree import ConfidenceTreeClassifier, save_model
from skconftree._cli import _common, main
from skconftree.inspection import audit_splits
from skconftree.utils._model_file import load

FAST = ["--folds", "2", "--baselines", "none"]


def made_rows(n, seed):
    """Size decides the kind of 90% of the rows; fur is noise."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n).round(3)
    kind = np.where((size > 0) ^ (rng.random(n) < 0.1), "cat", "dog")
    fur = rng.choice(["rough", "smooth"], n)
    return list(zip(size.tolist(), fur.tolist(), kind.tolist(), strict=True))


def write(path, rows, names=("size", "fur", "kind"), delimiter=","):
    lines = [delimiter.join(map(str, row)) for row in [names, *rows]]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    path = folder / "model"
    table = write(folder / "pets.csv", made_rows(300, 0))
    argv = ["fit", table, "--target", "kind", "--output", path, *FAST]
    assert main([str(one) for one in argv]) == 0
    return path


def run(capsys, *argv):
    capsys.readouterr()
    assert main(["audit", *map(str, argv)]) == 0, capsys.readouterr().err
    return capsys.readouterr()


def error(capsys, *argv):
    assert main(["audit", *map(str, argv)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("skconftree: error: ")
    return err.splitlines()[-1]


def test_verdicts_are_those_of_audit_splits(model, tmp_path, capsys):
    rows = made_rows(200, 1)
    path, report = write(tmp_path / "new.csv", rows), tmp_path / "audit.json"
    out = run(capsys, model, path, "--json", report).out
    tree, _ = load(model)
    X = pd.DataFrame([row[:2] for row in rows], columns=["size", "fur"])
    want = audit_splits(tree, X, [row[2] for row in rows])
    found = json.loads(report.read_text())
    assert [one["verdict"] for one in found["splits"]] == [
        one.verdict for one in want.splits_
    ]
    assert [one["p_value"] for one in found["splits"]] == [
        one.p_value for one in want.splits_
    ]
    assert found["settings"] == {"alpha": 0.05, "correction": "holm"}
    assert found["splits"][0]["verdict"] == "confirmed"
    assert sum(found["verdicts"].values()) == len(want.splits_)
    assert found["data"]["rows"] == 200
    lines = out.splitlines()
    assert lines[0] == f"{path}: 200 labeled rows"
    assert lines[1].endswith("at a family-wise error of 5%")
    n_confirmed = found["verdicts"]["confirmed"]
    assert f": {n_confirmed} confirmed, " in lines[1]
    # the tree with the verdicts as a column
    (head,) = (one for one in lines if "by chance  audit" in one)
    (root,) = (one for one in lines if one.startswith("|--- size <= "))
    assert root[head.index("audit") :].startswith("confirmed (p = ")
    assert max(map(len, lines)) <= 100


def test_verbose_adds_a_line_per_split(model, tmp_path, capsys):
    path = write(tmp_path / "new.csv", made_rows(100, 2))
    assert "\nnode 0, size <= " not in run(capsys, model, path).out
    out = run(capsys, model, path, "--verbose").out
    tree, _ = load(model)
    assert out.count("\nnode ") == tree.tree_.node_count - tree.get_n_leaves()


def test_of_a_large_tree_the_top_is_printed(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(_common, "MAX_LEAVES", 1)
    monkeypatch.setattr(_common, "MAX_PRINTED_LEVELS", 0)
    path = write(tmp_path / "new.csv", made_rows(100, 2))
    out = run(capsys, model, path).out
    assert "these are the upper 0 levels" in out
    assert "--report" not in out  # which audit does not have
    assert "near ties" not in out


def test_a_smaller_alpha_confirms_less(model, tmp_path, capsys):
    path, report = write(tmp_path / "new.csv", made_rows(12, 3)), tmp_path / "a.json"
    verdicts = []
    for alpha in ("0.2", "1e-9"):
        out = run(capsys, model, path, "--alpha", alpha, "--json", report).out
        verdicts.append(json.loads(report.read_text())["splits"][0]["verdict"])
    assert verdicts == ["confirmed", "too few rows"]
    assert "1 undecided (too few rows)" in out
    with pytest.raises(SystemExit):
        main(["audit", str(model), str(path), "--alpha", "2"])
    assert "must be above 0 and below 1" in capsys.readouterr().err


def test_tables_are_read_as_by_predict(model, tmp_path, capsys):
    """Other order, separator and decimal sign, and a column that is not used."""
    rows = made_rows(80, 4)
    want = run(capsys, model, write(tmp_path / "new.csv", rows)).out
    others = [(c, f"{a}".replace(".", ","), b, "x") for a, b, c in rows]
    names = ("kind", "size", "fur", "more")
    path = write(tmp_path / "other.csv", others, names, ";")
    out = run(capsys, model, path, "--decimal", ",").out
    assert out.splitlines()[1:] == want.splitlines()[1:]


def test_json_on_standard_output_is_all_there_is(model, tmp_path, capsys):
    path = write(tmp_path / "new.csv", made_rows(50, 5))
    out = run(capsys, model, path, "--json", "-").out
    assert json.loads(out)["data"]["name"] == str(path)


def test_rows_that_cannot_be_used_are_left_out(model, tmp_path, capsys):
    rows = made_rows(60, 6)
    strange = [(0.5, "curly", "cat"), (0.1, "rough", "")]
    path = write(tmp_path / "new.csv", [*rows, *strange])
    assert "--skip-missing ignores them" in error(capsys, model, path)
    out, err = run(capsys, model, path, "--skip-missing")
    assert ": 60 labeled rows\n" in out
    assert "ignored 1 row with categories that the model has not seen" in err
    assert "ignored 1 row without a value of the target 'kind'" in err


def test_training_rows_are_noted(model, tmp_path, capsys):
    path = write(tmp_path / "old.csv", made_rows(300, 0))
    assert "these seem to be its training rows" in run(capsys, model, path).err


def test_a_tree_without_splits_has_nothing_to_test(tmp_path, capsys):
    rows = made_rows(40, 7)
    table, path = write(tmp_path / "pets.csv", rows), tmp_path / "stump"
    argv = ["fit", table, "--target", "kind", "--output", path, *FAST]
    assert main([*map(str, argv), "--set", "min_samples_leaf=30"]) == 0
    assert "it has no split to test" in run(capsys, path, table).out


@pytest.mark.parametrize(
    ("rows", "names", "words"),
    [
        ([(1.0, "rough")], ("size", "fur"), "no column 'kind'"),
        (
            [(1.0, "cat")],
            ("size", "kind"),
            "has no column 'fur', which the model needs",
        ),
        ([(1.0, "rough", "")] * 3, ("size", "fur", "kind"), "has no value in any row"),
        (
            [(1.0, "rough", "cat")],
            ("size", "fur", "kind"),
            "has 1 labeled row for the 2 classes",
        ),
        (
            [(1.0, "rough", "cat"), (1.0, "rough", "owl")],
            ("size", "fur", "kind"),
            "labels that the model has not seen: 'owl'; its classes are 'cat', 'dog'",
        ),
    ],
)
def test_tables_that_cannot_be_used(model, tmp_path, capsys, rows, names, words):
    assert words in error(capsys, model, write(tmp_path / "new.csv", rows, names))


def test_what_is_no_model(tmp_path, capsys):
    path = write(tmp_path / "new.csv", made_rows(10, 8))
    assert "is not a model that this version" in error(capsys, path, path)
    assert "cannot read" in error(capsys, tmp_path / "none", path)


def test_classes_that_are_numbers(tmp_path, capsys):
    """1, 1.0 and 01 are one label, to `audit` as to `fit`."""
    kinds = {"cat": 1, "dog": 2}
    rows = [(size, fur, kinds[kind]) for size, fur, kind in made_rows(300, 0)]
    table, path = write(tmp_path / "pets.csv", rows), tmp_path / "model"
    argv = ["fit", table, "--target", "kind", "--output", path, *FAST]
    assert main([str(one) for one in argv]) == 0
    new = [(size, fur, f"{kind:02d}") for size, fur, kind in rows[:50]]
    assert "50 labeled rows" in run(capsys, path, write(tmp_path / "new.csv", new)).out
    new[3] = (*new[3][:2], "3")
    assert "the model has not seen" in error(
        capsys, path, write(tmp_path / "new.csv", new)
    )


def test_a_model_without_a_target_is_refused(tmp_path, capsys):
    path, new = tmp_path / "model", write(tmp_path / "new.csv", made_rows(30, 1))
    rows = pd.DataFrame(made_rows(60, 0), columns=["size", "fur", "kind"])
    save_model(
        ConfidenceTreeClassifier().fit(rows[["size", "fur"]], rows["kind"]), path
    )
    message = error(capsys, path, new)
    assert f"{path} does not name the column that it predicts" in message


def test_verbose_shows_splits_that_cannot_be_tested(model, tmp_path, capsys):
    rows = [(1.0, "rough", "cat"), (1.5, "rough", "dog")]  # of one branch
    path = write(tmp_path / "new.csv", rows)
    out = run(capsys, model, path, "--verbose").out
    assert re.search(r"\nnode 0, size <= \S+: too few rows \(2 new rows\)", out)
