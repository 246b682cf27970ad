"""Parameters of trees and forests: valid values, and the settings they imply.

What one of them may be beside another is checked where they are resolved (`_resolve`).
"""

import math
import sys
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from .._compat import (
    HasMethods,
    Interval,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
)
from ..bounds import TreeDefaults
from ..bounds._base import BaseBound
from ..bounds._registry import resolve_bound
from ..criteria._criterion import CRITERIA
from ..drift import BaseDetector, LocalRepair
from ..drift._registry import DETECTORS, resolve_detector
from ..tables._growth_data import KINDS, LARGEST, MOST, NEGLIGIBLE, resolve_max_features
from ..utils._codec import NO_DEFAULT, merge_defaults
from ._settings import FIRST_CUTS, GrowthSettings
from .batch._grow import Lookahead, grow
from .pruning._base import BasePruning, TrainingRows
from .pruning._pruning import merge_leaves
from .pruning._registry import PRUNINGS, prune, resolve_pruning

MIN_BYTES = 65536  # smallest `max_bytes`
ROW_LIMIT = {"rows": None, "histogram": 64, "gaussian": None}
AUTO_VALUES = 8192  # of a leaf with memory "auto", within these numbers of rows:
AUTO_ROWS = (128, 512)
AUTO_STORED_VALUES = 2**20  # of all leaves, in rows that are kept beside their counts
AUTO_GRACE_LIMIT = 100.0  # rows between two looks at a leaf, at most; at first, where
AUTO_GRACE = 50.0  # rows of the parent are evidence, in a tree by itself,
AUTO_GRACE_IN_FOREST = 25.0  # and in one among others, which make up for an early split
AUTO_ROOT_GRACE = 60.0  # unless it is near the root, where most rows would suffer

_COST = "pruning=skconftree.tree.CostComplexityPruning(alpha) prunes as it does"
_ROUNDS = "Nothing is boosted here; ConfidenceForestClassifier has n_estimators"
_SMOOTH = "shrinkage draws the leaves of small nodes upwards"
# Parameters of scikit-learn's trees and forests that have other names here.
COUNTERPARTS = {
    "ccp_alpha": _COST,
    "monotonic_cst": "There are no monotonic constraints here",
    "interaction_cst": "There are no constraints on interactions here",
    "max_iter": _ROUNDS,
    "learning_rate": _ROUNDS,
    "l2_regularization": _SMOOTH,
}


class Growth(NamedTuple):
    """What is to grow, as far as the meaning of a parameter depends on it.

    `total` is the weight of all rows, None if they are still to come; `relative`: these
    are relative weights; `in_forest`: others are grown beside it, to be asked together;
    `rate` is how often a tree of a forest learns a row, in the mean.
    """

    estimator: object
    bound: object
    schema: object
    total: float | None
    relative: bool
    in_forest: bool
    rate: float

    @property
    def is_limited(self):
        """Whether the memory of the tree is."""
        return self.estimator.max_bytes is not None

    @property
    def hands_over(self):
        """Whether rows that a parent hands over are evidence in most leaves."""
        return (
            self.bound is not None
            and self.bound.counts_handed_rows
            and self.estimator.leaf_memory in ("auto", "rows")
        )


class Parameter(NamedTuple):
    """A parameter of the estimators: what is allowed, and what it means.

    `allowed` are constraints as scikit-learn's. `settings` says what it becomes in
    `GrowthSettings`, by name: functions of its value and the `Growth`. There are none
    of what does not concern the growth of a tree from given rows. Those of
    `stream_settings` concern growth row by row only.
    """

    allowed: list
    settings: dict[str, Callable] = {}
    stream_settings: dict[str, Callable] = {}


def _number(value, growth):
    return float(value)


def _count(value, growth, most=MOST):
    return None if value is None else min(int(value), most)


def _least_weight(harmless):
    """Give the meaning of a least weight, of which a float is a fraction of the total.

    Rows with relative weights may weigh any fraction of 1. There a limit that as a
    number of rows excludes nothing, up to `harmless`, excludes nothing.
    """

    def weight(limit, growth):
        if growth.total is None:  # minus a fraction of all weight
            return float(limit) if isinstance(limit, Integral) else -float(limit)
        if not isinstance(limit, Integral):
            limit = math.ceil(limit * growth.total)
        if growth.relative and limit <= harmless:
            return NEGLIGIBLE * growth.total
        return float(limit)

    return weight


def _is_multiway(splits, growth):
    if splits == "auto":
        splits = tree_defaults(growth.bound).nominal_splits
    return growth.schema.features is not None and splits == "multiway"


