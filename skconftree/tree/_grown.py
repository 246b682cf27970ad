"""What a confidence tree and a confidence forest have in common."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._compat import CallbackSupportMixin, _fit_context, validate_parameters
from ..bounds._registry import BOUNDS
from ..utils._learnt import LearntClassifier, learnt
from ..utils._lock import learns
from ..utils._types import LabelsLike, TableLike
from ._telling import telling
from ._training import read_training


class GrownClassifier(CallbackSupportMixin, LearntClassifier):
    """A classifier that grows from tables and streams of any kind.

    A subclass resolves parameters by `_growth`, which grows a model from a table, and
    has the class of the model, `_kind`.
    """

    is_categorical_ = learnt("schema.is_categorical", "Which columns are nominal.")
    categories_ = learnt(
        "schema.categories", "Categories of the nominal columns.", changes=True
    )
    n_drifts_ = learnt("n_drifts", "Number of drifts found.", changes=True)
    drifts_ = learnt("drifts", "Drifts found, in the order of the rows.", changes=True)
    n_bytes_ = learnt(
        "n_bytes", "Bytes of trees and the memories of their leaves.", changes=True
    )
    n_inactive_leaves_ = learnt(
        "n_inactive_leaves", "Leaves that max_bytes has switched off.", changes=True
    )

    def _validate_params(self):
        validate_parameters(self)

    @_fit_context(prefer_skip_nested_validation=True)
    @learns
    def fit(
        self,
        X: TableLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_pool: TableLike | None = None,
    ) -> Self:
        """Grow from a table, whatever was learnt before.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Training rows; numeric columns are converted to float32. Sparse ones in
            CSR or CSC format, without NaN.
        y : array-like of shape (n_samples,)
            Class labels. The model knows those that occur. If `partial_fit` is to
            learn others later, start with it instead, as it takes all `classes`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, see `sample_weight_kind`. Rows of weight 0 are left
            out.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Unlabelled rows. A bound with a `pool_weight` (``"credible"``) weighs
            a child by all rows that fall into it, labelled or not; other bounds
            do not use them.

        Returns
        -------
        ConfidenceTreeClassifier or ConfidenceForestClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; the estimator is then as it was
            before the call.
        """
        growth = self._growth()
        table = read_training(X, y, sample_weight, X_pool, growth.request)
        return self._fit_table(growth, table, X, y, sample_weight)

    def _growth(self):
        # The parameters that are resolved before a table is read, which say what is
        # read and grow the model from it.
        raise NotImplementedError

    def _fit_table(self, growth, table, X=None, y=None, sample_weight=None):
        # Grow the model and take it over; callbacks are told of X and y.
        with telling(self, X, y, sample_weight) as told:
            model = growth.grow(table, told)
            told.end(model)
        self._model = model
        return self

    def _rows(self, X):
        if self._model is None:
            check_is_fitted(self)  # raises; it takes longer than routing a row
        return self._model.schema.predict(X, type(self).__name__)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        # validate_data asks for tags at each call: no copies of bounds for them
        bounds = self.bound if isinstance(self.bound, list | tuple) else [self.bound]
        tags.classifier_tags.poor_score = any(
            getattr(BOUNDS.get(one) if isinstance(one, str) else one, "cautious", False)
            for one in bounds
        )
        return tags
