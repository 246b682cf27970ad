"""What users give to `fit`, in the form in which trees grow."""

from numbers import Integral

import numpy as np

MOST = np.iinfo(np.int32).max  # nodes of a tree
LARGEST = float(np.finfo(np.float64).max)  # of a parameter


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
    """Give a largest number of something, which may be larger than there can be."""
    return None if limit is None else min(int(limit), most)
