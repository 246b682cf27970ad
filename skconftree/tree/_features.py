"""Tables with numeric and nominal columns, as matrices of numbers and codes.

A nominal column becomes the codes 0, 1, ... of its categories. A missing value in it
is one more category; a category without a code is -1. Numbers stay what they are,
NaN where they are missing.
"""

import json
import numbers
import sys
from collections import defaultdict

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, check_X_y
from sklearn.utils.validation import validate_data

from ..utils._finite import finiteness
from ._sparse import read_sparse

MAX_CATEGORIES = 4096
UNKNOWN = -1.0
MISSING = None  # as a category

FINITE, _, INFINITE = range(3)


def read_table(estimator, X, y, *, reset=True, **options):
    """Turn what a user gives to `fit` into arrays.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and `feature_names_in_`.
    X : array-like, sparse or frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    reset : bool, default=True
        False compares with what the first call found.
    categorical_features : None, "from_dtype" or array-like
    in_order : bool
        Give categories their codes in the order of the rows, not sorted.

    Returns
    -------
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,)
    features : Features or None
        None if no column is nominal.
    """
    nominal = nominal_columns(X, options["categorical_features"])
    if issparse(X):
        if nominal is not None:
            raise ValueError(
                "categorical_features must be None or 'from_dtype' with sparse X, got "
                f"{options['categorical_features']!r}: nominal columns need a dense "
                "table."
            )
        return *read_sparse(estimator, X, y, reset=reset), None
    if nominal is None:
        X, y = _numeric(estimator, X, y, reset=reset)
        is_finite(X, estimator)
        return X, y, None
    table = _Table.of(estimator, X, reset)
    features = Features([_Dictionary() if one else None for one in nominal])
    matrix, features = features.learn(table, in_order=options["in_order"])
    is_finite(matrix, estimator)
    matrix, y = check_X_y(
        matrix, y, dtype=np.float32, order="C", ensure_all_finite=False
    )
    return matrix, y, features


def read_more(estimator, X, y, features):
    """Turn further rows into arrays, for an estimator that goes on learning.

    Parameters
    ----------
    estimator : estimator
        It has seen rows.
    X : array-like, sparse or frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    features : Features or None
        What was found so far.

    Returns
    -------
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,)
    features : Features or None
        With new categories behind the others, in the order of the rows.
    finite : bool
        Whether there is no NaN.
    """
    if features is None and issparse(X):
        return *read_sparse(estimator, X, y), None, True
    if features is None:
        rows = _plain_rows(estimator, X, y)
        if rows is None:
            rows, y = _numeric(estimator, X, y, reset=False)
        return rows, y, None, is_finite(rows, estimator)
    table = _Table.of(estimator, X, reset=False)
    rows, features = features.learn(table, in_order=True)
    rows, y = check_X_y(rows, y, dtype=np.float32, order="C", ensure_all_finite=False)
    return rows, y, features, is_finite(rows, estimator)


def _numeric(estimator, X, *y, reset):
    # Without nominal columns scikit-learn's reading will do.
    try:
        return validate_data(
            estimator,
            X,
            *y,
            reset=reset,
            dtype=np.float32,
            order="C",
            ensure_all_finite=False,
        )
    except (TypeError, ValueError):
        library = _library(X)
        if library is not None:
            table = library(X)
            for j in range(table.shape[1]):
                table.numbers(j)  # an error of its own, with the name of the column
        raise


def _plain_rows(estimator, X, y):
    # Streams of single rows would spend most of their time in scikit-learn's checks.
    # What passes this one passes those; anything else gets their verdict.
    if (
        type(X) is np.ndarray
        and type(y) is np.ndarray
        and X.ndim == 2
        and y.ndim == 1
        and X.dtype in (np.float32, np.float64)
        and len(X) == len(y) > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    ):
        rows = np.ascontiguousarray(X, dtype=np.float32)
        if finiteness(rows) != INFINITE:
            return rows
    return None


