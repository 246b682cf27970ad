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


def test_papers_are_called_by_their_authors():
    for page in DOC.rglob("*.rst"):
        if "generated" not in page.parts and "auto_examples" not in page.parts:
            assert not re.search(r"[Pp]aper [A-E]\b", page.read_text("utf-8")), page
