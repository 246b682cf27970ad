"""Checks that the generators share."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_scalar

LARGEST = 1e100  # whose multiples by the number of a row are floats


def check_count(name, value, low=1, high=2**31 - 1):
    """Raise unless the value is a whole number from `low` to `high`."""
    check_scalar(value, name, Integral, min_val=low, max_val=high)


def check_share(name, value):
    """Raise unless the value is a number in [0, 1]."""
    check_scalar(value, name, Real, min_val=0, max_val=1)
    if np.isnan(value):
        raise ValueError(f"{name} must be in [0, 1]. Got nan instead.")


def check_size(name, value):
    """Raise unless the value is a number from 0 to `LARGEST`."""
    check_scalar(value, name, Real, min_val=0)
    if not value <= LARGEST:
        given = f" Got {value} instead." if value == np.inf or value != value else ""
        raise ValueError(f"{name} must be finite and at most {LARGEST:g}.{given}")