def read_rows(estimator, X, features):
    """Turn rows to be predicted into a matrix.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like, sparse or frame of shape (n_rows, n_features)
    features : Features or None
        What `read_table` found.

    Returns
    -------
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
    finite : bool
        Whether there is no NaN.
    """
    if features is None and issparse(X):
        return read_sparse(estimator, X), True
    if features is None:
        X = _numeric(estimator, X, reset=False)
    else:
        X = features.encode(_Table.of(estimator, X, reset=False))
    return X, is_finite(X, estimator)


def read_with_pool(estimator, X, X_pool, features, known):
    """Give the categories of rows without label the first codes.

    These rows are there before the first row of the stream, so that codes must not
    depend on how much of the stream came with them.

    Parameters
    ----------
    estimator : estimator
        It has read `X`.
    X, X_pool : array-like or frame
    features : Features
        What reading `X` found.
    known : Features or None
        What was known before.

    Returns
    -------
    X, X_pool : ndarray, float32, C-contiguous
    features : Features
    """
    if known is None:
        known = Features(
            [None if one is None else _Dictionary() for one in features.dictionaries]
        )
    X_pool, features = known.learn(_Table.of(estimator, X_pool, reset=False))
    is_finite(X_pool, estimator)
    X, features = features.learn(_Table.of(estimator, X, reset=False))
    return X, X_pool, features


def is_finite(X, estimator):
    """Whether no value is NaN; infinity is an error. Sparse X has been checked."""
    if issparse(X):
        return True
    found = finiteness(X)
    if found == INFINITE:
        assert_all_finite(
            X, allow_nan=True, estimator_name=type(estimator).__name__, input_name="X"
        )
    return found == FINITE


# -- which columns are nominal ----------------------------------------------------


def nominal_columns(X, categorical_features):
    """Resolve the parameter `categorical_features`.

    Parameters
    ----------
    X : array-like or frame
    categorical_features : None, "from_dtype" or array-like of bool, int or str

    Returns
    -------
    list of bool or None
        One for each column; None if no column is nominal.
    """
    if categorical_features is None:
        return None
    library = _library(X)
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
        unknown = [str(one) for one in given if one not in names]
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


# -- codes of categories ----------------------------------------------------------


class _Dictionary:
    """Categories of one column and their codes."""

    def __init__(self, kind=None, codes=None):
        self.kind = kind  # of its values; None before the first
        self.codes = {} if codes is None else codes

    def encode(self, found, values, name, *, learn=False, in_order=True):
        """Codes of a column given as indices into `values`, -1 = missing.

        Returns
        -------
        codes : ndarray of shape (n_rows,), float32
        dictionary : _Dictionary
            With the categories that were new; self if none was.
        """
        found = found + 1
        keys = [MISSING, *(MISSING if _is_missing(v) else v for v in values)]
        used = np.flatnonzero(np.bincount(found, minlength=len(keys)))
        kind = self._kind_of([keys[place] for place in used], name)
        dictionary = self
        if learn and any(keys[place] not in self.codes for place in used):
            if in_order:
                used = used[np.argsort(np.unique(found, return_index=True)[1])]
                order = [keys[place] for place in used]
            else:
                order = {keys[place] for place in used}
                missing = [MISSING] if MISSING in order else []
                order = sorted(order.difference(missing)) + missing
            codes = dict(self.codes)
            for value in order:
                codes.setdefault(value, len(codes))
            if len(codes) > MAX_CATEGORIES:
                raise ValueError(
                    f"Column {name} has {len(codes)} categories; at most "
                    f"{MAX_CATEGORIES} are supported."
                )
            dictionary = _Dictionary(kind, codes)
        table = [dictionary.codes.get(value, UNKNOWN) for value in keys]
        return np.array(table, dtype=np.float32)[found], dictionary

    def _kind_of(self, values, name):
        kinds = {_kind(value) for value in values if value is not MISSING}
        if len(kinds) > 1:
            raise ValueError(_mixture(name, kinds))
        kind = kinds.pop() if kinds else self.kind
        if self.kind is not None and self.kind != kind:
            raise ValueError(
                f"Column {name} held {self.kind} when its categories were learnt, and "
                f"holds {kind} now."
            )
        return kind


