"""A decision tree plus a linear score, fitted together by logistic regression.

A `schema` has the names and types of the columns, and reads later rows. A table is
`coded` if its categories are replaced by integers. The linear score is a weighted sum
of *terms*, which are standardized columns and indicators of categories.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from .._compat import Interval, StrOptions, _fit_context, _safe_indexing
from ..tables._content_order import ContentOrder, hash_rows
from ..tables._features import nominal_columns
from ..tables._growth_data import rows_with_weight
from ..tables._labels import Classes, read_classes
from ..tables._schema import Schema
from ..tree import ConfidenceTreeClassifier
from ..utils._fitted import ModelClassifier, fitted
from ..utils._lock import learns, reads  # lock the estimator
from ..utils._parameter_names import suggests_parameters
from ..utils._types import Floats, Indices, LabelsLike, Seed, TableLike
from ..utils._warnings import warn
from ._logistic import (
    MAX_TERMS,
    Columns,
    Curvature,
    Score,
    fit_score,
    forward_scores,
    log_losses,
    probabilities,
)
from ._partially_linear_model import PartiallyLinearModel, TreeLeaves

N_FOLDS = 5
MAX_TRIED = 30  # columns that n_linear_features="auto" tries at most
CLEAR = 4.0  # difference of two models, in standard errors, that needs no further folds
LARGE = 10.0  # coefficient per standard deviation that indicates separated classes
MAX_BY_CHANCE = 0.01  # adjusted p-value above which sibling leaves are merged


@suggests_parameters()  # in the error for an unknown parameter
@dataclass(eq=False, repr=False)
class PartiallyLinearTreeClassifier(ModelClassifier):
    r"""Decision tree plus a linear score, with a constant for each leaf.

    A `ConfidenceTreeClassifier` is fitted first. Then one penalized logistic regression
    is fitted to all columns and to the leaves of the tree, so that the log odds of a
    row are

    .. math::

        \log \frac{P(y = 1 \mid x)}{P(y = 0 \mid x)} =
            \beta_0 + \sum_j \beta_j z_j(x) + \gamma_{\mathrm{leaf}(x)},

    where :math:`z_j`, the terms, are standardized numeric columns and indicators of
    categories. The splits of the tree and their p-values do not change. A tree
    approximates a linear relation by many steps, and a linear score has no
    interactions: the sum has both, and is still one tree and one list of coefficients.

    Use it if a logistic regression is the usual model and interactions are likely, as
    in credit scoring and medicine; :doc:`/guide/scorecard` has an example. If the
    linear score does not lower the log loss in a cross-validation on the training rows,
    it is dropped, and the model is the tree.

    Parameters
    ----------
    tree : ConfidenceTreeClassifier or None, default=None
        The tree to fit; it is cloned. None means the default tree. A tree with fewer
        leaves leaves more to the linear score.
    n_linear_features : int, "auto" or None, default=None
        Number of columns in the linear score. None means all. An int selects this many
        columns by forward selection with score tests, given the leaves; all terms of a
        nominal column count as one column. ``"auto"`` selects the smallest number whose
        cross-validated log loss is within one standard error of the best. Fewer columns
        are easier to read and usually predict a little worse.
    C : float, default=1.0
        Inverse strength of the L2 penalty of the coefficients and of the constants of
        leaves, as in :class:`sklearn.linear_model.LogisticRegression`. Smaller values
        shrink them more.
    prune_leaves : bool, default=False
        If True, sibling leaves whose constants do not differ beyond the linear score
        (expected by chance more than 0.01 times among all siblings) are merged, and the
        score is fitted again, so that fewer leaves remain.
    max_categories : int, default=20
        Maximum number of terms of a nominal column. If it has more categories, the
        rarest ones share the last term.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds of the cross-validation. The tree has its own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if `X` had names.
    tree_ : ConfidenceTreeClassifier
        The fitted tree.
    coef_ : ndarray of shape (1, n_terms) or (n_classes, n_terms)
        Coefficients of the terms, of standardized numeric columns; one row for two
        classes, as in LogisticRegression. It has no column if the score was dropped.
    leaf_coef_ : ndarray of shape (1, n_leaves) or (n_classes, n_leaves)
        Constants of the leaves; their mean, weighted by the training rows, is 0.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Constant of all rows.
    terms_ : list of LinearTerm
        One record for each column of `coef_`: ``column`` (name or index),
        ``category`` (None for a numeric column, ``"missing"`` for the indicator of its
        missing values), ``mean``, ``scale``, ``coef``, ``standard_error``,
        ``interval`` (95%), ``odds_ratio`` (per unit), ``odds_ratio_sd`` (per standard
        deviation), and ``p_value`` of the likelihood-ratio test of the whole column,
        multiplied by the number of columns. Floats for two classes, otherwise arrays
        with an entry per class. The coefficients of a nominal column are differences
        from their weighted mean.
    leaves_ : list of ScoredLeaf
        One record for each column of `leaf_coef_`: ``node`` of the tree, ``weight`` of
        its training rows, ``coef``, ``standard_error``, and ``p_value``: does the
        leaf differ from the others beyond the linear score? Likelihood-ratio test,
        multiplied by the number of leaves.
    linear_features_ : ndarray of int
        Indices of the columns in the linear score.
    cv_log_loss_ : tuple of two floats
        Cross-validated log loss on the training rows, of the tree and with the score.
        Equal rows are in one fold, so that few distinct rows make it pessimistic.
        Of the five folds, those after the second are skipped once the two differ by
        more than four standard errors.

    See Also
    --------
    ConfidenceTreeClassifier : The tree alone, which also learns from streams.

    Notes
    -----
    Standard errors come from the Hessian of the penalized likelihood given the tree.
    They do not include the selection of the tree's splits or of columns, which makes
    the intervals too short: on simulated tables 95% intervals cover as many true
    coefficients as :doc:`/guide/scorecard` reports. For more than two classes, a
    coefficient is relative to the mean of the classes. If there are many classes and
    leaves, the covariance between the coefficients of different classes is left out. If
    there are many rows and leaves, likelihood-ratio tests are replaced by Wald tests.

    References
    ----------
    .. [1] J. Chen, K. Yu, A. Hsing, T. M. Therneau (2007), "A partially linear
       tree-based regression model for assessing complex joint gene-gene and
       gene-environment effects", Genetic Epidemiology 31(3), 238-251.
    .. [2] E. Dumitrescu, S. Hue, C. Hurlin, S. Tokpavi (2022), "Machine learning for
       credit scoring: Improving logistic regression with non-linear decision-tree
       effects", European Journal of Operational Research 297(3), 1178-1192.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skconftree import PartiallyLinearTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = PartiallyLinearTreeClassifier(n_linear_features=2, random_state=0)
    >>> model.fit(X, y)
    PartiallyLinearTreeClassifier(n_linear_features=2, random_state=0)
    >>> [term.column for term in model.terms_]
    ['worst radius', 'worst concave points']
    >>> bool(model.cv_log_loss_[1] < model.cv_log_loss_[0])
    True
    """

    _parameter_constraints = {
        "tree": [ConfidenceTreeClassifier, None],
        "n_linear_features": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
            None,
        ],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "prune_leaves": ["boolean"],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    tree: ConfidenceTreeClassifier | None = None
    _: KW_ONLY
    n_linear_features: int | Literal["auto"] | None = None
    C: float = 1.0
    prune_leaves: bool = False
    max_categories: int = 20
    random_state: Seed = None

    _kind = PartiallyLinearModel  # class of the attribute `_model`

    # `fitted` returns a property that reads an attribute of `_model`.
    tree_ = fitted("tree", "The fitted tree.")
    coef_ = fitted("score.coef", "Coefficients of the terms.")
    leaf_coef_ = fitted("score.leaf_coef", "Constants of the leaves.")
    intercept_ = fitted("score.intercept", "Constant of all rows.")
    terms_ = fitted("terms", "Terms of the linear score.")
    leaves_ = fitted("leaves", "Leaves with their constants.")
    linear_features_ = fitted("linear_features", "Columns in the linear score.")
    cv_log_loss_ = fitted("cv_log_loss", "Log loss of the tree, and with the score.")

    @_fit_context(prefer_skip_nested_validation=False)  # the tree validates its own
    @learns
    def fit(
        self, X: TableLike, y: LabelsLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the tree, then the linear score together with constants of its leaves.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Training rows, as for :class:`~skconftree.ConfidenceTreeClassifier`.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows of weight 0 are ignored.

        Returns
        -------
        PartiallyLinearTreeClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; the estimator is then unchanged.
        """
        caller = type(self).__name__
        tree = ConfidenceTreeClassifier() if self.tree is None else clone(self.tree)
        unfitted = copy(tree)
        # no warning about values that are not numbers, because the tree issues it
        nominal = nominal_columns(X, tree.categorical_features)
        coded, _, schema = Schema.first(X, caller, nominal)
        coded = coded.tocsr() if issparse(coded) else coded
        if not hasattr(X, "shape") and not isinstance(X, list):
            X = np.asarray(X)
        elif issparse(X):
            X = X.tocsr()
        labels = read_classes(y, coded, caller)
        coded, used, weight, _ = rows_with_weight(
            coded, np.arange(len(labels)), sample_weight, tree.sample_weight_kind
        )  # `sample_weight_kind`: whether weights are frequencies or relative
        if sample_weight is not None:
            weights = np.asarray(sample_weight)
            sample_weight = np.broadcast_to(weights, len(labels))[used]
        if len(used) < len(labels):
            X, labels = _take(X, used), labels[used]
        classes, y = Classes.of(labels)
        if weight is None:
            weight = np.ones(len(y))
        if tree.class_weight is not None:
            weight = weight * compute_sample_weight(tree.class_weight, labels)
        table = _Table(
            X, coded, labels, y.astype(np.intp), sample_weight, weight, schema, classes
        )
        tree.fit(X, labels, sample_weight)
        self._model = self._fit_model(tree, unfitted, table)
        return self

    def _fit_model(self, tree, unfitted, table):
        n_classes = len(table.classes)
        n_score = 1 if n_classes == 2 else n_classes
        dropped = PartiallyLinearModel(
            table.schema,
            table.classes,
            tree,
            Score(np.zeros((n_score, 0)), np.zeros((n_score, 0)), np.zeros(n_score)),
        )
        if not _has_classes(table):
            return dropped
        sizes = self._sizes(table.schema)
        columns = self._make_columns(table)
        terms = columns.transform(table.coded)
        leaves = TreeLeaves(tree.tree_, tree.apply(table.X), table.weight)
        rows = leaves.rows(terms, table.y, n_classes)
        start = None
        if sizes[0] is None:
            start = fit_score(rows, self.C)
        size, dropped.cv_log_loss = self._select_size(
            unfitted, table, columns.column, rows, sizes, start
        )
        if not dropped.cv_log_loss[1] < dropped.cv_log_loss[0]:
            return dropped
        if size is not None:
            # `columns.column` is the column of each term, `at` the selected terms
            *_, (at, start) = forward_scores(rows, columns.column, self.C, size)
            columns, rows = columns.only(columns.column[at]), rows.with_terms(at)
        score, curvature = self._fit_rows(rows, start)
        while self.prune_leaves and curvature is not None:
            merged = _find_equal_leaves(leaves, curvature)
            if not merged:
                break
            leaves = leaves.merged(merged)
            rows = leaves.rows(rows.terms, table.y, n_classes)
            score, curvature = self._fit_rows(rows, fit_score(rows, self.C))
        center, weights = _centering(rows, columns)
        score = score.centered(center)
        model = PartiallyLinearModel(
            table.schema,
            table.classes,
            tree,
            score,
            dropped.cv_log_loss,
            columns,
            *_test(curvature, center, rows, columns, table.schema.n_features),
            leaves.nodes,
            weights,
            leaves.replacement,
            leaves.constants(score.leaf_coef),
        )
        _warn_of_separation(model.terms)
        return model

    def _sizes(self, schema):
        # The numbers of columns that are tried; None for all of them.
        d = schema.n_features
        if self.n_linear_features is None:
            return [None]
        if self.n_linear_features == "auto":
            return list(range(1, min(d, MAX_TRIED) + 1))
        if self.n_linear_features > d:
            raise ValueError(
                f"n_linear_features must be at most the number of columns, {d}. Got "
                f"{self.n_linear_features}."
            )
        return [self.n_linear_features]

    def _select_size(self, tree, table, column, all_rows, sizes, start):
        # The smallest number of columns whose log loss is within one standard error of
        # the best, and the log losses of the tree and with these columns.
        losses, weight = self._cross_validate(
            tree, table, column, all_rows, sizes, start
        )
        means = np.average(losses, axis=0, weights=weight)
        best = 1 + int(means[1:].argmin())
        if len(sizes) > 1:
            error = _standard_error(losses[:, best], weight)
            best = 1 + int(np.argmax(means[1:] <= means[best] + error))
        return sizes[best - 1], (float(means[0]), float(means[best]))

    def _cross_validate(self, tree, table, column, all_rows, sizes, start):
        # Log loss of each row: of the tree, and with a score of each size; and weights.
        losses = np.zeros((len(table.y), 1 + len(sizes)))
        folds = _folds(table, check_random_state(self.random_state))
        with warnings.catch_warnings():
            # warnings about columns and categories; the fit to all rows has issued them
            warnings.simplefilter("ignore", UserWarning)
            for fold in range(folds.max() + 1):
                test = np.flatnonzero(folds == fold)
                train = np.flatnonzero(folds != fold)
                if len(train):
                    losses[test] = self._losses_of_fold(
                        tree, table, train, test, column, all_rows, sizes, start
                    )
                done = folds <= fold
                gain = losses[done, 0] - losses[done, -1]
                weight = table.weight[done]
                if fold and len(sizes) == 1 and _is_clear(gain, weight):
                    break
        return losses[done], weight

    def _losses_of_fold(self, tree, table, train, test, column, all_rows, sizes, start):
        # Columns have been standardized once for all folds, which uses no labels.
        n_classes, y = len(table.classes), table.y[test]
        weight = table.sample_weight
        tree.fit(
            _take(table.X, train),
            table.labels[train],
            None if weight is None else weight[train],
        )
        proba = np.zeros((len(test), n_classes))
        known = np.searchsorted(table.classes.names, tree.classes_)
        proba[:, known] = tree.predict_proba(_take(table.X, test))
        losses = [log_losses(proba, y)]
        if not _has_classes(table, train):
            return np.column_stack(losses * (1 + len(sizes)))
        nodes = tree.apply(table.X)
        leaves = TreeLeaves(tree.tree_, nodes[train], table.weight[train])
        rows = leaves.rows(all_rows.terms[train], table.y[train], n_classes)
        if start is None:
            # path[n] has the indices of the terms, and the score, with n columns
            path = list(forward_scores(rows, column, self.C, sizes[-1]))
            path = [path[min(size, len(path) - 1)] for size in sizes]
        else:
            # start from the fit to all rows: `theta` has all coefficients, and a leaf
            # of this tree the mean of the constants of its rows (`indicator`: leaves
            # by rows, 1 if the row is in the leaf)
            constants = rows.weight[:, None] * start.leaf_coef.T[all_rows.leaves[train]]
            total = np.maximum(rows.indicator @ rows.weight, 1e-300)
            start = Score(
                start.coef,
                (rows.indicator @ constants / total[:, None]).T,
                start.intercept,
            )
            path = [(slice(None), fit_score(rows, self.C, start.theta))]
        for at, score in path:
            values = all_rows.terms[test][:, at] @ score.coef.T + score.intercept
            # `constants` has a row for each node of the tree
            values += leaves.constants(score.leaf_coef)[nodes[test]]
            losses.append(log_losses(probabilities(values, n_classes), y))
        return np.column_stack(losses)

    def _make_columns(self, table):
        columns = Columns.fit(
            table.coded, table.schema.is_categorical, table.weight, self.max_categories
        )
        n_terms = len(columns.kept)
        if self.n_linear_features is not None and n_terms > MAX_TERMS:
            raise ValueError(
                f"n_linear_features must be None for more than {MAX_TERMS:,} terms. "
                f"The columns have {n_terms:,}."
            )
        return columns

    def _fit_rows(self, rows, score):
        # Return the score, and its `Curvature` (the covariance of the coefficients,
        # with which they are tested; its score is fitted more precisely) unless it has
        # too many coefficients (`theta`).
        if score.theta.shape[1] > MAX_TERMS:
            return score, None
        curvature = Curvature(score, rows, self.C)
        return curvature.score, curvature

    def _rows(self, X):
        # The rows as they were passed, for the tree, and coded, for the score.
        if self._model is None:
            check_is_fitted(self)
        return X, self._model.schema.predict(X, type(self).__name__).X

    def _best(self, rows):  # predicted class index, for `predict` of the base class
        return self._model.proba(*rows).argmax(axis=1)

    @reads
    def decision_function(self, X: TableLike) -> Floats:
        """Score of each row: the log odds for two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in any format that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) for more classes
        """
        rows = self._rows(X)
        if self._model.has_score:
            values = self._model.values(*rows)[2]
            return values[:, 0] if values.shape[1] == 1 else values
        proba = np.log(np.maximum(self._model.proba(*rows), 1e-300))
        return proba[:, 1] - proba[:, 0] if proba.shape[1] == 2 else proba

    @reads
    def predict_proba(self, X: TableLike) -> Floats:
        """Class probabilities of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in any format that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        rows = self._rows(X)
        return self._model.proba(*rows)

    @reads
    def apply(self, X: TableLike) -> Indices:
        """Index of the leaf of each row; after merging, of the node that replaces it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in any format that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_samples,), intp
        """
        nodes = self.tree_.apply(X)
        return self._model.replacement[nodes] if self._model.has_score else nodes

    @reads
    def explain(self, X: TableLike) -> list[dict[str, Any]]:
        """Decompose the score of each row into contributions of columns and the leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in any format that `fit` accepts.

        Returns
        -------
        list of dict
            For each row: ``base``, the intercept; ``columns``, a list of (column,
            contribution), the largest first; ``leaf``, the node and its constant;
            ``score``, their sum; ``class``, the predicted class; and ``probability``
            of that class. For two classes the score is the log odds of
            ``classes_[1]``, otherwise the score of the predicted class relative to the
            mean of the classes.

        Raises
        ------
        ValueError
            If the linear score was dropped; use `tree_.explain` then.
        """
        rows = self._rows(X)
        if not self._model.has_score:
            raise ValueError(
                "The linear score was dropped, because it did not lower the "
                "cross-validated log loss. Use explain of tree_."
            )
        terms, nodes, values = self._model.values(*rows)
        terms = terms.toarray() if issparse(terms) else terms
        proba = probabilities(values, len(self.classes_))
        columns = [term.column for term in self.terms_]
        coef, replacement = self.coef_, self._model.replacement
        records = []
        for i in range(len(nodes)):
            best = int(proba[i].argmax())
            k = 0 if len(self.classes_) == 2 else best
            sums: dict[Any, float] = {}
            for name, value in zip(columns, terms[i] * coef[k], strict=True):
                sums[name] = sums.get(name, 0.0) + float(value)
            records.append(
                {
                    "base": float(self.intercept_[k]),
                    "columns": sorted(sums.items(), key=lambda item: -abs(item[1])),
                    "leaf": (
                        int(replacement[nodes[i]]),
                        float(self._model.constants[nodes[i], k]),
                    ),
                    "score": float(values[i, k]),
                    "class": self.classes_[best : best + 1].tolist()[0],
                    "probability": float(proba[i, best]),
                }
            )
        return records

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = ConfidenceTreeClassifier() if self.tree is None else self.tree
        tags.input_tags = inner.__sklearn_tags__().input_tags
        return tags


class _Table(NamedTuple):
    # Training rows: as they were passed, coded, and their labels and weights.
    X: Any
    coded: Any
    labels: np.ndarray
    y: np.ndarray
    sample_weight: Any
    weight: np.ndarray
    schema: Schema
    classes: Classes


def _has_classes(table, rows=slice(None)):
    # Whether rows have at least two classes whose weight in class_weight is not 0.
    return len(np.unique(table.y[rows][table.weight[rows] > 0.0])) > 1


def _standard_error(values, weight):
    # Weights are frequencies, or their sum is an effective number of rows.
    mean = np.average(values, weights=weight)
    return np.sqrt(weight @ (values - mean) ** 2) / weight.sum()


def _is_clear(gain, weight):
    # Whether further folds would not change which of two models is better.
    mean = np.average(gain, weights=weight)
    return abs(mean) > CLEAR * _standard_error(gain, weight) > 0.0


def _take(X, rows):
    return X[rows] if isinstance(X, np.ndarray) else _safe_indexing(X, rows)


def _folds(table, random_state):
    # Return the fold of each row, stratified. Copies of a row are in one fold, so that
    # weights are equivalent to copies. Equal rows with different labels are in one
    # fold, too: otherwise, training on some of these labels would bias the predictions
    # of the held-out ones. A `ContentOrder` sorts rows by hashes of their values and
    # labels, so that equal rows with equal labels are adjacent and form a group.
    groups = ContentOrder(*hash_rows(table.coded, table.y.astype(np.uint16)))
    first = groups.row_indices[groups.starts]
    order = random_state.permutation(len(first))
    order = order[np.argsort(table.y[first[order]], kind="stable")]
    fold_of_group = np.empty(len(first), dtype=np.intp)
    fold_of_group[order] = np.arange(len(first)) % N_FOLDS
    no_label = np.zeros(len(table.y), dtype=np.uint16)
    values = ContentOrder(*hash_rows(table.coded, no_label)).group_of_rows()
    # the fold of equal values: the sum of the folds of their groups, modulo N_FOLDS
    sums = np.bincount(values[first], fold_of_group).astype(np.intp)
    # few distinct rows may leave a fold empty
    return np.unique(sums[values] % N_FOLDS, return_inverse=True)[1]


def _find_equal_leaves(leaves, curvature):
    # Return the parents of sibling leaves whose constants do not differ significantly,
    # given the linear score.
    families = leaves.families()  # leaves by parent, if all its children are leaves
    contrasts, groups = [], []
    for children in families.values():
        at = curvature.q + np.array(children)  # coefficients follow those of q terms
        contrast = np.zeros((len(at) - 1, curvature.size))
        contrast[:, at[0]] = 1.0
        contrast[np.arange(len(at) - 1), at[1:]] = -1.0
        groups.append(len(contrasts) + np.arange(len(contrast)))
        contrasts.extend(contrast)
    if not families:
        return []
    p_values = len(families) * curvature.test(np.array(contrasts), groups)
    return [
        parent
        for parent, p_value in zip(families, p_values, strict=True)
        if p_value > MAX_BY_CHANCE
    ]


def _centering(rows, columns):
    # Return the matrix that subtracts the weighted mean from the coefficients of each
    # nominal column and from the constants of the leaves, and the weight of each leaf.
    q, column = rows.terms.shape[1], columns.column
    weights = np.bincount(rows.leaves, rows.weight, rows.n_leaves)
    share = rows.weight / weights.sum()
    size = q + rows.n_leaves + 1
    if size > MAX_TERMS + 1:
        return None, weights
    center = np.eye(size)
    blocks = [(q + np.arange(rows.n_leaves), weights / weights.sum())]
    for j in np.intersect1d(column, columns.nominal):
        at = np.flatnonzero(column == j)
        blocks.append((at, share @ rows.terms[:, at]))
    for at, part in blocks:
        center[np.ix_(at, at)] -= part / max(part.sum(), 1e-300)
        center[-1, at] += part
    return center, weights


def _test(curvature, center, rows, columns, n_features):
    # Return standard errors, and adjusted p-values of the terms and of the leaves.
    n_leaves, column = rows.n_leaves, columns.column
    q = len(column)
    n_score = 1 if rows.n_classes == 2 else rows.n_classes
    p_of_terms, p_of_leaves = np.full(q, np.nan), np.full(n_leaves, np.nan)
    if curvature is None:
        return np.full((n_score, q + n_leaves), np.nan), p_of_terms, p_of_leaves
    errors = np.sqrt(np.maximum(curvature.variances(center[:-1]), 0.0))
    groups = [np.flatnonzero(column == j) for j in np.unique(column)]
    groups += [[q + k] for k in range(n_leaves) if n_leaves > 1]
    p_values = curvature.test(center[:-1], groups)
    n_columns = len(np.unique(column))
    for at, p_value in zip(groups, p_values[:n_columns], strict=False):
        p_of_terms[at] = n_features * p_value
    if n_leaves > 1:
        p_of_leaves[:] = n_leaves * p_values[n_columns:]
    return errors, np.minimum(p_of_terms, 1.0), np.minimum(p_of_leaves, 1.0)


def _warn_of_separation(terms):
    sizes = {f"column {term.column!r}": np.abs(term.coef).max() for term in terms}
    large = {column: size for column, size in sizes.items() if size > LARGE}
    if large:
        warn(
            f"The coefficient of {' and '.join(large)} is "
            f"{max(large.values()):.1f} per standard deviation: the columns nearly "
            "separate the classes, and only the penalty keeps the coefficients "
            "finite. Check whether a column reveals the class, or use a smaller C."
        )
