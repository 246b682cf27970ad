"""Figures that need the predictions themselves: of probabilities, scikit-learn's."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, roc_auc_score

from ..utils import canonical

SMALLEST = np.finfo(np.float64).eps  # probability that a logarithm is taken of


class Told(ClassifierMixin, BaseEstimator):
    """What an estimator has said of some rows, as an estimator that scorers ask.

    There are no rows: a scorer gets the numbers of the predictions instead.
    """

    def __init__(self, classes, predicted, proba):
        self.classes_ = classes
        self.predicted = predicted
        self.proba = proba

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        """Labels."""
        return self.classes_.take(self.predicted)

    def predict_proba(self, X):
        """Probabilities of the classes."""
        if self.proba is None:
            raise AttributeError("There are no probabilities.")
        return self.proba


class _Asked(Told):
    """Finds out whether probabilities are asked for."""

    asked = False

    def predict_proba(self, X):
        """Equal ones."""
        self.asked = True
        return self.proba


class Predictions:
    """Classes, predicted ones, probabilities and weights of tested rows.

    Arrays in pieces, in the order of the rows; pieces of probabilities are None if
    nobody needs them.
    """

    def __init__(self, pieces=()):
        self.pieces = list(pieces)

    def add(self, true, predicted, proba, weight):
        """Keep some; gives others, as a step happens whole or not."""
        return Predictions([*self.pieces, (true, predicted, proba, weight)])

    def __getstate__(self):
        return canonical(vars(self))

    def scores(self, scorers, classes, positive):
        """Figure of each name; NaN where it is not defined."""
        if not self.pieces:
            return dict.fromkeys(scorers, np.nan)
        true, predicted, proba, weight = zip(*self.pieces, strict=True)
        if all(one is None for one in weight):
            weight = None
        else:
            weight = np.concatenate(
                [
                    np.ones(len(labels)) if one is None else one
                    for labels, one in zip(true, weight, strict=True)
                ]
            )
        proba = None if proba[0] is None else np.concatenate(proba)
        true, predicted = np.concatenate(true), np.concatenate(predicted)
        found = {}
        for name, scorer in scorers.items():
            if scorer in OWN:
                figure = OWN[scorer](true, proba, weight, positive)
            else:
                told = Told(classes, predicted, proba)
                figure = _ask(scorer, told, classes.take(true), weight)
            found[name] = float(figure)
        return found


def _ask(scorer, told, y, weight):
    given = {} if weight is None else {"sample_weight": weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that no row has
        try:
            return scorer(told, np.arange(len(y))[:, np.newaxis], y, **given)
        except ValueError:
            return np.nan


def log_loss(true, proba, weight, positive):
    """Mean of minus the logarithm of the probability of the label."""
    told = proba[np.arange(len(true)), true]
    if weight is not None and not weight.any():
        return np.nan
    return -np.average(np.log(np.maximum(told, SMALLEST)), weights=weight)


def _neg_log_loss(true, proba, weight, positive):
    return -log_loss(true, proba, weight, positive)


def roc_auc(true, proba, weight, positive):
    """Area under the curve of the positive class, or the mean over all classes."""
    if weight is not None:
        true, proba, weight = (one[weight > 0.0] for one in (true, proba, weight))
    classes = range(proba.shape[1]) if positive is None else [positive]
    areas = [
        roc_auc_score(true == one, proba[:, one], sample_weight=weight)
        for one in classes
        if 0 < np.count_nonzero(true == one) < len(true)
    ]
    return np.mean(areas) if areas else np.nan


OWN = {"log_loss": log_loss, "neg_log_loss": _neg_log_loss, "roc_auc": roc_auc}


def resolved_scorers(scoring):
    """Names of figures -> scorers, or names of those of this file."""
    if scoring is None:
        return {}
    given = [scoring] if isinstance(scoring, str) or callable(scoring) else scoring
    scorers = {}
    for one in given:
        if callable(one):
            scorers[getattr(one, "__name__", repr(one))] = one
        elif one in OWN:
            scorers[one] = one
        else:
            scorers[one] = get_scorer(one)
    return scorers


def need_proba(scorers, classes):
    """Whether one of the scorers asks for probabilities; raise if one cannot be had."""
    k, found = len(classes), False
    for name, scorer in scorers.items():
        if scorer in OWN:
            found = True
            continue
        true = np.tile(np.arange(k), 2)
        asked = _Asked(classes, true, np.full((2 * k, k), 1.0 / k))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                scorer(asked, np.arange(2 * k)[:, np.newaxis], classes.take(true))
            except Exception as error:
                raise ValueError(
                    f"scoring {name!r} cannot be had of {k} classes: {error}"
                ) from error
        found |= asked.asked
    return found
