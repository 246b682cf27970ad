"""Settings of published systems run as they are printed, and give what is stored."""

import re
import warnings
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

from skconftree import ConfidenceTreeClassifier, active, bounds, tree
from skconftree.active import _registry
from skconftree.active.stream import _strategies

DOC = Path(__file__).parents[1] / "doc"
PAGES = sorted((DOC / "published").glob("*.rst"))
BLOCK = r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_calls_run(page):
    blocks = re.findall(BLOCK, page.read_text("utf-8"))
    assert blocks
    code = "\n".join(re.sub(r"^   ", "", one, flags=re.MULTILINE) for one in blocks)
    exec(compile(code, str(page), "exec"), {})


SETTING = r"`((?:bound|criterion|pruning|splitter)=[^`.]+(?:\.[0-9][^`.]*)*)`"
CAUTIOUS = ("hoeffding", "mcdiarmid", "derosa")  # of one leaf on small tables


def printed_settings():
    """Settings of trees in the table of `doc/published.rst`."""
    page = (DOC / "published.rst").read_text("utf-8").partition("Forests are those")[0]
    found = re.findall(SETTING, page)
    return sorted({re.sub(r"\s+", " ", setting) for setting in found})


def published_tree(setting):
    """Make the tree of a printed setting, with a value for `a`."""
    names = {**vars(bounds), **vars(tree), "Tree": ConfidenceTreeClassifier, "a": 0.01}
    return eval(f"Tree({setting})", names)


@pytest.mark.parametrize("setting", printed_settings())
def test_printed_settings_of_trees_can_be_fitted(setting):
    """And race bounds with their default delta warn that they find no split."""
    model = published_tree(setting)
    is_cautious = isinstance(model.bound, str) and model.bound in CAUTIOUS
    X, y = load_breast_cancer(return_X_y=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert (model.get_n_leaves() == 1) == bool(caught)
    assert len(caught) == is_cautious or not isinstance(model.bound, str)


def test_printed_names_of_strategies_are_known():
    """And calls in the list of systems that choose labels can be made."""
    text = (DOC / "published.rst").read_text("utf-8")
    text = " ".join(text.partition("Systems that choose the labels")[2].split())
    names = set(re.findall(r'(?:`|strategy=)"(\w+)"(?:`|,|\))', text))
    assert {"conf_tree", "density", "gbs", "leaf_entropy", "lts", "random"} <= names
    assert names <= {*_registry.STRATEGIES, *_strategies.STREAM_STRATEGIES}
    known = {**vars(active), "delta": 0.1}
    for call in re.findall(
        r"(?:LeafRisk|SplitConfTree|Split|ConfTree)Sampling\(.*?\)", text
    ):
        eval(re.sub(r"(\w+)=\.\.\.", r"\1=0.3", call), known)


def test_every_page_names_its_paper_and_what_came_out():
    assert len(PAGES) >= 5
    for page in PAGES:
        text = page.read_text("utf-8")
        assert re.search(r"\((?:19|20)\d\d\), \"", text), page
        assert re.search(r"<https://\S+>`_", text), page
        assert "benchmarks/results/" in text, page
        assert ":doc:`../results/" in text, page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_lists_the_figures_and_tables_of_its_source(page):
    _, _, rest = page.read_text("utf-8").partition(
        "\nFigures and tables of the source\n"
    )
    rows = re.findall(r"   \* - (.+)\n     - ((?:.+\n)+?)(?=   \*|\n)", rest)[1:]
    assert len(rows) >= 3
    for name, found in rows:
        told = " ".join(found.split())
        assert re.search("Reproduced|(Differs|Not had).*, because", told), name
    known = " ".join(name for name, _ in rows)
    assert "igure" in known


ABOUT = ("index", "how_we_measure", "measured", "where_it_loses")  # all the pages
FINDINGS = sorted(
    page for page in (DOC / "results").glob("*.rst") if page.stem not in ABOUT
)


@pytest.mark.parametrize("page", FINDINGS, ids=lambda page: page.stem)
def test_pages_of_results_begin_with_the_finding(page):
    """Then the table or the picture, then how it was measured, then the command."""
    text = page.read_text("utf-8")
    _, rest = re.split(r"^=+\n\n", text, maxsplit=1, flags=re.MULTILINE)
    assert rest.startswith("**")
    before = rest[: re.search(r"^\.\. (?:csv-table|image)::", rest, re.M).start()]
    # the finding, what to read beside it, the title of a section
    assert len(re.split(r"\n\n+", before.strip())) <= 4
    for section in re.split(r"^.+\n[-=]{3,}$", text, flags=re.MULTILINE):
        shown = [one.start() for one in re.finditer(r"csv-table::|image::", section)]
        commands = [one.start() for one in re.finditer("code-block:: sh", section)]
        assert not shown or not commands or min(shown) < min(commands), section


def test_papers_are_called_by_their_authors():
    for page in DOC.rglob("*.rst"):
        if "generated" not in page.parts and "auto_examples" not in page.parts:
            assert not re.search(r"[Pp]aper [A-E]\b", page.read_text("utf-8")), page
