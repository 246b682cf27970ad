"""Weights: what they mean, and that none of them is taken silently for another thing.

Frequencies have limits, within which every count is exact enough and no square of a
count vanishes or overflows. Relative weights, as boosting makes them, have a switch of
their own: taken for frequencies they are hardly any rows, on which no bound splits.
"""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import crossed, examples
from reference.registries import STREAM_BOUNDS
from scipy.sparse import csc_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import EC2Bound, GTestBound
from skconftree.bounds._registry import BOUNDS
from skconftree.tables._features import MAX_CATEGORIES

LOADERS = [load_iris, load_wine, load_breast_cancer]
NAN = float("nan")


def load(loader):
    X, y = loader(return_X_y=True)
    return X.astype(np.float32), y


X, Y = load(load_iris)


def random_weights():
    return np.exp(np.random.default_rng(0).normal(size=len(Y)))


def relative(**parameters):
    return ConfidenceTreeClassifier(sample_weight_kind="relative", **parameters)


def frequencies(**parameters):
    return ConfidenceTreeClassifier(sample_weight_kind="frequency", **parameters)


def boosted(estimator, X, y, n_estimators=30):
    """AdaBoost on a tree, and the messages of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ensemble = AdaBoostClassifier(
            estimator, n_estimators=n_estimators, random_state=0
        ).fit(X, y)
    return ensemble, [str(warning.message) for warning in caught]


# -- relative weights --------------------------------------------------------------


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (frequencies(), "The sample weights sum to 1 over"),
        (ConfidenceTreeClassifier(), "The tree is a single leaf"),
        (relative(), "The tree is a single leaf"),
    ],
)
def test_an_ensemble_warns_once_and_the_next_one_again(tree, message):
    for _ in range(2):
        ensemble, messages = boosted(tree, X, Y)
        assert len(ensemble.estimators_) > 1
        assert len(messages) == 1
        assert messages[0].startswith(message)


def test_trees_without_an_ensemble_warn_each_time():
    weights = np.full(len(Y), 1 / len(Y))
    for _ in range(2):
        with pytest.warns(UserWarning, match="interpreted as frequencies"):
            frequencies().fit(X, Y, weights)


@pytest.mark.parametrize("loader", [*LOADERS, load_digits])
def test_boosted_stumps_are_those_of_scikit_learn(loader):
    X, y = load(loader)
    ours, messages = boosted(ConfidenceTreeClassifier(None, max_depth=1), X, y)
    theirs, _ = boosted(DecisionTreeClassifier(max_depth=1, random_state=0), X, y)
    assert messages == []
    assert len(ours.estimators_) == len(theirs.estimators_) == 30
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X))


@pytest.mark.parametrize(
    ("loader", "kind"), crossed(LOADERS, ["auto", "frequency", "relative"])
)
def test_bagged_trees_are_those_of_scikit_learn(loader, kind):
    """Bagging draws rows or counts them: either way these are frequencies."""
    X, y = load(loader)
    ours, theirs = (
        BaggingClassifier(tree, n_estimators=10, random_state=0).fit(X, y)
        for tree in (
            ConfidenceTreeClassifier(bound=None, max_depth=1, sample_weight_kind=kind),
            DecisionTreeClassifier(max_depth=1),
        )
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_boosting_with_weights_taken_for_frequencies_says_so():
    X, y = load(load_breast_cancer)
    for bound in (None, "gtest"):
        ensemble, messages = boosted(frequencies(bound=bound), X, y)
        assert len(ensemble.estimators_) == 1
        assert "sample_weight_kind='relative'" in messages[0]
        assert "sum to 1 over 569 rows" in messages[0]


@pytest.mark.parametrize("max_depth", [1, 3])
def test_boosting_with_a_bound_says_why_it_stops(max_depth):
    X, y = load(load_breast_cancer)
    ensemble, messages = boosted(ConfidenceTreeClassifier(max_depth=max_depth), X, y)
    assert 1 < len(ensemble.estimators_) < 30
    assert ensemble.score(X, y) > 0.93
    assert messages
    for message in messages:
        assert "569 rows, equivalent to" in message
        assert "Boosting soon stops" in message


def test_a_leaf_warns_only_if_weights_leave_few_rows():
    """Weights that are hardly uneven are not why there is nothing to split."""
    y = np.random.default_rng(0).integers(0, 2, 150)
    x = np.zeros((len(y), 1))
    for weight in (compute_sample_weight("balanced", y), 0.5 + y):
        assert ConfidenceTreeClassifier().fit(x, y, weight).get_n_leaves() == 1
    with pytest.warns(UserWarning, match="150 rows, equivalent to 17.8"):
        ConfidenceTreeClassifier().fit(x, y, np.where(np.arange(150) < 15, 5.0, 0.05))


@pytest.mark.parametrize("bound", [None, *BOUNDS])
@pytest.mark.filterwarnings("ignore:The tree is a single leaf")
def test_only_ratios_of_relative_weights_matter(bound):
    weight = random_weights()
    trees = [
        relative(bound=bound).fit(X, Y, weight * scale).tree_
        for scale in (1.0, 2.0**-1000, 2.0**1000)
    ]
    assert len({pickle.dumps(tree) for tree in trees}) == 1


def test_relative_weights_sum_to_the_effective_number_of_rows():
    weight = random_weights()
    tree = relative().fit(X, Y, weight).tree_
    expected = weight.sum() ** 2 / (weight**2).sum()
    assert tree.counts[0].sum() == pytest.approx(expected)
    assert expected < 100.0  # of 150


@pytest.mark.parametrize("bound", [None, *BOUNDS])
def test_equal_relative_weights_are_no_weights(bound):
    plain = ConfidenceTreeClassifier(bound=bound).fit(X, Y)
    for value in (1e-3, 0.1, 7.0, 1e300):
        weight = np.full(len(Y), value)
        weight[5] = 0.0
        tree = relative(bound=bound).fit(X, Y, weight)
        without = ConfidenceTreeClassifier(bound=bound).fit(
            np.delete(X, 5, axis=0), np.delete(Y, 5)
        )
        assert pickle.dumps(tree.tree_) == pickle.dumps(without.tree_)
    same = relative(bound=bound).fit(X, Y)
    assert pickle.dumps(same.tree_) == pickle.dumps(plain.tree_)


def test_limits_of_size_count_effective_rows():
    """But the defaults exclude nothing: a row may weigh any fraction of 1."""
    x = np.arange(40.0).reshape(-1, 1)
    y = (np.arange(40) > 36).astype(int)
    weight = np.where(y == 1, 0.05, 1.0)
    tree = relative(bound=None).fit(x, y, weight)
    assert tree.get_n_leaves() == 2
    assert tree.tree_.counts[2].sum() < 1.0
    n_effective = tree.tree_.counts[0].sum()
    narrow = relative(bound=None, min_samples_leaf=2).fit(x, y, weight)
    assert narrow.tree_.counts[narrow.tree_.feature < 0].sum(axis=1).min() >= 2.0
    stump = relative(bound=None, min_samples_split=int(n_effective) + 1)
    assert stump.fit(x, y, weight).get_n_leaves() == 1


@pytest.mark.parametrize("seed", range(10))
def test_absent_rows_round_no_relative_weight(seed):
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=len(Y)) * (rng.random(len(Y)) < 0.7)
    kept = weight > 0.0
    whole = relative(bound=None).fit(X, Y, weight)
    alone = relative(bound=None).fit(X[kept], Y[kept], weight[kept])
    assert pickle.dumps(whole) == pickle.dumps(alone)


def test_negligible_relative_weights_are_none():
    weight = np.where(np.arange(len(Y)) % 3 == 0, 5e-324, 1.0)
    kept = weight == 1.0
    tree = relative(bound=None).fit(X, Y, weight)
    assert pickle.dumps(tree.tree_) == pickle.dumps(
        relative(bound=None).fit(X[kept], Y[kept]).tree_
    )


def test_streams_have_no_relative_weights():
    tree = relative().fit(X, Y, random_weights())
    before = pickle.dumps(tree)
    for model in (tree, relative()):
        message = r"'sample_weight_kind'.*'auto' or 'frequency' in partial_fit"
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, Y, [0, 1, 2], random_weights())
    assert pickle.dumps(tree) == before
    assert tree.partial_fit(X, Y).n_rows_seen_ == 300


@pytest.mark.parametrize("weight", [[-1.0] * 150, [NAN] * 150, [0.0] * 150, [1.0]])
def test_bad_relative_weights_are_errors(weight):
    with pytest.raises(ValueError, match=r"(?i)(sample.weight|Negative values)"):
        relative().fit(X, Y, weight)


# -- weights whose kind is not given ------------------------------------------------


def assert_same_tree(one, other):
    assert pickle.dumps(one.tree_) == pickle.dumps(other.tree_)


@pytest.mark.parametrize("bound", [None, "gtest"])
def test_integers_are_frequencies(bound):
    tree = ConfidenceTreeClassifier(bound=bound)
    weight = np.random.default_rng(0).integers(0, 4, len(Y))
    repeated = np.repeat(np.arange(len(Y)), weight)
    for as_type in (weight, weight.astype(float), weight.astype(np.float32)):
        tree.fit(X, Y, as_type)
        assert_same_tree(tree, frequencies(bound=bound).fit(X, Y, weight))
        assert tree.tree_.counts[0].sum() == len(repeated)
    np.testing.assert_array_equal(
        tree.tree_.counts, clone(tree).fit(X[repeated], Y[repeated]).tree_.counts
    )


@pytest.mark.parametrize("bound", [None, "gtest"])
def test_other_weights_are_relative(bound):
    tree = ConfidenceTreeClassifier(bound=bound)
    whole = np.where(Y == 2, 3.0, 2.0)
    whole[4] = 0.0
    for weight in (whole / 2, whole * 0.1, random_weights()):
        expected = relative(bound=bound).fit(X, Y, weight)
        assert_same_tree(tree.fit(X, Y, weight), expected)
    # all equal: as without weights
    assert_same_tree(tree.fit(X, Y, np.full(len(Y), 0.2)), clone(tree).fit(X, Y))


def test_balanced_weights_are_relative():
    """As in scikit-learn's `test_unbalanced_iris`."""
    x, y = X[:125], Y[:125]
    weight = compute_sample_weight("balanced", y)
    tree = ConfidenceTreeClassifier(None).fit(x, y, weight)
    np.testing.assert_array_equal(tree.predict(x), y)
    assert tree.tree_.counts[0].sum() == pytest.approx(
        weight.sum() ** 2 / (weight**2).sum()
    )


