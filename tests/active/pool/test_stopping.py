"""Stopping rules and simulations."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from reference.effort import cases, examples
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from skconftree import ConfidenceTreeClassifier
from skconftree.active import (
    ActiveLearner,
    ArrayOracle,
    LabelBudget,
    LeafRiskSampling,
    NoisyOracle,
    RiskBelow,
    StableModel,
    simulate,
)
from skconftree.active.pool import StoppingRule
from skconftree.bounds import confidence_sequence, risk_upper

RNG = np.random.default_rng(0)
X = RNG.random((800, 2))
Y = (X[:, 0] > 0.3).astype(int)


def learner(estimator=None, **parameters):
    estimator = ConfidenceTreeClassifier() if estimator is None else estimator
    given = {"strategy": "leaf_risk", "random_state": 0, **parameters}
    return ActiveLearner(estimator, **given)


def limit_of(rule, learner):
    return rule.limit(learner._context(rule.needs))


def test_budget_and_several_rules():
    one = learner().fit(X).run(ArrayOracle(Y), stop=[LabelBudget(12), LabelBudget(30)])
    assert one.n_labeled_ == 12
    assert one.run(ArrayOracle(Y), budget=17).n_labeled_ == 17
    assert one.run(ArrayOracle(Y), budget=5).n_labeled_ == 17


def test_the_budget_counts_all_answers_but_no_initial_labels(tmp_path):
    initial = [*Y[:9], *[None] * 791]
    one = learner(strategy="random").fit(X, initial).teach([20, 21, 22], [0, None, 1])
    one.run(ArrayOracle(Y), budget=10)
    assert one.n_labeled_ == 9 + 10
    # as with a file
    two = learner(strategy="random").fit(X, initial).teach([20, 21, 22], [0, None, 1])
    for _ in range(2):
        two.run(ArrayOracle(Y), budget=10, save=tmp_path / "answers.jsonl")
        assert two.history_ == one.history_
    one.run(ArrayOracle(Y), budget=10)
    assert one.n_labeled_ == 9 + 10
    with pytest.warns(UserWarning, match="budget=792 exceeds .* initial label, 791"):
        one.run(ArrayOracle(Y), budget=792, stop=LabelBudget(5))


def test_the_limit_of_leaves_is_the_sum_of_their_risks():
    one = learner().fit(X).run(ArrayOracle(Y), budget=40)
    leaves = one.estimator_.apply(X)
    known = one.y_ != np.full(800, None)
    ids = np.unique(leaves)
    total = 0.0
    for leaf in ids:
        inside = leaves == leaf
        counts = np.bincount(Y[inside & known], minlength=2)
        total += risk_upper(counts, 0.05 / len(ids), weight=inside.sum())
    rule = RiskBelow(0.1)
    assert len(ids) > 1
    assert limit_of(rule, one) == pytest.approx(total / 800)
    stopped = learner().fit(X).run(ArrayOracle(Y), stop=rule)
    assert limit_of(rule, stopped) <= 0.1
    assert (stopped.predict(X) != Y).mean() <= 0.1
    assert stopped.n_labeled_ < 200


def test_a_growing_tree_is_looked_at_through_its_index(monkeypatch):
    rule = RiskBelow(0.05)
    tree = ConfidenceTreeClassifier(bound="credible", grace_period=1)
    one = learner(tree, refit=False).fit(X)
    one.run(lambda _, rows: [None if r % 7 == 0 else Y[r] for r in rows], 90)
    assert one.estimator_.tree_.node_count > 1
    searched = one._context(rule.needs)
    searched.index = None
    limit = rule.limit(searched)
    monkeypatch.setattr(ConfidenceTreeClassifier, "apply", None)  # nobody searches
    assert limit_of(rule, one) == limit


def test_a_rule_can_be_checked_between_queries():
    stopped = learner().fit(X).run(ArrayOracle(Y), stop=RiskBelow(0.1))
    one = learner().fit(X)
    while not one.reached([LabelBudget(500), RiskBelow(0.1)]):
        rows = one.query()
        one.teach(rows, Y[rows])
    assert one.history_ == stopped.history_


def test_custom_rules_work_like_built_in_rules():
    class Sure(StoppingRule):
        needs = ("predict_proba",)
        random_share = 1.0

        def reached(self, context):
            return context.audit[1] >= 9

    one = learner(GaussianNB(), strategy="margin").fit(X)
    one.run(ArrayOracle(Y), stop=Sure())
    assert one.audit_[1] == 9 < one.n_labeled_  # the first ones had no model to judge
    plain = learner(LinearSVC(), strategy="random").fit(X)
    with pytest.raises(ValueError, match=r"Sure needs predict_proba, which LinearSVC"):
        plain.run(ArrayOracle(Y), stop=Sure())
    assert plain.n_labeled_ == 0


def test_a_rule_need_not_derive_from_anything(tmp_path):
    class Enough:
        looks = 0

        def reached(self, context):
            self.looks += 1
            return context.n_labeled >= 12

    class Audited(Enough):
        needs = ("predict_proba",)
        random_share = 1.0

    one = learner(GaussianNB(), strategy="margin").fit(X)
    one.run(ArrayOracle(Y), stop=[LabelBudget(500), rule := Enough()])
    assert (one.n_labeled_, one.audit_, rule.looks) == (12, (0, 0), 13)
    assert one.reached(rule)
    saved = learner(GaussianNB(), strategy="margin").fit(X)
    saved.run(ArrayOracle(Y), stop=Enough(), save=tmp_path / "answers")
    assert saved.history_ == one.history_
    audited = learner(GaussianNB(), strategy="margin").fit(X)
    assert audited.run(ArrayOracle(Y), stop=Audited()).audit_[1] > 0
    plain = learner(LinearSVC(), strategy="random").fit(X)
    with pytest.raises(ValueError, match=r"Audited needs predict_proba, which Linear"):
        plain.run(ArrayOracle(Y), stop=Audited())


def test_one_class_is_not_a_stable_prediction():
    one = learner(GaussianNB(), strategy="margin").fit(X)
    one.run(ArrayOracle(np.zeros(800)), budget=30, stop=StableModel(n_looks=2))
    assert one.n_labeled_ == 30


def test_no_limit_before_there_is_a_tree():
    assert limit_of(RiskBelow(0.1), learner().fit(X)) == 1.0
    one = learner(GaussianNB(), strategy="margin").fit(X, [*Y[:10], *[None] * 790])
    with pytest.raises(ValueError, match="leaves of a single tree"):
        one.reached(RiskBelow(0.1))


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (RiskBelow(0.0), "eps"),
        (RiskBelow(0.1, method="guess"), "method"),
        (RiskBelow(0.1, delta=1.0), "delta"),
        (RiskBelow(0.1, audit_share=0.0), "audit_share"),
        (LabelBudget(0), "n_labels"),
        (LabelBudget(2.5), "n_labels"),
        (StableModel(agreement=3), "agreement"),
        (StableModel(n_looks=0), "n_looks"),
    ],
)
def test_bad_rules(rule, name):
    one = learner().fit(X)
    for stop in (rule, [LabelBudget(2), rule]):
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            one.run(ArrayOracle(Y), budget=3, stop=stop)
    assert one.n_labeled_ == 0


@pytest.mark.parametrize("stop", [0.1, LabelBudget, [LabelBudget(2), None]])
def test_a_rule_that_is_none(stop):
    with pytest.raises(TypeError, match="stop must be a stopping rule, an object with"):
        learner().fit(X).run(ArrayOracle(Y), stop=stop)


def test_the_audit_judges_before_it_learns():
    rule = RiskBelow(0.3, method="audit", audit_share=0.5)
    one = learner(GaussianNB(), strategy="margin").fit(X)
    one.run(NoisyOracle(Y, 0.1, random_state=0), stop=rule)
    wrong, n = one.audit_
    assert 0 < n < one.n_labeled_
    # the window of all audited rows has half of delta
    of_all = confidence_sequence([wrong, n - wrong], 0.025)[0, 1]
    assert limit_of(rule, one) <= min(of_all, 0.3)
    # judged again, answer by answer
    again = learner(GaussianNB(), strategy="margin").fit(X)
    mistakes, audited = 0, 0
    for batch in one._answers:
        if batch.n_wrong is not None:
            mistakes += int((again.predict(X[batch.rows]) != batch.labels).sum())
            audited += 1
        again.teach(batch.rows, batch.labels)
    assert (mistakes, audited) == (wrong, n)
    assert again.audit_ == (0, 0)
    state = pickle.loads(pickle.dumps(one))
    assert state.undo().audit_[1] in (n, n - 1)


@pytest.mark.slow
def test_the_audit_is_rarely_wrong():
    # The classifier is as it was in the beginning, and its risk, 0.4, is above the
    # limit: every session that stops is wrong.
    errors, n = 0, examples(100, 5)
    for seed in range(n):
        rng = np.random.default_rng(seed)
        y = (rng.random(400) < 0.4).astype(int)
        assert y[2:].mean() > 0.35
        x = np.zeros((400, 1))
        rule = RiskBelow(0.35, method="audit", audit_share=1.0, delta=0.2)
        one = ActiveLearner(Constant(), strategy="random", random_state=seed)
        one.fit(x, [0, 1, *[None] * 398]).run(ArrayOracle(y), budget=100, stop=rule)
        errors += one.reached(rule)
    assert errors <= 0.2 * n


class Constant(GaussianNB):
    """Predicts the first class."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_stable():
    one = learner(GaussianNB(), strategy="margin").fit(X)
    one.run(ArrayOracle(Y), stop=StableModel(0.99, n_looks=5))
    assert 6 < one.n_labeled_ < 400
    with_tree = (
        learner(strategy="random")
        .fit(X[:50])
        .run(ArrayOracle(Y[:50]), stop=StableModel(1.0, n_looks=1000))
    )
    assert with_tree.n_labeled_ == 50


