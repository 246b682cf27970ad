# RowSource: a source whose rows a builder divides among the children of a node, so that
# a node is a range [start, end) of them. TableSource is one; rows that are kept
# otherwise are another subclass.

from skconftree.tree.batch._sparse_rows cimport Segment
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._source cimport Source
from skconftree.tree.split._split cimport Split
from skconftree.utils._typedefs cimport intp_t

cdef enum Passing:
    GONE            # the feature is constant in the child
    WHOLE           # its rows lie in the range of the child
    SEGMENT         # a part of them lies elsewhere, and the child keeps where


cdef class RowSource(Source):
    cdef readonly intp_t n_rows     # of the sample
    cdef bint has_segments          # passes() may answer SEGMENT or GONE

    # Go to a node: the segments it has kept.
    cdef void enter(
        self, intp_t node, const Segment* segments, intp_t n_segments
    ) noexcept nogil
    # Divide the rows of the node entered. Its children begin at `starts`, counted from
    # its own start.
    cdef void divide(
        self, const NodeRecord* record, const Split* split, const intp_t* starts
    ) noexcept nogil
    # Keep the order of a node's rows, and put them back as they lay, whatever divide()
    # has done to them since: of one node at a time. Needed for look-ahead alone.
    cdef int keep(self, const NodeRecord* record) except -1 nogil
    cdef void put_back(self) noexcept nogil
    # What one child gets of a feature, after divide().
    cdef Passing passes(
        self, intp_t feature, intp_t outcome, Segment* segment
    ) noexcept nogil