@pytest.mark.parametrize("container", [np.asarray, csc_array])
def test_equal_weights_below_one_split(container):
    """As in scikit-learn's `test_min_weight_leaf_split_level`."""
    x = container(np.array([[0], [0], [0], [0], [1]]))
    tree = ConfidenceTreeClassifier(None).fit(x, [0, 0, 0, 0, 1], [0.2] * 5)
    assert tree.get_depth() == 1


def test_boosting_by_default():
    X, y = load(load_breast_cancer)
    train, test = train_test_split(np.arange(len(y)), random_state=0)
    ensemble, _ = boosted(ConfidenceTreeClassifier(max_depth=2), X[train], y[train])
    assert ensemble.score(X[test], y[test]) > 0.92


@pytest.mark.parametrize("kind", ["auto", "frequency"])
def test_weights_of_a_stream_are_frequencies(kind):
    """A call with whole weights alone must not differ from one with others."""
    weight = np.where(np.arange(len(Y)) < 70, 2.0, 0.5)
    order = np.random.default_rng(0).permutation(len(Y))
    x, y = X[order], Y[order]

    def start():
        return ConfidenceTreeClassifier(sample_weight_kind=kind, grace_period=20)

    one = start().partial_fit(x, y, [0, 1, 2], weight)
    assert one.tree_.counts[0].sum() == weight.sum()
    other = start()
    for part in (slice(0, 70), slice(70, None)):
        other.partial_fit(x[part], y[part], [0, 1, 2], weight[part])
    assert_same_tree(one, other)
    after_fit = start().fit(x, y, np.ones(len(y))).partial_fit(x, y, None, weight)
    assert after_fit.leaf_counts().sum() == len(y) + weight.sum()


