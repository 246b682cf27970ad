"""What the state of an NCM tree adds to that of its nodes, and whether it is sound."""

import numpy as np

from ...utils._codec import damaged

TEST_DTYPE = np.dtype([("first", np.int32), ("n", np.int32)], align=True)
# Behind the arrays of the nodes: one element a node, then one a class mean.
CENTROID_ARRAYS = ("centroids", "owners", "sides")
TEST_ARRAYS = ("tests", *CENTROID_ARRAYS)


def places_of(n):
    """Place of the first mean of each node, given how many each has."""
    return np.where(n > 0, np.cumsum(n) - n, 0)


def check_centroids(arrays, n_classes):
    """Raise unless routing by these tests comes to an end."""
    tests, owners = arrays["tests"], arrays["owners"]
    if len(tests) != len(arrays["parent"]):
        raise damaged("tree", "'tests'")
    n = tests["n"].astype(np.int64)
    split = arrays["n_children"] > 0
    if not (
        np.array_equal(arrays["n_children"][split], np.full(split.sum(), 2))
        and np.all(n[~split] == 0)
        and np.all(n[split] >= 2)
        and np.array_equal(tests["first"], places_of(n))
    ):
        raise damaged("tree", "'tests'")
    for name in CENTROID_ARRAYS:
        if len(arrays[name]) != n.sum():
            raise damaged("tree", repr(name))
    if not np.isfinite(arrays["centroids"]).all():
        raise damaged("tree", "'centroids'")
    # the classes of a split ascend
    of = np.repeat(np.arange(len(n)), n)
    ascends = (np.diff(owners) > 0) | (np.diff(of) > 0)
    if not (ascends.all() and np.all((owners >= 0) & (owners < n_classes))):
        raise damaged("tree", "'owners'")
    # both children of a split have classes
    first = tests["first"][split]
    if np.any(arrays["sides"] > 1):
        raise damaged("tree", "'sides'")
    if len(first):
        right = np.add.reduceat(arrays["sides"].astype(np.int64), first)
        if np.any(right == 0) or np.any(right == n[split]):
            raise damaged("tree", "'sides'")
