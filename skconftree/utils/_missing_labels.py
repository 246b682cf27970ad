"""Labels some of which are not known."""

import numpy as np
from sklearn.utils import column_or_1d

from ._labels import check_labels, exact_labels


def split_labels(y, missing_label=None):
    """Tell rows with a label from rows without one.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels. None, NaN and pandas' NA always stand for a label that is not known.
    missing_label : int, float, str or None, default=None
        What else stands for one.

    Returns
    -------
    labels : ndarray of shape (n_known,)
        The labels that are known.
    known : ndarray of shape (n_rows,), bool
        Whose they are.

    Raises
    ------
    ValueError
        If there is no `y`, or if it holds something else than labels.

    Examples
    --------
    >>> from skconftree.utils import split_labels
    >>> labels, known = split_labels([0, None, 1, float("nan")])
    >>> labels
    array([0, 1])
    >>> known
    array([ True, False,  True, False])
    >>> split_labels([-1, 1, -1], missing_label=-1)[0]
    array([1])
    """
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. A label "
            "that is not known is None within y."
        )
    given, y = y, exact_labels(y)
    if not isinstance(getattr(y, "dtype", None), np.dtype | None):
        y = y.to_numpy(dtype=object)  # of pandas, with its own missing value
    y = column_or_1d(y, warn=True)
    known = ~is_missing(y, missing_label)
    labels = y if known.all() else y[known]
    if labels.dtype.kind == "O" and len(labels):
        labels = _of_one_kind(labels)
    check_labels(labels, given)
    return labels, known


def is_missing(y, missing_label=None):
    """Say which labels are not known.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
    missing_label : int, float, str or None, default=None
        As of `split_labels`.

    Returns
    -------
    ndarray of shape (n_rows,), bool
    """
    kind = y.dtype.kind
    if kind == "O":
        marked = [_is_nothing(one) or _equal(one, missing_label) for one in y]
        return np.array(marked, dtype=bool)
    found = np.isnan(y) if kind == "f" else np.zeros(len(y), dtype=bool)
    if missing_label is not None and isinstance(missing_label, str) == (kind in "US"):
        found |= y == missing_label
    return found


def _is_nothing(label):
    if label is None or type(label).__name__ == "NAType":
        return True
    return isinstance(label, float | np.floating) and label != label


def _equal(label, marker):
    if marker is None or isinstance(label, str) != isinstance(marker, str):
        return False
    return bool(label == marker)


def _of_one_kind(labels):
    # Objects as texts or as numbers: NumPy would make texts of a mixture.
    texts = sum(isinstance(one, str) for one in labels)
    if texts == len(labels):
        return labels
    if texts:
        raise ValueError("y mixes texts with other labels. Give labels of one kind.")
    return np.array(labels.tolist())
