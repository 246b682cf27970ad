"""A decision tree plus a linear score, fitted together by logistic regression."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
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
from ..utils._doc_links import DocLinkMixin
from ..utils._parameter_names import suggests_parameters
from ..utils._types import Floats, Indices, LabelsLike, Seed, TableLike
from ..utils._warnings import warn
from ._logistic import (
    MAX_TERMS,
    MAX_WORK,
    Columns,
    Curvature,
    Rows,
    Score,
    fit_score,
    log_losses,
    order_columns,
    probabilities,
)
from ._writing import leaf_note, python_program, score_lines, sql_expression, term_name

N_FOLDS = 5
MAX_TRIED = 30  # columns that n_linear_features="auto" tries at most
LARGE = 10.0  # coefficient per standard deviation of nearly separated classes
Z95 = 1.959963984540054
MAX_BY_CHANCE = 0.01  # differences of sibling leaves that are expected by chance


class LinearTerm(NamedTuple):
    """One term of the linear score, see `PartiallyLinearTreeClassifier.terms_`."""

    column: Any
    category: Any
    mean: float
    scale: float
    coef: Any
    standard_error: Any
    interval: Any
    odds_ratio: Any
    odds_ratio_sd: Any
    p_value: float


class ScoredLeaf(NamedTuple):
    """The constant of one leaf, see `PartiallyLinearTreeClassifier.leaves_`."""

    node: int
    weight: float
    coef: Any
    standard_error: Any
    p_value: float


@suggests_parameters()
@dataclass(eq=False, repr=False)
class PartiallyLinearTreeClassifier(DocLinkMixin, ClassifierMixin, BaseEstimator):
    r"""Decision tree plus a linear score: a scorecard with a constant for each leaf.

    A confidence tree is fitted first. Then one penalized logistic regression is fitted
    to all columns and to the leaves of the tree, so that the log odds of a row are

    .. math::

        \log \frac{P(y = 1 \mid x)}{P(y = 0 \mid x)} =
            \beta_0 + \sum_j \beta_j z_j(x) + \gamma_{\mathrm{leaf}(x)},

    where :math:`z_j` are standardized numeric columns and indicators of categories.
    The splits of the tree and their evidence do not change. A tree approximates a
    linear relation by many steps, and a linear score has no interactions: the sum has
    both, and is still one tree and one list of coefficients.

    Use it if a logistic regression is the usual model and interactions are likely,
    as in credit scoring and medicine; :doc:`/guide/scorecard` has an example. If the
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
        Maximum number of terms of a nominal column. Its rarest categories share the
        last term.
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
    leaves, the covariance between the coefficients of different classes is left out.

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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: TableLike, y: LabelsLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the tree, then the linear score with a constant for each leaf.

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
        # no warning about unparseable columns here, because the tree issues it
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
        )
        if len(used) < len(labels):
            X, labels = _safe_indexing(X, used), labels[used]
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight)[used]
        classes, codes = Classes.of(labels)
        codes = codes.astype(np.intp)
        tree.fit(X, labels, sample_weight)
        if weight is None:
            weight = np.ones(len(codes))
        if tree.class_weight is not None:
            weight = weight * compute_sample_weight(tree.class_weight, labels)
        table = _Table(X, coded, labels, codes, sample_weight, weight, classes.names)
        fitted = self._fit_score(tree, table, schema)
        self.classes_, self.n_features_in_ = classes.names, schema.n_features
        if schema.names is not None:
            self.feature_names_in_ = schema.names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._schema, self.tree_ = schema, tree
        for name, value in fitted.items():
            setattr(self, name, value)
        return self

    def _fit_score(self, tree, table, schema):
        # Returns the fitted attributes of the score.
        K = len(table.classes)
        n_score = 1 if K == 2 else K
        fitted = {
            "coef_": np.zeros((n_score, 0)),
            "leaf_coef_": np.zeros((n_score, 0)),
            "intercept_": np.zeros(n_score),
            "terms_": [],
            "leaves_": [],
            "linear_features_": np.empty(0, dtype=np.intp),
            "cv_log_loss_": (np.nan, np.nan),
            "_columns": None,
        }
        if K < 2:
            return fitted
        sizes = self._sizes(schema)
        losses = self._cross_validate(tree, table, schema, sizes)
        total = table.weight.sum()
        means = table.weight @ losses / total
        best = 1 + int(means[1:].argmin())
        if len(sizes) > 1:  # one standard error of the best
            spread = losses[:, best] - means[best]
            error = np.sqrt((table.weight * spread**2).sum() / total / len(losses))
            best = 1 + int(np.argmax(means[1:] <= means[best] + error))
        fitted["cv_log_loss_"] = (float(means[0]), float(means[best]))
        if not means[best] < means[0]:
            return fitted
        columns = Columns(
            table.coded, schema.is_categorical, table.weight, self.max_categories
        )
        part = _TreeLeaves(tree.tree_, tree.apply(table.X), table.weight)
        rows = self._rows_of(columns, part, table, np.arange(len(table.codes)))
        kept = np.arange(len(columns.terms))
        if sizes[best - 1] is not None:
            chosen = order_columns(rows, columns.column, self.C, sizes[best - 1])
            kept = np.flatnonzero(np.isin(columns.column, chosen))
            rows = rows.with_terms(kept)
        score = fit_score(rows, self.C)
        curvature = self._curvature(score, rows)
        while self.prune_leaves and curvature is not None:
            merged = self._merge(part, curvature, n_score)
            if not merged:
                break
            part = part.merged(merged)
            leaves = part.index[tree.apply(table.X)]
            rows = rows._replace(leaves=leaves, n_leaves=len(part.nodes))
            score = fit_score(rows, self.C)
            curvature = self._curvature(score, rows)
        return fitted | self._described(
            score, curvature, rows, columns, kept, part, schema
        )

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

    def _rows_of(self, columns, part, table, at):
        terms = columns.transform(table.coded[at])
        if self.n_linear_features is not None and terms.shape[1] > MAX_TERMS:
            raise ValueError(
                f"n_linear_features must be None for more than {MAX_TERMS:,} terms. "
                f"The columns have {terms.shape[1]:,}."
            )
        return Rows(
            terms,
            part.leaves,
            table.codes[at],
            table.weight[at],
            len(part.nodes),
            len(table.classes),
        )

    def _cross_validate(self, tree, table, schema, sizes):
        # Log loss of each row: of the tree, and with a score of each size.
        n, y = len(table.codes), table.codes
        # Copies of a row are in one fold, so that weights are equivalent to copies.
        groups = ContentOrder(*hash_rows(table.coded, y.astype(np.uint16)))
        first = groups.row_indices[groups.starts]
        order = check_random_state(self.random_state).permutation(len(first))
        order = order[np.argsort(y[first[order]], kind="stable")]  # stratified
        fold_of_group = np.empty(len(first), dtype=np.intp)
        fold_of_group[order] = np.arange(len(first)) % N_FOLDS
        folds = fold_of_group[groups.group_of_rows()]
        losses = np.zeros((n, 1 + len(sizes)))
        with warnings.catch_warnings():
            # of columns and categories, which the fit to all rows has reported
            warnings.simplefilter("ignore", UserWarning)
            for fold in range(N_FOLDS):
                train, test = (
                    np.flatnonzero(folds != fold),
                    np.flatnonzero(folds == fold),
                )
                if not len(train) or not len(test):
                    continue
                grown = clone(tree).fit(
                    _safe_indexing(table.X, train),
                    table.labels[train],
                    None if table.sample_weight is None else table.sample_weight[train],
                )
                X_test = _safe_indexing(table.X, test)
                proba = np.zeros((len(test), len(table.classes)))
                proba[:, np.searchsorted(table.classes, grown.classes_)] = (
                    grown.predict_proba(X_test)
                )
                losses[test] = log_losses(proba, y[test])[:, None]
                if len(grown.classes_) < 2:
                    continue
                part = _TreeLeaves(
                    grown.tree_,
                    grown.apply(_safe_indexing(table.X, train)),
                    table.weight[train],
                )
                columns = Columns(
                    table.coded[train],
                    schema.is_categorical,
                    table.weight[train],
                    self.max_categories,
                )
                rows = self._rows_of(columns, part, table, train)
                terms, nodes = columns.transform(table.coded[test]), grown.apply(X_test)
                chosen = None
                if sizes[0] is not None:
                    chosen = order_columns(rows, columns.column, self.C, max(sizes))
                for k, size in enumerate(sizes):
                    kept = np.arange(terms.shape[1])
                    if size is not None:
                        kept = np.flatnonzero(np.isin(columns.column, chosen[:size]))
                    score = fit_score(rows.with_terms(kept), self.C, 1e-3)
                    constants = part.constants(score.leaf_coef)
                    values = terms[:, kept] @ score.coef.T + constants[nodes]
                    proba = probabilities(values + score.intercept, len(table.classes))
                    losses[test, 1 + k] = log_losses(proba, y[test])
        return losses

    def _curvature(self, score, rows):
        if score.theta.shape[1] > MAX_TERMS:
            return None
        return Curvature(score, rows, self.C)

    def _merge(self, part, curvature, n_score):
        # Families of leaves whose constants do not differ beyond the linear score.
        families = part.families()
        merged = []
        for parent, leaves in families.items():
            contrasts = np.zeros((len(leaves) - 1, curvature.size))
            contrasts[:, curvature.q + leaves[0]] = 1.0
            at = curvature.q + np.array(leaves[1:])
            contrasts[np.arange(len(leaves) - 1), at] = -1.0
            _, log_p = curvature.test(contrasts)
            if np.exp(log_p) * len(families) > MAX_BY_CHANCE:
                merged.append(parent)
        return merged

    def _described(self, score, curvature, rows, columns, kept, part, schema):
        # The fitted attributes: centered parameters, standard errors and tests.
        if curvature is not None:
            score = curvature.score
        terms = [columns.terms[k] for k in kept]
        column = columns.column[kept]
        q, n_leaves = len(kept), len(part.nodes)
        center = np.eye(q + n_leaves + 1)
        nominal = set(columns.nominal.tolist())
        total = rows.weight.sum()
        blocks = [np.flatnonzero(column == j) for j in set(column) & nominal]
        shares = [rows.weight @ rows.terms[:, at] / total for at in blocks]
        blocks.append(q + np.arange(n_leaves))
        shares.append(np.bincount(rows.leaves, rows.weight, n_leaves) / total)
        if q + n_leaves <= MAX_TERMS:
            for at, share in zip(blocks, shares, strict=True):
                center[np.ix_(at, at)] -= share / max(share.sum(), 1e-300)
                center[-1, at] += share
            theta = score.theta @ center.T
        else:
            theta = score.theta
        score = Score.of_theta(theta, q)
        n_score = len(theta)
        errors = np.full((n_score, q + n_leaves), np.nan)
        log_p_column, log_p_leaf = {}, np.full(n_leaves, np.nan)
        work = len(rows.y) * n_score * (q + 1.0)
        if curvature is not None:
            errors = np.sqrt(np.maximum(curvature.variances(center[:-1]), 0.0))
            if work * (n_leaves + len(set(column))) <= MAX_WORK:
                for j in set(column.tolist()):
                    log_p_column[j] = curvature.test(
                        center[np.flatnonzero(column == j)]
                    )[1]
                if n_leaves > 1:
                    log_p_leaf = np.array(
                        [curvature.test(center[[q + k]])[1] for k in range(n_leaves)]
                    )
        names = schema.columns
        d = schema.n_features
        records = []
        for k, term in enumerate(terms):
            category = term.category
            if term.column in nominal and not isinstance(category, str):
                category = _category(schema, term.column, category)
                category = "missing" if category is None else category
            coef, error = theta[:, k], errors[:, k]
            interval = np.column_stack([coef - Z95 * error, coef + Z95 * error])
            records.append(
                LinearTerm(
                    _to_python(names[term.column]),
                    category,
                    term.mean,
                    term.scale,
                    *(
                        _single(value)
                        for value in (
                            coef,
                            error,
                            interval,
                            np.exp(coef / term.scale),
                            np.exp(coef),
                        )
                    ),
                    p_value=_adjusted(log_p_column.get(term.column, np.nan), d),
                )
            )
        self._warn_of_separation(records)
        weights = np.bincount(rows.leaves, rows.weight, n_leaves)
        return {
            "coef_": score.coef,
            "leaf_coef_": score.leaf_coef,
            "intercept_": score.intercept,
            "terms_": records,
            "leaves_": [
                ScoredLeaf(
                    int(part.nodes[k]),
                    float(weights[k]),
                    _single(score.leaf_coef[:, k]),
                    _single(errors[:, q + k]),
                    _adjusted(log_p_leaf[k], n_leaves),
                )
                for k in range(n_leaves)
            ],
            "linear_features_": np.unique(column),
            "_columns": (columns, kept),
            "_constants": part.constants(score.leaf_coef),
            "_part": part.replacements(),
        }

    def _warn_of_separation(self, terms):
        large = {
            repr(term.column): np.abs(term.coef).max()
            for term in terms
            if np.abs(term.coef).max() > LARGE
        }
        if large:
            warn(
                f"The coefficient of column {', '.join(large)} is "
                f"{max(large.values()):.1f} per standard deviation: the columns nearly "
                "separate the classes, and only the penalty keeps the coefficients "
                "finite. Check whether a column reveals the class, or use a smaller C."
            )

    def _values(self, X):
        # Rows as terms, nodes of the tree, and scores; None if the score was dropped.
        check_is_fitted(self)
        if self._columns is None:
            self._schema.predict(X, type(self).__name__)
            return None
        coded = self._schema.predict(X, type(self).__name__).X
        columns, kept = self._columns
        terms = columns.transform(coded.tocsr() if issparse(coded) else coded)[:, kept]
        nodes = self.tree_.apply(X)
        values = terms @ self.coef_.T + self._constants[nodes] + self.intercept_
        return terms, nodes, values

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
        scored = self._values(X)
        if scored is None:
            proba = np.log(np.maximum(self.tree_.predict_proba(X), 1e-300))
            if proba.shape[1] == 2:
                return proba[:, 1] - proba[:, 0]
            return proba
        return scored[2][:, 0] if len(self.classes_) == 2 else scored[2]

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
        scored = self._values(X)
        if scored is None:
            return self.tree_.predict_proba(X)
        return probabilities(scored[2], len(self.classes_))

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in any format that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_.take(best)

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
        check_is_fitted(self)
        nodes = self.tree_.apply(X)
        return nodes if self._columns is None else self._part[nodes]

    def explain(self, X: TableLike) -> list[dict[str, Any]]:
        """Add up the score of each row.

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
        scored = self._values(X)
        if scored is None:
            raise ValueError(
                "The linear score was dropped, because it did not lower the "
                "cross-validated log loss. Use explain of tree_."
            )
        terms, nodes, values = scored
        terms = terms.toarray() if issparse(terms) else terms
        proba = probabilities(values, len(self.classes_))
        columns = [term.column for term in self.terms_]
        records = []
        for i in range(len(nodes)):
            best = int(proba[i].argmax())
            k = 0 if len(self.classes_) == 2 else best
            sums: dict[Any, float] = {}
            for name, value in zip(columns, terms[i] * self.coef_[k], strict=True):
                sums[name] = sums.get(name, 0.0) + float(value)
            records.append(
                {
                    "base": float(self.intercept_[k]),
                    "columns": sorted(sums.items(), key=lambda item: -abs(item[1])),
                    "leaf": (
                        int(self._part[nodes[i]]),
                        float(self._constants[nodes[i], k]),
                    ),
                    "score": float(values[i, k]),
                    "class": _to_python(self.classes_[best]),
                    "probability": float(proba[i, best]),
                }
            )
        return records

    # What `skconftree.tree` needs to print the model and to write it as rules.

    def _has_score(self):
        check_is_fitted(self)
        return self._columns is not None

    def _score_lines(self, class_names, decimals, width):
        names = list(map(term_name, self.terms_))
        return score_lines(self, names, class_names, decimals, width)

    def _leaf_notes(self, decimals):
        return {leaf.node: leaf_note(leaf, decimals) for leaf in self.leaves_}

    def _leaf_ends(self):
        return {leaf.node for leaf in self.leaves_}

    def _leaf_constants(self):
        return self._constants[:, 0].tolist()

    def _written_python(self, keys, name, leaf_function):
        return python_program(self, keys, name, leaf_function)

    def _category_of(self, term):
        return _category(self._schema, term.column, term.category)

    def _written_sql(self, columns, leaf_expression, literal):
        return sql_expression(self, columns, leaf_expression, literal)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = ConfidenceTreeClassifier() if self.tree is None else self.tree
        tags.input_tags = inner.__sklearn_tags__().input_tags
        return tags


class _Table(NamedTuple):
    # Training rows: as passed, coded, and their labels and weights.
    X: Any
    coded: Any
    labels: np.ndarray
    codes: np.ndarray
    sample_weight: Any
    weight: np.ndarray
    classes: np.ndarray


class _TreeLeaves:
    """The leaves of a fitted tree, or the inner nodes that replace merged ones.

    `nodes` are these leaves, `index` is the index in `nodes` of each node of the tree
    or of its replacement, -1 for other inner nodes, and `leaves` those of the rows.
    """

    def __init__(self, tree, nodes_of_rows, weight, ends=None):
        self.tree, self.nodes_of_rows, self.weight = tree, nodes_of_rows, weight
        parent = np.asarray(tree.parent)
        # a child has a larger index than its parent
        is_inner = np.zeros(tree.node_count, dtype=bool)
        is_inner[parent[1:]] = True
        self.end = np.arange(tree.node_count)  # replacement of each node
        if ends is not None:
            is_inner[ends] = False
            for node in range(1, tree.node_count):
                above = self.end[parent[node]]
                if above != parent[node] or not is_inner[parent[node]]:
                    self.end[node] = above
        reached = np.zeros(tree.node_count, dtype=bool)
        # rows with a category that no branch takes stay at an inner node
        reached[self.end[nodes_of_rows]] = True
        is_end = (self.end == np.arange(tree.node_count)) & (~is_inner | reached)
        self.nodes = np.flatnonzero(is_end)
        self.index = np.full(tree.node_count, -1)
        self.index[self.nodes] = np.arange(len(self.nodes))
        self.index = self.index[self.end]
        self.leaves = self.index[nodes_of_rows]
        self.parent, self.is_inner = parent, is_inner

    def families(self):
        """Map each inner node whose children are all leaves to their indices."""
        children: dict[int, list[int]] = {}
        for node in range(1, self.tree.node_count):
            if self.end[node] == node:
                children.setdefault(int(self.parent[node]), []).append(node)
        return {
            parent: self.index[nodes].tolist()
            for parent, nodes in children.items()
            if not self.is_inner[nodes].any() and self.index[parent] < 0
        }

    def merged(self, parents):
        """The same tree with the leaves below some nodes merged."""
        ends = [*np.flatnonzero(~self.is_inner), *parents]
        return _TreeLeaves(self.tree, self.nodes_of_rows, self.weight, ends)

    def constants(self, leaf_coef):
        """Constant of each node: of a leaf, or the weighted mean of those below."""
        n = self.tree.node_count
        weight = np.zeros(n)
        total = np.zeros((n, len(leaf_coef)))
        own = np.bincount(self.leaves, self.weight, len(self.nodes))
        weight[self.nodes] = own
        total[self.nodes] = leaf_coef.T * own[:, None]
        for node in range(n - 1, 0, -1):
            if self.end[node] == node:
                weight[self.parent[node]] += weight[node]
                total[self.parent[node]] += total[node]
        constants = total / np.maximum(weight, 1e-300)[:, None]
        ends = self.index >= 0
        constants[ends] = leaf_coef.T[self.index[ends]]
        return constants

    def replacements(self):
        """Replacement of each node, an array for prediction."""
        return self.end


def _single(values):
    # The entry of the only row of a score, as a float if it is one.
    if len(values) > 1:
        return values
    value = values[0]
    return float(value) if np.ndim(value) == 0 else tuple(map(float, value))


def _to_python(value):
    return value.item() if isinstance(value, np.generic) else value


def _adjusted(log_p, n):
    return (
        float(min(1.0, n * np.exp(log_p)))
        if np.isfinite(log_p)
        else float(np.exp(log_p))
    )


def _category(schema, column, code):
    # None is the category of missing values.
    names = schema.categories[column]
    if np.isnan(code) or not 0 <= int(code) < len(names):
        return None
    return _to_python(names[int(code)])
