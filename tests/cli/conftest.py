"""Fixtures of commands: small forests, and a run that is killed while it saves."""

import pickle
import signal
import subprocess
import sys
from functools import partial

import pytest

from skconftree import ConfidenceForestClassifier
from skconftree._cli import _label
from skconftree.utils import _model_file

KILLED = """
import os, signal, sys
from skconftree._cli import main
replace, n_saved = os.replace, 0
def killing(*paths):
    global n_saved
    n_saved += 1
    if n_saved == int(sys.argv[1]):
        if sys.argv[2] == "after":
            replace(*paths)
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*paths)
os.replace = killing
main(sys.argv[3:])
"""


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """Let the forests of `skconftree label`, refitted after each label, be small."""
    small = partial(ConfidenceForestClassifier, n_estimators=9)
    monkeypatch.setattr(_label, "ConfidenceForestClassifier", small)


@pytest.fixture
def killed_at():
    """Run a command and kill it just before or after a saving."""

    def killed_at(saving, when, argv):
        run = subprocess.run(
            [sys.executable, "-P", "-c", KILLED, str(saving), when, *argv],
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == -signal.SIGKILL, run.stderr

    return killed_at


@pytest.fixture
def same_model(tmp_path):
    """Whether two files, a path and bytes, hold the same model, whatever their runs."""

    def same_model(path, data):
        other = tmp_path / "other model"
        other.write_bytes(data)
        models = [_model_file.load(one)[0] for one in (path, other)]
        return pickle.dumps(models[0]) == pickle.dumps(models[1])

    return same_model
