"""Kinds of columns: numeric, or nominal with categories; unknown categories.

A nominal column is encoded by the codes 0, 1, ... of its categories. A missing value is
another category; an unknown category has the code -1. Numbers are unchanged, with NaN
for missing values.

A `table` is an array or a frame wrapped in the class of its `library` (`_frames.py`).
Learned rows are training rows of positive weight: only their categories get codes. A
column with too many categories that identifies the rows is ignored: all its values
count as missing.
"""

import json
from functools import partial
from itertools import compress

import numpy as np

from ..utils._codec import from_json, is_missing, to_json
from ..utils._warnings import warn_once
from ._columns import DATES, MAX_UNPARSEABLE, is_number, look_like_dates
from ._frames import kind_of, library_of, mixed_kinds_message

# Imported constants: DATES is a sentence of advice, and MAX_UNPARSEABLE the largest
# share of texts in a column of numbers.
MAX_CATEGORIES = 4096
SMALL_N_CATEGORIES = 10  # columns with at most so many never identify rows
UNKNOWN = -1.0
MISSING = None  # as a category


def nominal_columns(X, categorical_features):
    """Resolve `categorical_features`: one bool per column, None if all are numeric."""
    if categorical_features is None:
        return None
    library = library_of(X)
    if isinstance(categorical_features, str):  # "from_dtype"
        if library is None:
            return None
        chosen = [library.is_nominal(dtype) for dtype in library.dtypes(X)]
        return chosen if any(chosen) else None
    shape = getattr(X, "shape", None)
    n_features = np.shape(X)[1] if shape is None or len(shape) < 2 else shape[1]
    columns = np.asarray(categorical_features)
    if columns.ndim != 1:
        raise ValueError(
            "categorical_features must be None, 'from_dtype' or a one-dimensional "
            f"array-like, got shape {columns.shape}."
        )
    if columns.dtype.kind == "b":
        if len(columns) != n_features:
            raise ValueError(
                "categorical_features as a mask must have one entry per feature, "
                f"{n_features} in all, got {len(columns)}."
            )
        chosen = columns
    elif columns.dtype.kind in "iu":
        outside = columns[(columns < 0) | (columns >= n_features)]
        if len(outside):
            raise ValueError(
                f"categorical_features must be indices in [0, {n_features - 1}], "
                f"got {outside[0]}."
            )
        chosen = np.isin(np.arange(n_features), columns)
    elif columns.dtype.kind in "OU" and all(isinstance(name, str) for name in columns):
        names = None if library is None else library.names(X)
        if names is None:
            raise ValueError(
                "categorical_features has names, so X must be a frame with column "
                f"names. Got {type(X).__name__}."
            )
        known = set(names)
        unknown = [str(name) for name in columns if name not in known]
        if unknown:
            raise ValueError(
                f"categorical_features has {unknown[0]!r}, which is not a column of X. "
                f"The columns are {names}."
            )
        chosen = np.isin(names, columns)
    elif columns.size:
        raise ValueError(
            "categorical_features must be bools, integers or strings, got "
            f"{categorical_features!r}."
        )
    else:
        return None
    return chosen.tolist() if chosen.any() else None


def refuse_categories(X, caller):
    """Raise ValueError if a frame has nominal columns, for a model of numbers."""
    nominal = nominal_columns(X, "from_dtype")
    if nominal is not None:
        names = library_of(X).names(X)
        columns = list(compress(names, nominal))
        raise ValueError(
            f"{caller} needs numbers, got columns of categories: {columns!r}. Encode "
            "them first, for example with sklearn.preprocessing.OneHotEncoder."
        )


def identifying(X, features, weight=None):
    """Return a mask of the nominal columns that identify rows.

    These have more than ten categories, and more than half of the rows have a unique
    category. New rows do not have these categories, so a split on the column is
    useless. All rows of X must have labels; `features` describe its columns.
    """
    out = np.array(
        [column is not None and column.ignored for column in features.category_maps]
    )
    for j in np.flatnonzero(features.n_categories > SMALL_N_CATEGORIES):
        codes = X[:, j].astype(np.intp)
        out[j] = np.count_nonzero(
            np.bincount(codes)
        ) > SMALL_N_CATEGORIES and _separates_rows(codes, weight)
    return out


def _separates_rows(codes, weight):
    # Whether more than half of the rows have a unique category.
    weight = np.ones(len(codes)) if weight is None else weight
    rows, weights = np.bincount(codes), np.bincount(codes, weight)
    unique = weights[(rows == 1) & (weights <= 1.0)].sum()  # weight 2 means two rows
    return 2 * unique > weight.sum()


def sort_categories(values, name):
    """Sort the categories of a column, with the missing one last."""
    missing = [MISSING] if MISSING in values else []
    try:
        return sorted(values.difference(missing)) + missing
    except TypeError as error:
        raise ValueError(
            f"Column {name} has values that cannot be categories, because they cannot "
            f"be sorted ({error})."
        ) from error


