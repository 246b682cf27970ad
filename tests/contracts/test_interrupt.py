"""An interrupted call leaves a model trained on a known number of rows.

Ctrl-C in a long call must neither be swallowed nor leave a half-learned row behind.
"""

import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from functools import partial

import numpy as np
import pytest
from fuzz.handler_exceptions import Interrupter, count_lines
from reference.effort import NIGHT, crossed
from reference.registries import MEMORIES
from reference.streams import learn, make_stream, state_of
from reference.threads import interrupted_after, needs_signals
from scipy.sparse import csr_array, random_array

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import BaseBound
from skconftree.drift import DDM

pytestmark = needs_signals
N_ROWS = 200_000


@pytest.mark.parametrize(
    ("memory", "method"), crossed(MEMORIES, ["partial_fit", "partial_fit_predict"])
)
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


def test_boundaries_after_fit_count_the_rows_of_the_stream():
    stream = make_stream(0, N_ROWS, kinds=["continuous"] * 3, signal=0.0)
    model = ConfidenceTreeClassifier(bound="evalue", grace_period=1, max_leaf_nodes=3)
    model.fit(*stream.part(0, 700)[:2])
    interrupted_after(0.06, lambda: model.partial_fit(*stream.part(700, N_ROWS)[:2]))
    assert 700 < model.n_rows_seen_ < N_ROWS
    assert (model.n_rows_seen_ - 700) % 1024 == 0


def stream_of(drift):
    """Rows in the first of which a second tree is begun."""
    stream = make_stream(1, 3000, kinds=["continuous"] * 2, signal=0.0)
    if drift == "local":
        stream.y[:] = np.arange(3000) % 20 == 0
        stream.y[500:] = np.arange(2500) % 3 == 0
    return stream


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("drift", [DDM(5, 0.01, 9.0), "local"], ids=str)
def test_an_interrupt_in_the_middle_of_a_row_waits(monkeypatch, times, drift):
    """Python makes the tree in the background, and runs signal handlers meanwhile."""
    stream = stream_of(drift)
    settings = {"drift": drift, "grace_period": 5, "bound": "gtest"}
    expected, model = (ConfidenceTreeClassifier(**settings) for _ in range(2))
    for tree in (expected, model):
        learn(tree, stream, [1])
    presses = []

    def interrupted(kind):
        kernel = kind.kernel

        def press(self, *args, **options):
            if len(presses) < times:
                presses.append(model.n_rows_seen_)
                raise KeyboardInterrupt
            return kernel(self, *args, **options)

        return press

    monkeypatch.setattr(BaseBound, "kernel", interrupted(BaseBound))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(*stream.part(1, 3000))
    assert len(presses) == times
    assert model.n_rows_seen_ == 1024
    learn(expected, stream, [1024], 1)
    assert state_of(model) == state_of(expected)
    for tree in (model, expected):
        learn(tree, stream, [3000], 1024)
    assert state_of(model) == state_of(expected)


@pytest.mark.parametrize("drift", [DDM(5, 0.01, 9.0), "local"], ids=str)
def test_what_fails_at_every_attempt_does_not_hang(monkeypatch, drift):
    stream = stream_of(drift)
    model = ConfidenceTreeClassifier(drift=drift, grace_period=5, bound="gtest")
    learn(model, stream, [1])

    failed = []

    def fail(self, *args, **options):
        failed.append(1)
        raise OSError("no such thing")

    with monkeypatch.context() as patch:
        patch.setattr(BaseBound, "kernel", fail)
        with pytest.raises(OSError, match="no such thing"):
            model.partial_fit(*stream.part(1, 3000))
    # a hundred times, and once with each row that is left
    assert 100 < len(failed) <= 100 + 1024
    assert model.n_rows_seen_ == 1024
    assert model.tree_.counts[0].sum() == 1024
    model.partial_fit(*stream.part(1024, 3000))


def test_a_sparse_table_is_learned_without_python_code(monkeypatch):
    """What could fail or be interrupted between two rows that are no boundary."""
    rng = np.random.default_rng(0)
    X = random_array((3000, 40_000), density=1e-4, rng=rng, format="csr")
    y = rng.integers(0, 2, 3000)
    model = ConfidenceTreeClassifier(leaf_memory="histogram")
    model.partial_fit(X[:3], y[:3], [0, 1])

    def fail(self, *args, **options):
        raise MemoryError

    monkeypatch.setattr(csr_array, "toarray", fail)
    model.partial_fit(X[3:], y[3:])
    assert model.n_rows_seen_ == 3000


@pytest.mark.slow  # signals from within are like it
def test_a_signal_from_outside():
    """The process gets SIGINT from elsewhere, as from a terminal."""
    code = """
        import numpy as np, signal
        from skconftree import ConfidenceTreeClassifier
        # a process that is started in the background inherits that it is ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)
        X = np.random.default_rng(0).random((300_000, 4), dtype=np.float32)
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
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        rows, weight = map(float, process.communicate(timeout=60)[0].split())
    finally:
        process.kill()
    assert rows == weight
    assert process.returncode == 0


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_tree_is_complete_after_a_late_interrupt(fitted):
    """Between the checks of a call that begins to grow, and its first row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    start = ConfidenceTreeClassifier(bound=None, grace_period=5, random_state=0)
    if fitted:
        start.fit(X[:30], y[:30])

    def teach(model):
        model.partial_fit(X, y, classes=[0, 1])

    before, plain = 30 if fitted else 0, copy.deepcopy(start)
    teach(copy.deepcopy(start))  # what is looked up once has been
    _, n_places = count_lines(lambda: teach(plain))
    for place in range(n_places - 60, n_places + 1, 1 if NIGHT else 3):
        model = copy.deepcopy(start)
        call = partial(teach, model)
        Interrupter(KeyboardInterrupt, None).at_place(place, call)
        model = pickle.loads(pickle.dumps(model))
        if getattr(model, "n_rows_seen_", 0) == before:
            teach(model)
        assert pickle.dumps(model) == pickle.dumps(plain)
