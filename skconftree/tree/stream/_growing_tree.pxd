# GrowingTree: a tree that grows row by row, its leaves, which rows they can learn and
# what they predict.
#
# Whoever asks what is predicted before a row is learnt, and whoever predicts, gets the
# same from here; the latter brings scratch memory of its own.

from skconftree.tree.leaves._bayes cimport Scratch
from skconftree.tree.leaves._contract cimport Leaf, Policy
from skconftree.tree.leaves._leaf_store cimport LeafStore
from skconftree.tree.leaves._predictor cimport LeafPredictor
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.split._splitter cimport Splitter
from skconftree.tree.stream._leaf_source cimport LeafSource
from skconftree.utils._lock cimport ModelLock
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, label_t, uint8_t,
)


cdef class GrowingTree:
    cdef readonly Tree tree
    cdef ModelLock lock                 # of the tree and all that grows it
    cdef LeafStore leaves
    cdef Policy* policy                 # the store's
    cdef LeafPredictor predictor
    cdef LeafSource source              # of the splitter
    cdef Splitter splitter
    cdef const float64_t* class_weight  # [n_classes] or NULL
    cdef Arena arena
    cdef float64_t* below               # [n_classes]

    cdef intp_t _route_row(
        self, const float32_t* x, bint finite, intp_t* stopped_at
    ) noexcept nogil
    cdef void _fill_proba(
        self, const Leaf* leaf, intp_t stopped_at, const float32_t* x,
        Scratch* scratch, float64_t* out,
    ) noexcept nogil
    cdef bint _is_summed(self, const Leaf* leaf, intp_t stopped_at) noexcept nogil
    cdef int _ask_tree(self, intp_t node, float64_t* out) except -1
    cdef void _fill_below(self, intp_t node, float64_t* out) noexcept nogil
    cdef intp_t _majority_below(self, intp_t node) noexcept nogil
    cdef int _check_rows(
        self, const float32_t[:, ::1] X, const label_t[::1] y,
        const float64_t[::1] weight,
    ) except -1
    cdef int _check_stored(
        self, intp_t n_features, const int32_t[::1] places, const int64_t[::1] starts,
        const float32_t[::1] stored, const label_t[::1] y, const float64_t[::1] weight,
    ) except -1
    cdef open_pool(self, const uint8_t[::1] learnt=*)
    cdef learnt_bits(self)
    cdef take_pool(self, bits)


cdef int require_fit(bint fits) except -1
