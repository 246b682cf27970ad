"""Growth with `partial_fit`."""

import copy
import warnings

import numpy as np
from sklearn import get_config

from .._compat import InvalidParameterError, _safe_indexing
from ..tables._reading import is_finite, read_with_pool, settle
from ..tables._weights import resolve_class_weight, stream_weights
from ..utils import check_classes, class_indices, exact_labels, unchanged_on_error
from ..utils._lock import learns, reads
from ._resolve import draw_seed, resolve_statement
from ._training import read_chunk
from .stream._feeding import learn_rows
from .stream._make_grower import make_grower, start_grower
from .stream._recipe import make_recipe

NO_POOL = (
    "from_pool needs an X_pool, given to the first call of partial_fit, and a bound "
    "that weighs its rows."
)


class StreamWeights:
    """Mixin of an estimator that learns rows as they arrive, and weighs them.

    It has `_class_weights` and `_weight_seen`.
    """

    def _row_weights(self, sample_weight, X, labels, classes):
        weight = None
        if sample_weight is not None:
            weight = stream_weights(
                sample_weight,
                X,
                self.sample_weight_kind,
                self._weight_seen(),
                stacklevel=4,
            )
        per_class = self._class_weights(classes)
        if per_class is not None and not per_class.all():
            # a class of weight 0 is not learnt
            weight = np.ones(len(labels)) if weight is None else weight
            weight = np.where(per_class[labels] > 0.0, weight, 0.0)
        return weight


