"""What bins save, and what they cost.

    python benchmarks bins --data FOLDER [--repeats 3] [--part NAME ...]

``bins-speed``: CPU seconds of `fit` in one thread, encoding included, of forests of 20
without a bound, a tree of 255 leaves and the default tree, each value by itself and in
255 bins, beside scikit-learn's; medians of runs that take turns.

``bins-peers``: the same of forests of 100 and of a tree of 255 leaves beside other
libraries that bin, where they are installed: the forests of scikit-learn-intelex, of
LightGBM, whose trees have 255 leaves at most, and of ydf; one tree of LightGBM.

``bins-growth``: the same of the default tree on 500,000 rows and on ten times as many.

``bins-accuracy``: the default tree and a forest of 20 on real tables of more than 255
rows, those larger than 6,000 cut to as many, two times five folds: points of accuracy
and log loss with bins less those without, over the tables with their standard error.
"""

import math
import warnings
from functools import partial

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, table_names
from common.generators import continuous
from common.judging import scores, with_error
from common.timing import interleaved, median
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from speed.bench_forest import OURS, SCIKIT, WORK, installed, peers

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

BINS = (None, 255, 63)
MAX_ROWS = 6_000
N_TREES = 20
N_TREES_BESIDE = 100
N_LEAVES = 255
ROWS = (500_000, 5_000_000)
REPEATS = 2  # of the folds


def tree_of_leaves(bins):
    """Our tree of as many leaves as LightGBM's."""
    return ConfidenceTreeClassifier(None, max_leaf_nodes=N_LEAVES, max_bins=bins)


def makers(n_trees):
    """Models by what they are: scikit-learn's, and ours by the number of bins."""
    return {
        f"forest of {n_trees}": (
            RandomForestClassifier(n_trees, random_state=0),
            lambda bins: ConfidenceForestClassifier(
                n_trees, bound=None, max_bins=bins, random_state=0
            ),
        ),
        f"tree of {N_LEAVES} leaves": (
            DecisionTreeClassifier(max_leaf_nodes=N_LEAVES, random_state=0),
            tree_of_leaves,
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


class YdfForest:
    """The random forest of ydf, with its features in 255 bins."""

    def __init__(self, n_trees):
        self.n_trees = n_trees

    def fit(self, X, y):
        """Grow it in one thread, as deep as others."""
        import ydf

        ydf.verbose(0)
        learner = ydf.RandomForestLearner(
            label="y",
            num_trees=self.n_trees,
            max_depth=-1,
            min_examples=1,
            winner_take_all=False,
            compute_oob_performances=False,
            discretize_numerical_columns=True,
            num_discretized_numerical_bins=255,
            num_threads=1,
        )
        columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        self.model = learner.train(columns | {"y": y})
        return self


def lightgbm_tree():
    """One tree of LightGBM, or one for each of several classes."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=1,
        num_leaves=N_LEAVES,
        min_child_samples=1,
        n_jobs=1,
        verbose=-1,
    )


def beside(n_trees):
    """Makers of forests and of trees, ours and others, by name."""
    ours = f"{OURS}, each value"
    forests = peers(n_trees, N_LEAVES)
    del forests[SCIKIT]
    forests = {
        f"{OURS}, 255 bins": lambda seed: ConfidenceForestClassifier(
            n_trees, bound=None, max_bins=255, random_state=seed
        ),
        ours: forests.pop(OURS),
        **forests,
        **installed({"ydf": ("ydf", lambda seed: YdfForest(n_trees))}),
    }
    trees = {
        f"{OURS}, 255 bins": lambda seed: tree_of_leaves(255),
        ours: lambda seed: tree_of_leaves(None),
        **installed({"lightgbm": ("lightgbm", lambda seed: lightgbm_tree())}),
    }
    return {f"forest of {n_trees}": forests, f"tree of {N_LEAVES} leaves": trees}


def other_libraries(tables, options):
    """Time forests and trees that bin, ours and others."""
    rows = []
    for work, (make, n, d) in WORK.items():
        X, y = make(n // 50 if options.quick else n, d)
        for kind, found in beside(3 if options.quick else N_TREES_BESIDE).items():
            calls = {name: partial(model(0).fit, X, y) for name, model in found.items()}
            seconds = interleaved(calls, options.repeats)
            ours = median(seconds[next(iter(found))])
            for name, times in seconds.items():
                one = median(times)
                rows.append([work, kind, name, f"{one:.3g}", f"{one / ours:.2f}"])
                print(*rows[-1], sep=" | ", flush=True)
    header = ["table", "model", "", "seconds of fit", "of ours with bins"]
    tables.show("bins-peers", header, rows)


def growth(tables, options):
    """Time the default tree on tables of which one is ten times as large."""
    few, many = (n // 500 for n in ROWS) if options.quick else ROWS
    X, y = continuous(many, 20)
    calls = {
        (bins, n): lambda bins=bins, n=n: ConfidenceTreeClassifier(max_bins=bins).fit(
            X[:n], y[:n]
        )
        for n in (few, many)
        for bins in (None, 255)
    }
    seconds = interleaved(calls, options.repeats)
    rows = []
    for bins in (None, 255):
        one, other = (median(seconds[bins, n]) for n in (few, many))
        expected = many * math.log(many) / (few * math.log(few))
        rows.append(
            [named(bins), f"{one:.3g}", f"{other:.3g}", f"{other / one / expected:.2f}"]
        )
        print(*rows[-1], sep=" | ", flush=True)
    header = ["", *(f"{n:,} x 20, seconds of fit" for n in (few, many)), "of n log n"]
    tables.show("bins-growth", header, rows)


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


PARTS = {
    "speed": speed,
    "peers": other_libraries,
    "growth": growth,
    "accuracy": accuracy,
}


def main(argv=None):
    """Run the parts and show their tables."""
    parser = command.parser(__doc__, "data", "quick", repeats=3)
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    options = parser.parse_args(argv)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    note = f"medians of {options.repeats} runs that take turns"
    tables = command.tables("bins", options, note)
    for part in options.part:
        PARTS[part](tables, options)
