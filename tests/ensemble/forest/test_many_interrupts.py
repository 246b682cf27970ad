"""Interrupts at any moment, hundreds of them, of a forest that learns in threads.

The process is another one: a lock that is never let go of would hold up this one.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference.threads import PATIENCE, needs_signals

from skconftree import ConfidenceForestClassifier

MANY, ROWS = 400, 40


def rows():
    X = np.random.default_rng(0).normal(size=(ROWS, 3)).astype(np.float32)
    return X, (X[:, 0] > 0).astype(int)


def learn_among_interrupts():
    """Interrupt calls that learn the same rows again and again."""

    pressed = []

    def interrupt(signum, frame):
        pressed.append(signum)
        raise KeyboardInterrupt

    rng = np.random.default_rng(1)
    X, y = rows()
    forest = ConfidenceForestClassifier(4, n_jobs=2, random_state=0, bootstrap=False)
    forest.partial_fit(X, y, [0, 1])
    signal.signal(signal.SIGALRM, interrupt)
    for _ in range(MANY):
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-4, 4e-3))
            while not pressed:  # what interrupts a finalizer is not raised
                forest.partial_fit(X, y)
        except KeyboardInterrupt:
            pass
        pressed.clear()
    seen = {tree.n_rows_seen_ for tree in forest.estimators_}
    print(forest.n_rows_seen_, *seen)


@pytest.mark.slow
@needs_signals
def test_no_interrupt_leaves_a_thread_waiting():
    ran = subprocess.run(
        [sys.executable, __file__],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        check=True,
    )
    n, *seen = map(int, ran.stdout.split())
    assert seen == [n]
    assert n > MANY


if __name__ == "__main__":
    learn_among_interrupts()