def test_kinds_that_do_not_exist_are_errors():
    with pytest.raises(ValueError, match=r"'auto', 'frequency', 'relative'"):
        ConfidenceTreeClassifier(sample_weight_kind="other").fit(X, Y)


# -- frequencies -------------------------------------------------------------------


def test_probabilities_for_weights_draw_a_warning():
    """Weights are frequencies, so normalized ones are nearly no rows."""
    with pytest.warns(
        UserWarning, match=r"sum to 1 over 150 rows.*sample_weight_kind='relative'"
    ) as caught:
        frequencies().fit(X, Y, np.full(150, 1 / 150))
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="sum to 1 over 150 rows") as caught:
        ConfidenceTreeClassifier().partial_fit(X, Y, [0, 1, 2], np.full(150, 1 / 150))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("weight", [0.6, 1.0, 3.0])
def test_possible_frequencies_draw_none(weight):
    frequencies().fit(X, Y, np.full(len(Y), weight))
    ConfidenceTreeClassifier().partial_fit(X, Y, [0, 1, 2], np.full(len(Y), weight))


EXTREMES = [5e-324, 1e-300, 1e-160, 1e-100, 1e-9, 1e12, 5e13, 7e13, 4e16, 1e19, 1e308]


def assert_sane(tree):
    probabilities = tree.predict_proba(X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    limits = tree.predict_proba_interval(X)
    assert np.isfinite(limits).all()
    assert (limits[..., 0] <= limits[..., 1]).all()
    again = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.predict_proba(X), probabilities)


