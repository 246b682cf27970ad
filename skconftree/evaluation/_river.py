"""Wrapper that makes a classifier of this package a classifier of river.

River is a package for learning from streams. Its methods for one row end in `_one`,
those for a frame in `_many`; the former are in the base class `OneByOne`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_consistent_length

from ..utils._types import Estimator
from ._one_by_one import OneByOne


@cache
def _with_base(kind):
    # Return a class that inherits from `kind` and from river's base class, which is
    # imported here, because river is optional.
    try:
        from river.base import MiniBatchClassifier
    except ImportError as error:
        raise ImportError(
            f"{kind.__name__} needs river. Install it: pip install river"
        ) from error
    if issubclass(kind, MiniBatchClassifier):
        return kind
    body = {"__doc__": kind.__doc__, "__module__": kind.__module__}
    body |= {name: getattr(MiniBatchClassifier, name) for name in ("clone", "__repr__")}
    return type(kind.__name__, (kind, MiniBatchClassifier), body)


def _new(kind):
    # An object of `kind` that also inherits from river's base class.
    return OneByOne.__new__(_with_base(kind))


class RiverClassifier(OneByOne):
    """Wrapper that turns a classifier of this package into a classifier of river.

    It works in pipelines, ensembles, model selection and evaluation of river, and
    passes river's checks of estimators. A row is a dictionary; which keys are numbers
    and which are categories is determined as in :class:`OneByOne`.

    Parameters
    ----------
    estimator : classifier with `partial_fit`
        It is not modified: a clone of it is trained, or a copy if it is already fitted
        with column names.
    classes, columns, late_columns : object
        As for :class:`OneByOne`; `late_columns` is for keys that the first rows do not
        have. By default, each label becomes a class when it is first learned, and each
        key a column.

    Attributes
    ----------
    estimator_ : classifier
        The trained classifier.
    classes_ : list
        Labels in ascending order.
    columns_ : dict or None
        Names and kinds of the columns; None until they are known.
    n_rows_seen_ : int
        Number of learned rows.
    drift_detected : bool
        Whether the classifier detected a drift at the last row.

    Raises
    ------
    ImportError
        If river is not installed.

    See Also
    --------
    OneByOne : Trains a model with dictionaries, without river.

    Examples
    --------
    >>> from river import evaluate, metrics, preprocessing  # doctest: +SKIP
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.evaluation import RiverClassifier
    >>> model = RiverClassifier(ConfidenceTreeClassifier())  # doctest: +SKIP
    >>> pipeline = preprocessing.StandardScaler() | model  # doctest: +SKIP
    """

    # River expects the constructor arguments as attributes; in `OneByOne`, `classes` is
    # a property.
    classes: ArrayLike | None = None
    columns: dict[str, Any] | None = None
    _sorts_keys = True  # columns are in the order of their names
    # names of the attributes that are pickled, with defaults for older pickles
    _state = OneByOne._state | dict.fromkeys(("estimator", "classes", "columns"))

    def __new__(
        cls,
        estimator: Estimator,
        *,
        classes: ArrayLike | None = None,
        columns: dict[str, Any] | None = None,
        late_columns: str = "add",
    ) -> Self:
        return _new(cls)

    def __init__(
        self,
        estimator: Estimator,
        *,
        classes: ArrayLike | None = None,
        columns: dict[str, Any] | None = None,
        late_columns: str = "add",
    ) -> None:
        fitted = hasattr(estimator, "classes_")
        super().__init__(
            copy.deepcopy(estimator) if fitted else clone(estimator),
            classes=classes,
            columns=columns,
            late_columns=late_columns,
        )
        self.estimator, self.classes, self.columns = estimator, classes, columns

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        # Parameters for river's checks of estimators.
        from sklearn.naive_bayes import GaussianNB

        yield {"estimator": GaussianNB(), "classes": (False, True)}

    @property
    def _multiclass(self) -> bool:
        # For river: whether more than two classes are supported.
        return True

    def __reduce__(self):
        # the class with river's base is created at run time
        return _new, (type(self).__mro__[1],), self.__getstate__()

    @property
    def estimator_(self) -> Estimator:
        """The trained classifier."""
        return self.model

    @property
    def classes_(self) -> list[Any]:
        """Labels in ascending order."""
        return self._classes.tolist()

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a frame, which is faster than one by one.

        Parameters
        ----------
        X : pandas.DataFrame
            Rows.
        y : pandas.Series
            Labels.
        """
        check_consistent_length(X, y)
        labels, n = list(y), 0
        if self.columns_ is None:  # the first rows determine the columns
            for x in X.to_dict("records"):
                self.learn_one(x, labels[n])
                n += 1
                if self.columns_ is not None:
                    break
        if n < len(labels):
            self._learn_many(X[n:], labels[n:])

    def predict_many(self, X: Any) -> Any:
        """Predict the labels of the rows of a frame.

        Parameters
        ----------
        X : pandas.DataFrame
            Rows.

        Returns
        -------
        pandas.Series
            None before a row was learned.
        """
        labels = np.full(len(X), None)
        if self.columns_ is not None and len(X):
            labels[:] = self.model.predict(self._table(X)).tolist()
        return X.iloc[:, :0].assign(label=labels)["label"].rename(None)

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probability of each label of the rows of a frame.

        Parameters
        ----------
        X : pandas.DataFrame
            Rows.

        Returns
        -------
        pandas.DataFrame
            One column per label; none before a row was learned.
        """
        empty = X.iloc[:, :0]
        if self.columns_ is None:
            return empty
        model, proba = self.model, np.zeros((0, len(self.classes_)))
        if len(X):
            proba = model.predict_proba(self._table(X))
        columns = zip(model.classes_.tolist(), proba.T, strict=True)
        return type(X)(dict(columns), index=X.index)
