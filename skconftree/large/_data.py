"""Training data whose rows stay in parts while trees grow."""

import numpy as np

from ..tables._encoded_table import EncodedTable
from ..tables._training_data import TrainingData
from ..utils._warnings import warn_once
from ._nodes import SampleNodes

MOST_GATHERED = 200_000  # rows of a node whose codes are had here
A_ROW = 17  # bytes, measured, of a row beside codes of which there are two copies


class PartedData(TrainingData):
    """Labelled rows of weight 1, coded in the parts of an engine.

    Each of `heads` is a `CodedColumn` of one row. Trees grow from counts that the parts
    add up; a table of all rows is made for look-ahead alone.
    """

    def __init__(self, engine, heads, y, n_classes, class_weight, n_categories):
        self._begin(y, n_classes, class_weight, n_categories)
        self.is_whole, self._rows = True, None
        self._engine, self._heads = engine, heads
        self._table = None

    @property
    def n_features(self):
        """Number of columns."""
        return len(self._heads)

    @property
    def n_coded(self):
        """Number of columns that are codes: all."""
        return len(self._heads)

    @property
    def columns(self):
        """The columns with the codes of all rows."""
        try:
            codes = self._engine.columns()
        except MemoryError as error:
            raise MemoryError(self._told_of_bytes()) from error
        return [
            head._replace(codes=one)
            for head, one in zip(self._heads, codes, strict=True)
        ]

    @property
    def table(self):
        """All rows, encoded, in this process."""
        with self._lock:
            if self._table is None:
                if not self._engine.is_one_part and len(self.y) > MOST_GATHERED:
                    warn_once(self, "codes", self._told_of_bytes())
                self._table = EncodedTable.of_codes(len(self.y), self.columns)
            return self._table

    def _told_of_bytes(self):
        codes = sum(head.codes.itemsize for head in self._heads)
        megabytes = len(self.y) * (2 * codes + A_ROW) / 2**20
        return (
            "A tree that looks ahead has the codes of all rows in this process, which "
            f"takes some {megabytes:.0f} megabytes. Set lookahead=0 if that does not "
            "fit."
        )

    def limits(self, sample):
        """Smallest and largest value of each feature in a sample."""
        present = None if sample.count is None else sample.count > 0
        return np.array([one.limits(present) for one in self.columns])

    def nodes(self, count, distinct, team):
        """Nodes of a sample, whose rows lie in parts."""
        engine = self._engine
        few = len(self.y) <= MOST_GATHERED  # are gathered in any case
        if team is not None and engine.is_here and (few or engine.is_one_part):
            return None
        return SampleNodes(
            engine.with_team(team),
            self._heads,
            self.n_classes,
            count,
            distinct,
            MOST_GATHERED,
        )
