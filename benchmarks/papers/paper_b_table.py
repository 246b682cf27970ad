"""Table 1 of Serrurier and Prade (2015): five trees on tables with known accuracies.

    python benchmarks paper_b_table --data FOLDER [--part NAME ...] [--cache SCRATCH]

The parts: ``folder``, the ten tables that the data folder has, and ``packages``, four
tables of packages of PyPI and Breiman's waveforms (`common.packaged`), their accuracy
and leaves alone. ILPD, the paper's 16th table, is in neither.

Ten-fold cross-validation, stratified, of the paper's trees: LogTree (plain entropy),
PrunTree (the same, pruned by pessimistic errors), PiTree (possibilistic entropy),
O-PiTree (PiTree that goes on learning row by row, each row once in random order) and
C4.5, for which the paper took Weka's J4.8. Nominal columns get a branch for every
category, holes stay holes. gamma, or the confidence of a pruning, is the best of ten
values by five-fold cross-validation of the training rows, the smaller one of two that
are equally good.

O-PiTree revises "a decision tree", and gamma is tuned "at the beginning", says the
paper, and no more. Here PiTree is learned and tuned on the first rows, a share
``--beginning`` of them, and revised with all others. With 0 it grows from nothing, and
is tuned by passes over at most the first 2,500 rows. Both ways and some shares stand
side by side in one of the tables.

The paper states neither its ten values nor its folds; the spread of its figures on the
zoo table is what ten folds give. Ours are 1/2 and below, the usual range of an error
probability. The paper shows the number of leaves in a figure only, so leaves are
compared with what its text says about that figure.

The paper's entropy runs over "the classes". Taken are those "present" at the node; in
tables of its own PiTree also takes "all" of the training set, and chooses among three
values near 1 as well. A tree from nothing always takes "all": its first rows are of too
few classes to make sense of "present".

On tables of the folder every value is also judged on the test rows: what a fixed gamma
would have given, and whether any of them reaches the published figure.

``--seeds`` repeats all with other folds, of which the paper has one division; the
tables then show means over repetitions, and the paired tests take the folds of the
first.

Results are kept per table in the cache folder; a second run only adds what is missing.
"""

import json
import time
import warnings
from argparse import Namespace
from pathlib import Path

import numpy as np
from common import options as command
from common.data import data_folder, encoded, manifest
from common.packaged import PACKAGED, packaged
from common.timing import print_environment, write_json
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import PossibilisticBound
from skconftree.tree import C45Pruning, PessimisticPruning

from ._paper_b_findings import (
    BATCH,
    PUBLISHED,
    TREES,
    leaves,
    percent,
    targets,
    tests,
    tests_table,
)

LAX = (0.999, 0.99, 0.9)
VALUES = (*LAX, 0.5, 0.2, 0.1, 0.05, 0.01, 1e-3, 1e-5, 1e-8, 1e-12, 1e-20)
C45_LARGEST = 0.5  # confidence factor
BEGINNINGS = (0.0, 0.1, 0.2, 0.5)  # of O-PiTree, as shares of the training rows
TUNING_ROWS = 2_500  # of a stream that begins with nothing
REACH = (0.999, 0.9, 0.5, 0.05, 1e-3, 1e-8)  # shown for each table
SMALL = 400  # rows of a table for --quick
PRINTED = "published: ten folds once, ten values of gamma that are not named"
SEEDS = {"folder": 3, "packages": 1}

# How each tree is made and what is tuned.
METHODS = {
    "LogTree": ({"bound": None, "criterion": "entropy", "pruning": None}, None),
    "PrunTree": (
        {"bound": None, "criterion": "entropy", "pruning": PessimisticPruning()},
        "pruning__confidence",
    ),
    "PiTree": ({"pruning": None}, "delta"),
    "O-PiTree": (
        {
            "pruning": None,
            "grace_period": 1,
            "leaf_memory": "rows",
            "leaf_prediction": "majority",
        },
        "delta",
    ),
    "C4.5": (
        {
            "bound": None,
            "criterion": "gain_ratio",
            "min_samples_leaf": 2,
            "pruning": C45Pruning(),
        },
        "pruning__confidence",
    ),
}
CLASSES = ("all", "present")
POSSIBILISTIC = ("PiTree", "O-PiTree")  # their bound has a choice of classes
TUNED = ("PrunTree", "PiTree", "O-PiTree", "C4.5")


