"""ConfidenceTreeClassifier works wherever scikit-learn's tree works.

Model selection, pipelines, frames, labels, weights and memory layouts as users
combine them; estimator_checks tries few of these together.
"""

import copy
import io
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import csc_array, csr_array, lil_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, export_graphviz

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound, HoeffdingBound, PossibilisticBound
from skconftree.bounds._registry import BOUNDS

EVERY_BOUND = [None, *BOUNDS]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :6].astype(np.float32), y


def assert_same_tree(a, b):
    a, b = a.tree_, b.tree_
    for name in ("feature", "threshold", "children_left", "children_right", "parent"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_allclose(a.counts, b.counts, rtol=1e-12)


# --- model selection --------------------------------------------------------


def test_grid_search_over_bound_and_delta_together(cancer):
    grid = {
        "bound": ["gtest", "credible", "possibilistic", "hoeffding", CredibleBound()],
        "delta": [0.01, 0.3],
        "criterion": [None, "entropy"],
    }
    search = GridSearchCV(
        ConfidenceTreeClassifier(), grid, cv=3, error_score="raise"
    ).fit(*cancer)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 20
    assert len(set(scores)) > 3
    assert search.best_score_ > 0.85


def test_grid_search_reaches_into_a_bound_object(cancer):
    search = GridSearchCV(
        ConfidenceTreeClassifier(bound=PossibilisticBound()),
        {"bound__correction": ["branches", "all_tests"], "bound__delta": [0.3, 1e-6]},
        cv=3,
        error_score="raise",
    ).fit(*cancer)
    leaves = search.best_estimator_.get_n_leaves()
    expected = PossibilisticBound(
        **{key.removeprefix("bound__"): v for key, v in search.best_params_.items()}
    )
    assert search.best_estimator_.bound.get_params() == expected.get_params()
    assert leaves > 1


def test_delta_overrides_a_copy_of_the_bound(cancer):
    bound = HoeffdingBound(delta=0.25)
    tree = ConfidenceTreeClassifier(bound=bound, delta=1e-9).fit(*cancer)
    assert bound.delta == 0.25
    assert tree.bound is bound
    expected = ConfidenceTreeClassifier(bound=HoeffdingBound(delta=1e-9)).fit(*cancer)
    assert_same_tree(tree, expected)


@pytest.mark.parametrize("bound", EVERY_BOUND)
def test_in_a_pipeline_and_cross_validation(bound, cancer):
    X, y = cancer
    pipeline = make_pipeline(
        StandardScaler(), ConfidenceTreeClassifier(bound=bound, random_state=0)
    )
    scores = cross_val_score(pipeline, X, y, cv=3, error_score="raise")
    majority = max(np.mean(y), 1 - np.mean(y))
    assert scores.mean() > majority - 0.01


def test_inside_ensembles_and_inspection(cancer):
    X, y = cancer
    tree = ConfidenceTreeClassifier(max_depth=3)
    bagged = BaggingClassifier(tree, n_estimators=3, random_state=0).fit(X, y)
    voting = VotingClassifier([("a", tree), ("b", DecisionTreeClassifier())]).fit(X, y)
    assert bagged.score(X, y) > 0.85
    assert voting.score(X, y) > 0.85
    result = permutation_importance(tree.fit(X, y), X, y, n_repeats=2, random_state=0)
    assert result.importances_mean.max() > 0


# --- copies -----------------------------------------------------------------


@pytest.mark.parametrize("bound", EVERY_BOUND)
def test_pickle_joblib_and_deepcopy_keep_every_bit(bound, cancer):
    X, y = cancer
    tree = ConfidenceTreeClassifier(bound=bound).fit(X, y)
    file = io.BytesIO()
    joblib.dump(tree, file)
    file.seek(0)
    copies = [
        pickle.loads(pickle.dumps(tree)),
        joblib.load(file),
        copy.deepcopy(tree),
    ]
    for other in copies:
        assert_same_tree(tree, other)
        np.testing.assert_array_equal(tree.predict_proba(X), other.predict_proba(X))
        assert other.tree_.evidence.tobytes() == tree.tree_.evidence.tobytes()
    again = pickle.dumps(copies[0])
    assert pickle.dumps(pickle.loads(again)) == again


def test_same_state_same_bytes(cancer):
    twins = [ConfidenceTreeClassifier().fit(*cancer) for _ in range(2)]
    assert pickle.dumps(twins[0]) == pickle.dumps(twins[1])


def test_clone_keeps_parameters_and_forgets_the_rest(cancer):
    tree = ConfidenceTreeClassifier(bound=CredibleBound(prior="perks"), max_depth=2)
    copied = clone(tree.fit(*cancer))
    assert copied.bound is not tree.bound
    assert copied.bound.get_params() == tree.bound.get_params()
    with pytest.raises(NotFittedError):
        copied.predict(cancer[0])


def test_refit_forgets_the_first_fit(cancer):
    X, y = cancer
    tree = ConfidenceTreeClassifier().fit(*load_iris(return_X_y=True))
    tree.fit(X, y)
    fresh = ConfidenceTreeClassifier().fit(X, y)
    assert_same_tree(tree, fresh)
    assert vars(tree).keys() == vars(fresh).keys()
    np.testing.assert_array_equal(tree.classes_, fresh.classes_)


# --- frames -----------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_bring_their_names(frame, cancer):
    X, y = cancer
    names = list("abcdef")
    table = frame(dict(zip(names, X.T, strict=True)))
    tree = ConfidenceTreeClassifier().fit(table, y)
    assert tree.feature_names_in_.tolist() == names
    expected = ConfidenceTreeClassifier().fit(X, y)
    assert_same_tree(tree, expected)
    np.testing.assert_array_equal(tree.predict_proba(table), expected.predict_proba(X))
    with pytest.raises(ValueError, match=r"(?s)feature names.*same order"):
        tree.predict(table[names[::-1]])
    with pytest.raises(ValueError, match=r"(?s)feature names.*unseen at fit time"):
        tree.predict(frame(dict(zip("abcdeX", X.T, strict=True))))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        tree.predict(X)


def test_target_as_series(cancer):
    X, y = cancer
    expected = ConfidenceTreeClassifier().fit(X, y)
    for target in (pd.Series(y), pd.Series(y, index=np.arange(len(y))[::-1])):
        assert_same_tree(ConfidenceTreeClassifier().fit(X, target), expected)


def test_pool_may_be_a_frame(cancer):
    X, y = cancer
    table = pd.DataFrame(X, columns=list("abcdef"))
    tree = ConfidenceTreeClassifier(bound="credible").fit(
        table[:300], y[:300], X_pool=table[300:]
    )
    expected = ConfidenceTreeClassifier(bound="credible").fit(
        X[:300], y[:300], X_pool=X[300:]
    )
    assert_same_tree(tree, expected)


# --- labels and weights -----------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-1, 1]),
        np.array([False, True]),
        np.array(["malignant", "benign"])[::-1],
        np.array(["a", "b"], dtype=object),
        np.array([3, 1000], dtype=np.uint16),
        np.array([0.0, 2.0]),
    ],
    ids=["minus one and one", "bool", "str", "object", "uint16", "float"],
)
def test_labels_are_ordinary_classes(labels, cancer):
    X, y = cancer
    expected = ConfidenceTreeClassifier().fit(X, y)
    tree = ConfidenceTreeClassifier().fit(X, labels[y])
    assert_same_tree(tree, expected)
    np.testing.assert_array_equal(tree.classes_, labels)
    assert tree.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(tree.predict(X), labels[expected.predict(X)])
    assert tree.predict(X).dtype == labels.dtype
    np.testing.assert_array_equal(tree.predict_proba(X), expected.predict_proba(X))


