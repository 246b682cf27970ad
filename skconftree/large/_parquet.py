"""Parts of a table in Parquet files: batches of rows, one in memory at a time."""

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BATCH = 16_384  # rows at a time, fewer of more columns than
BATCH_COLUMNS = 256
BUFFER = 65_536  # bytes of a column that are read at a time
REMEDY = "pip install skconftree[parquet]"


class ParquetParts:
    """Batches of rows of files; only paths and metadata, which other processes open."""

    def __init__(self, paths):
        self._paths = paths
        self._known = [_look(path) for path in paths]
        first = self._known[0]
        for path, known in zip(paths, self._known, strict=True):
            _check_types(first.schema, known.schema, paths[0], path)
        self._schema = first.schema
        self.n_rows = sum(known.n_rows for known in self._known)

    @classmethod
    def of(cls, source):
        """Parts of what a user gives, a path or several; None if it is neither."""
        if isinstance(source, (str, os.PathLike)):
            path = Path(source)
            if not path.is_dir():
                return cls([path])
            paths = sorted(path.glob("*.parquet"))
            if not paths:
                raise ValueError(f"The folder {source} has no file *.parquet.")
            return cls(paths)
        if isinstance(source, (list, tuple)) and all(
            isinstance(one, (str, os.PathLike)) for one in source
        ):
            if not source:
                raise ValueError("source is an empty list of paths.")
            return cls([Path(one) for one in source])
        return None

    @property
    def names(self):
        """Names of the columns."""
        return self._schema.names

    def empty(self, columns):
        """The columns without rows, which tell their types."""
        schema = self._schema
        return schema.empty_table().select(columns)

    @staticmethod
    def labels_of(frame):
        """The only column of a frame."""
        return np.asarray(frame.column(0))

    def map(self, function, columns, *by_row):
        """Map a function over batches, and the rows of arrays of each, in order."""
        start = 0
        for place, path in enumerate(self._paths):
            for frame in self._batches(place, columns):
                stop = start + frame.num_rows
                if stop > self.n_rows:
                    raise _changed(path)
                yield function(frame, *(one[start:stop] for one in by_row))
                start = stop
        if start != self.n_rows:
            raise _changed(self._paths[-1])

    def total(self, task, columns, *by_row, team=None):
        """Add up what a task counts in each batch."""
        states = {}

        def count(thread, frame, start, *rows):
            if thread not in states:
                states[thread] = task.start()
            task.count(states[thread], frame, *rows)

        self._for_each(count, columns, by_row, team)
        first, *others = states.values()
        for one in others:
            task.join(first, task.found(one))
        return task.found(first)

    def each(self, function, columns, *by_row, team=None):
        """Call a function of each batch, of where it begins, and the arrays' part."""

        def call(thread, *batch):
            function(*batch)

        self._for_each(call, columns, by_row, team)

    def _for_each(self, function, columns, by_row, team):
        # The batches of a row group are for one thread.
        groups = self._groups()

        def read(thread, group):
            place, number, start, stop = groups[group]
            for frame in self._batches(place, columns, [number]):
                end = start + frame.num_rows
                if end > stop:
                    raise _changed(self._paths[place])
                function(thread, frame, start, *(one[start:end] for one in by_row))
                start = end
            if start != stop:
                raise _changed(self._paths[place])

        if team is None:
            for group in range(len(groups)):
                read(0, group)
        else:
            team.run(read, len(groups))

    def _groups(self):
        # Row groups of all files: the file, the number there, first row and last.
        found, start = [], 0
        for place, known in enumerate(self._known):
            for number, n_rows in enumerate(known.groups):
                found.append((place, number, start, start + n_rows))
                start += n_rows
        return found

    @staticmethod
    def engine(task, columns, positions, *by_row):
        """Tell that parts are coded here."""
        return None

    def _batches(self, place, columns, groups=None):
        # Of some row groups; None: of all.
        import pyarrow as pa

        path, known = self._paths[place], self._known[place]
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
    """What was known of a file at first: rows of its row groups, size and time."""

    groups: list
    stamp: tuple
    schema: Any

    @property
    def n_rows(self):
        return sum(self.groups)


def _look(path):
    with _opened(path) as file:
        of_group = file.metadata.row_group
        groups = [of_group(k).num_rows for k in range(file.num_row_groups)]
        return _File(groups, _stamp(path), file.schema_arrow.remove_metadata())


def _stamp(path):
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _changed(path):
    return RuntimeError(f"{path} has changed while it was read.")


@contextmanager
def _opened(path):
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError(f"Reading {path} needs pyarrow: {REMEDY}") from None
    try:
        # a row group may be large: it is not read ahead, nor a column of it at once
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER) as file:
            yield file
    except (FileNotFoundError, MemoryError):  # which Arrow's is, too
        raise
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error


def _check_types(first, other, path, other_path):
    if first.names != other.names:
        raise ValueError(
            f"The files have other columns: {first.names} in {path}, {other.names} in "
            f"{other_path}."
        )
    duplicates = sorted({one for one in first.names if first.names.count(one) > 1})
    if duplicates:
        raise ValueError(f"{path} has several columns of the name {duplicates[0]!r}.")
    for name in first.names:
        one, two = first.field(name).type, other.field(name).type
        if one != two:
            raise ValueError(
                f"Column {name!r} has other types: {one} in {path}, {two} in "
                f"{other_path}."
            )
