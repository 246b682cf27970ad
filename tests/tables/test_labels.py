"""Labels that differ are different classes, also those that floats cannot tell apart.

Identifiers of 64 bits are labels as any others; two of them that become one class are a
model that is wrong in silence.
"""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    NCMTreeClassifier,
    OASISClassifier,
)
from skconftree.active import (
    ActiveLearner,
    ArrayOracle,
    LearningToSampleClassifier,
    NoisyOracle,
    StreamActiveLearner,
)
from skconftree.evaluation import PrequentialEvaluator, prequential_score
from skconftree.tables._labels import class_indices

FIRST, SECOND = 2**53, 2**53 + 1
LARGE = 2**63
X = (np.arange(80) % 2)[:, None] * 1.0
PAIRS = {
    "list": lambda pair: pair * 40,
    "array": lambda pair: np.array(pair * 40),
    "pandas": lambda pair: pd.Series(pair * 40),
    "pandas nullable": lambda pair: pd.Series(pair * 40).convert_dtypes(),
    "pandas array": lambda pair: pd.Series(pair * 40).convert_dtypes().array,
    "polars": lambda pair: pl.Series(pair * 40),
}


@pytest.mark.parametrize("pair", [[FIRST, SECOND], [LARGE, LARGE + 1]])
@pytest.mark.parametrize("kind", PAIRS)
def test_neighbors_are_two_classes(kind, pair):
    y = PAIRS[kind](pair)
    for model in (
        ConfidenceTreeClassifier().fit(X, y),
        ConfidenceTreeClassifier().partial_fit(X, y, classes=y),
    ):
        assert model.classes_.tolist() == pair
        assert model.predict(X).tolist() == list(pair * 40)
    assert prequential_score(ConfidenceTreeClassifier(), X, y) > 0.9


def test_pyarrow_columns_of_pandas_are_read_exactly():
    y = pd.Series([FIRST, SECOND] * 40, dtype="int64[pyarrow]")
    assert ConfidenceTreeClassifier().fit(X, y).classes_.tolist() == [FIRST, SECOND]


@pytest.fixture
def model():
    classes = [-1, FIRST, SECOND]
    return ConfidenceTreeClassifier().partial_fit(X, classes[1:] * 40, classes=classes)


def test_another_type_of_integers_is_compared_exactly(model):
    for y in (np.array([SECOND] * 80, dtype=np.uint64), [SECOND] * 80):
        before = model.tree_.counts[0].copy()
        model.partial_fit(X, y)
        assert (model.tree_.counts[0] - before)[2] == 80 or model.get_n_leaves() > 1
    wrapped = ConfidenceTreeClassifier().partial_fit(
        X, np.array([0, 1] * 40, dtype=np.int8), classes=np.array([0, 1], np.int8)
    )
    for y in (256, 2**32 + 1, -256):
        with pytest.raises(ValueError, match="labels that were not among"):
            wrapped.partial_fit(X, [0, y] * 40)
    assert wrapped.partial_fit(X, [0, 1] * 40).n_rows_seen_ == 160


@pytest.mark.parametrize(
    "y",
    [
        np.full(80, float(FIRST)),
        np.full(80, -1.5),
        np.full(80, 1e300),
        np.full(80, FIRST + 2, dtype=np.uint64),
        np.full(80, 2**64 - 1, dtype=np.uint64),  # -1 as a signed one
    ],
)
def test_ambiguous_labels_are_rejected(model, y):
    before = model.tree_.counts.copy()
    with pytest.raises(ValueError, match=r"that were not among .*new_classes='add'"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.tree_.counts, before)
    assert model.n_rows_seen_ == 80


@pytest.mark.parametrize(("missing", "name"), [(None, "None"), (np.nan, "NaN")])
def test_labels_that_are_not_known_are_those_of_y(model, missing, name):
    y = np.array([0, 1] * 40, dtype=object)
    y[3] = missing
    with pytest.raises(ValueError, match=f"Input y contains {name}"):
        model.partial_fit(X, y)
    assert model.n_rows_seen_ == 80


def test_small_integers_can_be_floats(model):
    assert model.partial_fit(X, np.full(80, -1.0)).n_rows_seen_ == 160


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([10**20, 10**20 + 1] * 40, "y has 100000000000000000000, which does not"),
        ([-1, 2**63] * 40, "y has 9223372036854775808, which does not"),
        ([10**5000, 1] * 40, "y has a number of many digits, which does not"),
    ],
)
def test_labels_that_are_too_long_are_named(y, words):
    with pytest.raises(ValueError, match=words):
        ConfidenceTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match=f"classes{words[1:]}"):
        ConfidenceTreeClassifier().partial_fit(X, y, classes=y[:2])


