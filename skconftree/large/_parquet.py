"""Parts of a table in Parquet files: batches of rows, one in memory at a time."""

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BATCH = 16_384  # rows that are read at a time, fewer if there are more columns than
BATCH_COLUMNS = 256
BUFFER = 65_536  # bytes of a column that are read at a time
REMEDY = "pip install skconftree[parquet]"


class ParquetParts:
    """Batches of rows of files; has only paths and metadata, no open files."""

    def __init__(self, paths):
        self._paths = paths
        self._files = [_read_metadata(path) for path in paths]
        first = self._files[0]
        for path, known in zip(paths, self._files, strict=True):
            _check_types(first.schema, known.schema, paths[0], path)
        self._schema = first.schema
        self.n_rows = sum(known.n_rows for known in self._files)

    @classmethod
    def of(cls, source):
        """Return the parts of one or more paths; None for other sources."""
        if isinstance(source, (str, os.PathLike)):
            path = Path(source)
            if not path.is_dir():
                return cls([path])
            paths = sorted(path.glob("*.parquet"))
            if not paths:
                raise ValueError(f"The folder {source} contains no *.parquet file.")
            return cls(paths)
        if isinstance(source, (list, tuple)) and all(
            isinstance(path, (str, os.PathLike)) for path in source
        ):
            if not source:
                raise ValueError(
                    "source must contain at least one path. Got an empty list."
                )
            return cls([Path(path) for path in source])
        return None

    @property
    def names(self):
        """Names of the columns."""
        return self._schema.names

    def empty(self, columns):
        """Return a table of the columns without rows, for their types."""
        return self._schema.empty_table().select(columns)

    @staticmethod
    def labels_of(frame):
        """Return the only column of a table."""
        return np.asarray(frame.column(0))

    def map(self, function, columns, *by_row):
        """Map a function over batches, and the rows of arrays of each, in order."""
        start = 0
        for i, path in enumerate(self._paths):
            for frame in self._batches(i, columns):
                stop = start + frame.num_rows
                if stop > self.n_rows:
                    raise _changed(path)
                yield function(frame, *(array[start:stop] for array in by_row))
                start = stop
        if start != self.n_rows:
            raise _changed(self._paths[-1])

    def total(self, task, columns, *by_row, thread_team=None):
        """Add up the counts of a task, such as `Counting`, over the batches."""
        states = {}

        def count(thread, frame, start, *rows):
            if thread not in states:
                states[thread] = task.start()
            task.count(states[thread], frame, *rows)

        self._for_each(count, columns, by_row, thread_team)
        first, *others = states.values()
        for other in others:
            task.join(first, task.result(other))
        return task.result(first)

    def each(self, function, columns, *by_row, thread_team=None):
        """Call a function on each batch, its first row, and these rows of arrays."""

        def call(thread, *batch):
            function(*batch)

        self._for_each(call, columns, by_row, thread_team)

    def _for_each(self, function, columns, by_row, thread_team):
        # One thread reads all batches of a row group.
        groups = self._groups()

        def read(thread, group):
            file, number, start, stop = groups[group]
            for frame in self._batches(file, columns, [number]):
                end = start + frame.num_rows
                if end > stop:
                    raise _changed(self._paths[file])
                function(thread, frame, start, *(array[start:end] for array in by_row))
                start = end
            if start != stop:
                raise _changed(self._paths[file])

        if thread_team is None:
            for group in range(len(groups)):
                read(0, group)
        else:
            thread_team.run(read, len(groups))

    def _groups(self):
        # Return the row groups of all files as (file, number, first row, stop).
        groups, start = [], 0
        for i, known in enumerate(self._files):
            for number, n_rows in enumerate(known.groups):
                groups.append((i, number, start, start + n_rows))
                start += n_rows
        return groups

    @staticmethod
    def engine(task, columns, positions, *by_row):
        """Return None: parts are coded in this process."""
        return None

    def _batches(self, i, columns, groups=None):
        # Yield the batches of some row groups (None: of all).
        import pyarrow as pa

        path, known = self._paths[i], self._files[i]
        if _stamp(path) != known.stamp:
            raise _changed(path)
        if not known.n_rows:
            return
        n_rows = max(1, BATCH * BATCH_COLUMNS // max(len(columns), BATCH_COLUMNS))
        with _opened(path) as file:
            for batch in file.iter_batches(
                n_rows, row_groups=groups, columns=columns, use_threads=False
            ):
                # columns come in the order of the file
                yield pa.Table.from_batches([batch]).select(columns)


class _File(NamedTuple):
    """Metadata of a file when it was first opened, to detect changes."""

    groups: list
    stamp: tuple
    schema: Any

    @property
    def n_rows(self):
        return sum(self.groups)


def _read_metadata(path):
    with _opened(path) as file:
        of_group = file.metadata.row_group
        groups = [of_group(k).num_rows for k in range(file.num_row_groups)]
        return _File(groups, _stamp(path), file.schema_arrow.remove_metadata())


def _stamp(path):
    stats = path.stat()
    return stats.st_size, stats.st_mtime_ns


def _changed(path):
    return RuntimeError(
        f"{path} changed while it was read. The files must not change during fit."
    )


@contextmanager
def _opened(path):
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError(f"Reading {path} needs pyarrow: {REMEDY}") from None
    try:
        # a row group may be large: neither it nor a column of it is read at once
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER) as file:
            yield file
    except (FileNotFoundError, MemoryError):  # includes that of Arrow
        raise
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error


def _check_types(first, other, path, other_path):
    if first.names != other.names:
        raise ValueError(
            f"All files must have the same columns. Got {first.names} in {path} and "
            f"{other.names} in {other_path}."
        )
    duplicates = sorted({name for name in first.names if first.names.count(name) > 1})
    if duplicates:
        raise ValueError(f"{path} has more than one column named {duplicates[0]!r}.")
    for name in first.names:
        own_type, other_type = first.field(name).type, other.field(name).type
        if own_type != other_type:
            raise ValueError(
                f"Column {name!r} must have the same type in all files. Got {own_type} "
                f"in {path} and {other_type} in {other_path}."
            )