def test_class_weight_multiplies_weights_without_a_bound(cancer):
    X, y = cancer
    weights = {0: 3.0, 1: 0.5}
    tree = ConfidenceTreeClassifier(bound=None, class_weight=weights, max_depth=4)
    expected = DecisionTreeClassifier(class_weight=weights, max_depth=4, random_state=0)
    np.testing.assert_allclose(
        tree.fit(X, y).predict_proba(X), expected.fit(X, y).predict_proba(X)
    )


@pytest.mark.parametrize("bound", EVERY_BOUND)
def test_equal_class_weights_are_no_evidence(bound, cancer):
    X, y = cancer
    plain = ConfidenceTreeClassifier(bound=bound, max_depth=3).fit(X, y)
    for weight in (1e-3, 1024.0):
        weighted = ConfidenceTreeClassifier(
            bound=bound, max_depth=3, class_weight={0: weight, 1: weight}
        ).fit(X, y)
        np.testing.assert_array_equal(weighted.tree_.feature, plain.tree_.feature)
        np.testing.assert_array_equal(weighted.tree_.threshold, plain.tree_.threshold)
        np.testing.assert_allclose(weighted.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("bound", EVERY_BOUND)
def test_balanced_is_the_dictionary_of_balanced_weights(bound, cancer):
    X, y = cancer
    weights = len(y) / (2 * np.bincount(y))
    balanced = ConfidenceTreeClassifier(bound=bound, class_weight="balanced")
    explicit = clone(balanced).set_params(class_weight=dict(enumerate(weights)))
    assert_same_tree(balanced.fit(X, y), explicit.fit(X, y))


def test_balanced_weights_rare_classes():
    rng = np.random.default_rng(0)
    y = (rng.random(1000) < 0.1).astype(int)
    X = (rng.normal(size=1000) + 0.7 * y).reshape(-1, 1)
    plain = ConfidenceTreeClassifier(max_depth=1).fit(X, y)
    balanced = ConfidenceTreeClassifier(max_depth=1, class_weight="balanced").fit(X, y)
    assert plain.predict(X).mean() < 0.1 < balanced.predict(X).mean()


@pytest.mark.parametrize("bound", EVERY_BOUND)
def test_weight_is_frequency(bound, cancer):
    """Weight k equals k repeats and 0 equals absence, evidence included."""
    X, y = cancer[0][:150], cancer[1][:150]
    weight = np.random.default_rng(0).integers(0, 4, 150)
    growth = {"min_samples_leaf": 3, "min_samples_split": 8, "max_leaf_nodes": 7}
    weighted = ConfidenceTreeClassifier(bound=bound, **growth).fit(
        X, y, sample_weight=weight
    )
    order = np.repeat(np.arange(150), weight)
    repeated = ConfidenceTreeClassifier(bound=bound, **growth).fit(X[order], y[order])
    assert_same_tree(weighted, repeated)
    for field in weighted.tree_.evidence.dtype.names:
        np.testing.assert_allclose(
            weighted.tree_.evidence[field], repeated.tree_.evidence[field], rtol=1e-9
        )


def test_metadata_routing_of_sample_weight(cancer):
    X, y = cancer
    weight = np.random.default_rng(0).uniform(0.5, 20, len(y))
    expected = ConfidenceTreeClassifier(max_depth=3).fit(X, y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        tree = ConfidenceTreeClassifier(max_depth=3)
        requested = clone(tree).set_fit_request(sample_weight=True)
        requested.set_score_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), requested)
        pipeline.fit(X, y, sample_weight=weight)
        assert_same_tree(pipeline[-1], expected)
        search = GridSearchCV(requested, {"max_depth": [3]}, cv=3)
        search.fit(X, y, sample_weight=weight)
        assert_same_tree(search.best_estimator_, expected)
        with pytest.raises(ValueError, match="sample_weight"):
            GridSearchCV(tree, {"max_depth": [3]}).fit(X, y, sample_weight=weight)


