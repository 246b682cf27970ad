"""Examples and figures of the documentation are correct."""

import contextlib
import csv
import doctest
import importlib
import importlib.metadata
import io
import re
import sys
import textwrap
from pathlib import Path

import pytest
from reference.effort import cases
from sklearn.datasets import load_breast_cancer, load_iris

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import node_table

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = sorted((ROOT / "doc/guide").glob("*.rst"))
PAGES = [*sorted((ROOT / "doc").glob("*.rst")), *GUIDE]
PAGES += sorted((ROOT / "doc/results").glob("*.rst"))
PAGES += sorted((ROOT / "doc/development").glob("*.rst"))
SLOW = {
    "active",
    "case_study",
    "default",
    "distill",
}  # with those below most of the time of all
SLOW |= {"decisions", "evaluation", "forests", "lts", "oasis"}
PAGES_WITH_EXAMPLES = [page for page in PAGES if "\n>>> " in page.read_text("utf-8")]


@pytest.fixture
def pictures(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "doc"))
    yield importlib.import_module("pictures")
    for name in ("pictures", "concepts", "curves", "drawing", "findings", "maps"):
        del sys.modules[name]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_readme_opens_with_six_lines_that_print_a_tree():
    """After one sentence that says what the package is good for."""
    example = blocks("python")[0]
    assert README.index(example) < 150
    assert len(re.findall(r"^.", example, re.MULTILINE)) == 6
    assert README.count("\n") <= 150
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), {})
    assert "<=" in printed.getvalue()


def test_readme_shows_what_is_true_now(pictures):
    """Its output, its tables and all pictures: `python doc/pictures.py` renews them."""
    assert pictures.readme(README) == README
    assert len(blocks("text")[0].splitlines()) > 10
    assert README.count("\n| `ConfidenceTreeClassifier()` |") == 1


def test_figures_in_sentences_of_the_readme_are_stored(pictures):
    table, number = pictures.table, pictures.number
    text = " ".join(README.split())
    (ours, *_) = table("three-trees")
    gain, error = re.search(r"([+-]\S+) \((\S+)\)", ours["accuracy, others"]).groups()
    assert f"is {gain} points (standard error {error})" in text
    noise = [
        row
        for row in table("noise-trees")
        if row["classes"] in ("2", "10") and not row["rows"].startswith("50 ")
    ]
    shares = {}
    for name in ("default", "CART, tuned"):
        cells = [row[f"{name}: split, leaves"].partition(", ") for row in noise]
        shares[name] = sorted(round(100 * number(share)) for share, _, _ in cells)
        leaves = sorted(round(number(size)) for _, _, size in cells)
    low, *_, high = shares["CART, tuned"]
    assert f"{low}% to {high}% of the tables, with {leaves[0]} to {leaves[-1]}" in text
    low, *_, high = shares["default"]
    assert f"This tree does so on {low}% to {high}%" in text
    (fit,) = (row for row in table("fit-default") if row["data"] == "100,000 x 20")
    assert f"fits in {fit['seconds']} s" in text
    assert f"unpruned tree in {fit['scikit-learn']} s" in text
    times = sorted(
        round(number(row["times faster than scikit-learn"]))
        for row in table("forest-speed")
        if row["forest"] == "skconftree"
    )
    assert f"Forests fit {times[0]} to {times[-1]} times faster" in text
    labels = table("read-forest")[-1]["share of random's labels"]
    median, worst = re.findall(r"0\.(\d+)", labels)
    assert f"needs {median}% of the labels" in text
    assert f"(worst case {worst}%;" in text
    for line in ("worst radius <= 16.8", "worst concave points <= 0.1454"):
        name, _, _ = line.partition(" <=")
        (told,) = re.findall(rf"{line} +\w+ +(\S+)$", README, re.MULTILINE)
        assert re.search(rf"(root|`{name}`) it is {told}", text)
    data = load_breast_cancer()
    tree = ConfidenceTreeClassifier().fit(data.data, data.target)
    evidence = [row.evidence for row in node_table(tree) if row.test]
    (weak,) = (one for one in evidence if one.level == "weak")
    assert f"is a guess ({weak.expected_by_chance:.1g} by chance)" in text


