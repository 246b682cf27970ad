"""Calls that end with an exception out of a signal handler, and are made again."""

import _thread
import time
from contextlib import contextmanager
from time import perf_counter

from sklearn.base import clone

from skconftree.tree import _growth
from skconftree.tree.batch import _grow

from . import invariants
from .failures import Finding, require
from .handler_exceptions import ERRORS, Interrupter, count_lines
from .learner_subjects import PoolSubject, StreamSubject
from .parameters import make_model
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
# Sizes from which on threads share a tree, made so small that they share any.
WORTH = {
    _growth: ("MIN_THREAD_VALUES", "MIN_THREAD_VALUES_LOOKAHEAD"),
    _grow: ("MIN_SHARED_VALUES", "MIN_TASK_VALUES"),
}
PATIENCE = 10.0  # seconds, within which a thread that has ended is gone


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
    expected, n_places = count_lines(lambda: call.act(plain))
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
    require(subject.learned(one) == subject.learned(before), name, f"{n} rows")


def interrupt_teams(sequence):
    """Threads that share a tree end with the call, and the model is the one before."""
    draw, table = sequence.draw, sequence.table
    rows = sequence.rows(draw.whole(30, 300))
    X, y = table.give(draw, rows.X, dense=True), table.labels[rows.y]
    plain = clone(make_model(sequence.parameters)).set_params(n_jobs=None)
    plain.set_params(random_state=0)
    if not sequence.attempt("fit, alone", plain.fit, X, y, rows.weight):
        return
    model = clone(plain).set_params(n_jobs=draw.one([2, 3]))
    expected = invariants.growth_of(plain)
    n_threads = _thread._count()

    def fit():
        return model.fit(X, y, rows.weight)

    with _worth_a_team():
        begin = perf_counter()
        _, n_places = sequence.call("fit in a team", count_lines, fit)
        seconds = perf_counter() - begin
        before = invariants.growth_of(model)
        require(before == expected, "a team grows another tree")
        for _ in range(draw.whole(1, MOST_CALLS)):
            interrupter = Interrupter(draw.one(ERRORS), draw.one([None, None, 1, 20]))
            if draw.chance(0.5):
                place = draw.whole(1, max(n_places, 1))
                act, where = interrupter.at_place, place
            else:
                act, where = interrupter.in_time, max(draw.rng.random() * seconds, 1e-6)
            sequence.call("fit in a team, interrupted", act, where, fit)
            sequence.traits.add("interrupts: teams")
            require(
                invariants.growth_of(model) == expected,
                "an interrupted fit in a team leaves another model",
            )
            end = time.monotonic() + PATIENCE
            while _thread._count() > n_threads and time.monotonic() < end:
                time.sleep(1e-3)
            require(_thread._count() <= n_threads, "a team leaves a thread")
        require(
            invariants.growth_of(fit()) == expected, "a fit after interrupts differs"
        )


@contextmanager
def _worth_a_team():
    before = [
        (module, name, getattr(module, name))
        for module, names in WORTH.items()
        for name in names
    ]
    try:
        for module, name, _ in before:
            setattr(module, name, 1)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
