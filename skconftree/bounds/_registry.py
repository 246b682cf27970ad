"""Bounds (split rules) by name, and parameter grids over them."""

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
from ._ctree import CTreeBound
from ._derosa import DeRosaBound
from ._ec2 import EC2Bound
from ._evalue import EValueBound
from ._gtest import GTestBound
from ._hoeffding import HoeffdingBound
from ._mcdiarmid import McDiarmidBound
from ._possibilistic import PossibilisticBound

BOUNDS: dict[str, type[BaseBound]] = {
    "credible": CredibleBound,  # Bayesian credible limits
    "hoeffding": HoeffdingBound,
    "possibilistic": PossibilisticBound,  # entropy of upper limits of frequencies
    "mcdiarmid": McDiarmidBound,
    "derosa": DeRosaBound,  # De Rosa's confidence radii of impurities
    "chi2": Chi2Bound,
    "ec2": EC2Bound,  # equivalence class edge cutting, with label noise
    "evalue": EValueBound,  # evidence that remains valid when rows are added
    "bayes_factor": BayesFactorBound,
    "gtest": GTestBound,
    "ctree": CTreeBound,  # permutation tests of conditional inference trees
}


def resolve_bound(bound, delta=None):
    """Return a validated copy of a bound, or None; `delta` overrides its own delta."""
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
            f"delta={delta!r} has no effect {where}. Leave delta at None, or use "
            "skconftree.bounds.param_grid, which has suitable values for each bound."
        )
    return bound


def param_grid(
    bounds: Sequence[Any] | None = None, n: int = 3, *, prefix: str = ""
) -> list[dict[str, Any]]:
    """Return a parameter grid over bounds and their strictness for ``GridSearchCV``.

    Depending on the bound, `delta` is a tail probability, a p-value, an expected number
    of false splits or a confidence. A single list of values would therefore be invalid
    for some bounds and unsuitable for others. This grid has separate values for each.

    Parameters
    ----------
    bounds : list of (str, bound object or None) or None, default=None
        Names of bounds, or bound objects. An element None is the tree without a bound.
        If `bounds` itself is None, all bounds are used.
    n : int, default=3
        Number of levels of strictness per bound, from 1 to 5. 1 keeps the bound's
        default. Larger values make the search finer and slower.
    prefix : str, default=""
        Prefix of the parameter names, such as ``"tree__"`` for the step of a pipeline.

    Returns
    -------
    list of dict
        One grid per bound. If `delta` does not control the strictness of a bound
        (``"derosa"`` in its default form), its grid lists several bound objects.

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
    >>> grid = param_grid(["credible", "gtest", None])
    >>> search = GridSearchCV(ConfidenceTreeClassifier(), grid).fit(X, y)
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


def _grid_of(name_or_bound, n, prefix):
    # `levels` of a bound: values of its `level_parameter`, from strict to permissive.
    bound = resolve_bound(name_or_bound)
    levels = () if bound is None else bound.levels
    grid = {f"{prefix}bound": [name_or_bound]}
    if n > 1 and levels:
        indices = np.rint(np.linspace(0, len(levels) - 1, n)).astype(int)
        values = [levels[i] for i in indices]
        if bound.level_parameter == bound.delta_parameter:
            grid[f"{prefix}delta"] = values
        else:
            grid[f"{prefix}bound"] = [
                clone(bound).set_params(**{bound.level_parameter: v}) for v in values
            ]
    return grid
