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
    try:
        counts = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be an array of counts of shape (..., n_classes). "
            f"Got {counts!r} instead."
        ) from error
    if counts.ndim == 0 or counts.shape[-1] < 2:
        raise ValueError(
            f"{name} must have shape (..., n_classes) with at least two classes. "
            f"Got shape {counts.shape}."
        )
    if not (np.all(np.isfinite(counts)) and np.all(counts >= 0)):
        raise ValueError(f"{name} must be finite and not negative.")
    _check_most(counts, name)
    return counts


def check_tables(tables, name="tables"):
    """Counts of shape (..., n_outcomes, n_classes) as a C-contiguous float array."""
    try:
        out = np.ascontiguousarray(tables, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be an array of counts of shape (..., n_outcomes, "
            f"n_classes). Got {tables!r} instead."
        ) from error
    if np.ndim(tables) < 2 or 0 in out.shape[-2:]:
        raise ValueError(
            f"{name} must have shape (..., n_outcomes, n_classes) with at least one "
            f"outcome and one class. Got shape {np.shape(tables)} instead."
        )
    bad = ~(np.isfinite(out) & (out >= 0))
    if bad.any():
        raise ValueError(
            f"{name} must hold finite counts >= 0. Got {out[bad][0]} instead."
        )
    _check_most(out, name)
    return out


def _check_most(counts, name):
    if counts.size and counts.max() > MOST:
        raise ValueError(
            f"{name} must be at most 2**53 (about 9e15), up to which counts are exact. "
            f"Got {counts.max():g}."
        )


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


def check_open(name, value, low, high):
    """Return the value as floats, all inside the open interval."""
    return check_range(name, value, low, high)
