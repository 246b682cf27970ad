"""A tree that grows beside a part of another one, and whether it is better."""

from libc.math cimport log

cdef float64_t FADING = 0.98    # of rows that one of the two predicts, with each
cdef float64_t BOLDEST = 0.9    # largest stake
cdef float64_t STEP = 0.05      # of the late share of errors, with a row
cdef float64_t MOST_ERRORS = 0.95   # as a share that is expected
cdef float64_t GIVEN_UP = 4.0   # logarithm of the wealth that ends an attempt
cdef enum:
    PATIENCE = 200      # rows before it is found to be worse


cdef class Challenger:
    """What `grower` grows may take the place of all below a node.

    `level` is the logarithm of the wealth that it needs; after `most_rows` rows it is
    given up. The share of errors at the node has been `usual` at most.
    """

    def __init__(
        self, Grower grower, intp_t node, int64_t slot, int64_t serial, float64_t level,
        int64_t most_rows, float64_t usual,
    ):
        self.grower = grower
        self.node = node
        self.slot = slot
        self.serial = serial
        self.level = level
        self.most_rows = most_rows
        self.usual = usual
        self.share = usual

    cdef int learn(
        self, uint64_t path, const float32_t* x, label_t y, float64_t weight,
        bint wrong, bint finite,
    ) except -1 nogil:
        # Learn a row, as those behind do, if its node is on the path, a mask of slots;
        # `wrong` says whether the tree predicted it. Returns whether one is decided.
        cdef intp_t guess = 0
        cdef int decided = 0
        if path >> self.slot & 1:
            self.grower.finite = finite
            self.grower.tree.version += 1
            self.grower.learn_row(x, y, weight, &guess, NULL)
            self.judge(guess != y, wrong)
        if self.verdict != OPEN:
            decided = 1
        if self.behind is not None:
            decided |= self.behind.learn(path, x, y, weight, wrong, finite)
        return decided

    cdef void judge(self, bint wrong, bint other_wrong) noexcept nogil:
        self.n_rows += 1
        if wrong != other_wrong:
            self._compare(other_wrong)
        self._bet_on_error(other_wrong)
        if max(self.gain, self.rise) >= self.level and self.n_won > self.n_lost:
            self.verdict = WON
        elif self.loss >= GIVEN_UP or self.n_rows >= self.most_rows:
            self.verdict = LOST

    cdef void _compare(self, bint won) noexcept nogil:
        # The two disagree about a row, which one of them predicted.
        cdef float64_t lead = self.n_won - self.n_lost
        lead /= self.n_won + self.n_lost + 2.0
        lead = min(max(lead, -BOLDEST), BOLDEST)
        if lead > 0.0:
            self.gain += log(1.0 + (lead if won else -lead))
        elif self.n_rows > PATIENCE:
            self.loss = max(self.loss + log(1.0 + (lead if won else -lead)), 0.0)
        self.n_won *= FADING
        self.n_lost *= FADING
        if won:
            self.n_won += 1.0
        else:
            self.n_lost += 1.0

    cdef void _bet_on_error(self, bint wrong) noexcept nogil:
        self.rise += log(
            self.share / self.usual if wrong
            else (1.0 - self.share) / (1.0 - self.usual)
        )
        self.share += STEP * (wrong - self.share)
        self.share = min(max(self.share, self.usual), MOST_ERRORS)

    # -- state --------------------------------------------------------------------

    def numbers(self):
        """What it has found so far, for a state."""
        return (
            (
                self.level, self.gain, self.loss, self.n_won, self.n_lost, self.rise,
                self.usual, self.share,
            ),
            (self.n_rows, self.most_rows, <int> self.verdict),
        )

    def take_numbers(self, numbers):
        """Go on from `numbers`."""
        wealths, counts = numbers
        (
            self.level, self.gain, self.loss, self.n_won, self.n_lost, self.rise,
            self.usual, self.share,
        ) = wealths
        self.n_rows, self.most_rows, verdict = counts
        self.verdict = <Verdict> <int> verdict
