"""Calls that must raise an error with a reason, and change nothing."""

import numpy as np
from scipy import sparse

from .parameters import draw_illegal, make_model

# What a fitted model has resolved.
OF_FIRST_CALL = {"bound", "delta", "categorical_features"}


def call(sequence):
    """One wrong call, of a kind that fits the model."""
    kinds = [parameter] if not sequence.started else [*ROWS, parameter]
    if sequence.started and sequence.table.family in ("array", "sparse"):
        kinds = [*kinds, *NUMBERS]
    sequence.draw.one(kinds)(sequence)


def parameter(sequence):
    draw, table = sequence.draw, sequence.table
    batch = draw.chance(0.5)
    parameters = sequence.parameters | {"pruning": "auto"}
    if parameters.get("class_weight") == "balanced":
        del parameters["class_weight"]
    name, value = draw_illegal(draw, batch=batch)
    if name == "delta" and parameters["bound"] is None:
        parameters["bound"] = "gtest"
    if name == "bound":
        parameters.pop("delta", None)  # which overrides that of the bound
    model = make_model({**parameters, name: value})
    rows = table.rows(draw, 5, weights=False)
    X, y = table.give(draw, rows.X), table.labels[rows.y]
    if not batch and name not in OF_FIRST_CALL and draw.chance(0.3):
        # what has been fitted begins to grow, unless it has its parameters already
        plain = {"class_weight": None, "lookahead": 0}
        fitted = make_model(parameters | plain).fit(X, y)
        if fitted._model.grower is None:
            model = fitted.set_params(**{name: value})
    kept, sequence.model = sequence.model, model
    try:
        arguments = (X, y) if batch else (X, y, table.classes)
        method = "fit" if batch else "partial_fit"
        _refuse(sequence, method, *arguments, told=f" with {name}={value!r}")
    finally:
        sequence.model = kept


def _learn(sequence, X, y, **options):
    partial = sequence.draw.chance(0.5)
    method = "partial_fit" if partial else "partial_fit_predict"
    _refuse(sequence, method, X, y, **options)


def _refuse(sequence, method, *arguments, told="", **options):
    """A wrong call of a method, which some parameters leave out altogether."""
    model = sequence.model
    there = hasattr(model, method)
    sequence.refused(
        method + told,
        lambda: getattr(model, method)(*arguments, **options),
        errors=(ValueError, TypeError) if there else AttributeError,
    )


def _rows(sequence, n=5):
    rows = sequence.rows(n, weights=False)
    return rows.X, sequence.table.labels[rows.y]


def unknown_labels(sequence):
    X, _ = _rows(sequence)
    other = sequence.draw.one(
        [
            np.array(["no such label"] * 5),
            np.full(5, 1e6),
            np.full(5, np.nan),
            [None] * 5,
        ]
    )
    _learn(sequence, sequence.table.give(sequence.draw, X), other)


def lengths_that_differ(sequence):
    X, y = _rows(sequence)
    _learn(sequence, sequence.table.give(sequence.draw, X), y[:3])


def weights(sequence):
    X, y = _rows(sequence)
    wrong = [
        [-1.0, 1, 1, 1, 1],
        [np.nan, 1, 1, 1, 1],
        [np.inf, 1, 1, 1, 1],
        [1.0, 1.0],
        ["a"] * 5,
        np.ones((5, 2)),
    ]
    X = sequence.table.give(sequence.draw, X)
    _learn(sequence, X, y, sample_weight=sequence.draw.one(wrong))


def classes(sequence):
    X, y = _rows(sequence)
    other = sequence.draw.one([["other", "classes"], [12345], []])
    _learn(sequence, sequence.table.give(sequence.draw, X), y, classes=other)


def labels_of_two_outputs(sequence):
    X, y = _rows(sequence)
    _learn(sequence, sequence.table.give(sequence.draw, X), np.column_stack([y, y]))


def columns(sequence):
    X, y = _rows(sequence)
    wide = np.zeros((5, X.shape[1] + 1), dtype=np.float32)
    _learn(sequence, wide, y)
    sequence.refused("predict_proba", sequence.model.predict_proba, wide)


def infinity(sequence):
    X, y = _rows(sequence)
    numeric = [j for j, kind in enumerate(sequence.table.kinds) if kind != "nominal"]
    if not numeric:
        return
    X[2, sequence.draw.one(numeric)] = sequence.draw.one([np.inf, -np.inf, 1e39])
    X = sequence.table.give(sequence.draw, X)
    _learn(sequence, X, y)
    sequence.refused("apply", sequence.model.apply, X)


def shapes(sequence):
    X, y = _rows(sequence)
    for other in (X[0], X[:0], X[np.newaxis], np.float32(1.0), "X", None):
        sequence.refused(
            "predict", sequence.model.predict, other, errors=(ValueError, TypeError)
        )
    _learn(sequence, X[0], y)


def kinds_of_numbers(sequence):
    X, _ = _rows(sequence)
    for other in (X.astype(complex), np.full(X.shape, "text")):
        if sequence.table.categories and other.dtype.kind != "c":
            continue
        sequence.refused(
            "apply", sequence.model.apply, other, errors=(ValueError, TypeError)
        )


def sparse_tables(sequence):
    X, y = _rows(sequence)
    if sequence.table.categories:
        return
    X = np.nan_to_num(X)
    X[:, 0] = 1.0
    good = sparse.csr_array(X)
    holes, strange, ends = good.copy(), good.copy(), good.copy()
    holes.data[0] = np.nan
    strange.indices[0] = sequence.draw.one([-1, X.shape[1], 2**31 - 1])
    ends.indptr[1] = sequence.draw.one([-1, good.nnz + 9])
    for other in (holes, strange, ends):
        _learn(sequence, other, y)
        sequence.refused(
            "apply", sequence.model.apply, other, errors=(ValueError, TypeError)
        )


def confidence_level(sequence):
    X, _ = _rows(sequence)
    X = sequence.table.give(sequence.draw, X)
    sequence.refused(
        "predict_proba_interval",
        lambda: sequence.model.predict_proba_interval(
            X, confidence_level=sequence.draw.one([0.0, 1.0, -1, 2, np.nan])
        ),
    )


ROWS = [
    unknown_labels,
    lengths_that_differ,
    weights,
    classes,
    labels_of_two_outputs,
    confidence_level,
]
NUMBERS = [columns, infinity, shapes, kinds_of_numbers, sparse_tables]
