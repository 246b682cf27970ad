"""What the states of all learners hold: classes, and a classifier that knows them."""

import numpy as np


def are_classes(classes, least):
    """Whether a part of a state is a list of classes, each once and in order.

    Parameters
    ----------
    classes : object
    least : int
        How many there must be.

    Returns
    -------
    bool
    """
    if not (
        isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= least
    ):
        return False
    try:
        return bool((classes[1:] > classes[:-1]).all())
    except TypeError:
        return False


def fits_classes(model, classes):
    """Whether a classifier knows no other classes than these.

    Parameters
    ----------
    model : classifier
        It may have no `classes_`.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    bool
    """
    known = getattr(model, "classes_", None)
    if known is None:
        return True
    try:
        return set(np.ravel(known).tolist()) <= set(classes.tolist())
    except TypeError:
        return False


def fits_features(model, n_features):
    """Whether a classifier reads tables of so many columns, if it tells.

    Parameters
    ----------
    model : classifier
    n_features : int

    Returns
    -------
    bool
    """
    return getattr(model, "n_features_in_", n_features) == n_features
