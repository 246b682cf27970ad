"""Prunings, node for node against their definitions, and what each of them promises."""

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import pruning as reference
from reference.contingency import UndecidedError
from reference.effort import cases, crossed, examples
from reference.registries import PRUNINGS
from skconftree.tree.pruning._pruning import c45_errors
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import ccp_pruning_path

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import (
    BayesFactorBound,
    Chi2Bound,
    EC2Bound,
    TreeDefaults,
    binomial_upper,
    chi2_pvalue,
    ec2_confidence,
)
from skconftree.testing._plug_ins import strengths_to_try
from skconftree.tree import (
    BasePruning,
    C45Pruning,
    Chi2Pruning,
    CostComplexityPruning,
    EC2Pruning,
    PessimisticPruning,
    export_text,
    node_table,
)

STRENGTHS = {
    "pessimistic": [0.9, 0.5, 0.25, 0.05, 1e-3, 1e-12, 1e-200],
    "c45": [0.5, 0.25, 0.05, 1e-3, 1e-12],
    "possibilistic": [0.9, 0.5, 0.05, 1e-3, 1e-12],
    "cost_complexity": [0.0, 1e-4, 0.0123, 0.0571, 0.3],
    "chi2": [0.9, 0.3, 0.05, 1e-3],
    "ec2": [0.0, 0.1, 0.5, 0.99],
}
DEFINED = tuple(STRENGTHS)  # again, in tests/reference/pruning.py
for one, kind in PRUNINGS.items():
    STRENGTHS.setdefault(one, strengths_to_try(kind()))


def with_wrong_labels(load):
    X, y = load(return_X_y=True)
    return X, np.where(np.arange(len(y)) % 7 == 0, (y + 1) % (y.max() + 1), y)


def between_alphas(alphas):
    """Penalties at which no two trees tie: where they do, rounding decides."""
    steps = np.unique(np.maximum(alphas, 0.0).round(12))
    assert len(steps) > 7
    return [*np.sqrt(steps[1:-1] * steps[2:]), 2 * steps[-1]]


def preorder(tree):
    nodes = [0]
    while nodes:
        node = nodes.pop()
        yield node
        if tree.children_left[node] >= 0:
            nodes += [tree.children_right[node], tree.children_left[node]]


SETTINGS = list(
    product([None, "balanced"], [load_iris, load_breast_cancer], ["gini", "entropy"])
)
SETTINGS_BY_DAY = [SETTINGS[i] for i in (0, 3, 5, 6)]  # all pairs


@pytest.mark.parametrize(
    ("class_weight", "load", "criterion"),
    cases(SETTINGS, SETTINGS_BY_DAY),
)
def test_cost_complexity_is_that_of_scikit_learn(load, criterion, class_weight):
    X, y = with_wrong_labels(load)
    tree = ConfidenceTreeClassifier(
        bound=None, criterion=criterion, class_weight=class_weight
    ).fit(X, y)
    genuine = tree.to_sklearn()
    path = ccp_pruning_path(genuine.tree_)
    sizes = []
    for alpha in [0.0, *between_alphas(path["ccp_alphas"])]:
        # their pruning of the same grown tree: equal tests are chosen differently
        theirs = tree.set_params(pruning=None).fit(X, y).to_sklearn()
        theirs.set_params(ccp_alpha=alpha)._prune_tree()
        tree.set_params(pruning=CostComplexityPruning(alpha)).fit(X, y)
        here, there = list(preorder(tree.tree_)), list(preorder(theirs.tree_))
        assert_array_equal(tree.tree_.feature[here], theirs.tree_.feature[there])
        assert_array_equal(tree.tree_.threshold[here], theirs.tree_.threshold[there])
        assert_array_equal(tree.tree_.proba[here], theirs.tree_.value[there, 0])
        sizes.append(tree.get_n_leaves())
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_ccp_alpha_by_its_public_name(criterion):
    X, y = with_wrong_labels(load_iris)
    X = X[:, :1] + 1e-3 * X[:, 1:2]  # no tests of two features tie
    path = DecisionTreeClassifier(criterion=criterion).cost_complexity_pruning_path(
        X, y
    )
    for alpha in [0.0, *between_alphas(path.ccp_alphas)]:
        theirs = DecisionTreeClassifier(criterion=criterion, ccp_alpha=alpha).fit(X, y)
        tree = ConfidenceTreeClassifier(
            bound=None,
            criterion=criterion,
            pruning=CostComplexityPruning(alpha),
        ).fit(X, y)
        assert tree.tree_.node_count == theirs.tree_.node_count
        assert_allclose(tree.predict_proba(X), theirs.predict_proba(X))
        same = ConfidenceTreeClassifier(None, criterion=criterion, ccp_alpha=alpha)
        assert_array_equal(same.fit(X, y).tree_.counts, tree.tree_.counts)


