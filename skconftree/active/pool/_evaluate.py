"""Evaluation of a fitted classifier on a pool, by labels of few of its rows.

The *pool* is the table of unlabeled and labeled rows. The classifier *states* the
probabilities that predictions are wrong or labels positive; *cells* are rows with
similar stated probabilities, and the two *sides* are rows that are predicted positive
or not. A *look* is an evaluation of the labels so far. Of a `QueryContext`, `codes` are
the class indices of rows (-1: unlabeled), `answers` the batches of labels, `memory` is
a cache, and `_key` begins with the seed. Of `MetricLimits`, `plan` adapts the
probabilities of draws, `draw` returns the row that is drawn next, `observe` adds the
label of a drawn row, `know` that of another row, and `n_left` rows can be drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..._compat import HasMethods, Interval, StrOptions, validate_parameters
from ...utils._types import Estimator, Seed, TableLike
from .._estimators import final_step, has_leaves
from .._journal import fingerprint
from .._labels import in_chunks
from .._stopping import StoppingRule
from .._strategy import SamplingStrategy
from ._metric_limits import N_CELLS, MetricCells, MetricLimits
from ._pool_learner import PoolLearner

METRICS = ("accuracy", "error", "precision", "recall", "f1", "log_loss")
OF_A_CLASS = ("precision", "recall", "f1")
COMPLEMENTS = ("accuracy", "precision")  # 1 - share of errors
# Metrics that are ratios of totals. Three pairs, each for rows that are not, and that
# are, predicted positive: what a positive row adds to the numerator; what it adds to
# the denominator, on top of the last pair; what every row adds to the denominator.
RATIOS = {
    "recall": ((0.0, 1.0), (1.0, 1.0), (0.0, 0.0)),
    "f1": ((0.0, 2.0), (1.0, 1.0), (0.0, 1.0)),
}
OF_ERRORS = ((1.0, 1.0), (0.0, 0.0), (1.0, 1.0))  # the same for the share of errors
SENTENCES = {
    "accuracy": "of the predictions are correct",
    "error": "of the predictions are wrong",
    "precision": "of the rows that are predicted {label} have this label",
    "recall": "of the rows with label {label} are predicted correctly",
    "f1": "The F1 score of {label} is",
    "log_loss": "The log loss is",
}


@dataclass(frozen=True)
class EvaluationReport:
    """Estimate of a metric of a classifier; see :func:`skconftree.active.evaluate`.

    Its string is a sentence.

    Parameters
    ----------
    metric : str
        Name of the metric.
    estimate : float
        Estimated value; NaN if it is unknown, for example before the first label.
    low, high : float
        Confidence limits, which are valid each time they are computed.
    n_labels : int
        Number of labels.
    confidence : float
        Confidence of the limits, at all times together.
    pos_label : object, default=None
        Positive class of precision, recall and F1.

    Examples
    --------
    >>> from skconftree.active.pool import EvaluationReport
    >>> print(EvaluationReport("error", 0.121, 0.092, 0.157, 240, 0.95))
    About 12.1% of the predictions are wrong (9.2% to 15.7%, with 95% confidence at \
all times), from 240 labels.
    """

    metric: str
    estimate: float
    low: float
    high: float
    n_labels: int
    confidence: float
    pos_label: Any = None

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence limits."""
        return self.low, self.high

    @property
    def half_width(self) -> float:
        """Half of the width of the interval."""
        return (self.high - self.low) / 2.0

    def __str__(self):
        labels = "1 label" if self.n_labels == 1 else f"{self.n_labels:,} labels"
        text = SENTENCES[self.metric].format(label=repr(self.pos_label))
        is_share = self.metric not in ("f1", "log_loss")
        estimate, low, high = (
            f"{100.0 * value:.1f}%" if is_share else f"{value:.3f}"
            for value in (self.estimate, self.low, self.high)
        )
        limits = (
            f"({low} to {high}, with {100.0 * self.confidence:g}% confidence at all "
            f"times), from {labels}."
        )
        if np.isnan(self.estimate):
            if is_share:
                return f"It is unknown how many {text} {limits}"
            return f"{text} unknown {limits}"
        if is_share:
            return f"About {estimate} {text} {limits}"
        return f"{text} about {estimate} {limits}"


