from skconftree.tree.nodes._node_table cimport NodeTable
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint32_t, uint8_t,
)

# NCMTree: a tree with splits by nearest class means (NCM).
#
# A split has the means (centroids) of some classes, each assigned to a child. A row goes to the
# child of the nearest mean; ties are broken in favor of the first mean. The means of
# all splits are stored in one array, ordered by the id of the split's first child, then by
# class. The base class NodeTable has all other arrays of nodes: parents, children, class counts.
#
# Rows and means are float32 and distances float64: differences of two floats and their
# squares are exact or nearly exact, whatever the scale of a feature.

cdef struct CentroidSplit:      # the split of a node
    int32_t first               # index of its first mean
    int32_t n                   # number of means, 0 at a leaf


cdef class NCMTree(NodeTable):
    cdef readonly intp_t n_centroids    # number of means of all splits
    cdef intp_t centroid_capacity       # number of means for which memory is allocated
    cdef CentroidSplit* splits          # [capacity], the number of nodes with memory
    cdef float32_t* means               # [centroid_capacity, n_features]
    cdef int32_t* owners                # [centroid_capacity] class of each mean
    cdef uint8_t* sides                 # [centroid_capacity] child of each mean, 0 = first

    # Allocate memory for at least so many means.
    cdef void reserve_centroids(self, intp_t capacity) except *
    # Store the split of a node: n means with their classes and children.
    cdef void split(
        self, intp_t node, const float32_t* means, const int32_t* owners,
        const uint8_t* sides, intp_t n,
    ) noexcept nogil
    # The leaf that a row reaches.
    cdef intp_t leaf_of(self, const float32_t* row) noexcept nogil
    # Most frequent class of the node, or of its nearest ancestor with rows.
    cdef intp_t _best_of(self, intp_t node) noexcept nogil
    # Raise an error unless rows have valid leaves and classes. `times` is the multiplicity of
    # each row: how often it is in the bootstrap sample.
    cdef object _check_rows(
        self, const int32_t[::1] leaves, const label_t[::1] y, intp_t n_classes,
        const uint32_t[::1] times=*,
    )


cdef enum:
    CHECK_FEATURES = 32     # features between two checks whether a mean can still be the nearest


cdef inline intp_t nearest_exactly(
    const float32_t* row, const float32_t* means, intp_t n, intp_t d
) noexcept nogil:
    # Index of the nearest of n means of d features, the first in case of ties.
    cdef float64_t smallest = 0.0       # squared distance
    cdef float64_t total, difference
    cdef intp_t best = -1
    cdef intp_t j, f
    for j in range(n):
        total = 0.0
        for f in range(d):
            difference = <float64_t> row[f] - <float64_t> means[j * d + f]
            total += difference * difference
        if best < 0 or total < smallest:
            best = j
            smallest = total
    return best


cdef inline intp_t nearest(
    const float32_t* row, const float32_t* means, intp_t n, intp_t d
) noexcept nogil:
    # The same, in float32 if rounding cannot change the result, because a processor then
    # handles twice as many features at a time. The relative error of a sum of d squares,
    # computed as eight partial sums, is below (d / 8 + 8) 2^-24, unless it exceeds the
    # range of float32. Sums only increase, so the rest of a mean is skipped as soon as it
    # is farther away than the nearest mean so far.
    #
    # `slack` is 1 plus about four times this error (2.4e-7 is about 2^-22), because both sums
    # that are compared have errors. `smallest` and `second` are the two smallest squared
    # distances, s0 to s7 the partial sums. 1e-28, 1e37 and 3e38 are within float32's range.
    cdef float32_t slack = <float32_t> (1.0 + (d / 8.0 + 16.0) * 2.4e-7)
    cdef float32_t smallest = 0.0
    cdef float32_t second = 3e38
    cdef float32_t s0, s1, s2, s3, s4, s5, s6, s7
    cdef float32_t t0, t1, t2, t3, t4, t5, t6, t7, total
    cdef const float32_t* mean = means
    cdef intp_t best = -1
    cdef intp_t j, f, end
    for j in range(n):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        total = 0.0
        f = 0
        while f < d:
            end = min(f + CHECK_FEATURES, d)
            while f + 8 <= end:
                t0 = row[f] - mean[f]
                t1 = row[f + 1] - mean[f + 1]
                t2 = row[f + 2] - mean[f + 2]
                t3 = row[f + 3] - mean[f + 3]
                t4 = row[f + 4] - mean[f + 4]
                t5 = row[f + 5] - mean[f + 5]
                t6 = row[f + 6] - mean[f + 6]
                t7 = row[f + 7] - mean[f + 7]
                s0 = s0 + t0 * t0
                s1 = s1 + t1 * t1
                s2 = s2 + t2 * t2
                s3 = s3 + t3 * t3
                s4 = s4 + t4 * t4
                s5 = s5 + t5 * t5
                s6 = s6 + t6 * t6
                s7 = s7 + t7 * t7
                f += 8
            while f < end:
                t0 = row[f] - mean[f]
                s0 = s0 + t0 * t0
                f += 1
            total = ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
            if best >= 0 and total > smallest * slack:
                break
        mean += d
        if best < 0:
            best = j
            smallest = total
        elif total < smallest:
            second = min(second, smallest)
            best = j
            smallest = total
        else:
            second = min(second, total)
    # the condition is False for NaN, which the difference of two infinities gives
    if smallest > 1e-28 and smallest < 1e37 and second > smallest * slack:
        return best
    return nearest_exactly(row, means, n, d)
