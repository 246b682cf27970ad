"""``save_model(..., compact=True)``: the same predictions, and nothing else.

A reader of a compact file must neither get other probabilities nor zeros as counts.
"""

import copy
import os
import pickle
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from contracts.test_state import damaged, damages, some
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from skconftree import (
    BinaryTests,
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMTreeClassifier,
    OASISClassifier,
    load_model,
    save_model,
)
from skconftree.inspection import ConfidenceTreeDisplay, audit_splits, shap_values
from skconftree.tree import (
    distill,
    export_html,
    export_onnx,
    export_rules,
    export_text,
    node_table,
)
from skconftree.tree.nodes._compact import ARRAYS

X, Y = load_iris(return_X_y=True)
X[::7, 1] = np.nan
RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(X, columns=list("abcd"))
FRAME["k"] = pd.Categorical(RANDOM.choice(list("uvw"), len(X)))
NOISY = np.where(RANDOM.random(len(X)) < 0.2, RANDOM.integers(3, size=len(X)), Y)
NEW = FRAME.copy()  # with an unknown category
NEW["k"] = pd.Categorical(np.where(RANDOM.random(len(X)) < 0.3, "x", FRAME["k"]))


def forest(**settings):
    return ConfidenceForestClassifier(5, random_state=0, **settings)


def majority(**settings):
    return ConfidenceTreeClassifier(leaf_prediction="majority", **settings)


MODELS = {
    "tree": lambda: ConfidenceTreeClassifier(max_depth=4).fit(FRAME, NOISY),
    "CART": lambda: ConfidenceTreeClassifier(None).fit(FRAME, NOISY),
    "multiway": lambda: ConfidenceTreeClassifier(
        None, nominal_splits="multiway", class_weight="balanced"
    ).fit(FRAME, NOISY),
    "root": lambda: ConfidenceTreeClassifier().fit(FRAME[["b"]], NOISY % 2),
    "monotone": lambda: ConfidenceTreeClassifier(monotonic_cst={"a": 1, "d": -1}).fit(
        FRAME, NOISY > 0
    ),
    "honest": lambda: (
        ConfidenceTreeClassifier()
        .fit(FRAME[::2], NOISY[::2])
        .recount_leaves(FRAME[1::2], NOISY[1::2])
    ),
    "growing": lambda: majority().partial_fit(FRAME, NOISY, [0, 1, 2]),
    "drifting": lambda: majority(drift="local").partial_fit(
        pd.concat([FRAME] * 8), np.concatenate([NOISY] * 4 + [2 - NOISY] * 4), [0, 1, 2]
    ),
    "distilled": lambda: distill(forest().fit(X, Y), X),
    "forest": lambda: forest().fit(FRAME, NOISY),
    "forest, out of bag": lambda: ConfidenceForestClassifier(
        30, oob_score=True, bound=["gtest", None], random_state=0
    ).fit(FRAME, NOISY),
}
_made = {}


def made(name):
    if name not in _made:
        _made[name] = MODELS[name]()
    return _made[name]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model"


def compact(model, path):
    save_model(model, path, compact=True)
    return load_model(path)


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_equal_to_the_bit(name, path):
    model = made(name)
    other = compact(model, path)
    names = list(getattr(model, "feature_names_in_", ()))
    rows = [FRAME[names], NEW[names]] if names else [X]
    for one in (other, copy.copy(other), pickle.loads(pickle.dumps(other))):
        for table in rows:
            for call in ("predict", "predict_proba", "predict_log_proba", "apply"):
                wanted, found = getattr(model, call)(table), getattr(one, call)(table)
                assert np.array_equal(wanted, found), call
        assert (one.classes_ == model.classes_).all()
        assert one.n_rows_seen_ == model.n_rows_seen_
        assert one.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("name", ["tree", "forest"])
