"""Does a tree keep its first question? Trees of disjoint thirds of real tables.

    python benchmarks stability --data FOLDER --held-out OTHER --cache SCRATCH

A table is divided into thirds at random, several times. Each rule grows a tree of the
first third and one of the second: whether both ask about the same feature first is
counted where both ask at all, and both are judged by the last third. The rules differ
in where look-ahead begins. "Unless better" takes the tree whose root was looked ahead
for where its pessimistic count of errors is lower than that of the tree with a greedy
root by more than so many standard errors, the square root of the sum of both counts.
CART is pruned by cross-validation.

Differences are in points, to look-ahead from the root, with their standard error over
tables. Nominal columns are codes, holes are filled with the median or mode of the two
thirds that trees are grown of; a table has at most 4,500 rows, drawn in proportion to
the classes. The second table is of the tables of 9,000 rows or more, and thirds of
several sizes.

Results are kept per table and size in the cache folder; a second run only adds what is
missing.
"""

import json
import time
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
from common import options as command
from common.cart import by_paths
from common.data import (
    collections,
    data_folder,
    encoded,
    impute,
    manifest,
    table_names,
)

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import binomial_upper
from skconftree.tree import PessimisticPruning, _parameters

MAX_ROWS = 4_500
SIZES = (300, 900, 3_000, 9_000)
BASE = "look-ahead from the root"
FIRST = {BASE: 0, "greedy root": 1, "greedy first two levels": 2}
GREEDY = "greedy everywhere"
UNLESS = {f"greedy root unless better, z > {z:g}": z for z in (0.5, 1.0, 1.645, 2.33)}
CART = "CART, pruned by CV"
RULES = (*FIRST, GREEDY, *UNLESS, CART)
SHOWN = ("greedy root", BASE, GREEDY, CART)
MEASURES = ("accuracy", "leaves", "same root", "same answer")
HEADER = ["rule", "tables", "same root", "accuracy", "worst table", "same answer"]


def pessimistic_errors(model):
    """Sum over the leaves of the count of errors that the pruning goes by."""
    counts = model.tree_.counts[model.tree_.n_children == 0]
    n = counts.sum(axis=1)
    limit = binomial_upper(n - counts.max(axis=1), n, model.pruning_.confidence)
    return (n * limit).sum()


def trees(X, y):
    """Fit the tree of every rule."""
    found = {}
    for rule, first in FIRST.items():
        with patch.object(_parameters, "FIRST", first):
            found[rule] = ConfidenceTreeClassifier().fit(X, y)
    strength = found[BASE].pruning_.confidence
    found[GREEDY] = ConfidenceTreeClassifier(
        lookahead=0, pruning=PessimisticPruning(strength)
    ).fit(X, y)
    ahead, stays = found[BASE], found["greedy root"]
    costs = [pessimistic_errors(model) for model in (stays, ahead)]
    better = (costs[0] - costs[1]) / np.sqrt(max(sum(costs), 1.0))
    for rule, z in UNLESS.items():
        found[rule] = ahead if better > z else stays
    found[CART] = by_paths(X, y)
    return found


def judged(X, y, is_nominal, seed):
    """Measures of each rule on one division of a table."""
    order = np.random.default_rng(seed).permutation(len(y))
    first, second, last = np.array_split(order, 3)
    grown = np.concatenate([first, second])
    rows, X_test = impute(X[grown], X[last], is_nominal)
    X = X.copy()
    X[grown], X[last] = rows, X_test
    pair = [trees(X[part], y[part]) for part in (first, second)]
    found = {}
    for rule in RULES:
        models = [one[rule] for one in pair]
        roots = [model.tree_.feature[0] for model in models]
        told = [model.predict(X_test) for model in models]
        same = float(roots[0] == roots[1]) if min(roots) >= 0 else np.nan
        found[rule] = [
            np.mean([(one == y[last]).mean() for one in told]),
            np.mean([model.get_n_leaves() for model in models]),
            same,
            (told[0] == told[1]).mean(),
        ]
    return found


def studied(name, folder, rows, options):
    """Measures of each rule on each division of a table, (divisions, measures)."""
    path = Path(options.cache) / f"stability-{folder.name}-{name}-{rows}.json"
    known = json.loads(path.read_text()) if path.exists() else []
    if len(known) < options.repeats:
        start = time.process_time()
        X, y, is_nominal = encoded(name, folder, rows)
        for seed in range(len(known), options.repeats):
            known.append(judged(X, y, is_nominal, seed))
        path.write_text(json.dumps(known))
        spent = time.process_time() - start
        print(f"  {name}, {rows} rows: {spent:.1f} CPU s", flush=True)
    known = known[: options.repeats]
    return {rule: np.array([one[rule] for one in known]) for rule in RULES}


def means(results, rule, measure):
    """Mean over the divisions of each table; NaN where no pair of trees counted."""
    column = MEASURES.index(measure)
    values = [one[rule][:, column] for one in results.values()]
    return np.array([np.nanmean(v) if np.isfinite(v).any() else np.nan for v in values])


def row(results, rule, part):
    """Make a row of the first table."""
    right, base = (means(results, one, "accuracy") for one in (rule, BASE))
    points = 100.0 * (right - base)
    error = points.std(ddof=1) / np.sqrt(len(points))
    return [
        rule,
        part,
        f"{np.nanmean(means(results, rule, 'same root')):.2f}",
        "-" if rule == BASE else f"{points.mean():+.2f} ({error:.2f})",
        "-" if rule == BASE else f"{points.min():+.1f}",
        f"{means(results, rule, 'same answer').mean():.3f}",
    ]


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "held-out", "cache", "quick", repeats=12)
    options = parser.parse_args(argv)
    if options.cache is None:
        parser.error("--cache is needed: results of many minutes are kept there")
    Path(options.cache).mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    tables = command.tables("stability", options, f"{options.repeats} divisions")
    rows = []
    for part, folder, names in collections(options, 6):
        results = {one: studied(one, folder, MAX_ROWS, options) for one in names}
        rows += [row(results, rule, part) for rule in RULES]
    tables.show("stability", HEADER, rows)
    folder = data_folder(options.data)
    known = manifest(folder)
    large = [one for one in table_names(folder) if known[one]["rows"] >= max(SIZES)]
    rows = []
    for size in SIZES[: 1 if options.quick else None]:
        results = {one: studied(one, folder, size, options) for one in large}
        for rule in SHOWN:
            same = np.nanmean(means(results, rule, "same root"))
            right = 100.0 * means(results, rule, "accuracy").mean()
            cells = [f"{size // 3:,}", rule, f"{same:.2f}", f"{right:.1f}"]
            rows.append([*cells, f"{means(results, rule, 'leaves').mean():.1f}"])
    header = ["rows a tree", "rule", "same root", "accuracy", "leaves"]
    tables.show("stability-size", header, rows)
