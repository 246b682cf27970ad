"""The default tree compared with trees of R: rpart, and ctree of partykit.

Five-fold cross-validation on real tables of at most 2,000 rows (a seeded sample of
larger ones in proportion to the classes); all trees have the same folds. The default
and the trees of R get categories as categories and missing values as missing.
scikit-learn's CART, which knows no categories, gets their codes. The default was chosen
on tables of FOLDER; on those of OTHER, which ``python benchmarks held_out`` makes,
nothing was.

"Pruned by CV" is the penalty of least error in cross-validation: for scikit-learn's
CART among at most 10 of its cost-complexity path by five folds, for rpart among all of
its own by its own ten folds, after growth with cp=0. All else are defaults. Log loss
clips probabilities at 1e-6, AUC is the mean over classes, each against the others,
times are CPU seconds of the fit, the cross-validation included. Differences are from
the default tree, with standard errors over tables; leaves and times are geometric
means. Tables on which a tree of R fails are left out for it: ctree
takes no more than 30 categories of a column.

    python benchmarks r_packages --data FOLDER --held-out OTHER

The trees of R are fitted by ``Rscript`` (Debian: r-cran-rpart, r-cran-partykit).
Without it nothing is measured, and the stored table stays what it is.
"""

import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from common import options as command
from common.cart import by_grid
from common.data import collections, encoded
from common.judging import TIE, auc, scores, with_error
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier

MAX_ROWS, MAX_ALPHAS, FOLDS = 2_000, 10, 5
BASE = "default"
MODELS = {
    BASE: lambda X, y, nominal: ConfidenceTreeClassifier(
        categorical_features=nominal
    ).fit(X, y),
    "CART of scikit-learn": lambda X, y, nominal: DecisionTreeClassifier(
        random_state=0
    ).fit(X, y),
    "CART of scikit-learn, pruned by CV": lambda X, y, nominal: by_grid(
        X, y, MAX_ALPHAS
    ),
}
R_MODELS = ("rpart", "rpart, pruned by CV", "partykit::ctree")
PACKAGES = "suppressPackageStartupMessages({library(rpart); library(partykit)})"


def has_r():
    """Tell whether Rscript is there with both packages."""
    program = shutil.which("Rscript")
    if program is None:
        return False
    run = subprocess.run([program, "-e", PACKAGES], capture_output=True, check=False)
    return run.returncode == 0


def judged(proba, classes, y, n_classes):
    """Accuracy in points, log loss and AUC."""
    every = np.zeros((len(y), n_classes))
    every[:, classes] = proba
    accuracy, loss, _ = scores(proba, classes, y, n_classes)
    return [100.0 * accuracy, loss, auc(every, y)]


def r_trees(X, y, is_nominal, fold):
    """Judge the trees of R: rule -> measures of each fold."""
    frame = pd.DataFrame(
        {
            f"{'c' if nominal else 'x'}{j}": column
            for j, (nominal, column) in enumerate(zip(is_nominal, X.T, strict=True))
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        table, answers = (Path(folder) / name for name in ("table.csv", "answers.csv"))
        frame.assign(fold=fold, target=y).to_csv(table, index=False)
        script = Path(__file__).parents[1] / "common" / "r_trees.R"
        subprocess.run(["Rscript", script, table, answers], check=True)
        if not answers.exists():
            return {}
        found = pd.read_csv(answers, header=None)
    n_classes = int(y.max()) + 1
    measures = {}
    for (rule, _), rows in found.groupby([0, 1], sort=False):
        places, proba = rows[2].to_numpy(int), rows.iloc[:, 5:].to_numpy()
        told = judged(proba, np.arange(n_classes), y[places], n_classes)
        measures.setdefault(rule, []).append([*told, *rows.iloc[0, 3:5]])
    return measures


def cross_validate(name, folder):
    """Mean measures of each rule on one table."""
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    X = X.astype(np.float32)
    fold = np.zeros(len(y), dtype=int)
    found = {}
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y)
    for i, (train, test) in enumerate(splits):
        fold[test] = i
        for rule, fit in MODELS.items():
            start = time.process_time()
            model = fit(X[train], y[train], np.flatnonzero(is_nominal))
            rest = [float(model.get_n_leaves()), time.process_time() - start]
            proba = model.predict_proba(X[test])
            told = judged(proba, model.classes_, y[test], int(y.max()) + 1)
            found.setdefault(rule, []).append(told + rest)
    found |= r_trees(X, y, is_nominal, fold)
    # a fold of one class has no AUC
    return {rule: np.nanmean(rows, axis=0) for rule, rows in found.items()}


def row(part, rule, results):
    """Make a row of the table."""
    names = [name for name, found in results.items() if rule in found]
    own, base = (
        np.array([results[name][one] for name in names]) for one in (rule, BASE)
    )
    points, loss, gain = (own - base)[:, :3].T
    size, seconds = np.exp(np.log(own[:, 3:]).mean(axis=0))
    differences = ["-"] * 4
    if rule != BASE:
        wins = [(points > TIE).sum(), (abs(points) <= TIE).sum(), (points < -TIE).sum()]
        differences = [
            with_error(points, 2),
            "/".join(map(str, wins)),
            with_error(loss, 3),
            with_error(gain, 3),
        ]
    return [
        part,
        rule,
        len(names),
        f"{own[:, 0].mean():.1f} %",
        *differences[:2],
        f"{own[:, 1].mean():.3f}",
        differences[2],
        f"{own[:, 2].mean():.3f}",
        differences[3],
        f"{size:.1f}",
        f"{1000 * seconds:.0f} ms",
    ]


def main(argv=None):
    """Run the study and print its table."""
    parser = command.parser(__doc__, "data", "held-out", "quick")
    options = parser.parse_args(argv)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    note = f"{FOLDS} folds, at most {MAX_ROWS:,} rows"
    tables = command.tables("r_packages", options, note)
    if not has_r():
        print(
            "There is no Rscript with the packages rpart and partykit: nothing was "
            "measured, the stored table stays what it is."
        )
        return
    rows = []
    for part, folder, names in collections(options, 2):
        results = {}
        for name in names:
            results[name] = cross_validate(name, folder)
            times = (f"{rule} {run[4]:.3f}" for rule, run in results[name].items())
            print(f"  {name}, CPU s per fit: {', '.join(times)}", flush=True)
        rows += [
            row(part, rule, results)
            for rule in (*MODELS, *R_MODELS)
            if sum(rule in found for found in results.values()) > 1
        ]
    header = ["tables", "tree", "number", "accuracy", "difference", "W/T/L", "log loss"]
    header += ["its difference", "AUC", "difference of AUC", "leaves", "fit"]
    tables.show("r-packages", header, rows)
