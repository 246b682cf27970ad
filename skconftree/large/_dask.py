"""Tables of Dask: partitions, arrays, and growth on the workers of a cluster.

A part is a partition or block of rows. Encoding replaces its values by codes, which are
the ranks or bins of the values. An engine then counts the rows of nodes in all encoded
parts. The *outcome* of a split is the number of a child, from 0. Some methods have
arguments `by_row`: arrays with one element per row of the table, of which the elements
of a part's rows are passed on.
"""

import math
import time
from collections import Counter, deque
from functools import partial
from itertools import pairwise
from threading import Semaphore

import numpy as np

from . import _steps
from ._engine import LocalEngine, in_order, in_table, n_rows_of, sample_of_parts
from ._progress import Reporter

RESULTS_PER_SUM = 8  # number of results that one task adds up
SUBTREES_PER_THREAD = 2  # that grow at the same time, per thread of a worker
CHECK_SECONDS = 1.0  # seconds between two checks of whether the cluster still exists
# Maximal time without any worker; lost workers may be replaced meanwhile.
MAX_SECONDS_WITHOUT_WORKERS = 300.0


class DaskEngine:
    """Engine for parts whose codes are in the memory of workers.

    The parts of a worker form a group. A `dask.distributed` client submits the tasks.
    The rows of a node remain on the workers; only counts are returned. The rows of a
    small node are sent to one worker, which returns the subtree. Dask computes results
    again that are lost with their worker.

    `sampled` has, for each part, how often a tree's sample contains each row, and with
    which weight. `members` has the rows of a node in each part.
    """

    is_local = is_one_part = False  # codes are neither in this process nor in one array

    def __init__(self, client, coded, row_indices):
        self._client = client
        self._groups, self._row_indices, self._workers = [], [], []
        for worker, indices in _by_worker(client, coded).items():
            self._groups.append(
                self._submit(worker, _as_list, *(coded[i] for i in indices))
            )
            self._row_indices.append([row_indices[i] for i in indices])
            self._workers.append(worker)
        self.n_rows = sum(map(n_rows_of, row_indices))
        # Row indices that are sent to workers: a slice per part, if the rows of a part
        # are consecutive in the table. An index per row would take too much memory.
        self._consecutive = all(isinstance(rows, slice) for rows in row_indices)
        self._sent_indices = self._row_indices
        if not self._consecutive:
            self._sent_indices = [[None] * len(rows) for rows in self._row_indices]
        # limits the number of subtrees that grow at the same time
        self._slots = Semaphore(SUBTREES_PER_THREAD * sum(client.nthreads().values()))

    def with_team(self, thread_team):
        """Return self: workers do not use the thread pool of this process."""
        return self

    def _submit(self, worker, function, *arguments):
        # Another worker takes the task if this one is lost.
        return self._client.submit(
            function, *arguments, pure=False, workers=[worker], allow_other_workers=True
        )

    def _each(self, function, *arguments):
        # Call a function on each group; arguments are lists with one item per group.
        return [
            self._submit(worker, function, group, *rest)
            for worker, group, *rest in zip(
                self._workers, self._groups, *arguments, strict=True
            )
        ]

    def _total(self, function, results):
        # Sum what a function extracts from the results.
        extracted = [
            self._submit(worker, function, result)
            for worker, result in zip(self._workers, results, strict=True)
        ]
        while len(extracted) > RESULTS_PER_SUM:
            extracted = [
                self._client.submit(
                    _add, extracted[i : i + RESULTS_PER_SUM], pure=False
                )
                for i in range(0, len(extracted), RESULTS_PER_SUM)
            ]
        return _add(self._client.gather(extracted))

    def columns(self):
        """Return the codes of all rows, column by column."""
        codes = self._client.gather(self._each(_steps.all_columns))
        row_indices = [rows for group in self._row_indices for rows in group]
        return in_order(_steps.join_columns(codes), row_indices)

    def begin(self, counts, repeated, weights):
        """Begin a tree; return its sample, and the root's rows, counts and weight.

        `counts` is how often each row is drawn, `repeated` whether any is drawn twice.
        """
        sampled = []
        for worker, row_indices in zip(self._workers, self._row_indices, strict=True):
            # a part at a time: no message is as long as the table
            parts = [
                self._submit(worker, _steps.Sampled, *part)
                for part in sample_of_parts(row_indices, counts, repeated, weights)
            ]
            sampled.append(self._submit(worker, _as_list, *parts))
        results = self._each(_steps.begin, sampled)
        counts, weights = self._total(_sums_of, results)
        weight = None if weights is None else weights[0]
        return sampled, self._rows_of(results, 0), counts[0], weight

    def _rows_of(self, results, node):
        # One task per node, so that the rows of each node can be freed separately.
        return [
            self._submit(worker, _members, result, node)
            for worker, result in zip(self._workers, results, strict=True)
        ]

    def divide(self, sampled, members, requests):
        """Split the rows of nodes; return the rows, counts and weights of children.

        A request (`SplitRequest`) has the split of a node, and the children whose rows
        to retain and to count.
        """
        by_worker = list(map(list, zip(*members, strict=True)))
        results = self._each(
            _steps.divide, sampled, by_worker, [requests] * len(by_worker)
        )
        counts, weights = self._total(_sums_of, results)
        n_retained = sum(len(request.retained) for request in requests)
        children = [self._rows_of(results, node) for node in range(n_retained)]
        return _steps.StepResult(children, counts, weights)

    def count_cells(self, sampled, members, splits):
        """Count the rows of a node by the outcomes of several splits, and by class."""
        results = self._each(_count_cells, sampled, members, [splits] * len(members))
        return self._total(_identity, results)[0]

    def send(self, grow_below):
        """Send `grow_below(node, rows)`, which grows a subtree, to the workers."""
        return self._client.submit(_identity, grow_below, pure=False)

    def grow(self, sampled, members, grow_below, node):
        """Grow the subtree of a node on one worker, which receives all its rows."""
        self._wait_for_memory()  # else all rows would be copied to workers at once
        try:
            row_indices = None if self._consecutive else self._indices_of(members)
            rows = self._each(_steps.collect, sampled, members, self._sent_indices)
            # counting has priority, because the caller waits for the counts
            pending = self._client.submit(
                _grow, grow_below, node, row_indices, *rows, pure=False, priority=-1
            )
        except BaseException:
            self._slots.release()
            raise
        pending.add_done_callback(self._release_slot)
        return pending

    def _wait_for_memory(self):
        # Wait until one of the growing subtrees is finished. If the cluster is lost,
        # that never happens, so it is checked.
        no_worker_since = None
        while not self._slots.acquire(timeout=CHECK_SECONDS):
            if self._client.status in ("closing", "closed"):
                raise RuntimeError(
                    "The connection to the Dask cluster was lost while trees were "
                    "grown. Connect to a cluster and call large.fit again."
                )
            if self._client.nthreads():
                no_worker_since = None
                continue
            now = time.monotonic()
            no_worker_since = now if no_worker_since is None else no_worker_since
            if now - no_worker_since > MAX_SECONDS_WITHOUT_WORKERS:
                raise RuntimeError(
                    "The Dask cluster has had no worker for "
                    f"{now - no_worker_since:.0f} seconds while trees were grown. Add "
                    "workers and call large.fit again."
                )

    def _release_slot(self, future):
        self._slots.release()

    def _indices_of(self, members):
        # Return the indices of the rows of a node in the table.
        rows_of_node = self._client.gather(self._each(_steps.numbers, members))
        return _steps.joined(list(map(in_table, self._row_indices, rows_of_node)))

    def gather(self, pending):
        """Return the subtrees that workers have grown."""
        return self._client.gather(pending)


