"""The choice of rows: largest scores from many groups."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skconftree.active.lts import lts_select
from skconftree.active.lts._selection import cell_groups


def objective(scores, groups, rows, alpha):
    counts = np.unique(groups[list(rows)], return_counts=True)[1]
    return scores[list(rows)].sum() + alpha * np.sqrt(counts).sum()


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0, 2.0, 5.0])
def test_the_choice_is_that_of_enumeration(alpha):
    rng = np.random.default_rng(int(10 * alpha))
    for trial in range(40):
        n = rng.integers(1, 10)
        scores = rng.random(n).round(1 if trial % 2 else 6)
        groups = rng.integers(0, 4, size=n)
        k = rng.integers(0, n + 1)
        chosen = lts_select(scores, groups, k, alpha, random_state=trial)
        assert len(set(chosen.tolist())) == k
        best = max(
            objective(scores, groups, rows, alpha) for rows in combinations(range(n), k)
        )
        assert objective(scores, groups, chosen, alpha) == pytest.approx(best)


def test_each_pick_is_the_greedy_one():
    rng = np.random.default_rng(0)
    scores, groups = rng.random(60), rng.integers(0, 7, size=60)
    for alpha in (0.1, 0.5, 2.0):
        chosen, taken = [], np.zeros(7, dtype=int)
        for _ in range(25):
            m = taken[groups]
            worth = scores + alpha * (np.sqrt(m + 1) - np.sqrt(m))
            worth[chosen] = -np.inf
            chosen.append(int(worth.argmax()))
            taken[groups[chosen[-1]]] += 1
        assert lts_select(scores, groups, 25, alpha).tolist() == chosen


def test_the_ends_of_alpha():
    scores = np.array([0.9, 0.8, 0.7, 0.1, 0.0, 0.2])
    groups = np.array([0, 0, 0, 1, 2, 2])
    assert sorted(lts_select(scores, groups, 3, 0.0)) == [0, 1, 2]
    assert sorted(lts_select(scores, groups, 3, np.inf)) == [0, 3, 5]
    # the second row of a group only when each has given one
    assert sorted(lts_select(scores, groups, 4, np.inf)) == [0, 1, 3, 5]


def test_worked_numbers():
    """A second row of a group is worth .414 alpha, a first one alpha, a third .318."""
    scores, groups = [0.9, 0.8, 0.3, 0.1], ["a", "a", "b", "c"]
    # .8 + .414 alpha against .3 + alpha: equal at alpha = .8536
    assert lts_select(scores, groups, 2, 0.8535).tolist() == [0, 1]
    assert lts_select(scores, groups, 2, 0.8537).tolist() == [0, 2]


def test_equal_rows_are_chosen_by_chance_alone():
    scores, groups = np.zeros(100), np.repeat([0, 1], 50)
    seen = [lts_select(scores, groups, 10, 1.0, random_state=s) for s in range(200)]
    counts = np.bincount(np.concatenate(seen), minlength=100)
    assert counts.min() > 5
    assert counts.max() < 45
    assert all((rows < 50).sum() == 5 for rows in seen)
    again = lts_select(scores, groups, 10, 1.0, random_state=3)
    assert_array_equal(again, seen[3])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 4}, "k must be from 0 to the 3 rows. Got 4"),
        ({"k": -1}, "k must be from 0 to the 3 rows. Got -1"),
        ({"alpha": -1.0}, "alpha must be 0 or more. Got -1"),
        ({"alpha": np.nan}, "alpha must be 0 or more. Got nan"),
        ({"scores": [0.0, np.nan, 1.0]}, "scores must be finite"),
        ({"groups": [0, 1]}, r"shapes \(3,\) and \(2,\)"),
    ],
)
def test_bad_input(change, message):
    given = {"scores": [0.1, 0.2, 0.3], "groups": [0, 0, 1], "k": 2, "alpha": 1.0}
    with pytest.raises(ValueError, match=message):
        lts_select(**{**given, **change})


def test_cells_are_those_of_a_grid():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(500, 2)).astype(np.float32)
    X[:4] = [[0, 0], [0, 1], [1, 0], [1, 1]]  # so that the edges are known
    bins = 3  # ceil(sqrt(8))
    expected = np.minimum((X * bins).astype(int), bins - 1)
    expected = expected[:, 0] * bins + expected[:, 1]
    assert_array_equal(cell_groups(X, 8), expected)
    assert_array_equal(cell_groups(X * [1.0, 1000.0] - 50.0, 8), expected)


def test_cells_of_many_columns_are_those_of_principal_components():
    rng = np.random.default_rng(0)
    hidden = rng.uniform(-1, 1, size=(1000, 2))
    X = hidden @ rng.normal(size=(2, 12)) + rng.normal(0, 1e-3, size=(1000, 12))
    groups = cell_groups(X, 16, max_dimensions=2)
    assert 8 < groups.max() + 1 <= 16
    # rows of one cell are neighbors
    within = sum(
        hidden[groups == j].var(axis=0).sum() * (groups == j).sum()
        for j in range(groups.max() + 1)
    )
    assert within < 0.35 * hidden.var(axis=0).sum() * 1000


def test_cells_of_columns_that_do_not_vary():
    X = np.ones((30, 3), dtype=np.float32)
    assert_array_equal(cell_groups(X, 10), np.zeros(30))
    X[:, 1] = np.arange(30)
    groups = cell_groups(X, 10)
    assert_array_equal(groups, np.repeat(np.arange(10), 3))
    assert_array_equal(cell_groups(X[:1], 5), [0])


@pytest.mark.parametrize("alpha", [1.708, 2.0, 5.0])
def test_beyond_which_alpha_groups_come_first(alpha):
    """An error is at most 1: (2 - sqrt(2)) alpha above 1 outweighs it."""
    rng = np.random.default_rng(0)
    scores = np.concatenate([np.ones(40), rng.random(40)])
    groups = np.concatenate([np.zeros(40, dtype=int), rng.integers(1, 30, size=40)])
    n_groups = len(np.unique(groups))
    for k in (5, n_groups):
        chosen = lts_select(scores, groups, k, alpha)
        assert len(np.unique(groups[chosen])) == k
        np.testing.assert_allclose(
            scores[chosen].sum(),
            scores[lts_select(scores, groups, k, np.inf)].sum(),
        )
    assert len(np.unique(groups[lts_select(scores, groups, n_groups, 1.0)])) < n_groups
