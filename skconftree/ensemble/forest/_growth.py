"""Growth of a forest from the arguments of `fit` and `partial_fit`.

*Resolved* parameters have values instead of "auto" and None; a `Plan` has those with
which a tree is grown. A bound is a split rule; the *pool* consists of unlabeled rows,
from which some bounds compute the weights of branches. A `TreeModel` is a fitted tree.
It `grows` if it learns row by row; its *grower* trains it. A *template* is a tree as an
unfitted estimator. A `schema` has the names, types and categories of the columns.
`finite` is whether rows have no missing values, and `relative` whether sample weights
do not stand for numbers of rows. The `rate` is how often a tree learns a row of a
stream, on average.
"""

import threading
from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.metrics import accuracy_score
from sklearn.utils.parallel import Parallel, delayed

from ...tables._growth_data import SampledData
from ...tables._sparse import blocks, take_rows
from ...tree import ConfidenceTreeClassifier
from ...tree._growth import (
    TableRequest,
    find_identifying,
    make_fitted_grower,
    make_stream_model,
    needs_leaf_rows,
    number_of_bins,
)
from ...tree._model import TreeModel
from ...tree._monotonic import resolve_monotonic_cst
from ...tree._parameters import (
    Plan,
    requested_pruning,
    resolve_settings,
    resolve_shrinkage,
    resolve_split_rule,
    tree_defaults,
)
from ...tree._progress import N_PROGRESS_STEPS
from ...tree.nodes._row_index import find_leaves
from ...tree.pruning._registry import resolve_pruning
from ...utils._warnings import warn
from .._base import TASKS_PER_JOB
from .._bootstrap import tree_seed
from ._importances import unbiased_importances
from ._model import (
    DrawnRows,
    ForestModel,
    OutOfBag,
    Sampler,
    number_of_draws,
    tree_parameters,
    trees_to_keep,
)
from ._voting import add_votes


class SharedTable:
    """Rows from which trees are grown, encoded once per process.

    In an encoded table, values are replaced by integers, their ranks or bins.
    """

    def __init__(self, rows, settings, n_bins):
        self.rows, self.settings, self.n_bins = rows, settings, n_bins
        self._data = None
        self._lock = threading.Lock()

    def __reduce__(self):
        return SharedTable, (self.rows, self.settings, self.n_bins)

    @property
    def data(self):
        """The encoded table, shared by all threads."""
        with self._lock:
            if self._data is None:
                self._data = self.rows.encode(self.settings, self.n_bins)
            return self._data

    @property
    def n_pool(self):
        """Number of unlabeled rows."""
        return len(self.data.y) - len(self.rows.y)


def rows_of_sample(table, sampler, tree):
    """Return the distinct rows of a tree's sample, with their labels and weights.

    `tree` is its index. `sampler` draws the samples; None: each tree has all rows.
    """
    if sampler is None:
        return table.rows
    counts = sampler.counts(tree).astype(np.float64)
    drawn = counts > 0.0
    return take_rows(table.X, drawn), table.y[drawn], counts[drawn]


class NewTree(NamedTuple):
    """A tree to grow: its index in the forest, `random_state`, table and plan."""

    index: int
    seed: int
    table: SharedTable
    plan: Plan


def grow_trees(
    sampler, new_trees, *, count_repeats, by_sample, n_jobs, verbose, progress, model_of
):
    """Grow trees. If a callback stops the fit, return the trees grown so far.

    `count_repeats` is whether the bound counts a row as often as it was drawn, and
    `by_sample` whether class weights are computed from the sample of each tree.
    `progress` reports to the callbacks of scikit-learn, which get the model that
    `model_of` makes of the trees grown so far.
    """
    n_workers = effective_n_jobs(n_jobs)
    n_tasks = 1 if n_workers == 1 else TASKS_PER_JOB * n_workers
    n_steps = min(
        N_PROGRESS_STEPS if progress.reports_steps else 1, max(len(new_trees), 1)
    )
    progress.start(n_steps, "batch of trees")
    grown = []
    # Threads are preferred because growth releases the GIL and they share the encoded
    # table. The result does not depend on the backend.
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
            if progress.step(partial(model_of, grown)):
                break
    return grown


def _grow_batch(sampler, new_trees, count_repeats, by_sample, verbose):
    trees = []
    random = np.random.RandomState(0)  # seeding it again is faster than creating others
    for new in new_trees:
        if verbose > 1:
            print(f"growing tree {new.index + 1}")
        trees.append(_grow_tree(sampler, new, count_repeats, by_sample, random))
    return trees


