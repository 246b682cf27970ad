"""What the parameters of a forest mean for each of its trees."""

from inspect import signature

from ..._compat import InvalidParameterError
from ...bounds._base import BaseBound
from ...tree import ConfidenceTreeClassifier
from ...utils._warnings import warn

# What its trees do not do. They do not look ahead, as many of them make up for greed;
# threads grow other trees instead of sharing one.
OFF = {"lookahead": 0, "n_jobs": None}
TREE_PARAMETERS = tuple(
    name for name in signature(ConfidenceTreeClassifier).parameters if name not in OFF
)


def trees_to_keep(forest):
    """Check that parameters of `fit` go together, and find the trees that stay."""
    if not forest.bootstrap and forest.max_samples is not None:
        raise InvalidParameterError(
            f"The 'max_samples' parameter of {type(forest).__name__} must be None "
            f"with bootstrap=False, as every tree sees all rows. Got "
            f"{forest.max_samples!r} instead."
        )
    if not forest.bootstrap and forest.oob_score:
        raise InvalidParameterError(
            f"The 'oob_score' parameter of {type(forest).__name__} must be False "
            f"with bootstrap=False: no row is out of a sample. Got "
            f"{forest.oob_score!r} instead."
        )
    if not (forest.warm_start and forest._model is not None):
        return []
    if forest._model.grows:
        raise ValueError(
            "fit with warm_start=True adds trees to those of an earlier fit, and "
            "these have learnt rows by partial_fit. Set warm_start=False."
        )
    kept = forest._model.trees
    if forest.n_estimators < len(kept):
        raise ValueError(
            f"n_estimators must be at least {len(kept)}, the number of trees "
            f"there are, with warm_start=True. Got {forest.n_estimators}."
        )
    if forest.n_estimators == len(kept):
        warn(
            "fit with warm_start=True grew no tree, as n_estimators is the number "
            "of trees there are."
        )
    return kept


def tree_parameters(forest):
    """Parameters of a tree for each bound, in turn."""
    listed = isinstance(forest.bound, list | tuple)
    bounds = list(forest.bound) if listed else [forest.bound]
    for one in bounds:
        if not isinstance(one, str | BaseBound | None):
            raise InvalidParameterError(
                f"The 'bound' parameter of {type(forest).__name__} must be a name, a "
                f"bound object, None, or a list of these. Got {one!r} in the list."
            )
    if not bounds:
        raise InvalidParameterError(
            f"The 'bound' parameter of {type(forest).__name__} must hold at least "
            f"one bound. Got {forest.bound!r} instead."
        )
    parameters = {name: getattr(forest, name) for name in TREE_PARAMETERS} | OFF
    if forest.class_weight == "balanced_subsample":
        parameters["class_weight"] = "balanced"
    return [parameters | {"bound": bound} for bound in bounds]


def tree_alone(parameters, tree, *, grows):
    """Parameters that give a tree by itself what ``"auto"`` gives one of a forest.

    `tree` is its model; `grows`: row by row.
    """
    auto = {"max_features": None if grows else "sqrt", "drift": tree.watched_by}
    return parameters | {
        name: value for name, value in auto.items() if parameters[name] == "auto"
    }