class Features:
    """What the columns of a table are; never changes.

    Parameters
    ----------
    dictionaries : list of _Dictionary or None
        None for a numeric column.
    """

    def __init__(self, dictionaries):
        self.dictionaries = dictionaries

    def __reduce__(self):
        # As text, so that equal features give equal pickles whatever objects their
        # categories once were; other than text, numbers and truth values cannot.
        try:
            text = json.dumps(
                [
                    None if one is None else [one.kind, [*map(_plain, one.codes)]]
                    for one in self.dictionaries
                ]
            )
        except TypeError:
            return Features, (self.dictionaries,)
        return _restore_features, (text,)

    @property
    def n_categories(self):
        """Number of categories of each column; 0 for a numeric one."""
        return np.array(
            [0 if one is None else max(len(one.codes), 1) for one in self.dictionaries],
            dtype=np.int32,
        )

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
        """As `encode`, and give new categories the next codes.

        Returns
        -------
        matrix : ndarray of shape (n_rows, n_features), float32
        features : Features
            With the new categories; self if there is none.
        """
        matrix, dictionaries = self._encode(table, learn=True, in_order=in_order)
        if all(map(lambda a, b: a is b, dictionaries, self.dictionaries)):
            return matrix, self
        return matrix, Features(dictionaries)

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


def _plain(value):
    # A value as json knows it.
    if value is MISSING:
        return None
    return value.item() if isinstance(value, np.generic) else value


def _restore_features(text):
    dictionaries = []
    for column in json.loads(text):
        if column is None:
            dictionaries.append(None)
            continue
        kind, values = column
        keys = [MISSING if value is None else value for value in values]
        dictionaries.append(_Dictionary(kind, {key: i for i, key in enumerate(keys)}))
    return Features(dictionaries)


def _is_missing(value):
    # None, NaN, pandas' NA and NaT: not equal to themselves, or not even that.
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True


def _kind(value):
    if isinstance(value, str):
        return "text"
    if isinstance(value, (bool, np.bool_)):
        return "truth values"
    if isinstance(value, numbers.Real):
        return "numbers"
    return f"{type(value).__name__} objects"


# -- columns of tables ------------------------------------------------------------


class _Table:
    """Columns of an array; of a frame in the subclasses.

    Parameters
    ----------
    X : ndarray or frame of shape (n_rows, n_features)
    """

    def __init__(self, X):
        self.X = X
        self.shape = X.shape

    @staticmethod
    def of(estimator, X, reset):
        """Check shape and names of X and wrap it."""
        library = _library(X)
        if library is not None:
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            if not X.shape[0]:
                raise ValueError(
                    f"Found array with 0 sample(s) (shape={X.shape}) while a minimum "
                    f"of 1 is required by {type(estimator).__name__}."
                )
            return library(X)
        return _Table(
            validate_data(
                estimator, X, reset=reset, dtype=None, ensure_all_finite=False
            )
        )

    def name(self, j):
        """Name of a column for messages."""
        names = self.names(self.X)
        return repr(names[j]) if names is not None else str(j)

    @staticmethod
    def names(X):
        return None

    def numbers(self, j):
        """One numeric column."""
        try:
            # infinity is reported where it is looked for
            with np.errstate(over="ignore"):
                column = np.asarray(self._numbers(j))
                if column.dtype.kind == "c":
                    raise TypeError("complex numbers are not supported")
                return column.astype(np.float32, copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Column {self.name(j)} is not numeric ({error}). A column of "
                "categories needs a category, enum or string dtype, or its place in "
                "categorical_features."
            ) from error

    def _numbers(self, j):
        return self.X[:, j]

    def categories(self, j):
        """One nominal column as indices into a list of values, -1 = missing."""
        column = self.X[:, j]
        if column.dtype.kind != "O":
            values, found = np.unique(column, return_inverse=True)
            return found, values.tolist()
        return _factorize(column, self.name(j))


def _factorize(column, name):
    # True is equal to 1, so only their types tell a mixture
    kinds = {_kind(kind()) for kind in set(map(type, column)) if kind in _NUMBER_TYPES}
    if len(kinds) > 1:
        raise ValueError(_mixture(name, kinds))
    places = defaultdict()
    places.default_factory = places.__len__
    try:
        found = np.fromiter(
            map(places.__getitem__, column), dtype=np.intp, count=len(column)
        )
    except TypeError as error:
        raise ValueError(
            f"Column {name} holds values that are no categories ({error})."
        ) from error
    return found, list(places)


