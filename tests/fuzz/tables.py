"""Random tables: numbers, missing values, categories, labels, weights, containers."""

from dataclasses import dataclass, field

import numpy as np
import pandas
import pyarrow
from scipy import sparse

try:
    import polars
except ImportError:  # it has no wheels for a Python without its global lock
    polars = None

KINDS = ("real", "ties", "constant", "binary", "holes", "skewed", "zeros", "extreme")
CATEGORIES = (
    ["red", "green, dark", "", "naïve\n", "None", "nan", *map(str, range(60))],
    [float(i) for i in range(60)],
    [*range(-3, 57)],
    [False, True],
    [f"c{i}" for i in range(700)],
    [2.0**53, -0.5, 1e300, 1e-300, *map(float, range(3, 40))],
)
TUPLES = [(i % 4, "a" * i) for i in range(12)]
LABELS = (
    np.arange(40),
    np.arange(40) - 7,
    np.array([f"class {i:02d}" for i in range(40)]),
    np.array([f"class {i:02d}" for i in range(40)], dtype=object),
    np.arange(40, dtype=np.int8),
    np.arange(40, dtype=np.uint64) + np.uint64(2**63),
    np.arange(40, dtype=float) * 3.0,
)
ARRAYS = ("float32", "float64", "fortran", "list", "strided", "frozen")
FRAMES = ("pandas", "polars", "arrow")
SPARSE = ("csr", "csc", "csr_matrix", "unsorted")
# Share of arrays with nominal columns, if it is another than usual.
NOMINAL = {"damage": 0.7, "c45": 0.8, "indexes": 0.7}
WEIGHTS = ("counts", "quarters", "any", "heavy", "zeros", "huge", "tiny", "extreme")


@dataclass
class Rows:
    """Some rows before they are put into a container: codes stand for categories."""

    X: np.ndarray  # float64, NaN where a value is missing
    y: np.ndarray  # class indices
    weight: np.ndarray | None = None

    def __len__(self):
        return len(self.y)

    def part(self, begin, end):
        weight = None if self.weight is None else self.weight[begin:end]
        return Rows(self.X[begin:end], self.y[begin:end], weight)

    def taken(self, which):
        weight = None if self.weight is None else self.weight[which]
        return Rows(self.X[which], self.y[which], weight)

    @staticmethod
    def joined(parts):
        weight = None
        if any(part.weight is not None for part in parts):
            weight = np.concatenate(
                [np.ones(len(p)) if p.weight is None else p.weight for p in parts]
            )
        return Rows(
            np.concatenate([part.X for part in parts]),
            np.concatenate([part.y for part in parts]),
            weight,
        )

    @property
    def weights(self):
        return np.ones(len(self)) if self.weight is None else self.weight