def _by_worker(client, coded):
    # Group the indices of coded parts by the worker that has them.
    from distributed import wait

    wait(coded)
    for part in coded:
        if part.status == "error":
            part.result()  # raises
    threads = client.nthreads()
    groups = {}
    who_has = client.who_has(coded)
    for i, part in enumerate(coded):
        holders = who_has.get(part.key) or list(threads)
        groups.setdefault(min(holders), []).append(i)
    return groups


def _as_list(*parts):
    return list(parts)


def _members(results, node):
    return results.members[node]


def _count_cells(*arguments):
    return _steps.count_cells(*arguments), None


def _grow(grow_below, node, row_indices, *rows):
    rows = _steps.join_collected(rows)
    if row_indices is not None:
        rows = rows._replace(row_indices=row_indices)
    return grow_below(node, rows)


def _identity(results):
    return results


def _sums_of(results):
    return results.counts, results.weights


def _add(results):
    counts, weights = zip(*results, strict=True)
    total = np.sum(counts, axis=0)
    return total, None if weights[0] is None else np.sum(weights, axis=0)


PARTS_PER_THREAD = 4  # that are computed at the same time, per thread of the cluster


class DaskParts:
    """Parts of Dask, lazy or on a cluster, to which functions are sent.

    The argument `task` of `total` is an object that counts values: `start` returns
    empty counts, `count` adds the rows of a part, `join` adds other counts, and
    `result` makes them compact.
    """

    reads_columns = False  # each pass reads all columns of a part

    def __init__(self, names, sizes):
        self.names = names
        self._stops = np.cumsum(sizes, dtype=np.int64)
        self.n_rows = int(self._stops[-1])
        self.reporter = Reporter(callback=None, n_total_rows=self.n_rows)

    @classmethod
    def of(cls, source):
        """Return the parts of a Dask DataFrame; None for other sources."""
        if is_of_dask(source) and hasattr(source, "columns"):
            return _DaskFrame(source)
        return None

    def _report(self, first, stop):
        # Report the rows of some parts.
        edges = np.append(0, self._stops)
        stop = min(stop, len(self._stops))
        self.reporter.add_rows(int(edges[stop] - edges[first]))

    def describe(self, row):
        """Return the name of the part of a row, its first row, and its last row + 1."""
        part = int(np.searchsorted(self._stops, row, side="right"))
        return f"partition {part}", *[0, *self._stops.tolist()][part : part + 2]

    def _parts(self, columns):
        # Return parts with at least these columns, and a function that selects them.
        raise NotImplementedError

    def _calls(self, function, columns, by_row):
        # Return a task for each part: a delayed call of the function with its columns.
        import dask

        parts, take = self._parts(columns)
        called = dask.delayed(partial(_call_on_part, function, take), traverse=False)
        calls, start = [], 0
        for i, (part, stop) in enumerate(zip(parts, self._stops.tolist(), strict=True)):
            rows = [array[start:stop] for array in by_row]
            calls.append(called(part, i, start, stop, *rows))
            start = stop
        return _separate_tasks(calls, parts_exist=_are_on_workers(parts))

    def map(self, function, columns, *by_row):
        """Call a function with each part and its elements of `by_row`, in order."""
        import dask

        calls = self._calls(function, columns, by_row)
        at_once = PARTS_PER_THREAD * _n_threads()
        self.reporter.begin_pass()
        for first in range(0, len(calls), at_once):
            yield from dask.compute(*calls[first : first + at_once])
            self._report(first, first + at_once)

    def total(self, task, columns, *by_row, thread_team=None):
        """Add up the counts of a task over the parts; `thread_team` is not used."""
        import dask

        calls = self._calls(partial(_counted, task), columns, by_row)
        add_up = dask.delayed(partial(_sum_results, task), traverse=False)

        def sum_of(totals):
            while len(totals) > 1:
                totals = [
                    add_up(*totals[first : first + RESULTS_PER_SUM])
                    for first in range(0, len(totals), RESULTS_PER_SUM)
                ]
            return totals[0]

        client = _client()
        self.reporter.begin_pass()
        if client is None:
            result = sum_of(calls).compute()
            self._report(0, len(calls))
            return result
        # Two batches of tasks are submitted at a time: with all tasks at once, the
        # results of all parts would be in memory before they are added up.
        at_once, total = RESULTS_PER_SUM * _n_threads(), task.start()
        submitted = deque()
        for begin in range(0, len(calls), at_once):
            submitted.append(client.compute(sum_of(calls[begin : begin + at_once])))
            if len(submitted) > 1:
                task.join(total, submitted.popleft().result())
                self._report(begin - at_once, begin)
        task.join(total, submitted.popleft().result())
        self._report(begin, begin + at_once)
        return task.result(total)

    def engine(self, task, columns, positions, *by_row):
        """Encode the parts on their workers, or one at a time without a cluster.

        `task` is a function that encodes a part. `positions` has the index of each row
        in the training data, -1 if the row is not used.
        """
        import dask

        edges = [0, *self._stops.tolist()]
        row_indices = [slice(*edge) for edge in pairwise(edges)]
        if positions is not None:
            row_indices = [positions[rows] for rows in row_indices]
            row_indices = [rows[rows >= 0] for rows in row_indices]
        calls = self._calls(task, columns, by_row)
        client = _client()
        if client is None:
            return LocalEngine([dask.compute(rows)[0] for rows in calls], row_indices)
        # a part at a time: no message is as long as the table
        return DaskEngine(client, [client.compute(rows) for rows in calls], row_indices)


