"""Names of prunings: one row each."""

from ..._compat import InvalidParameterError
from ._base import Pruning
from ._c45 import C45Pruning
from ._chi2 import Chi2Pruning
from ._cost_complexity import CostComplexityPruning
from ._ec2 import EC2Pruning
from ._pessimistic import PessimisticPruning
from ._possibilistic import PossibilisticPruning

PRUNINGS: dict[str, type[Pruning]] = {
    "pessimistic": PessimisticPruning,
    "c45": C45Pruning,
    "chi2": Chi2Pruning,
    "ec2": EC2Pruning,
    "possibilistic": PossibilisticPruning,
    "cost_complexity": CostComplexityPruning,
}


def resolve_pruning(pruning, confidence, defaults):
    """Name and strength of the pruning asked for; "auto" is what `defaults` says."""
    recommended = None
    if pruning == "auto":
        pruning, recommended = defaults.pruning, defaults.pruning_confidence
    if pruning is None:
        return None, None
    strength = PRUNINGS[pruning].strength
    if confidence is None:
        confidence = strength.default if recommended is None else recommended
    if not strength.contains(confidence):
        raise InvalidParameterError(
            f"The 'pruning_confidence' parameter with pruning={pruning!r} must be "
            f"None or a float in {strength}. Got {confidence!r} instead."
        )
    return pruning, float(confidence)


def leaf_cost(pruning, confidence, n_leaves):
    """Make the cost of a leaf by which a growing tree is judged; None if it has none.

    The tree will have about `n_leaves` different leaves.
    """
    return PRUNINGS[pruning](confidence).leaf_cost(n_leaves)


def prune(tree, pruning, confidence, rows):
    """Prune a grown tree by a name of `PRUNINGS`, or None, and its confidence."""
    if pruning is None or tree.node_count == 1:
        return tree
    return PRUNINGS[pruning](confidence).prune(tree, rows)
