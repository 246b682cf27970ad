"""Labels some of which are not known."""

from numbers import Real

import numpy as np
from sklearn.utils import column_or_1d

from ..utils import is_missing
from ._label_values import check_labels, exact_labels, refuse_nul

FEW = 16  # labels


def split_labels(y, missing_label=None, name="y"):
    """Labels that are known, and a mask of the rows that have them.

    None, NaN, pandas' NA and `missing_label` stand for a label that is not known;
    errors call the labels `name`. ValueError if there is no `y`, or if it holds
    something else than labels.
    """
    if y is None:
        raise ValueError(
            f"This estimator requires y to be passed, but the target {name} is None. A "
            f"label that is not known is None within {name}."
        )
    if _is_plain(y):
        known = ~is_unlabeled(y, missing_label)
        return y if known.all() else y[known], known
    given, y = y, exact_labels(y)
    if not isinstance(getattr(y, "dtype", None), np.dtype | None):
        y = y.to_list()  # of pandas or polars, with their own missing value
    if isinstance(y, list | tuple):
        y = np.array(y, dtype=object)  # no NaN as a text, no whole numbers as floats
    y = column_or_1d(y, warn=True)
    known = ~is_unlabeled(y, missing_label)
    labels = y if known.all() else y[known]
    if labels.dtype.kind == "O" and len(labels):
        labels = _of_one_kind(labels, name)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(
            f"Input {name} contains infinity or a value too large for {labels.dtype!r}."
        )
    check_labels(labels, given)
    return labels, known


def _is_plain(y):
    # The answers to a question: scikit-learn's checks would take most of the time that
    # it takes to learn them.
    return (
        type(y) is np.ndarray
        and y.ndim == 1
        and 0 < len(y) <= FEW
        and y.dtype.kind in "biuU"
    )


def is_unlabeled(y, missing_label=None):
    """Say which labels are not known, as `split_labels` has it."""
    kind = y.dtype.kind
    if kind == "O":
        marked = [is_missing(one) or _is_marker(one, missing_label) for one in y]
        return np.array(marked, dtype=bool)
    found = np.isnan(y) if kind == "f" else np.zeros(len(y), dtype=bool)
    if isinstance(missing_label, str if kind in "US" else Real):
        found |= y == missing_label
    return found


def _is_marker(label, marker):
    if marker is None or isinstance(label, str) != isinstance(marker, str):
        return False
    return _equal(label, marker)


def _equal(one, other):
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False


def _of_one_kind(labels, name):
    # Objects as strings or as numbers: NumPy would make strings of a mixture.
    texts = sum(isinstance(one, str) for one in labels)
    if 0 < texts < len(labels):
        raise ValueError(
            f"{name} mixes strings with other labels. Give labels of one kind."
        )
    refuse_nul(labels)
    return np.array(labels.tolist())
