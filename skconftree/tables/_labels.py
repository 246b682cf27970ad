"""Classes of a model: labels to codes, and back."""

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from ._label_values import (
    check_classes,
    check_labels,
    class_indices,
    encode_labels,
    exact_labels,
    refuse_none,
    unique_classes,
    warn_of_floats,
)

FEW = 4  # labels
MAX_CLASSES = 2**16 - 2  # codes are 16 bits wide, and one of them is no class


class Classes:
    """The labels that a model tells apart, in ascending order."""

    __slots__ = ("_places", "names")

    def __init__(self, names):
        self.names = names
        self._places = None  # by label

    def __len__(self):
        return len(self.names)

    @property
    def n(self):
        """How many there are."""
        return len(self.names)

    @classmethod
    def listed(cls, classes):
        """Classes that a user lists, for rows to come."""
        names = unique_classes(classes)
        warn_of_floats(names)
        if not 1 <= len(names) <= MAX_CLASSES:
            raise ValueError(
                f"{len(names)} classes were given; from 1 to {MAX_CLASSES} are "
                "supported."
            )
        return cls(names)

    @classmethod
    def of(cls, y):
        """Classes of the labels of a whole table."""
        names, codes = encode_labels(y)
        warn_of_floats(names)
        if len(names) > MAX_CLASSES:
            raise ValueError(
                f"y has {len(names)} classes; at most {MAX_CLASSES} are supported."
            )
        return cls(names), codes

    def codes(self, y, dtype=np.uint16):
        """Class of each label, all of which must be known."""
        # NumPy takes twice as long to search for the label of a row of a stream.
        if len(y) <= FEW and y.dtype.kind == self.names.dtype.kind:
            if self._places is None:
                names = self.names.tolist()
                self._places = {name: place for place, name in enumerate(names)}
            try:
                return np.array([self._places[one] for one in y.tolist()], dtype)
            except (KeyError, TypeError):
                pass  # the error is that of many
        return class_indices(self.names, y, dtype)

    def places_of(self, known):
        """Where classes that are among these stand now."""
        return np.searchsorted(self.names, known.names).astype(np.intp)

    def check(self, classes):
        """Raise unless the classes given to a later call are these, or None."""
        if classes is not None:
            check_classes(self.names, classes)

    def more(self, y):
        """These classes and those of further labels."""
        known, found = self.names, unique_classes(y)
        if _kind(known) != _kind(found):
            raise ValueError(
                f"y must contain labels of the kind of the classes so far, {known!r}. "
                f"Got {found!r}."
            )
        both = np.concatenate([known, found])
        whole = known.dtype.kind in "iu" and found.dtype.kind in "iu"
        if whole and both.dtype.kind == "f":
            raise ValueError(
                f"No type of whole numbers holds the labels {found!r} together with "
                f"the classes so far, {known!r}."
            )
        return Classes.listed(np.unique(both))


def read_labels(y, X, caller):
    """Turn labels as a user gives them into an array."""
    if type(y) is np.ndarray and y.shape == X.shape[:1] and y.dtype.kind in "biuU":
        return y
    if y is None:
        raise ValueError(
            f"This {caller} estimator requires y to be passed, but the target y is "
            "None."
        )
    y = column_or_1d(exact_labels(y), warn=True)
    if y.dtype.kind == "O":
        refuse_none(y)
    try:
        assert_all_finite(y, estimator_name=caller, input_name="y")
    except ValueError as error:
        if y.dtype.kind != "O":
            raise
        # whose message does not say of what
        raise ValueError("Input y contains NaN.") from error
    if y.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{y}\n")
    check_consistent_length(X, y)
    return y


def read_classes(y, X, caller):
    """As `read_labels`, for rows of a whole table, and check that these are classes."""
    labels = read_labels(y, X, caller)
    check_labels(labels, y)
    return labels


def _kind(labels):
    kind = labels.dtype.kind
    return "number" if kind in "iuf" else "text" if kind in "OUT" else kind
