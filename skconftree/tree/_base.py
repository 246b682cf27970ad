"""Methods that tree and forest estimators share: reading, explaining, row indices.

A bound is the split rule of a tree, see `skconftree.bounds`. A *schema* has the names,
types and categories of the columns. The *evidence* for a split is the number of
candidate splits that are expected to look as good by chance, in four *levels*. A *near
tie* is a split on another feature whose gain is not significantly different.
*Look-ahead* chooses a split by the subtrees that can be grown below it. A *cautious*
bound needs many rows for a first split, and a *compact* model can only predict. The
decorators `learns` and `reads` lock the estimator; `names_class` makes a TypeError for
wrong arguments name the class of the object.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from .._compat import (
    CallbackSupportMixin,
    InvalidParameterError,
    _fit_context,
    _safe_indexing,
    check_row_weights,
    validate_parameters,
)
from ..bounds._registry import BOUNDS
from ..tables._growth_data import resolve_class_weight
from ..tables._labels import exact_labels, read_labels, unique_classes
from ..tables._schema import Schema, as_dense
from ..tables._sparse import blocks
from ..utils._fitted import ModelClassifier, fitted
from ..utils._lock import learns, names_class, reads
from ..utils._types import Estimator, Floats, LabelsLike, TableLike
from ._growth import read_training
from ._progress import progress_of
from ._row_index import RowIndex
from .reading._html import write_tree
from .reading._onnx import convert_operator, set_output_types
from .reading._records import check_competitors
from .reading._text import as_table, explain_rows, explain_text, summarize
from .reading._to_sklearn import pruning_path, to_sklearn, warn_of_missing
from .stream._resize import Resizing


def joined_runs(runs, is_proba):
    """Join the results of `GrownClassifier._learn_in_runs` over all runs.

    `runs` are pairs of class indices, or class probabilities if `is_proba`, and of the
    classes at that time.
    """
    classes = runs[-1][1]
    if not is_proba:
        return np.concatenate([names.take(codes) for codes, names in runs])
    proba = np.zeros((sum(len(part) for part, _ in runs), len(classes)))
    start = 0
    for part, names in runs:
        rows = slice(start, start + len(part))
        proba[rows, np.searchsorted(classes, names)] = part
        start = rows.stop
    return proba


class GrownClassifier(CallbackSupportMixin, ModelClassifier):
    """Base class of tree and forest classifiers, which learn from tables and streams.

    A subclass defines `_growth`, which resolves parameters and returns an object that
    grows a model from a table, and `_kind`, the class of the model. Properties made by
    `fitted` read attributes of the model.
    """

    is_categorical_ = fitted("schema.is_categorical", "Which columns are nominal.")
    n_outputs_ = fitted("n_outputs", "Number of outputs, which is 1.")
    categories_ = fitted(
        "schema.categories", "Categories of the nominal columns.", changes=True
    )
    n_drifts_ = fitted("n_drifts", "Number of detected drifts.", changes=True)
    drifts_ = fitted("drifts", "Detected drifts, in the order of rows.", changes=True)
    n_bytes_ = fitted(
        "n_bytes", "Bytes of trees and the statistics of their leaves.", changes=True
    )
    n_inactive_leaves_ = fitted(
        "n_inactive_leaves", "Leaves without statistics due to max_bytes.", changes=True
    )

    @names_class
    def onnx_converter(self) -> Callable[[Any, Any, Any], None]:
        """Return the converter of ``skl2onnx.to_onnx``, which calls this method.

        Returns
        -------
        callable
            It adds the nodes of :func:`skconftree.tree.export_onnx` to a graph.
        """
        return convert_operator

    @names_class
    def onnx_shape_calculator(self) -> Callable[[Any], None]:
        """Return what ``skl2onnx.to_onnx`` calls to get the types of the outputs.

        Returns
        -------
        callable
            It sets the types of the label and the probabilities.
        """
        return set_output_types

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
        """Fit the model to a table; an earlier model is replaced.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Training rows. Numeric columns are converted to float32. Sparse tables of
            any format are converted to CSC, and must not contain NaN.
        y : array-like of shape (n_samples,)
            Class labels. The model has the classes that occur. If `partial_fit` is to
            learn further classes later, call it from the start with all `classes`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, see `sample_weight_kind`. Rows of weight 0 are ignored.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Unlabeled rows. A bound with a `pool_weight` (``"credible"``) weighs a child
            by the number of its rows, labeled or not; other bounds ignore them.

        Returns
        -------
        ConfidenceTreeClassifier or ConfidenceForestClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; the estimator is then unchanged.
        """
        growth = self._growth()
        table = read_training(X, y, sample_weight, X_pool, growth.request)
        return self._fit_table(growth, table, X, y, sample_weight)

    def _growth(self):
        # Resolve the parameters that define how a table is read, and return an object
        # that grows the model from it.
        raise NotImplementedError

    def _fit_table(self, growth, table, X=None, y=None, sample_weight=None):
        # Grow the model and set it; X, y and sample_weight are passed to callbacks.
        with progress_of(self, X, y, sample_weight) as progress:
            model = growth.grow(table, progress)
            progress.end(model)
        self._model = model
        return self

    def _learn_in_runs(self, learn, X, y, classes, weight, X_pool):
        # Call `learn(rows, labels, classes, weight, pool)` on runs of consecutive rows.
        # A run begins with the first row of a new class, which is added before. Return
        # the result of each run with the classes that the model then has.
        # `exact_labels`: as values that an array represents exactly
        X, labels = X.tocsr() if hasattr(X, "tocsr") else X, np.asarray(exact_labels(y))
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if self._model is None:  # the first label is a class from the start
            first = labels.ravel()[:1].tolist()
            if classes is None:
                classes = first or [0]  # without labels an error follows
            else:
                classes = unique_classes(classes).tolist()
                classes += [label for label in first if label not in classes]
        if labels.ndim != 1 or not len(labels) or n_rows != len(labels):
            return [
                (learn(X, y, classes, weight, X_pool), self.classes_)
            ]  # or an error
        weight = None if weight is None else check_row_weights(weight, labels)
        if self._model is not None:
            new = () if classes is None else unique_classes(classes)
            known, classes = {*self.classes_.tolist(), *new}, None
        else:
            new, known = (), set(unique_classes(classes).tolist())
        starts = [0]
        for i, label in enumerate(labels.tolist()):
            if label not in known:
                known.add(label)
                starts += [i] if i else []
        if len(starts) > 1:  # all rows are checked before the first run is learned
            caller, model = type(self).__name__, self._model
            # `first` and `more` read the first rows, or further ones
            if model is None:
                rows = Schema.first(X, caller, self.categorical_features)
            else:
                rows = model.schema.more(X, caller)
            read_labels(labels, rows.X, caller)
        results = []
        with ExitStack() as undo:  # removes the classes of invalid rows
            self._add_unknown(new, undo)
            for start, stop in pairwise([*starts, len(labels)]):
                rows = slice(start, stop)
                part = X if stop - start == len(labels) else _safe_indexing(X, rows)
                if self._model is not None:
                    self._add_unknown(labels[start : start + 1], undo)
                run_weight = None if weight is None else weight[rows]
                result = learn(part, labels[rows], classes, run_weight, X_pool)
                undo.pop_all()  # the run is learned: its class stays
                results.append((result, self.classes_))
                classes = X_pool = None
        return results

    def _adds_classes(self, new_classes):
        # Whether new classes are added, from the argument `new_classes`.
        if new_classes not in ("add", "error"):
            raise InvalidParameterError(
                f"new_classes must be 'add' or 'error'. Got {new_classes!r}."
            )
        return new_classes == "add"

    def _add_unknown(self, labels, undo):
        # Add classes; an error in the context of `undo` removes them.
        unknown = np.setdiff1d(labels, self.classes_) if len(labels) else ()
        if len(unknown):
            undo.callback(self._extend(unknown))

    def _extend(self, labels=(), columns=()):
        # Add classes that have no rows yet, and columns that were missing before: pairs
        # of a name and whether it is nominal. Return a function that undoes this, if
        # no row has been learned since.
        is_done = False
        while not is_done:
            model, n_rows, resized = self._resized(labels, columns)
            is_done = self._replace_model(model, n_rows, resized)
        return partial(self._replace_model, resized, n_rows, model)

    def _resized(self, labels, columns):
        # Return the model, its number of rows, and a model with more classes and
        # columns that may replace it.
        model, classes = self._model, self._model.classes
        n_rows, schema = model.n_rows_seen, model.schema
        if len(labels):
            classes = classes.extended(labels)
        weight = self.class_weight if isinstance(self.class_weight, dict) else None
        codes = np.arange(len(classes))
        resizing = Resizing(
            pools={},  # resized tables of unlabeled rows, for trees that share them
            n_features=schema.n_features,  # old number
            classes_at=classes.indices_of(model.classes),  # new index of each old class
            n_classes=len(classes),
            is_nominal=tuple(is_nominal for _, is_nominal in columns),  # new columns
            class_weight=resolve_class_weight(weight, classes.names, codes, None),
        )
        schema = schema.with_columns(columns) if columns else schema
        return model, n_rows, model.resized(resizing, schema, classes, self)

    @learns
    def _replace_model(self, model, n_rows, resized):
        # Set the resized model, unless another thread has trained the model meanwhile.
        unchanged = self._model is model and model.n_rows_seen == n_rows
        if unchanged:
            self._model = resized
        return unchanged

    def _rows(self, X):
        if self._model is None:
            check_is_fitted(self)  # raises; it is slower than routing a row
        return self._model.schema.predict(X, type(self).__name__)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        # validate_data reads the tags at each call, so bounds are not cloned for them
        bounds = self.bound if isinstance(self.bound, list | tuple) else [self.bound]
        tags.classifier_tags.poor_score = any(
            getattr(
                BOUNDS.get(bound) if isinstance(bound, str) else bound,
                "cautious",
                False,
            )
            for bound in bounds
        )
        return tags


class ReadableTree:
    """Mixin of a tree estimator with methods that explain it; without state."""

    @reads
    def explain(
        self, X: TableLike, *, competitors: int = 0
    ) -> list[list[dict[str, Any]]]:
        """Evidence of every split on the path of each row.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
        competitors : int, default=0
            Number of competing splits on other features to include per split, at most
            3.

        Returns
        -------
        list of list of dict
            For each row, from the root down, one dict per split with ``node``,
            ``feature`` (index), ``name``, ``threshold``, ``categories`` (of the
            branch taken, None at a numeric split), ``value`` (of the row), ``goes``
            (``"left"``, ``"right"``, ``"branch"`` of a multiway split, or ``"stays"``
            if the category is unknown at the node) and the fields of
            ``tree_.evidence``; ``more_rows``, the number of further rows after which a
            weak split would be strong; ``leaf_reason`` and ``why_leaf`` of the leaf
            that the split leads to, else None and empty, see
            :func:`~skconftree.tree.node_table`. If requested, ``competitors``: dicts of
            the ``feature``, ``name``, ``test`` as text, ``gain`` and ``z`` of competing
            splits, see :func:`~skconftree.tree.node_table`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = ConfidenceTreeClassifier(bound="credible", delta=0.1).fit(X, y)
        >>> step = tree.explain(X[:1])[0][0]
        >>> step["name"], step["goes"], step["child_limit"] < step["parent_limit"]
        ('x2', 'left', True)

        Which other split would have been about as good?

        >>> tree = ConfidenceTreeClassifier().fit(X, y)
        >>> step = tree.explain(X[:1], competitors=1)[0][0]
        >>> (competitor,) = step["competitors"]
        >>> step["name"], competitor["test"], round(competitor["z"], 2)
        ('x3', 'x2 <= 2.45', 0.0)
        """
        rows = self._rows(X).X
        check_competitors(self, competitors)
        return [
            explanation
            for _, block in blocks(rows)  # dense blocks of a sparse table
            for explanation in explain_rows(self, block, competitors)
        ]

    @reads
    def explain_text(
        self, X: TableLike, *, verbose: bool = False, audit: Any = None
    ) -> str:
        """Explain the predicted classes of rows as text.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Some rows; also a single one, an array of shape (n_features,) or a row of a
            pandas frame.
        verbose : bool, default=False
            Whether to print, below each split, the look-ahead costs, the statistic of
            the bound, and the competing splits on other features.
        audit : SplitAudit or None, default=None
            Result of :func:`skconftree.inspection.audit_splits` for this tree; its
            verdicts are printed below the splits.

        Returns
        -------
        str
            Lines of at most 100 columns: for each row its class, the probability and
            the number of rows of the leaf, then each split on its path with its
            evidence, and the reason why the node is a leaf.

        See Also
        --------
        explain : The same as records.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> tree = ConfidenceTreeClassifier().fit(X, y)
        >>> print(tree.explain_text(X.iloc[0]))
        class 0 (0.96), 50 of 50 rows
          1. petal width (cm) <= 0.8 (value 0.2), overwhelming evidence (3e-40 by ...)
        Stops here: all rows of the leaf are of one class.
        <BLANKLINE>
        by chance: expected number of candidate splits of the node that would look ...
        evidence: overwhelming < 1e-6, strong < 0.01, weak < 1, none otherwise
        near ties, which separate the classes about as well:
          petal width (cm) <= 0.8: petal length (cm)
        """
        rows = as_dense(self._rows(as_table(X)).X)
        return explain_text(self, rows, verbose=verbose, audit=audit)

    @property
    @reads
    def feature_importances_(self) -> Floats:
        """Share of each feature in the decrease of impurity on the training rows."""
        return self.tree_.compute_feature_importances()

    @reads
    def index_rows(self, X: TableLike) -> RowIndex:
        """Index the rows of a table by node, also while the tree grows.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)
            The rows. They are not copied, and must not be modified.

        Returns
        -------
        RowIndex
        """
        if self._model is None:
            check_is_fitted(self)
        return RowIndex(self, X)

    @reads
    def leaf_counts(self, *, fresh: bool = False) -> Floats:
        """Weight of the training rows of each class in each leaf.

        Parameters
        ----------
        fresh : bool, default=False
            Count only rows that arrived after the creation of the leaf, by which no
            split was chosen. All zeros after `fit`.

        Returns
        -------
        ndarray of shape (node_count, n_classes), float64
            0 at inner nodes.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = ConfidenceTreeClassifier(bound="credible", leaf_memory="rows")
        >>> tree = tree.partial_fit(X[:100], y[:100], classes=[0, 1, 2])
        >>> tree.leaf_counts().sum(axis=0), tree.leaf_counts(fresh=True).sum()
        (array([50., 50.,  0.]), np.float64(0.0))
        >>> tree.partial_fit(X[:1], y[:1]).leaf_counts(fresh=True).sum()
        np.float64(1.0)
        """
        check_is_fitted(self)
        return self._model.leaf_counts(fresh)

    @reads
    def summary(self) -> str:
        """Summarize the tree in a few lines.

        Its size, the number of splits per level of evidence, the weakest split, the
        columns it uses, and the shares of the classes.

        Returns
        -------
        str
            Lines of at most 100 columns.

        See Also
        --------
        skconftree.tree.export_text : Prints the tree, and explains levels of evidence.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(ConfidenceTreeClassifier().fit(X, y).summary())
        ConfidenceTreeClassifier: 150 rows, 4 columns, 3 classes; bound: gtest
        5 leaves, depth 4; rows in a leaf: 1 to 50, median 46
        4 splits: 2 overwhelming, 1 strong, 1 weak
        the weakest, petal width (cm) <= 1.65 (node 5): 0.05 by chance, ...
        columns used, 2 of 4 (share of the gain): petal width (cm) (0.95), ...
        largest share of a class: 0.333 of all rows, 0.980 within leaves (training rows)
        <BLANKLINE>
        by chance: expected number of candidate splits of the node that would look ...
        evidence: overwhelming < 1e-6, strong < 0.01, weak < 1, none otherwise
        """
        check_is_fitted(self)
        return summarize(self)

    @reads
    def to_sklearn(self) -> Estimator:
        """Convert the tree to a scikit-learn classifier.

        The result can be passed to functions for scikit-learn's trees (plots, exports,
        explanations). Node ids are the same, except for a tree with nominal columns:
        each nominal split becomes a column in which an ``OrdinalEncoder`` assigns
        adjacent codes to the categories of a branch.

        Returns
        -------
        sklearn.tree.DecisionTreeClassifier or sklearn.pipeline.Pipeline
            Fitted; its `predict_proba` equals this tree's exactly, also for unknown
            categories. With nominal columns, a pipeline of encoders and a
            ``DecisionTreeClassifier``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = ConfidenceTreeClassifier(bound="credible", delta=0.1).fit(X, y)
        >>> (tree.to_sklearn().predict_proba(X) == tree.predict_proba(X)).all()
        np.True_
        """
        check_is_fitted(self)
        if self._model.predicts_by_bayes:
            raise ValueError(
                "A tree whose leaves predict by naive Bayes cannot be converted to "
                "scikit-learn. Set leaf_prediction='majority' and fit the tree again."
            )
        warn_of_missing([self])  # which other tools may handle differently
        return to_sklearn(self)

    @names_class
    def cost_complexity_pruning_path(
        self, X: TableLike, y: LabelsLike, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """Compute the pruning path of minimal cost-complexity pruning.

        A copy of the estimator is fitted without pruning, and its weakest link is
        pruned repeatedly. The resulting strengths are candidates for `ccp_alpha`.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        sklearn.utils.Bunch
            ``ccp_alphas`` and, of the same length, ``impurities``: the total impurity
            of the leaves after pruning with each strength.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = ConfidenceTreeClassifier(bound=None, max_depth=2)
        >>> path = tree.cost_complexity_pruning_path(X, y)
        >>> path.ccp_alphas.round(3), path.impurities.round(3)
        (array([0.   , 0.26 , 0.333]), array([0.074, 0.333, 0.667]))
        """
        unpruned = clone(self).set_params(pruning=None, ccp_alpha=0.0)
        unpruned.fit(X, y, sample_weight=sample_weight)
        alphas, impurities = pruning_path(unpruned.tree_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    # HTML in notebooks: scikit-learn's diagram, followed by the tree if it is fitted.

    @property
    def _repr_html_(self):
        diagram = super()._repr_html_  # None if diagrams are switched off
        return lambda: self._with_tree(diagram())

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._with_tree(bundle["text/html"])
        return bundle

    def _with_tree(self, diagram):
        if self._model is None or self._model.is_compact:
            return diagram
        return f"{diagram}\n{self._tree_as_html()}"

    @reads
    def _tree_as_html(self):
        return write_tree(self)
