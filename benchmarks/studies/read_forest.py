"""What a tree distilled from a forest is worth: of few labels, and of all of them.

    python benchmarks read_forest --data FOLDER [--part few|all] [--json FILE]

Halves of each of sixteen tables are pool and test rows, again in each paired run.

Few labels: all learners begin with the same ten labels at random and request five at a
time, up to 80: the default tree random ones, a forest of 50 trees by margin. After each
batch the tree distilled from the forest is scored beside the default tree.

All labels: the tree distilled from a forest of the whole pool, beside the default tree
of the pool, with as many leaves, and beside the forest.

At most 2,000 rows a table; nominal columns are codes, holes are filled. A quarter of an
hour of CPU time, of which all labels are a minute or two.
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
    """Accuracy and log loss of [run]: of default tree, forest's tree and forest."""
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
                for one in (alone, tree, forest)
            ]
        )
    return np.array(found)[:, :, :2]


def share(labels, alone, pair):
    """Labels of the pair, as a share of those that random ones were at the end."""
    enough = np.flatnonzero(pair.mean(axis=0) >= alone[:, -1].mean())
    return labels[enough[0]] / labels[-1] if len(enough) else np.inf


def show_few(found, tables):
    """Print the table of few labels."""
    rows = [
        [name, shown(part), *(f"{gain:+.1f}" for gain in gains)]
        for name, (part, gains) in found.items()
    ]
    shares = [part for part, _ in found.values()]
    told = f"{np.median(shares):.2f} (worst {shown(max(shares))})"
    means = np.array([gains for _, gains in found.values()]).T
    rows.append(["all: median, means", told, *(with_error(one, 1) for one in means)])
    header = [f"points more at {k} labels" for k in LOOKS]
    tables.show("read-forest", ["table", "share of random's labels", *header], rows)


def show_all(found, tables):
    """Print the table of all labels."""
    rows = [
        [
            name,
            f"{100 * (tree[0] - alone[0]):+.1f}",
            *(f"{p[1]:.3f}" for p in (alone, tree, forest)),
        ]
        for name, (alone, tree, forest) in found.items()
    ]
    every = np.array(list(found.values()))
    gaps = every[:, 1] - every[:, 0]
    losses = every[:, :, 1].mean(axis=0)
    ratio = losses[1] / losses[0]
    rows.append(
        [
            "mean difference",
            with_error(100 * gaps[:, 0], 2),
            f"{losses[0]:.3f}",
            f"{with_error(gaps[:, 1], 3)}, times {ratio:.2f}",
            f"{losses[2]:.3f}",
        ]
    )
    header = ["table", "accuracy, points more", "log loss, default tree"]
    header += ["log loss, the forest's tree", "log loss, forest"]
    tables.show("read-forest-all", header, rows)


def main(argv=None):
    """Print the tables."""
    options, tables, each = begin("read_forest", __doc__, argv, ("few", "all"))
    few, every = {}, {}
    for name, X, y in each:
        if options.part != "all":
            labels, alone, pair = few_labels(X, y, options.runs)
            gaps = 100 * (pair - alone).mean(axis=0)
            gains = [gaps[labels == k].item() for k in LOOKS]
            few[name] = share(labels, alone, pair), gains
        if options.part != "few":
            every[name] = all_labels(X, y, options.runs).mean(axis=0)
        write_json(options.json, {"environment": tables.facts, "few": few})
    if few:
        show_few(few, tables)
    if every:
        show_all(every, tables)
