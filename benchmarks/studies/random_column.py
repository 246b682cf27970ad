"""What a random column of many categories costs the default tree.

A column of texts drawn at random, 20 to 1,000 different ones, is put beside the columns
of a real table. It says nothing; a tree that pays for its many sets with the other
columns' splits, or splits on it, loses accuracy. Repeated ten-fold cross-validation of
the default tree with the categories themselves, same folds with and without the column;
a new column for every repetition. The standard error of the mean difference is taken
over repetitions. Behind it adult with categories beside adult with their codes.

    python benchmarks random_column --data FOLDER [--repeats 10]
"""

import warnings

import numpy as np
import pandas as pd
from common import options as command
from common.data import data_folder, impute, load
from sklearn.model_selection import StratifiedKFold, train_test_split

from skconftree import ConfidenceTreeClassifier

TABLES = {"australian": None, "adult": 10_000, "car": None}
CATEGORIES = (20, 50, 400, 1000)
HEADER = ["table", "column", "accuracy", "difference", "leaves", "left out"]


def table(name, folder, max_rows):
    """Read a table with columns of dtype category; at most so many rows."""
    X, y, nominal = load(name, folder)
    X[nominal] = X[nominal].astype("category")
    if max_rows is not None and len(X) > max_rows:
        X, _, y, _ = train_test_split(
            X, y, train_size=max_rows, random_state=0, stratify=y
        )
    return X.reset_index(drop=True), y


def with_column(X, n_categories, seed):
    """Put a random column of texts beside the others."""
    rng = np.random.default_rng([seed, n_categories])
    texts = [f"c{code}" for code in rng.integers(0, n_categories, len(X))]
    return X.assign(random=pd.Categorical(texts))


def codes(X):
    """Categories as numbers, in the order of their names."""
    matrix = np.column_stack(
        [
            column.cat.codes.where(column.cat.codes >= 0)
            if column.dtype == "category"
            else column
            for _, column in X.items()
        ]
    )
    is_nominal = (X.dtypes == "category").to_numpy()
    return matrix.astype(np.float64), is_nominal


def cross_validate(X, y, seed, is_nominal=None):
    """Accuracy and leaves of each fold, and in how many a column was left out."""
    accuracy, leaves, n_left_out = [], [], 0
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    for train, test in folds.split(np.zeros(len(y)), y):
        if is_nominal is None:
            rows, others = X.iloc[train], X.iloc[test]
        else:
            rows, others = impute(X[train], X[test], is_nominal)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            tree = ConfidenceTreeClassifier().fit(rows, y[train])
        n_left_out += len(said)
        accuracy.append(tree.score(others, y[test]))
        leaves.append(tree.get_n_leaves())
    return np.mean(accuracy), np.mean(leaves), n_left_out


def record(name, column, runs, baseline):
    """Make a row of the table; runs and baseline are [repeats, measures]."""
    accuracy, leaves, n_left_out = np.transpose(runs)
    points = 100.0 * (accuracy - np.transpose(baseline)[0])
    error = points.std(ddof=1) / np.sqrt(len(points)) if len(points) > 1 else np.nan
    row = [name, column, f"{100 * accuracy.mean():.2f} %", "", f"{leaves.mean():.1f}"]
    if runs is not baseline:
        row[3] = f"{points.mean():+.2f} ({error:.2f})"
    return [*row, f"{n_left_out.sum():.0f} of {10 * len(points)}"]


def main(argv=None):
    """Print the table."""
    parser = command.parser(__doc__, "data", repeats=10)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    note = f"{options.repeats} times ten-fold cross-validation"
    tables = command.tables("random_column", options, note)
    seeds = range(options.repeats)
    rows = []
    for name in options.tables:
        X, y = table(name, folder, TABLES[name])
        native = [cross_validate(X, y, seed) for seed in seeds]
        rows.append(record(name, "none", native, native))
        for m in CATEGORIES:
            runs = [cross_validate(with_column(X, m, s), y, s) for s in seeds]
            rows.append(record(name, f"{m} categories", runs, native))
            print(*rows[-1], flush=True)
        if name == "adult":
            matrix, is_nominal = codes(X)
            runs = [cross_validate(matrix, y, seed, is_nominal) for seed in seeds]
            rows.append(record(name, "none, as codes", runs, native))
    tables.show("random-column-all", HEADER, rows)
    lost = {(row[0], row[1]): row[3] for row in rows}
    tables.show(
        "random-column",
        ["categories", *options.tables],
        [
            [f"{m:,}", *(lost[name, f"{m} categories"] for name in options.tables)]
            for m in CATEGORIES
        ],
    )
