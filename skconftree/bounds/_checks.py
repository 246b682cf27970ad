"""Input checks shared by the vectorised functions of the bounds."""

import numpy as np

MOST = 2.0**53  # of a count, up to which counts are exact


def broadcast_table(*arrays):
    """Return broadcast arrays as the rows of a C-contiguous table, and their shape."""
    arrays = np.broadcast_arrays(*arrays)
    return np.ascontiguousarray([array.ravel() for array in arrays]), arrays[0].shape


def check_choice(name, value, choices):
    """Raise unless the value is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}. Got {value!r}.")


def check_counts(counts, name="counts"):
    """Return class counts as floats of shape (..., n_classes)."""
    return _floats(counts, name, "(..., n_classes)", (2,), "at least two classes")


def check_tables(tables, name="tables"):
    """Counts of shape (..., n_outcomes, n_classes) as a C-contiguous float array."""
    shape, what = "(..., n_outcomes, n_classes)", "at least one outcome and one class"
    return np.ascontiguousarray(_floats(tables, name, shape, (1, 1), what))


def _floats(given, name, shape, least, what):
    # Counts of such a shape, whose last dimensions have so many at the least.
    try:
        counts = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be an array of counts of shape {shape}. Got {given!r} "
            "instead."
        ) from error
    last = counts.shape[-len(least) :]
    if len(last) < len(least) or any(
        n < few for n, few in zip(last, least, strict=True)
    ):
        raise ValueError(
            f"{name} must have shape {shape} with {what}. Got shape {counts.shape} "
            "instead."
        )
    bad = ~(np.isfinite(counts) & (counts >= 0))
    if bad.any():
        raise ValueError(
            f"{name} must hold finite counts >= 0. Got {counts[bad][0]} instead."
        )
    if counts.size and counts.max() > MOST:
        raise ValueError(
            f"{name} must be at most 2**53 (about 9e15), up to which counts are exact. "
            f"Got {counts.max():g}."
        )
    return counts


def check_range(name, value, low, high, *, closed="neither"):
    """Return numbers as a float array after checking their range.

    `closed` says which ends belong to it: "neither", "left", "right" or "both".
    """
    try:
        out = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be a number or an array of numbers. Got {value!r} instead."
        ) from error
    above = out >= low if closed in ("left", "both") else out > low
    below = out <= high if closed in ("right", "both") else out < high
    bad = ~(above & below)
    if bad.any():
        left = "[" if closed in ("left", "both") else "("
        right = "]" if closed in ("right", "both") else ")"
        raise ValueError(
            f"{name} must be in {left}{low}, {high}{right}. Got {out[bad].flat[0]} "
            f"instead."
        )
    return out
