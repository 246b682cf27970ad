"""The rows that a tree is grown from: encoded columns, labels and weights."""

import threading
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import issparse

from ._encoded_table import EncodedTable
from ._row_codes import RowCodes
from ._sparse import column_limits, stack_rows

COUNT_TYPES = (np.uint8, np.uint16, np.uint32)
# The sum of whole counts stays below this: they are added up in 32 bits.
COUNT_LIMIT = 2**31


class Sample(NamedTuple):
    """Rows of a table, by their weights; those of weight 0 are absent.

    `count` has whole weights, None if all are 1, or in `weight`, which has those that
    are no such counts. `class_counts` are weights, `n_labelled` is a number of rows,
    `pool` the weight of the unlabelled rows. `distinct` are the weights of the rows for
    the bound, as in `RootFacts`; None: those of the sample.
    """

    count: np.ndarray | None
    weight: np.ndarray | None
    class_counts: np.ndarray
    n_labelled: int
    pool: float
    distinct: np.ndarray | None = None


class GrowthData(Protocol):
    """Rows with labels and weights, from which `grow` makes a tree.

    Three classes implement it: `MemoryData`, `SampledData` (a forest's sample of other
    data) and `PartedData` in `large`. Any number of threads may use one at a time, and
    growing a tree changes none of it, unless the tree takes the columns over.

    Rows without label have the label `n_classes`. `n_categories` is None if all
    features are numeric, else 0 for numeric ones. `n_coded` features have a code for
    each row. `is_whole`: all sample weights are whole numbers.
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

    def nodes(self, sample, team):
        """Return the nodes of a sample whose rows lie in parts, else None.

        None also means that a team shares the work, which needs all rows in this
        process, and that they are here without a copy.
        """
        ...


def sample_rows(y, n_classes, count=None, weight=None, counts=None, distinct=None):
    """Return the `Sample` of rows that have a count or a weight, or weigh 1.

    `counts` says how often each row is in the sample; None: as often as in the table.
    """
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
    labelled = y < n_classes
    if weights is not None:
        labelled &= weights > 0
    n_labelled = int(np.count_nonzero(labelled))
    if n_labelled == 0:
        raise ValueError("counts leave no row with a label.")
    return Sample(
        count,
        weight,
        sums[:n_classes].astype(np.float64),
        n_labelled,
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
    """`GrowthData` of a table in memory: labels, weights and unlabelled rows.

    Made once for any number of trees. Sample weights are frequencies; whole ones are
    kept as such. The rows of `X_pool` are the last ones of the table. The values of a
    nominal feature are codes below its number of categories, or -1 in unlabelled rows;
    NaN in a numeric one is a missing value. `max_bins`: of a numeric feature of a dense
    X, and the `team`, see `EncodedTable`.
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
        team=None,
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
            team=team,
        )
        self.n_coded = self._table.n_coded
        self._row_codes, self._lock = None, threading.Lock()

    def columns(self):
        """Return the columns of all rows, encoded."""
        return self._table

    def row_codes(self):
        """Return the codes of the columns by row; made by the first call."""
        with self._lock:
            if self._row_codes is None:
                self._row_codes = RowCodes(self._table)
            return self._row_codes

    def sample(self, counts=None, distinct=None):
        """Return the weights of the rows, each of which is there so often."""
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

    def nodes(self, sample, team):
        """Return None: the rows do not lie in parts."""
        return None


class SampledData:
    """`GrowthData` of a sample of other data, with class weights of its own.

    The columns and their codes by row are those of the other data, and so are made once
    for all samples.
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

    def nodes(self, sample, team):
        """Return the nodes of a sample whose rows lie in parts, else None."""
        return self._data.nodes(sample, team)
