"""Finite numeric columns, scaled to mean 0 and standard deviation 1/2."""

import numpy as np
from sklearn.utils import check_array

from ..tables._features import refuse_categories
from ..tables._records import Records, names_of
from ..tables._row_hashes import Rows
from ..tables._schema import Schema, refuse_infinite


def read_doubles(X, schema, caller):
    """Validate rows of finite numbers and convert them to double precision."""
    names = None
    if type(X) is Records and schema is not None:
        schema.check_names(X, caller)
        X = X.numbers
    else:
        refuse_categories(X, caller)
        if schema is None:
            names = names_of(X)
        else:
            schema.check_names(X, caller)
    rows = check_array(
        X,
        dtype=np.float64,
        order="C",
        ensure_all_finite=False,
        estimator=caller,
        input_name="X",
    )
    if schema is None:
        schema = Schema(rows.shape[1], names)
    schema.check_count(rows, caller)
    refuse_infinite(rows, caller, schema.names, allow_nan=False)
    return Rows(rows, True, schema)


SPREAD = 0.5  # standard deviation after scaling
FAR = 1e100  # limit of standardized values: products of two are finite


def measure(X):
    """Mean and scale that standardize each feature to a standard deviation of 1/2.

    The scale of a constant feature, or of one whose variance overflows, is infinite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean = (X / len(X)).sum(axis=0)
        scale = np.sqrt(((X - mean) ** 2 / len(X)).sum(axis=0)) / SPREAD
    useless = ~np.isfinite(scale) | (scale == 0.0) | (X.max(axis=0) == X.min(axis=0))
    scale[useless] = np.inf
    return mean, scale


def scaled(X, mean, scale, intercept):
    """Standardize features, and append a column of ones if `intercept`."""
    n, d = X.shape
    scaled_rows = np.ones((n, d + intercept))
    with np.errstate(over="ignore", under="ignore"):
        moved = np.clip(X - mean, -1e300, 1e300)
        scaled_rows[:, :d] = np.clip(moved / scale, -FAR, FAR)
    return scaled_rows
