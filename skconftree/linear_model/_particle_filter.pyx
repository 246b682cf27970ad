"""Particle filter of OASIS (online active semi-supervised learning, Goldberg et al., 2011).

It is a weighted sample of hyperplanes from the posterior of a linear classifier.

A particle is a hyperplane (plane) w; its margin at a row x is the inner product w.x. With
more than two classes, there is one binary problem per class (one-vs-rest), with particles
of its own. Moves are sweeps of Metropolis steps along the coordinates of the particles
(`_sweep.pxd`), whose target is the posterior given the recent rows. Random numbers are
hashes: `mix` hashes a 64-bit integer, and `unit` maps a hash to [0, 1). `exp_moderate`
and `exp_negative` are vectorized exponentials, for arguments from -300 to 300 and of at
most 0; `bounded` and `limited` clip values, so that products of two are finite. `GROUP`
planes are moved at a time, and margins are computed for at most `BLOCK` of them at a time.
"""

from numbers import Integral, Real

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, M_PI, cos, exp, fabs, log, log1p, sin, sqrt, tan
from libc.string cimport memcpy

from skconftree.linear_model._margins cimport (
    BLOCK, Bits, bounded, exp_moderate, exp_negative, find_margins,
    find_margins_of_four,
)
from skconftree.linear_model._sweep cimport GROUP, KNOTS, Target, limited, sweep
from skconftree.utils._codec import canonical
from skconftree.utils._draws cimport mix, unit
from skconftree.utils._typedefs cimport float32_t, float64_t, int16_t, intp_t, uint64_t

STATE_VERSION = 2

cdef enum:
    LANES = 8           # partial sums, so that compilers vectorize the loops
    AHEAD = 4           # rows whose margins are computed together
    SIGNAL_CHECK_ROWS = 64      # rows between checks for signals, a multiple of AHEAD
    NO_LABEL = -1
    PAIRS = 250         # number of pairs of particles whose distances give the step sizes
    FULL_SWEEP_ROWS = 200       # number of rows up to which a move makes all its steps
    MIN_STEPS = 4       # minimum number of steps of a move; coordinates may repeat
    UNLABELED_COST = 4  # time of a likelihood without a label, relative to one with a label

cdef float64_t STEP_FACTOR = 1.1    # step size relative to the distance of particles
cdef float64_t MIN_STEP = 1e-3      # relative to the scale of the prior

# Type and limits of each setting; `alpha` and `gamma` are parameters of the likelihood.
# They are checked because they determine the sizes of arrays and may come from a file.
cdef dict SETTINGS = {
    "n_problems": (Integral, 0, 2**16),
    "n_particles": (Integral, 2, 2**31),
    "n_features": (Integral, 1, 2**31),
    "buffer_size": (Integral, 1, 2**31),
    "alpha": (Real, 0.0, 1.0),
    "gamma": (Real, 0.0, 1.0),
    "cauchy": (bool, 0, 1),
    "scale": (Real, 1e-50, 1e50),
    "resample": (bool, 0, 1),
    "seed": (Integral, 0, 2**32),
}


def check_settings(settings):
    """Raise ``ValueError`` if a setting is missing or out of range."""
    if settings.keys() != SETTINGS.keys():
        raise ValueError(
            "The state of these particles is corrupt: its settings are "
            f"{list(settings)}, expected {list(SETTINGS)}."
        )
    for name, (kind, low, high) in SETTINGS.items():
        value = settings[name]
        if not (isinstance(value, kind) and low <= value <= high):
            raise ValueError(
                f"The state of these particles is corrupt: {name} must be in "
                f"[{low}, {high}]. Got {value!r} instead."
            )


# Log likelihood of a label y of a row x given a hyperplane w, with the shape that OASIS
# defines.
#
#   L(y | x, w) = min{1 - gamma, max{gamma alpha, c exp(slope y w.x)}},  y = -1 or 1
#
# with c = sqrt((1 - gamma) gamma alpha). Its logarithm is linear if |w.x| < 1, and
# constant otherwise. The likelihood of a row without a label is L(1) + L(-1). It is largest
# if |w.x| >= 1, so that hyperplanes that pass close to rows lose weight.

