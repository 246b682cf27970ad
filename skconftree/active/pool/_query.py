"""Questions of an active learner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from ...utils._lock import learns, names_class
from ...utils._types import Floats, Indices, Stops
from ...utils._warnings import warn
from .._estimators import needs_of
from .._labels import check_costs, take
from .._registry import STRATEGIES
from .._strategy import FOR_AUDIT
from .._transaction import reads_settled
from ._context import QueryContext
from ._oracles import QueriesEnded
from ._recorded import Recorded
from ._stopping import largest_share, read_rules
from ._strategies import tie_break_for


class QueryMixin:
    """Mixin of an active learner that chooses the rows to be labelled next."""

    @learns
    def query(
        self,
        k: int | None = None,
        *,
        costs: ArrayLike | None = None,
        return_scores: bool = False,
    ) -> tuple[Indices, Floats]:
        """Say which rows to label next.

        The answer is the same until something is taught.

        Parameters
        ----------
        k : int, default=None
            How many rows; None takes `batch_size`. Fewer are given where fewer are
            left.
        costs : array-like of shape (n_rows,), default=None
            Price of each row's label: the score per cost decides.
        return_scores : bool, default=False
            Give the scores as well.

        Returns
        -------
        rows : ndarray of shape (k,), intp
            Places in the pool, all different and without a label.
        scores : ndarray of shape (k,)
            Of these rows, larger ones first by most strategies. Only if asked for.
        """
        if not hasattr(self, "_codes"):
            check_is_fitted(self, "_codes")  # raises; it takes longer than a query
        k = self.batch_size if k is None else k
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k must be an integer of 1 or more. Got {k!r} instead.")
        price = None if costs is None else check_costs(costs, self._pool.n_rows)
        self._settle()
        if self._in_query:
            self._forget_queries()
        self._in_query = True
        strategy = self._strategy_now()
        parts = []
        left = int(k)
        for parked in (False, True):
            wanted = min(left, self._n_open(parked))
            if wanted > 0:
                context = self._context(strategy.needs, parked, price)
                parts.append(self._choose(strategy, context, wanted, parked))
                left -= wanted
        if len(parts) == 1:
            rows, scores = parts[0]
        else:
            none = np.empty(0, dtype=np.intp), np.empty(0)
            rows, scores = map(np.concatenate, zip(*(parts or [none]), strict=True))
        vars(self).update(_queried_rows=rows, _in_query=False)
        return (rows.copy(), scores) if return_scores else rows.copy()

    def _model(self):
        # None before there are two classes.
        model = getattr(self, "estimator_", None)
        return None if isinstance(model, DummyClassifier) else model

    def _strategy_now(self):
        # Without a model nothing can be said of the rows but where they lie.
        strategy = self._strategy
        if self._model() is not None or not strategy.needs or strategy.without_model:
            return strategy
        return STRATEGIES["auto"]()

    def _choose(self, strategy, context, wanted, parked):
        # Rows of the pool, and their scores.
        rows, scores = strategy.select_rows(context, wanted)
        rows = np.asarray(rows)
        sound = (
            len(rows) == len(set(rows.tolist())) == wanted
            and rows.dtype.kind in "iu"
            and ((rows >= 0) & (rows < self._pool.n_rows)).all()
            and (self._codes[rows] < 0).all()
            and (self._skipped[rows] == parked).all()
        )
        if not sound:
            raise ValueError(
                f"{type(strategy).__name__} must choose {wanted} different candidates. "
                f"Got these rows: {rows!r}."
            )
        return rows, scores

    def _n_open(self, parked):
        # Rows that may be asked for: those that were skipped, or all others.
        if parked:
            return self._n_skipped
        return self._pool.n_rows - len(self._order) - self._n_skipped

    def _context(self, needs, parked=False, price=None):
        estimator = self._model()

        def candidates():
            return np.flatnonzero((self._codes < 0) & (self._skipped == parked))

        context = QueryContext(
            self._pool,
            estimator,
            self._codes,
            lambda: np.array(self._order, dtype=np.intp),
            self._coder.classes,
            candidates,
            (self._seed, self._n_taught),
        )
        context.n_candidates = self._n_open(parked)
        context.strategy, context.audit = self._strategy, self._audit()
        if self._memory is None:  # it is no part of a pickle
            self._memory = {}
        context.memory, context.answers = self._memory, list(self._answers)
        context._model_after = self._model_after
        context.grows = self.refit is False
        context.costs = None if price is None else price[context.candidates]
        # an index that lasts for one query is no sooner than a search
        keeps = self.refit is False or "leaves" in self._strategy.needs
        if not parked and "leaves" in needs and keeps:
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
        # Which leaf the rows lie in that may be asked for, if the tree keeps track of
        # them; the rest is taken out.
        known, index = self._index
        if known is estimator:
            return index
        index = None
        if hasattr(estimator, "index_rows") and hasattr(estimator, "tree_"):
            index = estimator.index_rows(self._pool.X)
            index.take(np.flatnonzero((self._codes >= 0) | self._skipped))
        self._index = estimator, index
        self._kept = {}
        return index

    def _forest_proba(self):
        # Probabilities of all rows by a forest that grows: only those of rows in leaves
        # that have changed are made again.
        known, index = self._forest
        if known is not self.estimator_:
            index = self.estimator_.index_rows(self._pool.X)
            self._forest = self.estimator_, index
        return index.predict_proba()

    @names_class
    def reached(self, stop: Stops | Sequence[Stops]) -> bool:
        """Say whether to ask no more, as `run` does before each question.

        Parameters
        ----------
        stop : stopping rule or list of them
            One of them suffices.

        Returns
        -------
        bool
        """
        check_is_fitted(self, "_codes")
        return self._reached(read_rules(stop, self.estimator))

    def _reached(self, rules):
        return self._call_with_context(
            rules, lambda context: any(rule.reached(context) for rule in rules)
        )

    @learns
    def _call_with_context(self, rules, look):
        # What is seen where the rules look.
        self._settle()
        if self._in_query:
            self._forget_queries()
        self._in_query = True
        found = look(self._context([need for rule in rules for need in needs_of(rule)]))
        self._in_query = False
        return found

    @names_class
    def run(
        self,
        oracle: Callable[..., Any],
        budget: int | None = None,
        stop: Stops | Sequence[Stops] | None = None,
        *,
        save: Path | None = None,
    ) -> Self:
        """Ask an oracle until the budget is spent, a rule says stop, or no row is left.

        Parameters
        ----------
        oracle : callable
            Called with rows of the pool and their places, gives their labels. See
            :class:`ArrayOracle` and others. If it raises, or is interrupted, the
            answers so far are kept. A person who has had enough of
            :class:`ConsoleOracle` ends the run.
        budget : int, default=None
            Labels to request, at most. None: no limit.
        stop : stopping rule or list of them, default=None
            Looked at before each question; one of them suffices.
        save : path, default=None
            A file of answers, each of which is on the disk before the next question.
            What the file has already is learnt first, and counts for the budget; so a
            script that was killed goes on where it stood when it is started again.
            Rows are asked for one by one. :class:`LabelingSession` does more with it.

        Returns
        -------
        ActiveLearner
            The learner itself.
        """
        check_is_fitted(self, "_codes")
        self._settle_first()
        if budget is not None and (not isinstance(budget, Real) or budget < 1):
            raise ValueError(f"budget must be 1 or more, or None. Got {budget!r}.")
        if not callable(oracle):
            raise TypeError(
                f"oracle must be callable with (rows, places). Got {oracle!r} instead."
            )
        rules = [] if stop is None else read_rules(stop, self.estimator)
        if save is not None:
            self._run_saved(oracle, budget, rules, save)
            return self
        share = largest_share(rules)
        n_open = int((self._codes < 0).sum())
        if budget is not None and budget > n_open:
            warn(
                f"The budget of {budget} labels is above the {n_open} rows without a "
                "label."
            )
        left = n_open if budget is None else min(int(budget), n_open)
        asked = np.zeros(self._pool.n_rows, dtype=bool)
        while left > 0 and not (rules and self._reached(rules)):
            k = min(self.batch_size, left)
            audit = self._audit_rows(k, share) if share > 0.0 else None
            rows = self.query(k) if audit is None else audit
            # a row that was skipped in this run is not asked for twice in it
            rows = rows[~asked[rows]]
            if not len(rows):
                break
            asked[rows] = True
            answers, enough = self._query_oracle(oracle, rows)
            if enough:
                rows = rows[: len(answers)]
            if len(rows):
                left -= self._take_answers(rows, answers, audit is not None)
            if enough:
                break
        return self

    def _query_oracle(self, oracle, rows):
        # Answers of an oracle, and whether it wants no more questions.
        try:
            return oracle(take(self._pool.X, rows), rows), False
        except QueriesEnded as end:
            return end.answers, True

    def _run_saved(self, oracle, budget, rules, path):
        with Recorded(self, path, rules) as record:
            while budget is None or record.ledger.n_answers < budget:
                if rules and record.between and self._reached(rules):
                    break
                asked = record.ask()
                if asked is None:
                    break
                answers, enough = self._query_oracle(oracle, np.array([asked.row]))
                if len(answers):
                    record.answer(asked, answers[0])
                if enough:
                    break
            record.finish()

    @learns
    def _take_answers(self, rows, answers, judge):
        # Learn the answers to a question; gives the number of labels among them.
        self._settle()
        batch = self._read_batch(rows, answers, None)
        if judge:
            X = take(self._pool.X, batch.rows[batch.known])
            wrong = self._fitted(X).predict(X) != batch.labels
            batch = batch._replace(n_wrong=int(wrong.sum()))
        self._learn(batch)
        return int(batch.known.sum())

    @reads_settled
    def _audit_rows(self, k, share):
        # Rows at random in a share of the questions, once there is a model to judge.
        if self._model() is None:
            return None
        chance = np.random.default_rng([self._seed, self._n_taught, FOR_AUDIT])
        candidates = np.flatnonzero((self._codes < 0) & ~self._skipped)
        if chance.random() >= share or not len(candidates):
            return None
        return chance.choice(candidates, min(k, len(candidates)), replace=False)
