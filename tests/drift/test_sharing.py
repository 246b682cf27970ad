"""Detectors can be shared by threads, interrupted and copied."""

import copy
import pickle
import signal

import numpy as np
import pytest
from reference.threads import alarms, at_once, needs_signals
from sklearn.base import clone

from skconftree.drift._registry import DETECTORS

ERRORS = (np.random.default_rng(0).random(5000) < 0.3).astype(float)
each = pytest.mark.parametrize("name", DETECTORS)


@each
def test_threads_take_turns(name):
    """What is read meanwhile is true between two calls: files, figures, copies."""
    detector = DETECTORS[name]()
    readers = (
        lambda: pickle.loads(pickle.dumps(detector)).n_rows_seen_,
        lambda: copy.copy(detector).n_rows_seen_,
        lambda: detector.n_rows_seen_,
    )
    with at_once(*readers) as reading:
        with at_once(*2 * [lambda: detector.update_many(ERRORS)]) as learning:
            for _ in range(60):
                detector.update(1)
                detector.update_many(ERRORS[:-1])
    n_calls = sum(len(thread.results) for thread in learning)
    assert detector.n_rows_seen_ == (60 + n_calls) * len(ERRORS)
    seen = {n for thread in reading for n in thread.results}
    assert {n % len(ERRORS) for n in seen} <= {0, 1}
    n_rows = detector.n_rows_
    assert pickle.loads(pickle.dumps(detector)).n_rows_ == n_rows


@each
@pytest.mark.slow
def test_threads_share_what_runs(name):
    """A tree's watch and other compiled code have it without a detector around it."""
    running = DETECTORS[name]().kernel()
    with at_once(*2 * [lambda: running.update_many(ERRORS)]) as threads:
        for _ in range(100):
            running.update_many(ERRORS)
            pickle.loads(pickle.dumps(running))
    n_calls = 100 + sum(len(thread.results) for thread in threads)
    assert running.n_seen == n_calls * len(ERRORS)


@each
def test_resetting_takes_turns(name):
    detector = DETECTORS[name]()
    with at_once(detector.reset, lambda: detector.update_many(ERRORS)):
        for _ in range(200):
            assert detector.n_rows_seen_ % len(ERRORS) == 0


@needs_signals
@each
def test_an_interrupt_stops_at_a_boundary(name, monkeypatch):
    errors = np.resize(ERRORS, 4_000_000)
    kind = DETECTORS[name]
    kernel = kind.kernel

    def start(self):
        made = kernel(self)
        signal.setitimer(signal.ITIMER_REAL, 0.003)
        return made

    def interrupt():
        raise KeyboardInterrupt

    detector = kind()
    monkeypatch.setattr(kind, "kernel", start)
    with alarms(interrupt, 100.0), pytest.raises(KeyboardInterrupt):
        detector.update_many(errors)
    monkeypatch.undo()
    n = detector.n_rows_seen_
    assert n % 1024 == 0
    assert n < len(errors)
    same = kind()
    same.update_many(errors[:n])
    for one in (detector, same):
        one.update_many(errors[n : n + 3000])
    assert pickle.dumps(detector) == pickle.dumps(same)


@each
def test_a_callback_gets_an_error_at_once(name):
    detector = DETECTORS[name]()
    detector.update_many(ERRORS)
    before = pickle.dumps(detector)

    class Errors:
        def __init__(self, function):
            self.function = function

        def __array__(self, dtype=None, copy=None):
            self.function()
            return ERRORS

    for call in (
        lambda: detector.update(1),
        lambda: detector.reset(),
        lambda: detector.state_,
        lambda: pickle.dumps(detector),
    ):
        with pytest.raises(RuntimeError, match="learning in this very thread"):
            detector.update_many(Errors(call))
    assert pickle.dumps(detector) == before


@each
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, clone, "pickle"])
def test_copies_share_nothing(name, copied):
    if copied == "pickle":
        copied = lambda one: pickle.loads(pickle.dumps(one))  # noqa: E731
    detector = DETECTORS[name]()
    detector.update_many(ERRORS)
    other = copied(detector)
    before = pickle.dumps(other)
    if copied is not clone:
        assert before == pickle.dumps(detector)
    detector.update_many(1 - ERRORS)
    assert pickle.dumps(other) == before
    other.update_many(1 - ERRORS)
    if copied is not clone:
        assert pickle.dumps(other) == pickle.dumps(detector)


@each
@pytest.mark.parametrize("running", ["text", 3, object, None])
def test_a_damaged_state_is_refused(name, running):
    detector = DETECTORS[name]()
    detector.update_many(ERRORS)
    state = {**detector.__getstate__(), "_running": running}
    with pytest.raises(ValueError, match="state of this drift detector (is|does)"):
        DETECTORS[name]().__setstate__(state)
    arguments, parts = detector.__getstate__()["_running"]
    for damaged in [(arguments,), (arguments[:-1], parts), (arguments, None), ((), {})]:
        state["_running"] = damaged
        with pytest.raises(ValueError, match="state of this drift detector (is|does)"):
            DETECTORS[name]().__setstate__(state)
