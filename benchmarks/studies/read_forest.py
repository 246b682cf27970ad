"""What a tree that imitates a forest is worth: of few labels, and of all of them.

    python benchmarks read_forest --data FOLDER [--json FILE]

Halves of each of sixteen tables are pool and test rows, anew in each paired run.

Few labels: all learners begin with the same ten labels at random and request five at a
time, up to 80: the default tree random ones, a forest of 50 trees by margin. After each
batch the tree that imitates the forest is scored beside the default tree.

All labels: the tree that imitates a forest of the whole pool, beside the default tree
of the pool; both have as many leaves.

At most 2,000 rows a table; nominal columns are codes, holes are filled. A quarter of an
hour of CPU time.
"""

import numpy as np
from common.judging import scores, with_error
from common.timing import write_json

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import simulate
from studies._paired_halves import begin, halves
from studies.active_sets import shown

LABELS, FIRST, BATCH = 80, 10, 5
LOOKS = (40, 80)
N_TREES = 50


def few_labels(X, y, runs):
    """Labels; accuracy of [run, number]: of the default tree, of the forest's."""
    given = {
        "cv": halves(runs),
        "budget": min(LABELS, len(y) // 2),
        "batch_size": BATCH,
        "n_initial": FIRST,
        "random_state": 0,
    }
    alone = simulate(ConfidenceTreeClassifier(), X, y, **given)
    pair = simulate(ConfidenceForestClassifier(N_TREES), X, y, to_tree=True, **given)
    return (
        alone.n_labels,
        alone.scores[alone.strategies.index("random")],
        pair.scores[pair.strategies.index("margin, tree")],
    )


def all_labels(X, y, runs):
    """Accuracy and log loss of [run]: of the default tree, of the forest's tree."""
    y = np.unique(y, return_inverse=True)[1]
    found = []
    for run, (pool, test) in enumerate(halves(runs).split(X)):
        alone = ConfidenceTreeClassifier(random_state=run).fit(X[pool], y[pool])
        forest = ConfidenceForestClassifier(N_TREES, random_state=run)
        leaves = max(alone.get_n_leaves(), 2)
        tree = forest.fit(X[pool], y[pool]).to_tree(
            X[pool], max_leaf_nodes=leaves, random_state=run
        )
        found.append(
            [
                scores(one.predict_proba(X[test]), one.classes_, y[test], y.max() + 1)
                for one in (alone, tree)
            ]
        )
    return np.array(found)[:, :, :2]


def share(labels, alone, pair):
    """Labels of the pair, as a share of those that random ones were at the end."""
    enough = np.flatnonzero(pair.mean(axis=0) >= alone[:, -1].mean())
    return labels[enough[0]] / labels[-1] if len(enough) else np.inf


def main(argv=None):
    """Print the tables."""
    options, tables, each = begin("read_forest", __doc__, argv)
    shares, gains, judged = {}, {}, {}
    for name, X, y in each:
        labels, alone, pair = few_labels(X, y, options.runs)
        shares[name] = share(labels, alone, pair)
        gaps = 100 * (pair - alone).mean(axis=0)
        gains[name] = [gaps[labels == k].item() for k in LOOKS]
        judged[name] = all_labels(X, y, options.runs).mean(axis=0)
        write_json(options.json, {"environment": tables.facts, "shares": shares})
    rows = [
        [name, shown(shares[name]), *(f"{gain:+.1f}" for gain in gains[name])]
        for name in shares
    ]
    told = (
        f"{np.median(list(shares.values())):.2f} (worst {shown(max(shares.values()))})"
    )
    means = [with_error(one, 1) for one in np.array(list(gains.values())).T]
    rows.append(["all: median, means", told, *means])
    header = [f"points more at {k} labels" for k in LOOKS]
    tables.show("read-forest", ["table", "share of random's labels", *header], rows)
    rows = [
        [
            name,
            f"{100 * (tree[0] - alone[0]):+.1f}",
            *(f"{p[1]:.3f}" for p in (alone, tree)),
        ]
        for name, (alone, tree) in judged.items()
    ]
    both = np.array(list(judged.values()))
    gaps = both[:, 1] - both[:, 0]
    ratio = both[:, 1, 1].mean() / both[:, 0, 1].mean()
    rows.append(
        [
            "mean difference",
            with_error(100 * gaps[:, 0], 2),
            f"{both[:, 0, 1].mean():.3f}",
            f"{with_error(gaps[:, 1], 3)}, times {ratio:.2f}",
        ]
    )
    header = ["table", "accuracy, points more", "log loss, default tree"]
    tables.show("read-forest-all", [*header, "log loss, the forest's tree"], rows)
