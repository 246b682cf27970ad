"""Class labels: codes and back, checks of label values, missing labels."""

from itertools import repeat
from numbers import Real

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from ..utils._codec import is_missing
from ..utils._warnings import warn

EXACT = 2.0**53  # up to here float64 tells whole numbers apart
SMALL_N_DISTINCT = 20  # labels all of which may differ without a warning
MANY = 512  # labels that are faster counted than sorted
NUL = ("\0", b"\0")


def exact_labels(y):
    """Keep large integers and trailing NULs exact when labels become an array."""
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
    return 0 < n <= SMALL_N_DISTINCT or (n > 0 and int(y.max()) - int(y.min()) < n // 2)


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


def _warn_of_floats(classes):
    # They may stand for several labels.
    if classes.dtype.kind == "f" and np.abs(classes).max(initial=0.0) >= EXACT:
        warn(
            f"The labels are floats up to {np.abs(classes).max():.17g}, and beyond "
            "2**53 floats are the same for several whole numbers. Give labels as "
            "integers or strings."
        )


def find_labels(classes, y):
    """Indices of numeric labels among ascending classes, compared exactly."""
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


def _converted(y, dtype):
    """Numbers as those of a type of integers, and which of them are others there."""
    with np.errstate(invalid="ignore"):
        found = y.astype(dtype)
    changed = (found.astype(y.dtype) != y) | ((found < 0) != (y < 0))
    if y.dtype.kind == "f":
        changed |= ~(np.abs(y) < EXACT)
    return found, changed


SMALL_N_LABELS = 4  # labels
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
        _warn_of_floats(names)
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
        _warn_of_floats(names)
        if len(names) > MAX_CLASSES:
            raise ValueError(
                f"y has {len(names)} classes; at most {MAX_CLASSES} are supported."
            )
        return cls(names), codes

    def codes(self, y, dtype=np.uint16):
        """Class of each label, all of which must be known."""
        # NumPy takes twice as long to search for the label of a row of a stream.
        if len(y) <= SMALL_N_LABELS and y.dtype.kind == self.names.dtype.kind:
            if self._places is None:
                names = self.names.tolist()
                self._places = {name: place for place, name in enumerate(names)}
            try:
                return np.array([self._places[one] for one in y.tolist()], dtype)
            except (KeyError, TypeError):
                pass  # the error is that of many
        return class_indices(self.names, y, dtype)

    def indices_of(self, known):
        """Where classes that are among these stand now."""
        return np.searchsorted(self.names, known.names).astype(np.intp)

    def check(self, classes):
        """Raise unless the classes given to a later call are these, or None."""
        known = self.names
        if not (
            classes is None
            or np.array_equal(known, classes)
            or np.array_equal(known, unique_classes(classes))
        ):
            given = classes.tolist() if isinstance(classes, np.ndarray) else classes
            raise ValueError(
                f"classes={given!r} differs from the classes of the first call, "
                f"{known.tolist()!r}. {ALL_CLASSES}"
            )

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


SMALL_N_SCANNED = 16  # labels


def split_labels(y, missing_label=None, name="y"):
    """Known labels, and a mask of the rows that have one; errors name `name`."""
    if y is None:
        raise ValueError(
            f"This estimator requires y to be passed, but the target {name} is None. A "
            f"label that is not known is None within {name}."
        )
    if _is_plain(y):
        known = ~is_unlabeled(y, missing_label)
        return y if known.all() else y[known], known
    given, y = y, exact_labels(y)
    if not isinstance(getattr(y, "dtype", None), np.dtype | None):
        y = y.to_list()  # of pandas or polars, with their own missing value
    if isinstance(y, list | tuple):
        y = np.array(y, dtype=object)  # no NaN as a text, no whole numbers as floats
    y = column_or_1d(y, warn=True)
    known = ~is_unlabeled(y, missing_label)
    labels = y if known.all() else y[known]
    if labels.dtype.kind == "O" and len(labels):
        # Objects as strings or as numbers: NumPy would make strings of a mixture.
        texts = sum(isinstance(one, str) for one in labels)
        if 0 < texts < len(labels):
            raise ValueError(
                f"{name} mixes strings with other labels. Give labels of one kind."
            )
        refuse_nul(labels)
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(
            f"Input {name} contains infinity or a value too large for {labels.dtype!r}."
        )
    check_labels(labels, given)
    return labels, known


def _is_plain(y):
    # The answers to a question: scikit-learn's checks would take most of the time that
    # it takes to learn them.
    return (
        type(y) is np.ndarray
        and y.ndim == 1
        and 0 < len(y) <= SMALL_N_SCANNED
        and y.dtype.kind in "biuU"
    )


def is_unlabeled(y, missing_label=None):
    """Say which labels are not known, as `split_labels` has it."""
    kind = y.dtype.kind
    if kind == "O":
        marked = [is_missing(one) or _is_marker(one, missing_label) for one in y]
        return np.array(marked, dtype=bool)
    found = np.isnan(y) if kind == "f" else np.zeros(len(y), dtype=bool)
    if isinstance(missing_label, str if kind in "US" else Real):
        found |= y == missing_label
    return found


def _is_marker(label, marker):
    if marker is None or isinstance(label, str) != isinstance(marker, str):
        return False
    try:
        return bool(label == marker)
    except (TypeError, ValueError):
        return False