class MetricSampling(SamplingStrategy):
    """Query strategy that draws the rows by which a metric is estimated.

    Parameters are those of :class:`ModelEvaluator`. `report` evaluates the labels.
    """

    n_cells = N_CELLS

    def __init__(self, metric, pos_label, confidence, clip):
        self.metric, self.pos_label = metric, pos_label
        self.confidence, self.clip = confidence, clip

    def select_rows(self, context, k):
        limits = self._state(context).limits
        rows = []
        if limits.n_left:
            limits.plan()
        if k > 1:
            limits = deepcopy(limits)
        of_pool = self._state(context).rows
        while len(rows) < k and limits.n_left:
            row = limits.draw()
            rows.append(int(of_pool[row]))
            if k > 1:
                limits.know(row, None)  # as if the row was skipped
        if len(rows) < k:  # skipped rows are queried again
            others = np.setdiff1d(context.candidates, rows)
            rows += others[: k - len(rows)].tolist()
        return np.array(rows, dtype=np.intp), np.zeros(len(rows))

    def report(self, context):
        """Report of the labels so far, an `EvaluationReport`."""
        state = self._state(context)
        estimate = state.limits.estimate()
        low, high = state.limits.limits()
        if self.metric in COMPLEMENTS:
            estimate, low, high = 1.0 - estimate, 1.0 - high, 1.0 - low
        if not np.isnan(estimate):
            estimate = float(np.clip(estimate, low, high))
        scale = state.scale
        return EvaluationReport(
            self.metric,
            scale * estimate,
            scale * low,
            scale * high,
            state.n_labels,
            self.confidence,
            self.pos_label,
        )

    def n_left(self, context):
        """Number of rows whose labels matter and that were not queried."""
        return self._state(context).limits.n_left

    def _state(self, context):
        state = context.memory.get("evaluation")
        if state is None:
            state = Evaluation(self, context)
            context.memory["evaluation"] = state
        state.update(context)
        return state


class Evaluation:
    """Labels of the rows of a pool, as a metric of a classifier needs them."""

    def __init__(self, strategy, context):
        self.metric, self.label = strategy.metric, strategy.pos_label
        self.clip = strategy.clip
        model = context.estimator
        rows = np.arange(len(context.codes))
        self.predicted = in_chunks(context.X, rows, model.predict)
        self.proba = None
        if hasattr(model, "predict_proba"):
            self.proba = in_chunks(context.X, rows, model.predict_proba)
        self.classes = np.asarray(model.classes_)
        self.scale, self.rows = 1.0, rows
        parts = {}
        if self.metric in RATIOS:
            (steps, positive, base), stated, side = self._ratio()
        else:
            (steps, positive, base), side = OF_ERRORS, np.zeros(len(rows), dtype=bool)
            stated = self._stated_errors(context)
            if self.metric == "precision":
                self.rows = np.flatnonzero(self.predicted == self.label)
                stated, side = stated[self.rows], side[self.rows]
            if self.metric == "log_loss":
                parts = self._losses()
        self._cells = MetricCells(
            stated,
            side,
            (np.array(steps), np.array(positive)),
            np.array(base),
            **parts,
            n_cells=strategy.n_cells,
        )
        # index of each row of the pool among `rows`; -1: its label does not matter
        self.place = np.full(len(context.codes), -1)
        self.place[self.rows] = np.arange(len(self.rows))
        self._alpha = 1.0 - strategy.confidence
        self._begin(context)

    def _begin(self, context):
        self.limits = MetricLimits(self._cells, self._alpha, context._key[0])
        self.n_labels = self._n_batches = 0
        self._queried = {}  # rows, and whether they have a label
        is_answered = np.zeros(len(context.codes), dtype=bool)
        for batch in context.answers:
            is_answered[batch.rows[batch.known]] = True
        start = context.labeled[~is_answered[context.labeled]]
        for row in start.tolist():
            self._add(row, context.classes[context.codes[row]], drawn=False)

    def _stated_errors(self, context):
        # Probability that each prediction is wrong, according to the classifier.

        # last step of a pipeline, and a function that applies the steps before it
        final, transform = final_step(context.estimator)
        if has_leaves(context.estimator) and hasattr(
            getattr(final, "tree_", None), "counts"
        ):
            rows = np.arange(len(context.codes))
            leaves = in_chunks(context.X, rows, lambda X: final.apply(transform(X)))
            counts = np.asarray(final.tree_.counts)[leaves]
            total = counts.sum(axis=1)
            return (total - counts.max(axis=1) + 1.0) / (total + counts.shape[1])
        if self.proba is None:
            return np.full(len(self.predicted), 0.2)  # any constant is valid
        return 1.0 - self.proba.max(axis=1)

    def _ratio(self):
        # Without probabilities, any constants are valid.
        side = self.predicted == self.label
        stated = np.where(side, 0.7, 0.1)
        if self.proba is not None:
            stated = self.proba[:, self.classes.tolist().index(self.label)]
        return RATIOS[self.metric], stated, side

    def _losses(self):
        # Log loss of each row, divided by its maximum: `low` if the prediction is
        # right, and the expected increase (`span`) and the largest one (`top`) if not.
        self.scale = -np.log(self.clip)
        loss = -np.log(np.clip(self.proba, self.clip, 1.0)) / self.scale
        first = self.proba.argmax(axis=1)
        self.predicted = self.classes[first]
        rows = np.arange(len(first))
        low = loss[rows, first]
        others = self.proba.copy()
        others[rows, first] = 0.0
        wrong = others.sum(axis=1)
        expected = (others * loss).sum(axis=1)
        expected = np.where(wrong > 0.0, expected / np.maximum(wrong, 1e-300), 1.0)
        span = np.clip(expected - low, 0.0, 1.0)
        self.loss = loss
        return {"low": low, "span": span, "top": 1.0 - low}

    def update(self, context):
        """Add new batches of labels."""
        known = self._labels_of(context.answers[self._n_batches :])
        if any(self._queried.get(row) is False for row in known):
            # a row that was skipped has a label now, as if it had been corrected
            self._begin(context)
            known = self._labels_of(context.answers)
        limits = self.limits
        for batch in context.answers[self._n_batches :]:
            if limits.n_left:
                limits.plan()
            for i, (row, label) in enumerate(batch.pairs()):
                if row in self._queried:
                    continue
                self._queried[row] = row in known
                drawn = limits.n_left > 0 and self.place[row] == limits.draw()
                # labels before they were corrected, by which rows were drawn: in a
                # tuple, as the label may be None
                first = None if batch.first is None else (batch.first[i],)
                if label is None and row in known:
                    label, first = known[row], first or (None,)
                self._add(row, label, drawn, first)
        self._n_batches = len(context.answers)

    def _labels_of(self, batches):
        pairs = (pair for batch in batches for pair in batch.pairs())
        return {row: label for row, label in pairs if label is not None}

    def _add(self, row, label, drawn, first=None):
        place = self.place[row]
        if place < 0:
            return
        self.n_labels += label is not None
        first = first and self._outcome(row, first[0])
        add = self.limits.observe if drawn else self.limits.know
        add(place, *self._outcome(row, label), first)

    def _outcome(self, row, label):
        # Whether a label is positive, or differs from the prediction, and its loss.
        if label is None:
            return None, None
        if self.metric in RATIOS:
            return float(label == self.label), None
        loss = None
        if self.metric == "log_loss":
            (known,) = np.nonzero(self.classes == label)
            loss = float(self.loss[row, known[0]]) if len(known) else 1.0
        return float(label != self.predicted[row]), loss


