"""Threads that run at once: on a Python without a global lock they really do.

There the lock of a model and what readers keep for each other have no other guard than
their own. On other builds of Python the same tests run, one thread at a time.
"""

import pickle
import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest
from reference.effort import NIGHT, cases
from reference.streams import make_stream, state_of
from reference.threads import PATIENCE, at_once

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    OASISClassifier,
)

STREAM = make_stream(0, 6000, n_classes=3, kinds=["continuous"] * 4, signal=0.6)
N_THREADS = 8

IMPORTS = """
import importlib, pkgutil, sys
import skconftree
rooms = [skconftree.__name__]
for found in pkgutil.walk_packages(skconftree.__path__, "skconftree."):
    # what is left out are programs, and what other packages are needed for
    if found.name.rpartition(".")[2] not in {"__main__", "cythonize"}:
        importlib.import_module(found.name)
assert "skconftree.tree.stream._grower" in sys.modules
assert not sys._is_gil_enabled(), "an import has switched the global lock on"
"""


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"),
    reason="this build of Python has its global lock always on",
)
def test_importing_everything_leaves_the_global_lock_off():
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error::RuntimeWarning", "-c", IMPORTS],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def run_all(*works):
    """Begin some works at once, and give what each of them returns."""
    begin, results, errors = threading.Barrier(len(works)), {}, []

    def run(i, work):
        try:
            begin.wait(PATIENCE)
            results[i] = work()
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=run, args=each, daemon=True)
        for each in enumerate(works)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a thread waits for ever"
    if errors:
        raise errors[0]
    return [results[i] for i in range(len(works))]


MODELS = {
    "tree": lambda seed: ConfidenceTreeClassifier(
        "credible", grace_period=20, random_state=seed
    ),
    "no bound": lambda seed: ConfidenceTreeClassifier(
        None, grace_period=5, drift="ddm", random_state=seed
    ),
    "forest": lambda seed: ConfidenceForestClassifier(
        3, grace_period=20, random_state=seed
    ),
    "OASIS": lambda seed: OASISClassifier(n_particles=50, random_state=seed),
}


@pytest.mark.parametrize("name", MODELS)
def test_eight_threads_read_one_model_and_train_ten(name):
    """What each of them sees and makes is what one thread alone does."""

    def learn(seed):
        model = MODELS[name](seed)
        for begin in range(0, 900, 150):
            model.partial_fit(*STREAM.part(begin, begin + 150))
        return state_of(model)

    shared = MODELS[name](0).partial_fit(*STREAM.part(0, 900))
    rows = STREAM.X[:60]
    wanted = shared.predict_proba(rows).tobytes(), [learn(seed) for seed in range(10)]
    seeds = iter(range(10))
    mutex, learned = threading.Lock(), {}

    def work():
        seen = set()
        while True:
            with mutex:
                seed = next(seeds, None)
            if seed is None:
                return seen
            learned[seed] = learn(seed)
            seen |= {shared.predict_proba(rows).tobytes() for _ in range(20)}

    seen = run_all(*[work] * N_THREADS)
    assert [learned[seed] for seed in range(10)] == wanted[1]
    assert set().union(*seen) <= {wanted[0]}


@pytest.mark.parametrize("criterion", cases(["gini", "entropy"], ["gini"]))
def test_concurrent_first_reads_of_a_tree(criterion):
    """What a look has to build is kept for the next one, by whoever was last.

    And nothing that threads share is written to: ThreadSanitizer sees that.
    """
    model = MODELS["tree"](0).set_params(criterion=criterion)
    model.partial_fit(*STREAM.part(0, 2000))
    names = ("counts", "value", "impurity", "children_left", "evidence", "threshold")
    for begin in range(2000, 2050 if NIGHT else 2015):
        # another row: nothing that was shown before is of use
        model.partial_fit(*STREAM.part(begin, begin + 1))
        tree = model.tree_
        # a copy is at work on a tree of its own
        wanted = [getattr(pickle.loads(pickle.dumps(tree)), one) for one in names]

        def look(tree=tree):
            return [getattr(tree, one) for one in names]

        for found in run_all(*[look] * N_THREADS):
            for one, other in zip(found, wanted, strict=True):
                assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", ["no bound", "forest"])
def test_one_learns_and_four_read(name):
    """None is kept waiting for ever, and each sees a model between two calls."""
    model = MODELS[name](0).partial_fit(*STREAM.part(0, 100))
    rows = STREAM.X[:5]
    calls = iter(range(100, 5900))
    end = threading.Event()

    def learn():
        begin = next(calls, None)
        if begin is None:
            end.set()
            return
        model.partial_fit(*STREAM.part(begin, begin + 1))

    readers = [
        lambda: model.predict_proba(rows),
        lambda: model.predict(rows),
        lambda: model.apply(rows),
        lambda: pickle.dumps(model),
    ]
    with at_once(learn, *readers) as threads:
        end.wait(0.25)
    n_rows = 100 + len(threads[0].results)
    assert model.n_rows_seen_ == min(n_rows, 5900)
    alone = MODELS[name](0).partial_fit(*STREAM.part(0, model.n_rows_seen_))
    assert state_of(alone) == state_of(model)


def test_a_forest_of_centroids_is_fitted_in_many_threads():
    X, y = STREAM.X[:600], STREAM.y[:600]

    def fit(jobs):
        model = NCMForestClassifier(6, n_jobs=jobs, random_state=0)
        return pickle.dumps(model.fit(X, y).estimators_)

    alone = fit(None)
    assert all(one == alone for one in run_all(*[lambda: fit(2)] * 4))


def test_forests_that_fail_say_so_in_every_thread():
    """Each task of a step hands in its own error; none is lost, none counted twice."""
    X, y = STREAM.X[:300], STREAM.y[:300]
    wrong = X.copy()
    wrong[200, 1] = np.inf

    def fail():
        model = ConfidenceForestClassifier(4, n_jobs=2, random_state=0)
        model.partial_fit(X, y, STREAM.classes)
        before = state_of(model)
        with pytest.raises(ValueError, match="infinity"):
            model.partial_fit(wrong, y)
        return state_of(model) == before

    assert run_all(*[fail] * 4) == [True] * 4
