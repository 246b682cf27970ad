"""What a fit is given: read, checked, weighed, and ready to grow trees from."""

import warnings
from typing import NamedTuple

import numpy as np

from ..tables._dates import DATES, look_like_dates
from ..tables._features import Features, identifying
from ..tables._keeping_back import keep_back
from ..tables._reading import read_first, read_more, read_rows, read_table
from ..tables._sparse import take_rows
from ..tables._training_data import TrainingData
from ..tables._weights import resolve_class_weight, rows_with_weight
from ..utils import (
    check_classes,
    check_labels,
    encode_labels,
    exact_labels,
    unique_classes,
    warn_of_floats,
)
from .nodes._tree_state import MAX_CLASSES


class TrainingTable(NamedTuple):
    """Rows that trees are fitted to; none of them has weight 0.

    Attributes
    ----------
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,)
        Class indices.
    weight : ndarray of shape (n_rows,), float64, or None
        Frequencies.
    relative : bool
        Whether they were given as relative weights.
    X_pool : ndarray or sparse of shape (n_pool, n_features), float32, or None
        Rows without label.
    features : Features or None
        None if no column is nominal.
    classes : ndarray of shape (n_classes,)
    class_weight : ndarray of shape (n_classes,), float64, or None
    """

    X: object
    y: np.ndarray
    weight: np.ndarray | None
    relative: bool
    X_pool: object
    features: Features | None
    classes: np.ndarray
    class_weight: np.ndarray | None

    @property
    def total(self):
        """Weight of all rows."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def is_categorical(self):
        """Which columns are nominal; None if none is."""
        return None if self.features is None else self.features.is_categorical

    def encode(self, settings):
        """Encode the table for trees with such settings.

        Parameters
        ----------
        settings : GrowthSettings

        Returns
        -------
        TrainingData
        """
        return TrainingData(
            self.X,
            self.y,
            len(self.classes),
            sample_weight=self.weight,
            class_weight=self.class_weight,
            X_pool=self.X_pool if settings.uses_pool else None,
            n_categories=None if self.features is None else self.features.n_categories,
        )


class KeptRows(NamedTuple):
    """Rows that have no say in a tree.

    Attributes
    ----------
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
        With the codes of the table that they were kept back from.
    y : ndarray of shape (n_rows,)
        Class indices.
    weight : ndarray of shape (n_rows,), float64, or None
    """

    X: object
    y: np.ndarray
    weight: np.ndarray | None


def divide(table, honest_share):
    """Keep rows of a table back.

    Parameters
    ----------
    table : TrainingTable
    honest_share : float
        In (0, 1).

    Returns
    -------
    table : TrainingTable
        The other rows; what the former alone would have told is absent.
    kept : KeptRows
        Categories that the table has not got are unknown.
    """
    weight = np.ones(len(table.y)) if table.weight is None else table.weight
    kept_weight = keep_back(table.X, table.y, table.weight, honest_share)

    def part(weight):
        places = weight > 0.0
        return (
            take_rows(table.X, places),
            table.y[places],
            None if table.weight is None else weight[places],
        )

    X, y, rest = part(weight - kept_weight)
    if not len(y):
        raise ValueError(
            f"honest_share={honest_share!r} keeps all rows back (n_samples="
            f"{len(table.y)}), so that none is left to grow a tree from."
        )
    kept, features = KeptRows(*part(kept_weight)), table.features
    if features is not None:
        features = features.settled(X, None, slice(None), rest, in_order=False)
        kept = kept._replace(X=table.features.recode(kept.X, features))
    return table._replace(X=X, y=y, weight=rest, features=features), kept


def read_training(
    estimator,
    X,
    y,
    sample_weight,
    X_pool,
    *,
    categorical_features,
    class_weight,
    sample_weight_kind,
    stacklevel,
):
    """Read and check what a user gives to `fit`.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and `feature_names_in_`; nothing else is asked of it.
    X, y, sample_weight, X_pool
        As in `ConfidenceTreeClassifier.fit`.
    categorical_features, class_weight, sample_weight_kind
        As in `ConfidenceTreeClassifier`.
    stacklevel : int
        Of warnings, from the caller's place.

    Returns
    -------
    TrainingTable
    """
    given = y
    X, y, features = read_table(
        estimator,
        X,
        exact_labels(y),
        categorical_features=categorical_features,
        in_order=False,
        stacklevel=stacklevel + 1,
    )
    check_labels(y, given)
    n_given = len(y)
    X, y, weight = rows_with_weight(
        X, y, sample_weight, sample_weight_kind, stacklevel=stacklevel + 1
    )
    classes, y = encode_labels(y)
    warn_of_floats(classes, stacklevel=stacklevel + 1)
    if len(classes) > MAX_CLASSES:
        raise ValueError(
            f"y has {len(classes)} classes; at most {MAX_CLASSES} are supported."
        )
    class_weight = resolve_class_weight(class_weight, classes, y, weight)
    if class_weight is not None and not class_weight.all():
        kept = class_weight[y] > 0.0
        X, y = take_rows(X, kept), y[kept]
        weight = None if weight is None else weight[kept]
        if not len(y):
            raise ValueError("class_weight leaves no row with a positive weight.")
    if features is not None:
        learnt = slice(None) if len(y) < n_given else None
        features = features.settled(X, None, learnt, weight, in_order=False)
    if X_pool is not None:
        X_pool, _ = read_rows(estimator, X_pool, features)
    relative = weight is not None and sample_weight_kind == "relative"
    return TrainingTable(
        X, y, weight, relative, X_pool, features, classes, class_weight
    )


def read_chunk(estimator, X, y, classes, first, *, stacklevel):
    """Read the rows of a call of `partial_fit`, and the classes of the stream.

    Parameters
    ----------
    estimator : estimator
    X, y, classes : object
        As they were given.
    first : bool
        Whether it is the first call.
    stacklevel : int
        Of warnings, from the caller's place.

    Returns
    -------
    X, y, features, finite
        As of `read_more`; it waits for `settle`.
    names : ndarray of shape (n_classes,)
    """
    if first:
        rows = read_first(
            estimator, X, y, estimator.categorical_features, stacklevel=stacklevel + 1
        )
        return *rows, read_classes(classes, stacklevel=stacklevel + 1)
    rows = read_more(estimator, X, y, estimator._features)
    if classes is not None:
        check_classes(estimator.classes_, classes)
    return *rows, estimator.classes_


def read_classes(classes, stacklevel):
    """Read the classes that a stream may have.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
    stacklevel : int
        Of warnings, from the caller's place.

    Returns
    -------
    ndarray of shape (n_classes,)
        Each once, in ascending order.
    """
    found = unique_classes(classes)
    warn_of_floats(found, stacklevel=stacklevel + 1)
    if not 1 <= len(found) <= MAX_CLASSES:
        raise ValueError(
            f"{len(found)} classes were given; from 1 to {MAX_CLASSES} are supported."
        )
    return found


def leave_out(table, names, stacklevel):
    """Find the columns that would tell the rows apart and say nothing of others.

    Parameters
    ----------
    table : TrainingTable
    names : sequence of str or int
        Of the columns, for a warning.
    stacklevel : int
        Of the warning, from the caller's place.

    Returns
    -------
    ndarray of shape (n_features,), bool, or None
    """
    if table.features is None:
        return None
    left_out = identifying(table.X, table.features, table.weight)
    if left_out.any():
        named = ", ".join(repr(names[j]) for j in np.flatnonzero(left_out))
        columns = "column" if left_out.sum() == 1 else "columns"
        categories = table.features.categories
        dated = [
            repr(names[j])
            for j in np.flatnonzero(left_out)
            if look_like_dates(categories[j])
        ]
        hint = f" Dates seem to be in {', '.join(dated)}. {DATES}" if dated else ""
        warnings.warn(
            f"No test asks for {columns} {named}: more than half of the rows have "
            f"a category of their own there, which no new row has.{hint}",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
    return left_out
