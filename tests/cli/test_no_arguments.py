"""The command without arguments shows an example tree and existing commands."""

import re

from sklearn.datasets import load_breast_cancer

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import COMMANDS, main
from skconftree.tree import export_text


def test_it_shows_a_tree_and_commands(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    data = load_breast_cancer(as_frame=True)
    tree = ConfidenceTreeClassifier().fit(data.data, data.target_names[data.target])
    # the same layout as `export_text`, but for the option that shows weak splits
    shown = export_text(tree)
    assert shown[: shown.index("\n\nby chance: ")] in out
    assert "`skconftree fit --verbose` shows them" in out
    listed = re.findall(r"^skconftree (\w+)(?: |$)", out, re.MULTILINE)
    assert {"fit", "predict", "audit", "stream", "label"} < set(listed)
    assert set(listed) - {"COMMAND", "DATA"} <= set(COMMANDS)
    assert len(out[out.rindex("\n\n") :].strip().splitlines()) <= 10
    assert max(map(len, out.splitlines())) <= 100
    out.encode("ascii")
