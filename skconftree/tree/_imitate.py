"""A tree that says in a few questions what another classifier says."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._compat import InvalidParameterError, _safe_indexing
from ..tables._labels import Classes
from ..tables._missing_labels import split_labels
from ..tables._munge import can_make_up, make_up
from ..tables._schema import Schema
from ..tables._weights import stream_weights
from ..utils import is_count
from ..utils._lock import reads_argument
from ..utils._types import Estimator, LabelsLike, Seed, TableLike
from ..utils._warnings import warn
from ._classes import ConfidenceTreeClassifier
from ._real_rivals import real_rivals
from .nodes._derived import sum_of_leaves
from .reading._numbers import write_rows

LEAST_LEAVES = 16  # where the labels themselves would bear fewer
FEW = 50  # rows
PRIOR = 20  # real rows that all rows of a leaf are worth beside its real ones


@reads_argument
def imitate(
    classifier: Estimator,
    X: TableLike,
    y: LabelsLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    max_leaf_nodes: int | None = None,
    n_rows: int | None = 20_000,
    categorical_features: ArrayLike | None = "from_dtype",
    random_state: Seed = None,
) -> ConfidenceTreeClassifier:
    """Grow a tree that answers as another classifier does.

    A forest, a boosted model or a neural network may know more than a tree that is
    grown from the same labels, and cannot be read. The tree is grown from what the
    classifier says of many rows: those of `X`, whose labels need not be known, and rows
    made up between them and their neighbours (MUNGE [1]_). The most probable class of
    each row decides where the tree splits; a leaf predicts the mean of the class
    probabilities of its real rows, drawn towards that of all its rows as if by 20 real
    ones.

    Use it where labels are few and chosen by a forest, see
    :meth:`skconftree.active.ActiveLearner.to_tree`, or to look into a model that is
    there already.

    Parameters
    ----------
    classifier : estimator
        Fitted, with `predict_proba` and at least two `classes_`; a pipeline too.
    X : array-like, sparse or frame of shape (n_samples, n_features)
        Real rows, as the classifier takes them: a pool without labels or the rows it
        was trained on.
    y : array-like of shape (n_samples,), default=None
        Labels of the rows, None where one is not known. A label that is known counts
        instead of what the classifier says of the row.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, which are frequencies.
    max_leaf_nodes : int, default=None
        Most leaves. None takes as many as the default tree has that is grown from the
        rows alone, by `y` as far as it is known, but not fewer than 16.
    n_rows : int or None, default=20_000
        How many rows to ask the classifier of. Of a larger X so many are drawn; a
        smaller one is filled up with rows that are made up. None asks of the rows of X
        as they are, and so it is with sparse ones.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Nominal columns, as in :class:`ConfidenceTreeClassifier`. Their categories are
        exchanged between neighbours, and never made up.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    ConfidenceTreeClassifier
        Fitted, with two differences to one that has learnt labels: `fidelity_`, and
        splits without evidence (all NaN), as rows that are made up are none. Counts are
        of the real rows: ``tree_.n_node_samples`` of a leaf may be 0. It does not go on
        growing: `partial_fit` raises.

    Raises
    ------
    TypeError
        If the classifier has no `predict_proba`.
    ValueError
        If it has one class only, or if another argument is invalid.

    See Also
    --------
    skconftree.ConfidenceForestClassifier.to_tree : The same of a forest.

    Notes
    -----
    `fidelity_` is the share of rows of which tree and classifier say the same: of the
    rows of X that were not drawn, if there are any, else of the rows that the tree was
    grown from, by which it is a little better than by new ones.

    References
    ----------
    .. [1] C. Bucila, R. Caruana and A. Niculescu-Mizil, "Model compression", KDD 2006,
       section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skconftree.tree import imitate
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> tree = imitate(forest, X, max_leaf_nodes=8, random_state=0)
    >>> tree.get_n_leaves(), tree.fidelity_ > 0.9
    (8, True)
    """
    return grow_imitation(
        classifier,
        X,
        y,
        sample_weight,
        max_leaf_nodes,
        n_rows,
        categorical_features,
        random_state,
    )


def grow_imitation(
    classifier,
    X,
    y,
    sample_weight,
    max_leaf_nodes,
    n_rows,
    categorical_features,
    random_state,
):
    """Do what `imitate` says."""
    classes = _check_classifier(classifier)
    _check_sizes(max_leaf_nodes, n_rows, classes)
    rng = check_random_state(random_state)
    X = X if hasattr(X, "shape") else np.asarray(X)
    codes, _, schema = Schema.first(X, "imitate", categorical_features)
    known = _known_classes(y, X, classes)
    weight = np.ones(X.shape[0])
    if sample_weight is not None:
        weight = stream_weights(sample_weight, codes, "frequency", 0.0)
        if not weight.any():
            raise ValueError("sample_weight must be above 0 for at least one row.")
    chosen, others = _draw(np.flatnonzero(weight), n_rows, rng)
    real, known = _safe_indexing(X, chosen), known[chosen]
    rows, weights = real, weight[chosen]
    proba = _ask(classifier, real, classes)
    proba[known >= 0] = np.eye(len(classes))[known[known >= 0]]
    grown = {
        "categorical_features": categorical_features,
        "sample_weight_kind": "frequency",
    }
    if max_leaf_nodes is None:
        taught = np.flatnonzero(known >= 0 if (known >= 0).any() else known < 0)
        default = ConfidenceTreeClassifier(**grown).fit(
            _safe_indexing(real, taught),
            classes[proba[taught].argmax(axis=1)],
            sample_weight=weights[taught],
        )
        max_leaf_nodes = max(LEAST_LEAVES, default.get_n_leaves())
    n_real = len(chosen)
    n_made = 0 if n_rows is None else n_rows - n_real
    if n_made and can_make_up(X):
        if n_real < FEW:
            warn(
                f"X has only {write_rows(n_real)} to make up {n_made} others from. "
                "Give more rows, which need no labels, or n_rows=None."
            )
        nominal = schema.is_categorical
        nominal = np.zeros(X.shape[1], dtype=bool) if nominal is None else nominal
        made = make_up(real, codes[chosen], nominal, n_made, weights, rng)
        rows = _joined(real, made)
        proba = np.concatenate([proba, _ask(classifier, made, classes)])
        weights = np.concatenate([weights, np.ones(n_made)])
    tree = ConfidenceTreeClassifier(
        max_leaf_nodes=max_leaf_nodes,
        pruning=None,
        random_state=rng.randint(2**31 - 1),
        **grown,
    ).fit(rows, classes[proba.argmax(axis=1)], sample_weight=weights)
    counts, n_node_samples = _counted(tree, rows, proba, weights, n_real)
    rivals = real_rivals(tree, rows, proba.argmax(axis=1), weights, n_real)
    judged = others if len(others) else chosen
    judged, weight = _safe_indexing(X, judged), weight[judged]
    said = _ask(classifier, judged, classes).argmax(axis=1)
    agree = counts[tree.apply(judged)].argmax(axis=1) == said
    fidelity = float(np.average(agree, weights=weight))
    tree._answer_as(Classes(classes), counts, n_node_samples, rivals, fidelity)
    return tree


def _check_classifier(classifier):
    if not hasattr(classifier, "predict_proba"):
        raise TypeError(
            f"The classifier must have predict_proba; {type(classifier).__name__} has "
            "none."
        )
    check_is_fitted(classifier)
    classes = getattr(classifier, "classes_", None)
    if classes is None or isinstance(classes, list):
        raise TypeError(
            "The classifier must have classes_, an array of the classes of one output; "
            f"{type(classifier).__name__} has {classes!r}."
        )
    classes = np.asarray(classes)
    if len(classes) < 2:
        raise ValueError(
            f"The classifier must tell at least two classes apart; "
            f"{type(classifier).__name__} knows {classes!r}."
        )
    return classes


def _check_sizes(max_leaf_nodes, n_rows, classes):
    for name, value, least, why in (
        ("max_leaf_nodes", max_leaf_nodes, 2, ""),
        ("n_rows", n_rows, len(classes), ", the number of classes"),
    ):
        if value is not None and not (is_count(value) and value >= least):
            raise InvalidParameterError(
                f"The {name!r} parameter of imitate must be None or an int of at least "
                f"{least}{why}. Got {value!r} instead."
            )


def _known_classes(y, X, classes):
    # Class of each row by its label, -1 where there is none.
    known = np.full(X.shape[0], -1, dtype=np.intp)
    if y is not None:
        labels, has_label = split_labels(y)
        check_consistent_length(X, has_label)
        strange = ~np.isin(labels, classes)
        if strange.any():
            raise ValueError(
                f"y has labels that are no classes of the classifier: "
                f"{np.unique(labels[strange])[:5]}. Its classes are {classes!r}; a "
                "label that is not known is None."
            )
        known[has_label] = Classes(classes).codes(labels, np.intp)
    return known


def _draw(rows, n_rows, rng):
    # Rows to ask of, and the others.
    if n_rows is None or len(rows) <= n_rows:
        return rows, rows[:0]
    order = rng.permutation(len(rows))
    return rows[np.sort(order[:n_rows])], rows[np.sort(order[n_rows:])]


def _ask(classifier, rows, classes):
    proba = np.array(classifier.predict_proba(rows), dtype=np.float64)
    shape = rows.shape[0], len(classes)
    if proba.shape != shape or not (proba >= 0.0).all() or not np.isfinite(proba).all():
        raise ValueError(
            f"predict_proba of {type(classifier).__name__} must give an array of shape "
            f"{shape} of probabilities. Got one of shape {proba.shape} with values "
            f"from {proba.min(initial=np.inf)} to {proba.max(initial=-np.inf)}."
        )
    return proba


def _joined(real, made):
    if isinstance(real, np.ndarray):
        return np.concatenate([real, made])
    return sys.modules["pandas"].concat([real, made], ignore_index=True)


def _counted(tree, rows, proba, weight, n_real):
    # What the classifier says of the rows of each node, as many as real rows, which
    # come first, are to be expected there; and how many of these there are.
    leaves, n_nodes = tree.apply(rows), tree.tree_.node_count
    said = proba * weight[:, None]
    real, every = _sums(n_nodes, leaves[:n_real], said), _sums(n_nodes, leaves, said)
    n_every = every.sum(axis=1, keepdims=True)
    # made-up rows may lie where no row does: the real ones tell more
    every /= np.where(n_every > 0.0, n_every, 1.0)
    counts = real + PRIOR * every
    counts *= n_every / (real.sum(axis=1, keepdims=True) + PRIOR)
    counts *= weight[:n_real].sum() / weight.sum()
    n_rows = _sums(n_nodes, leaves[:n_real], np.ones((n_real, 1)))
    return sum_of_leaves(counts, tree.tree_), sum_of_leaves(n_rows, tree.tree_)[:, 0]


def _sums(n_nodes, leaves, values):
    # Of the values of the first rows, in each leaf.
    columns = values[: len(leaves)].T
    return np.column_stack([np.bincount(leaves, one, n_nodes) for one in columns])
