"""Calls with one invalid row, label or weight train on no row at all."""

from . import invariants
from .failures import Finding, require
from .learner_subjects import PoolSubject, StreamSubject
from .subjects import (
    DetectorSubject,
    EvaluatorSubject,
    ModelSubject,
    SamplerSubject,
)

SUBJECTS = {
    **{PoolSubject: 3, StreamSubject: 4, DetectorSubject: 1, EvaluatorSubject: 2},
    **{ModelSubject: 1, SamplerSubject: 1},
}
MOST_CALLS = 6


def make_mistakes(sequence):
    """An object that has refused calls is what it is without them."""
    draw = sequence.draw
    subject = draw.weighted(SUBJECTS)(draw)
    one, twin = subject.make(), subject.make()
    for _ in range(draw.whole(2, MOST_CALLS)):
        call = subject.next_call(draw, one)
        where = f"{subject.name}.{call.name}"
        for _ in range(draw.whole(0, 2)):
            wrong = call.spoil(draw) if call.spoil else None
            if wrong is None:
                continue
            sequence.call(f"{where} (wrong)", _refused, where, subject, one, *wrong)
            sequence.traits.add(f"mistakes: {subject.name}")
        found = sequence.call(where, call.act, one)
        expected = call.act(twin)
        require(
            invariants.values_of(found) == invariants.values_of(expected),
            f"{where}: another answer after a mistake",
        )
        require(
            subject.values(one) == subject.values(twin),
            f"{where}: another object after a mistake",
        )
        subject.check(one)


def _refused(where, subject, one, what, act):
    before = subject.values(one)
    try:
        act(one)
    except (ValueError, TypeError) as error:
        require(str(error), "an error without a message", what)
    else:
        raise Finding(f"{where}: a {what} was not refused")
    require(subject.values(one) == before, f"{where}: a {what} changed the object")
