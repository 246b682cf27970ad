"""Small second-order trees: the best test of a node, and sums of trees."""

import numpy as np

from libc.math cimport INFINITY, fmax

cdef double TINY = 1e-300  # so that nothing is divided by 0


def best_test(
    const float[:, ::1] columns,
    const int[:, ::1] order,
    const double[::1] gradient,
    const double[::1] curvature,
    double penalty,
):
    """Gain, feature and place of the test of a node with the largest second-order gain.

    `columns` is [feature, row]; `order` has the rows of the node in the order of each
    feature. The test lies behind the row at this place of the order. Of equal gains it
    is the lowest feature's, and of these the lowest; the gain, by which the penalised
    loss falls, is minus infinity if no feature varies.
    """
    cdef Py_ssize_t m = order.shape[1]
    cdef Py_ssize_t i, j, feature = -1, place = -1
    cdef double G = 0.0, H = 0.0, best = -INFINITY
    cdef double g, h, score

    with nogil:
        for i in range(m):
            G += gradient[order[0, i]]
            H += curvature[order[0, i]]
        for j in range(order.shape[0]):
            g = h = 0.0
            for i in range(m - 1):
                g += gradient[order[j, i]]
                h += curvature[order[j, i]]
                if columns[j, order[j, i]] < columns[j, order[j, i + 1]]:
                    score = g * g / (h + penalty)
                    score += (G - g) * (G - g) / (fmax(H - h, 0.0) + penalty + TINY)
                    if score > best:
                        best = score
                        feature = j
                        place = i
    return (best - G * G / (H + penalty)) / 2.0, feature, place


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
    """Add the leaf values of trees to the scores of rows, `out`, in place.

    A row goes left where its feature is at most the threshold; the feature of a leaf is
    -1. Each tree begins at the node in `roots` and adds to the column in `targets`;
    the right child stands behind the left one.
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
