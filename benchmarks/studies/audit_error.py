"""How often does an audit confirm a split that is none? Noise, and one planted step.

CARTs of twelve leaves grow from labels that do not depend on the columns, or that
depend on one of them by a single step; other rows audit them. A split is false if both
of its sides have the class probabilities of its node: all splits of noise, and below
the step, or on other columns, all others. The share of trees of which any false split
is confirmed, with its standard error, beside the level of .05. "looked at ten times"
is of e-values, with Holm's correction: any false split at any look.

    python benchmarks audit_error
"""

import numpy as np
from common import options as command
from sklearn.tree import DecisionTreeClassifier

from skconftree.inspection import audit_splits

FEATURES, LEAVES, LOOKS = 10, 12, 10
TRUTHS = {  # class probabilities on the sides of a step at .5 of the first column
    "noise": ([0.5, 0.5], [0.5, 0.5]),
    "noise, 10 to 90": ([0.1, 0.9], [0.1, 0.9]),
    "noise, five classes": ([0.2] * 5, [0.2] * 5),
    "step, 80 to 20": ([0.8, 0.2], [0.2, 0.8]),
    "step, 95 to 30": ([0.95, 0.05], [0.3, 0.7]),
    "step, five classes": ([0.6] + [0.1] * 4, [0.1] * 4 + [0.6]),
}
ROWS = ((300, 30), (300, 100), (300, 300), (1_000, 2_000))
CORRECTIONS = {"Holm": "holm", "top-down": "top-down", "none": None}


def drawn(rng, n_rows, shares):
    """Uniform columns, and labels by the side of the step."""
    X = rng.random((n_rows, FEATURES)).astype(np.float32)
    limits = np.cumsum(shares, axis=1)[(X[:, 0] > 0.5).astype(int)]
    y = (rng.random((n_rows, 1)) > limits[:, :-1]).sum(axis=1)
    return X, y


def false_splits(tree, shares):
    """Nodes whose two sides have the same class probabilities."""
    if shares[0] == shares[1]:
        return {node for node in range(tree.node_count) if tree.feature[node] >= 0}
    found, waiting = set(), [(0, 0.0, 1.0)]
    while waiting:
        node, low, high = waiting.pop()
        if tree.feature[node] < 0:
            continue
        on_step, cut = tree.feature[node] == 0, tree.threshold[node]
        if not (on_step and low < 0.5 < high):
            found.add(node)
        left = (low, min(cut, high)) if on_step else (low, high)
        right = (max(cut, low), high) if on_step else (low, high)
        waiting.append((tree.children_left[node], *left))
        waiting.append((tree.children_right[node], *right))
    return found


def confirmed(audit):
    """Nodes that an audit confirms."""
    return {one.node for one in audit.splits_ if one.verdict == "confirmed"}


def errors(truth, sizes, seed):
    """Whether each kind of audit confirms a false split of one tree."""
    rng = np.random.default_rng(seed)
    shares = TRUTHS[truth]
    X, y = drawn(rng, sizes[0], shares)
    new = drawn(rng, sizes[1], shares)
    known = np.isin(new[1], y)
    new = new[0][known], new[1][known]
    tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=0).fit(X, y)
    false = false_splits(tree.tree_, shares)
    said = [
        bool(false & confirmed(audit_splits(tree, *new, correction=correction)))
        for correction in CORRECTIONS.values()
    ]
    parts = [np.array_split(part, LOOKS) for part in new]
    looks = zip(*parts, strict=True)
    audit = audit_splits(tree, *next(looks), anytime=True)
    seen = confirmed(audit)
    for part in looks:
        seen |= confirmed(audit.update(*part))
    return [*said, bool(false & seen)]


def main(argv=None):
    """Run the study and show its table."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--trees", type=int, default=1_000)
    options = parser.parse_args(argv)
    n_trees = 10 if options.quick else options.trees
    tables = command.tables("audit_error", options, f"{n_trees} trees a row")
    rows = []
    for truth in TRUTHS:
        for sizes in ROWS[1:2] if options.quick else ROWS:
            found = np.mean([errors(truth, sizes, seed) for seed in range(n_trees)], 0)
            spread = np.sqrt(found * (1.0 - found) / n_trees)
            cells = [
                f"{share:.3f} ({error:.3f})"
                for share, error in zip(found, spread, strict=True)
            ]
            rows.append([truth, *(f"{size:,}" for size in sizes), *cells])
            print(rows[-1], flush=True)
    header = ["truth", "rows", "new rows", *CORRECTIONS, "looked at ten times"]
    tables.show("audit-error", header, rows)