@dataclass
class Table:
    """A source of rows of one shape, and the containers they may come in."""

    kinds: list
    labels: np.ndarray
    categories: dict  # of the nominal columns: values by code
    family: str  # "array", "object", "sparse" or one of FRAMES
    signal: float
    nominal_as: str  # how the nominal columns are told
    weights: str | None
    shift: int = 0  # turns the concept round
    met: float = 0.5  # share of the categories that has turned up yet
    names: list = field(default_factory=list)

    @property
    def n_features(self):
        return len(self.kinds)

    @property
    def n_classes(self):
        return len(self.labels)

    @property
    def classes(self):
        return self.labels

    @property
    def categorical_features(self):
        columns = sorted(self.categories)
        if self.nominal_as == "names":
            return [self.names[j] for j in columns]
        if self.nominal_as == "mask":
            return [j in self.categories for j in range(self.n_features)]
        return {"indices": columns, "dtype": "from_dtype", "none": None}[
            self.nominal_as
        ]

    def rows(self, draw, n, weights=True, missing=True):
        """Draw rows whose features say more or less about their classes."""
        rng = draw.rng
        y = rng.integers(0, self.n_classes, n)
        told = (y + self.shift) % self.n_classes * self.signal
        X = np.empty((n, self.n_features))
        for j, kind in enumerate(self.kinds):
            X[:, j] = self._column(rng, kind, told, self.categories.get(j), missing)
        X += 0.0  # a sparse table does not know -0.0
        weight = None
        if weights and self.weights is not None and draw.chance(0.7):
            weight = draw_weights(rng, self.weights, n)
        return Rows(X, y, weight)

    def _column(self, rng, kind, told, categories, missing):
        n = len(told)
        noise = rng.normal(size=n)
        if kind == "nominal":
            known = max(1, int(self.met * len(categories)))
            codes = np.rint(np.abs(noise) * known / 3 + told) % known
            if missing:
                codes[rng.random(n) < 0.05] = np.nan
            return codes
        if kind == "ties":
            return np.rint(noise + told)
        if kind == "constant":
            return np.full(n, 2.5)
        if kind == "zeros":
            return np.zeros(n)
        if kind == "binary":
            return (noise + told > 0.5).astype(float)
        if kind == "skewed":
            return np.exp(np.minimum(3.0 * noise + told, 80.0))
        if kind == "extreme":
            return rng.choice([3e38, -3e38, 1e-40, -1e-45, 0.0, -0.0, 1.0], n)
        if kind == "holes" and missing and self.family != "sparse":
            return np.where(rng.random(n) < 0.25, np.nan, noise + told)
        if kind == "empty" and missing and self.family != "sparse":
            return np.full(n, np.nan)
        return noise + told

    # -- containers ----------------------------------------------------------------

    def give(self, draw, X, *, dense=False):
        """Rows in a container of the family."""
        if self.family == "sparse":
            kind = draw.one(ARRAYS if dense else SPARSE)
        elif self.family == "array":
            kind = draw.one(ARRAYS)
        else:
            kind = self.family
        with np.errstate(over="ignore"):
            return getattr(self, f"_as_{kind}")(X)

    def labeled(self, draw, y):
        y = self.labels[y]
        if draw.chance(0.1) and y.dtype.kind in "iu":
            # pandas' own integers, which know missing values
            name = y.dtype.name  # "uint8" becomes "UInt8"
            return pandas.Series(y, dtype=name.replace("int", "Int").replace("u", "U"))
        return y.tolist() if draw.chance(0.1) and y.dtype.kind in "iU" else y

    def _as_float32(self, X):
        return X.astype(np.float32)

    def _as_float64(self, X):
        return X.copy()

    def _as_fortran(self, X):
        return np.asfortranarray(X)

    def _as_list(self, X):
        return X.tolist()

    def _as_strided(self, X):
        wide = np.zeros((len(X) * 2, X.shape[1] * 2), dtype=np.float32)
        wide[::2, ::2] = X
        return wide[::2, ::2]

    def _as_frozen(self, X):
        X = X.astype(np.float32)
        X.flags.writeable = False
        return X

    def _values(self, X, j):
        categories = self.categories[j]
        return [None if np.isnan(code) else categories[int(code)] for code in X[:, j]]

    def _as_object(self, X):
        out = np.empty(X.shape, dtype=object)
        for j in range(X.shape[1]):
            if j in self.categories:
                for i, value in enumerate(self._values(X, j)):
                    out[i, j] = value
            else:
                out[:, j] = X[:, j]
        return out

    def _as_pandas(self, X):
        columns = {}
        for j, name in enumerate(self.names):
            if j in self.categories:
                columns[name] = pandas.Categorical(
                    self._values(X, j), categories=self.categories[j]
                )
            else:
                columns[name] = X[:, j]
        return pandas.DataFrame(columns)

    def _as_polars(self, X):
        if polars is None:
            return self._as_arrow(X)
        columns = {}
        for j, name in enumerate(self.names):
            if j in self.categories:
                values = [None if v is None else str(v) for v in self._values(X, j)]
                columns[name] = polars.Series(values, dtype=polars.String)
            else:
                columns[name] = polars.Series(X[:, j])
        return polars.DataFrame(columns)

    def _as_arrow(self, X):
        columns = {}
        for j, name in enumerate(self.names):
            if j in self.categories:
                values = [None if v is None else str(v) for v in self._values(X, j)]
                columns[name] = pyarrow.array(values, pyarrow.string())
            else:
                columns[name] = pyarrow.array(X[:, j])
        return pyarrow.table(columns)

    def _as_csr(self, X):
        return sparse.csr_array(X)

    def _as_csc(self, X):
        return sparse.csc_array(X.astype(np.float32))

    def _as_csr_matrix(self, X):
        return sparse.csr_matrix(X)

    def _as_unsorted(self, X):
        """Stored zeros, and places in any order."""
        X = sparse.csr_array(X)
        for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            X.indices[start:end] = X.indices[start:end][::-1].copy()
            X.data[start:end] = X.data[start:end][::-1].copy()
        X.has_sorted_indices = False
        X.has_canonical_format = False
        return X


