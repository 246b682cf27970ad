"""Growth with `partial_fit`."""

import copy

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils import check_random_state

from .._compat import InvalidParameterError
from ..tables._inputs import resolve_max_features
from ..tables._reading import (
    is_finite,
    read_more,
    read_rows,
    read_table,
    read_with_pool,
)
from ..tables._sparse import blocks, column_limits
from ..tables._weights import resolve_class_weight, stream_weights
from ..utils import (
    exact_labels,
    find_labels,
    unchanged_on_error,
    unique_classes,
    warn_of_floats,
)
from ..utils._lock import learns, reads
from ..utils._state import Frozen
from ._resolve import resolve_statement
from .nodes._tree import Tree
from .nodes._tree_state import MAX_CLASSES
from .stream._grower import Grower
from .stream._make_grower import make_grower
from .stream._recipe import Recipe

MIN_BYTES = 65536  # smallest `max_bytes`


def draw_seed(random_state, settings, n_features):
    """Draw a seed, if anything is drawn by it.

    The state of a tree without randomness does not depend on one.
    """
    if settings.random_cuts or settings.max_features < n_features:
        return int(check_random_state(random_state).randint(2**31 - 1))
    return 0


def limits_of(X, X_pool):
    """Limits of the features over rows with and without label.

    Parameters
    ----------
    X, X_pool : ndarray or sparse of shape (n_rows, n_features), float32, or None

    Returns
    -------
    ndarray of shape (n_features, 2), float64
    """
    tables = [table for table in (X, X_pool) if table is not None]
    if not tables:
        raise ValueError(
            "pool_weight='volume' needs the limits of the features: give X_pool "
            "to the first call of partial_fit."
        )
    limits = np.stack([column_limits(table) for table in tables])
    low = np.fmin.reduce(limits[..., 0], axis=0)
    high = np.fmax.reduce(limits[..., 1], axis=0)
    # a feature without any value has no width
    return np.nan_to_num(np.column_stack([low, high]).astype(float))


