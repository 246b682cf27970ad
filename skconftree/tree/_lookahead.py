"""From the parameter `lookahead` to how a growth looks ahead."""

import sys
from functools import partial

from .._compat import InvalidParameterError
from .batch._grow import Lookahead
from .pruning._registry import PRUNINGS, resolve_pruning

FIRST = 1  # depth of the first test that it chooses: the root stays the greedy one
WIDTH = 3  # tests tried at a node
LARGEST_TABLE = 10_000  # weight up to which "auto" looks ahead


def resolve_lookahead(tree, defaults, pruning, settings, schema, total, n_rows):
    """Resolve how a tree looks ahead while it grows, and how it is pruned then.

    `defaults` is what ``"auto"`` means with the bound; `total` is the weight of all
    rows.
    """
    n_levels = tree.lookahead
    if n_levels == "auto":
        usual = PRUNINGS.get(defaults.pruning)
        served = type(pruning) is usual and total <= LARGEST_TABLE
        n_levels = defaults.lookahead if served else 0
    if not n_levels:
        return None, pruning
    looking, cost = pruning, None
    if tree.pruning == "auto":
        looking = resolve_pruning("auto", defaults, looks_ahead=True)
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
