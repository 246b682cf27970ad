"""The steps of every `partial_fit`: validate and read, start a model, learn.

All validation happens while reading, before the model changes. A new model is set in
one assignment, and rows that were learned before an interruption remain learned.

A schema has the names and kinds of the columns, and the code of each category. It is
immutable: reading rows with new categories returns `Rows` with another schema. A model
`grows` if it can learn row by row. A model of `fit` cannot, so `partial_fit` first
makes one that grows from it.
"""

from typing import NamedTuple

import numpy as np

from ._growth_data import resolve_class_weight, stream_weights
from ._labels import Classes, read_labels
from ._row_hashes import Rows
from ._schema import Schema


class Call(NamedTuple):
    """Validated arguments of `partial_fit`.

    `rows` are float32, with their schema, and `finite` if there is no NaN. `labels` are
    indices in `classes`. Rows of weight 0 are not learned. `X_pool` has unlabeled rows.
    """

    rows: Rows
    labels: np.ndarray
    classes: Classes
    weight: np.ndarray | None = None
    class_weight: np.ndarray | None = None
    X_pool: np.ndarray | None = None


def read_call(estimator, X, y, classes, sample_weight, X_pool):
    """Validate the arguments of `partial_fit`; X may be `Rows` that have been read."""
    caller, model = type(estimator).__name__, estimator._model  # caller: for errors
    estimator._check_call(classes, X_pool)  # validates parameters and options
    # categories get codes in the order of their first rows (`in_order`); `known` is the
    # schema before this call
    if model is None:
        rows = Schema.first(X, caller, estimator.categorical_features, in_order=True)
        known, all_classes = None, Classes.listed(classes)
    else:
        rows = X if isinstance(X, Rows) else model.schema.more(X, caller)
        known, all_classes = model.schema, model.classes
        if classes is not None:
            all_classes.check(classes)
    labels = all_classes.codes(read_labels(y, rows.X, caller))
    if model is not None and model.grows:
        class_weight = model.class_weight
    else:
        class_weight = resolve_class_weight(
            estimator.class_weight,
            all_classes.names,
            np.arange(len(all_classes)),
            weight=None,
        )
    weight = None
    if sample_weight is not None:
        # frequencies; their sum is limited, including the weight of earlier calls
        weight = stream_weights(
            sample_weight,
            rows.X,
            estimator.sample_weight_kind,
            0.0 if model is None else model.weight_seen,
        )
    if class_weight is not None and not class_weight.all():
        # rows of a class of weight 0 are not learned
        weight = np.ones(len(labels)) if weight is None else weight
        weight = np.where(class_weight[labels] > 0.0, weight, 0.0)
    # Remove categories that only rows of weight 0 have. The categories of X_pool get
    # the first codes; therefore, X is read again.
    if X_pool is not None:
        read, X_pool, schema = rows.schema.with_pool(
            X, X_pool, rows.X, known, weight, caller
        )
        rows = Rows(read, rows.finite, schema)
    elif rows.schema is not known:
        schema = rows.schema.keep_learned_in_order(rows.X, known, weight)
        rows = Rows(rows.X, rows.finite, schema)
    return Call(rows, labels, all_classes, weight, class_weight, X_pool)


def learn(estimator, call, **options):
    """Train an estimator with validated rows; return the result of `learn`.

    The estimator has the attribute `_model`, which is None before the first call, and
    the method `_started(call)`, which makes a model that grows: an empty one, or one
    with the contents of the present model. A model has the attribute `grows` (whether
    it can learn row by row) and the methods `make_ready(call, **options)`, which
    reserves memory and may raise, and `learn(call, **options)`.
    """
    model = estimator._model
    if model is None or not model.grows:
        model = estimator._started(call)
    model.make_ready(call, **options)
    estimator._model = model
    return model.learn(call, **options)
