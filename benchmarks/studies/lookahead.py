"""Should the default look ahead? Repeated ten-fold cross-validation on real tables.

    python benchmarks lookahead --data FOLDER [--repeats 3]

A variant is a number of levels, of tests tried at a node, and the confidence of the
pruning, by which trials are judged too. The tables are split beforehand, every other
one in alphabetical order. On each half the variant of highest mean accuracy is chosen
among those with no more leaves than the default without look-ahead; what it does on
the other half is reported. "Pooled" is each table under the choice of the other half.
Differences are in points, with their standard error over tables; leaves and CPU time
are geometric means of ratios. Beside them is CART, pruned by cross-validation.

Nominal columns are codes, holes are filled with the median or mode of the training
rows, and a table has at most 3,000 rows, a seeded sample in proportion to the classes.
"""

import time
import warnings

import numpy as np
from common import options as command
from common.data import data_folder, encoded, manifest
from common.study import TIE, Fold, cart
from sklearn.model_selection import StratifiedKFold

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import _lookahead

MAX_ROWS = 3_000
# The same people or flights as another table, which may be in the other half.
LEFT_OUT = ("a9a", "airlines2007-ordered")
BASE = "greedy"
CART = "CART, pruned by CV"
CONFIDENCES = (0.05, 0.02, 0.01)
# levels, tests tried, confidence of the pruning
VARIANTS = {
    BASE: (0, 3, 0.1),
    **{f"greedy, {c:g}": (0, 3, c) for c in CONFIDENCES},
    **{
        f"{levels} levels, {width} tests, {c:g}": (levels, width, c)
        for levels, width in ((4, 3), (8, 3), (4, 6), (8, 6))
        for c in CONFIDENCES
    },
}
HEADER = ["rule", "tables", "accuracy", "W/T/L", "leaves", "time", "worst table"]


def scores(fold, levels, width, confidence):
    """Accuracy, leaves and seconds of one variant on a fold."""
    X, X_test = fold.rows("codes")
    _lookahead.WIDTH = width
    model = ConfidenceTreeClassifier(
        lookahead=levels, pruning_confidence=confidence, shrinkage=0.0
    )
    start = time.process_time()
    model.fit(X, fold.y)
    seconds = time.process_time() - start
    right = model.classes_[model.tree_.raw_value.argmax(axis=1)][model.apply(X_test)]
    return (right == fold.y_test).mean(), model.get_n_leaves(), seconds


def cross_validate(name, folder, variants, repeats, rows):
    """Mean scores of each rule on one table."""
    X, y, is_nominal = encoded(name, folder, rows)
    found = {}
    for seed in range(repeats):
        folds = StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y)
        for train, test in folds:
            fold = Fold(X, y, is_nominal, train, test, seed)
            for rule, variant in variants.items():
                found.setdefault(rule, []).append(scores(fold, *variant))
            if seed == 0:
                _, tuned = cart(fold)
                measures = ("accuracy", "leaves", "seconds")
                tuned = [tuned[measure][1] for measure in measures]
                found.setdefault(CART, []).append(tuned)
    return {rule: np.mean(values, axis=0) for rule, values in found.items()}


def differences(results, names, rule, base=BASE):
    """Points of accuracy, and logarithms of the ratios of leaves and times."""
    own, other = (
        np.array([results[name][one(name) if callable(one) else one] for name in names])
        for one in (rule, base)
    )
    return 100.0 * (own - other)[:, 0], np.log(own / other)[:, 1:].T


def row(results, names, label, part, rule, base=BASE):
    """Make a row of the table."""
    points, (leaves, seconds) = differences(results, names, rule, base)
    error = points.std(ddof=1) / np.sqrt(len(points))
    worst = points.argmin()
    wins = [(points > TIE).sum(), (abs(points) <= TIE).sum(), (points < -TIE).sum()]
    return [
        label,
        part,
        f"{points.mean():+.2f} ({error:.2f})",
        "/".join(map(str, wins)),
        f"{np.exp(leaves.mean()):.2f}",
        f"{np.exp(seconds.mean()):.2f}",
        f"{points[worst]:+.1f} {names[worst]}",
    ]


def choose(results, names, variants):
    """Choose the variant of highest accuracy among those with no more leaves."""
    best, most = None, -np.inf
    for rule, (levels, _, _) in variants.items():
        points, (leaves, _) = differences(results, names, rule)
        if levels and leaves.mean() <= 0.0 and points.mean() > most:
            best, most = rule, points.mean()
    return best


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "quick", repeats=3)
    parser.add_argument(
        "--rows", type=int, default=MAX_ROWS, help="of a table, at most"
    )
    parser.add_argument("--only", nargs="+", help="these variants, beside greedy")
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    names = sorted(set(manifest(folder)) - set(LEFT_OUT))
    names = names[:6] if options.quick else names
    variants = {
        rule: variant
        for rule, variant in VARIANTS.items()
        if rule == BASE or not options.only or rule in options.only
    }
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    results = {}
    for name in names:
        start = time.process_time()
        results[name] = cross_validate(
            name, folder, variants, options.repeats, options.rows
        )
        print(f"  {name}: {time.process_time() - start:.1f} CPU s", flush=True)
    halves = {"first": names[::2], "second": names[1::2]}
    rows = []
    chosen = {}
    for (half, own), (other, rest) in zip(
        halves.items(), list(halves.items())[::-1], strict=True
    ):
        rule = choose(results, own, variants)
        if rule is None:
            continue
        for name in rest:
            chosen[name] = rule
        label = f"chosen on the {half} half: {rule}"
        rows.append(row(results, own, label, half, rule))
        rows.append(row(results, rest, label, other, rule))
    if len(chosen) == len(names):
        rows.append(row(results, names, "pooled", "all", chosen.get))
    for rule in [*variants, CART]:
        rows.append(row(results, names, rule, "all", rule))
    for rule in variants:
        label = f"{rule}, against {CART}"
        rows.append(row(results, names, label, "all", rule, CART))
    note = f"{options.repeats} times ten-fold cross-validation, {options.rows:,} rows"
    tables = command.tables("lookahead", options, note)
    tables.show("lookahead", HEADER, rows)
