"""What the state of a growing tree is made of, and whether it is sound."""

import math
from typing import NamedTuple

from ...drift._detector import OnlyPickled
from ...utils import StateError

STATE_VERSION = 7


class GrowerState(NamedTuple):
    """State of a growing tree, in the order of its tuple behind the version."""

    n_rows_seen: int
    weight_seen: float
    total_weight: float
    full: bool  # no further split fits into `max_bytes`
    whole: bool  # so has been every weight
    leaves: bytes
    detector: object = None  # of drifts, as `write_detector` writes it
    # The tree that learns since a warning, as `write_nodes` writes one, and the state
    # of its growth.
    background: object = None
    missing: bool = False  # a row with a missing value has been seen
    n_codes: tuple | None = None  # categories of each feature, -1: numeric
    drifts: tuple = ()  # row by which each was found, and its node
    watches: object = None  # of the nodes, as `Watches.write` gives them
    # Trees that grow beside parts of this one: node, slot, number, what `Challenger`
    # has found, tree, and the state of its growth.
    beside: tuple = ()
    n_beside: int = 0  # rows they have learnt
    n_begun: int = 0  # how many there were
    learnt: bytes | None = None  # rows of `X_pool` that have got a label, a bit each
    losses: tuple = ()  # of naive Bayes, as `LeafPredictor.write_losses` gives them


def damaged():
    """Make the error that tells that a state cannot be believed."""
    return ValueError("The state of this growing tree is damaged.")


def read_state(state):
    """Check all of a state but its leaves, and what depends on the tree.

    Parts that came later are absent at its end, and have their defaults. A state that
    is damaged or of another version raises ValueError.
    """
    n_parts = len(GrowerState._fields)
    least = n_parts - len(GrowerState._field_defaults)
    if (
        not isinstance(state, tuple)
        or not least <= len(state) - 1 <= n_parts
        or state[0] != STATE_VERSION
    ):
        raise StateError(
            f"The state of this growing tree must be of version {STATE_VERSION} and "
            f"have {least} to {n_parts} parts; it was written by another release."
        )
    state = GrowerState(*state[1:])
    if not (
        isinstance(state.n_rows_seen, int)
        and 0 <= state.n_rows_seen < 2**63
        and _is_weight(state.weight_seen)
        and _is_weight(state.total_weight)
        and isinstance(state.leaves, bytes)
        and isinstance(state.learnt, bytes | None)
        and isinstance(state.detector, OnlyPickled | tuple | None)
        and _are_drifts(state.drifts)
        and isinstance(state.beside, tuple)
        and _is_count(state.n_beside)
        and _is_count(state.n_begun)
    ):
        raise damaged()
    return state


def _are_drifts(drifts):
    return isinstance(drifts, tuple) and all(
        isinstance(one, tuple) and len(one) == 2 and all(map(_is_count, one))
        for one in drifts
    )


def _is_count(value):
    return type(value) is int and 0 <= value < 2**62


def _is_weight(value):
    return isinstance(value, float) and 0.0 <= value < math.inf
