"""What users give to `fit`, in the form in which trees grow."""

import warnings
from numbers import Integral

import numpy as np
from sklearn.utils import compute_class_weight

from .._compat import _check_sample_weight
from ._sparse import take_rows

# Labels are 16 bits wide, and one more value marks a row without label.
MOST = np.iinfo(np.int32).max  # nodes of a tree
MAX_CLASSES = np.iinfo(np.uint16).max - 1


def rows_with_weight(X, y, sample_weight):
    """Check the weights and leave out the rows of weight 0.

    Returns
    -------
    X, y, weight : ndarray
        ``weight`` is None if `sample_weight` is.
    """
    if sample_weight is None:
        return X, y, None
    weight = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    if weight.sum() < 0.1 * len(weight):
        warnings.warn(
            f"The sample weights sum to {weight.sum():g} over {len(weight)} rows. "
            "Weights are frequencies here: so few observations hardly support a "
            "split.",
            UserWarning,
            stacklevel=4,
        )
    if not weight.all():
        kept = weight > 0.0
        X, y, weight = take_rows(X, kept), y[kept], weight[kept]
    return X, y, weight


def resolve_class_weight(class_weight, classes, y, weight):
    """One weight a class, or None.

    "balanced" counts the weight of the rows, not their number.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
    classes : ndarray of shape (n_classes,)
    y : ndarray of shape (n_rows,)
        Class indices.
    weight : ndarray of shape (n_rows,) or None

    Returns
    -------
    ndarray of shape (n_classes,), float64, or None
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        try:
            weights = compute_class_weight(class_weight, classes=classes, y=classes[y])
        except OverflowError as error:
            raise ValueError(
                "class_weight holds a number that is too large for float64."
            ) from error
        if (weights < 0.0).any() or not np.isfinite(weights).all():
            raise ValueError(
                f"class_weight must be finite and not negative, got {class_weight!r}."
            )
        return weights.astype(np.float64)
    per_class = np.bincount(y, weights=weight, minlength=len(classes))
    return per_class.sum() / (len(classes) * per_class)


def resolve_max_features(max_features, n_features):
    """Turn the parameter into a number of features."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(max_features * n_features))


def count_limit(limit, most=MOST):
    """Give a largest number of something, which may be larger than there can be.

    Parameters
    ----------
    limit : int or None
    most : int

    Returns
    -------
    int or None
    """
    return None if limit is None else min(int(limit), most)


def weight_limit(limit, total):
    """Turn a size limit into a weight: a float is a fraction of the total."""
    if isinstance(limit, Integral):
        return float(limit)
    return float(np.ceil(limit * total))
