"""Training data of trees: encoded columns, labels and weights.

A *bound* is the rule that accepts or rejects a split, with the parameter `delta`. The
pool consists of unlabeled rows, which some bounds use. A feature with few values is
*coded*: each row has the index of its value. Data in *parts* are in files or on other
machines. A thread team is a pool of threads.
"""

import threading
from contextlib import contextmanager
from numbers import Integral
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import compute_class_weight

from .._compat import InvalidParameterError, _check_sample_weight, check_row_weights
from ..utils._warnings import warn_once_per_ensemble
from ._encoded_table import EncodedTable, RowCodes
from ._sparse import column_limits, stack_rows, take_rows

COUNT_TYPES = (np.uint8, np.uint16, np.uint32)  # of how often a row is drawn
# The sum of integer counts stays below this limit, because it is computed in 32 bits.
COUNT_LIMIT = 2**31


class Sample(NamedTuple):
    """Weights of the rows of a table in a sample; rows of weight 0 are not in it.

    `count` has the weights if they are integers, and `weight` if they are not; both are
    None if all weights are 1. `class_counts` has the weight of each class, `n_labeled`
    is the number of labeled rows, and `pool` the weight of the unlabeled rows.
    `distinct` has the weights that the bound (split rule) uses, in which rows that were
    drawn several times count once; None: the weights of the sample.
    """

    count: np.ndarray | None
    weight: np.ndarray | None
    class_counts: np.ndarray
    n_labeled: int
    pool: float
    distinct: np.ndarray | None = None


class GrowthData(Protocol):
    """Rows with labels and weights, from which a tree is grown.

    Three classes implement it: `MemoryData`, `SampledData` (a sample of other data, for
    a forest) and `PartedData` in `large`. Threads can share one, because growing a tree
    does not change it, unless the tree uses its arrays instead of copies.

    Unlabeled rows have the label `n_classes`. `n_categories` has the number of
    categories of each feature, 0 for numeric ones; it is None if all are numeric.
    `n_coded` is the number of features with a code for each row. `is_whole` is whether
    all sample weights are integers.
    """

    n_rows: int
    n_features: int
    n_coded: int
    n_classes: int
    n_categories: np.ndarray | None
    class_weight: np.ndarray | None
    is_whole: bool
    is_sparse: bool
    y: np.ndarray

    def columns(self) -> EncodedTable:
        """Return the columns of all rows, encoded."""
        ...

    def row_codes(self) -> RowCodes:
        """Return the codes of the columns by row; made by the first call."""
        ...

    def sample(self) -> Sample:
        """Return the weights of the rows in this tree's sample."""
        ...

    def limits(self, sample) -> np.ndarray:
        """Return the smallest and largest value of each feature in a sample."""
        ...

    def nodes(self, sample, thread_team):
        """Return an object that counts the rows of nodes, part by part.

        None if all rows are in memory.
        """
        ...


def sample_rows(y, n_classes, count=None, weight=None, counts=None, distinct=None):
    """Return the `Sample` that contains each row `counts` times (None: once)."""
    if counts is not None:
        _check_counts(counts, len(y))
        if weight is not None:
            weight = weight * counts
        else:
            product = counts if count is None else count * counts.astype(np.int64)
            if product.sum(dtype=np.float64) < COUNT_LIMIT:
                count = product.astype(np.int32)
            else:
                count, weight = None, product.astype(np.float64)
    weights = weight if count is None else count
    sums = np.bincount(y, weights=weights, minlength=n_classes + 1)
    labeled = y < n_classes
    if weights is not None:
        labeled &= weights > 0
    n_labeled = int(np.count_nonzero(labeled))
    if n_labeled == 0:
        raise ValueError("counts must be positive for at least one labeled row.")
    return Sample(
        count,
        weight,
        sums[:n_classes].astype(np.float64),
        n_labeled,
        float(sums[n_classes]),
        distinct,
    )