def test_pictures_are_those_of_the_figures_behind_them(pictures):
    files = {path.stem for path in (ROOT / "doc/images").glob("*.svg")}
    assert files == set(pictures.PICTURES)
    for name, draw in pictures.PICTURES.items():
        picture = (ROOT / "doc/images" / f"{name}.svg").read_text("utf-8")
        assert draw().text == picture, name
        assert len(picture) < 30_000


def test_pictures_are_on_pages():
    """Each is shown, and the guide and the first page show at least a dozen."""
    shown = {
        page: set(re.findall(r"images/(\S+)\.svg", page.read_text("utf-8")))
        for page in (ROOT / "doc").rglob("*.rst")
        if not {"generated", "auto_examples"} & set(page.parts)
    }
    files = {path.stem for path in (ROOT / "doc/images").glob("*.svg")}
    assert set().union(*shown.values()) == files
    front = [shown[page] for page in (*GUIDE, ROOT / "doc/index.rst")]
    assert len(set().union(*front)) >= 12


def test_every_table_of_results_is_shown(pictures, monkeypatch):
    """On a page or in a picture: figures that nobody sees, nobody checks."""
    files = {path.stem for path in (ROOT / "benchmarks/results").glob("*.csv")}
    text = "".join(page.read_text("utf-8") for page in PAGES)
    shown = set(re.findall(r":file: \S*/results/(\S+)\.csv", text))
    table = pictures.table

    def drawn(name):
        shown.add(name)
        return table(name)

    for module in ("pictures", "curves", "findings"):
        monkeypatch.setattr(sys.modules[module], "table", drawn)
    for draw in pictures.PICTURES.values():
        draw()
    assert files == shown


def test_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert len(links) > 8
    for link in links:
        assert (ROOT / link).exists(), link


def test_links_of_the_readme_read_well_where_nothing_is_built():
    """On a forge, or in an editor: roles of Sphinx and included tables do not."""
    for link in re.findall(r"\]\(([^)]+)\)", README):
        page = ROOT / link
        assert page.suffix != ".rst", link
        if page.suffix in (".md", ".py"):
            roles = re.findall(r":\w+:`.*?`", page.read_text("utf-8"))
            assert not roles, link


def test_old_addresses_lead_to_pages():
    lines = (ROOT / "doc/redirects.txt").read_text("utf-8").splitlines()
    assert len(lines) > 10
    for line in lines:
        old, new = line.split()
        page, _, anchor = new.partition("#")
        assert not (ROOT / f"doc/{old}.rst").exists(), line
        if "skconftree." in page:
            importlib.import_module(page.partition("api/")[2])
            continue
        text = (ROOT / f"doc/{page}.rst").read_text("utf-8")
        titles = re.findall(r"^(.+)\n(?:-{3,}|~{3,})$", text, re.MULTILINE)
        ids = {re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title in titles}
        ids |= set(re.findall(r"^\.\. _([\w-]+):$", text, re.MULTILINE))
        assert not anchor or anchor in {one.replace("_", "-") for one in ids}, line


# Standard term -> the page of the guide that defines it. A search of the site finds a
# page first by the main entries of its index directive.
TERMS = {
    "overfitting": "quickstart",
    "hyperparameter": "model_selection",
    "candidate split": "by_chance",
    "multiple comparisons": "reading",
    "adjusted p-value": "by_chance",
    "feature importance": "reading",
    "confusion matrix": "decisions",
    "calibration": "probabilities",
    "concept drift": "drift",
    "query strategy": "active",
    "distillation": "distill",
    "surrogate tree": "distill",
    "family-wise error rate": "audit",
    "imbalanced classes": "decisions",
    "missing values": "tables",
    "null hypothesis": "by_chance",
    "out-of-core learning": "large",
    "prequential evaluation": "evaluation",
    "pre-pruning": "pruning",
    "split rule": "choosing",
}