@pytest.mark.parametrize(("weight", "bound"), crossed(EXTREMES, [None, *STREAM_BOUNDS]))
@pytest.mark.filterwarnings("ignore:The sample weights sum to")
def test_extreme_weights_are_exact_or_an_error(bound, weight):
    calls = {
        "fit": lambda tree, w: tree.fit(X, Y, w),
        "partial_fit": lambda tree, w: tree.partial_fit(X, Y, [0, 1, 2], w),
    }
    for call in calls.values():
        for prediction in ("auto", "majority"):
            tree = frequencies(bound=bound, leaf_prediction=prediction, grace_period=10)
            if 1e-100 <= weight and 150 * weight <= 2.0**53:
                assert_sane(call(tree, np.full(len(Y), weight)))
            else:
                with pytest.raises(ValueError, match=r"sample_weight must .* at "):
                    call(tree, np.full(len(Y), weight))
                assert not hasattr(tree, "tree_")


def test_the_largest_sum_of_a_stream():
    tree = ConfidenceTreeClassifier(bound="gtest", pruning=None)
    for start in (tree.fit, lambda *rows: tree.partial_fit(rows[0], rows[1])):
        start(X, Y, np.full(len(Y), 2e13))
        before = pickle.dumps(tree)
        with pytest.raises(ValueError, match=r"sample_weight must sum .*earlier calls"):
            tree.partial_fit(X, Y, None, np.full(len(Y), 5e13))
        assert pickle.dumps(tree) == before
        tree.partial_fit(X, Y, None, np.full(len(Y), 1e13))
    assert_sane(tree)


