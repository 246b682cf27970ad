"""What O-PiTree costs beside PiTree (Serrurier and Prade, 2015, sections 4.2 and 5).

    python benchmarks paper_b_online --data FOLDER [--json FILE]

The paper reports that learning all examples one by one is up to ten times slower than
the batch tree, and that an update of the tree is at least 100 times faster than the
batch tree. Here both are compiled: `fit` against one call of `partial_fit` that learns
the same rows, keeps them all and examines a leaf at each (``leaf_memory="rows"``,
``grace_period=1``), the possibilistic bound at one gamma, no pruning. Accuracy and
leaves by ten-fold cross-validation, CPU seconds of fits to all rows, medians of runs
that take turns. Those tables of the paper that the data folder has; nominal columns
are codes that are cut like numbers.
"""

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, manifest
from common.timing import (
    interleaved,
    median,
    print_environment,
    write_json,
)
from sklearn.base import clone
from sklearn.model_selection import KFold

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import PossibilisticBound

TABLES = (
    "soybean",
    "zoo",
    "yeast",
    "diabetes",
    "banknote",
    "ecoli",
    "ionosphere",
    "segment",
    "pendigits",
    "wine",
)
HEADER = [
    "table",
    "PiTree: accuracy, leaves",
    "O-PiTree: accuracy, leaves",
    "PiTree, ms",
    "O-PiTree, ms",
    "O-PiTree / PiTree",
    "PiTree / one update",
    "every 20 rows: accuracy, leaves",
    "its ratio",
]


def models(gamma):
    """Make the batch tree and the online trees."""
    common = {
        "bound": PossibilisticBound(gamma, classes="all"),
        "pruning": None,
        "leaf_memory": "rows",
        "leaf_prediction": "majority",
    }
    batch = ConfidenceTreeClassifier(**{**common, "leaf_memory": "auto"})
    online = {
        grace: ConfidenceTreeClassifier(grace_period=grace, **common)
        for grace in (1, 20)
    }
    return {
        "batch": lambda X, y, classes: clone(batch).fit(X, y),
        **{
            f"online {grace}": lambda X, y, classes, tree=tree: clone(tree).partial_fit(
                X, y, classes=classes
            )
            for grace, tree in online.items()
        },
    }


def cross_validated(grow, X, y, is_nominal, seed):
    """Mean accuracy and leaves over ten folds, training rows in random order."""
    folds = KFold(10, shuffle=True, random_state=seed)
    rng = np.random.default_rng(seed)
    found = []
    for train, test in folds.split(X):
        train = rng.permutation(train)
        rows, others = impute(X[train], X[test], is_nominal)
        tree = grow(rows, y[train], np.arange(y.max() + 1))
        found.append((tree.score(others, y[test]), tree.get_n_leaves()))
    return np.mean(found, axis=0)


def main(argv=None):
    """Print the table."""
    parser = command.parser(__doc__, "data", "quick", "json", repeats=5, seed=0)
    parser.add_argument("--gamma", type=float, default=0.05)
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    note = f"gamma {options.gamma:g}, medians of {options.repeats} runs"
    tables = command.tables("paper_b_online", options, note)
    facts = tables.facts
    print_environment(facts)
    known = manifest(folder)
    rows, records, ratios = [], [], []
    grow = models(options.gamma)
    for name in [name for name in TABLES if name in known]:
        if options.quick and known[name]["rows"] > 300:
            continue
        X, y, is_nominal = encoded(name, folder)
        X = impute(X, X, is_nominal)[0]
        order = np.random.default_rng(options.seed).permutation(len(X))
        X, y = X[order], y[order]
        given = X, y, np.arange(y.max() + 1)
        seconds = interleaved(
            {key: lambda g=one, given=given: g(*given) for key, one in grow.items()},
            1 if options.quick else options.repeats,
        )
        cost = {key: median(one) for key, one in seconds.items()}
        quality = {
            key: cross_validated(one, X, y, is_nominal, options.seed)
            for key, one in grow.items()
        }
        shown = {
            key: f"{accuracy:.1%}, {leaves:.1f}"
            for key, (accuracy, leaves) in quality.items()
        }
        ratio = cost["online 1"] / cost["batch"]
        ratios.append(ratio)
        rows.append(
            [
                f"{name}, {len(X):,} x {X.shape[1]}",
                shown["batch"],
                shown["online 1"],
                f"{1e3 * cost['batch']:.2f}",
                f"{1e3 * cost['online 1']:.1f}",
                f"{ratio:.0f}",
                f"{len(X) / ratio:.0f}",
                shown["online 20"],
                f"{cost['online 20'] / cost['batch']:.1f}",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
        records.append(
            {
                "table": name,
                "seconds": seconds,
                "quality": {key: list(one) for key, one in quality.items()},
            }
        )
    tables.show("paper-b-online", HEADER, rows)
    print(f"\nO-PiTree / PiTree, geometric mean: {np.exp(np.mean(np.log(ratios))):.0f}")
    write_json(options.json, {"environment": facts, "records": records})
