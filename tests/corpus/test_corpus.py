"""Every failure found so far, replayed before anything else.

A case is a file, see `reference.replay`. A fuzz run, or whoever finds a failure, adds
one; nothing else has to be told of it.
"""

import json
import sys
from pathlib import Path

import pytest
from reference.programs import run_program
from reference.replay import CALLS, load, replay

FOLDER = Path(__file__).parent
CASES = sorted(FOLDER.glob("*.json"))
KEYS = {
    *("about", "table", "sparse", "weight", "pool", "parameters", "calls"),
    *("raises", "warns", "apart", "fuzz"),
}


PROGRAM = """
import faulthandler, sys
faulthandler.enable()
from reference.replay import load, replay
replay(load({path!r}))
"""


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path):
    case = load(path)
    if not case.get("apart") or sys.platform == "win32":  # which cannot fork
        replay(case)
        return
    program = PROGRAM.format(path=str(path))
    run_program(program, timeout=240.0)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case_is_well_formed(path):
    case = load(path)
    assert set(case) <= KEYS
    assert "about" in case
    if "fuzz" in case:
        return
    assert {"table", "calls"} <= set(case)
    assert {c if isinstance(c, str) else c[0] for c in case["calls"]} <= set(CALLS)


SOUND = {
    "about": "A case to break.",
    "table": {"seed": 0, "n_rows": 60, "columns": ["normal"], "labels": {"classes": 2}},
    "parameters": {"bound": None},
    "calls": ["fit", "partial_fit", "pickle", "predict"],
}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"raises": "anything"}, pytest.fail.Exception),
        ({"warns": "anything"}, AssertionError),
        ({"parameters": {"bound": None, "delta": 0.1}}, AssertionError),  # it warns
        ({"parameters": {"max_depth": 0}}, ValueError),
        ({"weight": -1.0}, ValueError),
    ],
)
def test_a_replay_can_fail(change, error):
    replay(SOUND)
    with pytest.raises(error):
        replay({**SOUND, **change})


def test_a_sequence_of_the_fuzz_can_be_a_case(monkeypatch):
    from fuzz import run

    replay({"about": "Any sequence.", "fuzz": {"seed": 5}})
    monkeypatch.setattr(run, "run_one", lambda seed: {"found": ["something", ""]})
    with pytest.raises(AssertionError):
        replay({"about": "One that fails.", "fuzz": {"seed": 5}})


def test_a_replay_notices_wrong_counts(monkeypatch):
    from reference import replay as module

    wrong = module.Replay(SOUND)
    wrong.fit()
    wrong.y = 1 - wrong.y
    with pytest.raises(AssertionError):
        wrong._compare_counts()


def test_the_corpus_is_run_first():
    """Its folder comes before all others in the order that conftest.py makes."""
    import conftest

    class Item:
        def __init__(self, path):
            self.path = Path(path)

    items = [Item(FOLDER.parent / name) for name in ("bounds/a.py", "corpus/b.py")]
    conftest.pytest_collection_modifyitems(items)
    assert [item.path.name for item in items] == ["b.py", "a.py"]


def test_cases_are_readable_json():
    for path in CASES:
        json.loads(path.read_text("utf-8"))
        assert path.read_text("utf-8").endswith("}\n")
