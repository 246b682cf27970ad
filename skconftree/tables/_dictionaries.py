"""Conversion of dictionaries to tables, which models read without a data frame."""

import math
from collections.abc import Mapping

import numpy as np

from ..utils._codec import is_missing
from ..utils._warnings import warn
from ._dict_rows import DictRows

KINDS = ("number", "category")


def is_dictionary(X):
    """Whether X is a row that is given as a dictionary.

    Some sparse tables are mappings, too, but they have a shape.
    """
    return isinstance(X, Mapping) and not hasattr(X, "shape")


def dictionaries_in(X):
    """Return the rows of X if it is a dictionary or a list of them, else None."""
    if is_dictionary(X):
        return [X]
    if not isinstance(X, list | tuple) or not X or not isinstance(X[0], Mapping):
        return None
    for row in X:
        if not isinstance(row, Mapping):
            raise TypeError(
                f"X must contain only dictionaries, or none. Got {type(row).__name__}."
            )
    return list(X)


class DictConverter:
    """Converter of lists of dictionaries to tables.

    The columns are those of a fitted estimator, or else those of the first list.
    """

    def __init__(self, estimator):
        self.columns = None
        self.warned = False
        if hasattr(estimator, "classes_"):
            if not hasattr(estimator, "feature_names_in_"):
                raise ValueError(
                    "The rows of the stream are dictionaries, but the estimator was "
                    "fitted without column names. Fit it with a frame, or pass arrays."
                )
            self.columns = columns_of_model(estimator, None)

    def table(self, rows):
        """Convert dictionaries to a table."""
        if self.columns is None:
            self.columns = complete(columns_in(rows))
        unknown = set().union(*rows) - {name for name, _ in self.columns}
        if unknown and not self.warned:
            self.warned = True
            warn_about_keys(unknown)
        return table_of(rows, self.columns)


def warn_about_keys(unknown, remedy=""):
    """Warn about keys that are not used."""
    warn(
        "Keys that do not occur in the first rows are ignored: "
        f"{sorted(unknown, key=str)}.{remedy}"
    )


def table_of(rows, columns, *, declared=False):
    """Convert dictionaries to a table.

    `columns` are pairs of name and kind. `declared` is whether the user specified them.
    """
    values = [
        [
            row.get(name) if kind == "category" else number(row.get(name), name)
            for name, kind in columns
        ]
        for row in rows
    ]
    names = [name for name, _ in columns]
    has_names = all(isinstance(name, str) for name in names)
    feature_names = np.array(names, dtype=object) if has_names else None
    category = "category" if declared else "str"
    dtypes = [category if kind == "category" else "float64" for _, kind in columns]
    return DictRows(names, feature_names, dtypes, numbers=None, values=values)


def columns_of_model(model, declared):
    """Return pairs of name and kind of the columns of a fitted model.

    `declared` are the columns that the user specified, or None. They are needed if the
    model has no column names.
    """
    names = getattr(model, "feature_names_in_", None)
    nominal = getattr(model, "is_categorical_", None)
    if names is not None:
        names = names.tolist()
    elif declared is not None:
        names = [name for name, _ in declared]
    else:
        raise ValueError(
            "The model was fitted without column names. Pass its columns in order, as "
            "columns={name: 'number' or 'category'}."
        )
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"columns must have the {model.n_features_in_} columns that the model was "
            f"fitted with. Got {len(names)}."
        )
    if nominal is None:
        nominal = np.zeros(len(names), dtype=bool)
    columns = [
        (name, KINDS[int(kind)]) for name, kind in zip(names, nominal, strict=True)
    ]
    if declared is not None and dict(columns) != dict(declared):
        raise ValueError(
            f"columns must be those of the fitted model, {dict(columns)}. Got "
            f"{dict(declared)}."
        )
    return columns


def columns_in(rows):
    """Map each key to the kind of its first value, or to None if all are missing."""
    columns = {}
    for row in rows:
        for name, value in row.items():
            if columns.setdefault(name) is None and not is_missing(value):
                columns[name] = "category" if isinstance(value, str) else "number"
    return columns


def complete(columns):
    """Return pairs of name and kind; columns without any value contain numbers."""
    return [(name, kind or "number") for name, kind in columns.items()]


def number(value, name):
    """Convert a value of a numeric column to float; None becomes NaN."""
    if value is None:
        return math.nan
    try:
        if not isinstance(value, str | bytes):
            return float(value)
    except (TypeError, ValueError):
        pass
    except OverflowError as error:
        raise ValueError(
            f"Column {name!r} contains a number that is too large for float32."
        ) from error
    raise ValueError(
        f"Column {name!r} is numeric. Got {value!r}. A column is categorical if its "
        "first value is a string, or if `columns` declares it as 'category'."
    )
