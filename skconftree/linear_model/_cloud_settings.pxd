# CloudSettings: every parameter of a cloud of planes, typed and checked, once.

from skconftree.utils._typedefs cimport float64_t, intp_t, uint64_t


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
