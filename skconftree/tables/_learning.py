"""The one protocol of `partial_fit`."""

import numpy as np

from ._labels import Classes, read_labels
from ._schema import Rows, Schema
from ._weights import resolve_class_weight, stream_weights


def learn(
    estimator,
    X,
    y,
    classes=None,
    sample_weight=None,
    X_pool=None,
    *,
    stacklevel=1,
    **options,
):
    """Check rows, read them, settle their columns, start, and learn them.

    All that can be refused is refused before the model changes. One that starts is
    another one, which the estimator takes over in one assignment; what its rows have
    taught by then stays learnt if the rest of them cannot be.

    Parameters
    ----------
    estimator : estimator
        With a `_model` or None, `_check_call(classes, X_pool)`, which raises if it
        cannot learn what it is given, and `_started(schema, classes, class_weight,
        X_pool)`, which gives a model that learns row by row. The model has `schema`,
        `classes`, `grows`, `weight_seen` and `class_weight`, `make_ready(schema,
        stacklevel, **options)` and `learn(rows, labels, weight, **options)`.
    X : array-like, sparse or frame of shape (n_rows, n_features), or Rows
    y : array-like of shape (n_rows,)
    classes, sample_weight, X_pool : object, default=None
        As users give them.
    stacklevel : int
        Of warnings, from the caller's place.
    **options
        For the model.

    Returns
    -------
    object
        What its `learn` gives.
    """
    stacklevel += 1
    caller, model = type(estimator).__name__, estimator._model
    estimator._check_call(classes, X_pool)
    if model is None:
        rows = Schema.first(
            X,
            caller,
            estimator.categorical_features,
            in_order=True,
            stacklevel=stacklevel,
        )
        known, names = None, Classes.listed(classes, stacklevel=stacklevel)
    else:
        rows = X if isinstance(X, Rows) else model.schema.more(X, caller)
        known, names = model.schema, model.classes
        names.check(classes)
    labels = names.codes(read_labels(y, rows.X, caller))
    grows = model is not None and model.grows
    if grows:
        class_weight = model.class_weight
    else:
        class_weight = resolve_class_weight(
            estimator.class_weight, names.names, np.arange(len(names)), None
        )
    weight = None
    if sample_weight is not None:
        weight = stream_weights(
            sample_weight,
            rows.X,
            estimator.sample_weight_kind,
            0.0 if model is None else model.weight_seen,
            stacklevel=stacklevel,
        )
    if class_weight is not None and not class_weight.all():
        # a class of weight 0 is not learnt
        weight = np.ones(len(labels)) if weight is None else weight
        weight = np.where(class_weight[labels] > 0.0, weight, 0.0)
    if X_pool is not None:
        read, X_pool, schema = rows.schema.with_pool(
            X, X_pool, rows.X, known, weight, caller
        )
        rows = rows._replace(X=read, schema=schema)
    elif rows.schema is not known:
        schema = rows.schema.settled_in_order(rows.X, known, weight)
        rows = rows._replace(schema=schema)
    if not grows:
        model = estimator._started(rows.schema, names, class_weight, X_pool)
    model.make_ready(rows.schema, stacklevel, **options)
    estimator._model = model
    return model.learn(rows, labels, weight, **options)