@pytest.mark.parametrize("bound", ["gtest", None])
def test_ccp_alpha_replaces_the_default_pruning_only(bound):
    X, y = with_wrong_labels(load_iris)
    model = ConfidenceTreeClassifier(bound, ccp_alpha=0.02).fit(X, y)
    assert model.pruning_.ccp_alpha == 0.02
    by_object = CostComplexityPruning(0.02)
    for parameters in ({"pruning": None, "ccp_alpha": 0.02}, {"pruning": by_object}):
        other = ConfidenceTreeClassifier(bound, **parameters).fit(X, y)
        assert pickle.dumps(other.tree_) == pickle.dumps(model.tree_)
    path = model.cost_complexity_pruning_path(X, y)
    assert len(path.ccp_alphas) > 3
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="'ccp_alpha' parameter of Conf.* must be"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="must be 'auto' or None with ccp_alpha=0.02"):
        model.set_params(pruning="c45").fit(X, y)
    with pytest.raises(ValueError, match="'ccp_alpha' parameter"):
        ConfidenceTreeClassifier(ccp_alpha=-0.1).fit(X, y)
    forest = ConfidenceForestClassifier(3, bound=bound, ccp_alpha=0.02, random_state=0)
    other = ConfidenceForestClassifier(
        3, bound=bound, pruning=by_object, random_state=0
    )
    for one, two in zip(forest.fit(X, y), other.fit(X, y), strict=True):
        assert pickle.dumps(one.tree_) == pickle.dumps(two.tree_)
        assert one.pruning_.ccp_alpha == 0.02


