"""Incremental training of a forest's trees on one step of a stream.

A step is a block of consecutive rows that all trees learn before the next step. A model is a
tree with its `Grower`, which trains it row by row, and its `ModelLock`, which is held while
the tree is trained. The emergency reserve is memory that is set aside: it is released if an
allocation fails, so that the step can be completed. `mix` hashes a 64-bit integer (key), and
`unit` maps a hash to [0, 1). `check_sizes` raises an error if its argument is False: the
sizes of arrays do not match.
"""

from functools import partial

import numpy as np

cimport cython
from libc.math cimport exp

from skconftree.tree.leaves._predictor cimport Scratch, make_scratch
from skconftree.tree.stream._grower cimport Grower, check_sizes
from skconftree.utils._draws cimport mix, unit
from skconftree.utils._lock cimport Lockable, ModelLock
from skconftree.utils._memory cimport Arena, release_reserve, reserve_bytes, trim_reserve
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, intp_t, label_t, uint64_t,
)

# 2^64 over the golden ratio: multiples of it are spread evenly over the 64-bit integers
cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15
cdef float64_t DECAY = 0.999        # factor per row by which older predictions count less
cdef enum:
    MAX_RESERVE_BYTES = 268435456   # of all trees together
    MAX_DRAWS = 1000            # limit of a Poisson weight
    FIRST_DRAWS = 4             # weights below this are computed without branches


cdef struct Poisson:
    # Poisson weights of the rows of a stream for one tree (online bagging).
    uint64_t key                    # of the tree; the weight of a row is a hash of key and row
    float64_t below[MAX_DRAWS]      # probability of a weight of at most k


cdef void make_poisson(Poisson* counts, float64_t rate) noexcept nogil:
    cdef float64_t term = exp(-rate)
    cdef int k
    counts.below[0] = term
    for k in range(1, MAX_DRAWS):
        term *= rate / k
        counts.below[k] = counts.below[k - 1] + term


@cython.overflowcheck(False)     # keys are computed modulo 2^64
cdef inline uint64_t key_of(uint64_t seed, uint64_t tree) noexcept nogil:
    return mix(mix(seed ^ GOLDEN) + mix(tree))


@cython.overflowcheck(False)     # keys are computed modulo 2^64
cdef inline float64_t poisson(const Poisson* counts, intp_t row) noexcept nogil:
    # Weight of a row: the smallest k whose cumulative probability exceeds a number in [0, 1).
    cdef float64_t share = unit(mix(counts.key + <uint64_t> row * GOLDEN))
    cdef int k = 0
    cdef int j
    for j in range(FIRST_DRAWS):    # branchless for the most frequent values
        k += share >= counts.below[j]
    if k == FIRST_DRAWS:
        while k < MAX_DRAWS - 1 and share >= counts.below[k]:
            k += 1
    return k


def run_step(model, list tasks, thread_team, n_learned):
    """Train all trees of a forest on a step.

    `model` is that of the forest; its `trees` are the models of single trees. Each task has
    the arguments of `learn_step` for some of the trees; the threads of `thread_team` share
    the tasks. When all trees have learned the step, `n_learned` is added to the number of
    rows that the forest has learned. Returns the first exception that a signal handler
    raised, or None.
    """
    cdef Grower grower
    cdef intp_t n_reserved = 0
    for tree in model.trees:
        grower = tree.grower
        n_reserved += grower._reserve_bytes()   # that a step may need
    reserve_bytes(min(n_reserved, <intp_t> MAX_RESERVE_BYTES))
    interrupt = None
    failures = []
    try:
        # tasks catch their exceptions, so that all of them are executed
        thread_team.run(partial(do_task, tasks, failures), len(tasks))
    except BaseException as error:
        interrupt = error
    finally:
        trim_reserve()
    if failures:
        raise failures[0]
    if any([len(task["outcome"]) < 2 for task in tasks]):
        # tasks have not ended: this is a process that a signal handler forked, without
        # the threads
        raise interrupt
    model.n_rows_seen += n_learned
    for task in tasks:
        interrupt = _first(interrupt, task["outcome"][1])
    return interrupt


