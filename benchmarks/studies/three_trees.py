"""The default tree beside CART, as it comes and tuned: what a user gets from each.

Five-fold cross-validation on real tables, nominal columns as codes, missing values
filled in.
The tuned CART is a grid search over the cost-complexity path of its training rows, by
inner five-fold cross-validation. Everything is what the public methods answer:
probabilities are those of `predict_proba`, times are CPU seconds of `fit`, the search
included.

    python benchmarks three_trees --data FOLDER
"""

import time
import warnings

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, manifest
from common.study import CLIP
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier

MAX_ROWS, MAX_ALPHAS = 2_000, 20
# The same people or flights as another table.
LEFT_OUT = ("a9a", "airlines2007-ordered")
NAMES = ("this tree, untuned", "CART, untuned", "CART, tuned")


def tuned(X, y):
    """A grid search over the penalties that make a difference."""
    plain = DecisionTreeClassifier(random_state=0)
    alphas = np.unique(
        np.maximum(plain.cost_complexity_pruning_path(X, y).ccp_alphas, 0)
    )
    chosen = np.unique(np.linspace(0, len(alphas) - 1, MAX_ALPHAS).round().astype(int))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return GridSearchCV(plain, {"ccp_alpha": alphas[chosen]}, cv=folds).fit(X, y)


def fitted(name, X, y):
    """Fit one of the three; the tree and CPU seconds."""
    start = time.process_time()
    if name == NAMES[0]:
        model = ConfidenceTreeClassifier().fit(X, y)
    elif name == NAMES[1]:
        model = DecisionTreeClassifier(random_state=0).fit(X, y)
    else:
        model = tuned(X, y).best_estimator_
    return model, time.process_time() - start


def scores(model, seconds, X, y):
    """Accuracy, leaves, log loss and seconds on rows held out."""
    columns = np.searchsorted(model.classes_, y)
    columns[columns == len(model.classes_)] = 0
    proba = model.predict_proba(X)
    true = np.where(
        model.classes_[columns] == y, proba[np.arange(len(y)), columns], 0.0
    )
    loss = -np.log(np.clip(true, CLIP, 1.0)).mean()
    return model.score(X, y), float(model.get_n_leaves()), loss, seconds


def cross_validate(name, folder, folds):
    """Mean scores of the three on one table: array of 3 by 4."""
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    answer = []
    splits = StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y)
    for train, test in splits:
        rows, others = impute(X[train], X[test], is_nominal)
        rows, others = rows.astype(np.float32), others.astype(np.float32)
        answer.append(
            [scores(*fitted(name, rows, y[train]), others, y[test]) for name in NAMES]
        )
    return np.mean(answer, axis=0)


def main(argv=None):
    """Run the study and print its table."""
    parser = command.parser(__doc__, "data", "quick")
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args(argv)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    folder = data_folder(options.data)
    names = sorted(set(manifest(folder)) - set(LEFT_OUT))
    names = names[:2] if options.quick else names
    found = np.array([cross_validate(name, folder, options.folds) for name in names])
    rows = []
    for i, name in enumerate(NAMES):
        accuracy, leaves, loss, seconds = found[:, i].T
        rows.append(
            [
                name,
                f"{100 * accuracy.mean():.1f} %",
                f"{np.exp(np.log(leaves).mean()):.0f}",
                f"{loss.mean():.2f}",
                f"{1000 * np.exp(np.log(seconds).mean()):.0f} ms",
            ]
        )
    note = f"{len(names)} tables of at most {MAX_ROWS} rows"
    header = ["tree", "accuracy", "leaves", "log loss", "fit"]
    command.tables("three_trees", options, note).show("three-trees", header, rows)
