"""The table of a fit whose rows are in parts."""

from typing import NamedTuple

import numpy as np

from ..tables._category_counts import CategoryCounts, count_categories
from ..tables._content_order import ContentOrder
from ..tables._features import MAX_CATEGORIES, nominal_columns
from ..tables._frames import Table, library_of
from ..tables._label_values import check_labels, encode_labels
from ..tables._labels import MAX_CLASSES, Classes, read_labels
from ..tables._records import names_of
from ..tables._schema import Schema
from ..tables._strays import warn_of_strays
from ..tables._weights import resolve_class_weight
from ..tree._training import TrainingTable
from ._data import PartedData
from ._rows import PartedRows

MOST_ROWS = (1 << 31) - 1


class PartedTable(TrainingTable):
    """A training table whose X is `PartedRows`, all of weight 1."""

    def content_order(self):
        """The order of the rows by what they hold."""
        return ContentOrder.of_hashes(*self.X.hashes(self.y))

    def at(self, places, weight=None):
        """Some of the rows, in another order; none has a weight."""
        return self._replace(X=self.X.at(places), y=self.y[places])

    def identifying(self):
        """Which nominal columns tell rows apart rather than describe them."""
        return self.X.categories.identifying(self.schema.features)

    def encode(self, settings, n_bins=0, team=None):
        """Encode the table in passes over its parts."""
        features, n_classes = self.schema.features, len(self.classes)
        engine, heads = self.X.encode(n_bins, self.y, n_classes, team)
        return PartedData(
            engine,
            heads,
            self.y,
            n_classes,
            self.class_weight,
            None if features is None else features.n_categories,
        )


def read_parts(
    parts,
    target,
    columns,
    temp_folder,
    *,
    caller,
    categorical_features,
    class_weight,
    sample_weight_kind,
    known=None,
    stacklevel,
):
    """Read a table in parts as `read_training` reads one in memory."""
    if not 0 < parts.n_rows <= MOST_ROWS:
        raise ValueError(
            f"There are {parts.n_rows} rows; fit takes from 1 to {MOST_ROWS}."
        )
    classes, y = _read_labels(parts, target, caller, stacklevel + 1)
    class_weight = resolve_class_weight(class_weight, classes.names, y, None)
    kept = positions = None
    if class_weight is not None and not class_weight.all():
        kept = class_weight[y] > 0.0
        y = y[kept]
        if not len(y):
            raise ValueError("class_weight leaves no row with a positive weight.")
        positions = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    schema, categories = _read_columns(
        parts, columns, categorical_features, kept, caller, stacklevel + 1
    )
    return PartedTable(
        X=PartedRows(parts, schema, caller, temp_folder, positions, categories),
        y=y,
        weight=None,
        finite=False,  # nobody has looked
        relative=False,
        X_pool=None,
        schema=schema,
        classes=classes,
        class_weight=class_weight,
        places=slice(None) if kept is None else np.flatnonzero(kept),
        n_given=parts.n_rows,
    )


def _read_labels(parts, target, caller, stacklevel):
    # Classes of all labels, and codes of 16 bits.
    found = list(parts.map(_Labels(parts.labels_of, caller), [target]))
    names = np.concatenate([names for names, _ in found])
    check_labels(np.repeat(names, 3), names)  # fewer are not classes by themselves
    classes, codes = Classes.of(names, stacklevel=stacklevel + 1)
    y = np.empty(parts.n_rows, dtype=np.uint16)
    start = code = 0
    for names, labels in found:
        of_part = codes[code : code + len(names)].astype(np.uint16)
        y[start : start + len(labels)] = of_part[labels]
        start, code = start + len(labels), code + len(names)
    return classes, y


def _read_columns(parts, columns, categorical_features, kept, caller, stacklevel):
    # What columns there are, and how many rows have each of their categories.
    empty = parts.empty(columns)
    is_nominal = nominal_columns(empty, categorical_features)
    if is_nominal is None:
        return Schema(len(columns), names_of(empty)), None
    table = (library_of(empty) or Table)(empty)
    categories = CategoryCounts(
        is_nominal, [table.name(j) for j in range(len(columns))]
    )
    nominal = np.flatnonzero(is_nominal).tolist()
    by_row = () if kept is None else (kept,)
    for found in parts.map(_Categories(caller), [columns[j] for j in nominal], *by_row):
        categories.add(dict(zip(nominal, found, strict=True)) if found else {})
    features = categories.features()
    if isinstance(categorical_features, str):
        warn_of_strays(
            table,
            lambda j: categories.of(features, j),
            features,
            MAX_CATEGORIES,
            stacklevel + 1,
        )
    features = categories.within_limits(features)
    return Schema(len(columns), names_of(empty), features), categories


class _Labels(NamedTuple):
    """Different labels of a part, and which of them each row has."""

    labels_of: object
    caller: str

    def __call__(self, frame):
        labels = self.labels_of(frame)
        if not len(labels):
            return labels, np.zeros(0, np.uint16)
        names, codes = encode_labels(read_labels(labels, labels, self.caller))
        if len(names) > MAX_CLASSES:
            raise ValueError(
                f"y has {len(names)} classes or more; at most {MAX_CLASSES} are "
                "supported."
            )
        return names, codes.astype(np.uint16)


class _Categories(NamedTuple):
    """Categories of a part's columns, all of which are nominal."""

    caller: str

    def __call__(self, frame, kept=None):
        if not frame.shape[0]:
            return []
        return count_categories(frame, kept, self.caller)
