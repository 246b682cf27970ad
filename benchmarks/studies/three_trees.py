"""The default tree beside CART, as it comes and tuned: what a user gets from each.

Five-fold cross-validation on real tables, nominal columns as codes, missing values
filled in. The default was chosen on tables of FOLDER; on those of OTHER, which ``python
benchmarks held_out`` makes, nothing was.

CART is tuned over its cost-complexity path by inner five-fold cross-validation, in two
ways: by a grid search over at most 20 penalties, and by one tree a fold whose prunings
are all judged, of level ones the smallest. The second one is what accuracies are
compared with, and what is given the shrinkage of our leaves. Everything else is what
the public methods answer: probabilities are those of `predict_proba`, clipped at 1e-6
in the log loss, times are CPU seconds of `fit`, the search included.

    python benchmarks three_trees --data FOLDER --held-out OTHER
"""

import time
import warnings

import numpy as np
from common import options as command
from common.cart import by_grid, by_paths, of_nodes
from common.data import data_folder, encoded, impute, table_names
from common.judging import scores, with_error
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier

MAX_ROWS, MAX_ALPHAS = 2_000, 20
PRUNED = "CART, tuned by one tree a fold"
SHRUNK = "CART, tuned, same shrinkage"
MODELS = {
    "this tree, untuned": lambda X, y: ConfidenceTreeClassifier().fit(X, y),
    "CART, untuned": lambda X, y: DecisionTreeClassifier(random_state=0).fit(X, y),
    "CART, tuned by a grid search": lambda X, y: by_grid(X, y, MAX_ALPHAS),
    PRUNED: by_paths,
}
NAMES = (*MODELS, SHRUNK)


def judged(X, y, X_test, y_test, n_classes):
    """Judge all trees on rows held out: accuracy, log loss, Brier, leaves, seconds."""
    found = {}
    for name, fit in MODELS.items():
        start = time.process_time()
        model = fit(X, y)
        rest = [float(model.get_n_leaves()), time.process_time() - start]
        proba = model.predict_proba(X_test)
        found[name] = scores(proba, model.classes_, y_test, n_classes) + rest
        if name == PRUNED:
            shrunk = of_nodes(model.tree_)[1][model.apply(X_test)]
            found[SHRUNK] = scores(shrunk, model.classes_, y_test, n_classes) + rest
    return [found[name] for name in NAMES]


def cross_validate(name, folder, folds):
    """Mean scores of all trees on one table: array of trees by measures."""
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    answer = []
    splits = StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y)
    for train, test in splits:
        rows, others = impute(X[train], X[test], is_nominal)
        rows, others = rows.astype(np.float32), others.astype(np.float32)
        answer.append(judged(rows, y[train], others, y[test], int(y.max()) + 1))
    return np.mean(answer, axis=0)


def cells(found, i):
    """Accuracy, its difference from the tuned CART, and log loss of one tree."""
    accuracy, base = 100.0 * found[:, i, 0], 100.0 * found[:, NAMES.index(PRUNED), 0]
    told = f"{accuracy.mean():.1f} %"
    if NAMES[i] != PRUNED:
        told += f", {with_error(accuracy - base, 2)}"
    return [told, f"{found[:, i, 1].mean():.2f}", f"{found[:, i, 2].mean():.3f}"]


def main(argv=None):
    """Run the study and print its table."""
    parser = command.parser(__doc__, "data", "held-out", "quick")
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args(argv)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    note = f"{options.folds} folds, at most {MAX_ROWS:,} rows"
    tables = command.tables("three_trees", options, note)
    parts = {}
    for part, folder in (
        ("", data_folder(options.data)),
        (", others", options.held_out),
    ):
        if folder is not None:
            names = table_names(folder)
            names = names[:2] if options.quick else names
            parts[part] = np.array(
                [cross_validate(name, folder, options.folds) for name in names]
            )
    both = np.concatenate(list(parts.values()))
    rows = []
    for i, name in enumerate(NAMES):
        leaves, milliseconds = np.exp(np.log(both[:, i, 3:]).mean(axis=0)) * [1, 1000]
        told = [cell for found in parts.values() for cell in cells(found, i)]
        rows.append([name, *told, f"{leaves:.0f}", f"{milliseconds:.0f} ms"])
    header = ["tree"]
    for part in parts:
        header += [f"{measure}{part}" for measure in ("accuracy", "log loss", "Brier")]
    tables.show("three-trees", [*header, "leaves", "fit"], rows)
