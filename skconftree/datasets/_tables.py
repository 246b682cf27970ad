"""Real tables: from a CSV file or from OpenML, in one form."""

import gzip
import warnings
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

TARGET = "target"
SUFFIXES = (".csv", ".csv.gz")


class CodedTable(NamedTuple):
    """A table as numbers; its `source` is said in messages.

    Nominal values are positions in the sorted `categories` of their column, labels
    positions in the sorted `classes`.
    """

    data: np.ndarray
    names: list
    categories: dict
    labels: np.ndarray
    classes: list
    source: str


def in_order(values):
    """Sort strings as numbers if all of them are, +1 and 1.0 as 1."""
    try:
        return sorted(values, key=float)
    except ValueError:
        return sorted(values)


def plain(value):
    """Return a label as text, whole numbers without sign or point."""
    try:
        number = float(value)
    except ValueError:
        return str(value)
    return str(int(number)) if number.is_integer() else str(value)


def encode(codes, values):
    """Renumber codes so that they follow the order of the sorted values, which occur.

    A negative code or NaN, a missing value, is an error.
    """
    if not np.all(codes >= 0):
        raise ValueError("A nominal column or the target has missing values.")
    codes = codes.astype(np.intp)
    present = np.unique(codes)
    kept = in_order({values[code] for code in present})
    position = {value: i for i, value in enumerate(kept)}
    renumber = np.zeros(len(values), dtype=np.intp)
    for code in present:
        renumber[code] = position[values[code]]
    return renumber[codes], kept


class Codes(dict):
    """Numbers the strings it is asked for in order of appearance."""

    def __missing__(self, value):
        self[value] = len(self)
        return self[value]


def find_file(folder, stems):
    """Return the first CSV file of one of these names, or raise."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"folder must be an existing folder. Got {folder}.")
    wanted = [stem + suffix for stem in stems for suffix in SUFFIXES]
    for name in wanted:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(
        f"folder must hold one of the files {', '.join(wanted)}. {folder} does not."
    )


def read_table(path, nominal):
    """Read a table from a CSV file, gzipped or not.

    It has a header line, then numbers, but strings in the column ``target`` and in the
    columns that may be nominal.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as lines:
            names = [name.strip().strip('"') for name in lines.readline().split(",")]
            coded = {
                j: Codes() for j, name in enumerate(names) if name in (*nominal, TARGET)
            }
            values = _read_values(lines, coded) if TARGET in names else None
    except (ValueError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if values is None:
        raise ValueError(f"{path} must have a column {TARGET!r}. It has {names}.")
    if len(values) == 0 or values.shape[1] != len(names):
        raise ValueError(
            f"{path} must have rows of as many values as its header has names, "
            f"{len(names)}. It has shape {values.shape}."
        )
    at = names.index(TARGET)
    categories = {}
    for j, codes in coded.items():
        known = list(codes)
        if j == at:
            known = [plain(label) for label in known]
        values[:, j], kept = encode(values[:, j], known)
        categories[names[j]] = kept
    classes = categories.pop(TARGET)
    labels = values[:, at].astype(np.intp)
    del names[at]
    return CodedTable(
        np.delete(values, at, axis=1), names, categories, labels, classes, str(path)
    )


def _read_values(lines, coded):
    with warnings.catch_warnings():
        # A file without rows is an error of ours.
        warnings.simplefilter("ignore", UserWarning)
        return np.loadtxt(
            lines,
            delimiter=",",
            comments=None,
            quotechar='"',
            ndmin=2,
            converters={j: codes.__getitem__ for j, codes in coded.items()},
            encoding="utf-8",
        )


def fetch_table(name, data_id, data_home, n_retries, delay):
    """Get a table from OpenML by its `data_id`, or from scikit-learn's cache of it.

    Error messages call it `name`.
    """
    try:
        found = fetch_openml(
            data_id=data_id,
            data_home=data_home,
            as_frame=False,
            # It needs no pandas, reads sparse tables, and takes seconds. Pandas 3
            # makes the other one fail on nominal columns that look like integers.
            parser="liac-arff",
            n_retries=n_retries,
            delay=delay,
        )
    except OSError as error:
        raise OSError(
            f"The table {name!r} is not in scikit-learn's cache, and OpenML cannot be "
            f"reached ({error}). Without a network, give `folder`: a folder with the "
            f"file {name}.csv or {name}.csv.gz."
        ) from error
    data = found.data
    data = data.toarray() if hasattr(data, "toarray") else np.array(data, dtype=float)
    names = list(found.feature_names)
    categories = {}
    for column, known in found.categories.items():
        j = names.index(column)
        data[:, j], categories[column] = encode(data[:, j], known)
    known, codes = np.unique(found.target.astype(str), return_inverse=True)
    labels, classes = encode(codes, [plain(label) for label in known])
    return CodedTable(data, names, categories, labels, classes, f"OpenML {data_id}")


def to_bunch(table, text, *, as_frame, return_X_y):
    """Hand out a table the way scikit-learn's loaders do."""
    data, target, frame = table.data, table.labels, None
    if as_frame:
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("as_frame=True needs pandas.") from error
        data = pd.DataFrame(data, columns=table.names)
        for name, values in table.categories.items():
            codes = data[name].astype(np.intp)
            data[name] = pd.Categorical.from_codes(codes, categories=values)
        target = pd.Series(target, name=TARGET)
        frame = pd.concat([data, target], axis=1)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=table.names,
        target_names=np.array(table.classes),
        categories=table.categories,
        categorical_features=np.array(
            [name in table.categories for name in table.names]
        ),
        DESCR=f"{text}\n\nRead from {table.source}.",
    )
