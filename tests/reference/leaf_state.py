"""What growing leaves remember, read from the state of their tree.

The layout is that of version 7 of the state: one record a leaf, in the order of
their nodes.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

NOTHING, ROWS, HISTOGRAM, GAUSSIAN, _, COUNTED_ROWS = range(6)
NOMINAL = 2  # kind of a feature's bins
REMOVED = -2  # parent of a row that is no node


@dataclass
class Leaf:
    node: int
    memory: int
    attempt: int
    n_inherited: int
    handed: bool  # all it holds are rows, and evidence
    dropped: bool  # rows that it has counted: X are the latest ones
    n_fresh: float
    n_examined: float
    n_held: float
    hits: np.ndarray
    fresh: np.ndarray
    held: np.ndarray
    recent: np.ndarray
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    first: np.ndarray | None = None  # bins: [d + 1]
    edges: np.ndarray | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    kind: np.ndarray | None = None
    missing: bool = False  # numeric features have a bin of missing values, the last
    histogram: np.ndarray | None = None  # [bins, K]
    fresh_histogram: np.ndarray | None = None
    moments: dict = field(default_factory=dict)  # class: (n, block of [4, d])
    fresh_moments: dict = field(default_factory=dict)
    known: dict = field(default_factory=dict)  # class: weight with a value, [d]
    fresh_known: dict = field(default_factory=dict)
    span: np.ndarray | None = None
    pool: np.ndarray | None = None
    box: np.ndarray | None = None
    volume: float = 1.0  # W

    def bins_of(self, feature):
        """Upper edges of a feature's bins of values, the last one infinite."""
        return self.edges[self._indices_of(feature)]

    def counts_of(self, feature, fresh=False):
        """Class counts of a feature's bins of values."""
        table = self.fresh_histogram if fresh else self.histogram
        return table[self._indices_of(feature)]

    def _indices_of(self, feature):
        end = self.first[feature + 1]
        if self.missing and self.kind[feature] != NOMINAL:
            end -= 1
        return slice(self.first[feature], end)


class Field(NamedTuple):
    """Where an array, or a header, of a leaf is in the bytes of all leaves."""

    node: int
    name: str
    begin: int
    end: int
    dtype: np.dtype


class _Reader:
    def __init__(self, data):
        self.data = data
        self.position = 0
        self.node = -1
        self.fields = []  # those that are not empty

    def take(self, name, dtype, *shape):
        dtype = np.dtype(dtype)
        n_bytes = dtype.itemsize * int(np.prod(shape))
        begin, end = self.position, self.position + n_bytes
        piece = self.data[begin:end]
        if n_bytes:
            self.fields.append(Field(self.node, name, begin, end, dtype))
        self.position += n_bytes
        return np.frombuffer(piece, dtype).reshape(shape).copy()

    def take_moments(self, d, K):
        moments, known = {}, {}
        if not self.take("has moments", np.uint8, 1)[0]:
            return moments, known
        n = self.take("weights of moments", np.float64, K + 1)
        for c in range(K + 1):
            kept = self.take("has moments", np.uint8, 1)[0]
            if kept:
                moments[c] = n[c], self.take("moments", np.float64, 4, d)
                known[c] = (
                    self.take("known", np.float64, d) if kept > 1 else np.full(d, n[c])
                )
        return moments, known


def _read_leaf(reader, node, d, K):
    reader.node = node
    integers = reader.take("header", np.int64, 13).tolist()
    numbers = reader.take("numbers", np.float64, 7)
    memory, attempt, n_rows, n_inherited, weighted, n_bins = integers[:6]
    histogram, fresh_histogram, span, box, missing, handed, dropped = integers[6:]
    leaf = Leaf(
        node=node,
        memory=memory,
        attempt=attempt,
        n_inherited=n_inherited,
        handed=bool(handed),
        dropped=bool(dropped),
        n_fresh=numbers[0],
        n_examined=numbers[1],
        n_held=numbers[2],
        hits=numbers[3:],
        fresh=reader.take("fresh", np.float64, K),
        held=reader.take("held", np.float64, K),
        recent=reader.take("recent", np.float64, K),
        X=reader.take("X", np.float32, n_rows, d),
        y=reader.take("y", np.uint16, n_rows),
        weight=reader.take("weight", np.float64, n_rows) if weighted else None,
    )
    if n_bins:
        leaf.first = np.append(reader.take("first", np.int32, d), n_bins)
        leaf.edges = reader.take("edges", np.float32, n_bins)
        leaf.low = reader.take("low", np.float32, d)
        leaf.high = reader.take("high", np.float32, d)
        leaf.kind = reader.take("kind", np.uint8, d)
        leaf.missing = bool(missing)
    if histogram:
        leaf.histogram = reader.take("histogram", np.float64, n_bins, K)
    if fresh_histogram:
        leaf.fresh_histogram = reader.take("fresh_histogram", np.float64, n_bins, K)
    leaf.moments, leaf.known = reader.take_moments(d, K)
    leaf.fresh_moments, leaf.fresh_known = reader.take_moments(d, K)
    if span:
        leaf.span = reader.take("span", np.float64, d, 2)
    if box:
        leaf.box = reader.take("box", np.float64, d, 2)
        leaf.volume = float(reader.take("volume", np.float64))
    return leaf


def bytes_of_leaves(state):
    """Return the place of the leaves in a grower's state, and their bytes."""
    i = next(i for i, value in enumerate(state) if isinstance(value, bytes))
    return i, state[i]


def read_leaves(model):
    """Return the leaves of a model that has learned by partial_fit, by node."""
    return _read(model.tree_, bytes_of_leaves(model._model.grower.__getstate__())[1])[0]


def fields_of_leaves(tree, data):
    """Return the fields of all leaves, in the order of their bytes."""
    return _read(tree, data)[1]


def _read(tree, data):
    reader = _Reader(data)
    leaves = {
        int(node): _read_leaf(reader, int(node), tree.n_features, tree.max_n_classes)
        for node in np.flatnonzero((tree.feature < 0) & (tree.parent != REMOVED))
    }
    assert reader.position == len(reader.data)
    return leaves, reader.fields
