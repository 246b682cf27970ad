"""The state of a model is arrays and plain values: files of other kinds can hold it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    NCMTreeClassifier,
    OASISClassifier,
)
from skconftree.bounds import BaseBound
from skconftree.drift import DDM, BaseDetector
from skconftree.tree import BasePruning

X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=list("abcd"))
FRAME["k"] = pd.Categorical(np.where(X[:, 0] > 5.5, "u", "v"))
CLASSES = [0, 1, 2]


def grown(model):
    return model.partial_fit(X, Y, CLASSES)


def detector():
    found = DDM(min_samples=10)
    found.update_many(np.arange(200) % 7 == 0)
    return found


MODELS = {
    "tree": lambda: ConfidenceTreeClassifier().fit(FRAME, Y),
    "honest tree": lambda: ConfidenceTreeClassifier(honest_share=0.3).fit(X, Y),
    "growing tree": lambda: grown(ConfidenceTreeClassifier(leaf_memory="rows")),
    "watched tree": lambda: grown(ConfidenceTreeClassifier(drift=detector())),
    "forest": lambda: ConfidenceForestClassifier(4, random_state=0).fit(FRAME, Y),
    "growing forest": lambda: grown(ConfidenceForestClassifier(4, random_state=0)),
    "NCM tree": lambda: NCMTreeClassifier(random_state=0, update="rrn").fit(X, Y),
    "NCM forest": lambda: NCMForestClassifier(4, random_state=0).fit(X, Y),
    "OASIS": lambda: OASISClassifier(random_state=0).fit(X, Y),
    "waiting OASIS": lambda: OASISClassifier().partial_fit(X[:9], Y[:9], CLASSES),
}
PLAIN = str | bytes | bool | int | float | np.generic | None


def others(value):
    """What is neither an array, nor a plain value, nor a container of these."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        return [one for part in value for one in others(part)]
    if isinstance(value, np.ndarray):
        return [] if value.dtype.kind != "O" else others(value.tolist())
    return [] if isinstance(value, PLAIN) else [value]


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_the_only_objects_in_a_state(name):
    found = others(MODELS[name]().__getstate__())
    kinds = BaseBound | BaseDetector | BasePruning
    assert [one for one in found if not isinstance(one, kinds)] == []


@pytest.mark.parametrize("name", MODELS)
def test_a_file_of_skops_holds_the_same_model(name):
    io = pytest.importorskip("skops.io")
    model = MODELS[name]()
    data = io.dumps(model)
    trusted = io.get_untrusted_types(data=data)
    assert all(one.startswith("skconftree.") for one in trusted)
    loaded = io.loads(data, trusted=trusted)
    assert pickle.dumps(loaded) == pickle.dumps(model)
    if name != "honest tree":  # which warns that what was kept back is discarded
        rows = FRAME if "k" in getattr(model, "feature_names_in_", ()) else X
        for one in (model, loaded):
            one.partial_fit(rows, Y)
        assert pickle.dumps(loaded) == pickle.dumps(model)
