"""Invariants of the memories of growing leaves."""

import numpy as np
from reference.leaf_state import NOMINAL, read_leaves

from skconftree.tree.stream._state import GrowerState

from .failures import require

CODES = 1 + GrowerState._fields.index("n_codes")  # behind the version
ROUNDING = 1e-6  # of sums


def valid_leaves(model):
    """Rows, bins and counts of each leaf of a model that grows fit each other."""
    if model._model.grower.recipe.in_forest:
        return  # which the reader does not know, and no tree but that of a forest does
    tree = model.tree_
    n_codes = model._model.grower.__getstate__()[CODES]
    n_codes = np.full(tree.n_features, -1) if n_codes is None else np.array(n_codes)
    for leaf in read_leaves(model).values():
        _sums(leaf)
        _rows(leaf, tree.max_n_classes, n_codes)
        if leaf.first is not None:
            _bins(leaf, n_codes, model._model.grower.recipe.settings.max_bins)
        for table, counts in (
            (leaf.histogram, leaf.held),
            (leaf.fresh_histogram, leaf.fresh),
        ):
            if table is not None:
                _counts(leaf, table, counts)


def _sums(leaf):
    for counts, n in ((leaf.fresh, leaf.n_fresh), (leaf.held, leaf.n_held)):
        require(np.isfinite(counts).all() and (counts >= 0.0).all(), "counts of a leaf")
        require(
            abs(counts.sum() - n) <= ROUNDING * n,
            "classes of a leaf do not sum to its weight",
            lambda counts=counts, n=n: f"{counts}, {n}",
        )


def _rows(leaf, n_classes, n_codes):
    require((leaf.y < n_classes).all(), "a row of a leaf has a class that is none")
    if not len(leaf.y):
        return
    weight = np.ones(len(leaf.y)) if leaf.weight is None else leaf.weight
    held = np.bincount(leaf.y, weight, n_classes)
    require(np.allclose(held, leaf.held, rtol=ROUNDING), "rows of a leaf are not held")
    codes = leaf.X[:, n_codes >= 0]
    require(
        ((codes >= 0.0) & (codes < n_codes[n_codes >= 0])).all(),
        "a row of a leaf has a category that is none",
    )


def _bins(leaf, n_codes, most):
    require(
        leaf.first[0] == 0 and (np.diff(leaf.first) > 0).all(),
        "bins of a leaf's columns",
    )
    require(
        np.array_equal(leaf.kind == NOMINAL, n_codes >= 0)
        and (leaf.kind <= NOMINAL).all(),
        "kinds of a leaf's columns",
    )
    for feature, n in enumerate(n_codes):
        edges = leaf.bins_of(feature)
        require((np.diff(edges) > 0).all(), "cuts of a leaf's column")
        if n < 0:
            require(edges[-1] == np.inf, "the last bin of a leaf's column has an end")
        # there is room for the next power of two
        room = most if n < 0 else max(4, 2 * n)
        require(len(edges) <= room, "more bins than a leaf may have")
    require(np.isfinite([leaf.low, leaf.high]).all(), "limits of a leaf's columns")


def _counts(leaf, table, counts):
    # of each column; rows may lack a value
    require(np.isfinite(table).all() and (table >= 0.0).all(), "counts of bins")
    found = np.add.reduceat(table, leaf.first[:-1], axis=0)
    require(
        (found - counts <= ROUNDING * (1.0 + counts)).all(),
        "bins of a leaf know more rows than it",
        lambda: f"{found}, {counts}",
    )
