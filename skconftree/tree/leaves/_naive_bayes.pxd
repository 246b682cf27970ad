cimport cython
from skconftree.tree.leaves._bins cimport Bins
from skconftree.tree.leaves._contract cimport Leaf
from skconftree.tree.leaves._moments cimport Moments
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t

# Naive Bayes over what a leaf remembers: log scores of the classes, up to a term
# that all of them share.
#
# Scores are exact at every row: nothing is cached between rows. Logarithms are
# taken of products of many factors, which costs less than a cache would save.

cdef struct Scratch:            # of one caller, all of it behind `precision`
    float32_t* row              # [n_features] the row as its leaf sees it
    int32_t* places             # [n_features] its bins
    float32_t* past_row         # [n_features] the same for Leaf.past
    int32_t* past_places
    int32_t* telling            # [n_features] what tells classes apart, by moments
    float64_t* scores           # [n_classes]
    float64_t* products         # [n_classes]
    float64_t* inverse          # [n_classes]
    float64_t* precision        # [n_features] of those


cdef int make_scratch(
    Arena arena, Scratch* scratch, intp_t n_features, intp_t n_classes
) except -1


@cython.final
cdef class NaiveBayes:
    cdef intp_t n_features
    cdef intp_t n_classes
    cdef const int32_t* n_codes   # [n_features] -1 if numeric; NULL if all are

    cdef bint score(
        self, const Leaf* leaf, bint own, const float32_t* x, Scratch* scratch
    ) noexcept nogil
    cdef void _score_bins(
        self, const Bins* bins, intp_t d, const float64_t* histogram,
        const float64_t* n, Scratch* scratch,
    ) noexcept nogil
    cdef void _score_moments(
        self, const Moments* moments, intp_t d, const int32_t* n_codes,
        const float64_t* weights, bint alone, const float32_t* x, Scratch* scratch,
    ) noexcept nogil
    cdef void _score_bins_of_two(
        self, const Bins* bins, intp_t d, const float64_t* histogram, Scratch* scratch
    ) noexcept nogil
    cdef intp_t _find_telling(
        self, const Moments* moments, intp_t d, const int32_t* n_codes,
        const float32_t* x, Scratch* scratch,
    ) noexcept nogil
