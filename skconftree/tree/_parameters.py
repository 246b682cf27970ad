"""Parameters of trees and forests: valid values, and the settings they imply.

Combinations of parameters are validated where they are resolved (`resolve_*`). A bound
is the split rule of a tree, see `skconftree.bounds`. A *schema* has the names, types
and categories of the columns. A *cut* is a threshold that a split may use. When a leaf
is split, its children *inherit* its rows, or statistics of them. The *pool* consists of
unlabeled rows. *Look-ahead* chooses a split by the subtrees that can be grown below it.
A split has *strong evidence* if its adjusted p-value is below 0.01. A bound has *fixed
cuts* if the cuts of a leaf must not change. Rows *are evidence* if the bound uses them:
it *counts every row* if it also uses inherited rows, and *counts stored rows* if it
uses, of these, only those that the parent stored one by one.
"""

import math
import sys
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
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
from ..criteria import BaseCriterion
from ..criteria._criterion import CRITERIA, criterion_maker
from ..drift import BaseDetector, LocalRepair  # which replaces subtrees after a drift
from ..drift._registry import DETECTORS, resolve_detector
from ..tables._growth_data import (
    KINDS,  # of sample weights: "frequency" (numbers of rows), "relative", "auto"
    LARGEST,
    MAX_NODES,
    NEGLIGIBLE,  # share of the total weight
    resolve_max_features,
)
from ..utils._codec import NO_DEFAULT, merge_defaults
from ._monotonic import constrain, make_isotonic
from ._settings import MIN_CUT_ROWS, GrowthSettings
from .batch._grow import Lookahead, grow
from .pruning._base import BasePruning, TrainingRows
from .pruning._classes import CostComplexityPruning
from .pruning._pruning import merge_leaves
from .pruning._registry import PRUNINGS, prune, resolve_pruning

MIN_BYTES = 65536  # smallest `max_bytes`
# Rows from which a leaf counts them in bins, by `leaf_memory`. None: no limit. With
# "gaussian", a leaf stores moments of each feature and class instead.
ROW_LIMIT = {"rows": None, "histogram": 64, "gaussian": None}
# A growing leaf is a leaf of a tree trained by `partial_fit`. With leaf_memory="auto"
# it stores up to AUTO_VALUES values, within the limits AUTO_ROWS of rows. All leaves
# together store up to AUTO_STORED_VALUES values of rows in addition to counts.
AUTO_VALUES = 8192
AUTO_ROWS = (128, 512)
AUTO_STORED_VALUES = 2**20
# The grace period is the weight of rows between split attempts of a leaf. The largest
# value of "auto", and its smaller values at the start of a stream if inherited rows
# count as evidence: for a single tree; for a tree of a forest, which averages errors;
# and near the root of such a tree, where splits affect most rows.
AUTO_GRACE_LIMIT = 100.0
AUTO_GRACE = 50.0
AUTO_GRACE_IN_FOREST = 25.0
AUTO_ROOT_GRACE = 60.0

_NO_BOOSTING = "There is no boosting here; ConfidenceForestClassifier has n_estimators"
# Parameters of scikit-learn's trees and forests, and hints what to use instead.
COUNTERPARTS = {
    "interaction_cst": "There are no constraints on interactions here",
    "max_iter": _NO_BOOSTING,
    "learning_rate": _NO_BOOSTING,
    "l2_regularization": "shrinkage regularizes the probabilities of small leaves",
}


