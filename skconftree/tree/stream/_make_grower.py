"""What grows a tree row by row, made from the settings of its growth."""

from ..nodes._tree import Tree
from ._feeding import remember_rows
from ._grower import Grower
from ._watched_grower import WatchedGrower


def make_grower(tree, recipe):
    """Make what goes on growing a tree, each leaf with an empty memory.

    Parameters
    ----------
    tree : Tree
        It belongs to the grower from now on.
    recipe : Recipe

    Returns
    -------
    Grower

    Raises
    ------
    ValueError
        If tree and recipe do not fit each other, or `max_bytes` is too small.
    """
    kind = Grower if recipe.settings.drift is None else WatchedGrower
    grower = kind(tree, recipe)
    grower.open_leaves()
    return grower


def start_grower(n_features, n_classes, recipe):
    """Make what grows a new tree.

    Parameters
    ----------
    n_features, n_classes : int
    recipe : Recipe

    Returns
    -------
    Grower
    """
    bounded = recipe.settings.bound is not None
    tree = Tree(n_features, n_classes, recipe.class_weight, bounded)
    tree.add_root()
    return make_grower(tree, recipe)


def make_grower_with_rows(tree, recipe, X, y, weight, n_codes):
    """Make what goes on growing a fitted tree, whose leaves remember its rows.

    Parameters
    ----------
    tree : Tree
    recipe : Recipe
    X, y, weight
        The rows that the tree was fitted to, as for `learn_rows`.
    n_codes : int
        Largest number of categories of a feature.

    Returns
    -------
    Grower
    """
    kind = Grower if recipe.settings.drift is None else WatchedGrower
    grower = kind(tree, recipe)
    grower.reserve_codes(n_codes)
    grower.open_leaves()
    remember_rows(grower, X, y, weight)
    return grower
