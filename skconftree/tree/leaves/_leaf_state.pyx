"""Leaves as bytes."""

import numpy as np

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from libc.math cimport isfinite, isnan
from libc.stdlib cimport malloc
from libc.string cimport memcpy

from skconftree.tree.leaves._histogram cimport (
    NOMINAL, Bins, allocate_bins, n_value_bins, room_for,
)
from skconftree.tree.leaves._leaf cimport (
    GAUSSIAN, HISTOGRAM, ROWS, Memory, forget, new_leaf, release_leaf, reserve_rows,
)
from skconftree.tree.leaves._moments cimport (
    SQUARES, Moments, allocate_moments, open_block, open_known, release_moments,
)
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, label_t, uint8_t,
)

cdef enum:
    N_INTEGERS = 12
    N_NUMBERS = 7
    N_MODELS = 4


cdef class StateWriter:
    """Appends memory to bytes."""

    def __cinit__(self):
        self.data = bytearray()

    cdef put(self, const void* values, intp_t n_bytes):
        cdef intp_t size = len(self.data)
        if n_bytes > 0:
            PyByteArray_Resize(self.data, size + n_bytes)
            memcpy(PyByteArray_AS_STRING(self.data) + size, values, n_bytes)


cdef class StateReader:
    """Takes memory from bytes, never past their end."""

    def __cinit__(self, bytes data):
        self.data = data

    cdef take(self, void* values, intp_t n_bytes):
        _require(0 <= n_bytes <= self.data.shape[0] - self.position)
        if n_bytes > 0:
            memcpy(values, &self.data[self.position], n_bytes)
            self.position += n_bytes

    cdef void* take_new(self, intp_t n_bytes) except NULL:
        # Allocated only once it is known that the bytes are there.
        cdef void* values
        _require(0 <= n_bytes <= self.data.shape[0] - self.position)
        values = malloc(max(n_bytes, 1))
        if values == NULL:
            raise MemoryError()
        if n_bytes > 0:
            memcpy(values, &self.data[self.position], n_bytes)
            self.position += n_bytes
        return values

    def finish(self):
        """Raise unless everything has been read."""
        _require(self.position == self.data.shape[0])


cdef _require(bint condition):
    if not condition:
        raise ValueError("The state of this growing tree is damaged.")


cdef _require_finite(const float64_t* values, intp_t n):
    cdef intp_t i
    for i in range(n):
        _require(isfinite(values[i]))


# -- leaves ------------------------------------------------------------------------

cdef write_leaf(StateWriter writer, const Leaf* leaf, const Policy* policy):
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef intp_t n_bins = 0 if leaf.bins.first == NULL else leaf.bins.first[d]
    cdef int64_t[N_INTEGERS] integers = [
        leaf.memory, leaf.attempt, leaf.n_rows, leaf.n_inherited, leaf.weight != NULL,
        n_bins, leaf.histogram != NULL, leaf.fresh_histogram != NULL, leaf.span != NULL,
        leaf.n_pool, leaf.box != NULL, leaf.bins.missing,
    ]
    cdef float64_t[N_NUMBERS] numbers = [
        leaf.n_fresh, leaf.n_examined, leaf.n_held, leaf.hits[0], leaf.hits[1],
        leaf.hits[2], leaf.hits[3],
    ]
    writer.put(&integers[0], sizeof(integers))
    writer.put(&numbers[0], sizeof(numbers))
    writer.put(leaf.fresh, 3 * K * sizeof(float64_t))
    writer.put(leaf.x, leaf.n_rows * d * sizeof(float32_t))
    writer.put(leaf.y, leaf.n_rows * sizeof(label_t))
    if leaf.weight != NULL:
        writer.put(leaf.weight, leaf.n_rows * sizeof(float64_t))
    if n_bins > 0:
        writer.put(leaf.bins.first, d * sizeof(int32_t))
        writer.put(leaf.bins.edges, n_bins * sizeof(float32_t))
        writer.put(leaf.bins.low, d * sizeof(float32_t))
        writer.put(leaf.bins.high, d * sizeof(float32_t))
        writer.put(leaf.bins.kind, d)
    if leaf.histogram != NULL:
        writer.put(leaf.histogram, n_bins * K * sizeof(float64_t))
    if leaf.fresh_histogram != NULL:
        writer.put(leaf.fresh_histogram, n_bins * K * sizeof(float64_t))
    _write_moments(writer, &leaf.moments, d, K)
    _write_moments(writer, &leaf.fresh_moments, d, K)
    if leaf.span != NULL:
        writer.put(leaf.span, 2 * d * sizeof(float64_t))
    writer.put(leaf.pool, leaf.n_pool * sizeof(int32_t))
    if leaf.box != NULL:
        writer.put(leaf.box, 2 * d * sizeof(float64_t))


