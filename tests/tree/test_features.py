"""Trees of tables with nominal columns and holes: predicted rightly, told rightly.

Which tests the tree chooses is compared with the slow reference elsewhere.
"""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from reference.effort import examples
from reference.mixed import FRAME, Y, make_frame
from reference.registries import PRUNINGS
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import ConfidenceTreeDisplay
from skconftree.tree import export_text
from skconftree.tree.nodes._state import (
    ARRAYS,
    BRANCHING_DTYPE,
    NODE_ARRAYS,
    NODE_DTYPE,
)

TO_SKLEARN = pytest.mark.filterwarnings("ignore:Some splits send missing values")
OTHER_WORDS = pytest.mark.filterwarnings("ignore:Column .* has only unknown categories")
SETTINGS = {
    "binary": {},
    "multiway": {"nominal_splits": "multiway"},
    "no bound": {"bound": None},
    "possibilistic": {"bound": "possibilistic"},
    "raised": {"bound": None, "nominal_splits": "multiway", "pruning": "c45"},
    "best first": {"bound": None, "nominal_splits": "multiway", "max_leaf_nodes": 30},
    "drawn": {"splitter": "random", "random_state": 3},
}


@pytest.fixture(params=SETTINGS)
def tree(request):
    return ConfidenceTreeClassifier(**SETTINGS[request.param]).fit(FRAME, Y)


# -- prediction -------------------------------------------------------------------


@OTHER_WORDS
def test_unknown_category_stays_at_its_node(tree):
    """The node's own proportions are the prediction (section B3)."""
    strange = FRAME.assign(color="mauve", shape=99)
    reached = tree.apply(strange)
    first = tree.tree_.feature[0]
    if tree.is_categorical_[first]:
        assert (reached == 0).all()
    stays = tree.tree_.n_children[reached] > 0
    assert stays.any()
    assert tree.tree_.is_nominal[reached[stays]].all()
    assert_array_equal(tree.predict_proba(strange), tree.tree_.proba[reached])
    path = tree.decision_path(strange)
    assert path[0].indices[-1] == reached[0]


def test_missing_category_is_a_category():
    color = FRAME[["color"]]
    y = color["color"].isna().to_numpy().astype(int)
    tree = ConfidenceTreeClassifier(bound=None).fit(color, y)
    assert tree.get_n_leaves() == 2
    assert_array_equal(tree.predict(color), y)
    known = FRAME["color"].notna()
    tree = ConfidenceTreeClassifier(bound=None)
    tree.fit(color[known], FRAME["color"][known] == "red")
    assert tree.get_n_leaves() == 2
    assert (tree.apply(color[~known]) == 0).all()  # never seen: stays at the root


def test_a_missing_number_goes_to_the_fitted_side():
    x = np.r_[np.full(20, np.nan), np.arange(40.0)]
    for side in (0, 1):
        y = np.r_[np.full(20, side), np.arange(40) >= 25].astype(int)
        tree = ConfidenceTreeClassifier(bound=None).fit(x[:, np.newaxis], y)
        assert tree.get_n_leaves() == 2
        assert tree.tree_.missing_go_to_left[0] == (side == 0)
        assert tree.tree_.missing_seen[0]
        assert_array_equal(tree.predict(x[:, np.newaxis]), y)
    y = np.isnan(x).astype(int)
    tree = ConfidenceTreeClassifier(bound=None).fit(x[:, np.newaxis], y)
    assert tree.tree_.threshold[0] == np.inf
    assert_array_equal(tree.predict(x[:, np.newaxis]), y)


def test_missing_number_unheard_of_goes_to_the_larger_child():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier(bound=None, max_depth=1).fit(X, y)
    assert not tree.tree_.missing_seen.any()
    assert tree.apply(np.full((1, 4), np.nan)) == [2]  # 100 rows against 50
    # a few holes change no row without any
    some = np.vstack([X, np.full((1, 4), np.nan)])
    assert_array_equal(tree.apply(some)[:-1], tree.apply(X))