def test_looks_count_from_the_last_change():
    """The first look, and any that finds other predictions, agrees with none before."""
    rule, memory, reached = StableModel(1.0, n_looks=2), {}, []
    for label in (0, 0, 1, 1, 0, 0, 0, 0):
        model = SimpleNamespace(predict=lambda X, label=label: np.full(len(X), label))
        context = SimpleNamespace(estimator=model, X=X, codes=Y, memory=memory)
        reached.append(rule.reached(context))
    assert reached == [False] * 6 + [True] * 2


# -- simulations --------------------------------------------------------------------


@pytest.mark.parametrize("backend", cases(["threading", "loky"], ["threading"]))
def test_simulation_equals_sessions_by_hand_and_does_not_depend_on_jobs(backend):
    wine, y = load_wine(return_X_y=True)
    options = {
        "cv": 2,
        "budget": 14,
        "batch_size": 2,
        "n_initial": 6,
        "random_state": 5,
    }
    strategies = ["entropy", ("boct", LeafRiskSampling())]
    tree = ConfidenceTreeClassifier(bound=None)
    result = simulate(tree, wine, y, strategies, **options)
    assert result.strategies == ["random", "margin", "entropy", "boct"]
    assert result.n_labels.tolist() == [8, 10, 12, 14]
    assert result.scores.shape == (4, 2, 4)
    with parallel_config(backend):
        both = simulate(tree, wine, y, strategies, n_jobs=2, **options)
    np.testing.assert_array_equal(result.scores, both.scores)
    assert (result.scores[0] != result.scores[1]).any()
    rows = result.summary()
    assert [row.strategy for row in rows] == result.strategies
    area = result.scores.mean(axis=2)
    for i, row in enumerate(rows):
        assert row.area == pytest.approx(area[i].mean())
        assert row.gain == pytest.approx((area[i] - area[0]).mean())
        assert row.final == pytest.approx(result.scores[i, :, -1].mean())
    assert rows[0].labels_to_random <= 14


