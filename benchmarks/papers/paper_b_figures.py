"""Figures 2 and 3 of Serrurier and Prade (2015): entropy, size and accuracy of trees.

On the Yeast table: 90 % of the rows for training, random trees of random size, their
entropy on the training rows against the number of leaves (Figure 2) and against the
accuracy on the other rows (Figure 3). A node's attribute is drawn at random, its
threshold minimizes plain and possibilistic entropy by turns. Both entropies are shown
as sums over the leaves weighted by rows, and without weights, as equation (18) is
printed. The paper does not say which node is split next, nor how sizes are drawn: here
a leaf by its share of rows, and the logarithm of the size uniformly.

Without the table ``yeast`` there is nothing to do. The 10,000 trees of the paper take
some five CPU minutes. What has run stays in the cache folder. ``--quick`` tries the
script.

    python benchmarks paper_b_figures --data FOLDER [--cache SCRATCH] [--plot FILE]
"""

from functools import partial

import numpy as np
from common import options as command
from common.data import encoded, folder_if_any, manifest
from common.runs import Runs
from common.timing import print_environment, write_json
from scipy.stats import spearmanr

from skconftree.bounds import possibilistic_entropy, possibilistic_quality

MEASURES = (
    "plain",
    "possibilistic",
    "plain, unweighted",
    "possibilistic, unweighted",
)
N_BINS = 10


def plain_entropy(counts):
    """Entropy in bits of class counts, along the last axis."""
    p = counts / counts.sum(axis=-1, keepdims=True)
    return -np.sum(p * np.log2(np.where(p > 0, p, 1.0)), axis=-1)


def best_threshold(x, y, n_classes, entropy):
    """Cut between two values that minimizes the entropy of both sides."""
    order = np.argsort(x, kind="stable")
    x = x[order]
    below = np.cumsum(np.eye(n_classes)[y[order]], axis=0)
    cuts = np.flatnonzero(x[1:] > x[:-1])
    left, right = below[cuts], below[-1] - below[cuts]
    cost = left.sum(axis=1) * entropy(left) + right.sum(axis=1) * entropy(right)
    best = cuts[cost.argmin()]
    return (x[best] + x[best + 1]) / 2


def random_tree(X, y, n_train, n_classes, n_leaves, entropies, rng):
    """Grow a random tree on the first `n_train` rows.

    Returns
    -------
    tuple of two lists of ndarray
        Training rows and other rows of each leaf.
    """
    rows = np.arange(len(y))
    open_leaves, closed = [(rows[:n_train], rows[n_train:])], []
    turn = 0
    while open_leaves and len(open_leaves) + len(closed) < n_leaves:
        sizes = np.array([len(train) for train, _ in open_leaves])
        i = rng.choice(len(sizes), p=sizes / sizes.sum())
        open_leaves[i], open_leaves[-1] = open_leaves[-1], open_leaves[i]
        train, test = open_leaves.pop()
        varying = np.flatnonzero(np.ptp(X[train], axis=0) > 0)
        if not len(varying) or np.all(y[train] == y[train[0]]):
            closed.append((train, test))
            continue
        x = X[:, rng.choice(varying)]
        cut = best_threshold(x[train], y[train], n_classes, entropies[turn % 2])
        turn += 1
        for goes in (np.less_equal, np.greater):
            open_leaves.append((train[goes(x[train], cut)], test[goes(x[test], cut)]))
    return zip(*open_leaves, *closed, strict=True)


