"""Growing many trees from one table, side by side."""

import copy
import threading
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from ..tables._sparse import take_rows
from ..tables._training_data import TrainingData
from ..tree._settings import GrowthSettings
from ..tree.batch._grow import grow
from ..tree.pruning._registry import prune

TASKS_PER_JOB = 4  # batches of trees: the last ones end at about the same time


class Table:
    """Rows that trees are grown from, encoded once in each process that grows some.

    Parameters
    ----------
    X, y, n_classes, **options
        As of `TrainingData`.
    """

    def __init__(self, X, y, n_classes, **options):
        self.X, self.y, self.n_classes, self.options = X, y, n_classes, options
        self._data = None
        self._lock = threading.Lock()

    def __reduce__(self):
        return _make_table, (self.X, self.y, self.n_classes, self.options)

    @property
    def data(self):
        """The encoded table, for all threads."""
        with self._lock:
            if self._data is None:
                self._data = TrainingData(
                    self.X, self.y, self.n_classes, **self.options
                )
            return self._data

    @property
    def n_pool(self):
        """Number of rows without label."""
        pool = self.options["X_pool"]
        return 0 if pool is None else pool.shape[0]


def _make_table(X, y, n_classes, options):
    return Table(X, y, n_classes, **options)


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
    """

    table: Table
    settings: GrowthSettings
    left_out: np.ndarray | None
    pruning: str | None
    pruning_confidence: float | None


class TreeOrder(NamedTuple):
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


def make_plans(
    templates, X, y, sample_weight, *, X_pool, features, class_weight, total, left_out
):
    """Make a plan for each of the trees that take turns.

    Parameters
    ----------
    templates : list of ConfidenceTreeClassifier
        With parameters and what follows from them, without a tree.
    X, y, sample_weight, X_pool, features
        Rows as arrays, and what their columns are.
    class_weight : ndarray of shape (n_classes,) or None
    total : tuple of (float, bool)
        Weight of a sample, and whether it is one of relative weights.
    left_out : ndarray of shape (n_features,), bool, or None

    Returns
    -------
    list of Plan
    """
    tables, plans = {}, []
    for one in templates:
        settings = one._settings(*total)
        with_pool = X_pool is not None and settings.uses_pool
        if with_pool not in tables:
            tables[with_pool] = Table(
                X,
                y,
                one.n_classes_,
                sample_weight=sample_weight,
                class_weight=class_weight,
                X_pool=X_pool if with_pool else None,
                n_categories=None if features is None else features.n_categories,
            )
        plans.append(
            Plan(
                tables[with_pool],
                settings,
                left_out,
                one.pruning_,
                one.pruning_confidence_,
            )
        )
    return plans


def grow_trees(sampler, orders, *, by_sample, n_jobs, verbose):
    """Grow trees.

    Parameters
    ----------
    sampler : Sampler or None
        None: every tree sees all rows.
    orders : list of TreeOrder
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
    parts = np.array_split(np.arange(len(orders)), min(n_tasks, max(len(orders), 1)))
    # The work is done without the GIL, and threads share the encoded table. That is no
    # more than a preference: what the trees are does not depend on it.
    grown = Parallel(n_jobs=n_jobs, verbose=verbose, prefer="threads")(
        delayed(_grow_batch)(sampler, [orders[i] for i in part], by_sample, verbose)
        for part in parts
    )
    return [tree for batch in grown for tree in batch]


def _grow_batch(sampler, orders, by_sample, verbose):
    trees = []
    for order in orders:
        if verbose > 1:
            print(f"growing tree {order.index + 1}")
        trees.append(grow_tree(sampler, order, by_sample))
    return trees


def grow_tree(sampler, order, by_sample=False):
    """Grow one tree.

    Parameters
    ----------
    sampler : Sampler or None
    order : TreeOrder
    by_sample : bool, default=False

    Returns
    -------
    Tree
    """
    plan = order.plan
    table, data = plan.table, plan.table.data
    counts = None if sampler is None else sampler.counts(order.index, table.n_pool)
    if by_sample:
        data = copy.copy(data)
        data.class_weight = _balanced(data.sample(counts).class_counts)
    tree = grow(
        data,
        counts,
        plan.settings,
        # as ConfidenceTreeClassifier does with its random_state
        check_random_state(order.seed).randint(2**31 - 1),
        left_out=plan.left_out,
    )
    rows = _LazyRows(table, counts, plan.settings)
    return prune(tree, plan.pruning, plan.pruning_confidence, rows)


def _balanced(class_counts):
    # A class that is not in the sample has any weight.
    present = class_counts > 0.0
    weights = np.ones(len(class_counts))
    total = class_counts.sum()
    weights[present] = total / (np.count_nonzero(present) * class_counts[present])
    return weights


class _LazyRows:
    """The rows of a tree's sample, for the few prunings that look at them."""

    def __init__(self, table, counts, settings):
        self._table, self._counts = table, counts
        self.criterion, self.bound = settings.criterion, settings.bound
        self._rows = None

    def _taken(self):
        if self._rows is None:
            table = self._table
            self._rows = rows_of_sample(
                table.X, table.y, table.options["sample_weight"], self._counts
            )
        return self._rows

    @property
    def X(self):
        return self._taken()[0]

    @property
    def y(self):
        return self._taken()[1]

    @property
    def sample_weight(self):
        return self._taken()[2]


def rows_of_sample(X, y, weight, counts):
    """The labelled rows of a sample, without those that are absent.

    Parameters
    ----------
    X : ndarray or sparse of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
    counts : ndarray, of `Sampler.counts`, or None

    Returns
    -------
    X, y, weight
    """
    if counts is None:
        return X, y, weight
    counts = counts[: len(y)].astype(np.float64)
    kept = counts > 0.0
    return take_rows(X, kept), y[kept], counts[kept]