def test_complex_labels_are_refused():
    with pytest.raises(ValueError, match="Complex data not supported"):
        ConfidenceTreeClassifier().fit(X, np.array([1j, 2.0] * 40))


def test_floats_that_may_be_several_labels_are_warned_of():
    y = np.array([1.0, float(SECOND)] * 40)
    with pytest.warns(UserWarning, match=r"floats up to 9007199254740992") as caught:
        ConfidenceTreeClassifier().fit(X, y)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"floats up to 9007199254740992") as caught:
        ConfidenceTreeClassifier().partial_fit(X, y, classes=[1.0, float(FIRST)])
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="classes has numbers that are equal"):
        ConfidenceTreeClassifier().partial_fit(X, y, classes=[1.0, FIRST, SECOND])


@pytest.mark.parametrize("n", [1, 500])
def test_object_labels_are_compared_by_type(n):
    classes = np.array(["no", "yes"])
    y = np.array(["yes", "no"], dtype=object).repeat(n)
    np.testing.assert_array_equal(class_indices(classes, y), (y == "yes").astype(int))
    numbers = np.array([1, 2.0, True], dtype=object).repeat(n)
    found = class_indices(np.array([0, 1, 2]), numbers)
    np.testing.assert_array_equal(found, np.repeat([1, 2, 1], n))
    for stranger in (None, np.nan, 1, "maybe"):
        y[-1] = stranger
        shown = re.escape(f"[{stranger!r}]. The classes are ['no', 'yes']")
        with pytest.raises(ValueError, match=rf"not among .*: {shown}"):
            class_indices(classes, y)
    y[-1] = {"no"}
    with pytest.raises(ValueError, match="y must contain only labels out of"):
        class_indices(classes, y)


# -- NUL characters, which arrays of strings leave out at the end -------------------

NUL_CLASSES = ["a", "a\0", "b"]
NUL_LABELS = [NUL_CLASSES[k] for k in np.arange(90) % 3]
NUL_KINDS = {
    "list": list,
    "objects": lambda y: np.array(y, dtype=object),
    "pandas": lambda y: pd.Series(y, dtype=object),
    "pandas strings": lambda y: pd.Series(y, dtype="string"),
    "polars": pl.Series,
}
TREE = ConfidenceTreeClassifier(bound=None)
LEARNERS = [
    TREE,
    ConfidenceForestClassifier(2),
    NCMTreeClassifier(),
    NCMForestClassifier(2),
    OASISClassifier(n_particles=5),
    LearningToSampleClassifier(60),
    ActiveLearner(TREE),
    StreamActiveLearner(TREE),
]


@pytest.mark.parametrize("kind", NUL_KINDS)
@pytest.mark.parametrize("model", LEARNERS, ids=lambda model: type(model).__name__)
def test_labels_that_end_in_nul_are_refused(model, kind):
    """By all alike, as some could not keep them from others."""
    rows = np.random.default_rng(0).normal(size=(90, 2))
    y = NUL_KINDS[kind](NUL_LABELS)
    calls = [clone(model).fit]
    if hasattr(model, "partial_fit"):
        calls.append(lambda X, y: clone(model).partial_fit(X, y, classes=y))
    if isinstance(model, StreamActiveLearner):
        calls.append(clone(model).teach)
    for call in calls:
        with pytest.raises(ValueError, match=r"'a\\x00' ends in a NUL character"):
            call(rows, y)


@pytest.mark.parametrize("kind", NUL_KINDS)
def test_an_evaluator_refuses_them_too(kind):
    y = NUL_KINDS[kind](NUL_LABELS)
    with pytest.raises(ValueError, match=r"'a\\x00' ends in a NUL character"):
        PrequentialEvaluator(TREE, classes=y).update(np.zeros((90, 1)), y)


def test_a_later_label_that_ends_in_nul():
    rows, known = np.zeros((4, 1)), ["a", "b", "a", "b"]
    for kind in (list, NUL_KINDS["objects"]):
        late = kind(["a", "b", "a\0", "b"])
        for model in (TREE, NCMTreeClassifier(), OASISClassifier(n_particles=5)):
            grown = clone(model).partial_fit(rows, known, classes=["a", "b"])
            with pytest.raises(ValueError, match=r"a\\x00'"):
                grown.partial_fit(rows, late)
        learner = ActiveLearner(TREE).fit(rows)
        with pytest.raises(ValueError, match=r"'a\\x00' ends in a NUL character"):
            learner.teach([0, 1, 2, 3], late)


@pytest.mark.parametrize("oracle", [ArrayOracle, lambda y: NoisyOracle(y, 0.1)])
def test_oracles_do_not_merge_labels_either(oracle):
    with pytest.raises(ValueError, match=r"'a\\x00' ends in a NUL character"):
        oracle(["a", "a\0"])(None, [0, 1])
