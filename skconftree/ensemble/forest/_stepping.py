"""Growth of a forest row by row, in steps that all trees take."""

from itertools import pairwise

import numpy as np
from joblib import effective_n_jobs

from ...tables._sparse import blocks
from ...utils._team import ThreadTeam
from ._streaming import run_step

STEP = 1024  # rows: all trees are at a multiple of it, or at the end of a call
PARTS = 16  # of a thread's work in a step: trees do not take equally long
VOTE_BYTES = 1 << 24  # of the votes that are waiting to be added up


class Steps:
    """Lets trees learn, in threads; `rate` is a Poisson mean, None: each row once."""

    def __init__(self, model, *, rate, weighs_votes, n_jobs):
        self.model, self.weighs_votes = model, weighs_votes
        self.rate = None if rate is None else float(rate)
        n_threads = max(1, min(effective_n_jobs(n_jobs), len(model.trees)))
        self._team = ThreadTeam(n_threads)

    def learn(self, rows, labels, weight, predicted):
        """Let all trees learn rows."""
        with self._team:
            for part, block in blocks(rows.X):
                self._learn_block(
                    block,
                    labels[part],
                    None if weight is None else weight[part],
                    rows.finite,
                    None if predicted is None else predicted[part],
                )

    def _learn_block(self, X, labels, weight, finite, predicted):
        model = self.model
        learned = np.ones(len(X), dtype=bool) if weight is None else weight > 0.0
        before = np.cumsum(learned) - learned + model.n_rows_seen
        most = STEP
        if predicted is not None:
            size = 8 * (len(model.classes) + 1) * len(model.trees)
            most = max(min(STEP, VOTE_BYTES // size), 1)
        interrupt = None
        start = 0
        while start < len(X):
            # the row with which the number of rows learnt reaches a multiple
            limit = (model.n_rows_seen // most + 1) * most
            end = start + int(np.searchsorted(before[start:], limit, side="left"))
            step = slice(start, min(end, start + most))
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
        # All trees learn all rows, unless one runs out of memory; what a signal
        # handler has raised meanwhile is returned.
        model = self.model
        trees = model.trees
        n_learned = len(X) if weight is None else int(np.count_nonzero(weight))
        shape = (len(X), len(model.classes) + 1)
        votes = None
        if predicted is not None:
            votes = [np.empty(shape) for _ in trees]
        tasks = []
        for first, end in self._parts(len(trees)):
            tasks.append(
                {
                    "models": trees[first:end],
                    "first": first,
                    "seed": model.seed,
                    "rate": self.rate,
                    "before": before,
                    "weight": weight,
                    "X": X,
                    "y": labels,
                    "finite": finite,
                    "votes": None if votes is None else votes[first:end],
                    "records": (
                        model.records[first:end] if self.weighs_votes else None
                    ),
                    "outcome": [],
                }
            )
        interrupt = run_step(model, tasks, self._team, n_learned)
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

    def _parts(self, n):
        # Neighbours for the threads: first and end of each part.
        n_threads = self._team.n_threads
        n_parts = min(n, PARTS * n_threads) if n_threads > 1 else 1
        ends = np.linspace(0, n, n_parts + 1).astype(int).tolist()
        return list(pairwise(ends))
