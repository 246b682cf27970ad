"""From the parameters of an estimator to the settings of a growth."""

import math

from sklearn.utils import check_random_state

from .._compat import InvalidParameterError
from ..bounds import TreeDefaults
from ..bounds._registry import resolve_bound
from ._parameters import BATCH_RESOLVERS, RESOLVERS, Growth
from ._settings import GrowthSettings

INHERITED = 100.0  # weight that a child of a histogram or of moments starts with


def resolve_statement(bound, criterion, delta, caller):
    """Resolve what decides a split, and what measures it."""
    given = bound
    bound = resolve_bound(bound, delta)
    name = "entropy" if criterion == "log_loss" else criterion
    if bound is None:
        return bound, name or "gini"
    if name is None:
        return bound, bound.criteria[0]
    if name not in bound.criteria:
        raise InvalidParameterError(
            f"The 'criterion' parameter of {caller} with bound={given!r} must be None "
            f"or one of {list(bound.criteria)}. Got {criterion!r} instead."
        )
    return bound, name


def tree_defaults(bound):
    """What ``"auto"`` means with a bound, or with None."""
    return TreeDefaults() if bound is None else bound.defaults


def resolve_shrinkage(shrinkage, defaults):
    """Resolve how strongly the leaves of a fitted tree are drawn to the nodes above."""
    return float(defaults.shrinkage if shrinkage == "auto" else shrinkage)


def resolve_settings(
    estimator,
    bound,
    criterion,
    schema,
    total=None,
    relative=False,
    *,
    in_forest=False,
    rate=1.0,
):
    """Resolve the parameters of a growth, which have been checked.

    Bound and criterion are what `resolve_statement` gives. A growth from a table, whose
    `total` weight is known, has no settings of growth row by row.
    """
    nominal, defaults = schema.features is not None, tree_defaults(bound)
    growth = Growth(
        bound,
        schema.n_features,
        nominal,
        total,
        relative,
        defaults,
        in_forest,
        estimator.leaf_memory,
        estimator.max_bytes is not None,
        rate,
    )
    settings = {"criterion": criterion, "bound": bound}
    resolvers = BATCH_RESOLVERS
    if total is None:
        resolvers = RESOLVERS
        separate = bound is not None and not bound.counts_every_row
        settings["inherited"] = INHERITED if separate else math.inf
    for setting, name, resolve in resolvers:
        settings[setting] = resolve(getattr(estimator, name), growth)
    return GrowthSettings(**settings)


def draw_seed(random_state, settings, n_features):
    """Draw the seed of a growth row by row.

    The state of a tree without randomness does not depend on one.
    """
    if settings.random_cuts or settings.max_features < n_features:
        return int(check_random_state(random_state).randint(2**31 - 1))
    return 0
