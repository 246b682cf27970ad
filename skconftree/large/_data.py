"""Training data that remains in parts while trees grow.

A part is a block of rows of a table, in memory, mapped from a file or on a Dask worker.
Its values are replaced by codes: indices into the *levels* of a column, which are its
sorted values, bins or categories. The *outcome* of a split is the number of a child,
from 0; a split assigns an outcome to each code of its feature. An engine
(`LocalEngine`, `DaskEngine`) counts rows and divides those of a node by outcome, where
they are stored. `members` are the indices of a node's rows in each part. The rows of a
small node are gathered in one process, which grows the whole subtree. A thread team is
a pool of threads that share the work.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..tables._encoded_table import EncodedTable, RowCodes
from ..tables._growth_data import CodedColumn, sample_rows
from ..utils._warnings import warn_once
from ._steps import SplitRequest


class GrowFromRows(NamedTuple):
    """Function that grows the subtree of a node from its gathered rows.

    `column_metadata` has the levels of each column, as a `CodedColumn` whose codes are
    not used. `present` has the indices of those of the `n_levels` levels that occur in
    the sample of the tree, per column; None: all. `grow_below` is called with the rows.
    With `has_distinct`, repeated rows of a bootstrap sample count once for the bound,
    the rule that accepts a split.
    """

    column_metadata: list
    present: list | None
    n_levels: list | None
    has_distinct: bool
    grow_below: Callable

    def __call__(self, node, rows):
        """Grow the subtree from gathered rows (`_steps.Collected`)."""
        rows = rows.in_order()
        distinct = rows.weights  # without repetitions
        if self.has_distinct and distinct is None:  # each row counts once
            distinct = np.ones(len(rows.y))
        columns = [self._column(f, codes) for f, codes in enumerate(rows.columns)]
        return self.grow_below(node, columns, rows.y, rows.counts, distinct)

    def _column(self, feature, codes):
        metadata = self.column_metadata[feature]
        if self.present is not None and metadata.levels is not None:
            ranks = np.zeros(self.n_levels[feature], codes.dtype)
            ranks[self.present[feature]] = np.arange(metadata.n_levels)
            codes = ranks[codes]
        return metadata._replace(codes=codes)


class Child(NamedTuple):
    """A child that is grown further: its outcome, node id and number of rows."""

    outcome: int
    id: int
    n_rows: int


class Division(NamedTuple):
    """Split of a node, and its children that are grown further.

    The request tells an engine the feature, the outcome of each code, and the outcomes
    whose rows (`retained`) and class counts (`counted`) it returns.
    """

    node: int
    children: list
    request: SplitRequest


class SampleNodes:
    """Nodes of one tree whose rows are in parts.

    `counts` is how often each row is in the sample of the tree (None: once), and
    `distinct` the weights of the rows if repeated rows count once, or None.
    `column_metadata` has the levels of each column, as a `CodedColumn` whose codes are
    not used; levels that do not occur in the sample are omitted. Nodes with at most
    `max_gathered` rows are gathered. The counts of a node have the shape (codes of all
    columns, classes). If rows are `repeated`, there is one more column, the number of
    distinct rows.
    """

    def __init__(
        self,
        engine,
        column_metadata,
        n_classes,
        counts,
        distinct,
        max_gathered,
        reporter,
    ):
        self._reporter = reporter
        self._engine = engine
        self.n_classes, self.max_gathered = n_classes, max_gathered
        self.n_rows = engine.n_rows
        if counts is not None:
            self.n_rows = int(np.count_nonzero(counts))
        self.repeated = counts is not None and int(counts.max()) > 1
        self.has_distinct = distinct is not None
        if distinct is not None and (distinct == np.minimum(counts, 1)).all():
            distinct = None  # each row counts once
        is_subset = self.n_rows < engine.n_rows
        # `_sampled`: the sample, as the engine stores it; counts of the root by all
        # levels, also those that do not occur in the sample
        self._sampled, members, root_counts, weight = engine.begin(
            counts if is_subset or self.repeated else None, self.repeated, distinct
        )
        self._members = {0: members}
        self._weights = {0: weight}
        self._present = self._n_levels = self._grow_below = None
        if is_subset:
            self._omit_absent_levels(column_metadata, root_counts)
        else:
            self.column_metadata = column_metadata
        self._counts = {0: self._of_sample(root_counts)}

    def _omit_absent_levels(self, column_metadata, root_counts):
        # Remove levels that do not occur in the sample.
        self._present, self.column_metadata, start = [], [], 0
        for metadata in column_metadata:
            occurs = root_counts[start : start + metadata.n_levels].any(axis=1)
            start += metadata.n_levels
            if metadata.levels is None:  # nominal
                occurs[:] = True
            self._present.append(np.flatnonzero(occurs))
            if metadata.levels is not None:
                metadata = CodedColumn(
                    metadata.codes,
                    int(occurs.sum()),
                    metadata.levels[occurs],
                    # the smallest value of each bin
                    None
                    if metadata.lower_edges is None
                    else metadata.lower_edges[occurs],
                    bool(metadata.has_missing and occurs[-1]),  # NaN is the last level
                )
            self.column_metadata.append(metadata)
        starts = np.cumsum(
            [0] + [metadata.n_levels for metadata in column_metadata[:-1]]
        )
        self._all_present = np.concatenate(
            [first + codes for first, codes in zip(starts, self._present, strict=True)]
        )
        self._n_levels = [metadata.n_levels for metadata in column_metadata]

    def _of_sample(self, counts):
        # Restrict counts by level to the levels of the sample.
        counts = np.ascontiguousarray(counts, dtype=np.int64)
        return counts if self._present is None else counts[self._all_present]

    def _outcomes(self, feature, outcomes):
        # Convert outcomes by level of the sample to outcomes by all levels.
        if self._present is None:
            return outcomes
        part_outcomes = np.zeros(self._n_levels[feature], np.uint16)
        part_outcomes[self._present[feature]] = outcomes
        return part_outcomes

    def limits(self):
        """Return the smallest and largest value of each column."""
        results, start = [], 0
        for metadata in self.column_metadata:
            occurs = self._counts[0][start : start + metadata.n_levels].any(axis=1)
            codes = np.flatnonzero(occurs).astype(np.uint16)
            column = metadata._replace(codes=codes)
            results.append(column.limits(present=None))  # no mask of rows
            start += metadata.n_levels
        return np.array(results)

    def counts(self, node):
        """Return the counts of a node, and its weight with each distinct row once."""
        return self._counts[node], self._weights[node]

    def divide(self, requests, limit):
        """Split the rows of nodes, and count children with more rows than a limit.

        Each request has the arguments of `_division` for one node.
        """
        divisions = [self._division(*division, limit) for division in requests]
        members, counts, weights = self._engine.divide(
            self._sampled,
            [self._members[division.node] for division in divisions],
            [division.request for division in divisions],
        )
        if weights is None:
            weights = [None] * len(members)
        members, counts, weights = iter(members), iter(counts), iter(weights)
        self._reporter.add_level(sum(len(division.children) for division in divisions))
        for division in divisions:
            for child in division.children:
                self._members[child.id] = next(members)
                self._weights[child.id] = next(weights)
            results = {
                z: self._of_sample(next(counts)) for z in division.request.counted
            }
            for child in division.children:
                if child.n_rows <= limit:
                    continue
                if child.outcome not in results:
                    (counted,) = results.values()
                    self._counts[child.id] = self._counts[division.node] - counted
                else:
                    self._counts[child.id] = results[child.outcome]
            self.drop(division.node)

    def _division(self, node, feature, outcomes, children, limit):
        # `outcomes` is by level, `children` has the fields of `Child` for each.
        children = [Child(*child) for child in children]
        counted = [child.outcome for child in children if child.n_rows > limit]
        if counted and outcomes.max() == 1:
            # the smaller child is counted; the counts of the other are the difference
            smaller = self._smaller(self._counts[node], feature, outcomes)
            if 1 - smaller in counted:
                counted = [smaller]
        request = SplitRequest(
            feature,
            self._outcomes(feature, outcomes),
            tuple(child.outcome for child in children),
            tuple(counted),
        )
        return Division(node, children, request)

    def _smaller(self, counts, feature, outcomes):
        # The outcome, 0 or 1, with fewer rows.
        start = sum(metadata.n_levels for metadata in self.column_metadata[:feature])
        rows = counts[start : start + len(outcomes)]
        rows = rows[:, -1] if self.repeated else rows.sum(axis=1)
        return int(2 * rows[outcomes == 1].sum() < rows.sum())

    def count_cells(self, node, splits):
        """Count the classes of a node's rows by the outcomes of several splits.

        Each split is a feature, the outcome of each level, and the number of outcomes.
        """
        return self._engine.count_cells(
            self._sampled,
            self._members[node],
            [
                (feature, self._outcomes(feature, outcomes), n_outcomes)
                for feature, outcomes, n_outcomes in splits
            ],
        )

    def set_grow_below(self, grow_below):
        """Set the function that grows subtrees from gathered rows."""
        self._grow_below = self._engine.send(
            GrowFromRows(
                self.column_metadata,
                self._present,
                self._n_levels,
                self.has_distinct,
                grow_below,
            )
        )

    def grow(self, node, open_node):
        """Gather the rows of a node, and grow its subtree in the same process.

        `open_node` describes the root of the subtree: its id, depth and class counts.
        The result may be pending; `gather` waits for it.
        """
        return self._engine.grow(
            self._sampled, self._members[node], self._grow_below, open_node
        )

    def gather(self, pending):
        """Return the subtrees; `pending` are results of `grow`."""
        return self._engine.gather(pending)

    def drop(self, node):
        """Remove a node that is no longer used."""
        for stored in (self._members, self._counts, self._weights):
            stored.pop(node, None)


MAX_GATHERED = 200_000  # rows of a node whose subtree is grown in one process
BYTES_PER_ROW = 17  # of look-ahead, measured, in addition to two copies of the codes


class PartedData:
    """Unweighted rows in the parts of an engine.

    It implements the protocol `GrowthData` of the data that trees are grown from: all
    weights are integers (`is_whole`), and all columns have codes (`n_coded`).
    """

    is_whole, is_sparse = True, False

    def __init__(
        self,
        engine,
        column_metadata,
        y,
        n_classes,
        class_weight,
        n_categories,
        reporter,
    ):
        self._reporter = reporter
        self.n_rows, self.n_features, self.n_coded = (
            len(y),
            len(column_metadata),
            len(column_metadata),
        )
        self.n_classes, self.n_categories = n_classes, n_categories
        self.class_weight = class_weight
        self.y = y.astype(np.uint16, copy=False)
        self._engine, self._column_metadata = engine, column_metadata
        self._table = self._row_codes = None
        # No thread holds both locks at the same time.
        self._table_lock, self._codes_lock = threading.Lock(), threading.Lock()

    def columns(self):
        """Return the codes of all rows as a table in the memory of this process.

        They are needed if threads grow a tree in memory, and for look-ahead, which
        chooses a split by growing trees below several candidates.
        """
        with self._table_lock:
            if self._table is None:
                if not self._engine.is_one_part and self.n_rows > MAX_GATHERED:
                    # "codes" identifies the warning
                    warn_once(self, "codes", self._memory_message())
                self._table = EncodedTable.of_codes(self.n_rows, self._coded_columns())
            return self._table

    def row_codes(self):
        """Return the codes in row-major order; made by the first call."""
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
            metadata._replace(codes=column_codes)
            for metadata, column_codes in zip(self._column_metadata, codes, strict=True)
        ]

    def _memory_message(self):
        codes = sum(metadata.codes.itemsize for metadata in self._column_metadata)
        megabytes = self.n_rows * (2 * codes + BYTES_PER_ROW) / 2**20
        return (
            "Look-ahead needs the encoded rows in this process, about "
            f"{megabytes:.0f} megabytes. Set lookahead=0 to use less memory."
        )

    def sample(self, counts=None, distinct=None):
        """Return the weights of the rows; `counts` is how often each is drawn.

        `distinct` has weights in which repeated rows count once, or is None.
        """
        return sample_rows(self.y, self.n_classes, counts=counts, distinct=distinct)

    def limits(self, sample):
        """Return the smallest and largest value of each feature in a sample."""
        present = None if sample.count is None else sample.count > 0
        return np.array([column.limits(present) for column in self._coded_columns()])

    def nodes(self, sample, thread_team):
        """Return the nodes of a sample; None if threads have all rows in memory."""
        # `is_local`: the parts are not on Dask workers
        engine = self._engine
        is_small = self.n_rows <= MAX_GATHERED
        if (
            thread_team is not None
            and engine.is_local
            and (is_small or engine.is_one_part)
        ):
            return None
        return SampleNodes(
            engine.with_team(thread_team),
            self._column_metadata,
            self.n_classes,
            sample.count,
            sample.distinct,
            MAX_GATHERED,
            self._reporter,
        )
