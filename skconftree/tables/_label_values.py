"""Labels as users give them, without merging any."""

from itertools import repeat

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from ..utils._warnings import warn

EXACT = 2.0**53  # up to here float64 tells whole numbers apart
FEW = 20  # labels all of which may differ without a warning
MANY = 512  # labels that are faster counted than sorted
NUL = ("\0", b"\0")


def exact_labels(y):
    """Keep labels from becoming others when NumPy makes an array of them.

    Whole numbers of pandas' own types would be floats, and strings in a list would lose
    NUL characters at their ends.
    """
    if isinstance(y, list | tuple):
        refuse_nul(y)
        return y
    dtype = getattr(y, "dtype", None)
    if dtype is None or isinstance(dtype, np.dtype):
        return y
    if getattr(dtype, "kind", None) in ("i", "u") and not np.any(y.isna()):
        return y.to_numpy(dtype=np.dtype(f"{dtype.kind}8"))
    if getattr(dtype, "kind", "O") == "O" and np.ndim(y) == 1:
        refuse_nul(y)
    return y


def refuse_nul(labels):
    """Raise if a label ends in a NUL character, as arrays of strings cannot."""
    for label in labels:
        if isinstance(label, str | bytes) and label[-1:] in NUL:
            raise ValueError(
                f"The label {label!r} ends in a NUL character. NumPy leaves these out "
                f"of strings, so that it could not be told from "
                f"{label.rstrip(label[-1:])!r}. Give labels without them."
            )


def refuse_none(y):
    """Raise if labels, an array of objects, are not all known."""
    n_missing = y.tolist().count(None)
    if n_missing:
        raise ValueError(
            f"Input y contains None in {n_missing} of {len(y)} rows. Leave out rows "
            "without a label."
        )


def check_labels(y, given):
    """Check that labels are classes, and that none of them have become equal."""
    if _are_classes(y):
        return
    if y.dtype.kind == "O":
        refuse_none(y)
        refuse_nul(y.flat)
    try:
        with np.errstate(invalid="ignore"):  # it makes integers of floats
            check_classification_targets(y)
    except ValueError as error:
        _refuse_long(given, "y", error)
        raise


def _are_classes(y):
    # Whether they are whole numbers of which at least every second occurs before:
    # scikit-learn has nothing to say of these, and takes as long as a small tree.
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in "biu":
        return False
    n = len(y)
    return 0 < n <= FEW or (n > 0 and int(y.max()) - int(y.min()) < n // 2)


def encode_labels(y):
    """Classes of labels, and which of them each label is."""
    if y.dtype.kind in "iu" and len(y) > MANY:
        low, high = int(y.min()), int(y.max())
        if high - low < len(y) and max(-low, high) < EXACT:
            # counted, not sorted
            index = np.subtract(y, low, dtype=np.intp, casting="unsafe")
            found = np.flatnonzero(np.bincount(index))
            if len(found) <= high - low:
                place = np.zeros(high - low + 1, dtype=np.intp)
                place[found] = np.arange(len(found))
                index = place.take(index)
            return (found + low).astype(y.dtype), index
    return np.unique(y, return_inverse=True)


def unique_classes(classes):
    """Give the classes that a user lists, each once and in order."""
    refuse_nul(_flat(classes))
    try:
        with np.errstate(invalid="ignore"):
            found = unique_labels(exact_labels(classes))
    except ValueError as error:
        _refuse_long(classes, "classes", error)
        raise
    if (found[1:] == found[:-1]).any():
        raise ValueError(
            f"classes holds numbers that are equal as floats, {found!r}. Give such "
            "labels as integers or strings."
        )
    return found


def _refuse_long(given, name, error):
    for label in _flat(given):
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise ValueError(
                f"{name} holds {_shown(label)}, which no type of whole numbers has "
                "together with the other labels. Give such labels as strings."
            ) from error


def _shown(number):
    return str(number) if number.bit_length() < 1000 else "a number of many digits"


def _flat(given):
    try:
        return np.asarray(given, dtype=object).ravel()
    except ValueError:
        return []


def warn_of_floats(classes):
    """Warn of classes that may stand for several labels."""
    if classes.dtype.kind == "f" and np.abs(classes).max(initial=0.0) >= EXACT:
        warn(
            f"The labels are floats up to {np.abs(classes).max():.17g}, and beyond "
            "2**53 floats are the same for several whole numbers. Give labels as "
            "integers or strings."
        )


def find_labels(classes, y):
    """Exact indices of numeric labels among ascending classes, and which are unknown.

    Comparing integers of one type with those of another, or with floats, would make
    floats of both. The index of an unknown label may be `n_classes`.
    """
    changed = None
    # A row of a stream takes microseconds, and so does each call of NumPy here.
    if y.dtype is not classes.dtype and classes.dtype.kind in "iu":
        if y.dtype.kind in "iuf":
            y, changed = _converted(y, classes.dtype)
    if y.dtype.kind == "O":
        # comparing Python's objects takes several times as long as their hashes
        places = {label: place for place, label in enumerate(classes.tolist())}
        found = map(places.get, y.tolist(), repeat(-1))
        index = np.fromiter(found, np.intp, len(y))
        unknown = index < 0
        index[unknown] = 0
        return index, unknown
    index = classes.searchsorted(y)
    unknown = classes.take(index, mode="clip") != y
    return index, unknown if changed is None else unknown | changed


ALL_CLASSES = (
    "A model does not get further classes later: for labels that do not occur yet, "
    "start with partial_fit(X, y, classes=...) and list all of them."
)


def class_indices(classes, y, dtype=np.uint16):
    """Indices of labels, all of which must be among the classes of a model."""
    try:
        index, unknown = find_labels(classes, y)
    except TypeError as error:
        raise ValueError(
            f"y must contain only labels out of {classes.tolist()!r}. Got values that "
            f"cannot be compared with them: {error}."
        ) from error
    if np.count_nonzero(unknown):
        others = y[unknown]
        if others.dtype.kind == "O":  # which may not be comparable
            others = np.fromiter(dict.fromkeys(others.tolist()), object)
        else:
            others = np.unique(others)
        raise ValueError(
            f"y contains labels that were not among the classes of the first call: "
            f"{others.tolist()!r}. The classes are {classes.tolist()!r}. {ALL_CLASSES}"
        )
    return index.astype(dtype)


def check_classes(known, classes):
    """Raise unless the classes given to a later call are those of the first."""
    if not (
        classes is None
        or np.array_equal(known, classes)
        or np.array_equal(known, unique_classes(classes))
    ):
        raise ValueError(
            f"classes={_plain(classes)!r} differs from the classes of the first call, "
            f"{_plain(known)!r}. {ALL_CLASSES}"
        )


def _plain(values):
    return values.tolist() if isinstance(values, np.ndarray) else values


def _converted(y, dtype):
    """Numbers as those of a type of integers, and which of them are others there."""
    with np.errstate(invalid="ignore"):
        found = y.astype(dtype)
    changed = (found.astype(y.dtype) != y) | ((found < 0) != (y < 0))
    if y.dtype.kind == "f":
        changed |= ~(np.abs(y) < EXACT)
    return found, changed
