"""The consumer of the guide loses no acknowledged row when it is killed."""

import json
import pickle
import random
import runpy
import signal
import sys
from pathlib import Path

import pytest
from reference.programs import PIPE, Process

from skconftree import ConfidenceTreeClassifier
from skconftree.datasets import make_sea
from skconftree.evaluation import OneByOne

PROGRAM = Path(__file__).parents[2] / "doc" / "guide" / "consumer.py"
X, Y = make_sea(3000, random_state=0)
ROWS = [dict(zip("abc", map(float, row), strict=True)) for row in X]
LABELS = ["AB"[y] for y in Y]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]
)
def test_a_killed_consumer_continues(tmp_path, monkeypatch, seed):
    log, state = tmp_path / "log", tmp_path / "state"
    pairs = zip(ROWS, LABELS, strict=True)
    log.write_text("".join(json.dumps(x | {"label": y}) + "\n" for x, y in pairs))
    argv = [str(PROGRAM), str(log), str(state)]
    code = f"import runpy; runpy.run_path({str(PROGRAM)!r}, run_name='__main__')"
    process = Process(code, *argv[1:], stdout=PIPE)
    with process.stdout as out:
        told = [int(out.readline()) for _ in range(random.Random(seed).randint(1, 20))]
        process.send_signal(signal.SIGKILL)
        told += map(int, out.read().split())
    process.close()
    offset, model = pickle.loads(state.read_bytes())
    assert offset >= told[-1]
    assert model.n_rows_seen_ == offset
    monkeypatch.setattr(sys, "argv", argv)
    runpy.run_path(str(PROGRAM))
    whole = OneByOne(ConfidenceTreeClassifier(), classes=["A", "B"])
    for x, y in zip(ROWS, LABELS, strict=True):
        whole.learn_one(x, y)
    assert pickle.dumps(pickle.loads(state.read_bytes())[1]) == pickle.dumps(whole)
