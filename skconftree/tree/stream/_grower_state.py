"""What the state of a growing tree is made of, and whether it is sound."""

from typing import NamedTuple

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


def read_state(state):
    """Parts of a state; ValueError if it is of another version.

    Parts that came later are absent at its end, and have their defaults.
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
    return GrowerState(*state[1:])
