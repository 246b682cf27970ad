"""Rows that are dictionaries, and what columns they have."""

import math
from collections.abc import Mapping

import numpy as np

from ..tables._records import Records
from ..utils import is_missing
from ..utils._warnings import warn


class Dictionaries:
    """Tables of dictionaries: the first tells what columns there are.

    A column is a number or a category as its first value is a number or a text; one
    without any holds numbers. An estimator that is fitted knows its columns.
    """

    def __init__(self, estimator):
        self.columns = None
        self.warned = False
        if hasattr(estimator, "classes_"):
            if not hasattr(estimator, "feature_names_in_"):
                raise ValueError(
                    "The estimator was fitted with rows without names, so that a "
                    "dictionary does not tell which value belongs to which column."
                )
            self.columns = columns_of_model(estimator, None)

    def table(self, rows):
        """Make a table of dictionaries."""
        if self.columns is None:
            found = columns_in(rows)
            self.columns = [(name, kind or "number") for name, kind in found.items()]
        names = {name for name, _ in self.columns}
        unknown = set().union(*rows) - names
        if unknown and not self.warned:
            self.warned = True
            warn(
                "Keys that came with none of the first rows are left out: "
                f"{sorted(unknown, key=str)}."
            )
        return table_of(rows, self.columns)


def is_row(chunk):
    """Whether it is a dictionary with its label, and maybe a weight."""
    return (
        isinstance(chunk, tuple)
        and len(chunk) in (2, 3)
        and isinstance(chunk[0], Mapping)
    )


def table_of(rows, columns, *, declared=False):
    """Make a table of dictionaries, with columns given as pairs of name and kind.

    The user `declared` these kinds, or they are those of the first values.
    """
    values = [
        [
            row.get(name) if kind == "category" else number(row.get(name), name)
            for name, kind in columns
        ]
        for row in rows
    ]
    names = [name for name, _ in columns]
    category = "category" if declared else "str"
    dtypes = [category if kind == "category" else "float64" for _, kind in columns]
    return Records(names, as_feature_names(names), dtypes, None, values)


def columns_of_model(model, given):
    """Columns of a model that is fitted; those `given` if it knows no names."""
    names = getattr(model, "feature_names_in_", None)
    nominal = getattr(model, "is_categorical_", None)
    if names is not None:
        names = names.tolist()
    elif given is not None:
        names = [name for name, _ in given]
    else:
        raise ValueError(
            "columns must name the columns of the model, which has been fitted with "
            "rows without names."
        )
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"columns must have the {model.n_features_in_} columns that the model has "
            f"been fitted with. Got {len(names)} instead."
        )
    if nominal is None:
        nominal = np.zeros(len(names), dtype=bool)
    kinds = ["category" if one else "number" for one in nominal]
    found = list(zip(names, kinds, strict=True))
    if given is not None and dict(found) != dict(given):
        raise ValueError(
            f"columns must be those of the fitted model, {dict(found)}. Got "
            f"{dict(given)} instead."
        )
    return found


def columns_in(rows):
    """Kind of each column, by the first value that it has in the rows, or None."""
    columns = {}
    for row in rows:
        for name, value in row.items():
            if columns.setdefault(name) is None and not is_missing(value):
                columns[name] = "category" if isinstance(value, str) else "number"
    return columns


def number(value, name):
    if value is None:
        return math.nan
    try:
        if not isinstance(value, str | bytes):
            return float(value)
    except (TypeError, ValueError):
        pass
    except OverflowError as error:
        raise ValueError(
            f"Column {name!r} holds a number that is too large for float32."
        ) from error
    raise ValueError(
        f"Column {name!r} holds numbers. Got {value!r} instead. A column of categories "
        "has a text as its first value, or is named in columns."
    )


def as_feature_names(names):
    texts = all(isinstance(name, str) for name in names)
    return np.array(names, dtype=object) if texts else None
