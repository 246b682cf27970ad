"""Parts of a table that are the partitions of a Dask DataFrame, where they are."""

from itertools import pairwise

import numpy as np

from ._dask_engine import JOINED, DaskEngine
from ._engine import LocalEngine

AT_ONCE = 4  # partitions for each thread of the cluster whose results are on their way


class DaskParts:
    """Partitions of a Dask DataFrame.

    Functions go to the partitions, and what they find comes back: sums, added up by the
    workers, or codes.
    """

    def __init__(self, frame):
        self._meta = frame._meta
        self._dtypes = self._meta.dtypes.to_dict()
        self.names = list(frame.columns)
        self._parts = frame.to_delayed()
        import dask

        sizes = dask.compute(*(dask.delayed(len)(part) for part in self._parts))
        self._stops = np.cumsum(sizes, dtype=np.int64)
        self.n_rows = int(self._stops[-1])

    @classmethod
    def of(cls, source):
        """Parts of a Dask DataFrame; None of anything else."""
        for base in type(source).__mro__:
            if base.__module__.startswith("dask") and hasattr(source, "to_delayed"):
                if hasattr(source, "columns"):
                    return cls(source)
        return None

    def empty(self, columns):
        """The columns without rows, which tell their types."""
        return self._meta[columns]

    @staticmethod
    def labels_of(frame):
        """The only column of a frame."""
        return frame.iloc[:, 0]

    def _calls(self, function, columns, by_row, knows_start=False):
        # A task for each partition; the function may be told where its rows begin.
        import dask

        called = dask.delayed(_Partition(function, columns, self._dtypes, knows_start))
        start = 0
        for place, (part, stop) in enumerate(
            zip(self._parts, self._stops.tolist(), strict=True)
        ):
            rows = [one[start:stop] for one in by_row]
            yield called(part, place, start, stop, *rows)
            start = stop

    def map(self, function, columns, *by_row):
        """Call a function of each partition, and the arrays' part that is its rows'.

        Gives the results in their order, some partitions at a time.
        """
        import dask

        calls = list(self._calls(function, columns, by_row))
        at_once = AT_ONCE * _n_threads()
        for first in range(0, len(calls), at_once):
            yield from dask.compute(*calls[first : first + at_once])

    def total(self, task, columns, *by_row):
        """Add up what a task counts in each partition."""
        import dask

        found = list(self._calls(_Counted(task), columns, by_row))
        joined = dask.delayed(_Joined(task))
        while len(found) > 1:
            found = [
                joined(*found[first : first + JOINED])
                for first in range(0, len(found), JOINED)
            ]
        return found[0].compute()

    def engine(self, task, columns, positions, *by_row):
        """Have the parts coded where they are; one after the other without a cluster.

        The `positions` of rows in the table are those that they have here if None.
        """
        import dask

        if positions is not None:
            by_row = (*by_row, positions)
        calls = self._calls(task, columns, by_row, knows_start=True)
        client = _client()
        if client is None:
            return LocalEngine([dask.compute(one)[0] for one in calls])
        # a part at a time: no message is as long as the table
        coded = [client.compute(one) for one in calls]
        edges = [0, *self._stops.tolist()]
        places = [slice(*edge) for edge in pairwise(edges)]
        if positions is not None:
            places = [positions[one] for one in places]
            places = [one[one >= 0] for one in places]
        return DaskEngine(client, coded, places)


class _Partition:
    """A function of a partition, the types of whose columns are those of the table."""

    def __init__(self, function, columns, dtypes, knows_start):
        self.function, self.columns = function, columns
        self.dtypes, self.knows_start = dtypes, knows_start

    def __call__(self, frame, place, start, stop, *rows):
        frame = frame[self.columns]
        if len(frame) != stop - start:
            raise RuntimeError(
                f"Partition {place} had {stop - start} rows, and has {len(frame)} now."
            )
        for name, dtype in frame.dtypes.items():
            expected = self.dtypes[name]
            if dtype != expected and str(dtype) != str(expected):
                raise ValueError(
                    f"Column {name!r} has other types: {expected} in the table, "
                    f"{dtype} in partition {place}."
                )
        if self.knows_start:
            return self.function(frame, start, *rows)
        return self.function(frame, *rows)


class _Counted:
    """What a task counts in one partition."""

    def __init__(self, task):
        self.task = task

    def __call__(self, frame, *rows):
        found = self.task.start()
        self.task.count(found, frame, *rows)
        return found


class _Joined:
    """The sum of what a task has counted."""

    def __init__(self, task):
        self.task = task

    def __call__(self, *found):
        total = self.task.start()
        for one in found:
            self.task.join(total, one)
        return total


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
