"""How often does a tree split where there is nothing to find? Tables of pure noise.

Normal columns, and labels drawn without them: classes of equal shares, or two at 10 to
90. "Split" is the share of tables on which the tree has more than one leaf, with its
standard error over tables; "leaves" is the mean. CART is pruned by five-fold
cross-validation, of level prunings the smallest.

    python benchmarks noise_trees
"""

import numpy as np
from common import options as command
from common.cart import by_paths

from skconftree import ConfidenceTreeClassifier

RULES = {
    "default": lambda X, y: ConfidenceTreeClassifier().fit(X, y),
    "``lookahead=0``": lambda X, y: ConfidenceTreeClassifier(lookahead=0).fit(X, y),
    "default, not pruned": lambda X, y: ConfidenceTreeClassifier(pruning=None).fit(
        X, y
    ),
    "CART, tuned": by_paths,
}
SHAPES = ((50, 5), (300, 10), (1_000, 10), (3_000, 10))
SHARES = {"2": [0.5, 0.5], "2, 10 to 90": [0.1, 0.9], "10": [0.1] * 10}


def noise(n_rows, n_features, shares, seed):
    """Rows, and labels that do not depend on them; each class has five or more."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(
        np.concatenate(
            [
                np.repeat(np.arange(len(shares)), 5),
                rng.choice(len(shares), n_rows - 5 * len(shares), p=shares),
            ]
        )
    )
    return rng.normal(size=(n_rows, n_features)).astype(np.float32), y


def row(shape, classes, n_tables):
    """Shares of tables that are split, and mean leaves, of each rule."""
    cells = [f"{shape[0]:,} x {shape[1]}", classes]
    tables = [noise(*shape, SHARES[classes], seed) for seed in range(n_tables)]
    for fit in RULES.values():
        leaves = np.array([fit(X, y).get_n_leaves() for X, y in tables])
        split = leaves > 1
        error = split.std(ddof=1) / np.sqrt(n_tables)
        cells.append(f"{split.mean():.2f} ({error:.2f}), {leaves.mean():.1f}")
    return cells


def main(argv=None):
    """Run the study and show its table."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--tables", type=int, default=100)
    options = parser.parse_args(argv)
    n_tables = 3 if options.quick else options.tables
    tables = command.tables("noise_trees", options, f"{n_tables} tables a row")
    shapes = SHAPES[:2] if options.quick else SHAPES
    rows = [
        row(shape, classes, n_tables)
        for shape in shapes
        for classes in SHARES
        if shape[0] >= 10 * len(SHARES[classes])
    ]
    header = ["rows", "classes", *(f"{rule}: split, leaves" for rule in RULES)]
    tables.show("noise-trees", header, rows)