def _grow_tree(sampler, new, count_repeats, by_sample, random):
    random.seed(new.seed)
    table, data = new.table, new.table.data
    counts = None if sampler is None else sampler.counts(new.index, table.n_pool)
    # if repeated rows do not count, the bound uses the weights of distinct rows
    distinct = None
    if not (sampler is None or count_repeats or new.plan.settings.bound is None):
        distinct = sampler.distinct_weights(counts)
    sample = data.sample(counts, distinct)
    class_weight = data.class_weight
    if by_sample:
        class_weight = _balanced(sample.class_counts)
    grown = new.plan.grow(
        SampledData(data, sample, class_weight),
        # as ConfidenceTreeClassifier derives it from its random_state
        random.randint(2**31 - 1),
        # some prunings read the rows
        lambda: rows_of_sample(table.rows, sampler, new.index),
    )
    return grown.tree


def _balanced(class_counts):
    # Return balanced class weights. A class that is not in the sample has weight 1.
    present = class_counts > 0.0
    weights = np.ones(len(class_counts))
    total = class_counts.sum()
    weights[present] = total / (np.count_nonzero(present) * class_counts[present])
    return weights


TREES_PER_BATCH = 32  # number of trees whose out-of-bag rows are in memory at a time


def out_of_bag_proba(forest, model, X, finite):
    """Mean class proportions over the trees whose sample does not contain the row.

    They are NaN for a row that is in all samples.
    """
    n_rows = X.shape[0]
    X = X if isinstance(X, np.ndarray) else X.tocsr()
    votes = np.zeros((n_rows, len(model.classes)))
    n_votes = np.zeros(n_rows)
    sampler, trees = model.sampler, [member.tree for member in model.trees]
    values = [tree.proba for tree in trees]
    for first in range(0, len(trees), TREES_PER_BATCH):
        batch = slice(first, first + TREES_PER_BATCH)
        absent = [sampler.counts(first + i) == 0 for i in range(len(trees[batch]))]
        for mask in absent:
            n_votes += mask

        def add(rows, batch=batch, absent=absent):
            masks = [mask[rows] for mask in absent]
            for part, block in blocks(X[rows]):  # dense blocks of rows
                add_votes(
                    trees[batch],
                    values[batch],
                    block,
                    finite,
                    votes[rows][part],
                    [mask[part] for mask in masks],
                )

        forest._in_parallel(add, n_rows, len(trees))
    with np.errstate(invalid="ignore"):
        return votes / n_votes[:, np.newaxis]


def out_of_bag_importances(forest, model, sample, sizes, finite):
    """Unbiased importances of the features: the mean over the trees.

    They are NaN if no tree has out-of-bag rows. `sample` has one row per group of equal
    rows, and `sizes` has the number of rows of each group.
    """
    X = sample.X if isinstance(sample.X, np.ndarray) else sample.X.tocsr()
    sampler, trees = model.sampler, [member.tree for member in model.trees]

    def measure(part):
        return [
            unbiased_importances(
                trees[i],
                find_leaves(trees[i], X, finite),
                sample.y,
                sampler.out_of_bag_weights(sampler.counts(i), sizes),
            )
            for i in range(*part.indices(len(trees)))
        ]

    parts = forest._in_parallel(measure, len(trees), X.shape[0])
    known = [values for part in parts for values in part if values is not None]
    if not known:
        return np.full(X.shape[1], np.nan)
    return np.mean(known, axis=0)


