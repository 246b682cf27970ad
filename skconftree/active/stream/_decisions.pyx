"""Decisions whether to buy a label, row by row within a budget."""

import numpy as np

from skconftree.utils._draws cimport mix, unit
from skconftree.utils._typedefs cimport float64_t, intp_t, int64_t, uint64_t, uint8_t


def draws(seed, int64_t first, intp_t n, use):
    """Draws from [0, 1) that depend on seed, number of the row and `use` alone.

    `use` tells the draws of one purpose from those of another.
    """
    out = np.empty(n)
    cdef float64_t[::1] values = out
    cdef uint64_t key = mix(<uint64_t> int(seed) ^ mix(<uint64_t> int(use)))
    cdef intp_t i
    for i in range(n):
        values[i] = unit(mix(key ^ mix(<uint64_t> (first + i))))
    return out


cdef class Account:
    """How many labels have been bought of how many rows.

    A `strict` account is never above the share of rows at any row; else a label may be
    bought while the share of the rows before is below it. Over `window` rows the share
    is estimated, forgetting older ones; 0: all rows.
    """

    cdef readonly float64_t share
    cdef readonly bint strict
    cdef readonly int64_t window
    cdef readonly int64_t n_rows
    cdef readonly int64_t n_asked
    cdef readonly float64_t recent      # labels requested in the window, by estimate

    def __init__(self, float64_t share, bint strict, int64_t window):
        if not (0.0 < share <= 1.0 and window >= 0):
            raise ValueError(f"No budget has the share {share} of {window} rows.")
        self.share = share
        self.strict = strict
        self.window = window
        self.n_rows = self.n_asked = 0
        self.recent = 0.0

    def __reduce__(self):
        state = (self.n_rows, self.n_asked, self.recent)
        return type(self), (self.share, self.strict, self.window), state

    def __setstate__(self, state):
        n_rows, n_asked, recent = state
        self.n_rows, self.n_asked, self.recent = n_rows, n_asked, recent

    cpdef bint begin(self) noexcept:
        """Count a row; say whether its label could be paid for."""
        self.n_rows += 1
        if self.window > 0:
            if self.strict:
                return (
                    self.recent * (self.window - 1) / self.window + 1.0
                    <= self.share * self.window
                )
            return self.recent < self.share * self.window
        if self.strict:
            return self.n_asked + 1 <= self.share * self.n_rows
        return self.n_asked < self.share * self.n_rows

    cpdef void end(self, bint asked) noexcept:
        """Say whether the label of that row was bought."""
        self.n_asked += asked
        if self.window > 0:
            self.recent = self.recent * (self.window - 1) / self.window + asked


cdef class Accounts(Account):
    """A budget of a stream that is parted at random, with an account for each branch.

    An account holds the budget's share of the rows of its branch, so that no branch can
    spend what another one has not used yet. Both together hold what the whole does,
    which is charged too. `random_branch` tells the branch of the rows to come, `spent`
    (6 numbers) goes on from zeros.
    """

    cdef Account whole, chosen, random, current
    cdef const uint8_t[::1] random_branch
    cdef intp_t i

    def __init__(self, Account whole, const uint8_t[::1] random_branch, spent):
        super().__init__(whole.share, whole.strict, whole.window)
        self.whole = whole
        self.chosen, self.random = (
            Account(whole.share, whole.strict, whole.window) for _ in range(2)
        )
        for account, (n_rows, n_asked, recent) in zip(
            (self.chosen, self.random), spent.reshape(2, 3).tolist()
        ):
            account.__setstate__((int(n_rows), int(n_asked), recent))
        self.random_branch = random_branch
        self.i = 0

    @property
    def spent(self):
        """Rows, labels and recent labels of both accounts, (6,)."""
        return np.array([
            value
            for account in (self.chosen, self.random)
            for value in (account.n_rows, account.n_asked, account.recent)
        ], dtype=np.float64)

    cpdef bint begin(self) noexcept:
        """Count a row; say whether its branch and the whole can pay for its label."""
        cdef bint payable = self.whole.begin()
        self.current = self.random if self.random_branch[self.i] else self.chosen
        self.i += 1
        # The share of a window is kept on average alone: whoever asks at once whenever
        # it can would leave nothing of it to the other branch.
        return self.current.begin() and (payable or self.window > 0)

    cpdef void end(self, bint asked) noexcept:
        """Say whether the label of that row was bought."""
        self.whole.end(asked)
        self.current.end(asked)


def decide_by_chance(
    Account budget, const float64_t[::1] chance, const float64_t[::1] draw,
    uint8_t[::1] asked, bint stop,
):
    """Buy each label whose draw is below its chance, as long as it can be paid for.

    Writes `asked` and returns how many rows are decided; `stop`: up to the first label
    bought.
    """
    cdef intp_t i
    for i in range(chance.shape[0]):
        asked[i] = budget.begin() and draw[i] < chance[i]
        budget.end(asked[i])
        if stop and asked[i]:
            return i + 1
    return chance.shape[0]


def decide_by_threshold(
    Account budget, float64_t[::1] theta, float64_t step, const float64_t[::1] certainty,
    const float64_t[::1] noise, const uint8_t[::1] random_branch,
    const float64_t[::1] draw, uint8_t[::1] asked, bint stop,
):
    """Buy labels of rows whose certainty is below a threshold that follows them.

    The one of `theta` is changed, by the part `step` a row, and times the row's
    `noise`; it stays as it is while nothing can be paid for. In the random branch
    labels are requested by chance, if `draw` is below the budget's share. Writes `asked`
    and returns how many rows are decided; `stop`: up to the first label requested.
    """
    cdef intp_t i
    cdef bint paid
    for i in range(certainty.shape[0]):
        paid = budget.begin()
        asked[i] = False
        if paid and random_branch[i]:
            asked[i] = draw[i] < budget.share
        elif paid:
            asked[i] = certainty[i] < theta[0] * noise[i]
            theta[0] *= 1.0 - step if asked[i] else 1.0 + step
        budget.end(asked[i])
        if stop and asked[i]:
            return i + 1
    return certainty.shape[0]