class _DaskFrame(DaskParts):
    """Partitions of a Dask DataFrame."""

    def __init__(self, frame):
        self._frame, self._meta = frame, frame._meta
        self._whole = frame.to_delayed()
        names = list(frame.columns)
        super().__init__(names, sizes_of(self._narrow(names[0])))

    def empty(self, columns):
        """Return a frame of the columns without rows, for their types."""
        return self._meta[columns]

    @staticmethod
    def labels_of(frame):
        """Return the known values of a frame's only column, and a mask of missing ones.

        The mask is None if no value is missing.
        """
        labels = frame.iloc[:, 0]
        missing = labels.isna().to_numpy(dtype=bool)
        return (labels[~missing], missing) if missing.any() else (labels, None)

    def _parts(self, columns):
        parts = self._narrow(*columns) if len(columns) == 1 else self._whole
        return parts, partial(_take_columns, columns, self._meta.dtypes.to_dict())

    def _narrow(self, column):
        # Return the partitions with one column; the others are not read. Further
        # optimization by Dask would join partitions.
        narrow = self._frame[[column]]
        if not hasattr(narrow, "simplify"):
            return narrow.to_delayed()
        return narrow.simplify().to_delayed(optimize_graph=False)


def _take_columns(columns, dtypes, frame, partition):
    # Select columns of a partition, whose types must be those of the table.
    frame = frame[columns]
    for name, dtype in frame.dtypes.items():
        expected = dtypes[name]
        if dtype != expected and str(dtype) != str(expected):
            raise ValueError(
                f"Column {name!r} must have the same type in all partitions. Got "
                f"{dtype} in partition {partition}, not {expected}."
            )
    return frame


