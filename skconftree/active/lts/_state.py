"""Whether what comes out of a pickle is a model that has learnt to sample."""

import numpy as np

from ...utils import are_classes, is_array, is_count, refuse_damage
from ._boosting import BoostedTrees


def check_model(estimator):
    """Raise ValueError unless what has been learnt fits together."""
    parts = vars(estimator)
    if not {"classes_", "_trees", "n_labeled_"} & parts.keys():
        return
    classes, d = parts.get("classes_"), parts.get("n_features_in_")
    trees, n = parts.get("_trees"), parts.get("n_labeled_")
    sound = {
        "classes_": are_classes(classes),
        "n_features_in_": is_count(d) and d > 0,
        "n_labeled_": is_count(n) and n > 0,
        "n_rounds_": is_count(parts.get("n_rounds_")),
        "queried_": _is_list(parts.get("queried_"), np.intp, n),
        "labels_": np.shape(parts.get("labels_")) == (n,),
        "skipped_": _is_list(parts.get("skipped_"), np.intp),
        "sampler_": "sampler_" in parts,
    }
    if all(sound.values()):
        sound["_trees"] = isinstance(trees, BoostedTrees) and _fit(
            vars(trees), d, len(classes)
        )
    if all(sound.values()):
        sound["n_trees_"] = parts.get("n_trees_") == trees.n_trees
    refuse_damage(estimator, sound)


def _is_list(value, dtype, n=None):
    return is_array(value, dtype, (n,)) and value.flags.c_contiguous


def _fit(parts, n_features, n_classes):
    # Compiled code follows children, and reads columns, wherever they point: both
    # children lie behind their parent, so that each walk ends.
    roots, targets, features, left = (
        parts.get(name) for name in ("roots", "targets", "features", "left")
    )
    thresholds, values = parts.get("thresholds"), parts.get("values")
    if not (
        all(_is_list(part, np.int32) for part in (roots, targets, features, left))
        and all(_is_list(part, np.float64) for part in (thresholds, values))
        and len(roots) == len(targets)
        and len(features) == len(left) == len(thresholds) == len(values)
    ):
        return False
    m = len(features)
    inner = np.flatnonzero(features >= 0)
    return bool(
        ((roots >= 0) & (roots < m)).all()
        and ((targets >= 0) & (targets < n_classes)).all()
        and (features < n_features).all()
        and ((left[inner] > inner) & (left[inner] < m - 1)).all()
        and np.isfinite(values).all()
        and np.isfinite(thresholds).all()
    )