def test_a_search_for_a_standard_term_finds_its_page_first():
    pages = {page.stem: page.read_text("utf-8") for page in GUIDE}
    entries = [
        (entry.strip(" !"), page)
        for page, text in pages.items()
        for block in re.findall(r"^\.\. index::\n((?: {3}.*\n)+)", text, re.MULTILINE)
        for entry in re.split(r"[,\n]", block)
        if entry.strip()
    ]
    assert len(dict(entries)) == len(entries)
    assert {page for _, page in entries} == set(pages) - {"index"}
    for term, page in TERMS.items():
        assert dict(entries)[term] == page
        text, _, rest = pages[page].partition(".. index::")
        text += rest.partition("\n\n")[2]
        assert re.search(term.replace(" ", "[\\s-]+"), text, re.IGNORECASE), term


def test_the_guide_has_few_pages():
    """With the installation at most 29, and eight of published methods."""
    index = (ROOT / "doc/guide/index.rst").read_text("utf-8")
    guide, _, published = index.partition(":caption: Published methods")
    entries = r"^ {3}(?:\.\./)?[a-z]\w+$"
    assert len(re.findall(entries, guide, re.MULTILINE)) <= 29
    assert len(re.findall(entries, published, re.MULTILINE)) == 8


def test_the_comparison_quotes_the_tables():
    text = " ".join((ROOT / "doc/guide/comparison.rst").read_text("utf-8").split())

    def rows(name):
        path = ROOT / f"benchmarks/results/{name}.csv"
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    trees = {
        row["tree"]: row for row in rows("r-packages") if row["tables"] == "held out"
    }
    ours, cart, rpart, ctree = (
        trees[name]
        for name in (
            "default",
            "CART of scikit-learn, pruned by CV",
            "rpart, pruned by CV",
            "partykit::ctree",
        )
    )
    sentences = (
        f"an accuracy of {ours['accuracy']}, CART pruned by cross-validation "
        f"{cart['accuracy']}, pruned rpart {rpart['accuracy']} and ctree "
        f"{ctree['accuracy']}. Its log loss is {ours['log loss']}, compared with "
        f"{cart['log loss']}, {rpart['log loss']} and {ctree['log loss']}. Pruned CART "
        f"takes {cart['fit']} per fit, the default {ours['fit']}."
    )
    assert sentences.replace(" %", "%") in text
    peers = {row["per cent right"]: row for row in rows("stream-growing-peers")}
    assert (
        f"the tree {peers['ours, tree']['mean']}, MOA's Hoeffding tree "
        f"{peers['MOA, tree']['mean']}, river's {peers['river, tree']['mean']}; the "
        f"forest of ten trees {peers['ours, forest']['mean']}, MOA's adaptive random "
        f"forest {peers['MOA, adaptive forest']['mean']}."
    ) in text
    for name in ("ours, tree", "MOA, tree", "river, tree"):
        assert peers[name]["us a row (geometric mean)"] in text


@pytest.mark.parametrize("part", ["guide", "results", "development"])
def test_pages_are_short_and_all_are_listed(part):
    index = (ROOT / f"doc/{part}/index.rst").read_text("utf-8")
    limit = 240 if part == "guide" else 160
    for page in sorted((ROOT / "doc" / part).glob("*.rst")):
        text = page.read_text("utf-8")
        if part == "development":  # tables with all fields are for looking things up
            text = re.sub(r"(?m)^\.\. csv-table::.*\n(?: {3}.*\n|\n)+", "", text)
        assert len(text.splitlines()) <= limit, page.name
        assert page.stem == "index" or f"\n   {page.stem}\n" in index, page.name


def test_each_page_of_results_answers_a_question():
    """The index has a row "question, finding, page" for it, or a sentence."""
    index = (ROOT / "doc/results/index.rst").read_text("utf-8")
    assert "* - question\n     - finding\n     - page\n" in index
    for page in (ROOT / "doc/results").glob("*.rst"):
        assert page.stem == "index" or f":doc:`{page.stem}`" in index, page.name


def test_readme_has_two_commands_of_one_line():
    commands = blocks("sh")
    assert [command.count("\n") for command in commands] == [1, 1]
    assert commands[0].strip().endswith("skconftree")
    assert commands[1].strip().endswith("pytest")


