"""From what a tree estimator is given to its model."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..bounds import TreeDefaults
from ..tables._schema import as_dense
from ..tables._weights import UNEVEN, warn_of_no_split
from ._lookahead import resolve_lookahead
from ._model import TreeModel
from ._plan import Plan
from ._resolve import (
    draw_seed,
    resolve_settings,
    resolve_shrinkage,
    resolve_statement,
    tree_defaults,
)
from ._team import team_for
from ._training import TableRequest, leave_out, number_of_bins
from .pruning._registry import resolve_pruning
from .stream._make_grower import make_grower_with_rows
from .stream._recipe import make_recipe

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
            estimator.bound,
            estimator.criterion,
            estimator.delta,
            request.caller,
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
        plan = Plan(settings, pruning, shrinkage, lookahead, left_out)
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
        return model


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
    recipe = _recipe_of(
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
    recipe = _recipe_of(
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
        table.schema.most_categories,
    )


def _recipe_of(
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
    # Settings whose shares are of weights to come.
    settings = resolve_settings(
        estimator, bound, criterion, schema, in_forest=in_forest, rate=rate
    )
    return make_recipe(
        settings,
        draw_seed(estimator.random_state, settings, schema.n_features),
        class_weight,
        schema.is_categorical,
        X_pool,
        X,
        in_forest=in_forest,
    )