def classes_of(method, beginning):
    """Name the classes that the possibilistic entropy of a method runs over."""
    if method == "O-PiTree" and not beginning:
        return "all"
    return "present" if method in POSSIBILISTIC else None


def grow(method, X, y, is_nominal, labels, value, classes, first):
    """Grow one tree.

    Parameters
    ----------
    value : float or None
        Of what the method tunes.
    classes : {"all", "present"} or None
        What the possibilistic entropy runs over.
    first : int
        The number of rows that O-PiTree learns at once.
    """
    parameters, tuned = METHODS[method]
    if classes is not None:
        parameters = {**parameters, "bound": PossibilisticBound(classes=classes)}
    tree = ConfidenceTreeClassifier(
        **parameters,
        nominal_splits="multiway",
        categorical_features=is_nominal if is_nominal.any() else None,
    )
    tree = clone(tree)  # as its pruning is changed
    if tuned is not None:
        tree.set_params(**{tuned: value})
    if method in BATCH:
        return tree.fit(X, y)
    if not first:
        return tree.partial_fit(X, y, classes=labels)
    return tree.fit(X[:first], y[:first]).partial_fit(X[first:], y[first:])


def judged(method, train, test, *how):
    """Accuracy on other rows and number of leaves of one tree."""
    tree = grow(method, *train, *how)
    return float(np.mean(tree.predict(test[0]) == test[1])), int(tree.get_n_leaves())


def tune(method, X, y, is_nominal, labels, values, classes, first, options):
    """Mean accuracy of each value over inner folds."""
    if first:
        method, X, y = "PiTree", X[:first], y[:first]
    elif method not in BATCH:
        X, y = X[:TUNING_ROWS], y[:TUNING_ROWS]
    # a beginning may have one row of a class
    split = KFold if first else StratifiedKFold
    inner = split(options.inner_folds, shuffle=True, random_state=options.seed)
    found = [
        [
            judged(
                method,
                (X[train], y[train]),
                (X[held], y[held]),
                *(is_nominal, labels, value, classes, 0),
            )[0]
            for value in values
        ]
        for train, held in inner.split(X, y)
    ]
    return np.mean(found, axis=0)


def study(method, X, y, is_nominal, options, beginning, classes, every=True):
    """Cross-validate one method on one table; only the chosen value unless `every`.

    Returns
    -------
    dict
        Lists with one entry a fold: for each value the accuracy in the ``inner`` folds,
        the ``accuracy`` on the test rows and the number of ``leaves``; the ``values``
        and ``seconds`` of CPU in all.
    """
    start = time.process_time()
    labels = np.arange(y.max() + 1)
    rng = np.random.default_rng(options.seed)
    values = [None]
    if METHODS[method][1] is not None:
        values = [
            v
            for v in VALUES
            if (method != "C4.5" or v <= C45_LARGEST) and (every or v not in LAX)
        ]
    found = {"values": values, "inner": [], "accuracy": [], "leaves": []}
    outer = StratifiedKFold(options.folds, shuffle=True, random_state=options.seed)
    for train, test in outer.split(X, y):
        train = rng.permutation(train)
        first = 0
        if beginning:
            # which has a row of each class, as `fit` fixes them
            known, earliest = np.unique(y[train], return_index=True)
            train = np.concatenate([train[earliest], np.delete(train, earliest)])
            first = max(round(beginning * len(train)), len(known))
        given = X[train], y[train]
        inner = [0.0]
        if len(values) > 1:
            inner = tune(
                method, *given, is_nominal, labels, values, classes, first, options
            )
        chosen = best_of(np.array([inner]))[0]
        scores = [
            judged(
                method,
                given,
                (X[test], y[test]),
                *(is_nominal, labels, value, classes, first),
            )
            if every or i == chosen
            else (np.nan, 0)
            for i, value in enumerate(values)
        ]
        found["inner"].append([float(score) for score in inner])
        found["accuracy"].append([score[0] for score in scores])
        found["leaves"].append([score[1] for score in scores])
    found["seconds"] = time.process_time() - start
    return found


