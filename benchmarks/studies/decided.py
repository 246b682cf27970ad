"""Is a split that is called decided asked again? Ties, and what other rows choose.

    python benchmarks decided --data FOLDER --held-out OTHER

A table is divided into thirds at random, several times. The first third grows a tree
(``lookahead=0``, unpruned), whose nodes cut the other two into groups of rows that have
had no say in it. Where both groups of a node have at least 50 rows, each of them grows
one split of its own: two repeats of one question. A split is decided if no other
feature ties with it, that is all three competitors gain less by more than 1.96
standard errors of the paired difference, else a tie. Nodes in which one of the two
repeats makes no split do not count.

"Same feature" is the share of nodes where both repeats ask about the same feature,
"named" that of the repeats' choices, either way, which the other repeat chose or called
a tie. Nominal columns are codes, holes are filled with the median or mode of the first
third; a table has at most 4,500 rows.
"""

from collections import defaultdict

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, table_names

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import node_table

MAX_ROWS = 4_500
LEAST = 50  # rows of a group
PAIRS = ("both decided", "one decided, one tie", "both ties")


def choice(X, y):
    """Feature of one split of these rows and those that tie with it; None if none."""
    stump = ConfidenceTreeClassifier(lookahead=0, pruning=None, max_depth=1)
    root = node_table(stump.fit(X, y), competitors=3)[0]
    if not root.branches:
        return None
    names = {one.name: one.feature for one in root.competitors}
    return root.feature, {names[name] for name in root.near_ties}


def repeats(X, y, is_nominal, seed):
    """Yield the two choices of each node of one division of a table."""
    order = np.random.default_rng(seed).permutation(len(y))
    first, *others = np.array_split(order, 3)
    grown, _ = impute(X[first], X[first], is_nominal)
    tree = ConfidenceTreeClassifier(lookahead=0, pruning=None).fit(grown, y[first])
    groups = []
    for part in others:
        _, rows = impute(X[first], X[part], is_nominal)
        groups.append((rows, y[part], tree.decision_path(rows).tocsc()))
    for node in np.flatnonzero(tree.tree_.n_children):
        found = []
        for rows, labels, path in groups:
            here = path.indices[path.indptr[node] : path.indptr[node + 1]]
            if len(here) < LEAST or len(np.unique(labels[here])) < 2:
                break
            found.append(choice(rows[here], labels[here]))
        if len(found) == 2 and None not in found:
            yield found


def study(folder, options):
    """Count nodes, equal features and features named, by the kind of pair."""
    counts = defaultdict(lambda: np.zeros(3, dtype=int))
    tables = defaultdict(set)
    for name in table_names(folder)[: 4 if options.quick else None]:
        X, y, is_nominal = encoded(name, folder, MAX_ROWS)
        for seed in range(options.repeats):
            for (a, ties_a), (b, ties_b) in repeats(X, y, is_nominal, seed):
                kind = PAIRS[bool(ties_a) + bool(ties_b)]
                named = (b in {a, *ties_a}) + (a in {b, *ties_b})
                counts[kind] += [1, a == b, named]
                tables[kind].add(name)
        print(f"  {name}", flush=True)
    return counts, tables


def main(argv=None):
    """Run the study and show its table."""
    parser = command.parser(__doc__, "data", "held-out", "quick", repeats=8)
    options = parser.parse_args(argv)
    results = command.tables("decided", options, f"{options.repeats} divisions")
    folders = {"shared": data_folder(options.data)}
    if options.held_out:
        folders["held out"] = options.held_out
    rows = []
    for part, folder in folders.items():
        counts, tables = study(folder, options)
        for kind in PAIRS:
            n, same, named = counts[kind].tolist()
            shares = [f"{same / n:.3f}", f"{named / (2 * n):.3f}"] if n else ["-", "-"]
            rows.append([part, kind, len(tables[kind]), f"{n:,}", f"{same:,}", *shares])
    header = ["tables", "pair of repeats", "number", "nodes", "same feature"]
    results.show("decided", [*header, "share", "named"], rows)
