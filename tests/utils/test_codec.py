"""Values that JSON holds come back as they were, and nothing else comes of a file."""

import importlib
import json
import pkgutil
import sys
from enum import StrEnum

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import skconftree
from skconftree import ConfidenceTreeClassifier
from skconftree.active import ActiveLearner, LeafRiskSampling
from skconftree.bounds import CredibleBound
from skconftree.utils._codec import (
    PACKAGES,
    CannotBeRestored,
    StateError,
    _path_of,
    class_of,
    from_json,
    is_count,
    is_missing,
    to_json,
    with_default_parameters,
)


class Mine(BaseEstimator):
    """An estimator of somebody else."""

    def __init__(self, path=None):
        self.path = path


class Color(StrEnum):
    """A string of a class of its own."""

    RED = "red"


def through_json(value, **options):
    return from_json(json.loads(json.dumps(to_json(value, **options))))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        0.1,
        float("inf"),
        "a",
        [1, "1", (2.5, None)],
        {"a": 1, 2: [3], (1, "b"): ()},
        np.float32,
        KernelRidge(alpha=2),
        ActiveLearner(
            make_pipeline(
                ColumnTransformer([("text", TfidfVectorizer(ngram_range=(1, 2)), 0)]),
                ConfidenceTreeClassifier(bound=CredibleBound(delta=0.2)),
            ),
            strategy=LeafRiskSampling(gap=False),
            classes=["ham", "spam"],
        ),
    ],
    ids=repr,
)
def test_values_come_back(value):
    for names in (False, True):
        again = through_json(value, names=names)
        assert type(again) is type(value)
        assert repr(again) == repr(value)
        assert to_json(again) == to_json(value)


def test_arrays_become_lists_or_stay_separate():
    values = [np.array(["a", "b"]), np.arange(3), np.array([[1, None], ["a", 2.5]])]
    for value in values:
        for arrays in (None, []):
            written = json.loads(json.dumps(to_json(value, arrays)))
            again = from_json(written, arrays or ())
            assert again.tolist() == value.tolist()
            assert again.dtype.kind == value.dtype.kind
    arrays = []
    written = to_json([np.float32(0.1), b"ab", np.int8(3)], arrays)
    number, data, small = from_json(json.loads(json.dumps(written)), arrays)
    assert (type(number), data, type(small)) == (np.float32, b"ab", np.int8)
    assert to_json(np.float32(0.5)) == 0.5
    with pytest.raises(ValueError, match="an array is missing"):
        from_json(written, arrays[:1])


