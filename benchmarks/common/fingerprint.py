"""Fingerprints of the trees that the default grows today.

A table that says "default" is of the default of the day on which it was measured. So
every stored table has these beside it, and a test compares them with today's: what
changes a tree of the default makes such tables out of date.
"""

import hashlib
from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from skconftree import ConfidenceTreeClassifier

LOADERS = (load_iris, load_wine, load_breast_cancer, load_digits)
EXACT = ("children_left", "feature", "threshold", "counts")
DECIMALS = 6  # of probabilities, whose last digits may depend on the machine
MANY = 6  # times the digits are more rows than the default looks ahead on


def drawn(X, y, times):
    """Rows as often as asked, in an order of their own; and some of them with holes."""
    rng = np.random.default_rng(0)
    order = rng.permutation(np.tile(np.arange(len(X)), times))
    X = X[order].astype(np.float32)
    holed = X.copy()
    holed[rng.random(X.shape) < 0.1] = np.nan
    return X, holed, y[order]


def of_trees(trees):
    """Hash what trees look like and say."""
    found = hashlib.sha256()
    for tree in trees:
        for name in EXACT:
            values = np.asarray(getattr(tree.tree_, name), dtype=np.float64)
            found.update((values + 0.0).tobytes())
        found.update((np.round(tree.tree_.value, DECIMALS) + 0.0).tobytes())
    return found.hexdigest()[:8]


def fitted():
    """Trees of `fit`: small tables as they are and with holes, and a large one.

    And trees of classes of which one is rare everywhere: what is split there changes
    probabilities, and no prediction.
    """
    for load in LOADERS:
        X, holed, y = drawn(*load(return_X_y=True), 1)
        for rows in (X, holed):
            yield ConfidenceTreeClassifier().fit(rows, y)
    X, _, y = drawn(*load_digits(return_X_y=True), MANY)
    yield ConfidenceTreeClassifier().fit(X, y)
    X, holed, y = drawn(*load_breast_cancer(return_X_y=True), 1)
    rare = (y == 0) & (np.random.default_rng(1).random(len(y)) < 0.4)
    for rows in (X, holed):
        yield ConfidenceTreeClassifier().fit(rows, rare)


def grown():
    """Trees of `partial_fit`, as they are and with holes."""
    for load in LOADERS:
        X, holed, y = drawn(*load(return_X_y=True), MANY)
        for rows in (X, holed):
            yield ConfidenceTreeClassifier().partial_fit(rows, y, np.unique(y))


@cache
def fingerprints():
    """Give the fingerprints by the way of growing."""
    return {"fitted": of_trees(fitted()), "grown": of_trees(grown())}
