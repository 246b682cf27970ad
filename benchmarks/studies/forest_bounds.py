"""Does confidence help a forest? Five-fold cross-validation on real tables.

    python benchmarks forest_bounds --data FOLDER [--cache FOLDER]

Forests of 50 trees beside scikit-learn's: without a bound, with each bound that counts
repeats or does not, with some laxer ones, and mixed. The tables are split beforehand,
every other one in alphabetical order: on one half the defaults are chosen, the other
one is looked at afterwards. Accuracy (points) and log loss are means over tables, with
the standard error of their mean difference from scikit-learn's forest; nodes and CPU
time of fit are geometric means of ratios to it. Log loss is given twice: clipped where
all pages clip it, where votes that are 0 make much of it, and with all votes clipped at
.01.

Nominal columns are codes, holes are filled with the median or mode of the training
rows, and a table has at most 2,000 rows, a seeded sample in proportion to the classes.
"""

import json
import time
import warnings
from pathlib import Path

import numpy as np
from common import options as command
from common.data import data_folder, encoded, table_names
from common.judging import CLIP
from common.study import Fold
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

from skconftree import ConfidenceForestClassifier
from skconftree.bounds._registry import BOUNDS

MAX_ROWS = 2_000
N_TREES = 50
CLIPS = (CLIP, 0.01)
# A stream, whose rows follow each other in time; 50 and 100 classes, which take longer
# than all other tables together.
LEFT_OUT = ("elec", "ucr-fiftywords", "leaves100-margin")
BASE = "RandomForestClassifier"
MIXED = ["chi2", "ec2"]
LAXER = {"gtest": (3.0, 10.0), "chi2": (0.3, 0.8), "credible": (0.2, 0.4)}
FEW = (
    *(BASE, "None", '"gtest"', '"chi2"', '"bayes_factor"'),
    *('"gtest", max_features=0.5', '"chi2", max_features=0.5'),
)
LOSSES = ("log loss", *(f"log loss, clipped at {clip:g}" for clip in CLIPS[1:]))
HEADER = ["forest", "repeats", "accuracy", *LOSSES, "nodes", "time"]


def variants():
    """Every forest: name -> parameters."""
    bounds = {f'"{name}"': {"bound": name} for name in BOUNDS}
    for name, deltas in LAXER.items():
        for delta in deltas:
            bounds[f'"{name}", delta={delta:g}'] = {"bound": name, "delta": delta}
    for name in ("gtest", "chi2"):
        bounds[f'"{name}", max_features=0.5'] = {"bound": name, "max_features": 0.5}
    bounds[str(MIXED).replace("'", '"')] = {"bound": MIXED}
    made = {BASE: None, "None": {"bound": None}}
    for name, parameters in bounds.items():
        for repeats in (True, False):
            made[f"{name}; {repeats}"] = {**parameters, "count_repeats": repeats}
    return made


def scores(fold, parameters):
    """Accuracy, log losses, nodes and seconds of one forest on a fold."""
    X, X_test = fold.rows("codes")
    if parameters is None:
        forest = RandomForestClassifier(N_TREES, random_state=fold.seed)
    else:
        forest = ConfidenceForestClassifier(
            N_TREES, **parameters, random_state=fold.seed
        )
    start = time.process_time()
    forest.fit(X, fold.y)
    seconds = time.process_time() - start
    proba = fold.all_classes(forest.predict_proba(X_test), forest.classes_)
    true = proba[np.arange(len(X_test)), fold.y_test]
    losses = [-np.log(np.clip(true, clip, 1.0)).mean() for clip in CLIPS]
    nodes = np.mean([tree.tree_.node_count for tree in forest.estimators_])
    right = proba.argmax(axis=1) == fold.y_test
    return right.mean(), *losses, nodes, seconds


def cross_validate(name, folder, forests, cache):
    """Mean scores of each forest on one table; those in the cache are kept."""
    path = None if cache is None else Path(cache) / f"{name}.json"
    found = {} if path is None or not path.exists() else json.loads(path.read_text())
    missing = [forest for forest in forests if forest not in found]
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    parts = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    folds = [Fold(X, y, is_nominal, *part, 0) for part in parts]
    for forest in missing:
        each = [scores(fold, forests[forest]) for fold in folds]
        found[forest] = np.mean(each, axis=0).tolist()
        if path is not None:
            path.write_text(json.dumps(found))
    return found


def row(results, names, forest):
    """Make a row of the table."""
    own, base = (
        np.array([results[name][one] for name in names]) for one in (forest, BASE)
    )
    difference = own - base
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(names))
    ratio = np.exp(np.log(own / base).mean(axis=0))
    label, _, repeats = forest.partition("; ")
    return [
        label,
        repeats or "-",
        f"{100 * own[:, 0].mean():.2f} ({100 * error[0]:.2f})",
        *(f"{own[:, i].mean():.3f} ({error[i]:.3f})" for i in (1, 2)),
        f"{ratio[3]:.2f}",
        f"{ratio[4]:.2f}",
    ]


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "cache", "quick")
    parser.add_argument("--only", nargs="+", help="these forests")
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    if options.cache:
        Path(options.cache).mkdir(parents=True, exist_ok=True)
    names = [name for name in table_names(folder) if name not in LEFT_OUT]
    halves = {"chosen": names[::2], "reported": names[1::2]}
    if options.quick:
        halves = {half: some[:3] for half, some in halves.items()}
    forests = {
        name: parameters
        for name, parameters in variants().items()
        if name == BASE or not options.only or name in options.only
    }
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    note = f"five-fold cross-validation, {N_TREES} trees, {MAX_ROWS:,} rows"
    tables = command.tables("forest_bounds", options, note)
    results = {}
    for half, some in halves.items():
        for name in some:
            start = time.process_time()
            results[name] = cross_validate(name, folder, forests, options.cache)
            print(f"  {name}: {time.process_time() - start:.1f} CPU s", flush=True)
        rows = [row(results, some, forest) for forest in forests]
        tables.show(f"forest-bounds-{half}", HEADER, rows)
    few = [forest for forest in forests if forest.partition("; ")[0] in FEW]
    rows = [row(results, sorted(results), forest) for forest in few]
    tables.show("forest-bounds-all", HEADER, rows)
