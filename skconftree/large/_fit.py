"""Fitting an estimator to a table in parts."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

from .._compat import _fit_context
from ..ensemble.forest._classes import ConfidenceForestClassifier
from ..tree._classes import ConfidenceTreeClassifier
from ..tree.pruning._c45 import C45Pruning
from ..utils._lock import learns
from ._dask import DaskParts
from ._dask_array import DaskArrays
from ._parquet import ParquetParts
from ._table import read_parts

Grown = TypeVar("Grown", bound=ConfidenceTreeClassifier | ConfidenceForestClassifier)


def fit(
    estimator: Grown,
    source: Any,
    *,
    target: Any,
    columns: Sequence[str] | None = None,
    temp_folder: str | os.PathLike[str] | None = None,
) -> Grown:
    """Fit a tree or a forest to a table that is larger than memory.

    The table is read in parts, several times. What is kept of it is one byte for each
    number, its bin (two bytes of a category among more than 256), and what a tree needs
    for each row while it grows; where rows are the partitions of a Dask cluster, its
    workers keep it. Large nodes are counted part by part, and the rows of a small one
    brought together, on a worker if there are some. The model is, byte for byte, what
    ``estimator.fit`` makes of the whole table in memory, however the table is divided
    into parts.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier or ConfidenceForestClassifier
        With `max_bins`, unless no numeric column has more than 256 values: rows in
        parts cannot be put in the order of every value.
    source : path, list of paths, dask.dataframe.DataFrame or dask.array.Array
        Parquet files whose columns have the same names and types; a folder of files
        ``*.parquet``, which are read in the order of their names; a Dask DataFrame, or
        a Dask array of two dimensions whose chunks have all columns. What Dask has is
        counted and encoded where it is; if it is not persisted, it is computed again in
        each pass.
    target : str or dask.array.Array
        The column of the classes; with a Dask array, another of the class of each row.
    columns : list of str, default=None
        The columns to learn from. None: all but the target. An array has no names, and
        is learnt from as a whole.
    temp_folder : path, default=None
        Where a file keeps the codes while the estimator is fitted: the system then has
        in memory what there is room for. None: they are in memory.

    Returns
    -------
    ConfidenceTreeClassifier or ConfidenceForestClassifier
        The estimator itself, fitted.

    Raises
    ------
    OSError
        If `temp_folder` has no room for the codes.
    ValueError
        If a file cannot be read, columns have other types in some parts, or the rows or
        a parameter are invalid; the estimator is then as it was before the call.
    RuntimeError
        If the rows are others in a later pass.

    See Also
    --------
    skconftree.ConfidenceTreeClassifier.partial_fit : Learns row by row, and keeps none.

    Notes
    -----
    A parameter that asks for the rows themselves is an error:
    ``leaf_memory="rows"``, naive Bayes in `leaf_prediction`, ``pruning="c45"``,
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
    parts: Any = DaskArrays.of(source, target)
    if parts is not None:
        target = parts.target
        if columns is not None:
            raise ValueError(
                "columns must be None with a Dask array, which has no names: choose "
                "some of it, as in source[:, :3]."
            )
    else:
        parts = ParquetParts.of(source) or DaskParts.of(source)
    if parts is None:
        raise TypeError(
            "source must be a path or a list of paths of Parquet files, a Dask "
            f"DataFrame or a Dask array, got {type(source).__name__}. A table in "
            "memory is what fit of the estimator takes."
        )
    columns = _check_columns(parts, target, columns)
    return _fit(estimator, parts, target, columns, temp_folder)


@_fit_context(prefer_skip_nested_validation=True)
@learns
def _fit(estimator, parts, target, columns, temp_folder):
    # As the estimator's own fit does it.
    growth = estimator._growth()
    table = read_parts(parts, target, columns, temp_folder, growth.request)
    return estimator._fit_table(growth, table)


def _check_estimator(estimator):
    if not isinstance(
        estimator, (ConfidenceTreeClassifier, ConfidenceForestClassifier)
    ):
        raise TypeError(
            "estimator must be a ConfidenceTreeClassifier or a "
            f"ConfidenceForestClassifier, got {type(estimator).__name__}."
        )
    given = estimator.get_params(deep=False)
    wrong = []
    if given["leaf_memory"] == "rows":
        wrong.append("leaf_memory")
    if given["leaf_prediction"] in ("nb", "nba"):
        wrong.append("leaf_prediction")
    if given["pruning"] == "c45" or isinstance(given["pruning"], C45Pruning):
        wrong.append("pruning")
    wrong += [name for name in ("oob_score", "warm_start") if given.get(name)]
    if wrong:
        raise ValueError(
            f"{wrong[0]}={given[wrong[0]]!r} needs the rows of the table in memory, "
            "and large.fit keeps codes of them only."
        )


def _check_columns(parts, target, columns):
    names = parts.names
    if not isinstance(target, Hashable):
        raise TypeError(
            "target must be the name of a column of source, got "
            f"{type(target).__name__}."
        )
    if target not in names:
        raise ValueError(f"source has no column {target!r}; its columns are {names}.")
    if columns is None:
        columns = [name for name in names if name != target]
    elif isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got {columns!r}.")
    columns = list(columns)
    for name in columns:
        if name not in names:
            raise ValueError(f"source has no column {name!r}; its columns are {names}.")
    if target in columns:
        raise ValueError(f"columns must not hold the target, {target!r}.")
    if len(set(columns)) < len(columns):
        raise ValueError(f"columns must be different, got {columns}.")
    if not columns:
        raise ValueError("There is no column to learn from.")
    return columns
