"""Whether a learner's classifier fits the rest of its state."""

import numpy as np


def fits_classes(model, classes):
    """Whether a classifier knows no other classes than these; it may know none."""
    known = getattr(model, "classes_", None)
    if known is None:
        return True
    try:
        return set(np.ravel(known).tolist()) <= set(classes.tolist())
    except TypeError:
        return False


def fits_features(model, n_features):
    """Whether a classifier reads tables of so many columns, if it tells."""
    return getattr(model, "n_features_in_", n_features) == n_features