@pytest.mark.parametrize(
    ("low", "high"),
    crossed([0.0, 1e-320, 1e-300, 1e-50, 1e-9], [1.0, 1e15, 1e50, 1e100, 1e308]),
)
def test_extreme_class_weights_are_exact_or_an_error(low, high):
    """Alone and with the extremes of sample_weight."""
    calls = {
        "fit": lambda tree, *w: tree.fit(X, Y, *w),
        "partial_fit": lambda tree, *w: tree.partial_fit(X, Y, [0, 1, 2], *w),
    }
    for bound in (None, *BOUNDS):
        for method, call in calls.items():
            if method == "partial_fit" and bound not in (None, *STREAM_BOUNDS):
                continue
            tree = ConfidenceTreeClassifier(
                bound=bound, class_weight={0: low, 1: high, 2: 1.0}, grace_period=10
            )
            if low in (0.0, 1e-50, 1e-9) and high <= 1e50:
                assert_sane(call(tree))
                assert_sane(call(tree, np.full(len(Y), 1e12)))
            else:
                with pytest.raises(ValueError, match=r"class_weight must be 0 or in"):
                    call(tree)


@pytest.mark.parametrize(
    "criterion",
    ["gini", "entropy", "gain_ratio", "ec2", "balance", "imbalance"],
)
def test_rows_that_weigh_nothing_make_no_test(criterion):
    """What is lost in the rounding of the node parts nothing."""
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 2)), rng.integers(0, 3, 60)
    y[np.argmax(X[:, 0])] = 0
    tree = ConfidenceTreeClassifier(
        bound=None, criterion=criterion, class_weight={0: 1e-50, 1: 1.0, 2: 1.0}
    ).set_params(max_depth=1, pruning=None)
    found = tree.fit(X, y).tree_
    assert np.isfinite(found.impurity).all()
    assert found.counts[1:, 1:].sum(axis=1).min() > 0.0


@pytest.mark.parametrize("size", [1e-50, 1e50])
@pytest.mark.parametrize("weight", [1.0, 1e12])
def test_the_size_of_class_weights_does_not_matter(size, weight):
    plain = ConfidenceTreeClassifier(bound="evalue").fit(X, Y, np.full(150, weight))
    tree = ConfidenceTreeClassifier(
        bound="evalue", class_weight=dict.fromkeys([0, 1, 2], size)
    )
    tree.fit(X, Y, np.full(150, weight))
    np.testing.assert_allclose(tree.predict_proba(X), plain.predict_proba(X))


# -- numbers that are no floats ----------------------------------------------------

HUGE = 10**400
NUMERIC = [
    name
    for name, value in ConfidenceTreeClassifier().get_params().items()
    if isinstance(value, (int, float))
    or name in ("delta", "max_depth", "max_features", "max_leaf_nodes", "max_bytes")
]


@pytest.mark.parametrize("name", NUMERIC)
def test_a_parameter_beyond_every_type_is_an_error(name):
    tree = ConfidenceTreeClassifier(**{name: HUGE})
    with pytest.raises(ValueError, match=f"'{name}'.*must fit into a float"):
        tree.fit(X, Y)
    with pytest.raises(ValueError, match=f"'{name}'.*must fit into a float"):
        tree.partial_fit(X, Y, [0, 1, 2])


@pytest.mark.parametrize(
    "name", ["max_depth", "max_features", "max_leaf_nodes", "max_bytes"]
)
def test_the_largest_integer_is_not_a_limit(name):
    tree = ConfidenceTreeClassifier(lookahead=0, **{name: 2**63 - 1}).fit(X, Y)
    assert pickle.dumps(tree.tree_) == pickle.dumps(
        ConfidenceTreeClassifier(lookahead=0).fit(X, Y).tree_
    )


def test_bounds_refuse_numbers_that_are_no_floats():
    for bound in (GTestBound(delta=HUGE), EC2Bound(margin=HUGE)):
        with pytest.raises(ValueError, match="must fit into a float"):
            ConfidenceTreeClassifier(bound=bound).fit(X, Y)


@pytest.mark.parametrize("bound", ["evalue", "bayes_factor"])
@pytest.mark.parametrize("a", [1e-100, 1e6])
def test_extreme_priors_give_finite_evidence(bound, a):
    bound = BOUNDS[bound](a=a)
    assert np.isfinite(bound.evaluate([[30, 2], [3, 90]]).log_evidence)
    for wrong in (a / 1e10, a * 1e10):
        if not 1e-100 <= wrong <= 1e6:
            with pytest.raises(ValueError, match="'a'"):
                type(bound)(a=wrong).evaluate([[30, 2], [3, 90]])


