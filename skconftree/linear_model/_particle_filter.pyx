"""Hyperplanes with weights that learn: the particle filter of OASIS."""

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
    LANES = 8           # partial sums: a loop over them becomes vector instructions
    AHEAD = 4           # rows whose margins are found at once
    BOUNDARY = 64       # rows between two looks at signals, a multiple of AHEAD
    NO_LABEL = -1
    PAIRS = 250         # of particles, whose distances give the sizes of steps
    WHOLE = 200         # rows up to which a move takes its full number of steps
    FEWEST = 4          # steps along coordinates, again and again if need be
    EITHER = 4          # rows with a label whose likelihoods cost that of one without

cdef float64_t STEP = 1.1               # of particles' distances: rows bind coordinates
cdef float64_t SMALLEST_STEP = 1e-3     # of the prior's scale

# Kind and limits of each setting: the sizes of arrays follow from them, and they may come
# from a file.
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
        raise ValueError(f"The state of these particles is damaged: {list(settings)}.")
    for name, (kind, low, high) in SETTINGS.items():
        value = settings[name]
        if not (isinstance(value, kind) and low <= value <= high):
            raise ValueError(
                f"The state of these particles is damaged: {name} must be in "
                f"[{low}, {high}]. Got {value!r} instead."
            )


# How likely a label is, given a hyperplane: OASIS's shape, on the scale of logarithms.
#
#   L(y | x, w) = min{1 - gamma, max{gamma alpha, c exp(slope y w.x)}},  y = -1 or 1
#
# with c = sqrt((1 - gamma) gamma alpha). It is flat outside the margin |w.x| < 1, and its
# logarithm is a straight line inside. A row without a label counts by L(1) + L(-1),
# which is largest outside: hyperplanes that run through data lose.

cdef struct Likelihood:
    float64_t low           # ln(gamma alpha)
    float64_t high          # ln(1 - gamma)
    float64_t middle        # ln c, on the plane
    float64_t slope         # from there to either side
    float64_t outside       # ln(1 - gamma + gamma alpha)


cdef inline float64_t of_label(
    const Likelihood* shape, float64_t signed_margin
) noexcept nogil:
    # ln L(y | x, w), given y w.x.
    cdef float64_t found = shape.middle + shape.slope * signed_margin
    found = found if found < shape.high else shape.high
    return found if found > shape.low else shape.low


cdef inline float64_t of_either(
    const Likelihood* shape, float64_t margin
) noexcept nogil:
    # ln(L(1) + L(-1)), given w.x. Most planes are far from most rows: the branch pays.
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
    # Box and Muller, from draws j and j + 1 of a particle.
    cdef float64_t radius = sqrt(-2.0 * log(1.0 - unit(mix(key + <uint64_t> j))))
    cdef float64_t angle = 2.0 * M_PI * unit(mix(key + <uint64_t> j + 1))
    pair[0] = radius * cos(angle)
    pair[1] = radius * sin(angle)