def _check_counts(counts, n_rows):
    if (
        not isinstance(counts, np.ndarray)
        or counts.shape != (n_rows,)
        or counts.dtype.type not in COUNT_TYPES
    ):
        raise ValueError(
            f"counts must be an array of {n_rows} numbers of type uint8, "
            f"uint16 or uint32, got {counts!r}."
        )


class MemoryData:
    """`GrowthData` of a table in memory: labels, weights and unlabeled rows.

    Used for any number of trees. Sample weights are frequencies; integers are stored as
    such. The rows of `X_pool` are the last ones of the table. The values of a nominal
    feature are codes below its number of categories, or -1 in unlabeled rows; NaN in a
    numeric feature is a missing value. See `EncodedTable` for `max_bins` and
    `thread_team`.
    """

    def __init__(
        self,
        X,
        y,
        n_classes,
        *,
        sample_weight=None,
        class_weight=None,
        X_pool=None,
        n_categories=None,
        max_bins=0,
        thread_team=None,
    ):
        weight = sample_weight
        if X_pool is not None:
            X = stack_rows(X, X_pool)
            y = np.concatenate([y, np.full(X_pool.shape[0], n_classes)])
            if weight is not None:
                weight = np.concatenate([weight, np.ones(X_pool.shape[0])])
        self.n_rows, self.n_features = X.shape
        self.n_classes, self.n_categories = n_classes, n_categories
        self.class_weight = class_weight
        self.y = y.astype(np.uint16, copy=False)
        self.is_whole = weight is None or bool(np.all(weight == np.rint(weight)))
        self.is_sparse = issparse(X)
        self._X = X
        self._count, self._weight = None, None
        if weight is not None and not np.all(weight == 1.0):
            if self.is_whole and weight.sum() < COUNT_LIMIT:
                self._count = weight.astype(np.int32)
            else:
                self._weight = np.ascontiguousarray(weight, dtype=np.float64)
        self._table = EncodedTable(
            X,
            n_categories,
            max_bins=max_bins,
            weight=None if weight is None else weight.astype(np.float64),
            thread_team=thread_team,
        )
        self.n_coded = self._table.n_coded
        self._row_codes, self._lock = None, threading.Lock()

    def columns(self):
        """Return the columns of all rows, encoded."""
        return self._table

    def distinct_values(self, features):
        """Map the features that have few distinct values to these values."""
        return self._table.distinct_values(features)

    def row_codes(self):
        """Return the codes of the columns by row; made by the first call."""
        with self._lock:
            if self._row_codes is None:
                self._row_codes = RowCodes(self._table)
            return self._row_codes

    def sample(self, counts=None, distinct=None):
        """Return the weights of the rows, with multiplicities `counts`."""
        return sample_rows(
            self.y, self.n_classes, self._count, self._weight, counts, distinct
        )

    def limits(self, sample):
        """Return the smallest and largest value of each feature in a sample."""
        weights = sample.weight if sample.count is None else sample.count
        present = None if weights is None or np.all(weights > 0) else weights > 0
        if present is None:
            return column_limits(self._X)
        if self.is_sparse:
            return column_limits(self._X[present])
        options = {"axis": 0, "where": present[:, None], "initial": np.nan}
        return np.column_stack(
            [np.fmin.reduce(self._X, **options), np.fmax.reduce(self._X, **options)]
        ).astype(float)

    def nodes(self, sample, thread_team):
        """Return None: the rows are not in parts."""
        return None


