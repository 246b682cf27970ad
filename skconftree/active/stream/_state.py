"""The state of a learner of a stream, as arrays and plain values."""

import numpy as np

from ...drift import BaseDetector
from ...drift._detector import (
    Detector,
    OnlyPickled,
    read_detector,
    write_detector,
)
from ...drift._registry import DETECTORS
from ...utils import is_array, refuse_damage
from ._decisions import Account

DRIFT = (
    "the parameter drift, which would make it again, has become another one. Set it "
    "back to the detector that the stream began with."
)


def write_parts(state):
    """A state whose compiled parts are plain values: any kind of file holds it."""
    state = dict(state)
    if isinstance(state.get("_budget"), Account):
        state["_budget"] = state["_budget"].__reduce__()[1:]
    running = state.get("_detector")
    if isinstance(running, Detector):
        kind = type(running).__name__
        written = write_detector(running)
        if type(written) is tuple and _kernel(kind, state) is not type(running):
            written = OnlyPickled(running, DRIFT)
        state["_detector"] = (kind, written)
    return state


def read_parts(state):
    """A state with the compiled parts of which `write_parts` has written the values."""
    state = dict(state)
    try:
        if isinstance(state.get("_budget"), tuple):
            arguments, values = state["_budget"]
            state["_budget"] = Account(*arguments)
            state["_budget"].__setstate__(values)
        if isinstance(state.get("_detector"), tuple):
            kind, values = state["_detector"]
            state["_detector"] = read_detector(_kernel(kind, state), values)
    except (TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"The state of this learner is damaged: {error!r}.") from error
    return state


def _kernel(name, state):
    # The package's own of that name, or that of the parameter.
    for make in DETECTORS.values():
        kind = type(make().kernel())
        if kind.__name__ == name:
            return kind
    drift = state.get("drift")
    return type(drift.kernel()) if isinstance(drift, BaseDetector) else None


def check_strategy(learner):
    """Raise ValueError if compiled code would leave the state of the strategy."""
    parts = vars(learner)
    if "_strategy" in parts:
        shape = np.shape(parts["_strategy"].start())
        refuse_damage(
            learner, {"_state": is_array(parts.get("_state"), np.float64, shape)}
        )
