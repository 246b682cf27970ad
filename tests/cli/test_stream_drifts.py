"""Drifts that the tree of a stream found: printed, drawn, the same when resumed."""

import csv
import json

import numpy as np
import pytest

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import main

CHANGE, N_ROWS = 3000, 5000


def write(path, n_rows):
    X = np.random.default_rng(0).normal(size=(N_ROWS, 2)).round(3)
    y = (X[:, 0] > 0) ^ (np.arange(N_ROWS) >= CHANGE)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["u", "v", "kind"])
        for row, one in zip(X[:n_rows].tolist(), y[:n_rows], strict=True):
            writer.writerow([*row, "b" if one else "a"])
    return X, np.where(y, "b", "a")


def stream(path, *more, drift="ddm"):
    argv = ["stream", str(path), "--target", "kind", "--classes", "a,b", *more]
    return main([*argv, "--set", f"drift={drift}"])


@pytest.mark.parametrize("drift", ["ddm", "local"])
@pytest.mark.slow
def test_drifts_are_reported_and_do_not_depend_on_chunks(tmp_path, capsys, drift):
    table, model = tmp_path / "t.csv", tmp_path / "model"
    X, y = write(table, N_ROWS)
    tree = ConfidenceTreeClassifier(drift=drift)
    tree.partial_fit(X.astype(np.float32), y, ["a", "b"])
    want = [{"row": one.row, "node": one.node} for one in tree.drifts_]
    assert want
    assert all(CHANGE < one["row"] < N_ROWS for one in want)
    figures = tmp_path / "figures.json"
    more = "--json", str(figures), "--plot", str(tmp_path / "p.svg")
    assert stream(table, *more, drift=drift) == 0
    assert json.loads(figures.read_text())["drifts"] == want
    said = capsys.readouterr().out
    assert (
        "1 drift was detected" if len(want) == 1 else "drifts were detected"
    ) in said
    where = want[0]["node"]
    where = f"below node {where}" if where else "the whole tree"
    assert f"detected, after row {want[0]['row']:,} ({where})" in said
    assert "<!-- drift detected -->" in (tmp_path / "p.svg").read_text()
    for n_rows in (700, 3100, 3350, N_ROWS):
        write(table, n_rows)
        more = "--output", str(model), "--resume", "--chunk-size", "300"
        assert stream(table, *more, "--json", str(figures), drift=drift) == 0
    assert json.loads(figures.read_text())["drifts"] == want


def test_no_drift_is_said(tmp_path, capsys):
    table = tmp_path / "t.csv"
    write(table, 2000)
    assert stream(table) == 0
    assert "No drift was detected." in capsys.readouterr().out
    assert main(["stream", str(table), "--target", "kind", "--classes", "a,b"]) == 0
    assert "drift was" not in capsys.readouterr().out