class SampledData:
    """`GrowthData` of a `Sample` of other data, with class weights of its own.

    The columns and the labels are shared with the other data.
    """

    def __init__(self, data, sample, class_weight):
        self._data, self._sample = data, sample
        self.class_weight = class_weight
        self.n_rows, self.n_features = data.n_rows, data.n_features
        self.n_coded = data.n_coded
        self.n_classes, self.n_categories = data.n_classes, data.n_categories
        self.is_whole, self.is_sparse = data.is_whole, data.is_sparse
        self.y = data.y

    def columns(self):
        """Return the columns of all rows, encoded."""
        return self._data.columns()

    def row_codes(self):
        """Return the codes of the columns by row; made by the first call."""
        return self._data.row_codes()

    def sample(self):
        """Return the sample."""
        return self._sample

    def limits(self, sample):
        """Return the smallest and largest value of each feature in a sample."""
        return self._data.limits(sample)

    def nodes(self, sample, thread_team):
        """Return an object that counts the rows of nodes in parts, else None."""
        return self._data.nodes(sample, thread_team)


# Counts are sums of weights. Integers are exact up to `LARGEST_SUM`. Scores use squares
# and cubes of counts times class weights, which neither underflow nor overflow within
# these limits.

KINDS = ("auto", "frequency", "relative")
LARGEST_SUM = 2.0**53
SMALLEST = 1e-100  # positive frequency
CLASS_LIMITS = (1e-50, 1e50)
NEGLIGIBLE = 1e-12  # share of the sum of relative weights below which a weight is 0
MIN_MEAN_FREQUENCY = 0.1  # weights with a smaller mean are probably not frequencies
# Warn if the effective number of rows is below this share of the rows.
MIN_EFFECTIVE_SHARE = 0.5


@contextmanager
def _named(name):
    # If an integer is too large for a float, name the parameter, as NumPy does not.
    try:
        yield
    except OverflowError as error:
        raise ValueError(
            f"{name} has a number that is too large for float64."
        ) from error


def rows_with_weight(X, y, sample_weight, kind):
    """Validate the weights of a table and remove the rows of weight 0.

    Returns X, y, the weights, and whether they are relative. Relative weights are
    rescaled: the ratios do not change, and the sum becomes Kish's effective number of
    rows. The weight is None if `sample_weight` is.
    """
    if sample_weight is None:
        return X, y, None, False
    with _named("sample_weight"):
        weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    if not weight.any():  # pragma: no cover, scikit-learn before 1.9 lets it pass
        raise ValueError("Sample weights must contain at least one non-zero number.")
    relative = kind == "relative" or (
        kind == "auto" and not (weight == np.rint(weight)).all()
    )
    if relative:
        weight = _to_frequencies(weight)
    else:
        _check_frequencies(weight, 0.0)
    if not weight.all():
        positive = weight > 0.0
        X, y, weight = take_rows(X, positive), y[positive], weight[positive]
    return X, y, weight, relative


def stream_weights(sample_weight, X, kind, weight_seen):
    """Validate weights of a stream, which are always frequencies."""
    if kind == "relative":
        raise InvalidParameterError(
            "The 'sample_weight_kind' parameter must be 'auto' or 'frequency' in "
            "partial_fit with sample_weight: the scale of relative weights depends on "
            "all rows. Got 'relative' instead."
        )
    with _named("sample_weight"):
        weight = check_row_weights(sample_weight, X)
    _check_frequencies(weight, weight_seen)
    return weight


def _check_frequencies(weight, weight_seen):
    if not weight.any():
        return
    positive = weight[weight > 0.0]
    if positive.min() < SMALLEST:
        raise ValueError(
            f"sample_weight must be 0 or at least {SMALLEST:g}, got "
            f"{positive.min():g}. If only the ratios of the weights matter, use fit "
            "with sample_weight_kind='relative', which has no such limit."
        )
    with np.errstate(over="ignore"):
        total = positive.sum()
    if not weight_seen + total <= LARGEST_SUM:
        before = (
            f", including {weight_seen:g} from earlier calls" if weight_seen else ""
        )
        raise ValueError(
            f"sample_weight must sum to at most 2**53 (about 9e15), up to which "
            f"counts are exact. Got a sum of {weight_seen + total:g}{before}. If only "
            "the ratios of the weights matter, use fit with "
            "sample_weight_kind='relative', which has no such limit."
        )
    if total < MIN_MEAN_FREQUENCY * len(positive):
        warn_once_per_ensemble(
            "hardly frequencies",  # identifies the warning; not printed
            f"The sample weights sum to {total:g} over {len(positive)} rows. They are "
            "interpreted as frequencies, and so few observations cannot support a "
            "split. If only the ratios of the weights matter (AdaBoost, importance "
            "weights), use fit with sample_weight_kind='relative', or with 'auto' for "
            "weights that are not all integers.",
        )