def test_weights_beyond_every_float_are_errors():
    tree = ConfidenceTreeClassifier()
    with pytest.raises(
        ValueError, match="sample_weight contains a number that is too large"
    ):
        tree.fit(X, Y, [HUGE] * 150)
    with pytest.raises(
        ValueError, match="sample_weight contains a number that is too large"
    ):
        tree.partial_fit(X, Y, [0, 1, 2], [HUGE] * 150)
    with pytest.raises(ValueError, match="class_weight has a number that is too large"):
        tree.set_params(class_weight={0: HUGE}).fit(X, Y)


def test_values_beyond_every_float_are_errors():
    table = X.astype(object)
    tree = ConfidenceTreeClassifier().fit(X, Y)
    nominal = ConfidenceTreeClassifier(categorical_features=[3]).fit(X, Y)
    table[7, 1] = HUGE
    for model in (tree, nominal):
        with pytest.raises(ValueError, match="too large for float32"):
            model.fit(table, Y)
        with pytest.raises(ValueError, match="too large for float32"):
            model.predict(table)
        with pytest.raises(ValueError, match="too large for float32"):
            model.partial_fit(table, Y)


# -- absence -----------------------------------------------------------------------


def categories(rng, n, present):
    """Rows with three nominal columns, of which absent rows know other categories."""
    X = np.empty((n, 4), dtype=object)
    X[:, 0] = rng.choice([*"abcdefgh", None], n)
    X[:, 1] = rng.integers(0, 5, n).astype(float)
    X[:, 2] = rng.choice([*"xyz"], n)
    X[~present, 2] = rng.choice([*"pqrxyz"], n - present.sum())
    X[:, 3] = None  # text is met in absent rows alone
    X[~present, 3] = rng.choice([None, "t"], n - present.sum())
    return X


@settings(max_examples=examples(40))
@given(seed=st.integers(0, 10**6), by_class=st.booleans(), pool=st.booleans())
def test_rows_of_weight_zero_teach_fit_no_categories(seed, by_class, pool):
    """With or without them, the model is the same to the last bit.

    So do those of a class of weight 0, but the model knows that class.
    """
    rng = np.random.default_rng(seed)
    n = 60
    y = rng.integers(0, 2, n)
    present = rng.random(n) < 0.4
    present[:2], y[:2] = True, [0, 1]
    X = categories(rng, n, present)
    weight = rng.integers(1, 3, n) * present
    X_pool = X[rng.integers(0, n, 5)] if pool else None
    growth = {"bound": "credible", "delta": 0.4, "categorical_features": [0, 2, 3]}
    models = [ConfidenceTreeClassifier(**growth) for _ in range(2)]
    models[0].fit(X[present], y[present], weight[present], X_pool=X_pool)
    if by_class:
        y = np.where(present, y, 2)
        models[1].set_params(class_weight={0: 1.0, 1: 1.0, 2: 0.0})
        models[1].fit(X, y, np.where(present, weight, 1), X_pool=X_pool)
    else:
        models[1].fit(X, y, weight, X_pool=X_pool)
        assert pickle.dumps(models[1]) == pickle.dumps(models[0])
    assert (
        models[1]._model.schema.features.categories
        == models[0]._model.schema.features.categories
    )


