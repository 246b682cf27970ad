"""Draws of rows that evaluate a classifier, and confidence limits of its metric.

A metric is a ratio of two totals over the rows of a pool, such as the number of wrong
predictions and the number of rows. A ratio r is correct if the *values* of all rows,
``numerator - r denominator``, sum to 0. For each r of a grid, this null hypothesis is
tested by betting on the value of the next row: the capital of the bettor is a
nonnegative martingale under the null hypothesis, for any labels. By Ville's inequality,
the true ratio is ever rejected with probability of at most 1 - confidence.

Rows are drawn without replacement and with unequal probabilities from *cells*, rows of
similar predicted probabilities. What a row is expected to contribute is subtracted from
its value and known in total, so it only has to be tested whether the expectation is
right (a control variate). The *outcome* of a row is 1 if its prediction is wrong (for
some metrics: if its label is positive), otherwise 0. *Stated* probabilities of the
outcome 1 are those of the classifier. A *plan* sets the probabilities of draws. The
*evidence* against a ratio is the capital of a bettor who started with 1.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, expit, logit

from .._strategy import FOR_ROWS  # seeds the random numbers that draw rows

N_CELLS = 12
N_UNIFORM = 20  # first labels, of rows that are drawn with equal probabilities
REPLAN = 1.15  # ratio of the numbers of labels at two consecutive plans
# Rows of a cell are drawn in proportion to a power of the standard deviation of their
# values; a plan chooses one of these exponents.
POWERS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
FRACTIONS = np.geomspace(0.02, 1.0, 12)  # of the largest bet; all are bet in parallel
SHARES = np.where(FRACTIONS < 1.0, 0.8 / (len(FRACTIONS) - 1), 0.2)  # their capital
# Pseudo-counts of the beta prior of a cell; the likeliest number is used.
PRIOR_LABELS = np.array([4.0, 16.0, 64.0, 256.0])
SPREAD = np.array([1.0, 0.5])  # prior standard deviations of intercept and slope
NEWTON_STEPS, NEWTON_TOLERANCE = 30, 1e-9
LARGEST = 1e100  # limit of evidence, and of its growth by one bet
SMALLEST = 1e-250  # minimum of a denominator
MAX_EXTRAPOLATED = 100.0  # largest log evidence from which a limit is extrapolated
SIGNS = np.array([[1.0], [-1.0]])  # tests of a ratio from both sides
BLOCK = 256  # random numbers that are drawn at a time
ROUNDING = 1e-9  # of the range of a draw
MIN_CHANCE = 0.005  # smallest probability of each outcome in a cell
TINY = 1e-6  # smallest stated probability


def grid_of_ratios(n):
    """Ratios from 0 to 1, denser at both ends."""
    return (1.0 - np.cos(np.linspace(0.0, np.pi, n))) / 2.0


GRID = grid_of_ratios(513)


def make_cells(stated, side, n_cells):
    """Index of the cell of each row, and their number; `stated` are log odds.

    Rows of the two sides, such as predicted positive or not, are separate. A side is
    divided in the order of `stated`, so that the mean of two shares is about equal for
    its cells: their share of the rows, and of the standard deviations of the outcomes.
    Rows of equal values are in the same cell.
    """
    cells = np.zeros(len(stated), dtype=np.intp)
    n = 0
    for of_side in (False, True):
        rows = np.flatnonzero(side == of_side)
        if not len(rows):
            continue
        values, inverse = np.unique(np.round(stated[rows], 3), return_inverse=True)
        deviation = np.sqrt(expit(values) * expit(-values))
        counts = np.bincount(inverse)
        size = counts / counts.sum()
        mass = deviation * counts / (deviation @ counts)
        before = np.cumsum(size + mass) - (size + mass) / 2.0
        part = np.minimum((before / 2.0 * n_cells).astype(np.intp), n_cells - 1)
        part = np.unique(part, return_inverse=True)[1]
        cells[rows] = n + part[inverse]
        n += int(part.max()) + 1
    return cells, n


class MetricCells:
    """Rows of a pool, by what their labels contribute to a metric.

    Parameters
    ----------
    stated : ndarray of shape (n_rows,)
        Predicted probability that the outcome of a row is 1: that its prediction is
        wrong, or that its label is positive.
    side : ndarray of shape (n_rows,), bool
        Rows whose contribution differs: those that are predicted positive.
    steps : tuple of two ndarray of shape (2,)
        What the outcome 1 of a row adds to the numerator, and to the denominator, each
        for both sides.
    base : ndarray of shape (2,)
        Denominator of a row of each side if its outcome is 0.
    low, span, top : ndarray of shape (n_rows,), default=None
        Numerator of each row if its outcome is 0, and the expected and the largest
        difference to its numerator if the outcome is 1. None: 0, 1 and 1.
    n_cells : int
        Number of cells per side.
    """

    def __init__(
        self, stated, side, steps, base, low=None, span=None, top=None, n_cells=N_CELLS
    ):
        n_rows = len(stated)
        self.low = np.zeros(n_rows) if low is None else low
        self.span = np.ones(n_rows) if span is None else span
        top = self.span if top is None else top
        stated = logit(np.clip(stated, TINY, 1.0 - TINY))
        self.cell, n = make_cells(stated, side, n_cells)
        self.n_rows, self.n_cells = n_rows, n
        self.size = np.bincount(self.cell, minlength=n)
        _, first = np.unique(self.cell, return_index=True)
        of_cell = side[first].astype(np.intp)
        self.step_numerator, self.step_denominator = (step[of_cell] for step in steps)
        self.base = base[of_cell]
        self.stated = np.bincount(self.cell, stated, n) / self.size  # mean log odds
        self.low_min, self.low_max = _extremes(self.low, self.cell, n)
        self.span_min, self.span_max = _extremes(self.span, self.cell, n)
        self.top = _extremes(top, self.cell, n)[1]
        self.rows = np.argsort(self.cell, kind="stable")


def _extremes(values, cell, n):
    # Smallest and largest value of each cell.
    smallest, largest = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(smallest, cell, values)
    np.maximum.at(largest, cell, values)
    return smallest, largest


def calibrated(x, n, ones):
    """Logistic regression of the share of ones among n rows on x, by Newton steps.

    The priors of intercept and slope are normal distributions with means 0 and 1.
    """
    beta, mean, precision = np.array([0.0, 1.0]), np.array([0.0, 1.0]), SPREAD**-2.0
    design = np.stack([np.ones(len(x)), x])

    def loss(beta):
        score = beta @ design
        fit = n @ np.logaddexp(0.0, score) - ones @ score
        return fit + precision @ (beta - mean) ** 2 / 2.0

    now = loss(beta)
    for _ in range(NEWTON_STEPS if n.any() else 0):
        p = expit(beta @ design)
        gradient = design @ (n * p - ones) + precision * (beta - mean)
        hessian = (design * (n * p * (1.0 - p))) @ design.T + np.diag(precision)
        step = np.linalg.solve(hessian, gradient)
        while step @ step > NEWTON_TOLERANCE and loss(beta - step) > now:
            step /= 2.0
        beta = beta - step
        before, now = now, loss(beta)
        if before - now < NEWTON_TOLERANCE:
            break
    return expit(beta @ design)


class MetricLimits:
    """Draws of rows, and the confidence limits of a metric that follow from them.

    Parameters
    ----------
    cells : MetricCells
        The rows.
    alpha : float
        Probability that a limit is ever wrong.
    seed : int
        Seed of all draws.
    grid : ndarray, default=GRID
        Ratios that are tested, ascending.
    n_uniform : int
        Number of labels before the probabilities of draws are unequal.
    """

    def __init__(self, cells, alpha, seed, grid=GRID, n_uniform=N_UNIFORM):
        self.cells, self.alpha, self.seed, self.grid = cells, alpha, seed, grid
        self.n_uniform = n_uniform
        n = cells.n_cells
        self.n_draws = self.n_known = 0
        self.n_left = cells.n_rows  # number of rows that can be drawn
        self._random = -1, None  # a block of random numbers
        # rows that are left: those of cell k are `_order[_start[k]:][:left[k]]`
        self.left = cells.size.copy()
        self._start = np.cumsum(cells.size) - cells.size
        self._order = cells.rows.copy()
        self._position = np.empty(cells.n_rows, dtype=np.intp)
        self._position[self._order] = np.arange(cells.n_rows)
        self._low = np.bincount(cells.cell, cells.low, n)  # sums of rows that are left
        self._span = np.bincount(cells.cell, cells.span, n)
        self.n_of_cell = np.zeros(n)  # number of labels in each cell
        self.ones = np.zeros(n)  # number of those with outcome 1
        self.known = np.zeros(2)  # numerator and denominator of the known rows
        self._first_known = np.zeros(2)  # before labels were corrected
        # evidence that the ratio is larger (0) or smaller (1) than each of the grid, by
        # the fraction that is bet
        self.evidence = np.ones((2, len(FRACTIONS), len(grid)))
        # weighted sums of estimates of both totals, one of each draw, and of weights
        self._totals, self._weight = np.zeros(2), 0.0
        self._next_plan = 0
        self._plan()

    def _plan(self):
        # Set the probabilities of draws and the expected outcomes by the labels so far.
        cells = self.cells
        self.chance = self._calibrated()  # of the outcome 1, in each cell
        self.weight = np.ones(cells.n_cells)  # of each row of a cell, in a draw
        if self.n_known >= self.n_uniform and cells.n_cells > 1:
            self.weight = self._best_weight()
        self._ranges = [
            part / self.weight[:, None]
            for part in self._residuals(self.grid, self.chance)
        ]
        self._set_range()
        self._next_plan = max(self.n_known + 4, int(self.n_known * REPLAN), N_UNIFORM)

    def _set_range(self):
        # Smallest and largest value of a draw, divided by the sum of all weights.
        inside = self.left > 0
        low, high = self._ranges
        if inside.any():
            low, high = low[inside].min(axis=0), high[inside].max(axis=0)
            # so that rounding errors do not matter if the mean is at an end
            more = ROUNDING * (high - low + 1.0)
            self._range = np.stack([low - more, high + more])

    def _calibrated(self):
        # Probability of the outcome 1 in each cell: logistic regression on the stated
        # ones, then the labels of the cell itself.
        n, ones = self.n_of_cell, self.ones
        p = np.clip(calibrated(self.cells.stated, n, ones), MIN_CHANCE, 1 - MIN_CHANCE)
        # beta-binomial likelihood of the labels of all cells
        a, b = PRIOR_LABELS[:, None] * p, PRIOR_LABELS[:, None] * (1.0 - p)
        likelihood = (betaln(a + ones, b + n - ones) - betaln(a, b)).sum(axis=1)
        prior = PRIOR_LABELS[likelihood.argmax()]
        p = (ones + prior * p) / (n + prior)
        return np.clip(p, MIN_CHANCE, 1.0 - MIN_CHANCE)

    def _residuals(self, ratios, chance):
        # Smallest and largest difference of a value from its expectation, per cell and
        # ratio; a skipped row has the value 0.
        cells = self.cells
        unit = self._unit(ratios)
        expected = chance[:, None] * unit
        zero = -expected * cells.span_max[:, None]
        rest = -expected * cells.span_min[:, None]
        one = unit * cells.top[:, None] + rest
        base = ratios * cells.base[:, None]
        skip = (
            base - cells.low_max[:, None] + zero,
            base - cells.low_min[:, None] + rest,
        )
        return (
            np.minimum(np.minimum(zero, one), np.minimum(*skip)),
            np.maximum(np.maximum(zero, one), np.maximum(*skip)),
        )

    def _unit(self, ratios):
        # What the outcome 1 adds to the value of a row, per cell and ratio.
        cells = self.cells
        return cells.step_numerator[:, None] - ratios * cells.step_denominator[:, None]

    def _expected(self, p):
        # Numerator and denominator of all rows that are left, if the outcome 1 has the
        # probability p in each cell.
        cells = self.cells
        return np.array(
            [
                self._low.sum() + (p * cells.step_numerator) @ self._span,
                cells.base @ self.left + (p * cells.step_denominator) @ self.left,
            ]
        )

    def _cautious(self):
        # Probability of the outcome 1 in each cell, if the rarer outcome is less likely
        # than expected: 0 before its first label, half of it after this label. Unequal
        # weights help only if the outcome occurs; otherwise, uniform draws are best.
        n, ones = self.n_of_cell.sum(), self.ones.sum()
        if 2 * ones <= n:
            return self.chance * ones / (ones + 1)
        return 1.0 - (1.0 - self.chance) * (n - ones) / (n - ones + 1)

    def _best_weight(self):
        # The weight of the rows of each cell by which the evidence grows fastest.
        inside = np.flatnonzero(self.left > 0)
        likely = self._cautious()
        numerator, denominator = self._first_known + self._expected(likely)
        if len(inside) < 2 or denominator <= 0.0:
            return self.weight
        center = float(np.clip(numerator / denominator, 0.0, 1.0))
        p, likely = self.chance[inside], likely[inside]
        span = (self._span / np.maximum(self.left, 1))[inside]
        size = self.left[inside]
        step = np.abs(self._unit(np.array([center]))[inside, 0]) * span
        deviation = np.maximum(step * np.sqrt(p * (1.0 - p)), 1e-6)
        # approximate confidence limits, at which the growth matters; if one outcome did
        # not occur, `level` is the limit of its share
        level = -np.log(self.alpha / 2.0) / max(self.n_draws, N_UNIFORM)
        width = np.sqrt(2.0 * level) * (size @ (step * np.sqrt(likely - likely**2)))
        width = max(width, level * (size @ step)) / denominator
        ratios = np.clip([center - width, center + width], 1e-4, 1.0 - 1e-4)
        numerator, denominator = self._first_known + self._expected(self.chance)
        expected = numerator - ratios * denominator
        residuals = [part[inside].T for part in self._residuals(ratios, self.chance)]
        unit = self._unit(ratios)[inside].T * span  # by ratio and cell
        # by power and cell: weights, chances of the outcomes, factors of the values
        weights = deviation ** POWERS[:, None]
        total = (weights @ size)[:, None]
        drawn, scale = size * weights / total, total / weights
        chances = np.stack([drawn * (1.0 - likely), drawn * likely])[:, None]
        values = np.stack([-p * unit, (1.0 - p) * unit])[:, :, None] * scale
        # the first ratio is too low, the second one too high
        ends = np.stack(
            [
                (residuals[0][0] * scale).min(axis=-1),
                (residuals[1][1] * scale).max(axis=-1),
            ]
        )
        gaps = SIGNS * (-expected[:, None] - ends)
        shares = SIGNS[:, :, None] * (values - ends[:, :, None])
        shares = shares / np.maximum(gaps, SMALLEST)[:, :, None]
        shares = np.clip(shares, 0.0, LARGEST)
        factors = 1.0 + FRACTIONS.reshape(-1, 1, 1, 1, 1) * (shares - 1.0)
        growth = (chances * np.log(np.maximum(factors, 1e-12))).sum(axis=(1, 4))
        growth = np.maximum(growth.max(axis=0), 1e-12)
        # growth is about quadratic in the distance of a ratio, so that `cost` is about
        # proportional to the width of the confidence interval after as many labels
        distance = np.abs(ratios - center)[:, None]
        cost = np.where(gaps > 0.0, distance / np.sqrt(growth), 0.0).sum(axis=0)
        best = weights[np.flatnonzero(cost <= cost.min() * (1.0 + 1e-9))[0]]
        weight = np.full(self.cells.n_cells, best.min())
        weight[inside] = best
        return weight

    def plan(self):
        """Adapt the probabilities of draws to the labels; before a row is drawn."""
        if self.n_left and self.n_known >= self._next_plan:
            self._plan()

    def draw(self):
        """The row that is drawn next, a function of the labels so far."""
        block, i = divmod(self.n_known, BLOCK)
        if block != self._random[0]:
            rng = np.random.default_rng([self.seed, block, FOR_ROWS])
            self._random = block, rng.random((BLOCK, 2)).tolist()
        of_cell, of_row = self._random[1][i]
        total = (self.left * self.weight).cumsum()
        k = int(total.searchsorted(of_cell * total[-1], side="right"))
        while self.left[k] == 0:  # of a rounding error
            k -= 1
        return int(self._order[self._start[k] + int(of_row * self.left[k])])

    def observe(self, row, outcome, numerator=None, first=None):
        """Add the label of a row that was drawn; `outcome` None: it was skipped.

        `numerator` is its exact numerator if that is not implied by the outcome.
        `first` are outcome and numerator before the label was corrected: later rows
        were drawn by them.
        """
        cells, k = self.cells, self.cells.cell[row]
        value = self._value(row, outcome, numerator)
        weights = self.left @ self.weight
        expected = np.array(
            [
                cells.low[row]
                + self.chance[k] * cells.step_numerator[k] * cells.span[row],
                cells.base[k] + self.chance[k] * cells.step_denominator[k],
            ]
        )
        total = self.known + self._expected(self.chance)
        x = (value - expected) * (weights / self.weight[k])
        self._bet(x, -total, weights)
        # gives equal weights to the rows of a sample without replacement
        n_left = self.n_left
        weight = 1.0 / (n_left * max(n_left - 1, 1e-9))
        self._totals += weight * (total + x)
        self._weight += weight
        self.n_draws += 1
        self._take(row, outcome, value, first)

    def know(self, row, outcome, numerator=None, first=None):
        """Add the label of a row that was not drawn at random."""
        value = self._value(row, outcome, numerator)
        self._take(row, outcome, value, first)

    def _value(self, row, outcome, numerator):
        # Numerator and denominator of a row.
        cells, k = self.cells, self.cells.cell[row]
        if outcome is None:
            return np.zeros(2)
        if numerator is None:
            numerator = cells.low[row] + outcome * cells.step_numerator[k]
        return np.array(
            [numerator, cells.base[k] + outcome * cells.step_denominator[k]]
        )

    def _bet(self, x, mean, total):
        # `mean` is that of x if the ratio is correct.
        ends = self._range * total
        x, mean = x[0] - self.grid * x[1], mean[0] - self.grid * mean[1]
        # distances from the smallest and to the largest value; if that of the mean is
        # not positive, no value has the mean of such a ratio
        shares = SIGNS * (x - ends) / np.maximum(SIGNS * (mean - ends), SMALLEST)
        factors = np.minimum(shares, LARGEST)[:, None] - 1.0
        self.evidence *= 1.0 + FRACTIONS[:, None] * factors
        np.minimum(self.evidence, LARGEST, out=self.evidence)

    def _take(self, row, outcome, value, first):
        cells, k = self.cells, self.cells.cell[row]
        last = self._start[k] + self.left[k] - 1
        position = self._position[row]
        other = self._order[last]
        self._order[position], self._order[last] = other, row
        self._position[other], self._position[row] = position, last
        self.left[k] -= 1
        self.n_left -= 1
        self._low[k] -= cells.low[row]
        self._span[k] -= cells.span[row]
        self.known += value
        if first is not None:
            outcome, value = first[0], self._value(row, *first)
        self._first_known += value
        self.n_known += 1
        if outcome is not None:
            self.n_of_cell[k] += 1
            self.ones[k] += outcome
        if self.n_left and self.left[k] == 0:
            self._set_range()

    def total_evidence(self):
        """Evidence against each ratio of the grid; the true one has a mean of 1."""
        return SHARES @ self.evidence.mean(axis=0)

    def estimate(self):
        """Estimated ratio, NaN if its denominator is 0."""
        numerator, denominator = self.known
        if self.n_left and self._weight:
            numerator, denominator = self._totals / self._weight
        elif self.n_left:
            return np.nan
        if denominator <= 0.0:
            return np.nan
        return float(np.clip(numerator / denominator, 0.0, 1.0))

    def limits(self):
        """Confidence limits of the ratio."""
        if not self.n_left:
            estimate = self.estimate()
            return (0.0, 1.0) if np.isnan(estimate) else (estimate, estimate)
        grid, evidence = self.grid, np.log(np.maximum(self.total_evidence(), 1e-300))
        level = -np.log(self.alpha)
        possible = np.flatnonzero((evidence < level) & self._feasible())
        if not len(possible):
            return 0.0, 1.0
        first, last = possible[0], possible[-1]
        low, high = grid[max(first - 1, 0)], grid[min(last + 1, len(grid) - 1)]
        if first > 1:
            low = _beyond(evidence, level, grid, first - 1, -1, grid[first])
        if last < len(grid) - 2:
            high = _beyond(evidence, level, grid, last + 1, 1, grid[last])
        return float(low), float(high)

    def _feasible(self):
        # Ratios that some labels of the rows that are left would give.
        cells = self.cells
        base = cells.low_min[:, None] - self.grid * cells.base[:, None]
        one = base + self._unit(self.grid) * cells.top[:, None]
        one += (cells.low_max - cells.low_min)[:, None]
        known = self.known[0] - self.grid * self.known[1]
        smallest = self.left @ np.minimum(np.minimum(base, one), 0.0)
        largest = self.left @ np.maximum(np.maximum(base, one), 0.0)
        return (known + smallest <= 1e-9) & (known + largest >= -1e-9)


def _beyond(evidence, level, grid, i, away, limit):
    # Where the evidence reaches `level` between the rejected grid[i] and `limit`. It is
    # a convex function, so that the line through two rejected ratios is below it,
    # unless it was capped.
    slope = (evidence[i + away] - evidence[i]) / (grid[i + away] - grid[i])
    if slope * away <= 0.0 or not level <= evidence[i] < MAX_EXTRAPOLATED:
        return grid[i]
    at = grid[i] + (level - evidence[i]) / slope
    return min(max(at, min(grid[i], limit)), max(grid[i], limit))
