"""`OneByOne`: a model that learns dictionaries, one row at a time."""

from __future__ import annotations

import copy
import math
import struct
from collections.abc import Hashable, Mapping
from numbers import Real
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..tables._labels import exact_labels
from ..tables._records import Records
from ..utils._available import absence_error
from ..utils._codec import (
    NO_DEFAULT,
    check_state_parts,
    is_missing,
    with_version,
    without_version,
)
from ..utils._lock import Lockable, learns, reads
from ..utils._types import Estimator
from ..utils._warnings import warn
from ._evaluator import resolve_classes


class Dictionaries:
    """Tables of dictionaries, whose columns are those of the first table or the fit."""

    def __init__(self, estimator):
        self.columns = None
        self.warned = False
        if hasattr(estimator, "classes_"):
            if not hasattr(estimator, "feature_names_in_"):
                raise ValueError(
                    "The estimator was fitted with rows without names, so that a "
                    "dictionary does not say which value belongs to which column."
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
    """Table of dictionaries, with columns as (name, kind), `declared` or inferred."""
    values = [
        [
            row.get(name) if kind == "category" else number(row.get(name), name)
            for name, kind in columns
        ]
        for row in rows
    ]
    names = [name for name, _ in columns]
    texts = all(isinstance(name, str) for name in names)
    feature_names = np.array(names, dtype=object) if texts else None
    category = "category" if declared else "str"
    dtypes = [category if kind == "category" else "float64" for _, kind in columns]
    return Records(names, feature_names, dtypes, None, values)


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


if TYPE_CHECKING:
    from collections.abc import Callable

    _Method = TypeVar("_Method")

    # scikit-learn's has no type, and would hide that of the method.
    def available_if(check: Any) -> Callable[[_Method], _Method]: ...
else:
    from sklearn.utils.metaestimators import available_if

MAX_WAITING = 100  # rows until the type of each column must be known
KINDS = ("number", "category")


class OneByOne(Lockable):
    """Let a model learn and predict dictionaries, one row at a time.

    For streams that come as dictionaries, and for loops written for river, whose
    methods these are. A call takes a few microseconds more than the model takes for
    the same row of an array; rows that are there anyway are learned many times faster
    if the model gets them as a table (:doc:`/guide/from_river`). The model becomes what
    it becomes by a frame of the same rows.

    A key is a column, wherever it stands in its dictionary. A column is a number or a
    category as its first value is a number or a text, and the first rows wait until
    each column they have has had a value, at most 100 rows long; a column without any
    by then holds numbers. A missing key is a missing value, as None and NaN are. A key
    that came with none of the first rows is left out, with one warning.
    Categories get their codes in the order in which they come.

    Any number of threads may share one. A pickle has the model in it, and the rows that
    wait.

    Parameters
    ----------
    model : classifier of this package with `partial_fit`
        It is trained in place. A model that has learned rows already goes on; if their
        columns had names, dictionaries must have these keys.
    classes : array-like of shape (n_classes,), default=None
        All labels that may come. None takes those that the model has been fitted with.
    columns : dict of str to {"number", "category"}, default=None
        The columns and what they hold, so that no row has to wait and keys that come
        late are known. None takes the keys of the first rows, or the names of the
        columns that the model has been fitted with.

    Attributes
    ----------
    model : object
        The model given.
    classes : list
        All labels that may come, in ascending order.
    columns : dict of str to {"number", "category"} or None
        The columns given.
    columns_ : dict of str to {"number", "category"} or None
        The columns in their order, and what they hold. None until that is known.
    n_waiting_ : int
        Rows that wait to be learned. They are not, if the stream ends.

    Raises
    ------
    TypeError
        If the model cannot learn from a stream.
    ValueError
        If the classes or the columns are not known, or not those of the model.

    See Also
    --------
    prequential_score : Score of a model that is tested on each row, then learns it.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.evaluation import OneByOne
    >>> model = OneByOne(ConfidenceTreeClassifier(), classes=["walk", "ride"])
    >>> for km, rain in [(1, "no"), (7, "no"), (2, "yes"), (9, "yes")] * 200:
    ...     x = {"km": km, "rain": rain}
    ...     model.learn_one(x, "ride" if km > 5 else "walk")
    >>> model.predict_one({"rain": "no", "km": 8})
    'ride'
    >>> proba = model.predict_proba_one({"km": 0.5})
    >>> proba["walk"] > 0.99
    True
    >>> model.columns_
    {'km': 'number', 'rain': 'category'}
    """

    def __init__(
        self,
        model: Estimator,
        *,
        classes: ArrayLike | None = None,
        columns: dict[str, Any] | None = None,
    ) -> None:
        absent = absence_error(model, "partial_fit", "predict")
        if absent is not None:
            raise TypeError(
                f"model must have partial_fit and predict. Got {model!r} instead: "
                f"{absent}"
            ) from absent
        columns = None if columns is None else _checked_columns(columns)
        self.model = model
        self._given_columns = columns
        self._classes = resolve_classes(model, classes, "model")
        self._fitted = hasattr(model, "classes_")
        # pairs, as a pickle does not keep the order of a dict
        self._columns = columns_of_model(model, columns) if self._fitted else columns
        self._waiting = []
        self._warned = False
        self._prepare()

    @property
    def classes(self) -> list[Any]:
        """All labels that may come, in ascending order."""
        return self._classes.tolist()

    @property
    def columns(self) -> dict[str, str] | None:
        """The columns given."""
        return None if self._given_columns is None else dict(self._given_columns)

    @property
    def columns_(self) -> dict[str, str] | None:
        """The columns in their order, and what they hold."""
        return dict(self._columns) if self._fitted else None

    @property
    def n_waiting_(self) -> int:
        """Rows that wait to be learned."""
        return len(self._waiting)

    @learns
    def learn_one(self, x: dict[Any, Any], y: Any, *, w: float = 1.0) -> None:
        """Learn one row.

        Parameters
        ----------
        x : dict
            Values by the names of their columns.
        y : label
            One of the classes.
        w : float, default=1.0
            Weight of the row.

        Raises
        ------
        ValueError
            If a value does not fit its column, or the label is not known; the row is
            not learned then.
        """
        if not self._fitted:
            self._begin(x, y, w)
            return
        label = self._labels.get(y)
        if label is None:
            label = exact_labels([y])  # the model says what is wrong, or learns it
        if w == 1.0:
            self._call(self.model.partial_fit, x, label)
        else:
            self._call(self.model.partial_fit, x, label, sample_weight=[w])

    @reads
    def predict_one(self, x: dict[Any, Any]) -> Any:
        """Predict the label of one row.

        Parameters
        ----------
        x : dict
            Values by the names of their columns.

        Returns
        -------
        label or None
            None before the model has learned a row.
        """
        if self._fitted:
            return self._call(self.model.predict, x).item()
        return None

    @reads
    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Predict the probability of each label of one row.

        Parameters
        ----------
        x : dict
            Values by the names of their columns.

        Returns
        -------
        dict of label to float
            Empty before the model has learned a row.
        """
        if self._fitted:
            proba = self._call(self.model.predict_proba, x)
            return dict(
                zip(self.model.classes_.tolist(), proba[0].tolist(), strict=True)
            )
        return {}

    @available_if(lambda self: hasattr(super(), "clone"))
    @reads
    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> OneByOne:
        """Make another one with the same parameters that has not learned any rows.

        Only a subclass that is a model of river has this method, which is river's.

        Parameters
        ----------
        new_params : dict, default=None
            Parameters that are to be different.
        include_attributes : bool, default=False
            Whether the copy has learned what this one has.

        Returns
        -------
        OneByOne
        """
        # river copies the values of parameters; the model is trained in place
        model = self.model if include_attributes else clone(self.model)
        params = {"model": model, **(new_params or {})}
        return super().clone(params, include_attributes)

    def __repr__(self):
        columns = "" if self._columns is None else f", columns={dict(self._columns)}"
        return f"{type(self).__name__}({self.model!r}, classes={self.classes}{columns})"

    def _prepare(self):
        # What reading a row needs. A model has its own opinion of what is nominal.
        labels = self.classes
        self._labels = {one: self._classes[i : i + 1] for i, one in enumerate(labels)}
        if not self._fitted:
            return
        names = [name for name, _ in self._columns]
        nominal = getattr(self.model, "is_categorical_", None)
        plain = nominal is None or not any(nominal)
        nominal = [False] * len(names) if plain else map(bool, nominal)
        self._dtypes = ["str" if one else "float64" for one in nominal]
        self._names = names
        self._feature_names = getattr(self.model, "feature_names_in_", None)
        self._pack = struct.Struct(f"{len(names)}d").pack if plain else None
        self._take = itemgetter(*names) if len(names) > 1 else _Only(*names)

    def _call(self, method, x, *args, **kwargs):
        """Hand a row to the model."""
        row = self._row(x)
        try:
            return method(row, *args, **kwargs)
        except ValueError:
            # what the model says of columns is about frames
            for name, dtype in zip(self._names, self._dtypes, strict=True):
                if dtype == "float64":
                    number(x.get(name), name)
            raise

    def _row(self, x):
        try:
            values = self._take(x)
            if len(x) > len(values):
                self._warn_of(x)
        except KeyError:
            values = [x.get(name) for name in self._names]
            self._warn_of(x)
        except (TypeError, IndexError) as error:  # of a list, say
            raise TypeError(_refusal(x)) from error
        if self._pack is None:
            return self._records(None, [values])
        try:
            numbers = self._pack(*values)
        except (struct.error, TypeError, ValueError, OverflowError):
            numbers = self._pack(*map(number, values, self._names))
        return self._records(np.frombuffer(numbers).reshape(1, -1), None)

    def _records(self, numbers, values):
        return Records(self._names, self._feature_names, self._dtypes, numbers, values)

    def _warn_of(self, x):
        unknown = x.keys() - set(self._names)
        if unknown and not self._warned:
            self._warned = True
            warn(
                "Keys that came with none of the first rows are left out: "
                f"{sorted(unknown, key=str)}. Name them in columns to keep them."
            )

    def _begin(self, x, y, w):
        # Learn them at once, as soon as it is known what their columns are.
        if not isinstance(x, Mapping):
            raise TypeError(_refusal(x))
        if y not in self._labels:
            raise ValueError(
                f"y must be one of the classes {list(self._labels)}. Got {y!r} instead."
            )
        waiting = [*self._waiting, (list(x.items()), y, w)]
        pairs, labels, weights = map(list, zip(*waiting, strict=True))
        rows, columns = list(map(dict, pairs)), self._columns
        declared = columns is not None
        if not declared:
            columns = columns_in(rows)
            if None in columns.values() and len(rows) < MAX_WAITING:
                self._waiting = waiting
                return
            columns = [(name, kind or "number") for name, kind in columns.items()]
        given = {} if set(weights) == {1.0} else {"sample_weight": weights}
        self.model.partial_fit(
            table_of(rows, columns, declared=declared),
            np.concatenate([self._labels[one] for one in labels]),
            classes=self._classes,
            **given,
        )
        vars(self).update(_columns=columns, _waiting=[], _fitted=True)
        self._prepare()
        self._warn_of(x)

    @reads
    def __getstate__(self):
        # The model and what is known of its rows are of one moment.
        state = {name: vars(self)[name] for name in KEPT}
        return with_version(copy.deepcopy(state))

    def __setstate__(self, state):
        later = {"_given_columns": None, "_waiting": [], "_warned": False}
        known = dict.fromkeys(KEPT, NO_DEFAULT) | later
        vars(self).update(without_version(state, known, type(self).__name__))
        self._prepare()
        sound = isinstance(self._waiting, list) and all(
            _is_waiting(one, self._labels) for one in self._waiting
        )
        check_state_parts(self, {"n_waiting_": sound})


def _is_waiting(row, labels):
    # Pairs of column and value, the label and the weight, which is checked later.
    if not (isinstance(row, tuple) and len(row) == 3 and isinstance(row[0], list)):
        return False
    pairs, label, weight = row
    return (
        all(isinstance(one, tuple) and len(one) == 2 for one in pairs)
        and isinstance(label, Hashable)
        and label in labels
        and isinstance(weight, Real)
    )


KEPT = (
    "model",
    "_classes",
    "_columns",
    "_fitted",
    "_given_columns",
    "_waiting",
    "_warned",
)


class _Only:
    """Take the value of the only column there is."""

    def __init__(self, name):
        self.name = name

    def __call__(self, x):
        return (x[self.name],)


def _refusal(x):
    return (
        "x must be a dict of values by the names of their columns. Got "
        f"{type(x).__name__} instead."
    )


def _checked_columns(columns):
    if not isinstance(columns, dict) or not columns:
        raise ValueError(
            "columns must be a dict of names to 'number' or 'category'. Got "
            f"{columns!r} instead."
        )
    for name, kind in columns.items():
        if kind not in KINDS:
            raise ValueError(
                f"columns must say 'number' or 'category' of {name!r}. Got {kind!r} "
                "instead."
            )
    return list(columns.items())
