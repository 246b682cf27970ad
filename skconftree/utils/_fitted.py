"""What an estimator has of its model: properties, and a part of its state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._codec import (
    VERSION,
    canonical,
    default_parameters,
    with_version,
    without_version,
    written_by,
)
from ._lock import Lockable, names_class, reads
from ._types import Floats, TableLike


def fitted(name, doc, *, changes=False):
    """Property of what `_model` has learned (``"a.b"``), or NotFittedError."""
    names = name.split(".")

    def get(self):
        if self._model is None:
            check_is_fitted(self)
        value = self._model
        for one in names:
            value = getattr(value, one)
        return value

    return property(reads(get) if changes else get, doc=doc)


class ModelClassifier(Lockable, ClassifierMixin, BaseEstimator):
    """What classifiers are: parameters, and a model of the class `_kind`, or None.

    A subclass reads rows by `_rows(X)`, and says by `_best(rows)` which class is best.
    """

    _model = None  # what has been learnt

    classes_: NDArray[Any] = fitted("classes.names", "Class labels.")
    n_classes_: int = fitted("classes.n", "Number of classes.")
    n_features_in_: int = fitted("schema.n_features", "Number of features.")
    feature_names_in_: NDArray[Any] = fitted(
        "schema.feature_names", "Names of the features."
    )
    n_rows_seen_: int = fitted("n_rows_seen", "Number of rows learnt.")

    def __sklearn_is_fitted__(self):
        return self._model is not None

    def _draw_seed(self):
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @reads
    def predict(self, X: TableLike) -> NDArray[Any]:
        """Most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of any kind that `fit` takes.

        Returns
        -------
        ndarray of shape (n_samples,)
            Among equally probable classes the first of `classes_`.
        """
        rows = self._rows(X)
        return self._model.classes.names.take(self._best(rows))

    @names_class
    def predict_log_proba(self, X: TableLike) -> Floats:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of any kind that `predict_proba` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @reads
    def __getstate__(self):
        attributes = super().__getstate__()
        if self._model is not None:
            attributes = attributes | {"_model": self._model.state()}
        return with_version(attributes)

    def __setstate__(self, state):
        kind = type(self)
        found = state.get(VERSION) if isinstance(state, dict) else None
        state = without_version(state, default_parameters(kind), kind.__name__)
        # trees that share an array go on to do so
        model = canonical(state.get("_model"))
        if model is not None:
            with written_by(found):
                state = state | {"_model": self._kind.of_state(model, self)}
        super().__setstate__(state)