@given(seed=st.integers(0, 2**16), holes=st.sampled_from([0.05, 0.5]))
@settings(max_examples=examples(20))
def test_missing_values_as_in_scikit_learn(seed, holes):
    """One feature: no ties between features, and the same candidates."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    X = (rng.normal(size=60) + y)[:, np.newaxis].astype(np.float32)
    X[rng.random(60) < holes] = np.nan
    ours = ConfidenceTreeClassifier(bound=None, max_depth=1).fit(X, y).tree_
    theirs = DecisionTreeClassifier(max_depth=1).fit(X, y).tree_
    below = theirs.impurity[1:] @ theirs.weighted_n_node_samples[1:]
    assert ours.impurity[1:] @ ours.weighted_n_node_samples[1:] <= below + 1e-9


# -- what is said about the tree --------------------------------------------------


@OTHER_WORDS
@TO_SKLEARN
def test_copy_made_of_scikit_learn_is_exact(tree):
    copy = tree.to_sklearn()
    assert isinstance(copy, Pipeline)
    assert isinstance(copy[-1], DecisionTreeClassifier)
    other, _ = make_frame(seed=1, holes=0.3)
    strange = other.assign(color="mauve", shape=other["shape"].astype(int) + 6)
    for X in (FRAME, other, strange):
        assert_array_equal(copy.predict_proba(X), tree.predict_proba(X))
    assert_array_equal(copy.predict(FRAME), tree.predict(FRAME))
    copy = pickle.loads(pickle.dumps(copy))
    assert_array_equal(copy.predict_proba(FRAME), tree.predict_proba(FRAME))


@TO_SKLEARN
def test_copy_of_a_tree_with_missing_values():
    X, y = load_iris(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    tree = ConfidenceTreeClassifier(bound=None).fit(X, y)
    copy = tree.to_sklearn()
    assert isinstance(copy, DecisionTreeClassifier)
    X[:, 0] = np.nan
    assert_array_equal(copy.predict_proba(X), tree.predict_proba(X))


@TO_SKLEARN
def test_copy_without_column_names():
    X = FRAME.to_numpy(dtype=object)
    tree = ConfidenceTreeClassifier(categorical_features=[0, 2]).fit(X, Y)
    assert_array_equal(tree.to_sklearn().predict_proba(X), tree.predict_proba(X))


def test_categories_are_named():
    y = FRAME["color"].isin(["red", "grey"]) * 1 + (FRAME["size"] > 0)
    tree = ConfidenceTreeClassifier(bound=None, max_depth=2).fit(FRAME, y)
    text = export_text(tree)
    assert "color in {blue, green, pink, missing}" in text
    assert "color in {grey, red}" in text
    assert "size <= " in text
    assert "or missing" in text
    y = FRAME["size"].isna() * 1
    assert "size is missing" in export_text(
        ConfidenceTreeClassifier(bound=None).fit(FRAME, y)
    )
    shape = FRAME["shape"].astype(int) * 1
    text = export_text(
        ConfidenceTreeClassifier(
            bound=None, nominal_splits="multiway", max_depth=1
        ).fit(FRAME, shape)
    )
    assert "shape = 7" in text
    tree = ConfidenceTreeClassifier(bound=None, max_depth=1).fit(FRAME, shape > 8)
    text = export_text(tree)
    assert re.search(r"shape not in \{9, 10, [\d, ]+\} ", text)


@OTHER_WORDS
def test_explain_names_categories(tree):
    strange = FRAME.assign(color="mauve")
    steps = [step for row in tree.explain(FRAME) for step in row]
    kinds = {step["goes"] for step in steps}
    assert kinds <= {"left", "right", "branch"}
    nominal = [step for step in steps if step["categories"] is not None]
    assert nominal
    for step in nominal:
        assert step["value"] in step["categories"]
        assert np.isnan(step["threshold"])
    last = [row[-1] for row in tree.explain(strange) if row]
    stays = [step for step in last if step["goes"] == "stays"]
    reached = tree.apply(strange)
    assert len(stays) == (tree.tree_.n_children[reached] > 0).sum()
    assert all(step["value"] is None for step in stays if step["name"] == "color")


def test_picture(tree):
    display = ConfidenceTreeDisplay.from_estimator(tree)
    written = " ".join(text.get_text() for text in display.ax_.texts)
    assert "color" in written or "shape" in written
    assert "nan" not in written


# -- the arrays -------------------------------------------------------------------


def test_arrays_agree(tree):
    arrays = tree.tree_
    for node in range(arrays.node_count):
        children = arrays.children(node)
        assert len(children) == arrays.n_children[node]
        assert (arrays.parent[children] == node).all()
        if len(children):
            sums = arrays.counts[children].sum(axis=0)
            if "c45" != tree.pruning:
                np.testing.assert_allclose(sums, arrays.counts[node])
        if len(children) == 2:
            assert arrays.children_left[node] == children[0]
            assert arrays.children_right[node] == children[1]
        else:
            expected = -2 if len(children) else -1
            assert arrays.children_left[node] == expected
            assert arrays.children_right[node] == expected
    with pytest.raises(IndexError):
        arrays.children(arrays.node_count)
    importance = tree.feature_importances_
    assert importance.sum() == pytest.approx(1.0)
    assert (importance >= -1e-12).all()


@pytest.mark.parametrize("pruning", PRUNINGS)
@pytest.mark.parametrize("nominal_splits", ["binary", "multiway"])
def test_prunings(pruning, nominal_splits):
    """Smaller trees whose counts are those of the rows that arrive."""
    strength = {"ccp_alpha": 0.01} if pruning == "cost_complexity" else {}
    plain = {"bound": None, "nominal_splits": nominal_splits}
    full = ConfidenceTreeClassifier(**plain).fit(FRAME, Y)
    tree = ConfidenceTreeClassifier(**plain, pruning=PRUNINGS[pruning](**strength)).fit(
        FRAME, Y
    )
    assert 1 < tree.get_n_leaves() < full.get_n_leaves()
    arrived = np.zeros_like(tree.tree_.counts)
    np.add.at(arrived, (tree.apply(FRAME), Y), 1)
    leaf = tree.tree_.n_children == 0
    assert_array_equal(arrived[leaf], tree.tree_.counts[leaf])
    pickle.loads(pickle.dumps(tree))  # its state is valid


@OTHER_WORDS
def test_pickle(tree):
    again = pickle.loads(pickle.dumps(tree))
    assert pickle.dumps(again) == pickle.dumps(tree)
    strange = FRAME.assign(color="mauve", size=np.nan)
    for X in (FRAME, strange):
        assert_array_equal(again.predict_proba(X), tree.predict_proba(X))


@pytest.mark.parametrize(
    ("array", "field", "value"),
    [
        ("branching", "first", 10**6),
        ("branching", "first", -1),
        ("branching", "first", -3),
        ("branching", "n_codes", 10**4),
        ("branching", "missing_left", 2),
        ("parent", None, 0),
        ("child_of_code", None, 2),
        ("nodes", "threshold", 0.5),
        ("nodes", "feature", -2),
        ("nodes", "feature", 1),
        ("nodes", "left", 0),
        ("nodes", "left", 2),
    ],
)
def test_hostile_state(array, field, value):
    tree = ConfidenceTreeClassifier(bound=None).fit(FRAME[["color"]], Y).tree_
    make, args, state = tree.__reduce__()
    place = ARRAYS.index(array) - len(ARRAYS)
    if array in NODE_ARRAYS:  # between them and the tests are others
        place = 1 + NODE_ARRAYS.index(array)
    if field is None:
        kind = {"child_of_code": np.int16, "parent": np.int32}[array]
        data = np.frombuffer(state[place], kind).copy()
        data[0] = value
    else:
        kind = {"branching": BRANCHING_DTYPE, "nodes": NODE_DTYPE}[array]
        data = np.frombuffer(state[place], kind).copy()
        data[field][0] = value
    hostile = (*state[:place], data.tobytes(), *state[place + 1 :])
    with pytest.raises(ValueError, match="corrupt"):
        make(*args).__setstate__(hostile)
