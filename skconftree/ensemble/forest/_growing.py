"""Growing many trees from one table, side by side."""

import copy
import threading
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from ...tables._sparse import take_rows
from ...tree._resolve import resolve_shrinkage
from ...tree._settings import GrowthSettings
from ...tree.batch._grow import grow
from ...tree.pruning._registry import prune
from .._jobs import TASKS_PER_JOB


class Table:
    """Rows that trees are grown from, encoded once in each process that grows some.

    Parameters
    ----------
    rows : TrainingTable
    settings : GrowthSettings
        Which say whether rows without label matter.
    """

    def __init__(self, rows, settings):
        self.rows, self.settings = rows, settings
        self._data = None
        self._lock = threading.Lock()

    def __reduce__(self):
        return Table, (self.rows, self.settings)

    @property
    def data(self):
        """The encoded table, for all threads."""
        with self._lock:
            if self._data is None:
                self._data = self.rows.encode(self.settings)
            return self._data

    @property
    def n_pool(self):
        """Number of rows without label."""
        return len(self.data.y) - len(self.rows.y)


class SampleOf:
    """The rows of a tree's sample, made when they are asked for.

    Parameters
    ----------
    table : TrainingTable
    sampler : Sampler or None
        None: all rows.
    tree : int
    """

    def __init__(self, table, sampler, tree):
        self._table, self._sampler, self._tree = table, sampler, tree
        self._taken = None
        self.features, self.X_pool = table.features, table.X_pool

    def _take(self):
        if self._taken is None:
            table = self._table
            self._taken = table.X, table.y, table.weight
            if self._sampler is not None:
                counts = self._sampler.counts(self._tree).astype(np.float64)
                kept = counts > 0.0
                self._taken = take_rows(table.X, kept), table.y[kept], counts[kept]
        return self._taken

    @property
    def X(self):
        """Each row of the sample once."""
        return self._take()[0]

    @property
    def y(self):
        """Class indices."""
        return self._take()[1]

    @property
    def weight(self):
        """How often each row is in the sample."""
        return self._take()[2]

    sample_weight = weight


class Plan(NamedTuple):
    """What trees with one bound are grown from, and how.

    Attributes
    ----------
    table : Table
    settings : GrowthSettings
    left_out : ndarray of shape (n_features,), bool, or None
        Features that are not searched.
    pruning : str or None
    pruning_confidence : float or None
    shrinkage : float
    count_repeats : bool
        Whether the bound counts a row drawn twice as two.
    """

    table: Table
    settings: GrowthSettings
    left_out: np.ndarray | None
    pruning: str | None
    pruning_confidence: float | None
    shrinkage: float
    count_repeats: bool


class NewTree(NamedTuple):
    """Which tree of a forest is grown, and by which plan.

    Attributes
    ----------
    index : int
    seed : int
        Its `random_state`.
    plan : Plan
    """

    index: int
    seed: int
    plan: Plan


def make_plans(templates, table, total, left_out, count_repeats):
    """Make a plan for each of the trees that take turns.

    Parameters
    ----------
    templates : list of ConfidenceTreeClassifier
        With parameters and what follows from them; get all that their trees share.
    table : TrainingTable
    total : tuple of (float, bool)
        Weight of a sample, and whether it is one of relative weights.
    left_out : ndarray of shape (n_features,), bool, or None
    count_repeats : bool

    Returns
    -------
    list of Plan
    """
    tables, plans = {}, []
    for one in templates:
        settings = one._settings(one.bound_, one.criterion_, table.features, *total)
        one._become(table.classes, table.features, settings)
        with_pool = table.X_pool is not None and settings.uses_pool
        if with_pool not in tables:
            tables[with_pool] = Table(table, settings)
        after = (
            one.pruning_,
            one.pruning_confidence_,
            resolve_shrinkage(one.shrinkage, one.bound_),
        )
        plans.append(Plan(tables[with_pool], settings, left_out, *after, count_repeats))
    return plans


def grow_trees(sampler, new_trees, *, by_sample, n_jobs, verbose):
    """Grow trees.

    Parameters
    ----------
    sampler : Sampler or None
        None: every tree sees all rows.
    new_trees : list of NewTree
    by_sample : bool
        Weigh the classes by their weight in the sample of each tree.
    n_jobs, verbose
        As of joblib.

    Returns
    -------
    list of Tree
    """
    n_workers = effective_n_jobs(n_jobs)
    n_tasks = 1 if n_workers == 1 else TASKS_PER_JOB * n_workers
    n_parts = min(n_tasks, max(len(new_trees), 1))
    parts = np.array_split(np.arange(len(new_trees)), n_parts)
    # The work is done without the GIL, and threads share the encoded table. That is no
    # more than a preference: what the trees are does not depend on it.
    grown = Parallel(n_jobs=n_jobs, verbose=verbose, prefer="threads")(
        delayed(_grow_batch)(sampler, [new_trees[i] for i in part], by_sample, verbose)
        for part in parts
    )
    return [tree for batch in grown for tree in batch]


def _grow_batch(sampler, new_trees, by_sample, verbose):
    trees = []
    random = np.random.RandomState(0)  # seeding one is faster than making many
    for new in new_trees:
        if verbose > 1:
            print(f"growing tree {new.index + 1}")
        trees.append(grow_tree(sampler, new, by_sample, random))
    return trees


def grow_tree(sampler, new, by_sample=False, random=None):
    """Grow one tree.

    Parameters
    ----------
    sampler : Sampler or None
    new : NewTree
    by_sample : bool, default=False
    random : RandomState or None
        To be seeded anew; None: one is made.

    Returns
    -------
    Tree
    """
    random = np.random.RandomState() if random is None else random
    random.seed(new.seed)
    plan = new.plan
    table, data = plan.table, plan.table.data
    counts = None if sampler is None else sampler.counts(new.index, table.n_pool)
    distinct = None
    if not (sampler is None or plan.count_repeats or plan.settings.bound is None):
        distinct = sampler.distinct_weights(counts)
    if by_sample:
        data = copy.copy(data)
        data.class_weight = _balanced(data.sample(counts).class_counts)
    tree = grow(
        data,
        counts,
        plan.settings,
        # as ConfidenceTreeClassifier does with its random_state
        random.randint(2**31 - 1),
        left_out=plan.left_out,
        distinct=distinct,
    )
    rows = SampleOf(table.rows, sampler, new.index)
    rows.criterion, rows.bound = plan.settings.criterion, plan.settings.bound
    tree = prune(tree, plan.pruning, plan.pruning_confidence, rows)
    tree.shrunk_by(plan.shrinkage)
    return tree


def _balanced(class_counts):
    # A class that is not in the sample has any weight.
    present = class_counts > 0.0
    weights = np.ones(len(class_counts))
    total = class_counts.sum()
    weights[present] = total / (np.count_nonzero(present) * class_counts[present])
    return weights
