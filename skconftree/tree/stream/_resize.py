"""Add classes and columns to the state of a growing tree.

The state of the leaves is described in `leaves/_leaf.pyx`: arrays in a fixed order,
whose sizes follow from the numbers of features and classes. All rows before have other
classes, and missing values in the new columns.
"""

from typing import NamedTuple

import numpy as np

from ...utils._codec import StateError
from ..nodes._state import NODE_ARRAYS
from ._state import GrowerState

HEADER = (
    "code attempt n_rows n_inherited has_weights n_bins has_histogram "
    "has_fresh_histogram has_extra has_box bins_missing inherits_evidence dropped"
).split()
N_NUMBERS = 7  # after the header
N_OPTIONS = 6  # of a tree with isotonic values: evidence, shrinkage, arrays it has
N_COUNTS = 3  # arrays of class counts of a leaf
CONTINUOUS, NOMINAL = 0, 2  # kinds of bins
CATEGORY_CAPACITY = 4  # bins of a nominal column with one category
FULL, EMPTY = -2, -1  # new bins: with all rows, and without rows
NOT_RESIZABLE = (
    "columns cannot be added to a forest, nor to a tree with X_pool or with "
    "leaf_memory='gaussian'"
)


class Resizing(NamedTuple):
    """New numbers of classes and features.

    `classes_at` are the new indices of the old classes. `is_nominal` has an entry
    for each new column. `class_weight` are all class weights, None if they are all 1.
    """

    n_features: int  # old number
    classes_at: np.ndarray
    n_classes: int
    is_nominal: tuple[bool, ...] = ()
    class_weight: np.ndarray | None = None

    @property
    def n_old_classes(self):
        """Number of old classes."""
        return len(self.classes_at)

    def counts(self, array):
        """Add classes without rows along the last axis."""
        resized = np.zeros((*array.shape[:-1], self.n_classes), dtype=array.dtype)
        resized[..., self.classes_at] = array
        return resized

    def tree(self, written):
        """Resize the result of `write_nodes`."""
        (_, _, weights, *options), (version, *arrays) = written
        d = self.n_features + len(self.is_nominal)
        weights = tuple(self._weights(weights).tolist())
        resized = [NODE_ARRAYS.index("counts")]
        if len(options) == N_OPTIONS:  # the values of a monotonic tree are the last
            resized.append(len(NODE_ARRAYS) + sum(options[2:-1]))
        for index in resized:
            arrays[index] = self._bytes_of_counts(arrays[index])
        return (d, self.n_classes, weights, *options), (version, *arrays)

    def _weights(self, weights):
        # Class weights do not change; those of new classes are the present parameter.
        new = self.class_weight
        new = np.ones(self.n_classes) if new is None else new.copy()
        new[self.classes_at] = weights
        return new

    def _bytes_of_counts(self, data):
        counts = np.frombuffer(data).reshape(-1, self.n_old_classes)
        return self.counts(counts).tobytes()

    def recipe(self, values):
        """Resize `Recipe.values`."""
        d, n_new = self.n_features, len(self.is_nominal)
        weights = values["class_weight"]
        new = [d + i for i, nominal in enumerate(self.is_nominal) if nominal]
        settings = dict(values["settings"])
        if n_new:
            no_pool = values["X_pool"] is None and values["box"] is None
            if values["in_forest"] or settings["gaussian"] or not no_pool:
                raise StateError(NOT_RESIZABLE)
            if settings.get("monotonic_cst") is not None:
                settings["monotonic_cst"] += (0,) * n_new
            if settings["max_features"] == d:
                settings["max_features"] = d + n_new
        return values | {
            "settings": settings,
            "class_weight": None if weights is None else self._weights(weights),
            "nominal": (*values["nominal"], *new),
        }

    def grower(self, state, subset_size=0):
        """Resize the state of a grower, with trees that may replace its parts."""
        version, *parts = state
        parts = GrowerState(*parts)
        n_codes = parts.n_codes
        if self.is_nominal and (n_codes is not None or any(self.is_nominal)):
            n_codes = (-1,) * self.n_features if n_codes is None else n_codes
            n_codes += tuple(1 if nominal else -1 for nominal in self.is_nominal)
        background, monitors = parts.background, parts.monitors
        if background is not None:
            tree, growth = background
            background = self.tree(tree), self.grower(growth, subset_size)
        if monitors is not None:
            monitors = monitors[0], self._bytes_of_counts(monitors[1])
        challengers = tuple(
            (*entry[:4], self.tree(entry[4]), self.grower(entry[5], subset_size))
            for entry in parts.challengers
        )
        parts = parts._replace(
            leaves=_Leaves(self, subset_size).resized(parts.leaves),
            background=background,
            missing=parts.missing or not all(self.is_nominal),
            n_codes=n_codes,
            monitors=monitors,
            challengers=challengers,
        )
        return (version, *parts)


def resized_model(state, resizing):
    """Resize the state of a tree's model, except for its schema and classes."""
    grower, counts = state["grower"], state["honest_counts"]
    if grower is not None:
        values, growth = grower
        max_features = values["settings"]["max_features"] or resizing.n_features
        has_subsets = values["in_forest"] and max_features < resizing.n_features
        size = max_features if has_subsets else 0
        grower = [resizing.recipe(values), resizing.grower(growth, size)]
    resolved = dict(state["resolved"])
    if resolved["max_features"] == resizing.n_features:
        resolved["max_features"] += len(resizing.is_nominal)
    return state | {
        "tree": resizing.tree(state["tree"]),
        "grower": grower,
        "honest_counts": None if counts is None else resizing.counts(counts),
        "resolved": resolved,
    }