cdef object _first(first, second):
    # The first of two exceptions, or None. `first or second` would call an exception's own
    # __bool__.
    return second if first is None else first


def do_task(list tasks, list failures, intp_t thread, intp_t part):
    """Execute task number `part`; its exception is added to `failures`.

    Exceptions of single trees are recorded in the task's "outcome" instead.
    """
    while True:
        try:
            learn_step(**tasks[part])
            return
        except MemoryError as error:
            if tasks[part]["outcome"] or not _may_repeat():
                failures.append(error)
                return
        except BaseException as error:
            failures.append(error)
            return


cdef bint _may_repeat():
    # Release the reserve of memory. Returns whether a failed allocation may be repeated.
    try:
        release_reserve()
    except MemoryError:
        return False
    return True


def learn_step(
    list models, intp_t first, uint64_t seed, rate, const intp_t[::1] before not None,
    const float64_t[::1] weight, const float32_t[:, ::1] X not None,
    const label_t[::1] y not None, bint finite, list votes, float64_t[:, ::1] records,
    list outcome,
):
    """Train some trees on a step of rows.

    Signal handlers do not run between two rows.

    The first of the `models` has index `first` in the forest. `rate` is the mean of the
    Poisson weights of rows, at most 100, or None: each row has weight 1. The weights
    are hashes of `before`, the number of rows learned before each row. `weight` has the
    sample weights, or is None; rows of sample weight 0 are skipped by all trees. `finite`
    is whether `X` has no missing values.

    `votes`, unless None, has an array per tree, [row, class]. It is filled with the
    weighted class probabilities that the tree predicts before it learns the row; one
    more column has the weight of the vote. `records`, unless None, has two numbers per
    tree: the number of rows that it predicted correctly and the number of rows, both
    with exponential decay. They are updated, and determine the weights of the votes.

    `outcome` is an empty list for the results. First a list of failures is appended,
    (index of the tree in `models`, number of rows processed, exception). When all trees
    have finished, the exception of a signal handler or None is appended.
    """
    cdef Lockable model
    cdef Grower grower
    cdef ModelLock lock
    cdef Poisson counts
    cdef Poisson* drawn = NULL if rate is None else &counts
    cdef intp_t t                       # index of a tree
    check_sizes(
        before.shape[0] == X.shape[0]
        and (records is None or records.shape[0] == len(models))
        and (votes is None or len(votes) == len(models))
    )
    failures = []
    interrupted = None      # exception that a signal handler raised within a row
    outcome.append(failures)
    if drawn is not NULL:
        make_poisson(drawn, rate)
    for t in range(len(models)):
        model = models[t]
        grower = model.grower
        lock = model._lock
        done = [0]          # number of rows processed
        try:
            interrupted = _first(interrupted, _acquire(lock))
        except BaseException as error:
            failures.append((t, 0, error))
            continue
        try:
            counts.key = key_of(seed, first + t)
            while True:
                try:
                    _learn_tree(
                        grower, drawn, before, weight, X, y, finite,
                        None if votes is None else votes[t],
                        None if records is None else records[t], done,
                    )
                    break
                except MemoryError:
                    if done[0] > 0 or not _may_repeat():
                        raise
        except BaseException as error:
            failures.append((t, done[0], error))
        finally:
            # the exception of a signal handler that ran while a row was learned
            interrupted = _first(interrupted, grower.take_pending())
            lock.leave()
    outcome.append(interrupted)


cdef object _acquire(ModelLock lock):
    # Wait until no other thread uses the tree: all trees have to learn the same rows.
    # Returns the exception that a signal handler raised meanwhile, or None.
    interrupted = None
    while True:
        try:
            lock.learn()
            return interrupted
        except BaseException as error:
            if lock.is_refused():       # waiting would be a deadlock
                raise
            interrupted = _first(interrupted, error)


