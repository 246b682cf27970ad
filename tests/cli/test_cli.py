"""The console script is what a new user runs first: it must work as installed.

What it prints goes to standard output, what it is doing and what went wrong to
standard error, a user's mistake in one line without a traceback.
"""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skconftree
from skconftree import ConfidenceTreeClassifier
from skconftree._cli import _common, _fit, main
from skconftree.tree import export_text, node_table

TOO_LARGE = ["--bound", "credible", "--delta", "7"]
SCRIPT = Path(sys.executable).with_name("skconftree")


@pytest.fixture
def table(tmp_path):
    """200 rows: the class is the side of 5 that `weight` is on, but for 5 %."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(200, 2)).round(3)
    heavy = (X[:, 0] > 5) ^ (rng.random(200) < 0.05)
    path = tmp_path / "table.csv"
    lines = [
        f"{weight},{kind},{height}"
        for (weight, height), kind in zip(
            X.tolist(), np.where(heavy, "heavy", "light"), strict=True
        )
    ]
    path.write_text("weight,kind,height\n" + "\n".join(lines) + "\n")
    return path


def edited(path, line, text):
    lines = path.read_text().splitlines()
    lines[line] = text
    path.write_text("\n".join(lines))
    return path


@pytest.mark.slow  # it is the first command of the README
def test_console_script_without_a_table_runs_on_a_real_set():
    run = subprocess.run([SCRIPT, "fit"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "569 rows, 30 columns, 2 classes" in run.stdout
    for name in ("confidence tree", "CART", "CART pruned by 5-fold CV"):
        assert any(line.startswith(f"{name} ") for line in run.stdout.splitlines())
    assert "Traceback" not in run.stderr
    assert run.stderr == ""  # nobody reads along in a pipe


def test_the_package_runs_as_the_console_script_does():
    run = subprocess.run(
        [sys.executable, "-P", "-m", "skconftree", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == skconftree.__version__


def test_baselines_are_left_out_on_request(table, capsys):
    argv = ["fit", str(table), "--target", "kind", "--folds", "2"]
    assert main([*argv, "--baselines", "none"]) == 0
    alone = capsys.readouterr().out
    assert "CART" not in alone
    assert "\nconfidence tree " in alone
    assert main([*argv, "--baselines", "cart"]) == 0
    beside = capsys.readouterr().out
    assert "\nCART " in beside
    assert "pruned" not in beside


def test_large_tables_start_without_delay(tmp_path, capsys, monkeypatch):
    # the limits made small, so that this table is a large one
    monkeypatch.setattr(_fit, "BASELINES", {"all": 100, "cart": 1000, "none": np.inf})
    monkeypatch.setattr(_common, "MAX_LEAVES", 2)
    monkeypatch.setattr(_common, "MAX_PRINTED_LEVELS", 1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    rows = [f"{a},{b},{(a > 0) + 2 * (b > 0)}" for a, b in X.tolist()]
    path = tmp_path / "large.csv"
    path.write_text("\n".join(["a,b,kind", *rows]))
    assert main(["fit", str(path), "--target", "kind", "--folds", "2"]) == 0
    printed = capsys.readouterr().out
    assert "compared with CART but not with pruned CART" in printed
    assert "4 leaves; these are the upper 1 levels; --json and --report" in printed
    assert "truncated branch" in printed


def test_fit_reports_the_tree_that_the_estimator_grows(table, tmp_path, capsys):
    report = tmp_path / "report.json"
    argv = ["fit", str(table), "--target", "kind", "--folds", "3"]
    assert main([*argv, "--json", str(report)]) == 0
    out = capsys.readouterr().out

    columns = np.genfromtxt(table, delimiter=",", names=True, dtype=None)
    X = np.column_stack([columns["weight"], columns["height"]])
    tree = ConfidenceTreeClassifier(random_state=0).fit(X, columns["kind"])
    text = export_text(
        tree, feature_names=["weight", "height"], class_names=["heavy", "light"]
    )
    assert text.strip() in out
    assert "200 rows, 2 columns, 2 classes" in out

    found = json.loads(report.read_text())
    assert found["data"]["classes"] == ["heavy", "light"]
    assert found["tree"]["leaves"] == tree.get_n_leaves()
    assert found["tree"]["text"] in out
    root = found["tree"]["nodes"][0]
    assert root["feature"] == "weight"
    assert root["threshold"] == pytest.approx(5, abs=0.2)
    assert root["test"] == f"weight <= {root['threshold']:.4g}"
    assert [node["class"] for node in found["tree"]["nodes"]] == [
        row.label for row in node_table(tree, class_names=["heavy", "light"])
    ]
    assert sum(root["counts"].values()) == 200
    assert root["evidence"]["n_candidates"] > 0
    accuracy = found["cross_validation"]["confidence tree"]["accuracy"]
    assert len(accuracy) == 3
    assert f"{100 * np.mean(accuracy):.1f}%" in out


def test_settings_reach_the_tree(table, capsys):
    argv = ["fit", str(table), "--target", "kind", "--folds", "2"]
    settings = ["--bound", "credible", "--delta", "0.01", "--criterion", "gini"]
    assert main([*argv, *settings, "--verbose"]) == 0
    out = capsys.readouterr().out
    assert "delta=0.01" in out
    assert "criterion='gini'" in out
    assert main([*argv, "--bound", "none", "--verbose"]) == 0
    assert "bound=None" in capsys.readouterr().out


def test_reads_compressed_tables_and_other_delimiters(table, tmp_path, capsys):
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(table.read_text().replace(",", ";").encode()))
    assert main(["fit", str(packed), "--target", "kind", "--folds", "2"]) == 0
    assert "200 rows, 2 columns, 2 classes" in capsys.readouterr().out


def test_texts_and_missing_values(table, tmp_path, capsys):
    """The kind of fur and a mark that may be missing decide the class."""
    rng = np.random.default_rng(0)
    fur = rng.choice(["smooth", "rough", "none", "?"], 300)
    mark = rng.choice(["", "NA", "1.5", "3"], 300)
    cat = (np.isin(fur, ["rough", "?"]) ^ (mark == "3")) ^ (rng.random(300) < 0.03)
    path = tmp_path / "furs.csv"
    rows = zip(fur, mark, np.where(cat, "cat", "dog"), strict=True)
    path.write_text("\n".join(["fur,mark,kind", *map(",".join, rows)]))
    report = tmp_path / "report.json"
    argv = ["fit", str(path), "--target", "kind", "--folds", "3", "--json", str(report)]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "nominal columns: 1" in out
    assert "fur in {none, smooth}" in out
    assert "fur in {rough, missing}" in out
    found = json.loads(report.read_text())
    for figures in found["cross_validation"].values():
        assert np.mean(figures["accuracy"]) > 0.9
    tests = [node for node in found["tree"]["nodes"] if "feature" in node]
    (first, *_) = [node for node in tests if node["feature"] == "fur"]
    assert sorted(map(sorted, (map(str, one) for one in first["categories"]))) == [
        ["None", "rough"],
        ["none", "smooth"],
    ]
    numeric = [node for node in tests if node["feature"] == "mark"]
    assert all(node["threshold"] is None or node["threshold"] < 3 for node in numeric)
    assert any("missing" in node for node in numeric)


def fitted(capsys, path, *more):
    argv = ["fit", str(path), "--target", "kind", "--folds", "2", "--verbose", *more]
    assert main(argv) == 0
    out = capsys.readouterr().out
    return out[out.index("ConfidenceTreeClassifier") : out.index("Cross-validation")]


def test_texts_below_many_numbers_make_a_column_nominal(tmp_path, capsys):
    """If they are more than a few, however late; a named one is no less."""
    path = tmp_path / "table.csv"
    rows = [f"{i % 3},{'yes' if i % 3 == 1 else 'no'},{i % 7}" for i in range(1500)]
    texts = [*["big,no,3"] * 200, *["2,no,many"] * 200]
    path.write_text("\n".join(["size,kind,other", *rows, *texts]))
    late = fitted(capsys, path)
    assert "categorical_features=['size', 'other']" in late
    assert 'size = "1"\n' in late
    path.write_text("\n".join(["size,kind,other", *rows]))
    named = fitted(capsys, path, "--nominal", "size")
    assert "categorical_features=['size']" in named
    assert 'size = "1"\n' in named
    assert "size <= " in fitted(capsys, path)


def test_parquet_gives_the_same_tree(table, tmp_path, monkeypatch, capsys):
    columns = np.genfromtxt(table, delimiter=",", names=True, dtype=None)
    side = np.where(columns["weight"] > 5, "right", "left").astype(object)
    side[::9] = None
    height = columns["height"].tolist()
    height[7] = None
    columns = {
        "weight": columns["weight"],
        "kind": columns["kind"].astype(str),
        "height": height,
        "side": side.tolist(),
    }
    rows = zip(*columns.values(), strict=True)
    texts = [["" if one is None else str(one) for one in row] for row in rows]
    table.write_text("\n".join([",".join(columns), *map(",".join, texts)]))
    packed = tmp_path / "table.parquet"
    pq.write_table(pa.table(columns), packed)
    want = fitted(capsys, table)
    assert "side in {" in want or "weight <= " in want
    assert "categorical_features=['side']" in want
    assert fitted(capsys, packed) == want
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["fit", str(packed), "--target", "kind"]) == 1
    assert "needs pyarrow: pip install pyarrow" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        (2, "inf,heavy,1", "row 2, column 'weight': 'inf' is infinite"),
        (2, "1,,1", "target column 'kind' has no value in row 2"),
        (2, "1,heavy", "line 3: 2 fields where the header has 3"),
        (0, "weight,kind,weight", "more than one column named 'weight'"),
        (0, "weight,class,height", "no column 'kind'"),
    ],
)
def test_an_error_in_the_table_is_one_line(table, capsys, line, text, words):
    edited(table, line, text)
    assert main(["fit", str(table), "--target", "kind"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("skconftree: error: ")
    assert err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["fit", "nowhere.csv", "--target", "kind"], "cannot read nowhere.csv"),
        (["fit", "{table}"], "--target COLUMN is missing; choose the column of"),
        (["fit", "--target", "kind"], "--target needs a table; - reads one"),
        (["fit", "--nominal", "kind"], "--nominal needs a table"),
        (["fit", "{table}", "--target", "kind", "--nominal", "fur"], "--nominal 'fur'"),
        (
            ["fit", "{table}", "--target", "weight"],
            "classes; use a column of a few ranges",
        ),
        (["fit", "{table}", "--target", "kind", "--folds", "150"], "--folds 150"),
        (["fit", "{table}", "--target", "kind", "--bound", "magic"], "'magic'"),
        (["fit", "{table}", "--target", "kind", *TOO_LARGE], "delta"),
    ],
)
def test_an_error_in_the_command_is_one_line(table, capsys, argv, words):
    assert main([part.format(table=table) for part in argv]) == 1
    err = capsys.readouterr().err
    (line,) = [one for one in err.splitlines() if not one.startswith("growing ")]
    assert line.startswith("skconftree: error: ")
    assert words in line


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (
            ["fti", "t.csv"],
            "'fti' is neither a command (fit, predict, show, check, audit, stream, ",
        ),
        (["fti", "t.csv"], "Did you mean 'fit'?"),
        (["t.csv", "kind"], "the column to predict is given by --target kind"),
        (["stream", "t.csv", "--target", "kind", "--drift", "ddm"], "--set NAME=VALUE"),
        (
            ["fit", "t.csv", "--target", "kind", "more"],
            "unrecognized arguments: more\n",
        ),
    ],
)
def test_wrong_usage_says_what_was_probably_meant(capsys, argv, hint):
    with pytest.raises(SystemExit):
        main(argv)
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["grow"], ["fit", "--folds", "1"], ["--fast"]])
def test_wrong_usage_exits_with_2(capsys, argv):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("skconftree: error: ")
    assert err.count("\n") == 1
