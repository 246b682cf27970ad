"""Transformer of numeric and nominal columns to binary features.

Each binary feature is a *test*: whether a number exceeds a threshold, or a value is a
certain category. A *schema* has the names, types and categories of the columns.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._compat import Interval, StrOptions, check_feature_names_in, validate_parameters
from ..utils._codec import (
    VERSION,
    check_state_parts,
    default_parameters,
    is_array,
    with_version,
    without_version,
    written_by,
)
from ..utils._doc_links import DocLinkMixin
from ..utils._types import TableLike
from ._features import MISSING  # the category of missing values
from ._schema import Schema


class BinaryTests(DocLinkMixin, TransformerMixin, BaseEstimator):
    """Binarize columns: one indicator feature per threshold or category.

    A nominal column becomes an indicator feature per category (whether the value equals
    it), a numeric column one per threshold (whether the value is larger). They are
    meant for active feature selection, in which each binary test has a cost and few
    tests should identify the class [1]_.

    If a column had missing values (NaN, None) in `fit`, one more indicator is 1 for
    missing values, for which the other indicators of the column are 0. For a category
    that did not occur in `fit`, all indicators of the column are 0.

    Parameters
    ----------
    max_tests : int or None, default=32
        Maximum number of tests per column, at least 1, not counting the test for
        missing values. Larger values retain more detail. For a column with more
        categories, the most frequent ones are used; for a column with more distinct
        numbers, thresholds that divide its rows into groups of about equal size. None
        for all.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
            default="from_dtype"
        Which columns are nominal, as in `ConfidenceTreeClassifier`.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all of them are strings.
    n_tests_ : ndarray of shape (`n_features_in_`,), int
        Number of tests of each column, 0 for a constant column.
    thresholds_ : list of ndarray or None
        Thresholds of each numeric column, ascending; None for a nominal one.
    categories_ : list of list or None
        Categories of each nominal column that have a test; None for a numeric one.
    missing_ : ndarray of shape (`n_features_in_`,), bool
        Mask of the columns with a test for missing values.

    See Also
    --------
    skconftree.ConfidenceTreeClassifier : Selects thresholds and sets of categories
        at each node; the criteria ``"balance"`` and ``"ec2"`` (equivalence class edge
        cutting) are made for binary tests.

    Notes
    -----
    Thresholds are midpoints of adjacent values in float32, as in trees, so that with
    ``max_tests=None`` a tree on the tests can represent the same splits as on numeric
    columns. The tests are 8-bit integers, and a column has at most as many tests as
    values.

    References
    ----------
    .. [1] B. Rupprechter (2012), "Noisy active learning from a Bayesian perspective",
       Master thesis, ETH Zurich, chapter 5.

    Examples
    --------
    >>> import pandas as pd
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree import BinaryTests
    >>> from skconftree.tree import export_text
    >>> X = pd.DataFrame({
    ...     "age": [20.0, 40.0, 60.0] * 20,
    ...     "color": pd.Categorical(["red", "red", "blue"] * 10 + ["green"] * 30),
    ... })
    >>> y = X["age"] > 30
    >>> tests = BinaryTests().set_output(transform="pandas").fit(X)
    >>> print(*tests.get_feature_names_out())
    [age > 30] [age > 50] [color = blue] [color = green] [color = red]
    >>> tree = ConfidenceTreeClassifier(max_depth=1).fit(tests.transform(X), y)
    >>> print(export_text(tree, show_evidence=False).splitlines()[0])
    |--- [age > 30] <= 0
    """

    _parameter_constraints: dict = {
        "max_tests": [Interval(Integral, 1, None, closed="left"), None],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    }

    def __init__(
        self,
        max_tests: int | None = 32,
        *,
        categorical_features: ArrayLike | int | str | None = "from_dtype",
    ) -> None:
        self.max_tests = max_tests
        self.categorical_features = categorical_features

    def fit(self, X: TableLike, y: None = None) -> Self:
        """Select the tests.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.

        Returns
        -------
        BinaryTests
            The fitted transformer.
        """
        validate_parameters(self)
        _refuse_sparse(X)
        rows, _, schema = Schema.first(
            X, type(self).__name__, self.categorical_features
        )
        # checks the number of categories; it would also remove categories that only
        # rows of weight 0 have, but there are no weights here
        schema = schema.keep_learned(rows)
        tests = [
            self._thresholds(column) if known is None else self._codes(column, known)
            for column, known in zip(rows.T, _categories(schema), strict=True)
        ]
        tested, missing = zip(*tests, strict=True)
        self._set_tests(schema, list(tested), np.array(missing))
        return self

    def _set_tests(self, schema, tested, missing):
        # Set the attributes: thresholds or codes of each column, and which columns have
        # a test for missing values.
        known = _categories(schema)
        vars(self).pop("feature_names_in_", None)
        if schema.names is not None:
            self.feature_names_in_ = schema.names
        self._schema, self._tested, self.missing_ = schema, tested, missing
        self.n_features_in_ = schema.n_features
        self.n_tests_ = np.array(list(map(len, tested)), np.intp) + missing
        self.thresholds_ = [
            values if categories is None else None
            for values, categories in zip(tested, known, strict=True)
        ]
        self.categories_ = [
            None if categories is None else [categories[code] for code in codes]
            for codes, categories in zip(tested, known, strict=True)
        ]

    def __getstate__(self):
        state = dict(super().__getstate__())
        if hasattr(self, "_schema"):
            state = {name: state[name] for name in state if name not in DERIVED}
            state["_schema"] = self._schema.state()
        return with_version(state)

    def __setstate__(self, state):
        kind, version = type(self), state.get(VERSION)
        state = without_version(state, default_parameters(kind), kind.__name__)
        tests = {name: state.pop(name) for name in TESTS if name in state}
        super().__setstate__(state)
        if tests:
            with written_by(version):  # errors name the version that wrote the state
                check_state_parts(self, {name: name in tests for name in TESTS})
                schema = Schema.of_state(tests["_schema"], self)
                tested, missing = tests["_tested"], tests["missing_"]
                check_state_parts(self, _valid_parts(schema, tested, missing))
            self._set_tests(schema, tested, missing)

    def _thresholds(self, column):
        # Thresholds of numbers, and whether some, but not all, are missing.
        missing = np.isnan(column)
        values, rows = np.unique(column[~missing], return_counts=True)
        thresholds = _midpoints(values)
        if self.max_tests is not None and len(thresholds) > self.max_tests:
            # the thresholds nearest to `max_tests` quantiles of the rows
            below = np.cumsum(rows[:-1])
            shares = np.arange(1, self.max_tests + 1) / (self.max_tests + 1)
            thresholds = thresholds[np.unique(_nearest(below, shares * rows.sum()))]
        return thresholds, bool(missing.any() and not missing.all())

    def _codes(self, column, known):
        # Codes of the categories with a test, and whether there are missing values.
        codes, rows = np.unique(column.astype(np.intp), return_counts=True)
        is_missing = np.array([known[code] is MISSING for code in codes], dtype=bool)
        several = len(codes) > 1
        codes, rows = codes[~is_missing], rows[~is_missing]
        if self.max_tests is not None and len(codes) > self.max_tests:
            codes = np.sort(codes[np.argsort(-rows, kind="stable")[: self.max_tests]])
        return codes[: len(codes) if several else 0], bool(several and is_missing.any())

    def transform(self, X: TableLike) -> NDArray[np.uint8]:
        """Compute the tests.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray or frame of shape (n_samples, n_tests), uint8
            1 if the test is true for the row, else 0.
        """
        check_is_fitted(self)
        _refuse_sparse(X)
        rows = self._schema.predict(X, type(self).__name__).X
        out = np.empty((len(rows), self.n_tests_.sum()), dtype=np.uint8)
        start = 0
        for j, tested in enumerate(self._tested):
            column = rows[:, j, np.newaxis]
            block = out[:, start : start + self.n_tests_[j]]
            compare = np.equal if self.thresholds_[j] is None else np.greater
            compare(column, tested, out=block[:, : len(tested)].view(np.bool_))
            if self.missing_[j]:
                block[:, -1] = self._is_missing(column[:, 0], j)
            start += self.n_tests_[j]
        return out

    def _is_missing(self, column, j):
        if self.thresholds_[j] is not None:
            return np.isnan(column)
        return column == self._schema.categories[j].index(MISSING)

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Get the names of the tests, in brackets.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns; None uses those of `fit`, or x0, x1, ....

        Returns
        -------
        ndarray of str objects
            Such as ``"[age > 30.5]"``, ``"[color = red]"`` or ``"[age is missing]"``.
        """
        check_is_fitted(self, "n_features_in_")
        columns = check_feature_names_in(self, input_features)
        names = []
        for name, thresholds, categories, missing in zip(
            columns, self.thresholds_, self.categories_, self.missing_, strict=True
        ):
            if thresholds is not None:
                names += [
                    f"[{name} > {threshold}]" for threshold in _digits(thresholds)
                ]
            else:
                names += [f"[{name} = {category}]" for category in categories]
            if missing:
                names.append(f"[{name} is missing]")
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


