"""From the parameter `lookahead` to how a growth looks ahead."""

import numpy as np

from .._compat import InvalidParameterError
from .batch._grow import Lookahead
from .pruning._registry import leaf_cost

WIDTH = 3  # tests tried at a node


def resolve_lookahead(lookahead, bound, pruning, confidence, settings, table):
    """Resolve how a tree looks ahead while it grows.

    Parameters
    ----------
    lookahead : int or "auto"
        As in `ConfidenceTreeClassifier`.
    bound : BaseBound or None
    pruning, confidence
        What `resolve_pruning` gives.
    settings : GrowthSettings
    table : TrainingTable

    Returns
    -------
    Lookahead or None
        None: not at all.

    Raises
    ------
    InvalidParameterError
        If it is asked for with what it does not go with.
    """
    n_levels = lookahead
    if lookahead == "auto":
        n_levels = 0 if bound is None else bound.lookahead
    if not n_levels:
        return None
    wanted = _what_stands_in_the_way(bound, pruning, confidence, settings, table)
    if wanted is None:
        return Lookahead(leaf_cost(pruning, confidence), n_levels, WIDTH)
    if lookahead == "auto":
        return None
    raise InvalidParameterError(
        f"The 'lookahead' parameter must be 'auto' or 0 unless {wanted}. "
        f"Got {lookahead!r}."
    )


def _what_stands_in_the_way(bound, pruning, confidence, settings, table):
    # What look-ahead asks for, if it is not there.
    if bound is None or not bound.judges_alone:
        return "the bound judges each test by itself, as 'gtest' does"
    if pruning is None or leaf_cost(pruning, confidence) is None:
        return "pruning is 'pessimistic'"
    if settings.random_cuts:
        return "splitter is 'best'"
    values = settings.values()
    if values["max_features"] not in (None, table.X.shape[1]):
        return "max_features takes all features"
    if values["max_leaves"] is not None:
        return "max_leaf_nodes is None"
    if not isinstance(table.X, np.ndarray):
        return "X is dense"
    return None
