"""Measure how good the sets of categories are that the tree finds without trying all.

Up to ten categories present at a node the tree tries every set, unless one ordering is
known to hold the best. Beyond, it tries the prefixes of some orderings. Here random
tables with 11 and 13 categories are split once, and all 1,023 or 4,095 sets are scored
beside it: the share of tables in which the tree found the best set, and its gain as a
share of the best gain, on average and in the worst table.

    python benchmarks nominal_sets [--tables 200]
"""

import numpy as np
from common import options as command

from skconftree import ConfidenceTreeClassifier


def best_score(counts, criterion):
    """Lowest total impurity of two children over all sets of categories."""
    m = len(counts)
    sets = (np.arange(1, 2 ** (m - 1))[:, np.newaxis] >> np.arange(m)) & 1
    left = sets @ counts
    return (score(left, criterion) + score(counts.sum(axis=0) - left, criterion)).min()


def score(counts, criterion):
    """Rows times impurity."""
    n = counts.sum(axis=-1)
    p = counts / np.maximum(n, 1)[..., np.newaxis]
    if criterion == "gini":
        return n * (1.0 - (p**2).sum(axis=-1))
    return -n * (p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1)


def share_of_gain(rng, n_categories, n_classes, criterion):
    """Gain of the tree's first split as a share of the largest possible gain."""
    spread = rng.choice([0.3, 1.0, 5.0])
    rows = rng.integers(3, rng.choice([8, 40, 200]), n_categories)
    prior = rng.dirichlet(np.full(n_classes, 2.0)) * n_classes * spread
    counts = np.zeros((1, 1))
    while np.count_nonzero(counts.sum(axis=0)) < 2:
        counts = np.array([rng.multinomial(n, rng.dirichlet(prior)) for n in rows])
    X, y = np.nonzero(counts)
    weight = counts[X, y]
    tree = ConfidenceTreeClassifier(
        bound=None, criterion=criterion, max_depth=1, categorical_features=[0]
    ).fit(X[:, np.newaxis], y, sample_weight=weight)
    seen = counts[:, np.isin(np.arange(n_classes), y)]
    whole = score(seen.sum(axis=0), criterion)
    children = tree.tree_.counts[1:]
    found = score(children, criterion).sum()
    return (whole - found) / (whole - best_score(seen, criterion))


def main(argv=None):
    """Print the table."""
    parser = command.parser(__doc__)
    parser.add_argument("--tables", type=int, default=200)
    options = parser.parse_args(argv)
    tables = command.tables("nominal_sets", options, f"{options.tables} tables a row")
    rows = []
    for criterion in ("gini", "entropy"):
        for n_classes in (2, 3, 5, 10, 20):
            for n_categories in (11, 13):
                rng = np.random.default_rng(0)
                shares = np.array(
                    [
                        share_of_gain(rng, n_categories, n_classes, criterion)
                        for _ in range(options.tables)
                    ]
                )
                rows.append(
                    [
                        *(criterion, n_classes, n_categories),
                        f"{100 * (shares > 1 - 1e-9).mean():.0f} %",
                        f"{100 * shares.mean():.2f} %",
                        f"{100 * shares.min():.1f} %",
                    ]
                )
    header = ["criterion", "classes", "categories"]
    header += ["best found", "mean gain", "worst gain"]
    tables.show("categories-sets", header, rows)
