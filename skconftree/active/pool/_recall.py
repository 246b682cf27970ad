"""Recall of a rare class: an estimate, a lower confidence limit, and a stopping rule.

Rows of the class of interest are *positive*. Recall is the share of the positive rows
of the pool that are labeled. How many are missing can be inferred from rows that are
drawn uniformly from the unlabeled rows, here *random rows*. *Discovery* is the first
part of a run, in which the strategy selects rows. After it, recall can be *certified*:
random rows are labeled until the lower limit of the recall is large enough. The *pool*
is the table of unlabeled and labeled rows, and a *journal* a file of JSON lines with
all labels. The *cost* of a recall is the number of labels that certify it. Of a
`QueryContext`, `codes` are the class indices of rows (-1: unlabeled), `growth` says
when rows were appended to the pool, `declared` is True if the classes were passed by
the user, and `answers` are batches of labels, whose `n_wrong` is None unless the rows
are random; `known` is the mask of the rows of a batch that have a label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit, logsumexp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from ..._compat import Interval
from ...utils._parameter_names import did_you_mean
from ...utils._warnings import warn
from .._journal import is_label, plain_classes
from .._labels import take
from .._stopping import StoppingRule

if TYPE_CHECKING:
    from ._context import QueryContext

# Prior probability that no positive is missing. It affects how many random rows a limit
# needs, but not whether it is valid.
PRIOR_OF_NONE = 0.8
MIXING_RATE = 0.1  # weight of the prior in predictions after each positive
MAX_FOLDS = 5
MIN_SCORE = 1e-3  # probabilities are clipped to this distance from 0 and 1
# Discovery ends without an estimate of the recall after this number of times `patience`
# labels without a positive.
PATIENCES_WITHOUT_ESTIMATE = 5
LOWER_RECALL = 0.8  # a rule with a larger recall also reports the cost of this one


class PositivesLimit:
    """Upper confidence limit of the number of positives in a pool, valid at any time.

    If the pool has K positives, of which F are labeled, one of U unlabeled rows drawn
    uniformly is positive with probability (K - F) / U. For the true K, the likelihood
    ratio of any predictions made before each draw to these probabilities is a
    nonnegative martingale with mean 1. By Ville's inequality, it reaches 1 / alpha with
    probability at most alpha, at any time and however the other rows are selected. A K
    whose ratio has reached 1 / alpha is rejected. The predictions are those of a prior
    on the number of missing positives, updated by each draw.

    The likelihood is log-concave in K, so that all K above a limit are rejected.

    Parameters
    ----------
    n_rows : int
        Number of rows of the pool.
    alpha : float
        Probability that the limit is ever below the number of positives.
    """

    def __init__(self, n_rows, alpha):
        self.threshold = -np.log(alpha)
        self.limit = n_rows  # the largest K that is not rejected
        self.n_found = 0
        self.log_ratio = np.zeros(n_rows + 1)  # of K from n_found to limit
        # probabilities of the numbers of missing positives: present ones, and the prior
        self.weight, self.prior = _predictions(n_rows + 1)

    def add_found(self):
        """Add a positive row that was not drawn at random."""
        shifted = self.weight[1:].copy()
        shifted[:1] += self.weight[0]
        shifted *= 1.0 - MIXING_RATE
        self.weight = shifted + MIXING_RATE * self.prior[: len(shifted)]
        self._advance()

    def _advance(self):
        self.n_found += 1
        self.log_ratio = self.log_ratio[1:]
        if self.limit < self.n_found:
            self.limit, self.log_ratio = self.n_found, np.zeros(1)

    def grow(self, n_rows):
        """Append rows to the pool, of which any number can be positive.

        The hypotheses are then pairs of the number of positives before and after, and
        the ratio of a number after is the smallest of its pairs. So the limit holds for
        both pools, at any time, with the same probability. The ratio is convex in the
        number before, thus its minimum is repeated.
        """
        best = int(self.log_ratio.argmin()) + 1
        plateau = np.full(n_rows, self.log_ratio[best - 1])
        parts = self.log_ratio[:best], plateau, self.log_ratio[best:]
        self.log_ratio = np.concatenate(parts)
        self.limit += n_rows
        size = len(self.weight) + n_rows
        uninformed, self.prior = _predictions(size)
        self.weight = 0.5 * np.pad(self.weight, (0, n_rows)) + 0.5 * uninformed

    def restrict(self, n_unlabeled):
        """Remove numbers that are larger than the number of rows left."""
        self.limit = min(self.limit, self.n_found + n_unlabeled)
        self.log_ratio = self.log_ratio[: self.limit - self.n_found + 1]
        weight = self.weight[: n_unlabeled + 1]
        self.weight = weight / weight.sum()

    def draw(self, n_unlabeled, n_negative, is_positive=False):
        """Update by rows drawn from `n_unlabeled` rows: negatives, then a positive."""
        if n_negative == 1:
            self._draw_one(n_unlabeled, False)
        elif n_negative:
            self.restrict(n_unlabeled)
            log_weight = self._log_weight_after(n_unlabeled, n_negative)
            expected = logsumexp(log_weight)
            log_none = _log_none(len(self.log_ratio), n_negative, n_unlabeled)
            self.log_ratio = self.log_ratio + (expected - log_none)
            self.weight = np.exp(log_weight - expected)
            self._reject()
        if is_positive:
            self._draw_one(n_unlabeled - n_negative, True)

    def _draw_one(self, n_unlabeled, is_positive):
        self.restrict(n_unlabeled)
        likelihood = np.arange(len(self.weight)) / n_unlabeled
        if not is_positive:
            likelihood = 1.0 - likelihood
        expected = self.weight @ likelihood
        self.weight = self.weight * likelihood / expected
        with np.errstate(divide="ignore"):
            change = np.log(expected) - np.log(likelihood[: len(self.log_ratio)])
        self.log_ratio = self.log_ratio + change
        if is_positive:
            self.weight = self.weight[1:]
            self._advance()
        self._reject()

    def _log_weight_after(self, n_unlabeled, n_negative):
        with np.errstate(divide="ignore"):
            log_weight = np.log(self.weight)
        return log_weight + _log_none(len(log_weight), n_negative, n_unlabeled)

    def _reject(self):
        kept = np.flatnonzero(self.log_ratio < self.threshold)[-1:]
        self.limit = self.n_found + int(kept.sum())
        self.log_ratio = self.log_ratio[: self.limit - self.n_found + 1]

    def n_draws(self, recall, n_unlabeled):
        """Random rows until recall is certified, if none of them is positive."""
        self.restrict(n_unlabeled)
        missing = largest_total(recall, self.n_found) + 1 - self.n_found
        if missing >= len(self.log_ratio):
            return 0

        def is_enough(n):
            change = logsumexp(self._log_weight_after(n_unlabeled, n))
            change -= _log_none(missing + 1, n, n_unlabeled)[-1]
            return self.log_ratio[missing] + change >= self.threshold

        low, high = 0, n_unlabeled
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return high


def _predictions(size):
    # Probabilities of 0, ..., size - 1 missing positives: before any are found, and
    # after some have been found by a query strategy, when probably none is missing.
    before = 1.0 / np.arange(1, size + 1)
    after = np.arange(1, size) ** -2.0
    after *= (1.0 - PRIOR_OF_NONE) / max(after.sum(), 1.0)
    return before / before.sum(), np.concatenate([[PRIOR_OF_NONE], after])


def _log_none(size, n, n_unlabeled):
    # Log probabilities that none of n rows drawn without replacement is positive, if
    # 0, 1, ..., size - 1 of the rows are.
    rows = n_unlabeled - np.arange(size - 1, dtype=np.float64)
    with np.errstate(divide="ignore"):
        steps = np.log1p(-np.minimum(n / rows, 1.0))
    return np.concatenate([[0.0], np.cumsum(steps)])


def largest_total(recall, n_found):
    """Largest number of positives of which `n_found` are at least a share `recall`."""
    return int(np.floor(n_found / recall + 1e-9))


@dataclass(frozen=True)
class RecallReport:
    """How many of the positive rows of a pool have been found.

    Parameters
    ----------
    positive : object
        Label of the positive class.
    n_found : int
        Number of labeled positives.
    n_labeled, n_unlabeled : int
        Number of labeled rows, and of rows that can still be queried. Skipped rows do
        not belong to the pool.
    n_random : int
        Number of labeled rows that were drawn at random from the unlabeled rows, by
        `random_share`, the share of queries of random rows, or a stopping rule. Those
        of ``strategy="random"`` do not count.
    estimate : float or None
        Estimated recall: calibrated probabilities of the unlabeled rows are summed. It
        has no guarantee. None without a model, or with fewer than two rows of a class.
    lower_limit : float
        Lower confidence limit of the recall, which is valid each time it is computed.
        0.0 if no positive has been found.
    confidence : float
        Confidence of the limit.
    costs : dict
        For some values of recall, how many of the unlabeled rows must be drawn at
        random to certify it, if none of them is positive. Each positive among them
        raises the number. Empty if no positive has been found.

    Examples
    --------
    >>> from skconftree.active.pool import RecallReport
    >>> print(RecallReport("spam", 48, 500, 9400, 0, 0.97, 0.005, 0.95, {0.8: 1030}))
    48 rows with label 'spam' found, among 500 labeled rows.
    Estimated recall: 97%.
    Recall is at least 0.5% with 95% confidence.
    To certify a recall of 80%, label 1,030 of the 9,400 remaining rows, drawn at \
