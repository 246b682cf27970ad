"""Schema of a table: number, names, kinds and categories of columns; reads all rows.

Reading validates a table and converts it to float32: categories become codes, for which
each nominal column has a `CategoryMap`. `DictRows` are rows given as dictionaries. The
result is `Rows`: a float32 array, whether it is free of NaN, and a schema.
"""

from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, check_array

from .._compat import check_feature_count, check_feature_names
from ..utils._arrays import finiteness
from ..utils._codec import NO_DEFAULT, check_state_parts, merge_defaults
from ._columns import is_number, warn_of_unparseable
from ._dict_rows import DictRows, names_of, read_few
from ._features import (
    MAX_CATEGORIES,
    MISSING,
    CategoryMap,
    Features,
    nominal_columns,
    warn_of_unknown,
)
from ._frames import Table, library_of, refuse_dates, refuse_sparse
from ._row_hashes import Rows, read_plain
from ._sparse import read_sparse

FINITE, _, INFINITE = range(3)  # results of `finiteness`


class Schema(NamedTuple):
    """Number, names and kinds of columns, and categories; validates all later input.

    A schema is immutable. If new rows have unseen categories, reading returns another
    schema, which replaces the old one after all checks have passed. `caller` is the
    name of the estimator, for errors. `names` is None if the first table had no names,
    and `features` is None if all columns are numeric. `dates` marks columns of days
    since 1970-01-01, and `whole` lists columns of integers: their thresholds are
    printed accordingly.
    """

    n_features: int
    names: np.ndarray | None = None
    features: Features | None = None
    dates: tuple[str | None, ...] | None = None
    whole: tuple[int, ...] = ()

    @classmethod
    def first(cls, X, caller, categorical_features=None, *, in_order=False):
        """Read the first rows.

        Categories get codes in ascending order, or in order of appearance if
        `in_order`.
        """
        nominal = nominal_columns(X, categorical_features)
        if nominal is None and _is_plain(X) and X.size:
            with np.errstate(over="ignore"):
                rows = np.ascontiguousarray(X, dtype=np.float32)
            return Rows(rows, _is_finite(rows, caller, None), cls(X.shape[1]))
        names, features, finite = names_of(X), None, True
        if issparse(X):
            if nominal is not None:
                raise ValueError(
                    "categorical_features must be None or 'from_dtype' with sparse X, "
                    f"got {categorical_features!r}: nominal columns need a dense table."
                )
            rows = read_sparse(X, caller)
        elif nominal is None:
            rows = _read_numbers(X, caller)
            finite = _is_finite(rows, caller, names)
        else:
            table = Table.of(X, caller)
            rows, features = Features.blank(nominal).learn(table, in_order=in_order)
            finite = _is_finite(rows, caller, names)
            if isinstance(categorical_features, str):
                warn_of_unparseable(
                    table,
                    partial(_category_counts, rows, features),
                    features,
                    MAX_CATEGORIES,
                )
        return Rows(rows, finite, cls(rows.shape[1], names, features))

    def more(self, X, caller):
        """Read further training rows, which may have new categories."""
        return self._read(X, caller, learns=True)

    def predict(self, X, caller):
        """Read rows for prediction; new categories get the code of unknown ones."""
        return self._read(X, caller, learns=False)

    def _read(self, X, caller, learns):
        # `read_plain` and `read_few` are faster, and return None for most tables
        if self.features is None:
            plain = X if self.names is None else None
            if type(X) is DictRows and X.of_names(self.names):
                plain = X.numbers  # an array, or None if a column is nominal
            rows = read_plain(plain, self.n_features, self)
            if rows is not None:
                return rows
        rows = read_few(X, self.n_features, self.names, self.features, learns=learns)
        if rows is not None:
            status = finiteness(rows)
            if status != INFINITE:
                return Rows(rows, status == FINITE, self)
        self.check_names(X, caller)
        features, finite = self.features, True
        if features is not None:
            table = Table.of(X, caller)
            self.check_count(table, caller)
            if learns:
                rows, features = features.learn(table, in_order=True)
            else:
                rows = features.encode(table)
                warn_of_unknown(table, rows, features)
            finite = _is_finite(rows, caller, self.names)
        elif issparse(X):
            rows = read_sparse(X, caller)
            self.check_count(rows, caller)
        else:
            rows = _read_numbers(X, caller)
            self.check_count(rows, caller)
            finite = _is_finite(rows, caller, self.names)
        known = features is self.features
        return Rows(rows, finite, self if known else self._replace(features=features))

    def known(self, X, caller):
        """Return `Rows` of an array that has been read before."""
        return Rows(X, _is_finite(X, caller, self.names), self)

    def check_names(self, X, caller):
        """Warn or raise if the column names differ from those of the first table."""
        if type(X) is DictRows:
            if not X.of_names(self.names):
                raise ValueError(
                    f"The columns of this {caller} differ from those of the "
                    f"dictionaries, {X.columns}. Start with a new model."
                )
            return
        if library_of(X) is not None or self.names is not None:
            check_feature_names(caller, self.n_features, self.names, X)

    def check_count(self, rows, caller):
        """Raise if the number of columns differs from that of the first table."""
        if rows.shape[1] != self.n_features:
            check_feature_count(caller, self.n_features, rows)

    def of_columns(self, columns):
        """Return the schema of a subset of columns."""
        names = None if self.names is None else self.names[columns]
        features = self.features
        if features is not None:
            features = Features([features.category_maps[j] for j in columns])
        dates = self.dates
        if dates is not None:
            dates = tuple(dates[j] for j in columns)
        whole = tuple(k for k, j in enumerate(columns) if j in self.whole)
        return Schema(len(columns), names, features, dates, whole)

    @property
    def is_categorical(self):
        """Which columns are nominal, as a mask; None if none is."""
        return None if self.features is None else self.features.is_categorical

    @property
    def categories(self):
        """For each nominal column the list of its categories, by code."""
        return None if self.features is None else self.features.categories

    @property
    def max_categories(self):
        """Largest number of categories of a column."""
        return 0 if self.features is None else int(self.features.n_categories.max())

    @property
    def feature_names(self):
        """Names of the columns; raises AttributeError if there are none."""
        if self.names is None:
            raise AttributeError("The columns have no names, or not all are strings.")
        return self.names

    @property
    def columns(self):
        """Names or numbers of the columns, for messages."""
        return range(self.n_features) if self.names is None else self.names

    def keep_learned(
        self, rows, known=None, learned=None, weight=None, *, in_order=False
    ):
        """Remove categories that only rows of weight 0 have, and check their number.

        `known` is the previous schema, and `learned` selects the other rows (None:
        all). See `Features.keep_learned`.
        """
        if self.features is None or self is known:
            return self
        before = None if known is None else known.features
        features = self.features.keep_learned(
            rows, before, learned, weight, in_order=in_order
        )
        if known is not None and features is before:
            return known
        return self._replace(features=features)

    def keep_learned_in_order(self, rows, known, weight):
        """Call `keep_learned` for rows of a stream, given their weights."""
        learned = None if weight is None or weight.all() else weight > 0.0
        return self.keep_learned(rows, known, learned, weight, in_order=True)

    def with_pool(self, X, X_pool, rows, known, weight, caller):
        """Read unlabeled rows, which precede the rows of a stream.

        Their categories get the first codes, so that codes do not depend on the size of
        the first batch. Therefore `rows`, the result of reading X, are read again;
        `known` is the previous schema. Returns rows, float32 pool and schema.
        """
        if self.features is None:
            X_pool = self.predict(X_pool, caller).X
            return rows, as_dense(X_pool), self
        if known is None:
            blank = Features.blank(self.features.is_categorical)
            known = self._replace(features=blank)
        X_pool, _, schema = known.more(X_pool, caller)
        known = schema.keep_learned(X_pool, known, in_order=True)
        rows, _, schema = known.more(X, caller)
        return rows, X_pool, schema.keep_learned_in_order(rows, known, weight)

    def with_columns(self, columns):
        """Add columns of missing values: pairs of a name and whether it is nominal."""
        names, features = self.names, self.features
        if names is not None:
            names = np.array([*names, *(name for name, _ in columns)], dtype=object)
        if features is not None or any(nominal for _, nominal in columns):
            known = [None] * self.n_features
            known = known if features is None else list(features.category_maps)
            features = Features(
                [
                    *known,
                    *(
                        CategoryMap(codes={MISSING: 0}) if n else None
                        for _, n in columns
                    ),
                ]
            )
        dates = self.dates and (*self.dates, *[None] * len(columns))
        n_features = self.n_features + len(columns)
        return self._replace(
            n_features=n_features, names=names, features=features, dates=dates
        )

    def state(self):
        """Return the schema as plain values; categories of other types stay objects."""
        features = None if self.features is None else self.features.as_text()
        return {
            "n_features": self.n_features,
            "names": self.names,
            "features": features,
            "dates": self.dates,
            "whole": self.whole,
        }

    @classmethod
    def of_state(cls, state, owner):
        """Make a schema from a result of `state`; `owner` is named in errors."""
        defaults = {"n_features": NO_DEFAULT, **cls._field_defaults}
        state = merge_defaults(state, defaults, "The schema of a table")
        d, names, features, dates, whole = (state[name] for name in cls._fields)
        if isinstance(features, str):
            with suppress(TypeError, ValueError):  # it remains a string, rejected below
                features = Features.of_text(features)
        fits = features is None or (
            isinstance(features, Features) and len(features.category_maps) == d
        )
        check_state_parts(owner, {"categories_": fits})
        return cls(d, names, features, dates, tuple(whole))


