"""Whether the parts of a forest that comes out of a pickle belong together."""

import numpy as np

from ...tree import ConfidenceTreeClassifier
from ...tree.stream._grower import Grower
from ...utils import is_array, is_count, refuse_damage
from ._sampling import MOST_DRAWS, Sampler


def check_forest(estimator):
    """Raise unless what a forest has learnt fits together.

    Each tree has checked itself; compiled code adds up what they say.

    Parameters
    ----------
    estimator : ConfidenceForestClassifier
        Fitted or not.

    Raises
    ------
    ValueError
        If a part is missing, of another kind, or that of another model.
    """
    parts = vars(estimator)
    if "estimators_" not in parts:
        return
    trees = parts["estimators_"]
    sound = (
        isinstance(trees, list)
        and len(trees) > 0
        and all(
            isinstance(tree, ConfidenceTreeClassifier) and hasattr(tree, "tree_")
            for tree in trees
        )
    )
    sound_parts = {
        "estimators_": sound,
        "classes_": sound and _agree(parts, trees, "classes_"),
        "n_classes_": sound and _agree(parts, trees, "n_classes_"),
        "n_features_in_": sound and _agree(parts, trees, "n_features_in_"),
        "is_categorical_": sound and _agree(parts, trees, "is_categorical_"),
        "_seed": is_count(parts.get("_seed")),
        "_sampler": _is_sampler(parts.get("_sampler")),
        "_records": sound and _has_records(parts, trees),
        "n_rows_seen_": is_count(parts.get("n_rows_seen_")),
    }
    refuse_damage(estimator, sound_parts)


def _agree(parts, trees, name):
    return name in parts and all(
        np.array_equal(parts[name], getattr(tree, name)) for tree in trees
    )


def _has_records(parts, trees):
    # Of a forest that grows row by row.
    if "_records" not in parts:
        return True
    records = parts["_records"]
    return (
        is_array(records, np.float64, (len(trees), 2))
        and records.flags.c_contiguous
        and bool((np.isfinite(records) & (records >= 0.0)).all())
        and all(isinstance(vars(tree).get("_grower"), Grower) for tree in trees)
        and len({_classes_left_out(tree._grower.recipe) for tree in trees}) == 1
    )


def _classes_left_out(recipe):
    # The forest does not let its trees learn rows of them.
    weights = recipe.class_weight
    return () if weights is None else tuple(np.flatnonzero(weights == 0.0).tolist())


def _is_sampler(value):
    # Compiled code finds the place of each draw among the ends.
    if value is None:
        return True
    return (
        type(value) is Sampler
        and is_count(value.seed)
        and is_count(value.n_draws)
        and 1 <= value.n_draws <= MOST_DRAWS
        and is_array(value.ends, np.float64, (None,))
        and value.ends.size > 0
        and bool(np.isfinite(value.ends).all())
        and bool((np.diff(value.ends, prepend=0.0) > 0.0).all())
    )
