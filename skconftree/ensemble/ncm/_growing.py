"""From the parameters of an NCM estimator to trees."""

from numbers import Integral
from typing import NamedTuple

from ..._compat import InvalidParameterError
from ...bounds._contract import EvidenceBound, IntervalBound
from ...criteria._criterion import CRITERIA
from ...tables._inputs import count_limit
from ...tree._resolve import resolve_statement
from ...tree._settings import GrowthSettings
from ._centroid_grower import NCMGrower


class NCMPlan(NamedTuple):
    """What trees are grown by; `max_classes` as of an `NCMGrower`."""

    settings: GrowthSettings
    max_classes: object
    n_assignments: int

    def grow(self, X, y, times, n_classes, seed):
        """Grow a tree."""
        grower = NCMGrower(
            self.settings,
            X.shape[1],
            n_classes,
            n_classes if self.max_classes == "all" else self.max_classes,
            self.n_assignments,
            seed,
        )
        return grower.grow(X, y, times)

    def criterion(self, n_classes):
        """Make what gives impurities."""
        return CRITERIA[self.settings.criterion](n_classes)


def resolve_plan(estimator):
    """Resolve the parameters of growth, which have been checked one by one."""
    caller = type(estimator).__name__
    given, criterion = estimator.bound, estimator.criterion
    if given is None and criterion is None:
        criterion = "entropy"
    bound, criterion = resolve_statement(given, criterion, estimator.delta, caller)
    if bound is not None and isinstance(
        bound.kernel(criterion, 2), IntervalBound | EvidenceBound
    ):
        raise InvalidParameterError(
            f"The 'bound' parameter of {caller} must be None, a test or a race: a test "
            "of class means has no scan, whose scores other bounds compare. Got "
            f"{given!r} instead."
        )
    settings = GrowthSettings(
        criterion=criterion,
        bound=bound,
        max_depth=count_limit(estimator.max_depth),
        min_samples_split=float(estimator.min_samples_split),
        min_samples_leaf=float(estimator.min_samples_leaf),
    )
    max_classes = estimator.max_classes
    if isinstance(max_classes, Integral):
        max_classes = count_limit(max_classes)
    elif max_classes is None:
        max_classes = "all"
    elif isinstance(max_classes, str):
        max_classes = None
    else:
        max_classes = float(max_classes)
    return NCMPlan(settings, max_classes, count_limit(estimator.n_assignments))
