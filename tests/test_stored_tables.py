"""Stored tables are those that the scripts would make today.

A table that says "default" is read as one of today's default, and a command that a page
names is read as the one that made the table. So each stored table has the fingerprint
of the trees that the default grew when it was measured, and its note has the arguments
of its run.
"""

import csv
import importlib
import re

import mutation
import pytest
from scripts import RESULTS, ROOT, SCRIPTS, benchmarks_on_path

# What a table calls the default; these are of it, or of its bound, without saying so in
# a cell.
NAMED = re.compile("(the )?defaults?\\b|this tree, untuned")
FITTED = {
    *("active-million", "boosting", "fit-default", "label-noise", "lookahead"),
    *("single-rows", "tables-size"),
    *("interval-coverage", "random-column", "random-column-all"),
    *("shrinkage", "shrinkage-reliability", "splits-hold-decades"),
}
GROWN = {
    "drift-alarms",
    "drift-delay",
    "leaf-gap",
    "stream-accuracy",
    "stream-forests",
    "stream-forests-moa",
    "stream-gap",
    "stream-growing",
    "stream-growing-alarms",
    "stream-growing-peers",
    "stream-growing-streams",
    "stream-growing-votes",
    "stream-predict",
}
GROWING = ("stream-", "paper-c-")  # begin the names of tables of growing trees
# Of a default that has changed since, waiting to be measured again; their pages say so.
STALE = {
    *("active-million", "active-sets", "baselines", "bins-accuracy", "bins-speed"),
    *("boosting", "comparing", "default-categories", "default-rules", "fit-default"),
    *("interval-coverage", "label-noise", "lookahead", "many-classes", "noise-trees"),
    *("one-tree", "paper-d-depths-kr-vs-kp", "paper-d-depths-letter"),
    *("paper-d-depths-letter-values", "paper-d-depths-pendigits"),
    *("paper-d-depths-wdbc", "paper-d-leads", "paper-d-trees-kr-vs-kp"),
    *("paper-d-trees-letter", "paper-d-trees-letter-values"),
    *("paper-d-trees-pendigits", "paper-d-trees-wdbc", "r-packages", "random-column"),
    *("random-column-all", "shrinkage", "shrinkage-reliability", "single-rows"),
    *("tables-a9a", "tables-size", "tables-texts", "three-trees"),
    # measured without refits to the first rows of a stream
    *("drift-alarms", "drift-delay", "leaf-gap", "paper-c-active"),
    *("paper-c-active-queried", "paper-c-active-values", "stream-accuracy"),
    *("stream-forests", "stream-forests-moa", "stream-gap", "stream-growing"),
    *("stream-growing-alarms", "stream-growing-peers", "stream-growing-streams"),
    *("stream-growing-tables", "stream-growing-votes", "stream-one-row"),
    *("stream-predict", "stream-settings", "stream-waiting"),
}
OTHER_NOTES = {"promises-mixed", "large-cluster-50-million"}  # of two tables


@pytest.fixture(scope="module")
def common():
    """Modules of the scripts; the trees of the fingerprints are grown once."""
    with pytest.MonkeyPatch.context() as patch, benchmarks_on_path(patch):
        from common import fingerprint, options, results

        yield {"fingerprint": fingerprint, "options": options, "results": results}


def of_the_default():
    """Name of each table of the default -> how its trees grow."""
    found = dict.fromkeys(FITTED, "fitted") | dict.fromkeys(GROWN, "grown")
    for path in RESULTS.glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        if path.stem != "measured" and any(map(NAMED.match, cells)):
            growing = path.stem.startswith(GROWING)
            found.setdefault(path.stem, "grown" if growing else "fitted")
    return found


def test_tables_of_the_default_are_of_the_default_of_today(common):
    known = common["results"].measured()
    today = common["fingerprint"].fingerprints()
    tables = of_the_default()
    assert tables["baselines"] == "fitted"
    assert tables["stream-settings"] == "grown"
    old = {name for name, how in tables.items() if known[name][how] != today[how]}
    assert old <= STALE, f"Measure again: {sorted(old - STALE)}"
    assert old >= STALE, f"Measured again, and not stale: {sorted(STALE - old)}"


def test_pages_say_of_which_default_their_tables_are():
    pages = {path: path.read_text("utf-8") for path in (ROOT / "doc").rglob("*.rst")}
    for name in STALE:
        shown = [page for page in pages if f"/{name}.csv" in pages[page]]
        assert shown, name
        assert all("earlier default" in " ".join(pages[page].split()) for page in shown)


def test_a_fingerprint_is_of_the_trees(common):
    fingerprint = common["fingerprint"]
    trees = list(fingerprint.fitted())
    assert fingerprint.of_trees(trees) == fingerprint.fingerprints()["fitted"]
    assert fingerprint.of_trees(trees[1:]) != fingerprint.fingerprints()["fitted"]
    assert fingerprint.fingerprints()["fitted"] != fingerprint.fingerprints()["grown"]


class Told(Exception):
    """The note that a run would write beside its tables."""


WITHOUT_TABLES = {"ratchet", "held_out"}
IN_PAIRS = {"compare"}  # is given another build


@pytest.mark.parametrize(
    "path",
    [path for path in SCRIPTS if path.stem not in WITHOUT_TABLES | IN_PAIRS],
    ids=lambda path: path.stem,
)
def test_a_script_without_arguments_makes_the_tables_that_are_stored(
    path, monkeypatch, common, tmp_path
):
    """What its run was given stands in the note of each table: so do the defaults.

    And a run that may not be stored is refused before anything is measured.
    """

    def tell(script, given, note=""):
        raise Told(note)

    monkeypatch.setattr(common["options"], "tables", tell)
    (tmp_path / "manifest.json").write_text('{"datasets": []}')
    monkeypatch.setenv("SKCONFTREE_DATA", str(tmp_path))
    room = path.parent.name
    script = importlib.import_module(f"{room}.{path.stem}")
    parts = getattr(script, "PARTS", ()) if room == "papers" else ()
    cache = ["--cache", str(tmp_path)] if '"cache"' in path.read_text("utf-8") else []
    notes = set()
    for arguments in [["--part", part] for part in parts] or [[]]:
        with pytest.raises(Told) as told:
            script.main([*arguments, *cache])
        notes.add(str(told.value))
    for name, facts in common["results"].measured().items():
        if facts["script"] == path.stem and name not in OTHER_NOTES:
            stored = facts["note"].partition("; last ")[0]  # what was computed again
            assert stored in notes, name


def test_tables_of_papers_say_the_published_settings_beside_their_own(common):
    known = common["results"].measured()
    told = [facts["note"] for name, facts in known.items() if name[:6] == "paper-"]
    assert len(told) > 60
    assert all(re.match(r"\S.+; published: \S", note) for note in told)


def test_the_mutation_score_is_that_of_the_table():
    with (RESULTS / "mutation.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = mutation.figures(rows)
    (text,) = re.findall(
        r"The tests detected (\d+) of (\d+) mutants",
        (ROOT / "CONTRIBUTING.md").read_text("utf-8"),
    )
    assert tuple(map(int, text)) == (found["killed"], found["judged"])
    assert all(row["reason"] for row in rows if row["result"] == "equivalent")
