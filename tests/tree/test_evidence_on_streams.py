"""What evalue promises on streams, by simulation: few false splits, early true ones.

The leaf is looked at after every row (grace_period=1), as the theorem allows and no
other rule does. "Planted" is a feature one cut of which separates class probabilities
of .6 and .4.
"""

import numpy as np
import pytest
from reference.effort import crossed, examples
from scipy import stats

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import EValueBound

DELTA = 0.05


def learn_until_split(bound, X, y, n_classes, memory, chunk=None):
    """Rows until the first split, rounded up to chunks; None if there is none."""
    model = ConfidenceTreeClassifier(
        bound=bound,
        grace_period=1,
        leaf_memory=memory,
        leaf_prediction="majority",
        max_leaf_nodes=2,
    )
    classes = np.arange(n_classes)
    chunk = chunk or len(y)
    for begin in range(0, len(y), chunk):
        rows = slice(begin, begin + chunk)
        model.partial_fit(X[rows], y[rows], classes)
        if model.tree_.node_count > 1:
            return begin + chunk
    return None


@pytest.mark.parametrize(
    ("memory", "shares"),
    crossed(
        ["auto", "gaussian"], [[0.5, 0.5], [0.9, 0.1], [0.2] * 5, [0.9] + [0.01] * 10]
    ),
)
def test_noise_is_left_alone(shares, memory):
    """At most delta of the streams of noise ever split, up to chance."""
    many = memory == "auto" and len(shares) == 2
    n_streams, n_rows = examples(300 if many else 60, by_day=20), 1000
    shares = np.array(shares) / np.sum(shares)
    false_splits = 0
    for seed in range(n_streams):
        rng = np.random.default_rng([seed, len(shares)])
        X = rng.random((n_rows, 3), dtype=np.float32)
        X[:, 0] = np.rint(4 * X[:, 0])
        y = rng.choice(len(shares), n_rows, p=shares)
        bound = EValueBound(delta=DELTA, per_path=False)
        split = learn_until_split(bound, X, y, len(shares), memory)
        false_splits += split is not None
    assert false_splits <= stats.binom.ppf(0.999, n_streams, DELTA)


@pytest.mark.parametrize("memory", ["auto", "rows"])
def test_noise_below_a_true_split_is_left_alone(memory):
    """What children took over is no evidence: they are judged by their own rows."""
    n_streams = examples(100, by_day=20)
    false_splits = 0
    for seed in range(n_streams):
        rng = np.random.default_rng(seed)
        X = rng.random((800, 4), dtype=np.float32)
        X[:, 0] = np.rint(X[:, 0])
        y = (rng.random(800) < np.where(X[:, 0] > 0.5, 0.9, 0.1)).astype(int)
        model = ConfidenceTreeClassifier(
            bound=EValueBound(delta=DELTA),
            grace_period=1,
            leaf_memory=memory,
            leaf_prediction="majority",
            max_leaf_nodes=3,
        )
        model.partial_fit(X, y, [0, 1])
        assert model.tree_.feature[0] == 0
        false_splits += model.tree_.node_count > 3
    assert false_splits <= stats.binom.ppf(0.999, n_streams, DELTA)


def planted(seed, n_rows, n_features=4):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features), dtype=np.float32)
    y = (rng.random(n_rows) < np.where(X[:, 0] > 0.5, 0.6, 0.4)).astype(int)
    return X, y


def hoeffding_rows(X, y, n_cuts=31, step=25):
    """Rows after which VFDT's radius lets the best cut beat no split.

    Gini on the scale of its range 1, against no split, delta divided by the number of
    tests compared.
    """
    n_rows, d = X.shape
    cuts = np.quantile(X[:32], np.arange(1, n_cuts + 1) / (n_cuts + 1), axis=0)
    goes_left = X[:, None, :] <= cuts
    n = np.arange(1, n_rows + 1)[step - 1 :: step, None, None]

    def ones(condition):
        return np.cumsum(condition, axis=0)[step - 1 :: step]

    left, left_1 = ones(goes_left), ones(goes_left & (y == 1)[:, None, None])
    right, n_1 = n - left, np.cumsum(y)[step - 1 :: step, None, None]
    right_1 = n_1 - left_1

    def gini_total(m, m_1):
        return 2 * m_1 * (m - m_1) / np.maximum(m, 1)

    children = gini_total(left, left_1) + gini_total(right, right_1)
    gain = (gini_total(n, n_1) - children) / n
    radius = np.sqrt(np.log(n_cuts * d / DELTA) / (2 * n))
    enough = (gain > radius).any(axis=(1, 2))
    return step * (1 + int(np.argmax(enough))) if enough.any() else np.inf


def test_planted_splits_come_ten_times_earlier_than_hoeffdings():
    early, late = [], []
    for seed in range(7):
        X, y = planted(seed, 16_000)
        bound = EValueBound(delta=DELTA, per_path=False)
        early.append(learn_until_split(bound, X, y, 2, "auto", chunk=25) or np.inf)
        late.append(hoeffding_rows(X, y))
    assert np.median(early) < 2000
    assert np.median(late) >= 10 * np.median(early)


def test_the_planted_feature_is_selected():
    found = []
    for seed in range(7):
        X, y = planted(seed, 4000)
        model = ConfidenceTreeClassifier(
            bound="evalue", grace_period=1, max_leaf_nodes=2
        )
        model.partial_fit(X, y, [0, 1])
        found.append((int(model.tree_.feature[0]), float(model.tree_.threshold[0])))
    features, thresholds = zip(*found, strict=True)
    assert features.count(0) == 7
    assert np.median(np.abs(np.array(thresholds) - 0.5)) < 0.1