@pytest.mark.parametrize(
    "value",
    [
        np.mean,
        len,
        np.random.default_rng(0),
        object(),
        Mine("x"),
        b"bytes without arrays",
        np.datetime64("2026-01-01"),
        np.array(["2026-01-01"], dtype="datetime64[D]"),
        type("CredibleBound", (CredibleBound,), {})(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_restored_is_refused_or_named(value):
    with pytest.raises(TypeError, match="cannot be stored as plain values"):
        to_json(value)
    written = json.loads(json.dumps(to_json(value, names=True)))
    with pytest.raises(CannotBeRestored, match="cannot be restored from its name"):
        from_json(written)


def test_what_would_lose_something_is_refused_or_compared():
    for value in (GaussianNB().fit([[0.0], [1.0]], [0, 1]), Color.RED):
        with pytest.raises(TypeError, match="cannot be stored as plain values"):
            to_json(value)
    assert through_json(Color.RED, names=True) == "red"
    fitted = GaussianNB(var_smoothing=0.5).fit([[0.0], [1.0]], [0, 1])
    assert repr(through_json(fitted, names=True)) == "GaussianNB(var_smoothing=0.5)"


@pytest.mark.parametrize(
    "path",
    [
        "os.system",
        "subprocess.Popen",
        "skconftree._cli.__main__.X",
        "skconftree._cli.X",
        "sklearn.conftest.X",
        "sklearn.utils.Bunch",
        "sklearn.utils._testing.MinimalClassifier",
        "sklearn.tree._classes.DecisionTreeClassifier",
        "sklearn.base.BaseEstimator",
        "sklearn.dummy.ClassifierMixin",
        "sklearn.naive_bayes.np",
        "sklearn.pipeline.make_pipeline",
        "sklearn.clone",
        "sklearn",
        "skconftree",
        "",
        "." * 9,
        3,
        None,
    ],
    ids=repr,
)
def test_other_classes_are_neither_imported_nor_made(path, monkeypatch):
    for name in ("skconftree._cli", "skconftree._cli.__main__", "sklearn.conftest"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    before = set(sys.modules)
    with pytest.raises(CannotBeRestored):
        from_json({"class": path, "with": {}})
    new = set(sys.modules) - before
    assert not [one for one in new if "._" in one or "conftest" in one]


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"tuple": 3},
        {"dict": [1]},
        {"float": None},
        {"array": -1},
        {"array": True},
        {"cells": [1, 2], "shape": [3]},
        {"cells": [1, 2], "shape": [-1]},
        {"class": "sklearn.naive_bayes.GaussianNB"},
        {"class": "sklearn.naive_bayes.GaussianNB", "with": [1]},
        {"class": "sklearn.naive_bayes.GaussianNB", "with": {"more": 1}},
        {"class": "sklearn.naive_bayes.GaussianNB", "with": {}, "more": 1},
        {"with": {}, "class": "sklearn.naive_bayes.GaussianNB"},
        {"dict": [[[], 1]]},
        {"unknown": 1},
        b"",
    ],
    ids=repr,
)
def test_damage_is_an_error(written):
    with pytest.raises((ValueError, TypeError)):
        from_json(written)


@pytest.mark.parametrize("kind", ["bytes", "scalar"])
def test_an_array_of_another_kind_is_damage(kind):
    with pytest.raises(ValueError, match="an array (does not|must) contain"):
        from_json({kind: 0}, [np.zeros((2, 2))])


@pytest.mark.parametrize("state", [None, [1]])
def test_a_state_that_is_no_dict_is_damage(state):
    with pytest.raises(StateError, match="it must be a dict"):
        CredibleBound().__setstate__(state)


def test_parameters_that_came_later_have_their_defaults():
    written = to_json(CredibleBound(delta=0.2))
    del written["with"]["pool_weight"]
    again = from_json(written)
    assert repr(again) == repr(CredibleBound(delta=0.2))
    assert with_default_parameters([written]) == [to_json(again)]
    written["with"]["from_the_future"] = 1
    for read in (from_json, with_default_parameters):
        with pytest.raises(
            ValueError, match="CredibleBound has no setting 'from_the_fut"
        ):
            read(written)


def test_every_public_estimator_can_be_restored():
    """Also one of a package that is new and not yet in `PACKAGES`."""
    packages = [one.name for one in pkgutil.iter_modules(skconftree.__path__)]
    found = 0
    for name in ["active.pool", "active.stream", *packages]:
        if not name.startswith("_") and name != "utils":
            module = importlib.import_module(f"skconftree.{name}")
            for one in getattr(module, "__all__", ()):
                kind = getattr(module, one)
                bases = ("SamplingStrategy", "StoppingRule")
                if one in bases or not isinstance(kind, type):
                    continue
                if issubclass(kind, BaseEstimator):
                    path = _path_of(kind)
                    assert class_of(path) is kind
                    assert path.rpartition(".")[0] in PACKAGES
                    found += 1
    assert found > 50


@pytest.mark.parametrize(
    "value", [None, np.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]
)
def test_values_that_are_missing(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", ["", "nan", 0, False, np.inf, pd.Timestamp(0), (1,)])
def test_values_that_are_not_missing(value):
    assert not is_missing(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, True), (np.int8(3), True), (-1, False), (True, False), (1.0, False)],
)
def test_counts(value, expected):
    assert is_count(value) is expected
