"""What bins save, and what they cost.

    python benchmarks bins --data FOLDER [--repeats 3]

``bins-speed``: CPU seconds of `fit` in one thread, encoding included, of forests of 20
without a bound, a tree of 255 leaves and the default tree, each value by itself and in
255 bins, beside scikit-learn's; medians of runs that take turns.

``bins-accuracy``: the default tree and a forest of 20 on real tables of more than 255
rows, those larger than 6,000 cut to as many, two times five folds: points of accuracy
and log loss with bins less those without, over the tables with their standard error.
"""

import warnings

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, table_names
from common.judging import scores, with_error
from common.timing import interleaved, median
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from speed.bench_forest import WORK

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

BINS = (None, 255, 63)
MAX_ROWS = 6_000
N_TREES = 20
REPEATS = 2  # of the folds


def makers(n_trees):
    """Models by what they are: scikit-learn's, and ours by the number of bins."""
    return {
        f"forest of {n_trees}": (
            RandomForestClassifier(n_trees, random_state=0),
            lambda bins: ConfidenceForestClassifier(
                n_trees, bound=None, max_bins=bins, random_state=0
            ),
        ),
        "tree of 255 leaves": (
            DecisionTreeClassifier(max_leaf_nodes=255, random_state=0),
            lambda bins: ConfidenceTreeClassifier(
                None, max_leaf_nodes=255, max_bins=bins
            ),
        ),
        "default tree": (
            DecisionTreeClassifier(random_state=0),
            lambda bins: ConfidenceTreeClassifier(max_bins=bins),
        ),
    }


def speed(tables, options):
    """Time every model on every table."""
    rows = []
    for work, (make, n, d) in WORK.items():
        X, y = make(n // 50 if options.quick else n, d)
        for name, (peer, ours) in makers(N_TREES).items():
            calls = {"peer": lambda X=X, y=y, peer=peer: peer.fit(X, y)}
            for bins in BINS:
                model = ours(bins)
                calls[bins] = lambda X=X, y=y, model=model: model.fit(X, y)
            found = {
                key: median(times)
                for key, times in interleaved(calls, options.repeats).items()
            }
            row = [work, name, f"{found['peer']:.3g}"]
            row += [f"{found['peer'] / found[bins]:.1f}" for bins in BINS]
            rows.append([*row, f"{found[None] / found[255]:.2f}"])
            print(*rows[-1], sep=" | ", flush=True)
    header = ["table", "model", "scikit-learn, CPU s"]
    header += [f"times faster, {named(bins)}" for bins in BINS]
    tables.show("bins-speed", [*header, "255 bins over each value"], rows)


def named(bins):
    """A number of bins, in words."""
    return "each value" if bins is None else f"{bins} bins"


def differences(name, folder, quick):
    """Points and log loss of trees and forests with bins less those without."""
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    models = {
        "default tree": lambda bins: ConfidenceTreeClassifier(max_bins=bins),
        f"forest of {N_TREES}": lambda bins: ConfidenceForestClassifier(
            3 if quick else N_TREES, max_bins=bins, random_state=0
        ),
    }
    found = {key: [] for key in models}
    for seed in range(1 if quick else REPEATS):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        for train, test in folds.split(X, y):
            rows, others = impute(X[train], X[test], is_nominal)
            for key, make in models.items():
                told = []
                for bins in BINS:
                    model = make(bins).fit(rows, y[train])
                    proba = model.predict_proba(others)
                    told.append(scores(proba, model.classes_, y[test], y.max() + 1))
                found[key].append(told)
    return {key: np.mean(told, axis=0) for key, told in found.items()}


def accuracy(tables, options):
    """Compare accuracy with and without bins on the tables of a folder."""
    folder = data_folder(options.data)
    found = {}
    for name in table_names(folder):
        if len(encoded(name, folder)[1]) <= BINS[1]:
            continue
        for key, told in differences(name, folder, options.quick).items():
            found.setdefault(key, {})[name] = told - told[0]
        print(name, flush=True)
    rows = []
    for key, by_table in found.items():
        all_of_them = np.array(list(by_table.values()))
        for place, bins in enumerate(BINS[1:], start=1):
            points = 100.0 * all_of_them[:, place, 0]
            worst = list(by_table)[int(points.argmin())]
            rows.append(
                [
                    key,
                    named(bins),
                    with_error(points, 2),
                    f"{points.min():+.1f} ({worst})",
                    with_error(all_of_them[:, place, 1], 3),
                ]
            )
    header = ["model", "", "points of accuracy", "worst table", "log loss"]
    tables.show("bins-accuracy", header, rows)


def main(argv=None):
    """Run both parts and show their tables."""
    parser = command.parser(__doc__, "data", "quick", repeats=3)
    options = parser.parse_args(argv)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    note = f"medians of {options.repeats} runs that take turns"
    tables = command.tables("bins", options, note)
    speed(tables, options)
    accuracy(tables, options)