def best_of(inner):
    """Place of the best value in each fold; the last of equals, which is smallest."""
    near = inner >= inner.max(axis=1, keepdims=True) - 1e-9
    return near.shape[1] - 1 - near[:, ::-1].argmax(axis=1)


def choose(found, lax=False):
    """Take in each fold the value that was best in the inner folds.

    Returns
    -------
    dict of str to ndarray
        ``accuracy``, ``leaves`` and ``value``, one entry a fold.
    """
    allowed = [lax or value not in LAX for value in found["values"]]
    best = best_of(np.where(allowed, found["inner"], -1.0))
    folds = np.arange(len(best))
    return {
        "accuracy": np.array(found["accuracy"])[folds, best],
        "leaves": np.array(found["leaves"])[folds, best],
        "value": np.array(found["values"], dtype=float)[best],
    }


def collect(name, folder, options):
    """Every method on one table, from the cache where it is known.

    Returns
    -------
    dict of str to dict
        `study` by method, and for the first seed by method and beginning, and by
        PiTree's classes.
    """
    path = None
    known = {}
    if options.cache:
        path = Path(options.cache) / f"{name}-{options.seed}-{options.folds}.json"
        known = json.loads(path.read_text()) if path.exists() else {}
    X, y, is_nominal = packaged(name) if folder is None else encoded(name, folder)

    def recall(method, beginning=0.0, classes=None):
        classes = classes or classes_of(method, beginning)
        key = ", ".join([method, *([classes] if classes else [])])
        if beginning:
            key += f", {beginning:g}"
        if key not in known:
            known[key] = study(
                *(method, X, y, is_nominal, options, beginning, classes),
                every=folder is not None,
            )
            if path is not None:
                path.write_text(json.dumps(known))
        return known[key]

    answer = {method: recall(method) for method in BATCH}
    answer["O-PiTree"] = recall("O-PiTree", options.beginning)
    if options.seed == 0 and folder is not None:
        for beginning in BEGINNINGS:
            answer["O-PiTree", beginning] = recall("O-PiTree", beginning)
        for classes in CLASSES:
            answer["PiTree", classes] = recall("PiTree", classes=classes)
    return answer


def join(found):
    """One result for the same method with several seeds."""
    return {key: np.concatenate([one[key] for one in found]) for key in found[0]}


def accuracy_table(results):
    """Rows of the table of accuracies; whether each is within the published spread."""
    rows, within = [], {}
    for name, found in results.items():
        cells = [name]
        for method, (mean, spread) in zip(TREES, PUBLISHED[name], strict=True):
            ours, deviation = percent(found[method]["accuracy"])
            within[name, method] = abs(ours - mean) <= spread
            mark = "" if within[name, method] else " (!)"
            cells.append(
                f"{ours:.1f} ± {deviation:.1f}; {mean:.1f} ± {spread:.1f}{mark}"
            )
        rows.append(cells)
    return rows, within


def leaves_table(results):
    """Rows of the table of leaves, with the values that were chosen."""
    rows = []
    for name, found in results.items():
        values = found["PiTree"]["value"]
        rows.append(
            [name]
            + [f"{leaves(found, method):.1f}" for method in METHODS]
            + [f"{np.median(values):g} ({min(values):g} to {max(values):g})"]
        )
    return rows


