"""What costs accuracy where classes are many and rows few.

    python benchmarks many_classes --data FOLDER [--repeats 3]

Five-fold cross-validation on the tables of fifty classes and more. From CART to the
default one thing changes at a time: ties (scikit-learn draws, ours go to the lowest
feature), then what attributes compete by (gain, or expected false cuts, which count the
cuts of each), then the stop, the pruning and the look-ahead. Differences from the first
rule are in points, with their standard error over folds, as if these were independent.
"""

import warnings

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, table_names
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier

MANY = 50  # classes
MAX_ROWS = 3_000
LAX = 1e9  # expected false cuts that stop nothing
RULES = {
    "CART, entropy": lambda seed: DecisionTreeClassifier(
        criterion="entropy", random_state=seed
    ),
    "CART, Gini": lambda seed: DecisionTreeClassifier(random_state=seed),
    "no bound, entropy": lambda seed: ConfidenceTreeClassifier(
        None, criterion="entropy"
    ),
    "gtest, no stop": lambda seed: ConfidenceTreeClassifier(delta=LAX, pruning=None),
    "gtest, not pruned": lambda seed: ConfidenceTreeClassifier(pruning=None),
    "greedy": lambda seed: ConfidenceTreeClassifier(lookahead=0),
    "default": lambda seed: ConfidenceTreeClassifier(),
}


def cross_validate(X, y, is_nominal, repeats):
    """Accuracy and leaves of each rule: array of (rules, folds, 2)."""
    found = []
    for seed in range(repeats):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        for train, test in folds.split(X, y):
            rows, others = impute(X[train], X[test], is_nominal)
            answer = []
            for make in RULES.values():
                model = make(seed).fit(rows, y[train])
                answer.append((model.score(others, y[test]), model.get_n_leaves()))
            found.append(answer)
    return np.array(found).transpose(1, 0, 2)


def main(argv=None):
    """Run the study and print its table."""
    parser = command.parser(__doc__, "data", "quick", repeats=3)
    options = parser.parse_args(argv)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    folder = data_folder(options.data)
    note = f"{options.repeats} times five folds"
    tables = command.tables("many_classes", options, note)
    rows = []
    for name in table_names(folder):
        X, y, is_nominal = encoded(name, folder, MAX_ROWS)
        if y.max() + 1 < MANY:
            continue
        found = cross_validate(
            X, y, is_nominal, 1 if options.quick else options.repeats
        )
        for rule, one in zip(RULES, found, strict=True):
            points = 100.0 * (one - found[0])[:, 0]
            error = points.std(ddof=1) / np.sqrt(len(points))
            rows.append(
                [
                    name,
                    rule,
                    f"{100 * one[:, 0].mean():.1f}",
                    "-"
                    if rule == next(iter(RULES))
                    else f"{points.mean():+.1f} ({error:.1f})",
                    f"{one[:, 1].mean():.0f}",
                ]
            )
    header = ["table", "rule", "accuracy", "difference", "leaves"]
    tables.show("many-classes", header, rows)