class CategoryMap:
    """Mapping of the categories of a column to their codes.

    If the column is `ignored`, all its values are missing. The `kind` is the common
    type of all categories, for messages: text, numbers, truth values, or another type.
    New categories get codes in order of appearance if `in_order`, as in `partial_fit`,
    otherwise in ascending order.
    """

    def __init__(self, kind=None, codes=None, ignored=False, name=None):
        self.kind = kind  # None before the first value
        self.codes = {} if codes is None else codes
        self.ignored = ignored
        # of the column, until `Features.keep_learned` has checked the number of codes
        self.name = name

    def encode(self, indices, values, name, *, learn=False, in_order=True):
        """Encode a column, given by indices into `values` (-1: missing).

        Return the codes, and the map, extended by new categories if `learn`.
        """
        if self.ignored:
            return np.zeros(len(indices), dtype=np.float32), self
        indices = indices + 1
        keys = [MISSING, *(MISSING if is_missing(v) else v for v in values)]
        used = np.flatnonzero(np.bincount(indices, minlength=len(keys)))
        kind = self._kind_of([keys[i] for i in used], name)
        category_map = self
        if learn and any(keys[i] not in self.codes for i in used):
            if in_order:
                used = used[np.argsort(np.unique(indices, return_index=True)[1])]
                order = [keys[i] for i in used]
            else:
                order = sort_categories({keys[i] for i in used}, name)
            codes = dict(self.codes)
            for value in order:
                codes.setdefault(value, len(codes))
            category_map = CategoryMap(kind, codes, name=name)
        table = [category_map.codes.get(value, UNKNOWN) for value in keys]
        return np.array(table, dtype=np.float32)[indices], category_map

    def of_rows(self, row_codes, known, *, in_order):
        """Restrict the new categories, those not in `known`, to some rows.

        `row_codes` are the codes of these rows. Return the new code of each category,
        and the new map.
        """
        used, first = np.unique(row_codes, return_index=True)
        new = used >= len(known.codes)
        used = used[new]
        if in_order:
            used = used[np.argsort(first[new])]
        codes = np.arange(len(self.codes), dtype=np.float32)
        codes[len(known.codes) :] = UNKNOWN
        if not len(used):
            return codes, known
        codes[used] = len(known.codes) + np.arange(len(used))
        values = list(self.codes)
        new_values = [values[code] for code in used]
        kind = known.kind if new_values == [MISSING] else self.kind
        both = {value: code for code, value in enumerate([*known.codes, *new_values])}
        return codes, CategoryMap(kind, both, name=self.name)

    def within_limits(self, separates_rows):
        """Return the map, after a check of the number of categories.

        A column with too many is ignored if it identifies rows, which
        `separates_rows()` computes, and raises an error otherwise.
        """
        n = len(self.codes)
        if n > MAX_CATEGORIES:
            if separates_rows():
                return CategoryMap(self.kind, {MISSING: 0}, ignored=True)
            raise ValueError(
                f"Column {self.name} has {n} categories; at most {MAX_CATEGORIES} are "
                f"supported.{_hint(self.codes, self.kind)}"
            )
        return CategoryMap(self.kind, self.codes)

    def _kind_of(self, values, name):
        kinds = {kind_of(value) for value in values if value is not MISSING}
        if len(kinds) > 1:
            raise ValueError(mixed_kinds_message(name, kinds))
        kind = kinds.pop() if kinds else self.kind
        if self.kind is not None and self.kind != kind:
            raise ValueError(
                f"Column {name} had {self.kind} when its categories were learned, and "
                f"has {kind} now. Convert it to the same type."
            )
        return kind