class _Leaves:
    """Resizes the leaves of a state one after the other."""

    def __init__(self, resizing, subset_size):
        self._resizing, self._subset_size = resizing, subset_size
        self._n_features = subset_size or resizing.n_features
        self._data, self._at, self._written = b"", 0, []

    def resized(self, data):
        """Return the bytes of the resized leaves."""
        self._data = data
        while self._at < len(data):
            self._leaf()
            if self._subset_size:
                (has_inherited_model,) = self._copy(np.int64, 1)
                if has_inherited_model:
                    self._leaf()
        return b"".join(self._written)

    def _take(self, dtype, *shape):
        count = int(np.prod(shape))
        array = np.frombuffer(self._data, dtype, count, self._at).reshape(shape)
        self._at += array.nbytes
        return array

    def _put(self, array, *columns):
        # `columns` are appended along the last axis.
        for column in columns:
            column = np.full((*array.shape[:-1], 1), column, dtype=array.dtype)
            array = np.concatenate([array, column], axis=-1)
        self._written.append(array.tobytes())

    def _copy(self, dtype, *shape):
        array = self._take(dtype, *shape)
        self._put(array)
        return array

    def _leaf(self):
        resizing, d, K = self._resizing, self._n_features, self._resizing.n_old_classes
        nominal = resizing.is_nominal
        if self._subset_size:
            self._copy(np.uint64, 1)  # seed of its features
        header = self._take(np.int64, len(HEADER))
        fields = dict(zip(HEADER, header.tolist(), strict=True))
        if nominal and (fields["has_extra"] or fields["has_box"]):
            raise StateError(NOT_RESIZABLE)
        header, index = header.copy(), len(self._written)
        self._put(header)
        self._copy(np.float64, N_NUMBERS)
        counts = self._take(np.float64, N_COUNTS, K)
        self._put(resizing.counts(counts))
        n = fields["n_rows"]
        # the missing category of a new column has code 0
        values = [0.0 if is_nominal else np.nan for is_nominal in nominal]
        self._put(self._take(np.float32, n, d), *values)
        self._put(resizing.classes_at[self._take(np.uint16, n)].astype(np.uint16))
        if fields["has_weights"]:
            self._copy(np.float64, n)
        if fields["n_bins"]:
            self._bins(fields, header, counts)
            self._written[index] = header.tobytes()
        for _ in range(2):
            self._moments()
        if fields["has_extra"]:
            self._copy(np.float64, 2 * d)
        if fields["has_box"]:
            self._copy(np.float64, 2 * resizing.n_features + 1)

    def _bins(self, fields, header, counts):
        # Updates the header. Bins come from those before; new ones have no rows, or all
        # rows if they are for missing values.
        d, K, n_bins = self._n_features, self._resizing.n_old_classes, fields["n_bins"]
        nominal = self._resizing.is_nominal
        first = np.append(self._take(np.int32, d), n_bins)
        edges = self._take(np.float32, n_bins)
        low, high = self._take(np.float32, d), self._take(np.float32, d)
        kinds = self._take(np.uint8, d)
        adds_missing = not (all(nominal) or fields["bins_missing"])
        sources, starts = [], []  # of the bins, and first bins of the columns
        for f in range(d):
            starts.append(len(sources))
            sources += range(first[f], first[f + 1])
            if adds_missing and kinds[f] != NOMINAL:
                sources.append(EMPTY)
        edges = np.append(edges, [np.inf, np.inf])[sources]  # EMPTY and FULL are last
        for is_nominal in nominal:
            starts.append(len(sources))
            new = [EMPTY, FULL]
            if is_nominal:
                new = [FULL, *[EMPTY] * (CATEGORY_CAPACITY - 1)]
            sources += new
            edges = np.append(
                edges, np.arange(len(new)) if is_nominal else [np.inf] * 2
            )
        header[HEADER.index("n_bins")] = len(sources)
        header[HEADER.index("bins_missing")] |= adds_missing
        self._put(np.array(starts, dtype=np.int32))
        self._put(edges.astype(np.float32))
        for limits in (low, high):
            self._put(limits, *[0.0] * len(nominal))
        self._put(
            kinds, *[NOMINAL if is_nominal else CONTINUOUS for is_nominal in nominal]
        )
        for name, total in (("has_histogram", 1), ("has_fresh_histogram", 0)):
            if fields[name]:
                histogram = self._take(np.float64, n_bins, K)
                rows = np.concatenate([histogram, [counts[total]], np.zeros((1, K))])
                self._put(self._resizing.counts(rows[sources]))

    def _moments(self):
        resizing, d, K = self._resizing, self._n_features, self._resizing.n_old_classes
        n_new = len(resizing.is_nominal)
        (has_moments,) = self._copy(np.uint8, 1)
        if not has_moments:
            return
        n = self._take(np.float64, K + 1)
        self._put(np.append(resizing.counts(n[:-1]), n[-1]))
        blocks = [b"\0"] * resizing.n_classes + [b"\0"]
        written, self._written = self._written, []
        for c in range(K + 1):
            (n_parts,) = self._take(np.uint8, 1)
            block = self._take(np.float64, 4 if n_parts else 0, d)
            known = self._take(np.float64, d) if n_parts > 1 else np.full(d, n[c])
            n_parts = max(n_parts, 2) if n_parts and n_new else n_parts
            self._put(np.array([n_parts], dtype=np.uint8))
            self._put(block, *[0.0] * n_new)
            if n_parts > 1:
                self._put(known, *[0.0] * n_new)
            index = -1 if c == K else resizing.classes_at[c]
            blocks[index] = b"".join(self._written)
            self._written = []
        self._written = [*written, *blocks]
