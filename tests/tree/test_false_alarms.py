"""A detector does not change a correct tree on short streams of many classes."""

import numpy as np
import pytest

from skconftree import ConfidenceTreeClassifier


def clouds(n_classes, n, noise, seed):
    """Rows around the center of their class; nothing changes."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_classes, 8))
    y = rng.integers(0, n_classes, n)
    return (centers[y] + noise * rng.normal(size=(n, 8))).astype(np.float32), y


@pytest.mark.parametrize("noise", [0.3, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_ddm_sees_no_drift_where_26_classes_stay_where_they_are(noise, seed):
    X, y = clouds(26, 2000, noise, seed)
    told = []
    for drift in (None, "ddm"):
        tree = ConfidenceTreeClassifier(drift=drift, refit_rows=0)
        told.append(tree.partial_fit_predict(X, y, np.arange(26)))
        assert tree.n_drifts_ == 0
    np.testing.assert_array_equal(*told)


def test_ddm_sees_26_classes_move():
    X, y = clouds(26, 2000, 0.3, 0)
    y[1000:] = (y[1000:] + 1) % 26
    right = []
    for drift in (None, "ddm"):
        tree = ConfidenceTreeClassifier(drift=drift)
        told = tree.partial_fit_predict(X, y, np.arange(26))
        right.append(np.mean(told[1000:] == y[1000:]))
        assert tree.n_drifts_ == (drift is not None)
    assert right[1] > right[0] + 0.1