def _row_limit(memory, growth):
    if memory == "auto":
        low, high = AUTO_ROWS
        limit = min(max(AUTO_VALUES // growth.schema.n_features, low), high)
    else:
        limit = ROW_LIMIT[memory]
    if limit is not None and growth.bound is not None and growth.bound.fixed_cuts:
        return FIRST_CUTS
    return limit


def _stored_rows(memory, growth):
    # To be handed over. The trees of a forest, and those that `max_bytes` limits, have
    # better uses for so much memory.
    if memory != "auto" or not growth.hands_over:
        return 0
    if growth.in_forest or growth.is_limited:
        return 0
    return AUTO_STORED_VALUES // growth.schema.n_features


def _max_features(given, growth):
    if given == "auto":
        # what a leaf has not drawn it will never remember
        given = "sqrt" if growth.in_forest and growth.total is not None else None
    return resolve_max_features(given, growth.schema.n_features)


def _row_weight(given, growth):
    # A row that is learnt several times is no more to look for than one.
    return max(growth.rate, 1.0) if given == "auto" else 1.0


def _grace_period(given, growth):
    if given != "auto":
        return float(given)
    rows = AUTO_GRACE_LIMIT
    if growth.hands_over:
        rows = AUTO_GRACE_IN_FOREST if growth.in_forest else AUTO_GRACE
    return rows * _row_weight(given, growth)


def _grace_limit(given, growth):
    if given != "auto":
        return float(given)
    return AUTO_GRACE_LIMIT * _row_weight(given, growth)


def _root_grace(given, growth):
    if given != "auto" or not growth.in_forest:
        return 0.0
    return AUTO_ROOT_GRACE * _row_weight(given, growth)


def _drift(given, growth):
    if given == "auto":  # of a forest
        weighs = growth.bound is not None and growth.bound.uses_pool
        repairs = growth.total is None and not (growth.is_limited or weighs)
        given = "local" if repairs else None
    return None if given is None else resolve_detector(given)


PARAMETERS = {
    "bound": Parameter([str, BaseBound, None]),
    "criterion": Parameter([StrOptions(set(CRITERIA)), None]),
    "delta": Parameter([Interval(Real, 0.0, LARGEST, closed="right"), None]),
    "splitter": Parameter(
        [StrOptions({"best", "random"})],
        {"random_cuts": lambda splitter, growth: splitter == "random"},
    ),
    "max_depth": Parameter(
        [Interval(Integral, 1, None, closed="left"), None], {"max_depth": _count}
    ),
    "min_samples_split": Parameter(
        [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
        ],
        {"min_samples_split": _least_weight(harmless=2.0)},
    ),
    "min_samples_leaf": Parameter(
        [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        {"min_samples_leaf": _least_weight(harmless=1.0)},
    ),
    "min_weight_fraction_leaf": Parameter(
        [Interval(Real, 0.0, 0.5, closed="both")], {"min_weight_fraction_leaf": _number}
    ),
    "max_features": Parameter(
        [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            StrOptions({"auto", "sqrt", "log2"}),
            None,
        ],
        {"max_features": _max_features},
    ),
    "max_leaf_nodes": Parameter(
        [Interval(Integral, 2, None, closed="left"), None], {"max_leaves": _count}
    ),
    "min_impurity_decrease": Parameter(
        [Interval(Real, 0.0, LARGEST, closed="both")],
        {"min_impurity_decrease": _number},
    ),
    "max_bins": Parameter([Interval(Integral, 2, 255, closed="both"), None]),
    "pruning": Parameter([StrOptions({"auto", *PRUNINGS}), BasePruning, None]),
    "shrinkage": Parameter(
        [Interval(Real, 0.0, LARGEST, closed="both"), StrOptions({"auto"})]
    ),
    "lookahead": Parameter(
        [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})]
    ),
    "categorical_features": Parameter(["array-like", StrOptions({"from_dtype"}), None]),
    "nominal_splits": Parameter(
        [StrOptions({"auto", "binary", "multiway"})], {"multiway": _is_multiway}
    ),
    "grace_period": Parameter(
        [Interval(Real, 0.0, LARGEST, closed="right"), StrOptions({"auto"})],
        stream_settings={
            "grace_period": _grace_period,
            "grace_limit": _grace_limit,
            "root_grace": _root_grace,
            "row_weight": _row_weight,
        },
    ),
    "leaf_memory": Parameter(
        [StrOptions({"auto", *ROW_LIMIT})],
        stream_settings={
            "gaussian": lambda memory, growth: memory == "gaussian",
            "row_limit": _row_limit,
            "stored_rows": _stored_rows,
        },
    ),
    "max_bytes": Parameter(
        [Interval(Integral, MIN_BYTES, None, closed="left"), None],
        stream_settings={
            "max_bytes": lambda most, growth: _count(most, growth, sys.maxsize - 1)
        },
    ),
    "leaf_prediction": Parameter(
        [StrOptions({"auto", "majority", "nb", "nba"})],
        stream_settings={
            "leaf_prediction": lambda name, growth: "nba" if name == "auto" else name
        },
    ),
    "drift": Parameter(
        [
            StrOptions({"local", *DETECTORS}),
            BaseDetector,
            LocalRepair,
            HasMethods(["update"]),
            None,
        ],
        {"drift": _drift},  # checks the detector, in `fit` too
    ),
    "class_weight": Parameter([dict, StrOptions({"balanced"}), None]),
    "sample_weight_kind": Parameter([StrOptions(set(KINDS))]),
    "random_state": Parameter(["random_state"]),
    "n_jobs": Parameter([Integral, None]),
}
CONSTRAINTS = {name: one.allowed for name, one in PARAMETERS.items()}
# One row for each of the settings that come of a parameter.
BATCH_RESOLVERS = tuple(
    (setting, name, resolve)
    for name, parameter in PARAMETERS.items()
    for setting, resolve in parameter.settings.items()
)
RESOLVERS = BATCH_RESOLVERS + tuple(
    (setting, name, resolve)
    for name, parameter in PARAMETERS.items()
    for setting, resolve in parameter.stream_settings.items()
)


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
    """Resolve checked growth parameters; those of streams only without a `total`."""
    growth = Growth(estimator, bound, schema, total, relative, in_forest, rate)
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
    """Draw the seed of a growth row by row, if the tree has any randomness."""
    if settings.random_cuts or settings.max_features < n_features:
        return int(check_random_state(random_state).randint(2**31 - 1))
    return 0


class Resolved(NamedTuple):
    """What parameters of a tree that leave it open have come to be."""

    bound: object
    criterion: str
    max_features: int
    pruning: object = None
    lookahead: int = 0
    taken_back: int | None = None  # splits, by the pruning; None: not known


def read_resolved(parts):
    """Make `Resolved` from a state; StateError if it has unknown parts."""
    defaults = dict.fromkeys(Resolved._fields, NO_DEFAULT) | Resolved._field_defaults
    return Resolved(**merge_defaults(parts, defaults, "The state of a tree"))


class Grown(NamedTuple):
    """A tree, and how many of its splits the pruning took back."""

    tree: object
    taken_back: int


class Plan(NamedTuple):
    """How a tree is grown from a table; the features `left_out` are not searched.

    The tree `keeps_stops`, why its leaves are leaves. It `merges` leaves of splits
    without strong evidence that predict the same class.
    """

    settings: GrowthSettings
    pruning: object
    shrinkage: float
    lookahead: Lookahead | None = None
    left_out: np.ndarray | None = None
    keeps_stops: bool = False
    merges: bool = False

    @property
    def resolved(self):
        """What its trees tell of their parameters."""
        return Resolved(
            self.settings.bound,
            self.settings.criterion,
            self.settings.max_features,
            self.pruning,
            0 if self.lookahead is None else self.lookahead.n_levels,
        )

    def grow(self, data, seed, rows, *, spends=False, team=None):
        """Grow a tree, prune it (`rows` as in `TrainingRows`) and shrink its leaves."""
        settings = self.settings
        tree = grow(
            data,
            settings,
            seed,
            left_out=self.left_out,
            spends=spends,
            lookahead=self.lookahead,
            team=team,
            keeps_stops=self.keeps_stops,
        )
        rows = TrainingRows(rows, settings.criterion, settings.bound)
        pruned = prune(tree, self.pruning, rows)
        pruned._shrunk_by(self.shrinkage)
        if self.merges:
            pruned = merge_leaves(pruned)
        taken_back = np.count_nonzero(tree.n_children) - np.count_nonzero(
            pruned.n_children
        )
        return Grown(pruned, int(taken_back))


FIRST = 1  # depth of the first test that it chooses: the root stays the greedy one
WIDTH = 3  # tests tried at a node
LARGEST_TABLE = 10_000  # weight up to which "auto" looks ahead


def resolve_lookahead(tree, defaults, pruning, settings, schema, total, n_rows):
    """Resolve look-ahead and its pruning; `defaults` is what ``"auto"`` means."""
    n_levels = tree.lookahead
    if n_levels == "auto":
        usual = PRUNINGS.get(defaults.pruning)
        served = type(pruning) is usual and total <= LARGEST_TABLE
        n_levels = defaults.lookahead if served else 0
    if not n_levels:
        return None, pruning
    looking, cost = pruning, None
    if tree.pruning == "auto":
        looking = resolve_pruning("auto", defaults, has_lookahead=True)
    if pruning is not None:
        cost = looking.leaf_cost(n_rows)
    wanted = _unmet_condition(cost, settings, schema)
    if wanted is None:
        another = partial(looking.leaf_cost, n_rows)
        looks = Lookahead(cost, FIRST, int(n_levels), WIDTH, another_cost=another)
        return looks, looking
    if tree.lookahead == "auto":
        return None, pruning
    raise InvalidParameterError(
        f"The 'lookahead' parameter of {type(tree).__name__} must be 'auto' or 0 "
        f"unless {wanted}. Got {tree.lookahead!r} instead."
    )


def _unmet_condition(cost, settings, schema):
    # What look-ahead needs and does not have, or None.
    bound = settings.bound
    if bound is None or not bound.judges_alone:
        return "the bound judges each test by itself, as 'gtest' and 'chi2' do"
    if cost is None:
        return "the pruning is 'pessimistic'"
    if settings.random_cuts:
        return "splitter='best'"
    if settings.max_features < schema.n_features:
        return "max_features takes all features"
    if settings.max_leaves < sys.maxsize:  # which is no limit
        return "max_leaf_nodes=None"
    return None