cdef struct Likelihood:
    float64_t low           # ln(gamma alpha)
    float64_t high          # ln(1 - gamma)
    float64_t middle        # ln c, for rows on the plane
    float64_t slope         # of ln L for |w.x| < 1
    float64_t outside       # ln(1 - gamma + gamma alpha), of an unlabeled row, |w.x| >= 1


cdef inline float64_t log_likelihood(
    const Likelihood* shape, float64_t signed_margin
) noexcept nogil:
    # ln L(y | x, w), given y w.x.
    cdef float64_t value = shape.middle + shape.slope * signed_margin
    value = value if value < shape.high else shape.high
    return value if value > shape.low else shape.low


cdef inline float64_t log_likelihood_unlabeled(
    const Likelihood* shape, float64_t margin
) noexcept nogil:
    # ln(L(1) + L(-1)), given w.x. The branch saves time: most planes are far from most
    # rows.
    cdef float64_t rise
    if fabs(margin) >= 1.0:
        return shape.outside
    rise = shape.slope * fabs(margin)
    return shape.middle + rise + log1p(exp(-2.0 * rise))


cdef float64_t _sum(const float64_t* parts) noexcept nogil:
    cdef float64_t total = 0.0
    cdef intp_t lane
    for lane in range(LANES):
        total += parts[lane]
    return total


cdef inline void draw_normal_pair(
    uint64_t key, intp_t j, float64_t* pair
) noexcept nogil:
    # Box-Muller transform of draws j and j + 1 of a particle.
    cdef float64_t radius = sqrt(-2.0 * log(1.0 - unit(mix(key + <uint64_t> j))))
    cdef float64_t angle = 2.0 * M_PI * unit(mix(key + <uint64_t> j + 1))
    pair[0] = radius * cos(angle)
    pair[1] = radius * sin(angle)


