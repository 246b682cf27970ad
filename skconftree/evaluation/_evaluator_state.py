"""The state of a prequential run, as arrays and plain values."""

from ..utils import NO_DEFAULT
from ._scoring import Predictions
from ._tally import Baselines, Tally
from ._waiting import NEVER, Waiting

MOST_WEIGHT = 1e300  # of all rows of a run: figures are finite

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
