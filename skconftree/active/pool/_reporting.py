"""What an active learner tells: its labels, and what its classifier predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._compat import available_if
from ...utils._lock import reads
from ...utils._types import Estimator, Floats, Seed, TableLike
from .._aside import settled
from ._answers import Answer


def _estimator_has(name):
    def check(self):
        estimator = getattr(self, "estimator_", self.estimator)
        getattr(estimator, name)  # its own AttributeError says more than ours
        return True

    return check


class Reporting:
    """Mixin of an active learner that tells what it knows and predicts."""

    @property
    @settled
    @reads
    def classes_(self) -> NDArray[Any]:
        """Labels seen so far."""
        check_is_fitted(self, "_codes")
        return self._coder.classes

    @property
    @settled
    @reads
    def y_(self) -> NDArray[Any]:
        """Labels of the pool's rows."""
        check_is_fitted(self, "_codes")
        return self._coder.write(self._codes)

    @property
    @settled
    @reads
    def n_labeled_(self) -> int:
        """Rows with a label."""
        check_is_fitted(self, "_codes")
        return len(self._order)

    @property
    @settled
    @reads
    def history_(self) -> list[Answer]:
        """What has been taught, in order."""
        check_is_fitted(self, "_codes")
        out = []
        for one in self._answers:
            labels = iter(one.labels.tolist())
            weight = np.ones(len(one.rows)) if one.weight is None else one.weight
            for row, known, w in zip(
                one.rows.tolist(), one.known, weight.tolist(), strict=True
            ):
                out.append(
                    Answer(row, next(labels) if known else self.missing_label, w)
                )
        return out

    @property
    @settled
    @reads
    def audit_(self) -> tuple[int, int]:
        """Wrong predictions among, and number of, the rows drawn for an audit."""
        check_is_fitted(self, "_codes")
        return self._audit()

    def _audit(self):
        judged = [one for one in self._answers if one.n_wrong is not None]
        return (
            sum(one.n_wrong for one in judged),
            sum(int(one.known.sum()) for one in judged),
        )

    # -- predictions of the classifier ----------------------------------------------

    def _fitted(self, X=None):
        check_is_fitted(self, "_codes")
        if not hasattr(self, "estimator_"):
            raise ValueError(
                "There is no label yet that this ActiveLearner could have learnt from. "
                "Ask with query() and answer with teach()."
            )
        if isinstance(self.estimator_, DummyClassifier):
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.estimator_

    @available_if(_estimator_has("predict"))
    @settled
    @reads
    def predict(self, X: TableLike) -> NDArray[Any]:
        """Predict classes with the classifier fitted so far.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._fitted(X).predict(X)

    @available_if(_estimator_has("predict_proba"))
    @settled
    @reads
    def predict_proba(self, X: TableLike) -> Floats:
        """Probabilities of the classifier fitted so far.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns are those of `classes_`; 0 for a class without a label yet.
        """
        model = self._fitted(X)
        proba = model.predict_proba(X)
        seen = getattr(model, "classes_", None)
        if seen is None or len(seen) == len(self.classes_):
            return proba
        places = self._coder.encode(np.asarray(seen))
        if places is None:  # a model that was fitted elsewhere knows more
            return proba
        out = np.zeros((len(proba), len(self.classes_)))
        out[:, places] = proba
        return out

    @available_if(_estimator_has("decision_function"))
    @settled
    @reads
    def decision_function(self, X: TableLike) -> Floats:
        """Decision values of the classifier fitted so far.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        return self._fitted(X).decision_function(X)

    # -- a tree to read ---------------------------------------------------------------

    @settled
    @reads
    def to_tree(
        self,
        *,
        max_leaf_nodes: int | None = None,
        n_rows: int | None = 20_000,
        random_state: Seed = None,
    ) -> Estimator:
        """Grow a tree that answers as the classifier does, on the whole pool.

        A forest makes more of few labels than a tree, and chooses better which to ask
        for; the tree can be read. It says what the forest says of the rows of the pool,
        but of those with a label what that is.

        Parameters
        ----------
        max_leaf_nodes : int, default=None
            Most leaves. None: as many as the default tree has that is grown from the
            labels, at least 16.
        n_rows : int or None, default=20_000
            How many rows to ask the forest of; a smaller pool is filled up with rows
            that are made up between its own. None: the pool as it is.
        random_state : int, RandomState instance or None, default=None
            Draws the rows.

        Returns
        -------
        ConfidenceTreeClassifier
            Fitted, with `fidelity_`; its splits have no evidence.

        Raises
        ------
        TypeError
            If the estimator has no method `to_tree`.
        ValueError
            As long as no labels of two classes are known.

        See Also
        --------
        skconftree.tree.imitate : The same of any classifier.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceForestClassifier
        >>> from skconftree.active import ActiveLearner
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = ConfidenceForestClassifier(random_state=0)
        >>> learner = ActiveLearner(forest, random_state=0).fit(X)
        >>> while learner.n_labeled_ < 20:
        ...     rows = learner.query()
        ...     learner = learner.teach(rows, y[rows])
        >>> bool(learner.to_tree(random_state=0).score(X, y) > 0.9)
        True
        """
        if not hasattr(self.estimator, "to_tree"):
            raise TypeError(
                f"to_tree needs an estimator that has this method, as "
                f"ConfidenceForestClassifier. Got {self.estimator!r}; "
                "skconftree.tree.imitate takes any classifier."
            )
        model = self._fitted(self._pool.X)
        if isinstance(model, DummyClassifier):
            raise ValueError("to_tree needs labels of at least two classes.")
        y = np.full(len(self._codes), None)
        known = self._codes >= 0
        y[known] = self._coder.classes[self._codes[known]]
        return model.to_tree(
            self._pool.X,
            y,
            max_leaf_nodes=max_leaf_nodes,
            n_rows=n_rows,
            random_state=random_state,
        )