def test_a_classifier_without_probabilities():
    result = simulate(LinearSVC(), X[:80], Y[:80], cv=2, budget=9, n_initial=5)
    assert result.strategies == ["random"]


def test_bad_simulations():
    with pytest.raises(ValueError, match="budget must be above n_initial=5"):
        simulate(GaussianNB(), X[:80], Y[:80], cv=2, budget=5, n_initial=5)
    with pytest.raises(ValueError, match="at most 40, the size of the smallest pool"):
        simulate(GaussianNB(), X[:80], Y[:80], cv=2, budget=50)
    with pytest.raises(ValueError, match="strategy must be one of"):
        simulate(GaussianNB(), X[:80], Y[:80], ["best"], cv=2, budget=5)
    with pytest.raises(
        ValueError, match="batch_size must be at most budget - n_initial=4"
    ):
        simulate(
            GaussianNB(), X[:80], Y[:80], cv=2, budget=9, n_initial=5, batch_size=5
        )


@pytest.mark.parametrize("name", ["budget", "batch_size", "n_initial"])
@pytest.mark.parametrize(
    ("value", "error"), [(-1, ValueError), (0.5, TypeError), ("5", TypeError)]
)
def test_counts_of_a_simulation(name, value, error):
    with pytest.raises(error, match=name):
        simulate(GaussianNB(), X[:80], Y[:80], **{"budget": 9, "cv": 2, name: value})


def test_batches_of_no_label():
    with pytest.raises(ValueError, match="batch_size"):
        simulate(GaussianNB(), X[:80], Y[:80], cv=2, budget=9, batch_size=0)
