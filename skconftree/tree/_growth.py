"""Build models from the arguments of `fit` and `partial_fit`.

A *bound* is the split rule of a tree. A *grower* trains a tree row by row, and a
*recipe* (stream/_state.py) has the arguments from which a grower is made. The *pool*,
`X_pool`, consists of unlabeled rows, from which some bounds compute the weights of
branches; others use the volume of a leaf's *box*, its limits in feature space. A model
`grows` if it learns row by row. A *schema* has the names, types and categories of the
columns. *Look-ahead* compares the splits of a node by the pruned subtrees that can be
grown below them. A *cautious* bound needs many rows for a first split. An *index*
(_row_index.py) has the rows of a table by leaf.
"""

from functools import wraps
from itertools import compress
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..bounds import GTestBound, TreeDefaults
from ..bounds._registry import BOUNDS
from ..drift import LocalRepair  # replaces subtrees after a drift
from ..tables._columns import DATES, look_like_dates
from ..tables._content_order import ContentOrder, hash_rows
from ..tables._features import identifying
from ..tables._growth_data import (
    LARGEST,
    MIN_EFFECTIVE_SHARE,
    MemoryData,
    resolve_class_weight,
    rows_with_weight,
    warn_of_no_split,
)
from ..tables._labels import Classes, read_classes
from ..tables._row_hashes import Rows
from ..tables._schema import Schema, as_dense
from ..tables._sparse import rows_at, take_rows
from ..utils._lock import learns  # locks the estimator
from ..utils._team import ThreadTeam, number_of_threads
from ..utils._types import Method
from ..utils._warnings import warn, warn_once_per_ensemble
from ._model import TreeModel
from ._monotonic import resolve_monotonic_cst
from ._parameters import (
    Plan,  # resolved parameters, with which a tree is grown and pruned
    draw_seed,
    requested_pruning,
    resolve_lookahead,
    resolve_settings,
    resolve_shrinkage,
    resolve_split_rule,
    tree_defaults,
)
from .pruning._registry import resolve_pruning
from .stream._make_grower import make_grower_with_rows
from .stream._state import Recipe, box_of_tables


class TableRequest(NamedTuple):
    """How `fit` reads a table.

    `caller` is the name of the estimator, for errors. `known` has the schema and the
    classes of the existing trees of a warm start.
    """

    caller: str
    categorical_features: object
    class_weight: object
    sample_weight_kind: str
    known: tuple[Schema, Classes] | None = None


