"""The performance ratchet detects slower results, and nothing else."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def ratchet(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from common import ratios
    from speed import ratchet

    yield ratchet, ratios
    for name in list(sys.modules):
        if name.split(".")[0] in ("common", "speed"):
            del sys.modules[name]


FACTS = {"load": 0.1, "processor": "one", "python": "3", "skconftree": "0"}


def keep(module, folder, figures, day, processor="one"):
    results = module.Results("fit")
    for work, ratio, better in figures:
        results.add(work, ratio, better)
    results.keep(folder, {**FACTS, "date": day, "processor": processor})


def test_last_run_against_those_before(ratchet, tmp_path, capsys):
    command, module = ratchet
    for day, speed in (("1", 4.0), ("2", 5.0), ("3", 4.2)):
        keep(module, tmp_path, [("grow", speed, "larger"), ("cost", 1, "smaller")], day)
    told = ["fit", "--last", "--ratios", str(tmp_path)]
    assert command.main(told) == 0
    keep(module, tmp_path, [("grow", 3.7, "larger"), ("cost", 1.1, "smaller")], "4")
    assert command.main(told) == 0
    keep(module, tmp_path, [("grow", 3.5, "larger"), ("cost", 1.0, "smaller")], "5")
    assert command.main(told) == 1
    assert "TOO SLOW" in capsys.readouterr().out
    keep(module, tmp_path, [("grow", 9.0, "larger"), ("cost", 1.3, "smaller")], "6")
    assert command.main(told) == 1
    assert command.main([*told, "--slack", "0.5"]) == 0


def test_other_processors_and_new_works_are_not_compared(ratchet, tmp_path, capsys):
    command, module = ratchet
    keep(module, tmp_path, [("grow", 9.0, "larger")], "1", processor="another")
    keep(module, tmp_path, [("grow", 1.0, "larger"), ("new", 1.0, "larger")], "2")
    assert command.main(["fit", "--last", "--ratios", str(tmp_path)]) == 0
    assert "nothing to compare with" in capsys.readouterr().out


def test_the_last_run_of_none(ratchet, tmp_path, capsys):
    """A ratchet that has nothing to compare must not pass for one that holds."""
    command, module = ratchet
    keep(module, tmp_path, [("grow", 4.0, "larger")], "1")
    assert command.main(["fit", "--last", "--ratios", str(tmp_path)]) == 0
    assert command.main(["--last", "--ratios", str(tmp_path)]) == 2
    told = capsys.readouterr().out
    assert "stream: no run is kept in" in told
    assert "ratchet tables --keep" in told


def test_a_slow_run_is_not_stored(ratchet, tmp_path, monkeypatch):
    command, module = ratchet
    keep(module, tmp_path, [("grow", 4.0, "larger")], "1")
    speed = [3.0]

    def fresh(name, options, folder):
        assert options == ["--quick"]
        keep(module, folder, [("grow", speed[0], "larger")], "2")
        return module.runs(Path(folder) / "fit.csv")[-1]

    monkeypatch.setattr(command, "fresh_rows", fresh)
    options = ["fit", "--ratios", str(tmp_path), "--keep", "--", "--quick"]
    assert command.main(options) == 1
    assert len(module.runs(tmp_path / "fit.csv")) == 1
    speed[0] = 4.1
    assert command.main(options) == 0
    assert len(module.runs(tmp_path / "fit.csv")) == 2


def test_stored_results_are_valid(ratchet):
    _, module = ratchet
    for path in (BENCHMARKS / "results" / "ratios").glob("*.csv"):
        for run in module.runs(path):
            assert set(run[0]) == set(module.COLUMNS)
            assert all(float(line["ratio"]) > 0.0 for line in run)
            assert {line["better"] for line in run} <= {"larger", "smaller"}
