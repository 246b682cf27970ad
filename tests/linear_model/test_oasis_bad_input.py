"""Invalid input of OASIS raises an error that names it, before any work."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from skconftree import OASISClassifier
from skconftree.tables._labels import split_labels

X = np.random.default_rng(0).normal(size=(30, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("likelihood", ["x", (0.5,), (0.5, 0.2, 1), (0, 0.2), (1.1, 0.2), (0.5, 1.0)]),
        ("likelihood", [(0.5, 0), (0.9, 0.6), ("a", 0.1), (np.nan, 0.2), None, 0.5]),
        ("prior", ["laplace", None]),
        ("scale", [0, -1.0, np.inf, np.nan, 1e10]),
        ("n_particles", [1, 0, 1.5, 2**31]),
        ("buffer_size", [0, -1, 1.0]),
        ("resample", [None, "yes"]),
        ("fit_intercept", [2, "yes"]),
        ("standardize", ["no"]),
        ("missing_label", [[-1]]),
        ("random_state", ["x"]),
    ],
)
def test_parameters(parameter, values):
    for value in values:
        model = OASISClassifier(**{parameter: value})
        for learn in (model.fit, lambda X, y, m=model: m.partial_fit(X, y, [0, 1])):
            with pytest.raises(ValueError, match=f"'{parameter}' parameter"):
                learn(X, Y)
            assert not hasattr(model, "classes_")
        # the particles are not drawn yet
        waiting = OASISClassifier().partial_fit(X, Y, [0, 1])
        waiting.set_params(**{parameter: value})
        with pytest.raises(ValueError, match=f"'{parameter}' parameter"):
            waiting.partial_fit(np.tile(X, (4, 1)), np.tile(Y, 4))
        assert waiting.n_rows_seen_ == len(X)
        # later calls do not look at it
        begun = OASISClassifier(n_particles=9).fit(X, Y)
        begun.set_params(**{parameter: value, "missing_label": None})
        assert begun.partial_fit(X, Y).n_rows_seen_ == 2 * len(X)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (np.where(X > 2, np.nan, X), "NaN"),
        (np.where(X > 1, np.inf, X), "infinity"),
        (csr_array(X), "[Ss]parse"),
        (pd.DataFrame({"a": ["x"] * 30}), r"columns of categories: \['a'\]"),
        (pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(Y)}), r"\['b'\]. Encode"),
        (pd.DataFrame({"b": pd.array(["x"] * 30, "string")}), r"\['b'\]. Encode"),
        (pa.table({"a": X[:, 0], "b": ["x"] * 30}), r"\['b'\]. Encode"),
        (np.full((30, 2), "x"), "could not convert string"),
        (X[0], "2D array"),
        (X[:, :0], "0 feature"),
    ],
)
def test_tables(table, words):
    model = OASISClassifier()
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(table, Y)
    with pytest.raises((ValueError, TypeError), match=words):
        model.partial_fit(table, Y, classes=[0, 1])
    assert vars(model) == vars(OASISClassifier())


def test_objects_that_are_numbers_are_numbers():
    frame = pd.DataFrame(X).astype(object)
    frame.columns = list("abcdef")[: X.shape[1]]
    model = OASISClassifier(random_state=0).fit(frame, Y)
    same = OASISClassifier(random_state=0).fit(X, Y)
    assert (model.particles_ == same.particles_).all()
    frame["a"] = "x"
    with pytest.raises(ValueError, match=r"columns of categories: \['a'\]"):
        model.predict(frame)


def test_columns_of_another_table():
    names = list("abc")
    model = OASISClassifier().fit(pd.DataFrame(X, columns=names), Y)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(pd.DataFrame(X, columns=names[::-1]), Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=["a", "b", "d"]))
    with pytest.raises(ValueError, match="2 features"):
        OASISClassifier().fit(X, Y).partial_fit(X[:, :2], Y)


def test_no_label_at_all():
    with pytest.raises(ValueError, match="y has no label"):
        OASISClassifier().fit(X, [None] * 30)
    with pytest.raises(ValueError, match="y has no label"):
        OASISClassifier(missing_label=-1).fit(X, [-1] * 30)
    with pytest.raises(ValueError, match="classes must be given"):
        OASISClassifier().partial_fit(X, [None] * 30)
    # with classes it is an unlabeled run
    OASISClassifier().partial_fit(X, [None] * 30, classes=[0, 1])
    with pytest.raises(ValueError, match="target y is None"):
        OASISClassifier().fit(X, None)


def test_missing_label_that_is_a_class():
    model = OASISClassifier(missing_label=-1)
    with pytest.raises(ValueError, match="missing_label=-1"):
        model.partial_fit(X, Y, classes=[-1, 1])
    with pytest.raises(ValueError, match="which mark missing labels"):
        OASISClassifier().partial_fit(X, Y, classes=[0, None])
    # by default -1 is a label like others
    ordinary = OASISClassifier().partial_fit(X, 2 * Y - 1, classes=[-1, 1])
    assert (ordinary.classes_ == [-1, 1]).all()


@pytest.mark.parametrize("y", [[2] * 30, ["a"] * 30, [0.5] * 30])
def test_labels_that_are_no_class(y):
    model = OASISClassifier().fit(X, Y)
    with pytest.raises(ValueError, match=r"y contains|y must contain|Unknown label"):
        model.partial_fit(X, y)


def test_other_classes_later():
    model = OASISClassifier().partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="differs from the classes"):
        model.partial_fit(X, Y, classes=[0, 1, 2])
    model.partial_fit(X, Y, classes=[1, 0])


@pytest.mark.parametrize("weight", [[-1.0] * 30, [np.nan] * 30, [1.0] * 29, ["x"] * 30])
def test_weights(weight):
    with pytest.raises(ValueError):  # noqa: PT011 (scikit-learn's texts)
        OASISClassifier().partial_fit(X, Y, [0, 1], weight)


def test_weights_may_all_be_zero():
    model = OASISClassifier().partial_fit(X, Y, [0, 1], np.zeros(30))
    assert model.n_rows_seen_ == 0


@pytest.mark.parametrize("score", ["margin", None, 3, ["uc"]])
def test_scores_that_do_not_exist(score):
    with pytest.raises(ValueError, match="'score' parameter of query_score"):
        OASISClassifier().fit(X, Y).query_score(X, score)


# -- labels some of which are missing ---------------------------------------------


@pytest.mark.parametrize(
    ("y", "marker", "labels", "known"),
    [
        ([0, None, 1], None, [0, 1], [1, 0, 1]),
        ([0.0, np.nan, 1.0], None, [0, 1], [1, 0, 1]),
        ([-1, 0, 1], None, [-1, 0, 1], [1, 1, 1]),
        ([-1, 0, 1], -1, [0, 1], [0, 1, 1]),
        ([-1, 0, None, 1], -1, [0, 1], [0, 1, 0, 1]),
        ([-1.0, 0.0, np.nan], -1, [0], [0, 1, 0]),
        (np.array(["a", None, "b"], dtype=object), None, ["a", "b"], [1, 0, 1]),
        (["a", "?", "b"], "?", ["a", "b"], [1, 0, 1]),
        (["a", "-1"], -1, ["a", "-1"], [1, 1]),
        (pd.Series([1, None, 2], dtype="Int64"), None, [1, 2], [1, 0, 1]),
        (pd.Series([1, 2], dtype="Int64"), None, [1, 2], [1, 1]),
        (pd.Series(["x", None], dtype="string"), None, ["x"], [1, 0]),
        (pd.Series(["x", None, "y"], dtype="category"), None, ["x", "y"], [1, 0, 1]),
        ([True, None, False], None, [True, False], [1, 0, 1]),
        ([None, None], None, [], [0, 0]),
        (["a", None, np.nan, "b"], None, ["a", "b"], [1, 0, 0, 1]),
        (["a", np.nan], None, ["a"], [1, 0]),
        ([2**53 + 1, np.nan], None, [2**53 + 1], [1, 0]),
        ([0, pd.NA, 1], None, [0, 1], [1, 0, 1]),
        ([0, pd.NaT, 1], None, [0, 1], [1, 0, 1]),
        ([0, 1], pd.NA, [0, 1], [1, 1]),
        (np.array([0, 1]), pd.NA, [0, 1], [1, 1]),
    ],
)
def test_labels_are_split(y, marker, labels, known):
    found, where = split_labels(y, marker)
    assert found.tolist() == labels
    assert where.tolist() == [bool(one) for one in known]


@pytest.mark.parametrize("y", [["a", 1, None], [[0], [1, 2]], [0.5, 1.5], [{}, {}]])
def test_what_is_no_label(y):
    with pytest.raises((ValueError, TypeError)):
        split_labels(np.array(y, dtype=object) if y[-1] is None else y)