class ForestGrowth(NamedTuple):
    """Parameters that are resolved before the table is read.

    `request` has the options with which the table is read. `retained` are the existing
    trees of a warm start, which are not grown again. `parameters`, `split_rules` and
    `prunings` have one element per bound: the bounds of a list are assigned to the
    trees in turn.
    """

    forest: object
    request: TableRequest
    retained: list
    parameters: list
    split_rules: list
    prunings: list

    @classmethod
    def of(cls, forest):
        """Resolve the parameters of a forest, or raise an error."""
        retained = trees_to_keep(forest)
        parameters = tree_parameters(forest)
        split_rules = _split_rules(forest, parameters)
        # `requested_pruning` also considers `ccp_alpha`; `tree_defaults` has the values
        # that "auto" stands for with this bound
        prunings = [
            resolve_pruning(requested_pruning(forest), tree_defaults(bound))
            for bound, _ in split_rules
        ]
        before = forest._model
        request = TableRequest(
            type(forest).__name__,
            forest.categorical_features,
            parameters[0]["class_weight"],
            forest.sample_weight_kind,
            known=(before.schema, before.classes) if retained else None,
        )
        return cls(forest, request, retained, parameters, split_rules, prunings)

    def grow(self, table, progress):
        """Grow the model of a forest from a table; report `progress` to callbacks."""
        forest, _, retained, parameters, split_rules, prunings = self
        table = table._replace(y=table.y.astype(np.uint16))
        seed = forest._model.seed if retained else forest._draw_seed()
        # mask of columns that identify rows, such as names, which splits do not use
        left_out = find_identifying(table)
        sampler, order, sample, total = _make_sampler(forest, table, seed)
        drawn = _drawn_rows(table, None if sampler is None else order)
        tables, plans = {}, []  # tables with and without the pool; a plan per bound
        monotonic_cst = resolve_monotonic_cst(forest, table.schema, table.classes)
        for template, (bound, criterion), pruning in zip(
            parameters, split_rules, prunings, strict=True
        ):
            settings = resolve_settings(
                ConfidenceTreeClassifier(**template),
                bound,
                criterion,
                table.schema,
                total,
                table.relative and sampler is None,
                monotonic_cst=monotonic_cst,
                in_forest=True,
            )
            with_pool = table.X_pool is not None and settings.uses_pool
            if with_pool not in tables:
                n_bins = 0
                if forest.max_bins is not None:
                    n_bins = number_of_bins(table, settings, forest.max_bins)
                tables[with_pool] = SharedTable(sample, settings, n_bins)
            shrinkage = resolve_shrinkage(forest.shrinkage, tree_defaults(bound))
            plan = Plan(settings, pruning, shrinkage, left_out=left_out)
            plans.append((tables[with_pool], plan))
        n_bounds = len(plans)
        new_trees = [
            NewTree(index, tree_seed(seed, index), *plans[index % n_bounds])
            for index in range(len(retained), forest.n_estimators)
        ]

        rate = _rate(forest)

        def model_of(grown):
            trees = [
                _model_of_tree(
                    parameters[new.index % n_bounds], sample, sampler, new, tree, rate
                )
                for new, tree in zip(new_trees, grown, strict=False)
            ]
            return ForestModel(
                table.schema,
                table.classes,
                seed,
                parameters,
                [plan.resolved for _, plan in plans],
                retained + trees,
                len(table.y),
                listed=isinstance(forest.bound, list | tuple),  # a list of bounds
                sampler=sampler,
                drawn=drawn,
            )

        grown = grow_trees(
            sampler,
            new_trees,
            count_repeats=forest.count_repeats,
            by_sample=forest.class_weight == "balanced_subsample",
            n_jobs=forest.n_jobs,
            verbose=forest.verbose,
            progress=progress,
            model_of=model_of,
        )
        model = model_of(grown)
        if forest.oob_score:
            model.out_of_bag = _out_of_bag(forest, model, table, order, sample)
        return model


def _rate(forest):
    return forest.online_rate if forest.bootstrap else 1.0


def _make_sampler(forest, table, seed):
    # Returns the sampler, or None without bootstrap; the order of the rows by their
    # content, which groups equal rows, or None; the rows to draw from, in that order,
    # with the weights that trees use; and the weight of a sample. In `order`,
    # `row_indices` are the sorted rows, `starts` the indices in this array of the first
    # row of each group, and `ends` the cumulative weights of the groups.
    weight, order, total = table.weight, None, table.total
    if forest.bootstrap or weight is None or (weight == np.rint(weight)).all():
        order = table.content_order()
    if not forest.bootstrap:
        if order is not None:
            weight = None if weight is None else weight[order.row_indices]
            table = table.at(order.row_indices, weight)
        return None, order, table, total
    n_draws = number_of_draws(forest.max_samples, order.total)
    first = order.row_indices[order.starts]
    sampler = Sampler(order.ends, n_draws, seed)
    return sampler, order, table.at(first), float(n_draws)


def _drawn_rows(table, order):
    # The input rows that samples are drawn from, and where groups of equal rows start.
    rows = np.arange(table.n_input_rows, dtype=np.int32)[table.row_indices]
    if order is None:
        return DrawnRows(rows, starts=None)
    distinct = len(order.starts) == len(rows)
    starts = None if distinct else order.starts.astype(np.int32)
    return DrawnRows(rows[order.row_indices], starts)


