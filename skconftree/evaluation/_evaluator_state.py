"""The state of a prequential run, and whether what comes out of a file fits."""

import math

import numpy as np

from ..utils import NO_DEFAULT, are_classes, is_array, is_count, refuse_damage
from ._scoring import Predictions
from ._tally import Baselines, Tally
from ._waiting import NEVER, Waiting

MOST_WEIGHT = 1e300  # of all rows of a run: figures are finite
ROUNDING = 1.0 + 1e-6  # of sums of the same weights in another order

SETTINGS = {
    "estimator": NO_DEFAULT,
    "delay": 0,
    "n_unlabelled_": 0,
    "cpu_seconds_": 0.0,
    "_scorers": {},
    "_asks_proba": False,
    "_by_time": False,
    "_last_time": -NEVER,
}
PARTS = {
    "_total": Tally,
    "_window": Tally,
    "_baselines": Baselines,
    "_predictions": Predictions,
    "_waiting": Waiting,
}


def write_parts(state):
    """A state whose parts are arrays and plain values: no object but estimators."""
    parts = {name: state.get(name) for name in PARTS}
    return state | {
        name: vars(part) for name, part in parts.items() if type(part) is PARTS[name]
    }


def read_parts(state):
    """A state with the objects of which `write_parts` has written what they hold."""
    made = dict(state)
    for name, kind in PARTS.items():
        if isinstance(state.get(name), dict):
            made[name] = kind.__new__(kind)
            vars(made[name]).update(state[name])
    return made


def check_run(run):
    """Raise ValueError unless a run's figures fit each other, and its estimator."""
    parts = vars(run)
    refuse_damage(
        run,
        {
            "estimator": "estimator" in parts and _learns(parts["estimator"]),
            "classes_": are_classes(parts.get("classes_")),
            "n_rows_": is_count(parts.get("n_rows_")),
            "n_tested_": is_count(parts.get("n_tested_")),
            "n_unlabelled_": is_count(parts.get("n_unlabelled_")),
            "delay": "delay" in parts,
            "cpu_seconds_": _is_weight(parts.get("cpu_seconds_")),
        },
    )
    classes, n_classes = parts["classes_"], len(parts["classes_"])
    known = getattr(parts["estimator"], "classes_", None)
    baselines = parts.get("_baselines")
    tallies = [parts.get("_total"), parts.get("_window")]
    scorers, asks = parts.get("_scorers"), parts.get("_asks_proba")
    sound = {
        "classes_": known is None or np.array_equal(np.unique(known), classes),
        "pos_label_": _is_positive(parts, classes),
        "n_tested_": parts["n_tested_"] <= parts["n_rows_"],
        "_baselines": _are_baselines(baselines, n_classes),
        "_total": _is_tally(tallies[0], n_classes),
        "_window": _is_tally(tallies[1], n_classes),
        "_by_time": isinstance(parts.get("_by_time"), bool),
        "_last_time": isinstance(parts.get("_last_time"), float)
        and not math.isnan(parts["_last_time"]),
        "_scorers": isinstance(scorers, dict),
        "_asks_proba": isinstance(asks, bool),
        "_predictions": isinstance(parts.get("_predictions"), Predictions)
        and parts["_predictions"].are_sound(n_classes, asks),
    }
    waiting = parts.get("_waiting")
    sound["_waiting"] = isinstance(waiting, Waiting)
    if sound["_waiting"] and all(sound.values()):
        n_come = parts["n_rows_"] + parts["n_unlabelled_"] + len(waiting)
        sound["_waiting"] = waiting.is_sound(n_classes, n_come, asks)
    if all(sound.values()):
        # no class has been tested more often than it has been learnt
        tested = tallies[0].true + tallies[1].true
        sound["_total"] = bool((tested <= baselines.counts * ROUNDING).all())
        sound["n_tested_"] = parts["n_tested_"] > 0 or not tested.any()
        sound["n_rows_"] = parts["n_rows_"] > 0 or not baselines.counts.any()
    refuse_damage(run, sound)


def _learns(estimator):
    # The command line keeps the estimator of a run apart.
    return estimator is None or all(
        hasattr(estimator, name)
        for name in (
            ("partial_fit_predict",)
            if hasattr(estimator, "partial_fit_predict")
            else ("partial_fit", "predict")
        )
    )


def _is_positive(parts, classes):
    if not {"pos_label_", "_positive"} <= set(parts):
        return False
    label, place = parts["pos_label_"], parts["_positive"]
    if label is None or place is None:
        return label is None and place is None and len(classes) != 2
    return is_count(place) and place < len(classes) and classes[place] == label


def _is_weight(value):
    return isinstance(value, float) and 0.0 <= value < math.inf


def _are_weights(values, n_classes):
    return is_array(values, np.float64, (n_classes,)) and bool(
        ((values >= 0.0) & (values <= MOST_WEIGHT)).all()
    )


def _are_baselines(baselines, n_classes):
    return (
        isinstance(baselines, Baselines)
        and vars(baselines).keys() == vars(Baselines(1)).keys()
        and is_count(baselines.last)
        and baselines.last < n_classes
        and _are_weights(baselines.counts, n_classes)
    )


def _is_tally(tally, n_classes):
    if not (
        isinstance(tally, Tally)
        and vars(tally).keys() == vars(Tally(1)).keys()
        and all(
            _are_weights(one, n_classes)
            for one in (tally.true, tally.predicted, tally.right)
        )
        and all(
            _is_weight(one) for one in (tally.no_change_right, tally.majority_right)
        )
    ):
        return False
    total = tally.true.sum()
    return bool(
        (tally.right <= np.minimum(tally.true, tally.predicted) * ROUNDING).all()
        and total <= tally.predicted.sum() * ROUNDING
        and tally.predicted.sum() <= total * ROUNDING
        and max(tally.no_change_right, tally.majority_right) <= total * ROUNDING
    )
