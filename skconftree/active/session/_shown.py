"""What people are shown of a row."""

import unicodedata

import numpy as np
from scipy.sparse import issparse

from ..._compat import _safe_indexing
from .._fingerprint import fingerprint
from .._rows import n_rows_of, take

KEPT = {"\n", "\u200c", "\u200d"}  # of other signs than visible ones; emoji need some
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # categories of signs
MOST_ENTRIES = 30  # of a sparse row


class Shown:
    """A table as texts by the names of its columns: a dict of columns, or any other."""

    def __init__(self, table):
        if isinstance(table, dict):
            self.columns = {str(name): list(one) for name, one in table.items()}
            self.table, self.n_rows = None, len(next(iter(self.columns.values()), []))
        else:
            self.columns = None
            self.table = table if hasattr(table, "shape") else list(table)
            self.n_rows = n_rows_of(self.table)
            names = getattr(table, "columns", None)
            self.names = None if names is None else [str(one) for one in names]

    def check(self, n_rows):
        """Raise ValueError unless there are so many rows."""
        sizes = [self.n_rows, *map(len, (self.columns or {}).values())]
        if set(sizes) != {n_rows}:
            raise ValueError(
                f"shown must have the {n_rows} rows of X. Got {sizes[0]} rows."
            )

    def fingerprint(self):
        """What tells the rows from others."""
        if self.columns is None:
            return fingerprint(
                np.array(self.table, dtype=object)
                if isinstance(self.table, list)
                else self.table
            )
        table = np.empty((self.n_rows, len(self.columns)), dtype=object)
        for place, column in enumerate(self.columns.values()):
            table[:, place] = column
        return fingerprint(table)

    def values(self, row):
        """Texts of a row by the names of the columns."""
        if self.columns is not None:
            found = {name: one[row] for name, one in self.columns.items()}
        elif issparse(self.table):
            one = take(self.table, np.array([row])).tocoo()
            places = np.argsort(-np.abs(one.data), kind="stable")[:MOST_ENTRIES]
            found = {f"column {one.col[k]}": one.data[k] for k in sorted(places)}
        elif isinstance(self.table, list):
            found = _numbered(self.table[row])
        elif self.names is not None:
            one = _safe_indexing(self.table, [row])
            found = {
                name: np.asarray(_safe_indexing(one, j, axis=1)).tolist()[0]
                for j, name in enumerate(self.names)
            }
        else:
            found = _numbered(np.asarray(take(self.table, np.array([row])))[0])
        return {name: _text(value) for name, value in found.items()}


def _numbered(row):
    if isinstance(row, str) or np.ndim(row) == 0:
        return {"text": row}
    return {f"column {j}": value for j, value in enumerate(np.asarray(row).tolist())}


def _text(value):
    if value is None or value != value:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def visible(text):
    """A text without what a terminal would obey: control signs, marks of direction."""
    text = text.replace("\r\n", "\n").replace("\t", " ")
    return "".join(
        one for one in text if one in KEPT or unicodedata.category(one) not in UNSEEN
    )
