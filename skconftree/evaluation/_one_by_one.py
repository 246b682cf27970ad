"""Train and predict with dictionaries, one row at a time, as in the package river.

The *kind* of a column is "number" or "category" (nominal). `DictRows` is a table with
known names and kinds of columns. *Late* columns are keys that first occur after the
columns were determined. The method `_extend` of a tree or forest adds classes and
columns to the fitted model. Methods decorated by `learns` or `reads` take the lock of
an object for writing or reading.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from itertools import pairwise
from numbers import Real
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..tables._dict_rows import DictRows
from ..tables._dictionaries import (
    KINDS,
    columns_in,
    columns_of_model,
    complete,
    number,
    table_of,
    warn_about_keys,
)
from ..tables._labels import exact_labels
from ..utils._available import absence_error, available_if
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

MAX_WAITING = 100  # rows after which columns without any value become numeric
MAX_LATE_COLUMNS = 1000  # maximum number of columns that are added later


class OneByOne(Lockable):
    """Wrapper that trains a model with dictionaries, one row at a time.

    Use it for streams of dictionaries, and for code that is written for river, because
    it has the same methods. A call takes a few microseconds more than for the same row
    of an array. If many rows are available at once, training with a table is many times
    faster (:doc:`/guide/coming_from`). The fitted model is the same as that of a frame
    with the same rows.

    Each key is a column; the order of keys in a dictionary does not matter. A column is
    numeric or categorical if its first value is a number or a string. Therefore, the
    first rows are only learned when each of their columns has had a value, or after 100
    rows; a column without any value until then is numeric. A missing key is a missing
    value, like None and NaN. Categories are encoded in the order of their appearance.
    A key that first occurs later becomes a column whose values were missing before, and
    a new label becomes a class.

    Threads can share an object. A pickle contains the model and the rows that wait to
    be learned.

    Parameters
    ----------
    model : classifier of this package with `partial_fit`
        It is trained in place. If it is already fitted with column names, the keys must
        be these names.
    classes : array-like of shape (n_classes,), default=None
        All labels that can occur; others are then an error. None means any labels, each
        of which becomes a class when it is first learned; only
        `ConfidenceTreeClassifier` and `ConfidenceForestClassifier` support this, if
        they are not fitted.
    columns : dict of str to {"number", "category"}, default=None
        Names and kinds of the columns. With it, rows are learned immediately, and other
        keys are ignored. None infers the columns from the first rows, or takes those of
        the fitted model.
    late_columns : {"add", "drop"}, default="add"
        What to do with keys that do not occur in the first rows, without `columns`:
        ``"add"`` makes a column of each, up to 1,000, ``"drop"`` ignores them. Either
        way, there is one warning. Columns can be added to a `ConfidenceTreeClassifier`
        and a `ConfidenceForestClassifier`; other models ignore the keys. A leaf with
        many rows uses a new numeric column for splits after its next split, because its
        thresholds are fixed.

    Attributes
    ----------
    model : object
        The wrapped model.
    classes : list
        All labels that can occur, or have occurred, in ascending order.
    columns : dict of str to {"number", "category"} or None
        The constructor argument.
    late_columns : {"add", "drop"}
        The constructor argument.
    columns_ : dict of str to {"number", "category"} or None
        Names and kinds of the columns in their order; None until they are known.
    n_waiting_ : int
        Number of rows that wait to be learned. If the stream ends before, they are
        never learned.
    n_rows_seen_ : int
        Number of rows that the model has learned, without those that wait.
    drift_detected : bool
        Whether the model detected a drift at the last learned row, which the parameter
        `drift` of the model enables.

    Raises
    ------
    TypeError
        If the model has no `partial_fit` or `predict`.
    ValueError
        If the classes or the columns are neither passed nor known from the model, or
        differ from those of the model.

    See Also
    --------
    prequential_score : Score of a model that is tested on each row, then trained on it.

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

    _sorts_keys = False  # whether columns are in the order of their names
    # Names of the attributes that are pickled, with defaults for older pickles.
    _state = dict.fromkeys(("model", "_classes", "_columns", "_fitted"), NO_DEFAULT)
    _state |= {"_given_columns": None, "_waiting": [], "_warned": False}
    _state |= {"_n_drifts_before": None, "late_columns": "drop", "_n_late": 0}
    _state |= {"_adds_classes": False, "_adds_columns": False}

    def __init__(
        self,
        model: Estimator,
        *,
        classes: ArrayLike | None = None,
        columns: dict[str, Any] | None = None,
        late_columns: str = "add",
    ) -> None:
        absent = absence_error(model, "partial_fit", "predict")
        if absent is not None:
            raise TypeError(
                f"model must have partial_fit and predict. Got {model!r}: {absent}"
            ) from absent
        columns = None if columns is None else _checked_columns(columns)
        if late_columns not in ("add", "drop"):
            raise ValueError(
                f"late_columns must be 'add' or 'drop'. Got {late_columns!r}."
            )
        self.model = model
        self._given_columns, self.late_columns = columns, late_columns
        self._fitted = hasattr(model, "classes_")
        can_extend = hasattr(model, "_extend")
        self._adds_classes = classes is None and can_extend and not self._fitted
        self._adds_columns = columns is None and can_extend and late_columns == "add"
        self._n_late = 0
        self._classes = np.zeros(0, dtype=object)
        if not self._adds_classes:
            self._classes = resolve_classes(model, classes, "model")
        # pairs, because the pickle sorts the keys of a dict
        self._columns = columns_of_model(model, columns) if self._fitted else columns
        self._waiting = []
        self._warned = False
        self._n_drifts_before = None
        self._prepare()

    @property
    def classes(self) -> list[Any]:
        """All labels that can occur, or have occurred, in ascending order."""
        return self._classes.tolist()

    @property
    def columns(self) -> dict[str, str] | None:
        """The constructor argument."""
        return None if self._given_columns is None else dict(self._given_columns)

    @property
    def columns_(self) -> dict[str, str] | None:
        """Names and kinds of the columns in their order."""
        return dict(self._columns) if self._fitted else None

    @property
    def n_waiting_(self) -> int:
        """Number of rows that wait to be learned."""
        return len(self._waiting)

    @property
    def n_rows_seen_(self) -> int:
        """Number of rows that the model has learned, without those that wait."""
        return self.model.n_rows_seen_ if self._fitted else 0

    @property
    def drift_detected(self) -> bool:
        """Whether the model detected a drift at the last learned row."""
        return (
            self._n_drifts_before is not None
            and self._count_drifts() > self._n_drifts_before
        )

    def _count_drifts(self):
        # Number of drifts so far; None if the model does not detect drift.
        monitors_drift = getattr(self.model, "drift", None) is not None
        return getattr(self.model, "n_drifts_", None) if monitors_drift else None

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
            If a value does not fit its column, or the label is not in the given
            `classes`. The row is then not learned.
        """
        if not isinstance(x, dict) and not isinstance(x, Mapping):
            raise _not_a_row(x)
        if not self._fitted:
            self._begin(x, y, w)
        elif (self._adds_classes and y not in self._labels) or (
            self._adds_columns and not x.keys() <= self._known
        ):
            with self._extended(x, y):
                self._learn(x, y, w)
        else:
            self._learn(x, y, w)

    def _learn(self, x, y, w):
        self._n_drifts_before = self._count_drifts()
        label = self._labels.get(y)
        if label is None:
            label = exact_labels([y])  # a list; the model raises the error or learns it
        if w == 1.0:
            self._call(self.model.partial_fit, x, label)
        else:
            self._call(self.model.partial_fit, x, label, sample_weight=[w])

    @reads
    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the label of one row.

        Parameters
        ----------
        x : dict
            Values by the names of their columns.
        **kwargs
            Ignored; as in river.

        Returns
        -------
        label or None
            None before the model has learned a row.
        """
        if self._fitted:
            return self._call(self.model.predict, x).item()
        return None

    @reads
    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label of one row.

        Parameters
        ----------
        x : dict
            Values by the names of their columns.
        **kwargs
            Ignored; as in river.

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

    @available_if(lambda self: self.model.explain)
    @reads
    def explain_one(self, x: dict[Any, Any]) -> list[dict[str, Any]]:
        """Statistics of every split on the path of one row, see the tree's `explain`.

        Only wrappers of a tree have this method.

        Parameters
        ----------
        x : dict
            Values by the names of their columns.

        Returns
        -------
        list of dict
            One dict per split, from the root down. Empty before the model has learned a
            row.
        """
        return self._call(self.model.explain, x)[0] if self._fitted else []

    @available_if(lambda self: super().clone)
    @reads
    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> OneByOne:
        """Return an unfitted object with the same parameters, like river's `clone`.

        Only subclasses that also inherit from a class of river have this method.

        Parameters
        ----------
        new_params : dict, default=None
            Parameters to change.
        include_attributes : bool, default=False
            Whether to copy the fitted model.

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
        classes = self._classes.tolist()
        return f"{type(self).__name__}({self.model!r}, classes={classes}{columns})"

    def _prepare(self):
        # Prepare the conversion of labels and rows. `_labels` maps a label to an array
        # of it, and `_known` has the names of the columns; the fitted model determines
        # which columns are nominal. `_take` gets the values of a dictionary in the
        # order of the columns; if all are numbers, `_pack` converts them to bytes.
        self._labels = {
            label: self._classes[i : i + 1]
            for i, label in enumerate(self._classes.tolist())
        }
        if not self._fitted:
            return
        names = [name for name, _ in self._columns]
        self._known = frozenset(names)
        nominal = getattr(self.model, "is_categorical_", None)
        is_numeric = nominal is None or not any(nominal)
        nominal = [False] * len(names) if is_numeric else nominal
        self._dtypes = ["str" if is_nominal else "float64" for is_nominal in nominal]
        self._names = names
        self._feature_names = getattr(self.model, "feature_names_in_", None)
        self._pack = struct.Struct(f"{len(names)}d").pack if is_numeric else None
        take = itemgetter(*names)  # returns a tuple unless there is only one name
        self._take = take if len(names) > 1 else lambda x: (take(x),)

    def _call(self, method, x, *args, **kwargs):
        """Call a method of the model with a row."""
        row = self._row(x)
        try:
            return method(row, *args, **kwargs)
        except ValueError:
            # a message about the value is more helpful than that of the model
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
        except (TypeError, IndexError) as error:  # if x is a list
            raise _not_a_row(x) from error
        if self._pack is None:
            return self._to_rows(numbers=None, values=[values])
        try:
            numbers = self._pack(*values)
        except (struct.error, TypeError, ValueError, OverflowError):
            numbers = self._pack(*map(number, values, self._names))
        return self._to_rows(np.frombuffer(numbers).reshape(1, -1), values=None)

    def _to_rows(self, numbers, values):
        return DictRows(self._names, self._feature_names, self._dtypes, numbers, values)

    @learns
    def _learn_many(self, X, labels):
        # Learn the rows of a pandas frame; the model is the same as after `learn_one`
        # for each row. The columns are known.
        self._table(X)  # raises errors before the first row is learned
        stops = {0, len(labels)}
        if self._adds_classes:
            new = {label: i for i, label in reversed(list(enumerate(labels)))}
            stops |= {i for label, i in new.items() if label not in self._labels}
        if self._adds_columns:
            for name in set(X.columns) - self._known:
                stops |= set(np.flatnonzero(X[name].notna())[:1].tolist())
        stops = sorted(stops)
        for start, stop in pairwise(stops):
            (x,) = X[start : start + 1].to_dict("records")
            with self._extended(x, labels[start]):
                self._n_drifts_before = self._count_drifts()
                table = self._table(X[start:stop])
                self.model.partial_fit(table, labels[start:stop])

    def _table(self, X):
        # Convert a pandas frame as dictionaries are converted; the columns are known.
        self._warn_of(dict.fromkeys(X.columns))
        if self._pack is not None and set(self._names) <= set(X.columns):
            with suppress(TypeError, ValueError):  # errors name the value below
                numbers = X[self._names].to_numpy(np.float64, na_value=np.nan)
                return self._to_rows(numbers, values=None)
        return table_of(X.to_dict("records"), self._columns)

    def _warn_of(self, x):
        if self._adds_columns or self._warned:
            return
        unknown = x.keys() - self._known
        if unknown:
            self._warned = True
            warn_about_keys(unknown, " Declare them in `columns` to use them.")

    @contextmanager
    def _extended(self, x, y):
        # Add the new columns and the new class of a row to the model, before the row is
        # learned. If learning fails, remove them again (`undo`).
        before, undo = dict(vars(self)), None
        try:
            labels = [y] if self._adds_classes and y not in self._labels else []
            columns = self._late_columns(x) if self._adds_columns else []
            if labels or columns:
                undo = self.model._extend(labels, columns)
                self._classes = self.model.classes_
                self._n_late += len(columns)
                kinds = [(name, KINDS[is_nominal]) for name, is_nominal in columns]
                self._columns = [*dict(self._columns).items(), *kinds]
                self._prepare()
            yield
        except BaseException:
            # `undo` returns False if a row has been learned since
            if undo is None or undo():
                vars(self).update(before)
            raise

    def _late_columns(self, x):
        # Keys that have a value and are not columns yet, and whether they are nominal.
        new = {name: x[name] for name in sorted(x.keys() - self._known, key=str)}
        new = {name: value for name, value in new.items() if not is_missing(value)}
        if self._feature_names is not None:
            new = {name: value for name, value in new.items() if isinstance(name, str)}
        columns = [(name, isinstance(value, str)) for name, value in new.items()]
        for name, is_nominal in columns:
            is_nominal or number(new[name], name)  # raises an error if it is invalid
        if self._n_late + len(columns) > MAX_LATE_COLUMNS:
            self._adds_columns, self._warned, columns = False, True, []
            reason = f"{MAX_LATE_COLUMNS} columns have been added"
            warn_about_keys(new, f" The reason: {reason}.")
        elif columns and not self._warned:
            self._warned = True
            warn(
                "Keys that do not occur in the first rows become columns that were "
                f"missing before: {list(new)}. late_columns='drop' ignores such keys."
            )
        return columns

    def _begin(self, x, y, w):
        # Store a row, or learn all waiting rows at once if their columns are known.
        if y not in self._labels and not self._adds_classes:
            raise ValueError(
                f"y must be one of the classes {list(self._labels)}. Got {y!r}."
            )
        pairs = sorted(x.items(), key=_name) if self._sorts_keys else list(x.items())
        waiting = [*self._waiting, (pairs, y, w)]
        pairs, labels, weights = map(list, zip(*waiting, strict=True))
        rows, columns = list(map(dict, pairs)), self._columns
        declared = columns is not None
        if not declared:
            columns = columns_in(rows)
            if None in columns.values() and len(rows) < MAX_WAITING:
                self._waiting = waiting
                return
            columns = complete(columns)  # those without any value become numeric
        arguments = {} if set(weights) == {1.0} else {"sample_weight": weights}
        table, classes = table_of(rows, columns, declared=declared), self._classes
        if self._adds_classes:
            classes = labels
        else:
            labels = np.concatenate([self._labels[label] for label in labels])
        self.model.partial_fit(table, labels, classes=classes, **arguments)
        classes = self.model.classes_ if self._adds_classes else self._classes
        vars(self).update(_columns=columns, _waiting=[], _fitted=True, _classes=classes)
        self._prepare()
        self._warn_of(x)

    @reads
    def __getstate__(self):
        # Copied under the lock, so that the model and the waiting rows are consistent.
        state = {name: vars(self)[name] for name in self._state}
        return with_version(copy.deepcopy(state))

    def __setstate__(self, state):
        vars(self).update(without_version(state, self._state, type(self).__name__))
        self._prepare()
        is_valid = isinstance(self._waiting, list) and all(
            _is_waiting(row, None if self._adds_classes else self._labels)
            for row in self._waiting
        )
        check_state_parts(self, {"n_waiting_": is_valid})


def _name(pair):
    return str(pair[0])


def _is_waiting(row, labels):
    # Whether this is a tuple of pairs of column and value, a label and a weight.
    try:
        pairs, label, weight = row
        dict(pairs)
        hash(label)
        is_known = labels is None or label in labels
        return isinstance(pairs, list) and is_known and isinstance(weight, Real)
    except (TypeError, ValueError):
        return False


def _not_a_row(x):
    return TypeError(
        "x must be a dict that maps the names of columns to values. Got "
        f"{type(x).__name__}."
    )


def _checked_columns(columns):
    if not isinstance(columns, dict) or not columns:
        raise ValueError(
            "columns must be a dict that maps names to 'number' or 'category'. Got "
            f"{columns!r}."
        )
    for name, kind in columns.items():
        if kind not in KINDS:
            raise ValueError(
                f"columns must map {name!r} to 'number' or 'category'. Got {kind!r}."
            )
    return list(columns.items())
