# SummedEvidence: the selection of evidence bounds. The evidence of all tests is averaged,
# over the tests of an attribute, then over attributes; the test itself is the best by
# the evidence or, unless the bound chooses, by the criterion in a second scan.

from skconftree.bounds._contract cimport EvidenceBound
from skconftree.tree.split._scan cimport Scan
from skconftree.tree.split._selection cimport BestTests
from skconftree.utils._typedefs cimport float64_t


cdef class SummedEvidence(BestTests):
    cdef EvidenceBound evidence     # the bound
    cdef bint sums                  # in the scan that sums
    cdef float64_t peak             # smallest score of the node so far
    cdef float64_t reach            # how far above it evidence still counts
    cdef float64_t total            # log of the sum over attributes

    cdef void _add_block(self, Scan scan) noexcept nogil
    cdef void _add_feature(self) noexcept nogil