# --- tree_, by scikit-learn's names -----------------------------------------

ARRAYS = ("children_left", "children_right", "feature", "threshold", "impurity")
ARRAYS += ("value", "missing_go_to_left", "n_classes")
ARRAYS += ("n_node_samples", "weighted_n_node_samples")
SIZES = ("node_count", "max_depth", "n_leaves", "n_features", "max_n_classes")
SIZES += ("n_outputs", "capacity")


@pytest.mark.parametrize("form", ["fit", "missing", "stream"])
def test_tree_has_names_shapes_and_types_of_scikit_learn(cancer, form):
    X, y = cancer[0].copy(), cancer[1]
    if form == "missing":
        X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    model = ConfidenceTreeClassifier(leaf_prediction="majority", grace_period=20)
    model = model.partial_fit(X, y, [0, 1]) if form == "stream" else model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of missing values
        expected = model.to_sklearn().tree_
    tree = model.tree_
    assert tree.node_count > 3
    for name in ARRAYS:
        found, array = getattr(tree, name), getattr(expected, name)
        assert (found.shape, found.dtype) == (array.shape, array.dtype), name
        np.testing.assert_array_equal(found, array, err_msg=name)
    for name in SIZES[:-1]:
        assert getattr(tree, name) == getattr(expected, name), name
    assert tree.capacity >= tree.node_count
    depths, expected_depths = tree.compute_node_depths(), expected.compute_node_depths()
    assert depths.dtype == expected_depths.dtype
    np.testing.assert_array_equal(depths, expected_depths)
    for normalize in (True, False):
        np.testing.assert_allclose(
            tree.compute_feature_importances(normalize=normalize),
            expected.compute_feature_importances(normalize=normalize),
        )
    full = np.nan_to_num(X)
    for table in (X, np.asfortranarray(X), X[::2, ::-1], csr_array(full)):
        for method in ("apply", "predict"):
            found, array = (getattr(t, method)(table) for t in (tree, expected))
            assert (found.shape, found.dtype) == (array.shape, array.dtype)
            np.testing.assert_array_equal(found, array)
        path = tree.decision_path(table)
        assert path.format == "csr"
        assert (path != expected.decision_path(table)).nnz == 0
    for table in (full, csc_array(full), lil_array(full)):
        np.testing.assert_array_equal(tree.apply(table), expected.apply(full))
    assert tree.apply(csr_array((0, X.shape[1]), dtype=np.float32)).shape == (0,)
    for bad in (X.astype(float), csr_array(full, dtype=float), X[0], X.tolist()):
        with pytest.raises(ValueError, match="of float32"):
            tree.apply(bad)
    with pytest.raises(ValueError, match="X has 2 features, the tree has 6"):
        tree.predict(csr_array(full[:, :2]))
    with pytest.raises(AttributeError, match="'Tree' object has no attribute 'nodes'"):
        _ = tree.nodes


