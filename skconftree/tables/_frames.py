"""Columns of arrays and of data frames.

Data frames of pandas, polars and pyarrow are recognized by the names of their classes,
so that none of these libraries has to be imported. `DictRows`, which are rows given as
dictionaries, are recognized in the same way. The subclass of `Table` that reads the
frames of a library is called its `library`.
"""

import numbers
import sys
from array import array
from collections import defaultdict

import numpy as np
from sklearn.utils import check_array

from ._columns import DATES, is_date  # DATES: advice for messages

CATEGORIES = (
    "A nominal column must have a category, enum or string dtype, or be listed in "
    "categorical_features."
)
_NUMBER_TYPES = {bool, np.bool_, int, float, np.float64, np.int64}


class Table:
    """Columns of an array or, in subclasses, of a data frame.

    Subclasses also define `is_category` and `is_nominal` of a dtype, and `to_numbers`,
    the code by which a user converts a column to numbers, for messages.
    """

    declaring = "a category dtype"  # how a user declares that a column is nominal

    def __init__(self, X):
        self.X = X
        self.shape = X.shape
        self._names = self.names(X)  # cached, because creating the list is slow

    @staticmethod
    def of(X, caller):
        """Validate the shape of X and wrap it; `caller` is an estimator's name."""
        library = library_of(X)
        if library is not None:
            if not X.shape[0]:
                raise ValueError(
                    f"Found array with 0 sample(s) (shape={X.shape}) while a minimum "
                    f"of 1 is required by {caller}."
                )
            return library(X)
        return Table(
            check_array(
                X, dtype=None, ensure_all_finite=False, estimator=caller, input_name="X"
            )
        )

    def name(self, j):
        """Name of a column for messages."""
        return repr(self._names[j]) if self._names is not None else str(j)

    @staticmethod
    def names(X):
        return None

    @staticmethod
    def rows(X):
        """Values of each row as Python objects; None if not supported."""
        return None

    def numbers(self, j):
        """Return a numeric column as float32."""
        try:
            # infinity is reported later
            with np.errstate(over="ignore"):
                column = np.asarray(self._numbers(j))
                if column.dtype.kind == "c":
                    raise TypeError("complex numbers are not supported")
                return column.astype(np.float32, copy=False)
        except OverflowError as error:
            raise ValueError(
                f"Column {self.name(j)} has a number that is too large for float32."
            ) from error
        except (TypeError, ValueError) as error:
            remedy = DATES if self._holds_dates(j) else CATEGORIES
            raise ValueError(
                f"Column {self.name(j)} is not numeric ({error}). {remedy}"
            ) from error

    @staticmethod
    def dtypes(X):
        """Dtype of each column."""
        return [X.dtype] * X.shape[1]

    @staticmethod
    def is_date(dtype):
        """Whether a dtype is a date, time or duration."""
        return getattr(dtype, "kind", None) in ("m", "M")

    def _holds_dates(self, j):
        if self.is_date([*self.dtypes(self.X)][j]):
            return True
        return any(map(is_date, self._objects(j)))

    def _objects(self, j):
        return self.X[:, j] if self.X.dtype.kind == "O" else ()

    def _numbers(self, j):
        return self.X[:, j]

    def categories(self, j):
        """Return a nominal column as indices into a list of values; -1: missing."""
        column = self.X[:, j]
        if column.dtype.kind != "O":
            values, indices = np.unique(column, return_inverse=True)
            return indices, values.tolist()
        return _factorize(column, self.name(j))


def _factorize(column, name):
    # True == 1, so a mixture can only be detected by the types
    kinds = {
        kind_of(kind()) for kind in set(map(type, column)) if kind in _NUMBER_TYPES
    }
    if len(kinds) > 1:
        raise ValueError(mixed_kinds_message(name, kinds))
    indices_by_value = defaultdict()
    indices_by_value.default_factory = indices_by_value.__len__
    try:
        indices = np.fromiter(
            map(indices_by_value.__getitem__, column), dtype=np.intp, count=len(column)
        )
    except TypeError as error:
        raise ValueError(
            f"Column {name} has values that cannot be categories ({error})."
        ) from error
    return indices, list(indices_by_value)


class _PandasTable(Table):
    @staticmethod
    def to_numbers(name):
        return f'pandas.to_numeric(X[{name}], errors="coerce")'

    @staticmethod
    def is_category(dtype):
        return dtype.name == "category" or dtype.name.startswith("dictionary")

    names = staticmethod(lambda X: list(X.columns))
    rows = staticmethod(lambda X: X.to_numpy(dtype=object).tolist())
    dtypes = staticmethod(lambda X: X.dtypes)

    @staticmethod
    def is_nominal(dtype):
        return dtype.name == "category" or dtype.name.startswith(
            ("str", "large_string", "dictionary")
        )

    def _objects(self, j):
        column = self.X.iloc[:, j]
        is_object = column.dtype.kind == "O" and not self.is_nominal(column.dtype)
        return column.to_numpy(dtype=object) if is_object else ()

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
        indices, values = column.factorize()
        return indices, values.tolist()


