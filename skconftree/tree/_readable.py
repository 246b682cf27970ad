"""What an estimator tells people of its tree."""

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from ..utils._lock import reads
from .reading._html import write_page, write_tree
from .reading._pruning_path import pruning_path
from .reading._summary import explain_text, summarize


class ReadableTree:
    """Mixin of a tree estimator that explains itself in words."""

    @reads
    def summary(self):
        """Tell in a few lines what the tree is like.

        Its size, how many of its splits are overwhelming, strong or weak, the weakest
        of them, the columns it uses, and the shares of the classes.

        Returns
        -------
        str
            Lines of at most 100 columns.

        See Also
        --------
        skconftree.tree.export_text : The whole tree; says what the words mean.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(ConfidenceTreeClassifier().fit(X, y).summary())
        ConfidenceTreeClassifier: 150 rows, 4 columns, 3 classes; bound: gtest
        5 leaves, depth 4; rows in a leaf: 1 to 50, median 46
        4 splits: 2 overwhelming, 1 strong, 1 weak
        the weakest, petal width (cm) <= 1.65 (node 5): p ~ 0.05, 28 cuts compared
        columns used, 2 of 4 (share of the gain): petal width (cm) (0.95), ...
        largest share of a class: 0.333 of all rows, 0.980 within leaves (the rows ...
        <BLANKLINE>
        p: how many cuts as good as this one are expected in noise
        overwhelming: p < 1e-6, strong: p < 0.01, weak: all others
        """
        check_is_fitted(self)
        return summarize(self)

    @reads
    def explain_text(self, X, *, verbose=False):
        """Tell in words why rows get their class.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Some rows; also a single one, an array of shape (n_features,) or a row of a
            pandas frame.
        verbose : bool, default=False
            Whether to add what the bound compared at each split, number by number.

        Returns
        -------
        str
            Lines of at most 100 columns: for each row its class, then each test on its
            path with how sure the tree was of it.

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
        class 0: probability 0.958, by 50 rows of a leaf
          1. petal width (cm) <= 0.8 (here 0.2)
             overwhelming: p ~ 3e-40, 84 cuts compared
        There the tree stops: all rows of the leaf are of one class.
        <BLANKLINE>
        p: how many cuts as good as this one are expected in noise
        overwhelming: p < 1e-6, strong: p < 0.01, weak: all others
        """
        check_is_fitted(self)
        rows, _ = self._rows(_table_of(X))
        if hasattr(rows, "toarray"):
            rows = rows.toarray(order="C")
        return explain_text(self, rows, verbose=verbose)

    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """Find the strengths of cost-complexity pruning at which the tree changes.

        A copy of the estimator is fitted without pruning, and its weakest link pruned
        again and again. The strengths are what to try as `pruning_confidence` with
        ``pruning="cost_complexity"``, as scikit-learn's `ccp_alpha`.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        sklearn.utils.Bunch
            ``ccp_alphas`` and, of the same length, ``impurities``: that of the leaves
            together once all subtrees up to a strength are pruned.

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
        grown = clone(self).set_params(pruning=None)
        grown.fit(X, y, sample_weight=sample_weight)
        alphas, impurities = pruning_path(grown.tree_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    # What notebooks show: scikit-learn's diagram, and below it the tree, if there is
    # one.

    @property
    def _repr_html_(self):
        diagram = super()._repr_html_  # none where they are switched off
        return lambda: self._with_tree(diagram())

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._with_tree(bundle["text/html"])
        return bundle

    def _with_tree(self, diagram):
        if not hasattr(self, "tree_"):
            return diagram
        return f"{diagram}\n{self._tree_as_html()}"

    @reads
    def _tree_as_html(self):
        return write_tree(self)


def export_html(
    estimator, *, feature_names=None, class_names=None, title="Confidence tree"
):
    """Write a fitted confidence tree as a page that a browser shows.

    Nodes open and close; there is no script, and nothing is loaded from elsewhere.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier
        Fitted tree.
    feature_names : sequence of str or None, default=None
        One name a feature. None: the names seen by ``fit``, else ``x0``, ``x1``, ...
    class_names : sequence of str or None, default=None
        One name a class. None: the class labels.
    title : str, default="Confidence tree"
        Of the page.

    Returns
    -------
    str
        A whole page.

    See Also
    --------
    export_text : The tree as text.
    skconftree.inspection.ConfidenceTreeDisplay : The tree as a picture.

    Notes
    -----
    In a notebook a fitted tree shows itself in this way below scikit-learn's diagram of
    its parameters. Of very large trees the upper levels are written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import export_html
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> page = export_html(ConfidenceTreeClassifier().fit(X, y))
    >>> Path("tree.html").write_text(page, encoding="utf-8")  # doctest: +SKIP
    """
    check_is_fitted(estimator)
    with estimator._lock:
        tree = write_tree(
            estimator, feature_names=feature_names, class_names=class_names
        )
    return write_page(title, tree)


def _table_of(X):
    # One row as a table of one row.
    if getattr(X, "ndim", None) == 1 and hasattr(X, "to_frame"):
        return X.to_frame().T
    if not hasattr(X, "shape") and not hasattr(X, "__dataframe__"):
        X = list(X)
        one = not len(X) or np.ndim(X[0]) == 0
        return [X] if one else X
    return X[np.newaxis] if getattr(X, "ndim", None) == 1 else X
