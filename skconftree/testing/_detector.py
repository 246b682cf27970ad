"""What a change detector has to keep."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.drift import BaseDetector, DriftState

from ._common import (
    check_nonsense,
    check_object,
    errors_that_rise,
    going_well,
    require,
    require_equal,
    turning,
)


def check_detector(detector: BaseDetector | Any) -> None:
    """Check that a change detector keeps the contract of detectors.

    It detects errors that rise from one in ten to six in ten within 1,000 rows, and
    counts what it finds; cuts into calls and pickles do not matter; each parameter has
    a check; and a growing tree takes it.

    A detector of river, or another one with its protocol, has no calls of many rows and
    no parameters that are known here: its updates, clones, copies and pickles are
    checked instead.

    Parameters
    ----------
    detector : BaseDetector, or object with river's protocol
        Sensitive enough for that, and deterministic.

    Raises
    ------
    AssertionError
        If something is wrong; the message says what.

    See Also
    --------
    skconftree.drift.BaseDetector : What a detector defines.

    Examples
    --------
    >>> from skconftree.drift import DDM
    >>> from skconftree.testing import check_detector
    >>> check_detector(DDM())
    """
    if hasattr(detector, "clone") and not isinstance(detector, BaseDetector):
        _check_updates(detector)
    else:
        check_object(detector, BaseDetector)
        check_nonsense(detector, lambda strange: strange.kernel())
        _check_rows(detector)
    # A tree notices a turn of the labels, and may be pickled before it.
    name = type(detector).__name__
    X, y = turning()
    model = ConfidenceTreeClassifier(drift=detector, grace_period=20)
    with going_well(f"A growing tree must take {name}"):
        once = clone(model).partial_fit(X, y, classes=[0, 1])
        twice = clone(model).partial_fit(X[:1999], y[:1999], classes=[0, 1])
        twice = pickle.loads(pickle.dumps(twice)).partial_fit(X[1999:], y[1999:])
    require(
        once.n_drifts_ >= 1,
        f"A tree with {name} must detect a drift when labels are swapped.",
    )
    require(
        pickle.dumps(once) == pickle.dumps(twice),
        f"A tree with {name} must go on as it was when it was pickled.",
    )


def _check_updates(detector):
    """It detects a jump; clones start again; copies and pickles continue as it does."""
    name, errors = type(detector).__name__, errors_that_rise().astype(int).tolist()
    with going_well(f"{name} must be cloned, and learn errors"):
        whole = detector.clone()
        alarms = _alarms(whole, errors)
        again = _alarms(whole.clone(), errors)
        part = detector.clone()
        detected = _alarms(part, errors[:999])
        detected += _alarms(copy.deepcopy(part), errors[999:])
        pickled = _alarms(pickle.loads(pickle.dumps(part)), errors[999:])
    require(
        any(alarms[1000:2000]),
        f"{name} must detect a drift when errors rise from one in ten to six in ten.",
    )
    require_equal(again, alarms, f"A clone of {name} must have learned no row.")
    require_equal(detected, alarms, f"A copy of {name} must continue as the original.")
    require_equal(
        pickled, alarms[999:], f"A pickle of {name} must continue as the original."
    )


def _alarms(detector, errors):
    # Whether there is a drift after each row.
    detected = []
    for error in errors:
        detector.update(error)
        detected.append(bool(detector.drift_detected))
    return detected


def _check_rows(detector):
    """It finds a jump; its totals are those of its answers; cuts do not matter."""
    name, errors = type(detector).__name__, errors_that_rise()
    whole, parts, kernel = clone(detector), clone(detector), clone(detector).kernel()
    with going_well(f"{name} must learn errors"):
        states = whole.update_many(errors)
        states_of_parts = []
        for part in np.array_split(errors, 7):
            parts = pickle.loads(pickle.dumps(parts))
            states_of_parts.append(parts.update_many(part))
        compiled = kernel.update_many(errors.astype(float))
    require(
        set(np.unique(states)) <= set(DriftState),
        f"{name} must give states of DriftState. Got {np.unique(states)}.",
    )
    require(
        DriftState.DRIFT in states,
        f"{name} must detect a drift when errors rise from one in ten to six in ten.",
    )
    counts = whole.n_rows_seen_, whole.n_drifts_
    counted = len(errors), np.count_nonzero(states == DriftState.DRIFT)
    require_equal(counts, counted, f"{name} must count its rows and drifts.")
    cut = f"{name} must {{}} however rows are cut into calls, pickled between them."
    require_equal(np.concatenate(states_of_parts), states, cut.format("say the same"))
    require(
        pickle.dumps(parts) == pickle.dumps(whole), cut.format("have the same state")
    )
    require_equal(
        compiled, states, f"A kernel of {name} must say what the detector itself says."
    )
