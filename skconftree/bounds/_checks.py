"""Input checks shared by the vectorised functions of the bounds."""

import numpy as np


def check_choice(name, value, choices):
    """Raise unless the value is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}. Got {value!r}.")


def check_counts(counts, name="counts"):
    """Return class counts as floats of shape (..., n_classes)."""
    counts = np.asarray(counts, dtype=np.float64)
    if counts.ndim == 0 or counts.shape[-1] < 2:
        raise ValueError(
            f"{name} must have shape (..., n_classes) with at least two classes. "
            f"Got shape {counts.shape}."
        )
    if not (np.all(np.isfinite(counts)) and np.all(counts >= 0)):
        raise ValueError(f"{name} must be finite and not negative.")
    return counts


def check_open(name, value, low, high):
    """Return the value as floats, all inside the open interval."""
    value = np.asarray(value, dtype=np.float64)
    if not np.all((value > low) & (value < high)):
        raise ValueError(
            f"{name} must lie in the open interval ({low}, {high}). Got {value}."
        )
    return value