def test_paths_and_structure_are_equal(name, path):
    model = made(name)
    other = compact(model, path)
    found, wanted = other.decision_path(FRAME), model.decision_path(FRAME)
    if name == "forest":
        assert np.array_equal(found[1], wanted[1])
        found, wanted = found[0], wanted[0]
        model, other = model[1], other[1]
        assert np.array_equal(other.predict_proba(FRAME), model.predict_proba(FRAME))
    assert (found != wanted).nnz == 0
    for part in ("feature", "threshold", "children_left", "parent", "value", "proba"):
        ours, theirs = getattr(other.tree_, part), getattr(model.tree_, part)
        assert np.array_equal(ours, theirs, equal_nan=True), part


@pytest.mark.parametrize("name", ["tree", "forest"])
def test_onnx_is_the_same(name, path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    models = made(name), compact(made(name), path)
    own, other = (export_onnx(model).SerializeToString() for model in models)
    assert own == other


NEEDS_COUNTS = {
    "partial_fit": lambda tree: tree.partial_fit(FRAME, NOISY),
    "explain": lambda tree: tree.explain(FRAME[:1]),
    "explain_text": lambda tree: tree.explain_text(FRAME[:1]),
    "summary": lambda tree: tree.summary(),
    "to_sklearn": lambda tree: tree.to_sklearn(),
    "leaf_counts": lambda tree: tree.leaf_counts(),
    "importances": lambda tree: tree.feature_importances_,
    "interval": lambda tree: tree.predict_proba_interval(FRAME),
    "counts": lambda tree: tree.tree_.counts,
    "impurity": lambda tree: tree.tree_.impurity,
    "evidence": lambda tree: tree.tree_.evidence,
    "n_node_samples": lambda tree: tree.tree_.n_node_samples,
    "weights": lambda tree: tree.tree_.weighted_n_node_samples,
    "raw_proba": lambda tree: tree.tree_.raw_proba,
    "competitors": lambda tree: tree.tree_.competitors,
    "leaf_reason": lambda tree: tree.tree_.leaf_reason,
    "text": export_text,
    "html": export_html,
    "rules": lambda tree: export_rules(tree, "list"),
    "json": lambda tree: export_rules(tree, "json"),
    "sql": lambda tree: export_rules(tree, "sql"),
    "nodes": node_table,
    "svg": lambda tree: ConfidenceTreeDisplay.from_estimator(tree).to_svg(),
    "audit": lambda tree: audit_splits(tree, NEW, NOISY),
    "SHAP": lambda tree: shap_values(tree, FRAME[:2]),
}
DROPPED = r"saved with compact=True.* Use the model itself"


@pytest.mark.parametrize("what", NEEDS_COUNTS)
def test_what_needs_counts_or_evidence_is_an_error(what, path):
    other = compact(made("tree"), path)
    before = pickle.dumps(other)
    with pytest.raises(ValueError, match=DROPPED):
        NEEDS_COUNTS[what](other)
    assert pickle.dumps(other) == before


@pytest.mark.parametrize("name", ["tree", "forest"])
def test_a_notebook_shows_the_parameters_alone(name, path):
    other = compact(made(name), path)
    for page in (other._repr_html_(), other._repr_mimebundle_()["text/html"]):
        assert "sk-top-container" in page
        assert page.endswith("</body>")


def test_the_error_is_one_of_attributes(path):
    """As NotFittedError: `hasattr` is False, and a learner uses the probabilities."""
    tree = compact(made("tree"), path).tree_
    assert not hasattr(tree, "counts")
    assert issubclass(NotFittedError, AttributeError)
    with pytest.raises(AttributeError, match="'CompactTree' object has no attribute"):
        _ = tree.count


@pytest.mark.filterwarnings("ignore:Some splits send missing values")
def test_a_compact_forest_does_not_learn(path):
    other = compact(made("forest"), path)
    for call in (
        lambda: other.partial_fit(FRAME, NOISY),
        lambda: other.partial_fit(FRAME, NOISY + 1, new_classes="add"),
        lambda: other.set_params(warm_start=True, n_estimators=9).fit(FRAME, NOISY),
        lambda: other.feature_importances_,
        lambda: other.to_sklearn(),
        lambda: other[0].explain(FRAME[:1]),
        lambda: other.predict_proba_interval(FRAME),
        lambda: other.summary(),
        lambda: other.oob_score_,
        lambda: other.estimators_samples_,
    ):
        with pytest.raises(ValueError, match=DROPPED):
            call()
    other.to_tree(FRAME)  # needs predictions alone
    for name in ("oob_score_", "estimators_samples_"):
        assert not hasattr(other, name)
    other.set_params(warm_start=False, n_estimators=5).fit(FRAME, NOISY)
    assert pickle.dumps(other) == pickle.dumps(
        clone(other).fit(FRAME, NOISY)
    )  # a model as any other


def test_what_cannot_be_compact(path):
    grown = ConfidenceTreeClassifier().partial_fit(X, Y, [0, 1, 2])
    trained = forest().partial_fit(X, Y, [0, 1, 2])
    for model, error, words in (
        (grown, ValueError, r"naive Bayes.*compact=False"),
        (trained, ValueError, r"forests grown by fit.*compact=False"),
        (NCMTreeClassifier().fit(X[:, :1], Y), TypeError, "Got NCMTreeClassifier"),
        (OASISClassifier().fit(X[:, :1], Y), TypeError, "Got OASISClassifier"),
        (BinaryTests().fit(X), TypeError, "Got BinaryTests"),
        (ConfidenceTreeClassifier(), NotFittedError, "not fitted"),
    ):
        with pytest.raises(error, match=words):
            save_model(model, path, compact=True)
        assert not path.exists()


@pytest.mark.parametrize("name", MODELS)
def test_the_file_is_smaller_and_is_written_again_with_the_same_bytes(name, path):
    model = made(name)
    other = compact(model, path)
    data = path.read_bytes()
    save_model(model, path)
    assert len(data) < os.path.getsize(path)
    for again in (False, True):
        save_model(other, path, compact=again)
        assert path.read_bytes() == data


def test_a_corrupt_state_is_an_error(path):
    other = compact(made("tree"), path)
    state = other.__getstate__()
    arguments, arrays = state["_model"]["tree"]
    assert len(arrays) == 1 + len(ARRAYS)
    nodes = 1 + ARRAYS.index("nodes")
    values = 1 + ARRAYS.index("values")
    negative = np.frombuffer(arrays[values]).copy()
    negative[0] = -0.5
    for place, part in (
        (slice(1, 2), ()),
        (slice(0, 1), (0,)),
        (slice(1, 2), (b"",)),
        (slice(1, 2), ("text",)),
        (slice(nodes, nodes + 1), (arrays[nodes][:-1],)),
        (slice(nodes, nodes + 1), (arrays[nodes][:-16],)),
        (slice(values, values + 1), (arrays[values][:-24],)),
        (slice(values, values + 1), (negative.tobytes(),)),
    ):
        damaged = (*arrays[: place.start], *part, *arrays[place.stop :])
        model = state["_model"] | {"tree": (arguments, damaged)}
        with pytest.raises(ValueError, match=r"corrupt|release"):
            ConfidenceTreeClassifier().__setstate__(state | {"_model": model})
    for model in (
        state["_model"] | {"compact": False},
        made("tree").__getstate__()["_model"] | {"compact": True},
        made("growing").__getstate__()["_model"] | {"compact": True},
    ):
        with pytest.raises(ValueError, match="corrupt"):
            ConfidenceTreeClassifier().__setstate__(state | {"_model": model})


@some
@given(damage=damages(), which=st.integers(1, len(ARRAYS)))
def test_damaged_arrays_crash_nothing(damage, which):
    state = made("multiway")._compact_state()
    arguments, arrays = state["_model"]["tree"]
    arrays = (*arrays[:which], damaged(arrays[which], damage), *arrays[which + 1 :])
    model = state["_model"] | {"tree": (arguments, arrays)}
    other = ConfidenceTreeClassifier()
    with suppress(ValueError):
        other.__setstate__(state | {"_model": model})
        for rows in (FRAME, NEW):
            assert np.isfinite(other.predict_proba(rows)).all()
