"""The self test of an installed package finds what is wrong with it."""

import subprocess
import sys

import pytest
from sklearn.datasets import load_iris

from skconftree import ConfidenceTreeClassifier
from skconftree.testing import _self_test
from skconftree.testing._self_test import PARTS, described, run


@pytest.mark.slow
def test_an_installed_package_passes():
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "skconftree.testing"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    *told, last = ran.stdout.splitlines()
    assert last == f"{len(PARTS)} passed, 0 failed"
    assert told[0].startswith("skconftree ")
    assert len(told) == 1 + len(PARTS)


def test_another_tree_is_found_and_told(monkeypatch, capsys):
    monkeypatch.setitem(_self_test.KNOWN, "iris", "0" * 16)
    monkeypatch.setattr(_self_test, "PARTS", (_self_test.known_trees,))
    assert run() == 1
    told = capsys.readouterr().out
    tree = ConfidenceTreeClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    assert "The tree of iris is another one" in told
    assert described(tree) in told
    assert told.endswith("0 passed, 1 failed\n")


def test_all_of_a_tree_is_described():
    X, y = load_iris(return_X_y=True)
    text = described(ConfidenceTreeClassifier().fit(X, y))
    assert text.splitlines()[0].startswith("0: 3 0.800000011920929; 50 50 50; score")
    for other in (ConfidenceTreeClassifier(delta=1e-3), ConfidenceTreeClassifier(None)):
        assert described(other.fit(X, y)) != text
