"""Active learners with the iris data as pool."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from skconftree.active import ActiveLearner

X, Y = load_iris(return_X_y=True)


def some(y, rows=(0, 1, 60, 61, 120, 121)):
    """Labels of some rows; the others have none."""
    out = np.full(len(y), None)
    out[list(rows)] = y[list(rows)]
    return out


def learner(estimator=None, **parameters):
    """An active learner that has no pool yet."""
    estimator = GaussianNB() if estimator is None else estimator
    return ActiveLearner(estimator, **{"random_state": 0, **parameters})


def add_labels(one, n, y=Y):
    """The learner when that many of its questions have been answered."""
    for _ in range(n):
        rows = one.query()
        one.teach(rows, y[rows])
    return one
