"""States from files are validated: parts of models that do not match.

What is damaged within a tree or its leaves stands in `test_state.py`.
"""

import copy
import pickle

import numpy as np
import pytest
from reference.streams import make_stream
from skconftree.tree.nodes._tree import Tree
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.tables._labels import Classes
from skconftree.tables._schema import Schema
from skconftree.tree.nodes._derived import write_nodes
from skconftree.tree.nodes._state import ARRAYS, NODE_DTYPE

STREAM = make_stream(
    seed=6, n_rows=420, n_classes=3, kinds=["continuous", "ties", "one_hot"], signal=1.5
)


def with_categories():
    X = np.column_stack([STREAM.X[:, :2], np.rint(np.abs(STREAM.X[:, 1])) % 4])
    model = ConfidenceTreeClassifier(
        "gtest", categorical_features=[2], grace_period=20, delta=0.9
    )
    return model.partial_fit(X, STREAM.y, STREAM.classes), X


def with_part(model, path, *value):
    """A model whose state has another part at a place, or none."""
    state = model.__getstate__()
    *path, name = ("_model", *path)
    parts = state
    for one in path:
        parts[one] = dict(parts[one])
        parts = parts[one]
    if value:
        (parts[name],) = value
    else:
        del parts[name]
    other = type(model)()
    other.__setstate__(state)
    return other


def parts_of(model, *path):
    """What the state of a model holds at a place."""
    parts = model.__getstate__()["_model"]
    for one in path:
        parts = parts[one]
    return parts


OTHERS = {
    (): ["text", {}, []],
    ("classes",): [np.arange(60_000), np.arange(2)],
    ("schema",): [None, "text", {}, (3, None, None)],
    ("schema", "n_features"): [1, 4, None],
    ("schema", "features"): [
        None,
        "text",
        "3",
        "[1, 2, 3]",
        "[null, null, null]",
        '[["text", []], ["text", []]]',
        '[["text", ["a"]], null, null]',
        3,
    ],
    ("resolved",): [None, (), {}],
    ("resolved", "bound"): [None],
    ("tree",): [None, "text", (), ((), ()), ((3, 3), ()), (None, None)],
    ("grower",): [[{}, ()], [{"settings": {}}, None]],
}
PLACES = [
    *((part,) for part in parts_of(with_categories()[0])),
    *(("schema", part) for part in ("n_features", "names", "features")),
    *(("resolved", part) for part in parts_of(with_categories()[0], "resolved")),
]


LATER = {  # what may be absent
    *("waits", "honest_counts", "fidelity", "compact"),
    *("pruning", "lookahead", "taken_back", "names"),
}


@pytest.mark.parametrize("place", OTHERS)
def test_parts_of_another_kind(place):
    model, _ = with_categories()
    for value in OTHERS[place]:
        with pytest.raises(ValueError, match="corrupt|release|not (fit|match)"):
            with_part(model, place, value)
        assert with_part(model, ("waits",), False).tree_.node_count > 1


@pytest.mark.parametrize("place", PLACES)
def test_parts_that_are_missing(place):
    model, _ = with_categories()
    if place[-1] in LATER:
        with_part(model, place)
    else:
        with pytest.raises(ValueError, match="is corrupt"):
            with_part(model, place)
    with pytest.raises(ValueError, match="no setting 'age'"):
        with_part(model, (*place[:-1], "age"), 3)


def test_a_state_of_before_columns_could_be_dates():
    model, X = with_categories()
    state = model.__getstate__()
    del state["_model"]["schema"]["dates"]
    other = ConfidenceTreeClassifier()
    other.__setstate__(state)
    assert (other.predict_proba(X) == model.predict_proba(X)).all()
    assert pickle.dumps(other) == pickle.dumps(model)


