"""Figures of simulations: names of strategies and tests of their gain."""

import numpy as np
import pytest
from reference.iris_learners import X, Y
from scipy.stats import wilcoxon
from sklearn.naive_bayes import GaussianNB

from skconftree.active import MarginSampling, simulate
from skconftree.active.pool import SimulationResult


@pytest.mark.parametrize("n_runs", [5, 6])
def test_the_gain_is_tested_from_six_runs_on(n_runs):
    scores = np.random.default_rng(0).random((2, n_runs, 4))
    names = ["random", "margin"]
    result = SimulationResult(names, np.arange(4), scores, np.zeros((2, n_runs)))
    random, margin = result.summary()
    assert np.isnan(random.p_value)
    if n_runs < 6:
        assert np.isnan(margin.p_value)
    else:
        gain = scores[1].mean(axis=1) - scores[0].mean(axis=1)
        assert margin.p_value == wilcoxon(gain).pvalue


def test_a_strategy_without_a_name_has_that_of_its_class():
    def first(estimator, X):
        return -np.arange(len(X))

    strategies = [MarginSampling(), first]
    result = simulate(GaussianNB(), X, Y, strategies, cv=1, budget=8)
    assert result.strategies == ["random", "margin", "MarginSampling", "first"]