def _call_on_part(function, take, part, partition, start, stop, *rows):
    # Call a function with what `take` selects from a part, which has the rows `start`
    # to `stop` of the table.
    if len(part) != stop - start:
        raise RuntimeError(
            f"Partition {partition} had {stop - start} rows in an earlier pass and has "
            f"{len(part)} now. The data must not change during fit; call its persist()."
        )
    return function(take(part, partition), *rows)


def _counted(task, frame, *rows):
    # Return the counts of a task in one part.
    counts = task.start()
    task.count(counts, frame, *rows)
    return task.result(counts)


def _sum_results(task, *result):
    # Add up counts of a task.
    total = task.start()
    for partial_result in result:
        task.join(total, partial_result)
    return task.result(total)


def is_of_dask(source):
    """Whether an object is a Dask collection with ordered partitions."""
    # on the class, because a dask.delayed object has every attribute
    return hasattr(type(source), "to_delayed") and any(
        base.__module__.partition(".")[0] in ("dask", "dask_expr")
        for base in type(source).__mro__
    )


def _separate_tasks(calls, parts_exist):
    # Return each task with only what it needs. The task computes its part itself,
    # unless the part exists or other tasks need it too: parts that are computed in
    # advance would wait in memory.
    import dask
    from dask.delayed import Delayed
    from dask.optimization import cull

    graph = dict(dask.optimize(*calls)[0].dask)
    # `cull` returns what a task needs of the graph, and on which keys each key depends
    calls_with_keys = [(call.key, *cull(graph, [call.key])) for call in calls]
    n_uses = Counter(key for _, needed, _ in calls_with_keys for key in needed)
    tasks = []
    for key, needed, keys in calls_with_keys:
        others = {name for names in keys.values() for name in names} - set(needed)
        if parts_exist or others or any(n_uses[name] > 1 for name in needed):
            tasks.append(Delayed(key, needed))
        else:
            whole = partial(dask.get, needed, key)
            tasks.append(dask.delayed(whole, traverse=False)())
    return tasks


