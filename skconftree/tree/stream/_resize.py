"""Add classes and columns to the state of a tree that is trained row by row.

The state of a tree is the data in its pickle. That of the leaves is described in
`leaves/_leaf.pyx`: arrays in a fixed order, whose sizes follow from the numbers of
features and classes. The rows that the tree has
learned so far do not have the new classes, and miss the values of the new columns. A
*grower* trains a tree row by row, from a *recipe*, its arguments. After a drift
warning, a *background* tree is trained, which may replace the whole tree. *Challengers*
may replace subtrees, and *monitors* have the errors of nodes. `X_pool` are unlabeled
rows. A *cut* is a threshold that a split may use, and the *box* of a leaf its limits in
feature space. The *memory* of a leaf has its rows or their statistics, such as moments
(mean and variance). `honest_counts` are class counts of held-out rows.
"""

from typing import NamedTuple

import numpy as np

from ..leaves._rows import drawn_features
from ..nodes._state import NODE_ARRAYS
from ._state import GrowerState

# Header of a leaf: code of its memory, number of split attempts, numbers of rows, and
# whether it has each optional part. *Inherited* rows are those of its parent, which may
# count as evidence for a split; *fresh* statistics are of later rows only; `extra` is
# further data of a memory; rows are *dropped* if only the latest ones are stored.
HEADER = (
    "code attempt n_rows n_inherited has_weights n_bins has_histogram "
    "has_fresh_histogram has_extra has_box bins_missing inherits_evidence dropped"
).split()
N_NUMBERS = 7  # floats of a leaf, after its header
# Options among the arguments of a monotonic tree: evidence, shrinkage, arrays it has.
N_OPTIONS = 6
N_COUNTS = 3  # arrays of class counts of a leaf
# Kinds of bins: intervals, one per distinct value, and one per category.
CONTINUOUS, DISCRETE, NOMINAL = 0, 1, 2
CATEGORY_CAPACITY = 4  # bins of a nominal column with one category
FULL, EMPTY = -2, -1  # new bins: with all rows, and without rows
ROWS, GAUSSIAN = 1, 3  # codes of memories whose bins only count categories
ABSENT = [0.0, 0.0, np.inf, -np.inf]  # moments of a column without values


class Resizing(NamedTuple):
    """New numbers of classes and features.

    `pools` has the resized tables of unlabeled rows, which the trees of a forest share;
    it is empty at first. `classes_at` has the new index of each old class. `is_nominal`
    has an entry for each new column. `class_weight` has the weights of all classes, or
    is None if they are all 1.
    """

    pools: dict
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
        """Resize a tree that was written by `write_nodes` (nodes/_derived.py)."""
        # the first two are the numbers of features and of classes
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
        # The weights of old classes do not change; those of new classes come from the
        # current value of the parameter `class_weight`.
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
        settings, pool, box = dict(values["settings"]), values["X_pool"], values["box"]
        n_first = values["n_first"]
        if n_new:
            if settings.get("monotonic_cst") is not None:
                settings["monotonic_cst"] += (0,) * n_new
            if settings["max_features"] == d:
                settings["max_features"] = d + n_new
            elif values["in_forest"] and settings["max_features"] and n_first is None:
                n_first = d
        if n_new and pool is not None:
            if id(pool) not in self.pools:
                gaps = np.tile(_missing(self.is_nominal), (len(pool), 1))
                self.pools[id(pool)] = pool, np.hstack([pool, gaps])
            _, pool = self.pools[id(pool)]
        return values | {
            "settings": settings,
            "class_weight": None if weights is None else self._weights(weights),
            "nominal": (*values["nominal"], *new),
            "X_pool": pool,
            "box": None if box is None else np.vstack([box, np.zeros((n_new, 2))]),
            "n_first": n_first,
        }

    def resolved(self, values):
        """Resize resolved values of parameters such as `max_features`."""
        is_all = values["max_features"] == self.n_features
        n_new = len(self.is_nominal) if is_all else 0
        return values | {"max_features": values["max_features"] + n_new}

    def grower(self, state, *leaf_arguments):
        """Resize the state of a grower, with trees that may replace its parts.

        `leaf_arguments` are the arguments of `_Leaves` after `resizing`.
        """
        version, *parts = state
        parts = GrowerState(*parts)
        n_codes = parts.n_codes
        # number of categories of each feature, -1 if numeric; None: all are numeric
        if self.is_nominal and (n_codes is not None or any(self.is_nominal)):
            n_codes = (-1,) * self.n_features if n_codes is None else n_codes
            n_codes += tuple(1 if nominal else -1 for nominal in self.is_nominal)
        background, monitors = parts.background, parts.monitors
        if background is not None:
            tree, growth = background
            background = self.tree(tree), self.grower(growth, *leaf_arguments)
        if monitors is not None:
            monitors = monitors[0], self._bytes_of_counts(monitors[1])
        # entries 4 and 5 are the tree and the state of its growth
        challengers = tuple(
            (*entry[:4], self.tree(entry[4]), self.grower(entry[5], *leaf_arguments))
            for entry in parts.challengers
        )
        parts = parts._replace(
            leaves=_Leaves(self, *leaf_arguments).resized(parts.leaves),
            background=background,
            missing=parts.missing or not all(self.is_nominal),
            n_codes=n_codes,
            monitors=monitors,
            challengers=challengers,
        )
        return (version, *parts)


