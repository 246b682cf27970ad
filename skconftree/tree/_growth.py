"""From the arguments of `fit` and `partial_fit` to a model."""

from functools import wraps
from itertools import compress
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..bounds import GTestBound, TreeDefaults
from ..drift import LocalRepair
from ..tables._columns import DATES, look_like_dates
from ..tables._content_order import ContentOrder, hash_rows
from ..tables._features import identifying
from ..tables._growth_data import (
    UNEVEN,
    MemoryData,
    resolve_class_weight,
    rows_with_weight,
    warn_of_no_split,
)
from ..tables._labels import Classes, read_classes
from ..tables._row_hashes import Rows
from ..tables._schema import Schema, as_dense
from ..tables._sparse import rows_at, take_rows
from ..utils._lock import learns
from ..utils._team import ThreadTeam, number_of_threads
from ..utils._types import Method
from ..utils._warnings import warn, warn_once_per_ensemble
from ._model import TreeModel
from ._parameters import (
    Plan,
    draw_seed,
    resolve_lookahead,
    resolve_settings,
    resolve_shrinkage,
    resolve_statement,
    tree_defaults,
)
from .pruning._registry import resolve_pruning
from .stream._make_grower import make_grower_with_rows
from .stream._state import Recipe, box_of_tables


class TableRequest(NamedTuple):
    """How `fit` reads a table; `known` has schema and classes of trees that stay."""

    caller: str
    categorical_features: object
    class_weight: object
    sample_weight_kind: str
    known: tuple[Schema, Classes] | None = None


