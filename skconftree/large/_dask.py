"""Parts of a table that Dask has, where they are: partitions of a DataFrame."""

from collections import Counter, deque
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ._dask_engine import JOINED, DaskEngine
from ._engine import LocalEngine

AT_ONCE = 4  # parts for each thread of the cluster whose results are on their way


class DaskParts:
    """Parts of a table that are somewhere on a cluster, or made when asked for.

    Functions go to the parts, and what they find comes back: sums, added up by the
    workers, or codes. What the parts are is said by `_DaskFrame` and `DaskArrays`.
    """

    def __init__(self, names, sizes):
        self.names = names
        self._stops = np.cumsum(sizes, dtype=np.int64)
        self.n_rows = int(self._stops[-1])

    @classmethod
    def of(cls, source):
        """Parts of a Dask DataFrame; None of anything else."""
        if is_of_dask(source) and hasattr(source, "columns"):
            return _DaskFrame(source)
        return None

    def _parts(self, columns):
        # The parts, with these columns at least, and what takes no others from one.
        raise NotImplementedError

    def _calls(self, function, columns, by_row):
        # A task for each part.
        import dask

        parts, take = self._parts(columns)
        called = dask.delayed(_Part(function, take), traverse=False)
        calls, start = [], 0
        for place, (part, stop) in enumerate(
            zip(parts, self._stops.tolist(), strict=True)
        ):
            rows = [one[start:stop] for one in by_row]
            calls.append(called(part, place, start, stop, *rows))
            start = stop
        return _apart(calls, made=_are_on_workers(parts))

    def map(self, function, columns, *by_row):
        """Call a function of each part, and the arrays' part that is its rows'.

        Gives the results in their order, some parts at a time.
        """
        import dask

        calls = self._calls(function, columns, by_row)
        at_once = AT_ONCE * _n_threads()
        for first in range(0, len(calls), at_once):
            yield from dask.compute(*calls[first : first + at_once])

    def total(self, task, columns, *by_row, team=None):
        """Add up what a task counts in each part; Dask has threads of its own."""
        import dask

        calls = self._calls(_Counted(task), columns, by_row)
        joined = dask.delayed(_Joined(task), traverse=False)

        def sum_of(found):
            while len(found) > 1:
                found = [
                    joined(*found[first : first + JOINED])
                    for first in range(0, len(found), JOINED)
                ]
            return found[0]

        client = _client()
        if client is None:
            return sum_of(calls).compute()
        # What all parts have found would wait on the workers to be joined. So there are
        # some at a time, and others behind them for workers that are done.
        at_once, total, begun = JOINED * _n_threads(), task.start(), deque()
        for begin in range(0, len(calls), at_once):
            begun.append(client.compute(sum_of(calls[begin : begin + at_once])))
            if len(begun) > 1:
                task.join(total, begun.popleft().result())
        task.join(total, begun.popleft().result())
        return task.found(total)

    def engine(self, task, columns, positions, *by_row):
        """Have the parts coded where they are; one after the other without a cluster.

        The `positions` of rows in the table are those that they have here if None.
        """
        import dask

        edges = [0, *self._stops.tolist()]
        places = [slice(*edge) for edge in pairwise(edges)]
        if positions is not None:
            places = [positions[one] for one in places]
            places = [one[one >= 0] for one in places]
        calls = self._calls(task, columns, by_row)
        client = _client()
        if client is None:
            return LocalEngine([dask.compute(one)[0] for one in calls], places)
        # a part at a time: no message is as long as the table
        return DaskEngine(client, [client.compute(one) for one in calls], places)


class _DaskFrame(DaskParts):
    """Partitions of a Dask DataFrame."""

    def __init__(self, frame):
        self._frame, self._meta = frame, frame._meta
        self._whole = frame.to_delayed()
        names = list(frame.columns)
        super().__init__(names, sizes_of(self._narrow(names[0])))

    def empty(self, columns):
        """The columns without rows, which tell their types."""
        return self._meta[columns]

    @staticmethod
    def labels_of(frame):
        """The only column of a frame."""
        return frame.iloc[:, 0]

    def _parts(self, columns):
        parts = self._narrow(*columns) if len(columns) == 1 else self._whole
        return parts, _TakeColumns(columns, self._meta.dtypes.to_dict())

    def _narrow(self, column):
        # A file need not be read for its other columns. Optimized further, Dask would
        # read several partitions as one.
        narrow = self._frame[[column]]
        if not hasattr(narrow, "simplify"):
            return narrow.to_delayed()
        return narrow.simplify().to_delayed(optimize_graph=False)


class _TakeColumns(NamedTuple):
    """Takes columns of a partition, whose types have to be those of the table."""

    columns: list
    dtypes: dict

    def __call__(self, frame, place):
        frame = frame[self.columns]
        for name, dtype in frame.dtypes.items():
            expected = self.dtypes[name]
            if dtype != expected and str(dtype) != str(expected):
                raise ValueError(
                    f"Column {name!r} has other types: {expected} in the table, "
                    f"{dtype} in partition {place}."
                )
        return frame


class _Part(NamedTuple):
    """A function of what is taken from a part."""

    function: Callable
    take: Callable

    def __call__(self, part, place, start, stop, *rows):
        if len(part) != stop - start:
            raise RuntimeError(
                f"Partition {place} had {stop - start} rows, and has {len(part)} now."
            )
        return self.function(self.take(part, place), *rows)


class _Whole:
    """A task, and those that make what it needs, one after the other."""

    def __init__(self, graph, key):
        self.graph, self.key = graph, key

    def __call__(self):
        import dask

        return dask.get(self.graph, self.key)


class _Counted:
    """What a task counts in one part."""

    def __init__(self, task):
        self.task = task

    def __call__(self, frame, *rows):
        counts = self.task.start()
        self.task.count(counts, frame, *rows)
        return self.task.found(counts)


class _Joined:
    """The sum of what a task has counted."""

    def __init__(self, task):
        self.task = task

    def __call__(self, *found):
        total = self.task.start()
        for one in found:
            self.task.join(total, one)
        return self.task.found(total)


def is_of_dask(source):
    """Whether it is a collection of Dask, of parts in an order."""
    return hasattr(source, "to_delayed") and any(
        base.__module__.partition(".")[0] in ("dask", "dask_expr")
        for base in type(source).__mro__
    )


def _apart(calls, made):
    # Each task with what it needs alone. It makes its part, unless that is there or
    # others need it too: parts made before would wait in memory for their turn.
    import dask
    from dask.delayed import Delayed
    from dask.optimization import cull

    graph = dict(dask.optimize(*calls)[0].dask)
    found = [(one.key, *cull(graph, [one.key])) for one in calls]
    times = Counter(key for _, needed, _ in found for key in needed)
    apart = []
    for key, needed, keys in found:
        others = {one for some in keys.values() for one in some} - set(needed)
        if made or others or any(times[one] > 1 for one in needed):
            apart.append(Delayed(key, needed))
        else:
            apart.append(dask.delayed(_Whole(needed, key), traverse=False)())
    return apart


def _are_on_workers(parts):
    # Whether some of them have been made.
    if _client() is None:
        return False
    from distributed import futures_of

    return bool(futures_of(parts))


def sizes_of(parts):
    """Numbers of rows."""
    import dask

    return dask.compute(*(dask.delayed(len)(part) for part in parts))


def _client():
    # Of the cluster that is in use, if there is one.
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _n_threads():
    # Of the cluster, or of this machine.
    client = _client()
    return 1 if client is None else max(sum(client.nthreads().values()), 1)
