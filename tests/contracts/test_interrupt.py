"""An interrupted call leaves a model that has learnt a known number of rows.

Ctrl-C in a long call must neither be swallowed nor leave a half-learnt row behind.
"""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from reference.registries import MEMORIES
from reference.streams import learn, make_stream, state_of

from skconftree import ConfidenceTreeClassifier

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="signals by CPU time need POSIX"
)
N_ROWS = 200_000


def interrupted_after(seconds, call):
    """Raise KeyboardInterrupt in a call after so much CPU time."""

    def raise_interrupt(signum, frame):
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGVTALRM, raise_interrupt)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, handler)


@pytest.mark.parametrize("method", ["partial_fit", "partial_fit_predict"])
@pytest.mark.parametrize("memory", MEMORIES)
def test_interrupt_stops_at_a_boundary(memory, method):
    stream = make_stream(0, N_ROWS, kinds=["continuous"] * 3, signal=0.0)
    model = ConfidenceTreeClassifier(
        bound="evalue", grace_period=1, leaf_memory=memory, max_leaf_nodes=3
    )
    learn(model, stream, [100])
    interrupted_after(0.06, lambda: getattr(model, method)(*stream.part(100, N_ROWS)))
    n = model.n_rows_seen_
    assert n % 1024 == 0 or n == 100
    assert n < N_ROWS
    assert n > 100, "the call was interrupted before its first row"
    expected = ConfidenceTreeClassifier(**model.get_params())
    learn(expected, stream, [n])
    assert state_of(model) == state_of(expected)
    # and it goes on as if nothing had happened
    for tree in (model, expected):
        learn(tree, stream, [n + 500], n)
    assert state_of(model) == state_of(expected)


def test_a_signal_from_outside():
    """The process gets SIGINT from elsewhere, as from a terminal."""
    code = """
        import numpy as np, sys
        from skconftree import ConfidenceTreeClassifier
        X = np.random.default_rng(0).random((3_000_000, 4), dtype=np.float32)
        y = (X[:, 0] > 0.5).astype(int)
        model = ConfidenceTreeClassifier(bound="evalue", grace_period=1)
        model.partial_fit(X[:1], y[:1], [0, 1])
        try:
            print("ready", flush=True)
            while True:
                model.partial_fit(X, y)
        except KeyboardInterrupt:
            print(model.n_rows_seen_, model.tree_.counts[0].sum(), flush=True)
        """
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    rows, weight = map(float, process.communicate(timeout=60)[0].split())
    assert rows == weight
    assert process.returncode == 0
