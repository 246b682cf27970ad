"""From the parameters of an estimator to the settings of a growth."""

import math
import sys
from numbers import Integral

from sklearn.utils import check_random_state

from .._compat import InvalidParameterError
from ..bounds import TreeDefaults
from ..bounds._registry import resolve_bound
from ..drift._registry import resolve_detector
from ..tables._inputs import count_limit, resolve_max_features, size_limits
from ._settings import FIRST_CUTS, GrowthSettings

ROW_LIMIT = {"rows": None, "histogram": 64, "gaussian": None}
AUTO_VALUES = 8192  # of a leaf with memory "auto", within these numbers of rows:
AUTO_ROWS = (128, 512)
INHERITED = 100.0  # weight that a child of a histogram or of moments starts with

# What `resolve_settings` takes from an estimator, by the names of its parameters.
GROWTH_PARAMETERS = (
    "splitter",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "nominal_splits",
    "grace_period",
    "tie_threshold",
    "leaf_memory",
    "max_bytes",
    "leaf_prediction",
    "drift",
)


def resolve_statement(bound, criterion, delta, caller):
    """Resolve what decides a split, and what measures it.

    Parameters
    ----------
    bound, criterion, delta
        As in `ConfidenceTreeClassifier`.
    caller : str
        Name of the estimator, for errors.

    Returns
    -------
    bound : BaseBound or None
        A private, checked copy.
    criterion : str
    """
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


def resolve_shrinkage(shrinkage, bound):
    """Resolve how strongly the leaves of a fitted tree are drawn to the nodes above.

    Parameters
    ----------
    shrinkage : float or "auto"
    bound : BaseBound or None

    Returns
    -------
    float
    """
    return float(tree_defaults(bound).shrinkage if shrinkage == "auto" else shrinkage)


def resolve_settings(
    bound,
    criterion,
    n_features,
    *,
    nominal=False,
    total=None,
    relative=False,
    splitter="best",
    max_depth=None,
    min_samples_split=2,
    min_samples_leaf=1,
    min_weight_fraction_leaf=0.0,
    max_features=None,
    max_leaf_nodes=None,
    min_impurity_decrease=0.0,
    nominal_splits="auto",
    grace_period=100,
    tie_threshold=0.0,
    leaf_memory="auto",
    max_bytes=None,
    leaf_prediction="auto",
    drift=None,
):
    """Resolve the parameters of a growth, which have been checked.

    Parameters
    ----------
    bound, criterion
        What `resolve_statement` gives.
    n_features : int
    nominal : bool, default=False
        Whether a feature is nominal.
    total : float or None, default=None
        Weight of all rows; None if they are still to come.
    relative : bool, default=False
        Whether these are relative weights.
    splitter, max_depth, min_samples_split, min_samples_leaf, \
            min_weight_fraction_leaf, max_features, max_leaf_nodes, \
            min_impurity_decrease, nominal_splits, grace_period, tie_threshold, \
            leaf_memory, max_bytes, leaf_prediction, drift
        As in `ConfidenceTreeClassifier`.

    Returns
    -------
    GrowthSettings
    """
    if total is None:
        min_split, min_leaf = map(_share, (min_samples_split, min_samples_leaf))
    else:
        min_split, min_leaf = size_limits(
            min_samples_split, min_samples_leaf, total, relative
        )
    if nominal_splits == "auto":
        nominal_splits = tree_defaults(bound).nominal_splits
    separate = bound is not None and not bound.counts_every_row
    return GrowthSettings(
        criterion=criterion,
        bound=bound,
        tie_threshold=float(tie_threshold),
        max_features=resolve_max_features(max_features, n_features),
        random_cuts=splitter == "random",
        multiway=nominal and nominal_splits == "multiway",
        max_depth=count_limit(max_depth),
        max_leaves=count_limit(max_leaf_nodes),
        min_samples_split=min_split,
        min_samples_leaf=min_leaf,
        min_weight_fraction_leaf=float(min_weight_fraction_leaf),
        min_impurity_decrease=float(min_impurity_decrease),
        gaussian=leaf_memory == "gaussian",
        row_limit=_row_limit(leaf_memory, bound, n_features),
        inherited=INHERITED if separate else math.inf,
        leaf_prediction="nba" if leaf_prediction == "auto" else leaf_prediction,
        grace_period=float(grace_period),
        drift=resolve_detector(drift),
        max_bytes=count_limit(max_bytes, sys.maxsize - 1),
    )


def _share(limit):
    # A weight, or minus a fraction of all weight.
    return float(limit) if isinstance(limit, Integral) else -float(limit)


def _row_limit(leaf_memory, bound, n_features):
    if leaf_memory == "auto":
        low, high = AUTO_ROWS
        limit = min(max(AUTO_VALUES // n_features, low), high)
    else:
        limit = ROW_LIMIT[leaf_memory]
    if limit is not None and bound is not None and bound.fixed_cuts:
        return FIRST_CUTS
    return limit


def draw_seed(random_state, settings, n_features):
    """Draw the seed of a growth row by row.

    The state of a tree without randomness does not depend on one.

    Parameters
    ----------
    random_state : int, RandomState instance or None
    settings : GrowthSettings
    n_features : int

    Returns
    -------
    int
    """
    if settings.random_cuts or settings.max_features < n_features:
        return int(check_random_state(random_state).randint(2**31 - 1))
    return 0
