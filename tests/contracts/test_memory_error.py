"""Without memory a model is at a boundary of 1,024 rows, as those rows alone make it.

Each case runs in a process of its own, whose address space is limited to what it uses
and some megabytes more.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

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
    "local": {"drift": "local"},
    "limit": {"max_bytes": 2**23},
    "nominal": {"categorical_features": [7], "nominal_splits": "multiway"},
}


FORESTS = {
    "forest": {"leaf_memory": "rows"},
    "forest-threads": {"leaf_memory": "rows", "n_jobs": 2},
}


def make_model(name):
    options = {"bound": None, "grace_period": 5}
    if name in FORESTS:
        options |= {"max_features": None, "random_state": 0, **FORESTS[name]}
        return ConfidenceForestClassifier(3, **options)
    options |= SETTINGS[name]
    return ConfidenceTreeClassifier(**options)


def make_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 8)).astype(np.float32)
    X[:, 7] = rng.integers(0, 300, ROWS)
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    return X, y


def trees_of(model):
    return getattr(model, "estimators_", [model])


def learn_without_memory(name, megabytes):
    """Learn until there is no memory; tell what came of it."""
    import resource

    X, y = make_rows()
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
    sys.stdout.buffer.write(pickle.dumps((failed, pickle.dumps(model))))


CASES = [
    *((name, 9) for name in SETTINGS),
    ("histogram", 20),
    *((name, 24) for name in FORESTS),
]


@pytest.mark.slow  # in processes that import everything again
@pytest.mark.parametrize(("name", "megabytes"), CASES)
def test_state_after_a_memory_error(name, megabytes):
    ran = subprocess.run(
        [sys.executable, __file__, name, str(megabytes)],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert ran.returncode == 0, ran.stderr.decode()
    failed, state = pickle.loads(ran.stdout)
    model = pickle.loads(state)
    n = model.n_rows_seen_
    assert failed or name == "limit"
    assert n % 1024 == 0 or n in (FIRST, ROWS)
    X, y = make_rows()
    expected = make_model(name).partial_fit(X[:FIRST], y[:FIRST], [0, 1, 2])
    if n > FIRST:
        expected.partial_fit(X[FIRST:n], y[FIRST:n])
    if name != "nominal":  # categories are read before rows are learned
        assert pickle.dumps(expected) == state
    for one in (model, expected):
        one.partial_fit(X[n : n + 5000], y[n : n + 5000])
    for tree, other in zip(trees_of(model), trees_of(expected), strict=True):
        assert tree.tree_.__getstate__() == other.tree_.__getstate__()


if __name__ == "__main__":
    learn_without_memory(sys.argv[1], int(sys.argv[2]))
