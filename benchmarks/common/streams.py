"""Streams that the benchmarks share, and our learner run on them."""

import time

import numpy as np

from skconftree.datasets import make_random_tree_stream, make_sea

from .agrawal import make_agrawal
from .data import encoded
from .peers import timed
from .rbf import make_random_rbf

REAL = {"electricity": "elec", "a9a": "a9a", "adult": "adult", "letter": "letter"}
GENERATED = (
    "covertype-like",
    "Agrawal with drift",
    "SEA with drift",
    "random tree",
    "54 features, 7 classes",
)
# Shares of the seven kinds of forest in the covertype table.
SHARES = np.array([0.365, 0.488, 0.062, 0.005, 0.016, 0.030, 0.034])
N_WILDERNESS, N_SOILS = 4, 40


def make_covertype_like(n_samples, random_state):
    """Make rows that look like the covertype table's.

    Ten numeric columns, some skewed or dependent on each other, two nominal ones of 4
    and 40 values as 44 columns of zeros and ones, seven classes of the table's shares
    that form zones along the first column. One label in twenty is wrong.

    Returns
    -------
    X : ndarray of shape (n_samples, 54), float32
    y : ndarray of shape (n_samples,)
    """
    concept, rng = np.random.default_rng(0), np.random.default_rng(random_state)
    height = rng.beta(3.0, 2.0, n_samples)
    aspect = rng.uniform(0.0, 360.0, n_samples)
    slope = rng.gamma(3.0, 5.0, n_samples)
    water, road, fire = rng.exponential([250, 2000, 1900], (n_samples, 3)).T
    depth = 0.2 * water + rng.normal(0.0, 30.0, n_samples)
    sun = np.radians(aspect)
    shades = [
        np.clip(shade + 1.5 * slope * np.cos(sun - at) + noise, 0, 254)
        for shade, at, noise in zip(
            (212, 223, 142),
            (0.8, 2.6, 4.5),
            rng.normal(0.0, 8.0, (3, n_samples)),
            strict=True,
        )
    ]
    wild = pick(height, concept.uniform(0, 1, N_WILDERNESS), 0.15, rng)
    soil = pick(height, concept.uniform(0, 1, N_SOILS), 0.08, rng)
    numeric = [1850 + 2000 * height, aspect, slope, water, depth, road, *shades, fire]
    X = np.zeros((n_samples, 54), dtype=np.float32)
    X[:, :10] = np.round(np.column_stack(numeric))
    X[np.arange(n_samples), 10 + wild] = 1.0
    X[np.arange(n_samples), 10 + N_WILDERNESS + soil] = 1.0

    middle = np.array([0.75, 0.55, 0.3, 0.15, 0.45, 0.25, 0.9])
    score = np.log(SHARES) - 0.5 * ((height[:, None] - middle) / 0.12) ** 2
    score += concept.normal(0.0, 0.7, (N_WILDERNESS, 7))[wild]
    score += concept.normal(0.0, 0.7, (N_SOILS, 7))[soil]
    units = np.column_stack(
        [height * 4, sun, slope / 15, water / 250, road / 2000, fire / 1900]
    )
    for _ in range(8):
        two = concept.choice(6, 2, replace=False)
        wave = np.cos(units[:, two] @ concept.normal(0.0, 1.5, 2))
        score += np.outer(np.sign(wave), concept.normal(0.0, 0.6, 7))
    y = score.argmax(axis=1)
    wrong = rng.random(n_samples) < 0.05
    y[wrong] = rng.choice(7, wrong.sum(), p=SHARES / SHARES.sum())
    return X, y


def pick(height, centers, width, rng):
    """Draw, for each row, one of the values whose centers are near its height."""
    found = np.empty(len(height), dtype=np.intp)
    for start in range(0, len(height), 100_000):
        part = slice(start, start + 100_000)
        score = -0.5 * ((height[part, None] - centers) / width) ** 2
        found[part] = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
    return found


def make_stream(name, n, folder=None):
    """Make or read one stream.

    Parameters
    ----------
    name : str
        One of `GENERATED`, or of `REAL` for those in the data folder.
    n : int or None
        Rows; None is 100,000, or all of a table.
    folder : path-like, optional

    Returns
    -------
    X : ndarray of float32
    y : ndarray of class indices
    nominal : tuple of int
        Columns of codes.
    """
    if name in REAL:
        X, y, is_nominal = encoded(REAL[name], folder)
        # MOA fills holes its own way; as codes they are one more category
        for j in np.flatnonzero(is_nominal):
            X[np.isnan(X[:, j]), j] = np.nanmax(X[:, j]) + 1
        whole = ~np.isnan(X).any(axis=1)
        X, y = X[whole][:n], y[whole][:n]
        return X.astype(np.float32), y, tuple(np.flatnonzero(is_nominal).tolist())
    n = 100_000 if n is None else n
    nominal = ()
    if name == "covertype-like":
        X, y = make_covertype_like(n, 1)
    elif name == "Agrawal with drift":
        nominal = (3, 4, 5)
        X, y = make_agrawal(n, concept=[1, 4, 7, 10], perturbation=0.05, random_state=1)
    elif name == "SEA with drift":
        X, y = make_sea(n, concept=[0, 1, 2, 3], noise=0.1, random_state=1)
    elif name == "random tree":
        X, y = make_random_tree_stream(
            n,
            n_features=10,
            n_leaves=50,
            n_classes=5,
            p_left=0.9,
            p_right=0.1,
            random_state=1,
        )
    elif name == "54 features, 7 classes":
        X, y = make_random_rbf(n, n_features=54, n_classes=7, random_state=1)
    else:
        raise ValueError(f"There is no stream named {name!r}.")
    return X, y, nominal


def our_tree(X, y, tree, *, chunk=1000, repeats=1):
    """Run one of our trees with `partial_fit_predict`, chunk by chunk.

    The first call names the classes, as a user would.

    Parameters
    ----------
    X, y : ndarray of shape (n_samples, n_features) and (n_samples,)
    tree : ConfidenceTreeClassifier
        Parameters of each round's tree.
    chunk : int or None
        Rows of a call; None is all.
    repeats : int

    Returns
    -------
    Run
    """
    from sklearn.base import clone

    classes = np.arange(y.max() + 1)

    def one():
        model, correct, named = clone(tree), 0, classes
        step = len(X) if chunk is None else chunk
        begin = time.process_time()
        for start in range(0, len(X), step):
            rows, labels = X[start : start + step], y[start : start + step]
            predicted = model.partial_fit_predict(rows, labels, named)
            correct += np.count_nonzero(predicted == labels)
            named = None
        seconds = time.process_time() - begin
        return correct / len(X), int(model.get_n_leaves()), seconds

    return timed(one, repeats)
