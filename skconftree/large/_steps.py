"""Map, reduce and collect over parts of a table, where these are stored.

A part is a block of rows whose values are replaced by codes (`CodedPart`). The members
of a node are its rows. The outcome of a split is the number of a child, from 0; a split
assigns an outcome to each code of its feature. The functions do not modify their
arguments, so that a lost result can be computed again, for example on a cluster. They
call `each` to process all parts, one after the other or in threads.
"""

import mmap
import os
import tempfile
from functools import partial
from typing import NamedTuple

import numpy as np

from ._coded_part import Members


class StepResult(NamedTuple):
    """The rows of nodes in some parts, and sums over these rows.

    `members` has a list per node with one item per part, and `counts` has an array per
    node that was counted. `weights` has the total weight of each node, where repeated
    rows of a bootstrap sample count once; it is None if rows have no weights.
    """

    members: list
    counts: np.ndarray
    weights: np.ndarray | None


class Sampled(NamedTuple):
    """Counts and weights of the rows of a part in a sample; None means 1 each.

    Without counts, `present` is a mask of the rows in the sample; None means all.
    """

    counts: np.ndarray | None = None
    weights: np.ndarray | None = None
    present: np.ndarray | None = None


class SplitRequest(NamedTuple):
    """Split of a node: feature and outcome of each code.

    Only the rows of the outcomes `retained` and the counts of the outcomes `counted`
    are returned.
    """

    feature: int
    outcomes: np.ndarray
    retained: tuple
    counted: tuple


class Collected(NamedTuple):
    """Rows of a node that were gathered from all parts.

    `row_indices` are their indices in the table: floats are summed in this order.
    """

    columns: list
    y: np.ndarray
    counts: np.ndarray | None
    weights: np.ndarray | None
    row_indices: np.ndarray | None

    def in_order(self):
        """Return the rows in the order of the table."""
        if (np.diff(self.row_indices) > 0).all():
            return self
        order = np.argsort(self.row_indices)
        counts, weights = self.counts, self.weights
        return Collected(
            [codes[order] for codes in self.columns],
            self.y[order],
            None if counts is None else counts[order],
            None if weights is None else weights[order],
            self.row_indices[order],
        )


def one_by_one(function, *lists):
    """Call a function with the first items of lists, then the second ones, etc."""
    return [function(*arguments) for arguments in zip(*lists, strict=True)]


def begin(parts, sampled, each=one_by_one):
    """Count the rows of a sample."""

    def begin_part(part, sample):
        present = sample.present if sample.counts is None else sample.counts > 0
        members = Members.of(part.n_rows, present)
        return members, _count(part, members, sample)

    results = each(begin_part, parts, sampled)
    members, counts = map(list, zip(*results, strict=True))
    return StepResult([members], _sum(counts)[None], _weigh([members], sampled))


def divide(parts, sampled, members, requests, each=one_by_one):
    """Split nodes, and count some of their children.

    `members` has a list per node with its rows in each part.
    """
    retained, counts = [], []
    # one node at a time, to have the counts of each part of only one in memory
    for rows, request in zip(members, requests, strict=True):
        divide_part = partial(_divide, request)
        results = each(divide_part, parts, sampled, rows)
        children, counts_of_parts = zip(*results, strict=True)
        retained += [list(rows_of_node) for rows_of_node in zip(*children, strict=True)]
        counts += list(_sum(counts_of_parts))
    return StepResult(retained, np.array(counts), _weigh(retained, sampled))


def count_cells(parts, sampled, members, splits, each=one_by_one):
    """Count the rows of a node by the outcomes of several splits.

    Each split is a feature, the outcome of each code, and the number of outcomes.
    """

    def count_part(part, sample, rows):
        return part.count_cells(rows, splits, sample.counts)

    return _sum(each(count_part, parts, sampled, members))


def collect(parts, sampled, members, row_indices):
    """Gather the rows of a node.

    `row_indices` has the indices in the table of the rows of each part: a slice, an
    array, or None if they are not needed.
    """
    return join_collected(one_by_one(_collect, parts, sampled, members, row_indices))


