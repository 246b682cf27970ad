"""The self test of an installed package finds what is wrong with it."""

import subprocess
import sys

import pytest
from sklearn.datasets import load_iris

from skconftree import ConfidenceTreeClassifier, bounds, drift, tree
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


@pytest.mark.parametrize("name", ["known_trees", "streams", "threads"])
def test_a_part_that_costs_little_passes(name):
    getattr(_self_test, name)()


def test_all_plugins_and_estimators_are_checked(monkeypatch):
    checked = []
    for name in vars(_self_test).copy():
        if name.startswith("check_"):
            monkeypatch.setattr(
                _self_test, name, lambda one, **_: checked.append(type(one))
            )
    _self_test.plugins()
    _self_test.estimators()
    names = {kind.__name__ for kind in checked}
    for module, base in (
        (bounds, bounds.BaseBound),
        (tree, tree.BasePruning),
        (drift, drift.BaseDetector),
    ):
        for name in module.__all__:
            kind = getattr(module, name)
            if isinstance(kind, type) and issubclass(kind, base) and kind is not base:
                assert name in names
    assert {"LeafRiskSampling", "RandomStream", "RiskBelow"} <= names
    assert {"ConfidenceForestClassifier", "BinaryTests"} <= names
    assert len(names) == len(checked)


def test_a_changed_tree_is_reported(monkeypatch, capsys):
    monkeypatch.setitem(_self_test.KNOWN, "iris", "0" * 16)
    monkeypatch.setattr(_self_test, "PARTS", (_self_test.known_trees,))
    assert run() == 1
    told = capsys.readouterr().out
    tree = ConfidenceTreeClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    assert "The tree of iris has changed" in told
    assert described(tree) in told
    assert told.endswith("0 passed, 1 failed\n")


def test_all_of_a_tree_is_described():
    X, y = load_iris(return_X_y=True)
    text = described(ConfidenceTreeClassifier().fit(X, y))
    assert text.splitlines()[0].startswith("0: 3 0.800000011920929; 50 50 50; score")
    for other in (ConfidenceTreeClassifier(delta=1e-3), ConfidenceTreeClassifier(None)):
        assert described(other.fit(X, y)) != text
