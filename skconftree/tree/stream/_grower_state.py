"""What the state of a growing tree is made of, and whether it is sound."""

import math
from typing import NamedTuple

from ...drift._detector import Detector

STATE_VERSION = 3


class GrowerState(NamedTuple):
    """State of a growing tree, in the order of its tuple behind the version.

    Attributes
    ----------
    n_rows_seen : int
    weight_seen, total_weight : float
    full : bool
        No further split fits into `max_bytes`.
    whole : bool
        Every weight so far is a whole number.
    leaves : bytes
    detector : tuple or None
        Of drifts, as `write_detector` writes one.
    background : tuple of (tuple, tuple) or None
        The tree that learns since a warning, as `write_nodes` writes one, and the state
        of its growth.
    missing : bool
        A row with a missing value has been seen.
    n_codes : tuple of int or None
        Categories seen of each feature, -1 if it is numeric; None if all are.
    learnt : bytes or None
        Which rows of `X_pool` have got their labels, a bit each; None without one.
    """

    n_rows_seen: int
    weight_seen: float
    total_weight: float
    full: bool
    whole: bool
    leaves: bytes
    detector: object = None
    background: object = None
    missing: bool = False
    n_codes: tuple | None = None
    learnt: bytes | None = None


def damaged():
    """Make the error that tells that a state cannot be believed."""
    return ValueError("The state of this growing tree is damaged.")


def read_state(state):
    """Check all of a state but its leaves, and what depends on the tree.

    A state that is damaged or of another version raises ValueError.
    """
    n_fields = len(GrowerState._fields)
    if (
        not isinstance(state, tuple)
        or len(state) != 1 + n_fields
        or state[0] != STATE_VERSION
    ):
        raise ValueError(
            f"The state of this growing tree is not of version {STATE_VERSION}; "
            f"it was written by another release."
        )
    state = GrowerState(*state[1:])
    if not (
        isinstance(state.n_rows_seen, int)
        and 0 <= state.n_rows_seen < 2**63
        and _is_weight(state.weight_seen)
        and _is_weight(state.total_weight)
        and isinstance(state.leaves, bytes)
        and isinstance(state.learnt, bytes | None)
        and isinstance(state.detector, Detector | tuple | None)
    ):
        raise damaged()
    return state


def _is_weight(value):
    return isinstance(value, float) and 0.0 <= value < math.inf
