"""Which concept a row follows: one helper, used by every stream that drifts.

A change that is a row late or a curve of the wrong slope would spoil every figure on
drift without being seen.
"""

import math

import numpy as np
import pytest

from skconftree.datasets import make_sea
from skconftree.datasets._generators import concept_of_rows, flip_labels


def rows(n, concept, drift_at=None, width=0, seed=0, last=9):
    rng = np.random.RandomState(seed)
    return concept_of_rows(n, concept, drift_at, width, rng, first=0, last=last)


def test_abrupt_changes():
    assert rows(5, 3).tolist() == [3] * 5
    assert rows(6, [2, 4]).tolist() == [2, 2, 2, 4, 4, 4]
    assert rows(5, [2, 4]).tolist() == [2, 2, 2, 4, 4]
    assert rows(6, [1, 2, 1], [1, 5]).tolist() == [1, 2, 2, 2, 2, 1]
    assert rows(8, [1, 2], 0.25).tolist() == [1, 1] + 6 * [2]
    assert rows(8, (1, 2, 3), (2, 0.5)).tolist() == [1, 1, 2, 2, 3, 3, 3, 3]
    assert rows(4, np.array([1, 2]), np.array([3])).tolist() == [1, 1, 1, 2]


def test_abrupt_changes_use_no_random_numbers():
    rng = np.random.RandomState(0)
    concept_of_rows(9, [0, 1], None, 0, rng, first=0)
    assert rng.randint(10**6) == np.random.RandomState(0).randint(10**6)


@pytest.mark.slow
def test_gradual_changes():
    share = np.mean(
        [rows(1000, [0, 1], 500, 200, seed) for seed in range(2000)], axis=0
    )
    time = np.arange(1000)
    want = 1 / (1 + np.exp(-4 * (time - 500) / 200))
    assert np.abs(share - want).max() < 5 * math.sqrt(0.25 / 2000)
    # Slope at the change: one over the width.
    assert np.polyfit(time[480:520], share[480:520], 1)[0] == pytest.approx(
        1 / 200, rel=0.1
    )


def test_labels_replaced():
    y = np.repeat(np.arange(4), 10_000)
    noisy = flip_labels(y.copy(), 0.3, 4, np.random.RandomState(0))
    table = np.histogram2d(y, noisy, bins=4)[0] / 10_000
    want = np.where(np.eye(4) == 1, 0.7, 0.1)
    np.testing.assert_allclose(table, want, atol=0.02)


@pytest.mark.parametrize("concept", [-1, 10, 1.5, "1", [], [0, 10], [0, None], None])
def test_bad_concepts(concept):
    with pytest.raises(ValueError, match="concept must be an integer.*from 0 to 9"):
        rows(10, concept)
    with pytest.raises(ValueError, match="concept must be"):
        make_sea(concept=concept)


def test_concepts_without_an_upper_end():
    with pytest.raises(ValueError, match="at least 0.*Got -2"):
        rows(10, -2, last=None)
    assert rows(3, 10**6, last=None).tolist() == 3 * [10**6]


@pytest.mark.parametrize(
    ("drift_at", "words"),
    [
        ([3, 5], "one entry for each change of concept, 1 here"),
        ([], "one entry"),
        ("x", "one entry"),
        ([None], "one entry"),
        (0, "ascending rows between 0 and n_samples=10"),
        (10, "ascending rows"),
        (1.0, "ascending rows"),
        (-3, "ascending rows"),
        (math.nan, "ascending rows"),
    ],
)
def test_bad_changes(drift_at, words):
    with pytest.raises(ValueError, match=words):
        rows(10, [0, 1], drift_at)
    with pytest.raises(ValueError, match=words):
        make_sea(10, concept=[0, 1], drift_at=drift_at)


def test_changes_must_ascend_and_need_concepts():
    with pytest.raises(ValueError, match="ascending"):
        rows(10, [0, 1, 2], [5, 5])
    with pytest.raises(ValueError, match="0 here"):
        rows(10, 1, 5)


@pytest.mark.parametrize("width", [-1, math.inf, math.nan, "wide"])
def test_bad_widths(width):
    with pytest.raises((ValueError, TypeError), match="drift_width"):
        rows(10, [0, 1], None, width)
