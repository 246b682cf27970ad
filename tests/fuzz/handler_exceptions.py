"""Exceptions raised by signal handlers, at drawn lines or by a timer."""

import dis
import signal
import sys
import threading
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import sklearn

import skconftree


class Alarm(TimeoutError):
    """What a watchdog raises."""


ERRORS = (KeyboardInterrupt, Alarm)
# Of profiling: Python runs signal handlers at the begin of a function of its own, and
# behind a call of one that is not. Profiling is not told of those that Cython has
# compiled: behind these the next instruction is the place.
PLACES = ("call", "c_return")
PACKAGE = str(Path(skconftree.__file__).parent)
# Python's own locks stay locked if an exception comes in the midst of them, and NumPy
# takes any for arrays that are not equal, or that cannot be compared.
NUMERIC = np.array_equal.__wrapped__.__code__.co_filename
UNSAFE = (threading.__file__, NUMERIC, str(Path(NUMERIC).with_name("_internal.py")))


@contextmanager
def timer(handle, seconds):
    """Call a handler in so many seconds, and none any more at the end."""
    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        # ignored first, as a handler that waits for its turn would set the timer again
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def count_lines(function, within=""):
    """What a function gives, and at how many places a handler might have run."""
    return _count(function, lambda n: None, within)


def act_at_line(place, act, function, within=""):
    """What a function gives, while which a handler acts at a place."""
    answer, _ = _count(function, lambda n: act() if n == place else None, within)
    return answer


def _count(function, visit, within):
    n = 0

    def come():
        nonlocal n
        n += 1
        visit(n)

    with _places(come, within):
        answer = function()
    return answer, n


@contextmanager
def _places(visit, within=""):
    """Call a function wherever a handler might run, in files that begin so."""
    # Frames of the package that calls have come back to, since its last instruction.
    back = []

    def profile(frame, event, argument):
        if event.endswith("return"):
            to = frame.f_back if event == "return" else frame
            if to is not None and to.f_code.co_filename.startswith(PACKAGE):
                back.append(to)
        file = frame.f_code.co_filename
        if event in PLACES and file not in UNSAFE and file.startswith(within):
            visit()

    def trace(frame, event, argument):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "call":
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        elif event == "opcode":
            # a compiled function may have called others, or none
            told = back == [frame]
            back.clear()
            if not told and frame.f_lasti in _behind_calls(frame.f_code):
                visit()
        return trace

    before = sys.gettrace()
    sys.setprofile(profile)
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.setprofile(None)
        sys.settrace(before)


@cache
def _behind_calls(code):
    """Places of the instructions that take what a call has given."""
    return {
        taker.offset
        for call, taker in pairwise(dis.get_instructions(code))
        if call.opname.startswith("CALL")
        and taker.opname.startswith(("STORE_", "POP_TOP"))
    }


class Interrupter:
    """Calls functions, and interrupts them.

    Parameters
    ----------
    error : type
        What the handler raises.
    again : int or None
        KeyboardInterrupt follows that many calls, or twentieths of a millisecond, after
        it, unless it is raised behind a compiled function, which ends all tracing.
        (Ordinary errors, twice at the same step, are taken for the model's own.)
    within : str, default=""
        Begin of the names of files whose places count.
    """

    def __init__(self, error, again, within=""):
        self.error = error
        self.again = again
        self.within = within
        self.n = 0
        self.active = False

    def at_place(self, place, function):
        """Interrupt at a place; answer, and whether an exception came out."""

        def visit():
            if not self.active:
                return
            self.n += 1
            if self.n == place:
                if self.again:
                    self.n = 0
                    sys.settrace(read_again)
                raise self.error

        def read_again(frame, event, argument):
            # lines as well, of what is called to put things right
            if frame.f_code.co_filename in UNSAFE:
                return None
            self.n += event in ("call", "line")
            if self.active and self.n == self.again:
                raise KeyboardInterrupt
            return read_again

        with _places(visit, self.within):
            return self._call(function)

    def in_time(self, seconds, function):
        """Interrupt after some time; answer, and whether an exception came out."""

        errors = [self.error, *[KeyboardInterrupt] * bool(self.again)]

        def handle(*_):
            if self.active and errors:
                error = errors.pop(0)
                if errors:
                    signal.setitimer(signal.ITIMER_REAL, 5e-5 * self.again)
                raise error

        with timer(handle, seconds):
            return self._call(function)

    @staticmethod
    def _caused(error):
        while error is not None and type(error) not in ERRORS:
            error = error.__context__
        return error is not None

    def _call(self, function):
        # What is interrupted may be the end of a context of scikit-learn's own.
        config = sklearn.get_config()
        try:
            try:
                self.active = True
                return function(), False
            finally:
                self.active = False
        except BaseException as error:
            # what Python's own locks and contexts make of it is the handler's too
            if not self._caused(error):
                raise
            return None, True
        finally:
            sklearn.set_config(**config)
