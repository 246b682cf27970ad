"""Checks of suggested labels: which of them an expert labels again, and how many.

A cheap annotator has suggested labels for the rows of a pool, a table. The *delivered*
label of a row is that of the expert, if the expert labeled the row, otherwise the
suggestion. A *random row* was drawn uniformly from the rows that the expert has not
labeled. Rows are *checked* when the expert labels them. A *plan* determines which rows
are checked next, and random rows *certify* that few of the others are wrong. The
*coordinates* of a row are its standardized and encoded columns. Of a `QueryContext`,
`codes` are the class indices of rows (-1: unlabeled), `growth` says when rows were
appended to the pool, `points` are the coordinates of its rows, `candidates` the rows
that may be queried, `memory` is a cache, and `answers` are batches of labels, whose
`n_wrong` is None unless the rows are random; `known` is the mask of the rows that have
a label.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..._compat import Interval
from ...utils._codec import canonical, class_of
from ...utils._types import Indices
from .._journal import is_label, same_label
from .._labels import in_chunks, take
from .._stopping import StoppingRule
from ._recall import PositivesLimit, appended_pools

if TYPE_CHECKING:
    from ._context import QueryContext

TREE = "skconftree.ConfidenceTreeClassifier"  # learners import no classifier
MIN_CHECKED = 16  # rows that are drawn at random before the first tree
GROWTH = 1.2  # of the number of checked rows until the next tree
PRIOR_ROWS = 2.0  # rows with the mean error rate that are added to each leaf
REGRET = 1.5  # log likelihood ratio that is lost while the error rate is unknown
N_FOLDS = 5
MAX_TRAINED = 5000  # rows of a fold that a model of the suggestions is trained with
MAX_LABELS = 30  # most frequent suggestions, which are features of the tree
N_GRID = 400  # numbers of random rows that a plan compares
CHECK_USE = 0x43  # of random draws, see `QueryContext.rng`


class Suggestions:
    """Suggested labels of a pool, part of the state of a learner.

    Parameters
    ----------
    answers : dict
        Label by row; None for a refusal, and for an answer that is not a label.
    n_rows : int
        Number of rows of the pool.
    source : str
        Name of the annotator.
    prices : tuple of float or None
        Price of a suggestion and of a label of the expert.
    """

    def __init__(self, answers, n_rows, source, prices=None):
        self.answers = answers
        self.source = source
        self.prices = prices
        self.n_invalid = sum(label is None for label in answers.values())
        labels = self.labels = [answers.get(row) for row in range(n_rows)]
        self.is_known = np.array([label is not None for label in labels], dtype=bool)
        self._features = None

    def is_wrong(self, row, label):
        """Whether the suggestion for a row differs from its label."""
        return self.labels[row] != label

    def features(self, context):
        """Features by which errors are predicted, of shape (n_rows, n_features).

        They are the coordinates of the rows, the suggestions, and the probability of
        each suggestion by the classifier trained with those of other folds.
        """
        if self._features is None:
            rows = np.flatnonzero(self.is_known)
            y = np.array([self.labels[row] for row in rows.tolist()])
            classes, codes, n = np.unique(y, return_inverse=True, return_counts=True)
            columns = [context.points]
            for code in np.sort(np.argsort(-n, kind="stable")[:MAX_LABELS]):
                column = np.zeros(len(self.labels))
                column[rows] = codes == code
                columns.append(column)
            columns.append(np.zeros(len(self.labels)))
            if len(classes) > 1:
                columns[-1][rows] = self._probability(context, rows, y)
            self._features = np.column_stack(columns).astype(np.float32)
        return self._features

    def _probability(self, context, rows, y):
        rng = np.random.default_rng([context.seed, CHECK_USE])
        proba, folds = np.zeros(len(rows)), np.arange(len(rows)) % N_FOLDS
        rng.shuffle(folds)
        for fold in range(N_FOLDS):
            test = np.flatnonzero(folds == fold)
            train = rng.permutation(np.flatnonzero(folds != fold))[:MAX_TRAINED]
            train.sort()
            if not len(test) or len(np.unique(y[train])) < 2:
                continue
            model = context.new_estimator().fit(take(context.X, rows[train]), y[train])
            known, of_class = np.asarray(model.classes_), y[test]
            if hasattr(model, "predict_proba"):
                found = in_chunks(context.X, rows[test], model.predict_proba)
                column = np.minimum(np.searchsorted(known, of_class), len(known) - 1)
                found = found[np.arange(len(test)), column]
                proba[test] = np.where(known[column] == of_class, found, 0.0)
            else:
                found = in_chunks(context.X, rows[test], model.predict)
                proba[test] = found == of_class
        return proba

    def __getstate__(self):
        # equal states have equal pickles
        return canonical(vars(self) | {"_features": None})


def valid_suggestion(value, labels):
    """Suggestion as a label; None if it is none, or not one of `labels` (if any)."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or not is_label(value):
        return None
    if labels and not any(same_label(value, label) for label in labels):
        return None
    return value


