from libc.math cimport M_PI, cos, log, sin, sqrt

from skconftree.linear_model._likelihood cimport Likelihood
from skconftree.utils._draws cimport mix, unit
from skconftree.utils._typedefs cimport float64_t, intp_t, uint64_t

# CloudSettings: every parameter of a cloud of planes, typed and checked, once.

cdef class CloudSettings:
    cdef readonly intp_t n_problems
    cdef readonly intp_t n_particles
    cdef readonly intp_t n_features
    cdef readonly intp_t buffer_size    # rows that moves go by
    cdef readonly float64_t alpha       # of the likelihood
    cdef readonly float64_t gamma
    cdef readonly bint cauchy           # the prior; else normal
    cdef readonly float64_t scale       # of the prior
    cdef readonly bint resample         # particles are resampled and moved
    cdef readonly uint64_t seed


# Planes with weights, and what is drawn for them.

cdef enum:
    LANES = 8           # partial sums: a loop over them becomes vector instructions


cdef inline void draw_normal_pair(
    uint64_t key, intp_t j, float64_t* pair
) noexcept nogil:
    # Box and Muller, from draws j and j + 1 of a particle.
    cdef float64_t radius = sqrt(-2.0 * log(1.0 - unit(mix(key + <uint64_t> j))))
    cdef float64_t angle = 2.0 * M_PI * unit(mix(key + <uint64_t> j + 1))
    pair[0] = radius * cos(angle)
    pair[1] = radius * sin(angle)


cdef class Cloud:
    cdef readonly CloudSettings settings
    cdef readonly intp_t n_problems
    cdef readonly intp_t n_particles
    cdef readonly intp_t n_features
    cdef intp_t stride
    cdef Likelihood shape
    cdef bint cauchy
    cdef float64_t scale
    cdef uint64_t seed
    # Log weights are relative to the largest, which is 0. Weights are their
    # exponentials, `total` the sum of these.
    cdef float64_t[:, :, ::1] particles
    cdef float64_t[:, ::1] log_weights
    cdef float64_t[:, ::1] weights
    cdef float64_t[::1] total
    cdef float64_t[::1] ess

    cdef inline uint64_t _key(
        self, intp_t problem, intp_t row, intp_t particle
    ) noexcept nogil:
        # Of the draws for one particle at one row. Numbers from `n_particles` on are
        # those of a whole cloud.
        cdef uint64_t key = mix(self.seed) ^ <uint64_t> problem
        return mix(mix(mix(key) ^ <uint64_t> row) ^ <uint64_t> particle)

    cdef void _draw_prior(self, intp_t problem, intp_t row) noexcept nogil
    cdef void _equal_weights(self, intp_t problem) noexcept nogil
    cdef void _normalise(self, intp_t problem, float64_t best) noexcept nogil
    cdef void _draw_parents(
        self, intp_t problem, float64_t first, intp_t* parent
    ) noexcept nogil
    cdef int _check_rows(self, const float64_t[:, ::1] X) except -1
    cdef void _odds(
        self, intp_t problem, const float64_t* x, float64_t* out
    ) noexcept nogil
    cdef void _add_odds(
        self, intp_t problem, intp_t start, intp_t size, const float64_t* margin,
        float64_t* out,
    ) noexcept nogil
