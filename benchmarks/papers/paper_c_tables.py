"""De Rosa and Cesa-Bianchi (2017), section VII: online performance against leaves.

    python benchmarks paper_c_tables [--data FOLDER] [--cache SCRATCH] [--json FILE]

C-Tree (the practical bound, equation 10), H-Tree (Hoeffding's radius) and CorrH-Tree
(classification error, twice the radius), each over a grid of its parameter, with the
three criteria of the paper (CorrH-Tree has its own): running accuracy, each row
predicted before it is learned, or F1 of the rarer class where the paper has a star. As
there: majority leaves, no ties settled, an examination every 100 rows, Gaussian memory
of the leaves. Random trees after its algorithm (50 leaves, 5 features, 500,000 rows);
electricity, a9a and airlines from the data folder, each in several permutations.

The paper has grids of some 200 values, 1,000 random trees and ten permutations. Two
parts:

- ``tables``: all streams and criteria, with fewer values and random trees (about ten
  CPU minutes for random trees).
- ``random``: random trees with one criterion of each method, as in figure 3, with 200
  values and 100 trees (about two CPU hours).

Nominal columns are codes that are cut like numbers, there they have a branch for each
value; airlines is a part of the paper's table. ``--cache`` keeps each stream, so that
more trees add to those that ran. ``--quick`` tries the script; its figures mean
nothing.
"""

import time
from argparse import Namespace

import numpy as np
from common import options as command
from common.data import encoded, folder_if_any
from common.runs import Runs
from common.timing import print_environment, write_json
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import DeRosaBound, HoeffdingBound
from skconftree.datasets import make_random_tree_stream

# Name of the table, and whether the paper shows F1 of the rarer class.
TABLES = {
    "electricity": ("elec", False),
    "a9a*": ("a9a", True),
    "airlines": ("airlines", False),
}
CRITERIA = ("gini", "entropy", "kearns_mansour")
SHOWN = ("gini", "error")  # one criterion of each method
STRICTEST, LAXEST = 1e-90, 0.999
SIZES = (1, 2, 5, 10, 20, 35, 70, 150, 400)  # first number of leaves in a column
CHECKS = 20


def grids(n):
    """Parameters of the methods, from lax to strict.

    Parameters
    ----------
    n : int
        Values of each.

    Returns
    -------
    dict of str to list of (value, bound, criteria)
    """
    factors = np.geomspace(5e-5, 0.15, n)
    # as for c, each radius is the same number of times the one before
    roots = np.geomspace(*np.sqrt(-np.log([LAXEST, STRICTEST])), n)
    deltas = np.exp(-(roots**2))
    return {
        "C-Tree": [(c, DeRosaBound(c=c), CRITERIA) for c in factors],
        "H-Tree": [(delta, HoeffdingBound(delta), CRITERIA) for delta in deltas],
        "CorrH-Tree": [
            (delta, HoeffdingBound(delta, factor=2.0), ("error",)) for delta in deltas
        ],
    }


def random_trees(n_trees, options):
    """Name, None, and functions that make a stream of each random tree."""
    n = 5_000 if options.quick else 500_000
    trees = [
        lambda seed=seed: make_random_tree_stream(n, random_state=seed)
        for seed in range(n_trees)
    ]
    return f"random trees, {n:,} x 5", None, trees


def streams(folder, options):
    """Yield name, F1's class or None, and a list of functions that make a stream."""
    yield random_trees(options.trees, options)
    if folder is None:
        return
    for name, (table, starred) in TABLES.items():
        X, y, _ = encoded(table, folder)
        X = X.astype(np.float32)
        rare = np.bincount(y).argmin() if starred else None
        if options.quick:
            kept = np.random.default_rng(0).permutation(len(X))[:2000]
            X, y = X[kept], y[kept]

        def permuted(seed, X=X, y=y):
            order = np.random.default_rng(seed).permutation(len(X))
            return X[order], y[order]

        made = [
            lambda seed=seed, permuted=permuted: permuted(seed)
            for seed in range(options.permutations)
        ]
        yield f"{name}, {len(X):,} x {X.shape[1]}", rare, made


