"""Node tables of any shape, without splits."""

import numpy as np
from skconftree.tree.nodes._node_table import NodeTable

from skconftree.tree.nodes._state import BY_CHANCE_DTYPE, STATE_VERSION


def node_table_of(parent, counts, shrinkage=0.0):
    """Make a table from the parents of its nodes and the counts of its leaves."""
    counts = np.asarray(counts, dtype=np.float64)
    table = NodeTable(1, counts.shape[1], keep_evidence=False, shrinkage=shrinkage)
    n_splits = len(np.unique(parent)) - 1  # without that of the root
    arrays = (
        np.asarray(parent, dtype=np.int32),
        counts.sum(axis=1).astype(np.intp),
        counts,
        np.zeros(len(counts)),
        np.zeros(n_splits, BY_CHANCE_DTYPE),
    )
    table.__setstate__((STATE_VERSION, *(array.tobytes() for array in arrays)))
    return table
