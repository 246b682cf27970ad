"""After a drift the tree is what the rows since the warning alone would have grown.

The tree in the background is a tree like any other: it learns categories of nominal
columns, and from one call to the next, and from a pickle on, it goes on growing.
"""

import copy
import pickle

import numpy as np
import pytest
from reference.effort import cases
from reference.registries import DETECTORS, MEMORIES
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.drift import DDM, DriftState

CLASSES = [0, 1]
BEFORE, AFTER = 1500, 2500
DETECTOR = DDM(drift_level=6.0)  # slow, so that the tree behind it splits


def drifting_stream(seed, n_categories=40):
    """Rows whose first column says the class; later categories say the opposite."""
    rng = np.random.default_rng(seed)
    n = BEFORE + AFTER
    category = rng.integers(0, n_categories, n)
    category[BEFORE:] += rng.integers(0, n_categories, AFTER)
    y = (category % 2).astype(int)
    y[BEFORE:] = 1 - y[BEFORE:]
    y = np.where(rng.random(n) < 0.05, 1 - y, y)
    X = np.column_stack([category, rng.normal(size=n) + y, rng.normal(size=n)])
    return X, y


def models():
    for splits in ("binary", "multiway"):
        for memory in MEMORIES:
            yield {"nominal_splits": splits, "leaf_memory": memory}
    yield {"bound": "credible", "leaf_memory": "rows"}
    yield {"bound": "evalue", "leaf_memory": "histogram"}
    yield {"bound": None, "leaf_prediction": "majority"}


def make(options):
    return ConfidenceTreeClassifier(
        **{"bound": "gtest", "grace_period": 20, "categorical_features": [0]} | options
    )


@pytest.mark.parametrize("options", list(models()), ids=str)
def test_tree_of_the_rows_since_the_warning(options):
    X, y = drifting_stream(seed=1)
    model = make(options).set_params(drift=DETECTOR)
    predicted = model.partial_fit_predict(X, y, CLASSES)
    states = clone(DETECTOR).update_many(predicted != y)
    end = BEFORE + np.flatnonzero(states[BEFORE:] == DriftState.DRIFT)[0]
    warning = np.flatnonzero(states[:end] == DriftState.STABLE)[-1] + 1
    assert warning < end - 30

    model = make(options).set_params(drift=DETECTOR)
    model.partial_fit(X[: end + 1], y[: end + 1], CLASSES)
    plain = make(options)
    since = slice(warning, end + 1)
    plain.partial_fit(X[since], y[since], CLASSES)
    assert model.n_drifts_ > 0
    # not the whole state: categories of rows before the warning are known as well
    for name in ("counts", "feature", "children_left", "depth"):
        np.testing.assert_array_equal(
            getattr(model.tree_, name), getattr(plain.tree_, name)
        )
    np.testing.assert_array_equal(model.apply(X[since]), plain.apply(X[since]))


@pytest.mark.parametrize(
    ("drift", "options"),
    cases(
        [("ddm", one) for one in models()] + [(name, {}) for name in DETECTORS],
        [("ddm", one) for one in list(models())[::3]]
        + [(name, {}) for name in ("adwin", "local")],
    ),
    ids=str,
)
def test_chunks_and_copies(drift, options):
    """Categories come later, by calls and by pickles, also after a warning."""
    X, y = drifting_stream(seed=2, n_categories=12)
    model = make(options).set_params(drift=DETECTORS[drift]())
    whole = copy.deepcopy(model).partial_fit(X, y, CLASSES)
    assert whole.n_drifts_ > 0
    expected = pickle.dumps(whole)
    for size in (190, 500):
        pieces = copy.deepcopy(model)
        for i in range(0, len(y), size):
            pieces.partial_fit(X[i : i + size], y[i : i + size], CLASSES)
            pieces = pickle.loads(pickle.dumps(pieces))
        assert pickle.dumps(pieces) == expected