def _model_of_tree(parameters, table, sampler, new, tree, rate):
    # The model does not store the rows of the sample; the root has their number. If
    # leaves need statistics of the rows, for example for naive Bayes, a grower has
    # them.
    template = ConfidenceTreeClassifier(**parameters | {"random_state": new.seed})
    grower = None
    if needs_leaf_rows(template):
        X, y, weight = rows_of_sample(table, sampler, new.index)
        sample = table._replace(X=X, y=y, weight=weight)
        grower = make_fitted_grower(
            template, new.plan.settings, tree, sample, in_forest=True, rate=rate
        )
    return TreeModel(
        table.schema,
        table.classes,
        new.plan.resolved,
        tree,
        tree._rows_of_root(),
        grower=grower,
        # leaves use naive Bayes only after its evaluation on rows of partial_fit
        waits=template.leaf_prediction == "auto",
    )


def _out_of_bag(forest, model, table, order, sample):
    sizes = model.sampler.weights  # rows in each group of equal rows
    if table.relative:  # weights are not numbers of rows
        sizes = np.diff(order.starts, append=len(order.row_indices)).astype(np.float64)
    importances = out_of_bag_importances(forest, model, sample, sizes, table.finite)
    proba = out_of_bag_proba(forest, model, sample.X, table.finite)
    proba = proba[order.group_of_rows()]
    known = ~np.isnan(proba[:, 0])
    n_unknown = len(known) - np.count_nonzero(known)
    if n_unknown:
        warn(
            f"{n_unknown} of {len(table.y)} rows are in the samples of all trees and "
            "have no out-of-bag prediction. Increase n_estimators."
        )
    classes, score = table.classes.names, float("nan")
    if known.any():
        true = classes.take(table.y[known])
        predicted = classes.take(proba[known].argmax(axis=1))
        if callable(forest.oob_score):
            score = forest.oob_score(true, predicted)
        else:
            weight = None if table.weight is None else table.weight[known]
            score = float(accuracy_score(true, predicted, sample_weight=weight))
    expanded = np.full((table.n_input_rows, len(classes)), np.nan)
    expanded[table.row_indices] = proba
    return OutOfBag(score, expanded, importances)


def make_stream_forest(forest, call):
    """Make a forest model that learns row by row, empty or from a fitted model.

    `call` has the validated arguments of `partial_fit`: the rows, classes and pool.
    """
    before = forest._model
    if before is None:
        seed, parameters = forest._draw_seed(), tree_parameters(forest)
        split_rules = _split_rules(forest, parameters)
        trees, n_rows = [None] * forest.n_estimators, 0
    else:
        seed, parameters, trees = before.seed, before.parameters, before.trees
        # None: an existing tree keeps its split rule
        split_rules, n_rows = [None], before.n_rows_seen
    if forest.max_bytes is not None:
        share = {"max_bytes": forest.max_bytes // len(trees)}
        parameters = [of_bound | share for of_bound in parameters]
    rate = _rate(forest)
    grown = []
    for index, tree in enumerate(trees):
        if tree is not None and tree.grows:
            if call.X_pool is not None:
                raise ValueError(
                    "X_pool can only be passed to the first call of partial_fit. "
                    "Omit it in later calls."
                )
            grown.append(tree)
            continue
        template = ConfidenceTreeClassifier(
            **parameters[index % len(parameters)]
            | {"random_state": tree_seed(seed, index)}
        )
        split_rule = split_rules[index % len(split_rules)]
        grown.append(
            make_stream_model(
                template, tree, call, split_rule, in_forest=True, rate=rate
            )
        )
    first = grown[0].resolved
    if before is None:
        resolved = [
            first._replace(bound=bound, criterion=criterion)
            for bound, criterion in split_rules
        ]
    else:
        resolved = [
            resolved._replace(max_features=first.max_features)
            for resolved in before.resolved
        ]
    return ForestModel(
        call.rows.schema,
        call.classes,
        seed,
        parameters,
        resolved,
        grown,
        n_rows,
        listed=isinstance(forest.bound, list | tuple),  # a list of bounds
        # number of correct predictions and of rows per tree, with exponential decay
        records=np.zeros((len(grown), 2)),
    )


def _split_rules(forest, parameters):
    # Return a resolved bound and criterion for each set of tree parameters.
    caller = type(forest).__name__
    return [
        resolve_split_rule(of_bound["bound"], forest.criterion, forest.delta, caller)
        for of_bound in parameters
    ]
