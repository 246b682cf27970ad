"""What there is of each kind of plug-in, for tests that run for every one.

Whoever adds a bound, a criterion, a pruning, a detector or a leaf memory gets these
tests by its row in the registry; no list in a test has to be edited.
"""

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds._registry import BOUNDS
from skconftree.criteria._criterion import CRITERIA
from skconftree.drift._registry import DETECTORS
from skconftree.tree.pruning._registry import PRUNINGS

__all__ = [
    "BOUNDS",
    "CRITERIA",
    "DETECTORS",
    "MEMORIES",
    "PREDICTIONS",
    "PRUNINGS",
    "STREAM_BOUNDS",
]

# Those with which trees learn row by row.
STREAM_BOUNDS = {name: kind for name, kind in BOUNDS.items() if not kind.tests_features}


def _choices(parameter):
    """Names that a parameter takes, as the estimator's own constraint says."""
    constraints = ConfidenceTreeClassifier._parameter_constraints[parameter]
    names = {name for one in constraints for name in getattr(one, "options", ())}
    return ("auto", *sorted(names - {"auto"}))


MEMORIES = _choices("leaf_memory")
PREDICTIONS = _choices("leaf_prediction")


def lax(bound):
    """Return the bound at the laxest of its levels, so that small tables split."""
    if bound is None or not bound.levels:
        return bound
    return bound.set_params(**{bound.level_parameter: bound.levels[-1]})