# Fitted attributes that a pickle contains, and those that are computed from them.
TESTS = ("_schema", "_tested", "missing_")
DERIVED = (
    *("n_features_in_", "feature_names_in_", "n_tests_"),
    *("thresholds_", "categories_"),
)


def _categories(schema):
    return schema.categories or [None] * schema.n_features


def _valid_parts(schema, tested, missing):
    # Codes are indices of categories; `transform` fills as many columns as there are
    # tests.
    known = _categories(schema)
    return {
        "_tested": isinstance(tested, list)
        and len(tested) == len(known)
        and all(map(_are_tests, tested, known)),
        "missing_": is_array(missing, np.bool_, (len(known),)),
    }


def _are_tests(values, categories):
    if categories is None:
        return is_array(values, np.float64, (None,))  # None: any length
    return is_array(values, np.intp, (None,)) and bool(
        ((values >= 0) & (values < len(categories))).all()
    )


def _midpoints(values):
    # Halfway between neighboring float32 values, like the thresholds of trees: in
    # float64, the sum of their halves cannot overflow and is below the larger value.
    low, high = values[:-1].astype(np.float64), values[1:].astype(np.float64)
    return low / 2.0 + high / 2.0


def _nearest(ascending, numbers):
    # Index of the element nearest to each number.
    right = np.clip(np.searchsorted(ascending, numbers), 1, len(ascending) - 1)
    left = right - 1
    nearer_left = numbers - ascending[left] <= ascending[right] - numbers
    return np.where(nearer_left, left, right)


def _digits(thresholds):
    # The fewest digits that distinguish the thresholds of a column, at least four.
    for digits in range(4, 17):
        names = [f"{threshold:.{digits}g}" for threshold in thresholds]
        if len(set(names)) == len(names):
            return names
    return list(map(repr, thresholds.tolist()))


def _refuse_sparse(X):
    if issparse(X):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required by BinaryTests. "
            "Use X.toarray()."
        )