def n_certifying(n_rows, n_wrong, max_wrong, threshold):
    """Expected number of random rows that certify a limit of the remaining errors.

    The limit is `max_wrong`. Of `n_rows` rows, `n_wrong` are wrong. After n random
    rows, `evidence`, the log likelihood ratio of this number to the smallest number
    with which too many errors remain, must reach a threshold.
    """
    n = np.unique(np.linspace(0, n_rows, N_GRID + 1).round())
    found = n_wrong * n / max(n_rows, 1)
    too_many = np.minimum(found + max_wrong + 1.0, n_rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        evidence = _log_choices(n_rows, n_wrong, n, found)
        evidence -= _log_choices(n_rows, too_many, n, found)
    is_enough = (evidence >= threshold) & (n_wrong - found <= max_wrong)
    is_enough |= n >= n_rows - max_wrong
    return n[is_enough.argmax()]


def _log_choices(n_rows, n_wrong, n, found):
    # Log of the number of choices of n rows with `found` errors.
    return _log_binomial(n_wrong, found) + _log_binomial(
        n_rows - n_wrong, np.minimum(n - found, n_rows - n_wrong)
    )


def _log_binomial(n, k):
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def doubtful_rows(features, checked, is_wrong, left, rate, max_wrong, threshold):
    """Rows to check because their suggestions are probably wrong, the worst first.

    A tree, trained with the checked rows, predicts errors. `rate` is the estimated
    error rate of the rows that are `left`. All rows of some leaves are checked: those
    for which the expected number of checks is the smallest, including the random rows
    that then certify the rest. Returns no rows if the tree has no split.
    """
    none = left[:0]
    if len(left) == 0 or is_wrong.all() or not is_wrong.any():
        return none
    # `lookahead=0`: splits are selected by their gain, not by trees grown below them
    tree = class_of(TREE)(pruning=None, lookahead=0, random_state=0)
    tree.fit(features[checked], is_wrong)
    n_nodes = tree.tree_.node_count
    if n_nodes == 1:
        return none
    leaves = tree.apply(features[checked])
    n_wrong = np.bincount(leaves, is_wrong, n_nodes) + PRIOR_ROWS * rate
    share = n_wrong / (np.bincount(leaves, minlength=n_nodes) + PRIOR_ROWS)
    proba = share[in_chunks(features, left, tree.apply)]
    order = np.argsort(-proba, kind="stable")
    left, proba = left[order], proba[order]
    sizes = np.concatenate([[0], np.flatnonzero(np.diff(proba)) + 1])
    found = np.concatenate([[0.0], np.cumsum(proba)])
    costs = [
        size + n_certifying(len(left) - size, found[-1] - n, max_wrong, threshold)
        for size, n in zip(sizes.tolist(), found[sizes].tolist(), strict=True)
    ]
    return left[: sizes[int(np.argmin(costs))]]


class Check:
    """State of the check of the suggestions of a pool, after some labels of the expert.

    Parameters
    ----------
    is_pool : ndarray of shape (n_rows,), bool
        Rows with a suggestion, without those that were skipped.
    alpha : float
        Probability that more errors than the limit remain at any time.
    """

    def __init__(self, is_pool, alpha):
        self.is_left = is_pool.copy()
        self.n_left = int(is_pool.sum())
        # of the number of wrong suggestions, which are the positive rows
        self.limit = PositivesLimit(self.n_left, alpha)
        self._set_prior()
        self.threshold = REGRET - np.log(alpha)
        self.rows, self.is_wrong = [], []
        self.n_random = 0
        self.next_plan = MIN_CHECKED
        self.doubtful = np.empty(0, dtype=np.intp)

    def _set_prior(self):
        # Probabilities of the remaining errors after those found: 1 / (number + 1).
        prior = 1.0 / np.arange(1, len(self.limit.weight) + 1)
        self.limit.prior = prior / prior.sum()

    def grow(self, rows):
        """Append rows to the pool."""
        self.is_left[rows] = True
        self.n_left += len(rows)
        self.limit.grow(len(rows))
        self._set_prior()

    @property
    def n_wrong(self):
        """Number of suggestions that were found to be wrong."""
        return self.limit.n_found

    @property
    def max_remaining(self):
        """Upper limit of the number of errors among the rows that are left."""
        return self.limit.limit - self.limit.n_found

    def add(self, row, is_wrong, is_random):
        """Add a checked row."""
        if is_random:
            # from `n_left` rows: number of correct suggestions, whether one is wrong
            self.limit.draw(self.n_left, int(not is_wrong), is_wrong)
            self.n_random += 1
        elif is_wrong:
            self.limit.add_found()
        self.rows.append(row)
        self.is_wrong.append(is_wrong)
        self.is_left[row] = False
        self.n_left -= 1
        self.limit.restrict(self.n_left)  # at most so many errors remain

    @property
    def needs_plan(self):
        """Whether the rows to check should be planned again."""
        return len(self.rows) >= self.next_plan

    def plan(self, features, max_wrong, seed):
        """Plan which rows to check because their suggestions are probably wrong."""
        n = len(self.rows)
        self.next_plan = max(n + 1, int(GROWTH * n))
        left = np.random.default_rng([*seed, n]).permutation(
            np.flatnonzero(self.is_left)
        )
        # expected number of errors that remain: `weight` are probabilities of 0, 1, ...
        missing = self.limit.weight @ np.arange(len(self.limit.weight))
        self.doubtful = doubtful_rows(
            *(features, np.array(self.rows, dtype=np.intp), np.array(self.is_wrong)),
            *(left, missing / max(self.n_left, 1), max_wrong, self.threshold),
        )

    def next_rows(self, k, rng):
        """Rows to check next, and whether they are random."""
        doubtful = self.doubtful[self.is_left[self.doubtful]]
        if len(doubtful):
            return doubtful[:k], False
        left = np.flatnonzero(self.is_left)
        return rng.choice(left, min(k, len(left)), replace=False), True


def check_of(context, confidence, max_error=None):
    """Check of the suggestions after the labels of a context, and the rows in all.

    Without `max_error`, it does not plan which rows to check next.
    """
    suggestions = context.suggestions
    n_rows = context.n_labeled + context.n_candidates
    key = "check", confidence, max_error

    def add(batches):
        for batch in batches:
            is_random = batch.n_wrong is not None
            _add(check, suggestions, batch.rows[batch.known], batch.labels, is_random)
            if max_error is not None and check.needs_plan:
                max_wrong = largest_number(max_error, n_rows)
                seed = context.seed, CHECK_USE
                check.plan(suggestions.features(context), max_wrong, seed)

    # the state after the first batches is cached, until a row is skipped
    n_cached, n_batches, check = context.memory.get(key, (None, 0, None))
    if n_cached != n_rows:
        check, n_batches = None, 0
        for n_before, new, start in appended_pools(context):
            new = new[suggestions.is_known[new]]
            if check is None:
                is_pool = np.zeros(len(context.codes), dtype=bool)
                is_pool[new] = True
                check = Check(is_pool, 1.0 - confidence)
            else:
                add(context.answers[n_batches:n_before])
                check.grow(new)
            labels = context.classes[context.codes[start]]
            _add(check, suggestions, start, labels, False)
            n_batches = n_before
    add(context.answers[n_batches:])
    context.memory[key] = n_rows, len(context.answers), check
    return check, n_rows


def _add(check, suggestions, rows, labels, is_random):
    for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
        if suggestions.is_known[row]:
            check.add(row, suggestions.is_wrong(row, label), is_random)


def largest_number(share, n_rows):
    """Largest number of rows that is at most a share of them."""
    return int(np.floor(share * n_rows + 1e-9))


@dataclass(eq=False, repr=False)
class SuggestedErrorBelow(StoppingRule):
    """Stopping rule: stop when at most a share of the delivered labels is wrong.

    Use it if a cheap and unreliable annotator, such as a language model, has suggested
    labels for all rows, and an expert checks some of them. The delivered label of a row
    is that of the expert, if there is one, otherwise the suggestion. The rule selects
    the rows that the expert labels, instead of the query strategy:

    - Rows that are drawn at random from those that are not checked. The number of
      errors among them limits how many remain.
    - Rows whose suggestions are probably wrong, as soon as there is evidence: a tree
      predicts errors by the rows checked so far.

    It stops when the upper confidence limit of the number of wrong labels is at most
    `max_error` times the number of rows. The limit holds at all times, however the
    cheap annotator errs; it assumes that the expert does not. Rows without a suggestion
    are queried last. Rows that the expert skips have no delivered label.

    Parameters
    ----------
    max_error : float, default=0.03
        Share of the delivered labels, in (0, 1), that may be wrong. Smaller values
        require more labels of the expert.
    confidence : float, default=0.95
        Probability, in (0, 1), that the limit holds at all times. Larger values require
        more labels of the expert.

    See Also
    --------
    ActiveLearner.run : Queries both annotators, with `oracles`.
    ActiveLearner.delivered_labels : The labels, and the limit at any time.
    LabelingSession : Labeling by a person, with `suggested`.

    Notes
    -----
    The limit is that of :class:`~skconftree.active.RecallAbove`, with wrong suggestions
    as positive rows. The tree is trained again whenever the number of checked rows has
    grown by a fifth. Its features are the coordinates of the rows, the suggested label,
    and the probability of this label by the classifier trained with the suggestions of
    other rows (5-fold cross-validation). Those leaves are checked completely for which
    the expected number of checks is the smallest.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, ArrayOracle
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> cheap = np.where(X[:, 1] > 1.2, "no", y)          # errs in a region
    >>> learner = ActiveLearner(GaussianNB(), random_state=0).fit(X)
    >>> oracles = [(ArrayOracle(cheap), 0.001), (ArrayOracle(y), 1.0)]
    >>> learner = learner.run(oracles=oracles, max_error=0.03)
    >>> delivered = learner.delivered_labels()
    >>> bool((delivered.labels != y).mean() <= delivered.error_limit <= 0.03)
    True
    >>> delivered.n_checked < 300
    True
    """

    _parameter_constraints = {
        "max_error": [Interval(Real, 0, 1, closed="neither")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
    }

    max_error: float = 0.03
    _: KW_ONLY
    confidence: float = 0.95

    def limit(self, context: QueryContext) -> float:
        """Upper limit of the share of delivered labels that are wrong.

        Parameters
        ----------
        context : QueryContext
            State of the learner.

        Returns
        -------
        float
            Upper limit; rows without a suggestion do not count as wrong.
        """
        check, n_rows = self._check(context)
        return check.max_remaining / max(n_rows, 1)

    def reached(self, context: QueryContext) -> bool:
        if self.limit(context) > self.max_error:
            return False
        return bool(context.suggestions.is_known[context.candidates].all())

    def select(self, context: QueryContext, k: int) -> tuple[Indices, bool] | None:
        """Select the next rows, in place of the query strategy.

        Parameters
        ----------
        context : QueryContext
            State of the learner.
        k : int
            Number of rows.

        Returns
        -------
        tuple or None
            Up to `k` rows, and whether they were drawn at random. None if only skipped
            rows are left.
        """
        check, n_rows = self._check(context)
        if check.max_remaining > largest_number(self.max_error, n_rows):
            return check.next_rows(k, context.rng(CHECK_USE))
        unknown = context.candidates[~context.suggestions.is_known[context.candidates]]
        return (unknown[:k], False) if len(unknown) else None

    def _check(self, context):
        if context.suggestions is None:
            raise ValueError(
                "SuggestedErrorBelow needs suggested labels. Use "
                "ActiveLearner.run(oracles=...), or LabelingSession(suggested=...) "
                "with one source."
            )
        return check_of(context, self.confidence, self.max_error)


@dataclass(frozen=True)
class DeliveredLabels:
    """Labels of a cheap annotator, some of which an expert has checked.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Delivered labels: those of the expert, otherwise the suggestions. None for rows
        with neither, and for rows that the expert skipped.
    is_checked : ndarray of shape (n_rows,), bool
        Whether the label is that of the expert.
    source : str
        Name of the cheap annotator.
    n_corrected : int
        Number of checked rows whose suggestion was wrong.
    n_random : int
        Number of checked rows that were drawn at random.
    n_invalid : int
        Number of refusals, exceptions, and answers that are not a label, of the cheap
        annotator.
    error_limit : float
        Upper confidence limit of the share of labels that are wrong, valid each time it
        is computed.
    confidence : float
        Confidence of the limit.
    cost : float or None
        Price of all answers; None if the annotators have no prices.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.active.pool import DeliveredLabels
    >>> labels = np.array(["ham", "spam", "ham"])
    >>> is_checked = np.array([True, False, False])
    >>> print(DeliveredLabels(labels, is_checked, "llm", 0, 1, 2, 0.028, 0.95, 1.003))
    3 rows have labels: 1 of the expert, 2 of 'llm'.
    At most 2.8% of them are wrong, with 95% confidence.
    The expert corrected 0 labels of 'llm'.
    2 answers of 'llm' were not labels.
    Total cost: 1.003.
    """

    labels: NDArray[Any]
    is_checked: NDArray[np.bool_]
    source: str
    n_corrected: int
    n_random: int
    n_invalid: int
    error_limit: float
    confidence: float
    cost: float | None

    @property
    def n_checked(self) -> int:
        """Number of labels of the expert."""
        return int(self.is_checked.sum())

    def __str__(self):
        n = sum(label is not None for label in self.labels.tolist())
        percent = np.ceil(1000.0 * self.error_limit - 1e-9) / 10.0
        lines = [
            f"{n:,} rows have labels: {self.n_checked:,} of the expert, "
            f"{n - self.n_checked:,} of {self.source!r}.",
            f"At most {percent:g}% of them are wrong, with "
            f"{100 * self.confidence:g}% confidence.",
            f"The expert corrected {_count(self.n_corrected, 'label')} of "
            f"{self.source!r}.",
        ]
        if self.n_invalid:
            lines.append(
                f"{_count(self.n_invalid, 'answer')} of {self.source!r} "
                f"{'was not a label' if self.n_invalid == 1 else 'were not labels'}."
            )
        if self.cost is not None:
            lines.append(f"Total cost: {self.cost:,.10g}.")
        return "\n".join(lines)


def _count(n, noun):
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def delivered_labels(context, confidence):
    """Make the `DeliveredLabels` of a context."""
    suggestions = context.suggestions
    check, n_rows = check_of(context, confidence)
    labels = np.full(len(context.codes), None)
    is_checked = context.codes >= 0
    left = context.candidates
    labels[left] = [suggestions.labels[row] for row in left.tolist()]
    labels[is_checked] = context.classes[context.codes[is_checked]]
    cost = None
    if suggestions.prices is not None:
        cheap, expert = suggestions.prices
        n_cheap = len(suggestions.answers)
        n_expert = sum(int(batch.known.sum()) for batch in context.answers)
        cost = float(cheap * n_cheap + expert * n_expert)
    return DeliveredLabels(
        *(labels, is_checked, suggestions.source, check.n_wrong, check.n_random),
        *(suggestions.n_invalid, check.max_remaining / max(n_rows, 1), confidence),
        cost,
    )