def resized_model(state, resizing):
    """Resize the state of a tree's model, except for its classes and its schema.

    The schema describes the columns.
    """
    grower, counts = state["grower"], state["honest_counts"]
    if grower is not None:
        values, growth = grower
        max_features = values["settings"]["max_features"] or resizing.n_features
        has_subsets = values["in_forest"] and max_features < resizing.n_features
        size = max_features if has_subsets else 0
        recipe = resizing.recipe(values)
        n_first = recipe["n_first"] or resizing.n_features
        bound = values["settings"]["bound"]
        # whether the cuts of a leaf must stay the same
        fixed_cuts = bound is not None and bound.fixed_cuts
        grower = [recipe, resizing.grower(growth, size, n_first, fixed_cuts)]
    return state | {
        "tree": resizing.tree(state["tree"]),
        "grower": grower,
        "honest_counts": None if counts is None else resizing.counts(counts),
        "resolved": resizing.resolved(state["resolved"]),
    }


def _missing(is_nominal):
    # Values of the new columns in earlier rows: NaN, or 0, the code of the category of
    # missing values.
    return np.where(is_nominal, np.float32(0.0), np.float32(np.nan))


class _Leaves:
    """Resizes the leaves of a state one after the other.

    A leaf uses `subset_size` features, or all if it is 0. The first `n_first` features
    existed from the start. `_retained` are the old features that a leaf still uses.
    `_new` has an entry for each of its new features: whether it is nominal.
    """

    def __init__(self, resizing, subset_size, n_first, fixed_cuts):
        self._resizing, self._subset_size = resizing, subset_size
        self._n_first, self._fixed_cuts = n_first, fixed_cuts
        self._n_features = subset_size or resizing.n_features
        self._retained, self._new = np.arange(self._n_features), resizing.is_nominal
        self._data, self._position, self._written = b"", 0, []

    def resized(self, data):
        """Return the bytes of the resized leaves."""
        self._data = data
        while self._position < len(data):
            self._leaf()
            if self._subset_size:
                (has_inherited_model,) = self._copy(np.int64, 1)
                if has_inherited_model:  # the parent's statistics, written as a leaf
                    self._leaf()
        return b"".join(self._written)

    def _take(self, dtype, *shape):
        count = int(np.prod(shape))
        array = np.frombuffer(self._data, dtype, count, self._position).reshape(shape)
        self._position += array.nbytes
        return array

    def _put(self, array):
        self._written.append(array.tobytes())

    def _put_columns(self, array, new):
        # The last axis is that of the features. `new` is the value of all new features,
        # or has a value for each of them.
        shape = (*array.shape[:-1], len(self._new))
        added = np.broadcast_to(np.asarray(new, dtype=array.dtype), shape)
        self._put(np.concatenate([array[..., self._retained], added], axis=-1))

    def _copy(self, dtype, *shape):
        array = self._take(dtype, *shape)
        self._put(array)
        return array

    def _draw(self):
        # Set the features of the leaf, some of which are replaced by new ones.
        (key,) = self._copy(np.uint64, 1).tolist()
        n, d = self._subset_size, self._resizing.n_features
        nominal = self._resizing.is_nominal
        old, new = (
            drawn_features(key, n, self._n_first, n_features)
            for n_features in (d, d + len(nominal))
        )
        self._retained = np.flatnonzero(np.isin(old, new))
        self._new = tuple(nominal[f - d] for f in new[new >= d].tolist())

    def _leaf(self):
        # Read a leaf, and write it with the new classes and features.
        resizing, d, K = self._resizing, self._n_features, self._resizing.n_old_classes
        if self._subset_size:
            self._draw()
        header = self._take(np.int64, len(HEADER))
        fields = dict(zip(HEADER, header.tolist(), strict=True))
        header, index = header.copy(), len(self._written)
        self._put(header)
        self._copy(np.float64, N_NUMBERS)
        counts = self._take(np.float64, N_COUNTS, K)
        self._put(resizing.counts(counts))
        n = fields["n_rows"]
        self._put_columns(self._take(np.float32, n, d), _missing(self._new))
        self._put(resizing.classes_at[self._take(np.uint16, n)].astype(np.uint16))
        if fields["has_weights"]:
            self._copy(np.float64, n)
        if fields["n_bins"]:
            self._bins(fields, header, counts)
        position = len(self._written)
        has_moments, has_fresh_moments = self._moments(), self._moments()
        if (
            has_moments
            and not fields["n_bins"]
            and any(self._new)
            and (fields["code"] == GAUSSIAN or not self._fixed_cuts)
        ):  # its first nominal columns: add bins that count categories
            written, self._written = self._written, self._written[:position]
            fields |= {"has_histogram": 1, "has_fresh_histogram": has_fresh_moments}
            self._bins(fields, header, counts)
            self._written += written[position:]
        self._written[index] = header.tobytes()
        if fields["has_extra"]:  # no cuts of new columns
            self._put(self._take(np.float64, d, 2)[self._retained])
            self._put(np.zeros((len(self._new), 2)))
        if fields["has_box"]:
            self._copy(np.float64, resizing.n_features, 2)
            self._put(np.zeros((len(resizing.is_nominal), 2)))
            self._copy(np.float64, 1)

    def _bins(self, fields, header, counts):
        # Resize the bins of the leaf, and update its header. New bins are empty, except
        # for those of missing values, which have all rows.
        d, K, n_bins = self._n_features, self._resizing.n_old_classes, fields["n_bins"]
        if fields["n_bins"]:
            first = np.append(self._take(np.int32, d), n_bins)
            edges = self._take(np.float32, n_bins)
            low, high = self._take(np.float32, d), self._take(np.float32, d)
            kinds = self._take(np.uint8, d)
        else:  # without nominal columns, each column has one bin, which is not used
            first, edges = np.arange(d + 1), np.full(d, np.inf, dtype=np.float32)
            low = high = np.zeros(d, dtype=np.float32)
            kinds = np.full(d, DISCRETE, dtype=np.uint8)
        only_categories = fields["code"] in (ROWS, GAUSSIAN) and fields["has_histogram"]
        adds_missing = not (
            only_categories or all(self._resizing.is_nominal) or fields["bins_missing"]
        )
        kind, new_bins = CONTINUOUS, [EMPTY, FULL]
        if only_categories:
            kind, new_bins = DISCRETE, [EMPTY]
        # for each bin the old bin, EMPTY or FULL; and the first bin of each column
        sources, starts = [], []
        for f in self._retained:
            starts.append(len(sources))
            sources += range(first[f], first[f + 1])
            if adds_missing and kinds[f] != NOMINAL:
                sources.append(EMPTY)
        edges = np.append(edges, [np.inf, np.inf])[sources]  # EMPTY and FULL are last
        for is_nominal in self._new:
            starts.append(len(sources))
            new = new_bins
            if is_nominal:
                new = [FULL, *[EMPTY] * (CATEGORY_CAPACITY - 1)]
            sources += new
            ends = np.arange(len(new)) if is_nominal else np.full(len(new), np.inf)
            edges = np.append(edges, ends)
        fields |= {
            "n_bins": len(sources),
            "bins_missing": fields["bins_missing"] | adds_missing,
        }
        header[:] = [fields[name] for name in HEADER]
        self._put(np.array(starts, dtype=np.int32))
        self._put(edges.astype(np.float32))
        for limits in (low, high):
            self._put_columns(limits, 0.0)
        self._put_columns(
            kinds, [NOMINAL if is_nominal else kind for is_nominal in self._new]
        )
        # `counts` has the class counts of fresh rows, of all rows, and of recent rows
        for name, total in (("has_histogram", 1), ("has_fresh_histogram", 0)):
            if fields[name]:
                histogram = np.zeros((d, K))
                if n_bins:
                    histogram = self._take(np.float64, n_bins, K)
                rows = np.concatenate([histogram, [counts[total]], np.zeros((1, K))])
                self._put(self._resizing.counts(rows[sources]))

    def _moments(self):
        # Resize the moments of a leaf; returns whether it has any. A class without rows
        # has no block, the array of its moments (`n_parts` is 0). If some rows miss
        # values (2), `known` has the weight of the rows with a value of each column.
        resizing, d, K = self._resizing, self._n_features, self._resizing.n_old_classes
        (has_moments,) = self._copy(np.uint8, 1)
        if not has_moments:
            return False
        n = self._take(np.float64, K + 1)
        self._put(np.append(resizing.counts(n[:-1]), n[-1]))
        blocks = [b"\0"] * resizing.n_classes + [b"\0"]
        written, self._written = self._written, []
        for c in range(K + 1):
            (n_parts,) = self._take(np.uint8, 1)
            block = self._take(np.float64, 4 if n_parts else 0, d)
            known = self._take(np.float64, d) if n_parts > 1 else np.full(d, n[c])
            n_parts = max(n_parts, 2) if n_parts and self._new else n_parts
            self._put(np.array([n_parts], dtype=np.uint8))
            self._put_columns(block, np.reshape(ABSENT, (4, 1))[: len(block)])
            if n_parts > 1:
                self._put_columns(known, 0.0)
            index = -1 if c == K else resizing.classes_at[c]
            blocks[index] = b"".join(self._written)
            self._written = []
        self._written = [*written, *blocks]
        return True