def as_dense(X):
    """Return rows as a dense C-contiguous array."""
    return X.toarray(order="C") if issparse(X) else X


def _category_counts(rows, features, j):
    n = len(features.categories[j])
    return np.bincount(rows[:, j].astype(np.intp), minlength=n)


def _is_plain(X):
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.char in "fd"


def _read_numbers(X, caller):
    # A number that is too large for float32 becomes infinite, which is rejected later.
    refuse_dates(X)
    try:
        with np.errstate(over="ignore"):
            return check_array(
                X,
                dtype=np.float32,
                order="C",
                ensure_all_finite=False,
                estimator=caller,
                input_name="X",
            )
    except (TypeError, ValueError, OverflowError) as error:
        library = library_of(X)  # subclass of `Table` for a frame, or None
        if library is not None:
            table = library(X)
            for j in range(table.shape[1]):
                table.numbers(j)  # raises an error with the name of the column
            refuse_sparse(X)
        if isinstance(error, OverflowError):
            raise ValueError("X has a number that is too large for float32.") from error
        values = np.asarray(X, dtype=object).flat
        if isinstance(error, TypeError) and any(isinstance(v, dict) for v in values):
            raise TypeError(
                f"{error}. Convert rows that are dictionaries with "
                "pandas.DataFrame(X), or use skconftree.evaluation.OneByOne to learn "
                "them one by one."
            ) from error
        is_text = (isinstance(v, str) and not is_number(v) for v in values)
        if library is None and any(is_text):
            raise ValueError(
                f"X has strings ({error}). List the nominal columns in "
                "categorical_features, or pass a frame with suitable dtypes "
                "(set_output(transform='pandas') of earlier steps of a pipeline)."
            ) from error
        raise


def _is_finite(X, caller, names):
    status = finiteness(X)
    if status == INFINITE:
        refuse_infinite(X, caller, names)
    return status == FINITE


def refuse_infinite(X, caller, names, *, allow_nan=True):
    """Raise scikit-learn's error if a value is not finite, with the column name."""
    try:
        with np.errstate(invalid="ignore"):  # of infinities of both signs
            assert_all_finite(
                X, allow_nan=allow_nan, estimator_name=caller, input_name="X"
            )
    except ValueError as error:
        infinite = np.isinf(X).any(axis=0)
        if not infinite.any():
            raise
        name = infinite.argmax() if names is None else repr(names[infinite.argmax()])
        raise ValueError(f"{error} Column {name} holds such a value.") from None
