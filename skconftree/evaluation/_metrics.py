"""Metrics of streams: from counts, and by scorers of scikit-learn.

A row is *tested* if it is predicted before its label is learned. A *record* has the
metrics of the rows so far (`PrequentialRecord`). Two baselines predict the last label
(*no change*) and the most frequent label so far (*majority*). `true`, `predicted` and
`positive` are class indices. Indices change if a new class precedes others in the
sorted order: methods `with_classes` update them.
"""

import math
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, roc_auc_score

MIN_PROBABILITY = np.finfo(np.float64).eps  # lower limit in the log loss


def spread(columns, at, n):
    """Return columns for n classes: given ones at the indices `at`, 0 elsewhere."""
    out = np.zeros((*columns.shape[:-1], n))
    out[..., at] = columns
    return out


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
            raise AttributeError("The evaluated model has no predict_proba.")
        return self.proba


class _ProbaDetector(FixedPredictions):
    """Detects whether a scorer uses probabilities."""

    uses_proba = False

    def predict_proba(self, X):
        """Return equal probabilities."""
        self.uses_proba = True
        return self.proba


class Predictions:
    """Predictions of tested rows, for scorers that need all of them.

    Each piece has the true and predicted classes of some rows, their probabilities
    (None if unused) and their weights (None: all are 1).
    """

    def __init__(self, pieces=()):
        self.pieces = list(pieces)

    def add(self, true, predicted, proba, weight):
        """Return a copy with one more chunk; the original does not change."""
        return Predictions([*self.pieces, (true, predicted, proba, weight)])

    def with_classes(self, at, n):
        """Return a copy for n classes, which include the previous ones.

        `at` are the indices of the previous classes among them, followed by -1, so that
        -1 (no prediction) stays -1.
        """
        return Predictions(
            (
                at[true],
                at[predicted],
                proba if proba is None else spread(proba, at[:-1], n),
                w,
            )
            for true, predicted, proba, w in self.pieces
        )

    def scores(self, scorers, classes, positive):
        """Return a dict of scores; a score that is not defined is NaN."""
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
    """Return Cohen's kappa: (agreement - expected) / (1 - expected); NaN for 0 / 0."""
    possible = 1.0 - expected
    return (agreement - expected) / possible if possible > 0.0 else math.nan


class Counts:
    """Base class of counters. A copy is updated, then replaces the original."""

    def copy(self):
        """Copy numbers and arrays."""
        new = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(new, name, value + 0)
        return new

    def with_classes(self, at, n):
        """Return a copy for n classes, which include the previous ones.

        `at` are the indices of the previous classes among them, followed by -1.
        """
        new = self.copy()
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(new, name, spread(value, at[:-1], n))
        return new


class Tally(Counts):
    """Sums of weights of the tested rows, by true, predicted and correct class.

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
        # Fraction of the total weight; NaN without rows.
        total = float(self.true.sum())
        return float(weight) / total if total > 0.0 else math.nan

    def metrics(self, positive):
        """Return metrics by their names in a record; F1 is that of class `positive`."""
        accuracy = self._share(self.right.sum())
        chance = math.nan
        if not math.isnan(accuracy):
            # normalized first, because products of weights may overflow or underflow
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
    """Baselines: the last label (no change), and the most frequent label before.

    Before the first label, both predict class `first`; -1 is no prediction.
    """

    first = 0

    def __init__(self, n_classes, first=0):
        self.first = self.last = first
        self.counts = np.zeros(n_classes)

    def with_classes(self, at, n):
        """Return a copy for n classes, see `Counts.with_classes`."""
        new = super().with_classes(at, n)
        new.last = int(at[self.last])
        return new

    def predict(self):
        """Return the predictions of both baselines for the next row."""
        has_counts = self.first == 0 or self.counts.any()
        return self.last, int(self.counts.argmax()) if has_counts else self.first

    def predict_and_update(self, true, weight):
        """Return the predictions for each row, made before its label is counted."""
        no_change = np.empty_like(true)
        no_change[:1] = self.last
        no_change[1:] = true[:-1]
        majority = self._majority(true, weight)
        self.update(true, weight)
        return no_change, majority

    def update(self, true, weight):
        """Count the labels of rows; with delayed labels usually of a single row."""
        if len(true) == 1:
            self.last = int(true[0])
            self.counts[self.last] += 1.0 if weight is None else weight[0]
        elif len(true):
            self.last = int(true[-1])
            add_up(self.counts, true, weight)

    def _majority(self, true, weight):
        # Return the most frequent class before each row. Only classes that may become
        # the most frequent one within these rows are counted row by row ("tracked").
        final = self.counts + np.bincount(true, weight, minlength=len(self.counts))
        most_frequent = int(self.counts.argmax())
        tolerance = 1.0 - 1e-9  # for rounding in sums of weights
        tracked = np.flatnonzero(final >= tolerance * self.counts[most_frequent])
        if len(tracked) <= 1 and self.counts.any():
            return most_frequent
        running = np.empty((len(true) + 1, len(tracked)))
        running[0] = self.counts[tracked]
        is_class = true[:, np.newaxis] == tracked
        running[1:] = is_class if weight is None else is_class * weight[:, np.newaxis]
        before = np.cumsum(running, axis=0, out=running)[:-1]
        return np.where(before.any(axis=1), tracked[before.argmax(axis=1)], self.first)


def add_up(counts, index, weight):
    """Add weights to `counts` in place, in the order of the rows."""
    if weight is None:
        counts += np.bincount(index, minlength=len(counts))
    else:
        np.add.at(counts, index, weight)


def _plus(total, right, weight):
    # Returns the total with the weights of the correct rows, added in their order.
    if weight is None:
        return total + float(np.count_nonzero(right))
    return float(np.cumsum(np.append(total, weight[right]))[-1])
