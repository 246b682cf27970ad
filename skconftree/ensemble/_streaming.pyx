"""Growth of a forest's trees row by row, for one step of a stream."""

import numpy as np

cimport cython
from libc.math cimport exp

from skconftree.tree.leaves._bayes cimport Scratch, make_scratch
from skconftree.tree.stream._grower cimport Grower
from skconftree.tree.stream._growing_tree cimport require_fit
from skconftree.utils._draws cimport mix, unit
from skconftree.utils._lock cimport Lockable, ModelLock, begin_rows, end_rows
from skconftree.utils._memory cimport Arena
from skconftree.utils._spare_memory cimport SPARE_BYTES, let_go_of_much, set_aside
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, intp_t, label_t, uint64_t,
)

cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15
cdef float64_t FADING = 0.999       # what a row's outcome is worth a row later
cdef enum:
    MOST_SPARE = 268435456          # bytes kept back
    MOST_DRAWS = 1000


@cython.overflowcheck(False)     # keys wrap
def stream_counts(
    uint64_t seed, uint64_t tree, float64_t rate, const intp_t[::1] rows not None
):
    """How often a tree learns each row of a stream: Poisson numbers.

    Parameters
    ----------
    seed : int
        Of the forest.
    tree : int
        Index of the tree.
    rate : float
        Their mean, at most 100.
    rows : ndarray of shape (n_rows,), intp
        How many rows had been learnt before each, which is its key.

    Returns
    -------
    ndarray of shape (n_rows,), float64
    """
    cdef intp_t n = rows.shape[0]
    counts = np.empty(n)
    cdef float64_t[::1] out = counts
    cdef float64_t below[MOST_DRAWS]    # probability of at most k
    cdef uint64_t key = mix(mix(seed ^ GOLDEN) + mix(tree))
    cdef float64_t share
    cdef float64_t term = exp(-rate)
    cdef intp_t i
    cdef int k
    below[0] = term
    for k in range(1, MOST_DRAWS):
        term *= rate / k
        below[k] = below[k - 1] + term
    with nogil:
        for i in range(n):
            share = unit(mix(key + <uint64_t> rows[i] * GOLDEN))
            k = 0
            while k < MOST_DRAWS - 1 and share >= below[k]:
                k += 1
            out[i] = k
    return counts


def begin_step(list growers):
    """Note that trees will be at different rows until `end_step`.

    Parameters
    ----------
    growers : list of Grower
        Of the whole forest.
    """
    cdef Grower grower
    cdef intp_t spare = SPARE_BYTES
    for grower in growers:
        spare += grower._spare_bytes() - SPARE_BYTES
    set_aside(min(spare, <intp_t> MOST_SPARE))
    begin_rows()


def end_step():
    """Note that all trees are at the same row again."""
    end_rows()
    let_go_of_much()


def learn_step(
    list estimators, list weights, const float32_t[:, ::1] X not None,
    const label_t[::1] y not None, bint finite, list votes, float64_t[:, ::1] records,
    list outcome,
):
    """Let some trees learn a step of rows, unless that has been asked for before.

    No signal handler runs from one row to the next.

    Parameters
    ----------
    estimators : list of ConfidenceTreeClassifier
        That grow.
    weights : list of ndarray of shape (n_rows,), float64
        Of the rows in each tree; 0 is not learnt.
    X : ndarray of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,), uint16
    finite : bool
        Whether no value is missing.
    votes : list of ndarray of shape (n_rows, n_classes + 1), float64, or None
        Filled with the vote of each tree before each row is learnt, and its weight.
    records : ndarray of shape (n_trees, 2), float64, or None
        Of each tree, the weight of late rows that it predicted right, and that of all;
        kept up to date, they weigh its votes. None: votes count alike.
    outcome : list
        Empty before these trees have begun. Gets a list of what failed, with (tree by
        its place in `estimators`, how many rows it has gone through, exception), and,
        when all have learnt, what a signal handler raised meanwhile, or None.
    """
    cdef Lockable estimator
    cdef Grower grower
    cdef ModelLock lock
    cdef intp_t t
    if outcome:
        return
    failures = []
    held = None     # what a signal handler raised in the middle of a row
    outcome.append(failures)
    for t in range(len(estimators)):
        estimator = estimators[t]
        grower = estimator._grower
        lock = estimator._lock
        lock.learn()
        done = [0]
        try:
            _learn_tree(
                grower, weights[t], X, y, finite,
                None if votes is None else votes[t],
                None if records is None else records[t], done,
            )
        except Exception as error:
            failures.append((t, done[0], error))
        finally:
            held, grower.held = grower.held or held, None
            estimator.tree_ = grower.tree
            estimator.n_rows_seen_ = estimator._rows_before + grower.n_rows_seen
            lock.leave()
    outcome.append(held)


cdef int _learn_tree(
    Grower grower, const float64_t[::1] weight, const float32_t[:, ::1] X,
    const label_t[::1] y, bint finite, float64_t[:, ::1] votes, float64_t[::1] record,
    list done,
) except -1:
    cdef intp_t n = X.shape[0]
    cdef intp_t K = grower.policy.n_classes
    cdef bint asked = votes is not None or record is not None
    cdef float64_t[::1] proba = np.empty(K)
    cdef float64_t trust = 1.0
    cdef Arena arena = Arena()
    cdef Scratch scratch
    cdef intp_t i = 0
    cdef intp_t c, best, stopped_at, node
    grower._check_rows(X, y, weight)
    require_fit(
        (votes is None or votes.shape[0] == n and votes.shape[1] == K + 1)
        and (record is None or record.shape[0] == 2)
    )
    grower.finite = finite
    grower.held = None
    make_scratch(arena, &scratch, grower.policy.n_features, K)
    try:
        with nogil:
            while i < n:
                if asked:
                    node = grower._route_row(&X[i, 0], finite, &stopped_at)
                    if stopped_at < 0:
                        grower.predictor.fill_proba(
                            grower.tree, grower.leaves.at[node], &X[i, 0], &scratch,
                            &proba[0],
                        )
                    else:
                        grower._fill_below(stopped_at, &proba[0])
                    if record is not None:
                        trust = trust_of(record[0], record[1])
                        best = 0
                        for c in range(1, K):
                            if proba[c] > proba[best]:
                                best = c
                        if weight[i] >= 0.0:    # -1 says that nobody learns the row
                            record[0] = FADING * record[0] + (best == y[i])
                            record[1] = FADING * record[1] + 1.0
                    if votes is not None:
                        for c in range(K):
                            votes[i, c] = trust * proba[c]
                        votes[i, K] = trust
                if weight[i] > 0.0:
                    grower.learn_row(&X[i, 0], y[i], weight[i], NULL, NULL)
                    if grower.n_rows_seen % 1024 == 0:
                        with gil:
                            grower.limit_memory()
                i += 1
    finally:
        done[0] = i
    return 0


cdef inline float64_t trust_of(float64_t right, float64_t seen) noexcept nogil:
    # The accuracy of late rows, one right and one wrong one added.
    return (right + 1.0) / (seen + 2.0)


def trusts(const float64_t[:, ::1] records not None):
    """What the vote of each tree weighs.

    Parameters
    ----------
    records : ndarray of shape (n_trees, 2), float64
        As of `learn_step`.

    Returns
    -------
    ndarray of shape (n_trees,), float64
    """
    out = np.empty(records.shape[0])
    for t in range(records.shape[0]):
        out[t] = trust_of(records[t, 0], records[t, 1])
    return out