def running(tree, X, y, rare):
    """Performance so far and leaves, at equal distances along a stream.

    Returns
    -------
    ndarray of shape (CHECKS, 2)
    """
    tree, classes = clone(tree), np.arange(y.max() + 1)
    found, hits, wrong, correct = [], 0, 0, 0
    for rows in np.array_split(np.arange(len(X)), CHECKS):
        part = slice(rows[0], rows[-1] + 1)
        predicted = tree.partial_fit_predict(X[part], y[part], classes=classes)
        correct += np.count_nonzero(predicted == y[part])
        if rare is None:
            value = correct / (rows[-1] + 1)
        else:
            either = np.count_nonzero((predicted == rare) | (y[part] == rare))
            both = np.count_nonzero((predicted == rare) & (y[part] == rare))
            hits, wrong = hits + both, wrong + either - both
            value = 2 * hits / (2 * hits + wrong) if hits else 0.0
        found.append((value, tree.get_n_leaves()))
    return np.array(found)


def measure(name, makes, rare, grid, options, criteria=None):
    """Run every method with every parameter on every stream.

    With `criteria`, runs of all others are left out.

    Returns
    -------
    dict of (method, criterion) to ndarray (parameters, streams, CHECKS, 2)
    """
    keys = [
        (method, criterion)
        for method, settings in grid.items()
        for criterion in settings[0][2]
        if criteria is None or criterion in criteria
    ]

    def one(seed):
        X, y = makes[seed]()
        return [
            [
                running(
                    ConfidenceTreeClassifier(
                        bound,
                        criterion=criterion,
                        grace_period=100,
                        leaf_memory=options.memory,
                        leaf_prediction="majority",
                    ),
                    X,
                    y,
                    rare,
                ).tolist()
                for _, bound, _ in grid[method]
            ]
            for method, criterion in keys
        ]

    kept = Runs("paper_c_tables", Namespace(runs=len(makes), cache=options.cache))
    runs = kept.each(
        one,
        stream=name,
        keys=keys,
        values={method: [value for value, *_ in grid[method]] for method in grid},
        memory=options.memory,
    )
    return dict(zip(keys, np.array(runs).transpose(1, 2, 0, 3, 4), strict=True))


BEST = [
    "stream",
    "method",
    "criterion",
    "parameter",
    "value",
    "leaves",
    "in the first tenth",
]


def tuned(runs):
    """Place of the parameter with the best final performance in the mean."""
    return runs[:, :, -1, 0].mean(axis=1).argmax()