class TrainingTable(NamedTuple):
    """Training rows of trees in memory; none of them has weight 0.

    `y` has indices of `classes`. Weights are frequencies; `relative` is whether only
    the ratios of the passed weights matter. `finite` is whether the input has no NaN.
    `row_indices` are the indices of the rows in the input, which has `n_input_rows`
    rows.
    """

    X: object
    y: np.ndarray
    weight: np.ndarray | None
    finite: bool
    relative: bool
    X_pool: object
    schema: Schema
    classes: Classes
    class_weight: np.ndarray | None
    row_indices: np.ndarray | slice
    n_input_rows: int

    @property
    def total(self):
        """Weight of all rows."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def rows(self):
        """The rows, their class indices, and their weights."""
        return self.X, self.y, self.weight

    @property
    def is_sparse(self):
        """Whether the rows are those of a sparse table."""
        return issparse(self.X)

    def content_order(self):
        """The order of rows by content, so that samples do not depend on their order.

        Requires 16-bit integers in `y`.
        """
        return ContentOrder(*hash_rows(self.X, self.y), self.weight)

    def at(self, row_indices, weight=None):
        """The rows at these indices, in their order, with new weights."""
        return self._replace(
            X=rows_at(self.X, row_indices), y=self.y[row_indices], weight=weight
        )

    def identifying(self):
        """Mask of nominal columns in which most rows have a unique category."""
        return identifying(self.X, self.schema.features, self.weight)

    def integer_columns(self, columns, data):
        """Which of the columns have only integers, apart from missing values."""
        if issparse(self.X):
            cells = self.X.tocoo(copy=False)
            has_fraction = np.floor(cells.data) < cells.data
            return sorted(columns.difference(cells.col[has_fraction].tolist()))
        values = {} if self.X_pool is not None else data.distinct_values(columns)
        integers = [j for j, v in values.items() if not (np.floor(v) < v).any()]
        columns = sorted(columns.difference(values))
        begin, size = 0, 64  # most other columns have a fraction in their first rows
        while columns and begin < len(self.X):
            part = self.X[begin : begin + size, columns]
            has_fraction = (np.floor(part) < part).any(axis=0)
            columns = list(compress(columns, ~has_fraction))
            begin, size = begin + size, 4096
        return sorted(columns + integers)

    def encode(self, settings, n_bins=0, thread_team=None):
        """Encode the table, in bins unless `n_bins` is 0.

        The threads of `thread_team` divide the columns among themselves.
        """
        features = self.schema.features
        return MemoryData(
            self.X,
            self.y,
            len(self.classes.names),
            sample_weight=self.weight,
            class_weight=self.class_weight,
            X_pool=self.X_pool if settings.uses_pool else None,
            n_categories=None if features is None else features.n_categories,
            max_bins=n_bins,
            thread_team=thread_team,
        )


def number_of_bins(table, settings, max_bins):
    """Return the number of bins per feature, or warn and return 0 if none are used."""
    if table.is_sparse:
        why = "X is sparse"
    elif settings.random_cuts:
        why = "splitter='random' draws thresholds at random"
    elif settings.uses_pool and table.X_pool is not None:
        why = "the bound weighs the rows of X_pool"
    else:
        return max_bins
    warn(f"max_bins={max_bins} has no effect: {why}, and every value is examined.")
    return 0


def read_training(X, y, sample_weight, X_pool, request):
    """Read and validate the arguments of `fit` for a `TableRequest`."""
    caller, categorical_features, class_weight, sample_weight_kind, known = request
    known_schema, known_classes = (None, None) if known is None else known
    if known is None:
        X, finite, schema = Schema.first(X, caller, categorical_features)
    else:
        X, finite, schema = known_schema.more(X, caller)
    y = read_classes(y, X, caller)
    n_input_rows = len(y)
    X, row_indices, weight, relative = rows_with_weight(
        X, np.arange(n_input_rows), sample_weight, sample_weight_kind
    )
    y = y if len(row_indices) == n_input_rows else y[row_indices]
    classes, y = Classes.of(y)
    if known is not None and not np.array_equal(classes.names, known_classes.names):
        raise ValueError(
            f"y has the classes {classes.names!r}, but the existing trees have "
            f"{known_classes.names!r}. With warm_start=True they must be equal."
        )
    class_weight = resolve_class_weight(class_weight, classes.names, y, weight)
    if class_weight is not None and not class_weight.all():
        has_weight = class_weight[y] > 0.0
        X, y, row_indices = (
            take_rows(X, has_weight),
            y[has_weight],
            row_indices[has_weight],
        )
        weight = None if weight is None else weight[has_weight]
        if not len(y):
            raise ValueError(
                "All rows belong to classes of class_weight 0. Pass a positive weight "
                "for at least one class of y."
            )
    # rows whose categories are kept; None: all, and no code changes. `in_order`: new
    # categories get codes in the order of the rows
    learned = slice(None) if len(y) < n_input_rows else None
    schema = schema.keep_learned(
        X, known_schema, learned, weight, in_order=known is not None
    )
    if known is not None and schema is not known_schema:
        raise ValueError(
            "X has categories that the existing trees were not trained on. With "
            "warm_start=True all trees must be trained on the same rows."
        )
    if X_pool is not None:
        X_pool = schema.predict(X_pool, caller).X  # read as rows to predict
    return TrainingTable(
        X,
        y,
        weight,
        finite,
        relative,
        X_pool,
        schema,
        classes,
        class_weight,
        row_indices if len(y) < n_input_rows else slice(None),
        n_input_rows,
    )


def find_identifying(table, *, warns=True):
    """Find nominal columns that identify rows, such as names, and warn about them."""
    features = table.schema.features
    if features is None:  # no nominal columns
        return None
    left_out = table.identifying()
    if warns and left_out.any():
        names = table.schema.columns
        named = ", ".join(repr(names[j]) for j in np.flatnonzero(left_out))
        columns = "column" if left_out.sum() == 1 else "columns"
        categories = features.categories
        dated = [
            repr(names[j])
            for j in np.flatnonzero(left_out)
            if look_like_dates(categories[j])
        ]
        hint = f" Dates may be in {', '.join(dated)}. {DATES}" if dated else ""
        warn(
            f"No split uses {columns} {named}: more than half of the rows have a "
            f"unique category there, which no new row has.{hint}"
        )
    return left_out


# Numbers of values of a table from which threads are faster. The number is smaller with
# look-ahead, which reads each value many times.
MIN_THREAD_VALUES, MIN_THREAD_VALUES_LOOKAHEAD = 262_144, 32_768


def team_for(table, n_jobs, lookahead):
    """Make a team of threads, or None. The tree is the same with or without it."""
    min_values = MIN_THREAD_VALUES if lookahead is None else MIN_THREAD_VALUES_LOOKAHEAD
    n_values = len(table.y) * table.schema.n_features
    is_too_small = n_values < min_values or table.is_sparse
    if is_too_small and n_jobs != 0:  # joblib, which raises an error for 0, is slow
        return None
    n_threads = number_of_threads(n_jobs)
    return None if n_threads == 1 else ThreadTeam(n_threads)


WEIGHTS_OF_ALL_ROWS = ("balanced", "balanced_subsample")  # values of `class_weight`


class TreeGrowth(NamedTuple):
    """Parameters of a tree that are resolved before its table is read."""

    estimator: object
    request: TableRequest
    bound: object
    criterion: str
    defaults: TreeDefaults  # meaning of "auto" with the bound
    pruning: object

    @classmethod
    def of(cls, estimator):
        """Resolve the parameters, or raise."""
        request = TableRequest(
            type(estimator).__name__,
            estimator.categorical_features,
            estimator.class_weight,
            estimator.sample_weight_kind,
        )
        bound, criterion = resolve_split_rule(
            estimator.bound, estimator.criterion, estimator.delta, request.caller
        )
        defaults = tree_defaults(bound)
        pruning = resolve_pruning(requested_pruning(estimator), defaults)
        return cls(estimator, request, bound, criterion, defaults, pruning)

    def grow(self, table, progress=None, *, keeps_rows=False):
        """Grow the model of a tree from a table, and report progress.

        Without `progress`, the table has the early rows of a stream: the first ones,
        which `partial_fit` stores to grow the tree again (`refit_rows`). There are then
        no warnings, and the model has its own lock. With `keeps_rows`, the leaves of
        the model store statistics of the rows.
        """
        is_early = progress is None
        estimator, _, bound, criterion, defaults, pruning = self
        schema, total, n_rows = table.schema, table.total, len(table.y)
        settings = resolve_settings(
            estimator,
            bound,
            criterion,
            schema,
            total,
            table.relative,
            monotonic_cst=resolve_monotonic_cst(estimator, schema, table.classes),
        )
        lookahead, pruning = resolve_lookahead(
            estimator, defaults, pruning, settings, schema, total, n_rows
        )
        shrinkage = resolve_shrinkage(estimator.shrinkage, defaults)
        left_out = find_identifying(table, warns=not is_early)
        if not is_early:  # the same look-ahead, which reports its progress
            lookahead = progress.start_lookahead(lookahead, n_rows * schema.n_features)
        plan = Plan(
            settings,
            pruning,
            shrinkage,
            lookahead,
            left_out,
            keeps_stops=True,  # the tree stores why each leaf was not split
            # leaves of weak splits that predict the same class
            merges=requested_pruning(estimator) == "auto" and pruning is not None,
        )
        seed = check_random_state(estimator.random_state).randint(2**31 - 1)
        n_bins = 0
        if estimator.max_bins is not None:
            n_bins = number_of_bins(table, settings, estimator.max_bins)
        thread_team = team_for(table, estimator.n_jobs, lookahead)
        data = table.encode(settings, n_bins, thread_team)
        tree, n_pruned = plan.grow(
            data,
            seed,
            lambda: table.rows,  # called if the pruning routes them
            consumes=True,  # the data are not used again
            thread_team=thread_team,
        )
        grower = None
        if keeps_rows or needs_leaf_rows(estimator):
            grower = make_fitted_grower(estimator, settings, tree, table)
        # thresholds between integers are integers or half-integers
        halves = tree._features_at_halves()
        if halves:
            schema = schema._replace(whole=tuple(table.integer_columns(halves, data)))
        # `taken_back`: splits removed by pruning; `waits`: leaves use naive Bayes only
        # after further rows
        model = TreeModel(
            schema,
            table.classes,
            plan.resolved._replace(taken_back=n_pruned),
            tree,
            n_rows,
            grower=grower,
            waits=estimator.leaf_prediction == "auto",
            owner=None if is_early else estimator,
        )
        if is_early:
            return model
        # a single leaf, although there are several classes; the total of relative
        # weights is the effective number of rows
        if (
            table.relative
            and bound is not None
            and tree.node_count == 1 < tree.max_n_classes
            and total < MIN_EFFECTIVE_SHARE * n_rows
        ):
            warn_of_no_split(n_rows, total)
        elif (
            tree.node_count == 1 < tree.max_n_classes
            and getattr(bound, "cautious", False)
            # its strictness is the default
            and bound.get_params()[bound.level_parameter]
            == type(bound)().get_params()[bound.level_parameter]
        ):
            self._warn_of_cautious_bound(table, settings, left_out, seed)
        return model

    def _warn_of_cautious_bound(self, table, settings, left_out, seed):
        """Warn if the default bound splits the root, but this cautious bound does not.

        A cautious bound, with default settings, needs more rows for a first split than
        a small table has.
        """
        stump = clone(self.estimator).set_params(max_depth=1)
        settings = resolve_settings(
            stump,
            GTestBound(),
            "entropy",
            table.schema,
            table.total,
            table.relative,
            monotonic_cst=settings.monotonic_cst,
        )
        plan = Plan(settings, pruning=None, shrinkage=0.0, left_out=left_out)
        tree, _ = plan.grow(table.encode(settings), seed, lambda: table.rows)
        if tree.node_count > 1:
            name, level = type(self.bound).__name__, self.bound.level_parameter
            warn_once_per_ensemble(
                "cautious bound",  # identifies the warning; not printed
                f"The tree is a single leaf: {name} with its default {level!r} needs "
                f"more rows for a first split than the {len(table.y)} of this table, "
                f"while bound='gtest' makes one. Set {level!r} to a more "
                "permissive value, or use bound='gtest' for tables of this size.",
            )


def check_can_stream(estimator):
    """Raise AttributeError if a parameter is incompatible with `partial_fit`."""
    if estimator.pruning not in ("auto", None):
        raise AttributeError(
            f"The 'pruning' parameter of {type(estimator).__name__} must be 'auto' or "
            f"None in partial_fit, which never removes a split. Got "
            f"{estimator.pruning!r} instead."
        )
    # partial_fit raises the error of an invalid ccp_alpha. Its default is recognized
    # without isinstance(ccp_alpha, Real), which is slow: this runs for each row of a
    # stream.
    ccp_alpha = estimator.ccp_alpha
    if (
        (type(ccp_alpha) is not float or ccp_alpha != 0.0)
        and isinstance(ccp_alpha, Real)
        and 0.0 < ccp_alpha <= LARGEST
    ):
        raise AttributeError(
            f"The 'ccp_alpha' parameter of {type(estimator).__name__} must be 0 in "
            f"partial_fit, which never removes a split. Got {ccp_alpha!r} instead."
        )
    if estimator.monotonic_cst is not None:
        raise AttributeError(
            f"The 'monotonic_cst' parameter of {type(estimator).__name__} must be None "
            "in partial_fit, which cannot keep the order. Got "
            f"{estimator.monotonic_cst!r} instead."
        )
    bound = estimator.bound
    if isinstance(bound, str):
        bound = BOUNDS.get(bound)
    if getattr(bound, "tests_features", False):
        raise AttributeError(
            f"bound={estimator.bound!r} tests the features of all rows of a node and "
            "does not work with partial_fit. Use another bound, such as 'gtest'."
        )
    class_weight = estimator.class_weight
    if isinstance(class_weight, str) and class_weight in WEIGHTS_OF_ALL_ROWS:
        raise AttributeError(
            f"class_weight={class_weight!r} needs all rows at once and does not work "
            "with partial_fit. Give the weights as a dict instead."
        )


def check_stream(estimator, classes, X_pool):
    """Raise if the arguments of `partial_fit` of a tree or a forest are invalid."""
    model = estimator._model
    if model is None and classes is None:
        raise ValueError(
            "classes must be given on the first call to partial_fit. Pass all classes "
            "that may occur in the stream."
        )
    if X_pool is not None and model is not None and model.grows:
        raise ValueError(
            "X_pool can only be passed in the first call of partial_fit. Call "
            "partial_fit without it, or use a new estimator."
        )


def make_stream_model(
    estimator, model, call, split_rule, *, owner=None, in_forest=False, rate=1.0
):
    """Make the model of a tree that learns row by row.

    `call` has the arguments of `partial_fit`, a `Call`. `split_rule` is the result of
    `resolve_split_rule` for a new tree; an existing tree keeps its split rule. In a
    forest, each leaf draws its features once, and each tree learns a row `rate` times
    on average. The model uses the lock of its `owner`, an estimator.
    """
    if model is None:
        bound, criterion = split_rule
    else:
        bound, criterion = model.resolved.bound, model.resolved.criterion
        model.check_class_weight(call.class_weight)
    schema = call.rows.schema
    recipe = make_recipe(
        estimator,
        bound,
        criterion,
        schema,
        call.class_weight,
        call.X_pool,
        in_forest=in_forest,
        rate=rate,
    )
    # `waits`: leaves use naive Bayes only after further rows
    options = {"waits": estimator.leaf_prediction == "auto", "owner": owner}
    if model is None:
        return TreeModel.started(schema, call.classes, recipe, **options)
    return model.growing(recipe, **options)


def needs_leaf_rows(estimator):
    """Whether the leaves of a fitted tree have to store statistics of its rows."""
    if estimator.monotonic_cst is not None:  # the tree cannot learn further rows
        return False
    # naive Bayes, and "nba", the better of naive Bayes and class frequencies in a leaf
    return estimator.leaf_memory == "rows" or estimator.leaf_prediction in ("nb", "nba")


def make_fitted_grower(estimator, settings, tree, table, *, in_forest=False, rate=1.0):
    """Make the grower of a fitted tree, with statistics of its rows in the leaves."""
    recipe = make_recipe(
        estimator,
        settings.bound,
        settings.criterion,
        table.schema,
        tree.class_weight,
        as_dense(table.X_pool),  # leaves access single rows
        table.X,
        in_forest=in_forest,
        rate=rate,
    )
    return make_grower_with_rows(
        tree,
        recipe,
        table.X,
        table.y.astype(np.uint16),
        table.weight,
        table.schema.max_categories,
    )


def make_recipe(
    estimator,
    bound,
    criterion,
    schema,
    class_weight,
    X_pool,
    X=None,
    *,
    in_forest=False,
    rate=1.0,
):
    """Make the recipe of a tree that grows row by row, possibly after `fit` to `X`."""
    # no total weight is passed, so that fractions are of the weight of the rows so far
    settings = resolve_settings(
        estimator, bound, criterion, schema, in_forest=in_forest, rate=rate
    )
    weighs_pool = settings.uses_pool and X_pool is not None
    if isinstance(settings.drift, LocalRepair) and (settings.by_volume or weighs_pool):
        raise ValueError(
            "drift='local' does not support a bound that weighs branches by X_pool or "
            "by volume. Do not pass X_pool, or set drift=None."
        )
    nominal = schema.is_categorical
    return Recipe(
        settings,
        draw_seed(estimator.random_state, settings, schema.n_features),
        class_weight,
        () if nominal is None else tuple(np.flatnonzero(nominal).tolist()),
        X_pool if settings.uses_pool else None,
        box_of_tables(X, X_pool) if settings.by_volume else None,
        in_forest,
    )


def check_row_indices(X, y, row_indices, n_pool):
    """Validate `from_pool`, but not whether some of its rows were learned before."""
    if X is not None:
        raise ValueError(
            "X must be None if from_pool is given, which selects the rows."
        )
    row_indices = np.asarray(row_indices)
    if row_indices.ndim != 1 or (
        row_indices.size and row_indices.dtype.kind not in "iu"
    ):
        raise ValueError(
            f"from_pool must be integer indices of rows of X_pool. Got {row_indices!r}."
        )
    outside = (row_indices < 0) | (row_indices >= n_pool)
    if outside.any():
        raise ValueError(
            f"from_pool must be row indices of X_pool, from 0 to {n_pool - 1}. Got "
            f"{row_indices[outside][0]}."
        )
    if np.shape(y) != row_indices.shape:
        raise ValueError(
            f"y must have one label per row of from_pool. Got shape {np.shape(y)} for "
            f"{len(row_indices)} rows."
        )
    if len(np.unique(row_indices)) < len(row_indices):
        raise ValueError(f"from_pool must not repeat a row. Got {row_indices}.")
    return row_indices.astype(np.int32)


class IndexedTable:
    """Table of an index, as read by a fitted estimator.

    A C-contiguous float32 array is not copied.
    """

    def __init__(self, estimator, X):
        self.estimator = estimator
        self.input = X
        rows, self.finite, self.schema = estimator._rows(X)
        self.rows = rows.tocsr() if issparse(rows) else rows

    def as_rows(self):
        """The table as `Rows`."""
        return Rows(self.rows, self.finite, self.schema)

    def current(self):
        """Return the table, read again if there are new categories."""
        if self.schema.features is self.estimator._model.schema.features:
            return self
        return IndexedTable(self.estimator, self.input)


def follows(method: Method) -> Method:
    """Decorate a method of an index so that it locks the estimator, then the index.

    An index is a `Lockable` with a `_table`, an `IndexedTable`. The estimator is locked
    first, so that a thread that waits for the index does not block a thread that
    trains.
    """
    locked = learns(method)

    @wraps(method)
    def following(self, *args, **kwargs):
        with self._table.estimator._lock:
            return locked(self, *args, **kwargs)

    return following