class Features:
    """Kinds of the columns of a table; immutable.

    `category_maps` has a `CategoryMap` for each nominal column, None for a numeric one.
    """

    def __init__(self, category_maps):
        self.category_maps = category_maps

    @classmethod
    def blank(cls, is_nominal):
        """Return features of these kinds, without categories."""
        return cls([CategoryMap() if nominal else None for nominal in is_nominal])

    def as_text(self):
        """Return JSON if possible, so that equal features have equal states."""
        try:
            columns = [
                None
                if category_map is None
                else [
                    category_map.kind,
                    to_json([*category_map.codes]),
                    *[True] * category_map.ignored,
                ]
                for category_map in self.category_maps
            ]
            return json.dumps(columns)
        except (TypeError, ValueError):  # the latter for numbers of thousands of digits
            return self

    @classmethod
    def of_text(cls, text):
        """Make features from the result of `as_text`."""
        category_maps = []
        for column in json.loads(text):
            if column is None:
                category_maps.append(None)
                continue
            kind, values, *ignored = column
            codes = {value: code for code, value in enumerate(from_json(values))}
            category_maps.append(CategoryMap(kind, codes, ignored=bool(ignored)))
        return cls(category_maps)

    def __reduce__(self):
        text = self.as_text()
        if text is self:
            return Features, (self.category_maps,)
        return Features.of_text, (text,)

    @property
    def n_categories(self):
        """Number of categories of each column; 0 for a numeric one."""
        return np.array(
            [
                0 if category_map is None else max(len(category_map.codes), 1)
                for category_map in self.category_maps
            ],
            dtype=np.int32,
        )

    def kind(self, j):
        """Kind of the values of a nominal column; None before the first value."""
        return self.category_maps[j].kind

    @property
    def is_categorical(self):
        """Which columns are nominal, as a mask."""
        return np.array(
            [category_map is not None for category_map in self.category_maps]
        )

    @property
    def categories(self):
        """List of list or None: the categories of each column by code."""
        return [
            None if category_map is None else list(category_map.codes)
            for category_map in self.category_maps
        ]

    def encode(self, table):
        """Return the matrix of numbers and codes of a table with the same columns."""
        matrix, _ = self._encode(table, learn=False)
        return matrix

    def learn(self, table, *, in_order=True):
        """Encode, and assign codes to new categories; then call `keep_learned`."""
        matrix, category_maps = self._encode(table, learn=True, in_order=in_order)
        if all(map(lambda a, b: a is b, category_maps, self.category_maps)):
            return matrix, self
        return matrix, Features(category_maps)

    def keep_learned(
        self, matrix, known=None, learned=None, weight=None, *, in_order=True
    ):
        """Remove categories of rows that are not learned, and check their number.

        The rows of weight 0 are found only after a table has been read. `matrix` is a
        result of `learn`. Its codes are changed to those that it would have if there
        were only the rows `learned` (None: all). `known` are the previous features,
        which are returned if there is no new category.
        """
        if known is None:
            known = Features.blank(self.is_categorical)
        category_maps = list(known.category_maps)
        for j, category_map in enumerate(self.category_maps):
            if category_map is known.category_maps[j]:
                continue
            if category_map.ignored:
                category_maps[j] = category_map
                continue
            row_codes = matrix[:, j].astype(np.intp)
            weights = weight
            if learned is not None:
                codes, category_map = category_map.of_rows(
                    row_codes[learned], known.category_maps[j], in_order=in_order
                )
                matrix[:, j] = codes[row_codes]
                row_codes = matrix[learned, j].astype(np.intp)
                weights = None if weight is None else weight[learned]
            if category_map is not known.category_maps[j]:
                separates_rows = partial(_separates_rows, row_codes, weights)
                # in a stream, too many categories are an error in any case
                category_map = category_map.within_limits(
                    (lambda: False) if in_order else separates_rows
                )
                if category_map.ignored:
                    matrix[:, j] = 0.0
            category_maps[j] = category_map
        if all(map(lambda a, b: a is b, category_maps, known.category_maps)):
            return known
        return Features(category_maps)

    def _encode(self, table, **options):
        matrix = np.empty(table.shape, dtype=np.float32)
        category_maps = list(self.category_maps)
        for j, category_map in enumerate(category_maps):
            if category_map is None:
                matrix[:, j] = table.numbers(j)
            else:
                matrix[:, j], category_maps[j] = category_map.encode(
                    *table.categories(j), table.name(j), **options
                )
        return matrix, category_maps


def _hint(codes, kind):
    # A hint why a column may have so many categories.
    if kind != "text":
        return ""
    if look_like_dates(codes):
        return f" They look like dates. {DATES}"
    unparseable = [
        value for value in codes if value is not MISSING and not is_number(value)
    ]
    if len(unparseable) > MAX_UNPARSEABLE * len(codes):
        return ""
    return (
        f" Most of them are numbers. If others, such as {unparseable[0]!r}, are "
        "missing values, convert the column to numbers before fit."
        if unparseable
        else " All of them are numbers. Convert the column to numbers before fit."
    )


MIN_ROWS = 10  # for a warning; in fewer rows, unknown categories may just be rare
MAX_SHOWN = 3  # categories in a message


def warn_of_unknown(table, rows, features):
    """Warn, once per model, of columns with unknown categories only.

    Some unknown categories are normal, in particular after training on few rows. A
    column without any known category is spelled differently, or is another column.
    """
    if len(rows) < MIN_ROWS:
        return
    for j in np.flatnonzero(features.is_categorical).tolist():
        codes = features.category_maps[j].codes
        is_known = rows[:, j] != UNKNOWN
        if MISSING in codes:
            is_known &= rows[:, j] != codes[MISSING]
        if is_known.any():
            continue
        indices, values = table.categories(j)
        new = [values[i] for i in np.unique(indices) if i >= 0]
        new = [value for value in new if not is_missing(value)]
        known = [value for value in codes if value is not MISSING]
        if not known or not new:
            continue
        warn_once(
            features,
            j,
            f"Column {table.name(j)} has only unknown categories in all {len(rows)} "
            f"rows: {_listed(new)}. The categories of fit are {_listed(known)}. Splits "
            "on this column cannot be used for these rows. Use the same spelling as in "
            "fit, including case and spaces.",
        )


def _listed(values):
    more = ", ..." if len(values) > MAX_SHOWN else ""
    return ", ".join(map(repr, values[:MAX_SHOWN])) + more
