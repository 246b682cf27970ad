"""Whether real rows prefer the questions of an imitation to those of other columns."""

import numpy as np

from .._compat import _safe_indexing
from ._classes import ConfidenceTreeClassifier


def real_rivals(tree, rows, codes, weight, n_real):
    """Compare the test of each node with the best one of another column.

    All rows choose the tests, as they did when the tree grew; the real ones among them
    tell whether their gains differ.

    The first `n_real` of the rows, from which the tree has grown, are real. Gives for
    each node the column of the other test, below 0 without one, and by how many
    standard errors the gain of the node's test is larger, NaN if nothing was to be
    compared.
    """
    nodes = tree.tree_
    rivals = nodes.evidence["rival_feature"].astype(np.intp)
    z = np.full(nodes.node_count, np.nan)
    paths = tree.decision_path(rows).tocsc()
    is_nominal = tree.is_categorical_
    columns = {}
    for node in np.flatnonzero(rivals >= 0).tolist():
        rival = int(rivals[node])
        if rival not in columns:
            column = _safe_indexing(rows, [rival], axis=1)
            columns[rival] = column.tocsr() if hasattr(column, "tocsr") else column
        here = np.sort(_of_node(paths, node))
        first = np.empty(len(here), dtype=np.intp)
        for place, child in enumerate(nodes.children(node).tolist()):
            first[np.searchsorted(here, _of_node(paths, child))] = place
        column = _safe_indexing(columns[rival], here)
        nominal = is_nominal is not None and is_nominal[rival]
        other = ConfidenceTreeClassifier(
            bound=None,
            criterion="entropy",
            max_depth=1,
            pruning=None,
            categorical_features=[0] if nominal else None,
            sample_weight_kind="frequency",
        ).fit(column, codes[here], sample_weight=weight[here])
        if other.get_n_leaves() < 2:
            continue
        n = np.searchsorted(here, n_real)
        z[node] = _preference(
            first[:n], other.apply(column)[:n], codes[here[:n]], weight[here[:n]]
        )
    return rivals, z


def _of_node(paths, node):
    return paths.indices[paths.indptr[node] : paths.indptr[node + 1]]


def _preference(first, second, codes, weight):
    # Standard errors by which the first test gains more. A row's part in a gain is the
    # logarithm of the share of its class among the rows that go the same way.
    if not len(codes):
        return np.nan
    difference = _log_share(first, codes, weight) - _log_share(second, codes, weight)
    n = weight.sum()
    mean = (weight * difference).sum() / n
    variance = (weight * difference**2).sum() / n - mean**2
    if variance <= 1e-14:  # both part the rows in the same way
        return 0.0
    return mean * np.sqrt(n / variance)


def _log_share(side, codes, weight):
    joint = np.zeros((side.max() + 1, codes.max() + 1))
    np.add.at(joint, (side, codes), weight)
    here = joint[side, codes]
    return np.log(here / joint.sum(axis=1)[side])