class _PolarsTable(Table):
    @staticmethod
    def to_numbers(name):
        return f"X[{name}].cast(polars.Float64, strict=False)"

    @staticmethod
    def is_category(dtype):
        return str(dtype.base_type()) in {"Categorical", "Enum"}

    names = staticmethod(lambda X: X.columns)
    rows = staticmethod(lambda X: X.rows())
    dtypes = staticmethod(lambda X: X.dtypes)

    @staticmethod
    def is_nominal(dtype):
        return str(dtype.base_type()) in {"Categorical", "Enum", "String"}

    is_date = staticmethod(lambda dtype: dtype.is_temporal())

    def _objects(self, j):
        return ()

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
        indices = column.replace_strict(
            values,
            polars.int_range(len(values), eager=True),
            default=-1,
            return_dtype=polars.Int64,
        )
        return indices.to_numpy(), values.to_list()


class _ArrowTable(Table):
    @staticmethod
    def to_numbers(name):
        return f'pandas.to_numeric(X[{name}].to_pandas(), errors="coerce")'

    is_category = staticmethod(lambda dtype: str(dtype).startswith("dictionary"))
    names = staticmethod(lambda X: X.column_names)
    dtypes = staticmethod(lambda X: X.schema.types)

    @staticmethod
    def is_nominal(dtype):
        name = str(dtype)
        return name.startswith("dictionary") or name in {
            "string",
            "large_string",
            "string_view",
        }

    @staticmethod
    def is_date(dtype):
        return str(dtype).startswith(("date", "time", "duration"))

    def _objects(self, j):
        return ()

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


class _DictRowsTable(Table):
    declaring = "`columns` of OneByOne"  # which learns rows given as dictionaries

    to_numbers = staticmethod(lambda name: f"None in their place and float(x[{name}])")
    is_category = staticmethod(lambda dtype: dtype == "category")
    names = staticmethod(lambda X: X.columns)
    dtypes = staticmethod(lambda X: X.dtypes)
    is_nominal = staticmethod(lambda dtype: dtype in ("str", "category"))

    def _objects(self, j):
        return () if self.X.numbers is not None else [row[j] for row in self.X.values]

    def _numbers(self, j):
        if self.X.numbers is not None:
            return self.X.numbers[:, j]
        column = (row[j] for row in self.X.values)
        return np.array(array("d", (np.nan if v is None else v for v in column)))

    def categories(self, j):
        column = np.empty(len(self.X.values), dtype=object)
        column[:] = [row[j] for row in self.X.values]
        return _factorize(column, self.name(j))


_ARROW_NUMBERS = {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("halffloat", "float", "double", "bool", "null"),
}
_FRAMES = {
    ("pandas", "DataFrame"): _PandasTable,
    ("polars", "DataFrame"): _PolarsTable,
    ("pyarrow", "Table"): _ArrowTable,
    ("skconftree", "DictRows"): _DictRowsTable,
}
# Types that the user has to convert to a data frame, and the code that does it.
_NO_FRAMES = {
    ("polars", "LazyFrame"): "X.collect()",
    ("pyarrow", "RecordBatch"): "pyarrow.Table.from_batches([X])",
}
# Lazy tables, which conversion to an array would compute.
_OF_DASK = {("dask", "DataFrame"), ("dask_expr", "DataFrame"), ("dask", "Array")}


def library_of(X):
    """Subclass of `Table` for this type of data frame; None for other types."""
    for cls in type(X).__mro__:
        name = cls.__module__.partition(".")[0], cls.__name__
        if name in _OF_DASK:
            mapped = "map_blocks" if name[1] == "Array" else "map_partitions"
            raise TypeError(
                f"X is a Dask {name[1]}, which fit and predict do not load. Use "
                "large.fit(estimator, X, target=...) to fit it, "
                f"X.{mapped}(estimator.predict, meta=...) to predict it, or pass "
                "X.compute() if it fits into memory."
            )
        if name in _NO_FRAMES:
            raise TypeError(f"X is a {'.'.join(name)}; pass {_NO_FRAMES[name]}.")
        library = _FRAMES.get(name)
        if library is not None:
            return library
    return None


def refuse_dates(X):
    """Raise if a column has dates, which NumPy would convert to large numbers."""
    library = library_of(X)
    if library is None:
        if isinstance(X, np.ndarray) and Table.is_date(X.dtype):
            raise ValueError(f"X is not numeric (its dtype is {X.dtype}). {DATES}")
        return
    for j, dtype in enumerate(library.dtypes(X)):
        if library.is_date(dtype):
            library(X).numbers(j)  # raises an error that names the column


def refuse_sparse(X):
    """Raise if a column of a data frame is sparse; scikit-learn does not support it."""
    library = library_of(X)
    for name, dtype in zip(library.names(X), library.dtypes(X), strict=True):
        if str(dtype).startswith("Sparse["):
            raise TypeError(
                f"Column {name!r} is sparse (its dtype is {dtype}). Pass "
                "X.sparse.to_dense() instead, or X.sparse.to_coo() to an estimator "
                "that takes sparse matrices."
            )


def kind_of(value):
    """Kind of a value, which all categories of a column must share."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, (bool, np.bool_)):
        return "truth values"
    if isinstance(value, numbers.Real):
        return "numbers"
    return f"{type(value).__name__} objects"


def mixed_kinds_message(name, kinds):
    """Message for a column of values of several kinds."""
    return (
        f"Column {name} mixes {' and '.join(sorted(kinds))}; a nominal column must "
        "have values of one type."
    )
