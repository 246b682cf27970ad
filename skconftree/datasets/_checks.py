"""Checks that the generators share."""

import sys
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_scalar


def check_count(name, value, low=1, high=2**31 - 1):
    """Raise unless the value is a whole number from `low` to `high`."""
    check_scalar(value, name, Integral, min_val=low, max_val=high)


def check_share(name, value):
    """Raise unless the value is a number in [0, 1]."""
    check_scalar(value, name, Real, min_val=0, max_val=1)
    if np.isnan(value):
        raise ValueError(f"{name} must be in [0, 1]. Got nan instead.")


def check_size(name, value):
    """Raise unless the value is a finite number of at least 0."""
    check_scalar(value, name, Real, min_val=0)
    if value > sys.float_info.max and value != np.inf:
        raise ValueError(f"{name} must be a number of the size of floats.")
    if not np.isfinite(value):
        raise ValueError(f"{name} must be finite. Got {value} instead.")
