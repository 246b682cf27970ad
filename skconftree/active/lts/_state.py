"""Whether compiled code can walk through trees that come out of a pickle."""

import numpy as np

from ...utils import is_array, refuse_damage


def check_trees(estimator):
    """Raise ValueError if compiled code would leave the arrays of the trees."""
    trees = vars(estimator).get("_trees")
    if trees is not None:
        d, n_classes = estimator.n_features_in_, len(estimator.classes_)
        refuse_damage(estimator, {"_trees": _fit(vars(trees), d, n_classes)})


def _is_list(value, dtype):
    return is_array(value, dtype, (None,)) and value.flags.c_contiguous


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
    )
