"""The calls of the pages on published systems run as they stand there."""

import re
from pathlib import Path

import pytest

DOC = Path(__file__).parents[1] / "doc"
PAGES = sorted((DOC / "published").glob("*.rst"))
BLOCK = r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_calls_run(page):
    blocks = re.findall(BLOCK, page.read_text("utf-8"))
    assert blocks
    code = "\n".join(re.sub(r"^   ", "", one, flags=re.MULTILINE) for one in blocks)
    exec(compile(code, str(page), "exec"), {})


def test_every_page_names_its_paper_and_what_came_out():
    assert len(PAGES) >= 5
    for page in PAGES:
        text = page.read_text("utf-8")
        assert re.search(r"\((?:19|20)\d\d\), \"", text), page
        assert re.search(r"<https://\S+>`_", text), page
        assert "benchmarks/results/" in text, page
        assert ":doc:`../results/" in text, page


ABOUT = ("index", "how_we_measure", "measured", "where_it_loses")  # all the pages
RESULTS = sorted(
    page for page in (DOC / "results").glob("*.rst") if page.stem not in ABOUT
)


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.stem)
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
