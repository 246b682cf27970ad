"""Split attempts that cannot succeed are skipped, without any other effect.

The first test that a bound accepts is ahead by a hair, as every row is a look: limits
that were wrong would miss it.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference.compiling import compiled
from reference.effort import crossed

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import HoeffdingBound


class Blind(HoeffdingBound):
    """The same bound, asked about every test."""

    def kernel(self, *args, **kwargs):
        """Make what decides."""
        kernel = super().kernel(*args, **kwargs)
        assert kernel.rejects_by_gain
        kernel.rejects_by_gain = False
        return kernel


def rows(name, n=1500):
    """Rows and labels."""
    rng = np.random.default_rng(sum(map(ord, name)))
    k = {"two": 2, "many": 9}.get(name, 4)
    X = rng.normal(size=(n, 5))
    y = ((X[:, 0] + 0.8 * rng.normal(size=n)) > 0).astype(int)
    y += 2 * (X[:, 1] > 0.5) if k > 2 else 0
    if name == "many":
        y = np.minimum(y + 4 * (X[:, 2] > 0) + rng.integers(0, 2, n), k - 1)
    if name == "far":
        X = 1e6 + 0.01 * X
    if name == "few values":
        X = np.round(X)
        X[:, 3] = 1.0
        X[:, 4] = X[:, 0] > 0
    if name == "missing":
        X[rng.random(n) < 0.1, 0] = np.nan
    if name == "long tails":
        X = np.exp(3.0 * X)
    return X.astype(np.float32), y, np.arange(k)


NAMES = ("two", "four", "many", "far", "few values", "missing", "long tails")
SETTINGS = (
    {"criterion": "entropy"},
    {"criterion": "gini"},
    {"criterion": "entropy", "min_samples_leaf": 40},
    {"criterion": "gini", "min_samples_leaf": 0.05, "class_weight": {0: 2.0}},
)


def grown(bound, X, y, classes, **settings):
    """Grow a tree that looks at every row."""
    tree = ConfidenceTreeClassifier(
        bound=bound, leaf_memory="gaussian", grace_period=1, **settings
    )
    return tree.partial_fit(X, y, classes)


def compare(X, y, classes, trees_grow=True, **settings):
    """Compare trees that skip attempts with trees that do not."""
    for parameters in (
        {"delta": 0.2},
        {"delta": 0.05, "against": "no_split"},
        {"delta": 0.2, "tie_threshold": 0.03},
    ):
        bounds = HoeffdingBound(**parameters), Blind(**parameters)
        one, other = (grown(bound, X, y, classes, **settings) for bound in bounds)
        for array in ("feature", "threshold", "counts", "n_node_samples"):
            assert_array_equal(getattr(one.tree_, array), getattr(other.tree_, array))
        assert one.tree_.evidence.tobytes() == other.tree_.evidence.tobytes()
        assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        assert one.tree_.node_count > 1 or not trees_grow


@pytest.mark.parametrize(("name", "settings"), crossed(NAMES, SETTINGS), ids=str)
def test_trees_equal_those_of_all_attempts(name, settings):
    X, y, classes = rows(name)
    compare(X, y, classes, name != "missing", **settings)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_unit_and_origin_of_the_values_do_not_matter(scale, shift, criterion):
    """Approximate shares in standard deviations are those of the values."""
    X, y, classes = rows("four", 800)
    compare(((X + shift) * scale).astype(np.float32), y, classes, criterion=criterion)


def test_classes_without_rows():
    X, y, _ = rows("four", 800)
    compare(X, 2 * y, np.arange(9), criterion="entropy")


def test_forests_of_drawn_features_are_the_same():
    X, y, classes = rows("many", 3000)
    made = [
        ConfidenceForestClassifier(
            4,
            bound=kind(0.1),
            criterion="entropy",
            grace_period=20,
            max_features=3,
            leaf_memory="gaussian",
            online_rate=6.0,
            drift="adwin",
            random_state=0,
        ).partial_fit(X, y, classes)
        for kind in (HoeffdingBound, Blind)
    ]
    one, other = (forest.predict_proba(X) for forest in made)
    assert_array_equal(one, other)
    assert all(tree.tree_.node_count > 1 for tree in made[0].estimators_)


ROUGH = """
from skconftree.utils._lanes cimport rough_normal_below, rough_xlog2x


def xlog2x(x):
    return rough_xlog2x(x)


def normal_below(z):
    return rough_normal_below(z)
"""


@pytest.mark.slow
def test_rough_functions_are_within_their_limits(tmp_path):
    special = pytest.importorskip("scipy.special")
    rough = compiled(tmp_path, ROUGH, "rough")
    x = np.r_[np.linspace(0, 1, 4001), np.geomspace(1e-30, 1, 500)].astype(np.float32)
    found = np.array([rough.xlog2x(value) for value in x])
    exact = np.where(x > 0, x * np.log2(np.where(x > 0, x, 1), dtype=float), 0.0)
    assert (abs(found - exact) <= 0.00012 * x + 1e-6 * abs(exact)).all()
    z = np.linspace(-6, 6, 4001).astype(np.float32)
    found = np.array([rough.normal_below(value) for value in z])
    assert abs(found - special.ndtr(np.sqrt(2.0) * z.astype(float))).max() < 2e-6