def test_the_parts_of_other_models():
    """Each is sound by itself, and does not fit beside the others."""
    growing, X = with_categories()
    fitted = ConfidenceTreeClassifier().fit(STREAM.X, STREAM.y)
    nominal = ConfidenceTreeClassifier(None, categorical_features=[1])
    nominal.fit(X, STREAM.y)
    two_classes = clone(fitted).fit(STREAM.X, STREAM.y % 2)
    numeric = clone(growing).set_params(categorical_features=None)
    numeric.partial_fit(STREAM.X, STREAM.y, STREAM.classes)
    wide = clone(fitted).fit(STREAM.X[:, [0, 1, 2, 2]], STREAM.y)
    unbound = ConfidenceTreeClassifier(None).fit(STREAM.X, STREAM.y)
    assert unbound.tree_.node_count != fitted.tree_.node_count
    assert (nominal.tree_.is_nominal & (nominal.tree_.feature == 1)).any()
    for model, place, other in (
        (growing, "tree", fitted),
        (growing, "tree", numeric),
        (growing, "grower", numeric),
        (growing, "schema", nominal),
        (growing, "schema", fitted),
        (growing, "classes", two_classes),
        (growing, "resolved", unbound),
        (fitted, "tree", two_classes),
        (fitted, "tree", wide),
        (fitted, "tree", nominal),
        (fitted, "tree", unbound),
        (fitted, "grower", growing),
        (fitted, "schema", wide),
        (fitted, "classes", two_classes),
        (nominal, "schema", growing),
        (nominal, "schema", fitted),
    ):
        with pytest.raises(ValueError, match="is corrupt|of this growing tree"):
            with_part(model, (place,), parts_of(other, place))
    for model in (growing, fitted, nominal, unbound):
        for tree in (Tree(3, 3), Tree(1, 2)):  # without a root
            with pytest.raises(ValueError, match="is corrupt"):
                with_part(model, ("tree",), write_nodes(tree))
        same = with_part(model, ("tree",), parts_of(model, "tree"))
        assert pickle.dumps(same) == pickle.dumps(model)


@pytest.mark.parametrize(
    "made", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_what_is_read_is_what_learns(made):
    model, X = with_categories()
    before = pickle.dumps(model)
    same = made(model)
    assert same.tree_ is same._model.grower.tree
    assert same.tree_ is not model.tree_
    same.partial_fit(X, STREAM.y)
    assert same.tree_ is same._model.grower.tree
    assert same.tree_.counts[0].sum() == 2 * len(X)
    assert pickle.dumps(model) == before


def test_thresholds_of_nominal_columns():
    """Only a test of categories can ask for a column that has them."""
    model, X = with_categories()
    fitted = clone(model).set_params(bound=None, delta=None).fit(X, STREAM.y)
    place = ARRAYS.index("nodes") - len(ARRAYS)
    for one in (model, fitted):
        kind, arguments, state = one.tree_.__reduce__()
        nodes = np.frombuffer(state[place], NODE_DTYPE).copy()
        numeric = (one.tree_.feature >= 0) & ~one.tree_.is_nominal
        assert numeric.any()
        nodes["feature"][numeric] = 2
        tree = kind(*arguments)
        tree.__setstate__((*state[:place], nodes.tobytes(), *state[place + 1 :]))
        words = "is corrupt" if one is fitted else "arguments of this growing tree"
        with pytest.raises(ValueError, match=words):
            with_part(one, ("tree",), write_nodes(tree))


FITTED = [
    *(
        "bound_ categories_ classes_ criterion_ feature_names_in_ is_categorical_"
    ).split(),
    *("lookahead_ max_features_ n_bytes_ n_classes_ n_drifts_ n_features_in_").split(),
    *("n_rows_seen_ pruning_ shrinkage_ tree_").split(),
]


@pytest.mark.parametrize("name", FITTED)
def test_fitted_attributes_are_read_only(name):
    model, _ = with_categories()
    before = pickle.dumps(model)
    for one in (model, ConfidenceTreeClassifier()):
        with pytest.raises(AttributeError, match=f"'{name}'"):
            setattr(one, name, None)
    assert pickle.dumps(model) == before


def test_a_model_that_is_changed_while_it_lives():
    """Compiled code believes nobody."""
    model, X = with_categories()
    before = pickle.dumps(model)
    for name, value, rows, labels in (
        ("classes", Classes(np.arange(60_000)), X, STREAM.y + 50_000),
        ("schema", Schema(1), X[:, :1], STREAM.y),
    ):
        other = copy.copy(model)
        setattr(other._model, name, value)
        with pytest.raises(ValueError, match="Rows do not fit the growing tree"):
            other.partial_fit(rows.astype(np.float32), labels)
    assert pickle.dumps(model) == before
