"""Kinds of columns: numeric, or nominal with categories; unknown categories.

A nominal column becomes the codes 0, 1, ... of its categories. A missing value in it
is one more category; a category without a code is -1. Numbers stay what they are,
NaN where they are missing.
"""

import json
from functools import partial

import numpy as np

from ..utils._codec import from_json, is_missing, to_json
from ..utils._warnings import warn_once
from ._columns import DATES, MAX_UNPARSEABLE, is_number, look_like_dates
from ._frames import kind_of, library_of, mixture

MAX_CATEGORIES = 4096
SMALL_N_CATEGORIES = 10  # of which no column is left out
UNKNOWN = -1.0
MISSING = None  # as a category


def nominal_columns(X, categorical_features):
    """Resolve `categorical_features`: a bool a column, None if all are numeric."""
    if categorical_features is None:
        return None
    library = library_of(X)
    if isinstance(categorical_features, str):
        if library is None:
            return None
        chosen = [library.is_nominal(dtype) for dtype in library.dtypes(X)]
        return chosen if any(chosen) else None
    shape = getattr(X, "shape", None)
    n_features = np.shape(X)[1] if shape is None or len(shape) < 2 else shape[1]
    given = np.asarray(categorical_features)
    if given.ndim != 1:
        raise ValueError(
            "categorical_features must be None, 'from_dtype' or a one-dimensional "
            f"array-like, got shape {given.shape}."
        )
    if given.dtype.kind == "b":
        if len(given) != n_features:
            raise ValueError(
                "categorical_features as a mask must have one entry a feature, "
                f"{n_features} in all, got {len(given)}."
            )
        chosen = given
    elif given.dtype.kind in "iu":
        outside = given[(given < 0) | (given >= n_features)]
        if len(outside):
            raise ValueError(
                f"categorical_features must be indices in [0, {n_features - 1}], "
                f"got {outside[0]}."
            )
        chosen = np.isin(np.arange(n_features), given)
    elif given.dtype.kind in "OU" and all(isinstance(one, str) for one in given):
        names = None if library is None else library.names(X)
        if names is None:
            raise ValueError(
                "categorical_features holds names, so X must be a frame whose columns "
                f"have names, got {type(X).__name__}."
            )
        known = set(names)
        unknown = [str(one) for one in given if one not in known]
        if unknown:
            raise ValueError(
                f"categorical_features names {unknown[0]!r}, which X does not have; "
                f"its columns are {names}."
            )
        chosen = np.isin(names, given)
    elif given.size:
        raise ValueError(
            "categorical_features must hold bools, integers or strings, got "
            f"{categorical_features!r}."
        )
    else:
        return None
    return chosen.tolist() if chosen.any() else None


def refuse_categories(X, caller):
    """Raise if a frame has columns of categories, for a model of numbers."""
    nominal = nominal_columns(X, "from_dtype")
    if nominal is not None:
        names = library_of(X).names(X)
        columns = [one for one, held in zip(names, nominal, strict=True) if held]
        raise ValueError(
            f"{caller} needs numbers, got columns of categories: {columns!r}. Encode "
            "them first, for example with sklearn.preprocessing.OneHotEncoder."
        )


def identifying(X, features, weight=None):
    """Which nominal columns tell rows apart rather than describe them.

    More than half of the rows have a category of their own, and there are more than ten
    categories. No new row has such a category, so that a test of the column says
    nothing about it. The rows have labels; `features` are those they were learnt with.
    """
    out = np.array([one is not None and one.abandoned for one in features.dictionaries])
    for j in np.flatnonzero(features.n_categories > SMALL_N_CATEGORIES):
        codes = X[:, j].astype(np.intp)
        out[j] = np.count_nonzero(
            np.bincount(codes)
        ) > SMALL_N_CATEGORIES and _separates_rows(codes, weight)
    return out


def _separates_rows(codes, weight):
    # Whether more than half of the rows have a category of their own.
    weight = np.ones(len(codes)) if weight is None else weight
    rows, weights = np.bincount(codes), np.bincount(codes, weight)
    alone = weights[(rows == 1) & (weights <= 1.0)].sum()  # weight 2 is two rows
    return 2 * alone > weight.sum()


def _never():
    return False


def sort_categories(values, name):
    """Categories of a column in their order, the missing one last."""
    missing = [MISSING] if MISSING in values else []
    try:
        return sorted(values.difference(missing)) + missing
    except TypeError as error:
        raise ValueError(
            f"Column {name} holds values that are no categories, as they have no order "
            f"({error})."
        ) from error


