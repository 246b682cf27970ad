"""Bounds by name, and parameter grids over them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
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
    """Private, checked copy of a bound or None; `delta` overrides its own if given."""
    if isinstance(bound, str) and bound in BOUNDS:
        bound = BOUNDS[bound]()
    elif isinstance(bound, BaseBound):
        bound = clone(bound)
    elif bound is not None:
        raise InvalidParameterError(
            f"The 'bound' parameter must be None, a bound object or one of "
            f"{sorted(BOUNDS)}. Got {bound!r} instead."
        )
    if bound is not None:
        if delta is not None:
            bound.set_params(**{bound.delta_parameter: delta})
        bound.check_parameters()
    if delta is not None and (bound is None or not bound.uses_delta):
        where = "without a bound" if bound is None else f"with {bound!r}"
        warn(
            f"delta={delta!r} has no effect {where}. skconftree.bounds.param_grid "
            "gives what goes together."
        )
    return bound


def param_grid(
    bounds: Sequence[Any] | None = None, n: int = 3, *, prefix: str = ""
) -> list[dict[str, Any]]:
    """Make a grid over bounds and their strictness for ``GridSearchCV``.

    The `delta` of a bound is a tail probability, a p-value, an expected number or a
    confidence, so that one list of values for several bounds is out of the range of
    some and senseless for others. Here each bound goes with values of its own.

    Parameters
    ----------
    bounds : list of (str, bound object or None) or None, default=None
        Names or parameter objects of bounds; None among them stands for the tree
        without a bound. None instead of a list is every bound there is.
    n : int, default=3
        Levels of strictness of each bound, from 1 to 5; 1 leaves it as it is.
    prefix : str, default=""
        What comes before the names of the parameters, such as ``"tree__"`` for the
        step of a pipeline.

    Returns
    -------
    list of dict
        One grid a bound. A bound that `delta` does not make stricter
        (``"derosa"`` in its default form) comes as several objects.

    See Also
    --------
    skconftree.ConfidenceTreeClassifier : The estimator that has these parameters.

    Examples
    --------
    >>> from skconftree.bounds import param_grid
    >>> param_grid(["credible", "gtest", None])  # doctest: +NORMALIZE_WHITESPACE
    [{'bound': ['credible'], 'delta': [0.001, 0.05, 0.4]},
     {'bound': ['gtest'], 'delta': [0.05, 1.0, 10.0]},
     {'bound': [None]}]

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skconftree import ConfidenceTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(ConfidenceTreeClassifier(), param_grid()).fit(X, y)
    >>> search.best_score_ > 0.94
    np.True_
    """
    if not isinstance(n, Integral) or not 1 <= n <= 5:
        raise ValueError(f"n must be an int from 1 to 5. Got {n!r} instead.")
    if bounds is None:
        bounds = BOUNDS
    elif isinstance(bounds, str):
        raise ValueError(f"bounds must be None or a list. Got {bounds!r} instead.")
    return [_grid_of(bound, n, prefix) for bound in bounds]


def _grid_of(given, n, prefix):
    bound = resolve_bound(given)
    levels = () if bound is None else bound.levels
    if n == 1 or not levels:
        return {f"{prefix}bound": [given]}
    places = np.rint(np.linspace(0, len(levels) - 1, n)).astype(int)
    values = [levels[place] for place in places]
    if bound.level_parameter == bound.delta_parameter:
        return {f"{prefix}bound": [given], f"{prefix}delta": values}
    objects = [
        resolve_bound(bound).set_params(**{bound.level_parameter: value})
        for value in values
    ]
    return {f"{prefix}bound": objects}
