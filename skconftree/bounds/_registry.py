"""Names of bounds: one row each."""

from sklearn.base import clone

from .._compat import InvalidParameterError
from ..utils._warnings import warn
from ._base import BaseBound
from ._bayes_factor import BayesFactorBound
from ._chi2 import Chi2Bound
from ._credible import CredibleBound
from ._derosa import DeRosaBound
from ._ec2 import EC2Bound
from ._evalue import EValueBound
from ._gtest import GTestBound
from ._hoeffding import HoeffdingBound
from ._mcdiarmid import McDiarmidBound
from ._possibilistic import PossibilisticBound

BOUNDS: dict[str, type[BaseBound]] = {
    "credible": CredibleBound,
    "hoeffding": HoeffdingBound,
    "possibilistic": PossibilisticBound,
    "mcdiarmid": McDiarmidBound,
    "derosa": DeRosaBound,
    "chi2": Chi2Bound,
    "ec2": EC2Bound,
    "evalue": EValueBound,
    "bayes_factor": BayesFactorBound,
    "gtest": GTestBound,
}


def resolve_bound(bound, delta=None):
    """A private, checked copy of the bound that the user named or made, or None.

    `delta` overrides the bound's own confidence parameter unless it is None.
    """
    if bound is None:
        if delta is not None:
            _warn_of_delta(delta, "without a bound")
        return None
    if isinstance(bound, str):
        if bound not in BOUNDS:
            raise InvalidParameterError(
                f"The 'bound' parameter must be None, a bound object or one of "
                f"{sorted(BOUNDS)}. Got {bound!r} instead."
            )
        bound = BOUNDS[bound]()
    elif isinstance(bound, BaseBound):
        bound = clone(bound)
    else:
        raise InvalidParameterError(
            f"The 'bound' parameter must be None, a bound object or one of "
            f"{sorted(BOUNDS)}. Got {bound!r} instead."
        )
    if delta is not None:
        bound.set_params(**{bound.delta_parameter: delta})
    bound.check_parameters()
    if delta is not None and not bound.uses_delta:
        _warn_of_delta(delta, f"with {bound!r}")
    return bound


def _warn_of_delta(delta, where):
    warn(
        f"delta={delta!r} has no effect {where}. skconftree.bounds.param_grid gives "
        "what goes together."
    )
