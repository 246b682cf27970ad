"""Base of classifiers that hold a model: fitted attributes, prediction and pickling.

The `schema` of a model has the names and types of the columns. `reads` decorates a
method that locks the estimator while it reads it, and `names_class` one whose errors
about arguments name the class.
"""

from __future__ import annotations

from operator import attrgetter
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
from ._doc_links import DocLinkMixin
from ._lock import Lockable, names_class, reads
from ._types import Floats, TableLike


def fitted(name, doc, *, changes=False):
    """Return a property that reads ``_model.<name>``, where `name` may be dotted.

    It raises NotFittedError before `fit`. `changes`: whether learning changes the
    value, so that reading it requires the lock.
    """
    value_of = attrgetter(name)

    def get(self):
        if self._model is None:
            check_is_fitted(self)
        return value_of(self._model)

    return property(reads(get) if changes else get, doc=doc)


class ModelClassifier(Lockable, DocLinkMixin, ClassifierMixin, BaseEstimator):
    """Base class of classifiers: parameters, and a model of the class `_kind` or None.

    The model has all that `fit` or `partial_fit` learned, such as a tree. A subclass
    defines `_rows(X)`, which validates rows, and `_best(rows)`, which returns the index
    of the most probable class of each row.
    """

    _model = None  # None before `fit`

    classes_: NDArray[Any] = fitted("classes.names", "Class labels.")
    n_classes_: int = fitted("classes.n", "Number of classes.")
    n_features_in_: int = fitted("schema.n_features", "Number of features.")
    feature_names_in_: NDArray[Any] = fitted(
        "schema.feature_names", "Names of the features."
    )
    n_rows_seen_: int = fitted("n_rows_seen", "Number of rows learned.")

    def __sklearn_is_fitted__(self):
        return self._model is not None

    def _draw_seed(self):
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @reads
    def predict(self, X: TableLike) -> NDArray[Any]:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in any format that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted classes. If several classes are equally probable, the first of
            them in `classes_` is predicted.
        """
        rows = self._rows(X)
        return self._model.classes.names.take(self._best(rows))

    @names_class
    def predict_log_proba(self, X: TableLike) -> Floats:
        """Predict the logarithm of the class probabilities of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in any format that `predict_proba` accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Natural logarithm of `predict_proba`; -inf for a probability of 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @reads
    def __getstate__(self):
        return self._state_with(self._model)

    def _state_with(self, model):
        attributes = super().__getstate__()
        if model is not None:
            attributes = attributes | {"_model": model.state()}
        return with_version(attributes)

    @reads
    def _compact_state(self):
        # State of a copy that can only predict, for `save_model`.
        return self._state_with(self._model.compacted())

    def __setstate__(self, state):
        kind = type(self)
        writer = state.get(VERSION) if isinstance(state, dict) else None
        state = without_version(state, default_parameters(kind), kind.__name__)
        # arrays that trees share remain shared
        model = canonical(state.get("_model"))
        if model is not None:
            with written_by(writer):
                state = state | {"_model": self._kind.of_state(model, self)}
        super().__setstate__(state)
