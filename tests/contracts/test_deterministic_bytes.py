"""Equal states have equal bytes, independent of the history of the model.

So two models can be compared by their files, and a file that is made again is the same
file. What a pickle makes a reference of depends on which objects are identical; that is
an accident of how texts, types and parameters came to be.
"""

import copy
import io
import itertools
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import cases, examples
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound, HoeffdingBound
from skconftree.drift import DDM
from skconftree.evaluation import PrequentialEvaluator

N_ROWS = 400
CLASSES = ["no", "yes"]
rng = np.random.default_rng(0)
X = rng.normal(size=(N_ROWS, 3))
X[:, 1] = rng.integers(0, 4, N_ROWS)
Y = np.where(X[:, 0] + (X[:, 1] > 1) > 0.5, "yes", "no")

PARAMETERS = {
    "default": {},
    "rows": {"leaf_memory": "rows", "leaf_prediction": "nba"},
    "moments": {"leaf_memory": "gaussian"},
    "histogram": {"leaf_memory": "histogram", "bound": "evalue"},
    "nominal": {"categorical_features": [1]},
    "drift": {"drift": DDM(), "bound": None, "grace_period": 20},
    "bound object": {"bound": CredibleBound(delta=0.1)},
    "race": {"bound": HoeffdingBound(variant="gain"), "criterion": "entropy"},
    "drawn": {"max_features": 1, "splitter": "random", "random_state": 3},
    "class weight": {"class_weight": {"yes": 2.0, "no": 1.0}},
    "memory limit": {"max_bytes": 70_000, "bound": None, "grace_period": 10},
}


def refitted(value):
    """Equal to the value, with no text in common."""
    if isinstance(value, str):
        return "".join(list(value))
    if isinstance(value, list):
        return list(map(refitted, value))
    if isinstance(value, dict):
        return {refitted(key): refitted(value[key]) for key in reversed(value)}
    return value


def by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def loaded(model):
    return pickle.loads(pickle.dumps(model))


WAYS = {
    "kept": lambda model: model,
    "loaded": loaded,
    "loaded twice": lambda model: loaded(loaded(model)),
    "loaded by protocol 2": lambda model: pickle.loads(pickle.dumps(model, 2)),
    "loaded by joblib": by_joblib,
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
}


def read(model, rows):
    model.predict(rows)
    model.explain(rows[:3])
    repr(model)
    return model.feature_importances_


@pytest.fixture(scope="module", params=PARAMETERS)
def parameters(request):
    return PARAMETERS[request.param]


@pytest.fixture(scope="module")
def in_one_call(parameters):
    model = ConfidenceTreeClassifier(**parameters).partial_fit(X, Y, CLASSES)
    return pickle.dumps(model)


@settings(max_examples=examples(20, by_day=3), deadline=None)
@given(
    cuts=st.lists(st.integers(1, N_ROWS - 1), max_size=4, unique=True).map(sorted),
    way=st.sampled_from(sorted(WAYS)),
    again=st.booleans(),
)
def test_a_stream_leaves_no_trace_of_its_way(parameters, in_one_call, cuts, way, again):
    if again:
        parameters = refitted(parameters)
    model = ConfidenceTreeClassifier(**parameters)
    for first, last in itertools.pairwise([0, *cuts, N_ROWS]):
        model.partial_fit(X[first:last], Y[first:last], CLASSES)
        with pytest.raises(ValueError, match="features"):
            model.partial_fit(X[:5, :2], Y[:5])
        read(model, X[:5])
        model = WAYS[way](model)
    assert pickle.dumps(model) == in_one_call


@pytest.mark.parametrize("way", cases(WAYS, ["loaded", "copied deeply"]))
def test_a_fit_leaves_no_trace_of_what_was_before(parameters, way):
    want = pickle.dumps(ConfidenceTreeClassifier(**parameters).fit(X, Y))
    before = [
        ConfidenceTreeClassifier(**refitted(parameters)),
        ConfidenceTreeClassifier(**parameters).partial_fit(X[:90], Y[:90], CLASSES),
        ConfidenceTreeClassifier(**parameters).fit(X[:90, :2], Y[:90] == "yes")
        if parameters.get("class_weight") is None
        else clone(ConfidenceTreeClassifier(**parameters)),
        ConfidenceTreeClassifier(**parameters).fit(pd.DataFrame(X).add_prefix("x"), Y),
    ]
    for model in before:
        model = WAYS[way](model).fit(X, Y)
        read(model, X[:5])
        assert pickle.dumps(WAYS[way](model)) == want


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [object, "str"])
def test_names_leave_no_trace_of_where_they_came_from(way, kind):
    """Such as are those of attributes, of parameters, or made at run time."""
    names = ["delta", "gini", "classes_"]
    bytes_ = set()
    for one in (names, refitted(names)):
        frame = pd.DataFrame(X)
        frame.columns = pd.Index(one, dtype=kind)
        for parameters in (
            {"criterion": "gini", "categorical_features": names[1:2]},
            refitted({"criterion": "gini", "categorical_features": names[1:2]}),
        ):
            model = ConfidenceTreeClassifier(**parameters)
            model = WAYS[way](model.partial_fit(frame[:200], Y[:200], CLASSES))
            model.partial_fit(frame[200:], Y[200:])
            bytes_.add(pickle.dumps(model))
    assert len(bytes_) == 1


@pytest.mark.parametrize("way", sorted(WAYS.keys() - {"loaded by joblib"}))
def test_trees_of_a_forest_share_what_they_shared(way):
    """Rows without label and weights of classes; joblib writes each array it meets."""
    forest = ConfidenceForestClassifier(
        3, bound="credible", class_weight={"yes": 2.0, "no": 1.0}, random_state=0
    )
    forest.partial_fit(X[:200], Y[:200], CLASSES, X_pool=X)
    other = WAYS[way](forest)
    assert pickle.dumps(other) == pickle.dumps(forest)
    first, *others = (tree.grower.recipe for tree in other._model.trees)
    assert all(one.X_pool is first.X_pool for one in others)
    assert all(one.class_weight is first.class_weight for one in others)


@pytest.mark.parametrize("way", WAYS)
def test_an_evaluation_leaves_no_trace_either(way):
    bytes_ = set()
    for cuts in ([0, N_ROWS], [0, 7, 200, N_ROWS]):
        run = PrequentialEvaluator(ConfidenceTreeClassifier(), classes=CLASSES)
        for first, last in itertools.pairwise(cuts):
            run.update(X[first:last], Y[first:last])
            run = WAYS[way](run)
        run.cpu_seconds_ = 0.0
        bytes_.add(pickle.dumps(run))
    assert len(bytes_) == 1
    assert run.pos_label_ == "yes"