def numbers(parts, members):
    """Return the numbers of the rows of a node in the concatenation of the parts."""
    first = np.cumsum([0, *(part.n_rows for part in parts)])
    results = [
        start + rows.row_indices()
        for start, rows in zip(first[:-1], members, strict=True)
    ]
    return joined(results).astype(np.int32)


def indices_of(of_part, rows):
    """Return the indices in the table of rows that are given by their index in a part.

    `of_part` has the indices in the table of all rows of the part.
    """
    if isinstance(of_part, slice):
        return (of_part.start + rows).astype(np.int32)
    return of_part[rows]


def join_collected(results):
    """Concatenate the collected rows of several parts."""
    columns, y, counts, weights, row_indices = zip(*results, strict=True)

    def join(some):
        return None if some[0] is None else np.concatenate(some)

    return Collected(
        join_columns(columns),
        np.concatenate(y),
        join(counts),
        join(weights),
        join(row_indices),
    )


def all_columns(parts):
    """Return the codes of all rows of some parts, column by column."""
    return join_columns([part.columns for part in parts])


def join_columns(results):
    """Concatenate the columns of several parts."""
    return [joined(codes) for codes in zip(*results, strict=True)]


def joined(arrays):
    """Concatenate arrays; without a copy if there is only one."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _collect(part, sampled, members, row_indices):
    rows = members.row_indices()
    return Collected(
        [codes[rows] for codes in part.columns],
        part.y[rows].astype(np.uint16),
        None if sampled.counts is None else sampled.counts[rows].astype(np.int32),
        None if sampled.weights is None else sampled.weights[rows],
        None if row_indices is None else indices_of(row_indices, rows),
    )


def _divide(request, part, sampled, members):
    divided = part.divide(members, request.feature, request.outcomes)
    counts = [_count(part, divided[z], sampled) for z in request.counted]
    return [divided[z] for z in request.retained], counts


def _count(part, members, sampled):
    return part.count(members, sampled.counts)


def _sum(counts):
    # Add up the counts of all parts.
    return np.sum(np.asarray(counts, dtype=np.int32), axis=0, dtype=np.int64)


def _weigh(nodes, sampled):
    # Total weight of each node, given by its members.
    if not sampled or sampled[0].weights is None:
        return None
    return np.array(
        [
            sum(
                float(sample.weights[rows.row_indices()].sum())
                for sample, rows in zip(sampled, members, strict=True)
            )
            for members in nodes
        ]
    )


CACHE_LINE = 64  # bytes
WRITE_BYTES = 1 << 20  # written at a time on systems without posix_fallocate


def make_arrays(lengths, dtypes, folder):
    """Create arrays in one block of memory (`folder` is None) or of a temporary file.

    The file has no name, and its full size is allocated at once.
    """
    sizes = [
        n * np.dtype(dtype).itemsize for n, dtype in zip(lengths, dtypes, strict=True)
    ]
    padded = [-(-size // CACHE_LINE) * CACHE_LINE for size in sizes]
    total = max(sum(padded), 1)
    block = np.empty(total, np.uint8) if folder is None else _mapped(total, folder)
    arrays, start = [], 0
    for n, dtype, size in zip(lengths, dtypes, padded, strict=True):
        arrays.append(np.frombuffer(block, dtype, n, start))
        start += size
    return arrays


def _mapped(n_bytes, folder):
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            _allocate(file, n_bytes)
            return mmap.mmap(file.fileno(), n_bytes)
    except OSError as error:
        raise OSError(
            error.errno,
            f"Cannot create a file of {n_bytes} bytes in temp_folder for the encoded "
            f"table: {error.strerror}",
            os.fspath(folder),
        ) from error


def _allocate(file, n_bytes):
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return
    for start in range(0, n_bytes, WRITE_BYTES):
        file.write(bytes(min(WRITE_BYTES, n_bytes - start)))
    file.flush()
