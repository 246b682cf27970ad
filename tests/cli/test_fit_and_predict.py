"""A table, a tree, its figures, and the classes of other rows: one command each."""

import bz2
import contextlib
import csv
import io
import json
import lzma
import math
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss, recall_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import _options, _readers, main
from skconftree._cli._common import make_tree
from skconftree._cli._completion import commands
from skconftree._cli._cross_validation import pruned_accuracies, pruned_cart
from skconftree._cli._options import make_parser
from skconftree.bounds._registry import BOUNDS
from skconftree.criteria._criterion import CRITERIA
from skconftree.tree.pruning._registry import PRUNINGS

SCRIPT = Path(sys.executable).with_name("skconftree")
FAST = ["--folds", "2", "--baselines", "none"]


@pytest.fixture
def rows():
    """Size and fur decide the kind; a number of each row, and a constant column."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=300).round(3)
    fur = rng.choice(["smooth", "rough", ""], 300)
    kind = np.where((size > 0.2) ^ (fur == "rough"), "cat", "dog")
    kind = np.where(rng.random(300) < 0.05, "owl", kind)
    return [
        ["number", "size", "fur", "planet", "kind"],
        *(
            [str(place), str(a), b, "earth", c]
            for place, (a, b, c) in enumerate(
                zip(size.tolist(), fur.tolist(), kind.tolist(), strict=True), 1
            )
        ),
    ]


def text_of(rows, delimiter=","):
    return "\n".join(delimiter.join(row) for row in rows) + "\n"


@pytest.fixture
def table(tmp_path, rows):
    path = tmp_path / "pets.csv"
    path.write_text(text_of(rows))
    return path


def told(capsys, *argv):
    assert main([str(one) for one in argv]) == 0, capsys.readouterr().err
    return capsys.readouterr()


def error(capsys, *argv):
    assert main([str(one) for one in argv]) == 1
    err = capsys.readouterr().err.splitlines()[-1]
    assert err.startswith("skconftree: error: ")
    return err


@pytest.mark.parametrize("linear", ["1", "auto"])
def test_linear_score(capsys, table, tmp_path, linear):
    """It is printed, saved, loaded, explained, and in the report and the JSON."""
    model, page, out = (tmp_path / name for name in ("m", "page.html", "out.json"))
    rng = np.random.default_rng(0)
    size, fur = rng.normal(size=150).round(3), rng.choice(["smooth", "rough", ""], 150)
    is_dog = rng.logistic(size=150) < 2 * size + 2 * (fur == "rough")
    kind = np.where(is_dog, "dog", "cat")
    rows = zip(map(str, size), fur, kind, strict=True)
    table.write_text(text_of([["size", "fur", "kind"], *rows]))
    files = ["--output", model, "--report", page, "--json", out]
    options = ["--target", "kind", "--linear", linear]
    printed = told(capsys, "fit", table, *options, *FAST, *files).out
    found = json.loads(out.read_text())
    score = found["linear_score"]
    assert score["classes"] == ["dog"]
    assert "<h1>Partially linear tree of " in page.read_text()
    assert "<p>Intervals and p-values take the tree as fixed.</p>" in page.read_text()
    assert {term["column"] for term in score["terms"]} <= {"size", "fur"}
    for where in (printed, page.read_text(), found["tree"]["text"]):
        assert "log odds of class dog = base" in where
        assert all(f"{term['coef']:+.4g}" in where for term in score["terms"])
    assert found["settings"]["linear"] == (1 if linear == "1" else linear)
    lines = told(capsys, "predict", model, table, "--proba", "--explain").out
    lines = list(csv.DictReader(io.StringIO(lines)))
    log_odds = [math.log(float(x["probability of dog"])) for x in lines]
    log_odds -= np.log([float(x["probability of cat"]) for x in lines])
    told_sums = [float(x["explanation"].split("dog ")[1]) for x in lines]
    np.testing.assert_allclose(told_sums, log_odds, rtol=6e-3)
    assert "splits: " in told(capsys, "audit", model, table).out


def test_linear_score_of_each_class(capsys, table, tmp_path):
    """Its coefficients and standard errors have the order of its classes."""
    x = np.random.default_rng(0).normal(size=200).round(3)
    kind = np.repeat([*"cab"], 67)[: len(x)][np.argsort(np.argsort(x))]
    rows = zip(map(str, x), kind, strict=True)
    table.write_text(text_of([["x", "kind"], *rows]))
    options = ["--target", "kind", "--linear", "all", "--set", "max_depth=1"]
    out = tmp_path / "out.json"
    told(capsys, "fit", table, *options, *FAST, "--json", out)
    score = json.loads(out.read_text())["linear_score"]
    assert score["classes"] == [*"abc"]
    (term,) = score["terms"]
    assert np.argsort(term["coef"]).tolist() == [2, 0, 1]
    assert np.shape(term["standard_error"]) == (3,)


def test_linear_score_that_is_dropped(capsys, table, tmp_path):
    """It is reported, and predictions are explained by the conditions of the leaf."""
    rng = np.random.default_rng(0)
    a, b = rng.choice([-1, 1], 400), rng.choice([-1, 1], 400)
    rows = zip(map(str, a), map(str, b), map(str, a * b), strict=True)
    table.write_text(text_of([["a", "b", "kind"], *rows]))
    options = ["--target", "kind", "--linear", "all", *FAST]
    answer = told(capsys, "fit", table, *options, "--output", tmp_path / "m")
    assert "the linear score was dropped" in answer.err
    assert "base" not in answer.out
    lines = told(capsys, "predict", tmp_path / "m", table, "--explain").out
    assert re.search(r"[ab] (<=|>) 0 and [ab] (<=|>) 0", lines.splitlines()[1])


@pytest.mark.parametrize("linear", ["0", "5", "few"])
def test_wrong_number_of_linear_columns(capsys, table, linear):
    argv = ["fit", str(table), "--target", "kind", "--linear", linear]
    with contextlib.suppress(SystemExit):  # a usage error
        assert main(argv) == 1
    assert "--linear" in capsys.readouterr().err


# --- fit ---------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [4, 6])
def test_pruned_cart_of_a_few_rows(table, capsys, n_rows):
    """It has as many inner folds as the rows allow, or is not pruned."""
    table.write_text(
        text_of([["x", "kind"], *zip("123456"[:n_rows], "ababab", strict=False)])
    )
    options = ["--target", "kind", "--folds", "2", "--baselines", "all"]
    assert "CART pruned" in told(capsys, "fit", table, *options).out


def test_summary_then_tree_then_tables(table, capsys):
    out = told(capsys, "fit", table, "--target", "kind", "--folds", "3").out
    parts = [
        "300 rows, 4 columns, 3 classes",
        "Accuracy: ",
        "Tree: ",
        "Hardest classes: ",
        " points over CART (standard error ",
        " points over CART pruned by 5-fold CV (standard error ",
        "Tree\n----\n",
        "|--- ",
        "Cross-validation\n----------------\n",
        "confidence tree ",
        "majority class ",
        "Confusion matrix\n----------------\n",
        "Feature importance\n------------------\n",
        "Calibration\n-----------\n",
    ]
    places = [out.index(part) for part in parts]
    assert places == sorted(places)
    assert max(map(len, out.splitlines()[1:])) <= 100  # the first has the path
    assert " %" not in out


def test_files_do_not_change_the_print(table, tmp_path, capsys):
    """With files to write, nothing is printed before they are written."""
    argv = ["fit", table, "--target", "kind", "--folds", "2", "--baselines", "cart"]
    bare = told(capsys, *argv).out
    with_file = told(capsys, *argv, "--json", tmp_path / "report.json").out
    time = re.compile(r"[\d.]+ m?s$", re.MULTILINE)
    assert time.sub("", bare) == time.sub("", with_file)


@pytest.mark.slow
def test_pruned_cart_is_the_choice_of_a_grid_search():
    for n_classes, seed in ((2, 0), (3, 1)):
        X, y = make_classification(
            150, 6, n_informative=4, n_classes=n_classes, flip_y=0.2, random_state=seed
        )
        X = X.astype(np.float32)
        cart = DecisionTreeClassifier(random_state=seed)
        alphas = np.unique(cart.cost_complexity_pruning_path(X, y).ccp_alphas.clip(0))
        assert 5 < len(alphas) <= 25
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        # the first of equals wins, so from the smallest tree
        search = GridSearchCV(cart, {"ccp_alpha": alphas[::-1]}, cv=folds).fit(X, y)
        found = pruned_cart(X, y, seed)
        assert found.ccp_alpha == search.best_params_["ccp_alpha"]
        whole = cart.fit(X, y)
        for alpha in alphas:
            pruned = clone(cart).set_params(ccp_alpha=alpha).fit(X, y)
            want = [pruned.score(X, y)]
            assert pruned_accuracies(whole, [alpha], X, y) == want


def test_figures_are_those_of_cross_validation(table, capsys, rows, tmp_path):
    path = tmp_path / "report.json"
    argv = ["--drop", "number,planet,fur", "--json", path, "--folds", "3"]
    out = told(
        capsys, "fit", table, "--target", "kind", "--baselines", "none", *argv
    ).out
    X = np.array([row[1] for row in rows[1:]], dtype=np.float32)[:, None]
    y = np.array([row[-1] for row in rows[1:]])
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    tree = ConfidenceTreeClassifier(random_state=0)
    predicted = cross_val_predict(tree, X, y, cv=folds)
    proba = cross_val_predict(tree, X, y, cv=folds, method="predict_proba")
    found = json.loads(path.read_text())
    own = found["cross_validation"]["confidence tree"]
    assert np.mean(own["accuracy"]) == pytest.approx(np.mean(predicted == y))
    assert np.mean(own["log_loss"]) == pytest.approx(log_loss(y, proba))
    assert f"{log_loss(y, proba):.3f}" in out
    assert found["majority"]["share"] == pytest.approx(
        np.unique(y, return_counts=True)[1].max() / 300
    )
    recall = recall_score(y, predicted, average=None, zero_division=0)
    assert found["classes"]["recall"] == pytest.approx(recall.tolist())
    confusion = np.array(found["classes"]["confusion"])
    assert confusion.sum(axis=1).tolist() == [np.sum(y == c) for c in np.unique(y)]
    assert f"{100 * recall[0]:.1f}%" in out
    assert found["data"]["features"] == ["size"]


def test_baselines_have_a_budget(table, capsys, monkeypatch):
    argv = ["fit", table, "--target", "kind", "--folds", "3", "--baselines", "all"]
    out = told(capsys, *argv).out
    assert "not finished" not in out
    assert "CART gets one column per category (one-hot encoding)." in out
    out = told(capsys, *argv, "--budget", "0").out
    assert (
        "CART and CART pruned by 5-fold CV: not finished within 0 s of CPU time" in out
    )
    assert "\nconfidence tree " in out
    assert "\nCART  " not in out


def test_notes_name_columns(table, capsys):
    err = told(capsys, "fit", table, "--target", "kind", *FAST).err
    assert "column 'number': it looks like row numbers" in err
    assert "column 'planet' has only one value" in err
    dropped = told(
        capsys, "fit", table, "--target", "kind", *FAST, "--drop", "number,planet"
    )
    assert "note" not in dropped.err
    assert "300 rows, 2 columns" in dropped.out


def test_many_categories_are_noted(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = [f"{i % 150},w{i % 150},{'ab'[i % 2]}" for i in range(450)]
    path.write_text("\n".join(["n,word,y", *rows]))
    err = told(capsys, "fit", path, "--target", "y", *FAST).err
    assert "column 'word' has 150 categories" in err


def test_a_table_or_an_option_instead_of_a_command_is_fit(table, capsys):
    want = told(capsys, "fit", table, "--target", "kind", *FAST).out
    assert (
        told(capsys, table, "--target", "kind", *FAST).out.splitlines()[:9]
        == (want.splitlines()[:9])
    )
    assert "569 rows" in told(capsys, *FAST).out


def test_test_table(table, tmp_path, rows, capsys):
    """With columns in another order, and one that the tree does not know."""
    other = tmp_path / "test.csv"
    order = [4, 2, 1, 3, 0]
    half = [[*(row[one] for one in order), "x"] for row in [rows[0], *rows[200:]]]
    other.write_text(text_of(half))
    report = tmp_path / "report.json"
    argv = ["--test", other, "--json", report]
    out = told(capsys, "fit", table, "--target", "kind", *FAST, *argv).out
    found = json.loads(report.read_text())["test"]
    assert found["n_rows"] == 101
    assert f"101 rows: accuracy {100 * found['accuracy']:.1f}%" in out
    assert found["accuracy"] > 0.85
    other.write_text(text_of([row[:3] for row in rows]))
    assert "no column 'kind'" in error(
        capsys, "fit", table, "--target", "kind", *FAST, "--test", other
    )


def test_settings_by_name(table, capsys):
    argv = ["fit", table, "--target", "kind", *FAST]
    out = told(
        capsys, *argv, "--set", "max_depth=1", "--set", "splitter=random", "--verbose"
    ).out
    assert "max_depth=1" in out
    assert "splitter='random'" in out
    assert "Did you mean 'max_depth'?" in error(capsys, *argv, "--set", "max_dept=1")
    theirs = error(capsys, *argv, "--set", "interaction_cst=1")
    assert "--set 'interaction_cst=1'" in theirs
    assert "no constraints on interactions" in theirs
    assert "Did you mean 'credible'?" in error(capsys, *argv, "--bound", "credibel")
    assert "Did you mean 'entropy'?" in error(capsys, *argv, "--criterion", "entropi")


def test_settings_of_the_bound_and_the_pruning(table, capsys):
    argv = ["fit", table, "--target", "kind", *FAST, "--verbose"]
    nested = ["--set", "pruning__confidence=0.01", "--set", "pruning=c45"]
    out = told(capsys, *argv, "--bound", "none", *nested).out
    assert "pruning=C45Pruning(confidence=0.01)" in out
    nested = ["--set", "bound__against=no_split", "--set", "bound__tie_threshold=0.3"]
    out = told(capsys, *argv, "--bound", "hoeffding", *nested).out
    written = "HoeffdingBound(against='no_split', tie_threshold=0.3)"
    assert written in " ".join(out.split())


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["bound__tie=0.3"], "GTestBound has the parameters delta"),
        (
            ["bound=hoeffding", "bound__tie_treshold=0.3"],
            "Did you mean 'tie_threshold'?",
        ),
        (["bound=hoeffding", "bound__tie_threshold=-1"], "'tie_threshold' parameter"),
        (["bound=None", "bound__delta=0.3"], "needs a bound"),
        (["pruning__confidence=0.3"], "needs a pruning"),
        (["pruning=best", "pruning__confidence=0.3"], "of pessimistic, c45"),
        (["drift__delta=0.3"], "only bound and pruning"),
        (["bound__delta"], "NAME=VALUE"),
    ],
)
def test_bad_settings_of_the_bound_and_the_pruning(argv, words, table, capsys):
    given = [part for one in argv for part in ("--set", one)]
    assert words in error(capsys, "fit", table, "--target", "kind", *FAST, *given)


@pytest.mark.parametrize("owner", ["bound", "pruning"])
def test_every_bound_and_pruning_may_have_settings(owner):
    kinds = {"bound": BOUNDS, "pruning": PRUNINGS}[owner]
    for name, kind in kinds.items():
        (parameter, value), *_ = kind().get_params().items()
        tree = make_tree({owner: name, f"{owner}__{parameter}": value})
        assert type(getattr(tree, owner)) is kind


def test_verbose_adds_the_numbers(table, capsys):
    argv = ["fit", table, "--target", "kind", *FAST]
    assert "evidence: score" not in told(capsys, *argv).out
    assert "evidence: score" in told(capsys, *argv, "--verbose").out


# --- files -------------------------------------------------------------------


def test_saved_trees_predict_other_tables(table, tmp_path, rows, capsys):
    model = tmp_path / "pets.skc"
    out = told(capsys, "fit", table, "--target", "kind", *FAST, "--output", model).out
    assert f"Saved in {model}" in out
    other = tmp_path / "new.csv"
    other.write_text(
        text_of([[row[2], "x", *row[:2], "venus"] for row in rows]).replace(
            "number,size,venus", "number,size,planet"
        )
    )
    got = list(csv.reader(io.StringIO(told(capsys, "predict", model, other).out)))
    assert got[0] == ["kind", "probability"]
    y = [row[-1] for row in rows[1:]]
    assert np.mean([a == b for (a, _), b in zip(got[1:], y, strict=True)]) > 0.9
    target = tmp_path / "classes.csv"
    told(capsys, "predict", model, table, "--proba", "--output", target)
    full = list(csv.reader(io.StringIO(target.read_text())))
    assert full[0][1:] == [f"probability of {one}" for one in ("cat", "dog", "owl")]
    assert [row[0] for row in full] == [row[0] for row in got]
    shares = np.array([row[1:] for row in full[1:]], dtype=float)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-5)


def test_models_of_streams_predict_too(table, tmp_path, capsys):
    model = tmp_path / "stream.skc"
    told(capsys, "stream", table, "--target", "kind", "--output", model)
    out = told(capsys, "predict", model, table).out
    assert out.startswith("kind,probability\n")
    assert out.count("\n") == 301


def test_a_model_of_fit_is_not_gone_on_with_as_a_stream(table, tmp_path, capsys):
    model = tmp_path / "m.skc"
    told(capsys, "fit", table, "--target", "kind", *FAST, "--output", model)
    argv = ["stream", table, "--target", "kind", "--output", model, "--resume"]
    assert "was saved by `skconftree fit`" in error(capsys, *argv)


def test_errors_with_models_are_one_line(table, tmp_path, rows, capsys):
    model = tmp_path / "m.skc"
    told(capsys, "fit", table, "--target", "kind", *FAST, "--output", model)
    other = tmp_path / "other.csv"
    other.write_text(text_of(rows).replace("size", "sizes"))
    err = error(capsys, "predict", model, other)
    assert "has no column 'size', which the model needs" in err
    assert "Did you mean 'sizes'?" in err
    assert "is not a model that" in error(capsys, "predict", table, table)
    argv = ["fit", table, "--target", "kind"]
    for option in ("--output", "--report", "--json"):
        assert "there is no folder" in error(capsys, *argv, option, "/no/where/x")
    assert "must end with" in error(capsys, *argv, "--plot", "tree.gif")


def test_picture_and_page(table, tmp_path, capsys):
    picture, page = tmp_path / "tree.svg", tmp_path / "tree.html"
    argv = ["fit", table, "--target", "kind", *FAST]
    told(capsys, *argv, "--plot", picture, "--report", page)
    assert picture.read_text().rstrip().endswith("</svg>")
    text = page.read_text()
    assert text.count("<html") == text.count("</html>") == 1
    for part in ("<details", "classes; nominal", "row numbers", "<h2>Rules</h2>"):
        assert part in text
    assert "<script" not in text


def test_json_on_standard_output_is_all_there_is(table, capsys):
    out = told(capsys, "fit", table, "--target", "kind", *FAST, "--json", "-").out
    found = json.loads(out)
    assert found["tree"]["nodes"][0]["evidence"]["level"] == "strong"
    out = told(capsys, "stream", table, "--target", "kind", "--json", "-").out
    assert json.loads(out)["figures"]["n_rows"] == 300


# --- reading -----------------------------------------------------------------


@pytest.mark.parametrize("ending", ["bz2", "xz"])
def test_packed_tables(table, tmp_path, rows, ending, capsys):
    packed = tmp_path / f"pets.csv.{ending}"
    pack = {"bz2": bz2.compress, "xz": lzma.compress}[ending]
    packed.write_bytes(pack(text_of(rows).encode()))
    assert "300 rows" in told(capsys, packed, "--target", "kind", *FAST).out


def test_other_encodings_and_delimiters(tmp_path, rows, capsys):
    path = tmp_path / "t.csv"
    rows[0][2] = "Fell | gefärbt"
    text = text_of([[f'"{one}"' for one in row] for row in rows], "|")
    path.write_bytes(text.encode("latin-1"))
    argv = ["fit", path, "--target", "kind", *FAST]
    assert "set --encoding, such as" in error(capsys, *argv)
    argv += ["--encoding", "latin-1", "--delimiter", "|"]
    assert "Fell | gefärbt" in told(capsys, *argv).out
    assert "--encoding 'klingon'" in error(capsys, *argv, "--encoding", "klingon")
    assert "--delimiter must be one" in error(capsys, *argv, "--delimiter", "ab")
    path.write_text(text_of(rows, " "))


@pytest.mark.slow  # the next test reads it in this process
@pytest.mark.parametrize("command", ["fit", "stream"])
def test_standard_input(table, command):
    argv = [SCRIPT, command, "-", "--target", "kind"]
    if command == "fit":
        argv += FAST
    with table.open() as file:
        run = subprocess.run(
            argv, stdin=file, capture_output=True, text=True, check=False
        )
    assert run.returncode == 0, run.stderr
    assert "300 rows" in run.stdout


def test_files_of_standard_input_are_removed(monkeypatch, table, capsys):
    monkeypatch.setattr(_readers, "_spooled", [])  # other tests read it too
    with table.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        told(capsys, "fit", "-", "--target", "kind", *FAST)
    (path,) = _readers._spooled
    assert Path(path).exists()
    _readers._forget()
    assert not Path(path).exists()


def test_rows_without_a_label_are_counted_with_a_remedy(table, rows, capsys):
    for place in (3, 8, 9):
        rows[place][-1] = ""
    table.write_text(text_of(rows))
    argv = ["fit", table, "--target", "kind", *FAST]
    err = error(capsys, *argv)
    assert "has no value in row 3 (3 rows of 300 in all); --skip-missing" in err
    found = told(capsys, *argv, "--skip-missing")
    assert "297 rows" in found.out
    assert "ignored 3 rows without a value of the target 'kind'" in found.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty; its first line must contain the column names"),
        ("\n\n", "is empty"),
        ("\na,kind\n1,x\n", "begins with an empty line"),
        ("1.5,2\n2.5,1\n", "whose first line has only numbers"),
        ("1.5,x\n2.5,y\n", "1.5, x. If that is a row of the table, add a line"),
        (
            "a,b,Kind\n1,2,x\n",
            "no column 'kind' in",
        ),
        ("a,b,Kind\n1,2,x\n", "Did you mean 'Kind'?"),
        ("a,kind\n", "has no rows below its header"),
    ],
)
def test_what_is_wrong_with_a_table_and_what_to_do(tmp_path, text, words, capsys):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert words in error(capsys, "fit", path, "--target", "kind")


def test_what_cannot_be_read_says_what_to_do(tmp_path, capsys):
    path = tmp_path / "t.csv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.csv", "a,kind\n1,x\n")
    assert "unpack it first: unzip" in error(capsys, path, "--target", "kind")
    for ending, remedy in (
        (".csv.zst", "zstd -d"),
        (".xlsx", "the sheet as CSV first"),
    ):
        path = tmp_path / f"t{ending}"
        path.write_bytes(b"x")
        said = error(capsys, "fit", path, "--target", "kind")
        assert remedy in said
        assert said.count(path.name) == 1 + (remedy == "zstd -d")


@pytest.mark.parametrize("option", ["--nominal", "--drop"])
def test_unknown_columns_get_a_suggestion(table, option, capsys):
    argv = ["fit", table, "--target", "kind", option, "furr"]
    err = error(capsys, *argv)
    assert f"{option} 'furr' is not one of the columns" in err
    assert "Did you mean 'fur'?" in err


def test_dropping_all_columns_is_an_error(table, capsys):
    argv = ["--drop", "number,size,fur,planet"]
    assert "leaves no features" in error(capsys, table, "--target", "kind", *argv)


# --- streams -----------------------------------------------------------------


def test_accuracy_over_time(table, tmp_path, capsys):
    picture, report = tmp_path / "course.svg", tmp_path / "r.json"
    argv = ["stream", table, "--target", "kind", "--chunk-size", "50"]
    told(capsys, *argv, "--plot", picture, "--json", report)
    assert picture.read_text().rstrip().endswith("</svg>")
    found = json.loads(report.read_text())
    assert [point[0] for point in found["accuracy_curve"]] == [
        50,
        100,
        150,
        200,
        250,
        300,
    ]
    assert found["accuracy_curve"][-1][1] == pytest.approx(found["figures"]["accuracy"])


def test_a_finished_model_says_so(table, tmp_path, capsys):
    argv = ["stream", table, "--target", "kind", "--output", tmp_path / "m", "--resume"]
    assert "is finished" not in told(capsys, *argv).out
    assert "m is finished: it had learned all rows of" in told(capsys, *argv).out


# --- help --------------------------------------------------------------------


def test_help_lists_the_names_of_bounds_and_criteria(capsys):
    assert set(_options.BOUNDS) == set(BOUNDS)
    assert set(_options.CRITERIA) == set(CRITERIA)
    assert set(_options.PRUNINGS) == set(PRUNINGS)
    for argv in (["--help"], ["fit", "--help"], ["stream", "--help"]):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == 0
        out = capsys.readouterr().out
        for name in (*BOUNDS, *CRITERIA):
            assert name in out


@pytest.mark.parametrize("command", _options.COMMANDS)
def test_help_of_each_command_describes_its_options(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    out = " ".join(capsys.readouterr().out.split())
    for option in filter(None, commands()[command]):
        assert option in out
    if command == "label":
        assert "with 95% confidence" in out


def test_help_has_no_slow_imports():
    program = (
        "import sys\n"
        "from skconftree._cli import main\n"
        "try:\n    main(['fit', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "slow = {'numpy', 'scipy', 'sklearn', 'matplotlib', 'joblib'}\n"
        "print(sorted(slow & set(sys.modules)), file=sys.stderr)\n"
    )
    run = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == "[]\n"


@pytest.mark.slow
def test_a_package_that_loads_late_has_all_its_names():
    program = (
        "import skconftree\n"
        "assert set(skconftree.__all__) <= set(dir(skconftree))\n"
        "for name in dir(skconftree):\n    getattr(skconftree, name)\n"
        "from skconftree import *\n"
        "assert ConfidenceTreeClassifier is skconftree.tree.ConfidenceTreeClassifier\n"
        "assert not hasattr(skconftree, 'nonsense')\n"
    )
    subprocess.run([sys.executable, "-P", "-c", program], check=True)


def test_completion_knows_all_commands_and_options(capsys):
    known = commands()
    assert set(known) == {
        *("fit", "predict", "show", "check", "audit", "stream", "label", "evaluate"),
        "completion",
    }
    for shell in _options.SHELLS:
        out = told(capsys, "completion", shell).out
        for name, options in known.items():
            assert name in out
            for option in options:
                assert option.removeprefix("--") in out


def test_bash_completes():
    script = subprocess.run(
        [SCRIPT, "completion", "bash"], capture_output=True, text=True, check=True
    ).stdout

    def completed(*words):
        asked = " ".join(f"'{word}'" for word in words)
        program = (
            f"{script}\nCOMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}\n"
            '_skconftree; echo "${COMPREPLY[@]}"'
        )
        run = subprocess.run(
            ["bash", "-c", program], capture_output=True, text=True, check=True
        )
        return run.stdout.split()

    try:
        assert completed("skconftree", "fi") == ["fit"]
    except FileNotFoundError:
        pytest.skip("no bash")
    assert completed("skconftree", "fit", "--bud") == ["--budget"]
    assert completed("skconftree", "fit", "--bound", "cred") == ["credible"]
    assert completed("skconftree", "label", "--ans") == ["--answers"]
    assert completed("skconftree", "label", "--strategy", "leaf_r") == ["leaf_risk"]
    assert completed("skconftree", "label", "--w") == ["--web"]
    assert "zsh" in completed("skconftree", "completion", "")


def test_the_parser_names_every_option_in_its_help():
    parser = make_parser("0")
    assert "skconftree DATA.csv" in " ".join(parser.format_help().split())


def test_unparseable_values_in_a_table_to_predict_are_not_categories(
    table, tmp_path, rows, capsys
):
    model, other = tmp_path / "m.pkl", tmp_path / "other.csv"
    told(capsys, table, "--target", "kind", *FAST, "--output", model)
    rows[1][1] = "many"
    other.write_text(text_of(rows))
    err = told(capsys, "predict", model, other).err
    assert "1 value is not a number ('many'), taken as missing\n" in err
    assert "1 value is not a number ('many'), taken as missing; --nominal" in (
        told(capsys, other, "--target", "kind", *FAST).err
    )
