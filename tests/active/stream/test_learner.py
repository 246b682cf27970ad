"""The stream active learner: its budget, its decisions, its drifts."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import cases, crossed, examples
from scipy.special import ndtri
from skconftree.active.stream._decisions import draws
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceTreeClassifier, OASISClassifier
from skconftree.active import (
    ConfTreeSampling,
    FixedUncertainty,
    SplitConfTreeSampling,
    SplitSampling,
    StreamActiveLearner,
    VariableUncertainty,
)
from skconftree.active.stream import StreamStrategy
from skconftree.active.stream._strategies import STREAM_STRATEGIES
from skconftree.bounds import consistency_radius
from skconftree.datasets import make_sea
from skconftree.drift import DDM

X, Y = make_sea(1500, random_state=1)
ONE_ACCOUNT = {
    "split, one": SplitSampling,
    "split_conf_tree, one": SplitConfTreeSampling,
}
NAMES = [*STREAM_STRATEGIES, *ONE_ACCOUNT]
SPLITS = [name for name in NAMES if name.startswith("split")]
SCORES = ["oasis", "gbs", "uc"]  # of a classifier's own, see test_stream_scores.py
COMBINED = ["random_variable_uncertainty", "split_conf_tree, one"]  # of others
KINDS = cases(NAMES, set(NAMES) - {*SCORES[1:], *COMBINED})


def tree():
    return ConfidenceTreeClassifier(grace_period=20)


def learner(estimator=None, **parameters):
    if estimator is None and parameters.get("strategy") in SCORES:
        estimator = OASISClassifier(n_particles=10, buffer_size=10)
    given = {"classes": [0, 1], "random_state": 3, **parameters}
    if given.get("strategy") in ONE_ACCOUNT:
        given["strategy"] = ONE_ACCOUNT[given["strategy"]](n_accounts=1)
    return StreamActiveLearner(tree() if estimator is None else estimator, **given)


@pytest.mark.parametrize("name", KINDS)
def test_the_published_count_is_above_it_by_one_label_at_most(name):
    run = learner(strategy=name, strict_budget=False).run(X[:400], Y[:400])
    before = run.queried.cumsum() - run.queried
    rows = np.arange(1, 401)
    assert (before[run.queried] < 0.1 * rows[run.queried]).all()
    assert (run.queried.cumsum() <= 0.1 * rows + 1).all()


def test_the_windowed_share_forgets():
    early = learner(strategy="random", budget=0.2, budget_estimate="windowed")
    asked = early.run(X, Y).queried
    recent, limits = 0.0, []
    for queried in asked:
        limits.append(recent * 0.99 + 1.0 <= 20.0)
        recent = recent * 0.99 + queried
    assert np.array(limits)[asked].all()
    assert 0.1 < asked.mean() <= 0.21


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=examples(5))
@given(st.data())
def test_decisions_between_two_labels_do_not_depend_on_chunks(name, data):
    whole = learner(strategy=name).fit(X[:150], Y[:150])
    parts = learner(strategy=name).fit(X[:150], Y[:150])
    rows = X[150:350]
    cuts = sorted(data.draw(st.lists(st.integers(0, 200), max_size=6)))
    found = []
    for begin, end in zip([0, *cuts], [*cuts, 200], strict=True):
        parts._pending = parts._pending[:0]  # as if it had been answered
        found.append(parts.query(rows[begin:end]))
        if data.draw(st.booleans()):
            parts = pickle.loads(pickle.dumps(parts))
    asked = whole.query(rows)
    np.testing.assert_array_equal(np.concatenate(found), asked)
    whole._pending = parts._pending = asked[:0]
    assert pickle.dumps(whole) == pickle.dumps(parts)


@pytest.mark.parametrize("name", KINDS)
def test_run_is_query_and_teach_row_by_row(name):
    once, steps = learner(strategy=name), learner(strategy=name)
    run = once.run(X[:150], Y[:150])
    predicted, asked = [], []
    for i in range(150):
        row, label = X[i : i + 1], Y[i : i + 1]
        asked.append(bool(steps.query(row)[0]))
        fitted = hasattr(steps, "estimator_")
        predicted.append(steps.predict(row)[0] if fitted else None)
        if asked[-1]:
            steps.teach(row, label)
    assert run.queried.tolist() == asked
    assert run.predictions.tolist() == predicted
    assert pickle.dumps(once) == pickle.dumps(steps)
    known = np.array([said is not None for said in predicted])
    assert run.n_unpredicted == (~known).sum()
    right = np.array(predicted) == Y[:150]
    assert run.accuracy == pytest.approx(right[known].mean())


def test_rows_before_the_first_model_are_no_errors():
    """Nor do they count as missed rows of the rarest class."""
    one = learner(strategy="random", budget=0.5)
    run = one.run(X[:300], Y[:300])
    first = int(run.queried.argmax())
    assert 0 < first + 1 == run.n_unpredicted
    assert all(said is None for said in run.predictions[: first + 1])
    rest = run.predictions[first + 1 :].astype(int)
    assert run.accuracy == np.mean(rest == Y[first + 1 : 300])
    rare = np.bincount(Y[:300]).argmin()
    expected = f1_score(Y[first + 1 : 300], rest, pos_label=rare)
    assert run.f1 == pytest.approx(expected)


def test_a_run_without_a_prediction_has_no_accuracy():
    run = learner(strategy="random", budget=0.01).run(X[:20], Y[:20])
    assert run.n_unpredicted == 20
    assert np.isnan(run.accuracy)
    assert np.isnan(run.f1)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
def test_selective_sampling_queries_all_until_there_is_a_model(share):
    run = learner(strategy="selective_sampling", budget=share).run(X, Y)
    first = int(np.ceil(1 / share))  # row that the budget can pay for
    assert run.queried.argmax() + 1 == run.n_unpredicted == first


# -- slow, obvious versions ---------------------------------------------------------


def reference(name, certainty, chances, share, n_classes=2, first=0, seed=0):
    """Rules of the papers, one row at a time; no label changes the model."""
    n, asked, theta = len(certainty), [], 1.0
    u = {use: draws(seed, first, n, use) for use in range(4)}
    rows, queried = {True: 0, False: 0}, {True: 0, False: 0}  # of each branch
    for i in range(n):
        want = False
        in_branch = "split" in name and u[1][i] < 0.2
        rows[in_branch] += 1
        paid = sum(asked) + 1 <= share * (i + 1)
        if name in ("split", "split_conf_tree"):
            paid = paid and queried[in_branch] + 1 <= share * rows[in_branch]
        if not paid:
            pass
        elif name == "random":
            want = u[0][i] < share
        elif name == "fixed_uncertainty":
            want = certainty[i] < 0.9
        elif name == "selective_sampling":
            gap = abs(certainty[i] - 1.0 / n_classes)
            want = u[0][i] < share / (share + gap)
        elif "conf_tree" in name:
            want = u[0][i] < (share if in_branch else chances[i])
        elif in_branch:
            want = u[2][i] < share
        else:
            eta = 1.0
            if name == "random_variable_uncertainty":
                eta += ndtri(max(u[3][i], 2.0**-54))
            want = certainty[i] < theta * eta
            theta *= 0.99 if want else 1.01
        asked.append(bool(want))
        queried[in_branch] += asked[-1]
    return asked


@pytest.mark.parametrize(
    ("name", "share"),
    crossed([name for name in NAMES if name not in SCORES], [0.1, 0.4]),
)
def test_decisions_are_those_of_the_published_rules(name, share):
    one = learner(strategy=name, budget=share)
    one.fit(X[:300], Y[:300])
    rows = X[300:1200]
    model = one.estimator_
    certainty = model.predict_proba(rows).max(axis=1)
    # no label has been queried in any leaf: each is far from settled
    expected = reference(name, certainty, np.ones(len(rows)), share, seed=one._seed)
    assert one.query(rows).tolist() == expected
    assert 0.02 < np.mean(expected) <= share


def test_settled_leaves_are_queried_less_often():
    rng = np.random.default_rng(0)
    x = rng.random((4000, 1)).astype(np.float32)
    y = (x[:, 0] > 0.5).astype(int)
    one = learner(ConfidenceTreeClassifier(), budget=0.5).fit(x[:500], y[:500])
    ask = one.query(x[500:1500])
    one.teach(x[500:1500][ask], y[500:1500][ask])
    leaves = one.estimator_.apply(x[1500:])
    counts = one._leaves.of(leaves, 2)[0]
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    gap = np.abs(share[:, 0] - 0.5)
    rows = 1500 + np.arange(2500) - 500 + 1
    radius = consistency_radius(counts.sum(axis=1), rows)
    settled = gap > radius
    assert settled.mean() > 0.5
    with np.errstate(invalid="ignore"):  # infinite without a label
        chance = (0.5 + radius) / (0.5 + radius + gap)
    expected = np.where(settled, chance, 1.0)
    wanted = draws(one._seed, 1000, 2500, 0) < expected
    asked, spent = [], one.n_queried_
    for i, want in enumerate(wanted):
        asked.append(want and spent + 1 <= 0.5 * (1001 + i))
        spent += asked[-1]
    assert one.query(x[1500:]).tolist() == asked


def test_a_custom_strategy():
    class Odd(StreamStrategy):
        def wants(self, context, i):
            return (context.first + i) % 2 == 1

    one = learner(strategy=Odd(), budget=0.6)
    np.testing.assert_array_equal(np.flatnonzero(one.query(X[:7])), [1, 3, 5])


# -- two branches --------------------------------------------------------------------


class Watching(DDM):
    """A detector that keeps what it is given, for all learners."""

    seen = []

    def kernel(self):
        inner, seen = super().kernel(), self.seen

        class Kernel:
            def update_many(self, errors):
                seen.extend(errors)
                return inner.update_many(errors)

        return Kernel()


def watched_errors(strategy, **parameters):
    """Errors that reach the detector, and labels asked for, of 20,000 rows."""
    Watching.seen = []
    x, y = make_sea(20300, random_state=2)
    one = learner(strategy=strategy, drift=Watching(), **parameters)
    one.fit(x[:300], y[:300])
    asked = one.query(x[300:])
    one.teach(x[300:][asked], y[300:][asked])
    return len(Watching.seen), one.n_queried_


@pytest.mark.parametrize(
    ("strategy", "share", "estimate"),
    crossed([SplitSampling, SplitConfTreeSampling], [0.05, 0.2], ["exact", "windowed"]),
)
def test_a_share_of_all_labels_reaches_the_detector(strategy, share, estimate):
    """That of the rows in the random branch."""
    given = {"budget": share, "budget_estimate": estimate}
    found, n_asked = watched_errors(strategy(), **given)
    assert n_asked > 0.8 * share * 20_000
    assert found == pytest.approx(0.2 * n_asked, rel=0.25)


def test_all_labels_of_a_random_strategy_reach_the_detector():
    found, n_asked = watched_errors("random", budget=0.1)
    assert found == n_asked > 1_800


@pytest.mark.parametrize("strategy", [SplitSampling, SplitConfTreeSampling])
def test_a_single_account_starves_the_detector(strategy):
    found, n_asked = watched_errors(strategy(n_accounts=1), budget=0.05)
    assert n_asked > 990
    assert 0 < found < 0.05 * n_asked


@pytest.mark.parametrize("name", SPLITS)
@settings(max_examples=examples(20))
@given(share=st.floats(0.001, 1.0), nu=st.floats(0.01, 0.99), strict=st.booleans())
def test_accounts_keep_to_the_total_budget(name, share, nu, strict):
    strategy = learner(strategy=name).strategy
    if isinstance(strategy, str):
        strategy = STREAM_STRATEGIES[strategy]()
    strategy.set_params(nu=nu)
    one = learner(strategy=strategy, budget=share, strict_budget=strict)
    asked = one.query(X)
    before, rows = asked.cumsum() - asked, np.arange(1, len(X) + 1)
    if strict:
        assert (asked.cumsum() <= share * rows).all()
    assert (before[asked] < share * rows[asked]).all()


# -- drifts, classes, other estimators ------------------------------------------------


@pytest.mark.parametrize("name", cases([*SPLITS, "random"], [*SPLITS[:1], "random"]))
@pytest.mark.slow
def test_a_drift_replaces_the_model(name):
    y, x = np.r_[Y[:900], 1 - Y[:900], 1 - Y[:900]], np.r_[X[:900], X[:900], X[:900]]
    blind = learner(strategy=name, budget=0.5).run(x, y)
    one = learner(strategy=name, budget=0.5, drift="ddm")
    run = one.run(x, y)
    assert one.n_drifts_ >= 1
    late = slice(1800, None)
    assert (run.predictions[late] == y[late]).mean() > 0.8
    assert run.accuracy > blind.accuracy


def test_labels_are_held_back_until_there_are_two_classes():
    words = np.array(["no", "yes"])[Y]
    one = learner(classes=None, strategy="random", budget=1.0)
    same = np.flatnonzero(Y == 1)[:5]
    one.query(X[same])
    one.teach(X[same], words[same])
    assert not hasattr(one, "estimator_")
    both = np.arange(50)
    one.query(X[both])
    one.teach(X[both], words[both])
    assert one.classes_.tolist() == ["no", "yes"]
    rows = np.r_[same, both]
    hand = tree().set_params(random_state=one._seed)
    hand.partial_fit(X[same], words[same], classes=["no", "yes"])
    hand.partial_fit(X[both], words[both])
    np.testing.assert_array_equal(
        one.predict_proba(X[rows]), hand.predict_proba(X[rows])
    )
    with pytest.raises(ValueError, match="not one of the classes .*: 'maybe'"):
        one.teach(X[:1], ["maybe"])
    late = np.r_[words[:200], np.full(len(words) - 200, "maybe")]
    with pytest.raises(ValueError, match=": 'maybe'.* as `classes`"):
        learner(tree(), classes=None, budget=1.0).run(X, late)


@pytest.mark.parametrize("estimator", [GaussianNB(), SGDClassifier(loss="log_loss")])
def test_other_classifiers(estimator):
    one = learner(estimator, strategy="variable_uncertainty", budget=0.2)
    run = one.fit(X[:50], Y[:50]).run(X[:400], Y[:400])
    assert run.accuracy > 0.7
    assert 0.0 < run.f1 < 1.0
    assert one.queried_share_ <= 0.2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "best"}, "strategy"),
        ({"budget": 0.0}, "budget"),
        ({"drift": "ddm"}, "drift must be None unless the strategy queries labels"),
        ({"classes": [1]}, "at least two labels"),
        ({"estimator": GaussianNB()}, "needs the leaves of a single tree"),
    ],
)
def test_bad_parameters(parameters, message):
    one = learner(**parameters)
    with pytest.raises(ValueError, match=message):
        one.query(X[:3])
    assert one.n_rows_seen_ == 0


def test_bad_rows_change_nothing():
    one = learner(strategy="variable_uncertainty").fit(X[:300], Y[:300])
    state = pickle.dumps(one)
    broken = X[:5].copy()
    broken[2, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        one.query(broken)
    with pytest.raises(ValueError, match="features"):
        one.query(X[:5, :2])
    with pytest.raises(ValueError, match="the same length"):
        one.teach(X[:5], Y[:4])
    assert pickle.dumps(one) == state


def test_tables_of_lists_of_no_rows_and_of_three_dimensions():
    one, other = (learner(strategy="random", budget=0.9) for _ in range(2))
    assert one.query(X[:0]).shape == (0,)
    assert (one.query(X[:9].tolist()) == other.query(X[:9])).all()
    before = pickle.dumps(one)
    with pytest.raises(ValueError, match=r"must be a 2d table. Got shape \(3, 3, 1\)"):
        one.query(X[:3, :, np.newaxis])
    assert pickle.dumps(one) == before
    one.teach(X[:0], Y[:0])  # nobody knew an answer
    assert not hasattr(one, "estimator_")


def test_answers_that_are_missing_are_said():
    one = learner(strategy="random", budget=0.9)
    one.query(X[:20])
    with pytest.warns(UserWarning, match="queried labels have not been passed"):
        ask = one.query(X[20:40])
    with pytest.warns(UserWarning, match="not used to detect drift"):
        one.teach(X[20:40][ask][:2], Y[20:40][ask][:2])


@pytest.mark.parametrize(
    ("strategy", "name"),
    [
        (FixedUncertainty(0), "threshold"),
        (FixedUncertainty(5), "threshold"),
        (VariableUncertainty(step=-0.1), "step"),
        (VariableUncertainty(noise=-1), "noise"),
        (SplitSampling(nu=1.5), "nu"),
        (SplitSampling(step=2), "step"),
        (SplitConfTreeSampling(nu="half"), "nu"),
        (SplitSampling(n_accounts=3), "n_accounts"),
        (SplitConfTreeSampling(c=0), "c"),
        (SplitConfTreeSampling(n_accounts="two"), "n_accounts"),
        (ConfTreeSampling(consistency="x"), "consistency"),
        (ConfTreeSampling(c=-1), "c"),
        (ConfTreeSampling(probability=0.5), "probability"),
    ],
)
def test_parameters_of_strategies_out_of_range(strategy, name):
    one = StreamActiveLearner(
        ConfidenceTreeClassifier(), strategy=strategy, classes=[0, 1]
    )
    where = f"'{name}' parameter of {type(strategy).__name__}"
    with pytest.raises(ValueError, match=where):
        one.query(np.zeros((3, 2)))
    assert not hasattr(one, "n_features_in_")


@pytest.mark.filterwarnings("ignore:teach")
@pytest.mark.parametrize("estimator", [GaussianNB(), OASISClassifier()])
def test_a_first_table_that_is_refused_changes_nothing(estimator):
    """Whether the classifier refuses it, or the learner for it."""
    bad = X[:20].copy()
    bad[3, 1] = np.inf
    model = StreamActiveLearner(estimator, strategy="random", random_state=0)
    calls = [
        lambda: model.teach(bad, Y[:20]),
        lambda: model.teach(X[:20], Y[:20], sample_weight=["much"] * 20),
    ]
    if isinstance(estimator, OASISClassifier):
        calls += [lambda: model.query(bad), lambda: model.run(bad, Y[:20])]
    before = pickle.dumps(model)
    for call in calls:
        with pytest.raises(ValueError, match=r"infinity|could not convert"):
            call()
        assert pickle.dumps(model) == before
    model.teach(X[:20, :2], Y[:20])  # of another width than what was refused
    assert model.n_features_in_ == 2


def test_a_table_without_columns_changes_nothing():
    X, y = np.empty((5, 0)), np.arange(5) % 2
    learner = StreamActiveLearner(ConfidenceTreeClassifier(), random_state=0)
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(5, 0\)\)"):
        learner.run(X, y)
    assert not hasattr(learner, "n_features_in_")


@pytest.mark.parametrize("drift", ["local", "ddm"])
def test_a_tree_with_drift_detection_warns(drift):
    watching = tree().set_params(drift=drift)
    one = learner(watching, strategy="variable_uncertainty")
    with pytest.warns(UserWarning, match="Set its drift to None"):
        one.query(X[:3])
    learner(watching, strategy="random").query(X[:3])  # any row may be asked


@pytest.mark.parametrize("drift", cases([None, "ddm"], ["ddm"]))
def test_rows_may_be_dictionaries(drift):
    frame = pd.DataFrame(X[:250], columns=list("abc"))
    frame["color"] = np.where(X[:250, 2] > 5, "red", "blue")
    frame["color"] = frame["color"].astype("str")
    rows, labels = frame.to_dict("records"), Y[:250].tolist()
    given = {"drift": drift, "strategy": "split_conf_tree", "budget": 0.3}
    one, whole = learner(**given), learner(**given)
    for i, (x, label) in enumerate(zip(rows, labels, strict=True)):
        (ask,) = one.query(x)
        assert [ask] == whole.query(frame[i : i + 1]).tolist()
        if ask:
            one.teach(x, label)
            whole.teach(frame[i : i + 1], [label])
        if i == 150:
            one = pickle.loads(pickle.dumps(one))
    assert one.feature_names_in_.tolist() == ["a", "b", "c", "color"]
    assert pickle.dumps(one.estimator_) == pickle.dumps(whole.estimator_)
    assert (one.predict(rows[:50]) == whole.predict(frame[:50])).all()
    assert (one.predict_proba(rows[0]) == whole.predict_proba(frame[:1])).all()
    many = learner(**given)
    assert many.query(rows[:100]).shape == (100,)
    other = learner(**given)
    other.query(X[:5])
    with pytest.raises(ValueError, match="must be the column names of the rows before"):
        other.query(rows[0])