def fixed_table(studies):
    """Rows: each value, fixed for all tables."""
    rows = []
    for value in VALUES:
        cells = [f"{value:g}"]
        for method in TUNED:
            accuracy, ratio = [], []
            for found in studies.values():
                values = found[method]["values"]
                if value in values:
                    i = values.index(value)
                    plain = np.mean(found["LogTree"]["leaves"])
                    accuracy.append(np.mean(found[method]["accuracy"], axis=0)[i])
                    ratio.append(np.mean(found[method]["leaves"], axis=0)[i] / plain)
            cells.append(
                f"{100 * np.mean(accuracy):.1f}, {np.exp(np.mean(np.log(ratio))):.2f}"
                if accuracy
                else "-"
            )
        rows.append(cells)
    return rows


def reach_table(studies, classes):
    """Rows: PiTree's accuracy and leaves at each value on each table."""
    rows = []
    for name, found in studies.items():
        every = 100.0 * np.mean(found["PiTree", classes]["accuracy"], axis=0)
        sizes = np.mean(found["PiTree", classes]["leaves"], axis=0)
        kept = [VALUES.index(value) for value in REACH]
        mean, spread = PUBLISHED[name][TREES.index("PiTree")]
        rows.append(
            [name]
            + [f"{every[i]:.1f}, {sizes[i]:.0f}" for i in kept]
            + [f"{mean:.1f} ± {spread:.1f}"]
        )
    return rows


def classes_table(studies):
    """Rows: PiTree tuned over each classes and values, first repetition."""
    rows = []
    for classes in CLASSES:
        for lax in (False, True):
            away, ratio = {}, []
            for name, found in studies.items():
                chosen = choose(found["PiTree", classes], lax)
                mean, spread = PUBLISHED[name][TREES.index("PiTree")]
                away[name] = (percent(chosen["accuracy"])[0] - mean, spread)
                pruned = choose(found["PrunTree"])["leaves"]
                ratio.append(np.mean(chosen["leaves"]) / np.mean(pruned))
            worst = min(away, key=lambda name: away[name][0])
            inside = sum(abs(gap) <= spread for gap, spread in away.values())
            rows.append(
                [
                    classes,
                    "also .9, .99, .999" if lax else "the ten",
                    f"{inside} of {len(away)}",
                    f"{worst}, {away[worst][0]:+.1f}",
                    f"{np.exp(np.mean(np.log(ratio))):.2f}",
                ]
            )
    return rows


def beginnings_table(results):
    """Rows: O-PiTree after each beginning on each table; how often as published."""
    rows, within = [], dict.fromkeys(BEGINNINGS, 0)
    for name, found in results.items():
        mean, spread = PUBLISHED[name][TREES.index("O-PiTree")]
        cells = [name]
        for beginning in BEGINNINGS:
            one = found["O-PiTree", beginning]
            ours, _ = percent(one["accuracy"])
            inside = abs(ours - mean) <= spread
            within[beginning] += inside
            mark = "" if inside else " (!)"
            cells.append(f"{ours:.1f}, {np.mean(one['leaves']):.0f}{mark}")
        rows.append([*cells, f"{mean:.1f} ± {spread:.1f}"])
    return [*rows, ["as published", *map(str, within.values()), f"of {len(results)}"]]


def repeated(names, folder, options):
    """Study tables with each seed.

    Returns
    -------
    studies : dict of str to dict
        Of each table what the first seed gave.
    results : dict of str to dict
        Of each table and method the folds of all seeds.
    """
    studies, results = {}, {}
    for name in names:
        repetitions = []
        for seed in range(options.seeds):
            options.seed = seed
            repetitions.append(collect(name, folder, options))
        studies[name] = repetitions[0]
        results[name] = {
            method: join([choose(one[method]) for one in repetitions if method in one])
            for method in studies[name]
        }
        told = ", ".join(
            f"{method} {sum(one[method]['seconds'] for one in repetitions):.1f}"
            for method in METHODS
        )
        print(f"{name}: CPU s: {told}", flush=True)
    return studies, results


