"""Do splits hold on rows that had no say? By the word that a tree has for each.

Tables of real data, at most 2,000 rows each, are cut into halves: a tree grows from
either half, and the other one audits it, each split by itself at level .05. "default"
and "greedy" (``lookahead=0``) are this tree, CART is grown in full. Nominal columns are
codes, missing values filled in. The second table has the splits of the default by the
number expected by chance. A split holds if it is confirmed; "of those with enough rows"
leaves out what no table of these margins could confirm. Chance alone confirms less than
5 %.

    python benchmarks splits_hold --data FOLDER
"""

from collections import Counter
from itertools import pairwise

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, table_names
from sklearn.model_selection import StratifiedShuffleSplit

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import audit_splits
from skconftree.tree import node_table

MAX_ROWS = 2_000
RULES = {
    "default": {},
    "greedy": {"lookahead": 0},
    "CART": {"bound": None, "criterion": "gini", "pruning": None},
}
LEVELS = ("overwhelming", "strong", "weak")  # the last one includes "none"
DECADES = (-np.inf, -12, -6, -5, -4, -3, -2, -1, 0)  # logarithms to 10


def halves(name, folder, seed):
    """Rows and labels of the halves of a table, of classes that both have."""
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    sizes = np.bincount(y)
    kept = sizes[y] > 1
    X, y = X[kept], y[kept]
    cut = StratifiedShuffleSplit(1, test_size=0.5, random_state=seed)
    one, other = next(cut.split(X, y))
    filled = impute(X[one], X[other], is_nominal)
    return [
        (part.astype(np.float32), y[place])
        for part, place in zip(filled, (one, other), strict=True)
    ]


def audited(rule, grown, new):
    """Level, log10 of the number by chance and verdict of each split of a tree."""
    tree = ConfidenceTreeClassifier(**RULES[rule]).fit(*grown)
    known = np.isin(new[1], tree.classes_)
    audit = audit_splits(tree, new[0][known], new[1][known], correction=None)
    records = node_table(tree)
    for one in audit.splits_:
        evidence = records[one.node].evidence
        level = "weak" if evidence.is_weak else evidence.level
        yield level, evidence.log10_expected_by_chance, one.verdict


def line(verdicts):
    """Number of splits, and the shares that hold."""
    found = Counter(verdicts)
    n, enough = len(verdicts), len(verdicts) - found["too few rows"]
    held = found["confirmed"]
    shares = [f"{held / of:.3f}" if of else "-" for of in (n, enough)]
    return [f"{n:,}", f"{enough:,}", *shares]


def main(argv=None):
    """Run the study and show its tables."""
    parser = command.parser(__doc__, "data", "quick", seed=0)
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    names = table_names(folder)
    names = names[:3] if options.quick else names
    tables = command.tables(
        "splits_hold", options, f"at most {MAX_ROWS:,} rows, seed {options.seed}"
    )
    found = {rule: [] for rule in RULES}
    for name in names:
        one, other = halves(name, folder, options.seed)
        for rule, splits in found.items():
            splits += [*audited(rule, one, other), *audited(rule, other, one)]
    header = ["splits", "with enough rows", "hold", "of those with enough rows"]
    by_level = [
        [rule, level, *line([said for own, _, said in splits if own == level])]
        for rule, splits in found.items()
        for level in LEVELS
    ]
    tables.show("splits-hold", ["tree", "level", *header], by_level)
    by_decade = []
    for low, high in pairwise(DECADES):
        said = [
            said for _, p, said in found["default"] if low <= p < high or p == high == 0
        ]
        start = "below" if low == -np.inf else f"1e{low} to"
        by_decade.append([f"{start} 1e{high}", *line(said)])
    tables.show("splits-hold-decades", ["expected by chance", *header], by_decade)
