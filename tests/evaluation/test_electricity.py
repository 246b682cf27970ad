"""The guide warns with figures of a real stream: they are computed here.

Needs the folder of the benchmarks' data (variable SKCONFTREE_DATA).
"""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from skconftree.evaluation import iter_prequential

TABLE = Path(os.environ.get("SKCONFTREE_DATA", "nowhere")) / "elec.csv.gz"
GUIDE = Path(__file__).parents[2] / "doc/guide/evaluation.rst"


class Silent:
    """Learns nothing and says the first class."""

    def partial_fit_predict(self, X, y, classes=None):
        self.classes_ = np.unique(["UP", "DOWN"])
        return np.full(len(y), "DOWN")


@pytest.mark.skipif(not TABLE.exists(), reason="SKCONFTREE_DATA has no elec.csv.gz")
def test_baselines_of_electricity_are_those_of_the_guide():
    with gzip.open(TABLE, "rt", newline="") as file:
        y = np.array([row["target"] for row in csv.DictReader(file)])
    *_, last = iter_prequential(Silent(), np.zeros((len(y), 1)), y)
    text = " ".join(GUIDE.read_text(encoding="utf-8").split())
    assert (
        "repeating the previous label is right in "
        f"{100 * last.no_change_accuracy:.2f}% "
        f"of its {last.n_rows:,} rows, while the more frequent class makes up "
        f"{100 * max(np.mean(y == label) for label in np.unique(y)):.1f}%"
    ) in text
