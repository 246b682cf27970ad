"""The command without arguments: a picture, and commands that exist."""

import io
import re
import sys

from sklearn.datasets import load_breast_cancer

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import COMMANDS, main


def test_it_shows_a_tree_and_commands(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    data = load_breast_cancer(as_frame=True)
    tree = ConfidenceTreeClassifier().fit(data.data, data.target)
    assert out.count("probability") == tree.get_n_leaves()
    assert out.count("?  ") + out.count("? ") >= tree.get_n_leaves() - 1
    bars = re.findall("[\N{FULL BLOCK}\N{LIGHT SHADE}]+", out)
    assert len(bars) == tree.tree_.node_count
    assert {len(one) for one in bars} == {20}
    # the root's is the share of benign rows
    assert bars[0].count("\N{FULL BLOCK}") == round(20 * data.target.mean())
    told = re.findall(r"^skconftree (\w+)(?: |$)", out, re.MULTILINE)
    assert set(told) - {"COMMAND", "DATA"} <= set(COMMANDS)
    assert len(out[out.rindex("\n\n") :].strip().splitlines()) <= 10
    assert max(map(len, out.splitlines())) <= 100


def test_a_plain_terminal_gets_plain_signs(monkeypatch):
    file = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", file)
    assert main([]) == 0
    file.flush()
    out = file.buffer.getvalue().decode("cp1252")
    assert "| yes: " in out
    assert "` no: " in out
    assert re.search(r"#+\.+", out)
