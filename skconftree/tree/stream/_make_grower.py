"""The grower that goes with the settings of a growth."""

from ._grower import Grower
from ._watched_grower import WatchedGrower


def make_grower(tree, recipe):
    """Make what grows a tree row by row.

    Parameters
    ----------
    tree : Tree
        With at least a root.
    recipe : Recipe

    Returns
    -------
    Grower
        Its leaves have no memory yet: `Grower.open_leaves`.

    Raises
    ------
    ValueError
        If tree and recipe do not fit each other.
    """
    kind = Grower if recipe.settings.drift is None else WatchedGrower
    return kind(tree, recipe)
