"""How far possibilistic trees grow where there is nothing, or one cut, to find.

Mean leaves, with their standard error over tables, of trees that are not pruned: by
plain entropy, and by the possibilistic bound with either correction. Columns are
normal; labels are of two equal classes, or agree with the sign of the first column in
80 % of the rows.

    python benchmarks possibilistic_leaves
"""

import numpy as np
from common import options as command

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import PossibilisticBound

N_FEATURES = 5
TRUTHS = {  # rows, and the share of labels that agree with the first column
    "noise, 200 rows, 5 features": (200, 0.5),
    "one true cut (80/20), 300 rows, 5 features": (300, 0.8),
}
BOUNDS = {
    "plain entropy": None,
    **{
        f'`"{correction}"`': PossibilisticBound(correction=correction)
        for correction in ("branches", "all_tests")
    },
}


def leaves(bound, n_rows, share, seed):
    """Leaves of the tree of one table."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    y = (X[:, 0] > 0) ^ (rng.random(n_rows) > share)
    tree = ConfidenceTreeClassifier(bound, criterion="entropy", pruning=None)
    return tree.fit(X, y).get_n_leaves()


def main(argv=None):
    """Run the study and show its table."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--tables", type=int, default=200)
    options = parser.parse_args(argv)
    n_tables = 3 if options.quick else options.tables
    shown = command.tables("possibilistic_leaves", options, f"{n_tables} tables a row")
    rows = []
    for name, truth in TRUTHS.items():
        cells = [name]
        for bound in BOUNDS.values():
            found = [leaves(bound, *truth, seed) for seed in range(n_tables)]
            error = np.std(found, ddof=1) / np.sqrt(n_tables)
            cells.append(f"{np.mean(found):.1f} ({error:.1f})")
        rows.append(cells)
    shown.show("possibilistic-leaves", ["data", *BOUNDS], rows)