class ModelEvaluator(PoolLearner):
    """Evaluation of a fitted classifier by few labels of a pool.

    Use it instead of an :class:`ActiveLearner` in a :class:`LabelingSession`, or with
    its methods `query` and `teach`, to estimate a metric of a fitted classifier on a
    pool. :func:`evaluate` is shorter if a function has the labels.

    Rows are drawn at random. Rows whose predictions are doubtful according to the
    classifier are drawn with larger probabilities, and each row counts in inverse
    proportion to its probability. So the estimate is that of all rows of the pool, and
    the limits hold at all times, even if the probabilities of the classifier are
    wrong. The labels so far correct these probabilities.

    Parameters
    ----------
    estimator : classifier
        The fitted classifier or pipeline. It is not changed.
    metric : {"accuracy", "error", "precision", "recall", "f1", "log_loss"}, \
default="accuracy"
        What is estimated. Error is the share of wrong predictions.
    pos_label : object, default=None
        Class whose precision, recall or F1 is estimated. None: the second of two
        classes.
    confidence : float, default=0.95
        Probability that the limits contain the metric at all times together, in (0, 1).
        Larger values widen the limits.
    clip : float, default=0.01
        Smallest predicted probability of a label in the log loss, in (0, 0.5); smaller
        ones are replaced by it. Smaller values require more labels.
    missing_label : object, default=None
        Value that marks a missing label, in addition to None and NaN.
    classes : array-like, default=None
        Labels to choose from; other labels raise an error. None: those of the
        classifier, and any other label.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Attributes
    ----------
    estimator_ : classifier
        The classifier.
    y_ : ndarray of shape (n_rows,)
        Labels of the pool, `missing_label` for unlabeled rows.
    n_labeled_ : int
        Number of labeled rows.

    See Also
    --------
    evaluate : Gets the labels from a function.
    ActiveLearner.estimate_error : Error of a classifier that learns the labels.

    Notes
    -----
    The first rows are drawn uniformly, until both a correct and a wrong prediction have
    been labeled (for recall and F1, a positive and another row). Before, unequal
    probabilities could only widen the limits.

    Rows are drawn without replacement, and the expected contribution of each row is
    subtracted as a control variate [2]_. Each value of the metric is a null hypothesis
    that is tested by betting [1]_; the limits contain the values that are not rejected.
    A row that the annotator skips does not belong to the pool, unless it is labeled
    later. A label that was known before, or that is taught without being queried,
    counts for its own row only.

    References
    ----------
    .. [1] I. Waudby-Smith, A. Ramdas (2024), "Estimating means of bounded random
       variables by betting", Journal of the Royal Statistical Society B 86, 1-27.
    .. [2] S. Shekhar, Z. Xu, Z. Lipton, P. Liang, A. Ramdas (2023), "Risk-limiting
       financial audits via weighted sampling without replacement", UAI.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skconftree import ConfidenceForestClassifier
    >>> from skconftree.active import ModelEvaluator
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = ConfidenceForestClassifier(random_state=0).fit(X[:100], y[:100])
    >>> evaluator = ModelEvaluator(forest, random_state=0).fit(X[100:])
    >>> while evaluator.n_labeled_ < 100:
    ...     rows = evaluator.query()
    ...     evaluator = evaluator.teach(rows, y[100:][rows])
    >>> report = evaluator.report()
    >>> bool(report.low <= forest.score(X[100:], y[100:]) <= report.high)
    True
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["predict"])],
        "metric": [StrOptions(set(METRICS))],
        "pos_label": [object],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "clip": [Interval(Real, 0, 0.5, closed="neither")],
        "missing_label": [object],
        "classes": ["array-like", None],
        "random_state": ["random_state"],
    }

    _shows_predictions = False  # in a session, because they influence people

    def __init__(
        self,
        estimator: Estimator,
        *,
        metric: Literal[
            "accuracy", "error", "precision", "recall", "f1", "log_loss"
        ] = "accuracy",
        pos_label: object = None,
        confidence: float = 0.95,
        clip: float = 0.01,
        missing_label: object = None,
        classes: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.pos_label = pos_label
        self.confidence = confidence
        self.clip = clip
        self.missing_label = missing_label
        self.classes = classes
        self.random_state = random_state

    def report(self) -> EvaluationReport:
        """Report the metric by the labels so far.

        Returns
        -------
        EvaluationReport
            Estimate and confidence limits; `print` shows them as a sentence.
        """
        check_is_fitted(self, "_codes")
        # the first argument are stopping rules, here none
        return self._call_with_context([], self._strategy.report)

    def estimate_error(self, *, confidence: float = 0.95) -> EvaluationReport:
        """Report the metric, which sessions show in place of the error rate.

        Parameters
        ----------
        confidence : float, default=0.95
            Not used; the report has the confidence of the evaluator.

        Returns
        -------
        EvaluationReport
            The result of `report`.
        """
        return self.report()

    def _check_parameters(self):
        validate_parameters(self)
        check_is_fitted(self.estimator)
        if self.metric == "log_loss" and not hasattr(self.estimator, "predict_proba"):
            raise ValueError(
                "metric='log_loss' needs a classifier with predict_proba. Got "
                f"{self.estimator!r}."
            )
        self._strategy = MetricSampling(
            self.metric, self._positive(), self.confidence, self.clip
        )

    def _begin(self, X, y):
        super()._begin(X, y)
        self._matters = None  # rows whose labels matter; None: all
        if self.metric == "precision":
            X, rows = self._pool.X, np.arange(self._pool.n_rows)
            predicted = in_chunks(X, rows, self.estimator_.predict)
            self._matters = predicted == self._positive()
            if not self._matters.any():
                raise ValueError(
                    f"The classifier predicts {self._positive()!r} for no row of the "
                    "pool, so that its precision is undefined. Pass another pos_label "
                    "or metric."
                )

    def _labels_to_choose(self):
        known = np.asarray(self.estimator.classes_).tolist()
        return known + [label for label in self.classes_.tolist() if label not in known]

    def _fixed_predictions(self):
        # A hash, so that a journal is not continued with another classifier.
        X, rows = self._pool.X, np.arange(self._pool.n_rows)
        predicted = in_chunks(X, rows, self.estimator.predict).astype(object)
        return fingerprint(predicted.reshape(-1, 1))["rows"]

    def _positive(self):
        if self.metric not in OF_A_CLASS:
            return None
        classes = np.asarray(self.estimator.classes_).tolist()
        if self.pos_label is None and len(classes) == 2:
            return classes[1]
        if self.pos_label not in classes:
            raise ValueError(
                f"pos_label must be one of the classes of the classifier, {classes}. "
                f"Got {self.pos_label!r}."
            )
        return classes[classes.index(self.pos_label)]

    def _refit(self):
        self.estimator_ = self.estimator

    def _n_candidates(self, skipped):
        # Number of unlabeled rows that were skipped (if `skipped`), or that were not.
        # Rows whose labels do not matter are not queried.
        n = super()._n_candidates(skipped)
        if n == 0 or self._matters is None:
            return n
        is_left = (self._codes < 0) & (self._skipped == skipped)
        return int((self._matters & is_left).sum())


@dataclass(eq=False, repr=False)
class HalfWidthBelow(StoppingRule):
    """Stopping rule: stop when the limits of a :class:`ModelEvaluator` are narrow.

    Parameters
    ----------
    half_width : float
        Largest half of the width of the confidence interval, above 0. Smaller values
        require more labels: half of it needs about four times as many.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ArrayOracle, HalfWidthBelow, ModelEvaluator
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianNB().fit(X[:100], y[:100])
    >>> evaluator = ModelEvaluator(model, random_state=0).fit(X)
    >>> rule = HalfWidthBelow(0.06)
    >>> report = evaluator.run(ArrayOracle(y), stop=rule).report()
    >>> report.half_width <= 0.06
    True
    """

    _parameter_constraints = {"half_width": [Interval(Real, 0, None, closed="neither")]}

    half_width: float
    _: KW_ONLY

    def reached(self, context: Any) -> bool:
        if not isinstance(context.strategy, MetricSampling):
            raise TypeError(
                "HalfWidthBelow needs a ModelEvaluator, whose metric has limits. Use "
                "RiskBelow for an ActiveLearner."
            )
        return context.strategy.report(context).half_width <= self.half_width


def evaluate(
    model: Estimator,
    X_pool: TableLike,
    oracle: Callable[..., Any],
    *,
    metric: Literal[
        "accuracy", "error", "precision", "recall", "f1", "log_loss"
    ] = "accuracy",
    budget: int | None = None,
    half_width: float | None = None,
    pos_label: object = None,
    confidence: float = 0.95,
    clip: float = 0.01,
    save: Path | None = None,
    random_state: Seed = None,
) -> EvaluationReport:
    """Estimate a metric of a fitted classifier on a pool from few labels.

    The confidence limits hold at all times, whatever the predicted probabilities are,
    so that labeling may stop at any time. Probabilities that tell where the classifier
    errs save labels, compared with rows drawn uniformly.

    Parameters
    ----------
    model : classifier
        The fitted classifier or pipeline.
    X_pool : array-like, sparse or frame of shape (n_rows, n_features)
        Unlabeled rows. The metric is that of the predictions for these rows.
    oracle : callable
        Function of rows of the pool and their indices that returns their labels, None
        if it has no answer, as in :meth:`ActiveLearner.run`.
    metric : {"accuracy", "error", "precision", "recall", "f1", "log_loss"}, \