def test_exporters_of_scikit_learn_take_numeric_trees_only(cancer):
    tree = ConfidenceTreeClassifier(max_depth=2).fit(*cancer)
    expected = export_graphviz(tree.to_sklearn())
    assert export_graphviz(tree).replace("impurity", "entropy") == expected
    nominal = ConfidenceTreeClassifier(None, categorical_features=[0])
    nominal.fit([[0], [1], [2], [3]], [0, 1, 0, 1])
    with pytest.raises(AttributeError, match="tree with nominal splits"):
        export_graphviz(nominal)


# --- memory layouts and dtypes ----------------------------------------------


def layouts(X):
    yield "fortran", np.asfortranarray(X)
    yield "strided rows", np.repeat(X, 2, axis=0)[::2]
    yield "strided columns", np.repeat(X, 3, axis=1)[:, ::3]
    yield "reversed", np.ascontiguousarray(X[::-1])[::-1]
    yield "float64", X.astype(np.float64)
    yield "big endian", X.astype(">f4")
    yield "list", X.tolist()
    read_only = X.copy()
    read_only.setflags(write=False)
    yield "read-only", read_only


def test_layout_of_the_input_does_not_matter(cancer):
    X, y = cancer
    expected = ConfidenceTreeClassifier().fit(X, y)
    strided_y = np.repeat(y, 2)[::2]
    strided_y.setflags(write=False)
    for name, table in layouts(X):
        tree = ConfidenceTreeClassifier().fit(table, strided_y)
        assert_same_tree(tree, expected)
        np.testing.assert_array_equal(
            tree.predict_proba(table), expected.predict_proba(X), err_msg=name
        )
        np.testing.assert_array_equal(tree.apply(table), expected.apply(X))


def test_layout_of_weights_and_pool_does_not_matter(cancer):
    X, y = cancer
    weight = np.random.default_rng(0).integers(1, 5, len(y)).astype(float)
    expected = ConfidenceTreeClassifier(bound="credible").fit(
        X, y, sample_weight=weight, X_pool=X[:99]
    )
    for dtype in (np.float32, np.int64):
        given = np.repeat(weight.astype(dtype), 2)[::2]
        given.setflags(write=False)
        tree = ConfidenceTreeClassifier(bound="credible").fit(
            X, y, sample_weight=given, X_pool=np.asfortranarray(X[:99].astype(float))
        )
        assert_same_tree(tree, expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64, bool])
def test_integers_and_booleans(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype is bool else 9, (80, 3)).astype(dtype)
    y = (X[:, 1] > X[:, 1].mean()).astype(int)
    tree = ConfidenceTreeClassifier(bound=None).fit(X, y)
    assert tree.score(X, y) == 1.0
    assert_same_tree(tree, ConfidenceTreeClassifier(bound=None).fit(X.astype("f4"), y))


def test_values_are_compared_as_float32():
    """Two float64 values that are one float32 value cannot be told apart."""
    X = np.array([[1.0], [1.0 + 1e-9], [2.0]])
    tree = ConfidenceTreeClassifier(bound=None).fit(X, [0, 1, 1])
    theirs = DecisionTreeClassifier().fit(X, [0, 1, 1])
    np.testing.assert_array_equal(tree.predict_proba(X), theirs.predict_proba(X))


def test_input_is_left_alone(cancer):
    X, y = cancer[0].copy(), cancer[1].copy()
    weight = np.ones(len(y))
    ConfidenceTreeClassifier(class_weight="balanced").fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(X, cancer[0])
    np.testing.assert_array_equal(y, cancer[1])
    np.testing.assert_array_equal(weight, 1.0)


def test_rows_without_label_are_not_samples():
    """A pool weighs the nodes of the credible bound and is counted nowhere else."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    tree = (
        ConfidenceTreeClassifier(bound="credible", delta=0.1)
        .fit(X, y, X_pool=rng.normal(size=(500, 2)))
        .tree_
    )
    assert tree.node_count > 1
    np.testing.assert_array_equal(tree.n_node_samples, tree.counts.sum(axis=1))
