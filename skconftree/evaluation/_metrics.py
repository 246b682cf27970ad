"""Metrics along a stream: counts, and scikit-learn's scorers of probabilities."""

import math
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, roc_auc_score

SMALLEST = np.finfo(np.float64).eps  # probability that a logarithm is taken of


class Told(ClassifierMixin, BaseEstimator):
    """Estimator with fixed predictions for scorers, which get row numbers as X."""

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
    """Labels, predictions, probabilities (None if unused) and weights, in pieces."""

    def __init__(self, pieces=()):
        self.pieces = list(pieces)

    def add(self, true, predicted, proba, weight):
        """Keep some; gives others, as a step happens whole or not."""
        return Predictions([*self.pieces, (true, predicted, proba, weight)])

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


OWN = {
    "log_loss": log_loss,
    "neg_log_loss": lambda *told: -log_loss(*told),
    "roc_auc": roc_auc,
}


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


def cohen_kappa(agreement, expected):
    """Share of the possible gain over `expected` that `agreement` is; NaN for 0 / 0."""
    possible = 1.0 - expected
    return (agreement - expected) / possible if possible > 0.0 else math.nan


class Counts:
    """What is counted; a step changes a copy, so that it happens whole or not."""

    def copy(self):
        """Copy numbers and arrays."""
        made = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(made, name, value + 0)
        return made


class Tally(Counts):
    """Weights of the tested rows, by class.

    A matrix of true against predicted classes is not needed for what is reported, and
    would be large where classes are many.

    Sums run in the order of the rows, whatever the pieces they come in.
    """

    def __init__(self, n_classes):
        self.true = np.zeros(n_classes)
        self.predicted = np.zeros(n_classes)
        self.right = np.zeros(n_classes)
        self.no_change_right = 0.0
        self.majority_right = 0.0

    def add(self, true, predicted, no_change, majority, weight):
        """Count tested rows; all arguments are class indices, `weight` may be None."""
        right = true == predicted
        add_up(self.true, true, weight)
        add_up(self.predicted, predicted, weight)
        add_up(self.right, true[right], None if weight is None else weight[right])
        self.no_change_right = _plus(self.no_change_right, true == no_change, weight)
        self.majority_right = _plus(self.majority_right, true == majority, weight)

    def merge(self, other):
        """Add the counts of the rows that follow."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def _share(self, weight):
        total = float(self.true.sum())
        return float(weight) / total if total > 0.0 else math.nan

    def figures(self, positive):
        """Fields of the same names of a record; F1 is of class `positive`."""
        accuracy = self._share(self.right.sum())
        chance = math.nan
        if not math.isnan(accuracy):
            # of shares: products of weights may be too large for a float, or too small
            total = self.true.sum()
            chance = float((self.true / total) @ (self.predicted / total))
        f1 = math.nan
        if positive is not None and not math.isnan(accuracy):
            either = float(self.true[positive] + self.predicted[positive])
            f1 = 2.0 * float(self.right[positive]) / either if either else 0.0
        balanced = geometric = math.nan
        there = self.true > 0.0
        if there.any():
            recalls = self.right[there] / self.true[there]
            balanced = float(recalls.mean())
            with np.errstate(divide="ignore"):
                geometric = float(np.exp(np.log(recalls).mean()))
        return {
            "accuracy": accuracy,
            "balanced_accuracy": balanced,
            "geometric_mean": geometric,
            "kappa": cohen_kappa(accuracy, chance),
            "f1": f1,
            "no_change_accuracy": self._share(self.no_change_right),
            "majority_accuracy": self._share(self.majority_right),
        }


class Baselines(Counts):
    """Predictions that need no model; before the first label both are class 0."""

    def __init__(self, n_classes):
        self.last = 0
        self.counts = np.zeros(n_classes)

    def guess(self):
        """What both predict for the next row."""
        return self.last, int(self.counts.argmax())

    def learn(self, true, weight):
        """Predict each row by no-change and by majority, then learn it."""
        no_change = np.empty_like(true)
        no_change[:1] = self.last
        no_change[1:] = true[:-1]
        majority = self._majority(true, weight)
        self.take(true, weight)
        return no_change, majority

    def take(self, true, weight):
        """Learn rows, of which there is one as a rule where labels are late."""
        if len(true) == 1:
            self.last = int(true[0])
            self.counts[self.last] += 1.0 if weight is None else weight[0]
        elif len(true):
            self.last = int(true[-1])
            add_up(self.counts, true, weight)

    def _majority(self, true, weight):
        # Only a class that can catch up within these rows has to be followed; along a
        # stream whose classes are not balanced that is soon none.
        reach = self.counts + np.bincount(true, weight, minlength=len(self.counts))
        leader = int(self.counts.argmax())
        slack = 1.0 - 1e-9  # the order of a sum of weights may cost a digit
        followed = np.flatnonzero(reach >= slack * self.counts[leader])
        if len(followed) <= 1:
            return leader
        running = np.empty((len(true) + 1, len(followed)))
        running[0] = self.counts[followed]
        is_class = true[:, np.newaxis] == followed
        running[1:] = is_class if weight is None else is_class * weight[:, np.newaxis]
        before = np.cumsum(running, axis=0, out=running)[:-1]
        return followed[before.argmax(axis=1)]


def add_up(counts, index, weight):
    """Add to `counts` in place, one row after the other."""
    if weight is None:
        counts += np.bincount(index, minlength=len(counts))
    else:
        np.add.at(counts, index, weight)


def _plus(total, right, weight):
    if weight is None:
        return total + float(np.count_nonzero(right))
    return float(np.cumsum(np.append(total, weight[right]))[-1])
