"""Whole numbers have no end, machine numbers have: a limit, or an error that says so.

Where a number is a limit, one that is larger than anything there is leaves all as
without it; elsewhere the error says what is too large, and for what.
"""

import contextlib
import inspect

import numpy as np
import pandas as pd
import pytest
from reference.registries import STREAM_BOUNDS

from skconftree import ConfidenceTreeClassifier, datasets
from skconftree.drift import DDM
from skconftree.evaluation import prequential_score
from skconftree.tree import export_text

X = np.random.default_rng(0).normal(size=(300, 3))
Y = (X[:, 0] > 0).astype(int)
LARGE = [2**31, 2**63, 2**64, 10**30, 10**400]
TOO_LARGE = 10**400


@contextlib.contextmanager
def fine_unless_too_large(value, *names):
    """An error is one that names the parameter, and comes where no float is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if not any(name in str(error) for name in names):
            raise
    else:
        assert value != TOO_LARGE


def grown(**parameters):
    """Trees from a table, row by row, and of both."""
    make = lambda **more: ConfidenceTreeClassifier(  # noqa: E731
        refit_rows=0, **parameters, **more
    )
    yield make().fit(X, Y)
    yield make().partial_fit(X, Y, classes=[0, 1])
    if "leaf_memory" not in parameters:
        yield make(leaf_memory="rows").fit(X, Y).partial_fit(X, Y)


@pytest.mark.parametrize("value", LARGE[:-1])
@pytest.mark.parametrize("name", ["max_depth", "max_leaf_nodes", "max_bytes"])
def test_a_limit_beyond_everything_is_none(name, value):
    for tree, free in zip(grown(**{name: value}), grown(), strict=True):
        np.testing.assert_array_equal(tree.tree_.counts, free.tree_.counts)
        np.testing.assert_array_equal(tree.tree_.threshold, free.tree_.threshold)


@pytest.mark.parametrize("value", LARGE[:-1])
@pytest.mark.parametrize(
    "name", ["min_samples_split", "min_samples_leaf", "min_impurity_decrease"]
)
def test_huge_sizes_never_apply(name, value):
    for tree in grown(**{name: value}):
        assert tree.get_n_leaves() == 1


@pytest.mark.parametrize("value", LARGE[:-1])
@pytest.mark.parametrize("name", ["max_features", "grace_period"])
def test_other_numbers_may_be_large(name, value):
    for tree in grown(**{name: value}):
        assert tree.get_n_leaves() >= 1


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, kinds in ConfidenceTreeClassifier._parameter_constraints.items()
        if any("Interval" in type(kind).__name__ for kind in kinds)
    ],
)
def test_parameters_that_no_float_holds_are_named(name):
    for value in (TOO_LARGE, -TOO_LARGE, 10**5000):
        tree = ConfidenceTreeClassifier(**{name: value})
        for call in (
            lambda tree=tree: tree.fit(X, Y),
            lambda tree=tree: tree.partial_fit(X, Y, classes=[0, 1]),
        ):
            with pytest.raises(ValueError, match=f"'{name}' parameter of Confidence"):
                call()


@pytest.mark.parametrize("bound", STREAM_BOUNDS)
def test_parameters_of_bounds_are_named_too(bound):
    for name in inspect.signature(STREAM_BOUNDS[bound]).parameters:
        for value in LARGE:
            for learn in ("fit", "partial_fit"):
                tree = ConfidenceTreeClassifier(STREAM_BOUNDS[bound](**{name: value}))
                more = {"classes": [0, 1]} if learn == "partial_fit" else {}
                with fine_unless_too_large(value, name):
                    getattr(tree, learn)(X, Y, **more)


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("nominal", [None, [0]])
def test_values_that_no_float_holds_are_named(frame, nominal):
    rows = np.round(X).astype(object)  # few categories
    rows[3, 1] = TOO_LARGE
    column = "'b'|Column 1|X" if nominal or frame else "X"
    if frame:
        rows = pd.DataFrame(rows, columns=["a", "b", "c"])
    good = np.round(X)
    good = pd.DataFrame(good, columns=["a", "b", "c"]) if frame else good
    make = lambda: ConfidenceTreeClassifier(categorical_features=nominal)  # noqa: E731
    tree = make().fit(good, Y)
    for call in (
        lambda: make().fit(rows, Y),
        lambda: make().partial_fit(rows, Y, classes=[0, 1]),
        lambda: tree.partial_fit(rows, Y),
        lambda: tree.predict(rows),
        lambda: tree.apply(rows),
        lambda: tree.explain(rows),
    ):
        with pytest.raises(ValueError, match=rf"({column}).* too large for float32"):
            call()


@pytest.mark.parametrize("kind", [list, lambda one: np.array(one, dtype=object)])
def test_weights_that_no_float_holds_are_named(kind):
    weight = [1] * len(Y)
    weight[5] = TOO_LARGE
    tree = ConfidenceTreeClassifier()
    for call in (
        lambda: tree.fit(X, Y, sample_weight=kind(weight)),
        lambda: tree.partial_fit(X, Y, classes=[0, 1], sample_weight=kind(weight)),
        lambda: prequential_score(tree, X, Y, sample_weight=kind(weight)),
    ):
        with pytest.raises(
            ValueError, match="sample_weight contains a number that is too"
        ):
            call()
    tree = ConfidenceTreeClassifier(class_weight={0: TOO_LARGE, 1: 1})
    for call in (
        lambda: tree.fit(X, Y),
        lambda: tree.partial_fit(X, Y, classes=[0, 1]),
    ):
        with pytest.raises(ValueError, match="class_weight has a number that is too"):
            call()


@pytest.mark.parametrize("value", LARGE)
def test_parameters_can_be_large_integers(value):
    tree = ConfidenceTreeClassifier().fit(X, Y)
    for method in (tree.tree_.children, tree.tree_.branches):
        with pytest.raises(IndexError, match="node must be between"):
            method(value)
        with pytest.raises(IndexError, match="node must be between"):
            method(-value)
    assert export_text(tree, max_depth=value) == export_text(tree)
    whole = prequential_score(ConfidenceTreeClassifier(), X, Y)
    assert (
        prequential_score(ConfidenceTreeClassifier(), X, Y, chunk_size=value) == whole
    )
    with pytest.raises(ValueError, match="confidence_level"):
        tree.predict_proba_interval(X, confidence_level=value)


@pytest.mark.parametrize("value", [2**63, TOO_LARGE])
@pytest.mark.parametrize("name", [n for n in datasets.__all__ if n.startswith("make_")])
def test_generators_name_what_is_too_large(name, value):
    make = getattr(datasets, name)
    for parameter in inspect.signature(make).parameters:
        if parameter == "n_samples":
            continue
        with fine_unless_too_large(value, parameter, "Seed"):
            make(300, **{parameter: value})


@pytest.mark.parametrize("value", LARGE)
def test_detectors_take_large_numbers(value):
    for name in inspect.signature(DDM).parameters:
        tree = ConfidenceTreeClassifier(drift=DDM(**{name: value}))
        with fine_unless_too_large(value, name):
            tree.partial_fit(X, Y, classes=[0, 1])
