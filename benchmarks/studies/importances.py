"""Feature importances: bias of useless columns, time, intervals and p-values.

Bias: 200 forests grow on 1,000 rows each with one useful column and useless ones of 2
to 1,000 values, nominal and numeric. For each column the means over the forests of
its share of the impurity decrease, of the decrease on out-of-bag rows and of the
permutation importance on 1,000 other rows, and the share of forests with a p-value up
to .05 before adjustment.

Time: CPU time of `fit` with out-of-bag predictions, with and without importances,
divided by that without either.

Intervals: trees grown from 300 rows, ten times each. Their permutation
importances on 30,000 rows are compared with the intervals from few new rows.

    python benchmarks importances [--part bias|time|intervals]
"""

import warnings
from unittest.mock import patch

import numpy as np
from common import options as command
from common.timing import interleaved, median
from sklearn.datasets import load_breast_cancer, load_digits, make_classification

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.inspection import feature_importance

N_VALUES = (2, 10, 100, 1_000)
COLUMNS = [
    "useful numeric",
    *(f"useless nominal, {k:,} values" for k in N_VALUES),
    *(f"useless numeric, {k:,} values" for k in N_VALUES),
    "useless numeric, all distinct",
]
NOMINAL = np.arange(1, 1 + len(N_VALUES))
BOUNDS = {"default": "gtest", "CART": None}


def of_many_values(rng, n_rows):
    """One useful column, and useless ones by number of values."""
    useless = [rng.integers(0, k, n_rows) for k in 2 * N_VALUES]
    X = np.column_stack([rng.normal(size=n_rows), *useless, rng.normal(size=n_rows)])
    return X, (rng.random(n_rows) < np.where(X[:, 0] > 0.0, 0.5, 0.2)).astype(int)


def bias(bound, n_forests):
    """Importances of three kinds and p-values, [forest, kind, column]."""
    found = []
    for seed in range(n_forests):
        rng = np.random.default_rng(seed)
        forest = ConfidenceForestClassifier(
            20,
            bound=bound,
            oob_score=True,
            categorical_features=NOMINAL,
            random_state=seed,
        ).fit(*of_many_values(rng, 1_000))
        permuted = feature_importance(
            forest, *of_many_values(rng, 1_000), n_repeats=5, random_state=seed
        )
        found.append(
            [
                forest.feature_importances_,
                forest.unbiased_feature_importances_,
                permuted.importances,
                permuted.p_values <= 0.05,
            ]
        )
    return np.array(found)


def show_bias(tables, n_forests):
    """Table of the bias of each kind of importance."""
    rows = []
    for name, bound in BOUNDS.items():
        found = bias(bound, n_forests)
        mean = found.mean(axis=0)
        error = found.std(axis=0, ddof=1) / np.sqrt(n_forests)
        for j, column in enumerate(COLUMNS):
            rows.append(
                [
                    name,
                    column,
                    f"{mean[0, j]:.3f} ({error[0, j]:.3f})",
                    *(f"{mean[i, j]:.5f} ({error[i, j]:.5f})" for i in (1, 2)),
                    f"{mean[3, j]:.3f} ({error[3, j]:.3f})",
                ]
            )
            print(rows[-1], flush=True)
    header = [
        "forest",
        "column",
        "impurity-based",
        "unbiased",
        "permutation",
        "p < .05",
    ]
    tables.show("importances-bias", header, rows)


def timed_tables():
    """Name of each table -> rows and labels."""
    return {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
        "20,000 rows, 20 columns": make_classification(
            20_000, 20, n_informative=10, random_state=0
        ),
        "5,000 rows, 10 classes": make_classification(
            5_000, 20, n_informative=10, n_classes=10, random_state=0
        ),
    }