def part_packages(options, tables):
    """Accuracy and leaves on the tables that no data folder has."""
    names = [name for name in options.only or PACKAGED if name in PACKAGED]
    if options.quick:
        names = names[:1]
    _, results = repeated(
        [name for name in names if packaged(name) is not None], None, options
    )
    rows, _ = accuracy_table(results)
    sizes = {row[0]: row[1:] for row in leaves_table(results)}
    if rows:
        tables.show(
            "paper-b-packages",
            ["table", *METHODS, *(f"leaves of {one}" for one in METHODS), "gamma"],
            [[*row, *sizes[row[0]]] for row in rows],
        )
    return {}


def part_folder(options, tables):
    """All tables of the study, on what the data folder has."""
    folder = data_folder(options.data)
    known = manifest(folder)
    names = [
        name
        for name in options.only or PUBLISHED
        if name in known
        and name not in PACKAGED
        and not (options.quick and known[name]["rows"] > SMALL)
    ]
    studies, results = repeated(names, folder, options)
    rows, within = accuracy_table(results)
    answer = tests(results, options.folds)
    tables.show(
        "paper-b-accuracy",
        ["table", *METHODS],
        rows,
        f"Accuracy in per cent: ours; published. Mean ± standard deviation over "
        f"{options.folds} folds; (!) further off than the published one.",
    )
    tables.show(
        "paper-b-leaves",
        ["table", *METHODS, "gamma"],
        leaves_table(results),
        "Mean number of leaves, and PiTree's gamma: median (range) over the folds.",
    )
    tables.show(
        "paper-b-tests",
        ["", "points", "tables", "paired t", "p", "published", "p"],
        tests_table(answer),
        "Over the tables: mean difference in points, tables better/worse, of these by "
        "a paired t-test at .05, Wilcoxon's p; the published difference and p.",
    )
    tables.show(
        "paper-b-fixed",
        ["value", *TUNED],
        fixed_table(studies),
        "Fixed instead of tuned: mean accuracy, leaves relative to LogTree's.",
    )
    for classes in CLASSES:
        tables.show(
            f"paper-b-gamma-{classes}",
            ["table", *(f"{value:g}" for value in REACH), "published"],
            reach_table(studies, classes),
            f"PiTree over {classes} classes at fixed gamma: accuracy, leaves.",
        )
    tables.show(
        "paper-b-classes",
        ["classes", "values", "as published", "furthest below", "leaves / PrunTree's"],
        classes_table(studies),
        "PiTree, tuned, by the classes it looks at and the values it may take.",
    )
    tables.show(
        "paper-b-beginnings",
        ["table", *(f"{beginning:g}" for beginning in BEGINNINGS), "published"],
        beginnings_table(results),
        "O-PiTree after PiTree of a share of the rows: accuracy, leaves; published.",
    )
    print("\nTargets\n")
    claims = targets(results, within, answer)
    for claim, holds in claims:
        print(f"{'holds ' if holds else 'DIFFERS'} {claim}")
    return {
        "studies": {
            name: {method: found[method] for method in METHODS}
            for name, found in studies.items()
        },
        "tests": answer,
        "targets": [[claim, bool(holds)] for claim, holds in claims],
    }


PARTS = {"folder": part_folder, "packages": part_packages}


def main(argv=None):
    """Run the study and print its tables."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--only", nargs="+", choices=PUBLISHED, help="these tables")
    parser.add_argument("--beginning", type=float, default=0.2, choices=BEGINNINGS)
    parser.add_argument("--seeds", type=int, help=f"repetitions; {SEEDS}")
    options = parser.parse_args(argv)
    options.folds, options.inner_folds = 10, 5
    if options.quick:
        options.folds, options.inner_folds = 3, 2
    if options.cache:
        Path(options.cache).mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    found = {"beginning": options.beginning}
    for part in options.part:
        given = Namespace(**{**vars(options), "seeds": options.seeds or SEEDS[part]})
        times = "1 repetition" if given.seeds == 1 else f"{given.seeds} repetitions"
        note = f"{times}, O-PiTree begins with {options.beginning:g}; {PRINTED}"
        tables = command.tables("paper_b_table", options, note)
        print_environment(tables.facts)
        with threadpool_limits(1):
            found[part] = PARTS[part](given, tables)
    write_json(options.json, {"environment": tables.facts, **found})
