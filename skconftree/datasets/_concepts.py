"""Concepts of drifting streams, and checks that the generators share."""

from itertools import pairwise
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


def concept_of_rows(
    n_samples, concept, drift_at, drift_width, random_state, *, first, last=None
):
    """Decide which of the concepts `first` to `last` each row follows.

    A row ``t`` near a change at ``b`` follows the new concept with probability ``1 / (1
    + exp(-4 (t - b) / drift_width))``: the slope of this curve at `b` is one over the
    width. All changes are handled at once by moving each row in time by a logistic
    random number, which abrupt changes (width 0) do not draw. `drift_at` has a first
    row, or share of the rows, for every concept but the first.
    """
    concepts = check_concepts(concept, first, last)
    check_size("drift_width", drift_width)
    changes = check_changes(drift_at, len(concepts), n_samples)
    time = np.arange(n_samples)
    if drift_width > 0 and len(changes):
        time = time + drift_width / 4 * random_state.logistic(size=n_samples)
    return concepts[np.searchsorted(changes, time, side="right")]


def check_concepts(concept, first, last):
    """Return the concepts as an array, or raise."""
    given = [concept] if isinstance(concept, Integral) else concept
    valid = f"at least {first}" if last is None else f"from {first} to {last}"
    try:
        concepts = list(given)
    except TypeError:
        concepts = []
    if not concepts or not all(
        isinstance(one, Integral) and one >= first and (last is None or one <= last)
        for one in concepts
    ):
        raise ValueError(
            f"concept must be an integer or a sequence of integers {valid}. "
            f"Got {concept!r} instead."
        )
    return np.array(concepts, dtype=np.intp)


def check_changes(drift_at, n_concepts, n_samples):
    """Return the first row of every concept but the first, or raise."""
    if drift_at is None:
        return np.arange(1, n_concepts) * n_samples / n_concepts
    given = [drift_at] if isinstance(drift_at, Real) else drift_at
    try:
        given = list(given)
        rows = [
            one if isinstance(one, Integral) else float(one) * n_samples
            for one in given
        ]
    except (TypeError, ValueError):
        given, rows = None, []
    if given is None or len(rows) != n_concepts - 1:
        raise ValueError(
            f"drift_at must have one entry for every change of concept, "
            f"{n_concepts - 1} here. Got {drift_at!r} instead."
        )
    if not all(0 < row < n_samples for row in rows) or not all(
        a < b for a, b in pairwise(rows)
    ):
        raise ValueError(
            "drift_at must hold ascending rows between 0 and "
            f"n_samples={n_samples}, or shares of the rows between 0 and 1. "
            f"Got {drift_at!r} instead."
        )
    return np.array(rows, dtype=np.float64)


def flip_labels(y, noise, n_classes, random_state):
    """Replace each label by another class with probability `noise`, in place."""
    if noise > 0:
        wrong = np.flatnonzero(random_state.random_sample(len(y)) < noise)
        y[wrong] += random_state.randint(1, n_classes, size=len(wrong))
        y[wrong] %= n_classes
    return y