def best_rows(name, found, grid):
    """Each method at the parameter with the best final performance."""
    for (method, criterion), runs in found.items():
        means = runs.mean(axis=1)
        best = tuned(runs)
        value = grid[method][best][0]
        early = means[:, CHECKS // 10 - 1, 0].max()
        spread = runs[best, :, -1, 0].std()
        yield [
            name,
            method,
            criterion,
            f"{'c' if method == 'C-Tree' else 'delta'} {value:.3g}",
            f"{means[best, -1, 0]:.2%} ± {spread:.2%}",
            f"{means[best, -1, 1]:,.0f}",
            f"{early:.2%}",
        ]


def course_rows(name, found):
    """What `best_rows` ends with, along the streams: means over them."""
    for (method, criterion), runs in found.items():
        if criterion not in SHOWN:
            continue
        course = runs[tuned(runs)].mean(axis=0)
        for check, (value, leaves) in enumerate(course, start=1):
            share = f"{check / CHECKS:.0%}"
            yield [name, method, share, f"{leaves:.1f}", f"{value:.2%}"]


def size_group(leaves):
    """Index of the range of `SIZES` that has a number of leaves."""
    return np.searchsorted(np.array([*SIZES[1:], np.inf]), leaves, side="right")


def by_size_rows(name, found):
    """Final performance of all parameters and streams by the number of leaves."""
    for (method, criterion), runs in found.items():
        if criterion not in SHOWN:
            continue
        final = runs[:, :, -1].reshape(-1, 2)
        column = size_group(final[:, 1])
        cells = [
            f"{final[column == i, 0].mean():.2%}" if np.any(column == i) else ""
            for i in range(len(SIZES))
        ]
        yield [name, method, *cells]


def lead_row(found, method, other):
    """Difference of two methods at equal size: mean over streams ± standard error.

    On each stream, the trees of a method in one range of sizes count by their mean.
    """
    runs = {key: values[:, :, -1] for (key, _), values in found.items()}
    cells = []
    for i in range(len(SIZES)):
        differences = []
        for stream in range(runs[method].shape[1]):
            means = []
            for key in (method, other):
                values, leaves = runs[key][:, stream].T
                means.append(values[size_group(leaves) == i])
            if min(map(len, means)):
                differences.append(means[0].mean() - means[1].mean())
        n = len(differences)
        if n < 2:
            cells.append("")
            continue
        error = np.std(differences, ddof=1) / np.sqrt(n)
        cells.append(f"{100 * np.mean(differences):+.2f} ± {100 * error:.2f}")
    return [f"{method} minus {other}, points", *cells]


def size_names():
    """Headers of the columns."""
    ends = [size - 1 for size in SIZES[1:]]
    names = [
        f"{first}" if first == last else f"{first}-{last}"
        for first, last in zip(SIZES, ends, strict=False)
    ]
    return [*names, f"{SIZES[-1]}+"]


def part_tables(folder, options, tables, records):
    """All streams and criteria."""
    grid = grids(options.grid)
    best, courses, sizes = [], [], []
    begin = time.process_time()
    for name, rare, makes in streams(folder, options):
        short = name.split(",")[0]
        found = measure(name, makes, rare, grid, options)
        name += f", {len(makes)} streams"
        best += best_rows(name, found, grid)
        courses += course_rows(short, found)
        sizes += by_size_rows(short, found)
        print(f"{name}: {time.process_time() - begin:.0f} CPU s so far", flush=True)
        records += [
            {
                "stream": name,
                "method": method,
                "criterion": criterion,
                "parameters": [value for value, *_ in grid[method]],
                "value_and_leaves": runs.tolist(),
            }
            for (method, criterion), runs in found.items()
        ]
    tables.show("paper-c-tuned", BEST, best)
    header = ["stream", "method", "share of the stream", "leaves", "value"]
    tables.show("paper-c-courses", header, courses)
    tables.show("paper-c-leaves", ["stream", "method", *size_names()], sizes)


def part_random(folder, options, tables, records):
    """Random trees with one criterion of each method."""
    name, rare, makes = random_trees(options.random_trees, options)
    found = measure(name, makes, rare, grids(options.random_grid), options, SHOWN)
    rows = [row[1:] for row in by_size_rows(name, found)]
    rows += [lead_row(found, "C-Tree", other) for other in ("H-Tree", "CorrH-Tree")]
    tables.show("paper-c-random", ["method", *size_names()], rows)


PARTS = {"tables": part_tables, "random": part_random}


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--grid", type=int, default=30, help="values of each parameter")
    parser.add_argument("--trees", type=int, default=20, help="random trees")
    parser.add_argument("--random-grid", type=int, default=200, help="part random")
    parser.add_argument("--random-trees", type=int, default=100, help="part random")
    parser.add_argument("--permutations", type=int, default=10, help="of a real table")
    parser.add_argument("--memory", default="gaussian", help="leaf_memory")
    options = parser.parse_args(argv)
    if options.quick:
        options.grid, options.trees, options.permutations = 3, 1, 1
        options.random_grid, options.random_trees = 3, 1
    folder = folder_if_any(options.data, "random trees")
    sizes = {
        "tables": f"{options.grid} values of each parameter, {options.trees} random "
        f"trees, {options.permutations} permutations",
        "random": f"{options.random_grid} values of each parameter, "
        f"{options.random_trees} random trees",
    }
    records = []
    for part in options.part:
        note = f"{sizes[part]}; published: about 200 values, 1,000 random trees, "
        tables = command.tables("paper_c_tables", options, note + "10 permutations")
        print_environment(tables.facts)
        PARTS[part](folder, options, tables, records)
    write_json(options.json, {"environment": tables.facts, "records": records})
