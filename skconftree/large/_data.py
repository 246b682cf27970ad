"""Training data whose rows stay in parts while trees grow."""

import threading

import numpy as np

from ..tables._encoded_table import EncodedTable
from ..tables._growth_data import sample_rows
from ..tables._row_codes import RowCodes
from ..utils._warnings import warn_once
from ._nodes import SampleNodes

MOST_GATHERED = 200_000  # rows of a node that are brought together in one process
A_ROW = 17  # bytes, measured, of a row beside codes of which there are two copies


class PartedData:
    """`GrowthData` of labelled rows of weight 1, coded in the parts of an engine.

    Each of `heads` is a `CodedColumn` of one row. Trees grow from counts that the parts
    add up; a table of all rows is made for look-ahead and for threads alone.
    """

    is_whole, is_sparse = True, False

    def __init__(self, engine, heads, y, n_classes, class_weight, n_categories):
        self.n_rows, self.n_features, self.n_coded = len(y), len(heads), len(heads)
        self.n_classes, self.n_categories = n_classes, n_categories
        self.class_weight = class_weight
        self.y = y.astype(np.uint16, copy=False)
        self._engine, self._heads = engine, heads
        self._table = self._row_codes = None
        # No thread holds both at a time.
        self._table_lock, self._codes_lock = threading.Lock(), threading.Lock()

    def columns(self):
        """Return the columns of all rows, in this process."""
        with self._table_lock:
            if self._table is None:
                if not self._engine.is_one_part and self.n_rows > MOST_GATHERED:
                    warn_once(self, "codes", self._memory_message())
                self._table = EncodedTable.of_codes(self.n_rows, self._coded_columns())
            return self._table

    def row_codes(self):
        """Return the codes of the columns by row; made by the first call."""
        table = self.columns()
        with self._codes_lock:
            if self._row_codes is None:
                self._row_codes = RowCodes(table)
            return self._row_codes

    def _coded_columns(self):
        try:
            codes = self._engine.columns()
        except MemoryError as error:
            raise MemoryError(self._memory_message()) from error
        return [
            head._replace(codes=of_column)
            for head, of_column in zip(self._heads, codes, strict=True)
        ]

    def _memory_message(self):
        codes = sum(head.codes.itemsize for head in self._heads)
        megabytes = self.n_rows * (2 * codes + A_ROW) / 2**20
        return (
            "A tree that looks ahead has the codes of all rows in this process, which "
            f"takes some {megabytes:.0f} megabytes. Set lookahead=0 if that does not "
            "fit."
        )

    def sample(self, counts=None, distinct=None):
        """Return the weights of the rows, each of which is there so often."""
        return sample_rows(self.y, self.n_classes, counts=counts, distinct=distinct)

    def limits(self, sample):
        """Return the smallest and largest value of each feature in a sample."""
        present = None if sample.count is None else sample.count > 0
        return np.array([column.limits(present) for column in self._coded_columns()])

    def nodes(self, sample, team):
        """Return the nodes of a sample; None if a team has all rows here."""
        engine = self._engine
        few = self.n_rows <= MOST_GATHERED  # are gathered in any case
        if team is not None and engine.is_here and (few or engine.is_one_part):
            return None
        return SampleNodes(
            engine.with_team(team),
            self._heads,
            self.n_classes,
            sample.count,
            sample.distinct,
            MOST_GATHERED,
        )
