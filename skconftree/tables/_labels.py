"""Class labels: checks, missing labels, and class indices (codes) of labels."""

from itertools import repeat
from numbers import Real

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from ..utils._codec import is_missing
from ..utils._warnings import warn

EXACT = 2.0**53  # largest number up to which float64 is exact for integers
SMALL_N_DISTINCT = 20  # number of labels that may all differ without a warning
MIN_COUNTED = 512  # labels above which counting is faster than sorting
NUL = ("\0", b"\0")


def exact_labels(y):
    """Prepare labels so that conversion to an array keeps them exact."""
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
    """Raise if a label ends in a NUL character, which arrays of strings remove."""
    for label in labels:
        if isinstance(label, str | bytes) and label[-1:] in NUL:
            raise ValueError(
                f"The label {label!r} ends in a NUL character. NumPy removes these "
                f"from strings, so it would equal {label.rstrip(label[-1:])!r}. Remove "
                f"them from the labels."
            )


def refuse_none(y):
    """Raise if an array of objects has missing labels."""
    n_missing = y.tolist().count(None)
    if n_missing:
        raise ValueError(
            f"Input y contains None in {n_missing} of {len(y)} rows. Remove unlabeled "
            "rows."
        )


def check_labels(y, original):
    """Check that labels are discrete.

    `original` are the labels before their conversion to the array `y`, for errors.
    """
    if _are_classes(y):
        return
    if y.dtype.kind == "O":
        refuse_none(y)
        refuse_nul(y.flat)
    try:
        with np.errstate(invalid="ignore"):  # floats are converted to integers
            check_classification_targets(y)
    except ValueError as error:
        _refuse_long(original, "y", error)
        raise


