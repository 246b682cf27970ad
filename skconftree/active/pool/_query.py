"""Queries of an active learner, which select rows of the pool to be labeled.

The *pool* is the table of unlabeled and labeled rows. An *audit* is a query of random
rows, whose labels are compared with predictions before they are learned. The *needs* of
a strategy or rule are capabilities of the classifier, such as "predict_proba".

Of a learner, `_start` has the initial labels, `_answers` the later batches of labels,
`_order` the labeled rows, `_codes` the class indices to which `_coder` converts labels,
`_growth` the times at which rows were appended to the pool, and `_decisions` what
people decided for stopping rules. `_n_taught` counts the rows of all answers, including
skipped rows, which were queried but not labeled; `_index`, `_kept`, `_forest` and
`_memory` are caches, which `_forget_queries` clears if a query was interrupted
(`_in_query`). `_recover` completes or reverts an interrupted update. `refit` is False
if the classifier is updated by `partial_fit`, which keeps the splits of a tree. The
decorators `learns` and `reads_consistent` lock the learner for writing and reading;
with `names_class`, errors for arguments name the class of the learner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from ...utils._lock import learns, names_class
from ...utils._types import Floats, Indices, Stops
from ...utils._warnings import warn
from .._estimators import needs_of
from .._labels import check_costs, take
from .._registry import STRATEGIES
from .._strategy import FOR_AUDIT
from .._transaction import reads_consistent
from ._check import (
    DeliveredLabels,
    SuggestedErrorBelow,
    Suggestions,
    delivered_labels,
    valid_suggestion,
)
from ._context import QueryContext
from ._oracles import AnnotatorPair, QueriesEnded, with_indices
from ._recall import RecallAbove, RecallReport, report_recall
from ._recorded import RecordedLearner
from ._stopping import check_share, largest_share, read_rules, selected_by
from ._strategies import tie_break_for


class QueryMixin:
    """Mixin of an active learner that selects the rows to label next."""

    @learns
    def query(
        self,
        k: int | None = None,
        *,
        costs: ArrayLike | None = None,
        return_scores: bool = False,
    ) -> tuple[Indices, Floats]:
        """Select the rows of the pool to label next.

        Repeated calls return the same rows until labels are added with `teach`.

        Parameters
        ----------
        k : int, default=None
            Number of rows to select. If None, `batch_size` is used. If fewer unlabeled
            rows remain, all of them are returned.
        costs : array-like of shape (n_rows,), default=None
            Cost of labeling each row of the pool. If given, rows are ranked by score
            divided by cost.
        return_scores : bool, default=False
            Whether to return the scores as well.

        Returns
        -------
        rows : ndarray of shape (k,), intp
            Indices into the pool of the selected rows, without duplicates.
        scores : ndarray of shape (k,)
            Scores of the selected rows, in the order of `rows`; most strategies sort
            them in decreasing order. Only returned if `return_scores=True`.
        """
        if not hasattr(self, "_codes"):
            check_is_fitted(self, "_codes")  # raises; too slow to call it each time
        k = self.batch_size if k is None else k
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k must be an integer of 1 or more. Got {k!r} instead.")
        costs_array = None if costs is None else check_costs(costs, self._pool.n_rows)
        self._recover()
        if self._in_query:
            self._forget_queries()
        self._in_query = True
        strategy = self._strategy_now()
        parts = []
        left = int(k)
        for skipped in (False, True):
            n_selected = min(left, self._n_candidates(skipped))
            if n_selected > 0:
                context = self._context(strategy.needs, skipped, costs_array)
                parts.append(self._choose(strategy, context, n_selected, skipped))
                left -= n_selected
        if len(parts) == 1:
            rows, scores = parts[0]
        else:
            none = np.empty(0, dtype=np.intp), np.empty(0)
            rows, scores = map(np.concatenate, zip(*(parts or [none]), strict=True))
        vars(self).update(_queried_rows=rows, _in_query=False)
        return (rows.copy(), scores) if return_scores else rows.copy()

    def _model(self):
        # The fitted estimator; None before there are labels of two classes.
        model = getattr(self, "estimator_", None)
        return None if isinstance(model, DummyClassifier) else model

    def _strategy_now(self):
        # Without a model, only strategies that use the coordinates of rows work, or
        # that support it (`without_model`).
        strategy = self._strategy
        if self._model() is not None or not strategy.needs or strategy.without_model:
            return strategy
        return STRATEGIES["auto"]()

    def _choose(self, strategy, context, n_selected, skipped):
        # Rows of the pool, and their scores.
        rows, scores = strategy.select_rows(context, n_selected)
        rows = np.asarray(rows)
        valid = (
            len(rows) == len(set(rows.tolist())) == n_selected
            and rows.dtype.kind in "iu"
            and ((rows >= 0) & (rows < self._pool.n_rows)).all()
            and (self._codes[rows] < 0).all()
            and (self._skipped[rows] == skipped).all()
        )
        if not valid:
            raise ValueError(
                f"{type(strategy).__name__} must select {n_selected} different "
                f"candidates. Got these rows: {rows!r}."
            )
        return rows, scores

    def _n_candidates(self, skipped):
        # Number of unlabeled rows that were skipped, or that were not.
        if skipped:
            return self._n_skipped
        return self._pool.n_rows - len(self._order) - self._n_skipped

    def _context(self, needs, skipped=False, costs_array=None):
        estimator = self._model()

        def candidates():
            return np.flatnonzero((self._codes < 0) & (self._skipped == skipped))

        context = QueryContext(
            self._pool,
            estimator,
            self._codes,
            lambda: np.array(self._order, dtype=np.intp),
            self._coder.classes,
            candidates,
            (self._seed, self._n_taught),  # seed of random choices
        )
        context.n_candidates = self._n_candidates(skipped)
        context.strategy = self._strategy
        context.audit, context.audits = self._audit(), self._audits()
        if self._memory is None:  # it is not pickled
            self._memory = {}
        if self._decisions is None:  # a state without them
            self._decisions = {}
        context.memory, context.answers = self._memory, list(self._answers)
        context.growth, context.decisions = self._growth, self._decisions
        context.declared = self._coder.fixed  # whether `classes` were passed
        context.suggestions = self._suggestions
        context.new_estimator = self._new_estimator
        context._model_after = self._model_after
        context.grows = self.refit is False  # updated by partial_fit
        context.costs = None if costs_array is None else costs_array[context.candidates]
        # creating an index for a single query would not save time
        uses_index = self.refit is False or "leaves" in self._strategy.needs
        if not skipped and "leaves" in needs and uses_index:
            context.index = self._row_index(estimator)
            if context.index is not None:
                context.kept = self._kept
        if self.refit is False and hasattr(estimator, "estimators_"):
            if hasattr(estimator, "index_rows"):
                context._pool_proba = self._forest_proba
        context.tie_break = self.tie_break
        if self.tie_break == "auto":
            context.tie_break = tie_break_for(estimator)
        return context

    def _model_after(self, n_answers):
        # The classifier as it was after the first answers.
        return self._with_answers(self._answers[:n_answers])._model()

    def _row_index(self, estimator):
        # Index of the leaves of the candidates, if the tree supports it.
        known, index = self._index
        if known is estimator:
            return index
        index = None
        if hasattr(estimator, "index_rows") and hasattr(estimator, "tree_"):
            index = estimator.index_rows(self._pool.X)
            # removes rows that cannot be queried
            index.take(np.flatnonzero((self._codes >= 0) | self._skipped))
        self._index = estimator, index
        self._kept = {}
        return index

    def _forest_proba(self):
        # Probabilities of all rows by an incremental forest; only rows in changed
        # leaves are predicted again.
        known, index = self._forest
        if known is not self.estimator_:
            index = self.estimator_.index_rows(self._pool.X)
            self._forest = self.estimator_, index
        return index.predict_proba()

    @names_class
    def reached(self, stop: Stops | Sequence[Stops]) -> bool:
        """Evaluate stopping rules, as `run` does before each query.

        Parameters
        ----------
        stop : stopping rule or list of them
            If several rules are passed, one of them suffices.

        Returns
        -------
        bool
            Whether to stop querying labels.
        """
        check_is_fitted(self, "_codes")
        return self._reached(read_rules(stop, self.estimator))

    def _reached(self, rules):
        return self._call_with_context(
            rules, lambda context: any(rule.reached(context) for rule in rules)
        )

    def _random_share(self, rules):
        # Share of the next query that is drawn at random.
        if not rules:
            return 0.0
        return self._call_with_context(
            rules, lambda context: largest_share(rules, context)
        )

    def _next_rows(self, rules, k, share, excluded=()):
        # Rows of the next query, and whether they are an audit: drawn at random. If
        # rows are excluded, those of a rule are not replaced.
        if rules:
            selected = self._call_with_context(
                rules, lambda context: selected_by(rules, context, k)
            )
            if selected is not None:
                return (np.empty(0, dtype=np.intp), False) if excluded else selected
        share = max(share, self._random_share(rules))
        audit = self._audit_rows(k, share, excluded)
        if audit is not None:
            return audit, True
        rows = self.query(k + len(excluded))
        return rows[~np.isin(rows, list(excluded))] if excluded else rows, False

    def _audit_predictions(self, rows):
        # Predictions for random rows; suggestions, until there is a classifier.
        if not len(rows):
            return []
        if not hasattr(self, "estimator_") and self._suggestions is not None:
            return [self._suggestions.labels[row] for row in rows.tolist()]
        X = take(self._pool.X, rows)
        return self._fitted(X).predict(X).tolist()

    @learns
    def _call_with_context(self, rules, function):
        # Result of a function of the context that the rules need.
        self._recover()
        if self._in_query:
            self._forget_queries()
        self._in_query = True
        result = function(
            self._context([need for rule in rules for need in needs_of(rule)])
        )
        self._in_query = False
        return result

    @names_class
    def recall_report(
        self,
        positive: object,
        *,
        confidence: float = 0.95,
        recalls: Sequence[float] = (0.8, 0.95),
    ) -> RecallReport:
        """Report how many rows of a class have been found.

        Parameters
        ----------
        positive : object
            Label of the class.
        confidence : float, default=0.95
            Confidence of the lower limit of the recall, in (0, 1). Larger values lower
            the limit.
        recalls : sequence of float, default=(0.8, 0.95)
            Values of recall, in (0, 1), for which the report has the number of random
            rows after which the lower limit is as large.

        Returns
        -------
        RecallReport
            Estimate and lower limit of the recall; `print` shows them.
        """
        check_is_fitted(self, "_codes")
        rule = RecallAbove(positive, recall=0.5, confidence=confidence)
        read_rules(rule, self.estimator)  # validates it; its recall is not used
        for recall in recalls:
            check_scalar(
                *(recall, "recalls", Real),
                min_val=0,
                max_val=1,
                include_boundaries="neither",
            )
        self._coder.read([positive], "positive")  # validates the label
        return self._call_with_context(
            [rule],
            lambda context: report_recall(context, positive, confidence, recalls),
        )

    @names_class
    def delivered_labels(self, *, confidence: float = 0.95) -> DeliveredLabels:
        """Labels of two annotators after :meth:`run` with `oracles`.

        Parameters
        ----------
        confidence : float, default=0.95
            Confidence of the upper limit of the error, in (0, 1). Larger values raise
            the limit.

        Returns
        -------
        DeliveredLabels
            The labels, an upper limit of the share of wrong ones, and the cost; `print`
            summarizes them.
        """
        check_is_fitted(self, "_codes")
        read_rules(SuggestedErrorBelow(confidence=confidence), self.estimator)
        if self._suggestions is None:
            raise ValueError(
                "This ActiveLearner has no suggested labels. Call run(oracles=...)."
            )
        return self._call_with_context(
            [], lambda context: delivered_labels(context, confidence)
        )

    @names_class
    def run(
        self,
        oracle: Callable[..., Any] | None = None,
        budget: int | None = None,
        stop: Stops | Sequence[Stops] | None = None,
        *,
        save: Path | None = None,
        random_share: float = 0.0,
        oracles: Sequence[tuple[Callable[..., Any], float]] | None = None,
        max_error: float = 0.03,
        confidence: float = 0.95,
    ) -> Self:
        """Query an oracle until the budget is spent, a rule stops, or no row is left.

        Parameters
        ----------
        oracle : callable, default=None
            Function of rows of the pool and their indices, or of the rows only, that
            returns their labels, for example an :class:`ArrayOracle`. If it raises an
            exception or is interrupted, the labels so far are kept. A person can end
            the run in a :class:`ConsoleOracle`. Required unless `oracles` is passed.
        budget : int, default=None
            Maximum number of answers, including those of earlier calls of `run` and
            `teach`, but neither initial labels, skipped rows nor withdrawn labels.
            None: no limit.
        stop : stopping rule or list of them, default=None
            Evaluated before each query; one of them suffices.
        save : path, default=None
            File to which each label is written before the next query. Labels that are
            already in the file are learned first, and count for the budget as any other
            answer, so that an interrupted script can be restarted. Rows are then
            queried one by one. :class:`LabelingSession` offers more options.
        random_share : float, default=0.0
            Share of the queries, in [0, 1], whose rows are drawn at random once there
            are labels of two classes. Larger values narrow the limits of
            `estimate_error` and leave fewer labels for the query strategy.
        oracles : list of two tuples (callable, price), default=None
            A cheap annotator and an expert with their prices of a label, instead of
            `oracle`. The cheap annotator suggests labels for all rows, in calls of
            `batch_size` rows. Rows for which it raises an exception, or returns None or
            what is not a label (one of `classes`, if the learner has them), have no
            suggestion. The expert then labels rows until the other labels are
            sufficiently reliable (:class:`SuggestedErrorBelow`), and finally the rows
            without a suggestion. `budget` limits the labels of the expert, and only
            they train the classifier. :meth:`delivered_labels` returns the labels of
            both.
        max_error : float, default=0.03
            Only with `oracles`. Share of the delivered labels, in (0, 1), that may be
            wrong. Smaller values require more labels of the expert.
        confidence : float, default=0.95
            Only with `oracles`. Probability, in (0, 1), that at most this share is
            wrong. Larger values require more labels of the expert.

        Returns
        -------
        ActiveLearner or ModelEvaluator
            The updated learner.
        """
        check_is_fitted(self, "_codes")
        self._recover_locked()
        rules = [] if stop is None else read_rules(stop, self.estimator)
        pair = None
        if oracles is not None:
            if oracle is not None:
                raise ValueError("Pass either oracle or oracles, not both.")
            pair = AnnotatorPair.of(oracles)
            oracle = pair.expert
            rule = SuggestedErrorBelow(max_error, confidence=confidence)
            rules = [*rules, *read_rules(rule, self.estimator)]
        if budget is not None and (not isinstance(budget, Real) or budget < 1):
            raise ValueError(f"budget must be 1 or more, or None. Got {budget!r}.")
        if not callable(oracle):
            raise TypeError(
                f"oracle must be callable with (rows, indices). Got {oracle!r} instead."
            )
        oracle = with_indices(oracle)
        random_share = check_share("random_share", random_share)
        if save is not None:
            self._run_saved(oracle, budget, rules, save, random_share, pair)
            return self
        if pair is not None:
            known = self._suggestions
            answers = {} if known is None else dict(known.answers)
            try:
                for part in self._ask_cheap(pair, answers):
                    answers |= part
            finally:
                self._set_suggestions(answers, pair.names[0], pair.prices)
        n_unlabeled = int((self._codes < 0).sum())
        n_answers = len(self._order) - len(self._start.rows)
        if budget is not None and budget > n_answers + n_unlabeled:
            warn(
                f"budget={budget} exceeds the number of rows without an initial label, "
                f"{n_answers + n_unlabeled}. The run ends when all of them are labeled."
            )
        left = n_unlabeled
        if budget is not None:
            left = min(int(budget) - n_answers, n_unlabeled)
        queried = np.zeros(self._pool.n_rows, dtype=bool)
        while left > 0 and not (rules and self._reached(rules)):
            k = min(self.batch_size, left)
            rows, is_audit = self._next_rows(rules, k, random_share)
            # a row that was skipped is not queried again in this run
            rows = rows[~queried[rows]]
            if not len(rows):
                break
            queried[rows] = True
            labels, ended = self._query_oracle(oracle, rows)
            if ended:
                rows = rows[: len(labels)]
            if len(rows):
                left -= self._take_answers(rows, labels, is_audit)
            if ended:
                break
        return self

    def _query_oracle(self, oracle, rows):
        # Labels from an oracle, and whether it has ended the run.
        try:
            return oracle(take(self._pool.X, rows), rows), False
        except QueriesEnded as end:
            return end.answers, True

    def _ask_cheap(self, pair, answers):
        # Yields the labels of a cheap annotator for the rows that it was not asked for,
        # by row; None for an answer that is not a label.
        rows = np.flatnonzero(self._codes < 0)
        rows = rows[[row not in answers for row in rows.tolist()]]
        classes = None if self.classes is None else np.asarray(self.classes).tolist()
        n_failed, first = 0, None
        for start in range(0, len(rows), self.batch_size):
            part = rows[start : start + self.batch_size]
            labels, error = pair.ask_cheap(take(self._pool.X, part), part)
            n_failed += 0 if error is None else len(part)
            first = first or error
            labels = [valid_suggestion(label, classes) for label in labels]
            yield dict(zip(part.tolist(), labels, strict=True))
        if first is not None:
            warn(
                f"{pair.names[0]} failed for {n_failed} rows, which the expert will "
                f"label. The first error: {first!r}."
            )

    @learns
    def _set_suggestions(self, answers, source, prices=None):
        # Suggested labels by row, None for an answer that was not a label.
        self._recover()
        n_rows = self._pool.n_rows
        suggestions = Suggestions(answers, n_rows, source, prices)
        vars(self).update(_suggestions=suggestions, _memory={})

    def _run_saved(self, oracle, budget, rules, path, random_share, pair):
        # Each label is written to a file of JSON lines before it is learned; the
        # ledger has the labels of the file.
        with RecordedLearner(
            self, path, rules, random_share=float(random_share)
        ) as record:
            by = price = None
            if pair is not None:
                (source, by), (cheap_price, price) = pair.names, pair.prices
                for part in self._ask_cheap(pair, record.suggestions):
                    record.add_suggestions(part, source, cheap_price)
                self._set_suggestions(record.suggestions, source, pair.prices)
            while budget is None or record.ledger.n_answers < budget:
                if record.is_query_complete and record.reached():
                    break
                queried = record.next_row()
                if queried is None:
                    break
                labels, ended = self._query_oracle(oracle, np.array([queried.row]))
                if len(labels):
                    record.add_label(queried, labels[0], by, price=price)
                if ended:
                    break
            record.finish()

    @learns
    def _take_answers(self, rows, labels, is_audit):
        # Learn the labels of a query; returns their number, without skipped rows.
        self._recover()
        batch = self._read_batch(rows, labels, weight=None)
        if is_audit:
            predicted = self._audit_predictions(batch.rows[batch.known])
            pairs = zip(predicted, batch.labels.tolist(), strict=True)
            n_wrong = sum(guess != label for guess, label in pairs)
            batch = batch._replace(n_wrong=n_wrong)
        self._learn(batch)
        return int(batch.known.sum())

    @reads_consistent
    def _audit_rows(self, k, audit_share, excluded=()):
        # Random rows for an audit, in a share of the queries, if there is a model.
        if audit_share <= 0.0 or self._model() is None:
            return None
        key = [self._seed, self._n_taught, FOR_AUDIT]
        is_candidate = (self._codes < 0) & ~self._skipped
        if excluded:
            key.append(len(excluded))
            is_candidate[list(excluded)] = False
        rng = np.random.default_rng(key)
        candidates = np.flatnonzero(is_candidate)
        if rng.random() >= audit_share or not len(candidates):
            return None
        return rng.choice(candidates, min(k, len(candidates)), replace=False)
