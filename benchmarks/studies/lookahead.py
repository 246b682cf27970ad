"""Should the default look ahead? Repeated ten-fold cross-validation on real tables.

    python benchmarks lookahead --data FOLDER --held-out OTHER --cache SCRATCH

A variant is a number of levels, of tests tried at a node, and the confidence of the
pruning, by which trials are judged too. All begin below the root but the one that says
so, which was the default when it was chosen and is not chosen any more. The tables are
split beforehand, every other one in alphabetical order. On each half the variant of
highest mean accuracy is chosen among those with no more leaves than the default without
look-ahead; what it does on the other half is reported. "Pooled" is each table under the
choice of the other half. What all tables together choose is reported on tables of
another folder, which nothing was chosen on (``python benchmarks held_out`` makes it).
Differences are in points, with their standard error over tables and, behind it, the
part of it that is noise of the folds, which further repeats would take away: the rest
is how tables differ. Leaves and CPU time are geometric means of ratios. Beside them is
CART, pruned by cross-validation.

Nominal columns are codes, holes are filled with the median or mode of the training
rows, and a table has at most 3,000 rows, a seeded sample in proportion to the classes.
Tables on which a tree takes long are repeated twice.

Results are kept per table and repeat in the cache folder; a second run only adds what
is missing.
"""

import json
import time
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
from common import options as command
from common.data import data_folder, encoded, table_names
from common.judging import TIE
from common.study import Fold, cart
from sklearn.model_selection import StratifiedKFold

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import PessimisticPruning, _parameters

MAX_ROWS = 3_000
BASE = "greedy"
CART = "CART, pruned by CV"
CONFIDENCES = (0.05, 0.02, 0.01)
LARGE = 1_000_000  # values times classes of a table that is repeated twice
FROM_ROOT = "from the root: 8 levels, 3 tests, 0.02"
# depth of the first level, levels, tests tried, confidence of the pruning
VARIANTS = {
    BASE: (1, 0, 3, 0.1),
    **{f"greedy, {c:g}": (1, 0, 3, c) for c in CONFIDENCES},
    FROM_ROOT: (0, 8, 3, 0.02),
    **{
        f"{levels} levels, {width} tests, {c:g}": (1, levels, width, c)
        for levels, width in ((4, 3), (8, 3), (4, 6), (8, 6))
        for c in CONFIDENCES
    },
}
HEADER = [
    "rule",
    "tables",
    "accuracy",
    "of the folds",
    "W/T/L",
    "leaves",
    "time",
    "worst table",
]


def scores(fold, first, levels, width, confidence):
    """Accuracy, leaves and seconds of one variant on a fold."""
    X, X_test = fold.rows("codes")
    model = ConfidenceTreeClassifier(
        lookahead=levels, pruning=PessimisticPruning(confidence), shrinkage=0.0
    )
    # patched here alone: the fingerprint is of the default
    with patch.multiple(_parameters, FIRST=first, WIDTH=width):
        start = time.process_time()
        model.fit(X, fold.y)
        seconds = time.process_time() - start
    right = model.classes_[model.tree_.raw_proba.argmax(axis=1)][model.apply(X_test)]
    return (right == fold.y_test).mean(), model.get_n_leaves(), seconds


def cross_validate(name, folder, variants, seed, options):
    """Mean scores of each rule on one table; kept in the cache."""
    path = Path(options.cache) / f"{folder.name}-{name}-{seed}-{options.rows}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    missing = {rule: one for rule, one in variants.items() if rule not in known}
    with_cart = seed == 0 and CART not in known
    if not missing and not with_cart:
        return known
    X, y, is_nominal = encoded(name, folder, options.rows)
    found = {}
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
        fold = Fold(X, y, is_nominal, train, test, seed)
        for rule, variant in missing.items():
            found.setdefault(rule, []).append(scores(fold, *variant))
        if with_cart:
            _, tuned = cart(fold)
            measures = ("accuracy", "leaves", "seconds")
            found.setdefault(CART, []).append([tuned[one][1] for one in measures])
    known |= {rule: np.mean(values, axis=0).tolist() for rule, values in found.items()}
    known["size"] = X.size * (int(y.max()) + 1)
    path.write_text(json.dumps(known))
    return known


