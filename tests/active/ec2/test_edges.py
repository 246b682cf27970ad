"""Sums over hypotheses against the graph, edge by edge, and against tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.ec2 import score
from skconftree.active.ec2._edges import Edges

from skconftree.bounds import ec2_score


@st.composite
def instances(draw):
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    h, n, k = draw(st.integers(1, 8)), draw(st.integers(1, 7)), draw(st.integers(2, 4))
    outcomes = rng.integers(0, k, (h, n)).astype(np.int16)
    weights = rng.choice([1.0, 2.0, 5.0], h)
    if draw(st.booleans()):
        weights = rng.random(h) + 0.01
    groups = rng.integers(0, draw(st.integers(1, h)), h)
    if draw(st.booleans()):
        groups = np.arange(h)
    alive = rng.random(h) < draw(st.sampled_from([0.5, 0.9, 1.0]))
    return outcomes, weights, groups.astype(np.intp), alive, k


@given(instances(), st.sampled_from([1.0, 49.0]))
def test_against_the_graph(instance, unit):
    outcomes, weights, groups, alive, k = instance
    edges = Edges(outcomes, weights, groups, alive, k, unit)
    tests = np.arange(outcomes.shape[1])
    found = edges.scores(tests)
    slow = [score(outcomes[:, x], weights, groups, alive) / unit for x in tests]
    assert_allclose(found, slow, rtol=1e-12, atol=1e-12)
    assert_array_equal(edges.scores(tests[::-1].copy()), found[::-1])


@given(instances())
def test_against_tables(instance):
    """The score of `ec2_score`, whose table is outcomes by groups."""
    outcomes, weights, groups, alive, k = instance
    tables = np.zeros((outcomes.shape[1], k, groups.max() + 1))
    for x, table in enumerate(tables):
        np.add.at(table, (outcomes[alive, x], groups[alive]), weights[alive])
    found = Edges(outcomes, weights, groups, alive, k, 1.0).scores(
        np.arange(len(tables))
    )
    assert_allclose(found, ec2_score(tables, normalize=False), rtol=1e-12, atol=1e-12)


def one_by_one(edges, tests):
    return np.concatenate([edges.scores(tests[i : i + 1]) for i in range(len(tests))])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("left_out", [0, 0.002, 0.2])
def test_many_tests_at_once(k, left_out):
    """Blocks of tests, side by side or with gaps, are the tests one by one."""
    rng = np.random.default_rng(0)
    outcomes = rng.integers(0, k, (60, 1500)).astype(np.int16)
    groups = rng.integers(0, 50, 60)  # some alone, some not
    alive = rng.random(60) < 0.8
    tests = np.flatnonzero(rng.random(1500) >= left_out)
    for weights in (np.ones(60), rng.integers(1, 400, 60).astype(float)):
        edges = Edges(outcomes, weights, groups, alive, k, 7.0)
        assert_array_equal(edges.scores(tests), one_by_one(edges, tests))
    for i in (0, len(tests) - 1):
        slow = score(outcomes[:, tests[i]], weights, groups, alive) / 7
        assert_allclose(edges.scores(tests)[i], slow, rtol=1e-12)


@given(instances(), st.integers(0, 10**6))
def test_scores_never_rise(instance, seed):
    """Answers only take from a score."""
    outcomes, weights, groups, alive, k = instance
    rng = np.random.default_rng(seed)
    tests = np.arange(outcomes.shape[1])
    before = np.full(len(tests), np.inf)
    for x in rng.permutation(tests):
        edges = Edges(outcomes, weights, groups, alive, k, 1.0)
        now = edges.scores(tests)
        assert (now <= before + 1e-9).all()
        before = now
        alive = alive & (outcomes[:, x] == rng.integers(k))


def test_worked_numbers():
    """Of two tests one halves four hypotheses, one tells nothing (a minus sign).

    All edges weigh 6; half of the hypotheses leave one edge.
    """
    outcomes = np.array([[0, 0], [0, 0], [1, 0], [1, 0]], dtype=np.int16)
    alive = np.ones(4, dtype=bool)
    edges = Edges(outcomes, np.ones(4), np.arange(4), alive, 2, 1.0)
    assert edges.all == 6.0
    assert_array_equal(edges.scores(np.array([0, 1])), [5.0, 0.0])
    grouped = Edges(outcomes, np.ones(4), np.array([0, 0, 1, 1]), alive, 2, 1.0)
    assert_array_equal(grouped.scores(np.array([0, 1])), [4.0, 0.0])


def test_nothing_alive():
    outcomes = np.array([[0], [1]], dtype=np.int16)
    edges = Edges(outcomes, np.ones(2), np.arange(2), np.zeros(2, dtype=bool), 2, 1.0)
    assert edges.all == edges.total == 0.0
    assert_array_equal(edges.scores(np.array([0])), [0.0])


def test_what_does_not_fit():
    outcomes = np.array([[0], [1]], dtype=np.int16)
    two = np.ones(2)
    with pytest.raises(ValueError, match="one element for each of 2 hypotheses"):
        Edges(outcomes, np.ones(3), np.arange(2), two > 0, 2, 1.0)
    edges = Edges(outcomes, two, np.arange(2), two > 0, 2, 1.0)
    with pytest.raises(ValueError, match="tests must be from 0 to 0"):
        edges.scores(np.array([1]))
