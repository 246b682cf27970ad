"""An encoded table with what its rows are and weigh."""

import threading
from typing import NamedTuple

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
    `pool` the weight of the unlabelled rows.
    """

    count: np.ndarray | None
    weight: np.ndarray | None
    class_counts: np.ndarray
    n_labelled: int
    pool: float

    @property
    def n_rows_repeated(self):
        """Weight of all rows."""
        return float(self.class_counts.sum()) + self.pool


class TrainingData:
    """An encoded table with labels, weights and unlabelled rows.

    Made once for any number of trees; growing them does not change it. Sample weights
    are frequencies; whole ones (`is_whole`) are kept as such. The rows of `X_pool` are
    the last ones of the table; their `y` is `n_classes`. `n_categories` is 0 for a
    numeric feature, in which NaN is a missing value; else its values are codes below
    this number, or -1 in unlabelled rows. None: all are numeric. `max_bins`: of a
    numeric feature of a dense X, and the `team`, see `EncodedTable`.
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
        rows, labels, weight = X, y, sample_weight
        if X_pool is not None:
            rows = stack_rows(X, X_pool)
            labels = np.concatenate([y, np.full(X_pool.shape[0], n_classes)])
            if weight is not None:
                weight = np.concatenate([weight, np.ones(X_pool.shape[0])])
        self._begin(labels, n_classes, class_weight, n_categories)
        self.is_whole = weight is None or bool(np.all(weight == np.rint(weight)))
        self._rows = rows
        if weight is not None and not np.all(weight == 1.0):
            if self.is_whole and weight.sum() < COUNT_LIMIT:
                self._count = weight.astype(np.int32)
            else:
                self._weight = np.ascontiguousarray(weight, dtype=np.float64)
        self.table = EncodedTable(
            rows,
            n_categories,
            max_bins=max_bins,
            weight=None if weight is None else weight.astype(np.float64),
            team=team,
        )

    def _begin(self, labels, n_classes, class_weight, n_categories):
        self.n_classes = n_classes
        self.class_weight = class_weight
        self.n_categories = n_categories
        self.y = labels.astype(np.uint16, copy=False)
        self._count, self._weight = None, None
        self._row_codes, self._lock = None, threading.RLock()

    @property
    def n_features(self):
        """Number of columns."""
        return self.table.n_features

    @property
    def n_coded(self):
        """Number of columns that are codes."""
        return self.table.n_coded

    @property
    def row_codes(self):
        """The codes of the table by row, made when they are first asked for."""
        with self._lock:
            if self._row_codes is None:
                self._row_codes = RowCodes(self.table)
            return self._row_codes

    @property
    def is_sparse(self):
        """Whether the rows are those of a sparse table."""
        return issparse(self._rows)

    def sample(self, counts=None):
        """Weigh the rows of a sample, by how often each row of the table is in it."""
        count, weight = self._count, self._weight
        if counts is not None:
            self._check_counts(counts)
            if weight is not None:
                weight = weight * counts
            else:
                product = counts if count is None else count * counts.astype(np.int64)
                if product.sum(dtype=np.float64) < COUNT_LIMIT:
                    count = product.astype(np.int32)
                else:
                    count, weight = None, product.astype(np.float64)
        weights = weight if count is None else count
        sums = np.bincount(self.y, weights=weights, minlength=self.n_classes + 1)
        labelled = self.y < self.n_classes
        if weights is not None:
            labelled &= weights > 0
        n_labelled = int(np.count_nonzero(labelled))
        if n_labelled == 0:
            raise ValueError("counts leave no row with a label.")
        return Sample(
            count,
            weight,
            sums[: self.n_classes].astype(np.float64),
            n_labelled,
            float(sums[self.n_classes]),
        )

    def nodes(self, count, distinct, team):
        """Nodes of a sample whose rows lie in parts; None: they are all here.

        A team that shares the work wants them here if that costs no copy.
        """
        return None

    def _check_counts(self, counts):
        if (
            not isinstance(counts, np.ndarray)
            or counts.shape != self.y.shape
            or counts.dtype.type not in COUNT_TYPES
        ):
            raise ValueError(
                f"counts must be an array of {len(self.y)} numbers of type uint8, "
                f"uint16 or uint32, got {counts!r}."
            )

    def limits(self, sample):
        """Smallest and largest value of each feature in a sample."""
        weights = sample.weight if sample.count is None else sample.count
        present = None if weights is None or np.all(weights > 0) else weights > 0
        if present is None:
            return column_limits(self._rows)
        if issparse(self._rows):
            return column_limits(self._rows[present])
        options = {"axis": 0, "where": present[:, None], "initial": np.nan}
        return np.column_stack(
            [
                np.fmin.reduce(self._rows, **options),
                np.fmax.reduce(self._rows, **options),
            ]
        ).astype(float)