def test_the_second_command_compiles_only_if_the_first_has_not_run():
    """pip compiles a folder each time it is asked to install it."""
    assert "pip install --group test" in blocks("sh")[1]
    before = blocks("sh")[1].index("pip install .;")
    assert blocks("sh")[1].startswith("[ -x .venv/bin/skconftree ] ||")
    assert "pip install ." not in blocks("sh")[1][before + len("pip install .;") :]


@pytest.mark.parametrize(
    "page",
    cases(
        PAGES_WITH_EXAMPLES,
        [page for page in PAGES_WITH_EXAMPLES if page.stem not in SLOW],
    ),
    ids=lambda page: page.stem,
)
def test_examples_of_the_documentation_run(page, monkeypatch):
    monkeypatch.chdir(ROOT / "examples")  # has the table of the case study
    result = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert result.attempted > 0
    assert result.failed == 0


def test_nothing_but_the_package_is_installed():
    files = importlib.metadata.files("skconftree")
    inside = [file for file in files if file.parts[0] == "skconftree"]
    if not inside:
        pytest.skip("an editable install has no files of its own")
    suffixes = {file.suffix for file in inside if "__pycache__" not in file.parts}
    data = sorted(file.name for file in inside if file.suffix in (".css", ".html"))
    assert data == ["_page.html", "_report.css"]
    assert suffixes <= {".css", ".html", ".py", ".pyi", ".pxd", ".so", ".pyd", ".typed"}
    assert {file.parts[0] for file in files} <= {
        "skconftree",
        "..",  # the console script
        f"skconftree-{importlib.metadata.version('skconftree')}.dist-info",
    }


def program(page, words):
    """The block of a page that begins, indented, with these words."""
    text = (ROOT / "doc/guide" / f"{page}.rst").read_text("utf-8")
    found = re.findall(
        r"^\.\. code-block:: python\n\n((?:(?: {3}.*)?\n)+)", text, re.MULTILINE
    )
    (block,) = [one for one in found if one.startswith(f"   {words}")]
    return compile(textwrap.dedent(block), page, "exec")


def test_the_table_of_a_newcomer(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = ["id,plan,calls,churn"]
    for place in range(200):
        plan = ("basic", "", "pro")[place % 3]
        calls = place * 7 % 10
        churn = ("no", "yes")[calls > 5] if place % 20 else ""
        lines.append(f"{place},{plan},{calls},{churn}")
    Path("customers.csv").write_text("\n".join(lines), encoding="utf-8")
    Path("new_customers.csv").write_text(
        "id,calls,plan\n300,9,gold\n", encoding="utf-8"
    )
    first = {}
    exec("from skconftree import ConfidenceTreeClassifier", first)
    exec("from skconftree.tree import export_text", first)
    exec(program("quickstart", "import pandas"), first)
    assert first["new"]["churn"].tolist() == ["yes"]
    assert "calls <= 5 " in capsys.readouterr().out


def test_a_stream_from_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = ["size,color,label"]
    for place in range(5000):
        says_yes = (place % 3 == 0) ^ (place > 2500)
        color = ("red", "", "blue")[place % 3] if place // 1000 != 2 else ""
        lines.append(f"{place % 11},{color},{('no', 'yes')[says_yes]}")
    Path("stream.csv").write_text("\n".join(lines), encoding="utf-8")
    exec(program("streams", "import pandas"), {})
    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [int(rows) for rows, _, _ in told] == [1000, 2000, 3000, 4000, 5000]


def test_a_person_who_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = iter((["1", "2"] * 3 + ["q"]) * 2)
    monkeypatch.setattr("builtins.input", lambda prompt: next(said))
    pool = load_iris(as_frame=True).data
    for n_labeled in (6, 12):
        names = {"table": pool}
        exec(program("active", "from skconftree import"), names)
        assert names["learner"].n_labeled_ == n_labeled
    assert names["learner"].predict(pool).shape == (150,)


def test_a_model_without_this_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True)
    names = {"tree": ConfidenceTreeClassifier().fit(X, y), "X": X}
    exec(program("deploying", "import joblib"), names)
    assert (names["model"].predict(X) == names["tree"].predict(X)).all()
    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    exec(program("deploying", "import numpy"), names)
    assert (names["labels"] == names["tree"].predict(X)).all()
