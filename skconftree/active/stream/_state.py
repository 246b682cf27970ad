"""The state of a learner of a stream, and whether what comes out of a file is one."""

import numpy as np

from ...drift import BaseDetector
from ...drift._detector import (
    Detector,
    OnlyPickled,
    read_detector,
    write_detector,
)
from ...drift._registry import DETECTORS
from ...utils import are_classes, is_array, is_count, refuse_damage
from .._state import fits_classes, fits_features
from ._context import LeafLabels
from ._decisions import Account
from ._strategies import StreamStrategy

LARGEST_SEED = 2**31
ABSENT = 0  # what no part is that may be None
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


def check_learner(learner):
    """Raise ValueError unless what is known of the stream fits together."""
    parts = vars(learner)
    if not {"_budget", "_seed", "estimator_"} & parts.keys():
        return
    classes, d = parts.get("_classes", ABSENT), parts.get("n_features_in_")
    pending, seed = parts.get("_pending"), parts.get("_seed")
    detector, unasked = parts.get("_detector", ABSENT), parts.get("_unasked", ABSENT)
    strategy = parts.get("_strategy")
    sound = {
        "n_features_in_": is_count(d) and d > 0,
        "_strategy": isinstance(strategy, StreamStrategy),
        "_seed": is_count(seed) and seed < LARGEST_SEED,
        "_budget": isinstance(parts.get("_budget"), Account),
        "_classes": classes is None or are_classes(classes),
        "_detector": detector is None or isinstance(detector, Detector),
        "_unasked": unasked is None or np.shape(unasked) == (1, d),
        "_pending": is_array(pending, bool, (None,)),
        "_n_drifts": is_count(parts.get("_n_drifts")),
        "_n_taught": is_count(parts.get("_n_taught")),
    }
    if all(sound.values()):
        sound["_state"] = _is_state(parts.get("_state"), strategy)
        sound["_pending"] = len(pending) <= parts["_budget"].n_asked
        sound["_leaves"] = _are_leaves(parts.get("_leaves"), classes)
        sound["_held_back"] = _are_held_back(parts.get("_held_back"), d)
        background = parts.get("_background", ABSENT)
        sound["_background"] = background is None or _is_model(background, classes, d)
        if "estimator_" in parts:
            sound["estimator_"] = _is_model(parts["estimator_"], classes, d)
    if all(sound.values()) and "estimator_" not in parts:
        sound["estimator_"] = parts["_n_taught"] == _n_labels(parts["_held_back"])
    refuse_damage(learner, sound)


def _is_model(model, classes, n_features):
    return (
        hasattr(model, "partial_fit")
        and classes is not None
        and fits_classes(model, classes)
        and fits_features(model, n_features)
    )


def _n_labels(held):
    return sum(len(labels) for _, labels, _ in held if labels is not None)


def _is_state(state, strategy):
    return is_array(state, np.float64, np.shape(strategy.start())) and bool(
        np.isfinite(state).all()
    )


def _are_leaves(leaves, classes):
    if not isinstance(leaves, LeafLabels):
        return False
    counts, seen = vars(leaves).get("counts"), vars(leaves).get("seen")
    n_classes = 2 if classes is None else max(2, len(classes))
    return (
        is_array(seen, np.float64, (None,))
        and is_array(counts, np.float64, (len(seen), None))
        and counts.shape[1] in (2, n_classes)
        and all(
            bool(((part >= 0.0) & np.isfinite(part) & (part % 1.0 == 0.0)).all())
            for part in (counts, seen)
        )
    )


def _are_held_back(held, n_features):
    return isinstance(held, list) and all(
        isinstance(one, tuple)
        and len(one) == 3
        and np.ndim(one[0]) == 2
        and one[0].shape[1] == n_features
        and (one[1] is None or np.shape(one[1]) == one[0].shape[:1])
        and (one[2] is None or np.shape(one[2]) == one[0].shape[:1])
        for one in held
    )
