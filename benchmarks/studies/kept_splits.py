"""Which splits should pruning by errors leave alone? Cross-validation on real tables.

    python benchmarks kept_splits --data FOLDER --held-out OTHER --cache SCRATCH

A split that changes no prediction has no errors to save, so that a pruning by errors
takes it back however strong it is. The value in question is `protect_below` of the
pruning: splits stay if fewer as good are expected by chance. None is the pruning by
errors alone, from which differences are.

The tables are split beforehand, every other one in alphabetical order. On each half the
value of lowest log loss is chosen among those with which accuracy falls by no more than
.05 points, trees of one to five leaves become at most twice as large and larger ones by
at most a tenth; what it does on the other half is reported. "Pooled" is each table
under the choice of the other half, and the sizes of trees are those by errors alone.
Standard errors are over tables. AUC is the mean over classes, each against the others;
leaves are geometric means of ratios. The value chosen on all tables is also reported on
tables of another folder, which nothing was chosen on.

Nominal columns are codes, holes are filled with the median or mode of the training
rows, and a table has at most 3,000 rows, a seeded sample in proportion to the classes.
"""

import json
import time
import warnings
from pathlib import Path

import numpy as np
from common import options as command
from common.data import data_folder, encoded, table_names
from common.judging import CLIP, auc
from common.study import Fold
from sklearn.model_selection import StratifiedKFold

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import GTestBound
from skconftree.tree import PessimisticPruning

MAX_ROWS = 3_000
BASE = "None"
VALUES = {
    BASE: None,
    **{f"{one:g}": one for one in (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)},
}
MEASURES = ("accuracy", "log_loss", "brier", "auc", "leaves")
FEW = 5  # leaves of the smaller trees
MOST = {"one to five": 2.0, "six or more": 1.1}
LOST = 0.05  # points of accuracy
HEADER = [
    "protect_below",
    "tables",
    "log loss",
    "Brier",
    "AUC",
    "accuracy",
    "leaves",
    "worst AUC",
    "worst accuracy",
]


def scores(fold, protect_below):
    """Every measure of one value on a fold."""
    X, X_test = fold.rows("codes")
    defaults = GTestBound.defaults
    model = ConfidenceTreeClassifier(
        pruning=PessimisticPruning(
            defaults.lookahead_confidence, protect_below=protect_below
        )
    ).fit(X, fold.y)
    proba = np.zeros((len(X_test), fold.n_classes))
    proba[:, model.classes_] = model.predict_proba(X_test)
    y = fold.y_test
    true = proba[np.arange(len(y)), y]
    return (
        100.0 * (proba.argmax(axis=1) == y).mean(),
        -np.log(np.clip(true, CLIP, 1.0)).mean(),
        ((proba**2).sum(axis=1) - 2.0 * true + 1.0).mean(),
        auc(proba, y),
        model.get_n_leaves(),
    )


def cross_validate(name, folder, seed, options):
    """Mean scores of each value on one table; kept in the cache."""
    path = Path(options.cache) / f"kept-{folder.name}-{name}-{seed}-{MAX_ROWS}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    missing = [rule for rule in VALUES if rule not in known]
    if not missing:
        return known
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    found = {rule: [] for rule in missing}
    for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
        fold = Fold(X, y, is_nominal, train, test, seed)
        for rule in missing:
            found[rule].append(scores(fold, VALUES[rule]))
    # a fold of one class alone, as of a rare disease, has no AUC
    known |= {
        rule: np.nanmean(values, axis=0).tolist() for rule, values in found.items()
    }
    path.write_text(json.dumps(known))
    return known


def collect(folder, options):
    """Names of the tables, and scores of each value: rule -> (tables, measures)."""
    names = table_names(folder)
    names = names[:6] if options.quick else names
    found = {rule: [] for rule in VALUES}
    for name in names:
        start = time.process_time()
        repeats = [
            cross_validate(name, folder, seed, options)
            for seed in range(options.repeats)
        ]
        for rule, values in found.items():
            values.append(np.mean([one[rule] for one in repeats], axis=0))
        spent = time.process_time() - start
        if spent > 0.1:
            print(f"  {name}: {spent:.1f} CPU s", flush=True)
    return names, {rule: np.array(values) for rule, values in found.items()}