class Dictionary:
    """Categories of a column and their codes; once `abandoned`, all are missing."""

    def __init__(self, kind=None, codes=None, abandoned=False, name=None):
        self.kind = kind  # of its values; None before the first
        self.codes = {} if codes is None else codes
        self.abandoned = abandoned
        self.name = name  # of the column, until it is settled

    def encode(self, found, values, name, *, learn=False, in_order=True):
        """Codes of indices into `values` (-1: missing), and the extended dictionary."""
        if self.abandoned:
            return np.zeros(len(found), dtype=np.float32), self
        found = found + 1
        keys = [MISSING, *(MISSING if is_missing(v) else v for v in values)]
        used = np.flatnonzero(np.bincount(found, minlength=len(keys)))
        kind = self._kind_of([keys[place] for place in used], name)
        dictionary = self
        if learn and any(keys[place] not in self.codes for place in used):
            if in_order:
                used = used[np.argsort(np.unique(found, return_index=True)[1])]
                order = [keys[place] for place in used]
            else:
                order = sort_categories({keys[place] for place in used}, name)
            codes = dict(self.codes)
            for value in order:
                codes.setdefault(value, len(codes))
            dictionary = Dictionary(kind, codes, name=name)
        table = [dictionary.codes.get(value, UNKNOWN) for value in keys]
        return np.array(table, dtype=np.float32)[found], dictionary

    def of_rows(self, found, known, *, in_order):
        """Codes and dictionary that some rows alone would give, beyond `known`."""
        used, first = np.unique(found, return_index=True)
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
        taught = [values[code] for code in used]
        kind = known.kind if taught == [MISSING] else self.kind
        both = {value: code for code, value in enumerate([*known.codes, *taught])}
        return codes, Dictionary(kind, both, name=self.name)

    def within_limits(self, separates_rows):
        """Return it, or given up if it `separates_rows`; raise if too large."""
        n = len(self.codes)
        if n > MAX_CATEGORIES:
            if separates_rows():
                return Dictionary(self.kind, {MISSING: 0}, abandoned=True)
            raise ValueError(
                f"Column {self.name} has {n} categories; at most {MAX_CATEGORIES} are "
                f"supported.{_hint(self.codes, self.kind)}"
            )
        return Dictionary(self.kind, self.codes)

    def _kind_of(self, values, name):
        kinds = {kind_of(value) for value in values if value is not MISSING}
        if len(kinds) > 1:
            raise ValueError(mixture(name, kinds))
        kind = kinds.pop() if kinds else self.kind
        if self.kind is not None and self.kind != kind:
            raise ValueError(
                f"Column {name} held {self.kind} when its categories were learnt, and "
                f"holds {kind} now."
            )
        return kind


