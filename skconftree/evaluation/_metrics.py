"""Metrics of streams: counts, and scorers of scikit-learn."""

import math
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, roc_auc_score

MIN_PROBABILITY = np.finfo(np.float64).eps  # lower limit in the log loss


class FixedPredictions(ClassifierMixin, BaseEstimator):
    """Estimator with fixed predictions for scorers, which get row numbers as X."""

    def __init__(self, classes, predicted, proba):
        self.classes_ = classes
        self.predicted = predicted
        self.proba = proba

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        """Return the fixed labels."""
        return self.classes_.take(self.predicted)

    def predict_proba(self, X):
        """Return the fixed class probabilities."""
        if self.proba is None:
            raise AttributeError("There are no probabilities.")
        return self.proba


class _ProbaDetector(FixedPredictions):
    """Detects whether a scorer uses probabilities."""

    uses_proba = False

    def predict_proba(self, X):
        """Return equal probabilities."""
        self.uses_proba = True
        return self.proba


class Predictions:
    """Labels, predictions, probabilities (None if unused) and weights, in pieces."""

    def __init__(self, pieces=()):
        self.pieces = list(pieces)

    def add(self, true, predicted, proba, weight):
        """Copy with a further piece; copied so that updates are atomic."""
        return Predictions([*self.pieces, (true, predicted, proba, weight)])

    def scores(self, scorers, classes, positive):
        """Score by name; NaN if it is not defined."""
        if not self.pieces:
            return dict.fromkeys(scorers, np.nan)
        true, predicted, proba, weight = zip(*self.pieces, strict=True)
        if all(piece is None for piece in weight):
            weight = None
        else:
            weight = np.concatenate(
                [
                    np.ones(len(labels)) if piece is None else piece
                    for labels, piece in zip(true, weight, strict=True)
                ]
            )
        proba = None if proba[0] is None else np.concatenate(proba)
        true, predicted = np.concatenate(true), np.concatenate(predicted)
        scores = {}
        for name, scorer in scorers.items():
            if scorer in STREAM_METRICS:
                score = STREAM_METRICS[scorer](true, proba, weight, positive)
            else:
                fixed = FixedPredictions(classes, predicted, proba)
                score = _apply_scorer(scorer, fixed, classes.take(true), weight)
            scores[name] = float(score)
        return scores


def _apply_scorer(scorer, estimator, y, weight):
    params = {} if weight is None else {"sample_weight": weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes without rows
        try:
            return scorer(estimator, np.arange(len(y))[:, np.newaxis], y, **params)
        except ValueError:
            return np.nan


def log_loss(true, proba, weight, positive):
    """Log loss: mean negative logarithm of the probability of the label."""
    if weight is not None and not weight.any():
        return np.nan
    of_label = np.maximum(proba[np.arange(len(true)), true], MIN_PROBABILITY)
    return -np.average(np.log(of_label), weights=weight)


def roc_auc(true, proba, weight, positive):
    """Area under the ROC curve of the positive class, or the mean over all classes."""
    if weight is not None:
        used = weight > 0.0
        true, proba, weight = true[used], proba[used], weight[used]
    classes = range(proba.shape[1]) if positive is None else [positive]
    areas = [
        roc_auc_score(true == c, proba[:, c], sample_weight=weight)
        for c in classes
        if 0 < np.count_nonzero(true == c) < len(true)
    ]
    return np.mean(areas) if areas else np.nan


STREAM_METRICS = {
    "log_loss": log_loss,
    "neg_log_loss": lambda *args: -log_loss(*args),
    "roc_auc": roc_auc,
}


def resolved_scorers(scoring):
    """Map names of scores to scorers, or to names of metrics of this module."""
    if scoring is None:
        return {}
    single = isinstance(scoring, str) or callable(scoring)
    scorers = {}
    for scorer in [scoring] if single else scoring:
        if callable(scorer):
            scorers[getattr(scorer, "__name__", repr(scorer))] = scorer
        else:
            is_own = scorer in STREAM_METRICS
            scorers[scorer] = scorer if is_own else get_scorer(scorer)
    return scorers


def need_proba(scorers, classes):
    """Whether a scorer uses probabilities; raises an error if a scorer fails."""
    k, uses_proba = len(classes), False
    for name, scorer in scorers.items():
        if scorer in STREAM_METRICS:
            uses_proba = True
            continue
        true = np.tile(np.arange(k), 2)
        detector = _ProbaDetector(classes, true, np.full((2 * k, k), 1.0 / k))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                scorer(detector, np.arange(2 * k)[:, np.newaxis], classes.take(true))
            except Exception as error:
                raise ValueError(
                    f"scoring {name!r} cannot be computed for {k} classes: {error}"
                ) from error
        uses_proba |= detector.uses_proba
    return uses_proba


def cohen_kappa(agreement, expected):
    """Kappa: gain over `expected` as a share of the possible gain; NaN for 0 / 0."""
    possible = 1.0 - expected
    return (agreement - expected) / possible if possible > 0.0 else math.nan


class Counts:
    """Base of counters, which are copied before updates to make these atomic."""

    def copy(self):
        """Copy numbers and arrays."""
        made = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(made, name, value + 0)
        return made


class Tally(Counts):
    """Weights of the tested rows by true, predicted and correctly predicted class.

    The reported metrics do not need a confusion matrix, which would be large for many
    classes. Sums are computed in the order of the rows, independent of the division
    into calls.
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
        """Metrics by the names of fields of a record; F1 is of class `positive`."""
        accuracy = self._share(self.right.sum())
        chance = math.nan
        if not math.isnan(accuracy):
            # by shares, because products of weights may overflow or underflow
            total = self.true.sum()
            chance = float((self.true / total) @ (self.predicted / total))
        f1 = math.nan
        if positive is not None and not math.isnan(accuracy):
            either = float(self.true[positive] + self.predicted[positive])
            f1 = 2.0 * float(self.right[positive]) / either if either else 0.0
        balanced = geometric = math.nan
        is_present = self.true > 0.0
        if is_present.any():
            recalls = self.right[is_present] / self.true[is_present]
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
    """No-change and majority-class baselines; before the first label both are 0."""

    def __init__(self, n_classes):
        self.last = 0
        self.counts = np.zeros(n_classes)

    def guess(self):
        """Predictions of both baselines for the next row."""
        return self.last, int(self.counts.argmax())

    def learn(self, true, weight):
        """Predict each row by both baselines before learning it."""
        no_change = np.empty_like(true)
        no_change[:1] = self.last
        no_change[1:] = true[:-1]
        majority = self._majority(true, weight)
        self.take(true, weight)
        return no_change, majority

    def take(self, true, weight):
        """Learn rows; with delayed labels usually a single row."""
        if len(true) == 1:
            self.last = int(true[0])
            self.counts[self.last] += 1.0 if weight is None else weight[0]
        elif len(true):
            self.last = int(true[-1])
            add_up(self.counts, true, weight)

    def _majority(self, true, weight):
        # Only classes that can become the most frequent within these rows are tracked,
        # which are soon none if classes are imbalanced.
        reach = self.counts + np.bincount(true, weight, minlength=len(self.counts))
        leader = int(self.counts.argmax())
        slack = 1.0 - 1e-9  # allows for rounding in sums of weights
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
    """Add rows to `counts` in place, one after the other."""
    if weight is None:
        counts += np.bincount(index, minlength=len(counts))
    else:
        np.add.at(counts, index, weight)


def _plus(total, right, weight):
    if weight is None:
        return total + float(np.count_nonzero(right))
    return float(np.cumsum(np.append(total, weight[right]))[-1])
