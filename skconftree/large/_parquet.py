"""Parts of a table in Parquet files: batches of rows, one in memory at a time.

A *row group* is a block of rows that a file stores together. Columns of *partitions*
have the values in the names of folders (``column=value``). The *stamp* of a file, such
as its size and time, differs if the file has changed. A *thread team* is a pool of
threads. Some methods have arguments `by_row`: arrays with one element per row of the
table, of which the elements of a batch's rows are passed on.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..utils._sources import find_files, partition_values
from ..utils._warnings import warn
from ._progress import Reporter

BATCH = 16_384  # rows that are read at a time
BATCH_COLUMNS = 256  # with more columns, fewer rows are read at a time
BUFFER = 65_536  # bytes of a column that are read at a time
REMEDY = "pip install skconftree[parquet]"


class ParquetParts:
    """Batches of rows of files; has only paths and metadata, no open files.

    Columns of partitions follow those of the files.
    """

    reads_columns = True  # a pass over some columns reads nothing else

    def __init__(self, files, text_columns=()):
        self._files = files
        self._metadata = [_read_metadata(file) for file in files]
        self._schema = _unified([known.schema for known in self._metadata], files)
        self._constants = {  # columns of partitions: their value in each file
            name: values
            for name, values in partition_values(files).items()
            if name not in self._schema.names
        }
        for name, values in self._constants.items():
            self._schema = _with_column(self._schema, name, values)
        for name in text_columns:
            if name not in self.names:
                raise ValueError(
                    f"source has no column {name!r}; its columns are {self.names}."
                )
            self._schema = _as_text(self._schema, name)
        self.n_rows = sum(known.n_rows for known in self._metadata)
        self.reporter = Reporter(callback=None, n_total_rows=self.n_rows)

    @classmethod
    def of(cls, source, text_columns=()):
        """Return the parts of one or more paths; None for other sources."""
        if isinstance(source, (str, os.PathLike)):
            return cls(find_files(source), text_columns)
        if isinstance(source, (list, tuple)) and all(
            isinstance(path, (str, os.PathLike)) for path in source
        ):
            if not source:
                raise ValueError(
                    "source must contain at least one path. Got an empty list."
                )
            files = [file for path in source for file in find_files(path)]
            return cls(files, text_columns)
        return None

    @property
    def names(self):
        """Names of the columns."""
        return self._schema.names

    def empty(self, columns):
        """Return a table of the columns without rows, for their types."""
        return self._schema.empty_table().select(columns)

    def describe(self, row):
        """Return the name of the file of a row, its first row, and its last row + 1."""
        n_rows = [known.n_rows for known in self._metadata]
        stops = np.cumsum(n_rows)
        i = int(stops.searchsorted(row, side="right"))
        return str(self._files[i]), int(stops[i]) - n_rows[i], int(stops[i])

    @staticmethod
    def labels_of(frame):
        """Return the known values of a single column, and a mask of missing ones."""
        labels = frame.column(0)
        missing = labels.is_null(nan_is_null=True)
        if not labels.null_count and not missing.to_numpy().any():
            return np.asarray(labels), None
        missing = missing.to_numpy()
        return np.asarray(labels.filter(~missing)), missing

    def map(self, function, columns, *by_row):
        """Call a function with each batch and its elements of `by_row`, in order."""
        start = 0
        self.reporter.begin_pass()
        for i, path in enumerate(self._files):
            for frame in self._batches(i, columns):
                stop = start + frame.num_rows
                if stop > self.n_rows:
                    raise _changed(path)
                yield function(frame, *(array[start:stop] for array in by_row))
                self.reporter.add_rows(stop - start)
                start = stop
        if start != self.n_rows:
            raise _changed(self._files[-1])

    def total(self, task, columns, *by_row, thread_team=None):
        """Add up the counts of a task over the batches; each thread has its own counts.

        `task.start` makes empty counts, to which `task.count` adds those of a batch,
        and `task.join` adds those of another thread. `task.result` makes them compact.
        """
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
        """Call a function with each batch, the index of its first row, and `by_row`."""

        def call(thread, *batch):
            function(*batch)

        self._for_each(call, columns, by_row, thread_team)

    def _for_each(self, function, columns, by_row, thread_team):
        # One thread reads all batches of a row group.
        groups = self._groups()
        self.reporter.begin_pass()

        def read(thread, group):
            file, number, start, stop = groups[group]
            for frame in self._batches(file, columns, [number]):
                end = start + frame.num_rows
                if end > stop:
                    raise _changed(self._files[file])
                function(thread, frame, start, *(array[start:end] for array in by_row))
                self.reporter.add_rows(end - start)
                start = end
            if start != stop:
                raise _changed(self._files[file])

        if thread_team is None:
            for group in range(len(groups)):
                read(0, group)
        else:
            thread_team.run(read, len(groups))

    def _groups(self):
        # Return the row groups of all files as (file, number, first row, stop).
        groups, start = [], 0
        for i, known in enumerate(self._metadata):
            for number, n_rows in enumerate(known.groups):
                groups.append((i, number, start, start + n_rows))
                start += n_rows
        return groups

    def _batches(self, i, columns, groups=None):
        # Yield the batches of some row groups (None: of all).
        file, known = self._files[i], self._metadata[i]
        if file.stamp() != known.stamp:
            raise _changed(file)
        if not known.n_rows:
            return
        n_rows = max(1, BATCH * BATCH_COLUMNS // max(len(columns), BATCH_COLUMNS))
        stored = [name for name in columns if name not in self._constants]
        with _opened(file) as opened:
            for batch in opened.iter_batches(
                n_rows, row_groups=groups, columns=stored, use_threads=False
            ):
                yield self._table(i, batch, columns)

    def _table(self, i, batch, columns):
        # Return columns of a batch of a file with the types of the whole table.
        import pyarrow as pa

        arrays = []
        for name in columns:
            kind = self._schema.field(name).type
            if name not in self._constants:
                array = batch.column(name)
                arrays.append(
                    array if array.type == kind else array.cast(kind, safe=False)
                )
                continue
            value, n = self._constants[name][i], batch.num_rows
            if pa.types.is_string(kind) and value is not None:
                value = str(value)
            arrays.append(
                pa.nulls(n, kind)
                if value is None
                else pa.repeat(pa.scalar(value, kind), n)
            )
        schema = pa.schema([self._schema.field(name) for name in columns])
        return pa.Table.from_arrays(arrays, schema=schema)


def iter_batches(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str] | None = None,
) -> Iterator[Any]:
    """Read the rows of Parquet files in batches, such as to predict them.

    Parameters
    ----------
    source : path or list of paths
        A file, folder, pattern or address such as ``s3://bucket/rows/``, as in
        :func:`skconftree.large.fit`.
    columns : list of str, default=None
        The columns, in this order. None: all columns.

    Returns
    -------
    iterator of pyarrow.Table
        The rows, at most 16,384 at a time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from skconftree import large
    >>> path = Path(tempfile.mkdtemp()) / "rows.parquet"
    >>> pq.write_table(pa.table({"size": range(20_000)}), path)
    >>> [batch.num_rows for batch in large.iter_batches(path)]
    [16384, 3616]
    """
    parts = ParquetParts.of(source)
    if parts is None:
        raise TypeError(
            "source must be a path or a list of paths of Parquet files. Got "
            f"{type(source).__name__}."
        )
    names = parts.names if columns is None else list(columns)
    for name in names:
        if name not in parts.names:
            raise ValueError(
                f"source has no column {name!r}; its columns are {parts.names}."
            )
    return parts.map(lambda table: table, names)


class _File(NamedTuple):
    """Metadata of a file when it was first opened, to detect changes.

    `groups` has the number of rows of each row group.
    """

    groups: list
    stamp: tuple
    schema: Any

    @property
    def n_rows(self):
        return sum(self.groups)


def _read_metadata(file):
    with _opened(file) as opened:
        of_group = opened.metadata.row_group
        groups = [of_group(k).num_rows for k in range(opened.num_row_groups)]
        schema = opened.schema_arrow.remove_metadata()
    duplicates = sorted(n for n, count in Counter(schema.names).items() if count > 1)
    if duplicates:
        raise ValueError(f"{file} has more than one column named {duplicates[0]!r}.")
    return _File(groups, file.stamp(), schema)


def _changed(path):
    return RuntimeError(
        f"{path} changed while it was read. The files must not change during fit."
    )


@contextmanager
def _opened(file):
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError(f"Reading {file} needs pyarrow: {REMEDY}") from None
    try:
        with ExitStack() as stack:
            opened = file.open()
            if file.filesystem is not None:  # not local; else `opened` is a path
                stack.enter_context(opened)
            # a row group may be large: neither it nor a column of it is read at once
            yield stack.enter_context(
                pq.ParquetFile(opened, pre_buffer=False, buffer_size=BUFFER)
            )
    except (FileNotFoundError, MemoryError):  # includes that of Arrow
        raise
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{file} cannot be read as Parquet: {error}") from error


def _unified(schemas, files):
    # Return the schema of the table, and warn about numbers of different types.
    import pyarrow as pa

    names, fields, unified = schemas[0].names, [], []
    for schema, file in zip(schemas, files, strict=True):
        if sorted(schema.names) != sorted(names):
            raise ValueError(
                f"All files must have the same columns. Got {names} in {files[0]} and "
                f"{schema.names} in {file}."
            )
    for name in names:
        first = {}  # the first file of each type
        for schema, file in zip(schemas, files, strict=True):
            first.setdefault(schema.field(name).type, file)
        kind = _common_type(list(first))
        if kind is None:
            (own, file), *others = first.items()
            other, other_file = next(
                pair for pair in others if _common_type([own, pair[0]]) is None
            )
            raise ValueError(
                f"Column {name!r} must have the same type in all files. Got {own} "
                f"in {file} and {other} in {other_file}."
            )
        if pa.types.is_floating(kind) and any(map(pa.types.is_integer, first)):
            types = " and ".join(f"{own} ({file})" for own, file in first.items())
            unified.append(f"{name!r}: {types}, read as {kind}")
        fields.append(pa.field(name, kind))
    if unified:
        more = f"; and {len(unified) - 3} more" if len(unified) > 3 else ""
        warn(
            "Columns have integers in some files and floats in others: "
            f"{'; '.join(unified[:3])}{more}."
        )
    return pa.schema(fields)


def _common_type(types):
    # Return the type of values of several Arrow types, None if there is none.
    import pyarrow as pa

    types = [kind for kind in types if not pa.types.is_null(kind)] or types
    if len(set(types)) == 1:
        return types[0]
    if all(map(pa.types.is_integer, types)) and pa.uint64() not in types:
        return pa.int64()
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in types):
        return pa.float64()
    return None


def _as_text(schema, name):
    import pyarrow as pa

    kind = schema.field(name).type
    if pa.types.is_dictionary(kind) or pa.types.is_large_string(kind):
        return schema
    return schema.set(schema.get_field_index(name), pa.field(name, pa.string()))


def _with_column(schema, name, values):
    import pyarrow as pa

    kind = (
        pa.int64() if any(isinstance(value, int) for value in values) else pa.string()
    )
    return schema.append(pa.field(name, kind))
