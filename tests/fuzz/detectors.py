"""Drift detectors by themselves, in a few calls of their own."""

import pickle

import numpy as np
from sklearn.base import clone

from skconftree.drift import ADWIN, DDM, DriftState

from . import invariants
from .corruption import damage_and_use
from .failures import require

# One of the values of each parameter is drawn, or its default.
PARAMETERS = {
    ADWIN: {"warning_delta": [0.5, 0.9], "drift_delta": [1e-12, 0.1, 0.5]},
    DDM: {
        "min_samples": [1, 2**40],
        "warning_level": [1e-9, 1e300],
        "drift_level": [1e-9, 1.0, 1e300],
        "min_errors": [2, 2**40],
    },
}
FACTS = ("state_", "n_rows_seen_", "n_drifts_", "n_rows_")
OF_SOME = ("error_rate_", "width_", "drift_limit_", "warning_limit_")
WRONG = ([np.nan], ["error"], [[0, 1]], None)
WRONG_ERRORS = ([2], [-1], [0.5])  # to detectors that take no numbers


def watch_errors(sequence):
    """Rows one by one or together, in one detector or in its copies."""
    draw = sequence.draw
    kind = draw.one(list(PARAMETERS))
    parameters = {
        name: draw.one(values)
        for name, values in PARAMETERS[kind].items()
        if draw.chance(0.4)
    }
    detector = kind(**parameters)
    n = draw.one([1, 30, 300, 3000])
    rates = draw.one([[0.0], [1.0], [0.1, 0.9], [0.5, 0.0, 1.0, 0.2]])
    errors = draw.rng.random(n) < np.repeat(rates, -(-n // len(rates)))[:n]
    name = kind.__name__
    try:
        detector.check_parameters()
    except ValueError:
        sequence.refused(f"{name}.update_many", detector.update_many, errors)
        return
    states = sequence.call(f"{name}.update_many", detector.update_many, errors)
    require(
        np.isin(states, list(DriftState)).all() and states.dtype == np.int8,
        "states of a detector",
    )
    require(
        detector.state_ == states[-1]
        and detector.n_rows_seen_ == n
        and detector.n_drifts_ == (states == DriftState.DRIFT).sum(),
        "facts about a detector are not those of its states",
    )
    facts(detector)
    for fact in OF_SOME:
        if hasattr(detector, fact):
            unknown = np.isnan(getattr(detector, fact))
            require(not unknown or detector.n_rows_ == 0, f"{fact} of a detector")
    same = clone(detector)
    ends = sorted({draw.whole(0, n), draw.whole(0, n), n})
    again, begin = [], 0
    for end in ends:
        part = errors[begin:end]
        if len(part) < 20:
            again += [same.update(draw.one([bool, int, float])(one)) for one in part]
        else:
            again += same.update_many(part).tolist()
        same = sequence.call(f"{name}: pickle", pickle.loads, pickle.dumps(same))
        begin = end
    require(np.array_equal(states, again), f"{name}: other chunks give other states")
    require(
        invariants.state_of(same) == invariants.state_of(detector),
        f"{name}: a copy is not the same",
    )
    wrong = WRONG if kind._takes_numbers else WRONG + WRONG_ERRORS
    try:
        detector.update_many(draw.one(wrong))
    except (ValueError, TypeError):
        require(
            invariants.state_of(same) == invariants.state_of(detector),
            f"{name}: a failed call changed it",
        )
    else:
        require(False, f"{name}: errors that are none")
    targets = ["Detector", type(detector).__name__]
    damage_and_use(
        sequence, "detector", detector, targets, lambda one: one.update_many(errors)
    )
    sequence.call(f"{name}.reset", detector.reset)
    require(
        np.array_equal(detector.update_many(errors), states),
        f"{name}: something is left after a reset",
    )


def facts(detector):
    """What is true of a detector whatever it has been told."""
    state, n_seen, n_drifts, n = (getattr(detector, name) for name in FACTS)
    require(
        state in list(DriftState) and 0 <= n <= n_seen and 0 <= n_drifts <= n_seen,
        "facts about a detector",
        lambda: f"{detector!r}: {state}, {n_seen}, {n_drifts}, {n}",
    )
