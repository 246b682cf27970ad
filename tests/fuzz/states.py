"""Damaged states of learners, detectors and runs: an error, or an object that works.

What they say may be wrong; nothing may crash.
"""

import io
import pickle

import numpy as np

from .corruption import Pickler, damaged
from .learner_subjects import PoolSubject, StreamSubject
from .subjects import DetectorSubject, EvaluatorSubject

SUBJECTS = {PoolSubject: 3, StreamSubject: 3, EvaluatorSubject: 2, DetectorSubject: 1}


class _OfState(Pickler):
    """Leaves what users give: parameters, checked where they are used, and rows."""

    def in_state(self, one, state):
        if not isinstance(state, dict):
            return damaged(self.draw, state)
        kept = {"X"} | set(
            one.get_params(deep=False) if hasattr(one, "get_params") else []
        )
        own = damaged(self.draw, {k: v for k, v in state.items() if k not in kept})
        given = {k: v for k, v in state.items() if k in kept}
        return given | (own if isinstance(own, dict) else {})


def damage_states(sequence):
    draw = sequence.draw
    subject = draw.weighted(SUBJECTS)(draw)
    one = subject.make()
    for _ in range(draw.whole(1, 4)):
        subject.next_call(draw, one).act(one)
    call = subject.next_call(draw, one)
    for _ in range(6):
        file = io.BytesIO()
        target = draw.one(subject.owned)
        _OfState(file, draw, target).dump(one)
        sequence.call(
            f"{subject.name}: damaged {target}",
            _load_and_use,
            sequence,
            file,
            call,
        )


def _load_and_use(sequence, file, call):
    with np.errstate(all="ignore"):
        try:
            other = pickle.loads(file.getvalue())
            sequence.traits.add(f"states: {type(other).__name__} believed")
            call.act(other)
        except SystemError:  # of compiled code that returned without a result
            raise
        except Exception as error:
            if sequence.echo:
                print(f"     {type(error).__name__}: {error}")