cdef float64_t median(float64_t* values, intp_t n) noexcept nogil:
    # The one at n // 2 in order, by quickselect; the values change places.
    cdef intp_t low = 0
    cdef intp_t high = n - 1
    cdef intp_t k = n // 2
    cdef intp_t i, j
    cdef float64_t pivot, kept
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
                kept = values[i]
                values[i] = values[j]
                values[j] = kept
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
    """Hyperplanes with weights that learn rows, are resampled and move.

    They are those of one problem, or of one for each class against the rest. Coordinates
    lie feature by feature, [problem, feature, particle], and the last dimension is filled
    up to a multiple of `LANES` with particles of weight 0.
    """

    cdef readonly dict settings
    cdef readonly intp_t n_problems
    cdef readonly intp_t n_particles
    cdef readonly intp_t n_features
    cdef intp_t stride
    cdef Likelihood shape
    cdef bint cauchy            # the prior; else normal
    cdef float64_t scale        # of the prior
    cdef bint resample          # particles are resampled and moved
    cdef uint64_t seed
    # Log weights are relative to the largest, which is 0. Weights are their
    # exponentials, `total` the sum of these.
    cdef float64_t[:, :, ::1] particles
    cdef float64_t[:, ::1] log_weights
    cdef float64_t[:, ::1] weights
    cdef float64_t[::1] total
    cdef float64_t[::1] ess
    cdef readonly intp_t n_rows         # learnt so far
    cdef intp_t buffer_size     # rows that moves go by
    cdef intp_t n_buffered
    cdef intp_t[::1] n_moves
    cdef intp_t[::1] n_restarts
    # The last rows, in a ring: row number i is at i modulo buffer_size.
    cdef float64_t[:, ::1] rows
    cdef intp_t[::1] labels
    cdef float64_t[::1] row_weights
    # While rows are learnt: margins of the next rows, [problem, row, particle];
    # particles drawn anew, and whose copies they are.
    cdef float64_t[:, :, ::1] ahead
    cdef float64_t[::1] drawn
    cdef intp_t[::1] parent
    # While they are moved: sizes of steps, by features; the rows of the buffer as a
    # problem sees them, by features; their margins, of some planes.
    cdef float64_t[::1] sizes
    cdef float32_t[:, ::1] values
    cdef float32_t[::1] value_weights
    cdef float32_t[:, ::1] planes
    cdef float32_t[:, ::1] margins
    cdef const float32_t[::1] either

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
        self.ahead = np.zeros((p, AHEAD, self.stride))
        self.sizes = np.zeros(d)
        self.values = np.zeros((d, self.buffer_size), dtype=np.float32)
        self.value_weights = np.zeros(self.buffer_size, dtype=np.float32)
        self.planes = np.zeros((d, GROUP), dtype=np.float32)
        self.margins = np.zeros((self.buffer_size, GROUP), dtype=np.float32)
        rise = np.append(np.linspace(0.0, self.shape.slope, KNOTS), self.shape.slope)
        self.either = (rise + np.log1p(np.exp(-2.0 * rise))).astype(np.float32)
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
            self._take(state)

    cdef inline uint64_t _key(
        self, intp_t problem, intp_t row, intp_t particle
    ) noexcept nogil:
        # Of the draws for one particle at one row. Numbers from `n_particles` on are
        # those of a whole cloud.
        cdef uint64_t key = mix(self.seed) ^ <uint64_t> problem
        return mix(mix(mix(key) ^ <uint64_t> row) ^ <uint64_t> particle)

    cdef void _draw_prior(self, intp_t problem, intp_t row) noexcept nogil:
        # A fresh cloud of equal weights.
        cdef intp_t m = self.n_particles
        cdef intp_t d = self.n_features
        cdef float64_t pair[2]
        cdef uint64_t key
        cdef intp_t i, j
        for i in range(m):
            key = self._key(problem, row, m + 1 + i)
            for j in range(d):
                if self.cauchy:     # the ratio of two normal draws
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
        self._normalise(problem, 0.0)

    cdef void _normalise(self, intp_t problem, float64_t best) noexcept nogil:
        # Weights, their sum and the effective sample size.
        cdef float64_t* log_weight = &self.log_weights[problem, 0]
        cdef float64_t* weight = &self.weights[problem, 0]
        cdef float64_t sums[LANES]
        cdef float64_t squares[LANES]
        cdef intp_t i = 0
        cdef intp_t lane
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
        # weights. Whose copies are drawn, in ascending order.
        cdef const float64_t* weight = &self.weights[problem, 0]
        cdef intp_t m = self.n_particles
        cdef intp_t last = m - 1    # with a weight: rounding must not go beyond it
        cdef intp_t found = 0
        cdef intp_t i
        cdef float64_t reached = weight[0]
        while weight[last] == 0.0:
            last -= 1
        for i in range(m):
            while found < last and reached < (first + i) / m * self.total[problem]:
                found += 1
                reached += weight[found]
            parent[i] = found

    cdef int _check_rows(self, const float64_t[:, ::1] X) except -1:
        if X.shape[1] != self.n_features:
            raise ValueError(
                "Rows do not fit the particles: the estimator's attributes have been "
                "changed."
            )
        return 0

    def odds(self, const float64_t[:, ::1] X):
        """Weighted sums of the likelihoods of the labels 1 and -1, the last axis."""
        cdef intp_t i, problem
        self._check_rows(X)
        found = np.empty((X.shape[0], self.n_problems, 2))
        cdef float64_t[:, :, ::1] out = found
        with nogil:
            for i in range(X.shape[0]):
                for problem in range(self.n_problems):
                    self._odds(problem, &X[i, 0], &out[i, problem, 0])
        return found

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
        cdef float64_t one[BLOCK]
        cdef float64_t other[BLOCK]
        cdef float64_t sums[LANES]
        cdef float64_t others[LANES]
        cdef const float64_t* weight = &self.weights[problem, start]
        cdef Likelihood shape = self.shape
        cdef intp_t i, lane
        for lane in range(LANES):
            sums[lane] = 0.0
            others[lane] = 0.0
        for i in range(size):
            one[i] = weight[i] * exp_moderate(of_label(&shape, margin[i]))
            other[i] = weight[i] * exp_moderate(of_label(&shape, -margin[i]))
        i = 0
        while i < size:
            for lane in range(LANES):
                sums[lane] += one[i + lane]
                others[lane] += other[i + lane]
            i += LANES
        out[0] += _sum(sums)
        out[1] += _sum(others)

    def sides(self, const float64_t[:, ::1] X):
        """Shares of the particles with a positive, and with a negative margin."""
        cdef float64_t margin[BLOCK]
        cdef float64_t above, below, weight
        cdef intp_t k, i, problem, start, size
        self._check_rows(X)
        found = np.empty((X.shape[0], self.n_problems, 2))
        cdef float64_t[:, :, ::1] out = found
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
        return found

    def cloud(self):
        """Coordinates, of shape (n_problems, n_particles, n_features)."""
        inside = np.asarray(self.particles)[:, :, :self.n_particles]
        return np.ascontiguousarray(inside.transpose(0, 2, 1))

    def shares(self):
        """Weights of the particles, which sum to 1 for each problem."""
        inside = np.asarray(self.weights)[:, :self.n_particles]
        return inside / np.asarray(self.total)[:, np.newaxis]

    def hypotheses(self, const float64_t[:, ::1] X, intp_t row):
        """Side of each row on which planes lie that are drawn by their weights.

        Gives 1 where the margin of the first problem is positive, else 0, by (particle,
        row), and which particle each drawn one is a copy of, ascending. The one draw is
        made for `row`.
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
        # For a plane the rows are what planes are for a row: beside each other.
        cdef const float64_t[:, ::1] turned = np.ascontiguousarray(np.asarray(X).T)
        cdef const float64_t[:, ::1] planes = np.ascontiguousarray(
            np.asarray(self.particles)[0].T
        )
        cdef int16_t[:, ::1] out = outcomes
        cdef intp_t[::1] parent = drawn
        with nogil:
            # No other draw has this number: those of the prior end at 2 m.
            self._draw_parents(0, unit(self._key(0, row, 2 * m + 1)), &parent[0])
            while start < n:
                size = min(<intp_t> BLOCK, n - start)
                for i in range(m):
                    k = parent[i]
                    if i > 0 and parent[i - 1] == k:
                        memcpy(&out[i, start], &out[i - 1, start], size * sizeof(int16_t))
                        continue
                    find_margins(&turned[0, start], n, &planes[k, 0], d, size, margin)
                    for j in range(size):
                        out[i, start + j] = margin[j] > 0.0
                start += size
        return outcomes, drawn

    def set_resample(self, bint resample):
        """Say whether particles are resampled and moved from now on."""
        self.settings = self.settings | {"resample": resample}
        self.resample = resample

    def learn(
        self, const float64_t[:, ::1] X, const intp_t[::1] y,
        const float64_t[::1] weight, float64_t[:, :, ::1] foreseen,
    ):
        """Learn rows in their order, for whoever holds the lock to learn.

        A class of -1 is not known; a row of weight 0 is foreseen, but not learnt.
        `foreseen`, unless None, is filled with what `odds` gives for each row before it
        is learnt.
        """
        cdef intp_t n = X.shape[0]
        cdef intp_t i = 0
        cdef intp_t k, n_ahead, problem
        cdef float64_t w = 1.0
        self._check_rows(X)
        if not (
            y.shape[0] == n
            and (weight is None or weight.shape[0] == n)
            and (foreseen is None or (
                foreseen.shape[0] == n and foreseen.shape[1] == self.n_problems
                and foreseen.shape[2] == 2
            ))
        ):
            raise ValueError("Labels or weights do not fit the rows.")
        with nogil:
            while i < n:
                n_ahead = min(<intp_t> AHEAD, n - i)
                for problem in range(self.n_problems):
                    self._lookahead(problem, &X[i, 0], 0, n_ahead)
                for k in range(n_ahead):
                    if foreseen is not None:
                        for problem in range(self.n_problems):
                            self._foresee(problem, k, &foreseen[i + k, problem, 0])
                    if weight is not None:
                        w = weight[i + k]
                    if w > 0.0:
                        self._learn_row(&X[i, 0], k, n_ahead, y[i + k], w)
                i += n_ahead
                if i % BOUNDARY == 0 and i < n:
                    with gil:
                        PyErr_CheckSignals()

    cdef void _lookahead(
        self, intp_t problem, const float64_t* rows, intp_t first, intp_t n_rows
    ) noexcept nogil:
        # Margins of the rows from `first` on.
        cdef const float64_t* w
        cdef intp_t start = 0
        cdef intp_t size, k
        while start < self.stride:
            size = min(<intp_t> BLOCK, self.stride - start)
            w = &self.particles[problem, 0, start]
            if first == 0 and n_rows == AHEAD:
                find_margins_of_four(
                    w, self.stride, rows, self.n_features, size,
                    &self.ahead[problem, 0, start],
                )
            else:
                for k in range(first, n_rows):
                    find_margins(
                        w, self.stride, rows + k * self.n_features, self.n_features,
                        size, &self.ahead[problem, k, start],
                    )
            start += size

    cdef void _learn_row(
        self, const float64_t* rows, intp_t k, intp_t n_ahead, intp_t label,
        float64_t weight,
    ) noexcept nogil:
        # Row k of those whose margins are known.
        cdef const float64_t* x = rows + k * self.n_features
        cdef intp_t place = self.n_rows % self.buffer_size
        cdef intp_t problem
        self.n_rows += 1
        # Before the move, whose target must have it: the weights have it already.
        memcpy(&self.rows[place, 0], x, self.n_features * sizeof(float64_t))
        self.labels[place] = label
        self.row_weights[place] = weight
        self.n_buffered = min(self.n_buffered + 1, self.buffer_size)
        for problem in range(self.n_problems):
            if not self._weigh(problem, k, self._sign(problem, label), weight):
                self._draw_prior(problem, self.n_rows)
                self.n_restarts[problem] += 1
            elif self.resample and 2.0 * self.ess[problem] < self.n_particles:
                self._resample_and_move(problem)
            else:
                continue
            self._lookahead(problem, rows, k + 1, n_ahead)

    cdef void _foresee(
        self, intp_t problem, intp_t k, float64_t* out
    ) noexcept nogil:
        # What `_odds` finds, of a row whose margins are known.
        cdef intp_t start = 0
        cdef intp_t size
        out[0] = 0.0
        out[1] = 0.0
        while start < self.stride:
            size = min(<intp_t> BLOCK, self.stride - start)
            self._add_odds(problem, start, size, &self.ahead[problem, k, start], out)
            start += size

    cdef inline float64_t _sign(self, intp_t problem, intp_t label) noexcept nogil:
        # Of a row in a problem: 1, -1, or 0 without a label.
        if label == NO_LABEL:
            return 0.0
        if self.n_problems == 1:
            return 1.0 if label == 1 else -1.0
        return 1.0 if label == problem else -1.0

    cdef bint _weigh(
        self, intp_t problem, intp_t k, float64_t sign, float64_t weight
    ) noexcept nogil:
        # Multiply weights by the likelihood of row k; False if none is left.
        cdef float64_t parts[LANES]
        cdef float64_t* log_weight = &self.log_weights[problem, 0]
        cdef const float64_t* margin = &self.ahead[problem, k, 0]
        cdef Likelihood shape = self.shape
        cdef float64_t best = -INFINITY
        cdef float64_t value
        cdef intp_t i, lane
        for lane in range(LANES):
            parts[lane] = -INFINITY
        if sign == 0.0:
            for i in range(self.stride):
                log_weight[i] += weight * of_either(&shape, margin[i])
        else:
            for i in range(self.stride):
                log_weight[i] += weight * of_label(&shape, sign * margin[i])
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
        self._normalise(problem, best)
        return True

    cdef void _resample_and_move(self, intp_t problem) noexcept nogil:
        cdef intp_t m = self.n_particles
        cdef intp_t d = self.n_features
        cdef intp_t start = 0
        cdef intp_t n_coordinates
        cdef intp_t i, size
        cdef uint64_t keys[GROUP]
        cdef Target target
        self._find_sizes(problem)
        self._resample(problem)
        self._find_target(problem, &target)
        n_coordinates = self._count_coordinates(&target)
        while start < m:
            size = min(<intp_t> GROUP, m - start)
            for i in range(size):
                keys[i] = self._key(problem, self.n_rows, start + i)
            sweep(
                &target, &self.particles[problem, 0, start], self.stride, d,
                &self.sizes[0], keys, self.n_moves[problem] * n_coordinates % d,
                n_coordinates, size, &self.planes[0, 0], &self.margins[0, 0],
            )
            start += GROUP
        self._equal_weights(problem)
        self.n_moves[problem] += 1

    cdef intp_t _count_coordinates(self, const Target* target) noexcept nogil:
        # How many a move goes along, in turn: three for two, fewer where rows are many,
        # of which each tells less. A plane is hardly ever left where it was.
        cdef intp_t cost = target.n_labelled
        cost += EITHER * (target.n_rows - target.n_labelled)
        cost = 2 * max(cost, <intp_t> WHOLE)
        return max(1 + 3 * self.n_features * WHOLE // cost, <intp_t> FEWEST)

    cdef void _find_sizes(self, intp_t problem) noexcept nogil:
        # Of the steps along each coordinate: how far apart particles are, half of the
        # pairs at least. An outlier, of which a Cauchy prior has many, changes nothing.
        cdef intp_t half = self.n_particles // 2
        cdef intp_t n_pairs = min(half, <intp_t> PAIRS)
        cdef const float64_t* w
        cdef intp_t i, j, k
        for j in range(self.n_features):
            w = &self.particles[problem, j, 0]
            for i in range(n_pairs):
                k = i * half // n_pairs
                self.drawn[i] = fabs(w[k] - w[k + half])
            self.sizes[j] = max(
                SMALLEST_STEP * self.scale, STEP * median(&self.drawn[0], n_pairs)
            )

    cdef void _find_target(self, intp_t problem, Target* target) noexcept nogil:
        cdef intp_t d = self.n_features
        cdef intp_t place = 0
        cdef intp_t row, j
        cdef float64_t sign, factor
        cdef bint labelled
        target.values = &self.values[0, 0]
        target.weights = &self.value_weights[0]
        target.stride = self.buffer_size
        target.n_rows = self.n_buffered
        target.slope = self.shape.slope
        target.cauchy = self.cauchy
        target.precision = 1.0 / self.scale
        target.either = &self.either[0]
        for labelled in (True, False):
            for row in range(self.n_buffered):
                sign = self._sign(problem, self.labels[row])
                if (sign != 0.0) != labelled:
                    continue
                factor = self.shape.slope * (sign if labelled else 1.0)
                self.value_weights[place] = <float32_t> limited(self.row_weights[row])
                for j in range(d):
                    self.values[j, place] = <float32_t> limited(
                        factor * self.rows[row, j]
                    )
                place += 1
            if labelled:
                target.n_labelled = place

    cdef void _resample(self, intp_t problem) noexcept nogil:
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
        """Count planes of each problem, copies once."""
        cdef intp_t problem, i, j
        cdef Bits plane
        found = np.zeros(self.n_problems, dtype=np.intp)
        cdef uint64_t[::1] hashes = np.zeros(self.n_particles, dtype=np.uint64)
        for problem in range(self.n_problems):
            with nogil:
                hashes[:] = 0
                for j in range(self.n_features):
                    for i in range(self.n_particles):
                        plane.number = self.particles[problem, j, i]
                        hashes[i] = mix(hashes[i] ^ plane.bits)
            found[problem] = len(np.unique(hashes))
        return found

    def __reduce__(self):
        arrays = self._arrays(self.n_buffered)
        state = {name: array.copy() for name, array in arrays.items()}
        state |= {"version": STATE_VERSION, "n_rows": self.n_rows}
        return restored, (canonical(self.settings), canonical(state))

    def _arrays(self, n):
        # What the rest follows from, with n rows in the buffer.
        return {
            "particles": np.asarray(self.particles),
            "log_weights": np.asarray(self.log_weights),
            "rows": np.asarray(self.rows)[:n],
            "labels": np.asarray(self.labels)[:n],
            "row_weights": np.asarray(self.row_weights)[:n],
            "n_moves": np.asarray(self.n_moves),
            "n_restarts": np.asarray(self.n_restarts),
        }

    cdef int _take(self, dict state) except -1:
        cdef intp_t problem
        if state.get("version") != STATE_VERSION:
            raise ValueError(
                f"The state of these particles has version {state.get('version')!r}; "
                f"this release reads version {STATE_VERSION}."
            )
        n_rows = state.get("n_rows")
        sound = isinstance(n_rows, int) and 0 <= n_rows < 2**62
        n = min(n_rows, self.buffer_size) if sound else 0
        for name, own in self._arrays(n).items():
            given = state.get(name)
            sound = sound and isinstance(given, np.ndarray)
            sound = sound and (given.shape, given.dtype) == (own.shape, own.dtype)
            if sound:
                own[...] = given
        # drawing parents ends at the last particle with a weight
        inside = np.asarray(self.log_weights)[:, :self.n_particles]
        if not (sound and (inside.max(axis=1) == 0.0).all()):
            raise ValueError("The state of these particles is damaged.")
        self.n_rows = n_rows
        self.n_buffered = n
        for problem in range(self.n_problems):
            self._normalise(problem, 0.0)
        return 0


def restored(settings, state):
    """Make a filter from a pickle, or raise ``ValueError``."""
    if not (isinstance(settings, dict) and isinstance(state, dict)):
        raise ValueError("The state of these particles is damaged.")
    return ParticleFilter(settings, state)
