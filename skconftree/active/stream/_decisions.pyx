"""Decisions whether to query the labels of the rows of a stream, within a budget.

The budget is the share of rows whose labels may be queried. `mix` hashes a 64-bit
integer, and `unit` maps a hash to [0, 1).
"""

import numpy as np

from skconftree.utils._draws cimport mix, unit
from skconftree.utils._typedefs cimport float64_t, intp_t, int64_t, uint64_t, uint8_t


def draws(seed, int64_t first, intp_t n, use):
    """Random numbers from [0, 1) for `n` rows of a stream, from row `first` on.

    Each is a hash of the seed, the number of the row in the stream, and the integer
    `use`, which separates the draws for different purposes.
    """
    out = np.empty(n)
    cdef float64_t[::1] values = out
    cdef uint64_t key = mix(<uint64_t> int(seed) ^ mix(<uint64_t> int(use)))
    cdef intp_t i
    for i in range(n):
        values[i] = unit(mix(key ^ mix(<uint64_t> (first + i))))
    return out


cdef class Account:
    """Label budget: counts rows and queried labels.

    With `strict`, the share of queried labels never exceeds `share` at any row.
    Otherwise a label may be queried while the share of the previous rows is below it.
    If `window` is 0, all rows count. Otherwise the share of the last `window` rows is
    estimated by exponential forgetting: each new row reduces the estimated number of
    queried labels, `recent`, by the factor 1 - 1 / `window`.
    """

    cdef readonly float64_t share
    cdef readonly bint strict
    cdef readonly int64_t window
    cdef readonly int64_t n_rows
    cdef readonly int64_t n_queried
    cdef readonly float64_t recent      # estimated number of queried labels in the window

    def __init__(self, float64_t share, bint strict, int64_t window):
        if not (0.0 < share <= 1.0 and window >= 0):
            raise ValueError(
                f"share must be in (0, 1] and window 0 or more. Got {share}, {window}."
            )
        self.share = share
        self.strict = strict
        self.window = window
        self.n_rows = self.n_queried = 0
        self.recent = 0.0

    def __reduce__(self):
        state = (self.n_rows, self.n_queried, self.recent)
        return type(self), (self.share, self.strict, self.window), state

    def __setstate__(self, state):
        n_rows, n_queried, recent = state
        self.n_rows, self.n_queried, self.recent = n_rows, n_queried, recent

    cpdef bint begin(self) noexcept:
        """Count a row; return whether the budget permits to query its label."""
        self.n_rows += 1
        if self.window > 0:
            if self.strict:
                return (
                    self.recent * (self.window - 1) / self.window + 1.0
                    <= self.share * self.window
                )
            return self.recent < self.share * self.window
        if self.strict:
            return self.n_queried + 1 <= self.share * self.n_rows
        return self.n_queried < self.share * self.n_rows

    cpdef void end(self, bint queried) noexcept:
        """Record whether the label of that row was queried."""
        self.n_queried += queried
        if self.window > 0:
            self.recent = self.recent * (self.window - 1) / self.window + queried


cdef class Accounts(Account):
    """Budget of a stream whose rows are divided at random into two branches.

    In one branch labels are queried at random, in the other by a strategy. Each has an
    `Account`.

    An account permits the budget's share of the rows of its branch, so that no branch
    can spend what the other has not used. The overall account also counts each row and
    each queried label.
    `random_branch` is a mask of the next rows: whether they are in the branch with
    random queries. `spent` is the state of the accounts of both branches, six numbers,
    which are initially 0.
    """

    cdef Account overall, by_strategy, by_chance, current
    cdef const uint8_t[::1] random_branch
    cdef intp_t i

    def __init__(self, Account overall, const uint8_t[::1] random_branch, spent):
        super().__init__(overall.share, overall.strict, overall.window)
        self.overall = overall
        self.by_strategy, self.by_chance = (
            Account(overall.share, overall.strict, overall.window) for _ in range(2)
        )
        for account, (n_rows, n_queried, recent) in zip(
            (self.by_strategy, self.by_chance), spent.reshape(2, 3).tolist()
        ):
            account.__setstate__((int(n_rows), int(n_queried), recent))
        self.random_branch = random_branch
        self.i = 0

    @property
    def spent(self):
        """State of both accounts, an array of `n_rows`, `n_queried` and `recent`."""
        return np.array([
            value
            for account in (self.by_strategy, self.by_chance)
            for value in (account.n_rows, account.n_queried, account.recent)
        ], dtype=np.float64)

    cpdef bint begin(self) noexcept:
        """Count a row; return whether its account and the overall one permit it."""
        cdef bint is_within_budget = self.overall.begin()
        self.current = self.by_chance if self.random_branch[self.i] else self.by_strategy
        self.i += 1
        # With a window, the overall budget is not checked, because it is only kept on
        # average: one branch could use up the budget of the other one.
        return self.current.begin() and (is_within_budget or self.window > 0)

    cpdef void end(self, bint queried) noexcept:
        """Record whether the label of that row was queried."""
        self.overall.end(queried)
        self.current.end(queried)


def decide_at_random(
    Account budget, const float64_t[::1] chance, const float64_t[::1] draw,
    uint8_t[::1] queried, bint stop,
):
    """Query labels at random, within the budget.

    The label of row i is queried if its random number `draw[i]` from [0, 1) is below
    the probability `chance[i]`. Fills `queried` and returns the number of rows decided;
    with `stop`, decisions end after the first queried label.
    """
    cdef intp_t i
    for i in range(chance.shape[0]):
        queried[i] = budget.begin() and draw[i] < chance[i]
        budget.end(queried[i])
        if stop and queried[i]:
            return i + 1
    return chance.shape[0]


def decide_by_threshold(
    Account budget, float64_t[::1] theta, float64_t step, const float64_t[::1] certainty,
    const float64_t[::1] noise, const uint8_t[::1] random_branch,
    const float64_t[::1] draw, uint8_t[::1] queried, bint stop,
):
    """Query labels of rows whose certainty is below an adaptive threshold.

    The certainty of a row is the largest of its class probabilities. The threshold is
    `theta`, an array with one element that is updated, times the row's `noise`, a
    random factor (1 without randomization). `theta` decreases by the fraction `step`
    after a query and increases otherwise; it does not change while the budget is
    exhausted. For rows of `random_branch`, labels are instead queried at random: if
    `draw` is below the budget's share. Fills `queried` and returns the number of rows
    decided; with `stop`, decisions end after the first queried label.
    """
    cdef intp_t i
    cdef bint permitted
    for i in range(certainty.shape[0]):
        permitted = budget.begin()
        queried[i] = False
        if permitted and random_branch[i]:
            queried[i] = draw[i] < budget.share
        elif permitted:
            queried[i] = certainty[i] < theta[0] * noise[i]
            theta[0] *= 1.0 - step if queried[i] else 1.0 + step
        budget.end(queried[i])
        if stop and queried[i]:
            return i + 1
    return certainty.shape[0]
