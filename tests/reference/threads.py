"""Threads and signal handlers that run while a test uses a model."""

import _thread
import gc
import signal
import threading
import time
from contextlib import contextmanager

import pytest

PATIENCE = 60.0  # seconds; a lock that is never given back fails, and does not hang
needs_signals = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="signals by time need POSIX"
)


class Calls(threading.Thread):
    """Call a function again and again until told to stop."""

    def __init__(self, function):
        super().__init__(daemon=True)
        self.function, self.results, self.error = function, [], None
        self.stopped = threading.Event()

    def run(self):
        try:
            while not self.stopped.is_set():
                self.results.append(self.function())
        except BaseException as error:
            self.error = error


@contextmanager
def no_thread_is_left():
    """After the block there are as many threads as before, also of `_thread`."""
    n_threads = _thread._count()
    yield
    end = time.monotonic() + PATIENCE
    while _thread._count() > n_threads:  # one that has ended is counted for a moment
        assert time.monotonic() < end, "a thread is left"
        time.sleep(1e-3)


@contextmanager
def at_once(*functions):
    """Call functions in a thread each while the block runs."""
    threads = [Calls(function) for function in functions]
    for thread in threads:
        thread.start()
    try:
        yield threads
    finally:
        for thread in threads:
            thread.stopped.set()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a thread waits for ever"
    for thread in threads:
        if thread.error is not None:
            raise thread.error
        assert thread.results, "the thread was kept out"


@contextmanager
def alarms(handler, seconds=0.003):
    old = signal.signal(signal.SIGALRM, lambda *_: handler())
    # Hypothesis times the collector in a callback, out of which no error comes.
    gc.disable()
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
        gc.enable()


def interrupted_after(seconds, call, error=KeyboardInterrupt):
    """Raise an error in a call after so much CPU time."""

    def interrupt(signum, frame):
        raise error

    handler = signal.signal(signal.SIGVTALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        with pytest.raises(error):
            call()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, handler)