cdef _write_moments(
    StateWriter writer, const Moments* moments, intp_t d, intp_t K
):
    # Before each block: whether it is there, and 2 if some of its rows miss a value.
    cdef const float64_t* known
    cdef uint8_t kept
    cdef intp_t c
    kept = moments.blocks != NULL
    writer.put(&kept, 1)
    if moments.blocks == NULL:
        return
    writer.put(moments.n, (K + 1) * sizeof(float64_t))
    for c in range(K + 1):
        known = NULL if moments.known == NULL else moments.known[c]
        kept = (moments.blocks[c] != NULL) + (known != NULL)
        writer.put(&kept, 1)
        if kept > 0:
            writer.put(moments.blocks[c], 4 * d * sizeof(float64_t))
        if kept > 1:
            writer.put(known, d * sizeof(float64_t))


cdef Leaf* read_leaf(
    StateReader reader, const Policy* policy, intp_t node, intp_t n_pool
) except NULL:
    cdef Leaf* leaf = new_leaf(policy, node)
    if leaf == NULL:
        raise MemoryError()
    forget(leaf, policy)
    try:
        _fill_leaf(reader, policy, n_pool, leaf)
    except BaseException:
        release_leaf(leaf, policy)
        raise
    return leaf


cdef _fill_leaf(StateReader reader, const Policy* policy, intp_t n_pool, Leaf* leaf):
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef int64_t[N_INTEGERS] integers
    cdef float64_t[N_NUMBERS] numbers
    cdef intp_t n_rows, n_bins, i, j, f
    reader.take(&integers[0], sizeof(integers))
    reader.take(&numbers[0], sizeof(numbers))
    reader.take(leaf.fresh, 3 * K * sizeof(float64_t))
    _require_finite(&numbers[0], N_NUMBERS)
    _require_finite(leaf.fresh, 3 * K)
    _require(0 <= integers[0] <= GAUSSIAN and integers[1] >= 0)
    leaf.memory = <Memory> integers[0]
    leaf.attempt = integers[1]
    leaf.n_fresh = numbers[0]
    leaf.n_examined = numbers[1]
    leaf.n_held = numbers[2]
    leaf.hits[0] = numbers[3]
    leaf.hits[1] = numbers[4]
    leaf.hits[2] = numbers[5]
    leaf.hits[3] = numbers[6]

    n_rows = integers[2]
    n_bins = integers[5]
    _require(0 <= integers[3] <= n_rows and (n_rows == 0 or leaf.memory == ROWS))
    _require(n_rows <= reader.data.shape[0] // <intp_t> (d * sizeof(float32_t)))
    _require(0 <= n_bins <= reader.data.shape[0])
    if n_rows > 0 and not reserve_rows(leaf, policy, n_rows):
        raise MemoryError()
    reader.take(leaf.x, n_rows * d * sizeof(float32_t))
    reader.take(leaf.y, n_rows * sizeof(label_t))
    for i in range(n_rows):
        _require(leaf.y[i] < K)
        for f in range(d):
            _require(isfinite(leaf.x[i * d + f]) or (
                isnan(leaf.x[i * d + f]) and policy.missing
            ))
        for j in range(policy.n_nominal):
            f = policy.nominal[j]
            _require(0.0 <= leaf.x[i * d + f] < policy.n_codes[f])
    if integers[4]:
        leaf.weight = <float64_t*> malloc(max(leaf.room, 1) * sizeof(float64_t))
        if leaf.weight == NULL:
            raise MemoryError()
        reader.take(leaf.weight, n_rows * sizeof(float64_t))
        _require_finite(leaf.weight, n_rows)
    leaf.n_rows = n_rows
    leaf.n_inherited = integers[3]

    if n_bins > 0:
        _read_bins(reader, d, n_bins, integers[11] != 0, &leaf.bins)
    _require(integers[6] or not (
        leaf.memory == HISTOGRAM or leaf.memory == GAUSSIAN and policy.n_nominal > 0
    ))
    _require(n_bins > 0 or not (integers[6] or integers[7]))
    _require(integers[6] or not integers[7])
    if integers[6]:
        leaf.histogram = <float64_t*> reader.take_new(n_bins * K * sizeof(float64_t))
        _require_finite(leaf.histogram, n_bins * K)
    if integers[7]:
        leaf.fresh_histogram = <float64_t*> reader.take_new(
            n_bins * K * sizeof(float64_t)
        )
        _require_finite(leaf.fresh_histogram, n_bins * K)
    _read_moments(reader, &leaf.moments, d, K)
    _read_moments(reader, &leaf.fresh_moments, d, K)
    _require(leaf.memory != GAUSSIAN or leaf.moments.blocks != NULL)
    if integers[8]:
        leaf.span = <float64_t*> reader.take_new(2 * d * sizeof(float64_t))
    _require(0 <= integers[9] <= n_pool)
    if integers[9] > 0:
        leaf.pool = <int32_t*> reader.take_new(integers[9] * sizeof(int32_t))
        leaf.n_pool = integers[9]
        for i in range(leaf.n_pool):
            _require(0 <= leaf.pool[i] < n_pool)
    if integers[10]:
        leaf.box = <float64_t*> reader.take_new(2 * d * sizeof(float64_t))
    _check_leaf(leaf, policy)


cdef _read_bins(
    StateReader reader, intp_t d, intp_t n_bins, bint missing, Bins* bins
):
    # Every feature has at least one bin, the last one without end.
    cdef intp_t f, b, last
    if not allocate_bins(bins, d, n_bins):
        raise MemoryError()
    reader.take(bins.first, d * sizeof(int32_t))
    reader.take(bins.edges, n_bins * sizeof(float32_t))
    reader.take(bins.low, d * sizeof(float32_t))
    reader.take(bins.high, d * sizeof(float32_t))
    reader.take(bins.kind, d)
    bins.missing = missing
    _require(bins.first[0] == 0)
    for f in range(d):
        _require(bins.first[f] < bins.first[f + 1] <= n_bins and bins.kind[f] <= NOMINAL)
    for f in range(d):
        last = bins.first[f] + n_value_bins(bins, f) - 1
        _require(last >= bins.first[f])
        for b in range(bins.first[f] + 1, last + 1):
            _require(bins.edges[b - 1] < bins.edges[b])
        _require(bins.edges[last] > 3.5e38 or bins.kind[f] == NOMINAL)
        _require(isfinite(bins.low[f]) and isfinite(bins.high[f]))


cdef _read_moments(StateReader reader, Moments* moments, intp_t d, intp_t K):
    cdef float64_t* known
    cdef uint8_t kept
    cdef intp_t c, f
    release_moments(moments, K)
    reader.take(&kept, 1)
    if not kept:
        return
    if not allocate_moments(moments, K):
        raise MemoryError()
    reader.take(moments.n, (K + 1) * sizeof(float64_t))
    _require_finite(moments.n, K + 1)
    for c in range(K + 1):
        _require(moments.n[c] >= 0.0)
        reader.take(&kept, 1)
        if kept:
            if open_block(moments, d, c) == NULL:
                raise MemoryError()
            reader.take(moments.blocks[c], 4 * d * sizeof(float64_t))
            _require_finite(moments.blocks[c], 2 * d)
            for f in range(d):
                _require(moments.blocks[c][SQUARES * d + f] >= 0.0)
        if kept > 1:
            known = open_known(moments, d, K, c)
            if known == NULL:
                raise MemoryError()
            reader.take(known, d * sizeof(float64_t))
            for f in range(d):
                _require(0.0 <= known[f] <= moments.n[c] * (1.0 + 1e-9))
    # the block of all classes is there if that of any class is
    for c in range(K):
        _require(moments.blocks[c] == NULL or moments.blocks[K] != NULL)


# -- what was read fits together ---------------------------------------------------
#
# Tests are scored by differences of counts, some of them through tables: a class of
# which more rows go left than there are would be looked up in front of a table.


cdef _check_leaf(const Leaf* leaf, const Policy* policy):
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef intp_t i, f
    for i in range(3 * K):
        _require(leaf.fresh[i] >= 0.0)
    for i in range(K):
        _require(not leaf.held[i] > 0.0 or _has_model(&leaf.moments, i, K))
        _require(not leaf.fresh[i] > 0.0 or _has_model(&leaf.fresh_moments, i, K))
    _require(0.0 <= leaf.n_examined <= leaf.n_fresh and 0.0 <= leaf.n_held)
    _require(leaf.attempt < 1000000000000000)
    for i in range(N_MODELS):
        _require(leaf.hits[i] >= 0.0)
    if leaf.memory == ROWS:
        _check_rows(leaf, K)
    if leaf.bins.first != NULL:
        for f in range(d):
            _check_bins(&leaf.bins, f, policy)
    if leaf.histogram != NULL:
        _check_histogram(&leaf.bins, leaf.histogram, leaf.held, d, K)
        if leaf.fresh_histogram != NULL:
            _check_histogram(&leaf.bins, leaf.fresh_histogram, leaf.fresh, d, K)
        elif policy.separate:
            _check_histogram(&leaf.bins, leaf.histogram, leaf.fresh, d, K)
    if leaf.span != NULL:
        _require_finite(leaf.span, 2 * d)
    if leaf.box != NULL:
        _require_finite(leaf.box, 2 * d)


cdef bint _has_model(const Moments* moments, intp_t c, intp_t K):
    return moments.blocks == NULL or (
        moments.blocks[c] != NULL and moments.blocks[K] != NULL
        and moments.n[c] > 0.0 and moments.n[K] > 0.0
    )


cdef _check_rows(const Leaf* leaf, intp_t K):
    # Sums in the order of arrival are the counts, bit for bit.
    counts = np.zeros((2, K))
    cdef float64_t[:, ::1] sums = counts
    cdef float64_t w = 1.0
    cdef intp_t i
    for i in range(leaf.n_rows):
        if leaf.weight != NULL:
            w = leaf.weight[i]
        _require(w > 0.0)
        if i >= leaf.n_inherited:
            sums[0, leaf.y[i]] += w
        sums[1, leaf.y[i]] += w
    for i in range(K):
        _require(leaf.fresh[i] == sums[0, i] and leaf.held[i] == sums[1, i])


cdef _check_bins(const Bins* bins, intp_t f, const Policy* policy):
    cdef intp_t n_codes = -1
    cdef intp_t n = n_value_bins(bins, f)
    if policy.n_codes != NULL:
        n_codes = policy.n_codes[f]
    _require((bins.kind[f] == NOMINAL) == (n_codes >= 0))
    _require(n <= (room_for(n_codes) if n_codes >= 0 else policy.max_bins))


cdef _check_histogram(
    const Bins* bins, const float64_t* histogram, const float64_t* counts, intp_t d,
    intp_t K,
):
    # No feature knows more rows than there are.
    cdef float64_t total
    cdef intp_t f, b, c
    for f in range(d):
        for c in range(K):
            total = 0.0
            for b in range(bins.first[f], bins.first[f + 1]):
                _require(histogram[b * K + c] >= 0.0)
                total += histogram[b * K + c]
            _require(total - counts[c] <= 1e-6 * (1.0 + counts[c]))