class TrainingTable(NamedTuple):
    """Rows in memory that trees are fitted to; none of them has weight 0.

    `y` are indices of `classes`, weights frequencies, `relative` if they were given as
    relative ones. `finite`: no row that was given has a NaN. Of the `n_given` rows they
    are those at `places`.
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
    places: np.ndarray | slice
    n_given: int

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
        """The order of the rows by what they hold; `y` are 16 bits wide."""
        return ContentOrder(*hash_rows(self.X, self.y), self.weight)

    def at(self, places, weight=None):
        """Some of the rows, in another order, with such weights."""
        return self._replace(X=rows_at(self.X, places), y=self.y[places], weight=weight)

    def identifying(self):
        """Which nominal columns tell rows apart rather than describe them."""
        return identifying(self.X, self.schema.features, self.weight)

    def whole_columns(self, columns):
        """Which of the columns hold whole numbers only, apart from missing values."""
        if issparse(self.X):
            cells = self.X.tocoo(copy=False)
            has_fraction = np.floor(cells.data) < cells.data
            return sorted(columns.difference(cells.col[has_fraction].tolist()))
        columns = sorted(columns)
        begin, size = 0, 64  # most columns of other numbers show it by their first ones
        while columns and begin < len(self.X):
            part = self.X[begin : begin + size]
            if len(columns) < self.X.shape[1]:
                part = part[:, columns]
            has_fraction = (np.floor(part) < part).any(axis=0)
            columns = list(compress(columns, ~has_fraction))
            begin, size = begin + size, 4096
        return columns

    def encode(self, settings, n_bins=0, team=None):
        """Encode the table, in bins unless there are 0; a team shares the columns."""
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
            team=team,
        )


def number_of_bins(table, settings, max_bins):
    """Return how many bins a feature has; 0, with a warning, if each value counts."""
    if table.is_sparse:
        why = "X is sparse"
    elif settings.random_cuts:
        why = "splitter='random' draws the cuts"
    elif settings.uses_pool and table.X_pool is not None:
        why = "the bound weighs the rows of X_pool"
    else:
        return max_bins
    warn(f"max_bins={max_bins} has no effect: {why}, and every value is examined.")
    return 0


def read_training(X, y, sample_weight, X_pool, request):
    """Read and check what a user gives to `fit`; the `request` is a `TableRequest`."""
    caller, categorical_features, class_weight, sample_weight_kind, known = request
    known_schema, known_classes = (None, None) if known is None else known
    if known is None:
        X, finite, schema = Schema.first(X, caller, categorical_features)
    else:
        X, finite, schema = known_schema.more(X, caller)
    y = read_classes(y, X, caller)
    n_given = len(y)
    X, places, weight, relative = rows_with_weight(
        X, np.arange(n_given), sample_weight, sample_weight_kind
    )
    y = y if len(places) == n_given else y[places]
    classes, y = Classes.of(y)
    if known is not None and not np.array_equal(classes.names, known_classes.names):
        raise ValueError(
            f"y has the classes {classes.names!r}, and the trees there are know "
            f"{known_classes.names!r}. With warm_start=True they must be the same."
        )
    class_weight = resolve_class_weight(class_weight, classes.names, y, weight)
    if class_weight is not None and not class_weight.all():
        kept = class_weight[y] > 0.0
        X, y, places = take_rows(X, kept), y[kept], places[kept]
        weight = None if weight is None else weight[kept]
        if not len(y):
            raise ValueError("class_weight leaves no row with a positive weight.")
    learned = slice(None) if len(y) < n_given else None
    schema = schema.settled(
        X, known_schema, learned, weight, in_order=known is not None
    )
    if known is not None and schema is not known_schema:
        raise ValueError(
            "X has categories that were not there when the first trees were "
            "grown. With warm_start=True all trees are grown from the same rows."
        )
    if X_pool is not None:
        X_pool = schema.predict(X_pool, caller).X
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
        places if len(y) < n_given else slice(None),
        n_given,
    )


def leave_out(table):
    """Find the columns that would tell the rows apart and say nothing of others."""
    features = table.schema.features
    if features is None:
        return None
    left_out = table.identifying()
    if left_out.any():
        names = table.schema.columns
        named = ", ".join(repr(names[j]) for j in np.flatnonzero(left_out))
        columns = "column" if left_out.sum() == 1 else "columns"
        categories = features.categories
        dated = [
            repr(names[j])
            for j in np.flatnonzero(left_out)
            if look_like_dates(categories[j])
        ]
        hint = f" Dates seem to be in {', '.join(dated)}. {DATES}" if dated else ""
        warn(
            f"No test asks for {columns} {named}: more than half of the rows have "
            f"a category of their own there, which no new row has.{hint}"
        )
    return left_out


# Values of a table from which on threads are worth what it takes to start them and to
# prepare them; those of one that is looked ahead in are visited many times.
WORTH_A_TEAM, WORTH_WITH_LOOKAHEAD = 262_144, 32_768


def team_for(table, n_jobs, lookahead):
    """Make a team of threads, or None; the tree does not depend on it."""
    least = WORTH_A_TEAM if lookahead is None else WORTH_WITH_LOOKAHEAD
    n_values = len(table.y) * table.schema.n_features
    is_left_to_one = n_values < least or table.is_sparse
    if is_left_to_one and n_jobs != 0:  # which is an error; to ask joblib takes a while
        return None
    n_threads = number_of_threads(n_jobs)
    return None if n_threads == 1 else ThreadTeam(n_threads)


WEIGHTS_OF_ALL_ROWS = ("balanced", "balanced_subsample")  # values of `class_weight`


class TreeGrowth(NamedTuple):
    """The parameters of a tree that are resolved before its table is read."""

    estimator: object
    request: TableRequest
    bound: object
    criterion: str
    defaults: TreeDefaults  # what "auto" means with the bound
    pruning: object

    @classmethod
    def of(cls, estimator):
        """Resolve them, or raise."""
        request = TableRequest(
            type(estimator).__name__,
            estimator.categorical_features,
            estimator.class_weight,
            estimator.sample_weight_kind,
        )
        bound, criterion = resolve_statement(
            estimator.bound, estimator.criterion, estimator.delta, request.caller
        )
        defaults = tree_defaults(bound)
        pruning = resolve_pruning(estimator.pruning, defaults)
        return cls(estimator, request, bound, criterion, defaults, pruning)

    def grow(self, table, told):
        """Grow the model of a tree from a table; callbacks are `told`."""
        estimator, _, bound, criterion, defaults, pruning = self
        schema, total, n_rows = table.schema, table.total, len(table.y)
        settings = resolve_settings(
            estimator, bound, criterion, schema, total, table.relative
        )
        lookahead, pruning = resolve_lookahead(
            estimator, defaults, pruning, settings, schema, total, n_rows
        )
        shrinkage = resolve_shrinkage(estimator.shrinkage, defaults)
        left_out = leave_out(table)
        lookahead = told.start_to_look(lookahead, n_rows * schema.n_features)
        plan = Plan(
            settings,
            pruning,
            shrinkage,
            lookahead,
            left_out,
            keeps_stops=True,
            merges=estimator.pruning == "auto" and pruning is not None,
        )
        seed = check_random_state(estimator.random_state).randint(2**31 - 1)
        n_bins = 0
        if estimator.max_bins is not None:
            n_bins = number_of_bins(table, settings, estimator.max_bins)
        team = team_for(table, estimator.n_jobs, lookahead)
        tree, taken_back = plan.grow(
            table.encode(settings, n_bins, team),
            seed,
            lambda: table.rows,
            spends=True,
            team=team,
        )
        grower = None
        if remembers(estimator):
            grower = remember(estimator, settings, tree, table)
        # thresholds of whole numbers lie at them or half way between
        halves = tree._cut_at_halves()
        if halves:
            schema = schema._replace(whole=tuple(table.whole_columns(halves)))
        model = TreeModel(
            schema,
            table.classes,
            plan.resolved._replace(taken_back=taken_back),
            tree,
            n_rows,
            grower=grower,
            waits=estimator.leaf_prediction == "auto",
            owner=estimator,
        )
        if (
            table.relative
            and bound is not None
            and tree.node_count == 1 < tree.n_classes
            and total < UNEVEN * n_rows
        ):
            warn_of_no_split(n_rows, total)
        elif (
            tree.node_count == 1 < tree.n_classes
            and getattr(bound, "cautious", False)
            and bound.get_params()[bound.level_parameter]
            == type(bound)().get_params()[bound.level_parameter]
        ):
            self._warn_of_cautious_bound(table, left_out, seed)
        return model

    def _warn_of_cautious_bound(self, table, left_out, seed):
        """Warn that the rule finds no split where the default rule finds one."""
        stump = clone(self.estimator).set_params(max_depth=1)
        settings = resolve_settings(
            stump, GTestBound(), "entropy", table.schema, table.total, table.relative
        )
        plan = Plan(settings, None, 0.0, None, left_out)
        tree, _ = plan.grow(table.encode(settings), seed, lambda: table.rows)
        if tree.node_count > 1:
            name, level = type(self.bound).__name__, self.bound.level_parameter
            warn_once_per_ensemble(
                "cautious bound",
                f"The tree is a single leaf: {name} with its default {level!r} needs "
                f"more rows for a first split than the {len(table.y)} of this table, "
                f"while bound='gtest' makes one. Set {level!r} to a laxer value, or "
                "use bound='gtest' for tables of this size.",
            )


def check_can_stream(estimator):
    """Raise AttributeError if a parameter leaves a tree or forest no `partial_fit`."""
    if estimator.pruning not in ("auto", None):
        raise AttributeError(
            f"The 'pruning' parameter of {type(estimator).__name__} must be 'auto' or "
            f"None in partial_fit, which never removes a split. Got "
            f"{estimator.pruning!r} instead."
        )
    class_weight = estimator.class_weight
    if isinstance(class_weight, str) and class_weight in WEIGHTS_OF_ALL_ROWS:
        raise AttributeError(
            f"class_weight={class_weight!r} needs all rows at once and does not work "
            "with partial_fit. Give the weights as a dict instead."
        )


def check_stream(estimator, classes, X_pool):
    """Raise if `partial_fit` of a tree or a forest cannot do what it is asked for."""
    model = estimator._model
    if model is None and classes is None:
        raise ValueError(
            "classes must be given on the first call to partial_fit: all "
            "classes that may occur in the stream."
        )
    if X_pool is not None and model is not None and model.grows:
        raise ValueError("X_pool can be given to the first call of partial_fit only.")


def grow_on(
    estimator, model, call, statement, *, owner=None, in_forest=False, rate=1.0
):
    """Make the model of a tree that learns row by row.

    The `statement`, as `resolve_statement` gives it, is that of a tree that starts; one
    that goes on growing has its own. Leaves of a forest draw features for their life,
    and its trees learn a row `rate` times in the mean.
    """
    if model is None:
        bound, criterion = statement
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
    options = {"waits": estimator.leaf_prediction == "auto", "owner": owner}
    if model is None:
        return TreeModel.started(schema, call.classes, recipe, **options)
    return model.growing(recipe, **options)


def remembers(estimator):
    """Whether the parameters of a tree ask for leaves that remember its rows."""
    return estimator.leaf_memory == "rows" or estimator.leaf_prediction in ("nb", "nba")


def remember(estimator, settings, tree, table, *, in_forest=False, rate=1.0):
    """Let the leaves of a fitted tree remember its rows."""
    recipe = make_recipe(
        estimator,
        settings.bound,
        settings.criterion,
        table.schema,
        tree.class_weight,
        as_dense(table.X_pool),  # leaves look rows up
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
    """Make the recipe of a tree that grows row by row, perhaps after `fit` to `X`."""
    settings = resolve_settings(  # whose shares are of weights to come
        estimator, bound, criterion, schema, in_forest=in_forest, rate=rate
    )
    weighs_pool = settings.uses_pool and X_pool is not None
    if isinstance(settings.drift, LocalRepair) and (settings.by_volume or weighs_pool):
        raise ValueError(
            "drift='local' does not go with a bound that weighs the branches of a test "
            "by X_pool or by their volume. Give no X_pool, or drift=None."
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


def check_row_indices(X, y, places, n_pool):
    """Check the parameter `from_pool`, but for whether a row has been learnt."""
    if X is not None:
        raise ValueError("X must be None with from_pool, which says which rows.")
    places = np.asarray(places)
    if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
        raise ValueError(
            f"from_pool must be places in X_pool, integers. Got {places!r} instead."
        )
    outside = (places < 0) | (places >= n_pool)
    if outside.any():
        raise ValueError(
            f"from_pool must be places in X_pool, from 0 to {n_pool - 1}. Got "
            f"{places[outside][0]} instead."
        )
    if np.shape(y) != places.shape:
        raise ValueError(
            f"y must have a label for each row of from_pool. Got shape {np.shape(y)} "
            f"for {len(places)} rows."
        )
    if len(np.unique(places)) < len(places):
        raise ValueError(f"from_pool names a row twice: {places}.")
    return places.astype(np.int32)


class IndexedTable:
    """Table as a fitted estimator reads it; float32 in C order is not copied."""

    def __init__(self, estimator, X):
        self.estimator = estimator
        self.given = X
        rows, self.finite, self.schema = estimator._rows(X)
        self.rows = rows.tocsr() if issparse(rows) else rows

    def as_rows(self):
        """The table as the estimator reads rows."""
        return Rows(self.rows, self.finite, self.schema)

    def current(self):
        """Give the table, read anew if there are further categories."""
        if self.schema.features is self.estimator._model.schema.features:
            return self
        return IndexedTable(self.estimator, self.given)


def follows(method: Method) -> Method:
    """Decorate a method of an index, a `Lockable` with a `_table`, that has a lock.

    The estimator is held first: whoever waits for the index then never keeps a thread
    that learns waiting for itself.
    """
    alone = learns(method)

    @wraps(method)
    def following(self, *args, **kwargs):
        with self._table.estimator._lock:
            return alone(self, *args, **kwargs)

    return following
