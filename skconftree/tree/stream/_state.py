"""Recipe (constructor arguments) and state of a tree that is trained row by row.

Recipes are read from pickles, and compiled code uses their values as indices. Settings
validate themselves; this module validates the rest and its consistency with the tree. A
*challenger* is a tree that may replace a subtree after a drift, and a *monitor* has the
errors of a node (_drift.pyx). A *cut* is a threshold that a split may use. A *multiway*
split has a branch for each category.
"""

import math
from typing import NamedTuple

import numpy as np

from ...drift import BaseDetector
from ...drift._base import LocalRepair  # replaces subtrees after a drift
from ...tables._features import MAX_CATEGORIES, UNKNOWN
from ...tables._growth_data import CLASS_LIMITS
from ...tables._sparse import column_limits
from ...utils._codec import NO_DEFAULT, StateError, canonical, is_array, merge_defaults
from .._settings import GrowthSettings, read_settings

MAX_SEED = 2**62


class Recipe(NamedTuple):
    """Arguments from which a tree that is trained row by row is made.

    `seed` is for random features and cuts. `nominal` features are ascending. `X_pool`
    are unlabeled rows. `box` has the limits of the features if the weight of a leaf is
    its volume. `in_forest` is True for a tree of a forest: a leaf then draws
    `max_features` features once and uses only these, while a single tree draws features
    at each split attempt. A tree of a forest that replaces another after a drift has a
    different seed. `n_first` is the number of features when the forest started, if
    others were added later. A leaf in a forest that inherited rows of its parent has a
    single naive Bayes model, to save time.
    """

    settings: GrowthSettings
    seed: int = 0
    class_weight: np.ndarray | None = None
    nominal: tuple = ()
    X_pool: np.ndarray | None = None
    box: np.ndarray | None = None
    in_forest: bool = False
    n_first: int | None = None

    def values(self):
        """Return the recipe as a dict of plain values, for pickles."""
        return canonical(self._asdict() | {"settings": self.settings.values()})


def box_of_tables(*tables):
    """Limits of the features over tables; None is skipped."""
    limits = [column_limits(table) for table in tables if table is not None]
    if not limits:
        raise ValueError(
            "pool_weight='volume' requires the limits of the features. Pass X_pool in "
            "the first call of partial_fit."
        )
    low, high = np.moveaxis(limits, 2, 0)
    box = np.column_stack([np.fmin.reduce(low), np.fmax.reduce(high)])
    # a feature with no value has width 0
    return np.nan_to_num(box.astype(float))


def read_recipe(values):
    """Make a recipe from pickled `Recipe.values`; ValueError if they are corrupt."""
    defaults = {"settings": NO_DEFAULT, **Recipe._field_defaults}
    values = merge_defaults(values, defaults, "The stored state of this growing tree")
    return Recipe(**values | {"settings": read_settings(values["settings"])})


def check_recipe(recipe, tree):
    """Raise ValueError unless a recipe matches a tree."""
    if not (
        type(recipe.seed) is int
        and 0 <= recipe.seed <= MAX_SEED
        and type(recipe.in_forest) is bool
        and type(recipe.nominal) is tuple
        and _fits_tree(recipe, tree)
        and _are_codes(recipe.X_pool, recipe.nominal)
    ):
        raise ValueError(
            "The stored arguments of this growing tree do not match its nodes. Load "
            "another copy, or fit it again."
        )


def _fits_tree(recipe, tree):
    d, K = tree.n_features, tree.max_n_classes
    settings, nominal, n_first = recipe.settings, recipe.nominal, recipe.n_first
    n_first = d if n_first is None else n_first
    pool, box = recipe.X_pool, recipe.box
    split = tree.feature >= 0
    return bool(
        tree.node_count > 0
        and _is_table(recipe.class_weight, np.float64, (K,), low=0.0)
        and _weights_fit_counts(recipe.class_weight, tree.counts)
        and _is_table(pool, np.float32, (None, d), may_miss=True)
        and _is_table(box, np.float64, (d, 2))
        and (pool is None or settings.uses_pool)
        and settings.by_volume == (box is not None)
        and isinstance(settings.drift, BaseDetector | LocalRepair | None)
        and type(n_first) is int
        # None: all features
        and (settings.values()["max_features"] or 1) <= n_first <= d
        and all(type(f) is int and 0 <= f < d for f in nominal)
        and nominal == tuple(sorted(set(nominal)))
        and np.array_equal(
            tree.is_nominal[split], np.isin(tree.feature[split], nominal)
        )
        and (nominal or not settings.multiway)
    )


def _is_table(array, dtype, shape, *, low=-math.inf, may_miss=False):
    # Whether a value is None or a valid array for compiled code.
    if array is None:
        return True
    if not is_array(array, dtype, shape) or not array.flags.c_contiguous:
        return False
    valid = np.isfinite(array) & (array >= low)
    return bool((valid | np.isnan(array) if may_miss else valid).all())


def _weights_fit_counts(class_weight, counts):
    # Rows of a class of weight 0 are not learned, so no leaf may have counts of it.
    if class_weight is None:
        return True
    low, high = CLASS_LIMITS  # of weights above 0
    zero = class_weight == 0.0
    within = (class_weight >= low) & (class_weight <= high)
    return bool((zero | within).all() and not counts[:, zero].any())


def _are_codes(pool, nominal):
    if pool is None or not nominal:
        return True
    codes = pool[:, nominal]
    whole = (codes >= UNKNOWN) & (codes <= MAX_CATEGORIES) & (codes == np.rint(codes))
    return bool(whole.all())


STATE_VERSION = 7


class GrowerState(NamedTuple):
    """State of the growth of a tree, in the order of its tuple after the version."""

    n_rows_seen: int
    weight_seen: float
    total_weight: float
    full: bool  # no further split fits into `max_bytes`
    whole: bool  # all weights so far were integers
    leaves: bytes
    detector: object = None  # drift detector, from `write_detector`
    # Tree that is trained since a warning, from `write_nodes`, and the state of its
    # growth.
    background: object = None
    missing: bool = False  # a row with a missing value has been seen
    n_codes: tuple | None = None  # categories of each feature, -1: numeric
    drifts: tuple = ()  # row and node of each detected drift
    monitors: object = None  # of the nodes, from `NodeMonitors.write`
    # Each challenger (an alternative subtree, see _drift.pyx): its node, its slot (its
    # number among the present challengers), its serial number (among all so far),
    # `Challenger.numbers`, its tree, and the state of its growth.
    challengers: tuple = ()
    n_challenger_rows: int = 0  # rows that unsuccessful challengers have learned
    n_started: int = 0  # number of challengers started so far
    learned: bytes | None = None  # bit mask of the rows of `X_pool` that got a label
    losses: tuple = ()  # of naive Bayes, from `LeafPredictor.write_losses`


def read_state(state):
    """Make a `GrowerState` from a tuple; missing parts at its end get defaults."""
    n_parts = len(GrowerState._fields)
    n_required = n_parts - len(GrowerState._field_defaults)
    if (
        not isinstance(state, tuple)
        or not n_required <= len(state) - 1 <= n_parts
        or state[0] != STATE_VERSION
    ):
        raise StateError(
            f"The state of this growing tree must have version {STATE_VERSION} and "
            f"{n_required} to {n_parts} parts. It was written by another release; load "
            "it with that release, or fit the tree again."
        )
    return GrowerState(*state[1:])
