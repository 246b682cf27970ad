"""Labels, rows and costs of a pool or a stream.

The *pool* is the table of unlabeled and labeled rows from which an active learner
queries, and its *costs* are what the label of each row costs. A `DictRows` is a table
that was made from dictionaries.
"""

import copy

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from .._compat import _safe_indexing
from ..tables._dict_rows import DictRows
from ..tables._labels import is_unlabeled, split_labels, unique_classes
from ..utils._codec import canonical


class LabelCodes:
    """Encodes labels as indices into sorted `classes`; None accepts any label."""

    def __init__(self, missing_label, classes=None):
        self.missing_label = missing_label
        self.fixed = classes is not None  # no other labels are accepted
        self.classes = None
        if self.fixed:
            if is_unlabeled(np.array(list(classes), dtype=object), missing_label).any():
                raise ValueError(
                    f"classes must not contain missing_label={missing_label!r}, None "
                    f"or NaN, which mark missing labels. Got {classes!r}."
                )
            self.classes = unique_classes(classes)

    def read(self, y, name="y"):
        """Return a mask of the rows with a label, and their labels.

        `name` is the name of the argument in error messages.
        """
        if not hasattr(y, "__len__"):
            y = np.asarray(y)
        labels, known = split_labels(y, self.missing_label, name)
        if self.fixed:
            known_classes = self._class_indices()
            unknown = [label for label in labels.tolist() if label not in known_classes]
            if unknown:
                raise ValueError(
                    f"{name} contains the label {unknown[0]!r}, which is not one of "
                    f"the classes {self.classes.tolist()}."
                )
        return known, labels

    def _class_indices(self):
        return {label: i for i, label in enumerate(self.classes.tolist())}

    def encode(self, labels):
        """Codes of labels: indices of their classes; None if a label is new."""
        indices = self._class_indices()
        codes = [indices.get(label, -1) for label in labels.tolist()]
        return None if -1 in codes else np.array(codes, dtype=np.intp)

    def with_classes_of(self, *batches):
        """Return a copy with the classes of the labels, unless classes are fixed."""
        other = copy.copy(self)
        batches = [batch for batch in batches if len(batch)]
        kinds = {batch.dtype.kind == "U" for batch in batches}
        if len(kinds) > 1:  # NumPy would convert all to strings
            raise ValueError(
                "labels mixes strings with other labels. Pass labels of one type."
            )
        if not self.fixed:
            other.classes = (
                unique_classes(np.concatenate(batches)) if batches else np.empty(0, int)
            )
        return other

    def decode(self, codes):
        """Return the labels of class indices, the missing label for -1."""
        is_integer = isinstance(self.missing_label, (int, np.integer))
        kind = np.int64 if is_integer and self.classes.dtype.kind in "iu" else object
        labels = np.full(len(codes), self.missing_label, dtype=kind)
        known = codes >= 0
        labels[known] = self.classes[codes[known]]
        return labels

    def __getstate__(self):
        return canonical(self.__dict__)  # equal states have equal pickles


CHUNK = 65536  # rows that are predicted or compared at a time


def take(X, rows):
    """Select rows of an array, a sparse table or a frame, in the given order."""
    if type(X) is np.ndarray and type(rows) is np.ndarray:
        return X[rows]  # ten times as fast
    if type(X) is DictRows:
        return X.take(rows)
    return _safe_indexing(X, rows)


def indexable_table(X):
    """Convert to a table with selectable rows, at least one row and one column."""
    if issparse(X):
        X = X if X.format in ("csr", "csc") else X.tocsr()
    elif not hasattr(X, "shape"):
        texts = isinstance(X, list | tuple) and all(isinstance(text, str) for text in X)
        # as strings, each would use as much memory as the longest
        X = np.array(X, dtype=object) if texts else np.asarray(X)
    if not X.shape:
        raise ValueError(f"X must be a 2d table. Got the scalar {X.tolist()!r}.")
    if len(X.shape) == 1 and getattr(X.dtype, "kind", "O") in "biuf":  # not of texts
        raise ValueError(
            "Expected 2D array, got 1D array instead. Use X.reshape(-1, 1) for a pool "
            "with one feature, or X.reshape(1, -1) for one row."
        )
    for size, what in zip(X.shape, ("sample", "feature"), strict=False):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 "
                "is required by ActiveLearner."
            )
    return X


def n_rows_of(X):
    """Number of rows of a table."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def in_chunks(X, rows, call):
    """Call a function on chunks of rows and concatenate the results."""
    parts = [
        np.asarray(call(take(X, rows[part]))) for part in gen_batches(len(rows), CHUNK)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def check_costs(costs, n_rows):
    """Validate the costs of labels of a pool and convert them to an array."""
    costs_array = np.asarray(costs, dtype=np.float64)
    if costs_array.shape != (n_rows,):
        raise ValueError(
            f"costs must have one number for each of the {n_rows} rows of the pool. "
            f"Got shape {costs_array.shape}."
        )
    if not (np.isfinite(costs_array) & (costs_array > 0.0)).all():
        raise ValueError(
            "costs must be finite and positive. Got values from "
            f"{costs_array.min()} to {costs_array.max()}."
        )
    return costs_array