def differences(results, rule):
    """What a value changes of each table: (tables, measures), leaves as logarithms."""
    found = results[rule] - results[BASE]
    leaves = MEASURES.index("leaves")
    found[:, leaves] = np.log(results[rule][:, leaves] / results[BASE][:, leaves])
    return found


def groups(results):
    """Which tables have small trees, and which larger ones."""
    few = results[BASE][:, MEASURES.index("leaves")] <= FEW
    return {"one to five": few, "six or more": ~few}


def choose(results, own):
    """Choose the value of lowest log loss among those that cost little enough."""
    best, least = BASE, 0.0
    for rule in VALUES:
        found = dict(zip(MEASURES, differences(results, rule).T, strict=True))
        fits = found["accuracy"][own].mean() >= -LOST
        for group, members in groups(results).items():
            some = own & members
            if some.any():
                fits &= np.exp(found["leaves"][some].mean()) <= MOST[group]
        loss = found["log_loss"][own].mean()
        if fits and loss < least:
            best, least = rule, loss
    return best


def row(names, found, label, part, members):
    """Make a row of the table."""
    found, names = found[members], np.array(names)[members]
    points, loss, brier, auc, leaves = found.T

    def mean(values, digits):
        if len(values) == 1:
            return f"{values[0]:+.{digits}f} (-)"
        error = values.std(ddof=1) / np.sqrt(len(values))
        return f"{values.mean():+.{digits}f} ({error:.{digits}f})"

    def worst(values, digits):
        at = values.argmin()
        return f"{values[at]:+.{digits}f} {names[at]}"

    return [
        label,
        f"{part}: {len(found)}",
        mean(loss, 4),
        mean(brier, 4),
        mean(auc, 4),
        mean(points, 2),
        f"{np.exp(leaves.mean()):.2f}",
        worst(auc, 3),
        worst(points, 1),
    ]


def rows_by_size(names, results, rule, label, part):
    """Rows of one value on all tables, and by the size of the trees."""
    found = differences(results, rule)
    everywhere = np.ones(len(names), dtype=bool)
    parts = {part: everywhere} | {
        f"{part}, {group} leaves": members for group, members in groups(results).items()
    }
    return [
        row(names, found, label, name, members)
        for name, members in parts.items()
        if members.any()
    ]


def by_halves(names, results):
    """Rows of what each half chooses, on itself and on the other one."""
    places = np.arange(len(names)) % 2
    pooled = np.zeros((len(names), len(MEASURES)))
    rows = []
    for place, half, other in ((0, "first", "second"), (1, "second", "first")):
        own = places == place
        rule = choose(results, own)
        found = differences(results, rule)
        pooled[~own] = found[~own]
        label = f"chosen on the {half} half: {rule}"
        rows.append(row(names, found, label, f"{half} half", own))
        rows.append(row(names, found, label, f"{other} half", ~own))
    return [*rows, row(names, pooled, "pooled", "all", places >= 0)]


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "held-out", "cache", "quick", repeats=3)
    options = parser.parse_args(argv)
    if options.cache is None:
        parser.error("--cache is needed: results of many minutes are kept there")
    Path(options.cache).mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    note = f"{options.repeats} times five-fold cross-validation, {MAX_ROWS:,} rows"
    tables = command.tables("kept_splits", options, note)
    names, results = collect(data_folder(options.data), options)
    rows = by_halves(names, results)
    rule = choose(results, np.ones(len(names), dtype=bool))
    for one in list(VALUES)[1:]:
        rows += rows_by_size(names, results, one, one, "all")
    if options.held_out:
        names, results = collect(options.held_out, options)
        rows += rows_by_size(names, results, rule, f"chosen on all: {rule}", "held out")
    tables.show("kept-splits", HEADER, rows)
