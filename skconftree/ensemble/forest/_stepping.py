"""Incremental training of a forest, in steps that all trees make together.

A step is a block of consecutive rows that all trees learn before the next step.
`finite` is whether rows have no missing values. The `records` of a forest are the
numbers of correct predictions and of rows of each tree, with exponential decay.
"""

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import gen_even_slices

from ...tables._sparse import blocks
from ...utils._team import ThreadTeam
from ._streaming import run_step

STEP = 1024  # maximum number of rows; a step ends at a multiple of it, or with the call
TASKS_PER_THREAD = 16  # per step, to balance the load: trees take different times
VOTE_BYTES = 1 << 24  # memory for the predictions of all trees in a step


class Steps:
    """Trains the trees of a forest in threads.

    `rate` is the mean of the Poisson weights of rows; None: each row counts once.
    `weighs_votes` is whether trees vote by their recent accuracy.
    """

    def __init__(self, model, *, rate, weighs_votes, n_jobs):
        self.model, self.weighs_votes = model, weighs_votes
        self.rate = None if rate is None else float(rate)
        n_threads = max(1, min(effective_n_jobs(n_jobs), len(model.trees)))
        self._threads = ThreadTeam(n_threads)

    def learn(self, rows, labels, weight, predicted):
        """Train all trees on rows.

        `predicted`, unless None, is filled with the class that the forest predicts for
        each row before any tree learns it.
        """
        with self._threads:
            for part, block in blocks(rows.X):  # dense blocks of rows
                self._learn_block(
                    block,
                    labels[part],
                    None if weight is None else weight[part],
                    rows.finite,
                    None if predicted is None else predicted[part],
                )

    def _learn_block(self, X, labels, weight, finite, predicted):
        model = self.model
        is_learned = np.ones(len(X), dtype=bool) if weight is None else weight > 0.0
        # number of rows learned before each row
        before = np.cumsum(is_learned) - is_learned + model.n_rows_seen
        max_rows = STEP
        if predicted is not None:
            size = 8 * (len(model.classes) + 1) * len(model.trees)
            max_rows = max(min(STEP, VOTE_BYTES // size), 1)
        interrupt = None
        start = 0
        while start < len(X):
            # end where the number of learned rows reaches a multiple of `max_rows`
            limit = (model.n_rows_seen // max_rows + 1) * max_rows
            end = start + int(np.searchsorted(before[start:], limit, side="left"))
            step = slice(start, min(end, start + max_rows))
            raised = self._learn_step(
                X[step],
                labels[step],
                None if weight is None else weight[step],
                before[step],
                finite,
                None if predicted is None else predicted[step],
            )
            if interrupt is None:
                interrupt = raised
            start = step.stop
            if interrupt is not None and (
                model.n_rows_seen % STEP == 0 or start == len(X)
            ):
                raise interrupt

    def _learn_step(self, X, labels, weight, before, finite, predicted):
        # All trees learn all rows of a step, unless one runs out of memory. `before` is
        # the number of rows learned before each row. Returns the exception of a signal
        # handler, or None.
        model = self.model
        trees = model.trees
        n_learned = len(X) if weight is None else int(np.count_nonzero(weight))
        shape = (len(X), len(model.classes) + 1)
        votes = None if predicted is None else [np.empty(shape) for _ in trees]
        n_threads = self._threads.n_threads
        n_tasks = min(len(trees), TASKS_PER_THREAD * n_threads) if n_threads > 1 else 1
        tasks = [
            {
                "models": trees[part],
                "first": part.start,
                "seed": model.seed,
                "rate": self.rate,
                "before": before,
                "weight": weight,
                "X": X,
                "y": labels,
                "finite": finite,
                "votes": None if votes is None else votes[part],
                "records": model.records[part] if self.weighs_votes else None,
                "outcome": [],  # failures of trees, then the exception of a signal
            }
            for part in gen_even_slices(len(trees), n_tasks)
        ]
        interrupt = run_step(model, tasks, self._threads, n_learned)
        if votes is not None:
            total = np.zeros(shape)
            for vote in votes:
                total += vote
            total[:, :-1] /= total[:, -1:]
            predicted[:] = total[:, :-1].argmax(axis=1)
        failures = [
            (trees.index(task["models"][t]), error)
            for task in tasks
            for t, _, error in task["outcome"][0]
        ]
        if failures:
            error = failures[0][1]
            error.add_note(
                f"Trees {[t for t, _ in failures]} of this forest did not learn all "
                f"rows of the last step, which ended after {model.n_rows_seen} rows. "
                "The other trees did."
            )
            raise error
        return interrupt
