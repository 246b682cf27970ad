"""Labels and rows of a pool or a stream."""

import copy

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from .._compat import _safe_indexing
from ..tables._labels import is_unlabeled, split_labels, unique_classes
from ..utils import canonical


class LabelCodes:
    """Labels as indices into fixed sorted `classes`; None accepts any label."""

    def __init__(self, missing_label, classes=None):
        self.missing_label = missing_label
        self.fixed = classes is not None
        self.classes = None
        if self.fixed:
            if is_unlabeled(np.array(list(classes), dtype=object), missing_label).any():
                raise ValueError(
                    f"classes must not hold missing_label={missing_label!r}, None or "
                    f"NaN. Got {classes!r}."
                )
            self.classes = unique_classes(classes)

    def read(self, y, name="y"):
        """Say which rows have a label, and which; error messages call them `name`."""
        if not hasattr(y, "__len__"):
            y = np.asarray(y)
        labels, known = split_labels(y, self.missing_label, name)
        if self.fixed:
            unknown = [one for one in labels.tolist() if one not in self._places()]
            if unknown:
                raise ValueError(
                    f"{name} holds the label {unknown[0]!r}, which is not one of the "
                    f"classes {self.classes.tolist()}."
                )
        return known, labels

    def _places(self):
        return {label: i for i, label in enumerate(self.classes.tolist())}

    def encode(self, labels):
        """Places of labels; None if one of them is new."""
        places = self._places()
        found = [places.get(one, -1) for one in labels.tolist()]
        return None if -1 in found else np.array(found, dtype=np.intp)

    def learned(self, *batches):
        """Codes with the classes of labels, unless these are fixed; another object."""
        other = copy.copy(self)
        batches = [batch for batch in batches if len(batch)]
        kinds = {batch.dtype.kind == "U" for batch in batches}
        if len(kinds) > 1:  # NumPy would make strings of all
            raise ValueError(
                "labels mixes strings with other labels. Give labels of one kind."
            )
        if not self.fixed:
            other.classes = (
                unique_classes(np.concatenate(batches)) if batches else np.empty(0, int)
            )
        return other

    def write(self, codes):
        """Labels of codes, with the missing label for -1."""
        is_whole = isinstance(self.missing_label, (int, np.integer))
        kind = np.int64 if is_whole and self.classes.dtype.kind in "iu" else object
        out = np.full(len(codes), self.missing_label, dtype=kind)
        known = codes >= 0
        out[known] = self.classes[codes[known]]
        return out

    def __getstate__(self):
        return canonical(self.__dict__)


CHUNK = 65536  # rows that are predicted, or compared, at once


def take(X, rows):
    """Rows of an array, a sparse table or a frame, in their order."""
    if type(X) is np.ndarray and type(rows) is np.ndarray:
        return X[rows]  # which takes a tenth of the time
    return _safe_indexing(X, rows)


def readable(X):
    """A table whose rows can be taken, with at least one row and one column."""
    if issparse(X):
        X = X if X.format in ("csr", "csc") else X.tocsr()
    elif not hasattr(X, "shape"):
        texts = isinstance(X, list | tuple) and all(isinstance(one, str) for one in X)
        # else all texts would take as much memory as the longest
        X = np.array(X, dtype=object) if texts else np.asarray(X)
    if not X.shape:
        raise ValueError(f"X must be a table. Got {X.tolist()!r} instead.")
    if len(X.shape) == 1 and getattr(X.dtype, "kind", "O") in "biuf":  # not of texts
        raise ValueError(
            "Expected 2D array, got 1D array instead. A pool of one feature is "
            "X.reshape(-1, 1), of one row X.reshape(1, -1)."
        )
    for size, what in zip(X.shape, ("sample", "feature"), strict=False):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 "
                "is required by ActiveLearner."
            )
    return X


def n_rows_of(X):
    """Rows of a table."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def in_chunks(X, rows, call):
    """Call a function on rows, a limited number at a time, and join the results."""
    parts = [
        np.asarray(call(take(X, rows[part]))) for part in gen_batches(len(rows), CHUNK)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def check_costs(costs, n_rows):
    """Prices of a pool's labels, or an error that says what is wrong with them."""
    price = np.asarray(costs, dtype=np.float64)
    if price.shape != (n_rows,):
        raise ValueError(
            f"costs must have one number for each of the {n_rows} rows of the pool. "
            f"Got shape {price.shape}."
        )
    if not (np.isfinite(price) & (price > 0.0)).all():
        raise ValueError("costs must be finite and above 0.")
    return price
