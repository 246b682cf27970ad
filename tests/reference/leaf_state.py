"""What growing leaves remember, read from the state of their tree.

The layout is that of version 1 of the state: one record a leaf, in the order of
their nodes.
"""

from dataclasses import dataclass, field

import numpy as np

NOTHING, ROWS, HISTOGRAM, GAUSSIAN = range(4)
NOMINAL = 2  # kind of a feature's bins


@dataclass
class Leaf:
    node: int
    memory: int
    attempt: int
    n_inherited: int
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
        return self.edges[self._places_of(feature)]

    def counts_of(self, feature, fresh=False):
        """Class counts of a feature's bins of values."""
        table = self.fresh_histogram if fresh else self.histogram
        return table[self._places_of(feature)]

    def _places_of(self, feature):
        end = self.first[feature + 1]
        if self.missing and self.kind[feature] != NOMINAL:
            end -= 1
        return slice(self.first[feature], end)


class _Reader:
    def __init__(self, data):
        self.data = data
        self.position = 0
        self.fields = []  # begin and end of each that is not empty

    def take(self, dtype, *shape):
        dtype = np.dtype(dtype)
        n_bytes = dtype.itemsize * int(np.prod(shape))
        piece = self.data[self.position : self.position + n_bytes]
        if n_bytes:
            self.fields.append((self.position, self.position + n_bytes))
        self.position += n_bytes
        return np.frombuffer(piece, dtype).reshape(shape).copy()

    def take_moments(self, d, K):
        moments, known = {}, {}
        if not self.take(np.uint8, 1)[0]:
            return moments, known
        n = self.take(np.float64, K + 1)
        for c in range(K + 1):
            kept = self.take(np.uint8, 1)[0]
            if kept:
                moments[c] = n[c], self.take(np.float64, 4, d)
                known[c] = self.take(np.float64, d) if kept > 1 else np.full(d, n[c])
        return moments, known


def _read_leaf(reader, node, d, K):
    integers = reader.take(np.int64, 11).tolist()
    numbers = reader.take(np.float64, 7)
    memory, attempt, n_rows, n_inherited, weighted, n_bins = integers[:6]
    histogram, fresh_histogram, span, box, missing = integers[6:]
    leaf = Leaf(
        node=node,
        memory=memory,
        attempt=attempt,
        n_inherited=n_inherited,
        n_fresh=numbers[0],
        n_examined=numbers[1],
        n_held=numbers[2],
        hits=numbers[3:],
        fresh=reader.take(np.float64, K),
        held=reader.take(np.float64, K),
        recent=reader.take(np.float64, K),
        X=reader.take(np.float32, n_rows, d),
        y=reader.take(np.uint16, n_rows),
        weight=reader.take(np.float64, n_rows) if weighted else None,
    )
    if n_bins:
        leaf.first = np.append(reader.take(np.int32, d), n_bins)
        leaf.edges = reader.take(np.float32, n_bins)
        leaf.low = reader.take(np.float32, d)
        leaf.high = reader.take(np.float32, d)
        leaf.kind = reader.take(np.uint8, d)
        leaf.missing = bool(missing)
    if histogram:
        leaf.histogram = reader.take(np.float64, n_bins, K)
    if fresh_histogram:
        leaf.fresh_histogram = reader.take(np.float64, n_bins, K)
    leaf.moments, leaf.known = reader.take_moments(d, K)
    leaf.fresh_moments, leaf.fresh_known = reader.take_moments(d, K)
    if span:
        leaf.span = reader.take(np.float64, d, 2)
    if box:
        leaf.box = reader.take(np.float64, d, 2)
        leaf.volume = float(reader.take(np.float64))
    return leaf


def bytes_of_leaves(state):
    """Return the place of the leaves in a grower's state, and their bytes."""
    i = next(i for i, value in enumerate(state) if isinstance(value, bytes))
    return i, state[i]


def read_leaves(model):
    """Return the leaves of a model that has learnt by partial_fit, by node."""
    return _read(model.tree_, bytes_of_leaves(model._grower.__getstate__())[1])[0]


def fields_of_leaves(tree, data):
    """Return where the arrays and headers of leaves are in their bytes."""
    return _read(tree, data)[1]


def _read(tree, data):
    reader = _Reader(data)
    leaves = {
        int(node): _read_leaf(reader, int(node), tree.n_features, tree.n_classes)
        for node in np.flatnonzero(tree.feature < 0)
    }
    assert reader.position == len(reader.data)
    return leaves, reader.fields
