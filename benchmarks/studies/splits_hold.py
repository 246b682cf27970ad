"""Do new rows confirm splits? By the level of evidence that a tree has for each.

Tables of real data, at most 2,000 rows each, are cut into halves: a tree grows from
either half, and the other one audits it, each split by itself at level .05. "default"
and "greedy" (``lookahead=0``) are this tree, CART is grown in full. Nominal columns are
codes, missing values filled in. The second table has the splits of the default by the
number expected by chance. A split is decidable if some table of its margins could
confirm it. Chance alone confirms less than 5 %.

    python benchmarks splits_hold --data FOLDER --held-out OTHER

The default was chosen on tables of FOLDER; on those of OTHER, which ``python benchmarks
held_out`` makes, nothing was.
"""

from collections import Counter
from itertools import pairwise

import numpy as np
from common import options as command
from common.data import collections, encoded, impute
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
LEVELS = ("overwhelming", "strong", "weak", "none")
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
        yield evidence.level, evidence.log10_expected_by_chance, one.verdict


def line(verdicts):
    """Number of splits, and the shares that are confirmed."""
    found = Counter(verdicts)
    n, decidable = len(verdicts), len(verdicts) - found["too few rows"]
    shares = [
        f"{100.0 * found['confirmed'] / of:.1f} %" if of else "-"
        for of in (n, decidable)
    ]
    return [f"{n:,}", f"{decidable:,}", *shares]


def by_level(found):
    """Rows of the splits of each tree, and of all levels together."""
    for rule, splits in found.items():
        for level in LEVELS:
            verdicts = [verdict for own, _, verdict in splits if own == level]
            if verdicts:
                yield [rule, level, *line(verdicts)]
        yield [rule, "all", *line([verdict for _, _, verdict in splits])]


def by_decade(splits):
    """Rows of splits by the number expected by chance."""
    for low, high in pairwise(DECADES):
        verdicts = [
            verdict
            for _, log10, verdict in splits
            if low <= log10 < high or log10 == high == 0
        ]
        start = "below" if low == -np.inf else f"1e{low} to"
        yield [f"{start} 1e{high}", *line(verdicts)]


def main(argv=None):
    """Run the study and show its tables."""
    parser = command.parser(__doc__, "data", "held-out", "quick", seed=0)
    options = parser.parse_args(argv)
    tables = command.tables(
        "splits_hold", options, f"at most {MAX_ROWS:,} rows, seed {options.seed}"
    )
    levels, decades = [], []
    for part, folder, names in collections(options, 3):
        found = {rule: [] for rule in RULES}
        for name in names:
            one, other = halves(name, folder, options.seed)
            for rule, splits in found.items():
                splits += [*audited(rule, one, other), *audited(rule, other, one)]
        levels += [[part, *row] for row in by_level(found)]
        decades += [[part, *row] for row in by_decade(found["default"])]
    header = ["splits", "decidable", "confirmed", "confirmed of decidable"]
    tables.show("splits-hold", ["tables", "tree", "level", *header], levels)
    tables.show(
        "splits-hold-decades", ["tables", "expected by chance", *header], decades
    )
