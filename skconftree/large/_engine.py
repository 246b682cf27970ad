"""Engine for parts of a table in the memory of this process.

A part is a block of rows whose values are replaced by codes (`CodedPart`). The split of
a node has several outcomes, one per child, numbered from 0. Rows have two numbers:
their index in the whole table, and their number in the concatenation of the parts,
which need not be in the order of the table.
"""

from functools import partial

import numpy as np

from . import _steps
from ._steps import Sampled, joined


class LocalEngine:
    """Engine that counts and divides the rows of nodes, for parts in this process.

    The codes of a part are in memory or mapped from a file. `row_indices` is a list
    with the indices, in the table, of the rows of each part. `sampled` is a list with
    one `Sampled` per part: how often a tree's sample contains each row of the part, and
    with which weight. `members` is a list with one `Members` per part: the rows of a
    node.
    """

    is_local = True

    def __init__(self, parts, row_indices, thread_team=None):
        self.parts, self.row_indices = parts, row_indices
        self.n_rows = sum(map(n_rows_of, row_indices))
        self._each = (
            _steps.one_by_one
            if thread_team is None
            else partial(_side_by_side, thread_team)
        )

    @property
    def is_one_part(self):
        """Whether the codes of all rows are available without a copy."""
        return len(self.parts) == 1

    def with_team(self, thread_team):
        """Return an engine whose work a team of threads shares."""
        return (
            self
            if thread_team is None
            else LocalEngine(self.parts, self.row_indices, thread_team)
        )

    def columns(self):
        """Return the codes of all rows, column by column."""
        return in_order(_steps.all_columns(self.parts), self.row_indices)

    def begin(self, counts, repeated, weights):
        """Begin a tree; return its sample, and the root's rows, counts and weight.

        `counts` is how often each row is drawn, `repeated` whether any is drawn twice.
        """
        sampled = sample_of_parts(self.row_indices, counts, repeated, weights)
        results = _steps.begin(self.parts, sampled, self._each)
        weight = None if results.weights is None else results.weights[0]
        return sampled, results.members[0], results.counts[0], weight

    def divide(self, sampled, members, requests):
        """Split the rows of nodes; return the rows, counts and weights of children."""
        return _steps.divide(self.parts, sampled, members, requests, self._each)

    def count_cells(self, sampled, members, splits):
        """Count the rows of a node by the outcomes of several splits."""
        return _steps.count_cells(self.parts, sampled, members, splits, self._each)

    def send(self, grow_below):
        """Return the function that grows subtrees; `DaskEngine` sends it to workers."""
        return grow_below

    def grow(self, sampled, members, grow_below, node):
        """Return a function that grows the subtree of a node; `gather` calls it."""
        return partial(self._grow, sampled, members, grow_below, node)

    def _grow(self, sampled, members, grow_below, node):
        rows = _steps.collect(self.parts, sampled, members, self.row_indices)
        return grow_below(node, rows)

    def gather(self, pending):
        """Call functions that `grow` has returned; return the subtrees."""
        return self._each(_call, pending)


def _call(function):
    return function()


def _side_by_side(thread_team, function, *lists):
    # Call a function with the first items of lists, then the second ones, etc., in the
    # threads of a team.
    calls = list(zip(*lists, strict=True))
    results = [None] * len(calls)

    def do(thread, i):
        results[i] = function(*calls[i])

    thread_team.run(do, len(calls))
    return results


def n_rows_of(row_indices):
    """Return the number of rows of a part."""
    return (
        row_indices.stop - row_indices.start
        if isinstance(row_indices, slice)
        else len(row_indices)
    )


def in_table(row_indices, rows):
    """Return the indices in the table of rows, given by their numbers in the parts."""
    edges = np.cumsum([0, *map(n_rows_of, row_indices)])
    ends = np.searchsorted(rows, edges)
    parts = []
    for i, of_part in enumerate(row_indices):
        here = rows[ends[i] : ends[i + 1]] - edges[i]
        parts.append(_steps.indices_of(of_part, here))
    return joined(parts)


def in_order(columns, row_indices):
    """Sort the rows of concatenated parts by their index in the table."""
    row_indices = in_table(row_indices, np.arange(len(columns[0])))
    if (np.diff(row_indices) > 0).all():
        return columns
    order = np.argsort(row_indices)
    return [codes[order] for codes in columns]


def sample_of_parts(row_indices, counts, repeated, weights):
    """Return the `Sampled` of each part: how often its rows are drawn, and weights."""
    if counts is not None:
        counts = counts.astype(np.uint8 if counts.max() < 256 else np.int32)
    sampled = []
    for where in row_indices:
        of_part = None if counts is None else np.ascontiguousarray(counts[where])
        sampled.append(
            Sampled(
                of_part if repeated else None,
                None if weights is None else weights[where],
                None if repeated or counts is None else of_part > 0,
            )
        )
    return sampled
