"""An index of rows that threads share, or that is interrupted, follows its trees."""

import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from reference.effort import NIGHT
from sklearn.base import clone

import skconftree
from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

GROWTH = {"bound": None, "grace_period": 5, "leaf_prediction": "majority"}
MODELS = {
    "tree": ConfidenceTreeClassifier(random_state=0, **GROWTH),
    "forest": ConfidenceForestClassifier(2, random_state=0, **GROWTH),
}
PACKAGE = str(Path(skconftree.__file__).parent)
LETTERS = np.array(list("abcdefgh"), dtype=object)


def grown(name, X, y, **options):
    model = clone(MODELS[name]).set_params(**options)
    return model.partial_fit(X, y, classes=[0, 1])


@pytest.fixture
def switching():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.usefixtures("switching")
@pytest.mark.slow
def test_threads_share_an_index(name):
    X = np.random.default_rng(0).normal(size=(50_000, 4)).astype(np.float32)
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0.3)).astype(int)
    model = grown(name, X[:1], y[:1])
    index = model.index_rows(X)
    for begin in range(0, 6000, 300):
        model.partial_fit(X[begin : begin + 300], y[begin : begin + 300])
        begun = threading.Barrier(3)
        found = []

        def ask(begun=begun, found=found):
            begun.wait()
            found.append(index.apply())

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 3
        expected = model.apply(X)
        assert all(np.array_equal(one, expected) for one in found)


def table(rng, n, n_letters):
    X = np.empty((n, 2), dtype=object)
    X[:, 0] = LETTERS[rng.integers(0, n_letters, n)]
    X[:, 1] = rng.integers(0, 5, n)
    return X


def interrupt(place, function):
    """Whether the function had so many lines, behind which a handler may come."""
    n = 0

    def look(frame, event, argument):
        nonlocal n
        if PACKAGE not in frame.f_code.co_filename:
            return None
        n += event == "line"
        if n == place:
            raise KeyboardInterrupt
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:.*column:UserWarning")
def test_an_interrupted_index_goes_on(name):
    pool = table(np.random.default_rng(1), 60, 8)
    ask = {"tree": "counts", "forest": "predict_proba"}[name]
    place = interrupted = 1
    while interrupted:
        rng = np.random.default_rng(0)
        X = table(rng, 80, 3)
        model = grown(name, X, rng.integers(0, 2, 80), categorical_features=[0])
        index = model.index_rows(pool)
        getattr(index, ask)()
        X = table(rng, 80, 8)  # with letters that it does not know yet
        model.partial_fit(X, rng.integers(0, 2, 80))
        interrupted = interrupt(place, getattr(index, ask))
        fresh = model.index_rows(pool)
        assert np.array_equal(index.apply(), fresh.apply())
        assert getattr(index, ask)().tobytes() == getattr(fresh, ask)().tobytes()
        place += 1 if NIGHT else 4
    assert place > 10
