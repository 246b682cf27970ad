"""Parts of a table in Parquet files: batches of rows, one in memory at a time."""

import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np

BATCH = 16_384  # rows
BUFFER = 65_536  # bytes of a column that are read at a time
REMEDY = "pip install skconftree[parquet]"


class ParquetParts:
    """Batches of the rows of one or more files, whose columns have the same types.

    It is no more than paths and what was known of the files at first: other processes
    open them anew.
    """

    def __init__(self, paths):
        self._paths = paths
        self._known = [_look(path) for path in paths]
        first = self._known[0]
        for path, (_, _, schema) in zip(paths, self._known, strict=True):
            _check_types(first[2], schema, paths[0], path)
        self._schema = first[2]
        self.n_rows = sum(n_rows for n_rows, _, _ in self._known)

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
        """Call a function of each batch, and the arrays' part that is its rows'.

        Gives the results in their order.
        """
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

    def total(self, task, columns, *by_row):
        """Add up what a task counts in each batch."""
        state = task.start()
        for _ in self.map(
            lambda frame, *rows: task.count(state, frame, *rows), columns, *by_row
        ):
            pass
        return state

    @staticmethod
    def engine(task, columns, positions, *by_row):
        """Tell that parts are coded here."""
        return None

    def _batches(self, place, columns):
        import pyarrow as pa

        path, (n_rows, stamp, _) = self._paths[place], self._known[place]
        if _stamp(path) != stamp:
            raise _changed(path)
        if not n_rows:
            return
        with _opened(path) as file:
            for batch in file.iter_batches(BATCH, columns=columns, use_threads=False):
                # columns come in the order of the file
                yield pa.Table.from_batches([batch]).select(columns)


def _look(path):
    with _opened(path) as file:
        schema = file.schema_arrow.remove_metadata()
        return file.metadata.num_rows, _stamp(path), schema


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
    for name in first.names:
        one, two = first.field(name).type, other.field(name).type
        if one != two:
            raise ValueError(
                f"Column {name!r} has other types: {one} in {path}, {two} in "
                f"{other_path}."
            )
    duplicates = sorted({one for one in first.names if first.names.count(one) > 1})
    if duplicates:
        raise ValueError(f"{path} has several columns of the name {duplicates[0]!r}.")
