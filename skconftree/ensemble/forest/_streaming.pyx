"""Growth of a forest's trees row by row, for one step of a stream."""

from functools import partial

import numpy as np

cimport cython
from libc.math cimport exp

from skconftree.tree.leaves._predictor cimport Scratch, make_scratch
from skconftree.tree.stream._grower cimport Grower, require_fit
from skconftree.utils._draws cimport mix, unit
from skconftree.utils._lock cimport Lockable, ModelLock
from skconftree.utils._memory cimport RESERVE_BYTES, Arena, trim_reserve, reserve_bytes
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, intp_t, label_t, uint64_t,
)

cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15
cdef float64_t FADING = 0.999       # what a row's outcome is worth a row later
cdef enum:
    MAX_RESERVE_BYTES = 268435456          # bytes kept back
    MAX_DRAWS = 1000
    FIRST_DRAWS = 4


cdef struct Poisson:
    # How often one tree learns each row of a stream, keyed by tree and row.
    uint64_t key
    float64_t below[MAX_DRAWS]     # probability of at most k, the same for all trees


cdef void make_poisson(Poisson* counts, float64_t rate) noexcept nogil:
    cdef float64_t term = exp(-rate)
    cdef int k
    counts.below[0] = term
    for k in range(1, MAX_DRAWS):
        term *= rate / k
        counts.below[k] = counts.below[k - 1] + term


@cython.overflowcheck(False)     # keys wrap
cdef inline uint64_t key_of(uint64_t seed, uint64_t tree) noexcept nogil:
    return mix(mix(seed ^ GOLDEN) + mix(tree))


@cython.overflowcheck(False)     # keys wrap
cdef inline float64_t poisson(const Poisson* counts, intp_t row) noexcept nogil:
    cdef float64_t share = unit(mix(counts.key + <uint64_t> row * GOLDEN))
    cdef int k = 0
    cdef int j
    for j in range(FIRST_DRAWS):    # most end here, without a branch to mispredict
        k += share >= counts.below[j]
    if k == FIRST_DRAWS:
        while k < MAX_DRAWS - 1 and share >= counts.below[k]:
            k += 1
    return k


def run_step(model, list tasks, team, n_learned):
    """Let all trees of a forest learn a step; return what signal handlers raised.

    The tasks are arguments of `learn_step`, for trees that no other task has; a `team`
    shares them. `n_learned` rows are counted when all trees have learned them. What is
    returned is the first of the exceptions, or None.
    """
    cdef Grower grower
    cdef intp_t spare = RESERVE_BYTES
    for tree in model.trees:
        grower = tree.grower
        spare += grower._reserve_bytes() - RESERVE_BYTES
    reserve_bytes(min(spare, <intp_t> MAX_RESERVE_BYTES))
    interrupt = None
    failures = []
    try:
        # tasks never fail, so that the team does all of them, whatever it raises
        team.run(partial(do_task, tasks, failures), len(tasks))
    except BaseException as error:
        interrupt = error
    finally:
        trim_reserve()
    if failures:
        raise failures[0]
    if _unfinished(tasks):      # in a process that was forked by a signal handler
        raise interrupt
    model.n_rows_seen += n_learned
    for task in tasks:
        interrupt = _first(interrupt, task["outcome"][1])
    return interrupt


cdef object _first(one, other):
    # The first of two exceptions, or None. Their truth value could be anything.
    return other if one is None else one


def do_task(list tasks, list failures, intp_t thread, intp_t part):
    """Do a task, and note the exception if it cannot begin."""
    try:
        learn_step(**tasks[part])
    except BaseException as error:
        failures.append(error)


cdef bint _unfinished(list tasks) except -1:
    for task in tasks:
        if len(task["outcome"]) < 2:
            return True
    return False


