"""Planes with weights: what is drawn, weighed and read of a particle filter."""

from numbers import Integral, Real

import numpy as np

from libc.math cimport INFINITY, M_PI, log, log1p, tan
from libc.string cimport memcpy

from skconftree.linear_model._exponential cimport exp_moderate, exp_negative
from skconftree.linear_model._likelihood cimport Likelihood, of_label
from skconftree.linear_model._margins cimport BLOCK, find_margins
from skconftree.utils._draws cimport mix, unit
from skconftree.utils._typedefs cimport float64_t, int16_t, intp_t, uint64_t

cdef dict KINDS = {
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


cdef class CloudSettings:
    """Every parameter of a cloud; ValueError if one is missing or out of range.

    Compiled code makes arrays by what it finds here, which may come out of a file.
    """

    def __cinit__(self, **given):
        if given.keys() != KINDS.keys():
            raise ValueError(f"The state of these particles is damaged: {list(given)}.")
        for name, (kind, low, high) in KINDS.items():
            if not (isinstance(given[name], kind) and low <= given[name] <= high):
                raise ValueError(
                    f"The state of these particles is damaged: {name} must be in "
                    f"[{low}, {high}]. Got {given[name]!r} instead."
                )
        self.n_problems = given["n_problems"]
        self.n_particles = given["n_particles"]
        self.n_features = given["n_features"]
        self.buffer_size = given["buffer_size"]
        self.alpha = given["alpha"]
        self.gamma = given["gamma"]
        self.cauchy = given["cauchy"]
        self.scale = given["scale"]
        self.resample = given["resample"]
        self.seed = given["seed"]

    def values(self):
        """Arguments that these settings are made from."""
        return {name: getattr(self, name) for name in KINDS}

    def replace(self, **changes):
        """Make settings that differ from these in some arguments."""
        return CloudSettings(**self.values() | changes)


cdef float64_t _sum(const float64_t* parts) noexcept nogil:
    cdef float64_t total = 0.0
    cdef intp_t lane
    for lane in range(LANES):
        total += parts[lane]
    return total


cdef class Cloud:
    """Planes of one problem, or of one for each class against the rest, with weights.

    Coordinates lie feature by feature, [problem, feature, particle], and the last
    dimension is filled up to a multiple of `LANES` with particles of weight 0.
    """

    def __init__(self, CloudSettings settings not None):
        cdef intp_t p = settings.n_problems
        cdef intp_t m = settings.n_particles
        cdef intp_t d = settings.n_features
        cdef float64_t alpha = settings.alpha
        cdef float64_t gamma = settings.gamma
        self.settings = settings
        self.n_problems, self.n_particles, self.n_features = p, m, d
        self.stride = (m + LANES - 1) // LANES * LANES
        self.cauchy, self.scale = settings.cauchy, settings.scale
        self.seed = settings.seed
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

    # -- drawing and weighing -----------------------------------------------------

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

    # -- reading ------------------------------------------------------------------

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
