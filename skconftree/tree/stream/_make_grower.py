"""Construction of growers (incrementally trained trees) from their recipes.

A recipe (_state.py) has the arguments from which a grower is made. The memory of a leaf
has the rows, or statistics of the rows, from which candidate splits are evaluated. A
bound is the rule that accepts or rejects a split.
"""

from ...drift._base import LocalRepair  # replaces subtrees after a drift
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
    """Make a grower with empty leaf memories.

    Raises ValueError if the recipe does not fit the tree.
    """
    grower = grower_class(recipe.settings.drift)(tree, recipe)
    grower.init_leaves()
    return grower


def start_grower(n_features, n_classes, recipe):
    """Make the grower of a new tree."""
    has_bound = recipe.settings.bound is not None
    tree = Tree(n_features, n_classes, recipe.class_weight, keep_evidence=has_bound)
    tree._add_root()
    return make_grower(tree, recipe)


def make_grower_with_rows(tree, recipe, X, y, weight, n_codes):
    """Make the grower of a fitted tree whose leaves store statistics of its rows.

    `n_codes` is the largest number of categories of a feature.
    """
    grower = grower_class(recipe.settings.drift)(tree, recipe)
    grower.reserve_codes(n_codes)
    grower.init_leaves()
    for rows, block in blocks(X):
        grower.add_fitted_rows(block, y[rows], None if weight is None else weight[rows])
    # `fit` has used these rows: they count for predictions, not for further splits
    grower.retire_evidence()
    return grower
