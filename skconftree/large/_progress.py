"""Progress of a fit in parts: the passes over a table, then the levels of a tree."""

import threading
import time
from typing import NamedTuple


class FitProgress(NamedTuple):
    """State of `large.fit`, which is passed to its `callback`.

    Attributes
    ----------
    n_passes : int
        Number of passes over the table that have begun.
    n_rows : int
        Rows that the current pass has read; 0 while a tree grows.
    n_total_rows : int
        Rows of the table.
    level : int
        Level of the tree whose large nodes are split; 0 during the passes. Large nodes
        are counted part by part; the rows of small nodes are gathered in memory.
    n_nodes : int
        Number of children of the large nodes of all levels so far.
    seconds : float
        Time since the beginning of the fit.
    seconds_left : float or None
        Estimated time until the end of the pass; None while a tree grows.
    """

    n_passes: int
    n_rows: int
    n_total_rows: int
    level: int
    n_nodes: int
    seconds: float
    seconds_left: float | None


class Reporter:
    """Records the progress of a fit, and calls a callback unless it is None."""

    def __init__(self, callback, n_total_rows):
        self._callback, self._n_total_rows = callback, n_total_rows
        self._begun = self._pass_begun = time.monotonic()
        self._n_passes = self._n_rows = self._level = self._n_nodes = 0
        self._lock = threading.Lock()

    def begin_pass(self):
        """Record the start of a pass over the rows, without a call of the callback."""
        with self._lock:
            self._n_passes, self._n_rows = self._n_passes + 1, 0
            self._pass_begun = time.monotonic()

    def add_rows(self, n_rows):
        """Report rows that a pass has read."""
        if self._callback is None:
            return
        with self._lock:
            self._n_rows += n_rows
            spent = time.monotonic() - self._pass_begun
            left = self._n_total_rows - self._n_rows
            self._report(self._n_rows, spent * left / max(self._n_rows, 1))

    def add_level(self, n_nodes):
        """Report children of the large nodes of a level of a tree."""
        if self._callback is None:
            return
        with self._lock:
            self._level, self._n_nodes = self._level + 1, self._n_nodes + n_nodes
            self._report(0, None)

    def _report(self, n_rows, seconds_left):
        self._callback(
            FitProgress(
                self._n_passes,
                n_rows,
                self._n_total_rows,
                self._level,
                self._n_nodes,
                time.monotonic() - self._begun,
                seconds_left,
            )
        )
