"""Real tables for the studies: a folder with a manifest.json and gzipped CSV files.

The folder comes from ``--data`` or the variable SKCONFTREE_DATA. Its manifest lists,
under "datasets", for each table its ``name``, ``file`` and the ``nominal`` columns; the
column "target" holds the labels, an empty cell is a missing value.

Tables and their sources, by the names that the studies use:

- UCI repository (archive.ics.uci.edu; most also in Weka's format in
  github.com/renatopp/arff-datasets): adult, audiology, australian, balance-scale,
  banknote, car, cmc, diabetes, ecoli, glass, haberman, heart-statlog, ionosphere,
  kr-vs-kp, leaves100-margin, letter, mushroom, nursery, page-blocks, pendigits,
  phishing, segment, soybean, tic-tac-toe, vote, vowel, yeast, zoo.
- scikit-learn: iris, wdbc, wine.
- LIBSVM's collection: a9a. MOA's: elec, airlines. UCR archive: ucr-fiftywords. Data
  Expo 2009 (flights of 2007): airlines2007-ordered.

`common.packaged` reads further tables from packages of PyPI.
"""

import json
import os
from functools import cache
from pathlib import Path

import numpy as np


def data_folder(argument=None):
    """Resolve the folder, from the command line or the environment."""
    folder = argument or os.environ.get("SKCONFTREE_DATA")
    if not folder:
        raise SystemExit(
            "Name a folder of real tables: --data or SKCONFTREE_DATA. They are tables "
            "of the UCI repository (adult, letter, pendigits, soybean, ...), elec and "
            "airlines of MOA's collection and a9a of LIBSVM's. "
            "benchmarks/common/data.py lists the tables, their sources and the form of "
            "the folder; 'python benchmarks held_out --help' says how one is made."
        )
    return Path(folder)


def folder_if_any(argument, otherwise):
    """Resolve the folder; without one say what there is instead, and return None."""
    try:
        return data_folder(argument)
    except SystemExit:
        print(f"No folder of real tables: {otherwise} only.")
        return None


def manifest(folder):
    """Read what the folder holds: dict of name to description."""
    path = Path(folder) / "manifest.json"
    if not path.is_file():
        raise SystemExit(f"{folder} is no folder of tables: it has no manifest.json.")
    text = path.read_text(encoding="utf-8")
    return {table["name"]: table for table in json.loads(text)["datasets"]}


# Tables that hold the rows of another one, which the studies keep.
SAME_ROWS = {
    "a9a": "adult",
    "airlines2007-ordered": "airlines",
    "heart.c": "heart-statlog",
}


def table_names(folder):
    """List the tables of a folder, those left out that hold the rows of another."""
    return sorted(set(manifest(folder)) - set(SAME_ROWS))


def collections(options, n_quick):
    """Yield the name, the folder and the tables of each collection of a study.

    They are the tables that the default was chosen on, and the held-out ones if the
    options name their folder; only the first `n_quick` of each with ``--quick``.
    """
    folders = {"chosen on": data_folder(options.data), "held out": options.held_out}
    for part, folder in folders.items():
        if folder is not None:
            names = table_names(folder)
            yield part, folder, names[:n_quick] if options.quick else names


@cache
def mnist():
    """Fetch MNIST: pictures and digits (texts), or None where it is not to be had."""
    from sklearn.datasets import fetch_openml

    try:
        return fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False)
    except Exception as error:  # whatever a machine without a network raises
        print(f"MNIST is not to be had ({type(error).__name__}).")
        return None


def load(name, folder):
    """Read one table.

    Returns
    -------
    X : DataFrame
        Numeric columns as float64, nominal ones as strings; missing is NaN.
    y : ndarray of str
    nominal : list of str
    """
    import pandas as pd

    about = manifest(folder)[name]
    frame = pd.read_csv(
        Path(folder) / about["file"],
        dtype={**dict.fromkeys(about["nominal"], str), "target": str},
        keep_default_na=False,
        na_values=[""],
    )
    y = frame.pop("target").to_numpy(dtype=str)
    numeric = [column for column in frame if column not in set(about["nominal"])]
    frame[numeric] = frame[numeric].astype("float64")
    return frame, y, about["nominal"]


def encoded(name, folder, max_rows=None, seed=0):
    """Read a table as numbers.

    A nominal value becomes its rank among the column's sorted values. At most
    `max_rows` rows are kept, drawn with `seed` in proportion to the classes.

    Returns
    -------
    X : ndarray of float64
        NaN where a value is missing.
    y : ndarray of int
        Class indices.
    is_nominal : ndarray of bool, one a column
    """
    frame, labels, nominal = load(name, folder)
    is_nominal = np.array([column in set(nominal) for column in frame])
    for column in nominal:
        codes = frame[column].astype("category").cat.codes.astype("float64")
        frame[column] = codes.where(codes >= 0)
    X = frame.to_numpy(dtype=np.float64)
    if max_rows is not None and len(X) > max_rows:
        from sklearn.model_selection import train_test_split

        kept, _ = train_test_split(
            np.arange(len(X)), train_size=max_rows, random_state=seed, stratify=labels
        )
        kept.sort()
        X, labels = X[kept], labels[kept]
    return X, np.unique(labels, return_inverse=True)[1], is_nominal


def impute(train, test, is_nominal):
    """Fill holes with the training rows' median, or their most frequent code."""
    if not (np.isnan(train).any() or np.isnan(test).any()):
        return train, test
    train, test = train.copy(), test.copy()
    for j in range(train.shape[1]):
        seen = train[~np.isnan(train[:, j]), j]
        if not len(seen):
            fill = 0.0
        elif is_nominal[j]:
            values, counts = np.unique(seen, return_counts=True)
            fill = values[counts.argmax()]
        else:
            fill = np.median(seen)
        for part in (train, test):
            part[np.isnan(part[:, j]), j] = fill
    return train, test