class Growth(NamedTuple):
    """Context on which the meaning of a parameter may depend.

    `total` is the weight of all rows, None in a stream. `relative`: only the ratios of
    the weights of rows matter. `in_forest`: the tree is one of a forest. `rate` is how
    often a tree of a forest learns a row, on average.
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
        """Whether there is a memory limit."""
        return self.estimator.max_bytes is not None

    @property
    def inherited_is_evidence(self):
        """Whether inherited rows are evidence in most leaves."""
        return (
            self.bound is not None
            and self.bound.counts_stored_rows
            and self.estimator.leaf_memory in ("auto", "rows")
        )


class Parameter(NamedTuple):
    """A parameter of the estimators: valid values and meaning.

    `allowed` are constraints as in scikit-learn. `settings` maps names of
    `GrowthSettings` to functions of the value and the `Growth`; it is empty for
    parameters that are not about growth. `stream_settings` are for row-by-row growth
    only.
    """

    allowed: list
    settings: dict[str, Callable] = {}
    stream_settings: dict[str, Callable] = {}


def _number(value, growth):
    return float(value)


def _count(value, growth, limit=MAX_NODES):
    return None if value is None else min(int(value), limit)


def _min_weight(harmless):
    """Make the resolver of a minimum weight; a float is a fraction of the total.

    Relative weights of rows may be arbitrarily small. A limit of up to `harmless` rows,
    which excludes nothing without weights, then excludes nothing, either.
    """

    def weight(limit, growth):
        if growth.total is None:  # negative: a fraction of the weight so far
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
    has_nominal = growth.schema.features is not None  # None: all are numeric
    return has_nominal and splits == "multiway"


def _row_limit(memory, growth):
    if memory == "auto":
        low, high = AUTO_ROWS
        limit = min(max(AUTO_VALUES // growth.schema.n_features, low), high)
    else:
        limit = ROW_LIMIT[memory]
    if limit is not None and growth.bound is not None and growth.bound.fixed_cuts:
        return MIN_CUT_ROWS  # the weight of rows from which cuts are set
    return limit


def _stored_rows(memory, growth):
    # Rows that leaves store for their children. With a memory limit, or in a forest,
    # the memory is better used otherwise.
    if memory != "auto" or not growth.inherited_is_evidence:
        return 0
    if growth.in_forest or growth.is_limited:
        return 0
    return AUTO_STORED_VALUES // growth.schema.n_features


def _max_features(value, growth):
    if value == "auto":
        # in a stream, a leaf never gets features that it has not drawn
        value = "sqrt" if growth.in_forest and growth.total is not None else None
    return resolve_max_features(value, growth.schema.n_features)


def _row_weight(value, growth):
    # A row that is learned several times counts once for the grace period.
    return max(growth.rate, 1.0) if value == "auto" else 1.0


def _grace_period(value, growth):
    if value != "auto":
        return float(value)
    rows = AUTO_GRACE_LIMIT
    if growth.inherited_is_evidence:
        rows = AUTO_GRACE_IN_FOREST if growth.in_forest else AUTO_GRACE
    return rows * _row_weight(value, growth)


def _grace_limit(value, growth):
    if value != "auto":
        return float(value)
    return AUTO_GRACE_LIMIT * _row_weight(value, growth)


def _root_grace(value, growth):
    if value != "auto" or not growth.in_forest:
        return 0.0
    return AUTO_ROOT_GRACE * _row_weight(value, growth)


def _drift(value, growth):
    if value == "auto":  # of a forest
        uses_pool = growth.bound is not None and growth.bound.uses_pool
        repairs = growth.total is None and not (growth.is_limited or uses_pool)
        value = "local" if repairs else None
    return None if value is None else resolve_detector(value)


PARAMETERS = {
    "bound": Parameter([str, BaseBound, None]),
    "criterion": Parameter([StrOptions(set(CRITERIA)), type, BaseCriterion, None]),
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
        {"min_samples_split": _min_weight(harmless=2.0)},
    ),
    "min_samples_leaf": Parameter(
        [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        {"min_samples_leaf": _min_weight(harmless=1.0)},
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
    "ccp_alpha": Parameter([Interval(Real, 0.0, LARGEST, closed="both")]),
    "monotonic_cst": Parameter(["array-like", dict, None]),
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
            "max_bytes": lambda value, growth: _count(value, growth, sys.maxsize - 1)
        },
    ),
    "leaf_prediction": Parameter(
        # "nb": naive Bayes; "nba": naive Bayes in leaves in which it predicts better
        [StrOptions({"auto", "majority", "nb", "nba"})],
        stream_settings={
            "leaf_prediction": lambda name, growth: "nba" if name == "auto" else name
        },
    ),
    # rows at the start of a stream that are stored, to refit a tree to them
    "refit_rows": Parameter(
        [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})]
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
CONSTRAINTS = {name: parameter.allowed for name, parameter in PARAMETERS.items()}
# (setting, parameter, resolver) for each setting
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


# Largest weight that a leaf inherits from a parent that stores a histogram or moments.
MAX_INHERITED = 100.0


def resolve_split_rule(bound, criterion, delta, caller):
    """Resolve the bound and the criterion."""
    requested = bound
    bound = resolve_bound(bound, delta)
    name = "entropy" if criterion == "log_loss" else criterion
    if isinstance(name, type) and criterion_maker(name) is None:
        raise InvalidParameterError(
            f"The 'criterion' parameter of {caller} must be a name, None, or a class "
            f"or object that `skconftree.testing.check_criterion` accepts. Got "
            f"{criterion!r} instead."
        )
    if isinstance(name, BaseCriterion):
        name = clone(name)
        name.check_parameters()
    if bound is None:
        return bound, name or "gini"
    if name is None:
        return bound, bound.check_criterion(None)
    if name not in bound.criteria:
        raise InvalidParameterError(
            f"The 'criterion' parameter of {caller} with bound={requested!r} must be "
            f"None or one of {list(bound.criteria)}. Got {criterion!r} instead."
        )
    return bound, name


def requested_pruning(estimator):
    """The parameter `pruning`, or the pruning by `ccp_alpha` if that is above 0."""
    if estimator.ccp_alpha == 0.0:
        return estimator.pruning
    if estimator.pruning is None or estimator.pruning == "auto":
        return CostComplexityPruning(estimator.ccp_alpha)
    raise InvalidParameterError(
        f"The 'pruning' parameter of {type(estimator).__name__} must be 'auto' or None "
        f"with ccp_alpha={estimator.ccp_alpha!r}. Got {estimator.pruning!r} instead."
    )


def tree_defaults(bound):
    """Meaning of ``"auto"`` for a bound, or for None."""
    return TreeDefaults() if bound is None else bound.defaults


def resolve_shrinkage(shrinkage, defaults):
    """Resolve the strength of hierarchical shrinkage."""
    return float(defaults.shrinkage if shrinkage == "auto" else shrinkage)


def resolve_settings(
    estimator,
    bound,
    criterion,
    schema,
    total=None,
    relative=False,
    *,
    monotonic_cst=None,
    in_forest=False,
    rate=1.0,
):
    """Resolve growth parameters; those of streams only if there is no `total`."""
    growth = Growth(estimator, bound, schema, total, relative, in_forest, rate)
    settings = {
        "criterion": criterion,
        "bound": bound,
        "monotonic_cst": monotonic_cst,
    }
    resolvers = BATCH_RESOLVERS
    if total is None:
        resolvers = RESOLVERS
        separate = bound is not None and not bound.counts_every_row
        settings["inherited"] = MAX_INHERITED if separate else math.inf
    for setting, name, resolve in resolvers:
        settings[setting] = resolve(getattr(estimator, name), growth)
    return GrowthSettings(**settings)


def draw_seed(random_state, settings, n_features):
    """Draw the seed of row-by-row growth, if the tree is randomized."""
    if settings.random_cuts or settings.max_features < n_features:
        return int(check_random_state(random_state).randint(2**31 - 1))
    return 0


class Resolved(NamedTuple):
    """Resolved values of parameters such as "auto"."""

    bound: object
    criterion: str
    max_features: int
    pruning: object = None
    lookahead: int = 0
    taken_back: int | None = None  # number of splits removed by pruning; None: unknown


def read_resolved(parts):
    """Make `Resolved` from a state; StateError if it has unknown parts."""
    defaults = dict.fromkeys(Resolved._fields, NO_DEFAULT) | Resolved._field_defaults
    return Resolved(**merge_defaults(parts, defaults, "The state of a tree"))


class Grown(NamedTuple):
    """A tree, and the number of its splits that pruning removed."""

    tree: object
    n_pruned: int


class Plan(NamedTuple):
    """Settings to grow and prune a tree; the features `left_out` are not used.

    If `keeps_stops`, the tree stores why each leaf was not split. If `merges`, leaves
    of splits without strong evidence that predict the same class are merged.
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
        """Resolved parameters of its trees."""
        return Resolved(
            self.settings.bound,
            self.settings.criterion,
            self.settings.max_features,
            self.pruning,
            0 if self.lookahead is None else self.lookahead.n_levels,
        )

    def grow(self, data, seed, rows, *, consumes=False, thread_team=None):
        """Grow a tree, prune it and shrink its leaves.

        `rows()` returns the training rows, their classes, and weights or None.
        With `consumes`, `data` cannot be used again.
        """
        settings = self.settings
        tree = grow(
            data,
            settings,
            seed,
            left_out=self.left_out,
            consumes=consumes,
            lookahead=self.lookahead,
            thread_team=thread_team,
            keeps_stops=self.keeps_stops,
        )
        rows = TrainingRows(rows, settings.criterion, settings.bound)
        pruned = prune(tree, self.pruning, rows)
        pruned._shrunk_by(self.shrinkage)
        if settings.monotonic_cst is not None:  # clip probabilities; later isotonic
            constrain(pruned, settings.monotonic_cst)
        if self.merges:
            pruned = merge_leaves(pruned)
        if settings.monotonic_cst is not None:
            make_isotonic(pruned, settings.monotonic_cst)
        n_pruned = np.count_nonzero(tree.n_children) - np.count_nonzero(
            pruned.n_children
        )
        return Grown(pruned, int(n_pruned))