def collect(names, folder, variants, options):
    """Scores of each rule: table -> rule -> array of (repeats, measures)."""
    results = {name: {} for name in names}
    for seed in range(options.repeats):
        for name in names:
            start = time.process_time()
            if seed > 1 and results[name]["size"] > LARGE:
                continue
            found = cross_validate(name, folder, variants, seed, options)
            results[name]["size"] = found["size"]
            for rule in [*variants, CART]:
                if rule in found and (rule != CART or seed == 0):
                    results[name].setdefault(rule, []).append(found[rule])
            spent = time.process_time() - start
            if spent > 0.1:
                print(f"  {name}, repeat {seed}: {spent:.1f} CPU s", flush=True)
    return results


def differences(results, names, rule, base=BASE):
    """Points of accuracy, their noise, and logarithms of ratios of leaves and times.

    The noise is the squared standard error of a table's points over its repeats.
    """
    points, noise, ratios = [], [], []
    for name in names:
        own, other = (
            np.array(results[name][one(name) if callable(one) else one])
            for one in (rule, base)
        )
        n = min(len(own), len(other))
        repeats = 100.0 * (own[:n, 0] - other[:n, 0])
        points.append(repeats.mean())
        noise.append(repeats.var(ddof=1) / n if n > 1 else np.nan)
        ratios.append(np.log(own[:n, 1:].mean(axis=0) / other[:n, 1:].mean(axis=0)))
    return np.array(points), np.array(noise), np.transpose(ratios)


def row(results, names, label, part, rule, base=BASE):
    """Make a row of the table."""
    points, noise, (leaves, seconds) = differences(results, names, rule, base)
    error = points.std(ddof=1) / np.sqrt(len(points))
    of_folds = np.sqrt(noise.sum()) / len(points)
    worst = points.argmin()
    wins = [(points > TIE).sum(), (abs(points) <= TIE).sum(), (points < -TIE).sum()]
    return [
        label,
        part,
        f"{points.mean():+.2f} ({error:.2f})",
        "-" if np.isnan(of_folds) else f"{of_folds:.2f}",
        "/".join(map(str, wins)),
        f"{np.exp(leaves.mean()):.2f}",
        f"{np.exp(seconds.mean()):.2f}",
        f"{points[worst]:+.1f} {names[worst]}",
    ]


def choose(results, names, variants):
    """Choose the variant of highest accuracy among those with no more leaves."""
    best, most = None, -np.inf
    for rule, (_, levels, _, _) in variants.items():
        if rule == FROM_ROOT:
            continue
        points, _, (leaves, _) = differences(results, names, rule)
        if levels and leaves.mean() <= 0.0 and points.mean() > most:
            best, most = rule, points.mean()
    return best


def studied(folder, variants, options):
    """Names of the tables of a folder, and their results."""
    names = table_names(folder)
    names = names[:6] if options.quick else names
    return names, collect(names, folder, variants, options)


def by_halves(results, names, variants):
    """Make rows of what each half chooses, on itself and on the other one."""
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
    return rows


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "held-out", "cache", "quick", repeats=3)
    parser.add_argument(
        "--rows", type=int, default=MAX_ROWS, help="of a table, at most"
    )
    parser.add_argument("--only", nargs="+", help="these variants, beside greedy")
    options = parser.parse_args(argv)
    if options.cache is None:
        parser.error("--cache is needed: results of many minutes are kept there")
    Path(options.cache).mkdir(parents=True, exist_ok=True)
    variants = {
        rule: variant
        for rule, variant in VARIANTS.items()
        if rule == BASE or not options.only or rule in options.only
    }
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    folder = data_folder(options.data)
    note = f"{options.repeats} times ten-fold cross-validation, {options.rows:,} rows"
    tables = command.tables("lookahead", options, note)
    names, results = studied(folder, variants, options)
    rows = by_halves(results, names, variants)
    rule = choose(results, names, variants)
    label = f"chosen on all: {rule}"
    parts = [("all", names, results)]
    if options.held_out:
        parts.append(("held out", *studied(options.held_out, variants, options)))
    for part, names, results in parts:
        rows.append(row(results, names, label, part, rule))
        for one in (rule, BASE):
            rows.append(row(results, names, f"{one}, against {CART}", part, one, CART))
    for part, names, results in parts:
        for one in [*variants, CART]:
            rows.append(row(results, names, one, part, one))
    tables.show("lookahead", HEADER, rows)
