"""Exceptions of signal handlers and forks while a team of threads is at work."""

import sys
import textwrap

import pytest
from reference.programs import run_program
from reference.threads import PATIENCE, needs_signals, no_thread_is_left
from skconftree.utils._team import ThreadTeam

needs_fork = pytest.mark.skipif(
    sys.platform == "win32", reason="there is no fork on Windows"
)
BEGINNING = """
    import _thread, os, signal, sys, time
    import numpy as np
    from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
    from skconftree.tree import _growth
    from skconftree.tree.batch import _grow
    from skconftree.utils._team import ThreadTeam
    _growth.MIN_THREAD_VALUES = _growth.MIN_THREAD_VALUES_LOOKAHEAD = 1
    _grow.MIN_SHARED_VALUES = _grow.MIN_TASK_VALUES = 1
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X[:, 0] * X[:, 1] + rng.normal(size=600) > 0).astype(int)

    def attempt(call):  # whether it was interrupted
        try:
            interruptible(call)
        except KeyboardInterrupt:
            return True
        return False

    def interruptible(call):
        call()

    def interrupt(signum, frame):
        while frame is not None:
            if frame.f_code is interruptible.__code__:
                raise KeyboardInterrupt
            frame = frame.f_back

    def press_every(seconds):
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
"""


def run(code):
    code = textwrap.dedent(BEGINNING) + textwrap.dedent(code)
    run_program(code, timeout=PATIENCE)


def work(running, thread, part):
    running.append((thread, part))
    try:
        total = 0
        for i in range(20):
            total += i
    finally:
        running.remove((thread, part))


def n_lines_until(limit, running):
    # Run a team; raise at a line of the calling thread.
    n = 0

    def trace(frame, event, argument):
        nonlocal n
        if event == "line":
            n += 1
            if n == limit:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        ThreadTeam(3).run(lambda thread, part: work(running, thread, part), 6)
    finally:
        sys.settrace(before)
    return n


def test_an_exception_at_any_line_of_a_part_ends_the_team():
    running = []
    done = []
    n_interrupts = 0
    for limit in range(1, 60):
        with no_thread_is_left():
            try:
                n_lines_until(limit, running)
            except KeyboardInterrupt:
                n_interrupts += 1
            assert not [part for thread, part in running if thread > 0]
            running.clear()
        ThreadTeam(3).run(lambda thread, part: done.append(part), 6)
    assert n_interrupts > 20
    assert sorted(done) == sorted(59 * list(range(6)))


@needs_signals
def test_no_interrupt_leaves_a_thread_at_work():
    """Nor do many in a row, and the interpreter ends."""
    run(
        """
        running, n = [], 0

        def work(thread, part):
            running.append(thread)
            sum(range(20_000 * (thread > 0)))  # is waited for
            running.remove(thread)

        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            press_every(rng.uniform(1e-4, 1e-3))
            n += attempt(lambda: ThreadTeam(3).run(work, 9))
            assert set(running) <= {0}  # a part of this thread was interrupted
            running.clear()
        press_every(0.0)
        assert n > 20
        """
    )


@needs_signals
@pytest.mark.slow
def test_interrupts_of_fits_in_threads():
    run(
        """
        n = 0
        expected = ConfidenceTreeClassifier(lookahead=3).fit(X, y)
        tree = ConfidenceTreeClassifier(lookahead=3, n_jobs=2)
        end = time.monotonic() + 1.0
        # on a busy machine longer, until there were enough interrupts
        while time.monotonic() < end + 20.0 * (n <= 10):
            press_every(rng.uniform(1e-3, 2e-2))
            n += attempt(lambda: tree.fit(X, y))
        press_every(0.0)
        tree.fit(X, y)
        assert (tree.predict_proba(X) == expected.predict_proba(X)).all()
        assert n > 10
        """
    )


@pytest.mark.slow
@needs_fork
def test_a_child_that_is_forked_amid_a_team():
    """It has none of the threads: an error, and no wait."""
    run(
        """
        children = []

        def fork(*_):
            children.append(os.fork())

        def work(thread, part):
            time.sleep(0.5 if thread else 0.05)  # the other thread takes a part

        signal.signal(signal.SIGALRM, fork)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            ThreadTeam(2).run(work, 2)
            assert children[0] > 0
        except RuntimeError as error:
            assert children == [0] and "was forked" in str(error)
            ThreadTeam(2).run(work, 2)
            os._exit(0)
        assert os.waitpid(children[0], 0)[1] == 0
        """
    )