class Features:
    """What the columns of a table are, None for a numeric one; never changes."""

    def __init__(self, dictionaries):
        self.dictionaries = dictionaries

    @classmethod
    def blank(cls, is_nominal):
        """Columns of these kinds, with no category yet."""
        return cls([Dictionary() if one else None for one in is_nominal])

    def as_text(self):
        """Columns, their categories as text if possible, so that equal ones match."""
        try:
            columns = [
                None
                if one is None
                else [one.kind, to_json([*one.codes]), *[True] * one.abandoned]
                for one in self.dictionaries
            ]
            return json.dumps(columns)
        except (TypeError, ValueError):  # the latter for numbers of thousands of digits
            return self

    @classmethod
    def of_text(cls, text):
        """Make what `as_text` has written."""
        dictionaries = []
        for column in json.loads(text):
            if column is None:
                dictionaries.append(None)
                continue
            kind, values, *abandoned = column
            codes = {value: code for code, value in enumerate(from_json(values))}
            dictionaries.append(Dictionary(kind, codes, abandoned=bool(abandoned)))
        return cls(dictionaries)

    def __reduce__(self):
        text = self.as_text()
        if text is self:
            return Features, (self.dictionaries,)
        return Features.of_text, (text,)

    @property
    def n_categories(self):
        """Number of categories of each column; 0 for a numeric one."""
        return np.array(
            [0 if one is None else max(len(one.codes), 1) for one in self.dictionaries],
            dtype=np.int32,
        )

    def kind(self, j):
        """Kind of the values of a nominal column; None before the first."""
        return self.dictionaries[j].kind

    @property
    def is_categorical(self):
        """Which columns are nominal, as a mask."""
        return np.array([one is not None for one in self.dictionaries])

    @property
    def categories(self):
        """List of list or None: the categories of each column by code."""
        return [None if one is None else list(one.codes) for one in self.dictionaries]

    def encode(self, table):
        """Matrix of numbers and codes; the columns must be of the same kinds."""
        matrix, _ = self._encode(table, learn=False)
        return matrix

    def learn(self, table, *, in_order=True):
        """Encode, and give new categories the next codes; `settled` completes it."""
        matrix, dictionaries = self._encode(table, learn=True, in_order=in_order)
        if all(map(lambda a, b: a is b, dictionaries, self.dictionaries)):
            return matrix, self
        return matrix, Features(dictionaries)

    def settled(self, matrix, known=None, learned=None, weight=None, *, in_order=True):
        """Forget what rows that are not learnt have taught, and check the limits.

        Which rows are absent, as they have weight 0, is known only when a table has
        been read. The matrix, as `learn` gave it, gets the codes that it would have got
        if there had been none but the rows `learnt` (None: all). `known` is what was
        known before, and is given back if there is no new category.
        """
        if known is None:
            known = Features.blank(self.is_categorical)
        dictionaries = list(known.dictionaries)
        for j, dictionary in enumerate(self.dictionaries):
            if dictionary is known.dictionaries[j]:
                continue
            if dictionary.abandoned:
                dictionaries[j] = dictionary
                continue
            found = matrix[:, j].astype(np.intp)
            weights = weight
            if learned is not None:
                codes, dictionary = dictionary.of_rows(
                    found[learned], known.dictionaries[j], in_order=in_order
                )
                matrix[:, j] = codes[found]
                found = matrix[learned, j].astype(np.intp)
                weights = None if weight is None else weight[learned]
            if dictionary is not known.dictionaries[j]:
                apart = partial(_separates_rows, found, weights)
                dictionary = dictionary.within_limits(_never if in_order else apart)
                if dictionary.abandoned:
                    matrix[:, j] = 0.0
            dictionaries[j] = dictionary
        if all(map(lambda a, b: a is b, dictionaries, known.dictionaries)):
            return known
        return Features(dictionaries)

    def _encode(self, table, **options):
        matrix = np.empty(table.shape, dtype=np.float32)
        dictionaries = list(self.dictionaries)
        for j, dictionary in enumerate(dictionaries):
            if dictionary is None:
                matrix[:, j] = table.numbers(j)
            else:
                matrix[:, j], dictionaries[j] = dictionary.encode(
                    *table.categories(j), table.name(j), **options
                )
        return matrix, dictionaries


def _hint(codes, kind):
    # Why a column may have that many.
    if kind != "text":
        return ""
    if look_like_dates(codes):
        return f" They look like dates. {DATES}"
    strays = [one for one in codes if one is not MISSING and not is_number(one)]
    if len(strays) > MAX_UNPARSEABLE * len(codes):
        return ""
    return (
        f" Most of them are numbers: if others, such as {strays[0]!r}, stand for "
        "missing values, make numbers of the column before fit."
        if strays
        else " All of them are numbers: make numbers of the column before fit."
    )


FEWEST = 10  # rows that tell a mistake from rare categories
SHOWN = 3


def warn_of_unknown(table, rows, features):
    """Warn, once a model, of columns that have none of the categories of `fit`.

    Unknown categories among others are the way of the world, above all where few rows
    have been learnt; a column of nothing else is written in another way, or is another
    column.
    """
    if len(rows) < FEWEST:
        return
    for j in np.flatnonzero(features.is_categorical).tolist():
        codes = features.dictionaries[j].codes
        is_known = rows[:, j] != UNKNOWN
        if MISSING in codes:
            is_known &= rows[:, j] != codes[MISSING]
        if is_known.any():
            continue
        found, values = table.categories(j)
        new = [values[place] for place in np.unique(found) if place >= 0]
        new = [one for one in new if not is_missing(one)]
        known = [one for one in codes if one is not MISSING]
        if not known or not new:
            continue
        warn_once(
            features,
            j,
            f"Column {table.name(j)} has nothing but categories that were not there at "
            f"fit, in all {len(rows)} rows: {_some(new)}; known are {_some(known)}. "
            "What asks for the column says nothing of such rows. Write them as they "
            "were written at fit, case and blanks included.",
        )


def _some(values):
    more = ", ..." if len(values) > SHOWN else ""
    return ", ".join(map(repr, values[:SHOWN])) + more
