"""Bins of a column, slowly: where the middle of a value's rows falls."""

import numpy as np


def bin_of_each(column, max_bins, weight=None):
    """Number of the bin of each row, NaN where there is no value, or None if exact."""
    weight = np.ones(len(column)) if weight is None else weight
    values = sorted(set(column[~np.isnan(column)].tolist()))
    if len(values) <= max_bins:
        return None
    total = weight[~np.isnan(column)].sum()
    below, bins = 0.0, {}
    for value in values:
        here = weight[column == value].sum()
        bins[value] = min(int((below + here / 2) / total * max_bins), max_bins - 1)
        below += here
    rank = {one: place for place, one in enumerate(sorted(set(bins.values())))}
    return np.array(
        [np.nan if np.isnan(value) else rank[bins[value]] for value in column.tolist()],
        dtype=np.float32,
    )


def binned(X, max_bins, weight=None):
    """The table with bins in place of values."""
    out = X.copy()
    for j in range(X.shape[1]):
        bins = bin_of_each(X[:, j], max_bins, weight)
        if bins is not None:
            out[:, j] = bins
    return out