def learn_step(
    list models, intp_t first, uint64_t seed, rate, const intp_t[::1] before not None,
    const float64_t[::1] weight, const float32_t[:, ::1] X not None,
    const label_t[::1] y not None, bint finite, list votes, float64_t[:, ::1] records,
    list outcome,
):
    """Let some trees learn a step of rows.

    No signal handler runs from one row to the next.

    The first of the `models` has index `first` in the forest. `rate` is the mean of the
    Poisson numbers that say how often a tree learns a row, at most 100, or None: every
    row once. They are keyed by `before`, how many rows had been learnt before each; no
    tree learns a row of weight 0.

    `votes`, unless None, are filled with the vote of each tree, [row, class], before
    the row is learnt, and its weight behind it. `records`, unless None, have of each
    tree the weight of late rows that it predicted right, and that of all; kept up to
    date, they weigh its votes.

    `outcome` is empty before these trees have begun. It gets a list of what failed,
    with (tree by its place in `models`, how many rows it has gone through, exception),
    and, when all have learnt, what a signal handler raised meanwhile, or None.
    """
    cdef Lockable model
    cdef Grower grower
    cdef ModelLock lock
    cdef Poisson counts
    cdef Poisson* drawn = NULL if rate is None else &counts
    cdef intp_t t
    require_fit(
        before.shape[0] == X.shape[0]
        and (records is None or records.shape[0] == len(models))
        and (votes is None or len(votes) == len(models))
    )
    failures = []
    held = None     # what a signal handler raised in the middle of a row
    outcome.append(failures)
    if drawn is not NULL:
        make_poisson(drawn, rate)
    for t in range(len(models)):
        model = models[t]
        grower = model.grower
        lock = model._lock
        done = [0]
        try:
            held = _first(held, _hold(lock))
        except BaseException as error:
            failures.append((t, 0, error))
            continue
        try:
            counts.key = key_of(seed, first + t)
            _learn_tree(
                grower, drawn, before, weight, X, y, finite,
                None if votes is None else votes[t],
                None if records is None else records[t], done,
            )
        except BaseException as error:
            failures.append((t, done[0], error))
        finally:
            held, grower.held = _first(held, grower.held), None
            lock.leave()
    outcome.append(held)


cdef object _hold(ModelLock lock):
    # Wait for who uses the tree, all trees having to learn the same rows; what a signal
    # handler raises meanwhile is returned.
    held = None
    while True:
        try:
            lock.learn()
            return held
        except BaseException as error:
            if lock.is_refused():
                raise
            held = _first(held, error)


cdef int _learn_tree(
    Grower grower, const Poisson* counts, const intp_t[::1] before,
    const float64_t[::1] weight, const float32_t[:, ::1] X, const label_t[::1] y,
    bint finite, float64_t[:, ::1] votes, float64_t[::1] record, list done,
) except -1:
    cdef intp_t n = X.shape[0]
    cdef intp_t K = grower.policy.n_classes
    cdef bint asked = votes is not None or record is not None
    cdef float64_t[::1] proba = np.empty(K)
    cdef float64_t* guess = &proba[0] if asked else NULL
    cdef float64_t trust = 1.0
    cdef float64_t right = 0.0      # of `record`: threads would wait for each other's
    cdef float64_t seen = 0.0       # line of memory with every row
    cdef float64_t w, drawn
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
                    grower.learn_row(&X[i, 0], y[i], drawn, NULL, guess)
                elif asked:
                    node = grower._route_row(&X[i, 0], finite, &stopped_at)
                    grower._fill_proba(
                        grower.leaves.at[node], stopped_at, &X[i, 0], &scratch, guess
                    )
                if record is not None:
                    trust = trust_of(right, seen)
                    best = 0
                    for c in range(1, K):
                        if guess[c] > guess[best]:
                            best = c
                    if w > 0.0:     # or no tree learns the row
                        right = FADING * right + (best == y[i])
                        seen = FADING * seen + 1.0
                if votes is not None:
                    for c in range(K):
                        votes[i, c] = trust * guess[c]
                    votes[i, K] = trust
                if drawn > 0.0 and grower.n_rows_seen % 1024 == 0:
                    with gil:
                        grower.limit_memory()
                i += 1
    finally:
        grower.n_before = -1
        done[0] = i
        if record is not None:
            record[0], record[1] = right, seen
    return 0


cdef inline float64_t trust_of(float64_t right, float64_t seen) noexcept nogil:
    # The accuracy of late rows, one right and one wrong one added.
    return (right + 1.0) / (seen + 2.0)


def trusts(const float64_t[:, ::1] records not None):
    """What the vote of each tree weighs, by the records of `learn_step`."""
    out = np.empty(records.shape[0])
    for t in range(records.shape[0]):
        out[t] = trust_of(records[t, 0], records[t, 1])
    return out
