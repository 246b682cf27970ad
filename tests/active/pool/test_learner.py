"""The active learner: labels, queries, and its state."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import crossed, examples
from reference.iris_learners import X, Y, add_labels, learner, some
from scipy.sparse import coo_matrix, csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import ActiveLearner, ArrayOracle, NoisyOracle
from skconftree.active._labels import take
from skconftree.active._registry import STRATEGIES
from skconftree.bounds import CredibleBound
from skconftree.testing import check_strategy

WORDS = np.array(["setosa", "versicolor", "virginica"])[Y]


# -- what is a label --------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "missing", "n_known", "classes"),
    [
        ([0, None, 2, None], None, 2, [0, 2]),
        ([0.0, np.nan, 2.0, np.nan], None, 2, [0.0, 2.0]),
        (["a", None, "b", np.nan], None, 2, ["a", "b"]),
        ([1, -1, -1, 1], None, 4, [-1, 1]),
        ([1, -1, 0, -1], -1, 2, [0, 1]),
        (["a", "?", "b", "?"], "?", 2, ["a", "b"]),
        ([True, None, False, None], None, 2, [False, True]),
    ],
)
def test_missing_labels(y, missing, n_known, classes):
    one = learner(DecisionTreeClassifier(), missing_label=missing)
    one.fit(np.arange(4.0).reshape(-1, 1), y)
    assert one.n_labeled_ == n_known
    assert one.classes_.tolist() == classes
    assert [one for one in one.y_.tolist() if one != missing] == [
        one for one in y if one in classes and one != missing
    ]


def test_labels_beyond_floats_stay_apart():
    y = [2**53, 2**53 + 1, None, None]
    one = learner(DecisionTreeClassifier()).fit(np.arange(4.0).reshape(-1, 1), y)
    assert one.classes_.tolist() == [2**53, 2**53 + 1]


def test_missing_integers_of_pandas():
    y = pd.Series([2, None, 1, None], dtype="Int64")
    one = learner(DecisionTreeClassifier()).fit(np.arange(4.0).reshape(-1, 1), y)
    assert one.n_labeled_ == 2
    assert one.classes_.tolist() == [1, 2]


# -- questions --------------------------------------------------------------------


ESTIMATORS = {
    "our forest": ConfidenceForestClassifier(5),
    "naive Bayes": GaussianNB(),
    "tree": ConfidenceTreeClassifier(),
    "plain tree": DecisionTreeClassifier(),
    "forest": RandomForestClassifier(5),
    "pipeline": make_pipeline(StandardScaler(), DecisionTreeClassifier()),
}


def _serves(estimator, strategy):
    try:
        learner(estimator, strategy=strategy).fit(X[:9])
    except ValueError:
        return False
    return True


def _served():
    """All pairs; by default each estimator with one strategy.

    Each strategy with its own choice of an estimator is in the contracts of plug-ins.
    """
    tried = {None}
    for strategy in STRATEGIES:
        names = [name for name in ESTIMATORS if _serves(ESTIMATORS[name], strategy)]
        by_default = next((name for name in names if name not in tried), None)
        tried.add(by_default)
        for name in names:
            marks = () if name == by_default else pytest.mark.slow
            yield pytest.param(
                ESTIMATORS[name], strategy, id=f"{name} {strategy}", marks=marks
            )


SERVED = list(_served())


@pytest.mark.parametrize(("estimator", "strategy"), SERVED)
def test_every_strategy_keeps_its_contract(estimator, strategy):
    check_strategy(STRATEGIES[strategy](), estimator)


def test_cold_start_covers_the_classes():
    wine, y = load_wine(return_X_y=True)
    for seed in range(5):
        one = learner(random_state=seed).fit(wine)
        assert len(np.unique(y[one.query(9)])) == 3


def test_skipped_rows_come_last():
    one = learner(strategy="random").fit(X[:10])
    first = one.query(4)
    one.teach(first, [None] * 4)
    assert not set(one.query(6)) & set(first)
    assert set(one.query(8)) >= set(range(10)) - set(first)
    assert len(one.query(99)) == 10
    one.teach(first[:1], [0])
    assert len(one.query(99)) == 9


def test_costs():
    costs = np.where(np.arange(150) % 2, 1e-3, 1e3)
    for strategy in ("margin", "random", "auto", "k_center", "leaf_risk"):
        one = learner(ConfidenceTreeClassifier(), strategy=strategy).fit(X, some(Y))
        rows = one.query(12, costs=costs)
        assert len(np.unique(rows)) == 12
        assert (rows % 2).mean() > 0.7


def test_a_function_is_a_strategy():
    def longest(estimator, rows):
        assert hasattr(estimator, "predict_proba")
        return rows[:, 2]

    one = learner(strategy=longest).fit(X, some(Y))
    assert Y[one.query(5)].tolist() == [2] * 5


def test_ties_in_a_tree_go_to_leaves_with_many_rows():
    x = np.r_[np.linspace(0, 1, 300), np.linspace(2, 3, 10)].reshape(-1, 1)
    y = np.full(310, None)
    y[[0, 1, 2, 300, 301, 302]] = [0, 0, 0, 1, 1, 1]
    tree = DecisionTreeClassifier()
    rows = learner(tree, strategy="margin", tie_break="leaf").fit(x, y).query(20)
    assert (rows < 300).all()


@pytest.mark.parametrize(
    "estimator",
    [GaussianNB(), RandomForestClassifier(3), ConfidenceForestClassifier(3)],
)
def test_only_leaves_of_a_single_tree_are_compared(estimator):
    one = learner(estimator, strategy="margin", tie_break="leaf")
    with pytest.raises(
        ValueError, match="only be 'leaf' if the estimator is a single tree"
    ):
        one.fit(X, some(Y))


@pytest.mark.parametrize("strategy", ["density", "diversity", "k_center"])
def test_columns_of_any_numbers_have_distances(strategy):
    """Nothing known, more than 32 bits hold, hardly anything; and categories."""
    odd = np.column_stack(
        [
            np.full(8, np.nan),
            np.tile([3e38, -3e38, 0.0, np.nan], 2),
            np.tile([1e-45, -1e-45], 4),
            np.tile([1e300, -1e300], 4),
        ]
    )
    plain = np.column_stack([X[:8], odd])
    frame = pd.DataFrame(X[:8], columns=[*"abcd"]).assign(
        kind=pd.Categorical(odd[:, 3])
    )
    for pool in (plain, plain.astype(object), frame):
        one = learner(strategy=strategy).fit(pool)
        assert sorted(one.query(8)) == [*range(8)]
    large = np.column_stack([X[:8], odd[:, 1]])
    for width in (1, 5):
        pool = csr_matrix(np.nan_to_num(large[:, -width:]))
        one = learner(strategy=strategy).fit(pool)
        assert sorted(one.query(8)) == [*range(8)]
    words = pd.DataFrame(X[:8], columns=[*"abcd"]).assign(kind=odd[:, 3].astype(str))
    np.testing.assert_array_equal(
        learner(strategy=strategy).fit(frame).query(8),
        learner(strategy=strategy).fit(words).query(8),
    )


def test_probabilities_have_the_columns_of_the_classes():
    """Those of classes that have no label yet, and lie between others, too."""
    one = learner(classes=["a", "setosa", "versicolor", "virginica"])
    one.fit(X, some(WORDS, (0, 1, 120, 121)))
    proba = one.predict_proba(X)
    assert proba.shape == (150, 4)
    np.testing.assert_array_equal(proba[:, [1, 3]], one.estimator_.predict_proba(X))
    np.testing.assert_array_equal(one.classes_[proba.argmax(axis=1)], one.predict(X))


# -- answers ----------------------------------------------------------------------


@pytest.mark.parametrize("refit", [True, False])
@settings(max_examples=examples(50, by_day=5))
@given(st.data())
def test_undo_and_replay_give_the_same_bytes(refit, data):
    tree = ConfidenceTreeClassifier(bound="credible", grace_period=1)
    one = learner(tree, strategy="margin", refit=refit).fit(X, some(WORDS))
    states = [pickle.dumps(one)]
    for _ in range(data.draw(st.integers(1, 5))):
        k = data.draw(st.integers(1, 4))
        rows = one.query(k)
        skipped = np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)))
        one.teach(rows, np.where(skipped, None, WORDS[rows]))
        states.append(pickle.dumps(one))
    back = data.draw(st.integers(1, len(states) - 1))
    history = one.history_
    one.undo(back)
    assert pickle.dumps(one) == states[-1 - back]
    again = pickle.loads(states[0])
    for answer in history:
        again.teach(answer.row, answer.label)
    np.testing.assert_array_equal(again.y_, pickle.loads(states[-1]).y_)
    np.testing.assert_array_equal(
        again.predict_proba(X), pickle.loads(states[-1]).predict_proba(X)
    )


@pytest.mark.parametrize("refit", [True, False])
def test_a_new_class_is_learned(refit):
    tree = ConfidenceTreeClassifier(bound=None, grace_period=1)
    one = learner(tree, refit=refit).fit(X, some(WORDS, (0, 60)))
    assert one.classes_.tolist() == ["setosa", "versicolor"]
    one.teach([120, 130], WORDS[[120, 130]])
    assert one.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert one.predict_proba(X).shape == (150, 3)
    one.undo()
    assert one.predict_proba(X).shape == (150, 2)


def test_one_class_is_predicted_and_queries_continue():
    one = learner().fit(X)
    one.teach([5, 7], [0, 0])
    assert one.predict(X).tolist() == [0] * 150
    np.testing.assert_array_equal(one.predict_proba(X), np.ones((150, 1)))
    assert len(one.query(3)) == 3


@pytest.mark.parametrize("bound", ["gtest", CredibleBound(pool_weight="labeled")])
def test_growing_equals_partial_fit_by_hand(bound):
    tree = ConfidenceTreeClassifier(bound, grace_period=1)
    one = add_labels(learner(tree, refit=False, classes=[0, 1, 2]).fit(X, some(Y)), 25)
    hand = clone(tree).set_params(random_state=one.estimator_.random_state)
    known = [i for i, label in enumerate(some(Y)) if label is not None]
    hand.partial_fit(X[known], Y[known], classes=[0, 1, 2])
    for answer in one.history_:
        hand.partial_fit(X[[answer.row]], [answer.label])
    np.testing.assert_array_equal(hand.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        np.float32,
        csr_matrix,
        lambda X: pd.DataFrame(X, columns=list("abcd")),
        lambda X: np.where(X > 7.0, np.nan, X),
    ],
    ids=["float64", "float32", "sparse", "frame", "holes"],
)
@pytest.mark.parametrize("refit", ["auto", False])
def test_a_pickle_of_a_tree_that_weighs_its_tests_by_the_pool(form, refit):
    """The tree, which keeps its rows, has the pool as float32."""
    rng = np.random.default_rng(0)
    table = form(rng.integers(0, 9, (3000, 4)) + 0.1)
    y = rng.integers(0, 2, 3000)
    tree = ConfidenceTreeClassifier("credible", grace_period=1, leaf_memory="rows")
    one = learner(tree, strategy="random", refit=refit).fit(table)

    def teach(one):
        rows = one.query(20)
        return one.teach(rows, y[rows])

    teach(one)
    for again in (pickle.loads(pickle.dumps(one)), copy.copy(one)):
        assert again.estimator_ is not one.estimator_ or refit == "auto"
        teach(again)
        assert again.estimator_ is not one.estimator_
        other = copy.copy(one)
        assert teach(other).history_ == again.history_
        np.testing.assert_array_equal(
            other.predict_proba(table), again.predict_proba(table)
        )


def test_a_growing_tree_weighs_its_tests_by_the_pool():
    """Every row counts once, whether it has its label already or not."""
    bound = CredibleBound(delta=0.4)
    tree = ConfidenceTreeClassifier(bound, grace_period=1, leaf_memory="rows")
    one = add_labels(learner(tree, refit=False, classes=[0, 1, 2]).fit(X, some(Y)), 40)
    hand = clone(tree).set_params(random_state=one.estimator_.random_state)
    known = [i for i, label in enumerate(some(Y)) if label is not None]
    hand.partial_fit(None, Y[known], [0, 1, 2], X_pool=X, from_pool=known)
    for answer in one.history_:
        hand.partial_fit(None, [answer.label], from_pool=[answer.row])
    assert hand.get_n_leaves() > 1
    np.testing.assert_array_equal(hand.predict_proba(X), one.predict_proba(X))
    before = pickle.dumps(one)
    again = pickle.loads(before)
    assert pickle.dumps(add_labels(again, 5).undo(5)) == before
    # a tree that brings a pool of its own keeps it
    given = ConfidenceTreeClassifier("credible", grace_period=1)
    given.partial_fit(X[:60:7], Y[:60:7], [0, 1, 2], X_pool=X[:100])
    other = learner(given, refit=False, prefit=True, classes=[0, 1, 2]).fit(X, some(Y))
    assert add_labels(other, 2).n_labeled_ == 8


def test_refitting_equals_fit_by_hand():
    one = add_labels(learner(DecisionTreeClassifier()).fit(X, some(Y)), 10)
    known = one.y_ != np.full(150, None)
    hand = DecisionTreeClassifier(random_state=one.estimator_.random_state)
    hand.fit(X[known], Y[known])
    np.testing.assert_array_equal(hand.predict(X), one.predict(X))


@pytest.mark.parametrize(
    ("model", "form"),
    crossed(
        [
            ConfidenceTreeClassifier(CredibleBound(delta=0.4)),
            ConfidenceTreeClassifier(CredibleBound(delta=0.4), leaf_memory="rows"),
            ConfidenceForestClassifier(9, bound=CredibleBound(delta=0.4)),
        ],
        [np.asarray, csr_matrix, pd.DataFrame],
    ),
)
def test_a_refitted_model_weighs_its_tests_by_the_rest_of_the_pool(model, form):
    rng = np.random.default_rng(0)
    X = rng.random((200, 3)).round(2) ** 3
    y = ((X[:, 0] > 0.1) ^ (rng.random(200) < 0.2)).astype(int)
    pool, known = form(X), np.arange(200) < 60
    one = learner(model, strategy="random").fit(pool, np.where(known, y, None))
    one.teach([70], [None]).teach([80], y[[80]], sample_weight=[2.0])
    weight = np.where(np.arange(200) == 80, 2.0, 1.0)
    known[80] = True
    hand = clone(model).set_params(random_state=one.estimator_.random_state)
    tables = [take(pool, np.flatnonzero(part)) for part in (known, ~known)]
    hand.fit(tables[0], y[known], weight[known], X_pool=tables[1])
    np.testing.assert_array_equal(hand.predict_proba(X), one.predict_proba(X))
    alone = clone(hand).fit(tables[0], y[known], weight[known])
    assert (alone.predict_proba(X) != hand.predict_proba(X)).any()
    again = add_labels(pickle.loads(pickle.dumps(one)), 3, y).undo(3)
    np.testing.assert_array_equal(hand.predict_proba(X), again.predict_proba(X))
    rows = np.flatnonzero(~known)  # with all labels there is no rest
    one.teach(rows, y[rows])
    hand.fit(X, y, weight)
    np.testing.assert_array_equal(hand.predict_proba(X), one.predict_proba(X))


def test_bounds_that_do_not_use_a_pool_are_fitted_without_one():
    for bound in ("gtest", CredibleBound(delta=0.4, pool_weight="labeled"), None):
        model = ConfidenceTreeClassifier(bound, leaf_memory="rows")
        one = add_labels(learner(model).fit(X, some(Y)), 15)
        known = one.y_ != np.full(150, None)
        hand = clone(model).set_params(random_state=one.estimator_.random_state)
        hand.fit(X[known], Y[known])
        np.testing.assert_array_equal(hand.predict_proba(X), one.predict_proba(X))
        assert one.estimator_._model.grower.recipe.X_pool is None


def test_weights_of_answers():
    one = learner(strategy="random").fit(X, some(Y))
    rows = one.query(2)
    one.teach(rows, Y[rows], sample_weight=[0.5, 3.0])
    assert [answer.weight for answer in one.history_] == [0.5, 3.0]
    known = np.flatnonzero(one.y_ != np.full(150, None))
    weight = np.ones(150)
    weight[rows] = [0.5, 3.0]
    hand = GaussianNB().fit(X[known], Y[known], sample_weight=weight[known])
    np.testing.assert_array_equal(hand.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("refit", ["auto", False])
def test_a_fitted_estimator_is_used_from_the_start(refit):
    half = Y != 2
    model = SGDClassifier(loss="log_loss", random_state=0).fit(X[half], Y[half])
    before = model.coef_.copy()
    one = learner(model, prefit=True, refit=refit, strategy="margin").fit(X[half])
    np.testing.assert_array_equal(one.predict(X), model.predict(X))
    proba = model.predict_proba(X[half])
    worth = 1.0 - np.abs(proba[:, 0] - proba[:, 1])
    assert worth[one.query()[0]] == worth.max()
    add_labels(one, 4, Y[half])
    np.testing.assert_array_equal(model.coef_, before)


def test_frames_sparse_tables_and_missing_values():
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(150)[::-1])
    frame["word"] = pd.Categorical(np.where(X[:, 0] > 5.5, "long", "short"))
    frame.iloc[3, 1] = np.nan
    tree = ConfidenceTreeClassifier()
    for pool in (frame, csr_matrix(X), coo_matrix(X)):
        for strategy in ("margin", "leaf_risk", "auto", "k_center"):
            one = learner(tree, strategy=strategy).fit(pool)
            one.run(ArrayOracle(Y), budget=6)
            assert one.n_labeled_ == 6
    one = learner(tree).fit(frame).run(ArrayOracle(Y), budget=9)
    assert one.feature_names_in_.tolist() == [*"abcd", "word"]


def test_noisy_oracle_answers_the_same_each_time():
    oracle = NoisyOracle(Y, 0.3, random_state=0)
    first = oracle(X, np.arange(150))
    np.testing.assert_array_equal(first, oracle(X, np.arange(150)))
    assert 20 < (first != Y).sum() < 70


@pytest.mark.parametrize("refit", [True, False])
def test_few_labels_of_many_classes_are_classification(refit):
    """scikit-learn takes them for one, and would say so with each answer."""
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = np.arange(80) % 40
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = ActiveLearner(
            ConfidenceTreeClassifier(),
            classes=np.arange(40),
            refit=refit,
            random_state=0,
        ).fit(X)
        for _ in range(4):
            rows = learner.query(8)
            learner = learner.teach(rows, y[rows])
    assert learner.predict(X).shape == (80,)