@settings(max_examples=examples(40))
@given(
    seed=st.integers(0, 10**6),
    by_class=st.booleans(),
    pool=st.booleans(),
    fitted=st.booleans(),
    cut=st.integers(1, 139),
)
def test_rows_of_weight_zero_are_absent_from_streams(seed, by_class, pool, fitted, cut):
    """With or without them, the model is the same to the last bit."""
    rng = np.random.default_rng(seed)
    n = 140
    present = rng.random(n) < 0.4
    present[:2] = True
    X = categories(rng, n, present)
    y = np.where(X[:, 2] == "x", 0, 1) ^ (rng.random(n) < 0.1)
    weight = rng.integers(1, 3, n) * present
    pool = {"X_pool": X[rng.integers(0, n, 5)]} if pool else {}
    class_weight = None
    if by_class:
        y = np.where(present, y, 2)
        class_weight = {0: 1.0, 1: 1.0, 2: 0.0}
    growth = {
        "bound": "credible",
        "delta": 0.4,
        "categorical_features": [0, 2, 3],
        "grace_period": 3,
        "class_weight": class_weight,
        "leaf_prediction": "nba",
    }
    classes = [0, 1, 2] if by_class else [0, 1]
    tree, alone = (ConfidenceTreeClassifier(**growth) for _ in range(2))
    if fitted:
        first = slice(0, 40)
        labels = np.concatenate([classes, y[first][len(classes) :]])
        tree.fit(X[first], labels, **pool)
        alone.fit(X[first], labels, **pool)
        pool = {}
    for start, end in ((0, cut), (cut, n)):
        part = slice(start, end)
        learned = present[part]
        given_weight = None if by_class else weight[part]
        names = classes if start == 0 else None
        told = tree.partial_fit_predict(X[part], y[part], names, given_weight, **pool)
        if learned.any():
            given_weight = None if by_class else weight[part][learned]
            expected = alone.partial_fit_predict(
                X[part][learned], y[part][learned], names, given_weight, **pool
            )
            np.testing.assert_array_equal(told[learned], expected)
            assert pickle.dumps(tree) == pickle.dumps(alone)
            pool = {}
    assert (
        tree._model.schema.features.categories
        == alone._model.schema.features.categories
    )


@pytest.mark.parametrize("size", [MAX_CATEGORIES - 100, MAX_CATEGORIES + 100])
def test_absent_rows_do_not_exceed_the_limit_of_categories(size):
    """Nor do rows of weight k count as other than k rows there."""
    ids = np.array([[f"r{i}"] for i in range(size + 200)], dtype=object)
    y = np.arange(len(ids)) % 2
    weight = (np.arange(len(ids)) < size).astype(float)
    trees = [ConfidenceTreeClassifier(categorical_features=[0]) for _ in range(2)]
    with pytest.warns(UserWarning, match="No split uses column 0"):
        trees[0].fit(ids, y, weight)
    with pytest.warns(UserWarning, match="No split uses column 0"):
        trees[1].fit(ids[:size], y[:size], weight[:size])
    assert pickle.dumps(trees[0]) == pickle.dumps(trees[1])
    if size > MAX_CATEGORIES:
        assert trees[0].categories_ == [[None]]
        trees[0].partial_fit(ids[:10], y[:10])
        assert trees[0].categories_ == [[None]]
        for repeated in (
            (ids, y, 2.0 * weight),
            (np.repeat(ids[:size], 2, axis=0), np.repeat(y[:size], 2)),
        ):
            with pytest.raises(ValueError, match=f"0 has {size} categories; at most"):
                trees[1].fit(*repeated)
    else:
        trees[0] = ConfidenceTreeClassifier(categorical_features=[0])
        trees[0].partial_fit(ids, y, [0, 1], weight)
        trees[0].partial_fit(ids[size : size + 100], y[:100])
        with pytest.raises(ValueError, match=f"has {MAX_CATEGORIES + 1} categories"):
            trees[0].partial_fit(ids[size + 100 : size + 101], y[:1])


@pytest.mark.parametrize("bound", [None, "gtest"])
def test_a_learned_class_cannot_get_weight_0(bound):
    """Its leaves would know nothing; nor would the tree be read again."""
    tree = ConfidenceTreeClassifier(bound=bound).fit(X, Y)
    before = pickle.dumps(tree.set_params(class_weight={0: 1.0, 1: 0.0, 2: 1.0}))
    with pytest.raises(ValueError, match="class_weight must be above 0 .* class 1"):
        tree.partial_fit(X, Y)
    assert pickle.dumps(tree) == before
    tree.set_params(class_weight={0: 1.0, 1: 2.0, 2: 1.0}).partial_fit(X, Y)
    assert_sane(pickle.loads(pickle.dumps(tree)))