def show_time(tables, repeats):
    """Table of the time of `fit`."""
    without = patch(
        "skconftree.ensemble.forest._growth.out_of_bag_importances", lambda *_: None
    )
    rows = []
    for table, (X, y) in timed_tables().items():
        for name, bound in BOUNDS.items():
            plain = ConfidenceForestClassifier(50, bound=bound, random_state=0)
            scored = ConfidenceForestClassifier(
                50, bound=bound, oob_score=True, random_state=0
            )

            def only_scored(scored=scored, X=X, y=y):
                with without:
                    scored.fit(X, y)

            seconds = interleaved(
                {
                    "plain": lambda plain=plain, X=X, y=y: plain.fit(X, y),
                    "scored": only_scored,
                    "both": lambda scored=scored, X=X, y=y: scored.fit(X, y),
                },
                repeats,
            )
            plain, scored, both = (median(seconds[k]) for k in seconds)
            rows.append(
                [
                    table,
                    name,
                    f"{1000 * plain:.0f} ms",
                    f"{scored / plain:.2f}",
                    f"{both / plain:.2f}",
                    f"{both / scored:.2f}",
                ]
            )
            print(rows[-1], flush=True)
    header = [
        "table",
        "forest",
        "fit",
        "with predictions",
        "with importances too",
        "importances / predictions",
    ]
    tables.show("importances-time", header, rows)


CLASSIFIERS = {
    "default tree": ConfidenceTreeClassifier(),
    "CART": ConfidenceTreeClassifier(None, shrinkage=0.0),
}
USEFUL, USELESS = slice(0, 3), slice(3, 6)
N_MODELS, N_LARGE = 10, 30_000


def of_rare_values(rng, n_rows):
    """Three useful columns, one rarely 1 and one weak, and three useless ones."""
    X = rng.normal(size=(n_rows, 6))
    X[:, 1] = rng.random(n_rows) < 0.1
    X[:, 3] = rng.integers(0, 10, n_rows)
    X[:, 4] = rng.random(n_rows) < 0.5
    z = 1.5 * X[:, 0] + 3.0 * X[:, 1] + 0.4 * X[:, 2] - 0.5
    return X, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-z))).astype(int)


def intervals(model, loss, sizes, n_samples, n_large):
    """Covered, rejected and any useless one rejected, by size of the new table."""
    found = {n: [] for n in sizes}
    for seed in range(N_MODELS):
        rng = np.random.default_rng(seed)
        model.fit(*of_rare_values(rng, 300))
        large = of_rare_values(rng, n_large)
        truth = feature_importance(model, *large, loss=loss, n_repeats=2).importances
        for n in sizes:
            for sample in range(n_samples // N_MODELS):
                new = of_rare_values(rng, n)
                got = feature_importance(model, *new, loss=loss, random_state=sample)
                low, high = got.intervals.T
                # an importance of 0 is known exactly if no prediction changes
                covers = (low <= truth) & (truth <= high)
                found[n].append(
                    [
                        covers[USEFUL].mean(),
                        covers[USELESS].mean(),
                        (got.p_values[USEFUL] <= 0.05).mean(),
                        (got.p_values[USELESS] <= 0.05).mean(),
                        (got.adjusted_p_values[USELESS] <= 0.05).any(),
                    ]
                )
    return found


def show_intervals(tables, n_samples, n_large, sizes):
    """Table of the coverage of intervals and the size of p-values."""
    rows = []
    for name, model in CLASSIFIERS.items():
        for loss in ("log_loss", "zero_one"):
            of_size = intervals(model, loss, sizes, n_samples, n_large)
            for n, found in of_size.items():
                mean = np.mean(found, axis=0)
                error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
                cells = (f"{a:.3f} ({b:.3f})" for a, b in zip(mean, error, strict=True))
                rows.append([name, loss.replace("_", " "), f"{n:,}", *cells])
                print(rows[-1], flush=True)
    header = [
        "classifier",
        "loss",
        "new rows",
        "covered, useful",
        "covered, useless",
        "p < .05, useful",
        "p < .05, useless",
        "any useless, Holm",
    ]
    tables.show("importances-intervals", header, rows)


def main(argv=None):
    """Run the study and show its tables."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--part", choices=["bias", "time", "intervals"])
    options = parser.parse_args(argv)
    warnings.filterwarnings("ignore", "[0-9]+ of [0-9]+ rows are in the samples")
    quick, part = options.quick, options.part
    n_forests, n_samples = (5, 10) if quick else (200, 200)
    note = f"{n_forests} forests, {n_samples} tables of new rows"
    tables = command.tables("importances", options, note)
    if part in (None, "bias"):
        show_bias(tables, n_forests)
    if part in (None, "time"):
        show_time(tables, 1 if quick else 7)
    if part in (None, "intervals"):
        sizes = (100,) if quick else (100, 400)
        show_intervals(tables, n_samples, 1_000 if quick else N_LARGE, sizes)
