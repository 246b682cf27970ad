"""Sums of small trees: what rows get from each of them."""

import numpy as np


def add_scores(
    const float[:, ::1] X,
    const int[::1] roots,
    const int[::1] targets,
    const int[::1] features,
    const double[::1] thresholds,
    const int[::1] left,
    const double[::1] values,
    double[:, ::1] out,
):
    """Add the leaf values of trees to the scores of rows.

    A row goes left where its feature is at most the threshold.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32
    roots, targets : ndarray of shape (n_trees,), int32
        Node at which each tree begins; the column of `out` that it adds to.
    features, left : ndarray of shape (n_nodes,), int32
        Feature of each node, -1 in leaves; the left child, behind which comes the
        right one.
    thresholds, values : ndarray of shape (n_nodes,), float64
    out : ndarray of shape (n_rows, n_columns), float64
        Changed in place.
    """
    cdef Py_ssize_t i, t
    cdef int node

    with nogil:
        for i in range(X.shape[0]):
            for t in range(roots.shape[0]):
                node = roots[t]
                while features[node] >= 0:
                    node = left[node] + (X[i, features[node]] > thresholds[node])
                out[i, targets[t]] += values[node]
    return np.asarray(out)