cdef float64_t median(float64_t* values, intp_t n) noexcept nogil:
    # Value of rank n // 2, by quickselect, which reorders the values.
    cdef intp_t low = 0
    cdef intp_t high = n - 1
    cdef intp_t k = n // 2
    cdef intp_t i, j
    cdef float64_t pivot
    while low < high:
        pivot = values[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


cdef class ParticleFilter:
    """Weighted hyperplanes (particles) that are updated by rows, resampled and moved.

    There is one problem, or one per class against the rest. Coordinates are stored
    feature by feature, [problem, feature, particle], and the last dimension is padded
    to a multiple of `LANES` with particles of weight 0.
    """

    cdef readonly dict settings
    cdef readonly intp_t n_problems
    cdef readonly intp_t n_particles
    cdef readonly intp_t n_features
    cdef intp_t stride
    cdef Likelihood shape
    cdef bint cauchy            # prior is Cauchy, otherwise normal
    cdef float64_t scale        # of the prior
    cdef bint resample          # whether particles are resampled and moved
    cdef uint64_t seed
    # Log weights are relative to the largest, which is 0. Weights are their
    # exponentials, and `total` is the sum of the weights.
    cdef float64_t[:, :, ::1] particles
    cdef float64_t[:, ::1] log_weights
    cdef float64_t[:, ::1] weights
    cdef float64_t[::1] total
    cdef float64_t[::1] ess             # effective sample size of each problem
    cdef readonly intp_t n_rows         # learned so far
    cdef intp_t buffer_size     # number of recent rows that determine the target of moves
    cdef intp_t n_buffered
    cdef intp_t[::1] n_moves            # of each problem
    cdef intp_t[::1] n_restarts         # of each problem: particles drawn again from the prior
    # Ring buffer of the last rows: row number i is at i modulo buffer_size.
    cdef float64_t[:, ::1] rows
    cdef intp_t[::1] labels
    cdef float64_t[::1] row_weights
    # Buffers for learning: margins of the next rows, [problem, row, particle]; one
    # coordinate of the resampled particles, and the index of the particle each copies.
    cdef float64_t[:, :, ::1] margins_ahead
    cdef float64_t[::1] drawn
    cdef intp_t[::1] parent
    # Buffers for moves: step size of each feature; signed values of the buffered rows,
    # [feature, row]; coordinates of some planes and their margins.
    cdef float64_t[::1] step_sizes
    cdef float32_t[:, ::1] values
    cdef float32_t[::1] value_weights
    cdef float32_t[:, ::1] planes
    cdef float32_t[:, ::1] margins
    # Log likelihood of a row without a label at KNOTS values of |w.x|, up to a constant.
    cdef const float32_t[::1] unlabeled_knots

    def __init__(self, settings, state=None):
        check_settings(settings)
        cdef intp_t p = settings["n_problems"]
        cdef intp_t m = settings["n_particles"]
        cdef intp_t d = settings["n_features"]
        cdef float64_t alpha = settings["alpha"]
        cdef float64_t gamma = settings["gamma"]
        cdef intp_t problem
        self.settings = dict(settings)
        self.n_problems, self.n_particles, self.n_features = p, m, d
        self.stride = (m + LANES - 1) // LANES * LANES
        self.cauchy, self.scale = settings["cauchy"], settings["scale"]
        self.resample, self.seed = settings["resample"], settings["seed"]
        self.buffer_size = settings["buffer_size"]
        self.shape.low = log(gamma) + log(alpha)
        self.shape.high = log1p(-gamma)
        self.shape.middle = 0.5 * (self.shape.low + self.shape.high)
        self.shape.slope = self.shape.middle - self.shape.low
        self.shape.outside = log1p(gamma * alpha - gamma)
        self.particles = np.zeros((p, d, self.stride))
        self.log_weights = np.zeros((p, self.stride))
        self.weights = np.zeros((p, self.stride))
        self.total = np.zeros(p)
        self.ess = np.zeros(p)
        self.drawn = np.zeros(self.stride)
        self.parent = np.zeros(self.n_particles, dtype=np.intp)
        self.margins_ahead = np.zeros((p, AHEAD, self.stride))
        self.step_sizes = np.zeros(d)
        self.values = np.zeros((d, self.buffer_size), dtype=np.float32)
        self.value_weights = np.zeros(self.buffer_size, dtype=np.float32)
        self.planes = np.zeros((d, GROUP), dtype=np.float32)
        self.margins = np.zeros((self.buffer_size, GROUP), dtype=np.float32)
        # the last knot twice, because interpolation reads the next one, too
        rise = np.append(np.linspace(0.0, self.shape.slope, KNOTS), self.shape.slope)
        self.unlabeled_knots = (rise + np.log1p(np.exp(-2.0 * rise))).astype(np.float32)
        self.rows = np.zeros((self.buffer_size, d))
        self.labels = np.zeros(self.buffer_size, dtype=np.intp)
        self.row_weights = np.zeros(self.buffer_size)
        self.n_moves = np.zeros(p, dtype=np.intp)
        self.n_restarts = np.zeros(p, dtype=np.intp)
        if state is None:
            with nogil:
                for problem in range(p):
                    self._draw_prior(problem, 0)
        else:
            self._set_state(state)

    cdef inline uint64_t _key(
        self, intp_t problem, intp_t row, intp_t particle
    ) noexcept nogil:
        # Seed of the random numbers of one particle at one row. Particle numbers from
        # `n_particles` on are for numbers that concern all particles, and for the prior.
        cdef uint64_t key = mix(self.seed) ^ <uint64_t> problem
        return mix(mix(mix(key) ^ <uint64_t> row) ^ <uint64_t> particle)

    cdef void _draw_prior(self, intp_t problem, intp_t row) noexcept nogil:
        # Draw all particles from the prior, with equal weights.
        cdef intp_t m = self.n_particles
        cdef intp_t d = self.n_features
        cdef float64_t pair[2]
        cdef uint64_t key
        cdef intp_t i, j
        for i in range(m):
            key = self._key(problem, row, m + 1 + i)
            for j in range(d):
                if self.cauchy:
                    pair[0] = tan(M_PI * (unit(mix(key + <uint64_t> j)) - 0.5))
                    self.particles[problem, j, i] = bounded(self.scale * pair[0])
                else:
                    if j % 2 == 0:
                        draw_normal_pair(key, j, pair)
                    self.particles[problem, j, i] = self.scale * pair[j % 2]
        self._equal_weights(problem)

    cdef void _equal_weights(self, intp_t problem) noexcept nogil:
        cdef intp_t i
        for i in range(self.stride):
            self.log_weights[problem, i] = 0.0 if i < self.n_particles else -INFINITY
        self._normalize(problem, 0.0)

    cdef void _normalize(self, intp_t problem, float64_t best) noexcept nogil:
        # Compute weights relative to the best, their sum and the effective sample size.
        cdef float64_t* log_weight = &self.log_weights[problem, 0]
        cdef float64_t* weight = &self.weights[problem, 0]
        cdef float64_t sums[LANES]
        cdef float64_t squares[LANES]
        cdef intp_t i, lane
        for lane in range(LANES):
            sums[lane] = 0.0
            squares[lane] = 0.0
        for i in range(self.stride):
            log_weight[i] -= best
            weight[i] = exp_negative(log_weight[i])
        i = 0
        while i < self.stride:
            for lane in range(LANES):
                sums[lane] += weight[i + lane]
                squares[lane] += weight[i + lane] * weight[i + lane]
            i += LANES
        self.total[problem] = _sum(sums)
        self.ess[problem] = self.total[problem] * self.total[problem] / _sum(squares)

    cdef void _draw_parents(
        self, intp_t problem, float64_t first, intp_t* parent
    ) noexcept nogil:
        # Systematic resampling: one draw, then equal steps through the cumulative
        # weights. Fills `parent` with the indices of the particles to copy, in
        # ascending order.
        cdef const float64_t* weight = &self.weights[problem, 0]
        cdef intp_t m = self.n_particles
        cdef intp_t last = m - 1    # particle with positive weight, despite rounding
        cdef intp_t drawn = 0
        cdef intp_t i
        cdef float64_t cumulative = weight[0]
        while weight[last] == 0.0:
            last -= 1
        for i in range(m):
            while drawn < last and cumulative < (first + i) / m * self.total[problem]:
                drawn += 1
                cumulative += weight[drawn]
            parent[i] = drawn

    cdef int _check_rows(self, const float64_t[:, ::1] X) except -1:
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, the particles have {self.n_features}. "
                "The attributes of the estimator were changed; fit it again."
            )
        return 0

    def odds(self, const float64_t[:, ::1] X):
        """Sum the weighted likelihoods of labels 1 and -1: [row, problem, label].

        The ratio of the two sums is the odds of label 1.
        """
        cdef intp_t i, problem
        self._check_rows(X)
        odds = np.empty((X.shape[0], self.n_problems, 2))
        cdef float64_t[:, :, ::1] out = odds
        with nogil:
            for i in range(X.shape[0]):
                for problem in range(self.n_problems):
                    self._odds(problem, &X[i, 0], &out[i, problem, 0])
        return odds

    cdef void _odds(
        self, intp_t problem, const float64_t* x, float64_t* out
    ) noexcept nogil:
        cdef float64_t margin[BLOCK]
        cdef intp_t start = 0
        cdef intp_t size
        out[0] = 0.0
        out[1] = 0.0
        while start < self.stride:
            size = min(<intp_t> BLOCK, self.stride - start)
            find_margins(
                &self.particles[problem, 0, start], self.stride, x, self.n_features,
                size, margin,
            )
            self._add_odds(problem, start, size, margin, out)
            start += size

    cdef void _add_odds(
        self, intp_t problem, intp_t start, intp_t size, const float64_t* margin,
        float64_t* out,
    ) noexcept nogil:
        # Add the likelihoods of both labels for `size` particles, from `start` on.
        cdef float64_t positive[BLOCK]
        cdef float64_t negative[BLOCK]
        cdef float64_t positive_sums[LANES]
        cdef float64_t negative_sums[LANES]
        cdef const float64_t* weight = &self.weights[problem, start]
        cdef Likelihood shape = self.shape
        cdef intp_t i, lane
        for lane in range(LANES):
            positive_sums[lane] = 0.0
            negative_sums[lane] = 0.0
        for i in range(size):
            positive[i] = weight[i] * exp_moderate(log_likelihood(&shape, margin[i]))
            negative[i] = weight[i] * exp_moderate(log_likelihood(&shape, -margin[i]))
        i = 0
        while i < size:
            for lane in range(LANES):
                positive_sums[lane] += positive[i + lane]
                negative_sums[lane] += negative[i + lane]
            i += LANES
        out[0] += _sum(positive_sums)
        out[1] += _sum(negative_sums)

    def sides(self, const float64_t[:, ::1] X):
        """Compute the shares of the weight of particles with positive and negative margin.

        The result has the shape [row, problem, side].
        """
        cdef float64_t margin[BLOCK]
        cdef float64_t above, below, weight
        cdef intp_t k, i, problem, start, size
        self._check_rows(X)
        sides = np.empty((X.shape[0], self.n_problems, 2))
        cdef float64_t[:, :, ::1] out = sides
        with nogil:
            for k in range(X.shape[0]):
                for problem in range(self.n_problems):
                    above = 0.0
                    below = 0.0
                    start = 0
                    while start < self.stride:
                        size = min(<intp_t> BLOCK, self.stride - start)
                        find_margins(
                            &self.particles[problem, 0, start], self.stride, &X[k, 0],
                            self.n_features, size, margin,
                        )
                        for i in range(size):
                            weight = self.weights[problem, start + i]
                            above += weight if margin[i] > 0.0 else 0.0
                            below += weight if margin[i] < 0.0 else 0.0
                        start += size
                    out[k, problem, 0] = above / self.total[problem]
                    out[k, problem, 1] = below / self.total[problem]
        return sides

    def coordinates(self):
        """Coordinates of the particles: [problem, particle, feature]."""
        inside = np.asarray(self.particles)[:, :, :self.n_particles]
        return np.ascontiguousarray(inside.transpose(0, 2, 1))

    def shares(self):
        """Weights of the particles, normalized to sum to 1 for each problem."""
        inside = np.asarray(self.weights)[:, :self.n_particles]
        return inside / np.asarray(self.total)[:, np.newaxis]

    def hypotheses(self, const float64_t[:, ::1] X, intp_t row):
        """Predict rows by each particle of a sample, which is drawn by weight.

        Returns the predicted class of the first problem, 1 if the margin is positive and
        otherwise 0, [particle, row]; and the index of each drawn particle, ascending.
        The random draw is determined by the seed and `row`.
        """
        cdef intp_t m = self.n_particles
        cdef intp_t n = X.shape[0]
        cdef intp_t d = self.n_features
        cdef float64_t margin[BLOCK]
        cdef intp_t i, j, k, size
        cdef intp_t start = 0
        self._check_rows(X)
        outcomes = np.empty((m, n), dtype=np.int16)
        drawn = np.empty(m, dtype=np.intp)
        # `find_margins` is called with rows and planes exchanged: one plane, many rows.
        cdef const float64_t[:, ::1] columns = np.ascontiguousarray(np.asarray(X).T)
        cdef const float64_t[:, ::1] planes = np.ascontiguousarray(
            np.asarray(self.particles)[0].T
        )
        cdef int16_t[:, ::1] out = outcomes
        cdef intp_t[::1] parent = drawn
        with nogil:
            # No other draw uses this number: the draws of the prior end at 2 m.
            self._draw_parents(0, unit(self._key(0, row, 2 * m + 1)), &parent[0])
            while start < n:
                size = min(<intp_t> BLOCK, n - start)
                for i in range(m):
                    k = parent[i]
                    if i > 0 and parent[i - 1] == k:
                        memcpy(&out[i, start], &out[i - 1, start], size * sizeof(int16_t))
                        continue
                    find_margins(&columns[0, start], n, &planes[k, 0], d, size, margin)
                    for j in range(size):
                        out[i, start + j] = margin[j] > 0.0
                start += size
        return outcomes, drawn

    def set_resample(self, bint resample):
        """Set whether particles are resampled and moved from now on."""
        self.settings = self.settings | {"resample": resample}
        self.resample = resample

    def learn(
        self, const float64_t[:, ::1] X, const intp_t[::1] y,
        const float64_t[::1] weight, float64_t[:, :, ::1] odds_before,
    ):
        """Learn rows in their order; no other thread may use the filter meanwhile.

        Class -1 stands for no label. Rows of weight 0 are predicted, but not learned.
        `odds_before`, unless None, is filled with the `odds` of each row before it is
        learned.
        """
        cdef intp_t n = X.shape[0]
        cdef intp_t i = 0
        cdef intp_t k, n_ahead, problem
        cdef float64_t w = 1.0
        self._check_rows(X)
        if not (
            y.shape[0] == n
            and (weight is None or weight.shape[0] == n)
            and (odds_before is None or (
                odds_before.shape[0] == n and odds_before.shape[1] == self.n_problems
                and odds_before.shape[2] == 2
            ))
        ):
            raise ValueError(
                f"Labels, weights and odds must have one element for each of {n} rows."
            )
        with nogil:
            while i < n:
                n_ahead = min(<intp_t> AHEAD, n - i)
                for problem in range(self.n_problems):
                    self._find_margins_ahead(problem, &X[i, 0], 0, n_ahead)
                for k in range(n_ahead):
                    if odds_before is not None:
                        for problem in range(self.n_problems):
                            self._odds_ahead(problem, k, &odds_before[i + k, problem, 0])
                    if weight is not None:
                        w = weight[i + k]
                    if w > 0.0:
                        self._learn_row(&X[i, 0], k, n_ahead, y[i + k], w)
                i += n_ahead
                if i % SIGNAL_CHECK_ROWS == 0 and i < n:
                    with gil:
                        PyErr_CheckSignals()

    cdef void _find_margins_ahead(
        self, intp_t problem, const float64_t* rows, intp_t first, intp_t n_rows
    ) noexcept nogil:
        # Compute the margins of `n_rows` rows, from row `first` on.
        cdef const float64_t* w
        cdef intp_t start = 0
        cdef intp_t size, k
        while start < self.stride:
            size = min(<intp_t> BLOCK, self.stride - start)
            w = &self.particles[problem, 0, start]
            if first == 0 and n_rows == AHEAD:
                find_margins_of_four(
                    w, self.stride, rows, self.n_features, size,
                    &self.margins_ahead[problem, 0, start],
                )
            else:
                for k in range(first, n_rows):
                    find_margins(
                        w, self.stride, rows + k * self.n_features, self.n_features,
                        size, &self.margins_ahead[problem, k, start],
                    )
            start += size

    cdef void _learn_row(
        self, const float64_t* rows, intp_t k, intp_t n_ahead, intp_t label,
        float64_t weight,
    ) noexcept nogil:
        # Learn row k of the `n_ahead` rows whose margins are in `margins_ahead`.
        cdef const float64_t* x = rows + k * self.n_features
        cdef intp_t slot = self.n_rows % self.buffer_size
        cdef intp_t problem
        self.n_rows += 1
        # Store the row before the move, whose target must include it as the weights do.
        memcpy(&self.rows[slot, 0], x, self.n_features * sizeof(float64_t))
        self.labels[slot] = label
        self.row_weights[slot] = weight
        self.n_buffered = min(self.n_buffered + 1, self.buffer_size)
        for problem in range(self.n_problems):
            if not self._update_weights(problem, k, self._sign(problem, label), weight):
                self._draw_prior(problem, self.n_rows)
                self.n_restarts[problem] += 1
            elif self.resample and 2.0 * self.ess[problem] < self.n_particles:
                self._resample_and_move(problem)
            else:
                continue
            self._find_margins_ahead(problem, rows, k + 1, n_ahead)

    cdef void _odds_ahead(
        self, intp_t problem, intp_t k, float64_t* out
    ) noexcept nogil:
        # The same as `_odds`, for row k of those whose margins are in `margins_ahead`.
        cdef intp_t start = 0
        cdef intp_t size
        out[0] = 0.0
        out[1] = 0.0
        while start < self.stride:
            size = min(<intp_t> BLOCK, self.stride - start)
            self._add_odds(problem, start, size, &self.margins_ahead[problem, k, start], out)
            start += size

    cdef inline float64_t _sign(self, intp_t problem, intp_t label) noexcept nogil:
        # Sign of a row's label in a problem: 1, -1, or 0 without a label.
        if label == NO_LABEL:
            return 0.0
        if self.n_problems == 1:
            return 1.0 if label == 1 else -1.0
        return 1.0 if label == problem else -1.0

    cdef bint _update_weights(
        self, intp_t problem, intp_t k, float64_t sign, float64_t weight
    ) noexcept nogil:
        # Multiply weights by the likelihood of row k, whose label is `sign` (0 if missing);
        # return False if all of them become 0.
        cdef float64_t parts[LANES]
        cdef float64_t* log_weight = &self.log_weights[problem, 0]
        cdef const float64_t* margin = &self.margins_ahead[problem, k, 0]
        cdef Likelihood shape = self.shape
        cdef float64_t best = -INFINITY
        cdef float64_t value
        cdef intp_t i, lane
        for lane in range(LANES):
            parts[lane] = -INFINITY
        if sign == 0.0:
            for i in range(self.stride):
                log_weight[i] += weight * log_likelihood_unlabeled(&shape, margin[i])
        else:
            for i in range(self.stride):
                log_weight[i] += weight * log_likelihood(&shape, sign * margin[i])
        i = 0
        while i < self.stride:
            for lane in range(LANES):
                value = log_weight[i + lane]
                parts[lane] = value if value > parts[lane] else parts[lane]
            i += LANES
        for lane in range(LANES):
            best = max(best, parts[lane])
        if best == -INFINITY:
            return False
        self._normalize(problem, best)
        return True

    cdef void _resample_and_move(self, intp_t problem) noexcept nogil:
        cdef intp_t m = self.n_particles
        cdef intp_t d = self.n_features
        cdef intp_t start = 0
        cdef intp_t cost, n_coordinates, i, size
        cdef uint64_t keys[GROUP]
        cdef Target target
        self._find_step_sizes(problem)
        self._resample(problem)
        self._find_target(problem, &target)
        # Number of coordinates that a move updates: 1.5 per feature, fewer if there are many
        # rows, so that the time is limited. Nevertheless, few planes remain unchanged.
        cost = target.n_labeled + UNLABELED_COST * (target.n_rows - target.n_labeled)
        cost = 2 * max(cost, <intp_t> FULL_SWEEP_ROWS)
        n_coordinates = max(1 + 3 * d * FULL_SWEEP_ROWS // cost, <intp_t> MIN_STEPS)
        # Planes are moved in groups; moves take turns in the coordinate with which they begin.
        while start < m:
            size = min(<intp_t> GROUP, m - start)
            for i in range(size):
                keys[i] = self._key(problem, self.n_rows, start + i)
            sweep(
                &target, &self.particles[problem, 0, start], self.stride, d,
                &self.step_sizes[0], keys, self.n_moves[problem] * n_coordinates % d,
                n_coordinates, size, &self.planes[0, 0], &self.margins[0, 0],
            )
            start += GROUP
        self._equal_weights(problem)
        self.n_moves[problem] += 1

    cdef void _find_step_sizes(self, intp_t problem) noexcept nogil:
        # Step size of each coordinate: proportional to the median distance of pairs of
        # particles, which is robust to the many outliers of a Cauchy prior.
        cdef intp_t half = self.n_particles // 2
        cdef intp_t n_pairs = min(half, <intp_t> PAIRS)
        cdef const float64_t* w
        cdef intp_t i, j, k
        for j in range(self.n_features):
            w = &self.particles[problem, j, 0]
            for i in range(n_pairs):
                k = i * half // n_pairs
                self.drawn[i] = fabs(w[k] - w[k + half])
            self.step_sizes[j] = max(
                MIN_STEP * self.scale, STEP_FACTOR * median(&self.drawn[0], n_pairs)
            )

    cdef void _find_target(self, intp_t problem, Target* target) noexcept nogil:
        # Fill `target`, the posterior given the recent rows; labeled rows come first.
        cdef intp_t d = self.n_features
        cdef intp_t slot = 0
        cdef intp_t row, j
        cdef float64_t sign, factor
        cdef bint labeled
        target.values = &self.values[0, 0]
        target.weights = &self.value_weights[0]
        target.stride = self.buffer_size
        target.n_rows = self.n_buffered
        target.slope = self.shape.slope
        target.cauchy = self.cauchy
        target.precision = 1.0 / self.scale
        target.unlabeled_knots = &self.unlabeled_knots[0]
        for labeled in (True, False):
            for row in range(self.n_buffered):
                sign = self._sign(problem, self.labels[row])
                if (sign != 0.0) != labeled:
                    continue
                factor = self.shape.slope * (sign if labeled else 1.0)
                self.value_weights[slot] = <float32_t> limited(self.row_weights[row])
                for j in range(d):
                    self.values[j, slot] = <float32_t> limited(
                        factor * self.rows[row, j]
                    )
                slot += 1
            if labeled:
                target.n_labeled = slot

    cdef void _resample(self, intp_t problem) noexcept nogil:
        # Replace the particles by a sample of them, drawn by weight.
        cdef intp_t m = self.n_particles
        cdef intp_t i, j
        cdef float64_t* w
        self._draw_parents(
            problem, unit(self._key(problem, self.n_rows, m)), &self.parent[0]
        )
        for j in range(self.n_features):
            w = &self.particles[problem, j, 0]
            for i in range(m):
                self.drawn[i] = w[self.parent[i]]
            memcpy(w, &self.drawn[0], m * sizeof(float64_t))

    def counts(self):
        """Effective sample size, ``ess``, ``n_moves`` and ``n_restarts`` by problem."""
        return {
            "ess": np.array(self.ess),
            "n_moves": np.array(self.n_moves),
            "n_restarts": np.array(self.n_restarts),
        }

    def n_distinct(self):
        """Number of distinct planes of each problem."""
        cdef intp_t problem, i, j
        cdef Bits plane
        n_distinct = np.zeros(self.n_problems, dtype=np.intp)
        cdef uint64_t[::1] hashes = np.zeros(self.n_particles, dtype=np.uint64)
        for problem in range(self.n_problems):
            with nogil:
                hashes[:] = 0
                for j in range(self.n_features):
                    for i in range(self.n_particles):
                        plane.number = self.particles[problem, j, i]
                        hashes[i] = mix(hashes[i] ^ plane.bits)
            n_distinct[problem] = len(np.unique(hashes))
        return n_distinct

    def __reduce__(self):
        arrays = self._arrays(self.n_buffered)
        state = {name: array.copy() for name, array in arrays.items()}
        state |= {"version": STATE_VERSION, "n_rows": self.n_rows}
        # `canonical` makes pickles of equal states equal
        return restored, (canonical(self.settings), canonical(state))

    def _arrays(self, n):
        # The arrays that determine the filter, with n rows in the buffer.
        return {
            "particles": np.asarray(self.particles),
            "log_weights": np.asarray(self.log_weights),
            "rows": np.asarray(self.rows)[:n],
            "labels": np.asarray(self.labels)[:n],
            "row_weights": np.asarray(self.row_weights)[:n],
            "n_moves": np.asarray(self.n_moves),
            "n_restarts": np.asarray(self.n_restarts),
        }

    cdef int _set_state(self, dict state) except -1:
        cdef intp_t problem
        if state.get("version") != STATE_VERSION:
            raise ValueError(
                f"The state of these particles has version {state.get('version')!r}; "
                f"this release reads version {STATE_VERSION}."
            )
        n_rows = state.get("n_rows")
        valid = isinstance(n_rows, int) and 0 <= n_rows < 2**62
        n = min(n_rows, self.buffer_size) if valid else 0
        for name, own in self._arrays(n).items():
            array = state.get(name)
            valid = valid and isinstance(array, np.ndarray)
            valid = valid and (array.shape, array.dtype) == (own.shape, own.dtype)
            if valid:
                own[...] = array
        # `_draw_parents` needs a particle with positive weight
        inside = np.asarray(self.log_weights)[:, :self.n_particles]
        if not (valid and (inside.max(axis=1) == 0.0).all()):
            raise ValueError("The state of these particles is corrupt.")
        self.n_rows = n_rows
        self.n_buffered = n
        for problem in range(self.n_problems):
            self._normalize(problem, 0.0)
        return 0


def restored(settings, state):
    """Make a filter from a pickle, or raise ``ValueError``."""
    if not (isinstance(settings, dict) and isinstance(state, dict)):
        raise ValueError("The state of these particles is corrupt.")
    return ParticleFilter(settings, state)
