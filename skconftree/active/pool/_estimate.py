"""Estimate of the error rate by rows of the pool that were drawn at random.

Rows that a query strategy selects are harder than others, so their error rate is not
that of the pool. A row that was drawn at random represents all rows that were unlabeled
at that time, and a row that was labeled before the draw represents itself.

The *pool* is the table of unlabeled and labeled rows. Of a learner, `_start` has the
initial labels, `_answers` the later batches of labels, `_codes` the class index of each
row, and `_skipped` the rows to which the annotator gave no label.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...bounds import binomial_upper
from .._journal import same_label
from .._labels import take
from .._strategy import RandomSampling

N_FOLDS = 10


class ErrorEstimate(NamedTuple):
    """Estimated error rate on a pool; see :meth:`ActiveLearner.estimate_error`.

    Its string is a sentence for the annotator.

    Parameters
    ----------
    error : float
        Estimated share of wrong predictions; NaN if no row was drawn at random.
    low, high : float
        Confidence limits.
    n_random : int
        Number of labeled rows that were drawn at random.
    confidence : float
        Confidence level of the limits.

    See Also
    --------
    skconftree.active.ActiveLearner.estimate_error : Computes the estimate.

    Examples
    --------
    >>> from skconftree.active.pool import ErrorEstimate
    >>> print(ErrorEstimate(0.231, 0.158, 0.314, 123, 0.95))
    About 23% of the predictions are wrong (16% to 31%, with 95% confidence), ...
    """

    error: float
    low: float
    high: float
    n_random: int
    confidence: float

    def __str__(self):
        if not self.n_random:
            return (
                "No row was drawn at random, so the error rate is unknown; "
                "random_share=0.2 (skconftree label --random-share 0.2) draws a fifth "
                "of the rows at random."
            )
        return (
            f"{self.sentence('predictions')}, as predicted by the present model in "
            "cross-validation."
        )

    def sentence(self, noun: str) -> str:
        """Describe the estimate, without a full stop.

        Parameters
        ----------
        noun : str
            What is right or wrong, in the plural.

        Returns
        -------
        str
            The sentence.
        """
        if not self.n_random:
            return f"It is unknown how many of the {noun} are wrong"
        rows = "1 row" if self.n_random == 1 else f"{self.n_random} rows"
        return (
            f"About {100 * self.error:.0f}% of the {noun} are wrong "
            f"({100 * self.low:.0f}% to {100 * self.high:.0f}%, with "
            f"{100 * self.confidence:g}% confidence), judged on {rows} drawn at random"
        )


def labeled_in_order(learner):
    """Labeled rows in order, and whether each was drawn at random from the others."""
    by_strategy = isinstance(learner._strategy, RandomSampling)
    rows, is_random, skipped = learner._start.rows.tolist(), [], set()
    is_random += [False] * len(rows)
    for batch in learner._answers:
        # mispredictions are counted in batches of random rows only
        drawn = by_strategy or batch.n_wrong is not None
        for row, known in zip(batch.rows.tolist(), batch.known, strict=True):
            if known:
                rows.append(row)
                # skipped rows are queried again when no other row is left
                is_random.append(drawn and row not in skipped)
            else:
                skipped.add(row)
    return np.array(rows, dtype=np.intp), np.array(is_random, dtype=bool)


def weights_of(is_random, n_rows):
    """Weights of labeled rows, in their order, that make the estimate unbiased.

    At a draw, let A be the losses of the rows that were labeled before, L the number of
    unlabeled rows and e the loss of the drawn row. Then A + L e has the total loss of
    all `n_rows` rows as its expectation. The estimate is the mean of these totals with
    weights 1 / (L (L - 1)), which give equal weights to the rows of a sample without
    replacement.
    """
    n_left = n_rows - np.arange(len(is_random))
    # the total is exact if only one row was left
    n_others = np.maximum(n_left - 1, 1e-9)
    weight_of_draw = np.where(is_random, 1.0 / (n_left * n_others), 0.0)
    of_later = weight_of_draw.sum() - np.cumsum(weight_of_draw)
    of_later[-1] = 0.0  # not a rounding error
    total = of_later + weight_of_draw * n_left
    return total / (n_rows * weight_of_draw.sum())


def estimate_error(learner, confidence):
    """Estimate the error rate of a learner on its pool; see its `estimate_error`."""
    rows, is_random = labeled_in_order(learner)
    n_random = int(is_random.sum())
    if n_random == 0 or len(rows) < 2:
        return ErrorEstimate(np.nan, 0.0, 1.0, 0, confidence)
    is_wrong = cross_validated_errors(learner, rows)
    n_rows = learner._pool.n_rows - learner._n_skipped
    return estimate_share(is_wrong, is_random, n_rows, confidence)


def estimate_label_error(learner, labels, confidence):
    """Estimate the share of wrong labels of another annotator (None: no label)."""
    rows, is_random = labeled_in_order(learner)
    has_label = np.array([label is not None for label in labels], dtype=bool)
    judged = has_label[rows]
    rows, is_random = rows[judged], is_random[judged]
    if not is_random.any():
        return ErrorEstimate(np.nan, 0.0, 1.0, 0, confidence)
    known = learner._coder.classes[learner._codes[rows]].tolist()
    is_wrong = np.array(
        [
            not same_label(labels[row], label)
            for row, label in zip(rows.tolist(), known, strict=True)
        ]
    )
    skipped = learner._skipped & (learner._codes < 0)
    n_rows = int((has_label & ~skipped).sum())
    return estimate_share(is_wrong, is_random, n_rows, confidence)


def estimate_share(is_wrong, is_random, n_rows, confidence):
    """Estimate the share of wrong ones among `n_rows` rows by labeled rows in order."""
    n_random = int(is_random.sum())
    weights = weights_of(is_random, n_rows)
    of_random = weights[is_random]
    share = of_random.sum()
    wrong = of_random @ is_wrong[is_random]
    known = weights[~is_random] @ is_wrong[~is_random]
    # Clopper and Pearson's limits, with the effective sample size of unequal weights
    n = share**2 / (of_random @ of_random)
    n_wrong = min(n * wrong / share, n)
    delta = (1.0 - confidence) / 2.0
    low = known + share * (1.0 - binomial_upper(n - n_wrong, n, delta))
    high = known + share * binomial_upper(n_wrong, n, delta)
    error = known + wrong
    return ErrorEstimate(
        *(float(np.clip(value, 0.0, 1.0)) for value in (error, low, high)),
        n_random,
        confidence,
    )


def cross_validated_errors(learner, rows):
    """Whether each labeled row is mispredicted by the model refitted without its fold.

    Folds are stratified: the rows of each class are distributed over all folds.
    """
    codes = learner._codes[rows]
    rng = np.random.default_rng(learner._seed)
    shuffled = rng.permutation(len(rows))
    shuffled = shuffled[np.argsort(codes[shuffled], kind="stable")]
    fold = np.empty(len(rows), dtype=np.intp)
    fold[shuffled] = np.arange(len(rows)) % min(N_FOLDS, len(rows))
    labels = learner._coder.classes[codes]
    is_wrong = np.zeros(len(rows), dtype=bool)
    for number in range(fold.max() + 1):
        held_out = fold == number
        model = learner._without_rows(rows[held_out]).estimator_
        predicted = model.predict(take(learner._pool.X, rows[held_out]))
        is_wrong[held_out] = predicted != labels[held_out]
    return is_wrong