def _to_frequencies(weight):
    # Divide by the largest weight first, so that nothing overflows.
    weight = weight / weight.max()
    weight[weight < NEGLIGIBLE * weight[weight > 0.0].sum()] = 0.0
    # how a sum rounds must not depend on rows of weight 0
    positive = weight[weight > 0.0]
    # equal weights are frequencies of 1, exactly
    if (positive == positive[0]).all():
        return np.where(weight > 0.0, 1.0, 0.0)
    return weight * (positive.sum() / np.square(positive).sum())


def warn_of_no_split(n_rows, n_effective):
    """Warn that a bound found no split in rows with relative weights."""
    warn_once_per_ensemble(
        "no split",
        f"The tree is a single leaf: the relative weights of {n_rows} rows, equivalent "
        f"to {n_effective:.4g} equally weighted rows, do not support a split. Boosting "
        "soon stops with such trees. A larger 'delta' splits on less evidence, "
        "bound=None without evidence.",
    )


def resolve_class_weight(class_weight, classes, y, weight):
    """Return one weight per class or None; "balanced" makes the totals equal."""
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        with _named("class_weight"):
            weights = compute_class_weight(class_weight, classes=classes, y=classes[y])
            weights = weights.astype(np.float64)
    else:
        per_class = np.bincount(y, weights=weight, minlength=len(classes))
        weights = per_class.sum() / (len(classes) * per_class)
    low, high = CLASS_LIMITS
    bad = ~((weights == 0.0) | ((weights >= low) & (weights <= high)))
    if bad.any():
        raise ValueError(
            f"class_weight must be 0 or in [{low:g}, {high:g}], got "
            f"{weights[bad][0]:g} for class {classes[bad].tolist()[0]!r} from "
            f"{class_weight!r}."
        )
    return weights


MAX_NODES = np.iinfo(np.int32).max  # nodes of a tree
LARGEST = float(np.finfo(np.float64).max)  # largest value of a parameter


def resolve_max_features(max_features, n_features):
    """Resolve the parameter to a number of features."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(max_features * n_features))


def count_limit(limit, largest=MAX_NODES):
    """Return a maximum number as an int of at most `largest`; None means no limit."""
    return None if limit is None else min(int(limit), largest)


class CodedColumn(NamedTuple):
    """Codes of all rows of a column, in one byte each, in two if there are over 256.

    In a numeric column, `levels` has the largest value of each code, and `lower_edges`
    the smallest one; it is None if each code has a single value. Both are ascending,
    with NaN last if the column `has_missing`. A nominal column has no levels: there is
    a code for each of the `n_levels` - 1 categories, and one for unknown categories.
    """

    codes: np.ndarray
    n_levels: int
    levels: np.ndarray | None = None
    lower_edges: np.ndarray | None = None
    has_missing: bool = False

    def limits(self, present):
        """Return the smallest and largest value of a mask of rows (None: all).

        Categories are compared by their codes.
        """
        codes = self.codes if present is None else self.codes[present]
        if self.has_missing:
            codes = codes[codes < self.n_levels - 1]
        if not len(codes):
            return np.nan, np.nan
        low, high = int(codes.min()), int(codes.max())
        if self.levels is None:
            return float(low), float(high)
        lowest = self.levels if self.lower_edges is None else self.lower_edges
        return float(lowest[low]), float(self.levels[high])
