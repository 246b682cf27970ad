"""One language for evidence: what words were given up for does not come back.

The number of a split is "expected by luck" among the "questions compared", and a split
is made or kept, see the glossary. These are the names it had before.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md")),
    *sorted((ROOT / "doc").rglob("*.rst")),
    *sorted((ROOT / "examples").glob("*.py")),
]
# Docstrings, messages and comments alike: identifiers are no words.
SOURCES = sorted(
    path for path in (ROOT / "skconftree").rglob("*") if path.suffix in (".py", ".pyx")
)
# Of the pages alone.
CLUMSY = {
    "use": r"\b(is|are) had with\b",
    "can be reached": r"\b(is|are) (not )?to be had\b",
    "unlabelled rows": r"\b[Rr]ows without (a )?label\b",
    "requested": (
        r"\blabels? (that )?(is|are|was|were) bought\b"
        r"|\b(buys?|buying|bought) ((some|the|their) )?labels?\b"
    ),
    "train on": r"\blearns? (a|each|every) row\b",
    "neither ... nor": r"\bNeither do the\b",
    "has no value": r"\bmiss(es|ed)? (a|the) value\b",
    "not a number": r"\b(is|are) no (whole )?numbers?\b",
    "shows, or stands in": r"\bis told (by|elsewhere|in)\b",
    "count, assume": r"\breckon(s|ed|ing)?\b",
    "no longer": r"\btrue no more\b",
}
GIVEN_UP = {
    "a number called p": r"\bp ~|\bp: (how|chance)|\(p < ",
    "cuts or tests compared": r"\b(cuts?|tests?) (that were )?compared\b",
    "all cuts counted": r"\bcuts counted\b",
    "false cuts": r"\bfalse cuts?\b",
    "as good by chance": r"\b(cuts?|tests?) as good\b|\bexpected by chance\b",
    "by luck alone": r"(?<!expected )\bby luck: ([~<\d]|how many)",
    "how sure a split is": r"\bhow sure (a|an|the|its|each|every) split",
    "look-ahead that must be guessed": r"look-ahead: at most",
    "a test or split installed": (
        r"\b(split|test|winner|choice)s?\b[^.:;]{0,40}\binstall(s|ed|ing)?\b"
        r"|\binstall(s|ed|ing)? (a|an|the|each|another|that|its) "
        r"([a-z]+ )?(split|test|winner)\b"
        r"|\binstalled (split|test|otherwise|below)\b"
    ),
}


def words(path):
    """The text of a file in one line."""
    return re.sub(r"[\s#]+", " ", path.read_text("utf-8"))


@pytest.mark.parametrize("path", [*PAGES, *SOURCES], ids=lambda path: path.name)
def test_old_names_stay_away(path):
    text = words(path)
    found = {
        name: told.group()
        for name, pattern in GIVEN_UP.items()
        if (told := re.search(pattern, text))
    }
    assert not found, path


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_are_in_plain_english(path):
    text = words(path)
    found = {
        better: told.group()
        for better, pattern in CLUMSY.items()
        if (told := re.search(pattern, text))
    }
    assert not found, path


@pytest.mark.parametrize(
    "text",
    [
        "are had with `predict_proba_interval`",
        "the figures are not to be had that way",
        "rows without label help",
        "an answer for rows without a label",
        "labels are bought from a pool",
        "strategies that buy labels within a budget",
        "it learns a row in microseconds",
        "Neither do the number of jobs and the backend matter",
        "a row misses a value",
        "a column whose values are no numbers",
        "how to do it is told in another page",
        "the risk is reckoned for a leaf",
        "it forgets what is true no more",
    ],
)
def test_clumsy_english_is_noticed(text):
    assert any(re.search(pattern, text) for pattern in CLUMSY.values())


@pytest.mark.parametrize(
    "text",
    [
        "overwhelming: p ~ 3e-40",
        "84 cuts compared",
        "fewer than one, all cuts counted",
        "fewer than 2 false cuts",
        "how many tests as good as this one",
        "by luck: 3e-94",
        "with how sure each split is",
        "look-ahead: at most 3 errors",
        "A split is installed only if the rows support it",
        "the test that would be installed",
        "a bound that installs the best test",
    ],
)
def test_an_old_name_is_noticed(text):
    assert any(re.search(pattern, text) for pattern in GIVEN_UP.values())
