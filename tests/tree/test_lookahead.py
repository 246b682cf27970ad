"""Look-ahead among the splits that the bound accepts."""

import copy
import functools
import pickle
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from reference.cases import settings_of
from reference.contingency import UndecidedError
from reference.effort import crossed, examples
from reference.lookahead import LookaheadGrower
from reference.tables import assert_same, grow_both, problems
from scipy.sparse import csr_array
from skconftree.tree.pruning._pruning import PessimisticCost
from sklearn.datasets import (
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import GTestBound, binomial_upper
from skconftree.tree import PessimisticPruning, _parameters, export_text, node_table
from skconftree.tree.nodes._state import COSTS_DTYPE, NODE_ARRAYS


def assert_grown_alike(problem, case, criterion, levels, confidence, in_doubt=None):
    """Grow both trees and compare them."""
    problem["growth"].pop("max_leaf_nodes", None)
    bound, expected = settings_of(case, criterion, problem["K"])
    make = functools.partial(
        LookaheadGrower,
        first=_parameters.FIRST_DEPTH,
        levels=levels,
        width=_parameters.N_TRIALS,
        confidence=confidence,
        protect_below=PessimisticPruning().protect_below
        if bound.smaller_is_stronger
        else 0.0,
    )
    growers = []

    def remembered(*args, **kwargs):
        growers.append(make(*args, **kwargs))
        return growers[-1]

    estimator, root = grow_both(
        problem,
        bound,
        expected,
        criterion,
        remembered,
        pruning=PessimisticPruning(confidence),
        lookahead=levels,
    )
    if in_doubt is not None:
        in_doubt(root)
    growers[0].prune(root)
    assert_same(estimator.tree_, root)
    assert_same_trials(estimator.tree_, root)
    assert estimator.lookahead_ == levels
    return estimator


def assert_same_trials(tree, root):
    """Compare what the trials of each split cost."""
    found = tree.trial_costs
    waiting = [(0, root)]
    while waiting:
        i, node = waiting.pop()
        expected = getattr(node.split, "trials", None)
        if expected is None:
            assert np.isnan([found[i]["cost"], found[i]["runner_up_cost"]]).all()
            assert found[i]["runner_up_feature"] == -2
        else:
            for name, one in zip(("cost", "runner_up_cost"), expected, strict=False):
                assert found[i][name] == pytest.approx(one, rel=1e-9)
            equal = expected[1] == pytest.approx(found[i]["cost"], rel=1e-9)
            assert found[i]["runner_up_feature"] == expected[2] or equal
        waiting += zip(tree.children(i), node.children, strict=True)


@pytest.mark.parametrize(
    ("case", "criterion"),
    [
        ("gtest", "entropy"),
        ("gtest", "gini"),
        ("chi2", "entropy"),
        ("chi2-attributes", "entropy"),
        ("chi2-tests", "kearns_mansour"),
    ],
)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
@given(
    problem=problems(),
    levels=st.integers(1, 4),
    confidence=st.sampled_from([0.9, 0.5, 0.1]),
)
def test_same_tree_as_the_reference(case, criterion, problem, levels, confidence):
    def in_doubt(root):  # rounding decides nothing
        assume(not root.ambiguous)

    try:
        assert_grown_alike(problem, case, criterion, levels, confidence, in_doubt)
    except UndecidedError:
        reject()


def several(n, seed=0, n_classes=3):
    """Make numbers, codes, categories and holes that tell the classes jointly."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=(n, 2)),
            rng.integers(0, 5, (n, 2)),
            rng.integers(0, 4, (n, 2)),
        ]
    ).astype(np.float32)
    y = ((X[:, 0] > 0) + (X[:, 2] > 2) + 2 * (X[:, 4] == 1)).astype(int) % n_classes
    noisy = rng.random(n) < 0.15
    y[noisy] = rng.integers(0, n_classes, noisy.sum())
    X[rng.random(n) < 0.1, 1] = np.nan
    return X, y


@pytest.mark.parametrize(
    ("weights", "multiway", "seed"),
    crossed([None, "whole", "any"], [False, True], range(4)),
)
def test_same_larger_tree(weights, multiway, seed):
    X, y = several(90, seed)
    rng = np.random.default_rng(seed)
    weight = {
        None: None,
        "whole": rng.integers(0, 3, len(y)).astype(float),
        "any": rng.uniform(0.5, 2, len(y)),
    }[weights]
    problem = {
        "X": X,
        "y": y,
        "K": 3,
        "X_pool": None,
        "sample_weight": weight,
        "class_weight": {0: 1.0, 1: 2.0, 2: 0.7} if seed % 2 else None,
        "nominal": [4, 5],
        "multiway": multiway,
        "growth": {},
    }
    estimator = assert_grown_alike(problem, "gtest", "entropy", 3, 0.5)
    assert estimator.get_n_leaves() >= 4


def cost(model, confidence):
    """Pessimistic cost of a tree."""
    counts = model.tree_.counts[model.tree_.n_children == 0]
    n = counts.sum(axis=1)
    return (n * binomial_upper(n - counts.max(axis=1), n, confidence)).sum()


@pytest.mark.parametrize("confidence", [0.01, 0.25])
def test_never_costs_more_than_the_greedy_tree(confidence):
    saved = []
    for seed in range(12):
        X, y = several(300, seed)
        greedy, ahead = (
            ConfidenceTreeClassifier(
                lookahead=levels,
                pruning=PessimisticPruning(confidence, protect_below=None),
            ).fit(X, y)
            for levels in (0, 4)
        )
        saved.append(cost(greedy, confidence) - cost(ahead, confidence))
    assert min(saved) >= -1e-9
    assert max(saved) > 1


@pytest.mark.parametrize("confidence", [0.3, 0.01, 1e-12, 1e-150])
def test_cost_of_a_leaf_is_that_of_the_pruning(confidence):
    rng = np.random.default_rng(0)
    of = PessimisticCost(confidence, 0)
    for size in (1.0, 1.0, 1e9, 1e13):
        counts = rng.integers(0, 30, (400, 3)) * size
        counts[::3] *= rng.uniform(0.5, 2, (134, 1))
        counts[:, 0] += 1
        n = counts.sum(axis=1)
        errors = np.maximum(n - counts.max(axis=1), 0.0)
        expected = n * binomial_upper(errors, n, confidence)
        found = of.of_nodes(np.concatenate([counts, counts]))
        np.testing.assert_array_equal(found, np.concatenate([expected, expected]))


def test_rows_are_where_they_were():
    # every node has the counts of the rows that reach it
    X, y = several(2000, n_classes=3)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["e"] = pd.Categorical(frame["e"].astype(int))
    for model in (
        ConfidenceTreeClassifier(lookahead=5).fit(X, y),
        ConfidenceTreeClassifier(lookahead=5).fit(frame, y),
        ConfidenceTreeClassifier(lookahead=5, nominal_splits="multiway").fit(frame, y),
    ):
        rows = frame if hasattr(model, "feature_names_in_") else X
        counts = np.zeros_like(model.tree_.counts)
        np.add.at(counts, (model.apply(rows), y), 1)
        leaf = model.tree_.n_children == 0
        assert leaf.sum() > 5
        np.testing.assert_array_equal(counts[leaf], model.tree_.counts[leaf])


def test_every_test_passed_the_bound():
    X, y = several(500)
    for delta in (0.01, 1.0):
        tree = ConfidenceTreeClassifier(delta=delta, lookahead=4).fit(X, y).tree_
        said = tree.evidence["statistic"][tree.n_children > 0]
        assert len(said)
        assert (said < delta).all()


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_no_few_rows_are_divided_on_many_false_cuts(load):
    X, y = load(return_X_y=True)
    tree = ConfidenceTreeClassifier().fit(X, y).tree_
    inner = tree.n_children > 0
    assert inner.sum() >= 4
    n = tree.counts[inner].sum(axis=1)
    assert n.min() > 10
    assert tree.evidence["statistic"][inner][n < 35].max(initial=0.0) < 0.3


def test_few_rows_may_be_divided_on_many_false_cuts():
    # as the documentation says of the default
    tree = ConfidenceTreeClassifier().fit(*load_digits(return_X_y=True)).tree_
    five = (tree.n_children > 0) & (tree.counts.sum(axis=1) == 5)
    assert f"{tree.evidence['statistic'][five].max():.2f}" == "0.82"


def xor(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] > 0) ^ (X[:, 1] > 0)


def test_xor_is_refused():
    # no test says anything alone, so the bound accepts none
    X, y = xor(200)
    model = ConfidenceTreeClassifier(GTestBound(0.05), lookahead=8).fit(X, y)
    assert model.get_n_leaves() == 1


def test_what_is_not_served_raises():
    X, y = several(60)
    for parameters, wanted in (
        ({"bound": None, "pruning": "pessimistic"}, "judges each split on its own"),
        (
            {"bound": "credible", "pruning": "pessimistic"},
            "judges each split on its own",
        ),
        ({"bound": "hoeffding", "pruning": "pessimistic"}, "judges each split"),
        ({"pruning": None}, "the pruning is 'pessimistic'"),
        ({"pruning": "c45"}, "the pruning is 'pessimistic'"),
        ({"bound": "chi2"}, "the pruning is 'pessimistic'"),
        ({"splitter": "random"}, "splitter='best'"),
        ({"max_features": 2}, "max_features includes all"),
        ({"max_leaf_nodes": 5}, "max_leaf_nodes=None"),
    ):
        with pytest.raises(ValueError, match=f"'lookahead'.*{wanted}.*Got 2"):
            ConfidenceTreeClassifier(lookahead=2, **parameters).fit(X, y)
        model = ConfidenceTreeClassifier(**parameters).fit(X, y)
        assert model.lookahead_ == 0
    with pytest.raises(ValueError, match="'lookahead'"):
        ConfidenceTreeClassifier(lookahead=-1).fit(X, y)


def test_incremental_trees_never_use_look_ahead():
    X, y = several(400)
    a, b = (
        ConfidenceTreeClassifier(lookahead=n, refit_rows=0).partial_fit(X, y, range(3))
        for n in (0, 4)
    )
    assert a.lookahead_ == b.lookahead_ == 0
    assert a.tree_.feature.tolist() == b.tree_.feature.tolist()


def test_nothing_is_stored_without_look_ahead():
    X, y = several(300)
    model = ConfidenceTreeClassifier(lookahead=0).fit(X, y)
    assert model.tree_.trial_costs is None
    assert not model.tree_.keeps_costs
    rows = node_table(model)
    assert not any(row.lookahead for row in rows)
    model = ConfidenceTreeClassifier(lookahead=1).fit(X, y)
    with_costs = [row.node for row in node_table(model) if row.lookahead]
    assert with_costs == model.tree_.children(0).tolist()


def first_test(model):
    return model.tree_.feature[0], model.tree_.threshold[0]


def test_the_root_is_the_greedy_one():
    changed = 0
    for seed in range(12):
        X, y = several(300, seed)
        greedy, ahead, everywhere = (
            ConfidenceTreeClassifier(lookahead=levels, pruning=PessimisticPruning(0.01))
            for levels in (0, 4, 4)
        )
        with patch.object(_parameters, "FIRST_DEPTH", 0):
            everywhere.fit(X, y)
        greedy.fit(X, y)
        assert first_test(ahead.fit(X, y)) == first_test(greedy)
        assert np.isnan(ahead.tree_.trial_costs["cost"][0])
        changed += first_test(everywhere) != first_test(greedy)
    assert changed >= 3  # it would have been another


def test_costs_are_shown():
    X, y = several(400, seed=10)
    model = ConfidenceTreeClassifier(lookahead=4).fit(X, y)
    names = list("abcdef")
    node = node_table(model, feature_names=names)[2]
    told = node.evidence
    assert 0 < told.cost <= told.tried_cost
    assert told.tried in names
    assert told.tried != node.name
    assert told.tried_cost > told.cost + 1.0
    cost, other = int(told.cost), int(told.tried_cost)
    line = (
        f"chosen over {told.tried}: at most {cost} instead of {other} training "
        "errors further down"
    )
    assert line in export_text(model, feature_names=names, verbose=True)
    frame = pd.DataFrame(X, columns=names)
    named = ConfidenceTreeClassifier(lookahead=4).fit(frame, y)
    assert line in named._repr_html_()
    below = named.decision_path(frame).toarray()[:, 2] > 0
    assert line in named.explain_text(frame[below][:1], verbose=True)


def test_verbose_output_lists_the_alternatives():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = ConfidenceTreeClassifier().fit(X, y)
    costs = model.tree_.trial_costs
    chosen = np.isfinite(costs["cost"]).sum()
    assert chosen > 1
    text = export_text(model, verbose=True, fold_weak=False)
    assert text.count("chosen over ") == chosen
    for text in (export_text(model), model.explain_text(X)):
        assert "chosen over" not in text


def test_close_error_limits_are_distinguished():
    X, y = several(400, seed=10)
    row = node_table(ConfidenceTreeClassifier(lookahead=4).fit(X, y))[0]
    for cost, other, said in [
        (11.6, 13.4, "at most 11 instead of 13 "),
        (11.6, 11.75, "at most 11.60 instead of 11.75 "),
    ]:
        evidence = row.evidence._replace(cost=cost, tried_cost=other, tried="mean area")
        told = row._replace(evidence=evidence).lookahead
        assert told.startswith(f"chosen over mean area: {said}training errors")
    assert row._replace(evidence=None).lookahead == ""


def test_costs_are_stored():
    X, y = several(400)
    model = ConfidenceTreeClassifier(lookahead=4).fit(X, y)
    before = model.tree_.trial_costs.copy()
    assert np.isfinite(before["cost"]).sum() >= 2
    assert (before["cost"] <= before["runner_up_cost"] * (1 + 1e-9))[
        np.isfinite(before["cost"])
    ].all()
    for other in (pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert other.tree_.trial_costs.tobytes() == before.tobytes()
    model.partial_fit(*several(4000, seed=1))  # new splits were not chosen so
    after = model.tree_.trial_costs
    assert len(after) > len(before)
    assert after[: len(before)].tobytes() == before.tobytes()
    assert np.isnan(after["cost"][len(before) :]).all()
    assert pickle.loads(pickle.dumps(model)).tree_.trial_costs.shape == after.shape


def test_hostile_costs_are_refused():
    X, y = several(300)
    tree = ConfidenceTreeClassifier(lookahead=2).fit(X, y).tree_
    make, arguments, state = tree.__reduce__()
    place = 1 + len(NODE_ARRAYS)  # behind the version and the arrays of all trees
    costs = np.frombuffer(state[place], COSTS_DTYPE)
    found = tree.trial_costs["cost"][tree.n_children > 0]
    np.testing.assert_array_equal(np.sort(costs["cost"]), np.sort(found))
    named_wrongly = costs.copy()
    named_wrongly["runner_up_feature"][0] = 99
    for wrong in (costs[:-1], named_wrongly):
        damaged = (*state[:place], wrong.tobytes(), *state[place + 1 :])
        with pytest.raises(ValueError, match="corrupt: 'costs'"):
            make(*arguments).__setstate__(damaged)


def test_weight_k_equals_k_rows():
    X, y = several(300)
    weight = np.random.default_rng(2).integers(0, 4, 300)
    a = ConfidenceTreeClassifier(lookahead=4).fit(X, y, sample_weight=weight)
    b = ConfidenceTreeClassifier(lookahead=4).fit(X.repeat(weight, 0), y.repeat(weight))
    assert a.tree_.node_count > 3
    np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature)
    np.testing.assert_array_equal(a.tree_.counts, b.tree_.counts)


def test_pickle_and_scikit_learn():
    X, y = make_classification(400, 8, n_informative=5, random_state=0)
    model = ConfidenceTreeClassifier(lookahead=4).fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    assert other.lookahead_ == 4
    assert pickle.dumps(other) == pickle.dumps(model)
    proba = model.to_sklearn().predict_proba(X)
    np.testing.assert_array_equal(proba, model.predict_proba(X))


class Ahead(GTestBound):
    """What a bound may ask for."""

    defaults = replace(GTestBound.defaults, lookahead=3, lookahead_confidence=0.05)


def same_tree(a, b):
    return a.tree_.feature.tolist() == b.tree_.feature.tolist() and np.array_equal(
        a.tree_.counts, b.tree_.counts
    )


def test_auto_is_what_the_bound_says():
    X, y = several(500)
    auto = ConfidenceTreeClassifier(Ahead()).fit(X, y)
    asked = ConfidenceTreeClassifier(lookahead=3, pruning=PessimisticPruning(0.05)).fit(
        X, y
    )
    assert auto.lookahead_ == 3
    assert auto.pruning_.confidence == 0.05
    assert same_tree(auto, asked)
    own = ConfidenceTreeClassifier(Ahead(), pruning=PessimisticPruning(0.3)).fit(X, y)
    assert (own.lookahead_, own.pruning_.confidence) == (3, 0.3)
    off = ConfidenceTreeClassifier(Ahead(), lookahead=0).fit(X, y)
    assert (off.lookahead_, off.pruning_.confidence) == (0, 0.1)


@pytest.mark.parametrize(
    "parameters",
    [
        {"pruning": None},
        {"pruning": "c45"},
        {"splitter": "random"},
        {"max_features": 2},
        {"max_leaf_nodes": 5},
    ],
)
def test_auto_is_none_where_look_ahead_is_unsupported(parameters):
    X, y = several(200)
    model = ConfidenceTreeClassifier(Ahead(), random_state=0, **parameters).fit(X, y)
    plain = ConfidenceTreeClassifier(lookahead=0, random_state=0, **parameters).fit(
        X, y
    )
    assert model.lookahead_ == 0
    assert same_tree(model, plain)
    assert repr(model.pruning_) == repr(plain.pruning_)


def mostly_zero(seed):
    """Make a table of columns with one, few and many values beside zero."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 500))
    X = np.zeros((n, 8), dtype=np.float32)
    values = (
        np.ones(n),
        rng.integers(-3, 4, n),
        rng.normal(size=n),
        rng.poisson(2, n),
    )
    for f in range(8):
        there = rng.random(n) < rng.choice([0.02, 0.2, 0.6])
        X[there, f] = values[f % 4][there]
    y = (X[:, 0] > 0) + (X[:, 2] > 0.1) + 2 * (X[:, 5] > 0)
    noisy = rng.random(n) < 0.2
    y[noisy] = rng.integers(0, 4, noisy.sum())
    return X, y


@pytest.mark.parametrize("seed", range(20))
def test_sparse_tables_give_the_same_tree(seed):
    X, y = mostly_zero(seed)
    rng = np.random.default_rng(seed)
    weight = (None, rng.integers(1, 3, len(y)), rng.uniform(0.5, 2, len(y)))[seed % 3]
    dense, sparse = (
        ConfidenceTreeClassifier(
            delta=5.0,
            lookahead=4,
            pruning=PessimisticPruning((0.02, 0.5)[seed % 2]),
            class_weight=(None, "balanced")[seed // 2 % 2],
        ).fit(rows, y, sample_weight=weight)
        for rows in (X, csr_array(X))
    )
    assert sparse.lookahead_ == 4
    assert sparse.tree_.__reduce__() == dense.tree_.__reduce__()


def test_sparse_tables_are_looked_ahead_in():
    # the test above compares trees in which look-ahead made a difference
    changed = 0
    for seed in range(20):
        X, y = mostly_zero(seed)
        ahead, greedy = (
            ConfidenceTreeClassifier(delta=5.0, lookahead=levels).fit(csr_array(X), y)
            for levels in (4, 0)
        )
        changed += not same_tree(ahead, greedy)
    assert changed > 5


def test_auto_is_none_for_large_tables_by_their_weight(monkeypatch):
    monkeypatch.setattr(_parameters, "MAX_LOOKAHEAD_WEIGHT", 300)
    X, y = several(150)
    for weight, levels in ((2.0, 3), (2.01, 0)):
        kind = {"sample_weight_kind": "frequency"}
        model = ConfidenceTreeClassifier(Ahead(), **kind)
        model.fit(X, y, sample_weight=np.full(150, weight))
        assert model.lookahead_ == levels
        model = ConfidenceTreeClassifier(lookahead=2, **kind)
        assert model.fit(X, y, sample_weight=np.full(150, weight)).lookahead_ == 2


@pytest.mark.parametrize(
    ("n", "d", "n_classes", "n_tables"), [(50, 5, 2, 200), (300, 10, 10, 60)]
)
def test_noise_splits_as_seldom_as_without(n, d, n_classes, n_tables):
    leaves = {0: [], 8: []}
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n, d)), rng.integers(0, n_classes, n)
        for levels, found in leaves.items():
            pruning = PessimisticPruning(0.1)
            model = ConfidenceTreeClassifier(lookahead=levels, pruning=pruning)
            found.append(model.fit(X, y).get_n_leaves())
    greedy, ahead = (np.array(found) for found in leaves.values())
    assert 0.02 < (greedy > 1).mean() < 0.4
    assert (ahead > 1).mean() <= (greedy > 1).mean() + 1 / n_tables
    assert ahead.mean() < greedy.mean() + 0.1
