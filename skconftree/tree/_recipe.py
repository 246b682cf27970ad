"""What a growing tree is made from, checked before it is believed.

A recipe comes out of a pickle, and kernels index arrays with what it says. So every
value is checked by the table below, and then that they fit each other and the tree.
"""

import math
import sys
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np

from ..bounds._base import BaseBound
from ..drift import BaseDetector
from ..tables._features import MAX_CATEGORIES, UNKNOWN
from .leaves._predictor import PREDICTIONS
from .split._criterion import CRITERIA

LARGEST = 2**62


class _Number(NamedTuple):
    kind: type
    low: float
    high: float

    def contains(self, value):
        return (
            isinstance(value, self.kind)
            and not isinstance(value, bool)
            and self.low <= value <= self.high
        )

    def __str__(self):
        name = "an integer" if self.kind is Integral else "a number"
        return f"{name} in [{self.low}, {self.high}]"


class _Choice(NamedTuple):
    choices: tuple

    def contains(self, value):
        return any(type(value) is type(one) and value == one for one in self.choices)

    def __str__(self):
        return f"one of {list(self.choices)}"


class _Kind(NamedTuple):
    kinds: tuple

    def contains(self, value):
        return isinstance(value, self.kinds)

    def __str__(self):
        return " or ".join(kind.__name__ for kind in self.kinds)


NOTHING = type(None)
FLAG = _Choice((False, True))
ARRAY = _Kind((np.ndarray, NOTHING))
LIMIT = _Number(Real, -1.0, math.inf)  # a weight, or minus a fraction of all weight

RECIPE = {
    "criterion": _Choice(tuple(CRITERIA)),
    "bound": _Kind((BaseBound, NOTHING)),
    "tie_threshold": _Number(Real, 0.0, math.inf),
    "class_weight": ARRAY,
    "X_pool": ARRAY,
    "box": ARRAY,
    "drift": _Kind((BaseDetector, NOTHING)),
    "options": _Kind((dict,)),
}
OPTIONS = {
    # of the splitter
    "has_pool": FLAG,
    "by_volume": FLAG,
    "min_impurity_decrease": _Number(Real, 0.0, math.inf),
    "max_features": _Number(Integral, 1, LARGEST),
    "random_cuts": FLAG,
    "seed": _Number(Integral, 0, LARGEST),
    "nominal": _Kind((list,)),
    "multiway": FLAG,
    # of the leaves
    "gaussian": FLAG,
    "row_limit": _Number(Integral, -1, LARGEST),
    "max_bins": _Number(Integral, 2, 65536),
    "separate": FLAG,
    "fixed_cuts": FLAG,
    "inherited": _Number(Real, 1.0, math.inf),
    "leaf_prediction": _Choice(tuple(PREDICTIONS)),
    # of the growth
    "grace_period": _Number(Real, 0.0, math.inf),
    "recurses": FLAG,
    "max_depth": _Number(Integral, 1, LARGEST),
    "max_leaves": _Number(Integral, 2, LARGEST),
    "min_samples_split": LIMIT,
    "min_samples_leaf": LIMIT,
    "min_weight_fraction_leaf": _Number(Real, 0.0, 0.5),
    "max_bytes": _Number(Integral, -1, sys.maxsize),
}


def check_recipe(recipe, tree):
    """Raise unless a tree can go on growing by a recipe.

    Parameters
    ----------
    recipe : object
        What was in a pickle, or what `make_recipe` gives.
    tree : Tree

    Raises
    ------
    ValueError
        If a value is missing or of another kind, or does not fit the others.
    """
    _check_values("", recipe, RECIPE)
    _check_values("options of the ", recipe["options"], OPTIONS)
    if not (
        _is_from_bound(recipe["options"], recipe["bound"])
        and _fits_tree(recipe, tree)
        and _are_codes(recipe["X_pool"], recipe["options"]["nominal"])
    ):
        raise ValueError("The recipe of this growing tree does not fit the tree.")


def _check_values(where, given, table):
    if not isinstance(given, dict) or given.keys() != table.keys():
        raise ValueError(
            f"The {where}recipe of this growing tree must name {list(table)}; it was "
            f"written by another release or is damaged."
        )
    for name, wanted in table.items():
        if not wanted.contains(given[name]):
            raise ValueError(
                f"The {where}recipe of this growing tree must have {name} be {wanted}. "
                f"Got {given[name]!r} instead."
            )


def _is_from_bound(options, bound):
    # What counts as evidence is nobody's choice.
    if bound is None:
        counting = (False, False, False, False)
    else:
        counting = (
            not bound.counts_every_row,
            bound.fixed_cuts,
            bound.examines_children,
            getattr(bound, "pool_weight", "pool") == "volume",
        )
    names = ("separate", "fixed_cuts", "recurses", "by_volume")
    return counting == tuple(options[name] for name in names)


def _fits_tree(recipe, tree):
    d, K = tree.n_features, tree.n_classes
    options, nominal = recipe["options"], recipe["options"]["nominal"]
    pool, box = recipe["X_pool"], recipe["box"]
    n_pool = 0 if pool is None else len(pool)
    tested = np.flatnonzero(tree.is_nominal)
    return bool(
        tree.node_count > 0
        and _is_table(recipe["class_weight"], np.float64, (K,), low=0.0)
        and _is_table(pool, np.float32, (n_pool, d), holes=True)
        and _is_table(box, np.float64, (d, 2))
        and options["has_pool"] == (pool is not None)
        and options["by_volume"] == (box is not None)
        and options["max_features"] <= d
        and all(_Number(Integral, 0, d - 1).contains(f) for f in nominal)
        and nominal == sorted(set(nominal))
        and set(tree.feature[tested].tolist()) <= set(nominal)
        and (nominal or not options["multiway"])
    )


def _is_table(array, dtype, shape, *, low=-math.inf, holes=False):
    # Whether it is None or an array that compiled code can take.
    if array is None:
        return True
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        return False
    sound = np.isfinite(array) & (array >= low)
    return bool((sound | np.isnan(array) if holes else sound).all())


def _are_codes(pool, nominal):
    if pool is None or not nominal:
        return True
    codes = pool[:, nominal]
    whole = (codes >= UNKNOWN) & (codes <= MAX_CATEGORIES) & (codes == np.rint(codes))
    return bool(whole.all())