def draw_weights(rng, kind, n):
    weight = {
        "counts": lambda: rng.integers(0, 4, n).astype(float),
        "quarters": lambda: rng.integers(0, 9, n) / 4,
        "any": lambda: rng.uniform(0.3, 5.0, n),
        "heavy": lambda: rng.integers(1, 400, n).astype(float),
        "zeros": lambda: (rng.random(n) < 0.1).astype(float),
        "huge": lambda: rng.integers(1, 10, n) * 1e9,
        "tiny": lambda: rng.uniform(0.1, 1.0, n) * 1e-5,
        "extreme": lambda: 10.0 ** rng.uniform(-320, 308, n),
    }[kind]()
    return weight


def draw_table(draw, theme):
    """Draw the shape of a table that fits the theme of a sequence."""
    family = draw.weighted(
        {"array": 6, "object": 1.5, "pandas": 1, "polars": 0.5, "arrow": 0.5}
    )
    if theme == "sparse":
        family = "sparse"
    d = draw.one([1, 2, 2, 3, 3, 4, 5, 8, 20])
    kinds = [draw.one([*KINDS, "real", "ties", "binary"]) for _ in range(d)]
    if draw.chance(0.1) and family != "sparse":
        kinds[draw.whole(0, d - 1)] = "empty"
    if family == "sparse":
        some = draw.one([("zeros", "binary", "real"), ("zeros", "ties"), tuple(KINDS)])
        kinds = [draw.one(some) for _ in range(d)]
    categories = {}
    nominal_share = 0.0
    if theme == "competition":
        nominal_share = 0.8
    elif theme == "drift" or family not in ("array", "sparse"):
        nominal_share = draw.one([0.3, 1.0])
    elif family == "array" and draw.chance(NOMINAL.get(theme, 0.4)):
        nominal_share = 0.4
    for j in range(d):
        if draw.chance(nominal_share):
            categories[j] = draw_categories(draw, family)
            kinds[j] = "nominal"
    if (theme == "drift" or family not in ("array", "sparse")) and not categories:
        categories[0] = draw_categories(draw, family)
        kinds[0] = "nominal"
    k = draw.one([1, 2, 2, 2, 3, 3, 5, 30] if draw.chance(0.3) else [2, 2, 3])
    labels = LABELS[0] if draw.chance(0.6) else draw.one(LABELS)
    if k == 2 and draw.chance(0.05):
        labels = np.array([False, True])
    ways = ["indices", "mask"]
    if family in FRAMES:
        ways = ["indices", "mask", "names", "dtype", "dtype"]
    return Table(
        kinds=kinds,
        labels=labels[:k],
        categories=categories,
        family=family,
        signal=draw.one([0.0, 0.5, 1.5, 4.0]),
        nominal_as=draw.one(ways) if categories else draw.one(["none", "dtype"]),
        weights=draw.one(WEIGHTS) if draw.chance(0.35) else None,
        met=draw.one([0.3, 0.6, 1.0]),
        names=[f"column {j}" for j in range(d)],
    )


def draw_categories(draw, family):
    if family == "array":
        # codes are the values, so that arrays of numbers can hold them
        return [float(i) for i in range(draw.one([1, 2, 3, 6, 40, 300]))]
    if family == "object" and draw.chance(0.06):
        return TUPLES
    categories = draw.one(CATEGORIES)
    return categories[: draw.one([1, 2, 3, 6, 40, 700])]
