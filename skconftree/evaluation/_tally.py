"""Counts along a stream: of the predictions, and of what needs no model."""

import math

import numpy as np

from ..utils import canonical


def cohen_kappa(agreement, expected):
    """Share of the possible gain over `expected` that `agreement` is; NaN for 0 / 0."""
    possible = 1.0 - expected
    return (agreement - expected) / possible if possible > 0.0 else math.nan


class Counts:
    """What is counted; a step changes a copy, so that it happens whole or not."""

    def __getstate__(self):
        return canonical(vars(self))

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