def measure(X, y, n_trees, max_leaves, gamma, seed):
    """Leaves, entropies and accuracy of random trees on one division of the rows.

    Returns
    -------
    list of list
        For each tree its leaves, the `MEASURES` and its accuracy.
    """
    rng = np.random.default_rng(seed)
    n_classes = y.max() + 1
    n_train = round(0.9 * len(y))
    entropies = (plain_entropy, lambda counts: possibilistic_entropy(counts, gamma))
    order = rng.permutation(len(y))
    rows, labels = X[order], y[order]
    found = []
    for _ in range(n_trees):
        train, test = random_tree(
            rows,
            labels,
            n_train,
            n_classes,
            round(max_leaves ** rng.random()),
            entropies,
            rng,
        )
        counts = np.array(
            [np.bincount(labels[leaf], minlength=n_classes) for leaf in train]
        )
        hits = [
            np.count_nonzero(labels[leaf] == votes.argmax())
            for leaf, votes in zip(test, counts, strict=True)
        ]
        plain = plain_entropy(counts)
        found.append(
            [
                len(counts),
                float(np.average(plain, weights=counts.sum(axis=1))),
                possibilistic_quality(counts, gamma),
                float(plain.sum()),
                possibilistic_quality(counts, gamma, weighted=False),
                sum(hits) / (len(labels) - n_train),
            ]
        )
    return found


def means(found, by, shown):
    """Means of the measures in bins of equal size along one of them."""
    order = np.argsort(found[by], kind="stable")
    for part in np.array_split(order, min(N_BINS, len(order))):
        yield [found[name][part].mean() for name in (by, *shown)]


def figures(rows):
    """Format rows of numbers."""
    return [[f"{value:.3f}" for value in row] for row in rows]


def plot(found, path):
    """Draw both figures, weighted, as points and means of bins."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
    for row, name in zip(axes, MEASURES[:2], strict=True):
        for axis, (across, up) in zip(
            row, (("leaves", name), (name, "accuracy")), strict=True
        ):
            axis.plot(found[across], found[up], ".", ms=2, alpha=0.3)
            axis.plot(*np.array(list(means(found, across, [up]))).T, "k-")
            axis.set(
                xlabel=across if across == "leaves" else f"{across} entropy, training",
                ylabel=up if up == "accuracy" else f"{up} entropy, training",
            )
    figure.savefig(path, dpi=150)


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--runs", type=int, default=1000, help="divisions of the rows")
    parser.add_argument("--trees", type=int, default=10, help="for each of them")
    parser.add_argument("--max-leaves", type=int, default=400)
    parser.add_argument("--gamma", type=float, default=0.05)
    parser.add_argument("--plot", metavar="FILE")
    options = parser.parse_args(argv)
    if options.quick:
        options.runs = 2
    note = f"{options.runs} x {options.trees} random trees, gamma {options.gamma:g}; "
    note += "published: 1,000 x 10, gamma is not given"
    tables = command.tables("paper_b_figures", options, note)
    print_environment(tables.facts)
    folder = folder_if_any(options.data, "nothing")
    if folder is None or "yeast" not in manifest(folder):
        return
    X, y, _ = encoded("yeast", folder)
    own = options.trees, options.max_leaves, options.gamma
    runs = Runs("paper_b_figures", options).each(partial(measure, X, y, *own), of=own)
    columns = np.concatenate(runs).T
    found = dict(zip(("leaves", *MEASURES, "accuracy"), columns, strict=True))
    rows = figures(means(found, "leaves", (*MEASURES, "accuracy")))
    title = "Figure 2: entropy on the training rows by the number of leaves."
    tables.show("paper-b-figure-2", ["leaves", *MEASURES, "accuracy"], rows, title)
    header = [text for name in MEASURES for text in (name, "accuracy")]
    columns = [list(means(found, name, ["accuracy"])) for name in MEASURES]
    rows = figures(np.concatenate(row) for row in zip(*columns, strict=True))
    title = "Figure 3: accuracy on the other rows by the entropy on the training rows."
    tables.show("paper-b-figure-3", header, rows, title)
    large = found["leaves"] >= np.median(found["leaves"])
    rows = []
    for name in MEASURES:
        every = spearmanr(found[name], found["accuracy"]).statistic
        half = spearmanr(found[name][large], found["accuracy"][large]).statistic
        rows.append([name, f"{every:.2f}", f"{half:.2f}"])
    title = "Spearman's correlation with the accuracy"
    tables.show("paper-b-ranks", ["entropy", "all trees", "larger half"], rows, title)
    if options.plot:
        plot(found, options.plot)
    write_json(options.json, {"environment": tables.facts, "runs": runs})