def _are_classes(y):
    # Whether labels are integers with few distinct values: scikit-learn accepts these,
    # and its check takes as long as fitting a small tree.
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in "biu":
        return False
    n = len(y)
    return 0 < n <= SMALL_N_DISTINCT or (n > 0 and int(y.max()) - int(y.min()) < n // 2)


def encode_labels(y):
    """Return the sorted distinct labels, and the index of each label among them."""
    if y.dtype.kind in "iu" and len(y) > MIN_COUNTED:
        low, high = int(y.min()), int(y.max())
        if high - low < len(y) and max(-low, high) < EXACT:
            # by counting instead of sorting
            index = np.subtract(y, low, dtype=np.intp, casting="unsafe")
            present = np.flatnonzero(np.bincount(index))
            if len(present) <= high - low:
                rank = np.zeros(high - low + 1, dtype=np.intp)
                rank[present] = np.arange(len(present))
                index = rank.take(index)
            return (present + low).astype(y.dtype), index
    return np.unique(y, return_inverse=True)


def unique_classes(classes):
    """Return the classes that a user lists, sorted and without duplicates."""
    refuse_nul(_flat(classes))
    try:
        with np.errstate(invalid="ignore"):
            unique = unique_labels(exact_labels(classes))
    except ValueError as error:
        _refuse_long(classes, "classes", error)
        raise
    if (unique[1:] == unique[:-1]).any():
        raise ValueError(
            f"classes has numbers that are equal as floats, {unique!r}. Pass such "
            "labels as integers or strings."
        )
    return unique


def _refuse_long(original, name, error):
    # Raise a clear error instead of `error` if an integer is too large for 64 bits.
    for label in _flat(original):
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise ValueError(
                f"{name} has {_format_integer(label)}, which does not fit into an "
                "integer type together with the other labels. Pass labels as strings."
            ) from error


def _format_integer(number):
    return str(number) if number.bit_length() < 1000 else "a number of many digits"


def _flat(original):
    try:
        return np.asarray(original, dtype=object).ravel()
    except ValueError:
        return []


def _warn_of_floats(classes):
    # Several integers may be equal as floats.
    if classes.dtype.kind == "f" and np.abs(classes).max(initial=0.0) >= EXACT:
        warn(
            f"The labels are floats up to {np.abs(classes).max():.17g}, and above "
            "2**53 several integers are equal as floats. Pass labels as integers or "
            "strings."
        )


def find_labels(classes, y):
    """Return the index of each label among ascending classes, and which are unknown.

    Numbers are compared exactly, also integers with floats.
    """
    changed = None
    # For single rows of a stream, each call of NumPy takes a noticeable time.
    if y.dtype is not classes.dtype and classes.dtype.kind in "iu":
        if y.dtype.kind in "iuf":
            y, changed = _converted(y, classes.dtype)
    if y.dtype.kind == "O":
        # hashing Python objects is faster than comparing them
        index_of = {label: i for i, label in enumerate(classes.tolist())}
        indices = map(index_of.get, y.tolist(), repeat(-1))
        index = np.fromiter(indices, np.intp, len(y))
        unknown = index < 0
        index[unknown] = 0
        return index, unknown
    index = classes.searchsorted(y)
    unknown = classes.take(index, mode="clip") != y
    return index, unknown if changed is None else unknown | changed


ALL_CLASSES = (
    "Start with partial_fit(X, y, classes=...) and list all of them; trees and forests "
    "can also add classes later, by new_classes='add'."
)


def class_indices(classes, y, dtype=np.uint16):
    """Return the index of each label; all must be among the classes of a model."""
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
    """Convert numbers to an integer type; also return a mask of changed values."""
    with np.errstate(invalid="ignore"):
        converted = y.astype(dtype)
    changed = (converted.astype(y.dtype) != y) | ((converted < 0) != (y < 0))
    if y.dtype.kind == "f":
        changed |= ~(np.abs(y) < EXACT)
    return converted, changed


SMALL_N_LABELS = 4  # number of labels up to which a dictionary is used
MAX_CLASSES = 2**16 - 2  # codes are 16 bits wide, and one of them means no class


class Classes:
    """The classes of a model: `names` are their labels, in ascending order."""

    __slots__ = ("_indices", "names")

    def __init__(self, names):
        self.names = names
        self._indices = None  # by label

    def __len__(self):
        return len(self.names)

    @property
    def n(self):
        """Number of classes."""
        return len(self.names)

    @classmethod
    def listed(cls, classes):
        """Return classes that a user lists before the first labels."""
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
        """Return the classes of the labels of a whole table, and the class indices."""
        names, codes = encode_labels(y)
        _warn_of_floats(names)
        if len(names) > MAX_CLASSES:
            raise ValueError(
                f"y has {len(names)} classes; at most {MAX_CLASSES} are supported."
            )
        return cls(names), codes

    def codes(self, y, dtype=np.uint16):
        """Return the class index of each label; all must be known."""
        # a dictionary is faster than NumPy for single rows
        if len(y) <= SMALL_N_LABELS and y.dtype.kind == self.names.dtype.kind:
            if self._indices is None:
                names = self.names.tolist()
                self._indices = {name: i for i, name in enumerate(names)}
            try:
                return np.array([self._indices[name] for name in y.tolist()], dtype)
            except (KeyError, TypeError):
                pass  # class_indices raises the error
        return class_indices(self.names, y, dtype)

    def extended(self, labels):
        """Return the classes including new labels, which must be of the same type."""
        new = Classes.listed(labels).names
        if new.dtype.kind != self.names.dtype.kind:
            raise ValueError(
                f"The label {new.tolist()[0]!r} has another type than the classes "
                f"before, such as {self.names.tolist()[0]!r}. Pass labels of one type."
            )
        return Classes.listed(np.union1d(self.names, new))

    def indices_of(self, known):
        """Return the indices of some of these classes."""
        return np.searchsorted(self.names, known.names).astype(np.intp)

    def check(self, classes):
        """Raise unless the classes of a later call are these, or None."""
        known = self.names
        if not (
            classes is None
            or np.array_equal(known, classes)
            or np.array_equal(known, unique_classes(classes))
        ):
            original = classes.tolist() if isinstance(classes, np.ndarray) else classes
            raise ValueError(
                f"classes={original!r} differs from the classes of the first call, "
                f"{known.tolist()!r}. {ALL_CLASSES}"
            )

    def more(self, y):
        """Return the union of these classes and the classes of further labels."""
        known, added = self.names, unique_classes(y)
        if _kind(known) != _kind(added):
            raise ValueError(
                f"y must contain labels of the kind of the classes so far, {known!r}. "
                f"Got {added!r}."
            )
        both = np.concatenate([known, added])
        are_integers = known.dtype.kind in "iu" and added.dtype.kind in "iu"
        if are_integers and both.dtype.kind == "f":
            raise ValueError(
                f"The labels {added!r} do not fit into an integer type together with "
                f"the classes so far, {known!r}. Pass labels as strings."
            )
        return Classes.listed(np.unique(both))


def read_labels(y, X, caller):
    """Validate labels and convert them to an array."""
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
        # the original message does not name y
        raise ValueError("Input y contains NaN.") from error
    if y.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{y}\n")
    check_consistent_length(X, y)
    return y


def read_classes(y, X, caller):
    """`read_labels` for a whole table, with a check that labels are discrete."""
    labels = read_labels(y, X, caller)
    check_labels(labels, y)
    return labels


def _kind(labels):
    kind = labels.dtype.kind
    return "number" if kind in "iuf" else "text" if kind in "OUT" else kind


MAX_PLAIN = 16  # labels up to which scikit-learn's checks are avoided


def split_labels(y, missing_label=None, name="y"):
    """Return the known labels, and a mask of the rows that have one.

    `name` is the name of y in errors.
    """
    if y is None:
        raise ValueError(
            f"This estimator requires y to be passed, but the target {name} is None. "
            f"Use None within {name} for unknown labels."
        )
    if _is_plain(y):
        known = ~is_unlabeled(y, missing_label)
        return y if known.all() else y[known], known
    original, y = y, exact_labels(y)
    if not isinstance(getattr(y, "dtype", None), np.dtype | None):
        y = y.to_list()  # of pandas or polars, with their own missing value
    if isinstance(y, list | tuple):
        y = np.array(y, dtype=object)  # so that neither NaN nor integers are converted
    y = column_or_1d(y, warn=True)
    known = ~is_unlabeled(y, missing_label)
    labels = y if known.all() else y[known]
    if labels.dtype.kind == "O" and len(labels):
        # NumPy would convert a mixture of strings and numbers to strings.
        texts = sum(isinstance(label, str) for label in labels)
        if 0 < texts < len(labels):
            raise ValueError(
                f"{name} mixes strings with other labels. Pass labels of one type."
            )
        refuse_nul(labels)
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(
            f"Input {name} contains infinity or a value too large for {labels.dtype!r}."
        )
    check_labels(labels, original)
    return labels, known


def _is_plain(y):
    # A small plain array, for which scikit-learn's checks would dominate the time.
    return (
        type(y) is np.ndarray
        and y.ndim == 1
        and 0 < len(y) <= MAX_PLAIN
        and y.dtype.kind in "biuU"
    )


def is_unlabeled(y, missing_label=None):
    """Return a mask of the unknown labels, as in `split_labels`."""
    kind = y.dtype.kind
    if kind == "O":
        marked = [is_missing(label) or _is_marker(label, missing_label) for label in y]
        return np.array(marked, dtype=bool)
    mask = np.isnan(y) if kind == "f" else np.zeros(len(y), dtype=bool)
    if isinstance(missing_label, str if kind in "US" else Real):
        mask |= y == missing_label
    return mask


def _is_marker(label, marker):
    if marker is None or isinstance(label, str) != isinstance(marker, str):
        return False
    try:
        return bool(label == marker)
    except (TypeError, ValueError):
        return False
