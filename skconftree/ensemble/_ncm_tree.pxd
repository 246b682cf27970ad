# NCMTree: nodes with tests of nearest class means.
#
# A split has the means of some classes, each with a side; a row goes to the side of the
# mean that is nearest to it, of equally near ones the first. The means of all splits lie
# in one array, those of a split side by side in the order of their classes, the splits
# in the order of their nodes.
#
# Rows and means are float32 and distances float64: differences of two floats and their
# squares are exact there or nearly so, whatever the scale of a feature.

from skconftree.tree.nodes._node_table cimport NodeTable
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint8_t,
)


cdef struct CentroidTest:       # of a node
    int32_t first               # place of its means
    int32_t n                   # 0 at a leaf


cdef class NCMTree(NodeTable):
    cdef readonly intp_t n_centroids    # used
    cdef intp_t centroid_room
    cdef CentroidTest* tests            # [capacity]
    cdef float32_t* means               # [centroid_room, n_features]
    cdef int32_t* owners                # [centroid_room] class of each
    cdef uint8_t* sides                 # [centroid_room] 0 = first child

    cdef void reserve_centroids(self, intp_t room) except *
    cdef void split(
        self, intp_t node, const float32_t* means, const int32_t* owners,
        const uint8_t* sides, intp_t n,
    ) noexcept nogil
    cdef intp_t leaf_of(self, const float32_t* row) noexcept nogil
    cdef intp_t _best_of(self, intp_t node) noexcept nogil
    cdef object _check_rows(
        self, const int32_t[::1] leaves, const label_t[::1] y, intp_t n_classes
    )


cdef enum:
    STRETCH = 16        # features between two looks whether a mean can still be nearest


cdef inline intp_t nearest(
    const float32_t* row, const float32_t* means, intp_t n, intp_t d
) noexcept nogil:
    # Place of the nearest mean, the first of equally near ones. Sums of squares only
    # grow, so that a mean may be left as soon as it is no nearer than the best so far.
    cdef float64_t least = 0.0
    cdef float64_t s0, s1, s2, s3, t0, t1, t2, t3, total
    cdef intp_t best = -1
    cdef intp_t j, f, end
    for j in range(n):
        s0 = s1 = s2 = s3 = 0.0
        total = 0.0
        f = 0
        while f < d:
            end = min(f + STRETCH, d)
            while f + 4 <= end:
                t0 = <float64_t> row[f] - <float64_t> means[f]
                t1 = <float64_t> row[f + 1] - <float64_t> means[f + 1]
                t2 = <float64_t> row[f + 2] - <float64_t> means[f + 2]
                t3 = <float64_t> row[f + 3] - <float64_t> means[f + 3]
                s0 = s0 + t0 * t0
                s1 = s1 + t1 * t1
                s2 = s2 + t2 * t2
                s3 = s3 + t3 * t3
                f += 4
            while f < end:
                t0 = <float64_t> row[f] - <float64_t> means[f]
                s0 = s0 + t0 * t0
                f += 1
            total = (s0 + s2) + (s1 + s3)
            if best >= 0 and total >= least:
                break
        if best < 0 or total < least:
            best = j
            least = total
        means += d
    return best
