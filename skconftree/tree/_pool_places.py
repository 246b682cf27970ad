"""Which rows of a pool are to be learnt."""

import numpy as np


def check_places(X, y, places, n_pool):
    """Check the parameter `from_pool`, but for whether a row has been learnt."""
    if X is not None:
        raise ValueError("X must be None with from_pool, which says which rows.")
    places = np.asarray(places)
    if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
        raise ValueError(
            f"from_pool must be places in X_pool, integers. Got {places!r} instead."
        )
    outside = (places < 0) | (places >= n_pool)
    if outside.any():
        raise ValueError(
            f"from_pool must be places in X_pool, from 0 to {n_pool - 1}. Got "
            f"{places[outside][0]} instead."
        )
    if np.shape(y) != places.shape:
        raise ValueError(
            f"y must have a label for each row of from_pool. Got shape {np.shape(y)} "
            f"for {len(places)} rows."
        )
    if len(np.unique(places)) < len(places):
        raise ValueError(f"from_pool names a row twice: {places}.")
    return places.astype(np.int32)