def _are_on_workers(parts):
    # Whether parts are computed already, on workers.
    if _client() is None:
        return False
    from distributed import futures_of

    return bool(futures_of(parts))


def sizes_of(parts):
    """Return the number of rows of each part."""
    import dask

    return dask.compute(*(dask.delayed(len)(part) for part in parts))


def _client():
    # Return the client of the current cluster, or None.
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _n_threads():
    # Return the number of threads of the cluster, 1 without a cluster.
    client = _client()
    return 1 if client is None else max(sum(client.nthreads().values()), 1)


TARGET = "target"  # name of the target; other columns have numbers


class DaskArrays(DaskParts):
    """Blocks of rows of two Dask arrays, the table and the labels."""

    target = TARGET

    def __init__(self, X, y):
        self._X, self._y = X, y
        sizes = self._sizes()
        self._blocks = self._X.to_delayed().ravel().tolist()
        self._labels = self._y.to_delayed().tolist()
        super().__init__([*range(X.shape[1]), TARGET], sizes)

    @classmethod
    def of(cls, source, target):
        """Return the parts of a Dask array and its target; None for other sources."""
        if not is_of_dask(source) or hasattr(source, "columns"):
            return None
        if not hasattr(source, "chunks"):
            return None
        if not (is_of_dask(target) and hasattr(target, "chunks")):
            raise TypeError(
                "target must be a Dask array of labels, like source. "
                f"Got {type(target).__name__}. Use dask.array.from_array(target)."
            )
        if source.ndim != 2 or target.ndim != 1:
            raise ValueError(
                "source must be a 2d Dask array and target a 1d Dask array. Got "
                f"{source.ndim} and {target.ndim} dimensions."
            )
        if math.isnan(source.shape[1]) or source.numblocks[1] != 1:
            raise ValueError(
                "source must have all columns in each chunk. Got chunks of "
                f"{source.chunks[1]} columns. Use source.rechunk({{1: -1}})."
            )
        return cls(source, target)

    def _sizes(self):
        # Return the number of rows of each block; rechunk the target to them.
        sizes = self._X.chunks[0]
        if not any(map(math.isnan, (*sizes, *self._y.chunks[0]))):
            if sum(sizes) != self._y.shape[0]:
                raise ValueError(
                    "source and target must have the same number of rows. Got "
                    f"{sum(sizes)} and {self._y.shape[0]}."
                )
            self._y = self._y.rechunk((sizes,))
            return sizes
        # the sizes of some blocks are unknown
        sizes = sizes_of(self._X.to_delayed().ravel().tolist())
        of_target = sizes_of(self._y.to_delayed().tolist())
        if sizes != of_target:
            raise ValueError(
                "source and target must have chunks of the same numbers of rows. Got "
                f"{list(sizes)} and {list(of_target)}."
            )
        return sizes

    def empty(self, columns):
        """Return an array of the columns without rows, for its type."""
        return np.empty((0, len(columns)), self._X.dtype)

    @staticmethod
    def labels_of(block):
        """Return the labels of a block of the target, and a mask if some are NaN."""
        if block.dtype.kind not in {"f", "O"}:
            return block, None
        missing = block != block
        return (block[~missing], missing) if missing.any() else (block, None)

    def _parts(self, columns):
        if columns == [TARGET]:
            name, kind, columns = "target", self._y.dtype.kind, None
            return self._labels, partial(_take_block, name, kind, columns)
        if len(columns) == self._X.shape[1]:
            columns = None
        kind = self._X.dtype.kind
        return self._blocks, partial(_take_block, "source", kind, columns)


def _take_block(name, kind, columns, block, block_index):
    # Select columns of a block (None: all), whose kind must be that of the array.
    if not isinstance(block, np.ndarray):
        raise TypeError(
            f"{name} must have blocks that are NumPy arrays, got "
            f"{type(block).__name__} in block {block_index}. Use "
            "map_blocks(np.asarray)."
        )
    if block.dtype.kind != kind:
        raise ValueError(
            f"All blocks of {name} must have types of kind {kind!r}. Got {block.dtype} "
            f"in block {block_index}. Use astype."
        )
    return block if columns is None else block[:, columns]