@st.composite
def tables(draw):
    """Draw rows, which features are nominal, labels, weights of rows and of classes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16), label="seed"))
    K = draw(st.sampled_from([2, 3, 5]), label="classes")
    n = draw(st.integers(K, 70), label="rows")
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    signal = draw(st.sampled_from([0.0, 0.7, 2.0]), label="signal")
    X = rng.normal(size=(n, 3)) + signal * y[:, None] * rng.random(3)
    X[:, 0] = np.rint(X[:, 0])
    nominal = draw(st.sampled_from([[], [], [1], [0, 1, 2]]), label="nominal")
    for j in nominal:
        m = rng.integers(2, 7)
        X[:, j] = np.clip(np.rint(X[:, j]), 0, m - 1)
    if draw(st.booleans(), label="holes"):
        X[rng.random(X.shape) < 0.2] = np.nan
    for j in nominal:  # a hole is the last category
        X[:, j] = np.unique(X[:, j], return_inverse=True)[1]
    weight = draw(st.sampled_from([None, "whole", "any"]), label="weights")
    weight = {
        None: None,
        "whole": rng.integers(1, 6, n).astype(float),
        "any": rng.uniform(0.2, 5, n),
    }[weight]
    class_weight = draw(
        st.sampled_from([None, dict(enumerate(rng.uniform(0.3, 3, K)))]),
        label="class weight",
    )
    return X.astype(np.float32), nominal, y, weight, class_weight


def assert_same(tree, expected, node=0):
    """Compare the subtree at a node of a pruned tree with the nested one."""
    children, test = tree.children(node).tolist(), expected.test
    assert len(children) == len(expected.children)
    if test is None:
        assert (tree.feature[node], tree.threshold[node]) == (-2, -2.0)
    else:
        assert tree.feature[node] == test.feature
        if test.branches is None:
            assert tree.threshold[node] == test.threshold
            assert tree.missing_go_to_left[node] == test.missing_left
        else:
            leads_to = enumerate(tree.branches(node).tolist())
            known = {c: children.index(to) for c, to in leads_to if to != node}
            assert known == test.branches
    assert_allclose(tree.counts[node], expected.counts, rtol=1e-12, atol=1e-12)
    assert tree.n_node_samples[node] == len(expected.rows)
    assert tree.depth[node] == expected.depth
    for child, wanted in zip(children, expected.children, strict=True):
        assert_same(tree, wanted, child)


def assert_consistent(tree):
    """What every tree keeps: the order of ids, and no evidence at a leaf."""
    parent, leaf = tree.parent, tree.n_children == 0
    for node in np.flatnonzero(~leaf):
        children = tree.children(node)
        assert children[0] > node
        assert_array_equal(parent[children], node)
    assert parent[0] == -1
    assert np.all(np.isnan(tree.evidence["n_candidates"]) == leaf)
    assert np.all((tree.evidence["runner_up_feature"] == -2)[leaf])
    again = pickle.loads(pickle.dumps(tree))  # checks the state
    assert_array_equal(again.parent, parent)


def prune_both(pruning, table, confidence, criterion, nominal_splits):
    """Return a pruned tree and that of the reference, None if rounding decides."""
    X, nominal, y, weight, class_weight = table
    options = {
        "bound": None,
        "criterion": criterion,
        "class_weight": class_weight,
        "categorical_features": nominal,
        "nominal_splits": nominal_splits,
        "sample_weight_kind": "frequency",
    }
    grown = ConfidenceTreeClassifier(**options).fit(X, y, weight)
    nested = reference.nested(
        grown.tree_,
        reference.Data(
            X,
            y,
            np.ones(len(y)) if weight is None else weight,
            np.ones(y.max() + 1)
            if class_weight is None
            else np.array(list(class_weight.values())),
        ),
    )
    pruned = ConfidenceTreeClassifier(
        pruning=PRUNINGS[pruning](confidence), **options
    ).fit(X, y, weight)
    try:
        expected = reference.prune(nested, pruning, confidence, criterion)
    except UndecidedError:
        expected = None
    return pruned, expected


@pytest.mark.filterwarnings("ignore:Some splits send missing values to the left")
@pytest.mark.parametrize("pruning", DEFINED)
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_prunes_as_defined(pruning, data):
    X, nominal, y, weight, class_weight = data.draw(tables())
    confidence = data.draw(st.sampled_from(STRENGTHS[pruning]), label="confidence")
    criterion = data.draw(
        st.sampled_from(["gini", "entropy", "gain_ratio"]), label="criterion"
    )
    pruned, expected = prune_both(
        pruning,
        (X, nominal, y, weight, class_weight),
        confidence,
        criterion,
        data.draw(st.sampled_from(["multiway", "binary"])),
    )
    if expected is None:
        reject()
    assert_same(pruned.tree_, expected)
    assert pruned.tree_.node_count == sum(1 for _ in expected.walk())
    assert pruned.tree_.max_depth == max(pruned.tree_.depth)
    assert_consistent(pruned.tree_)
    # what is left of the tree works everywhere
    reached = pruned.apply(X)
    weight = np.ones(len(y)) if weight is None else weight
    for leaf in np.flatnonzero(pruned.tree_.n_children == 0):
        counts = np.bincount(y[reached == leaf], weight[reached == leaf], y.max() + 1)
        assert_allclose(pruned.tree_.counts[leaf], counts, atol=1e-12)
    if not nominal:
        genuine = pruned.to_sklearn()
        assert_array_equal(genuine.predict_proba(X), pruned.predict_proba(X))
    text = export_text(pruned, fold_weak=False)
    assert text.count("\n") >= pruned.get_n_leaves() - 1
    assert len(pruned.explain(X[:3])) == min(3, len(X))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pruning", DEFINED)
def test_prunes_many_tables_as_defined(pruning, weighted):
    """Tables on which each rule decides about some split."""
    sizes = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        K = 2 + seed % 2
        X = np.rint(2.0 * rng.normal(size=(80, 3))).astype(np.float32)
        y = np.clip(np.rint(0.4 * X[:, 0] + 0.4 * rng.normal(size=80)), 0, K - 1)
        y = np.append(np.arange(K), y[K:]).astype(int)
        weight = rng.integers(1, 4, 80) / 2.0 if weighted else None
        class_weight = dict(enumerate(rng.uniform(0.5, 2.0, K))) if weighted else None
        confidence = STRENGTHS[pruning][seed % len(STRENGTHS[pruning])]
        table = X, [], y, weight, class_weight
        pruned, expected = prune_both(pruning, table, confidence, "gini", "binary")
        if expected is not None:
            assert_same(pruned.tree_, expected)
            sizes.add(pruned.get_n_leaves())
    assert len(sizes) > 3


@pytest.mark.parametrize("nominal_splits", ["binary", "multiway"])
def test_leaves_of_raised_branches_hold_all_rows(nominal_splits):
    changed = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, [8, 6], (150, 2))
        said = [X[:, 0] % 3 == 0, X[:, 1] == 2, rng.random(150) < 0.2]
        y = np.sum(said, axis=0)
        tree = ConfidenceTreeClassifier(
            bound=None,
            categorical_features=[0, 1],
            nominal_splits=nominal_splits,
            pruning=C45Pruning(0.45),
        ).fit(X, y)
        grown = clone(tree).set_params(pruning=None).fit(X, y)
        changed += tree.get_n_leaves() < grown.get_n_leaves()
        reached, leaf = tree.apply(X), tree.tree_.n_children == 0
        assert leaf[reached].all()
        counts = np.zeros_like(tree.tree_.counts)
        np.add.at(counts, (reached, y), 1.0)
        assert_array_equal(tree.tree_.counts[leaf], counts[leaf])
    assert changed > 20


def test_c45_first_drops_splits_that_make_no_fewer_weighted_errors():
    """Without that step, the expected errors 30.5 + 13 would be fewer than 44.5."""
    X = np.repeat([[0.0], [0.0], [1.0], [1.0]], [45, 15, 45, 5], axis=0)
    y = np.repeat([0, 1, 0, 1], [45, 15, 45, 5])
    tree = ConfidenceTreeClassifier(bound=None, class_weight={0: 1.0, 1: 3.0})
    assert tree.fit(X, y).get_n_leaves() == 2
    tree.set_params(pruning=C45Pruning(0.5))
    assert tree.fit(X, y).get_n_leaves() == 1


def test_impurity_after_raising():
    X, y = with_wrong_labels(load_digits)
    options = {"bound": None, "criterion": "gain_ratio", "min_samples_leaf": 2}
    tree = ConfidenceTreeClassifier(**options, pruning="c45").fit(X, y).tree_
    assert np.any(tree.feature[tree.feature >= 0])
    share = tree.proba
    entropy = -np.sum(share * np.log2(np.where(share > 0, share, 1)), axis=1)
    assert_allclose(tree.impurity, entropy, atol=1e-12)


@pytest.mark.parametrize(
    ("pruning", "load"), crossed(PRUNINGS, [load_breast_cancer, load_digits])
)
def test_stronger_never_leaves_more_leaves(pruning, load):
    X, y = with_wrong_labels(load)
    pruning_object = PRUNINGS[pruning]()
    parameter = f"pruning__{pruning_object.strength_parameter}"
    tree = ConfidenceTreeClassifier(
        bound=None, criterion="entropy", pruning=pruning_object
    )
    sizes = [
        tree.set_params(**{parameter: strength}).fit(X, y).get_n_leaves()
        for strength in STRENGTHS[pruning]
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]


@pytest.mark.parametrize("pruning", PRUNINGS)
def test_weight_k_is_k_repeats(pruning):
    X, y = with_wrong_labels(load_iris)
    weight = 1 + np.arange(len(y)) % 3
    pruning = PRUNINGS[pruning](STRENGTHS[pruning][2])
    tree = ConfidenceTreeClassifier(bound=None, pruning=pruning)
    weighted = tree.fit(X, y, weight).tree_
    repeated = tree.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).tree_
    assert weighted.node_count > 3
    for name in ("feature", "threshold", "counts", "children_left"):
        assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def test_pruned_keeps_evidence_and_order():
    X, y = load_breast_cancer(return_X_y=True)
    tree = ConfidenceTreeClassifier(bound="gtest").fit(X, y).tree_
    cut = np.zeros(tree.node_count, dtype=bool)
    cut[[1, tree.children_left[1]]] = True  # one inside the other
    pruned = tree._pruned(cut)
    assert_consistent(pruned)
    kept = [
        node
        for node in range(tree.node_count)
        if not (ancestors(tree, node) & {1, int(tree.children_left[1])})
    ]
    assert len(kept) == pruned.node_count < tree.node_count
    assert_array_equal(pruned.counts, tree.counts[kept])
    assert_array_equal(pruned.impurity, tree.impurity[kept])
    inner = pruned.feature >= 0
    for name in tree.evidence.dtype.names:
        assert_array_equal(
            pruned.evidence[name][inner], tree.evidence[name][kept][inner]
        )
    assert tree.feature[1] >= 0  # the tree itself is as it was
    with pytest.raises(ValueError, match="shape"):
        tree._pruned([True])


def ancestors(tree, node):
    found = set()
    while (node := int(tree.parent[node])) >= 0:
        found.add(node)
    return found


def test_binomial_upper_of_known_tables():
    # Quinlan (1993), section 4.2: U25%(0, 6), U25%(0, 9), U25%(0, 1)
    assert_allclose(binomial_upper(0, [6, 9, 1]), [0.206, 0.143, 0.75], atol=6e-4)
    assert binomial_upper(4, 4, 0.25) == 1.0
    # so few errors or fewer have the probability delta
    limit = binomial_upper(2, 30, 1e-12)
    tail = sum(
        ways * limit**k * (1 - limit) ** (30 - k) for k, ways in enumerate((1, 30, 435))
    )
    assert_allclose(tail, 1e-12, rtol=1e-6)


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 0.25, 0.999999])
def test_binomial_upper_is_stable_and_monotone(delta):
    n = np.array([1, 2, 7.5, 100, 1e4, 1e7])[:, None]
    errors = n * np.array([0, 1e-7, 0.01, 0.5, 0.9, 1])
    limits = binomial_upper(errors, n, delta)
    assert np.all((limits > 0) & (limits <= 1))
    assert np.all(np.diff(limits, axis=1) >= -1e-12)
    if delta < 0.5:
        assert np.all(limits >= errors / n)
    assert_allclose(
        limits[:, :5],
        np.vectorize(reference.binomial_upper)(errors, n, delta)[:, :5],
        rtol=1e-6,
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((1, 0, 0.25), "n must be positive"),
        ((1, np.nan, 0.25), "n must be positive"),
        ((3, 2, 0.25), "errors must lie"),
        ((-1, 2, 0.25), "errors must lie"),
        ((1, 2, 0.0), "delta must be in"),
        ((1, 2, 1.0), "delta must be in"),
    ],
)
def test_binomial_upper_checks(arguments, words):
    with pytest.raises(ValueError, match=words):
        binomial_upper(*arguments)


def test_c45_errors_of_known_leaves():
    errors = np.array([0.0, 0.0, 0.0, 3.0, 0.5])
    n = np.array([6.0, 9.0, 1.0, 10.0, 10.0])
    expected = [
        reference.c45_errors(e, m, 0.25) for e, m in zip(errors, n, strict=True)
    ]
    assert_allclose(c45_errors(n, errors, 0.25), expected)
    # Quinlan (1993), section 4.2: 6 * .206, 9 * .143, 1 * .75
    assert_allclose(expected[:3], [1.236, 1.287, 0.75], atol=4e-3)


def test_auto_is_what_goes_with_the_bound(monkeypatch):
    X, y = with_wrong_labels(load_iris)
    tree = ConfidenceTreeClassifier(bound=None).fit(X, y)
    assert tree.pruning_ is None
    said = TreeDefaults(pruning="pessimistic", pruning_confidence=1e-3)
    monkeypatch.setattr(BayesFactorBound, "defaults", said)
    tree = ConfidenceTreeClassifier(bound="bayes_factor").fit(X, y)
    assert repr(tree.pruning_) == repr(PessimisticPruning(1e-3))
    tree.set_params(pruning="pessimistic").fit(X, y)  # its own strength
    assert repr(tree.pruning_) == repr(PessimisticPruning(0.25))
    tree.set_params(pruning="chi2").fit(X, y)
    assert repr(tree.pruning_) == repr(Chi2Pruning(0.05))
    tree.set_params(pruning=None).fit(X, y)
    assert tree.pruning_ is None
    said = TreeDefaults(pruning=PessimisticPruning(0.2, protect_below=None))
    monkeypatch.setattr(BayesFactorBound, "defaults", said)
    tree.set_params(pruning="auto").fit(X, y)
    assert repr(tree.pruning_) == repr(said.pruning)


def test_p_value_at_the_limit_keeps_the_split():
    y = np.arange(20) == 19  # 19 rows against one: p = 1/20
    tree = ConfidenceTreeClassifier(bound=None, pruning="chi2")
    assert tree.fit(y[:, None], y).get_n_leaves() == 2
    tree.set_params(pruning=Chi2Pruning(0.0499))
    assert tree.fit(y[:, None], y).get_depth() == 0


def test_chi2_takes_the_exact_p_value_of_the_bound():
    """The thesis prints the probability of one table, which is less than its tail."""
    X, y = with_wrong_labels(load_breast_cancer)
    common = {"criterion": "entropy", "pruning": "chi2"}
    plain = ConfidenceTreeClassifier(None, **common).fit(X, y).tree_
    tail = ConfidenceTreeClassifier(Chi2Bound(1.0), **common).fit(X, y).tree_
    for name in ("feature", "threshold", "counts"):  # a delta of 1 stops nothing
        assert_array_equal(getattr(tail, name), getattr(plain, name))
    point = ConfidenceTreeClassifier(Chi2Bound(1.0, fisher="point"), **common)
    tree = point.fit(X, y).tree_
    assert tree.n_leaves > plain.n_leaves
    grown = point.set_params(pruning=None).fit(X, y).tree_
    p = chi2_pvalue(
        [grown.counts[grown.children(i)] for i in _above_leaves(grown)], fisher="point"
    )
    kept = {tuple(counts) for counts in tree.counts[tree.n_children > 0]}
    for node, value in zip(_above_leaves(grown), p, strict=True):
        assert (tuple(grown.counts[node]) in kept) == (value <= 0.05)


def _above_leaves(tree):
    """Nodes all of whose children are leaves."""
    return [
        node
        for node in np.flatnonzero(tree.n_children > 0)
        if not tree.n_children[tree.children(node)].any()
    ]


def test_ec2_uses_the_noise_of_the_bound():
    X, y = with_wrong_labels(load_breast_cancer)
    sizes = [
        ConfidenceTreeClassifier(
            EC2Bound(confidence=0.0, noise=noise), pruning=EC2Pruning(0.9)
        )
        .fit(X, y)
        .get_n_leaves()
        for noise in (0.02, 0.3)
    ]
    assert sizes[0] > sizes[1]


def test_ec2_beats_what_the_bound_has_to_beat():
    """So stopping and pruning differ only where a node lies above a better one."""
    X, y = with_wrong_labels(load_breast_cancer)
    bound = EC2Bound(confidence=0.0, noise=0.15, against="chance")
    tree = ConfidenceTreeClassifier(bound, pruning=EC2Pruning(0.9))
    tree = tree.fit(X, y).tree_
    assert tree.n_leaves > 2
    tables = [tree.counts[tree.children(node)] for node in _above_leaves(tree)]
    assert ec2_confidence(tables, 0, 0.15, against="chance").min() >= 0.9


@pytest.mark.parametrize("pruning", PRUNINGS)
@pytest.mark.parametrize("bound", [None, "credible", "gtest"])
def test_single_class_and_stump(pruning, bound):
    tree = ConfidenceTreeClassifier(bound, pruning=pruning)
    if bound is None:
        tree.set_params(max_depth=1)
    assert tree.fit([[0.0], [1.0]], [1, 1]).get_n_leaves() == 1
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    assert tree.fit(X, X[:, 0] > 0).get_n_leaves() == 2


@pytest.mark.parametrize("pruning", PRUNINGS)
def test_strength_out_of_range(pruning):
    kind = PRUNINGS[pruning]
    strength = kind.strength_parameter
    (interval,) = kind._parameter_constraints[strength]
    for value in (interval.left, interval.right, 1.5):
        if value is None:
            continue
        tree = ConfidenceTreeClassifier(None, pruning=kind(value))
        if value in interval:
            tree.fit([[0.0], [1.0]], [0, 1])
            assert getattr(tree.pruning_, strength) == value
            continue
        words = f"'{strength}' parameter of {kind.__name__}.*Got {value}"
        with pytest.raises(ValueError, match=words):
            tree.fit("no table is looked at", None)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"pruning": "optimistic"}, r"'pruning'.*Got 'optimistic'"),
        ({"pruning": True}, r"'pruning'.*Got True"),
        ({"pruning": C45Pruning(-0.1)}, r"'confidence'.*Got -0.1"),
        ({"pruning": C45Pruning("high")}, r"'confidence'.*Got 'high'"),
        ({"pruning": C45Pruning(np.nan)}, r"'confidence'.*Got nan"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(ValueError, match=words):
        ConfidenceTreeClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_a_pruning_that_is_not_finished_says_what_it_lacks():
    class Unfinished(BasePruning):
        pass

    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier(bound=None).fit(X, y).tree_
    with pytest.raises(NotImplementedError, match="Unfinished does not define cost"):
        Unfinished().prune(tree, None)


def steps(path):
    """Strengths and impurities, of equal strengths the last: their order is free."""
    last = np.append(np.diff(path.ccp_alphas) > 1e-9, True)
    return np.column_stack([path.ccp_alphas, path.impurities])[last]


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_pruning_path_is_that_of_scikit_learn(load, criterion):
    X, y = load(return_X_y=True)
    model = ConfidenceTreeClassifier(None, criterion=criterion, random_state=0)
    path = model.cost_complexity_pruning_path(X, y)
    assert not hasattr(model, "tree_")
    grown = model.set_params(pruning=None).fit(X, y).to_sklearn()
    for alpha, impurity in steps(path):
        pruned = ConfidenceTreeClassifier(
            None,
            criterion=criterion,
            pruning=CostComplexityPruning(alpha * (1 + 1e-9)),
        )
        table = node_table(pruned.fit(X, y))
        left = sum(row.impurity * row.weight for row in table if not row.branches)
        assert_allclose(left / len(y), impurity, atol=1e-12)
    assert_array_equal(np.diff(path.ccp_alphas) >= 0, True)
    assert path.impurities[-1] == pytest.approx(grown.tree_.impurity[0])


def test_pruning_path_equals_that_of_a_tree_that_is_the_same():
    """A tree without ties is scikit-learn's, and so is its path."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=300) > 0.5) * 1
    theirs = DecisionTreeClassifier(random_state=0)
    weight = rng.integers(1, 4, 300)
    want = theirs.cost_complexity_pruning_path(X, y, sample_weight=weight)
    got = ConfidenceTreeClassifier(None).cost_complexity_pruning_path(X, y, weight)
    assert_allclose(got.ccp_alphas, want.ccp_alphas, atol=1e-12)
    assert_allclose(steps(got), steps(want), atol=1e-12)
