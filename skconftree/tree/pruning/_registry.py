"""Pruning methods by name.

With *look-ahead*, trees choose splits by the pruned subtrees that can be grown below.
"""

from functools import lru_cache

from sklearn.base import clone

from ...utils._warnings import warn
from ._base import BasePruning
from ._classes import (
    C45Pruning,
    Chi2Pruning,
    CostComplexityPruning,
    EC2Pruning,
    PessimisticPruning,
    PossibilisticPruning,
)

PRUNINGS: dict[str, type[BasePruning]] = {
    "pessimistic": PessimisticPruning,
    "c45": C45Pruning,
    "chi2": Chi2Pruning,
    "ec2": EC2Pruning,
    "possibilistic": PossibilisticPruning,
    "cost_complexity": CostComplexityPruning,
}


def resolve_pruning(pruning, defaults, *, has_lookahead=False):
    """Return a validated copy of a pruning, or None.

    "auto" means the pruning in `defaults`, those of the bound (split rule).
    """
    confidence = None
    if isinstance(pruning, str) and pruning == "auto":
        pruning, confidence = defaults.pruning, defaults.pruning_confidence
        if has_lookahead and defaults.lookahead_confidence is not None:
            confidence = defaults.lookahead_confidence
    if pruning is None:
        return None
    if isinstance(pruning, str) and pruning == "cost_complexity":
        warn(
            "pruning='cost_complexity' prunes nothing, because ccp_alpha is 0.0 by "
            "default. Set pruning=CostComplexityPruning(ccp_alpha), for example with "
            "ccp_alpha=0.01."
        )
    if isinstance(pruning, str):
        _check_default(PRUNINGS[pruning], confidence)
        return _with_strength(PRUNINGS[pruning](), confidence)
    pruning = _with_strength(clone(pruning), confidence)
    pruning.check_parameters()
    return pruning


def _with_strength(pruning, confidence):
    # Set the parameter that controls how strongly it prunes; None: keep its value.
    if confidence is not None:
        # set_params reads signatures, which takes longer than growing a small tree
        setattr(pruning, pruning.strength_parameter, float(confidence))
    return pruning


@lru_cache(maxsize=64)
def _check_default(kind, confidence):
    # Once per process, because validation takes 5% of the time of a small fit.
    _with_strength(kind(), confidence).check_parameters()


def prune(tree, pruning, rows):
    """Prune a fitted tree by a pruning object; None returns the tree."""
    if pruning is None or tree.node_count == 1:
        return tree
    return pruning.prune(tree, rows)
