"""Calls that end with an exception out of a signal handler, and are made again."""

from time import perf_counter

from . import invariants
from .alarms import ERRORS, Interrupter, count_places
from .findings import Finding, require
from .learner_subjects import PoolSubject, StreamSubject
from .subjects import (
    DetectorSubject,
    EvaluatorSubject,
    ModelSubject,
    SamplerSubject,
    copied,
)

SUBJECTS = {
    **{PoolSubject: 4, StreamSubject: 6, EvaluatorSubject: 2, ModelSubject: 2},
    **{DetectorSubject: 1, SamplerSubject: 1},
}
MOST_CALLS = 6


def interrupt_calls(sequence):
    """What is interrupted has been done, or not, or up to a documented boundary."""
    draw = sequence.draw
    subject = draw.weighted(SUBJECTS)(draw)
    one = subject.make()
    for _ in range(draw.whole(2, MOST_CALLS)):
        call = subject.next_call(draw, one)
        sequence.call(
            f"{subject.name}: {call.name}, interrupted",
            _interrupt,
            sequence,
            subject,
            one,
            call,
        )
        subject.check(one)


def _interrupt(sequence, subject, one, call):
    draw = sequence.draw
    before, plain = copied(one), copied(one)
    values = subject.values(one)
    begin = perf_counter()
    expected, n_places = count_places(lambda: call.act(plain))
    seconds = perf_counter() - begin
    again = draw.one([None, draw.whole(1, 8), 20])
    at_place = draw.chance(0.7)
    if not subject.interrupted_twice or (subject.has_pool and not at_place):
        again = None
    interrupter = Interrupter(draw.one(ERRORS), again)
    if at_place:
        place = draw.whole(1, max(n_places, 1))
        found, stopped = interrupter.at_place(place, lambda: call.act(one))
    else:
        moment = max(draw.rng.random() * seconds, 1e-6)
        found, stopped = interrupter.in_time(moment, lambda: call.act(one))
    where = f"{subject.name}.{call.name}"
    if stopped:
        sequence.traits.add(f"interrupts: {where}")
        now = subject.values(one)
        if now == subject.values(plain):
            return
        if now == values or subject.progress(one) == subject.progress(before):
            found = call.act(one)  # what was made ready for rows is not made twice
        else:
            _in_part(subject, before, one, call, where)
            return
    require(
        invariants.values_of(found) == invariants.values_of(expected),
        f"{where}: another answer after an interrupt",
    )
    require(
        subject.values(one) == subject.values(plain),
        f"{where}: another object after an interrupt",
    )


def _in_part(subject, before, one, call, where):
    # What a call has done of its rows or questions is what a shorter one does.
    name = f"{where}: neither before nor after an interrupted call"
    n = subject.progress(one) - subject.progress(before)
    if call.part is None or n < 0 or not subject.stops_at(one):
        raise Finding(name, f"{n} rows")
    call.part(before, n)
    require(subject.learnt(one) == subject.learnt(before), name, f"{n} rows")
