"""The features that a leaf has drawn for its life."""

from skconftree.tree.leaves._contract cimport Drawn
from skconftree.utils._draws cimport mix
from skconftree.utils._memory cimport give_back
from skconftree.utils._spare_memory cimport take_array, take_zeros
from skconftree.utils._typedefs cimport int32_t, uint64_t

cdef enum:
    ARRAYS = 3      # features, nominal ones, categories of each


cdef intp_t bytes_of_drawn(const Leaf* leaf, const Policy* policy) noexcept nogil:
    if leaf.drawn == NULL:
        return 0
    return sizeof(Drawn) + ARRAYS * policy.n_drawn * sizeof(int32_t)


cdef int draw_features(Leaf* leaf, const Policy* policy) except -1 nogil:
    cdef intp_t n = policy.n_drawn
    cdef intp_t d = policy.n_features
    cdef uint64_t key = leaf.key
    cdef int32_t* features
    cdef int32_t* nominal
    cdef Policy* own
    cdef int32_t feature
    cdef intp_t i, k
    if n == 0:
        return 0
    features = <int32_t*> take_array(policy.blocks, d, sizeof(int32_t))
    leaf.drawn = <Drawn*> take_zeros(
        policy.blocks, 1, sizeof(Drawn) + ARRAYS * n * sizeof(int32_t)
    )
    leaf.drawn.features = <int32_t*> (leaf.drawn + 1)
    for i in range(d):
        features[i] = <int32_t> i
    for i in range(n):
        key = mix(key)
        k = i + <intp_t> (key % <uint64_t> (d - i))
        feature = features[k]
        features[k] = features[i]
        features[i] = feature
        k = i
        while k > 0 and leaf.drawn.features[k - 1] > feature:
            leaf.drawn.features[k] = leaf.drawn.features[k - 1]
            k -= 1
        leaf.drawn.features[k] = feature
    give_back(policy.blocks, features)
    own = &leaf.drawn.policy
    own[0] = policy[0]
    own.n_features = n
    own.n_drawn = 0
    own.blocks = NULL           # its owner may change; what a memory takes is the leaf's
    own.pool_line = NULL
    own.n_nominal = 0
    if policy.n_codes != NULL:
        nominal = leaf.drawn.features + n
        own.nominal = nominal
        own.n_codes = nominal + n
        for i in range(n):
            if policy.n_codes[leaf.drawn.features[i]] >= 0:
                nominal[own.n_nominal] = <int32_t> i
                own.n_nominal += 1
    tell(leaf, policy)
    return 0


cdef void tell(Leaf* leaf, const Policy* policy) noexcept nogil:
    cdef Policy* own
    cdef intp_t i
    if leaf.drawn == NULL:
        return
    own = &leaf.drawn.policy
    own.missing = policy.missing
    if own.n_codes != NULL:
        for i in range(own.n_features):
            own.n_codes[i] = policy.n_codes[leaf.drawn.features[i]]