_NUMBER_TYPES = (bool, np.bool_, int, float, np.float64, np.int64)


def _mixture(name, kinds):
    return (
        f"Column {name} mixes {' and '.join(sorted(kinds))}; a nominal column must "
        "hold one type of values."
    )


class _PandasTable(_Table):
    @staticmethod
    def names(X):
        return list(X.columns)

    @staticmethod
    def dtypes(X):
        return X.dtypes

    @staticmethod
    def is_nominal(dtype):
        return dtype.name == "category" or dtype.name.startswith(
            ("str", "large_string", "dictionary")
        )

    def _numbers(self, j):
        column = self.X.iloc[:, j]
        if column.dtype.kind in "mMc":
            raise TypeError(f"its dtype is {column.dtype}")
        return column.to_numpy(dtype=np.float32, na_value=np.nan)

    def categories(self, j):
        column = self.X.iloc[:, j]
        if column.dtype.name == "category":
            return column.cat.codes.to_numpy(np.intp), column.cat.categories.tolist()
        if column.dtype.kind == "O" and not self.is_nominal(column.dtype):
            return _factorize(column.to_numpy(), self.name(j))
        found, values = column.factorize()
        return found, values.tolist()


class _PolarsTable(_Table):
    @staticmethod
    def names(X):
        return X.columns

    @staticmethod
    def dtypes(X):
        return X.dtypes

    @staticmethod
    def is_nominal(dtype):
        return str(dtype.base_type()) in {"Categorical", "Enum", "String"}

    def _numbers(self, j):
        column = self.X.to_series(j)
        if not (column.dtype.is_numeric() or str(column.dtype) in {"Boolean", "Null"}):
            raise TypeError(f"its dtype is {column.dtype}")
        return column.cast(sys.modules["polars"].Float64).to_numpy()

    def categories(self, j):
        polars = sys.modules["polars"]
        column = self.X.to_series(j)
        if self.is_nominal(column.dtype):
            column = column.cast(polars.String)
        values = column.drop_nulls().unique()
        found = column.replace_strict(
            values,
            polars.int_range(len(values), eager=True),
            default=-1,
            return_dtype=polars.Int64,
        )
        return found.to_numpy(), values.to_list()


class _ArrowTable(_Table):
    @staticmethod
    def names(X):
        return X.column_names

    @staticmethod
    def dtypes(X):
        return X.schema.types

    @staticmethod
    def is_nominal(dtype):
        name = str(dtype)
        return name.startswith("dictionary") or name in {
            "string",
            "large_string",
            "string_view",
        }

    def _numbers(self, j):
        column = self.X.column(j)
        if column.type.num_fields or str(column.type) not in _ARROW_NUMBERS:
            raise TypeError(f"its type is {column.type}")
        return column.to_numpy()

    def categories(self, j):
        column = self.X.column(j)
        if not str(column.type).startswith("dictionary"):
            column = column.dictionary_encode()
        column = column.unify_dictionaries().combine_chunks()
        return (
            column.indices.cast("int64").fill_null(-1).to_numpy(),
            column.dictionary.to_pylist(),
        )


_ARROW_NUMBERS = {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("halffloat", "float", "double", "bool", "null"),
}
_FRAMES = {
    ("pandas", "DataFrame"): _PandasTable,
    ("polars", "DataFrame"): _PolarsTable,
    ("pyarrow", "Table"): _ArrowTable,
}
# Almost frames, and how they become one.
_NO_FRAMES = {
    ("polars", "LazyFrame"): "X.collect()",
    ("pyarrow", "RecordBatch"): "pyarrow.Table.from_batches([X])",
}


def _library(X):
    # Frames are known by name: none of these libraries is needed here.
    for cls in type(X).__mro__:
        name = cls.__module__.partition(".")[0], cls.__name__
        if name in _NO_FRAMES:
            raise TypeError(f"X is a {'.'.join(name)}; pass {_NO_FRAMES[name]}.")
        found = _FRAMES.get(name)
        if found is not None:
            return found
    return None
