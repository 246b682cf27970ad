"""Growing many trees from one table, side by side."""

import threading
from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from ...tables._growth_data import SampledData
from ...tables._sparse import take_rows
from ...tree._plan import Plan
from ...tree._telling import STEPS
from .._jobs import TASKS_PER_JOB


class SharedTable:
    """Rows that trees are grown from, encoded once in each process that grows some.

    `n_bins` are those of a feature. The settings say whether unlabelled rows matter.
    """

    def __init__(self, rows, settings, n_bins):
        self.rows, self.settings, self.n_bins = rows, settings, n_bins
        self._data = None
        self._lock = threading.Lock()

    def __reduce__(self):
        return SharedTable, (self.rows, self.settings, self.n_bins)

    @property
    def data(self):
        """The encoded table, for all threads."""
        with self._lock:
            if self._data is None:
                self._data = self.rows.encode(self.settings, self.n_bins)
            return self._data

    @property
    def n_pool(self):
        """Number of unlabelled rows."""
        return len(self.data.y) - len(self.rows.y)


def rows_of_sample(table, sampler, tree):
    """The rows of a tree's sample, each once."""
    if sampler is None:
        return table.rows
    counts = sampler.counts(tree).astype(np.float64)
    kept = counts > 0.0
    return take_rows(table.X, kept), table.y[kept], counts[kept]


class NewTree(NamedTuple):
    """Which tree of a forest is grown, from what, and how, by its `random_state`."""

    index: int
    seed: int
    table: SharedTable
    plan: Plan


def grow_trees(
    sampler,
    new_trees,
    *,
    count_repeats,
    by_sample,
    n_jobs,
    verbose,
    told,
    model_of,
):
    """Grow trees, fewer if a callback has enough of them.

    Callbacks are `told` of each batch; `model_of` makes a model of the trees so far.
    """
    n_workers = effective_n_jobs(n_jobs)
    n_tasks = 1 if n_workers == 1 else TASKS_PER_JOB * n_workers
    n_steps = min(STEPS if told.in_steps else 1, max(len(new_trees), 1))
    told.start(n_steps, "batch of trees")
    grown = []
    # The work is done without the GIL, and threads share the encoded table. That is no
    # more than a preference: what the trees are does not depend on it.
    with Parallel(n_jobs=n_jobs, verbose=verbose, prefer="threads") as parallel:
        for step in np.array_split(np.arange(len(new_trees)), n_steps):
            done = parallel(
                delayed(_grow_batch)(
                    sampler,
                    [new_trees[i] for i in part],
                    count_repeats,
                    by_sample,
                    verbose,
                )
                for part in np.array_split(step, min(n_tasks, max(len(step), 1)))
            )
            grown += [tree for batch in done for tree in batch]
            if told.step(partial(model_of, grown)):
                break
    return grown


def _grow_batch(sampler, new_trees, count_repeats, by_sample, verbose):
    trees = []
    random = np.random.RandomState(0)  # seeding one is faster than making many
    for new in new_trees:
        if verbose > 1:
            print(f"growing tree {new.index + 1}")
        trees.append(_grow_tree(sampler, new, count_repeats, by_sample, random))
    return trees


def _grow_tree(sampler, new, count_repeats, by_sample, random):
    random.seed(new.seed)
    table, data = new.table, new.table.data
    counts = None if sampler is None else sampler.counts(new.index, table.n_pool)
    distinct = None
    if not (sampler is None or count_repeats or new.plan.settings.bound is None):
        distinct = sampler.distinct_weights(counts)
    sample = data.sample(counts, distinct)
    class_weight = data.class_weight
    if by_sample:
        class_weight = _balanced(sample.class_counts)
    grown = new.plan.grow(
        SampledData(data, sample, class_weight),
        # as ConfidenceTreeClassifier does with its random_state
        random.randint(2**31 - 1),
        lambda: rows_of_sample(table.rows, sampler, new.index),
    )
    return grown.tree


def _balanced(class_counts):
    # A class that is not in the sample has any weight.
    present = class_counts > 0.0
    weights = np.ones(len(class_counts))
    total = class_counts.sum()
    weights[present] = total / (np.count_nonzero(present) * class_counts[present])
    return weights
