"""Rows for planes: finite numbers, no columns without a coordinate."""

import numpy as np
from sklearn.utils import check_array

from ..tables._records import Records, names_of
from ..tables._schema import Schema, refuse_infinite
from ..tables._table_rows import Rows

NOMINAL = ("category", "categorical", "enum", "str", "large_str")


def read_doubles(X, schema, caller):
    """Read rows of finite numbers, in double precision."""
    names = None
    if type(X) is Records and schema is not None:
        schema.check_names(X, caller)
        X = X.numbers
    else:
        _refuse_categories(X, caller)
        if schema is None:
            names = names_of(X)
        else:
            schema.check_names(X, caller)
    rows = check_array(
        X,
        dtype=np.float64,
        order="C",
        ensure_all_finite=False,
        estimator=caller,
        input_name="X",
    )
    if schema is None:
        schema = Schema(rows.shape[1], names)
    schema.check_count(rows, caller)
    refuse_infinite(rows, caller, schema.names, allow_nan=False)
    return Rows(rows, True, schema)


def _refuse_categories(X, caller):
    # Categories may be numbers.
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    columns = [
        name
        for place, (name, kind) in enumerate(zip(X.columns, X.dtypes, strict=True))
        if str(kind).lower().startswith(NOMINAL)
        or (str(kind) == "object" and _has_strings(X.iloc[:, place]))
    ]
    if columns:
        raise ValueError(
            f"{caller} needs numbers, got columns of categories: "
            f"{columns!r}. Encode them first, for example with "
            "sklearn.preprocessing.OneHotEncoder."
        )


def _has_strings(column):
    return any(isinstance(value, str) for value in column)