default="accuracy"
        What is estimated.
    budget : int, default=None
        Maximum number of labels. None: no limit; then `half_width` is needed.
    half_width : float, default=None
        Stop when half of the width of the confidence interval is at most this. Smaller
        values require more labels. None: the budget only.
    pos_label : object, default=None
        Class whose precision, recall or F1 is estimated. None: the second of two.
    confidence : float, default=0.95
        Probability that the limits contain the metric at all times together, in (0, 1).
    clip : float, default=0.01
        Smallest predicted probability in the log loss, in (0, 0.5).
    save : path, default=None
        Journal, a file to which each label is written before the next query. If the
        process is killed, the same call continues with the labels in the file.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    EvaluationReport
        Estimate and confidence limits; `print` shows them as a sentence.

    See Also
    --------
    ModelEvaluator : For labels of people, in a :class:`LabelingSession`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ArrayOracle, evaluate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianNB().fit(X[:100], y[:100])
    >>> report = evaluate(
    ...     model, X, ArrayOracle(y), metric="recall", budget=150, random_state=0)
    >>> bool(report.low < report.estimate < report.high), report.n_labels
    (True, 150)
    """
    if budget is None and half_width is None:
        raise ValueError("Pass budget or half_width, which determine when to stop.")
    evaluator = ModelEvaluator(
        model,
        metric=metric,
        pos_label=pos_label,
        confidence=confidence,
        clip=clip,
        random_state=random_state,
    )
    stop = None if half_width is None else HalfWidthBelow(half_width)
    evaluator.fit(X_pool).run(oracle, budget, stop, save=save)
    return evaluator.report()