random; more if one of them is 'spam'.
    """

    positive: object
    n_found: int
    n_labeled: int
    n_unlabeled: int
    n_random: int
    estimate: float | None
    lower_limit: float
    confidence: float
    costs: dict[float, int]

    def __str__(self):
        if self.n_found == 0:
            return (
                f"No row with label {self.positive!r} found among {self.n_labeled:,} "
                "labeled rows: its recall is unknown."
            )
        rows = "1 row" if self.n_found == 1 else f"{self.n_found:,} rows"
        lines = [
            f"{rows} with label {self.positive!r} found, among "
            f"{self.n_labeled:,} labeled rows."
        ]
        if self.estimate is not None:
            lines.append(f"Estimated recall: {self.estimate:.0%}.")
        lines.append(
            f"Recall is at least {percent(self.lower_limit)} with "
            f"{percent(self.confidence)} confidence."
        )
        lines += [
            f"To certify a recall of {percent(recall)}, label {n:,} of the "
            f"{self.n_unlabeled:,} remaining rows, drawn at random; more if one "
            f"of them is {self.positive!r}."
            for recall, n in self.costs.items()
            if n
        ]
        return "\n".join(lines)


def percent(share):
    """Format a limit as a percentage, rounded down."""
    percent = 100.0 * share
    digits = 0 if percent >= 1.0 and abs(percent - round(percent)) < 1e-9 else 1
    return f"{np.floor(percent * 10**digits + 1e-9) / 10**digits:.{digits}f}%"


def is_positive(labels, positive):
    """Mask of the positive labels."""
    return np.array([label == positive for label in labels.tolist()], dtype=bool)


def check_positive(context, positive):
    """Raise ValueError if no row can have the label, warn if it is probably wrong."""
    known = context.classes.tolist()
    if positive in known:
        return
    if not is_label(*plain_classes([positive])):
        raise ValueError(
            "positive must be a label: a string, a boolean or a finite number. Got "
            f"{positive!r}."
        )
    if not known:
        return
    hint = did_you_mean(str(positive), map(str, known))
    problem = f"positive must be one of the classes {known}. Got {positive!r}.{hint}"
    if context.declared:
        raise ValueError(problem)
    key = "unknown", type(positive), str(positive)
    if isinstance(positive, str) is isinstance(known[0], str) and not hint:
        return  # no positive row has been found yet
    if key not in context.memory:
        context.memory[key] = True
        warn(f"{problem} Until a label is {positive!r}, the recall is unknown.")


def limit_of(context, positive, confidence):
    """Limit after the labels of a context, and the number of random rows."""
    n_rows = context.n_labeled + context.n_candidates
    key = "recall", type(positive), str(positive), confidence
    # the state after the first batches is cached, until a row is skipped
    n_cached, *kept = context.memory.get(key, (None,))
    if n_cached != n_rows:
        limit, n_batches, n_left, n_random = None, 0, 0, 0
        for n_before, new, start in appended_pools(context):
            if limit is None:
                limit = PositivesLimit(len(new), 1.0 - confidence)
            else:
                batches = context.answers[n_batches:n_before]
                n_known, n_drawn = _add_batches(limit, batches, positive, n_left)
                n_left, n_random = n_left - n_known, n_random + n_drawn
                limit.grow(len(new))
            labels = context.classes[context.codes[start]]
            for _ in range(int(is_positive(labels, positive).sum())):
                limit.add_found()
            n_batches, n_left = n_before, n_left + len(new) - len(start)
        kept = limit, n_batches, n_left, n_random
    limit, n_batches, n_left, n_random = kept
    n_known, n_drawn = _add_batches(
        limit, context.answers[n_batches:], positive, n_left
    )
    n_left, n_random = n_left - n_known, n_random + n_drawn
    limit.restrict(n_left)
    context.memory[key] = n_rows, limit, len(context.answers), n_left, n_random
    return limit, n_random


def appended_pools(context):
    """Yield the original rows of a pool, then those that were appended each time.

    Each element has the number of batches before, the rows, and those of them with an
    initial label. Skipped rows are left out.
    """
    is_start, in_pool = context.codes >= 0, context.codes >= 0
    in_pool[context.candidates] = True
    for batch in context.answers:
        is_start[batch.rows[batch.known]] = False
    # `growth`: pairs of the numbers of batches and of rows before rows were appended
    ends = [*(n_rows for _, n_rows in context.growth), len(is_start)]
    first = 0
    for n_before, end in zip([0, *(n for n, _ in context.growth)], ends, strict=True):
        new = first + np.flatnonzero(in_pool[first:end])
        yield n_before, new, new[is_start[new]]
        first = end


def _add_batches(limit, batches, positive, n_left):
    # Update a limit by the labels of batches; returns their number, and that of random
    # rows.
    n_known = n_random = n_negative = 0  # random rows without a positive: one update
    for batch in batches:
        is_random = batch.n_wrong is not None
        for found in is_positive(batch.labels, positive):
            if n_negative and (found or not is_random):
                limit.draw(n_left - n_known + n_negative, n_negative)
                n_negative = 0
            if is_random and found:
                limit.draw(n_left - n_known, 0, True)
            elif found:
                limit.add_found()
            n_negative += is_random and not found
            n_random += is_random
            n_known += 1
    limit.draw(n_left - n_known + n_negative, n_negative)
    return n_known, n_random


def estimate_recall(context, positive, n_found):
    """Estimate the recall by calibrated probabilities of the candidates, or None."""
    if n_found == 0 or context.estimator is None:
        return None
    key = "estimated recall", type(positive), str(positive)
    state = len(context.answers), context.n_candidates
    if context.memory.get(key, (None,))[0] != state:
        context.memory[key] = state, _estimate(context, positive, n_found)
    return context.memory[key][1]


def _estimate(context, positive, n_found):
    model = context.estimator
    rows = np.sort(context.labeled)
    labels = context.classes[context.codes[rows]]
    y = is_positive(labels, positive)
    n_folds = min(MAX_FOLDS, int(y.sum()), int((~y).sum()))
    if n_folds < 2:
        return None
    if context.n_candidates == 0:
        return 1.0
    column = np.flatnonzero(is_positive(np.asarray(model.classes_), positive))
    if len(column) != 1:
        return None
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    X = take(context.X, rows)
    score = np.empty(len(y))
    for train, test in folds.split(y, y):
        # all classes, to which parameters such as class_weight can refer
        other = clone(model).fit(take(X, train), labels[train])
        (of_class,) = np.flatnonzero(is_positive(np.asarray(other.classes_), positive))
        score[test] = other.predict_proba(take(X, test))[:, of_class]
    calibration = LogisticRegression(C=np.inf).fit(_logit(score), y)
    unlabeled = context.proba[:, column[0]]
    expected = calibration.predict_proba(_logit(unlabeled))[:, 1].sum()
    return float(n_found / (n_found + expected))


def _logit(score):
    return logit(np.clip(score, MIN_SCORE, 1.0 - MIN_SCORE))[:, None]


def report_recall(context, positive, confidence, recalls, *, estimate=True):
    """Make the `RecallReport` of a context."""
    limit, n_random = limit_of(context, positive, confidence)
    n_found, n_unlabeled = limit.n_found, context.n_candidates
    return RecallReport(
        positive,
        n_found,
        context.n_labeled,
        n_unlabeled,
        n_random,
        estimate_recall(context, positive, n_found) if estimate else None,
        n_found / limit.limit if n_found else 0.0,
        confidence,
        {r: limit.n_draws(r, n_unlabeled) for r in recalls if n_found},
    )


@dataclass(eq=False, repr=False)
class RecallAbove(StoppingRule):
    """Stopping rule: stop when a share of the rows of a class has been found.

    Use it to find nearly all rows of a rare class. First the query strategy finds
    positives. Discovery has ended if none of the last `patience` labels is positive and
    the estimated recall (:class:`~skconftree.active.pool.RecallReport`) is at least
    `recall`, or if none of the last 5 `patience` labels is positive. Then the recall is
    certified, if `certify` allows it: all further rows are drawn at random from the
    unlabeled rows, until the lower confidence limit of the recall is at least `recall`.
    Otherwise, it stops, and :meth:`ActiveLearner.recall_report` has the estimate, the
    limit, and the number of labels that certifying takes.

    The limit needs no assumption about the classifier or the query strategy, and it is
    valid although it is computed after each label. A guarantee without assumptions is
    expensive: if 100 positives have been found, certifying a recall of 95% takes about
    40% of the unlabeled rows, and a recall of 80% about 11%.

    Parameters
    ----------
    positive : object
        Label of the class.
    recall : float, default=0.95
        Share of the rows of the class that must be found, in (0, 1). Larger values
        require more labels.
    confidence : float, default=0.95
        Probability that the recall is at least the limit, in (0, 1), at all times
        together. Larger values require more labels.
    certify : bool or callable, default=False
        Whether to certify the recall after discovery. A function receives the
        :class:`~skconftree.active.pool.RecallReport`, and returns whether to do so. Its
        result is stored with the labels, so that it is called once. A
        :class:`~skconftree.active.LabelingSession` asks the person if it is False.
    patience : int, default=20
        Number of labels without a positive after which discovery may have ended. Larger
        values find more positives by the query strategy.

    See Also
    --------
    ActiveLearner.recall_report : The estimate, the limit and the costs at any time.

    Notes
    -----
    If the pool has K positives, of which F are labeled, a row that is drawn at random
    from U unlabeled rows is positive with probability (K - F) / U. A number K is
    rejected if the likelihood ratio of a mixture of all numbers to it reaches 1 / (1 -
    confidence); by Ville's inequality [1]_, the true K is rejected with probability of
    at most 1 - confidence. Skipped rows are not counted as rows of the pool. If rows
    were appended to the pool of a journal, all numbers of positives among them are
    possible, and earlier random rows count for the original rows only.

    References
    ----------
    .. [1] I. Waudby-Smith, A. Ramdas (2020), "Confidence sequences for sampling without
       replacement", NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import ActiveLearner, ArrayOracle, RecallAbove
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.where(X[:, 0] > 1.2, "rare", "other")
    >>> learner = ActiveLearner(ConfidenceTreeClassifier(), random_state=0).fit(X)
    >>> rule = RecallAbove("rare", recall=0.7, certify=True)
    >>> learner = learner.run(ArrayOracle(y), stop=rule)
    >>> report = learner.recall_report("rare")
    >>> bool(report.lower_limit >= 0.7), report.n_labeled < 300
    (True, True)
    """

    needs = ("predict_proba",)  # methods that the classifier must have

    _parameter_constraints = {
        "positive": [object],
        "recall": [Interval(Real, 0, 1, closed="neither")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "certify": ["boolean", callable],
        "patience": [Interval(Integral, 1, None, closed="left")],
    }

    positive: Any
    _: KW_ONLY
    recall: float = 0.95
    confidence: float = 0.95
    certify: bool | Callable[[RecallReport], bool] = False
    patience: int = 20

    def report(self, context: QueryContext, *, estimate: bool = True) -> RecallReport:
        """Report of the labels so far.

        Parameters
        ----------
        context : QueryContext
            State of the learner.
        estimate : bool, default=True
            Whether to estimate the recall, which needs cross-validation.

        Returns
        -------
        RecallReport
            Estimate, limit and costs.
        """
        recalls = sorted({min(LOWER_RECALL, self.recall), self.recall})
        return report_recall(
            context, self.positive, self.confidence, recalls, estimate=estimate
        )

    @property
    def key(self) -> tuple[Any, float]:
        """Class and recall, the key of the decision to certify."""
        return self.positive, float(self.recall)

    def reached(self, context: QueryContext) -> bool:
        check_positive(context, self.positive)
        limit, _ = limit_of(context, self.positive, self.confidence)
        if limit.n_found == 0:
            return False
        if limit.n_found / limit.limit >= self.recall:
            return True
        return self._certifies(context) is False

    def random_share_of(self, context: QueryContext) -> float:
        return float(self._certifies(context) is True)

    def _certifies(self, context):
        # Whether to certify; None before discovery has ended. Once rows are drawn to
        # certify, discovery remains ended, also if one of them is positive.
        limit, _ = limit_of(context, self.positive, self.confidence)
        decided = context.decisions.get(self.key)  # True, False, or None: not yet
        if limit.n_found == 0:
            return None
        if decided and self.certify is not False:
            return True
        if not decided and not self._has_ended(context, limit.n_found):
            return None
        if self.certify is False or (decided is False and self.certify is not True):
            return False
        agreed = self.certify is True or bool(self.certify(self.report(context)))
        context.decisions[self.key] = agreed
        return agreed

    def _has_ended(self, context, n_found):
        n_since = _n_since_positive(context.answers, self.positive)
        if n_since < self.patience:
            return False
        if n_since >= PATIENCES_WITHOUT_ESTIMATE * self.patience:
            return True
        estimate = estimate_recall(context, self.positive, n_found)
        return estimate is not None and estimate >= self.recall


def _n_since_positive(answers, positive):
    # Number of labels after the last positive one.
    n = 0
    for batch in reversed(answers):
        found = np.flatnonzero(is_positive(batch.labels, positive))
        if len(found):
            return n + len(batch.labels) - 1 - int(found[-1])
        n += len(batch.labels)
    return n
