"""Fitting an estimator to a table in parts (blocks of rows).

`parts` (`ParquetParts`, `DaskParts`) has methods for passes over the table: `map` calls
a function with the columns of each part, and so does `each` (of files) in threads;
`total` adds up counts. They also take arrays with one element per row of the table
(`_by_row`), of which the elements of a part's rows are passed on. A reader converts a
part to float32. Values are replaced by codes: indices of the bins, categories or
distinct values (*levels*) of a column. Bins are found by counting values in intervals
(cells), and a coder maps values to codes. A `query` is what a pass has to count for a
column. A `schema` has the names, types and categories of the columns. A thread team is
a pool of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._compat import _fit_context
from ..ensemble.forest._classes import ConfidenceForestClassifier
from ..tables._columns import warn_of_unparseable
from ..tables._content_order import ContentOrder
from ..tables._dict_rows import names_of
from ..tables._features import MAX_CATEGORIES, nominal_columns
from ..tables._frames import Table, library_of
from ..tables._growth_data import CodedColumn, resolve_class_weight
from ..tables._labels import (
    MAX_CLASSES,
    Classes,
    check_labels,
    encode_labels,
    read_labels,
)
from ..tables._schema import Schema
from ..tree._classes import ConfidenceTreeClassifier
from ..tree.pruning._classes import C45Pruning
from ..utils._lock import learns  # locks the estimator
from ._coded_part import CodedPart
from ._dask import DaskArrays, DaskParts
from ._data import PartedData
from ._encoding import (
    COLUMNS_AT_ONCE,  # number of columns that are read or encoded at a time
    CategoryCounts,
    Coding,
    ColumnValues,
    Counting,
    Reader,
    code_part,
    count_categories,
    count_values,
    hash_part,
)
from ._engine import LocalEngine
from ._parquet import ParquetParts
from ._progress import FitProgress, Reporter
from ._steps import make_arrays

MAX_ROWS = (1 << 31) - 1
# Maximal number of columns whose cells are counted in one pass, times the number of
# threads: each column takes 1.1 megabytes per thread, and up to 2 to be decoded.
CELLS_AT_ONCE = 64
BYTES_AT_ONCE = 64 * 2**20  # of columns that are read once, because they fit in memory


class PartedTable(NamedTuple):
    """Training rows in parts, all of weight 1.

    `y` has indices of `classes`. `positions` has the index in `y` of each row of the
    parts, -1 if the row is ignored; None means that all rows are used in their order.
    `row_indices` are the indices of the used rows among the `n_input_rows` rows.
    `categories` has the number of rows per category, and `fractional` the columns that
    have values with a fractional part. The temporary file of codes is in `folder`; if
    that is None, codes are in memory.
    """

    parts: object
    y: np.ndarray
    schema: Schema
    classes: Classes
    class_weight: np.ndarray | None
    positions: np.ndarray | None
    row_indices: np.ndarray | slice
    n_input_rows: int
    categories: CategoryCounts | None
    reader: Reader
    folder: str | os.PathLike[str] | None
    fractional: set

    # attributes that only a table in memory may have: weights, unlabeled rows
    # (`X_pool`), and whether only the ratios of the weights matter (`relative`)
    weight, X_pool, relative, is_sparse = None, None, False, False

    @property
    def total(self):
        """Weight of all rows."""
        return float(len(self.y))

    def content_order(self):
        """Return the order of the rows by content."""
        first, second = np.empty((2, len(self.y)), dtype=np.uint64)
        start = 0
        for n, hashes in self.parts.map(
            partial(hash_part, self.reader), self._columns, self._labels, *self._by_row
        ):
            where = self._row_indices(start, start + n)
            first[where], second[where] = hashes
            start += n
        return ContentOrder(first, second)

    def at(self, row_indices, weight=None):
        """Return some of the rows, in another order.

        `weight` is an argument of tables in memory, but rows in parts have no weights.
        """
        positions = np.full(len(self.y), -1, dtype=np.int32)
        positions[row_indices] = np.arange(len(row_indices), dtype=np.int32)
        if self.positions is not None:
            positions = np.where(
                self.positions >= 0, positions[self.positions], np.int32(-1)
            )
        return self._replace(positions=positions, y=self.y[row_indices])

    def identifying(self):
        """Return a mask of the nominal columns that identify rows.

        More than half of the rows have a category that no other row has.
        """
        return self.categories.identifying(self.schema.features)

    def integer_columns(self, columns, data):
        """Return the columns that have only integers; call `encode` before.

        `data` is an argument of tables in memory, and is not used.
        """
        return sorted(columns.difference(self.fractional))

    def encode(self, settings, n_bins=0, thread_team=None):
        """Encode the table in passes over its parts, in parallel with a thread team.

        `settings` is an argument of tables in memory, and is not used.
        """
        features, n_classes = self.schema.features, len(self.classes)
        n_levels, dtypes = self._sizes_of_codes()
        codes = None
        if self.parts.reads_columns:  # else each part is encoded where it is stored
            codes = make_arrays([len(self.y)] * len(dtypes), dtypes, self.folder)
        coders, column_metadata, pending = self._count_columns(
            n_bins, thread_team, codes
        )
        column_metadata = [
            column_metadata[j]
            if j in column_metadata
            else CodedColumn(np.zeros(1, dtype), n)
            for j, (n, dtype) in enumerate(zip(n_levels, dtypes, strict=True))
        ]
        coding = Coding(coders, dtypes)
        y = self.y.astype(np.uint8 if n_classes <= 256 else np.uint16)
        n_levels = [metadata.n_levels for metadata in column_metadata]
        if codes is None:
            engine = self.parts.engine(
                partial(code_part, self.reader, coding, n_levels, n_classes),
                self._columns,
                self.positions,
                self._labels.astype(y.dtype),
                *self._by_row,
            )
        else:
            self._code(codes, coding, pending, thread_team)
            part = CodedPart(codes, y, n_levels, n_classes)
            engine = LocalEngine([part], [slice(0, len(y))])
        return PartedData(
            engine,
            column_metadata,
            self.y,
            n_classes,
            self.class_weight,
            None if features is None else features.n_categories,
            self.parts.reporter,
        )

    @property
    def _columns(self):
        return list(self.schema.columns)

    @property
    def _labels(self):
        # Return the label of each row of the parts.
        return (
            self.y if self.positions is None else self.y[np.maximum(self.positions, 0)]
        )

    @property
    def _by_row(self):
        # Return a tuple of a mask of the rows that are learned; empty if all are.
        if self.positions is None or len(self.y) == len(self.positions):
            return ()
        return (self.positions >= 0,)

    def _row_indices(self, start, stop):
        # Return the indices, among the learned rows, of rows of the parts.
        if self.positions is None:
            return slice(start, stop)
        row_indices = self.positions[start:stop]
        return row_indices[row_indices >= 0]

    def _sizes_of_codes(self):
        # Return the number of levels of the nominal columns, else 0, and the types. One
        # level is for unknown categories. `features` is None without nominal columns.
        features, n_levels = self.schema.features, [0] * self.schema.n_features
        if features is not None:
            n_levels = np.where(features.is_categorical, features.n_categories + 1, 0)
            n_levels = n_levels.tolist()
        return n_levels, [np.uint8 if n <= 256 else np.uint16 for n in n_levels]

    def _count_columns(self, max_bins, thread_team, codes):
        # Find the codes of the numeric columns. Return functions that create their
        # coders, their metadata (a `CodedColumn` of one row each), and the columns
        # whose codes are not in `codes` yet. `has_code_per_value` is whether each value
        # has its own code, not a bin. `max_bins` is 0 without bins.
        n_levels, dtypes = self._sizes_of_codes()
        numeric = [j for j, n in enumerate(n_levels) if not n]
        n_threads = 1 if thread_team is None else thread_team.n_threads
        at_once = max(1, CELLS_AT_ONCE // n_threads)
        in_memory = codes is not None and at_once * 4 * len(self.y) <= BYTES_AT_ONCE
        size = len(numeric) or 1 if codes is None else at_once
        coders, column_metadata, too_many = {}, {}, []
        for start in range(0, len(numeric), size):
            group = numeric[start : start + size]
            values = {
                # `has_cells`: the first pass may count cells, which take much memory
                j: ColumnValues(max_bins, has_cells=k < at_once)
                for k, j in enumerate(group)
            }
            if in_memory:
                self._count_in_memory(values, max_bins, codes)
            else:
                self._count_in_passes(values, at_once, thread_team)
            too_many += [
                j for j in group if not (values[j].has_code_per_value or max_bins)
            ]
            if too_many:
                continue
            for j in group:
                column_metadata[j] = values[j].column(np.zeros(1, dtypes[j]))
                coders[j] = values[j].coder()
            self.fractional.update(j for j in group if not values[j].is_whole)
        self._check_n_distinct(too_many)
        coded = set(numeric) if in_memory else set()
        return (
            coders,
            column_metadata,
            [j for j in range(len(dtypes)) if j not in coded],
        )

    def _count_in_memory(self, values, max_bins, codes):
        # Count and encode columns whose values fit in memory together.
        reader, names = self._reading(list(values))
        X = np.empty((len(self.y), len(values)), np.float32)
        start = 0

        def read(frame, mask=None):
            return frame.shape[0], reader.read(frame, mask)

        for n, part in self.parts.map(read, names, *self._by_row):
            X[self._row_indices(start, start + n)] = part
            start += n
        for k, (j, of_column) in enumerate(values.items()):
            of_column.learn(count_values(X[:, k], max_bins))
            if of_column.has_code_per_value or max_bins:
                make_coder = of_column.coder()
                make_coder().code(X, k, codes[j])

    def _count_in_passes(self, values, at_once, thread_team):
        # Count the values of columns. After the first pass, a group of columns is
        # counted until all of its bins are known.
        self._count(values, list(values), thread_team)
        # a query is None if nothing remains to be counted
        while pending := [j for j in values if values[j].query]:
            group = pending[:at_once]
            while pending := [j for j in group if values[j].query]:
                self._count(values, pending, thread_team)

    def _count(self, values, columns, thread_team):
        # Count what the queries of some columns require, in a pass that reads only
        # these columns.
        queries = {k: values[j].query for k, j in enumerate(columns)}
        reader, names = self._reading(columns)
        counted = self.parts.total(
            Counting(reader, queries), names, *self._by_row, thread_team=thread_team
        )
        for k, j in enumerate(columns):
            values[j].learn(counted[k])

    def _reading(self, columns):
        # Return a reader of some columns, and their names.
        names = self._columns
        if len(columns) == len(names):
            return self.reader, names
        return self.reader.of_columns(columns), [names[j] for j in columns]

    def _check_n_distinct(self, too_many):
        if too_many:
            columns = self.schema.columns
            names = ", ".join(repr(columns[j]) for j in too_many[:3])
            more = ", ..." if len(too_many) > 3 else ""
            raise ValueError(
                f"Columns with more than 256 distinct values need bins: {names}{more}. "
                "Set max_bins, for example max_bins=255."
            )

    def _code(self, codes, coding, pending, thread_team):
        # Write the codes of the columns that are pending, some of them in each pass.
        for start in range(0, len(pending), COLUMNS_AT_ONCE):
            columns = pending[start : start + COLUMNS_AT_ONCE]
            reader, names = self._reading(columns)
            write = partial(
                self._write,
                codes,
                columns,
                reader,
                coding.of_columns(columns).with_coders(),  # created here
            )
            self.parts.each(write, names, *self._by_row, thread_team=thread_team)

    def _write(self, codes, columns, reader, coding, frame, start, mask=None):
        # Write the codes of rows, the first of which is row `start` of the table.
        row_indices = self._row_indices(start, start + frame.shape[0])
        for j, part in zip(columns, coding(reader.read(frame, mask)), strict=True):
            codes[j][row_indices] = part


def read_parts(parts, target, columns, temp_folder, request, is_missing, rows):
    """Read labels and categories of a table in parts; return a `PartedTable`.

    Rows without a label are an error without `is_missing`, which returns whether the
    text of a label denotes a missing one; otherwise, they are ignored. `rows` is a mask
    of the rows to use, or None. `request` has options of the estimator, the first of
    which are the name of its class, the categorical features and the class weights.
    """
    caller, categorical_features, class_weight = request[:3]
    if not 0 < parts.n_rows <= MAX_ROWS:
        raise ValueError(
            f"source must have from 1 to {MAX_ROWS} rows. Got {parts.n_rows}."
        )
    classes, y, known = _read_labels(parts, target, caller, is_missing, rows)
    n_input_rows, used, mask = len(y), None, known
    class_weight = resolve_class_weight(class_weight, classes.names, y, weight=None)
    if class_weight is not None and not class_weight.all():
        used = class_weight[y] > 0.0
        y = y[used]
        if not len(y):
            raise ValueError(
                "All rows belong to classes of class_weight 0. Pass a positive weight "
                "for at least one class of y."
            )
        mask = used.copy() if known is None else known.copy()
        mask[slice(None) if known is None else known] = used
    positions = None
    if mask is not None:
        positions = np.where(mask, np.cumsum(mask) - 1, -1).astype(np.int32)
    schema, categories = _read_columns(
        parts, columns, categorical_features, mask, caller
    )
    return PartedTable(
        parts,
        y,
        schema,
        classes,
        class_weight,
        positions,
        slice(None) if used is None else np.flatnonzero(used),
        n_input_rows,
        categories,
        Reader(schema, caller),
        temp_folder,
        set(),
    )


def _read_labels(parts, target, caller, is_missing, rows):
    # Return the classes, the class index as uint16 of each row that has a label, and a
    # mask of these rows (None: all rows).
    read = partial(_labels_of_part, parts.labels_of, caller, is_missing)
    of_parts = list(parts.map(read, [target], *(() if rows is None else (rows,))))
    y = np.empty(parts.n_rows, dtype=np.uint16)
    known = np.ones(parts.n_rows, dtype=bool)
    start = 0
    for _, labels, missing in of_parts:
        if missing is not None:
            known[start : start + len(missing)] = ~missing
        start += len(labels) if missing is None else len(missing)
    if is_missing is None or not known.any():
        _check_known(parts, target, known if rows is None else known | ~rows)
    names = np.concatenate([names for names, _, _ in of_parts])
    # repeated, as scikit-learn warns of labels that are mostly distinct
    check_labels(np.repeat(names, 3), names)
    classes, codes = Classes.of(names)
    start = code = 0
    for names, labels, _ in of_parts:
        of_part = codes[code : code + len(names)].astype(np.uint16)
        y[start : start + len(labels)] = of_part[labels]
        start, code = start + len(labels), code + len(names)
    return (classes, y, None) if known.all() else (classes, y[:start].copy(), known)


def _check_known(parts, target, known):
    rows = np.flatnonzero(~known)
    if not len(rows):
        return
    if len(rows) == len(known):
        raise ValueError(f"The target {target!r} has no value in any row.")
    part, start, stop = parts.describe(int(rows[0]))
    n_here = np.count_nonzero(rows < stop)
    more = f", and {len(rows) - n_here} in later ones" if n_here < len(rows) else ""
    values = "1 missing value" if n_here == 1 else f"{n_here} missing values"
    raise ValueError(
        f"The target {target!r} has {values} in {part}, the first in row "
        f"{rows[0] - start + 1} there{more}. Remove these rows from the data, or pass "
        "skip_missing=True to leave them out."
    )


def _read_columns(parts, columns, categorical_features, mask, caller):
    # Return the schema, and the number of rows of each category.
    empty = parts.empty(columns)
    is_nominal = nominal_columns(empty, categorical_features)
    if is_nominal is None:  # all columns are numeric
        return Schema(len(columns), names_of(empty)), None
    table = (library_of(empty) or Table)(empty)  # the class that reads it
    categories = CategoryCounts(
        is_nominal, [table.name(j) for j in range(len(columns))]
    )
    nominal = np.flatnonzero(is_nominal).tolist()
    by_row = () if mask is None else (mask,)
    count = partial(count_categories, caller)
    size = COLUMNS_AT_ONCE if parts.reads_columns else len(columns)
    for start in range(0, len(nominal), size):
        group = nominal[start : start + size]
        for of_parts in parts.map(count, [columns[j] for j in group], *by_row):
            categories.add(dict(zip(group, of_parts, strict=True)) if of_parts else {})
    features = categories.features()
    if isinstance(categorical_features, str):
        # columns of numbers that are nominal because of a few texts
        warn_of_unparseable(
            table, lambda j: categories.of(features, j), features, MAX_CATEGORIES
        )
    features = categories.within_limits(features)  # ignores columns that identify rows
    return Schema(len(columns), names_of(empty), features), categories


def _labels_of_part(labels_of, caller, is_missing, frame, rows=None):
    # Return the distinct labels of a part, the index of the label of each of the rows
    # that has one, and a mask of the other rows, None if there are none.
    labels, missing = labels_of(frame)
    if rows is not None and not rows.all():
        labels = labels[rows if missing is None else rows[~missing]]
        missing = ~rows if missing is None else missing | ~rows
    if not len(labels):
        return labels, np.zeros(0, np.uint16), missing
    # the second argument only has the number of rows that labels must have
    names, codes = encode_labels(read_labels(labels, labels, caller))
    if is_missing is not None:
        unknown = np.array([is_missing(str(name)) for name in names.tolist()])
        if unknown.any():
            missing = np.zeros(len(codes), bool) if missing is None else missing.copy()
            missing[~missing] = unknown[codes]
            codes = (np.cumsum(~unknown) - 1)[codes[~unknown[codes]]]
            names = names[~unknown]
    if len(names) > MAX_CLASSES:
        raise ValueError(
            f"y has {len(names)} classes or more; at most {MAX_CLASSES} are supported."
        )
    return names, codes.astype(np.uint16), missing


TreeOrForest = TypeVar(
    "TreeOrForest", bound=ConfidenceTreeClassifier | ConfidenceForestClassifier
)


def fit(
    estimator: TreeOrForest,
    source: Any,
    *,
    target: Any,
    columns: Sequence[str] | None = None,
    temp_folder: str | os.PathLike[str] | None = None,
    skip_missing: bool | Callable[[str], bool] = False,
    rows: np.ndarray | None = None,
    text_columns: Sequence[str] = (),
    callback: Callable[[FitProgress], object] | None = None,
) -> TreeOrForest:
    """Fit a tree or a forest to a table that is larger than memory.

    The table is read in parts, in several passes. Stored are one byte per number, its
    bin (two bytes for a column of more than 256 categories), and the state of each row
    while a tree grows. The partitions of a Dask cluster are stored on its workers.
    Large nodes are counted part by part; the rows of small nodes are gathered, on a
    worker if there is one. The model is identical, byte for byte, to that of
    ``estimator.fit`` with the whole table in memory, however the table is divided into
    parts.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier or ConfidenceForestClassifier
        It needs `max_bins` if a numeric column has more than 256 distinct values.
    source : path, list of paths, dask.dataframe.DataFrame or dask.array.Array
        Parquet files whose columns have the same names: a file, a list, a pattern such
        as ``rows/2024-*.parquet``, or a folder, whose files ``*.parquet`` are read in
        the order of their names, with those of its subfolders. Folders named
        ``column=value`` add a column (Hive partitions), of integers if all values are.
        Addresses such as ``s3://bucket/rows/`` are opened by fsspec. A column that has
        integers in some files and floats in others is read as floats, with a warning.
        Or a Dask DataFrame, or a 2d Dask array whose chunks have all columns.
        Partitions of Dask are processed where they are stored; if they are not
        persisted, they are computed again in each pass.
    target : str or dask.array.Array
        Name of the column of class labels; with a Dask array, a 1d Dask array of
        labels.
    columns : list of str, default=None
        The feature columns. None: all columns except the target. Must be None with a
        Dask array.
    temp_folder : path, default=None
        Folder of a temporary file for the codes, which the operating system maps into
        memory as far as there is space. None: the codes are in memory.
    skip_missing : bool or callable, default=False
        Whether to leave out rows without a label; otherwise they are an error, which
        names their file. A function returns whether the text of a label denotes a
        missing one.
    rows : bool array of shape (n_rows,), default=None
        The rows to use, for example those of a fold of a cross-validation. None: all.
    text_columns : list of str, default=()
        Columns of Parquet files that are read as strings, which are nominal.
    callback : callable, default=None
        It is called during the fit with a named tuple: `n_passes` over the table that
        have begun, `n_rows` that the current pass has read, `n_total_rows`, the `level`
        of the tree whose large nodes are split (0 during the passes), `n_nodes` at
        these levels, `seconds`, and the estimated `seconds_left` of the pass (None
        while a tree grows). An exception that it raises ends the fit. Callbacks of
        scikit-learn that the estimator has are called as in its own `fit`.

    Returns
    -------
    ConfidenceTreeClassifier or ConfidenceForestClassifier
        The estimator itself, fitted.

    Raises
    ------
    OSError
        If `temp_folder` has no space for the codes.
    ValueError
        If a file cannot be read, the type of a column differs between parts, or the
        rows or a parameter are invalid. The estimator is then unchanged.
    RuntimeError
        If the rows change between two passes.

    See Also
    --------
    skconftree.ConfidenceTreeClassifier.partial_fit : Learns row by row without storing
        the rows.

    Notes
    -----
    Settings that need the rows in memory are not supported: ``leaf_memory="rows"``
    (leaves store their rows), naive Bayes in `leaf_prediction`, ``pruning="c45"``,
    `oob_score` and `warm_start`.

    Examples
    --------
    >>> import pickle
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from skconftree import ConfidenceTreeClassifier, large
    >>> from skconftree.datasets import make_sea
    >>> X, y = make_sea(20_000, random_state=0)
    >>> table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "label": y})
    >>> path = Path(tempfile.mkdtemp()) / "rows.parquet"
    >>> pq.write_table(table, path)
    >>> tree = ConfidenceTreeClassifier(max_bins=255)
    >>> large.fit(tree, path, target="label").get_n_leaves() > 10
    True
    >>> X = table.drop_columns("label")
    >>> whole = ConfidenceTreeClassifier(max_bins=255).fit(X, table["label"])
    >>> pickle.dumps(whole) == pickle.dumps(tree)
    True
    """
    _check_estimator(estimator)
    if isinstance(text_columns, str):
        raise TypeError(f"text_columns must be a list of names. Got {text_columns!r}.")
    if not (isinstance(skip_missing, bool) or callable(skip_missing)):
        raise TypeError(
            f"skip_missing must be True, False or a function. Got {skip_missing!r}."
        )
    if not (callback is None or callable(callback)):
        raise TypeError(f"callback must be a function or None. Got {callback!r}.")
    parts: Any = DaskArrays.of(source, target)
    if parts is not None:
        target = parts.target
        if columns is not None:
            raise ValueError(
                "columns must be None with a Dask array, which has no column names. "
                "Pass a part of the array, such as source[:, :3]."
            )
    else:
        parts = ParquetParts.of(source, text_columns) or DaskParts.of(source)
    if parts is None:
        raise TypeError(
            "source must be a path or a list of paths of Parquet files, a Dask "
            f"DataFrame or a Dask array. Got {type(source).__name__}. For a table in "
            "memory, use fit of the estimator."
        )
    if len(text_columns) and not isinstance(parts, ParquetParts):
        raise ValueError(
            "text_columns must be empty unless source is Parquet files. Got "
            f"{text_columns} with a Dask table; use astype(str) on these columns."
        )
    columns = _check_columns(parts, target, columns)
    is_missing = skip_missing or None
    if skip_missing and not callable(skip_missing):
        is_missing = _never
    if rows is not None:
        rows = np.asarray(rows)
        if rows.dtype != bool or rows.shape != (parts.n_rows,):
            raise ValueError(
                f"rows must be a bool array with one entry for each of the "
                f"{parts.n_rows} rows. Got type {rows.dtype} and shape {rows.shape}."
            )
        if not rows.any():
            raise ValueError("rows must contain at least one row. Got none.")
    parts.reporter = Reporter(callback, parts.n_rows)
    return _fit(estimator, parts, target, columns, temp_folder, is_missing, rows)


@_fit_context(prefer_skip_nested_validation=True)
@learns
def _fit(estimator, parts, target, columns, temp_folder, is_missing, rows):
    # The same steps as in the estimator's own `fit`; `growth` has its resolved
    # parameters.
    growth = estimator._growth()
    table = read_parts(
        parts, target, columns, temp_folder, growth.request, is_missing, rows
    )
    return estimator._fit_table(growth, table)


def _never(text):
    # `is_missing` if only null values are missing, which are recognized without it.
    return False


def _check_estimator(estimator):
    if not isinstance(
        estimator, (ConfidenceTreeClassifier, ConfidenceForestClassifier)
    ):
        raise TypeError(
            "estimator must be a ConfidenceTreeClassifier or a "
            f"ConfidenceForestClassifier. Got {type(estimator).__name__}."
        )
    parameters = estimator.get_params(deep=False)
    wrong = []
    if parameters["leaf_memory"] == "rows":
        wrong.append("leaf_memory")
    if parameters["leaf_prediction"] in ("nb", "nba"):
        wrong.append("leaf_prediction")
    if parameters["pruning"] == "c45" or isinstance(parameters["pruning"], C45Pruning):
        wrong.append("pruning")
    wrong += [name for name in ("oob_score", "warm_start") if parameters.get(name)]
    if wrong:
        raise ValueError(
            f"large.fit does not support {wrong[0]}={parameters[wrong[0]]!r}, which "
            "needs all rows in memory. Change it, or use fit of the estimator."
        )


def _check_columns(parts, target, columns):
    names = parts.names
    if not isinstance(target, Hashable):
        raise TypeError(
            "target must be the name of a column of source. Got "
            f"{type(target).__name__}."
        )
    if target not in names:
        raise ValueError(f"source has no column {target!r}; its columns are {names}.")
    if columns is None:
        columns = [name for name in names if name != target]
    elif isinstance(columns, str):
        raise TypeError(f"columns must be a list of names. Got {columns!r}.")
    columns = list(columns)
    for name in columns:
        if name not in names:
            raise ValueError(f"source has no column {name!r}; its columns are {names}.")
    if target in columns:
        raise ValueError(f"columns must not contain the target, {target!r}.")
    if len(set(columns)) < len(columns):
        raise ValueError(f"columns must not contain duplicates. Got {columns}.")
    if not columns:
        raise ValueError("There must be at least one column besides the target.")
    return columns
