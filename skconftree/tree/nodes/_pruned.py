"""The nodes that are left when some of a tree become leaves."""

import numpy as np

from ._derived import first_children
from ._node_state import COSTS, REFUSED
from ._structure import structure_of, survivors


def prune_nodes(arrays, keep_as_leaf):
    """Arrays of the nodes that are left.

    Parameters
    ----------
    arrays : dict of str to ndarray
        Of the whole tree. Structure and tests may be those of a tree in which subtrees
        have taken the place of their parents; ``arrays["parent"]`` still tells which
        nodes were siblings, and so which evidence is whose.
    keep_as_leaf : array-like of shape (node_count,), bool

    Returns
    -------
    arrays : dict of str to ndarray
        Without those of tests.
    kept : ndarray of intp
        Their ids in the whole tree.
    leaf : ndarray of bool
        Which of them are leaves.
    """
    n = len(arrays["parent"])
    leaf = np.array(keep_as_leaf, dtype=np.bool_)
    if leaf.shape != (n,):
        raise ValueError(f"keep_as_leaf must have shape ({n},), got {leaf.shape}.")
    leaf |= arrays["n_children"] == 0
    kept, parent = survivors(
        arrays["first_child"], arrays["n_children"], leaf.view(np.uint8)
    )
    leaf = leaf[kept]
    found = {
        name: arrays[name][kept]
        for name in ("n_node_samples", "counts", "impurity", REFUSED)
        if name in arrays
    }
    found["parent"] = parent
    first = np.sort(arrays["first_child"][kept][~leaf])
    place = np.searchsorted(first_children(arrays["parent"]), first)
    for name in ("evidence", COSTS):
        if name in arrays:
            found[name] = arrays[name][place]
    found.update(structure_of(found["parent"]))
    return found, kept, leaf