class OnlineGrowth(StreamWeights):
    """Mixin of a tree estimator that learns rows as they arrive."""

    _draws_for_life = False  # as in `Recipe`: trees of a forest do

    def partial_fit(
        self,
        X,
        y,
        classes=None,
        sample_weight=None,
        *,
        X_pool=None,
        from_pool=None,
    ):
        """Go on growing the tree with further rows.

        Rows are learnt one by one in their order: a stream gives the same tree,
        bit for bit, however it is cut into calls. After `fit` the fitted leaves
        grow on, and `shrinkage` ends. Splits are never removed. Parameters of the
        growth are those of the first call.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows in the order of their arrival; numeric columns are converted to
            float32. Which columns are nominal is settled by the first call; new
            categories may come later.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur. Needed on the first call, unless the tree is
            fitted already.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. The weight of a row enters at once; a row of weight
            0 is not learnt.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Rows without label, on the first call only. A bound with a `pool_weight`
            (``"credible"``) weighs a child by all rows that fall into it.
        from_pool : array-like of shape (n_samples,), default=None
            Learn these rows of `X_pool`, that of the first call, given by their places,
            with X=None. A row that has got its label is no longer one without.

        Returns
        -------
        ConfidenceTreeClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; nothing is learnt then.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = ConfidenceTreeClassifier(bound="credible", delta=0.1)
        >>> for start in range(0, 150, 50):
        ...     chunk = slice(start, start + 50)
        ...     tree = tree.partial_fit(X[chunk], y[chunk], classes=[0, 1, 2])
        >>> tree.n_rows_seen_
        150
        """
        self._learn(X, y, classes, sample_weight, X_pool, from_pool, None)
        return self

    def partial_fit_predict(
        self,
        X,
        y,
        classes=None,
        sample_weight=None,
        *,
        X_pool=None,
        return_proba=False,
    ):
        """Predict each row, then learn it: `partial_fit` with foresight.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows in the order of their arrival.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur, as in `partial_fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight 0 is predicted, but not learnt.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Rows without label, on the first call only.
        return_proba : bool, default=False
            Give class probabilities instead of classes.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) if `return_proba`
            The class predicted for each row by the tree as it was before the row
            was learnt: what prequential evaluation compares with `y`. Or the
            probabilities, those of `predict_proba` before the row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.utils import shuffle
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = shuffle(*load_iris(return_X_y=True), random_state=0)
        >>> tree = ConfidenceTreeClassifier(bound="credible", delta=0.1)
        >>> predicted = tree.partial_fit_predict(X, y, classes=[0, 1, 2])
        >>> bool((predicted == y).mean() > 0.8)
        True
        >>> tree.partial_fit_predict(X[:2], y[:2], return_proba=True).shape
        (2, 3)
        """
        tells = "proba" if return_proba else "class"
        return self._learn(X, y, classes, sample_weight, X_pool, None, tells)

    @learns
    def _learn(self, X, y, classes, sample_weight, X_pool, from_pool, tells):
        # Every check comes before the first row; what is learnt stays learnt if
        # the rest of the rows cannot be. scikit-learn's _fit_context costs as much as
        # learning ten rows, and parameters are those of the call that growth began in.
        first = not self.__sklearn_is_fitted__()
        if self._grower is None and not get_config()["skip_parameter_validation"]:
            self._validate_params()
        self._check_call(first, classes, X_pool)
        with unchanged_on_error(self):
            if type(y) is not np.ndarray:
                y = exact_labels(y)
            begins = self._grower is None and X_pool is not None
            if from_pool is not None and begins:
                pool = X_pool if hasattr(X_pool, "shape") else np.asarray(X_pool)
                from_pool = self._places(X, np.asarray(y), from_pool, pool.shape[0])
                X = _safe_indexing(pool, from_pool)
            given, known = X, self._features
            if from_pool is not None and not begins:
                y = np.asarray(y)
                X, from_pool = self._rows_of_pool(X, y, from_pool)
                features, names = known, self.classes_
                finite = is_finite(X, self)
                if classes is not None:
                    check_classes(names, classes)
            else:
                X, y, features, finite, names = read_chunk(
                    self, X, y, classes, first, stacklevel=3
                )
            labels = class_indices(names, y)
            weight = None
            if sample_weight is not None or self.class_weight is not None:
                weight = self._row_weights(sample_weight, X, labels, names)
            if X_pool is not None:
                X, X_pool, features = read_with_pool(
                    self, given, X_pool, X, features, known, weight
                )
            elif features is not known:
                features = settle(X, features, known, weight)
            if self._honest_counts is not None:
                warnings.warn(
                    "partial_fit lets the tree grow: the rows that were counted for "
                    "honest limits, by recount_leaves or honest_share, are discarded. "
                    "Count rows again when it has grown.",
                    UserWarning,
                    stacklevel=3,
                )
            if self._grower is None:
                self._start_growing(names, features, X_pool, first)
                if from_pool is not None and self._grower.recipe.X_pool is None:
                    raise ValueError(NO_POOL)
            if features is not None:
                self._grower.reserve_codes(int(features.n_categories.max()))
            self._grower.set_memory_aside()
            self._features = features
        vars(self).pop("_honest_counts", None)
        if self._grower.tree.shrinkage > 0.0:
            # a leaf that grows would carry along what its ancestors knew long ago
            self._grower.tree.shrunk_by(0.0)
        predicted = np.empty(len(labels), dtype=np.intp) if tells == "class" else None
        proba = np.empty((len(labels), len(names))) if tells == "proba" else None
        try:
            learn_rows(
                self._grower, X, labels, weight, finite, predicted, proba, from_pool
            )
        finally:
            self.tree_ = self._grower.tree
            self.n_rows_seen_ = self._rows_before + self._grower.n_rows_seen
        return proba if predicted is None else names.take(predicted)

    def _rows_of_pool(self, X, y, places):
        # Rows of the pool that have no label yet, and their places as the grower wants
        # them.
        pool = None if self._grower is None else self._grower.recipe.X_pool
        if pool is None:
            raise ValueError(NO_POOL)
        places = self._places(X, y, places, len(pool))
        again = ~self._grower.are_unlabelled(places)
        if again.any():
            raise ValueError(
                f"Row {places[again][0]} of X_pool has been learnt already."
            )
        return pool[places], places

    @staticmethod
    def _places(X, y, places, n_pool):
        # Checked, but for whether a row has been learnt.
        if X is not None:
            raise ValueError("X must be None with from_pool, which says which rows.")
        places = np.asarray(places)
        if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
            raise ValueError(
                f"from_pool must be places in X_pool, integers. Got {places!r} instead."
            )
        outside = (places < 0) | (places >= n_pool)
        if outside.any():
            raise ValueError(
                f"from_pool must be places in X_pool, from 0 to {n_pool - 1}. Got "
                f"{places[outside][0]} instead."
            )
        if y.shape != places.shape:
            raise ValueError(
                f"y must have a label for each row of from_pool. Got shape {y.shape} "
                f"for {len(places)} rows."
            )
        if len(np.unique(places)) < len(places):
            raise ValueError(f"from_pool names a row twice: {places}.")
        return places.astype(np.int32)

    def _check_call(self, first, classes, X_pool):
        # Raise if partial_fit cannot do what it is asked for.
        if self.pruning not in ("auto", None):
            raise InvalidParameterError(
                f"The 'pruning' parameter of {type(self).__name__} must be 'auto' or "
                f"None in partial_fit, which never removes a split. Got "
                f"{self.pruning!r} instead."
            )
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once and does not work "
                "with partial_fit. Give the weights as a dict instead."
            )
        if first and classes is None:
            raise ValueError(
                "classes must be given on the first call to partial_fit: all "
                "classes that may occur in the stream."
            )
        if X_pool is not None and self._grower is not None:
            raise ValueError(
                "X_pool can be given to the first call of partial_fit only."
            )

    def _class_weights(self, classes):
        if self._grower is not None:
            return self._grower.recipe.class_weight
        return resolve_class_weight(
            self.class_weight, classes, np.arange(len(classes)), None
        )

    def _check_class_weights(self, class_weight):
        # They may have been changed since `fit`.
        gone = (class_weight == 0.0) & (self.tree_.counts[0] > 0.0)
        if gone.any():
            raise ValueError(
                "class_weight must be above 0 for a class whose rows the tree has "
                f"learnt. Got 0 for class {self.classes_[gone].tolist()[0]!r} from "
                f"{self.class_weight!r}."
            )

    def _weight_seen(self):
        if self._grower is not None:
            return self._grower.weight_seen
        return (
            float(self.tree_.counts[0].sum()) if self.__sklearn_is_fitted__() else 0.0
        )

    def _start_growing(self, classes, features, X_pool, first):
        if first:
            bound, criterion = resolve_statement(
                self.bound, self.criterion, self.delta, type(self).__name__
            )
            self.pruning_ = self.pruning_confidence_ = None
            self.lookahead_ = 0
        else:
            bound, criterion = self.bound_, self.criterion_
        settings = self._settings(bound, criterion, features)
        class_weight = self._class_weights(classes)
        if not first and class_weight is not None:
            self._check_class_weights(class_weight)
        recipe = self._recipe(settings, features, class_weight, X_pool)
        if first:
            self._become(classes, features, settings)
            grower = start_grower(self.n_features_in_, len(classes), recipe)
            self._rows_before = self.n_rows_seen_ = 0
        else:
            # who looks at the tree sees it as it was
            grower = make_grower(copy.copy(self.tree_), recipe)
            self._rows_before = self.n_rows_seen_
        grower.share_lock(self)
        self._grower, self.tree_ = grower, grower.tree

    def _recipe(self, settings, features, class_weight, X_pool, X=None):
        return make_recipe(
            settings,
            draw_seed(self.random_state, settings, self.n_features_in_),
            class_weight,
            None if features is None else features.is_categorical,
            X_pool,
            X,
            draws_for_life=self._draws_for_life,
        )

    def _predicts_by_bayes(self):
        # "auto" has nothing to choose by before a row has been predicted
        return (
            self._grower is not None
            and self._grower.predicts_by_bayes
            and (self._grower.n_rows_seen > 0 or self.leaf_prediction != "auto")
        )

    @property
    @reads
    def n_drifts_(self):
        """Drifts found, each of which replaced the tree."""
        return 0 if self._grower is None else self._grower.n_drifts

    @property
    @reads
    def n_bytes_(self):
        """Bytes that the tree and the memories of its leaves take."""
        n_bytes = (self.tree_ if self._grower is None else self._grower).n_bytes
        return n_bytes + getattr(self._honest_counts, "nbytes", 0)