FIRST_DEPTH = 1  # first depth of look-ahead: the root is split without it
N_TRIALS = 3  # splits tried at a node
MAX_LOOKAHEAD_WEIGHT = 10_000  # weight up to which "auto" has look-ahead


def resolve_lookahead(tree, defaults, pruning, settings, schema, total, n_rows):
    """Resolve look-ahead and its pruning; `defaults` is the meaning of ``"auto"``.

    With look-ahead, a split is chosen by the pruned trees that can be grown below it.
    """
    n_levels = tree.lookahead
    if n_levels == "auto":
        default_pruning = PRUNINGS.get(defaults.pruning)
        applies = type(pruning) is default_pruning and total <= MAX_LOOKAHEAD_WEIGHT
        n_levels = defaults.lookahead if applies else 0
    if not n_levels:
        return None, pruning
    # `cost` estimates errors of a leaf; it is None unless the pruning is pessimistic
    lookahead_pruning, cost = pruning, None
    if requested_pruning(tree) == "auto":
        lookahead_pruning = resolve_pruning("auto", defaults, has_lookahead=True)
    if pruning is not None:
        cost = lookahead_pruning.leaf_cost(n_rows)
    condition = _unmet_condition(cost, settings, schema)
    if condition is None:
        new_cost = partial(lookahead_pruning.leaf_cost, n_rows)  # for another thread
        resolved = Lookahead(
            cost, FIRST_DEPTH, int(n_levels), N_TRIALS, make_leaf_cost=new_cost
        )
        return resolved, lookahead_pruning
    if tree.lookahead == "auto":
        return None, pruning
    raise InvalidParameterError(
        f"The 'lookahead' parameter of {type(tree).__name__} must be 'auto' or 0 "
        f"unless {condition}. Got {tree.lookahead!r} instead."
    )


def _unmet_condition(cost, settings, schema):
    # The first requirement of look-ahead that is not met, or None.
    bound = settings.bound
    if bound is None or not bound.decides_per_split:
        return "the bound judges each split on its own, as 'gtest' and 'chi2' do"
    if cost is None:
        return "the pruning is 'pessimistic'"
    if settings.random_cuts:
        return "splitter='best'"
    if settings.max_features < schema.n_features:
        return "max_features includes all features"
    if settings.max_leaves < sys.maxsize:  # sys.maxsize means no limit
        return "max_leaf_nodes=None"
    return None
