"""Without memory a model is at a boundary of 1,024 rows, as those rows alone make it.

Each case runs in a process of its own, whose address space is limited to what it uses
and some megabytes more. They are forks of one child, which imports everything once.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from skconftree import ConfidenceTreeClassifier

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux limits address space"
)

FIRST, ROWS = 1000, 150_000
SETTINGS = {
    "rows": {"leaf_memory": "rows"},
    "histogram": {"leaf_memory": "histogram"},
    "gaussian": {"leaf_memory": "gaussian"},
    "bayes": {"leaf_prediction": "nba"},
    "drift": {"drift": "ddm"},
    "limit": {"max_bytes": 2**23},
    "nominal": {"categorical_features": [7], "nominal_splits": "multiway"},
}


def make_model(name):
    options = {"bound": None, "grace_period": 5, **SETTINGS[name]}
    return ConfidenceTreeClassifier(**options)


def make_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 8)).astype(np.float32)
    X[:, 7] = rng.integers(0, 300, ROWS)
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    return X, y


CASES = [(name, 9) for name in SETTINGS] + [("histogram", 20)]


def learn_without_memory(name, megabytes, rows):
    """Learn until there is no memory; return what came of it, as bytes."""
    import resource

    X, y = rows
    model = make_model(name).partial_fit(X[:FIRST], y[:FIRST], [0, 1, 2])
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    limit = used + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    failed = False
    try:
        model.partial_fit(X[FIRST:], y[FIRST:])
    except MemoryError:
        failed = True
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    return pickle.dumps((failed, pickle.dumps(model)))


def learn_all(folder):
    """Run every case in a fork and leave what came of it in a file."""
    rows = make_rows()
    for name, megabytes in CASES:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                came = learn_without_memory(name, megabytes, rows)
                Path(folder, f"{name}-{megabytes}").write_bytes(came)
                status = 0
            finally:
                os._exit(status)
        os.waitpid(child, 0)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Return the folder of what came of each case."""
    folder = tmp_path_factory.mktemp("outcomes")
    ran = subprocess.run([sys.executable, __file__, folder], capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()
    return folder


@pytest.fixture(scope="module")
def rows():
    return make_rows()


@pytest.mark.parametrize(("name", "megabytes"), CASES)
def test_state_after_a_memory_error(name, megabytes, outcomes, rows):
    failed, state = pickle.loads((outcomes / f"{name}-{megabytes}").read_bytes())
    model = pickle.loads(state)
    n = model.n_rows_seen_
    assert failed or name == "limit"
    assert n % 1024 == 0 or n in (FIRST, ROWS)
    X, y = rows
    expected = make_model(name).partial_fit(X[:FIRST], y[:FIRST], [0, 1, 2])
    if n > FIRST:
        expected.partial_fit(X[FIRST:n], y[FIRST:n])
    if name != "nominal":  # categories are read before rows are learnt
        assert pickle.dumps(expected) == state
    for one in (model, expected):
        one.partial_fit(X[n : n + 5000], y[n : n + 5000])
    assert model.tree_.__getstate__() == expected.tree_.__getstate__()


if __name__ == "__main__":
    learn_all(sys.argv[1])
