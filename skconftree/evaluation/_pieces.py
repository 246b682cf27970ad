"""Rows of a stream, in whatever container they come."""

import numpy as np


def part(X, start, stop):
    """Rows from `start` to `stop`; all of them are X itself."""
    if start == 0 and stop == (X.shape[0] if hasattr(X, "shape") else len(X)):
        return X
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def taken(X, places):
    """Rows at ascending or other places, of which there is one at least."""
    places = np.asarray(places)
    first, last = int(places[0]), int(places[-1])
    if last - first == len(places) - 1 and (np.diff(places) == 1).all():
        return part(X, first, last + 1)
    if hasattr(X, "iloc"):
        return X.iloc[places]
    if hasattr(X, "take") and not hasattr(X, "dtype"):
        return X.take(places)  # a table of pyarrow
    return X[places] if hasattr(X, "shape") else [X[place] for place in places]