cdef int _learn_tree(
    Grower grower, const Poisson* counts, const intp_t[::1] before,
    const float64_t[::1] weight, const float32_t[:, ::1] X, const label_t[::1] y,
    bint finite, float64_t[:, ::1] votes, float64_t[::1] record, list done,
) except -1:
    # Train one tree. The arguments are described in `learn_step`; `votes` and `record` are
    # those of this tree.
    cdef intp_t n = X.shape[0]
    cdef intp_t K = grower.policy.n_classes     # policy: settings that all leaves share
    cdef bint predicts = votes is not None or record is not None
    cdef float64_t[::1] proba = np.empty(K)
    cdef float64_t* predicted = &proba[0] if predicts else NULL
    cdef float64_t vote_weight = 1.0
    # Copies of `record`, which is in one cache line with the records of other threads.
    cdef float64_t right = 0.0
    cdef float64_t seen = 0.0
    cdef float64_t w, drawn     # sample weight of a row, and the same times its Poisson weight
    cdef Arena arena = Arena()      # frees its memory when it is deleted
    cdef Scratch scratch            # buffers for predictions
    cdef intp_t i = 0
    # `node` is the leaf of a row; `stopped_at` the last node of its path, which is an inner
    # node if the row's category is unknown
    cdef intp_t c, best, stopped_at, node
    grower._check_rows(X, y, weight)
    check_sizes(
        (votes is None or votes.shape[0] == n and votes.shape[1] == K + 1)
        and (record is None or record.shape[0] == 2)
    )
    grower.finite = finite
    grower.pending_error = None
    make_scratch(arena, &scratch, grower.policy.n_features, K)
    if record is not None:
        right, seen = record[0], record[1]
    try:
        with nogil:
            while i < n:
                w = 1.0 if weight is None else weight[i]
                drawn = w
                if counts is not NULL and w > 0.0:
                    drawn = w * poisson(counts, before[i])
                if drawn > 0.0:
                    grower.n_before = before[i]
                    # fills `predicted` before it learns; NULL: the class is not needed
                    grower.learn_row(&X[i, 0], y[i], drawn, NULL, predicted)
                elif predicts:
                    node = grower._route_row(&X[i, 0], finite, &stopped_at)
                    # leaves.at[node] has the statistics of the leaf
                    grower._fill_proba(
                        grower.leaves.at[node], stopped_at, &X[i, 0], &scratch, predicted
                    )
                if record is not None:
                    vote_weight = vote_weight_of(right, seen)
                    best = 0
                    for c in range(1, K):
                        if predicted[c] > predicted[best]:
                            best = c
                    if w > 0.0:     # rows of weight 0 are not learned
                        right = DECAY * right + (best == y[i])
                        seen = DECAY * seen + 1.0
                if votes is not None:
                    for c in range(K):
                        votes[i, c] = vote_weight * predicted[c]
                    votes[i, K] = vote_weight
                # as in a single tree, which enforces the limit after every 1024 rows
                if drawn > 0.0 and grower.n_rows_seen % 1024 == 0:
                    with gil:
                        grower.limit_memory()
                i += 1
    finally:
        grower.n_before = -1    # no step: the tree counts rows itself
        done[0] = i
        if record is not None:
            record[0], record[1] = right, seen
    return 0


cdef inline float64_t vote_weight_of(float64_t right, float64_t seen) noexcept nogil:
    # Accuracy on recent rows, with add-one smoothing.
    return (right + 1.0) / (seen + 2.0)


def vote_weights(const float64_t[:, ::1] records not None):
    """Return the weight of the vote of each tree, from the records of `learn_step`."""
    out = np.empty(records.shape[0])
    for t in range(records.shape[0]):
        out[t] = vote_weight_of(records[t, 0], records[t, 1])
    return out
