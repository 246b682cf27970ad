"""AdaBoost on trees with and without a bound, its weights taken as they are meant.

Accuracy of 50 stages by five-fold cross-validation, and the trees that were grown on
the whole table, with relative weights and with weights mistaken for frequencies.

    python benchmarks boosting
"""

import warnings

import numpy as np
from common import options as command
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier

TABLES = {
    "breast cancer, depth 1": (load_breast_cancer, 1),
    "breast cancer, depth 3": (load_breast_cancer, 3),
    "digits, depth 3": (load_digits, 3),
}
RELATIVE = {"sample_weight_kind": "relative"}
FREQUENCIES = {"sample_weight_kind": "frequency"}
TREES = {
    "``DecisionTreeClassifier``": DecisionTreeClassifier(random_state=0),
    "``bound=None``, relative": ConfidenceTreeClassifier(None, **RELATIVE),
    '``bound="gtest"``, relative': ConfidenceTreeClassifier("gtest", **RELATIVE),
    "the same, `delta` of 10, not pruned": ConfidenceTreeClassifier(
        "gtest", delta=10, pruning=None, **RELATIVE
    ),
    "``bound=None``, weights taken for frequencies": ConfidenceTreeClassifier(
        None, **FREQUENCIES
    ),
    '``bound="gtest"``, weights taken for frequencies': ConfidenceTreeClassifier(
        **FREQUENCIES
    ),
}


def boosted(tree, depth, table, stages):
    """Accuracy, trees grown, and whether there was a warning."""
    X, y = table
    model = AdaBoostClassifier(
        clone(tree).set_params(max_depth=depth), n_estimators=stages, random_state=0
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        accuracy = np.mean(cross_val_score(model, X, y, cv=5))
        grown = len(model.fit(X, y).estimators_)
    told = ", with warnings" if said else ""
    return f"{100 * accuracy:.1f} ({grown}){told}"


def main(argv=None):
    """Run every tree on every table and show the table."""
    options = command.parser(__doc__, "quick").parse_args(argv)
    stages = 3 if options.quick else 50
    tables = command.tables("boosting", options)
    rows = []
    for name, tree in TREES.items():
        row = [name]
        for load, depth in TABLES.values():
            row.append(boosted(tree, depth, load(return_X_y=True), stages))
        rows.append(row)
        print(*row, sep=" | ", flush=True)
    tables.show("boosting", ["tree", *TABLES], rows)
