"""Classifiers for other packages: trees, forests, and one without a tree."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

from .parameters import NAMES, OTHERS


class Majority(ClassifierMixin, BaseEstimator):
    """Names the most frequent class, whatever the row: works with any table."""

    def fit(self, X, y, sample_weight=None):
        vars(self).pop("classes_", None)
        return self.partial_fit(X, y, np.unique(y), sample_weight)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if not hasattr(self, "classes_"):
            self.classes_ = np.asarray(classes)
            self.counts_ = np.zeros(len(classes))
        self.counts_ += (np.asarray(y)[:, np.newaxis] == self.classes_).sum(axis=0)
        return self

    def predict_proba(self, X):
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        return np.tile(self.counts_ / max(self.counts_.sum(), 1.0), (n, 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def draw_learner(sequence, *, forests=True):
    """A classifier for the table of a sequence, unfitted."""
    draw, table = sequence.draw, sequence.table
    if draw.chance(0.15):
        return Majority()
    parameters = {
        "lookahead": 0,  # which takes most of the time
        "bound": draw.one([None, None, "gtest", *NAMES]),
        "categorical_features": table.categorical_features,
        "grace_period": draw.one([1, 20]),
        "leaf_memory": draw.one(["auto", *OTHERS["leaf_memory"]]),
        "leaf_prediction": draw.one(["majority", *OTHERS["leaf_prediction"]]),
        "random_state": draw.whole(0, 1000),
    }
    if forests and draw.chance(0.2):
        del parameters["lookahead"]
        return ConfidenceForestClassifier(2, **parameters)
    return ConfidenceTreeClassifier(**parameters)


def draw_small_tree(draw, *, forests=True):
    """A tree, or a forest, that splits on few rows and is quick."""
    parameters = {
        "bound": draw.one([None, "gtest"]),
        "grace_period": draw.one([2, 10]),
        "random_state": draw.whole(0, 1000),
    }
    if forests and draw.chance(0.2):
        return ConfidenceForestClassifier(2, **parameters)
    return ConfidenceTreeClassifier(lookahead=0, **parameters)
