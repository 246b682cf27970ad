"""Weights of rows and of classes: what they mean, and the limits they have.

Counts are sums of weights. Whole ones are exact up to `LARGEST_SUM`; the scores take
squares and cubes of reweighted counts, which neither vanish nor overflow within these
limits.
"""

from contextlib import contextmanager

import numpy as np
from sklearn.utils import compute_class_weight

from .._compat import InvalidParameterError, _check_sample_weight, check_row_weights
from ..utils._warnings import warn_once_an_ensemble
from ._sparse import take_rows

KINDS = ("auto", "frequency", "relative")
LARGEST_SUM = 2.0**53
SMALLEST = 1e-100  # of a frequency
CLASS_LIMITS = (1e-50, 1e50)
NEGLIGIBLE = 1e-12  # share of all relative weights, lost in the rounding of sums
DOUBTFUL = 0.1  # mean of weights that hardly are frequencies
UNEVEN = 0.5  # share of the rows that are left of them, as effective ones, by weights


@contextmanager
def _named(name):
    # Whole numbers that no float holds: the message of NumPy does not say where.
    try:
        yield
    except OverflowError as error:
        raise ValueError(
            f"{name} holds a number that is too large for float64."
        ) from error


def rows_with_weight(X, y, sample_weight, kind):
    """Validate the weights of a table and leave out the rows of weight 0.

    Returns X, y, the weights, and whether they were given as relative ones. These are
    rescaled: the ratios stay, and the sum becomes Kish's effective number of rows. The
    weight is None if `sample_weight` is.
    """
    if sample_weight is None:
        return X, y, None, False
    with _named("sample_weight"):
        weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    relative = kind == "relative" or (
        kind == "auto" and not (weight == np.rint(weight)).all()
    )
    if relative:
        weight = _to_frequencies(weight)
    else:
        _check_frequencies(weight, 0.0)
    if not weight.all():
        kept = weight > 0.0
        X, y, weight = take_rows(X, kept), y[kept], weight[kept]
    return X, y, weight, relative


def stream_weights(sample_weight, X, kind, weight_seen):
    """Validate the weights of further rows, which are always frequencies.

    Whether all weights of a stream are whole numbers is not known before its end, so
    ``"auto"`` must not depend on those of one call.
    """
    if kind == "relative":
        raise InvalidParameterError(
            "The 'sample_weight_kind' parameter must be 'auto' or 'frequency' in "
            "partial_fit with sample_weight: the scale of relative weights depends on "
            "all rows. Got 'relative' instead."
        )
    with _named("sample_weight"):
        weight = check_row_weights(sample_weight, X)
    _check_frequencies(weight, weight_seen)
    return weight


def _check_frequencies(weight, weight_seen):
    if not weight.any():
        return
    positive = weight[weight > 0.0]
    if positive.min() < SMALLEST:
        raise ValueError(
            f"sample_weight must be 0 or at least {SMALLEST:g}, got "
            f"{positive.min():g}. If only the ratios of the weights matter, use fit "
            "with sample_weight_kind='relative', which has no such limit."
        )
    with np.errstate(over="ignore"):
        total = positive.sum()
    if not weight_seen + total <= LARGEST_SUM:
        before = f", {weight_seen:g} of it learnt before" if weight_seen else ""
        raise ValueError(
            f"sample_weight must sum to at most 2**53 (about 9e15), up to which "
            f"counts are exact. Got a sum of {weight_seen + total:g}{before}. If only "
            "the ratios of the weights matter, use fit with "
            "sample_weight_kind='relative', which has no such limit."
        )
    if total < DOUBTFUL * len(positive):
        warn_once_an_ensemble(
            "hardly frequencies",
            f"The sample weights sum to {total:g} over {len(positive)} rows, so they "
            "are hardly the frequencies for which they are taken: so few observations "
            "support no split. If only the ratios of the weights matter (AdaBoost, "
            "importance weights), use fit with sample_weight_kind='relative', or with "
            "'auto' for weights that are not all whole numbers.",
        )


def _to_frequencies(weight):
    # Divided by the largest, neither the sum nor the squares can overflow.
    weight = weight / weight.max()
    weight[weight < NEGLIGIBLE * weight[weight > 0.0].sum()] = 0.0
    # how a sum rounds must not depend on rows of weight 0
    kept = weight[weight > 0.0]
    # equal weights are frequencies of 1, exactly
    if (kept == kept[0]).all():
        return np.where(weight > 0.0, 1.0, 0.0)
    return weight * (kept.sum() / np.square(kept).sum())


def warn_of_no_split(n_rows, n_effective):
    """Say why a bound found no split in rows with relative weights."""
    warn_once_an_ensemble(
        "no split",
        f"The tree is a single leaf: no split is supported by the relative weights of "
        f"{n_rows} rows, which are worth {n_effective:.4g} equally weighted ones. "
        "Boosting soon stops at such trees; a laxer 'delta' splits on less evidence, "
        "bound=None on none.",
    )


def resolve_class_weight(class_weight, classes, y, weight):
    """One weight a class, or None.

    "balanced" counts the weight of the rows, not their number.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        with _named("class_weight"):
            weights = compute_class_weight(class_weight, classes=classes, y=classes[y])
            weights = weights.astype(np.float64)
    else:
        per_class = np.bincount(y, weights=weight, minlength=len(classes))
        weights = per_class.sum() / (len(classes) * per_class)
    low, high = CLASS_LIMITS
    bad = ~((weights == 0.0) | ((weights >= low) & (weights <= high)))
    if bad.any():
        raise ValueError(
            f"class_weight must be 0 or in [{low:g}, {high:g}], got "
            f"{weights[bad][0]:g} for class {classes[bad].tolist()[0]!r} from "
            f"{class_weight!r}."
        )
    return weights
