"""The table of hypotheses at the best row, which stopping rules of benchmarks use."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.hyperplanes import X, Y, cloud, learner_of
from scripts import benchmarks_on_path

from skconftree.active import ArrayOracle, EC2Sampling


@pytest.mark.parametrize("settings", [{}, {"pure": True}, {"clustered": True}])
def test_it_counts_the_hypotheses_that_are_left(settings):
    strategy = EC2Sampling(**settings)
    one = learner_of(strategy)
    for _ in range(6):
        row = one.query()
        context = one._context(strategy.needs)
        hypotheses = strategy._hypotheses(context)
        alive = np.ones(200, dtype=bool)
        if strategy.pure:
            alive = strategy._version_space(context).alive
            hypotheses = strategy._version_space(context).hypotheses
        table = np.zeros((2, hypotheses.groups.max() + 1))
        foreseen = hypotheses.outcomes(X, row)[:, 0]
        np.add.at(
            table,
            (foreseen[alive], hypotheses.groups[alive]),
            hypotheses.weights[alive],
        )
        found = strategy.best_table(context)
        # rows of outcomes that no hypothesis foresees may be absent
        assert_allclose(found[found.any(axis=1)], table[table.any(axis=1)], rtol=1e-9)
        one.teach(row, Y[row])


def test_the_rule_of_trees_stops_after_a_number_of_labels(monkeypatch):
    """A test that halves a node is worth making up to a depth that noise sets (D8)."""
    with benchmarks_on_path(monkeypatch):
        from papers.paper_d_ec2 import EC2Done
    for noise, depth in ((0.1, 6), (0.2, 3), (0.3, 2)):
        rule = EC2Done(noise)
        one = learner_of(EC2Sampling(), cloud(1000), classes=[0, 1])
        one.run(ArrayOracle(Y), budget=12, stop=rule)
        assert one.n_labeled_ == 12
        n_labels = int(np.argmax(np.array(rule.confidences) < 0.5))
        assert depth <= n_labels <= depth + 2
