"""Construction of growers (incrementally trained trees) from their recipes."""

from ...drift._base import LocalRepair
from ...tables._sparse import blocks
from ..nodes._tree import Tree
from ._drift import LocalGrower, ReplacingGrower
from ._grower import Grower


def grower_class(drift):
    """Return the class of growers for a value of the setting `drift`."""
    if drift is None:
        return Grower
    return LocalGrower if isinstance(drift, LocalRepair) else ReplacingGrower


def make_grower(tree, recipe):
    """Make a grower with empty leaf memories; ValueError if tree and recipe differ."""
    grower = grower_class(recipe.settings.drift)(tree, recipe)
    grower.init_leaves()
    return grower


def start_grower(n_features, n_classes, recipe):
    """Make the grower of a new tree."""
    has_bound = recipe.settings.bound is not None
    tree = Tree(n_features, n_classes, recipe.class_weight, has_bound)
    tree._add_root()
    return make_grower(tree, recipe)


def make_grower_with_rows(tree, recipe, X, y, weight, n_codes):
    """Make the grower of a fitted tree whose leaves store its rows."""
    grower = grower_class(recipe.settings.drift)(tree, recipe)
    grower.reserve_codes(n_codes)
    grower.init_leaves()
    for rows, block in blocks(X):
        grower.add_fitted_rows(block, y[rows], None if weight is None else weight[rows])
    grower.retire_evidence()
    return grower
