"""When EC2 has labels enough: the stopping rule of its trees, on a pool."""

import numpy as np
import pytest
from reference.planes import X, Y, cloud, learner_of
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceForestClassifier
from skconftree.active import ActiveLearner, ArrayOracle, EC2Done, EC2Sampling
from skconftree.bounds import ec2_confidence

IRIS, KIND = load_iris(return_X_y=True)


def confidence_of(learner, **parameters):
    rule = EC2Done(**parameters)
    return rule.confidence_at(learner._context(rule.needs))


@pytest.mark.parametrize("settings", [{}, {"pure": True}, {"clustered": True}])
def test_done_is_the_rule_of_trees(settings):
    """Labels bought are tests made; the best row's table of hypotheses is the node."""
    strategy = EC2Sampling(**settings)
    one = learner_of(strategy)
    for n_bought in range(6):
        row = one.query()
        hypotheses = strategy._hypotheses(one._context(strategy.needs))
        alive = np.ones(200, dtype=bool)
        if strategy.pure:
            alive = strategy._space(one._context(strategy.needs)).alive
            hypotheses = strategy._space(one._context(strategy.needs)).hypotheses
        table = np.zeros((2, hypotheses.groups.max() + 1))
        foreseen = hypotheses.outcomes(X, row)[:, 0]
        np.add.at(
            table,
            (foreseen[alive], hypotheses.groups[alive]),
            hypotheses.weights[alive],
        )
        expected = ec2_confidence(table, n_bought, 0.1)
        found = confidence_of(one, noise=0.1)
        assert found == pytest.approx(expected, rel=1e-9)
        one.teach(row, Y[row])


def test_done_is_a_number_of_labels():
    """A test that halves a node is worth making up to a depth that noise sets (D8)."""
    for noise, depth in ((0.1, 6), (0.2, 3), (0.3, 2)):
        one = learner_of(EC2Sampling(), cloud(1000), classes=[0, 1])
        one.run(ArrayOracle(Y), budget=60, stop=EC2Done(noise=noise))
        assert depth <= one.n_labeled_ <= depth + 2
    never = learner_of("ec2").run(
        ArrayOracle(Y), budget=20, stop=EC2Done(noise=0.3, confidence=0.0)
    )
    assert never.n_labeled_ == 20


def test_done_when_no_edge_is_left():
    one = learner_of(EC2Sampling(pure=True), cloud(8))
    one.run(ArrayOracle(Y), budget=60, stop=EC2Done(noise=0.0))
    assert one.n_labeled_ < 10
    assert confidence_of(one, noise=0.0) == 0.0


def test_done_with_any_strategy_and_with_nothing_known():
    known = [label if i % 5 == 0 else None for i, label in enumerate(KIND)]
    forest = ConfidenceForestClassifier(7, random_state=0)
    one = ActiveLearner(forest, strategy="margin", random_state=0).fit(IRIS)
    assert confidence_of(one) == 1.0
    assert 0.0 <= confidence_of(one.fit(IRIS, known)) <= 1.0
    assert confidence_of(one.fit(IRIS, KIND)) == 0.0
    plain = ActiveLearner(GaussianNB(), strategy="margin").fit(IRIS, known)
    with pytest.raises(ValueError, match="hypotheses that foresee"):
        plain.reached(EC2Done())


@pytest.mark.parametrize(
    "parameters", [{"noise": 1.0}, {"noise": -0.1}, {"confidence": 1.5}, {"noise": "x"}]
)
def test_a_rule_out_of_range(parameters):
    one = learner_of("ec2")
    with pytest.raises(ValueError, match=f"'{next(iter(parameters))}'"):
        one.run(ArrayOracle(Y), stop=EC2Done(**parameters))
    assert one.n_labeled_ == 0
