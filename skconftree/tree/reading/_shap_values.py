"""Shapley values of the columns for the predictions of trees and forests.

A partially linear tree adds a linear *score* to the values of its leaves. The *votes*
are the weights of the trees of a forest.
"""

from __future__ import annotations

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import gen_even_slices
from sklearn.utils.parallel import Parallel, delayed

from ...tables._sparse import blocks
from ...utils._lock import reads_argument  # locks the estimator
from ...utils._types import Estimator, Floats, TableLike
from ._records import read_votes, split_score
from ._shap import add_shap_values


@reads_argument
def shap_values(estimator: Estimator, X: TableLike) -> tuple[Floats, Floats]:
    """Attribute the predicted probabilities of each row to the columns.

    SHAP values are Shapley values: the mean, over all orders of the columns, of the
    change of the prediction when the value of the column becomes known. While it is
    unknown, a split on the column predicts the mean of its branches, weighted by their
    training rows ("path-dependent" in the shap package). The values are exact. A
    nominal column is one column, without encoding.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier or ConfidenceForestClassifier
        Fitted model whose leaves predict by their class proportions, as after `fit`.
        A forest uses its `n_jobs`.
    X : array-like, sparse or frame of shape (n_samples, n_features)
        Rows of any kind that `fit` takes.

    Returns
    -------
    values : ndarray of shape (n_samples, n_features, n_classes)
        Change of the probability of each class due to each column. For a row, their sum
        over the columns is `predict_proba` minus the base values.
    base_values : ndarray of shape (n_classes,)
        Expected probabilities if no column is known.

    Raises
    ------
    ValueError
        If leaves predict by naive Bayes, or a tree has a linear score.

    See Also
    --------
    feature_importance : Importance of the columns for the loss on new rows.

    Notes
    -----
    The time is proportional to the number of rows, leaves and columns on the path to a
    leaf. Values explain the model, not the data: of two columns with the same
    information, the one on which the tree splits gets the value.

    References
    ----------
    S. M. Lundberg et al., "From local explanations to global understanding with
    explainable AI for trees", Nature Machine Intelligence 2, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.inspection import shap_values
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier().fit(X, y)
    >>> values, base_values = shap_values(tree, X)
    >>> values.shape
    (150, 4, 3)
    >>> total = base_values + values.sum(axis=1)
    >>> bool(abs(total - tree.predict_proba(X)).max() < 1e-12)
    True
    """
    score, tree = split_score(estimator)
    if score is not None:
        raise ValueError(
            "SHAP values of a tree with a linear score are not available. `explain` "
            "describes its predictions."
        )
    trees, votes = read_votes(tree, "explained by SHAP values")
    total = sum(votes)
    fitted = [member.tree_ for member in trees]
    arguments = [
        (member, member.weighted_n_node_samples, member.proba, vote / total)
        for member, vote in zip(fitted, votes, strict=True)
    ]
    rows = tree._rows(X).X  # float32, with the codes of categories
    rows = rows if isinstance(rows, np.ndarray) else rows.tocsr()
    n_rows, n_features = rows.shape
    values = np.zeros((n_rows, n_features, len(tree.classes_)))

    def add(part):
        base = np.zeros(len(tree.classes_))
        for block_rows, block in blocks(rows[part]):
            base[:] = 0.0
            for *arrays, vote in arguments:
                base += vote * add_shap_values(
                    *arrays, block, vote, values[part][block_rows]
                )
        return base

    n_parts = min(effective_n_jobs(getattr(tree, "n_jobs", None)), n_rows)
    bases = Parallel(n_jobs=n_parts, require="sharedmem")(
        delayed(add)(part) for part in gen_even_slices(n_rows, n_parts)
    )
    return values, bases[0]
