"""The best candidate split of a node, for the observed labels and shuffled ones.

The breast cancer table, and the same table with its labels shuffled, so that no feature
is related to the class. For each, the best of all candidate splits of the root by
``bound="gtest"``, and how many candidates this good are expected by chance. The table
counts the shuffles by the logarithm of that number.

    python benchmarks shuffled_labels
"""

import numpy as np
from common import options as command
from sklearn.datasets import load_breast_cancer

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import GTestBound
from skconftree.tree import node_table

WIDTH = 0.25  # of an interval of logarithms


def best_candidate(X, y):
    """The logarithm to 10 of the number expected by chance for the best candidate."""
    tree = ConfidenceTreeClassifier(
        GTestBound(delta=1e9), max_depth=1, lookahead=0, pruning=None
    ).fit(X, y)
    return node_table(tree)[0].evidence.log10_expected_by_chance


def main(argv=None):
    """Run the study and show its table."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--shuffles", type=int, default=1_000)
    options = parser.parse_args(argv)
    n_shuffles = 20 if options.quick else options.shuffles
    tables = command.tables(
        "shuffled_labels", options, f"{n_shuffles:,} shuffles, seed 0"
    )
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    found = [best_candidate(X, rng.permutation(y)) for _ in range(n_shuffles)]
    cells, counts = np.unique(np.floor(np.divide(found, WIDTH)), return_counts=True)
    rows = [["observed", f"{best_candidate(X, y):.1f}", "-", 1]]
    rows += [
        ["shuffled", f"{WIDTH * cell:.2f}", f"{WIDTH * (cell + 1):.2f}", count]
        for cell, count in zip(cells, counts, strict=True)
    ]
    below = int(np.less(found, 0.0).sum())
    rows.append(["shuffled, all below 1", "-", "0.00", below])
    header = ["labels", "log10 of the number by chance, from", "to", "tables"]
    tables.show("shuffled-labels", header, rows)
