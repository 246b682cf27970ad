"""Columns of many categories: they pay for their own tests, and for no others.

A nominal column of m categories brings 2^(m-1) - 1 tests. A tree that corrects for all
tests of a node together pays for them at every split on any other column; one that does
not correct splits on noise.
"""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from reference.effort import examples
from scipy import special
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import Chi2Bound, GTestBound
from skconftree.tree import export_text

BOUNDS = {
    "gtest": GTestBound(),
    "chi2, attributes": Chi2Bound(correction="attributes"),
    "chi2, tests": Chi2Bound(correction="tests"),
}


def credit(n, seed=0):
    """A table of numbers that say something of the label."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    score = X["a"] + X["b"] * (X["c"] > 0) + 0.7 * rng.normal(size=n)
    return X, (score > 0.3).to_numpy().astype(int)


def texts(n, n_categories, seed=1):
    rng = np.random.default_rng([seed, n_categories])
    return pd.Categorical([f"c{code}" for code in rng.integers(0, n_categories, n)])


# -- a column that says nothing --------------------------------------------------


@pytest.mark.parametrize("n_categories", [20, 50, 400])
@pytest.mark.parametrize("name", ["gtest", "chi2, tests"])
def test_random_column_takes_nothing_from_the_others(name, n_categories):
    X, y = credit(1000)
    tree = ConfidenceTreeClassifier(BOUNDS[name], pruning=None)
    alone = clone(tree).fit(X, y)
    beside = clone(tree).fit(X.assign(city=texts(1000, n_categories)), y)
    assert np.count_nonzero(beside.tree_.feature == 4) <= 1  # delta allows for some
    # one more attribute of the same kind as the others would cost as little
    assert beside.get_n_leaves() >= 0.7 * alone.get_n_leaves() > 4


@pytest.mark.parametrize("n_categories", [50, 400])
def test_random_column_takes_nothing_from_the_others_on_a_stream(n_categories):
    X, y = credit(4000)
    tree = ConfidenceTreeClassifier(refit_rows=0)
    alone = clone(tree).partial_fit(X, y, classes=[0, 1])
    Z = X.assign(city=texts(4000, n_categories))
    beside = clone(tree).partial_fit(Z, y, classes=[0, 1])
    assert not np.any(beside.tree_.feature == 4)
    assert beside.get_n_leaves() >= 0.7 * alone.get_n_leaves() > 4


def test_wide_column_that_wins_by_gain_and_is_refused_stops_nothing():
    # The best set of the categories has more gain than any cut, and is one of too many.
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=300)})
    y = (rng.random(300) < np.where(X["a"] > 0, 0.7, 0.4)).astype(int)
    X["city"] = texts(300, 100)
    by_gain = ConfidenceTreeClassifier(None, criterion="entropy", max_depth=1).fit(X, y)
    assert by_gain.tree_.feature[0] == 1
    tree = ConfidenceTreeClassifier(max_depth=1, pruning=None).fit(X, y)
    evidence = tree.tree_.evidence[0]
    assert tree.tree_.feature[0] == 0
    assert evidence["runner_up_feature"] == 1
    assert evidence["runner_up_score"] < evidence["score"]
    assert evidence["multiplicity"] == 2 * 299
    assert "runner-up city" in export_text(tree, verbose=True)


def test_wide_column_that_says_something_is_used():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 200, 4000)
    likely = rng.random(200)[code]
    X = pd.DataFrame({"a": rng.normal(size=4000), "city": pd.Categorical(code)})
    y = (rng.random(4000) < likely).astype(int)
    tree = ConfidenceTreeClassifier().fit(X, y)
    assert tree.tree_.feature[0] == 1
    evidence = tree.tree_.evidence[0]
    assert evidence["multiplicity"] == 2.0 * (2.0**199 - 1.0)
    assert (
        evidence["n_candidates"] == 2.0**199
    )  # and the cuts, which no float tells apart


# -- the promise: fewer than delta false cuts are expected ---------------------------


COLUMNS = (0, 0, 0, 2, 3, 5, 10, 30, 100, 1000)  # categories; 0 = numbers


def noise(rng, n):
    kinds = [rng.integers(0, m, n) if m else rng.normal(size=n) for m in COLUMNS]
    y = np.append([0, 1], rng.integers(0, 2, n - 2))
    return np.column_stack(kinds), y


@pytest.mark.parametrize("bound", [GTestBound(1.0), GTestBound(0.2), GTestBound(0.05)])
def test_false_cuts_of_any_mixture_of_columns(bound):
    """Each column alone, with its share of delta, and all of them together."""
    rng = np.random.default_rng(5)
    d, n_nodes, n = len(COLUMNS), examples(150), 250
    share = GTestBound(bound.delta / d)
    alone, together = np.zeros(d), 0
    for _ in range(n_nodes):
        X, y = noise(rng, n)
        nominal = np.array(COLUMNS) > 0
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "No split uses column")
            stump = ConfidenceTreeClassifier(
                bound, pruning=None, max_depth=1, categorical_features=nominal
            ).fit(X, y)
            together += stump.get_n_leaves() > 1
            for j in range(d):
                stump.set_params(bound=share, categorical_features=nominal[[j]])
                alone[j] += stump.fit(X[:, [j]], y).get_n_leaves() > 1
    expected = bound.delta * n_nodes
    assert max(alone.sum(), together) <= expected + 3 * np.sqrt(expected)
    if bound.delta == 1.0:
        assert together >= 0.2 * n_nodes  # the bound is lax, not asleep


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)
def test_unique_categories_do_not_count_as_evidence(bound):
    # A set of them tells any labels apart.
    y = np.tile([0, 1], 5)
    X = np.arange(10.0)[:, np.newaxis]
    tree = ConfidenceTreeClassifier(bound, pruning=None, categorical_features=[0])
    assert tree.fit(X, y).get_n_leaves() == 1
    assert tree.fit(X, y, sample_weight=np.full(10, 5)).get_n_leaves() == 2


def test_unique_categories_do_not_count_as_evidence_on_a_stream():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=3000), np.arange(3000)])
    y = (X[:, 0] > 0).astype(int)
    tree = ConfidenceTreeClassifier(categorical_features=[1], max_depth=1)
    tree.partial_fit(X, y, classes=[0, 1])
    assert tree.tree_.feature[0] == 0
    assert tree.score(X, y) > 0.95


# -- numbers too small or too large for a float ----------------------------------------


def test_more_sets_than_a_float_holds():
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(4000), 3)
    tree = ConfidenceTreeClassifier(pruning=None, categorical_features=[0])
    X = code[:, np.newaxis]
    assert tree.fit(X, rng.integers(0, 2, len(X))).get_n_leaves() == 1
    tree.fit(X, code % 2)
    assert tree.get_n_leaves() == 2
    assert tree.tree_.evidence["statistic"][0] == 0.0
    evidence = tree.tree_.evidence[0]
    assert evidence["multiplicity"] == evidence["n_candidates"] == np.inf
    # 2^3999 - 1 sets of categories, one of which separates 6,000 rows of each class
    g = 2.0 * len(X) * np.log(2.0)
    log_p = np.log(2.0) + special.log_ndtr(-np.sqrt(g))  # one degree of freedom
    assert evidence["log10_expected_by_chance"] == pytest.approx(
        log_p / np.log(10.0) + 3999 * np.log10(2.0), rel=1e-12
    )
    assert "countless candidate splits" in tree.summary()


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("name", BOUNDS)
def test_best_of_attributes_whose_chances_are_no_floats(name, criterion):
    # The second column has more tests and still less of a chance.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    wrong = rng.random((20_000, 3)) < [0.02, 0.001, 0.01]
    X = (wrong != y[:, np.newaxis]) + [0.0, 0.3, 0.0] * rng.random((20_000, 3))
    tree = ConfidenceTreeClassifier(BOUNDS[name], criterion=criterion, max_depth=1)
    evidence = tree.fit(X, y).tree_.evidence[0]
    assert tree.tree_.feature[0] == 1
    assert evidence["runner_up_feature"] == 2
    assert evidence["statistic"] == 0.0


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_more_gain_does_not_make_up_for_far_more_tests(criterion):
    # No chance here is a float; the sets of categories have less gain than it takes.
    rng = np.random.default_rng(0)
    code = rng.integers(0, 900, 20_000)
    y = code % 2 != (rng.random(20_000) < 0.009)
    X = np.column_stack([y != (rng.random(20_000) < 0.01), code])
    tree = ConfidenceTreeClassifier(
        criterion=criterion, max_depth=1, categorical_features=[1]
    )
    evidence = tree.fit(X, y).tree_.evidence[0]
    assert tree.tree_.feature[0] == 0
    assert evidence["runner_up_feature"] == 1
    assert evidence["runner_up_score"] < evidence["score"]
    assert evidence["multiplicity"] == 2.0
    assert evidence["statistic"] == 0.0


# -- columns that identify rows --------------------------------------------------------


@pytest.mark.parametrize("bound", ["gtest", None, "evalue", "possibilistic"])
def test_identifying_column_is_left_out_and_named(bound):
    X, y = credit(400)
    tree = ConfidenceTreeClassifier(bound, max_depth=4)
    alone = clone(tree).fit(X, y)
    Z = X.assign(name=pd.Categorical([f"r{i}" for i in range(400)]))
    with pytest.warns(UserWarning, match=r"No split uses column 'name': .* unique"):
        beside = clone(tree).fit(Z, y)
    assert not np.any(beside.tree_.feature == 4)
    if bound in ("gtest", None):
        np.testing.assert_array_equal(beside.tree_.threshold, alone.tree_.threshold)
        np.testing.assert_array_equal(beside.predict(Z), alone.predict(X))


@pytest.mark.parametrize("bound", ["gtest", None])
def test_identifying_column_of_more_categories_than_there_are_codes(bound):
    X, y = credit(6000)
    tree = ConfidenceTreeClassifier(bound, max_depth=4, leaf_memory="rows")
    alone = clone(tree).fit(X, y)
    Z = X.assign(name=pd.Categorical([f"r{i}" for i in range(6000)]))
    with pytest.warns(UserWarning, match="No split uses column 'name': more"):
        beside = clone(tree).fit(Z, y)
    np.testing.assert_array_equal(beside.predict(Z), alone.predict(X))
    np.testing.assert_array_equal(beside.to_sklearn().predict(Z), alone.predict(X))
    again = pickle.loads(pickle.dumps(beside))
    np.testing.assert_array_equal(again.predict(Z[::-1]), alone.predict(X[::-1]))
    assert beside.categories_[4] == [None]
    for one in (beside, again):  # a copy has given the column up as well
        one.partial_fit(Z[:500], y[:500])
        assert one.n_rows_seen_ == 6500
        assert one.categories_[4] == [None]
    with pytest.raises(ValueError, match="'name' has .* categories; at most"):
        clone(tree).partial_fit(Z, y, classes=[0, 1])


def test_columns_without_names_are_left_out_by_number():
    X, y = credit(100)
    X = np.column_stack([np.arange(100), X, np.arange(100)])
    tree = ConfidenceTreeClassifier(categorical_features=[0, 5])
    with pytest.warns(UserWarning, match="No split uses columns 0, 5: more"):
        tree.fit(X, y)


def test_failed_fit_by_a_warning_leaves_the_model_as_it_was():
    X, y = credit(200)
    tree = ConfidenceTreeClassifier().fit(X, y)
    before = dict(vars(tree))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="'name'"):
            tree.fit(X.assign(name=pd.Categorical(range(200))), y)
    assert vars(tree) == before


def test_what_is_no_identifying_column():
    y = np.tile([0, 1], 41)

    def fits(codes, weight=None):
        X = np.asarray(codes)[:, np.newaxis]
        tree = ConfidenceTreeClassifier(None, categorical_features=[0])
        return tree.fit(X, y[: len(X)], weight).get_n_leaves()

    half = np.append(np.arange(40), np.full(40, 99))  # no more than half
    assert fits(half) > 1
    assert fits(np.arange(10)) == 2  # few categories
    assert fits(np.arange(80), np.full(80, 2.0)) == 2  # every row is two
    assert fits(np.tile(np.arange(41), 2), np.full(82, 0.4)) > 1  # two rows each
    with pytest.warns(UserWarning, match="column 0: more than half"):
        assert fits(np.append(half, [97, 98])) == 1
    with pytest.warns(UserWarning, match="more than half"):
        assert fits(np.append(np.arange(80), 80), np.append(np.ones(80), 0.0)) == 1


def test_no_other_column_is_left():
    y = np.tile([0, 1], 40)
    tree = ConfidenceTreeClassifier(None, categorical_features=[0], max_leaf_nodes=5)
    with pytest.warns(UserWarning, match="No split uses"):
        tree.fit(np.arange(80)[:, np.newaxis], y)
    assert tree.get_n_leaves() == 1