class OnlineGrowth:
    """Mixin of a tree estimator that learns rows as they arrive."""

    def partial_fit(self, X, y, classes=None, sample_weight=None, *, X_pool=None):
        """Go on growing the tree with further rows.

        Rows are learnt one by one in their order: a stream gives the same tree,
        bit for bit, however it is cut into calls. After `fit` the fitted leaves
        grow on. Splits are never removed. Parameters of the growth are those of
        the first call.

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
        self._learn(X, y, classes, sample_weight, X_pool, None)
        return self

    def partial_fit_predict(
        self, X, y, classes=None, sample_weight=None, *, X_pool=None
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

        Returns
        -------
        ndarray of shape (n_samples,)
            The class predicted for each row by the tree as it was before the row
            was learnt: what prequential evaluation compares with `y`.

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
        """
        predicted = []
        known = self._learn(X, y, classes, sample_weight, X_pool, predicted)
        return known.take(predicted[0])

    @learns
    def _learn(self, X, y, classes, sample_weight, X_pool, predicted):
        # Every check comes before the first row; what is learnt stays learnt if
        # the rest of the rows cannot be. scikit-learn's _fit_context costs as much as
        # learning ten rows, and parameters are those of the first call.
        first = not hasattr(self, "tree_")
        if first and not get_config()["skip_parameter_validation"]:
            self._validate_params()
        if self.pruning not in ("auto", None):
            raise InvalidParameterError(
                f"The 'pruning' parameter of {type(self).__name__} must be 'auto' or "
                f"None in partial_fit, which never removes a split. Got "
                f"{self.pruning!r} instead."
            )
        with unchanged_on_error(self):
            if first and classes is None:
                raise ValueError(
                    "classes must be given on the first call to partial_fit: all "
                    "classes that may occur in the stream."
                )
            given, known = X, getattr(self, "_features", None)
            y = y if type(y) is np.ndarray else exact_labels(y)
            X, y, finite = self._read(X, y, first)
            if first:
                self._set_classes(classes)
            elif (
                classes is not None
                and not np.array_equal(self.classes_, classes)
                and not np.array_equal(self.classes_, unique_classes(classes))
            ):
                raise ValueError(
                    f"classes={classes!r} differs from the classes of the first call, "
                    f"{self.classes_!r}."
                )
            labels = self._encode(y)
            weight = self._row_weights(sample_weight, X, labels)
            if X_pool is not None:
                if hasattr(self, "_grower"):
                    raise ValueError(
                        "X_pool can be given to the first call of partial_fit only."
                    )
                if self._features is None:
                    X_pool, _ = read_rows(self, X_pool, None)
                    if issparse(X_pool):
                        X_pool = X_pool.toarray(order="C")  # leaves look rows up
                else:
                    X, X_pool, self._features = read_with_pool(
                        self, given, X_pool, self._features, known
                    )
            if not hasattr(self, "_grower"):
                self._start_growing(X_pool, first)
        out = None
        if predicted is not None:
            out = np.empty(len(labels), dtype=np.intp)
            predicted.append(out)
        try:
            if self._features is not None:
                self._grower.reserve_codes(int(self._features.n_categories.max()))
            if isinstance(X, np.ndarray):
                self._grower.learn(X, labels, weight, out, finite)
            else:
                for rows, block in blocks(X):
                    part = None if weight is None else weight[rows]
                    told = None if out is None else out[rows]
                    self._grower.learn(block, labels[rows], part, told, finite)
        finally:
            self.tree_ = self._grower.tree
            self.n_rows_seen_ = self._rows_before + self._grower.n_rows_seen
        return self.classes_

    def _read(self, X, y, first):
        # Numbers, codes of categories in the order of the rows, and labels.
        if first:
            X, y, self._features = read_table(
                self,
                X,
                y,
                categorical_features=self.categorical_features,
                in_order=True,
                stacklevel=4,
            )
            self.is_categorical_ = None
            if self._features is not None:
                self.is_categorical_ = self._features.is_categorical
            return X, y, is_finite(X, self)
        X, y, self._features, finite = read_more(self, X, y, self._features)
        return X, y, finite

    def _set_classes(self, classes):
        self.classes_ = unique_classes(classes)
        warn_of_floats(self.classes_, stacklevel=4)
        self.n_classes_ = len(self.classes_)
        if not 1 <= self.n_classes_ <= MAX_CLASSES:
            raise ValueError(
                f"{self.n_classes_} classes were given; from 1 to {MAX_CLASSES} are "
                f"supported."
            )

    def _encode(self, y):
        # Class indices of labels, all of which must be known.
        try:
            index, unknown = find_labels(self.classes_, y)
        except TypeError as error:
            raise ValueError(
                f"y must contain nothing but labels out of {self.classes_!r}, got "
                f"values that cannot be compared with them: {error}."
            ) from error
        if np.count_nonzero(unknown):
            raise ValueError(
                f"y contains labels that were not among the classes of the first "
                f"call: {np.unique(y[unknown])!r}. The classes are "
                f"{self.classes_!r}."
            )
        return index.astype(np.uint16)

    def _row_weights(self, sample_weight, X, labels):
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once and does not work "
                "with partial_fit. Give the weights as a dict instead."
            )
        weight = None
        if sample_weight is not None:
            weight = stream_weights(
                sample_weight, X, self.sample_weight_kind, self._weight_seen()
            )
        if self.class_weight is not None:
            # a class of weight 0 is not learnt
            per_class = self._class_weights()[labels]
            if not per_class.all():
                weight = np.ones(len(labels)) if weight is None else weight
                weight = np.where(per_class > 0.0, weight, 0.0)
        return weight

    def _weight_seen(self):
        if hasattr(self, "_grower"):
            return self._grower.weight_seen
        return float(self.tree_.counts[0].sum()) if hasattr(self, "tree_") else 0.0

    def _class_weights(self):
        if self.class_weight is None:
            return None
        return resolve_class_weight(
            self.class_weight, self.classes_, np.arange(self.n_classes_), None
        )

    def _start_growing(self, X_pool, first):
        if first:
            self.bound_, self.criterion_ = resolve_statement(
                self.bound, self.criterion, self.delta, type(self).__name__
            )
            self.pruning_ = self.pruning_confidence_ = None
            self.max_features_ = resolve_max_features(
                self.max_features, self.n_features_in_
            )
        class_weight = self._class_weights()
        recipe = self._recipe(class_weight, X_pool)
        if first:
            self.tree_ = Tree(self.n_features_in_, self.n_classes_, class_weight)
            self.tree_.add_root()
            self._rows_before = 0
        else:
            self.tree_ = copy.copy(self.tree_)  # who looks at it sees it as it was
            self._rows_before = self.n_rows_seen_
        grower = make_grower(self.tree_, recipe)
        grower.open_leaves()
        grower.share_lock(self)
        self._grower = grower

    def _recipe(self, class_weight, X_pool, X=None):
        settings = self._settings(None, False)
        box = limits_of(X, X_pool) if settings.by_volume else None
        nominal = ()
        if self.is_categorical_ is not None:
            nominal = tuple(np.flatnonzero(self.is_categorical_).tolist())
        return Recipe(
            settings,
            draw_seed(self.random_state, settings, self.n_features_in_),
            class_weight,
            nominal,
            X_pool if settings.uses_pool else None,
            box,
        )

    def _keep_rows(self, X, y, weight, X_pool):
        # After `fit`: nothing, unless the parameters ask for it.
        vars(self).pop("_grower", None)
        vars(self).pop("_rows_before", None)
        by_bayes = self.leaf_prediction in ("nb", "nba")
        if self.leaf_memory == "rows" or by_bayes:
            if issparse(X_pool):
                X_pool = X_pool.toarray(order="C")  # leaves look rows up
            recipe = self._recipe(self.tree_.class_weight, X_pool, X)
            self._rows_before = self.n_rows_seen_
            grower = make_grower(self.tree_, recipe)
            if self._features is not None:
                grower.reserve_codes(int(self._features.n_categories.max()))
            grower.open_leaves()
            labels = y.astype(np.uint16)
            for rows, block in blocks(X):
                part = None if weight is None else weight[rows]
                grower.remember(block, labels[rows], part)
            grower.settle()
            grower.share_lock(self)
            self._grower = grower

    def _predicts_by_bayes(self):
        # "auto" has nothing to choose by before a row has been predicted
        return (
            hasattr(self, "_grower")
            and self._grower.predicts_by_bayes
            and (self._grower.n_rows_seen > 0 or self.leaf_prediction != "auto")
        )

    @property
    @reads
    def n_drifts_(self):
        """Drifts found, each of which replaced the tree."""
        return self._grower.n_drifts if hasattr(self, "_grower") else 0

    @property
    @reads
    def n_bytes_(self):
        """Bytes that the tree and the memories of its leaves take."""
        if hasattr(self, "_grower"):
            return self._grower.n_bytes
        return self.tree_.n_bytes

    # -- state --------------------------------------------------------------------

    @reads
    def __getstate__(self):
        state = dict(super().__getstate__())
        if isinstance(state.get("_grower"), Grower):
            reduced = self._grower.__reduce__()
            state["_grower"], state["tree_"] = Frozen(reduced), reduced[1][0]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        grower = state.get("_grower")
        if isinstance(grower, Frozen):  # copy.copy does not share what grows
            self._grower = grower = grower.thaw()
            self.tree_ = grower.tree
        if isinstance(grower, Grower):
            grower.share_lock(self)
